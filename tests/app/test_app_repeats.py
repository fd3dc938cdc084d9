"""Panels that run a method many times: charged for every run, and stopped by a press of Cancel."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any

import driving
import pytest
import streamlit as st
from driving import PAGE, opened, press, released, run, shown, tab
from prepared import page, with_release
from screen import books, charts, elements, errors, said, widget
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner import RerunData, RerunException, StopException, get_script_run_ctx
from streamlit.testing.v1 import AppTest

from dpcore import NaiveBayesSynthesizer
from dpcore.dashboard import jobs
from dpcore.dashboard.tabs import paper_figures, redraw
from dpcore.errors import BudgetError
from dpcore.experiment import engine

REDRAWS = f"{PAGE}.redraws"


@pytest.fixture(autouse=True)
def few_redraws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redraw, "REDRAWS", 6)


@pytest.fixture
def small() -> AppTest:
    """The Naive Bayes page with a release of 80 rows, which cost this session nothing."""
    return with_release()


def by_a_widget() -> BaseException:
    return RerunException(RerunData(page_script_hash=get_script_run_ctx().page_script_hash))


def by_the_menu() -> BaseException:
    return StopException()


def by_cancel() -> BaseException:
    """What Streamlit raises when the cancel button of the page's run was pressed."""
    state = WidgetState(id=f"$$ID-0123-cancel:{PAGE}", trigger_value=True)
    data = RerunData(widget_states=WidgetStates(widgets=[state]))
    return RerunException(replace(data, page_script_hash=get_script_run_ctx().page_script_hash))


def cancel(monkeypatch: pytest.MonkeyPatch, text: str, how: Callable[[], BaseException]) -> list[str]:
    """Streamlit stops a script inside a call of its own: here, the progress bar that would show this text."""
    original, seen = DeltaGenerator.progress, []

    def progress(self, value: float, text: str | None = None, **options: Any) -> Any:
        seen.append(text or "")
        if stop in seen[-1]:
            raise how()
        return original(self, value, text=text, **options)

    stop = text
    ticks = count()  # a second passes between any two looks at the clock, so that every step is shown
    clock = SimpleNamespace(monotonic=lambda: float(next(ticks)), perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr(jobs, "time", clock)
    monkeypatch.setattr(DeltaGenerator, "progress", progress)
    return seen


def nothing_runs(at: AppTest) -> None:
    """No progress bar and no cancel button is left on the screen."""
    assert not at.get("progress")
    assert not [found for found in elements(at) if (found.key or "").startswith("cancel:")]


def test_redraws_stay_and_say_how_much_luck_was_in_the_release(small: AppTest) -> None:
    at = tab(small, "Draw again")
    first, release = shown(at), shown(at).release
    assert "6 times epsilon 1" in said(at)
    press(at, f"{REDRAWS}.go")
    nothing_runs(at)
    frame, spent = first.redraws, books(at)
    assert set(frame["metric"]) == {"1-way distance", "2-way distance", "accuracy of logistic regression"}
    assert frame.loc[frame["run"] > 0].groupby("metric")["value"].nunique().min() > 1
    tab(tab(run(at), "Price"), "Draw again")
    assert shown(at) is first
    assert (first.release, first.redraws) == (release, frame)
    assert books(at) == spent
    assert "Releases looked at 6" in said(opened(at, "ledger"))


def test_redraws_of_paper_mode_cost_what_can_be_proved_and_those_of_a_seed_differ() -> None:
    at = tab(released(page(), mode="paper"), "Draw again")
    bound = shown(at).release.ledger.epsilon_bound
    press(at, f"{REDRAWS}.go")
    (spent,) = books(at).values()
    assert spent[1:] == pytest.approx((7, 7 * bound))
    press(tab(released(at, mode="corrected", seed=4), "Draw again"), f"{REDRAWS}.go")
    frame = shown(at).redraws
    assert frame.loc[frame["metric"] == "1-way distance", "value"].nunique() > 1


@pytest.mark.parametrize("how", [by_a_widget, by_the_menu])
def test_canceled_redraws_keep_the_last_result(
    small: AppTest, monkeypatch: pytest.MonkeyPatch, how: Callable[[], BaseException]
) -> None:
    at = press(tab(small, "Draw again"), f"{REDRAWS}.go")
    first, frame = shown(at), shown(at).redraws
    with monkeypatch.context() as patch:
        seen = cancel(patch, ": 5 of 6", how)
        press(at, f"{REDRAWS}.go")
        assert any(": 5 of 6" in text for text in seen)
        assert not any(": 6 of 6" in text for text in seen)
    nothing_runs(run(at))
    assert not at.error
    assert shown(at) is first
    assert first.redraws is frame
    (spent,) = books(at).values()
    assert spent[2] == pytest.approx(6 + 4)  # what was drawn until then was drawn


def test_canceled_redraws_keep_what_was_drawn(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    at = tab(small, "Draw again")
    with monkeypatch.context() as patch:
        cancel(patch, ": 5 of 6", by_a_widget)
        press(at, f"{REDRAWS}.go")
    assert "Stopped after 4 of 6" in said(run(at))
    assert set(shown(at).redraws["run"]) == set(range(5))
    (spent,) = books(at).values()
    assert spent[2] == pytest.approx(4)
    press(at, f"{REDRAWS}.go")
    assert "Stopped after" not in said(at)
    assert set(shown(at).redraws["run"]) == set(range(7))


def test_a_release_that_is_paid_for_is_kept_though_somebody_pressed_something(
    small: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = small
    first = shown(at)
    with monkeypatch.context() as patch:
        press_while_rows_are_drawn(patch)
        press(at, f"{PAGE}.run")
    assert shown(run(at)) is not first
    (spent,) = books(at).values()
    assert spent[2] == 1


def press_while_rows_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit raises at the first touch of the session's state after the rows were drawn."""
    sample = NaiveBayesSynthesizer.sample

    def pressed(self, *arguments: Any, **options: Any) -> Any:
        rows = sample(self, *arguments, **options)
        ctx = get_script_run_ctx()
        ctx.script_requests.request_rerun(RerunData(page_script_hash=ctx.page_script_hash))
        return rows

    monkeypatch.setattr(NaiveBayesSynthesizer, "sample", pressed)


def test_the_button_rests_before_anything_is_charged(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the browser was told of the button when a fit began, and after a run that failed."""
    fit, button = NaiveBayesSynthesizer.fit, st.button
    drawn: list[tuple[str, bool]] = []
    before: list[list[tuple[str, bool]]] = []

    def draw(label: str, disabled: bool = False, **look: Any) -> bool:
        drawn.append((label, disabled))
        return button(label, disabled=disabled, **look)

    def work(self, *arguments: Any, **options: Any) -> Any:
        before.append([found for found in drawn if found[0] == "Run"])
        if len(before) == 2:
            raise BudgetError("Too much.", "Ask for less.")
        return fit(self, *arguments, **options)

    monkeypatch.setattr(st, "button", draw)
    monkeypatch.setattr(NaiveBayesSynthesizer, "fit", work)
    for _ in range(2):
        drawn.clear()
        press(small, f"{PAGE}.run")
        assert not widget(small, f"{PAGE}.run").disabled
    assert before == [[("Run", True)] * 2] * 2  # once for the browser, and once more for the run
    assert any("Too much" in told for told in errors(small))


@pytest.mark.parametrize("how", [by_cancel, by_the_menu])
def test_canceled_release_keeps_the_earlier_one(
    small: AppTest, monkeypatch: pytest.MonkeyPatch, how: Callable[[], BaseException]
) -> None:
    at = small
    first = shown(at)
    for text, cost in (("Asking the door", 0), ("Done", 1)):
        with monkeypatch.context() as patch:
            seen = cancel(patch, text, how)
            press(at, f"{PAGE}.run")
            assert any(text in line for line in seen)
        nothing_runs(run(at))
        assert not at.error
        assert shown(at) is first
        (spent,) = books(at).values()
        assert spent[2] == cost  # the door had been asked, or had not
    released(at)


def overhear(monkeypatch: pytest.MonkeyPatch) -> list[RerunException]:
    """The presses that Streamlit gets back after a release."""
    unhurried, heard = jobs.unhurried, []

    @contextmanager
    def overheard(*arguments: Any) -> Any:
        try:
            with unhurried(*arguments) as calm:
                yield calm
        except RerunException as press:
            heard.append(press)
            raise

    monkeypatch.setattr(jobs, "unhurried", overheard)
    return heard


def test_other_presses_stop_a_release_that_cost_nothing_yet(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    at = small
    first = shown(at)
    with monkeypatch.context() as patch:
        cancel(patch, "Asking the door", by_a_widget)
        press(at, f"{PAGE}.run")
    nothing_runs(run(at))
    assert shown(at) is first
    (spent,) = books(at).values()
    assert spent[2] == 0


def test_other_presses_come_after_a_release_that_is_paid_for(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fit goes on, tells that it heard, and Streamlit gets the last press back."""
    at = small
    first = shown(at)
    raised: list[RerunException] = []
    fit = NaiveBayesSynthesizer.fit

    def by_each() -> BaseException:
        raised.append(by_a_widget())
        return raised[-1]

    def slow(self, *arguments: Any, progress: Any, **options: Any) -> Any:
        fitted = fit(self, *arguments, progress=progress, **options)
        for step in range(2):
            progress(0.9, f"Step {step}")
        progress(1.0, "Over")
        return fitted

    with monkeypatch.context() as patch:
        patch.setattr(NaiveBayesSynthesizer, "fit", slow)
        seen = cancel(patch, "Step", by_each)
        heard = overhear(patch)
        press(at, f"{PAGE}.run")
        assert any("Over (it is paid for; what you pressed comes next)" in line for line in seen)
    assert len(raised) == 2
    assert heard == raised[1:]
    nothing_runs(at)
    assert shown(at) is not first
    (spent,) = books(at).values()
    assert spent[2] == 1


def test_a_press_is_heard_though_the_run_failed_since(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    at = small
    first, fit = shown(at), NaiveBayesSynthesizer.fit

    def refused(self, *arguments: Any, progress: Any, **options: Any) -> Any:
        fit(self, *arguments, progress=progress, **options)
        progress(0.9, "Step")
        raise BudgetError("Too much.", "Ask for less.")

    with monkeypatch.context() as patch:
        patch.setattr(NaiveBayesSynthesizer, "fit", refused)
        heard = overhear(patch)
        cancel(patch, "Step", by_a_widget)
        press(at, f"{PAGE}.run")
    assert len(heard) == 1
    assert any("Too much" in told for told in errors(at))
    assert shown(at) is first


def test_canceled_first_release_leaves_an_empty_page(monkeypatch: pytest.MonkeyPatch) -> None:
    small = page()
    with monkeypatch.context() as patch:
        cancel(patch, "Asking the door", by_a_widget)
        press(small, f"{PAGE}.run")
    run(small)
    assert shown(small) is None
    assert "Press Run" in said(small)
    assert [spent[0] for spent in books(small).values()] == [0]
    assert "nothing on it yet" in said(opened(small, "ledger"))


def test_cancel_stops_work_and_takes_the_bar_away() -> None:
    def script() -> None:
        import streamlit as st

        from dpcore.dashboard.jobs import cancellable

        done = st.session_state.setdefault("done", [])
        if st.button("go", key="go"):
            with cancellable("Working", "work") as progress:
                for step in range(10):
                    progress(step / 9, f"step {step}")
                    done.append(step)
                    if step == st.session_state.get("until"):
                        st.stop()
        st.write("below")

    at = run(AppTest.from_function(script, default_timeout=60))
    press(at, "go")
    assert at.session_state["done"] == list(range(10))
    nothing_runs(at)
    assert "below" in said(at)
    at.session_state["until"] = 3
    press(at, "go")
    assert at.session_state["done"][10:] == [0, 1, 2, 3]
    nothing_runs(run(at))


FIGURES = (("naive_bayes", "figure_1"), ("networks", "figure_6"))  # runs that share the computer, and one by one


@pytest.mark.parametrize("how", [by_a_widget, by_the_menu])
@pytest.mark.parametrize(("name", "key"), FIGURES)
def test_canceled_figures_keep_what_is_finished(
    monkeypatch: pytest.MonkeyPatch, name: str, key: str, how: Callable[[], BaseException]
) -> None:
    monkeypatch.setattr(driving, "PAGE", name)
    monkeypatch.setattr(engine, "effective_n_jobs", lambda _: 1)
    monkeypatch.setattr(paper_figures, "here", lambda _: False)
    at = tab(with_release(), "The paper's figures")
    first, drawn, keys = shown(at), len(charts(at)), "naive_bayes.figures" if name == "naive_bayes" else name
    widget(at, f"{keys}.repeats").set_value(1)
    if name == "networks":
        widget(run(at), "networks.figure").set_value("Fig. 6: run time")
    run(at)
    with monkeypatch.context() as patch:
        cancel(patch, ": 3 done", how)
        press(at, f"{keys}.{key}.go")
    run(at)
    nothing_runs(at)
    assert not at.error
    assert shown(at) is first
    (account,) = at.session_state["dpcore.accounts"].values()
    made = [entry for child in account.children for entry in child.children or child.entries]
    assert len(made) == 3
    (spent,) = books(at).values()
    assert spent[2] == pytest.approx(float(sum(each.epsilon_bound for each in made)))
    assert len(charts(at)) > drawn
    assert "Stopped before it was finished: 3 runs are drawn" in said(at)

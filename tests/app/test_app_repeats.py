"""Panels that run a method many times: charged for every run, and stopped by a press of Cancel."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from driving import (
    PAGE,
    books,
    charts,
    csv,
    elements,
    errors,
    key_of,
    opened,
    people,
    press,
    released,
    run,
    said,
    shown,
    tab,
    using,
    widget,
)
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner import RerunData, RerunException, StopException, get_script_run_ctx
from streamlit.testing.v1 import AppTest

from dpcore import NaiveBayesSynthesizer, datasets
from dpcore.dashboard import jobs
from dpcore.dashboard.tabs import paper_figures
from dpcore.errors import BudgetError
from dpcore.experiment import engine
from dpcore.experiment.figures import naive_bayes as figures_000
from dpcore.text import number

RUNS = 32  # of the figure, with one repeat: two methods at 16 epsilons
REDRAWS = f"{PAGE}.redraws"
FIGURES = f"{PAGE}.figures"
GO = f"{FIGURES}.figure_1.go"
TITLE = "Fig. 1 to 4: accuracy"
STATED = "paper at 1.5: this or more"


@pytest.fixture
def small() -> AppTest:
    """The Naive Bayes page with 80 uploaded rows in use."""
    return opened(using("people.csv", csv(people())), PAGE)


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "effective_n_jobs", lambda _: 1)


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


def test_redraws_cost_twenty_releases(small: AppTest) -> None:
    at = tab(released(small, epsilon=0.5), "Draw again")
    first, release = shown(at), shown(at).release
    assert "20 times epsilon 0.5" in said(at)
    drawn = len(charts(at))
    press(at, f"{REDRAWS}.go")
    assert not at.error
    nothing_runs(at)
    assert len(charts(at)) == drawn + 1
    (spent,) = books(at).values()
    assert spent[1:] == pytest.approx((10.5, 10.5))
    frame = first.redraws
    assert set(frame["run"]) == set(range(21))
    assert set(frame["metric"]) == {"1-way distance", "2-way distance", "accuracy of logistic regression"}
    assert frame.loc[frame["run"] > 0].groupby("metric")["value"].nunique().min() > 1

    for _ in range(2):
        run(at)
    tab(tab(at, "Price"), "Draw again")
    assert shown(at) is first
    assert first.release is release
    assert first.redraws is frame
    assert list(books(at).values()) == [spent]
    assert "10.5" in said(opened(at, "ledger"))


def test_redraws_of_paper_mode_cost_what_can_be_proved(small: AppTest) -> None:
    at = tab(released(small, mode="paper"), "Draw again")
    bound = shown(at).release.ledger.epsilon_bound
    press(at, f"{REDRAWS}.go")
    (spent,) = books(at).values()
    assert spent[1:] == pytest.approx((21, 21 * bound))


def test_redraws_with_a_seed_differ(small: AppTest) -> None:
    at = press(tab(released(small, seed=4), "Draw again"), f"{REDRAWS}.go")
    frame = shown(at).redraws
    assert frame.loc[frame["metric"] == "1-way distance", "value"].nunique() > 1


@pytest.mark.parametrize("how", [by_a_widget, by_the_menu])
def test_canceled_redraws_keep_the_last_result(
    small: AppTest, monkeypatch: pytest.MonkeyPatch, how: Callable[[], BaseException]
) -> None:
    at = press(tab(released(small), "Draw again"), f"{REDRAWS}.go")
    first, frame = shown(at), shown(at).redraws
    with monkeypatch.context() as patch:
        seen = cancel(patch, ": 5 of 20", how)
        press(at, f"{REDRAWS}.go")
        assert any(": 5 of 20" in text for text in seen)
        assert not any(": 6 of 20" in text for text in seen)
    nothing_runs(run(at))
    assert not at.error
    assert shown(at) is first
    assert first.redraws is frame
    (spent,) = books(at).values()
    assert spent[2] == pytest.approx(1 + 20 + 4)  # what was drawn until then was drawn


def test_canceled_redraws_keep_what_was_drawn(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    at = tab(released(small), "Draw again")
    with monkeypatch.context() as patch:
        cancel(patch, ": 5 of 20", by_a_widget)
        press(at, f"{REDRAWS}.go")
    assert "Stopped after 4 of 20" in said(run(at))
    assert set(shown(at).redraws["run"]) == set(range(5))
    (spent,) = books(at).values()
    assert spent[2] == pytest.approx(1 + 4)
    press(at, f"{REDRAWS}.go")
    assert "Stopped after" not in said(at)
    assert set(shown(at).redraws["run"]) == set(range(21))


def test_a_release_that_is_paid_for_is_kept_though_somebody_pressed_something(
    small: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = released(small)
    first = shown(at)
    with monkeypatch.context() as patch:
        press_while_rows_are_drawn(patch)
        press(at, f"{PAGE}.run")
    assert shown(run(at)) is not first
    (spent,) = books(at).values()
    assert spent[2] == 2


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
    at = released(small)
    first = shown(at)
    for text, cost in (("Asking the door", 1), ("Done", 2)):
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
    at = released(small)
    first = shown(at)
    with monkeypatch.context() as patch:
        cancel(patch, "Asking the door", by_a_widget)
        press(at, f"{PAGE}.run")
    nothing_runs(run(at))
    assert shown(at) is first
    (spent,) = books(at).values()
    assert spent[2] == 1


def test_other_presses_come_after_a_release_that_is_paid_for(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fit goes on, tells that it heard, and Streamlit gets the last press back."""
    at = released(small)
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
    assert spent[2] == 2


def test_a_press_is_heard_though_the_run_failed_since(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    at = released(small)
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


def test_canceled_first_release_leaves_an_empty_page(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
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


def figures(at: AppTest, number: int = 1) -> AppTest:
    tab(at, "The paper's figures")
    at.number_input(f"{FIGURES}.repeats").set_value(number)
    run(at)
    return press(at, GO)


def lines(at: AppTest, number: int = -1) -> set[str]:
    """The names of the lines in a chart that are no run's."""
    return {label for table in charts(at)[number][1] for label in table.get("label", []) if label}


def test_figures_cost_every_run(small: AppTest, one_process: None) -> None:
    at = released(small)
    first, drawn = shown(at), len(charts(at)) - 2
    figures(at)
    assert not at.error
    nothing_runs(at)
    assert f"A repeat is {RUNS} releases" in said(at)
    assert len(charts(at)) == drawn + 1
    (account,) = at.session_state["dpcore.accounts"].values()
    printed, corrected = [child for child in account.children if TITLE in child.name]
    assert printed.name.endswith("Algorithm 2, as printed")
    assert corrected.name.endswith("C1-gen, corrected")
    claimed = sum(round(0.1 * step, 1) for step in range(16))
    assert len(printed.entries) == len(corrected.entries) == RUNS // 2
    assert printed.epsilon_claimed == pytest.approx(claimed)
    assert printed.epsilon_bound > 10 * claimed
    assert (corrected.epsilon_claimed, corrected.epsilon_bound) == pytest.approx((claimed, claimed))
    assert "do not publish" in str(charts(at)[-1][0]["title"])
    assert lines(at) == {"trained on real rows", "majority class"}  # the paper says nothing about these people
    for series, paid in (("as printed (Algorithm 2)", printed), ("corrected (C1-gen)", corrected)):
        claimed, bound = number(paid.epsilon_claimed), number(paid.epsilon_bound)
        assert f"{series}: claimed {claimed}, proved {bound}" in said(at)

    spent = books(at)
    run(tab(tab(at, "Price"), "The paper's figures"))
    assert len(charts(at)) == drawn + 1  # still there, not made again
    assert books(at) == spent
    assert shown(at) is first
    assert len([key for key in at.session_state if str(key).startswith("dpcore.figure:")]) == 1


def test_figures_with_repeats_show_the_variance(small: AppTest, one_process: None) -> None:
    at = released(small)
    drawn = len(charts(at)) - 2
    figures(at, 2)
    assert len(charts(at)) == drawn + 2
    assert all(max(len(table) for table in tables) <= 1_000 for _, tables in charts(at))


@pytest.mark.parametrize("how", [by_a_widget, by_the_menu])
def test_canceled_figures_keep_what_is_finished(
    small: AppTest, one_process: None, monkeypatch: pytest.MonkeyPatch, how: Callable[[], BaseException]
) -> None:
    at = released(small)
    (before,) = books(at).values()
    with monkeypatch.context() as patch:
        cancel(patch, ": 5 done", how)
        figures(at)
    run(at)
    nothing_runs(at)
    assert not at.error
    (account,) = at.session_state["dpcore.accounts"].values()
    made = [entry for child in account.children if TITLE in child.name for entry in child.entries]
    assert len(made) == 5
    (spent,) = books(at).values()
    assert spent[2] == pytest.approx(before[2] + float(sum(entry.epsilon_bound for entry in made)))
    assert "All these runs together" in said(at)


def test_figures_need_a_class_column(one_process: None) -> None:
    at = opened(using("people.csv", csv(people()), target=None), PAGE)
    released(at)  # the page's own choice of a class is enough for a release
    spent = books(at)
    tab(at, "The paper's figures")
    assert books(at) == spent
    assert not errors(at)
    assert not [button for button in at.button if button.key == GO or button.label == "Make this figure"]
    assert "needs a class column" in said(at)


def test_figures_in_many_processes(small: AppTest) -> None:
    at = figures(released(small))
    assert not at.error
    (account,) = at.session_state["dpcore.accounts"].values()
    assert [len(child.entries) for child in account.children if TITLE in child.name] == [RUNS // 2] * 2


def test_the_paper_states_a_figure_of_adult_alone(
    small: AppTest, one_process: None, monkeypatch: pytest.MonkeyPatch, adult: datasets.Dataset
) -> None:
    monkeypatch.setattr(figures_000, "EPSILONS", (0.0, 1.5))
    monkeypatch.setattr(paper_figures, "here", lambda name: name == "adult")
    at = tab(released(small), "The paper's figures")
    drawn = len(charts(at))
    widget(at, f"{FIGURES}.sets").set_value(["people.csv", "adult"])
    figures(run(at))
    assert not at.error
    assert not at.warning
    assert len(charts(at)) == drawn + 2
    assert lines(at, -2) == {"trained on real rows", "majority class"}
    assert lines(at, -1) == {"trained on real rows", "majority class", STATED}
    here = [text for text in said(at).splitlines() if "synthetic rows per run" in text]
    assert [("Here on people.csv" in text, "Here on adult, 30,162 " in text) for text in here] == [
        (True, False),
        (False, True),
    ]
    spent = [
        entry
        for child in at.session_state["dpcore.accounts"][key_of(at, adult), "add_remove"].children
        for entry in child.entries
    ]
    assert len(spent) == 4  # two methods at two epsilons

"""Panels that run a method many times: charged for every run, and stopped by a press of Cancel."""

import time
from contextlib import nullcontext
from threading import Event
from typing import Any

import driving
import pytest
import streamlit as st
from driving import PAGE, opened, press, released, run, shown, tab
from prepared import page, with_release
from screen import books, charts, elements, errors, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import NaiveBayesSynthesizer
from dpcore.dashboard import jobs, session
from dpcore.dashboard.housekeeping import Visit
from dpcore.dashboard.jobs import Job
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


def cancel(monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    """Somebody presses Cancel when the page would show this text; all texts that it had until then."""
    progress, seen = Job.progress, []

    def pressed(job: Job, fraction: float, told: str) -> None:
        seen.append(f"{job.name}: {told}")
        if text in seen[-1]:
            job.canceled.set()
        progress(job, fraction, told)

    monkeypatch.setattr(Job, "progress", pressed)
    return seen


def nothing_runs(at: AppTest) -> None:
    """No progress bar and no cancel button is left on the screen."""
    assert not at.get("progress")
    assert not [found for found in elements(at) if (found.key or "").startswith("cancel:")]


def test_redraws_stay_and_say_how_much_luck_was_in_the_release(small: AppTest) -> None:
    at = tab(small, "Draw again")
    first, release = shown(at), shown(at).release
    before = sum(line.looks for line in at.session_state["dpcore.books"].accounts())  # the release, if it is made here
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
    assert f"Releases looked at {before + 6}" in said(opened(at, "ledger"))


def test_redraws_of_paper_mode_cost_what_can_be_proved_and_those_of_a_seed_differ() -> None:
    at = tab(released(page(), mode="paper"), "Draw again")
    bound = shown(at).release.ledger.epsilon_bound
    press(at, f"{REDRAWS}.go")
    (spent,) = books(at).values()
    assert spent[1:] == pytest.approx((7, 7 * bound))
    press(tab(released(at, mode="corrected", seed=4), "Draw again"), f"{REDRAWS}.go")
    frame = shown(at).redraws
    assert frame.loc[frame["metric"] == "1-way distance", "value"].nunique() > 1


def test_canceled_redraws_keep_what_was_drawn_until_it_is_more(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    at = tab(small, "Draw again")
    first = shown(at)

    def canceled() -> float:
        with monkeypatch.context() as patch:
            seen = cancel(patch, ": 5 of 6")
            press(at, f"{REDRAWS}.go")
            assert not any(": 6 of 6" in text for text in seen)
        nothing_runs(run(at))
        assert not at.error
        assert shown(at) is first
        (spent,) = books(at).values()
        return spent[2]

    assert canceled() == pytest.approx(4)  # what was drawn until then was drawn
    assert "Stopped after 4 of 6" in said(at)
    assert set(first.redraws["run"]) == set(range(5))
    press(at, f"{REDRAWS}.go")
    assert "Stopped after" not in said(at)
    assert set(first.redraws["run"]) == set(range(7))
    frame = first.redraws
    assert canceled() == pytest.approx(4 + 6 + 4)
    assert first.redraws is frame


def test_the_button_rests_before_anything_is_charged(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the browser was told of the button before a fit began, and after a run that failed."""
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
    assert before == [[("Run", True)]] * 2
    assert any("Too much" in told for told in errors(small))


class Pause:
    """A fit that begins, and ends when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go_on, fit = Event(), NaiveBayesSynthesizer.fit

        def slow(method: Any, *arguments: Any, progress: Any, **options: Any) -> Any:
            fitted = fit(method, *arguments, progress=progress, **options)
            assert self.go_on.wait(driving.TIMEOUT)
            progress(1.0, "Over")
            return fitted

        monkeypatch.setattr(NaiveBayesSynthesizer, "fit", slow)
        monkeypatch.setattr(jobs, "PATIENCE", 0.01)

    def end(self, at: AppTest) -> AppTest:
        """Let the fit end, and the page look again."""
        self.go_on.set()
        for job in at.session_state["dpcore.work"].values():
            job.join(driving.TIMEOUT)
        return run(at)


def test_a_release_comes_whatever_is_pressed_meanwhile(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its page shows how far it is, and the last release with its tabs; Run rests; so it is after another page."""
    at = small
    first = shown(at)
    pause = Pause(monkeypatch)
    press(at, f"{PAGE}.run")
    for look in (run, lambda at: tab(at, "Columns"), lambda at: opened(opened(at, "ledger"), PAGE)):
        look(at)
        assert widget(at, f"{PAGE}.run").disabled
        assert [found.proto.text for found in at.get("progress")] == ["Making a copy: Done"]
        assert not at.button(f"cancel:{PAGE}").disabled
        assert shown(at) is first
        assert "It can cost up to" in said(at)
    opened(at, "ledger")
    pause.end(at)
    opened(at, PAGE)
    assert shown(at) is not first
    nothing_runs(at)
    assert not widget(at, f"{PAGE}.run").disabled
    (spent,) = books(at).values()
    assert spent[2] == 1


def test_cancel_is_heard_where_progress_is_told(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    at = small
    first = shown(at)
    pause = Pause(monkeypatch)
    press(at, f"{PAGE}.run")
    at.button(f"cancel:{PAGE}").click()
    run(at)
    assert at.button(f"cancel:{PAGE}").disabled
    assert [found.proto.text for found in at.get("progress")] == ["Making a copy: stopping"]
    pause.end(at)
    nothing_runs(at)
    assert not at.error
    assert shown(at) is first
    (spent,) = books(at).values()
    assert spent[2] == 1  # the door had been asked


def test_a_press_that_comes_late_is_no_second_run(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    at = small
    pause = Pause(monkeypatch)
    press(at, f"{PAGE}.run")
    ticket = at.session_state["dpcore.tickets"][PAGE]
    at.session_state["dpcore.requests"][PAGE] = "run"  # as if it had come before the page was drawn
    run(at)
    pause.end(at)
    assert at.session_state["dpcore.tickets"][PAGE] == ticket


def test_what_fails_meanwhile_is_told_where_the_button_is(small: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    at = small
    first = shown(at)
    pause = Pause(monkeypatch)

    def refused(*_: Any, **__: Any) -> Any:
        raise BudgetError("Too much.", "Ask for less.")

    monkeypatch.setattr(NaiveBayesSynthesizer, "sample", refused)
    press(at, f"{PAGE}.run")
    opened(at, "ledger")
    pause.end(at)
    assert not errors(at)
    opened(at, PAGE)
    assert any("Too much" in told for told in errors(at))
    assert shown(at) is first
    assert not errors(run(at))


def test_a_release_that_is_canceled_before_the_door_is_asked_costs_nothing(
    small: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = small
    first = shown(at)
    with monkeypatch.context() as patch:
        cancel(patch, "Asking the door")
        press(at, f"{PAGE}.run")
    assert "nothing was charged" in said(at)
    nothing_runs(at)
    assert not at.error
    assert shown(at) is first
    assert [spent for _, _, spent in books(at).values()] == [0]
    assert "nothing on it yet" in said(opened(at, "ledger"))
    released(opened(at, PAGE))


def test_a_ticket_is_good_for_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(session, "kept", lambda key, make: kept.setdefault(key, make()))
    for tickets, heard in ((0, True), (1, False)):
        session.tickets()["page"] = tickets  # how many runs were begun when the press comes
        session.asked().clear()
        session.request("page", "run", 0)
        assert (jobs.requested("page") == "run") == heard


def test_work_that_nobody_waits_for_ends() -> None:
    """Nor is a connection that comes back at once taken for a visitor who left."""
    visit, told = Visit(), []
    job = Job("Working", print, visit)
    job.progress(0.1, "here")
    for seconds, ends in ((jobs.GRACE / 2, False), (jobs.GRACE + 1, True)):
        visit.left = time.monotonic() - seconds
        with pytest.raises(jobs.CanceledError) if ends else nullcontext():
            job.progress(0.2, "away")
        told.append(job.told)
    assert told == ["Working: away"] * 2


FIGURES = (("naive_bayes", "figure_1"), ("networks", "figure_6"))  # runs that share the computer, and one by one


@pytest.mark.parametrize(("name", "key"), FIGURES)
def test_canceled_figures_keep_what_is_finished(monkeypatch: pytest.MonkeyPatch, name: str, key: str) -> None:
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
        cancel(patch, ": 3 done")
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

"""Work of a page: charged for every run, drawn once for a press, and stopped by a press of Cancel."""

import time
from contextlib import nullcontext
from threading import Event
from typing import Any

import driving
import pytest
from driving import PAGE, opened, press, released, run, shown, tab
from prepared import with_release
from screen import books, elements, errors, mendable, metrics, pictures, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import NaiveBayesSynthesizer
from dpcore.accounting.ledger import Entry, Ledger
from dpcore.dashboard import jobs, session, workbench
from dpcore.dashboard.housekeeping import Visit
from dpcore.dashboard.jobs import Job
from dpcore.dashboard.tabs import paper_figures, redraw
from dpcore.errors import BudgetError
from dpcore.experiment import engine

REDRAWS = f"{PAGE}.redraws"


@pytest.fixture(autouse=True)
def few_redraws(monkeypatch) -> None:
    monkeypatch.setattr(redraw, "REDRAWS", 6)


@pytest.fixture
def small() -> AppTest:
    """The Naive Bayes page with a release of 80 rows, which cost this session nothing."""
    return with_release()


def cancel(monkeypatch, text: str) -> list[str]:
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
    """No progress bar and no cancel button is left on the screen, and nothing failed."""
    assert not at.get("progress")
    assert not [found for found in elements(at) if (found.key or "").startswith("cancel:")]
    assert not at.error


def bound(at: AppTest) -> float:
    """What the one account of the session is charged."""
    (spent,) = books(at).values()
    return spent[2]


# Many runs of one method


def test_redraws_of_a_seed_differ() -> None:
    at = press(with_release("redraws", seed=4), f"{REDRAWS}.go")
    assert shown(at).redraws.query("run > 0").groupby("metric")["value"].nunique().min() > 1


def test_redraws_stay_and_say_how_much_luck_was_in_the_release(small) -> None:
    at = tab(small, "redraws")
    first, release = shown(at), shown(at).release
    before = sum(line.looks for line in at.session_state["dpcore.books"].accounts())  # the release, if it is made here
    press(at, f"{REDRAWS}.go")
    nothing_runs(at)
    frame, spent = first.redraws, books(at)
    assert frame["metric"].nunique() == 3
    assert frame.loc[frame["run"] > 0].groupby("metric")["value"].nunique().min() > 1
    tab(tab(run(at), "price"), "redraws")
    assert shown(at) is first
    assert (first.release, first.redraws) == (release, frame)
    assert books(at) == spent
    assert metrics(opened(at, "ledger"))[0] == f"{before + 6}"


def test_canceled_redraws_keep_what_was_drawn_until_it_is_more(small: AppTest, monkeypatch) -> None:
    at = tab(small, "redraws")
    first = shown(at)

    def canceled() -> float:
        with monkeypatch.context() as patch:
            seen = cancel(patch, ": 5 of 6")
            press(at, f"{REDRAWS}.go")
            assert not any(": 6 of 6" in text for text in seen)
        nothing_runs(run(at))
        assert shown(at) is first
        return bound(at)

    assert canceled() == pytest.approx(4)  # what was drawn until then was drawn
    assert "4 of 6" in said(at)
    assert set(first.redraws["run"]) == set(range(5))
    press(at, f"{REDRAWS}.go")
    assert "4 of 6" not in said(at)
    assert set(first.redraws["run"]) == set(range(7))
    frame = first.redraws
    assert canceled() == pytest.approx(4 + 6 + 4)
    assert first.redraws is frame


FIGURES = (("naive_bayes", "figure_1"), ("networks", "figure_6"))  # runs that share the computer, and one by one


@pytest.mark.parametrize(("name", "key"), FIGURES)
def test_canceled_figures_keep_what_is_finished(monkeypatch, name: str, key: str) -> None:
    monkeypatch.setattr(driving, "PAGE", name)
    monkeypatch.setattr(engine, "effective_n_jobs", lambda _: 1)
    monkeypatch.setattr(paper_figures, "here", lambda _: False)
    at = with_release("figures")
    first, drawn, keys = shown(at), len(pictures(at)), "naive_bayes.figures" if name == "naive_bayes" else name
    widget(at, f"{keys}.repeats").set_value(1)
    if name == "networks":
        figure = widget(run(at), "networks.figure")
        figure.set_value(figure.options[-1])
    run(at)
    with monkeypatch.context() as patch:
        cancel(patch, ": 3 done")
        press(at, f"{keys}.{key}.go")
    nothing_runs(run(at))
    assert shown(at) is first
    (account,) = at.session_state["dpcore.accounts"].values()
    made = [entry for child in account.children for entry in child.children or child.entries]
    assert len(made) == 3
    assert bound(at) == pytest.approx(float(sum(each.epsilon_bound for each in made)))
    assert len(pictures(at)) > drawn
    assert len(at.warning) == 1  # which says that it was stopped


# One run for a press


class Pause:
    """A fit that begins, and ends when it is told to."""

    def __init__(self, monkeypatch) -> None:
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


def test_a_release_comes_whatever_is_pressed_meanwhile_and_only_one(small: AppTest, monkeypatch) -> None:
    """Its page shows how far it is, and the last release with its tabs; Run rests; so it is after another page."""
    at = small
    first = shown(at)
    pause = Pause(monkeypatch)
    press(at, f"{PAGE}.run")
    ticket = at.session_state["dpcore.tickets"][PAGE]
    at.session_state["dpcore.requests"][PAGE] = "run"  # as if it had come before the page was drawn
    for look in (run, lambda at: tab(at, "columns"), lambda at: opened(opened(at, "ledger"), PAGE)):
        look(at)
        assert widget(at, f"{PAGE}.run").disabled
        assert len(at.get("progress")) == 1
        assert not at.button(f"cancel:{PAGE}").disabled
        assert shown(at) is first
        assert metrics(at)
    opened(at, "ledger")
    pause.end(at)
    opened(at, PAGE)
    assert shown(at) is not first
    nothing_runs(at)
    assert not widget(at, f"{PAGE}.run").disabled
    assert at.session_state["dpcore.tickets"][PAGE] == ticket
    assert bound(at) == 1


def test_cancel_is_heard_where_progress_is_told(small: AppTest, monkeypatch) -> None:
    at = small
    first = shown(at)
    pause = Pause(monkeypatch)
    press(at, f"{PAGE}.run")
    at.button(f"cancel:{PAGE}").click()
    assert run(at).button(f"cancel:{PAGE}").disabled
    pause.end(at)
    nothing_runs(at)
    assert shown(at) is first
    assert bound(at) == 1  # the door had been asked


def test_what_fails_meanwhile_is_told_where_the_button_is(small: AppTest, monkeypatch) -> None:
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
    assert "Too much" in mendable(opened(at, PAGE))[0]
    assert shown(at) is first
    assert not errors(run(at))


def test_a_release_that_is_canceled_before_the_door_is_asked_costs_nothing(small: AppTest, monkeypatch) -> None:
    at = small
    first = shown(at)
    with monkeypatch.context() as patch:
        cancel(patch, "Asking the door")
        press(at, f"{PAGE}.run")
    nothing_runs(at)
    assert shown(at) is first
    assert bound(at) == 0
    assert not metrics(opened(at, "ledger"))
    released(opened(at, PAGE))


def test_a_stopped_run_says_what_it_cost() -> None:
    ledger = Ledger("add_remove")
    nothing = workbench.paid(ledger)
    asked = {"epsilon_claimed": 0.25, "epsilon_of_noise": 0.25, "sensitivity": 1, "claimed_sensitivity": 1, "scale": 4}
    ledger.charge(Entry(name="a table", mechanism="laplace", **asked))
    assert "0.25" in workbench.paid(ledger)
    assert "0.25" not in nothing


def test_a_ticket_is_good_for_one_run(monkeypatch) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(session, "kept", lambda key, make: kept.setdefault(key, make()))
    for tickets, heard in ((0, True), (1, False)):
        session.tickets()["page"] = tickets  # how many runs were begun when the press comes
        session.asked().clear()
        session.request("page", "run", 0)
        assert (jobs.requested("page") == "run") == heard


def test_work_that_nobody_waits_for_ends() -> None:
    """Nor is a connection that comes back at once taken for a visitor who left."""
    visit = Visit()
    job = Job("Working", print, visit)
    job.progress(0.1, "here")
    for seconds, ends in ((jobs.GRACE / 2, False), (jobs.GRACE + 1, True)):
        visit.left = time.monotonic() - seconds
        with pytest.raises(jobs.CanceledError) if ends else nullcontext():
            job.progress(0.2, "away")
        assert job.note == "away"

"""Work of a page: charged for every run, drawn once for a press, and stopped by a press of Cancel."""

import time
from contextlib import nullcontext
from threading import Event
from typing import Any

import driving
import pytest
from driving import PAGE, opened, press, run, shown, tab
from prepared import with_release
from screen import books, elements, metrics, widget
from streamlit.testing.v1 import AppTest

from dpcore import NaiveBayesSynthesizer
from dpcore.dashboard import jobs, session
from dpcore.dashboard.housekeeping import Visit
from dpcore.dashboard.jobs import Job
from dpcore.dashboard.panels import redraw

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
    assert set(first.redraws["run"]) == set(range(5))
    press(at, f"{REDRAWS}.go")
    assert set(first.redraws["run"]) == set(range(7))
    frame = first.redraws
    assert canceled() == pytest.approx(4 + 6 + 4)
    assert first.redraws is frame


def test_a_release_comes_whatever_is_pressed_meanwhile_and_only_one(small: AppTest, monkeypatch) -> None:
    """Its page shows how far it is, and the last release with its tabs; Run rests; so it is after another page."""
    at, first = small, shown(small)
    go_on, fit = Event(), NaiveBayesSynthesizer.fit

    def slow(*arguments: Any, **options: Any) -> Any:
        fitted = fit(*arguments, **options)
        assert go_on.wait(driving.TIMEOUT)
        return fitted

    monkeypatch.setattr(NaiveBayesSynthesizer, "fit", slow)
    monkeypatch.setattr(jobs, "PATIENCE", 0.01)
    press(at, f"{PAGE}.run")
    ticket = at.session_state["dpcore.tickets"][PAGE]
    at.session_state["dpcore.requests"][PAGE] = "run"  # as if it had come before the page was drawn
    for look in (run, lambda at: tab(at, "marginals"), lambda at: opened(opened(at, "ledger"), PAGE)):
        look(at)
        assert not [button for button in at.button if (button.key or "").startswith(f"{PAGE}.run")]
        assert len(at.get("progress")) == 1
        assert shown(at) is first
        assert at.tabs
    opened(at, "ledger")
    go_on.set()
    for job in at.session_state["dpcore.work"].values():
        job.join(driving.TIMEOUT)
    opened(run(at), PAGE)
    assert shown(at) is not first
    nothing_runs(at)
    assert not widget(at, f"{PAGE}.run").disabled
    assert at.session_state["dpcore.tickets"][PAGE] == ticket
    assert bound(at) == 1


def test_a_release_that_is_canceled_before_the_door_is_asked_costs_nothing(small: AppTest, monkeypatch) -> None:
    at, first = small, shown(small)
    with monkeypatch.context() as patch:
        cancel(patch, "Asking the door")
        press(at, f"{PAGE}.run")
    nothing_runs(at)
    assert shown(at) is first
    assert bound(at) == 0
    assert not metrics(opened(at, "ledger"))


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

"""From the first press to the zip: tabs, files, risk, no guarantee; and work that is charged, drawn once, stopped."""

import io
import json
import time
from contextlib import nullcontext
from dataclasses import replace
from threading import Event
from typing import Any

import driving
import pandas as pd
import pytest
from driving import PAGE, cancel, names, opened, people, press, released, run, shown, started, tab
from prepared import data, files, page, with_release
from screen import books, dataset, elements, errors, marked, metrics, numbers, pictures, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import NaiveBayesSynthesizer, Schema
from dpcore.dashboard import jobs, session
from dpcore.dashboard.housekeeping import Visit
from dpcore.dashboard.jobs import Job
from dpcore.dashboard.panels import disclosure, redraw
from dpcore.domain.unit import PrivacyUnit
from dpcore.export import facts

FILES = {"synthetic.csv", "schema.json", "config.json", "ledger.json", "ledger.csv"}
FILES |= {"replay.py", "replay.ipynb", "report.html", "card.md", "README.md"}
CHARTS = {"summary": 1, "marginals": 2, "pairs": 3, "accuracy": 1, "privacy": 1}


def test_first_start_to_export(downloads) -> None:
    at = press(started(), "home.try")
    assert at.session_state["dpcore.page"] == PAGE
    release = shown(at).release
    for name in names(at):
        tab(at, name)
        assert not at.error, name
        assert len(pictures(at)) == CHARTS.get(name, 0), name
        assert marked(at) == [name != "privacy"] * len(pictures(at))
        if name == "summary":
            found, text = shown(at).memory["verdict"], "".join(metric.proto.help for metric in at.metric)
            kept = f"{found.ties - len(found.lost_ties)}/{found.ties}"
            assert metrics(at)[1:3] == [f"{found.close_columns}/15", kept]
            assert f"{found.lost_ties[0].first} × {found.lost_ties[0].second}" in text.replace("\\", "")
            heading = " ".join(pictures(at)[0]["title"]["text"])
        if name == "marginals":
            assert f" points: {widget(at, f'{PAGE}.column').value}" in heading  # at first, the worst one
    content = files(downloads[-1]())
    assert set(content) == FILES
    assert len(pd.read_csv(io.BytesIO(content["synthetic.csv"]))) == len(release.synthetic)
    assert Schema.from_json(content["schema.json"].decode()) == dataset(at).schema
    ledger = json.loads(content["ledger.json"])
    assert ledger["epsilon_claimed"] == ledger["epsilon_bound"] == release.ledger.epsilon_bound
    assert b"random_state" not in content["replay.py"]  # a release without a seed cannot be made again
    for what, about in facts.facts(release).card:
        assert f"**{what}:** {about}" in said(at).replace("\u200b", "")


def test_comparisons_with_real_rows_are_in_the_report_only_if_asked_for(downloads) -> None:
    at = with_release("download")
    reports = []
    for real in (False, True, False):
        at.toggle(f"{PAGE}.real").set_value(real)
        content = files((run(at), downloads[-1]())[1])
        reports.append(content["report.html"].decode())
        assert ("do not publish it" in content["README.md"].decode()) == bool(at.error) == real
    for words in ('class="real"', "Means and medians"):
        assert [words in html for html in reports] == [False, True, False]
    assert books(at) == {}


def test_what_could_still_be_learned_stands_beside_its_limit_and_stays_on_the_screen(downloads, monkeypatch) -> None:
    monkeypatch.setattr(disclosure, "FITS", 4)
    at = with_release("risk")
    assert "46.3" in said(at)
    before = len(metrics(at))
    press(at, f"{PAGE}.learned.go")
    assert 46.3 in numbers(at)[before:]
    assert books(at) == {}
    content = files((tab(at, "download"), downloads[-1]())[1])
    assert set(content) == FILES
    assert not any(b"took part" in raw for raw in content.values())


@pytest.mark.parametrize(("column", "sure"), [("who", "73 in 100"), (None, "95 in 100")])
def test_whose_epsilon_it_is_stands_beside_every_number(column: str | None, sure: str) -> None:
    """A table of three rows per person: with the column that tells persons apart, and without."""
    frame = people(90).assign(who=[f"p{i // 3}" for i in range(90)])
    schema = replace(data(frame.drop(columns="who")).schema, unit=PrivacyUnit(max_contributions=3, id_column=column))
    at = released(page(replace(data(frame, "own"), schema=schema)))
    assert numbers(at)[0] == 1
    assert sure in said(at)  # of a person: by e, or by e cubed
    assert (":material/groups:" in [found.icon for found in at.info]) == (column is None)
    assert at.metric[0].label.endswith("row" if column is None else "person")


def test_noise_that_is_not_exactly_sampled_is_not_for_publication() -> None:
    at = released(page(), noise="laplace")
    assert not shown(at).release.exactly_sampled
    assert shown(at).release.attackable in [found.value for found in at.warning]
    assert shown(released(at, noise="auto")).release.exactly_sampled
    assert not at.warning


def test_without_a_declared_schema_a_run_asks_once_per_data_set_and_promises_nothing(downloads) -> None:
    at = page(data(source="inferred"))
    declare = f"{PAGE}.run.declare"
    assert widget(at, declare)
    released(at)
    assert errors(at) == [shown(at).release.guarantee_void]
    assert metrics(at)[0] == "none"  # where the bound would stand
    assert not [button for button in at.button if button.key == declare]
    tab(at, "download")
    content = files(downloads[-1]())
    for name in ("README.md", "card.md", "report.html", "replay.ipynb", "config.json"):
        assert "inferred" in content[name].decode(), name
    at.session_state["dpcore.data"] = data(people(60, seed=9), "others", source="inferred")
    assert widget(run(at), declare)  # of other data it is asked again
    press(at, declare)
    assert at.session_state["dpcore.page"] == "data"


REDRAWS = f"{PAGE}.redraws"


@pytest.fixture(autouse=True)
def few_redraws(monkeypatch) -> None:
    monkeypatch.setattr(redraw, "REDRAWS", 6)


@pytest.fixture
def small() -> AppTest:
    """The Naive Bayes page with a release of 80 rows, which cost this session nothing."""
    return with_release()


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
            seen = cancel(patch, ": run 5 of 6")
            press(at, f"{REDRAWS}.go")
            assert not any(": run 6 of 6" in text for text in seen)
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
        cancel(patch, "Measuring marginals")
        press(at, f"{PAGE}.run")
    nothing_runs(at)
    assert shown(at) is first
    assert bound(at) == 0
    assert not metrics(opened(at, "ledger"))


def test_a_ticket_is_good_for_one_run(monkeypatch) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(session, "keep_once", lambda key, make: kept.setdefault(key, make()))
    for tickets, heard in ((0, True), (1, False)):
        session.tickets()["page"] = tickets  # how many runs were begun when the press comes
        session.waiting_runs().clear()
        session.request("page", "run", 0)
        assert (jobs.waiting_run("page") == "run") == heard


def test_work_that_nobody_waits_for_ends() -> None:
    """Nor is a connection that comes back at once taken for a visitor who left."""
    visit = Visit()
    job = Job("Working", print, visit)
    job.progress(0.1, "here")
    for seconds, ends in ((jobs.GRACE / 2, False), (jobs.GRACE + 1, True)):
        visit.left_at = time.monotonic() - seconds
        with pytest.raises(jobs.CanceledError) if ends else nullcontext():
            job.progress(0.2, "away")
        assert job.note == "away"

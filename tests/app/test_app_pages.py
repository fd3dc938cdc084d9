"""Whatever the page: no sum of the rows is named, a deep link into a new server counts, and visitors see no file."""

import hashlib
from pathlib import Path
from weakref import WeakSet

import pytest
from driving import MENU, PAGE, PAGES, ROOT, TIMEOUT, csv, opened, people, press, released, run, shown, started, using
from prepared import with_release
from screen import books, dataset, elements, said, widget, words
from streamlit.testing.v1 import AppTest

from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import housekeeping


def test_a_release_stays_and_no_page_names_a_sum_of_the_rows() -> None:
    """Whoever sees a screen, a widget's key included, and knows all rows but one, could test guesses of that one."""
    raw = csv(people())
    at = using("people.csv", raw)
    press(opened(at, PAGE), f"{PAGE}.run")
    first, spent = shown(at), books(at)
    for page in MENU:
        screen = "".join(
            f"{found.key} {getattr(found, 'proto', '')}"
            for found in elements(opened(at, page))
            if hasattr(found, "key")
        )
        assert dataset(at).token.removesuffix("-tested") in screen or page not in ("data", PAGE, "networks")
        assert hashlib.sha256(raw).hexdigest()[:12] not in screen + words(at, everywhere=True), page
        assert shown(opened(at, PAGE)) is first, page
        assert books(at) == spent, page


def test_first_thing_done_behind_a_deep_link_counts(server) -> None:
    """A server that nobody has opened yet runs the page without app.py, where widgets have other identities."""
    server.fresh = True
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT)
    run(at.switch_page(f"pages/{PAGE}.py"))
    server.fresh = False
    widget(at, f"{PAGE}.epsilon").set_value(0.5)
    press(run(at), f"{PAGE}.run")
    assert shown(at).release.ledger.epsilon_bound == pytest.approx(0.5)


def test_what_hangs_on_the_rows_is_marked() -> None:
    """Under add_remove, the number of rows is an answer that nobody paid for."""
    at = with_release("summary")
    assert all(metric.label.startswith("⚠") for metric in at.metric[1:])
    in_use = at.sidebar.markdown[0]
    assert in_use.value.endswith("⚠")
    assert "⚠" in in_use.proto.help
    assert REAL_DATA in said(at)


def test_start_hands_a_file_over_and_takes_its_epsilon_along() -> None:
    at = started()
    widget(at, "home.epsilon").set_value(0.5)
    press(run(at), "home.try")
    assert shown(at).release.ledger.epsilon_bound == pytest.approx(0.5)
    widget(opened(at, "home"), "home.file").set_value(("people.csv", csv(people()), "text/csv"))
    assert run(at).session_state["dpcore.page"] == "data"


@pytest.fixture
def visitors(monkeypatch, tmp_path):
    """A server for visitors."""
    monkeypatch.setenv("DPCORE_HOSTED", "1")
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "ledger.sqlite"))
    for name in ("UPLOADS", "LIMITS", "OPERATOR"):
        monkeypatch.delenv(f"DPCORE_{name}", raising=False)
    monkeypatch.setattr(housekeeping, "guests", WeakSet())
    return tmp_path


def test_no_page_takes_a_file_or_shows_one_of_the_server(visitors):
    at = released(started("naive_bayes"))
    for page in PAGES:
        at = opened(at, page)
        text = words(at, everywhere=True)
        assert not at.get("file_uploader"), page
        assert not [index for index in (ROOT, Path.home(), visitors) if str(index) in text], page
        assert "ledger.sqlite" not in text, page
    assert list(visitors.iterdir()) == []


def test_only_tables_that_come_with_the_program_are_offered(visitors, monkeypatch):
    assert len(widget(started("data"), "data.source").options) == 3  # the sample, and bank cards
    monkeypatch.setenv("DPCORE_UPLOADS", "1")
    assert len(widget(started("data"), "data.source").options) == 4


def test_who_finds_a_full_server_is_told_so_and_gets_nothing_else(visitors, monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "visitors=1")
    first = started()
    second = started("naive_bayes")
    assert not second.button
    assert "dpcore.data" not in second.session_state
    assert opened(first, "naive_bayes").button

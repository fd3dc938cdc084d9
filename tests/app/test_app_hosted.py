"""A server for visitors: no control for files, no file of the server, and its limits are told."""

from pathlib import Path
from weakref import WeakSet

import pytest
from driving import PAGES, ROOT, opened, released, started
from screen import widget, words

from dpcore.dashboard import housekeeping


@pytest.fixture(autouse=True)
def visitors(monkeypatch, tmp_path):
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
        told = words(at, everywhere=True)
        assert not at.get("file_uploader"), page
        assert not [place for place in (ROOT, Path.home(), visitors) if str(place) in told], page
        assert "ledger.sqlite" not in told, page
    assert list(visitors.iterdir()) == []


def test_only_tables_that_come_with_the_program_are_offered(monkeypatch):
    assert len(widget(started("data"), "data.source").options) == 3  # the sample, and bank cards
    monkeypatch.setenv("DPCORE_UPLOADS", "1")
    assert len(widget(started("data"), "data.source").options) == 4


def test_who_finds_a_full_server_is_told_so_and_gets_nothing_else(monkeypatch):
    monkeypatch.setenv("DPCORE_LIMITS", "visitors=1")
    first = started()
    second = started("naive_bayes")
    assert not second.button
    assert "dpcore.data" not in second.session_state
    assert opened(first, "naive_bayes").button

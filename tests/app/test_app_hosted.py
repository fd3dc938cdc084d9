"""A server for visitors: no control for files, no file of the server, and its limits are told."""

from pathlib import Path

import pytest
import streamlit as st
from driving import PAGES, ROOT, opened, released, started
from screen import said, widget, words

pytestmark = pytest.mark.app


@pytest.fixture(autouse=True)
def visitors(monkeypatch, tmp_path):
    monkeypatch.setenv("DPCORE_HOSTED", "1")
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "ledger.sqlite"))
    for name in ("UPLOADS", "LIMITS", "OPERATOR"):
        monkeypatch.delenv(f"DPCORE_{name}", raising=False)
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
    at = started("data")
    assert list(widget(at, "data.source").options) == ["Bundled sample", "Bank cards", "Bank cards, dependent"]
    monkeypatch.setenv("DPCORE_UPLOADS", "1")
    at = started("data")
    assert "My own file" in widget(at, "data.source").options
    assert "UCI Adult" not in widget(at, "data.source").options


def test_the_menu_folds_no_page_away(monkeypatch):
    """Streamlit would, as soon as there are more than twelve."""
    seen, menu = [], st.navigation
    monkeypatch.setattr(st, "navigation", lambda pages, **look: seen.append((pages, look)) or menu(pages, **look))
    started("about")
    pages, look = seen[-1]
    assert sum(map(len, pages.values())) == 13
    assert look["expanded"] is True


def test_visitors_learn_who_runs_it_and_what_it_lets_them_do(monkeypatch):
    assert "did not say who they are" in said(started("about"))
    monkeypatch.setenv("DPCORE_OPERATOR", "The *statistics* class")
    monkeypatch.setenv("DPCORE_UPLOADS", "1")
    monkeypatch.setenv("DPCORE_LIMITS", "seconds=77,rows=1234")
    told = said(started("about"))
    assert "statistics" in told
    assert "77 seconds" in told
    assert "1,234 rows" in told

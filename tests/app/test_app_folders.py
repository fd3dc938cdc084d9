"""Tables on this computer, of any length: by their path, encoded with cancel and resume, used on every page."""

from pathlib import Path
from types import SimpleNamespace

import driving
import pandas as pd
import pytest
from driving import MENU, cancel, change, names, opened, people, press, run, started, tab
from prepared import CENTRAL
from screen import dataset, errors, mendable, said, widget

from dpcore.arguments import no_progress
from dpcore.dashboard import folders, intake
from dpcore.dashboard.panels import download
from dpcore.errors import DataError
from dpcore.rows import FolderData, data, exact_counts, writing
from dpcore.rows.folder import read_folder_status

PAGE = "networks"
ROWS = 640
USE = "Use this table"  # what the button would do where all is encoded


@pytest.fixture(autouse=True)
def own_computer(monkeypatch, tmp_path):
    """A server for this computer alone, as the command says; parts and samples of a few rows."""
    monkeypatch.setenv("DPCORE_LOCAL", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(writing, "GROUP", 40)
    monkeypatch.setattr(writing, "PART", 160)
    monkeypatch.setattr(exact_counts, "BLOCK", 64)
    monkeypatch.setattr(data, "MOST_DRAWN", 40)


@pytest.fixture
def table(tmp_path) -> Path:
    """A folder of a CSV and a Parquet file."""
    index = tmp_path / "people"
    index.mkdir()
    rows = people(ROWS)
    rows[:300].to_csv(index / "a.csv", index=False)
    rows[300:].to_parquet(index / "b.parquet", index=False)
    return index


def at_path(path: object, at=None):
    """The data page with a path typed in."""
    at = started("data") if at is None else at
    if at.selectbox("data.source").value != "folder":
        at.selectbox("data.source").set_value("folder")
        run(at)
    at.text_input("data.path").set_value(str(path))
    return run(at)


def button(at):
    """The button that encodes, goes on, or uses."""
    return widget(at, "data.encode.use")


def go(at):
    button(at).click()
    return run(at)


def in_use(table, page=""):
    """A session with the folder in use, at a page."""
    at = at_path(table)
    widget(at, "data.target").set_value("ill")
    widget(run(at), "data.accuracy").set_value(True)
    at = go(run(at))
    assert dataset(at).name == "people/", errors(at)
    return opened(at, page) if page else at


def codes_of(table) -> Path:
    return table.parent / "_people.codes"


def test_a_folder_is_chosen_declared_encoded_and_used(table):
    at = at_path(table)
    assert not errors(at)
    assert str(codes_of(table)) in said(at)
    assert dataset(at).name == "sample"  # nothing is in use before somebody says so
    widget(at, "data.encode.unproved").click()
    assert dataset(run(at)).schema.source == "inferred"  # as with an upload: possible, and without a guarantee
    used = dataset(go(at))
    assert isinstance(used, FolderData)
    assert used.schema.source == "declared"
    assert sum(used.sizes) == ROWS
    assert read_folder_status(codes_of(table)).complete


def test_cancel_keeps_what_is_encoded_and_another_session_goes_on(table, monkeypatch):
    at = at_path(table)
    with monkeypatch.context() as patch:
        patch.setattr(writing, "BLOCKS", 1, raising=False)
        cancel(patch, "300 rows encoded")
        at = go(at)
    assert "280" in button(at).label  # rows, in parts of 40, 80 and 160
    assert dataset(at).name == "sample"
    before = {path: path.stat().st_mtime_ns for path in codes_of(table).glob("part-*")}

    at = go(at_path(table))  # of a new session: the schema is there again, and it is declared
    assert sum(dataset(at).sizes) == ROWS
    assert dataset(at).schema.source == "declared"
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert button(at_path(table)).label == USE


def test_only_a_server_of_ones_own_offers_paths(monkeypatch):
    at = started("data")
    offered = len(at.selectbox("data.source").options)
    monkeypatch.setenv("DPCORE_LOCAL", "0")
    assert len(run(at).selectbox("data.source").options) < offered
    at = started()
    at.session_state["data.source"] = "folder"  # whoever asks for it all the same
    assert not opened(at, "data").text_input


def test_where_no_paths_are_offered_none_is_looked_at_or_written(monkeypatch, table, tmp_path):
    made = tab(press(in_use(table, PAGE), f"{PAGE}.run"), "download")
    widget(made, f"{PAGE}.longer.path").set_value(str(tmp_path / "out.parquet"))
    known = at_path(table)
    assert button(known).label == USE
    monkeypatch.setenv("DPCORE_LOCAL", "0")
    # Whoever gets past the questions what is offered, and finds the fields all the same:
    monkeypatch.setitem(intake.OWN, "folder", lambda: True)
    monkeypatch.setattr(download, "hosting", SimpleNamespace(is_own_computer=lambda: True))
    assert len(mendable(at_path(table))) == 1
    assert mendable(run(known))
    assert not [one for one in known.button if (one.key or "").startswith("data.encode.use:")]
    with pytest.raises(DataError):
        folders.encode(None, {}, set(), no_progress)
    press(made, f"{PAGE}.longer.go")
    assert len(mendable(made)) == 1
    assert not (tmp_path / "out.parquet").exists()


def test_every_page_works_with_a_folder_or_says_why_not(table, monkeypatch):
    at = in_use(table)
    for page in [page for page in MENU if page not in CENTRAL]:
        monkeypatch.setattr(driving, "PAGE", page)
        assert not errors(opened(at, page)), page
        if page == "compare":
            few = {"methods__0": ["NB-Synth"], "methods__1": [], "epsilons": [0.5], "repeats": 1}
            press(change(at, **few), "compare.run")
            assert not errors(at), errors(at)
            assert at.session_state["dpcore.comparison"]["shown"].frames
        if page == "statistics":
            widget(press(at, "statistics.run"), "statistics.real_values").set_value(True)
            assert not errors(run(at)), errors(at)


@pytest.mark.parametrize("page", CENTRAL)
def test_releases_of_a_folder_have_all_their_tabs(table, page, tmp_path, monkeypatch):
    monkeypatch.setattr(driving, "PAGE", page)
    at = press(in_use(table, page), f"{page}.run")
    for name in names(at):
        at = tab(at, name)
        assert not errors(at), (name, errors(at))
    if page != PAGE:
        return
    widget(at, f"{PAGE}.longer.rows").set_value(5_000)
    widget(at, f"{PAGE}.longer.path").set_value(str(tmp_path / "out.parquet"))
    press(run(at), f"{PAGE}.longer.go")
    made = pd.read_parquet(tmp_path / "out.parquet")
    assert (len(made), list(made)) == (5_000, ["age", "town", "ill"])

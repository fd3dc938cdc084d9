"""Tables on this computer, of any length: by their path, encoded with cancel and resume, used on every page."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import driving
import pandas as pd
import pytest
from driving import MENU, change, declare, edit, names, opened, people, press, run, started, tab
from prepared import CENTRAL, PEOPLE
from screen import dataset, errors, mendable, said, widget, words
from streamlit import config
from test_app_repeats import cancel

from dpcore.arguments import no_progress
from dpcore.dashboard import hosting
from dpcore.dashboard.sections import folders, intake
from dpcore.dashboard.tabs import take_home
from dpcore.errors import DataError
from dpcore.rows import FolderData, data, exact_counts, writing
from dpcore.rows.manifest import begun
from dpcore.rows.writing import encode

PAGE = "networks"
ROWS = 640
USE, ANEW = "Use these data", "Encode anew"  # what the button would do


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
    place = tmp_path / "people"
    place.mkdir()
    rows = people(ROWS)
    rows[:300].to_csv(place / "a.csv", index=False)
    rows[300:].to_parquet(place / "b.parquet", index=False)
    return place


def at_path(path: object, at=None):
    """The data page with a path typed in."""
    at = started("data") if at is None else at
    if at.segmented_control("data.source").value != "folder":
        at.segmented_control("data.source").set_value("folder")
        run(at)
    at.text_input("data.path").set_value(str(path))
    return run(at)


def button(at):
    """The button that encodes, goes on, or uses."""
    return widget(at, "data.encode.go")


def go(at):
    button(at).click()
    return run(at)


def in_use(table, page=""):
    """A session with the folder in use, at a page."""
    at = at_path(table)
    widget(at, "data.target").set_value("ill")
    at = go(declare(run(at)))
    assert dataset(at).name == "people/", errors(at)
    return opened(at, page) if page else at


def codes_of(table) -> Path:
    return table.parent / "_people.codes"


# Encoding


def test_a_folder_is_chosen_declared_encoded_and_used(table):
    at = at_path(table)
    assert not errors(at)
    assert str(codes_of(table)) in said(at)
    assert dataset(at).name == "sample"  # nothing is in use before somebody says so
    assert dataset(go(at)).schema.source == "inferred"  # as with an upload: possible, and without a guarantee
    at = declare(at)
    assert button(at).label == ANEW  # as bounds were rounded
    used = dataset(go(at))
    assert isinstance(used, FolderData)
    assert used.schema.source == "declared"
    assert sum(used.sizes) == ROWS
    assert all(f"{size:,}" in at.sidebar.markdown[0].value for size in used.sizes)
    assert begun(codes_of(table)).whole


@pytest.mark.parametrize("kind", ["folder", "query"])  # the second is of an earlier version, which left codes as well
def test_who_comes_back_to_rows_in_files_chooses_them_again(kind):
    at = started("data")
    at.query_params["own"] = kind
    press(run(at), "dpcore.load_again")
    assert at.segmented_control("data.source").value == "folder"


def test_what_is_not_there_or_cannot_be_read_is_said(table, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    for name, raw in (("book.xlsx", b"PK"), ("broken.parquet", b"PAR1"), ("latin.csv", "a,b\né,1\n".encode("latin-1"))):
        (tmp_path / name).write_bytes(raw)
    stopped = {"format": "dpcore rows 1, unfinished", "schema": PEOPLE.schema.to_document(), "sources": {}}
    stopped |= {"reading": {}, "numbers": True, "parts": [{"file": "part-00000.parquet", "rows": 40, "sha256": "0"}]}
    for name, reading in (("half", {}), ("asked", {"query": "SELECT * FROM people"})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "unfinished.json").write_text(json.dumps({**stopped, "reading": reading}))
    at, found = started("data"), set()
    for path in (
        "nowhere",
        "/nowhere/people.csv",
        "empty",
        "book.xlsx",
        "broken.parquet",
        "latin.csv",
        "half",
        "asked",
        "nul\0",
    ):
        (message,) = mendable(at_path(path if "nowhere" in path else tmp_path / path, at))
        found.add(message)
        assert dataset(at).name == "sample"
    assert len(found) == 9
    assert not mendable(at_path("", at))

    def refused(_):
        raise PermissionError

    monkeypatch.setattr(folders, "begun", refused)
    assert len(mendable(at_path(table, at))) == 1


def test_cells_that_do_not_fit_are_counted_over_all_files(table):
    late = people(50).assign(town="Zqz")  # which the first rows do not have
    late.to_csv(table / "c.csv", index=False)
    at = go(declare(at_path(table)))
    (error,) = mendable(at)
    assert "50 cells of column 'town'" in error
    assert "Zqz" not in words(at, everywhere=True)
    assert dataset(at).name == "sample"
    assert begun(codes_of(table)) is None


def test_cancel_keeps_what_is_encoded_and_another_session_goes_on(table, monkeypatch):
    at = declare(at_path(table))
    with monkeypatch.context() as patch:
        patch.setattr(writing, "BLOCKS", 1, raising=False)
        cancel(patch, "300 rows encoded")
        at = go(at)
    assert "280" in button(at).label  # rows, in parts of 40, 80 and 160
    assert dataset(at).name == "sample"
    parts = sorted(codes_of(table).glob("part-*"))
    before = [path.stat().st_mtime_ns for path in parts]

    at = at_path(table)  # of a new session: the schema is there again, and it is declared
    assert not mendable(at)
    assert not at.table
    assert "280" in button(at).label
    at = go(at)
    assert sum(dataset(at).sizes) == ROWS
    assert dataset(at).schema.source == "declared"
    assert [path.stat().st_mtime_ns for path in parts] == before
    assert button(at_path(table)).label == USE


def test_codes_of_other_files_or_columns_are_replaced_and_a_file_in_place_of_another_is_noticed(table):
    in_use(table)
    people(60).to_csv(table / "c.csv", index=False)
    at = at_path(table)
    assert button(at).label == ANEW
    assert f"{ROWS} rows" in said(at)  # which are replaced
    at = go(declare(at))
    assert sum(dataset(at).sizes) == 700
    row = [column.name for column in dataset(at).schema].index("age")
    assert button(edit(at, {row: {"upper": "200"}})).label == ANEW
    file = table / "a.csv"
    was, raw = file.stat(), file.read_bytes()
    file.write_bytes(raw.replace(b"yes", b"no ", 1))
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns - 10**12))  # as of an older file that was moved there
    assert file.stat().st_size == was.st_size
    assert button(at_path(table)).label == ANEW


@pytest.mark.parametrize("damage", ["gone", "same size"])
def test_damaged_codes_are_told_and_encoded_anew(table, damage):
    in_use(table)
    part = codes_of(table) / "part-00001.parquet"
    raw = part.read_bytes()
    part.write_bytes(raw[:9] + bytes([raw[9] ^ 1]) + raw[10:])
    if damage == "gone":
        part.unlink()
    at = at_path(table)
    if damage == "same size":  # which takes reading all of it
        assert button(at).label == USE
        assert "part-00001.parquet" in mendable(go(at))[0]
        at = run(at)
    assert button(at).label == ANEW
    assert "part-00001.parquet" in said(at)
    assert len(mendable(at_path(codes_of(table)))) == (damage == "gone")
    assert sum(dataset(go(at)).sizes) == ROWS
    assert part.read_bytes() == raw
    assert button(at_path(table)).label == USE


def test_a_folder_of_codes_is_known_by_its_manifest(table, tmp_path):
    age = replace(PEOPLE.schema["age"], lower=0, upper=100)
    schema = replace(PEOPLE.schema, columns=(age, *PEOPLE.schema.columns[1:]))
    at = go(at_path(encode(table, tmp_path / "codes", schema=schema)))
    assert sum(dataset(at).sizes) == ROWS
    at = edit(at, {schema.names.index("age"): {"upper": "200"}})
    assert "'age'" in mendable(at)[0]


def test_two_sessions_and_an_upload_of_the_file_share_one_account(table):
    file = table.parent / "people.csv"
    people(ROWS).to_csv(file, index=False)
    at = go(declare(at_path(file)))
    held = driving.upload(started("data"), "people.csv", file.read_bytes())
    held = press(declare(held), "data.use")
    assert len({each.session_state["dpcore.books"].key(dataset(each)) for each in (at, held)}) == 1


# Servers


def test_only_a_server_of_ones_own_offers_paths(monkeypatch):
    assert hosting.own_computer()
    for name, value in (("HOSTED", "1"), ("PUBLIC", "https://dp.example.org"), ("LOCAL", "0"), ("LOCAL", "")):
        with monkeypatch.context() as patch:
            patch.setenv(f"DPCORE_{name}", value)
            assert not hosting.own_computer()
    at = started("data")
    offered = len(at.segmented_control("data.source").options)
    monkeypatch.setenv("DPCORE_LOCAL", "0")
    assert len(run(at).segmented_control("data.source").options) < offered
    at.session_state["data.source"] = "folder"  # whoever asks for it all the same
    assert not run(at).text_input
    monkeypatch.setenv("DPCORE_LOCAL", "1")
    for address, own in (("0.0.0.0", False), ("", False), ("192.168.0.7", False), ("::1", True), ("localhost", True)):
        monkeypatch.setattr(config, "_config_options", {**config._config_options})
        monkeypatch.setattr("streamlit.get_option", lambda _, address=address: address)
        assert hosting.own_computer() == own


def test_where_no_paths_are_offered_none_is_looked_at_or_written(monkeypatch, table, tmp_path):
    made = tab(press(in_use(table, PAGE), f"{PAGE}.run"), "home")
    widget(made, f"{PAGE}.longer.path").set_value(str(tmp_path / "out.parquet"))
    known = at_path(table)
    assert button(known).label == USE
    monkeypatch.setenv("DPCORE_LOCAL", "0")
    # Whoever gets past the questions what is offered, and finds the fields all the same:
    monkeypatch.setitem(intake.OWN, "folder", (intake.local, lambda: True))
    monkeypatch.setattr(take_home, "hosting", SimpleNamespace(own_computer=lambda: True))
    assert len(mendable(at_path(table))) == 1
    assert mendable(run(known))
    assert not [one for one in known.button if (one.key or "").startswith("data.encode.go:")]
    with pytest.raises(DataError):
        folders.work(None, {}, {}, no_progress)
    press(made, f"{PAGE}.longer.go")
    assert len(mendable(made)) == 1
    assert not (tmp_path / "out.parquet").exists()


# Releases


@pytest.mark.parametrize("page", MENU)
def test_every_page_works_with_a_folder_or_says_why_not(table, page, tmp_path, monkeypatch):
    monkeypatch.setattr(driving, "PAGE", page)
    at = in_use(table, page)
    assert not errors(at), errors(at)
    if page == "compare":
        few = {"methods__0": ["NB-Synth"], "methods__1": [], "epsilons": [0.5], "repeats": 1}
        press(change(at, **few), "compare.run")
        assert not errors(at), errors(at)
        assert at.session_state["dpcore.comparison"]["shown"].frames
    for name in names(at) if page == "audit" else []:
        assert not errors(tab(at, name)), name
    if page not in CENTRAL:
        return
    press(at, f"{page}.run")
    for name in names(at):
        at = tab(at, name)
        assert not errors(at), (name, errors(at))
        if name == "accuracy":
            assert all(f"{size:,}" in said(at) for size in dataset(at).sizes)  # of which samples learn and judge
    if page != PAGE:
        return
    at = tab(at, "home")
    widget(at, f"{PAGE}.longer.rows").set_value(5_000)
    widget(at, f"{PAGE}.longer.path").set_value(str(tmp_path / "out.parquet"))
    press(run(at), f"{PAGE}.longer.go")
    made = pd.read_parquet(tmp_path / "out.parquet")
    assert len(made) == 5_000
    assert list(made) == ["age", "town", "ill"]
    press(at, f"{PAGE}.longer.go")
    assert "out.parquet" in mendable(at)[0]

"""Tables on this computer, of any length: by their path, encoded with cancel and resume, used on every page."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from driving import MENU, declare, edit, opened, people, press, run, started, tab
from prepared import PEOPLE, with_release
from screen import dataset, errors, mendable, said, tabs, widget, words
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


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Parts and samples of a few rows."""
    monkeypatch.setattr(writing, "GROUP", 40)
    monkeypatch.setattr(writing, "PART", 160)
    monkeypatch.setattr(exact_counts, "BLOCK", 64)
    monkeypatch.setattr(data, "MOST_DRAWN", 40)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def own_computer(monkeypatch):
    """As the command says of a server that it starts for this computer alone."""
    monkeypatch.setenv("DPCORE_LOCAL", "1")


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
    return next(one for one in at.button if (one.key or "").startswith("data.encode.go:"))


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


def test_a_folder_is_chosen_declared_encoded_and_used(table):
    at = at_path(table)
    told = said(at)
    assert not errors(at)
    assert "Its first 300 rows were looked at" in told
    assert "They are as private as the rows" in told
    assert str(table.parent / "_people.codes") in told
    assert re.search(r"They take about [\d.]+ MB; [\d,]+ MB are free there", told)
    assert "sample" in dataset(at).name  # nothing is in use before somebody says so
    assert button(at).label == "Encode"
    assert dataset(go(at)).schema.source == "inferred"  # as with an upload: possible, and without a guarantee

    at = declare(at)
    assert button(at).label == "Encode anew"  # as bounds were rounded
    at = go(at)
    used = dataset(at)
    assert isinstance(used, FolderData)
    assert used.schema.source == "declared"
    assert sum(used.sizes) == ROWS
    assert "These data are in use now" in said(at)
    assert f"{used.sizes[0]:,} rows to learn from, {used.sizes[1]:,} to test on" in said(at)
    assert begun(table.parent / "_people.codes").whole
    assert at.query_params == {"own": "folder"}


@pytest.mark.parametrize("kind", ["folder", "query"])  # the second is of an earlier version, which left codes as well
def test_who_comes_back_to_rows_in_files_chooses_them_again(kind):
    at = started("data")
    at.query_params["own"] = kind
    assert "Your rows are in their files still" in said(run(at))
    press(at, "dpcore.load_again")
    assert at.segmented_control("data.source").value == "folder"


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("nowhere", "does not say where it begins"),
        ("/nowhere/people.csv", "no file or folder 'people.csv'"),
        ("{tmp}/empty", "holds no tables"),
        ("{tmp}/book.xlsx", "cannot be read row by row"),
        ("{tmp}/broken.parquet", "cut short or damaged"),
        ("{tmp}/latin.csv", "not valid UTF-8"),
        ("{tmp}/half", "not finished: it has 40 rows"),
        ("{tmp}/asked", "does not ask queries"),
        ("{tmp}/nul\0", "cannot be read"),
    ],
)
def test_what_is_not_there_or_cannot_be_read_is_said(tmp_path, path, cause):
    (tmp_path / "empty").mkdir()
    for name, raw in (("book.xlsx", b"PK"), ("broken.parquet", b"PAR1"), ("latin.csv", "a,b\né,1\n".encode("latin-1"))):
        (tmp_path / name).write_bytes(raw)
    stopped = {"format": "dpcore rows 1, unfinished", "schema": PEOPLE.schema.to_document(), "sources": {}}
    stopped |= {"reading": {}, "numbers": True, "parts": [{"file": "part-00000.parquet", "rows": 40, "sha256": "0"}]}
    for name, reading in (("half", {}), ("asked", {"query": "SELECT * FROM people"})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "unfinished.json").write_text(json.dumps({**stopped, "reading": reading}))
    at = at_path(path.format(tmp=tmp_path))
    assert len(mendable(at)) == 1, errors(at)
    assert cause in mendable(at)[0]
    assert "sample" in said(at)  # the earlier rows stay
    assert not mendable(at_path("", at))


def test_a_path_that_may_not_be_read_is_said(table, monkeypatch):
    def refused(_):
        raise PermissionError

    monkeypatch.setattr(folders, "begun", refused)
    assert "cannot be read" in mendable(at_path(table))[0]


def test_cells_that_do_not_fit_are_counted_over_all_files(table):
    late = people(50).assign(town="Zqz")  # which the first rows do not have
    late.to_csv(table / "c.csv", index=False)
    at = go(declare(at_path(table)))
    (error,) = mendable(at)
    assert "50 cells of column 'town' are not among the declared categories" in error
    assert "Zqz" not in words(at, everywhere=True)
    assert "sample" in dataset(at).name
    assert begun(table.parent / "_people.codes") is None


def test_cancel_keeps_what_is_encoded_and_another_session_goes_on(table, monkeypatch):
    at = declare(at_path(table))
    with monkeypatch.context() as patch:
        patch.setattr(writing, "BLOCKS", 1, raising=False)
        seen = cancel(patch, "300 rows encoded")
        at = go(at)
    assert any("300 rows encoded" in text for text in seen)
    assert "Stopped after 280 rows. Their codes are kept" in said(at)  # in parts of 40, 80 and 160
    assert button(at).label == "Encode: go on after 280 rows"
    assert "sample" in dataset(at).name
    codes = table.parent / "_people.codes"
    parts = sorted(codes.glob("part-*"))
    before = [path.stat().st_mtime_ns for path in parts]

    at = at_path(table)  # of a new session: the schema is there again, and it is declared
    assert not mendable(at)
    assert "Read off your rows" not in said(at)
    assert button(at).label == "Encode: go on after 280 rows"
    at = go(at)
    assert sum(dataset(at).sizes) == ROWS
    assert dataset(at).schema.source == "declared"
    assert [path.stat().st_mtime_ns for path in parts] == before
    at = at_path(table)
    assert button(at).label == "Use these data"


def test_codes_of_other_files_or_columns_are_replaced_and_said_before(table):
    at = in_use(table)
    people(60).to_csv(table / "c.csv", index=False)
    at = at_path(table)
    assert button(at).label == "Encode anew"
    assert "Codes of 640 rows are there, of files that changed since or by another schema" in said(at)
    at = go(declare(at))
    assert sum(dataset(at).sizes) == 700
    row = [column.name for column in dataset(at).schema].index("age")
    at = edit(at, {row: {"upper": "200"}})
    assert button(at).label == "Encode anew"


def test_a_file_in_place_of_another_is_noticed_by_its_time(table):
    in_use(table)
    file = table / "a.csv"
    was, raw = file.stat(), file.read_bytes()
    file.write_bytes(raw.replace(b"yes", b"no ", 1))
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns - 10**12))  # as of an older file that was moved there
    assert file.stat().st_size == was.st_size
    assert button(at_path(table)).label == "Encode anew"


@pytest.mark.parametrize("damage", ["gone", "longer", "same size"])
def test_damaged_codes_are_told_and_encoded_anew(table, damage):
    in_use(table)
    codes = table.parent / "_people.codes"
    part = codes / "part-00001.parquet"
    raw = part.read_bytes()
    part.write_bytes({"gone": b"", "longer": raw + b"x", "same size": raw[:9] + bytes([raw[9] ^ 1]) + raw[10:]}[damage])
    if damage == "gone":
        part.unlink()
    at = at_path(table)
    if damage == "same size":  # which takes reading all of it
        assert button(at).label == "Use these data"
        assert "part-00001.parquet of encoded rows is not the one that was written" in mendable(go(at))[0]
        at = run(at)
    assert button(at).label == "Encode anew"
    assert "part-00001.parquet" in said(at)
    assert "They are encoded anew" in said(at)
    assert not mendable(at_path(codes)) if damage == "same size" else "part-00001" in mendable(at_path(codes))[0]
    assert sum(dataset(go(at)).sizes) == ROWS
    assert part.read_bytes() == raw
    assert button(at_path(table)).label == "Use these data"


def test_the_cache_is_another_place(table, tmp_path):
    at = declare(at_path(table))
    widget(at, "data.codes").set_value("cache")
    at = go(run(at))
    assert sum(dataset(at).sizes) == ROWS
    assert not (tmp_path / "_people.codes").exists()
    (codes,) = (tmp_path / "cache" / "dpcore" / "codes").iterdir()
    assert begun(codes).whole
    assert "Encoded already: 640 rows" in said(at_path(table))  # found where it is


def test_a_folder_of_codes_is_known_by_its_manifest(table, tmp_path):
    age = replace(PEOPLE.schema["age"], lower=0, upper=100)
    schema = replace(PEOPLE.schema, columns=(age, *PEOPLE.schema.columns[1:]))
    codes = encode(table, tmp_path / "codes", schema=schema)
    at = at_path(codes)
    assert not errors(at)
    assert "About 640 rows, 3 columns" in said(at)
    assert button(at).label == "Use these data"
    at = go(at)
    assert sum(dataset(at).sizes) == ROWS
    row = schema.names.index("age")
    at = edit(at, {row: {"upper": "200"}})
    assert "encoded by another schema: the column 'age' differs" in mendable(at)[0]


def test_only_a_server_of_ones_own_offers_paths(monkeypatch, table):
    assert hosting.own_computer()
    for name, value in (
        ("HOSTED", "1"),
        ("PUBLIC", "https://dp.example.org"),
        ("LOCAL", "0"),
        ("LOCAL", ""),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(f"DPCORE_{name}", value)
            assert not hosting.own_computer()
            at = started("data")
            assert "A file or folder on this computer" not in at.segmented_control("data.source").options
            at.session_state["data.source"] = "folder"  # whoever asks for it all the same
            assert not run(at).text_input
    for address, own in (("0.0.0.0", False), ("", False), ("192.168.0.7", False), ("::1", True), ("localhost", True)):
        monkeypatch.setattr(config, "_config_options", {**config._config_options})
        monkeypatch.setattr("streamlit.get_option", lambda _, address=address: address)
        assert hosting.own_computer() == own


def test_where_no_paths_are_offered_none_is_looked_at_or_written(monkeypatch, table, tmp_path):
    refused = "This server takes no paths of files"
    made = tab(press(in_use(table, PAGE), f"{PAGE}.run"), "Take home")
    widget(made, f"{PAGE}.longer.path").set_value(str(tmp_path / "out.parquet"))
    known = at_path(table)
    assert button(known).label == "Use these data"
    monkeypatch.setenv("DPCORE_LOCAL", "0")
    # Whoever gets past the questions what is offered, and finds the fields all the same:
    monkeypatch.setitem(intake.OWN, "folder", (intake.local, lambda: True))
    monkeypatch.setattr(take_home, "hosting", SimpleNamespace(own_computer=lambda: True))
    assert refused in mendable(at_path(table))[0]
    assert refused in mendable(run(known))[0]
    assert not [one for one in known.button if (one.key or "").startswith("data.encode.go:")]
    with pytest.raises(DataError, match=refused):
        folders.work(None, {}, {}, no_progress)
    press(made, f"{PAGE}.longer.go")
    assert refused in mendable(made)[0]
    assert not (tmp_path / "out.parquet").exists()


def test_a_release_is_made_compared_and_taken_home_from_the_folder(table, tmp_path):
    at = in_use(table, PAGE)
    press(at, f"{PAGE}.run")
    assert not errors(at), errors(at)
    at = tab(at, "Rows")
    assert "8 real rows of many" in said(at)
    assert "Kept:" in said(at)
    for name in ("Columns", "Pairs", "Network"):
        at = tab(at, name)
        assert not errors(at), errors(at)
    at = tab(at, "Accuracy")
    learned = dataset(at).sizes[0]
    assert f"Learned from 40 rows, a uniform sample of {learned:,}." in said(at)
    tested = dataset(at).sizes[1]
    assert said(at).count(f"All are asked about 40 test rows, a uniform sample of {tested:,}.") == 1
    at = tab(at, "Risk")
    assert "Real rows of this release are in a folder" in said(at)
    at = tab(at, "Take home")
    widget(at, f"{PAGE}.longer.rows").set_value(5_000)
    widget(at, f"{PAGE}.longer.path").set_value(str(tmp_path / "out.parquet"))
    press(run(at), f"{PAGE}.longer.go")
    assert "5,000 synthetic rows are in" in said(at)
    made = pd.read_parquet(tmp_path / "out.parquet")
    assert len(made) == 5_000
    assert list(made) == ["age", "town", "ill"]
    press(at, f"{PAGE}.longer.go")
    assert any("out.parquet" in error for error in mendable(at)), errors(at)


def test_two_sessions_and_an_upload_of_the_file_share_one_account(table):
    rows = people(ROWS)
    file = table.parent / "people.csv"
    rows.to_csv(file, index=False)
    at = go(declare(at_path(file)))
    first = at.session_state["dpcore.books"].key(dataset(at))
    held = started("data")
    held.segmented_control("data.source").set_value("upload")
    run(held).file_uploader("data.file").set_value(("people.csv", file.read_bytes(), "text/csv"))
    held = press(declare(run(held)), "data.use")
    assert held.session_state["dpcore.books"].key(dataset(held)) == first


@pytest.mark.parametrize("page", MENU)
def test_every_page_works_with_a_folder_or_says_why_not(table, page):
    at = in_use(table, page)
    assert not errors(at), errors(at)
    if page == "audit":
        at.session_state["audit.tab"] = "With a row of my own data"
        assert "The rows in use are in a folder" in said(run(at))
    for name in ("The paper's figures", "The patent's claims"):
        if f"{page}.tab" and name in tabs(at):
            at.session_state[f"{page}.tab"] = name
            assert "The rows in use are in a folder" in said(run(at))


@pytest.mark.parametrize("page", ["forests", "taxonomy", "naive_bayes"])
def test_releases_of_other_pages_have_all_their_tabs(table, page, monkeypatch):
    monkeypatch.setattr("driving.PAGE", page)
    at = in_use(table, page)
    press(at, f"{page}.run")
    assert not errors(at), errors(at)
    for name in tabs(at):
        at = tab(at, name)
        assert not errors(at), (name, errors(at))


def test_a_comparison_runs_on_all_rows(table):
    at = in_use(table, "compare")
    press(at, "compare.run")
    assert not errors(at), errors(at)
    assert at.session_state["dpcore.comparison"]["shown"].frames


def test_tables_in_memory_keep_their_attack_and_have_no_file_of_many_rows():
    at = with_release("Take home")
    assert not [one for one in at.button if (one.key or "").startswith(f"{PAGE}.longer")]
    assert "needs them in memory" not in said(tab(at, "Risk"))

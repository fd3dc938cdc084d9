"""A query on a DuckDB file of this computer: asked once, encoded into a folder, used on every page."""

import pytest
from driving import declare, press, run, started
from prepared import people
from screen import dataset, errors, mendable, said, widget, words
from test_app_folders import ROWS, button, go
from test_app_repeats import cancel

from dpcore.dashboard.sections import intake
from dpcore.rows import FolderData, writing

duckdb = pytest.importorskip("duckdb")


@pytest.fixture(autouse=True)
def own_computer(monkeypatch, tmp_path):
    """A server for this computer alone, and parts of a few rows."""
    monkeypatch.setenv("DPCORE_LOCAL", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(writing, "GROUP", 40)
    monkeypatch.setattr(writing, "PART", 160)


@pytest.fixture
def file(tmp_path):
    place = tmp_path / "people.duckdb"
    given = people(ROWS)
    with duckdb.connect(str(place)) as connection:
        connection.register("given", given)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
        connection.execute("CREATE TABLE notes AS SELECT 1 AS one")
    return place


def asked(file, query, at=None):
    """The data page with a query typed in."""
    at = started("data") if at is None else at
    if at.segmented_control("data.source").value != "query":
        at.segmented_control("data.source").set_value("query")
        run(at)
    if at.text_input("data.database").value != str(file):
        at.text_input("data.database").set_value(str(file))
        run(at)
    if at.text_area:
        at.text_area("data.query").set_value(query)
        run(at)
    return at


def test_a_query_is_asked_declared_encoded_and_used(file):
    at = asked(file, "SELECT * FROM people WHERE age >= 30")
    assert not errors(at), errors(at)
    told = said(at)
    assert "Tables in it: notes, people." in told
    assert "The rows of the answer are encoded into a folder once" in told
    many = int((people(ROWS)["age"] >= 30).sum())
    assert f"About {many:,} rows, 3 columns" in told
    assert "They are as private as the rows" in told
    assert "sample" in dataset(at).name
    widget(at, "data.target").set_value("ill")
    at = go(declare(run(at)))
    used = dataset(at)
    assert isinstance(used, FolderData), errors(at)
    assert sum(used.sizes) == many
    first = at.session_state["dpcore.books"].key(used)

    assert at.query_params["own"] == "query"
    again = started("data")  # after a reload
    again.query_params["own"] = "query"
    press(run(again), "dpcore.load_again")
    assert again.segmented_control("data.source").value == "query"

    at = asked(file, "people", at)
    assert button(at).label == "Encode"  # into a folder of its own
    at = go(declare(at))
    assert sum(dataset(at).sizes) == ROWS
    assert at.session_state["dpcore.books"].key(dataset(at)) == first
    at = asked(file, "SELECT * FROM people WHERE age >= 30")
    assert button(at).label == "Use these data"


def test_what_is_no_select_is_refused_and_no_cell_is_quoted(file):
    at = started("data")
    for query in ("DROP TABLE people", "SELECT 1; SELECT 2", "SELECT CAST(town AS INTEGER) AS town FROM people"):
        at = asked(file, query, at)
        assert len(mendable(at)) == 1, errors(at)
        assert "sample" in said(at)
        assert not any(town in words(at, everywhere=True) for town in people(ROWS)["town"].unique())
    at = asked(file.with_name("nowhere.duckdb"), "", at)
    assert "no file 'nowhere.duckdb'" in mendable(at)[0]


def test_cancel_says_that_the_query_begins_anew(file, monkeypatch):
    at = declare(asked(file, "people"))
    with monkeypatch.context() as patch:
        cancel(patch, "640 rows encoded")
        at = go(at)
    assert "A query is asked from its beginning" in said(at)
    assert button(at).label in ("Encode", "Encode anew")
    at = go(at)
    assert sum(dataset(at).sizes) == ROWS


def test_without_the_engine_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr("dpcore.dashboard.sections.intake.there", lambda name: name != "duckdb")
    at = started("data")
    at.segmented_control("data.source").set_value("query")
    assert 'pip install "dpcore[engines]"' in said(run(at))
    assert not at.text_input


def test_only_a_server_of_ones_own_takes_queries(file, monkeypatch):
    known = asked(file, "people")
    monkeypatch.setenv("DPCORE_LOCAL", "0")
    at = started("data")
    assert "A query on a DuckDB file" not in at.segmented_control("data.source").options
    at.session_state["data.source"] = "query"  # whoever asks for it all the same
    assert not run(at).text_input
    monkeypatch.setitem(intake.OWN, "query", (intake.database, lambda: True))
    assert "This server takes no paths of files" in mendable(asked(file, "people"))[0]
    assert "This server takes no paths of files" in mendable(run(known))[0]

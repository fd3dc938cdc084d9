"""Queries on a DuckDB file: the codes of the same table in memory, read-only, and nothing else than one SELECT."""

import json
from datetime import date
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.datasets.reading import read_frame
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError
from dpcore.rows import Folder, FolderRows, queries, writing
from dpcore.rows.manifest import begun, checksum
from dpcore.rows.writing import encode

duckdb = pytest.importorskip("duckdb")

ROWS = 700
SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=99, bins=10, missing=True),
        Column(name="pay", kind="continuous", lower=0, upper=10_000, bins=7),
        Column(name="town", kind="categorical", categories=("Bonn", "Kiel", "Ulm", "ulm")),
        Column(name="day", kind="date", lower="2020-01-01", upper="2022-12-31", bins="year"),
    ),
    source="declared",
)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    ages = pd.Series(rng.integers(0, 100, ROWS), dtype="Int64").mask(rng.random(ROWS) < 0.1)
    days = [date(2020, 1, 1) + pd.Timedelta(days=int(day)) for day in rng.integers(0, 1000, ROWS)]
    towns = rng.choice(["Bonn", "Kiel", "Ulm ", "ulm"], ROWS)
    return pd.DataFrame({"age": ages, "pay": rng.random(ROWS) * 9_000, "town": towns, "day": days, "id": range(ROWS)})


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(writing, "GROUP", 64)
    monkeypatch.setattr(writing, "PART", 256)


@pytest.fixture
def file(tmp_path) -> Path:
    """A database of a table, a view of it, and a view of a file that nobody may read."""
    place = tmp_path / "people.duckdb"
    rows = table()
    (tmp_path / "secret.csv").write_text("age\n3\n")
    with duckdb.connect(str(place)) as connection:
        connection.register("given", rows)
        connection.execute("CREATE TABLE people AS SELECT * FROM given ORDER BY id")
        connection.execute('CREATE TABLE "odd "" name" AS SELECT * FROM people')
        connection.execute("CREATE VIEW old AS SELECT * FROM people WHERE age >= 50")
        connection.execute(f"CREATE VIEW outside AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
    return place


def in_memory() -> np.ndarray:
    """The codes of the same rows, read from a file into memory."""
    sink = BytesIO()
    table().to_parquet(sink, index=False)
    return SCHEMA.encode(read_frame(sink.getvalue(), "people.parquet"))


def held(folder: Path) -> np.ndarray:
    rows = FolderRows(Folder.open(folder))
    return np.concatenate([np.column_stack(block) for block in rows.blocks(range(len(SCHEMA)))])


@pytest.mark.parametrize("query", ["people", 'odd " name', "SELECT * FROM people ORDER BY id;", "FROM people -- all\n"])
def test_a_query_has_the_codes_of_the_same_rows_in_memory(file, tmp_path, query):
    folder = encode(file, tmp_path / "codes", schema=SCHEMA, query=query)
    assert np.array_equal(held(folder), in_memory())
    found = queries.head(file, query)
    assert found.rows == ROWS
    assert np.array_equal(SCHEMA.encode(found.frame), in_memory())
    assert encode(file, folder, schema=SCHEMA, query=query) == folder  # all there
    with pytest.raises(DataError, match="read otherwise"):
        encode(file, folder, schema=SCHEMA, query="old")


def test_a_query_takes_some_rows_and_the_account_is_that_of_the_file(file, tmp_path):
    some = encode(file, tmp_path / "some", schema=SCHEMA, query="old")
    every = encode(file, tmp_path / "every", schema=SCHEMA, query="people")
    assert len(held(some)) == int((table()["age"] >= 50).sum())
    keys = {Folder.open(folder).key(b"secret") for folder in (some, every)}
    assert len(keys) == 1
    assert json.loads((some / "manifest.json").read_text())["reading"]["query"] == "old"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "nobody",
        "SELECT * FROM people; SELECT 1",
        "DROP TABLE people",
        "INSERT INTO people SELECT * FROM people",
        "CREATE TABLE more AS SELECT 1",
        "ATTACH 'other.duckdb'",
        "COPY people TO 'out.csv'",
        "EXPORT DATABASE 'out'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "CALL pragma_version()",
        "EXPLAIN ANALYZE SELECT 1",
        "SELECT * FROM outside",
        "SELECT * FROM read_csv('{tmp}/secret.csv')",
        "SELECT * FROM read_text('{tmp}/secret.csv')",
        "SELECT * FROM '{tmp}/secret.csv'",
        "SELECT * FROM glob('{tmp}/*')",
        "SELECT * FROM 'https://127.0.0.1:1/x.parquet'",
        "SELECT * FROM sniff_csv('{tmp}/secret.csv')",
        "SELECT * FROM frame",
        "SELECT ?",
    ],
)
def test_what_is_not_one_select_on_this_file_is_refused(file, tmp_path, query):
    frame = table()  # which the engine would find in this program
    before, there = file.read_bytes(), {path.name for path in tmp_path.iterdir()}
    for ask in (
        lambda text: queries.head(file, text),
        lambda text: encode(file, tmp_path / "codes", schema=SCHEMA, query=text),
    ):
        with pytest.raises(DataError):
            ask(query.format(tmp=tmp_path))
    assert len(frame) == ROWS
    assert file.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} - {"codes"} == there
    assert begun(tmp_path / "codes") is None


def test_errors_of_the_engine_say_no_cell(file, tmp_path):
    for query in ("SELECT CAST(town AS INTEGER) AS age FROM people", "SELECT error(town) AS age FROM people"):
        with pytest.raises(DataError) as caught:
            queries.head(file, query)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert not any(town in str(caught.value) for town in ("Bonn", "Kiel", "ulm"))
    with pytest.raises(DataError, match="lists, records or bytes"):
        queries.head(file, "SELECT [town] AS town FROM people")


def test_long_sorts_write_nothing_beside_the_file(file, tmp_path):
    with queries.opened(file) as connection:
        assert connection.sql("SELECT current_setting('temp_directory') AS t").to_arrow_table()["t"][0].as_py() == ""


def test_what_is_no_database_or_is_not_all_there_is_said(file, tmp_path):
    other = tmp_path / "other.duckdb"
    other.write_bytes(b"x" * 100)
    for place, told in ((other, "no DuckDB"), (tmp_path / "nowhere", "no file"), (tmp_path, "no file")):
        with pytest.raises(DataError, match=told):
            queries.head(place, "people")
    wal = file.with_name(f"{file.name}.wal")
    wal.write_bytes(b"")
    with pytest.raises(DataError, match="not in its file yet"):
        encode(file, tmp_path / "codes", schema=SCHEMA, query="people")


@pytest.mark.parametrize("name", ["{}.wal", "{}.wal.checkpoint"])
def test_changes_that_come_beside_the_file_meanwhile_are_seen(file, name):
    """DuckDB reads them with the file, whose checksum does not know them."""
    with pytest.raises(DataError, match="not in its file yet"), queries.opened(file):
        file.with_name(name.format(file.name)).write_bytes(b"")
    with pytest.raises(DataError, match="not in its file yet"), queries.opened(file):
        raise AssertionError("it was opened")


def test_who_was_stopped_begins_anew(file, tmp_path):
    def stop(fraction, text):
        if fraction:
            raise KeyboardInterrupt

    folder = tmp_path / "codes"
    with pytest.raises(KeyboardInterrupt):
        encode(file, folder, schema=SCHEMA, query="people", progress=stop)
    assert begun(folder).rows == 448  # parts of 64, 128 and 256
    with duckdb.connect(str(file)) as connection:  # the same rows in another order, and the note says the same file
        connection.execute("CREATE TABLE other AS SELECT * FROM people ORDER BY id DESC")
    note = json.loads((folder / "unfinished.json").read_text())
    note["sources"][file.name] = {"size": file.stat().st_size, "sha256": checksum(file)}
    note["reading"]["query"] = "other"
    (folder / "unfinished.json").write_text(json.dumps(note))
    encode(file, folder, schema=SCHEMA, query="other")
    assert np.array_equal(held(folder), in_memory()[::-1])


def test_nobody_waits_for_a_query_that_was_canceled(file, tmp_path, monkeypatch):
    monkeypatch.setattr(queries, "LOOK", 0.01)

    def stop(fraction, text):
        raise KeyboardInterrupt

    endless = "SELECT count(*) AS age FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"
    path = queries.files(file, endless)[0].path
    with pytest.raises(KeyboardInterrupt):
        queries.LongQuery(path, f"SELECT * FROM ({endless})", lambda: stop(0.0, ""))


def test_a_query_of_another_length_each_time_is_refused(file, tmp_path):
    query = "SELECT * FROM people WHERE random() < 0.5"
    with pytest.raises(DataError, match="another number of rows each time"):
        encode(file, tmp_path / "codes", schema=SCHEMA, query=query)
    assert not begun(tmp_path / "codes").whole


def test_without_the_engine_a_sentence_says_how_to_get_it(file, monkeypatch):
    monkeypatch.setattr("dpcore.extras.find_spec", lambda _: None)
    with pytest.raises(DataError, match=r'pip install "dpcore\[engines\]"'):
        queries.head(file, "people")


def test_the_names_of_tables_are_told(file):
    assert queries.tables(file) == ['odd " name', "old", "outside", "people"]

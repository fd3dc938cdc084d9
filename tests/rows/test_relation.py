"""Rows in an engine against the same rows in memory: codes, counts and releases are equal, bit for bit."""

import traceback
from itertools import combinations

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engines import ENGINES, arrow, both, every_engine
from folders import views_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import Tape
from tables import SMALL, make_frame
from variants import EVERY_FIT, alike, fitted_state

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.unit import Unit
from dpcore.errors import DataError
from dpcore.methods import METHODS
from dpcore.rows import HeldRows, exact_counts, held, rows_of

WIDE = Schema(
    columns=(
        Column(name="text", kind="categorical", categories=("3", "a", "A", "a ")),
        Column(name="number", kind="continuous", lower=-1, upper=2, bins=5, missing=True, outside="clip"),
        Column(name="flag", kind="categorical", categories=("True", "False"), missing=True),
        Column(name="whole", kind="integer", lower=0, upper=39, bins=40, outside="clip"),
    )
)
ROW = st.tuples(
    st.sampled_from(["3", "3.0", "a", "A", "a "]),
    st.none() | st.floats(width=32) | st.sampled_from([-1.0, -0.4, 0.2, 0.8, 1.4, 2.0, -0.0]),
    st.none() | st.booleans(),
    st.none() | st.integers(-1, 41),
)
STORED = pa.schema([("text", pa.string()), ("number", pa.float64()), ("flag", pa.bool_()), ("whole", pa.int32())])


@every_engine
@settings(max_examples=10)
@given(data=st.data())
def test_tables_and_blocks_of_rows_and_of_views_of_them(engine, data):
    rows = data.draw(st.lists(ROW, max_size=30)) * data.draw(st.sampled_from([1, 3]))
    table = pa.table([pa.array([row[j] for row in rows], kind.type) for j, kind in enumerate(STORED)], schema=STORED)
    pair = both(engine, table, WIDE, numbers=(1, 3))
    pair = views_of(pair, data)
    mine, other = pair
    assert (mine.sizes, len(mine), mine.numbered) == (other.sizes, len(other), other.numbered)
    every = range(len(mine.sizes))
    families = [(), *((j,) for j in every), *combinations(every, 2), (1, 0), (0, 0), (2, 1, 0)]
    for known, found in zip(mine.tables(families), other.tables(families), strict=True):
        assert found.dtype == np.int64
        np.testing.assert_array_equal(known, found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_counts, "BLOCK", 64)
        blocks = [list(one.blocks(every, mine.numbered)) for one in pair]
    assert [len(block[0]) for block in blocks[0]] == [len(block[0]) for block in blocks[1]]
    for known, found in zip(*blocks, strict=True):
        for values, same in zip(known, found, strict=True):
            np.testing.assert_array_equal(values, same)


@every_engine
def test_an_error_of_the_engine_is_not_told(engine, capfd):
    schema = Schema(columns=(Column(name="x", kind="integer", lower=0, upper=9),))
    rows = ENGINES[engine](pa.table({"x": ["1", "Smith"]}))
    if engine == "duckdb":
        rows = rows.project("CAST(x AS INTEGER) AS x")
    elif engine == "dask":
        rows = rows.astype({"x": int})
    elif engine == "spark":
        rows = rows.selectExpr("CAST(x AS INT) AS x")
    else:
        pl = pytest.importorskip("polars")
        rows = rows.with_columns(pl.col("x").cast(pl.Int64))
    with pytest.raises(DataError, match="an error of the kind") as refused:
        rows_of(rows, schema, {})
    assert refused.value.__context__ is refused.value.__cause__ is None
    assert "Smith" not in "".join(traceback.format_exception(refused.value))
    assert "Smith" not in "".join(capfd.readouterr())


def test_tables_of_the_connection_are_not_taken_for_codes():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    table = arrow(make_frame(100, 2))
    for name in ("mapping", "dpcore_rows", "table"):
        connection.execute(f'CREATE TABLE "{name}" AS SELECT 0 AS v0, 1 AS m0, 0 AS v1, 1 AS m1')
    connection.from_arrow(table).create("people")
    before = connection.execute("SHOW TABLES").fetchall()
    held, found = rows_of(table.to_pandas(), SMALL, {}), rows_of(connection.table("people"), SMALL, {})
    families = [(j,) for j in range(len(SMALL))]
    for mine, other in zip(held.tables(families), found.tables(families), strict=True):
        np.testing.assert_array_equal(mine, other)
    assert connection.execute("SHOW TABLES").fetchall() == before


def test_a_table_that_changes_between_two_questions_is_refused():
    duckdb = pytest.importorskip("duckdb")
    schema = Schema(columns=tuple(Column(name=n, kind="categorical", categories=("a", "b")) for n in "xy"))
    for statement in (
        "INSERT INTO rows VALUES ('a', 'a')",
        "DELETE FROM rows WHERE x = 'a'",
        "UPDATE rows SET x = 'b'",
        "UPDATE rows SET x = NULL",
        "UPDATE rows SET x = 'never seen'",
    ):
        connection = duckdb.connect()
        connection.execute("CREATE TABLE rows AS SELECT * FROM (VALUES ('a', 'b'), ('b', 'a')) t(x, y)")
        rows = rows_of(connection.table("rows"), schema, {})
        assert len(list(rows.blocks([0, 1]))) == 1
        connection.execute(statement)
        for ask in (lambda rows=rows: rows.tables([(0,)]), lambda rows=rows: list(rows.blocks([0]))):
            with pytest.raises(DataError, match="have changed"):
                ask()
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows AS SELECT * FROM (VALUES ('a', 'b'), ('b', 'a')) t(x, y)")
    rows = rows_of(connection.table("rows"), schema, {})
    first = list(rows.blocks([0, 1]))
    connection.execute("UPDATE rows SET x = y, y = x")
    np.testing.assert_array_equal(
        rows.tables([(0,)])[0], [1, 1]
    )  # as the documentation says: no column's counts changed
    with pytest.raises(DataError, match="have changed, or come in another order"):
        list(rows.blocks([0]))
    assert len(first) == 1


def test_a_partition_that_is_another_one_each_time_is_refused():
    dask = pytest.importorskip("dask.dataframe")
    schema = Schema(columns=tuple(Column(name=n, kind="categorical", categories=("a", "b")) for n in "xy"))
    files = {0: pd.DataFrame({"x": ["a", "b"], "y": ["a", "b"]}), 1: pd.DataFrame({"x": ["b"], "y": ["a"]})}
    rows = rows_of(dask.from_map(lambda place: files[place].copy(), [0, 1], meta=files[0].head(0)), schema, {})
    assert rows.tables([(0,)])[0].tolist() == [1, 2]
    files[0]["x"] = ["b", "a"]  # the same counts, in another order
    assert rows.tables([(1,)])[0].tolist() == [2, 1]
    for ask in (lambda: rows.tables([(0, 1)]), lambda: list(rows.blocks([0])), lambda: rows.split(1)[0].tables([(0,)])):
        with pytest.raises(DataError, match="have changed"):
            ask()
    files[1] = pd.concat([files[1], files[1]])
    with pytest.raises(DataError, match="have changed"):
        rows._known.clear() or rows.tables([(1,)])


def test_one_transaction_is_one_table(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    schema = Schema(columns=(Column(name="x", kind="categorical", categories=("a", "b")),))
    one = duckdb.connect(tmp_path / "rows.duckdb")
    one.execute("CREATE TABLE rows AS SELECT 'a' AS x")
    one.begin()
    rows = rows_of(one.table("rows"), schema, {})
    one.cursor().execute("INSERT INTO rows VALUES ('b')")
    assert rows.tables([(0,)])[0].tolist() == [1, 0]
    one.commit()
    with pytest.raises(DataError, match="have changed"):
        rows._known.clear() or rows.tables([(0,)])


@every_engine
def test_rows_in_an_engine_are_of_nobody(engine):
    schema = Schema(columns=SMALL.columns, target="ill", unit=Unit(rows=1, column="who"))
    frame = arrow(make_frame(50, 1).assign(who=np.arange(50)))
    with pytest.raises(DataError, match="whose they are"):
        METHODS["NB-Synth"]().fit(ENGINES[engine](frame), schema=schema)


def test_other_frames_in_memory_are_tables():
    frame = make_frame(300, 1)
    known = METHODS["NB-Synth"](random_state=3).fit(frame, schema=SMALL)
    pl = pytest.importorskip("polars")
    for same in (arrow(frame), pl.from_arrow(arrow(frame))):
        assert alike(fitted_state(known), fitted_state(METHODS["NB-Synth"](random_state=3).fit(same, schema=SMALL)))
    persons = Schema(columns=SMALL.columns, target="ill", unit=Unit(rows=1, column="who"))
    several = frame.assign(who=np.arange(300) // 2)
    one, other = (METHODS["NB-Synth"](random_state=3).fit(given, schema=persons) for given in (several, arrow(several)))
    assert alike(fitted_state(one), fitted_state(other))
    assert held(frame, SMALL) is frame
    for made in ENGINES.values():
        rows = made(arrow(frame))
        assert type(held(nw.from_native(rows), SMALL)) is type(rows)  # what narwhals has wrapped is taken out
    assert isinstance(rows_of(held(arrow(frame), SMALL), SMALL, {}), HeldRows)
    for nothing in (None, 3, [1, 2]):
        with pytest.raises(DataError, match="no table"):
            METHODS["NB-Synth"]().fit(nothing, schema=SMALL)


PRINTED = {"mode": "paper"}
LOOKS = ("NB-Synth", {"mode": "paper", "variant": "Alg1"}), ("HMPrivBayes", PRINTED), ("JTree", PRINTED)
FEW = [("NB-Synth", {}), ("PrivBayes refined", {}), ("DiffPRFs", {})]


def learns_the_same(engine, name, extra):
    frame = make_frame(600, 1)
    method, rows = METHODS[name](random_state=3, **extra), ENGINES[engine](arrow(frame))
    if (name, extra) in LOOKS:
        with pytest.raises(DataError, match="all rows at once"):
            method.fit(rows, schema=SMALL)
        return
    known = METHODS[name](random_state=3, **extra).fit(frame, schema=SMALL)
    assert alike(fitted_state(method.fit(rows, schema=SMALL)), fitted_state(known))


@every_engine
@pytest.mark.parametrize(("name", "extra"), [fit for fit in EVERY_FIT if fit in FEW], ids=str)
def test_a_few_methods_learn_the_same(engine, name, extra):
    learns_the_same(engine, name, extra)


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize(("name", "extra"), [fit for fit in EVERY_FIT if fit not in FEW], ids=str)
def test_every_method_learns_the_same(engine, name, extra):
    learns_the_same(engine, name, extra)


@pytest.mark.slow
def test_workers_in_processes_of_their_own_count_the_same():
    dask = pytest.importorskip("dask")
    known, found = both("dask", arrow(make_frame(300, 1)), SMALL)
    with dask.config.set(scheduler="processes", num_workers=2):
        for mine, other in zip(known.split(1), found.split(1), strict=True):
            np.testing.assert_array_equal(mine.tables([(0, 2)])[0], other.tables([(0, 2)])[0])


@every_engine
@pytest.mark.parametrize("name", ["NB-Synth", "PrivBayes refined", "DiffPRFs", "PPNB"])
def test_replay_nothing_reaches_the_result_except_through_the_door(engine, name, monkeypatch):
    """Two fits that hear the same answers about other rows, of another number, learn the same."""
    tape, found = Tape(monkeypatch), []
    relation_ = METHODS[name].relations[0]
    for seed, rows in ((1, 200), (2, 200 if relation_ == "replace" else 37)):
        method = METHODS[name](random_state=3, relation=str(relation_))
        found.append(method.fit(ENGINES[engine](arrow(make_frame(rows, seed))), schema=SMALL))
        tape.replaying = True
    assert not tape.answers
    assert alike(*map(fitted_state, found))
    assert found[0].ledger_.to_json() == found[1].ledger_.to_json()


@every_engine
def test_neighbors_differ_by_one_row_in_one_cell_of_every_table(engine):
    frame, size = make_frame(60, 1), len(SMALL)
    families = [(), *((j,) for j in range(size)), *combinations(range(size), 2), (0, 1, 2, 4)]
    more, fewer = (rows_of(ENGINES[engine](arrow(rows)), SMALL, {}) for rows in (frame, frame.drop(index=7)))
    codes = SMALL.encode(frame)[7]
    for family, with_it, without in zip(families, more.tables(families), fewer.tables(families), strict=True):
        only = np.zeros_like(with_it)
        only[tuple(codes[j] for j in family)] = 1
        np.testing.assert_array_equal(with_it - without, only)
    for code, (with_it, without) in enumerate(zip(more.split(4), fewer.split(4), strict=True)):
        assert len(with_it) - len(without) == (code == codes[4])
        change = with_it.tables([(0, 1)])[0] - without.tables([(0, 1)])[0]
        assert (np.abs(change).sum(), change[codes[0], codes[1]]) == (code == codes[4], code == codes[4])

"""Rows in an engine against the same rows in memory: codes, counts and releases are equal, bit for bit."""

import traceback
from datetime import date, datetime
from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engines import ENGINES, arrow, in_duckdb
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import SMALL, make_frame
from variants import EVERY_FIT, alike, fitted_state

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.unit import Unit
from dpcore.errors import DataError
from dpcore.methods import METHODS
from dpcore.rows import HeldRows, exact_counts, held, relation, rows_of

every_engine = pytest.mark.parametrize("engine", ENGINES)


def number(position):
    return lambda own: own


def both(engine, table, schema, numbers=()):
    """The rows of an Arrow table, held and in an engine."""
    rules = {j: number(j) for j in numbers}
    return rows_of(table.to_pandas(), schema, rules), rows_of(ENGINES[engine](table), schema, rules)


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
    for _ in range(data.draw(st.integers(0, 3))):
        now, way = pair[0].sizes, data.draw(st.sampled_from(["recoded", "derived", "split"]))
        rng, place = np.random.default_rng(data.draw(st.integers(0, 99))), data.draw(st.integers(0, len(now) - 1))
        if way == "recoded":
            sources = rng.integers(0, len(now), 3).tolist()
            pair = [one.recoded([4, 2, 2], [(j, np.arange(now[j]) % 2) for j in sources]) for one in pair]
        elif way == "derived":
            rule = rng.integers(0, 3, (now[place], now[0]))
            pair = [one.derived(3, [place, 0], rule) for one in pair]
        else:
            parts = [one.split(place) for one in pair]
            assert len(parts[0]) == len(parts[1]) == now[place]
            assert [*map(len, parts[0])] == [*map(len, parts[1])]
            code = data.draw(st.integers(0, now[place] - 1))
            pair = [found[code] for found in parts]
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


WORDS = ["a", "A", "a ", " a", "", None, "3", "3.0", "+3", " 3", "03", "3e0", "é", "e\u0301", "x\x00", "x", "NA", "nan"]
WORDS += ["2021-03-05", "2021-03-05 00:00:00", "true", "True", "1", "０", "'", '"', "\\x41", "💊"]
NUMBERS = [
    3.0,
    -0.0,
    0.0,
    0.1,
    0.3,
    None,
    float("nan"),
    float("inf"),
    -float("inf"),
    1e300,
    0.5,
    0.75,
    1.0,
    1 / 3,
    -0.5,
]
LARGE = [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0, 3, None]
DAYS = [date(2021, 3, 5), date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31), None]
TIMES = [datetime(2021, 3, 5), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1, 12), None]
DECIMALS = [Decimal("1.500"), Decimal("0.100"), Decimal("0.300"), Decimal("-0.001"), None]
ARRAYS = {
    "texts": pa.array(WORDS),
    "words of numbers": pa.array(
        ["3", " 3.0 ", "1e1", ".5", "x", "1_0", "0x1f", "inf", "-Infinity", "50%", "", None, "007"]
    ),
    "amounts": pa.array(["$1,234.50", "1234.5", "-$3.00", "$ 7", "1,23", "x", None]),
    "texts of days": pa.array(["2021-03-05", "20210305", "2021/3/5 10:00", "05/03/2021", "2021-02-30", "x", None]),
    "floats": pa.array(NUMBERS),
    "narrow floats": pa.array(NUMBERS, pa.float32()),
    "integers": pa.array(LARGE),
    "small integers": pa.array([0, 1, 2, 3, 255, None], pa.uint8()),
    "truth": pa.array([True, False, None]),
    "days": pa.array(DAYS, pa.date32()),
    "times": pa.array(TIMES, pa.timestamp("us")),
    "decimals": pa.array(DECIMALS, pa.decimal128(18, 3)),
}
CATEGORIES = tuple(
    dict.fromkeys(["3", "a", "A", "a ", "é", "x", "True", "1", "0", "0.1", "2021-03-05", "1.5", "9007199254740992"])
)
AS = {
    "categorical": {"categories": CATEGORIES},
    "ordered": {"categories": CATEGORIES[:3]},
    "continuous": {"lower": -1.0, "upper": 2.0, "bins": (0.1, 0.3, 0.5, 0.75)},
    "many bins": {"kind": "continuous", "lower": 0.0, "upper": 1.0, "bins": 100},
    "integer": {"lower": -3, "upper": 9, "bins": 5},
    "money": {"kind": "continuous", "lower": 0.0, "upper": 2000.0, "bins": 7, "form": "$1,234.50"},
    "date": {"lower": "1969-12-01", "upper": "2021-03-05", "bins": "year"},
    "days": {"kind": "date", "lower": "2021-01-01", "upper": "2021-12-31", "bins": "day", "form": "d/m/y"},
}


def padded(cells, length):
    return pa.concat_arrays([cells, pa.nulls(length - len(cells), cells.type)])


@every_engine
@pytest.mark.parametrize("kind", AS)
def test_every_cell_has_the_code_of_the_schema(engine, kind):
    length = max(map(len, ARRAYS.values()))
    table = pa.table({**{name: padded(cells, length) for name, cells in ARRAYS.items()}, "row": np.arange(length)})
    place = Column(name="row", kind="integer", lower=0, upper=length - 1, bins=length)
    for missing in (True, False) if "categories" not in AS[kind] else (True,):
        fields = {"kind": kind, "outside": "clip", **AS[kind], "missing": missing}
        schema = Schema(columns=(*(Column(name=name, **fields) for name in ARRAYS), place))
        numbers = [j for j, column in enumerate(schema) if column.numeric]
        known, found = both(engine, table, schema, numbers)
        for j, counts in enumerate(found.tables((len(ARRAYS), j) for j in range(len(ARRAYS)))):
            assert counts.sum() == length
            np.testing.assert_array_equal(counts.argmax(axis=1), known.codes[:, j], err_msg=schema.names[j])
        every = range(len(schema))
        for mine, other in zip(known.blocks(every, numbers), found.blocks(every, numbers), strict=True):
            for values, same in zip(mine, other, strict=True):
                np.testing.assert_array_equal(values, same)


def refusal(work):
    """What is said, if anything is."""
    try:
        work()
    except DataError as error:
        return str(error)
    return None


@every_engine
@pytest.mark.parametrize("kind", AS)
def test_what_does_not_fit_is_told_in_the_same_words(engine, kind):
    for name, cells in ARRAYS.items():
        table = pa.table({"cell": pa.concat_arrays([cells, cells])})
        schema = Schema(columns=(Column(name="cell", **{"kind": kind, "missing": name != "truth", **AS[kind]}),))
        known = refusal(lambda table=table, schema=schema: schema.encode(table.to_pandas()))
        found = refusal(lambda table=table, schema=schema: rows_of(ENGINES[engine](table), schema, {}))
        assert found == known, f"{name} as {kind}"
        assert known is not None or name in (
            "words of numbers",
            "amounts",
            "days",
            "times",
            "decimals",
            "small integers",
        )


def test_a_collation_of_duckdb_makes_no_difference():
    schema = Schema(columns=(Column(name="text", kind="categorical", categories=("a", "A", "a ", "é", "e")),))
    table = pa.table({"text": ["a", "A", "a ", "A", "é", "e"]})
    for collation in ("NOCASE", "NOACCENT", "NOCASE.NOACCENT"):
        found = rows_of(in_duckdb(table, {"text": f"VARCHAR COLLATE {collation}"}), schema, {})
        np.testing.assert_array_equal(found.tables([(0,)])[0], [1, 2, 1, 1, 1])
    found = rows_of(in_duckdb(table, {"text": "ENUM ('a', 'A', 'a ', 'é', 'e')"}), schema, {})
    np.testing.assert_array_equal(found.tables([(0,)])[0], [1, 2, 1, 1, 1])


def test_numbers_of_other_types_of_duckdb():
    schema = Schema(columns=(Column(name="n", kind="continuous", lower=0, upper=1e30, bins=(1, 1e20), missing=True),))
    table = pa.table({"n": pa.array(["1", "100000000000000000000", "0.5", None])})
    for kind, counts in {"HUGEINT": [0, 2, 1, 1], "DECIMAL(38, 3)": [1, 1, 1, 1]}.items():
        found = rows_of(in_duckdb(table, {"n": kind}), schema, {})
        assert found.tables([(0,)])[0].tolist() == counts


@every_engine
def test_headers_may_be_anything(engine):
    names = ("k0", "^.*$", 'a "b"', "times", "c1", "len", "*")
    schema = Schema(columns=tuple(Column(name=name, kind="categorical", categories=("x", "y")) for name in names))
    frame = pd.DataFrame({name: np.random.default_rng(j).choice(["x", "y"], 20) for j, name in enumerate(names)})
    known, found = both(engine, arrow(frame.assign(other=1, k1=2)), schema)
    for mine, other in zip(*(rows.tables(combinations(range(7), 2)) for rows in (known, found)), strict=True):
        np.testing.assert_array_equal(mine, other)
    with pytest.raises(DataError, match="lack the column 'k0' and 6 more"):
        rows_of(ENGINES[engine](pa.table({"other": [1]})), schema, {})


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_what_cannot_be_looked_up_is_refused(engine, monkeypatch):
    schema = Schema(
        columns=(Column(name="x", kind="categorical", categories=("a", "b"), missing=True, outside="clip"),)
    )
    for cells in (pa.array([["a"]]), pa.array([datetime(2020, 1, 1)], pa.timestamp("us", "UTC")), pa.array([b"a"])):
        with pytest.raises(DataError, match="Column 'x' holds neither"):
            rows_of(ENGINES[engine](pa.table({"x": cells})), schema, {})
    monkeypatch.setattr(relation, "DIFFERENT", 2)
    assert len(rows_of(ENGINES[engine](pa.table({"x": ["a", "b", "a"]})), schema, {})) == 3
    with pytest.raises(DataError, match="more than 2 different cells"):
        rows_of(ENGINES[engine](pa.table({"x": ["a", "b", "c"]})), schema, {})


@every_engine
def test_an_error_of_the_engine_is_not_told(engine):
    schema = Schema(columns=(Column(name="x", kind="integer", lower=0, upper=9),))
    rows = ENGINES[engine](pa.table({"x": ["1", "Smith"]}))
    if engine == "duckdb":
        rows = rows.project("CAST(x AS INTEGER) AS x")
    elif engine == "dask":
        rows = rows.astype({"x": int})
    else:
        pl = pytest.importorskip("polars")
        rows = rows.with_columns(pl.col("x").cast(pl.Int64))
    with pytest.raises(DataError, match="an error of the kind") as refused:
        rows_of(rows, schema, {})
    assert refused.value.__context__ is refused.value.__cause__ is None
    assert "Smith" not in "".join(traceback.format_exception(refused.value))


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
    assert isinstance(rows_of(held(arrow(frame), SMALL), SMALL, {}), HeldRows)
    for nothing in (None, 3, [1, 2]):
        with pytest.raises(DataError, match="no table"):
            METHODS["NB-Synth"]().fit(nothing, schema=SMALL)


PRINTED = {"mode": "paper"}
LOOKS = ("NB-Synth", {"mode": "paper", "variant": "Alg1"}), ("HMPrivBayes", PRINTED), ("JTree", PRINTED)
FEW = [("NB-Synth", {}), ("RefinedPrivBayes", {}), ("DiffPRFs", {})]


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

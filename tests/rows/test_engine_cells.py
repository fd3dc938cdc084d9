"""Cells of every kind in every engine: the code, the number and the refusal that `Schema.encode` has for each."""

from datetime import date, datetime
from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engines import ENGINES, arrow, both, every_engine, in_duckdb

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError
from dpcore.rows import relation, rows_of

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

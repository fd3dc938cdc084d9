"""A cell has one text and at most one number, whatever the storage type of its column."""

import contextlib
import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dpcore.domain.cells import as_numbers, factorize_texts, parse_columns, parse_plain_numbers
from dpcore.domain.column import Column
from dpcore.text import canonical

NUMBER = Column(name="n", kind="continuous", lower=-10, upper=10, bins=40, missing=True, outside="clip")
WHOLE = Column(name="n", kind="integer", lower=-3, upper=9, bins=13, outside="clip")
WORDS = ("3", "0.5", "007", "True", "2020-01-01", "9007199254740993", "x", "-0")
LISTED = Column(name="n", kind="categorical", categories=WORDS, missing=True, outside="clip")
CODED = (NUMBER, WHOLE, LISTED)


def test_texts_that_are_numbers():
    said = {"3": 3, " 3.0 ": 3, "+3": 3, "3e0": 3, "3.": 3, ".5": 0.5, "007": 7, "-1E-2": -0.01, "inf": np.inf}
    said |= {"-Infinity": -np.inf, "1e400": np.inf, "9007199254740993": 2.0**53}
    words = ("", "nan", "x", "0x1f", "1_000", "1,000", "1 000", "３", "٣", "50%", "True", "1e", "+")
    said |= dict.fromkeys(words, np.nan)
    for dtype in (object, "str", "category", "string", pd.ArrowDtype(pa.string())):
        np.testing.assert_equal(as_numbers(pd.Series(list(said), dtype=dtype)), list(said.values()))


def test_equal_values_have_one_text():
    date, moment = pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01 10:30")
    for equal in (
        ["3", "3.0", "+3", "3e0", 3, 3.0, np.int8(3), np.float32(3), Decimal("3.00")],
        ["0.5", ".5", "5e-1", 0.5, np.float16(0.5), Decimal("0.5")],
        ["0", "-0", "0.0", -0.0, 0],
        ["9007199254740993", "9007199254740992", 2**53, 2**53 + 1, 2.0**53, Decimal(2**53 + 1)],
        ["True", True, np.True_],
        ["2020-01-01", "2020-01-01 00:00:00", "2020-01-01T00:00", datetime.date(2020, 1, 1), date],
        ["2020-01-01 10:30:00", "2020-01-01T10:30", np.datetime64("2020-01-01T10:30"), moment],
        *(["007"], ["７"], ["1_000"], ["x"], [""]),
    ):
        texts = {canonical(value) for value in equal}
        assert len(texts) == 1, equal
        assert canonical(*texts) == texts.pop()
        others = {"4", "03", "7", "1.5", "True ", "1", "2020-01-02"} - set(map(str, equal))
        assert not texts & {canonical(other) for other in others}


TEXTS = ["3", "3.0", "007", "0.5", ".50", "x", "", " 3", "inf", "1e3", "True", "2020-01-01", "9007199254740993"]
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-99, max_value=99)
plain = st.integers(-(2**60), 2**60) | st.floats() | st.booleans() | st.none() | DECIMALS
values = st.sampled_from(TEXTS) | plain | st.dates(datetime.date(1990, 1, 1)) | st.text(max_size=5)


@given(st.lists(values, min_size=1, max_size=4), st.data())
def test_codes_do_not_depend_on_the_storage_type(cells, data):
    """Each cell alone, and all as objects, inferred, text, categories, Arrow, and beside a word."""
    table = pd.Series(cells, dtype=object)
    texts = table.map(str, na_action="ignore")
    stored = [table, table.infer_objects(), texts, texts.astype("category")]
    if not any(type(cell) is bool for cell in cells):  # pandas takes True and 1 for one category
        stored.append(table.astype("category"))
    stored.append(pd.concat([table, pd.Series(["word"])], ignore_index=True))
    if table.isna().any() or all(type(cell) is int for cell in cells):
        plain = [float(cell) if type(cell) is int else np.nan for cell in cells if type(cell) in (int, type(None))]
        stored += [pd.Series(plain)] if len(plain) == len(cells) else []
    with contextlib.suppress(UnicodeEncodeError):
        stored.append(texts.astype("str"))
    for column in CODED:
        alone = [column.encode(pd.Series([cell], dtype=object))[0] for cell in cells]
        for series in stored:
            np.testing.assert_array_equal(column.encode(series)[: len(cells)], alone)


def test_numeric_columns_are_coded_as_their_texts():
    arrow = [pd.ArrowDtype(kind) for kind in (pa.int32(), pa.decimal128(9, 2))]
    for dtype in ("int64", "Int64", "float64", "Float32", "float16", *arrow):
        series = pd.Series([0, 3, 9, -3], dtype=dtype)
        for column in CODED:
            np.testing.assert_array_equal(column.encode(series), column.encode(pd.Series(["0", "3.0", "9.00", "-3"])))
    indices, texts = factorize_texts(pd.Series([True, 1, "1", None, 1.0, "x"], dtype=object))
    assert [texts[index] if index >= 0 else None for index in indices] == ["True", "1", "1", None, "1", "x"]
    indices, texts = factorize_texts(pd.Series(["a\0", "a", "\ud800"], dtype=object))
    assert [texts[index] for index in indices] == ["a\0", "a", "\ud800"]


def test_columns_of_plain_numbers_are_parsed_for_people():
    def table(cells):
        return pd.DataFrame({"a": pd.Series(cells, dtype="str"), "b": "1"})

    plain = {("1", "+2", "-3"): [1, 2, -3], ("1", None, "3"): [1, np.nan, 3], ("1.", ".5", "1e3"): [1.0, 0.5, 1000.0]}
    for cells, numbers in plain.items():
        np.testing.assert_array_equal(parse_plain_numbers(table(cells)["a"]), numbers)
        np.testing.assert_array_equal(parse_columns(table(cells), ["a"])["a"], numbers)
    for cells in (["01234", "99999"], ["99999999999999999999", "1"], ["inf", "1"], ["0x1F", "1"], [None, None]):
        assert parse_plain_numbers(table(cells)["a"]) is None, cells
        pd.testing.assert_frame_equal(parse_columns(table(cells), ["a"]), table(cells))

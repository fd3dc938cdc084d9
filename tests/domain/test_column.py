"""Columns: codes of cells, cells decoded from codes, and declarations that are refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.domain.cells import NumberFormat
from dpcore.domain.column import MAX_CATEGORIES, Column, code_dtype
from dpcore.domain.dates import DATE_FORMS, UNITS, iso
from dpcore.domain.taxonomy import Taxonomy
from dpcore.errors import DataError, SchemaError
from dpcore.text import is_writable

SECRET, HALF, NAN = "s3cret-value", "\ud800", float("nan")
AGE = {"name": "c", "kind": "integer", "lower": 0, "upper": 9}
HEIGHT = {"name": "c", "kind": "continuous", "lower": 0, "upper": 1}
WORD = {"name": "c", "kind": "categorical", "categories": ("a",)}

characters = st.characters(codec="utf-8", exclude_categories=["Cs"])
words = st.text(characters, min_size=1, max_size=8).filter(is_writable)


@st.composite
def listed(draw) -> Column:
    categories = tuple(draw(st.lists(words, min_size=1, max_size=300, unique=True)))
    missing = draw(st.booleans())
    tree = Taxonomy(tuple((f"leaf{i}", "root") for i in range(len(categories)))) if draw(st.booleans()) else None
    return Column(
        name=draw(words.filter(str.strip)),
        kind=draw(st.sampled_from(["categorical", "ordered"])),
        categories=tree.leaves if tree else categories,
        missing=missing,
        outside=draw(st.sampled_from(["refuse", "clip"])) if missing else "refuse",
        description=draw(st.text(max_size=20).filter(is_writable)),
        taxonomy=tree,
    )


@st.composite
def ranged(draw) -> Column:
    """Numbers, numbers as fine as their form, or dates."""
    kind = draw(st.sampled_from(["integer", "continuous", "written", "date"]))
    low, width = draw(st.integers(-(10**5), 10**5)), draw(st.integers(1, 5_000))
    points = sorted(draw(st.lists(st.integers(low + 1, low + width), max_size=20, unique=True)))
    made, form, units = (int if kind == "integer" else lambda tick: tick / 7), "", st.nothing()
    grid = draw(st.none() | st.integers(2, 500)) if kind in ("integer", "written") else None
    made = (lambda tick: tick * grid) if grid else made
    if kind == "written":
        shape = draw(st.sampled_from([("", "", "."), ("$", ",", "."), ("", ".", ","), ("€ ", "’", ".")]))
        form = replace(NumberFormat(*shape), decimals=draw(st.integers(0, 3)), suffix=draw(st.sampled_from(["", " %"])))
        made, form = lambda tick, steps=form.steps_per_unit: tick * (grid or 1) / steps, str(form)
    elif kind == "date":
        made, form, units = iso, draw(st.sampled_from([*DATE_FORMS])), st.sampled_from(UNITS)
    bins = st.integers(1, 400) | units
    inside = tuple(made(point) for point in points if point < low + width)
    return Column(
        name="c",
        kind="continuous" if kind == "written" else kind,
        lower=made(low),
        upper=made(low + width),
        number_format=form,
        step=grid and made(1),
        bins=draw(bins | st.just(inside) if inside else bins),
        missing=draw(st.booleans()),
        outside=draw(st.sampled_from(["refuse", "clip"])),
    )


columns = listed() | ranged()
ODD_CELLS = [None, np.nan, "", SECRET, "1e400", -np.inf, "7", 2.5, -7, True, "1_0", pd.NaT, b"1", [1], 1j, 10**400]


@given(columns, st.integers(0, 2**32 - 1))
def test_a_column_agrees_with_its_document_its_labels_and_its_cells(column, seed):
    assert Column.from_dict(json.loads(json.dumps(column.to_dict()))) == column
    assert len(column.labels) == column.size >= 1
    if column.numeric:
        low = column.edges[:-1]
        assert (np.diff(column.edges) > 0).all()
        cells = map(iso, np.ceil(low)) if column.kind == "date" else np.ceil(low) if column.whole else low
        ends = column.encode(pd.Series(cells))
        np.testing.assert_array_equal(ends, np.arange(len(low)))
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, column.size, 60).astype(code_dtype(column.size))
    cells = column.decode(codes, rng)
    assert column.encode(cells).dtype == codes.dtype
    np.testing.assert_array_equal(column.encode(cells), codes)
    # a file keeps no categorical dtype: cells must survive as plain objects too
    np.testing.assert_array_equal(column.encode(cells.astype(object)), codes)
    if column.step is not None:
        ticks = column.to_numbers(cells.dropna()) / column.step
        np.testing.assert_allclose(ticks, np.rint(ticks), atol=1e-6)
    if column.outside == "clip":  # every cell has a code of its own
        odd = pd.Series(rng.permutation(np.array(ODD_CELLS, dtype=object))[:6], dtype=object)
        codes = column.encode(odd)
        assert (codes < column.size).all()
        assert [column.encode(odd[[i]])[0] for i in range(6)] == codes.tolist()


def test_codes_and_labels_by_hand():
    age = Column(name="age", kind="integer", lower=17, upper=90, bins=2)  # [17, 91) cut at 54
    np.testing.assert_array_equal(age.encode(pd.Series([17, 53, 54, 90])), [0, 0, 1, 1])
    height = Column(name="h", kind="continuous", lower=0, upper=2, bins=(0.5, 1.5))
    np.testing.assert_array_equal(height.encode(pd.Series([0, 0.49, 0.5, 1.5, 2])), [0, 0, 1, 2, 2])
    few = Column(name="n", kind="integer", lower=1, upper=3)  # never more bins than integers
    assert few.labels == ("1", "2", "3")
    first = {(0, 1): "0 to 0.0625", (1_000_000, 1_000_001): "1000000 to 1000000.06"}
    first[1, 1 + 1e-12] = "1 to 1.00000000000006"  # labels of narrow bins differ
    for (low, high), label in first.items():
        column = Column(name="x", kind="continuous", lower=low, upper=high)
        assert column.labels[0] == label
        assert len(set(column.labels)) == column.size
    truth = Column(name="a", kind="categorical", categories=("True", "1"))  # categories are compared as text
    assert truth.encode(pd.Series([True, 1, 1], dtype=object)).tolist() == [0, 1, 1]
    assert truth.encode(pd.Series([1, True, 1], dtype=object)).tolist() == [1, 0, 1]


def test_clip_moves_numbers_to_the_bounds_and_unknown_categories_to_missing():
    word = Column(name="w", kind="categorical", categories=("a",), missing=True, outside="clip")
    np.testing.assert_array_equal(word.encode(pd.Series(["a", "z", None])), [0, 1, 1])
    cells = pd.Series([-5, 999, "2.9", "x", None, "", True, np.inf, -0.5], dtype=object)
    for missing, lost in ((False, 0), (True, 10)):
        column = Column(**AGE, bins=10, outside="clip", missing=missing)
        expected = [0, 9, 2, lost, lost, lost, lost, 9, 0]
        assert column.encode(cells).tolist() == expected
        np.testing.assert_equal(column.numbers(cells), [np.nan if code == 10 else code for code in expected])


def test_cells_outside_are_refused_without_naming_them():
    wrong = [(WORD, SECRET), (WORD, None), (AGE, 424242), (AGE, SECRET), (AGE, 2.125), (HEIGHT, NAN), (HEIGHT, np.inf)]
    for fields, cell in wrong:
        with pytest.raises(DataError, match="'c'") as caught:
            Column(**fields).encode(pd.Series(["a" if fields is WORD else 1, cell]))
        assert caught.value.cause
        assert caught.value.remedy
        assert not any(secret in str(caught.value) for secret in (SECRET, "424242", "2.125"))


def test_contradicting_columns_are_refused():
    """By field; what no file can hold, halves of characters and numbers beyond any float, is among it."""
    many = tuple(map(str, range(MAX_CATEGORIES + 1)))
    age = {"name": (" ", 3, HALF), "kind": ("number", "categorical"), "lower": (None, 0.5, True, 10, -(10**400))}
    age |= {"upper": (None, "9", NAN, 1e17), "bins": ((2.5,), 0, 2.5, True, (1.0, NAN), (9, 10))}
    age |= {"missing": (1,), "description": (None, HALF), "outside": ("drop",)}
    height = {"lower": (1, 2), "upper": (0, float("inf"), 10**400), "bins": ((0.5, 0.25), (1.0,), (0.5,) * 10_000)}
    word = {"categories": ((), ("a", "a"), ("a", ""), ("1", "1.0"), many, "yes", {"a": 1}, (None,), ("a", f"b{HALF}"))}
    for fields, wrongs in ((AGE, age), (HEIGHT, height), (WORD, word | {"outside": ("clip",)})):
        for name, value in ((name, value) for name, values in wrongs.items() for value in values):
            with pytest.raises(SchemaError) as caught:
                Column(**{**fields, name: value})
            assert caught.value.remedy, (name, value)
            assert str(caught.value).encode()
    with pytest.raises(SchemaError, match="too large"):
        Column(name="c", kind="continuous", lower=-1e308, upper=1e308)


def test_fields_of_columns_become_python_numbers():
    for kind in (np.int8, np.float16):
        made = Column(name="n", kind="integer", lower=kind(0), upper=kind(9), bins=np.int64(5))
        assert Column.from_dict(json.loads(json.dumps(made.to_dict()))) == Column(**AGE | {"name": "n", "bins": 5})
    point = Column(name="n", kind="continuous", lower=0, upper=9, bins=np.array([1, 2]))
    assert point == Column(name="n", kind="continuous", lower=0, upper=9, bins=[1, 2])
    assert Column(name="c", kind="ordered", categories=np.array([1, 2])).categories == ("1", "2")

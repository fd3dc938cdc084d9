"""Columns and schemas: encoding and decoding agree, documents round-trip, and mistakes are named."""

import copy
import json
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.domain.column import MAX_CATEGORIES, Column, code_dtype
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy
from dpcore.errors import DataError, DPCoreError, SchemaError
from dpcore.text import as_text, is_writable

SECRET = "s3cret-value"

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda text: bool(text.strip()) and is_writable(text)
)
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(is_writable)


@st.composite
def listed(draw) -> Column:
    categories = tuple(draw(st.lists(words, min_size=1, max_size=300, unique=True)))
    missing = draw(st.booleans())
    tree = Taxonomy(tuple((f"leaf{i}", "root") for i in range(len(categories)))) if draw(st.booleans()) else None
    return Column(
        name=draw(names),
        kind=draw(st.sampled_from(["categorical", "ordered"])),
        categories=tree.leaves if tree else categories,
        missing=missing,
        outside=draw(st.sampled_from(["refuse", "clip"])) if missing else "refuse",
        description=draw(st.text(max_size=20).filter(is_writable)),
        taxonomy=tree,
    )


@st.composite
def numbers(draw) -> Column:
    kind = draw(st.sampled_from(["integer", "continuous"]))
    if kind == "integer":
        low = draw(st.integers(-(10**6), 10**6))
        width = draw(st.integers(0, 10**6))
        cuts = st.lists(st.integers(low + 1, low + max(width, 1)), unique=True, max_size=20)
    else:
        low = draw(st.floats(-1e6, 1e6))
        width = draw(st.floats(1e-3, 1e6))
        cuts = st.lists(st.floats(low, low + width, exclude_min=True, exclude_max=True), unique=True, max_size=20)
    drawn = tuple(float(cut) for cut in sorted(draw(cuts)))
    use_cuts = draw(st.booleans()) and bool(drawn) and (kind == "continuous" or width > 0)
    return Column(
        name=draw(names),
        kind=kind,
        lower=low,
        upper=low + width,
        bins=drawn if use_cuts else draw(st.integers(1, 400)),
        missing=draw(st.booleans()),
        outside=draw(st.sampled_from(["refuse", "clip"])),
    )


columns = st.one_of(listed(), numbers())


@given(columns, st.integers(0, 2**32 - 1))
def test_decoded_cells_have_the_codes_they_came_from(column, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, column.size, 60).astype(code_dtype(column.size))
    cells = column.decode(codes, rng)
    again = column.encode(cells)
    assert again.dtype == code_dtype(column.size)
    np.testing.assert_array_equal(again, codes)
    # a file keeps no categorical dtype: cells must survive as plain objects too
    np.testing.assert_array_equal(column.encode(cells.astype(object)), codes)


@given(columns)
def test_sizes_and_labels_agree(column):
    assert len(column.labels) == column.size >= 1
    if column.numeric:
        edges = column.edges
        assert (np.diff(edges) > 0).all()
        np.testing.assert_array_equal(
            column.encode(pd.Series(np.ceil(edges[:-1]) if column.kind == "integer" else edges[:-1])),
            np.arange(len(edges) - 1),
        )


@given(st.lists(columns, min_size=1, max_size=6, unique_by=lambda column: column.name), st.data())
def test_documents_read_back_to_equal_schemas(parts, data):
    schema = Schema(
        columns=tuple(parts),
        target=data.draw(st.sampled_from([None, *(column.name for column in parts)])),
        source=data.draw(st.sampled_from(["declared", "inferred"])),
        max_rows=data.draw(st.none() | st.integers(1, 10**9)),
        notes=tuple(data.draw(st.lists(st.text(max_size=10), max_size=3))),
    )
    assert Schema.from_json(schema.to_json()) == schema


def test_encoding_is_column_major_and_ignores_other_columns(small_schema, small_frame):
    codes = small_schema.encode(small_frame.assign(extra=1))
    assert codes.shape == (600, 5)
    assert codes.flags.f_contiguous
    assert (codes.max(axis=0) < small_schema.sizes).all()


def test_hand_worked_codes():
    age = Column(name="age", kind="integer", lower=17, upper=90, bins=2)  # [17, 91) cut at 54
    np.testing.assert_array_equal(age.encode(pd.Series([17, 53, 54, 90])), [0, 0, 1, 1])
    height = Column(name="h", kind="continuous", lower=0, upper=2, bins=(0.5, 1.5))
    np.testing.assert_array_equal(height.encode(pd.Series([0, 0.49, 0.5, 1.5, 2])), [0, 0, 1, 2, 2])
    few = Column(name="n", kind="integer", lower=1, upper=3)  # never more bins than integers
    assert few.labels == ("1", "2", "3")


@pytest.mark.parametrize("cells", [[3, 1], [3.0, 1.0], ["3", "1"], [np.int8(3), "1"], pd.Categorical([3, 1])])
def test_categories_are_compared_as_text(cells):
    column = Column(name="c", kind="categorical", categories=("1", "3"))
    np.testing.assert_array_equal(column.encode(pd.Series(cells)), [1, 0])
    assert as_text(3.5) == "3.5"


def test_clip_moves_numbers_to_the_bounds_and_unknown_categories_to_missing():
    number = Column(name="n", kind="integer", lower=0, upper=9, bins=10, outside="clip")
    np.testing.assert_array_equal(number.encode(pd.Series([-5, 999])), [0, 9])
    word = Column(name="w", kind="categorical", categories=("a",), missing=True, outside="clip")
    np.testing.assert_array_equal(word.encode(pd.Series(["a", "z", None])), [0, 1, 1])


ODD_CELLS = [None, np.nan, "", SECRET, "1e400", -np.inf, "7", 2.5, -7, True, "1_0", pd.NaT, b"1", [1], 1j, 10**400]


@given(columns.filter(lambda column: column.outside == "clip"), st.lists(st.sampled_from(ODD_CELLS), max_size=6))
def test_with_clip_every_cell_has_a_code_of_its_own(column, cells):
    codes = column.encode(pd.Series(cells, dtype=object))
    assert codes.shape == (len(cells),)
    assert (codes < column.size).all()
    for cell, code in zip(cells, codes, strict=True):
        assert column.encode(pd.Series([cell], dtype=object)).tolist() == [code]


@pytest.mark.parametrize(
    ("missing", "expected"), [(False, [0, 9, 2, 0, 0, 0, 0, 9, 0]), (True, [0, 9, 2, 10, 10, 10, 10, 9, 0])]
)
def test_hand_worked_clipping(missing, expected):
    column = Column(name="n", kind="integer", lower=0, upper=9, bins=10, outside="clip", missing=missing)
    cells = [-5, 999, "2.9", "x", None, "", True, np.inf, -0.5]
    assert column.encode(pd.Series(cells, dtype=object)).tolist() == expected
    numbers = column.numbers(pd.Series(cells, dtype=object))
    np.testing.assert_equal(numbers, [np.nan if code == 10 else code for code in expected])


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (Column(name="c", kind="categorical", categories=("a",)), ["a", SECRET]),
        (Column(name="c", kind="categorical", categories=("a",)), ["a", None]),
        (Column(name="c", kind="integer", lower=0, upper=9), [1, 424242]),
        (Column(name="c", kind="integer", lower=0, upper=9), [1, SECRET]),
        (Column(name="c", kind="integer", lower=0, upper=9), [1, 2.125]),
        (Column(name="c", kind="continuous", lower=0, upper=9), [1, np.nan]),
        (Column(name="c", kind="continuous", lower=0, upper=9), [1, np.inf]),
    ],
)
def test_cells_outside_are_refused_without_naming_them(column, cells):
    with pytest.raises(DataError, match="'c'") as caught:
        column.encode(pd.Series(cells))
    message = str(caught.value)
    assert caught.value.cause
    assert caught.value.remedy
    for secret in (SECRET, "424242", "2.125"):
        assert secret not in message


@pytest.mark.parametrize(
    "fields",
    [
        {"name": " ", "kind": "categorical", "categories": ("a",)},
        {"name": "c", "kind": "number"},
        {"name": "c", "kind": "categorical"},
        {"name": "c", "kind": "categorical", "categories": ("a", "a")},
        {"name": "c", "kind": "categorical", "categories": ("a", "")},
        {"name": "c", "kind": "categorical", "categories": tuple(map(str, range(MAX_CATEGORIES + 1)))},
        {"name": "c", "kind": "categorical", "categories": ("a",), "outside": "clip"},
        {"name": "c", "kind": "categorical", "categories": ("a",), "outside": "drop"},
        {"name": "c", "kind": "integer"},
        {"name": "c", "kind": "integer", "lower": 0.5, "upper": 9},
        {"name": "c", "kind": "integer", "lower": 9, "upper": 0},
        {"name": "c", "kind": "integer", "lower": 0, "upper": 9, "bins": (2.5,)},
        {"name": "c", "kind": "integer", "lower": 0, "upper": 9, "bins": 0},
        {"name": "c", "kind": "integer", "lower": 0, "upper": 9, "bins": 2.5},
        {"name": "c", "kind": "continuous", "lower": 1, "upper": 1},
        {"name": "c", "kind": "continuous", "lower": 0, "upper": float("inf")},
        {"name": "c", "kind": "continuous", "lower": -1e308, "upper": 1e308},
        {"name": "c", "kind": "continuous", "lower": 0, "upper": 1, "bins": (0.5, 0.25)},
        {"name": "c", "kind": "continuous", "lower": 0, "upper": 1, "bins": (1.0,)},
        {"name": "c", "kind": "continuous", "lower": 0, "upper": 1, "bins": tuple(np.linspace(0.1, 0.9, 10_000))},
    ],
)
def test_contradicting_columns_are_refused(fields):
    with pytest.raises(SchemaError) as caught:
        Column(**fields)
    assert caught.value.cause
    assert caught.value.remedy


def test_contradicting_schemas_are_refused(small_schema):
    a = small_schema.columns[0]
    for fields in (
        {"columns": ()},
        {"columns": (a, a)},
        {"columns": (a,), "target": "b"},
        {"columns": (a,), "source": "guessed"},
        {"columns": (a,), "max_rows": 0},
    ):
        with pytest.raises(SchemaError) as caught:
            Schema(**fields)
        assert caught.value.remedy


def test_lacking_and_double_columns_are_named(small_schema, small_frame):
    with pytest.raises(DataError, match="'age'"):
        small_schema.encode(small_frame.drop(columns="age"))
    with pytest.raises(DataError, match="same name"):
        small_schema.encode(pd.concat([small_frame, small_frame[["age"]]], axis=1))


def test_selection_keeps_order_and_target(small_schema):
    assert small_schema.select(["ill", "age"]).names == ("ill", "age")
    assert small_schema.select(["ill", "age"]).target == "ill"
    assert small_schema.select(["age"]).target is None
    assert small_schema["age"] is small_schema.columns[2]
    assert [column.name for column in small_schema] == list(small_schema.names)
    assert len(small_schema) == 5
    with pytest.raises(SchemaError, match="no column"):
        small_schema.index("height in cm")


def change(column: int | None, **fields: object):
    def changed(document: dict) -> None:
        (document if column is None else document["columns"][column]).update(fields)

    return changed


@pytest.mark.parametrize(
    "spoil",
    [
        change(None, format="another program"),
        change(None, columns={}),
        change(None, columns=[]),
        change(None, columns=[5]),
        change(None, columns=["abc"]),
        change(None, target=5),
        change(None, target=["ill"]),
        change(None, source="guessed"),
        change(None, max_rows="5"),
        change(None, max_rows=2.5),
        change(None, max_rows=True),
        change(None, notes="abc"),
        change(None, notes=5),
        change(0, categories="xy"),
        change(0, categories=[None, "x"]),
        change(0, categories=[["x"], "y"]),
        change(0, missing="yes"),
        change(0, description=5),
        change(0, taxonomy="abc"),
        change(0, taxonomy=5),
        change(0, taxonomy=[[]]),
        change(0, name=5),
        change(0, colour="red"),
        change(2, kind=["integer"]),
        change(2, lower="low"),
        change(2, lower=float("nan")),
        change(2, upper=None),
        change(2, bins=2.5),
        change(2, bins=True),
        change(2, bins=None),
        change(2, bins=["a"]),
    ],
)
def test_malformed_documents_are_refused_with_a_remedy(small_schema, spoil):
    document = copy.deepcopy(json.loads(small_schema.to_json()))
    spoil(document)
    with pytest.raises(SchemaError) as caught:
        Schema.from_json(json.dumps(document))
    assert caught.value.cause
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["", "[]", "null", '"x"', "{", "{}", "\0", "[" * 100_000, '{"columns": 5}'])
def test_other_texts_are_no_schema(text):
    with pytest.raises(SchemaError) as caught:
        Schema.from_json(text)
    assert caught.value.remedy


def test_inference_marks_itself_and_names_what_it_leaves_out():
    frame = pd.DataFrame(
        {
            "age": [20, 30, 40],
            "height": [1.5, 1.75, np.nan],
            "word": ["b", "a", ""],
            "mixed": ["1", "2", "x"],
            "constant": ["same"] * 3,
            "empty": [None] * 3,
            "endless": [1.0, np.inf, 2.0],
            "flag": [True, False, True],
        }
    )
    schema = Schema.infer(frame, target="flag")
    assert schema.source == "inferred"
    assert schema.max_rows is None  # the number of rows is private under add_remove
    assert schema.names == ("age", "height", "word", "mixed", "constant", "flag")
    assert (schema["age"].kind, schema["age"].lower, schema["age"].upper) == ("integer", 20, 40)
    assert (schema["height"].kind, schema["height"].missing) == ("continuous", True)
    assert (schema["word"].categories, schema["word"].missing) == (("a", "b"), True)
    assert schema["flag"].categories == ("False", "True")
    for name, what in {
        "mixed": "1 rows",
        "constant": "one value",
        "empty": "left out",
        "endless": "left out",
    }.items():
        assert any(repr(name) in note and what in note for note in schema.notes)
    codes = schema.encode(frame)  # what was inferred from rows must hold those rows
    assert codes[:, 2].tolist() == [1, 0, 2]


@given(
    st.dictionaries(
        st.sampled_from("abcd"),
        st.sampled_from(
            [
                [1, 2, None, 4],
                [0.5, 0.5, -1e9, 7],
                ["x", None, " ", "x"],
                ["1", "2", "03", ""],
                [True, None, False, True],
                [5, "5", 5.5, "five"],
                [2**60, 1, 2, 3],
            ]
        ),
        min_size=1,
    )
)
def test_whatever_is_inferred_encodes_its_own_rows(table):
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in table.items()})
    for candidate in (frame, frame.infer_objects()):
        schema = Schema.infer(candidate)
        assert schema.encode(candidate).shape == (4, len(schema))


def test_nothing_usable_is_an_error():
    with pytest.raises(DPCoreError) as caught:
        Schema.infer(pd.DataFrame({"a": [None, None]}))
    assert caught.value.remedy


@pytest.mark.slow
def test_a_million_rows_encode_in_seconds():
    rng = np.random.default_rng(0)
    words = tuple(f"value {i}" for i in range(40))
    frame = pd.DataFrame(
        {f"word{j}": pd.Series(np.array(words)[rng.integers(0, 40, 1_000_000)]) for j in range(8)}
        | {f"number{j}": rng.normal(size=1_000_000).clip(-5, 5) for j in range(7)}
    )
    schema = Schema(
        columns=tuple(
            Column(name=name, kind="categorical", categories=words)
            if name.startswith("word")
            else Column(name=name, kind="continuous", lower=-5, upper=5)
            for name in frame
        )
    )
    start = time.perf_counter()
    schema.encode(frame)
    assert time.perf_counter() - start < 5


def test_a_cell_is_encoded_by_itself_whatever_the_others_are():
    """One more row must not change another row's code, even when it changes how a column's type is read."""
    column = Column(name="a", kind="categorical", categories=("1", "2"), missing=True, outside="clip")
    alone = column.encode(pd.Series([1.0, 2.0, 1.0]))
    beside_a_word = column.encode(pd.Series(["1.0", "2.0", "1.0", "x"]))
    assert beside_a_word[:3].tolist() == alone.tolist() == [0, 1, 0]
    truth = Column(name="a", kind="categorical", categories=("True", "1"))
    assert truth.encode(pd.Series([True, 1, 1], dtype=object)).tolist() == [0, 1, 1]
    assert truth.encode(pd.Series([1, True, 1], dtype=object)).tolist() == [1, 0, 1]
    with pytest.raises(SchemaError, match="twice"):
        Column(name="a", kind="categorical", categories=("1", "1.0"))


def test_numbers_too_large_to_count_are_refused():
    with pytest.raises(SchemaError, match="too large"):
        Column(name="a", kind="integer", lower=0, upper=1e17)
    with pytest.raises(SchemaError, match="far too large"):
        Schema(columns=(Column(name="a", kind="categorical", categories=("x",)),), max_rows=10**20)


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.float32, np.float16])
def test_columns_hold_plain_numbers_whatever_they_are_given(kind):
    made = Column(name="n", kind="integer", lower=kind(0), upper=kind(9), bins=np.int64(5))
    assert made == Column(name="n", kind="integer", lower=0, upper=9, bins=5)
    cut = Column(name="n", kind="continuous", lower=0, upper=9, bins=np.array([kind(1), kind(2)]))
    assert cut == Column(name="n", kind="continuous", lower=0, upper=9, bins=[1, 2])
    schema = Schema(columns=[made], max_rows=np.int64(7))
    assert Schema.from_json(schema.to_json()) == schema
    assert Column(name="c", kind="ordered", categories=np.array([1, 2])).categories == ("1", "2")


@pytest.mark.parametrize(
    "wrong",
    [
        {"lower": True},
        {"upper": "9"},
        {"upper": float("nan")},
        {"bins": True},
        {"bins": (1.0, float("nan"))},
        {"bins": (True,)},
        {"bins": "3"},
        {"missing": 1},
        {"name": 3},
        {"kind": "categorical", "categories": "yes"},
        {"kind": "categorical", "categories": {"a": 1}},
        {"kind": "categorical", "categories": (None,)},
        {"description": None},
    ],
)
def test_columns_refuse_what_is_of_a_wrong_kind(wrong):
    with pytest.raises(SchemaError) as caught:
        Column(**{"name": "n", "kind": "integer", "lower": 0, "upper": 9, **wrong})
    assert caught.value.remedy


@pytest.mark.parametrize("wrong", [{"max_rows": True}, {"max_rows": 1.5}, {"columns": "abc"}, {"columns": (1,)}])
def test_schemas_refuse_what_is_of_a_wrong_kind(wrong):
    column = Column(name="n", kind="integer", lower=0, upper=9)
    with pytest.raises(SchemaError) as caught:
        Schema(**{"columns": (column,), **wrong})
    assert caught.value.remedy

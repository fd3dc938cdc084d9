"""Schemas: encoding of frames, documents that read back, named mistakes, and inference."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError

WORD = Column(name="a", kind="categorical", categories=("x",))


def test_frames_are_encoded_column_by_column_and_decoded_to_the_same_codes(small_schema, small_frame):
    codes = small_schema.encode(small_frame.assign(extra=1))
    assert codes.shape == (600, 5)
    assert codes.flags.f_contiguous
    for j, column in enumerate(small_schema):
        np.testing.assert_array_equal(codes[:, j], column.encode(small_frame[column.name]))
    frame = small_schema.decode(codes, np.random.default_rng(0))
    assert list(frame) == list(small_schema.names)
    np.testing.assert_array_equal(small_schema.encode(frame), codes)
    twice = pd.concat([small_frame, small_frame[["age"]]], axis=1)
    for wrong, named in ((small_frame.drop(columns="age"), "'age'"), (twice, "same name")):
        with pytest.raises(DataError, match=named):
            small_schema.encode(wrong)


def test_selection_keeps_order_and_target(small_schema):
    assert small_schema.select(["ill", "age"]).names == ("ill", "age")
    assert small_schema.select(["ill", "age"]).target == "ill"
    assert small_schema.select(["age"]).target is None
    ruled = replace(small_schema, rules=("height <= age", "ill = yes, never grade = high", "height <= age"))
    assert ruled.select(["ill", "grade", "age"]).rules == ruled.rules[1:] == ("ill = yes, never grade = high",)
    with pytest.raises(SchemaError, match="no column"):
        small_schema.index("height in cm")


def test_contradicting_schemas_are_refused():
    wrongs = {"columns": ((), (WORD, WORD), "abc", (1,)), "target": ("b",), "source": ("guessed",)}
    wrongs["max_rows"] = (0, True, 1.5, 10**20)
    for name, value in ((name, value) for name, values in wrongs.items() for value in values):
        with pytest.raises(SchemaError) as caught:
            Schema(**{"columns": (WORD,), name: value})
        assert caught.value.remedy, (name, value)
    assert Schema(columns=[WORD], max_rows=np.int64(7)) == Schema(columns=(WORD,), max_rows=7)


def test_invalid_or_unsatisfiable_rules_are_refused():
    numbers = [Column(name, "integer", lower=5 * i, upper=5 * i + 9) for i, name in enumerate("acd")]
    words = [Column(name, "categorical", categories=("x", "y")) for name in "kl"]
    columns = (*numbers, *words, Column("day", "date", lower="2024-01-01", upper="2024-12-31"))
    pairs = [f"k = {one}, never l = {other}" for one in "xy" for other in "xy"]
    none = "c <= e;c <= day;k <= l;c <= c;k = z, never l = x;k = x, never k = y;c;c = 5, never k = x;c <= d <= a;\ud800"
    many = [f"c <={' ' * i}d" for i in range(501)]
    columns, both = (*columns, Column("f", "integer", lower=0, upper=1)), ("f <= c", "f = 1, never k = x")
    together = ("c <= d", "d <= a", "a <= c"), ("d <= c", "c <= d"), pairs, many, both
    for wrong in (*([one] for one in none.split(";")), *together, "c <= d", (5,)):
        with pytest.raises(SchemaError) as caught:
            Schema(columns, rules=wrong)
        assert caught.value.remedy, wrong
    assert len(Schema(columns, rules=("a<=c", "d <= c", *pairs[:2], both[1])).rules) == 5


def test_documents_read_back_to_equal_schemas_and_malformed_ones_are_refused_with_a_remedy(small_schema):
    whole, ruled = {"source": "inferred", "max_rows": 10**9}, replace(small_schema, rules=("height <= age",))
    ruled = replace(ruled, proposed_rules=("height <= age", "age <= height"))  # of which one was declared
    assert Schema.from_json(ruled.to_json()).proposed_rules == ruled.rules
    marked = Schema.from_json(
        replace(ruled, proposed_rules=()).to_json().replace("<= age", "<= age (proposed from the rows)")
    )
    assert (marked.rules, marked.proposed_rules) == (ruled.rules, ruled.rules)  # as a draft wrote it
    for schema in (small_schema, Schema(columns=small_schema.columns, **whole), Schema(columns=(WORD,)), ruled):
        assert Schema.from_json(schema.to_json()) == schema
    texts = ["", "[]", "null", "{", "{}", '{"columns": 5}']
    head = {"format": ["another program"], "columns": [{}, [], [5]], "target": [5], "source": ["guessed"]}
    head |= {"max_rows": ["5", 2.5, True], "rules": [5, "a", ["a"], [["a", "b"]], {}]}
    head["proposed_rules"] = [5, "a", [5]]
    word = {"categories": ["xy", [None, "x"], [["x"], "y"]], "missing": ["yes"], "description": [5]}
    word |= {"taxonomy": ["abc", [[]], [["x", []], 3]], "name": [5], "color": ["red"]}
    age = {"kind": [["integer"]], "lower": ["low", float("nan")], "upper": [None], "bins": [2.5, True, None, ["a"]]}
    for index, wrongs in ((None, head), (0, word), (2, age)):
        for name, value in ((name, value) for name, values in wrongs.items() for value in values):
            document = json.loads(small_schema.to_json())
            (document if index is None else document["columns"][index])[name] = value
            texts.append(json.dumps(document))
    for text in texts:
        with pytest.raises(SchemaError) as caught:
            pytest.fail(f"{Schema.from_json(text)} of {text}")
        assert caught.value.cause
        assert caught.value.remedy


def test_inference_marks_itself_and_names_what_it_leaves_out():
    frame = pd.DataFrame({"age": [20, 30, 40], "height": [1.5, 1.75, np.nan], "word": ["b", "a", ""]})
    frame = frame.assign(mixed=["1", "2", "x"], constant="same", empty=None, endless=[1.0, np.inf, 2.0])
    frame["flag"] = [True, False, True]
    few = ["word", "mixed", "flag"]  # of few rows
    schema = Schema.infer(frame, target="flag", keep=few)
    assert schema.source == "inferred"
    assert schema.max_rows is None  # the number of rows is private under add_remove
    assert schema.names == ("age", "height", "word", "mixed", "flag")
    assert (schema["age"].kind, schema["age"].lower, schema["age"].upper) == ("integer", 20, 40)
    assert (schema["height"].kind, schema["height"].missing) == ("continuous", True)
    assert schema["height"].number_format == "1234.50"  # as fine as they are
    only = Schema.infer(frame[["constant"]], keep=["constant"])  # better a column that tells little than none
    assert (only.names, only.notes) == (("constant",), ())
    assert (schema["word"].categories, schema["word"].missing) == (("a", "b"), True)
    assert schema["flag"].categories == ("False", "True")
    for name, what in {"mixed": "1 rows", "constant": "same value", "empty": "left out", "endless": "left out"}.items():
        assert any(repr(name) in note and what in note for note in schema.notes)
    assert schema.encode(frame)[:, 2].tolist() == [1, 0, 2]
    with pytest.raises(SchemaError, match="No column"):
        Schema.infer(pd.DataFrame({"a": [None, None]}))


def test_whatever_is_inferred_encodes_its_own_rows():
    tables = [[1, 2, None, 4], [0.5, 0.5, -1e9, 7], ["x", None, " ", "x"], ["1", "2", "03", ""]]
    tables += [[True, None, False, True], [5, "5", 5.5, "five"], [2**60, 1, 2, 3]]
    frame = pd.DataFrame({f"c{i}": pd.Series(cells, dtype=object) for i, cells in enumerate(tables)})
    for stored in (frame, frame.infer_objects()):
        schema = Schema.infer(stored)
        assert schema.encode(stored).shape == (4, len(schema)) == (4, 7)

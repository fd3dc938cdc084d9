"""Where a schema's lines come from is kept for ever, and values that few rows have are in no line unasked."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema
from dpcore.dashboard.pages.data import schema_table
from dpcore.datasets import proposals, schema_formats
from dpcore.errors import SchemaError

RNG = np.random.default_rng(4)
ROWS = pd.DataFrame(
    {
        "age": RNG.integers(17, 90, 200),
        "town": ["Bonn"] * 120 + ["Ulm"] * 75 + ["Zqdorf"] * 5,
        "ill": ["no"] * 191 + ["yes"] * 9,
    }
)


def origins(schema: Schema) -> dict[str, str]:
    """By column, as its file says it: what no file says was declared."""
    return {one["name"]: one.get("origin", "declared") for one in schema.to_document()["columns"]}


def declared(schema: Schema) -> Schema:
    return replace(schema, source="declared", notes=())


def test_who_declares_what_the_program_proposed_leaves_a_trace_of_it() -> None:
    schema = declared(Schema.infer(ROWS))
    every = dict.fromkeys(ROWS, "proposed")
    assert origins(schema) == every
    assert origins(Schema.from_json(schema.to_json())) == every
    assert origins(declared(proposals.round_columns(schema, schema.names))) == every  # a proposal as well
    assert origins(schema.select(["town", "age"])) == {"town": "proposed", "age": "proposed"}
    changed = replace(schema["age"], description="in years")
    assert origins(replace(schema, columns=(changed,))) == {"age": "proposed"}
    assert origins(schema_formats.read(schema.to_json())[0].schema()) == every
    assert replace(schema["town"], origin="declared") == schema["town"]  # it says nothing of what the values are


def test_one_word_changed_in_a_file_does_not_make_lines_somebodys_own() -> None:
    read_off = Schema.infer(ROWS).to_json()
    assert set(origins(Schema.from_json(read_off.replace('"inferred"', '"declared"'))).values()) == {"proposed"}
    for source, meant in (("inferred", "proposed"), ("declared", "declared")):  # files from before lines said it
        document = json.loads(read_off) | {"source": source}
        for one in document["columns"]:
            del one["origin"]
        assert set(origins(Schema.from_document(document)).values()) == {meant}
    document["columns"][0]["origin"] = "heaven"
    with pytest.raises(SchemaError, match="origin"):
        Schema.from_document(document)


def test_lines_of_other_programs_are_from_a_document_and_such_a_document_loses_where_others_are_from() -> None:
    schema = declared(Schema.infer(ROWS))
    text, lost = schema_formats.write(schema, "frictionless")
    assert any(line.startswith("where its lines come from (age, town, ill)") for line in lost)
    assert set(origins(schema_formats.read(text)[0].outline).values()) == {"document"}


AGES = schema_table.format_values(Schema.infer(ROWS)["age"])  # with 16 bins


@pytest.mark.parametrize(
    ("name", "edits", "before", "after"),
    [
        ("age", {"values": "0 to 200, 16 bins"}, "proposed", "changed"),
        ("town", {"values": "Bonn; Ulm; Köln"}, "proposed", "changed"),
        ("town", {"values": "Ulm; Bonn", "kind": "ordered"}, "proposed", "proposed"),
        ("age", {"values": "0 to 99"}, "changed", "changed"),
        ("age", {"values": "0 to 200, 16 bins"}, "document", "declared"),
        ("age", {"values": AGES.replace("16", "4")}, "document", "document"),
    ],
)
def test_an_edited_line_says_so(name: str, edits: dict[str, object], before: str, after: str) -> None:
    schema = Schema.infer(ROWS)
    document = schema.to_document()
    document["columns"] = [one | {"origin": before} for one in document["columns"]]
    base = Schema.from_document(document)
    table = schema_table.schema_frame(base, [*ROWS], {})
    for cell, value in edits.items():
        table.at[[*ROWS].index(name), cell] = value
    found = origins(schema_table.parse_schema(table, base))
    assert (found.pop(name), {*found.values()}) == (after, {before})


def test_a_town_of_few_people_is_in_no_schema_that_is_read_off_rows() -> None:
    schema = Schema.infer(ROWS, target="ill")
    assert (schema["town"].categories, schema["ill"].categories) == (("Bonn", "Ulm"), ("no",))
    assert "Zqdorf" not in schema.to_json() + " ".join(schema.notes)
    assert schema.encode(ROWS)[:, 1].tolist() == [0] * 120 + [1] * 75 + [2] * 5  # they count as missing
    for name in ("town", "ill"):
        assert any(note.startswith(f"{name!r}: ") and f"keep=['{name}']" in note for note in schema.notes)
    every = Schema.infer(ROWS, keep=["town"])
    assert (every["town"].categories, every["town"].missing) == (("Bonn", "Ulm", "Zqdorf"), False)
    ten = pd.DataFrame({"town": ["a"] * 10 + ["b"] * 9 + ["3"] * 5 + ["3.0"] * 5})
    assert Schema.infer(ten)["town"].categories == ("3", "a")  # however they are written


def test_a_tiny_table_lists_nobody() -> None:
    few = ROWS.groupby("town").head(3)
    schema = Schema.infer(few)
    assert not {"Bonn", "Ulm", "Zqdorf"} & {*schema["town"].categories}
    assert schema.encode(few).shape == (9, len(schema))
    only = Schema.infer(pd.DataFrame({"who": [f"Zq{i} and her family" for i in range(30)]}))  # better than no column
    assert "Zq" not in only.to_json()

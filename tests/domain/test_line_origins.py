"""Origins of a schema's columns are kept, and rare values are proposed only on request."""

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


def test_declared_proposals_keep_their_origin() -> None:
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


def test_editing_the_source_in_a_file_does_not_change_origins() -> None:
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


def test_lines_of_other_programs_have_the_origin_document() -> None:
    schema = declared(Schema.infer(ROWS))
    text, lost = schema_formats.write(schema, "frictionless")
    assert any(line.startswith("the origin of each column's bounds or categories (age, town, ill)") for line in lost)
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
def test_edited_lines_have_the_origin_changed(name: str, edits: dict[str, object], before: str, after: str) -> None:
    schema = Schema.infer(ROWS)
    document = schema.to_document()
    document["columns"] = [one | {"origin": before} for one in document["columns"]]
    base = Schema.from_document(document)
    table = schema_table.schema_frame(base, [*ROWS], {})
    for cell, value in edits.items():
        table.at[[*ROWS].index(name), cell] = value
    found = origins(schema_table.parse_schema(table, base))
    assert (found.pop(name), {*found.values()}) == (after, {before})


def test_a_rare_value_is_in_no_inferred_schema() -> None:
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


def test_a_tiny_data_set_lists_no_rare_values() -> None:
    few = ROWS.groupby("town").head(3)
    schema = Schema.infer(few)
    assert not {"Bonn", "Ulm", "Zqdorf"} & {*schema["town"].categories}
    assert schema.encode(few).shape == (9, len(schema))
    only = Schema.infer(pd.DataFrame({"who": [f"Zq{i} and her family" for i in range(30)]}))  # better than no column
    assert "Zq" not in only.to_json()

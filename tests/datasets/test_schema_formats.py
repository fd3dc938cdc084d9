"""Schemas in the formats of other programs: what is kept, and what is reported as lost."""

import json
from dataclasses import replace

import pytest

from dpcore.datasets import schema_formats
from dpcore.datasets.schema_formats import FORMATS
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DPCoreError, SchemaError

AGE = Column(name="age", kind="integer", lower=0, upper=120, bins=12)
PAY = Column(name="pay", kind="continuous", lower=-0.5, upper=99.5, missing=True)
BORN = Column(name="born", kind="date", lower="1900-01-01", upper="2020-12-31", number_format="d/m/y")
SEX = Column(name="<b>sex</b>", kind="categorical", categories=("f", "m"), taxonomy=Taxonomy.flat(("f", "m")))
EDU = Column(name="edu", kind="ordered", categories=("no", "1", "二"), description="school & more")
WHO = PrivacyUnit(max_contributions=3, id_column="who")
TABLE = Schema(columns=(AGE, PAY, BORN, SEX, EDU), target="edu", max_rows=500, unit=WHO)


def lost_by(name: str) -> set[str]:
    return {line.partition(" (")[0] for line in schema_formats.write(TABLE, name)[1]}


def test_every_format_names_what_it_loses_and_keeps_the_rest() -> None:
    table = {"bins", "taxonomies", "the class column"}
    rows = {"the largest number of rows", "the privacy unit", "how numbers and dates are written"}
    assert (lost_by("dpcore"), lost_by("frictionless")) == (set(), table | rows)
    assert lost_by("sdv") == table | rows | {"descriptions"}
    values = {"the names of categories", "where cells may be missing", "descriptions", "ordered categories"}
    values |= {"the bounds of numbers", "the bounds of dates", "which columns are numbers and which categories"}
    assert lost_by("private-pgm") == table | rows | values


def test_dpcore_table_schema_and_sdv_come_back() -> None:
    text, _ = schema_formats.write(TABLE, "dpcore")
    known, words = schema_formats.read(text)
    assert (known.schema(), words) == (TABLE, ())
    plain = {"bins": 16, "taxonomy": None}
    for name, lost, source in (("frictionless", plain, "declared"), ("sdv", plain | {"description": ""}, "inferred")):
        known, words = schema_formats.read(schema_formats.write(TABLE, name)[0])
        assert known.schema() == Schema(columns=tuple(replace(column, **lost) for column in TABLE), source=source)
        assert "inferred from rows" in words[-1]
    assert "SDV may have detected these ranges from the rows" in words[0]  # as SDV does unasked: nobody declared them
    assert "Column 'who' identifies persons or rows, and is left out." in words


def test_sdv_before_2_knows_types_alone() -> None:
    document = json.loads(schema_formats.write(TABLE, "sdv")[0])
    for column in document["tables"]["table"]["columns"].values():
        for text in ("range_min", "range_max", "range_is_nullable", "decimal_places", "range_values"):
            column.pop(text, None)
    columns = document["tables"]["table"]["columns"]
    columns["edu"] = {"sdtype": "categorical", "order": list(EDU.categories)}
    columns["age"] |= {"computer_representation": "Int64"}
    known, _ = schema_formats.read(json.dumps(document | {"METADATA_SPEC_VERSION": "V1"}))
    assert [fields["kind"] for fields in known.incomplete] == [column.kind for column in TABLE][:4]
    assert set(known.gaps) == {"age", "pay", "born", "<b>sex</b>"}  # an order is a list of categories
    assert known.outline["edu"].categories == EDU.categories
    with pytest.raises(SchemaError, match="describe 2 tables"):
        schema_formats.read(json.dumps(document | {"tables": document["tables"] | {"u": {}}}))
    with pytest.raises(SchemaError, match=r"a version that.* Load it by Metadata\.load_from_json"):
        schema_formats.read(json.dumps(document | {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1"}))


def test_a_private_pgm_domain_describes_codes() -> None:
    text, _ = schema_formats.write(TABLE, "private-pgm")
    assert json.loads(text) == {"age": 12, "pay": 17, "born": 16, "<b>sex</b>": 2, "edu": 3}
    schema = schema_formats.read(text)[0].schema()
    assert schema.sizes == TABLE.sizes
    assert schema["edu"].categories == ("0", "1", "2")
    assert schema_formats.read('{"id": 5000}')[0].schema()["id"].upper == 4999


def test_table_schema_as_others_write_it() -> None:
    fields = [
        {"name": "id", "type": "string"},
        {"name": "when", "type": "date", "format": [1], "constraints": {"minimum": "2020-01-01"}},
        {"name": "size", "type": "integer", "categories": [{"value": 1, "label": "S"}, {"value": 2}]},
        {"name": "free", "type": "string", "constraints": {"required": True}},
    ]
    known, text = schema_formats.read(json.dumps({"fields": fields, "primaryKey": "id"}))
    assert known.gaps == {"when": "its highest value", "free": "its categories"}
    assert known.outline["size"].categories == ("1", "2")
    assert text[2] == "Column 'id' is the key of rows, and is left out."


def test_inferred_schemas_do_not_become_declared() -> None:
    inferred = replace(TABLE, source="inferred")
    for name in FORMATS:
        if name == "dpcore":
            assert schema_formats.read(schema_formats.write(inferred, name)[0])[0].schema().source == "inferred"
            continue
        with pytest.raises(SchemaError, match="inferred from rows"):
            schema_formats.write(inferred, name)


def field(**limits: object) -> str:
    return json.dumps({"fields": [{"name": "a", "type": "number", "constraints": limits}]})


HOSTILE = {
    "NaN": '{"fields": [{"name": "a", "type": "number", "constraints": {"minimum": NaN}}]}',
    "infinity": field(minimum="-inf"),
    "upside down": field(minimum=3, maximum=1),
    "twice": json.dumps({"fields": [{"name": "a", "type": "date"}] * 2}),
    "twice in an object": '{"a": 2, "a": 3}',
    "a control character": '{"\\u0000": 2}',
    "no fields": '{"fields": [1]}',
    "too few": '{"a": 0}',
    "nothing": "{}",
    "deep": "[" * 100_000,
    "no sdtype": '{"METADATA_SPEC_VERSION": "V1", "tables": {"t": {"columns": {"a": {}}}}}',
    "half a character": '{"\\ud800": 2}',
    "bytes": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_bad_input_is_refused_with_a_remedy(what: str) -> None:
    with pytest.raises(DPCoreError) as text:
        schema_formats.read(HOSTILE[what])
    assert text.value.remedy


def test_yaml_is_refused_with_what_to_do() -> None:
    with pytest.raises(SchemaError, match=r"not JSON.* Save the schema in one of .*Frictionless.*; YAML is not one\.$"):
        schema_formats.read("D:\n  s:\n    t: {rows: 9}\n")


def test_a_document_of_too_many_columns_is_refused_before_any_of_them_is_looked_at() -> None:
    """Each of these columns is wrong, so an error about one would show that it was read."""
    for head in ({"format": "dpcore schema 1", "columns": [0] * 1_001}, {"fields": [0] * 1_001}):
        with pytest.raises(SchemaError, match="has 1,001 columns; at most 1,000 are allowed"):
            schema_formats.read(json.dumps(head))

"""Recognized roles of columns: two typical tables, the sample, single columns, random tables."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_tables import customers, visits

from dpcore.datasets.headers import header_words, kinds_of_header
from dpcore.datasets.proposals import propose_orders, propose_pairs
from dpcore.datasets.recognition import class_column, recognize
from dpcore.domain.dates import iso
from dpcore.domain.schema import Schema

NUMBERS = np.random.default_rng(0).permutation(10_000)


def one(name, cells):
    (found,) = recognize(pd.DataFrame({name: cells}))
    return found


def test_a_hospital_s_table():
    rows = visits()
    found = {each.name: each for each in recognize(rows)}
    kinds = dict.fromkeys(rows, "category") | {"visit_id": "identifier", "patient_id": "identifier", "notes": "text"}
    kinds |= {"admitted": "date", "discharged": "date", "birth_date": "date", "bill": "continuous"}
    assert {name: each.role for name, each in found.items()} == kinds
    assert [name for name, each in found.items() if not each.keep] == ["visit_id", "patient_id", "notes"]
    assert found["visit_id"].reason == "4,000 different values in 4,000 rows: an identifier"
    assert not found["visit_id"].repeats
    patient, most = found["patient_id"], rows["patient_id"].value_counts().max()
    assert (patient.repeats, patient.values, patient.most_rows) == (True, 2_031, most)
    assert "k times epsilon" in patient.doubt
    assert found["notes"].reason.endswith("17 words: free text")
    schema = Schema.infer(rows)
    assert [schema[name].number_format for name in ("birth_date", "bill")] == ["d/m/y", "1234.50"]
    assert not found["birth_date"].doubt
    assert (len(schema), schema.target, schema.source) == (10, "outcome", "inferred")
    assert (schema["admitted"].bins, schema["birth_date"].bins) == ("quarter", "year")
    assert iso(schema["admitted"].lower) == rows["admitted"].min()
    assert schema["discharged"].missing
    assert sorted(note.split("'")[1] for note in schema.notes) == ["diagnosis_code", "notes", "patient_id", "visit_id"]
    assert not any("V0" in note or "fever" in note for note in schema.notes)  # no note repeats a value
    saved = schema.to_json()
    assert "different" not in saved  # what notes count stays on the screen of whoever has the rows
    assert Schema.from_json(saved).notes == ()
    assert schema.encode(rows).shape == (4_000, 10)
    assert propose_orders(rows, schema.columns) == ("admitted <= discharged",)
    assert (propose_pairs(rows, schema.columns), schema.rules) == ((), ())  # nothing is declared


def test_rules_are_proposed_where_no_row_breaks_them_and_chance_would_have_broken_them_often():
    low, high = np.sort(np.random.default_rng(0).integers(0, 90, (2, 600)), axis=0)
    frame = pd.DataFrame({"BP min": low, "BP max": high, "width": high, "age": ["child", "old", "old"] * 200})
    frame = frame.assign(job=["none", "nurse", "none"] * 200, grown=frame["age"])  # the same in other words
    for name, days in (("a", low), ("b", high), ("c", high + 1)):
        frame[name] = (np.datetime64("2020-01-01") + days).astype(str)
    columns = Schema.infer(frame).columns
    assert propose_orders(frame, columns) == ("BP min <= BP max", "a <= b", "b <= c")
    assert propose_pairs(frame, columns) == ("age = child, never job = nurse", "job = nurse, never grown = child")
    frame.loc[0, ["BP min", "BP max", "a", "job"]] = 80, 1, "2020-03-31", "nurse"
    assert (propose_orders(frame, columns), propose_pairs(frame, columns)) == (("b <= c",), ())
    assert propose_orders(few := frame[1:60], columns) == propose_pairs(few, columns) == ()
    flags = frame["age"] == "child", frame["age"] == "old"
    frame = pd.DataFrame({"age": high + 18, "years at work": low, "worn": low, "a": flags[0] * 1, "b": flags[1] * 1})
    frame.loc[:50, "b"] = 0
    columns = Schema.infer(frame).columns
    assert propose_orders(frame, columns) == ("years at work <= age",)  # both are years
    assert propose_pairs(frame, columns) == ("a = 1, never b = 1",)


def test_a_company_s_table():
    rows = customers(5_000)
    found = {each.name: each for each in recognize(rows)}
    kinds = dict.fromkeys(rows, "category") | {"customerID": "identifier", "signup": "date", "country": "constant"}
    kinds |= {"monthly_charge": "continuous", "satisfaction": "continuous"}
    kinds |= dict.fromkeys(["tenure", "calls", "discount"], "integer")
    assert {name: each.role for name, each in found.items()} == kinds
    schema = Schema.infer(rows, keep=["postcode"])  # which six rows have each
    forms = [schema[name].number_format for name in ("monthly_charge", "discount")]
    assert forms == ["$1,234.50", "1234 %"]
    assert schema.target == "churned"
    assert set(schema["postcode"].categories) == set(rows["postcode"])
    assert any(code.startswith("0") for code in schema["postcode"].categories)
    made = schema.decode(schema.encode(rows), np.random.default_rng(0))
    assert made["monthly_charge"].str.fullmatch(r"\$[0-9]{1,3}(,[0-9]{3})*[.][0-9]{2}").all()
    assert made["discount"].str.fullmatch("[0-9]+ %").all()
    np.testing.assert_array_equal(schema.encode(made), schema.encode(rows))
    assert Schema.infer(rows, keep=["country", "postcode"])["country"].categories == ("Utopia",)
    assert Schema.infer(rows, target="country").target == "country"


@pytest.mark.parametrize(
    ("name", "cells", "what"),
    [
        ("id", NUMBERS[:200], "identifier"),
        ("patientID", NUMBERS[:200].astype(str), "identifier"),
        ("rank", np.arange(1, 201), "identifier"),  # the rows, counted
        ("education-num", np.arange(200) % 16, "integer"),
        ("phone", 5_550_000 + NUMBERS[:200], "identifier"),
        ("surname", [f"Name{i % 120}" for i in range(400)], "identifier"),
        ("编号", NUMBERS[:200], "identifier"),
        ("身份证", [f"1101{i:014}" for i in range(200)], "identifier"),
        ("x", [f"the patient in bed {i} was well" for i in range(526)] * 4, "text"),
        ("Name", [f"Braund, Mr. Owen Harris {i}" for i in range(100)], "identifier"),
        ("diagnosis_code", [f"A{21_000 + i % 150}" for i in range(200)], "category"),
        ("patient_nbr", NUMBERS[:200].repeat(2), "identifier"),
        ("zip", [f"{i:05}" for i in range(100)] * 3, "category"),
        ("code", 10_000 + NUMBERS[:5_000], "category"),
        ("remarks", ["all well", "in some pain", "pain is gone now", "no remarks here"] * 8, "category"),
        ("day", ["20210305", "20211231"] * 10, "date"),
        ("n", np.array([99_999_999, 20211331] * 10), "integer"),
        ("day", pd.to_datetime(["2021-03-05 10:00", "2021-03-06 00:00"] * 10), "date"),
        ("price", ["1.234,50 €", "12,00 €"] * 5, "continuous"),
        ("answers", ["1,2", "1,3"] * 20, "category"),
        ("class", np.arange(40) % 11, "integer"),
        ("x", ["a", None] * 10, "category"),  # it tells who is missing
        ("x", ["a"] * 10, "constant"),
        ("x", [None, " ", ""] * 10, "empty"),
        ("x", [1.0, np.inf] * 5, "unreadable"),
        ("seen", [f"word{i}" for i in range(3_000)] * 2, "identifier"),
        ("hhid", NUMBERS[:200].repeat(2), "identifier"),
        ("Haushalt", NUMBERS[:200].repeat(2), "identifier"),
        ("due", [f"{day:02}122019" for day in range(1, 29)] * 4, "text"),
        ("date", [f"21{month:02}{day:02}" for month in range(1, 13) for day in range(10, 20)], "text"),
        ("lot", [f"21{month:02}{day:02}" for month in range(1, 13) for day in range(10, 20)], "integer"),
        ("sales", [f"{i}.5 Mio." for i in range(20)] * 2, "text"),
        ("inst", NUMBERS[:200] % 40 + 1, "category"),
        ("code", [*map(str, NUMBERS[:60] % 40), *["unknown"] * 4], "category"),
        ("cost", ["(1,204.50)", "12.00"] + [f"{i}.25" for i in range(20)], "text"),
    ],
)
def test_single_columns(name, cells, what):
    found = one(name, cells)
    assert found.role == what, found
    assert found.keep == (what in ("date", "integer", "continuous", "category") and found.values <= 1_000)
    assert found.reason
    if found.usable and what != "unreadable":
        column = Schema.infer(pd.DataFrame({name: cells, "other": [1, 2] * (len(cells) // 2)}), keep=[name])[name]
        column.encode(pd.Series(cells))


@pytest.mark.parametrize(
    ("cells", "form", "doubt"),
    [
        (["05/03/2021", "13/03/2021"], "d/m/y", False),
        (["03/05/2021", "03/13/2021 00:00"], "m/d/y", False),
        (["03/05/2021", "04/05/2021"], "d/m/y", True),
        (["03.05.2021", "04.05.2021"], "d.m.y", False),
        (["2021-03-05", "2021-03-06T10:00:00Z"], "", True),  # the time of day is lost
        (["5-Mar-2021", "December 6, 2021"], "", False),
        (["01-DEC-2019", "13-MAY-2020"], "d-MON-y", False),
        (["March 5, 2021", "May 06, 2021"], "month d, y", False),
        ([20210305, 20211231], "ymd", False),
    ],
)
def test_the_order_of_day_and_month_is_decided_over_the_whole_column(cells, form, doubt):
    found = one("when", cells * 5)
    assert (found.role, found.fields["number_format"], bool(found.doubt)) == ("date", form, doubt)
    assert one("when", ["13/03/2021", "03/13/2021"] * 9).role == "category"


def test_the_class_has_a_header_for_classes_and_few_values():
    rows = pd.DataFrame({"label": ["a", "b"] * 20, "class": list("ab") * 20, "word": list("xy") * 20})
    assert class_column(recognize(rows)) == "class"
    assert class_column(recognize(rows[["label", "word"]])) == "label"
    assert class_column(recognize(rows[["word"]])) is None
    parted = rows.assign(outcome=["a", "b", "c", "d"] * 10).rename(columns={"class": "cabin class"})
    assert class_column(recognize(parted[["outcome", "cabin class"]])) == "outcome"
    assert class_column(recognize(parted[["outcome"]].add_prefix("last "))) is None
    for cells in (["2021-01-01", "2021-01-02"] * 20, [f"{i}" for i in range(40)], ["a"] * 40, list("abcdefghijk") * 40):
        assert class_column(recognize(pd.DataFrame({"class": cells}))) is None
    assert Schema.infer(rows[["word"]]).target is None


def test_headers_are_read_by_their_words():
    assert header_words("patientID") == header_words("patient_id") == header_words("Patient Id") == ["patient", "id"]
    assert kinds_of_header("idle") == kinds_of_header("paid") == kinds_of_header("grid") == set()
    assert kinds_of_header("customerid") == {"identifier"}
    assert kinds_of_header("department_name") == set()
    assert kinds_of_header("first name") == {"person"}


TEXTS = ["2021-03-05", "05/03/2021", "$1,234.50", "1.234,5", "007", "12 %", "a@b.org", "99999999", " ", "1e999"]
plain = st.none() | st.integers() | st.floats() | st.booleans() | st.datetimes() | st.dates()
cells = plain | st.text(max_size=30) | st.binary(max_size=3) | st.sampled_from(TEXTS)
tables = st.dictionaries(st.text(max_size=8), st.lists(cells, min_size=6, max_size=6), min_size=1, max_size=2)


@given(tables)
def test_recognition_never_raises(columns):
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    for stored in (frame, frame.infer_objects()):
        found = recognize(stored)
        assert [each.name for each in found] == list(frame.columns)
        possible = [each.name for each in found if each.usable]
        if possible:
            schema = Schema.infer(stored, keep=possible)
            assert schema.encode(stored).shape == (6, len(schema))


def test_tables_without_rows_and_without_columns():
    assert recognize(pd.DataFrame()) == ()
    found = recognize(pd.DataFrame({"a": [], "b": pd.Series([], dtype="datetime64[ns]")}))
    assert [each.role for each in found] == ["empty"] * 2


def test_cells_of_spaces_are_missing_and_no_category():
    """An invisible category would be in the schema, and a value of the release."""
    schema = Schema.infer(pd.DataFrame({"a": ["x", " "] * 50, "b": ["u", "v"] * 50}))
    assert schema["a"].categories == ("x",)
    assert schema["a"].missing
    assert schema["b"].categories == ("u", "v")

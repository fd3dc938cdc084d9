"""What columns seem to be: two tables as strangers have them, the sample, columns by hand, and anything at all."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strangers import customers, visits

from dpcore import datasets
from dpcore.domain.dates import iso
from dpcore.domain.headers import meant, parts
from dpcore.domain.recognition import class_column, recognize
from dpcore.domain.schema import Schema
from dpcore.domain.written import Form

NUMBERS = np.random.default_rng(0).permutation(10_000)


def one(name, cells):
    (found,) = recognize(pd.DataFrame({name: cells}))
    return found


def test_a_hospital_s_table():
    rows = visits()
    found = {each.name: each for each in recognize(rows)}
    assert {name: each.what for name, each in found.items()} == {
        "visit_id": "identifier",
        "patient_id": "identifier",
        "admitted": "date",
        "discharged": "date",
        "birth_date": "date",
        "sex": "category",
        "department": "category",
        "diagnosis_code": "category",
        "ward": "category",
        "bill": "continuous",
        "insurance": "category",
        "notes": "text",
        "outcome": "category",
    }
    assert [name for name, each in found.items() if not each.kept] == ["visit_id", "patient_id", "notes"]
    assert found["visit_id"].reason == "4,000 different values in 4,000 rows: an identifier"
    assert not found["visit_id"].repeats
    patient = found["patient_id"]
    assert (patient.repeats, patient.values, patient.most_rows) == (
        True,
        2_031,
        rows["patient_id"].value_counts().max(),
    )
    assert "2,031 different values in 4,000 rows" in patient.reason
    assert "several rows" in patient.doubt
    assert found["notes"].reason.endswith("17 words: free text")
    assert (found["birth_date"].form, found["birth_date"].doubt, found["bill"].form) == ("d/m/y", "", "1234.50")
    schema = Schema.infer(rows)
    assert (len(schema), schema.target, schema.source) == (10, "outcome", "inferred")
    assert (schema["admitted"].bins, schema["birth_date"].bins) == ("quarter", "year")
    assert iso(schema["admitted"].lower) == rows["admitted"].min()
    assert schema["discharged"].missing
    assert sorted(note.split("'")[1] for note in schema.notes) == ["diagnosis_code", "notes", "patient_id", "visit_id"]
    assert not any("V0" in note or "fever" in note for note in schema.notes)  # no note repeats a value
    assert "524 different texts" in " ".join(schema.notes)
    saved = schema.to_json()
    assert "different" not in saved  # and what notes count stays on the screen of whoever has the rows
    assert Schema.from_json(saved).notes == ()
    assert schema.encode(rows).shape == (4_000, 10)


def test_a_company_s_table():
    rows = customers(5_000)
    found = {each.name: each for each in recognize(rows)}
    assert {name: (each.what, each.form) for name, each in found.items()} == {
        "customerID": ("identifier", ""),
        "signup": ("date", ""),
        "plan_id": ("category", ""),  # a number that only names
        "monthly_charge": ("continuous", "$1,234.50"),
        "postcode": ("category", ""),
        "tenure": ("integer", ""),
        "calls": ("integer", ""),
        "discount": ("integer", "1234 %"),
        "phone_service": ("category", ""),
        "country": ("constant", ""),
        "satisfaction": ("continuous", ""),
        "churned": ("category", ""),
    }
    schema = Schema.infer(rows, keep=["postcode"])  # which six rows have each
    assert schema.target == "churned"
    assert set(schema["postcode"].categories) == set(rows["postcode"])
    assert any(code.startswith("0") for code in schema["postcode"].categories)
    made = schema.decode(schema.encode(rows), np.random.default_rng(0))
    assert made["monthly_charge"].str.fullmatch(r"\$[0-9]{1,3}(,[0-9]{3})*[.][0-9]{2}").all()
    assert made["discount"].str.fullmatch("[0-9]+ %").all()
    np.testing.assert_array_equal(schema.encode(made), schema.encode(rows))
    every = Schema.infer(rows, keep=["country", "postcode"])
    assert every["country"].categories == ("Utopia",)
    assert Schema.infer(rows, target="country").target == "country"


def test_fifty_thousand_rows_take_no_time():
    rows = customers()
    start = time.process_time()
    Schema.infer(rows)
    assert time.process_time() - start < 1.0  # .2 seconds on a computer that has nothing else to do


def test_all_columns_of_the_sample_stay():
    data = datasets.load("sample")
    found = {each.name: each for each in recognize(data.train)}
    assert all(each.kept for each in found.values())
    assert {name for name, each in found.items() if each.what == "integer"} == {
        column.name for column in data.schema if column.numeric
    }
    assert class_column(list(found.values())) == "income"


@pytest.mark.parametrize(
    ("name", "cells", "what"),
    [
        ("id", NUMBERS[:200], "identifier"),
        ("Patient No", NUMBERS[:200], "identifier"),
        ("patientID", NUMBERS[:200].astype(str), "identifier"),
        ("age", NUMBERS[:200], "integer"),
        ("rank", np.arange(1, 201), "identifier"),  # the rows, counted
        ("education-num", np.arange(200) % 16, "integer"),
        ("number_of_children", np.arange(200) % 4, "integer"),
        ("e-mail", [f"a{i}@example.org" for i in range(200)], "identifier"),
        ("who", [f"a{i}@example.org" for i in range(200)] * 2, "identifier"),
        ("u", [f"{i:08x}-0000-4000-8000-000000000000" for i in range(30)], "identifier"),
        ("account", [f"{10**16 + i}" for i in range(200)], "identifier"),
        ("phone", 5_550_000 + NUMBERS[:200], "identifier"),
        ("phone", ["yes", "no"] * 50, "category"),
        ("surname", [f"Name{i % 120}" for i in range(400)], "identifier"),
        ("product name", [f"Name{i % 60}" for i in range(4_000)], "category"),
        ("编号", NUMBERS[:200], "identifier"),
        ("身份证", [f"1101{i:014}" for i in range(200)], "identifier"),
        ("姓名", [f"张{chr(0x4E00 + i)}" for i in range(100)], "identifier"),
        ("手机", 13_800_000_000 + NUMBERS[:200], "identifier"),
        ("日期", ["2021年3月5日", "2021年12月1日"] * 20, "date"),
        ("备注", [f"患者主诉头痛{i}天，无发热" for i in range(30)], "text"),
        ("x", [f"the patient in bed {i} was well" for i in range(526)] * 4, "text"),
        ("Name", [f"Braund, Mr. Owen Harris {i}" for i in range(100)], "identifier"),
        ("Ticket", [f"A/5 {21_000 + i % 150}" for i in range(200)], "identifier"),
        ("diagnosis_code", [f"A{21_000 + i % 150}" for i in range(200)], "category"),
        ("cell_count", np.arange(4_000) % 300, "integer"),
        ("patient_nbr", NUMBERS[:200].repeat(2), "identifier"),
        ("charges", [" ", "29.85", "1889.5", "108.15"] * 5, "continuous"),
        ("fee", ["$0.123456789012", "$2"] * 20, "category"),
        ("fee", ["$99,999,999,999,999.25", "$2.00"] * 20, "category"),
        ("zip", [f"{i:05}" for i in range(100)] * 3, "category"),
        ("zip", 10_000 + NUMBERS[:100].repeat(3), "category"),
        ("code", 10_000 + NUMBERS[:5_000], "category"),
        ("remarks", ["all well", "in some pain", "pain is gone now", "no remarks here"] * 8, "category"),
        ("answer", ["strongly agree with all of this", "do not agree with any of this at all"] * 50, "category"),
        ("day", ["20210305", "20211231"] * 10, "date"),
        ("day", np.array([20210305, 20211231] * 10), "date"),
        ("n", np.array([99_999_999, 20211331] * 10), "integer"),
        ("day", pd.to_datetime(["2021-03-05 10:00", "2021-03-06 00:00"] * 10), "date"),
        ("day", ["2021-03-05", "soon"] * 10, "category"),
        ("price", ["1.234,50 €", "12,00 €"] * 5, "continuous"),
        ("price", ["USD 5", "USD 1,000"] * 5, "integer"),
        ("answers", ["1,2", "1,3"] * 20, "category"),
        ("size", [f"{i},5" for i in range(40)], "continuous"),
        ("flag", [True, False] * 10, "category"),
        ("outcome", [0, 1] * 20, "category"),
        ("class", np.arange(40) % 11, "integer"),
        ("x", ["a", None] * 10, "category"),  # it tells who is missing
        ("x", ["a"] * 10, "constant"),
        ("x", [None, " ", ""] * 10, "empty"),
        ("x", [1.0, np.inf] * 5, "unreadable"),
        ("x\0", [1, 2] * 5, "unreadable"),
        ("x", ["a\x01", "b"] * 5, "unreadable"),
        ("seen", [f"word{i}" for i in range(3_000)] * 2, "identifier"),
        ("seen", [f"word{i}" for i in range(40)] * 2, "category"),
    ],
)
def test_single_columns(name, cells, what):
    found = one(name, cells)
    assert found.what == what, found
    assert found.kept == (what in ("date", "integer", "continuous", "category") and found.values <= 1_000)
    assert found.reason
    if found.possible and what != "unreadable":
        column = Schema.infer(pd.DataFrame({name: cells, "other": [1, 2] * (len(cells) // 2)}), keep=[name])[name]
        column.encode(pd.Series(cells))


@pytest.mark.parametrize(
    ("cells", "form", "doubt"),
    [
        (["05/03/2021", "13/03/2021"], "d/m/y", False),
        (["03/05/2021", "03/13/2021 10:20"], "m/d/y", False),
        (["03/05/2021", "04/05/2021"], "d/m/y", True),
        (["03.05.2021", "04.05.2021"], "d/m/y", False),
        (["05/05/2021", "04/04/2021"], "d/m/y", False),  # either way the same
        (["2021-03-05", "2021-03-06T10:00:00Z"], "", False),
    ],
)
def test_the_order_of_day_and_month_is_decided_over_the_whole_column(cells, form, doubt):
    found = one("when", cells * 5)
    assert (found.what, found.form, bool(found.doubt)) == ("date", form, doubt)
    assert one("when", ["13/03/2021", "03/13/2021"] * 9).what == "category"


def test_a_comma_that_may_be_either_is_said():
    found = one("sum", [f"{i},{i}50" for i in range(1, 10)] + ["10,150"])
    assert (found.what, found.form) == ("integer", "1,234")
    assert "thousand" in found.doubt


def test_the_class_is_called_so_and_has_few_values_or_there_is_none():
    rows = pd.DataFrame({"label": ["a", "b"] * 20, "class": list("ab") * 20, "word": list("xy") * 20})
    assert class_column(recognize(rows)) == "class"
    assert class_column(recognize(rows[["label", "word"]])) == "label"
    assert class_column(recognize(rows[["word"]])) is None
    for cells in (["2021-01-01", "2021-01-02"] * 20, [f"{i}" for i in range(40)], ["a"] * 40, list("abcdefghijk") * 40):
        assert class_column(recognize(pd.DataFrame({"class": cells}))) is None
    assert Schema.infer(rows[["word"]]).target is None


def test_headers_are_read_by_their_words():
    assert parts("patientID") == parts("patient_id") == parts("Patient Id") == ["patient", "id"]
    assert meant("idle") == meant("paid") == meant("grid") == set()
    assert meant("customerid") == {"identifier"}
    assert meant("department_name") == set()
    assert meant("first name") == {"person"}


cells = st.one_of(
    st.none(),
    st.text(max_size=30),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.datetimes(),
    st.dates(),
    st.binary(max_size=3),
    st.sampled_from(
        ["2021-03-05", "05/03/2021", "$1,234.50", "1.234,5", "007", "12 %", "a@b.org", "99999999", " ", "1e999"]
    ),
)


@given(
    st.lists(
        st.tuples(st.text(max_size=8), st.lists(cells, min_size=6, max_size=6)),
        min_size=1,
        max_size=4,
        unique_by=lambda c: c[0],
    )
)
def test_no_table_makes_it_raise(columns):
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns})
    for stored in (frame, frame.infer_objects()):
        found = recognize(stored)
        assert [each.name for each in found] == list(frame.columns)
        possible = [each.name for each in found if each.possible]
        if possible:
            schema = Schema.infer(stored, keep=possible)
            assert schema.encode(stored).shape == (6, len(schema))


@given(
    st.sampled_from(["1234.50", "$1,234.50", "1.234,5 €", "1234 %", "1 234,50 kr", "US$ 1,234.50"]),
    st.lists(st.integers(-(10**9), 10**9), min_size=12, max_size=40, unique=True),
)
def test_numbers_written_in_a_form_are_found_in_it(text, ticks):
    form = Form.of(text)
    rows = pd.DataFrame({"sum": [form.write(tick / form.steps) for tick in ticks]})
    schema = Schema.infer(rows, keep=["sum"])
    assert schema["sum"].kind == ("continuous" if form.decimals else "integer")
    np.testing.assert_array_equal(schema["sum"].read(rows["sum"]), [tick / form.steps for tick in ticks])
    made = schema.decode(schema.encode(rows), np.random.default_rng(0))
    np.testing.assert_array_equal(schema.encode(made), schema.encode(rows))


def test_tables_without_rows_and_without_columns():
    assert recognize(pd.DataFrame()) == ()
    assert [each.what for each in recognize(pd.DataFrame({"a": [], "b": pd.Series([], dtype="datetime64[ns]")}))] == [
        "empty"
    ] * 2


def test_cells_of_spaces_are_missing_and_no_category():
    """A category that nobody sees would stand in the schema, and in the release as a value."""
    schema = Schema.infer(pd.DataFrame({"a": ["x", " "] * 50, "b": ["u", "v"] * 50}))
    assert schema["a"].categories == ("x",)
    assert schema["a"].missing
    assert schema["b"].categories == ("u", "v")

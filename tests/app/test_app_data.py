"""The page where rows are chosen and declared: sources, the schema table, its file, the class, and the hand-over."""

import json
from dataclasses import replace
from threading import Thread, current_thread
from typing import Any

import pandas as pd
import pytest
from driving import PAGE, csv, declare, edit, opened, people, press, released, run, shown, started, upload
from screen import dataset, errors, mendable, ticks, widget
from strangers import visits
from streamlit.testing.v1 import AppTest

from dpcore import Column, PrivacyUnit, Schema
from dpcore.dashboard import jobs
from dpcore.domain import formats

OTHER = Schema(columns=(Column(name="Zqother", kind="integer", lower=0, upper=9),))
ALL = ["age", "town", "ill"]


@pytest.fixture
def uploaded() -> AppTest:
    return with_file(people())


def with_file(frame: pd.DataFrame, schema: Schema | None = None) -> AppTest:
    """The page with an uploaded table, and perhaps its schema's file."""
    at = upload(started("data"), "rows.csv", csv(frame))
    return at if schema is None else schema_file(at, schema.to_json())


def schema_file(at: AppTest, raw: bytes | str) -> AppTest:
    content = raw.encode() if isinstance(raw, str) else raw
    at.file_uploader("data.schema_file").set_value(("schema.json", content, "application/json"))
    return run(at)


def choose(at: AppTest, **settings: Any) -> AppTest:
    """Set controls below the table, one after the other."""
    for name, value in settings.items():
        widget(at, f"data.{name}").set_value(value)
        run(at)
    return at


def chosen(at: AppTest, *names: str) -> list[Any]:
    return [widget(at, f"data.{name}").value for name in names]


def table(at: AppTest) -> dict[str, dict[str, Any]]:
    """The schema table as it stands before edits, by column name."""
    (found,) = at.data_editor
    return {row["name"]: row for row in found.value.to_dict("records")}


def saved(at: AppTest) -> Schema:
    """The schema that "Use these data" puts to use."""
    before = dataset(at)
    press(at, "data.use")
    assert dataset(at) is not before, errors(at)
    return dataset(at).schema


def lines(at: AppTest) -> dict[str, str]:
    """What the page names as read off the rows, as it is declared by one press."""
    found = [each.value for each in at.table]
    return {
        name.replace("\\", "").strip("*"): line.replace("\\", "")
        for each in found
        for name, line in each["line"].items()
    }


def undeclared(at: AppTest) -> list[str]:
    """The lines that the page names as read off the rows, all of which are ticked in no row of the table."""
    named = list(lines(at))
    assert set(named) <= {name for name, row in table(at).items() if row.get("public") is False}
    return named


def test_what_names_people_is_left_out_and_comes_back_read_off_the_rows() -> None:
    at = with_file(visits(300))
    assert list(ticks(at)) == ["visit_id", "patient_id", "notes"]
    before = table(at)
    assert before["notes"]["use"] is False
    admitted = [*before].index("admitted")
    assert len(mendable(edit(at, {admitted: {"lower": "soon"}}))) == 1
    assert "data.use" not in [found.key for found in at.button]
    edit(at, {admitted: {"lower": "2018-01-01", "upper": "2024-12-31", "bins": "month"}})
    ticks(at)["patient_id"].check()
    assert table(run(at))["patient_id"]["use"] is True
    assert table(at)["admitted"]["lower"] == "2018-01-01"  # what was edited stays
    assert list(ticks(at)) == ["visit_id", "notes"]
    schema = saved(declare(at))
    assert (schema["admitted"].bins, schema.source) == ("month", "declared")
    ticks(at)["visit_id"].check()
    assert undeclared(run(at)) == ["visit_id"]  # and what was declared stays so


def test_an_inferred_schema_warns_until_every_line_is_declared(uploaded: AppTest) -> None:
    at = uploaded
    assert undeclared(at) == ALL
    assert saved(at).source == "inferred"
    assert len(at.sidebar.markdown) == 2  # which warns on every page
    assert saved(declare(at)).source == "declared"
    assert undeclared(at) == []
    assert len(at.sidebar.markdown) == 1
    upload(at, "others.csv", csv(people(60, seed=9)))  # another file has to be checked again
    assert undeclared(at) == ALL


def test_ends_that_are_values_of_rows_are_rounded_before_they_are_declared_with_others(uploaded: AppTest) -> None:
    at, ages = uploaded, people()["age"]
    assert lines(at)["age"].startswith(f"{ages.min()} to {ages.max()} :red[")
    assert lines(at)["town"] == "Zqa, Zqb, Zqc"
    assert widget(at, "data.declare").disabled
    press(at, "data.round")
    assert lines(at)["age"] == "0 to 100"
    assert (undeclared(at), table(at)["age"]["upper"]) == (ALL, "100")  # it helps, and says nothing
    press(at, "data.declare")
    schema = saved(at)
    assert (schema.source, schema["age"].lower, schema["age"].upper) == ("declared", 0, 100)


def test_lines_are_declared_one_by_one_by_a_tick_or_by_changing_them(uploaded: AppTest) -> None:
    at = edit(uploaded, {0: {"public": True}})
    assert undeclared(at) == ["town", "ill"]
    edit(at, {0: {"bins": "4", "missing": True}, 1: {"kind": "ordered"}})  # whose values are still those of the rows
    assert undeclared(at) == ALL
    edit(at, {0: {"upper": "120"}, 1: {"categories": ["Zqa", "Zqb", "Zqc", "Zqd"]}, 2: {"use": False}})
    assert undeclared(at) == []
    edit(at, {0: {"upper": "120"}, 1: {"public": True}})
    assert saved(at).source == "inferred"
    opened(opened(at, "home"), "data")
    assert undeclared(at) == ["ill"]  # that the others are declared outlasts the page
    edit(at, {0: {"lower": "-5"}, 2: {"public": True}})  # a declared line may change, and is so still
    assert saved(at).source == "declared"
    assert "public" not in table(at)["ill"]


def test_what_is_declared_is_in_use_stays_and_comes_back_from_its_file(uploaded: AppTest) -> None:
    at = uploaded
    towns = {"kind": "ordered", "categories": ["Zqc", "Zqb", "Zqa", "Zqd"], "missing": True, "outside": "clip"}
    edit(at, {0: {"lower": 0.0, "upper": 120.0, "bins": "18, 65"}, 1: towns})
    schema = saved(declare(choose(at, target="town", max_rows=500)))
    assert (schema.target, schema.max_rows, schema.source) == ("town", 500, "declared")
    assert (schema["age"].lower, schema["age"].upper, schema["age"].bins) == (0, 120, (18.0, 65.0))  # not rounded
    assert (schema["town"].categories, schema["town"].kind) == (("Zqc", "Zqb", "Zqa", "Zqd"), "ordered")
    assert press(at, "data.next").session_state["dpcore.page"] == "networks"
    at = opened(at, PAGE)
    assert [widget(at, f"{PAGE}.{name}").value for name in ("target", "rows")] == ["town", 500]
    assert saved(opened(at, "data")) == schema
    at = with_file(people(), schema)
    assert undeclared(at) == []  # it is a declared one
    assert chosen(at, "target", "max_rows") == ["town", 500]
    assert saved(at) == schema


def test_a_wrong_schema_file_changes_nothing_and_is_read_once_as_work_that_waits_its_turn(
    uploaded: AppTest, monkeypatch
) -> None:
    """Read on every run of the page, and by all visitors at once, files would keep the server busy."""
    who: list[Thread] = []
    monkeypatch.setattr(formats, "read", lambda raw, read=formats.read: (who.append(current_thread()), read(raw))[1])
    edit(uploaded, {0: {"upper": 120.0}})
    for raw in (b"\xff\xfe\x00", OTHER.to_json().encode()):
        (message,) = mendable(schema_file(uploaded, raw))
        assert "Zq" not in message
        assert mendable(run(run(uploaded))) == [message]  # and stays
    assert [type(thread) for thread in who] == [jobs.Job, jobs.Job]
    schema = saved(uploaded)
    assert (schema["age"].upper, schema.names) == (120, tuple(ALL))


def test_what_another_program_does_not_say_is_never_read_off_rows(uploaded: AppTest) -> None:
    tables = {"t": {"columns": {"age": {"sdtype": "numerical"}}}}
    at = schema_file(uploaded, json.dumps({"METADATA_SPEC_VERSION": "V1", "tables": tables}))
    assert len(mendable(at)) == 1
    assert (table(at)["age"]["lower"], table(at)["age"]["upper"]) == (None, None)
    schema = saved(edit(at, {0: {"lower": "0", "upper": "120"}}))
    assert (schema.source, schema.names, schema["age"].upper) == ("declared", ("age",), 120)


def test_the_sample_never_takes_the_place_of_own_data_without_a_word(uploaded: AppTest) -> None:
    def gone(at: AppTest) -> bool:
        return ":material/history:" in [each.icon for each in at.warning]

    press(uploaded, "data.use")
    assert uploaded.query_params == {"own": "1"}  # and not the file's name
    for page in ("home", PAGE, "compare"):  # after F5, on whichever page
        at = opened(started(page), page)
        assert not gone(at)
        at.query_params["own"] = "1"
        assert gone(run(at))
    press(at, "dpcore.go_on")
    assert not at.query_params
    assert not gone(at)


def test_a_repeating_identifier_makes_epsilon_a_persons() -> None:
    three = people(120).assign(patient_id=[f"P{i % 40:04}" for i in range(120)])  # of each of forty patients
    at = with_file(three)
    assert chosen(at, "persons") == ["patient_id"]  # recognized, and in no column of the table
    assert table(at)["patient_id"]["use"] is False
    schema = saved(declare(choose(at, rows_each=2)))
    assert schema.unit == PrivacyUnit(max_contributions=2, id_column="patient_id")
    at = released(opened(at, PAGE))
    assert shown(at).release.ledger.protects == "person"
    at = opened(at, "data")
    ticks(at)["patient_id"].check()
    assert len(mendable(run(at))) == 1  # it says whose row it is, and cannot be a column too


def test_whose_rows_they_are_is_proposed_for_people_only_and_never_changed_in_silence() -> None:
    orders = people(120).assign(order_id=[f"O{i // 3:04}" for i in range(120)])
    assert chosen(with_file(orders), "persons") == [""]  # an order is no person, though it repeats: that is asked
    patients = orders.rename(columns={"order_id": "patient_id"})
    declared = replace(Schema.infer(patients), source="declared", notes=())
    assert chosen(with_file(patients, declared), "persons") == [""]  # somebody has declared it without
    at = with_file(patients, replace(declared, unit=PrivacyUnit(max_contributions=4, id_column="somebody")))
    assert "'somebody'" in mendable(press(at, "data.use"))[0]
    assert dataset(at).name == "sample"


def test_towns_of_one_person_are_listed_one_by_one_and_never_with_others() -> None:
    frame = people().assign(town=["Zqone", "Zqtwo", *people()["town"][2:]])
    at = with_file(frame)
    assert list(ticks(at, "listed")) == ["Zqone", "Zqtwo"]
    assert "Zqone" not in saved(declare(at)).to_json()
    ticks(opened(at, "data"), "listed")["Zqtwo"].check()
    assert list(ticks(run(at), "listed")) == ["Zqone"]
    schema = saved(at)
    assert (schema.source, schema["town"].categories) == ("declared", ("Zqa", "Zqb", "Zqc", "Zqtwo"))
    kept = Schema.infer(frame, keep=["town"])  # such as earlier versions saved
    assert not {"Zqone", "Zqtwo"} & {*saved(declare(with_file(frame, kept)))["town"].categories}

"""The page where rows are chosen and declared: sources, the schema table, its file, the class, and the hand-over."""

import json
import os
from dataclasses import replace
from pathlib import Path
from threading import Thread, current_thread

import pandas as pd
import pytest
from driving import PAGE, csv, declare, edit, opened, people, press, released, run, shown, started, tab, upload
from screen import dataset, errors, mendable, said, ticks, widget
from strangers import visits
from streamlit.testing.v1 import AppTest

from dpcore import Column, Schema, Unit, datasets
from dpcore.dashboard import hosting, jobs
from dpcore.dashboard.sections.intake import SOURCES
from dpcore.domain import formats
from dpcore.errors import DataError

OTHER = Schema(columns=(Column(name="Zqother", kind="integer", lower=0, upper=9),))


@pytest.fixture
def uploaded() -> AppTest:
    return upload(started("data"), "people.csv", csv(people()))


def source(at: AppTest, name: str) -> AppTest:
    at.segmented_control("data.source").set_value(name)
    return run(at)


def schema_file(at: AppTest, raw: bytes | str) -> AppTest:
    content = raw.encode() if isinstance(raw, str) else raw
    at.file_uploader("data.schema_file").set_value(("schema.json", content, "application/json"))
    return run(at)


def table(at: AppTest) -> dict[str, dict[str, object]]:
    """The schema table as it stands before edits, by column name."""
    (found,) = at.data_editor
    return {row["name"]: row for row in found.value.to_dict("records")}


def saved(at: AppTest) -> Schema:
    """The schema that "Use these data" puts to use."""
    before = dataset(at)
    press(at, "data.use")
    assert dataset(at) is not before, errors(at)
    return dataset(at).schema


# Sources


def test_the_sample_is_there_from_the_start_beside_every_known_data_set() -> None:
    at = started("data")
    assert len(at.segmented_control("data.source").options) == len(datasets.DATASETS) + 1  # and one's own file
    assert set(SOURCES) == {*datasets.DATASETS, "upload", "folder"}
    assert dataset(at).name == "sample"
    before = dataset(at).schema
    assert set(table(at)) == set(before.names)
    assert saved(at) == before
    assert "These data are in use now" in said(at)
    upload(at, "sample.csv", csv(people()))  # a file may be called so
    assert set(table(source(at, "sample"))) == set(before.names)


@pytest.mark.parametrize("name", ["adult", "big5", "bank cards, dependent"])
def test_known_data(name: str) -> None:
    try:
        expected = datasets.load(name)
    except DataError as error:
        if os.environ.get("DPCORE_REQUIRE_DATA"):
            raise
        pytest.skip(str(error))
    at = source(started("data"), name)
    assert not at.error
    assert dataset(at).name == "sample"  # until the person says so
    assert saved(at) == expected.schema
    assert f"{len(expected.train):,} rows to learn from" in at.sidebar.markdown[0].value
    if name == "big5":  # the widest
        at = released(opened(at, PAGE))
        for each in ("Columns", "Take home"):
            assert not mendable(tab(at, each)), each


def test_published_data_that_are_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    at = started("data")
    rows = at.session_state["dpcore.intake"]
    for name in ("adult", "big5"):
        source(at, name)
        assert ("data.fetch" in [found.key for found in at.button]) == (name == "adult")
        assert len(mendable(at)) == (name == "big5")
        assert at.session_state["dpcore.intake"] is rows
    assert dataset(at).name == "sample"
    assert not source(at, "sample").error


def test_a_file_is_read_once_and_anew_where_it_is_read_otherwise() -> None:
    at = upload(started("data"), "odd.csv", b"a,b;c|d\n1,5;2\n2,5;3\n")
    rows = at.session_state["dpcore.intake"]
    assert run(at).session_state["dpcore.intake"] is rows
    at.selectbox("data.decimal").set_value("comma")
    at.selectbox("data.delimiter").set_value("semicolon")
    again = run(at).session_state["dpcore.intake"]
    assert list(again.frame["a,b"]) == ["1.5", "2.5"]
    opened(opened(at, "home"), "data")
    assert at.session_state["dpcore.intake"] is again


# What the columns of an upload are


def folded(at: AppTest) -> list[str]:
    return [found.label.replace("\\", "") for found in at.expander if found.label.startswith("Left out")]


def bring_back(at: AppTest, name: str) -> AppTest:
    next(found for found in at.checkbox if found.label.startswith(name)).check()
    return run(at)


def test_what_names_people_is_left_out_and_comes_back_by_one_tick() -> None:
    rows = visits(300)
    at = upload(started("data"), "visits.csv", csv(rows))
    assert folded(at) == ["Left out: visit_id (identifier), patient_id (identifier), notes (free text)"]
    assert list(ticks(at)) == ["visit_id", "patient_id", "notes"]
    assert ticks(at)["visit_id"] == "300 different values in 300 rows: an identifier"
    assert not any("left out" in warning.value for warning in at.warning)  # the list says it once
    most = rows["patient_id"].value_counts().max()
    assert f"One patient_id has up to {most} rows in this file" in said(at)
    assert widget(at, "data.target").value == "outcome"
    before = table(at)
    assert before["notes"]["use"] is False
    assert (before["admitted"]["kind"], before["admitted"]["lower"][:4]) == ("date", "2019")
    assert (before["bill"]["form"], before["birth_date"]["form"]) == ("1234.50", "d/m/y")
    names = list(before)
    edit(at, {names.index("admitted"): {"lower": "2018-01-01", "upper": "2024-12-31", "bins": "month"}})
    bring_back(at, "patient")
    assert table(at)["patient_id"]["use"] is True
    assert table(at)["admitted"]["lower"] == "2018-01-01"  # what was edited stays
    assert folded(at) == ["Left out: visit_id (identifier), notes (free text)"]
    schema = saved(declare(at))
    assert (schema["admitted"].bins, schema["admitted"].labels[0]) == ("month", "2018-01")
    assert schema["patient_id"].kind == "integer"
    assert schema.source == "declared"


def test_a_column_that_comes_back_is_read_off_the_rows_again() -> None:
    at = declare(upload(started("data"), "visits.csv", csv(visits(300))))
    assert saved(at).source == "declared"
    assert saved(bring_back(at, "visit")).source == "inferred"
    assert undeclared(at) == ["visit_id"]  # and what was declared stays so


def test_whose_rows_they_are_stays_with_a_schema_that_is_edited() -> None:
    rows = visits(300)
    schema = replace(Schema.infer(rows), source="declared", notes=(), unit=Unit(rows=3, column="patient_id"))
    at = schema_file(upload(started("data"), "visits.csv", csv(rows)), schema.to_json())
    assert "one person has up to" not in said(at)  # it is answered
    assert saved(at) == schema
    bring_back(at, "patient")
    assert "says whose row it is" in mendable(at)[0]


def test_dates_are_edited_as_text_and_refused_with_their_cause() -> None:
    at = upload(started("data"), "visits.csv", csv(visits(300)))
    place = list(table(at)).index("admitted")
    for edits, cause in (
        ({"lower": "soon"}, "no date"),
        ({"bins": "fortnight"}, "no unit of the calendar"),
        ({"lower": "2022-01-01"}, "lie outside the declared bounds 2022-01-01 to"),
        ({"form": "y/m/d"}, "the way its dates are written"),
        ({"kind": "continuous"}, "a bound is no number"),
    ):
        if "bounds" in cause:
            press(edit(at, {place: edits}), "data.use")
        else:
            edit(at, {place: edits})
        assert any(cause in error for error in mendable(at)), (cause, mendable(at))
    schema = saved(edit(at, {place: {"lower": "2019-01-01", "upper": "2024-12-31", "bins": "2020-01-01, 2022-01-01"}}))
    assert schema["admitted"].labels[1] == "2020-01-01 to 2021-12-31"
    assert table(opened(at, "data"))["admitted"]["bins"] == "2020-01-01, 2022-01-01"


# The schema table


def lines(at: AppTest) -> dict[str, str]:
    """What the page names as read off the rows, as it is declared by one press."""
    found = [each.value for each in at.table]
    return {plain(name): plain(told) for each in found for name, told in each["line"].items()}


def plain(text: str) -> str:
    return text.replace("\\", "").strip("*")


def undeclared(at: AppTest) -> list[str]:
    """The lines that the page names as read off the rows, and those that are ticked in no row of the table."""
    named = list(lines(at))
    open_rows = [name for name, row in table(at).items() if row.get("public") is False]
    assert set(named) <= set(open_rows)
    return named


def test_an_inferred_schema_warns_until_every_line_is_declared(uploaded: AppTest) -> None:
    at = uploaded
    assert undeclared(at) == ["age", "town", "ill"]
    assert "no guarantee holds" in said(at)
    assert saved(at).source == "inferred"
    assert "inferred schema: no guarantee" in at.sidebar.markdown[1].value
    assert any("guarantee is void" in error for error in errors(released(opened(at, PAGE))))
    assert saved(declare(opened(at, "data"))).source == "declared"
    assert undeclared(at) == []
    assert len(at.sidebar.markdown) == 1
    assert not released(opened(at, PAGE)).error
    upload(opened(at, "data"), "others.csv", csv(people(60, seed=9)))  # another file has to be checked again
    assert undeclared(at) == ["age", "town", "ill"]
    assert saved(at).source == "inferred"


def test_ends_that_are_values_of_rows_are_rounded_before_they_are_declared_with_others(uploaded: AppTest) -> None:
    at, ages = uploaded, people()["age"]
    assert lines(at)["age"] == f"{ages.min()} to {ages.max()} :red[(single rows)]"
    assert lines(at)["town"] == "Zqa, Zqb, Zqc"
    assert widget(at, "data.declare").disabled
    press(at, "data.round")
    assert lines(at)["age"] == "0 to 100"
    assert (undeclared(at), table(at)["age"]["upper"]) == (["age", "town", "ill"], "100")  # it helps, and says nothing
    press(at, "data.declare")
    schema = saved(at)
    assert (schema.source, schema["age"].lower, schema["age"].upper) == ("declared", 0, 100)


def test_lines_are_declared_one_by_one_by_a_tick_or_by_changing_them(uploaded: AppTest) -> None:
    at = edit(uploaded, {0: {"public": True}})
    assert undeclared(at) == ["town", "ill"]
    edit(at, {0: {"bins": "4", "missing": True}, 1: {"kind": "ordered"}})  # whose values are still those of the rows
    assert undeclared(at) == ["age", "town", "ill"]
    edit(at, {0: {"upper": "120"}, 1: {"categories": ["Zqa", "Zqb", "Zqc", "Zqd"]}, 2: {"use": False}})
    assert undeclared(at) == []
    edit(at, {0: {"upper": "120"}, 1: {"public": True}})
    assert saved(at).source == "inferred"
    opened(opened(at, "home"), "data")
    assert undeclared(at) == ["ill"]  # that the others are declared outlasts the page
    edit(at, {0: {"lower": "-5"}, 2: {"public": True}})
    assert saved(at).source == "declared"
    assert "public" not in table(at)["ill"]
    edit(at, {0: {"upper": "130"}})  # a line that is declared may change, and is so still
    assert saved(at).source == "declared"


def test_a_column_that_says_nobody_stays_unchosen_when_bounds_are_rounded() -> None:
    at = upload(started("data"), "visits.csv", csv(visits(300)))
    assert widget(at, "data.persons").value == "patient_id"
    widget(at, "data.persons").set_value("")
    assert widget(declare(run(at)), "data.persons").value == ""


def test_edits_are_declared_and_stay(uploaded: AppTest) -> None:
    at = uploaded
    towns = {"kind": "ordered", "categories": ["Zqc", "Zqb", "Zqa", "Zqd"], "missing": True, "outside": "clip"}
    edit(at, {0: {"upper": 120.0}})
    edit(at, {0: {"lower": 0.0, "upper": 120.0, "bins": "18, 65"}, 1: towns})
    widget(run(at), "data.target").set_value("ill")
    schema = saved(at)
    assert (schema["age"].lower, schema["age"].upper, schema["age"].bins) == (0, 120, (18.0, 65.0))
    assert (schema["town"].categories, schema["town"].kind) == (("Zqc", "Zqb", "Zqa", "Zqd"), "ordered")
    assert schema["town"].missing
    released(opened(at, PAGE))
    assert set(shown(at).release.synthetic["town"].cat.categories) == {"Zqa", "Zqb", "Zqc", "Zqd"}
    opened(at, "data")
    assert table(at)["age"]["upper"] == "120"
    assert saved(at) == schema


def test_declarations_that_contradict_themselves_cannot_be_used(uploaded: AppTest) -> None:
    for edits, cause in (
        ({0: {"lower": 200.0}}, "bound"),
        ({0: {"lower": None}}, "bounds are not declared"),
        ({0: {"bins": "many"}}, "bins"),
        ({0: {"kind": "categorical"}}, "no categories"),
        ({1: {"outside": "clip"}}, "nowhere to go"),
        ({row: {"use": False} for row in range(3)}, "no columns"),
    ):
        (told,) = mendable(edit(uploaded, edits))
        assert cause in told
        assert "data.use" not in [found.key for found in uploaded.button]
    assert dataset(uploaded).name == "sample"
    assert not mendable(edit(uploaded, {}))


def test_class_column_rows_kept_aside_and_columns_left_out(uploaded: AppTest) -> None:
    at = uploaded
    assert list(widget(at, "data.target").options) == ["(none)", "age", "town", "ill"]
    widget(at, "data.target").set_value("town")
    widget(at, "data.max_rows").set_value(500)
    at.slider("data.share").set_value(0.5)
    schema = saved(at)
    assert (schema.target, schema.max_rows) == ("town", 500)
    given = dataset(at)
    parts = datasets.split(people(), 0.5, given.reading["split_seed"])
    assert [len(given.train), len(given.test)] == [len(part) for part in parts]
    assert press(at, "data.next").title[0].value == "Bayesian networks"
    assert press(opened(at, "data"), "data.learn").title[0].value == "Trees & forests"
    at = opened(at, PAGE)
    assert [widget(at, f"{PAGE}.{name}").value for name in ("target", "rows")] == ["town", 500]
    edit(opened(at, "data"), {1: {"use": False}})
    assert list(widget(at, "data.target").options) == ["(none)", "age", "ill"]
    schema = saved(at)
    assert (schema.names, schema.target) == (("age", "ill"), None)


# The schema's file


def test_schema_comes_back_from_its_file(uploaded: AppTest) -> None:
    edit(uploaded, {0: {"lower": 0.0, "upper": 120.0, "bins": "18, 65"}, 1: {"missing": True}})
    widget(uploaded, "data.target").set_value("ill")
    widget(uploaded, "data.max_rows").set_value(5_000)
    schema = saved(declare(run(uploaded)))
    assert schema["age"].upper == 120  # what somebody wrote is not rounded
    at = upload(started("data"), "people.csv", csv(people()))
    schema_file(at, schema.to_json())
    assert undeclared(at) == []  # it is a declared one
    assert table(at)["age"]["upper"] == "120"
    assert [widget(at, f"data.{name}").value for name in ("target", "max_rows")] == ["ill", 5_000]
    assert saved(at) == schema
    edit(at, {0: {"lower": 0.0, "upper": 99.0}})  # the loaded one can be edited, and is not loaded over the edits
    assert saved(at)["age"].upper == 99


def test_a_wrong_schema_file_changes_nothing(uploaded: AppTest) -> None:
    widget(uploaded, "data.target").set_value("ill")
    edit(run(uploaded), {0: {"upper": 120.0}})
    for raw in (
        b"",
        b"\xff\xfe\x00",
        b"<b>Zqa</b>",
        b'{"format": "dpcore schema 1", "columns": [{"name": 3}]}',
        json.dumps({"format": "other", "columns": []}).encode(),
        OTHER.to_json().encode(),
    ):
        (told,) = mendable(schema_file(uploaded, raw))
        assert "Zq" not in told
    schema = saved(uploaded)
    assert (schema["age"].upper, schema.target, schema.names) == (120, "ill", ("age", "town", "ill"))


def test_what_another_program_does_not_say_is_asked_for_and_never_read_off_rows(uploaded: AppTest) -> None:
    at = schema_file(
        uploaded,
        '{"METADATA_SPEC_VERSION": "V1", "tables": {"t": {"columns": {"age": {"sdtype": "numerical"}}}}}',
    )
    assert any("Column 'age': its lowest and highest value" in each.value.replace("\\", "") for each in at.info)
    assert "bounds are not declared" in mendable(at)[0]
    line = table(at)["age"]
    assert (line["kind"], line["lower"], line["upper"]) == ("continuous", None, None)
    edit(at, {0: {"lower": "0", "upper": "120"}})
    widget(at, "data.save_as").set_value("private-pgm")
    run(at)
    assert any("This file does not hold" in each.value for each in at.caption)
    schema = saved(at)
    assert (schema.source, schema.names, schema["age"].upper) == ("declared", ("age",), 120)
    assert table(at)["age"]["upper"] == "120"


def test_a_schema_file_is_read_once_as_work_that_waits_its_turn(uploaded: AppTest, monkeypatch) -> None:
    """Read on every run of the page, and by all visitors at once, files would keep the server busy."""
    who: list[Thread] = []
    monkeypatch.setattr(formats, "read", lambda raw, read=formats.read: (who.append(current_thread()), read(raw))[1])
    for raw in (b"{", OTHER.to_json().encode()):
        (told,) = mendable(schema_file(uploaded, raw))
        assert mendable(run(run(uploaded))) == [told]  # and stays
    assert [type(thread) for thread in who] == [jobs.Job, jobs.Job]
    monkeypatch.setattr(hosting, "limits", lambda: replace(hosting.HOSTED, megabytes=1))
    (told,) = mendable(schema_file(uploaded, b"{}"))
    assert "memory is in use" in told
    assert len(who) == 2


# A session that is gone


def test_the_sample_never_takes_the_place_of_own_data_without_a_word(uploaded: AppTest) -> None:
    assert not uploaded.query_params
    press(uploaded, "data.use")
    assert uploaded.query_params == {"own": "1"}  # and not the file's name
    for page in ("home", PAGE, "compare"):  # after F5, on whichever page
        at = opened(started(page), page)
        assert not any("new session" in each.value for each in at.warning)
        at.query_params["own"] = "1"
        (told,) = [each.value for each in run(at).warning if "new session" in each.value]
        assert "bundled sample" in told
        assert "Your own data were in the memory of the one before" in told
        assert ("stays in the ledger" in told) == at.session_state["dpcore.books"].kept
    press(at, "dpcore.go_on")
    assert not at.query_params
    assert not any("new session" in each.value for each in at.warning)
    at.query_params["own"] = "1"
    press(run(at), "dpcore.load_again")
    assert not at.query_params


# Whose rows they are


def test_a_repeating_identifier_makes_epsilon_a_persons() -> None:
    three = people(120).assign(patient_id=[f"P{i % 40:04}" for i in range(120)])  # of each of forty patients
    at = upload(started("data"), "visits.csv", csv(three))
    assert widget(at, "data.persons").value == "patient_id"  # recognized, and in no column of the table
    assert table(at)["patient_id"]["use"] is False
    assert "Protected is one person with all rows" in said(at)
    widget(at, "data.rows_each").set_value(2)
    schema = saved(declare(run(at)))
    assert schema.unit == Unit(rows=2, column="patient_id")
    assert Schema.from_json(schema.to_json()).unit == schema.unit
    at = released(opened(at, PAGE))
    assert shown(at).release.ledger.protects == "person"
    assert "patient_id" not in shown(at).release.synthetic
    assert "epsilon 1 (add or remove one person)" in said(at)  # in the side bar
    assert "visits.csv, persons of 'patient_id' · add or remove one person" in said(opened(at, "ledger"))
    at = opened(at, "data")  # and back: what was declared stands
    assert widget(at, "data.persons").value == "patient_id"
    assert widget(at, "data.rows_each").value == 2
    widget(at, "data.persons").set_value("")
    widget(run(at), "data.rows_each").set_value(4)
    assert saved(run(at)).unit == Unit(rows=4)
    assert "4 rows at most" in said(at)


def test_whose_rows_they_are_is_proposed_for_people_only_and_never_changed_in_silence() -> None:
    orders = people(120).assign(order_id=[f"O{i // 3:04}" for i in range(120)])
    at = upload(started("data"), "orders.csv", csv(orders))
    assert widget(at, "data.persons").value == ""  # an order is no person, though it repeats: that is asked
    assert any("order_id has up to 3 rows" in each.value.replace("\\", "") for each in at.info)
    patients = orders.rename(columns={"order_id": "patient_id"})
    declared = replace(Schema.infer(patients), source="declared", notes=())
    at = schema_file(upload(started("data"), "patients.csv", csv(patients)), declared.to_json())
    assert widget(at, "data.persons").value == ""  # somebody has declared it without
    assert saved(at).unit is None
    other = replace(declared, unit=Unit(rows=4, column="somebody"))
    at = schema_file(upload(started("data"), "patients.csv", csv(patients)), other.to_json())
    assert widget(at, "data.persons").value == "somebody"
    press(at, "data.use")
    assert "lack the column 'somebody'" in mendable(at)[0].replace("\\", "")
    assert dataset(at).name == "sample"


# Where lines come from, and values that few rows have


def rare_ticks(at: AppTest) -> list[str]:
    return [found.label.replace("\\", "") for found in at.checkbox if (found.key or "").startswith("listed:")]


def list_value(at: AppTest, label: str) -> AppTest:
    next(found for found in at.checkbox if found.label.replace("\\", "") == label).check()
    return run(at)


def towns() -> pd.DataFrame:
    """Three towns that ten people or more live in, and two of one person."""
    found = people()
    return found.assign(town=["Zqone", "Zqtwo", *found["town"][2:]])


def test_towns_of_one_person_are_listed_one_by_one_and_never_with_others() -> None:
    at = upload(started("data"), "people.csv", csv(towns()))
    assert lines(at)["town"] == "Zqa, Zqb, Zqc or missing"
    assert rare_ticks(at) == ["town: Zqone", "town: Zqtwo"]
    assert "Zqone" not in saved(declare(at)).to_json()
    list_value(opened(at, "data"), "town: Zqtwo")
    assert rare_ticks(at) == ["town: Zqone"]
    schema = saved(at)
    assert (schema.source, schema["town"].categories) == ("declared", ("Zqa", "Zqb", "Zqc", "Zqtwo"))
    assert "Zqone" not in schema.to_json()
    assert rare_ticks(opened(at, "data")) == ["town: Zqone"]
    kept = Schema.infer(towns(), keep=["town"])  # such as earlier versions saved
    at = schema_file(upload(started("data"), "people.csv", csv(towns())), kept.to_json())
    assert not {"Zqone", "Zqtwo"} & {*saved(declare(at))["town"].categories}


def test_a_class_of_few_rows_is_offered_and_what_happens_without_it_is_told() -> None:
    at = upload(started("data"), "people.csv", csv(people().assign(ill=["Zqrare"] * 3 + ["no"] * 77)))
    assert "A class that is not listed is not learned" not in said(at)
    widget(at, "data.target").set_value("ill")
    assert "A class that is not listed is not learned" in said(run(at))
    assert saved(declare(list_value(at, "ill: Zqrare")))["ill"].categories == ("no", "Zqrare")


def test_thirty_rows_of_one_patient_are_one_patient() -> None:
    rows = people(150).assign(patient_id=[f"P{max(i - 29, 0):04}" for i in range(150)])
    rows = rows.assign(town=["Zqmine"] * 30 + ["Zqa", "Zqb"] * 60)
    at = upload(started("data"), "visits.csv", csv(rows))
    assert widget(at, "data.persons").value == "patient_id"
    assert lines(at)["town"] == "Zqa, Zqb or missing"
    assert rare_ticks(at) == ["town: Zqmine"]
    assert "Zqmine" not in saved(declare(at)).to_json()


def test_lines_keep_where_they_came_from_on_every_visit(uploaded: AppTest) -> None:
    def where(schema: Schema) -> list[str]:
        return [one.get("origin", "declared") for one in schema.to_document()["columns"]]

    at = declare(uploaded)
    assert where(saved(at)) == ["proposed"] * 3  # rounded by the program, too
    edit(opened(at, "data"), {0: {"upper": "120"}, 1: {"missing": True}})
    changed = ["changed", "proposed", "proposed"]
    assert where(saved(at)) == changed
    assert where(saved(opened(at, "data"))) == changed
    told = "2 of 3 lines as the program proposed them from the rows, 1 of 3 lines proposed from the rows and changed"
    released(opened(at, PAGE))
    assert told in said(at)  # beside Run
    assert "Outside review: none of this version." in said(at).replace("*", "")
    assert told in said(tab(at, "Take home"))
    at = schema_file(upload(started("data"), "people.csv", csv(people())), dataset(at).schema.to_json())
    assert where(saved(at)) == changed

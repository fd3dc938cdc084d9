"""The page where rows are chosen and declared: sources, the schema table, its file, the class, and the hand-over."""

import json
from dataclasses import replace
from threading import Thread, current_thread
from typing import Any

import pandas as pd
import pytest
from driving import PAGE, csv, edit, opened, people, press, released, run, shown, started, upload
from sample_tables import visits
from screen import dataset, errors, lines_of, mendable, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import Column, PrivacyUnit, Schema
from dpcore.dashboard import jobs
from dpcore.dashboard.pages.data import schema_table
from dpcore.datasets import BANK_CARDS, load, schema_formats
from dpcore.errors import SchemaError

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


def answers(at: AppTest, answer: str) -> list[Any]:
    """The buttons that give an answer, in the order of the questions."""
    return [one for one in at.button if str(one.key).startswith(f"data.answer.{answer}:")]


def answer(at: AppTest, text: str) -> AppTest:
    """Answer the first question."""
    answers(at, text)[0].click()
    return run(at)


def saved(at: AppTest, key: str = "data.use") -> Schema:
    """The schema that a press puts to use."""
    before = dataset(at)
    press(at, key)
    assert dataset(at) is not before, errors(at)
    return dataset(at).schema


def undeclared(at: AppTest) -> list[str]:
    """The lines that the page says were read off the rows, in the list and in the table."""
    found = [shown.value for shown in at.dataframe if "Public values" in shown.value]
    named = list(found[0].index) if found else []
    assert named == [name for name, line in lines_of(at).items() if line["from"] == "inferred from rows"]
    return named


def test_what_names_people_is_left_out_and_comes_back_read_off_the_rows() -> None:
    at = with_file(visits(300))
    before = [*lines_of(at).values()]
    left_out = {line["name"]: index for index, line in enumerate(before) if not line["use"]}
    assert list(left_out) == ["visit_id", "patient_id", "diagnosis_code", "notes"]
    assert before[left_out["notes"]]["from"].startswith("column left out: ")
    admitted = [*lines_of(at)].index("admitted")
    assert len(mendable(edit(at, {admitted: {"values": "soon"}}))) == 1
    assert widget(at, "data.blocked").disabled
    assert not [found for found in at.button if str(found.key).startswith("data.use")]
    edit(at, {admitted: {"values": "2018-01-01 to 2024-12-31, by month"}, left_out["patient_id"]: {"use": True}})
    assert lines_of(at)["patient_id"]["use"] is True
    assert lines_of(at)["admitted"]["values"].startswith("2018-01-01")  # what was edited stays
    assert lines_of(at)["admitted"]["from"] == "declared"
    schema = saved(at)
    assert (schema["admitted"].bins, schema.source) == ("month", "declared")
    edit(at, {left_out["visit_id"]: {"use": True}})
    assert undeclared(at) == ["visit_id"]  # and what was declared stays so


def test_one_press_declares_all_lines_and_their_bounds_are_no_values_of_rows(uploaded: AppTest) -> None:
    at, ages = uploaded, people()["age"]
    assert undeclared(at) == ALL
    assert lines_of(at)["age"]["values"] == "0 to 89, 18 bins"
    assert not {str(ages.min()), str(ages.max())} & {*lines_of(at)["age"]["values"].split()}
    assert lines_of(at)["town"]["values"] == "Zqa; Zqb; Zqc"
    assert "declares" in said(at).lower() or "declare" in said(at)
    schema = saved(at)
    assert (schema.source, schema["age"].lower, schema["age"].upper) == ("declared", 0, 89)
    assert {column.origin for column in schema} == {"proposed"}  # which every export says
    assert undeclared(at) == []
    upload(at, "others.csv", csv(people(60, seed=9)))  # another file has to be declared again
    assert undeclared(at) == ALL
    read = Schema.infer(people())  # its bounds are values of single rows
    at.session_state["dpcore.intake"].set_schema(read, read.names)
    assert widget(run(at), "data.use").disabled
    assert saved(edit(at, {0: {"values": "0 to 120"}})).source == "declared"


def test_without_a_guarantee_is_possible_and_says_so_on_every_page(uploaded: AppTest) -> None:
    at = uploaded
    assert saved(at, "data.unproved").source == "inferred"
    assert len(at.sidebar.markdown) == 2
    assert undeclared(at) == ALL
    edit(at, {0: {"values": "0 to 89, 4 bins", "missing": True}, 1: {"kind": "ordered"}})  # values are those of rows
    assert undeclared(at) == ALL
    edit(at, {0: {"values": "0 to 120"}, 1: {"values": "Zqa; Zqb; Zqc; Zqd"}})
    assert undeclared(at) == ["ill"]
    assert saved(at, "data.unproved").source == "inferred"
    assert undeclared(opened(opened(at, "home"), "data")) == ["ill"]  # what was declared outlasts the page
    assert saved(at).source == "declared"
    assert len(at.sidebar.markdown) == 1


def test_what_is_declared_is_in_use_stays_and_comes_back_from_its_file(uploaded: AppTest) -> None:
    at = uploaded
    towns = {"kind": "ordered", "values": "Zqc; Zqb; Zqa; Zqd", "missing": True, "outside": "clip"}
    edit(at, {0: {"values": "0 to 120, cut at 18, 65"}, 1: towns})
    schema = saved(choose(at, target="town", max_rows=500))
    assert (schema.target, schema.max_rows, schema.source) == ("town", 500, "declared")
    assert (schema["age"].lower, schema["age"].upper, schema["age"].bins) == (0, 120, (18.0, 65.0))  # not rounded
    assert (schema["town"].categories, schema["town"].kind) == (("Zqc", "Zqb", "Zqa", "Zqd"), "ordered")
    assert press(at, "data.next").session_state["dpcore.page"] == "networks"
    at = opened(at, PAGE)
    assert [widget(at, f"{PAGE}.{name}").value for name in ("target", "rows")] == ["town", None]
    assert widget(opened(at, "data"), "data.next")  # it is in use still
    at = with_file(people(), schema)
    assert undeclared(at) == []  # it is a declared one
    assert chosen(at, "target", "max_rows") == ["town", 500]
    assert saved(at) == schema


@pytest.mark.parametrize("name", ["sample", *BANK_CARDS])
def test_public_values_are_read_as_they_are_written(name: str) -> None:
    schema = load(name).schema
    table = schema_table.schema_frame(schema, schema.names, {})
    public = {"target": schema.target, "max_rows": schema.max_rows, "unit": schema.unit}
    assert schema_table.parse_schema(table, schema, **public) == schema


def test_public_values_that_cannot_be_misread() -> None:
    def read(kind: str, text: str) -> Any:
        found = schema_table.parse_values("x", kind, text)
        return Column("x", kind, **found)

    odd = ("a;b", 'say "x"', "c, d", "5 to 7", "e\nf", "1")
    assert read("categorical", schema_table.format_values(Column("x", "categorical", categories=odd))).categories == odd
    assert read("integer", "0 to 110, every 50").bins == (50.0, 100.0)
    ways = ("every 50", "all values", "5 bins, in steps of 2", "cut at 2, 6, in steps of 2")
    same = {f"0 to 110, {way}": "integer" for way in ways}
    same["2019-01-01 to 2023-12-31, by year, first of month"] = "date"
    assert [schema_table.format_values(read(kind, text)) for text, kind in same.items()] == [*same]
    assert read("continuous", "-0.5 to 1e2, 3 bins").lower == -0.5
    assert read("date", "2020-01-01 to 2021-12-31").bins == "month"
    wrong = ["0 to 1,500", "0 to 1,500, 16 bins", "0 - 9", "5", "a to b", "0 to 9, by", "0 to 9, 0 bins", "", "0 to"]
    wrong += ["0 to 9, every 0", "0 to 9, every -1", "0 to 9, every nan", "0 to 9, every"]
    wrong += ["0 to 9, 3 bins, in steps of 2", "0 to 9, 3 bins, in steps of 0", "0 to 8, 2 bins, first of month"]
    others = [("date", "0 to 9"), ("categorical", '"a'), ("ordered", "")]
    others += [("date", "2019-01-01 to 2019-12-31, by day, first of month")]
    for kind, text in [("integer", text) for text in wrong] + others:
        with pytest.raises(SchemaError):
            read(kind, text)


def test_no_row_is_set_apart_unless_accuracy_is_asked_for_which_makes_another_data_set(uploaded: AppTest) -> None:
    at = uploaded
    press(choose(at, target=""), "data.use")
    whole = dataset(at)
    assert whole.sizes == (80, 0)
    assert "80" in said(at)
    assert not [found for found in at.toggle if found.key.startswith("data.accuracy")]  # nothing could be measured
    saved(choose(at, target="ill"))
    released(opened(at, PAGE))
    saved(choose(opened(at, "data"), accuracy=True))
    assert sum(dataset(at).sizes) == 80
    assert dataset(at).sizes[1] > 0
    assert dataset(at).token != whole.token
    assert len(shown(at).data.test) == 0  # what learned from all rows is tested on none of them
    assert chosen(opened(opened(at, "home"), "data"), "accuracy") == [True]


def test_a_file_from_another_page_is_read_as_one_from_this_page_and_named_until_it_is_used() -> None:
    at = started()
    at.session_state["data.handed"] = ("first", "rows.csv", csv(people()))
    at.session_state["data.source"] = "upload"
    at = opened(at, "data")
    assert undeclared(at) == ALL
    assert dataset(at).name == "sample"
    assert at.session_state["dpcore.intake"].name == "rows.csv"
    rows = at.session_state["dpcore.intake"]
    assert run(at).session_state["dpcore.intake"] is rows  # read once
    at.session_state["data.handed"] = ("second", "rows.csv.exe", b"987654")
    assert len(mendable(run(at))) == 1
    assert at.session_state["dpcore.intake"] is rows
    saved(at)
    assert dataset(at).name == "rows.csv"


def test_a_wrong_schema_file_changes_nothing_and_is_read_once_as_work_that_waits_its_turn(
    uploaded: AppTest, monkeypatch
) -> None:
    """Read on every run of the page, and by all visitors at once, files would keep the server busy."""
    who: list[Thread] = []
    read = schema_formats.read
    monkeypatch.setattr(schema_formats, "read", lambda raw: (who.append(current_thread()), read(raw))[1])
    edit(uploaded, {0: {"values": "0 to 120"}})
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
    assert lines_of(at)["age"]["values"] == "? to ?"
    schema = saved(edit(at, {0: {"values": "0 to 120"}}))
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
    assert (dict(at.query_params), gone(at)) == ({}, False)


def test_a_repeating_identifier_makes_epsilon_a_persons() -> None:
    three = people(120).assign(patient_id=[f"P{i % 40:04}" for i in range(120)])  # of each of forty patients
    at = with_file(three)
    assert chosen(at, "persons") == ["patient_id"]  # recognized, and in no column of the table
    assert lines_of(at)["patient_id"]["use"] is False
    schema = saved(choose(at, rows_each=2, target="ill"))
    assert schema.unit == PrivacyUnit(max_contributions=2, id_column="patient_id")
    at = released(opened(at, PAGE))
    assert shown(at).release.ledger.protects == "person"
    at = opened(at, "data")
    edit(at, {[*lines_of(at)].index("patient_id"): {"use": True}})
    assert len(mendable(at)) == 1  # it says whose row it is, and cannot be a column too


def test_whose_rows_they_are_is_proposed_for_people_only_and_never_changed_in_silence() -> None:
    orders = people(120).assign(order_id=[f"O{i // 3:04}" for i in range(120)])
    at = with_file(orders)
    assert chosen(at, "persons") == [None]  # an order is no person, though it repeats: that is asked
    answer(at, "Yes")
    assert chosen(at, "persons") == ["order_id"]
    patients = orders.rename(columns={"order_id": "patient_id"})
    declared = replace(Schema.infer(patients), source="declared", notes=())
    assert chosen(with_file(patients, declared), "persons") == [None]  # somebody has declared it without
    at = with_file(patients, replace(declared, unit=PrivacyUnit(max_contributions=4, id_column="somebody")))
    assert "'somebody'" in mendable(at)[0]
    assert widget(at, "data.blocked").disabled
    at = choose(with_file(people(1_001).assign(k=[i % 300 for i in range(1_001)])), persons="k")
    schema = saved(at)  # a column in use is taken out
    assert (lines_of(at)["k"]["use"], "k" in schema.names, schema.persons.id_column) == (False, False, "k")


def test_a_value_that_can_be_a_person_is_no_category_before_somebody_has_said_so() -> None:
    rows = people(1_001).assign(participant=[f"P{i % 30:03}" for i in range(1_001)])
    at = with_file(rows)
    assert (lines_of(at)["participant"]["use"], chosen(at, "persons")) == (False, [None])
    answer(at, "No")
    assert lines_of(at)["participant"]["use"] is True
    answer(at, "No")  # which is about towns of ill people
    answer(at, "Yes")  # and the number of rows: no other question is left
    assert chosen(at, "max_rows") == [1_100]
    assert (answers(at, "Yes"), saved(at).max_rows) == ([], 1_100)
    at = with_file(rows)
    answer(at, "Yes")
    assert "**30 of 1,001 rows** · rows of 30 people" in said(at)
    keyed = people(120).assign(name=[f"N{i // 3:04}" for i in range(120)], email=[f"a{i}@b.org" for i in range(120)])
    assert len(answers(with_file(keyed), "Yes")) == 1  # two people can have one name


def test_columns_of_0_and_1_become_one_by_a_press_that_declares_nothing() -> None:
    kinds = pd.get_dummies(pd.Series([*"abc"] * 40), prefix="kind", dtype=int)
    marked = dict.fromkeys(("pay", "*"), [999, *range(1, 24)] * 5)
    at = answer(with_file(kinds.assign(**marked)), "Join these columns into one")
    assert sum(r"**pay**, **\***: 999 \(5×\)" in one.value for one in at.markdown) == 1  # one question of both
    assert undeclared(press(at, "data.again")) == [*kinds, *marked]  # and apart again
    assert undeclared(edit(answer(at, "Join these columns into one"), {2: {"use": False}})) == ["kind", "pay"]
    assert lines_of(at)["kind"]["values"] == "a; b; c"
    assert lines_of(at)["pay"]["also"] == "999"
    edit(at, {1: {"also": "999; none"}})
    assert "no number" in mendable(at)[0]
    schema = saved(edit(at, {1: {"also": "999; 998"}}))
    assert (schema["pay"].missing_values, schema["kind"].flags) == ((999, 998), ("kind_a", "kind_b", "kind_c"))
    assert dataset(at).train["kind"].tolist() == [*"abc"] * 40


def test_a_sum_at_the_end_is_left_out_by_a_press_and_back_when_asked_again() -> None:
    frame = people(60).assign(pay=[*[999] * 9, *range(1, 52)])
    total = pd.DataFrame([dict.fromkeys(frame, "") | {"town": "Total", "pay": frame["pay"].sum()}])
    at = answer(with_file(pd.concat([frame, total])), "Leave this row of the file out")
    assert (lines_of(at)["pay"]["also"], "looks like a sum" in said(at)) == ("999", False)
    saved(at)
    assert (len(dataset(at).train), dataset(at).reading["skip_last"]) == (60, 1)
    assert "looks like a sum" in said(press(at, "data.again"))


def test_towns_of_one_person_are_listed_as_they_are_chosen_and_never_with_others() -> None:
    frame = people().assign(town=["Zqone", "Zqtwo", *people()["town"][2:]])
    at = with_file(frame)
    assert widget(at, "data.listed").options == [r"town\: Zqone", r"town\: Zqtwo"]
    assert "Zqone" not in saved(at).to_json()
    widget(opened(at, "data"), "data.listed").set_value([("town", "Zqtwo")])
    assert "count as missing" not in said(press(run(at), "data.take"))  # nor is Zqone asked again
    press(at, "data.again")
    assert widget(at, "data.listed").options == [r"town\: Zqone"]
    schema = saved(at)
    assert (schema.source, schema["town"].categories) == ("declared", ("Zqa", "Zqb", "Zqc", "Zqtwo"))
    kept = Schema.infer(frame, keep=["town"])  # such as earlier versions saved
    assert not {"Zqone", "Zqtwo"} & {*saved(with_file(frame, kept))["town"].categories}


def test_a_press_declares_nothing_that_its_screen_did_not_show() -> None:
    at = with_file(visits(300))
    index = [*lines_of(at)].index("patient_id")
    widget(at, "data.use").click()
    edit(at, {index: {"use": True}})  # a press, and a tick that changes the table, in one run
    assert dataset(at).name == "sample"
    assert "patient_id" in undeclared(at)
    widget(at, "data.use").click()
    upload(at, "others.csv", csv(people(60, seed=9)))
    assert dataset(at).name == "sample"


def test_a_rule_is_declared_by_its_press_alone_seen_and_deleted_in_its_field() -> None:
    days = pd.date_range("2021-01-01", periods=400).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"in*": days[:390], "out": days[10:], "age": ["0-17", "18+", "18+"] * 130})
    at = with_file(frame.assign(status=["single", "married", "single"] * 130))
    order, pair = "in* <= out", "age = 0-17, never status = married"
    assert saved(at).rules == ()
    assert any(r"In all your rows: **in\* \<\= out**" in one.value for one in at.markdown)
    for rules in ((order,), (order, pair)):
        assert widget(answer(at, "Yes"), "data.rules").value == "\n".join(rules)
    assert "rules kept: in* <= out, age = 0-17, never status = married" in said(at)
    schema = saved(choose(choose(at, rules=pair), rules=f"{order}\n{pair}"))
    assert schema.rules == schema.proposed_rules == (order, pair)  # though one was written anew
    assert saved(edit(at, {2: {"use": False}})).rules == (order,)
    assert saved(choose(at, rules="")).rules == ()
    assert len(answers(at, "Yes")) == 1  # and nothing is asked twice

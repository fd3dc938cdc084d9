"""The page where rows are chosen and declared: sources, the schema table, its file, the class, and the hand-over."""

import json
import os
from functools import cache
from pathlib import Path

import pytest
from driving import (
    PAGE,
    csv,
    dataset,
    edit,
    errors,
    mendable,
    opened,
    people,
    press,
    released,
    run,
    said,
    shown,
    started,
    tab,
    tabs,
    upload,
    using,
    widget,
)
from streamlit.testing.v1 import AppTest

from dpcore import Column, Schema, datasets
from dpcore.dashboard.sections.intake import SOURCES
from dpcore.dashboard.sections.schema_editor import schema_frame, schema_of
from dpcore.errors import DataError


@cache
def with_people() -> AppTest:
    """One session for everything that must not change it."""
    return upload(started("data"), "people.csv", csv(people()))


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
    press(at, "data.use")
    assert not mendable(at)
    return dataset(at).schema


# Sources


def test_every_known_data_set_is_offered() -> None:
    at = started("data")
    assert len(at.segmented_control("data.source").options) == len(datasets.DATASETS) + 1  # and one's own file
    assert set(SOURCES) == {*datasets.DATASETS, "upload"}


def test_sample_is_there_from_the_start() -> None:
    at = started("data")
    assert dataset(at).name == "sample"
    assert set(table(at)) == set(dataset(at).schema.names)
    before = dataset(at).schema
    assert saved(at) == before
    assert "These data are in use now" in said(at)


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
    at = released(opened(at, PAGE))
    for open_tab in tabs(at) if len(expected.schema) < 20 else ("Price", "Columns", "Take home"):
        assert not mendable(tab(at, open_tab)), open_tab


@pytest.mark.parametrize("name", ["adult", "big5"])
def test_published_data_that_are_not_here(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    at = started("data")
    rows = at.session_state["dpcore.intake"]
    source(at, name)
    assert ("data.fetch" in [found.key for found in at.button]) == (name == "adult")
    assert len(mendable(at)) == (name == "big5")
    assert at.session_state["dpcore.intake"] is rows
    assert dataset(at).name == "sample"
    source(at, "sample")
    assert not at.error


def test_uploaded_rows_survive_a_change_of_page(uploaded: AppTest) -> None:
    rows = uploaded.session_state["dpcore.intake"]
    opened(opened(uploaded, "home"), "data")
    assert uploaded.session_state["dpcore.intake"] is rows
    assert set(table(uploaded)) == {"age", "town", "ill"}


def test_a_file_can_have_the_name_of_a_known_data_set() -> None:
    at = upload(started("data"), "sample.csv", csv(people()))
    source(at, "sample")
    assert set(table(at)) == set(datasets.load("sample").schema.names)


def test_a_file_is_read_once(uploaded: AppTest) -> None:
    rows = uploaded.session_state["dpcore.intake"]
    assert run(uploaded).session_state["dpcore.intake"] is rows


def test_how_to_read_can_be_chosen() -> None:
    at = upload(started("data"), "odd.csv", b"a,b;c|d\n1,5;2\n2,5;3\n")
    frame = at.session_state["dpcore.intake"].frame
    at.selectbox("data.decimal").set_value("comma")
    at.selectbox("data.delimiter").set_value("semicolon")
    run(at)
    again = at.session_state["dpcore.intake"].frame
    assert again is not frame
    assert list(again["a,b"]) == ["1.5", "2.5"]


# The schema table


def test_inferred_schema_warns_until_every_line_is_checked(uploaded: AppTest) -> None:
    assert any("read off your rows" in error for error in errors(uploaded))
    assert saved(uploaded).source == "inferred"
    assert "inferred schema: no guarantee" in uploaded.sidebar.markdown[1].value
    at = released(opened(uploaded, PAGE))
    assert any("guarantee is void" in error for error in errors(at))

    opened(at, "data")
    widget(at, "data.declared").check()
    run(at)
    schema = saved(at)
    assert schema.source == "declared"
    assert len(at.sidebar.markdown) == 1
    assert not released(opened(at, PAGE)).error


def test_another_file_has_to_be_checked_again(uploaded: AppTest) -> None:
    widget(uploaded, "data.declared").check()
    run(uploaded)
    upload(uploaded, "others.csv", csv(people(60, seed=9)))
    assert not widget(uploaded, "data.declared").value
    assert saved(uploaded).source == "inferred"


def test_edits_of_the_table_are_declared(uploaded: AppTest) -> None:
    edit(
        uploaded,
        {
            0: {"lower": 0.0, "upper": 120.0, "bins": "18, 65"},
            1: {"kind": "ordered", "categories": ["Zqc", "Zqb", "Zqa", "Zqd"], "missing": True, "outside": "clip"},
        },
    )
    schema = saved(uploaded)
    assert (schema["age"].lower, schema["age"].upper, schema["age"].bins) == (0, 120, (18.0, 65.0))
    assert schema["town"].categories == ("Zqc", "Zqb", "Zqa", "Zqd")
    assert schema["town"].kind == "ordered"
    assert schema["town"].missing
    at = released(opened(uploaded, PAGE))
    assert set(shown(at).release.synthetic["town"].cat.categories) == {"Zqa", "Zqb", "Zqc", "Zqd"}


def test_second_edits_are_not_lost(uploaded: AppTest) -> None:
    edit(uploaded, {0: {"upper": 120.0}})
    edit(uploaded, {0: {"upper": 120.0, "lower": 0.0}})
    run(uploaded)
    schema = saved(uploaded)
    assert (schema["age"].lower, schema["age"].upper) == (0, 120)


def test_edits_survive_their_use_and_a_change_of_page(uploaded: AppTest) -> None:
    edit(uploaded, {0: {"upper": 120.0}})
    widget(uploaded, "data.target").set_value("ill")
    first = saved(uploaded)
    opened(opened(uploaded, PAGE), "data")
    assert table(uploaded)["age"]["upper"] == 120
    assert saved(uploaded) == first


def test_columns_can_be_left_out(uploaded: AppTest) -> None:
    widget(uploaded, "data.target").set_value("ill")
    run(uploaded)
    edit(uploaded, {2: {"use": "ignore"}})
    assert list(widget(uploaded, "data.target").options) == ["(none)", "age", "town"]
    schema = saved(uploaded)
    assert schema.names == ("age", "town")
    assert schema.target is None


@pytest.mark.parametrize(
    ("edits", "cause"),
    [
        ({0: {"lower": 200.0}}, "bound"),
        ({0: {"lower": None}}, "bounds are not declared"),
        ({0: {"bins": "many"}}, "bins"),
        ({0: {"bins": "30, 20"}}, "cut points"),
        ({0: {"kind": "categorical"}}, "no categories"),
        ({1: {"categories": []}}, "no categories"),
        ({1: {"categories": ["Zqa", "Zqa"]}}, "listed twice"),
        ({1: {"outside": "clip"}}, "nowhere to go"),
        ({0: {"use": "ignore"}, 1: {"use": "ignore"}, 2: {"use": "ignore"}}, "no columns"),
    ],
)
def test_declarations_that_contradict_themselves(edits: dict[int, dict[str, object]], cause: str) -> None:
    uploaded = with_people()
    before = dataset(uploaded)
    edit(uploaded, edits)
    assert len(mendable(uploaded)) == 1
    assert cause in mendable(uploaded)[0]
    assert "data.use" not in [found.key for found in uploaded.button]
    assert dataset(uploaded) is before
    edit(uploaded, {})
    assert not mendable(uploaded)


def test_class_column_and_rows_kept_aside(uploaded: AppTest) -> None:
    assert list(widget(uploaded, "data.target").options) == ["(none)", "age", "town", "ill"]
    widget(uploaded, "data.target").set_value("town")
    widget(uploaded, "data.max_rows").set_value(500)
    uploaded.slider("data.share").set_value(0.5)
    schema = saved(uploaded)
    assert (schema.target, schema.max_rows) == ("town", 500)
    data = dataset(uploaded)
    train, test = datasets.split(people(), 0.5, data.reading["split_seed"])
    assert (len(data.train), len(data.test)) == (len(train), len(test))
    opened(uploaded, PAGE)
    assert widget(uploaded, f"{PAGE}.target").value == "town"
    assert widget(uploaded, f"{PAGE}.rows").value == 500


def test_next_step_leads_to_a_method(uploaded: AppTest) -> None:
    saved(uploaded)
    assert press(uploaded, "data.next").title[0].value == "Naive Bayes"


def test_no_release_without_a_column_that_can_be_the_class() -> None:
    frame = people()[["age"]].assign(height=1.5, weight=range(80))
    at = opened(using("numbers.csv", csv(frame), target=None, declared=False), PAGE)
    assert widget(at, f"{PAGE}.target").value == "height"  # one value only, so it was read as a category
    frame["height"] += frame["weight"] / 80
    at = opened(using("numbers.csv", csv(frame), target=None, declared=False), PAGE)
    assert "needs a column with categories" in said(at)
    press(at, f"{PAGE}.run")
    assert "class column" in mendable(at)[0]
    assert shown(at) is None


# The schema's file


def test_schema_comes_back_from_its_file(uploaded: AppTest) -> None:
    edit(uploaded, {0: {"lower": 0.0, "upper": 120.0, "bins": "18, 65"}, 1: {"missing": True}})
    widget(uploaded, "data.target").set_value("ill")
    widget(uploaded, "data.max_rows").set_value(5_000)
    widget(uploaded, "data.declared").check()
    schema = saved(uploaded)

    at = upload(started("data"), "people.csv", csv(people()))
    schema_file(at, schema.to_json())
    assert not at.error  # it is a declared one
    assert table(at)["age"]["upper"] == 120
    assert widget(at, "data.target").value == "ill"
    assert widget(at, "data.max_rows").value == 5_000
    assert saved(at) == schema
    edit(at, {0: {"lower": 0.0, "upper": 99.0}})  # the loaded one can be edited, and is not loaded over the edits
    assert saved(at)["age"].upper == 99


def test_what_the_table_does_not_show_comes_back_too() -> None:
    schema = datasets.adult_schema()
    frame = schema_frame(schema, list(schema.names))
    assert schema_of(frame, schema, target=schema.target, source=schema.source, max_rows=schema.max_rows) == schema


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe\x00",
        b"[]",
        b"{}",
        b"null",
        b"<b>Zqa</b>",
        b'{"format": "dpcore schema 1", "columns": []}',
        b'{"format": "dpcore schema 1", "columns": [{"name": 3}]}',
        json.dumps({"format": "other", "columns": []}).encode(),
        Schema(columns=(Column(name="Zqother", kind="integer", lower=0, upper=9),)).to_json().encode(),
    ],
    ids=["empty", "no text", "list", "object", "null", "no JSON", "no columns", "bad column", "format", "other data"],
)
def test_a_wrong_schema_file_changes_nothing(uploaded: AppTest, raw: bytes) -> None:
    widget(uploaded, "data.target").set_value("ill")
    run(uploaded)
    edit(uploaded, {0: {"upper": 120.0}})
    schema_file(uploaded, raw)
    assert len(mendable(uploaded)) == 1
    assert "Zq" not in mendable(uploaded)[0]
    schema = saved_beside_an_error(uploaded)
    assert schema["age"].upper == 120
    assert schema.target == "ill"
    assert schema.names == ("age", "town", "ill")


def saved_beside_an_error(at: AppTest) -> Schema:
    before = dataset(at)
    press(at, "data.use")
    assert dataset(at) is not before
    return dataset(at).schema

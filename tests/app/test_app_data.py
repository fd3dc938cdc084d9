"""The page where rows are chosen and declared: sources, the schema table, its file, the class, and the hand-over."""

import json
import os
from pathlib import Path

import pytest
from driving import PAGE, csv, edit, opened, people, press, released, run, shown, started, tab, upload
from screen import dataset, errors, mendable, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import Column, Schema, datasets
from dpcore.dashboard.sections.intake import SOURCES
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
    assert set(SOURCES) == {*datasets.DATASETS, "upload"}
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


# The schema table


def test_an_inferred_schema_warns_until_every_line_is_checked(uploaded: AppTest) -> None:
    at = uploaded
    assert any("read off your rows" in error for error in errors(at))
    assert saved(at).source == "inferred"
    assert "inferred schema: no guarantee" in at.sidebar.markdown[1].value
    assert any("guarantee is void" in error for error in errors(released(opened(at, PAGE))))
    widget(opened(at, "data"), "data.declared").check()
    run(at)
    assert saved(at).source == "declared"
    assert len(at.sidebar.markdown) == 1
    assert not released(opened(at, PAGE)).error
    upload(opened(at, "data"), "others.csv", csv(people(60, seed=9)))  # another file has to be checked again
    assert not widget(at, "data.declared").value
    assert saved(at).source == "inferred"


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
    assert table(at)["age"]["upper"] == 120
    assert saved(at) == schema


def test_declarations_that_contradict_themselves_cannot_be_used(uploaded: AppTest) -> None:
    for edits, cause in (
        ({0: {"lower": 200.0}}, "bound"),
        ({0: {"lower": None}}, "bounds are not declared"),
        ({0: {"bins": "many"}}, "bins"),
        ({0: {"kind": "categorical"}}, "no categories"),
        ({1: {"outside": "clip"}}, "nowhere to go"),
        ({row: {"use": "ignore"} for row in range(3)}, "no columns"),
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
    assert press(at, "data.next").title[0].value == "Naive Bayes"
    assert [widget(at, f"{PAGE}.{name}").value for name in ("target", "rows")] == ["town", 500]
    edit(opened(at, "data"), {1: {"use": "ignore"}})
    assert list(widget(at, "data.target").options) == ["(none)", "age", "ill"]
    schema = saved(at)
    assert (schema.names, schema.target) == (("age", "ill"), None)


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

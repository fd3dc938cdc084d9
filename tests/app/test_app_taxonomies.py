"""The panel that edits taxonomies: nothing is lost, nothing wrong gets in, and what is applied is what methods see."""

from dataclasses import replace
from typing import Any

import pytest
from driving import TIMEOUT, edit, opened, press, run, started
from screen import charts, dataset, mendable, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import Column, Schema, Taxonomy, datasets
from dpcore.dashboard.sections.schema_editor import dropped, schema_frame, schema_of
from dpcore.dashboard.sections.taxonomy_editor import draft_of, taxonomy_of
from dpcore.datasets.published import adult_schema
from dpcore.domain.taxonomy_tree import Hierarchy, intervals


def page() -> None:
    from dpcore.dashboard import session
    from dpcore.dashboard.sections import taxonomy_editor

    taxonomy_editor.editor("tree", session.dataset())


@pytest.fixture
def at() -> AppTest:
    return run(AppTest.from_function(page, default_timeout=TIMEOUT))


def choose(at: AppTest, column: str) -> AppTest:
    widget(at, "tree.column").set_value(column)
    return run(at)


def table(at: AppTest) -> list[list[Any]]:
    """The rows as they are edited; AppTest's own table stands as it was before."""
    (found,) = at.data_editor
    owner = found.key.removeprefix("tree.table:").rpartition(":")[0]
    return at.session_state["tree.edited"][owner].table.to_numpy().tolist()


def drawn(at: AppTest) -> set[str]:
    """The names of the drawn nodes."""
    (picture,) = charts(at)
    return {name for frame in picture[1] if "name" in frame for name in frame["name"]}


def tree(at: AppTest, column: str) -> Taxonomy | None:
    return dataset(at).schema[column].taxonomy


def load(at: AppTest, content: bytes, name: str = "tree.csv") -> AppTest:
    widget(at, "tree.file").set_value((name, content, "text/csv"))
    return run(at)


def test_an_applied_tree_replaces_the_schema_and_nothing_else(at: AppTest) -> None:
    before = dataset(at)
    assert widget(at, "tree.column").value == "workclass"  # the first with a taxonomy
    assert drawn(at) == {
        *("(any)", "Self-employed", "Government", "No pay"),
        *adult_schema()["workclass"].categories,
    }
    assert "must not be made from these rows" in said(at)
    assert "not in use yet" not in said(at)
    edit(at, {0: {"level 1": "Business"}, 1: {"level 1": "Business"}, 2: {"level 1": "Business"}})
    assert "Business" in drawn(at)  # before it is in use
    assert "Self-employed" not in drawn(at)
    assert "not in use yet" in said(at)
    assert dataset(at) is before
    widget(at, "tree.root").set_value("Any work")
    run(at)
    press(at, "tree.apply")
    assert not mendable(at)
    assert "in use now" in said(at)
    after = dataset(at)
    found = after.schema["workclass"].taxonomy
    assert found.root == "Any work"
    assert found.paths[:3] == tuple((leaf, "Business", "Any work") for leaf in found.leaves[:3])
    assert replace(after.schema, columns=before.schema.columns) == before.schema  # its source and target too
    assert [a == b for a, b in zip(after.schema, before.schema, strict=True)].count(False) == 1
    assert (after.train is before.train, after.token) == (True, before.token)
    assert at.session_state["data.base"] == (after.token, after.schema)  # the page of the schema goes on from here
    assert before.schema["workclass"].taxonomy.root == "(any)"  # what a shown release was made with

    edit(at, {0: {"level 1": "Firm"}})
    assert "not in use yet" in said(at)
    assert "in use now" not in said(at)
    widget(at, "tree.root").set_value("(any)")
    edit(at, {0: {"level 1": ""}, 1: {"level 1": "Self-employed"}, 2: {"level 1": "Self-employed"}})
    press(at, "tree.apply")
    assert dataset(at).schema == before.schema  # as at first, and so is the table
    assert table(at)[:2] == [["Private", ""], ["Self-emp-not-inc", "Self-employed"]]
    assert "not in use yet" not in said(at)


def test_an_error_is_told_and_nothing_is_lost(at: AppTest) -> None:
    before = dataset(at)
    for row, name, cause in ((0, "Federal-gov", "uses 'Federal-gov'"), (3, "(any)", "repeats the node")):
        old = table(at)[row][1]
        edit(at, {row: {"level 1": name}})
        assert "makes no tree yet" in said(at)
        press(at, "tree.apply")
        assert cause in mendable(at)[0]
        assert dataset(at) is before
        assert table(at)[row][1] == name
        assert "makes no tree" not in said(edit(at, {row: {"level 1": old}}))
    widget(at, "tree.root").set_value(" ")
    press(run(at), "tree.apply")
    assert "empty name" in mendable(at)[0]


def test_levels_come_and_go_and_keep_what_was_edited(at: AppTest) -> None:
    edit(at, {0: {"level 1": "Firm"}})
    press(at, "tree.add")
    assert table(at)[0] == ["Private", "Firm", ""]
    edit(at, {row: {"level 1": "Firm", "level 2": "Work"} for row in range(3)})
    press(at, "tree.apply")
    assert not mendable(at)
    assert tree(at, "workclass").paths[0] == ("Private", "Firm", "Work", "(any)")
    for left in (["Private", "Firm"], ["Private"]):
        assert table(press(at, "tree.remove"))[0] == left
    assert at.button("tree.remove").disabled
    press(at, "tree.apply")
    assert tree(at, "workclass") is None  # one level is what a column has without a taxonomy
    assert "in use now" in said(at)


def test_edits_survive_another_column(at: AppTest) -> None:
    edit(at, {0: {"level 1": "Firm"}})
    widget(at, "tree.root").set_value("All")
    run(at)
    choose(at, "occupation")
    edit(at, {0: {"level 1": "Help"}})
    choose(at, "workclass")
    assert table(at)[0] == ["Private", "Firm"]
    assert widget(at, "tree.root").value == "All"
    edit(at, {1: {"level 1": "Firm"}})  # goes on from there
    assert table(at)[:2] == [["Private", "Firm"], ["Self-emp-not-inc", "Firm"]]
    choose(at, "occupation")
    assert table(at)[0][1] == "Help"
    choose(at, "native-country")
    assert len(table(at)) == 41
    assert table(at)[0] == ["United-States", "Northern America", "Americas"]


def test_back_to_one_level_and_intervals_of_a_numeric_column(at: AppTest) -> None:
    press(at, "tree.back")
    assert "not in use yet" in said(at)
    assert tree(at, "workclass") is not None
    assert tree(press(at, "tree.apply"), "workclass") is None
    assert not [button for button in at.button if button.key == "tree.intervals"]
    choose(at, "age")
    age = dataset(at).schema["age"]
    assert drawn(at) == {node.name for node in Hierarchy.of(age).nodes}
    at.slider("tree.fanout").set_value(4)
    press(run(at), "tree.intervals")
    assert tree(at, "age") is None
    assert tree(press(at, "tree.apply"), "age") == intervals(age, 4)
    assert tree(press(press(at, "tree.back"), "tree.apply"), "age") is None


def of_column(categories: tuple[str, ...]) -> AppTest:
    """The panel for a table of one column."""
    at = AppTest.from_function(page, default_timeout=TIMEOUT)
    one = Column(name="code", kind="categorical", categories=categories)
    at.session_state["dpcore.data"] = replace(datasets.load("sample"), schema=Schema(columns=(one,)))
    return run(at)


# Files


def test_a_tree_from_a_file(at: AppTest) -> None:
    rows = adult_schema()["workclass"].taxonomy.paths
    text = "\n".join(f"{leaf} ;Work;All" for leaf, *_ in rows)
    load(at, b"\xef\xbb\xbf" + text.encode())
    assert not mendable(at)
    assert drawn(at) == {"All", "Work", *(leaf for leaf, *_ in rows)}
    edit(at, {0: {"level 1": "Firm"}})  # the file is not read over the edits
    assert "Firm" in drawn(at)
    press(at, "tree.apply")
    assert tree(at, "workclass").paths[:2] == (("Private", "Firm", "All"), ("Self-emp-not-inc", "Work", "All"))


def test_a_wrong_file_changes_nothing(at: AppTest) -> None:
    edit(at, {0: {"level 1": "Firm"}})
    before = dataset(at)
    for content, cause in (
        (b"\x89PNG\r\n\x1a\n\x00", "not UTF-8 text"),
        (b"x" * 2_000_001, "at most 2"),
        (b"Private,(any)\nOslo,(any)\n", "taxonomy row 2 starts with 'Oslo'"),
    ):
        load(at, content)
        assert cause in mendable(at)[0]
        assert table(at)[0] == ["Private", "Firm"]
        assert dataset(at) is before
    press(at, "tree.apply")
    assert tree(at, "workclass").paths[0] == ("Private", "Firm", "(any)")


def test_odd_columns() -> None:
    assert "nothing to group" in said(of_column(("a",)))
    at = load(of_column(("1", "2", " x ")), b"1.0,low,all\n2,high,all\nx,high,all\n")
    assert not mendable(at)
    press(at, "tree.apply")
    assert tree(at, "code").leaves == ("1", "2", " x ")  # as the column spells them


# The page of the schema


def test_the_schema_page_keeps_an_applied_tree() -> None:
    at = started("data")
    data = dataset(at)
    age = replace(data.schema["age"], taxonomy=intervals(data.schema["age"], 4))
    schema = replace(data.schema, columns=tuple(age if c.name == "age" else c for c in data.schema))
    at.session_state["data.base"] = (data.token, schema)  # as the panel leaves it
    at = opened(opened(at, "home"), "data")
    press(at, "data.use")
    assert tree(at, "age") == age.taxonomy
    assert "no longer fit" not in said(at)
    edit(at, {0: {"bins": "8"}})
    assert "no longer fit their values, and would be dropped: age." in said(at)
    press(at, "data.use")
    assert tree(at, "age") is None
    assert tree(at, "workclass") is not None


def test_taxonomies_stay_with_their_values_in_any_order() -> None:
    schema = adult_schema()
    frame = schema_frame(schema, list(schema.names))
    frame.at[3, "categories"] = sorted(frame.at[3, "categories"])
    frame.at[1, "categories"] = [*frame.at[1, "categories"], "Other"]
    found = schema_of(frame, schema, target=None, max_rows=None)
    assert found["education"].taxonomy == schema["education"].taxonomy
    assert found["workclass"].taxonomy is None
    assert dropped(found, schema) == ["workclass"]
    assert dropped(found.select(["age"]), schema) == []


def test_tables_mean_the_schemas_and_trees_they_were_made_of() -> None:
    schema = adult_schema()
    frame = schema_frame(schema, list(schema.names))
    assert schema_of(frame, schema, target=schema.target, max_rows=schema.max_rows) == schema
    for column in schema:
        if column.taxonomy:
            draft = draft_of(column.taxonomy)
            assert taxonomy_of(draft.table, draft.root) == column.taxonomy, column.name

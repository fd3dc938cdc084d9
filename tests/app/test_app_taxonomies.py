"""The panel that edits taxonomies: nothing is lost, nothing wrong gets in, and what is applied is what methods see."""

from dataclasses import replace
from typing import Any

import pytest
from driving import TIMEOUT, edit, opened, press, run, started
from screen import charts, dataset, mendable, widget
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


def of_column(categories: tuple[str, ...]) -> AppTest:
    """The panel for a table of one column."""
    at = AppTest.from_function(page, default_timeout=TIMEOUT)
    one = Column(name="code", kind="categorical", categories=categories)
    at.session_state["dpcore.data"] = replace(datasets.load("sample"), schema=Schema(columns=(one,)))
    return run(at)


def choose(at: AppTest, what: str, value: str) -> AppTest:
    widget(at, f"tree.{what}").set_value(value)
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


def tree(at: AppTest, column: str = "workclass") -> Taxonomy | None:
    return dataset(at).schema[column].taxonomy


def load(at: AppTest, content: bytes) -> AppTest:
    widget(at, "tree.file").set_value(("tree.csv", content, "text/csv"))
    return run(at)


def test_an_applied_tree_replaces_the_schema_and_nothing_else(at: AppTest) -> None:
    before, categories = dataset(at), adult_schema()["workclass"].categories
    assert widget(at, "tree.column").value == "workclass"  # the first with a taxonomy
    assert drawn(at) == {"(any)", "Self-employed", "Government", "No pay", *categories}
    edit(at, {row: {"level 1": "Business"} for row in range(3)})
    assert "Business" in drawn(at)  # before it is in use
    assert "Self-employed" not in drawn(at)
    assert dataset(at) is before
    press(choose(at, "root", "Any work"), "tree.apply")
    assert not mendable(at)
    after = dataset(at)
    found = after.schema["workclass"].taxonomy
    assert found.paths[:3] == tuple((leaf, "Business", "Any work") for leaf in found.leaves[:3])
    assert replace(after.schema, columns=before.schema.columns) == before.schema  # its source and target too
    assert [a == b for a, b in zip(after.schema, before.schema, strict=True)].count(False) == 1
    assert (after.train is before.train, after.token) == (True, before.token)
    assert at.session_state["data.base"] == (after.token, after.schema)  # the page of the schema goes on from here


def test_nothing_that_is_edited_is_lost_by_an_error_another_column_or_another_level(at: AppTest) -> None:
    before = dataset(at)
    for row, name in ((0, "Federal-gov"), (3, "(any)")):
        old = table(at)[row][1]
        press(edit(at, {row: {"level 1": name}}), "tree.apply")
        assert f"'{name}'" in mendable(at)[0]
        assert dataset(at) is before
        assert table(at)[row][1] == name
        edit(at, {row: {"level 1": old}})
    edit(at, {0: {"level 1": "Firm"}})
    choose(choose(at, "root", "All"), "column", "occupation")
    edit(at, {0: {"level 1": "Help"}})
    choose(at, "column", "workclass")
    assert (table(at)[0], widget(at, "tree.root").value) == (["Private", "Firm"], "All")
    edit(at, {1: {"level 1": "Firm"}})  # goes on from there
    assert table(press(at, "tree.add"))[:2] == [["Private", "Firm", ""], ["Self-emp-not-inc", "Firm", ""]]
    for left in (["Private", "Firm"], ["Private"]):
        assert table(press(at, "tree.remove"))[0] == left
    assert at.button("tree.remove").disabled
    assert tree(press(at, "tree.apply")).paths[0] == ("Private", "All")
    assert table(choose(at, "column", "occupation"))[0][1] == "Help"


def test_back_to_one_level_and_intervals_of_a_numeric_column(at: AppTest) -> None:
    assert tree(press(at, "tree.back")) is not None
    assert tree(press(at, "tree.apply")) is None
    choose(at, "column", "age")
    age = dataset(at).schema["age"]
    assert drawn(at) == {node.name for node in Hierarchy.of(age).nodes}
    at.slider("tree.fanout").set_value(4)
    press(run(at), "tree.intervals")
    assert tree(at, "age") is None
    assert tree(press(at, "tree.apply"), "age") == intervals(age, 4)


# Files


def test_a_tree_from_a_file_and_a_wrong_one_that_changes_nothing(at: AppTest) -> None:
    rows, before = adult_schema()["workclass"].taxonomy.paths, dataset(at)
    load(at, b"\xef\xbb\xbf" + "\n".join(f"{leaf} ;Work;All" for leaf, *_ in rows).encode())
    assert drawn(at) == {"All", "Work", *(leaf for leaf, *_ in rows)}
    edit(at, {0: {"level 1": "Firm"}})  # the file is not read over the edits
    assert "Firm" in drawn(at)
    for content in (b"\x89PNG\r\n\x1a\n\x00", b"x" * 2_000_001, b"Private,(any)\nOslo,(any)\n"):
        assert len(mendable(load(at, content))) == 1
        assert table(at)[0] == ["Private", "Firm"]
        assert dataset(at) is before
    press(at, "tree.apply")
    assert tree(at).paths[:2] == (("Private", "Firm", "All"), ("Self-emp-not-inc", "Work", "All"))


def test_odd_columns() -> None:
    assert not of_column(("a",)).data_editor  # there is nothing to group
    at = load(of_column(("1", "2", " x ")), b"1.0,low,all\n2,high,all\nx,high,all\n")
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
    edit(at, {0: {"bins": "8"}})
    assert ":material/account_tree:" in [found.icon for found in at.warning]  # it would go
    press(at, "data.use")
    assert tree(at, "age") is None
    assert tree(at) is not None


def test_taxonomies_stay_with_their_values_in_any_order() -> None:
    schema = adult_schema()
    frame = schema_frame(schema, list(schema.names))
    assert schema_of(frame, schema, target=schema.target, max_rows=schema.max_rows) == schema
    frame.at[3, "categories"] = sorted(frame.at[3, "categories"])
    frame.at[1, "categories"] = [*frame.at[1, "categories"], "Other"]
    found = schema_of(frame, schema, target=None, max_rows=None)
    assert found["education"].taxonomy == schema["education"].taxonomy
    assert found["workclass"].taxonomy is None
    assert dropped(found, schema) == ["workclass"]
    assert dropped(found.select(["age"]), schema) == []
    for column in (column for column in schema if column.taxonomy):
        draft = draft_of(column.taxonomy)
        assert taxonomy_of(draft.table, draft.root) == column.taxonomy, column.name

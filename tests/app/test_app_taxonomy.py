"""The page of taxonomy trees: what it asks for, its own tabs, and taxonomies that are changed."""

import json
import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from driving import TIMEOUT, change, edit, press, released, run, shown, tab
from prepared import PEOPLE, Journey, at_once, files, follow, nothing_new, page, with_release
from screen import books, charts, dataset, marked, mendable, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import Taxonomy, TaxonomyRelease
from dpcore.dashboard import controls
from dpcore.dashboard.sections.schema_editor import dropped, schema_frame, schema_of
from dpcore.dashboard.session import Shown
from dpcore.dashboard.tabs import count_tree
from dpcore.datasets.published import adult_schema
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.unit import Unit
from dpcore.export import release_of
from dpcore.postprocess.count_tree import SURE, ReleasedTree

PAGE = "taxonomy"
ALL = next(iter(controls.offered(PAGE, "corrected")))
EQUAL, OWN = (1.0, 1.0, 1.0, 1.0), (0.0, 2.0, 1.0, 3.0)
WEIGHTS = "own_shares.4"
JOURNEYS: list[Journey] = [
    ("corrected", ALL, {"iterations": 2, "shares": "own"}, {"level_shares": EQUAL}),
    ("corrected", ALL, {WEIGHTS: "0; 2 ,1,3"}, {"level_shares": OWN}),
    ("corrected", ALL, {"with_class": False}, {"level_shares": (1.0, 1.0, 1.0)}),  # a level less: other weights
    ("corrected", ALL, {"with_class": True}, {"level_shares": OWN}),
    ("paper", "DiffGen", {}, {"level_shares": None}),
    ("corrected", ALL, {}, {"level_shares": OWN}),
]


@pytest.fixture(autouse=True)
def few_queries(monkeypatch) -> None:
    monkeypatch.setattr(count_tree, "QUERIES", 40)


def tree_of(at: AppTest) -> ReleasedTree:
    release = shown(at).release
    return ReleasedTree.from_dict(release.schema, release.structure["tree"])


def test_own_shares_are_used_and_wrong_ones_are_told_and_never_run(downloads) -> None:
    at = released(follow(page(), JOURNEYS))
    first, spent = shown(at), books(at)
    assert first.release.parameters["level_shares"] == OWN
    assert tree_of(at).measured == [False, True, True, True]
    tab(at, "home")
    assert b"level_shares=(0.0, 2.0, 1.0, 3.0)" in files(downloads[-1]())["replay.py"]
    tab(at, "redraws")
    for text in ("1, many, 1, 1", "1, 1, 1", "1, -1, 1, 1", "1, nan, 1, 1", ""):
        at_once(at, **{WEIGHTS: text})
        (error,) = mendable(at)
        assert "level_shares" in error
        assert widget(at, "taxonomy.run").disabled, text
        assert nothing_new(at, first, spent)


def test_the_tree_from_any_node_down_and_its_two_colors() -> None:
    at = with_release("tree")
    first, whole = shown(at), len(charts(at)[-1][1][0])
    assert marked(at)[-1]
    picker = widget(at, "taxonomy.tree_at")
    chosen = picker.select_index(5).options[5]
    run(at)
    _, (nodes, *_) = charts(at)[-1]
    assert len(nodes) < whole
    table = at.dataframe[-1].value
    assert (table["name"].iloc[0], table["level"].min()) == (chosen, table["level"].iloc[0])
    assert {"true", "noise"} <= set(table)
    _, tables = charts(change(at, tree_errors=False))[-1]
    assert not marked(at)[-1]
    assert all(table[column].isna().all() for table in tables for column in {"true", "noise"} & set(table))
    assert not {"true", "noise"} & set(at.dataframe[-1].value)
    assert nothing_new(at, first, {})


def query(at: AppTest, names: list[str]) -> AppTest:
    """Ask for some columns; for an age of 14 or more, and for the ill."""
    next(w for w in at.multiselect if w.key.startswith("taxonomy.ask:")).set_value(names)
    run(at)
    if "age" in names:
        ages = next(w for w in at.select_slider if w.key.endswith(".age"))
        assert ages.options[2] == "14–19"
        ages.set_value((ages.options[2], ages.options[-1]))
    if "ill" in names:
        next(w for w in at.selectbox if w.key.endswith(".ill")).select_index(2)
    return run(at)


def answered(at: AppTest) -> pd.DataFrame:
    """The table behind the answers to one query, by the way of answering."""
    (found,) = [table.value for table in at.dataframe if "estimate" in table.value]
    return found.set_index("release")


def test_a_query_is_answered_in_every_way(monkeypatch) -> None:
    at = with_release("ask", "corrected", "DiffGen")
    first = shown(at)
    found = answered(query(at, ["age", "ill"]))
    *private, flat, groups = found.index
    real = dataset(at).train
    assert set(found["true"]) == {int(((real["age"] >= 14) & (real["ill"] == "yes")).sum())}
    assert marked(at)[-2:] == [True, False]  # the two settings are no data
    within = found.loc[[*private, flat]]
    assert ((within["low"] < within["estimate"]) & (within["estimate"] < within["high"])).all()
    assert found.loc[groups, ["low", "high"]].isna().all()
    assert not [table for table in query(at, []).dataframe if "estimate" in table.value]
    shown(at).memory.clear()  # not even then
    pd.testing.assert_frame_equal(answered(query(at, ["age", "ill"])), found)
    assert nothing_new(at, first, {})
    monkeypatch.setattr(count_tree, "WIDEST", 0.01)  # an answer that would squeeze the others is told in a sentence
    assert f"**{answered(run(at)).loc[flat, 'estimate']:,.0f}**" in said(at)
    assert flat not in set(pd.concat(charts(at)[-2][1])["release"])


def test_counts_of_persons_are_compared_with_rows_that_are_cut_likewise() -> None:
    """Persons with 1 to 5 rows, 2 of which count: truth is near what was released, at a large epsilon."""
    frame = PEOPLE.train.assign(who=[f"p{round(4 * i**0.5)}" for i in range(len(PEOPLE.train))])
    kept = int(frame["who"].value_counts().clip(upper=2).sum())
    assert kept < len(frame)
    schema = replace(PEOPLE.schema, unit=Unit(rows=2, column="who"))
    method = TaxonomyRelease(epsilon=400.0, relation="add_remove", noise="laplace").fit(frame, schema=schema)
    release = release_of(method, "TaxonomyRelease", method.sample(50), data_name="people")
    made = Shown(release, replace(PEOPLE, train=frame, schema=schema))
    assert count_tree.true_counts(made)[0].tolist() == [kept]
    found = count_tree.answers(made, RangeQuery.of({"ill": (0, 1)})).set_index("release")
    assert set(found["true"]) == {kept}
    assert (found["estimate"] - kept).abs().max() < 5
    flat = found.loc["flat"]  # at half of epsilon for one row, and as much noise as that
    columns = [name for name in schema.names if name in {*method.tree_.leaves.family, "ill"}]
    spread = SURE * math.sqrt(2 * math.prod(schema.select(columns).sizes)) / 200.0
    assert flat["high"] - flat["estimate"] == pytest.approx(spread)


def test_a_changed_taxonomy_survives_a_shut_drawer_and_is_for_the_next_release() -> None:
    at = released(page(**{"taxonomy.taxonomies": True}), fanout=3)
    first, spent = shown(at), books(at)
    assert widget(at, "taxonomy.editor.fanout").value == 2  # which is the editor's own
    widget(at, "taxonomy.editor.column").set_value("town")
    press(run(at), "taxonomy.editor.add")
    edit(at, {0: {"level 1": "Both"}, 1: {"level 1": "Both"}})  # two of the three towns under one name
    for there in (False, True):
        at.session_state["taxonomy.taxonomies"] = there
        assert bool(run(at).data_editor) == there
    press(at, "taxonomy.editor.apply")
    assert not mendable(at)
    assert dataset(at).schema["town"].taxonomy.paths[0] == ("Zqa", "Both", "(any)")
    assert nothing_new(at, first, spent)
    assert "Both" not in json.dumps(first.release.structure["tree"])
    at.session_state["taxonomy.taxonomies"] = False
    released(run(at))
    assert "Both" in json.dumps(shown(at).release.structure["tree"])
    assert list(books(at)) == list(spent)  # the same rows: the same account
    next(w for w in tab(at, "ask").multiselect if w.key.startswith("taxonomy.ask:")).set_value(["town"])
    assert next(w for w in run(at).selectbox if w.key.endswith(".town")).options[1] == "· Both"


# The panel that edits taxonomies: nothing is lost, nothing wrong gets in


def panel() -> None:
    from dpcore.dashboard import session
    from dpcore.dashboard.sections import taxonomy_editor

    taxonomy_editor.editor("tree", session.dataset())


@pytest.fixture
def at() -> AppTest:
    return run(AppTest.from_function(panel, default_timeout=TIMEOUT))


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


def test_an_applied_tree_replaces_the_schema_and_nothing_else(at: AppTest) -> None:
    before, categories = dataset(at), adult_schema()["workclass"].categories
    assert widget(at, "tree.column").value == "workclass"  # the first with a taxonomy
    assert drawn(at) == {"(any)", "Self-employed", "Government", "No pay", *categories}
    edit(at, {row: {"level 1": "Business"} for row in range(3)})
    assert "Business" in drawn(at)  # before it is in use
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
    before, old = dataset(at), table(at)[0][1]
    press(edit(at, {0: {"level 1": "Federal-gov"}}), "tree.apply")
    assert "'Federal-gov'" in mendable(at)[0]
    assert dataset(at) is before
    assert table(at)[0][1] == "Federal-gov"
    edit(at, {0: {"level 1": old}})
    edit(at, {0: {"level 1": "Firm"}})
    choose(choose(at, "root", "All"), "column", "occupation")
    choose(at, "column", "workclass")
    assert (table(at)[0], widget(at, "tree.root").value) == (["Private", "Firm"], "All")
    edit(at, {1: {"level 1": "Firm"}})  # goes on from there
    assert table(press(at, "tree.add"))[:2] == [["Private", "Firm", ""], ["Self-emp-not-inc", "Firm", ""]]
    for left in (["Private", "Firm"], ["Private"]):
        assert table(press(at, "tree.remove"))[0] == left
    assert at.button("tree.remove").disabled
    assert tree(press(at, "tree.apply")).paths[0] == ("Private", "All")


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

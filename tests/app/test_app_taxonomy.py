"""The page of taxonomy trees: what it asks for, its own tabs, and taxonomies that are changed beside a release."""

import json
import math
from dataclasses import replace

import pandas as pd
import pytest
from driving import change, edit, press, released, run, shown, tab
from prepared import PEOPLE, Journey, at_once, files, follow, nothing_new, page, with_release
from screen import books, charts, dataset, errors, marked, mendable, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import TaxonomyRelease
from dpcore.dashboard import controls
from dpcore.dashboard.session import Shown
from dpcore.dashboard.tabs import count_tree
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.unit import Unit
from dpcore.export import release_of
from dpcore.postprocess.count_tree import SURE, ReleasedTree

PAGE = "taxonomy"
ALL = next(iter(controls.offered(PAGE, "corrected")))
OWN_TABS = ["tree", "ask", "errors", "home"]
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


# Settings


def test_own_shares_are_used_and_wrong_ones_are_told_and_never_run(downloads) -> None:
    at = released(follow(page(), JOURNEYS))
    first, spent = shown(at), books(at)
    assert first.release.parameters["level_shares"] == OWN
    assert tree_of(at).measured == [False, True, True, True]
    tab(at, "home")
    assert b"level_shares=(0.0, 2.0, 1.0, 3.0)" in files(downloads[-1]())["replay.py"]
    tab(at, "redraws")
    for text in ("1, many, 1, 1", "1, 1, 1", "1, 1, 1, 1, 1", "1, -1, 1, 1", "1, 1, 1, 0", "1, nan, 1, 1", ""):
        at_once(at, **{WEIGHTS: text})
        (error,) = mendable(at)
        assert "level_shares" in error
        assert widget(at, "taxonomy.run").disabled, text
        assert nothing_new(at, first, spent)
    assert not errors(released(at_once(at, **{WEIGHTS: "1, 1, 1, 1"})))


# What is shown


def test_the_tree_from_any_node_down_and_its_two_colors() -> None:
    at = with_release("tree")
    first, whole = shown(at), len(charts(at)[-1][1][0])
    assert marked(at)[-1]
    picker = widget(at, "taxonomy.tree_at")
    chosen = picker.select_index(5).options[5]
    assert widget(run(at), "taxonomy.tree_at").options[1] == chosen
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


@pytest.mark.parametrize(("mode", "name"), [("corrected", "DiffGen"), ("paper", "TaxonomyRelease")])
def test_a_query_is_answered_in_every_way(mode: str, name: str, monkeypatch) -> None:
    at = with_release("ask", mode, name)
    first = shown(at)
    found = answered(query(at, ["age", "ill"]))
    *private, flat, groups = found.index
    real = dataset(at).train
    assert set(found["true"]) == {int(((real["age"] >= 14) & (real["ill"] == "yes")).sum())}
    assert marked(at)[-2:] == [True, False]  # the two settings are no data
    within = found.loc[[*private, flat]]
    assert ((within["low"] < within["estimate"]) & (within["estimate"] < within["high"])).all()
    assert found.loc[groups, ["low", "high"]].isna().all()
    assert not answered(query(at, ["age"]))["estimate"].equals(found["estimate"])
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
    many = frame["who"].value_counts()
    schema = replace(PEOPLE.schema, unit=Unit(rows=2, column="who"))
    given = replace(PEOPLE, train=frame, schema=schema)
    for relation, places in (("replace", 2 * len(many)), ("add_remove", int(many.clip(upper=2).sum()))):
        method = TaxonomyRelease(epsilon=400.0, relation=relation, noise="laplace").fit(frame, schema=schema)
        made = Shown(release_of(method, "TaxonomyRelease", method.sample(50), data_name="people"), given)
        assert count_tree.true_counts(made)[0].tolist() == [places]
        assert places < len(frame) or relation == "replace"
        found = count_tree.answers(made, RangeQuery.of({"ill": (0, 1)})).set_index("release")
        assert set(found["true"]) == {places}
        assert (found["estimate"] - places).abs().max() < 5
        flat = found.loc["flat"]  # at half of epsilon for one row, and as much noise as that
        columns = [name for name in schema.names if name in {*method.tree_.leaves.family, "ill"}]
        spread = SURE * math.sqrt(2 * math.prod(schema.select(columns).sizes)) * (1 + (relation == "replace")) / 200.0
        assert flat["high"] - flat["estimate"] == pytest.approx(spread)


def test_every_workload_and_no_noise_as_a_reference() -> None:
    at = with_release("errors", iterations=1)
    first, seen = shown(at), []
    for workload in (count_tree.GROUPS, count_tree.DIVIDED, count_tree.EVERY, count_tree.GROUPS):
        change(at, workload=workload)
        (table,) = [t.value for t in at.dataframe if "absolute" in t.value]
        assert table["release"].nunique() == 4 + (workload != count_tree.GROUPS)
        assert marked(at)[-1]
        seen.append(table)
    pd.testing.assert_frame_equal(seen[0], seen[-1])
    assert not seen[1].equals(seen[2])
    assert nothing_new(at, first, {})


# Taxonomies


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
    at.session_state["taxonomy.taxonomies"] = False
    for name in OWN_TABS:
        assert not mendable(tab(at, name)), name
    assert nothing_new(at, first, spent)
    assert "Both" not in json.dumps(first.release.structure["tree"])
    released(at)
    assert "Both" in json.dumps(shown(at).release.structure["tree"])
    assert list(books(at)) == list(spent)  # the same rows: the same account
    next(w for w in tab(at, "ask").multiselect if w.key.startswith("taxonomy.ask:")).set_value(["town"])
    assert next(w for w in run(at).selectbox if w.key.endswith(".town")).options[1] == "· Both"

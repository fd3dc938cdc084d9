"""The page of taxonomy trees: what it asks, its own tabs, and taxonomies that are changed beside a release."""

import json
import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from driving import change, edit, people, press, released, run, shown, tab
from prepared import MARK, PEOPLE, asked, at_once, choose, data, files, marked, nothing_new, page, with_release
from screen import books, charts, dataset, errors, mendable, metrics, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import Taxonomy, TaxonomyRelease
from dpcore.dashboard import controls
from dpcore.dashboard.session import Shown
from dpcore.dashboard.tabs import count_tree
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.unit import Unit
from dpcore.export import release_of
from dpcore.postprocess import count_tree_frames
from dpcore.postprocess.count_tree import SURE, ReleasedTree

PAGE = "taxonomy"
ALL, LEAVES, APART, DIFFGEN = controls.offered("taxonomy", "corrected")
PAPER = list(controls.offered("taxonomy", "paper"))
OWN_TABS = ["Tree", "Ask a range", "Error by range", "Take home"]


@pytest.fixture(autouse=True)
def few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_tree, "QUERIES", 40)


def visit(at: AppTest) -> None:
    """All that the page has of its own, and what is taken home."""
    for name in OWN_TABS:
        assert not mendable(tab(at, name)), name


def tree_of(at: AppTest) -> ReleasedTree:
    release = shown(at).release
    return ReleasedTree.from_dict(release.schema, release.structure["tree"])


# Settings


def test_remarks_tell_apart_what_is_wrong_as_printed() -> None:
    texts = ("nothing that consistency can gain", "every level gets the whole share", "has no epsilon at all")
    at = page()
    for variant, remark in zip(PAPER, texts, strict=True):
        text = said(choose(at, "paper", variant))
        assert {told for told in texts if told in text} == {remark}
        assert "The paper's proof is wrong" not in text
    for variant in PAPER[1:]:  # paid once, and as coded
        released(choose(at, "paper", variant))
        assert (metrics(at)[1][1] == "no limit") == (variant == PAPER[2])
        assert errors(at) == [shown(at).release.guarantee_void]
        assert shown(at).release.ledger.epsilon_bound > 1


def own(at: AppTest, text: str) -> AppTest:
    """Type weights of one's own."""
    next(w for w in at.text_input if w.key.startswith("taxonomy.own_shares")).set_value(text)
    return run(at)


def test_own_shares_are_used(downloads: list[Any]) -> None:
    at = at_once(page(), iterations=2, shares="own")
    assert asked(at)["level_shares"] == (1.0, 1.0, 1.0, 1.0)
    released(own(at, "0; 2 ,1,3"))
    assert shown(at).release.parameters["level_shares"] == (0.0, 2.0, 1.0, 3.0)
    assert tree_of(at).measured == [False, True, True, True]
    tab(at, "Take home")
    assert b"level_shares=(0.0, 2.0, 1.0, 3.0)" in files(downloads[-1]())["replay.py"]
    assert asked(change(at, with_class=False))["level_shares"] == (1.0, 1.0, 1.0)  # a level less: other weights
    assert asked(change(at, with_class=True))["level_shares"] == (0.0, 2.0, 1.0, 3.0)
    change(choose(at, "paper", PAPER[0]), mode="corrected")
    assert asked(at)["level_shares"] == (0.0, 2.0, 1.0, 3.0)


def test_wrong_shares_are_told_and_never_run() -> None:
    at = at_once(with_release("Draw again"), iterations=2, shares="own")
    first = shown(at)
    for text in ("1, many, 1, 1", "1, 1, 1", "1, 1, 1, 1, 1", "1, -1, 1, 1", "1, 1, 1, 0", "1, nan, 1, 1", ""):
        own(at, text)
        assert "These do not fit. Write 4 numbers of 0 or more" in said(at), text
        (error,) = mendable(at)
        assert "The 'level_shares' do not fit the levels" in error
        assert "Give 4 numbers" in error
        assert widget(at, "taxonomy.run").disabled, text
        assert shown(at) is first
    assert not errors(released(own(at, "1, 1, 1, 1")))


# What is shown


def test_the_tree_from_any_node_down_and_its_two_colors() -> None:
    at = with_release("Tree")
    first, whole = shown(at), len(charts(at)[-1][1][0])
    assert marked(at)[-1]
    assert MARK in at.expander[-1].label
    picker = widget(at, "taxonomy.tree_at")
    assert picker.options[:1] == ["all rows"]
    chosen = picker.select_index(5).options[5]
    assert widget(run(at), "taxonomy.tree_at").options[:2] == ["all rows", chosen]
    _, (nodes, *_) = charts(at)[-1]
    assert len(nodes) < whole
    table = at.dataframe[-1].value
    assert (table["name"].iloc[0], table["level"].min()) == (chosen, table["level"].iloc[0])
    assert {"true", "noise"} <= set(table)
    _, tables = charts(change(at, tree_errors=False))[-1]
    assert not marked(at)[-1]
    assert MARK not in at.expander[-1].label
    assert all(table[column].isna().all() for table in tables for column in {"true", "noise"} & set(table))
    assert not {"true", "noise"} & set(at.dataframe[-1].value)
    assert nothing_new(at, first, {})


def test_groups_that_a_level_leaves_whole_stand_once_in_the_list() -> None:
    found = data(people()[["age", "town"]], target=None)
    towns = Taxonomy((("Zqa", "(any)"), ("Zqb", "Both", "(any)"), ("Zqc", "Both", "(any)")))
    columns = (found.schema["age"], replace(found.schema["town"], taxonomy=towns))
    at = change(page(replace(found, schema=replace(found.schema, columns=columns))), with_class=False)
    tab(released(at), "Tree")
    assert count_tree_frames.nodes(tree_of(at))["name"].duplicated().any()
    options = widget(at, "taxonomy.tree_at").options
    assert len(set(options)) == len(options) > 5


@pytest.mark.parametrize("variant", [DIFFGEN, ALL])
def test_a_level_that_is_too_wide_to_draw(monkeypatch: pytest.MonkeyPatch, variant: str) -> None:
    monkeypatch.setattr(count_tree, "MOST_NODES", 5)
    given = data(people().rename(columns={"town": "(rows)"}))  # a column may be called so
    at = tab(released(choose(page(given), "corrected", variant)), "Tree")
    assert not mendable(at)
    assert ("too many to draw" in said(at)) == (variant == DIFFGEN)
    assert ("choose a group further down" in said(at)) == (variant == ALL)
    if variant == DIFFGEN:
        largest, groups = at.dataframe[-1].value, shown(at).release.artifact.generalized
        assert list(largest) == [*groups.columns[-1:], *groups.columns[:-1]]
        assert largest.iloc[:, 0].tolist() == groups.iloc[:, -1].nlargest(20).tolist()


def query(at: AppTest, names: list[str]) -> AppTest:
    """Ask for some columns; for an age of 14 or more, and for the ill."""
    next(w for w in at.multiselect if w.key.startswith("taxonomy.ask:")).set_value(names)
    run(at)
    if "age" in names:
        ages = next(w for w in at.select_slider if w.key.endswith(".age"))
        assert ages.options[2] == "14–19"
        ages.set_value((ages.options[2], ages.options[-1]))
    if "ill" in names:
        group = next(w for w in at.selectbox if w.key.endswith(".ill"))
        assert group.options == ["(any)", "· no", "· yes"]
        group.select_index(2)
    return run(at)


def answered(at: AppTest) -> pd.DataFrame:
    """The table behind the answers to one query, by the way of answering."""
    (found,) = [table.value for table in at.dataframe if "estimate" in table.value]
    return found.set_index("release")


@pytest.mark.parametrize(("mode", "variant"), [("corrected", DIFFGEN), ("paper", PAPER[0])])
def test_a_query_is_answered_in_every_way(mode: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at = with_release("Ask a range", mode, variant)
    first = shown(at)
    found = answered(query(at, ["age", "ill"]))
    assert list(found.index) == ["noisy: as few groups as will do", "consistent", "flat", "published groups"]
    real = dataset(at).train
    truth = int(((real["age"] >= 14) & (real["ill"] == "yes")).sum())
    assert set(found["true"]) == {truth}
    assert f"**{truth}** real people fall into it" in said(at)
    assert marked(at)[-2:] == [True, False]  # the two settings are no data
    private = found.drop("published groups")
    assert ((private["low"] < private["estimate"]) & (private["estimate"] < private["high"])).all()
    assert found.loc["published groups", ["low", "high"]].isna().all()
    assert not answered(query(at, ["age"]))["estimate"].equals(found["estimate"])
    assert "Choose a column." in said(query(at, []))
    shown(at).memory.clear()  # not even then
    pd.testing.assert_frame_equal(answered(query(at, ["age", "ill"])), found)
    assert nothing_new(at, first, {})
    monkeypatch.setattr(count_tree, "WIDEST", 0.01)  # an answer that would squeeze the others is told
    row = answered(run(at)).loc["flat"]
    assert f"Off the chart: **flat** would have answered **{row['estimate']:,.0f}**" in said(at)
    assert "flat" not in set(pd.concat(charts(at)[-2][1])["release"])


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
        cells = math.prod(schema.select(flat_columns(method)).sizes)
        spread = SURE * math.sqrt(2 * cells) * (2 if relation == "replace" else 1) / 200.0
        assert flat["high"] - flat["estimate"] == pytest.approx(spread)


def flat_columns(method: TaxonomyRelease) -> list[str]:
    """The columns of the histogram that a query of the class alone is compared with."""
    return [name for name in method.schema_.names if name in {*method.tree_.leaves.family, "ill"}]


def test_every_workload_and_no_noise_as_a_reference() -> None:
    at = with_release("Error by range", iterations=1)
    first, seen = shown(at), []
    methods = {"consistent", "noisy: as few groups as will do", "published groups", "flat"}
    for workload in (count_tree.GROUPS, count_tree.DIVIDED, count_tree.EVERY, count_tree.GROUPS):
        change(at, workload=workload)
        (table,) = [t.value for t in at.dataframe if "absolute" in t.value]
        reference = set() if workload == count_tree.GROUPS else {"no noise, same groups"}
        assert set(table["release"]) == methods | reference
        assert marked(at)[-1]
        seen.append(table)
    pd.testing.assert_frame_equal(seen[0], seen[-1])
    assert not seen[1].equals(seen[2])
    assert nothing_new(at, first, {})


def test_redraws_show_the_levels_and_charts_stay_small() -> None:
    at = tab(released(page(), epsilon=0.5, rows=100), "Draw again")
    press(at, "taxonomy.redraws.go")
    assert marked(at)[-2:] == [True, True]
    assert set(shown(at).looks["run"]) == set(range(1, 21))
    assert set(shown(at).looks["which"]) == {"noisy", "consistent"}
    for name in OWN_TABS[:3]:
        tables = [table for _, tables in charts(tab(at, name)) for table in tables]
        assert all(len(table) <= 2 * count_tree.MOST_NODES for table in tables)


# Taxonomies, and other data than those of the release


def editor(at: AppTest, *, shut: bool = False) -> AppTest:
    """Open the drawer with the taxonomies, or shut it."""
    at.session_state["taxonomy.taxonomies"] = not shut
    return run(at)


def test_a_numeric_column_in_the_editor_leaves_the_settings_alone() -> None:
    at = editor(page())
    for column in ("town", "age"):
        widget(at, "taxonomy.editor.column").set_value(column)
        run(at)
    released(at, fanout=3)
    assert shown(at).release.parameters["fanout"] == 3
    assert widget(at, "taxonomy.editor.fanout").value == 2


def test_a_changed_taxonomy_survives_a_shut_drawer_and_is_for_the_next_release() -> None:
    at = released(page())
    first, spent = shown(at), books(at)
    widget(editor(at), "taxonomy.editor.column").set_value("town")
    press(run(at), "taxonomy.editor.add")
    edit(at, {0: {"level 1": "Both"}, 1: {"level 1": "Both"}})  # two of the three towns under one name
    assert not editor(at, shut=True).data_editor
    assert "not in use yet" in said(editor(at))
    press(at, "taxonomy.editor.apply")
    assert not mendable(at)
    assert dataset(at).schema["town"].taxonomy.paths[0] == ("Zqa", "Both", "(any)")
    editor(at, shut=True)
    assert nothing_new(at, first, spent)
    assert first.release.schema["town"].taxonomy is None
    visit(at)
    assert nothing_new(at, first, spent)
    assert "Both" not in json.dumps(first.release.structure["tree"])
    released(at)
    assert "Both" in json.dumps(shown(at).release.structure["tree"])
    assert list(books(at)) == list(spent)  # the same rows: the same account
    visit(at)
    next(w for w in tab(at, "Ask a range").multiselect if w.key.startswith("taxonomy.ask:")).set_value(["town"])
    assert next(w for w in run(at).selectbox if w.key.endswith(".town")).options[:2] == ["(any)", "· Both"]


def test_numbers_only_take_turns_without_a_class() -> None:
    at = page(data(people()[["age"]].assign(pay=range(80)), target="age"))
    assert "needs a column with categories as class" not in said(at)
    assert asked(at)["with_class"] is False
    assert widget(at, "taxonomy.with_class").disabled
    at_once(at, shares="own", iterations=3)
    assert asked(at)["level_shares"] == (1.0,) * 4  # no level of a class
    released(at)
    choose(at, "corrected", DIFFGEN)
    assert "class" in mendable(at)[0] or "numeric" in mendable(at)[0]
    assert widget(at, "taxonomy.run").disabled

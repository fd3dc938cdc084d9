"""The page of taxonomy trees: every variant of both modes, what is asked and charged, its tabs, and its figures."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import driving
import numpy as np
import pandas as pd
import pytest
from driving import (
    ROOT,
    TIMEOUT,
    books,
    change,
    charts,
    dataset,
    edit,
    elements,
    errors,
    key_of,
    mendable,
    metrics,
    people,
    press,
    released,
    run,
    said,
    shown,
    sums,
    tab,
    tabs,
    widget,
)
from prepared import MARK, another, asked, at_once, choose, data, files, keys, marked, nothing_new, page, with_release
from streamlit.testing.v1 import AppTest
from test_app_repeats import by_a_widget, by_the_menu, cancel, nothing_runs

from dpcore import Schema, Taxonomy
from dpcore.dashboard import controls
from dpcore.dashboard.tabs import count_tree, paper_figures, redraw
from dpcore.errors import DataError
from dpcore.experiment import engine
from dpcore.experiment.figures import groups as figures_002
from dpcore.methods import METHODS
from dpcore.postprocess import count_tree_frames
from dpcore.postprocess.count_tree import ReleasedTree

CORRECTED, PAPER = (
    {label: offer.given for label, (_, offer) in controls.offered("taxonomy", mode).items()}
    for mode in ("corrected", "paper")
)
VARIANTS = [("corrected", name) for name in CORRECTED] + [("paper", name) for name in PAPER]
ALL, LEAVES, APART, DIFFGEN = CORRECTED
OWN_TABS = ["Tree", "Ask a range", "Error by range", "Draw again", "The patent's claims"]


@pytest.fixture(autouse=True)
def this_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small grids, one process, and no data set but the one in use."""
    monkeypatch.setattr(driving, "PAGE", "taxonomy")
    monkeypatch.setattr(figures_002, "EPSILONS", (0.2, 1.0))
    monkeypatch.setattr(figures_002, "QUERIES", 20)
    monkeypatch.setattr(count_tree, "QUERIES", 40)
    monkeypatch.setattr(engine, "effective_n_jobs", lambda _: 1)
    monkeypatch.setattr(paper_figures, "here", lambda _: False)


def answered(at: AppTest) -> pd.DataFrame:
    """The table behind the answers to one query, by the way of answering."""
    (found,) = [table.value for table in at.dataframe if "estimate" in table.value]
    return found.set_index("release")


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


@pytest.mark.parametrize(("mode", "variant"), VARIANTS)
def test_every_variant_from_run_to_zip(mode: str, variant: str, downloads: list[Any]) -> None:
    name = "DiffGen" if variant.startswith("DiffGen") else "TaxonomyRelease"
    at = at_once(choose(page(), mode, variant), epsilon=0.5, rows=300)
    wanted = asked(at)
    release = shown(released(at)).release
    assert {key: release.parameters[key] for key in wanted} == wanted
    given = (CORRECTED if mode == "corrected" else PAPER)[variant]
    assert (release.method, release.parameters["mode"], len(release.synthetic)) == (name, mode, 300)
    assert {key: release.parameters[key] for key in given} == given
    ledger = release.ledger
    assert books(at) == {
        (key_of(at), "add_remove"): (len(ledger.entries), ledger.epsilon_claimed, ledger.epsilon_bound)
    }
    assert metrics(at)[0][1] == "0.5"
    paid_once, as_coded = variant.startswith("All levels counted, paid"), mode == "paper" and name == "DiffGen"
    assert (ledger.epsilon_bound <= 0.5) != (paid_once or as_coded)
    assert (metrics(at)[1][1] == "none") == as_coded
    assert errors(at) == ([release.guarantee_void] if paid_once or as_coded else [])
    assert tabs(at) == ["Price", "Columns", "Pairs", "Accuracy", *OWN_TABS, "Take home"]
    every = tabs(at) if variant in (ALL, DIFFGEN) or paid_once or as_coded else [*OWN_TABS[:3], "Take home"]
    for each in every:
        tab(at, each)
        assert not mendable(at), each
    content = files(downloads[-1]())
    tree = ReleasedTree.from_dict(
        Schema.from_json(content["schema.json"].decode()), json.loads(content["structure.json"])["tree"]
    )
    assert tree == ReleasedTree.from_dict(release.schema, release.structure["tree"])
    groups = pd.read_csv(io.BytesIO(content["generalized.csv"]))
    assert list(groups) == [*tree.leaves.family, "(rows)"]
    assert groups["(rows)"].tolist() == release.artifact.generalized["(rows)"].tolist()
    assert (MARK in content["README.md"].decode()) == bool(release.guarantee_void)
    assert "generalized rows" in said(at)
    assert not any(name.encode() in raw for raw in content.values() for name in sums(at))


# Settings

REMARKS = dict(
    zip(
        PAPER,
        ("Every level gets the whole share", "nothing that consistency can gain", "has no epsilon at all"),
        strict=True,
    )
)


def test_remarks_tell_apart_what_is_wrong_as_printed() -> None:
    at = page()
    for variant, remark in REMARKS.items():
        text = said(choose(at, "paper", variant))
        assert {told for told in REMARKS.values() if told in text} == {remark}
        assert "The paper's proof is wrong" not in text


@pytest.mark.parametrize(("mode", "variant"), VARIANTS)
def test_settings_are_the_methods_own_and_reach_it(mode: str, variant: str) -> None:
    at = choose(page(), mode, variant)
    expected = {"rounds": 3} if variant.startswith("DiffGen") else {"iterations": 3, "with_class": False, "fanout": 3}
    if mode == "corrected" and variant in (ALL, APART):
        expected["shares"] = "geometric"
    own = {"rounds", "iterations", "with_class", "fanout", "shares"}
    assert keys(at) & own == set(expected)
    at_once(at, target="town", relation="replace", seed=5, noise="geometric", **expected)
    expected["level_shares"] = expected.pop("shares", "leaves first")
    expected |= {"target": "town", "relation": "replace", "random_state": 5, "noise": "geometric", "mode": mode}
    name = "DiffGen" if "rounds" in expected else "TaxonomyRelease"
    known = set(METHODS[name]().get_params())
    assert books(at) == {}
    assert at.session_state["taxonomy.chosen"][0] == name
    parameters = METHODS[name](**asked(at)).get_params()
    assert {key: parameters[key] for key in expected if key in known} == {
        k: v for k, v in expected.items() if k in known
    }


def own(at: AppTest, text: str) -> AppTest:
    """Type weights of one's own."""
    (box,) = [w for w in at.text_input if w.key.startswith("taxonomy.own_shares")]
    box.set_value(text)
    return run(at)


def test_own_shares_are_used(downloads: list[Any]) -> None:
    at = at_once(page(), iterations=2, shares="own")
    assert asked(at)["level_shares"] == (1.0, 1.0, 1.0, 1.0)
    assert "No such weights" not in said(at)
    released(own(at, "0; 2 ,1,3"))
    release = shown(at).release
    assert release.parameters["level_shares"] == (0.0, 2.0, 1.0, 3.0)
    tree = ReleasedTree.from_dict(release.schema, release.structure["tree"])
    assert tree.measured == [False, True, True, True]
    tab(at, "Take home")
    assert b"level_shares=(0.0, 2.0, 1.0, 3.0)" in files(downloads[-1]())["replay.py"]
    change(at, with_class=False)
    assert asked(at)["level_shares"] == (1.0, 1.0, 1.0)  # a level less: other weights
    change(at, with_class=True)
    assert asked(at)["level_shares"] == (0.0, 2.0, 1.0, 3.0)
    change(choose(at, "paper", next(iter(PAPER))), mode="corrected")
    assert asked(at)["level_shares"] == (0.0, 2.0, 1.0, 3.0)


def test_wrong_shares_are_told_and_never_run() -> None:
    at = released(at_once(page(), iterations=2, shares="own"))
    first, spent = shown(at), books(at)
    change(at, epsilon=0.3)  # other settings go on
    for text in (
        "1, many, 1, 1",
        "1, 1, 1",
        "1, 1, 1, 1, 1",
        "1, -1, 1, 1",
        "1, 1, 1, 0",
        "1, nan, 1, 1",
        "inf,1,1,1",
        "",
    ):
        own(at, text)
        assert "No such weights. Write 4 numbers of 0 or more" in said(at), text
        assert not mendable(at)
        press(at, "taxonomy.run")
        (error,) = mendable(at)
        assert "The 'level_shares' do not fit the levels" in error
        assert "Give 4 numbers" in error
        assert nothing_new(at, first, spent), text
        (box,) = [w for w in at.text_input if w.key.startswith("taxonomy.own_shares")]
        assert box.value == text
    released(own(at, "1, 1, 1, 1"))
    assert shown(at).release.parameters["epsilon"] == 0.3
    assert not errors(at)


# What is shown


def test_nothing_that_is_moved_draws_or_spends() -> None:
    """All that can be moved in the settings, in the editor and in the page's own tabs, found on the screen."""
    at = with_release("Draw again")  # a tab without charts, which every move of a setting would draw
    first, release, spent = shown(at), shown(at).release, books(at)
    moved = {"taxonomy.mode", "taxonomy.variant.corrected"}

    def other(found: Any) -> Any:
        if isinstance(value := getattr(found, "value", None), list):
            return None
        return (
            (found.options[1], found.options[1]) if isinstance(value, tuple) and ".ask" in found.key else another(found)
        )

    def move() -> None:
        while waiting := [w for w in elements(at) if w.key and w.key not in moved and other(w) is not None]:
            moved.add(waiting[0].key)
            waiting[0].set_value(other(waiting[0]))
            run(at)
            assert nothing_new(at, first, spent), waiting[0].key
            assert shown(at).release is release

    for name in ["Draw again", *OWN_TABS, "Take home"]:
        tab(at, name)
        move()
    editor(tab(at, "Draw again"))
    move()
    names = {key.removeprefix("taxonomy.").partition(":")[0] for key in moved}
    assert {"epsilon", "relation", "rows", "noise", "seed", "target", "iterations", "shares", "with_class"} <= names
    assert {"tree_errors", "tree_at", "workload", "figure", "repeats", "format", "fanout"} <= names
    assert {"editor.column", "editor.root"} <= names
    assert [key for key in moved if key.startswith("taxonomy.ask:")]


def test_the_tree_from_any_node_down_and_its_two_colors() -> None:
    at = with_release("Tree")
    first, spent = shown(at), books(at)
    whole = len(charts(at)[-1][1][0])
    assert marked(at)[-1]
    assert MARK in at.expander[-1].label
    picker = widget(at, "taxonomy.tree_at")
    assert picker.options[:1] == ["all rows"]
    assert len(set(picker.options)) == len(picker.options)
    picker.select_index(5)
    chosen = picker.options[5]
    run(at)
    assert widget(at, "taxonomy.tree_at").options[:2] == ["all rows", chosen]
    spec, (nodes, *_) = charts(at)[-1]
    assert len(nodes) < whole
    table = at.dataframe[-1].value
    assert (table["name"].iloc[0], table["level"].min()) == (chosen, table["level"].iloc[0])
    assert {"noisy count", "consistent count", "true count", "noise", "interval from", "to"} <= {
        tip["title"] for tip in tooltips(spec)
    }
    change(at, tree_errors=False)
    spec, tables = charts(at)[-1]
    assert not marked(at)[-1]
    assert MARK not in at.expander[-1].label
    assert not {"true count", "noise"} & {tip["title"] for tip in tooltips(spec)}
    assert all(table[column].isna().all() for table in tables for column in {"true", "noise"} & set(table))
    assert not {"true", "noise"} & set(at.dataframe[-1].value)
    assert nothing_new(at, first, spent)


def tooltips(spec: Any) -> list[Any]:
    """All tooltips below a specification."""
    if isinstance(spec, list):
        return [tip for part in spec for tip in tooltips(part)]
    if not isinstance(spec, dict):
        return []
    here = spec.get("tooltip")
    return [
        *(here if isinstance(here, list) else []),
        *(t for key, part in spec.items() if key != "tooltip" for t in tooltips(part)),
    ]


def test_groups_that_a_level_leaves_whole_stand_once_in_the_list() -> None:
    found = data(people()[["age", "town"]], target=None)
    towns = Taxonomy((("Zqa", "(any)"), ("Zqb", "Both", "(any)"), ("Zqc", "Both", "(any)")))
    columns = (found.schema["age"], replace(found.schema["town"], taxonomy=towns))
    at = page(replace(found, schema=replace(found.schema, columns=columns)))
    at = tab(released(change(at, with_class=False)), "Tree")
    tree = ReleasedTree.from_dict(shown(at).release.schema, shown(at).release.structure["tree"])
    names = count_tree_frames.nodes(tree)["name"]
    assert names.duplicated().any()
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
        largest = at.dataframe[-1].value
        released_groups = shown(at).release.artifact.generalized
        assert list(largest) == [*released_groups.columns[-1:], *released_groups.columns[:-1]]
        assert largest.iloc[:, 0].tolist() == released_groups.iloc[:, -1].nlargest(20).tolist()
    tab(at, "Take home")


@pytest.mark.parametrize(("mode", "variant"), [("corrected", DIFFGEN), ("paper", next(iter(PAPER)))])
def test_a_query_is_answered_in_every_way(mode: str, variant: str) -> None:
    at = with_release("Ask a range", mode, variant)
    first, spent = shown(at), books(at)
    query(at, ["age", "ill"])
    found = answered(at)
    assert list(found.index) == ["noisy: the fewest nodes", "consistent", "flat", "published groups"]
    real = dataset(at).train
    truth = int(((real["age"] >= 14) & (real["ill"] == "yes")).sum())
    assert set(found["true"]) == {truth}
    assert f"**{truth}** people fall into it" in said(at)
    assert marked(at)[-1]
    private = found.drop("published groups")
    assert ((private["low"] < private["estimate"]) & (private["estimate"] < private["high"])).all()
    assert found.loc["published groups", ["low", "high"]].isna().all()
    query(at, ["age"])
    assert not answered(at)["estimate"].equals(found["estimate"])
    assert "Choose a column." in said(query(at, []))
    shown(at).memory.clear()  # not even then
    query(at, ["age", "ill"])
    pd.testing.assert_frame_equal(answered(at), found)
    assert nothing_new(at, first, spent)


def test_an_answer_that_would_squeeze_the_others_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_tree, "WIDEST", 0.01)
    at = with_release("Ask a range")
    row = answered(at).loc["flat"]
    assert f"Off the chart: **flat** would have answered **{row['estimate']:,.0f}**" in said(at)
    assert "flat" not in set(pd.concat(charts(at)[-1][1])["release"])


def test_every_workload_and_no_noise_as_a_reference() -> None:
    at = with_release("Error by range", iterations=1)
    first, spent = shown(at), books(at)
    methods = {"consistent", "noisy: the fewest nodes", "published groups", "flat"}
    seen = []
    for workload in (count_tree.GROUPS, count_tree.DIVIDED, count_tree.EVERY, count_tree.GROUPS):
        change(at, workload=workload)
        (table,) = [t.value for t in at.dataframe if "absolute" in t.value]
        assert set(table["release"]) == methods | (
            {"no noise, same groups"} if workload != count_tree.GROUPS else set()
        )
        assert marked(at)[-1]
        seen.append(table)
    pd.testing.assert_frame_equal(seen[0], seen[-1])
    assert not seen[1].equals(seen[2])
    assert nothing_new(at, first, spent)


def test_redraws_cost_twenty_times_epsilon_and_show_the_levels() -> None:
    at = tab(released(change(page(), rows=100), epsilon=0.5), "Draw again")
    ((account, spent),) = books(at).items()
    press(at, "taxonomy.redraws.go")
    assert not mendable(at)
    assert marked(at)[-2:] == [True, True]
    after = books(at)[account]
    assert after[1:] == pytest.approx((21 * spent[1], 21 * spent[2]))
    looks = shown(at).looks
    assert set(looks["run"]) == set(range(1, 1 + redraw.REDRAWS))
    assert set(looks["which"]) == {"noisy", "consistent"}


def test_charts_hold_counts_of_groups_only() -> None:
    frame = people().assign(pay=np.linspace(0, 5000, 80).round(5))
    frame.loc[3, "pay"] = 1234.56789
    at = released(page(data(frame)))
    for name in OWN_TABS[:3]:
        tab(at, name)
        for spec, tables in charts(at):
            text = json.dumps(spec) + "".join(table.to_csv(float_format="%.12g") for table in tables)
            assert "1234.5" not in text, name
            assert "datasets" not in spec
            assert len(spec["description"]) > 20
            assert all(len(table) <= 2 * count_tree.MOST_NODES for table in tables)


# Other data


def visit(at: AppTest) -> None:
    """All that the page has of its own, and what is taken home."""
    for name in (*OWN_TABS[:3], "Take home"):
        tab(at, name)
        assert not mendable(at), name


def test_data_without_a_class() -> None:
    at = released(page(data(target=None)))
    visit(at)
    assert shown(at).release.parameters["target"] == "ill"  # the last one with categories
    released(choose(at, "corrected", DIFFGEN))


@pytest.mark.parametrize("column", ["age", "town"])
def test_one_column_only(column: str) -> None:
    at = released(page(data(people()[[column]], target=None)))
    visit(at)
    assert list(shown(at).release.synthetic) == [column]
    press(choose(at, "corrected", DIFFGEN), "taxonomy.run")
    assert bool(mendable(at)) == (column == "age")  # no class


@pytest.mark.parametrize("target", [None, "age"])
def test_numbers_only(target: str | None) -> None:
    frame = people()[["age"]].assign(pay=np.arange(80.0))
    at = page(data(frame, target=target))
    assert "needs a column with categories as class" not in said(at)  # columns take turns
    assert asked(at)["with_class"] is False
    assert widget(at, "taxonomy.with_class").disabled
    change(at, shares="own", iterations=3)
    assert asked(at)["level_shares"] == (1.0,) * 4  # no level of a class
    released(at)
    visit(at)
    first, spent = shown(at), books(at)
    press(choose(at, "corrected", DIFFGEN), "taxonomy.run")
    assert "class" in mendable(at)[0] or "numeric" in mendable(at)[0]
    assert nothing_new(at, first, spent)


def test_missing_values_and_an_inferred_schema() -> None:
    frame = people()
    frame.loc[::7, ["age", "town"]] = None
    at = page(data(frame, source="inferred"))
    for variant in (ALL, DIFFGEN):
        released(choose(at, "corrected", variant))
        assert shown(at).release.schema["age"].missing
        assert errors(at) == ["The schema was inferred from the private rows: the guarantee is void."]
        assert metrics(at)[1] == ("Epsilon proved", "none")
        visit(at)


@pytest.mark.parametrize("variant", [ALL, DIFFGEN])
def test_the_smallest_epsilon(variant: str) -> None:
    at = released(choose(page(), "corrected", variant), epsilon=0.01)
    visit(at)
    assert metrics(at)[0][1] == "0.01"


def test_behind_a_deep_link(server) -> None:
    server.fresh = True
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT)
    run(at.switch_page("pages/taxonomy.py"))
    server.fresh = False
    change(at, epsilon=0.1, iterations=2)
    press(at, "taxonomy.run")
    assert shown(at).release.ledger.epsilon_bound == pytest.approx(0.1)
    assert shown(at).release.parameters["iterations"] == 2


# Taxonomies, and other data than those of the release


def editor(at: AppTest, *, shut: bool = False) -> AppTest:
    """Open the drawer with the taxonomies, or shut it."""
    at.session_state["taxonomy.taxonomies"] = not shut
    return run(at)


def put_together(at: AppTest) -> AppTest:
    """Two of the three towns under one name, and in use."""
    widget(editor(at), "taxonomy.editor.column").set_value("town")
    press(run(at), "taxonomy.editor.add")
    edit(at, {0: {"level 1": "Both"}, 1: {"level 1": "Both"}})
    return press(at, "taxonomy.editor.apply")


def test_a_numeric_column_in_the_editor() -> None:
    at = editor(page())
    for column in ("town", "age"):
        widget(at, "taxonomy.editor.column").set_value(column)
        run(at)
    released(at, fanout=3)
    assert shown(at).release.parameters["fanout"] == 3
    assert widget(at, "taxonomy.editor.fanout").value == 2


def test_edits_survive_a_shut_drawer() -> None:
    at = editor(page())
    widget(at, "taxonomy.editor.column").set_value("town")
    press(run(at), "taxonomy.editor.add")
    edit(at, {0: {"level 1": "Both"}, 1: {"level 1": "Both"}})
    assert not editor(at, shut=True).data_editor
    assert "not in use yet" in said(editor(at))
    press(at, "taxonomy.editor.apply")
    assert dataset(at).schema["town"].taxonomy.paths[0] == ("Zqa", "Both", "(any)")


def test_a_changed_taxonomy_is_for_the_next_release() -> None:
    at = released(page())
    first, spent = shown(at), books(at)
    put_together(at)
    assert not mendable(at)
    editor(at, shut=True)
    assert nothing_new(at, first, spent)
    assert dataset(at).schema["town"].taxonomy is not None
    assert first.release.schema["town"].taxonomy is None
    visit(at)
    assert nothing_new(at, first, spent)
    assert "Both" not in str(first.release.structure["tree"])
    released(at)
    assert "Both" in str(shown(at).release.structure["tree"])
    assert list(books(at)) == list(spent)  # the same rows: the same account
    visit(at)
    tab(at, "Ask a range")
    columns = next(w for w in at.multiselect if w.key.startswith("taxonomy.ask:"))
    columns.set_value(["town"])
    run(at)
    group = next(w for w in at.selectbox if w.key.endswith(".town"))
    assert group.options[:2] == ["(any)", "· Both"]


def test_other_data_are_for_the_next_release() -> None:
    at = released(change(page(), target="town"))
    first, spent = shown(at), books(at)
    others = people(60, seed=4).rename(columns={"town": "city", "ill": "sick"})
    at.session_state["dpcore.data"] = data(others, "others", target="sick")
    run(at)
    visit(at)
    assert nothing_new(at, first, spent)
    assert "made from people" in said(at)
    assert asked(at)["target"] == "sick"
    assert widget(editor(at), "taxonomy.editor.column").options == ["age", "city", "sick"]
    released(editor(at, shut=True))
    assert set(shown(at).release.synthetic) == {"age", "city", "sick"}
    assert len(books(at)) == 2


# Figures

TITLES = {"ranges": "Error by range", "accuracy": "Classification"}
RUNS = {"ranges": 5, "accuracy": 5 * 2}  # with one repeat and the grid above


@pytest.fixture
def claims() -> AppTest:
    at = with_release(OWN_TABS[-1], rows=100)
    at.number_input("taxonomy.repeats").set_value(1)
    return run(at)


def made(at: AppTest, key: str) -> AppTest:
    widget(at, "taxonomy.figure").set_value(TITLES[key])
    return press(run(at), f"taxonomy.{key}.go")


def runs_of(at: AppTest) -> pd.DataFrame:
    memories = [at.session_state[key] for key in at.session_state if str(key).startswith("dpcore.figure:")]
    return pd.concat([frame.head(1) for memory in memories for frame in memory], ignore_index=True)


def entries(at: AppTest, key: str) -> list[Any]:
    accounts = at.session_state["dpcore.accounts"].values()
    parts = [child for account in accounts for child in account.children if TITLES[key] in child.name]
    return [release for part in parts for release in part.children or part.entries]


@pytest.mark.parametrize("key", TITLES)
def test_a_figure_is_made_and_every_run_is_charged(claims: AppTest, key: str) -> None:
    at, first = claims, shown(claims)
    drawn = len(charts(at))
    made(at, key)
    assert not mendable(at)
    assert not at.warning
    nothing_runs(at)
    assert marked(at)[-(len(charts(at)) - drawn) :] == [True] * (len(charts(at)) - drawn) != []
    references = ["leaves only"] if key == "ranges" else ["trained on real rows", "majority class"]
    _, tables = charts(at)[-1]
    assert all(any(table.isin([label]).any(axis=None) for table in tables) for label in references)
    found, booked = runs_of(at), entries(at, key)
    assert len(found) == len(booked) == RUNS[key]
    assert set(found["relation"]) == {"add_remove"}
    assert found["series"].nunique() == 5
    after = books(at)[key_of(at), "add_remove"]
    assert after[1] == pytest.approx(found["epsilon_claimed"].sum())
    assert after[2] == pytest.approx(found["epsilon_bound"].sum())
    spent = books(at)
    tab(tab(at, "Tree"), OWN_TABS[-1])
    assert nothing_new(at, first, spent)


@pytest.mark.parametrize(("key", "how"), [("ranges", by_a_widget), ("accuracy", by_the_menu)])
def test_a_canceled_figure_keeps_what_is_finished(
    claims: AppTest, monkeypatch: pytest.MonkeyPatch, key: str, how: Callable[[], BaseException]
) -> None:
    first, drawn = shown(claims), len(charts(claims))
    with monkeypatch.context() as patch:
        cancel(patch, ": 3 done", how)
        made(claims, key)
    at = run(claims)
    nothing_runs(at)
    assert not mendable(at)
    assert shown(at) is first
    assert len(entries(at, key)) == len(runs_of(at)) == 3
    assert len(charts(at)) > drawn


@pytest.mark.parametrize("key", TITLES)
def test_runs_that_fail_are_told_and_cost_nothing(claims: AppTest, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise DataError("The rows ran [out].", "Bring *more*.")

    drawn = len(charts(claims))
    monkeypatch.setattr(figures_002.DiffGen, "fit", never)
    at = made(claims, key)
    assert not mendable(at)
    (warning,) = [w.value.replace("\\", "") for w in at.warning]
    failed = RUNS[key] // 5
    assert f"{failed} runs of DiffGen, corrected, failed: The rows ran [out]. Bring *more*." in warning
    assert len(entries(at, key)) == RUNS[key] - failed
    assert len(charts(at)) > drawn


@pytest.mark.parametrize("key", TITLES)
def test_figures_that_need_a_class_say_so(key: str) -> None:
    frame = people()[["age"]].assign(pay=np.arange(80.0))
    at = tab(released(page(data(frame, target=None)), rows=100), OWN_TABS[-1])
    widget(at, "taxonomy.figure").set_value(TITLES[key])
    run(at)
    assert "No such figure of people:" in said(at)
    assert not [button for button in at.button if button.label == "Make this figure"]
    assert not mendable(at)

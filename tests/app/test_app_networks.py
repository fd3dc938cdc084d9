"""The page of Bayesian networks: every variant of both modes, what is asked and charged, and what is taken home."""

import io
import json
import math
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
    elements,
    errors,
    key_of,
    mendable,
    metrics,
    opened,
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
from prepared import MARK, another, asked, choose, data, files, keys, nothing_new, page, with_release
from streamlit.testing.v1 import AppTest

from dpcore import datasets
from dpcore.dashboard import controls, panels
from dpcore.dashboard.tabs import redraw
from dpcore.domain.binarize import Binarization
from dpcore.methods import METHODS, JTree
from dpcore.methods.networks.base import ClusteredSynthesizer

CORRECTED, PAPER = (
    {label: name for label, (name, _) in controls.offered("networks", mode).items()} for mode in ("corrected", "paper")
)
VARIANTS = [("corrected", name) for name in CORRECTED] + [("paper", name) for name in PAPER]
HERE = {name: kind for name, kind in METHODS.items() if kind.page == "networks"}
NO_CLUSTERS = {name for name, kind in HERE.items() if not issubclass(kind, ClusteredSynthesizer | JTree)}
NO_BOUND = {name for name, kind in HERE.items() if kind.provable_printed == "none"}  # as printed
HM = next(name for name in CORRECTED if name.startswith("HMPrivBayes"))
NO_PRIVACY = list(PAPER)[-1]
BOUNDED = data(max_rows=500)


@pytest.fixture(autouse=True)
def this_page(monkeypatch: pytest.MonkeyPatch, quick_sample: None) -> None:
    monkeypatch.setattr(driving, "PAGE", "networks")


def sample() -> AppTest:
    """The page with the sample in use."""
    return page(datasets.load("sample"))


@pytest.mark.parametrize(("mode", "variant"), VARIANTS)
def test_every_variant_from_run_to_zip(mode: str, variant: str, downloads: list[Any]) -> None:
    name = (CORRECTED if mode == "corrected" else PAPER)[variant]
    at = change(choose(sample(), mode, variant), epsilon=0.5)
    wanted = asked(at)
    release = shown(released(at)).release
    assert (release.method, release.parameters["mode"], len(release.synthetic)) == (name, mode, 2_000)
    assert {key: release.parameters[key] for key in wanted} == wanted
    claimed, proved, *_ = (value for _, value in metrics(at))
    assert claimed == ("none" if name == "NoPrivacy" else "0.5")
    if mode == "corrected" or name == "PrivBayes":
        assert float(proved) <= float(claimed)  # PrivBayes's constants are even a little too careful
        assert not errors(at)
    else:
        assert errors(at) == [release.guarantee_void] != [""]
        assert (proved == "none") == (name in NO_BOUND)
        assert proved != claimed or name == "NoPrivacy"

    assert len(charts(tab(at, "Price"))) == 3
    assert len(charts(tab(at, "Network"))) == 2
    (families,) = (table.value for table in at.dataframe)
    structure = release.structure
    assert list(families["child"]) == [family["child"] for family in structure["families"]]
    assert f"{len(families)} " + ("cliques" if name == "JTree" else "families") in said(at)
    assert ("chosen and measured privately" in said(at)) == (mode == "corrected" or name == "PrivBayes")

    tab(at, "Clusters")
    count = len(structure["clusters"])
    assert ("makes no clusters" in said(at)) == (name in NO_CLUSTERS) == (count == 0)
    assert len(charts(at)) == 1 + (name not in NO_CLUSTERS | {"JTree"})
    if name == "JTree":
        assert f"**{count} tables were measured**" in said(at)
        assert "is lost" not in said(at)
    elif count:
        assert f"**{count} clusters**" in said(at)

    tab(at, "Take home")
    content = files(downloads[-1]())
    assert json.loads(content["structure.json"]) == json.loads(json.dumps(structure))
    assert (MARK in content["README.md"].decode()) == bool(release.guarantee_void)
    assert (release.guarantee_void in [w.value for w in at.warning]) == bool(release.guarantee_void)
    assert not any(name.encode() in raw for raw in content.values() for name in sums(at))

    only_what_was_asked_and_answered(structure, dataset(at).schema, variant)
    (spent,) = books(at).values()
    if math.isfinite(release.ledger.epsilon_claimed):
        exact = panels.without_noise(shown(at))  # for the screen's reference, which is charged to nobody
        assert type(exact) is METHODS[name]
        assert len(exact.sample(10)) == 10
    assert list(books(at).values()) == [spent]


def only_what_was_asked_and_answered(structure: Any, schema: Any, variant: str) -> None:
    """Names, sizes, prices and noisy scores: no other number goes along, and no table of counts."""
    assert set(structure) <= {"families", "clusters", "similarity", "edges"}
    for family in structure["families"]:
        assert set(family) == {"child", "parents", "cluster", "cells", "epsilon"}
        assert family["cells"] >= 1
        assert math.isinf(float(family["epsilon"])) == (variant == NO_PRIVACY and float(family["epsilon"]) > 0)
    assert set(structure.get("similarity", {"names", "scores"})) == {"names", "scores"}
    on_bits = "columns" not in variant and not variant.startswith(("JTree", "PrivBayes refined", "Independent"))
    names = set((Binarization(schema).schema if on_bits else schema).names)
    assert {name for family in structure["families"] for name in (family["child"], *family["parents"])} == names


def test_no_privacy_says_that_it_must_not_be_published(downloads: list[Any]) -> None:
    at = choose(page(), "paper", NO_PRIVACY)
    assert any("No noise at all" in text.value for text in at.markdown)
    released(at)
    assert dict(metrics(at))["Epsilon claimed"] == dict(metrics(at))["Epsilon proved"] == "none"
    assert "not to be published" in said(tab(at, "Price"))
    for name in ("Network", "Clusters"):
        assert MARK in json.dumps(charts(tab(at, name))[-1][0]["title"]), name
        assert "may be shown" not in said(at)
    released(choose(at, "paper", "HMPrivBayes"))
    assert MARK not in json.dumps(charts(tab(at, "Clusters"))[-1][0]["title"])
    tab(released(choose(at, "paper", NO_PRIVACY)), "Take home")
    assert b"do not publish" in files(downloads[-1]())["README.md"]
    assert "none" in said(opened(at, "ledger"))


def test_hmprivbayes_as_printed_is_told_apart_by_its_factors() -> None:
    at = released(choose(sample(), "paper", "HMPrivBayes"), n_clusters=3)
    half = len(Binarization(dataset(at).schema).schema) // 2
    text = said(tab(at, "Price"))
    assert half == 25
    assert "as if different pairs held different people. Everybody is in every pair. Claimed: epsilon" in text
    assert f"**{half} times** as much" in text
    assert "**3 times** as much" in text
    assert "Provable: none." in text
    assert dict(metrics(at))["Epsilon proved"] == "none"
    assert errors(at) == ["No finite epsilon can be proved for this run."]
    released(at, n_clusters=2)
    assert "**2 times** as much" in said(at)


def test_the_papers_that_are_right_are_not_called_wrong() -> None:
    at = sample()
    for variant in PAPER:
        text = said(choose(at, "paper", variant))
        assert ("the paper is right" in text) == variant.startswith("PrivBayes"), variant
        assert ("proof is wrong" in text) == (PAPER[variant] in ("HMPrivBayes", "PrivSCBN", "JTree")), variant


def test_paper_mode_knows_one_relation_only() -> None:
    at = sample()
    assert asked(at)["relation"] == "add_remove"
    for variant in PAPER:
        choose(at, "paper", variant)
        assert asked(at)["relation"] == "replace"
        assert "relation" not in keys(at)
        assert len(widget(at, "networks.relation.replace").options) == 1
    assert "change one row's values" in said(at)
    change(at, mode="corrected")
    assert asked(at)["relation"] == "add_remove"


OTHERS = {"n_clusters": 2, "max_parents": 2, "score": "MI", "affinity": "paper", "partition": "public", "target": "sex"}


@pytest.mark.parametrize(("mode", "variant"), VARIANTS)
def test_settings_are_the_methods_own_and_reach_it(mode: str, variant: str) -> None:
    name = (CORRECTED if mode == "corrected" else PAPER)[variant]
    at = choose(sample(), mode, variant)
    every = {key.partition(".")[0]: f"networks.{key}" for key in keys(at)}
    kind = METHODS[name]
    expected = {key for key, control in kind.asks().items() if key in OTHERS and control.wanted(kind(mode=mode))}
    assert {key for key in OTHERS if key in every} == expected
    for key in expected:
        widget(at, every[key]).set_value(OTHERS[key])
        run(at)
    assert {key: asked(at)[key] for key in expected} == {key: OTHERS[key] for key in expected}
    assert (asked(at)["mode"], books(at)) == (mode, {})
    if name == "PrivBayes":
        assert asked(at)["variant"] == ("binary" if "bits" in variant else "general")


def test_f_is_for_bits_and_for_three_parents() -> None:
    at = change(choose(page(BOUNDED), "corrected", "PrivBayes on bits"), max_parents=4)
    score = widget(at, "networks.score.PrivBayes.binary")
    assert score.value == "F"
    assert asked(at)["max_parents"] == 3
    assert shown(released(at)).release.parameters["max_parents"] == 3
    score = widget(at, "networks.score.PrivBayes.binary").set_value("MI")
    assert asked(run(at))["max_parents"] == 4
    choose(at, "corrected", "PrivBayes on columns")
    assert not [o for o in widget(at, "networks.score.PrivBayes.general").options if o.startswith("F")]


@pytest.mark.parametrize("variant", [HM, "PrivSCBN (reconstructed): clusters by Jaccard's index"])
def test_entropies_need_a_public_bound(variant: str) -> None:
    at = released(page())
    first, spent = shown(at), books(at)
    press(choose(at, "corrected", variant), "networks.run")
    (error,) = mendable(at)
    assert "public bound on the number of rows" in error
    assert "max_rows" in error
    assert "relation replace" in error
    assert shown(at) is first
    assert books(at) == spent
    assert "Network" in tabs(at)
    assert not mendable(run(at))
    released(change(at, relation="replace"))
    assert shown(at).release.method == variant.partition(":")[0].removesuffix(" (reconstructed)")


OWN_TABS = ("Network", "Clusters", "Take home")  # the others are the same for all variants


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "variant"), VARIANTS)
def test_data_without_a_class(mode: str, variant: str) -> None:
    at = page(data(target=None, max_rows=500))
    if mode == "corrected" and variant.startswith("PrivBayes refined"):
        assert widget(at, "networks.target").value == "ill"  # the last one with categories
    released(choose(at, mode, variant))
    for name in tabs(at) if variant == HM else OWN_TABS:
        tab(at, name)
        assert not mendable(at), name


@pytest.mark.slow
@pytest.mark.parametrize("column", ["age", "town", "ill"])
def test_one_column_only(column: str) -> None:
    """`ill` is a single bit, of which there is no pair."""
    at = page(data(people()[[column]], target=None, max_rows=500))
    first = next(iter(CORRECTED))
    for mode, variant in VARIANTS if column == "ill" else [("corrected", first), ("corrected", HM)]:
        released(choose(at, mode, variant))
        assert list(shown(at).release.synthetic) == [column]
        for name in ("Price", "Columns", "Pairs", *OWN_TABS) if variant == first else OWN_TABS:
            tab(at, name)
            assert not mendable(at), (variant, name)


def test_no_widget_draws_or_spends() -> None:
    """All that can be moved in every tab and every variant's settings, found on the screen."""
    at = with_release("Draw again", "corrected", HM, BOUNDED)  # a tab without charts, which every move would draw
    first, release = shown(at), shown(at).release
    moved: set[str] = set()

    def still(why: Any) -> None:
        assert nothing_new(at, first, {}), why
        assert shown(at).release is release, why

    def move() -> None:
        while waiting := [
            w for w in elements(at) if w.key and w.key not in moved and ".mode" not in w.key and another(w) is not None
        ]:
            found = min(waiting, key=lambda w: ".variant" in w.key)  # it puts others away
            moved.add(found.key)
            found.set_value(another(found))
            run(at)
            still(found.key)

    for mode, variant in VARIANTS:
        moved -= {f"networks.variant.{mode}"}
        choose(at, mode, variant)
        moved |= {f"networks.variant.{mode}"}
        move()
        still(variant)
    for name in tabs(at):
        tab(at, name)
        move()
        still(name)
    names = {key.removeprefix("networks.").partition(":")[0] for key in moved}
    assert {"epsilon", "relation", "rows", "noise", "seed", "target", "n_clusters", "max_parents"} <= names
    assert {
        "score.JTree.None",
        "score.PrivBayes.binary",
        "affinity.NoPrivacy.None",
        "partition.HMPrivBayes.None",
    } <= names
    assert {"column", "pair_x", "pair_y", "format", "repeats", "figure"} <= names


@pytest.mark.parametrize(("mode", "variant"), [("corrected", HM), ("paper", "JTree"), ("paper", NO_PRIVACY)])
def test_the_reference_without_noise(mode: str, variant: str) -> None:
    at = with_release("Accuracy", mode, variant, BOUNDED)
    trained = set(shown(at).memory["accuracy"]["trained_on"])
    assert ("same method, no noise" in trained) == (variant != NO_PRIVACY)
    assert trained >= {"released", "real"}
    assert books(at) == {}  # it is for this screen, and charged to nobody


REDRAWN = [
    ("corrected", HM, "add_remove"),
    ("paper", "PrivSCBN (reconstructed)", "replace"),
]


@pytest.mark.parametrize(("mode", "variant", "relation"), REDRAWN)
def test_redraws_cost_twenty_times_epsilon(mode: str, variant: str, relation: str) -> None:
    at = choose(page(BOUNDED), mode, variant)
    if mode == "corrected":
        change(at, relation=relation)
    at = tab(released(at, epsilon=0.5), "Draw again")
    bound = shown(at).release.ledger.epsilon_bound
    press(at, "networks.redraws.go")
    assert not mendable(at)
    assert len(charts(at)) == 2
    ((account, spent),) = books(at).items()
    assert account == (key_of(at), relation)
    assert spent[1:] == pytest.approx((21 * 0.5, 21 * bound))
    assert len({*shown(at).redraws["run"]}) == 1 + redraw.REDRAWS


def test_a_void_guarantee_is_not_called_private() -> None:
    at = tab(released(page(), seed=3), "Network")
    assert "For teaching only" in str(errors(at))
    assert "chosen and measured privately" not in said(at)


def test_graph_and_matrix_hold_names_and_noisy_numbers_only() -> None:
    """No chart of a network carries rows: at most a point per family or link, and a cell per pair of bits."""
    frame = people().assign(pay=np.linspace(0, 5000, 80).round(5))
    frame.loc[40, "pay"] = 1234.56789
    at = released(choose(page(data(frame)), "corrected", HM), relation="replace")
    bits = len(Binarization(dataset(at).schema).schema)
    for name in ("Network", "Clusters"):
        spec, tables = charts(tab(at, name))[-1]
        assert MARK not in json.dumps(spec["title"])
        assert max(len(table) for table in tables) <= bits**2, name
        assert "1234.5" not in json.dumps(spec) + "".join(table.to_csv() for table in tables)
        assert len(spec["description"]) > 20


def test_behind_a_deep_link(server) -> None:
    server.fresh = True
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT)
    run(at.switch_page("pages/networks.py"))
    server.fresh = False
    change(at, epsilon=0.1, **{"variant.corrected": "PrivBayes on columns"})
    press(at, "networks.run")
    assert shown(at).release.ledger.epsilon_bound == 0.1
    assert shown(at).release.method == "PrivBayes"


def test_each_page_keeps_its_own_release(monkeypatch: pytest.MonkeyPatch) -> None:
    at = released(page())
    first = shown(at)
    with monkeypatch.context() as there:
        there.setattr(driving, "PAGE", "naive_bayes")
        released(opened(at, "naive_bayes"))
        assert shown(at).release.method == "NB-Synth"
    assert shown(opened(at, "networks")) is first
    (spent,) = books(at).values()
    assert spent[1:] == pytest.approx((2, 2))


def test_a_seeded_release_comes_again(downloads: list[Any]) -> None:
    at = tab(released(choose(page(BOUNDED), "corrected", HM), seed=5), "Take home")
    first = files(downloads[-1]())
    tab(released(at), "Take home")
    second = files(downloads[-1]())
    assert first["structure.json"] == second["structure.json"]
    pd.testing.assert_frame_equal(*(pd.read_csv(io.BytesIO(zipped["synthetic.csv"])) for zipped in (first, second)))

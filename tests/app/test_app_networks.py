"""The page of Bayesian networks: what it asks and says of its methods."""

import pytest
from driving import change, people, released, run, shown, tab
from prepared import asked, choose, data, files, keys, marked, page, with_release
from screen import dataset, errors, mendable, metrics, said, tabs, widget

from dpcore import datasets
from dpcore.dashboard import controls, panels
from dpcore.domain.binarize import Binarization

PAGE = "networks"
CORRECTED, PAPER = (
    {label: name for label, (name, _) in controls.offered("networks", mode).items()} for mode in ("corrected", "paper")
)
HM = next(name for name in CORRECTED if name.startswith("HMPrivBayes"))
NO_PRIVACY = list(PAPER)[-1]
BOUNDED = data(max_rows=500)


def test_no_privacy_says_that_it_must_not_be_published(downloads: list) -> None:
    assert "No noise at all" in said(choose(page(), "paper", NO_PRIVACY))
    at = with_release("Price", "paper", NO_PRIVACY, BOUNDED)
    assert "not to be published" in said(at)
    assert marked(tab(at, "Clusters"))[-1]
    assert "may be shown" not in said(at)
    tab(at, "Take home")
    assert b"do not publish" in files(downloads[-1]())["README.md"]
    assert not marked(with_release("Clusters", "paper", "HMPrivBayes", BOUNDED))[-1]


def test_hmprivbayes_as_printed_is_told_apart_by_its_factors() -> None:
    at = released(choose(page(datasets.load("sample")), "paper", "HMPrivBayes"), n_clusters=3)
    half = len(Binarization(dataset(at).schema).schema) // 2
    text = said(tab(at, "Price"))
    assert half == 25
    assert "as if different pairs held different people. Everybody is in every pair. Claimed: epsilon" in text
    assert f"**{half} times** as much" in text
    assert "**3 times** as much" in text
    assert "It can cost up to: no limit." in text
    assert dict(metrics(at))["It can cost up to"] == "no limit"
    assert errors(at) == ["No finite epsilon can be proved for this run."]


def test_paper_mode_knows_one_relation_and_does_not_call_wrong_what_is_right() -> None:
    at = page(BOUNDED)
    assert asked(at)["relation"] == "add_remove"
    for variant in PAPER:
        text = said(choose(at, "paper", variant))
        assert ("the paper is right" in text) == variant.startswith("PrivBayes"), variant
        assert ("proof is wrong" in text) == (PAPER[variant] in ("HMPrivBayes", "PrivSCBN", "JTree")), variant
        assert asked(at)["relation"] == "replace"
        assert "relation" not in keys(at)
        assert len(widget(at, "networks.relation.replace").options) == 1
    assert "change one row's values" in said(at)
    assert asked(change(at, mode="corrected"))["relation"] == "add_remove"


def test_f_is_for_bits_and_for_three_parents() -> None:
    at = change(choose(page(BOUNDED), "corrected", "PrivBayes on bits"), max_parents=4)
    assert widget(at, "networks.score.PrivBayes.binary").value == "F"
    assert asked(at)["max_parents"] == 3
    assert shown(released(at)).release.parameters["max_parents"] == 3
    widget(at, "networks.score.PrivBayes.binary").set_value("MI")
    assert asked(run(at))["max_parents"] == 4
    choose(at, "corrected", "PrivBayes on columns")
    assert not [o for o in widget(at, "networks.score.PrivBayes.general").options if o.startswith("F")]


@pytest.mark.parametrize("variant", [HM, "PrivSCBN (reconstructed): clusters by Jaccard's index"])
def test_entropies_need_a_public_bound(variant: str) -> None:
    at = with_release()
    first = shown(at)
    change(choose(at, "corrected", variant), relation="add_remove")
    (error,) = mendable(at)
    for text in ("public bound on the number of rows", "max_rows", "relation replace"):
        assert text in error
    assert widget(at, "networks.run").disabled
    assert "public bound on the number of rows" in widget(at, "networks.run").help
    assert shown(at) is first
    assert "Network" in tabs(at)
    released(change(at, relation="replace"))
    assert shown(at).release.method == variant.partition(":")[0].removesuffix(" (reconstructed)")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "variant"), [("corrected", name) for name in CORRECTED] + [("paper", p) for p in PAPER]
)
def test_every_variant_goes_without_a_class_and_with_a_single_bit(mode: str, variant: str) -> None:
    """Of a single bit there is no pair."""
    for frame in (people(), people()[["ill"]]):
        at = released(choose(page(data(frame, target=None, max_rows=500)), mode, variant))
        assert list(shown(at).release.synthetic) == list(frame)
        for name in ("Network", "Clusters", "Take home"):
            assert not mendable(tab(at, name)), name


@pytest.mark.parametrize(("mode", "variant"), [("corrected", HM), ("paper", "JTree"), ("paper", NO_PRIVACY)])
def test_the_reference_without_noise_is_for_the_screen(mode: str, variant: str) -> None:
    at = with_release("Accuracy", mode, variant, BOUNDED)
    trained = set(shown(at).memory["accuracy"]["trained_on"])
    assert ("same method, no noise" in trained) == (variant != NO_PRIVACY)
    assert trained >= {"released", "real"}
    if variant != NO_PRIVACY:
        assert type(panels.noiseless(shown(at))).__name__ == (CORRECTED if mode == "corrected" else PAPER)[variant]


def test_a_delta_is_explained_and_stands_beside_every_epsilon() -> None:
    at = choose(page(BOUNDED), "corrected", "Independent margins: every column by itself")
    assert "one in 1,000,000,000" not in said(at)
    at = change(at, delta=1e-9)
    assert "one in 1,000,000,000" in said(at)
    assert "epsilon 1 at delta 1e-09" in said(at)
    at = released(at)
    labels = [label for label, _ in metrics(at)]
    assert "Claimed, at delta 1e-09" in labels
    assert "It can cost up to, at delta 1e-09" in labels
    assert "Questions are paid in rho, which adds up: 0.015 in all." in said(tab(at, "Price"))
    assert not errors(at)
    tab(at, "Network")
    assert shown(at).release.structure["families"][0].keys() >= {"rho"}
    assert "delta" not in keys(choose(at, "paper", NO_PRIVACY))

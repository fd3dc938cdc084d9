"""Released trees as tables of nodes: hand-worked, and epsilon by level against the budgets that methods were given."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.errors import ParameterError
from dpcore.methods import DiffPRFs, NaiveBayesSynthesizer, SuLQID3
from dpcore.postprocess import forest_frames

NONE = np.nan
CUT = np.floor(4.05 / 10 * 2**32)  # of ten bins of ages, 40.5


@pytest.fixture(scope="module")
def grown(small_frame, small_schema):
    return DiffPRFs(epsilon=20.0, n_trees=3, max_depth=4, random_state=2).fit(small_frame, schema=small_schema)


@pytest.fixture(scope="module")
def forest(grown):
    """Two trees: one asks age, then a letter of the older; the other is a leaf."""
    numbers = {"tree": [0, 1, 0, 0, 0, 0, 0, 0], "level": [0, 0, 1, 1, 2, 2, 2, 2], "fanout": [2, 0, 0, 4, 0, 0, 0, 0]}
    numbers |= {"parent": [-1, -1, 0, 0, 3, 3, 3, 3], "first": [2, 0, 0, 4, 0, 0, 0, 0]}
    numbers |= {"column": [2, -1, -1, 0, -1, -1, -1, -1]}
    classes = np.array([[70.0, 30], [99, 0], [60, 0], [10, 30], [1, 9], [2, 8], [3, 7], [4, 6]])
    return replace(
        grown.forest_,
        **{name: np.array(values) for name, values in numbers.items()},
        cut=np.array([CUT, *[NONE] * 7]),
        low=np.array([0.0, NONE, NONE, 0.0, *[NONE] * 4]),
        noisy=np.array([101.0, 99.0, 61.5, -3.0, NONE, 8.0, 9.0, 10.0]),
        counts=classes.sum(axis=1),
        classes=classes,
        probabilities=classes / classes.sum(axis=1, keepdims=True),
        spent=np.array([0.1, 1.0, 1.0, 0.4, 1.0, 1.0, 1.0, 1.0]),
    )


def test_a_tree_by_hand(forest):
    frame = forest_frames.nodes(forest)
    assert frame["place"].tolist() == [0, 2, 3, 4, 5, 6, 7]
    assert frame["parent"].tolist() == [-1, 0, 0, 3, 3, 3, 3]
    assert frame["level"].tolist() == [0, 1, 1, 2, 2, 2, 2]
    assert frame["text"].tolist() == ["age", "", "a.b[0]:Q", "", "", "", ""]
    assert frame["side"].tolist() == ["", "≤ 40", "> 40", "x", "y", "<b>z</b>", "(missing)"]
    assert frame["edge"].tolist()[:4] == ["", "age ≤ 40", "age > 40", "a.b[0]:Q: x"]
    assert frame["class"].tolist() == ["no", "no", "yes", "yes", "yes", "yes", "yes"]
    assert frame["share"].tolist() == pytest.approx([0.7, 1.0, 0.75, 0.9, 0.8, 0.7, 0.6])
    assert frame["leaf"].tolist() == [False, True, False, True, True, True, True]
    assert frame["spent"].tolist() == [0.1, 1.0, 0.4, 1.0, 1.0, 1.0, 1.0]
    assert frame["noisy"].tolist()[:3] == [101.0, 61.5, -3.0]
    assert frame["counts"].tolist()[:3] == [100.0, 60.0, 40.0]
    assert not frame["folded"].any()
    leaf = forest_frames.nodes(forest, 1)
    assert leaf[["place", "parent", "text", "side", "class"]].to_numpy().tolist() == [[1, -1, "", "", "no"]]


def test_deep_levels_are_folded_and_counted(forest):
    for most, places, folded in (
        (7, [0, 2, 3, 4, 5, 6, 7], [0] * 7),
        (3, [0, 2, 3], [4, 0, 4]),
        (2, [0, 2], [5, 0]),  # the largest child
        (1, [0], [6]),
    ):
        frame = forest_frames.nodes(forest, most=most)
        assert (frame["place"].tolist(), frame["folded"].tolist()) == (places, folded)
        assert frame["leaf"].tolist() == [place not in (0, 3) for place in places]
    for asked in ({"tree": 2}, {"tree": -1}, {"most": 0}):
        with pytest.raises(ParameterError):
            forest_frames.nodes(forest, **asked)


def test_levels_sum_to_the_account_of_one_tree(small_frame, small_schema):
    inside = np.log(1 + (np.exp(1 / 3) - 1) / 0.25)  # of a sample: ln(1 + g (e^x - 1)) = 1/3
    for chosen, spent, account, per_tree in (
        ({"relation": "replace"}, 0.5, "3 trees on disjoint rows", True),  # a record leaves one node and enters another
        ({"resample": "full", "relation": "replace"}, 1 / 6, "3 trees, each", True),
        ({"resample": "full", "n_trees": 1}, 1.0, "one tree", False),
        ({"split_selection": "two_stage", "count_share": 0.5, "max_depth": 4}, 1.0, "3 trees on disjoint rows", False),
        ({"resample": "poisson", "rate": 0.25}, inside, "3 trees, each: a random 25 % of the rows", True),
    ):
        asked = {"epsilon": 1.0, "n_trees": 3, "max_depth": 3, "random_state": 1, **chosen}
        fitted = DiffPRFs(**asked).fit(small_frame, schema=small_schema)
        frame = forest_frames.budget(fitted.ledger_)
        for kind in ("epsilon_nominal", "epsilon_claimed"):
            assert frame[kind].sum() == pytest.approx(spent, rel=1e-6), chosen
        assert (set(frame["account"]), set(frame["per_tree"])) == ({account}, {per_tree})
        assert frame["level"].is_monotonic_increasing
        assert set(frame["purpose"]) <= {"counts of records", "choices", "classes in leaves"}
        assert frame["purpose"].iloc[-1] == "classes in leaves"
        assert not frame.duplicated(["level", "purpose"]).any()
        # The way is one that a record can take: the deepest leaf has spent as much.
        assert fitted.forest_.spent.max() == pytest.approx(spent)


def test_what_paper_mode_looks_at_unprotected_is_infinite_on_its_level(small_frame, small_schema):
    method = DiffPRFs(mode="published", epsilon=1.0, n_trees=2, max_depth=2, random_state=1)
    ledger = method.fit(small_frame, schema=small_schema).ledger_
    frame = forest_frames.budget(ledger).set_index(["level", "purpose"])
    assert frame["epsilon_claimed"].sum() == pytest.approx(0.5)
    assert [frame.loc[(level, "other"), "epsilon_nominal"] for level in (0, 1)] == [np.inf] * 2
    assert frame.loc[(0, "counts of records"), "epsilon_nominal"] == pytest.approx(0.5 / 6)


def test_single_trees_spend_evenly_and_other_methods_have_no_levels(small_frame, small_schema):
    steps = [(0, "counts of records"), (0, "choices"), (1, "counts of records"), (1, "classes in leaves")]
    for method, expected in ((SuLQID3(max_depth=1), steps), (NaiveBayesSynthesizer(), [(-1, "other")])):
        frame = forest_frames.budget(method.fit(small_frame, schema=small_schema).ledger_)
        assert frame["epsilon_nominal"].sum() == pytest.approx(method.epsilon)
        assert list(zip(frame["level"], frame["purpose"], strict=True)) == expected
    assert forest_frames.budget(Ledger("replace")).empty


def entry(name, epsilon, claimed=None):
    kind = {"mechanism": "laplace", "sensitivity": 1.0, "claimed_sensitivity": 1.0, "scale": 1.0}
    claimed = epsilon if claimed is None else claimed
    return Entry(name=name, epsilon_claimed=claimed, epsilon_nominal=epsilon, **kind)


def test_disjoint_parts_count_once_and_the_longest_of_the_dearest():
    ledger = Ledger("add_remove")
    root = ledger.child("one tree")
    root.charge(entry("level 0: records", 1))
    group = root.parallel("", by="value")
    stop, long, cheap = group.part("leaves of level 0"), group.part(""), group.part("")
    stop.charge(entry("level 0: classes in leaves", 5))
    long.charge(entry("level 0: division, by Max", 2), entry("level 1: records", 1))
    long.charge(entry("level 1: classes in leaves", 2, claimed=1))
    cheap.charge(entry("level 0: division, by Max", 4))
    root.charge(entry("levels that no tree reached", 0, claimed=3))
    frame = forest_frames.budget(ledger).set_index(["level", "purpose"])
    noise, claimed = (frame[kind][frame[kind] > 0] for kind in ("epsilon_nominal", "epsilon_claimed"))
    steps = [(0, "counts of records"), (0, "choices"), (1, "counts of records"), (1, "classes in leaves")]
    assert noise.to_dict() == dict(zip(steps, [1.0, 2.0, 1.0, 2.0], strict=True))
    # By the claim, the way that stops at once is the dearest, and what was not asked belongs to no level.
    assert claimed.to_dict() == {steps[0]: 1.0, (0, "classes in leaves"): 5.0, (-1, "other"): 3.0}
    assert frame.index[-1][0] == -1
    assert (ledger.epsilon_claimed, ledger.epsilon_bound) == (claimed.sum(), noise.sum()) == (9.0, 6.0)

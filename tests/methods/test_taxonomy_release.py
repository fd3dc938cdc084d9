"""TaxonomyRelease: steps and budgets by hand, and releases with a huge epsilon."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from bit_tables import total
from grouped import RELATIONS, A, C, Y, make_frame

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import make_noise
from dpcore.methods import TaxonomyRelease
from dpcore.methods.groups.base import leaf_share
from dpcore.postprocess.count_tree import group_queries

HUGE = 1e9
SCHEMA = Schema(
    columns=(A, Column(name="b", kind="integer", lower=0, upper=4, bins=5), C, Y), target="y", max_rows=10_000
)
# The block of each code on each level of a column, worked out by hand: 5 bins fall into 2 and 3, those into 2 and 1.
BLOCKS = {
    "a": [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]],
    "b": [[0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 2, 2, 3], [0, 1, 2, 3, 4]],
    "c": [[0, 0, 0], [0, 1, 2]],
    "y": [[0, 0], [0, 1]],
}
DEPTHS = {"a": 2, "b": 3, "c": 1}
IN_TURN = [("a", 1), ("b", 1), ("c", 1), ("y", 1), ("a", 2), ("b", 2), ("b", 3)]


WAYS = [({}, "add_remove"), ({"iterations": 2}, "replace"), ({"measure": "leaves"}, "add_remove")]
FRAME = make_frame(400, schema=SCHEMA, at=2)


def fit(frame=FRAME, schema=SCHEMA, **parameters):
    """Fit with levels in the order of choice and equal shares, unless a test says otherwise."""
    patent = {"epsilon": 1.0, "noise": "laplace", "order": "chosen", "level_shares": "equal"}
    return TaxonomyRelease(**{"random_state": 0, **patent, **parameters}).fit(frame, schema=schema)


def entries(method):
    chosen = [entry for entry in method.ledger_.entries if entry.mechanism == "exponential"]
    return chosen, [entry for entry in method.ledger_.entries if entry.mechanism != "exponential"]


def test_columns_take_turns_without_a_class():
    method = fit(with_class=False)
    assert (method.steps_, method.target_) == (IN_TURN, None)
    assert [p.size for p in method.tree_.partitions] == [1, 2, 4, 12, 24, 48, 96, 120]
    for (name, level), partition in zip(method.steps_, method.tree_.partitions[1:], strict=True):
        assert partition.axes[SCHEMA.index(name)].blocks.tolist() == BLOCKS[name][level]
    assert method.tree_.partitions[1].axes[0].names == ("left", "right")
    assert method.tree_.partitions[2].axes[1].names == ("0–1", "2–4")
    chosen, counted = entries(method)
    assert (chosen, total(counted)) == ([], 1)
    names = [entry.name for entry in counted[:3]]
    assert names == ["number of rows", "counts of a (level 1)", "counts of a (level 1) × b (level 1)"]


def grouped(codes, levels):
    groups = [np.array(BLOCKS[name][level])[codes[:, SCHEMA.index(name)]] for name, level in levels.items()]
    return pd.crosstab(groups, codes[:, 3]).to_numpy()


@pytest.mark.parametrize(("relation", "score"), [("add_remove", "Max"), ("replace", "Max"), ("replace", "entropy")])
def test_the_best_column_is_chosen_at_a_huge_epsilon(score, relation):
    frame = make_frame(400, 1, SCHEMA, at=2)
    method, codes = fit(frame, epsilon=HUGE, score=score, relation=relation), SCHEMA.encode(frame)

    def value(levels):
        table = grouped(codes, levels)
        shares = table / table.sum(axis=1, keepdims=True)
        return table.max(axis=1).sum() if score == "Max" else (table * np.log2(np.where(table, shares, 1))).sum()

    levels = dict.fromkeys(DEPTHS, 0)
    for name, level in method.steps_:
        deeper = [other for other, before in levels.items() if before < DEPTHS[other]]
        worth = {other: value(levels | {other: levels[other] + 1}) for other in deeper}
        assert worth[name] == pytest.approx(max(worth.values()), abs=1e-6)
        levels[name] += 1
        assert levels[name] == level
    assert levels == DEPTHS
    assert method.steps_[0] == ("b", 1)


def test_the_class_is_the_last_level_and_no_candidate():
    method = fit(epsilon=HUGE)
    *inner, last = method.tree_.partitions
    assert all("y" not in partition.divided_columns for partition in inner)
    assert "y" not in dict(method.steps_)
    assert (last.size, last.axes[3].names) == (2 * inner[-1].size, ("no", "yes"))


def test_no_step_makes_more_leaves_than_allowed():
    for most in (2, 11, 24, 120):
        method = fit(max_leaves=most, iterations=20, epsilon=HUGE)
        leaves, levels = method.tree_.leaves.size, dict.fromkeys(DEPTHS, 0) | dict(method.steps_)
        assert leaves <= most
        for name, depth in DEPTHS.items():  # and no further step would have fitted
            if levels[name] < depth:
                before, after = (max(BLOCKS[name][level]) + 1 for level in (levels[name], levels[name] + 1))
                assert leaves // before * after > most, (most, name)


@pytest.mark.parametrize(
    ("shares", "noise", "relation"),
    [
        ("equal", "geometric", "replace"),
        ("geometric", "laplace", "add_remove"),
        ((3, 0, 1, 0, 2), "laplace", "add_remove"),
        ((3, 0, 1, 0, 2), "geometric", "replace"),
    ],
)
def test_every_level_gets_its_share(shares, noise, relation):
    method = fit(with_class=False, iterations=4, level_shares=shares, relation=relation, noise=noise, epsilon=0.7)
    sizes, person = [1, 2, 4, 12, 24], 2 if relation == "replace" else 1
    weights = {"equal": [1.0] * 5, "geometric": [size ** (1 / 3) for size in sizes]}.get(shares, shares)
    weights = [0, *weights[1:]] if relation == "replace" else weights
    expected = [0.7 * weight / sum(weights) for weight in weights]
    assert method.level_epsilons_ == pytest.approx(expected)
    _, counted = entries(method)
    assert [float(entry.epsilon_nominal) for entry in counted] == pytest.approx([e for e in expected if e])
    for level, (epsilon, size) in enumerate(zip(expected, sizes, strict=True)):
        found = method.tree_.variances[level], method.tree_.noisy[level].size
        if epsilon:
            assert found == (pytest.approx(make_noise(noise, 0).variance(person / epsilon)), size)
        elif level or relation == "add_remove":
            assert found == (math.inf, 0)


@pytest.mark.parametrize(("most", "steps", "choices"), [(1_000, 5, 2), (16, 3, 2), (8, 2, 2), (7, 1, 1)])
def test_choices_of_a_single_candidate_leave_their_epsilon_to_the_counts(most, steps, choices, watched):
    """The class depends on the halves of a: these come first, then a's codes (a tie), then b alone."""
    frame = FRAME.assign(y=np.where(FRAME["a"].isin(["a2", "a3"]), "yes", "no"))[["a", "b", "y"]]
    method = fit(frame, schema=SCHEMA.select(["a", "b", "y"]), max_leaves=most, iterations=8)
    assert method.steps_ == [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3)][:steps]
    chosen, counted = entries(method)
    assert [n for n, _ in watched.chosen] == [2] * choices
    assert [entry.epsilon_nominal for entry in chosen] == [Fraction(1, 16)] * choices
    assert total(counted) == 1 - Fraction(choices, 16)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("measure", "with_class"), [("all", True), ("all", False), ("leaves", True)])
def test_published_mode_charges_every_level_the_whole_share(measure, with_class, relation):
    how = {"mode": "published", "measure": measure, "with_class": with_class, "relation": relation, "iterations": 4}
    how["max_per_attribute"] = "levels"
    method, other = fit(**how), fit(**how, level_shares="leaves first", order="coarse")  # published mode ignores both
    assert (other.level_epsilons_, other.levels_) == (method.level_epsilons_, method.levels_)
    chosen, counted = entries(method)
    levels = 1 if measure == "leaves" else 5 + with_class - (relation == "replace")
    share = Fraction(1, 2) if with_class else Fraction(1)
    assert [entry.epsilon_nominal for entry in counted] == [share] * levels
    assert [entry.epsilon_claimed for entry in counted] == [share / levels] * levels
    assert [e for e in method.level_epsilons_ if e] == [float(share)] * levels
    assert all(("add up" in entry.reason) == (levels > 1) for entry in counted)
    # The mechanism's general form charges twice what a monotone score such as Max loses.
    assert total(chosen) == pytest.approx(with_class / (2 if relation == "replace" else 4))
    assert method.ledger_.epsilon_nominal == pytest.approx(float(total(chosen) + levels * share))


@pytest.mark.parametrize(("most", "steps", "people"), [(None, IN_TURN[:4], 35), ("levels", IN_TURN, 60)])
def test_published_leaves_are_of_columns_split_once_or_once_per_level(most, steps, people):
    """And the patent's example, ages of 20, 30, 40 and 50 at a grain of 10, needs all levels without any noise."""
    published = fit(mode="published", with_class=False, max_per_attribute=most)
    assert published.steps_ == steps
    assert published.ledger_.epsilon_claimed == published.ledger_.epsilon_nominal == 1
    assert [epsilon > 0 for epsilon in published.level_epsilons_] == [False] * len(steps) + [True]
    assert (published.tree_.consistent.counts[-1] == published.tree_.noisy[-1]).all()  # the adjustment changes nothing
    table = PrivateTable(SCHEMA.encode(FRAME), SCHEMA, Ledger("add_remove"), make_noise("laplace", 0))
    assert published.measurements(table)[0].sizes == published.tree_.leaves.shape  # the forecast has the same sizes
    ages = Schema(columns=(Column(name="age", kind="integer", lower=0, upper=79, bins=8),), max_rows=100)
    rows = pd.DataFrame({"age": [25, 35, 45, 55, 55, 55, 75] * 10})
    tree = fit(rows, ages, mode="published", max_per_attribute=most, epsilon=HUGE).tree_
    assert tree.answers([RangeQuery.from_codes({"age": [2, 3, 4, 5]})]) == pytest.approx(people)  # or half of all 70


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("columns", "finest"), [(5, 2), (3, 0), (2, None), (1, None)])
def test_shares_of_leaves_first(columns, finest, relation):
    """Levels of 1, 10, 100, ... nodes: the leaves get 10/11, and the level with 1,000 leaves per node is the other."""
    names = "abcde"[:columns]
    digits = [Column(name=name, kind="categorical", categories=tuple("0123456789")) for name in names]
    frame = pd.DataFrame("1", index=range(5), columns=list(names))
    method = fit(frame, schema=Schema(columns=tuple(digits)), relation=relation, level_shares="leaves first")
    inner = {0, finest} - {None, 0 if relation == "replace" else None}
    above = [1 / 11 / len(inner) if level in inner else 0 for level in range(columns)]
    assert method.level_epsilons_ == pytest.approx([*above, 10 / 11 if inner else 1])
    assert total(method.ledger_.entries) == 1


def test_coarse_levels_come_first():
    """By the taxonomy's level, then by how many parts a node falls into: c has 3, the others 2, b's third 5/4."""
    chosen, coarse = fit(with_class=False), fit(with_class=False, order="coarse")
    assert chosen.levels_ == chosen.steps_ == coarse.steps_ == IN_TURN
    assert coarse.levels_ == [("a", 1), ("b", 1), ("y", 1), ("c", 1), ("a", 2), ("b", 2), ("b", 3)]
    assert [p.size for p in coarse.tree_.partitions] == [1, 2, 4, 8, 24, 48, 96, 120]


@pytest.mark.parametrize("measure", ["all", "leaves"])
def test_the_root_is_public_under_replace(measure):
    method = fit(relation="replace", epsilon=0.1, measure=measure, non_negative=False)
    assert (method.tree_.noisy[0].tolist(), method.tree_.variances[0], method.level_epsilons_[0]) == ([400], 0, 0)
    assert len(method.sample()) == method.rows_ == 400 == pytest.approx(method.leaf_counts_.sum())


def exact_table(method, frame):
    codes = SCHEMA.encode(frame)
    blocks = [axis.blocks[codes[:, j]] for j, axis in enumerate(method.tree_.leaves.axes)]
    counts = np.zeros(method.tree_.leaves.shape)
    np.add.at(counts, tuple(blocks), 1)
    return counts


@pytest.mark.parametrize(("extra", "relation"), WAYS)
def test_a_huge_epsilon_gives_the_true_counts(extra, relation):
    method = fit(epsilon=HUGE, relation=relation, **extra)
    exact = exact_table(method, FRAME)
    np.testing.assert_allclose(method.leaf_counts_, exact.ravel(), atol=1e-4)
    for noisy, partition in zip(method.tree_.noisy, method.tree_.partitions, strict=True):
        if len(noisy):
            sums = np.bincount(method.tree_.leaves.parents(partition), weights=exact.ravel())
            np.testing.assert_allclose(noisy, sums, atol=1e-4)
    made = exact_table(method, method.sample(400))
    for j in range(4):
        others = tuple(i for i in range(4) if i != j)
        np.testing.assert_allclose(made.sum(axis=others), exact.sum(axis=others), atol=2)


def test_without_consistency_the_leaves_are_the_noisy_ones_and_the_nearest_of_0_or_more():
    free, method = (fit(consistency=False, non_negative=sign, epsilon=0.3) for sign in (False, True))
    noisy, kept = method.tree_.noisy[-1], method.leaf_counts_ > 0
    np.testing.assert_array_equal(free.leaf_counts_, noisy)
    assert noisy.min() < 0 == method.leaf_counts_.min()
    assert np.ptp((noisy - method.leaf_counts_)[kept]) < 1e-9  # all are shifted by the same number
    assert method.leaf_counts_.sum() == pytest.approx(max(noisy.sum(), 0))
    weights = method.leaf_counts_ / method.leaf_counts_.sum()
    for one in (free, method):  # negative ones cannot be drawn from
        assert one.rows_ == max(method.tree_.noisy[0][0], 0)
        assert np.abs(exact_table(one, one.sample(2_000)).ravel() - 2_000 * weights).max() <= 1


GRID = Schema(
    columns=tuple(Column(name=n, kind="integer", lower=0, upper=k - 1, bins=k) for n, k in (("a", 32), ("b", 16))),
    max_rows=2_000,
)
NOISES = [(0.1, "geometric", "replace"), (5.0, "geometric", "add_remove"), (20.0, "laplace", "replace")]
CELLS = [RangeQuery.from_codes({"a": [a], "b": [b]}) for a in range(0, 32, 16) for b in range(0, 16, 2)]


@pytest.mark.parametrize(("epsilon", "noise", "relation"), NOISES)
def test_leaves_first_bounds_the_deviation_for_every_noise(epsilon, noise, relation):
    how = {"epsilon": epsilon, "relation": relation, "noise": noise, "with_class": False, "iterations": 9}
    rows = pd.DataFrame(np.random.default_rng(8).integers(0, [32, 16], (1_000, 2)), columns=["a", "b"])
    leaves_first, alone = (
        TaxonomyRelease(**how, **extra, random_state=1).fit(rows, schema=GRID).tree_
        for extra in ({}, {"measure": "leaves"})
    )
    queries = [query.code_masks(GRID) for query in group_queries(leaves_first, 60) + CELLS]
    variances = [
        np.array([tree.consistent.query_variance(tree.leaves.weights(sets)) for sets in queries])
        for tree in (leaves_first, alone)
    ]
    assert leaves_first.whole_noise == (noise == "geometric")
    assert (variances[0] <= (1.1 * (1 + 1e-6)) ** 2 * variances[1]).all()


def test_continuous_noise_leaves_a_tenth_of_a_share_and_whole_numbers_less():
    def share(noise, epsilon):
        table = PrivateTable(SCHEMA.encode(FRAME), SCHEMA, Ledger("add_remove"), make_noise(noise, 0))
        return leaf_share(table, epsilon)

    assert share("laplace", 1.0) == pytest.approx(10 / 11)
    assert share("geometric", 0.01) == pytest.approx(10 / 11, abs=1e-3)
    assert share("geometric", 1.0) < share("geometric", 5.0) < share("geometric", 20.0)
    assert share("geometric", 20.0) > 0.98

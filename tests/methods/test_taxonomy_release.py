"""TaxonomyRelease: steps and budgets by hand, noise-free releases, and that nothing but answers shapes a release."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from bit_tables import total
from grouped import RELATIONS, A, C, Y

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.mechanisms.noise import make_noise
from dpcore.methods import TaxonomyRelease

HUGE = 1e9
SCHEMA = Schema(
    columns=(A, Column(name="b", kind="integer", lower=0, upper=4, bins=5), C, Y), target="y", max_rows=10_000
)
# Per level of a column, the block of each code, worked out by hand: 5 bins fall into 2 and 3, those into 2 and 1.
BLOCKS = {
    ("a", 1): [0, 0, 1, 1],
    ("a", 2): [0, 1, 2, 3],
    ("b", 1): [0, 0, 1, 1, 1],
    ("b", 2): [0, 1, 2, 2, 3],
    ("b", 3): [0, 1, 2, 3, 4],
    ("c", 1): [0, 1, 2],
}
DEPTHS = {"a": 2, "b": 3, "c": 1}
IN_TURN = [("a", 1), ("b", 1), ("c", 1), ("y", 1), ("a", 2), ("b", 2), ("b", 3)]


def make_frame(rows=400, seed=0):
    """The class hangs on b, more weakly on a, and not on c."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, size, rows) for size in SCHEMA.sizes])
    codes[:, 3] = (codes[:, 1] >= 2) ^ (rng.random(rows) < np.where(codes[:, 0] == 3, 0.5, 0.2))
    return SCHEMA.decode(codes.astype(np.uint8), rng)


FRAME = make_frame()


def codes_of(frame):
    return SCHEMA.encode(frame).astype(int)


def fit(frame=FRAME, schema=SCHEMA, **parameters):
    """As the patent is read, unless a test says otherwise: levels as they were chosen, all of them measured alike."""
    patent = {"epsilon": 1.0, "noise": "laplace", "order": "chosen", "level_shares": "equal"}
    return TaxonomyRelease(**{"random_state": 0, **patent, **parameters}).fit(frame, schema=schema)


def entries(method):
    """The choices, and the counts."""
    chosen = [entry for entry in method.ledger_.entries if entry.mechanism == "exponential"]
    return chosen, [entry for entry in method.ledger_.entries if entry.mechanism != "exponential"]


# Steps


def test_columns_take_turns_without_a_class():
    method = fit(with_class=False)
    assert method.steps_ == IN_TURN
    assert method.target_ is None
    assert [p.size for p in method.tree_.partitions] == [1, 2, 4, 12, 24, 48, 96, 120]
    chosen, counted = entries(method)
    assert not chosen
    for step, partition in zip(method.steps_, method.tree_.partitions[1:], strict=True):
        assert partition.axes[SCHEMA.index(step[0])].blocks.tolist() == BLOCKS.get(step, [0, 1])
    assert method.tree_.partitions[1].axes[0].names == ("left", "right")
    assert method.tree_.partitions[2].axes[1].names == ("0–1", "2–4")
    names = [entry.name for entry in counted[:3]]
    assert names == ["number of rows", "counts of a (level 1)", "counts of a (level 1) × b (level 1)"]
    assert total(counted) == 1
    assert fit(with_class=False, iterations=3).steps_ == IN_TURN[:3]
    no_class = Schema(columns=SCHEMA.columns)
    assert fit(schema=no_class).steps_ == IN_TURN
    assert fit(schema=no_class, target="y").target_ == "y"
    fanned = fit(with_class=False, fanout=5)  # for numbers without a taxonomy
    assert fanned.steps_ == IN_TURN[:5]
    once, twice = (fit(max_per_attribute=most, with_class=False) for most in (1, 2))
    assert (once.steps_, twice.steps_) == (IN_TURN[:4], IN_TURN[:6])


def grouped(codes, levels):
    """Counts of groups and classes, by plain grouping."""
    groups = [np.array(BLOCKS[name, level])[codes[:, SCHEMA.index(name)]] for name, level in levels.items() if level]
    return pd.crosstab(groups, codes[:, 3]).to_numpy()


@pytest.mark.parametrize(("relation", "score"), [("add_remove", "Max"), ("replace", "Max"), ("replace", "entropy")])
def test_the_best_column_is_chosen_at_a_huge_epsilon(score, relation):
    frame = make_frame(seed=1)
    method, codes = fit(frame, epsilon=HUGE, score=score, relation=relation), codes_of(frame)

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
    assert all("y" not in partition.family for partition in inner)
    assert last.size == 2 * inner[-1].size
    assert "y" not in dict(method.steps_)
    assert last.axes[3].names == ("no", "yes")


@pytest.mark.parametrize("with_class", [True, False])
def test_no_step_makes_more_leaves_than_allowed(with_class):
    depths = DEPTHS if with_class else DEPTHS | {"y": 1}
    for most in (2, 3, 11, 24, 47, 120):
        method = fit(max_leaves=most, with_class=with_class, iterations=20, epsilon=HUGE)
        assert method.tree_.leaves.size <= most
        levels = dict.fromkeys(depths, 0) | dict(method.steps_)
        for name, depth in depths.items():  # and no step was left that would have fitted
            if levels[name] < depth:
                before = max(BLOCKS.get((name, levels[name]), [0])) + 1
                after = max(BLOCKS.get((name, levels[name] + 1), [1])) + 1
                assert method.tree_.leaves.size // before * after > most, (most, name)


# Budgets


@pytest.mark.parametrize(
    ("shares", "noise", "relation"),
    [("equal", "geometric", "replace"), ("geometric", "laplace", "add_remove")]
    + [((3, 0, 1, 0, 2), noise, relation) for noise, relation in zip(["laplace", "geometric"], RELATIONS, strict=True)],
)
def test_every_level_gets_its_share(shares, noise, relation):
    method = fit(with_class=False, iterations=4, level_shares=shares, relation=relation, noise=noise, epsilon=0.7)
    sizes = [1, 2, 4, 12, 24]
    weights = {"equal": [1.0] * 5, "geometric": [size ** (1 / 3) for size in sizes]}.get(shares, shares)
    if relation == "replace":
        weights = [0, *weights[1:]]
    expected = [0.7 * weight / sum(weights) for weight in weights]
    assert method.level_epsilons_ == pytest.approx(expected)
    _, counted = entries(method)
    assert [float(entry.epsilon_of_noise) for entry in counted] == pytest.approx([e for e in expected if e])
    source, person = make_noise(noise, 0), 2 if relation == "replace" else 1
    for level, (epsilon, size) in enumerate(zip(expected, sizes, strict=True)):
        if epsilon:
            assert method.tree_.variances[level] == pytest.approx(source.variance(person / epsilon))
            assert method.tree_.noisy[level].shape == (size,)
        elif level or relation == "add_remove":
            assert method.tree_.variances[level] == math.inf
            assert method.tree_.noisy[level].size == 0


@pytest.mark.parametrize(("most", "steps", "choices"), [(1_000, 5, 2), (16, 3, 2), (8, 2, 2), (7, 1, 1), (4, 1, 1)])
def test_choices_that_are_none_leave_their_share_to_the_counts(most, steps, choices, watched):
    """The class hangs on the halves of a: they come first, its codes next (a tie), and then b has no rival."""
    frame = FRAME.assign(y=np.where(FRAME["a"].isin(["a2", "a3"]), "yes", "no"))[["a", "b", "y"]]
    method = fit(frame, schema=SCHEMA.select(["a", "b", "y"]), max_leaves=most, iterations=8)
    assert method.steps_ == [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3)][:steps]
    chosen, counted = entries(method)
    assert [n for n, _ in watched.chosen] == [2] * choices
    assert [entry.epsilon_of_noise for entry in chosen] == [Fraction(1, 16)] * choices
    assert total(counted) == 1 - Fraction(choices, 16)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("with_class", [True, False])
@pytest.mark.parametrize("measure", ["all", "leaves"])
def test_paper_mode_books_every_level_at_the_whole_share(measure, with_class, relation):
    how = {"mode": "paper", "measure": measure, "with_class": with_class, "relation": relation, "iterations": 4}
    how["max_per_attribute"] = 9
    method, other = fit(**how), fit(**how, level_shares="leaves first", order="coarse")  # which it knows nothing of
    assert (other.level_epsilons_, other.levels_) == (method.level_epsilons_, method.levels_)
    chosen, counted = entries(method)
    levels = 1 if measure == "leaves" else 5 + with_class - (relation == "replace")
    share = Fraction(1, 2) if with_class else Fraction(1)
    assert [entry.epsilon_of_noise for entry in counted] == [share] * levels
    assert [entry.epsilon_claimed for entry in counted] == [share / levels] * levels
    assert [e for e in method.level_epsilons_ if e] == [float(share)] * levels
    assert all(("adds up" in entry.reason) == (levels > 1) for entry in counted)
    # The mechanism's general form, which is twice too careful where Max only rises.
    choices = Fraction(1, 2) * with_class
    assert total(chosen) == pytest.approx(float(choices if relation == "replace" else choices / 2))
    assert method.ledger_.epsilon_of_noise == pytest.approx(float(total(chosen) + levels * share))


def test_paper_mode_counts_the_leaves_of_columns_that_were_divided_once():
    printed = fit(mode="paper", with_class=False, iterations=9)
    assert printed.steps_ == IN_TURN[:4]
    assert printed.ledger_.epsilon_claimed == printed.ledger_.epsilon_of_noise == 1
    assert [epsilon > 0 for epsilon in printed.level_epsilons_] == [False] * 4 + [True]


# Leaves first, and coarse levels first: the defaults


def wide(names, size):
    columns = [Column(name=n, kind="categorical", categories=tuple(map(str, range(size)))) for n in names]
    return Schema(columns=tuple(columns))


@pytest.mark.parametrize("relation", RELATIONS)
def test_leaves_first(relation):
    """Levels of 1, 10, 100, ... nodes: the leaves get 10/11, and the level with 1,000 leaves per node is the other."""
    for columns, finest in ((5, 2), (4, 1), (3, 0), (2, None), (1, None)):
        schema = wide("abcde"[:columns], 10)
        frame = pd.DataFrame("1", index=range(5), columns=list(schema.names))
        method = fit(frame, schema=schema, relation=relation, level_shares="leaves first")
        inner = {0, finest} - {None, 0 if relation == "replace" else None}
        above = [1 / 11 / len(inner) if level in inner else 0 for level in range(columns)]
        assert method.level_epsilons_ == pytest.approx([*above, 10 / 11 if inner else 1]), columns
        assert total(method.ledger_.entries) == 1


def test_coarse_levels_come_first():
    """By the taxonomy's level, then by how many parts a node falls into: c has 3, the others 2, b's third 5/4."""
    chosen, coarse = fit(with_class=False), fit(with_class=False, order="coarse")
    assert chosen.levels_ == chosen.steps_ == coarse.steps_ == IN_TURN
    assert coarse.levels_ == [("a", 1), ("b", 1), ("y", 1), ("c", 1), ("a", 2), ("b", 2), ("b", 3)]
    assert [p.size for p in coarse.tree_.partitions] == [1, 2, 4, 8, 24, 48, 96, 120]


# What is counted, and what comes out


@pytest.mark.parametrize("with_class", [True, False])
def test_the_root_is_public_under_replace(with_class):
    method = fit(relation="replace", with_class=with_class, epsilon=0.1)
    assert (method.tree_.noisy[0].tolist(), method.tree_.variances[0], method.level_epsilons_[0]) == ([400], 0, 0)
    assert method.generalized()["(rows)"].sum() == len(method.sample()) == method.rows_ == 400
    leaves = fit(relation="replace", with_class=with_class, epsilon=0.1, measure="leaves", non_negative=False)
    assert leaves.leaf_counts_.sum() == pytest.approx(400) == method.leaf_counts_.sum()


def exact_table(method, frame):
    """The leaves' exact counts by plain grouping."""
    codes = codes_of(frame)
    blocks = [axis.blocks[codes[:, j]] for j, axis in enumerate(method.tree_.leaves.axes)]
    counts = np.zeros(method.tree_.leaves.shape)
    np.add.at(counts, tuple(blocks), 1)
    return counts


@pytest.mark.parametrize(
    ("extra", "relation"),
    [
        ({}, "add_remove"),
        ({"with_class": False}, "replace"),
        ({"iterations": 2}, "replace"),
        ({"measure": "leaves"}, "add_remove"),
        ({"consistency": False}, "replace"),
    ],
)
def test_a_huge_epsilon_gives_the_table_itself(extra, relation):
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
    noisy = method.tree_.noisy[-1]
    np.testing.assert_array_equal(free.leaf_counts_, noisy)
    assert (noisy < 0).any()
    assert method.rows_ == free.rows_ == max(method.tree_.noisy[0][0], 0)
    kept = method.leaf_counts_ > 0
    assert method.leaf_counts_.min() == 0
    assert np.ptp((noisy - method.leaf_counts_)[kept]) < 1e-9  # all moved by the same
    assert method.leaf_counts_.sum() == pytest.approx(max(noisy.sum(), 0))
    weights = method.leaf_counts_ / method.leaf_counts_.sum()
    for one in (free, method):  # negative ones cannot be drawn from
        assert np.abs(exact_table(one, one.sample(2_000)).ravel() - 2_000 * weights).max() <= 1

"""Forests: what they predict, what their counts say, pruning, budgets, and the forest without noise."""

import math
from itertools import pairwise

import numpy as np
import pytest
from forests import ROWS, SAME, SCHEMA, STUMP, assert_equal, grown, make_rows, plain, stump_of

from dpcore.domain.splits import NumberSplit
from dpcore.errors import DataError
from dpcore.methods import DiffPC45, DiffPRFs, NonPrivateForest
from dpcore.methods.trees.grow import PathBudget, make_forest
from dpcore.postprocess.forest import pessimistic_errors, prune_forest


def test_the_plain_forest_is_the_limit_node_by_node():
    for resample, criterion, steps, noise in (
        ("full", "Gini", "joint", "laplace"),
        ("disjoint", "Max", "two_stage", "geometric"),
        ("poisson", "Gini", "two_stage", "laplace"),
        ("poisson", "Max", "joint", "geometric"),
    ):
        how = {"resample": resample, "criterion": criterion, "split_selection": steps, "noise": noise, "rate": 0.5}
        how |= {"cuts": "bins" if noise == "geometric" else "numbers", "count_share": 0.3}
        one, other = grown(epsilon=1e9, **how), plain(**how)
        for name in ("tree", "level", "parent", "column", "first", "fanout", "cut", "low"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), err_msg=f"{name} {how}")
        np.testing.assert_allclose(one.classes, other.classes, atol=1e-4)
        np.testing.assert_array_equal(other.classes, np.rint(other.classes))
        new = make_rows(150, 9)
        np.testing.assert_array_equal(one.probability(new).argmax(axis=1), other.probability(new).argmax(axis=1))
        roots = other.counts[other.level == 0]
        assert resample == "poisson" or (roots if resample == "full" else roots.sum()) == pytest.approx(len(ROWS))
        assert len(one.tree) > 20
    # Its counts are the rows in its leaves.
    forest, labels = plain(resample="full"), SCHEMA["y"].encode(ROWS["y"])
    table = np.zeros(forest.classes.shape)
    for leaves in forest.apply(ROWS).T:
        np.add.at(table, (leaves, labels), 1)
    np.testing.assert_allclose(forest.classes[forest.leaf], table[forest.leaf], atol=1e-9)


def slow_leaf(forest, row, codes, index):
    """The leaf of one row, one question after the other; what these send where is for `tests/domain/test_splits.py`."""
    while forest.column[index] >= 0:
        position = int(forest.column[index])
        attribute, value = forest.attributes[position], codes[[position]]
        if isinstance(attribute, NumberSplit):
            value = attribute.ticks(np.array([row[position]], dtype=float))
        child = int(attribute.side(value, forest.cut[[index]], forest.low[[index]])[0])
        assert 0 <= child < forest.fanout[index]
        index = int(forest.first[index] + child)
    return index


@pytest.mark.parametrize("how", [("numbers", "grouped", "majority"), ("bins", "values", "probability")])
def test_predictions_are_those_of_a_slow_walk(how):
    forest = grown(**dict(zip(("cuts", "children", "vote"), how, strict=True)), n_trees=4, max_depth=5)
    assert len(set(forest.column.tolist())) >= 6  # every kind of question is asked
    new = make_rows(40, 3)
    rows = list(zip(new.to_numpy(), SCHEMA.encode(new), strict=True))
    expected = np.array([[slow_leaf(forest, *row, tree) for tree in range(4)] for row in rows])
    np.testing.assert_array_equal(forest.apply(new.drop(columns="y")), expected)
    shares = forest.probabilities[expected]
    votes = np.eye(3)[shares.argmax(axis=2)] if how[2] == "majority" else shares
    np.testing.assert_allclose(forest.probability(new), votes.mean(axis=1), atol=1e-12)
    assert forest.apply(new.iloc[:0]).shape == (0, 4)
    with pytest.raises(DataError, match="grade"):
        forest.apply(new.drop(columns="grade"))


def test_children_sum_to_their_parents_and_none_is_negative():
    for noise, count_share in (("laplace", 0.0), ("geometric", 0.4)):
        forest = grown(epsilon=2.0, count_share=count_share, noise=noise, n_trees=2, max_depth=3)
        assert min(forest.classes.min(), forest.probabilities.min()) >= 0
        np.testing.assert_allclose(forest.classes.sum(axis=1), forest.counts)
        np.testing.assert_allclose(forest.probabilities.sum(axis=1), 1)
        for index in np.flatnonzero(~forest.leaf):
            children = forest.classes[forest.parent == index]
            np.testing.assert_allclose(children.sum(axis=0), forest.classes[index], atol=1e-9)


def test_paper_leaves_say_what_their_own_noisy_counts_do(monkeypatch):
    """The largest wins, also where all are below 0."""
    levels = []

    def watched(grown_levels, *args, **how):
        levels.extend(grown_levels)
        return make_forest(grown_levels, *args, **how)

    monkeypatch.setattr("dpcore.methods.trees.base.make_forest", watched)
    model = DiffPRFs(mode="published", epsilon=0.6, n_trees=4, max_depth=2, random_state=0)
    forest = model.fit(ROWS.iloc[:60], schema=SCHEMA).forest_
    noisy = np.concatenate([level.class_counts for level in levels])[forest.leaf]
    assert (noisy < 0).all(axis=1).any()
    np.testing.assert_array_equal(forest.votes[forest.leaf].argmax(axis=1), noisy.argmax(axis=1))
    np.testing.assert_allclose(forest.classes[forest.leaf], np.maximum(noisy, 0))


def test_empty_leaves_take_after_their_parents_and_no_rows_make_a_forest_all_the_same():
    """Without noise, children without rows say what their parent does; a chain of them what the last full one does."""
    rows = ROWS[ROWS["grade"].isin(["low", "mid"])]
    forest = NonPrivateForest(**SAME, resample="full", categorical_splits="values").fit(rows, schema=SCHEMA).forest_
    empty = np.flatnonzero((forest.counts == 0) & (forest.parent >= 0))
    assert len(empty)
    np.testing.assert_allclose(forest.probabilities[empty], forest.probabilities[forest.parent[empty]])
    for count_share in (0.0, 0.4):
        model = DiffPRFs(**SAME, epsilon=1.0, count_share=count_share)
        forest = model.fit(ROWS.iloc[:0], schema=SCHEMA).forest_
        np.testing.assert_allclose(forest.probability(ROWS).sum(axis=1), 1)
    forest = NonPrivateForest(**SAME, resample="full").fit(ROWS.iloc[:0], schema=SCHEMA).forest_
    np.testing.assert_allclose(forest.probabilities, 1 / 3)
    assert not forest.importance().any()


def test_importance_is_the_share_of_impurity_reduction():
    shares = grown().importance()
    assert shares.sum() == pytest.approx(1)
    assert list(shares.index) == [name for name in SCHEMA.names if name != "y"]
    assert shares.idxmax() == "age"
    # One division by hand: 4 rows (2, 2) into (2, 0) and (0, 2) by the first column, nothing else.
    assert STUMP.importance().tolist() == [1.0, 0, 0, 0, 0, 0]
    assert not stump_of([[2, 2, 0], [1, 1, 0], [1, 1, 0]]).importance().any()


def test_pessimistic_errors_are_those_of_quinlan_and_the_binomial_limit():
    """The first two are C4.5's own examples; for the last the book has .157, because it interpolates."""
    hand = {(6, 0): 6 * 0.206, (9, 0): 9 * 0.143, (1, 0): 0.75, (2, 0): 1, (4, 4): 4, (3, 9): 3, (0, 0): 0}
    hand[16, 1] = 16 * 0.1596
    assert pessimistic_errors(*np.array(list(hand)).T) == pytest.approx(list(hand.values()), rel=5e-3)
    counts, errors = np.array([5.0, 20, 100, 7.5, 1e-3]), np.array([1.0, 3, 40, 0.25, 0.0])
    limits = pessimistic_errors(counts, errors) / counts
    for n, e, p in zip(counts[:3].astype(int), errors[:3].astype(int), limits[:3], strict=True):
        assert sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(e + 1)) == pytest.approx(0.25)
    assert ((limits > errors / counts) & (limits <= 1)).all()


def test_a_split_is_kept_where_it_reduces_errors():
    kept = prune_forest(stump_of([[20, 20, 0], [20, 0, 0], [0, 20, 0]]))
    assert kept.column.tolist() == [0, -1, -1]
    # The same class on both sides: 40 records without an error promise less than twice 20.
    gone = prune_forest(stump_of([[40, 0, 0], [20, 0, 0], [20, 0, 0]]))
    assert (gone.column.tolist(), gone.first.tolist(), gone.fanout.tolist()) == ([-1], [0], [0])
    assert np.isnan(gone.cut).all()
    assert gone.classes.tolist() == [[40, 0, 0]]


def test_pruned_trees_are_forests_with_no_more_nodes(seeds):
    wholes, new = [grown()], make_rows(50, 6)
    for seed in seeds(2):
        how = {"epsilon": 3.0, "random_state": seed, "max_depth": 4}
        wholes.append(DiffPC45(**how, prune=False).fit(ROWS, schema=SCHEMA).forest_)
        assert_equal(DiffPC45(**how).fit(ROWS, schema=SCHEMA).forest_, prune_forest(wholes[-1]))
    for whole in wholes:
        less, promised = prune_forest(whole), []
        assert_equal(prune_forest(less), less)
        assert (np.bincount(less.tree) <= np.bincount(whole.tree)).all()
        for forest in (less, whole):
            leaves = forest.classes[forest.leaf]
            promised.append(pessimistic_errors(leaves.sum(axis=1), leaves.sum(axis=1) - leaves.max(axis=1)).sum())
        assert promised[0] <= promised[1] + 1e-9  # by its own numbers the pruned forest promises no more errors
        # Every row ends in its old leaf or an ancestor of it, with that one's counts.
        for old, now in zip(whole.apply(new).ravel(), less.apply(new).ravel(), strict=True):
            above = [old]
            while whole.parent[above[-1]] >= 0:
                above.append(whole.parent[above[-1]])
            assert less.classes[now].tolist() in whole.classes[above].tolist()


def test_budgets_add_up_on_every_path():
    budgets = {}
    for depth, growth in ((1, 1.0), (2, 0.1), (5, 10.0), (20, 1.4)):
        for refund in (True, False):
            budgets[depth, refund] = PathBudget.equal(0.7, depth, refund=refund)
        shared = budgets[depth, "shared"] = PathBudget.from_shares(0.7, depth, counts=0.25, leaves=0.3, growth=growth)
        assert float(sum(shared.counts)) == pytest.approx(0.25 * 0.7)
        assert float(shared.leaves[-1]) == pytest.approx(0.3 * 0.7)
        ratios = [float(b / a) for a, b in pairwise(shared.choices)]
        assert ratios == pytest.approx([growth] * (depth - 1))
    for (depth, how), budget in budgets.items():
        ways = [budget.path_loss(level) for level in range(depth + 1)]
        assert ways[-1] == budget.total
        assert all(way == budget.total if how else way < budget.total for way in ways[:-1])
        assert all(spent > 0 for spent in (*budget.counts, *budget.choices, *budget.leaves))

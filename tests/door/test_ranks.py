"""Order of a column's numbers: cells, selected thresholds, and counts between thresholds."""

import numpy as np
import pytest
from private_rows import Listening
from scipy.special import log_softmax

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.door import Door
from dpcore.door.ranks import PrivateRanks, RankCells
from dpcore.mechanisms.noise import make_noise

AGE = Column("age", "integer", lower=18, upper=90, bins=4)
COST = Column("cost", "continuous", lower=-5.0, upper=1_000.0, bins=4)


@pytest.mark.parametrize("column", [AGE, COST], ids=lambda column: column.name)
def test_every_number_is_between_the_ends_of_its_cell(column):
    rng = np.random.default_rng(1)
    numbers = rng.uniform(column.lower, column.upper, 5_000)
    numbers = np.floor(numbers) if column.whole else numbers
    numbers[:2] = column.lower, column.upper
    for groups in (1, 3, 700):
        cells = RankCells.of_column(column, groups)
        index = cells.index((numbers - column.lower) / (column.upper - column.lower), rng.random(len(numbers)))
        low, high = cells.ends(index)
        assert index.min() >= 0
        assert index.max() < cells.size
        assert (low <= numbers + 1e-9).all()
        assert (numbers <= high + 1e-9).all()
        assert not column.whole or (low == high).all()  # whole numbers are told apart


def test_missing_numbers_are_in_no_cell():
    cells = RankCells.of_column(AGE, 1)
    assert cells.index(np.array([np.nan, 0.0]), np.array([0.9, 0.0])).tolist() == [-1, 0]


def private(counts, noise=None, relation="add_remove", delta=0.0):
    ledger = Ledger(relation, delta=delta)
    return ledger, PrivateRanks(Door(ledger, noise or Listening()), "age by all", np.array(counts))


def test_without_noise_the_cut_of_a_target_is_selected():
    _, ranks = private([[5, 0, 5, 10], [0, 8, 8, 0]])
    low, high = np.array([[0, 2], [0, 2]]), np.array([[2, 4], [2, 4]])
    found = ranks.choose(low, high, np.array([[1.0, 1 / 3], [0.0, 1.0]]), epsilon=1)
    assert found.tolist() == [[1, 3], [0, 3]]
    counts, scale = ranks.counts(found, epsilon=0.5)
    assert counts.tolist() == [[5, 5, 10], [0, 16, 0]]
    assert scale == 2


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_no_selection_is_more_probable_by_more_than_epsilon(relation):
    rng, worst = np.random.default_rng(2), 0.0
    low, high = np.array([[0, 3]]), np.array([[3, 6]])
    for _ in range(200):
        counts, targets = rng.integers(0, 4, (1, 6)), rng.random((1, 2))
        other = counts.copy()
        other[0, rng.integers(6)] += 1
        if relation == "replace":
            counts[0, rng.integers(6)] += 1
        chances = []
        for own in (counts, other):
            noise = Listening()
            private(own, noise, relation)[1].choose(low, high, targets, epsilon=1)
            (scores, groups, _), (scale,) = noise.choices[0], noise.scales
            chances.append([log_softmax(scores[groups == node] / scale) for node in (0, 1)])
        worst = max(worst, sum(float(np.abs(a - b).max()) for a, b in zip(*chances, strict=True)))
    assert 0.6 < worst <= 1 + 1e-9


@pytest.mark.parametrize(("relation", "delta", "rate"), [("add_remove", 0, 1.0), ("replace", 0, 0.5)])
def test_selections_of_all_nodes_cost_epsilon_once(relation, delta, rate):
    noise = Listening()
    ledger, ranks = private([[1, 2, 3, 4]], noise, relation, delta)
    ranks.choose(np.array([[0, 2]]), np.array([[2, 4]]), np.array([[0.5, 0.5]]), epsilon=1)
    assert ledger.epsilon_bound == 1
    assert noise.scales == [pytest.approx(1 / rate)]


def test_nodes_that_share_cells_are_refused():
    _, ranks = private([[1, 2, 3, 4]])
    with pytest.raises(ValueError, match="overlap"):
        ranks.choose(np.array([[0, 1]]), np.array([[2, 4]]), np.array([[0.5, 0.5]]), epsilon=1)


def test_with_epsilon_0_cuts_are_uniform_and_counts_0():
    _, ranks = private([[0, 0, 0, 1_000]], make_noise("laplace", 1))
    found = [int(ranks.choose(np.array([[0]]), np.array([[4]]), np.array([[0.9]]), epsilon=0)[0, 0]) for _ in range(40)]
    assert len({*found}) == 5
    assert ranks.counts(np.array([[2]]), epsilon=0)[0].tolist() == [[0, 0]]

"""Conditionals by hand, margins, and rows sampled from networks whose tables are known."""

from itertools import permutations, product

import numpy as np
from scipy import stats

from dpcore.domain.binarize import Binarization
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.postprocess.bayes_net import conditional, contained, margin, sample_binarized, sample_network
from dpcore.rows import joint_counts

ALARM = 1e-4  # seeded; were the seeds drawn afresh, each such assertion would fail once in 10,000


def fresh(seed=0):
    return np.random.default_rng(seed)


def test_conditionals_by_hand():
    # child x parent; parent 0: 3 and 1; parent 1: a negative cell counts as 0; parent 2: no rows.
    table = np.array([[3.0, -2.0, 0.0], [1.0, 6.0, -1.0]])
    # Over all parents the child has 3 and 7.
    np.testing.assert_allclose(conditional(table), [[0.75, 0.25], [0.0, 1.0], [0.3, 0.7]])
    assert table[0, 1] == -2
    np.testing.assert_allclose(conditional(np.array([1.0, 3.0, -5.0])), [[0.25, 0.75, 0.0]])
    np.testing.assert_allclose(conditional(np.array([[-1.0, 0.0], [-2.0, 0.0], [0.0, 0.0]])), np.full((2, 3), 1 / 3))
    # Smoothing is spread over all cells: 4 rows over 4 cells, one each.
    np.testing.assert_allclose(conditional(np.array([[5.0, 0.0], [0.0, -9.0]]), 4.0), [[6 / 7, 1 / 7], [0.5, 0.5]])
    deep = np.arange(12.0).reshape(2, 3, 2)  # the order of the parents' cells is that of the axes
    np.testing.assert_allclose(conditional(deep), (deep / deep.sum(axis=0)).reshape(2, 6).T)


def test_margins_have_the_axes_that_are_asked_for():
    table = fresh().normal(size=(3, 5, 2, 4))  # of columns b, d, a and c
    for wanted in (wanted for k in range(5) for wanted in permutations(range(4), k)):
        found = margin(table, tuple("bdac"), tuple("abcd"[place] for place in wanted))
        np.testing.assert_allclose(found, np.einsum(table, [1, 3, 0, 2], list(wanted)))
    assert contained(("a", "b"), ("c", "b", "a"))
    assert contained((), ("a",))
    assert not contained(("a", "d"), ("c", "b", "a"))


NETWORK = [("a",), ("c", "a"), ("b", "c", "a"), ("d", "b", "a"), ("e",)]
SIZES = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 1}


def test_counts_of_each_child_given_its_parents_are_the_expected_ones_rounded(seeds):
    # Smoothing reaches cells without rows: a sixth of 300, 25 of 150.
    assert sample_network(("a",), [("a",)], [np.array([100.0, 0.0])], 300, fresh(), 50.0).sum() == 50
    for seed, n in product(seeds(4), (1, 37, 1000)):
        rng, names = fresh(seed), tuple(SIZES)
        tables = [rng.gamma(0.7, 20, [SIZES[name] for name in family]) for family in NETWORK]
        tables = [np.where(rng.random(table.shape) < 0.3, -3.0, table) for table in tables]
        codes = sample_network(names, NETWORK, tables, n, rng)
        assert codes.shape == (n, 5)
        assert (codes < list(SIZES.values())).all()
        for family, table in zip(NETWORK, tables, strict=True):
            (counts,) = joint_counts(codes, list(SIZES.values()), [[names.index(name) for name in family]])
            given_parents = counts.reshape(len(counts), -1).T
            expected = given_parents.sum(axis=1, keepdims=True) * conditional(table)
            assert (np.abs(given_parents - expected) < 1 + 1e-9).all()


def test_children_of_one_parent_are_independent_given_it():
    """Each draw has an order of its own; with one order for all, the children would be equal here.

    Tables of 2 x 2 have margins that are fixed by design: the corner is hypergeometric, 12.5 with a variance of 3.2.
    """
    families, half = [("p",), ("x", "p"), ("y", "p")], np.full((2, 2), 50.0)
    corners, rng = [], fresh(1)
    for _ in range(200):
        codes = sample_network(("p", "x", "y"), families, [half.sum(axis=0), half, half], 100, rng)
        for parent in (0, 1):
            _, x, y = codes[codes[:, 0] == parent].T
            assert x.sum() == y.sum() == 25
            corners.append((x & y).sum())
    assert abs(np.mean(corners) - 12.5) < 0.5
    assert 2.2 < np.var(corners) < 4.4


def binarization_of(*sizes):
    columns = [Column(name=f"c{i}", kind="integer", lower=0, upper=n - 1, bins=n) for i, n in enumerate(sizes)]
    return Binarization(Schema(columns=tuple(columns)))


def patterns_of(values, binarization):
    """Bits of numbers that may stand for no code, one array per column."""
    bits = [
        value[:, None] >> np.arange(len(group) - 1, -1, -1) & 1
        for value, group in zip(values, binarization.groups, strict=True)
    ]
    return np.hstack(bits).astype(np.uint8)


class Sampler:
    """Bits of independent columns, and how often they were asked for."""

    def __init__(self, binarization, probabilities, seed=0):
        self.binarization, self.probabilities, self.rng, self.asked = binarization, probabilities, fresh(seed), []

    def __call__(self, rows, smoothing):
        self.asked.append((rows, smoothing))
        values = [self.rng.choice(len(p), size=rows, p=p) for p in self.probabilities]
        return patterns_of(values, self.binarization)


def test_few_rejections_give_the_distribution_among_the_rows_that_exist():
    """Size 3 with its fourth pattern at 10%, beside a column that depends on nothing."""
    binarization = binarization_of(3, 2)
    sampler = Sampler(binarization, [[0.5, 0.3, 0.1, 0.1], [0.25, 0.75]], seed=5)
    codes = sample_binarized(binarization, sampler, 5_000, fresh())
    (table,) = joint_counts(codes, [3, 2], [(0, 1)])
    expected = 5_000 * np.outer(np.array([5, 3, 1]) / 9, [0.25, 0.75])
    assert stats.chisquare(table.ravel(), expected.ravel()).pvalue > ALARM
    assert {smoothing for _, smoothing in sampler.asked} == {0.0}
    assert all(rows >= 100 for rows, _ in sampler.asked)


def test_a_hopeless_case_ends_soon_with_codes_that_exist():
    """Twenty columns of size 5 with uniform bits: one row in 12,000 is whole."""
    for n in (1, 400):
        sampler = Sampler(binarization_of(*[5] * 20), [np.full(8, 1 / 8)] * 20)
        codes = sample_binarized(sampler.binarization, sampler, n, fresh())
        assert codes.shape == (n, 20)
        assert (codes < 5).all()
        assert len(sampler.asked) <= 60
        assert sorted({smoothing for _, smoothing in sampler.asked}) == [0.0, 0.01, 0.02, 0.04, 0.08, 0.16]
    # each column has the codes that the sampler gave it
    assert stats.chisquare(np.bincount(codes.ravel(), minlength=5)).pvalue > ALARM


def test_repaired_rows_take_codes_that_the_sampler_gave_the_column_and_otherwise_any():
    never, once = [0, 0, 0, 0, 0, 0, 0, 1.0], [0, 0.1, 0, 0.2, 0, 0, 0, 0.7]
    sampler = Sampler(binarization_of(5, 2, 5), [never, [1.0, 0.0], once])
    codes = sample_binarized(sampler.binarization, sampler, 400, fresh())
    assert codes.shape == (400, 3)
    assert len(sampler.asked) == 6
    assert set(codes[:, 0].tolist()) == set(range(5))
    assert not codes[:, 1].any()
    one, three = (codes[:, 2] == 1).sum(), (codes[:, 2] == 3).sum()
    assert one + three == 400
    assert abs(three / 400 - 2 / 3) < 0.12


def test_no_drawn_row_is_given_out_twice():
    """One whole row in a hundred: it is kept once, and is not among the rows that are mended."""
    binarization = binarization_of(5, 1024)
    serial = iter(range(1, 1024))  # whole rows have a number of their own, the others 0

    def draw(rows, smoothing):
        whole = np.arange(rows) % 100 == 0
        numbers = np.array([next(serial) if here else 0 for here in whole])
        return patterns_of([np.where(whole, 2, 7), numbers], binarization)

    codes = sample_binarized(binarization, draw, 400, fresh())
    assert len(codes) == 400
    assert np.bincount(codes[:, 1])[1:].max() == 1


def test_smoothing_that_helps_is_used():
    binarization = binarization_of(3)

    def draw(rows, smoothing):  # whole rows come only once the tables are smoothed by 4% or more
        return patterns_of([np.full(rows, 2 if smoothing >= 0.04 else 3)], binarization)

    assert sample_binarized(binarization, draw, 10, fresh()).tolist() == [[2]] * 10

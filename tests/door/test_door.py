"""Answers through the door have the distributions that their prices were computed from.

All draws are seeded, so these tests either always pass or always fail. False-alarm rate: were the seeds drawn afresh,
each assertion would fail for right code about once in 10,000 (p-values below ALARM); some 30 assertions.
"""

import numpy as np
import pytest
from scipy import stats

from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.scores import ClassLogScore, Max, R
from dpcore.mechanisms.scores.naive_bayes import class_log_scores

ALARM = 1e-4
SENSITIVITY = {"add_remove": 1, "replace": 2}
WIDE = Schema(columns=(Column(name="bin", kind="integer", lower=0, upper=4_999, bins=5_000),), max_rows=100)
BITS = Schema(
    columns=(
        Column(name="a", kind="categorical", categories=("0", "1")),
        Column(name="b", kind="categorical", categories=("0", "1", "2")),
        Column(name="y", kind="categorical", categories=("0", "1", "2")),
    ),
    target="y",
    max_rows=100,
)


def door(codes, schema, relation, kind="laplace", seed=0):
    return PrivateTable(codes, schema, Ledger(relation), make_noise(kind, seed))


def rows(n=12, seed=5):
    rng = np.random.default_rng(seed)
    return np.asfortranarray(rng.integers(0, [2, 3, 3], size=(n, 3)).astype(np.uint8))


@pytest.mark.parametrize("relation", SENSITIVITY)
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_laplace_counts(relation, epsilon):
    """60,000 draws of Laplace noise of scale sensitivity / epsilon, enough to see a scale that is 10 % off."""
    codes = np.random.default_rng(1).integers(0, 5_000, size=(40, 1)).astype(np.uint16)
    table, exact = door(codes, WIDE, relation, seed=11), np.bincount(codes[:, 0], minlength=5_000)
    noise = np.concatenate([table.counts([("bin",)], epsilon=epsilon)[0] - exact for _ in range(12)])
    assert stats.kstest(noise, "laplace", args=(0, SENSITIVITY[relation] / epsilon)).pvalue > ALARM


def test_laplace_counts_of_many_families_have_their_own_scales():
    codes = rows()
    table = door(codes, BITS, "add_remove", seed=3)
    noise = {0: [], 1: []}
    exact = table._count([("a", "b"), ("y",)])
    for _ in range(600):
        for i, noisy in enumerate(table.counts([("a", "b"), ("y",)], epsilon=1.0, weights=[1.0, 3.0])):
            noise[i] += (noisy - exact[i]).ravel().tolist()
    assert stats.kstest(noise[0], "laplace", args=(0, 4.0)).pvalue > ALARM
    assert stats.kstest(noise[1], "laplace", args=(0, 4 / 3)).pvalue > ALARM
    first, second = np.array(noise[0]).reshape(600, 6), np.array(noise[1]).reshape(600, 3)
    assert stats.pearsonr(first[:, 0], first[:, 1]).pvalue > ALARM  # cells and families are independent
    assert stats.pearsonr(first[:, 0], second[:, 0]).pvalue > ALARM


@pytest.mark.parametrize("relation", SENSITIVITY)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_geometric_counts(relation, epsilon):
    codes = np.random.default_rng(1).integers(0, 5_000, size=(40, 1)).astype(np.uint16)
    table = door(codes, WIDE, relation, "geometric", seed=12)
    noise = np.concatenate(
        [table.counts([("bin",)], epsilon=epsilon)[0] - np.bincount(codes[:, 0], minlength=5_000) for _ in range(4)]
    )
    ratio = np.exp(-epsilon / SENSITIVITY[relation])
    reach = int(np.log(1e-3) / np.log(ratio)) + 1
    support = np.arange(-reach, reach + 1)
    shares = (1 - ratio) / (1 + ratio) * ratio ** np.abs(support)
    observed = np.array([(noise == k).sum() for k in support])
    rest = len(noise) - observed.sum(), 1 - shares.sum()
    found = stats.chisquare([*observed, rest[0]], len(noise) * np.array([*shares, rest[1]]))
    assert found.pvalue > ALARM


@pytest.mark.parametrize("relation", SENSITIVITY)
def test_noisy_scores(relation):
    codes = rows()
    table = door(codes, BITS, relation, seed=4)
    candidates = [("a", "b"), ("a", "y"), ("b", "y")]
    exact = R().values(table._count, candidates, table.relation)

    class Cheap(R):  # the same scores without counting the rows again
        def values(self, count, candidates, relation):
            return exact

    noise = np.array([table.noisy_scores(Cheap(), candidates, epsilon=1.5) - exact for _ in range(20_000)])
    step = 2.0 if relation == "add_remove" else 3 * 11 / 12**2
    assert stats.kstest(noise.ravel(), "laplace", args=(0, 3 * step / 1.5)).pvalue > ALARM


@pytest.mark.parametrize(("relation", "loss"), [("add_remove", 1), ("replace", 2)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_choices_of_families_are_the_exponential_mechanism(relation, loss, epsilon):
    """20,000 calls, as choose() makes one choice of families per call; Max has sensitivity 1 and is monotone."""
    codes = rows()
    table = door(codes, BITS, relation, seed=6)
    candidates = [("a", "y"), ("b", "y"), ("y", "a"), ("y", "y")]
    scores = Max().values(table._count, candidates, table.relation)
    weights = np.exp(epsilon * (scores - scores.max()) / loss)
    calls = 20_000

    class Cheap(Max):  # the same scores without counting the rows again
        def values(self, count, candidates, relation):
            return scores

    chosen = [int(table.choose(Cheap(), candidates, epsilon=epsilon)) for _ in range(calls)]
    observed = np.bincount(chosen, minlength=4)
    assert stats.chisquare(observed, calls * weights / weights.sum()).pvalue > ALARM
    assert table.ledger.epsilon_bound == pytest.approx(calls * epsilon)


@pytest.mark.parametrize(("relation", "factor"), [("add_remove", 1), ("replace", 2)])
@pytest.mark.parametrize("claimed", [None, 3.0])
def test_choices_of_labels_are_the_exponential_mechanism(relation, factor, claimed):
    """100,000 draws in one call: 6 public rows x, about 16,667 labels for each."""
    codes = rows()
    draws, epsilon = 100_000, 2.0
    every = np.array(list(np.ndindex(2, 3)), dtype=np.uint8)
    which = np.arange(draws) % 6
    score = ClassLogScore("y", ("a", "b"), every[which], 1.0)
    table = door(codes, BITS, relation, seed=8)
    chosen = table.choose(score, [], epsilon=epsilon, draws=draws, claimed_sensitivity=claimed)
    exponent = epsilon / (factor * 3 * np.log(2)) if claimed is None else epsilon / (2 * claimed)
    prior, *tables = table._count([("y",), ("y", "a"), ("y", "b")])
    q = exponent * class_log_scores(np.log(prior + 1), tables, every, 1.0)
    shares = np.exp(q) / np.exp(q).sum(axis=1, keepdims=True)
    observed = np.zeros((6, 3))
    np.add.at(observed, (which, chosen), 1)
    for x in range(6):
        assert stats.chisquare(observed[x], observed[x].sum() * shares[x]).pvalue > ALARM


def test_choices_at_epsilon_0_are_uniform():
    score = ClassLogScore("y", ("a", "b"), np.zeros((100_000, 2), dtype=np.uint8), 1.0)
    chosen = door(rows(), BITS, "add_remove", seed=9).choose(score, [], epsilon=0, draws=100_000)
    assert stats.chisquare(np.bincount(chosen, minlength=3)).pvalue > ALARM


@pytest.mark.parametrize("seed", range(3))
def test_the_price_of_scores_that_move_one_way_is_half(seed):
    """Exact probabilities on neighbors, all outcomes.

    One candidate's score moves by d, or all move the same way by at most d: every probability must stay within a
    factor exp(t d), not exp(2 t d). (In both cases no difference of two scores moves by more than d, which is enough.)
    """
    rng = np.random.default_rng(seed)
    factor = 1.3
    for _ in range(200):
        before = rng.normal(0, 2, size=rng.integers(2, 6))
        step = rng.choice([-1, 1]) * rng.random() * 2
        one = np.arange(len(before)) == rng.integers(len(before))
        for moved in (one, rng.random(len(before)), rng.random(len(before)) < 0.5):
            after = before + step * moved
            ratio = np.log(exponential(factor * after) / exponential(factor * before))
            assert np.abs(ratio).max() <= factor * abs(step) + 1e-9


def exponential(q):
    weights = np.exp(q - q.max())
    return weights / weights.sum()


def test_the_exponential_mechanism_is_what_exact_noise_draws():
    scores = np.array([1.0, 0.4, 0.0])
    draws = 4_000
    chosen = make_noise("opendp", None).select(np.tile(scores, (draws, 1)), 1.0)  # unseeded: false alarm 1e-6
    assert stats.chisquare(np.bincount(chosen, minlength=3), draws * exponential(scores)).pvalue > 1e-6

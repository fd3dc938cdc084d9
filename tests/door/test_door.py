"""Answers through the door have the distributions that their prices were computed from.

All draws are seeded, so these tests either always pass or always fail. False-alarm rate: were the seeds drawn afresh,
each assertion would fail for right code about once in 10,000 (p-values below ALARM); some 20 assertions.
"""

from fractions import Fraction

import numpy as np
import pytest
from private_rows import PEOPLE, RELATIONS, REPLACE
from scipy import stats

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import shares_of
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.scores import ClassLogScore, Max, R
from dpcore.mechanisms.scores.naive_bayes import class_log_scores

ALARM = 1e-4
WIDE = Schema(columns=(Column(name="bin", kind="integer", lower=0, upper=4_999, bins=5_000),), max_rows=100)
VALUES = {"a": ("0", "1"), "b": ("0", "1", "2"), "y": ("0", "1", "2")}
NARROW = Schema(
    columns=tuple(Column(name=name, kind="categorical", categories=values) for name, values in VALUES.items()),
    target="y",
    max_rows=100,
)
FEW = np.random.default_rng(1).integers(0, 5_000, size=(40, 1)).astype(np.uint16)
ROWS = np.asfortranarray(np.random.default_rng(5).integers(0, [2, 3, 3], size=(12, 3)).astype(np.uint8))


def door(relation, seed, *, codes=ROWS, schema=NARROW):
    return PrivateTable(codes, schema, Ledger(relation), make_noise("laplace", seed))


def in_rho(relation, seed, *, codes=ROWS, schema=NARROW):
    noise = make_noise("laplace", seed, 0, "gaussian")
    return PrivateTable(codes, schema, Ledger(relation, delta=1e-9), noise, unprotected_allowed=True)


def noise_on_counts(relation, epsilon, seed, times=4, **how):
    """20,000 draws, enough to see a scale that is 10% off; a row of them for each table."""
    table = door(relation, seed, codes=FEW, schema=WIDE)
    families, exact = [("bin",)] * len(how.get("weights", "1")), np.bincount(FEW[:, 0], minlength=5_000)
    asked = [np.array(table.counts(families, epsilon=epsilon, **how)) - exact for _ in range(times)]
    return np.concatenate(asked, axis=1)


def test_noise_on_counts_and_scores():
    for relation, epsilon in (("add_remove", 0.1), (REPLACE, 2.0)):
        (noise,) = noise_on_counts(relation, epsilon, seed=11)
        assert stats.kstest(noise, "laplace", args=(0, RELATIONS[relation] / epsilon)).pvalue > ALARM, relation
    first, second = noise_on_counts("add_remove", 1.0, seed=3, times=2, weights=[1.0, 3.0])
    assert stats.kstest(first, "laplace", args=(0, 4.0)).pvalue > ALARM
    assert stats.kstest(second, "laplace", args=(0, 4 / 3)).pvalue > ALARM
    for one, other in ((first, second), (first[:-1], first[1:])):  # families and cells are independent
        assert stats.pearsonr(one, other).pvalue > ALARM
    for relation, step in (("add_remove", 2.0), (REPLACE, 3 * 11 / 12**2)):
        table, candidates = door(relation, seed=4), [("a", "b"), ("a", "y"), ("b", "y")] * 5_000
        exact = np.tile(R().values(table._count, candidates[:3], table.relation), 5_000)
        noise = table.noisy_scores(R(), candidates, epsilon=1.5) - exact
        assert stats.kstest(noise, "laplace", args=(0, 15_000 * step / 1.5)).pvalue > ALARM, relation


def test_noise_in_rho_is_gaussian_by_what_one_person_moves_in_squares():
    """A table of counts by 1, or by 1 in each of two cells; three scores by their sensitivity each."""
    for relation, squared in (("add_remove", 1), (REPLACE, 2)):
        table, exact = in_rho(relation, 7, codes=FEW, schema=WIDE), np.bincount(FEW[:, 0], minlength=5_000)
        small, large = np.array(table.counts([("bin",)] * 2, epsilon=0.004, weights=[1.0, 3.0])) - exact
        for noise, rho in ((small, 0.001), (large, 0.003)):
            sigma = (squared / (2 * rho)) ** 0.5
            assert stats.kstest(noise, "norm", args=(0, sigma)).pvalue > ALARM, relation
        assert [entry.epsilon_nominal for entry in table.ledger.entries] == shares_of(0.004, [1.0, 3.0])
        assert {(entry.sensitivity, entry.mechanism) for entry in table.ledger.entries} == {(squared**0.5, "gaussian")}
        assert table.cell_variance(0.002) == pytest.approx(squared / 0.004)
    for relation, step in (("add_remove", 2.0), (REPLACE, 3 * 11 / 12**2)):
        table, candidates = in_rho(relation, 4), [("a", "b"), ("a", "y"), ("b", "y")] * 5_000
        exact = np.tile(R().values(table._count, candidates[:3], table.relation), 5_000)
        noise = table.noisy_scores(R(), candidates, epsilon=1.5) - exact
        assert stats.kstest(noise, "norm", args=(0, step * (15_000 / 3) ** 0.5)).pvalue > ALARM, relation


def test_choices_in_rho_have_an_exponent_that_moves_by_the_root_of_eight_rho():
    table, votes = in_rho("add_remove", 9), np.array([2.0, 0.0, 1.0])

    class Told(Max):
        """Scores that are told, many times over; one person moves each by 1, one way."""

        def values(self, count, candidates, relation):
            return np.tile(votes, (20_000, 1))

    chosen = table.choose(Told(), [("a", "y")] * 3, epsilon=0.02, draws=20_000)
    expected = np.exp((8 * 0.02) ** 0.5 * votes)
    assert stats.chisquare(np.bincount(chosen), 20_000 * expected / expected.sum()).pvalue > ALARM
    assert table.ledger.totals.bound == 20_000 * Fraction(0.02)
    with pytest.raises(ParameterError, match="pure epsilon"):
        table.choose(Told(), [("a", "y")] * 3, epsilon=0.02, claimed_sensitivity=2.0)


def test_what_has_no_price_in_rho_is_refused_before_it_is_charged():
    table = in_rho(REPLACE, 1)
    for ask in (
        lambda: table.trees("y", {}, trees=1, epsilon=0.1),
        lambda: table.randomize(None),
        lambda: table.unprotected("why", claimed_epsilon=1.0),
    ):
        with pytest.raises(ParameterError):
            ask()
    assert not table.ledger.entries
    with pytest.raises(ParameterError, match="law of the ledger"):
        PrivateTable(ROWS, NARROW, Ledger(REPLACE, delta=1e-9), make_noise("laplace", 1))


def test_choices_of_families_are_the_exponential_mechanism():
    """Max has sensitivity 1 and is monotone."""
    candidates, draws = [("a", "y"), ("b", "y"), ("y", "a"), ("y", "y")], 20_000

    class Often(Max):
        def values(self, *asked):
            return np.tile(super().values(*asked), (draws, 1))

    for (relation, loss), epsilon in zip(RELATIONS.items(), (0.2, 1.0), strict=True):
        table = door(relation, seed=6)
        scores = Max().values(table._count, candidates, table.relation)
        weights = np.exp(epsilon * (scores - scores.max()) / loss)
        chosen = table.choose(Often(), candidates, epsilon=epsilon, draws=draws)
        expected = draws * weights / weights.sum()
        assert stats.chisquare(np.bincount(chosen, minlength=4), expected).pvalue > ALARM, relation


def test_choices_of_labels_are_the_exponential_mechanism():
    """100,000 draws in one call: 6 public rows x, about 16,667 labels for each."""
    draws, epsilon = 100_000, 2.0
    which = np.arange(draws) % 6
    score = ClassLogScore("y", ("a", "b"), PEOPLE[which], 1.0)
    for relation, exponent, how in (
        ("add_remove", epsilon / (3 * np.log(2)), {}),
        (REPLACE, epsilon / (2 * 3 * np.log(2)), {}),
        (REPLACE, epsilon / (2 * 3.0), {"claimed_sensitivity": 3.0}),
    ):
        table = door(relation, seed=8)
        chosen = table.choose(score, [], epsilon=epsilon, draws=draws, **how)
        prior, *tables = table._count([("y",), ("y", "a"), ("y", "b")])
        weights = np.exp(exponent * class_log_scores(np.log(prior + 1), tables, PEOPLE, 1.0))
        for x, shares in enumerate(weights / weights.sum(axis=1, keepdims=True)):
            observed = np.bincount(chosen[which == x], minlength=3)
            assert stats.chisquare(observed, observed.sum() * shares).pvalue > ALARM, (relation, x)
    chosen = door("add_remove", seed=9).choose(score, [], epsilon=0, draws=draws)
    assert stats.chisquare(np.bincount(chosen, minlength=3)).pvalue > ALARM

"""The refined PrivBayes: its pieces by hand, and its budget."""

from fractions import Fraction

import numpy as np
import pytest
from chains import CHAIN, chain

from dpcore.accounting.relation import Relation
from dpcore.methods import RefinedPrivBayes
from dpcore.methods.networks.refined import EDGES, ONE_WAYS, TREE
from dpcore.postprocess.simplex import fit_margins, merge_rare


@pytest.mark.parametrize(
    ("counts", "threshold", "ordered", "groups"),
    [
        ([5, 5, 5, 5], 10, True, [0, 0, 1, 1]),
        ([12, 1, 1, 9, 3], 10, True, [0, 1, 1, 1, 1]),
        ([12, 1, 1], 10, True, [0, 0, 0]),
        ([12, 4, 20, 4], 10, False, [0, 2, 1, 2]),
        ([12, 1, 20, 1], 10, False, [0, 0, 1, 0]),
        ([1, 2, 3], 10, False, [0, 0, 0]),
    ],
)
def test_rare_values_are_merged(counts, threshold, ordered, groups):
    assert merge_rare(np.array(counts, float), threshold, ordered=ordered).tolist() == groups


def test_tables_are_fitted_to_their_margins():
    rng = np.random.default_rng(2)
    exact = rng.integers(20, 100, (3, 4, 2)).astype(float)
    first, second, totals = exact.sum(axis=1), exact.sum(axis=0), exact.sum(axis=(0, 1))
    np.testing.assert_allclose(fit_margins(exact, first, second, totals), exact, rtol=1e-4)
    fitted = fit_margins(exact + rng.laplace(0, 30, exact.shape), first, second, totals)
    assert (fitted >= 0).all()
    np.testing.assert_allclose(fitted.sum(axis=0), second, rtol=1e-9)
    np.testing.assert_allclose(fitted.sum(axis=1), first, rtol=2e-2)
    nothing = fit_margins(np.zeros((3, 4, 2)), first, second, totals)  # no information: any table with these margins
    np.testing.assert_allclose(nothing.sum(axis=1), first, rtol=1e-6)


@pytest.mark.parametrize("relation", Relation)
def test_epsilon_is_divided_as_documented(relation):
    method = RefinedPrivBayes(epsilon=1.3, relation=relation, noise="laplace", random_state=0)
    entries = method.fit(chain(2_000), schema=CHAIN).ledger_.entries
    whole = Fraction(1.3)
    choices = [entry for entry in entries if entry.mechanism == "exponential"]
    tables = [entry for entry in entries if entry.mechanism == "laplace"]
    one_ways, edges = tables[:3], tables[3:]
    assert [entry.epsilon_of_noise for entry in choices] == [whole * TREE / 2] * 2
    assert [entry.name for entry in one_ways] == ["counts of a × y", "counts of b × y", "counts of c × y"]
    assert sum(entry.epsilon_of_noise for entry in one_ways) == whole * ONE_WAYS
    assert sum(entry.epsilon_of_noise for entry in edges) == whole * EDGES
    assert {entry.sensitivity for entry in tables} == {relation.histogram_l1}
    roots = np.sqrt([6, 8, 6])
    shares = [float(entry.epsilon_of_noise / (whole * ONE_WAYS)) for entry in one_ways]
    np.testing.assert_allclose(shares, roots / roots.sum())


def test_little_epsilon_buys_the_one_ways_twice():
    method = RefinedPrivBayes(epsilon=0.001, random_state=0).fit(chain(2_000), schema=CHAIN)
    assert (method.edges_, len(method.ledger_.entries)) == ([], 6)
    assert method.ledger_.epsilon_of_noise == sum(method.epsilons_) == pytest.approx(0.001)


def test_what_is_bought_twice_counts_by_the_inverse_of_its_variance(monkeypatch):
    means = []
    for delta in (0.0, 1e-9):
        method = RefinedPrivBayes(delta=delta)
        monkeypatch.setattr(method, "_tables", lambda *_: ([np.ones(1)], [0.0]))
        monkeypatch.setattr(method, "_set_margins", lambda _table, noisy, _names: means.extend(noisy))
        method._measure_again(None, [], [np.zeros(1)], [], TREE + EDGES)
    assert means[0] == pytest.approx(0.15**2 / (0.85**2 + 0.15**2))  # of noise with scales of 1 / .85 and 1 / .15
    assert means[1] == pytest.approx(0.15)  # of Gaussian noise with variances of 1 / .85 and 1 / .15

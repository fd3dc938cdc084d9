"""The refined PrivBayes: its pieces by hand, and its budget."""

from fractions import Fraction

import numpy as np
import pytest
from chains import CHAIN, chain
from tables import SMALL, make_frame
from variants import alike, fitted, fitted_state

from dpcore.accounting.relation import Relation
from dpcore.methods import RefinedPrivBayes
from dpcore.methods.networks.refined import EDGES, ONE_WAYS, TREE
from dpcore.postprocess.simplex import fit_margins, merge_rare
from dpcore.rows import exact_counts


@pytest.mark.parametrize(
    ("counts", "threshold", "ordered", "groups"),
    [
        ([5, 5, 5, 5], 10, True, [0, 0, 1, 1]),
        ([12, 1, 1, 9, 3], 10, True, [0, 1, 1, 1, 1]),
        ([12, 1, 1], 10, True, [0, 0, 0]),
        ([1, 1], 10, True, [0, 0]),
        ([12, 4, 20, 4], 10, False, [0, 2, 1, 2]),
        ([12, 1, 20, 1], 10, False, [0, 0, 1, 0]),
        ([1, 2, 3], 10, False, [0, 0, 0]),
        ([11, 12, 13], 10, False, [0, 1, 2]),
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
    ledger = method.fit(chain(), schema=CHAIN).ledger_
    whole = Fraction(1.3)
    choices = [entry for entry in ledger.entries if entry.mechanism == "exponential"]
    tables = [entry for entry in ledger.entries if entry.mechanism == "laplace"]
    assert len(choices) == 2
    assert {entry.epsilon_of_noise for entry in choices} == {whole * TREE / 2}
    assert [entry.name for entry in tables[:3]] == ["counts of a × y", "counts of b × y", "counts of c × y"]
    assert sum(entry.epsilon_of_noise for entry in tables[:3]) == whole * ONE_WAYS
    assert sum(entry.epsilon_of_noise for entry in tables[3:]) == whole * EDGES
    assert all(entry.sensitivity == relation.histogram_l1 for entry in tables)
    roots = np.sqrt([6, 8, 6])
    np.testing.assert_allclose(
        [float(entry.epsilon_of_noise / (whole * ONE_WAYS)) for entry in tables[:3]], roots / roots.sum()
    )


def test_little_epsilon_buys_the_one_ways_twice():
    method = RefinedPrivBayes(epsilon=0.001, random_state=0).fit(chain(2_000), schema=CHAIN)
    assert method.edges_ == []
    assert len(method.ledger_.entries) == 6
    assert method.ledger_.epsilon_of_noise == pytest.approx(0.001)
    assert sum(method.epsilons_) == pytest.approx(0.001)


def test_what_is_bought_twice_counts_by_the_inverse_of_its_variance(monkeypatch):
    means = []
    for delta in (0.0, 1e-9):
        method = RefinedPrivBayes(delta=delta)
        monkeypatch.setattr(method, "_tables", lambda *_: ([np.ones(1)], [0.0]))
        monkeypatch.setattr(method, "_set_margins", lambda _table, noisy, _names: means.extend(noisy))
        method._measure_again(None, [], [np.zeros(1)], [], TREE + EDGES)
    assert means[0] == pytest.approx(0.15**2 / (0.85**2 + 0.15**2))  # of noise with scales of 1 / .85 and 1 / .15
    assert means[1] == pytest.approx(0.15)  # of Gaussian noise with variances of 1 / .85 and 1 / .15


def test_pairs_that_are_counted_together_are_those_that_are_counted_one_after_the_other(monkeypatch):
    monkeypatch.setattr(exact_counts, "WORTH_JOINING", 0)
    together = RefinedPrivBayes(epsilon=1.0, noise="auto", random_state=3).fit(make_frame(600, 1), schema=SMALL)
    assert alike(fitted_state(together), fitted_state(fitted("PrivBayes refined")))

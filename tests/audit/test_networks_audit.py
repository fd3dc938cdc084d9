"""What the printed networks over clusters leak: exact losses, and many draws of one question's noise.

The scale of the noise is taken from the ledger of a real fit; whole runs are the cases of `dpcore.audit`, and what
corrected networks lose is worked out by `test_transcripts`. All seeds are fixed; bounds are taken at 0.05, and are far
enough above the claim that other seeds would do as well.
"""

import math

import numpy as np
import pandas as pd
import pytest

from dpcore.audit.bound import lower_bound_of_statistics
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.mechanisms.noise import make_noise
from dpcore.methods import HMPrivBayes, NoPrivacy, PrivSCBN

DRAWS = 40_000
PAIRS = np.triu_indices(12, 1)


def bits(d):
    columns = tuple(Column(name=f"x{i:02}", kind="ordered", categories=("0", "1")) for i in range(d))
    return Schema(columns=columns, max_rows=20)


def frame(rows):
    rows = np.asarray(rows, dtype=int)
    return pd.DataFrame(rows, columns=list(bits(rows.shape[1]).names))


def neighbors(d, n, ones):
    """n rows of zeros, and one of them with so many ones."""
    zeros = np.zeros((n, d), dtype=int)
    changed = zeros.copy()
    changed[-1, :ones] = 1
    return frame(zeros), frame(changed)


def noise_of(shape, scales, seed):
    """Noise of these scales for DRAWS answers."""
    return make_noise("laplace", seed).reals(np.zeros((DRAWS, *shape)), 1.0, grid=1.0) * scales


def likelihood_bound(first, second, scales):
    """Lower bound on epsilon of noisy vectors by their log-likelihood ratio, for the two exact vectors.

    Ratios are rounded: the last digits of floats betray the exact value, which is another attack.
    """
    sides = []
    for seed, exact in enumerate((first, second)):
        seen = exact + noise_of(first.shape, scales, seed)
        sides.append(((np.abs(seen - first) - np.abs(seen - second)) / scales).sum(axis=1).round(9))
    return lower_bound_of_statistics(sides[1], sides[0])


def entries_of(method, words):
    return [entry for entry in method.ledger_.entries if words in entry.name]


# All pairs of 12 bits: they do not compose in parallel


def test_noisy_pairs_of_paper_mode_are_caught():
    pair, claim = neighbors(12, 40, ones=12), 1.0
    method = HMPrivBayes(mode="paper", epsilon=claim * 27 / 11, random_state=0)  # the pairs' share is 11 : 8 : 8
    (entry,) = entries_of(method.fit(pair[0], schema=bits(12)), " values of ")
    assert float(entry.epsilon_claimed) == pytest.approx(claim)
    assert float(entry.epsilon_of_noise) == pytest.approx(6 * claim)
    exact = NoPrivacy(score="MI", n_clusters=1)
    first, second = (exact.fit(table, schema=bits(12)).similarity_[PAIRS] for table in pair)
    assert not first.any()
    assert np.abs(second - first).sum() / entry.scale == pytest.approx(6 * claim)  # attained
    assert 1.3 * claim < likelihood_bound(first, second, entry.scale) < entry.epsilon_of_noise


# Noise weighed by noiseless entropies: no epsilon at all


def two_tables(rows, epsilon):
    """Scales of the tables of children x00 and x01 in one cluster that grew from x02, which always has entropy 1."""
    for seed in range(50):
        how = {"mode": "paper", "n_clusters": 1, "max_parents": 1, "eta": 0.0}
        method = HMPrivBayes(**how, epsilon=epsilon, random_state=seed).fit(frame(rows), schema=bits(3))
        tables = entries_of(method, "counts of")
        scale = {entry.name.split()[2]: entry.scale for entry in tables}
        if method.families_[0] == ("x02 bit 1",) and len(scale) == 2:
            claimed = sum(entry.epsilon_claimed for entry in tables)
            return [scale[name] * float(claimed) / 2 for name in ("x00", "x01")], scale["x01"]
    raise AssertionError("No seed gave a cluster with two tables.")


# x00 has counts (2, 2) in the first table and (3, 1) in the other; x01 and x02 have (2, 2) in both
EVEN = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
UNEVEN = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]]


def test_noiseless_entropies_set_the_noise_as_worked_by_hand():
    assert two_tables(EVEN, 1.0)[0] == pytest.approx([2, 2])
    assert two_tables(UNEVEN, 1.0)[0] == pytest.approx([1.828, 2.208], abs=5e-4)
    weights = math.exp(-1), math.exp(-(2 - 0.75 * math.log2(3)))
    assert two_tables(UNEVEN, 1.0)[0] == pytest.approx([sum(weights) / weights[1], sum(weights) / weights[0]])


def test_noise_weighed_by_noiseless_entropies_is_caught_at_any_small_epsilon():
    """The table of x01 and its parent is the same in both worlds; the size of its noise alone tells them apart."""
    for epsilon in (0.01, 1e-4):
        scales = [two_tables(rows, epsilon)[1] for rows in (EVEN, UNEVEN)]
        sizes = [np.abs(noise_of((4,), scale, seed)).sum(axis=1) for seed, scale in enumerate(scales)]
        assert lower_bound_of_statistics(sizes[1], sizes[0]) > 0.2  # the loss does not know epsilon
    at = np.array([1, 2, 4, 8]) * scales[0]
    ratio = [np.log((sizes[1] > t).mean() / (sizes[0] > t).mean()) for t in at]
    assert (np.diff(ratio) > 0.02).all()  # and grows without bound


# PrivSCBN: Jaccard's index moves by 1


def test_noisy_indices_of_paper_mode_are_caught():
    """Zeros, or one row of half ones: the 36 of 66 pairs across the halves fall from 1 to 0."""
    pair, epsilon = neighbors(12, 100, ones=6), 0.03
    method = PrivSCBN(mode="paper", epsilon=epsilon, random_state=0).fit(pair[0], schema=bits(12))
    (entry,) = entries_of(method, " values of ")
    assert float(entry.epsilon_claimed) == pytest.approx(epsilon / 3)
    second = 1.0 - np.subtract.outer(np.arange(12) < 6, np.arange(12) < 6, dtype=int)[PAIRS]
    assert (second == 0).sum() == 36
    exact = PrivSCBN(mode="paper", epsilon=1e9, n_clusters=1, random_state=0)
    for table, indices in zip(pair, (np.ones(66), second), strict=True):
        np.testing.assert_allclose(exact.fit(table, schema=bits(12)).similarity_[PAIRS], indices, atol=1e-3)
    loss = 36 / entry.scale
    assert epsilon < loss <= entry.epsilon_of_noise
    found = likelihood_bound(np.ones(66), second, entry.scale)
    assert 30 * float(entry.epsilon_claimed) < found < loss

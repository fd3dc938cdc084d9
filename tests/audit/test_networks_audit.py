"""What printed networks leak, exactly, by each scale of noise in a real fit's ledger; and the last bits of cuts."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import GRID, STEP
from dpcore.mechanisms.scores.dependence import MutualInformation
from dpcore.methods import DiffPRFs, HMPrivBayes, NoPrivacy, PrivSCBN

PAIRS = np.triu_indices(12, 1)


def bits(d):
    columns = tuple(Column(name=f"x{i:02}", kind="ordered", categories=("0", "1")) for i in range(d))
    return Schema(columns=columns, max_rows=20)


def frame(rows):
    return pd.DataFrame(rows, columns=list(bits(len(rows[0])).names))


def neighbors(n, ones):
    """n rows of 12 zeros, and one of them with so many ones."""
    zeros = np.zeros((n, 12), dtype=int)
    changed = zeros.copy()
    changed[-1, :ones] = 1
    return frame(zeros), frame(changed)


def entries_of(method, words):
    return [entry for entry in method.ledger_.entries if words in entry.name]


def test_noisy_pairs_of_12_bits_lose_six_times_what_they_claim():
    """They do not compose in parallel."""
    pair, claim = neighbors(40, ones=12), 1.0
    method = HMPrivBayes(mode="published", epsilon=claim * 27 / 11, random_state=0)  # the pairs' share is 11 : 8 : 8
    (entry,) = entries_of(method.fit(pair[0], schema=bits(12)), " values of ")
    assert float(entry.epsilon_claimed) == pytest.approx(claim)
    assert float(entry.epsilon_nominal) == pytest.approx(6 * claim)
    exact = NoPrivacy(score="MI", n_clusters=1)
    first, second = (exact.fit(table, schema=bits(12)).similarity_[PAIRS] for table in pair)
    assert not first.any()
    assert np.abs(second - first).sum() / entry.scale == pytest.approx(6 * claim)  # attained


def scales_of_two_tables(rows, epsilon):
    """Of children x00 and x01 in one cluster that grew from x02, which always has entropy 1; for a claim of 2."""
    how = {"mode": "published", "n_clusters": 1, "max_parents": 1, "eta": 0.0, "epsilon": epsilon}
    for seed in range(50):
        method = HMPrivBayes(**how, random_state=seed).fit(frame(rows), schema=bits(3))
        tables = entries_of(method, "counts of")
        scale = {entry.name.split()[2]: entry.scale for entry in tables}
        if method.families_[0] == ("x02 bit 1",) and len(scale) == 2:
            claimed = sum(entry.epsilon_claimed for entry in tables)
            return [scale[name] * float(claimed) / 2 for name in ("x00", "x01")]
    raise AssertionError("No seed gave a cluster with two tables.")


@pytest.mark.parametrize("epsilon", [1.0, 1e-4])
def test_noiseless_entropies_set_the_noise_whatever_epsilon_is(epsilon):
    """x00 has counts (2, 2) in the first table and (3, 1) in the other; x01 and x02 have (2, 2) in both."""
    even, uneven = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], [[0, 0, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]]
    assert scales_of_two_tables(even, epsilon) == pytest.approx([2, 2])
    found = scales_of_two_tables(uneven, epsilon)
    assert found == pytest.approx([1.828, 2.208], abs=5e-4)
    weights = math.exp(-1), math.exp(-(2 - 0.75 * math.log2(3)))
    assert found == pytest.approx([sum(weights) / weights[1], sum(weights) / weights[0]])


def test_noisy_indices_lose_more_than_they_claim():
    """Jaccard's index moves by 1: of zeros, or one row of half ones, 36 of 66 pairs fall from 1 to 0."""
    pair, epsilon = neighbors(100, ones=6), 0.03
    method = PrivSCBN(mode="published", epsilon=epsilon, random_state=0).fit(pair[0], schema=bits(12))
    (entry,) = entries_of(method, " values of ")
    assert float(entry.epsilon_claimed) == pytest.approx(epsilon / 3)
    second = 1.0 - np.subtract.outer(np.arange(12) < 6, np.arange(12) < 6, dtype=int)[PAIRS]
    assert (second == 0).sum() == 36
    exact = PrivSCBN(mode="published", epsilon=1e9, n_clusters=1, random_state=0)
    for table, indices in zip(pair, (np.ones(66), second), strict=True):
        np.testing.assert_allclose(exact.fit(table, schema=bits(12)).similarity_[PAIRS], indices, atol=1e-3)
    assert 30 * float(entry.epsilon_claimed) < 36 / entry.scale <= entry.epsilon_nominal


# JTree: two blocks of m equal bits, 20 rows: 19 of zeros, and one with the ones of block A, or with those of block B.

ROWS = 20
INFORMATION = MutualInformation().of(np.array([[ROWS - 1, 0], [0, 1]]), "replace") * math.log(2)  # H(1/20)
SCALE = 2 * INFORMATION  # at a claimed epsilon of 1


def event_probability(information_a, information_b, pairs, threshold):
    """P[no pair of A is an edge, all pairs of B are] by the printed rule, by integration over the one noisy threshold.

    Its margins are those of `tests/methods/test_hmprivbayes.py`.
    """
    rho, noise = np.linspace(-15, 15, 30_001), stats.laplace(scale=SCALE)
    below, above = noise.cdf(threshold + rho - information_a), noise.sf(threshold + rho - information_b)
    return float(integrate.trapezoid(noise.pdf(rho) * below**pairs * above**pairs, rho))


@pytest.mark.parametrize(
    ("threshold", "losses"),
    [(0.2**2 / 2, {1: 0.739, 2: 1.534, 10: 8.363}), (0.0, {1: 0.737, 2: 1.530, 10: 8.347})],
)
def test_comparisons_with_one_noisy_threshold_lose_more_with_every_pair(threshold, losses):
    assert pytest.approx(0.1985, abs=5e-5) == INFORMATION
    assert MutualInformation().bounds([(2, 2)], "replace", ROWS).sensitivity * math.log(2) == pytest.approx(INFORMATION)
    for pairs, loss in losses.items():
        likely, unlikely = (event_probability(a, b, pairs, threshold) for a, b in ((0, INFORMATION), (INFORMATION, 0)))
        assert math.log(likely / unlikely) == pytest.approx(loss, abs=6e-4)


RARE = 1e-3
NUMBER = Column(name="n", kind="continuous", lower=0, upper=10, bins=10)
CLASS = Column(name="y", kind="categorical", categories=("0", "1"))
SCHEMA = Schema(columns=(NUMBER, CLASS), target="y", max_rows=40)


def test_which_cuts_there_can_be_does_not_depend_on_the_rows():
    """One record or none: steps of the grid, whose low bits are fair, and each as probable without it."""
    parities, one = [], pd.DataFrame({"n": [3.7], "y": ["1"]})
    how = {"n_trees": 1_000, "epsilon": 10, "max_depth": 1, "resample": "full", "count_share": 0.0}
    for seed, frame in enumerate((one, one.head(0)), start=1):
        forest = DiffPRFs(**how, random_state=seed).fit(frame, schema=SCHEMA).forest_
        found = forest.cut[: forest.trees]
        assert (forest.column[: forest.trees] == 0).all()  # divided: no count is asked
        bits = np.floor(found / STEP).astype(np.int64)
        assert (found == np.maximum(bits * STEP, -1)).all()
        assert ((found >= -1) & (found < GRID)).all()
        assert stats.chisquare(np.bincount(bits % 2, minlength=2)).pvalue > RARE
        assert stats.chisquare(np.bincount(bits % 64, minlength=64)).pvalue > RARE
        assert stats.kstest((found + 1.5) / (GRID + 1), "uniform").pvalue > RARE
        parities.append(np.bincount(bits % 2, minlength=2))
    assert stats.chi2_contingency(parities).pvalue > RARE

"""The printed comparison with one noisy threshold is refuted, exactly and by many draws.

Two blocks of m equal bits, 20 rows: 19 of zeros, and one with the ones of block A in D, with those of block B in D'.
The event is "no pair of block A is an edge, and all pairs of block B are". Whole runs, and the exponential mechanism's
picks, which stand, are cases of `dpcore.audit`.
"""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpcore.audit.bound import lower_bound
from dpcore.mechanisms.scores.dependence import MutualInformation
from dpcore.methods.networks.jtree import noisy_margins

ROWS = 20
THRESHOLD = 0.2**2 / 2


# One row of ones in two equal columns: I = H(1/20), and the largest step that one row can make.
INFORMATION = MutualInformation().of(np.array([[ROWS - 1, 0], [0, 1]]), "replace") * math.log(2)
SCALE = 2 * INFORMATION  # b at a claimed epsilon of 1


def event_probability(information_a, information_b, pairs, threshold=THRESHOLD):
    """P[no pair of A, all pairs of B] of the printed rule, by integration over rho."""
    rho, noise = np.linspace(-15, 15, 30_001), stats.laplace(scale=SCALE)
    below, above = noise.cdf(threshold + rho - information_a), noise.sf(threshold + rho - information_b)
    return float(integrate.trapezoid(noise.pdf(rho) * below**pairs * above**pairs, rho))


LOSSES = {
    THRESHOLD: [(1, 0.739), (2, 1.534), (3, 2.356), (6, 4.896), (10, 8.363)],
    0.0: [(1, 0.737), (2, 1.530), (3, 2.349), (6, 4.885), (10, 8.347)],
}


def test_the_exact_loss_grows_with_the_number_of_pairs():
    assert pytest.approx(0.1985, abs=5e-5) == INFORMATION
    assert MutualInformation().bounds([(2, 2)], "replace", ROWS).sensitivity * math.log(2) == pytest.approx(INFORMATION)
    for threshold, losses in LOSSES.items():
        for pairs, loss in losses:
            likely = event_probability(0, INFORMATION, pairs, threshold)
            unlikely = event_probability(INFORMATION, 0, pairs, threshold)
            assert math.log(likely / unlikely) == pytest.approx(loss, abs=6e-4)
    assert event_probability(0, INFORMATION, 3) == pytest.approx(0.02091, abs=5e-6)
    assert event_probability(INFORMATION, 0, 3) == pytest.approx(0.001983, abs=5e-7)


def printed_hits(information_a, information_b, draws, seed):
    information = np.array([information_a] * 3 + [information_b] * 3)
    found = noisy_margins(information, np.full(6, THRESHOLD), SCALE, np.random.default_rng(seed), draws) >= 0
    return int((~found[:, :3].any(axis=1) & found[:, 3:].all(axis=1)).sum())


def test_printed_rule_is_caught():
    draws = 200_000
    likely, unlikely = printed_hits(0, INFORMATION, draws, 1), printed_hits(INFORMATION, 0, draws, 2)
    assert likely / draws == pytest.approx(event_probability(0, INFORMATION, 3), rel=0.1)
    assert unlikely / draws == pytest.approx(event_probability(INFORMATION, 0, 3), rel=0.25)
    assert 2.0 < lower_bound(likely, unlikely, draws) < 2.36

"""Reconstruction of distributions from numbers with noise: the printed step, its likelihood, and what it recovers."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, laplace, norm

from dpcore.postprocess.deconvolution import KINDS, Cells, assigned, density, reconstruct, threshold, width


def one_group(cells, reports):
    return cells.counts(reports, np.zeros(len(reports), dtype=int), 1)


def test_a_step_is_the_printed_formula_for_each_group_by_itself():
    for kind in KINDS:
        kernel = Cells(0.0, 4.0, 4, kind, 1.2).kernel
        counts = np.random.default_rng(1).integers(0, 9, (2, len(kernel))).astype(float)
        f = np.full((2, 4), 0.25)
        for steps, g in product(range(1, 4), range(2)):
            cells = range(len(kernel))
            mixed = [sum(kernel[s, t] * f[g, t] for t in range(4)) for s in cells]
            f[g] = [sum(counts[g, s] * kernel[s, p] * f[g, p] / mixed[s] for s in cells) for p in range(4)]
            f[g] /= counts[g].sum()
            found = reconstruct(counts, kernel, rounds=steps, noticed=0.0)
            assert found.shares[g] == pytest.approx(f[g])
            expected = sum(counts[g, s] * math.log(kernel[s] @ f[g]) for s in cells)
            assert found.likelihood[-1][g] == pytest.approx(expected)
        assert reconstruct(0 * counts, kernel).shares == pytest.approx(1 / 4)  # nobody reported


def test_the_kernel_is_the_density_at_the_distance_of_midpoints():
    apart = np.linspace(-3, 3, 13)
    assert density("normal", 0.7, apart) == pytest.approx(norm.pdf(apart, scale=0.7) / norm.pdf(0, scale=0.7))
    assert density("laplace", 0.7, apart) == pytest.approx(laplace.pdf(apart, scale=0.7) / laplace.pdf(0, scale=0.7))
    assert density("uniform", 1.0, apart) == pytest.approx((np.abs(apart) <= 1).astype(float))
    cells = Cells(0.0, 4.0, 4, "uniform", 1.2)
    # Cells at -1.5 to 5.5, of which none but those at -0.5 to 4.5 are within 1.2 of a midpoint.
    assert cells.kernel.tolist() == [[int(abs(p - s) <= 1) for p in range(4)] for s in range(-1, 5)]
    assert cells.boundaries == pytest.approx([1, 2, 3])
    assert one_group(cells, np.array([-1.2, -0.1, 0.0, 0.5, 1.0, 1.01, 4.0, 4.1, 5.2])).tolist() == [[3, 2, 1, 0, 1, 2]]
    # Laplace reports beyond the range tell as much as its ends: the ratio of two densities is the same there.
    laplacian = Cells(0.0, 1.0, 10, "laplace", 0.3)
    assert one_group(laplacian, np.array([-9.0, 0.01, 1.0, 77.0])).tolist() == [[2, 0, 0, 0, 0, 0, 0, 0, 0, 2]]


def test_two_bumps_come_out_of_the_noise():
    def histogram(numbers):
        return np.histogram(numbers.clip(0, 1), 30, (0, 1))[0] / len(numbers)

    rng = np.random.default_rng(5)
    x = rng.normal(np.where(rng.random(5_000) < 0.4, 0.25, 0.75), 0.06).clip(0, 1)
    for kind, scale, noise in (
        ("uniform", 0.5, rng.uniform(-0.5, 0.5, len(x))),
        ("normal", 0.15, rng.normal(0, 0.15, len(x))),
        ("laplace", 0.2, rng.laplace(0, 0.2, len(x))),
    ):
        cells = Cells(0.0, 1.0, 30, kind, scale)
        found = reconstruct(one_group(cells, x + noise), cells.kernel)
        assert len(found.likelihood) < 501
        off = np.abs(found.shares[0] - histogram(x)).sum()
        assert off < 0.8 * np.abs(histogram(x + noise) - histogram(x)).sum()
        low, middle, high = (found.shares[0][a:b].mean() for a, b in ((5, 10), (13, 17), (20, 25)))
        assert middle < low < high
        if kind == "laplace":  # its reports leave room for more steps
            longer = reconstruct(one_group(cells, x + noise), cells.kernel, noticed=1e-4).shares[0]
            assert np.abs(longer - histogram(x)).sum() < off


def test_without_noise_the_distribution_is_the_reports_and_noise_alone_tells_nothing():
    rng = np.random.default_rng(7)
    x, noise = rng.integers(0, 10, 500).astype(float), rng.normal(0, 1e6, 50)
    for kind, scale in product(KINDS, (0.0, 1e-300, 1e-9)):
        cells = Cells(-0.5, 9.5, 10, kind, scale)
        found = reconstruct(one_group(cells, x), cells.kernel)
        assert found.shares[0] == pytest.approx(np.bincount(x.astype(int)) / 500)
    for kind, scale in (("normal", 1e6), ("normal", 1e12), ("laplace", 1e6), ("laplace", math.inf)):
        cells = Cells(0.0, 1.0, 8, kind, scale)
        assert reconstruct(one_group(cells, noise), cells.kernel).shares[0] == pytest.approx(1 / 8, abs=1e-3)


def test_sorted_reports_go_to_intervals_by_their_shares():
    reports = np.array([5.0, -1.0, 9.0, 3.0, 4.0, 100.0, 2.0, 8.0, 7.0, 6.0])
    assert assigned(reports, np.array([0.2, 0.0, 0.5, 0.3])).tolist() == [2, 0, 3, 2, 2, 3, 0, 3, 2, 2]
    assert assigned(reports, np.array([0.0, 1.0, 0.0])).tolist() == [1] * 10
    assert assigned(np.zeros(0), np.array([0.5, 0.5])).tolist() == []
    shares = np.random.default_rng(9).dirichlet(np.ones(7))
    counts = np.bincount(assigned(np.random.default_rng(10).normal(size=1000), shares), minlength=7)
    assert np.abs(counts - 1000 * shares).max() <= 1


def test_thresholds_and_widths_of_95_percent():
    for freedom in (1, 9, 99):
        assert threshold(freedom) == pytest.approx(chi2.ppf(0.95, freedom), rel=0.03)
    assert threshold(0) == math.inf
    assert width("uniform", 2.0) == pytest.approx(0.95 * 4)
    assert width("normal", 1.0) == pytest.approx(3.919928)
    assert width("laplace", 1.0) == pytest.approx(2 * laplace.ppf(0.975))

"""Merged bins and shrunk tables: the public rules, their formulas, and what they do to noise."""

import math
from itertools import product

import numpy as np
import pytest

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.mechanisms.randomizers import ERRPH, OUE
from dpcore.methods.local.bayes_from_reports import class_shares, joint_shares
from dpcore.postprocess.reports import Reports
from dpcore.postprocess.shrinkage import affordable_bins, merged, merging, shrunk, spread, towards

COLUMNS = [
    Column(name="a", kind="integer", lower=0, upper=99, bins=16),
    Column(name="b", kind="continuous", lower=-1.0, upper=2.5, bins=11, missing=True),
    Column(name="c", kind="integer", lower=3, upper=9, bins=(4, 7, 8)),
    Column(name="d", kind="continuous", lower=0.0, upper=1.0, bins=(0.1, 0.2, 0.9)),
]


def test_a_merged_column_encodes_as_the_rule_says():
    for column, bins in product(COLUMNS, (1, 2, 3, 5, 40)):
        rule, rng = merging(column, bins), np.random.default_rng(0)
        cells = column.decode(rng.integers(0, column.size, 500).astype(np.uint8), rng)
        coarse = merged(column, rule)
        assert coarse.size == min(bins, column.size - column.missing) + column.missing
        assert (coarse.encode(cells) == rule[column.encode(cells)]).all()
        assert (np.diff(rule) >= 0).all()
        assert np.ptp(np.bincount(rule)[: coarse.size - column.missing]) <= 1
    words = Column(name="x", kind="ordered", categories=tuple("abcdefgh"))
    assert (merging(words, 3) == np.arange(8)).all()
    assert merged(words, merging(words, 3)) is words
    assert affordable_bins(1_000, 4.0, 2) == round(math.sqrt(math.sqrt(1000) * math.sinh(2) / 2)) == 8
    assert affordable_bins(1_000, 0.0, 2) == affordable_bins(0, 4.0, 2) == 3
    assert affordable_bins(1_000, 1e9, 2) > 1_000
    # Spreading keeps what a class has.
    found = spread(np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]), np.array([0, 0, 1, 1, 1, 2]))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[0], [0.1, 0.1, 0.5 / 3, 0.5 / 3, 0.5 / 3, 0.3])


def test_shrinking_keeps_what_is_known_for_sure_and_nothing_of_noise_alone():
    joint = np.array([[0.30, 0.10, 0.0], [0.06, 0.24, 0.30]])
    prior, values = joint.sum(axis=1), joint.sum(axis=0)
    np.testing.assert_allclose(shrunk(joint, np.zeros((2, 3)), prior, 1.0), joint / prior[:, None], atol=2e-6)
    for variance in (1e6, np.inf):
        found = shrunk(joint, np.full((2, 3), variance), prior, 1.0)
        np.testing.assert_allclose(found, np.tile(values, (2, 1)), atol=1e-5)
    # Noise as large as what is expected of a class, q (1 - q) / (3 alpha + 1), keeps half of the difference.
    half = shrunk(joint, np.tile(values * (1 - values) / 7, (2, 1)), prior, 2.0)
    np.testing.assert_allclose(half, (values + joint / prior[:, None]) / 2, atol=2e-6)


PRIOR, VALUES, PAIR = np.array([0.3, 0.7]), np.array([0.5, 0.2, 0.3]), ("y", "x")
COLUMN, CLASS = (Column(name=n, kind="categorical", categories=tuple(c)) for n, c in (("x", "abc"), ("y", "01")))
TWO = Schema(columns=(COLUMN, CLASS), target="y")


@pytest.mark.parametrize(("make", "pairs"), [(ERRPH, True), (OUE, True), (OUE, False)])
def test_the_noise_of_a_difference_is_what_is_measured(make, pairs):
    """500 rounds of 2,000 people who do not depend on their class: variances to within 35% (1 in a million each is
    off by 31%), on average over cells to within 12%; too little for pairs by ERRPH, whose cells exclude each other.
    """
    rng, people = np.random.default_rng(5), 2_000
    found, said = [], None
    for _ in range(500):
        x, y = rng.choice(3, people, p=VALUES), rng.choice(2, people, p=PRIOR)
        if pairs:
            channel = make(6, epsilon=2.0)
            reports = Reports(TWO, people, {PAIR: channel}, {PAIR: channel.report(y * 3 + x, rng.random)})
            joint = reports.counts(PAIR).reshape(2, 3) / people
        else:
            channel, label = make(3, epsilon=1.0), ERRPH(2, epsilon=1.0)
            values = {PAIR[:1]: label.report(y, rng.random), PAIR[1:]: channel.report(x, rng.random)}
            reports = Reports(TWO, people, {PAIR[:1]: label, PAIR[1:]: channel}, values)
            joint = reports.counts(PAIR[1:], PAIR[:1]) / people
        found.append(joint / PRIOR[:, None] - joint.sum(axis=0))
        said = joint_shares(reports, "y", PAIR if pairs else PAIR[1:], PRIOR)[1] if said is None else said
    reports = Reports(TWO, 4, {PAIR: ERRPH(6, p0=1.0)}, {PAIR: np.array([0, 1, 1, 4])})  # pairs tell of the class too
    np.testing.assert_allclose(class_shares(reports, "y", [PAIR], "shrink"), [0.75, 0.25])
    ratio = said / np.var(found, axis=0)
    exclusive = pairs and make is ERRPH
    assert 0.65 < ratio.min() <= ratio.max() < 1.35
    assert (0.75 if exclusive else 0.88) < ratio.mean() < 1.12


def test_noisy_cells_are_moved_by_what_noise_is_likely_to_make():
    before = np.array([10.0, 10, 10, 10])
    noisy = before + np.array([3.0, -1, 1, 5])  # a squared length of 36
    np.testing.assert_allclose(towards(noisy, before, 0.0), noisy)
    np.testing.assert_allclose(towards(noisy, before, 3.0), before + np.array([2.0, -2 / 3, 2 / 3, 10 / 3]))
    assert towards(noisy, before, 9.0).tolist() == towards(noisy, before, 1e20).tolist() == before.tolist()
    assert towards(before, before, 3.0).tolist() == before.tolist()

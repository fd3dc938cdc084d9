"""Functions of numbers whose sums give moments: their sums, their sensitivity, and missing numbers."""

import numpy as np
import pytest

from dpcore.accounting.privacy_measure import PrivacyMeasure
from dpcore.accounting.relation import Relation
from dpcore.domain.moments import GRID, MomentBasis

T = np.concatenate([np.linspace(0, 1, 41), np.random.default_rng(0).random(40)])
BASES = [MomentBasis((2,)), MomentBasis((4,)), MomentBasis((4, 2)), MomentBasis((2,), rows_public=True)]


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{basis.degrees}")
def test_sums_give_the_moments(basis):
    numbers = [T, T[::-1] ** 2][: len(basis.degrees)]
    found = basis.moments(basis.steps(numbers).sum(axis=0) / GRID, rows=len(T))
    for powers in np.ndindex(found.shape):
        expected = np.prod([own**power for own, power in zip(numbers, powers, strict=True)], axis=0).sum()
        assert found[powers] == pytest.approx(expected, abs=len(T) * 3 / GRID)


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: f"{basis.degrees}")
@pytest.mark.parametrize("relation", Relation)
def test_no_row_changes_the_sums_by_more_than_the_sensitivity(basis, relation):
    two = [np.repeat(T, len(T)), np.tile(T, len(T))][: len(basis.degrees)]
    rows = basis.steps(two) / GRID
    rows = np.unique(rows, axis=0)[::7]
    if relation == Relation.REPLACE:
        rows = (rows[:, None, :] - rows[None, :, :]).reshape(-1, basis.size)
    for measure, norm in ((PrivacyMeasure(), 1), (PrivacyMeasure(1e-6), 2)):
        most = np.linalg.norm(rows, ord=norm, axis=1).max()
        assert most <= basis.sensitivity(measure.histogram_sensitivity(relation), 1) + 1e-12


def test_a_row_with_a_missing_number_counts_nowhere():
    basis = MomentBasis((2, 2))
    steps = basis.steps([np.array([0.5, np.nan, 0.1]), np.array([0.5, 0.5, np.nan])])
    assert steps.sum(axis=1).tolist() == [GRID, 0, 0]


def test_groups_without_public_numbers_of_rows_have_the_sensitivity_of_a_marginal():
    known = MomentBasis((2,), rows_public=True)
    assert known.sensitivity(2.0, 1) < 1.001
    assert 2 <= known.sensitivity(2.0, 3) < 2.001
    assert MomentBasis((2,)).sensitivity(2.0, 1) == 2

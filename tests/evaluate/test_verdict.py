"""The verdict on a release: what is close, which ties were lost, and for whom it is furthest off."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError
from dpcore.evaluate.distances import Center, Group, centers, fidelity

WARD = Column(name="ward", kind="categorical", categories=("a", "b"))
CAUSE = Column(name="cause", kind="categorical", categories=("x", "y"))
AGE = Column(name="age", kind="integer", lower=0, upper=99, bins=2)
SCHEMA = Schema(columns=(WARD, CAUSE, AGE))
AGES = Schema(columns=(replace(AGE, missing=True),))


def rows(counts):
    """A frame from {(ward, cause, age): how often}."""
    return pd.DataFrame([key for key, many in counts.items() for _ in range(many)], columns=["ward", "cause", "age"])


def test_a_function_of_another_column_is_named_when_it_is_lost():
    """Real: ward says cause, half and half. Released: the same columns, independent of each other."""
    real = rows({("a", "x", 10): 500, ("b", "y", 10): 500})
    released = rows({(w, c, 10): 250 for w in "ab" for c in "xy"})
    found = fidelity(real, released, SCHEMA)
    assert (found.columns, found.close_columns, found.pairs, found.close_pairs) == (3, 3, 3, 2)
    assert found.ties == 1
    # 1/2 (|1/2 - 1/4| + |0 - 1/4|) 2 = 1/2, less what chance gives: 4 cells of 250 expected rows, each off by about
    # sqrt(2 x 250 / pi) = 12.6, and so 4 x 12.6 / 2,000 = .0252.
    (tie,) = found.lost_ties
    assert (tie.first, tie.second, tie.released_strength) == ("ward", "cause", 0.0)
    assert tie.real_strength == pytest.approx(0.4748, abs=1e-4)
    # Among ward a the real cause is always x, the released one x for half: off by 1/2, of which two samples of 500 give
    # sqrt(2 x 3/4 x 1/4 x 2/500 / pi) = .0219; age is not off at all.
    assert found.worst == Group("ward", "a", 0.5, pytest.approx((0.5 - 0.02185) / 2, abs=1e-4))
    assert fidelity(real, real, SCHEMA).lost_ties == ()


def test_a_tie_of_which_more_than_half_is_left_is_not_lost():
    real = rows({("a", "x", 10): 500, ("b", "y", 10): 500})
    for same, other, lost in ((390, 110, 0), (350, 150, 1)):
        counts = {("a", "x", 10): same, ("b", "y", 10): same, ("a", "y", 10): other, ("b", "x", 10): other}
        assert len(fidelity(real, rows(counts), SCHEMA).lost_ties) == lost


def test_groups_are_of_few_values_and_many_rows_and_one_that_is_gone_is_off_by_all():
    real = rows({("a", "x", 10): 900, ("b", "x", 10): 60, ("b", "y", 90): 40})
    found = fidelity(real, rows({("a", "x", 10): 900, ("a", "y", 90): 100}), SCHEMA)
    assert found.worst == Group("ward", "b", 0.1, 1.0)
    assert found.largest == Group("ward", "a", 0.9, pytest.approx(0.1 - 0.00799, abs=1e-4))
    few = rows({("a", "x", 10): 980, ("b", "x", 10): 20})
    assert fidelity(few, rows({("a", "x", 10): 1000}), SCHEMA).worst.value != "b"  # 20 are no group


def test_a_median_that_shared_bins_hide_is_named():
    """All cells in the first of two bins are as shares should be, and their middle is drawn five times as high."""
    real = rows({("a", "x", age): 20 for age in range(10)})
    released = rows({("a", "x", age): 4 for age in range(50)})
    (center,) = centers(real, released, SCHEMA)
    assert center == Center("age", "4.5", "24.5", "24.5", 1.0, True)
    found = fidelity(real, released, SCHEMA, distant=(center,))
    assert (found.columns, found.close_columns, found.distant) == (3, 2, (center,))
    spike = rows({("a", "x", 30): 60, ("a", "x", 40): 80, ("a", "x", 60): 60})
    near = rows({("a", "x", 30): 60, ("a", "x", 43): 80, ("a", "x", 60): 60})
    assert [one.distant for one in (*centers(spike, near, SCHEMA), *centers(real, real, SCHEMA))] == [False, False]
    assert centers(spike, rows({("a", "x", 90): 200}), SCHEMA)[0].distant
    assert centers(real, released.astype({"age": float}).assign(age=np.nan), AGES) == ()


def test_edges():
    one = Schema(columns=(WARD,))
    frame = pd.DataFrame({"ward": ["a", "b"]})
    found = fidelity(frame, frame, one)
    assert (found.columns, found.close_columns, found.pairs, found.lost_ties, found.worst) == (1, 1, 0, (), None)
    with pytest.raises(DataError):
        fidelity(frame.head(0), frame, one)


def test_dependence_that_noise_makes_keeps_no_tie():
    """Two columns whose values stand together, and rows in which others do: as far from independent, and lost."""
    values = np.repeat(["a", "b", "c"], 200)
    real = pd.DataFrame({"before": values, "after": values})
    other = real.assign(after=np.roll(values, 200))
    columns = tuple(Column(name, "categorical", categories=("a", "b", "c")) for name in real)
    schema = Schema(columns=columns)
    assert fidelity(real, real, schema).lost_ties == ()
    (tie,) = fidelity(real, other, schema).lost_ties
    assert tie.real_strength > 0.3
    assert tie.released_strength == 0

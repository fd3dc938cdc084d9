"""Simulated customers: columns are independent within classes in one data set, and dependent in the other.

Bounds of five standard errors are missed by a right generator once in 1.7 million looks; a few hundred are taken.
"""

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from dpcore.datasets.catalog import ATTRIBUTES, CLASSES, TARGET, bank_cards, declared_schema

SCHEMA = declared_schema("bank cards")
WORDS = [each.column.name for each in ATTRIBUTES if not each.column.numeric]
ERRORS = 5
both = pytest.mark.parametrize("dependent", [False, True], ids=["independent", "dependent"])


@cache
def table(dependent):
    return bank_cards(dependent=dependent)


def test_a_seed_decides_every_row():
    first, other = (pd.concat(bank_cards(seed)) for seed in (0, 1))
    assert all(not first[name].equals(other[name]) for name in SCHEMA.names)
    pd.testing.assert_frame_equal(first, pd.concat(table(False)))
    assert not first.head(5_000).equals(first.tail(5_000))


def test_the_schema_is_declared():
    assert (SCHEMA.source, SCHEMA.target, SCHEMA.max_rows, len(SCHEMA)) == ("declared", TARGET, 50_000, 11)
    for column in (each.column for each in ATTRIBUTES if each.column.numeric):
        assert len(set(np.diff(column.edges).round(9))) == 1  # whole numbers in every bin, the same number of them


@both
def test_rows_fit_the_schema_and_marginals_within_classes_are_as_documented(dependent):
    train, test = table(dependent)
    assert (len(train), len(test)) == (50_000, 5_000)
    for frame in (train, test):
        assert SCHEMA.encode(frame).shape == (len(frame), len(SCHEMA))
    for index, (name, share) in enumerate(CLASSES.items()):
        rows = train[train[TARGET] == name]
        n = len(rows)
        assert n / len(train) == pytest.approx(share, abs=ERRORS * (share * (1 - share) / len(train)) ** 0.5)
        for each in ATTRIBUTES:
            cells = rows[each.column.name]
            if each.column.numeric:  # the median and the 84% point are what clipping leaves alone; 1.6 is the larger
                mean, deviation = each.classes[index]  # factor of their errors, rounding is added
                near = ERRORS * 1.6 * deviation / n**0.5 + (0.5 if each.column.kind == "integer" else 0.01)
                assert cells.median() == pytest.approx(mean, abs=near)
                assert cells.quantile(0.841345) == pytest.approx(mean + deviation, abs=near)
                moved = (cells == each.column.lower) | (cells == each.column.upper)
                assert moved.mean() < (0.15 if each.column.name == "cards" else 0.05)  # most 1s are not clipped
            else:
                found = cells.value_counts(normalize=True)
                for value, expected in zip(each.column.categories, each.classes[index], strict=True):
                    assert found[value] == pytest.approx(expected, abs=ERRORS * (expected * (1 - expected) / n) ** 0.5)


@both
def test_only_columns_of_one_factor_depend_on_each_other_within_classes(dependent):
    """Correlations times the root of the rows are standard normal where columns are independent."""
    train = table(dependent)[0]
    train = train.assign(**{name: train[name].map(SCHEMA[name].categories.index) for name in [*WORDS, TARGET]})
    for index in range(len(CLASSES)):
        rows = train[train[TARGET] == index].drop(columns=TARGET)
        z = rows.corr() * len(rows) ** 0.5
        for one, other in combinations(ATTRIBUTES, 2):
            found = z.loc[one.column.name, other.column.name]
            if dependent and one.factor == other.factor:
                assert found * np.sign(one.loading * other.loading) > 2 * ERRORS
            else:
                assert abs(found) < ERRORS

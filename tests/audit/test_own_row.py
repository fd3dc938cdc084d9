"""One's own row makes a case: the table as it is, and the same without that person, or with other values."""

from collections import Counter

import numpy as np
import pytest

from dpcore.accounting.relation import Relation
from dpcore.audit import cases
from dpcore.audit.tables import bits, frame_of
from dpcore.errors import DataError, DPCoreError
from dpcore.methods import DiffPID3, NaiveBayesSynthesizer

SCHEMA = bits("aby", "y")
TABLE = frame_of(SCHEMA, "000", "011", "101", "110", times=3)
OTHER = {"a": "1", "b": "1", "y": "1"}


def multiset(frame):
    return Counter(map(tuple, frame.itertuples(index=False)))


def test_a_row_is_left_out_or_changed():
    method = NaiveBayesSynthesizer(epsilon=1.0, random_state=3)
    case = cases.own_row(method, SCHEMA, TABLE, 4, "add_remove")
    assert [len(frame) for frame in case.pair] == [12, 11]
    assert multiset(case.pair[0]) - multiset(case.pair[1]) == Counter([("0", "1", "1")])
    assert case.estimator.random_state is None
    assert method.random_state == 3
    twins = cases.run(case, 20, seed=0)
    assert np.isfinite(twins.first).all()
    assert twins.result.claimed == 1
    case = cases.own_row(method, SCHEMA, TABLE, 4, "replace", other=OTHER)
    assert [len(frame) for frame in case.pair] == [12, 12]
    assert multiset(case.pair[1]) - multiset(case.pair[0]) == Counter([("1", "1", "1")])
    assert case.estimator.relation == case.relation == "replace"


def test_a_classifier_is_asked_for_the_rows_own_class():
    case = cases.own_row(DiffPID3(epsilon=50.0, max_depth=2), SCHEMA, TABLE, 4, Relation.ADD_REMOVE)
    twins = cases.run(case, 20, seed=0)
    assert ((twins.first >= 0) & (twins.first <= 1)).all()
    assert twins.first.mean() > 0.9


def test_rows_that_are_not_there_and_values_that_do_not_fit_are_refused():
    for row, relation, other in (
        (12, "add_remove", None),
        (-1, "add_remove", None),
        (0, "replace", None),
        (0, "replace", {"a": "1"}),
        (0, "x", None),
    ):
        with pytest.raises(DPCoreError):
            cases.own_row(NaiveBayesSynthesizer(), SCHEMA, TABLE, row, relation, other=other)
    with pytest.raises(DataError):
        cases.own_row(NaiveBayesSynthesizer(), SCHEMA, TABLE, 0, "replace", other=OTHER | {"a": "7"})


def test_a_table_of_one_person_can_lose_them():
    case = cases.own_row(NaiveBayesSynthesizer(), SCHEMA, TABLE.head(1), 0, "add_remove")
    assert [len(frame) for frame in case.pair] == [1, 0]
    assert np.isfinite(cases.run(case, 20, seed=1).second).all()

"""Twin worlds: every case is what it says, runs are whole and repeatable, and one's own row makes a case."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from dpcore.accounting.relation import Relation
from dpcore.audit import cases
from dpcore.audit.bound import remembering
from dpcore.audit.tables import bits, changed, difference_ratio, frame_of, more
from dpcore.errors import DataError, DPCoreError, ParameterError
from dpcore.methods import METHODS, DiffPID3, NaiveBayesSynthesizer

SCHEMA = bits("aby", "y")
TABLE = frame_of(SCHEMA, "000", "011", "101", "110", times=3)
every_case = pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.key)


def multiset(frame):
    return Counter(map(tuple, frame.itertuples(index=False)))


@every_case
def test_pairs_are_neighbors(case):
    first, second = map(multiset, case.pair)
    lost, gained = (first - second).total(), (second - first).total()
    assert (lost, gained) == ((1, 1) if case.relation == "replace" else (0, 1))
    for frame in case.pair:
        assert len(case.schema.encode(frame)) == len(frame)


@every_case
def test_cases_say_what_they_are(case):
    assert type(case.estimator) is METHODS[case.method]
    assert case.estimator.mode == case.mode
    assert case.estimator.relation == case.relation
    assert case.estimator.random_state is None
    assert case.key.startswith(f"{case.method}/{case.mode}/")
    assert case.title
    assert case.looks_at
    assert case.story.endswith(".")
    assert 20 <= case.trials <= 10_000


def test_every_method_has_cases_in_all_its_modes():
    assert len({case.key for case in cases.CASES}) == len(cases.CASES)
    titles = [(case.method, case.mode, case.title) for case in cases.CASES]
    assert len(set(titles)) == len(titles)
    for name, kind in METHODS.items():
        for mode in kind.modes:
            assert cases.cases_of(name, mode), (name, mode)
    assert cases.cases_of("PrivBayes refined", "paper") == []


def case_of(key):
    return next(case for case in cases.CASES if case.key == key)


def test_a_seed_gives_the_same_worlds_again():
    case = case_of("NB-Synth/corrected/C1/add_remove")
    one, same, other = (cases.run(case, 20, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.first, same.first)
    np.testing.assert_array_equal(one.second, same.second)
    assert (one.first != other.first).all()
    assert (one.first != one.second).all()
    fresh = [cases.run(case, 20).first for _ in "ab"]
    assert (fresh[0] != fresh[1]).any()  # whole numbers, some of which are equal by chance


def test_what_is_claimed_is_the_ledgers_or_a_steps():
    found = cases.run(case_of("TaxonomyRelease/paper/all/add_remove"), 20, seed=0).result
    assert (found.claimed, found.bound, found.trials, found.confidence) == (1.0, 4.0, 20, 0.95)
    found = cases.run(case_of("HMPrivBayes/paper/pairs"), 20, seed=0).result
    assert (found.claimed, found.bound) == (3.0, 6.0)
    assert cases.run(case_of("NB-Synth/paper/Alg1"), 20, seed=0).verdict == "no claim"


def test_progress_is_told_and_cancels():
    told = []
    case = case_of("NB-Synth/paper/Alg1")
    cases.run(case, 400, seed=0, progress=lambda fraction, text: told.append((fraction, text)))
    assert 100 <= len(told) <= 201
    assert told[-1] == (1.0, "Run 400 of 400 in each world")
    assert [fraction for fraction, _ in told] == sorted(fraction for fraction, _ in told)

    class StoppedError(Exception):
        pass

    def stop(fraction, text):
        raise StoppedError

    with pytest.raises(StoppedError):
        cases.run(case, 400, progress=stop)
    with pytest.raises(ParameterError):
        cases.run(case, 19)


def test_a_schema_that_remembers_is_the_same_schema():
    known = remembering(SCHEMA, (TABLE,))
    np.testing.assert_array_equal(known.encode(TABLE), SCHEMA.encode(TABLE))
    known.encode(TABLE)[:] = 1
    np.testing.assert_array_equal(known.encode(TABLE), SCHEMA.encode(TABLE))
    turned = TABLE.iloc[::-1]
    np.testing.assert_array_equal(known.encode(turned), SCHEMA.encode(turned))
    part = known.select(["b"])
    np.testing.assert_array_equal(part.encode(TABLE), SCHEMA.select(["b"]).encode(TABLE))


def test_the_ratio_of_two_noises_is_that_of_their_densities():
    grid = np.linspace(-60, 60, 12_001)
    one = np.exp(-np.abs(grid) / 2) / 4
    density = np.convolve(one, one, "same") * (grid[1] - grid[0])
    for seen in (-3.0, 0.5, 4.0):
        near, far = (np.interp(at, grid, density) for at in (seen - 1, seen))
        assert difference_ratio(seen, 1.0, 2.0) == pytest.approx(np.log(near / far), abs=1e-3)


def test_tables_are_made_neighbors():
    assert [len(frame) for frame in more(TABLE, "000")] == [12, 13]
    assert [len(frame) for frame in changed(TABLE, "000")] == [12, 12]


# One's own row


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
    other = {"a": "1", "b": "1", "y": "1"}
    case = cases.own_row(method, SCHEMA, TABLE, 4, "replace", other=other)
    assert [len(frame) for frame in case.pair] == [12, 12]
    assert multiset(case.pair[1]) - multiset(case.pair[0]) == Counter([("1", "1", "1")])
    assert case.estimator.relation == case.relation == "replace"


def test_a_classifier_is_asked_for_the_rows_own_class():
    case = cases.own_row(DiffPID3(epsilon=50.0, max_depth=2), SCHEMA, TABLE, 4, Relation.ADD_REMOVE)
    twins = cases.run(case, 20, seed=0)
    assert ((twins.first >= 0) & (twins.first <= 1)).all()
    assert twins.first.mean() > 0.9


@pytest.mark.parametrize(
    ("row", "relation", "other"),
    [
        (12, "add_remove", None),
        (-1, "add_remove", None),
        (0, "replace", None),
        (0, "replace", {"a": "1"}),
        (0, "x", None),
    ],
)
def test_rows_that_are_not_there_are_refused(row, relation, other):
    with pytest.raises(DPCoreError):
        cases.own_row(NaiveBayesSynthesizer(), SCHEMA, TABLE, row, relation, other=other)


def test_values_outside_the_schema_are_refused_before_anything_is_run():
    other = {"a": "7", "b": "0", "y": "0"}
    with pytest.raises(DataError):
        cases.own_row(NaiveBayesSynthesizer(), SCHEMA, TABLE, 0, "replace", other=other)


def test_a_table_of_one_person_can_lose_them():
    case = cases.own_row(NaiveBayesSynthesizer(), SCHEMA, TABLE.head(1), 0, "add_remove")
    assert [len(frame) for frame in case.pair] == [1, 0]
    assert isinstance(case.pair[1], pd.DataFrame)
    assert np.isfinite(cases.run(case, 20, seed=1).second).all()

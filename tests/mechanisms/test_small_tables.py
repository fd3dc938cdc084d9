"""Scores of divisions and of distances on all small tables: what one person moves, in scores and in choices."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dpcore.accounting.relation import Relation
from dpcore.mechanisms.scores import DistanceFromMarginals, InfoGain, IntervalSplit, Max, Specialization
from dpcore.rows import joint_counts

RECORDS = list(product(range(3), range(2), range(2)))  # of x, z and the class
INNER = {"target": "y", "classes": 2}
# Values: all of x in three; 1 and 2 of x, which 0 is outside of; z; and an x of which two parts are one
DIVISIONS = [("x", np.arange(3)), ("x", np.array([-1, 0, 1])), ("z", np.arange(2)), ("x", np.array([0, 1, 1]))]
RELEASED = np.array([[[0.7, 0.4], [1.1, 0.1]], [[1.4, 0.3], [2.2, 0.2]], [[0.1, 1.8], [0.2, 0.4]]])
MERGES = [[np.array([0, 1, 0]), np.arange(2), np.arange(2)], [np.array([1, 0, 0]), np.zeros(2, int), np.arange(2)]]
COARSER = [np.array([[[0.7, 0.4], [1.1, 0.1]], [[1.4, 0.3], [0.2, 0.2]]]), np.array([[[1.3, 0.8]], [[0.6, 0.9]]])]
SPLITS = [
    lambda rate: Specialization(**INNER, table_score=rate, splits=DIVISIONS),
    lambda rate: IntervalSplit(**INNER, table_score=rate, column="x", low=0, high=3),
    lambda rate: IntervalSplit(**INNER, table_score=rate, column="x", low=1, high=3),
    lambda rate: Specialization(
        **INNER, table_score=rate, splits=[("z", np.arange(2))], intervals=[("x", 0, 3), ("x", 1, 3)]
    ),
]
SCORES = [(split(rate), rate.name) for split, rate in product(SPLITS, (Max(), InfoGain()))]
SCORES.append((DistanceFromMarginals([RELEASED], penalty=0.3), "distance"))
SCORES.append((DistanceFromMarginals([RELEASED - 1], penalty=0.0), "distance"))  # the model may be wrong about all
SCORES.append((DistanceFromMarginals(COARSER, penalty=0.3, merges=MERGES), "distances at two resolutions"))
SCORES.append((DistanceFromMarginals(COARSER, penalty=[0.3, 0.1], merges=MERGES, factors=[0.4, 1.7]), "weighted"))


def answers(rows):
    codes = np.array(rows, dtype=np.uint8).reshape(-1, 3)

    def count(families):
        return joint_counts(codes, (3, 2, 2), [["xzy".index(name) for name in family] for family in families])

    return count


def changes(values, relation):
    """What one person changes of some values of tables of up to three records: shape (changes, values)."""
    tables = [rows for size in range(4) for rows in combinations_with_replacement(RECORDS, size)]
    found = {rows: values(rows) for rows in tables}
    moved = []
    for rows in found:
        if len(rows) < 3:
            after = np.array([found[tuple(sorted([*rows, record]))] for record in RECORDS])
            step = after - found[rows] if relation is Relation.ADD_REMOVE else after[:, None] - after[None]
            moved.append(step.reshape(-1, after.shape[1]))
    return np.concatenate(moved)


def test_distances_are_those_of_candidates_one_by_one():
    """Of which several share a table, a family, or merges, but not all three."""
    merges, fine = [np.array([0, 1, 0]), np.arange(2)], [np.arange(3), np.arange(2)]
    xz, other, coarse = (np.random.default_rng(rows).random((rows, 2)) for rows in (3, 3, 2))
    other = 3 * other[::-1]
    candidates = [
        (xz, ("x", "z"), fine), (xz, ("x", "y"), fine), (other, ("x", "z"), fine), (xz, ("x", "z"), fine),
        (coarse, ("x", "z"), merges), (coarse, ("x", "z"), [np.array([1, 0, 0]), np.arange(2)]),
        (coarse, ("x", "y"), merges), (xz, ("x", "z"), fine),
    ]  # fmt: skip
    count, penalties = answers([(0, 0, 1), (2, 1, 0), (2, 1, 1), (2, 0, 1)]), np.arange(8) / 8
    released, families, merged = zip(*candidates, strict=True)
    found = DistanceFromMarginals(released, penalties, merged).values(count, families, Relation.ADD_REMOVE)
    for score, penalty, (table, family, merge) in zip(found, penalties, candidates, strict=True):
        (alone,) = DistanceFromMarginals([table], penalty, [merge]).values(count, [family], Relation.ADD_REMOVE)
        assert score == alone
    assert len(set(found + penalties * [table.size for table in released])) == 6
    every = DistanceFromMarginals(np.array([xz, other]), 0.0).values(count, [("x", "z")] * 2, Relation.ADD_REMOVE)
    assert every.tolist() == (found + penalties * 6)[[0, 2]].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("score", "table_score"), SCORES)
def test_one_person_changes_scores_and_probabilities_by_at_most_the_bounds(score, table_score, relation):
    """Rows that enter a value, leave it, move inside it, or lie outside."""
    bounds = score.bounds([(3, 2, 2)], relation, None)

    def values(rows):
        candidates = [("x", "z", "y")] * len(getattr(score, "tables", [None]))
        return np.asarray(score.values(answers(rows), candidates, relation))

    def chances(rows):
        part, whole = score.weights if getattr(score, "weights", None) else (1, 1)
        exponent = values(rows) / bounds.loss + np.log(part / whole)
        return exponent - np.logaddexp.reduce(exponent)

    moved = changes(values, relation)
    assert np.abs(moved).max() == pytest.approx(bounds.sensitivity)  # no more, and no less
    # exp(t q) loses what a score rises against the largest fall of another; all of a neighbor's moves at once
    assert np.ptp(moved, axis=1).max() <= bounds.loss + 1e-12
    assert np.abs(changes(chances, relation)).max() <= 1 + 1e-12
    if bounds.loss < 2 * bounds.sensitivity:
        assert moved.min() >= 0
        assert (table_score, relation, bounds.loss) == ("Max", Relation.ADD_REMOVE, bounds.sensitivity)

"""Every score's sensitivity against brute force over all small neighboring tables."""

from functools import cache
from itertools import combinations_with_replacement, product
from math import log, log2

import numpy as np
import pytest

from dpcore.accounting.relation import Relation
from dpcore.errors import ParameterError
from dpcore.mechanisms import scores
from dpcore.mechanisms.scores import Entropy, Gini, InfoGain, Jaccard, LinearF, Max, MutualInformation, R

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
SHAPES = {(2, 2): 6, (2, 3): 5, (3, 2): 5, (3, 3): 4}  # and up to how many rows all tables are tried
SCORES = dict.fromkeys((Entropy(), MutualInformation(), R(), Max(), Gini(), scores.ConditionalEntropy()), SHAPES)
SCORES |= {InfoGain(): SHAPES, LinearF(): {(2, 2): 6, (2, 3): 5, (2, 4): 4}, Jaccard(): {(2, 2): 6}}


@cache
def tables(shape, n):
    cells = shape[0] * shape[1]
    chosen = (np.array(rows, dtype=int) for rows in combinations_with_replacement(range(cells), n))
    return np.stack([np.bincount(rows, minlength=cells) for rows in chosen], axis=-1).reshape(*shape, -1)


def changes(score, shape, relation, n):
    """Score changes over all neighbors: from each table of n - 1 rows to n, or between those with one row more."""
    smaller = tables(shape, n - 1)
    units = np.eye(shape[0] * shape[1], dtype=int).reshape(-1, *shape, 1)
    more = np.array([score.score_tables(smaller + unit, relation) for unit in units])
    return more - score.score_tables(smaller, relation) if relation is ADD else np.ptp(more, axis=0)


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_sensitivity_covers_every_small_neighboring_pair(score):
    """At each public n of 2 or more, and up to the largest; scores that are called monotone move one way."""
    for (shape, most), relation in product(SCORES[score].items(), (ADD, REPLACE)):
        moves = [changes(score, shape, relation, rows) for rows in range(1, most + 1)]
        found = [np.abs(move).max() for move in moves]
        allowed = [score.bounds([shape], relation, rows).sensitivity for rows in range(1, most + 1)]
        assert max(found) <= max(allowed) + 1e-12
        assert (np.array(found[1:]) <= np.array(allowed[1:]) + 1e-12).all()
        every = np.concatenate([move.ravel() for move in moves])
        one_way = (every <= 1e-12).all() or (every >= -1e-12).all()
        assert relation is REPLACE or one_way or not score.monotone_when_added


def test_tight_where_the_derivation_says_so():
    replaced = [(score, REPLACE) for score in (LinearF(), Entropy(), MutualInformation(), R())]
    for score, relation in (*replaced, *((score, ADD) for score in (LinearF(), Max(), Jaccard(), InfoGain()))):
        largest = max(np.abs(changes(score, (2, 2), relation, rows)).max() for rows in (2, 3, 4))
        allowed = max(score.bounds([(2, 2)], relation, rows).sensitivity for rows in (2, 3, 4))
        assert largest == pytest.approx(allowed), score.name
    wide = MutualInformation()  # attained at odd n: 2 log2 2 at n = 3
    assert changes(wide, (3, 3), REPLACE, 3).max() > 0.95 * wide.bounds([(3, 3)], REPLACE, 2).sensitivity


def test_hand_worked_values():
    agree, even = np.array([[4, 0], [0, 4]]), np.array([[2, 2], [2, 2]])
    for score, of_agree, of_even in ((MutualInformation(), 1, 0), (R(), 0.5, 0), (LinearF(), 0, -0.5)):
        assert score.score_table(agree, REPLACE) == pytest.approx(of_agree)
        assert score.score_table(even, REPLACE) == pytest.approx(of_even)
    node = np.array([[3, 1]])
    assert Gini().score_table(node, ADD) == pytest.approx(-1.5)
    assert scores.ConditionalEntropy().score_table(node, ADD) == pytest.approx(-3.2451, abs=1e-4)
    assert Max().score_table(node, ADD) == 3
    assert InfoGain().score_table(np.array([[3, 0], [0, 1]]), ADD) == pytest.approx(0.8113, abs=1e-4)


@pytest.mark.parametrize("parents", [1, 2, 8, 9, 11])
def test_f_by_either_way_equals_trying_every_assignment(parents):
    """Up to 8 parent values one assignment at a time for many tables at once, beyond by dynamic programming."""
    rng = np.random.default_rng(parents)
    tables = rng.integers(0, 5, size=(2, parents, 12)) * (rng.random((2, parents, 12)) < 0.7)
    tables[..., 0] = 0
    to_zero, totals = np.array(list(product((0, 1), repeat=parents))), tables.sum(axis=(0, 1))
    sides = ((to_zero, tables[0]), (1 - to_zero, tables[1]))
    best = -sum(np.maximum(totals / 2 - side @ cells, 0) for side, cells in sides).min(axis=0)
    for relation, expected in ((ADD, best), (REPLACE, best / np.maximum(totals, 1))):
        np.testing.assert_allclose(LinearF().score_tables(tables, relation), expected, atol=1e-12)
        alone = [LinearF().score_table(tables[..., i], relation) for i in range(12)]
        np.testing.assert_allclose(alone, expected, atol=1e-12)


@pytest.mark.parametrize("parents", [2, 9])
def test_f_needs_a_binary_child(parents):
    with pytest.raises(ParameterError, match="binary child"):
        LinearF().score_table(np.ones((3, parents), dtype=int), ADD)


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (3, 5)])
def test_many_tables_are_scored_as_each_by_itself(shape):
    """And each as exact arithmetic has it: see test_rounding."""
    rng = np.random.default_rng(1)
    tables = rng.integers(0, 6, size=(*shape, 10)) * (rng.random((*shape, 10)) < 0.8)
    tables[..., 0] = 0
    before = tables.copy()
    for score, relation in product(SCORES, (ADD, REPLACE)):
        if shape == (2, 2) or not isinstance(score, LinearF | Jaccard):
            found = score.score_tables(tables, relation)
            alone = [score.score_table(tables[..., i], relation) for i in range(10)]
            np.testing.assert_allclose(found, alone, atol=1e-12)
            assert isinstance(score, Jaccard) or found[0] == 0  # without rows
    np.testing.assert_array_equal(tables, before)


def test_candidates_of_many_shapes_keep_their_order():
    """Tables of one shape are scored together, whatever their order among the candidates."""
    rng = np.random.default_rng(2)
    drawn = [rng.integers(0, 9, shape) for shape in [(2, 2), (3, 2, 2), (2, 2), (2,), (2, 4), (3, 4), (2,)]]
    found = R().values(lambda _: drawn, [()] * len(drawn), ADD)
    np.testing.assert_allclose(found, [R().score_table(table.reshape(R().flat(table.shape)), ADD) for table in drawn])
    assert len(set(np.round(found, 9))) >= 5


def test_information_scores_need_a_public_size():
    with pytest.raises(ParameterError, match="max_rows"):
        Entropy().bounds([(2, 1)], ADD, None)
    assert R().bounds([(3, 3)], ADD, None).sensitivity == 2
    n = 7
    expected = 2 / n * log2((n + 1) / 2) + (n - 1) / n * log2((n + 1) / (n - 1))
    assert MutualInformation().bounds([(3, 3)], REPLACE, n).sensitivity == pytest.approx(expected)


def test_class_log_score_moves_one_class_by_at_most_its_sensitivity():
    """All tables of up to 2 rows with two binary attributes and a binary class, every query, one record added."""
    queries = np.array(list(product([0, 1], repeat=2)), dtype=np.uint8)
    records = np.array(list(product([0, 1], repeat=3)))
    for smoothing in (0.5, 2.0):
        score = scores.ClassLogScore("y", ("a", "b"), queries, smoothing)

        def values(counts, score=score):
            joint = np.array(counts).reshape(2, 2, 2)  # y, a, b
            marginals = {("y",): joint.sum(axis=(1, 2)), ("y", "a"): joint.sum(axis=2), ("y", "b"): joint.sum(axis=1)}
            return score.values(lambda families: [marginals[tuple(family)] for family in families], [], ADD)

        allowed, largest = score.bounds([], ADD, None).sensitivity, 0.0
        assert allowed == pytest.approx(3 * log((1 + smoothing) / smoothing))
        for counts in np.concatenate([tables((2, 4), n).reshape(8, -1).T for n in range(3)]):
            before = values(counts)
            for one, record in zip(np.eye(8, dtype=int), records, strict=True):
                change = np.abs(values(counts + one) - before)
                assert change[:, 1 - record[0]].max() == 0
                largest = max(largest, float(change.max()))
        assert 0.5 * allowed < largest <= allowed
        assert score.bounds([], REPLACE, None).loss == pytest.approx(2 * allowed)

"""Every score's sensitivity against brute force over all small neighboring tables."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import log, log2

import numpy as np
import pytest

from dpcore.accounting.relation import Relation
from dpcore.errors import ParameterError
from dpcore.mechanisms.scores import (
    ClassLogScore,
    ConditionalEntropy,
    Entropy,
    Gini,
    InfoGain,
    Jaccard,
    LinearF,
    Max,
    MutualInformation,
    R,
)

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
SHAPES = [((2, 2), 6), ((2, 3), 5), ((3, 2), 5), ((3, 3), 4)]
SCORES = [Entropy(), MutualInformation(), R(), Max(), Gini(), ConditionalEntropy(), InfoGain()]
CASES = [(score, shape, n) for score in SCORES for shape, n in SHAPES]
CASES += [(LinearF(), (2, 2), 6), (LinearF(), (2, 3), 5), (LinearF(), (2, 4), 4), (Jaccard(), (2, 2), 6)]
IDS = [f"{score.name}-{shape}-{n}" for score, shape, n in CASES]


def compositions(total: int, cells: int) -> Iterator[tuple[int, ...]]:
    if cells == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, cells - 1):
            yield (first, *rest)


@cache
def tables(shape: tuple[int, int], n: int) -> list[np.ndarray]:
    return [np.array(cells).reshape(shape) for cells in compositions(n, shape[0] * shape[1])]


def added(table: np.ndarray) -> Iterator[np.ndarray]:
    for cell in np.ndindex(table.shape):
        larger = table.copy()
        larger[cell] += 1
        yield larger


def changes(score, shape, relation, n) -> np.ndarray:
    """Score changes over all neighbors; larger minus smaller under add_remove (larger table has n rows)."""
    found = []
    for smaller in tables(shape, n - 1):
        values = [score.of(table, relation) for table in added(smaller)]
        if relation is ADD:
            found += [value - score.of(smaller, relation) for value in values]
        else:
            found += [a - b for a, b in product(values, values)]
    return np.array(found)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(("score", "shape", "n"), CASES, ids=IDS)
def test_sensitivity_covers_every_small_neighboring_pair(score, shape, n, relation):
    largest = max(np.abs(changes(score, shape, relation, rows)).max() for rows in range(1, n + 1))
    claimed = max(score.bounds([shape], relation, rows).sensitivity for rows in range(1, n + 1))
    assert largest <= claimed + 1e-12
    for rows in range(2, n + 1):  # and at each public n by itself
        here = np.abs(changes(score, shape, relation, rows)).max()
        assert here <= score.bounds([shape], relation, rows).sensitivity + 1e-12


@pytest.mark.parametrize(("score", "shape", "n"), CASES, ids=IDS)
def test_monotone_scores_move_one_way(score, shape, n):
    moves = np.concatenate([changes(score, shape, ADD, rows) for rows in range(1, n + 1)])
    one_way = bool((moves <= 1e-12).all() or (moves >= -1e-12).all())
    assert one_way or not score.monotone_when_added


@pytest.mark.parametrize(
    ("score", "shape", "relation"),
    [
        (Entropy(), (2, 2), REPLACE),
        (MutualInformation(), (2, 2), REPLACE),
        (MutualInformation(), (3, 3), REPLACE),
        (R(), (2, 2), REPLACE),
        (LinearF(), (2, 2), REPLACE),
        (LinearF(), (2, 2), ADD),
        (Max(), (2, 2), ADD),
        (Jaccard(), (2, 2), ADD),
        (InfoGain(), (2, 2), ADD),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_tight_where_the_derivation_says_so(score, shape, relation):
    n = 4
    largest = max(np.abs(changes(score, shape, relation, rows)).max() for rows in (2, 3, n))
    allowed = max(score.bounds([shape], relation, rows).sensitivity for rows in (2, 3, n))
    if (score.name, shape) == ("mutual information", (3, 3)):  # attained at odd n: 2 log2 2 at n = 3
        assert largest > 0.95 * allowed
    else:
        assert largest == pytest.approx(allowed)


def test_hand_worked_values():
    agree, even = np.array([[4, 0], [0, 4]]), np.array([[2, 2], [2, 2]])
    assert MutualInformation().of(agree, REPLACE) == pytest.approx(1)
    assert R().of(agree, REPLACE) == pytest.approx(0.5)
    assert LinearF().of(agree, REPLACE) == pytest.approx(0)
    assert MutualInformation().of(even, REPLACE) == pytest.approx(0)
    assert R().of(even, REPLACE) == pytest.approx(0)
    assert LinearF().of(even, REPLACE) == pytest.approx(-0.5)
    node = np.array([[3, 1]])
    assert Gini().of(node, ADD) == pytest.approx(-1.5)
    assert ConditionalEntropy().of(node, ADD) == pytest.approx(-3.2451, abs=1e-4)
    assert Max().of(node, ADD) == 3


def test_f_by_dynamic_programming_equals_brute_force():
    rng = np.random.default_rng(3)
    for _ in range(200):
        table = rng.integers(0, 6, size=(2, 4))
        n = table.sum()
        shares = table / max(n, 1)
        best = min(
            max(0.5 - shares[0, list(zero)].sum(), 0)
            + max(0.5 - shares[1, [j for j in range(4) if j not in zero]].sum(), 0)
            for zero in ([j for j in range(4) if mask >> j & 1] for mask in range(16))
        )
        assert LinearF().of(table, REPLACE) == pytest.approx(-best if n else 0)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("parents", [1, 2, 4, 8, 9, 11])
def test_f_by_either_way_equals_trying_every_assignment(parents, relation):
    """Up to 8 parent values one assignment at a time for many tables at once, beyond by dynamic programming."""
    rng = np.random.default_rng(parents)
    tables = rng.integers(0, 5, size=(2, parents, 12)) * (rng.random((2, parents, 12)) < 0.7)
    tables[..., 0] = 0
    to_zero = np.array(list(product((0, 1), repeat=parents)))
    totals = tables.sum(axis=(0, 1))
    lacking = [
        np.maximum(totals / 2 - side @ cells, 0) for side, cells in ((to_zero, tables[0]), (1 - to_zero, tables[1]))
    ]
    best = -sum(lacking).min(axis=0)
    expected = best if relation is ADD else best / np.maximum(totals, 1)
    before = tables.copy()
    np.testing.assert_allclose(LinearF().of_many(tables, relation), expected, atol=1e-12)
    np.testing.assert_allclose([LinearF().of(tables[..., i], relation) for i in range(12)], expected, atol=1e-12)
    np.testing.assert_array_equal(tables, before)


def test_f_needs_a_binary_child():
    for parents in (2, 9):
        table = np.ones((3, parents), dtype=int)
        with pytest.raises(ParameterError, match="binary child"):
            LinearF().of(table, ADD)
        with pytest.raises(ParameterError, match="binary child"):
            LinearF().of_many(table[..., None], ADD)


def score_by_hand(name, table, n):
    """Per record, from the definitions."""
    p = table / n
    x, pi = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "entropy": -np.nansum(p * np.log2(p)),
            "mutual information": np.nansum(p * np.log2(p / (x * pi))),
            "R": np.abs(p - x * pi).sum() / 2,
        }[name]


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("score", [Entropy(), MutualInformation(), R()], ids=lambda score: score.name)
def test_many_tables_are_scored_as_each_by_itself(score, relation):
    rng = np.random.default_rng(1)
    for shape in ((2, 1), (2, 4), (3, 5), (1, 3)):
        tables = rng.integers(0, 6, size=(*shape, 30)) * (rng.random((*shape, 30)) < 0.8)
        tables[0, 0] += 1
        before = tables.copy()
        found = score.of_many(tables, relation)
        assert found.shape == (30,)
        for i in range(30):
            n = tables[..., i].sum()
            expected = score_by_hand(score.name, tables[..., i], n) * (n if relation is ADD else 1)
            assert found[i] == pytest.approx(expected, abs=1e-9)
            assert score.of(tables[..., i], relation) == pytest.approx(expected, abs=1e-9)
        np.testing.assert_array_equal(tables, before)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_tables_without_rows_have_scores(relation):
    empty = np.zeros((2, 4, 3), dtype=np.int64)
    for score in (Entropy(), MutualInformation(), R(), LinearF(), Max(), Gini(), ConditionalEntropy(), InfoGain()):
        np.testing.assert_array_equal(score.of_many(empty, relation), np.zeros(3))


@pytest.mark.parametrize("score", [R(), MutualInformation(), Max()], ids=lambda score: score.name)
def test_candidates_of_many_shapes_keep_their_places(score):
    """Tables of one shape are scored together, whatever their order among the candidates."""
    rng = np.random.default_rng(2)
    shapes = [(2, 2), (3, 2, 2), (2, 2), (2,), (2, 4), (3, 4), (2, 2, 2), (2,)]
    drawn = [rng.integers(0, 9, shape) for shape in shapes]
    found = score.values(lambda _: drawn, [()] * len(shapes), ADD)
    expected = [score.of(table.reshape(score.flat(table.shape)), ADD) for table in drawn]
    np.testing.assert_allclose(found, expected)
    assert len(set(np.round(expected, 9))) >= 6


def test_information_scores_need_a_public_size():
    with pytest.raises(ParameterError, match="max_rows"):
        Entropy().bounds([(2, 1)], ADD, None)
    assert R().bounds([(3, 3)], ADD, None).sensitivity == 2


def test_general_mutual_information_constant():
    n = 7
    expected = 2 / n * log2((n + 1) / 2) + (n - 1) / n * log2((n + 1) / (n - 1))
    assert MutualInformation().bounds([(3, 3)], REPLACE, n).sensitivity == pytest.approx(expected)


@pytest.mark.parametrize("smoothing", [0.5, 1.0, 2.0])
def test_class_log_score_moves_one_class_by_at_most_its_sensitivity(smoothing):
    """All tables of up to 2 rows with two binary attributes and a binary class, every query, one record added."""
    queries = np.array(list(product([0, 1], repeat=2)), dtype=np.uint8)
    score = ClassLogScore("y", ("a", "b"), queries, smoothing)

    def values(rows) -> np.ndarray:
        def count(families):
            result = []
            for family in families:
                table = np.zeros([2] * len(family), dtype=np.int64)
                for row in rows:
                    table[tuple({"y": row[0], "a": row[1], "b": row[2]}[name] for name in family)] += 1
                result.append(table)
            return result

        return score.values(count, [], ADD)

    allowed = score.bounds([], ADD, None).sensitivity
    assert allowed == pytest.approx(3 * log((1 + smoothing) / smoothing))
    records = list(product([0, 1], repeat=3))
    largest = 0.0
    for size in range(3):
        for rows in product(records, repeat=size):
            before = values(rows)
            for record in records:
                change = values([*rows, record]) - before
                assert np.abs(change[:, 1 - record[0]]).max() == 0
                largest = max(largest, float(np.abs(change).max()))
    assert 0.5 * allowed < largest <= allowed
    assert score.bounds([], REPLACE, None).loss == pytest.approx(2 * allowed)

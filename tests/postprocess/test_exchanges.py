"""Rows that exchange values: what stays, what comes closer, and a case by hand."""

from itertools import combinations

import numpy as np
import pytest

from dpcore.postprocess.exchanges import EASE, MOST, exchange, worthwhile

SIZES = (4, 3, 2, 5)


def tables(codes):
    pairs = combinations(range(len(SIZES)), 2)
    found = {(a, b): np.zeros((SIZES[a], SIZES[b])) for a, b in pairs}
    for (a, b), table in found.items():
        np.add.at(table, (codes[:, a], codes[:, b]), 1)
    return found


def statistic(codes, expected):
    return sum(((table - expected[pair]) ** 2 / (expected[pair] + EASE)).sum() for pair, table in tables(codes).items())


@pytest.mark.parametrize(("rows", "left", "dtype"), [(2, 1.0, np.uint8), (101, 0.5, np.int64), (5_000, 0.2, np.uint8)])
def test_columns_stay_and_pairs_come_closer(rows, left, dtype):
    """From values that are in some order to dependent ones, as far as one exchange per value goes."""
    rng = np.random.default_rng(1)
    shape = rng.dirichlet(np.full(np.prod(SIZES), 0.3))
    wanted = np.array(np.unravel_index(rng.choice(len(shape), rows, p=shape), SIZES)).T
    before, expected = rng.permuted(wanted, axis=0), tables(wanted)
    codes = np.asfortranarray(before.astype(dtype))
    exchange(codes, expected, np.random.default_rng(2))
    for j in range(len(SIZES)):
        assert np.bincount(codes[:, j]).tolist() == np.bincount(wanted[:, j]).tolist()
    assert statistic(codes, expected) <= left * statistic(before, expected)
    for seed in range(4):
        exchange(codes, expected, np.random.default_rng(seed))
    assert statistic(codes, expected) <= left**2 * statistic(before, expected)


def test_two_rows_exchange_where_that_gives_what_is_expected():
    codes = np.array([[0, 1], [1, 0]])
    for _ in range(2):  # and stay so
        exchange(codes, {(0, 1): np.eye(2)}, np.random.default_rng(0))
        assert sorted(codes.tolist()) == [[0, 0], [1, 1]]


def test_nobody_comes_where_nobody_is_expected():
    """Even if somebody else would then be where many are."""
    codes = np.array([[0, 0], [1, 1]])
    exchange(codes, {(0, 1): np.array([[0.4, 1.2], [0.0, 0.4]])}, np.random.default_rng(0))
    assert codes.tolist() == [[0, 0], [1, 1]]
    exchange(codes, {(0, 1): np.array([[0.0, 1.2], [0.8, 0.0]])}, np.random.default_rng(0))
    assert sorted(codes.tolist()) == [[0, 1], [1, 0]]


def test_it_is_done_where_it_helps():
    helps = {8: False, 9: True, MOST // 3: True, MOST // 3 + 1: False}  # (6 + 8 + 12) / 3 = 8.7 cells
    assert {rows: worthwhile(rows, (2, 3, 4)) for rows in helps} == helps
    assert not worthwhile(100, (5,))

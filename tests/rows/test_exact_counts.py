"""Marginals against counting row by row, also of columns of 0 and 1, which are packed into words."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.rows import HeldRows, base, joint_counts
from dpcore.rows import exact_counts as module

ROWS = [0, 1, 7, 8, 63, 64, 65, 127, 128, 200]  # words have 64


def assert_counted(codes, sizes, families, tables):
    for family, table in zip(families, tables, strict=True):
        expected = np.zeros([sizes[j] for j in family], dtype=np.int64)
        for row in codes.tolist():
            expected[tuple(row[j] for j in family)] += 1
        assert table.dtype == np.int64
        np.testing.assert_array_equal(table, expected, str(family))


def zeros_and_ones(n, d):
    return np.asfortranarray((np.random.default_rng(n).random((n, d)) < 0.4).astype(np.uint8))


@settings(max_examples=40)
@given(st.data())
def test_marginals_equal_counting_row_by_row(data):
    """In blocks of rows, slices of words, both orders of memory, and with repeated columns."""
    most = data.draw(st.sampled_from([2, 5]), "most values of a column")
    sizes = data.draw(st.lists(st.integers(2 if most == 2 else 1, most), min_size=1, max_size=6))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    codes = rng.integers(0, sizes, size=(data.draw(st.sampled_from(ROWS)), len(sizes))).astype(np.uint8)
    codes = np.array(codes, order=data.draw(st.sampled_from("CF")))
    before, rows = codes.copy(), HeldRows(codes, sizes)
    family = st.lists(st.integers(0, len(sizes) - 1), max_size=4).map(tuple)
    small = {"BLOCK": 64, "CHUNK": 5, "WORTH_PACKING": 2, "MOST_PACKED": 3, "JOINT": 20, "JOINED": 3}
    small["WORTH_JOINING"] = data.draw(st.sampled_from([0, 10**9]))
    for _ in range(2):
        families = data.draw(st.lists(family, max_size=8))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in small.items():
                patch.setattr(module, name, value)
            assert_counted(codes, sizes, families, rows.marginals(families))
            assert_counted(codes, sizes, families, joint_counts(codes, sizes, iter(families)))
    np.testing.assert_array_equal(codes, before)


def test_codes_of_one_byte_do_not_overflow():
    (table,) = joint_counts(np.full((3, 2), 255, dtype=np.uint8), [256, 256], [(0, 1)])
    assert table[255, 255] == table.sum() == 3


@pytest.mark.parametrize("sizes", [[2, 2, 2, 2, 2], [2, 3, 2, 2, 2]], ids=["packed", "general"])
def test_rows_pack_columns_once_and_count_each_clique_once(sizes, monkeypatch):
    counted, packed, pack = [], [], base.PackedBits

    def watched(count):
        return lambda *args: counted.extend(args[-1]) or count(*args)

    for name in ("count_streams", "binary_marginals"):
        monkeypatch.setattr(module, name, watched(getattr(module, name)))
    monkeypatch.setattr(base, "PackedBits", lambda *args: packed.append(1) or pack(*args))
    codes = np.asfortranarray(np.random.default_rng(0).integers(0, sizes, (70, 5)).astype(np.uint8))
    pairs = [(a, b) for a in range(5) for b in range(5)]
    rows = HeldRows(codes, sizes)
    joint_counts(codes, sizes, pairs[: module.WORTH_PACKING - 1])
    assert not packed
    counted.clear()
    assert_counted(codes, sizes, [*pairs, *pairs], rows.marginals([*pairs, *pairs]))
    rows.marginals([[0, 1], (3,)])  # a list is the same family
    rows.marginals([(*pair, 0) for pair in pairs])  # enough to be packed, and packed they are
    assert counted[:26] == [*pairs, (3,)]
    assert packed == [1] * (max(sizes) == 2)


def test_remembered_marginals_are_bounded(monkeypatch):
    monkeypatch.setattr(base, "REMEMBERED", 12)
    rows = HeldRows(zeros_and_ones(50, 4), [2] * 4)
    families = [(0, 1, 2), (0, 1, 3), (1,), (2, 3), (3,)]  # 8, 8, 2, 4 and 2 cells
    for _ in range(3):
        assert_counted(rows.codes, [2] * 4, families, rows.marginals(families))
        assert list(rows._remembered) == [(0, 1, 2), (1,), (3,)]
        assert rows._cells == sum(table.size for table in rows._remembered.values()) == 12


def test_marginals_of_very_many_columns_are_not_confused():
    """With 2,048 columns, six positions in one number take 66 bits."""
    codes = 1 - zeros_and_ones(70, 2048)
    families = [(first, 1600, 1700, 1800, 1900, 2000) for first in (0, 512, 1024, 1536)]
    tables = HeldRows(codes, [2] * 2048).bits.marginals(np.array(families))
    assert_counted(codes, [2] * 2048, families, np.moveaxis(tables, -1, 0))


def test_prefetched_marginals_are_counted_once_if_that_saves_time(monkeypatch):
    codes, pairs, counted = zeros_and_ones(50, 4), list(combinations(range(4), 2)), []
    count = module.count_streams
    monkeypatch.setattr(module, "count_streams", lambda *args: counted.append(args[-1]) or count(*args))
    for worth, room, passes in ((0, 24, [pairs]), (51, 24, []), (0, 23, [])):
        monkeypatch.setattr(module, "WORTH_JOINING", worth)
        monkeypatch.setattr(base, "REMEMBERED", room)
        counted.clear()
        rows = HeldRows(codes, [2] * 4)
        rows.prefetch(pairs)
        assert counted == passes
        assert_counted(codes, [2] * 4, pairs, [rows.marginals([pair])[0] for pair in pairs])
        assert [*filter(None, counted)] == (passes or [[pair] for pair in pairs])

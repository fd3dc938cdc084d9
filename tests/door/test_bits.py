"""Packed counting against counting row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.door import exact_counts as module
from dpcore.door.exact_counts import PackedBits, cells_from_corners, distinct_rows, joint_counts

ROWS = [0, 1, 7, 8, 63, 64, 65, 127, 128, 200]


def zeros_and_ones(n, d, seed=0):
    return np.asfortranarray((np.random.default_rng(seed).random((n, d)) < 0.4).astype(np.uint8))


def by_hand(codes, family):
    """The general counting, one family at a time: it never packs."""
    return joint_counts(codes, [2] * codes.shape[1], [family])[0]


def assert_tables_are_right(codes, families):
    tables = PackedBits(codes).tables(np.array(families, dtype=np.intp).reshape(len(families), -1))
    assert tables.dtype == np.int64
    for i, family in enumerate(families):
        np.testing.assert_array_equal(tables[..., i], by_hand(codes, family))


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("k", range(5))
def test_equals_counting_row_by_row(n, k):
    rng = np.random.default_rng(n + k)
    families = [tuple(rng.permutation(6)[:k].tolist()) for _ in range(9)]
    assert_tables_are_right(zeros_and_ones(n, 6, seed=n), families)


@given(st.data())
def test_any_families_in_any_order_with_columns_asked_for_twice(data):
    d, k = data.draw(st.integers(1, 7)), data.draw(st.integers(0, 4))
    codes = zeros_and_ones(data.draw(st.integers(0, 150)), d, seed=data.draw(st.integers(0, 99)))
    family = st.lists(st.integers(0, d - 1), min_size=k, max_size=k).map(tuple)
    assert_tables_are_right(codes, data.draw(st.lists(family, min_size=1, max_size=8)))


@given(st.integers(0, 150), st.integers(0, 150), st.integers(0, 99))
def test_is_additive_over_blocks_of_rows(n, cut, seed):
    codes = zeros_and_ones(n, 4, seed)
    places = np.array([[0, 1, 2], [3, 1, 0]])
    whole, first, second = (PackedBits(part).tables(places) for part in (codes, codes[:cut], codes[cut:]))
    np.testing.assert_array_equal(whole, first + second)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_how_the_codes_are_stored_makes_no_difference(dtype, order):
    codes = zeros_and_ones(70, 3)
    before = codes.copy()
    tables = PackedBits(np.array(codes, dtype=dtype, order=order)).tables(np.array([[2, 0]]))
    np.testing.assert_array_equal(tables[..., 0], by_hand(codes, (2, 0)))
    np.testing.assert_array_equal(codes, before)


def test_no_columns_give_the_number_of_rows():
    packed = PackedBits(zeros_and_ones(65, 3))
    assert packed.tables(np.zeros((4, 0), dtype=np.intp)).tolist() == [65] * 4
    assert packed.ones(np.zeros((2, 0), dtype=np.intp)).tolist() == [65, 65]
    assert PackedBits(zeros_and_ones(0, 3)).ones(np.array([[0, 1]])).tolist() == [0]


def test_the_padding_of_the_last_word_is_in_no_cell():
    codes = np.ones((65, 2), dtype=np.uint8)
    assert PackedBits(codes).tables(np.array([[0, 1]]))[..., 0].tolist() == [[0, 0], [0, 65]]
    assert PackedBits(1 - codes).tables(np.array([[0, 1]]))[..., 0].tolist() == [[65, 0], [0, 0]]


def test_many_sets_are_counted_in_slices(monkeypatch):
    codes = zeros_and_ones(200, 8, seed=3)  # four words a column
    families = [(a, b) for a in range(8) for b in range(8) if a != b]
    whole = PackedBits(codes).tables(np.array(families))
    for chunk in (1, 4, 13):  # fewer words than one set has; one set; three sets
        monkeypatch.setattr(module, "CHUNK", chunk)
        slices = list(PackedBits(codes).chunks(10))
        assert [i for part in slices for i in range(part.start, part.stop)] == list(range(10))
        assert len(slices) == -(-10 // max(chunk // 4, 1))
        np.testing.assert_array_equal(PackedBits(codes).tables(np.array(families)), whole)


def test_a_subset_that_many_families_share_is_counted_once(monkeypatch):
    packed, counted = PackedBits(zeros_and_ones(100, 6)), []
    ones = PackedBits.ones

    def watched(self, places):
        counted.extend(frozenset(row) for row in places.tolist())
        return ones(self, places)

    monkeypatch.setattr(PackedBits, "ones", watched)
    families = [(0, 1, 2), (2, 1, 0), (0, 1, 3), (3, 0, 2)]  # one set of columns in two orders
    packed.tables(np.array(families))
    assert counted.count(frozenset()) == 1
    assert [columns for columns in counted if len(columns) == 3] == [{0, 1, 2}, {0, 1, 3}, {0, 2, 3}]
    # Smaller subsets are gathered place by place (first columns, second columns, ...), each without repetition.
    assert [columns for columns in counted if len(columns) == 1][:3] == [{0}, {2}, {3}]


def test_cells_from_corners_by_hand():
    # 10 rows; 6 are 1 in X, 5 in Y, 4 in both: X Y = 11: 4, 10: 2, 01: 1, 00: 3.
    corners = np.array([[10, 5], [6, 4]])[..., None]
    assert cells_from_corners(corners)[..., 0].tolist() == [[3, 1], [2, 4]]
    assert cells_from_corners(np.array([7, 8])).tolist() == [7, 8]  # no columns


@given(st.data())
def test_distinct_rows_and_the_way_back(data):
    columns, k = data.draw(st.integers(1, 5000)), data.draw(st.integers(0, 5))
    row = st.lists(st.integers(0, columns - 1), min_size=k, max_size=k)
    places = np.array(data.draw(st.lists(row, min_size=1, max_size=12)), dtype=np.intp)
    different, back = distinct_rows(places, columns)
    np.testing.assert_array_equal(different[back], places)
    assert len(different) == len({tuple(row) for row in places.tolist()})


def test_very_many_columns_keep_their_tables_apart():
    """With 2,048 columns, six places as one number take 66 bits."""
    codes = 1 - zeros_and_ones(70, 2048, seed=5)
    rest = (1600, 1700, 1800, 1900, 2000)
    assert_tables_are_right(codes, [(0, *rest), (512, *rest), (1024, *rest), (1536, *rest)])

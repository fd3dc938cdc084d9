"""Joint counts against counting row by row; columns of 0 and 1 are counted as words, which no answer may show."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.door import exact_counts as module
from dpcore.door.exact_counts import Counter, PackedBits, cells_from_corners, distinct_rows, joint_counts

ROWS = [0, 1, 7, 8, 63, 64, 65, 127, 128, 200]  # words have 64


def by_hand(codes, sizes, family):
    table = np.zeros([sizes[j] for j in family], dtype=np.int64)
    for row in codes.tolist():
        table[tuple(row[j] for j in family)] += 1
    return table


def assert_counted(codes, sizes, families, tables):
    for family, table in zip(families, tables, strict=True):
        assert table.dtype == np.int64
        np.testing.assert_array_equal(table, by_hand(codes, sizes, family), str(family))


def zeros_and_ones(n, d, seed=0):
    return np.asfortranarray((np.random.default_rng(seed).random((n, d)) < 0.4).astype(np.uint8))


@settings(max_examples=50)
@given(st.data())
def test_counts_are_those_of_row_by_row_however_often_they_are_asked_for(data):
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    codes = rng.integers(0, sizes, size=(data.draw(st.integers(0, 30)), len(sizes))).astype(np.uint8)
    codes = np.array(codes, order=data.draw(st.sampled_from("CF")))
    before, counter = codes.copy(), Counter(codes, sizes)
    columns = st.integers(0, len(sizes) - 1)
    for _ in range(3):
        families = data.draw(st.lists(st.lists(columns, max_size=len(sizes), unique=True), max_size=6))
        with patch.object(module, "BLOCK", 7):
            assert_counted(codes, sizes, families, counter.tables(families))
            assert_counted(codes, sizes, families, joint_counts(codes, sizes, iter(families)))
    np.testing.assert_array_equal(codes, before)


def test_codes_of_one_byte_do_not_overflow():
    (table,) = joint_counts(np.full((3, 2), 255, dtype=np.uint8), [256, 256], [(0, 1)])
    assert table[255, 255] == table.sum() == 3


def test_many_binary_families_are_counted_as_few_are():
    rng = np.random.default_rng(0)
    families = [tuple(rng.permutation(8)[:k].tolist()) for k in range(9) for _ in range(4)]
    families += [(), (2, 2), (1, 0, 1), families[-1]]
    assert len(families) >= module.WORTH_PACKING
    assert max(map(len, families)) > module.MOST_PACKED
    for n in ROWS:
        codes = zeros_and_ones(n, 8, seed=n)
        assert_counted(codes, [2] * 8, families, joint_counts(codes, [2] * 8, families))
    mixed, sizes = np.random.default_rng(0).integers(0, [2, 5, 2, 2], (90, 4)).astype(np.uint8), [2, 5, 2, 2]
    pairs = [(a, b) for a in (0, 2, 3) for b in (0, 2, 3)] * 2
    for families in (pairs, [*pairs, (0, 1)]):
        assert_counted(mixed, sizes, families, joint_counts(mixed, sizes, families))


def test_packing_is_for_many_families_of_two_codes_and_done_once(monkeypatch):
    codes, packed = zeros_and_ones(20, 4), []
    pack = module.PackedBits
    monkeypatch.setattr(module, "PackedBits", lambda codes: packed.append(1) or pack(codes))
    families = [(a, b) for a in range(4) for b in range(4)]
    joint_counts(codes, [2] * 4, families[:15])
    joint_counts(codes, [2, 2, 3, 2], families)
    assert not packed
    counter = Counter(codes, [2] * 4)
    counter.tables(families)
    assert counter.bits is counter.bits
    assert packed == [1]


@pytest.mark.parametrize("sizes", [[2, 2, 2, 2, 2], [2, 3, 2, 2, 2]], ids=["packed", "general"])
def test_a_counter_counts_each_family_once(sizes, monkeypatch):
    counted = []

    def watched(count):
        return lambda *args: counted.extend(args[-1]) or count(*args)

    for name in ("_tables", "_binary_tables"):
        monkeypatch.setattr(module, name, watched(getattr(module, name)))
    codes = np.asfortranarray(np.random.default_rng(0).integers(0, sizes, (70, 5)).astype(np.uint8))
    pairs = [(a, b) for a in range(5) for b in range(5)]
    counter = Counter(codes, sizes)
    assert_counted(codes, sizes, [*pairs, *pairs], counter.tables([*pairs, *pairs]))
    counter.tables([[0, 1], (1, 0), (3,)])  # a list is the same family; another order is another table
    counter.tables(iter([(3,), (), (4, 4)]))
    assert counted == [*pairs, (3,), ()]


def test_a_counter_remembers_no_more_than_it_has_room_for(monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED", 12)
    counter = Counter(zeros_and_ones(50, 4), [2] * 4)
    families = [(0, 1, 2), (0, 1, 3), (1,), (2, 3), (3,)]  # 8, 8, 2, 4 and 2 cells
    for _ in range(3):
        assert_counted(counter._codes, [2] * 4, families, counter.tables(families))
        assert list(counter._known) == [(0, 1, 2), (1,), (3,)]
        assert counter._cells == sum(table.size for table in counter._known.values()) == 12


# Words of 64 rows


@settings(max_examples=50)
@given(st.data())
def test_words_count_any_families_in_any_order_with_columns_asked_for_twice(data):
    d, k = data.draw(st.integers(1, 7)), data.draw(st.integers(0, 4))
    codes = zeros_and_ones(data.draw(st.sampled_from(ROWS)), d, seed=data.draw(st.integers(0, 99)))
    codes = codes.astype(data.draw(st.sampled_from([np.uint8, np.uint16, bool])))
    family = st.lists(st.integers(0, d - 1), min_size=k, max_size=k).map(tuple)
    families = data.draw(st.lists(family, min_size=1, max_size=8))
    tables = PackedBits(codes).tables(np.array(families, dtype=np.intp).reshape(len(families), k))
    assert_counted(codes.astype(np.uint8), [2] * d, families, np.moveaxis(tables, -1, 0))


def test_the_padding_of_the_last_word_is_in_no_cell():
    codes = np.ones((65, 2), dtype=np.uint8)
    assert PackedBits(codes).tables(np.array([[0, 1]]))[..., 0].tolist() == [[0, 0], [0, 65]]
    assert PackedBits(1 - codes).tables(np.array([[0, 1]]))[..., 0].tolist() == [[65, 0], [0, 0]]


def test_many_sets_are_counted_in_slices(monkeypatch):
    codes = zeros_and_ones(200, 8, seed=3)  # four words a column
    families = np.array([(a, b) for a in range(8) for b in range(8) if a != b])
    whole = PackedBits(codes).tables(families)
    for chunk in (1, 4, 13):  # fewer words than one set has; one set; three sets
        monkeypatch.setattr(module, "CHUNK", chunk)
        slices = list(PackedBits(codes).chunks(10))
        assert [i for part in slices for i in range(part.start, part.stop)] == list(range(10))
        assert len(slices) == -(-10 // max(chunk // 4, 1))
        np.testing.assert_array_equal(PackedBits(codes).tables(families), whole)


def test_a_subset_that_many_families_share_is_counted_once(monkeypatch):
    packed, counted = PackedBits(zeros_and_ones(100, 6)), []
    ones = PackedBits.ones

    def watched(self, places):
        counted.extend(frozenset(row) for row in places.tolist())
        return ones(self, places)

    monkeypatch.setattr(PackedBits, "ones", watched)
    packed.tables(np.array([(0, 1, 2), (2, 1, 0), (0, 1, 3), (3, 0, 2)]))  # one set of columns in two orders
    assert counted.count(frozenset()) == 1
    assert [columns for columns in counted if len(columns) == 3] == [{0, 1, 2}, {0, 1, 3}, {0, 2, 3}]
    # Smaller subsets are gathered place by place (first columns, second columns, ...), each without repetition.
    assert [columns for columns in counted if len(columns) == 1][:3] == [{0}, {2}, {3}]


def test_cells_from_corners_by_hand():
    # 10 rows; 6 are 1 in X, 5 in Y, 4 in both: X Y = 11: 4, 10: 2, 01: 1, 00: 3.
    corners = np.array([[10, 5], [6, 4]])[..., None]
    assert cells_from_corners(corners)[..., 0].tolist() == [[3, 1], [2, 4]]
    assert cells_from_corners(np.array([7, 8])).tolist() == [7, 8]  # no columns


@settings(max_examples=50)
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
    families = [(first, 1600, 1700, 1800, 1900, 2000) for first in (0, 512, 1024, 1536)]
    tables = PackedBits(codes).tables(np.array(families))
    assert_counted(codes, [2] * 2048, families, np.moveaxis(tables, -1, 0))

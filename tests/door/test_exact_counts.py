from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.door import exact_counts as module
from dpcore.door.exact_counts import Counter, joint_counts


@st.composite
def coded_tables(draw):
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    n = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = np.asfortranarray(rng.integers(0, sizes, size=(n, len(sizes))).astype(np.uint8))
    positions = st.integers(0, len(sizes) - 1)
    families = draw(st.lists(st.lists(positions, max_size=len(sizes), unique=True), max_size=6))
    return codes, sizes, families


def by_hand(codes, sizes, family):
    table = np.zeros([sizes[j] for j in family], dtype=np.int64)
    for row in codes:
        table[tuple(row[j] for j in family)] += 1
    return table


@given(coded_tables())
def test_equals_counting_row_by_row(case):
    codes, sizes, families = case
    with patch.object(module, "BLOCK", 7):
        tables = joint_counts(codes, sizes, families)
    assert len(tables) == len(families)
    for family, table in zip(families, tables, strict=True):
        assert table.dtype == np.int64
        np.testing.assert_array_equal(table, by_hand(codes, sizes, family))


@given(coded_tables(), st.integers(0, 30), st.randoms(use_true_random=False))
def test_is_additive_over_blocks_and_blind_to_row_order(case, cut, random):
    codes, sizes, families = case
    order = list(range(len(codes)))
    random.shuffle(order)
    blocks = codes[order][:cut], codes[order][cut:]
    whole = joint_counts(codes, sizes, families)
    parts = [joint_counts(block, sizes, families) for block in blocks]
    for table, first, second in zip(whole, *parts, strict=True):
        np.testing.assert_array_equal(table, first + second)


def test_equals_pandas_crosstab():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 4, 500), "b": rng.integers(0, 3, 500)})
    (table,) = joint_counts(frame.to_numpy(), [4, 3], [(0, 1)])
    np.testing.assert_array_equal(table, pd.crosstab(frame["a"], frame["b"]).to_numpy())


def test_no_rows_give_tables_of_zeros_and_no_columns_give_the_number_of_rows():
    codes = np.zeros((0, 2), dtype=np.uint8)
    assert joint_counts(codes, [2, 3], [(0, 1)])[0].tolist() == [[0, 0, 0], [0, 0, 0]]
    assert joint_counts(np.zeros((7, 2), dtype=np.uint8), [2, 3], [()])[0] == 7


def test_codes_of_one_byte_do_not_overflow():
    codes = np.full((3, 2), 255, dtype=np.uint8)
    (table,) = joint_counts(codes, [256, 256], [(0, 1)])
    assert table[255, 255] == 3
    assert table.sum() == 3


@pytest.mark.parametrize("order", ["C", "F"])
def test_takes_families_in_any_order_and_leaves_the_codes_alone(order):
    codes = np.array([[0, 1, 2], [1, 1, 0]], dtype=np.uint8, order=order)
    before = codes.copy()
    ab, ba, abc, c = joint_counts(codes, [2, 2, 3], iter([(0, 1), (1, 0), (0, 1, 2), (2,)]))
    np.testing.assert_array_equal(ab, ba.T)
    np.testing.assert_array_equal(abc.sum(axis=2), ab)
    assert c.tolist() == [1, 0, 1]
    np.testing.assert_array_equal(codes, before)


# Many binary families are counted on packed bits; the answers must not show it.


def zeros_and_ones(n, d, seed=0):
    return np.asfortranarray((np.random.default_rng(seed).random((n, d)) < 0.4).astype(np.uint8))


def families_of_all_sizes(d, seed=0):
    rng = np.random.default_rng(seed)
    families = [tuple(rng.permutation(d)[:k].tolist()) for k in range(d + 1) for _ in range(4)]
    return [*families, (), (2, 2), (1, 0, 1), families[-1]]


@pytest.mark.parametrize("n", [0, 1, 64, 130])
def test_many_binary_families_are_counted_as_few_are(n):
    codes, families = zeros_and_ones(n, 8, seed=n), families_of_all_sizes(8)
    assert len(families) >= module.WORTH_PACKING
    assert max(map(len, families)) > module.MOST_PACKED
    for packed in (joint_counts(codes, [2] * 8, families), Counter(codes, [2] * 8).tables(families)):
        for family, table in zip(families, packed, strict=True):
            (alone,) = joint_counts(codes, [2] * 8, [family])
            assert (table.shape, table.dtype) == (alone.shape, np.int64)
            np.testing.assert_array_equal(table, alone)


def test_binary_families_beside_columns_of_more_codes():
    codes = np.asfortranarray(np.random.default_rng(0).integers(0, [2, 5, 2, 2], (90, 4)).astype(np.uint8))
    binary = [(a, b) for a in (0, 2, 3) for b in (0, 2, 3)] * 2
    for families in (binary, [*binary, (0, 1)]):
        for family, table in zip(families, joint_counts(codes, [2, 5, 2, 2], families), strict=True):
            np.testing.assert_array_equal(table, by_hand(codes, [2, 5, 2, 2], family))


def test_packing_is_for_many_families_of_two_codes(monkeypatch):
    codes, packed = zeros_and_ones(20, 4), []
    pack = module.PackedBits
    monkeypatch.setattr(module, "PackedBits", lambda codes: packed.append(1) or pack(codes))
    families = [(a, b) for a in range(4) for b in range(4)]
    joint_counts(codes, [2] * 4, families[:15])
    joint_counts(codes, [2, 2, 3, 2], families)
    assert not packed
    joint_counts(codes, [2] * 4, families)
    assert packed == [1]


@given(coded_tables(), st.data())
def test_a_counter_equals_joint_counts_however_often_it_is_asked(case, data):
    codes, sizes, families = case
    counter = Counter(codes, sizes)
    for _ in range(3):
        asked = data.draw(st.lists(st.sampled_from(families or [()]), max_size=8))
        for family, table in zip(asked, counter.tables(asked), strict=True):
            np.testing.assert_array_equal(table, by_hand(codes, sizes, family))


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
    for pair, table in zip([*pairs, *pairs], counter.tables([*pairs, *pairs]), strict=True):
        np.testing.assert_array_equal(table, by_hand(codes, sizes, pair))
    counter.tables([[0, 1], (1, 0), (3,)])  # a list is the same family; another order is another table
    counter.tables(iter([(3,), (), (4, 4)]))
    assert counted == [*pairs, (3,), ()]


def test_a_counter_remembers_no_more_than_it_has_room_for(monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED", 12)
    counter = Counter(zeros_and_ones(50, 4), [2] * 4)
    families = [(0, 1, 2), (0, 1, 3), (1,), (2, 3), (3,)]  # 8, 8, 2, 4 and 2 cells
    for _ in range(3):
        for family, table in zip(families, counter.tables(families), strict=True):
            np.testing.assert_array_equal(table, by_hand(counter._codes, [2] * 4, family))
        assert list(counter._known) == [(0, 1, 2), (1,), (3,)]
        assert counter._cells == sum(table.size for table in counter._known.values()) == 12


def test_a_counter_packs_its_columns_once():
    counter = Counter(zeros_and_ones(50, 4), [2] * 4)
    assert counter.bits is counter.bits
    assert counter.bits.rows == 50

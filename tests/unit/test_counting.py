import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.counting import joint_counts


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

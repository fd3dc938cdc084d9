"""Rows in which a schema's rules hold: values change places, and stay what they were as far as that can be."""

from dataclasses import replace

import numpy as np
import pandas as pd

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.postprocess.exchanges import decode_with_rules, exchange_in_order

DAYS = [Column(name, "date", lower="2024-01-01", upper="2024-12-31", bins="month") for name in ("start", "end")]
WORDS = [Column(name, "categorical", categories=("a", "b", "c"), missing=True) for name in ("one", "two")]
SCHEMA = Schema((*DAYS, *WORDS), rules=("start <= end", "one = a, never two = b", "two = b, never one = c"))


def test_rules_hold_and_every_column_keeps_its_marginal():
    rng = np.random.default_rng(1)
    start = rng.integers(0, 12, 5_000)
    end = rng.permutation(np.minimum(start + rng.integers(0, 2, 5_000), 11))  # the relation is lost
    codes = np.stack([start, end, *rng.integers(0, 4, (2, 5_000))], axis=1).astype(np.uint8)
    assert len(SCHEMA.encode(SCHEMA.decode(codes, rng))) == 5_000  # rows that break a rule are learned from
    rows = decode_with_rules(SCHEMA, codes, np.random.default_rng(2))
    assert rows.equals(decode_with_rules(SCHEMA, codes, np.random.default_rng(2)))
    assert (rows["start"] <= rows["end"]).all()
    assert not ((rows["two"] == "b") & rows["one"].isin(["a", "c"])).any()
    for before, after in zip(codes.T, SCHEMA.encode(rows).T, strict=True):
        assert np.abs(np.bincount(before) - np.bincount(after)).sum() / 10_000 < 0.01  # what is left is moved
    codes[:, 1] = codes[:, :2].max(axis=1)  # two values in one bin are drawn again inside it
    order, free = (replace(SCHEMA, rules=SCHEMA.rules[:many]) for many in (1, 0))
    np.testing.assert_array_equal(SCHEMA.encode(decode_with_rules(order, codes, rng)), codes)
    plain = free.decode(codes, np.random.default_rng(3))
    pd.testing.assert_frame_equal(decode_with_rules(free, codes, np.random.default_rng(3)), plain)


def test_every_way_to_give_out_values_in_order_is_equally_probable():
    least, numbers = np.array([3.0, 3.2, 1.0, 1.0, np.nan]), np.array([1.5, 1.7, 3.5, 4.0, 0.0])
    found = (exchange_in_order(least, numbers, np.random.default_rng(seed)) for seed in range(2_000))
    several = pd.Series(map(tuple, found)).value_counts()
    assert {*several.index} == {(*top, *low, 4) for top in ((2, 3), (3, 2)) for low in ((0, 1), (1, 0))}
    assert (several - 500).abs().max() < 5 * 19.4


def test_values_move_where_no_exchange_helps_and_stay_as_fine_as_they_are_written():
    tenths = Column("tenths", "continuous", lower=0, upper=10, bins=2, number_format="1234.5", missing=True)
    whole = Column("whole", "integer", lower=3, upper=9, bins=1)
    last = Column("last", "continuous", lower=0, upper=7.5, bins=1, number_format="$1,234.50")
    schema = Schema((tenths, whole, last), rules=("tenths <= whole", "whole <= last"))
    rows = decode_with_rules(schema, np.array([[1, 0, 0]] * 50 + [[2, 0, 0]] * 50), np.random.default_rng(0))
    schema.encode(rows)
    low, middle, high = (column.to_numbers(rows[column.name]) for column in schema)
    assert np.isnan(low).sum() == 50
    assert (middle <= high).all()
    assert not (low > middle).any()

"""Attributes inferred from a release: hand-worked tables and brute force."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import frame_of, random_codes, schema_of

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError, SchemaError
from dpcore.evaluate import disclosure


def random_frame(rng, schema, n):
    return frame_of(schema, random_codes(rng, schema, n))


def test_cap_by_hand():
    schema = schema_of(3, 2, 2)
    synthetic = frame_of(schema, [[0, 0, 1]] * 4 + [[0, 0, 0]] + [[1, 0, 1], [1, 0, 0]] + [[1, 1, 1]])
    targets = frame_of(schema, [[0, 0, 1], [0, 0, 0], [1, 0, 1], [1, 1, 1], [2, 0, 1]])
    # matches carry the true value in 4/5, 1/5, 1/2, 1/1 of the cases; the last target has no match
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x0", "x1"]) == 2 / 5
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x0", "x1"], tau=0.81) == 1 / 5
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x0", "x1"], tau=0.5) == 3 / 5
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x0", "x1"], tau=0.01) == 4 / 5
    # by x1 alone: x1 = 0 holds 5 of 7 times the value 1
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x1"], tau=0.7) == 4 / 5


def test_the_threshold_is_reached_exactly():
    schema = schema_of(2, 2)
    targets = frame_of(schema, [[0, 1]])
    synthetic = frame_of(schema, [[0, 1]] * 7 + [[0, 0]] * 18)
    assert 0.28 * 25 > 7  # in floating point
    assert disclosure.cap(targets, synthetic, schema, "x1", ["x0"], tau=0.28) == 1


def brute_force_cap(targets, synthetic, sensitive, known, tau):
    hits = 0
    for _, target in targets.iterrows():
        matches = synthetic[(synthetic[known] == target[known]).all(axis=1)]
        hits += len(matches) > 0 and (matches[sensitive] == target[sensitive]).mean() >= tau
    return hits / len(targets)


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 30), st.sampled_from([0.2, 0.5, 0.8, 1.0]))
def test_cap_equals_brute_force(seed, n, m, tau):
    rng = np.random.default_rng(seed)
    schema = schema_of(3, 2, 4, 2)
    targets, synthetic = (random_frame(rng, schema, rows).astype(str) for rows in (n, m))
    for known in (["x0"], ["x2", "x0"], ["x0", "x1", "x2"]):
        expected = brute_force_cap(targets, synthetic, "x3", known, tau)
        assert disclosure.cap(targets, synthetic, schema, "x3", known, tau=tau) == pytest.approx(expected)


def test_many_wide_columns_do_not_overflow():
    schema = schema_of(*[200] * 12)  # 4e27 cells
    frame = random_frame(np.random.default_rng(0), schema, 30)
    assert disclosure.cap(frame, frame, schema, "x0", schema.names[1:]) == 1


def test_numbers_match_by_bins_and_other_columns_are_not_read():
    schema = Schema(
        columns=(
            Column(name="age", kind="integer", lower=0, upper=99, bins=2),
            Column(name="ill", kind="categorical", categories=("no", "yes"), missing=True),
            Column(name="more", kind="categorical", categories=("a",)),
        )
    )
    targets = pd.DataFrame({"age": [3, 70, 20], "ill": ["yes", None, "no"]})
    synthetic = pd.DataFrame({"age": [49, 99], "ill": ["yes", None]})
    assert disclosure.cap(targets, synthetic, schema, "ill", ["age"]) == pytest.approx(2 / 3)


def test_impossible_questions_are_refused():
    schema = schema_of(2, 2)
    full, empty = frame_of(schema, [[0, 0]]), frame_of(schema, [])
    for known in ([], ["x1"], ["x0", "x0"]):
        with pytest.raises(ParameterError):
            disclosure.cap(full, full, schema, "x1", known)
    for tau in (0, 1.01, math.nan):
        with pytest.raises(ParameterError, match="tau"):
            disclosure.cap(full, full, schema, "x1", ["x0"], tau=tau)
    with pytest.raises(SchemaError):
        disclosure.cap(full, full, schema, "x1", ["nowhere"])
    for pair in ((full, empty), (empty, full)):
        with pytest.raises(DataError, match="no rows"):
            disclosure.cap(*pair, schema, "x1", ["x0"])


def test_padding_keeps_the_rows_and_fills_up_uniformly(small_frame, small_schema):
    rng = np.random.default_rng(0)
    extra = small_frame.assign(more=1)
    result = disclosure.padded(extra, small_schema, 20_600, rng)
    assert result.columns.tolist() == list(small_schema.names)
    pd.testing.assert_frame_equal(result.head(600).astype(small_frame.dtypes), small_frame, check_index_type=False)
    codes = small_schema.encode(result)[600:]
    for j, size in enumerate(small_schema.sizes):
        shares = np.bincount(codes[:, j], minlength=size) / 20_000
        np.testing.assert_allclose(shares, 1 / size, atol=0.016)
    assert abs(np.corrcoef(codes[:, 0], codes[:, 4])[0, 1]) < 0.03
    same = disclosure.padded(small_frame, small_schema, 600, rng)
    assert (small_schema.encode(same) == small_schema.encode(small_frame)).all()
    with pytest.raises(ParameterError, match="more rows"):
        disclosure.padded(small_frame, small_schema, 599, rng)
    with pytest.raises(DataError):
        disclosure.padded(small_frame.drop(columns="age"), small_schema, 700, rng)


def test_padding_lowers_the_risk_of_a_release_of_the_rows(small_frame, small_schema):
    mixed = disclosure.padded(small_frame, small_schema, 6_000, np.random.default_rng(0))
    asked = small_schema, "ill", ["a.b[0]:Q", "grade", "age"]
    assert disclosure.cap(small_frame, small_frame, *asked) > disclosure.cap(small_frame, mixed, *asked) + 0.2

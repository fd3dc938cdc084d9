"""Attributes inferred from a release: hand-worked tables and brute force."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from small_tables import frame_of, random_codes, schema_of

from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, ParameterError
from dpcore.evaluate import disclosure
from dpcore.methods import NaiveBayesSynthesizer


def test_cap_by_hand():
    schema = schema_of(3, 2, 2)
    synthetic = frame_of(schema, [[0, 0, 1]] * 4 + [[0, 0, 0]] + [[1, 0, 1], [1, 0, 0]] + [[1, 1, 1]])
    targets = frame_of(schema, [[0, 0, 1], [0, 0, 0], [1, 0, 1], [1, 1, 1], [2, 0, 1]])
    # matches carry the true value in 4/5, 1/5, 1/2, 1/1 of the cases; the last target has no match
    for tau, expected in ((0.8, 2 / 5), (0.81, 1 / 5), (0.5, 3 / 5), (0.01, 4 / 5)):
        assert disclosure.cap(targets, synthetic, schema, "x2", ["x0", "x1"], tau=tau) == expected
    # by x1 alone: x1 = 0 holds 5 of 7 times the value 1
    assert disclosure.cap(targets, synthetic, schema, "x2", ["x1"], tau=0.7) == 4 / 5
    two = schema_of(2, 2)
    assert 0.28 * 25 > 7  # in floating point; the threshold is reached exactly
    release = frame_of(two, [[0, 1]] * 7 + [[0, 0]] * 18)
    assert disclosure.cap(frame_of(two, [[0, 1]]), release, two, "x1", ["x0"], tau=0.28) == 1
    wide = schema_of(*[200] * 12)  # 4e27 cells: nothing overflows
    frame = frame_of(wide, random_codes(np.random.default_rng(0), wide, 30))
    assert disclosure.cap(frame, frame, wide, "x0", wide.names[1:]) == 1


def test_cap_equals_brute_force(seeds):
    schema = schema_of(3, 2, 4, 2)
    for seed, tau in product(seeds(30), (0.5, 0.8, 1.0)):
        rng = np.random.default_rng(seed)
        targets, synthetic = (random_codes(rng, schema, rng.integers(1, most)) for most in (13, 31))
        frames = frame_of(schema, targets), frame_of(schema, synthetic)
        for known in ([0], [2, 0], [0, 1, 2]):
            caught = 0
            for target in targets:
                matches = synthetic[(synthetic[:, known] == target[known]).all(axis=1)]
                caught += len(matches) > 0 and (matches[:, 3] == target[3]).mean() >= tau
            expected = caught / len(targets)
            names = [f"x{j}" for j in known]
            assert disclosure.cap(*frames, schema, "x3", names, tau=tau) == pytest.approx(expected), (seed, tau)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_targets_are_persons_of_their_own_where_persons_are_protected(relation, small_frame, small_schema):
    schema = replace(small_schema, unit=PrivacyUnit(max_contributions=2, id_column="who"), max_rows=None)
    frame = small_frame.head(60).assign(who=[f"p{i // 3}" for i in range(60)])
    targets = small_frame.tail(6).assign(who=[f"t{i}" for i in range(6)])
    seen = []

    class Seen(NaiveBayesSynthesizer):
        def fit(self, rows, **how):
            seen.append(rows["who"].tolist())
            return super().fit(rows, **how)

    def asked(targets):
        method = Seen(epsilon=1.0, relation=relation, noise="laplace")
        how = {"attack": "match", "fits": 4, "rows": 50}
        return disclosure.in_out_advantage(method, frame, targets, schema, "ill", ["grade"], **how)

    assert asked(targets)["epsilon_bound"].tolist() == [1.0]
    for names in seen:
        assert names[:60] == frame["who"].tolist()
        inside = names[60:]
        assert sorted(inside) == ["t0", "t1", "t2"] if relation == "replace" else len(set(inside)) == len(inside)
    for wrong in ("t", [f"p{i}" for i in range(6)]):
        with pytest.raises(ParameterError, match="other rows"):
            asked(targets.assign(who=wrong))
    with pytest.raises(DataError, match="'who'"):
        asked(targets.drop(columns="who"))
    padded = disclosure.pad_rows(frame, schema, 99, np.random.default_rng(0))
    assert padded["who"].nunique() == 20 + 39


def test_padding_keeps_the_rows_and_fills_up_uniformly(small_frame, small_schema):
    rng = np.random.default_rng(0)
    result = disclosure.pad_rows(small_frame.assign(more=1), small_schema, 20_600, rng)
    assert result.columns.tolist() == list(small_schema.names)
    kept = result.head(600).astype(small_frame.dtypes)
    pd.testing.assert_frame_equal(kept, small_frame, check_index_type=False)
    codes = small_schema.encode(result)[600:]
    for j, size in enumerate(small_schema.sizes):
        shares = np.bincount(codes[:, j], minlength=size) / 20_000
        np.testing.assert_allclose(shares, 1 / size, atol=0.016)
    assert abs(np.corrcoef(codes[:, 0], codes[:, 4])[0, 1]) < 0.03
    assert len(disclosure.pad_rows(small_frame, small_schema, 600, rng)) == 600
    with pytest.raises(ParameterError, match="below the number of rows"):
        disclosure.pad_rows(small_frame, small_schema, 599, rng)
    with pytest.raises(DataError):
        disclosure.pad_rows(small_frame.drop(columns="age"), small_schema, 700, rng)

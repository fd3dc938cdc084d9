"""Distances between tables: by hand, by brute force, and what is expected of a resample of the same rows."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from partitions import bits_of
from small_tables import categorical, frame_of, random_codes, schema_of

from dpcore import evaluate
from dpcore.domain.column import Column
from dpcore.domain.partition import Binarization
from dpcore.domain.schema import Schema
from dpcore.evaluate import distances


def brute_force_avd(real, synthetic, attributes):
    """½ Σ|P − Q| by pandas, over the cells that occur."""
    p = real.groupby(list(attributes), observed=True).size() / len(real)
    q = synthetic.groupby(list(attributes), observed=True).size() / len(synthetic)
    return 0.5 * p.sub(q, fill_value=0).abs().sum()


def test_avd_by_hand():
    schema = schema_of(2, 2)
    real = frame_of(schema, [[0, 0], [0, 0], [0, 1], [1, 1]])
    synthetic = frame_of(schema, [[0, 0], [1, 0]])
    one, two = (evaluate.marginal_avd(real, synthetic, schema, degree) for degree in (1, 2))
    assert one["attributes"].tolist() == [("x0",), ("x1",)]
    assert one["avd"].tolist() == [0.25, 0.5]  # (.75, .25) against (.5, .5); (.5, .5) against (1, 0)
    assert two["avd"].tolist() == [0.5]  # (.5, .25, 0, .25) against (.5, 0, .5, 0)


@pytest.mark.parametrize("on", ["columns", "bits"])
def test_avd_equals_brute_force_on_full_and_on_occupied_cells(on, monkeypatch):
    schema = schema_of(2, 5, 3, 9)
    shown = schema if on == "columns" else Binarization(schema).schema
    codes = [random_codes(np.random.default_rng(seed), schema, n) for seed, n in ((0, 90), (1, 40))]
    real, synthetic = (
        pd.DataFrame(table if on == "columns" else bits_of(Binarization(schema), table), columns=shown.names)
        for table in codes
    )
    for degree in (1, 2, 3, 4) if on == "columns" else (1, 2):
        expected = {names: brute_force_avd(real, synthetic, names) for names in combinations(shown.names, degree)}
        for most_cells in (1, 20, distances.MAX_CELLS):
            monkeypatch.setattr(distances, "MAX_CELLS", most_cells)
            found = evaluate.marginal_avd(*codes, schema, degree, on=on)
            assert found["attributes"].tolist() == list(expected)
            assert found["avd"].tolist() == pytest.approx(list(expected.values()), abs=1e-12)
    large = schema_of(*[900] * 8)  # 4e23 cells: more than 64 bits can number
    codes = np.random.default_rng(0).integers(0, 900, size=(50, 8)).astype(np.uint16)
    other = codes.copy()
    other[:10, 7] = (other[:10, 7] + 1) % 900
    assert evaluate.marginal_avd(codes, other, large, 8)["avd"].item() == 0.2


def test_a_sample_of_subsets_is_seeded_distinct_and_in_order():
    schema = schema_of(*[2] * 9)
    codes = random_codes(np.random.default_rng(0), schema, 20)

    def sample(count, seed=0):
        return evaluate.marginal_avd(codes, codes, schema, 4, max_cliques=count, seed=seed)["attributes"].tolist()

    everything = list(combinations(schema.names, 4))
    assert sample(None) == sample(126) == sample(10**9) == everything
    some = sample(20)
    assert len(set(some)) == 20
    assert some == [clique for clique in everything if clique in some]
    assert some == sample(20) != sample(20, seed=1)
    for d, degree in [(1, 1), (6, 3), (6, 6)]:
        listed = [distances._clique_at(rank, d, degree) for rank in range(math.comb(d, degree))]
        assert listed == list(combinations(range(d), degree))


@pytest.mark.parametrize("on", ["columns", "bits"])
def test_noise_floor_is_seeded_falls_with_rows_and_matches_the_sampled_subsets(on):
    schema = schema_of(3, 4, 5, 2)
    codes = random_codes(np.random.default_rng(0), schema, 400)
    how = {"max_cliques": 4, "on": on}
    few, many = (evaluate.noise_floor(codes, schema, rows=rows, **how)["avd"].mean() for rows in (50, 5_000))
    assert many < few
    first, again, other = (evaluate.noise_floor(codes, schema, **how, seed=seed) for seed in (7, 7, 8))
    pd.testing.assert_frame_equal(first, again)
    assert first["avd"].tolist() != other["avd"].tolist()
    assert (first["avd"] > 0).all()
    compared = evaluate.marginal_avd(codes, codes, schema, 2, **how, seed=7)
    assert len(first) == 4
    assert first["attributes"].tolist() == compared["attributes"].tolist()


def test_noise_floor_of_two_halves():
    half = np.repeat(np.array([[0], [1]], np.uint8), 500, axis=0)
    floor = evaluate.noise_floor(half, schema_of(2), 1, repeats=200)
    # E|B/n − 1/2| = sqrt(2/π)·sqrt(1/(4n)) = .01262; its mean over 200 resamples has standard error .0007
    assert floor["avd"].item() == pytest.approx(0.01262, abs=0.0025)


def test_marginals_hold_all_labels_and_exact_quantiles():
    schema = schema_of(3)
    real, synthetic = frame_of(schema, [[0]] * 3 + [[1]]), frame_of(schema, [[0], [1]])
    result = evaluate.marginals(real, synthetic, schema, "x0")
    assert result["value"].tolist() == ["v0", "v1", "v2"]
    assert result["real"].tolist() == [0.75, 0.25, 0.0]
    assert result["released"].tolist() == [0.5, 0.5, 0.0]
    # of two draws at p = 3/4 none falls with 1/16 > .025 and at most one with 7/16 < .975: 0 and 2 of 2.
    # At p = 1/4 these are 9/16 > .025 and 15/16 < .975: the same. At p = 0 all is certain.
    assert result["floor_low"].tolist() == [0.0, 0.0, 0.0]
    assert result["floor_high"].tolist() == [1.0, 1.0, 0.0]
    p = np.array([0.5, 0.3, 0.15, 0.05])
    real = frame_of(schema_of(4), np.repeat(np.arange(4), (1000 * p).astype(int)))
    result = evaluate.marginals(real, frame_of(schema_of(4), [[0]] * 700), schema_of(4), "x0")
    shares = np.random.default_rng(0).multinomial(700, p, size=20_000) / 700  # resamples
    for level, bound in ((0.025, "floor_low"), (0.975, "floor_high")):
        np.testing.assert_allclose(np.quantile(shares, level, axis=0), result[bound], atol=0.003)


def test_pair_lists_every_cell_of_both_sources():
    schema = schema_of(2, 3, 2)
    real, synthetic = frame_of(schema, [[0, 1, 0], [0, 1, 1], [1, 2, 0]]), frame_of(schema, [[1, 0, 0]])
    result = evaluate.pair_marginal(real, synthetic, schema, "x1", "x0")
    assert len(result) == 12
    assert result.groupby("source")["share"].sum().to_dict() == pytest.approx({"real": 1, "released": 1})
    assert result["x_value"].tolist()[:6] == ["v0", "v0", "v1", "v1", "v2", "v2"]
    shares = result.set_index(["source", "x_value", "y_value"])["share"]
    assert shares["real", "v1", "v0"] == pytest.approx(2 / 3)
    assert shares["released", "v0", "v1"] == 1
    assert (shares > 0).sum() == 3


def test_validity_counts_cells_inside_the_schema():
    columns = (
        categorical("c"),
        categorical("m", missing=True, outside="clip"),
        Column(name="i", kind="integer", lower=0, upper=9),
        Column(name="f", kind="continuous", lower=0, upper=1, missing=True),
    )
    schema = Schema(columns=columns)
    good = frame_of(schema, random_codes(np.random.default_rng(0), schema, 40))
    assert evaluate.validity(good, schema) == 1
    bad = {
        "c": ["v0", "v9", None, "v1"],  # 2 of 4
        "m": ["v0", "v9", None, "v1"],  # 3 of 4: clipping does not make v9 a declared value
        "i": [0, 8.5, 10, np.nan],  # 1 of 4
        "f": [np.inf, "word", None, "0.5"],  # 2 of 4
        "extra": [0, 0, 0, 0],
    }
    bad = pd.DataFrame(bad)
    assert evaluate.validity(bad, schema) == pytest.approx((2 + 3 + 1 + 2) / 16)
    assert evaluate.validity(bad.drop(columns="m"), schema) == pytest.approx((2 + 0 + 1 + 2) / 16)

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from dpcore import evaluate
from dpcore.domain.binarize import Binarization
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError, SchemaError
from dpcore.evaluate import distances, learners
from dpcore.evaluate.learners import bayes_net, one_hot

HOSTILE = ["a.b", "[x]:Q", "avd", "attributes", "Größe \n 'q'\""]


def categorical(name, size=2, **more):
    return Column(name=name, kind="categorical", categories=tuple(f"v{i}" for i in range(size)), **more)


def schema_of(*sizes, names=None):
    names = names or [f"x{j}" for j in range(len(sizes))]
    return Schema(columns=tuple(categorical(name, size) for name, size in zip(names, sizes, strict=True)))


def frame_of(schema, codes):
    codes = np.asarray(codes, dtype=np.uint8).reshape(-1, len(schema))
    return schema.decode(codes, np.random.default_rng(0))


def random_codes(rng, schema, n):
    return np.asfortranarray(rng.integers(0, schema.sizes, size=(n, len(schema))).astype(np.uint8))


def brute_force_avd(real, synthetic, attributes):
    """½ Σ|P − Q| by pandas, over the cells that occur."""
    p = real.groupby(list(attributes), observed=True).size() / len(real)
    q = synthetic.groupby(list(attributes), observed=True).size() / len(synthetic)
    return 0.5 * p.sub(q, fill_value=0).abs().sum()


# ---- average variation distance


def test_avd_by_hand():
    schema = schema_of(2, 2)
    real = frame_of(schema, [[0, 0], [0, 0], [0, 1], [1, 1]])
    synthetic = frame_of(schema, [[0, 0], [1, 0]])
    one = evaluate.marginal_avd(real, synthetic, schema, 1)
    assert one["attributes"].tolist() == [("x0",), ("x1",)]
    assert one["avd"].tolist() == [0.25, 0.5]  # (.75, .25) against (.5, .5); (.5, .5) against (1, 0)
    two = evaluate.marginal_avd(real, synthetic, schema)
    assert two["attributes"].tolist() == [("x0", "x1")]
    assert two["avd"].tolist() == [0.5]  # (.5, .25, 0, .25) against (.5, 0, .5, 0)


def test_two_way_avd_equals_crosstab():
    rng = np.random.default_rng(1)
    schema = schema_of(4, 3)
    real, synthetic = (frame_of(schema, random_codes(rng, schema, n)) for n in (200, 70))
    p, q = (pd.crosstab(t["x0"], t["x1"], normalize="all", dropna=False).to_numpy() for t in (real, synthetic))
    assert evaluate.marginal_avd(real, synthetic, schema)["avd"].item() == pytest.approx(0.5 * np.abs(p - q).sum())


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("most_cells", [1, 20, distances.MAX_CELLS])
def test_avd_equals_brute_force_on_full_and_on_occupied_cells(degree, most_cells, monkeypatch):
    monkeypatch.setattr(distances, "MAX_CELLS", most_cells)
    rng = np.random.default_rng(degree)
    schema = schema_of(2, 5, 3, 4)
    real, synthetic = (frame_of(schema, random_codes(rng, schema, n)) for n in (90, 40))
    result = evaluate.marginal_avd(real, synthetic, schema, degree)
    assert result["attributes"].tolist() == list(combinations(schema.names, degree))
    for attributes, avd in result.itertuples(index=False):
        assert avd == pytest.approx(brute_force_avd(real, synthetic, attributes), abs=1e-12)


def test_joint_tables_too_large_to_hold_are_compared():
    schema = schema_of(*[900] * 8)  # 4e23 cells: more than 64 bits can number
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 900, size=(50, 8)).astype(np.uint16)
    other = codes.copy()
    other[:10, 7] = (other[:10, 7] + 1) % 900
    assert evaluate.marginal_avd(codes, other, schema, 8)["avd"].item() == 0.2


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 40))
def test_avd_is_a_bounded_symmetric_distance_blind_to_row_order(seed, n, m):
    rng = np.random.default_rng(seed)
    schema = schema_of(2, 3, 2)
    real, synthetic = random_codes(rng, schema, n), random_codes(rng, schema, m)
    for degree in (1, 2, 3):
        avd = evaluate.marginal_avd(real, synthetic, schema, degree)["avd"]
        assert avd.between(0, 1).all()
        shuffled = evaluate.marginal_avd(rng.permutation(real), rng.permutation(synthetic), schema, degree)
        assert avd.tolist() == shuffled["avd"].tolist()
        assert avd.tolist() == evaluate.marginal_avd(synthetic, real, schema, degree)["avd"].tolist()
        tripled = np.tile(real, (3, 1))  # equal shares, other counts
        assert (evaluate.marginal_avd(real, tripled, schema, degree)["avd"] == 0).all()


def test_disjoint_tables_are_at_distance_one():
    schema = schema_of(2, 2)
    real, synthetic = frame_of(schema, [[0, 0]] * 3), frame_of(schema, [[1, 1]] * 7)
    assert evaluate.marginal_avd(real, synthetic, schema, 1)["avd"].tolist() == [1.0, 1.0]


def test_hostile_names_numbers_and_missing_cells():
    columns = (
        categorical(HOSTILE[0], missing=True),
        Column(name=HOSTILE[1], kind="continuous", lower=0, upper=1, bins=4),
        Column(name=HOSTILE[2], kind="integer", lower=0, upper=9, bins=5, missing=True),
        categorical(HOSTILE[3]),
        categorical(HOSTILE[4]),
    )
    schema = Schema(columns=columns)
    rng = np.random.default_rng(3)
    real, synthetic = random_codes(rng, schema, 60), random_codes(rng, schema, 60)
    frames = schema.decode(real, rng), schema.decode(synthetic, rng)
    assert frames[0].isna().any().any()
    result = evaluate.marginal_avd(*frames, schema, 2)
    assert result["attributes"].tolist() == list(combinations(HOSTILE, 2))
    assert result["avd"].tolist() == evaluate.marginal_avd(real, synthetic, schema)["avd"].tolist()
    shares = evaluate.marginals(*frames, schema, HOSTILE[0])
    assert shares["value"].tolist() == ["v0", "v1", "(missing)"]
    assert shares["real"].iloc[-1] == frames[0][HOSTILE[0]].isna().mean()
    scores = evaluate.tstr(*frames, frames[0], schema, HOSTILE[0])
    assert scores["accuracy"].between(0, 1).all()


def test_a_sample_of_subsets_is_seeded_distinct_and_in_order():
    schema = schema_of(*[2] * 9)
    codes = random_codes(np.random.default_rng(0), schema, 20)

    def sample(count, seed=0):
        return evaluate.marginal_avd(codes, codes, schema, 4, max_subsets=count, seed=seed)["attributes"].tolist()

    everything = list(combinations(schema.names, 4))
    assert sample(None) == sample(126) == sample(10**9) == everything
    some = sample(20)
    assert len(set(some)) == 20
    assert some == [subset for subset in everything if subset in some]
    assert some == sample(20)
    assert some != sample(20, seed=1)


def test_subsets_are_numbered_as_itertools_lists_them():
    for d, degree in [(1, 1), (6, 1), (6, 3), (6, 6)]:
        listed = [distances._subset(rank, d, degree) for rank in range(math.comb(d, degree))]
        assert listed == list(combinations(range(d), degree))


@pytest.mark.parametrize("options", [{"degree": 0}, {"degree": 3}, {"degree": 1, "max_subsets": 0}])
def test_impossible_degrees_are_refused(options):
    schema = schema_of(2, 2)
    frame = frame_of(schema, [[0, 0]])
    with pytest.raises(ParameterError):
        evaluate.marginal_avd(frame, frame, schema, **options)


def test_empty_tables_are_refused_everywhere():
    schema = schema_of(2, 2)
    full, empty = frame_of(schema, [[0, 0]]), frame_of(schema, [])
    calls = [
        lambda: evaluate.marginal_avd(full, empty, schema),
        lambda: evaluate.marginal_avd(empty, full, schema),
        lambda: evaluate.noise_floor(empty, schema),
        lambda: evaluate.marginals(full, empty, schema, "x0"),
        lambda: evaluate.pair(empty, full, schema, "x0", "x1"),
        lambda: evaluate.tstr(empty, full, full, schema, "x0"),
        lambda: evaluate.tstr(full, empty, full, schema, "x0"),
        lambda: evaluate.real_ceiling(full, empty, schema, "x0"),
        lambda: evaluate.validity(empty, schema),
    ]
    for call in calls:
        with pytest.raises(DataError, match="no rows"):
            call()


def test_avd_on_bits_by_hand():
    schema = schema_of(3, 2)  # two bits, 00 01 10, and one
    real = frame_of(schema, [[0, 0], [1, 0], [2, 1], [2, 1]])
    synthetic = frame_of(schema, [[0, 0], [1, 1]])
    one = evaluate.marginal_avd(real, synthetic, schema, 1, on="bits")
    assert one["attributes"].tolist() == [("x0 bit 1",), ("x0 bit 2",), ("x1 bit 1",)]
    assert one["avd"].tolist() == [0.5, 0.25, 0.0]  # shares of ones: 2/4 and 0, 1/4 and 1/2, 2/4 and 1/2
    two = evaluate.marginal_avd(real, synthetic, schema, 2, on="bits")
    assert two["attributes"].tolist() == list(combinations(["x0 bit 1", "x0 bit 2", "x1 bit 1"], 2))
    # cells 00, 01, 10, 11: (.25, .25, .5, 0) against (.5, .5, 0, 0); (.5, 0, 0, .5) against (.5, .5, 0, 0);
    # (.25, .5, .25, 0) against (.5, 0, 0, .5)
    assert two["avd"].tolist() == [0.5, 0.5, 0.75]


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("most_cells", [1, 20, distances.MAX_CELLS])
def test_avd_on_bits_equals_brute_force(degree, most_cells, monkeypatch):
    monkeypatch.setattr(distances, "MAX_CELLS", most_cells)
    rng = np.random.default_rng(degree)
    schema = schema_of(2, 5, 3, 9)
    binary = Binarization(schema)
    codes = [random_codes(rng, schema, n) for n in (90, 40)]
    result = evaluate.marginal_avd(*codes, schema, degree, on="bits")
    assert result["attributes"].tolist() == list(combinations(binary.schema.names, degree))
    real, synthetic = (pd.DataFrame(binary.encode(table), columns=binary.schema.names) for table in codes)
    for attributes, avd in result.itertuples(index=False):
        assert avd == pytest.approx(brute_force_avd(real, synthetic, attributes), abs=1e-12)


def test_the_noise_floor_on_bits_has_the_same_subsets():
    schema = schema_of(5, 9)
    codes = random_codes(np.random.default_rng(0), schema, 200)
    options = {"on": "bits", "max_subsets": 6, "seed": 3}
    compared = evaluate.marginal_avd(codes, codes, schema, 3, **options)
    floor = evaluate.noise_floor(frame_of(schema, codes), schema, 3, **options)
    assert floor["attributes"].tolist() == compared["attributes"].tolist()
    assert len(floor) == 6
    assert (floor["avd"] > 0).all()
    with pytest.raises(ParameterError, match="'on'"):
        evaluate.marginal_avd(codes, codes, schema, on="rows")


# ---- noise floor


def test_noise_floor_is_the_expected_distance_of_a_resample():
    schema = schema_of(2)
    real = frame_of(schema, [[0]] * 500 + [[1]] * 500)
    floor = evaluate.noise_floor(real, schema, 1, repeats=400)
    assert floor["attributes"].tolist() == [("x0",)]
    # E|B/n − 1/2| = sqrt(2/π)·sqrt(1/(4n)) = .01262; its mean over 400 resamples has standard error .0005
    assert floor["avd"].item() == pytest.approx(0.01262, abs=0.0025)


def test_noise_floor_is_seeded_falls_with_rows_and_matches_the_sampled_subsets():
    rng = np.random.default_rng(0)
    schema = schema_of(3, 4, 5, 2, 3)
    codes = random_codes(rng, schema, 400)
    real = frame_of(schema, codes)
    few, many = (evaluate.noise_floor(real, schema, 2, rows=rows)["avd"].mean() for rows in (50, 5_000))
    assert many < few
    first, again = (evaluate.noise_floor(real, schema, 2, max_subsets=4, seed=7) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    assert (
        evaluate.noise_floor(real, schema, seed=7)["avd"] != evaluate.noise_floor(real, schema, seed=8)["avd"]
    ).any()
    compared = evaluate.marginal_avd(codes, codes, schema, 2, max_subsets=4, seed=7)
    assert first["attributes"].tolist() == compared["attributes"].tolist()
    with pytest.raises(ParameterError):
        evaluate.noise_floor(real, schema, rows=0)
    with pytest.raises(ParameterError):
        evaluate.noise_floor(real, schema, repeats=0)


# ---- one and two columns


def test_marginals_hold_all_labels_and_exact_quantiles():
    schema = schema_of(3)
    real, synthetic = frame_of(schema, [[0]] * 3 + [[1]]), frame_of(schema, [[0], [1]])
    result = evaluate.marginals(real, synthetic, schema, "x0")
    assert result.columns.tolist() == ["value", "real", "released", "floor_low", "floor_high"]
    assert result["value"].tolist() == ["v0", "v1", "v2"]
    assert result["real"].tolist() == [0.75, 0.25, 0.0]
    assert result["released"].tolist() == [0.5, 0.5, 0.0]
    # of two draws at p = 3/4 none falls with 1/16 > .025 and at most one with 7/16 < .975: 0 and 2 of 2.
    # At p = 1/4 these are 9/16 > .025 and 15/16 < .975: the same. At p = 0 all is certain.
    assert result["floor_low"].tolist() == [0.0, 0.0, 0.0]
    assert result["floor_high"].tolist() == [1.0, 1.0, 0.0]


def test_the_floor_of_a_marginal_covers_resamples():
    schema = schema_of(4)
    rng = np.random.default_rng(0)
    p = np.array([0.5, 0.3, 0.15, 0.05])
    real = frame_of(schema, np.repeat(np.arange(4), (1000 * p).astype(int)))
    result = evaluate.marginals(real, frame_of(schema, [[0]] * 700), schema, "x0")
    shares = rng.multinomial(700, p, size=20_000) / 700
    np.testing.assert_allclose(np.quantile(shares, 0.025, axis=0), result["floor_low"], atol=0.003)
    np.testing.assert_allclose(np.quantile(shares, 0.975, axis=0), result["floor_high"], atol=0.003)


def test_pair_lists_every_cell_of_both_sources():
    schema = schema_of(2, 3, 2)
    real, synthetic = frame_of(schema, [[0, 1, 0], [0, 1, 1], [1, 2, 0]]), frame_of(schema, [[1, 0, 0]])
    result = evaluate.pair(real, synthetic, schema, "x1", "x0")
    assert result.columns.tolist() == ["x_value", "y_value", "source", "share"]
    assert len(result) == 12
    assert result.groupby("source")["share"].sum().to_dict() == pytest.approx({"real": 1, "released": 1})
    assert result["x_value"].tolist()[:6] == ["v0", "v0", "v1", "v1", "v2", "v2"]
    shares = result.set_index(["source", "x_value", "y_value"])["share"]
    assert shares["real", "v1", "v0"] == pytest.approx(2 / 3)
    assert shares["released", "v0", "v1"] == 1
    assert (shares > 0).sum() == 3


def test_pair_needs_two_known_columns():
    schema = schema_of(2, 2)
    frame = frame_of(schema, [[0, 0]])
    with pytest.raises(ParameterError):
        evaluate.pair(frame, frame, schema, "x0", "x0")
    with pytest.raises(SchemaError):
        evaluate.pair(frame, frame, schema, "x0", "nowhere")


# ---- classifiers


def test_one_hot_has_one_indicator_per_column():
    matrix = one_hot(np.array([[1, 0], [0, 2]], dtype=np.uint8), [2, 4])
    assert matrix.toarray().tolist() == [[0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 0]]
    wide = one_hot(np.array([[255, 299]], dtype=np.uint16), [256, 300])
    assert wide.indices.tolist() == [255, 555]


def test_bayes_net_by_hand():
    # one attribute of 3 values, 2 classes; class 0: values 0, 0, 1; class 1: value 2
    network = bayes_net(np.array([[0], [0], [1], [2]], dtype=np.uint8), np.array([0, 0, 0, 1], dtype=np.uint8), [3], 2)
    prior = [3.5 / 5, 1.5 / 5]
    table = [[2.5 / 4.5, 1.5 / 4.5, 0.5 / 4.5], [0.5 / 2.5, 0.5 / 2.5, 1.5 / 2.5]]
    np.testing.assert_allclose(np.exp(network.class_log_prior_), prior)
    np.testing.assert_allclose(np.exp(network.feature_log_prob_[0]), table)
    joint = np.array([prior[0] * table[0][1], prior[1] * table[1][1]])
    np.testing.assert_allclose(network.predict_proba([[1]])[0], joint / joint.sum())


def test_bayes_net_smooths_classes_and_values_that_never_occur():
    network = bayes_net(np.array([[0], [0]], dtype=np.uint8), np.array([0, 1], dtype=np.uint8), [4], 3)
    np.testing.assert_allclose(np.exp(network.class_log_prior_), [1.5 / 3.5, 1.5 / 3.5, 0.5 / 3.5])
    np.testing.assert_allclose(np.exp(network.feature_log_prob_[0][2]), [0.25] * 4)
    # value 3 was never seen: 1.5/3.5·.5/3 = .0714 for classes 0 and 1, .5/3.5·1/4 = .0357 for the empty class
    np.testing.assert_allclose(network.predict_proba([[3]])[0], [0.4, 0.4, 0.2])


def planted(n, seed, *, independent=False):
    """Rows of three attributes whose first one is, or is not, the class."""
    rng = np.random.default_rng(seed)
    schema = schema_of(2, 3, 4, 2)
    codes = random_codes(rng, schema, n)
    codes[:, 3] = rng.random(n) < 0.3 if independent else codes[:, 0]
    return schema, frame_of(schema, codes)


def test_a_separable_class_is_learned():
    schema, train = planted(400, 0)
    _, test = planted(300, 1)
    _, synthetic = planted(200, 2)
    result = evaluate.tstr(train, test, synthetic, schema, "x3")
    assert result.columns.tolist() == ["model", "trained_on", "accuracy", "balanced_accuracy", "note"]
    models = list(evaluate.MODELS)
    assert result["model"].tolist() == [*models, *models, "majority class"]
    assert result["trained_on"].tolist() == ["released"] * 3 + ["real"] * 4
    assert (result["accuracy"][:-1] == 1).all()
    assert (result["balanced_accuracy"][:-1] == 1).all()
    assert result["balanced_accuracy"].iloc[-1] == 0.5
    assert (result["note"] == "").all()


def test_independent_labels_give_about_the_majority():
    schema, train = planted(2_000, 0, independent=True)
    _, test = planted(2_000, 1, independent=True)
    result = evaluate.tstr(train, test, train, schema, "x3")
    majority = result["accuracy"].iloc[-1]
    assert majority == (test["x3"] == "v0").mean()
    assert (result["accuracy"] - majority).abs().max() < 0.02


def test_logistic_regression_agrees_with_a_fully_converged_fit():
    rng = np.random.default_rng(5)
    schema = schema_of(5, 6, 7, 3)
    codes = random_codes(rng, schema, 3_000)
    codes[:, 3] = (codes[:, 0] + codes[:, 1] * rng.integers(0, 2, 3_000)) % 3
    train, test = codes[:2_000], codes[2_000:]
    result = evaluate.tstr(train, test, train, schema, "x3", models=["logistic regression"], include_real=False)
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(one_hot(train[:, :3], [5, 6, 7]), train[:, 3])
    predicted = exact.predict(one_hot(test[:, :3], [5, 6, 7]))
    assert result["accuracy"].item() == pytest.approx((predicted == test[:, 3]).mean(), abs=0.002)
    assert result["balanced_accuracy"].item() == pytest.approx(
        balanced_accuracy_score(test[:, 3], predicted), abs=0.005
    )


def test_a_release_of_one_class_is_predicted_and_remarked():
    schema, train = planted(100, 0)
    synthetic = train.assign(x3="v1")
    result = evaluate.tstr(train, train, synthetic, schema, "x3", include_real=False)
    assert len(result) == 3
    assert (result["accuracy"] == (train["x3"] == "v1").mean()).all()
    assert (result["balanced_accuracy"] == 0.5).all()
    assert result["note"].str.contains("one class").all()


def test_models_fail_alone_with_a_reason(monkeypatch):
    schema, train = planted(100, 0)

    class Broken(LogisticRegression):
        def fit(self, X, y):
            raise ValueError("planted")

    monkeypatch.setitem(learners.LINEAR, "linear SVM", lambda: Broken())
    result = evaluate.tstr(train, train, train, schema, "x3").set_index(["model", "trained_on"])
    assert result["accuracy"].isna().sum() == 2
    assert "planted" in result.loc[("linear SVM", "released"), "note"]
    assert result.loc[("Bayes net", "released"), "accuracy"] == 1


def test_an_empty_release_and_a_lone_target_give_nan_with_a_reason():
    schema, train = planted(50, 0)
    result = evaluate.tstr(train, train, train.head(0), schema, "x3", include_real=False)
    assert result[["accuracy", "balanced_accuracy"]].isna().all(axis=None)
    assert result["note"].str.contains("no rows to learn from").all()
    alone = evaluate.tstr(train, train, train, schema.select(["x3"]), "x3")
    assert alone["accuracy"].isna().tolist() == [True] * 6 + [False]


def test_a_fit_that_stops_early_says_so(monkeypatch):
    monkeypatch.setattr(learners, "MAX_STEPS", 1)
    schema, train = planted(200, 0, independent=True)
    result = evaluate.tstr(train, train, train, schema, "x3", include_real=False).set_index("model")
    assert "before it converged" in result.loc["logistic regression", "note"]
    assert result["accuracy"].notna().all()


def test_classes_that_only_one_side_knows():
    schema = schema_of(3, 4)
    rng = np.random.default_rng(0)
    codes = random_codes(rng, schema, 90)
    released = codes[codes[:, 1] < 2]
    test = codes[codes[:, 1] > 0]
    result = evaluate.tstr(codes, test, released, schema, "x1")
    assert result["accuracy"].between(0, 1).all()
    # a model that always says class 3 has recall 1 on one of the three classes in the test rows
    only = evaluate.tstr(codes[codes[:, 1] == 3], test, released, schema, "x1").iloc[-1]
    assert only["balanced_accuracy"] == pytest.approx(1 / 3)


def test_row_order_does_not_matter_and_the_ceiling_is_the_rest_of_tstr():
    schema, train = planted(300, 0, independent=True)
    _, test = planted(200, 1, independent=True)
    _, synthetic = planted(250, 2, independent=True)
    whole = evaluate.tstr(train, test, synthetic, schema, "x3")
    parts = [
        evaluate.tstr(train, test, synthetic, schema, "x3", include_real=False),
        evaluate.real_ceiling(train, test, schema, "x3"),
    ]
    pd.testing.assert_frame_equal(whole, pd.concat(parts, ignore_index=True))
    shuffled = [table.sample(frac=1, random_state=3) for table in (train, test, synthetic)]
    pd.testing.assert_frame_equal(whole, evaluate.tstr(*shuffled, schema, "x3"))


def test_unknown_models_and_targets_are_refused():
    schema, train = planted(10, 0)
    with pytest.raises(ParameterError, match="forest"):
        evaluate.tstr(train, train, train, schema, "x3", models=["forest"])
    with pytest.raises(SchemaError):
        evaluate.tstr(train, train, train, schema, "nowhere")


def test_progress_rises_to_one_and_cancels():
    schema, train = planted(50, 0)
    seen = []
    evaluate.tstr(train, train, train, schema, "x3", progress=lambda fraction, text: seen.append((fraction, text)))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0
    assert fractions[-1] == 1
    assert len(seen) == 7

    class CancelError(ValueError):  # even an error of the kind that a failed fit raises
        pass

    def cancel(fraction, text):
        raise CancelError

    with pytest.raises(CancelError):
        evaluate.tstr(train, train, train, schema, "x3", progress=cancel)


# ---- validity


def test_validity_counts_cells_inside_the_schema():
    schema = Schema(
        columns=(
            categorical("c"),
            categorical("m", missing=True, outside="clip"),
            Column(name="i", kind="integer", lower=0, upper=9),
            Column(name="f", kind="continuous", lower=0, upper=1, missing=True),
        )
    )
    good = schema.decode(random_codes(np.random.default_rng(0), schema, 40), np.random.default_rng(0))
    assert evaluate.validity(good, schema) == 1
    bad = pd.DataFrame(
        {
            "c": ["v0", "v9", None, "v1"],  # 2 of 4
            "m": ["v0", "v9", None, "v1"],  # 3 of 4: clipping does not make v9 a declared value
            "i": [0, 8.5, 10, np.nan],  # 1 of 4
            "f": [np.inf, "word", None, "0.5"],  # 2 of 4
            "extra": [0, 0, 0, 0],
        }
    )
    assert evaluate.validity(bad, schema) == pytest.approx((2 + 3 + 1 + 2) / 16)
    assert evaluate.validity(bad.drop(columns="m"), schema) == pytest.approx((2 + 0 + 1 + 2) / 16)
    nothing = pd.DataFrame({"c": [None], "m": [None], "i": [None], "f": [None]})
    assert evaluate.validity(nothing, schema) == 0.5

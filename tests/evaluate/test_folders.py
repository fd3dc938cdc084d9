"""Rows in a folder are evaluated as the same rows in memory: exact counts over blocks; models learn from a sample."""

import numpy as np
import pandas as pd
import pytest
from tables import SMALL, make_frame

import dpcore as dp
from dpcore import evaluate
from dpcore.domain.range_query import random_queries
from dpcore.evaluate import distances, learners, tree_errors
from dpcore.evaluate.distances import fidelity
from dpcore.evaluate.evaluator import FLOOR, RANGE_ERROR, Evaluator
from dpcore.evaluate.learners import MODELS
from dpcore.rows import FolderData, HeldRows, data, exact_counts
from dpcore.rows.writing import encode_folder

RELEASED = make_frame(300, 2)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The data in a folder, with samples of 100 rows, and the same in memory."""
    index = tmp_path_factory.mktemp("people")
    make_frame(900, 1).to_csv(index / "rows.csv", index=False)
    codes = encode_folder(index / "rows.csv", index / "codes", schema=SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_counts, "BLOCK", 128)
        patch.setattr(data, "MOST_DRAWN", 100)
        patch.setattr(learners, "MOST_DRAWN", 100)
        held = dp.datasets.read(index / "rows.csv", schema=SMALL, split_seed=3)
        yield FolderData.open(codes, split_seed=3), held


def assert_same(measure, both):
    found, expected = (measure(one) for one in both)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.parametrize("on", ["columns", "bits"])
def test_distances_are_equal_to_the_last_bit(both, on, monkeypatch):
    def distance(one):
        return evaluate.marginal_avd(one.train, RELEASED, SMALL, on=on)

    for most_cells in (distances.MAX_CELLS, 1):
        monkeypatch.setattr(distances, "MAX_CELLS", most_cells)
        assert_same(distance, both)
        turned = evaluate.marginal_avd(RELEASED, both[0].train, SMALL, on=on)
        pd.testing.assert_frame_equal(turned, distance(both[0]), check_exact=True)


def test_charts_and_verdicts_are_those_of_the_rows_in_memory(both):
    assert_same(lambda one: evaluate.marginals(one.train, RELEASED, SMALL, "age"), both)
    assert_same(lambda one: evaluate.pair_marginal(one.train, RELEASED, SMALL, "age", "ill"), both)
    folder, held = both
    assert fidelity(folder.train, RELEASED, SMALL) == fidelity(held.train, RELEASED, SMALL)
    assert Evaluator(folder).fidelity(RELEASED) == Evaluator(held).fidelity(RELEASED)


@pytest.mark.parametrize("rows", [1, 40])
def test_the_noise_floor_is_the_mean_over_all_resamples(both, rows, monkeypatch):
    folder, held = both
    schema = SMALL.select(SMALL.names[:3])
    drawn = evaluate.noise_floor(held.train, schema, rows=rows, repeats=400)
    for most_cells in (distances.MAX_CELLS, 1):
        monkeypatch.setattr(distances, "MAX_CELLS", most_cells)
        exact = evaluate.noise_floor(folder.train, schema, rows=rows)
        assert exact["attributes"].tolist() == drawn["attributes"].tolist()
        np.testing.assert_allclose(exact["avd"], drawn["avd"], rtol=0.06)  # 400 draws: 3 % and less


def test_off_by_chance_by_hand():
    shares = np.array([0.0, 0.5, 0.25, 1.0])
    # of two rows: none or both with 1/4 each at 1/2; at 1/4 none 9/16, one 6/16, both 1/16
    expected = [0, 0.25, 9 / 16 * 0.25 + 6 / 16 * 0.25 + 1 / 16 * 0.75, 0]
    np.testing.assert_allclose(distances.off_by_chance(shares, 2), expected)


def test_range_queries_and_trees_count_all_rows(both):
    queries = random_queries(SMALL, 30)
    assert_same(lambda one: evaluate.range_queries(one.train, {"none": np.zeros(30)}, SMALL, queries), both)
    folder, held = map(Evaluator, both)
    np.testing.assert_array_equal(folder.answers(queries), held.answers(queries))
    tree = dp.TaxonomyRelease(random_state=0).fit(both[1].train, schema=SMALL).tree_
    first, second = (tree_errors.true_counts(tree, one.rows) for one in (folder, held))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert isinstance(held.rows, HeldRows)


def test_models_learn_from_a_sample_and_say_so(both):
    folder, held = both
    found = evaluate.tstr(folder.train, folder.test, RELEASED, SMALL, "ill")
    real = (found["trained_on"] == "real") & found["model"].isin(MODELS)
    text = f"Trained on 100 rows, a uniform sample of {len(folder.train):,}."
    wanted = f"All models are tested on 100 rows, a uniform sample of {len(folder.test):,} test rows."
    assert found.loc[real, "note"].tolist() == [f"{text} {wanted}"] * len(MODELS)
    assert found.loc[~real, "note"].unique().tolist() == [wanted]
    assert (found.loc[real, "accuracy"] > 0.7).all()
    as_release = evaluate.tstr(held.train, held.test, folder.train, SMALL, "ill")
    assert as_release["note"].str.contains(text, regex=False).any()
    pd.testing.assert_frame_equal(Evaluator(folder).train_and_test(RELEASED), found)


def test_runs_are_fitted_on_all_rows_and_compared_with_their_floor(both):
    methods, measures = {"NB-Synth": dp.METHODS["NB-Synth"](random_state=1)}, ["2-way AVD", RANGE_ERROR]
    how = {"epsilons": [1.0], "repeats": 1, "measures": measures, "rows": 200, "n_jobs": 1}
    runs = [dp.experiment.sweep(methods, one, **how)["value"] for one in both]
    np.testing.assert_array_equal(*runs)
    floors = [evaluate.baselines(one, [FLOOR], measures)["value"] for one in both]
    np.testing.assert_allclose(*floors, rtol=0.2)  # a mean over five draws, and over all

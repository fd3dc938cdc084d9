"""Rows in a folder are evaluated as the same rows in memory: exact counts over blocks; models learn from a sample."""

import numpy as np
import pandas as pd
import pytest
from tables import SMALL, make_frame

import dpcore as dp
from dpcore import evaluate
from dpcore.datasets import Dataset
from dpcore.domain.range_query import random_queries
from dpcore.evaluate import distances, learners, tree_errors
from dpcore.evaluate.baselines import FLOOR
from dpcore.evaluate.evaluator import RANGE_ERROR, Evaluator
from dpcore.evaluate.learners import MODELS
from dpcore.evaluate.verdict import verdict
from dpcore.rows import FolderData, HeldRows, data, exact_counts
from dpcore.rows.writing import encode

REAL, RELEASED = make_frame(900, 1), make_frame(300, 2)


@pytest.fixture(scope="module")
def codes(tmp_path_factory):
    place = tmp_path_factory.mktemp("people")
    REAL.to_csv(place / "rows.csv", index=False)
    return encode(place / "rows.csv", place / "codes", schema=SMALL)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(exact_counts, "BLOCK", 128)


@pytest.fixture
def both(codes, monkeypatch) -> tuple[FolderData, Dataset]:
    """The data in a folder, with samples of 100 rows, and the same in memory."""
    held = dp.datasets.read(codes.parent / "rows.csv", schema=SMALL, split_seed=3)
    monkeypatch.setattr(data, "MOST_DRAWN", 100)
    monkeypatch.setattr(learners, "MOST_DRAWN", 100)
    return FolderData.open(codes, split_seed=3), held


@pytest.mark.parametrize("on", ["columns", "bits"])
@pytest.mark.parametrize("most_cells", [1, 1 << 18])
def test_distances_are_equal_to_the_last_bit(both, on, most_cells, monkeypatch):
    monkeypatch.setattr(distances, "MAX_CELLS", most_cells)
    folder, held = both
    for degree in (1, 2):
        found, expected = (evaluate.marginal_avd(one.given, RELEASED, SMALL, degree, on=on) for one in (folder, held))
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
    turned = evaluate.marginal_avd(RELEASED, folder.given, SMALL, on=on)
    pd.testing.assert_frame_equal(turned, found, check_exact=True)


def test_charts_and_verdicts_are_those_of_the_rows_in_memory(both):
    folder, held = both
    for one in ("age", "a.b[0]:Q"):
        frames = [evaluate.marginals(each.given, RELEASED, SMALL, one) for each in both]
        pd.testing.assert_frame_equal(*frames, check_exact=True)
    frames = [evaluate.pair(each.given, RELEASED, SMALL, "age", "ill") for each in both]
    pd.testing.assert_frame_equal(*frames, check_exact=True)
    assert verdict(folder.given, RELEASED, SMALL) == verdict(held.train, RELEASED, SMALL)
    assert Evaluator(folder).verdict(RELEASED) == Evaluator(held).verdict(RELEASED)


@pytest.mark.parametrize("most_cells", [1, 1 << 18])
@pytest.mark.parametrize("rows", [1, 40, 900])
def test_the_noise_floor_is_the_mean_over_all_resamples(both, rows, most_cells, monkeypatch):
    monkeypatch.setattr(distances, "MAX_CELLS", most_cells)
    folder, held = both
    exact = evaluate.noise_floor(folder.given, SMALL, rows=rows)
    drawn = evaluate.noise_floor(held.train, SMALL, rows=rows, repeats=400)
    assert exact["attributes"].tolist() == drawn["attributes"].tolist()
    np.testing.assert_allclose(exact["avd"], drawn["avd"], rtol=0.06)  # 400 draws: 3 % and less, one by one


def test_off_by_chance_by_hand():
    shares = np.array([0.0, 0.5, 0.25, 1.0])
    # of two rows: none or both with 1/4 each at 1/2; at 1/4 none 9/16, one 6/16, both 1/16
    expected = [0, 0.25, 9 / 16 * 0.25 + 6 / 16 * 0.25 + 1 / 16 * 0.75, 0]
    np.testing.assert_allclose(distances.off_by_chance(shares, 2), expected)


def test_range_queries_and_trees_count_all_rows(both):
    folder, held = both
    queries = random_queries(SMALL, 30)
    answers = {"none": np.zeros(30)}
    frames = [evaluate.range_queries(one.given, answers, SMALL, queries) for one in both]
    pd.testing.assert_frame_equal(*frames, check_exact=True)
    np.testing.assert_array_equal(Evaluator(folder).answers(queries), Evaluator(held).answers(queries))
    tree = dp.TaxonomyRelease(random_state=0).fit(held.train, schema=SMALL).tree_
    first, second = (tree_errors.true_counts(tree, Evaluator(one).rows) for one in both)
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert isinstance(Evaluator(held).rows, HeldRows)


def test_models_learn_from_a_sample_and_say_so(both):
    folder, held = both
    found = evaluate.tstr(folder.given, folder.tested, RELEASED, SMALL, "ill")
    real = (found["trained_on"] == "real") & found["model"].isin(MODELS)
    told = f"Learned from 100 rows, a uniform sample of {len(folder.learned):,}."
    asked = f"All are asked about 100 test rows, a uniform sample of {len(folder.tested):,}."
    assert found.loc[real, "note"].tolist() == [f"{told} {asked}"] * len(MODELS)
    assert found.loc[~real, "note"].unique().tolist() == [asked]
    assert (
        evaluate.tstr(held.train, held.test, folder.given, SMALL, "ill")["note"].str.contains(told, regex=False).any()
    )
    of_data = Evaluator(folder).learned(RELEASED)
    pd.testing.assert_frame_equal(of_data, found)
    assert (found.loc[real, "accuracy"] > 0.7).all()


def test_runs_are_fitted_on_all_rows_and_compared_with_their_floor(both):
    methods = {"NB-Synth": dp.METHODS["NB-Synth"](random_state=1)}
    how = {"epsilons": [1.0], "repeats": 1, "measures": ["2-way AVD", RANGE_ERROR], "rows": 200, "n_jobs": 1}
    frames = [dp.experiment.sweep(methods, one, **how) for one in both]
    np.testing.assert_array_equal(frames[0]["value"], frames[1]["value"])
    floors = [
        evaluate.references(one, [FLOOR], ["2-way AVD", RANGE_ERROR]).set_index("metric")["value"] for one in both
    ]
    np.testing.assert_allclose(floors[0], floors[1], rtol=0.2)  # a mean over five draws, and over all

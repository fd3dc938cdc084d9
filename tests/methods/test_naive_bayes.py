"""NB-Synth against hand-worked numbers, limits in epsilon, and a plain naive Bayes."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.naive_bayes import CategoricalNB

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.mechanisms.scores.naive_bayes import class_log_scores
from dpcore.methods import NaiveBayesSynthesizer

BITS = Schema(
    columns=tuple(Column(name=name, kind="categorical", categories=("0", "1")) for name in "abcy"),
    target="y",
    max_rows=100_000,
)


def planted(rows=4_000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.35
    known = {"a": 0.9, "b": 0.5, "c": 0.2}
    columns = {name: np.where(rng.random(rows) < p, y, rng.random(rows) < 0.4) for name, p in known.items()}
    return pd.DataFrame(columns | {"y": y}).astype(int)


def plain_nb(frame, rows):
    model = CategoricalNB(alpha=1.0, min_categories=2).fit(frame[list("abc")], frame["y"])
    counts = np.bincount(frame["y"], minlength=2)
    model.class_log_prior_ = np.log((counts + 1) / (len(frame) + 2))
    return model.predict_joint_log_proba(rows)


@pytest.mark.parametrize(("mode", "variant"), [("published", "Alg2"), ("corrected", "C1"), ("corrected", "C2")])
def test_epsilon_zero_gives_uniform_labels(mode, variant):
    method = NaiveBayesSynthesizer(epsilon=0, mode=mode, variant=variant, rows=8_000, random_state=0)
    labels = method.fit(planted(), schema=BITS).sample(8_000)["y"].astype(int)
    assert stats.chisquare(np.bincount(labels, minlength=2)).pvalue > 1e-4  # false-alarm rate 1e-4, seeded
    assert method.ledger_.epsilon_nominal == 0


def test_epsilon_to_infinity_makes_algorithm_2_algorithm_1():
    first, second = (
        NaiveBayesSynthesizer(epsilon=1e6, mode="published", variant=variant, rows=2_000, random_state=0)
        .fit(planted(), schema=BITS)
        .sample()
        for variant in ("Alg1", "Alg2")
    )
    pd.testing.assert_frame_equal(first, second)
    frame = first.astype(int)
    np.testing.assert_array_equal(frame["y"], plain_nb(planted(), frame[list("abc")]).argmax(axis=1))


def test_paper_scores_are_naive_bayes():
    frame, rows = planted(), pd.DataFrame(np.array(list(np.ndindex(2, 2, 2))), columns=list("abc"))
    y = frame["y"].to_numpy()
    tables = [np.array([np.bincount(frame[name][y == c], minlength=2) for c in (0, 1)]) for name in "abc"]
    prior = np.log((np.bincount(y) + 1) / (len(y) + 2))
    scores = class_log_scores(prior, tables, rows.to_numpy(dtype=np.uint8), 1.0)
    np.testing.assert_allclose(scores, plain_nb(frame, rows), atol=1e-9)


def test_c1_posterior_sampling_has_the_posterior_frequencies():
    frame = planted()
    method = NaiveBayesSynthesizer(epsilon=1e6, random_state=2).fit(frame, schema=BITS)
    rows = method.sample(80_000).astype(int)
    np.testing.assert_allclose(method.class_totals_, np.bincount(frame["y"]), atol=0.1)
    cells = rows.groupby(list("abc"))["y"].agg(["mean", "size"]).reset_index()
    joint = np.exp(plain_nb(frame, cells[list("abc")]))
    expected = joint[:, 1] / joint.sum(axis=1)
    error = np.sqrt(expected * (1 - expected) / cells["size"])
    assert (np.abs(cells["mean"] - expected) < 4.5 * error + 1e-4).all()  # 8 cells, false-alarm rate below 1e-4


def test_paper_mode_books_s_draws_with_the_true_loss():
    method = NaiveBayesSynthesizer(mode="published", epsilon=1.0, rows=1_000, random_state=0)
    frame = planted(10)
    (entry,) = method.fit(frame, schema=replace(BITS, max_rows=10)).ledger_.entries
    delta = math.ceil(math.log(20))
    assert delta == 3
    assert (entry.draws, entry.claimed_sensitivity, float(entry.epsilon_claimed)) == (1_000, delta, 1.0)
    assert float(entry.epsilon_nominal) == pytest.approx(1_000 * 4 * math.log(2) / (2 * delta))
    doubled = method.set_params(relation="replace").fit(frame, schema=BITS).ledger_
    assert doubled.epsilon_nominal == pytest.approx(2 * float(entry.epsilon_nominal))
    found = [NaiveBayesSynthesizer(log_base=base)._paper_sensitivity(30_162) for base in ("e", "2", "10")]
    assert found == [12, 16, 5]


def test_private_n_is_not_used_and_paid_rows_are_not_stretched():
    frame, schema = planted(50), Schema(columns=BITS.columns, target="y")
    with pytest.raises(ParameterError, match="max_rows"):
        NaiveBayesSynthesizer(mode="published").fit(frame, schema=schema)
    for how, rows in (({"relation": "replace"}, 50), ({"rows": 70}, 70)):
        assert len(NaiveBayesSynthesizer(mode="published", **how).fit(frame, schema=schema).sample()) == rows
    method = NaiveBayesSynthesizer(variant="C2", rows=20).fit(frame, schema=BITS)
    assert len(method.sample(5)) == 5
    with pytest.raises(ParameterError, match="20 rows"):
        method.sample(21)

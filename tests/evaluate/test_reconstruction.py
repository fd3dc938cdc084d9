"""Reports beside the truth: shares, intervals, and the spread of numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpcore.datasets import Dataset
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.evaluate import reconstruction
from dpcore.mechanisms.randomizers import ERRPH, OUE, TRR
from dpcore.methods import DTCRD, PPNB
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import Reports

TOWN = Column(name="town", kind="categorical", categories=("a", "b", "c"), missing=True)
AGE = Column(name="age", kind="continuous", lower=0.0, upper=10.0, bins=5)
ILL = Column(name="ill", kind="categorical", categories=("no", "yes"))
SCHEMA = Schema(columns=(TOWN, AGE, ILL), target="ill")


def people(rows=2_000):
    rng = np.random.default_rng(0)
    ill = rng.random(rows) < 0.3
    town = rng.choice(np.array(["a", "b", None], dtype=object), rows, p=[0.7, 0.2, 0.1])
    age = np.where(ill, rng.normal(7, 1, rows), rng.normal(3, 1, rows)).clip(0, 10)
    return pd.DataFrame({"town": town, "age": age, "ill": np.where(ill, "yes", "no")})


PEOPLE = people()


def reports_of(**given):
    return PPNB(**{"random_state": 1, "epsilon": 6.0, **given}).fit(PEOPLE, schema=SCHEMA).reports_


def shares(column, **given):
    return reconstruction.shares_of_column(reports_of(**given), PEOPLE, column)


def test_intervals_hold_the_true_shares_as_often_as_they_say_and_are_not_wider_than_they_have_to_be():
    """40 rounds x 4 values: 160 intervals of 95%; fewer than 134 hits has a chance below 1e-6.

    Their spread is what the intervals say, to within 40% (a chi-square of 39: 1 in 1,000).
    """
    for given in (
        {"pairs": True, "protocol": "ERRPH", "n_questions": None},
        {"pairs": True, "protocol": "OUE", "n_questions": 1},
        {"pairs": False, "protocol": "OLH", "n_questions": None},
        {"pairs": True, "protocol": "ERRPH", "n_questions": 1, "epsilon": 60.0},  # the luck is in who is asked
    ):
        frames = [shares("town", random_state=seed, **given) for seed in range(40)]
        assert frames[0]["value"].tolist() == list(TOWN.labels)
        assert frames[0]["real"].sum() == pytest.approx(1)
        assert frames[0]["reported"].isna().all() == (given["protocol"] != "ERRPH")
        assert sum(frame["real"].between(frame["low"], frame["high"]).sum() for frame in frames) >= 134
        spread = np.std([frame["reconstructed"] for frame in frames], axis=0, ddof=1)
        said = np.mean([(frame["high"] - frame["low"]) / (2 * reconstruction.SURE) for frame in frames], axis=0)
        np.testing.assert_allclose(spread, said, rtol=0.4, atol=1e-5)
    nothing = shares("town", epsilon=0.0)
    assert np.isinf(nothing["high"]).all()
    assert np.allclose(nothing["reconstructed"], 1 / 4)


def test_the_class_is_told_by_all_pairs():
    assert reconstruction.family_of(reports_of(pairs=True), "town") == ("ill", "town")
    reports = reports_of(n_questions=1)
    assert reconstruction.families_of(reports, "ill") == [("ill", "town"), ("ill", "age")]
    frame = reconstruction.shares_of_column(reports, PEOPLE, "ill")
    *_, variance = reconstruction.item_marginal(reports, ("ill", "town"), "ill")
    alone = 2 * reconstruction.SURE * np.sqrt(variance)
    assert ((frame["high"] - frame["low"]) < alone).all()
    assert frame["real"].between(frame["low"], frame["high"]).all()


def test_densities_by_hand():
    channel = TRR(factors=np.ones(1), offsets=np.array([5.0]))
    age = np.array([0.1, 9.9])
    reports = Reports(SCHEMA, 2, {("age",): channel}, {("age",): age + 5})
    bayes = Bayes(SCHEMA, "ill", np.array([0.25, 0.75]), {}, {"age": np.array([[2.0, 0.01], [8.0, 0.01]])})
    frame = pd.DataFrame({"town": ["a", "a"], "age": age, "ill": ["no", "yes"]})
    found = reconstruction.densities(reports, frame, "age", bayes)
    assert np.allclose(found["width"], 0.25)
    assert found["x"].iloc[0] - found["width"].iloc[0] / 2 == 0
    assert 14.75 < found["x"].iloc[-1] + found["width"].iloc[-1] / 2 <= 15
    assert found["real"].sum() == pytest.approx(1)
    assert found.loc[found["x"] < 5, "reconstructed"].sum() == pytest.approx(0.25, abs=1e-6)
    assert (found["real"] > 0).sum() == 2


def test_numbers_with_noise_are_reconstructed_inside_their_range():
    reports = DTCRD(epsilon=60.0, random_state=0).fit(PEOPLE, schema=SCHEMA).reports_
    found = reconstruction.densities(reports, PEOPLE, "age")
    inside = found["x"].between(0, 10)
    assert found.loc[~inside, "reconstructed"].isna().all()
    assert found.loc[inside, "reconstructed"].sum() == pytest.approx(1)
    guesses = found["reconstructed"], 1 / inside.sum()
    off, flat = ((guess - found["real"])[inside].abs().sum() for guess in guesses)
    assert off < 0.5 * flat
    gains = reconstruction.steps(reports, "age")["gain"]
    assert gains.iloc[0] == 0
    assert len(gains) > 2
    assert (gains.diff().dropna() >= -1e-12).all()
    reports = DTCRD(epsilon=0.1, random_state=0).fit(PEOPLE, schema=SCHEMA).reports_
    found = reconstruction.densities(reports, PEOPLE, "age")
    assert found["width"].iloc[0] > 0.25  # wide noise is drawn in wider intervals
    assert (found["reported"] * found["width"] / 0.25).sum() == pytest.approx(0.98, abs=0.02)


def test_intervals_of_whole_numbers_hold_as_many_of_them():
    """Uniform whole numbers of 0 to 60 are drawn flat: two in each interval but the last."""
    whole = Column(name="n", kind="integer", lower=0, upper=60, bins=10)
    schema = Schema(columns=(whole, ILL), target="ill")
    rows = pd.DataFrame({"n": np.repeat(np.arange(61), 20), "ill": "no"})
    reports = DTCRD(epsilon=50.0, random_state=0).fit(rows, schema=schema).reports_
    real = reconstruction.densities(reports, rows, "n")["real"].to_numpy()
    np.testing.assert_allclose(real[real > 0], [*[2 / 61] * 30, 1 / 61])


def test_data_of_bits_are_halves():
    data = Dataset("x", PEOPLE, PEOPLE.head(5), SCHEMA, "")
    bits = reconstruction.boolean_data(data, "ill")
    assert bits.schema.names == ("town", "age", "ill")
    assert bits.schema.sizes == (2, 2, 2)
    codes = bits.schema.encode(bits.train)
    assert (codes[:, 1] == (SCHEMA.encode(PEOPLE)[:, 1] >= 3)).all()
    assert (bits.train["ill"] == PEOPLE["ill"]).all()
    of_persons = replace(SCHEMA, unit=PrivacyUnit(max_contributions=2, id_column="who"))
    named = replace(data, schema=of_persons, train=PEOPLE.assign(who=range(len(PEOPLE))), test=PEOPLE.assign(who=0))
    bits = reconstruction.boolean_data(named, "ill")
    assert bits.train["who"].tolist() == named.train["who"].tolist()


def test_variance_of_a_margin_by_enumeration():
    """Reports of two cells of four, of one person: every report and its probability."""
    channel = ERRPH(4, epsilon=1.0)
    for share in (0.0, 1.0):
        chance = channel.matrix[:, 0 if share else 2]
        values = (np.array([1, 1, 0, 0]) - 2 * channel.base[0]) / channel.gain
        exact = chance @ values**2 - (chance @ values) ** 2
        assert reconstruction.variance(channel, np.array([share]), 1, 2)[0] == pytest.approx(exact)
    bits = OUE(2, epsilon=1.0)
    own, q = 0.25, bits.q * (1 - bits.q)
    exact = (own + q) / bits.gain**2  # both cells belong to the value: one bit is one's own
    assert reconstruction.variance(bits, np.array([1.0]), 1, 2)[0] == pytest.approx(exact)

"""Privacy of randomized reports, and the limit stated by the panel of risk."""

import math
from dataclasses import replace
from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import norm
from tables import SMALL, make_frame

from dpcore import export
from dpcore.dashboard.pages.mechanisms import report_privacy_numbers as numbers
from dpcore.dashboard.panels import disclosure
from dpcore.domain.unit import PrivacyUnit
from dpcore.experiment.figures import find_figure
from dpcore.mechanisms.randomizers import ERRPH, RRPH, TRR, AdditiveNoise, Warner
from dpcore.methods import METHODS


def test_breach_as_published():
    assert numbers.breach(RRPH(p0=0.5)) == pytest.approx([1 / 3] * 2)
    assert numbers.breach(Warner(p=0.75)) == pytest.approx([5 / 8] * 2)
    for k, p0 in product((2, 9), (0.1, 1.0)):
        assert numbers.breach(ERRPH(k, p0=p0)) == pytest.approx([k * p0**2 / ((k - 1) * p0 + 1)] * k)
    uneven = numbers.breach(ERRPH(3, p0=0.4, others=[0.1, 0.2, 0.3]))
    assert uneven == pytest.approx([0.16 / 0.5, 0.16 / 0.6, 0.16 / 0.7])
    for channel in (RRPH(p0=p0) for p0 in (0.1, 0.3, 0.35, 0.6)):  # what is said of the advice on p0
        said = f"{channel.epsilon:.2f}", f"{numbers.breach(channel)[0]:.0%}"
        assert all(number in find_figure("004 Fig. 2").claims[3]["note"] for number in said)
    crossing = 1 / sqrt(2)
    for channel in (RRPH(p0=crossing), Warner(p=crossing)):
        assert numbers.breach(channel) == pytest.approx([0.585786] * 2, abs=1e-6)


@pytest.mark.parametrize("p0", [0.01, 0.4, 0.99])
def test_two_descriptions_of_one_channel_differ_in_breach_only(p0):
    first, second = RRPH(p0=p0), Warner(p=(1 + p0) / 2)
    assert first.matrix == pytest.approx(second.matrix)
    assert numbers.breach(first)[0] < numbers.breach(second)[0]
    assert numbers.best_guess(first) == pytest.approx(numbers.best_guess(second))
    assert first.epsilon == pytest.approx(second.epsilon)


def test_best_guess_by_hand():
    assert numbers.best_guess(Warner(p=0.2)) == pytest.approx(0.8)  # by taking the opposite
    assert numbers.best_guess(ERRPH(4, p0=0.5)) == pytest.approx(0.625)
    assert numbers.best_guess(ERRPH(5, p0=0.0)) == pytest.approx(1 / 5)


@pytest.mark.parametrize("reports", [1, 2, 4])
def test_many_reports_by_enumeration(reports):
    for channel in (RRPH(p0=0.4), Warner(p=0.6), ERRPH(3, p0=0.5)):
        prior = np.full(channel.size, 1 / channel.size)
        right = 0.0
        for said in product(range(channel.size), repeat=reports):
            counts = np.bincount(said, minlength=channel.size)
            best = counts == counts.max()
            right += float((prior * channel.matrix[list(said)].prod(axis=0) * best).sum() / best.sum())
        found = numbers.repeated_reports(channel, [reports]).iloc[0]
        assert found["right"] == pytest.approx(right)
        assert found["epsilon"] == pytest.approx(reports * float(channel.epsilon))
        assert found["kept"] == pytest.approx(float((prior * np.diag(channel.matrix)).sum()))


def test_repeated_reports_converge_to_the_truth():
    found = numbers.repeated_reports(ERRPH(10, p0=0.3), [1, 3, 9, 27, 81, 150])["right"]
    assert found.is_monotonic_increasing
    assert 0.999 < found.iloc[-1] <= 1


def test_breach_curves_cross_at_one_over_root_two():
    frame = numbers.measure_curves([0.0, 0.4, 1 / sqrt(2), 0.9, 1.0], size=3)
    assert frame.loc[frame["series"] == "Warner", "setting"].min() > 0.5
    crossing = frame[(frame["setting"].between(0.7, 0.71)) & (frame["measure"] == "Breach")].set_index("series")
    assert crossing.loc["RRPH", "value"] == pytest.approx(crossing.loc["Warner", "value"])


def test_posterior_and_claimed_widths():
    for a, b, width in (((2, 10), (0, 5), 6.67), ((1, 0.01), (0, 1), 3.86)):
        assert numbers.posterior_width(numbers.linear_randomizer(a, b), 5, 4) == pytest.approx(width, abs=0.01)
    deviations = 1.349  # the formula of the paper's table 2
    assert numbers.claimed_width(4, 0.5) == pytest.approx(2 * deviations, abs=0.001)
    left = numbers.posterior_width(numbers.linear_randomizer((1, 0), (3, 0.01)), -1, 4, 0.5)
    assert left == pytest.approx(deviations * 2 * sqrt(0.01 / 4.01), rel=0.05)  # x and noise are normal, so is this


def test_widths_compared_as_the_page_says_them():
    both = ("normal", 2.0), ("uniform", 2.0 * sqrt(3))
    normal, uniform = (AdditiveNoise(kind, scale, lower=-20, upper=30) for kind, scale in both)
    assert (2 * norm.ppf(0.975) * normal.scale, 0.95 * 2 * uniform.scale) == pytest.approx((7.84, 6.58), abs=0.005)
    widths = [numbers.posterior_width(noise, 5, 4) for noise in (normal, uniform)]
    assert widths == pytest.approx([5.54, 4.75], abs=0.02)


def test_the_error_of_a_variance_rises_with_the_factors_variance_and_falls_with_their_mean():
    """Relative to mean 2, simulated errors are 2.46 at mean 1, and .60 and .46 at 4 and 8."""
    sets = (1, 1), (2, 1), (4, 1), (8, 1), (2, 10)
    errors = [numbers.standard_errors(a, (0, 1), (5, 4), 1_000)[1] for a in sets]
    assert np.array(errors) / errors[1] == pytest.approx([2.46, 1, 0.6, 0.46, 4.83], abs=0.03)


def test_posterior_width_with_laplace_noise():
    narrow = numbers.posterior_width(TRR(lower=0, upper=10, epsilon=50.0), 5, 4)
    assert narrow == pytest.approx(2 * 0.2 * log(20), rel=0.1)  # the noise's own, where the prior says nothing


def test_tail_ratios():
    found = numbers.tail_ratios(numbers.linear_randomizer((1, 1), (0, 1)), 0, 10, [5.0, 40.0, 400.0])
    assert found["at_x"].iloc[0] == pytest.approx(5.7e-7, rel=0.01)
    assert found["at_other"].iloc[0] == pytest.approx(norm.sf(5, 10, sqrt(101)) + norm.cdf(-5, 10, sqrt(101)))
    assert found["log_ratio"].iloc[0] > 14
    assert found["log_ratio"].is_monotonic_increasing
    assert np.isfinite(found["log_ratio"]).all()
    bounded = numbers.tail_ratios(TRR(lower=0, upper=10, epsilon=2.0), 0, 10, [0.0, 5.0, 40.0, 400.0])
    assert (bounded["log_ratio"] <= 2 + 1e-9).all()
    assert bounded["log_ratio"].iloc[0] == pytest.approx(0)


FRAME = make_frame(120, 1).assign(who=[f"p{i // 3}" for i in range(120)])


def limit(unit=None, schema=SMALL, **given):
    schema = replace(schema, unit=unit)
    method = METHODS["NB-Synth"](**{"epsilon": 1.0, **given}).fit(FRAME, schema=schema)
    return disclosure.describe_limit(export.make_release(method, "NB-Synth", method.sample(9), data_name="people.csv"))


@pytest.mark.parametrize("epsilon", [0.001, 0.5, 1.0986122886681098, 5.0, 20.0])
def test_the_limit_is_what_two_neighbors_allow_and_never_rounded_down(epsilon):
    """Right with p in and q out, where p <= e^epsilon q and 1 - q <= e^epsilon (1 - p): p - q is largest at both."""
    most = 100 * (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    assert most - 1e-6 <= float(disclosure.limit_points(epsilon)) < most + 0.1
    assert disclosure.limit_points(0.0) == "0"


def test_limit_names_the_privacy_unit_and_relation():
    text = limit()
    assert "46.3" in text
    assert "had not taken part" in text
    assert "had not taken part" not in limit(relation="replace")
    person, rows = (limit(PrivacyUnit(max_contributions=3, id_column=name)) for name in ("who", None))
    assert "46.3" in person
    assert "about a person" in person
    assert "about a row" in rows
    assert "90.6" in rows  # for a person with 3 rows, of epsilon 3


def test_without_a_proof_there_is_no_limit():
    for text in (limit(random_state=1), limit(schema=replace(SMALL, source="inferred"))):
        assert not any(number in text for number in ("46.3", "100"))
    assert "can be attacked" in limit(noise="laplace")  # the proof is about exact arithmetic
    assert " 100 " in limit(mode="published", variant="Alg2", relation="replace")  # as proven

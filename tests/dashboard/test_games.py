"""The games that pages play, without a page: coins, crowds, rounds, scores, and the bins of two worlds' runs."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from dpcore.dashboard.histogram_pair import histogram_pair, interval
from dpcore.dashboard.pages.attacks import membership_game_numbers
from dpcore.dashboard.pages.attacks.membership_game_numbers import Game, Round, Rules
from dpcore.dashboard.pages.mechanisms.coin_game_numbers import ask, estimate, toss
from dpcore.mechanisms.randomizers import RRPH
from dpcore.text import odds

INF, NAN = math.inf, math.nan


def noise(shift=0.0, runs=400, seed=1):
    return np.random.default_rng(seed).laplace(shift, 1.0, runs)


@pytest.mark.parametrize("p0", [0.5, 0.9])
def test_tosses_and_crowds_follow_the_channel(p0):
    rng = np.random.default_rng(11)
    for truth in (0, 1):
        answers = [toss(p0, truth, rng) for _ in range(2_000)]
        yes = np.mean([said for _, said in answers])
        assert yes == pytest.approx(RRPH(p0=p0).matrix[1, truth], abs=0.035)
        assert all(said == truth for honest, said in answers if honest)
    crowds = pd.concat([ask(p0, 0.3, 500, rng)[1] for _ in range(200)])
    assert crowds["estimate"].mean() == pytest.approx(0.3, abs=0.02)
    covered = ((crowds["low"] <= 0.3) & (crowds["high"] >= 0.3)).mean()
    assert 0.91 <= covered <= 0.985


def test_the_estimate_by_hand():
    found = estimate(0.5, np.repeat([0, 1], [600, 400]).astype(np.int8)).iloc[0]
    assert found["estimate"] == pytest.approx((0.4 - 0.25) / 0.5)
    assert found["high"] - found["estimate"] == pytest.approx(1.96 * np.sqrt(0.75 / 4_000) / 0.5)


# Rounds and scores


def test_a_second_press_that_was_on_its_way_counts_nothing():
    found = Game(round=Round(Rules(1.0), True, (4,)))
    for guess in (False, True, True):
        found.vote(guess)
    assert found.guess is False
    assert found.scores == {(Rules(1.0), membership_game_numbers.PLAYERS): (0, 1)}


@pytest.mark.parametrize("mode", ["corrected", "published"])
@pytest.mark.parametrize("epsilon", membership_game_numbers.EPSILONS[::3])
def test_chances_are_those_of_the_release(mode, epsilon):
    rules = Rules(epsilon, mode)
    found = membership_game_numbers.chances(rules)
    if mode == "published":
        assert found[["without", "with"]].sum().tolist() == pytest.approx([1, 1])
    else:
        ratio = found["with"] / found["without"]
        assert np.log(ratio).abs().to_numpy() == pytest.approx(epsilon)
        assert found[["without", "with"]].sum().max() <= 1
    rng = np.random.default_rng(5)
    dealt = [membership_game_numbers.deal(rules, rng) for _ in range(4_000)]
    for name, inside in (("without", False), ("with", True)):
        numbers = pd.Series([one.number for one in dealt if one.inside == inside])
        share = found["number"].map(numbers.value_counts(normalize=True)).fillna(0.0)
        error = np.sqrt(found[name] * (1 - found[name]) / len(numbers))
        assert ((share - found[name]).abs() <= 5 * error + 1e-3).all()  # false alarms: below 1e-4


@pytest.mark.parametrize("mode", ["corrected", "published"])
def test_the_best_strategy_is_as_good_as_it_says(mode):
    """What epsilon allows, and more where it is broken."""
    for epsilon, allowed in ((0.1, 0.525), (5.0, 0.993)):
        rules, rounds = Rules(epsilon, mode), 4_000
        best = membership_game_numbers.best_share(rules)
        assert round(best, 3) == allowed if mode == "corrected" else odds(epsilon) < best < odds(9 * max(epsilon, 1))
        right = membership_game_numbers.autoplay(rules, rounds, np.random.default_rng(7))
        low, high = interval(np.array([float(right)]), rounds, 0.001)
        assert low[0] <= best <= high[0]


def test_every_run_is_in_a_bin_and_none_straddles_the_event():
    first, second = noise(), noise(1.0, seed=2)
    cases = (  # the runs of both worlds, and where an event may begin
        (first, second, (-1.0, 0.123, 40.0, INF)),
        (first.round(), second.round(), (-1.0, 0.0, INF)),
        (first * 0 + 7, second * 0 + 7, (7.0, INF)),
        (first.clip(0, 1), second.clip(0, 1), (0.0, 0.123, 1.0)),
    )
    for (one, other, places), above in product(cases, (True, False)):
        for threshold in places:
            found = histogram_pair(one, other, threshold, above=above)
            frame = found.bins
            assert frame[["first", "second"]].sum().tolist() == [400, 400]
            assert (frame["right"] > frame["left"]).all()
            assert np.allclose(frame["right"].iloc[:-1], frame["left"].iloc[1:])
            inside = frame["left"] >= found.edge if above else frame["right"] <= found.edge
            for world, values in (("first", one), ("second", other)):
                happened = values >= threshold if above else values <= threshold
                assert threshold == INF or frame.loc[inside, world].sum() == happened.sum()


def test_what_is_no_number_is_told_and_what_is_infinite_is_at_the_end():
    found = histogram_pair(np.array([NAN, 1.0, 2.0, INF]), np.array([-INF, 1.0, 2.0, 3.0]), 2.0, above=True)
    assert found.bins["first"].tolist() == [1, 1, 1]
    assert found.bins["second"].tolist() == [2, 1, 1]
    assert histogram_pair(np.full(4, NAN), np.full(4, NAN), INF, above=True).bins["first"].sum() == 0


def test_intervals_of_ratios_by_hand():
    frame = histogram_pair(np.repeat([0.0, 1.0], [30, 10]), np.zeros(40), INF, above=True).bins
    low = np.log(beta.ppf(0.0125, 40, 1) / beta.ppf(0.9875, 31, 10))
    assert frame["low"].iloc[0] == pytest.approx(low)
    assert frame["log_ratio"].tolist() == pytest.approx([np.log(4 / 3), -INF])
    assert frame["low"].iloc[1] == -INF
    assert frame["high"].iloc[1] == pytest.approx(np.log(beta.ppf(0.9875, 1, 40) / beta.ppf(0.0125, 10, 31)))

"""Attacks and games of the pages: by hand on small tables, and as strong as claimed."""

import math
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from dpcore import datasets
from dpcore.dashboard.histogram_pair import clopper_pearson, histogram_pair
from dpcore.dashboard.pages.attacks import averages, linkage, membership_game_numbers, near_copies, secret_bits_numbers
from dpcore.dashboard.pages.attacks.membership_game_numbers import Game, Round, Rules
from dpcore.dashboard.pages.mechanisms.coin_game_numbers import answer_with_coin, ask_crowd, estimate_share
from dpcore.mechanisms.randomizers import RRPH
from dpcore.text import odds

TABLE = pd.DataFrame({"age": [30, 30, 41, 41, 41], "sex": list("mfmmf"), "town": list("aaaab")})
EPSILONS = (0.01, 0.1, 1.0, 3.0, 10.0)


@pytest.fixture(scope="module")
def sample():
    return datasets.load("sample")


# Linkage


def test_unique_rows_by_hand(monkeypatch):
    monkeypatch.setattr(linkage, "sample", lambda: SimpleNamespace(train_sample=TABLE))
    monkeypatch.setattr(linkage, "unique_rows", linkage.unique_rows.__wrapped__)
    assert linkage.unique_rows(("age", "sex")).tolist() == [True, True, False, False, True]
    growth = linkage.unique_shares(("age", "sex", "town"))
    assert (growth["share"].tolist(), growth["known"].iloc[-1]) == ([0.0, 0.6, 0.6], "age, sex, town")
    assert not linkage.unique_rows(()).any()


def test_look_up_counts_matching_rows_and_secrets():
    known = ("age", "sex", "race")
    people = linkage.look_up_people(known, 3)
    rows = linkage.sample().train_sample
    for found in people.to_dict("records"):
        fits = rows[(rows[[*known]] == [found[name] for name in known]).all(axis=1)]
        assert [found["matching rows"], found["matches earning over 50K"]] == [len(fits), sum(fits["income"] == ">50K")]


def test_noise_on_counts_is_two_sided_geometric_and_the_guess_right_as_often_as_epsilon_allows():
    """Six standard errors: a false alarm in 1e-8 of all cases."""
    drawn = np.random.default_rng(1).uniform(1e-300, 1, (2, 40_000))
    for epsilon in EPSILONS:
        values = linkage.geometric_noise(epsilon, drawn)
        zero = math.tanh(epsilon / 2)
        assert (values == 0).mean() == pytest.approx(zero, abs=6 * math.sqrt(zero / 40_000))
        for secret in (0, 1):  # whatever is true
            right = ((secret + values >= 1) == secret).mean()
            assert right == pytest.approx(odds(epsilon), abs=6 * 0.5 / 200)


# Secrets from counts


def test_solve_bits_of_three_people_by_hand():
    """Persons 1 and 2: one secret; 2 and 3: two; 1 and 3: one. So it is 2 and 3."""
    groups = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=float)
    assert secret_bits_numbers.solve_bits(groups, np.array([1.0, 2.0, 1.0])).tolist() == [False, True, True]


def test_noiseless_counts_give_500_secrets_away_and_noisy_ones_do_not():
    """The page's promise: at least 95% from noiseless counts, at most 60% at epsilon 1 per person in all."""
    rng = np.random.default_rng(5)
    bits = rng.permutation(np.arange(500) % 2 == 0)
    groups = secret_bits_numbers.random_groups(500, 1_000, rng)
    noiseless = secret_bits_numbers.noiseless_share(bits, groups, [50, 250, 500, 1_000]).set_index("number")["share"]
    assert (noiseless[[500, 1_000]] >= 0.95).all()
    assert 0.5 < noiseless[50] < noiseless[250] < 0.95
    for number in (50, 500, 1_000):
        unit = rng.laplace(size=(number, 10))
        found = secret_bits_numbers.noisy_share(bits, groups[:number], [0.01, 1.0, 1e7], unit)
        found = found.set_index("epsilon")["share"]
        assert found[1.0] <= 0.6
        assert found[0.01] == pytest.approx(0.5, abs=0.02)
        assert found[1e7] == pytest.approx(noiseless.get(number, 1.0), abs=0.02)  # no noise to speak of


def test_all_answers_share_epsilon():
    """One person may change every count, by 1 over the scale each: epsilon in all."""
    assert secret_bits_numbers.noise_scale(1_000, 1.0) == 1_000
    assert sum(1 / secret_bits_numbers.noise_scale(40, 0.5) for _ in range(40)) == pytest.approx(0.5)


# Averages


def test_indicator_matrix_by_hand():
    codes = np.array([[0, 1], [1, 2], [1, 2]])
    one = averages.indicator_matrix(codes, (2, 3), degree=1)
    assert one.toarray().tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 1, 0, 0, 1]]
    two = averages.indicator_matrix(codes, (2, 3), degree=2)
    assert two.toarray().nonzero()[1].tolist() == [1, 5, 5]
    assert (two.shape, averages.count_marginals(one), averages.count_marginals(two)) == ((3, 6), 2, 1)


def test_sensitivity_of_averages_to_replacing_one_person():
    """All pairs of rows: the L1 change times 1 / scale is at most epsilon, and reaches it."""
    rows = np.array(list(product(range(2), range(3), range(2))))
    of = averages.indicator_matrix(rows, (2, 3, 2), degree=2)
    most = max(np.abs(one - other).sum() for one, other in product(of.toarray(), repeat=2))
    assert most / 4 / averages.noise_scale(averages.count_marginals(of), 4, 0.7) == pytest.approx(0.7)


def test_share_right_and_score_histogram_by_hand():
    assert averages.share_right(np.array([2.0, 3.0]), np.array([1.0, 2.0])) == 3.5 / 4
    found = averages.score_histogram(np.array([9.0, 1.0]), np.array([-1.0, 1.0]), np.array([-2.0, 0.0, 2.0]))
    assert found[["inside", "outside"]].to_numpy().tolist() == [[0.0, 0.5], [1.0, 0.5]]  # beyond: in the last bin


def test_noiseless_averages_give_participants_away_and_noisy_ones_do_not(sample):
    """At epsilon 1 the mean over 30 studies has a standard error below 0.01; the limit is 0.731."""
    codes = sample.schema.encode(sample.train).astype(np.int64)
    of = averages.indicator_matrix(codes, sample.schema.sizes, degree=2)
    studies = [averages.random_study(of, 50, np.random.default_rng([7, index])) for index in range(30)]
    found = averages.shares_right(studies, [0.01, 1.0, 10_000.0, math.inf], np.random.default_rng(8))["share"]
    assert found[3] == np.mean([averages.share_right(*study.scores(study.averages)) for study in studies]) > 0.9
    assert found[0] == pytest.approx(0.5, abs=0.005)  # noise of either sign
    assert found[1] < 0.56
    assert found[2] == pytest.approx(found[3], abs=0.02)


# Distance to the closest record


def test_distances_by_hand():
    """Distances count differing columns."""
    rows = near_copies.sample().train_sample.head(3)
    assert near_copies.distances(rows).tolist() == [0, 0, 0]
    assert near_copies.distances(rows.assign(race="Other", sex="Female")).max() <= 2


def test_a_leaking_release_passes_the_distance_test(sample):
    """The release is farther from the real rows than other people, and reveals incomes."""
    released, kept = near_copies.permute_columns(sample.train, 0), [*near_copies.KNOWN, "income"]
    assert near_copies.distances(released[:200]).mean() > near_copies.distances(sample.test[:200]).mean() + 0.5
    assert released[kept].equals(sample.train[kept])


INF, NAN = math.inf, math.nan


def noise(shift=0.0, runs=400, seed=1):
    return np.random.default_rng(seed).laplace(shift, 1.0, runs)


@pytest.mark.parametrize("p0", [0.5, 0.9])
def test_tosses_and_crowds_follow_the_channel(p0):
    rng = np.random.default_rng(11)
    for truth in (0, 1):
        answers = [answer_with_coin(p0, truth, rng) for _ in range(2_000)]
        yes = np.mean([said for _, said in answers])
        assert yes == pytest.approx(RRPH(p0=p0).matrix[1, truth], abs=0.035)
        assert all(said == truth for honest, said in answers if honest)
    crowds = pd.concat([ask_crowd(p0, 0.3, 500, rng)[1] for _ in range(200)])
    assert crowds["estimate"].mean() == pytest.approx(0.3, abs=0.02)
    covered = ((crowds["low"] <= 0.3) & (crowds["high"] >= 0.3)).mean()
    assert 0.91 <= covered <= 0.985


def test_the_estimate_by_hand():
    found = estimate_share(0.5, np.repeat([0, 1], [600, 400]).astype(np.int8)).iloc[0]
    assert found["estimate"] == pytest.approx((0.4 - 0.25) / 0.5)
    assert found["high"] - found["estimate"] == pytest.approx(1.96 * np.sqrt(0.75 / 4_000) / 0.5)


# Rounds and scores


def test_only_the_first_guess_of_a_round_counts():
    found = Game(round=Round(Rules(1.0), True, (4,)))
    for guess in (False, True, True):
        found.submit_guess(guess)
    assert found.guess is False
    assert found.scores == {(Rules(1.0), membership_game_numbers.PLAYERS): (0, 1)}


@pytest.mark.parametrize("mode", ["corrected", "published"])
@pytest.mark.parametrize("epsilon", membership_game_numbers.EPSILONS[::3])
def test_outcome_probabilities_match_drawn_rounds(mode, epsilon):
    rules = Rules(epsilon, mode)
    found = membership_game_numbers.outcome_probabilities(rules)
    if mode == "published":
        assert found[["without", "with"]].sum().tolist() == pytest.approx([1, 1])
    else:
        ratio = found["with"] / found["without"]
        assert np.log(ratio).abs().to_numpy() == pytest.approx(epsilon)
        assert found[["without", "with"]].sum().max() <= 1
    rng = np.random.default_rng(5)
    dealt = [membership_game_numbers.random_round(rules, rng) for _ in range(4_000)]
    for name, inside in (("without", False), ("with", True)):
        numbers = pd.Series([one.number for one in dealt if one.is_member == inside])
        share = found["number"].map(numbers.value_counts(normalize=True)).fillna(0.0)
        error = np.sqrt(found[name] * (1 - found[name]) / len(numbers))
        assert ((share - found[name]).abs() <= 5 * error + 1e-3).all()  # false alarms: below 1e-4


@pytest.mark.parametrize("mode", ["corrected", "published"])
def test_the_best_strategy_is_as_good_as_it_says(mode):
    """Corrected, the best share is what epsilon allows; as published, it is larger."""
    for epsilon, allowed in ((0.1, 0.525), (5.0, 0.993)):
        rules, rounds = Rules(epsilon, mode), 4_000
        best = membership_game_numbers.best_share(rules)
        assert round(best, 3) == allowed if mode == "corrected" else odds(epsilon) < best < odds(9 * max(epsilon, 1))
        right = membership_game_numbers.count_right_guesses(rules, rounds, np.random.default_rng(7))
        low, high = clopper_pearson(np.array([float(right)]), rounds, 0.001)
        assert low[0] <= best <= high[0]


def test_every_run_is_in_a_bin_and_none_straddles_the_event():
    first, second = noise(), noise(1.0, seed=2)
    cases = (  # the runs of both worlds, and where an event may begin
        (first, second, (-1.0, 0.123, 40.0, INF)),
        (first.round(), second.round(), (-1.0, 0.0, INF)),
        (first * 0 + 7, second * 0 + 7, (7.0, INF)),
        (first.clip(0, 1), second.clip(0, 1), (0.0, 0.123, 1.0)),
    )
    for (one, other, indices), above in product(cases, (True, False)):
        for threshold in indices:
            found = histogram_pair(one, other, threshold, above=above)
            frame = found.bins
            assert frame[["first", "second"]].sum().tolist() == [400, 400]
            assert (frame["right"] > frame["left"]).all()
            assert np.allclose(frame["right"].iloc[:-1], frame["left"].iloc[1:])
            inside = frame["left"] >= found.edge if above else frame["right"] <= found.edge
            for world, values in (("first", one), ("second", other)):
                happened = values >= threshold if above else values <= threshold
                assert threshold == INF or frame.loc[inside, world].sum() == happened.sum()


def test_histogram_pair_drops_nan_and_puts_infinities_in_end_bins():
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

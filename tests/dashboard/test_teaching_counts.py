"""Numbers behind the page Mechanisms: noise, selection, beliefs and composition."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpcore.accounting.relation import Relation
from dpcore.dashboard.count_noise import CountNoise, gaussian_delta, gaussian_sigma, sample_worlds, world_densities
from dpcore.dashboard.pages.mechanisms import composition_numbers as numbers
from dpcore.dashboard.pages.mechanisms.choices import election, parse_votes, posterior, response_matrix, share_deviation
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import ERRPH

EPSILONS = (0.1, 1.0, 3.0)
NOISES = [CountNoise(name, e, 0.01) for name in ("Laplace", "Geometric", "Gaussian") for e in EPSILONS]


def density(noise, power=0):
    """Return the density times x^power, which integrates to a moment."""
    return lambda x: x**power * float(np.exp(noise.log_density(np.array(x))))


def test_densities_integrate_to_one_and_to_their_variance():
    for noise in NOISES:
        far = 60 * noise.deviation
        if noise.whole:
            x = np.arange(-math.ceil(far), math.ceil(far) + 1.0)
            chance = np.exp(noise.log_density(x))
            total, variance = chance.sum(), (chance * x**2).sum()
        else:
            total = 2 * quad(density(noise), 0, far)[0]
            variance = 2 * quad(density(noise, 2), 0, far)[0]
        assert total == pytest.approx(1, abs=1e-8)
        assert math.sqrt(variance) == pytest.approx(noise.deviation, rel=1e-6)


def test_quantiles_invert_the_distribution():
    for noise in NOISES:
        shares = np.array([1e-6, 0.01, 0.2, 0.49, 0.5, 0.77, 0.99, 1 - 1e-6])
        found = noise.quantile(shares)
        if noise.whole:
            x = np.arange(-400.0, 401.0)
            sums = np.cumsum(np.exp(noise.log_density(x)))
            assert found.tolist() == [x[np.searchsorted(sums, share - 1e-12)] for share in shares]
        else:
            below = [quad(density(noise), -80 * noise.deviation, 0)[0] + quad(density(noise), 0, q)[0] for q in found]
            assert below == pytest.approx(shares.tolist(), abs=1e-6)


def test_ratios_of_pure_mechanisms_reach_epsilon_and_never_pass_it():
    for epsilon, count in product(EPSILONS, (0, 100)):
        for noise in (CountNoise("Laplace", epsilon), CountNoise("Geometric", epsilon)):
            frame = world_densities(noise, count)
            ratio = frame["log_ratio"]
            assert ratio.abs().max() == pytest.approx(epsilon, rel=1e-9)
            assert noise.delta == 0
            ends = frame["answer"].ge(count + 1) | frame["answer"].le(count)
            expected = np.where(frame["answer"] > count + 0.5, epsilon, -epsilon)
            np.testing.assert_allclose(ratio[ends], expected[ends], rtol=1e-9)
            for world in ("with", "without"):
                np.testing.assert_allclose(frame[f"limit_{world}"], frame[world], rtol=1e-9)


def test_gaussian_delta_is_what_one_world_has_above_the_other():
    for epsilon, delta in ((0.1, 0.05), (1.0, 1e-3), (3.0, 0.01)):
        noise = CountNoise("Gaussian", epsilon, delta)
        s = noise.scale
        start = epsilon * s * s + 0.5  # where the log ratio is epsilon
        x = np.linspace(start, start + 40 * s, 100_001)
        above = np.trapezoid(norm(1, s).pdf(x) - math.exp(epsilon) * norm(0, s).pdf(x), x)
        assert above == pytest.approx(delta, rel=1e-6)
        frame = world_densities(noise, 100, points=4001)
        for world in ("with", "without"):
            gap = frame[world] - frame[f"limit_{world}"]
            area = np.trapezoid(gap, frame["answer"])
            assert area <= delta
            assert area == pytest.approx(delta, abs=3e-4 + 0.02 * delta)  # what is beyond the picture is missing


def test_gaussian_by_hand():
    # epsilon 0: the total variation of N(0, 1) and N(1, 1), 2 Phi(1/2) - 1
    assert gaussian_delta(0, 1) == pytest.approx(0.3829249, abs=1e-7)
    # epsilon 1: Phi(-1/2) - e Phi(-3/2) = 0.3085375 - 2.7182818 * 0.0668072
    assert gaussian_delta(1, 1) == pytest.approx(0.3085375 - 2.7182818 * 0.0668072, abs=1e-6)
    assert gaussian_sigma(1, 1e-5) == pytest.approx(3.730632, abs=1e-5)
    for epsilon, delta in product((0.0, 30.0), (1e-9, 0.9)):
        sigma = gaussian_sigma(epsilon, delta)
        assert gaussian_delta(epsilon, sigma) <= delta < gaussian_delta(epsilon, sigma * (1 - 1e-6))
    assert gaussian_sigma(1.0, 0.0) > 1e9  # no normal noise is pure


def test_a_seed_fixes_noise_and_the_worlds_differ_by_one():
    for noise in NOISES:
        first = sample_worlds(noise, 100, 1)
        pd.testing.assert_frame_equal(first, sample_worlds(noise, 100, 1))
        assert (first["answer"] != sample_worlds(noise, 100, 2)["answer"]).any()
        assert first["world"].value_counts().to_dict() == {"without": 20, "with": 20}
        many = sample_worlds(noise, 100, 3, 20_000).groupby("world")["answer"].agg(["mean", "std"])
        assert many["mean"].to_dict() == pytest.approx({"with": 101, "without": 100}, abs=5 * noise.deviation / 140)
        assert many["std"].to_numpy() == pytest.approx([noise.deviation] * 2, rel=0.05)


VOTES = (30, 25, 8, 2)


def test_the_election_of_paper_000():
    for epsilon, expected in (
        (0.1, (0.4240, 0.3302, 0.1412, 0.1046)),
        (1.0, (0.9241, 0.0759, 1.54e-5, 7.7e-7)),
        (0.0, (0.25,) * 4),
    ):
        found = election(VOTES, epsilon, "comes", 0)["probability"]
        assert found.tolist() == pytest.approx(expected, rel=4e-3, abs=5e-9)
        assert found.sum() == pytest.approx(1)


def loss(votes, epsilon, voter, chosen=0):
    return election(votes, epsilon, voter, chosen)["log_ratio"].abs().max()


def test_one_voter_stays_within_half_and_one_who_changes_within_all_of_epsilon():
    for epsilon in (0.1, 3.0):
        for voter, bound in (("comes", epsilon / 2), ("changes", epsilon)):
            found = [loss(votes, epsilon, voter) for votes in product(range(4), repeat=3) if any(votes[1:])]
            assert epsilon / 4 < max(found) <= bound + 1e-12
        # the bounds are attained by a candidate without any votes beside many others
        assert loss((0, 1_000, 0), epsilon, "comes") == pytest.approx(epsilon / 2, rel=1e-3)


def test_one_candidate_gains_a_vote():
    shown = election(VOTES, 0.7, "comes", 2)
    assert (shown["votes_other"] - shown["votes"]).tolist() == [0, 0, 1, 0]
    assert election(VOTES, 0.7, "changes", 0)["votes_other"].tolist() == [31, 24, 8, 2]
    ratio = np.log(shown["probability_other"] / shown["probability"])
    assert shown["log_ratio"].tolist() == pytest.approx(ratio.tolist())
    with pytest.raises(ParameterError, match="No other candidate"):
        election((5, 0), 1.0, "changes", 0)


def test_votes_are_parsed_and_errors_do_not_repeat_the_input():
    assert parse_votes("30 25;8,2") == parse_votes("30, 25, 8, 2") == VOTES
    for text in ("30", "1,2,3,4,5,6,7,8,9", "30, many", "30, 2.5", "30, -1", "30, 99999999"):
        with pytest.raises(ParameterError) as caught:
            parse_votes(text)
        assert "many" not in str(caught.value)


def test_estimated_share_deviation_by_simulation():
    channel, people, repeats = ERRPH(4, epsilon=1.0), 500, 2_000
    by_report = response_matrix(channel).groupby("reported")["probability"]
    assert (by_report.max() / by_report.min()).to_list() == pytest.approx([math.e] * 4)
    truth = np.repeat([0, 1], [150, 350])
    reports = channel.report(np.tile(truth, repeats), np.random.default_rng(3).random)
    support = channel.support(reports, np.repeat(np.arange(repeats), people), repeats)[:, 0]
    found = (support / people - channel.matrix[0, 1]) / (channel.matrix[0, 0] - channel.matrix[0, 1])
    assert found.mean() == pytest.approx(0.3, abs=0.01)
    assert found.std() == pytest.approx(share_deviation(channel, 0.3, people), rel=0.08)  # 5 standard errors


def test_posterior_odds_change_by_exp_epsilon():
    assert posterior(0.5, 1.0) == pytest.approx(math.e / (1 + math.e))
    assert posterior(0.2, math.log(3)) == pytest.approx(3 / 7)  # odds 1:4 become 3:4
    assert posterior(0.2, -math.log(3)) == pytest.approx(1 / 13)  # and 1:12
    priors = np.linspace(0, 1, 11)
    for epsilon in (0.5, 800.0, -800.0):
        after = posterior(priors, epsilon)
        assert after[[0, -1]].tolist() == [0, 1]
        np.testing.assert_allclose(1 - after, posterior(1 - priors, -epsilon), atol=1e-12)


def test_your_row_is_in_one_group_of_people_and_in_all_of_columns():
    for relation, groups in ((Relation.ADD_REMOVE, 1), (Relation.REPLACE, 2)):
        tables = numbers.split_tables(4, relation)
        people = tables["people"]
        assert people.loc[people["yours"], "part"].nunique() == groups
        assert people.loc[people["person"] == "You", "yours"].all()
        assert tables["columns"]["yours"].all()


def test_averages_of_answers_by_simulation():
    epsilon, k, repeats = 0.5, 16, 4_000  # a false alarm: less than one in 10^6
    errors = numbers.average_deviations(epsilon, k).set_index("answers").loc[k]
    assert errors["each"] == pytest.approx(math.sqrt(2 / (k * epsilon**2)))
    assert errors["shared"] == pytest.approx(math.sqrt(2 * k / epsilon**2))
    assert errors["once"] == pytest.approx(math.sqrt(2) / epsilon)
    rng = np.random.default_rng(5)
    each = rng.laplace(0, 1 / epsilon, (repeats, k)).mean(axis=1).std()
    shared = rng.laplace(0, k / epsilon, (repeats, k)).mean(axis=1).std()
    assert each == pytest.approx(errors["each"], rel=0.06)
    assert shared == pytest.approx(errors["shared"], rel=0.06)


def test_sums_of_losses_by_brute_force():
    """Over all tuples of answers: sums of log ratios, and delta as one world's excess."""
    for epsilon, k in product((0.1, 2.0), (1, 3)):
        noise, x = CountNoise("Geometric", epsilon), np.arange(-400.0, 402.0)
        inside = np.exp(noise.log_density(x - 1))
        up = inside[x >= 1].sum()
        assert up == pytest.approx(1 / (1 + math.exp(-epsilon)), abs=1e-9)
        frame = numbers.loss_distribution(epsilon, k)
        assert frame["probability"].sum() == pytest.approx(1)
        assert frame["loss"].max() == pytest.approx(k * epsilon)
        signs = np.array(list(product((-1, 1), repeat=k)))
        assert {*(epsilon * signs.sum(axis=1)).round(9)} == {*frame["loss"].round(9)}
        with_you = (1 / (1 + np.exp(-epsilon * signs))).prod(axis=1)
        without = with_you[::-1]  # with all signs the other way round
        for delta in (1e-6, 0.01, 0.2):
            found = numbers.epsilon_from_delta(epsilon, k, delta)
            assert 0 <= found <= k * epsilon
            assert (with_you - math.exp(found) * without).clip(0).sum() <= delta * (1 + 1e-9)
            assert found == 0 or (with_you - math.exp(found - 1e-6) * without).clip(0).sum() > delta
        assert numbers.epsilon_from_delta(epsilon, k, 0.0) == pytest.approx(k * epsilon)


def test_parallel_composition_by_brute_force():
    """Largest change of the counts of groups of people, and of columns, by one row."""
    for groups in (2, 4):
        rows = np.eye(groups, dtype=int)  # the group that a row is in
        for relation, worst in (
            (Relation.ADD_REMOVE, rows.sum(axis=1).max()),
            (Relation.REPLACE, max(np.abs(one - other).sum() for one, other in product(rows, repeat=2))),
        ):
            assert numbers.split_people_epsilon(0.5, groups, relation) == Fraction(1, 2) * int(worst)
        cells = np.array(list(product((0, 1), repeat=groups)))
        columns = max(np.abs(one - other).sum() for one, other in product(cells, repeat=2))
        assert numbers.split_columns_epsilon(0.5, groups) == Fraction(1, 2) * int(columns)
    assert [numbers.split_people_epsilon(0.5, 1, relation) for relation in Relation] == [Fraction(1, 2)] * 2


def test_telltale_answers_by_trying_every_number():
    """The search near one number finds what a search among all of them finds."""
    bits, rng = 12, np.arange(1, 2**12)
    for count, epsilon in product((0, 100), (0.1, math.log(2))):
        first = count + numbers.textbook_laplace(rng, bits, 1 / epsilon)
        second = count + 1 + numbers.textbook_laplace(rng, bits, 1 / epsilon)
        drawn = np.random.default_rng(3).integers(1, 2**bits - 1, 3_000, endpoint=True)
        brute = 1 - np.isin(first[drawn - 1], second).mean()
        found = numbers.telltale_share(count, epsilon, bits=bits, draws=3_000, seed=3)
        assert found == pytest.approx(brute, abs=1e-12)
        frame = numbers.possible_answers(count, epsilon, bits, -math.inf, math.inf)
        own = frame[frame["world"] == "without"]
        assert set(own["answer"]) == set(first)
        assert own["both"].mean() == pytest.approx(np.isin(np.unique(first), second).mean())


def test_telltale_share_at_53_bits_by_true_count():
    shares = [numbers.telltale_share(count, 1.0) for count in (0, 1, 10, 100_000)]
    assert shares == pytest.approx([0.80, 0.60, 0.105, 0.0], abs=0.015)
    assert numbers.telltale_share(10, 1.0, bits=16) > 0.999

"""The basic mechanisms: what their distributions sum to, how far their ratios go, and what composes how."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpcore.accounting.relation import Relation
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import ERRPH
from dpcore.teaching.choices import (
    choice_loss,
    election,
    log_choice,
    posterior,
    response_loss,
    response_matrix,
    share_deviation,
    votes_from,
)
from dpcore.teaching.composition import (
    average_deviations,
    loss_epsilon,
    losses,
    possible_answers,
    repeated_answers,
    split_columns_epsilon,
    split_people_epsilon,
    split_tables,
    telltale_share,
    textbook_laplace,
)
from dpcore.teaching.counts import (
    MECHANISMS,
    Gaussian,
    Geometric,
    Laplace,
    draws,
    gaussian_delta,
    gaussian_sigma,
    make_count_noise,
    worlds,
)

EPSILONS = (0.1, 0.5, 1.0, 3.0)
VOTES = (30, 25, 8, 2)
NOISES = [make_count_noise(name, e, 0.01) for name in MECHANISMS for e in EPSILONS]
every_noise = pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.name} {noise.epsilon}")


def density(noise):
    return lambda x: float(np.exp(noise.log_density(np.array(x))))


# Noise on a count


@every_noise
def test_densities_integrate_to_one_and_to_their_variance(noise):
    far = 60 * noise.deviation
    if noise.whole:
        x = np.arange(-math.ceil(far), math.ceil(far) + 1.0)
        chance = np.exp(noise.log_density(x))
        total, variance = chance.sum(), (chance * x**2).sum()
        assert np.exp(noise.log_density(np.array([0.5, -1.25]))).tolist() == [0, 0]
    else:
        total = 2 * quad(density(noise), 0, far)[0]
        variance = 2 * quad(lambda x: x * x * density(noise)(x), 0, far)[0]
    assert total == pytest.approx(1, abs=1e-8)
    assert math.sqrt(variance) == pytest.approx(noise.deviation, rel=1e-6)


@every_noise
def test_quantiles_invert_the_distribution(noise):
    shares = np.array([1e-6, 0.01, 0.2, 0.49, 0.5, 0.77, 0.99, 1 - 1e-6])
    found = noise.quantile(shares)
    if noise.whole:
        x = np.arange(-400.0, 401.0)
        sums = np.cumsum(np.exp(noise.log_density(x)))
        assert found.tolist() == [x[np.searchsorted(sums, share - 1e-12)] for share in shares]
    else:
        below = [quad(density(noise), -80 * noise.deviation, 0)[0] + quad(density(noise), 0, q)[0] for q in found]
        assert below == pytest.approx(shares.tolist(), abs=1e-6)
    assert noise.within(0.95) == noise.quantile(np.array(0.975))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", [0, 7, 100])
def test_ratios_of_pure_mechanisms_reach_epsilon_and_never_pass_it(epsilon, count):
    for noise in (Laplace(epsilon), Geometric(epsilon)):
        frame = worlds(noise, count)
        ratio = frame["log_ratio"]
        assert ratio.abs().max() == pytest.approx(epsilon, rel=1e-9)
        assert noise.outside == noise.delta == 0
        ends = frame["answer"].ge(count + 1) | frame["answer"].le(count)
        expected = np.where(frame["answer"] > count + 0.5, epsilon, -epsilon)
        np.testing.assert_allclose(ratio[ends], expected[ends], rtol=1e-9)
        for world in ("with", "without"):
            np.testing.assert_allclose(frame[f"limit_{world}"], frame[world], rtol=1e-9)
    whole = worlds(Geometric(epsilon), count)
    assert (whole["answer"] == whole["answer"].round()).all()
    assert set(whole["log_ratio"].abs().round(9)) == {round(epsilon, 9)}


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.05), (1.0, 0.05), (1.0, 1e-3), (3.0, 0.01)])
def test_gaussian_delta_is_what_one_world_has_above_the_other(epsilon, delta):
    noise = Gaussian(epsilon, delta)
    s = noise.scale
    with_you, without = norm(1, s).pdf, norm(0, s).pdf
    start = epsilon * s * s + 0.5  # where the log ratio is epsilon
    above = quad(lambda x: with_you(x) - math.exp(epsilon) * without(x), start, start + 40 * s, epsabs=1e-14)[0]
    assert above == pytest.approx(delta, rel=1e-6)
    assert noise.outside == pytest.approx(norm(1, s).sf(start), rel=1e-9)
    assert noise.outside > delta
    frame = worlds(noise, 100, places=4001)
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
    assert gaussian_sigma(1, 1e-5) < math.sqrt(2 * math.log(1.25e5))  # the textbook's, which is larger than needed


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.5, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01, 0.3, 0.9])
def test_the_calibration_inverts_delta(epsilon, delta):
    sigma = gaussian_sigma(epsilon, delta)
    assert gaussian_delta(epsilon, sigma) <= delta
    assert gaussian_delta(epsilon, sigma * (1 - 1e-6)) > delta


def test_no_normal_noise_is_pure_and_no_epsilon_is_zero():
    for delta in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(ParameterError, match="delta above 0"):
            gaussian_sigma(1.0, delta)
    for epsilon in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ParameterError, match="above 0"):
            Laplace(epsilon)
    with pytest.raises(ParameterError, match="not known"):
        make_count_noise("uniform", 1.0)


@every_noise
def test_a_seed_fixes_lots_and_the_worlds_differ_by_one(noise):
    first, again, other = draws(noise, 100, 1), draws(noise, 100, 1), draws(noise, 100, 2)
    pd.testing.assert_frame_equal(first, again)
    assert (first["answer"] != other["answer"]).any()
    assert first["world"].value_counts().to_dict() == {"without": 20, "with": 20}
    many = draws(noise, 100, 3, 20_000).groupby("world")["answer"].agg(["mean", "std"])
    assert many["mean"].to_dict() == pytest.approx({"with": 101, "without": 100}, abs=5 * noise.deviation / 140)
    assert many["std"].to_numpy() == pytest.approx([noise.deviation] * 2, rel=0.05)


# Choosing


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(0.1, (0.4240, 0.3302, 0.1412, 0.1046)), (1.0, (0.9241, 0.0759, 1.54e-5, 7.7e-7)), (0.0, (0.25,) * 4)],
)
def test_the_election_of_paper_000(epsilon, expected):
    found = np.exp(log_choice(VOTES, epsilon))
    assert found.tolist() == pytest.approx(expected, rel=4e-3, abs=5e-9)
    assert found[:2].round(4).tolist() == [round(value, 4) for value in expected[:2]]
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_voter_stays_within_half_and_one_who_changes_within_all_of_epsilon(epsilon):
    assert choice_loss(VOTES, epsilon, "comes") <= epsilon / 2
    assert choice_loss(VOTES, epsilon, "changes") <= epsilon
    pairs = list(product(range(4), repeat=3))
    comes = max(choice_loss(votes, epsilon, "comes") for votes in pairs)
    changes = max(choice_loss(votes, epsilon, "changes") for votes in pairs)
    assert epsilon / 2 < changes <= epsilon
    assert comes < epsilon / 2
    # the bounds are attained by a candidate without any votes beside many others
    assert choice_loss((0, 1_000, 0), epsilon, "comes") == pytest.approx(epsilon / 2, rel=1e-3)


def test_the_worst_case_is_that_of_all_elections():
    for voter in ("comes", "changes"):
        worst = max(election(VOTES, 0.7, voter, place)["log_ratio"].abs().max() for place in range(4))
        assert worst <= choice_loss(VOTES, 0.7, voter) + 1e-12
    shown = election(VOTES, 0.7, "comes", 2)
    assert (shown["votes_other"] - shown["votes"]).tolist() == [0, 0, 1, 0]
    assert election(VOTES, 0.7, "changes", 0)["votes_other"].tolist() == [31, 24, 8, 2]
    ratio = np.log(shown["probability_other"] / shown["probability"])
    assert shown["log_ratio"].tolist() == pytest.approx(ratio.tolist())
    assert shown["candidate"].tolist() == ["A", "B", "C", "D"]
    with pytest.raises(ParameterError, match="Nobody voted"):
        election((5, 0), 1.0, "changes", 0)
    far = election((1_000_000, 0), 5.0, "comes", 1)
    assert far["log_ratio"].iloc[1] == pytest.approx(2.5)


@pytest.mark.parametrize(("text", "votes"), [("30, 25, 8, 2", VOTES), ("30 25;8,2", VOTES), ("0,0", (0, 0))])
def test_votes_are_read(text, votes):
    assert votes_from(text) == votes


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "2 to 8 candidates"),
        ("30", "2 to 8 candidates"),
        (", ".join("123456789"), "2 to 8 candidates"),
        ("30, many", "one of these is not"),
        ("30, 2.5", "one of these is not"),
        ("30, nan", "one of these is not"),
        ("30, -1", "from 0 to"),
        ("30, 99999999", "from 0 to"),
    ],
)
def test_bad_votes_are_told_and_not_repeated(text, cause):
    with pytest.raises(ParameterError, match=cause) as caught:
        votes_from(text)
    assert caught.value.remedy
    assert "many" not in str(caught.value)


@pytest.mark.parametrize("size", [2, 4, 10])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomized_response_has_its_epsilon_exactly(size, epsilon):
    frame = response_matrix(ERRPH(size, epsilon=epsilon))
    assert frame.groupby("truth")["probability"].sum().tolist() == pytest.approx([1] * size)
    truth = frame.loc[frame["truth"] == frame["reported"], "probability"]
    assert truth.tolist() == pytest.approx([math.exp(epsilon) / (math.exp(epsilon) + size - 1)] * size)
    assert response_loss(frame) == pytest.approx(epsilon)


def test_an_estimated_share_varies_as_it_says():
    channel, people, repeats = ERRPH(4, epsilon=1.0), 500, 2_000
    truth = np.repeat([0, 1], [150, 350])
    reports = channel.report(np.tile(truth, repeats), np.random.default_rng(3).random)
    support = channel.support(reports, np.repeat(np.arange(repeats), people), repeats)[:, 0]
    found = (support / people - channel.matrix[0, 1]) / (channel.matrix[0, 0] - channel.matrix[0, 1])
    assert found.mean() == pytest.approx(0.3, abs=0.01)
    assert found.std() == pytest.approx(share_deviation(channel, 0.3, people), rel=0.08)  # 5 standard errors


def test_beliefs_move_by_the_factor_in_odds():
    assert posterior(0.5, 1.0) == pytest.approx(math.e / (1 + math.e))
    assert posterior(0.2, math.log(3)) == pytest.approx(3 / 7)  # odds 1:4 become 3:4
    assert posterior(0.2, -math.log(3)) == pytest.approx(1 / 13)  # and 1:12
    priors = np.linspace(0, 1, 11)
    for epsilon in (*EPSILONS, 0.0, 800.0, -800.0):
        after = posterior(priors, epsilon)
        assert after[[0, -1]].tolist() == [0, 1]
        np.testing.assert_allclose(1 - after, posterior(1 - priors, -epsilon), atol=1e-12)


# Composition


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("parts", [2, 3, 4])
def test_your_row_is_in_one_group_of_people_and_in_all_of_columns(relation, parts):
    tables = split_tables(parts, relation)
    for table in tables.values():
        assert len(table) == 8 * 4
        assert table["part"].nunique() == parts
    people, columns = tables["people"], tables["columns"]
    own = people.loc[people["person"] == "You", "part"].unique()
    touched = set(people.loc[people["yours"], "part"])
    assert len(own) == 1
    assert set(own) <= touched
    assert len(touched) == (1 if relation is Relation.ADD_REMOVE else 2)
    assert columns["yours"].all()


def test_averages_of_answers_by_simulation():
    epsilon, k, repeats = 0.5, 16, 4_000  # a false alarm: less than one in 10^6
    errors = average_deviations(epsilon, k).set_index("answers").loc[k]
    assert errors["each"] == pytest.approx(math.sqrt(2 / (k * epsilon**2)))
    assert errors["shared"] == pytest.approx(math.sqrt(2 * k / epsilon**2))
    assert errors["shared"] == pytest.approx(math.sqrt(k) * errors["once"])
    rng = np.random.default_rng(5)
    each = rng.laplace(0, 1 / epsilon, (repeats, k)).mean(axis=1).std()
    shared = rng.laplace(0, k / epsilon, (repeats, k)).mean(axis=1).std()
    assert each == pytest.approx(errors["each"], rel=0.06)
    assert shared == pytest.approx(errors["shared"], rel=0.06)
    many = rng.laplace(0, 200 / epsilon, (4_000, 200))  # the remark about medians: variance k / epsilon^2
    assert np.median(many, axis=1).var() == pytest.approx(200 / epsilon**2, rel=0.2)


def test_repeated_answers_keep_what_was_given():
    few, many = repeated_answers(100, 0.5, 5, 1), repeated_answers(100, 0.5, 50, 1)
    pd.testing.assert_frame_equal(few, many.head(5))
    assert many["average"].iloc[-1] == pytest.approx(many["answer"].mean())
    assert many["epsilon_total"].tolist() == pytest.approx([0.5 * k for k in range(1, 51)])
    assert (many["average"] - 100).abs().iloc[-1] < 4 * many["deviation"].iloc[-1]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_sums_of_losses_by_brute_force(epsilon, k):
    """All tuples of answers: the sum of log ratios, and delta as what one world has above the other."""
    noise, x = Geometric(epsilon), np.arange(-400.0, 402.0)
    inside = np.exp(noise.log_density(x - 1))
    up = inside[x >= 1].sum()
    assert up == pytest.approx(1 / (1 + math.exp(-epsilon)), abs=1e-9)
    frame = losses(epsilon, k)
    assert frame["probability"].sum() == pytest.approx(1)
    assert frame["loss"].max() == pytest.approx(k * epsilon)
    chance = 1 / (1 + math.exp(-epsilon))
    for signs in product((-1, 1), repeat=k):
        assert np.isclose(frame["loss"], epsilon * sum(signs)).any()
    for delta in (1e-6, 0.01, 0.2):
        found = loss_epsilon(epsilon, k, delta)

        def above(e):
            total = 0.0
            for signs in product((-1, 1), repeat=k):
                with_you = math.prod(chance if sign > 0 else 1 - chance for sign in signs)
                without = math.prod(1 - chance if sign > 0 else chance for sign in signs)
                total += max(with_you - math.exp(e) * without, 0.0)
            return total

        assert 0 <= found <= k * epsilon
        assert above(found) <= delta * (1 + 1e-9)
        assert found == 0 or above(found - 1e-6) > delta
    assert loss_epsilon(epsilon, k, 0.0) == k * epsilon


def test_many_small_losses_are_less_than_their_sum_but_for_delta():
    assert loss_epsilon(0.1, 100, 1e-6) < 5 < 0.1 * 100
    totals = [loss_epsilon(0.1, k, 1e-6) for k in range(1, 101)]
    assert np.all(np.diff(totals) >= -1e-12)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_parallel_composition_by_brute_force(groups):
    """Every row of two bits, in every table of up to 3 rows: how far counts of groups and of columns move in all."""
    people = {Relation.ADD_REMOVE: 0, Relation.REPLACE: 0}
    for row in range(groups):
        people[Relation.ADD_REMOVE] = max(people[Relation.ADD_REMOVE], int(np.bincount([row], minlength=groups).sum()))
        for other in range(groups):
            moved = np.abs(np.bincount([row], minlength=groups) - np.bincount([other], minlength=groups)).sum()
            people[Relation.REPLACE] = max(people[Relation.REPLACE], int(moved))
    for relation in (Relation.ADD_REMOVE, Relation.REPLACE):
        worst = people[relation] if groups > 1 or relation is Relation.ADD_REMOVE else 1
        assert split_people_epsilon(0.5, groups, relation) == Fraction(1, 2) * worst
    cells = list(product((0, 1), repeat=groups))
    columns = max(sum(abs(a - b) for a, b in zip(one, two, strict=True)) for one, two in product(cells, repeat=2))
    assert split_columns_epsilon(0.5, groups) == Fraction(1, 2) * columns
    with pytest.raises(ParameterError, match="no part"):
        split_columns_epsilon(0.5, 0)


# Floating point


@pytest.mark.parametrize("count", [0, 3, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.log(2)])
def test_telltale_answers_by_trying_every_number(count, epsilon):
    """The search near one number finds what a search among all of them finds."""
    bits, scale = 12, 1 / epsilon
    lots = np.arange(1, 2**bits)
    first = count + textbook_laplace(lots, bits, scale)
    second = count + 1 + textbook_laplace(lots, bits, scale)
    drawn = np.random.default_rng(3).integers(1, 2**bits - 1, 3_000, endpoint=True)
    brute = 1 - np.isin(first[drawn - 1], second).mean()
    assert telltale_share(count, epsilon, bits=bits, draws=3_000, seed=3) == pytest.approx(brute, abs=1e-12)
    frame = possible_answers(count, epsilon, bits, -math.inf, math.inf)
    own = frame[frame["world"] == "without"]
    assert set(own["answer"]) == set(first)
    assert own["both"].mean() == pytest.approx(np.isin(np.unique(first), second).mean())


def test_numpys_laplace_is_the_textbooks():
    """The dashboard's teaching noise comes from uniform numbers of 53 bits, and is the same up to the last bits."""
    for seed in range(200):
        lot = np.random.default_rng(seed).random()
        drawn = np.random.default_rng(seed).laplace(0.0, 2.0)
        assert textbook_laplace(np.array([int(lot * 2**53)]), 53, 2.0)[0] == pytest.approx(drawn, rel=1e-11)


def test_full_numbers_give_small_counts_away():
    shares = [telltale_share(count, 1.0) for count in (0, 1, 10, 100, 1_000, 100_000)]
    assert shares == pytest.approx([0.80, 0.60, 0.105, 0.0135, 0.0015, 0.0], abs=0.015)
    assert shares == sorted(shares, reverse=True)
    assert telltale_share(10, 1.0, bits=16) > 0.999
    few = possible_answers(10, 1.0, 10, 10.4, 10.6)
    assert few["answer"].between(10.4, 10.6).all()
    assert not few["both"].any()
    with pytest.raises(ParameterError, match="2 to 20 bits"):
        possible_answers(10, 1.0, 53, 0, 1)

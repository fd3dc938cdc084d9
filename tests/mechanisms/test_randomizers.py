"""Randomizers against their formulas, exactly: by enumeration of reports, lots, moments, and small samples."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from uniform_draws import evenly, in_turn

from dpcore.errors import ParameterError
from dpcore.mechanisms import randomizers
from dpcore.mechanisms.randomizers import ERRPH, OLH, OUE, RRPH, TRR, AdditiveNoise, Warner, best_channel

PI = np.array([0.4, 0.3, 0.2, 0.1])


def largest_loss(matrix):
    """max over reports and pairs of values of |ln P(y | x) / P(y | x')|, with 0/0 = 1."""
    high, low = matrix.max(axis=1), matrix.min(axis=1)
    if ((low == 0) & (high > 0)).any():
        return math.inf
    seen = high > 0
    return float(np.log(high[seen] / low[seen]).max())


def measured(channel, parts):
    """P(report j | true i) as the share of evenly spread lots that end in j."""
    found = np.empty((channel.size, channel.size))
    for true in range(channel.size):
        reports = channel.report(np.full(parts, true, dtype=np.uint8), in_turn(evenly(parts)))
        found[:, true] = np.bincount(reports, minlength=channel.size) / parts
    return found


def test_four_values_as_worked_by_hand():
    channel = ERRPH(4, p0=0.5)
    np.testing.assert_allclose(channel.matrix @ PI, [0.325, 0.275, 0.225, 0.175], rtol=1e-15)
    np.testing.assert_allclose(channel.variance(PI, 2_000), [4.3875e-4, 3.9875e-4, 3.4875e-4, 2.8875e-4], rtol=1e-12)
    np.testing.assert_allclose(channel.estimate(2_000 * np.array([0.325, 0.275, 0.225, 0.175]), 2_000), 2_000 * PI)
    for p0, k, epsilon in ((0.5, 2, 1.099), (0.5, 4, 1.609), (0.35, 2, 0.731), (0.35, 4, 1.149)):  # as published
        assert ERRPH(k, p0=p0).epsilon == pytest.approx(epsilon, abs=5e-4)
        assert ERRPH(k, p0=p0).epsilon == pytest.approx(math.log(1 + k * p0 / (1 - p0)), rel=1e-14)


def test_the_papers_variance_with_and_without_the_sampling_of_people():
    n, p0 = 300, 0.35
    for k in (7, 2):
        pi = np.linspace(0.5, 1.5, k) / k
        reported = (1 - p0) * (k - 1 + p0 + k * (k - 2) * p0 * pi) / (n * p0**2 * k**2)
        np.testing.assert_allclose(ERRPH(k, p0=p0).variance(pi, n), reported + pi * (1 - pi) / n)
    np.testing.assert_allclose(reported, (1 - p0**2) / (4 * n * p0**2))


def test_unbiased_with_that_variance_by_enumeration():
    """All 3^4 tables of reports of four people with the values 0, 0, 1, 2; the people themselves are fixed."""
    channel, truth = ERRPH(3, p0=0.4, others=(0.3, 0.2, 0.1)), (0, 0, 1, 2)
    mean, square = np.zeros(3), np.zeros(3)
    for reports in product(range(3), repeat=4):
        chance = math.prod(channel.matrix[y, x] for y, x in zip(reports, truth, strict=True))
        answered = channel.support(np.array(reports), np.zeros(4, dtype=int), 1)[0]
        found = channel.estimate(answered, 4)
        mean, square = mean + chance * found, square + chance * found**2
    np.testing.assert_allclose(mean, [2, 1, 1], rtol=1e-12)
    each = channel.matrix * (1 - channel.matrix)
    np.testing.assert_allclose(square - mean**2, each[:, list(truth)].sum(axis=1) / channel.p0**2, rtol=1e-10)


def test_rrph_is_warners_rule_with_another_name():
    assert RRPH(p0=0.5).matrix.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    for ours, warner in ((RRPH(p0=0.2), Warner(p=0.6)), (RRPH(epsilon=3), Warner(epsilon=3))):
        np.testing.assert_allclose(ours.matrix, warner.matrix, rtol=1e-12)
        assert ours.epsilon == pytest.approx(warner.epsilon, rel=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(0.001, 1))
def test_local_epsilon_is_the_largest_loss(weights, own):
    total = math.fsum(weights) + own
    channel = ERRPH(len(weights), p0=own / total, others=[weight / total for weight in weights])
    np.testing.assert_allclose(channel.matrix.sum(axis=0), 1, rtol=1e-12)
    if len(weights) > 1 and 0 < channel.base.min() < 2**-53:
        assert channel.epsilon == math.inf  # no lot is that small
    else:
        assert channel.epsilon == pytest.approx(largest_loss(channel.matrix), rel=1e-9)


def test_local_epsilons_at_the_ends():
    assert ERRPH(3, p0=0.4, others=(0.3, 0.1, 0.2)).epsilon == pytest.approx(math.log(5))
    assert ERRPH(3, p0=0.4, others=(0.3, 0.3, 0)).epsilon == math.inf
    assert ERRPH(3, p0=1).epsilon == ERRPH(3, p0=1, others=(0, 0, 0)).epsilon == math.inf
    assert ERRPH(3, p0=0).epsilon == ERRPH(1, p0=1).epsilon == ERRPH(1, p0=0.5).epsilon == 0
    assert Warner(p=0.5).epsilon == 0
    assert Warner(p=0).epsilon == Warner(p=1).epsilon == math.inf
    assert Warner(p=0.2).epsilon == pytest.approx(math.log(4))
    assert largest_loss(Warner(p=0.2).matrix) == pytest.approx(math.log(4))


def test_an_epsilon_is_exactly_the_largest_loss():
    for k, epsilon in product((1, 2, 3, 1_000), (0, 1e-6, 0.1, 5, Fraction(1, 3))):
        for channel in [ERRPH(k, epsilon=epsilon), *([Warner(epsilon=epsilon)] if k == 2 else [])]:
            assert channel.epsilon == epsilon
            assert isinstance(channel.epsilon, Fraction)
            np.testing.assert_allclose(channel.matrix.sum(axis=0), 1, rtol=1e-12)
            loss, rounded = largest_loss(channel.matrix), k * k / 2**52  # lies are rounded up to whole lots
            assert loss == pytest.approx(float(epsilon) if k > 1 else 0, rel=1e-12, abs=rounded)
            assert loss <= epsilon + 1e-14
            grown = math.expm1(epsilon)
            assert k == 1 or channel.gain == pytest.approx(grown / (grown + k), rel=1e-12, abs=rounded)


def test_no_finite_epsilon_tells_the_truth_always():
    """The last of all 2^53 lots still lies, and each lie has whole lots of its own: the loss is never above epsilon."""
    for k, epsilon in product((2, 5), (20, 36, 40, 100, 1e9)):
        channels = [ERRPH(k, epsilon=epsilon), OLH(k, epsilon=epsilon).inner]
        channels += [Warner(epsilon=epsilon)] if k == 2 else []
        for channel in channels:
            rng = channel.base * 2**53
            np.testing.assert_array_equal(rng, np.round(rng))
            assert rng.min() >= 1
            assert channel.gain * 2**53 == 2**53 - rng.sum()  # nothing was rounded
            assert math.log(channel.gain * 2**53 + rng.max()) - math.log(rng.min()) <= epsilon
            edge = 1 - (np.arange(channel.size) * rng[0] + 1) / 2**53
            for true in (0, channel.size - 1):
                text = channel.report(np.full(channel.size, true), in_turn(edge))
                assert (text != true).any()
        unary = OUE(k, epsilon=epsilon)
        assert unary.q * 2**53 == round(unary.q * 2**53) >= 1
        assert unary.report(np.zeros(1, dtype=int), in_turn(np.zeros(k))).all()  # a bit that no truth sets
    assert ERRPH(3, epsilon=math.inf).p0 == Warner(epsilon=math.inf).p == 1
    assert OUE(3, epsilon=math.inf).q == 0
    # Probabilities too small for any lot have no finite epsilon.
    assert ERRPH(2, p0=1 - 2**-53).epsilon == math.inf
    assert ERRPH(2, p0=1 - 2**-40).epsilon == pytest.approx(math.log(2**41 - 1))


def test_a_sum_below_1_by_rounding_is_shared_by_all_values():
    """The sampler gives the last value what is left: it must be what its epsilon was computed from."""
    channel = ERRPH(2, p0=0.5, others=(0.5, 1e-10))
    assert channel.base.sum() == 0.5
    assert channel.report(np.zeros(1, dtype=int), in_turn(np.array([1 - 2**-53])))[0] == 1
    assert channel.epsilon == pytest.approx(math.log1p(0.5e10), abs=1e-6)


def test_the_share_of_uniform_numbers_per_report_is_its_probability():
    uneven = [ERRPH(3, p0=0.25, others=(0.5, 0, 0.25)), ERRPH(3, p0=0, others=(0.125, 0.5, 0.375))]
    even = [ERRPH(4, p0=0.5), ERRPH(2, p0=1), ERRPH(1, p0=0.5), RRPH(p0=0.25)]
    for channel in (*uneven, *even, *(Warner(p=p) for p in (0, 0.125, 0.75, 1))):
        np.testing.assert_array_equal(measured(channel, 64), channel.matrix)


def test_reports_keep_the_dtype_and_use_one_uniform_number_per_person():
    codes, rng, channel = np.array([0, 1, 2, 2], dtype=np.uint8), np.array([0.3, 0.5, 0.99, 0.7]), ERRPH(3, p0=0.4)
    reports = channel.report(codes, in_turn(rng))  # lies from .4, .6 and .8 on
    assert (reports.dtype, reports.tolist()) == (np.uint8, [0, 0, 2, 1])
    assert [channel.report(codes[[i]], in_turn(rng[[i]]))[0] for i in range(4)] == reports.tolist()
    assert channel.texts(reports, ["a", "b", "c"]) == ["a", "a", "c", "b"]


def test_estimates_from_reports_without_information_are_even():
    for channel in (ERRPH(4, epsilon=0), ERRPH(4, p0=0), OUE(4, epsilon=0), OLH(4, epsilon=0), OUE(4, epsilon=1e-300)):
        assert channel.gain == 0
        np.testing.assert_array_equal(channel.estimate(np.array([[9.0, 1, 0, 0]]), np.array([10.0])), [[2.5] * 4])
        assert np.isinf(channel.variance(PI, 10)).all()
    assert np.isinf(ERRPH(4, p0=0.5).variance(PI, 0)).all()
    assert Warner(p=0.5).estimate(np.array([3, 1]), 4).tolist() == [2, 2]


def unary_chances(channel):
    """P(bits | true value) for every row of bits, shape (2^k, k)."""
    every = np.array(list(product([0, 1], repeat=channel.size)), dtype=bool)
    set_at = np.where(np.eye(channel.size, dtype=bool), 0.5, channel.q)  # [true, bit]
    return every, np.array([np.where(bits, set_at, 1 - set_at).prod(axis=1) for bits in every])


def test_unary_encoding_by_enumeration():
    for k, epsilon in ((2, 0.1), (3, 1), (5, 3)):
        channel = OUE(k, epsilon=epsilon)
        every, chances = unary_chances(channel)
        np.testing.assert_allclose(chances.sum(axis=0), 1)
        assert largest_loss(chances) == pytest.approx(epsilon, rel=1e-9)
        people = np.zeros(1, dtype=int)
        found = np.array([channel.estimate(channel.support(bits[None], people, 1)[0], 1) for bits in every])
        np.testing.assert_allclose(chances.T @ found, np.eye(k), atol=1e-9)
        pi = np.arange(1, k + 1) / (k * (k + 1) / 2)  # a person drawn from pi: the variance of n = 1
        mean, square = (chances @ pi) @ found, (chances @ pi) @ found**2
        np.testing.assert_allclose(square - mean**2, channel.variance(pi, 1), rtol=1e-9)


def test_unary_bits_are_set_as_often_as_they_should():
    """Lots 0, 1/8, ... 7/8 for each bit in turn, at q = 1/4 and a true bit's 1/2."""
    channel = OUE(2, epsilon=math.log(3))
    assert channel.q == pytest.approx(0.25, rel=1e-15)
    grid = evenly(8)
    for bit, true in product(range(2), repeat=2):
        rng = np.full((8, 2), 0.9)
        rng[:, bit] = grid
        bits = channel.report(np.full(8, true), in_turn(rng.ravel()))
        assert bits[:, bit].sum() == (4 if bit == true else 2)
        assert not bits[:, 1 - bit].any()
    assert channel.texts(np.array([[True, False], [False, False]]), ["a", "b"]) == ["1", "none"]


def test_unary_reports_in_pieces_are_the_same_reports(monkeypatch):
    channel, codes, rng = OUE(3, epsilon=1), np.arange(10) % 3, np.random.default_rng(0).random(30)
    at_once = channel.report(codes, in_turn(rng))
    monkeypatch.setattr(randomizers, "BLOCK_SIZE", 12)
    np.testing.assert_array_equal(channel.report(codes, in_turn(rng[:12], rng[12:24], rng[24:])), at_once)
    group = np.array([0, 0, 1, 1, 1, 0, 2, 2, 0, 1])
    expected = [at_once[group == g].sum(axis=0) for g in range(4)]
    np.testing.assert_array_equal(channel.support(at_once, group, 4), expected)


def test_local_hashing_by_enumeration(monkeypatch):
    """With the prime 31, all its hash functions; two values collide with probability 1/g, up to g/31."""
    monkeypatch.setattr(randomizers, "PRIME", prime := 31)
    k, epsilon = 4, math.log(2)
    channel, values = OLH(k, epsilon=epsilon), np.arange(k)
    assert channel.places == round(math.exp(epsilon)) + 1 == 3
    pairs = np.array(list(product(range(1, prime), range(prime))))
    hashes = (pairs[:, :1] * values + pairs[:, 1:]) % prime % 3
    chances = (channel.inner.matrix[:, hashes] / len(pairs)).reshape(-1, k)  # said and function, true value
    np.testing.assert_allclose(chances.sum(axis=0), 1)
    assert largest_loss(chances) == pytest.approx(epsilon, rel=1e-9)
    reports = np.column_stack([np.tile(pairs, (3, 1)), np.repeat(np.arange(3), len(pairs))])
    supports = np.stack([channel.support(report[None], np.zeros(1, dtype=int), 1)[0] for report in reports])
    np.testing.assert_allclose(np.diag(chances.T @ supports), channel.gain + channel.base, rtol=1e-12)
    found = chances.T @ channel.estimate(supports, np.ones(len(supports)))
    np.testing.assert_allclose(found, np.eye(k), atol=3 / prime)


def test_local_hashing_reports_what_the_inner_channel_says(monkeypatch):
    monkeypatch.setattr(randomizers, "PRIME", 7)
    channel = OLH(4, epsilon=math.log(2))  # 3 places, p0 = 1/4
    codes = np.array([3, 3], dtype=np.uint8)
    rng = in_turn(np.array([0.4, 0.4]), np.array([0.5, 0.5]), np.array([0.1, 0.99]))  # a = 3, b = 3
    assert channel.report(codes, rng).tolist() == [[3, 3, (3 * 3 + 3) % 7 % 3], [3, 3, 2]]
    assert channel.texts(np.array([[3, 3, 2]]), list("abcd")) == ["3·v+3 → 2"]
    assert OLH(4, epsilon=1e9).places == randomizers.MOST_BUCKETS


def test_the_best_channel_has_the_lower_variance_of_rare_values():
    for k, epsilon in product((2, 7, 8, 300), (0.05, math.log(2), 3.5)):
        found = best_channel(k, epsilon)
        assert (found.epsilon, found.size) == (epsilon, k)
        other = (OUE if isinstance(found, ERRPH) else ERRPH)(k, epsilon=epsilon)
        assert found.variance(np.zeros(1), 100)[0] <= other.variance(np.zeros(1), 100)[0] * (1 + 1e-6)
    assert [type(best_channel(k, math.log(2))) for k in (7, 8)] == [ERRPH, OUE]  # 3 e^epsilon + 2 = 8
    assert isinstance(best_channel(10_000, 1e9), ERRPH)
    assert isinstance(best_channel(1, 0), ERRPH)


def test_bad_parameters_are_refused():
    wrong = [(channel, (size,), {"epsilon": e}) for channel in (ERRPH, OUE, OLH) for size, e in ((0, 1), (2, math.nan))]
    wrong += [(ERRPH, (2,), {"p0": p0}) for p0 in (None, 1.1, -0.1, math.nan, "0.5")]
    wrong += [(ERRPH, (2,), {"p0": 0.5, "others": others}) for others in ((0.6, -0.1), (0.3, 0.3), (0.5,))]
    wrong += [(ERRPH, (2,), how) for how in ({"p0": 0.5, "epsilon": 1}, {"others": (0.5, 0.5)})]
    wrong += [(Warner, (), how) for how in ({"p": 0.5, "epsilon": 1}, {}, {"p": 2})]
    wrong += [(TRR, (), {"epsilon": 1, **how}) for how in ({}, {"lower": 1, "upper": 1}, {"factors": [1.0]})]
    sets = ([], [1.0]), ([1.0], [math.nan]), ([-1.0, 1.0], [0.0])
    wrong += [(TRR, (), {"factors": factors, "offsets": offsets}) for factors, offsets in sets]
    wrong += [(AdditiveNoise, how, {"lower": 0, "upper": 1}) for how in (("cauchy", 1), ("normal", -1.0))]
    for channel, how, more in wrong:
        with pytest.raises(ParameterError):
            channel(*how, **more)


def test_moments_by_enumeration():
    """Everything at once: three numbers drawn from {0, 1, 5}, each with its a and b."""
    numbers, n = (0.0, 1.0, 5.0), 3
    for factors, offsets in (((1.0, 3.0), (-1.0, 1.0)), ((-1.0, 2.0, 5.0), (0.5,)), ((2.0,), (3.0, 4.0))):
        channel = TRR(factors=np.array(factors), offsets=np.array(offsets))
        reports = np.array([a * x + b for x in numbers for a in factors for b in offsets])
        samples = np.array(list(product(reports, repeat=n)))
        means = [channel.mean(y) for y in samples]
        fair, published = ([channel.variance(y, as_published=how) for y in samples] for how in (False, True))
        a, var_a, _, _ = channel.moments
        assert np.mean(means) == pytest.approx(np.mean(numbers))
        assert np.var(means) == pytest.approx(np.var(reports) / (n * a**2))
        assert np.mean([channel.mean_variance(y) for y in samples]) == pytest.approx(np.var(means))
        assert np.mean(fair) == pytest.approx(np.var(numbers))
        bias = -var_a * np.var(reports) / (n * a**2 * (var_a + a**2))
        assert np.mean(published) - np.var(numbers) == pytest.approx(bias)
        assert np.std(published) == pytest.approx(channel.variance_error(reports, n))


def test_the_printed_formula_has_the_published_expectation():
    """30 numbers of N(5, 4). The formula is linear in what a sample says: its variance, and its mean's square."""
    even = np.tile([-1.0, 1.0], 15) * math.sqrt(29 / 30)  # of mean 0 and variance 1
    for var_a, a, var_b, published in ((1, 1, 1, 3.433), (10, 2, 5, 2.149)):
        step, wide, spread = math.sqrt(var_a), math.sqrt(var_b), (var_a + a**2) * 4 + var_a * 25 + var_b
        channel = TRR(factors=np.array([a - step, a + step]), offsets=np.array([-wide, wide]))
        reports = even * math.sqrt(spread) + math.sqrt((5 * a) ** 2 + spread / 30)
        assert channel.variance(reports, as_published=True) == pytest.approx(published, abs=5e-4)
        assert channel.variance(reports) == pytest.approx(4)


def test_trr_reports_use_every_member_of_both_sets_equally():
    channel = TRR(factors=np.array([1.0, 2.0, 3.0, 4.0]), offsets=np.array([0.0, 10.0]), lower=0, upper=5)
    grid = evenly(8)
    a, b = np.repeat(grid, 8), np.tile(grid, 8)
    said = channel.report(np.full(64, 1.0), in_turn(a, b), None)
    assert sorted(said.tolist()) == sorted([a + b for a in (1, 2, 3, 4) for b in (0, 10)] * 8)
    moved = channel.report(np.array([-9.0, 99.0]), in_turn(np.zeros(2), np.zeros(2)), None)
    assert moved.tolist() == [0, 5]


def test_laplace_reports_are_moved_into_bounds_first_and_have_their_scale():
    channel = TRR(lower=-2, upper=6, epsilon=0.5)
    wanted = []

    def laplace(values, scale, *, grid, origin):
        wanted.append((values.tolist(), scale, grid, origin))
        return values + 1

    assert channel.report(np.array([-9.0, 0, 99]), None, laplace).tolist() == [-1, 1, 7]
    assert wanted == [([-2, 0, 6], 16, 8 * 2.0**-20, -2)]
    assert (channel.scale, channel.mechanism, channel.epsilon) == (16, "laplace", 0.5)
    assert channel.moments == (1, 0, 0, 512)
    y = np.array([1.0, 5.0])
    assert channel.variance(y) == channel.variance(y, as_published=True) == 8 - 512
    assert channel.mean(y) == 3


@pytest.mark.parametrize("epsilon", [0, 1e-300, Fraction(1, 10**400)])
def test_reports_of_numbers_at_epsilon_0_are_zeros(epsilon):
    channel = TRR(lower=0, upper=1, epsilon=epsilon)
    assert channel.scale == math.inf
    assert channel.report(np.array([1.0, 0.3]), None, None).tolist() == [0, 0]


def test_sets_are_drawn_with_a_mean_and_a_variance():
    drawn = TRR.from_normal((2, 10), (0, 5), np.random.default_rng(0), size=100_000)
    np.testing.assert_allclose(drawn.moments, (2, 10, 0, 5), atol=0.15)  # 6 standard errors or more, seeded
    assert len(TRR.from_normal((1, 1), (0, 1), np.random.default_rng(0)).sets[0]) == 1_000


def test_uniform_and_normal_noise_by_its_uniform_numbers():
    grid = evenly(20_000)
    for kind, distribution in (("uniform", None), ("normal", norm(10, 2))):
        channel = AdditiveNoise(kind, 2.0, lower=0.0, upper=10.0)
        reports = channel.report(np.full(20_000, 12.0), in_turn(grid), None)  # moved to the bound
        for share in (0.025, 0.5, 0.975):
            expected = distribution.ppf(share) if distribution else 8 + 4 * share
            assert np.quantile(reports, share) == pytest.approx(expected, abs=2e-3)
        assert channel.moments == (1, 0, 0, pytest.approx(reports.var(), rel=1e-3))
        assert channel.epsilon == math.inf
        assert np.isfinite(channel.report(np.zeros(2), in_turn(np.array([0.0, 1 - 2**-53])), None)).all()

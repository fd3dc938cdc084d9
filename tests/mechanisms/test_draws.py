"""Exact draws: every decision against exact arithmetic, and distributions against the formulas.

All draws are from the operating system. Statistical tests alarm falsely once in a million runs each.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import floor

import numpy as np
import pytest
from scipy import stats

from dpcore.mechanisms.noise import draws, make_noise, opendp_noise
from dpcore.mechanisms.noise.draws import (
    Choice,
    Weights,
    gaussian,
    geometric,
    keep_gaussian,
    laplace,
    one_geometric,
    uniform,
)
from dpcore.mechanisms.noise.opendp_noise import SPARE
from tests.laws import agreement

RARE = 1e-6


def tape(monkeypatch, *drawn, more=()):
    """Let `words` give these words one call after the other, and refinements these bits."""
    calls, bits = iter(drawn), iter(more)
    monkeypatch.setattr(draws, "words", lambda _: np.array(next(calls), dtype=np.uint64))
    monkeypatch.setattr(draws.secrets, "randbits", lambda _: next(bits))


def floor_by_decimals(scale, drawn, width=64):
    """floor(-scale ln U) for both ends of what the bits of U leave open, to 100 digits."""
    with localcontext() as context:
        context.prec = 100
        ends = [Decimal(bits) / Decimal(2) ** width for bits in (drawn, drawn + 1)]
        return [floor(-Decimal(scale) * end.ln()) for end in ends if end]


def test_geometric_variables_are_what_exact_arithmetic_makes_of_their_words(monkeypatch):
    """Random words, and words next to where the answer jumps."""
    rng = np.random.default_rng(3)
    for scale in (1e-3, 0.5, 1.0, 14.0, 12345.678, 2.0**36):
        jumps = [min(int(2**64 * np.exp(-k / scale)), 2**64 - 1) for k in range(1, 15)]
        near = [min(max(jump + step, 0), 2**64 - 1) for jump in jumps for step in (-2048, -1, 0, 1, 2048)]
        drawn = np.array([*rng.integers(0, 2**64, 80, dtype=np.uint64).tolist(), *near, 2**64 - 1], dtype=np.uint64)
        tape(monkeypatch, drawn, more=iter(lambda: 2**63, None))
        found = geometric(np.full(len(drawn), scale))
        for word, answer in zip(drawn.tolist(), found.tolist(), strict=True):
            ends = floor_by_decimals(scale, word)
            if len(ends) == 2 and ends[0] == ends[1]:
                assert answer == ends[0]
            else:  # the first 64 bits leave it open: 64 more decide
                assert answer in floor_by_decimals(scale, (word << 64) + 2**63, 128)


def test_bits_are_drawn_until_they_decide(monkeypatch):
    """U = 2^-64 times something of (0, 1): the first word is 0, and so is the second."""
    tape(monkeypatch, more=[0, 1 << 63, 5])
    assert one_geometric(1.0, 0) == floor_by_decimals(1.0, 1 << 63, 192)[0]
    tape(monkeypatch)
    with pytest.raises(StopIteration):
        one_geometric(1.0, 0)


def test_no_word_is_sure_that_is_not(monkeypatch):
    """With an error bound of zero some words would be decided wrongly; that the bound is there can be seen."""
    asked = []
    monkeypatch.setattr(draws, "one_geometric", lambda _, drawn: asked.append(drawn) or -1)
    edge = int(2**64 * np.exp(-1.0))
    tape(monkeypatch, [edge])
    assert geometric(np.ones(1)).tolist() == [-1]
    assert asked == [edge]


def test_every_draw_has_a_scale_of_its_own():
    scales = np.repeat([0.01, 1e6, 0.0], 30_000)
    quiet, loud, none = np.split(laplace(scales), 3)
    assert not quiet.any()
    assert not none.any()
    assert loud.std() == pytest.approx(np.sqrt(2) * 1e6, rel=0.05)


def test_whole_numbers_below_bounds(monkeypatch):
    bounds = np.repeat([1, 2, 3, 5, 2**40 + 1], 20_000)
    one, two, three, five, many = np.split(uniform(bounds), 5)
    assert not one.any()
    for size, drawn in ((2, two), (3, three), (5, five)):
        assert stats.chisquare(np.bincount(drawn, minlength=size)).pvalue > RARE
    assert stats.kstest(many / 2**40, "uniform").pvalue > RARE
    tape(monkeypatch, [7, 6, 8], [3], [1])  # of three values: 7 & 3 is none and drawn anew, twice
    assert uniform(np.array([3, 3, 3])).tolist() == [1, 2, 0]


def test_laplace_noise_is_kept_exactly_as_often_as_a_gaussian_asks(monkeypatch):
    """Words next to the chance to be kept, above and below: the decision is that of exact rational arithmetic."""
    for sigma, offered in product((1e-3, 0.3, 1.0, 3.7, 1e5, 2.0**36 - 1), (0, 1, -2, 7, 40, 10**6)):
        t = Fraction(floor(sigma) + 1)
        behind = abs(offered) - Fraction(sigma) ** 2 / t
        exponent = -(behind**2) / (2 * Fraction(sigma) ** 2)
        if exponent < -10_000:
            chance = Fraction(0)
        else:
            with localcontext() as context:
                context.prec = 80
                chance = Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())
        for step, more in product((-(2**30), -(2**12), -1, 0, 1, 2**12, 2**30), (0, 2**64 - 1)):
            word = min(max(floor(chance * 2**64) + step, 0), 2**64 - 1)
            bits = [word, more, *[1] * 9]
            tape(monkeypatch, bits[:1], more=bits[1:])
            (kept,) = keep_gaussian(np.array([offered]), np.array([sigma]))
            lot = sum(Fraction(part, 2 ** (64 * place)) for place, part in enumerate(bits, start=1))
            assert kept == (lot < chance), (sigma, offered, step)


def test_no_word_near_a_gaussians_chance_is_sure(monkeypatch):
    """Within what logarithms and rounding may be out, exact arithmetic is asked, whatever floats say."""
    asked = []
    monkeypatch.setattr(draws, "is_below", lambda *given: asked.append(given) or True)
    for place, (sigma, offered, off) in enumerate(product((0.8, 3.7, 1e6), (0, 3), (-(2.0**-42), 2.0**-42))):
        chance = np.exp(-((abs(offered) - sigma**2 / (floor(sigma) + 1)) ** 2) / (2 * sigma**2))
        tape(monkeypatch, [int(min(chance * (1 + off), 1 - 2.0**-50) * 2**64)])
        assert keep_gaussian(np.array([offered]), np.array([sigma])).tolist() == [True]
        assert len(asked) == place + 1, (sigma, offered, off)


def test_laplace_noise_that_is_kept_is_gaussian(monkeypatch):
    """What is offered times what is kept is proportional to exp(-z^2 / 2 sigma^2), for fractions of a sigma as well."""
    for sigma in (0.2, 1.0, 2.5):
        t, z = floor(sigma) + 1, np.arange(0, 12)
        kept = -((z - sigma**2 / t) ** 2) / (2 * sigma**2)
        ratios = -z / t + kept + z**2 / (2 * sigma**2)
        np.testing.assert_allclose(ratios, ratios[0], atol=1e-9)
    heard = []
    monkeypatch.setattr(draws, "laplace", lambda scales: heard.extend(scales) or np.zeros(len(scales), dtype=np.int64))
    gaussian(np.array([0.2, 1.0, 2.5, 1e9]))
    assert heard[:4] == [1.0, 2.0, 3.0, 1e9 + 1]


def test_every_gaussian_has_a_sigma_of_its_own():
    """And the distribution that it is asked for, across the pieces in which many are drawn."""
    sigmas = np.tile([0.05, 0.8, 6.0], 30_000)
    drawn = gaussian(sigmas).reshape(-1, 3)
    assert not drawn[:, 0].any()
    for place, sigma in ((1, 0.8), (2, 6.0)):
        z = np.arange(-40, 41)
        shares = np.exp(-(z**2) / (2 * sigma**2))
        shares *= len(drawn) / shares.sum()
        assert agreement((drawn[:, place][:, None] == z).sum(axis=0), shares) > RARE
    assert stats.pearsonr(drawn[:-1, 2], drawn[1:, 2]).pvalue > RARE


# Choices: rejection is exact whatever the integer weights are, so what is tested is the decision to take


def chances(choice, places):
    """Exactly 2^bits w(r) / W(r) of some places, to 60 digits."""
    found = []
    for place in places:
        offered = int(choice._sums[place]) - (int(choice._sums[place - 1]) if place else 0)
        part, whole = (1, 1) if choice._weights is None else (int(array[place]) for array in choice._weights)
        with localcontext() as context:
            context.prec = 80
            behind = Fraction(float(choice._scores[place])) - Fraction(float(choice.best[0]))
            exponent = Fraction(choice._factor) * behind
            power = (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
            found.append(Fraction(power) * Fraction(part, whole) * 2**choice._bits / offered)
    return found


SCORES = np.array([3.0, 2.5, 3.0, -4.0, 1 / 3, 2.999999, -40.0, -700.0])
WEIGHTS = Weights(np.array([1, 2, 7, 3, 1, 5, 10**9, 0]), np.array([3, 2, 9, 3, 10**9, 5, 10**9, 4]))


def test_integer_weights_are_never_below_the_true_ones():
    """So no chance to be taken is above 1, and W times the chance is exactly proportional to w."""
    for factor, weights in product((0.0, 0.1, 1.0, 1.7), (None, WEIGHTS)):
        choice = Choice(SCORES, np.zeros(1, dtype=np.intp), factor, weights)
        taken = chances(choice, range(len(SCORES)) if weights is None else np.flatnonzero(WEIGHTS.part))
        assert all(0 <= chance <= 1 for chance in taken)
        assert min(taken[:6]) > Fraction(99, 100)  # and all but the hopeless are taken nearly always
        assert weights is None or choice._sums[-1] == choice._sums[-2]


def test_a_candidate_is_taken_exactly_as_often_as_its_weight_says(monkeypatch):
    """Words next to the chance to be taken, above and below: the decision is that of exact rational arithmetic."""
    choice = Choice(SCORES, np.zeros(1, dtype=np.intp), 1.3, WEIGHTS)
    for place in range(7):
        (chance,) = chances(choice, [place])
        edge, before = floor(chance * 2**64), int(choice._sums[place - 1]) if place else 0
        monkeypatch.setattr(draws, "uniform", lambda bounds, before=before: np.full(len(bounds), before))
        for step, more in product((-(2**30), -(2**12), -1, 0, 1, 2**12, 2**30), (0, 2**64 - 1)):
            word = min(max(edge + step, 0), 2**64 - 1)
            tape(monkeypatch, [word], more=[more])
            (found,), (taken,) = choice.propose(np.zeros(1, dtype=np.intp))
            assert found == place
            assert taken == (Fraction((word << 64) + more, 2**128) < chance)


def test_a_weight_that_no_float_holds_is_taken_next_to_never(monkeypatch):
    choice = Choice(np.array([0.0, -1e5, -1e9]), np.zeros(1, dtype=np.intp), 1.0)
    for place, (lot, more) in ((1, (1 << 40, [])), (1, (0, [0, 1])), (2, (0, [0, 0, 0, 9])), (2, (0, [7]))):
        monkeypatch.setattr(draws, "uniform", lambda _, at=place: choice._sums[[at - 1]])
        tape(monkeypatch, [lot], more=more)
        assert [array.tolist() for array in choice.propose(np.zeros(1, dtype=np.intp))] == [[place], [False]]


def test_choices_of_many_groups_have_the_mechanisms_distribution():
    many = 20_000
    starts = np.arange(0, many * len(SCORES), len(SCORES))
    weights = Weights(*(np.tile(array, many) for array in WEIGHTS))
    for factor in (0.0, 0.9):
        chosen = Choice(np.tile(SCORES, many), starts, factor, weights).draw() - starts
        expected = np.exp(factor * SCORES) * WEIGHTS.part / WEIGHTS.whole
        shares = many * expected / expected.sum()
        assert shares[-1] == 0  # and so it is never drawn
        assert agreement(np.bincount(chosen, minlength=len(SCORES)), shares) > RARE


def test_a_group_in_which_nothing_weighs_has_no_choice():
    weights = Weights(np.array([0, 1, 0, 0]), np.ones(4, dtype=np.int64))
    chosen = Choice(np.array([9.0, 1.0, 2.0, 3.0]), np.array([0, 2]), 1.0, weights).draw()
    assert chosen.tolist() == [1]


# What is booked


def test_scales_are_a_little_wider_and_factors_a_little_smaller_than_asked_for(monkeypatch):
    """By more than what floats can lose on the way, so that what is booked is never less than what is lost."""
    heard = []
    monkeypatch.setattr(opendp_noise, "laplace", lambda scales: heard.append(scales) or np.zeros(len(scales)))
    make_noise("auto", None).counts(np.zeros(1_000, dtype=np.int64), 1 / 3)
    assert (Fraction(heard[0][0]) * 3 - 1) >= Fraction(SPARE) / 2
    original = Choice.__init__
    monkeypatch.setattr(Choice, "__init__", lambda self, *how: heard.append(how[2]) or original(self, *how))
    make_noise("auto", None).select(np.zeros(3), 1 / 3)
    assert 1 - Fraction(heard[1]) * 3 >= Fraction(SPARE) / 2
    monkeypatch.setattr(opendp_noise, "gaussian", lambda sigmas: heard.append(sigmas) or np.zeros(len(sigmas)))
    make_noise("auto", None, 0, "gaussian").counts(np.zeros(1_000, dtype=np.int64), 1 / 3)
    assert (Fraction(heard[2][0]) * 3 - 1) >= Fraction(SPARE) / 2


def test_tables_have_scales_of_their_own_and_reals_one_in_steps(monkeypatch):
    asked = []
    monkeypatch.setattr(opendp_noise, "laplace", lambda scales: asked.append(scales) or np.zeros(len(scales), int))
    noise = make_noise("auto", None)
    noise.many_counts([np.zeros((5, 6), int), np.zeros(7, int)], [2.0, 3.0])
    noise.reals(np.zeros(40), 4.0, grid=0.25)
    np.testing.assert_allclose(asked[0], [2.0] * 30 + [3.0] * 7, rtol=1e-9)
    np.testing.assert_allclose(asked[1], [16.0] * 40, rtol=1e-9)


def test_reals_move_to_the_grid_and_stay_on_it():
    noise = make_noise("auto", None)
    noisy = noise.reals(np.full(1_000, 0.3), 2.0, grid=0.125, origin=0.0625)
    assert (np.mod(noisy - 0.0625, 0.125) == 0).all()
    assert np.abs(np.median(noisy) - 0.3) < 1
    assert noise.reals(np.array([0.3]), 0.0, grid=0.125).tolist() == [0.25]

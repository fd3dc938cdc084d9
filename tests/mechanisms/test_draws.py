"""Exact draws: every decision against arithmetic of 200 digits, and distributions against the formulas.

Words are chosen, or come from the test's name; a test of a distribution alarms falsely once in a million.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import floor, frexp

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import draws, make_noise, sources
from dpcore.mechanisms.noise.sources import SPARE
from tests.distributions import agreement

RARE = 1e-6
STEPS = -(2**30), -(2**12), -1, 0, 1, 2**12, 2**30  # from a word at which a decision changes
EITHER = 0, 2**64 - 1  # bits that follow it


def tape(monkeypatch, *drawn, more=()):
    """Let `random_words` give these words one call after the other, and refinements these bits."""
    calls, bits = iter(drawn), iter(more)
    monkeypatch.setattr(draws, "random_words", lambda _: np.array(next(calls), dtype=np.uint64))
    monkeypatch.setattr(draws.secrets, "randbits", lambda _: next(bits))


def word(chance, step):
    return min(max(floor(chance * 2**64) + step, 0), 2**64 - 1)


def power(exponent):
    """e^exponent for a fraction, to 200 digits; 0 where no word could tell."""
    if exponent < -100_000:
        return Fraction(0)
    with localcontext() as context:
        context.prec = 200
        return Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())


def floors(scale, bits, width=64):
    """floor(-scale ln U) for both ends of what the bits of U leave open, to 200 digits."""
    with localcontext() as context:
        context.prec = 200
        ends = [Decimal(end) / Decimal(2) ** width for end in (bits, bits + 1)]
        return [floor(-Decimal(scale) * end.ln()) for end in ends if end]


@pytest.mark.parametrize("scale", [5e-324, 1e-3, 0.5, 12345.678, np.nextafter(2.0**36, 0)])
def test_geometric_variables_are_what_exact_arithmetic_makes_of_their_words(scale, monkeypatch):
    """Random words, and words next to where the answer jumps."""
    jumps = [np.exp(-k / max(scale, 1e-300)) for k in range(1, 15)]
    near = [word(jump, step) for jump, step in product(jumps, (-2048, -1, 0, 1, 2048))]
    some = np.random.default_rng(3).integers(0, 2**64, 80, dtype=np.uint64).tolist()
    drawn = np.array([*filter(None, [*some, *near]), *range(1, 9), 2**64 - 1], dtype=np.uint64)
    for more in EITHER:
        tape(monkeypatch, drawn, more=iter(lambda more=more: more, None))
        found = draws.geometric(np.full(len(drawn), scale))
        assert found.dtype == np.int64
        for bits, answer in zip(drawn.tolist(), found.tolist(), strict=True):
            ends = floors(scale, bits)
            if len(ends) == 2 and ends[0] == ends[1]:
                assert answer == ends[0]
            else:  # the first 64 bits leave it open: 64 more decide
                assert answer in floors(scale, (bits << 64) + more, 128)


def test_bits_are_drawn_until_they_decide(monkeypatch):
    """Small scales as well have answers above 0: for a word of 0 nothing is decided, however small the scale."""
    tape(monkeypatch, more=[0, 1 << 63, 5])
    assert draws.one_geometric(1.0, 0) == floors(1.0, 1 << 63, 192)[0]
    tape(monkeypatch, [0], more=[*[0] * 22, 1])
    assert draws.geometric(np.array([1e-3])).tolist() == floors(1e-3, 1, 64 * 24)[:1] == [1]


@pytest.mark.parametrize("scale", [2.0**36, 1.7e12, 1e30, 1e300])
def test_wide_scales_are_drawn_in_two_parts(scale, monkeypatch):
    """2^s times a geometric variable of scale / 2^s, and a remainder below 2^s; beyond 64 bits as well."""
    shift, bits, rest = frexp(scale)[1] - 36, 2**62 + 12345, 1
    assert 2.0**35 <= scale / 2**shift < 2.0**36
    tape(monkeypatch, [bits], more=[rest, 0])
    assert draws.geometric(np.array([scale])).tolist() == [(floors(scale / 2**shift, bits)[0] << shift) + rest]
    monkeypatch.undo()
    drawn = draws.laplace(np.full(2_000, scale)).astype(float)
    assert stats.kstest(drawn, "laplace", args=(0, scale)).pvalue > RARE
    (rows,) = make_noise("auto", None).many_counts([np.array(7)], [scale])  # of a table of one cell
    assert rows.shape == ()
    assert rows == np.rint(rows)
    if scale < 1e100:
        drawn = draws.gaussian(np.full(2_000, scale)).astype(float)
        assert stats.kstest(drawn, "norm", args=(0, scale)).pvalue > RARE


@pytest.mark.parametrize(("scale", "bits", "rest"), [(2.0**36, 1, 1), (1.7e12, 5, 15), (1e30, 64, 2**63)])
def test_remainders_fall_as_exactly_as_the_scale_says(scale, bits, rest, monkeypatch):
    """Words next to the chance to be taken."""
    chance = power(-rest / Fraction(scale))
    for step, more in product(STEPS, EITHER):
        drawn = word(chance, step)

        def below(drawn, ratio, exponent, more=more):
            return Fraction((drawn << 64) + more, 2**128) < ratio * power(exponent)

        monkeypatch.setattr(draws, "is_below", below)
        tape(monkeypatch, more=[rest, drawn, 2**60, 0])
        assert draws.remainder(scale, bits) == (rest if below(drawn, 1, -rest / Fraction(scale)) else 2**60)


def test_both_parts_of_wide_noise_have_its_distribution(monkeypatch):
    monkeypatch.setattr(draws, "NARROW_BITS", 3)  # scales from 8 on are wide
    drawn, z = draws.laplace(np.full(5_000, 20.0)), np.arange(-60, 61)
    shares = np.exp(-np.abs(z) / 20) * np.tanh(1 / 40)
    observed = [(drawn == value).sum() for value in z]
    assert agreement([*observed, 5_000 - sum(observed)], 5_000 * np.append(shares, 1 - shares.sum())) > RARE


def test_noise_beyond_64_bits_is_added_without_overflow(monkeypatch):
    """It is less probable than exp(-2^26) at any scale below 2^36; counts and answers hold it all the same."""
    for value in (2**62 - 1, 2**63 - 1, 2**80):
        monkeypatch.setattr(draws, "one_geometric", lambda _, drawn, value=value: value if drawn else 0)
        tape(monkeypatch, [2**64 - 1, 2**63], [0, 2**63])
        (noisy,) = make_noise("auto", None).many_counts([np.array([2**53, 7])], [1.0])
        assert noisy.tolist() == [float(value + 2**53), 7.0]
    offers = iter([np.array([2**70, 5], dtype=object), np.array([-(2**70)], dtype=object)])
    monkeypatch.setattr(draws, "laplace", lambda _: next(offers))
    keeps = iter([[False, True], [True]])
    monkeypatch.setattr(draws, "accept_gaussian", lambda *_: np.array(next(keeps)))
    assert draws.gaussian(np.ones(2)).tolist() == [-(2**70), 5]


def test_every_draw_has_a_scale_of_its_own():
    quiet, loud, none = np.split(draws.laplace(np.repeat([0.01, 1e6, 0.0], 30_000)), 3)
    assert not quiet.any() | none.any()
    assert loud.std() == pytest.approx(np.sqrt(2) * 1e6, rel=0.05)
    quiet, none, small, large = draws.gaussian(np.tile([0.05, 0.0, 0.8, 6.0], 20_000)).reshape(-1, 4).T
    assert not quiet.any() | none.any()
    z = np.arange(-40, 41)
    for drawn, sigma in ((small, 0.8), (large, 6.0)):
        shares = np.exp(-(z**2) / (2 * sigma**2))
        assert agreement((drawn[:, None] == z).sum(axis=0), shares * len(drawn) / shares.sum()) > RARE
    assert stats.pearsonr(large[:-1], large[1:]).pvalue > RARE


def test_whole_numbers_below_bounds(monkeypatch):
    bounds = np.repeat([1, 2, 3, 5, 2**40 + 1], 20_000)
    one, two, three, five, many = np.split(draws.uniform_below(bounds), 5)
    assert not one.any()
    for size, drawn in ((2, two), (3, three), (5, five)):
        assert stats.chisquare(np.bincount(drawn, minlength=size)).pvalue > RARE
    assert stats.kstest(many / 2**40, "uniform").pvalue > RARE
    tape(monkeypatch, [7, 6, 8], [3], [1])  # of three values: 7 & 3 is none and drawn anew, twice
    assert draws.uniform_below(np.array([3, 3, 3])).tolist() == [1, 2, 0]


@pytest.mark.parametrize("sigma", [1e-3, 0.3, 3.7, 2.0**36 - 1, 1e30])
def test_gaussian_proposals_are_kept_exactly_with_their_probability(sigma, monkeypatch):
    """Words next to the chance to be kept, above and below: the decision is that of exact rational arithmetic."""
    t = Fraction(np.floor(sigma) + 1)
    for offered in (0, 1, -2, 7, 40, 10**6, 2**54 + 1, int(1.4 * sigma)):
        behind = abs(offered) - Fraction(sigma) ** 2 / t
        chance = power(-(behind**2) / (2 * Fraction(sigma) ** 2))
        for step, more in product(STEPS, EITHER):
            bits = [word(chance, step), more, *[1] * 9]
            tape(monkeypatch, bits[:1], more=bits[1:])
            (kept,) = draws.accept_gaussian(np.array([offered], dtype=object), np.array([sigma]))
            draw = sum(Fraction(part, 2 ** (64 * index)) for index, part in enumerate(bits, start=1))
            assert kept == (draw < chance), (offered, step)


def test_words_near_a_gaussians_chance_are_decided_exactly(monkeypatch):
    """Within what logarithms and rounding may be out, exact arithmetic is asked, whatever floats say."""
    wanted = []
    monkeypatch.setattr(draws, "is_below", lambda *given: wanted.append(given) or True)
    for index, (sigma, offered, off) in enumerate(product((0.8, 3.7, 1e6), (0, 3), (-(2.0**-42), 2.0**-42))):
        chance = np.exp(-((abs(offered) - sigma**2 / (floor(sigma) + 1)) ** 2) / (2 * sigma**2))
        tape(monkeypatch, [int(min(chance * (1 + off), 1 - 2.0**-50) * 2**64)])
        assert draws.accept_gaussian(np.array([offered]), np.array([sigma])).tolist() == [True]
        assert len(wanted) == index + 1, (sigma, offered, off)


def test_ratios_and_powers_beyond_any_float_are_compared_exactly(monkeypatch):
    """A probability is ratio * e^exponent: neither alone says that it is next to nothing."""
    tape(monkeypatch, more=[3])
    monkeypatch.setattr(draws, "LEAST_LOG", -1_000)
    ratio, exponent = Fraction(2) ** 2_884, Fraction(-2_000)  # together 0.38
    assert draws.is_below(1 << 62, ratio, exponent)
    assert not draws.is_below(1 << 63, ratio, exponent)
    assert not draws.is_below(0, Fraction(1), exponent)
    tape(monkeypatch, more=[0] * 30)
    with pytest.raises(StopIteration):  # what is too small to be told from 0 is never taken for larger
        draws.is_below(0, Fraction(1), exponent)
    with pytest.raises(ArithmeticError, match="above 1"):
        draws.is_below(0, Fraction(2), Fraction(0))


ENDS = (0, 1, 0), (1, -1, 2**64 - 1)  # of a word, on which side of it a probability is, and bits that end there


def test_errors_that_decimals_may_have_change_no_decision(monkeypatch):
    """Next to an end of what a word leaves open, by less than a rounded quotient, logarithm or power loses."""
    for bits, digits, (end, off, more) in product((2**63 + 12345, 2**40 + 7, 2**64 - 3, 3**40), range(56, 68), ENDS):
        part, near = Fraction(bits + end, 2**64), 1 + Fraction(off, 10**digits)
        for exponent in (Fraction(-1, 3), Fraction(-(10**4), 3), Fraction(-2 * 10**4, 3)):
            tape(monkeypatch, more=[more] * 9)
            assert draws.is_below(bits, part * near / power(exponent), exponent) == (off > 0), (bits, digits, exponent)
        for jump in (1, 1000):
            with localcontext(prec=200):
                log = -Fraction((Decimal(part.numerator) / Decimal(part.denominator)).ln())
            tape(monkeypatch, more=[more] * 9)
            assert draws.one_geometric(jump * near / log, bits) == jump - end, (bits, digits, jump)


@pytest.mark.parametrize("scale", [0.3, 1e3, 2.0**35.5])
def test_the_least_accurate_logarithm_allowed_changes_no_draw(scale, monkeypatch):
    """Words as near to a jump as the error's bound, by a logarithm that is out by nearly all that may be."""
    drawn = []
    with localcontext() as context:
        context.prec = 80
        for k in {max(1, round(scale * far)) for far in (0.1, 0.7, 3.0, 10.0, 30.0)}:
            jump, error = (-Decimal(k) / Decimal(scale)).exp() * 2**64, Decimal(2.0**-49 * (1 + k / scale))
            drawn += [int(jump * (1 + error * Decimal(f))) for f in (-2, -1.2, -0.95, -0.5, -0.2, 0, 0.2, 0.5, 0.95, 2)]
    open_, true = -77, np.log
    monkeypatch.setattr(draws, "one_geometric", lambda *_: open_)
    for sign in (-0.99, 0.99):
        tape(monkeypatch, drawn)
        monkeypatch.setattr(np, "log", lambda x, sign=sign: true(x) + sign * 2.0**-50 * (1 + np.abs(true(x))))
        found = draws.geometric(np.full(len(drawn), scale)).tolist()
        monkeypatch.setattr(np, "log", true)
        assert open_ in found
        for bits, value in zip(drawn, found, strict=True):
            assert value == open_ or floors(scale, bits) == [value, value]


@pytest.mark.parametrize("name", ["log", "exp"])
def test_sources_are_refused_where_numpy_is_less_accurate_than_they_assume(name, monkeypatch):
    """By 16 units in the last place at a few arguments, or at all; the function as it is passes."""
    draws.check_numpy.cache_clear()
    draws.check_numpy()
    true = getattr(np, name)
    for wrong in (
        lambda x: true(x) * np.where(np.abs(x) < 1e-6, 1 + 2.0**-48, 1),
        lambda x: true(x) * (1 - 2.0**-48),
        lambda x: true(x) * (1 + 2.0**-48 * (len(x) == 1)),  # which may be other instructions
        lambda x: true(x) * (1 + 2.0**-48 * (np.abs(true(x)) < 1e-200)) if name == "exp" else true(x) + 2.0**-48,
        lambda x: x * np.nan,
    ):
        draws.check_numpy.cache_clear()
        monkeypatch.setattr(np, name, wrong)
        with pytest.raises(ParameterError, match="too inaccurately"):
            make_noise("auto", None)
    assert make_noise("laplace", None).counts(np.zeros(1), 1.0).any()
    draws.check_numpy.cache_clear()


def chances(choice, indices):
    """Exactly 2^bits w(r) / W(r) of some places, to 200 digits."""
    for index in indices:
        offered = int(choice._sums[index]) - (int(choice._sums[index - 1]) if index else 0)
        part, whole = (1, 1) if choice._weights is None else (int(array[index]) for array in choice._weights)
        behind = Fraction(float(choice._scores[index])) - Fraction(float(choice.best[0]))
        yield power(Fraction(choice._factor) * behind) * Fraction(part, whole) * 2**choice._bits / offered


ONE = np.zeros(1, dtype=np.intp)
SCORES = np.array([3.0, 2.5, 3.0, -4.0, 1 / 3, 2.999999, -40.0, -700.0])
WEIGHTS = draws.Weights(np.array([1, 2, 7, 3, 1, 5, 10**9, 0]), np.array([3, 2, 9, 3, 10**9, 5, 10**9, 4]))


def test_integer_weights_are_never_below_the_true_ones():
    """So no chance to be taken is above 1, and W times the chance is exactly proportional to w."""
    for factor, weights in product((0.0, 0.1, 1.0, 1.7), (None, WEIGHTS)):
        choice = draws.GroupedSelection(SCORES, ONE, factor, weights)
        taken = list(chances(choice, range(len(SCORES)) if weights is None else np.flatnonzero(WEIGHTS.part)))
        assert all(0 <= chance <= 1 for chance in taken)
        assert min(taken[:6]) > Fraction(99, 100)  # and all but the hopeless are taken nearly always
        assert weights is None or choice._sums[-1] == choice._sums[-2]
        assert choice._sums[-1] < 2**62


def test_a_candidate_is_accepted_with_the_exact_probability_of_its_weight(monkeypatch):
    """Words next to the chance to be taken, above and below: the decision is that of exact rational arithmetic."""
    choice = draws.GroupedSelection(SCORES, ONE, 1.3, WEIGHTS)
    for index, chance in enumerate(chances(choice, range(7))):
        before = int(choice._sums[index - 1]) if index else 0
        monkeypatch.setattr(draws, "uniform_below", lambda bounds, before=before: np.full(len(bounds), before))
        for step, more in product(STEPS, EITHER):
            bits = word(chance, step)
            tape(monkeypatch, [bits], more=[more])
            (found,), (taken,) = choice.propose(ONE)
            assert found == index
            assert taken == (Fraction((bits << 64) + more, 2**128) < chance)


def test_a_weight_below_any_float_is_almost_never_accepted(monkeypatch):
    choice = draws.GroupedSelection(np.array([0.0, -1e5, -1e9]), ONE, 1.0)
    for index, (draw, more) in ((1, (1 << 40, [])), (1, (0, [0, 1])), (2, (0, [0, 0, 0, 9])), (2, (0, [7]))):
        monkeypatch.setattr(draws, "uniform_below", lambda _, at=index: choice._sums[[at - 1]])
        tape(monkeypatch, [draw], more=more)
        assert [array.tolist() for array in choice.propose(ONE)] == [[index], [False]]


def test_choices_of_many_groups_have_the_mechanisms_distribution():
    many = 20_000
    starts = np.arange(0, many * len(SCORES), len(SCORES))
    weights = draws.Weights(*(np.tile(array, many) for array in WEIGHTS))
    for factor in (0.0, 0.9):
        chosen = draws.GroupedSelection(np.tile(SCORES, many), starts, factor, weights).draw() - starts
        expected = np.exp(factor * SCORES) * WEIGHTS.part / WEIGHTS.whole
        shares = many * expected / expected.sum()
        assert shares[-1] == 0  # and so it is never drawn
        assert agreement(np.bincount(chosen, minlength=len(SCORES)), shares) > RARE
    nothing = draws.Weights(np.array([0, 1, 0, 0]), np.ones(4, dtype=np.int64))  # in the second of two groups
    assert draws.GroupedSelection(np.array([9.0, 1.0, 2.0, 3.0]), np.array([0, 2]), 1.0, nothing).draw().tolist() == [1]


def test_scales_are_a_little_wider_and_factors_a_little_smaller_than_requested(monkeypatch):
    """By more than what floats can lose on the way, so that what is charged is never less than what is lost."""
    heard = []
    for distribution in ("laplace", "gaussian"):
        monkeypatch.setattr(sources, distribution, lambda scales: heard.append(scales) or np.zeros(len(scales), int))
        noise = make_noise("auto", None, 0, distribution)
        noise.many_counts([np.zeros((5, 6), int), np.zeros(7, int)], [1 / 3, 3.0])
        noise.reals(np.zeros(40), 4.0, grid=0.25)
        tables, steps = heard[-2:]
        assert SPARE / 2 <= Fraction(tables[0]) * 3 - 1 <= 2 * SPARE
        np.testing.assert_allclose(tables, [1 / 3] * 30 + [3.0] * 7, rtol=1e-9)
        np.testing.assert_allclose(steps, [16.0] * 40, rtol=1e-9)
    kind, original = draws.GroupedSelection, draws.GroupedSelection.__init__
    monkeypatch.setattr(kind, "__init__", lambda self, *how: heard.append(how[2]) or original(self, *how))
    make_noise("auto", None).select(np.zeros(3), 1 / 3)
    assert SPARE / 2 <= 1 - Fraction(heard[-1]) * 3 <= 2 * SPARE


def test_reals_move_to_the_grid_and_stay_on_it():
    noise = make_noise("auto", None)
    noisy = noise.reals(np.full(1_000, 0.3), 2.0, grid=0.125, origin=0.0625)
    assert (np.mod(noisy - 0.0625, 0.125) == 0).all()
    assert np.abs(np.median(noisy) - 0.3) < 1
    assert noise.reals(np.array([0.3]), 0.0, grid=0.125).tolist() == [0.25]


def test_a_factor_beyond_any_float_selects_the_best_and_values_beyond_the_grid_are_refused():
    noise = make_noise("auto", None)
    assert set(noise.select(np.ones((40, 2)), np.inf).tolist()) == {0, 1}
    assert noise.select(np.array([1.0, 2.0, -3.0]), np.inf) == 1
    with pytest.raises(ParameterError, match="wider grid"):
        noise.reals(np.array([1e30]), 1.0, grid=1.0)

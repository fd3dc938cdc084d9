"""Sources of noise, and noise for several histograms at once: every draw against its distribution, and seeds.

A test of a distribution alarms falsely once in a million runs. Both kinds of sources draw the same numbers but for how
a lot is decided, so each is tried where the other is not.
"""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, exp, log

import numpy as np
import pytest
from scipy import stats
from scipy.stats import chisquare

from dpcore.door.network_growth import CandidateBlock
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import NOISES, NoNoise, exactly_sampled, generator, histograms, make_noise, sources
from dpcore.mechanisms.noise.histograms import count_vectors, draw, draw_lengths, draw_vector, log_count, spreads
from tests.distributions import agreement

RARE = 1e-6


def seeded(kind, seed, distribution="laplace"):
    return make_noise(kind, None if kind == "auto" else seed, 0, distribution)


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", NOISES)
def test_noise_on_counts_has_its_distribution_and_its_variance(kind, distribution):
    """Laplace's or Gauss's, or P(z) proportional to exp(-|z| / scale) or exp(-z^2 / 2 scale^2) on whole numbers."""
    scale, many, draws = 40.0 if kind == "auto" else 1.5, np.arange(-2_000, 2_001), 20_000
    noise = seeded(kind, 7, distribution)
    noisy = noise.counts(np.full(draws, 100), scale) - 100
    assert noise.distribution == distribution
    if kind == "laplace":
        assert noise.on_counts == distribution
        assert stats.kstest(noisy, "laplace" if distribution == "laplace" else "norm", args=(0, scale)).pvalue > RARE
        assert noise.variance(scale) == (2 if distribution == "laplace" else 1) * scale**2
        return
    discrete = "geometric" if (kind, distribution) == ("geometric", "laplace") else f"discrete {distribution}"
    assert noise.on_counts == discrete
    assert (noisy == np.round(noisy)).all()
    shares = np.exp(-np.abs(many) / scale if distribution == "laplace" else -(many**2) / (2 * scale**2))
    shares /= shares.sum()
    assert noise.variance(scale) == pytest.approx((many**2 * shares).sum())
    near = np.abs(many) <= 6
    observed = np.array([(noisy == z).sum() for z in many[near]])
    expected = draws * np.append(shares[near], shares[~near].sum())
    assert agreement([*observed, draws - observed.sum()], expected) > RARE


@pytest.mark.parametrize(
    ("epsilon", "expected"), [(0.1, [0.4240, 0.3302, 0.1412, 0.1046]), (1.0, [0.9241, 0.0759, 1.54e-5, 7.7e-7])]
)
def test_selection_has_the_exponential_mechanisms_probabilities(epsilon, expected):
    """Votes of 30, 25, 8 and 2; five standard errors of 100,000 draws."""
    chosen = make_noise("laplace", 5).select(np.tile([30.0, 25.0, 8.0, 2.0], (100_000, 1)), epsilon / 2)
    error = 5 * np.sqrt(np.array(expected) * (1 - np.array(expected)) / 100_000) + 1e-4
    assert (np.abs(np.bincount(chosen, minlength=4) / 100_000 - expected) < error).all()


@pytest.mark.parametrize(("distribution", "scale"), [*product(("laplace", "gaussian"), (0.6, 2.0**40))])
def test_opendp_draws_what_we_draw(distribution, scale):
    """It is the oracle of our sampler: the same distribution, for few counts and many, narrow scales and wide ones."""
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    make, distance = opendp.m.make_laplace, opendp.l1_distance(T="i64")
    if distribution == "gaussian":
        make, distance = opendp.m.make_gaussian, opendp.l2_distance(T="f64")
    zeros, ours = np.zeros(3_000, dtype=np.int64), make_noise("auto", None, 0, distribution)
    draws = make(opendp.vector_domain(opendp.atom_domain(T="i64")), distance, scale=scale)
    theirs, few = np.array(draws(zeros.tolist()), dtype=float), [zeros[:20]] * 150
    edges = np.unique(np.quantile(theirs, np.linspace(0, 1, 13), method="inverted_cdf"))[1:-1]
    for drawn in (ours.counts(zeros, scale), np.concatenate([ours.counts(counts, scale) for counts in few])):
        seen = [np.bincount(np.searchsorted(edges, side), minlength=len(edges) + 1) for side in (drawn, theirs)]
        assert stats.chi2_contingency(seen).pvalue > RARE


def test_real_values_get_noise_of_the_stated_distribution():
    for kind, (distribution, known) in product(("laplace", "auto"), {"laplace": "laplace", "gaussian": "norm"}.items()):
        noisy = seeded(kind, 2, distribution).reals(np.zeros(5_000), 2.0, grid=2.0**-20)
        assert stats.kstest(noisy, known, args=(0, 2.0)).pvalue > RARE


def test_gaussian_variances_from_next_to_nothing_to_more_than_any_table():
    """By the sum, where there is one; and what NumPy's whole numbers have, drawn or rounded."""
    noise = make_noise("geometric", 3, 0, "gaussian")
    for sigma in (0.02, 0.3, 2.999, 3.0, 50.0):
        z = np.arange(-1_000, 1_001)
        shares = np.exp(-(z**2) / (2 * sigma**2))
        assert noise.variance(sigma) == pytest.approx((z**2 * shares).sum() / shares.sum(), rel=1e-9)
    for sigma in (0.3, 2.0, 1e3, 2.0**20 + 1, 1e12):
        drawn = noise.counts(np.zeros(1_000_000, dtype=np.int64), sigma)
        assert (drawn == np.rint(drawn)).all()
        assert np.mean(drawn**2) == pytest.approx(noise.variance(sigma), rel=0.03)
    assert noise.variance(1e-200) == 0
    assert not noise.counts(np.zeros(10, dtype=np.int64), 1e-200).any()
    assert noise.noiseless().distribution == "gaussian"


def test_seeds_reproduce_and_streams_differ():
    counts = np.arange(10)
    assert (make_noise("laplace", 3).counts(counts, 1.0) == make_noise("laplace", 3).counts(counts, 1.0)).all()
    assert (make_noise("laplace", None).counts(counts, 1.0) != make_noise("laplace", None).counts(counts, 1.0)).any()
    assert generator(3, 0).random() != generator(3, 1).random()


def test_only_unseeded_auto_is_exactly_sampled():
    assert [kind for kind in NOISES if exactly_sampled(kind, None)] == ["auto"]
    assert [kind for kind in NOISES if exactly_sampled(kind, 7)] == []
    assert [make_noise(kind, None).exactly_sampled for kind in NOISES] == [True, False, False]
    with pytest.raises(ParameterError, match="laplace"):
        make_noise("gaussian", 1)


def blocks_of(*scores):
    return [CandidateBlock(np.zeros((len(some), 0), dtype=np.intp), np.array(some, dtype=float)) for some in scores]


BLOCKS = blocks_of([0.0, 1.0], [2.0], [-1.0, 0.5, 2.5, 0.5], [0.0])


@pytest.mark.parametrize(("kind", "factor"), [("laplace", 0.0), ("laplace", 2.0), ("auto", 0.7)])
def test_selection_among_blocks_is_selection_from_one_list(kind, factor):
    """First the block, then the place in it: thousands of draws against the exact probabilities of the list."""
    noise, draws = seeded(kind, 8), 2_000
    sizes = [len(block.scores) for block in BLOCKS]
    chosen = [noise.select_among(BLOCKS, factor) for _ in range(draws)]
    observed = np.bincount([sum(sizes[:block]) + index for block, index in chosen], minlength=sum(sizes))
    weights = np.exp(factor * np.concatenate([block.scores for block in BLOCKS]))
    assert agreement(observed, draws * weights / weights.sum()) > RARE


def test_selection_among_blocks_with_exponents_beyond_any_float():
    for kind in ("laplace", "auto"):
        for blocks, best in ((blocks_of([0.0], [-1e9, 1e9]), (1, 1)), (blocks_of([-1e9], [-2e9, -3e9]), (0, 0))):
            assert {seeded(kind, 1).select_among(blocks, 1.0) for _ in range(20)} == {best}


def test_noiseless_answers_are_the_counts_and_the_best_candidate():
    noise = NoNoise()
    assert noise.uniforms(4).tolist() == [0, 0.25, 0.5, 0.75]
    assert noise.counts(np.array([[3, 0]]), 1e9).tolist() == [[3.0, 0.0]]
    assert noise.reals(np.array([0.25, -1.0]), 1e9, grid=1.0).tolist() == [0.25, -1.0]
    assert noise.variance(1e9) == 0
    for factor in (1e-9, 1.0, 1e9):
        assert noise.select(np.array([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]]), factor).tolist() == [1, 0]
        assert noise.select_among(BLOCKS, factor) == (2, 2)
        assert noise.select_among(blocks_of([0.0, 1.0], [1.0, 1.0]), factor) == (0, 1)  # the first of the best
    assert not noise.exactly_sampled


HISTOGRAMS = [((1,), 0.5, "auto"), ((3, 3, 4), 3.0, "auto"), ((5, 2), 0.5, "geometric")]
TOTALS = pytest.mark.parametrize("public_total", [True, False])


def vectors(size, up, down):
    """All vectors of total up - down whose values above and below 0 sum to these at most, by trying all."""
    every = np.array(list(product(range(-down, up + 1), repeat=size)))
    above, below = np.maximum(every, 0).sum(axis=1), np.maximum(-every, 0).sum(axis=1)
    return [tuple(z) for z in every[(above - below == up - down) & (above <= up)].tolist()]


def longest(noise):
    return max(sum(map(abs, z)) for z in noise)


def test_vectors_are_counted_and_drawn_evenly():
    for size, up, down in product(range(1, 5), range(4), range(4)):
        positive = Counter(sum(value > 0 for value in z[:-1]) for z in vectors(size, up, down))
        assert list(count_vectors(size, up, down)) == [positive[i] for i in range(size)]
    for size, up, down in ((1, 2, 1), (2, 3, 1), (3, 2, 2), (3, 0, 3), (4, 1, 2)):
        every, below = vectors(size, up, down), seeded("auto", 11)._randbelow
        found = Counter(tuple(draw_vector(size, up, down, below).tolist()) for _ in range(30 * len(every)))
        assert set(found) <= set(every)
        assert len(every) == 1 or chisquare([found[z] for z in every]).pvalue > RARE
    for up, down in ((2**70, 2**69), (2**63 - 1, 3)):  # more than 64 bits hold
        z = draw_vector(3, up, down, seeded("auto", 11)._randbelow)
        assert z.sum() == up - down
        assert np.maximum(z, 0).sum() <= up
        assert 2**60 < abs(z).max() <= up + down


@TOTALS
@pytest.mark.parametrize(("sizes", "factor", "kind"), HISTOGRAMS)
def test_lengths_have_their_distribution(sizes, factor, kind, public_total):
    source, draws, counts = seeded(kind, 11), 300, Counter(sizes)
    how = {"below": source._randbelow, "bernoulli": source._bernoulli, "public_total": public_total}
    found = Counter(draw_lengths(counts, Fraction(factor), **how) for _ in range(draws))
    most = max(map(max, found)) + 40
    pairs = [(p, q) for p, q in product(range(most), repeat=2) if p == q or not public_total]
    ways = [np.prod([float(sum(count_vectors(size, p, q))) for size in sizes]) for p, q in pairs]
    weights = [many * exp(-factor * (p + q)) for many, (p, q) in zip(ways, pairs, strict=True)]
    expected = draws * np.array(weights) / sum(weights)
    assert agreement(np.array([found[pair] for pair in pairs]), expected) > RARE


@TOTALS
def test_k_norm_probabilities_depend_on_the_norm_alone(public_total):
    """P(z) is proportional to exp(-factor * length): of two histograms, by enumeration of all that are short."""
    source, sizes, factor, draws = make_noise("geometric", 5), (2, 3), 2.0, 1_000
    uniform = source._randbelow, source._bernoulli
    found = Counter(
        tuple(tuple(z.tolist()) for z in draw(sizes, factor, *uniform, public_total=public_total)) for _ in range(draws)
    )
    balls = [{z for z in product(range(-4, 5), repeat=size) if sum(map(abs, z)) <= 4} for size in sizes]
    every = [both for both in product(*balls) if sum(both[0]) == sum(both[1]) and not (public_total and sum(both[0]))]
    assert {both for both in found if longest(both) <= 4} <= set(every)
    chances = np.array([exp(-factor * longest(both)) for both in every])
    seen = np.array([found[both] for both in every])
    assert agreement(seen, chances * seen.sum() / chances.sum()) > RARE
    # A row moves the length by 1 at most: a neighbor's answer is e^factor as likely, or e^(2 factor) under replace.
    for both, i, k, sign in product(every[::7], range(2), range(3), (-1, 1)):
        moved = np.array(both[0]), np.array(both[1])
        moved[0][i] += sign
        moved[1][k] += sign
        assert moved[0].sum() == moved[1].sum()  # one total stays one
        assert abs(longest(moved) - longest(both)) <= 1


@TOTALS
def test_noise_is_as_large_as_its_formula_says(public_total):
    source = make_noise("geometric", 3)
    uniform = source._randbelow, source._bernoulli
    for sizes, factor in (((2,) * 7, 0.05), ((2, 5, 12), 0.1)):
        drawn = [draw(sizes, factor, *uniform, public_total=public_total) for _ in range(150)]
        expected = spreads(sizes, factor, public_total=public_total)
        for j, size in enumerate(sizes):
            z = np.array([all_[j] for all_ in drawn], dtype=float)
            assert z.sum(axis=1).std() == pytest.approx(expected[size].total, rel=0.2, abs=1e-9)
            assert (z - z.mean(axis=1, keepdims=True)).std() == pytest.approx(expected[size].cell, rel=0.15, abs=1e-9)
    assert spreads((2,) * 50, 1.0, public_total=True)[2].cell == pytest.approx(50 / 12**0.5, rel=0.05)  # even, to d / 2
    assert spreads((3,), 0.0, public_total=public_total) == {3: histograms.Spread(np.inf, np.inf)}
    assert spreads((3,), 1e200, public_total=False)[3].total < 1e-190


@TOTALS
def test_sources_hold_what_they_promise(public_total):
    tables = [np.array([5, 0, 3]), np.array([[1, 2], [3, 2]])]
    for source in (seeded(kind, 11) for kind in ("geometric", "auto")):
        for _ in range(10):
            noisy = source.histograms(tables, 0.7, public_total=public_total)
            assert [found.shape for found in noisy] == [table.shape for table in tables]
            assert all((found == np.rint(found)).all() for found in noisy)
            assert noisy[0].sum() == noisy[1].sum()
            assert not public_total or noisy[0].sum() == 8
        for factor in (1e3, 1e300, np.inf):
            (found,) = source.histograms([tables[0]], factor, public_total=public_total)
            assert (found == tables[0]).all()
    one, other = (make_noise("geometric", 4).histograms(tables, 0.7, public_total=public_total) for _ in range(2))
    assert all((here == there).all() for here, there in zip(one, other, strict=True))
    exact = make_noise("geometric", 4).noiseless().histograms(tables, 0.7, public_total=public_total)
    assert all((found == table).all() for found, table in zip(exact, tables, strict=True))


def test_helpers_of_the_k_norm_sampler():
    below = make_noise("geometric", 6)._randbelow
    assert (histograms.first_where(lambda n: n >= 13, 4), histograms.first_where(lambda n: n >= 3, 4)) == (13, 4)
    large = 3**90
    drawn = [below(large) for _ in range(200)]
    assert large // 2 < max(drawn) < large
    found = Counter(tuple(sorted(histograms.sample_distinct(2, 5, below))) for _ in range(500))
    assert len(found) == comb(5, 2)
    assert chisquare(list(found.values())).pvalue > RARE
    assert Counter(histograms.draw_index(iter([1, 0, 3]), below) for _ in range(400)).keys() == {0, 2}


def test_the_exact_sampler_never_uses_a_larger_factor_than_requested():
    """A table of one count has discrete Laplace noise."""
    source = make_noise("auto", None)
    drawn = np.array([source.histograms([np.array([7])], 0.8, public_total=False)[0][0] - 7 for _ in range(600)])
    values = np.arange(-3, 4)
    chances = np.exp(-0.8 * np.abs(values)) * np.tanh(0.4)
    seen = np.array([(drawn == value).sum() for value in values])
    expected = np.append(len(drawn) * chances, len(drawn) * (1 - chances.sum()))
    assert agreement(np.append(seen, len(drawn) - seen.sum()), expected) > RARE


@TOTALS
def test_the_largest_term_is_found_however_flat_terms_are(public_total):
    """Where floating point cannot tell neighbors apart, either; no probability is above 1, and logarithms are right."""
    source = make_noise("auto", None)

    def lot(near, room, exactly):
        ratio, exponent = exactly()
        assert near < 0
        assert room == histograms.log_error(Counter(sizes)) >= 1e-4
        assert near == pytest.approx(log(ratio.numerator) - log(ratio.denominator) + exponent, abs=1e-7)
        return source._bernoulli(near, room, exactly)

    for sizes, factor in (((2,) * 100, 1e-9), ((40,) * 20, 1e-7), ((300,), 0.1), ((1, 1), 1.0)):
        up, down = draw_lengths(Counter(sizes), Fraction(factor), source._randbelow, lot, public_total=public_total)
        degrees = sum(size - 1 for size in sizes) + 1
        assert abs(up + down - degrees / factor) <= 12 * (degrees + 1) ** 0.5 / factor
        assert up == down or not public_total


def test_logarithms_are_out_by_less_than_their_bound():
    """Against whole numbers, where the bound grows with the squares of sizes."""
    assert histograms.log_error(Counter({2: 30, 1_000: 30})) == 1e-4
    assert histograms.log_error(Counter({65_536: 2})) == pytest.approx(2 * 65_536**2 / 2**44)
    small = [(5, up, down) for up, down in ((10, 10), (2, 7), (7, 0), (0, 3))]
    large = [(2, 10**12, 10**12), (300, 10**9, 10), (300, 5, 10**9), (1_000, 40_000, 40_001)]
    for size, up, down in (*small, *large):
        true = log(sum(count_vectors(size, up, down)))
        assert abs(log_count(size, up, down)[0] - true) < size**2 / 2**45 + 1e-12 * (true + 1)
    found, slope = log_count(5, 60, 60)
    assert slope == pytest.approx(log_count(5, 61, 61)[0] - found, rel=0.02)


@TOTALS
def test_few_proposals_are_enough_for_any_factor(public_total):
    """Without an envelope for odd sums of their own, these took e^factor."""
    source, tries = make_noise("geometric", 8), []

    def lot(near, room, exactly):
        tries.append(near)
        return source._bernoulli(near, room, exactly)

    for sizes, factor in product([(16,) * 15, (3,)], [1e-6, 1.0, 5.0, 100.0]):
        tries.clear()
        draw_lengths(Counter(sizes), Fraction(factor), source._randbelow, lot, public_total=public_total)
        assert len(tries) < 2_000


def test_uniform_numbers_near_a_probability_are_decided_exactly(monkeypatch):
    source, wanted, room = make_noise("auto", None), [], 1e-4

    def exactly():
        wanted.append(1)
        return Fraction(1, 2), Fraction(0)

    decisions = (1 << 62, True, 0), (3 << 62, False, 0), ((1 << 63) - 1, True, 1), (1 << 63, False, 2)
    for drawn, happens, times in decisions:
        monkeypatch.setattr(sources, "random_words", lambda _, drawn=drawn: [drawn])
        assert source._bernoulli(log(1 / 2), room, exactly) is happens
        assert len(wanted) == times
    monkeypatch.setattr(sources, "random_words", lambda _: [0])
    assert source._bernoulli(-30.0, room, exactly)
    assert not source._bernoulli(-1e6, room, lambda: (Fraction(1), Fraction(-(10**6))))

"""Sources of noise: what they draw, in distributions that alarm falsely once in a million runs, and seeds."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpcore.door.exact_family_scores import Block
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import NOISES, NoNoise, exactly_sampled, generator, make_noise
from tests.laws import agreement

RARE = 1e-6


def seeded(kind, seed, law="laplace"):
    return make_noise(kind, None if kind in ("auto", "opendp") else seed, 0, law)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", NOISES)
def test_noise_on_counts_has_its_distribution_and_its_variance(kind, law):
    """Laplace's or Gauss's, or P(z) proportional to exp(-|z| / scale) or exp(-z^2 / 2 scale^2) on whole numbers."""
    scale, many = {"auto": 40.0, "opendp": 0.6}.get(kind, 1.5), np.arange(-2_000, 2_001)
    draws = 3_000 if kind == "opendp" else 20_000
    noise = seeded(kind, 7, law)
    noisy = noise.counts(np.full(draws, 100), scale) - 100
    assert noise.law == law
    if kind == "laplace":
        assert noise.on_counts == law
        assert stats.kstest(noisy, "laplace" if law == "laplace" else "norm", args=(0, scale)).pvalue > RARE
        assert noise.variance(scale) == (2 if law == "laplace" else 1) * scale**2
        return
    assert noise.on_counts == ("geometric" if (kind, law) == ("geometric", "laplace") else f"discrete {law}")
    assert (noisy == np.round(noisy)).all()
    shares = np.exp(-np.abs(many) / scale if law == "laplace" else -(many**2) / (2 * scale**2))
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


@pytest.mark.parametrize(("law", "scale"), [*product(("laplace", "gaussian"), (0.6, 2.0**40))])
def test_opendp_draws_what_we_draw(law, scale):
    """It is the oracle of our sampler: the same distribution, for few counts and many, narrow scales and wide ones."""
    zeros, ours = np.zeros(3_000, dtype=np.int64), make_noise("auto", None, 0, law)
    theirs, few = make_noise("opendp", None, 0, law).counts(zeros, scale), [zeros[:20]] * 150
    edges = np.unique(np.quantile(theirs, np.linspace(0, 1, 13), method="inverted_cdf"))[1:-1]
    for drawn in (ours.counts(zeros, scale), np.concatenate([ours.counts(counts, scale) for counts in few])):
        seen = [np.bincount(np.searchsorted(edges, side), minlength=len(edges) + 1) for side in (drawn, theirs)]
        assert stats.chi2_contingency(seen).pvalue > RARE


def test_reals_get_noise_of_the_law():
    for kind, (law, known) in product(("laplace", "auto"), {"laplace": "laplace", "gaussian": "norm"}.items()):
        noisy = seeded(kind, 2, law).reals(np.zeros(5_000), 2.0, grid=2.0**-20)
        assert stats.kstest(noisy, known, args=(0, 2.0)).pvalue > RARE


def test_gaussian_variances_from_next_to_nothing_to_more_than_any_table():
    """By the sum, where there is one; and what NumPy's whole numbers have, drawn or rounded."""
    noise = make_noise("geometric", 3, 0, "gaussian")
    for sigma in (0.02, 0.3, 2.999, 3.0, 50.0):
        z = np.arange(-1_000, 1_001)
        shares = np.exp(-(z**2) / (2 * sigma**2))
        assert noise.variance(sigma) == pytest.approx((z**2 * shares).sum() / shares.sum(), rel=1e-9)
    for sigma in (0.3, 2.0, 1e3, 2.0**20 + 1, 1e12):
        drawn = noise.counts(np.zeros(100_000, dtype=np.int64), sigma)
        assert (drawn == np.rint(drawn)).all()
        assert np.mean(drawn**2) == pytest.approx(noise.variance(sigma), rel=0.03)
    assert noise.variance(1e-200) == 0
    assert not noise.counts(np.zeros(10, dtype=np.int64), 1e-200).any()
    assert noise.noiseless().law == "gaussian"


def test_seeds_reproduce_and_streams_differ():
    counts = np.arange(10)
    assert (make_noise("laplace", 3).counts(counts, 1.0) == make_noise("laplace", 3).counts(counts, 1.0)).all()
    assert (make_noise("laplace", None).counts(counts, 1.0) != make_noise("laplace", None).counts(counts, 1.0)).any()
    assert generator(3, 0).random() != generator(3, 1).random()


def test_only_unseeded_auto_and_opendp_are_exactly_sampled():
    assert [kind for kind in NOISES if exactly_sampled(kind, None)] == ["auto", "opendp"]
    assert [kind for kind in NOISES if kind != "opendp" and exactly_sampled(kind, 7)] == []
    assert [make_noise(kind, None).exactly_sampled for kind in NOISES] == [True, True, False, False]
    for kind, word in (("opendp", "cannot be seeded"), ("gaussian", "laplace")):
        with pytest.raises(ParameterError, match=word):
            make_noise(kind, 1)


def blocks_of(*scores):
    return [Block(np.zeros((len(some), 0), dtype=np.intp), np.array(some, dtype=float)) for some in scores]


BLOCKS = blocks_of([0.0, 1.0], [2.0], [-1.0, 0.5, 2.5, 0.5], [0.0])


@pytest.mark.parametrize(("kind", "factor"), [("laplace", 0.0), ("laplace", 2.0), ("auto", 0.7)])
def test_selection_among_blocks_is_selection_from_one_list(kind, factor):
    """First the block, then the place in it: thousands of draws against the exact probabilities of the list."""
    noise, draws = seeded(kind, 8), 2_000
    sizes = [len(block.scores) for block in BLOCKS]
    chosen = [noise.select_among(BLOCKS, factor) for _ in range(draws)]
    observed = np.bincount([sum(sizes[:block]) + place for block, place in chosen], minlength=sum(sizes))
    weights = np.exp(factor * np.concatenate([block.scores for block in BLOCKS]))
    assert agreement(observed, draws * weights / weights.sum()) > RARE


def test_selection_among_blocks_with_exponents_beyond_any_float():
    for kind in ("laplace", "auto"):
        for blocks, best in ((blocks_of([0.0], [-1e9, 1e9]), (1, 1)), (blocks_of([-1e9], [-2e9, -3e9]), (0, 0))):
            assert {seeded(kind, 1).select_among(blocks, 1.0) for _ in range(20)} == {best}


def test_noiseless_answers_are_the_counts_and_the_best_candidate():
    noise = NoNoise()
    assert noise.lots(4).tolist() == [0, 0.25, 0.5, 0.75]
    assert noise.counts(np.array([[3, 0]]), 1e9).tolist() == [[3.0, 0.0]]
    assert noise.reals(np.array([0.25, -1.0]), 1e9, grid=1.0).tolist() == [0.25, -1.0]
    assert noise.variance(1e9) == 0
    for factor in (1e-9, 1.0, 1e9):
        assert noise.select(np.array([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]]), factor).tolist() == [1, 0]
        assert noise.select_among(BLOCKS, factor) == (2, 2)
        assert noise.select_among(blocks_of([0.0, 1.0], [1.0, 1.0]), factor) == (0, 1)  # the first of the best
    assert not noise.exactly_sampled

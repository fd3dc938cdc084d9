import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from dpcore.door.exact_family_scores import Block
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import NOISES, NoNoise, generator, make_noise

VOTES = np.array([30.0, 25.0, 8.0, 2.0])


@pytest.mark.parametrize("kind", NOISES)
def test_noise_on_counts_is_centered_with_its_variance(kind):
    draws = 20_000
    noise = make_noise(kind, None if kind in ("auto", "opendp") else 7)
    scale = 3.0
    noisy = noise.counts(np.full(draws, 100, dtype=np.int64), scale) - 100
    if kind == "laplace":
        variance = 2 * scale**2
    else:
        assert (noisy == np.round(noisy)).all()
        ratio = np.exp(-1 / scale)
        variance = 2 * ratio / (1 - ratio) ** 2
    # Five standard errors: a false alarm about once in a million runs (OpenDP cannot be seeded).
    assert abs(noisy.mean()) < 5 * np.sqrt(variance / draws)
    assert abs(noisy.var() / variance - 1) < 5 * np.sqrt(5 / draws)


@pytest.mark.parametrize("kind", ["geometric", "opendp"])
def test_discrete_noise_has_the_two_sided_geometric_distribution(kind):
    noise = make_noise(kind, None if kind == "opendp" else 1)
    scale, draws = 1.5, 20_000
    noisy = noise.counts(np.zeros(draws, dtype=np.int64), scale)
    ratio = np.exp(-1 / scale)
    support = np.arange(-6, 7)
    expected = (1 - ratio) / (1 + ratio) * ratio ** np.abs(support)
    observed = np.array([(noisy == k).sum() for k in support])
    tail = draws - observed.sum(), 1 - expected.sum()
    test = stats.chisquare([*observed, tail[0]], draws * np.array([*expected, tail[1]]))
    assert test.pvalue > 1e-6  # false-alarm rate one in a million


@pytest.mark.parametrize(
    ("epsilon", "expected"), [(0.1, [0.4240, 0.3302, 0.1412, 0.1046]), (1.0, [0.9241, 0.0759, 1.54e-5, 7.7e-7])]
)
def test_selection_has_the_exponential_mechanisms_probabilities(epsilon, expected):
    draws = 100_000
    chosen = make_noise("laplace", 5).select(np.tile(VOTES, (draws, 1)), epsilon / 2)
    shares = np.bincount(chosen, minlength=4) / draws
    error = 5 * np.sqrt(np.array(expected) * (1 - np.array(expected)) / draws) + 1e-4
    assert (np.abs(shares - expected) < error).all()


def test_opendp_agrees_with_the_scale_we_ask_for():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    assert dp.m.make_laplace(*space, scale=14.0).map(1) == pytest.approx(1 / 14)


def test_reals_get_laplace_noise():
    for kind in ("laplace", "opendp"):
        noisy = make_noise(kind, None if kind == "opendp" else 2).reals(np.zeros(5_000), 2.0, grid=2.0**-20)
        assert stats.kstest(noisy, "laplace", args=(0, 2.0)).pvalue > 1e-6


def test_seeds_reproduce_and_streams_differ():
    counts = np.arange(10)
    assert (make_noise("laplace", 3).counts(counts, 1.0) == make_noise("laplace", 3).counts(counts, 1.0)).all()
    assert (make_noise("laplace", None).counts(counts, 1.0) != make_noise("laplace", None).counts(counts, 1.0)).any()
    assert generator(3, 0).random() != generator(3, 1).random()


def test_opendp_is_loaded_when_it_is_needed_or_in_the_background():
    code = (
        "import sys, threading, dpcore.mechanisms.noise as noise\n"
        "noise.make_noise('auto', None)\n"
        "assert 'opendp' not in sys.modules\n"
        "noise.load_in_background()\n"
        "[thread.join() for thread in threading.enumerate() if thread.name == 'opendp']\n"
        "assert 'opendp.prelude' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_seed_for_opendp_or_an_unknown_source_is_refused():
    with pytest.raises(ParameterError, match="cannot be seeded"):
        make_noise("opendp", 1)
    with pytest.raises(ParameterError, match="laplace"):
        make_noise("gaussian", 1)


def blocks_of(*scores):
    return [Block(np.zeros((len(some), 0), dtype=np.intp), np.array(some, dtype=float)) for some in scores]


BLOCKS = blocks_of([0.0, 1.0], [2.0], [-1.0, 0.5, 2.5, 0.5], [0.0])
FLAT = np.concatenate([block.scores for block in BLOCKS])
STARTS = np.cumsum([0] + [len(block.scores) for block in BLOCKS])


@pytest.mark.parametrize("factor", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("kind", ["laplace", "geometric", "opendp"])
def test_selection_among_blocks_is_selection_from_one_list(kind, factor):
    """First the block, then the place in it: 30,000 draws against the exact probabilities of the list."""
    noise, draws = make_noise(kind, None if kind == "opendp" else 8), 30_000
    chosen = [noise.select_among(BLOCKS, factor) for _ in range(draws)]
    observed = np.bincount([STARTS[block] + place for block, place in chosen], minlength=len(FLAT))
    weights = np.exp(factor * FLAT)
    assert stats.chisquare(observed, draws * weights / weights.sum()).pvalue > 1e-6


@pytest.mark.parametrize("kind", ["laplace", "opendp"])
def test_selection_among_blocks_with_exponents_beyond_any_float(kind):
    noise = make_noise(kind, None if kind == "opendp" else 1)
    for blocks, best in ((blocks_of([0.0], [-1e9, 1e9]), (1, 1)), (blocks_of([-1e9], [-2e9, -3e9]), (0, 0))):
        assert {noise.select_among(blocks, 1.0) for _ in range(20)} == {best}


def test_no_noise_is_exact_and_takes_the_best():
    noise = NoNoise()
    assert noise.counts(np.array([[3, 0]]), 1e9).tolist() == [[3.0, 0.0]]
    assert noise.reals(np.array([0.25, -1.0]), 1e9, grid=1.0).tolist() == [0.25, -1.0]
    for factor in (1e-9, 1.0, 1e9):
        assert noise.select(np.array([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]]), factor).tolist() == [1, 0]
        assert noise.select_among(BLOCKS, factor) == (2, 2)
        assert noise.select_among(blocks_of([0.0, 1.0], [1.0, 1.0]), factor) == (0, 1)  # the first of the best
    assert not noise.publishable
    with pytest.raises(ParameterError):
        make_noise(noise.on_counts, None)

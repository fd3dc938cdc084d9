"""The four attacks without a page: by hand on small tables, and as strong and as weak as they are said to be."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

from dpcore import datasets
from dpcore.dashboard.pages.attacks import averages, linkage_numbers, near_copies_numbers, secret_bits_numbers
from dpcore.text import odds

TABLE = pd.DataFrame({"age": [30, 30, 41, 41, 41], "sex": list("mfmmf"), "town": list("aaaab")})
EPSILONS = (0.01, 0.1, 1.0, 3.0, 10.0)


def lots(*shape, seed=1):
    return np.random.default_rng(seed).uniform(1e-300, 1, shape)


@pytest.fixture(scope="module")
def sample():
    return datasets.load("sample")


# Linkage


def test_who_is_alone_by_hand():
    codes = linkage_numbers.coded(TABLE, ["age", "sex", "town"])
    assert linkage_numbers.alone(codes[:, :2]).tolist() == [True, True, False, False, True]
    growth = linkage_numbers.growth(codes, ["age", "sex", "town"])
    assert (growth["share"].tolist(), growth["known"].iloc[-1]) == ([0.0, 0.6, 0.6], "age, sex, town")
    assert linkage_numbers.extremes(codes)[["low", "high"]].to_numpy().tolist() == [[0.0, 0.2], [0.2, 0.6], [0.6, 0.6]]
    assert linkage_numbers.share_alone(codes) == 0.6


def test_what_the_table_says_about_people_of_a_list():
    codes, rich = linkage_numbers.coded(TABLE, ["age", "sex"]), np.array([True, False, True, False, False])
    assert linkage_numbers.looked_up(codes, rich, [0, 2, 4]).to_numpy().tolist() == [[1, 1], [2, 1], [1, 0]]


def test_noise_on_counts_is_two_sided_geometric_and_the_guess_right_as_often_as_epsilon_allows():
    """Six standard errors: a false alarm in 1e-8 of all cases."""
    drawn = lots(2, 1, 40_000)
    for epsilon in EPSILONS:
        values = linkage_numbers.noise(epsilon, drawn)[0]
        zero = math.tanh(epsilon / 2)
        assert (values == 0).mean() == pytest.approx(zero, abs=6 * math.sqrt(zero / 40_000))
    for truths in (np.arange(40_000) % 2 == 0, np.full(40_000, False), np.full(40_000, True)):  # whatever is true
        for epsilon, share in linkage_numbers.share_right(truths, EPSILONS, drawn).itertuples(index=False):
            assert share == pytest.approx(odds(epsilon), abs=6 * 0.5 / 200)


# Secrets from counts


def test_three_people_and_their_counts_by_hand():
    """Persons 1 and 2: one secret; 2 and 3: two; 1 and 3: one. So it is 2 and 3."""
    groups = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=float)
    asked = secret_bits_numbers.Questions(groups, np.array([1.0, 2.0, 1.0]))
    assert asked.solved().tolist() == [False, True, True]
    assert asked.middle.tolist() == [1.0, 1.0, 1.0]


def test_noiseless_counts_give_500_secrets_away_and_noisy_ones_do_not():
    """The page's promise: at least 95% from noiseless counts, at most 60% at epsilon 1 per person in all."""
    rng = np.random.default_rng(5)
    bits = rng.permutation(np.arange(500) % 2 == 0)
    asked = secret_bits_numbers.random_queries(bits, 1_000, rng)
    noiseless = secret_bits_numbers.noiseless_share(bits, asked, [50, 250, 500, 1_000]).set_index("number")["share"]
    assert (noiseless[[500, 1_000]] >= 0.95).all()
    assert 0.5 < noiseless[50] < noiseless[250] < 0.95
    for number in (50, 500, 1_000):
        few = asked.first(number)
        found = secret_bits_numbers.noisy_share(bits, few, [0.01, 1.0, 1e7], lots(number, 10)).set_index("epsilon")[
            "share"
        ]
        assert found[1.0] <= 0.6
        assert found[0.01] == pytest.approx(0.5, abs=0.02)
        assert found[1e7] == pytest.approx(noiseless.get(number, 1.0), abs=0.02)  # no noise to speak of


def test_all_answers_share_epsilon():
    """What one person changes, in units of the noise's scale, sums to epsilon: they may be in every group."""
    assert secret_bits_numbers.scale(1_000, 1.0) == 1_000
    assert sum(1 / secret_bits_numbers.scale(40, 0.5) for _ in range(40)) == pytest.approx(0.5)
    noise = secret_bits_numbers.UNIT.quantile(lots(100_000))
    assert np.abs(noise).mean() == pytest.approx(1.0, abs=6 / math.sqrt(100_000))  # Laplace of scale 1


# Averages


def test_attributes_and_their_counts_by_hand():
    codes = np.array([[0, 1], [1, 2], [1, 2]])
    one = averages.attributes(codes, (2, 3), degree=1)
    assert (one.count, one.tables) == (5, 2)
    assert one.cells.tolist() == [[0, 3], [1, 4], [1, 4]]
    assert one.counts().tolist() == [1, 2, 0, 1, 2]
    two = averages.attributes(codes, (2, 3), degree=2)
    assert (two.count, two.tables) == (6, 1)
    assert two.cells.tolist() == [[1], [5], [5]]


def test_whoever_is_exchanged_moves_the_averages_by_what_the_noise_is_for():
    """All pairs of rows: the L1 change times 1 / scale is at most epsilon, and reaches it."""
    rows = np.array(list(product(range(2), range(3), range(2))))
    of = averages.attributes(rows, (2, 3, 2), degree=2)
    counts = [of.counts(np.array([row])) for row in range(len(rows))]
    most = max(np.abs(one - other).sum() for one, other in product(counts, repeat=2))
    assert most / 4 / averages.scale(of, 4, 0.7) == pytest.approx(0.7)


def test_picking_one_of_two_by_hand():
    assert averages.picked(np.array([2.0, 3.0]), np.array([1.0, 2.0])) == 3.5 / 4
    found = averages.histogram(np.array([9.0, 1.0]), np.array([-1.0, 1.0]), np.array([-2.0, 0.0, 2.0]))
    assert found[["inside", "outside"]].to_numpy().tolist() == [[0.0, 0.5], [1.0, 0.5]]  # beyond: in the last bin


def test_noiseless_averages_give_participants_away_and_noisy_ones_do_not(sample):
    """At epsilon 1 the mean over 30 studies has a standard error below 0.01; the limit is 0.731."""
    codes = sample.schema.encode(sample.train).astype(np.int64)
    of = averages.attributes(codes, sample.schema.sizes, degree=2)
    studies = [averages.random_study(of, 50, np.random.default_rng([7, place])) for place in range(30)]
    noiseless = np.mean([averages.picked(*study.scores(study.averages)) for study in studies])
    found = averages.share_picked(studies, [0.01, 1.0, 10_000.0], np.random.default_rng(8))["share"]
    assert noiseless > 0.9
    assert found[0] == pytest.approx(0.5, abs=0.005)  # noise of either sign
    assert found[1] < 0.56
    assert found[2] == pytest.approx(noiseless, abs=0.02)


# Distance to the closest record


def test_distances_by_hand():
    real = np.array([[0, 0, 0], [1, 1, 1]])
    assert near_copies_numbers.distances(np.array([[0, 0, 0], [0, 0, 2], [2, 1, 2], [2, 2, 2]]), real).tolist() == [
        0,
        1,
        2,
        3,
    ]


def test_a_release_that_keeps_what_is_known_and_the_secret_passes_the_test_of_distance(sample):
    """It is farther from the real rows than other people are, and each of its rows says somebody's income."""
    train, test = (sample.schema.encode(rows).astype(np.uint8) for rows in (sample.train, sample.test))
    names = list(sample.schema.names)
    kept = [names.index(name) for name in ("age", "sex", "education", "marital-status", "occupation", "income")]
    released = near_copies_numbers.scrambled(train, kept, np.random.default_rng(0))
    assert (
        near_copies_numbers.distances(released[:200], train).mean()
        > near_copies_numbers.distances(test[:200], train).mean() + 0.5
    )
    assert (released[:, kept] == train[:, kept]).all()

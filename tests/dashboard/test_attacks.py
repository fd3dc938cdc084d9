"""The four attacks without a page: by hand on small tables, and as strong and as weak as they are said to be."""

import math
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpcore import datasets
from dpcore.dashboard.pages.attacks import averages, linkage, near_copies, secret_bits_numbers
from dpcore.text import odds

TABLE = pd.DataFrame({"age": [30, 30, 41, 41, 41], "sex": list("mfmmf"), "town": list("aaaab")})
EPSILONS = (0.01, 0.1, 1.0, 3.0, 10.0)


def lots(*shape, seed=1):
    return np.random.default_rng(seed).uniform(1e-300, 1, shape)


@pytest.fixture(scope="module")
def sample():
    return datasets.load("sample")


# Linkage


def test_who_is_alone_by_hand(monkeypatch):
    monkeypatch.setattr(linkage, "sample", lambda: SimpleNamespace(train_sample=TABLE))
    monkeypatch.setattr(linkage, "alone", linkage.alone.__wrapped__)
    assert linkage.alone(("age", "sex")).tolist() == [True, True, False, False, True]
    growth = linkage.growth(("age", "sex", "town"))
    assert (growth["share"].tolist(), growth["known"].iloc[-1]) == ([0.0, 0.6, 0.6], "age, sex, town")
    assert not linkage.alone(()).any()


def test_what_the_table_says_about_people_of_a_list():
    known = ("age", "sex", "race")
    people = linkage.looked_up(known, 3)
    rows = linkage.sample().train_sample
    for found in people.to_dict("records"):
        fits = rows[(rows[[*known]] == [found[name] for name in known]).all(axis=1)]
        assert [found["rows that fit"], found["more than 50K"]] == [len(fits), (fits["income"] == ">50K").sum()]


def test_noise_on_counts_is_two_sided_geometric_and_the_guess_right_as_often_as_epsilon_allows():
    """Six standard errors: a false alarm in 1e-8 of all cases."""
    drawn = lots(2, 40_000)
    for epsilon in EPSILONS:
        values = linkage.noise(epsilon, drawn)
        zero = math.tanh(epsilon / 2)
        assert (values == 0).mean() == pytest.approx(zero, abs=6 * math.sqrt(zero / 40_000))
        for secret in (0, 1):  # whatever is true
            right = ((secret + values >= 1) == secret).mean()
            assert right == pytest.approx(odds(epsilon), abs=6 * 0.5 / 200)


# Secrets from counts


def test_three_people_and_their_counts_by_hand():
    """Persons 1 and 2: one secret; 2 and 3: two; 1 and 3: one. So it is 2 and 3."""
    groups = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=float)
    assert secret_bits_numbers.solve(groups, np.array([1.0, 2.0, 1.0])).tolist() == [False, True, True]


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
    """What one person changes, in units of the noise's scale, sums to epsilon: they may be in every group."""
    assert secret_bits_numbers.scale(1_000, 1.0) == 1_000
    assert sum(1 / secret_bits_numbers.scale(40, 0.5) for _ in range(40)) == pytest.approx(0.5)


# Averages


def test_attributes_and_their_counts_by_hand():
    codes = np.array([[0, 1], [1, 2], [1, 2]])
    one = averages.attributes(codes, (2, 3), degree=1)
    assert one.toarray().tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 1, 0, 0, 1]]
    two = averages.attributes(codes, (2, 3), degree=2)
    assert two.toarray().nonzero()[1].tolist() == [1, 5, 5]
    assert (two.shape, averages.tables(one), averages.tables(two)) == ((3, 6), 2, 1)


def test_whoever_is_exchanged_moves_the_averages_by_what_the_noise_is_for():
    """All pairs of rows: the L1 change times 1 / scale is at most epsilon, and reaches it."""
    rows = np.array(list(product(range(2), range(3), range(2))))
    of = averages.attributes(rows, (2, 3, 2), degree=2)
    most = max(np.abs(one - other).sum() for one, other in product(of.toarray(), repeat=2))
    assert most / 4 / averages.scale(averages.tables(of), 4, 0.7) == pytest.approx(0.7)


def test_picking_one_of_two_by_hand():
    assert averages.right_share(np.array([2.0, 3.0]), np.array([1.0, 2.0])) == 3.5 / 4
    found = averages.histogram(np.array([9.0, 1.0]), np.array([-1.0, 1.0]), np.array([-2.0, 0.0, 2.0]))
    assert found[["inside", "outside"]].to_numpy().tolist() == [[0.0, 0.5], [1.0, 0.5]]  # beyond: in the last bin


def test_noiseless_averages_give_participants_away_and_noisy_ones_do_not(sample):
    """At epsilon 1 the mean over 30 studies has a standard error below 0.01; the limit is 0.731."""
    codes = sample.schema.encode(sample.train).astype(np.int64)
    of = averages.attributes(codes, sample.schema.sizes, degree=2)
    studies = [averages.random_study(of, 50, np.random.default_rng([7, place])) for place in range(30)]
    found = averages.right_shares(studies, [0.01, 1.0, 10_000.0, math.inf], np.random.default_rng(8))["share"]
    assert found[3] == np.mean([averages.right_share(*study.scores(study.averages)) for study in studies]) > 0.9
    assert found[0] == pytest.approx(0.5, abs=0.005)  # noise of either sign
    assert found[1] < 0.56
    assert found[2] == pytest.approx(found[3], abs=0.02)


# Distance to the closest record


def test_distances_by_hand():
    """In columns, from the nearest real row, by codes."""
    rows = near_copies.sample().train_sample.head(3)
    assert near_copies.distances(rows).tolist() == [0, 0, 0]
    assert near_copies.distances(rows.assign(race="Other", sex="Female")).max() <= 2


def test_a_release_that_keeps_what_is_known_and_the_secret_passes_the_test_of_distance(sample):
    """It is farther from the real rows than other people are, and each of its rows says somebody's income."""
    released, kept = near_copies.permute(sample.train, 0), [*near_copies.KNOWN, "income"]
    assert near_copies.distances(released[:200]).mean() > near_copies.distances(sample.test[:200]).mean() + 0.5
    assert released[kept].equals(sample.train[kept])

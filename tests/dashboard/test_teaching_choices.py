"""Choices by lot, randomized answers and beliefs: the election of paper 000, and what one person changes."""

import math
from itertools import product

import numpy as np
import pytest

from dpcore.dashboard.pages.mechanisms.choices import (
    election,
    posterior,
    response_matrix,
    share_deviation,
    votes_from,
)
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import ERRPH

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
    with pytest.raises(ParameterError, match="Nobody voted"):
        election((5, 0), 1.0, "changes", 0)


def test_votes_are_read_and_bad_ones_told_but_not_repeated():
    assert votes_from("30 25;8,2") == votes_from("30, 25, 8, 2") == VOTES
    for text in ("30", "1,2,3,4,5,6,7,8,9", "30, many", "30, 2.5", "30, -1", "30, 99999999"):
        with pytest.raises(ParameterError) as caught:
            votes_from(text)
        assert "many" not in str(caught.value)


def test_an_estimated_share_varies_as_it_says():
    channel, people, repeats = ERRPH(4, epsilon=1.0), 500, 2_000
    by_report = response_matrix(channel).groupby("reported")["probability"]
    assert (by_report.max() / by_report.min()).to_list() == pytest.approx([math.e] * 4)
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
    for epsilon in (0.5, 800.0, -800.0):
        after = posterior(priors, epsilon)
        assert after[[0, -1]].tolist() == [0, 1]
        np.testing.assert_allclose(1 - after, posterior(1 - priors, -epsilon), atol=1e-12)

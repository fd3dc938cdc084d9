"""Numbers behind the charts of selection and randomized response, and beliefs after a release."""

import re
from collections.abc import Sequence
from itertools import product
from math import sqrt
from string import ascii_lowercase, ascii_uppercase

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, log_softmax, logit

from dpcore.arguments import Floats
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import KeepOrDraw

MOST_CANDIDATES = 8


def parse_votes(text: str) -> tuple[int, ...]:
    """Return the votes per candidate from a text of numbers with commas, semicolons or spaces.

    Raises
    ------
    ParameterError
        If the text is not 2 to 8 whole numbers of at most 6 digits.
    """
    parts = re.findall(r"[^\s,;]+", text)
    whole = all(re.fullmatch("[0-9]{1,6}", part) for part in parts)
    if not (whole and 2 <= len(parts) <= MOST_CANDIDATES):
        raise ParameterError(
            f"Votes must be 2 to {MOST_CANDIDATES} whole numbers from 0 to 999,999.",
            "Write the votes of each candidate, with commas between them: 30, 25, 8, 2.",
        )
    return tuple(map(int, parts))


def election(votes: Sequence[int], epsilon: float, voter: str, chosen: int) -> pd.DataFrame:
    """Return an election by the exponential mechanism in two worlds that differ in one vote.

    Parameters
    ----------
    votes : sequence of int
        Votes per candidate in the first world.
    epsilon : float
        Epsilon of the exponential mechanism at sensitivity 1: weights are e^(epsilon s / 2).
    voter : str
        "comes": the second world has one voter more. "changes": one voter of the first candidate
        with votes, other than `chosen`, votes for `chosen` instead.
    chosen : int
        Index of the candidate who gains a vote.

    Returns
    -------
    DataFrame
        One row per candidate: votes and probability in both worlds, and `log_ratio`, the log of the
        second world's probability over the first's.

    Raises
    ------
    ParameterError
        If a voter should change and no other candidate has a vote.

    Notes
    -----
    A voter who comes raises one score. That candidate's weight grows by e^(epsilon / 2), and the
    sum of weights by less. So no ratio leaves e^(± epsilon / 2). A voter who changes raises
    one score and lowers another, so ratios can reach e^(± epsilon).
    """
    other = np.array(votes)
    other[chosen] += 1
    if voter == "changes":
        left = [index for index, count in enumerate(votes) if count and index != chosen]
        if not left:
            raise ParameterError(
                "No other candidate has a vote, so no voter can change to this one.",
                "Give another candidate a vote, or let one voter be added.",
            )
        other[left[0]] -= 1
    first, second = (log_softmax(epsilon / 2 * np.array(counts)) for counts in (votes, other))
    found = {
        "candidate": list(ascii_uppercase[: len(votes)]),
        "votes": votes,
        "probability": np.exp(first),
        "votes_other": other,
        "probability_other": np.exp(second),
        "log_ratio": second - first,
    }
    return pd.DataFrame(found)


def response_matrix(channel: KeepOrDraw) -> pd.DataFrame:
    """Return the channel of a randomizer as a frame: `truth`, `reported`, `probability`.

    A channel gives the probability of each report for each true value. There is one row per pair of
    values. ERRPH, a rule of paper 004, of k values reports the truth with probability e^epsilon /
    (e^epsilon + k - 1), and each other value with probability 1 / (e^epsilon + k - 1).
    """
    pairs = product(ascii_lowercase[: channel.size], repeat=2)
    found = pd.DataFrame(pairs, columns=["truth", "reported"])
    return found.assign(probability=channel.matrix.T.ravel())


def share_deviation(channel: KeepOrDraw, share: float, people: int) -> float:
    """Return the standard deviation of a share estimated from the reports of `people` persons.

    `share` is the true share, and `channel` gives the probability of each report. The people are
    fixed; only the randomizer's draws vary.
    """
    return sqrt(channel.variance(np.array(share), people)[0] - share * (1 - share) / people)


def posterior(prior: ArrayLike, epsilon: float) -> Floats:
    """Return the largest belief possible after a release, from the belief `prior` in 0..1.

    By Bayes' rule the release multiplies the odds by a likelihood ratio, which is at most
    e^epsilon. With -epsilon, the result is the smallest possible belief.
    """
    return np.asarray(expit(logit(prior) + epsilon))

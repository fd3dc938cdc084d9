"""Mechanisms that give one of several values, and what an observer may believe after any of them."""

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


def votes_from(text: str) -> tuple[int, ...]:
    """Votes per candidate from numbers with commas or spaces between them; else ParameterError."""
    parts = re.findall(r"[^\s,;]+", text)
    whole = all(re.fullmatch("[0-9]{1,6}", part) for part in parts)
    if not (whole and 2 <= len(parts) <= MOST_CANDIDATES):
        raise ParameterError(
            f"An election has 2 to {MOST_CANDIDATES} candidates, each with 0 to 999,999 votes.",
            "Write the votes of each candidate, with commas between them: 30, 25, 8, 2.",
        )
    return tuple(map(int, parts))


def election(votes: Sequence[int], epsilon: float, voter: str, chosen: int) -> pd.DataFrame:
    """An election with sensitivity 1 in two worlds, one row per candidate, of whom one (`chosen`) gains a vote.

    The exponential mechanism's probabilities are in proportion to e^(epsilon s / 2). Votes are
    those without you; a voter comes, or "changes" and leaves the first other candidate who has a
    vote. `log_ratio` is of the other world, `votes_other` and `probability_other`, over the first.

    One voter more moves one score, and only up. The weight of that candidate grows by
    e^(epsilon / 2) and the sum of weights by less, so that no ratio leaves e^(± epsilon / 2). A
    voter who changes moves two scores, one of them down, and needs all of epsilon.
    """
    other = np.array(votes)
    other[chosen] += 1
    if voter == "changes":
        left = [index for index, count in enumerate(votes) if count and index != chosen]
        if not left:
            raise ParameterError(
                "Nobody voted for another candidate, so that no voter can change to this one.",
                "Give another candidate a vote, or let one voter come.",
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
    """What becomes of each of a few values: `truth`, `reported`, `probability`, one row per pair of values.

    With ERRPH of k values the truth is reported with probability e^epsilon / (e^epsilon + k - 1),
    every other value with 1 / (the same).
    """
    pairs = product(ascii_lowercase[: channel.size], repeat=2)
    found = pd.DataFrame(pairs, columns=["truth", "reported"])
    return found.assign(probability=channel.matrix.T.ravel())


def share_deviation(channel: KeepOrDraw, share: float, people: int) -> float:
    """The standard deviation of an estimated share of so many people, over their draws alone."""
    return sqrt(channel.variance(np.array(share), people)[0] - share * (1 - share) / people)


def posterior(prior: ArrayLike, epsilon: float) -> Floats:
    """The most that somebody can believe after an answer who believed `prior` (0..1) before; the least with -epsilon.

    Bayes: the odds are multiplied by the ratio of the answer's probabilities, and that is e^epsilon
    at most.
    """
    return np.asarray(expit(logit(prior) + epsilon))

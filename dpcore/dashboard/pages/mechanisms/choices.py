"""Mechanisms that give one of several values, and what an observer may believe after any of them."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import exp, log, sqrt
from string import ascii_lowercase, ascii_uppercase
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from dpcore.arguments import Floats
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import KeepOrDraw

Voter = Literal["comes", "changes"]
MOST_CANDIDATES, MOST_VOTES = 8, 1_000_000
FURTHEST = 700.0  # beyond it, e^-epsilon is nearly no number any more


def votes_from(text: str) -> tuple[int, ...]:
    """Votes per candidate from numbers with commas or spaces between them; else ParameterError."""
    parts = text.replace(",", " ").replace(";", " ").split()
    if not 2 <= len(parts) <= MOST_CANDIDATES:
        raise ParameterError(
            f"An election has 2 to {MOST_CANDIDATES} candidates, and here are {len(parts)}.",
            "Write the votes of each candidate, with commas between them: 30, 25, 8, 2.",
        )
    try:
        votes = tuple(int(part) for part in parts)
    except ValueError:
        raise ParameterError(
            "Votes are whole numbers, and one of these is not.", "Write them with digits only: 30, 25, 8, 2."
        ) from None
    if min(votes) < 0 or max(votes) > MOST_VOTES:
        raise ParameterError(f"A candidate has from 0 to {MOST_VOTES:,} votes.", "Write such numbers: 30, 25, 8, 2.")
    return votes


def log_choice(scores: ArrayLike, epsilon: float) -> Floats:
    """The exponential mechanism with sensitivity 1: the logarithms of probabilities in proportion to e^(epsilon s / 2).

    They are exact where the probabilities are too small for a float.
    """
    exponents = epsilon * np.asarray(scores, dtype=float) / 2
    exponents = exponents - exponents.max()
    return np.asarray(exponents - log(np.exp(exponents).sum()))


def election(votes: tuple[int, ...], epsilon: float, voter: Voter, chosen: int) -> pd.DataFrame:
    """An election with sensitivity 1 in two worlds, one row per candidate, of whom one (`chosen`) gains a vote.

    Votes are those without you; a voter comes, or leaves the first other candidate who has a vote. `log_ratio` is of
    the other world, `votes_other` and `probability_other`, over the first.
    """
    other = next((moved for up, moved in _neighbors(votes, voter) if up == chosen), None)
    if other is None:
        raise ParameterError(
            "Nobody voted for another candidate, so that no voter can change to this one.",
            "Give another candidate a vote, or let one voter come.",
        )
    first, second = log_choice(votes, epsilon), log_choice(other, epsilon)
    return pd.DataFrame(
        {
            "candidate": list(ascii_uppercase[: len(votes)]),
            "votes": votes,
            "probability": np.exp(first),
            "votes_other": other,
            "probability_other": np.exp(second),
            "log_ratio": second - first,
        }
    )


def choice_loss(votes: tuple[int, ...], epsilon: float, voter: Voter) -> float:
    """The largest absolute log ratio over all candidates that a voter may come to, or change to and from.

    One voter more moves one score, and only up. The weight of that candidate grows by e^(epsilon / 2) and the sum of
    weights by less, so that no ratio leaves e^(± epsilon / 2). A voter who changes moves two scores, one of them down,
    and needs all of epsilon.
    """
    base = log_choice(votes, epsilon)
    moves = (np.abs(log_choice(other, epsilon) - base) for _, other in _neighbors(votes, voter))
    return max((float(move.max()) for move in moves), default=0.0)


def _neighbors(votes: tuple[int, ...], voter: Voter) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The candidate who gains a vote, and the votes then: of everybody who may come, or change to and from."""
    for up in range(len(votes)):
        downs = [place for place, count in enumerate(votes) if count and place != up] if voter == "changes" else [None]
        for down in downs:
            other = np.array(votes)
            other[up] += 1
            if down is not None:
                other[down] -= 1
            yield up, other


def response_matrix(channel: KeepOrDraw, names: Sequence[str] = ascii_lowercase) -> pd.DataFrame:
    """What becomes of each of a few values: `truth`, `reported`, `probability`, one row per pair of values.

    With ERRPH of k values the truth is reported with probability e^epsilon / (e^epsilon + k - 1), every other value
    with 1 / (the same).
    """
    pairs = product(enumerate(names[: channel.size]), repeat=2)
    rows = [(truth, said, float(channel.matrix[j, i])) for (i, truth), (j, said) in pairs]
    return pd.DataFrame(rows, columns=["truth", "reported", "probability"])


def share_deviation(channel: KeepOrDraw, share: float, people: int) -> float:
    """The standard deviation of a share that is estimated from so many people's reports, over their lots alone."""
    true, other = float(channel.matrix[0, 0]), float(channel.matrix[0, 1])
    return sqrt((share * true * (1 - true) + (1 - share) * other * (1 - other)) / people) / (true - other)


def response_loss(frame: pd.DataFrame) -> float:
    """The largest log ratio of one report's probabilities over two truths: the epsilon of a channel."""
    by_report = frame.groupby("reported")["probability"]
    return float(np.log(by_report.max() / by_report.min()).max())


def posterior(prior: ArrayLike, epsilon: float) -> Floats:
    """The most that somebody can believe after an answer who believed `prior` (0..1) before; the least with -epsilon.

    Bayes: the odds are multiplied by the ratio of the answer's probabilities, and that is e^epsilon at most.
    """
    before = np.asarray(prior, dtype=float)
    fallen = exp(-min(abs(epsilon), FURTHEST))
    for_it, against = (before, fallen * (1 - before)) if epsilon >= 0 else (fallen * before, 1 - before)
    return np.asarray(for_it / (for_it + against))

"""Numbers of the coin game: one randomized answer, and the estimate from a made-up crowd."""

from math import sqrt

import numpy as np
import pandas as pd

from dpcore.language import phrase
from dpcore.mechanisms.randomizers import RRPH

ANSWERS = (phrase("no"), phrase("yes"))
Z = 1.96


def answer_with_coin(p0: float, truth: int, rng: np.random.Generator) -> tuple[bool, int]:
    """Return whether a person tells the truth on purpose, and the reported answer (0 or 1).

    The person tells the `truth` (0 or 1) with probability `p0`, and otherwise reports a fair coin.
    """
    honest = bool(rng.random() < p0)
    return honest, truth if honest else int(rng.random() < 0.5)


def ask_crowd(p0: float, share: float, people: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the counts of a crowd by report and truth, and the estimate of its share of "yes".

    `share` is the true share of "yes" among `people` persons; each tells the truth with probability
    `p0` and otherwise reports a fair coin.
    """
    truth = np.arange(people) < round(share * people)
    said = RRPH(p0=p0).report(truth.astype(np.int8), rng.random)
    cells = np.bincount(2 * said + truth, minlength=4)
    counts = pd.DataFrame({"said": np.repeat(ANSWERS, 2), "truth": np.tile(ANSWERS, 2), "people": cells})
    return counts, estimate_share(p0, said)


def estimate_share(p0: float, said: np.ndarray) -> pd.DataFrame:
    """Return the unbiased estimate of the share of "yes" with its 95% interval, as a one-row frame.

    `said` are the reports, 0 or 1, of n people, who told the truth with probability `p0` and
    otherwise reported a fair coin. The people are fixed and only their coins are random. Each
    report has variance a (1 - a) with a = (1 + p0) / 2, whatever its truth is. So the estimate has
    the known variance (1 - p0^2) / (4 n p0^2).
    """
    share = (said.mean() - (1 - p0) / 2) / p0
    half = Z * sqrt((1 - p0**2) / (4 * len(said))) / p0
    found = {"said": [said.mean()], "estimate": share, "low": share - half, "high": share + half}
    return pd.DataFrame(found)

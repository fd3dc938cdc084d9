"""The coin game: one answer by a coin, and what a crowd of such answers is worth. Everybody in it is made up."""

from math import sqrt

import numpy as np
import pandas as pd

from dpcore.language import phrase
from dpcore.mechanisms.randomizers import RRPH

ANSWERS = (phrase("no"), phrase("yes"))
Z = 1.96


def toss(p0: float, truth: int, rng: np.random.Generator) -> tuple[bool, int]:
    """Whether one person tells the truth on purpose, and what is reported."""
    honest = bool(rng.random() < p0)
    return honest, truth if honest else int(rng.random() < 0.5)


def ask(p0: float, share: float, people: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Counts of a crowd by report and truth, and its estimate; `share` of it is phrase("yes")."""
    truth = np.arange(people) < round(share * people)
    said = RRPH(p0=p0).report(truth.astype(np.int8), rng.random)
    cells = np.bincount(2 * said + truth, minlength=4)
    counts = pd.DataFrame({"said": np.repeat(ANSWERS, 2), "truth": np.tile(ANSWERS, 2), "people": cells})
    return counts, estimate(p0, said)


def estimate(p0: float, said: np.ndarray) -> pd.DataFrame:
    """The unbiased share of phrase("yes") with its interval.

    People are fixed and only their lots are random: each report varies by a (1 - a) with
    a = (1 + p0) / 2, whatever is true, so that the estimate's variance is (1 - p0^2) / (4 n p0^2)
    and needs no estimate itself.
    """
    share = (said.mean() - (1 - p0) / 2) / p0
    half = Z * sqrt((1 - p0**2) / (4 * len(said))) / p0
    found = {"said": [said.mean()], "estimate": share, "low": share - half, "high": share + half}
    return pd.DataFrame(found)

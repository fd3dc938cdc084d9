"""What a report about categories gives away."""

from collections.abc import Sequence
from math import isinf, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit

from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import ERRPH, OLH, OUE, CategoryChannel, KeepOrDraw, Warner
from dpcore.mechanisms.randomizers.base import Floats
from dpcore.mechanisms.randomizers.frequency_oracles import PRIME
from dpcore.teaching.report_privacy.averaging import averaging, prior_shares

HASHES, AT_ONCE = 20_000, 2_000


class Guess(NamedTuple):
    """How often the best guess of a person's value is right, with the report and without it.

    The error is half a 95 % interval of `right`; 0 where it is exact.
    """

    right: float
    alone: float
    error: float = 0.0


def sure(epsilon: float) -> float:
    """How sure somebody who was 50:50 between two answers can become at most: e^epsilon / (1 + e^epsilon)."""
    return float(expit(float(epsilon)))


def percent(share: float, *, certain: bool = True) -> str:
    """A share as text; what only rounding makes certain (`certain=False`: nothing is) is over 99.9 %."""
    if 0.9995 <= share < 1 or (share == 1 and not certain):
        return "over 99.9 %"
    return f"{100 * share:.1f} %"


def believed(epsilon: float, things: str) -> str:
    """What a finite epsilon says of two answers or numbers."""
    most = percent(sure(epsilon), certain=False)
    may = "can be" if most.startswith("over") else "is at most"
    return f"Whoever was 50:50 between two {things} {may} {most} sure after the report."


def breach(channel: CategoryChannel) -> Floats:
    """The paper's Breach of every value, shape (size,); it depends on how the channel is described."""
    if isinstance(channel, Warner):
        return np.full(2, channel.p**2 + (1 - channel.p) ** 2)
    if not isinstance(channel, ERRPH):
        raise ParameterError("Breach is defined for ERRPH, RRPH and Warner only.", "Use the best guess.")
    said = channel.p0 + channel.base
    return np.divide(channel.p0**2, said, out=np.zeros(channel.size), where=said > 0)


def best_guess(channel: CategoryChannel, prior: ArrayLike | None = None) -> Guess:
    """How often the best guess from a report is right, beside the best guess without any report.

    The prior is how many people have each value, which the observer knows; equal shares if nobody says.
    """
    shares = prior_shares(channel.size, prior)
    alone, falling, error = float(shares.max()), np.sort(shares)[::-1], 0.0
    if isinstance(channel, KeepOrDraw):
        right = float((channel.matrix * shares).max(axis=1).sum())
    elif isinstance(channel, OUE):
        q, unset = channel.q, falling[0] / (2 * (1 - channel.q))
        first = (1 - q) ** np.arange(channel.size)  # times q, with which the weight 1/(2q) makes 1/2
        right = float((first * np.maximum(falling / 2, q * unset)).sum() + (1 - q) ** channel.size * unset)
    elif isinstance(channel, OLH):
        found = _hashed(channel, shares)
        right, error = float(found.mean()), 1.96 * float(found.std()) / sqrt(len(found))
    else:
        raise ParameterError("The best guess is not known for this randomizer.", "Use ERRPH, Warner, OUE or OLH.")
    return Guess(min(max(right, alone), 1.0), alone, error)


def _hashed(channel: OLH, prior: Floats) -> Floats:
    """For so many hashes, drawn by a fixed seed, how often the best guess is right."""
    rng, found = np.random.default_rng(0), []
    hits, misses = channel.inner.gain + channel.inner.base[0], channel.inner.base[0]
    falling = np.argsort(-prior)
    for _ in range(HASHES // AT_ONCE):
        none = np.zeros((AT_ONCE, channel.places))
        a, b, _ = channel.report(np.zeros(AT_ONCE, dtype=np.int64), rng.random).T
        for value in falling[::-1]:  # the most probable of a place comes last
            none[np.arange(AT_ONCE), (a * value + b) % PRIME % channel.places] = prior[value]
        found.append(np.maximum(none * hits, prior.max() * misses).sum(axis=1))
    return np.concatenate(found)


def measures(channel: CategoryChannel, prior: ArrayLike | None = None) -> pd.DataFrame:
    """All measures of a channel for categories: what each says, and whether it is the same for every description."""
    guess, rows = best_guess(channel, prior), []
    if isinstance(channel, ERRPH | Warner):
        printed = float(breach(channel).max())
        text = f"The paper's figure, made of the rule's words: {percent(printed)}. No probability of a right guess."
        rows.append(("Breach", printed, text, False))
    shares = prior_shares(channel.size, prior)
    if isinstance(channel, KeepOrDraw):
        taken = float((shares * np.diag(channel.matrix)).sum())
        rows.append(("report is the truth", taken, f"Of 100 reports, {100 * taken:.3g} say what is true.", True))
    text = f"Who guesses well is right {percent(guess.right)} of the time."
    rows.append(("best guess, with the report", guess.right, text, True))
    text = f"Who sees no report, and knows how frequent each value is, is right {percent(guess.alone)} of the time."
    rows.append(("best guess, without it", guess.alone, text, True))
    epsilon = float(channel.epsilon)
    text = "Some report rules an answer out: no protection that one could put a number on."
    if not isinf(epsilon):
        text = believed(epsilon, "answers")
    rows.append(("epsilon", epsilon, text, True))
    rows.append(("50:50 becomes at most", sure(epsilon), "The same for any two answers, whatever else is known.", True))
    return pd.DataFrame(rows, columns=["measure", "value", "sentence", "of_channel"])


def descriptions(settings: Sequence[float], *, size: int = 2, reports: int = 9) -> pd.DataFrame:
    """Measures of RRPH and of Warner's rule at the same probabilities of [0, 1], and of ERRPH with more values.

    Warner's starts at 1/2: below it is the same with yes and no exchanged.
    """
    rows = []
    for setting in settings:
        channels: dict[str, KeepOrDraw] = {"RRPH": ERRPH(2, p0=setting)}
        if setting >= 0.5:
            channels["Warner"] = Warner(p=setting)
        if size > 2:
            channels[f"ERRPH, {size} values"] = ERRPH(size, p0=setting)
        for name, channel in channels.items():
            values = {
                "Breach": float(breach(channel).max()),
                "Best guess is right": best_guess(channel).right,
                f"Right after {reports} reports": float(averaging(channel, [reports])["right"].iloc[0]),
            }
            rows += [(name, setting, float(channel.epsilon), measure, value) for measure, value in values.items()]
    found = pd.DataFrame(rows, columns=["series", "setting", "epsilon", "measure", "value"])
    order = {"RRPH": 0, "Warner": 1}  # by name, although Warner's starts later
    return found.sort_values("series", key=lambda names: names.map(order).fillna(2), kind="stable", ignore_index=True)

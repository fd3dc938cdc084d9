"""The coin game: one answer by a coin, and what a crowd of such answers is worth. Everybody in it is made up."""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import pandas as pd

from dpcore.language import phrase
from dpcore.mechanisms.randomizers import RRPH, KeepOrDraw, Warner

ANSWERS = (phrase("no"), phrase("yes"))
Z = 1.96


@dataclass(frozen=True)
class Rule:
    """One channel for two answers, named for the words in which people are told it; `p0` is what a report is worth."""

    name: str
    p0: float

    @property
    def p(self) -> float:
        """Warner's probability of the truth for the same channel."""
        return (1 + self.p0) / 2

    @property
    def channel(self) -> KeepOrDraw:
        """The randomizer."""
        return RRPH(p0=self.p0) if self.name == "RRPH" else Warner(p=self.p)

    def after(self, said: int, prior: float = 0.5) -> float:
        """How sure an observer is of phrase("yes"), who thought so with probability `prior` before the report."""
        no, yes = self.channel.matrix[said] * (1 - prior, prior)
        return float(yes / (no + yes)) if no + yes else prior


@dataclass(frozen=True)
class Answer:
    """One person's answer: what is true, what the lot said, and what was reported."""

    rule: Rule
    truth: int
    honest: bool
    said: int


@dataclass(frozen=True, eq=False)
class Crowd:
    """A crowd's reports: `counts` of people by report and truth, and one row of `estimates` per crowd asked."""

    rule: Rule
    share: float
    people: int
    counts: pd.DataFrame
    estimates: pd.DataFrame


def toss(rule: Rule, truth: int, rng: np.random.Generator) -> Answer:
    """What one person reports."""
    if rule.name == "Warner":
        honest = bool(rng.random() < rule.p)
        return Answer(rule, truth, honest, truth if honest else 1 - truth)
    honest = bool(rng.random() < rule.p0)
    return Answer(rule, truth, honest, truth if honest else int(rng.random() < 0.5))


def ask(rule: Rule, share: float, people: int, rng: np.random.Generator) -> Crowd:
    """One crowd in which exactly that share is phrase("yes") (rounded to people), asked once."""
    yes = round(share * people)
    truth = np.repeat([0, 1], [people - yes, yes]).astype(np.int8)
    said = rule.channel.report(truth, rng.random)
    cells = np.bincount(2 * said + truth, minlength=4)
    counts = pd.DataFrame({"said": np.repeat(ANSWERS, 2), "truth": np.tile(ANSWERS, 2), "people": cells})
    return Crowd(rule, yes / people, people, counts, estimate(rule, said, people))


def estimate(rule: Rule, said: np.ndarray, people: int) -> pd.DataFrame:
    """The unbiased share of phrase("yes") with its interval.

    People are fixed and only their lots are random: each report varies by a (1 - a) with a = (1 + p0) / 2, whatever is
    true, so that the estimate's variance is (1 - p0^2) / (4 n p0^2) and needs no estimate itself.
    """
    support = np.bincount(said, minlength=2).astype(float)
    share = float(rule.channel.estimate(support, np.array(float(people)))[1] / people)
    half = Z * sqrt((1 - rule.p0**2) / (4 * people)) / rule.p0 if rule.p0 else inf
    return pd.DataFrame({"said": [support[1] / people], "estimate": share, "low": share - half, "high": share + half})

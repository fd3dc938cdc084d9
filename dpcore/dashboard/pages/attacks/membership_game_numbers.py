"""Rounds and scores of the membership game: is one person in the table? No real data are read.

A coin decides whether the person is in the table, and players guess. The release is a count with
two-sided geometric noise. No other release with that epsilon gives the membership away more often.
The best strategy is right in e^epsilon / (1 + e^epsilon) of all rounds.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.stats import binom, dlaplace

from dpcore.dashboard.histogram_pair import clopper_pearson
from dpcore.language import phrase
from dpcore.text import odds

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0)
ILL = (phrase("yes"), phrase("no"), "yes", "no", "yes")  # of the other people in the table
COUNT = ILL.count("yes")
QUERIES, AUTO, SHARE = 9, 100, 1e-2  # QUERIES and COUNT are also written in messages
PLAYERS, BEST = phrase("players"), phrase("best strategy")


@dataclass(frozen=True)
class Rules:
    """The rules of a game: the claimed epsilon, and whether the release keeps that claim.

    With `mode` "corrected", one count is released at epsilon. With "published", 9 counts are
    released at epsilon each, but epsilon is claimed for all of them.
    """

    epsilon: float
    mode: str = "corrected"

    @property
    def queries(self) -> int:
        """Number of released counts in a round: 1 if corrected, 9 if as published."""
        return 1 if self.mode == "corrected" else QUERIES

    @property
    def number(self) -> str:
        """Title of the number that players look at, a message to translate."""
        return phrase("Noisy count of ill people") if self.queries == 1 else phrase("Number of answers above 3, of 9")


@dataclass(frozen=True)
class Round:
    """One round: its rules, whether the person is in the table, and the released noisy counts."""

    rules: Rules
    is_member: bool
    answers: tuple[int, ...]

    @property
    def number(self) -> int:
        """The one noisy count, or how many of the 9 exceed the true count without the person."""
        return self.answers[0] if len(self.answers) == 1 else sum(x > COUNT for x in self.answers)

    @property
    def best_guess(self) -> bool:
        """Guess of the best strategy: True if the answers are likelier with the person."""
        return self.number > (COUNT if len(self.answers) == 1 else QUERIES // 2)


@dataclass
class Game:
    """State of the game: the current round, the guess in that round, and scores.

    `scores` has, by rules and player, the number of right guesses and of rounds.
    """

    round: Round | None = None
    guess: bool | None = None
    scores: dict[tuple[Rules, str], tuple[int, int]] = field(default_factory=dict)

    def start_round(self, rules: Rules) -> None:
        """Start a new random round. A button's callback."""
        self.round, self.guess = random_round(rules, np.random.default_rng()), None

    def submit_guess(self, is_member: bool) -> None:
        """Record the player's guess, if the round has none, and its score. A button's callback."""
        if self.round is not None and self.guess is None:
            self.guess = is_member
            self.add_score(self.round.rules, PLAYERS, int(is_member == self.round.is_member))

    def play_best_strategy(self, rules: Rules) -> None:
        """Let the best strategy play 100 rounds, and add its score. A button's callback."""
        self.add_score(rules, BEST, count_right_guesses(rules, AUTO, np.random.default_rng()), AUTO)

    def add_score(self, rules: Rules, who: str, right: int, rounds: int = 1) -> None:
        """Add rounds, and how many of them a player guessed right, to the scores.

        `who` is the player, `right` the number of right guesses in `rounds` rounds.
        """
        before = self.scores.get((rules, who), (0, 0))
        self.scores[rules, who] = (before[0] + right, before[1] + rounds)


def random_round(rules: Rules, rng: np.random.Generator) -> Round:
    """Return a new round of the membership game: a coin flip, and noisy answers.

    Each answer has two-sided geometric noise of scale 1 / epsilon.
    """
    inside = bool(rng.random() < 0.5)
    noise = np.subtract(*rng.geometric(-math.expm1(-rules.epsilon), (2, rules.queries)))
    return Round(rules, inside, tuple((noise + COUNT + inside).tolist()))


def count_right_guesses(rules: Rules, rounds: int, rng: np.random.Generator) -> int:
    """Return how many of `rounds` membership games the best strategy guesses right."""
    return sum(one.best_guess == one.is_member for one in (random_round(rules, rng) for _ in range(rounds)))


def best_share(rules: Rules) -> float:
    """Return the probability that the best strategy guesses a membership game right."""
    return float(binom.sf(rules.queries // 2, rules.queries, odds(rules.epsilon)))


def outcome_probabilities(rules: Rules) -> pd.DataFrame:
    """Return the probability of every number that a round of the game can show.

    The columns are `number`, and its probability `without` and `with` the person in the table.
    Noisy counts far from the true one are left out, as their probability is small.
    """
    if rules.queries > 1:
        number, sure = np.arange(QUERIES + 1), odds(rules.epsilon)
        worlds = [binom.pmf(number, QUERIES, share) for share in (1 - sure, sure)]
    else:
        reach = min(math.ceil(-math.log(SHARE) / rules.epsilon), 25)
        number = np.arange(COUNT - reach, COUNT + 2 + reach)
        worlds = [dlaplace.pmf(number - COUNT - inside, rules.epsilon) for inside in (0, 1)]
    return pd.DataFrame({"number": number, "without": worlds[0], "with": worlds[1]})


def score_frame(played: Game) -> pd.DataFrame:
    """Return the scores of the membership game: one row per rules and player.

    Each row has the share of right guesses, its 95% interval `low` to `high`, and `allowed`: the
    largest share that the claimed epsilon allows, e^epsilon / (1 + e^epsilon).
    """
    scores = played.scores.items()
    rows = [(who, rules.mode, rules.epsilon, *score) for (rules, who), score in scores]
    found = pd.DataFrame(rows, columns=["who", "mode", "epsilon", "right", "rounds"])
    right, rounds = (found[name].to_numpy(dtype=float) for name in ("right", "rounds"))
    found["share"], (found["low"], found["high"]) = right / rounds, clopper_pearson(right, rounds)
    found["allowed"] = [odds(epsilon) for epsilon in found["epsilon"]]
    return found.sort_values(["epsilon", "mode", "who"])

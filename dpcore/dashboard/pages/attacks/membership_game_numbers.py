"""The membership game: is X in the table? A coin decides, and players guess. No real data.

The release is a count with whole-number noise: of all releases with that epsilon none gives its
world away more often, so that whoever plays well is right in e^epsilon / (1 + e^epsilon) of all
rounds.
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
ILL = (phrase("yes"), phrase("no"), "yes", "no", "yes")  # of those who are in the table
COUNT = ILL.count("yes")
QUERIES, AUTO, SHARE = 9, 100, 1e-2  # the first and the count stand in phrases
PLAYERS, BEST = phrase("players"), phrase("best strategy")


@dataclass(frozen=True)
class Rules:
    """What is claimed, and whether it is true."""

    epsilon: float
    mode: str = "corrected"

    @property
    def queries(self) -> int:
        """How many queries are answered."""
        return 1 if self.mode == "corrected" else QUERIES

    @property
    def number(self) -> str:
        """What players look at, a phrase."""
        return phrase("Noisy number of ill people") if self.queries == 1 else phrase("Answers above 3, of 9")


@dataclass(frozen=True)
class Round:
    """One round: the rules, what the coin said, and what was released."""

    rules: Rules
    inside: bool
    answers: tuple[int, ...]

    @property
    def number(self) -> int:
        """What players look at: the answer, or how many of 9 lie above the count without X."""
        return self.answers[0] if len(self.answers) == 1 else sum(answer > COUNT for answer in self.answers)

    @property
    def best(self) -> bool:
        """What the best strategy says: that world which makes the answers likelier."""
        return self.number > (COUNT if len(self.answers) == 1 else QUERIES // 2)


@dataclass
class Game:
    """What was played: the round on the table, a guess, and hits and rounds by rules and player."""

    round: Round | None = None
    guess: bool | None = None
    scores: dict[tuple[Rules, str], tuple[int, int]] = field(default_factory=dict)

    def begin(self, rules: Rules) -> None:
        """Deal; this and what follows are callbacks of buttons."""
        self.round, self.guess = deal(rules, np.random.default_rng()), None

    def vote(self, inside: bool) -> None:
        """Guess, once per round."""
        if self.round is not None and self.guess is None:
            self.guess = inside
            self.count(self.round.rules, PLAYERS, int(inside == self.round.inside))

    def let_play(self, rules: Rules) -> None:
        """The best strategy plays."""
        self.count(rules, BEST, autoplay(rules, AUTO, np.random.default_rng()), AUTO)

    def count(self, rules: Rules, who: str, right: int, rounds: int = 1) -> None:
        """Write down rounds and how many of them were guessed right."""
        before = self.scores.get((rules, who), (0, 0))
        self.scores[rules, who] = (before[0] + right, before[1] + rounds)


def deal(rules: Rules, rng: np.random.Generator) -> Round:
    """A new round: a coin, and answers with whole-number noise of scale 1 / epsilon each."""
    inside = bool(rng.random() < 0.5)
    noise = np.subtract(*rng.geometric(-math.expm1(-rules.epsilon), (2, rules.queries)))
    return Round(rules, inside, tuple((noise + COUNT + inside).tolist()))


def autoplay(rules: Rules, rounds: int, rng: np.random.Generator) -> int:
    """How many of so many rounds the best strategy guesses right."""
    return sum(one.best == one.inside for one in (deal(rules, rng) for _ in range(rounds)))


def best_share(rules: Rules) -> float:
    """How often the best strategy is right."""
    return float(binom.sf(rules.queries // 2, rules.queries, odds(rules.epsilon)))


def chances(rules: Rules) -> pd.DataFrame:
    """How probable every number is without X and with: columns number, without, with."""
    if rules.queries > 1:
        number, sure = np.arange(QUERIES + 1), odds(rules.epsilon)
        worlds = [binom.pmf(number, QUERIES, share) for share in (1 - sure, sure)]
    else:
        reach = min(math.ceil(-math.log(SHARE) / rules.epsilon), 25)
        number = np.arange(COUNT - reach, COUNT + 2 + reach)
        worlds = [dlaplace.pmf(number - COUNT - inside, rules.epsilon) for inside in (0, 1)]
    return pd.DataFrame({"number": number, "without": worlds[0], "with": worlds[1]})


def score_frame(played: Game) -> pd.DataFrame:
    """One row per rules and player."""
    scores = played.scores.items()
    rows = [(who, rules.mode, rules.epsilon, *score) for (rules, who), score in scores]
    found = pd.DataFrame(rows, columns=["who", "mode", "epsilon", "right", "rounds"])
    right, rounds = (found[name].to_numpy(dtype=float) for name in ("right", "rounds"))
    found["share"], (found["low"], found["high"]) = right / rounds, clopper_pearson(right, rounds)
    found["allowed"] = [odds(epsilon) for epsilon in found["epsilon"]]
    return found.sort_values(["epsilon", "mode", "who"])

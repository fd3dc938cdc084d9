"""Twin worlds: a method is run often on each of two neighboring tables, and the two piles of numbers are compared.

A case names everything: the method and its parameters, the tables, and the number that an attacker
computes from what a run released. The verdict is on the claimed epsilon: an audit (`audit`) refutes
it, with the stated confidence, or proves nothing. The tables are small and invented, and stand in
`cases.toml` beside the attacks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Floats, Progress, no_progress
from dpcore.audit.bound import FEWEST, AuditResult, Event, separating_event, statistics
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.language import say
from dpcore.methods.base import PrivateEstimator
from dpcore.text import Verdict, read_toml

TABLE = read_toml(Path(__file__).with_name("cases.toml"))
MOST_ROWS = 1_000
Neighbors = tuple[pd.DataFrame, pd.DataFrame]


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One attack.

    With a `step`, only those of the ledger's questions are attacked whose names have it in them,
    and their claims are what the lower bound is compared with; by default it is the whole run's
    claim.
    """

    key: str  # stable and unique: method, mode, and what is attacked
    name: str  # what is attacked, for a menu
    # the two tables, what the attacker looks at, and why that tells them apart or cannot
    tale: tuple[str, ...]  # in sentences
    schema: Schema
    pair: tuple[pd.DataFrame, pd.DataFrame]  # neighbors under the estimator's relation
    estimator: PrivateEstimator  # unfitted and without a seed
    number: str  # what the attacker's number is, for the title of an axis
    statistic: Callable[[Any], float]  # of a fitted estimator, from what was released alone
    trials: int  # runs per world by default
    expected: Verdict | None = Verdict.OPEN  # None where no finite epsilon is claimed
    step: str = ""
    change: str = "{title}"  # what is said of the name where a row is added, or replaced
    other: str = ""  # what the tale calls the second table, as "{other}"

    @property
    def title(self) -> str:
        """The name, in the language of the screen; the following are, too."""
        return say(self.change, title=say(self.name))

    @property
    def story(self) -> str:
        """The tale, its sentences one after the other."""
        return " ".join(say(part, other=say(self.other)) for part in self.tale)

    @property
    def looks_at(self) -> str:
        """What the number is."""
        return say(self.number)

    @property
    def method(self) -> str:
        """The method by its name in `METHODS`."""
        return self.key.split("/")[0]

    @property
    def mode(self) -> str:
        """Of the method: "published" or "corrected"."""
        return self.estimator.mode

    def epsilons(self, ledger: Ledger) -> tuple[float, float]:
        """What is claimed, and what the noise proves, for that which is attacked; the attacker knows no seed."""
        if not self.step:
            return ledger.epsilon_claimed, ledger.epsilon_nominal
        entries = [entry for entry in ledger.entries if self.step in entry.name]
        of = ledger.measure.epsilon
        return of(sum(e.epsilon_claimed for e in entries)), of(sum(e.epsilon_nominal for e in entries))


@dataclass(frozen=True, eq=False)
class NeighboringPair:
    """What many runs in two worlds came to."""

    first: Floats  # the attacker's number, run by run
    second: Floats
    result: AuditResult
    event: Event  # by which the worlds are told apart

    @property
    def verdict(self) -> Verdict | None:
        """Whether the claim fails; None where no finite epsilon is claimed."""
        if not np.isfinite(self.result.claimed):
            return None
        return Verdict.FAILS if self.result.caught else Verdict.OPEN


def run(
    case: Case,
    trials: int | None = None,
    *,
    seed: int | None = None,
    progress: Progress = no_progress,
    alpha: float = 0.05,
) -> NeighboringPair:
    """Run a case's method in both worlds; a seed gives the same result again, without one all noise is fresh.

    `alpha` is how probable a lower bound may be that is too high.
    """
    trials = case.trials if trials is None else trials
    if trials < FEWEST:
        raise ParameterError(f"An audit needs {FEWEST} runs or more in each world.", "Raise trials.")
    worlds = case.estimator, case.schema, case.pair
    (first, second), ledger = statistics(*worlds, case.statistic, trials, seed=seed, progress=progress)
    claimed, bound = case.epsilons(ledger)
    if case.schema.source == "inferred":  # whoever reads bounds off the rows has proved nothing
        bound = np.inf
    event = separating_event(first, second, alpha=alpha, measure=ledger.measure)
    result = AuditResult(event.lower_bound, claimed, bound, 1 - alpha, trials, ledger.protects, ledger.delta)
    return NeighboringPair(first, second, result, event)


def schema_of(columns: Any, target: str | None = None, max_rows: int = MOST_ROWS) -> Schema:
    """A schema of columns by name, each with its categories or a table of all that it has.

    A text has a column of zeros and ones per letter.
    """
    named = columns if isinstance(columns, dict) else dict.fromkeys(columns, "01")
    kinds = [
        given if isinstance(given, dict) else {"kind": "categorical", "categories": tuple(given)}
        for given in named.values()
    ]
    made = [Column(name=name, **kind) for name, kind in zip(named, kinds, strict=True)]
    return Schema(columns=tuple(made), target=target, max_rows=max_rows or None)


def frame_of(schema: Schema, rows: dict[str, int], times: int = 1) -> pd.DataFrame:
    """Rows, each so many times: "011" has a value per letter, "0,yes" has them between commas."""
    values = {row: row.split(",") if "," in row else [*row] for row in rows}
    found = [values[row] for row, count in rows.items() for _ in range(count * times)]
    frame = pd.DataFrame(found, columns=list(schema.names), dtype=object)
    return frame.astype({column.name: float for column in schema if column.numeric})


def neighbors(given: dict[str, Any], *, replaced: bool) -> tuple[Schema, Neighbors]:
    """The schema of a pair, and its data sets: the second has a row more, or its last replaced."""
    schema = schema_of(given["columns"], given.get("target"), given.get("max_rows", MOST_ROWS))
    rows = given.get("replaced", given["rows"]) if replaced else given["rows"]
    first = frame_of(schema, rows, given.get("times", 1))
    parts = [first.iloc[:-1] if replaced else first, frame_of(schema, {given["new"]: 1})]
    return schema, (first, pd.concat(parts, ignore_index=True))


def pair_of(name: str) -> Neighbors:
    """The two data sets of a pair in which a row is replaced."""
    return neighbors(TABLE["pairs"][name], replaced=True)[1]

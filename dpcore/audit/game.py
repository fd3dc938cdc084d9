"""Twin worlds: run a method often on two neighboring data sets and compare its outputs.

A case names everything: the method and its parameters, the two data sets, and the statistic that an
attacker computes from each release. The verdict is about the claimed epsilon: an audit (`audit`)
refutes it, with the stated confidence, or proves nothing. The data sets are small and invented;
`cases.toml` has them and the attacks.
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
    """One attack on a method.

    With a `step`, only the ledger entries whose names contain it are attacked, and the lower bound
    is compared with their claimed epsilon. By default it is compared with the claimed epsilon of
    the whole run.
    """

    key: str  # stable and unique: method, mode and attacked release
    name: str  # title in a menu
    # Sentences about the two data sets, the attacker's statistic, and why it separates them or not
    tale: tuple[str, ...]
    schema: Schema
    pair: tuple[pd.DataFrame, pd.DataFrame]  # neighbors under the estimator's relation
    estimator: PrivateEstimator  # unfitted and without a seed
    number: str  # title of the axis of the attacker's statistic
    statistic: Callable[[Any], float]  # of a fitted estimator, from its released values only
    trials: int  # default number of runs on each data set
    expected_verdict: Verdict | None = Verdict.OPEN  # None where no finite epsilon is claimed
    step: str = ""
    change: str = "{title}"  # pattern of the title: a row is added, or replaced
    second_table: str = ""  # the second data set in words, for "{other}" in the tale

    @property
    def title(self) -> str:
        """Title of the attack, in the language of the screen."""
        return say(self.change, audit_case=say(self.name))

    @property
    def story(self) -> str:
        """Description of the attack in the language of the screen, in one paragraph."""
        return " ".join(say(part, other=say(self.second_table)) for part in self.tale)

    @property
    def statistic_title(self) -> str:
        """Title of the attacker's statistic, in the language of the screen."""
        return say(self.number)

    @property
    def method(self) -> str:
        """Name of the attacked method in `METHODS`."""
        return self.key.split("/")[0]

    @property
    def mode(self) -> str:
        """Mode of the attacked method: "published" or "corrected"."""
        return self.estimator.mode

    def epsilons(self, ledger: Ledger) -> tuple[float, float]:
        """Return the claimed and the nominal epsilon of the attacked entries of a run's ledger."""
        if not self.step:
            return ledger.epsilon_claimed, ledger.epsilon_nominal
        entries = [entry for entry in ledger.entries if self.step in entry.name]
        of = ledger.measure.epsilon
        return of(sum(e.epsilon_claimed for e in entries)), of(sum(e.epsilon_nominal for e in entries))


@dataclass(frozen=True, eq=False)
class PairRuns:
    """Statistics of many runs on two neighboring data sets, and the audit's result."""

    first: Floats  # the attacker's statistic of each run on the first data set
    second: Floats
    result: AuditResult
    event: Event  # that separates the two data sets

    @property
    def verdict(self) -> Verdict | None:
        """Whether the claimed epsilon fails or stays open; None without a finite claim."""
        if not np.isfinite(self.result.epsilon_claimed):
            return None
        return Verdict.FAILS if self.result.refutes_claim else Verdict.OPEN


def run(
    case: Case,
    trials: int | None = None,
    *,
    seed: int | None = None,
    progress: Progress = no_progress,
    alpha: float = 0.05,
) -> PairRuns:
    """Run a case's method on both data sets and bound its epsilon from below.

    Parameters
    ----------
    case : Case
        The attack.
    trials : int, optional
        The number of runs on each data set; by default the case's.
    seed : int, optional
        Makes the runs reproducible. Without a seed all noise is fresh.
    progress : callable, optional
        Called with the fraction done and a text.
    alpha : float, default=0.05
        The probability that the lower bound is too high.

    Returns
    -------
    PairRuns
        The statistics of all runs, the audit's result and the separating event.
    """
    trials = case.trials if trials is None else trials
    if trials < FEWEST:
        raise ParameterError(f"An audit needs {FEWEST} runs or more on each data set.", "Raise `trials`.")
    worlds = case.estimator, case.schema, case.pair
    (first, second), ledger = statistics(*worlds, case.statistic, trials, seed=seed, progress=progress)
    claimed, bound = case.epsilons(ledger)
    if case.schema.source == "inferred":  # with bounds taken from the rows, nothing is proven
        bound = np.inf
    event = separating_event(first, second, alpha=alpha, measure=ledger.measure)
    result = AuditResult(event.lower_bound, claimed, bound, 1 - alpha, trials, ledger.protects, ledger.delta)
    return PairRuns(first, second, result, event)


def make_schema(columns: Any, target: str | None = None, max_rows: int = MOST_ROWS) -> Schema:
    """Return the schema of a pair of data sets in `cases.toml`.

    `columns` has the categories or the fields of each column, by name; a text has one column of
    zeros and ones per letter. A `max_rows` of 0 means no public maximum.
    """
    named = columns if isinstance(columns, dict) else dict.fromkeys(columns, "01")
    kinds = [
        given if isinstance(given, dict) else {"kind": "categorical", "categories": tuple(given)}
        for given in named.values()
    ]
    made = [Column(name=name, **kind) for name, kind in zip(named, kinds, strict=True)]
    return Schema(columns=tuple(made), target=target, max_rows=max_rows or None)


def make_frame(schema: Schema, rows: dict[str, int], times: int = 1) -> pd.DataFrame:
    """Return a data frame with each row of `rows` repeated by its count.

    All rows are repeated `times` times. A row is a text: "011" has one value per letter, "0,yes"
    has values between commas.
    """
    values = {row: row.split(",") if "," in row else [*row] for row in rows}
    found = [values[row] for row, count in rows.items() for _ in range(count * times)]
    frame = pd.DataFrame(found, columns=list(schema.names), dtype=object)
    return frame.astype({column.name: float for column in schema if column.numeric})


def neighbors(given: dict[str, Any], *, replaced: bool) -> tuple[Schema, Neighbors]:
    """Return the schema and the two data sets of a pair in `cases.toml`.

    `given` has the pair's fields. The second data set has one row more or, with `replaced`, another
    last row.
    """
    schema = make_schema(given["columns"], given.get("target"), given.get("max_rows", MOST_ROWS))
    rows = given.get("replaced", given["rows"]) if replaced else given["rows"]
    first = make_frame(schema, rows, given.get("times", 1))
    parts = [first.iloc[:-1] if replaced else first, make_frame(schema, {given["new"]: 1})]
    return schema, (first, pd.concat(parts, ignore_index=True))


def replaced_pair(name: str) -> Neighbors:
    """Return the two data sets of a named pair in `cases.toml` that differ in one replaced row."""
    return neighbors(TABLE["pairs"][name], replaced=True)[1]

"""Twin worlds: a method is run often on each of two neighboring tables, and the two piles of numbers are compared.

A case names everything: the method and its parameters, the tables, and the number that an attacker computes from what
a run released. The verdict is an audit's (`audit`): "caught" refutes the claimed epsilon, with the stated confidence;
"not caught" proves nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress, no_progress
from dpcore.audit.bound import FEWEST, AuditResult, Event, separating_event
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.methods.base import PrivateEstimator

Floats = NDArray[np.float64]
Verdict = Literal["caught", "not caught", "no claim"]
TOLD = 200  # how often a run tells how far it is


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One attack.

    Attributes
    ----------
    key : str
        Stable and unique: method, mode, and what is attacked.
    method, mode : str
        The method by its name in `METHODS`.
    title : str
        What is attacked, for a menu.
    story : str
        The two tables, what the attacker looks at, and why that tells them apart or cannot.
    relation : str
        Under which the two tables are neighbors.
    schema : Schema
    pair : two DataFrames
    estimator : PrivateEstimator
        Unfitted and without a seed.
    looks_at : str
        What the number is, for the title of an axis.
    statistic : callable
        Fitted estimator -> number, from what was released alone.
    trials : int
        Runs per world by default.
    expected : {"caught", "not caught", "no claim"}
    step : str
        Of the ledger's questions, only those whose names have this in them are attacked, and their claims are what the
        lower bound is compared with; by default the whole run's claim.
    """

    key: str
    method: str
    mode: str
    title: str
    story: str
    relation: str
    schema: Schema
    pair: tuple[pd.DataFrame, pd.DataFrame]
    estimator: PrivateEstimator
    looks_at: str
    statistic: Callable[[PrivateEstimator], float]
    trials: int
    expected: Verdict
    step: str = ""

    def epsilons(self, ledger: Ledger) -> tuple[float, float]:
        """What is claimed, and what the noise proves, for that which is attacked; the attacker knows no seed."""
        if not self.step:
            return ledger.epsilon_claimed, ledger.epsilon_of_noise
        entries = [entry for entry in ledger.entries if self.step in entry.name]
        claimed, bound = (
            sum(getattr(entry, name) for entry in entries) for name in ("epsilon_claimed", "epsilon_of_noise")
        )
        return float(claimed), float(bound)


@dataclass(frozen=True, eq=False)
class Twins:
    """What many runs in two worlds came to.

    Attributes
    ----------
    first, second : arrays of shape (trials,)
        The attacker's number, run by run.
    result : AuditResult
    event : Event
        By which the worlds are told apart: threshold, side, and how often it happened.
    """

    first: Floats
    second: Floats
    result: AuditResult
    event: Event

    @property
    def verdict(self) -> Verdict:
        """Whether the claim is refuted; "no claim" where no finite epsilon is claimed."""
        if not np.isfinite(self.result.claimed):
            return "no claim"
        return "caught" if self.result.caught else "not caught"


def run(
    case: Case,
    trials: int | None = None,
    *,
    seed: int | None = None,
    progress: Progress = no_progress,
    alpha: float = 0.05,
) -> Twins:
    """Run a case's method in both worlds.

    Parameters
    ----------
    case : Case
    trials : int, optional
        Runs per world; by default the case's.
    seed : int, optional
        For the same result again. Without it all noise is fresh.
    progress : callable
    alpha : float
        How probable a lower bound may be that is too high.

    Returns
    -------
    Twins

    Notes
    -----
    Runs of the two worlds alternate. Every run is a whole one, through the method's public interface.
    """
    trials = case.trials if trials is None else trials
    if trials < FEWEST:
        raise ParameterError(f"An audit needs {FEWEST} runs or more in each world.", "Raise trials.")
    seeds = None if seed is None else np.random.SeedSequence(seed).generate_state(2 * trials, np.uint64) >> 1
    found, every = np.empty((2, trials)), max(trials // TOLD, 1)
    claimed = bound = np.nan
    schema, estimator = remembering(case.schema, case.pair), clone(case.estimator)
    for done in range(trials):
        for world, frame in enumerate(case.pair):
            estimator.random_state = None if seeds is None else int(seeds[2 * done + world])
            estimator.fit(frame, schema=schema)
            if not done and not world:
                claimed, bound = case.epsilons(estimator.ledger_)
                if case.schema.source == "inferred":  # whoever reads bounds off the rows has proved nothing
                    bound = np.inf
            found[world, done] = case.statistic(estimator)
        if (done + 1) % every == 0 or done + 1 == trials:
            progress((done + 1) / trials, f"Run {done + 1:,} of {trials:,} in each world")
    event = separating_event(found[0], found[1], alpha=alpha)
    result = AuditResult(event.lower_bound, claimed, bound, 1 - alpha, trials)
    return Twins(found[0], found[1], result, event)


def remembering(schema: Schema, tables: tuple[pd.DataFrame, ...]) -> Schema:
    """The same schema, which encodes these tables once; thousands of fits would do it over and over."""
    known = [(table, schema.encode(table)) for table in tables]

    class Remembering(Schema):
        def encode(self, frame: pd.DataFrame) -> Codes:
            for table, codes in known:
                if table is frame and self.columns is schema.columns:
                    return codes.copy(order="F")
            return super().encode(frame)

    return Remembering(**{field.name: getattr(schema, field.name) for field in fields(schema)})

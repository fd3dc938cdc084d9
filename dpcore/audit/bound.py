"""Empirical lower bounds on epsilon: run a method on two neighboring tables and count how often an event happens.

If a method is epsilon-DP, then Pr[event | D] <= e^epsilon Pr[event | D'] for every event.
Confidence bounds on the two probabilities (Clopper and Pearson 1934) turn counts into a lower bound
that is too high with probability at most `alpha`. A bound above the claim refutes the claim; a
bound below it proves nothing.

A run that counts rho claims more than one pair of epsilon and delta: a whole curve of them, as the
Rényi divergences of all orders say. Whether an event happens is post-processing, so the divergence
of its two probabilities is at most rho alpha for every order alpha; it rises with the larger one
and falls with the smaller. The same two confidence bounds hence bound rho from below, whatever
orders are tried, and the epsilon of that rho stands beside the claimed one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.base import clone

from dpcore.accounting.currency import PURE, PrivacyMeasure
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import ProtectedUnit
from dpcore.arguments import Floats, Ints, Progress, is_whole, no_progress
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.methods.base import PrivateEstimator

FEWEST = 20
ORDERS = 1 + np.geomspace(1e-3, 1e3, 60)  # of Rényi divergences; each bounds rho by itself
LEAST = 1e-300  # in place of a probability of 0, where it is 0 in both worlds
REPORT_EVERY = 200  # how often many runs tell how far they are
RUNS, WORLD = phrase("Run {run:,} of {trials:,} in each world"), phrase("World {side:d} done")
Runs = Callable[[pd.DataFrame, int], Sequence[Any]]
"""A mechanism as a function: (frame, number of runs) -> that many independent outputs."""


@dataclass(frozen=True)
class AuditResult:
    """What an audit found: with this confidence, epsilon is at least the lower bound.

    All epsilons are those of what a run `protects`: a row, or a person with all rows
    (`Schema.unit`), by whom the two neighboring data sets then differ. They hold at `delta`, where
    that is not 0.

    Attributes
    ----------
    lower_bound : float
        The lower confidence bound on epsilon; 0 if nothing was found.
    claimed, bound : float
        The ledger's claimed and nominal epsilon of one run; NaN if the mechanism has no ledger.
    confidence : float
        The probability that the lower bound holds, 1 - alpha.
    trials : int
        The runs on each of the two data sets, half of which chose the threshold.
    protects : {"row", "person"}
        The protected unit.
    delta : float
        The delta of all epsilons; 0 for pure ones.
    """

    lower_bound: float
    claimed: float
    bound: float
    confidence: float
    trials: int
    protects: ProtectedUnit = "row"
    delta: float = 0.0

    @property
    def caught(self) -> bool:
        """Whether the claim is refuted."""
        return self.lower_bound > self.claimed


@dataclass(frozen=True)
class Event:
    """How an audit tells two data sets apart: a run's number is at or beyond a threshold.

    Attributes
    ----------
    threshold : float
        The number; infinite if no event promised anything.
    above : bool
        Whether the event is "at or above"; otherwise "at or below".
    likely : {0, 1}
        The data set, the first or the second, in which it happens more often.
    hits : tuple of two ints
        How often it happened on the two data sets, among the runs that were counted.
    counted : int
        Those runs, per data set.
    lower_bound : float
        The lower confidence bound on epsilon.
    """

    threshold: float
    above: bool
    likely: int
    hits: tuple[int, int]
    counted: int
    lower_bound: float


def lower_bound(
    hits: int, hits_other: int, trials: int, *, alpha: float = 0.05, delta: float = 0.0, measure: PrivacyMeasure = PURE
) -> float:
    """Return a lower confidence bound on epsilon from event counts on two neighboring data sets.

    It is ln((p_lo - delta) / q_hi) with one-sided Clopper-Pearson bounds at alpha/2 each, and at
    least 0. If the privacy measure counts rho it is the epsilon of the rho that these bounds call
    for.

    Parameters
    ----------
    hits, hits_other : int
        In how many runs the event happened on the data set that makes it likely, and on the other.
    trials : int
        The runs on each data set.
    alpha : float, default=0.05
        The probability that the bound does not hold, in (0, 1).
    delta : float, default=0.0
        The delta at which epsilon is bounded, in [0, 1).
    measure : Currency, optional
        The privacy measure in which the mechanism's loss is counted. Default: pure epsilon.

    Returns
    -------
    float
        The bound, in epsilon.

    Examples
    --------
    >>> from dpcore.audit import lower_bound
    >>> round(lower_bound(900, 300, 1_000), 3)
    0.982
    """
    found = _lower_bounds(np.array([hits]), np.array([hits_other]), trials, alpha, delta, measure)
    return measure.epsilon(float(found[0]))


def _lower_bounds(
    hits: Ints, others: Ints, trials: int, alpha: float, delta: float, measure: PrivacyMeasure = PURE
) -> Floats:
    """The same for many events at once, as amounts of the currency."""
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, beta.ppf(alpha / 2, hits, trials - hits + 1), 0.0) - delta
        high = np.where(others < trials, beta.ppf(1 - alpha / 2, others + 1, trials - others), 1.0)
    low = np.maximum(low, high)
    if not measure.delta:
        return np.asarray(np.log(low / high))
    logs = [np.log(np.maximum(each, LEAST))[..., None] for each in (low, high, 1 - low, 1 - high)]
    parts = [ORDERS * one - (ORDERS - 1) * other for one, other in (logs[:2], logs[2:])]
    divergences = np.logaddexp(*parts) / (ORDERS - 1)
    return np.where(low > high, np.maximum((divergences / ORDERS).max(axis=-1), 0.0), 0.0)


def lower_bound_of_statistics(
    first: NDArray[np.floating[Any]],
    second: NDArray[np.floating[Any]],
    *,
    alpha: float = 0.05,
    delta: float = 0.0,
    measure: PrivacyMeasure = PURE,
) -> float:
    """Return a lower bound on epsilon from one number per run on two neighboring data sets.

    Parameters
    ----------
    first, second : array of shape (trials,)
        The numbers of the runs on each data set, as many of both.
    alpha, delta, currency
        As for `lower_bound`.

    Returns
    -------
    float
        The bound of `separating_event`, in epsilon.

    Raises
    ------
    ParameterError
        As for `separating_event`.
    """
    return separating_event(first, second, alpha=alpha, delta=delta, measure=measure).lower_bound


def separating_event(
    first: NDArray[np.floating[Any]],
    second: NDArray[np.floating[Any]],
    *,
    alpha: float = 0.05,
    delta: float = 0.0,
    measure: PrivacyMeasure = PURE,
) -> Event:
    """Find the event that tells two neighboring data sets apart best, from one number per run.

    The first half of the runs chooses the event (above or below a threshold, and which data set
    makes it likely) that promises most; the second half alone is counted, so the choice costs no
    confidence.

    Parameters
    ----------
    first, second : array of shape (trials,)
        The numbers of the runs on each data set, as many of both.
    alpha, delta, currency
        As for `lower_bound`.

    Returns
    -------
    Event
        The event, its counts and its lower bound.

    Raises
    ------
    ParameterError
        If there are fewer than `FEWEST` runs or not equally many, or `alpha` or `delta` is out of
        range.
    """
    if len(first) != len(second) or len(first) < FEWEST:
        raise ParameterError(
            f"An audit needs the same number of runs, {FEWEST} or more, on both tables.", "Raise trials."
        )
    if not (0 < alpha < 1 and 0 <= delta < 1):
        raise ParameterError("The 'alpha' or 'delta' parameter is not a probability.", "Try alpha=0.05, delta=0.")
    half = len(first) // 2
    choose, count = (first[:half], second[:half]), (first[half:], second[half:])
    tail = np.geomspace(1e-4, 0.5, 100)
    levels = np.concatenate([tail, 1 - tail])
    thresholds = np.unique(np.quantile(np.concatenate(choose), levels, method="nearest"))
    above = np.array([half - np.searchsorted(np.sort(values), thresholds) for values in choose])
    below = np.array([np.searchsorted(np.sort(values), thresholds, "right") for values in choose])
    hits = np.stack([above, below], axis=-1)  # by world, threshold and sign
    promised = _lower_bounds(hits, hits[::-1], half, alpha, delta, measure).transpose(1, 2, 0)
    threshold, sign, side = np.inf, 1.0, 0
    if promised.max() > 0:
        index, below_it, side = map(int, np.unravel_index(promised.argmax(), promised.shape))
        threshold, sign = float(thresholds[index]), 1.0 - 2 * below_it
    counted = [int((sign * values >= sign * threshold).sum()) for values in count]
    runs, both = len(count[0]), (counted[side], counted[1 - side])
    found = lower_bound(*both, runs, alpha=alpha, delta=delta, measure=measure)
    return Event(threshold, sign > 0, side, (counted[0], counted[1]), runs, found)


def audit(
    method: PrivateEstimator | Runs,
    pair: tuple[pd.DataFrame, pd.DataFrame],
    event: Callable[[Any], float],
    trials: int,
    *,
    schema: Schema | None = None,
    alpha: float = 0.05,
    delta: float = 0.0,
    progress: Progress = no_progress,
) -> AuditResult:
    """Run a method on both data sets of a neighboring pair and bound its epsilon from below.

    Parameters
    ----------
    method : estimator or callable
        An unfitted estimator without a seed (`schema` is then needed; an output is a fit of it), or
        a function (frame, runs) -> outputs.
    pair : two DataFrames
        Neighbors under the method's relation: by one row, or by one person where the schema's
        privacy unit names persons.
    event : callable
        Output -> number (or bool); how the number separates the data sets is found from the first
        half of the runs.
    trials : int
        Runs on each data set, `FEWEST` or more.
    schema : Schema, optional
        What is public about the rows; for an estimator.
    alpha : float, default=0.05
        The probability that the bound does not hold, in (0, 1).
    delta : float, default=0.0
        That of `lower_bound`. An estimator that counts rho is audited by the whole curve, and takes
        no delta here.
    progress : callable, optional
        Called with a fraction and a text; raising inside it cancels.

    Returns
    -------
    AuditResult
        The lower bound beside the claimed and the nominal epsilon.

    Raises
    ------
    ParameterError
        If there are too few runs, an estimator has a seed or no schema, a function does not give
        one output per run, or `alpha` or `delta` is out of range.

    Examples
    --------
    A "mechanism" that answers without noise is caught:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from dpcore.audit import audit
    >>> rows = pd.DataFrame({"ill": [1, 1, 0, 1]})
    >>> def count(frame, runs):
    ...     return np.full(runs, frame["ill"].sum())
    >>> found = audit(count, (rows, rows.iloc[1:]), float, trials=1_000)
    >>> found.lower_bound > 4
    True
    """
    if not is_whole(trials, FEWEST):
        raise ParameterError(f"An audit needs {FEWEST} runs or more on each table.", "Raise trials.")
    claimed = bound = np.nan
    protects: ProtectedUnit = "row"
    measure = PURE
    if isinstance(method, PrivateEstimator):
        if schema is None or method.random_state is not None:
            raise ParameterError("An audited method needs a schema and no seed.", "Pass schema=, random_state=None.")
        found, ledger = statistics(method, schema, pair, event, trials, progress=progress)
        claimed, bound, protects = ledger.epsilon_claimed, ledger.epsilon_nominal, ledger.protects
        measure = ledger.measure
        if measure.delta and delta:
            raise ParameterError("A run in rho is audited by its whole curve.", "Leave delta= out.")
    else:
        found = np.empty((2, trials))
        for side, frame in enumerate(pair):
            outputs = method(frame, trials)
            if len(outputs) != trials:
                raise ParameterError("The mechanism gave another number of outputs than asked.", "One output per run.")
            found[side] = [event(output) for output in outputs]
            progress((side + 1) / 2, WORLD.format(side=side + 1))
    least = lower_bound_of_statistics(found[0], found[1], alpha=alpha, delta=delta, measure=measure)
    return AuditResult(least, claimed, bound, 1 - alpha, trials, protects, measure.delta or delta)


def statistics(
    estimator: PrivateEstimator,
    schema: Schema,
    pair: tuple[pd.DataFrame, pd.DataFrame],
    statistic: Callable[[Any], float],
    trials: int,
    *,
    seed: int | None = None,
    progress: Progress = no_progress,
) -> tuple[Floats, Ledger]:
    """Numbers of so many runs in each of two worlds in turn, shape (2, trials), and the ledger of the very first.

    Every run is a whole one, through the method's public interface.
    """
    seeds = None if seed is None else np.random.SeedSequence(seed).generate_state(2 * trials, np.uint64) >> 1
    found, every = np.empty((2, trials)), max(trials // REPORT_EVERY, 1)
    known = remembering(schema, pair)
    ledgers: list[Ledger] = []
    for run in range(trials):
        for world, frame in enumerate(pair):
            fitted = (
                clone(estimator)
                .set_params(random_state=None if seeds is None else int(seeds[2 * run + world]))
                .fit(frame, schema=known, ledger=Ledger(estimator.relation, delta=estimator.delta))
            )
            fitted.schema_ = schema  # who keeps it has what any fit has
            ledgers = ledgers or [fitted.ledger_]
            found[world, run] = statistic(fitted)
        if (run + 1) % every == 0 or run + 1 == trials:
            progress((run + 1) / trials, RUNS.format(run=run + 1, trials=trials))
    return found, ledgers[0]


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

"""Estimate lower bounds on epsilon: run a method on two neighboring data sets and count an event.

If a method is epsilon-DP, then Pr[event | D] <= e^epsilon Pr[event | D'] for every event.
Confidence bounds on the two probabilities (Clopper and Pearson 1934) turn counts into a lower bound
that is too high with probability at most `alpha`. A lower bound above the claimed epsilon refutes
the claim; one below it proves nothing.

A run in rho claims a whole curve of epsilon and delta pairs, by the Rényi divergences of all
orders. Whether an event happens is post-processing, so the divergence of its two probabilities is
at most rho alpha for every order alpha. The divergence rises with the larger probability and falls
with the smaller one. The same two confidence bounds hence bound rho from below, whatever orders are
tried. The epsilon of that rho is compared with the claimed one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.base import clone

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.privacy_measure import PURE, PrivacyMeasure
from dpcore.accounting.relation import ProtectedUnit
from dpcore.arguments import Floats, Ints, Progress, is_whole, no_progress
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.methods.base import PrivateEstimator

FEWEST = 20
ORDERS = 1 + np.geomspace(1e-3, 1e3, 60)  # of Rényi divergences; each gives a bound on rho
LEAST = 1e-300  # in place of a probability of 0 on both data sets
REPORT_EVERY = 200  # number of progress reports of a long audit
RUNS, WORLD = phrase("Run {run:,} of {trials:,} on each data set"), phrase("Runs on data set {side:d} are done")
Runs = Callable[[pd.DataFrame, int], Sequence[Any]]
"""A mechanism as a function: (frame, number of runs) -> that many independent outputs."""


@dataclass(frozen=True)
class AuditResult:
    """Result of an audit: with this confidence, epsilon is at least the lower bound.

    All epsilons are for one privacy unit (`protects`): a row, or a person with all rows
    (`Schema.unit`), by which the two neighboring data sets then differ. They hold at `delta`, if
    that is not 0.

    Attributes
    ----------
    lower_bound : float
        The lower confidence bound on epsilon; 0 if no event separated the data sets.
    epsilon_claimed, epsilon_nominal : float
        The ledger's claimed and nominal epsilon of one run; NaN if the mechanism has no ledger.
    confidence : float
        The probability that the lower bound holds, 1 - alpha.
    trials : int
        The number of runs on each of the two data sets; half of them selected the event.
    protects : {"row", "person"}
        The protected unit.
    delta : float
        The delta of all epsilons; 0 for pure ones.
    """

    lower_bound: float
    epsilon_claimed: float
    epsilon_nominal: float
    confidence: float
    trials: int
    protects: ProtectedUnit = "row"
    delta: float = 0.0

    @property
    def refutes_claim(self) -> bool:
        """True if the lower bound exceeds the claimed epsilon."""
        return self.lower_bound > self.epsilon_claimed


@dataclass(frozen=True)
class Event:
    """Event that separates two data sets: a run's statistic is at or beyond a threshold.

    Attributes
    ----------
    threshold : float
        The threshold; infinite if no event separated the data sets.
    at_or_above : bool
        Whether the event is "at or above" the threshold; otherwise "at or below".
    likely : {0, 1}
        The data set, the first or the second, on which the event happens more often.
    hits : tuple of two ints
        The number of counted runs with the event, on each data set.
    counted_runs : int
        The number of counted runs on each data set.
    lower_bound : float
        The lower confidence bound on epsilon.
    """

    threshold: float
    at_or_above: bool
    likely: int
    hits: tuple[int, int]
    counted_runs: int
    lower_bound: float


def lower_bound(
    hits: int, hits_other: int, trials: int, *, alpha: float = 0.05, delta: float = 0.0, measure: PrivacyMeasure = PURE
) -> float:
    """Return a lower confidence bound on epsilon from event counts on two neighboring data sets.

    The bound is ln((p - delta) / q), and at least 0. Here p is a lower bound on the event's
    probability on the first data set, and q an upper bound on that on the other, both one-sided
    Clopper-Pearson bounds at alpha/2. If the privacy measure counts rho, the result is the epsilon
    of a lower bound on rho.

    Parameters
    ----------
    hits, hits_other : int
        The number of runs with the event, on the data set that makes it likely and on the other.
    trials : int
        The number of runs on each data set.
    alpha : float, default=0.05
        The probability that the bound does not hold, in (0, 1).
    delta : float, default=0.0
        The delta at which epsilon is bounded, in [0, 1).
    measure : PrivacyMeasure, optional
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
    """Return lower confidence bounds on the loss in a measure, for arrays of event counts.

    `hits` counts runs with the event on the data set that makes it likely, `others` on the other.
    """
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
        The numbers of the runs on each data set, equally many.
    alpha, delta, measure
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
    """Find the threshold event with the largest lower bound, from one number per run.

    The first half of the runs selects the event: above or below which threshold, and on which data
    set it is likely. Only the second half is counted, so the selection costs no confidence.

    Parameters
    ----------
    first, second : array of shape (trials,)
        The numbers of the runs on each of two neighboring data sets, equally many.
    alpha, delta, measure
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
            f"An audit needs the same number of runs, {FEWEST} or more, on both data sets.", "Raise `trials`."
        )
    if not (0 < alpha < 1 and 0 <= delta < 1):
        raise ParameterError("`alpha` or `delta` is not a probability.", "Try alpha=0.05, delta=0.")
    half = len(first) // 2
    choose, count = (first[:half], second[:half]), (first[half:], second[half:])
    tail = np.geomspace(1e-4, 0.5, 100)
    levels = np.concatenate([tail, 1 - tail])
    thresholds = np.unique(np.quantile(np.concatenate(choose), levels, method="nearest"))
    above = np.array([half - np.searchsorted(np.sort(values), thresholds) for values in choose])
    below = np.array([np.searchsorted(np.sort(values), thresholds, "right") for values in choose])
    hits = np.stack([above, below], axis=-1)  # by data set, threshold and sign
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
        An unfitted estimator without a seed (it needs `schema`; its fits are the outputs), or a
        function (frame, runs) -> outputs.
    pair : two DataFrames
        Neighbors under the method's relation: by one row, or by one person where the schema's
        privacy unit names persons.
    event : callable
        Function from an output to a number (or bool). The first half of the runs selects the
        threshold of the number.
    trials : int
        Runs on each data set, `FEWEST` or more.
    schema : Schema, optional
        The public description of the columns; for an estimator.
    alpha : float, default=0.05
        The probability that the bound does not hold, in (0, 1).
    delta : float, default=0.0
        The delta of `lower_bound`. It must be 0 for an estimator in rho, which is audited at all
        deltas.
    progress : callable, optional
        Called with the fraction done and a text; an exception in it cancels the audit.

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
        raise ParameterError(f"An audit needs {FEWEST} runs or more on each data set.", "Raise `trials`.")
    claimed = bound = np.nan
    protects: ProtectedUnit = "row"
    measure = PURE
    if isinstance(method, PrivateEstimator):
        if schema is None or method.random_state is not None:
            raise ParameterError("An audit needs a schema and no seed.", "Pass schema=, random_state=None.")
        found, ledger = statistics(method, schema, pair, event, trials, progress=progress)
        claimed, bound, protects = ledger.epsilon_claimed, ledger.epsilon_nominal, ledger.protects
        measure = ledger.measure
        if measure.delta and delta:
            raise ParameterError("A method that counts rho has its own delta.", "Do not pass `delta`.")
    else:
        found = np.empty((2, trials))
        for side, frame in enumerate(pair):
            outputs = method(frame, trials)
            if len(outputs) != trials:
                raise ParameterError(f"{trials} runs of `method` gave {len(outputs)} outputs.", "Return one per run.")
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
    """Run a method `trials` times on each of two data sets, and compute a statistic of every fit.

    Every run is a complete fit through the method's public interface. The data sets take turns.

    Parameters
    ----------
    estimator : PrivateEstimator
        The unfitted method.
    schema : Schema
        The schema of both data sets.
    pair : tuple of two DataFrames
        The two neighboring data sets.
    statistic : callable
        A function from a fitted method to the attacker's number.
    trials : int
        The number of runs on each data set.
    seed : int, optional
        Makes all runs reproducible. Default: fresh noise.
    progress : callable, optional
        Called with the fraction done and a text.

    Returns
    -------
    values : array of shape (2, trials)
        The statistics on each data set.
    ledger : Ledger
        The ledger of the first run.
    """
    seeds = None if seed is None else np.random.SeedSequence(seed).generate_state(2 * trials, np.uint64) >> 1
    found, every = np.empty((2, trials)), max(trials // REPORT_EVERY, 1)
    known = caching_schema(schema, pair)
    ledgers: list[Ledger] = []
    for run in range(trials):
        for world, frame in enumerate(pair):
            fitted = (
                clone(estimator)
                .set_params(random_state=None if seeds is None else int(seeds[2 * run + world]))
                .fit(frame, schema=known, ledger=Ledger(estimator.relation, delta=estimator.delta))
            )
            fitted.schema_ = schema  # as after an ordinary fit
            ledgers = ledgers or [fitted.ledger_]
            found[world, run] = statistic(fitted)
        if (run + 1) % every == 0 or run + 1 == trials:
            progress((run + 1) / trials, RUNS.format(run=run + 1, trials=trials))
    return found, ledgers[0]


def caching_schema(schema: Schema, tables: tuple[pd.DataFrame, ...]) -> Schema:
    """Return the same schema, which encodes each given data frame once for thousands of fits.

    `tables` are those data frames; others are encoded as usual.
    """
    known = [(table, schema.encode(table)) for table in tables]

    class CachingSchema(Schema):
        """Schema that knows the codes of some data frames."""

        def encode(self, frame: pd.DataFrame) -> Codes:
            """Return the stored codes of a known data frame; encode others."""
            for table, codes in known:
                if table is frame and self.columns is schema.columns:
                    return codes.copy(order="F")
            return super().encode(frame)

    return CachingSchema(**{field.name: getattr(schema, field.name) for field in fields(schema)})

"""Histograms of two samples in common bins, with intervals for the ratio of their shares."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import beta

from dpcore.arguments import Floats

FEWEST, BINS, MOST_STEPS = 8, 40, 60
FULL = 16  # numbers that a bar should have, on average
TAIL = 0.002  # share of the runs in each of the outermost bars, at most, if numbers have no steps


class HistogramPair(NamedTuple):
    """Common bins with their counts, and the bin edge at the event's threshold.

    `bins` has one row per bin: `left`, `right`; `first` and `second`, the numbers of runs in each
    world; `log_ratio` of second to first, and `low` and `high`, the ends of its 95% interval. The
    log ratio is infinite where one world has no run, and missing where neither has one.
    """

    bins: pd.DataFrame
    edge: float


def histogram_pair(first: Floats, second: Floats, threshold: float, *, above: bool) -> HistogramPair:
    """Return histograms of two samples in common bins, with a bin edge at the threshold.

    Parameters
    ----------
    first, second
        One number per run of a mechanism, in each of two neighboring worlds.
    threshold
        Threshold of the event; infinite if there is none.
    above
        Whether the event is a number at or above the threshold, else at or below it.

    Returns
    -------
    The bins and the edge at the threshold. The outermost bins also count all numbers beyond them.
    Missing numbers are in no bin.
    """
    pool = np.concatenate([first, second])
    finite = pool[np.isfinite(pool)]
    edges = bin_edges(finite if len(finite) else np.zeros(1), threshold, above=above)
    frame = pd.DataFrame({"left": edges[:-1], "right": edges[1:]})
    for name, values in (("first", first), ("second", second)):
        frame[name] = np.histogram(values[~np.isnan(values)], [-np.inf, *edges[1:-1], np.inf])[0]
    after = np.searchsorted(edges, threshold, side="right")
    edge = edges[after - above] if np.isfinite(threshold) else np.inf
    return HistogramPair(add_log_ratios(frame, len(first)), float(edge))


def bin_edges(values: Floats, threshold: float, *, above: bool) -> Floats:
    """Return bin edges, with an edge at the threshold or halfway between equally spaced values.

    `above` says whether the event is a number at or above the threshold, else at or below it.
    """
    found = np.unique(values)
    step = float(np.diff(found).min()) if len(found) > 1 else 1.0
    steps = np.round((found - found[0]) / step)
    if steps[-1] < MOST_STEPS and np.allclose(found, found[0] + steps * step, rtol=0, atol=1e-3 * step):
        return np.asarray(found[0] + (np.arange(steps[-1] + 2) - 0.5) * step)
    low, high = np.quantile(values, [TAIL, 1 - TAIL])
    start, before = low, 0
    if np.isfinite(threshold):
        low, high = min(low, threshold), max(high, threshold)
        start, before = threshold if above else np.nextafter(threshold, np.inf), 1
    step = max(high - low, 1e-9) / min(max(len(values) // FULL, FEWEST), BINS)
    before = max(int(np.ceil((start - low) / step - 1e-9)), before)
    after = max(int(np.ceil((high - start) / step + 1e-9)), 1)
    return np.asarray(start + np.arange(-before, after + 1) * step)


def add_log_ratios(frame: pd.DataFrame, runs: int) -> pd.DataFrame:
    """Add the log ratios of column `second` to `first`, with the ends of 95% intervals.

    The columns count the runs in each bin, of all `runs` in each world. Each of the two shares has
    a 97.5% interval.
    """
    first, second = (frame[name].to_numpy(dtype=float) for name in ("first", "second"))
    first_low, first_high = clopper_pearson(first, runs, 0.025)
    second_low, second_high = clopper_pearson(second, runs, 0.025)
    with np.errstate(divide="ignore", invalid="ignore"):
        made = np.log([second / first, second_low / first_high, second_high / first_low])
    made[:, (first == 0) & (second == 0)] = np.nan
    return frame.assign(**dict(zip(("log_ratio", "low", "high"), made, strict=True)))


def clopper_pearson(hits: Floats, runs: Any, alpha: float = 0.05) -> tuple[Floats, Floats]:
    """Return the ends of the Clopper-Pearson interval of a probability with error rate `alpha`.

    The event occurred in `hits` of the `runs`.
    """
    low = beta.ppf(alpha / 2, hits, runs - hits + 1)
    high = beta.ppf(1 - alpha / 2, hits + 1, runs - hits)
    return np.nan_to_num(low), np.nan_to_num(high, nan=1.0)  # if none or all runs are hits

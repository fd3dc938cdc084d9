"""Two piles of numbers as one set of bins: how many of each fell where, and how far their ratio may be from one."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import beta

from dpcore.arguments import Floats

FEWEST, BINS, MOST_STEPS = 8, 40, 60
FULL = 16  # numbers that a bar should have, on average
TAIL = 0.002  # share of the runs in each of the outermost bars, at most, if numbers have no steps


@dataclass(frozen=True, eq=False)
class HistogramPair:
    """Bins with their counts, the edge at the event's threshold, and how many runs gave no number.

    `bins` has one row per bin: `left`, `right`, `first`, `second` (runs), and of the ratio second / first its
    `log_ratio` and the ends `low` and `high` of a 95% interval; infinite where a world has no run, missing where
    neither has one.
    """

    bins: pd.DataFrame
    edge: float
    lost: int


def histogram_pair(first: Floats, second: Floats, threshold: float, *, above: bool) -> HistogramPair:
    """Both worlds' numbers in common bins, of which none holds numbers from both sides of the event's threshold.

    The outermost bins hold whatever lies beyond as well.
    """
    kept = [values[~np.isnan(values)] for values in (first, second)]
    pool = np.concatenate(kept)
    finite = pool[np.isfinite(pool)]
    edges, edge = edges_of(finite if len(finite) else np.zeros(1), threshold, above=above)
    counts = []
    for values in kept:
        place = np.searchsorted(edges, values, side="right") - 1
        counts.append(np.bincount(np.clip(place, 0, len(edges) - 2), minlength=len(edges) - 1))
    frame = pd.DataFrame({"left": edges[:-1], "right": edges[1:], "first": counts[0], "second": counts[1]})
    return HistogramPair(ratios(frame, len(first)), edge, 2 * len(first) - len(pool))


def edges_of(values: Floats, threshold: float, *, above: bool) -> tuple[Floats, float]:
    """Edges of bins for these numbers, and the one at the threshold."""
    found = np.unique(values)
    event = np.isfinite(threshold)
    step = float(np.diff(found).min()) if len(found) > 1 else 1.0
    steps = np.round((found - found[0]) / step)
    if steps[-1] < MOST_STEPS and np.allclose(found, found[0] + steps * step, rtol=0, atol=1e-3 * step):
        edges = found[0] + (np.arange(steps[-1] + 2) - 0.5) * step  # a bin for each number
        return edges, float(threshold + (-0.5 if above else 0.5) * step) if event else np.inf
    low, high = np.quantile(values, [TAIL, 1 - TAIL])
    if event:
        low, high = min(low, threshold), max(high, threshold)
    step = max(high - low, 1e-9) / min(max(len(values) // FULL, FEWEST), BINS)
    start = float(threshold if above else np.nextafter(threshold, np.inf)) if event else float(low)
    before, after = int(np.ceil((start - low) / step - 1e-9)), int(np.ceil((high - start) / step + 1e-9))
    return start + np.arange(-max(before, 1 if event else 0), max(after, 1) + 1) * step, start if event else np.inf


def ratios(frame: pd.DataFrame, runs: int) -> pd.DataFrame:
    """The logarithms of second / first with intervals, from one 97.5% interval for each of the two shares."""
    first, second = (frame[name].to_numpy(dtype=float) for name in ("first", "second"))
    (first_low, first_high), (second_low, second_high) = (interval(hits, runs, 0.025) for hits in (first, second))
    nobody = (first == 0) & (second == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        made = {
            "log_ratio": np.log(second / first),
            "low": np.log(second_low / first_high),
            "high": np.log(second_high / first_low),
        }
    return frame.assign(**{name: np.where(nobody, np.nan, values) for name, values in made.items()})


def interval(hits: Floats, runs: int, alpha: float = 0.05) -> tuple[Floats, Floats]:
    """Clopper and Pearson's interval of a probability, with that chance of missing it."""
    low = np.where(hits > 0, beta.ppf(alpha / 2, np.maximum(hits, 1), runs - hits + 1), 0.0)
    high = np.where(hits < runs, beta.ppf(1 - alpha / 2, hits + 1, np.maximum(runs - hits, 1)), 1.0)
    return low, high

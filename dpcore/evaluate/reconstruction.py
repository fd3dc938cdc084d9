"""What randomized answers look like, and what is made of them again; beside the truth, where somebody has that.

With true rows this is not private. Without them (None), what would be the truth is NaN, and all is
post-processing.
"""

from dataclasses import replace
from math import ceil

import numpy as np
import pandas as pd
from scipy.special import ndtr

from dpcore.arguments import Floats, Ints
from dpcore.datasets import Dataset
from dpcore.domain.schema import Schema
from dpcore.evaluate.distances import value_shares
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.mechanisms.randomizers import CategoryChannel, KeepOrDraw
from dpcore.methods.local.dtcrd import interval_grid
from dpcore.methods.local.dtpd import BitEncoding
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import Cells, Distribution, Item, Reports, reconstruct

SURE = 1.96
INTERVALS = 40
MOST_BEYOND = 40  # intervals outside the public range
TINY = 1e-12
TAIL = 0.01  # of the reports, on each side of what is drawn


class Truth:
    """The true rows behind local reports, or the bits of these rows that the method DTPD asks for.

    Only evaluation reads them. `positions` are the positions of the rows among the training rows.
    For DTPD, which asks for the columns as bits, `bits_for` is the class column.
    """

    def __init__(self, data: Dataset, schema: Schema, positions: Ints, bits_for: str | None = None) -> None:
        """Take the rows from the training rows of a data set."""
        rows = data.train_sample.iloc[positions].reset_index(drop=True)
        self.true_rows = rows if bits_for is None else as_bits(rows, schema, bits_for)


def columns(reports: Reports) -> list[str]:
    """List the columns that people reported, in the schema's order."""
    reported = {name for family in reports.channels for name in family}
    return [name for name in reports.schema.names if name in reported]


def families_of(reports: Reports, column: str) -> list[Item]:
    """List the items whose reports tell something about a column.

    An item is a tuple of the columns that one report is about. These are the item of the column
    alone, or else one in which it is the last column, or else all in which it is another.
    """
    if (column,) in reports.channels:
        return [(column,)]
    last = [family for family in reports.channels if family[-1] == column]
    return last[:1] or [family for family in reports.channels if column in family]


def family_of(reports: Reports, column: str) -> Item:
    """Return the first item of `families_of`."""
    return families_of(reports, column)[0]


def is_number(reports: Reports, column: str) -> bool:
    """Return whether a column was reported as a number."""
    return not isinstance(reports.channels[family_of(reports, column)], CategoryChannel)


def shares_of_column(reports: Reports, frame: pd.DataFrame | Truth | None, column: str) -> Statistics:
    """Return the true, reported and reconstructed share of each value of a column of categories.

    By `value`: the shares `real` (of the true rows `frame`), `reported` (NaN if a report is not one
    of the values) and `reconstructed` (unbiased: it can be below 0 or above 1), and `low` to
    `high`, the 95% interval of the reconstructed share among these people. The interval covers the
    random reports and the random choice of who was asked.
    """
    reported = (item_marginal(reports, family, column) for family in families_of(reports, column))
    people, said, found, spread = (np.array(each, dtype=float) for each in zip(*reported, strict=True))
    sure = np.isfinite(spread).all(axis=1)  # the others tell nothing
    if sure.any():
        weights = 1 / np.maximum(spread[sure], TINY)
        found, spread = (found[sure] * weights).sum(axis=0) / weights.sum(axis=0), 1 / weights.sum(axis=0)
    else:
        found, spread = found[0], spread[0]
    half, known = SURE * np.sqrt(spread), reports.schema[column]
    real, frame = np.full(known.size, np.nan), frame.true_rows if isinstance(frame, Truth) else frame
    if frame is not None:
        real = value_shares(frame, known)
    shares = {"value": known.labels, "real": real, "reported": said.T @ people / max(people.sum(), 1)}
    shares |= {"reconstructed": found, "low": found - half, "high": found + half}
    return statistics(pd.DataFrame(shares))


def item_marginal(reports: Reports, family: Item, column: str) -> tuple[int, Floats, Floats, Floats]:
    """Estimate a column's marginal from one item: people, reported shares, shares, variances.

    `family` is the item, a tuple of the columns that one report is about. The results are the
    number of people who reported it, and for each value of the column its reported share (NaN if a
    report is not one of the values), its estimated share, and the variance of the estimate.
    """
    channel, shape, axis = reports.category(family), reports.shape(family), family.index(column)
    people = len(reports.values[family])
    others = tuple(i for i in range(len(shape)) if i != axis)

    def summed(counts: Floats) -> Floats:
        """Return the share of people for each value, from counts of the combinations of values."""
        return np.asarray(counts.reshape(shape).sum(axis=others), dtype=float) / max(people, 1)

    support, _ = reports.support(family)
    found = summed(reports.counts(family)[0])
    said = summed(support[0]) if isinstance(channel, KeepOrDraw) else np.full(len(found), np.nan)
    share, cells = np.clip(found, 0.0, 1.0), channel.size // len(found)
    left_out = 1 - people / max(reports.people, 1)
    spread = variance(channel, share, people, cells) + left_out * share * (1 - share) / max(people, 1)
    return people, said, found, spread


def variance(channel: CategoryChannel, shares: Floats, people: int, cells: int) -> Floats:
    """Return the variance of the estimated `shares` of values with `cells` cells each.

    `channel` is the randomizer of the reports, about combinations of values (cells). The variance
    is over the random reports of `people` persons. A report that is a value supports one of the
    cells or none: a yes or no, whose probability is known for those who have the value and for
    those who have not. Other reports support each cell independently. For people sampled from a
    population, add share (1 - share) / people.
    """
    if not channel.gain or not people:
        return np.full(len(shares), np.inf)
    base = float(np.mean(channel.base))
    if isinstance(channel, KeepOrDraw):
        own, other = channel.gain + cells * base, cells * base
        each = shares * own * (1 - own) + (1 - shares) * other * (1 - other)
    else:
        own, other = channel.gain + base, base * (1 - base)
        each = shares * (own * (1 - own) - other) + cells * other
    return np.asarray(np.maximum(each, 0.0) / (people * channel.gain**2), dtype=float)


def densities(
    reports: Reports, frame: pd.DataFrame | Truth | None, column: str, bayes: Bayes | None = None
) -> Statistics:
    """Return the distributions of true numbers, of their reports, and of what is reconstructed.

    By interval: `x` (its middle), `width`, and the shares `real` (of the true rows `frame`),
    `reported` and `reconstructed`. With `bayes`, the reconstructed shares are those of naive Bayes'
    normal distributions, weighted by the classes' shares. Otherwise the reconstruction of the
    method DTCRD, which removes the noise's effect from the distribution of reports, is used for all
    classes together; its shares are NaN outside the public range.
    """
    known, said = reports.schema[column], reports.values[family_of(reports, column)]
    cells = intervals_to_draw(reports, column)
    ends = np.quantile(said, [TAIL, 1 - TAIL]) if len(said) else np.array([cells.lower, cells.upper])
    beyond = [max(0, ceil(gap / cells.width)) for gap in (cells.lower - ends[0], ends[1] - cells.upper)]
    coarser = max(1, sum(beyond) // MOST_BEYOND)  # wide noise would make needles of what lies inside
    before, after = (ceil(each / coarser) for each in beyond)
    inside = cells.lower + cells.width * np.arange(cells.intervals + 1)
    step = cells.width * coarser
    edges = np.concatenate(
        [cells.lower - step * np.arange(before, 0, -1), inside, cells.upper + step * np.arange(1, after + 1)]
    )

    def shares(values: Floats) -> Floats:
        """Return the share of numbers in each interval, per width of the intervals inside."""
        found = np.histogram(values, edges)[0] / max(len(values), 1)
        return np.asarray(found / (np.diff(edges) / cells.width))

    if bayes is not None and column in bayes.normals:
        made = bayes.prior @ normal_shares(bayes.normals[column], edges)
        made /= np.diff(edges) / cells.width
    else:
        made = np.full(len(edges) - 1, np.nan)
        made[before : before + cells.intervals] = deconvolve(reports, column).shares[0]
    frame = frame.true_rows if isinstance(frame, Truth) else frame
    true = np.empty(0) if frame is None else known.numbers(frame[column])
    real = np.full(len(edges) - 1, np.nan) if frame is None else shares(true[~np.isnan(true)])
    found = {"x": (edges[:-1] + edges[1:]) / 2, "width": np.diff(edges), "real": real, "reported": shares(said)}
    return statistics(pd.DataFrame(found | {"reconstructed": made}))


def normal_shares(moments: Floats, edges: Floats) -> Floats:
    """Return the probability of each interval between edges, a row per normal distribution.

    `moments` has the mean and the variance of each distribution.
    """
    below = ndtr((edges - moments[:, :1]) / np.sqrt(moments[:, 1:]))
    return np.diff(below, axis=1)


def intervals_to_draw(reports: Reports, column: str) -> Cells:
    """Return the intervals in which a column of numbers is shown.

    Of whole numbers, each has equally many; the last may end beyond the public range.
    """
    known = reports.schema[column]
    cells = interval_grid(known, reports.channels[family_of(reports, column)], INTERVALS)
    if not known.whole:
        return cells
    numbers_in_all = round(cells.upper - cells.lower)
    each = ceil(numbers_in_all / INTERVALS)
    intervals = ceil(numbers_in_all / each)
    return replace(cells, upper=cells.lower + each * intervals, intervals=intervals)


def deconvolve(reports: Reports, column: str) -> Distribution:
    """Estimate a number's distribution over `INTERVALS` intervals, with each step's likelihood."""
    cells, said = intervals_to_draw(reports, column), reports.values[family_of(reports, column)]
    return reconstruct(cells.counts(said, np.zeros(len(said), dtype=np.intp), 1), cells.kernel)


def steps(reports: Reports, column: str) -> pd.DataFrame:
    """Return a frame with the gain in log-likelihood of the reports, per person, after each step.

    The steps are the iterations of `deconvolve`, from 0.
    """
    likelihood = deconvolve(reports, column).likelihood[:, 0]
    gain = (likelihood - likelihood[0]) / max(len(reports.values[family_of(reports, column)]), 1)
    return pd.DataFrame({"step": np.arange(len(gain)), "gain": gain})


def as_bits(frame: pd.DataFrame, schema: Schema, target: str) -> pd.DataFrame:
    """Return true rows as the bits that the method DTPD asks for.

    `target` is the class column, whose classes are encoded as bits, too.
    """
    bits, codes = BitEncoding(schema, target), schema.encode(frame)
    found = {
        column.name: np.array(column.labels, dtype=object)[rule[codes[:, schema.index(source)]]]
        for column, (source, rule) in zip(bits.schema, bits.rules, strict=True)
    }
    return pd.DataFrame(found, index=frame.index)


def boolean_data(data: Dataset, target: str) -> Dataset:
    """Return a data set of DTPD's bits, with the class column and the person column as they are."""
    bits = BitEncoding(data.schema, target)
    kept = [column for column, (source, _) in zip(bits.schema, bits.rules, strict=True) if source != target]
    schema = replace(data.schema, columns=(*kept, data.schema[target]), target=target, rules=())
    kept_columns = [target] if schema.persons is None else [target, str(schema.persons.id_column)]

    def rows(frame: pd.DataFrame) -> pd.DataFrame:
        """Return the bits of rows, with the class column and the person column as they are."""
        found = as_bits(frame, data.schema, target)[[column.name for column in kept]]
        return found.assign(**{name: frame[name] for name in kept_columns})

    return replace(data, schema=schema, train=rows(data.train_sample), test=rows(data.test_sample))

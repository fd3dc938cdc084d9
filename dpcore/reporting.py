"""What randomized answers look like beside the truth, and what is made of them again. Reads real rows: not private."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from dpcore.bayes import Bayes, numbers
from dpcore.channels import CategoryChannel, KeepOrDraw
from dpcore.datasets import Dataset
from dpcore.estimated import Booleans
from dpcore.reports import Family, Reports
from dpcore.schema import Schema

__all__ = ["as_bits", "boolean_data", "columns", "densities", "family_of", "is_number", "shares_of_column"]

Floats = NDArray[np.float64]
SURE = 1.96
INTERVALS = 40
TAIL = 0.01  # of the reports, on each side of what is drawn


def columns(reports: Reports) -> list[str]:
    """The columns that people reported, in the schema's order."""
    told = {name for family in reports.channels for name in family}
    return [name for name in reports.schema.names if name in told]


def family_of(reports: Reports, column: str) -> Family:
    """The report that tells of a column: its own, or one in which it is the last."""
    if (column,) in reports.channels:
        return (column,)
    last = [family for family in reports.channels if family[-1] == column]
    return last[0] if last else next(family for family in reports.channels if column in family)


def is_number(reports: Reports, column: str) -> bool:
    """Whether a column was reported as a number."""
    return not isinstance(reports.channels[family_of(reports, column)], CategoryChannel)


def shares_of_column(reports: Reports, frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of categories: how often each value is true, reported, and reconstructed.

    Parameters
    ----------
    reports : Reports
    frame : DataFrame
        The true rows, with the column as in the schema of the reports.
    column : str

    Returns
    -------
    DataFrame
        `value`, `real`, `reported` (NaN if reports are no values), `reconstructed` (unbiased: it can be below 0 or
        above 1), `low` and `high` (its 95 % interval, for people drawn from a population), one row per value.
    """
    family = family_of(reports, column)
    channel, shape, axis = reports.category(family), reports.shape(family), family.index(column)
    people = len(reports.values[family])
    others = tuple(i for i in range(len(shape)) if i != axis)

    def margin(counts: Floats) -> Floats:
        return np.asarray(counts.reshape(shape).sum(axis=others), dtype=float)

    support, _ = reports.support(family)
    found = margin(reports.counts(family)[0]) / max(people, 1)
    spread = np.sqrt(variance(channel, np.clip(found, 0.0, 1.0), people, channel.size // len(found)))
    known = reports.schema[column]
    return pd.DataFrame(
        {
            "value": known.labels,
            "real": np.bincount(known.encode(frame[column]), minlength=known.size) / max(len(frame), 1),
            "reported": margin(support[0]) / max(people, 1) if isinstance(channel, KeepOrDraw) else np.nan,
            "reconstructed": found,
            "low": found - SURE * spread,
            "high": found + SURE * spread,
        }
    )


def variance(channel: CategoryChannel, shares: Floats, people: int, cells: int) -> Floats:
    """The variance of estimated shares of values that stand in `cells` cells of the channel each.

    A report that is a value supports one of the cells or none: a yes or no, whose probability is known. Other reports
    support each cell on its own, whether or not they support another.
    """
    if not channel.gain or not people:
        return np.full(len(shares), np.inf)
    base = float(np.mean(channel.base))
    if isinstance(channel, KeepOrDraw):
        yes = channel.gain * shares + cells * base
        each = yes * (1 - yes)
    else:
        own, other = channel.gain + base, base * (1 - base)
        each = shares * (own * (1 - own) - other) + cells * other + channel.gain**2 * shares * (1 - shares)
    return np.asarray(np.maximum(each, 0.0) / (people * channel.gain**2), dtype=float)


def densities(reports: Reports, frame: pd.DataFrame, column: str, bayes: Bayes | None = None) -> pd.DataFrame:
    """A column that was reported as a number: how true numbers, reports, and what is made of them spread.

    Returns
    -------
    DataFrame
        `x` (the middle of an interval), `width`, and the shares `real`, `reported` and `reconstructed` (by the normal
        distributions of naive Bayes, weighted by the classes' shares; NaN without). The intervals cover the public
        range and all reports but the outermost hundredth on either side.
    """
    family, known = family_of(reports, column), reports.schema[column]
    low, high = float(known.lower or 0.0), float(known.upper or 0.0)
    said, true = reports.values[family], numbers(known, frame[column])
    true = true[~np.isnan(true)]
    ends = np.quantile(said, [TAIL, 1 - TAIL]) if len(said) else [low, high]
    edges = np.linspace(min(low, float(ends[0])), max(high, float(ends[1])), INTERVALS + 1)

    def shares(values: Floats) -> Floats:
        return np.histogram(values, edges)[0] / max(len(values), 1)

    reconstructed = np.full(INTERVALS, np.nan)
    if bayes is not None and column in bayes.normals:
        mean, spread = bayes.normals[column].T
        below = ndtr((edges[:, None] - mean) / np.sqrt(spread))
        reconstructed = np.diff(below, axis=0) @ bayes.prior
    return pd.DataFrame(
        {
            "x": (edges[:-1] + edges[1:]) / 2,
            "width": np.diff(edges),
            "real": shares(true),
            "reported": shares(said),
            "reconstructed": reconstructed,
        }
    )


def as_bits(frame: pd.DataFrame, schema: Schema, target: str) -> pd.DataFrame:
    """Rows as the bits that DTPD asks for, the class's included; the class as it is stands beside them.

    Parameters
    ----------
    frame : DataFrame
        True rows of `schema`.
    """
    bits, codes = Booleans(schema, target), schema.encode(frame)
    found = {
        column.name: np.array(column.labels, dtype=object)[rule[codes[:, schema.index(source)]]]
        for column, (source, rule) in zip(bits.schema, bits.rules, strict=True)
    }
    return pd.DataFrame(found, index=frame.index)


def boolean_data(data: Dataset, target: str) -> Dataset:
    """A data set whose columns are DTPD's bits, with the class as it is."""
    bits = Booleans(data.schema, target)
    kept = [column for column, (source, _) in zip(bits.schema, bits.rules, strict=True) if source != target]
    schema = replace(data.schema, columns=(*kept, data.schema[target]), target=target)

    def rows(frame: pd.DataFrame) -> pd.DataFrame:
        found = as_bits(frame, data.schema, target)[[column.name for column in kept]]
        return found.assign(**{target: frame[target]})

    return replace(data, schema=schema, train=rows(data.train), test=rows(data.test))

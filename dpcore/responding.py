"""What the classifiers share that learn from randomized answers: the questions, and naive Bayes from their reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.bayes import Bayes, numbers
from dpcore.channels import TRR, KeepOrDraw
from dpcore.classifying import PrivateClassifier
from dpcore.errors import ParameterError
from dpcore.ledger import Relation
from dpcore.reports import Family, Reports, most_likely, shares
from dpcore.schema import Schema

__all__ = ["NO_EPSILON", "LocalClassifier", "bayes_of", "class_shares", "conditional", "moments"]

Floats = NDArray[np.float64]
FLOOR = 1e-6
MOST_ALPHA = 1e6
WIDEST = 1e100  # numbers are squared
NARROWEST = 1e-3  # standard deviation of a normal distribution, at least, as a share of the public range
NO_EPSILON = "The paper knows no epsilon: it was written before that was a habit."


class LocalClassifier(PrivateClassifier):
    """A method that learns from answers which people randomize themselves, before anybody collects them.

    Attributes
    ----------
    reports_ : Reports
        What the collector has. It is released as it is: all else is made of it.
    """

    relations: ClassVar[tuple[Relation, ...]] = (Relation.REPLACE,)
    reports_: Reports

    def _numbers(self, frame: pd.DataFrame, schema: Schema) -> dict[int, Floats]:
        """Numbers to be randomized, moved into their bounds; a missing one is taken for the middle."""
        found = {}
        for position, column in enumerate(schema):
            if column.numeric:
                low, high = float(column.lower or 0.0), float(column.upper or 0.0)
                if high - low > WIDEST:
                    raise ParameterError(f"The bounds of {column.name!r} are too far apart.", "Declare narrower ones.")
                middle = (low + high) / 2
                found[position] = np.nan_to_num(numbers(column, frame[column.name]), nan=middle)
        return found

    def _check_alpha(self) -> None:
        alpha = self.get_params()["alpha"]
        if not (isinstance(alpha, int | float) and 0 <= alpha < MOST_ALPHA):
            raise ParameterError("The 'alpha' parameter is not a number of 0 or more.", "Try 1.")


def bayes_of(
    reports: Reports,
    target: str,
    columns: Mapping[str, Family],
    *,
    reconstruction: str,
    alpha: float,
    as_printed: bool,
) -> Bayes:
    """A naive Bayes classifier from reports.

    Parameters
    ----------
    reports : Reports
    target : str
    columns : mapping of column name to family
        What was reported of each column: (column,), or (class, column) as one value.
    reconstruction : {"clip", "project", "likelihood"}
        As for `shares`.
    alpha : float
        Records that are added to every cell of a table.
    as_printed : bool
        Whether the variance is the paper's.
    """
    schema = reports.schema
    tables: dict[str, Floats] = {}
    normals: dict[str, Floats] = {}
    pairs: list[Floats] = []
    for name, family in columns.items():
        if schema[name].numeric and schema[name].lower == schema[name].upper:
            continue  # the same number for everybody tells nothing of the class
        if isinstance(reports.channels[family], TRR):
            normals[name] = moments(reports, family, (target,), as_printed=as_printed)
            continue
        joint = joint_counts(reports, target, family, reconstruction)
        tables[name] = conditional(joint, alpha)
        if len(family) == 2:
            pairs.append(joint.sum(axis=1) / max(joint.sum(), 1.0))
    if (target,) in reports.channels:
        prior = class_shares(reports, (target,), reconstruction)
    else:  # every pair tells of the class as well
        prior = floored(np.mean(pairs, axis=0)[None])[0]
    return Bayes(schema, target, prior, tables, normals)


def class_shares(reports: Reports, family: Family, reconstruction: str) -> Floats:
    """The classes' shares, shape (classes,)."""
    channel = reports.category(family)
    how = reconstruction if channel.gain and isinstance(channel, KeepOrDraw) else "clip"
    found: Floats = floored(shares(reports.counts(family), how, channel=channel))[0]
    return found


def joint_counts(reports: Reports, target: str, family: Family, reconstruction: str) -> Floats:
    """Numbers of people by class and value, 0 or more, shape (classes, values)."""
    classes = reports.schema[target].size
    channel = reports.category(family)
    if len(family) == 2:
        found = reports.counts(family)
        if reconstruction != "clip":
            how = reconstruction if channel.gain and isinstance(channel, KeepOrDraw) else "project"
            found = shares(found, how, channel=channel) * len(reports.values[family])
        return np.asarray(np.maximum(found.reshape(classes, -1), 0.0))
    by = (target,)
    answered, label = reports.support(family, by), reports.category(by)
    both = channel.gain and label.gain
    if reconstruction == "likelihood" and isinstance(channel, KeepOrDraw) and isinstance(label, KeepOrDraw) and both:
        return np.asarray(most_likely(channel.matrix, answered[0], by=label.matrix) * answered[1].sum())
    found = reports.counts(family, by)
    if reconstruction == "clip":
        return np.maximum(found, 0.0)
    return np.asarray(shares(found.reshape(1, -1), "project") * answered[1].sum()).reshape(found.shape)


def conditional(joint: Floats, alpha: float) -> Floats:
    """P(value | class) from numbers of people, with `alpha` more in every cell; nothing is impossible."""
    return floored(shares(joint + alpha))


def floored(distributions: Floats) -> Floats:
    """Rows that sum to 1, with nothing below `FLOOR` of it."""
    raised = np.maximum(distributions, FLOOR)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=float)


def moments(reports: Reports, family: Family, by: Family, *, as_printed: bool) -> Floats:
    """Mean and variance of a number by class, shape (classes, 2), inside what the public bounds allow.

    With classes in the clear these are the paper's formulas 2 and 3, or 3 without its bias. With randomized ones,
    the sums of 1, x and x^2 by true class come from those by reported class, and numbers have Laplace noise: E[y] = x
    and E[y^2 - Var b] = x^2.
    """
    channel, column = reports.channels[family], reports.schema[family[0]]
    assert isinstance(channel, TRR)
    low, high = float(column.lower or 0.0), float(column.upper or 0.0)
    middle, widest = (low + high) / 2, ((high - low) / 2) ** 2
    label, group, y = reports.category(by), reports.values[by][reports.who(family)], reports.values[family]
    found = np.tile([middle, widest], (label.size, 1))
    if not np.isfinite(channel.scale) or not len(y):
        return found
    if label.gain == 1:
        for own in range(label.size):
            said = y[group == own]
            if len(said) > 1:
                found[own] = channel.mean(said), channel.variance(said, as_printed=as_printed)
    else:
        centered = y - middle  # numbers around 0 lose fewer digits when they are squared
        squares = centered**2 - channel.moments[3]
        sums = [np.bincount(group, weights=w, minlength=label.size) for w in (np.ones_like(y), centered, squares)]
        count, first, second = reports.regrouped(np.stack(sums, axis=1), by).T
        count = np.maximum(count, 1.0)
        found = np.stack([middle + first / count, second / count - (first / count) ** 2], axis=1)
    found[:, 0] = np.clip(found[:, 0], low, high)
    found[:, 1] = np.clip(found[:, 1], ((high - low) * NARROWEST) ** 2, widest)
    return found

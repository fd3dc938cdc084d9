"""Naive Bayes from randomized answers: classes, tables and moments, all of it post-processing of reports."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dpcore.arguments import Floats
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import TRR, Channel, KeepOrDraw
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import RECONSTRUCTIONS, Item, Reports, most_likely, shares
from dpcore.postprocess.resolution import MergeRule, merge_bins, raise_to_floor, shrink_conditionals, spread_evenly
from dpcore.postprocess.simplex import project

FINISHES = ("shrink", *RECONSTRUCTIONS)
# The standard deviation of a normal distribution, at least, as a share of the public range: of noisy numbers a tenth,
# because noise can carry a variance below 0, and a class that becomes a spike decides everything.
NARROWEST = {"tenth": 0.1, "thousandth": 1e-3}
MOST_LIKELY = 2_000  # values of a report, whose channel is a matrix of so many rows and columns


def bayes_of(reports: Reports, *, reconstruction: str, alpha: float, as_published: bool, least: str = "tenth") -> Bayes:
    """A naive Bayes classifier from reports: of each column, (column,), or (class, column) as one value.

    `reconstruction` is "shrink" (`shrink_conditionals`) or as for `shares`; `alpha` are records that are added
    to every value of a column by class; `as_published` takes the paper's variance, `least` says what
    deviation noisy ones have at least (`NARROWEST`). Columns of the rows are those of the reports,
    but that values may have been merged before anybody reported (`resolution`).
    """
    schema, target, rules = reports.source, reports.target, dict(reports.recoded)
    columns = {family[-1]: family for family in reports.channels if family != (target,)}
    tables: dict[str, Floats] = {}
    normals: dict[str, Floats] = {}
    prior = class_shares(reports, target, list(columns.values()), reconstruction)
    for name, family in columns.items():
        if schema[name].numeric and schema[name].lower == schema[name].upper:
            continue  # the same number for everybody tells nothing of the class
        if isinstance(reports.channels[family], TRR):
            normals[name] = moments(reports, family, (target,), least, as_published=as_published)
            continue
        if reconstruction == "shrink":
            found = shrink_conditionals(*joint_shares(reports, target, family, prior), prior, alpha)
        else:
            # nothing is impossible
            found = raise_to_floor(shares(joint_counts(reports, target, family, reconstruction) + alpha))
        tables[name] = raise_to_floor(spread_evenly(found, rules[name])) if name in rules else found
    return Bayes(schema, target, prior, tables, normals)


def coarser(schema: Schema, rules: Mapping[str, MergeRule]) -> Schema:
    """The schema of a row's answers, with values merged by public rules, one for each column."""
    columns = tuple(merge_bins(column, rules[column.name]) for column in schema)
    return replace(schema, columns=columns, unit=None, rules=())


def merges(rule: MergeRule, column: Column) -> bool:
    """Whether a rule puts neighboring bins of a number together, and leaves all else as it is."""
    steps = np.diff(rule)
    return bool(rule[0] == 0 and ((steps == 1) | ((steps == 0) & column.numeric)).all())


def check_channels(channels: Mapping[Item, Channel], reconstruction: str | None) -> None:
    """Raise ParameterError unless reports by these channels can be reconstructed so; before anybody pays."""
    sizes = [channel.size for channel in channels.values() if isinstance(channel, KeepOrDraw)]
    if reconstruction == "likelihood" and max(sizes, default=0) > MOST_LIKELY:
        raise ParameterError(
            "A report has too many values to find the most likely distribution.", "Use project, or fewer bins."
        )


def class_shares(reports: Reports, target: str, families: Sequence[Item], reconstruction: str) -> Floats:
    """The classes' shares, shape (classes,).

    From reports of the class; or from all reports of pairs, weighted by the inverse of their
    variances.
    """
    classes, family = reports.schema[target].size, (target,)
    if family in reports.channels:
        channel = reports.category(family)
        how = "project" if reconstruction == "shrink" else reconstruction
        how = how if channel.gain and isinstance(channel, KeepOrDraw) else "clip"
        return np.asarray(raise_to_floor(shares(reports.counts(family), how, channel=channel))[0])
    if classes == 1:
        return np.ones(1)
    estimates, weights = [], []
    for pair in families:
        channel, people = reports.category(pair), len(reports.values[pair])
        estimates.append(reports.counts(pair).reshape(classes, -1).sum(axis=1) / max(people, 1))
        weights.append(1 / float(channel.variance(np.full(channel.size, 1 / channel.size), people).sum()))
    if not np.sum(weights) > 0:
        return np.full(classes, 1 / classes)
    nearest = project(np.average(estimates, axis=0, weights=weights)[None], 1.0)
    return np.asarray(raise_to_floor(nearest)[0])


def joint_shares(reports: Reports, target: str, family: Item, prior: Floats) -> tuple[Floats, Floats]:
    """Shares of people by class and value, and how much noise there is in what a class differs by from all.

    Both of shape (classes, values): the nearest joint shares, and the variances of
    joint / prior - sum over classes of joint, before moving them there.
    """
    channel, each = reports.category(family), prior[:, None]
    found, people = joint(reports, target, family)
    nearest = project(found / max(people, 1), 1.0)
    values, unknown = nearest.sum(axis=0), np.full(nearest.shape, np.inf)
    if len(family) == 2:  # class and column as one value
        # what it would be if the column knew nothing of the class
        own = channel.variance(np.outer(prior, values).ravel(), people).reshape(found.shape)
        # cells vary nearly on their own
        return nearest, unknown if np.isinf(own).any() else own * (1 / each**2 - 2 / each) + own.sum(axis=0)
    label, sizes = reports.grouping((target,)), reports.support(family, (target,))[1]
    if not channel.gain or not label.gain:
        return nearest, unknown
    # Counts of each reported class vary by the values' channel, and the inverse of the class's channel mixes them: its
    # columns sum to 1, so that a reported class adds (inverse / prior - 1) times its counts to the difference.
    within = np.stack([channel.variance(values, n) * (n / people) ** 2 if n else np.zeros_like(values) for n in sizes])
    # in closed form: never singular
    inverse = (np.eye(label.size) - label.base[:, None]) / label.gain
    return nearest, np.asarray((inverse / each - 1) ** 2 @ within)


def joint(reports: Reports, target: str, family: Item) -> tuple[Floats, int]:
    """Unbiased numbers of people, shape (classes, values), and how many were asked."""
    found = reports.counts(family, (target,) if len(family) == 1 else None)
    return found.reshape(reports.schema[target].size, -1), len(reports.values[family])


def joint_counts(reports: Reports, target: str, family: Item, reconstruction: str) -> Floats:
    """Numbers of people by class and value, 0 or more, shape (classes, values)."""
    channel, label, how = reports.category(family), reports.channels.get((target,)), "project"
    found, people = joint(reports, target, family)
    if reconstruction == "clip":
        return np.maximum(found, 0.0)
    if reconstruction == "likelihood" and isinstance(channel, KeepOrDraw) and channel.gain:
        if len(family) == 2:
            how = reconstruction
        elif isinstance(label, KeepOrDraw) and label.gain:
            answered = reports.support(family, (target,))[0]
            return np.asarray(most_likely(channel.matrix, answered, by=label.matrix) * people)
    everybody = np.array([float(people)])
    return (shares(found.reshape(1, -1), how, channel=channel, people=everybody) * people).reshape(found.shape)


def moments(reports: Reports, family: Item, by: Item, least: str, *, as_published: bool) -> Floats:
    """Mean and variance of a number by class, shape (classes, 2), inside what the public bounds and the noise allow.

    With classes in the clear these are the paper's formulas 2 and 3, or 3 without its bias. With
    randomized ones, the sums of 1, x and x^2 by true class come from those by reported class, and
    numbers have Laplace noise: E[y] = x and E[y^2 - Var b] = x^2.
    """
    channel, column = reports.channels[family], reports.schema[family[0]]
    assert isinstance(channel, TRR)
    low, high = float(column.lower or 0.0), float(column.upper or 0.0)
    middle, widest = (low + high) / 2, ((high - low) / 2) ** 2
    label, group, y = reports.category(by), reports.values[by][reports.positions(family)], reports.values[family]
    found = np.tile([middle, widest], (label.size, 1))
    if not np.isfinite(channel.scale) or not len(y):
        return found
    if label.gain == 1:
        for own in range(label.size):
            said = y[group == own]
            if len(said) > 1:
                found[own] = channel.mean(said), channel.variance(said, as_published=as_published)
    else:
        centered = y - middle  # numbers around 0 lose fewer digits when they are squared
        squares = centered**2 - channel.moments[3]
        sums = [np.bincount(group, weights=w, minlength=label.size) for w in (np.ones_like(y), centered, squares)]
        count, first, second = reports.estimate_by_group(np.stack(sums, axis=1), by).T
        count = np.maximum(count, 1.0)
        found = np.stack([middle + first / count, second / count - (first / count) ** 2], axis=1)
    found[:, 0] = np.clip(found[:, 0], low, high)
    narrowest = (high - low) * NARROWEST["thousandth" if channel.truthful else least]
    found[:, 1] = np.clip(found[:, 1], narrowest**2, widest)
    return found

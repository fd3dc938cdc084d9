"""Naive Bayes from randomized reports, by estimated class shares, marginals and moments.

Everything here is post-processing of reports.
"""

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

ESTIMATORS = ("shrink", *RECONSTRUCTIONS)
# Least standard deviations of a normal distribution, as shares of the public range. Noise can make
# an estimated variance negative, and a class whose density is a spike decides every prediction.
# Noisy numbers therefore have a tenth by default.
LEAST_DEVIATIONS = {"tenth": 0.1, "thousandth": 1e-3}
MOST_LIKELY = 2_000  # values of a report: the channel is a matrix with as many rows and columns


def fit_bayes(
    reports: Reports, *, reconstruction: str, alpha: float, as_published: bool, least: str = "tenth"
) -> Bayes:
    """Return a naive Bayes classifier estimated from reports of each column, or of (class, column).

    `reconstruction` says how shares are estimated: "shrink" (`shrink_conditionals`), "clip",
    "project" or "likelihood" (`shares`). `alpha` records are added to every value of a column by
    class. `as_published` takes the paper's variance. `least` is a key of `LEAST_DEVIATIONS`, for
    noisy numbers. The rows have the columns of the reports, but values may have been merged before
    people reported (`resolution`).
    """
    schema, target, rules = reports.source, reports.target, dict(reports.recodings)
    items = {item[-1]: item for item in reports.channels if item != (target,)}
    marginals: dict[str, Floats] = {}
    normals: dict[str, Floats] = {}
    prior = class_shares(reports, target, list(items.values()), reconstruction)
    for name, item in items.items():
        if schema[name].numeric and schema[name].lower == schema[name].upper:
            continue  # a constant column says nothing about the class
        if isinstance(reports.channels[item], TRR):
            normals[name] = moments(reports, item, (target,), least, as_published=as_published)
            continue
        if reconstruction == "shrink":
            found = shrink_conditionals(*joint_shares(reports, target, item, prior), prior, alpha)
        else:
            # no value has probability 0
            found = raise_to_floor(shares(joint_counts(reports, target, item, reconstruction) + alpha))
        marginals[name] = raise_to_floor(spread_evenly(found, rules[name])) if name in rules else found
    return Bayes(schema, target, prior, marginals, normals)


def merged_schema(schema: Schema, rules: Mapping[str, MergeRule]) -> Schema:
    """Return the schema with values merged by public rules, without privacy unit and own rules."""
    columns = tuple(merge_bins(column, rules[column.name]) for column in schema)
    return replace(schema, columns=columns, unit=None, rules=())


def is_merge_rule(rule: MergeRule, column: Column) -> bool:
    """Return whether a recoding merges neighboring bins of a number, and changes nothing else.

    `rule` has the new code of each of the column's values.
    """
    steps = np.diff(rule)
    return bool(rule[0] == 0 and ((steps == 1) | ((steps == 0) & column.numeric)).all())


def check_channels(channels: Mapping[Item, Channel], reconstruction: str | None) -> None:
    """Raise ParameterError if reports of these channels are too large for the reconstruction.

    A channel is the randomizer of one report. The check comes before people report, so that a
    refused run costs no epsilon.
    """
    sizes = [channel.size for channel in channels.values() if isinstance(channel, KeepOrDraw)]
    if reconstruction == "likelihood" and max(sizes, default=0) > MOST_LIKELY:
        text = f"A report has {max(sizes):,} possible values; reconstruction='likelihood' allows {MOST_LIKELY:,}."
        raise ParameterError(text, "Use reconstruction='project', or fewer bins.")


def class_shares(reports: Reports, target: str, items: Sequence[Item], reconstruction: str) -> Floats:
    """Return the estimated shares of the classes, shape (classes,).

    The estimate uses the reports of the class. If there are none, it averages the estimates from
    all reports of (class, column), which are `items`, weighted by their inverse variances.
    `reconstruction` is as for `fit_bayes`.
    """
    classes, label = reports.schema[target].size, (target,)
    if label in reports.channels:
        channel = reports.category(label)
        how = "project" if reconstruction == "shrink" else reconstruction
        how = how if channel.gain and isinstance(channel, KeepOrDraw) else "clip"
        return np.asarray(raise_to_floor(shares(reports.counts(label), how, channel=channel))[0])
    if classes == 1:
        return np.ones(1)
    estimates, weights = [], []
    for item in items:
        channel, people = reports.category(item), len(reports.values[item])
        estimates.append(reports.counts(item).reshape(classes, -1).sum(axis=1) / max(people, 1))
        weights.append(1 / float(channel.variance(np.full(channel.size, 1 / channel.size), people).sum()))
    if not np.sum(weights) > 0:
        return np.full(classes, 1 / classes)
    nearest = project(np.average(estimates, axis=0, weights=weights)[None], 1.0)
    return np.asarray(raise_to_floor(nearest)[0])


def joint_shares(reports: Reports, target: str, item: Item, prior: Floats) -> tuple[Floats, Floats]:
    """Return joint shares of people by class and value, and variances.

    `item` names the reported column, or the class and the column if both are one report. `prior`
    has the shares of the classes. Both results have the shape (classes, values). The shares are the
    nearest ones that are 0 or more. The variances are those of joint / prior - sum over classes of
    joint: how a class differs from all, before the projection.
    """
    channel, each = reports.category(item), prior[:, None]
    found, people = joint_estimate(reports, target, item)
    nearest = project(found / max(people, 1), 1.0)
    values, unknown = nearest.sum(axis=0), np.full(nearest.shape, np.inf)
    if len(item) == 2:  # class and column as one value
        # the variance if the column is independent of the class
        own = channel.variance(np.outer(prior, values).ravel(), people).reshape(found.shape)
        # estimates of different cells are nearly uncorrelated
        return nearest, unknown if np.isinf(own).any() else own * (1 / each**2 - 2 / each) + own.sum(axis=0)
    label, sizes = reports.grouping((target,)), reports.support(item, (target,))[1]
    if not channel.gain or not label.gain:
        return nearest, unknown
    # Counts of each reported class vary by the values' channel, and the inverse of the class's
    # channel mixes them. Its columns sum to 1, so a reported class adds (inverse / prior - 1) times
    # its counts.
    within = np.stack([channel.variance(values, n) * (n / people) ** 2 if n else np.zeros_like(values) for n in sizes])
    # the inverse channel in closed form, which is never singular
    inverse = (np.eye(label.size) - label.base[:, None]) / label.gain
    return nearest, np.asarray((inverse / each - 1) ** 2 @ within)


def joint_estimate(reports: Reports, target: str, item: Item) -> tuple[Floats, int]:
    """Return unbiased numbers of people, shape (classes, values), and how many people answered.

    `item` names the reported column, or the class and the column if both are one report.
    """
    found = reports.counts(item, (target,) if len(item) == 1 else None)
    return found.reshape(reports.schema[target].size, -1), len(reports.values[item])


def joint_counts(reports: Reports, target: str, item: Item, reconstruction: str) -> Floats:
    """Return estimated numbers of people by class and value, 0 or more, shape (classes, values).

    `item` is as for `joint_estimate`, and `reconstruction` as for `fit_bayes`.
    """
    channel, label, how = reports.category(item), reports.channels.get((target,)), "project"
    found, people = joint_estimate(reports, target, item)
    if reconstruction == "clip":
        return np.maximum(found, 0.0)
    if reconstruction == "likelihood" and isinstance(channel, KeepOrDraw) and channel.gain:
        if len(item) == 2:
            how = reconstruction
        elif isinstance(label, KeepOrDraw) and label.gain:
            answered = reports.support(item, (target,))[0]
            return np.asarray(most_likely(channel.matrix, answered, by=label.matrix) * people)
    joint = shares(found.reshape(1, -1), how, channel=channel, people=np.array([float(people)]))
    return (joint * people).reshape(found.shape)


def moments(reports: Reports, item: Item, by: Item, least: str, *, as_published: bool) -> Floats:
    """Return the mean and variance of a number for each class of `by`, shape (classes, 2).

    `item` names the reported number, and `by` the class. Both results are moved into the public
    bounds, and variances to the least value that `least` allows. If classes are reported
    truthfully, these are the formulas 2 (mean) and 3 (variance) of the paper on PPNB, or 3 without
    its bias. With randomized classes, the sums of 1, x and x^2 by true class are estimated from the
    sums by reported class. Numbers then have Laplace noise: E[y] = x and E[y^2 - Var b] = x^2.
    """
    channel, column = reports.channels[item], reports.schema[item[0]]
    assert isinstance(channel, TRR)
    low, high = float(column.lower or 0.0), float(column.upper or 0.0)
    middle, widest = (low + high) / 2, ((high - low) / 2) ** 2
    label, group, y = reports.category(by), reports.values[by][reports.positions(item)], reports.values[item]
    found = np.tile([middle, widest], (label.size, 1))
    if not np.isfinite(channel.scale) or not len(y):
        return found
    if label.gain == 1:
        for own in range(label.size):
            said = y[group == own]
            if len(said) > 1:
                found[own] = channel.mean(said), channel.variance(said, as_published=as_published)
    else:
        centered = y - middle  # squares of numbers around 0 lose fewer digits
        squares = centered**2 - channel.moments[3]
        sums = [np.bincount(group, weights=w, minlength=label.size) for w in (np.ones_like(y), centered, squares)]
        count, first, second = reports.estimate_by_group(np.stack(sums, axis=1), by).T
        count = np.maximum(count, 1.0)
        found = np.stack([middle + first / count, second / count - (first / count) ** 2], axis=1)
    found[:, 0] = np.clip(found[:, 0], low, high)
    narrowest = (high - low) * LEAST_DEVIATIONS["thousandth" if channel.truthful else least]
    found[:, 1] = np.clip(found[:, 1], narrowest**2, widest)
    return found

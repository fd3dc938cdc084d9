"""Statistics of audits: numbers that an attacker computes from a fitted method's release.

Each function takes a fitted method (`fitted`) and reads only what the method released. `cases.toml`
names the functions. Their distributions on two neighboring data sets are compared.
"""

from functools import cache
from math import log, log2
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from dpcore.arguments import Floats
from dpcore.audit.game import replaced_pair
from dpcore.domain.schema import Schema
from dpcore.mechanisms.randomizers import OUE, TRR, KeepOrDraw
from dpcore.mechanisms.scores import class_log_scores

N = 40  # rows of zeros
# Mutual information of every pair of columns after one row of zeros becomes ones
STEP = (1 / N) * log2(N) + (1 - 1 / N) * log2(N / (N - 1))
EACH = 60  # rows of each kind
# Log-probabilities that a bootstrap sample has a row 0 to 8 times
TIMES = binom.logpmf(np.arange(9), N, 1 / N)
BITS = ((-0.5, 1.5), (-0.5, 1.5))


def clip_to_unit(noisy: Floats | float, without: float, step: float = 1.0) -> float:
    """Return a noisy number's position between its true values on the two data sets, in [0, 1].

    `without` is the true value on the first data set, `without + step` that on the second. With
    Laplace noise the position is the log-likelihood ratio up to a factor and a constant.
    """
    return float(np.clip((noisy - without) / step, 0.0, 1.0))


def difference_ratio(seen: float, step: float, scale: float) -> float:
    """Return the log-likelihood ratio of a noisy difference for two true values, 0 and `step`.

    `seen` is the noisy difference. The noise is the difference of two Laplace variables of scale
    `scale`; with its density f, the result is ln f(seen - step) - ln f(seen).
    """
    near, far = abs(seen - step) / scale, abs(seen) / scale
    return float(np.log1p(near) - near - np.log1p(far) + far)


# NB-Synth


@cache
def label_losses(exponent: float) -> Floats:
    """Return ln of P'[label | x] / P[label | x] for one label that NB-Synth draws.

    P is the distribution of labels on the first data set of the pair `equal_people`, P' that on the
    second. The array has shape (label, a, b, c); `exponent` is the factor of the exponential
    mechanism.
    """
    x = np.array(list(np.ndindex(2, 2, 2)), dtype=np.uint8)
    logs = []
    for table in replaced_pair("equal_people"):
        codes = table.astype(int)
        prior = np.bincount(codes["y"], minlength=2)
        tables = [np.histogram2d(codes["y"], codes[name], bins=2, range=BITS)[0] for name in "abc"]
        scores = exponent * class_log_scores(np.log(prior + 1.0), tables, x, 1.0)
        logs.append(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    return np.asarray((logs[1] - logs[0]).T.reshape(2, 2, 2, 2))


def sum_of_losses(fitted: Any) -> float:
    """Return the log-likelihood ratio of all rows that NB-Synth released on pair `equal_people`."""
    a, b, c, label = fitted.released_codes_.T.astype(int)
    corrected = fitted.mode == "corrected"
    divisor = len(label) * 8 * np.log(2) if corrected else 6.0
    return round(float(label_losses(fitted.epsilon / divisor)[label, a, b, c].sum()), 9)


def rows_of_class_1(fitted: Any) -> float:
    """Return the number of released rows with class 1."""
    return float(fitted.released_codes_[:, 1].sum())


def synthetic_ones(fitted: Any) -> float:
    """Return the number of rows (1, 1) among 1,000 synthetic rows of a fitted method."""
    return float((fitted.sample(1_000)[["a", "y"]] == "1").all(axis=1).sum())


def first_gain(fitted: Any) -> float:
    """Return the noisy count of rows (1, 1) in a fitted method's first marginal (`gain`)."""
    return gain(fitted.tables_[0], fitted.relation)


def gained_in_marginal(fitted: Any) -> float:
    """Return the noisy count of rows (1, 1) in a fitted network's first marginal (`gain`)."""
    return gain(fitted.marginals_[0], fitted.relation)


def gain(noisy: Floats, relation: str) -> float:
    """Return the noisy count of rows (1, 1) in a marginal, minus that of rows (0, 0) under replace.

    `noisy` is the marginal. A one-way marginal gives 0: the run did not measure the two columns
    together.
    """
    if noisy.ndim < 2:
        return 0.0
    return float(noisy[1, 1] - (noisy[0, 0] if relation == "replace" else 0))


# Networks


def similarities(fitted: Any) -> float:
    """Return how far released similarities of columns are towards the second data set's values.

    The result is a sum over pairs of columns of positions in [0, 1] (`clip_to_unit`).
    """
    pairs = np.triu_indices(len(fitted.similarity_), 1)
    return sum(clip_to_unit(similarity, 0.0, STEP) for similarity in fitted.similarity_[pairs])


def first_similarity(fitted: Any) -> float:
    """Return the released similarity (such as Jaccard's index) of the first two columns."""
    return float(fitted.similarity_[0, 1])


def corners(fitted: Any) -> float:
    """Return how far released counts are towards those of the second data set, with a row of ones.

    The first data set has zeros only. The result is a sum over all marginals, for the cells of all
    zeros and of all ones, of positions in [0, 1] (`clip_to_unit`).
    """
    return sum(clip_to_unit(t.flat[-1], 0.0) + clip_to_unit(N - t.flat[0], 0.0) for t in fitted.tables_)


def noise_elsewhere(fitted: Any) -> float:
    """Return the largest sum of absolute cells of the released marginals without column "a bit 1".

    On both data sets these marginals have the same true counts, so the sum shows the noise.
    """
    tables = zip(fitted.families_, fitted.tables_, fitted.epsilons_, strict=True)
    sizes = [np.abs(t).sum() for family, t, epsilon in tables if epsilon and family[0] != "a bit 1"]
    return float(max(sizes, default=0.0))


def log_ratio_of_ones(fitted: Any) -> float:
    """Return the log-likelihood ratio of released marginals for one more row of ones.

    It uses the difference between the cells of all ones and all zeros, which stays as released when
    marginals are adjusted to the same total; it is summed over all marginals.
    """
    row = 1.0 + (fitted.relation == "replace")
    return sum(
        difference_ratio(float(table.flat[-1] - table.flat[0]), row, row / epsilon)
        for table, epsilon in zip(fitted.tables_, fitted.epsilons_, strict=True)
        if epsilon and min(table.shape) > 1  # of rare values that were merged, a table has one cell
    )


def rows_of_ones(fitted: Any) -> float:
    """Return the released number of rows of ones, summed over all marginals."""
    return float(sum(table.flat[-1] for table in fitted.tables_))


def towards_second(fitted: Any) -> float:
    """Return the number of network edges among columns w, x, y, z minus that among a, b, c, d."""
    return float(sum((min(edge) >= "w") - (max(edge) <= "d") for edge in fitted.edges_))


def cells(fitted: Any) -> float:
    """Return the noisy count of rows of ones; under replace, `log_ratio_of_ones` instead."""
    return log_ratio_of_ones(fitted) if fitted.relation == "replace" else float(fitted.tables_[0][1, 1])


# Groups


def path(fitted: Any) -> float:
    """Return the log-likelihood ratio of the released counts on a tree's path of row (1, 1, 1).

    The second data set has that row. Under replace the result includes the path of the replaced row
    (0, 0, 0).
    """
    found, row = 0.0, 1 + (fitted.relation == "replace")
    for noisy, epsilon in zip(fitted.tree_.noisy, fitted.level_epsilons_, strict=True):
        if epsilon:
            lost = clip_to_unit(1 - noisy[0], 0.0) if row == 2 and len(noisy) > 1 else 0.0
            found += 2 * epsilon / row * (clip_to_unit(noisy[-1], 0.0) + lost)
    return round(found, 9)


def last_group(fitted: Any) -> float:
    """Return the released count of the group of rows (1, 1) in a tree of groups.

    Under replace, return instead the sum of two positions in [0, 1] (`clip_to_unit`): for the rows
    (1, 1) gained, and for the rows (0, 0) lost.
    """
    noisy = fitted.tree_.noisy[-1].reshape(fitted.tree_.leaves.shape)
    if fitted.relation == "add_remove":
        return float(noisy[-1, -1])
    return clip_to_unit(noisy[-1, -1], 5.0) + clip_to_unit(5 - noisy[0, 0], 0.0)


def first_split_point(fitted: Any) -> float:
    """Return the number of integers below the first split point of a released tree."""
    return float(fitted.tree_.leaves.axes[0].sizes[0])


# Trees


def count_split_roots(fitted: Any) -> float:
    """Return the number of trees in a released forest whose root is split."""
    return float((~fitted.forest_.leaf[: fitted.forest_.trees]).sum())


def rows_of_class_1_in_trees(fitted: Any) -> float:
    """Return the released number of rows of class 1, summed over the roots of all trees."""
    return float(fitted.forest_.classes[: fitted.forest_.trees, 1].sum())


def asks_first_column(fitted: Any) -> float:
    """Return 1 if the root of a released tree splits by the first column, otherwise 0."""
    return float(fitted.forest_.column[0] == 0)


def leaf(forest: Any, code: int) -> int:
    """Return the index of the leaf of a released tree (`forest`) for a row with this code.

    `code` is that of column a: the tree can split by no other column.
    """
    at = 0
    while forest.column[at] >= 0:
        at = int(forest.first[at]) + code
    return at


def counts_down(fitted: Any, code: int) -> list[float]:
    """Return by how much the released counts on a row's path exceed those of the first data set.

    The row is (0, 0) if `code` is 0, and (1, 1) if `code` is 1. The counts are those of its class
    in its leaf, of the leaf, and, if the relation is add_remove, of all rows.
    """
    forest = fitted.forest_
    at = leaf(forest, code)
    found = [forest.classes[at, code] - EACH]
    found += [forest.noisy[at] - 2 * EACH] if forest.parent[at] >= 0 else []
    found += [forest.noisy[0] - 4 * EACH] if fitted.relation == "add_remove" else []
    return [float(more) for more in found if not np.isnan(more)]


def way_down(fitted: Any) -> float:
    """Return how far the counts on a tree's path of row (1, 1) are towards the second data set.

    The counts are the released ones. The result is a sum of positions in [0, 1] (`clip_to_unit`);
    under replace it includes the path of the replaced row (0, 0).
    """
    lost = counts_down(fitted, 0) if fitted.relation == "replace" else []
    changes = [*counts_down(fitted, 1), *(-more for more in lost)]
    return round(sum(clip_to_unit(change, 0.0) for change in changes), 9)


def copies(fitted: Any) -> float:
    """Return the log-likelihood ratio of a tree on a bootstrap sample, for one replaced row.

    It uses four released counts, and averages over the number of times that the bootstrap sample
    may contain the row.
    """
    forest = fitted.forest_
    new, old = leaf(forest, 1), leaf(forest, 0)
    lost = [N - forest.noisy[old], N - forest.classes[old, 0]]
    counts = np.array([forest.noisy[new], forest.classes[new, 1], *lost])[:, None]
    found = (abs(counts) - abs(counts - np.arange(len(TIMES)))).sum(axis=0) * fitted.epsilon / 4
    return 0.0 if new == old else round(float(logsumexp(found + TIMES)), 9)


# Randomized answers


def report(fitted: Any, *family: str) -> Any:
    """Return what the audited person reported for a group of columns, `family`, to a local method."""
    return fitted.reports_.values[family][0]


def reported_class(fitted: Any) -> float:
    """Return the class that the audited person reported to a local method."""
    return float(report(fitted, "y"))


def reported_number(fitted: Any) -> float:
    """Return the number that the audited person reported to a local method."""
    return float(report(fitted, "n"))


def reported_size(fitted: Any) -> float:
    """Return the absolute value of the number that the audited person reported."""
    return abs(float(report(fitted, "n")))


def reports_d(fitted: Any) -> float:
    """Return 1 if the audited person reported the last value of column x, otherwise 0."""
    return float(report(fitted, "x") == 3)


def first_bits_differ(fitted: Any) -> float:
    """Return 1 if the first two bits that the audited person reported differ, otherwise 0."""
    return float(report(fitted, "a") != report(fitted, "b"))


def probability_of_yes(fitted: Any) -> float:
    """Return the released classifier's probability of "yes" for the second data set's person."""
    return float(fitted.predict_proba(replaced_pair("one_person")[1])[0, 1])


def log_ratio(fitted: Any) -> float:
    """Return the log-likelihood ratio of all reports of one person, for two true records."""
    reports = fitted.reports_
    ratios = [
        ratio_of(channel, report(fitted, *family), *values_of(reports.schema, family))
        for family, channel in reports.channels.items()
        if len(reports.values[family])
    ]
    return round(sum(ratios), 9)


@cache
def values_of(schema: Schema, family: tuple[str, ...]) -> list[Any]:
    """Return one person's true value of a group of columns, `family`, on both data sets of a pair.

    Each value is a pair of its code and, for the column n, its number (0 for others).
    """
    found = []
    for table in replaced_pair("one_person" if "x" in schema.names else "all_bits"):
        codes = schema.encode(table)[-1].astype(int)
        sizes = [schema[name].size for name in family]
        code = int(np.ravel_multi_index([codes[schema.index(name)] for name in family], sizes))
        found.append((code, float(table["n"].iloc[-1]) if family == ("n",) else 0.0))
    return found


def ratio_of(channel: Any, said: Any, one: tuple[int, float], other: tuple[int, float]) -> float:
    """Return ln of P[report | other] / P[report | one] for a randomizer and a report.

    `channel` is the randomizer and `said` the report. `one` and `other` are the true values on the
    two data sets, each a code and a number.
    """
    if isinstance(channel, TRR):
        return float((abs(said - one[1]) - abs(said - other[1])) / channel.scale)
    if isinstance(channel, KeepOrDraw):
        return float(log(channel.matrix[said, other[0]] / channel.matrix[said, one[0]]))
    if isinstance(channel, OUE):
        change = log(0.5 / channel.q) - log(0.5 / (1 - channel.q))
        return change * (float(said[other[0]]) - float(said[one[0]]))
    raise TypeError(channel)

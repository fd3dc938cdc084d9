"""What attackers compute of a fitted method, from what it released, as `cases.toml` names it."""

from functools import cache
from math import log, log2
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from dpcore.arguments import Floats
from dpcore.audit.game import pair_of
from dpcore.domain.schema import Schema
from dpcore.mechanisms.randomizers import OUE, TRR, KeepOrDraw
from dpcore.mechanisms.scores import class_log_scores

N = 40  # rows of zeros
# what one row of ones makes of every pair's information
STEP = (1 / N) * log2(N) + (1 - 1 / N) * log2(N / (N - 1))
EACH = 60  # rows of each kind
# how often a bootstrap sample holds a row
TIMES = binom.logpmf(np.arange(9), N, 1 / N)
BITS = ((-0.5, 1.5), (-0.5, 1.5))


def clip_to_unit(noisy: Floats | float, without: float, step: float = 1.0) -> float:
    """How far a noisy number lies on the way from its value in the first world to the second's.

    It is from 0 to 1: for Laplace noise its log-likelihood ratio but for a factor and a constant.
    """
    return float(np.clip((noisy - without) / step, 0.0, 1.0))


def difference_ratio(seen: float, step: float, scale: float) -> float:
    """ln of f(seen - step) / f(seen).

    f is the density of the difference of two Laplace variables of that scale.
    """
    near, far = abs(seen - step) / scale, abs(seen) / scale
    return float(np.log1p(near) - near - np.log1p(far) + far)


# NB-Synth


@cache
def label_losses(exponent: float) -> Floats:
    """ln of P'[label | x] / P[label | x] for the tables of equal people, shape (label, a, b, c)."""
    x = np.array(list(np.ndindex(2, 2, 2)), dtype=np.uint8)
    logs = []
    for table in pair_of("equal_people"):
        codes = table.astype(int)
        prior = np.bincount(codes["y"], minlength=2)
        tables = [np.histogram2d(codes["y"], codes[name], bins=2, range=BITS)[0] for name in "abc"]
        scores = exponent * class_log_scores(np.log(prior + 1.0), tables, x, 1.0)
        logs.append(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    return np.asarray((logs[1] - logs[0]).T.reshape(2, 2, 2, 2))


def sum_of_losses(fitted: Any) -> float:
    """The log-likelihood ratio of all released rows; x is drawn by public lots."""
    a, b, c, label = fitted.released_codes_.T.astype(int)
    corrected = fitted.mode == "corrected"
    divisor = len(label) * 8 * np.log(2) if corrected else 6.0
    return round(float(label_losses(fitted.epsilon / divisor)[label, a, b, c].sum()), 9)


def rows_of_class_1(fitted: Any) -> float:
    """The released rows with label 1."""
    return float(fitted.released_codes_[:, 1].sum())


def synthetic_ones(fitted: Any) -> float:
    """The rows (1, 1) among 1,000 synthetic ones."""
    return float((fitted.sample(1_000)[["a", "y"]] == "1").all(axis=1).sum())


def first_gain(fitted: Any) -> float:
    """What `gain` says of the first table."""
    return gain(fitted.tables_[0], fitted.relation)


def gained_in_marginal(fitted: Any) -> float:
    """What `gain` says of the first marginal."""
    return gain(fitted.margins_[0], fitted.relation)


def gain(noisy: Floats, relation: str) -> float:
    """The noisy number of rows (1, 1), less that of rows (0, 0) where these lose what those gain.

    It is 0 where the columns were not measured together, as some runs do not choose their pair.
    """
    if noisy.ndim < 2:
        return 0.0
    return float(noisy[1, 1] - (noisy[0, 0] if relation == "replace" else 0))


# Networks


def similarities(fitted: Any) -> float:
    """How far all noisy similarities lie on the way from the first world's to the second's."""
    pairs = np.triu_indices(len(fitted.similarity_), 1)
    return sum(clip_to_unit(similarity, 0.0, STEP) for similarity in fitted.similarity_[pairs])


def first_similarity(fitted: Any) -> float:
    """The similarity of the first two columns."""
    return float(fitted.similarity_[0, 1])


def corners(fitted: Any) -> float:
    """How far all tables' corners lie on the way from N rows of zeros to one row of ones."""
    return sum(clip_to_unit(t.flat[-1], 0.0) + clip_to_unit(N - t.flat[0], 0.0) for t in fitted.tables_)


def noise_elsewhere(fitted: Any) -> float:
    """The largest sum of a table's absolute cells, of those without the column that differs."""
    tables = zip(fitted.families_, fitted.tables_, fitted.epsilons_, strict=True)
    sizes = [np.abs(t).sum() for family, t, epsilon in tables if epsilon and family[0] != "a bit 1"]
    return float(max(sizes, default=0.0))


def log_ratio_of_ones(fitted: Any) -> float:
    """The log-likelihood ratio of all tables' differences between the cells of ones and of zeros.

    Tables were moved to one total, which leaves differences as they were.
    """
    row = 1.0 + (fitted.relation == "replace")
    return sum(
        difference_ratio(float(table.flat[-1] - table.flat[0]), row, row / epsilon)
        for table, epsilon in zip(fitted.tables_, fitted.epsilons_, strict=True)
        if epsilon and min(table.shape) > 1  # of rare values that were merged, a table has one cell
    )


def rows_of_ones(fitted: Any) -> float:
    """The rows of ones over all tables."""
    return float(sum(table.flat[-1] for table in fitted.tables_))


def towards_second(fitted: Any) -> float:
    """How many more edges lie among w, x, y, z than among a, b, c, d."""
    return float(sum((min(edge) >= "w") - (max(edge) <= "d") for edge in fitted.edges_))


def cells(fitted: Any) -> float:
    """The rows of ones in the one table; what `log_ratio_of_ones` says if a row is replaced."""
    return log_ratio_of_ones(fitted) if fitted.relation == "replace" else float(fitted.tables_[0][1, 1])


# Groups


def path(fitted: Any) -> float:
    """The log-likelihood ratio of the counts that hold the row (1, 1, 1), or also (0, 0, 0)."""
    found, row = 0.0, 1 + (fitted.relation == "replace")
    for noisy, epsilon in zip(fitted.tree_.noisy, fitted.level_epsilons_, strict=True):
        if epsilon:
            lost = clip_to_unit(1 - noisy[0], 0.0) if row == 2 and len(noisy) > 1 else 0.0
            found += 2 * epsilon / row * (clip_to_unit(noisy[-1], 0.0) + lost)
    return round(found, 9)


def last_group(fitted: Any) -> float:
    """The noisy count of the group of (1, 1), and how many rows that of (0, 0) lost, if any."""
    noisy = fitted.tree_.noisy[-1].reshape(fitted.tree_.leaves.shape)
    if fitted.relation == "add_remove":
        return float(noisy[-1, -1])
    return clip_to_unit(noisy[-1, -1], 5.0) + clip_to_unit(5 - noisy[0, 0], 0.0)


def first_split_point(fitted: Any) -> float:
    """How many numbers lie below the first cut."""
    return float(fitted.tree_.leaves.axes[0].sizes[0])


# Trees


def count_split_roots(fitted: Any) -> float:
    """How many trees divide their root."""
    return float((~fitted.forest_.leaf[: fitted.forest_.trees]).sum())


def rows_of_class_1_in_trees(fitted: Any) -> float:
    """The rows of class 1 in the roots of all trees."""
    return float(fitted.forest_.classes[: fitted.forest_.trees, 1].sum())


def asks_first_column(fitted: Any) -> float:
    """Whether the root of the first tree asks for the first column."""
    return float(fitted.forest_.column[0] == 0)


def leaf(forest: Any, code: int) -> int:
    """Where the one tree puts a row whose column a has that code; it can ask for no other."""
    at = 0
    while forest.column[at] >= 0:
        at = int(forest.first[at]) + code
    return at


def counts_down(fitted: Any, code: int) -> list[float]:
    """What released counts on the way down of (0, 0) or (1, 1) have more than in the first world.

    Those that the row changes: of its class in its leaf, of the leaf, and of all if a row is added.
    """
    forest = fitted.forest_
    at = leaf(forest, code)
    found = [forest.classes[at, code] - EACH]
    found += [forest.noisy[at] - 2 * EACH] if forest.parent[at] >= 0 else []
    found += [forest.noisy[0] - 4 * EACH] if fitted.relation == "add_remove" else []
    return [float(more) for more in found if not np.isnan(more)]


def way_down(fitted: Any) -> float:
    """How far noisy counts on the way down of (1, 1), and of (0, 0) if lost, lie to the second."""
    lost = counts_down(fitted, 0) if fitted.relation == "replace" else []
    changes = [*counts_down(fitted, 1), *(-more for more in lost)]
    return round(sum(clip_to_unit(change, 0.0) for change in changes), 9)


def copies(fitted: Any) -> float:
    """The log-likelihood ratio of four counts, over how often a sample may hold the row."""
    forest = fitted.forest_
    new, old = leaf(forest, 1), leaf(forest, 0)
    lost = [N - forest.noisy[old], N - forest.classes[old, 0]]
    counts = np.array([forest.noisy[new], forest.classes[new, 1], *lost])[:, None]
    found = (abs(counts) - abs(counts - np.arange(len(TIMES)))).sum(axis=0) * fitted.epsilon / 4
    return 0.0 if new == old else round(float(logsumexp(found + TIMES)), 9)


# Randomized answers


def report(fitted: Any, *family: str) -> Any:
    """What the one person reported."""
    return fitted.reports_.values[family][0]


def reported_class(fitted: Any) -> float:
    """The reported class."""
    return float(report(fitted, "y"))


def reported_number(fitted: Any) -> float:
    """The reported number."""
    return float(report(fitted, "n"))


def reported_size(fitted: Any) -> float:
    """The reported number without its sign."""
    return abs(float(report(fitted, "n")))


def reports_d(fitted: Any) -> float:
    """Whether the last value of x was reported."""
    return float(report(fitted, "x") == 3)


def first_bits_differ(fitted: Any) -> float:
    """Whether the first two reported bits differ."""
    return float(report(fitted, "a") != report(fitted, "b"))


def probability_of_yes(fitted: Any) -> float:
    """What the classifier says of the second world's person."""
    return float(fitted.predict_proba(pair_of("one_person")[1])[0, 1])


def log_ratio(fitted: Any) -> float:
    """The log-likelihood ratio of all reports of the one person."""
    reports = fitted.reports_
    ratios = [
        ratio_of(channel, report(fitted, *family), *values_of(reports.schema, family))
        for family, channel in reports.channels.items()
        if len(reports.values[family])
    ]
    return round(sum(ratios), 9)


@cache
def values_of(schema: Schema, family: tuple[str, ...]) -> list[Any]:
    """A family's true value in both worlds: its code, and the number if it is one."""
    found = []
    for table in pair_of("one_person" if "x" in schema.names else "all_bits"):
        codes = schema.encode(table)[-1].astype(int)
        sizes = [schema[name].size for name in family]
        code = int(np.ravel_multi_index([codes[schema.index(name)] for name in family], sizes))
        found.append((code, float(table["n"].iloc[-1]) if family == ("n",) else 0.0))
    return found


def ratio_of(channel: Any, said: Any, one: tuple[int, float], other: tuple[int, float]) -> float:
    """ln of P[report | other] / P[report | one]."""
    if isinstance(channel, TRR):
        return float((abs(said - one[1]) - abs(said - other[1])) / channel.scale)
    if isinstance(channel, KeepOrDraw):
        return float(log(channel.matrix[said, other[0]] / channel.matrix[said, one[0]]))
    if isinstance(channel, OUE):
        change = log(0.5 / channel.q) - log(0.5 / (1 - channel.q))
        return change * (float(said[other[0]]) - float(said[one[0]]))
    raise TypeError(channel)

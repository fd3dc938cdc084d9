"""Plain statistics with both errors: counts, shares, means, quantiles and slopes, by public groups.

All statistics of a fit are estimated from few measurements, which share the privacy budget in
proportion to the weights of the statistics that use them:

counts   Marginals of the groups, alone or with a column's values: counts, shares, histograms.
moments  Sums of Bernstein polynomials of scaled numbers (`domain.moments`): mean, sum, variance,
         difference of two means, slope. All of a column in the same groups use one measurement.
ranks    Quantiles (`door.ranks`): the exponential mechanism selects the quantiles, and thresholds
         near them; then the rows between these thresholds are counted. The counts give the
         intervals. All quantiles of a column in the same groups share these measurements.
persons  Number of persons, from one row of each. Their loss is counted per person.

Every group that the schema declares gets an answer, whether or not a row is in it. A mean may also
follow from a histogram of the same column and groups, if each bin is one number: then the
measurement with less noise is used. Both variances are public: for moments the scale's square times
at most 1, for a histogram times the sum of squares of the values' distances from the middle of the
range, in units of it.

Quantiles. Ranks are sorted; the middle one is selected among all thresholds, and others inside the
parts that it leaves, so that the selections of one level are about disjoint rows. Thresholds at the
ends of the likely intervals follow in the same way. These are guessed from noisy numbers of rows; a
bad guess makes an interval wider, not wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import inf, prod, sqrt
from typing import Any, Self, TypedDict, Unpack

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.privacy_measure import PrivacyLoss, PrivacyMeasure
from dpcore.accounting.relation import Relation, exact, shares_of
from dpcore.arguments import Floats, Ints, Progress, check_arguments, is_number
from dpcore.domain.column import Column, unique_label
from dpcore.domain.moments import GRID, MomentBasis
from dpcore.domain.schema import Schema, require_schema
from dpcore.domain.statistic import EXAMPLE, Condition, RowGroups, Statistic
from dpcore.door import PrivateTable
from dpcore.door.ranks import PrivateRanks, RankCells
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import generator
from dpcore.methods.base import MOST_DELTA, PrivateEstimator, public_total
from dpcore.methods.parameters import fitted_field, number, text
from dpcore.postprocess import estimates
from dpcore.postprocess.estimates import (
    DRAWS,
    TINY,
    DrawnNoise,
    Function,
    Interval,
    NoisySums,
    RankCounts,
    StatisticEstimate,
    count_estimate,
    public_estimate,
)
from dpcore.rows import NumberRule, RowSource
from dpcore.text import as_text

ANSWERS = ["statistic", "group", "of", "value", "noise_low", "noise_high", "sampling_low", "sampling_high"]
ANSWERS += ["low", "high", "unit", "too_few", "how"]
HOW = {
    "counts": phrase("noisy counts"),
    "moments": phrase("noisy sums of numbers within their bounds"),
    "ranks": phrase("values selected by the exponential mechanism, and noisy counts between them"),
    "persons": phrase("noisy number of persons"),
    "public": phrase("public number"),
}
# the highest power of each column's moments that an estimate and its sampling error need
DEGREES: dict[str, tuple[int, ...]] = {"mean": (2,), "sum": (2,), "difference": (2,), "variance": (4,), "slope": (4, 2)}
MOST_VALUES = 8_192  # whole numbers of a column that have codes of their own
MOST_CELLS = 1 << 21  # of a marginal of such columns
FORECAST_ROWS, FORECAST_DRAWS = 1_000, 511
# thresholds on either side of a quantile: for the noise, for both errors, and farther away
NEAR = 3
RANK_SHARES = {"rows": 0.02, "quantiles": 0.62, "ends": 0.2, "counts": 0.16}


@dataclass
class Task:
    """One measurement: its kind, groups and columns, and what the statistics need of it."""

    kind: str
    groups: RowGroups
    columns: tuple[str, ...] = ()
    degrees: tuple[int, ...] = ()
    ranks: set[float] = field(default_factory=set)
    weight: float = 0.0

    def basis(self, schema: Schema, relation: str) -> MomentBasis:
        """Return the functions whose sums a measurement of moments has."""
        rows_public = self.has_public_rows(schema, relation) and self.degrees == (2,)
        return MomentBasis(self.degrees, rows_public=rows_public)

    def has_public_rows(self, schema: Schema, relation: str) -> bool:
        """Return whether the number of rows that it is about is public: replace, and one group."""
        missing = any(schema[name].missing for name in self.columns)
        return relation == Relation.REPLACE and self.groups.size == 1 and not missing


@dataclass(frozen=True)
class RankAnswer:
    """Thresholds in the order of a column's numbers, by group, and noisy counts between them."""

    cells: RankCells
    thresholds: Ints
    quantiles: Ints  # the threshold of each rank, shape (groups, ranks)
    counts: Floats


class PlainStatistics(PrivateEstimator):
    """Plain statistics: numbers with an interval of the noise and one of sampling.

    `dp.ask` is the usual way to use this class.

    Parameters
    ----------
    queries
        The statistics, one per line, such as 'mean of cost by ward'; `domain.statistic` has the
        forms.

    Attributes
    ----------
    measured_ : list
        The noisy measurements, with the scale of their noise.
    queries_ : str
        The statistics that were measured.
    whole_noise_ : bool
        Whether the noise on counts is whole numbers.
    rows_ : float
        The number of rows, if it is public; otherwise NaN.
    """

    title = "Plain statistics"
    _draws = estimates.DRAWS  # of the noise, for intervals
    delta: float = number(default=0.0, maximum=MOST_DELTA)
    queries: str = text(default="count")
    measured_: list[tuple[Any, float]] = fitted_field()
    queries_: str = fitted_field()
    whole_noise_: bool = fitted_field()
    rows_: float = fitted_field()

    def statistics(self) -> list[Statistic]:
        """Return the statistics that `queries` describes, one per line; those measured, after a fit."""
        queries = getattr(self, "queries_", self.queries)
        return [Statistic.parse(line) for line in queries.split("\n") if line.strip()]

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if a statistic does not fit the schema, or published mode is set."""
        if self._published:
            raise ParameterError("Statistics have no published version.", "Use mode='corrected'.")
        if not self.statistics():
            raise ParameterError("No statistic is given.", EXAMPLE)
        for statistic in self.statistics():
            statistic.check(schema)

    def _number_rules(self, schema: Schema) -> dict[int, NumberRule]:
        """Return the scaling to [0, 1] of the columns whose numbers are needed."""
        statistics = self.statistics()
        names = {name for one in statistics if one.kind != "histogram" for name in one.columns}
        names |= {own.column for one in statistics for own in (*one.where, *one.cases) if own.limit is not None}
        return {schema.index(name): partial(scale_numbers, ends=number_range(schema[name])) for name in sorted(names)}

    def _tasks(self, schema: Schema, relation: str) -> tuple[list[Task], list[Task]]:
        """Return the distinct measurements, and the one of each statistic."""
        found: dict[Any, Task] = {}
        used, statistics = [], self.statistics()
        histograms = {(RowGroups(schema, one).key, one.columns) for one in statistics if one.kind == "histogram"}
        for one in statistics:
            groups = RowGroups(schema, replace(one, persons=False))
            columns, degrees = one.columns[::-1], DEGREES.get(one.kind, ())
            kind = "persons" if one.persons else "moments" if degrees else "ranks" if one.ranks else "counts"
            if relation == Relation.REPLACE and (one.persons or (one.kind == "count" and groups.size == 1)):
                kind = "public"
            if one.kind == "mean" and (groups.key, columns) in histograms and suits_histogram(schema[columns[0]]):
                kind, degrees = "counts", ()
            task = found.setdefault((kind, groups.key, columns), Task(kind, groups, columns))
            task.degrees = max(task.degrees, degrees)
            task.ranks |= {*one.ranks}
            task.weight += one.weight
            used.append(task)
        return list(found.values()), used

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Make the measurements, each with its share of the budget."""
        tasks, _ = self._tasks(table.schema, table.relation)
        grouped, names, cliques = table, dict[Any, str](), []

        def add_codes(key: Any, name: str, source: str, rule: Any, size: int) -> None:
            """Add a column of public codes of a column's numbers, unless it is there already."""
            nonlocal grouped
            if key not in names:
                names[key] = unique_label(name, grouped.schema.names)
                grouped = grouped.number_codes(numbered_column(names[key], size), source, rule)

        for task in tasks:
            groups, columns = task.groups, task.columns
            for source, limits in groups.limits.values():
                scaled = scale_numbers(np.array(limits), ends=number_range(table.schema[source]))
                rule = partial(part_codes, limits=scaled)
                add_codes(("parts", source, limits), f"parts of {source}", source, rule, len(limits) + 2)
            if groups.key not in names:
                names[groups.key] = unique_label(groups.name, grouped.schema.names)
                sources = [names.get(("parts", *groups.limits[own]), "") if own in groups.limits else own
                           for own in groups.sources]  # fmt: skip
                grouped = grouped.derive(numbered_column(names[groups.key], groups.size), sources, groups.rule)
            if task.kind == "moments":
                for own in columns:
                    low, high = number_range(table.schema[own])
                    if table.schema[own].whole and high - low < MOST_VALUES:
                        rule = partial(value_codes, span=int(high - low))
                        add_codes(("values", own), f"values of {own}", own, rule, int(high - low) + 2)
                columns = tuple(names.get(("values", own), "") for own in columns)
            clique = (names[groups.key], *columns)
            is_counted = task.kind == "counts" or (task.kind == "moments" and "" not in clique)
            fits = is_counted and prod(grouped.schema[name].size for name in clique) <= MOST_CELLS
            cliques.append(clique if task.kind == "counts" or fits else clique[:1])
        grouped.prefetch([own for task, own in zip(tasks, cliques, strict=True) if task.kind in ("counts", "moments")])
        self.measured_ = []
        weights = [task.weight for task in tasks if task.kind != "public"]
        shares = iter(shares_of(self._budget(table), weights) if weights else [])
        for done, (task, clique) in enumerate(zip(tasks, cliques, strict=True)):
            progress(done / len(tasks), phrase("Measuring statistics"))
            share = 0 if task.kind == "public" else next(shares)
            if task.kind == "public":
                found: Any = None, 0.0
            elif task.kind == "counts":
                found = grouped.counts([clique], epsilon=share)[0], table.count_scale(share)
            elif task.kind == "moments":
                basis = task.basis(table.schema, table.relation)
                found = grouped.moments(clique[0], task.columns, basis, epsilon=share, values=clique[1:])
            elif task.kind == "ranks":
                found = measure_ranks(grouped, clique[0], task, share)
            else:
                found = count_persons(table, share)
            self.measured_.append(found)
        self.rows_, self.queries_ = float(public_total(table, np.nan)), self.queries
        self.whole_noise_ = table.whole_noise

    def answers(self) -> pd.DataFrame:
        """Return the estimates with their intervals, one row per statistic, group and value.

        Returns
        -------
        DataFrame
            `statistic` is its text, `group` the group of rows, and `of` the value, bin or rank.
            `value` is the estimate, in `unit`. Intervals of 90 %: `noise_low` to `noise_high` for
            the noise, `sampling_low` to `sampling_high` for sampling, `low` to `high` for both.
            `too_few` says that the noise hides how many rows there are: then there is no value.
            `how` names the measurement.

        Raises
        ------
        ParameterError
            If the method is not fitted yet.
        """
        self._check_fitted()
        tasks, used = self._tasks(self.schema_, self.ledger_.relation)
        measured = {id(task): own for task, own in zip(tasks, self.measured_, strict=True)}
        rows = [
            (str(one), group, item, found[0], *found[1], *found[2], *found[3], unit, found.too_few, HOW[task.kind])
            for one, task in zip(self.statistics(), used, strict=True)
            for group, item, unit, found in self._estimates(one, task, *measured[id(task)])
        ]
        return pd.DataFrame(rows, columns=ANSWERS)

    def _estimates(
        self, one: Statistic, task: Task, measured: Any, scale: float
    ) -> Iterator[tuple[str, str, str, StatisticEstimate]]:
        """Yield group, value or rank, unit and estimate of each answer to a statistic."""
        schema, columns = self.schema_, [self.schema_[name] for name in task.columns]
        # another statistic with the same measurement may name its groups otherwise
        groups, own_relation = RowGroups(schema, replace(one, persons=False)), self.ledger_.relation
        cluster = schema.persons.max_contributions if schema.persons else 1
        public = self.rows_ if own_relation == Relation.REPLACE else None
        total = public if task.has_public_rows(schema, own_relation) else None
        distribution = self.ledger_.measure.distribution
        noise = DrawnNoise(scale, distribution, self.whole_noise_ and self._draws == DRAWS, 1, self._draws)
        # under replace each person has `cluster` rows, so that counts of rows are those of persons
        unit, many = ("persons", cluster) if schema.persons and public is not None else ("rows", 1)
        if task.kind == "public":
            persons = one.persons or many > 1
            yield "all persons" if persons else "all rows", "", unit, public_estimate(self.rows_ / many)
        elif one.persons:
            yield "all persons", "", "persons", count_estimate(measured, noise, None)
        elif one.kind in ("count", "histogram"):
            cells = measured.reshape(groups.size, -1)
            rows = max(float(cells.sum()), 1.0) if public is None else max(public, 1.0)
            for group, counts in zip(groups.labels, cells, strict=False):
                for item, noisy in zip(columns[0].labels if columns else [""], counts, strict=True):
                    found = count_estimate(noisy, noise, rows if cells.size > 1 else None, cluster)
                    yield group, item, unit, found.divided_by(many)
        elif one.kind == "share":
            for group, own in zip(groups.labels, measured[: 2 * len(groups.labels)].reshape(-1, 2), strict=True):
                sums = NoisySums(own, noise.again(2), noise.step, public if groups.size == 2 else None)
                yield group, str(one.cases[0]), "share", estimates.share_estimate(sums, cluster)
        elif one.kind == "quantiles":
            cells, ranks, variance = measured.cells, sorted(task.ranks), float(np.var(noise.again(1)))
            for g, group in enumerate(groups.labels):
                between = RankCounts(measured.counts[g], variance, total, cluster)
                numbers = partial(threshold_numbers, cells=cells, thresholds=measured.thresholds[g])
                for rank in one.ranks:
                    point = cells.ends(measured.quantiles[g, ranks.index(rank)])
                    yield group, f"{rank!r}", one.columns[0], between.estimate(rank, point, numbers)
        else:
            raw: Function = partial(moments_of_counts, powers=powers_in_bins(columns[0]))
            ends = [number_range(column) for column in columns]
            if task.kind == "moments":
                basis, noise = task.basis(schema, own_relation), noise._replace(grid=GRID)
                raw = partial(basis.moments, rows=np.nan if public is None else public)
                total = None if basis.rows_public else total
            rows = float(count_of(raw(measured), len(columns)).sum()) if public is None else public
            parts = moment_parts(one, raw, ends, rows, cluster)
            again, divisor = noise.again(measured.shape[-1] * groups.cases), many if one.kind == "sum" else 1
            unit = {"variance": f"{one.columns[0]}²", "slope": " / ".join(one.columns)}.get(one.kind, one.columns[0])
            item = f"per {one.columns[1]}" if one.kind == "slope" else " − ".join(map(str, one.cases))
            for g, group in enumerate(groups.labels):
                own = measured[g * groups.cases : (g + 1) * groups.cases].ravel()
                sums = NoisySums(own, again, noise.step if noise.grid == 1 else 0.0, total)
                yield group, item, unit, sums.estimate(*parts).divided_by(divisor)

    def forecast(self, schema: Schema, rows: int) -> pd.DataFrame:
        """Return how wide intervals would be, if the schema's values were equally common.

        No row is read: fewer random rows with equally common values get noise that is smaller in
        the same ratio, and the widths are then extrapolated.

        Parameters
        ----------
        schema : Schema
            The public schema.
        rows : int
            A public guess of the number of rows.

        Returns
        -------
        DataFrame
            `statistic`, `group` and `of` as for `answers`; `noise` and `both`, half the widths of
            the intervals; and `too_few`.
        """
        many = schema.persons.max_contributions if schema.persons else 1
        rows = max(rows, 1)
        few = min(rows, FORECAST_ROWS)
        rng, factor, measure = generator(0, 1), Fraction(rows, few), PrivacyMeasure.from_delta(self.delta)
        codes = np.stack([rng.integers(0, size, few, dtype=np.uint16) for size in schema.sizes], axis=1)
        method = clone(self.with_row_budget(many))
        epsilon = measure.epsilon(measure.loss_of(method.epsilon) * factor ** (2 if self.delta else 1))
        lines = [str(one) for one in self.statistics() if not one.persons] or ["count"]
        method.set_params(epsilon=epsilon, random_state=0, queries="\n".join(lines))
        method._draws = FORECAST_DRAWS
        ledger = Ledger(self.relation, delta=self.delta)
        method.fit(schema.decode(codes, rng), schema=replace(schema, unit=None, max_rows=None), ledger=ledger)
        found = method.answers()
        counted = found["statistic"].str.split().str[0].isin(["count", "sum", "histogram"])
        by_rows = np.where(counted, float(factor), 1.0)
        noise = (found["noise_high"] - found["noise_low"]) / 2 * by_rows
        sampling = (found["sampling_high"] - found["sampling_low"]) / 2 * by_rows * sqrt(many / factor)
        widths = {"noise": noise, "both": np.hypot(noise, sampling), "too_few": found["too_few"]}
        return pd.DataFrame({name: found[name] for name in ("statistic", "group", "of")} | widths)


def measure_ranks(table: PrivateTable, group: str, task: Task, share: PrivacyLoss) -> tuple[RankAnswer, float]:
    """Select quantiles and thresholds near them, and count the rows between; with the noise's scale.

    Thresholds are expected where the intervals of the noise, and of both errors, will end.
    """
    ranks, column = np.array(sorted(task.ranks)), task.columns[0]
    loss = {name: exact(share) * Fraction(str(part)) for name, part in RANK_SHARES.items()}
    groups, many = task.groups.size, len(ranks)
    if task.has_public_rows(table.schema, table.relation):
        rows, loss["quantiles"] = np.array([public_total(table)]), loss["quantiles"] + loss["rows"]
    else:
        (rows,) = table.counts([(group,)], epsilon=loss["rows"])
    rows = np.maximum(rows, 1.0)[:, None]
    cells = RankCells.of_column(table.schema[column], groups, float(rows.max()))
    private = table.ranks(group, column, cells)
    all_cells, points = np.tile([0, cells.size], (groups, 1)), np.tile(ranks, (groups, 1))
    quantiles = choose_thresholds(private, all_cells, np.array([[0.0, 1.0]]), points, loss["quantiles"])
    spread = ranks * (1 - ranks)
    noise = table.cell_variance(loss["counts"]) * (2 * (NEAR + 1) * (many + 1)) * spread
    error = 2.5 / max(table.selection_rate(loss["ends"] / 3), TINY) + np.sqrt(noise)
    sampling = table.rows_per_person * rows * spread
    half = [(1.15 * estimates.Z * np.sqrt(noise + more) + error) / rows for more in (0.0, sampling)]
    edges = np.concatenate([np.zeros((groups, 1)), points, np.ones((groups, 1))], axis=1)
    # in each gap, `NEAR` ranks above its lower end, as many below its upper one, and the middle
    low, high = edges[:, :-1, None], edges[:, 1:, None]
    distances = np.stack([*half, 2 * half[1]], axis=2)
    far = np.ones((groups, 1, NEAR))  # no quantile is at the end of the outermost gaps
    above = low + np.concatenate([far, distances], axis=1)
    below = high - np.concatenate([distances, far], axis=1)
    ends = np.sort(np.clip(np.concatenate([above, below, (low + high) / 2], axis=2), low, high), axis=2)
    known = np.concatenate([all_cells[:, :1], quantiles, all_cells[:, 1:]], axis=1)
    near = choose_thresholds(private, known, edges, ends.reshape(groups, -1), loss["ends"])
    thresholds = np.sort(np.concatenate([quantiles, near], axis=1), axis=1)
    counts, scale = private.counts(thresholds, epsilon=loss["counts"])
    return RankAnswer(cells, thresholds, quantiles, counts), scale


def choose_thresholds(
    private: PrivateRanks, known: Ints, known_ranks: Floats, ranks: Floats, loss: PrivacyLoss
) -> Ints:
    """Select a threshold for each rank, in the gaps between known thresholds: shape (groups, ranks).

    `known` has m + 1 thresholds of each group, of the ranks `known_ranks`; `ranks` has as many
    ranks in each of the m gaps, in order. In each gap the middle rank comes first, then the middles
    of both sides. All selections of a level share its part of the privacy loss.
    """
    groups, gaps = known.shape[0], known.shape[1] - 1
    levels = middle_first(ranks.shape[1] // gaps)
    shape, depth = (groups, gaps, len(levels) + 2), max(levels) + 1
    chosen, at = np.zeros(shape, dtype=np.intp), np.zeros(shape)
    chosen[:, :, 0], chosen[:, :, -1] = known[:, :-1], known[:, 1:]
    at[:, :, 0], at[:, :, -1] = known_ranks[:, :-1], known_ranks[:, 1:]
    at[:, :, 1:-1] = ranks.reshape(groups, gaps, -1)
    levels = [-1, *levels, -1]  # of the known ones, too
    for level in range(depth):
        slots = [i for i, own in enumerate(levels) if own == level]
        before = [max(j for j in range(i) if levels[j] < level) for i in slots]
        after = [min(j for j in range(i, len(levels)) if levels[j] < level) for i in slots]
        span = at[:, :, after] - at[:, :, before]
        target = np.divide(at[:, :, slots] - at[:, :, before], span, out=np.full(span.shape, 0.5), where=span > 0)
        low, high, goal = (own.reshape(groups, -1) for own in (chosen[:, :, before], chosen[:, :, after], target))
        found = private.choose(low, high, np.clip(goal, 0.0, 1.0), epsilon=exact(loss) / depth)
        chosen[:, :, slots] = found.reshape(groups, gaps, -1)
    return chosen[:, :, 1:-1].reshape(groups, -1)


def middle_first(many: int) -> list[int]:
    """Return the level of each of `many` positions: the middle first, then those of both halves."""
    half = many // 2
    sides = [[1 + own for own in middle_first(side)] for side in (half, many - half - 1)] if many > 1 else [[], []]
    return [*sides[0], 0, *sides[1]] if many else []


def threshold_numbers(low: int, high: int, *, cells: RankCells, thresholds: Ints) -> Interval:
    """Return the numbers between two thresholds by position; -1 is below, or above, all."""
    first, last = (0 if low < 0 else thresholds[low]), (cells.size if high < 0 else thresholds[high])
    return float(cells.ends(np.array(first))[0]), float(cells.ends(np.array(last - 1))[1])


def count_persons(table: PrivateTable, share: PrivacyLoss) -> tuple[float, float]:
    """Return the number of persons, public or noisy, and the scale of its noise."""
    if table.persons is None:
        raise ParameterError("The privacy unit does not identify persons.", "Declare its id_column.")
    loss = share * table.ledger.measure.group_factor(table.rows_per_person)
    return float(table.persons.counts([()], epsilon=loss)[0]), table.persons.count_scale(loss)


def moment_parts(
    one: Statistic, raw: Function, ends: Sequence[Interval], rows: float, cluster: int
) -> tuple[Function, Function, Sequence[Function], Interval]:
    """Return the functions and bounds for `NoisySums.estimate` of a statistic of numbers.

    `raw` gives the moments of scaled numbers from noisy sums, `ends` are the bounds of the columns,
    `rows` is the number of rows in all groups, and `cluster` the most rows of a person.
    """
    (low, high), width = ends[0], ends[0][1] - ends[0][0]
    mean: Function = lambda x: low + width * estimates.mean(raw(x))  # noqa: E731
    error: Function = lambda x: cluster * width**2 * estimates.mean_variance(raw(x))  # noqa: E731
    count: Function = lambda x: count_of(raw(x), len(ends))  # noqa: E731
    if one.kind == "mean":
        return mean, error, [count], (low, high)
    if one.kind == "difference":
        halves = partial(np.split, indices_or_sections=2, axis=-1)
        return (
            lambda x: np.subtract(*map(mean, halves(x))),
            lambda x: np.add(*map(error, halves(x))),
            [lambda x: count(halves(x)[0]), lambda x: count(halves(x)[1])],
            (-width, width),
        )
    if one.kind == "sum":
        return (
            lambda x: low * raw(x)[..., 0] + width * raw(x)[..., 1],
            lambda x: estimates.sum_variance(raw(x), low, width, rows, cluster),
            [],
            (0.0 if low >= 0 else -inf, 0.0 if high <= 0 else inf),
        )
    if one.kind == "variance":
        return (
            lambda x: width**2 * estimates.central_moments(raw(x))[..., 1],
            lambda x: cluster * width**4 * estimates.variance_variance(raw(x)),
            [count],
            (0.0, width**2 / 4),
        )
    factor = (ends[1][1] - ends[1][0]) / width
    return (
        lambda x: factor * estimates.slope(raw(x)),
        lambda x: cluster * factor**2 * estimates.slope_variance(raw(x)),
        [count, lambda x: estimates.central_moments(raw(x)[..., 0])[..., 1]],
        (-inf, inf),
    )


def count_of(moments: Floats, columns: int) -> Floats:
    """Return the number of rows from moments of one or two columns: the power 0 of each."""
    return np.asarray(moments[..., 0] if columns == 1 else moments[..., 0, 0])


def moments_of_counts(counts: Floats, powers: Floats) -> Floats:
    """Return the moments of a column from counts of its values, whose powers are given."""
    return np.asarray(counts @ powers)


def numbered_column(name: str, size: int) -> Column:
    """Return a column whose codes are the numbers below `size`."""
    return Column(name, "integer", lower=0, upper=size - 1, bins=size)


def part_codes(numbers: Floats, *, limits: Floats) -> Ints:
    """Return the part of each number between limits; the last part is for missing numbers."""
    found = np.searchsorted(limits, numbers, side="right")
    return np.where(np.isnan(numbers), len(limits) + 1, found)


def value_codes(numbers: Floats, *, span: int) -> Ints:
    """Return the code of each whole number, from 0 to `span`; the last is for missing numbers."""
    return np.rint(np.nan_to_num(numbers * span, copy=False, nan=span + 1)).astype(np.uint16)


def number_range(column: Column) -> tuple[float, float]:
    """Return the public lower and upper bound of a numeric column."""
    return float(column.edges[0]), float(column.edges[-1]) - column.whole


def scale_numbers(numbers: Floats, *, ends: tuple[float, float]) -> Floats:
    """Return numbers scaled to [0, 1] by their public bounds; NaN stays."""
    return (numbers - ends[0]) / max(ends[1] - ends[0], 1e-300)


def powers_in_bins(column: Column) -> Floats:
    """Return powers 0, 1 and 2 of the scaled number of each bin: shape (codes, 3); 0 if missing."""
    t = scale_numbers(column.edges[:-1], ends=number_range(column))
    powers = np.stack([np.ones(len(t)), t, t * t], axis=1)
    return np.pad(powers, ((0, column.size - len(t)), (0, 0)))


def suits_histogram(column: Column) -> bool:
    """Return whether a mean is better estimated from a histogram that is measured anyway.

    Each bin must be one number. The mean's variance is, for moments, at most half the square of
    their scale; for a histogram of twice the budget, a quarter of its square times the sum of
    squares of the values' distances from the middle, in units of the range.
    """
    t = powers_in_bins(column)[: len(column.edges) - 1, 1]
    one_number = column.whole and len(t) == column.edges[-1] - column.edges[0]
    return bool(one_number and ((t - 0.5) ** 2).sum() <= 2)


Columns = str | Sequence[str]
Values = str | float | Sequence[str | float]
Cases = Mapping[str, Values]


class GroupOptions(TypedDict, total=False):
    """Options of every statistic of `StatisticsRequest`."""

    by: Columns
    """The columns whose declared values form the groups."""
    where: Cases
    """A value, or several, of the columns that rows must have."""
    weight: float
    """The statistic's part of the budget, relative to those of others; by default 1."""


class StatisticsRequest:
    """Statistics that are collected, and answered together for one privacy budget; see `dp.ask`."""

    def __init__(self, data: RowSource, schema: Schema, method: PlainStatistics, ledger: Ledger | None) -> None:
        self._schema, self._ledger = require_schema(schema), ledger
        self._data, self._method = data, method
        self._statistics: list[Statistic] = []

    def add(self, statistic: str | Statistic) -> Self:
        """Add a statistic, such as "mean of cost by ward" (`dpcore.domain.statistic` has the forms).

        Raises
        ------
        ParameterError
            If the text is no statistic, it does not fit the schema, or the answers were given.
        """
        if self._method.__sklearn_is_fitted__():
            cause = "These statistics were answered already."
            raise ParameterError(cause, "Call dp.ask again: a new release.")
        found = statistic if isinstance(statistic, Statistic) else Statistic.parse(as_text(statistic))
        found.check(self._schema)
        self._statistics.append(found)
        return self

    def count(self, *, persons: bool = False, **groups: Unpack[GroupOptions]) -> Self:
        """Request the number of rows, or of persons."""
        return self._add("count", persons=persons, **groups)

    def share(self, column: str, value: Values, **groups: Unpack[GroupOptions]) -> Self:
        """Request the share of rows whose column has a value, or one of several."""
        return self._add("share", cases=conditions({column: value}), **groups)

    def histogram(self, column: str, **groups: Unpack[GroupOptions]) -> Self:
        """Request the number of rows with each value of a column, or in each bin."""
        return self._add("histogram", column, **groups)

    def mean(self, column: str, **groups: Unpack[GroupOptions]) -> Self:
        """Request the mean of a column of numbers."""
        return self._add("mean", column, **groups)

    def sum(self, column: str, **groups: Unpack[GroupOptions]) -> Self:
        """Request the sum of a column of numbers."""
        return self._add("sum", column, **groups)

    def variance(self, column: str, **groups: Unpack[GroupOptions]) -> Self:
        """Request the variance of a column of numbers."""
        return self._add("variance", column, **groups)

    def quantiles(
        self, column: str, ranks: Sequence[float] = (0.25, 0.5, 0.75), **groups: Unpack[GroupOptions]
    ) -> Self:
        """Request quantiles of a column of numbers; ranks are between 0 and 1."""
        return self._add("quantiles", column, ranks=ranks_of(ranks), **groups)

    def difference(self, column: str, first: Cases, second: Cases, **groups: Unpack[GroupOptions]) -> Self:
        """Request the mean of a column in a first group of rows, minus that in a second group."""
        return self._add("difference", column, cases=(*conditions(first), *conditions(second)), **groups)

    def slope(self, column: str, on: str, **groups: Unpack[GroupOptions]) -> Self:
        """Request the least-squares slope of a column on another."""
        return self._add("slope", column, on, **groups)

    def _add(self, kind: str, *columns: str, by: Columns = (), where: Cases | None = None, **more: Any) -> Self:
        """Add a statistic of a kind."""
        return self.add(Statistic(kind, columns, texts_of(by), conditions(where or {}), **more))

    def answers(self) -> pd.DataFrame:
        """Answer the statistics, at the first call, and return `PlainStatistics.answers`.

        Raises
        ------
        ParameterError, SchemaError, DataError, BudgetError
            As from `PrivateEstimator.fit`.
        """
        return self.release().answers()

    def release(self) -> PlainStatistics:
        """Return the fitted `PlainStatistics`, with its ledger; fitted at the first call."""
        if not self._method.__sklearn_is_fitted__():
            self._method.set_params(queries="\n".join(map(str, self._statistics)))
            self._method.fit(self._data, schema=self._schema, ledger=self._ledger)
        return self._method


def conditions(cases: Cases) -> tuple[Condition, ...]:
    """Return conditions from a mapping of columns to a value, or to a list of values."""
    if not isinstance(cases, Mapping):
        raise ParameterError("Conditions map a column to a value, or to several.", 'Write where={"sex": "f"}.')
    return tuple(Condition(name, "=", texts_of(own)) for name, own in cases.items())


def ranks_of(ranks: Any) -> tuple[float, ...]:
    """Return one rank or several in increasing order; ParameterError if one is no number."""
    found = [*ranks] if isinstance(ranks, list | tuple) else [ranks]
    if not all(map(is_number, found)):
        raise ParameterError("The ranks of quantiles must be numbers.", "Write [0.25, 0.5, 0.75].")
    return tuple(sorted({float(rank) for rank in found}))


def texts_of(values: Any) -> tuple[str, ...]:
    """Return one value or several as texts."""
    return tuple(map(as_text, values)) if isinstance(values, list | tuple) else (as_text(values),)


@check_arguments
def ask(
    data: RowSource,
    *statistics: str,
    schema: Schema,
    epsilon: float = 1.0,
    relation: str = "add_remove",
    delta: float = 0.0,
    noise: str = "auto",
    random_state: int | None = None,
    ledger: Ledger | None = None,
) -> StatisticsRequest:
    """Estimate plain statistics with both errors, all for one privacy budget.

    Parameters
    ----------
    data : DataFrame, or path of a folder
        The private rows, as for `fit` of any method.
    *statistics : str
        Statistics as text, such as "mean of cost by ward". More are added by methods of the result.
    schema : Schema
        The public description of the columns.
    epsilon, relation, delta, noise, random_state
        As for `PrivateEstimator`. The budget is for all statistics together.
    ledger : Ledger, optional
        The ledger to charge.

    Returns
    -------
    StatisticsRequest
        Collects statistics; `answers()` makes the release and returns a table.

    Raises
    ------
    ParameterError
        If a statistic does not fit the schema.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> request = dp.ask(data.train, "mean of age by sex", schema=data.schema, epsilon=1.0)
    >>> request.share("income", ">50K", by="sex").answers()["unit"].tolist()
    ['age', 'age', 'share', 'share']
    """
    method = PlainStatistics(epsilon=epsilon, relation=relation, delta=delta, noise=noise, random_state=random_state)
    request = StatisticsRequest(data, schema, method, ledger)
    for one in statistics:
        request.add(one)
    return request

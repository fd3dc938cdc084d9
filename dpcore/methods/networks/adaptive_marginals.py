r"""Adaptive marginals: measure the pairs that the model gets most wrong (method of this project).

Idea      Start from the columns by themselves. In each round, find the pair of columns whose
          marginal is farthest from the model's, and measure it at a resolution that its noise
          allows. Then fit the model to all marginals so far; it is the distribution of maximum
          entropy.

Steps, corrected (the only mode); C is the class column, if there is one; d is the number of columns
  0  A rough number of rows, for 1% of epsilon, unless it is public. Let s = n epsilon / d², halved
     under replace. From s, formulas (`MarginalPlan`) decide the share of step 1, the number of
     rounds of step 3, and whether step 1 is done per class. If step 1 is not done per class, up to
     three of the first rounds are for pairs with C. If s < 8 there are no rounds, and step 1 spends
     all that is left.                                                                        counts
  1  Histograms of all columns, or of all other columns within each class of C, with one K-norm
     noise vector for several histograms (`ColumnCounts`). Then a likely histogram is estimated from
     each, given their common total.                              histograms; counts with a delta
  2  Values with too few counts for the noise of a round, or for the number of rows, are merged
     (neighbors in ordered columns), at three nested resolutions.                    post-processing
  3  Rounds, with equal parts of the rest of epsilon. All pairs of columns, at all resolutions, are
     scored by the distance of their marginal from the model's, less the distance that noise makes.
     They are scored again, per round, with two rounds' epsilon. An exponential mechanism chooses
     one.                                                                                     choose
     Its marginal is measured. Its row and column sums are averaged with the earlier counts of the
     two columns, by inverse variance. The marginal is shrunk towards the model's, by how much its
     noise suggests (James and Stein 1961), and fitted to these column counts. The model is fitted
     to all marginals so far.                                                                 counts
  4  Rows along the model's junction tree. Merged values are split by the columns' histograms. If
     rows are few, they exchange values, so that the marginals of all pairs of columns come closer
     to the model's (`exchanges`).                                                   post-processing

Privacy
  Public    The schema and the target; n under replace.
  0         Sensitivity 1.
  1         One person changes every histogram by 1 (add_remove) or 2 (replace) in L1, and the
            density of the noise falls with the largest of these norms
            (`mechanisms.noise.histograms`). Groups of histograms are sequential composition.
            Classes are parallel composition: one class changes by 1; under replace two classes
            change, which spend half of epsilon each.
  3         The model, resolutions and penalties come from earlier answers. So the sensitivity of a
            score is half that of the marginal: 1/2 or 1 (`DistanceFromMarginals`), and half of
            that for a score per round of two. Each mechanism and each marginal is sequential
            composition. Merging is row by row, so the marginal's L1 sensitivity is 1 or 2. Whether
            a pair takes two rounds depends on earlier answers only. The sum of all rounds is fixed
            and never exceeded (`accounting.privacy_measure`).
  Sum       Epsilon. With a delta, the same holds of rho: s is that of an epsilon with as much noise
            in 2 d marginals, step 1 divides by the power 2/3 of the cells, and later shares are
            larger (`PrivacyMeasure.allocation_power`).

Where it comes from   Rounds and the penalty per cell: AIM. Merging of rare values: MST. Maximum
          entropy over a junction tree: Private-PGM. Noise for several histograms at once: Hardt and
          Talwar. The formulas' constants were chosen on the data sets `TUNING` of
          `benchmarks.utility`.

Reference  McKenna, Mullins, Sheldon and Miklau: AIM, PVLDB 15(11), 2022. McKenna, Miklau and
Sheldon: Winning the NIST contest, Journal of Privacy and Confidentiality 11(3), 2021;
Graphical-model based estimation and inference for differential privacy, ICML 2019. Hardt and
Talwar: On the geometry of differential privacy, STOC 2010.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, islice, pairwise, product
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from dpcore.accounting.privacy_measure import PrivacyLoss, PrivacyMeasure
from dpcore.accounting.relation import Relation, shares_of
from dpcore.arguments import Floats, Ints, Progress
from dpcore.domain.column import Codes, Column
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.mechanisms.noise.histograms import spreads
from dpcore.mechanisms.scores import DistanceFromMarginals, Shape
from dpcore.methods.base import MOST_DELTA, Measurement, clique_measurement, count_rows, public_total
from dpcore.methods.networks.base import MOST_SCALE, PAGES
from dpcore.methods.networks.clique_synthesizers import MaxEntropySynthesizer, column_names, recode_groups
from dpcore.methods.parameters import number, presets_of, text
from dpcore.postprocess import exchanges, junction_tree
from dpcore.postprocess.histogram import likely_histogram
from dpcore.postprocess.junction_tree import Clique, Edge
from dpcore.postprocess.max_entropy import MaximalEntropy, merge_values, project_near
from dpcore.postprocess.resolution import ENOUGH, MOST, Resolution, count_ordered_values, shrink_towards
from dpcore.postprocess.simplex import TRACE, project

Levels = tuple[int, int]
Candidate = tuple[Edge, Levels]

ROUGH = Fraction(1, 100)  # share of epsilon for the number of rows
FEWEST = 8.0  # strength of a plan (s in step 0) from which rounds are worth their epsilon
PENALTY = 0.5  # noise scales per cell: the expected distance that noise makes
MOST_CELLS = 8_000  # of a clique
MOST_ROUNDS = 2  # that one measurement may spend
SWEEPS, LAST_SWEEPS = 2, 10
MEASURING = Fraction(7, 10)  # typical share of a round for measuring; the rest chooses
MEASURED = phrase("{done:d} of {rounds:d} rounds measured")
LEAST = 1e-12  # the least variance, in place of 0
Estimate = tuple[float, float]
"""A number of rows and its variance, 0 if it is public."""


@dataclass(frozen=True)
class MarginalPlan:
    """Plan of a fit, derived by formula from the expected counts and the noise of its marginals.

    `one_ways` is the share of the budget that measures single columns; `with_class` says whether
    they are measured per class. `rounds` is the number of rounds that measure a pair each, and the
    first `of_class` of them choose among pairs with the class.
    """

    one_ways: Fraction
    rounds: int
    with_class: bool
    of_class: int

    @classmethod
    def for_budget(
        cls, rows: float, budget: PrivacyLoss, measure: PrivacyMeasure, relation: Relation, sizes: Shape, classes: int
    ) -> MarginalPlan:
        """Return the plan for a number of rows, a budget and the sizes of the columns.

        `measure` is the privacy measure in which `budget` is counted. `classes` is the number of
        classes, 0 without a class column.
        """
        columns = len(sizes)
        noise = measure.mean_abs_error(measure.scale(budget / (2 * columns), measure.histogram_sensitivity(relation)))
        strength = 2 * rows / (columns * max(noise, 1 / MOST_SCALE))
        if strength < FEWEST or sum(size > 1 for size in sizes) < 2:
            return cls(Fraction(1), 0, False, 0)
        with_class = 2 <= classes <= 3 and strength >= 10
        above = strength - 3
        later = 0.85 * above / (above + 40) if not with_class else 0.8 * above / (above + 60)
        # `later` is for pure epsilon; in rho noise falls more slowly
        odds = (later / (1 - later)) ** (2 * measure.allocation_power)
        rounds = min(2.5, 0.12 * strength**0.55) * (0.6 if with_class else 1.0) * (columns - 1)
        of_class = min(max(round(0.4 * rounds), 1), 3) if classes > 1 and not with_class else 0
        return cls(1 - Fraction(round(100 * odds / (1 + odds)), 100), max(round(rounds), 1), with_class, of_class)


class AdaptiveMarginals(MaxEntropySynthesizer):
    """Synthetic rows from marginals of pairs, measured where the model is most wrong.

    After AIM (McKenna et al. 2022). See the module for steps and privacy.

    Parameters
    ----------
    target
        The class column; by default the schema's. If it has at most three values, the other columns
        are first measured within each class.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> schema = data.schema.select(["age", "sex", "income"])
    >>> method = dp.AdaptiveMarginals(epsilon=1.0).fit(data.train, schema=schema)
    >>> round(method.ledger_.epsilon_bound, 6)
    1.0
    >>> method.sample(5).shape
    (5, 3)
    """

    reference = phrase("dpcore, after McKenna et al. 2022")
    best_for = "closest synthetic data in most cases"
    presets = presets_of(PAGES, "AdaptiveMarginals")
    seconds = (0.9, 0.9)
    delta: float = number(default=0.0, maximum=MOST_DELTA)
    target: str | None = text(default=None)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Measure all columns, then in rounds the pairs that the model gets most wrong."""
        schema, budget, at = table.schema, self._budget(table), self._class_index(table.schema)
        progress(0.0, phrase("Measuring columns"))
        rough, spent = count_rows(table, budget * ROUGH)
        left, plan = budget - spent, self._plan(table, max(rough, 1.0), at)
        known = rough, 0.0 if public_total(table) is not None else table.cell_variance(spent)
        columns = ColumnCounts(table, left * plan.one_ways, at if plan.with_class else -1, known)
        left -= left * plan.one_ways
        rounds, done = _MeasurementRounds(table, columns, left, plan.rounds), 0
        while done < plan.rounds:
            progress(0.1 + 0.8 * done / plan.rounds, MEASURED.format(done=done, rounds=plan.rounds))
            done += rounds.run_round(at if done < plan.of_class else -1, plan.rounds - done)
        rounds.model.fit(LAST_SWEEPS)
        pairs, losses = [pair for pair, _ in rounds.pair_losses], [*columns.losses, *rounds.pair_losses]
        groups, released = [own.groups for own in rounds.resolutions], [own.marginal for own in rounds.resolutions]
        self._set_model(schema, rounds.model, columns.rows, groups, pairs, losses, released)

    def _plan(self, table: PrivateTable, rows: float, at: int) -> MarginalPlan:
        """Return the plan for a number of rows; `at` is the class column's position, or -1."""
        budget, measure, sizes = self._budget(table), table.ledger.measure, table.schema.sizes
        classes = sizes[at] if at >= 0 else 0
        return MarginalPlan.for_budget(rows, budget, measure, table.relation, sizes, classes)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        """Return the planned marginals: every column, and for each round some pair of columns."""
        schema, rows = table.schema, float(table.public_rows or 1)
        budget, at = self._budget(table), self._class_index(schema)
        plan = self._plan(table, rows, at)
        left = budget - (0 if table.relation is Relation.REPLACE else budget * ROUGH)
        label = [at] if plan.with_class else []
        others = [j for j in range(len(schema)) if j not in label]
        planned = plan_groups(table, [schema.columns[j] for j in others], left * plan.one_ways)
        share = left * (1 - plan.one_ways) * MEASURING / max(plan.rounds, 1)
        groups = rows / (ENOUGH[-1] * max(table.cell_error(share), 1 / MOST_SCALE))
        pairs, variance = combinations(range(len(schema)), 2), table.cell_variance(share)
        make, noise = partial(clique_measurement, schema.sizes), noise_by_column(planned)
        return [
            *(make((others[i], *label), each, merges=True) for i, _, each in noise),
            *(make(p, variance, groups, for_columns=False) for p in islice(pairs, plan.rounds)),
        ]

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Sample rows from the model; few rows then exchange values to match its marginals."""
        codes = super()._sample(n, rng)
        if exchanges.is_worthwhile(len(codes), self.schema_.sizes):
            exchanges.exchange(codes, self._expected_pair_counts(len(codes)), rng)
        return codes


class _MeasurementRounds:
    """Rounds that choose and measure pairs of columns, and the model that is fitted to them."""

    def __init__(self, table: PrivateTable, columns: ColumnCounts, left: PrivacyLoss, rounds: int) -> None:
        """Prepare the model: single columns, and their marginals with the class if measured.

        `columns` has the noisy counts of single columns. `left` is the privacy loss of all
        `rounds`.
        """
        self.table, self.columns, self.pair_losses = table, columns, list[tuple[Edge, float]]()
        # expected counts of pairs that are independent in the model
        self.independent: dict[Candidate, Floats] = {}
        self.share = left * Fraction(1, max(rounds, 1))
        noise, schema = self._noise(self.share), table.schema
        self.resolutions = [
            Resolution(column, marginal, noise, variance)
            for column, marginal, variance in zip(schema, columns.marginals, columns.variances, strict=True)
        ]
        self.model = MaximalEntropy([own.model_counts / columns.rows for own in self.resolutions])
        self.finest = recode_groups(table, {j: own.levels[0] for j, own in enumerate(self.resolutions)})
        # resolutions of each pair of columns, by shape of the marginal: the finest of each shape
        self.shapes: dict[Edge, dict[tuple[int, int], Levels]] = {}
        for a, b in combinations(range(len(schema)), 2):
            shapes = dict[tuple[int, int], Levels]()
            first, second = self.resolutions[a].sizes, self.resolutions[b].sizes
            for i, k in product(range(len(ENOUGH)), repeat=2):
                shapes.setdefault((first[i], second[k]), (i, k))
            self.shapes[a, b] = shapes if min(next(iter(shapes))) > 1 else {}
        for j, joint in columns.with_class_counts.items():
            pair = (min(j, columns.at), max(j, columns.at))
            merges = [self.resolutions[k].levels[0] for k in pair]
            self._add_table(pair, (0, 0), merge_values(joint if j < columns.at else joint.T, merges))
        self.model.fit(SWEEPS)

    def _noise(self, share: PrivacyLoss) -> float:
        """Return the mean error of a marginal's cell, if measured at a loss of `share`."""
        return min(self.table.cell_error(share), MOST_SCALE)

    def run_round(self, column: int, left: int) -> int:
        """Choose a pair of columns, measure its marginal, and refit the model.

        The pair contains `column`, unless `column` is -1. The mechanism also chooses the
        resolution, and how many of the `left` rounds the measurement spends. That number of rounds
        is returned.
        """
        every = list(self._candidates())
        once = [found for found in every if column in found[0]] or every
        many = [rounds for rounds in range(1, min(MOST_ROUNDS, left) + 1) for _ in once]
        merges = [[self.resolutions[j].coarser[level] for j, level in zip(*c, strict=True)] for c in once]
        candidates, expected, merges = once * many[-1], self._expected(once) * many[-1], merges * many[-1]
        power = self.table.ledger.measure.allocation_power
        costs = float(np.median([cells.size for cells in expected])) ** power
        wrong = (2 * log(max(len(candidates), 2))) ** power
        choosing = self.share * Fraction(round(100 * wrong / (wrong + costs)), 100)
        measuring = [self.share * rounds - choosing for rounds in range(1, many[-1] + 1)]
        penalties = [PENALTY * self._noise(measuring[rounds - 1]) for rounds in many]
        score = DistanceFromMarginals(expected, penalties, merges, [1 / rounds for rounds in many])
        cliques = column_names(self.table.schema, [pair for pair, _ in candidates])
        chosen = int(self.finest.choose(score, cliques, epsilon=choosing))
        (pair, levels), share = candidates[chosen], measuring[many[chosen] - 1]
        groups = {j: self.resolutions[j].levels[level] for j, level in zip(pair, levels, strict=True)}
        noisy = recode_groups(self.table, groups).counts([cliques[chosen]], epsilon=share)[0]
        variance = self.table.cell_variance(share)
        self._average_counts(pair, levels, noisy, variance)
        self._add_table(pair, levels, shrink_towards(noisy, expected[chosen], variance))
        self.model.fit(SWEEPS)
        self.pair_losses.append((pair, float(self.share * many[chosen])))
        return many[chosen]

    def _candidates(self) -> Iterator[Candidate]:
        """Yield pairs of columns, at several resolutions, that keep the model's cliques small.

        A pair that is in a clique already, at the clique's resolution, is always yielded.
        """
        model, sizes = self.model, self.model.sizes
        inside = junction_tree.pairs_within(model.cliques)
        for pair, cells in junction_tree.largest_clique_cells(self.shapes, model.cliques, model.parents, sizes).items():
            first, second = sizes[pair[0]], sizes[pair[1]]
            for shape, levels in self.shapes[pair].items():
                grown = max(shape[0] / first, 1.0) * max(shape[1] / second, 1.0)
                if cells * grown <= MOST_CELLS or (pair in inside and grown == 1):
                    yield pair, levels

    def _expected(self, candidates: Sequence[Candidate]) -> list[Floats]:
        """Return the model's counts of every candidate, at the candidate's resolution."""
        pairs, part = self.model.pairs(), junction_tree.connected_parts(self.model.cliques)
        fine, found = dict[Edge, Floats](), list[Floats]()
        spread = [own.finest_shares for own in self.resolutions]
        for pair, levels in candidates:
            first, second = (self.resolutions[j] for j in pair)
            if part[pair[0]] is not part[pair[1]]:  # independent: equal counts in every round
                if (pair, levels) not in self.independent:
                    marginals = first.counts(levels[0]), second.counts(levels[1])
                    self.independent[pair, levels] = np.outer(*marginals) / self.columns.rows
                found.append(self.independent[pair, levels])
                continue
            if pair not in fine:
                fine[pair] = spread[pair[0]].T @ pairs[pair] @ spread[pair[1]] * self.columns.rows
            found.append(first.ones[levels[0]] @ fine[pair] @ second.ones[levels[1]].T)
        return found

    def _average_counts(self, pair: Edge, levels: Levels, noisy: Floats, variance: float) -> None:
        """Average the counts of two columns with the sums of a new marginal; refit their marginals.

        `noisy` is the marginal of `pair` at the resolutions `levels`, with `variance` per cell.
        """
        for axis, (j, level) in enumerate(zip(pair, levels, strict=True)):
            self.resolutions[j].average(level, noisy.sum(axis=1 - axis), variance * noisy.shape[1 - axis])
        for given in self.model.targets:
            if set(given.clique) & set(pair):
                given.table = self._fit_shares(given.table * self.columns.rows, given.clique, given.merges)
        self.independent = {known: table for known, table in self.independent.items() if not set(known[0]) & set(pair)}

    def _fit_shares(self, counts: Floats, clique: Clique, merges: Sequence[Ints]) -> Floats:
        """Return a marginal as shares of all rows, fitted to the counts of its single columns.

        `merges` has the merged value of each value of the model, per column of the clique.
        """
        known: dict[Clique, Floats] = {
            (j,): np.bincount(merge, weights=self.resolutions[j].model_counts).astype(float)
            for j, merge in zip(clique, merges, strict=True)
        }
        return project_near(counts, clique, known, self.columns.rows) / self.columns.rows

    def _add_table(self, clique: Clique, levels: Sequence[int], counts: Floats) -> None:
        """Add a marginal of counts to those that the model must match.

        `clique` has the positions of its columns, and `levels` the resolution of each.
        """
        for j, level in zip(clique, levels, strict=True):
            # the marginal separates values that the model has merged
            if level < self.resolutions[j].level:
                self.model.refine(j, self.resolutions[j].refine(level))
        merges = [self.resolutions[j].merge_map(level) for j, level in zip(clique, levels, strict=True)]
        self.model.add_target(clique, merges, self._fit_shares(counts, clique, merges))


class ColumnCounts:
    """Noisy counts of every column, or of every column per class, at a share of the budget.

    Rows of different classes are disjoint, so all classes together cost what one class costs (two
    classes where a row may be replaced by one of another class; see `ledger`). In pure epsilon,
    histograms are measured in groups, with one K-norm noise vector per group
    (`mechanisms.noise.histograms`). That helps most if the histograms have similar sizes. So groups
    are neighbors in size, merged as long as that lowers the sum of all counts' errors. A group's
    error is inversely proportional to its share. The sum of errors is least if shares are
    proportional to the root of the errors that equal shares would give. In rho every histogram has
    its own noise, and a share proportional to the power `allocation_power` of its number of cells.

    `at` is the position of the class column, or -1 without. `known` is the earlier estimate of the
    number of rows. `losses` has each clique's loss: a group's loss in equal parts.
    """

    def __init__(self, table: PrivateTable, share: PrivacyLoss, at: int, known: Estimate) -> None:
        """Measure the columns of a private table at a privacy loss of `share`.

        `at` and `known` are described at the class.
        """
        schema, distribution = table.schema, table.ledger.measure.distribution
        others = [j for j in range(len(schema)) if j != at]
        columns = [schema.columns[j] for j in others]
        parts = table.partition_by(schema.names[at]) if at >= 0 else [table]
        own = parts[0].ledger.share_of(share) if at >= 0 else share
        groups = plan_groups(parts[0], columns, own)  # the same for each class
        answers = [measure_groups(part, columns, own, groups) for part in parts]
        totals = [[(float(tables[group.columns[0]].sum()), group.total) for group in groups] for tables in answers]
        self.at, self.losses = at, list[tuple[Clique, float]]()
        # variances of counts; 0 for the class, whose counts are a mean over all groups
        self.variances = [0.0] * len(schema)
        self.marginals = [np.empty(0)] * len(schema)
        self.with_class_counts: dict[int, Floats] = {}  # shape (values, classes), positive
        if at >= 0:
            rows, variances = np.array(list(map(average_estimates, totals))).T
            self.rows = max(average_estimates([known, (rows.sum(), variances.sum())])[0], 1.0)
            classes = project(rows, self.rows) + TRACE
            classes *= self.rows / classes.sum()
            self.marginals[at] = classes
        else:
            self.rows = max(average_estimates([known, *totals[0]])[0], 1.0)
            classes = np.array([self.rows])
        for j, column, (i, loss, variance) in zip(others, columns, noise_by_column(groups), strict=True):
            scale = sqrt(variance / 2 if distribution == "laplace" else variance)
            both = [(tables[i], float(n)) for tables, n in zip(answers, classes, strict=True)]
            levels = [(cells + (n - cells.sum()) / cells.size, n) for cells, n in both]
            likely = partial(likely_histogram, n_ordered=count_ordered_values(column), distribution=distribution)
            joint = np.column_stack([likely(level, scale, n) for level, n in levels])
            self.losses.append((tuple(sorted({j, at} - {-1})), float(share) * float(loss / own) if own else 0.0))
            self.marginals[j], self.variances[j] = joint.sum(axis=1), sum([variance] * len(parts))
            if at >= 0:
                self.with_class_counts[j] = joint


class HistogramGroup(NamedTuple):
    """Columns whose histograms are measured at once: positions, privacy loss, and noise variances.

    `variances` has the variance of one count per column, `total` the variance of a histogram's
    total.
    """

    columns: list[int]
    loss: PrivacyLoss
    variances: list[float]
    total: float


def plan_groups(table: PrivateTable, columns: Sequence[Column], share: PrivacyLoss) -> list[HistogramGroup]:
    """Return the groups of histograms to measure at a total loss of `share`. No query is asked.

    `HistogramGroup.columns` are positions in `columns`.
    """
    sizes = tuple(column.size for column in columns)
    if table.ledger.delta:
        losses = shares_of(share, share_weights(table, columns))
        own = list(map(table.cell_variance, losses))
        return [HistogramGroup([i], losses[i], [own[i]], sizes[i] * own[i]) for i in range(len(sizes))]
    found, (merged, weights) = list[HistogramGroup](), group_by_size(sizes)
    for group, loss in zip(merged, shares_of(share, weights), strict=True):
        noise = table.histogram_spreads([[columns[i].name] for i in group], loss)
        found.append(HistogramGroup(group, loss, [each.cell**2 for each in noise], noise[0].total ** 2))
    return found


def noise_by_column(groups: Iterable[HistogramGroup]) -> list[tuple[int, PrivacyLoss, float]]:
    """Return each column's position, privacy loss and variance of counts, from a plan's groups."""
    return sorted(
        (i, group.loss / len(group.columns), variance)
        for group in groups
        for i, variance in zip(group.columns, group.variances, strict=True)
    )


def measure_groups(
    table: PrivateTable, columns: Sequence[Column], share: PrivacyLoss, groups: Sequence[HistogramGroup]
) -> list[Floats]:
    """Return the noisy histograms of columns, measured in the groups of a plan.

    `groups` come from `plan_groups`, and `share` is the total privacy loss.
    """
    names, found = [[column.name] for column in columns], [np.empty(0)] * len(columns)
    if table.ledger.delta:
        return table.counts(names, epsilon=share, weights=share_weights(table, columns))
    for group in groups:
        noisy = table.histograms([names[i] for i in group.columns], epsilon=group.loss)
        for i, cells in zip(group.columns, noisy, strict=True):
            found[i] = cells
    return found


def share_weights(table: PrivateTable, columns: Sequence[Column]) -> list[float]:
    """Return each column's weight in the split of rho: a power of its number of values."""
    return [float(column.size) ** table.ledger.measure.allocation_power for column in columns]


def average_estimates(estimates: Sequence[Estimate]) -> Estimate:
    """Return the average of estimates of one number, by inverse variance, with its variance.

    Each estimate is a pair: the number and its variance. An estimate of variance 0 is public, and
    is returned as it is.
    """
    public = [number for number, variance in estimates if not variance]
    if public:
        return public[0], 0.0
    numbers, variances = zip(*estimates, strict=True)
    precision = 1 / np.clip(variances, LEAST, MOST)
    return float(np.average(numbers, weights=precision)), float(1 / precision.sum())


@lru_cache(maxsize=64)
def group_by_size(sizes: tuple[int, ...]) -> tuple[list[list[int]], list[float]]:
    """Return groups of histograms to measure at once, as positions, and the groups' weights.

    `sizes` are the numbers of values of the histograms. Groups are neighbors in size, merged as
    long as that does not raise the sum of all counts' errors. Weights divide the privacy loss among
    groups.
    """

    def weight(group: list[int]) -> float:
        """Return the root of the sum of all counts' standard deviations in a group at a loss of 1.

        The noise is that of a private total.
        """
        own = [sizes[i] for i in group]
        found = spreads(own, 1.0, public_total=False)
        return sqrt(sum((size * found[size].cell for size in own), LEAST))

    groups = [[i for i, size in enumerate(sizes) if size == one] for one in sorted({*sizes})]
    while True:
        alone = [weight(own) for own in groups]
        merged = [weight(one + other) for one, other in pairwise(groups)]
        saved = [alone[k] + alone[k + 1] - both for k, both in enumerate(merged)]
        best = int(np.argmax(saved)) if saved else 0
        if not saved or saved[best] < -LEAST:  # groups that merge without a loss are merged
            return groups, alone
        groups[best : best + 2] = [groups[best] + groups[best + 1]]

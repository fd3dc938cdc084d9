r"""Adaptive marginals: measure what the model so far is most wrong about (this project's own method).

Idea      Start from the columns by themselves. Again and again find the pair of columns whose table is farthest from
          what the model says, measure it, at a resolution that its noise allows, and let the model have it: the
          distribution of maximal entropy with all tables so far.

Steps, corrected (the only mode); C is the class column, if there is one; d is the number of columns
  0  A rough number of rows, 1% of epsilon, unless it is public. With s = n epsilon / d², halved under replace, this
     fixes by formula (`MarginalPlan`) the share of step 1, the number of rounds of step 3, and whether step 1 is
     done by class; if not, up to three of the first rounds are for pairs with C. If s < 8 there are no rounds, and
     step 1 has all that is left.                                                                             counts
  1  Tables of all columns, or of all others in each class of C, with noise for all at once (`Columns`); then what
     histograms with one total are likely.                                          histograms; with a delta, counts
  2  Values that count too little for the noise of a round, or beside all rows, are merged (adjacent ones in ordered
     columns), at three resolutions, each within the one before.                                       post-processing
  3  Rounds, with equal parts of the rest of epsilon. All pairs of columns at all resolutions are rated by the distance
     of their table from the model's, less the distance that noise makes; and again, per round, as if each had two
     rounds' epsilon. An exponential mechanism chooses one.                                                     choose
     Its table is measured. What it says of its columns by themselves is averaged with what is known, by inverse
     variance. The table is moved towards the model's by as much as its noise makes likely (James and Stein 1961), and
     fitted to that; the model is fitted to all tables so far.                                                  counts
  4  Rows along the model's junction tree; values within merged ones by the histograms. If rows are few, they exchange
     values so that the tables of all pairs of columns come closer to the model's (`exchanges`).        post-processing

Privacy
  Public    the schema and the target; n under replace.
  0         sensitivity 1.
  1         one person moves every table by 1 (add_remove) or 2 (replace) in L1, and the probability of noise falls with
            the longest (`mechanisms.noise.histograms`); lots are sequential. Classes are parallel: one part moves by 1,
            or under replace two of them, which pay half of epsilon each.
  3         the model, resolutions, and penalties are made of answers that are fixed by then, so the score moves by half
            of what the table moves: ½ or 1 (`DistanceFromMargins`), and by half of that where it is per round of two.
            One mechanism and one table a time, sequential: merging is record by record, so the table's L1 sensitivity
            is 1 or 2. Which table takes two rounds hangs on answers before; all rounds' sum is fixed, and never
            exceeded (`Currency`).
  Sum       epsilon. With a delta, all of this is of rho: s is that of an epsilon with as much noise in 2 d tables, step
            1 divides by the power 2/3 of the cells, and later shares are larger (`Currency.allocation_power`).

Where it comes from   rounds, and the penalty for cells, from AIM; merging of rare values, from MST; maximal
          entropy over a junction tree, from Private-PGM; noise for all columns at once, from Hardt and Talwar. The
          formulas' constants were chosen on the tables `TUNING` of `benchmarks.utility`.

Reference  McKenna, Mullins, Sheldon and Miklau: AIM, PVLDB 15(11), 2022. McKenna, Miklau and
Sheldon: Winning the NIST contest, Journal of Privacy and Confidentiality 11(3), 2021;
Graphical-model based estimation and inference for differential privacy, ICML 2019. Hardt and
Talwar: On the geometry of differential privacy, STOC 2010.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, islice, pairwise, product
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from dpcore.accounting.currency import PrivacyLoss, PrivacyMeasure
from dpcore.accounting.relation import Relation, shares_of
from dpcore.arguments import Floats, Ints, Progress
from dpcore.domain.column import Codes, Column
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.mechanisms.noise.histograms import spreads
from dpcore.mechanisms.scores import DistanceFromMarginals
from dpcore.methods.base import MOST_DELTA, Measurement, clique, count_rows, public_total
from dpcore.methods.networks.base import MOST_SCALE, PAGES
from dpcore.methods.networks.measured import MeasuredTables, column_names, in_groups
from dpcore.methods.parameters import number, presets_of, text
from dpcore.postprocess import exchanges, junction_tree
from dpcore.postprocess.histogram import likely_histogram
from dpcore.postprocess.junction_tree import Clique, Edge
from dpcore.postprocess.max_entropy import MaximalEntropy, merge_values, project_near
from dpcore.postprocess.resolution import ENOUGH, MOST, Resolution, neighbors, towards
from dpcore.postprocess.simplex import TRACE, project

Levels = tuple[int, int]
Candidate = tuple[Edge, Levels]

ROUGH = Fraction(1, 100)  # of epsilon, for the number of rows
FEWEST = 8.0  # of a plan's strength: below, what rounds find is not worth what they cost
PENALTY = 0.5  # noise scales per cell: the expected distance that noise makes
MOST_CELLS = 8_000  # of a clique
MOST_ROUNDS = 2  # that one table takes
SWEEPS, LAST_SWEEPS = 2, 10
MEASURING = Fraction(7, 10)  # of a round, about: the rest chooses
MEASURED = phrase("{done:d} of {rounds:d} rounds")
LEAST = 1e-12  # a variance: with all but no noise
Said = tuple[float, float]
"""A number of rows and its variance, 0 if it is public."""


@dataclass(frozen=True)
class MarginalPlan:
    """What follows from the rows that one of 2 d tables has beside its noise, by formula: shares and rounds."""

    one_ways: Fraction
    rounds: int
    with_class: bool
    of_class: int  # so many rounds, the first, choose among pairs with the class

    @classmethod
    def of(
        cls,
        rows: float,
        budget: PrivacyLoss,
        measure: PrivacyMeasure,
        relation: Relation,
        sizes: tuple[int, ...],
        classes: int,
    ) -> MarginalPlan:
        """The plan for so many rows; `classes` is 0 without a class column."""
        columns = len(sizes)
        noise = measure.mean_abs_error(measure.scale(budget / (2 * columns), measure.histogram_sensitivity(relation)))
        strength = 2 * rows / (columns * max(noise, 1 / MOST_SCALE))
        if strength < FEWEST or sum(size > 1 for size in sizes) < 2:
            return cls(Fraction(1), 0, False, 0)
        with_class = 2 <= classes <= 3 and strength >= 10
        above = strength - 3
        later = 0.85 * above / (above + 40) if not with_class else 0.8 * above / (above + 60)
        # as before in epsilon, where noise falls faster
        odds = (later / (1 - later)) ** (2 * measure.allocation_power)
        rounds = min(2.5, 0.12 * strength**0.55) * (0.6 if with_class else 1.0) * (columns - 1)
        of_class = min(max(round(0.4 * rounds), 1), 3) if classes > 1 and not with_class else 0
        return cls(1 - Fraction(round(100 * odds / (1 + odds)), 100), max(round(rounds), 1), with_class, of_class)


class AdaptiveMarginals(MeasuredTables):
    """Synthetic rows from marginals of pairs, measured where the model is most wrong.

    After AIM (McKenna et al. 2022). See the module for steps and privacy.

    Parameters
    ----------
    target
        The class column. If it has three values at most, others are measured by class first; by
        default the schema's.

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
    delta: float = number(default=0.0, most=MOST_DELTA)
    target: str | None = text(default=None)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema, budget = table.schema, self._budget(table)
        at = self._class_index(schema)
        progress(0.0, phrase("Measuring columns"))
        rough, spent = count_rows(table, budget * ROUGH)
        left, classes = budget - spent, schema.sizes[at] if at >= 0 else 0
        plan = MarginalPlan.of(max(rough, 1.0), budget, table.ledger.measure, table.relation, schema.sizes, classes)
        known = rough, 0.0 if public_total(table) is not None else table.cell_variance(spent)
        columns = Columns(table, left * plan.one_ways, at if plan.with_class else -1, known)
        left -= left * plan.one_ways
        rounds, done = _Rounds(table, columns, left, plan.rounds), 0
        while done < plan.rounds:
            progress(0.1 + 0.8 * done / plan.rounds, MEASURED.format(done=done, rounds=plan.rounds))
            done += rounds.one_more(at if done < plan.of_class else -1, plan.rounds - done)
        rounds.model.fit(LAST_SWEEPS)
        pairs, losses = [pair for pair, _ in rounds.bought], [*columns.losses, *rounds.bought]
        groups, released = [own.groups for own in rounds.resolutions], [own.margin for own in rounds.resolutions]
        self._keep(schema, rounds.model, columns.rows, groups, pairs, losses, released)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        schema, rows = table.schema, float(table.public_rows or 1)
        budget, at = self._budget(table), self._class_index(schema)
        classes = schema.sizes[at] if at >= 0 else 0
        plan = MarginalPlan.of(rows, budget, table.ledger.measure, table.relation, schema.sizes, classes)
        left = budget - (0 if table.relation is Relation.REPLACE else budget * ROUGH)
        label = [at] if plan.with_class else []
        others = [j for j in range(len(schema)) if j not in label]
        planned = plan_groups(table, [schema.columns[j] for j in others], left * plan.one_ways)
        share = left * (1 - plan.one_ways) * MEASURING / max(plan.rounds, 1)
        groups = rows / (ENOUGH[-1] * max(table.cell_error(share), 1 / MOST_SCALE))
        pairs, variance = combinations(range(len(schema)), 2), table.cell_variance(share)
        return [
            *(clique(schema.sizes, (others[i], *label), v, merges=True) for i, _, v in by_column(planned)),
            *(clique(schema.sizes, p, variance, groups, for_columns=False) for p in islice(pairs, plan.rounds)),
        ]

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        codes = super()._sample(n, rng)
        if exchanges.worthwhile(len(codes), self.schema_.sizes):
            exchanges.exchange(codes, self._expected(len(codes)), rng)
        return codes


class _Rounds:
    """Step 3: the model, and what it was given."""

    def __init__(self, table: PrivateTable, columns: Columns, left: PrivacyLoss, rounds: int) -> None:
        self.table, self.columns, self.bought = table, columns, list[tuple[Edge, float]]()
        # tables of columns that the model takes for independent
        self.apart: dict[Candidate, Floats] = {}
        self.share = left * Fraction(1, max(rounds, 1))
        noise = self._noise(self.share)
        schema = table.schema
        self.resolutions = [
            Resolution(column, marginal, noise, variance)
            for column, marginal, variance in zip(schema, columns.margins, columns.variances, strict=True)
        ]
        self.model = MaximalEntropy([own.known / columns.rows for own in self.resolutions])
        self.fine = in_groups(table, {j: own.levels[0] for j, own in enumerate(self.resolutions)})
        # the resolutions of each pair of columns that differ, by the shape of their table; the finest of one shape
        self.offers: dict[Edge, dict[tuple[int, int], Levels]] = {}
        for a, b in combinations(range(len(schema)), 2):
            shapes = dict[tuple[int, int], Levels]()
            first, second = self.resolutions[a].sizes, self.resolutions[b].sizes
            for i, k in product(range(len(ENOUGH)), repeat=2):
                shapes.setdefault((first[i], second[k]), (i, k))
            self.offers[a, b] = shapes if min(next(iter(shapes))) > 1 else {}
        for j, joint in columns.with_class_counts.items():
            pair = (min(j, columns.at), max(j, columns.at))
            merges = [self.resolutions[k].levels[0] for k in pair]
            self._give(pair, (0, 0), merge_values(joint if j < columns.at else joint.T, merges))
        self.model.fit(SWEEPS)

    def _noise(self, share: PrivacyLoss) -> float:
        """The mean error of a cell of a table that is bought for a share."""
        return min(self.table.cell_error(share), MOST_SCALE)

    def one_more(self, column: int, left: int) -> int:
        """Choose a pair, a resolution, and for how many rounds of those that are left; measure it, and say how many.

        It is a pair with this column, unless that is -1.
        """
        every = list(self._candidates())
        once = [found for found in every if column in found[0]] or every
        many = [rounds for rounds in range(1, min(MOST_ROUNDS, left) + 1) for _ in once]
        merges = [[self.resolutions[j].coarser[level] for j, level in zip(*c, strict=True)] for c in once]
        candidates, expected, merges = once * many[-1], self._expected(once) * many[-1], merges * many[-1]
        balance = self.table.ledger.measure.allocation_power
        costs = float(np.median([cells.size for cells in expected])) ** balance
        wrong = (2 * log(max(len(candidates), 2))) ** balance
        choosing = self.share * Fraction(round(100 * wrong / (wrong + costs)), 100)
        noise = [PENALTY * self._noise(self.share * rounds - choosing) for rounds in range(1, many[-1] + 1)]
        penalties, factors = [noise[rounds - 1] for rounds in many], [1 / rounds for rounds in many]
        score = DistanceFromMarginals(expected, penalties, merges, factors)
        families = column_names(self.table.schema, [pair for pair, _ in candidates])
        chosen = int(self.fine.choose(score, families, epsilon=choosing))
        (pair, levels), model, share = candidates[chosen], expected[chosen], self.share * many[chosen]
        groups = {j: self.resolutions[j].levels[level] for j, level in zip(pair, levels, strict=True)}
        noisy = in_groups(self.table, groups).counts([families[chosen]], epsilon=share - choosing)[0]
        variance = self.table.cell_variance(share - choosing)
        self._hear(pair, levels, noisy, variance)
        self._give(pair, levels, towards(noisy, model, variance))
        self.model.fit(SWEEPS)
        self.bought.append((pair, float(share)))
        return many[chosen]

    def _candidates(self) -> Iterator[Candidate]:
        """Pairs of columns, each at different resolutions, for which the model has room: as it is, or grown."""
        model, sizes = self.model, self.model.sizes
        held = junction_tree.pairs_within(model.cliques)
        for pair, room in junction_tree.largest_with(self.offers, model.cliques, model.parents, sizes).items():
            first, second = sizes[pair[0]], sizes[pair[1]]
            for shape, levels in self.offers[pair].items():
                grown = max(shape[0] / first, 1.0) * max(shape[1] / second, 1.0)
                if room * grown <= MOST_CELLS or (pair in held and grown == 1):
                    yield pair, levels

    def _expected(self, candidates: Sequence[Candidate]) -> list[Floats]:
        """The model's table of counts of every candidate, at its resolution."""
        pairs, part = self.model.pairs(), junction_tree.parts(self.model.cliques)
        fine, found = dict[Edge, Floats](), list[Floats]()
        spread = [own.spread for own in self.resolutions]
        for pair, levels in candidates:
            first, second = (self.resolutions[j] for j in pair)
            if part[pair[0]] is not part[pair[1]]:  # independent: the same table round by round
                if (pair, levels) not in self.apart:
                    marginals = first.counts(levels[0]), second.counts(levels[1])
                    self.apart[pair, levels] = np.outer(*marginals) / self.columns.rows
                found.append(self.apart[pair, levels])
                continue
            if pair not in fine:
                fine[pair] = spread[pair[0]].T @ pairs[pair] @ spread[pair[1]] * self.columns.rows
            found.append(first.ones[levels[0]] @ fine[pair] @ second.ones[levels[1]].T)
        return found

    def _hear(self, pair: Edge, levels: Levels, noisy: Floats, variance: float) -> None:
        """Average what is known of two columns with what a table says of them; all tables are fitted to that."""
        for axis, (j, level) in enumerate(zip(pair, levels, strict=True)):
            self.resolutions[j].average(level, noisy.sum(axis=1 - axis), variance * noisy.shape[1 - axis])
        for given in self.model.given:
            if set(given.scope) & set(pair):
                given.table = self._fitted(given.table * self.columns.rows, given.scope, given.merges)
        self.apart = {known: table for known, table in self.apart.items() if not set(known[0]) & set(pair)}

    def _fitted(self, counts: Floats, scope: Clique, merges: Sequence[Ints]) -> Floats:
        """The shares of a table of counts that is fitted to what is known of its columns by themselves."""
        known: dict[Clique, Floats] = {
            (j,): np.bincount(merge, weights=self.resolutions[j].known).astype(float)
            for j, merge in zip(scope, merges, strict=True)
        }
        return project_near(counts, scope, known, self.columns.rows) / self.columns.rows

    def _give(self, scope: Clique, levels: Sequence[int], counts: Floats) -> None:
        """Give the model a table of counts."""
        for j, level in zip(scope, levels, strict=True):
            # which tells values apart that the model has as one
            if level < self.resolutions[j].level:
                self.model.refine(j, self.resolutions[j].refined(level))
        merges = [self.resolutions[j].merge_to(level) for j, level in zip(scope, levels, strict=True)]
        self.model.join(scope, merges, self._fitted(counts, scope, merges))


class Columns:
    """Step 1: what a share of the budget says of every column; with the class at a position, or at -1 without.

    Records of different classes are disjoint, so that what is asked of each costs what it would of
    one, or of two where a row may be replaced by one of another class (`ledger`). In pure epsilon
    histograms are asked for in groups, with noise for all of a group at once
    (`mechanisms.noise.histograms`). That is the better the more alike their sizes are; so groups
    are neighbors in size, merged as long as that lowers the sum of all counts' errors. Errors of a
    group go by one over its share; with shares by the root of what its errors would be alone, their
    sum is least. In rho every table has noise of its own, and a share by the power `balance` of its
    cells.

    `known` is what is known of the number of rows. A group's loss stands in equal parts in
    `losses`.
    """

    def __init__(self, table: PrivateTable, share: PrivacyLoss, at: int, known: Said) -> None:
        schema, distribution = table.schema, table.ledger.measure.distribution
        others = [j for j in range(len(schema)) if j != at]
        columns = [schema.columns[j] for j in others]
        parts = table.split(schema.names[at]) if at >= 0 else [table]
        own = parts[0].ledger.share_of(share) if at >= 0 else share
        groups = plan_groups(parts[0], columns, own)  # the same of each part
        answers = [ask(part, columns, own, groups) for part in parts]
        totals = [[(float(tables[group.columns[0]].sum()), group.total) for group in groups] for tables in answers]
        self.at, self.losses = at, list[tuple[Clique, float]]()
        # of columns' counts; the class's is taken for 0: all groups have told it
        self.variances = [0.0] * len(schema)
        self.margins = [np.empty(0)] * len(schema)
        self.with_class_counts: dict[int, Floats] = {}  # counts of shape (values, classes), positive
        if at >= 0:
            rows, variances = np.array(list(map(average, totals))).T
            self.rows = max(average([known, (rows.sum(), variances.sum())])[0], 1.0)
            classes = project(rows, self.rows) + TRACE
            classes *= self.rows / classes.sum()
            self.margins[at] = classes
        else:
            self.rows = max(average([known, *totals[0]])[0], 1.0)
            classes = np.array([self.rows])
        for j, column, (i, loss, variance) in zip(others, columns, by_column(groups), strict=True):
            scale, ordered = sqrt(variance / 2 if distribution == "laplace" else variance), neighbors(column)
            both = [(tables[i], float(n)) for tables, n in zip(answers, classes, strict=True)]
            levels = [(cells + (n - cells.sum()) / cells.size, n) for cells, n in both]
            found = [
                likely_histogram(level, scale, n, neighbors=ordered, distribution=distribution) for level, n in levels
            ]
            joint = np.column_stack(found)
            self.losses.append((tuple(sorted({j, at} - {-1})), float(share) * float(loss / own) if own else 0.0))
            self.margins[j], self.variances[j] = joint.sum(axis=1), sum([variance] * len(parts))
            if at >= 0:
                self.with_class_counts[j] = joint


class HistogramGroup(NamedTuple):
    """Columns that are measured at once, by position; what they are charged; variances of their counts and total."""

    columns: list[int]
    loss: PrivacyLoss
    variances: list[float]
    total: float


def plan_groups(table: PrivateTable, columns: Sequence[Column], share: PrivacyLoss) -> list[HistogramGroup]:
    """What will be asked of columns for a share; no question."""
    sizes = tuple(column.size for column in columns)
    if table.ledger.delta:
        losses = shares_of(share, weights_of(table, columns))
        variances = map(table.cell_variance, losses)
        return [HistogramGroup([i], losses[i], [variance], sizes[i] * variance) for i, variance in enumerate(variances)]
    found, (merged, weights) = list[HistogramGroup](), in_lots(sizes)
    for own, loss in zip(merged, shares_of(share, weights), strict=True):
        noise = table.histogram_spreads([[columns[i].name] for i in own], loss)
        found.append(HistogramGroup(own, loss, [each.cell**2 for each in noise], noise[0].total ** 2))
    return found


def by_column(groups: Iterable[HistogramGroup]) -> list[tuple[int, PrivacyLoss, float]]:
    """Of each column, in order: its position, what it is charged, and the variance of its counts."""
    return sorted(
        (i, group.loss / len(group.columns), variance)
        for group in groups
        for i, variance in zip(group.columns, group.variances, strict=True)
    )


def ask(
    table: PrivateTable, columns: Sequence[Column], share: PrivacyLoss, groups: Sequence[HistogramGroup]
) -> list[Floats]:
    """Noisy histograms of columns of the same rows."""
    families, found = [[column.name] for column in columns], [np.empty(0)] * len(columns)
    if table.ledger.delta:
        return table.counts(families, epsilon=share, weights=weights_of(table, columns))
    for group in groups:
        noisy = table.histograms([families[i] for i in group.columns], epsilon=group.loss)
        for i, cells in zip(group.columns, noisy, strict=True):
            found[i] = cells
    return found


def weights_of(table: PrivateTable, columns: Sequence[Column]) -> list[float]:
    """Of columns, in rho."""
    return [float(column.size) ** table.ledger.measure.allocation_power for column in columns]


def average(said: Sequence[Said]) -> Said:
    """Several sayings of one number, by inverse variance; one of variance 0 stands alone."""
    public = [number for number, variance in said if not variance]
    if public:
        return public[0], 0.0
    certain = 1 / np.clip([variance for _, variance in said], LEAST, MOST)
    return float(np.average([number for number, _ in said], weights=certain)), float(1 / certain.sum())


@lru_cache(maxsize=64)
def in_lots(sizes: tuple[int, ...]) -> tuple[list[list[int]], list[float]]:
    """Histograms that are asked for at once, by their positions, and the weights of their shares; see `Columns`."""

    def weight(group: list[int]) -> float:
        """The root of the sum of all counts' standard deviations, times the factor, as if the total were private."""
        own = [sizes[i] for i in group]
        found = spreads(own, 1.0, public_total=False)
        return sqrt(sum((size * found[size].cell for size in own), LEAST))

    groups = [[i for i, size in enumerate(sizes) if size == one] for one in sorted({*sizes})]
    while True:
        alone = [weight(own) for own in groups]
        merged = [weight(one + other) for one, other in pairwise(groups)]
        saved = [alone[k] + alone[k + 1] - both for k, both in enumerate(merged)]
        best = int(np.argmax(saved)) if saved else 0
        if not saved or saved[best] < -LEAST:  # what saves nothing is simpler together
            return groups, alone
        groups[best : best + 2] = [groups[best] + groups[best + 1]]

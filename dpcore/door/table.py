"""Private rows, and the queries that methods may send to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.privacy_measure import PrivacyLoss
from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.column import Codes, Column, Counts
from dpcore.domain.moments import GRID, MomentBasis
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Attribute
from dpcore.door import nodes, privacy_costs, responses
from dpcore.door.door import Door
from dpcore.door.exact_node_counts import Records, root_nodes
from dpcore.door.network_growth import FamilySearch, NetworkGrowth
from dpcore.door.privacy_costs import ClaimedValues, Names
from dpcore.door.ranks import PrivateRanks, RankCells
from dpcore.errors import ParameterError, SchemaError
from dpcore.mechanisms.noise import Noise, NoNoise, NumpyNoise, Weights, generator
from dpcore.mechanisms.noise.histograms import WIDEST, Spread
from dpcore.mechanisms.scores import Score, TableScore
from dpcore.postprocess.reports import Questionnaire, Reports
from dpcore.rows import HeldRows, NumberCodes, Rows


class PrivateTable:
    """Private rows, and the queries to them that a ledger is charged for.

    The parameter `epsilon` of a query is a privacy loss in the ledger's privacy measure: epsilon or
    rho. A method that states shares of its budget (`PrivateEstimator._budget`) runs unchanged in
    both.

    Parameters
    ----------
    rows : Rows or int array of shape (n, d)
        The codes of the rows, from `Schema.encode`. `Rows` may also have numbers: ticks for trees
        that split columns anywhere (`domain.splits`), or values to be randomized.
    schema : Schema
        The schema of the codes.
    ledger : Ledger
        The ledger that queries are charged to.
    noise : Noise
        The source of noise.
    unprotected_allowed : bool, default=False
        Whether `read_unprotected` may be called (published mode).
    """

    def __init__(
        self, rows: Rows | Codes, schema: Schema, ledger: Ledger, noise: Noise, *, unprotected_allowed: bool = False
    ) -> None:
        self._rows = rows if isinstance(rows, Rows) else HeldRows(rows, schema.sizes)
        if self._rows.sizes != schema.sizes:
            raise SchemaError("The codes do not have the schema's columns.", "Encode with this schema.")
        self._sizes = dict(zip(schema.names, schema.sizes, strict=True))
        self._sources: dict[str, str] = {}  # of recoded columns: their source columns
        self._strata: tuple[str, ...] = ()  # columns that the rows were partitioned by
        # one row of each person, with a ledger of persons, if a column identifies them
        self.persons: PrivateTable | None = None
        self.rows_per_person = 1  # the most rows of a person
        self.schema, self.ledger = schema, ledger
        public = self.public_rows
        most = None if public is None or len(self._rows) > public else public
        self._door = Door(ledger, noise, rows=most, unprotected_allowed=unprotected_allowed)

    @property
    def relation(self) -> Relation:
        """The neighboring relation of the ledger: add_remove or replace."""
        return self.ledger.relation

    @property
    def public_rows(self) -> int | None:
        """Number of rows under replace, where it is public; else the schema's bound, or None."""
        return len(self._rows) if self.relation is Relation.REPLACE else self.schema.max_rows

    # Row by row, or a partition by values: no privacy loss

    def derive(self, column: Column, sources: Names, rule: NDArray[np.integer[Any]]) -> Self:
        """Return the table with one more column, a public function of other columns; no query.

        `rule` has the new code for every combination of the sources' codes, one axis per source.
        The rule works row by row, so it costs nothing.
        """
        if rule.shape != self._marginal_shape(sources) or rule.min() < 0 or rule.max() >= column.size:
            raise ParameterError("`rule` does not fit `sources` or `column`.", "Give a code per source value.")
        schema = Schema(**{**vars(self.schema), "columns": (*self.schema.columns, column)})
        added = [self.schema.index(name) for name in sources], rule
        rows = self._rows.look_up(schema.sizes, [*range(len(self.schema)), added])
        return self._derived_table(rows, schema, self.ledger)

    def number_codes(self, column: Column, source: str, rule: NumberCodes) -> Self:
        """Return the table with one more column, a public function of a column's numbers; no query.

        `rule` maps numbers of the column `source`, as the method reads them, to codes of `column`.
        """
        schema = Schema(**{**vars(self.schema), "columns": (*self.schema.columns, column)})
        rows = self._rows.number_codes(self.schema.index(source), rule, column.size)
        return self._derived_table(rows, schema, self.ledger)

    def recode(self, schema: Schema, rules: Sequence[tuple[str, NDArray[np.integer[Any]]]]) -> Self:
        """Return the table with other columns, each a public function of one column; no query.

        `rules` has, per new column, its source column and the new code for each source code. The
        rules work row by row, so they cost nothing.
        """
        for (source, rule), size in zip(rules, schema.sizes, strict=True):
            if rule.shape != self._marginal_shape([source]) or rule.min() < 0 or rule.max() >= size:
                raise ParameterError(f"The rule for {source!r} does not fit.", "Give a new code per code of it.")
        rows = self._rows.recode(schema.sizes, [(self.schema.index(name), rule) for name, rule in rules])
        made = self._derived_table(rows, schema, self.ledger)
        made._sources = {name: self._sources.get(own, own) for name, (own, _) in zip(schema.names, rules, strict=True)}
        return made

    def partition_by(self, by: str, *, name: str = "") -> list[Self]:
        """Return one table per value of a column, whose ledgers compose in parallel.

        Parts without rows are included, so that the number of parts reveals nothing.
        """
        group = self.ledger.parallel(name or f"split by {by}", by="value")
        parts = zip(self._rows.split(self.schema.index(by)), self.schema[by].labels, strict=True)
        made = [self._derived_table(rows, self.schema, group.part(label)) for rows, label in parts]
        for part in made:
            part._strata += (self._sources.get(by, by),)
        return made

    def prefetch(self, cliques: Sequence[Names]) -> None:
        """Count marginals for later queries in one pass over the rows; return and charge nothing."""
        self._rows.prefetch([self.schema.index(name) for name in clique] for clique in cliques)

    # Queries

    def counts(
        self,
        cliques: Sequence[Names],
        *,
        epsilon: PrivacyLoss,
        weights: list[float] | None = None,
        **claimed: Unpack[ClaimedValues],
    ) -> list[Floats]:
        """Return noisy marginals, one axis per column; all of them share `epsilon`.

        Parameters
        ----------
        cliques : sequence of sequences of column names
            The columns of each marginal. An empty one stands for the number of rows.
        epsilon : float or Fraction
            The privacy loss of all marginals together. A marginal's noise has the scale sensitivity
            / (its share of epsilon), or in rho sigma^2 = (L2 sensitivity)^2 / (2 its share).
        weights : list of float, optional
            Public, positive, one per marginal: shares are proportional to them. Default: equal
            shares.
        **claimed
            What the source claims about the query (`privacy_costs.ClaimedValues`).
        """
        claim, mechanism = self._door.claim(**claimed), self._door.noise.on_counts
        charged = privacy_costs.marginal_entries(cliques, self.relation, mechanism, epsilon, weights, claim)
        entries = [self._add_tables(entry, [clique]) for entry, clique in zip(charged, cliques, strict=True)]
        scales = [entry.scale for entry in entries]
        return self._door.answer("counts", entries, lambda: self._door.noisy_counts(self._marginals(cliques), scales))

    def histograms(self, cliques: Sequence[Names], *, epsilon: Epsilon) -> list[Floats]:
        """Return noisy marginals by the K-norm mechanism, one noise for all of them together.

        This is more accurate than `counts` if the marginals have similar sizes. In pure epsilon
        only. All results have one total, under replace the public number of rows. An epsilon whose
        scale would exceed `WIDEST` gives no information. See `mechanisms.noise.histograms`.
        """
        entry, factor = self._histogram_entry(cliques, epsilon)

        def draw() -> list[Floats]:
            if not factor:
                return [np.zeros(self._marginal_shape(clique)) for clique in cliques]
            return self._door.noise.histograms(self._marginals(cliques), factor, public_total=self._public_total)

        return self._door.answer("histograms", [entry], draw)

    def moments(
        self, group: str, columns: Names, basis: MomentBasis, *, epsilon: PrivacyLoss, values: Names = ()
    ) -> tuple[Floats, float]:
        """Return noisy sums of public functions of numbers, by group, and the scale of their noise.

        The sums have the shape (groups, functions), and are multiples of 1 / `GRID`.

        Parameters
        ----------
        group : str
            The column whose values are the groups.
        columns : sequence of str
            The numeric columns, which the method reads as numbers scaled to [0, 1].
        basis : MomentBasis
            The functions, and their sensitivity (`domain.moments` has the proof).
        epsilon : float or Fraction
            The privacy loss of all sums together.
        values : sequence of str
            Columns with a code for each value of `columns`, evenly spaced, and for missing ones, if
            there are such columns: they are faster to count.
        """
        measure, size = self.ledger.measure, self.schema[group].size
        sensitivity = basis.sensitivity(measure.histogram_sensitivity(self.relation), size)
        name = f"moments of {' × '.join(columns)} in {group}"
        entry = privacy_costs.noise_entry(name, self._door.noise.on_counts, measure, sensitivity, epsilon)
        entry = self._add_tables(entry, [[group]])

        def draw() -> Floats:
            if values:
                (counts,) = self._marginals([[group, *values]])
                sums = (counts.reshape(size, -1) @ basis.steps_of_values(counts.shape[1:])).astype(np.int64)
            else:
                positions = self.schema.index(group), [self.schema.index(name) for name in columns]
                sums = self._rows.sums(*positions, basis.steps, basis.size)
            return self._door.noisy_counts([sums], [entry.scale * GRID])[0] / GRID

        return self._door.answer("moments", [entry], draw), entry.scale

    def ranks(self, group: str, column: str, cells: RankCells) -> PrivateRanks:
        """Return the rows of each group in the order of a column's numbers, for quantile queries.

        Nothing is charged yet. `cells` are ordered cells of the numbers scaled to [0, 1].
        """
        positions = self.schema.index(group), self.schema.index(column)
        noise = self._door.noise
        counts = self._rows.number_counts(*positions, cells.index, cells.size, noise.uniform_blocks(len(self._rows)))
        return PrivateRanks(self._door, f"{column} in {group}", counts)

    def histogram_spreads(self, cliques: Sequence[Names], epsilon: Epsilon) -> list[Spread]:
        """Return the approximate noise of each marginal of `histograms`; nothing is charged."""
        _, factor = self._histogram_entry(cliques, epsilon)
        sizes = [prod(self._marginal_shape(clique)) for clique in cliques]
        found = self._door.noise.histogram_spreads(sizes, factor, public_total=self._public_total)
        return [found[size] for size in sizes]

    def _histogram_entry(self, cliques: Sequence[Names], epsilon: Epsilon) -> tuple[Entry, float]:
        """Return the ledger entry of `histograms`, and the factor of its noise's exponent.

        With the factor 0 nothing is drawn.
        """
        self._require_pure("K-norm histograms")
        entry = self._add_tables(privacy_costs.histogram_entry(cliques, self.relation, epsilon), cliques)
        return entry, 0.0 if entry.scale > WIDEST else 1 / entry.scale if entry.scale else np.inf

    @property
    def _public_total(self) -> bool:
        """Whether the number of rows is public: under replace, except in parts by value."""
        return self.relation is Relation.REPLACE

    def cell_variance(self, epsilon: PrivacyLoss) -> float:
        """Return the variance of the noise in each cell of a marginal that costs `epsilon`.

        Public: nothing is charged.
        """
        scale = self.count_scale(epsilon)
        return self._door.noise.variance(scale) if np.isfinite(scale) else np.inf

    def cell_error(self, epsilon: PrivacyLoss) -> float:
        """Return the approximate mean absolute noise in a marginal's cell that costs `epsilon`.

        Public: nothing is charged.
        """
        return self.ledger.measure.mean_abs_error(self.count_scale(epsilon))

    def selection_rate(self, epsilon: PrivacyLoss) -> float:
        """Return the factor of scores in selections of ranks that cost `epsilon`; public."""
        measure = self.ledger.measure
        return measure.selection_exponent(epsilon / measure.group_factor(self.relation.histogram_l1))

    def count_scale(self, epsilon: PrivacyLoss) -> float:
        """Return the scale of the noise in each cell of a marginal for `epsilon`; public."""
        measure = self.ledger.measure
        return measure.scale(epsilon, measure.histogram_sensitivity(self.relation))

    @property
    def whole_noise(self) -> bool:
        """Return whether noisy counts of this table are whole numbers; public."""
        return self._door.noise.on_counts not in ("laplace", "gaussian")

    def choose(
        self,
        score: Score,
        candidates: Sequence[Names],
        *,
        epsilon: PrivacyLoss,
        draws: int = 1,
        **claimed: Unpack[ClaimedValues],
    ) -> Ints:
        """Select candidates by the exponential mechanism; return their positions.

        A candidate's probability is proportional to its public weight times exp(factor * score).

        Parameters
        ----------
        score : Score
            The score of a candidate.
        candidates : sequence of sequences of column names
            The columns that the score is computed from; empty for a score with candidates of its
            own (`ClassLogScore`).
        epsilon : float or Fraction
            The privacy loss per draw.
        draws : int
            Number of independent choices that the score makes at once (its leading axes, which are
            the shape of the result). They compose sequentially.
        """
        shapes = [self._marginal_shape(clique) for clique in candidates]
        noise, claim = self._door.noise, self._door.claim(**claimed)
        entry, factor = self._door.selection_entry(score, shapes, epsilon, claim, draws=draws)

        def draw() -> Ints:
            values = score.values(self._marginals, candidates, self.relation)
            if values[..., 0].size != draws:
                raise ParameterError(f"`draws` is {draws}; the score makes more or fewer choices.", "Pass draws=.")
            rated, weights = values if factor else np.zeros_like(values), score.weights
            if weights is None:
                return noise.select(rated, factor or 1.0)
            size = len(weights.part)
            groups = np.repeat(np.arange(draws), size)
            every = Weights(np.tile(weights.part, draws), np.tile(weights.whole, draws))
            chosen = noise.select_grouped(rated.ravel(), groups, factor or 1.0, every)
            return (chosen % size).reshape(values.shape[:-1])

        return self._door.answer("choose", [entry], draw)

    def noisy_scores(
        self, score: Score, candidates: Sequence[Names], *, epsilon: PrivacyLoss, **claimed: Unpack[ClaimedValues]
    ) -> Floats:
        """Return the noisy scores of all candidates, shape (candidates,).

        `epsilon` is for all scores together.
        """
        if not candidates:
            raise ParameterError("`candidates` is empty.", "Give one candidate or more.")
        shapes = [self._marginal_shape(clique) for clique in candidates]
        noise, bounds = self._door.noise, self._door.bounds(score, shapes)
        entry, grid = privacy_costs.score_entry(
            score.name, bounds, len(shapes), epsilon, self._door.claim(**claimed), exactly=noise.exactly_sampled
        )

        def draw() -> Floats:
            values = score.values(self._marginals, candidates, self.relation)
            if values.shape != (len(candidates),):
                raise ParameterError("The score does not give one value per candidate.", "Use another score.")
            if not np.isfinite(entry.scale):
                return np.zeros(len(candidates))
            return noise.reals(values, entry.scale, grid=grid)

        return self._door.answer("noisy_scores", [entry], draw)

    def grow_network(
        self, score: TableScore, columns: Names, *, max_parents: int, related: Flags | None = None
    ) -> NetworkGrowth:
        """Return a growing network of 0/1 columns; exponential mechanisms choose its families.

        Parameters
        ----------
        score : TableScore
            The score of a family's marginal.
        columns : sequence of str
            The names of the network's columns.
        max_parents : int
            The most parents of a column.
        related : bool array, shape (columns, columns), optional
            Public: which column (first axis) may have which other as a parent. Default: all.
        """
        if set(self.schema.sizes) != {2}:
            raise ParameterError("A growing network needs columns of 0 and 1.", "Binarize the schema first.")
        if max_parents < 1 or len(set(columns)) < len(columns):
            raise ParameterError("`columns` repeat, or `max_parents` is below 1.", "Try max_parents=3.")
        indices = [self.schema.index(name) for name in columns]
        search = FamilySearch(self._rows.bits, indices, score, self.relation, max_parents=max_parents, related=related)
        return NetworkGrowth(self._door, self.schema, search, columns)

    def randomize(
        self,
        questions: Questionnaire,
        *,
        claimed_epsilon: Epsilon | None = None,
        reasons: Mapping[tuple[str, ...], str] = MappingProxyType({}),
    ) -> Reports:
        """Return randomized responses, which every row makes about itself (see `responses`).

        Only under replace. In corrected mode every randomizer needs a finite epsilon.
        `claimed_epsilon` is the source's claim per report, and `reasons` explain by column set why
        it differs from the bound.
        """
        self._require_pure("Randomized answers")
        responses.check_questionnaire(questions, self.schema, self._rows.number_columns, self.relation)
        entries = responses.report_entries(questions, claimed_epsilon, reasons)
        if not self._door.unprotected_allowed and any(entry.epsilon_nominal == np.inf for entry in entries):
            raise ParameterError("A randomizer has no finite epsilon.", "Use another randomizer, or published mode.")
        return self._door.answer(
            "randomize", entries, lambda: responses.draw_reports(questions, self._rows, self.schema, self._door.noise)
        )

    def read_unprotected(self, reason: str, *, claimed_epsilon: Epsilon) -> Codes:
        """Return the raw codes, at infinite privacy loss; published mode only.

        `reason` says why the source is wrong, and `claimed_epsilon` is what the source claims.
        """
        return self._door.read_unprotected("raw rows", reason, claimed_epsilon, self._rows.all_codes)

    def noiseless(self, reason: str, *, claimed_epsilon: Epsilon, random_ties: bool = False) -> PrivateTable:
        """Return the same rows with noiseless answers and their own ledger; published mode only.

        The privacy loss is infinite: `reason` says why, and `claimed_epsilon` is what the source
        claims. With `random_ties`, one of the best candidates is drawn at random, as this table's
        noise would for an ever larger epsilon.
        """
        noise: Noise = NoNoise()
        if random_ties:
            own = self._door.noise
            unseeded = NumpyNoise(generator(None, 0), discrete=False, seeded=False)
            noise = (own if isinstance(own, NumpyNoise) else unseeded).noiseless()
        ledger = Ledger(self.relation if random_ties else Relation.REPLACE)
        return self._door.read_unprotected(
            "noiseless answers", reason, claimed_epsilon, lambda: type(self)(self._rows, self.schema, ledger, noise)
        )

    def trees(
        self,
        target: str,
        attributes: Mapping[int, Attribute],
        *,
        trees: int,
        epsilon: Epsilon,
        resample: str = "disjoint",
        rate: float = 1.0,
        plainly_claimed: bool = False,
    ) -> tuple[nodes.PrivateNodes, Epsilon]:
        """Return the root nodes of trees over random samples of rows, and the budget of each path.

        The budget is the privacy loss that one row's path through one tree may have. Nothing is
        charged yet.

        Parameters
        ----------
        target : str
            The target column.
        attributes : mapping of int to Attribute
            The splits of each column, by the column's position.
        trees : int
            Number of trees.
        epsilon : float or Fraction
            The privacy loss of all trees together.
        resample : {"disjoint", "poisson", "full", "bootstrap"}
            Every row is in one tree; in each tree with probability `rate`; in all trees; or each
            tree draws as many rows with replacement as there are, which only a source may do that
            claims no loss for that.
        rate : float
            The sampling rate of "poisson".
        plainly_claimed : bool
            Whether the source claims, under replace too, that nodes cost the largest of their
            losses.
        """
        self._require_pure("Trees")
        way = trees, exact(epsilon), resample, rate, len(self._rows)
        part, budget = nodes.tree_budget(self.ledger, *way, plainly_claimed=plainly_claimed)
        index, classes = self.schema.index(target), self.schema[target].size
        records = Records(self._rows, dict(attributes), index, classes)
        rows = root_nodes(records, self._door.noise, trees, resample, rate)
        return nodes.PrivateNodes(self._door.with_ledger(part), rows), budget

    def _require_pure(self, what: str) -> None:
        """Raise ParameterError in a run that counts rho.

        `what` names the queries whose loss is in pure epsilon only.
        """
        if self.ledger.delta:
            raise ParameterError(f"{what} have their privacy loss in pure epsilon only.", "Use delta=0.")

    def _marginals(self, cliques: Sequence[Names]) -> list[Counts]:
        """Return the noiseless marginals of some sets of columns, one axis per column; private."""
        position = {name: j for j, name in enumerate(self.schema.names)}
        return self._rows.marginals([[position[name] for name in clique] for clique in cliques])

    def _add_tables(self, entry: Entry, cliques: Sequence[Names]) -> Entry:
        """Return the ledger entry with the columns and sizes of the marginals that it is about.

        SchemaError for unknown columns, before anything is charged.
        """
        named = [zip(clique, self._marginal_shape(clique), strict=True) for clique in cliques]
        tables = [tuple((self._sources.get(name, name), size) for name, size in table) for table in named]
        return replace(entry, tables=tuple(tables), strata=self._strata)

    def _marginal_shape(self, clique: Names) -> tuple[int, ...]:
        """Return the shape of a marginal: the number of codes of each column."""
        sizes = self._sizes  # the schema raises for an unknown name
        return tuple(sizes[name] if name in sizes else self.schema[name].size for name in clique)

    def _derived_table(self, rows: Rows, schema: Schema, ledger: Ledger) -> Self:
        """Return a table of other rows or columns, with this table's noise and bound on rows."""
        made = type(self)(rows, schema, ledger, self._door.noise)
        made._door = self._door.with_ledger(ledger)  # keeps the public bound on rows
        made._sources, made._strata = self._sources, self._strata
        made.rows_per_person = self.rows_per_person
        return made

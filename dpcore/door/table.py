"""Private rows and the questions they may be asked; see the package for how a question is paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.currency import PrivacyLoss
from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.column import Codes, Column, Counts
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Attribute
from dpcore.door import nodes, prices, responses
from dpcore.door.door import Door
from dpcore.door.exact_node_counts import Records, roots
from dpcore.door.network_growth import FamilySearch, Growth
from dpcore.door.prices import ClaimedValues, Names
from dpcore.errors import ParameterError, SchemaError
from dpcore.mechanisms.noise import Noise, NoNoise, NumpyNoise, Weights, generator
from dpcore.mechanisms.noise.histograms import WIDEST, Spread
from dpcore.mechanisms.scores import Score, TableScore
from dpcore.postprocess.reports import Questionnaire, Reports
from dpcore.rows import HeldRows, Rows


class PrivateTable:
    """Private rows, encoded by `Schema.encode`, and the questions that the ledger is charged for.

    What a question may spend is called `epsilon`, and is an amount in the ledger's currency: of
    epsilon or of rho. A method that states shares of its budget (`PrivateEstimator._budget`) is the
    same in both.

    Codes of shape (n, d) are `HeldRows`. `unprotected` may be called if it is allowed (published
    mode). The rows' numbers are what a method needs of columns besides their bins: the grid's
    places for trees that cut them (`splits`), or values to be randomized.
    """

    def __init__(
        self,
        rows: Rows | Codes,
        schema: Schema,
        ledger: Ledger,
        noise: Noise,
        *,
        unprotected_allowed: bool = False,
    ) -> None:
        self._rows = rows if isinstance(rows, Rows) else HeldRows(rows, schema.sizes)
        if self._rows.sizes != schema.sizes:
            raise SchemaError("The codes do not have the schema's columns.", "Encode the rows with the same schema.")
        self._sizes = dict(zip(schema.names, schema.sizes, strict=True))
        self._sources: dict[str, str] = {}  # of recoded columns: the schema's
        self._strata: tuple[str, ...] = ()  # the columns that the rows were split by
        self.schema, self.ledger = schema, ledger
        public = self.public_rows
        most = None if public is None or len(self._rows) > public else public
        self._door = Door(ledger, noise, rows=most, unprotected_allowed=unprotected_allowed)

    @property
    def relation(self) -> Relation:
        """The ledger's neighboring relation."""
        return self.ledger.relation

    @property
    def public_rows(self) -> int | None:
        """The number of rows under replace, where it is public; otherwise the schema's public bound, if declared."""
        return len(self._rows) if self.relation is Relation.REPLACE else self.schema.max_rows

    # Record by record, or a division by values: free

    def derive(self, column: Column, sources: Names, rule: NDArray[np.integer[Any]]) -> Self:
        """The table with one more column, `rule[codes of the sources]`: record by record, hence free.

        The rule is a public look-up table, with one axis per source, from the sources' codes to the
        new code.
        """
        if rule.shape != self._shape(sources) or rule.min() < 0 or rule.max() >= column.size:
            raise ParameterError("The rule does not fit its sources or its new column.", "Give one code per cell.")
        schema = Schema(**{**vars(self.schema), "columns": (*self.schema.columns, column)})
        added = [self.schema.index(name) for name in sources], rule
        rows = self._rows.look_up(schema.sizes, [*range(len(self.schema)), added])
        return self._sibling(rows, schema, self.ledger)

    def recode(self, schema: Schema, rules: Sequence[tuple[str, NDArray[np.integer[Any]]]]) -> Self:
        """The table in other columns, each a public look-up on one of its own: record by record, hence free.

        Rules are, per new column, the column it comes from, and the new code for each of that
        column's codes.
        """
        for (source, rule), size in zip(rules, schema.sizes, strict=True):
            if rule.shape != self._shape([source]) or rule.min() < 0 or rule.max() >= size:
                raise ParameterError("A rule does not fit its source or its new column.", "Give one code per code.")
        rows = self._rows.recoded(schema.sizes, [(self.schema.index(source), rule) for source, rule in rules])
        made = self._sibling(rows, schema, self.ledger)
        made._sources = {
            name: self._sources.get(source, source) for name, (source, _) in zip(schema.names, rules, strict=True)
        }
        return made

    def split(self, by: str, *, name: str = "") -> list[Self]:
        """One table per value of a column: disjoint records, charged in parallel (see `accounting.ledger`).

        Empty parts are there as well, so that the number of parts tells nothing.
        """
        group = self.ledger.parallel(name or f"split by {by}", by="value")
        parts = zip(self._rows.split(self.schema.index(by)), self.schema[by].labels, strict=True)
        made = [self._sibling(rows, self.schema, group.part(label)) for rows, label in parts]
        for part in made:
            part._strata += (self._sources.get(by, by),)
        return made

    def expect(self, families: Sequence[Names]) -> None:
        """Have tables counted in one pass over the rows that questions are going to need; no answer, hence free."""
        self._rows.expect([self.schema.index(name) for name in family] for family in families)

    # Questions

    def counts(
        self,
        families: Sequence[Names],
        *,
        epsilon: PrivacyLoss,
        weights: list[float] | None = None,
        **claimed: Unpack[ClaimedValues],
    ) -> list[Floats]:
        """Noisy contingency tables, one axis per column; the families share `epsilon`.

        Parameters
        ----------
        families : sequence of sequences of column names
            An empty one asks for the number of rows.
        epsilon : float or Fraction
            For all tables together: table f is drawn with the scale sensitivity / (the family's share of epsilon); of
            rho with sigma^2 = L2 sensitivity^2 / (2 its share).
        weights : list of float, optional
            Public, positive, one per family, to which shares are proportional; by default they are equal.
        **claimed
            What the source says of it (`prices.Claimed`), here and below.
        """
        claim, mechanism = self._door.claim(**claimed), self._door.noise.on_counts
        charged = prices.tables(families, self.relation, mechanism, epsilon, weights, claim)
        entries = [self._counting(entry, [family]) for entry, family in zip(charged, families, strict=True)]
        scales = [entry.scale for entry in entries]
        return self._door.answer("counts", entries, lambda: self._door.noisy_counts(self._count(families), scales))

    def histograms(self, families: Sequence[Names], *, epsilon: Epsilon) -> list[Floats]:
        """Noisy contingency tables for `epsilon` together: closer than with noise for each, if sizes are alike.

        In pure epsilon only. All have one total, under replace that of the rows, which is public
        then. See `mechanisms.noise.histograms`. An epsilon that buys a scale above `WIDEST` buys
        nothing.
        """
        entry, factor = self._at_once(families, epsilon)

        def draw() -> list[Floats]:
            if not factor:
                return [np.zeros(self._shape(family)) for family in families]
            return self._door.noise.histograms(self._count(families), factor, public_total=self._public_total)

        return self._door.answer("histograms", [entry], draw)

    def histogram_spreads(self, families: Sequence[Names], epsilon: Epsilon) -> list[Spread]:
        """About how large the noise of each such table is; public, no question."""
        _, factor = self._at_once(families, epsilon)
        sizes = [prod(self._shape(family)) for family in families]
        found = self._door.noise.histogram_spreads(sizes, factor, public_total=self._public_total)
        return [found[size] for size in sizes]

    def _at_once(self, families: Sequence[Names], epsilon: Epsilon) -> tuple[Entry, float]:
        """The entry of histograms, and the factor of a vector's length in its probability; with 0 nothing is drawn."""
        self._need_pure("Histograms at once")
        entry = self._counting(prices.histograms(families, self.relation, epsilon), families)
        return entry, 0.0 if entry.scale > WIDEST else 1 / entry.scale if entry.scale else np.inf

    @property
    def _public_total(self) -> bool:
        """Whether the number of rows is public. Parts by value are under add_remove, whatever the table is under."""
        return self.relation is Relation.REPLACE  # neighbors have as many rows

    def cell_variance(self, epsilon: PrivacyLoss) -> float:
        """The variance of the noise in every cell of a table that is bought for `epsilon`; public, no question."""
        scale = self._cell_scale(epsilon)
        return self._door.noise.variance(scale) if np.isfinite(scale) else np.inf

    def cell_error(self, epsilon: PrivacyLoss) -> float:
        """How far such a cell is from the true count in the mean, roughly; public, no question."""
        return self.ledger.measure.mean_abs_error(self._cell_scale(epsilon))

    def _cell_scale(self, epsilon: PrivacyLoss) -> float:
        measure = self.ledger.measure
        return measure.scale(epsilon, measure.histogram_sensitivity(self.relation))

    @property
    def whole_noise(self) -> bool:
        """Whether noisy counts are whole numbers; public."""
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
        """Exponential mechanism: positions of candidates, more probable the higher their score and public weight.

        Parameters
        ----------
        candidates : sequence of families
            What the score rates, as families of column names; empty for a score that names its own (`ClassLogScore`).
        epsilon : float or Fraction
            Per draw.
        draws : int
            How many independent choices the score makes at once (its leading axes, which are the answer's shape); they
            compose sequentially.
        """
        shapes = [self._shape(family) for family in candidates]
        noise = self._door.noise
        entry, factor = self._door.choice(score, shapes, epsilon, self._door.claim(**claimed), draws=draws)

        def draw() -> Ints:
            values = score.values(self._count, candidates, self.relation)
            if values[..., 0].size != draws:
                raise ParameterError("The score makes another number of choices than was charged.", "Pass draws=.")
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
        """Scores of all candidates with noise, shape (len(candidates),); `epsilon` is for all together."""
        if not candidates:
            raise ParameterError("There is nothing to score.", "Give one candidate or more.")
        shapes = [self._shape(family) for family in candidates]
        noise, bounds = self._door.noise, self._door.bounds(score, shapes)
        entry, grid = prices.noisy_values(
            score.name, bounds, len(shapes), epsilon, self._door.claim(**claimed), exactly=noise.exactly_sampled
        )

        def draw() -> Floats:
            values = score.values(self._count, candidates, self.relation)
            if values.shape != (len(candidates),):
                raise ParameterError("The score gives other values than were charged.", "Use one value per candidate.")
            if not np.isfinite(entry.scale):
                return np.zeros(len(candidates))
            return noise.reals(values, entry.scale, grid=grid)

        return self._door.answer("noisy_scores", [entry], draw)

    def growth(self, score: TableScore, columns: Names, *, max_parents: int, related: Flags | None = None) -> Growth:
        """A network over some columns of 0 and 1 that grows by exponential mechanisms, each charged when it is asked.

        `related`, of shape (len(columns), len(columns)), is public: which column (first axis) may
        take which other as a parent. All may by default.
        """
        if set(self.schema.sizes) != {2}:
            raise ParameterError("Only columns of 0 and 1 can grow into such a network.", "Binarize the schema first.")
        if max_parents < 1 or len(set(columns)) < len(columns):
            raise ParameterError("A network needs different columns and room for a parent.", "Try max_parents=3.")
        indices = [self.schema.index(name) for name in columns]
        search = FamilySearch(self._rows.bits, indices, score, self.relation, max_parents=max_parents, related=related)
        return Growth(self._door, self.schema, search, columns)

    def randomize(
        self,
        questions: Questionnaire,
        *,
        claimed_epsilon: Epsilon | None = None,
        reasons: Mapping[tuple[str, ...], str] = MappingProxyType({}),
    ) -> Reports:
        """Randomized answers: every record reports of itself, before anybody collects (see `responses`).

        Under add_remove nobody may ask; without a finite epsilon only a paper's own method. The
        claim is for each question, with a reason by family.
        """
        self._need_pure("Randomized answers")
        responses.check(questions, self.schema, self._rows.numbered, self.relation)
        entries = responses.entries(questions, claimed_epsilon, reasons)
        if not self._door.unprotected_allowed and any(entry.epsilon_nominal == np.inf for entry in entries):
            raise ParameterError("A randomizer has no finite epsilon.", "Use one that has, or published mode.")
        return self._door.answer(
            "randomize",
            entries,
            lambda: responses.answers(questions, self._rows, self.schema, self._door.noise),
        )

    def unprotected(self, reason: str, *, claimed_epsilon: Epsilon) -> Codes:
        """The raw codes. The bound becomes infinite; only a paper's own, unproved method may ask."""
        return self._door.unprotected("raw rows", reason, claimed_epsilon, self._rows.held)

    def noiseless(self, reason: str, *, claimed_epsilon: Epsilon, random_ties: bool = False) -> PrivateTable:
        """The same table with noiseless answers, on an account of its own: `unprotected`, for a method's own questions.

        With `random_ties`, one of the best candidates is drawn, as by this table's noise for an
        ever larger epsilon.
        """
        noise: Noise = NoNoise()
        if random_ties:
            own = self._door.noise
            unseeded = NumpyNoise(generator(None, 0), discrete=False, seeded=False)
            noise = (own if isinstance(own, NumpyNoise) else unseeded).noiseless()
        ledger = Ledger(self.relation if random_ties else Relation.REPLACE)
        return self._door.unprotected(
            "noiseless answers",
            reason,
            claimed_epsilon,
            lambda: type(self)(self._rows, self.schema, ledger, noise),
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
        """The roots of some trees over random samples of the rows, and what a record's way through one may cost.

        No question; `nodes` has those.

        Parameters
        ----------
        attributes : mapping of int to Attribute
            What trees may ask, by the column's position.
        epsilon : float or Fraction
            What all trees may cost together.
        resample : {"disjoint", "poisson", "full", "bootstrap"}
            Every row in one tree; in each tree with probability `rate`; in all trees; or as many draws with
            replacement as there are rows, which only a source that claims no price for that may ask for.
        plainly_claimed : bool
            Whether the source claims that nodes cost the largest of them under replace as well.
        """
        self._need_pure("Trees")
        way = trees, exact(epsilon), resample, rate, len(self._rows)
        part, budget = nodes.tree_budget(self.ledger, *way, plainly_claimed=plainly_claimed)
        index, classes = self.schema.index(target), self.schema[target].size
        records = Records(self._rows, dict(attributes), index, classes)
        rows = roots(records, self._door.noise, trees, resample, rate)
        return nodes.PrivateNodes(self._door.on(part), rows), budget

    def _need_pure(self, what: str) -> None:
        if self.ledger.delta:
            raise ParameterError(f"{what} are priced in pure epsilon only.", "Use delta=0.")

    def _count(self, families: Sequence[Names]) -> list[Counts]:
        position = {name: j for j, name in enumerate(self.schema.names)}
        return self._rows.tables([[position[name] for name in family] for family in families])

    def _counting(self, entry: Entry, families: Sequence[Names]) -> Entry:
        """The entry with the tables that it is about; unknown columns are refused, before anything is charged."""
        named = [zip(family, self._shape(family), strict=True) for family in families]
        tables = [tuple((self._sources.get(name, name), size) for name, size in table) for table in named]
        return replace(entry, tables=tuple(tables), strata=self._strata)

    def _shape(self, family: Names) -> tuple[int, ...]:
        sizes = self._sizes  # the schema raises, with what to do
        return tuple(sizes[name] if name in sizes else self.schema[name].size for name in family)

    def _sibling(self, rows: Rows, schema: Schema, ledger: Ledger) -> Self:
        made = type(self)(rows, schema, ledger, self._door.noise)
        made._door = self._door.on(ledger)  # with this table's bound on rows: how many a part has is private
        made._sources, made._strata = self._sources, self._strata
        return made

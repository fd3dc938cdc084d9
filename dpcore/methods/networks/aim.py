r"""AIM: in rounds, the table that the model is most wrong about, at a noise that falls as it has to (PVLDB 2022).

Idea      Measure all columns. Then choose, again and again, a column or pair by how far its table is from the model's,
          less what noise alone makes of that; measure it, and refit the model. Where a table told no more than noise
          would, halve the noise of those to come.

Steps, corrected (the only mode: the published proof holds for what is built here); d is the number of columns
  0  The workload: the pairs that someone names, or all, with a table of at most 10,000 cells. Candidates are these
     pairs and their columns, or, without pairs, all columns; a candidate r weighs w_r, the number of columns that it
     shares with all pairs of the workload; all weigh the same if there is none.                       post-processing
  1  A round's share is 1 / 16d of the budget: a tenth of it chooses, the rest measures. A table of every column, each
     for what measures in a round.                                                                           counts
  2  Rounds, with what is left:
     a  If less than two shares are left, this is the last round, and has all of that.                post-processing
     b  Of the candidates that the model grows by nothing for, or to at most 100,000 cells times the spent part of the
        budget, this round's included, an exponential mechanism chooses r by
            w_r (||table - model||_1 - error * cells),
        where error is the expected size of the noise in a cell of what will be measured: sqrt(2 / pi) sigma for
        Gaussian noise, and b for Laplace's.                                                                 choose
     c  Its table is measured; all tables so far are made to agree, and a model of maximal entropy is fitted to them
        (`max_entropy`).                                                                                     counts
     d  If the model's table of r moved by no more than error * cells in L1, later noise is half as large, and the
        exponents of later choices are twice as large: the share is doubled (of rho: taken four times).
                                                                                                     post-processing
  3  Rows along the junction tree.                                                                   post-processing

Privacy
  Public    the schema, and the workload; n under replace.
  1, 2c     each table has L1 sensitivity 1 (add_remove) or 2 (replace); sequential.
  2b        the model, errors and weights are public or made of answers that are fixed by then, so one person moves a
            score by w_r times what the table moves. Scores are worked out as half of that over the largest weight:
            ½ or 1 at most (`DistanceFromMargins`). One mechanism a round, sequential.
  2a, 2d    which share comes next follows from earlier answers. Their sum is the budget, whatever they are: no share is
            above what is left, and the last round takes all of it (for epsilon: Rogers, Roth, Ullman and Vadhan 2016;
            for rho: Feldman and Zrnic 2021).
  Sum       epsilon; with a delta, all that is said here of epsilon holds of rho, and the tables' L2 sensitivity is 1 or
            the root of 2.

As published, and not
  As published with a delta: the paper counts rho (zCDP) under add_remove, with Gaussian noise. In pure epsilon the same
  rules divide epsilon. The paper's workloads are any sets of columns, here pairs; its model has up to 80 MB (10
  million cells) and is fitted by least squares over all distributions (Private-PGM), here by projections. The limit of
  10,000 cells is that of the authors' program.

Reference  McKenna, Mullins, Sheldon and Miklau: AIM: An adaptive and iterative mechanism for differentially private
synthetic data, PVLDB 15(11), 2022.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from fractions import Fraction
from itertools import combinations

import numpy as np

from dpcore.accounting.currency import Amount
from dpcore.accounting.relation import exact
from dpcore.arguments import Progress
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.scores import DistanceFromMargins
from dpcore.methods.base import public_total, with_delta
from dpcore.methods.measurement import Measurement, clique
from dpcore.methods.networks.measured import MeasuredTables
from dpcore.methods.parameters import Control, pairs
from dpcore.methods.presets import Preset
from dpcore.postprocess.junction_tree import Edge, Scope, cells_of, cells_with
from dpcore.postprocess.max_entropy import NoisyTables

ROUNDS = 16  # per column, with the noise of the first ones
CHOOSING = Fraction(1, 10)  # of a round's share
MOST_TABLE = 10_000  # cells of a table that is asked for
MOST_CELLS = 100_000  # of the model, when all is spent
MORE = -0.15  # rounds by the distance that noise makes of a pair's table: read off runs
MOST_ERROR = 1e12  # of noise, where epsilon is all but nothing
SWEEPS, LAST_SWEEPS = 2, 30
MEASURED = phrase("Tables measured: {n:d}")
MATTER = phrase(
    "These marginals shall be close; other pairs follow from them. Choose without looking at rows: names are public."
)


class AIM(MeasuredTables):
    """Synthetic rows from marginals, measured in rounds where the model is most wrong.

    McKenna et al. 2022. See the module for steps and privacy.
    """

    reference = phrase("McKenna et al. 2022")
    best_for = "published baseline: marginals in rounds"
    presets = (Preset("AIM: rounds of tables, as published"),)
    seconds = (1.1, 1.1)
    controls = (Control("workload", "Pairs that matter (empty: all)", help=MATTER),)
    delta: float = with_delta()
    workload: Sequence[tuple[str, str]] | None = pairs(
        default=None, about="The pairs of columns whose marginals shall be close; by default all."
    )

    def _check(self, schema: Schema) -> None:
        for pair in self.workload or ():
            if cells_of(tuple(map(schema.index, pair)), schema.sizes) > MOST_TABLE:
                raise ParameterError(f"The 'workload' has a pair of more than {MOST_TABLE:,} cells.", "Name others.")

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema, budget = table.schema, self._budget(table)
        progress(0.0, phrase("Measuring columns"))
        named = combinations(schema.names, 2) if self.workload is None else self.workload
        positions = [(schema.index(a), schema.index(b)) for a, b in named]
        rounds = _Rounds(table, budget, {(min(a, b), max(a, b)) for a, b in positions})
        while rounds.left:
            progress(0.9 * rounds.used, MEASURED.format(n=len(rounds.bought)))
            rounds.one_more()
        rounds.measured.fit(LAST_SWEEPS)
        pairs = [scope for scope, _ in rounds.bought[len(schema) :]]
        self._keep_measured(schema, rounds.measured, list(map(np.arange, schema.sizes)), pairs, rounds.bought)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        sizes, budget, d = table.schema.sizes, self._budget(table), len(table.schema)
        each = budget * (1 - CHOOSING) / (ROUNDS * d)
        left = (budget - each * d) * (1 - CHOOSING) / d  # if there are as many rounds as columns
        noise = table.cell_error(left) * np.mean(sizes) ** 2 / (2 * (table.public_rows or 1))
        # as the share is doubled until then
        left /= exact(min(max(float(noise) ** MORE, 1.0), float(ROUNDS)))
        pairs = [(j, (j + 1) % d) for j in range(d if d > 2 else d - 1)]
        columns = [clique(sizes, [j], table.cell_variance(each)) for j in range(d)]
        return columns + [clique(sizes, pair, table.cell_variance(left)) for pair in pairs]


class _Rounds:
    """Steps 1 and 2: what was measured, and what is left of the budget."""

    def __init__(self, table: PrivateTable, budget: Amount, workload: Set[Edge]) -> None:
        schema = table.schema
        self.table, self.budget = table, budget
        self.share = budget / (ROUNDS * len(schema))
        each = self.share - self.share * CHOOSING
        self.left = budget - each * len(schema)
        columns: list[Scope] = [(j,) for j in range(len(schema))]
        self.pairs = [pair for pair in sorted(workload) if cells_of(pair, schema.sizes) <= MOST_TABLE]
        self.weights = weights(len(schema), self.pairs)
        self.scopes = [clique for clique in (*columns, *self.pairs) if self.weights[clique]]
        self.measured = NoisyTables(public_total(table))
        noisy = table.counts([[name] for name in schema.names], epsilon=each * len(schema))
        for scope, cells in zip(columns, noisy, strict=True):
            self.measured.add(scope, cells, table.cell_variance(each))
        self.measured.fit(SWEEPS)
        self.bought = [(scope, float(each)) for scope in columns]

    @property
    def used(self) -> float:
        """What share of the budget was spent."""
        return 1 - float(self.left / self.budget) if self.budget else 1.0

    def one_more(self) -> None:
        """Choose a table and measure it; with all that is left if that does not pay for two more rounds."""
        table, names, currency = self.table, self.table.schema.names, self.table.ledger.currency
        share = self.left if self.left < 2 * self.share else self.share
        choosing, self.left = share * CHOOSING, self.left - share
        error = min(table.cell_error(share - choosing), MOST_ERROR)
        scopes = list(self._candidates())
        expected = self.measured.expected(scopes)
        families = [tuple(names[j] for j in scope) for scope in scopes]
        score = DistanceFromMargins(expected, error / 2, factors=[self.weights[scope] for scope in scopes])
        place = int(table.choose(score, families, epsilon=choosing))
        noisy = table.counts([families[place]], epsilon=share - choosing)[0]
        self.measured.add(scopes[place], noisy, table.cell_variance(share - choosing))
        self.measured.fit(SWEEPS)
        self.bought.append((scopes[place], float(share)))
        moved = np.abs(self.measured.counts(scopes[place]) - expected[place]).sum()
        if moved <= error * noisy.size:
            self.share *= currency.rows(2)  # half the noise, and twice the exponent

    def _candidates(self) -> Iterator[Scope]:
        """Tables for which the model has room: in proportion to what was spent, or within it as it is."""
        model = self.measured.model
        cells = cells_with(self.pairs, model.cliques, model.parents, model.sizes)
        now = sum(belief.size for belief in model.beliefs)
        for scope in self.scopes:
            if len(scope) == 1 or cells[scope] <= max(now, MOST_CELLS * self.used):
                yield scope


def weights(columns: int, pairs: Sequence[Edge]) -> dict[Scope, float]:
    """For each column and pair the columns that it shares with all pairs, relative to the most."""
    degrees = [sum(j in pair for pair in pairs) for j in range(columns)]
    most = max((degrees[a] + degrees[b] for a, b in pairs), default=1)
    found: dict[Scope, float] = {(j,): degree / most if pairs else 1.0 for j, degree in enumerate(degrees)}
    return found | {(a, b): (degrees[a] + degrees[b]) / most for a, b in pairs}

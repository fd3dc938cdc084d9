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

Reference  McKenna, Mullins, Sheldon and Miklau: AIM: An adaptive and iterative mechanism for
differentially private synthetic data, PVLDB 15(11), 2022.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from dpcore.accounting.relation import exact
from dpcore.arguments import Progress
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.scores import DistanceFromMarginals
from dpcore.methods.base import MOST_DELTA, Measurement, clique, public_total
from dpcore.methods.networks.base import MOST_SCALE, PAGES
from dpcore.methods.networks.measured import MeasuredTables, column_names
from dpcore.methods.parameters import controls_of, number, pairs, presets_of
from dpcore.postprocess.junction_tree import Clique, Edge, cells_of, cells_with
from dpcore.postprocess.max_entropy import MaximalEntropy, NoisyTables

ROUNDS = 16  # per column, with the noise of the first ones
CHOOSING = Fraction(1, 10)  # of a round's share
MOST_TABLE = 10_000  # cells of a table that is asked for
MOST_CELLS = 100_000  # of the model, when all is spent
MORE = -0.15  # rounds by the distance that noise makes of a pair's table: read off runs
SWEEPS, LAST_SWEEPS = 2, 30
MEASURED = phrase("Tables measured: {n:d}")


class AIM(MeasuredTables):
    """Synthetic rows from marginals, measured in rounds where the model is most wrong.

    McKenna et al. 2022. See the module for steps and privacy.

    Parameters
    ----------
    workload
        The pairs of columns whose marginals shall be close; by default all.
    """

    reference = phrase("McKenna et al. 2022")
    best_for = "published baseline: marginals in rounds"
    presets = presets_of(PAGES, "AIM")
    seconds = (1.1, 1.1)
    controls = controls_of(PAGES["AIM"])
    delta: float = number(default=0.0, most=MOST_DELTA)
    workload: Sequence[tuple[str, str]] | None = pairs(default=None)

    def _check(self, schema: Schema) -> None:
        for pair in self.workload or ():
            if cells_of(tuple(map(schema.index, pair)), schema.sizes) > MOST_TABLE:
                raise ParameterError(f"The 'workload' has a pair of more than {MOST_TABLE:,} cells.", "Name others.")

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema, budget, d = table.schema, self._budget(table), len(table.schema)
        progress(0.0, phrase("Measuring columns"))
        pairs, columns = self._pairs(schema), [(j,) for j in range(d)]
        weight = weights(d, pairs)
        share = budget / (ROUNDS * d)
        each = share - share * CHOOSING
        measured, left = NoisyTables(public_total(table)), budget - each * d
        noisy = table.counts(column_names(schema, columns), epsilon=each * d)
        for scope, cells in zip(columns, noisy, strict=True):
            measured.add(scope, cells, table.cell_variance(each))
        measured.fit(SWEEPS)
        losses: list[tuple[Clique, float]] = [(scope, float(each)) for scope in columns]
        while left:
            progress(0.9 * (1 - float(left / budget)), MEASURED.format(n=len(losses)))
            now = left if left < 2 * share else share  # all that is left, if that does not pay for two more rounds
            choosing, left = now * CHOOSING, left - now
            measuring = now - choosing
            error = min(table.cell_error(measuring), MOST_SCALE)
            cliques = [one for one in with_room(measured.model, pairs, 1 - float(left / budget)) if weight[one]]
            expected = measured.expected(cliques)
            families = column_names(schema, cliques)
            score = DistanceFromMarginals(expected, error / 2, factors=[weight[scope] for scope in cliques])
            chosen = int(table.choose(score, families, epsilon=choosing))
            cells = table.counts([families[chosen]], epsilon=measuring)[0]
            measured.add(cliques[chosen], cells, table.cell_variance(measuring))
            measured.fit(SWEEPS)
            losses.append((cliques[chosen], float(now)))
            change = np.abs(measured.counts(cliques[chosen]) - expected[chosen]).sum()
            if change <= error * cells.size:
                share *= table.ledger.measure.group_factor(2)  # half the noise, and twice the exponent
        measured.fit(LAST_SWEEPS)
        groups, chosen_later = list(map(np.arange, schema.sizes)), [scope for scope, _ in losses[d:]]
        self._keep(schema, measured.model, measured.rows, groups, chosen_later, losses)

    def _pairs(self, schema: Schema) -> list[Edge]:
        """The workload, by position, without the pairs whose table is too large."""
        named = combinations(schema.names, 2) if self.workload is None else self.workload
        pairs = {tuple(sorted((schema.index(a), schema.index(b)))) for a, b in named}
        return [(a, b) for a, b in sorted(pairs) if cells_of((a, b), schema.sizes) <= MOST_TABLE]

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


def with_room(model: MaximalEntropy, pairs: Sequence[Edge], used: float) -> Iterator[Clique]:
    """Columns, and pairs for which the model has room: in proportion to what was spent, or within it as it is."""
    yield from ((j,) for j in range(len(model.sizes)))
    cells = cells_with(pairs, model.cliques, model.parents, model.sizes)
    now = sum(belief.size for belief in model.beliefs)
    yield from (pair for pair in pairs if cells[pair] <= max(now, MOST_CELLS * used))


def weights(columns: int, pairs: Sequence[Edge]) -> dict[Clique, float]:
    """For each column and pair the columns that it shares with all pairs, relative to the most."""
    degrees = [sum(j in pair for pair in pairs) for j in range(columns)]
    most = max((degrees[a] + degrees[b] for a, b in pairs), default=1)
    found: dict[Clique, float] = {(j,): degree / most if pairs else 1.0 for j, degree in enumerate(degrees)}
    return found | {(a, b): (degrees[a] + degrees[b]) / most for a, b in pairs}

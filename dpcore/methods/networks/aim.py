r"""AIM: in rounds, measure the marginal that the model gets most wrong, with falling noise.

Idea      Measure all columns. Then, in each round, choose a column or pair by how far its marginal
          is from the model's, less the distance that noise alone makes. Measure the marginal, and
          refit the model. If a marginal changed the model no more than noise would, halve the noise
          of later rounds.

Steps, corrected (the only mode: the published proof holds for this implementation); d columns
  0  The workload: the pairs of the parameter, or all pairs, with at most 10,000 cells. Candidates
     are these pairs and their columns; without any pair, all columns. A candidate r has the weight
     w_r: the number of columns that it shares with the pairs of the workload. Without a workload
     all weights are equal.                                                          post-processing
  1  A round spends a share of 1 / 16d of the budget: a tenth of the share chooses, the rest
     measures. The marginal of every column, each for the measuring part of a share.          counts
  2  Rounds, with the rest of the budget:
     a  If less than two shares are left, this is the last round, and spends all that is left.
                                                                                     post-processing
     b  A candidate is open if it does not enlarge the model, or if the model stays within 100,000
        cells times the spent part of the budget (this round's included). An exponential mechanism
        chooses an open candidate r by the score
            w_r (||marginal - model||_1 - error * cells),
        where error is the expected absolute noise in a cell of the coming measurement:
        sqrt(2 / pi) sigma for Gaussian, b for Laplace noise.                                 choose
     c  The marginal of r is measured. All marginals so far are made consistent, and a model of
        maximum entropy is fitted to them (`max_entropy`).                                    counts
     d  If the model's marginal of r changed by at most error * cells in L1, later noise is half as
        large and the exponents of later choices are twice as large: the share is doubled (of rho:
        multiplied by four).                                                         post-processing
  3  Rows along the junction tree.                                                   post-processing

Privacy
  Public    The schema, and the workload; n under replace.
  1, 2c     Each marginal has L1 sensitivity 1 (add_remove) or 2 (replace); sequential composition.
  2b        The model, errors and weights are public or made from earlier answers, so a score's
            sensitivity is w_r times that of the marginal. The code computes half the score over
            the largest weight: sensitivity 1/2 or at most 1 (`DistanceFromMarginals`). One
            mechanism per round, sequential composition.
  2a, 2d    The next share depends on earlier answers only. The sum of shares is the budget, because
            no share exceeds what is left and the last round spends the rest (for epsilon: Rogers,
            Roth, Ullman and Vadhan 2016; for rho: Feldman and Zrnic 2021).
  Sum       Epsilon. With a delta, the same holds of rho, and the marginals' L2 sensitivity is 1 or
            the root of 2.

As published, and not
  As published with a delta: the paper counts rho (zCDP) under add_remove, with Gaussian noise. In
  pure epsilon the same rules divide epsilon. The paper's workloads are any sets of columns, here
  pairs. Its model has up to 80 MB (10 million cells) and is fitted by least squares over all
  distributions (Private-PGM), here by projections. The limit of 10,000 cells is that of the
  authors' program.

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
from dpcore.methods.base import MOST_DELTA, Measurement, clique_measurement, public_total
from dpcore.methods.networks.base import MOST_SCALE, PAGES
from dpcore.methods.networks.clique_synthesizers import MaxEntropySynthesizer, column_names
from dpcore.methods.parameters import controls_of, number, pairs, presets_of
from dpcore.postprocess.junction_tree import Clique, Edge, cells_of, cells_with
from dpcore.postprocess.max_entropy import MaximalEntropy, NoisyTables

ROUNDS = 16  # per column, if the noise never falls
CHOOSING = Fraction(1, 10)  # of a round's share
MOST_TABLE = 10_000  # cells of a measured marginal
MOST_CELLS = 100_000  # of the model, when the whole budget is spent
MORE = -0.15  # power of a pair's noise in the number of rounds: fitted to runs
SWEEPS, LAST_SWEEPS = 2, 30
MEASURED = phrase("Marginals measured: {n:d}")


class AIM(MaxEntropySynthesizer):
    """Synthetic rows from marginals, measured in rounds where the model is most wrong.

    McKenna et al. 2022. See the module for steps and privacy.

    Parameters
    ----------
    workload
        The pairs of columns whose marginals should be accurate; by default all.
    """

    reference = phrase("McKenna et al. 2022")
    best_for = "published baseline: marginals in rounds"
    presets = presets_of(PAGES, "AIM")
    seconds = (1.1, 1.1)
    controls = controls_of(PAGES["AIM"])
    delta: float = number(default=0.0, maximum=MOST_DELTA)
    workload: Sequence[tuple[str, str]] | None = pairs(default=None)

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if a pair of the workload has more than `MOST_TABLE` cells."""
        for pair in self.workload or ():
            if cells_of(tuple(map(schema.index, pair)), schema.sizes) > MOST_TABLE:
                raise ParameterError(f"A pair in 'workload' has more than {MOST_TABLE:,} cells.", "Choose other pairs.")

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Measure all columns, then in rounds the marginal that the model gets most wrong."""
        schema, budget, d = table.schema, self._budget(table), len(table.schema)
        progress(0.0, phrase("Measuring columns"))
        pairs, columns = self._pairs(schema), [(j,) for j in range(d)]
        weight = workload_weights(d, pairs)
        share = budget / (ROUNDS * d)
        each = share - share * CHOOSING
        measured, left = NoisyTables(public_total(table)), budget - each * d
        noisy = table.counts(column_names(schema, columns), epsilon=each * d)
        for clique, cells in zip(columns, noisy, strict=True):
            measured.add(clique, cells, table.cell_variance(each))
        measured.fit(SWEEPS)
        losses: list[tuple[Clique, float]] = [(clique, float(each)) for clique in columns]
        while left:
            progress(0.9 * (1 - float(left / budget)), MEASURED.format(n=len(losses)))
            now = left if left < 2 * share else share  # the last round spends all that is left
            choosing, left = now * CHOOSING, left - now
            measuring = now - choosing
            error = min(table.cell_error(measuring), MOST_SCALE)
            cliques = [one for one in fitting_cliques(measured.model, pairs, 1 - float(left / budget)) if weight[one]]
            expected = measured.expected_counts(cliques)
            families = column_names(schema, cliques)
            score = DistanceFromMarginals(expected, error / 2, factors=[weight[clique] for clique in cliques])
            chosen = int(table.choose(score, families, epsilon=choosing))
            cells = table.counts([families[chosen]], epsilon=measuring)[0]
            measured.add(cliques[chosen], cells, table.cell_variance(measuring))
            measured.fit(SWEEPS)
            losses.append((cliques[chosen], float(now)))
            change = np.abs(measured.counts(cliques[chosen]) - expected[chosen]).sum()
            if change <= error * cells.size:
                share *= table.ledger.measure.group_factor(2)  # half the noise, twice the exponent
        measured.fit(LAST_SWEEPS)
        groups, selected = list(map(np.arange, schema.sizes)), [clique for clique, _ in losses[d:]]
        self._set_model(schema, measured.model, measured.rows, groups, selected, losses)

    def _pairs(self, schema: Schema) -> list[Edge]:
        """Return the workload as pairs of positions, each with at most `MOST_TABLE` cells."""
        named = combinations(schema.names, 2) if self.workload is None else self.workload
        pairs = {tuple(sorted((schema.index(a), schema.index(b)))) for a, b in named}
        return [(a, b) for a, b in sorted(pairs) if cells_of((a, b), schema.sizes) <= MOST_TABLE]

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        """Return the expected marginals: every column, and as many pairs as there are columns."""
        sizes, budget, d = table.schema.sizes, self._budget(table), len(table.schema)
        each = budget * (1 - CHOOSING) / (ROUNDS * d)
        left = (budget - each * d) * (1 - CHOOSING) / d  # a round's, if there are d rounds
        noise = table.cell_error(left) * np.mean(sizes) ** 2 / (2 * (table.public_rows or 1))
        # shares are doubled less often, and stay smaller, where noise is small
        left /= exact(min(max(float(noise) ** MORE, 1.0), float(ROUNDS)))
        pairs = [(j, (j + 1) % d) for j in range(d if d > 2 else d - 1)]
        columns = [clique_measurement(sizes, [j], table.cell_variance(each)) for j in range(d)]
        return columns + [clique_measurement(sizes, pair, table.cell_variance(left)) for pair in pairs]


def fitting_cliques(model: MaximalEntropy, pairs: Sequence[Edge], used: float) -> Iterator[Clique]:
    """Yield all columns, and the pairs for which the model has room, as tuples of positions.

    `used` is the spent part of the budget, in [0, 1]. The model has room for a pair if its cells
    would be at most `MOST_CELLS` times `used`, or if they would not become more.
    """
    yield from ((j,) for j in range(len(model.sizes)))
    cells = cells_with(pairs, model.cliques, model.parents, model.sizes)
    now = sum(belief.size for belief in model.beliefs)
    yield from (pair for pair in pairs if cells[pair] <= max(now, MOST_CELLS * used))


def workload_weights(columns: int, pairs: Sequence[Edge]) -> dict[Clique, float]:
    """Return the weight of each column and pair: how many columns it shares with the workload.

    Weights are divided by the largest weight of a pair. Without pairs all columns have weight 1.
    """
    degrees = [sum(j in pair for pair in pairs) for j in range(columns)]
    most = max((degrees[a] + degrees[b] for a, b in pairs), default=1)
    alone: dict[Clique, float] = {(j,): d / most if pairs else 1.0 for j, d in enumerate(degrees)}
    return alone | {(a, b): (degrees[a] + degrees[b]) / most for a, b in pairs}

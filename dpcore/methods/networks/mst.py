r"""MST: the spanning tree of the pairs of columns that are farthest from independence (Winning the NIST contest, 2021).

Idea      Measure all columns; choose the pairs of a tree over them, each by how far its table is from what the columns
          alone say; measure these pairs; take the distribution of maximal entropy with all of it.

Steps, corrected (the only mode: the published proof holds for what is built here); d is the number of columns
  1  A table of every column, with equal noise, for a third of the budget.                                    counts
  2  In each column, values with a noisy count below 3 standard deviations of the noise become one value, as do those
     beyond the 256 that count most. The model of columns alone is fitted.                             post-processing
  3  d - 1 pairs, for a third, in equal parts. Of the pairs that join two parts of the tree so far (Kruskal), an
     exponential mechanism chooses one: more probable the farther its table is, in L1, from the model of step 2.
                                                                                                              choose
  4  The tables of these pairs, with equal noise, for a third.                                                counts
  5  All tables are made to agree, and a model of maximal entropy is fitted to them (`max_entropy`).   post-processing
  6  Rows along the tree; what became one value is drawn evenly from its values.                       post-processing

Privacy
  Public    the schema; n under replace.
  1, 4      each table has L1 sensitivity 1 (add_remove) or 2 (replace); sequential. Merging is record by record.
  3         the model is made of the answers to step 1, so the score, half an L1 distance, moves by half of what the
            table moves: ½ or 1 (`DistanceFromMargins`). One mechanism per pair, sequential.
  Sum       three thirds of epsilon; with a delta, of rho, and the tables' L2 sensitivity is 1 or the root of 2. With
            one column step 1 has everything.

As published, and not
  As published with a delta: the paper counts rho (zCDP) under add_remove, with Gaussian noise. Pure epsilon is divided
  by the same rule here, with Laplace's noise. That needs more: noise of d tables that share a third grows as d does,
  and in rho as its root.
  The paper estimates by least squares over all distributions (Private-PGM), and has no limit of 256 values; here tables
  are made to agree by projections. n is estimated from all tables there and here, and public under replace.

Reference  McKenna, Miklau and Sheldon: Winning the NIST contest: A scalable and general approach to
differentially private synthetic data, Journal of Privacy and Confidentiality 11(3), 2021.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import sqrt

import numpy as np

from dpcore.accounting.currency import PrivacyLoss
from dpcore.arguments import Floats, Ints, Progress
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.mechanisms.scores import DistanceFromMarginals
from dpcore.methods.base import MOST_DELTA, Measurement, clique, public_total
from dpcore.methods.networks.base import PAGES
from dpcore.methods.networks.measured import MeasuredTables, column_names, in_groups
from dpcore.methods.parameters import number, presets_of
from dpcore.postprocess.junction_tree import Edge, connected_parts
from dpcore.postprocess.max_entropy import LEAST_VARIANCE, NoisyTables

RARE = 3.0  # standard deviations of noise
MOST_VALUES = 256  # of a column, apart: the tables of all pairs are counted
SWEEPS = 30
CHOSEN = phrase("{done:d} of {pairs:d} pairs chosen")


class MST(MeasuredTables):
    """Synthetic rows from a tree of marginals of pairs.

    McKenna et al. 2021. See the module for steps and privacy.
    """

    reference = phrase("McKenna et al. 2021")
    best_for = "published baseline: tree of marginals"
    presets = presets_of(PAGES, "MST")
    seconds = (0.2, 0.2)
    delta: float = number(default=0.0, most=MOST_DELTA)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema, budget = table.schema, self._budget(table)
        edges = len(schema) - 1
        third = budget / 3 if edges else budget
        progress(0.0, phrase("Measuring columns"))
        noisy = table.counts([[name] for name in schema.names], epsilon=third)
        variance = table.cell_variance(third / len(schema))
        groups = [frequent_split(cells, variance) for cells in noisy]
        measured = NoisyTables(public_total(table))
        for j, (cells, own) in enumerate(zip(noisy, groups, strict=True)):
            measured.add((j,), np.bincount(own, cells).astype(float), variance * np.bincount(own).astype(float))
        measured.fit(0)
        recoded = in_groups(table, dict(enumerate(groups)))
        tree = self._tree(recoded, measured, third / max(edges, 1), progress)
        progress(0.8, phrase("Measuring tables"))
        if tree:
            noisy = recoded.counts(column_names(schema, tree), epsilon=third)
            for pair, cells in zip(tree, noisy, strict=True):
                measured.add(pair, cells, table.cell_variance(third / edges))
        measured.fit(SWEEPS)
        alone, paired = float(third) / len(schema), 2 * float(third) / max(edges, 1)
        losses = [*(((j,), alone) for j in range(len(schema))), *((pair, paired) for pair in tree)]
        self._keep(schema, measured.model, measured.rows, groups, tree, losses)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        sizes, pairs = table.schema.sizes, list(pairwise(range(len(table.schema))))
        third = self._budget(table) / (3 if pairs else 1)
        alone = table.cell_variance(third / len(sizes))
        paired = table.cell_variance(third / max(len(pairs), 1))
        frequent = (table.public_rows or 0) / (RARE * sqrt(max(paired, LEAST_VARIANCE)))
        return [
            *(clique(sizes, [j], alone, merges=True) for j in range(len(sizes))),
            *(clique(sizes, pair, paired, frequent, for_columns=False) for pair in pairs),
        ]

    def _tree(self, table: PrivateTable, measured: NoisyTables, share: PrivacyLoss, progress: Progress) -> list[Edge]:
        """Pairs that join all columns, each chosen among those that join two parts (Kruskal's algorithm)."""
        columns = range(len(table.schema))
        expected = {pair: measured.counts(pair) for pair in combinations(columns, 2)}
        tree = list[Edge]()
        while len(tree) < len(columns) - 1:
            progress(0.1 + 0.7 * len(tree) / len(columns), CHOSEN.format(done=len(tree), pairs=len(columns) - 1))
            part = connected_parts([*((j,) for j in columns), *tree])
            candidates = [(a, b) for a, b in expected if part[a] is not part[b]]
            score = DistanceFromMarginals([expected[pair] for pair in candidates], 0.0)
            chosen = table.choose(score, column_names(table.schema, candidates), epsilon=share)
            tree.append(candidates[int(chosen)])
        return tree


def frequent_split(noisy: Floats, variance: float) -> Ints:
    """A group for each of so many values that count `RARE` standard deviations of noise, and one for all others."""
    frequent = noisy >= RARE * sqrt(variance)
    frequent[np.argsort(-noisy, kind="stable")[MOST_VALUES:]] = False
    return np.asarray(np.where(frequent, np.cumsum(frequent) - 1, frequent.sum()))

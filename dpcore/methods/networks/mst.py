r"""MST: a spanning tree of the pairs of columns farthest from independence (NIST winner, 2021).

Idea      Measure all columns. Choose pairs that form a tree, each by how far its marginal is from
          what the columns alone predict. Measure these pairs. Fit the distribution of maximum
          entropy to all marginals.

Steps, corrected (the only mode: the published proof holds for this implementation); d columns
  1  A marginal of every column, with equal noise, for a third of the budget.                 counts
  2  In each column, values whose noisy count is below 3 standard deviations of the noise are merged
     into one value, and so are those beyond the 256 most frequent ones. The model of independent
     columns is fitted.                                                              post-processing
  3  d - 1 pairs, for a third of the budget, in equal parts. Candidates are the pairs that join two
     parts of the tree so far (Kruskal). An exponential mechanism chooses one; its score is the L1
     distance of the pair's marginal from the model of step 2.                                choose
  4  The marginals of these pairs, with equal noise, for a third of the budget.               counts
  5  All marginals are made consistent, and a model of maximum entropy is fitted to them
     (`max_entropy`).                                                                post-processing
  6  Rows along the tree. A merged value is sampled evenly from its values.          post-processing

Privacy
  Public    The schema; n under replace.
  1, 4      Each marginal has L1 sensitivity 1 (add_remove) or 2 (replace); sequential composition.
            Merging is row by row.
  3         The model is made from the answers to step 1. The score is half an L1 distance, so its
            sensitivity is half that of the marginal: 1/2 or 1 (`DistanceFromMarginals`). One
            mechanism per pair, sequential composition.
  Sum       Three thirds of epsilon. With a delta, the same holds of rho, and the marginals' L2
            sensitivity is 1 or the root of 2. With one column, step 1 spends the whole budget.

As published, and not
  As published with a delta: the paper counts rho (zCDP) under add_remove, with Gaussian noise. Pure
  epsilon is divided by the same rule here, with Laplace noise. Pure epsilon needs more budget: the
  noise of d marginals that share a third grows like d, and with rho like the root of d.
  The paper estimates by least squares over all distributions (Private-PGM), and has no limit of 256
  values. Here marginals are made consistent by projections. n is estimated from all marginals there
  and here, and is public under replace.

Reference  McKenna, Miklau and Sheldon: Winning the NIST contest: A scalable and general approach to
differentially private synthetic data, Journal of Privacy and Confidentiality 11(3), 2021.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import sqrt

import numpy as np

from dpcore.accounting.privacy_measure import PrivacyLoss
from dpcore.arguments import Floats, Ints, Progress
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.mechanisms.scores import DistanceFromMarginals
from dpcore.methods.base import MOST_DELTA, Measurement, clique_measurement, public_total
from dpcore.methods.networks.base import PAGES
from dpcore.methods.networks.clique_synthesizers import MaxEntropySynthesizer, column_names, recode_groups
from dpcore.methods.parameters import number, presets_of
from dpcore.postprocess.junction_tree import Edge, connected_parts
from dpcore.postprocess.max_entropy import LEAST_VARIANCE, NoisyTables

RARE = 3.0  # standard deviations of noise
MOST_VALUES = 256  # unmerged values of a column, because the marginals of all pairs are counted
SWEEPS = 30
CHOSEN = phrase("{done:d} of {pairs:d} pairs of columns chosen")


class MST(MaxEntropySynthesizer):
    """Synthetic rows from a tree of marginals of pairs.

    McKenna et al. 2021. See the module for steps and privacy.
    """

    reference = phrase("McKenna et al. 2021")
    best_for = "published baseline: tree of marginals"
    presets = presets_of(PAGES, "MST")
    seconds = (0.2, 0.2)
    delta: float = number(default=0.0, maximum=MOST_DELTA)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Measure all columns, choose and measure a spanning tree of pairs, and fit a model."""
        schema, budget = table.schema, self._budget(table)
        edges = len(schema) - 1
        third = budget / 3 if edges else budget
        progress(0.0, phrase("Measuring columns"))
        noisy = table.counts([[name] for name in schema.names], epsilon=third)
        variance = table.cell_variance(third / len(schema))
        groups = [group_frequent_values(cells, variance) for cells in noisy]
        measured = NoisyTables(public_total(table))
        for j, (cells, own) in enumerate(zip(noisy, groups, strict=True)):
            measured.add((j,), np.bincount(own, cells).astype(float), variance * np.bincount(own).astype(float))
        measured.fit(0)
        recoded = recode_groups(table, dict(enumerate(groups)))
        tree = self._grow_tree(recoded, measured, third / max(edges, 1), progress)
        progress(0.8, phrase("Measuring marginals"))
        if tree:
            noisy = recoded.counts(column_names(schema, tree), epsilon=third)
            for pair, cells in zip(tree, noisy, strict=True):
                measured.add(pair, cells, table.cell_variance(third / edges))
        measured.fit(SWEEPS)
        alone, paired = float(third) / len(schema), 2 * float(third) / max(edges, 1)
        losses = [*(((j,), alone) for j in range(len(schema))), *((pair, paired) for pair in tree)]
        self._set_model(schema, measured.model, measured.rows, groups, tree, losses)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        """Return the marginals of all columns, and of some d - 1 pairs in place of the tree's."""
        sizes, pairs = table.schema.sizes, list(pairwise(range(len(table.schema))))
        third = self._budget(table) / (3 if pairs else 1)
        alone = table.cell_variance(third / len(sizes))
        paired = table.cell_variance(third / max(len(pairs), 1))
        frequent = (table.public_rows or 0) / (RARE * sqrt(max(paired, LEAST_VARIANCE)))
        return [
            *(clique_measurement(sizes, [j], alone, merges=True) for j in range(len(sizes))),
            *(clique_measurement(sizes, pair, paired, frequent, for_columns=False) for pair in pairs),
        ]

    def _grow_tree(self, table: PrivateTable, known: NoisyTables, share: PrivacyLoss, progress: Progress) -> list[Edge]:
        """Return pairs that join all columns; each is chosen at a loss of `share`.

        `known` has the measured single columns, which predict the counts of every pair. Candidates
        are the pairs that join two separate parts of the tree (Kruskal's algorithm).
        """
        columns = range(len(table.schema))
        expected = {pair: known.counts(pair) for pair in combinations(columns, 2)}
        tree = list[Edge]()
        while len(tree) < len(columns) - 1:
            progress(0.1 + 0.7 * len(tree) / len(columns), CHOSEN.format(done=len(tree), pairs=len(columns) - 1))
            part = connected_parts([*((j,) for j in columns), *tree])
            candidates = [(a, b) for a, b in expected if part[a] is not part[b]]
            score = DistanceFromMarginals([expected[pair] for pair in candidates], 0.0)
            chosen = table.choose(score, column_names(table.schema, candidates), epsilon=share)
            tree.append(candidates[int(chosen)])
        return tree


def group_frequent_values(noisy: Floats, variance: float) -> Ints:
    """Return a merged value for each value: frequent values stay single, all others become one.

    Frequent values count at least `RARE` standard deviations of noise, and are among the
    `MOST_VALUES` largest. `noisy` has the counts, whose noise has the given variance. It and the
    result have shape (values,).
    """
    frequent = noisy >= RARE * sqrt(variance)
    frequent[np.argsort(-noisy, kind="stable")[MOST_VALUES:]] = False
    return np.asarray(np.where(frequent, np.cumsum(frequent) - 1, frequent.sum()))

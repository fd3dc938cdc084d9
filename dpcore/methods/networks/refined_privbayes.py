r"""PrivBayes refined: a tree over merged values, with the class in each family (our own method).

Idea      Spend most of epsilon on the marginal of every column with the class. Later steps reuse
          these marginals: rare values are merged, pairs are scored against them, and the pairs'
          marginals are fitted to them.

Steps, corrected (the only mode); C is the class column, if there is one
  1  The marginals (X, C) of all columns X, for 85% of epsilon, in proportion to the square root of
     their cells. Then class totals, and marginals moved to the nearest non-negative ones with these
     totals.                                                                                  counts
  2  Coarse columns: values with too few counts for the noise of step 4, or with less than a
     hundredth of the rows, are merged (neighbors in ordered columns). A column with only one merged
     value depends on the class alone.                                               post-processing
  3  A tree over the other columns, one edge after the other. An exponential mechanism chooses a
     child outside and a parent inside the tree. The score is the distance of their marginal from
     the product of the released marginals, less a public penalty per cell. 3% of epsilon.    choose
  4  The marginals (child, parent, C) of the tree's edges on coarse columns, for the rest of
     epsilon.                                                                                 counts
  5  Each is fitted to the marginals that step 1 released.                           post-processing
  6  Rows: C, then coarse columns along the tree, then single values by step 1's marginals.
                                                                                     post-processing

Privacy
  Public    The schema and the target; n under replace. Under add_remove n is the sum of the class
            totals.
  1, 4      Each marginal has L1 sensitivity 1 (add_remove) or 2 (replace); sequential composition.
            Coarse columns are computed row by row, by rules from released marginals only.
  3         The released marginals are fixed by then, so the score's sensitivity is half that of the
            marginal: 1/2 or 1 (`DistanceFromMarginals`). One mechanism per edge, sequential
            composition.
  Sum       .85 + .03 + .12 of epsilon. Without any edge, the epsilon of the edges measures step 1's
            marginals again. With a delta, the same holds of rho; the constants were not chosen for
            rho.

Where it comes from   The network and its marginals: PrivBayes. Single columns before pairs: MST and
          AIM. The penalty: AIM. Merging of rare values: MST. All constants were chosen on UCI Adult
          at epsilon 0.1 and 1.

Reference  Zhang et al.: PrivBayes, ACM TODS 42(4), 2017. McKenna, Miklau and Sheldon: Winning the
NIST contest, Journal of Privacy and Confidentiality 11(3), 2021. McKenna et al.: AIM, PVLDB 15(11),
2022. Friedman, Geiger and Goldszmidt: Bayesian network classifiers, Machine Learning 29, 1997 (a
tree with the class in every family).
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from dpcore.accounting.privacy_measure import PrivacyLoss
from dpcore.accounting.relation import shares_of
from dpcore.arguments import Floats, Ints, Progress
from dpcore.domain.column import Codes
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.mechanisms.scores import DistanceFromMarginals
from dpcore.methods.base import MOST_DELTA, Measurement, clique_measurement, public_total
from dpcore.methods.networks.base import MOST_SCALE, PAGES, NetworkSynthesizer
from dpcore.methods.networks.clique_synthesizers import recode_groups
from dpcore.methods.parameters import choice, fitted_field, number, presets_of, text
from dpcore.postprocess.bayes_net import Family, sample_network
from dpcore.postprocess.max_entropy import one_hot
from dpcore.postprocess.simplex import (
    TRACE,
    fit_marginals,
    merge_rare,
    project,
    project_rows,
)

ONE_WAYS, TREE, EDGES = Fraction(85, 100), Fraction(3, 100), Fraction(12, 100)
ENOUGH = 10.0  # least count of a merged value, in noise scales of an edge's marginal
PENALTY = 0.25  # noise scales per cell: raw noise makes a half, and fitting removes some of it
MOST_GROUPS = 100  # merged values of a column, about
MOST_CLASSES = 10  # of a target that is part of every marginal


class RefinedPrivBayes(NetworkSynthesizer):
    """Synthetic rows from a tree over merged values, with the class in every family.

    After Zhang et al. 2017. See the module for steps and privacy.

    Parameters
    ----------
    mode
        Only 'corrected'.
    relation
        Which data sets are neighbors.
    target
        The class column; by default the schema's, if it is categorical with at most 10 values.

    Attributes
    ----------
    class_totals_ : array of shape (classes,)
        Estimated rows per class; a single number if there is no class.
    marginals_ : list of arrays of shape (values, classes)
        Per column except the class: the released marginal.
    groups_ : list of int arrays of shape (values,)
        Per column except the class: the merged value of each value.
    edges_ : list of (child, parent)
        The tree of columns.
    """

    reference = phrase("dpcore, after Zhang et al. 2017")
    best_for = "synthetic data to train classifiers, fast"
    presets = presets_of(PAGES, "RefinedPrivBayes")
    delta: float = number(default=0.0, maximum=MOST_DELTA)
    mode: str = choice(default="corrected", options=("corrected",))
    relation: str = text(default="add_remove", kind="{'add_remove', 'replace'}")
    target: str | None = text(default=None)
    class_totals_: Floats = fitted_field()
    marginals_: list[Floats] = fitted_field()
    groups_: list[Ints] = fitted_field()
    edges_: list[tuple[str, str]] = fitted_field()

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Measure every column with the class, then a tree of pairs on merged values."""
        schema, total, at = table.schema, self._budget(table), self._class_index(table.schema, MOST_CLASSES)
        self.class_ = schema.names[at] if at >= 0 else ""
        names = [name for name in schema.names if name != self.class_]
        progress(0.0, phrase("Measuring columns"))
        one_ways = [(name, *self._class_family) for name in names] or [self._class_family]
        noisy, losses = self._measure_tables(table, one_ways, total * ONE_WAYS)
        self._set_marginals(table, noisy, names)

        least = max(ENOUGH * self._edge_scale(total, len(names)), self.rows_ / MOST_GROUPS)
        self.groups_ = [
            merge_rare(marginal.sum(axis=1), least, ordered=schema[name].numeric or schema[name].kind == "ordered")
            for name, marginal in zip(names, self.marginals_, strict=True)
        ]
        known = dict(zip(names, self.marginals_, strict=True))
        merged = {name: groups for name, groups in zip(names, self.groups_, strict=True) if groups.max() > 0}
        coarse = {name: one_hot(groups) @ known[name] for name, groups in merged.items()}
        self.edges_, self.edge_tables_, edge_losses = [], list[Floats](), list[float]()
        if len(coarse) > 1:
            progress(0.3, phrase("Choosing pairs of columns"))
            of_class = {at: np.arange(schema.sizes[at])} if self.class_ else {}
            fewer = recode_groups(table, {schema.index(name): groups for name, groups in merged.items()} | of_class)
            penalty = PENALTY * min(self._edge_scale(total, len(coarse)), MOST_SCALE)
            self._choose_tree(fewer, coarse, total * TREE, penalty)
            progress(0.7, phrase("Measuring pairs of columns"))
            families = [(*edge, *self._class_family) for edge in self.edges_]
            noisy, edge_losses = self._measure_tables(fewer, families, total * EDGES)
            self.edge_tables_ = [
                fit_marginals(cells.reshape(*cells.shape[:2], -1), coarse[child], coarse[parent], self.class_totals_)
                for (child, parent), cells in zip(self.edges_, noisy, strict=True)
            ]
        else:  # no edge to measure: the rest measures the same marginals once more
            again, more = self._measure_tables(table, one_ways, total * (TREE + EDGES))
            self._set_marginals(table, self._average_tables(noisy, again), names)
            losses = [first + second for first, second in zip(losses, more, strict=True)]
        self._set_families(names, float(total), losses, edge_losses)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        """Return the marginals of each column with the class, and of some pairs as edges."""
        sizes, total, at = table.schema.sizes, self._budget(table), self._class_index(table.schema, MOST_CLASSES)
        label = [at] if at >= 0 else []
        others = [j for j in range(len(sizes)) if j not in label]
        families = [(j, *label) for j in others] or [tuple(label)]
        make = partial(clique_measurement, sizes)
        shares = shares_of(total * ONE_WAYS, root_cell_counts(sizes, families))
        found = list(map(make, families, map(table.cell_variance, shares)))
        scale = max(self._edge_scale(total, len(others)), 1 / MOST_SCALE)
        groups = min((table.public_rows or 0) / (ENOUGH * scale), MOST_GROUPS)
        variance = table.cell_variance(total * EDGES / max(len(others) - 1, 1))
        edges = [make(edge, variance, groups, for_columns=False) for edge in pairwise(others)]
        classes = sizes[label[0]] if label else 1
        return found + [edge._replace(cells=edge.cells * classes) for edge in edges]

    def _measure_tables(
        self, table: PrivateTable, families: list[tuple[str, ...]], epsilon: PrivacyLoss
    ) -> tuple[list[Floats], list[float]]:
        """Measure the marginals of cliques; return them, and the epsilon charged for each.

        `families` are the cliques, as names of columns, and `epsilon` is for all of them. Shares of
        epsilon are proportional to the root of the number of cells, so that all totals have equal
        variance.
        """
        cliques = [tuple(table.schema.index(name) for name in family) for family in families]
        return self._measure(table, families, epsilon, weights=root_cell_counts(table.schema.sizes, cliques))

    @property
    def _class_family(self) -> Family:
        """The class column as a tuple of one name; empty if there is no class."""
        return (self.class_,) if self.class_ else ()

    def _edge_scale(self, total: PrivacyLoss, columns: int) -> float:
        """Return the noise scale of an edge's marginal, if all edges had equal shares.

        `total` is the privacy loss of the whole fit; a tree over `columns` has one edge less.
        """
        return self._cell_scale(total * EDGES / max(columns - 1, 1))

    def _set_marginals(self, table: PrivateTable, noisy: list[Floats], names: list[str]) -> None:
        """Set `class_totals_`, `rows_` and `marginals_` from noisy marginals with the class.

        `names` are the columns except the class, and `noisy` has the marginal of each with the
        class.
        """
        flat = [cells.reshape(len(cells), -1) if names and self.class_ else cells.reshape(-1, 1) for cells in noisy]
        if names:
            totals = np.mean([cells.sum(axis=0) for cells in flat], axis=0)
        else:  # the class is the only column
            totals, flat = flat[0][:, 0], []
        rows = max(float(public_total(table, totals.sum())), 1.0)
        self.class_totals_ = np.maximum(project(totals, rows), TRACE)
        self.rows_ = float(self.class_totals_.sum())
        self.marginals_ = [project_rows(cells.T, self.class_totals_).T + TRACE for cells in flat]

    def _choose_tree(
        self, merged: PrivateTable, coarse: dict[str, Floats], epsilon: PrivacyLoss, penalty: float
    ) -> None:
        """Choose the edges of the tree, one after the other from the first column on; set `edges_`.

        `merged` is the private table of coarse columns, `coarse` has their released marginals by
        name. A pair's score is reduced by `penalty` per cell. All choices together spend `epsilon`.
        """
        inside, outside = list(coarse)[:1], list(coarse)[1:]
        share = epsilon * Fraction(1, len(outside))
        # all pairs are counted in one pass over the rows
        merged.prefetch([(*edge, *self._class_family) for edge in permutations(coarse, 2)])
        while outside:
            edges = [(child, parent) for parent in inside for child in outside]
            expected = [coarse[child][:, None] * coarse[parent][None] / self.class_totals_ for child, parent in edges]
            score = DistanceFromMarginals(expected, penalty)
            chosen = merged.choose(score, [(*edge, *self._class_family) for edge in edges], epsilon=share)
            self.edges_.append(edges[int(chosen)])
            inside.append(self.edges_[-1][0])
            outside.remove(self.edges_[-1][0])

    def _average_tables(self, first: list[Floats], second: list[Floats]) -> list[Floats]:
        """Return two measurements of the same marginals averaged by inverse variance.

        The first was measured at the share `ONE_WAYS` of the budget, the second at the rest.
        """
        one, other = (self._cell_scale(share) ** 2 for share in (ONE_WAYS, 1 - ONE_WAYS))
        weight = other / (one + other)
        return [weight * a + (1 - weight) * b for a, b in zip(first, second, strict=True)]

    def _set_families(self, names: list[str], total: float, losses: list[float], edge_losses: list[float]) -> None:
        """Set the network's families, with their marginals and losses, in the order of sampling.

        `losses` are those of the marginals of `names`, `edge_losses` those of the edges' marginals,
        and `total` is the loss of the whole fit.
        """
        tables, costs = dict(zip(names, self.marginals_, strict=True)), dict(zip(names, losses, strict=False))
        parents = {child: (parent,) for child, parent in self.edges_}
        tables |= dict(zip(parents, self.edge_tables_, strict=True))
        for child, loss in zip(parents, edge_losses, strict=True):
            costs[child] += loss
        order = [*(name for name in names if name not in parents), *parents]
        self.families_ = [(name, *parents.get(name, ()), *self._class_family) for name in order]
        self.tables_, self.epsilons_ = [tables[name] for name in order], [costs[name] for name in order]
        if self.class_:  # its marginal follows from the others, unless it is the only column
            self.families_.insert(0, self._class_family)
            self.tables_.insert(0, self.class_totals_)
            self.epsilons_.insert(0, 0.0 if names else total)

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Return the codes of `n` rows: the class, then each column's merged and single value."""
        families: list[tuple[Any, ...]] = [(self.class_,)]
        tables = [self.class_totals_]
        names = [name for name in self.schema_.names if name != self.class_]
        known = dict(zip(names, zip(self.marginals_, self.groups_, strict=True), strict=True))
        for (name, *others), table in zip(self.families_, self.tables_, strict=True):
            if name == self.class_:
                continue
            (marginal, groups), above = known[name], [("coarse", other) for other in others if other != self.class_]
            families += [(("coarse", name), *above, self.class_), (name, ("coarse", name), self.class_)]
            tables.append(table if above else one_hot(groups) @ marginal)
            tables.append(one_hot(groups).T[:, :, None] * marginal[:, None])
        order = [family[0] for family in families]
        codes = sample_network(order, families, tables, n, rng)
        return codes[:, [order.index(name) for name in self.schema_.names]]


def root_cell_counts(sizes: Sequence[int], families: list[tuple[int, ...]]) -> list[float]:
    """Return the square root of each marginal's number of cells; families are column positions."""
    return [float(np.sqrt(np.prod([sizes[j] for j in family]))) for family in families]

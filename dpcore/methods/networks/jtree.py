r"""JTree: synthetic data from a junction tree over dependent columns (a comparison of paper 001).

Idea      Find the pairs of columns that depend on each other. Measure small marginals that cover
          those pairs with noise, make the marginals consistent, and sample rows along the junction
          tree that the pairs span.

Steps, as published (mode="published")
  1  The sampling rate beta in {.001, …, 1} with the least 2 Delta_I(beta n) / eps_alpha(beta);
     eps_alpha = ln(e^eps1 - 1 + beta) - ln beta. A sample of beta n rows without replacement.
                                                                                         unprotected
  2  A pair is an edge if I + Lap(b) >= phi^2 (min(|X|, |Y|) - 1) / 2 + rho. I is the mutual
     information in nats, b = 2 Delta_I / eps_alpha, and rho ~ Lap(b) is drawn once for all pairs.
  3  Steps 2 to 5 below, with epsilon2 and no bound on the size of a marginal but the computer's. If
     all marginals together would have more than `MOST_CELLS` cells, the edges that exceed their
     threshold by the least are left out.                                                     counts

Steps, corrected (mode="corrected")
  0  Under add_remove, without `max_cells`: the noisy number of rows, for the bound on the size of
     marginals.                                                                               counts
  1  `edges` pairs without replacement, each by an exponential mechanism on R (or mutual
     information). Candidates are the pairs that are in no common clique yet, and whose clique would
     stay within the bound. Choices end when no candidate is left.                            choose
  2  Triangulation by least fill-in, and its maximal cliques.                        post-processing
  3  Cliques are merged into m clusters while that lowers m^2 sum |dom(cluster)|, within the bound.
                                                                                     post-processing
  4  A noisy marginal of every cluster.                                                       counts
  5  The marginals are made consistent, without negative cells (`max_entropy`). A model of maximum
     entropy is fitted to the cliques' marginals, which follow from those of the clusters. Rows by
     systematic sampling.                                                            post-processing

Privacy
  Public    The schema, every parameter, and n under replace. Later steps use answers only: the
            candidate pairs depend on the pairs chosen before and on public sizes.
  Step 0    Sensitivity 1, for `COUNT_SHARE` of epsilon1.
  Step 1    c choices, at equal parts of the rest of epsilon1 = structure_share * epsilon. The
            sensitivity is the score's.
  Step 4    One marginal has L1 sensitivity 1 (add_remove) or 2 (replace). So m marginals get noise
            of scale m / left or 2 m / left, where `left` is epsilon less what was spent. Sequential
            composition: epsilon, exactly, also if the choices ended early.
  Bound     A marginal is useful if its mean cell is at least `USEFULNESS` times the noise that d
            marginals would get: max_cells = n epsilon2 / (d * L1 sensitivity * USEFULNESS), with
            the public or the noisy n.
  Paper     No finite epsilon is proved. The ledger's bound is infinite.

What the paper claims, and where it is wrong
  It claims epsilon1 for step 2, as one comparison of noisy values: a sparse-vector technique
  without a cutoff. But one person may change any number of these answers, and sharing rho does not
  replace the noise that each answer needs. Take 20 rows, two blocks of 3 equal bits, and one row
  that moves from one block to the other. Then "no pair of the first block, all pairs of the second"
  has a loss of 2.36 at a claimed 1; with blocks of 10 pairs 8.36. Steps 3 to 5 are sound. Without a
  bound on the size of marginals, noisy edges at a small epsilon join most columns in one clique.
  Which edges are left out for lack of memory follows from noisy values and public sizes alone, so
  that costs no privacy.

Reference  R. Chen, Q. Xiao, Y. Zhang, J. Xu: "Differentially Private High-Dimensional Data
Publication via Sampling-Based Inference", KDD 2015. The flaw of such comparisons: M. Lyu, D. Su, N.
Li: "Understanding the Sparse Vector Technique for Differential Privacy", VLDB 2017.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from dpcore.accounting.privacy_measure import PrivacyLoss
from dpcore.accounting.relation import Relation, exact
from dpcore.arguments import Floats, Progress
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import generator
from dpcore.mechanisms.scores import MutualInformation
from dpcore.methods.base import Measurement, clique_measurement, count_rows, greedy_clique, public_total
from dpcore.methods.networks.base import PAGES, REASONS, SCORES
from dpcore.methods.networks.clique_synthesizers import CliqueSynthesizer, column_names
from dpcore.methods.parameters import choice, controls_of, fitted_field, number, presets_of, text, whole
from dpcore.postprocess import junction_tree
from dpcore.postprocess.junction_tree import Clique, Edge
from dpcore.postprocess.max_entropy import NoisyTables
from dpcore.rows import joint_counts

CHOSEN = phrase("{edge:d} of {picks:d} edges of the graph chosen")
USEFULNESS = 4
SWEEPS = 30
COUNT_SHARE = Fraction(1, 100)
# of all marginals together: a fit takes some seconds, and no data set of people fills them
MOST_CELLS = 2**20


class JTree(CliqueSynthesizer):
    """Synthetic rows from a junction tree.

    R. Chen et al. 2015: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    relation
        Which data sets are neighbors. As published, replace only.
    structure_share
        epsilon1 / epsilon: the share of epsilon that finds the edges.
    threshold
        As published: phi, the least Cramér's V of an edge.
    score
        Corrected mode: the score of a pair. Under add_remove MI needs the schema's `max_rows`.
    edges
        Corrected mode: number of pairs to choose; by default the number of columns less 1.
    max_cells
        Corrected mode: the most cells of a marginal of two columns or more; by default from epsilon
        and n.

    Attributes
    ----------
    edges_ : list of pairs of column names
        The chosen pairs.
    max_cells_ : int
        The bound on the cells of a marginal that was used.
    clusters_ : list of tuples of column names
        The cliques whose marginals were measured.
    tables_ : list of arrays
        A marginal per clique, with one axis per column: not negative, equal where two cliques share
        columns.
    epsilons_ : list of float
        The epsilon charged for each cluster's marginal.
    """

    reference = phrase("R. Chen et al. 2015")
    best_for = "columns that depend on each other"
    provable_published = "none"
    seconds = (0.17, 0.2)
    published_relations = (Relation.REPLACE,)
    controls = controls_of(PAGES["JTree"] | {"score": PAGES["NetworkSynthesizer"]["score"]})
    presets = presets_of(PAGES, "JTree")
    paper = "001"
    relation: str = text(default="replace", kind="{'replace', 'add_remove'}")
    structure_share: float = number(default=0.2, maximum=1, open="()")
    threshold: float = number(default=0.2, maximum=1, open="()")
    score: str = choice(default="R", options=SCORES)
    edges: int | None = whole(default=None, minimum=0)
    max_cells: int | None = whole(default=None)
    edges_: list[tuple[str, ...]] = fitted_field()
    max_cells_: int = fitted_field()
    clusters_: list[tuple[str, ...]] = fitted_field()
    epsilons_: list[float] = fitted_field()

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the score needs a bound on rows, or parameters are too large."""
        self._check_score(SCORES[self.score], schema)
        if sum(schema.sizes) > MOST_CELLS:
            raise ParameterError(f"The columns have more than {MOST_CELLS:,} values in all.", "Use fewer columns.")
        # then in corrected mode all marginals together stay below MOST_CELLS
        most = MOST_CELLS // len(schema)
        for name, given in (("edges", self.edges), ("max_cells", self.max_cells)):
            if given is not None and given > most:
                words = f"The {name!r} parameter must be at most {most:,}; got {given:,}."
                raise ParameterError(words, f"Lower {name!r}, or leave it out for the default.")

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Find the edges, measure the clusters' marginals, and fit the junction tree."""
        progress(0.0, phrase("Looking for dependent columns"))
        schema, sizes = table.schema, table.schema.sizes
        structure: PrivacyLoss = exact(self.structure_share) * exact(self.epsilon)
        if self._published:
            left, self.max_cells_ = exact(self.epsilon) - structure, MOST_CELLS
            edges, cliques = edges_that_fit(self._published_edges(table, structure), sizes)
        else:
            edges, cliques, left = self._chosen_edges(table, structure, progress)
        clusters = junction_tree.merge_cliques(cliques, sizes, self.max_cells_)
        if total_cells(clusters, sizes) > MOST_CELLS:  # published mode, where the sum has no bound
            clusters = cliques

        progress(0.8, phrase("Measuring marginals"))
        noisy = table.counts(column_names(schema, clusters), epsilon=left)
        self.epsilons_ = [float(left / len(clusters))] * len(clusters)
        progress(0.9, phrase("Making the marginals consistent"))
        measured = NoisyTables(public_total(table))
        for cluster, counts in zip(clusters, noisy, strict=True):
            measured.add(cluster, counts, 1.0)
        measured.fit(SWEEPS, cliques)
        self.tables_ = [belief * measured.rows for belief in measured.model.beliefs]
        self.parents_ = measured.model.parents
        self.edges_, self.clusters_ = column_names(schema, edges), column_names(schema, clusters)
        self.cliques_ = column_names(schema, measured.model.cliques)

    def measurements(self, table: PrivateTable) -> list[Measurement] | None:
        """Return the expected marginals of clusters in corrected mode; None as published."""
        if self._published:
            return None  # noise decides how many columns a clique has, and nothing bounds it
        sizes, rows = table.schema.sizes, float(table.public_rows or 1)
        most = self.max_cells or self._useful_cells(rows, table.relation, len(sizes))
        picks = range(0 if self.edges == 0 else len(sizes))
        edges = [(other, j) for j in picks for other in greedy_clique(sizes, j, 1, most)[1:]]
        clusters = junction_tree.merge_cliques(junction_tree.triangulate(edges, sizes), sizes, most)
        share = exact(self.epsilon) * (1 - exact(self.structure_share) * bool(edges))
        return [clique_measurement(sizes, own, table.cell_variance(share / len(clusters))) for own in clusters]

    def _chosen_edges(
        self, table: PrivateTable, structure: PrivacyLoss, progress: Progress
    ) -> tuple[list[Edge], list[Clique], PrivacyLoss]:
        """Choose edges by exponential mechanisms; return them, their cliques, and the epsilon left.

        `structure` is the epsilon for the edges.
        """
        sizes = table.schema.sizes
        left: PrivacyLoss = exact(self.epsilon)
        self.max_cells_ = self.max_cells or 0
        if self.max_cells is None:
            rows, spent = count_rows(table, COUNT_SHARE * structure)
            left, structure = left - spent, structure - spent
            self.max_cells_ = self._useful_cells(rows, table.relation, len(sizes))
        cliques = junction_tree.triangulate([], sizes)
        varied = [j for j, size in enumerate(sizes) if size > 1]
        pairs = self._joinable_pairs(combinations(varied, 2), cliques, sizes)
        picks = min(len(sizes) - 1 if self.edges is None else self.edges, len(pairs))
        edges: list[Edge] = []
        while pairs and len(edges) < picks:
            share = structure / picks
            chosen = pairs[int(table.choose(SCORES[self.score], column_names(table.schema, pairs), epsilon=share))]
            left -= share
            edges.append(chosen)
            cliques = junction_tree.triangulate({*junction_tree.pairs_within(cliques), chosen}, sizes)
            pairs = self._joinable_pairs(pairs, cliques, sizes)
            progress(0.8 * len(edges) / picks, CHOSEN.format(edge=len(edges), picks=picks))
        return edges, cliques, left

    def _joinable_pairs(self, pairs: Iterable[Edge], cliques: Sequence[Clique], sizes: Sequence[int]) -> list[Edge]:
        """Return the pairs that could be joined: their clique has at most `max_cells_` cells.

        Pairs that are in a common clique already are left out.
        """
        measured = junction_tree.pairs_within(cliques)
        largest = junction_tree.largest_clique_cells(pairs, *junction_tree.junction_tree(cliques), sizes)
        return [pair for pair, most in largest.items() if pair not in measured and most <= self.max_cells_]

    def _useful_cells(self, rows: float, relation: Relation, columns: int) -> int:
        """Return the default of `max_cells`, for a number of rows and of columns.

        In a marginal of that size, a cell's mean count is `USEFULNESS` times its expected noise, if
        there are as many marginals as columns.
        """
        budget = (1 - self.structure_share) * self.epsilon
        useful = rows * budget / (columns * relation.histogram_l1 * USEFULNESS)
        return int(min(max(useful, 1.0), MOST_CELLS // columns))

    def _published_edges(self, table: PrivateTable, structure: PrivacyLoss) -> list[Edge]:
        """Return the edges by the published noisy comparison of pairs, which has no proven epsilon.

        `structure` is the epsilon that the paper claims for the edges. Edges that exceed their
        threshold by the most come first.
        """
        codes = table.read_unprotected(REASONS["dependence"], claimed_epsilon=structure)
        sizes, rng = table.schema.sizes, generator(self.random_state, 3)
        pairs = list(combinations(range(len(sizes)), 2))
        if not pairs:
            return []
        rate, scale = sampling_rate(len(codes), float(structure), sorted({(sizes[a], sizes[b]) for a, b in pairs}))
        sample = codes[rng.choice(len(codes), round(rate * len(codes)), replace=False)]
        score, tables = MutualInformation(), joint_counts(sample, sizes, pairs)
        information = np.array([score.score_table(counts, Relation.REPLACE) for counts in tables]) * math.log(2)
        thresholds = self.threshold**2 * (np.array([min(counts.shape) for counts in tables]) - 1) / 2
        leads = noisy_excess(information, thresholds, scale, rng)[0]
        return [pairs[i] for i in np.argsort(-leads, kind="stable") if leads[i] >= 0]

    def released_artifacts(self) -> dict[str, Any]:
        """Return the cliques as `families`, the junction tree's `edges`, and the `clusters`."""
        holders = [next(i for i, own in enumerate(self.clusters_) if {*c} <= {*own}) for c in self.cliques_]
        losses = [self.epsilons_[holder] / holders.count(holder) for holder in holders]
        found = self._describe_tree([holder + 1 for holder in holders], losses)
        return found | {"clusters": [list(cluster) for cluster in self.clusters_]}

    @property
    def rows_(self) -> float:
        """Number of rows: public, or estimated from noisy answers."""
        return float(self.tables_[0].sum())


def edges_that_fit(edges: Sequence[Edge], sizes: Sequence[int]) -> tuple[list[Edge], list[Clique]]:
    """Return the first edges, as many as `MOST_CELLS` cells of marginals allow, and their cliques.

    `edges` are in order of preference, and `sizes` has each column's number of values. The number
    of edges is found by doubling and then by bisection, because large cliques take long.
    """
    fitting, least, most, tried = junction_tree.triangulate([], sizes), 0, len(edges) + 1, 1
    while most - least > 1:
        cliques = junction_tree.triangulate(edges[:tried], sizes)
        if total_cells(cliques, sizes) <= MOST_CELLS:
            fitting, least = cliques, tried
        else:
            most = tried
        tried = min(2 * least, len(edges)) if most > len(edges) else (least + most) // 2
    return sorted(edges[:least]), fitting


def total_cells(cliques: Sequence[Clique], sizes: Sequence[int]) -> int:
    """Return the number of cells of the marginals of cliques; `sizes` has each column's values."""
    return sum(junction_tree.cells_of(clique, sizes) for clique in cliques)


RATES = np.arange(1, 1_001) / 1_000


def noisy_excess(
    information: Floats, thresholds: Floats, scale: float, rng: np.random.Generator, draws: int = 1
) -> Floats:
    """Return by how much noisy mutual information exceeds the published threshold, for each pair.

    The excess is I + Lap(scale) - threshold - rho, with one rho ~ Lap(scale) per draw.
    `information` and `thresholds` are in nats, shape (pairs,). The result has shape (draws, pairs),
    because an audit needs many draws. At an infinite scale (epsilon 0) the noise alone decides.
    """
    lead, unit = (information - thresholds, scale) if np.isfinite(scale) else (np.zeros(len(thresholds)), 1.0)
    rho = rng.laplace(0.0, unit, (draws, 1))
    return np.asarray(lead + rng.laplace(0.0, unit, (draws, len(lead))) - rho)


def epsilon_on_sample(epsilon: float, rate: Floats | float) -> Floats:
    """Return eps_alpha, the epsilon that may be spent on a secret sample of a given rate.

    Amplification by sampling makes the loss on all rows ln(1 + rate (e^eps_alpha - 1)) = epsilon.
    """
    most = min(epsilon, 500.0)  # e^500 is finite; beyond, the two epsilons grow together
    return np.asarray(np.log1p(np.expm1(most) / rate) + (epsilon - most))


def sampling_rate(rows: int, epsilon: float, shapes: list[tuple[int, int]]) -> tuple[float, float]:
    """Return the published sampling rate beta with the least noise, and the noise scale b in nats.

    `shapes` are the shapes of the pairs' marginals. Samples of one row are excluded: their mutual
    information is always 0, and so would be the noise.
    """
    rates = RATES[np.rint(RATES * rows) >= 2] if rows >= 2 else RATES[-1:]
    drawn = np.rint(rates * rows).astype(int).tolist()
    step = {size: MutualInformation().bounds(shapes, Relation.REPLACE, size).sensitivity for size in set(drawn)}
    steps, spent = 2 * math.log(2) * np.array([step[size] for size in drawn]), epsilon_on_sample(epsilon, rates)
    scales = np.divide(steps, spent, out=np.full(len(rates), np.inf), where=spent > 0)
    best = int(np.argmin(scales))
    return float(rates[best]), float(scales[best])

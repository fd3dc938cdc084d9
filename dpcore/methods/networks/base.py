"""Base of network methods (paper 001): Bayesian networks over bits, and their noisy marginals."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, inf, isfinite
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpcore.accounting.privacy_measure import PrivacyLoss, PrivacyMeasure
from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Floats, Progress
from dpcore.domain.column import Codes
from dpcore.domain.partition import Binarization, bit_widths
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.door.network_growth import NetworkGrowth
from dpcore.door.privacy_costs import ClaimedValues
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import generator
from dpcore.mechanisms.scores import Entropy, MutualInformation, R, TableScore
from dpcore.methods.base import Measurement, Synthesizer
from dpcore.methods.parameters import choice, controls_of, fitted_field, text, whole
from dpcore.postprocess.bayes_net import Family, is_contained, marginal_of, sample_binarized, sample_network
from dpcore.postprocess.clustering import Clusters, spectral_clusters
from dpcore.postprocess.max_entropy import NoisyTables
from dpcore.text import finite_or_text, read_toml

PAGES = read_toml(Path(__file__).with_name("pages.toml"))
REASONS = PAGES["reasons"]
SCORES: dict[str, TableScore] = {"R": R(), "MI": MutualInformation()}
MOST_FAMILIES = 30_000_000  # candidates of one choice: 240 MB of scores
MOST_PARENTS = 10
BIT_BIAS, LONE_BIT_BIAS = 0.47, 0.2  # a column's distance by unused bit patterns, and by bits alone
# factors of BIT_BIAS: the papers' noisy clusters, and one network (all four fitted to runs)
NOISY_CLUSTERS, NO_CLUSTERS = 1.45, 0.6
MOST_SCALE = 1e12  # the largest noise scale, at an epsilon near 0
PLACED = phrase("{placed:d} of {bits:d} bits added to the network")


class NetworkSynthesizer(Synthesizer):
    """Base of methods that release one or several Bayesian networks, over columns or over bits.

    Parameters
    ----------
    relation
        Which data sets are neighbors. As published, replace only.

    Attributes
    ----------
    families_ : list of tuples of column or bit names
        Each family is a child followed by its parents. Parents are children of earlier families.
    tables_ : list of arrays
        Each family's noisy marginal, one axis per name.
    epsilons_ : list of float
        Epsilon charged for each marginal (rho if there is a delta). 0 for a marginal that follows
        from another one.
    rows_ : float
        Number of rows: public, or estimated from noisy answers.
    """

    page = "networks"
    relations = (Relation.REPLACE, Relation.ADD_REMOVE)
    published_relations: ClassVar[tuple[Relation, ...]] = (Relation.REPLACE,)
    controls = controls_of(PAGES["NetworkSynthesizer"], k1={"initial": lambda method, _: method.n_clusters})
    exhaustive: ClassVar[bool] = True  # whether one choice ranks all sets of parents

    relation: str = text(default="replace", kind="{'replace', 'add_remove'}")
    families_: list[Family] = fitted_field()
    tables_: list[Floats] = fitted_field()
    epsilons_: list[float] = fitted_field()
    rows_: float = fitted_field()

    @property
    def _binary(self) -> bool:
        """Whether the networks are over bits of the columns."""
        return True

    def _cell_scale(self, share: PrivacyLoss) -> float:
        """Return the noise scale of a marginal's cells, if measured at a loss of `share`."""
        measure = PrivacyMeasure.from_delta(self.delta)
        return measure.scale(share, measure.histogram_sensitivity(Relation.parse(self.relation)))

    def _check_parents(self, schema: Schema, max_parents: int) -> None:
        """Raise ParameterError if the candidate families would not fit into memory.

        A family has at most `max_parents` parents. The check uses public sizes only, before any
        query.
        """
        d = len(Binarization(schema).schema) if self._binary else len(schema)
        candidates = max((d - t) * comb(t, max_parents) for t in range(d + 1))
        if self.exhaustive and candidates > MOST_FAMILIES:
            raise ParameterError(
                f"With max_parents={max_parents} there are too many candidate families.",
                "Lower max_parents, or use fewer columns.",
            )

    def _bit_noise(self, table: PrivateTable, parents: int, share: PrivacyLoss, factor: float) -> list[Measurement]:
        """Return the expected measurements of columns whose bits have a number of parents.

        `share` is the privacy loss of each marginal of bits. The bits of a column are assumed to be
        parents of each other. `Measurement.bias` follows from the bit patterns that stand for no
        value, times `factor`, and is larger without parents.
        """
        sizes, variance, found = table.schema.sizes, table.cell_variance(share), list[Measurement]()
        for j, (size, width) in enumerate(zip(sizes, bit_widths(sizes), strict=True)):
            cells = 2.0 ** (parents + 1)
            if parents and j:
                found.append(Measurement((j - 1, j), (2, 2), variance, cells, for_columns=False))
            if width > parents + 1:
                cells *= cells / size * width / (parents + 1)
            # errors of bits add up as published; consistent marginals average them
            times = 2.5 if self._published else 1 / max(parents + 2 - width, 1)
            bias = BIT_BIAS * factor * (1 - size / 2**width) + (0.0 if parents else LONE_BIT_BIAS * (1 - 1 / width))
            own = Measurement((j,), (size,), variance * times, cells, clips=self._published)
            found.append(own._replace(bias=bias, bits=True))
        return found

    def _bits(self, table: PrivateTable) -> PrivateTable:
        """Return the private table with every column recoded as bits."""
        binarization = Binarization(table.schema)
        return table.recode(binarization.schema, binarization.rules)

    def _measure(
        self, table: PrivateTable, families: Sequence[Family], epsilon: PrivacyLoss, **how: Any
    ) -> tuple[list[Floats], list[float]]:
        """Measure the marginals of families; return them, and the epsilon charged for each.

        `how` has further arguments of `PrivateTable.counts`.
        """
        before = len(table.ledger.entries)
        noisy = table.counts(families, epsilon=epsilon, **how)
        return noisy, [float(entry.epsilon_nominal) for entry in table.ledger.entries[before:]]

    def _set_family_tables(self, measured: list[Family], noisy: list[Floats], losses: list[float]) -> None:
        """Set `tables_` and `epsilons_` of all families from the measured marginals.

        `noisy` has the marginals of the families `measured`, and `losses` the epsilon charged for
        each. A family that was not measured gets the marginal of a measured family that contains
        it, summed over the other columns. Corrected mode makes the marginals consistent, without
        negative cells. The papers set negative cells to 0, which adds mass.
        """
        if self.mode == "corrected":
            noisy = self._consistent_tables(measured, noisy, losses)
        found = dict(zip(measured, zip(noisy, losses, strict=True), strict=True))
        self.tables_, self.epsilons_ = [], []
        for family in self.families_:
            if family not in found:
                holder = next(other for other in measured if is_contained(family, other))
                found[family] = marginal_of(np.maximum(found[holder][0], 0), holder, family), 0.0
            self.tables_.append(found[family][0])
            self.epsilons_.append(found[family][1])

    def _consistent_tables(self, families: list[Family], noisy: list[Floats], losses: list[float]) -> list[Floats]:
        """Return the marginals made consistent by `NoisyTables`, with `rows_` as their total.

        `noisy` has the marginals of `families`, and `losses` the privacy loss of each, which gives
        its noise scale.
        """
        names = sorted({name for family in families for name in family})
        indices = [[names.index(name) for name in family] for family in families]
        measured = NoisyTables(self.rows_)
        for index, cells, loss in zip(indices, noisy, losses, strict=True):
            scale = self._cell_scale(loss)
            # scale ** 2 would raise OverflowError
            measured.add(tuple(sorted(index)), cells.transpose(np.argsort(index)), scale * scale)
        agreed = measured.consistent_tables()
        return [agreed[tuple(sorted(index))].transpose(np.argsort(np.argsort(index))) for index in indices]

    def released_artifacts(self) -> dict[str, Any]:
        """Return `families` as dicts, and `clusters` and `similarity`, empty if unused."""
        clusters = list(getattr(self, "clusters_", []))
        cluster_of = {name: i for i, cluster in enumerate(clusters, start=1) for name in cluster}
        own = [cluster_of.get(family[0], 1) for family in self.families_]
        families = list_families(self, self.families_, own, self.epsilons_)
        similarity = getattr(self, "similarity_", np.zeros((0, 0)))
        found: dict[str, Any] = {"families": families, "clusters": list(map(list, clusters))}
        if similarity.size:
            names = Binarization(self.schema_).schema.names
            found["similarity"] = {"names": list(names), "scores": np.round(similarity, 6).tolist()}
        return found

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Return the codes of `n` rows, sampled along the networks from parents to children."""
        if not self._binary:
            return sample_network(self.schema_.names, self.families_, self.tables_, n, rng)
        binarization = Binarization(self.schema_)

        def draw(rows: int, smoothing: float) -> Codes:
            """Return codes of `rows` records of bits, sampled along the networks.

            `smoothing` is the share of all rows that is added to each marginal first.
            """
            names, spread = binarization.schema.names, smoothing * self.rows_
            return sample_network(names, self.families_, self.tables_, rows, rng, spread)

        return sample_binarized(binarization, draw, n, rng)


class ClusteredSynthesizer(NetworkSynthesizer):
    """Base of methods with one Bayesian network per cluster of bits.

    Parameters
    ----------
    relation
        Which data sets are neighbors. As published, replace only. Add_remove needs the schema's
        `max_rows`.
    n_clusters
        Number of clusters (k), at most the number of bits.
    max_parents
        The most parents of a bit (l).
    score
        Corrected mode: the score of families. As published: mutual information, MI.

    Attributes
    ----------
    similarity_ : array of shape (d, d)
        The noisy scores of all pairs of bits; shape (0, 0) if none were measured.
    clusters_ : list of tuples of bit names
        The bits of each cluster.
    """

    paper = "001"
    n_clusters: int = whole(default=3)
    max_parents: int = whole(default=3, maximum=MOST_PARENTS)
    score: str = choice(default="R", options=SCORES)
    # published mode: why clusters of columns are no parallel composition, in a sentence
    overlap: ClassVar[str] = ""
    similarity_: Floats = fitted_field()
    clusters_: list[tuple[str, ...]] = fitted_field()

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the scores need a bound on rows, or families are too many."""
        self._check_score(Entropy(), schema)
        self._check_parents(schema, self.max_parents)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Score pairs of bits, cluster the bits, learn a network per cluster, and measure it."""
        bits = self._bits(table)
        d = len(bits.schema)
        for_bits, for_pairs, for_networks, for_tables = self._shares(d)
        self.rows_ = float(table.public_rows or 0)
        progress(0.0, phrase("Scoring {pairs:,} pairs of bits").format(pairs=d * (d - 1) // 2))
        entropies = self._entropies(bits, for_bits)
        self.similarity_ = self._similarity(bits, for_pairs)
        clusters = self._clusters(table.schema, min(self.n_clusters, d))
        networks = self._learn_networks(bits, clusters, for_networks, progress)
        progress(0.9, phrase("Measuring marginals"))
        self._measure_networks(bits, networks, for_tables, self._weights(bits, entropies))

    @abstractmethod
    def _shares(self, d: int) -> Sequence[Epsilon]:
        """Return four shares of epsilon, for a number `d` of bits.

        They are spent on single bits, pairs of bits, networks, and marginals.
        """

    def _entropies(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        """Return the entropy of every bit, shape (d,).

        Zeros are returned if entropies do not weight the marginals. Under add_remove, where n is
        private, the same query sets `rows_`.
        """
        return np.zeros(len(bits.schema))

    def _similarity(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        """Return the noisy scores of all pairs of bits, per row of the data: shape (d, d)."""
        return self._pair_scores(bits, self._family_score, epsilon)

    def _pair_scores(self, bits: PrivateTable, score: TableScore, loss: Epsilon, **claim: Any) -> Floats:
        """Return noisy scores of all pairs of bits as a symmetric matrix, at a total `loss`.

        `claim` has what the source claims, as arguments of `PrivateTable.noisy_scores`.
        """
        pairs = list(combinations(bits.schema.names, 2))
        values = bits.noisy_scores(score, pairs, epsilon=loss, **claim) if pairs else np.zeros(0)
        return pair_matrix(values, len(bits.schema))

    def _claimed_pair_scores(self, bits: PrivateTable, score: TableScore, epsilon: Epsilon, **claim: Any) -> Floats:
        """Return noisy scores of all pairs of bits, at the published claim of epsilon.

        The papers count floor(d/2) pairs of the d bits at a time as parallel composition, so the
        scores together spend floor(d/2) times the claimed epsilon. `claim` has further claims, as
        arguments of `PrivateTable.noisy_scores`.
        """
        together = exact(epsilon) * (len(bits.schema) // 2)
        return self._pair_scores(bits, score, together, claimed_epsilon=epsilon, **claim)

    def _clusters(self, schema: Schema, k: int, **how: Any) -> Clusters:
        """Return `k` clusters of bits by the scores of pairs; `how` goes to `spectral_clusters`."""
        return spectral_clusters(self.similarity_, k, generator(self.random_state, 1), **how)

    def _weights(self, bits: PrivateTable, entropies: Floats) -> dict[str, float]:
        """Return each marginal's weight in the split of epsilon, by the name of its child.

        The weight falls with the child's entropy: exp(-entropy). `entropies` has that of each bit.
        """
        return dict(zip(bits.schema.names, np.exp(-entropies).tolist(), strict=True))

    @property
    def _family_score(self) -> TableScore:
        """Score that ranks families."""
        return SCORES["MI" if self._published and "corrected" in self.modes else self.score]

    def measurements(self, table: PrivateTable) -> list[Measurement] | None:
        """Return the expected marginals of bits: each has `max_parents` parents."""
        d = sum(bit_widths(table.schema.sizes))
        tables = max(d - min(self.n_clusters, d) * self.max_parents, 1)
        share = self._shares(d)[-1] * (min(self.n_clusters, d) if self._published else 1) / tables
        share = share if "corrected" in self.modes else inf
        factor = NOISY_CLUSTERS if self._published and isfinite(share) else 1.0
        return self._bit_noise(table, self.max_parents, share, factor)

    def _count_choices(self, size: int) -> int:
        """Return how many exponential mechanisms a cluster of `size` bits needs."""
        return size

    @abstractmethod
    def _choose_families(
        self, bits: PrivateTable, cluster: Sequence[int], epsilon: Epsilon, claim: ClaimedValues
    ) -> Iterator[Family]:
        """Yield the families of a cluster's network, each chosen at a privacy loss of `epsilon`.

        `cluster` has the positions of its bits. `claim` is what `_claim` returns.
        """

    def _learn_networks(
        self, bits: PrivateTable, clusters: Sequence[Sequence[int]], epsilon: Epsilon, progress: Progress
    ) -> list[list[Family]]:
        """Return a network (list of families) for each cluster; set `clusters_` and `families_`.

        Corrected mode divides epsilon among all choices (sequential composition). As published,
        each network spends the whole epsilon, which is claimed once for all. `overlap` says why
        that is wrong.
        """
        names, paper = bits.schema.names, self._published
        self.clusters_, self.families_ = [tuple(names[j] for j in cluster) for cluster in clusters], []
        choices = [self._count_choices(len(cluster)) for cluster in clusters]
        networks = [list[Family]() for _ in clusters]
        for cluster, own, network in zip(clusters, choices, networks, strict=True):
            share = epsilon * Fraction(1, (own if paper else sum(choices)) or 1)
            claim = self._claim(share / len(clusters))
            for family in self._choose_families(bits, cluster, share, claim):
                network.append(family)
                self.families_.append(family)
                placed = len(self.families_) / len(names)
                progress(0.1 + 0.8 * placed, PLACED.format(placed=len(self.families_), bits=len(names)))
        return networks

    def _claim(self, epsilon: Epsilon) -> ClaimedValues:
        """Return what published mode claims for a query at `epsilon`; nothing in corrected mode."""
        return {"claimed_epsilon": epsilon, "reason": self.overlap} if self._published else {}

    def _measure_networks(
        self, bits: PrivateTable, networks: Sequence[Sequence[Family]], epsilon: Epsilon, weights: Mapping[str, float]
    ) -> None:
        """Measure the marginals of all networks, and set `tables_` and `epsilons_`.

        `weights` are the shares of marginals by the name of the child. Corrected mode divides
        epsilon among all marginals (sequential composition). As published, each network spends the
        whole epsilon.
        """
        measured = [families_to_measure(network, self.max_parents) for network in networks]
        every = [family for families in measured for family in families]
        share = epsilon * Fraction(1, len(measured))
        noisy, losses = list[Floats](), list[float]()
        for group in measured if self._published else [every]:
            own = [weights[child] for child, *_ in group]
            cells, spent = self._measure(bits, group, epsilon, weights=own, **self._claim(share))
            noisy += cells
            losses += spent
        self._set_family_tables(every, noisy, losses)


def list_families(
    method: Any, families: Sequence[Family], clusters: Iterable[int], losses: Iterable[float]
) -> list[dict[str, Any]]:
    """Return families as dicts: child, parents, cluster, number of cells, and privacy loss.

    `clusters` and `losses` have the cluster number and the privacy loss of each family. The first
    column of a family (or clique) is its child.
    """
    unit = PrivacyMeasure.from_delta(method.delta).unit
    every = zip(families, method.tables_, clusters, losses, strict=True)
    return [
        {"child": child, "parents": parents, "cluster": own, "cells": int(table.size)} | {unit: finite_or_text(loss)}
        for (child, *parents), table, own, loss in every
    ]


def pair_matrix(values: Floats, d: int) -> Floats:
    """Return the values of pairs i < j as a symmetric matrix, shape (d, d), with a diagonal of 0.

    `values` are in lexicographic order of the pairs.
    """
    matrix = np.zeros((d, d))
    matrix[np.triu_indices(d, 1)] = values
    return matrix + matrix.T


def grow_families(first: str, growth: NetworkGrowth, epsilon: Epsilon, claim: ClaimedValues) -> Iterator[Family]:
    """Yield the families of a network from its first bit on.

    `first` is the name of that bit, which has no parents. Each later family is chosen by one
    exponential mechanism of `growth` at a privacy loss of `epsilon`; `claim` is what the source
    claims of the choice.
    """
    growth.add_column(first)
    yield (first,)
    while growth.open:
        yield growth.choose(epsilon=epsilon, **claim)


def families_to_measure(families: Sequence[Family], max_parents: int) -> list[Family]:
    """Return the families whose marginals must be measured; those of the other families follow.

    With l = max_parents (or all bits but one, if they are fewer), families l + 1 and later are
    measured. An earlier family is contained in family l + 1, unless a filter left some of its
    columns out; then it is measured as well. (The paper's way, to take its marginal from the true
    data, leaks.)
    """
    anchor = min(len(families) - 1, max_parents)
    early = [family for family in families[:anchor] if not is_contained(family, families[anchor])]
    return [*families[anchor:], *early]

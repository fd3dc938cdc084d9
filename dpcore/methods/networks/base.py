"""What the methods of paper 001 share: bits, clusters of bits, a Bayesian network in each, noisy tables, rows."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, inf, isfinite
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpcore.accounting.currency import PrivacyLoss, PrivacyMeasure
from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Floats, Progress
from dpcore.domain.column import Codes
from dpcore.domain.partition import Binarization, bit_widths
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.door.network_growth import Growth
from dpcore.door.prices import ClaimedValues
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
MOST_FAMILIES = 30_000_000  # candidates that are open at once: 240 MB of scores
MOST_PARENTS = 10
NO_VALUE, ALONE = 0.47, 0.2  # what is lost of a column's shape as bits: read off runs
TORN, WHOLE = 1.45, 0.6  # times the first, by the papers' clusters with noise, or without any
MOST_SCALE = 1e12  # of noise, where epsilon is all but nothing
PLACED = phrase("{placed:d} of {bits:d} bits placed")


class NetworkSynthesizer(Synthesizer):
    """Base of methods that release one Bayesian network or several, over columns or over bits.

    Parameters
    ----------
    relation
        Which data sets are neighbors. As published, replace only.

    Attributes
    ----------
    families_ : list of tuples of column or bit names
        The child first; parents are children of earlier families.
    tables_ : list of arrays
        Each family's noisy marginal, one axis per name.
    epsilons_ : list of float
        What each marginal was charged, of rho if there is a delta; 0 for a part of another.
    rows_ : float
        The number of rows: public, or estimated from noisy answers.
    """

    page = "networks"
    relations = (Relation.REPLACE, Relation.ADD_REMOVE)
    published_relations: ClassVar[tuple[Relation, ...]] = (Relation.REPLACE,)
    controls = controls_of(PAGES["NetworkSynthesizer"], k1={"initial": lambda method, _: method.n_clusters})
    exhaustive: ClassVar[bool] = True  # whether all sets of parents are rated at once

    relation: str = text(default="replace", kind="{'replace', 'add_remove'}")
    families_: list[Family] = fitted_field()
    tables_: list[Floats] = fitted_field()
    epsilons_: list[float] = fitted_field()
    rows_: float = fitted_field()

    @property
    def _binary(self) -> bool:
        return True

    def _cell_scale(self, share: PrivacyLoss) -> float:
        """The scale of the noise in every cell of a table that is bought for a share of the budget."""
        measure = PrivacyMeasure.of(self.delta)
        return measure.scale(share, measure.histogram_sensitivity(Relation.parse(self.relation)))

    def _check_parents(self, schema: Schema, max_parents: int) -> None:
        """Refuse what would not fit the memory, by public sizes, before anything is asked."""
        d = len(Binarization(schema).schema) if self._binary else len(schema)
        open_at_once = max((d - t) * comb(t, max_parents) for t in range(d + 1)) if self.exhaustive else 0
        if open_at_once > MOST_FAMILIES:
            raise ParameterError(
                f"With max_parents={max_parents} there are too many families to choose from.",
                "Allow fewer parents, or take fewer columns.",
            )

    def _measured_bits(self, table: PrivateTable, parents: int, share: PrivacyLoss, torn: float) -> list[Measurement]:
        """What tables of bits with so many parents say of columns, each table for a share.

        A column's bits are next to each other, more or less. What is lost of its shape follows from
        the patterns of its bits that stand for no value, and more without parents.
        """
        sizes, variance, found = table.schema.sizes, table.cell_variance(share), list[Measurement]()
        for j, (size, width) in enumerate(zip(sizes, bit_widths(sizes), strict=True)):
            cells = 2.0 ** (parents + 1)
            if parents and j:
                found.append(Measurement((j - 1, j), (2, 2), variance, cells, for_columns=False))
            if width > parents + 1:
                cells *= cells / size * width / (parents + 1)
            # errors add up, or tables agree
            times = 2.5 if self._published else 1 / max(parents + 2 - width, 1)
            bias = NO_VALUE * torn * (1 - size / 2**width) + (0.0 if parents else ALONE * (1 - 1 / width))
            own = Measurement((j,), (size,), variance * times, cells, clips=self._published)
            found.append(own._replace(bias=bias, bits=True))
        return found

    def _bits(self, table: PrivateTable) -> PrivateTable:
        binarization = Binarization(table.schema)
        return table.recode(binarization.schema, binarization.rules)

    def _ask(
        self, table: PrivateTable, families: Sequence[Family], epsilon: PrivacyLoss, **how: Any
    ) -> tuple[list[Floats], list[float]]:
        """Noisy tables (`how` as for `counts`), and what each was charged."""
        before = len(table.ledger.entries)
        noisy = table.counts(families, epsilon=epsilon, **how)
        return noisy, [float(entry.epsilon_nominal) for entry in table.ledger.entries[before:]]

    def _keep(self, measured: Sequence[Family], noisy: Sequence[Floats], losses: Sequence[float]) -> None:
        """Set tables and prices of all families from those that were measured.

        In corrected mode tables are made to agree, without negative cells; the papers set these to
        0, which adds mass.
        """
        if self.mode == "corrected":
            noisy = self._agreed(measured, noisy, losses)
        found = dict(zip(measured, zip(noisy, losses, strict=True), strict=True))
        self.tables_, self.epsilons_ = [], []
        for family in self.families_:
            if family not in found:
                holder = next(other for other in measured if is_contained(family, other))
                found[family] = marginal_of(np.maximum(found[holder][0], 0), holder, family), 0.0
            self.tables_.append(found[family][0])
            self.epsilons_.append(found[family][1])

    def _agreed(self, families: Sequence[Family], noisy: Sequence[Floats], losses: Sequence[float]) -> list[Floats]:
        """The tables as `NoisyTables` makes them agree, with `rows_` as their total."""
        names = sorted({name for family in families for name in family})
        indices = [[names.index(name) for name in family] for family in families]
        measured = NoisyTables(self.rows_)
        for index, cells, loss in zip(indices, noisy, losses, strict=True):
            scale = self._cell_scale(loss)
            # a power would raise
            measured.add(tuple(sorted(index)), cells.transpose(np.argsort(index)), scale * scale)
        agreed = measured.agreed()
        return [agreed[tuple(sorted(index))].transpose(np.argsort(np.argsort(index))) for index in indices]

    def released(self) -> dict[str, Any]:
        """Return `families`, each a dict, and `clusters` and `similarity`, if there are any."""
        clusters = list(getattr(self, "clusters_", []))
        cluster_of = {name: i for i, cluster in enumerate(clusters, start=1) for name in cluster}
        own = [cluster_of.get(family[0], 1) for family in self.families_]
        families = list_families(self, self.families_, own, self.epsilons_)
        similarity = getattr(self, "similarity_", np.zeros((0, 0)))
        found: dict[str, Any] = {"families": families, "clusters": [list(cluster) for cluster in clusters]}
        if similarity.size:
            names = Binarization(self.schema_).schema.names
            found["similarity"] = {"names": list(names), "scores": np.round(similarity, 6).tolist()}
        return found

    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        if not self._binary:
            return sample_network(self.schema_.names, self.families_, self.tables_, n, rng)
        binarization = Binarization(self.schema_)

        def draw(rows: int, smoothing: float) -> Codes:
            spread = smoothing * self.rows_
            return sample_network(binarization.schema.names, self.families_, self.tables_, rows, rng, spread)

        return sample_binarized(binarization, draw, n, rng)


class ClusteredSynthesizer(NetworkSynthesizer):
    """Base of methods with a network for each cluster of bits.

    Parameters
    ----------
    relation
        Which data sets are neighbors. As published, replace only. Add_remove needs the schema's
        `max_rows`.
    n_clusters
        How many clusters (k); fewer if there are fewer bits.
    max_parents
        How many parents a bit may have (l).
    score
        Corrected mode: what rates families; as published, mutual information, MI.

    Attributes
    ----------
    similarity_ : array of shape (d, d)
        The noisy scores of all pairs of bits; of shape (0, 0) if there are none.
    clusters_ : list of tuples of bit names
        The bits of each cluster.
    """

    paper = "001"
    n_clusters: int = whole(default=3)
    max_parents: int = whole(default=3, most=MOST_PARENTS)
    score: str = choice(default="R", options=SCORES)
    # why clusters of columns do not hold different people, in published mode
    overlap: ClassVar[str] = ""
    similarity_: Floats = fitted_field()
    clusters_: list[tuple[str, ...]] = fitted_field()

    def _check(self, schema: Schema) -> None:
        self._check_score(Entropy(), schema)
        self._check_parents(schema, self.max_parents)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        bits = self._bits(table)
        d = len(bits.schema)
        for_bits, for_pairs, for_networks, for_tables = self._shares(d)
        self.rows_ = float(table.public_rows or 0)
        progress(0.0, phrase("Scoring {pairs:,} pairs of bits").format(pairs=d * (d - 1) // 2))
        entropies = self._entropies(bits, for_bits)
        self.similarity_ = self._similarity(bits, for_pairs)
        clusters = self._clusters(table.schema, min(self.n_clusters, d))
        networks = self._learn(bits, clusters, for_networks, progress)
        progress(0.9, phrase("Measuring tables"))
        self._measure_networks(bits, networks, for_tables, self._weights(bits, entropies))

    @abstractmethod
    def _shares(self, d: int) -> Sequence[Epsilon]:
        """What is spent on d bits by themselves, on their pairs, on networks and on tables."""

    def _entropies(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        """The entropy of every bit, shape (d,), if tables are weighed by it.

        It also sets `rows_` where n is private.
        """
        return np.zeros(len(bits.schema))

    def _similarity(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        """The noisy scores of all pairs, per record, shape (d, d)."""
        return self._pair_scores(bits, self._score_of, epsilon)

    def _pair_scores(self, bits: PrivateTable, score: TableScore, epsilon: Epsilon, **claim: Any) -> Floats:
        pairs = list(combinations(bits.schema.names, 2))
        values = bits.noisy_scores(score, pairs, epsilon=epsilon, **claim) if pairs else np.zeros(0)
        return pair_matrix(values, len(bits.schema))

    def _claimed_pair_scores(self, bits: PrivateTable, score: TableScore, epsilon: Epsilon, **claim: Any) -> Floats:
        """Scores as printed: of floor(d/2) pairs at a time for one epsilon."""
        together = exact(epsilon) * (len(bits.schema) // 2)
        return self._pair_scores(bits, score, together, claimed_epsilon=epsilon, **claim)

    def _clusters(self, schema: Schema, k: int, **how: Any) -> Clusters:
        """Clusters by the scores of pairs."""
        return spectral_clusters(self.similarity_, k, generator(self.random_state, 1), **how)

    def _weights(self, bits: PrivateTable, entropies: Floats) -> dict[str, float]:
        """The weight of a table in the last split, by its child."""
        return dict(zip(bits.schema.names, np.exp(-entropies).tolist(), strict=True))

    @property
    def _score_of(self) -> TableScore:
        """What rates families."""
        return SCORES["MI" if self._published and "corrected" in self.modes else self.score]

    def measurements(self, table: PrivateTable) -> list[Measurement] | None:
        d = sum(bit_widths(table.schema.sizes))
        tables = max(d - min(self.n_clusters, d) * self.max_parents, 1)
        share = self._shares(d)[-1] * (min(self.n_clusters, d) if self._published else 1) / tables
        share = share if "corrected" in self.modes else inf
        torn = TORN if self._published and isfinite(share) else 1.0
        return self._measured_bits(table, self.max_parents, share, torn)

    def _choices(self, size: int) -> int:
        """How many questions `_network` asks in a cluster of so many bits."""
        return size

    @abstractmethod
    def _network(
        self, bits: PrivateTable, cluster: Sequence[int], epsilon: Epsilon, claim: ClaimedValues
    ) -> Iterator[Family]:
        """The families of a cluster, one after the other, at `epsilon` for each choice."""

    def _learn(
        self, bits: PrivateTable, clusters: Sequence[Sequence[int]], epsilon: Epsilon, progress: Progress
    ) -> list[list[Family]]:
        """A network in each cluster: all choices in one sequential split of epsilon.

        As printed each network has the whole epsilon, which is claimed only once: `overlap` says
        why that is wrong.
        """
        names, paper = bits.schema.names, self._published
        self.clusters_, self.families_ = [tuple(names[j] for j in cluster) for cluster in clusters], []
        choices = [self._choices(len(cluster)) for cluster in clusters]
        networks = [list[Family]() for _ in clusters]
        for cluster, own, network in zip(clusters, choices, networks, strict=True):
            share = epsilon * Fraction(1, (own if paper else sum(choices)) or 1)
            claim: ClaimedValues = {"claimed_epsilon": share / len(clusters), "reason": self.overlap} if paper else {}
            for family in self._network(bits, cluster, share, claim):
                network.append(family)
                self.families_.append(family)
                placed = len(self.families_) / len(names)
                progress(0.1 + 0.8 * placed, PLACED.format(placed=len(self.families_), bits=len(names)))
        return networks

    def _measure_networks(
        self, bits: PrivateTable, networks: Sequence[Sequence[Family]], epsilon: Epsilon, weights: Mapping[str, float]
    ) -> None:
        """Ask for the tables of all networks in one sequential split, by their children's weights, and keep them.

        As printed each network has the whole epsilon here, too.
        """
        measured = [to_measure(network, self.max_parents) for network in networks]
        every = [family for families in measured for family in families]
        share = epsilon * Fraction(1, len(measured))
        claim: ClaimedValues = {"claimed_epsilon": share, "reason": self.overlap} if self._published else {}
        families_measured = [
            self._ask(bits, group, epsilon, weights=[weights[child] for child, *_ in group], **claim)
            for group in (measured if self._published else [every])
        ]
        self._keep(
            every,
            [cells for noisy, _ in families_measured for cells in noisy],
            [each for _, own in families_measured for each in own],
        )


def list_families(
    method: Any, families: Sequence[Family], clusters: Iterable[int], losses: Iterable[float]
) -> list[dict[str, Any]]:
    """Families as `released` returns them: the child first, or the first column of a clique."""
    unit = PrivacyMeasure.of(method.delta).unit
    every = zip(families, method.tables_, clusters, losses, strict=True)
    return [
        {"child": child, "parents": parents, "cluster": own, "cells": int(table.size), unit: finite_or_text(loss)}
        for (child, *parents), table, own, loss in every
    ]


def pair_matrix(values: Floats, d: int) -> Floats:
    """Values of all pairs i < j, in lexicographic order, as a symmetric matrix with a diagonal of 0."""
    matrix = np.zeros((d, d))
    matrix[np.triu_indices(d, 1)] = values
    return matrix + matrix.T


def grow_from(first: str, growth: Growth, epsilon: Epsilon, claim: ClaimedValues) -> Iterator[Family]:
    """The families of a network from its first bit on: one exponential mechanism each, at `epsilon`."""
    growth.place(first)
    yield (first,)
    while growth.open:
        yield growth.choose(epsilon=epsilon, **claim)


def to_measure(families: Sequence[Family], max_parents: int) -> list[Family]:
    """The families whose tables must be measured; the tables of the others are margins of the first of them.

    With l = max_parents (or all bits but one, if they are fewer), families l + 1 and later are
    measured. An earlier one is a margin of family l + 1, unless a filter kept some of its columns
    out: then it is measured as well. (To take its table from the true data instead would be a
    leak.)
    """
    anchor = min(len(families) - 1, max_parents)
    early = [family for family in families[:anchor] if not is_contained(family, families[anchor])]
    return [*families[anchor:], *early]

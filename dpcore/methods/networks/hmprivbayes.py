r"""HMPrivBayes: Bayesian networks over clusters of bits, with noise weighed by entropy (paper 001), and NoPrivacy.

Idea      Turn every column into bits. Group bits that go together, learn a small Bayesian network inside each group,
          and sample rows from it. Groups keep the networks small, hence fast.

Steps, as printed (mode="published"); d bits, k clusters, at most l parents
  0  Columns become bits (`binarize`).                                                          public, record by record
  1  DPSC: the mutual information of every pair of bits (for bits that is the paper's MIC), with Laplace noise; spectral
     clustering of the matrix.                                                                              noisy_scores
     The paper's affinity exp(-s / 2 sigma^2) takes the score s for a distance. It is a similarity, so bits that go
     together are torn apart. The paper prints neither the sigma nor the number k1 of eigenvectors nor the eta (step
     2) that it used; here they are 1, k and .1 unless somebody says more.
  2  IBayes, in each cluster of c bits: the first bit by entropy, then family after family by mutual information: c
     exponential mechanisms (first="random": one less, for a first bit as in PrivBayes).                  choose, growth
     A parent is left out whose noisy score with the child is below eta times the best of either.
  3  HnoisyConditionals: tables of family l + 1 and later, with noise in proportion to exp(OE), OE the entropy of the
     child, H / log n with n the number of values, which are 2 (weights="equal": the same noise for all, as in other
     methods); the families before are margins of the first of them.
     Where the filter of step 2 made one that is none, this step cannot be carried out: we measure it as well, out of
     the same epsilon. Algorithm 5 prints l' = min(|C| - 1, d). With d, one table at most would get noise; we read l.
                                                                                                                  counts
  4  Negative cells become 0; rows are sampled from parents to children, cluster by cluster. How, the paper does not
     say; here counts are rounded along the network, which is closer to its tables than independent draws, and bits that
     are no value's are mended.                                                                          post-processing

Steps, corrected (mode="corrected")
  1a One-way tables of all bits, for a tenth of step 3's epsilon; OE is computed from them. With weights="equal" they
     are asked for only where n is private.                                                                       counts
  1b Scores of all pairs, by default R, and 1 - s in the affinity, with the median of all distances for sigma^2
     (affinity="fixed").                                                                                    noisy_scores
     partition="public" asks nothing and takes the columns in their order; the tables get its epsilon.
  2  As printed, with R by default: d exponential mechanisms over all clusters, at epsilon_2 / d each.    choose, growth
  3  The tables of all clusters in one sequential split, in proportion to exp(-OE).                               counts
     An early family that is no margin of family l + 1 (because of the filter) is measured as well. Tables are made
     to agree, without negative cells (`max_entropy`).                                               post-processing

Steps, NoPrivacy: as printed, on noiseless answers, all scores, the best candidate at every choice, all     noiseless
     tables. What a printed release loses beside it, it loses to privacy; what it loses itself, it loses to bits, to few
     parents and to clusters (affinity="fixed" has better ones). Epsilon is infinite, nobody claims otherwise, and it
     must not be published. Its `epsilon` and `relation` let it stand beside other methods; they change nothing.

Privacy
  Public    the schema, hence the bits; k, l, eta; the shares (d-1) : 2d/k : 2d/k of the three steps; n under replace.
            Under add_remove n is estimated from the one-way tables, and `max_rows` bounds it for entropies.
  1a, 3     each table has L1 sensitivity 2 (replace) or 1 (add_remove); sequential over all of them.
  1b        one person moves all C(d,2) scores: L1 sensitivity C(d,2) times one score's (derived in `scores`).
  2         d exponential mechanisms, sequential over all clusters: a person has bits in each of them.
  Sum       epsilon_1 + epsilon_2 + epsilon_3 = epsilon.
  Noise     on Adult's 45,222 complete rows at epsilon 1 the pairs' scores get Laplace noise of scale .138 (R) or 1.17
            (MI, whose largest value is 1).

What the paper claims, and where it is wrong
  Its neighbors are tables that differ by a record that is inserted, deleted or changed; its constants are those of
  change, and n is public.
  1  It lets pairs of different bits compose in parallel, floor(d/2) at a time. Parallel composition needs disjoint
     *people*. n rows of zeros, against one of them all ones, move every pair by D_b(n): the factor floor(d/2) is
     attained, 26 on Adult and 87 on Big5.
  2  It lets clusters compose in parallel: epsilon_2 and epsilon_3 are each spent k times.
  3  The noiseless entropies scale the noise. Laplace noise of two scales has an unbounded ratio of densities: no finite
     epsilon. Without this (weights="equal"), the sum would be 12.75 epsilon on Adult and 38.88 epsilon on Big5.
  4  It says that less noise is injected. Its weights do not do that: by Cauchy and Schwarz the sum of m tables' scales,
     proportional to sum w_j times sum 1 / w_j, is m^2 at least, which equal weights attain.
  What its proof does show holds for neighbors that differ in one *bit* of one person.

Reference  Zhang, Shen and Yang, Differentially private heterogeneous multi-attribute data
publication via attribute segmentation (in Chinese), Computer Systems & Applications 31(10), 2022.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from dpcore.accounting.relation import Epsilon, Relation, shares_of
from dpcore.arguments import Floats
from dpcore.domain.partition import Binarization
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.door.privacy_costs import ClaimedValues
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import generator
from dpcore.mechanisms.scores import Entropy, xlog2
from dpcore.methods.networks.base import (
    PAGES,
    REASONS,
    SCORES,
    ClusteredSynthesizer,
    grow_from,
)
from dpcore.methods.parameters import choice, controls_of, number, presets_of, whole
from dpcore.postprocess.bayes_net import Family
from dpcore.postprocess.clustering import Clusters, contiguous_clusters, related_columns
from dpcore.postprocess.simplex import combine_row_sums, project_rows

ONE_WAYS = Fraction(1, 10)  # of the tables' epsilon, for the entropies that weigh them


class FilteredSynthesizer(ClusteredSynthesizer):
    """Base of methods whose clusters come from scores of pairs, which also leave parents out.

    Parameters
    ----------
    affinity
        How clusters read the scores: as similarities, or as the paper's distances, which tears
        apart what goes together. By default as in the paper if published, and repaired in corrected
        mode.
    sigma
        The scale parameter of the paper's affinity, which does not print it.
    k1
        How many eigenvectors the clusters come from; as many as there are clusters.
    eta
        Below which share of the best score a parent is left out.
    first
        Whether the first bit of a cluster is chosen by its entropy, or drawn at random as in
        PrivBayes, which costs nothing: other choices of the network get its share.
    """

    affinity: str | None = choice(default=None, options=("fixed", "published"))
    sigma: float = number(default=1.0, least=0.001, most=1000.0)
    k1: int | None = whole(default=None)
    eta: float = number(default=0.1, most=1, open=")")
    first: str = choice(default="entropy", options=("entropy", "random"))

    @property
    def _affinity(self) -> str:
        return self.affinity or ("published" if self._published else "fixed")

    def _clusters(self, schema: Schema, k: int, **how: Any) -> Clusters:
        return super()._clusters(schema, k, affinity=self._affinity, sigma=self.sigma, k1=self.k1)

    def _choices(self, size: int) -> int:
        return size - (self.first == "random")

    def _network(
        self, bits: PrivateTable, cluster: Sequence[int], epsilon: Epsilon, claim: ClaimedValues
    ) -> Iterator[Family]:
        """The first bit, then child and parents at once, of those that the scores do not leave out."""
        names, similar = [bits.schema.names[j] for j in cluster], self.similarity_
        related = related_columns(similar[np.ix_(cluster, cluster)], self.eta) if len(similar) else None
        if self.first == "random":
            # a stream for each cluster, beyond those that others draw from
            first = int(generator(self.random_state, 5 + cluster[0]).integers(len(names)))
        else:
            first = int(bits.choose(Entropy(), [(name,) for name in names], epsilon=epsilon, **claim))
        growth = bits.grow_network(self._score_of, names, max_parents=self.max_parents, related=related)
        return grow_from(names[first], growth, epsilon, claim)


class HMPrivBayes(FilteredSynthesizer):
    """Synthetic rows from small Bayesian networks over clusters of bits.

    Zhang, Shen and Yang 2022: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    score
        Corrected mode: what rates pairs and families. The paper's is MI, which takes about eight
        times the noise of R.
    partition
        Whether clusters come from noisy scores or, in corrected mode only, are the columns in their
        order.
    weights
        Whether tables share their epsilon in proportion to exp(-OE), or equally, which reads no
        entropies. The sum of the tables' noise scales is least if they share equally.
    """

    reference = phrase("Zhang, Shen and Yang 2022")
    best_for = "seeing what clustering changes"
    provable_published = "none"
    seconds = (0.55, 0.55)
    presets = presets_of(PAGES, "HMPrivBayes")
    overlap = REASONS["clusters"]
    partition: str = choice(default="learned", options=("learned", "public"))
    weights: str = choice(default="entropy", options=("entropy", "equal"))

    def _check(self, schema: Schema) -> None:
        super()._check(schema)
        if self._published and self.partition == "public":
            raise ParameterError("The paper's clusters are learned.", "Use partition='learned', or corrected mode.")

    def _skips_scores(self, d: int) -> bool:
        """Whether no scores say which bits go together."""
        return self.partition == "public" or d == 1

    @property
    def _measures_bits(self) -> bool:
        """Whether the one-way tables of bits are paid for: for weights, or for n."""
        return not self._published and (self.weights == "entropy" or self.relation == Relation.ADD_REMOVE)

    def _shares(self, d: int) -> Sequence[Epsilon]:
        k = min(self.n_clusters, d)
        for_pairs, for_networks, for_tables = shares_of(self.epsilon, [d - 1.0, 2 * d / k, 2 * d / k] if d > 1 else 3)
        for_bits = for_tables * ONE_WAYS if self._measures_bits else 0
        return for_bits, for_pairs, for_networks, for_tables - for_bits + (for_pairs if self._skips_scores(d) else 0)

    def _entropies(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        if not self._measures_bits:
            return super()._entropies(bits, epsilon)
        marginals = bits.counts([(name,) for name in bits.schema.names], epsilon=epsilon)
        if self.relation == Relation.ADD_REMOVE:
            self.rows_ = max(float(combine_row_sums([marginal[None, :] for marginal in marginals])[0]), 1.0)
        shares = project_rows(np.array(marginals), np.full(len(marginals), self.rows_)) / max(self.rows_, 1.0)
        return np.asarray(-xlog2(shares).sum(axis=1))

    def _weights(self, bits: PrivateTable, entropies: Floats) -> dict[str, float]:
        if self.weights == "equal":
            return dict.fromkeys(bits.schema.names, 1.0)
        if self._published:
            codes = bits.read_unprotected(REASONS["weights"], claimed_epsilon=0)
            ones = codes.mean(axis=0) if len(codes) else np.zeros(codes.shape[1])
            entropies = np.asarray(-xlog2(np.array([ones, 1 - ones])).sum(axis=0))
        return super()._weights(bits, entropies)

    def _similarity(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        if self._skips_scores(len(bits.schema)):
            return np.zeros((0, 0))
        if self._published:
            return self._claimed_pair_scores(bits, self._score_of, epsilon, reason=REASONS["pairs"])
        per_record = self.rows_ if self.relation == Relation.ADD_REMOVE else 1.0
        return super()._similarity(bits, epsilon) / per_record

    def _clusters(self, schema: Schema, k: int, **how: Any) -> Clusters:
        groups = list(Binarization(schema).groups)
        return super()._clusters(schema, k) if self.similarity_.size else contiguous_clusters(groups, k)


class NoPrivacy(FilteredSynthesizer):
    """Synthetic rows from the network of HMPrivBayes without noise, as a baseline. Not private.

    It shows what noise costs. See the module.

    Parameters
    ----------
    epsilon
        Not used.
    mode
        There is no other.
    relation
        Not used, but in the ledger.
    noise
        Not used.
    random_state
        Of the clustering and the sampling.
    score
        What rates pairs and families; MI is the paper's.
    """

    reference = phrase("Zhang, Shen and Yang 2022")
    best_for = "non-private baseline"
    provable_published = "none"
    mode: str = choice(default="published", options=("published",))
    seconds = (0.3, 0.3)
    published_relations = FilteredSynthesizer.relations
    controls = controls_of(PAGES["NoPrivacy"])
    presets = presets_of(PAGES, "NoPrivacy")
    score: str = choice(default="MI", options=SCORES)

    def _check(self, schema: Schema) -> None:
        self._check_parents(schema, self.max_parents)

    def _shares(self, d: int) -> Sequence[Epsilon]:
        return [1] * 4

    def _bits(self, table: PrivateTable) -> PrivateTable:
        return super()._bits(table.noiseless(REASONS["noiseless"], claimed_epsilon=inf))

    def _entropies(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        self.rows_ = float(bits.counts([()], epsilon=1)[0])
        return super()._entropies(bits, epsilon)

    def _ask(self, *query: Any, **how: Any) -> tuple[list[Floats], list[float]]:
        noisy, losses = super()._ask(*query, **how)
        return noisy, [inf] * len(losses)

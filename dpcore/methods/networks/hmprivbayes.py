r"""HMPrivBayes: Bayesian networks over clusters of bits, noise weighted by entropy; and NoPrivacy.

Paper 001.

Idea      Turn every column into bits. Cluster bits that depend on each other, learn a small
          Bayesian network in each cluster, and sample rows from the networks. Clusters keep the
          networks small, hence fast.

Steps, as published (mode="published"); d bits, k clusters, at most l parents
  0  Columns become bits (`Binarization`).                                            public, row by row
  1  DPSC: the mutual information of every pair of bits (for bits that is the paper's MIC), with
     Laplace noise; spectral clustering of the matrix.                                  noisy_scores
     The paper's affinity exp(-s / 2 sigma^2) treats the score s as a distance. But s is a
     similarity, so dependent bits are separated. The paper prints neither sigma, nor the number k1
     of eigenvectors, nor eta (step 2). Here the defaults are 1, k and .1.
  2  IBayes, in each cluster of c bits: the first bit by entropy, then one family after the other by
     mutual information. That takes c exponential mechanisms (first="random": one less, for a random
     first bit as in PrivBayes).                                                      choose, growth
     A parent is left out if its noisy score with the child is below eta times the best score of
     either.
  3  HnoisyConditionals: the marginals of families l + 1 and later, with noise in proportion to
     exp(OE). OE is the entropy of the child, H / log n with n = 2 values (weights="equal": equal
     noise for all, as in other methods). Earlier families are contained in family l + 1.     counts
     If the filter of step 2 made an earlier family that is not contained in it, this step is
     undefined. Such a family is measured as well here, out of the same epsilon. Algorithm 5 prints
     l' = min(|C| - 1, d). With d, at most one marginal would get noise; so l is meant.
  4  Negative cells become 0. Rows are sampled from parents to children, cluster by cluster. The
     paper does not say how. Here counts are rounded along the network, which is closer to its
     marginals than independent draws, and bit patterns without a value are repaired.
                                                                                     post-processing

Steps, corrected (mode="corrected")
  1a One-way marginals of all bits, for a tenth of step 3's epsilon; OE is computed from them. With
     weights="equal" they are measured only where n is private.                               counts
  1b Scores of all pairs, by default R. The affinity uses 1 - s, with the median of all distances as
     sigma^2 (affinity="fixed").                                                        noisy_scores
     partition="public" needs no query and clusters the columns in their order. The marginals get
     the epsilon of this step.
  2  As published, with R by default: d exponential mechanisms over all clusters, at epsilon_2 / d
     each.                                                                            choose, growth
  3  The marginals of all clusters as one sequential composition, in proportion to exp(-OE). counts
     An early family that is not contained in family l + 1 (because of the filter) is measured as
     well. The marginals are made consistent, without negative cells (`max_entropy`).
                                                                                     post-processing

Steps, NoPrivacy: as published, on noiseless answers: all scores, the best candidate at every
     choice, all marginals.                                                                noiseless
     The difference between a published release and NoPrivacy is the loss by privacy. The difference
     between NoPrivacy and the data is the loss by bits, few parents and clusters (affinity="fixed"
     has better ones). Epsilon is infinite, no one claims otherwise, and a NoPrivacy release must
     not be published. Its parameters `epsilon` and `relation` change nothing; they make it
     comparable with other methods.

Privacy
  Public    The schema, hence the bits; k, l, eta; the shares (d-1) : 2d/k : 2d/k of the three
            steps; n under replace. Under add_remove n is estimated from the one-way marginals, and
            `max_rows` bounds it for entropies.
  1a, 3     Each marginal has L1 sensitivity 2 (replace) or 1 (add_remove); sequential composition.
  1b        One person changes all C(d,2) scores: the L1 sensitivity is C(d,2) times that of one
            score (derived in `scores`).
  2         d exponential mechanisms, sequential composition over all clusters, because a person has
            bits in each of them.
  Sum       epsilon_1 + epsilon_2 + epsilon_3 = epsilon.
  Noise     On Adult's 45,222 complete rows at epsilon 1, the pairs' scores get Laplace noise of
            scale .138 (R) or 1.17 (MI, whose largest value is 1).

What the paper claims, and where it is wrong
  Its neighbors are data sets that differ by a row that is inserted, deleted or changed. Its
  constants are those of a change, and n is public.
  1  It treats pairs of different bits as parallel composition, floor(d/2) at a time. Parallel
     composition needs disjoint *people*. Take n rows of zeros, and the same with one row of ones:
     every pair changes by D_b(n). The factor floor(d/2) is attained, 26 on Adult and 87 on Big5.
  2  It treats clusters as parallel composition: epsilon_2 and epsilon_3 are each spent k times.
  3  The noiseless entropies scale the noise. Laplace noise of two scales has an unbounded ratio of
     densities, so no finite epsilon holds. Without this flaw (weights="equal"), the sum would be
     12.75 epsilon on Adult and 38.88 epsilon on Big5.
  4  It says that less noise is added. Its weights do not achieve that: by Cauchy and Schwarz the
     sum of m marginals' scales, proportional to sum w_j times sum 1 / w_j, is at least m^2, which
     equal weights attain.
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
    grow_families,
)
from dpcore.methods.parameters import choice, controls_of, number, presets_of, whole
from dpcore.postprocess.bayes_net import Family
from dpcore.postprocess.clustering import Clusters, contiguous_clusters, related_columns
from dpcore.postprocess.simplex import combine_row_sums, project_rows

ONE_WAYS = Fraction(1, 10)  # share of the marginals' epsilon for the entropies that weight them


class FilteredSynthesizer(ClusteredSynthesizer):
    """Base of methods that cluster bits by scores of pairs, and leave out parents with low scores.

    Parameters
    ----------
    affinity
        How clustering reads the scores: as similarities ('fixed'), or as the paper's distances
        ('published'), which separate dependent bits. Default: the paper's as published, 'fixed' in
        corrected mode.
    sigma
        The scale parameter of the paper's affinity, which the paper does not print.
    k1
        Number of eigenvectors for clustering; by default the number of clusters.
    eta
        A parent is left out if its score is below this share of the best score.
    first
        Whether the first bit of a cluster is chosen by its entropy, or at random as in PrivBayes. A
        random bit has no privacy loss, and the other choices of the network get its share.
    """

    affinity: str | None = choice(default=None, options=("fixed", "published"))
    sigma: float = number(default=1.0, minimum=0.001, maximum=1000.0)
    k1: int | None = whole(default=None)
    eta: float = number(default=0.1, maximum=1, open=")")
    first: str = choice(default="entropy", options=("entropy", "random"))

    @property
    def _affinity(self) -> str:
        """How clustering reads the scores: the parameter, or the default of the mode."""
        return self.affinity or ("published" if self._published else "fixed")

    def _clusters(self, schema: Schema, k: int, **how: Any) -> Clusters:
        """Return `k` clusters of bits by the scores of pairs, with the method's affinity."""
        return super()._clusters(schema, k, affinity=self._affinity, sigma=self.sigma, k1=self.k1)

    def _count_choices(self, size: int) -> int:
        """Return how many exponential mechanisms a cluster of `size` bits needs."""
        return size - (self.first == "random")

    def _choose_families(
        self, bits: PrivateTable, cluster: Sequence[int], epsilon: Epsilon, claim: ClaimedValues
    ) -> Iterator[Family]:
        """Yield the families of a cluster: the first bit, then a child and its parents per choice.

        `cluster` has the positions of its bits. Each choice spends `epsilon`; `claim` is what the
        source claims of it. Parents whose scores are too low are left out.
        """
        names, similar = [bits.schema.names[j] for j in cluster], self.similarity_
        related = related_columns(similar[np.ix_(cluster, cluster)], self.eta) if len(similar) else None
        if self.first == "random":
            # a random stream for each cluster; other steps use the streams below 5
            first = int(generator(self.random_state, 5 + cluster[0]).integers(len(names)))
        else:
            first = int(bits.choose(Entropy(), [(name,) for name in names], epsilon=epsilon, **claim))
        growth = bits.grow_network(self._family_score, names, max_parents=self.max_parents, related=related)
        return grow_families(names[first], growth, epsilon, claim)


class HMPrivBayes(FilteredSynthesizer):
    """Synthetic rows from small Bayesian networks over clusters of bits.

    Zhang, Shen and Yang 2022: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    score
        Corrected mode: the score of pairs and families. The paper's is MI, which needs about eight
        times the noise of R.
    partition
        Whether clusters come from noisy scores ('learned'), or are the columns in their order
        ('public', corrected mode only).
    weights
        Whether marginals share their epsilon in proportion to exp(-entropy of the child)
        ('entropy'), or equally ('equal'). Equal shares read no entropies, and make the sum of the
        noise scales least.
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
        """Raise ParameterError if public clusters are not allowed, or families are too many."""
        super()._check(schema)
        if self._published and self.partition == "public":
            raise ParameterError("Published mode cannot use partition='public'.", "Use partition='learned'.")

    def _skips_scores(self, d: int) -> bool:
        """Return whether clusters of `d` bits need no scores: public clusters, or a single bit."""
        return self.partition == "public" or d == 1

    @property
    def _measures_bits(self) -> bool:
        """Whether one-way marginals of bits are measured: for weights, or for n."""
        return not self._published and (self.weights == "entropy" or self.relation == Relation.ADD_REMOVE)

    def _shares(self, d: int) -> Sequence[Epsilon]:
        """Return the shares of epsilon for single bits, pairs of bits, networks and marginals.

        For d bits and k clusters, the shares of pairs, networks and marginals are (d-1) : 2d/k :
        2d/k. Single bits take a tenth of the marginals' share. Without scores of pairs, the
        marginals get their share.
        """
        k = min(self.n_clusters, d)
        for_pairs, for_networks, for_tables = shares_of(self.epsilon, [d - 1.0, 2 * d / k, 2 * d / k] if d > 1 else 3)
        for_bits = for_tables * ONE_WAYS if self._measures_bits else 0
        return for_bits, for_pairs, for_networks, for_tables - for_bits + (for_pairs if self._skips_scores(d) else 0)

    def _entropies(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        """Return the entropy of every bit, shape (d,), from noisy one-way marginals.

        Zeros are returned if these marginals are not measured. Under add_remove, they also estimate
        the number of rows.
        """
        if not self._measures_bits:
            return super()._entropies(bits, epsilon)
        marginals = bits.counts([(name,) for name in bits.schema.names], epsilon=epsilon)
        if self.relation == Relation.ADD_REMOVE:
            self.rows_ = max(float(combine_row_sums([each[None, :] for each in marginals])[0]), 1.0)
        counts = project_rows(np.array(marginals), np.full(len(marginals), self.rows_))
        return np.asarray(-xlog2(counts / max(self.rows_, 1.0)).sum(axis=1))

    def _weights(self, bits: PrivateTable, entropies: Floats) -> dict[str, float]:
        """Return each marginal's weight in the split of epsilon, by the name of its child.

        Weights are equal, or exp(-entropy). As published the entropies are noiseless, which is not
        private.
        """
        if self.weights == "equal":
            return dict.fromkeys(bits.schema.names, 1.0)
        if self._published:
            codes = bits.read_unprotected(REASONS["weights"], claimed_epsilon=0)
            ones = codes.mean(axis=0) if len(codes) else np.zeros(codes.shape[1])
            entropies = np.asarray(-xlog2(np.array([ones, 1 - ones])).sum(axis=0))
        return super()._weights(bits, entropies)

    def _similarity(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        """Return the noisy scores of all pairs of bits, shape (d, d); (0, 0) if not needed."""
        if self._skips_scores(len(bits.schema)):
            return np.zeros((0, 0))
        if self._published:
            return self._claimed_pair_scores(bits, self._family_score, epsilon, reason=REASONS["pairs"])
        per_record = self.rows_ if self.relation == Relation.ADD_REMOVE else 1.0
        return super()._similarity(bits, epsilon) / per_record

    def _clusters(self, schema: Schema, k: int, **how: Any) -> Clusters:
        """Return `k` clusters of bits by scores; without scores, neighboring columns."""
        groups = list(Binarization(schema).groups)
        return super()._clusters(schema, k) if self.similarity_.size else contiguous_clusters(groups, k)


class NoPrivacy(FilteredSynthesizer):
    """Synthetic rows from the network of HMPrivBayes without noise: a baseline. Not private.

    The comparison with HMPrivBayes shows what noise costs. See the module.

    Parameters
    ----------
    epsilon
        Not used.
    mode
        Only 'published'.
    relation
        Used in the ledger only.
    noise
        Not used.
    random_state
        Seed of the clustering and the sampling.
    score
        The score of pairs and families; MI is the paper's.
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
        """Raise ParameterError if the candidate families would not fit into memory."""
        self._check_parents(schema, self.max_parents)

    def _shares(self, d: int) -> Sequence[Epsilon]:
        """Return equal shares, which change nothing: noiseless answers have an infinite loss."""
        return [1] * 4

    def _bits(self, table: PrivateTable) -> PrivateTable:
        """Return the table recoded as bits, with noiseless answers."""
        return super()._bits(table.noiseless(REASONS["noiseless"], claimed_epsilon=inf))

    def _entropies(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        """Set the number of rows, and return zeros: entropies are not needed."""
        self.rows_ = float(bits.counts([()], epsilon=1)[0])
        return super()._entropies(bits, epsilon)

    def _measure(self, *query: Any, **how: Any) -> tuple[list[Floats], list[float]]:
        """Return the noiseless marginals of families, and an infinite epsilon for each.

        The arguments are those of `NetworkSynthesizer._measure`.
        """
        noisy, losses = super()._measure(*query, **how)
        return noisy, [inf] * len(losses)

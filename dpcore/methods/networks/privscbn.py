r"""PrivSCBN: spectral clusters of bits, with a greedy Bayesian network in each.

A comparison of paper 001.

Idea      Like HMPrivBayes, but with Jaccard's index for the clusters, networks that grow parent by
          parent, and equal noise on every marginal. Reconstructed: the paper was not available to
          us. What its abstract and paper 001 leave open is our choice, marked (*).

Steps, as published (mode="published"); d bits, k clusters, at most l parents; a third of epsilon
for each step
  1  Jaccard's index |x and y| / |x or y| of every pair of bits, with Laplace noise for a
     sensitivity of 1/n (*), as many pairs at a time as in HMPrivBayes; spectral clustering by
     similarity, not by its opposite (*).                                               noisy_scores
  2  In each cluster the first bit by entropy (*). Then a child and its first parent by mutual
     information, and up to l - 1 more parents one at a time (*), each by an exponential mechanism.
                                                                                              choose
  3  The marginals of family l + 1 and later, with equal noise in each cell (the source draws once
     per value of the parents and takes p(0) = 1 - p(1) (*)). Earlier families are contained in
     family l + 1.                                                                            counts
  4  As in HMPrivBayes.                                                              post-processing

Steps, corrected (mode="corrected")
  1  The 2 x 2 marginal of every pair; Jaccard's index of it, with a union of at least 1.     counts
  2  As published, with R by default. All choices of all clusters are one sequential composition.
                                                                                              choose
  3  The marginals of all clusters as one sequential composition, made consistent and without
     negative cells (`max_entropy`).                                                          counts

Privacy
  Public    The schema, hence the bits; k and l; n under replace. Under add_remove n is estimated
            from the 2 x 2 marginals, and `max_rows` bounds it for entropies.
  1, 3      Each marginal has L1 sensitivity 2 (replace) or 1 (add_remove); sequential composition.
  2         The number of choices is public: per cluster, one for the first bit and min(l, t) for
            the bit at position t. Sequential composition.
  Sum       A third of epsilon each.

What the source claims, and where it is wrong
  Jaccard's index has sensitivity 1, not O(1/n), because the union of two bits may be one person.
  Pairs and clusters are treated as parallel composition, as in HMPrivBayes, though every person is
  in all of them.

Reference  Hong et al. 2022 (PrivSCBN), by its abstract and the remarks of Zhang, Shen and Yang
(2022).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from dpcore.accounting.relation import Epsilon, Relation, shares_of
from dpcore.arguments import Floats
from dpcore.door import PrivateTable
from dpcore.door.privacy_costs import ClaimedValues
from dpcore.language import phrase
from dpcore.mechanisms.scores import Entropy, Jaccard
from dpcore.methods.networks.base import PAGES, REASONS, ClusteredSynthesizer, pair_matrix
from dpcore.methods.parameters import presets_of
from dpcore.postprocess.bayes_net import Family


class PrivSCBN(ClusteredSynthesizer):
    """Synthetic rows from Bayesian networks over clusters by Jaccard's index.

    Hong et al. 2022, reconstructed: as published, and corrected. See the module for steps and
    privacy.
    """

    reference = phrase("Hong et al. 2022")
    best_for = "comparison"
    provable_published = "thousands of times epsilon"
    seconds = (0.5, 0.5)
    presets = presets_of(PAGES, "PrivSCBN")
    reconstruction_note = phrase(
        "The source was not available to us. The claim shown here is our reading of its abstract, "
        "and of Zhang, Shen and Yang (2022)."
    )
    exhaustive = False
    overlap = REASONS["source_clusters"]

    def _shares(self, d: int) -> Sequence[Epsilon]:
        """Return shares of epsilon: none for single bits, a third for each later step."""
        return [0, *shares_of(self.epsilon, 3)]

    def _similarity(self, bits: PrivateTable, epsilon: Epsilon) -> Floats:
        """Return Jaccard's index of all pairs of bits, shape (d, d).

        As published the index is noisy; in corrected mode it is computed from noisy marginals.
        Under add_remove, where n is private, the same query sets `rows_`.
        """
        d = len(bits.schema)
        if self._published and d > 1:
            claim = {"claimed_sensitivity": 1 / max(self.rows_, 1.0), "reason": REASONS["jaccard"]}
            return self._claimed_pair_scores(bits, Jaccard(), epsilon, **claim)
        # a single bit has no pair: its marginal is measured, for the number of rows
        pairs: list[Family] = list(combinations(bits.schema.names, 2)) or [bits.schema.names]
        tables = np.array(bits.counts(pairs, epsilon=epsilon)).reshape(len(pairs), -1)
        if self.relation == Relation.ADD_REMOVE:
            self.rows_ = max(float(tables.sum(axis=1).mean()), 1.0)
        if d == 1:
            return np.zeros((1, 1))
        return pair_matrix(tables[:, 3] / np.maximum(tables[:, 1:].sum(axis=1), 1.0), d)

    def _count_choices(self, size: int) -> int:
        """Return how many exponential mechanisms a cluster of `size` bits needs."""
        return 1 + sum(min(self.max_parents, t) for t in range(1, size))

    def _choose_families(
        self, bits: PrivateTable, cluster: Sequence[int], epsilon: Epsilon, claim: ClaimedValues
    ) -> Iterator[Family]:
        """Yield the families of a cluster: a child with its first parent, then its further parents.

        `cluster` has the positions of its bits. Each bit and each parent is chosen by an
        exponential mechanism at a loss of `epsilon`; `claim` is what the source claims of it.
        """
        names = [bits.schema.names[j] for j in cluster]

        def choose(candidates: list[Family]) -> Family:
            """Return the candidate that an exponential mechanism selects."""
            score = self._family_score if len(candidates[0]) > 1 else Entropy()
            return candidates[int(bits.choose(score, candidates, epsilon=epsilon, **claim))]

        family = choose([(name,) for name in names])
        yield family
        placed = [*family]
        while left := [name for name in names if name not in placed]:
            family = choose([(child, parent) for child in left for parent in placed])
            while len(family) <= min(self.max_parents, len(placed)):
                family = choose([(*family, parent) for parent in placed if parent not in family])
            yield family
            placed.append(family[0])

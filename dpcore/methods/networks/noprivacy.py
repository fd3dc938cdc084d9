r"""NoPrivacy: the network of HMPrivBayes without any noise, the reference that shows what noise costs (paper 001).

Idea      The best clusters, the best families, the exact tables. What a release loses beside it, it loses to privacy;
          what it loses itself, it loses to bits, clusters and few parents.

Steps     Those of HMPrivBayes (see there) on exact answers: all scores, the best candidate at every choice, all tables.
                                                                                                           without_noise

Privacy   None: epsilon is infinite, and nobody claims otherwise. The release must not be published. The parameters
          `epsilon` and `relation` are there so that it can stand beside the other methods; they change nothing.

Reference  as HMPrivBayes.
"""

from itertools import combinations
from math import inf

import numpy as np

from dpcore.arguments import Progress
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import NoNoise, generator
from dpcore.methods.networks.base import (
    SCORES,
    FilteredSynthesizer,
    grow_network,
    pair_matrix,
    placing,
    to_measure,
)
from dpcore.methods.offers import NO_NOISE, Offer
from dpcore.methods.parameters import Control, choice, number, text, whole
from dpcore.postprocess.clustering import related_columns, spectral_clusters

REASON = "There is no noise at all: a reference for comparison, not to be published."


class NoPrivacy(FilteredSynthesizer):
    """The network of HMPrivBayes without noise. See the module."""

    title = "NoPrivacy"
    good_for = "the reference without noise"
    provable_printed = "none"
    page = "networks"
    seconds = (0.3, 0.3)
    printed_relations = FilteredSynthesizer.relations
    controls = (Control("relation", "What is protected: one row", shown="replace", place="relation"),)
    offers = (Offer(label="No privacy: the reference without noise", mode="paper", remark=NO_NOISE),)
    modes = ("paper",)
    epsilon: float = number(default=1.0, about="Not used.")
    mode: str = text(default="paper", kind="{'paper'}", about="There is no other.")
    relation: str = text(default="replace", kind="{'replace', 'add_remove'}", about="Not used, but booked.")
    noise: str = text(default="auto", kind="{'auto', 'opendp', 'geometric', 'laplace'}", about="Not used.")
    random_state: int | None = whole(default=None, least=0, optional=True, about="Of the clustering and the sampling.")
    score: str = choice(default="MI", options=SCORES, about="What rates pairs and families; MI is the paper's.")

    def _check(self, schema: Schema) -> None:
        self._check_parents(schema, self.max_parents)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        progress(0.0, "Scoring pairs of bits")
        self.noise_label_ = NoNoise.label.capitalize()
        bits = self._bits(table.without_noise(REASON, claimed_epsilon=inf))
        names, d = bits.schema.names, len(bits.schema)
        self.rows_ = float(bits.counts([()], epsilon=1)[0])
        score = SCORES[self.score]
        pairs = list(combinations(names, 2))
        scores = bits.noisy_scores(score, pairs, epsilon=1) if pairs else np.zeros(0)
        self.similarity_ = pair_matrix(scores, d)
        clusters = spectral_clusters(
            self.similarity_, self.n_clusters, generator(self.random_state, 1), affinity=self.affinity
        )
        self.clusters_ = [tuple(names[j] for j in cluster) for cluster in clusters]
        self.families_, measured = [], []
        for cluster, members in zip(clusters, self.clusters_, strict=True):
            network = grow_network(
                bits,
                members,
                score,
                max_parents=self.max_parents,
                epsilon=1,
                related=related_columns(self.similarity_[np.ix_(cluster, cluster)], self.eta),
                grown=placing(progress, len(self.families_), d),
            )
            self.families_ += network
            measured += to_measure(network, self.max_parents)
        self._keep(measured, bits.counts(measured, epsilon=1), [inf] * len(measured))
        progress(1.0, "Done")

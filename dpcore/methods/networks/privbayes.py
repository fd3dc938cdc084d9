r"""PrivBayes: one Bayesian network over all columns, learned and measured privately.

A comparison of paper 001.

Idea      Choose a network of small families by the exponential mechanism. Measure the families'
          marginals with noise. Sample rows from parents to children.

Steps     beta times epsilon chooses the network; the rest measures marginals.
  variant="general" (TODS 2017), on the columns as they are
  1  A first column at random. Then d - 1 times a child with a set of parents, by the score
     R = 1/2 ||P_XPi - P_X P_Pi||_1. Candidates are all maximal sets of parents whose marginals have
     at most m = n epsilon_2 / (2 d theta) cells.                                             choose
  2  The marginals of all d families.                                                         counts
  variant="binary" (SIGMOD 2014), on bits
  1  The largest k with n epsilon_2 / ((d-k) 2^(k+2)) >= theta. If k = 0, all bits are independent,
     and the whole epsilon measures. Otherwise a first bit at random; then d - 1 times a child with
     k parents, by the score F or mutual information.                                           growth
  2  The marginals of families k + 1 and later; the first k families are contained in family k + 1.
                                                                                              counts
  Then negative cells become 0, and rows are sampled.                                post-processing

  Published mode has the papers' constants, corrected mode the door's: R's sensitivity is
  3(n-1)/n^2, not 3/n + 2/n^2. In corrected mode marginals are made consistent, without negative
  cells and with one total (`max_entropy`). Under add_remove marginals need half the noise, and n is
  measured for a hundredth of epsilon.

Privacy
  Public    The schema, beta, theta, the largest number of parents, and n under replace.
  1         d - 1 exponential mechanisms, sequential composition (sensitivities: `scores`).
  2         Each marginal has L1 sensitivity 2 (replace) or 1 (add_remove); sequential composition.
  Sum       beta epsilon + (1 - beta) epsilon, of what is left after n; all of it for marginals if
            k = 0. With a delta, the same holds of rho, and theta compares counts with the sigma of
            the Gaussian noise.

What the papers claim   epsilon, and they are right. For columns the constant of R is even a little
larger than necessary.

Reference  Zhang, Cormode, Procopiuc, Srivastava, Xiao: PrivBayes, SIGMOD 2014 and ACM TODS 42(4),
2017.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import comb, log2
from typing import Any, Self

from dpcore.accounting.privacy_measure import PrivacyLoss, PrivacyMeasure
from dpcore.accounting.relation import Relation, exact
from dpcore.arguments import Progress
from dpcore.domain.partition import bit_widths
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import generator
from dpcore.mechanisms.scores import LinearF
from dpcore.methods.base import MOST_DELTA, Measurement, clique_measurement, count_rows, greedy_clique
from dpcore.methods.networks.base import (
    MOST_PARENTS,
    NO_CLUSTERS,
    PAGES,
    PLACED,
    SCORES,
    NetworkSynthesizer,
    families_to_measure,
    grow_families,
)
from dpcore.methods.parameters import choice, controls_of, number, presets_of, whole

SCORE = PAGES["NetworkSynthesizer"]["score"]
NAMES = SCORE["names"]
COLUMNS = phrase("{placed:d} of {columns:d} columns added to the network")
FOR_ROWS = Fraction(1, 100)  # share of epsilon for n, where n is private
VARIANTS = {"general": ("R", "MI"), "binary": ("F", "MI", "R")}
ALL_SCORES = {**SCORES, "F": LinearF()}
SLOW = phrase("The score F takes too long for more than 3 parents: at most 3 parents will be used.")


class PrivBayes(NetworkSynthesizer):
    """Synthetic rows from a Bayesian network over columns or bits.

    Zhang et al. 2014, 2017: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    variant
        Whether the network is over columns as they are ('general'), or over bits ('binary').
    score
        The score of families. For columns R (the default) or MI; for bits F (the default), MI or R.
        Under add_remove MI needs the schema's `max_rows`.
    max_parents
        An upper limit, at most 3 with the score F. A small epsilon may allow fewer parents.
    beta
        The network's share of epsilon.
    theta
        Usefulness: the least ratio of a cell's mean count to its noise.
    """

    reference = phrase("Zhang et al. 2014, 2017")
    best_for = "synthetic data of few columns"
    paper = "001"
    provable_published = "epsilon"
    presets = presets_of(PAGES, "PrivBayes")
    controls = controls_of(
        {"score": SCORE},
        score={
            "names": lambda method, _: {one: NAMES[one] for one in NAMES if one in VARIANTS[method.variant]},
            "initial": lambda method, _: method._score,
            "when": {},
            "note": lambda method, _: SLOW if method.implied_parameters(0) else "",
        },
    )
    delta: float = number(default=0.0, maximum=MOST_DELTA)
    variant: str = choice(default="general", options=VARIANTS)
    score: str | None = choice(default=None, options=ALL_SCORES)
    max_parents: int = whole(default=3, maximum=MOST_PARENTS)
    beta: float = number(default=0.3, maximum=1, open="()")
    theta: float = number(default=4.0, open="(")

    def implied_parameters(self, rows: int | None) -> dict[str, Any]:
        """Return max_parents=3 if the score F does not allow the chosen number of parents."""
        return {"max_parents": 3} if self.score == "F" and self.max_parents > 3 else {}

    @property
    def _score(self) -> str:
        """Name of the score: the parameter, or the default of the variant."""
        return VARIANTS[self.variant][0] if self.score is None else self.score

    @property
    def _binary(self) -> bool:
        """Whether the network is over bits of the columns."""
        return self.variant == "binary"

    def with_epsilon(self, epsilon: float) -> Self:
        """Return a copy with another epsilon, and with families of the same sizes.

        Theta is scaled as well, because usefulness compares theta with n epsilon.
        """
        measure = PrivacyMeasure.from_delta(self.delta)
        ours, theirs = (self._cell_scale(measure.loss_of(each)) for each in (self.epsilon, epsilon))
        times = ours / theirs if self.epsilon else 1.0
        copy: Self = super().with_epsilon(epsilon).set_params(theta=self.theta * times)
        return copy

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the score contradicts the variant, the parents or the schema."""
        if self._score not in VARIANTS[self.variant]:
            allowed = ", ".join(VARIANTS[self.variant])
            raise ParameterError(f"The variant {self.variant!r} has no score {self.score!r}.", f"Use {allowed}.")
        if self._score == "F" and self.max_parents > 3:
            raise ParameterError("The score F takes too long for more than 3 parents.", "Use max_parents=3, MI or R.")
        self._check_score(ALL_SCORES[self._score], schema)
        self._check_parents(schema, self.max_parents)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Learn the network at a loss of beta times epsilon, and measure with the rest."""
        progress(0.0, phrase("Looking for dependent columns"))
        total = self._budget(table)
        rows, spent = count_rows(table, total * FOR_ROWS)
        self.rows_, total = rows if self.relation == Relation.REPLACE else max(rows, 1.0), total - spent
        for_network = total * exact(self.beta)
        if self._binary:
            self._fit_bits(self._bits(table), for_network, total - for_network, progress)
        else:
            self._fit_columns(table, for_network, total - for_network, progress)

    def measurements(self, table: PrivateTable) -> list[Measurement]:
        """Return the expected marginals: families of near columns or bits that are useful."""
        sizes, total = table.schema.sizes, self._budget(table)
        self.rows_ = float(table.public_rows or 1)
        total *= 1 - FOR_ROWS * (table.relation is Relation.ADD_REMOVE)
        for_tables, d = total - total * exact(self.beta), len(sizes)
        if self._binary:
            d = sum(bit_widths(sizes))
            parents = self._parents_of_bits(d, for_tables)
            share = (for_tables if parents else total) / (d - parents)
            return self._bit_noise(table, parents, share, NO_CLUSTERS)
        room = self.rows_ / (self.theta * self._cell_scale(for_tables / d))
        families = [greedy_clique(sizes, j, self.max_parents, room) for j in range(d)]
        variance = table.cell_variance(for_tables / d)
        return [clique_measurement(sizes, family, variance, clips=self._published) for family in families]

    def fit_seconds(self, table: PrivateTable) -> float:
        """Estimate the seconds of a fit; over bits, by the number of candidate families."""
        tables = [one.cells for one in self.measurements(table) if not one.for_columns]
        if not tables:  # of columns, or of bits without parents
            return super().fit_seconds(table)
        bits, own = sum(bit_widths(table.schema.sizes)), round(log2(tables[0]))
        return float(2 * (own * comb(bits, own) / 1e6) ** 0.65)

    def _fit_bits(
        self, bits: PrivateTable, for_network: PrivacyLoss, for_tables: PrivacyLoss, progress: Progress
    ) -> None:
        """Learn a network over bits, and measure its marginals.

        `for_network` and `for_tables` are the privacy losses of the two parts.
        """
        left = list(bits.schema.names)
        k = self._parents_of_bits(len(left), for_tables)
        if k == 0:
            for_network, for_tables = Fraction(0), for_tables + for_network
            self.families_ = [(name,) for name in left]
        else:
            first = left[int(generator(self.random_state, 1).integers(len(left)))]
            growth = bits.grow_network(ALL_SCORES[self._score], left, max_parents=k)
            self.families_ = []
            for done, family in enumerate(grow_families(first, growth, for_network / (len(left) - 1), {}), 1):
                self.families_.append(family)
                progress(0.9 * (done / len(left)) ** (k + 1), PLACED.format(placed=done, bits=len(left)))
        progress(0.9, phrase("Measuring marginals"))
        measured = families_to_measure(self.families_, k)
        self._set_family_tables(measured, *self._measure(bits, measured, for_tables))

    def _parents_of_bits(self, d: int, for_tables: PrivacyLoss) -> int:
        """Return the largest number of parents with useful marginals (SIGMOD 2014, section 4.3).

        `d` is the number of bits, and `for_tables` the privacy loss of all marginals. A marginal is
        useful if its mean cell is at least theta times the scale of the noise.
        """
        useful = [
            k
            for k in range(1, min(self.max_parents, d - 1) + 1)
            if self.rows_ >= self.theta * self._cell_scale(for_tables / (d - k)) * 2 ** (k + 1)
        ]
        return max(useful, default=0)

    def _fit_columns(
        self, table: PrivateTable, for_network: PrivacyLoss, for_tables: PrivacyLoss, progress: Progress
    ) -> None:
        """Learn a network over columns, and measure its marginals.

        `for_network` and `for_tables` are the privacy losses of the two parts.
        """
        schema, left = table.schema, list(table.schema.names)
        room = self.rows_ / (self.theta * self._cell_scale(for_tables / len(left)))
        first = left.pop(int(generator(self.random_state, 1).integers(len(left))))
        self.families_ = [(first,)]
        score, rows = ALL_SCORES[self._score], table.public_rows or 0
        claimed = 3 / rows + 2 / rows**2 if self._published and self._score == "R" and rows else None
        share = for_network * Fraction(1, max(len(left), 1))
        while left:
            placed = [(family[0], schema[family[0]].size) for family in self.families_]
            progress(0.9 * len(placed) / len(schema), COLUMNS.format(placed=len(placed), columns=len(schema)))
            candidates = [
                (child, *parents)
                for child in left
                for parents in maximal_sets(placed, room / schema[child].size, self.max_parents)
            ]
            chosen = int(table.choose(score, candidates, epsilon=share, claimed_sensitivity=claimed))
            self.families_.append(candidates[chosen])
            left.remove(candidates[chosen][0])
        if len(schema) == 1:
            for_tables += for_network
        progress(0.9, phrase("Measuring marginals"))
        self._set_family_tables(self.families_, *self._measure(table, self.families_, for_tables))


def maximal_sets(columns: Sequence[tuple[str, int]], room: float, most: int) -> list[tuple[str, ...]]:
    """Return the maximal sets of at most `most` columns whose marginals have at most `room` cells.

    `columns` are pairs of a name and a number of values. A set is maximal if no column can be
    added. The result is [()] if nothing fits. It is the recursion of the TODS paper (algorithm 5):
    sets with the first column, and sets without it to which it cannot be added.
    """
    if not columns or not most:
        return [()]
    (name, size), *rest = columns
    without = maximal_sets(rest, room, most)
    if size > room:
        return without
    holding = [(name, *others) for others in maximal_sets(rest, room / size, most - 1)]
    extended = {others[1:] for others in holding}
    return holding + [others for others in without if others not in extended]

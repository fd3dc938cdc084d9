"""Privacy loss of the door's queries, as ledger entries, and the scale of their noise.

Lemmas used (Dwork and Roth 2014; L1 throughout):
Laplace      Noise of scale b on a vector of L1 sensitivity D has the privacy loss D/b. One marginal
             has D = 1 under add_remove and 2 under replace. The two-sided geometric distribution
             gives the same on integers.
Exponential  Selecting r with probability proportional to exp(t q(r)) has the loss 2 t D; or t D, if
             neighbors change all scores in one direction or one score only (`Bounds.loss`).
Epsilon 0    No information: counts are returned as zeros and selections are uniform, whatever the
             rows.

In a run with a delta, losses are in rho and Gaussian noise replaces Laplace noise
(`accounting.privacy_measure` has the lemmas). One marginal has the L2 sensitivity 1 under
add_remove and sqrt(2) under replace; the scores of m candidates have sqrt(m) times the sensitivity
of one. Budgets of queries and their entries are then in rho.

A claim is the source's: a sensitivity, to which noise is then scaled, or an epsilon for the whole
query. A claim never changes the proven bound, which follows from the noise and the true
sensitivity. Claims are in pure epsilon.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log2
from typing import TypedDict

import numpy as np

from dpcore.accounting.ledger import Entry
from dpcore.accounting.privacy_measure import PURE, PrivacyLoss, PrivacyMeasure
from dpcore.accounting.relation import Epsilon, Relation, exact, shares_of
from dpcore.errors import ParameterError
from dpcore.mechanisms.scores import Bounds

Names = Sequence[str]
NAMED = 4  # marginals that an entry lists by name
GRID_BITS = 20  # noisy scores are multiples of about 2^-20 of their sensitivity


class ClaimedValues(TypedDict, total=False):
    """What a source claims about a query, where the claim differs from the truth."""

    claimed_epsilon: Epsilon | None
    """For all answers of the query together; by default the budget that is spent on them."""
    claimed_sensitivity: float | None
    """The noise is scaled to this; selection is by exp(epsilon q / (2 claimed_sensitivity))."""
    reason: str
    """Why the claim and the proven bound differ, in words."""


@dataclass(frozen=True, kw_only=True)
class QueryClaim:
    """The claim of one query: `ClaimedValues` with the privacy measure of the ledger."""

    claimed_epsilon: Epsilon | None = None
    claimed_sensitivity: float | None = None
    reason: str = ""
    measure: PrivacyMeasure = PURE

    def scaled_to(self, sensitivity: float) -> float:
        """Return the sensitivity that scales the noise: the claimed one, or else `sensitivity`."""
        if self.claimed_sensitivity is None:
            return sensitivity
        if not 0 < self.claimed_sensitivity < np.inf:
            raise ParameterError(
                "`claimed_sensitivity` must be positive and finite.", "Call `read_unprotected` to read without noise."
            )
        return self.claimed_sensitivity

    def entry(
        self, name: str, mechanism: str, sensitivity: float, scale: float,
        *, spent: Epsilon, bound: Epsilon, draws: int,
    ) -> Entry:  # fmt: skip
        """Return the ledger entry of a query.

        `spent` is the budget of the query, and the claimed epsilon unless the source states
        another; `bound` is the proven epsilon. `scale` is that of the noise, and `draws` the number
        of random draws.
        """
        return Entry(
            name=name,
            mechanism=mechanism,
            epsilon_claimed=spent if self.claimed_epsilon is None else exact(self.claimed_epsilon),
            epsilon_nominal=bound,
            sensitivity=sensitivity,
            claimed_sensitivity=self.scaled_to(sensitivity),
            scale=scale,
            draws=draws,
            reason=self.reason,
            unit=self.measure.unit,
        )


def scale_bound(epsilon: Epsilon, sensitivity: float, scaled_to: float) -> Epsilon:
    """Return the proven epsilon of noise that is scaled to a claimed sensitivity.

    The noise would give `epsilon` at the sensitivity `scaled_to`; the true one is `sensitivity`.
    """
    return epsilon if scaled_to == sensitivity else epsilon * exact(sensitivity / scaled_to)


def marginal_entries(
    cliques: Sequence[Names],
    relation: Relation,
    mechanism: str,
    epsilon: Epsilon,
    weights: list[float] | None,
    claim: QueryClaim,
) -> list[Entry]:
    """Return one ledger entry per noisy marginal, whose `scale` is that of its noise.

    `cliques` has the columns of each marginal, `mechanism` is the name of the noise, and `claim`
    what the source claims of the query. The marginals share `epsilon` in proportion to `weights`,
    by default equally.
    """
    sensitivity = claim.measure.histogram_sensitivity(relation)
    scaled_to = claim.scaled_to(sensitivity)
    parts = len(cliques) if weights is None else weights
    shares = shares_of(epsilon, parts)
    claimed = shares if claim.claimed_epsilon is None else shares_of(claim.claimed_epsilon, parts)
    entries = []
    for clique, share, claimed_share in zip(cliques, shares, claimed, strict=True):
        name = f"counts of {' × '.join(clique)}" if clique else "number of rows"
        scale = claim.measure.scale(share, scaled_to)
        bound = scale_bound(share, sensitivity, scaled_to)
        own = replace(claim, claimed_epsilon=claimed_share)
        entries.append(own.entry(name, mechanism, sensitivity, scale, spent=share, bound=bound, draws=1))
    return entries


def noise_entry(name: str, mechanism: str, measure: PrivacyMeasure, sensitivity: float, loss: PrivacyLoss) -> Entry:
    """Return the ledger entry of one noisy vector, whose `scale` is that of the noise.

    `sensitivity` is the vector's, in the norm of the `measure`, and `loss` its privacy loss.
    """
    scale, spent = measure.scale(loss, sensitivity), exact(loss)
    return QueryClaim(measure=measure).entry(name, mechanism, sensitivity, scale, spent=spent, bound=spent, draws=1)


def histogram_entry(cliques: Sequence[Names], relation: Relation, epsilon: Epsilon) -> Entry:
    """Return the ledger entry of marginals that the K-norm mechanism releases all at once."""
    names = [" × ".join(clique) for clique in cliques]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return count_entry(f"histograms of {', '.join(names[:NAMED])}{more}", relation, "k-norm", epsilon)


def count_entry(name: str, relation: Relation, mechanism: str, epsilon: Epsilon, *, one_by_one: int = 1) -> Entry:
    """Return the ledger entry of counts over disjoint tree nodes.

    `one_by_one` is the number of counts that are charged sequentially: 1, unless a source charges
    every cell of a marginal.
    """
    total, sensitivity = exact(epsilon), relation.histogram_l1
    scale = PURE.scale(total, sensitivity, one_by_one)
    return QueryClaim().entry(name, mechanism, sensitivity, scale, spent=total, bound=total, draws=one_by_one)


def selection_entry(
    name: str, bounds: Bounds, per_draw: Epsilon, draws: int, claim: QueryClaim, *, exactly: bool
) -> tuple[Entry, float]:
    """Return the entry of exponential mechanisms, and the factor of scores in their exponent.

    `bounds` has the sensitivity, privacy loss factor and rounding error of the score. There are
    `draws` mechanisms with the loss `per_draw` each; `claim` is what the source claims of them.
    With the factor 0 candidates are selected uniformly. With exactly sampled noise (`exactly`) the
    factor is divided by 1 + 2 rounding / loss, so that the recorded loss covers the rounding of
    scores.
    """
    sensitivity, loss, rounding = bounds
    divisor = loss if claim.claimed_sensitivity is None else 2 * claim.scaled_to(sensitivity)
    factor = claim.measure.selection_exponent(per_draw) / divisor if divisor else 0.0
    bound = draws * (per_draw if divisor == loss else exact(factor * loss))
    if exactly and loss:
        factor /= 1 + 2 * rounding / loss
    name, scale, spent = f"choice by {name}", 1 / factor if factor else np.inf, draws * per_draw
    return claim.entry(name, "exponential", sensitivity, scale, spent=spent, bound=bound, draws=draws), factor


def score_entry(
    name: str, bounds: Bounds, values: int, epsilon: Epsilon, claim: QueryClaim, *, exactly: bool
) -> tuple[Entry, float]:
    """Return the ledger entry of noise on the scores of all candidates, and the noise's grid.

    `bounds` has the sensitivity, privacy loss factor and rounding error of the score, `values` is
    the number of scores, and `claim` what the source claims of them. The noise is a multiple of the
    grid, and the entry's `scale` is its scale. With exactly sampled noise (`exactly`), scores that
    differ by D, and are off by their rounding, differ by at most D + rounding + grid after they are
    rounded to the grid. The scale grows by that ratio, so that the recorded loss covers both.
    """
    sensitivity, _, rounding = bounds
    scaled_to, total = claim.scaled_to(sensitivity), exact(epsilon)
    grid = 2.0 ** (floor(log2(sensitivity)) - GRID_BITS) if sensitivity else 1.0  # dividing by it is exact
    wider = 1 + (rounding + grid) / sensitivity if exactly and sensitivity else 1.0
    scale = wider * claim.measure.scale(total, scaled_to, values)
    name, bound = f"{values} values of {name}", scale_bound(total, sensitivity, scaled_to)
    distribution = claim.measure.distribution
    return claim.entry(name, distribution, sensitivity, scale, spent=total, bound=bound, draws=values), grid


def unused_entry(name: str, claimed_epsilon: Epsilon, bound: Epsilon) -> Entry:
    """Return the ledger entry of queries that a run may make, but that its rows did not need.

    `bound` is their proven epsilon.
    """
    return QueryClaim().entry(name, "none", 0.0, 0.0, spent=exact(claimed_epsilon), bound=exact(bound), draws=0)


def unprotected_entry(name: str, reason: str, claimed_epsilon: Epsilon) -> Entry:
    """Return the ledger entry of noiseless answers about rows: the proven epsilon is infinite.

    `reason` says why the source's claim is wrong.
    """
    return replace(unused_entry(name, claimed_epsilon, np.inf), sensitivity=np.inf, draws=1, reason=reason)

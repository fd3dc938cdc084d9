"""What the door's questions cost, and the noise that goes with it.

Lemmas used (Dwork and Roth 2014; L1 throughout):
Laplace        noise of scale b on a vector of L1 sensitivity D costs D/b. One table of counts has D = 1 under
               add_remove and 2 under replace; the two-sided geometric distribution gives the same on integers.
Exponential    choosing r with probability proportional to exp(t q(r)) costs 2 t D, or t D if neighbors move all scores
               the same way or one score only (see `Bounds.loss`).
Epsilon 0      buys nothing: counts come back as zeros and choices are uniform, whatever the rows.

Where a run counts rho, Gaussian noise takes Laplace's place, and `accounting.currency` has the
lemmas: one table of counts moves by 1 in L2 under add_remove and by the root of 2 under replace,
the scores of m candidates by root m times the sensitivity of one. What a question may spend is then
of rho, and so is what its entry says.

A claim is the source's: a sensitivity, to which the noise is then scaled, or an epsilon for the
whole question. It never touches the bound, which follows from the noise and the true sensitivity.
Claims are in pure epsilon.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log2
from typing import TypedDict

import numpy as np

from dpcore.accounting.currency import PURE, PrivacyMeasure
from dpcore.accounting.ledger import Entry
from dpcore.accounting.relation import Epsilon, Relation, exact, shares_of
from dpcore.errors import ParameterError
from dpcore.mechanisms.scores import Bounds

Names = Sequence[str]
NAMED = 4  # tables that an entry names
GRID_BITS = 20  # noisy scores are whole multiples of some 2^-20 of their sensitivity


class ClaimedValues(TypedDict, total=False):
    """What a source says of a question, where it differs from what is true."""

    claimed_epsilon: Epsilon | None
    """For all answers of the question together; by default what was asked to be spent on them."""
    claimed_sensitivity: float | None
    """The noise is scaled to it: selection is then by exp(epsilon q / (2 claimed_sensitivity))."""
    reason: str
    """Why claim and bound differ, in words."""


@dataclass(frozen=True, kw_only=True)
class QueryClaim:
    """`ClaimedValues`, as it was given to a question."""

    claimed_epsilon: Epsilon | None = None
    claimed_sensitivity: float | None = None
    reason: str = ""
    measure: PrivacyMeasure = PURE

    def scaled_to(self, sensitivity: float) -> float:
        """The sensitivity that the noise is scaled to."""
        if self.claimed_sensitivity is None:
            return sensitivity
        if not 0 < self.claimed_sensitivity < np.inf:
            raise ParameterError(
                "A claimed sensitivity is not positive.", "A method without noise asks `unprotected_entry`."
            )
        return self.claimed_sensitivity

    def entry(
        self, name: str, mechanism: str, sensitivity: float, scale: float, *, paid: Epsilon, bound: Epsilon, draws: int
    ) -> Entry:
        """The entry of a question; what was `paid` is what the source says it costs, unless it claims otherwise."""
        return Entry(
            name=name,
            mechanism=mechanism,
            epsilon_claimed=paid if self.claimed_epsilon is None else exact(self.claimed_epsilon),
            epsilon_nominal=bound,
            sensitivity=sensitivity,
            claimed_sensitivity=self.scaled_to(sensitivity),
            scale=scale,
            draws=draws,
            reason=self.reason,
            unit=self.measure.unit,
        )


def bound_of(epsilon: Epsilon, sensitivity: float, scaled_to: float) -> Epsilon:
    """What noise that would buy `epsilon` at one sensitivity buys at the true one."""
    return epsilon if scaled_to == sensitivity else epsilon * exact(sensitivity / scaled_to)


def tables(
    families: Sequence[Names],
    relation: Relation,
    mechanism: str,
    epsilon: Epsilon,
    weights: list[float] | None,
    claim: QueryClaim,
) -> list[Entry]:
    """One entry per noisy contingency table; its `scale` is the noise to draw."""
    sensitivity = claim.measure.histogram_sensitivity(relation)
    scaled_to = claim.scaled_to(sensitivity)
    parts = len(families) if weights is None else weights
    shares = shares_of(epsilon, parts)
    claimed = shares if claim.claimed_epsilon is None else shares_of(claim.claimed_epsilon, parts)
    entries = []
    for family, share, claimed_share in zip(families, shares, claimed, strict=True):
        name = f"counts of {' × '.join(family)}" if family else "number of rows"
        scale = claim.measure.scale(share, scaled_to)
        bound = bound_of(share, sensitivity, scaled_to)
        own = replace(claim, claimed_epsilon=claimed_share)
        entries.append(own.entry(name, mechanism, sensitivity, scale, paid=share, bound=bound, draws=1))
    return entries


def histograms(families: Sequence[Names], relation: Relation, epsilon: Epsilon) -> Entry:
    """The entry of tables that are asked for at once, with noise for all together."""
    names = [" × ".join(family) for family in families]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return counts(f"histograms of {', '.join(names[:NAMED])}{more}", relation, "k-norm", epsilon)


def counts(name: str, relation: Relation, mechanism: str, epsilon: Epsilon, *, one_by_one: int = 1) -> Entry:
    """The entry of counts, as of disjoint nodes; `one_by_one` counts of a record are paid for one after the other."""
    total, sensitivity = exact(epsilon), relation.histogram_l1
    scale = PURE.scale(total, sensitivity, one_by_one)
    return QueryClaim().entry(name, mechanism, sensitivity, scale, paid=total, bound=total, draws=one_by_one)


def choice(
    name: str, bounds: Bounds, per_draw: Epsilon, draws: int, claim: QueryClaim, *, exactly: bool
) -> tuple[Entry, float]:
    """The entry of an exponential mechanism, and the factor of the score in its exponent (0: choose uniformly).

    Exactly: the factor is divided by 1 + 2 rounding / loss, so that what is booked covers the
    rounding of scores.
    """
    sensitivity, loss, rounding = bounds
    divisor = loss if claim.claimed_sensitivity is None else 2 * claim.scaled_to(sensitivity)
    factor = claim.measure.selection_exponent(per_draw) / divisor if divisor else 0.0
    bound = draws * (per_draw if divisor == loss else exact(factor * loss))
    if exactly and loss:
        factor /= 1 + 2 * rounding / loss
    name, scale, spent = f"choice by {name}", 1 / factor if factor else np.inf, draws * per_draw
    return claim.entry(name, "exponential", sensitivity, scale, paid=spent, bound=bound, draws=draws), factor


def noisy_values(
    name: str, bounds: Bounds, values: int, epsilon: Epsilon, claim: QueryClaim, *, exactly: bool
) -> tuple[Entry, float]:
    """The entry of noise on the scores of all candidates, and the grid that it is drawn on.

    The entry's `scale` is the noise to draw. Exactly: scores that are D apart, and out by their
    rounding, are at most D + rounding + grid apart on the grid, and the scale is larger by that
    ratio, so that what is booked covers both.
    """
    sensitivity, _, rounding = bounds
    scaled_to, total = claim.scaled_to(sensitivity), exact(epsilon)
    grid = 2.0 ** (floor(log2(sensitivity)) - GRID_BITS) if sensitivity else 1.0  # dividing by it is exact
    wider = 1 + (rounding + grid) / sensitivity if exactly and sensitivity else 1.0
    scale = wider * claim.measure.scale(total, scaled_to, values)
    name, bound = f"{values} values of {name}", bound_of(total, sensitivity, scaled_to)
    distribution = claim.measure.distribution
    return claim.entry(name, distribution, sensitivity, scale, paid=total, bound=bound, draws=values), grid


def unused_entry(name: str, claimed_epsilon: Epsilon, bound: Epsilon) -> Entry:
    """The entry of questions that a run has room for, and that its rows did not call for."""
    return QueryClaim().entry(name, "none", 0.0, 0.0, paid=exact(claimed_epsilon), bound=exact(bound), draws=0)


def unprotected_entry(name: str, reason: str, claimed_epsilon: Epsilon) -> Entry:
    """The entry of noiseless answers, and no bound at all."""
    return replace(unused_entry(name, claimed_epsilon, np.inf), sensitivity=np.inf, draws=1, reason=reason)

"""What the door's questions cost, and the noise that goes with it.

Lemmas used (Dwork and Roth 2014; L1 throughout):
Laplace        noise of scale b on a vector of L1 sensitivity D costs D/b. One table of counts has D = 1 under
               add_remove and 2 under replace; the two-sided geometric distribution gives the same on integers.
Exponential    choosing r with probability proportional to exp(t q(r)) costs 2 t D, or t D if neighbors move all scores
               the same way or one score only (see `Score.exponent_loss`).
Epsilon 0      buys nothing: counts come back as zeros and choices are uniform, whatever the rows.

A claim is the source's: a sensitivity, to which the noise is then scaled, or an epsilon for the whole question. It
never touches the bound, which follows from the noise and the true sensitivity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log2

import numpy as np

from dpcore.accounting.ledger import Entry
from dpcore.accounting.relation import Epsilon, Relation, exact, shares_of
from dpcore.errors import ParameterError
from dpcore.mechanisms.scores import Score
from dpcore.mechanisms.scores.base import Shape

Family = Sequence[str]
GRID_BITS = 20  # noisy scores are whole multiples of some 2^-20 of their sensitivity


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a source says of a question, where it differs from what is true.

    Attributes
    ----------
    epsilon : optional
        For all answers of the question together.
    sensitivity : optional
        The noise is scaled to it.
    reason : str
        Why claim and bound differ, in words.
    """

    epsilon: Epsilon | None = None
    sensitivity: float | None = None
    reason: str = ""

    def scaled_to(self, sensitivity: float) -> float:
        """The sensitivity that the noise is scaled to."""
        if self.sensitivity is None:
            return sensitivity
        if not 0 < self.sensitivity < np.inf:
            raise ParameterError("A claimed sensitivity is not positive.", "A method without noise asks `unprotected`.")
        return self.sensitivity


def bound_of(epsilon: Epsilon, sensitivity: float, scaled_to: float) -> Epsilon:
    """What noise that would buy `epsilon` at one sensitivity buys at the true one."""
    return epsilon if scaled_to == sensitivity else epsilon * exact(sensitivity / scaled_to)


def tables(
    families: Sequence[Family],
    relation: Relation,
    mechanism: str,
    epsilon: Epsilon,
    weights: list[float] | None,
    claim: Claim,
) -> list[Entry]:
    """One entry per noisy contingency table; its `scale` is the noise to draw."""
    sensitivity = relation.histogram_l1
    scaled_to = claim.scaled_to(sensitivity)
    parts = len(families) if weights is None else weights
    shares = shares_of(epsilon, parts)
    claimed = shares if claim.epsilon is None else shares_of(claim.epsilon, parts)
    return [
        Entry(
            name=f"counts of {' × '.join(family)}" if family else "number of rows",
            mechanism=mechanism,
            epsilon_claimed=claimed_share,
            epsilon_of_noise=bound_of(share, sensitivity, scaled_to),
            sensitivity=sensitivity,
            claimed_sensitivity=scaled_to,
            scale=scaled_to / float(share) if float(share) else np.inf,
            reason=claim.reason,
        )
        for family, share, claimed_share in zip(families, shares, claimed, strict=True)
    ]


def node_counts(
    name: str, relation: Relation, mechanism: str, epsilon: Epsilon, claim: Claim, *, one_by_one: int = 1
) -> Entry:
    """The entry of counts of disjoint nodes; `one_by_one` counts of a record are paid for one after the other."""
    total = exact(epsilon)
    return Entry(
        name=name,
        mechanism=mechanism,
        epsilon_claimed=total if claim.epsilon is None else exact(claim.epsilon),
        epsilon_of_noise=total,
        sensitivity=relation.histogram_l1,
        claimed_sensitivity=relation.histogram_l1,
        scale=one_by_one * relation.histogram_l1 / float(total) if float(total) else np.inf,
        draws=one_by_one,
        reason=claim.reason,
    )


def choice(
    score: Score,
    shapes: Sequence[Shape],
    relation: Relation,
    rows: int | None,
    per_draw: Epsilon,
    draws: int,
    claim: Claim,
    *,
    exactly: bool,
) -> tuple[Entry, float]:
    """The entry of an exponential mechanism, and the factor of the score in its exponent (0: choose uniformly).

    Exactly: the factor is divided by 1 + 2 rounding / loss, so that what is booked covers the rounding of scores.
    """
    sensitivity = score.sensitivity(shapes, relation, rows)
    loss = score.exponent_loss(shapes, relation, rows)
    if claim.sensitivity is None:
        factor, bound = float(per_draw) / loss if loss else 0.0, draws * per_draw
    else:
        factor = float(per_draw) / (2 * claim.scaled_to(sensitivity))
        bound = draws * exact(factor * loss)
    if exactly and loss:
        factor /= 1 + 2 * score.rounding(shapes, relation, rows) / loss
    entry = Entry(
        name=f"choice by {score.name}",
        mechanism="exponential",
        epsilon_claimed=draws * per_draw if claim.epsilon is None else exact(claim.epsilon),
        epsilon_of_noise=bound,
        sensitivity=sensitivity,
        claimed_sensitivity=claim.scaled_to(sensitivity),
        scale=1 / factor if factor else np.inf,
        draws=draws,
        reason=claim.reason,
    )
    return entry, factor


def noisy_values(
    score: Score,
    shapes: Sequence[Shape],
    relation: Relation,
    rows: int | None,
    epsilon: Epsilon,
    claim: Claim,
    *,
    exactly: bool,
) -> tuple[Entry, float]:
    """The entry of one Laplace mechanism on the scores of all candidates, and the grid that the noise is drawn on.

    The entry's `scale` is the noise to draw. Exactly: scores that are D apart, and out by their rounding, are at most
    D + rounding + grid apart on the grid, and the scale is larger by that ratio, so that what is booked covers both.
    """
    sensitivity = score.sensitivity(shapes, relation, rows)
    scaled_to, total = claim.scaled_to(sensitivity), exact(epsilon)
    grid = 2.0 ** (floor(log2(sensitivity)) - GRID_BITS) if sensitivity else 1.0  # dividing by it is exact
    wider = 1 + (score.rounding(shapes, relation, rows) + grid) / sensitivity if exactly and sensitivity else 1.0
    entry = Entry(
        name=f"{len(shapes)} values of {score.name}",
        mechanism="laplace",
        epsilon_claimed=total if claim.epsilon is None else exact(claim.epsilon),
        epsilon_of_noise=bound_of(total, sensitivity, scaled_to),
        sensitivity=sensitivity,
        claimed_sensitivity=scaled_to,
        scale=wider * (len(shapes) * scaled_to / float(total)) if total else np.inf,
        draws=len(shapes),
        reason=claim.reason,
    )
    return entry, grid


def unprotected(name: str, reason: str, claimed_epsilon: Epsilon) -> Entry:
    """The entry of exact answers: no bound at all."""
    return Entry(
        name=name,
        mechanism="none",
        epsilon_claimed=exact(claimed_epsilon),
        epsilon_of_noise=np.inf,
        sensitivity=np.inf,
        claimed_sensitivity=0.0,
        scale=0.0,
        reason=reason,
    )


def unasked(name: str, claimed_epsilon: Epsilon, bound: Epsilon) -> Entry:
    """The entry of questions that a run has room for, and that its rows did not call for."""
    return Entry(
        name=name,
        mechanism="none",
        epsilon_claimed=exact(claimed_epsilon),
        epsilon_of_noise=exact(bound),
        sensitivity=0.0,
        claimed_sensitivity=0.0,
        scale=0.0,
        draws=0,
    )

"""The one exit for answers about private rows: charge the ledger, then draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, Unpack

import numpy as np

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.privacy_measure import PrivacyLoss
from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Floats
from dpcore.domain.column import Counts
from dpcore.door.privacy_costs import ClaimedValues, QueryClaim, selection_entry, unprotected_entry
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import Noise
from dpcore.mechanisms.scores import Bounds, Score, Shape

Answer = TypeVar("Answer")
QueryKind = Literal["counts", "choose", "histograms", "moments", "noisy_scores", "randomize", "unprotected"]


class Door:
    """A ledger, and the noise that is drawn after the ledger was charged.

    Parameters
    ----------
    ledger : Ledger
        The ledger that every query is charged to.
    noise : Noise
        The source of noise, of the distribution that the ledger's privacy measure needs.
    rows : int, optional
        A public upper bound on the number of rows, on which sensitivities rest. None if there is no
        bound, or if there are more rows than declared.
    unprotected_allowed : bool, default=False
        Whether rows may be read without noise (published mode).
    """

    def __init__(
        self, ledger: Ledger, noise: Noise, *, rows: int | None = None, unprotected_allowed: bool = False
    ) -> None:
        if noise.distribution != ledger.measure.distribution and noise.on_counts != "none":
            raise ParameterError(
                f"The noise is {noise.distribution.title()}'s, but the ledger counts {ledger.measure}.",
                "Make noise of the distribution that the ledger's privacy measure needs.",
            )
        self.ledger, self.noise, self.rows, self.unprotected_allowed = ledger, noise, rows, unprotected_allowed

    def with_ledger(self, ledger: Ledger) -> Door:
        """Return a door with the same noise and bound on the number of rows, but another ledger."""
        return Door(ledger, self.noise, rows=self.rows, unprotected_allowed=self.unprotected_allowed)

    def answer(self, query: QueryKind, entries: Sequence[Entry], draw: Callable[[], Answer]) -> Answer:
        """Charge the entries to the ledger, then return what `draw` returns.

        `query` is the kind of query, such as "counts", and `draw` is a function that reads the rows
        and draws noise. Every answer leaves through this function; replay tests replace it by
        recorded answers.
        """
        self.ledger.charge(*entries)
        return draw()

    def noisy_counts(self, tables: Sequence[Counts], scales: Sequence[float]) -> list[Floats]:
        """Return marginals with noise of the given scales, one array per marginal.

        A marginal whose scale is infinite (epsilon 0) is returned as zeros, whatever the rows.
        """
        found = [np.zeros(table.shape) for table in tables]
        finite = [i for i, scale in enumerate(scales) if np.isfinite(scale)]
        if finite:
            noisy = self.noise.many_counts([tables[i] for i in finite], [scales[i] for i in finite])
            for i, table in zip(finite, noisy, strict=True):
                found[i] = table
        return found

    def read_unprotected(self, name: str, reason: str, claimed: Epsilon, look: Callable[[], Answer]) -> Answer:
        """Return what `look` reads from the rows without noise, at infinite privacy loss.

        `name` is the query's in the ledger, `claimed` the epsilon that the source claims for it,
        and `reason` a sentence on why the source is wrong. ParameterError in corrected mode: only a
        published mode may read unprotected rows.
        """
        if not self.unprotected_allowed or self.ledger.delta:
            raise ParameterError("Corrected mode cannot read unprotected rows.", "Send the door a query.")
        return self.answer("unprotected", [unprotected_entry(name, reason, claimed)], look)

    def bounds(self, score: Score, shapes: Sequence[Shape]) -> Bounds:
        """Return the sensitivity, privacy loss factor and rounding error of a score.

        `shapes` has the shape of each candidate's marginal. The result follows from the score, the
        relation and the bound on rows; so it is public, and nothing is charged.
        """
        return score.bounds(shapes, self.ledger.relation, self.rows)

    def claim(self, **claimed: Unpack[ClaimedValues]) -> QueryClaim:
        """Return a source's claim about a query; ParameterError in a run with delta.

        `claimed` are the fields of `ClaimedValues`. Claims are in pure epsilon, so a run that
        counts rho has none.
        """
        if self.ledger.delta and {*map(claimed.get, ("claimed_epsilon", "claimed_sensitivity"))} != {None}:
            raise ParameterError("A source's claim needs a run in pure epsilon.", "Set delta=0, or drop the claim.")
        return QueryClaim(**claimed, measure=self.ledger.measure)

    def selection_entry(
        self, score: Score, shapes: Sequence[Shape], epsilon: PrivacyLoss, claim: QueryClaim, *, draws: int = 1
    ) -> tuple[Entry, float]:
        """Return the ledger entry of exponential mechanisms, and the factor of their scores.

        The probability of a candidate is proportional to exp(factor * score). `shapes` has the
        shape of each candidate's marginal, `epsilon` is the loss of all mechanisms, `draws` their
        number, and `claim` what the source claims of them. Nothing is charged or drawn.
        """
        bounds, exactly = self.bounds(score, shapes), self.noise.exactly_sampled
        return selection_entry(score.name, bounds, exact(epsilon), draws, claim, exactly=exactly)

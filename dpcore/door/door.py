"""Where answers leave: what a question costs is charged, and only then is it answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, Unpack

import numpy as np

from dpcore.accounting.currency import PrivacyLoss
from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Floats
from dpcore.domain.column import Counts
from dpcore.door import prices
from dpcore.door.prices import ClaimedValues, QueryClaim
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import Noise
from dpcore.mechanisms.scores import Bounds, Score, Shape

Answer = TypeVar("Answer")
Question = Literal["counts", "choose", "histograms", "noisy_scores", "randomize", "unprotected"]


class Door:
    """An account, and the noise that is drawn once it was charged.

    Sensitivities rest on `rows`, a public bound on the number of rows: None where there is none, or
    where the rows are more than declared. Rows may be looked at if `unprotected_allowed` (published
    mode).
    """

    def __init__(
        self, ledger: Ledger, noise: Noise, *, rows: int | None = None, unprotected_allowed: bool = False
    ) -> None:
        if noise.distribution != ledger.measure.distribution and noise.on_counts != "none":
            raise ParameterError(
                f"The noise is {noise.distribution.title()}'s, and the ledger counts {ledger.measure}.",
                "Make the noise with the law of the ledger's currency.",
            )
        self.ledger, self.noise, self.rows, self.unprotected_allowed = ledger, noise, rows, unprotected_allowed

    def on(self, ledger: Ledger) -> Door:
        """The same, with another account."""
        return Door(ledger, self.noise, rows=self.rows, unprotected_allowed=self.unprotected_allowed)

    def answer(self, question: Question, entries: Sequence[Entry], draw: Callable[[], Answer]) -> Answer:
        """Every answer leaves through here; replay tests put a tape in its place."""
        self.ledger.charge(*entries)
        return draw()

    def noisy_counts(self, tables: Sequence[Counts], scales: Sequence[float]) -> list[Floats]:
        """Tables with noise of these scales; zeros, whatever the rows, where epsilon 0 has bought noise without end."""
        found = [np.zeros(table.shape) for table in tables]
        chosen_pairs = [i for i, scale in enumerate(scales) if np.isfinite(scale)]
        noisy = (
            self.noise.many_counts([tables[i] for i in chosen_pairs], [scales[i] for i in chosen_pairs])
            if chosen_pairs
            else []
        )
        for i, table in zip(chosen_pairs, noisy, strict=True):
            found[i] = table
        return found

    def unprotected(self, name: str, reason: str, claimed: Epsilon, look: Callable[[], Answer]) -> Answer:
        """What is seen of the rows themselves: the bound becomes infinite, and only published mode may ask."""
        if not self.unprotected_allowed or self.ledger.delta:
            raise ParameterError("Corrected mode cannot read rows without protection.", "Send the door a query.")
        return self.answer("unprotected", [prices.unprotected_entry(name, reason, claimed)], look)

    def bounds(self, score: Score, shapes: Sequence[Shape]) -> Bounds:
        """What one person may do to scores of tables of these shapes; public, no question."""
        return score.bounds(shapes, self.ledger.relation, self.rows)

    def claim(self, **claimed: Unpack[ClaimedValues]) -> QueryClaim:
        """What a source says of a question, in the account's currency; in rho none says anything."""
        if self.ledger.delta and {claimed.get("claimed_epsilon"), claimed.get("claimed_sensitivity")} != {None}:
            raise ParameterError("What a source claims is in pure epsilon.", "Ask with delta=0.")
        return QueryClaim(**claimed, measure=self.ledger.measure)

    def choice(
        self, score: Score, shapes: Sequence[Shape], epsilon: PrivacyLoss, claim: QueryClaim, *, draws: int = 1
    ) -> tuple[Entry, float]:
        """What choices among families of these shapes cost, and the factor of their exponent; no question."""
        bounds, exactly = self.bounds(score, shapes), self.noise.exactly_sampled
        return prices.choice(score.name, bounds, exact(epsilon), draws, claim, exactly=exactly)

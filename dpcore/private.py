"""The door: private rows behind questions that are charged, answered with noise, and written in a ledger.

Methods get a `PrivateTable` and nothing else. For every question the door computes the sensitivity from the kind of
question, the relation and the public schema; charges the ledger; and only then draws. A method whose source states
other constants passes `claimed_sensitivity` (noise is then scaled to the source's constant) or `claimed_epsilon`; the
ledger books what is claimed beside what the noise really bought.

Lemmas used (Dwork and Roth 2014; L1 throughout):
Laplace        noise of scale b on a vector of L1 sensitivity D costs D/b. One table of counts has D = 1 under
               add_remove and 2 under replace; the two-sided geometric distribution gives the same on integers.
Exponential    choosing r with probability proportional to exp(t q(r)) costs 2 t D, or t D if neighbors move all scores
               the same way or one score only (see `Score.exponent_loss`).
Epsilon 0      buys nothing: counts come back as zeros and choices are uniform, whatever the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcore.column import Codes, Column, code_dtype
from dpcore.counting import Counts, joint_counts
from dpcore.errors import ParameterError, SchemaError
from dpcore.ledger import Entry, Epsilon, Ledger, Relation, exact, shares_of
from dpcore.noise import Noise
from dpcore.schema import Schema
from dpcore.scores import Score

__all__ = ["PrivateTable"]

Floats = NDArray[np.float64]
Family = Sequence[str]
Answer = TypeVar("Answer")
Question = Literal["counts", "choose", "noisy_scores", "unprotected"]


class PrivateTable:
    """Encoded private rows and the questions they may be asked.

    Parameters
    ----------
    codes : array of shape (n, d)
        Encoded rows (`Schema.encode`).
    schema : Schema
        Public.
    ledger : Ledger
        Where every question is charged.
    noise : Noise
    unprotected_allowed : bool
        Whether `unprotected` may be called (paper mode).
    """

    def __init__(
        self, codes: Codes, schema: Schema, ledger: Ledger, noise: Noise, *, unprotected_allowed: bool = False
    ) -> None:
        if codes.ndim != 2 or codes.shape[1] != len(schema):
            raise SchemaError("The codes do not have the schema's columns.", "Encode the rows with the same schema.")
        self._codes = codes
        self._noise = noise
        self._unprotected_allowed = unprotected_allowed
        self.schema = schema
        self.ledger = ledger

    @property
    def relation(self) -> Relation:
        """The ledger's neighboring relation."""
        return self.ledger.relation

    @property
    def public_rows(self) -> int | None:
        """The number of rows under replace, where it is public; otherwise the schema's public bound, if declared."""
        return len(self._codes) if self.relation is Relation.REPLACE else self.schema.max_rows

    def counts(
        self,
        families: Sequence[Family],
        *,
        epsilon: Epsilon,
        weights: list[float] | None = None,
        claimed_sensitivity: float | None = None,
    ) -> list[Floats]:
        """Noisy contingency tables; the families share `epsilon` (equally, or in proportion to `weights`).

        Parameters
        ----------
        families : sequence of sequences of column names
        epsilon : float or Fraction
            For all tables together.
        weights : list of float, optional
            Public, positive, one per family.
        claimed_sensitivity : float, optional
            The source's L1 sensitivity of one table, if it differs from the true one.

        Returns
        -------
        list of float arrays
            Table f has one axis per column of family f. Noise scale: sensitivity / (the family's share of epsilon).
        """
        sensitivity = self.relation.histogram_l1
        claimed = sensitivity if claimed_sensitivity is None else positive(claimed_sensitivity)
        shapes = [self._shape(family) for family in families]  # unknown columns are refused before they are charged
        shares = shares_of(epsilon, len(families) if weights is None else weights)
        scales = [claimed / float(share) if float(share) else np.inf for share in shares]
        self.ledger.charge(
            *(
                Entry(
                    name=f"counts of {' × '.join(family)}",
                    mechanism=self._noise.on_counts,
                    epsilon_claimed=share,
                    epsilon_bound=share if claimed == sensitivity else share * exact(sensitivity / claimed),
                    sensitivity=sensitivity,
                    claimed_sensitivity=claimed,
                    scale=scale,
                )
                for family, share, scale in zip(families, shares, scales, strict=True)
            )
        )

        def draw() -> list[Floats]:
            tables = self._count(families)
            return [
                self._noise.counts(table, scale) if np.isfinite(scale) else np.zeros(shape)
                for table, shape, scale in zip(tables, shapes, scales, strict=True)
            ]

        return self._answer("counts", draw)

    def choose(
        self,
        score: Score,
        candidates: Sequence[Family],
        *,
        epsilon: Epsilon,
        draws: int = 1,
        claimed_epsilon: Epsilon | None = None,
        claimed_sensitivity: float | None = None,
        reason: str = "",
    ) -> NDArray[np.intp]:
        """Exponential mechanism: positions of candidates, more probable the higher their score.

        Parameters
        ----------
        score : Score
        candidates : sequence of families
            What the score rates, as families of column names; empty for a score that names its own (`ClassLogScore`).
        epsilon : float or Fraction
            Per draw.
        draws : int
            How many independent choices the score makes at once (its leading axes); they compose sequentially.
        claimed_epsilon : optional
            What the source says that all draws cost together; by default `draws * epsilon`.
        claimed_sensitivity : optional
            The source's sensitivity; selection is then by exp(epsilon q / (2 claimed_sensitivity)).

        Returns
        -------
        int array of the score's leading shape
        """
        shapes = [self._shape(family) for family in candidates]
        rows = self._true_bound()
        sensitivity = score.sensitivity(shapes, self.relation, rows)
        loss = score.exponent_loss(shapes, self.relation, rows)
        per_draw = exact(epsilon)
        if claimed_sensitivity is None:
            factor, bound = float(per_draw) / loss if loss else 0.0, draws * per_draw
        else:
            factor = float(per_draw) / (2 * positive(claimed_sensitivity))
            bound = draws * exact(factor * loss)
        self.ledger.charge(
            Entry(
                name=f"choice by {score.name}",
                mechanism="exponential",
                epsilon_claimed=draws * per_draw if claimed_epsilon is None else exact(claimed_epsilon),
                epsilon_bound=bound,
                sensitivity=sensitivity,
                claimed_sensitivity=sensitivity if claimed_sensitivity is None else claimed_sensitivity,
                scale=1 / factor if factor else np.inf,
                draws=draws,
                reason=reason,
            )
        )

        def draw() -> NDArray[np.intp]:
            values = score.values(self._count, candidates, self.relation)
            if values[..., 0].size != draws:
                raise ParameterError("The score makes another number of choices than was charged.", "Pass draws=.")
            return self._noise.select(values if factor else np.zeros_like(values), factor or 1.0)

        return self._answer("choose", draw)

    def noisy_scores(self, score: Score, candidates: Sequence[Family], *, epsilon: Epsilon) -> Floats:
        """Scores of all candidates with Laplace noise, shape (len(candidates),); `epsilon` is for all together."""
        if not candidates:
            raise ParameterError("There is nothing to score.", "Give one candidate or more.")
        shapes = [self._shape(family) for family in candidates]
        sensitivity = score.sensitivity(shapes, self.relation, self._true_bound())
        total = exact(epsilon)
        scale = len(candidates) * sensitivity / float(total) if total else np.inf
        self.ledger.charge(
            Entry(
                name=f"{len(candidates)} values of {score.name}",
                mechanism="laplace",
                epsilon_claimed=total,
                epsilon_bound=total,
                sensitivity=sensitivity,
                claimed_sensitivity=sensitivity,
                scale=scale,
                draws=len(candidates),
            )
        )

        def draw() -> Floats:
            values = score.values(self._count, candidates, self.relation)
            if values.shape != (len(candidates),):
                raise ParameterError("The score gives other values than were charged.", "Use one value per candidate.")
            return self._noise.reals(values, scale) if np.isfinite(scale) else np.zeros(len(candidates))

        return self._answer("noisy_scores", draw)

    def derive(self, column: Column, sources: Family, rule: NDArray[np.integer[Any]]) -> PrivateTable:
        """The table with one more column, `rule[codes of the sources]`: record by record, hence free.

        Parameters
        ----------
        column : Column
            The new column's public description.
        sources : sequence of column names
        rule : int array, one axis per source
            A public look-up table from the sources' codes to the new code.
        """
        if rule.shape != self._shape(sources) or rule.min() < 0 or rule.max() >= column.size:
            raise ParameterError("The rule does not fit its sources or its new column.", "Give one code per cell.")
        schema = Schema(**{**vars(self.schema), "columns": (*self.schema.columns, column)})
        derived = rule[tuple(self._codes[:, self.schema.index(name)] for name in sources)]
        codes = np.empty((len(self._codes), len(schema)), dtype=code_dtype(max(schema.sizes)), order="F")
        codes[:, :-1], codes[:, -1] = self._codes, derived
        return self._sibling(codes, schema, self.ledger)

    def split(self, by: str, *, name: str = "") -> list[PrivateTable]:
        """One table per value of a column: disjoint records, charged in parallel (see `dpcore.ledger`).

        Empty parts are there as well, so that the number of parts tells nothing.
        """
        group = self.ledger.parallel(name or f"split by {by}", by="value")
        column = self._codes[:, self.schema.index(by)]
        return [
            self._sibling(np.asfortranarray(self._codes[column == code]), self.schema, group.part(label))
            for code, label in enumerate(self.schema[by].labels)
        ]

    def unprotected(self, reason: str, *, claimed_epsilon: Epsilon) -> Codes:
        """The raw codes. The bound becomes infinite; only a paper's own, unproved method may ask."""
        if not self._unprotected_allowed:
            raise ParameterError("Raw rows are not to be had in corrected mode.", "Ask the door a charged question.")
        self.ledger.charge(
            Entry(
                name="raw rows",
                mechanism="none",
                epsilon_claimed=exact(claimed_epsilon),
                epsilon_bound=np.inf,
                sensitivity=np.inf,
                claimed_sensitivity=0.0,
                scale=0.0,
                reason=reason,
            )
        )
        return self._answer("unprotected", self._codes.copy)

    def _answer(self, question: Question, draw: Callable[[], Answer]) -> Answer:
        """Every answer leaves through here, after it was charged; replay tests put a tape in its place."""
        return draw()

    def _count(self, families: Sequence[Family]) -> list[Counts]:
        positions = [[self.schema.index(name) for name in family] for family in families]
        return joint_counts(self._codes, self.schema.sizes, positions)

    def _shape(self, family: Family) -> tuple[int, ...]:
        return tuple(self.schema[name].size for name in family)

    def _true_bound(self) -> int | None:
        """`public_rows`, or None if the table has more rows than declared: no sensitivity can rest on that."""
        rows = self.public_rows
        return None if rows is None or len(self._codes) > rows else rows

    def _sibling(self, codes: Codes, schema: Schema, ledger: Ledger) -> PrivateTable:
        return type(self)(codes, schema, ledger, self._noise, unprotected_allowed=self._unprotected_allowed)


def positive(claimed_sensitivity: float) -> float:
    """A source's sensitivity, if noise can be scaled to it."""
    if not 0 < claimed_sensitivity < np.inf:
        raise ParameterError("A claimed sensitivity is not positive.", "A method without noise asks `unprotected`.")
    return claimed_sensitivity

"""Private rows and what may be done to them for free: record-wise, public rules, and a division by values."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Codes, Column, Counts, code_dtype
from dpcore.domain.schema import Schema
from dpcore.door.door import Door
from dpcore.door.exact_counts import Counter
from dpcore.errors import ParameterError, SchemaError
from dpcore.mechanisms.noise import Noise

Family = Sequence[str]


class PrivateRows:
    """Private rows, encoded by `Schema.encode` (shape (n, d)), and the ledger where every question is charged.

    `unprotected` may be called if it is allowed (paper mode). Numbers, of shape (n,) and NaN if missing, are what a
    method needs of columns besides their bins, by position: the grid's places for trees that cut them (`splits`), or
    values to be randomized.
    """

    def __init__(
        self,
        codes: Codes,
        schema: Schema,
        ledger: Ledger,
        noise: Noise,
        *,
        unprotected_allowed: bool = False,
        numbers: Mapping[int, NDArray[np.float64]] | None = None,
    ) -> None:
        if codes.ndim != 2 or codes.shape[1] != len(schema):
            raise SchemaError("The codes do not have the schema's columns.", "Encode the rows with the same schema.")
        self._codes = codes
        self._counter = Counter(codes, schema.sizes)
        self._sizes = dict(zip(schema.names, schema.sizes, strict=True))
        self._numbers = dict(numbers or {})
        self.schema = schema
        self.ledger = ledger
        rows = self.public_rows
        most = None if rows is None or len(codes) > rows else rows
        self._door = Door(ledger, noise, rows=most, unprotected_allowed=unprotected_allowed)

    @property
    def relation(self) -> Relation:
        """The ledger's neighboring relation."""
        return self.ledger.relation

    @property
    def public_rows(self) -> int | None:
        """The number of rows under replace, where it is public; otherwise the schema's public bound, if declared."""
        return len(self._codes) if self.relation is Relation.REPLACE else self.schema.max_rows

    def derive(self, column: Column, sources: Family, rule: NDArray[np.integer[Any]]) -> Self:
        """The table with one more column, `rule[codes of the sources]`: record by record, hence free.

        The rule is a public look-up table, with one axis per source, from the sources' codes to the new code.
        """
        if rule.shape != self._shape(sources) or rule.min() < 0 or rule.max() >= column.size:
            raise ParameterError("The rule does not fit its sources or its new column.", "Give one code per cell.")
        schema = Schema(**{**vars(self.schema), "columns": (*self.schema.columns, column)})
        derived = rule[tuple(self._codes[:, self.schema.index(name)] for name in sources)]
        codes = np.empty((len(self._codes), len(schema)), dtype=code_dtype(max(schema.sizes)), order="F")
        codes[:, :-1], codes[:, -1] = self._codes, derived
        return self._sibling(codes, schema, self.ledger)

    def recode(self, schema: Schema, rules: Sequence[tuple[str, NDArray[np.integer[Any]]]]) -> Self:
        """The table in other columns, each a public look-up on one of its own: record by record, hence free.

        Rules are, per new column, the column it comes from, and the new code for each of that column's codes.
        """
        codes = np.empty((len(self._codes), len(schema)), dtype=code_dtype(max(schema.sizes)), order="F")
        for j, ((source, rule), size) in enumerate(zip(rules, schema.sizes, strict=True)):
            if rule.shape != self._shape([source]) or rule.min() < 0 or rule.max() >= size:
                raise ParameterError("A rule does not fit its source or its new column.", "Give one code per code.")
            codes[:, j] = rule.astype(codes.dtype)[self._codes[:, self.schema.index(source)]]
        return self._sibling(codes, schema, self.ledger)

    def split(self, by: str, *, name: str = "") -> list[Self]:
        """One table per value of a column: disjoint records, charged in parallel (see `accounting.ledger`).

        Empty parts are there as well, so that the number of parts tells nothing.
        """
        group = self.ledger.parallel(name or f"split by {by}", by="value")
        column = self._codes[:, self.schema.index(by)]
        return [
            self._sibling(np.asfortranarray(self._codes[column == code]), self.schema, group.part(label))
            for code, label in enumerate(self.schema[by].labels)
        ]

    def _count(self, families: Sequence[Family]) -> list[Counts]:
        position = {name: j for j, name in enumerate(self.schema.names)}
        return self._counter.tables([[position[name] for name in family] for family in families])

    def _shape(self, family: Family) -> tuple[int, ...]:
        sizes = self._sizes
        for name in family:
            if name not in sizes:
                self.schema.index(name)  # raises, with what to do
        return tuple(sizes[name] for name in family)

    def _sibling(self, codes: Codes, schema: Schema, ledger: Ledger) -> Self:
        door = self._door
        return type(self)(codes, schema, ledger, door.noise, unprotected_allowed=door.unprotected_allowed)

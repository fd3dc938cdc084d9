"""Whose rows they are: how many one person may have, and, if a column tells persons apart, which of them count.

A guarantee for one row is worth k times less to a person with k rows.
`PrivacyUnit.max_contributions` says what k is at most, and is public. With a column, `kept` chooses
places for at most k rows of each person, so that the guarantee can be made one for persons
(docs/decisions/relations-and-units.md has the proof). What that rests on:

- Which rows of a person are kept depends on that person's rows and their lots alone, and neither on how many other
  persons there are nor on where the rows stand.
- A person has at most k places. Where the number of rows is public, each has exactly k of them: k of their own rows if
  there are more, and otherwise each of them as often as k allows, with the remainder by lot.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpcore.arguments import Floats, Ints, is_whole, plain, require_frame
from dpcore.domain.cells import distinct
from dpcore.domain.former_names import renamed_fields
from dpcore.errors import DataError, SchemaError
from dpcore.text import is_writable

MOST_ROWS = 1_000_000
MOST_PLACES = 30_000_000
EXACT = 2.0**53  # from here on whole numbers that differ by one may be one float


@dataclass(frozen=True)
class PrivacyUnit:
    """Whom a guarantee protects: at most how many rows belong to one person.

    Parameters
    ----------
    max_contributions : int
        The most rows that one person may have, or, with a column, that count of one person; 1 or
        more.
    id_column : str, optional
        The column that says whose row it is. It is no column of the schema: its values are read by
        `fit` alone. With it rows are cut to that many per person, and epsilon is for the person;
        without it nothing is cut, epsilon is for the row, and `max_contributions` times as much for
        the person.

    Raises
    ------
    SchemaError
        If the number or the column's name is none.

    Examples
    --------
    >>> import dpcore as dp
    >>> dp.PrivacyUnit(max_contributions=3, id_column="patient").of_one(1.0)
    1.0
    >>> dp.PrivacyUnit(max_contributions=3).of_one(1.0)
    3.0
    """

    max_contributions: int
    id_column: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_contributions", plain(self.max_contributions))
        object.__setattr__(self, "id_column", plain(self.id_column))
        if not is_whole(self.max_contributions, 1, MOST_ROWS):
            raise SchemaError(
                "`max_contributions` is not a whole number, below 1, or far too large.",
                f"Give a whole number from 1 to {MOST_ROWS:,}.",
            )
        if self.id_column is not None and not (
            isinstance(self.id_column, str) and self.id_column and is_writable(self.id_column)
        ):
            raise SchemaError(
                "`id_column` is empty, or a name that no file can hold.",
                "Give its header as a text, or leave it out.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the privacy unit as JSON-ready values."""
        return {"max_contributions": self.max_contributions, "id_column": self.id_column}

    @classmethod
    def from_dict(cls, raw: Any) -> "PrivacyUnit":
        """Read a privacy unit from what `to_dict` gave.

        Parameters
        ----------
        raw : dict
            The fields by name.

        Returns
        -------
        PrivacyUnit
            An equal one.

        Raises
        ------
        TypeError, SchemaError
            If it is none.
        """
        named = renamed_fields(raw) if isinstance(raw, dict) else {}
        if set(named) != {"max_contributions", "id_column"} or type(named["max_contributions"]) is not int:
            raise TypeError
        return cls(**named)

    def of_one(self, epsilon: float) -> float:
        """Return what a run's epsilon is for one person.

        Parameters
        ----------
        epsilon : float
            The run's epsilon, as the ledger has it.

        Returns
        -------
        float
            Itself where the run protects persons, else once for every row.
        """
        return epsilon if self.id_column is not None else self.max_contributions * epsilon

    def persons(self, frame: pd.DataFrame) -> Ints:
        """Return whose row it is, as numbers in the order of the names, wherever their rows stand.

        Names are compared as texts, as they stand; `7` and `7.0` are one.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows, with the column that names persons.

        Returns
        -------
        int array of shape (n,)
            The number of each row's person, from 0 on.

        Raises
        ------
        DataError
            If the column is lacking, a cell of it is missing, or numbers in it are too large to be
            told apart.
        """
        if self.id_column not in require_frame(frame).columns:
            raise DataError(
                f"The data lack the column {self.id_column!r}, which identifies persons.",
                "Use data with that column, or declare a unit without it.",
            )
        cells = frame[self.id_column]
        indices, names = distinct(cells)
        blank = np.array([not name.strip() for name in names] + [True], dtype=bool)  # the last is of missing cells
        if blank[indices].any():
            raise DataError(
                f"In the column {self.id_column!r}, which identifies persons, a cell is missing.",
                "Name the person of every row, or leave out rows of no person.",
            )
        if pd.api.types.is_float_dtype(cells.dtype) and not (np.abs(cells.to_numpy(float)) < EXACT).all():
            raise DataError(
                f"The column {self.id_column!r}, which identifies persons, has numbers too large to tell apart.",
                "Read it as text.",
            )
        _, rank = np.unique(np.array(names, dtype=object), return_inverse=True)
        return np.asarray(rank[indices], dtype=np.intp)

    def kept(self, persons: Ints, lots: Floats, *, fill: bool) -> Ints:
        """Choose which rows count, person by person.

        Parameters
        ----------
        persons : array of shape (n,)
            Whose row it is, as from `persons`.
        lots : array of shape (n,)
            Independent uniform numbers that have nothing to do with the rows. The rows of a person
            with the smallest ones are kept.
        fill : bool
            Whether each person has exactly `max_contributions` rows (the number of rows is public:
            replace), or at most.

        Returns
        -------
        int array
            The positions of the rows that count; some occur several times if `fill` is set.

        Raises
        ------
        DataError
            If filled rows do not fit into the memory; how many persons there are is public then.
        """
        order = np.lexsort((lots, persons))
        many = np.bincount(persons)
        if fill and self.max_contributions * len(many) > MOST_PLACES:
            raise DataError(
                f"{self.max_contributions:,} places for each of {len(many):,} persons do not fit into the memory.",
                f"Declare fewer rows per person: {max(MOST_PLACES // len(many), 1):,} do.",
            )
        rank = np.arange(len(order)) - (np.cumsum(many) - many)[persons[order]]
        if not fill:
            return np.asarray(order[rank < self.max_contributions])
        often, more = np.divmod(self.max_contributions, many[persons[order]])
        return np.asarray(np.repeat(order, often + (rank < more)))

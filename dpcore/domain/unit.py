"""Privacy units: the most rows per person, and bounding of the contributions of each person.

A guarantee for one row is k times weaker for a person with k rows. `PrivacyUnit.max_contributions`
is the public bound k. With a column that identifies persons, `bound_contributions` keeps at most k
rows per person, so that the guarantee can be for persons (docs/decisions/relations-and-units.md has
the proof). The proof rests on two facts:

- The kept rows of a person depend on that person's rows and random draws alone. They depend neither
  on the number of other persons nor on the positions of the rows.
- A person has at most k kept rows. If the number of rows is public, each person has exactly k: k
  of their own rows if there are more; otherwise every row as often as k allows, and the remainder
  at random.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpcore.arguments import Floats, Ints, is_whole, plain, require_frame
from dpcore.domain.cells import factorize_texts
from dpcore.domain.former_names import renamed_fields
from dpcore.errors import DataError, SchemaError
from dpcore.text import is_writable

MOST_ROWS = 1_000_000
MOST_KEPT_ROWS = 30_000_000
EXACT = 2.0**53  # floats below are exact whole numbers


@dataclass(frozen=True)
class PrivacyUnit:
    """The unit that a guarantee protects: one person with a bounded number of rows.

    Parameters
    ----------
    max_contributions : int
        The most rows that one person may have; with `id_column`, the most rows per person that are
        kept. 1 or more.
    id_column : str, optional
        The column that identifies persons. It is not a column of the schema: only `fit` reads its
        values. With it, at most `max_contributions` rows per person are kept and epsilon holds for
        the person. Without it, all rows are kept, and epsilon holds for the row. For a person with
        k rows it is then k epsilon; in a run with a delta, the epsilon of k^2 times the rho.

    Raises
    ------
    SchemaError
        If `max_contributions` is no whole number of 1 or more, or `id_column` no usable name.

    Examples
    --------
    >>> import dpcore as dp
    >>> dp.PrivacyUnit(max_contributions=3, id_column="patient")
    PrivacyUnit(max_contributions=3, id_column='patient')
    """

    max_contributions: int
    id_column: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_contributions", plain(self.max_contributions))
        object.__setattr__(self, "id_column", plain(self.id_column))
        if not is_whole(self.max_contributions, 1, MOST_ROWS):
            raise SchemaError(
                f"`max_contributions` must be a whole number from 1 to {MOST_ROWS:,}.",
                "Give the most rows that one person may have.",
            )
        if self.id_column is not None and not (
            isinstance(self.id_column, str) and self.id_column and is_writable(self.id_column)
        ):
            raise SchemaError(
                "`id_column` is empty, or has a character that files cannot store.",
                "Give the column's header as text, or leave `id_column` out.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the privacy unit as JSON-ready values."""
        return {"max_contributions": self.max_contributions, "id_column": self.id_column}

    @classmethod
    def from_dict(cls, raw: Any) -> "PrivacyUnit":
        """Read a privacy unit from the output of `to_dict`.

        Parameters
        ----------
        raw : dict
            The fields by name.

        Returns
        -------
        PrivacyUnit
            An equal privacy unit.

        Raises
        ------
        TypeError, SchemaError
            If `raw` is no privacy unit.
        """
        named = renamed_fields(raw) if isinstance(raw, dict) else {}
        if set(named) != {"max_contributions", "id_column"} or type(named["max_contributions"]) is not int:
            raise TypeError
        return cls(**named)

    def persons(self, frame: pd.DataFrame) -> Ints:
        """Return the number of each row's person, whatever the order of the rows.

        Persons are numbered in the order of their names. Names are compared as texts; `7` and `7.0`
        are equal.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows, with the column that identifies persons.

        Returns
        -------
        int array of shape (n,)
            The number of each row's person, from 0.

        Raises
        ------
        DataError
            If the column is lacking, one of its cells is missing, or its numbers are too large to
            be distinct as floats.
        """
        if self.id_column not in require_frame(frame).columns:
            raise DataError(
                f"The data lack the column {self.id_column!r}, which identifies persons.",
                "Use data with that column, or declare a privacy unit without `id_column`.",
            )
        cells = frame[self.id_column]
        indices, names = factorize_texts(cells)
        blank = np.array([not name.strip() for name in names] + [True])  # the last: missing cells
        if blank[indices].any():
            raise DataError(
                f"In the column {self.id_column!r}, which identifies persons, a cell is missing.",
                "Give every row a person, or leave out rows without one.",
            )
        if pd.api.types.is_float_dtype(cells.dtype) and not (np.abs(cells.to_numpy(float)) < EXACT).all():
            raise DataError(
                f"The person column {self.id_column!r} has numbers that are too large for floats.",
                "Read that column as text.",
            )
        _, rank = np.unique(np.array(names, dtype=object), return_inverse=True)
        return np.asarray(rank[indices], dtype=np.intp)

    def bound_contributions(self, persons: Ints, draws: Floats, *, fill: bool) -> Ints:
        """Return the positions of the rows that are kept, at most `max_contributions` per person.

        Parameters
        ----------
        persons : array of shape (n,)
            The number of each row's person, from `persons`.
        draws : array of shape (n,)
            Independent uniform random numbers. The rows of a person with the smallest numbers are
            kept.
        fill : bool
            Whether each person gets exactly `max_contributions` rows, because the number of rows is
            public (replace); otherwise at most that many.

        Returns
        -------
        int array
            The positions of the kept rows; some occur several times if `fill` is set.

        Raises
        ------
        DataError
            If filled rows do not fit into memory. The message has the number of persons, which is
            public then.
        """
        order = np.lexsort((draws, persons))
        n_rows = np.bincount(persons)
        if fill and self.max_contributions * len(n_rows) > MOST_KEPT_ROWS:
            raise DataError(
                f"{self.max_contributions:,} rows for each of {len(n_rows):,} persons exceed the memory.",
                f"Set `max_contributions` to at most {max(MOST_KEPT_ROWS // len(n_rows), 1):,}.",
            )
        rank = np.arange(len(order)) - (np.cumsum(n_rows) - n_rows)[persons[order]]
        if not fill:
            return np.asarray(order[rank < self.max_contributions])
        often, more = np.divmod(self.max_contributions, n_rows[persons[order]])
        return np.asarray(np.repeat(order, often + (rank < more)))

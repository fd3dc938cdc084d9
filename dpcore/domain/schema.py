"""What is public about a table: its columns, their values, bounds and bins.

Everything a method may know for free stands in a `Schema`. It is declared, never computed from the private
rows; `Schema.infer` exists for convenience and marks its result, so that every screen and export can say that
the guarantee is void. Encoding maps each cell to the code of its category or bin by a fixed public rule, row by
row; adding or changing one row therefore adds or changes one row of codes and nothing else.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from dpcore.arguments import is_whole, plain, require_frame
from dpcore.domain.cells import as_numbers, distinct, plain_numbers
from dpcore.domain.column import MAX_CATEGORIES, MOST_EXACT, Codes, Column, Kind, code_dtype
from dpcore.domain.documents import json_value
from dpcore.errors import DataError, SchemaError
from dpcore.text import canonical, is_writable


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The public description of a table.

    Parameters
    ----------
    columns : tuple of Column
    target : str, optional
        The class column, for methods and evaluations that need one.
    source : {"declared", "inferred"}
        Where the declaration came from. "inferred" means it was read off the private rows: guarantee void.
    max_rows : int, optional
        A public upper bound on the number of rows (for instance from the data set's documentation). Under add_remove
        the guarantee is about tables within it, and larger ones are refused; a refusal tells that there are more.
    notes : tuple of str
        What `infer` left out or wants checked.
    """

    columns: tuple[Column, ...]
    target: str | None = None
    source: Literal["declared", "inferred"] = "declared"
    max_rows: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_rows", plain(self.max_rows))
        if not isinstance(self.columns, list | tuple) or not all(isinstance(c, Column) for c in self.columns):
            raise SchemaError("The schema's columns are none.", "Give a tuple of Column objects.")
        object.__setattr__(self, "columns", tuple(self.columns))
        names = self.names
        if not names:
            raise SchemaError("The schema has no columns.", "Keep at least one column.")
        if len(set(names)) != len(names):
            raise SchemaError("Two columns have the same name.", "Rename one of them.")
        if self.target is not None and self.target not in names:
            raise SchemaError(f"The target {self.target!r} is not a column of the schema.", "Choose a listed column.")
        if self.source not in ("declared", "inferred"):
            raise SchemaError("The schema's source is not known.", "Use declared or inferred.")
        if self.max_rows is not None and not is_whole(self.max_rows, 1, MOST_EXACT - 1):
            raise SchemaError(
                "The public number of rows is below 1 or far too large.", "Give a whole number or leave it out."
            )

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.index(name)]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The columns' numbers of codes, in order."""
        return tuple(column.size for column in self.columns)

    def index(self, name: str) -> int:
        """Position of a column; SchemaError if there is none of that name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise SchemaError(f"The schema has no column {name!r}.", "Choose a listed column.") from None

    def select(self, names: Sequence[str]) -> Self:
        """The schema of some columns, in the given order."""
        target = self.target if self.target in names else None
        return replace(self, columns=tuple(self[name] for name in names), target=target)

    def encode(self, frame: pd.DataFrame) -> Codes:
        """Codes of a frame, shape (n, d), column-major; columns outside the schema are ignored.

        Raises
        ------
        DataError
            If this is no DataFrame, a column is lacking or a cell does not fit its declaration.
        """
        lacking = [name for name in self.names if name not in require_frame(frame).columns]
        if lacking:
            require_frame(frame, texts=True)  # a number for a name is not found, though it looks the same
            raise DataError(
                f"The data lack the column {lacking[0]!r}" + (f" and {len(lacking) - 1} more." if lacking[1:] else "."),
                "Use data with the schema's columns, or ignore those columns in the schema.",
            )
        codes = np.empty((len(frame), len(self)), dtype=code_dtype(max(self.sizes)), order="F")
        for j, column in enumerate(self.columns):
            codes[:, j] = column.encode(frame[column.name])
        return codes

    def decode(self, codes: Codes, rng: np.random.Generator) -> pd.DataFrame:
        """A frame for codes of shape (n, d); numbers are drawn uniformly inside their bins with `rng`."""
        return pd.DataFrame({c.name: c.decode(codes[:, j], rng) for j, c in enumerate(self.columns)})

    def to_json(self) -> str:
        """The schema as a JSON document that `from_json` reads back to an equal schema."""
        document = {
            "format": "dpcore schema 1",
            "source": self.source,
            "target": self.target,
            "max_rows": self.max_rows,
            "notes": list(self.notes),
            "columns": [column.to_dict() for column in self.columns],
        }
        return json.dumps(document, indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a schema document; SchemaError with cause and remedy if it is not one."""
        remedy = "Choose a schema file that this program exported."
        try:
            found = json_value(text, SchemaError, "The schema file cannot be read", remedy)
            columns, notes = found["columns"], found.get("notes", [])
            if found.get("format") != "dpcore schema 1" or not isinstance(columns, list):
                raise SchemaError("This is not a dpcore schema file.", remedy)
            if not isinstance(notes, list) or type(found.get("max_rows")) not in (int, type(None)):
                raise TypeError
            return cls(
                columns=tuple(Column.from_dict(raw) for raw in columns),
                target=found.get("target"),
                source=found.get("source", "declared"),
                max_rows=found.get("max_rows"),
                notes=tuple(map(str, notes)),
            )
        except SchemaError:
            raise
        except (KeyError, TypeError, AttributeError):
            raise SchemaError("The schema file cannot be read.", remedy) from None

    @classmethod
    def infer(cls, frame: pd.DataFrame, *, target: str | None = None) -> Self:
        """Guess a schema from rows. Convenient and not private: the result is marked `source="inferred"`.

        Columns that cannot be declared (empty, or text with too many different values) are left out and named in
        `notes`. Numbers get their own minimum and maximum as bounds; text gets the values that occur. The number of
        rows is not taken along: `max_rows` stays open.
        """
        columns, notes = [], []
        for name in require_frame(frame, texts=True).columns:
            column, note = infer_column(name, frame[name])
            columns += [column] if column else []
            notes += [note] if note else []
        if not columns:
            raise SchemaError("No column of these data can be used.", "Check that the file is the one you meant.")
        return cls(columns=tuple(columns), target=target, source="inferred", notes=tuple(notes))


def infer_column(name: str, values: "pd.Series[Any]") -> tuple[Column | None, str | None]:
    """A guess at one column, and a note for the person who should check it."""
    if not is_writable(name):
        return None, "A column is left out: its name has a control character, or half of a character."
    present = values.dropna()
    missing = len(present) < len(values)
    if present.empty:
        return None, f"{name!r} is left out: every cell is missing."
    numeric = pd.api.types.is_any_real_numeric_dtype(present.dtype)
    numbers = as_numbers(present) if numeric else plain_numbers(present)
    if numbers is not None and len(np.unique(numbers)) > 1:
        if not np.isfinite(numbers).all():
            return None, f"{name!r} is left out: it has infinite values."
        whole = bool((numbers % 1 == 0).all()) and float(np.abs(numbers).max()) < 2**53
        kind: Kind = "integer" if whole else "continuous"
        return Column(
            name=name, kind=kind, lower=float(numbers.min()), upper=float(numbers.max()), missing=missing
        ), None
    places, texts = distinct(present)
    shortest: dict[str, str] = {}  # of the ways in which a value is written
    for text in sorted(texts, key=lambda text: (len(text), text)):
        shortest.setdefault(canonical(text), text)
    categories = sorted({*shortest.values()} - {""})
    if len(categories) > MAX_CATEGORIES or not categories:
        return None, (
            f"{name!r} is left out: it has {len(categories):,} different values; at most {MAX_CATEGORIES:,} categories "
            "are allowed. Group its values before uploading if you need it."
        )
    if not is_writable(*categories):
        return None, f"{name!r} is left out: values of it have control characters, which no chart can hold."
    words = np.isnan(as_numbers(pd.Series(texts, dtype=object)))
    note = None
    if len(categories) == 1:
        note = f"{name!r} has one value only: it adds nothing."
    elif 0 < words.sum() < len(words):
        note = f"{name!r} mixes numbers and text in {int(words[places].sum()):,} rows: it is read as categories."
    blank = "" in texts  # empty texts are no category: they count as missing
    return Column(
        name=name,
        kind="categorical",
        categories=tuple(categories),
        missing=missing or blank,
        outside="clip" if blank else "refuse",
    ), note

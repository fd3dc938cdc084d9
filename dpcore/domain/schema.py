"""What is public about a table: its columns, their values, bounds and bins.

Everything a method may know for free stands in a `Schema`. It is declared, never computed from the
private rows; `Schema.infer` exists for convenience and marks its result, so that every screen and
export can say that the guarantee is void. Encoding maps each cell to the code of its category or
bin by a fixed public rule, row by row; adding or changing one row therefore adds or changes one row
of codes and nothing else.
"""

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, Self, get_args

import numpy as np
import pandas as pd

from dpcore.arguments import REMEDIES, Floats, check_arguments, is_whole, kind_of, plain, require_frame
from dpcore.domain.cells import as_numbers
from dpcore.domain.column import Codes, Column, Origin, code_dtype
from dpcore.domain.documents import json_value
from dpcore.domain.rules import check_texts, lowest, parse, possible_values
from dpcore.domain.scales import MOST_EXACT
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, ParameterError, SchemaError
from dpcore.text import html_table

NEEDED = "fit needs a schema: bounds and categories that are read off the rows leak private values."
INFERABLE = "To try without one, pass dp.Schema.infer(X), which voids the guarantee."
DOCUMENTS = (
    "Read a saved schema by dp.Schema.from_json(text); and SDV's JSON by "
    "dpcore.datasets.schema_formats.read(text), which says what is still to be declared."
)
MARK = " (proposed from the rows)"  # at the ends of rules in some files of drafts
REMEDY = "Choose a schema file that this program exported."
# what cells of columns of 0 and 1 may say in their place
FLAG_WORDS = dict.fromkeys(("true", "yes", "ja", "oui", "si", "sí", "是"), 1.0)
FLAG_WORDS |= dict.fromkeys(("false", "no", "nein", "non", "否"), 0.0)
MOST_COLUMNS = 1_000  # of a document; a table that is read may have as many


@dataclass(frozen=True)
class Schema:
    """Public description of a data set: its columns, and what else is known of it.

    Parameters
    ----------
    columns : tuple of Column
        The columns, in order, 1 or more.
    target : str, optional
        The class column, for methods and evaluations that need one.
    source : {"declared", "inferred"}, default="declared"
        Where the declaration came from. "inferred" means it was read off the private rows:
        guarantee void.
    max_rows : int, optional
        A public upper bound on the number of rows (for instance from the data set's documentation).
        Under add_remove the guarantee is about data sets within it, and larger ones are refused; a
        refusal tells that there are more.
    notes : tuple of str, optional
        What `infer` left out or wants checked. It tells of the rows (how many values differ), so it
        is for the screen of those who have them: no file has it, and it does not count when schemas
        are compared.
    unit : PrivacyUnit, optional
        At most how many rows belong to one person, and which column says whose row it is; by
        default a row is a person.
    rules : tuple of str, optional
        Relations that hold in every row, by public knowledge: that one column of numbers or dates
        is not above another, `admitted <= discharged`; or that two categories are impossible
        together, `age = 0-17, never status = married`. Every row of `sample` and `sample_to` keeps
        them, whichever method made it. Encoding does not refuse rows that break one: a method
        learns from them as they are. Groups of values, reports and classifiers ignore rules.
    proposed_rules : tuple of str, optional
        The rules among them that the program proposed from the rows, before a person declared them;
        others are dropped. They do not count when schemas are compared.

    Raises
    ------
    SchemaError
        If the declaration contradicts itself: names that occur twice, a target that is no column,
        or the like.

    Examples
    --------
    >>> import dpcore as dp
    >>> schema = dp.Schema(
    ...     columns=(
    ...         dp.Column("age", "integer", lower=0, upper=99, bins=10),
    ...         dp.Column("ill", "categorical", categories=("no", "yes")),
    ...     ),
    ...     target="ill",
    ... )
    >>> schema.names, schema.sizes
    (('age', 'ill'), (10, 2))
    >>> dp.Schema.from_json(schema.to_json()) == schema
    True

    A stay that cannot end before it begins:

    >>> days = [dp.Column(name, "date", lower="2024-01-01", upper="2024-12-31") for name in ("admitted", "discharged")]
    >>> stays = dp.Schema(days, rules=("admitted <= discharged",))
    """

    columns: tuple[Column, ...]
    _: KW_ONLY
    target: str | None = None
    source: Literal["declared", "inferred"] = "declared"
    max_rows: int | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    unit: PrivacyUnit | None = None
    rules: tuple[str, ...] = ()
    proposed_rules: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_rows", plain(self.max_rows))
        if not isinstance(self.columns, list | tuple) or not all(isinstance(c, Column) for c in self.columns):
            raise SchemaError("The columns must be a list of dp.Column objects.", REMEDIES["Schema"])
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
                "`max_rows` is not a whole number, below 1, or far too large.", "Give a whole number or leave it out."
            )
        if not isinstance(self.unit, PrivacyUnit | None):
            raise SchemaError(
                "`unit` must be a dp.PrivacyUnit.", "Give one: dp.PrivacyUnit(max_contributions=3, id_column=…)."
            )
        if self.unit is not None and self.unit.id_column in names:
            raise SchemaError(
                f"The column {self.unit.id_column!r} identifies persons, and is a column of the schema as well.",
                "Leave it out of the columns: names of persons are not released.",
            )
        object.__setattr__(self, "rules", tuple(dict.fromkeys(check_texts(self.rules))))
        proposed = tuple(filter(check_texts(self.proposed_rules).__contains__, self.rules))
        object.__setattr__(self, "proposed_rules", proposed)
        if found := parse(self.columns, self.rules):
            lowest(self.columns, found), possible_values(self.columns, found)

    def __repr__(self) -> str:
        target = f", target {self.target!r}" if self.target else ""
        most = f", at most {self.max_rows:,} rows" if self.max_rows else ""
        unit = f", {self.unit!r}" if self.unit else ""
        return f"Schema({len(self):,} columns{target}, {self.source}{most}{unit})"

    def _repr_html_(self) -> str:
        rows = [(one.name, one.kind, one.values_text, one.origin) for one in self]
        return html_table(repr(self), ("column", "kind", "values, or bounds", "origin"), rows)

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
        """The number of codes of each column, in order."""
        return tuple(column.size for column in self.columns)

    @property
    def persons(self) -> PrivacyUnit | None:
        """The privacy unit if a column names persons, whom runs then protect; else None."""
        return self.unit if self.unit is not None and self.unit.id_column is not None else None

    @property
    def origins(self) -> dict[Origin, int]:
        """How many columns come from where (`Column.origin`)."""
        return dict(Counter(sorted((column.origin for column in self.columns), key=get_args(Origin).index)))

    def index(self, name: str) -> int:
        """Return the position of a column.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        int
            Its position, from 0.

        Raises
        ------
        SchemaError
            If there is none of that name.
        """
        try:
            return self.names.index(name)
        except ValueError:
            raise SchemaError(f"The schema has no column {name!r}.", "Choose a listed column.") from None

    def select(self, names: Sequence[str]) -> Self:
        """Return the schema of some columns, in the given order.

        Parameters
        ----------
        names : sequence of str
            The columns' names. A target that is not among them is left out, and so is a rule of a
            column that is not.

        Returns
        -------
        Schema
            The schema, otherwise as this one.

        Raises
        ------
        SchemaError
            If there is no column of a name.
        """
        target = self.target if self.target in names else None
        rules = self.rules_among(names)
        return replace(self, columns=tuple(self[name] for name in names), target=target, rules=rules)

    def rules_among(self, names: Container[str]) -> tuple[str, ...]:
        """Return the rules whose columns are both among some names.

        Parameters
        ----------
        names : container of str
            The columns' names.

        Returns
        -------
        tuple of str
            The rules, in order.
        """
        ends = zip(self.rules, parse(self.columns, self.rules), strict=True)
        return tuple(rule for rule, both in ends if all(self.names[j] in names for j, _ in both))

    def encode(self, frame: pd.DataFrame) -> Codes:
        """Encode a frame; columns outside the schema are ignored.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows.

        Returns
        -------
        array of unsigned int, shape (n, d)
            A code per cell, from 0 to its column's size less 1; column-major.

        Raises
        ------
        DataError
            If this is no DataFrame, a column is lacking or a cell does not fit its declaration.
        """
        if not set(self.names) <= set(require_frame(frame).columns):
            require_frame(frame, texts=True)  # a number for a name is not found, though it looks the same
        frame = join_flags(frame, self)
        self.check_headers(frame.columns)
        codes = np.empty((len(frame), len(self)), dtype=code_dtype(max(self.sizes)), order="F")
        for j, column in enumerate(self.columns):
            codes[:, j] = column.encode(frame[column.name])
        return codes

    def check_headers(self, headers: Iterable[object]) -> None:
        """Check that each of the schema's columns is among the headers of some rows.

        Parameters
        ----------
        headers : iterable of str
            The headers.

        Raises
        ------
        DataError
            If a column is lacking.
        """
        there = set(headers)
        if lacking := [name for name in self.names if name not in there]:
            raise DataError(
                f"The data lack the column {lacking[0]!r}" + (f" and {len(lacking) - 1} more." if lacking[1:] else "."),
                "Use data with the schema's columns, or leave those columns out of the schema.",
            )

    def decode(self, codes: Codes, rng: np.random.Generator) -> pd.DataFrame:
        """Return a frame for codes; numbers are drawn uniformly inside their bins.

        Parameters
        ----------
        codes : int array of shape (n, d)
            The codes.
        rng : numpy.random.Generator
            What draws.

        Returns
        -------
        DataFrame of n rows
            The rows, with the schema's columns.
        """
        return pd.DataFrame({c.name: c.decode(codes[:, j], rng) for j, c in enumerate(self.columns)})

    def to_json(self) -> str:
        """Return the schema as a JSON document that `from_json` reads back to an equal schema."""
        return json.dumps(self.to_document(), indent=2, ensure_ascii=False)

    def to_document(self) -> dict[str, Any]:
        """Return the document of `to_json` as JSON-ready values."""
        usual = ("origin", self.source)  # of a declared schema, which need not say it
        return {
            "format": "dpcore schema 1",
            "source": self.source,
            "target": self.target,
            "max_rows": self.max_rows,
            "notes": [],  # files of earlier versions have them
            **({} if self.unit is None else {"unit": self.unit.to_dict()}),
            **({"rules": list(self.rules)} if self.rules else {}),
            **({"proposed_rules": list(self.proposed_rules)} if self.proposed_rules else {}),
            "columns": [dict(item for item in c.to_dict().items() if item != usual) for c in self.columns],
        }

    @classmethod
    @check_arguments
    def from_json(cls, text: str | bytes) -> Self:
        """Read a schema document.

        Parameters
        ----------
        text : str or bytes
            What `to_json` wrote; bytes are UTF-8.

        Returns
        -------
        Schema
            The schema.

        Raises
        ------
        SchemaError
            If this is no schema document, or contradicts itself.
        """
        if isinstance(text, str) and text.endswith(".json"):
            raise SchemaError("This is the path of a schema file, not its text.", "Pass its text: Path(…).read_text().")
        return cls.from_document(json_value(text, SchemaError, "The schema file cannot be read", REMEDY))

    @classmethod
    def from_document(cls, found: Any) -> Self:
        """Read a schema from the value that its JSON text has.

        Parameters
        ----------
        found : dict
            What `to_document` gave.

        Returns
        -------
        Schema
            The schema.

        Raises
        ------
        SchemaError
            As for `from_json`.
        """
        try:
            columns = found["columns"]
            if found.get("format") != "dpcore schema 1" or not isinstance(columns, list):
                raise SchemaError("This is not a dpcore schema file.", REMEDY)
            check_width(columns)
            origin = "proposed" if found.get("source") == "inferred" else "declared"
            rules = check_texts(found.get("rules", ()))
            marked = [rule.removesuffix(MARK) for rule in rules if rule.endswith(MARK)]
            return cls(
                columns=tuple(Column.from_dict({"origin": origin, **raw}) for raw in columns),
                target=found.get("target"),
                source=found.get("source", "declared"),
                max_rows=found.get("max_rows"),
                unit=PrivacyUnit.from_dict(found["unit"]) if found.get("unit") is not None else None,
                rules=tuple(rule.removesuffix(MARK) for rule in rules),
                proposed_rules=(*marked, *check_texts(found.get("proposed_rules", ()))),
            )
        except SchemaError:
            raise
        except (KeyError, TypeError, AttributeError):
            raise SchemaError("The schema file cannot be read.", REMEDY) from None

    @classmethod
    def infer(cls, frame: pd.DataFrame, *, target: str | None = None, keep: Sequence[str] = ()) -> "Schema":
        """Guess a schema from rows. Convenient and not private: the result is marked "inferred".

        Every column is taken for what it seems to be (`recognition`). Identifiers, free texts and
        columns of one value are left out, with their reasons in `notes`, unless they are to be
        kept; so are those that cannot be declared (empty, or with too many different values).
        Numbers and dates get their own minimum and maximum as bounds; all others the values that at
        least 10 rows have (`proposals.RARE`): one of fewer can name a person, also in a schema that
        is saved and declared. It counts as missing, a class too; a note says so of each column, and
        `keep` lists all of its values. The number of rows is not taken along: `max_rows` stays
        open.

        Parameters
        ----------
        frame : DataFrame
            The rows.
        target : str, optional
            The class column, which is kept; by default one of 2 to 10 values that is called like
            one, if there is any.
        keep : sequence of str, optional
            Columns that are not left out, and all values of which become categories, however few
            rows have them.

        Returns
        -------
        Schema
            With `source="inferred"`: a release that uses it has no guarantee.

        Raises
        ------
        SchemaError
            If no column can be used, or the target is none.

        Examples
        --------
        >>> import dpcore as dp
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"age": range(20, 60), "ill": ["no", "yes"] * 20})
        >>> schema = dp.Schema.infer(rows, target="ill")
        >>> schema.names, schema.source
        (('age', 'ill'), 'inferred')
        """
        from dpcore.datasets.proposals import propose_schema  # on first use: the one import from further down

        return propose_schema(frame, target=target, keep=keep)


def require_schema(given: object) -> Schema:
    """The schema, if it is one; else ParameterError with what to write in its place."""
    if isinstance(given, Schema):
        return given
    cause = f"The 'schema' argument is no schema; it is {kind_of(given)}."
    document = isinstance(given, dict | str) or type(given).__name__.endswith("Metadata")
    raise ParameterError(
        NEEDED if given is None else cause, DOCUMENTS if document else f"{REMEDIES['Schema']} {INFERABLE}"
    )


def check_width(columns: Sized) -> None:
    """SchemaError if a document describes more columns than a table may have; comes before any work on them."""
    if len(columns) > MOST_COLUMNS:
        raise SchemaError(
            f"The schema has {len(columns):,} columns; at most {MOST_COLUMNS:,} are allowed.", "Leave columns out."
        )


def as_flags(values: "pd.Series[Any]") -> Floats:
    """Cells as 1 and 0, shape (n,), also of true and yes; NaN where a cell is missing or another word."""
    numbers = as_numbers(values.astype(float) if values.dtype == bool else values)
    if not np.isnan(numbers).all():
        return numbers
    words = values.astype(str).str.strip().str.casefold().map(FLAG_WORDS)
    return np.asarray(words, dtype=float)


def join_flags(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """The frame with columns in place of the flags that they are made of; rows without exactly one 1 are missing."""
    for column in columns:
        if column.flags and column.name not in frame and {*column.flags} <= {*frame.columns}:
            flags = np.column_stack([as_flags(frame[flag]) for flag in column.flags])
            one = (np.isin(flags, (0, 1)).all(axis=1)) & ((flags == 1).sum(axis=1) == 1)
            codes = np.where(one, flags.argmax(axis=1), -1)
            cells = pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(list(column.categories)))
            at = list(frame.columns).index(column.flags[0])
            frame = frame.drop(columns=list(column.flags))
            frame.insert(min(at, frame.shape[1]), column.name, pd.Series(cells, index=frame.index))
    return frame

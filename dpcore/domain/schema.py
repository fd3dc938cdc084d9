"""Public description of a data set: its columns, their values, bounds and bins.

A `Schema` has everything that a method may know without spending privacy budget. It is declared,
never computed from the private rows. `Schema.infer` exists for convenience and marks its result, so
that every screen and export can say that the guarantee is void. Encoding maps each cell to the code
of its category or bin by a fixed public rule, row by row. Adding or changing one row therefore adds
or changes one row of codes and nothing else.
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
from dpcore.domain.rules import check_texts, lowest_values, parse_rules, possible_values
from dpcore.domain.scales import MOST_EXACT
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, ParameterError, SchemaError
from dpcore.text import html_table

NEEDED = "fit needs a schema: bounds and categories that are read from the rows leak private values."
INFERABLE = "To try without one, pass dp.Schema.infer(X), which voids the guarantee."
DOCUMENTS = (
    "Read a saved schema by dp.Schema.from_json(text); and SDV's JSON by "
    "dpcore.datasets.schema_formats.read(text), which says what is still to be declared."
)
MARK = " (proposed from the rows)"  # suffix of proposed rules in older files
REMEDY = "Choose a schema file that this program exported."
# Words that cells of 0/1 columns may have instead of a number.
FLAG_WORDS = dict.fromkeys(("true", "yes", "ja", "oui", "si", "sí", "是"), 1.0)
FLAG_WORDS |= dict.fromkeys(("false", "no", "nein", "non", "否"), 0.0)
MOST_COLUMNS = 1_000  # of a schema document, as of a data set


@dataclass(frozen=True)
class Schema:
    """Public description of a data set: its columns, target, privacy unit and rules.

    Parameters
    ----------
    columns : tuple of Column
        The columns, in order, 1 or more.
    target : str, optional
        The target column, for methods and evaluations that need one.
    source : {"declared", "inferred"}, default="declared"
        Where the declaration came from. "inferred" means read from the private rows: guarantee
        void.
    max_rows : int, optional
        A public upper bound on the number of rows (for instance from the data set's documentation).
        Under add_remove the guarantee is about data sets within this bound. Larger ones are
        refused; a refusal reveals that there are more rows.
    notes : tuple of str, optional
        What `infer` left out or wants checked. Notes depend on the rows (numbers of distinct
        values), so they are shown only to those who have the rows. No file has them, and they do
        not count when schemas are compared.
    unit : PrivacyUnit, optional
        The most rows that one person may have, and the column that identifies persons; by default a
        row is a person.
    rules : tuple of str, optional
        Relations that hold in every row, by public knowledge: one column of numbers or dates is not
        above another, `admitted <= discharged`; or two categories are impossible together, `age =
        0-17, never status = married`. Every row of `sample` and `sample_to` satisfies the rules,
        whichever method made it. Encoding does not refuse rows that break one: a method learns from
        them as they are. Groups of values, reports and classifiers ignore rules.
    proposed_rules : tuple of str, optional
        Those of `rules` that the program proposed from the rows before a person declared them;
        other texts are dropped. They do not count when schemas are compared.

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

    >>> year = {"lower": "2024-01-01", "upper": "2024-12-31"}
    >>> days = [dp.Column(name, "date", **year) for name in ("admitted", "discharged")]
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
            raise SchemaError(f"The target {self.target!r} is not a column of the schema.", "Name a column.")
        if self.source not in ("declared", "inferred"):
            raise SchemaError("The schema's `source` is unknown.", "Use declared or inferred.")
        if self.max_rows is not None and not is_whole(self.max_rows, 1, MOST_EXACT - 1):
            raise SchemaError("`max_rows` must be a whole number from 1 to 2^53 - 1.", "Or leave it out.")
        if not isinstance(self.unit, PrivacyUnit | None):
            raise SchemaError(
                "`unit` must be a dp.PrivacyUnit.", "Pass dp.PrivacyUnit(max_contributions=3, id_column=…)."
            )
        if self.unit is not None and self.unit.id_column in names:
            raise SchemaError(
                f"The column {self.unit.id_column!r} identifies persons, but is a column of the schema.",
                "Leave that column out of the schema: names of persons are not released.",
            )
        object.__setattr__(self, "rules", tuple(dict.fromkeys(check_texts(self.rules))))
        proposed = tuple(filter(check_texts(self.proposed_rules).__contains__, self.rules))
        object.__setattr__(self, "proposed_rules", proposed)
        if found := parse_rules(self.columns, self.rules):
            lowest_values(self.columns, found), possible_values(self.columns, found)

    def __repr__(self) -> str:
        target = f", target {self.target!r}" if self.target else ""
        most = f", at most {self.max_rows:,} rows" if self.max_rows else ""
        unit = f", {self.unit!r}" if self.unit else ""
        return f"Schema({len(self):,} columns{target}, {self.source}{most}{unit})"

    def _repr_html_(self) -> str:
        """Return the HTML table of columns that notebooks show."""
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
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each column, in order."""
        return tuple(column.size for column in self.columns)

    @property
    def persons(self) -> PrivacyUnit | None:
        """The privacy unit if a column identifies persons, whom runs then protect; None for rows."""
        return self.unit if self.unit is not None and self.unit.id_column is not None else None

    @property
    def origins(self) -> dict[Origin, int]:
        """Number of columns by their origin.

        An origin is who declared a column: a person, a document, a proposal, or a change of it.
        """
        return dict(Counter(sorted((one.origin for one in self), key=get_args(Origin).index)))

    def index(self, name: str) -> int:
        """Return the position of a column.

        Parameters
        ----------
        name : str
            The column's name.

        Returns
        -------
        int
            Its position, from 0.

        Raises
        ------
        SchemaError
            If there is no column of that name.
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
            The columns' names. The target is dropped if it is not among them, and so are rules of
            other columns.

        Returns
        -------
        Schema
            The schema, otherwise equal to this one.

        Raises
        ------
        SchemaError
            If there is no column of a name.
        """
        target = self.target if self.target in names else None
        rules = self.rules_among(names)
        return replace(self, columns=tuple(self[name] for name in names), target=target, rules=rules)

    def rules_among(self, names: Container[str]) -> tuple[str, ...]:
        """Return the rules whose two columns are both among `names`.

        Parameters
        ----------
        names : container of str
            The columns' names.

        Returns
        -------
        tuple of str
            The rules, in order.
        """
        ends = zip(self.rules, parse_rules(self.columns, self.rules), strict=True)
        return tuple(rule for rule, both in ends if all(self.names[j] in names for j, _ in both))

    def encode(self, frame: pd.DataFrame) -> Codes:
        """Return the codes of a frame's cells; columns outside the schema are ignored.

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
            If this is not a DataFrame, a column is lacking, or a cell does not fit its declaration.
        """
        if not set(self.names) <= set(require_frame(frame).columns):
            require_frame(frame, texts=True)  # headers must be texts, not numbers
        frame = join_flags(frame, self)
        self.check_headers(frame.columns)
        codes = np.empty((len(frame), len(self)), dtype=code_dtype(max(self.sizes)), order="F")
        for j, column in enumerate(self.columns):
            codes[:, j] = column.encode(frame[column.name])
        return codes

    def check_headers(self, headers: Iterable[object]) -> None:
        """Raise DataError unless all columns of the schema are among the headers.

        Parameters
        ----------
        headers : iterable of str
            The headers of a data set.

        Raises
        ------
        DataError
            If a column is lacking.
        """
        there = set(headers)
        if lacking := [name for name in self.names if name not in there]:
            cause = f"The data lack the column {lacking[0]!r}" + f" and {len(lacking) - 1} more" * (len(lacking) > 1)
            raise DataError(f"{cause}.", "Use data with the schema's columns, or leave those out of the schema.")

    def decode(self, codes: Codes, rng: np.random.Generator) -> pd.DataFrame:
        """Return a frame for codes; numbers are drawn uniformly inside their bins.

        Parameters
        ----------
        codes : int array of shape (n, d)
            The codes.
        rng : numpy.random.Generator
            The generator of the draws.

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
        """Return the schema as JSON-ready values, which `from_document` reads."""
        usual = ("origin", self.source)  # the default, which is not written
        return {
            "format": "dpcore schema 1",
            "source": self.source,
            "target": self.target,
            "max_rows": self.max_rows,
            "notes": [],  # as in files of earlier versions
            **({} if self.unit is None else {"unit": self.unit.to_dict()}),
            **({"rules": list(self.rules)} if self.rules else {}),
            **({"proposed_rules": list(self.proposed_rules)} if self.proposed_rules else {}),
            "columns": [dict(item for item in c.to_dict().items() if item != usual) for c in self.columns],
        }

    @classmethod
    @check_arguments
    def from_json(cls, text: str | bytes) -> Self:
        """Read a schema from its JSON text.

        Parameters
        ----------
        text : str or bytes
            The output of `to_json`; bytes are UTF-8.

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
            raise SchemaError("`text` is the path of a schema file.", "Pass its text: Path(…).read_text().")
        return cls.from_document(json_value(text, SchemaError, "The schema file cannot be read", REMEDY))

    @classmethod
    def from_document(cls, found: Any) -> Self:
        """Read a schema from the JSON-ready values of its document.

        Parameters
        ----------
        found : dict
            The output of `to_document`.

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

        The kind of every column is guessed from its cells (`recognition`). Identifiers, free texts
        and columns of one value are left out, with reasons in `notes`, unless `keep` names them.
        Columns that cannot be declared are left out too: empty ones, and those with too many
        distinct values. Numbers and dates get their minimum and maximum as bounds. Other columns
        get the values that at least 10 rows have (`proposals.RARE`): a rarer value can identify a
        person, even in a schema that is saved and declared later. Rarer values count as missing, in
        the target as well; a note says so per column, and `keep` lists all values of a column. The
        number of rows is not used: `max_rows` stays open.

        Parameters
        ----------
        frame : DataFrame
            The rows.
        target : str, optional
            The target column, which is kept; by default a column of 2 to 10 values with a typical
            name, if there is one.
        keep : sequence of str, optional
            Columns that are not left out, and all values of which become categories, however rare.

        Returns
        -------
        Schema
            A schema with `source="inferred"`: a release that uses it has no guarantee.

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
        from dpcore.datasets.proposals import propose_schema  # not at the top: it imports this module

        return propose_schema(frame, target=target, keep=keep)


def require_schema(given: object) -> Schema:
    """Return `given` if it is a schema; else raise ParameterError with what to pass instead."""
    if isinstance(given, Schema):
        return given
    cause = f"`schema` must be a dp.Schema; got {kind_of(given)}."
    document = isinstance(given, dict | str) or type(given).__name__.endswith("Metadata")
    raise ParameterError(
        NEEDED if given is None else cause, DOCUMENTS if document else f"{REMEDIES['Schema']} {INFERABLE}"
    )


def check_width(columns: Sized) -> None:
    """Raise SchemaError if a schema document has more columns than are allowed."""
    if len(columns) > MOST_COLUMNS:
        raise SchemaError(
            f"The schema has {len(columns):,} columns; at most {MOST_COLUMNS:,} are allowed.", "Leave columns out."
        )


def as_flags(values: "pd.Series[Any]") -> Floats:
    """Return cells as 1.0 and 0.0, shape (n,); NaN if a cell is missing or neither.

    Words such as "true", "yes", "false" and "no" count if no cell is a number.
    """
    numbers = as_numbers(values.astype(float) if values.dtype == bool else values)
    if not np.isnan(numbers).all():
        return numbers
    words = values.astype(str).str.strip().str.casefold().map(FLAG_WORDS)
    return np.asarray(words, dtype=float)


def join_flags(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """Return the frame with each group of 0/1 columns joined into one categorical column.

    `columns` are the joined columns; the headers in a column's `flags` name its 0/1 columns, one
    per category. A row without exactly one 1 gets a missing cell.
    """
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

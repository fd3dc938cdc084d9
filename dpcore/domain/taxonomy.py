"""Public trees over a column's categories or bins, and their tables with one row per leaf."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from dpcore.arguments import is_kind
from dpcore.errors import SchemaError
from dpcore.text import is_writable

MAX_LEAVES = 10_000  # the most bins of a column
MAX_LEVELS = 30
MAX_TEXT = 2_000_000  # bytes of a table
DELIMITERS = ",;\t"
SPECIAL = frozenset(';\t\r\n"\ufeff')
TABLE = "Give a CSV table without header, one row per value, from the value to the root."


@dataclass(frozen=True)
class Taxonomy:
    """A public tree over a column's categories or bins.

    Parameters
    ----------
    paths : tuple of tuple of str
        One path per category or bin, from the leaf up to the common root. Node names are unique in
        the tree.

    Raises
    ------
    SchemaError
        If a leaf appears twice, the roots differ, or a node has two parents; the message names the
        row.
    """

    paths: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        wrong = not is_kind(self.paths, tuple[tuple[str, ...], ...])
        if wrong or not self.paths:
            raise SchemaError("A taxonomy needs one path or more, none empty.", "Give leaf, …, root per row.")
        if len(self.paths) > MAX_LEAVES:
            raise SchemaError(
                f"The taxonomy has {len(self.paths):,} rows; at most {MAX_LEAVES:,} are allowed.",
                "Give one row per value of the column.",
            )
        first: dict[str, int] = {}
        for row, path in enumerate(self.paths, start=1):
            if not path:
                raise _error(row, "is empty", "Remove it.")
            if first.setdefault(path[0], row) != row:
                raise _error(row, f"repeats the leaf {_quote(path[0])} of row {first[path[0]]}", "Keep one of them.")
        parent: dict[str, str] = {}
        for row, path in enumerate(self.paths, start=1):
            self._check(row, path, first)
            for child, above in pairwise(path):
                if parent.setdefault(child, above) != above:
                    text = f"puts {_quote(child)} below {_quote(above)}, but an earlier row below "
                    raise _error(row, text + _quote(parent[child]), "Keep one parent per node.")

    def _check(self, row: int, path: tuple[str, ...], first: dict[str, int]) -> None:
        """Raise SchemaError if a path is too long, has unusable names, or contradicts others.

        `row` is the number of the path, and `first` has the row of each leaf.
        """
        if len(path) > MAX_LEVELS:
            raise _error(row, f"has {len(path):,} levels; at most {MAX_LEVELS} are allowed", "Remove levels.")
        for level, node in enumerate(path, start=1):
            if not is_writable(node):
                raise _error(row, f"has a control character or half a character at level {level}", "Remove it.")
            if not node.strip():
                raise _error(row, f"has an empty name at level {level}", "Name all nodes.")
        if path[-1] != self.root:
            text = f"ends in the root {_quote(path[-1])}, but row 1 ends in {_quote(self.root)}"
            raise _error(row, text, "End every path in one root.")
        if len(set(path)) != len(path):
            again = next(node for index, node in enumerate(path) if node in path[:index])
            raise _error(row, f"repeats the node {_quote(again)}", "Name every node once per path.")
        inner = next((node for node in path[1:] if node in first), None)
        if inner is not None:
            text = f"uses {_quote(inner)}, the leaf of row {first[inner]}, as an inner node"
            raise _error(row, text, "Give inner nodes other names.")

    @classmethod
    def flat(cls, leaves: Iterable[str], root: str = "(any)") -> Self:
        """Return the tree of one level, in which every leaf is a child of the root.

        Parameters
        ----------
        leaves : iterable of str
            The categories or bins.
        root : str, default="(any)"
            The name of the root.

        Returns
        -------
        Taxonomy
            The tree.
        """
        return cls(tuple((leaf, root) for leaf in leaves))

    @classmethod
    def from_rows(cls, rows: object) -> Self:
        """Read a tree from the list of lists of a JSON document.

        Parameters
        ----------
        rows : list of lists of str
            One path per leaf, leaf first and root last.

        Returns
        -------
        Taxonomy
            The tree.

        Raises
        ------
        TypeError
            If `rows` is no list of lists.
        SchemaError
            If the paths form no tree.
        """
        if not isinstance(rows, list | tuple) or not all(isinstance(path, list | tuple) for path in rows):
            raise TypeError
        return cls(tuple(tuple(map(str, path)) for path in rows))

    @classmethod
    def from_csv(cls, content: str | bytes) -> Self:
        r"""Read a taxonomy from CSV text with one row per leaf, leaf first and root last.

        Shorter rows may be padded with empty cells. The delimiter may be a comma, semicolon or tab;
        spaces around names are stripped.

        Parameters
        ----------
        content : str or bytes
            The file's text; bytes are UTF-8.

        Returns
        -------
        Taxonomy
            The tree.

        Raises
        ------
        SchemaError
            If this is no such file; the message names the row.

        Examples
        --------
        >>> import dpcore as dp
        >>> dp.Taxonomy.from_csv("Paris,Europe,World\nLima,America,World").leaves
        ('Paris', 'Lima')
        """
        text = _decode_text(content).removeprefix("\ufeff")
        tables = [*filter(None, (_parse_rows(text, delimiter) for delimiter in DELIMITERS))]
        if not tables:
            raise SchemaError("The taxonomy file is no table, or has unclosed quotes.", TABLE)
        table = max(tables, key=_path_score)
        return cls(tuple(table))

    def to_csv(self) -> str:
        """Return the CSV text that `from_csv` reads back to an equal tree."""
        special = any(SPECIAL & set(name) for path in self.paths for name in path)
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if special else csv.QUOTE_MINIMAL)
        writer.writerows(self.paths)
        return file.getvalue()

    def misfit(self, values: Sequence[str]) -> str:
        """Return why the leaves are not exactly the given values; "" if they are.

        Parameters
        ----------
        values : sequence of str
            A column's categories, or labels of bins.

        Returns
        -------
        str
            A part of a sentence that names the first wrong leaf or value.
        """
        leaves, known = set(self.leaves), set(values)
        for row, leaf in enumerate(self.leaves, start=1):
            if leaf not in known:
                return f"taxonomy row {row:,} starts with {_quote(leaf)}, which is no value of the column"
        lacking = next((value for value in values if value not in leaves), None)
        return "" if lacking is None else f"{_quote(lacking)} has no path in the taxonomy"

    @property
    def root(self) -> str:
        """Name of the node above all others."""
        return self.paths[0][-1]

    @property
    def leaves(self) -> tuple[str, ...]:
        """The categories or bins at the leaves, in row order."""
        return tuple(path[0] for path in self.paths)


def _error(row: int, cause: str, remedy: str) -> SchemaError:
    """Return a SchemaError about row `row` of a taxonomy, with its cause and a remedy."""
    return SchemaError(f"Taxonomy row {row:,} {cause}.", remedy)


def _quote(node: str) -> str:
    """Return a node's name in quotes, shortened to 40 characters."""
    return repr(node if len(node) <= 40 else node[:39] + "…")


def _decode_text(content: str | bytes) -> str:
    """Return a taxonomy file as text; SchemaError if it is too large or not UTF-8."""
    if len(content) > MAX_TEXT:
        raise SchemaError(
            f"The taxonomy file has {len(content) / 1e6:,.1f} MB; at most {MAX_TEXT // 1_000_000} are allowed.", TABLE
        )
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise SchemaError("The taxonomy file is not UTF-8 text.", TABLE)
    return text


def _parse_rows(text: str, delimiter: str) -> list[tuple[str, ...]]:
    """Return the rows of delimited text without trailing empty cells and rows.

    The result is empty if the quotes do not fit the delimiter.
    """
    rows = []
    try:
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            names = [cell.strip() for cell in cells]
            while names and not names[-1]:
                names.pop()
            rows.append(tuple(names))
    except csv.Error:
        return []
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _path_score(table: list[tuple[str, ...]]) -> tuple[int, int]:
    """Return a sort key for how much a table looks like taxonomy paths with one root.

    The key is the number of rows that end like the first row, then the number of cells.
    """
    return sum(path[-1:] == table[0][-1:] for path in table), sum(map(len, table))

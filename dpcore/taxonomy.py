"""A public tree over a column's categories, from the leaves up to one root."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from dpcore.errors import SchemaError

__all__ = ["Taxonomy"]


@dataclass(frozen=True)
class Taxonomy:
    """A public tree over a column's categories.

    Parameters
    ----------
    paths : tuple of tuple of str
        One path per category, from the leaf up to the common root. Node names are unique in the tree.

    Raises
    ------
    SchemaError
        If a leaf appears twice, the roots differ, or a node has two parents; the message names the row.
    """

    paths: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        parent: dict[str, str] = {}
        leaves = [path[0] for path in self.paths if path]
        if not leaves or len(leaves) != len(self.paths):
            raise SchemaError("A taxonomy needs at least one path and no empty ones.", "Give leaf, …, root per row.")
        for row, path in enumerate(self.paths, start=1):
            if path[-1] != self.root:
                raise SchemaError(f"Taxonomy row {row} ends in another root than row 1.", "End every path in one root.")
            if len(set(path)) != len(path) or leaves.count(path[0]) > 1:
                raise SchemaError(f"Taxonomy row {row} repeats a node or a leaf.", "Name every node once per path.")
            if any(node in leaves for node in path[1:]):
                raise SchemaError(f"Taxonomy row {row} uses a leaf as an inner node.", "Give inner nodes other names.")
            for child, above in pairwise(path):
                if parent.setdefault(child, above) != above:
                    raise SchemaError(f"Taxonomy row {row} gives a node a second parent.", "Keep one parent per node.")

    @property
    def root(self) -> str:
        """The node above all others."""
        return self.paths[0][-1]

    @property
    def leaves(self) -> tuple[str, ...]:
        """The categories, in row order."""
        return tuple(path[0] for path in self.paths)

"""Range queries: how many rows have, in each of a few columns, a value out of a set of values.

A workload is public: it is drawn from the schema and its hierarchies, and never looks at rows.
`exact_answers` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Flags
from dpcore.domain.column import Codes, Column
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.errors import ParameterError


@dataclass(frozen=True)
class RangeQuery:
    """Rows whose codes lie in the given sets; columns that are not named may have any value."""

    codes: tuple[tuple[str, tuple[int, ...]], ...]  # names of columns, each with codes in increasing order
    name: str = ""  # for people

    @classmethod
    def of(cls, codes: Mapping[str, Sequence[int]], name: str = "") -> RangeQuery:
        """A query from a mapping."""
        return cls(tuple((column, tuple(sorted({int(c) for c in chosen}))) for column, chosen in codes.items()), name)

    def sets(self, schema: Schema) -> dict[str, Flags]:
        """Per column which of its codes are meant; ParameterError if the schema has no such code."""
        return {name: members(schema[name], chosen) for name, chosen in self.codes}

    def size(self, schema: Schema) -> float:
        """The share of the domain's cells that the query covers."""
        return prod(len(chosen) / schema[name].size for name, chosen in self.codes)


def members(column: Column, chosen: Sequence[int]) -> Flags:
    """Which codes of a column are among some; ParameterError if it has no such code."""
    inside = np.zeros(column.size, dtype=bool)
    if not chosen or chosen[-1] >= len(inside) or chosen[0] < 0:
        raise ParameterError(f"A query of column {column.name!r} asks for no declared value.", "Choose one or more.")
    inside[list(chosen)] = True
    return inside


def random_queries(
    schema: Schema, count: int = 500, *, max_columns: int = 4, fanout: int = 2, seed: int = 0
) -> list[RangeQuery]:
    """A public workload: 1 to `max_columns` columns, and in each a node of its hierarchy or an interval of bins.

    Every column's node is drawn uniformly among all nodes below its root; for a numeric column,
    half of the time an interval between two bins is drawn instead.
    """
    if count < 1 or max_columns < 1:
        raise ParameterError("A workload needs queries, and those need columns.", "Give numbers of 1 or more.")
    rng = np.random.default_rng(seed)
    trees = {column.name: Hierarchy.of(column, fanout) for column in schema if column.size > 1}
    if not trees:
        raise ParameterError("No column of this schema has two values.", "Declare one that does.")
    names = list(trees)
    queries = []
    for _ in range(count):
        width = int(rng.integers(1, min(max_columns, len(names)) + 1))
        chosen = {}
        for j in sorted(rng.choice(len(names), width, replace=False)):
            column, nodes = schema[names[j]], trees[names[j]].nodes
            bins = column.size - column.missing
            if column.numeric and bins > 1 and rng.random() < 0.5:
                first, last = np.sort(rng.integers(bins, size=2))
                chosen[names[j]] = tuple(range(int(first), int(last) + 1))
            else:
                chosen[names[j]] = nodes[int(rng.integers(1, len(nodes)))].codes
        queries.append(RangeQuery.of(chosen))
    return queries


def exact_answers(codes: Codes, schema: Schema, queries: Sequence[RangeQuery]) -> NDArray[np.int64]:
    """How many of some rows each query matches, shape (len(queries),). Private if the rows are."""
    rows_of: dict[tuple[str, tuple[int, ...]], NDArray[np.uint8]] = {}  # by column and set, eight rows in a byte
    answers = np.empty(len(queries), dtype=np.int64)
    everybody = np.packbits(np.ones(len(codes), dtype=bool))
    for i, query in enumerate(queries):
        inside = everybody
        for name, chosen in query.codes:
            if (name, chosen) not in rows_of:
                column = codes[:, schema.index(name)].astype(np.intp)  # NumPy takes four times as long otherwise
                rows_of[name, chosen] = np.packbits(members(schema[name], chosen)[column])
            inside = inside & rows_of[name, chosen]
        answers[i] = np.bitwise_count(inside).sum(dtype=np.int64)
    return answers


def query_names(queries: Sequence[RangeQuery], schema: Schema) -> list[str]:
    """Write every query in words, such as "age 17–53, sex Female".

    Parameters
    ----------
    queries : sequence of RangeQuery
        The queries.
    schema : Schema
        The schema whose codes they have.

    Returns
    -------
    list of str
        Per query its own name, or its nodes, intervals or lists of values.
    """
    trees = {column.name: {node.codes: node.name for node in Hierarchy.of(column).nodes[1:]} for column in schema}

    def part(name: str, codes: tuple[int, ...]) -> str:
        column = schema[name]
        if codes in trees[name]:
            return f"{name} {trees[name][codes]}"
        if column.numeric and codes[-1] - codes[0] == len(codes) - 1 and codes[-1] < column.size - column.missing:
            return f"{name} {column.interval(codes[0], codes[-1] + 1)}"
        listed = [column.labels[code] for code in codes[:3]]
        return f"{name} " + " or ".join(listed if len(codes) <= 3 else [*listed[:2], f"{len(codes) - 2:,} more"])

    return [query.name or ", ".join(part(*wanted) for wanted in query.codes) or "all rows" for query in queries]

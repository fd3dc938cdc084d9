"""Range queries: the number of rows with, in each of a few columns, a value in a given set.

A workload is public: it is drawn from the schema and its hierarchies, never from the rows. Only
`count_matches` reads rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Flags
from dpcore.domain.column import Codes, Column
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.errors import ParameterError


@dataclass(frozen=True)
class RangeQuery:
    """A query for rows whose codes lie in given sets; other columns are unrestricted."""

    codes: tuple[tuple[str, tuple[int, ...]], ...]  # per column; codes ascend
    name: str = ""  # for readers

    @classmethod
    def from_codes(cls, codes: Mapping[str, Sequence[int]], name: str = "") -> RangeQuery:
        """Return the range query for codes by column name; duplicate codes are dropped."""
        return cls(tuple((column, tuple(sorted({*map(int, own)}))) for column, own in codes.items()), name)

    def code_masks(self, schema: Schema) -> dict[str, Flags]:
        """Return per column the mask of its queried codes; ParameterError for undeclared codes."""
        return {name: code_mask(schema[name], chosen) for name, chosen in self.codes}

    def size(self, schema: Schema) -> float:
        """Return the share of the domain's cells that the query covers, between 0 and 1."""
        return prod(len(chosen) / schema[name].size for name, chosen in self.codes)


def code_mask(column: Column, chosen: Sequence[int]) -> Flags:
    """Return the mask of the chosen codes of a column, shape (codes,).

    `chosen` must be in increasing order. ParameterError if it is empty or has undeclared codes.
    """
    inside = np.zeros(column.size, dtype=bool)
    if not chosen or chosen[-1] >= len(inside) or chosen[0] < 0:
        raise ParameterError(f"A query of column {column.name!r} has undeclared codes, or none.", "Give its codes.")
    inside[list(chosen)] = True
    return inside


def random_queries(
    schema: Schema, count: int = 500, *, max_columns: int = 4, fanout: int = 2, seed: int = 0
) -> list[RangeQuery]:
    """Return `count` random range queries, drawn from the public schema alone.

    A query has 1 to `max_columns` columns. For each it asks for one node of the column's hierarchy,
    drawn uniformly among all nodes below the root; for a numeric column, half of the time, for an
    interval between two uniformly drawn bins instead. A hierarchy of intervals divides each
    interval into `fanout` parts.
    """
    if count < 1 or max_columns < 1:
        raise ParameterError("`count` and `max_columns` must be 1 or more.", "Give larger numbers.")
    rng = np.random.default_rng(seed)
    trees = {column.name: Hierarchy.from_column(column, fanout) for column in schema if column.size > 1}
    if not trees:
        raise ParameterError("No column of this schema has two values.", "Declare a column that has.")
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
        queries.append(RangeQuery.from_codes(chosen))
    return queries


def count_matches(codes: Codes, schema: Schema, queries: Sequence[RangeQuery]) -> NDArray[np.int64]:
    """Return how many rows match each query, shape (queries,), without noise.

    `codes` are the rows' codes, shape (n, columns). The counts are private if the rows are.
    """
    packed: dict[Any, NDArray[np.uint8]] = {}  # by column and codes: a bit per row
    answers = np.empty(len(queries), dtype=np.int64)
    all_rows = np.packbits(np.ones(len(codes), dtype=bool))
    for i, query in enumerate(queries):
        inside = all_rows
        for name, chosen in query.codes:
            if (name, chosen) not in packed:
                column = codes[:, schema.index(name)].astype(np.intp)  # four times faster
                packed[name, chosen] = np.packbits(code_mask(schema[name], chosen)[column])
            inside = inside & packed[name, chosen]
        answers[i] = np.bitwise_count(inside).sum(dtype=np.int64)
    return answers


def query_names(queries: Sequence[RangeQuery], schema: Schema) -> list[str]:
    """Return every query in words, such as "age 17–53, sex Female".

    Parameters
    ----------
    queries : sequence of RangeQuery
        The queries.
    schema : Schema
        The schema whose codes they use.

    Returns
    -------
    list of str
        Per query its name, or else its nodes, intervals or lists of values.
    """
    names = {one.name: {node.codes: node.name for node in Hierarchy.from_column(one).nodes[1:]} for one in schema}

    def describe(name: str, codes: tuple[int, ...]) -> str:
        """Return a column's name with its queried node, interval or list of values."""
        column = schema[name]
        if codes in names[name]:
            return f"{name} {names[name][codes]}"
        if column.numeric and codes[-1] - codes[0] == len(codes) - 1 and codes[-1] < column.size - column.missing:
            return f"{name} {column.interval(codes[0], codes[-1] + 1)}"
        listed = [column.labels[code] for code in codes[:3]]
        return f"{name} " + " or ".join(listed if len(codes) <= 3 else [*listed[:2], f"{len(codes) - 2:,} more"])

    return [one.name or ", ".join(describe(*own) for own in one.codes) or "all rows" for one in queries]

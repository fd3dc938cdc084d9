"""Released trees of counts: noisy counts of nested partitions of a schema's domain, and estimates.

Everything here is post-processing of noisy answers: consistent counts, range queries with 95%
intervals of their noise, generalized rows. Values inside a cell count as uniform.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import log, sqrt
from typing import Any, Self

import numpy as np
import pandas as pd

from dpcore.arguments import Floats, Ints
from dpcore.domain.partition import Partition
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.postprocess.forest import ReleasedDocument, require
from dpcore.postprocess.least_squares import ConsistentCounts, TreeLeastSquares
from dpcore.postprocess.simplex import project

MOST = 2.0**53  # from here on a float does not represent every integer

ALL = "all rows"
MOST_COLUMNS = 4  # most columns of a query
HUGE = 1e100  # finite variance of noise that leaves no information
# Half the width of a 95% interval, in standard deviations, of one Laplace variable. Sums are nearer
# to normal, and the interval covers more of them.
SURE = log(20) / sqrt(2)


class ReleasedTree(ReleasedDocument):
    """Noisy counts of partitions of the domain that refine each other, from coarse to fine.

    By level, one per partition: `noisy` are the counts of its cells, or an empty array if the level
    was not measured. `variances` are the variances of the noise on one count: 0 if counts are
    public, infinite if the level was not measured. With `whole_noise` the noise is integers.
    """

    title = "tree of counts"

    def __init__(
        self,
        partitions: Sequence[Partition],
        noisy: Sequence[Floats],
        variances: Sequence[float],
        *,
        whole_noise: bool = False,
    ) -> None:
        self.partitions, self.noisy = tuple(partitions), list(noisy)
        # counts measured with no epsilon have an infinite variance, but exist
        self.variances = [min(v, HUGE) if len(n) else v for v, n in zip(variances, noisy, strict=True)]
        self.whole_noise = whole_noise
        self.tree = TreeLeastSquares([fine.parents(coarse) for coarse, fine in pairwise(partitions)])

    @property
    def schema(self) -> Schema:
        """Schema whose domain is partitioned."""
        return self.partitions[0].schema

    @property
    def leaves(self) -> Partition:
        """Finest partition, whose cells are the leaves of the tree."""
        return self.partitions[-1]

    @property
    def measured_levels(self) -> list[bool]:
        """Whether the counts of each level were measured or are public."""
        return [variance < np.inf for variance in self.variances]

    @cached_property
    def consistent(self) -> ConsistentCounts:
        """Best linear unbiased estimate of all counts; children sum to their parents."""
        values = [n if len(n) else np.zeros(size) for n, size in zip(self.noisy, self.tree.sizes, strict=True)]
        return self.tree.fit(values, self.variances)

    def _leaf_weights(self, queries: Sequence[RangeQuery]) -> Iterator[Floats]:
        """Yield, for each query, the share of every leaf that the query covers."""
        return (self.leaves.weights(query.code_masks(self.schema)) for query in queries)

    def answers(self, queries: Sequence[RangeQuery], leaves: Floats | None = None) -> Floats:
        """Return the answers to range queries from counts of the tree's leaves.

        `leaves` has these counts, by default the consistent ones. A leaf that a query covers in
        part counts in part.
        """
        counts = self.consistent.counts[-1] if leaves is None else leaves
        # a sum, because BLAS threads make small products slower
        return np.array([(share * counts).sum() for share in self._leaf_weights(queries)])

    def half_width(self, variance: Floats | float) -> Floats:
        """Return half the width of a 95% interval around an estimate with this variance.

        Noise on integers has steps, so an interval may end just before the decisive integer. One
        row more covers it: for a single count and a bound m, P(|z| > m + 1) <= 2q / (1+q) exp(-m /
        scale), with q = exp(-1 / scale), is below .05 at every scale.
        """
        variance = np.maximum(variance, 0.0)
        return np.where(variance > 0, SURE * np.sqrt(variance) + self.whole_noise, 0.0)

    def half_widths(self, queries: Sequence[RangeQuery]) -> Floats:
        """Return half the widths of the 95% intervals of `answers`, from the noise alone.

        They do not cover that values inside a leaf may not be uniform, nor the change by a later
        projection.
        """
        return self.half_width(np.array(list(map(self.consistent.query_variance, self._leaf_weights(queries)))))

    def noisy_answers(self, queries: Sequence[RangeQuery]) -> tuple[Floats, Floats]:
        """Return answers from the noisy counts, and half the widths of their 95% intervals.

        Noisy counts are not consistent: children need not sum to their parents. An answer is the
        sum of the fewest measured nodes inside the query, from the top, and of shares of leaves.
        """
        found = [self._noisy_answer(query) for query in queries]
        estimates, variances = np.array(found).reshape(-1, 2).T
        return estimates, self.half_width(variances)

    def _noisy_answer(self, query: RangeQuery) -> tuple[float, float]:
        """Return the answer to one query from the noisy counts, and its variance."""
        sets, estimate, variance = query.code_masks(self.schema), 0.0, 0.0
        wanted = np.ones(1, dtype=bool)  # nodes of the level that no measured ancestor covers yet
        for level, partition in enumerate(self.partitions):
            if level:
                wanted = wanted[self.tree.parents[level - 1]]
            if self.measured_levels[level]:
                share = partition.weights(sets)
                last = level == len(self.partitions) - 1
                taken = wanted & ((share > 0) if last else (share == 1))
                estimate += float((share[taken] * self.noisy[level][taken]).sum())
                variance += float((share[taken] ** 2).sum()) * self.variances[level]
                wanted &= ~taken
        return estimate, variance

    def rows(self, leaf_counts: Floats) -> pd.DataFrame:
        """Return the generalized rows that a release publishes, from counts of its leaves.

        They have one column of group names per partitioned column, and the rounded number of rows.
        Leaves whose count is rounded to 0 are left out.
        """
        if not leaf_counts.sum() < MOST:
            raise ParameterError("The counts sum to 2^53 or more: they are mostly noise.", "Spend more epsilon.")
        counts = self.tree.round_to_integers(project(leaf_counts, leaf_counts.sum()))[-1]
        cells = np.flatnonzero(counts)
        indices = self.leaves.blocks(cells)
        named = {
            name: np.array(axis.names, dtype=object)[blocks]
            for name, axis, blocks in zip(self.schema.names, self.leaves.axes, indices, strict=True)
            if len(axis.names) > 1
        }
        counted = "(rows)"  # made different from all other names
        while counted in named:
            counted += "'"
        return pd.DataFrame({**named, counted: counts[cells]})

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as JSON-ready values.

        Each level lists the columns that it splits further than the level above.
        """
        levels, before = [], Partition.whole(self.schema)
        for partition, noisy, variance in zip(self.partitions, self.noisy, self.variances, strict=True):
            new = [(self.schema.names[j], partition.axes[j]) for j in _changed_columns(before, partition)]
            divides = [{"column": name, "blocks": own.blocks.tolist(), "names": list(own.names)} for name, own in new]
            measured = variance < np.inf
            levels.append({"divides": divides, "variance": variance if measured else None, "noisy": noisy.tolist()})
            before = partition
        return {"whole_noise": self.whole_noise, "levels": levels}

    @classmethod
    def _read(cls, schema: Schema, document: Mapping[str, Any]) -> Self:
        """Read a tree of counts from a document; any exception means that it is damaged."""
        partition, partitions, noisy, variances = Partition.whole(schema), [], [], []
        for level in document["levels"]:
            for change in level["divides"]:
                blocks = np.array(change["blocks"], dtype=np.intp)
                size, numbers = schema[change["column"]].size, range(len(change["names"]))
                require([len(blocks), *np.unique(blocks)] == [size, *numbers])
                partition = partition.refine(change["column"], blocks, change["names"])
            partitions.append(partition)
            noisy.append(np.array(level["noisy"], dtype=float))
            variances.append(np.inf if level["variance"] is None else float(level["variance"]))
            require(variances[-1] >= 0)
            require(len(noisy[-1]) == (partition.size if variances[-1] < np.inf else 0))
            require(np.isfinite(noisy[-1]).all())
        require(bool(variances) and variances[-1] != np.inf)
        tree = cls(partitions, noisy, variances, whole_noise=bool(document["whole_noise"]))
        exact = [level for level, variance in enumerate(variances) if variance == 0]
        require(all(np.allclose(tree.consistent.counts[level], noisy[level]) for level in exact))
        return tree


def node_table(tree: ReleasedTree, *, at: tuple[int, int] = (0, 0), most: int = 400) -> pd.DataFrame:
    """Return a table of a node and the nodes below it, as many whole levels as have `most` nodes.

    `at` is the upper node's level and its position in that level. There is one row per node, level
    by level. Within a level, children are adjacent and below their parent.

    Columns: `level`, `place` (the cell of the partition), `parent` (its position; -1 for the upper
    node), `left` and `right` (the range of leaves below it, from the left), `divides` (the columns
    that its level splits further), `label` (its groups in those columns), `name` (its groups in all
    columns), `measured`, `noisy` (NaN if not measured), `consistent`, and half the widths of their
    95% intervals, `noisy_margin` and `consistent_margin`.
    """
    level, top = at
    if not 0 <= level < len(tree.partitions) or not 0 <= top < tree.partitions[level].size:
        raise ParameterError(f"The tree has no node {top} on level {level}.", "Choose another node.")
    if most < 1:
        raise ParameterError(f"`most` must be 1 or more; got {most}.", "Allow more nodes.")
    leaves = [sums.astype(int) for sums in tree.tree.sums(np.ones(tree.leaves.size))]
    shown, above, left = np.array([top]), np.array([-1]), np.zeros(1, dtype=int)
    divides, drawn = level_names(tree), 0
    frames: list[pd.DataFrame] = []
    while drawn + len(shown) <= most or not frames:
        drawn += len(shown)
        right = left + leaves[level][shown]
        where = {"parent": above, "left": left, "right": right, "divides": divides[level]}
        frames.append(_rows(tree, level, shown, where))
        if level == len(tree.partitions) - 1:
            break
        row_of = np.full(tree.tree.sizes[level], -1)
        row_of[shown] = np.arange(len(shown))
        parents = row_of[tree.tree.parents[level]]
        below = np.flatnonzero(parents >= 0)
        below = below[np.argsort(parents[below], kind="stable")]
        level, above, shown = level + 1, shown[parents[below]], below
        counted = leaves[level][shown]
        left = np.cumsum(counted) - counted
    return pd.concat(frames, ignore_index=True)


def _rows(tree: ReleasedTree, level: int, indices: Ints, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of `node_table` for some nodes of one level.

    `indices` are the nodes' cells in the level's partition. `where` has the columns that place the
    nodes in a drawing: parent, range of leaves, and what the level splits.
    """
    partition, fitted = tree.partitions[level], tree.consistent
    new = set(_changed_columns(tree.partitions[level - 1] if level else partition, partition))
    divided = [j for j, size in enumerate(partition.shape) if size > 1]
    blocks = partition.blocks(indices)
    labels, names = [], []
    for i in range(len(indices)):
        parts = {j: partition.axes[j].names[blocks[j][i]] for j in divided}
        names.append(", ".join(f"{partition.schema.names[j]} {part}" for j, part in parts.items()) or ALL)
        labels.append(", ".join(part for j, part in parts.items() if j in new) or names[-1])
    measured = tree.measured_levels[level]
    return pd.DataFrame(
        {
            "level": level,
            "place": indices,
            **where,
            "label": labels,
            "name": names,
            "measured": measured,
            "noisy": tree.noisy[level][indices] if measured else np.nan,
            "noisy_margin": tree.half_width(tree.variances[level]) if measured else np.nan,
            "consistent": fitted.counts[level][indices],
            "consistent_margin": tree.half_width(fitted.variances[level][indices]),
        }
    )


def level_names(tree: ReleasedTree) -> list[str]:
    """Return, for each level, the names of the columns that it splits further."""
    names = tree.schema.names
    return [ALL, *(", ".join(names[j] for j in _changed_columns(*pair)) for pair in pairwise(tree.partitions))]


def _changed_columns(before: Partition, after: Partition) -> list[int]:
    """Return the positions of the columns that two partitions divide differently."""
    pairs = enumerate(zip(before.axes, after.axes, strict=True))
    return [j for j, (old, new) in pairs if old is not new and old.names != new.names]


def group_queries(tree: ReleasedTree, count: int, *, seed: int = 0) -> list[RangeQuery]:
    """Return a random public workload of range queries on the release's own groups.

    `count` is their number, and `seed` fixes them. Each query has 1 to 4 partitioned columns, and
    in each one block of a level. Such ranges are sums of whole leaves, so their errors are noise
    alone.
    """
    if count < 1:
        raise ParameterError(f"`count` must be 1 or more; got {count}.", "Ask for more queries.")
    rng = np.random.default_rng(seed)
    names = tree.leaves.divided_columns
    if not names:
        raise ParameterError("This release has no groups: no column was split.", "Use ranges of the schema.")
    groups: list[list[tuple[int, ...]]] = []
    for name in names:
        axes = [partition.axes[tree.schema.index(name)] for partition in tree.partitions]
        found = {tuple(np.flatnonzero(axis.blocks == b).tolist()) for axis in axes for b in range(len(axis.names))}
        groups.append(sorted(found - {tuple(range(tree.schema[name].size))}))
    queries = []
    for _ in range(count):
        width = int(rng.integers(1, min(MOST_COLUMNS, len(names)) + 1))
        chosen = np.sort(rng.choice(len(names), width, replace=False))
        queries.append(RangeQuery.from_codes({names[j]: groups[j][int(rng.integers(len(groups[j])))] for j in chosen}))
    return queries

"""A released tree of counts over a schema's domain: noisy counts of nested partitions, and what follows from them.

Everything here is post-processing of answers that were paid for: consistent counts, range queries
with the interval that the noise alone explains, generalized rows. Values inside a cell count as
uniform.
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
from dpcore.postprocess.least_squares import Consistent, TreeLeastSquares
from dpcore.postprocess.simplex import project

MOST = 2.0**53  # from here on a float does not hold every whole number

ALL = "all rows"
MOST_COLUMNS = 4  # of a query
HUGE = 1e100  # stands for the variance of noise that says nothing, where a number is needed
# Half the width of a 95% interval, in standard deviations, of one Laplace variable; of sums, which are nearer to
# normal, it covers more.
SURE = log(20) / sqrt(2)


class ReleasedTree(ReleasedDocument):
    """Noisy counts of partitions that refine each other, from coarse to fine.

    By level: `noisy` are the counts of its cells, an empty array where nothing was measured;
    `variances` those of a cell's noise, 0 if the counts are public, infinite if nothing was
    measured. With `whole_noise` it is whole numbers.
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
        # counts that were bought for nothing say nothing, and are there all the same
        self.variances = [min(v, HUGE) if len(n) else v for v, n in zip(variances, noisy, strict=True)]
        self.whole_noise = whole_noise
        self.tree = TreeLeastSquares([fine.parents(coarse) for coarse, fine in pairwise(partitions)])

    @property
    def schema(self) -> Schema:
        """The schema whose domain is divided."""
        return self.partitions[0].schema

    @property
    def leaves(self) -> Partition:
        """The finest partition."""
        return self.partitions[-1]

    @property
    def measured(self) -> list[bool]:
        """Per level, whether it was measured or is public."""
        return [variance < np.inf for variance in self.variances]

    @cached_property
    def consistent(self) -> Consistent:
        """The best linear unbiased estimate of all counts, parents equal to the sums of their children."""
        values = [n if len(n) else np.zeros(size) for n, size in zip(self.noisy, self.tree.sizes, strict=True)]
        return self.tree.fit(values, self.variances)

    def _weights(self, queries: Sequence[RangeQuery]) -> Iterator[Floats]:
        """How much of each leaf each query covers."""
        return (self.leaves.weights(query.code_masks(self.schema)) for query in queries)

    def answers(self, queries: Sequence[RangeQuery], leaves: Floats | None = None) -> Floats:
        """Sums of leaves, the consistent ones by default; a leaf that is covered in part counts in part."""
        counts = self.consistent.counts[-1] if leaves is None else leaves
        # BLAS threads make small products slower
        return np.array([(share * counts).sum() for share in self._weights(queries)])

    def margin(self, variance: Floats | float) -> Floats:
        """Half the width of a 95% interval around an estimate of that variance.

        Noise on whole numbers has steps, so that an interval may end just before the one that
        matters. One row more makes up for it: for a single count, P(|z| > m + 1) <= 2q / (1+q)
        exp(-m / scale), below .05 at every scale.
        """
        variance = np.maximum(variance, 0.0)
        return np.where(variance > 0, SURE * np.sqrt(variance) + self.whole_noise, 0.0)

    def margins(self, queries: Sequence[RangeQuery]) -> Floats:
        """Half the widths of the 95% intervals of `answers`, from the noise alone.

        Not in it: that values inside a leaf are no more uniform than they are, and what a later
        projection moves.
        """
        return self.margin(np.array(list(map(self.consistent.query_variance, self._weights(queries)))))

    def noisy_answers(self, queries: Sequence[RangeQuery]) -> tuple[Floats, Floats]:
        """Answers without consistency, and half the widths of their 95% intervals.

        A query is the sum of the fewest measured nodes that lie inside it, from the top, and of
        shares of leaves.
        """
        found = [self._noisy_answer(query) for query in queries]
        estimates, variances = np.array(found).reshape(-1, 2).T
        return estimates, self.margin(variances)

    def _noisy_answer(self, query: RangeQuery) -> tuple[float, float]:
        sets, estimate, variance = query.code_masks(self.schema), 0.0, 0.0
        wanted = np.ones(1, dtype=bool)  # nodes of the level of which nothing has been counted yet
        for level, partition in enumerate(self.partitions):
            if level:
                wanted = wanted[self.tree.parents[level - 1]]
            if self.measured[level]:
                share = partition.weights(sets)
                last = level == len(self.partitions) - 1
                taken = wanted & ((share > 0) if last else (share == 1))
                estimate += float((share[taken] * self.noisy[level][taken]).sum())
                variance += float((share[taken] ** 2).sum()) * self.variances[level]
                wanted &= ~taken
        return estimate, variance

    def rows(self, leaf_counts: Floats) -> pd.DataFrame:
        """The generalized rows that a release publishes: a name per divided column, and how many rows, rounded."""
        if not leaf_counts.sum() < MOST:
            raise ParameterError("These counts are too large to round: they are mostly noise.", "Spend more epsilon.")
        counts = self.tree.whole_numbers(project(leaf_counts, leaf_counts.sum()))[-1]
        cells = np.flatnonzero(counts)
        indices = self.leaves.blocks(cells)
        named = {
            name: np.array(axis.names, dtype=object)[blocks]
            for name, axis, blocks in zip(self.schema.names, self.leaves.axes, indices, strict=True)
            if len(axis.names) > 1
        }
        counted = "(rows)"  # no other column's name
        while counted in named:
            counted += "'"
        return pd.DataFrame({**named, counted: counts[cells]})

    def to_dict(self) -> dict[str, Any]:
        """The tree as JSON-ready values; a level lists the columns that it divides anew."""
        levels, before = [], Partition.whole(self.schema)
        for partition, noisy, variance in zip(self.partitions, self.noisy, self.variances, strict=True):
            new = [(self.schema.names[j], partition.axes[j]) for j in _changed(before, partition)]
            divides = [{"column": name, "blocks": own.blocks.tolist(), "names": list(own.names)} for name, own in new]
            measured = variance < np.inf
            levels.append({"divides": divides, "variance": variance if measured else None, "noisy": noisy.tolist()})
            before = partition
        return {"whole_noise": self.whole_noise, "levels": levels}

    @classmethod
    def _read(cls, schema: Schema, document: Mapping[str, Any]) -> Self:
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


def nodes(tree: ReleasedTree, *, at: tuple[int, int] = (0, 0), most: int = 400) -> pd.DataFrame:
    """A node of a tree and what is below it: as many whole levels as have `most` nodes at most.

    `at` is the upper node's level, and its place there. One row per node, level by level, and in a
    level as a walk meets them, so that children are adjacent and below their parent: `level`,
    `row_of` (the partition's cell), `parent` (its place; -1 for the upper node), `left` and `right`
    (the leaves below it, counted from the left), `divides` (the columns that its level divides),
    `label` (its part of those), `name` (all that is said of it), `measured`, `noisy` (NaN if not
    measured), `consistent`, and half the widths of their 95% intervals, `..._margin`.
    """
    level, top = at
    if not 0 <= level < len(tree.partitions) or not 0 <= top < tree.partitions[level].size:
        raise ParameterError("The tree has no such node.", "Choose a level and a place in it.")
    if most < 1:
        raise ParameterError("There is room for no node.", "Allow 1 or more.")
    leaves = [sums.astype(int) for sums in tree.tree.sums(np.ones(tree.leaves.size))]
    shown, above = np.array([top]), np.array([-1])
    left = np.zeros(1, dtype=int)
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
    """Names and counts of some nodes of a level, and where they are drawn."""
    partition, fitted = tree.partitions[level], tree.consistent
    new = set(_changed(tree.partitions[level - 1] if level else partition, partition))
    divided = [j for j, size in enumerate(partition.shape) if size > 1]
    blocks = partition.blocks(indices)
    labels, names = [], []
    for i in range(len(indices)):
        parts = {j: partition.axes[j].names[blocks[j][i]] for j in divided}
        names.append(", ".join(f"{partition.schema.names[j]} {part}" for j, part in parts.items()) or ALL)
        labels.append(", ".join(part for j, part in parts.items() if j in new) or names[-1])
    measured = tree.measured[level]
    return pd.DataFrame(
        {
            "level": level,
            "place": indices,
            **where,
            "label": labels,
            "name": names,
            "measured": measured,
            "noisy": tree.noisy[level][indices] if measured else np.nan,
            "noisy_margin": tree.margin(tree.variances[level]) if measured else np.nan,
            "consistent": fitted.counts[level][indices],
            "consistent_margin": tree.margin(fitted.variances[level][indices]),
        }
    )


def level_names(tree: ReleasedTree) -> list[str]:
    """Per level the columns that it divides anew."""
    names = tree.schema.names
    return [ALL, *(", ".join(names[j] for j in _changed(*pair)) for pair in pairwise(tree.partitions))]


def _changed(before: Partition, after: Partition) -> list[int]:
    """The columns that are divided in another way than before."""
    pairs = enumerate(zip(before.axes, after.axes, strict=True))
    return [j for j, (old, new) in pairs if old is not new and old.names != new.names]


def group_queries(tree: ReleasedTree, count: int, *, seed: int = 0) -> list[RangeQuery]:
    """A public workload of the release's own groups: 1 to 4 divided columns, in each a block of a level.

    Such ranges are sums of whole leaves, so that their errors are noise alone.
    """
    if count < 1:
        raise ParameterError("A workload needs queries.", "Give a number of 1 or more.")
    rng = np.random.default_rng(seed)
    names = tree.leaves.divided_columns
    if not names:
        raise ParameterError("This release split no column.", "Ask for ranges of the schema instead.")
    groups: list[list[tuple[int, ...]]] = []
    for name in names:
        axes = [partition.axes[tree.schema.index(name)] for partition in tree.partitions]
        found = {tuple(np.flatnonzero(axis.blocks == b).tolist()) for axis in axes for b in range(len(axis.names))}
        groups.append(sorted(found - {tuple(range(tree.schema[name].size))}))
    queries = []
    for _ in range(count):
        width = int(rng.integers(1, min(MOST_COLUMNS, len(names)) + 1))
        chosen = np.sort(rng.choice(len(names), width, replace=False))
        queries.append(RangeQuery.of({names[j]: groups[j][int(rng.integers(len(groups[j])))] for j in chosen}))
    return queries

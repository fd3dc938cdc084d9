"""A released tree of counts as a table of nodes, to be looked at. Post-processing of a release."""

import numpy as np
import pandas as pd

from dpcore.arguments import Ints
from dpcore.domain.partition import Partition
from dpcore.domain.range_query import RangeQuery
from dpcore.errors import ParameterError
from dpcore.postprocess.count_tree import ReleasedTree

ALL = "all rows"
MOST_COLUMNS = 4  # of a query


def nodes(tree: ReleasedTree, *, at: tuple[int, int] = (0, 0), most: int = 400) -> pd.DataFrame:
    """A node of a tree and what is below it, as many whole levels as have at most `most` nodes together.

    `at` is the upper node's level, and its place there. One row per node, level by level, and in a level as a walk
    meets them, so that children are adjacent and below their parent: `level`, `place` (the partition's cell), `parent`
    (its place; -1 for the upper node), `left` and `right` (the leaves below it, counted from the left), `divides` (the
    columns that its level divides), `label` (its part of those), `name` (all that is said of it), `measured`, `noisy`
    (NaN if not measured), `consistent`, and half the widths of their 95% intervals, `..._margin`.
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
        frames.append(_rows(tree, level, shown).assign(parent=above, left=left, right=right, divides=divides[level]))
        if level == len(tree.partitions) - 1:
            break
        place = np.full(tree.tree.sizes[level], -1)
        place[shown] = np.arange(len(shown))
        parents = place[tree.tree.parents[level]]
        below = np.flatnonzero(parents >= 0)
        below = below[np.argsort(parents[below], kind="stable")]
        level, above, shown = level + 1, shown[parents[below]], below
        counted = leaves[level][shown]
        left = np.cumsum(counted) - counted
    columns = ["level", "place", "parent", "left", "right", "divides", "label", "name", "measured"]
    columns += ["noisy", "noisy_margin", "consistent", "consistent_margin"]
    return pd.concat(frames, ignore_index=True)[columns]


def _rows(tree: ReleasedTree, level: int, places: Ints) -> pd.DataFrame:
    """Names and counts of some nodes of a level."""
    partition, fitted = tree.partitions[level], tree.consistent
    new = set(_changed(tree.partitions[level - 1] if level else partition, partition))
    divided = [j for j, size in enumerate(partition.shape) if size > 1]
    blocks = partition.blocks(places)
    labels, names = [], []
    for i in range(len(places)):
        parts = {j: partition.axes[j].names[blocks[j][i]] for j in divided}
        names.append(", ".join(f"{partition.schema.names[j]} {part}" for j, part in parts.items()) or ALL)
        labels.append(", ".join(part for j, part in parts.items() if j in new) or names[-1])
    measured = tree.measured[level]
    return pd.DataFrame(
        {
            "level": level,
            "place": places,
            "label": labels,
            "name": names,
            "measured": measured,
            "noisy": tree.noisy[level][places] if measured else np.nan,
            "noisy_margin": tree.margin(tree.variances[level]) if measured else np.nan,
            "consistent": fitted.counts[level][places],
            "consistent_margin": tree.margin(fitted.variances[level][places]),
        }
    )


def level_names(tree: ReleasedTree) -> list[str]:
    """Per level the columns that it divides anew."""
    names, found = tree.schema.names, [ALL]
    for level in range(1, len(tree.partitions)):
        new = _changed(tree.partitions[level - 1], tree.partitions[level])
        found.append(", ".join(names[j] for j in new))
    return found


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
    names = tree.leaves.family
    if not names:
        raise ParameterError("This release divided no column.", "Ask for ranges of the schema instead.")
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

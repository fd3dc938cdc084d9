"""What a released tree of counts gets wrong. Everything here reads real rows, and is never private."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpcore.arguments import Floats
from dpcore.domain.column import Codes
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.count_tree_frames import level_names


def true_counts(tree: ReleasedTree, codes: Codes) -> list[Floats]:
    """What the tree's counts would be without noise, per level."""
    cells = np.zeros(len(codes), dtype=np.intp)
    for j, axis in enumerate(tree.leaves.axes):
        cells = cells * len(axis.names) + axis.blocks[codes[:, j]]
    return tree.tree.sums(np.bincount(cells, minlength=tree.leaves.size).astype(float))


def with_truth(frame: pd.DataFrame, truth: Sequence[Floats]) -> pd.DataFrame:
    """`nodes` with the true counts (`true`) and what the noise added to them (`noise`)."""
    true = np.array([truth[level][place] for level, place in zip(frame["level"], frame["place"], strict=True)])
    return frame.assign(true=true, noise=frame["noisy"] - true)


def level_errors(tree: ReleasedTree, truth: Sequence[Floats]) -> pd.DataFrame:
    """How far a tree's counts are from the true ones, level by level.

    `level`, `divides`, `nodes`, `which` ("noisy" for measured levels; "consistent") and `error`, the mean absolute one
    of the level's nodes.
    """
    rows = []
    for level, (divides, true) in enumerate(zip(level_names(tree), truth, strict=True)):
        counts = {"noisy": tree.noisy[level]} if tree.measured[level] else {}
        counts["consistent"] = tree.consistent.counts[level]
        rows += [
            {"level": level, "divides": divides, "nodes": len(true), "which": which, "error": np.abs(c - true).mean()}
            for which, c in counts.items()
        ]
    return pd.DataFrame(rows)

"""What released trees get wrong, of counts and of forests. Everything here reads real rows, and is never private."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpcore.arguments import Floats
from dpcore.datasets import Dataset
from dpcore.evaluate.evaluator import Evaluator
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.count_tree_frames import level_names
from dpcore.postprocess.forest import Forest, recounted
from dpcore.rows import Rows

STEPS = ("released", "same trees, noiseless counts", "noiseless trees")


def true_counts(tree: ReleasedTree, rows: Rows) -> list[Floats]:
    """What the tree's counts would be without noise, per level."""
    counts = np.zeros(tree.leaves.size, dtype=np.int64)
    for block in rows.blocks(range(len(rows.sizes))):
        cells = np.zeros(len(block[0]), dtype=np.intp)
        for axis, codes in zip(tree.leaves.axes, block, strict=True):
            cells = cells * len(axis.names) + axis.blocks[codes]
        counts += np.bincount(cells, minlength=len(counts))
    return tree.tree.sums(counts.astype(float))


def with_truth(frame: pd.DataFrame, truth: Sequence[Floats]) -> Statistics:
    """`nodes` with the true counts (`true`) and what the noise added to them (`noise`)."""
    true = np.array([truth[level][place] for level, place in zip(frame["level"], frame["place"], strict=True)])
    return statistics(frame.assign(true=true, noise=frame["noisy"] - true))


def level_errors(tree: ReleasedTree, truth: Sequence[Floats]) -> Statistics:
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
    return statistics(pd.DataFrame(rows))


def noise_and_structure(released: Forest, plain: Forest, data: Dataset) -> Statistics:
    """What noisy counts in leaves cost, apart from what noisily chosen divisions cost. Not private.

    `step`, `accuracy`, `balanced_accuracy`, one row for each of `STEPS`: the release; its trees with the true numbers
    of all training rows by class in their leaves; and `plain`, what the same builder makes of the rows without noise.
    From the first to the second, accuracy is lost by noise in leaves; from the second to the third, by the trees'
    structure.
    """
    forests = zip(STEPS, (released, with_true_counts(released, data.train_sample), plain), strict=True)
    models = {step: forest.probability for step, forest in forests}
    return statistics(Evaluator(data).scores(models, released.target).rename(columns={"model": "step"}))


def with_true_counts(forest: Forest, train: pd.DataFrame) -> Forest:
    """The same trees with the true numbers of rows by class in all nodes; every row is in every tree. Not private.

    A node without rows takes after its parent, as in a release.
    """
    truth, width = forest.schema[forest.target].encode(train[forest.target]), forest.classes.shape[1]
    size = len(forest.tree)
    flat = np.zeros(size * width)
    for leaves in forest.apply(train).T:
        flat += np.bincount(leaves * width + truth, minlength=size * width)
    return recounted(forest, flat.reshape(size, width))

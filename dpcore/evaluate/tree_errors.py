"""What released trees and classifiers get wrong, and say of columns. Reads real rows: not private.

A forest says how the rows of a node fall apart at its split: of each column, the split nearest to a
root is looked at, and of several as near the one with the most rows. Naive Bayes says how each
column is distributed over all classes.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpcore.arguments import Floats
from dpcore.datasets import Dataset
from dpcore.evaluate.distances import value_shares, with_floors
from dpcore.evaluate.evaluator import Evaluator
from dpcore.evaluate.reconstruction import normal_shares
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.postprocess.count_tree import ReleasedTree, level_names
from dpcore.postprocess.forest import Forest, replace_leaf_counts
from dpcore.postprocess.forest_frames import branch_texts
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.rows import Rows

ColumnShares = list[tuple[str, str, float, float, int]]
"""Of each value or branch: the column, the value, the real and the released share, and a number of real rows."""
STEPS = ("released", "same trees, noiseless counts", "noiseless trees")


def true_counts(tree: ReleasedTree, rows: Rows) -> list[Floats]:
    """Return the counts that a released tree would have without noise, one array per level."""
    counts = np.zeros(tree.leaves.size, dtype=np.int64)
    for block in rows.blocks(range(len(rows.sizes))):
        cells = np.zeros(len(block[0]), dtype=np.intp)
        for axis, codes in zip(tree.leaves.axes, block, strict=True):
            cells = cells * len(axis.names) + axis.blocks[codes]
        counts += np.bincount(cells, minlength=len(counts))
    return tree.tree.sums(counts.astype(float))


def add_true_counts(frame: pd.DataFrame, truth: Sequence[Floats]) -> Statistics:
    """Return a tree's nodes with their true counts (`true`) and what noise added to them (`noise`).

    `frame` has a row per node, with its `level`, `place` in the level and `noisy` count. `truth`
    has the true counts of each level.
    """
    true = np.array([truth[level][index] for level, index in zip(frame["level"], frame["place"], strict=True)])
    return statistics(frame.assign(true=true, noise=frame["noisy"] - true))


def level_errors(tree: ReleasedTree, truth: Sequence[Floats]) -> Statistics:
    """Return the mean absolute error of a tree's counts, level by level.

    `truth` has the true counts of each level. The columns are `level`, `divides` (the columns that
    the level splits further), `nodes`, `which` ("noisy" for measured levels; "consistent") and
    `error`, the mean over the level's nodes.
    """
    rows = []
    for level, (divides, true) in enumerate(zip(level_names(tree), truth, strict=True)):
        counts = {"noisy": tree.noisy[level]} if tree.measured_levels[level] else {}
        counts["consistent"] = tree.consistent.counts[level]
        rows += [
            {"level": level, "divides": divides, "nodes": len(true), "which": which, "error": np.abs(c - true).mean()}
            for which, c in counts.items()
        ]
    return statistics(pd.DataFrame(rows))


def noise_and_structure(released: Forest, plain: Forest, data: Dataset) -> Statistics:
    """Return how much accuracy is lost to noisy leaves and to noisily chosen splits. Not private.

    The frame has `step`, `accuracy` and `balanced_accuracy`, one row for each of `STEPS`: the
    release; its trees with the true class counts of all training rows in their leaves; and `plain`,
    the forest that the same algorithm builds from the rows without noise. From the first to the
    second, accuracy is lost by noise in leaves; from the second to the third, by the trees'
    structure.
    """
    forests = zip(STEPS, (released, with_true_counts(released, data.train_sample), plain), strict=True)
    models = {step: forest.probability for step, forest in forests}
    return statistics(Evaluator(data).scores(models, released.target).rename(columns={"model": "step"}))


def with_true_counts(forest: Forest, train: pd.DataFrame) -> Forest:
    """Return the trees with the true class counts of the rows `train` in every node. Not private.

    A node without rows takes the class shares of its parent, as in a release.
    """
    truth, width = forest.schema[forest.target].encode(train[forest.target]), forest.classes.shape[1]
    size = len(forest.tree)
    flat = np.zeros(size * width)
    for leaves in forest.apply(train).T:
        flat += np.bincount(leaves * width + truth, minlength=size * width)
    return replace_leaf_counts(forest, flat.reshape(size, width))


def model_marginals(model: Forest | Bayes, data: Dataset) -> Statistics:
    """Compare a classifier's single-column shares with its real training rows'. Not private.

    Parameters
    ----------
    model : Forest or Bayes
        The released classifier.
    data : Dataset
        The data set; of rows in a folder, the sample of the training rows.

    Returns
    -------
    Statistics
        A DataFrame with one row per value or branch: `attributes` (the column), `value`, the shares
        `real` and `released`, `floor_low` and `floor_high` (the 2.5% and 97.5% quantiles of the
        share in a resample of as many real rows). It is empty if the classifier knows of no column.
    """
    cells = split_shares(model, data) if isinstance(model, Forest) else column_shares(model, data)
    names = ["attributes", "value", "real", "released", "rows"]
    frame = pd.DataFrame(cells, columns=names).astype(dict.fromkeys(names[2:], float))
    return with_floors(frame.drop(columns="rows"), frame["rows"])


def model_distances(frame: Statistics) -> pd.DataFrame:
    """Return the total variation distance of every column of `model_marginals`, the worst first."""
    gaps = (frame["real"] - frame["released"]).abs() / 2
    found = gaps.groupby(frame["attributes"]).sum().rename("avd").reset_index()
    return pd.DataFrame(found).sort_values("avd", ascending=False, ignore_index=True)


def split_shares(forest: Forest, data: Dataset) -> ColumnShares:
    """Return, for each column that splits a node, the shares of the branches of its first split.

    Each item has column, branch, real share, released share and the number of real rows. The first
    split is the one in the highest level; of several, the one with most rows.
    """
    real = with_true_counts(forest, data.train_sample)
    found: ColumnShares = []
    for column in np.unique(forest.column[~forest.leaf]).tolist():
        nodes = np.flatnonzero(forest.column == column)
        node = int(nodes[np.lexsort((-forest.counts[nodes], forest.level[nodes]))[0]])
        children = np.arange(forest.first[node], forest.first[node] + forest.fanout[node])
        both = real.counts[children], forest.counts[children]
        if min(totals := [counts.sum() for counts in both]) <= 0:
            continue  # no row, real or released, reaches it, so it has no shares
        shares = [counts / total for counts, total in zip(both, totals, strict=True)]
        name, rows = forest.schema.names[column], int(totals[0])
        sides = [branch_texts(forest, node)[0] for node in children.tolist()]
        found += [(name, side, p, q, rows) for side, p, q in zip(sides, *shares, strict=True)]
    return found


def column_shares(model: Bayes, data: Dataset) -> ColumnShares:
    """Return, for each column that the model knows, the shares of its values over all classes.

    Each item has column, value, real share, released share and the number of real rows.
    """
    schema, train = model.schema, data.train_sample
    found: ColumnShares = []
    for name in model.columns:
        column = schema[name]
        released = model.prior @ (model.tables[name] if name in model.tables else bin_shares(model, name))
        values = zip(column.labels, value_shares(train, column), released, strict=True)
        found += [(name, value, p, q, max(len(train), 1)) for value, p, q in values]
    return found


def bin_shares(model: Bayes, name: str) -> Floats:
    """Return the probabilities of a column's bins by class, from a model's means and variances."""
    column, moments = model.schema[name], model.normals[name]
    edges = np.array([-np.inf, *column.edges[1:-1], np.inf])
    shares = np.zeros((len(moments), column.size))
    shares[:, : len(edges) - 1] = normal_shares(moments, edges)
    return shares

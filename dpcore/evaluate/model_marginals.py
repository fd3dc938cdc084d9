"""What a released classifier's noisy counts say of single columns, beside the real rows. Reads real rows: not private.

A forest says how the rows of a node fall apart at its split: of each column, the split nearest to a root is looked at,
and of several as near the one with the most rows. Naive Bayes says how each column is distributed over all classes.
"""

import numpy as np
import pandas as pd
from scipy.stats import norm

from dpcore.arguments import Floats
from dpcore.datasets import Dataset
from dpcore.evaluate.distances import with_floors
from dpcore.evaluate.statistics import Statistics
from dpcore.evaluate.tree_errors import with_true_counts
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.forest_frames import side_of
from dpcore.postprocess.naive_bayes import Bayes

ColumnShares = tuple[int, list[tuple[str, str, float, float]]]
"""A number of real rows, and of each value or branch: the column, the value, the real and the released share."""


def model_marginals(model: Forest | Bayes, data: Dataset) -> Statistics:
    """Compare what a classifier knows of single columns with the real rows that it learned from. Not private.

    Parameters
    ----------
    model : Forest or Bayes
        The released classifier.
    data : Dataset
        The data set; of rows in a folder, the sample of the training rows.

    Returns
    -------
    Statistics
        A DataFrame with one row per value or branch: `attributes` (the column), `value`, the shares `real` and
        `released`, `floor_low` and `floor_high` (the 2.5% and 97.5% quantiles of the share in a resample of as many
        real rows). It is empty if the classifier knows of no column.
    """
    parts = split_shares(model, data) if isinstance(model, Forest) else column_shares(model, data)
    cells = [(*row, n) for n, part in parts for row in part]
    names = ["attributes", "value", "real", "released", "rows"]
    frame = pd.DataFrame(cells, columns=names).astype(dict.fromkeys(names[2:], float))
    return with_floors(frame.drop(columns="rows"), frame["rows"])


def model_distances(frame: Statistics) -> pd.DataFrame:
    """The total variation distance of every column of `model_marginals`: `attributes` and `avd`, the worst first."""
    gaps = (frame["real"] - frame["released"]).abs() / 2
    found = gaps.groupby(frame["attributes"]).sum().rename("avd").reset_index()
    return pd.DataFrame(found).sort_values("avd", ascending=False, ignore_index=True)


def split_shares(forest: Forest, data: Dataset) -> list[ColumnShares]:
    """Of each column that splits a node, the branches of its first split."""
    real = with_true_counts(forest, data.train_sample)
    found = []
    for column in np.unique(forest.column[~forest.leaf]).tolist():
        nodes = np.flatnonzero(forest.column == column)
        node = int(nodes[np.lexsort((-forest.counts[nodes], forest.level[nodes]))[0]])
        children = np.arange(forest.first[node], forest.first[node] + forest.fanout[node])
        both = real.counts[children], forest.counts[children]
        if min(totals := [counts.sum() for counts in both]) <= 0:
            continue  # no row, real or released, reaches it, so it has no shares
        shares = [counts / total for counts, total in zip(both, totals, strict=True)]
        name, rows = forest.schema.names[column], int(totals[0])
        sides = [side_of(forest, node)[0] for node in children.tolist()]
        found.append((rows, [(name, side, p, q) for side, p, q in zip(sides, *shares, strict=True)]))
    return found


def column_shares(model: Bayes, data: Dataset) -> list[ColumnShares]:
    """Of each column that the model knows, all values, over all classes."""
    schema, train = model.schema, data.train_sample
    found = []
    for name in model.columns:
        column = schema[name]
        released = model.prior @ (model.tables[name] if name in model.tables else bin_shares(model, name))
        codes = schema.select([name]).encode(train[[name]])[:, 0]
        real = np.bincount(codes, minlength=column.size) / max(len(codes), 1)
        values = zip(column.labels, real, released, strict=True)
        found.append((max(len(codes), 1), [(name, value, p, q) for value, p, q in values]))
    return found


def bin_shares(model: Bayes, name: str) -> Floats:
    """The probabilities of a column's bins by class, where the model knows means and variances; no value is missing."""
    column, moments = model.schema[name], model.normals[name]
    edges = np.asarray(column.edges, dtype=float)
    below = norm.cdf(edges[None, :], loc=moments[:, :1], scale=np.sqrt(moments[:, 1:]))
    below[:, 0], below[:, -1] = 0.0, 1.0
    shares = np.zeros((len(moments), column.size))
    shares[:, : len(edges) - 1] = np.diff(below, axis=1)
    return shares

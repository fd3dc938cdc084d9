"""Rows with every kind of column, forests grown on them once, and a tree of one division by hand."""

from functools import cache

import numpy as np
import pandas as pd

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import GRID
from dpcore.domain.taxonomy import Taxonomy
from dpcore.methods import DiffPRFs, NonPrivateForest
from dpcore.postprocess.forest import ARRAYS, Forest

TOWNS = Taxonomy(tuple((c, "west" if c < "d" else "east", "all") for c in "abcde"))
SCHEMA = Schema(
    columns=(
        Column(name="size", kind="continuous", lower=-1.0, upper=4.0, bins=(0.0, 1.0, 3.0), missing=True),
        Column(name="age", kind="integer", lower=0, upper=20, bins=7, missing=True),
        Column(name="grade", kind="ordered", categories=("low", "mid", "high", "top")),
        Column(name="y", kind="categorical", categories=("no", "yes", "maybe")),
        Column(name="town", kind="categorical", categories=tuple("abcde"), missing=True, taxonomy=TOWNS),
        Column(name="many", kind="categorical", categories=tuple("klmnopqr")),
        Column(name="two", kind="categorical", categories=("0", "1"), missing=True),
    ),
    target="y",
    max_rows=2_000,
)


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)

    def some(*values):
        return rng.choice(np.array(values, dtype=object), n)

    age, size = rng.integers(0, 21, n).astype(float), np.round(rng.uniform(-1, 4, n), 1)
    age[rng.random(n) < 0.1] = np.nan
    y = np.where(rng.random(n) < 0.2, some("no", "yes", "maybe"), "no")
    y = np.where(age > 11, "yes", np.where(size > 2, "maybe", y))
    size[rng.random(n) < 0.1] = np.nan
    grade, town = some("low", "mid", "high", "top"), some(*"abcde", None)
    many, two = some(*"klmnopqr"), some("0", "1", None)
    return pd.DataFrame({"size": size, "age": age, "grade": grade, "y": y, "town": town, "many": many, "two": two})


ROWS = make_rows(400)
SAME = {"n_trees": 3, "max_depth": 4, "random_state": 5, "max_features": 3}


@cache
def grown(epsilon=40.0, **how):
    return DiffPRFs(epsilon=epsilon, **{**SAME, **how}).fit(ROWS, schema=SCHEMA).forest_


@cache
def plain(**how):
    return NonPrivateForest(**{**SAME, **how}).fit(ROWS, schema=SCHEMA).forest_


def stump_of(classes, cut=GRID * 17 // 32):
    """A tree of one division: of `size` at 1.25, an eighth of the third of four bins."""
    counts, n = np.array(classes, dtype=float), len(classes)
    totals, below, none = counts.sum(axis=1), [0] * (n - 1), [np.nan] * (n - 1)
    names = ("tree", "level", "parent", "column", "first", "fanout")
    indices = [[0] * n, [0] + [1] * (n - 1), [-1, *below], [0] + [-1] * (n - 1), [1] + [n] * (n - 1), [n - 1, *below]]
    return Forest(
        schema=SCHEMA, target="y", cuts="numbers", children="grouped", vote="majority",
        **{name: np.array(values, dtype=np.intp) for name, values in zip(names, indices, strict=True)},
        cut=np.array([cut, *none]), low=np.array([-1.0, *none]),
        noisy=np.full(n, np.nan), spent=np.full(n, np.nan), counts=totals, classes=counts,
        probabilities=counts / np.maximum(totals, 1)[:, None] + (totals == 0)[:, None] / 3,
    )  # fmt: skip


STUMP = stump_of([[2, 2, 0], [2, 0, 0], [0, 2, 0]])


def assert_equal(one, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert (one.target, one.cuts, one.children, one.vote) == (other.target, other.cuts, other.children, other.vote)

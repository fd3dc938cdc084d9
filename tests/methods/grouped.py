"""A data set whose class depends on a number and, more weakly, on a category with a taxonomy."""

import numpy as np
import pandas as pd

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy

__all__ = ["FRAME", "ONE", "RELATIONS", "SCHEMA", "A", "C", "N", "Y", "axis", "make_frame", "rows_of"]

RELATIONS = ["add_remove", "replace"]
TREE = Taxonomy((("a0", "left", "*"), ("a1", "left", "*"), ("a2", "right", "*"), ("a3", "right", "*")))
A = Column(name="a", kind="categorical", categories=("a0", "a1", "a2", "a3"), taxonomy=TREE)
N = Column(name="n", kind="integer", lower=0, upper=5, bins=6)
C = Column(name="c", kind="categorical", categories=("u", "v", "w"))
Y = Column(name="y", kind="categorical", categories=("no", "yes"))
SCHEMA = Schema(columns=(A, N, C, Y), target="y")
ONE = Schema(columns=(N, Y), target="y")


def make_frame(rows=300, seed=0, schema=None, at=4):
    """Return rows whose class depends on the second column, hardly so for one value of the first."""
    schema, rng = schema or SCHEMA, np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, size, rows) for size in schema.sizes])
    codes[:, 3] = (codes[:, 1] >= at) ^ (rng.random(rows) < np.where(codes[:, 0] == 2, 0.6, 0.2))
    return schema.decode(codes.astype(np.uint8), rng)


FRAME = make_frame()


def rows_of(n, y="no"):
    return pd.DataFrame({"n": n, "y": y})


def axis(method, name):
    return method.tree_.leaves.axes[method.schema_.index(name)]

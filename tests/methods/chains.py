"""A table whose columns depend on each other along a chain, which methods should find."""

import numpy as np
import pandas as pd

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema

__all__ = ["CHAIN", "HUGE", "chain", "listed"]

HUGE = 1e7


def listed(name, size, kind="categorical"):
    return Column(name=name, kind=kind, categories=tuple(map(str, range(size))))


CHAIN = Schema(
    columns=(listed("a", 3), listed("b", 4, "ordered"), listed("c", 3), listed("y", 2)), target="y", max_rows=50_000
)


def chain(rows=20_000, seed=0):
    """a -> b -> c given y; a and c depend on each other through b alone."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.4
    a = rng.integers(0, 3, rows)
    b = np.where(rng.random(rows) < 0.8, (a + y) % 4, rng.integers(0, 4, rows))
    c = np.where(rng.random(rows) < 0.8, b % 3, rng.integers(0, 3, rows))
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": y.astype(int)}).astype(str)

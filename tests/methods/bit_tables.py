"""Tables with dependent columns, most of them bits, and helpers for tests of networks."""

from fractions import Fraction

import numpy as np
import pandas as pd
from tables import categorical

__all__ = ["HUGE", "RELATIONS", "bits", "chain", "planted", "random_frame", "real_table", "schema_of", "steps", "total"]

RELATIONS = ["replace", "add_remove"]
HUGE = 1e9


def schema_of(sizes, max_rows=5_000):
    values = {name: map(str, range(size)) for name, size in sizes.items()}
    return categorical(values, kind="ordered", max_rows=max_rows)


def bits(names, max_rows=5_000):
    return schema_of(dict.fromkeys(names, 2), max_rows)


def chain(size, rows=3_000, seed=0):
    """A, then B near A, then C near B: A and C depend on each other through B alone."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, size, rows)
    b = np.where(rng.random(rows) < 0.8, a, rng.integers(0, size, rows))
    c = np.where(rng.random(rows) < 0.8, b, rng.integers(0, size, rows))
    return pd.DataFrame({"C": c, "A": a, "B": b}).astype(str)


def random_frame(schema, rows, seed=0):
    rng = np.random.default_rng(seed)
    return schema.decode(np.column_stack([rng.integers(0, size, rows) for size in schema.sizes]), rng)


def planted(blocks, width, rows=2_000, seed=0, *, ones=(0.3, 0.04), copied=(0.8, 0.07)):
    """A frame of blocks; in each block every column mostly repeats an earlier one. No two scores are equal."""
    rng = np.random.default_rng(seed)
    frame = {}
    for block in "abcdef"[:blocks]:
        for i in range(width):
            fresh = rng.random(rows) < ones[0] + ones[1] * i
            if i:
                source = frame[f"{block}{rng.integers(i)}"]
                fresh = np.where(rng.random(rows) < copied[0] - copied[1] * i, source, fresh)
            frame[f"{block}{i}"] = fresh.astype(int)
    return pd.DataFrame(frame)


def real_table(frame, family, sizes=None):
    """The noiseless counts of columns, or of their only bits."""
    codes = [frame[name.removesuffix(" bit 1")].astype(int).to_numpy() for name in family]
    counts = np.zeros([sizes[name] for name in family] if sizes else (2,) * len(family))
    np.add.at(counts, tuple(codes), 1)
    return counts


def total(entries, field="epsilon_nominal"):
    return sum((getattr(entry, field) for entry in entries), Fraction(0))


def steps(method):
    """The entries of the pairs, of the networks, and of the tables (in HMPrivBayes with those of the bits)."""
    entries = method.ledger_.entries
    return (
        [entry for entry in entries if " values of " in entry.name],
        [entry for entry in entries if entry.mechanism == "exponential"],
        [entry for entry in entries if entry.name.startswith("counts of")],
    )

"""Nested random partitions of a small domain, and the cell of a row by a loop over columns."""

from itertools import product

import numpy as np

from dpcore.domain.column import Column
from dpcore.domain.partition import Partition
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy


def category(name, size, **more):
    return Column(name=name, kind="categorical", categories=tuple(f"{name}{value}" for value in range(size)), **more)


TREE = Taxonomy((("a0", "left", "*"), ("a1", "left", "*"), ("a2", "right", "*"), ("a3", "right", "*")))
SCHEMA = Schema(
    columns=(
        category("a", 4, taxonomy=TREE),
        Column(name="n", kind="integer", lower=0, upper=9, bins=5, missing=True),
        category("one", 1),
        category("c", 2),
    ),
    target="c",
)


def random_chain(seed):
    """Return a small schema and nested partitions with blocks in random order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=rng.integers(1, 4))
    schema = Schema(columns=tuple(category(f"x{j}", int(size)) for j, size in enumerate(sizes)))
    last = Partition.whole(schema)
    for column in schema:
        blocks = np.unique(rng.integers(column.size, size=column.size), return_inverse=True)[1]
        last = last.refine(column.name, blocks, [f"leaf {i}" for i in range(blocks.max() + 1)])
    chain = [last]
    for level in range(3):
        coarser = chain[0]
        for axis, column in zip(chain[0].axes, schema, strict=True):
            kept = len(axis.names)
            joined = np.unique(rng.integers(kept, size=kept), return_inverse=True)[1]
            names = [f"{level} {i}" for i in range(joined.max() + 1)]
            coarser = coarser.refine(column.name, joined[axis.blocks], names)
        chain.insert(0, coarser)
    return schema, [Partition.whole(schema), *chain], rng


def cell_of(partition, row):
    """Return the cell of a row, computed column by column."""
    cell = 0
    for axis, code in zip(partition.axes, row, strict=True):
        cell = cell * len(axis.names) + axis.blocks[code]
    return cell


def domain(schema):
    return list(product(*map(range, schema.sizes)))


def bits_of(binarization, codes):
    """Return codes as bits, the most significant bit of each column first."""
    shifts = [(j, shift) for j, group in enumerate(binarization.groups) for shift in reversed(range(len(group)))]
    return np.column_stack([codes[:, j] >> shift & 1 for j, shift in shifts])

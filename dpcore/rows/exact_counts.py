"""Exact joint counts (marginals) of codes. Private input: see the package.

Counts are additive over blocks of rows: the counts of two blocks sum to the counts of their union.

Cliques that lie in one small set of columns are counted as one marginal of that set, and summed out
of it (`join_cliques`): one pass over the rows of three columns gives all three pairs of them.

Columns of 0 and 1 are counted as words of 64 rows, by AND and popcount (`PackedBits`). The marginal
of k columns has 2^k cells. Only its corner "all ones" is counted, for the clique and each of its
subsets. The other cells follow by inclusion and exclusion, N(x=0, ...) = N(...) - N(x=1, ...). A
subset that many marginals share is counted once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Ints
from dpcore.domain.column import Counts

Axes = tuple[int, ...]
CodeBlock = list[NDArray[Any]]
"""Some rows: an array of shape (m,) for each requested column."""
BLOCK = 1 << 16  # rows; a multiple of 64
WORTH_PACKING = 16  # cliques
MOST_PACKED = 6  # columns of a clique; beyond, 2^k corners cost more than one pass over the rows
WORTH_JOINING = 1 << 16  # rows; below, joining cliques takes longer than counting
JOINT = 1 << 13  # cells of a joint marginal: what the processor's nearest cache holds
JOINED = 256  # cliques that are joined with each other


def even_blocks(pieces: Iterable[CodeBlock], size: int) -> Iterator[CodeBlock]:
    """Yield the rows of blocks of any size again in blocks of `size` rows, the rest at the end."""
    waiting: list[CodeBlock] = []
    n_waiting = 0
    for piece in pieces:
        start, rows = 0, len(piece[0])
        while start < rows:
            end = min(start + size - n_waiting, rows)
            waiting.append([values[start:end] for values in piece])
            n_waiting, start = n_waiting + end - start, end
            if n_waiting == size:
                yield _concatenate(waiting)
                waiting, n_waiting = [], 0
    if n_waiting:
        yield _concatenate(waiting)


def _concatenate(blocks: list[CodeBlock]) -> CodeBlock:
    """Join consecutive blocks of rows into one block."""
    return blocks[0] if len(blocks) == 1 else [np.concatenate(columns) for columns in zip(*blocks, strict=True)]


def count_streams(
    blocks: Iterable[CodeBlock], rows: int, columns: Sequence[int], sizes: Sequence[int], cliques: Sequence[Axes]
) -> list[Counts]:
    """Count the marginals of cliques in one pass over blocks of rows.

    `blocks` has arrays of `columns`, in this order, of `rows` rows in all. `sizes` has the number
    of codes of every column.
    """
    joint_of = join_cliques(cliques, sizes) if rows >= WORTH_JOINING else dict(zip(cliques, cliques, strict=True))
    joints = sorted(set(joint_of.values()) - {()})
    at = {column: index for index, column in enumerate(columns)}
    flats = [np.zeros(prod(sizes[j] for j in joint), dtype=np.int64) for joint in joints]
    if joints:
        buffers: list[Ints] = []
        for block in blocks:
            for flat, indices in zip(flats, _flat_indices(block, at, sizes, joints, buffers), strict=True):
                flat += np.bincount(indices, minlength=len(flat))
    marginals = {joint: flat.reshape([sizes[j] for j in joint]) for joint, flat in zip(joints, flats, strict=True)}
    marginals[()] = np.array(rows, dtype=np.int64)
    return [_sum_out(marginals[joint_of[clique]], joint_of[clique], clique) for clique in cliques]


def join_cliques(cliques: Sequence[Axes], sizes: Sequence[int]) -> dict[Axes, Axes]:
    """Map each clique to a larger set of columns, so that few marginals have to be counted.

    `sizes` has the number of codes of every column. The marginal of each set has at most `JOINT`
    cells. Greedy: a set takes the column that completes most cliques. Larger cliques, and those
    with a repeated column, are counted alone.
    """
    joint_of = {clique: clique for clique in cliques}
    small = [f for f in joint_of if f and len(set(f)) == len(f) and prod(sizes[j] for j in f) <= JOINT]
    for start in range(0, len(small), JOINED):
        left = {clique: set(clique) for clique in small[start : start + JOINED]}
        while left:
            joint = next(iter(left))
            cells = prod(sizes[j] for j in joint)
            while True:
                one_more = (columns.difference(joint) for columns in left.values())
                gains = Counter(more.pop() for more in one_more if len(more) == 1)
                possible = [(gain, -sizes[j], j) for j, gain in gains.items() if cells * sizes[j] <= JOINT]
                if not possible:
                    break
                column = max(possible)[2]
                joint, cells = (*joint, column), cells * sizes[column]
            covered = [clique for clique, columns in left.items() if columns.issubset(joint)]
            for clique in covered:
                joint_of[clique] = joint
                del left[clique]
    return joint_of


def _sum_out(marginal: Counts, joint: Axes, clique: Axes) -> Counts:
    """Return the marginal of a clique, summed out of the marginal of a larger set of columns.

    `joint` is the larger set, in the order of the axes of `marginal`.
    """
    if clique == joint:
        return marginal
    kept = [column for column in joint if column in clique]
    summed = marginal.sum(axis=tuple(axis for axis, column in enumerate(joint) if column not in clique))
    return np.ascontiguousarray(summed.transpose([kept.index(column) for column in clique]))


def _flat_indices(
    block: CodeBlock, position: dict[int, int], sizes: Sequence[int], cliques: list[Axes], buffers: list[Ints]
) -> Iterator[Ints]:
    """Yield, for each clique, the index of every row in its flattened marginal.

    `position` is the index of each column in the block. The common beginning of consecutive cliques
    is combined once. Arrays are reused: `buffers[k]` has the indices over the first k + 1 columns.
    """
    rows = len(block[0])
    while len(buffers) < max(map(len, cliques)):
        buffers.append(np.empty(BLOCK, dtype=np.intp))
    prefix: Axes = ()
    for clique in cliques:
        shared = 0
        while shared < min(len(prefix), len(clique)) and prefix[shared] == clique[shared]:
            shared += 1
        for k, j in enumerate(clique[shared:], start=shared):
            if k:
                np.multiply(buffers[k - 1][:rows], sizes[j], out=buffers[k][:rows])
                buffers[k][:rows] += block[position[j]]
            else:
                buffers[k][:rows] = block[position[j]]
        prefix = clique
        yield buffers[len(clique) - 1][:rows]


def binary_marginals(bits: PackedBits, cliques: Sequence[Axes]) -> dict[Axes, Counts]:
    """Count marginals of columns of 0 and 1 on packed words, all cliques of one size together."""
    marginals: dict[Axes, Counts] = {}
    for size in {len(clique) for clique in cliques}:
        alike = [clique for clique in cliques if len(clique) == size]
        stacked = bits.marginals(np.array(alike, dtype=np.intp).reshape(len(alike), size))
        marginals |= zip(alike, np.ascontiguousarray(np.moveaxis(stacked, -1, 0)), strict=True)
    return marginals


Words = NDArray[np.uint64]
CHUNK = 1 << 17  # words per step: what the processor's cache holds


class PackedBits:
    """Columns of 0 and 1, packed into 64-bit words of 64 rows each."""

    def __init__(self, blocks: Iterable[CodeBlock], rows: int, columns: int) -> None:
        """Pack blocks of 0 and 1; `rows` and `columns` are their total numbers."""
        padded = np.zeros((columns, -(-rows // 64) * 8), dtype=np.uint8)
        start = 0
        for block in blocks:
            for column, bits in zip(padded, block, strict=True):
                packed = np.packbits(bits.astype(bool))
                column[start : start + len(packed)] = packed
            start += len(block[0]) // 8  # all but the last have whole words
        self.rows = rows
        self.words: Words = padded.view(np.uint64)

    def products(self, indices: Ints) -> Words:
        """Return, for m sets of k columns, the AND of their words: shape (m, k) to (m, words).

        `indices` has the positions of the columns of each set.
        """
        rows = self.words[indices[:, 0]]
        for column in indices.T[1:]:
            rows &= self.words[column]
        return rows

    def count_ones(self, indices: Ints) -> NDArray[np.int64]:
        """Count rows with 1 in all of k columns, for m sets of columns: shape (m, k) to (m,)."""
        counts = np.full(len(indices), self.rows, dtype=np.int64)
        if indices.shape[1]:
            for part in self.slices(len(indices)):
                counts[part] = popcounts(self.products(indices[part]))
        return counts

    def marginals(self, indices: Ints) -> NDArray[np.int64]:
        """Count the marginals of m sets of k columns: shape (m, k) to (2, ..., 2, m)."""
        m, k = indices.shape
        corners = np.empty((2,) * k + (m,), dtype=np.int64)
        for size in range(k + 1):
            for chosen in combinations(range(k), size):
                distinct, back = distinct_rows(np.sort(indices[:, chosen], axis=1), len(self.words))
                corners[tuple(int(i in chosen) for i in range(k))] = self.count_ones(distinct)[back]
        return cells_from_corners(corners)

    def slices(self, m: int) -> Iterator[slice]:
        """Return slices of m sets that are small enough for the processor's cache."""
        step = max(CHUNK // max(self.words.shape[1], 1), 1)
        return (slice(start, min(start + step, m)) for start in range(0, m, step))


def popcounts(words: Words) -> NDArray[np.int64]:
    """Count the ones in each row of packed words, shape (m, w) to (m,)."""
    return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.uint32), dtype=np.int64)


def cells_from_corners(corners: NDArray[Any]) -> NDArray[Any]:
    """Turn counts of "these columns are all 1" into marginals, in place: shape (2, ..., 2, m).

    The count at index 1 of an axis requires a 1 in its column; at index 0, the column may have any
    value before the call, and has 0 after.
    """
    for axis in range(corners.ndim - 1):
        halves = np.moveaxis(corners, axis, 0)
        halves[0] -= halves[1]
    return corners


def distinct_rows(indices: Ints, columns: int) -> tuple[Ints, Ints]:
    """Return the distinct rows of an array, and for each row the index of its equal among them.

    `indices` has a set of column positions per row, all below `columns`.
    """
    if not indices.shape[1]:
        return indices[:1], np.zeros(len(indices), dtype=np.intp)
    if columns ** indices.shape[1] >= 2**63:  # too many for one integer per set
        different, back = np.unique(indices, axis=0, return_inverse=True)
        return different, back.ravel()
    keys = np.zeros(len(indices), dtype=np.int64)
    for column in indices.T:
        keys = keys * columns + column
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    return indices[first], back

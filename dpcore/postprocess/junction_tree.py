"""Junction trees: cliques and trees of cliques from chosen edges, and rows from their marginals.

Post-processing: no private input. Columns are positions 0 … d-1 with public `sizes`, their numbers
of values. A clique is a sorted tuple of positions, and the axes of its table are in that order.
Everything is deterministic except `sample_rows`.

A graph is stored as the list of its maximal cliques, triangulated, so that a junction tree over
them always exists: a tree in which the cliques that contain any one column are connected (the
running intersection property).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import prod

import numpy as np

from dpcore.arguments import Floats, Ints
from dpcore.postprocess.bayes_net import conditional
from dpcore.postprocess.simplex import draw_given, systematic_sample

Edge = tuple[int, int]
Clique = tuple[int, ...]
Graph = dict[int, set[int]]  # each column's neighbors


def cells_of(clique: Iterable[int], sizes: Sequence[int]) -> int:
    """Return the number of cells of a clique's table, an exact integer of any size.

    `sizes` are the columns' numbers of values.
    """
    return prod(sizes[j] for j in clique)


def pairs_within(cliques: Iterable[Clique]) -> set[Edge]:
    """Return all pairs of columns that share a clique."""
    return {pair for clique in cliques for pair in combinations(clique, 2)}


def triangulate(edges: Iterable[Edge], sizes: Sequence[int]) -> list[Clique]:
    """Return the maximal cliques of a triangulation of the graph on all columns.

    Columns are eliminated by least fill-in, ties by the fewest cells. A graph that is triangulated
    already gets no fill-in, and its own cliques are returned. Columns without an edge are included.
    """
    return sorted(_eliminate(_graph(edges, range(len(sizes))), sizes))


def joined_cliques(
    pairs: Iterable[Edge], cliques: Sequence[Clique], parents: Sequence[int], sizes: Sequence[int]
) -> Iterator[tuple[Edge, list[int], list[Clique]]]:
    """Yield, for each pair of columns, how an edge between them changes a junction tree.

    The tree is given by its `cliques` and the position of each one's parent; `sizes` are the
    columns' numbers of values. Yields the pair, the positions of the cliques that the edge
    replaces, and the new cliques. Only cliques between the two columns change: all others are
    eliminated first, without fill-in. A pair that shares a clique changes none.
    """
    ways: list[list[int]] = []  # path from each clique to the root
    for i, parent in enumerate(parents):
        ways.append([i] if parent < 0 else [i, *ways[parent]])
    first = {j: i for i, clique in reversed(list(enumerate(cliques))) for j in clique}
    part = connected_parts(cliques)
    for a, b in pairs:
        if part[a] is not part[b]:
            yield (a, b), [first[j] for j in (a, b) if len(part[j]) == 1], [(a, b)]
            continue
        up, down = ways[first[a]], ways[first[b]]
        meet = next(i for i in up if i in down)
        path = [*up[: up.index(meet) + 1], *reversed(down[: down.index(meet)])]
        path = path[max(k for k, i in enumerate(path) if a in cliques[i]) :]
        path = path[: 1 + next(k for k, i in enumerate(path) if b in cliques[i])]
        if len(path) == 1:
            yield (a, b), [], []
            continue
        between = [cliques[i] for i in path]
        yield (a, b), path, _eliminate(_graph({*pairs_within(between), (a, b)}, set().union(*between)), sizes)


def largest_clique_cells(
    pairs: Iterable[Edge], cliques: Sequence[Clique], parents: Sequence[int], sizes: Sequence[int]
) -> dict[Edge, int]:
    """Return, for each pair, the number of cells of the largest clique that an edge would concern.

    That is the largest clique that an edge between the two columns creates, or that contains one of
    them. The junction tree is given by its `cliques` and the position of each one's parent.
    """
    largest = dict.fromkeys(range(len(sizes)), 0)
    for clique in cliques:
        cells = cells_of(clique, sizes)
        largest |= {j: max(cells, largest[j]) for j in clique}
    return {
        (a, b): max(largest[a], largest[b], *(cells_of(clique, sizes) for clique in new))
        for (a, b), _, new in joined_cliques(pairs, cliques, parents, sizes)
    }


def cells_with(
    pairs: Iterable[Edge], cliques: Sequence[Clique], parents: Sequence[int], sizes: Sequence[int]
) -> dict[Clique, int]:
    """Return a junction tree's total number of cells after adding each edge of `pairs` alone."""
    cells = [cells_of(clique, sizes) for clique in cliques]
    return {
        pair: sum(cells) - sum(cells[i] for i in old) + sum(cells_of(clique, sizes) for clique in new)
        for pair, old, new in joined_cliques(pairs, cliques, parents, sizes)
    }


def junction_tree(cliques: Sequence[Clique]) -> tuple[list[Clique], list[int]]:
    """Return a junction tree: cliques from the root downwards, and the position of each parent.

    The root's parent is -1. Prim's algorithm finds a spanning tree with the largest separators,
    which is a junction tree if the cliques are those of a triangulated graph. Unconnected parts of
    the graph are joined by empty separators.
    """
    sets = [frozenset(clique) for clique in cliques]
    order, parents = [0], [-1]
    # clique -> position in `order` of the clique that it shares most columns with so far
    outside = dict.fromkeys(range(1, len(cliques)), 0)
    while outside:
        chosen = max(outside, key=lambda c: (len(sets[c] & sets[order[outside[c]]]), -c))
        parents.append(outside.pop(chosen))
        order.append(chosen)
        for c, index in outside.items():
            if len(sets[c] & sets[chosen]) > len(sets[c] & sets[order[index]]):
                outside[c] = len(order) - 1
    return [cliques[c] for c in order], parents


def merge_cliques(cliques: Sequence[Clique], sizes: Sequence[int], max_cells: int) -> list[Clique]:
    """Merge cliques pairwise, greedily, while that lowers the noise variance of all cells together.

    m tables that share an epsilon have a noise variance proportional to m² in each cell, so m² Σ
    cells is minimized. No union may have more than `max_cells` cells.
    """
    merged = list(cliques)
    while True:
        cells = [cells_of(clique, sizes) for clique in merged]
        best, chosen = len(merged) ** 2 * sum(cells), None
        for i, j in combinations(range(len(merged)), 2):
            union = tuple(sorted({*merged[i], *merged[j]}))
            joint = cells_of(union, sizes)
            cost = (len(merged) - 1) ** 2 * (sum(cells) - cells[i] - cells[j] + joint)
            if cost < best and joint <= max_cells:
                best, chosen = cost, (i, j, union)
        if chosen is None:
            return merged
        i, j, union = chosen
        merged = [*(clique for k, clique in enumerate(merged) if k not in (i, j)), union]


def _graph(edges: Iterable[Edge], columns: Iterable[int]) -> Graph:
    """Return an undirected graph as a dict from each column to the set of its neighbors."""
    graph: Graph = {j: set() for j in columns}
    for a, b in edges:
        graph[a].add(b)
        graph[b].add(a)
    return graph


def _eliminate(graph: Graph, sizes: Sequence[int]) -> list[Clique]:
    """Triangulate a graph by eliminating its columns; return the maximal cliques.

    Eliminating a column joins its remaining neighbors by edges (fill-in) and removes it. Columns
    are eliminated by least fill-in. `graph` is empty afterwards.
    """
    bags: list[set[int]] = []
    while graph:
        column = _next_column(graph, sizes)
        neighbors = graph.pop(column)
        for a in neighbors:
            graph[a] |= neighbors
            graph[a] -= {a, column}
        bag = neighbors | {column}
        if not any(bag <= earlier for earlier in bags):
            bags.append(bag)
    return [tuple(sorted(bag)) for bag in bags]


def _next_column(graph: Graph, sizes: Sequence[int]) -> int:
    """Return the column to eliminate next in a triangulation: least fill-in, then fewest cells."""
    ranks = []
    for column, neighbors in graph.items():
        fill = sum(b not in graph[a] for a, b in combinations(neighbors, 2))
        if fill == 0:
            return column
        ranks.append((fill, cells_of(neighbors, sizes) * sizes[column], column))
    return min(ranks)[2]


def connected_parts(cliques: Sequence[Clique]) -> Graph:
    """Return, for each column, the set of columns that it is connected to.

    Columns of one connected part share one set object.
    """
    part = {j: {j} for clique in cliques for j in clique}
    for clique in cliques:
        joined = set().union(*(part[j] for j in clique))
        part |= dict.fromkeys(joined, joined)
    return part


def sample_rows(
    cliques: Sequence[Clique], parents: Sequence[int], tables: Sequence[Floats], size: int, rng: np.random.Generator
) -> Ints:
    """Sample `size` rows of codes from a junction tree's tables, shape (size, d).

    The root's counts are the expected ones, rounded (`systematic_sample`). Below the root, so are
    the counts of a clique's other columns at each value of its separator (`draw_given`).
    """
    codes = np.empty((size, 1 + max(j for clique in cliques for j in clique)), dtype=np.intp, order="F")
    for clique, parent, table in zip(cliques, parents, tables, strict=True):
        separator = [j for j in clique if parent >= 0 and j in cliques[parent]]
        others = [j for j in clique if j not in separator]
        shape = dict(zip(clique, table.shape, strict=True))
        axes = [clique.index(j) for j in (*separator, *others)]
        known = [shape[j] for j in separator]
        # P(others | separator), a row per value of the separator
        chances = conditional(table.transpose(axes).reshape(prod(known), -1).T)
        if separator:
            at = np.ravel_multi_index([codes[:, j] for j in separator], known)
            drawn = draw_given(chances, at, rng)
        else:
            drawn = systematic_sample(chances[0], size, rng)
        for j, column in zip(others, np.unravel_index(drawn, [shape[j] for j in others]), strict=True):
            codes[:, j] = column
    return codes

"""Junction trees: from chosen edges to cliques and trees of them, and from their tables to rows.

Post-processing only: no private input, no cost. Columns are positions 0 … d-1 with public `sizes`.
A scope is a sorted tuple of positions, and the axes of its table are in that order. Everything is
deterministic but `sample_rows`.

A graph is held as the list of its maximal cliques, triangulated, so that a junction tree over them
exists at any time: a tree in which the cliques that hold any one column hang together (the running
intersection property).
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
    """The number of cells of a scope's table; an exact integer, however large."""
    return prod(sizes[j] for j in clique)


def pairs_within(cliques: Iterable[Clique]) -> set[Edge]:
    """All pairs of columns that share a scope."""
    return {pair for clique in cliques for pair in combinations(clique, 2)}


def triangulate(edges: Iterable[Edge], sizes: Sequence[int]) -> list[Clique]:
    """Maximal cliques of a triangulation of the graph on all columns, those without an edge included.

    Columns are eliminated by least fill-in, ties by the fewest cells. A graph that is triangulated
    already gets no fill-in: its own cliques are returned.
    """
    return sorted(_eliminate(_graph(edges, range(len(sizes))), sizes))


def joined_cliques(
    pairs: Iterable[Edge], cliques: Sequence[Clique], parents: Sequence[int], sizes: Sequence[int]
) -> Iterator[tuple[Edge, list[int], list[Clique]]]:
    """Each pair, the positions of the cliques of a junction tree that joining it changes, and what comes instead.

    Only cliques between the two columns change: all others are eliminated first, without fill-in. A
    pair that shares a clique changes none.
    """
    ways: list[list[int]] = []  # from each clique to the root
    for i, parent in enumerate(parents):
        ways.append([i] if parent < 0 else [i, *ways[parent]])
    first = {j: i for i, clique in reversed(list(enumerate(cliques))) for j in clique}
    part = parts(cliques)
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


def largest_with(
    pairs: Iterable[Edge], cliques: Sequence[Clique], parents: Sequence[int], sizes: Sequence[int]
) -> dict[Edge, int]:
    """For each pair the cells of the largest clique that joining it would make, or that holds one of its columns."""
    held = dict.fromkeys(range(len(sizes)), 0)
    for clique in cliques:
        cells = cells_of(clique, sizes)
        held |= {j: max(cells, held[j]) for j in clique}
    return {
        (a, b): max(held[a], held[b], *(cells_of(clique, sizes) for clique in new))
        for (a, b), _, new in joined_cliques(pairs, cliques, parents, sizes)
    }


def cells_with(
    pairs: Iterable[Edge], cliques: Sequence[Clique], parents: Sequence[int], sizes: Sequence[int]
) -> dict[Clique, int]:
    """For each pair the cells of all cliques of a junction tree together, if it is joined."""
    cells = [cells_of(clique, sizes) for clique in cliques]
    return {
        pair: sum(cells) - sum(cells[i] for i in old) + sum(cells_of(clique, sizes) for clique in new)
        for pair, old, new in joined_cliques(pairs, cliques, parents, sizes)
    }


def junction_tree(cliques: Sequence[Clique]) -> tuple[list[Clique], list[int]]:
    """The cliques from a root downwards, and the position of each one's parent in that order (-1 for the root).

    Prim's algorithm for a spanning tree with the largest separators, which is a junction tree if
    the cliques are those of a triangulated graph. Parts of the graph that are not connected are
    joined by empty separators.
    """
    sets = [frozenset(clique) for clique in cliques]
    order, parents = [0], [-1]
    # clique -> place in `order` of its nearest so far
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
    """Scopes merged pairwise, greedily, while that lowers m² Σ cells (m scopes) and no union is above `max_cells`.

    m tables that share an epsilon have noise variance proportional to m² in each cell: this is the
    variance of all cells together.
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
    graph: Graph = {j: set() for j in columns}
    for a, b in edges:
        graph[a].add(b)
        graph[b].add(a)
    return graph


def _eliminate(graph: Graph, sizes: Sequence[int]) -> list[Clique]:
    """Maximal cliques of the least-fill triangulation; the graph is used up."""
    bags: list[set[int]] = []
    while graph:
        column = _next(graph, sizes)
        neighbors = graph.pop(column)
        for a in neighbors:
            graph[a] |= neighbors
            graph[a] -= {a, column}
        bag = neighbors | {column}
        if not any(bag <= earlier for earlier in bags):
            bags.append(bag)
    return [tuple(sorted(bag)) for bag in bags]


def _next(graph: Graph, sizes: Sequence[int]) -> int:
    ranks = []
    for column, neighbors in graph.items():
        fill = sum(b not in graph[a] for a, b in combinations(neighbors, 2))
        if fill == 0:
            return column
        ranks.append((fill, cells_of(neighbors, sizes) * sizes[column], column))
    return min(ranks)[2]


def parts(cliques: Sequence[Clique]) -> Graph:
    """The connected part of each column; columns of one part hold the same set."""
    part = {j: {j} for clique in cliques for j in clique}
    for clique in cliques:
        joined = set().union(*(part[j] for j in clique))
        part |= dict.fromkeys(joined, joined)
    return part


def sample_rows(
    cliques: Sequence[Clique], parents: Sequence[int], tables: Sequence[Floats], size: int, rng: np.random.Generator
) -> Ints:
    """Codes of `size` rows from a junction tree's tables, shape (size, d).

    The root's counts are its expected ones, rounded up or down (`systematic_sample`); below it, so
    are the counts of a clique's other columns at each value of its separator (`draw_given`).
    """
    codes = np.empty((size, 1 + max(j for clique in cliques for j in clique)), dtype=np.intp, order="F")
    for clique, parent, table in zip(cliques, parents, tables, strict=True):
        separator = [j for j in clique if parent >= 0 and j in cliques[parent]]
        others = [j for j in clique if j not in separator]
        shape = dict(zip(clique, table.shape, strict=True))
        axes = [clique.index(j) for j in (*separator, *others)]
        known = [shape[j] for j in separator]
        # P(others | separator), a row per value of the separator; never undefined.
        chances = conditional(table.transpose(axes).reshape(prod(known), -1).T)
        if separator:
            at = np.ravel_multi_index([codes[:, j] for j in separator], known)
            drawn = draw_given(chances, at, rng)
        else:
            drawn = systematic_sample(chances[0], size, rng)
        for j, column in zip(others, np.unravel_index(drawn, [shape[j] for j in others]), strict=True):
            codes[:, j] = column
    return codes

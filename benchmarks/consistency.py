"""Measure the time to make the counts of a tree consistent; it should grow with the nodes.

    python -m benchmarks.consistency

Printed is the best of three runs in seconds, in one process. "ns per node" is the time of both
passes; it should be nearly constant in a column of one fan-out, except for trees beyond the caches.
Siblings are adjacent, except where "scattered" says that every level's nodes are in random order. A
fan-out of "flat" means one parent for all leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcore.postprocess.least_squares import TreeLeastSquares

SIZES = (10_000, 100_000, 1_000_000, 4_000_000)
COLUMNS = ("both passes", "ns per node", "query variance", "projection", "whole numbers")


def best(work: Callable[[], Any], runs: int = 3) -> tuple[float, Any]:
    """Return the least seconds of several runs, and the result of the last one."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def tree_of(nodes: int, fan_out: int, rng: np.random.Generator | None) -> TreeLeastSquares:
    """Return a tree of about `nodes` nodes: full levels, then children of some leaves."""
    parents: list[np.ndarray] = []
    above, left = 1, nodes - 1
    while families := min(above, left // fan_out):
        parent = np.repeat(np.arange(families), fan_out)
        parents.append(parent if rng is None else rng.permutation(parent))
        above = families * fan_out
        left -= above
    return TreeLeastSquares(parents)


def measure(tree: TreeLeastSquares, rng: np.random.Generator) -> list[float]:
    """Return the seconds of each column, for noise of scale 1 on counts that are mostly 0."""
    counts = tree.sums([rng.poisson(0.2, size=size).astype(float) for size in tree.sizes])
    noisy = [count + rng.laplace(size=len(count)) for count in counts]
    fit, fitted = best(lambda: tree.fit(noisy, [2.0] * len(noisy)))
    weights = [rng.random(size) for size in tree.sizes]
    variance, _ = best(lambda: fitted.query_variance(weights))
    projection, kept = best(fitted.non_negative)
    whole, _ = best(lambda: tree.round_to_integers(kept))
    return [fit, 1e9 * fit / sum(tree.sizes), variance, projection, whole]


def main() -> None:
    """Print the table of times."""
    rng = np.random.default_rng(0)
    print(f"{'fan-out':>18} {'nodes':>9} {'levels':>6}  " + "  ".join(f"{name:>14}" for name in COLUMNS))
    for fan_out, scattered in ((2, False), (2, True), (10, False), (10, True), (1000, False), (0, False)):
        for nodes in SIZES:
            tree = tree_of(nodes, fan_out or nodes - 1, rng if scattered else None)
            name = f"{fan_out or 'flat'}{' scattered' if scattered else ''}"
            seconds = measure(tree, rng)
            cells = [f"{value:14.0f}" if column == 1 else f"{value:14.4f}" for column, value in enumerate(seconds)]
            print(f"{name:>18} {sum(tree.sizes):9} {len(tree.sizes):6}  " + "  ".join(cells))


if __name__ == "__main__":
    main()

"""Compare the models of MST and AIM with Private-PGM's estimate from the same measurements.

    DPCORE_DATA=... python -m benchmarks.answers_oracle answers.npz AIM 0.1
    peer/bin/python benchmarks/answers_oracle.py answers.npz      (of benchmarks/oracles.lock)

The first command fits a method to Adult with delta 1e-9. It writes the noisy measurements, the
noise's variances, and the true marginals of all pairs at the method's resolution, and prints the
mean 2-way distance of the fitted model. The second command fits `mbi.estimation.MirrorDescent` to
the same measurements, which takes minutes, and prints its mean 2-way distance.
"""

import sys
import time
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np

ITERATIONS = 1_000


def release_here(path: str, name: str, epsilon: str) -> None:
    """Fit a method to Adult, write its measurements to `path`, and print its 2-way distance."""
    import dpcore as dp
    from dpcore.postprocess import max_entropy

    answers: list[dict[str, Any]] = []
    fitted: list[max_entropy.NoisyTables] = []

    class Kept(max_entropy.NoisyTables):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            fitted.append(self)

        def add(self, clique: Any, cells: Any, variance: Any) -> None:
            answers.append({"scope": clique, "cells": cells, "variance": np.broadcast_to(variance, cells.shape)})
            super().add(clique, cells, variance)

    data = dp.datasets.load("adult")
    kind = dp.METHODS[name]
    with mock.patch(f"{kind.__module__}.NoisyTables", Kept):
        method = kind(epsilon=float(epsilon), delta=1e-9, random_state=0).fit(data.train, schema=data.schema)
    codes = data.schema.encode(data.train)
    groups = np.stack([own[codes[:, j]] for j, own in enumerate(method.groups_)], axis=1)
    sizes, true = fitted[0].sizes, {}
    for a, b in combinations(range(len(sizes)), 2):
        counts = np.bincount(groups[:, a] * sizes[b] + groups[:, b], minlength=sizes[a] * sizes[b])
        true[f"true {a} {b}"] = counts.reshape(sizes[a], sizes[b]) / len(codes)
    kept = {f"{part} {i}": each[part] for i, each in enumerate(answers) for part in each}
    np.savez(path, sizes=sizes, answers=len(answers), **kept, **true)
    print(f"ours: {far(lambda a, b: fitted[0].model.marginal((a, b)), true):.4f}")


def answer_elsewhere(path: str) -> None:
    """Fit Private-PGM's estimator to the measurements and print its 2-way distance."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import mbi

    kept = np.load(path)
    names = [str(j) for j in range(len(kept["sizes"]))]
    measured = []
    for i in range(int(kept["answers"])):
        cells, variance = kept[f"cells {i}"].ravel(), kept[f"variance {i}"].ravel()
        least, clique = float(variance.min()), tuple(names[j] for j in kept[f"scope {i}"])
        weights = np.sqrt(least / variance)
        own = {} if (weights == 1).all() else {"query": lambda x, weights=weights: x.datavector() * weights}
        measured.append(mbi.LinearMeasurement(cells * weights, clique, stddev=least**0.5, **own))
    start = time.perf_counter()
    domain = mbi.Domain(names, kept["sizes"].tolist())
    model = mbi.estimation.MirrorDescent().estimate(domain, measured, iters=ITERATIONS)

    def table(a: int, b: int) -> Any:
        found = np.asarray(model.project((names[a], names[b])).datavector(flatten=False))
        return found / found.sum()

    print(f"theirs: {far(table, kept):.4f}, in {time.perf_counter() - start:.0f} s")


def far(table: Any, true: Any) -> float:
    """Return the mean total variation distance between a model's and the true pair marginals."""
    pairs = [key.split() for key in true if key.startswith("true")]
    return float(np.mean([np.abs(table(int(a), int(b)) - true[f"true {a} {b}"]).sum() / 2 for _, a, b in pairs]))


if __name__ == "__main__":
    (answer_elsewhere if len(sys.argv) == 2 else release_here)(*sys.argv[1:])

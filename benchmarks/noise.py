"""Measure the time of exactly sampled noise, method by method.

    python -m benchmarks.noise           fits of all corrected methods, with NumPy's noise and with
                                         exactly sampled noise
    python -m benchmarks.noise --draws   one count, and a million; a selection among a million

Methods have their default parameters and are fitted to the training rows of the bundled sample and
of Adult. Times are processor seconds of this process, the least of `RUNS` fits, so that other
programs matter little. No ledger file is charged.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dpcore import datasets
from dpcore.datasets import Dataset
from dpcore.mechanisms.noise import make_noise
from dpcore.methods import METHODS

RUNS = 5
MILLION = 1_000_000
SIZES = {1: 200, 20: 50, 10_000: 2}  # counts of a question, and how many questions are timed at once


def main() -> None:
    """Run the measurement that the arguments select."""
    if "--draws" in sys.argv:
        draws()
    else:
        methods()


def methods() -> None:
    """Print the times of all corrected methods."""
    sets = [datasets.load("sample"), datasets.load("adult")]
    print("| method | " + " | ".join(f"{data.name}: NumPy | exactly sampled | times" for data in sets) + " |")
    print("| --- |" + " ---: | ---: | ---: |" * len(sets))
    for name, method in METHODS.items():
        if "corrected" not in method.modes:
            continue
        cells = []
        for data in sets:
            teaching, sampled = (least(fit(method, data, noise)) for noise in ("laplace", "auto"))
            cells.append(f"{teaching:.3f} | {sampled:.3f} | {sampled / teaching:.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def fit(method: Any, data: Dataset, noise: str) -> Callable[[], object]:
    """Fit a method with its default parameters and a source of noise."""
    return lambda: method(noise=noise).fit(data.train, schema=data.schema)


def least(act: Callable[[], object]) -> float:
    """Return the least processor seconds of `RUNS` calls."""
    found = []
    for _ in range(RUNS):
        start = time.process_time()
        act()
        found.append(time.process_time() - start)
    return min(found)


def draws() -> None:
    """Print the times of single draws."""
    counts, scores = np.arange(MILLION), np.random.default_rng(1).normal(0, 3, MILLION)
    for kind in ("laplace", "geometric", "auto"):
        noise = make_noise(kind, None)
        for scale in (1.0, 100.0, 1e9):
            seconds = least(partial(noise.counts, counts, scale))
            print(f"{kind}, scale {scale:g}: {1e9 * seconds / MILLION:.0f} ns a count")
        print(f"{kind}: a choice among a million in {1e3 * least(partial(noise.select, scores, 1.0)):.0f} ms")
    for distribution, (size, times), scale in product(("laplace", "gaussian"), SIZES.items(), (1.0, 2.0**40)):
        ask = partial(make_noise("auto", None, 0, distribution).counts, counts[:size], scale)
        found = 1e6 * least(lambda ask=ask, times=times: [ask() for _ in range(times)]) / times
        print(f"{distribution}, scale {scale:g}, {size:,} at once: {found:,.0f} µs")


if __name__ == "__main__":
    main()

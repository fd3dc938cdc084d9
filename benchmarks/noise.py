"""What exactly sampled noise costs in time, method by method.

    python -m benchmarks.noise           fits of every corrected method with NumPy's noise and with exactly sampled
    noise python -m benchmarks.noise --draws   a million counts, and a choice among a million
    python -m benchmarks.noise --first   the first fit of a program, which loads OpenDP

Methods as they come, which is how the pages begin, on the training rows of the bundled sample and of Adult. Processor
time of this process, the least of `RUNS` fits, so that other work on the machine matters little; OpenDP is loaded
before, and nothing is charged to anybody's books.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpcore import datasets
from dpcore.datasets import Dataset
from dpcore.mechanisms.noise import make_noise
from dpcore.methods import METHODS

RUNS = 5
MILLION = 1_000_000
FIRST = """
import time
import dpcore as dp
data = dp.datasets.load("sample")
start = time.perf_counter()
dp.RefinedPrivBayes(noise={noise!r}).fit(data.train, schema=data.schema)
print(time.perf_counter() - start)
"""


def main() -> None:
    if "--draws" in sys.argv:
        draws()
    elif "--first" in sys.argv:
        first()
    else:
        methods()


def methods() -> None:
    make_noise("opendp", None).counts(np.zeros(1, dtype=np.int64), 1.0)
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
    """A fit of the method as it comes."""
    return lambda: method(noise=noise).fit(data.train, schema=data.schema)


def least(act: Callable[[], object]) -> float:
    """Seconds of processor time, the least of `RUNS`."""
    found = []
    for _ in range(RUNS):
        start = time.process_time()
        act()
        found.append(time.process_time() - start)
    return min(found)


def draws() -> None:
    counts, scores = np.arange(MILLION), np.random.default_rng(1).normal(0, 3, MILLION)
    for kind in ("laplace", "geometric", "auto"):
        noise = make_noise(kind, None)
        for scale in (1.0, 100.0, 1e9):
            seconds = least(partial(noise.counts, counts, scale))
            print(f"{kind}, scale {scale:g}: {1e9 * seconds / MILLION:.0f} ns a count")
        print(f"{kind}: a choice among a million in {1e3 * least(partial(noise.select, scores, 1.0)):.0f} ms")
    few = make_noise("opendp", None)
    print(f"OpenDP: {1e6 * least(partial(few.counts, counts[:1_000], 1.0)) / 1_000:.1f} µs a count")


def first() -> None:
    for noise in ("laplace", "auto"):
        code = [sys.executable, "-c", FIRST.format(noise=noise)]
        seconds = min(float(subprocess.run(code, check=True, capture_output=True).stdout) for _ in range(RUNS))
        print(f"{noise}: {seconds:.2f} s")


if __name__ == "__main__":
    main()

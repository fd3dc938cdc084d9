"""Measure the processor time of the papers' figures: of one repeat by parts, and of five repeats.

    DPCORE_DATA=... python -m benchmarks.figures [NAME of a figure or data set ...]

Everything runs in this process, one run after the other; `dpcore figure` uses all cores.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

from dpcore import datasets
from dpcore.experiment.figures import all_figures
from dpcore.experiment.figures.figure import Figure
from dpcore.experiment.figures.studies import KINDS
from dpcore.methods.base import PrivateEstimator, Synthesizer

PARTS = {"fit": (PrivateEstimator,), "sample": (Synthesizer,), "values": (*KINDS.values(),), "references": (Figure,)}
ROW = "| {:<45} |" + " {:>10} |" * (len(PARTS) + 4)


def measure(times: Counter[str], kind: type, name: str) -> None:
    """Add up the seconds of a method's calls in `times`, without other measured calls inside."""
    call: Any = vars(kind).get(name)

    def timed(*args: Any, **how: Any) -> Any:
        start, own = time.process_time(), not times["inside"]
        times["inside"] += own
        try:
            return call(*args, **how)
        finally:
            times["inside"] -= own
            times[name] += own and time.process_time() - start

    if call is not None:
        setattr(kind, name, timed)


def main(*names: str) -> None:
    """Print the seconds of the chosen figures."""
    times: Counter[str] = Counter()
    for part, kinds in PARTS.items():
        for kind in kinds:
            measure(times, kind, part)
    print(ROW.format("figure, data", "runs", *PARTS, "other", "one repeat", "five"), flush=True)
    every = 0.0
    for name, figure in all_figures().items():
        for data in (datasets.load(each) for each in ("adult", "big5", *datasets.BANK_CARDS)):
            if figure.lacks(data) or not {*names} <= {name, data.name}:
                continue
            times.clear()
            start = time.process_time()
            runs = sum(1 for _ in figure.stream(data, 1, n_jobs=1))
            whole = time.process_time() - start
            five = 5 * whole - 4 * times["references"]
            every += five
            parts = [*(times[part] for part in PARTS), whole - sum(times[part] for part in PARTS), whole, five]
            print(ROW.format(f"{name}, {data.name}", runs, *(f"{part:.1f}" for part in parts)), flush=True)
    print(f"Five repeats of all: {every:,.0f} s of one core.")


if __name__ == "__main__":
    main(*sys.argv[1:])

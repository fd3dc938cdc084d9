"""Compare the errors expected from public facts with those of runs, table by table.

    DPCORE_DATA=... python -m benchmarks.expectations [--tables sample wine] [--epsilons 0.1 1 10]
        [--runs 3]

For every table, epsilon and preset of a synthesizer it prints the mean over columns of the expected
total variation distance, and that of runs: the median of `--runs` runs, or of one run if it takes
longer than `LONG` seconds. Their ratio has an asterisk beyond a factor of 1.5. Also printed are the
expected seconds and those of a run, and the milliseconds that the expectation took. At the end, by
synthesizer, it prints how many ratios are within the factor, and the least and largest ratio.

The assumptions about columns, and those about runs, were chosen on these tables; for the bank
cards, only the loss of bits was. Bounds of scikit-learn's wines, patients and tumors are round
numbers.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_wine

import dpcore as dp
from benchmarks.forecast import synthesizers, table
from dpcore.evaluate import marginal_avd
from dpcore.experiment.forecasts import expect_errors
from dpcore.methods.base import Synthesizer

TABLES = ("sample", "adult", "wine", "patients", "tumors", "bank cards", "big5")
LONG, FACTOR, EVERY = 5.0, 1.5, 10**9
WINE = (
    (11, 15),
    (0, 6),
    (1, 4),
    (10, 30),
    (70, 170),
    (0, 4),
    (0, 6),
    (0, 1),
    (0, 4),
    (0, 14),
    (0, 2),
    (1, 4),
    (200, 1800),
)
PATIENTS = (
    (18, 80),
    (1, 2),
    (15, 45),
    (60, 140),
    (90, 310),
    (40, 250),
    (20, 100),
    (2, 10),
    (3, 6.5),
    (50, 130),
)


def example(name: str) -> tuple[pd.DataFrame, dp.Schema]:
    """Return a table of scikit-learn with ten bins for every number, and its schema.

    The target is the kind of wine, or a binary column.
    """
    found = load_wine(as_frame=True) if name == "wine" else load_diabetes(as_frame=True, scaled=False)
    bounds = WINE if name == "wine" else PATIENTS
    columns = [
        dp.Column(name=f"c{i}", kind="continuous", lower=low, upper=high, bins=2 if high == 2 else 10, outside="clip")
        for i, (low, high) in enumerate(bounds)
    ]
    label = found.target if name == "wine" else (found.target > 140).astype(int)
    columns.append(dp.Column(name="label", kind="categorical", categories=("0", "1", "2")[: label.max() + 1]))
    frame = found.data.set_axis([column.name for column in columns[:-1]], axis=1).assign(label=label.astype(str))
    return frame, dp.Schema(columns=tuple(columns), target="label", max_rows=len(frame))


def runs(method: Synthesizer, frame: pd.DataFrame, schema: dp.Schema, many: int) -> tuple[float, float]:
    """Return the median over runs of the mean distance of columns, and of the seconds."""
    real, distances, seconds = schema.encode(frame), list[float](), list[float]()
    while len(distances) < many and max(seconds, default=0.0) <= LONG:
        start = time.perf_counter()
        method.set_params(noise="laplace", random_state=len(distances), **method.implied_parameters(len(frame)))
        made = method.fit(frame, schema=schema).sample(len(frame))
        seconds.append(time.perf_counter() - start)
        distances.append(float(marginal_avd(real, schema.encode(made), schema, 1)["avd"].mean()))
    return float(np.median(distances)), float(np.median(seconds))


def main() -> None:
    """Print the comparison for all chosen tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    ratios = defaultdict[str, list[float]](list)
    print(f"{'table':10} {'synthesizer':75} epsilon expected measured ratio  pairs enough    s (run)      ms")
    for name in chosen.tables:
        frame, schema = example(name) if name in ("wine", "patients") else table(name, EVERY)
        for label, method in synthesizers(every=True).items():
            for epsilon in chosen.epsilons:
                method.set_params(epsilon=epsilon, **method.implied_parameters(len(frame)))
                start = time.perf_counter()
                expected = expect_errors(method, schema, len(frame))
                took = 1_000 * (time.perf_counter() - start)
                if expected.columns is None:
                    break
                measured, seconds = runs(method, frame, schema, chosen.runs)
                ratio = expected.columns / measured
                ratios[label].append(ratio)
                mark = "*" if not 1 / FACTOR <= ratio <= FACTOR else " "
                more = f"{expected.measurable or 0:6} {expected.enough or np.nan:6g}"
                times = f"{expected.seconds:6g} ({seconds:6.2f}) {took:7.1f}"
                errors = f"{expected.columns:8.4f} {measured:8.4f} {ratio:5.2f}{mark}"
                print(f"{name:10} {label[:75]:75} {epsilon:7g} {errors} {more} {times}", flush=True)
    for label, found in ratios.items():
        inside = sum(1 / FACTOR <= ratio <= FACTOR for ratio in found)
        print(f"{label:75} {inside} of {len(found)} within {FACTOR:g}: {min(found):.2f} to {max(found):.2f}")


if __name__ == "__main__":
    main()

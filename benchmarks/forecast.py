"""Measure how often distances of real runs are inside the bands of a forecast, table by table.

    DPCORE_DATA=... python -m benchmarks.forecast [--epsilon 1] [--runs 20] [--rows 10000]
        [--tables adult hospital] [--all]

For every table and synthesizer it prints the share of columns, over all runs, whose distance is in
the forecast's 90% band, and the same share of pairs (at most 300, drawn once). For groups at least
as large as the smallest one that the forecast reports, it prints the share of errors within half
their size. A forecast sees the schema and the number of rows. Of a table the first `--rows` rows
are used. `--all` has every preset of a method.

The forecast's assumptions were chosen on the first four tables. The last two tables were fixed
before any of their results were seen: the hospital's visits of `tests.sample_tables`, with the
department as a function of the diagnosis, and scikit-learn's 569 tumors, with the means of ten
measurements and the diagnosis.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import dpcore as dp
from dpcore.evaluate import marginal_avd
from dpcore.experiment.forecasts import MOST_PAIRS, Band, forecast
from dpcore.methods import METHODS
from dpcore.methods.base import Synthesizer
from dpcore.rows import joint_counts
from tests.sample_tables import hospital

TABLES = ("adult", "big5", "bank cards", "bank cards, dependent", "hospital", "tumors")


def tumors() -> tuple[pd.DataFrame, dp.Schema]:
    """Return scikit-learn's tumors: means of ten measurements, diagnosis, and round bounds."""
    found = load_breast_cancer(as_frame=True)
    bounds = (30, 40, 200, 2_600, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1)
    frame = found.data.iloc[:, :10].assign(diagnosis=found.target.map({0: "malignant", 1: "benign"}))
    columns = [
        dp.Column(name=name, kind="continuous", lower=0, upper=upper, bins=10, outside="clip")
        for name, upper in zip(frame.columns[:10], bounds, strict=True)
    ]
    columns.append(dp.Column(name="diagnosis", kind="categorical", categories=("benign", "malignant")))
    return frame, dp.Schema(columns=tuple(columns), target="diagnosis", max_rows=600)


def table(name: str, most: int) -> tuple[pd.DataFrame, dp.Schema]:
    """Return at most `most` rows of a table, and the schema with their number as public bound."""
    if name in ("hospital", "tumors"):
        frame, schema = hospital() if name == "hospital" else tumors()
    else:
        data = dp.datasets.load(name)
        frame, schema = data.train, data.schema
    frame = frame.head(most)
    return frame, replace(schema, max_rows=len(frame))


def synthesizers(*, every: bool) -> dict[str, Synthesizer]:
    """Return the synthesizers by name: the default preset of each, or all presets."""
    found = {}
    for name, kind in METHODS.items():
        if issubclass(kind, Synthesizer):
            for offer in kind.presets if every else kind.presets[:1]:
                method = kind(mode=offer.mode, **offer.parameters)
                if offer.mode == "published" and method.relation not in kind.relations_in("published"):
                    method.set_params(relation=kind.relations_in("published")[0])
                found[f"{name}: {offer.label}, {offer.mode}" if every else name] = method
    return found


def share_inside(band: Band | None, distances: list[float]) -> float:
    """Return the share of distances that are inside a band."""
    values = np.array(distances)
    return float(((band.low <= values) & (values <= band.high)).mean()) if band else float("nan")


def share_covered(
    method: Synthesizer, frame: pd.DataFrame, schema: dp.Schema, epsilon: float, runs: int
) -> tuple[float, float, float, str]:
    """Return the shares of columns, pairs and groups inside their bands, and the bands as text."""
    step = forecast(method, schema, len(frame), epsilons=[epsilon]).steps[0]
    real, rows = schema.encode(frame), len(frame)
    found: dict[int, list[float]] = {1: [], 2: []}
    stands: list[bool] = []
    for seed in range(runs):
        run = METHODS[method.title](**method.get_params())
        run.set_params(epsilon=epsilon, noise="laplace", random_state=1_000 + seed, **method.implied_parameters(rows))
        made = schema.encode(run.fit(frame, schema=schema).sample(rows))
        for degree, distances in found.items():
            distances += marginal_avd(real, made, schema, degree, max_cliques=MOST_PAIRS)["avd"].tolist()
        for j in range(len(schema)):
            p, q = (joint_counts(codes, schema.sizes, [(j,)])[0] / len(codes) for codes in (real, made))
            large = p >= (step.group or 2.0)
            stands += (np.abs(p - q)[large] <= p[large] / 2).tolist()
    bands = [f"{100 * band.low:.1f}-{100 * band.high:.1f}" for band in (step.columns, step.pairs) if band]
    group = f"{step.group:.3%}" if step.group else "none"
    return (
        share_inside(step.columns, found[1]),
        share_inside(step.pairs, found[2]),
        float(np.mean(stands)) if stands else float("nan"),
        f"{bands[0]:>10} {bands[1]:>10} {group:>8}",
    )


def main() -> None:
    """Print the shares for all chosen tables and synthesizers."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--all", action="store_true")
    chosen = parser.parse_args()
    print(f"epsilon {chosen.epsilon:g}, {chosen.runs} runs each; in points: the bands, and the smallest group")
    print(f"{'table':22} {'synthesizer':20} columns pairs groups {'columns':>10} {'pairs':>10} {'group':>8} seconds")
    for name in chosen.tables:
        frame, schema = table(name, chosen.rows)
        for label, method in synthesizers(every=chosen.all).items():
            start = time.perf_counter()
            columns, pairs, groups, bands = share_covered(method, frame, schema, chosen.epsilon, chosen.runs)
            seconds = time.perf_counter() - start
            print(f"{name:22} {label:20} {columns:7.2f} {pairs:5.2f} {groups:6.2f} {bands} {seconds:7.1f}", flush=True)


if __name__ == "__main__":
    main()

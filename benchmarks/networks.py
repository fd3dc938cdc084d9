"""Measure Bayesian-network synthesis on Adult and Big5: utility, run time and memory.

    DPCORE_DATA=... python -m benchmarks.networks [--speed] [--big5]

Methods are fitted on Adult's 30,162 training rows, and 30,162 rows are sampled. Printed are the
mean (and standard deviation) of 3 runs of the distances from the training rows, and the accuracy of
logistic regression on the 15,060 test rows. `--speed` prints the times of fits and samples instead,
`--big5` those on Big5 too.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

import dpcore as dp
from dpcore.methods.base import PrivateEstimator

REPEATS = 3
ROWS = 30_162
EPSILONS = (1.0, 0.1)


class OneWays(dp.NaiveBayesSynthesizer):
    """Independent noisy marginals: NB-Synth with a constant class."""

    def fit(self, frame: pd.DataFrame, y: None = None, *, schema: dp.Schema, **more: object) -> OneWays:
        """Fit to a data frame; see `NaiveBayesSynthesizer.fit`."""
        constant = dp.Column(name="(none)", kind="categorical", categories=("all",))
        schema = replace(schema, columns=(*schema.columns, constant), target="(none)")
        return super().fit(frame.assign(**{"(none)": "all"}), schema=schema, **more)


def releases() -> dict[str, Callable[[float], PrivateEstimator]]:
    """Return the measured methods by their titles in the table."""
    return {
        "independent marginals": lambda e: OneWays(epsilon=e, x_source="model"),
        "NB-Synth C1-gen": lambda e: dp.NaiveBayesSynthesizer(epsilon=e, x_source="model"),
        "PrivBayes refined": lambda e: dp.RefinedPrivBayes(epsilon=e),
        "PrivBayes refined, replace": lambda e: dp.RefinedPrivBayes(epsilon=e, relation="replace"),
        "PrivBayes general, add_remove": lambda e: dp.PrivBayes(epsilon=e, relation="add_remove"),
        "PrivBayes general": lambda e: dp.PrivBayes(epsilon=e),
        "PrivBayes general, printed": lambda e: dp.PrivBayes(epsilon=e, mode="published"),
        "PrivBayes binary F": lambda e: dp.PrivBayes(epsilon=e, variant="binary"),
        "PrivBayes binary MI": lambda e: dp.PrivBayes(epsilon=e, variant="binary", score="MI"),
        "PrivBayes binary F, printed": lambda e: dp.PrivBayes(epsilon=e, variant="binary", mode="published"),
        "HMPrivBayes": lambda e: dp.HMPrivBayes(epsilon=e),
        "HMPrivBayes, public clusters": lambda e: dp.HMPrivBayes(epsilon=e, partition="public"),
        "HMPrivBayes MI": lambda e: dp.HMPrivBayes(epsilon=e, score="MI"),
        "HMPrivBayes, printed": lambda e: dp.HMPrivBayes(epsilon=e, mode="published"),
        "PrivSCBN": lambda e: dp.PrivSCBN(epsilon=e),
        "PrivSCBN, printed": lambda e: dp.PrivSCBN(epsilon=e, mode="published"),
        "JTree": lambda e: dp.JTree(epsilon=e),
        "JTree, printed": lambda e: dp.JTree(epsilon=e, mode="published"),
        "NoPrivacy": lambda e: dp.NoPrivacy(epsilon=e),
    }


def utility(data: dp.datasets.Dataset) -> None:
    """Print distances and accuracy of all methods."""
    schema = data.schema
    train, test = schema.encode(data.train), schema.encode(data.test)
    print(f"{'':31} {'epsilon':>7} {'proved':>8} {'1-way':>13} {'2-way':>13} {'3-way':>13} {'accuracy':>14} {'fit':>7}")
    for name, make in releases().items():
        for epsilon in EPSILONS:
            found, bound = [], 0.0
            for _ in range(REPEATS):
                start = time.perf_counter()
                method = make(epsilon).fit(data.train, schema=schema)
                seconds, bound = time.perf_counter() - start, method.ledger_.epsilon_bound
                codes = schema.encode(method.sample(ROWS))
                avd = [dp.evaluate.marginal_avd(train, codes, schema, ways)["avd"].mean() for ways in (1, 2, 3)]
                scores = dp.evaluate.tstr(
                    train, test, codes, schema, "income", models=dp.evaluate.MODELS[:1], include_real=False
                )
                found.append([*avd, scores["accuracy"].iloc[0], seconds])
            mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
            cells = " ".join(f"{m:6.3f} ({s:.3f})" for m, s in zip(mean[:3], spread[:3], strict=True))
            last = f"{mean[3]:7.4f} ({spread[3]:.3f}) {mean[4]:6.2f}s"
            print(f"{name:31} {epsilon:7g} {bound:8.4g} {cells} {last}", flush=True)


def print_times(name: str, work: Callable[[], object], runs: int) -> None:
    """Print the seconds of some runs of a call."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    middle = float(np.median(seconds))
    print(f"{name:55} best {min(seconds):7.2f}  median {middle:7.2f} s  peak so far {peak:.2f} GB", flush=True)


def speed(data: dp.datasets.Dataset, runs: int) -> None:
    """Print the seconds of fits and samples."""

    def fit(method: PrivateEstimator) -> Callable[[], object]:
        return lambda: method.fit(data.train, schema=data.schema)

    everything = {"theta": 1e-9, "max_parents": 3}  # three parents whatever epsilon: all candidates
    print_times(f"{data.name}: HMPrivBayes", fit(dp.HMPrivBayes()), runs)
    print_times(f"{data.name}: HMPrivBayes, printed", fit(dp.HMPrivBayes(mode="published")), runs)
    print_times(f"{data.name}: PrivSCBN", fit(dp.PrivSCBN()), runs)
    print_times(f"{data.name}: PrivBayes refined", fit(dp.RefinedPrivBayes()), runs)
    print_times(f"{data.name}: PrivBayes general", fit(dp.PrivBayes()), runs)
    print_times(f"{data.name}: PrivBayes general, add_remove", fit(dp.PrivBayes(relation="add_remove")), runs)
    print_times(f"{data.name}: JTree", fit(dp.JTree()), runs)
    for score in ("MI", "R", "F"):
        method = dp.PrivBayes(variant="binary", score=score, **everything)
        print_times(f"{data.name}: PrivBayes binary, l=3, every candidate, {score}", fit(method), runs)
    for method in (dp.RefinedPrivBayes(), dp.PrivBayes(), dp.HMPrivBayes(), dp.JTree()):
        fitted = method.fit(data.train, schema=data.schema)
        print_times(f"{data.name}: 45,222 rows from {fitted.title}", lambda fitted=fitted: fitted.sample(45_222), 3)


def main() -> None:
    """Run the measurement that the arguments select."""
    adult = dp.datasets.load("adult")
    if "--speed" not in sys.argv:
        utility(adult)
        return
    speed(adult, 3)
    if "--big5" in sys.argv:
        speed(dp.datasets.load("big5"), 1)


if __name__ == "__main__":
    main()

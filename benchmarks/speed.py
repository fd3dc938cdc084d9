"""Measure the time of operations that a user waits for.

    DPCORE_DATA=... python -m benchmarks.speed

Printed are the best and the median of several runs, in seconds, in one process. `python -m
benchmarks.evaluate` measures the evaluation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

import dpcore as dp

ROOT = Path(__file__).parents[1]


def print_times(name: str, work: Callable[[], object], runs: int = 5) -> None:
    """Print the best and the median of `runs` calls after one warm-up."""
    work()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    print(f"{name:60} best {min(seconds):7.3f}  median {median(seconds):7.3f}")


def fit_and_sample(data: dp.datasets.Dataset, **parameters: object) -> pd.DataFrame:
    """Return rows sampled from a new fit of NB-Synth."""
    return dp.NaiveBayesSynthesizer(**parameters).fit(data.train, schema=data.schema).sample(30_162)


def page_rerun() -> None:
    """Print the server's time after a change of a display control on the page Naive Bayes."""
    app = AppTest.from_file(str(ROOT / "pages" / "naive_bayes.py"), default_timeout=60).run()
    next(button for button in app.button if button.label == "Run").click().run()
    for tab, key in (("Columns", "naive_bayes.column"), ("Pairs", "naive_bayes.pair_x")):
        app.session_state["naive_bayes.tab"] = tab
        app.run()
        options = app.selectbox(key=key).options[1:9]
        seen = iter(options)  # each is seen for the first time, so nothing is remembered from before

        def move(key: str = key, seen: object = seen) -> None:
            app.selectbox(key=key).set_value(next(seen)).run()

        print_times(f"rerun of the page, another {key.split('.')[1]} chosen", move, runs=len(options) - 1)


def main() -> None:
    """Print all times."""
    adult = dp.datasets.load("adult")
    released = fit_and_sample(adult, x_source="model")
    print_times("C1 fit + 30,162 rows (uniform x)", lambda: fit_and_sample(adult))
    print_times("C1-gen fit + 30,162 rows", lambda: fit_and_sample(adult, x_source="model"))
    print_times("published mode, 30,162 labels", lambda: fit_and_sample(adult, mode="published"))
    for degree, tables in ((2, 105), (3, 455)):
        print_times(
            f"{tables} {degree}-way marginals of two tables, encoding included",
            lambda degree=degree: dp.evaluate.marginal_avd(adult.train, released, adult.schema, degree),
        )
    million = adult.train.iloc[np.random.default_rng(0).integers(len(adult.train), size=1_000_000)]
    million = million.reset_index(drop=True)
    print_times("encoding 1,000,000 x 15 rows", lambda: adult.schema.encode(million), runs=3)
    print_times(
        "C1-gen fit on 1,000,000 rows, encoding included",
        lambda: dp.NaiveBayesSynthesizer().fit(million, schema=replace(adult.schema, max_rows=1_000_000)),
        runs=3,
    )
    page_rerun()


if __name__ == "__main__":
    main()

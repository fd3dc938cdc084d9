"""Measure the time of a comparison: 4 methods x 6 epsilons x 5 repeats on Adult, on all cores.

    DPCORE_DATA=... OPENBLAS_NUM_THREADS=1 python -m benchmarks.compare [--mixed] [--jobs 2]

The comparison has the measures of the page Compare. Printed are the wall-clock seconds of the call,
with and without the workers' start, and the seconds until the first run was done. `--mixed` has
DiffPRFs in place of HMPrivBayes.
"""

from __future__ import annotations

import argparse
import time

import dpcore as dp

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
REPEATS = 5
MEASURES = ("accuracy", "1-way AVD", "2-way AVD", "3-way AVD", "range-query error")


def methods(*, mixed: bool) -> dict[str, dp.experiment.Method]:
    """Return four methods under one relation, by name."""
    found: dict[str, dp.experiment.Method] = {
        "NB-Synth C1-gen": dp.NaiveBayesSynthesizer(x_source="model", random_state=0),
        "PrivBayes refined": dp.METHODS["PrivBayes refined"](random_state=0),
        "TaxonomyRelease": dp.METHODS["TaxonomyRelease"](random_state=0),
    }
    fourth = "DiffPRFs" if mixed else "HMPrivBayes"
    return found | {fourth: dp.METHODS[fourth](relation="add_remove", random_state=0)}


def main() -> None:
    """Run the comparison and print its times."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--jobs", type=int, default=-1)
    chosen = parser.parse_args()
    adult = dp.datasets.load("adult")
    start, first = time.perf_counter(), 0.0

    def progress(*_: object) -> None:
        nonlocal first
        first = first or time.perf_counter() - start

    compared = methods(mixed=chosen.mixed)
    frame = dp.experiment.sweep(
        compared,
        adult,
        epsilons=EPSILONS,
        repeats=REPEATS,
        measures=MEASURES,
        skip=True,
        n_jobs=chosen.jobs,
        progress=progress,
    )
    wall = time.perf_counter() - start
    runs = frame.drop_duplicates(["method", "epsilon", "repeat"])
    print(f"{len(runs)} runs, {(frame['error'] != '').sum()} failed: {wall:.1f} s; the first after {first:.1f} s")
    print(f"fit and sampling alone: {runs['seconds'].sum():.1f} s in all")
    total = runs["epsilon_bound"].sum()
    print(f"all of them together: epsilon {total:g} under {runs['relation'].iloc[0]}")
    print(frame.groupby(["metric", "method"])["value"].mean().round(4).to_string())


if __name__ == "__main__":
    main()

"""Sweeps that are quick, and the processes that they are made in."""

from pathlib import Path

from dpcore.methods import DiffPRFs, NaiveBayesSynthesizer

MEASURES = ["accuracy", "1-way AVD"]


def methods(seed=3):
    """One that releases rows, and one that is a classifier."""
    return {
        "C1": NaiveBayesSynthesizer(x_source="model", random_state=seed),
        "forest": DiffPRFs(n_trees=2, max_depth=2, random_state=seed),
    }


def asked(**other):
    return {"epsilons": [0.5, 2.0], "repeats": 2, "measures": MEASURES, "skip": True, "n_jobs": 1, **other}


def without_times(frame):
    return frame.drop(columns="seconds")


def children(process):
    """The processes that a process has started; none where the system does not tell (it does on Linux)."""
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        yield from map(int, file.read_text().split())

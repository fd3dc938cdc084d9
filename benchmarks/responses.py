"""Measure naive Bayes and trees from randomized responses on Adult, beside true reports.

    python -m benchmarks.responses            accuracy and balanced accuracy, mean of 5 rounds
    python -m benchmarks.responses --cards    the same on the simulated bank cards
    python -m benchmarks.responses --crossing figure 3 of paper 004: PPNB and DTPD as published, by
                                              p, on both data sets
    python -m benchmarks.responses --speed    seconds to randomize, reconstruct and classify

Models are learned from the training rows (30,162 of Adult) and tested on the test rows (15,060).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.forests import measure_accuracy, references, seconds, tell
from dpcore import datasets
from dpcore.datasets import Dataset
from dpcore.evaluate.reconstruction import boolean_data
from dpcore.experiment import figure
from dpcore.methods import DTCRD, DTPD, PPNB, NonPrivateNaiveBayes

GRID = (0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.49, 0.51, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)
NOISES: dict[str, dict[str, Any]] = {
    "numbers as they are": {"factors": (1.0, 0.0), "offsets": (0.0, 0.0)},
    "N(1, 1), N(0, 1)": {"factors": (1.0, 1.0), "offsets": (0.0, 1.0)},
    "N(2, 10), N(0, 5)": {"factors": (2.0, 10.0), "offsets": (0.0, 5.0)},
}
EPSILONS = (1.0, 2.0, 4.0, 8.0)


def main() -> None:
    """Run the measurement that the arguments select."""
    if "--crossing" in sys.argv:
        crossing()
        return
    data = datasets.load("bank cards" if "--cards" in sys.argv else "adult")
    if "--speed" in sys.argv:
        speed(data)
        return
    tell(published_grid(data))
    tell(corrected_grid(data))
    tell(plain(data))


def crossing() -> None:
    """Print figure 3 of paper 004, mean of 5 runs, and whether its claims hold."""
    for name in datasets.BANK_CARDS:
        made = figure("004 Fig. 3", datasets.load(name), repeats=5)
        accuracies = made.frame[made.frame["metric"] == "accuracy"]
        print(f"{name}\n{accuracies.pivot_table('value', 'x', 'series').round(4).to_string()}")
        print("\n".join(made.verdicts))
    cards = datasets.load("bank cards")
    bits = boolean_data(cards, str(cards.schema.target))
    print("bank cards again, with seeds 0 to 19: mean of the first five, of all, and its standard error")
    for p in (0.1, 0.2, 0.49):
        ways: dict[str, tuple[Dataset, Any]] = {"PPNB": (bits, PPNB(p0=p)), "DTPD": (cards, DTPD(theta=p))}
        for name, (data, method) in ways.items():
            runs = (clone(method).set_params(mode="published", random_state=seed) for seed in range(20))
            found = [run.fit(data.train, schema=data.schema).score(data.test) for run in runs]
            error = np.std(found, ddof=1) / np.sqrt(len(found))
            print(f"  p {p:<5g} {name}  {np.mean(found[:5]):.4f}  {np.mean(found):.4f}  {error:.4f}")


def published_grid(data: Dataset) -> Iterator[dict[str, Any]]:
    """Measure paper 004's grid, with both noises and without, and the trees in its comparison."""
    for name, noise in NOISES.items():
        for p0 in GRID:
            yield measure_accuracy(f"PPNB as printed, {name}, p0 {p0:g}", data, PPNB(mode="published", p0=p0, **noise))
    for theta in (0.55, 0.6, 0.7, 0.8, 0.9):
        yield measure_accuracy(f"DTPD as printed, theta {theta:g}", data, DTPD(mode="published", theta=theta))
    for variant in ("by_class", "global", "local"):
        yield measure_accuracy(f"DTCRD as printed, {variant}", data, DTCRD(mode="published", variant=variant))


def corrected_grid(data: Dataset) -> Iterator[dict[str, Any]]:
    """Measure a finite epsilon for the whole record, with all columns reported, or some."""
    for epsilon in EPSILONS:
        for bare in (False, True):
            how: dict[str, Any] = {"merge": False, "reconstruction": "clip"} if bare else {}
            for pairs in (True, False):
                for n_questions in (1, 2, None):
                    columns = f"{n_questions or 'all'} asked{', clipped' * bare}"
                    text = f"{'class and column as one, ' if pairs else ''}{columns}"
                    method = PPNB(epsilon=epsilon, pairs=pairs, n_questions=n_questions, **how)
                    yield measure_accuracy(f"PPNB-LDP, {text}", data, method)
        for n_questions in (1, None):
            method = PPNB(epsilon=epsilon, numbers="moments", n_questions=n_questions)
            yield measure_accuracy(f"PPNB-LDP, moments, {n_questions or 'all'} asked", data, method)
        yield measure_accuracy("DTPD, every bit for itself", data, DTPD(epsilon=epsilon))
        yield measure_accuracy("DTCRD, Laplace noise", data, DTCRD(epsilon=epsilon))


def plain(data: Dataset) -> Iterator[dict[str, Any]]:
    """Measure classifiers from true reports, and the majority class."""
    yield measure_accuracy("plain naive Bayes", data, NonPrivateNaiveBayes())
    yield measure_accuracy("plain naive Bayes, bins", data, NonPrivateNaiveBayes(numbers="bins"))
    yield from references(data)


def speed(data: Dataset) -> None:
    """Print the seconds of each step, the best of some runs."""
    rows = np.random.default_rng(0).integers(len(data.train), size=1_000_000)
    large = data.train.iloc[rows].reset_index(drop=True)
    schema, wide = data.schema, replace(data.schema, max_rows=1_000_000)
    kinds: dict[str, Any] = {
        "PPNB as printed": PPNB(mode="published", random_state=0),
        "PPNB-LDP, as it comes": PPNB(random_state=0),
        "PPNB-LDP, every column": PPNB(random_state=0, pairs=False, n_questions=None),
        "PPNB-LDP, every column, bits": PPNB(random_state=0, pairs=False, n_questions=None, protocol="OUE"),
        "PPNB-LDP, every column, hashes": PPNB(random_state=0, pairs=False, n_questions=None, protocol="OLH"),
    }
    for name, method in kinds.items():
        fit = seconds(lambda m=method: m.fit(data.train, schema=schema).predict(data.test), 5)
        print(f"{name}: randomize, reconstruct and classify {fit:.3f} s", flush=True)
        fit = seconds(lambda m=method: m.fit(large, schema=wide), 1)
        print(f"{name}: 1,000,000 rows x {len(schema)}, randomize and reconstruct {fit:.2f} s", flush=True)
    trees: dict[str, Any] = {
        **{
            f"DTCRD as printed, {kind}": DTCRD(mode="published", variant=kind)
            for kind in ("by_class", "global", "local")
        },
        "DTCRD corrected": DTCRD(),
        "DTPD as printed": DTPD(mode="published"),
        "DTPD corrected": DTPD(),
    }
    for name, method in trees.items():
        print(f"{name}: fit {seconds(lambda m=method: m.fit(data.train, schema=schema), 2):.2f} s", flush=True)


if __name__ == "__main__":
    main()

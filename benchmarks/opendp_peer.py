"""Compare quartiles and means of eight columns with those of OpenDP, at the same epsilon and bounds.

    pip install --target PEER "opendp==0.16.0"
    PYTHONPATH=.:PEER DPCORE_DATA=... python -m benchmarks.opendp_peer [--runs 200] [--candidates 10001]

Columns: those of numbers in Adult, and age and income of bank cards. OpenDP's quartiles are three
private quantiles of a third of epsilon each, selected among evenly spaced candidates. Its means are
a clipped sum and a count of half of epsilon each (add_remove). Errors are absolute, in shares of
the column's range; printed are means with standard errors, and the ratio of ours to theirs.
"""

import argparse
from collections.abc import Callable

import numpy as np
import opendp.prelude as peer
import pandas as pd
from numpy.typing import NDArray

import dpcore as dp
from dpcore.methods.statistics import PlainStatistics

Errors = tuple[NDArray, NDArray]
RANKS = (0.25, 0.5, 0.75)
TABLES = {"adult": None, "bank cards": ("age", "income")}


def calibrate(make: Callable[[float], peer.Measurement], epsilon: float) -> peer.Measurement:
    """Return the measurement with the least scale whose loss is at most epsilon."""
    return make(peer.binary_search(lambda scale: make(scale).map(1) <= epsilon, bounds=(1e-9, 1e9)))


def peer_quartiles(column: dp.Column, epsilon: float, candidates: int) -> list[peer.Measurement]:
    """Return OpenDP's measurements of the quartiles of a column."""
    points = np.linspace(float(column.lower), float(column.upper), candidates)
    named = np.unique(np.rint(points)).tolist() if column.whole else points.tolist()
    domain, metric = peer.vector_domain(peer.atom_domain(T=float, nan=False)), peer.symmetric_distance()

    def make(rank: float) -> Callable[[float], peer.Measurement]:
        """Return the measurement of a quantile as a function of its scale."""
        return lambda scale: peer.m.make_private_quantile(domain, metric, peer.max_divergence(), named, rank, scale)

    return [calibrate(make(rank), epsilon / len(RANKS)) for rank in RANKS]


def peer_mean(column: dp.Column, epsilon: float) -> Callable[[list[float]], float]:
    """Return a function for OpenDP's mean of a column: a clipped sum divided by a count."""
    bounds = float(column.lower), float(column.upper)
    space = peer.vector_domain(peer.atom_domain(T=float, nan=False)), peer.symmetric_distance()
    total = space >> peer.t.then_clamp(bounds) >> peer.t.then_sum()
    count = space >> peer.t.then_count()
    of_sum = calibrate(lambda scale: total >> peer.m.then_laplace(scale), epsilon / 2)
    of_count = calibrate(lambda scale: count >> peer.m.then_laplace(scale), epsilon / 2)
    return lambda rows: float(np.clip(of_sum(rows) / max(of_count(rows), 1), *bounds))


def compare(column: dp.Column, frame: pd.DataFrame, epsilon: float, options: argparse.Namespace) -> dict[str, Errors]:
    """Return the errors of our runs and of OpenDP's, by kind of statistic, each of shape (runs,)."""
    rows, width = frame[column.name].to_numpy(float), float(column.upper) - float(column.lower)
    listed = rows.tolist()
    quartiles, mean = peer_quartiles(column, epsilon, options.candidates), peer_mean(column, epsilon)
    truths = {"quartiles": np.quantile(rows, RANKS, method="inverted_cdf"), "mean": rows.mean()}
    theirs = {"quartiles": lambda: [own(listed) for own in quartiles], "mean": lambda: mean(listed)}
    found = {}
    for kind, truth in truths.items():
        method = PlainStatistics(queries=f'{kind} of "{column.name}"', epsilon=epsilon)
        schema = dp.Schema(columns=(column,))
        ours = [method.fit(frame, schema=schema).answers()["value"] for _ in range(options.runs)]
        runs = ours, [theirs[kind]() for _ in range(options.runs)]
        errors = [np.abs(np.reshape(own, (options.runs, -1)) - truth).mean(axis=1) / width for own in runs]
        found[kind] = (errors[0], errors[1])
    return found


def report(name: str, epsilon: float, ours: NDArray, theirs: NDArray) -> None:
    """Print the errors of both, shape (runs,), with their standard errors."""
    error = [own.std(ddof=1) / len(own) ** 0.5 for own in (ours, theirs)]
    ratio = ours.mean() / max(theirs.mean(), 1e-12)
    print(
        f"{epsilon:<4g} {name:<26} ours {ours.mean():.3g} ± {error[0]:.1g}  "
        f"OpenDP {theirs.mean():.3g} ± {error[1]:.1g}  ratio {ratio:.3f}",
        flush=True,
    )


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--candidates", type=int, default=10_001)
    options = parser.parse_args()
    peer.enable_features("contrib")
    for epsilon in (0.1, 1.0):
        every: dict[str, list[Errors]] = {"quartiles": [], "mean": []}
        for table, chosen in TABLES.items():
            data = dp.datasets.load(table)
            for column in data.schema:
                if not column.numeric or (chosen and column.name not in chosen):
                    continue
                for kind, errors in compare(column, data.train[[column.name]], epsilon, options).items():
                    report(f"{kind} of {column.name}", epsilon, *errors)
                    every[kind].append(errors)
        for kind, pairs in every.items():
            report(f"{kind}, all columns", epsilon, *np.mean(pairs, axis=0))


if __name__ == "__main__":
    main()

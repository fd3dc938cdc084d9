"""Measure errors of range queries on Adult, by the size of the range: patent 002's claim.

    python -m benchmarks.ranges            errors at epsilon 1, 10 iterations, 1,000 random queries,
                                           mean of 10 runs
    python -m benchmarks.ranges --groups   ranges of the release's groups: their error is noise only
    python -m benchmarks.ranges --speed    seconds of a fit, also by the number of leaves

The error has two parts. The noise's part is measured against noiseless counts of the same
partition. The other part arises because values inside a leaf are not uniform; no noise or
consistency changes it. All trees of one run have the same seed, hence the same splits, except
DiffGen's, which splits in another way. "raw" is the release without consistency: each query is the
sum of the fewest noisy nodes. "published" are leaves whose negative counts were set to 0. The flat
histogram has Laplace noise on every cell of the domain.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from benchmarks.evaluate import best
from dpcore import datasets, evaluate
from dpcore.datasets import Dataset
from dpcore.domain.range_query import count_matches, random_queries
from dpcore.evaluate import tree_errors
from dpcore.methods import DiffGen, TaxonomyRelease
from dpcore.postprocess import count_tree

RUNS = 10
LEAVES_ONLY = "leaves only"
CAPS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
TREES = {
    "leaves first": {},
    "equal": {"level_shares": "equal"},
    "equal, as chosen": {"level_shares": "equal", "order": "chosen"},
    "geometric": {"level_shares": "geometric"},
    LEAVES_ONLY: {"measure": "leaves"},
}


def main() -> None:
    """Run the measurement that the arguments select."""
    data = datasets.load("adult")
    if "--speed" in sys.argv:
        speed(data)
        return
    if "--groups" in sys.argv:
        tell("Mean absolute error in rows, ranges of the release's own groups", group_errors(data))
        return
    total, noise, published = errors(data)
    tell("Mean absolute error in rows, all of it", total)
    tell("The part that is noise", noise)
    tell("All of it, of published leaves (negative counts moved to 0)", published)
    relative = evaluate.errors_by_query_size(total).pivot_table(
        index="release", columns="bin", values="relative", sort=False
    )
    print(f"Mean relative error, all of it\n{relative.to_string(float_format=lambda x: f'{x:,.3g}')}\n")


def errors(data: Dataset) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return frames of `evaluate.range_queries`: total error, noise's part, published leaves.

    The frames have one row per run and query.
    """
    schema, queries = data.schema, random_queries(data.schema, 1_000)
    codes = schema.encode(data.train)
    truth = count_matches(codes, schema, queries)
    total, noise, published = [], [], []
    for run in range(RUNS):
        flat = evaluate.uniform_baseline_answers(truth, queries, schema, epsilon=1.0, relation="add_remove", seed=run)
        found = {"flat histogram": (flat, truth)}
        positive = {}
        methods = {name: TaxonomyRelease(random_state=run, **options) for name, options in TREES.items()}
        for name, method in {**methods, "DiffGen": DiffGen(random_state=run)}.items():
            tree = method.fit(data.train, schema=schema).tree_
            free = tree.answers(queries, tree_errors.true_counts(tree, codes)[-1])
            found[name] = tree.answers(queries), free
            if name in ("leaves first", "equal"):
                found[f"{name}, raw"] = tree.noisy_answers(queries)[0], free
            positive[name] = tree.answers(queries, method.leaf_counts_)
        frame = evaluate.range_queries(data.train, {name: both[0] for name, both in found.items()}, schema, queries)
        total.append(frame.assign(repeat=run))
        parts = np.concatenate([np.abs(answers - free) for answers, free in found.values()])
        noise.append(total[-1].assign(absolute=parts))
        published.append(evaluate.range_queries(data.train, positive, schema, queries).assign(repeat=run))
        print(f"run {run + 1} of {RUNS}", file=sys.stderr)
    return pd.concat(total), pd.concat(noise), pd.concat(published)


def group_errors(data: Dataset) -> pd.DataFrame:
    """Return frames of `evaluate.range_queries` for ranges that are groups of each run's tree."""
    frames = []
    for run in range(RUNS):
        trees = {
            name: TaxonomyRelease(random_state=run, **options).fit(data.train, schema=data.schema).tree_
            for name, options in TREES.items()
        }
        queries = count_tree.group_queries(trees[LEAVES_ONLY], 1_000, seed=run)
        answers = {name: tree.answers(queries) for name, tree in trees.items()}
        answers |= {f"{name}, raw": trees[name].noisy_answers(queries)[0] for name in ("leaves first", "equal")}
        frames.append(evaluate.range_queries(data.train, answers, data.schema, queries).assign(repeat=run))
        print(f"run {run + 1} of {RUNS}", file=sys.stderr)
    return pd.concat(frames)


def tell(title: str, frame: pd.DataFrame) -> None:
    """Print errors by size with half widths of intervals, and ratios to noisy leaves only."""
    sizes = evaluate.errors_by_query_size(frame)
    sizes["shown"] = [
        f"{mean:,.3g} ±{high - mean:,.2g}" for mean, high in zip(sizes["absolute"], sizes["absolute_high"], strict=True)
    ]
    print(f"{title} (± 95% interval of the mean of {RUNS} runs)")
    print(sizes.pivot_table(index="release", columns="bin", values="shown", aggfunc="first", sort=False).to_string())
    means = sizes.pivot_table(index="release", columns="bin", values="absolute", sort=False)
    print(
        f"\nRatio to {LEAVES_ONLY}\n{(means / means.loc[LEAVES_ONLY]).to_string(float_format=lambda x: f'{x:.3g}')}\n"
    )


def speed(data: Dataset) -> None:
    """Print the seconds of fits, best of 3."""
    args = {"frame": data.train, "schema": data.schema}
    print(f"{'10 iterations, at most 100,000 leaves':<44}{'leaves':>10}{'seconds':>9}")
    for name, options in TREES.items():
        seconds, fitted = best(lambda o=options: TaxonomyRelease(random_state=0, **o).fit(**args), runs=3)
        print(f"{name:<44}{fitted.tree_.leaves.size:>10,}{seconds:>9.3f}")
    seconds, fitted = best(lambda: DiffGen(random_state=0).fit(**args), runs=3)
    print(f"{'DiffGen':<44}{fitted.tree_.leaves.size:>10,}{seconds:>9.3f}")
    queries = random_queries(data.schema, 1_000)
    tree = TaxonomyRelease(random_state=0).fit(**args).tree_
    for name, call in (("answers", tree.answers), ("margins", tree.margins), ("noisy_answers", tree.noisy_answers)):
        print(
            f"{f'{name} to 1,000 queries':<44}{tree.leaves.size:>10,}{best(lambda c=call: c(queries), runs=3)[0]:>9.3f}"
        )
    for with_class, label in ((True, "choosing columns"), (False, "columns in turn")):
        print(
            f"\n{f'as many divisions as fit, {label}':<36}{'nodes':>10}{'leaves':>10}{'seconds':>9}{'us per leaf':>13}"
        )
        for cap in CAPS:
            options = {"iterations": 100, "max_leaves": cap, "level_shares": "equal", "with_class": with_class}
            method = TaxonomyRelease(random_state=0, **options)
            seconds, fitted = best(lambda m=method: m.fit(**args), runs=3)
            leaves, nodes = fitted.tree_.leaves.size, sum(fitted.tree_.tree.sizes)
            shown = f"{f'cap {cap:,}':<36}{nodes:>10,}{leaves:>10,}{seconds:>9.3f}{1e6 * seconds / leaves:>13.2f}"
            print(shown, flush=True)


if __name__ == "__main__":
    main()

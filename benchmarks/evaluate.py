"""Measure the time of the evaluation on Adult beside its targets: `python -m benchmarks.evaluate`.

Needs Adult (see `dpcore.datasets`). Times are the best of a few runs, in seconds. The evaluated
table is an independent resample of each column: correct one-way marginals, no dependence.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from dpcore import datasets, evaluate
from dpcore.evaluate.learners import one_hot
from dpcore.rows import joint_counts


def best(call: Callable[[], Any], runs: int = 5) -> tuple[float, Any]:
    """Return the shortest seconds of some runs, and the result of the last one."""
    times = []
    for _ in range(runs):
        start = perf_counter()
        result = call()
        times.append(perf_counter() - start)
    return min(times), result


def show(what: str, seconds: float, target: str = "") -> None:
    """Print a measurement with its target."""
    print(f"{what:<58} {seconds:8.3f} s  {target}")


def main() -> None:
    """Print the times of all measures."""
    data = datasets.load("adult")
    train, test, schema, target = data.train, data.test, data.schema, data.target
    rng = np.random.default_rng(0)
    codes, test_codes = schema.encode(train), schema.encode(test)
    released_codes = np.asfortranarray(rng.permuted(codes, axis=0))
    released = schema.decode(released_codes, rng)
    print(f"{len(train):,} training rows, {len(test):,} test rows, {len(schema)} columns, {sum(schema.sizes)} codes\n")

    show("encode the training rows", best(lambda: schema.encode(train))[0])
    show("all 3-way counts of one table", best(lambda: three_way(codes, schema))[0])
    for degree, goal in ((1, ""), (2, "target .3"), (3, "target 2")):
        seconds, result = best(lambda k=degree: evaluate.marginal_avd(train, released, schema, k))
        show(f"{len(result)} {degree}-way distances, encoding both tables", seconds, goal)
        seconds, _ = best(lambda k=degree: evaluate.marginal_avd(codes, released_codes, schema, k))
        show(f"{len(result)} {degree}-way distances of codes", seconds, goal)
        seconds, floor = best(lambda k=degree: evaluate.noise_floor(train, schema, k), runs=2)
        show(f"{len(result)} {degree}-way noise floors, 5 resamples", seconds)
        print(f"{'':4}mean distance {result['avd'].mean():.4f}, mean noise floor {floor['avd'].mean():.4f}")
    for degree in (2, 3):
        seconds, result = best(lambda k=degree: evaluate.marginal_avd(codes, released_codes, schema, k, on="bits"))
        show(f"{len(result):,} {degree}-way distances of codes, on bits", seconds)
    show("marginals of one column", best(lambda: evaluate.marginals(train, released, schema, "education"))[0])
    show("a pair of columns", best(lambda: evaluate.pair_marginal(train, released, schema, "education", "income"))[0])
    show("validity", best(lambda: evaluate.validity(released, schema))[0])

    print()
    for model in evaluate.MODELS:
        work = partial(evaluate.real_data_baseline, train, test, schema, target, models=[model])
        show(model, best(work)[0], "target .5")
    args = codes, test_codes, released_codes, schema, target
    show("tstr of codes, ceiling known", best(lambda: evaluate.tstr(*args, include_real=False))[0])
    seconds, result = best(lambda: evaluate.tstr(train, test, released, schema, target))
    show("tstr of frames, ceiling included", seconds)
    label = evaluate.Label(column=target, equals=">50K")
    for protocol in ("tstr", "published"):
        work = partial(evaluate.misclassification, data.test, released, schema, label, protocol=protocol)
        seconds, _ = best(work, runs=1)
        show(f"misclassification, {protocol}, 50 repeats", seconds)
    print("\n" + result.drop(columns="note").round(5).to_string(index=False))
    print(
        "\nlogistic regression, fully converged: "
        f"{fit_to_convergence(codes, test_codes, schema, target):.5f} on real rows"
    )


def three_way(codes: Any, schema: Any) -> list[Any]:
    """Return the counts of all 3-way marginals."""
    d = len(schema)
    families = [(i, j, k) for i in range(d) for j in range(i + 1, d) for k in range(j + 1, d)]
    return joint_counts(codes, schema.sizes, families)


def fit_to_convergence(train: Any, test: Any, schema: Any, target: str) -> float:
    """Return the test accuracy of a logistic regression fitted by Newton steps.

    The steps end at a gradient of 1e-10; the accuracy by L-BFGS is compared with it.
    """
    position = schema.index(target)
    sizes = np.delete(schema.sizes, position).tolist()
    X, X_test = (one_hot(np.delete(codes, position, axis=1), sizes) for codes in (train, test))
    model = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1_000).fit(X, train[:, position])
    return float((model.predict(X_test) == test[:, position]).mean())


if __name__ == "__main__":
    main()

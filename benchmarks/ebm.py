"""Additive scores of binned columns (DP-EBM) beside DiffPRFs, on the tables of `benchmarks.utility` that have a class.

    DPCORE_DATA=... python -m benchmarks.ebm [--tables tuning | held-out | NAME ...] [--epsilons .1 1 3] [--runs 10]
        [--variants NAME ...] [--delta 1e-9]

`DPEBM`, and sketches without a door of what it might be: nothing that a sketch makes may be published. Accuracy on rows
held out, and how far it is from that of DiffPRFs (corrected, its defaults) with the standard error of the difference;
each run divides the rows anew, and all learn from the same ones. With a delta DiffPRFs stays in pure epsilon, as it has
none. `--variants` without a name leaves the sketches out.

The score of a class is a sum over columns of a number for the value. A cycle asks, column by column, for the sums by
value of what rows lack, y - p, with noise. One row is in one sum: two classes have one score, and its sum moves by 1;
more have a score each, and these move by 2(1 - p) <= 2 in L1, and by sqrt 2 in L2. Questions compose sequentially.

printed     Nori, Caruana, Bu, Shen and Kulkarni 2021, in 20 cycles: a tenth buys counts of values, each step divides
            a column at random into three parts and adds the learning rate times the mean of what is lacking. The rate
            is 3 / 20, as theirs is .01 in 300 cycles. The first score is from noisy counts of classes, which is kinder.
cycles      The same in 2 cycles, without dividing, and with a rate of 6 / 2: the best of some on the tables for tuning.
shrunk      As many, half Newton steps shrunk as below, over the columns that told something in class x value tables.
tables      No cycle: scores are .35 of a Newton step from class x value tables, shrunk; a door has these already.
tables, 1   The same with 0.6 of the budget, then one cycle as for "shrunk".

Shrunk: a column's true steps are taken for independent N(0, a^2); a is the likeliest of a few given the noise, or 0
where it gains less than 3 in the logarithm. The constants were chosen on the tables for tuning.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks import utility
from dpcore.accounting.currency import Currency
from dpcore.arguments import Floats, Ints
from dpcore.methods import DPEBM, DiffPRFs

WIDTHS = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0)  # of a column's steps
GAIN, LARGEST = 3.0, 2.0


@dataclass
class Learner:
    """Rows, and what has been learned of them: scores of shape (n, 1) for two classes, (n, classes) for more."""

    codes: Ints
    y: Ints
    sizes: Sequence[int]
    classes: int
    currency: Currency
    lots: np.random.Generator

    def __post_init__(self) -> None:
        self.width = 1 if self.classes == 2 else self.classes
        self.truth = np.eye(self.classes)[self.y][:, -self.width :]
        self.moved = 1.0 if self.width == 1 else 2.0 ** (0.5 if self.currency.delta else 1.0)
        self.scores = [np.zeros((size, self.width)) for size in self.sizes]

    def noisy(self, values: Floats, share: float, moved: float = 1.0) -> tuple[Floats, float]:
        """Values with noise, and its variance."""
        scale = self.currency.scale(share, moved)
        draw = self.lots.normal if self.currency.delta else self.lots.laplace
        return values + draw(0.0, scale, values.shape), scale**2 * (1 if self.currency.delta else 2)

    def start(self, share: float) -> None:
        """First scores from counts of classes."""
        counts = np.maximum(self.noisy(np.bincount(self.y, minlength=self.classes).astype(float), share)[0], 1.0)
        self.rows, prior = counts.sum(), counts / counts.sum()
        self.prior = prior[-self.width :]
        self.curve = self.prior * (1 - self.prior)
        self.first = np.log(prior[-self.width :]) - (np.log(prior[0]) if self.width == 1 else 0.0)
        self.now = np.tile(self.first, (len(self.y), 1))

    def lacking(self, j: int) -> Floats:
        """The sums by value of y - p."""
        if self.width == 1:
            chance = 1 / (1 + np.exp(-self.now))
        else:
            chance = np.exp(self.now - self.now.max(axis=1, keepdims=True))
            chance /= chance.sum(axis=1, keepdims=True)
        lack = self.truth - chance
        return np.stack([np.bincount(self.codes[:, j], weights=w, minlength=self.sizes[j]) for w in lack.T], axis=1)

    def move(self, j: int, step: Floats) -> None:
        """Add to a column's scores."""
        self.scores[j] += step
        self.now += step[self.codes[:, j]]

    def predict(self, codes: Ints) -> Ints:
        """The most probable classes."""
        found = self.first + sum(score[codes[:, j]] for j, score in enumerate(self.scores))
        best: Ints = (found[:, 0] > 0).astype(np.intp) if self.width == 1 else found.argmax(axis=1)
        return best


def boosted(own: Learner, budget: float, cycles: int, rate: float, parts: int | None) -> None:
    """See "printed" and "cycles" above."""
    d = len(own.sizes)
    own.start(0.05 * budget)
    found = [np.bincount(own.codes[:, j], minlength=size).astype(float) for j, size in enumerate(own.sizes)]
    counts = [np.maximum(own.noisy(each, 0.1 * budget / d)[0], 1.0) for each in found]
    for _ in range(cycles):
        for j, size in enumerate(own.sizes):
            cuts = own.lots.choice(np.arange(1, size), min(parts or size, size) - 1, replace=False)
            part = np.searchsorted(np.sort(cuts), np.arange(size), side="right")
            sums = np.zeros((part[-1] + 1, own.width))
            np.add.at(sums, part, own.lacking(j))
            sums, _ = own.noisy(sums, 0.85 * budget / (cycles * d), own.moved)
            mean = sums / np.bincount(part, counts[j])[:, None]
            own.move(j, np.clip(rate / cycles * mean, -LARGEST, LARGEST)[part])


def shrunk(own: Learner, budget: float, cycles: int, tables: float, first: float = 0.35) -> None:
    """See "tables" and "shrunk" above."""
    share = tables * budget / len(own.sizes)
    own.start(0.1 * budget)
    slopes, told = [], []
    for j, size in enumerate(own.sizes):
        exactly = np.bincount(own.codes[:, j] * own.classes + own.y, minlength=size * own.classes).astype(float)
        table, variance = own.noisy(exactly.reshape(size, -1), share)
        values = table.sum(axis=1)
        spread = values.var()
        kept = max(0.0, 1 - own.classes * variance / spread) if spread else 0.0  # nearly even counts are made so
        counts = np.maximum(values.mean() + kept * (values - values.mean()), 0) + 1e-9
        slope = (counts * own.rows / counts.sum())[:, None] * own.curve
        lack = table[:, -own.width :] - values[:, None] * own.prior
        step = likely(lack, slope, variance * ((1 - own.prior) ** 2 + (own.classes - 1) * own.prior**2))
        own.move(j, np.clip(first * step, -LARGEST, LARGEST))
        slopes.append(slope)
        told.append(float((slope * step**2).sum()))
    order = [j for j in np.argsort(told)[::-1] if told[j] > 0]
    for _ in range(cycles if order else 0):
        for j in order:
            sums, variance = own.noisy(own.lacking(j), (0.9 - tables) * budget / (cycles * len(order)), own.moved)
            own.move(j, np.clip(0.5 * likely(sums, slopes[j], variance), -LARGEST, LARGEST))


def likely(sums: Floats, slope: Floats, variance: Floats | float) -> Floats:
    """The expected steps u where sums are slope u and noise, and u is N(0, a^2) with the likeliest a."""
    best, step = -0.5 * (sums**2 / variance + np.log(variance)).sum() + GAIN, np.zeros_like(sums)
    for a in WIDTHS:
        total = (slope * a) ** 2 + variance
        found = -0.5 * (sums**2 / total + np.log(total)).sum()
        if found > best:
            best, step = found, a * a * slope * sums / total
    return step


VARIANTS: dict[str, Callable[[Learner, float], None]] = {
    "printed": lambda own, budget: boosted(own, budget, 20, rate=3, parts=3),
    "cycles": lambda own, budget: boosted(own, budget, 2, rate=6, parts=None),
    "shrunk": lambda own, budget: shrunk(own, budget, 2, 0.3, first=0.0),
    "tables": lambda own, budget: shrunk(own, budget, 0, 0.9),
    "tables, 1": lambda own, budget: shrunk(own, budget, 1, 0.6),
}


def runs(name: str, epsilons: Sequence[float], many: int, chosen: Sequence[str], delta: float) -> pd.DataFrame:
    """Accuracies, a row for each epsilon and run and a column for each method."""
    data = utility.load(name, utility.CACHE)
    schema, target, learned = data.schema, data.schema.index(data.target or ""), len(data.train)
    frame = pd.concat([data.train, data.test], ignore_index=True)
    codes, sizes = schema.encode(frame).astype(np.intp), [*schema.sizes]
    classes, currency = sizes.pop(target), Currency.of(delta)
    x, y = np.delete(codes, target, axis=1), codes[:, target]
    found = []
    for run in range(many):
        order = np.random.default_rng(run).permutation(len(frame))
        train, test = order[:learned], order[learned:]
        rows = {"table": name, "majority": (y[test] == np.bincount(y[train]).argmax()).mean()}
        for epsilon in epsilons:
            forest = DiffPRFs(epsilon=epsilon, random_state=run).fit(frame.iloc[train], schema=schema)
            one = rows | {"epsilon": epsilon, "DiffPRFs": forest.score(frame.iloc[test])}
            method = DPEBM(epsilon=epsilon, delta=delta, random_state=run).fit(frame.iloc[train], schema=schema)
            one["DP-EBM"] = method.score(frame.iloc[test])
            for variant in chosen:
                own = Learner(x[train], y[train], sizes, classes, currency, np.random.default_rng(1_000 + run))
                VARIANTS[variant](own, float(currency.amount(epsilon)))
                one[variant] = (own.predict(x[test]) == y[test]).mean()
            found.append(one)
    return pd.DataFrame(found)


def summary(found: pd.DataFrame, chosen: Sequence[str]) -> str:
    """Mean accuracies as a Markdown table; of variants how far they are from DiffPRFs, and its standard error."""
    names = ["majority", "DiffPRFs", "DP-EBM", *chosen]
    lines = ["| table | epsilon | " + " | ".join(names) + " |", "|---" * (2 + len(names)) + "|"]
    for (table, epsilon), part in found.groupby(["table", "epsilon"], sort=False):
        cells = [f"{part[name].mean():.3f}" for name in names[:2]]
        for name in names[2:]:
            ahead = part[name] - part["DiffPRFs"]
            cells.append(f"{ahead.mean():+.4f} ({ahead.std(ddof=1) / np.sqrt(len(ahead)):.4f})")
        lines.append(f"| {table} | {epsilon:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=["tuning"], help="tuning, held-out, or names")
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0, 3.0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--delta", type=float, default=0.0)
    chosen = parser.parse_args()
    halves = {"tuning": utility.TUNING, "held-out": utility.HELD_OUT}
    named = [name for given in chosen.tables for name in halves.get(given, (given,))]
    classed = [name for name in named if name not in utility.EXAMPLES or utility.EXAMPLES[name].target]
    given = chosen.epsilons, chosen.runs, chosen.variants, chosen.delta
    print(summary(pd.concat([runs(name, *given) for name in classed]), chosen.variants))


if __name__ == "__main__":
    main()

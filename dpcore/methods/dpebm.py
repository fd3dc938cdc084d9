r"""DP-EBM: a classifier whose scores are sums over columns, found by boosting (Nori et al. 2021), with shrunk steps.

Idea      A class's score is a start and one number for each column's value. Tables of the class and a column give the
          first numbers; then, column by column, what the model still lacks is asked for and added.

Steps, corrected (the only mode: the published mechanism is sound; d is the number of columns without the class)
  1  Counts of classes, for a tenth: the start.                                                               counts
  2  A class x value table of every column, with equal noise, for .9 without a cycle, otherwise for .6.       counts
  3  Each column's numbers: .35 of a Newton step, shrunk (below).                                    post-processing
  4  In each cycle, column by column, the strongest first: sums by value of what rows lack, 1 - p for their own class
     and -p for others, p as the model so far has it. Half of a Newton step, shrunk, is added.             residuals
     Columns that told nothing in step 3 are left out; if all did, none is. The rest of the budget in equal parts.
  Shrunk: a column's true steps are taken for independent normal ones of a variance that is the likeliest of a few given
  the noise, or 0 where it gains less than 3 in log-likelihood. Steps come to whole 256ths.
  Cycles, where nobody says: one if n / b is 400 or more and none below, b = d / epsilon (with a delta,
  the root of d / 2 rho), under either relation.

Privacy
  Public    the schema and its bins; n under replace, otherwise `max_rows` or 10,000, for the number of cycles only.
  1, 2      one table has L1 sensitivity 1 (add_remove) or 2 (replace); sequential.
  4         what one row lacks follows from its own values and the released model, in whole numbers on a public grid;
            it is in one sum by value. Of two classes one is told, and sums move by 1; of more, by 2 in L1 and by the
            root of 2 in L2 (`door.residuals`); twice that under replace. Sequential.
  Sum       all shares: epsilon, or with a delta rho.

As published, and not
  The paper buys bins of columns and counts of values, takes many cycles (300) of small steps at random divisions of a
  column in three, and counts with a delta. In pure epsilon that is worse than DiffPRFs on all six tables that were
  held out from choosing constants; this is better on one of them, of 57 columns. Where columns act together, trees are
  far better (docs/decisions/0026).

Reference  Nori, Caruana, Bu, Shen and Kulkarni: Accuracy, interpretability, and differential privacy via explainable
boosting, ICML 2021.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpcore.accounting.currency import Amount
from dpcore.arguments import Floats, Ints, Progress
from dpcore.door import PrivateTable, residuals
from dpcore.language import phrase, say
from dpcore.methods.base import PrivateClassifier, with_delta
from dpcore.methods.offers import Offer
from dpcore.methods.parameters import Control, learned, whole
from dpcore.postprocess.additive import STEPS, Additive

START, FIRST, ALONE = Fraction(1, 10), Fraction(6, 10), Fraction(9, 10)
PART, HALF, LARGEST = 0.35, 0.5, 2.0
WIDTHS = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0)  # of a column's steps
GAIN = 3.0
WORTH = 400.0  # rows per scale of noise
USUAL_ROWS = 10_000
LEAST, MOST = 1e-9, 1e30  # variances
CYCLES = phrase("Cycles of boosting")
MEASURED = phrase("Measuring columns")


class DPEBM(PrivateClassifier):
    """Boosted scores of columns. See the module for steps and privacy."""

    title = "DP-EBM"
    by = phrase("Nori et al. 2021")
    paper, page, artifacts, predictor = "", "forests", ("scores",), "scores"
    modes = ("corrected",)
    good_for = "predicting a class from many columns that each tell a little"
    offers = (Offer("DP-EBM: boosted scores of columns"),)
    variants = ({}, {"cycles": 2}, {"delta": 1e-9, "cycles": 1})
    controls: ClassVar[tuple[Control, ...]] = (Control("cycles", CYCLES, within=(0, 100)),)
    delta: float = with_delta()
    cycles: int | None = whole(
        default=None, least=0, most=100, optional=True, about="How often every column is asked. By default 0 or 1."
    )
    scores_: Additive = learned("Additive", "The released scores.")
    cycles_: int = learned("int", "How many cycles there were.")

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema, target, budget = table.schema, self._target(table.schema, self.target), self._budget(table)
        names = [name for name in schema.names if name != target]
        cycles = self.cycles_ = self._rule(table, budget, len(names)) if self.cycles is None else self.cycles
        own = START * budget if names else budget
        (counts,) = table.counts([[target]], epsilon=own)
        counts = np.maximum(counts, 1.0)
        prior = counts / counts.sum()
        model = Additive(schema, target, steps(np.log(prior) - np.log(prior[0])), {})
        if not names:
            self.scores_, self.cycles_ = model, 0
            return
        progress(0.1, MEASURED)
        first = (FIRST if cycles else ALONE) * budget
        tables = table.counts([[name, target] for name in names], epsilon=first)
        noise = min(table.cell_variance(first / len(names)), MOST)
        classes = len(prior)
        one = int(classes == 2)  # of two classes only the second: its sums are less those of the first
        found, slopes, told = {}, {}, {}
        for name, each in zip(names, tables, strict=True):
            slopes[name] = slope(each, noise, float(counts.sum()), prior)[:, one:]
            lack = (each - each.sum(axis=1, keepdims=True) * prior)[:, one:]
            step = likely(lack, slopes[name], noise * ((1 - prior) ** 2 + (classes - 1) * prior**2)[one:])
            told[name] = float((slopes[name] * step**2).sum())
            found[name] = steps(PART * every(step, classes))
        model = Additive(schema, target, model.start, found)
        order = sorted((name for name in names if told[name] > 0), key=lambda name: -told[name]) or names
        share = (budget - own - first) / max(cycles * len(order), 1)
        noise = min(residuals.variance(share, classes, table.relation, table.ledger.currency), MOST)
        for done in range(cycles * len(order)):
            progress(0.3 + 0.7 * done / (cycles * len(order)), say(CYCLES))
            name = order[done % len(order)]
            lack = table.residuals(model, name, epsilon=share)
            moved = model.scores[name] + steps(HALF * every(likely(lack, slopes[name], noise), classes))
            model = Additive(schema, target, model.start, {**model.scores, name: moved})
        self.scores_ = model

    def _rule(self, table: PrivateTable, budget: Amount, columns: int) -> int:
        """See "Cycles" above."""
        scale = table.ledger.currency.scale(budget / max(columns, 1), 1.0)
        return int((table.public_rows or USUAL_ROWS) / scale >= WORTH)


def slope(table: Floats, noise: float, rows: float, prior: Floats) -> Floats:
    """How much sums by value move with scores, shape (size, classes), from a noisy table of a column and the class.

    Counts of values are moved to even ones as far as noise alone would make them uneven: a value that got much noise
    would otherwise be both frequent and of one class.
    """
    values = table.sum(axis=1)
    spread = float(values.var())
    kept = max(0.0, 1 - len(prior) * noise / spread) if spread > 0 else 0.0
    counts = np.maximum(values.mean() + kept * (values - values.mean()), 0.0) + LEAST
    moved: Floats = (counts * rows / counts.sum())[:, None] * (prior * (1 - prior))
    return moved


def likely(sums: Floats, moved: Floats, variance: Floats | float) -> Floats:
    """The expected steps u where sums are moved u and noise, and u is N(0, a^2) with the likeliest a."""
    step, variance = np.zeros_like(sums), np.maximum(variance, LEAST)
    best = -0.5 * (sums**2 / variance + np.log(variance)).sum() + GAIN
    for a in WIDTHS:
        total = (moved * a) ** 2 + variance
        found = -0.5 * (sums**2 / total + np.log(total)).sum()
        if found > best:
            best, step = found, a * a * moved * sums / total
    return np.clip(step, -LARGEST / HALF, LARGEST / HALF)


def every(step: Floats, classes: int) -> Floats:
    """Steps of all classes, from those of the second of two, or of all."""
    return np.hstack([np.zeros_like(step), step]) if classes == 2 else step


def steps(numbers: Floats) -> Ints:
    """Whole multiples of 1 / `STEPS`."""
    return np.rint(numbers * STEPS).astype(np.int64)

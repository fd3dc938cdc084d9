"""Answers to plain statistics beside the real values, and differences of groups by epsilon."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpcore.accounting.privacy_measure import PrivacyMeasure
from dpcore.charts.answers import answer_labels
from dpcore.datasets import Dataset
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.language import say
from dpcore.methods.statistics import PlainStatistics
from dpcore.text import number

NO_NOISE = 1e9  # an epsilon with noise far below one row
ANSWERS = {"mean": 2, "share": 2, "difference": 1}  # of a difference, by the kind of statistic


def answers_with_real(answers: pd.DataFrame, method: PlainStatistics, data: Dataset) -> Statistics:
    """Return answers with the real value of each, by a fit almost without noise.

    Parameters
    ----------
    answers : DataFrame
        The released answers (`PlainStatistics.answers`).
    method : PlainStatistics
        The method, unfitted, with the release's parameters.
    data : Dataset
        The real rows.

    Returns
    -------
    Statistics
        The answers, with `value` as `estimate` and a column `real_value`. It is NaN in a group
        without rows, and for quantiles: a quantile of the real rows is a number of one row.
    """
    how = {"epsilon": NO_NOISE, "noise": "laplace"}
    fitted = method.set_params(**how).fit(data.train, schema=data.schema)
    quantile = answers["statistic"].str.startswith("quantiles ")
    real = np.where(quantile, np.nan, fitted.answers()["value"])
    named = answers.drop(columns="too_few").rename(columns={"value": "estimate"})
    return statistics(named.assign(real_value=real))


class Difference(NamedTuple):
    """A released difference between two groups, with half the widths of its intervals.

    `lines` are the indices of its answers: one that is a difference, or two of which it is taken.
    `epsilon` and `delta` are those of the release.
    """

    lines: list[Any]
    unit: str
    value: float
    noise: float
    sampling: float
    epsilon: float
    delta: float

    def half_widths(self, epsilon: float) -> tuple[float, float]:
        """Return half the widths of the intervals of noise, and of both errors, at an epsilon."""
        loss_of = PrivacyMeasure.from_delta(self.delta).loss_of
        times = float(loss_of(self.epsilon) / loss_of(epsilon))
        noise = self.noise * math.pow(times, 0.5 if self.delta else 1.0)
        return noise, math.hypot(noise, self.sampling)

    def stands_out(self, epsilon: float) -> bool:
        """Return whether the interval of both errors leaves out 0 at an epsilon."""
        return abs(self.value) > self.half_widths(epsilon)[1]

    def at_epsilons(self, epsilons: Iterable[float], real: Statistics | None = None) -> Statistics:
        """Return the difference with its intervals at some epsilons, for `charts.answers`.

        Parameters
        ----------
        epsilons : iterable of float
            The epsilons. One that occurs twice has one row.
        real : Statistics, optional
            The answers with real values, of which the real difference is taken.

        Returns
        -------
        Statistics
            One row per epsilon.
        """
        at = [*dict.fromkeys(epsilons)]
        group = [say("epsilon {epsilon}", epsilon=number(epsilon)) for epsilon in at]
        frame = pd.DataFrame({"group": group, "of": "", "unit": self.unit, "estimate": self.value})
        for name, half in zip(("noise_", ""), zip(*map(self.half_widths, at), strict=True), strict=True):
            frame[f"{name}low"], frame[f"{name}high"] = self.value - np.array(half), self.value + np.array(half)
        if real is not None:
            values = real.loc[self.lines, "real_value"]
            frame["real_value"] = values.iloc[0] - values.iloc[1:].sum()
        return statistics(frame)


def differences(answers: pd.DataFrame, epsilon: float, delta: float = 0.0) -> dict[str, Difference]:
    """Return the differences in a table of answers: those of two means, and between two groups.

    Parameters
    ----------
    answers : DataFrame
        The released answers (`PlainStatistics.answers`).
    epsilon, delta : float
        Those of the release.

    Returns
    -------
    dict of str to Difference
        The differences by name.
    """
    found = {}
    for name, frame in answers.groupby("statistic", sort=False):
        if len(frame) == ANSWERS.get(str(name).split()[0]) and not frame["too_few"].any():
            value = frame["value"].iloc[0] - frame["value"].iloc[1:].sum()
            title = f"{name}: {' − '.join(answer_labels(frame))}" if len(frame) > 1 else str(name)
            noise, sampling = (
                math.hypot(*(frame[f"{error}_high"] - frame[f"{error}_low"]) / 2)
                for error in ("noise", "sampling")
            )  # fmt: skip
            of = [*frame.index], frame["unit"].iloc[0]
            found[title] = Difference(*of, value, noise, sampling, epsilon, delta)
    return found

"""Epsilon: claimed, proved, where it went, and what it means."""

import math
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from dpcore.charts.base import (
    CLAIMED,
    MOST_ENTRIES,
    NEUTRAL,
    NO_TIP,
    REAL,
    RELEASED,
    Chart,
    as_listed,
    color_and_shape,
    diamonds,
    fold,
    largest,
    present,
    texts,
    tooltips,
)
from dpcore.text import number


def epsilon_split(frame: pd.DataFrame) -> Chart:
    """Where epsilon went: what the ledger books per entry name.

    `frame`: one row per ledger entry: `name`; `epsilon_claimed`, `epsilon_of_noise` (0..inf); `void`: whether the
    latter is no bound. Entries of one name are summed; the 20 largest names are drawn, the rest summed.
    """
    columns = ["epsilon_claimed", "epsilon_of_noise"]
    paid = "what the noise alone costs" if frame["void"].any() else "provable bound"
    data = pd.DataFrame({"name": texts(frame["name"])} | {name: frame[name].to_numpy(float) for name in columns})
    data = data.fillna(math.inf).groupby("name", sort=False).sum().reset_index()
    data = data.sort_values(columns[::-1], ascending=False, kind="stable").reset_index(drop=True)
    data = fold(data, "name", -data.index.to_series(), MOST_ENTRIES)
    edge = 1.15 * largest(data[columns].replace(math.inf, np.nan).to_numpy().ravel(), 1e-3)

    data["claims"] = data["epsilon_claimed"] < math.inf
    base = alt.Chart(_to_the_edge(data, columns, edge)).encode(
        alt.X("epsilon_of_noise:Q", title="epsilon", scale=alt.Scale(domain=[0, edge], nice=False)),
        alt.Y("name:N", sort=None, title=None, scale=as_listed(data["name"])),
        tooltip=tooltips("name|entry", "epsilon_claimed_text|claimed", f"epsilon_of_noise_text|{paid}"),
    )
    bound = base.mark_bar(color=RELEASED, height={"band": 0.6})
    claimed = diamonds(base.transform_filter("datum.claims"), CLAIMED).encode(x="epsilon_claimed:Q")
    amount = base.mark_text(align="left", dx=12, fontSize=14, color=NEUTRAL).encode(
        text=alt.Text("epsilon_of_noise_text:N")
    )
    return present(
        bound + claimed + amount,
        "Where did epsilon go?",
        key=f"Bar and number: {paid}." + (" Diamond: claimed." if data["claims"].any() else " None is claimed."),
        seen=f"Epsilon per step of the method, largest first: {paid}, and what the paper claims.",
        height=alt.Step(30),
    )


def claimed_vs_bound(*, claimed: float, bound: float) -> Chart:
    """The epsilon (0..inf) that a paper claims beside the one that can be proved; the log scale gives the odds too."""
    who = ["claimed", "provable bound"]
    positive = [value for value in (claimed, bound) if 0 < value < math.inf]
    first = min(-2, math.floor(math.log10(min(positive, default=1))))
    last = min(300, max(1, math.ceil(math.log10(max(positive, default=1)) + 0.1)))
    low, high = 10.0**first, 10.0**last
    data = _to_the_edge(pd.DataFrame({"who": who, "epsilon": [float(claimed), float(bound)]}), ["epsilon"], high)
    data = data.assign(low=low, epsilon=data["epsilon"].clip(lower=low))
    if math.isinf(claimed):  # which is no claim, and no bar
        data.loc[0, ["epsilon", "epsilon_text"]] = low, "none"

    powers = np.arange(first, last + 1, 1 + (last - first) // 10)
    ticks = [times * 10.0**power for power in powers for times in ((1, 3) if last - first <= 4 else (1,))]
    sure = "datum.value > 6.9 ? '>99.9%' : format(1 / (1 + exp(-datum.value)), '.1~%')"
    axis = alt.Axis(values=[tick for tick in ticks if tick <= high], labelExpr=f"[format(datum.value, '~g'), {sure}]")
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    base = alt.Chart(data).encode(
        alt.X("epsilon:Q", title="epsilon, and how sure someone who was 50:50 can become", scale=scale, axis=axis),
        alt.Y("who:N", sort=None, title=None),
        tooltip=tooltips("who|epsilon", "epsilon_text|value"),
    )
    color = alt.Color("who:N", scale=alt.Scale(domain=who, range=[CLAIMED, RELEASED]), legend=None)
    bars = base.mark_bar(height={"band": 0.6}).encode(color, x2=alt.X2("low"))
    amount = base.mark_text(align="left", dx=8, fontSize=16, fontWeight="bold", color=NEUTRAL)
    return present(
        bars + amount.encode(text=alt.Text("epsilon_text:N")),
        "Epsilon: claimed and proved",
        seen=f"Claimed is epsilon {data['epsilon_text'][0]}; the provable bound is {data['epsilon_text'][1]}.",
        height=alt.Step(52),
    )


def odds_icons(probability: float, *, title: str | None = None) -> Chart:
    """One hundred icons, `probability` (0..1) of them filled; only certainty fills all. Show it at its own width."""
    filled = 100 if probability >= 1 else min(99, math.floor(100 * probability + 0.5))
    place, kinds = np.arange(100), ["filled", "open"]
    data = pd.DataFrame({"x": place % 10, "y": place // 10, "kind": np.where(place < filled, *kinds)})
    icons = alt.Chart(data).encode(alt.X("x:O", axis=None), alt.Y("y:O", axis=None), tooltip=NO_TIP)
    icons = icons.mark_point(strokeWidth=1.5, opacity=1).encode(
        *color_and_shape("kind", kinds, [RELEASED, REAL], ["circle", "square"], legend=None),
        fill=alt.condition("datum.kind == 'filled'", alt.value(RELEASED), alt.value("transparent")),
        size=alt.condition("datum.kind == 'filled'", alt.value(110), alt.value(45)),
    )
    seen = f"{filled} of 100 icons are filled."
    return present(icons, title or f"{filled} in 100", seen=seen, width=alt.Step(16), height=alt.Step(16))


def odds(epsilon: float) -> float:
    """How sure an observer who was 50:50 can become at most: e^epsilon / (1 + e^epsilon).

    >>> round(odds(1.0), 3), odds(float("inf"))
    (0.731, 1.0)
    """
    grown = math.exp(-abs(epsilon))
    return 1 / (1 + grown) if epsilon >= 0 else grown / (1 + grown)


def _to_the_edge(data: pd.DataFrame, columns: Sequence[str], edge: float) -> pd.DataFrame:
    """Epsilons as lengths, the infinite ones up to the edge, and as texts in columns that end in `_text`."""
    texts = {
        f"{name}_text": [number(value) if value < math.inf else "∞ (no guarantee)" for value in data[name]]
        for name in columns
    }
    return data.assign(**{name: data[name].fillna(math.inf).clip(0, edge) for name in columns}, **texts)

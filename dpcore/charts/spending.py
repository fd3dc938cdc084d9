"""What was spent on the same rows, release by release, against a cap."""

from typing import Any

import altair as alt
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import CLAIMED, RELEASED
from dpcore.charts.frames import largest, tidy
from dpcore.charts.marks import captions, ruled, tooltips
from dpcore.charts.scales import scaled, span
from dpcore.language import phrase, say
from dpcore.text import number

FEWEST = 10  # places: one run alone is not all of the picture
MOST = 40  # steps that can be told apart; earlier ones are one


def staircase(frame: pd.DataFrame, *, cap: float | None = None, others: float = 0.0) -> Chart:
    """Draw every run as a step on what was spent before it.

    Parameters
    ----------
    frame : DataFrame
        One row per run, the first one first: `run`, `when` (text) and `epsilon_bound` (>= 0; what
        is not finite is no step).
    cap : float, optional
        A line at what is refused.
    others : float, default=0.0
        What other accounts cost that the cap counts as well.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, ["run", "when"], ["epsilon_bound"]).dropna().reset_index(drop=True)
    if len(data) > MOST:
        early, rest = data.iloc[: len(data) - MOST + 1], data.iloc[len(data) - MOST + 1 :]
        first = early.tail(1).assign(
            run=say("({count:,} earlier runs)", count=len(early)), epsilon_bound=early["epsilon_bound"].sum()
        )
        data = pd.concat([first, rest], ignore_index=True)
    total = others + data["epsilon_bound"].cumsum()
    data = data.assign(step=data.index + 1, before=total - data["epsilon_bound"], after=total, floor=0.0)
    data = data.assign(cost=data["epsilon_bound"].map(number), total=total.map(number))
    edge = 1.12 * largest([*total, cap or 0.0], 1e-3)
    height = scaled(say("epsilon, in all"), span(0, edge), tickCount=6)
    up = alt.Y("after:Q", **height)
    places = [*range(1, max(FEWEST, len(data)) + 1)]
    runs = scaled(say("runs, the earliest first"), alt.Scale(domain=places), labelAngle=0)
    across = alt.X("step:O", **runs)
    tooltip = tooltips("run|run", "when|when", "cost|can cost up to", "total|in all, until then")
    base = alt.Chart(data.drop(columns="epsilon_bound")).encode(across, tooltip=tooltip)
    spent = base.mark_bar(opacity=0.25, color=RELEASED, width={"band": 1}).encode(up, alt.Y2("floor:Q"))
    steps = base.mark_bar(color=RELEASED, width={"band": 1}).encode(up, alt.Y2("before:Q"))
    layers = [spent, steps]
    if len(data) <= MOST // 2:
        layers.append(captions(base.encode(up), "total", dy=-9))
    if cap is not None:
        name, said = {"align": "left", "dy": -8}, say("cap {epsilon}", epsilon=number(cap))
        line = {"color": CLAIMED, "strokeDash": [6, 4], "strokeWidth": 2}
        layers += ruled(alt.Y("at:Q", **height), cap, said, {"x": alt.value(4)}, name, phrase("cap"), **line)
    values: Any = {"count": len(data), "total": number(total.max() if len(total) else 0.0)}
    values |= {"others": number(others), "epsilon": number(cap or 0.0)}
    cases = {"others": others > 0, "alone": others <= 0, "cap": cap is not None}
    return present(layers, "staircase", cases, **values)

"""How far off a run is expected to be, before it."""

import altair as alt
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.colors import RELEASED, SERIES
from dpcore.charts.frames import tidy
from dpcore.charts.marks import keyed, setting_rule, tooltips
from dpcore.charts.scales import distances, epsilons
from dpcore.language import phrase, say

KINDS = {phrase("pairs"): RELEASED, phrase("columns"): SERIES[2]}


def forecast_bands(frame: pd.DataFrame, *, epsilon: float, low: float, high: float) -> Chart:
    """Draw the bands of 90% of what columns and pairs are expected to be off by, against epsilon.

    Parameters
    ----------
    frame : DataFrame
        One row per epsilon and kind: `of` ("columns" or "pairs"), `epsilon`, and as shares `low`,
        `middle`, `high`.
    epsilon : float
        The one that is chosen, where a line stands.
    low, high : float
        The ends of the log axis of epsilon.

    Returns
    -------
    alt.Chart
        The chart.
    """
    data = tidy(frame, [], ["epsilon", "low", "middle", "high"], said=["of"]).dropna()
    for end in ("low", "middle", "high"):
        data[end] = data[end].clip(0, 1)
    across = alt.X("epsilon:Q", **epsilons(say("epsilon"), [low, high]))
    up = distances(say("points off"), 100)
    tooltip = tooltips("of|what", "epsilon|epsilon|~g", "low|off from|.3~p", "high|to|.3~p")
    color = keyed(alt.Color, "of", map(say, KINDS), KINDS.values(), legend=alt.Legend(symbolOpacity=1))
    base = alt.Chart(data).encode(across, color, tooltip=tooltip)
    bands = base.mark_area(opacity=0.3).encode(alt.Y("low:Q", **up), alt.Y2("high:Q"))
    middles = base.mark_line(strokeWidth=3, point=True).encode(alt.Y("middle:Q", **up))
    chosen = setting_rule(across, tooltips("epsilon|chosen"), epsilon=min(max(epsilon, low), high))
    layers = [bands, middles, chosen]
    return present(layers, "forecast_bands", low=low, high=high, epsilon=epsilon)

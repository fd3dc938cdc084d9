"""Answers to plain statistics: estimates with intervals of the noise, and of noise and sampling."""

import math
from typing import Any

import altair as alt
import pandas as pd

from dpcore.charts.base import Chart, present
from dpcore.charts.frames import distinct, short, step, texts, tidy
from dpcore.charts.marks import Plot, XValue, diamonds, one_row, words
from dpcore.charts.scales import INK, NEUTRAL, REAL, RELEASED, SERIES, names_axis, scaled_axis
from dpcore.language import phrase, say

BOTH = SERIES[6]  # color of the interval of noise and sampling
ENDS = ["noise_low", "noise_high", "low", "high"]
TOO_FEW = phrase("too few to tell")
SAID = {phrase("all rows"), phrase("all persons")}
SAID |= {phrase("rows"), phrase("persons"), phrase("share")}  # units
MOST_ANSWERS = 40


def answers(
    frame: pd.DataFrame, *, title: str, dots: pd.DataFrame | None = None, zero: bool = False
) -> Chart:  # fmt: skip
    """Draw the answers of one statistic, each with both intervals; at most 40 of them.

    Parameters
    ----------
    frame : DataFrame
        One row per answer, in the order to draw: `group`, `of`, `unit` (texts); `estimate` (NaN
        where there are too few rows to tell), `noise_low`, `noise_high`, `low`, `high`; optionally
        `real_value`, the real value (NaN if it is not shown).
    title : str
        The statistic.
    dots : DataFrame, optional
        Answers of further runs: `line`, the index of the answer in `frame`, and `value`.
    zero : bool, default=False
        Whether a line at 0 is drawn.

    Returns
    -------
    alt.Chart
        The chart.
    """
    real = ["real_value"] if "real_value" in frame and frame["real_value"].notna().any() else []
    data = tidy(frame, ["unit"], ["estimate", *ENDS, *real]).assign(label=answer_labels(frame))
    data, lines = distinct(data, "label").head(MOST_ANSWERS), list(frame.index[:MOST_ANSWERS])
    unit = str(data["unit"].iloc[0]) if len(data) else ""
    half = float((data["high"] - data["low"]).where(data["estimate"].notna()).median()) / 2
    data["text"] = [format_answer(value, unit, half) for value in data["estimate"]]
    for name in real:
        found = (format_answer(value, unit, half) for value in data[name])
        data["text"] += [say(" · real {value}", value=text) if text else "" for text in found]
    known, few = data.dropna(subset=["estimate", *ENDS]), data[data["estimate"].isna()]

    look: Any = {"format": "~%"} if unit == "share" else {}
    axis = scaled_axis(alt.Scale(zero=False, padding=60), tickCount=6, **look)
    axis["title"] = say(unit) if unit in SAID else unit
    plot = Plot("answers", axis, names_axis(data["label"]))
    tooltip = plot.tooltip_of(data)

    def interval(name: str, **look: Any) -> Any:
        """Draw an interval of each answer, between two columns that end alike."""
        return plot(known, (f"{name}low", f"{name}high"), "label", tooltip).mark_rule(**look)

    rule: Any = {"color": NEUTRAL, "strokeDash": [4, 4]}
    layers = [plot(one_row(zero=0.0), "zero", None).mark_rule(**rule)] if zero else []
    layers.append(interval("", color=BOTH, strokeWidth=5))
    layers.append(interval("noise_", color=RELEASED, strokeWidth=20))
    for name in real:
        tick: Any = {"color": REAL, "thickness": 5, "height": 32, "opacity": 1}
        layers.append(plot(data.dropna(subset=[name]), name, "label", tooltip).mark_tick(**tick))
    layers += [
        diamonds(plot(known, "estimate", "label", tooltip), INK),
        words(plot(known, "estimate", "label"), "text", dy=-24),
        words(plot(few.assign(words=say(TOO_FEW)), XValue(8), "label"), "words", align="left"),
    ]
    if dots is not None:
        of = dict(zip(lines, data["label"], strict=True))
        drawn = tidy(dots, [], ["value"]).assign(label=dots["line"].map(of).to_numpy()).dropna()
        dot: Any = {"color": RELEASED, "size": 50, "opacity": 0.5, "yOffset": 18}
        layers.append(plot(drawn, "value", "label").mark_circle(**dot))
    cases = {"real": bool(real), "dots": dots is not None, "few": len(few)}
    cases["some"] = len(frame) > MOST_ANSWERS
    pairs = zip(data["label"], data["text"], strict=True)
    about: Any = {"values": "; ".join(f"{label} {text or say(TOO_FEW)}" for label, text in pairs)}
    about |= {"kept": len(data), "count": len(frame), "title": short(title, 200)}
    about["height"] = step(data["label"], 60)
    about["autosize"] = alt.AutoSizeParams(type="fit-x", contains="padding")
    return present(layers, "answers", cases, **about)


def answer_labels(frame: pd.DataFrame) -> list[str]:
    """Return a label per answer: its group and value, without what all answers share."""
    parts = [name for name in ("group", "of") if frame[name].nunique() > 1] or ["group"]
    columns = [texts(frame[name]).map(lambda text: say(text) if text in SAID else text) for name in parts]
    return [" · ".join(cells) for cells in zip(*columns, strict=True)]


def format_answer(value: float, unit: str, half: float) -> str:
    """Return an answer with as many digits as half the width of its interval allows; "" if NaN."""
    if value != value:
        return ""
    scale, sign = (100, "%") if unit == "share" else (1, "")
    exponent = math.floor(math.log10(scale * half)) if 0 < half < math.inf else 0
    return f"{scale * value:,.{min(max(1 - exponent, 0), 6)}f}{sign}".replace("-", "−")

"""Many answers: averages that close in, losses that add up, tables that are split, and numbers with holes."""

from typing import Any

import altair as alt
import pandas as pd

from dpcore.charts.base import (
    CLAIMED,
    INK,
    NEUTRAL,
    NO_TIP,
    REAL,
    RELEASED,
    SERIES,
    Chart,
    in_order,
    largest,
    present,
    tidy,
    tooltips,
)
from dpcore.charts.responses import nearer
from dpcore.text import number

WAYS = {
    "each": ("epsilon for each: k times epsilon in all", CLAIMED, [1, 0]),
    "shared": ("epsilon shared by k answers: epsilon in all", SERIES[3], [7, 4]),
    "once": ("one answer with all of epsilon", RELEASED, [2, 3]),
}
BOTH = {True: ("possible in both worlds", RELEASED), False: ("possible in this world only", CLAIMED)}
WORLDS = {"without": "without you", "with": "with you"}


def running_average(frame: pd.DataFrame, *, truth: float) -> Chart:
    """Noisy answers to one question, their average so far, and where that is expected.

    `frame`: one row per answer: `answers` (so far), `answer`, `average`, `deviation` (the average's).
    """
    data = tidy(frame, [], ["answers", "answer", "average", "deviation"]).dropna()
    data = data.assign(low=truth - 2 * data["deviation"], high=truth + 2 * data["deviation"])
    most = max(len(data), 2)
    across = alt.X("answers:Q", title="answers so far", scale=alt.Scale(domain=[1, most], nice=False, padding=8))
    across = across.axis(tickMinStep=1, format="d", grid=False)
    scale = alt.Scale(zero=False, nice=True)
    base = alt.Chart(data).encode(across)
    ribbon = base.mark_area(color=REAL, opacity=0.3).encode(
        alt.Y("low:Q", title="count", scale=scale), alt.Y2("high:Q"), tooltip=NO_TIP
    )
    tips = tooltips("answers|answer number|,.0f", "answer|this answer|.2f", "average|average so far|.2f")
    dots = base.mark_point(filled=True, size=70, color=RELEASED, opacity=0.85).encode(alt.Y("answer:Q"), tooltip=tips)
    line = base.mark_line(color=INK, strokeWidth=3.5).encode(alt.Y("average:Q"), tooltip=tips)
    rule = alt.Chart(pd.DataFrame({"truth": [truth]})).mark_rule(color=REAL, strokeWidth=2, strokeDash=[5, 4])
    rule = rule.encode(alt.Y("truth:Q"), tooltip=tooltips("truth|truth|,.0f"))
    last = [f"{value:.1f}" for value in data["average"].tail(1)]
    return nearer(
        present(
            alt.layer(ribbon, rule, dots, line),
            "The average closes in on the truth",
            key="Dots: noisy answers. Line: their average so far. Grey: two standard deviations around the truth.",
            seen=f"{len(data)} noisy answers and their average, which ends at {''.join(last)}; the truth is {truth:g}.",
            height=380,
        ),
        4,
    )


def average_errors(frame: pd.DataFrame, *, at: int) -> Chart:
    """The typical error of averages of 1, 2, … answers, with epsilon for each, epsilon shared, and one answer.

    `frame`: one row per number of answers: `answers`, `each`, `shared`, `once`. `at`: where a rule stands.
    """
    data = tidy(frame, [], ["answers", *WAYS]).dropna()
    long = data.rename(columns={name: label for name, (label, *_) in WAYS.items()})
    labels = [label for label, *_ in WAYS.values()]
    long = long.melt(["answers"], labels, var_name="way", value_name="error")
    legend = alt.Legend(symbolType="stroke", symbolSize=1000, columns=1, labelFontSize=15, labelLimit=300)
    color = alt.Scale(domain=labels, range=[color for _, color, _ in WAYS.values()])
    dash: Any = alt.Scale(domain=labels, range=[dash for *_, dash in WAYS.values()])
    across = alt.X("answers:Q", title="answers", scale=alt.Scale(domain=[1, max(len(data), 2)], nice=False))
    across = across.axis(tickMinStep=1, format="d", grid=False)
    axis = alt.Axis(format="~g", tickCount=4)
    up = alt.Y("error:Q", title="standard deviation", scale=alt.Scale(type="log"), axis=axis)
    lines = alt.Chart(long).mark_line(strokeWidth=4)
    lines = lines.encode(
        across,
        up,
        alt.Color("way:N", scale=color, title=None, legend=legend),
        alt.StrokeDash("way:N", scale=dash, title=None, legend=legend),
        tooltip=tooltips("way|how", "answers|answers|,.0f", "error|standard deviation|.3~g"),
    )
    rule = alt.Chart(pd.DataFrame({"answers": [at]})).mark_rule(color=NEUTRAL, strokeWidth=2, strokeDash=[4, 3])
    return nearer(
        present(
            alt.layer(rule.encode(across, tooltip=tooltips("answers|your setting|,.0f")), lines),
            "How far off an average is",
            seen="Typical errors against the number of answers: falling with epsilon for each, rising with epsilon "
            "shared, level for one answer.",
            height=440,
        ),
        4,
    )


def loss_sums(frame: pd.DataFrame, *, worst: float, likely: float, label: str) -> Chart:
    """How the log ratios of several answers add up.

    `frame`: one row per sum: `loss`, `probability`. `worst`: the sum of epsilons. `likely`: an epsilon that is enough
    but for a small delta, with its `label`.
    """
    data = tidy(frame, [], ["loss", "probability"]).dropna()
    step = float(data["loss"].diff().iloc[-1]) if len(data) > 1 else 1.0
    data = data.assign(left=data["loss"] - 0.4 * step, right=data["loss"] + 0.4 * step)
    edge = 1.12 * max(worst + 0.4 * step, likely)
    scale = alt.Scale(domain=[-edge, edge], nice=False)
    across: Any = {"title": "sum of log ratios", "scale": scale, "axis": alt.Axis(grid=False)}
    base = alt.Chart(data).encode(tooltip=tooltips("loss|sum|.3~g", "probability|probability|.3~g"))
    bars = base.mark_rect(color=RELEASED).encode(
        alt.X("left:Q", **across), alt.Y("probability:Q", axis=alt.Axis(tickCount=4)), x2="right", y2=alt.datum(0)
    )
    told = f"epsilon {number(worst)}, the sum"
    marks = pd.DataFrame({"at": [worst, likely], "text": [told, label]})
    rules = alt.Chart(marks).encode(alt.X("at:Q", **across), tooltip=tooltips("text|bound"))
    dash = alt.StrokeDash("text:N", scale=alt.Scale(domain=[told, label], range=[[1, 0], [5, 4]]), legend=None)
    return nearer(
        present(
            alt.layer(bars, rules.mark_rule(color=CLAIMED, strokeWidth=3).encode(dash)),
            "How the losses of all answers add up",
            key=f"Orange line: {told}. Dashed: {label}.",
            seen=f"A distribution of sums of log ratios, which never exceed {worst:.3g}; {label}.",
            height=330,
        ),
        4,
    )


def split_table(frame: pd.DataFrame, *, title: str) -> Chart:
    """A small table that is split into parts, with the parts bright that hang on your row.

    `frame`: one row per cell: `person`, `column`, `part` (what the cell's answer is called), `yours` (whether the
    answer to its part may change with your row).
    """
    data = tidy(frame, ["person", "column", "part"], []).assign(yours=frame["yours"].to_numpy(dtype=bool))
    people, columns, parts = (in_order(data[name]) for name in ("person", "column", "part"))
    touched = in_order(data.loc[data["yours"], "part"])
    data["look"] = data["yours"].map({True: "may change with you", False: "never does"})
    bold: Any = {"condition": {"test": "datum.value == 'You'", "value": "bold"}, "value": "normal"}
    base = alt.Chart(data).encode(
        alt.X("column:N", sort=columns, title=None, axis=alt.Axis(orient="top", labelAngle=0, ticks=False)),
        alt.Y("person:N", sort=people, title=None, axis=alt.Axis(ticks=False, labelFontWeight=bold)),
        tooltip=tooltips("person|row", "column|column", "part|asked in", "look|its answer"),
    )
    shown = alt.Opacity("yours:N", sort=None, scale=alt.Scale(domain=[True, False], range=[0.75, 0.15]), legend=None)
    colors = alt.Scale(domain=parts, range=[SERIES[(2 * place + 1) % len(SERIES)] for place in range(len(parts))])
    cells = base.mark_rect(strokeWidth=1).encode(alt.Color("part:N", scale=colors, legend=None), shown)
    words = base.mark_text(fontSize=14, color=INK).encode(text=alt.Text("part:N"))
    return nearer(
        present(
            alt.layer(cells, words),
            title,
            key=f"Bright: {len(touched)} of {len(parts)} may change.",
            seen=f"A table of {len(people)} rows and {len(columns)} columns in {len(parts)} parts; "
            f"{len(touched)} of them may change with your row.",
            height=alt.Step(34),
        ),
        4,
    )


def possible_numbers(frame: pd.DataFrame, *, title: str) -> Chart:
    """The answers that each of two worlds can give, as ticks. `frame`: `world`, `answer`, `both` (true or false)."""
    data = tidy(frame, ["world"], ["answer"]).assign(both=frame["both"].to_numpy(dtype=bool)).dropna()
    data["world"] = data["world"].map(WORLDS)
    data["which"] = data["both"].map({key: label for key, (label, _) in BOTH.items()})
    labels, colors = [label for label, _ in BOTH.values()], [color for _, color in BOTH.values()]
    legend = alt.Legend(symbolType="square", symbolSize=250, labelFontSize=15, labelLimit=300)
    ticks = alt.Chart(data).mark_tick(thickness=3, bandSize=46, opacity=1)
    across = alt.X("answer:Q", title="answer", scale=alt.Scale(zero=False, nice=False, padding=8))
    shared = int(data["both"].sum())
    chart = ticks.encode(
        across.axis(grid=False, format=".6~g", tickCount=6),
        alt.Y("world:N", sort=[*WORLDS.values()], title=None),
        alt.Color("which:N", scale=alt.Scale(domain=labels, range=colors), title=None, legend=legend),
        tooltip=tooltips("world|world", "answer|answer|.17g", "which|this answer is"),
    )
    seen = f"{len(data)} possible answers as ticks in two rows; {shared} of them are possible in both worlds."
    return nearer(present(chart, title, seen=seen, height=alt.Step(60)), 4)


def telltale(frame: pd.DataFrame) -> Chart:
    """How many answers give their world away, by the true count. `frame`: `count` (as text), `share` (0..1)."""
    data = tidy(frame, ["count"], ["share"]).dropna()
    data["text"] = [f"{share:.2%}" if share else "none" for share in data["share"]]
    top = min(1.15, 1.3 * largest(data["share"], 0.01))
    base = alt.Chart(data).encode(
        alt.X("count:N", sort=in_order(data["count"]), title="true count", axis=alt.Axis(labelAngle=0)),
        alt.Y("share:Q", title="answers", scale=alt.Scale(domain=[0, top], nice=False)).axis(format="~%", tickCount=4),
        tooltip=tooltips("count|true count", "share|give it away|.3~p"),
    )
    bars = base.mark_bar(color=CLAIMED, width={"band": 0.6})
    words = base.mark_text(dy=-10, fontSize=15, fontWeight="bold", color=INK)
    words = words.encode(text=alt.Text("text:N"), tooltip=NO_TIP)
    said = ", ".join(f"{count}: {share:.2%}" for count, share in zip(data["count"], data["share"], strict=True))
    return nearer(
        present(
            alt.layer(bars, words),
            "Answers that give their world away, with full numbers",
            seen=f"Share of answers that are impossible in the other world, by true count: {said}.",
            height=320,
        ),
        4,
    )

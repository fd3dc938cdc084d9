"""Shares of columns and pairs, real and released."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from dpcore.charts.base import (
    MOST_NAMED,
    MOST_NUMBERED,
    MOST_VALUES,
    NEUTRAL,
    REAL,
    RELEASED,
    Chart,
    as_listed,
    diamonds,
    distinct,
    in_order,
    largest,
    present,
    short,
    texts,
    tidy,
    tooltips,
)


def marginal(frame: pd.DataFrame, *, column: str, released_name: str = "released") -> Chart:
    """One column's shares, real and released, with the noise floor.

    `frame`: one row per value, in the order to draw: `value`; `real`, `released` (shares, 0..1); `floor_low`,
    `floor_high` (the share's 2.5 % and 97.5 % points in same-size resamples of the real data). The 40 largest values
    are drawn, the rest told in words.
    """
    data = distinct(tidy(frame, ["value"], ["real", "released", "floor_low", "floor_high"]), "value")
    kept = data.index.isin(data[["real", "released"]].max(axis=1).nlargest(MOST_VALUES).index)
    others, data = data.loc[~kept, ["real", "released"]].sum(), data[kept]  # as a bar they would dwarf the rest
    capped = f" (top {MOST_VALUES} of {len(kept):,} values)" if len(kept) > len(data) else ""
    rest = f" Others together: {others['real']:.1%} real, {others['released']:.1%} released." if capped else ""
    upright = len(data) <= 12 and data["value"].str.len().sum() <= 72
    along, share, share_end = (alt.X, alt.Y, alt.Y2) if upright else (alt.Y, alt.X, alt.X2)

    floor_tips = ["floor_low|noise floor from|.2%", "floor_high|to|.2%"]
    base = alt.Chart(data).encode(
        along("value:N", sort=None, title=None, axis=alt.Axis(labelAngle=0), scale=as_listed(data["value"])),
        tooltip=tooltips("value|value", "real|real|.2%", "released|released|.2%", *floor_tips),
    )
    axis = alt.Axis(format="~%", tickCount=6)
    real = base.mark_bar(color=REAL, opacity=0.5).encode(share("real:Q", title="share of records", axis=axis))
    floor = base.mark_rule(color=NEUTRAL, strokeWidth=5).encode(share("floor_low:Q"), share_end("floor_high"))
    released = diamonds(base, RELEASED).encode(share("released:Q"))
    return present(
        real + floor + released,
        f"{short(column)}: real and released shares{capped}",
        key=f"Bar: real. Diamond: {short(released_name)}. Line: 95% of same-size resamples of the real data.{rest}",
        seen=f"Shares of the values of {short(column)}, real and released, with the noise floor.",
        height=420 if upright else alt.Step(26),
    )


def worst_columns(frame: pd.DataFrame, *, top: int = 20) -> Chart:
    """The `top` columns, or sets of columns, that the release gets most wrong.

    `frame`: `attributes` (text such as "age" or "age × income"); `avd`, `floor` (average variation distance, 0..1, of
    the release and of a same-size resample of the real data).
    """
    data = tidy(frame, ["attributes"], ["avd", "floor"]).sort_values("avd", ascending=False, kind="stable")
    capped = f" (worst {top} of {len(data):,})" if len(data) > top else ""
    data = distinct(data.head(top), "attributes")

    base = alt.Chart(data).encode(
        alt.Y("attributes:N", sort=None, title=None, scale=as_listed(data["attributes"])),
        tooltip=tooltips("attributes|columns", "avd|AVD|.3f", "floor|noise floor|.3f"),
    )
    distance = alt.X("avd:Q", title="average variation distance (0 = the same)", axis=alt.Axis(tickCount=8))
    release = base.mark_bar(color=RELEASED, opacity=0.65, height={"band": 0.55}).encode(distance)
    floor = base.mark_tick(color=NEUTRAL, thickness=4, height={"band": 0.95}).encode(x="floor:Q")
    return present(
        release + floor,
        f"Where the release is furthest from the real data{capped}",
        key="Bar: release. Upright line: noise floor, a same-size resample of the real data.",
        seen="Distance from the real data per set of columns, largest first, beside the noise floor.",
        height=alt.Step(28),
    )


def pair_heatmap(frame: pd.DataFrame) -> Chart:
    """How well each pair of columns survives, as a symmetric matrix.

    `frame`: one row per unordered pair: `a`, `b` (columns); `avd`, `floor` (average variation distance, 0..1, of the
    release and of a same-size resample). The scale ends at 0.1 or above, so that mere noise does not look alarming.
    """
    pairs = tidy(frame, ["a", "b"], ["avd", "floor"]).dropna(subset=["avd"])
    names = in_order([*pairs["a"], *pairs["b"]])
    mirrored = pairs[pairs["a"] != pairs["b"]].rename(columns={"a": "b", "b": "a"})
    cells = pd.concat([pairs, mirrored], ignore_index=True).rename(columns={"a": "x", "b": "y", "avd": "shade"})
    tips = tooltips("x|column", "y|and", "shade|AVD|.3f", "floor|noise floor|.3f")
    return present(
        _heat(cells, tips, names, names, title="AVD", number=".2f", least=0.1, room=MOST_NUMBERED),
        "How far each pair of columns is from the real data",
        key="Average variation distance (AVD): 0 = the same, 1 = nothing in common.",
        seen=f"Matrix of the distance between release and real data for each pair of {len(names)} columns.",
    )


def affinity(frame: pd.DataFrame, clusters: Mapping[Any, object] | pd.DataFrame) -> Chart:
    """The noisy score of each pair of columns, or bits, as a symmetric matrix in the order of clusters.

    `frame`: one row per unordered pair: `a`, `b` (texts), `score` (noisy: it may be negative, which is drawn as 0, and
    above what a score can be, which is drawn as it is). `clusters`: from each text to its cluster, as a mapping or as
    a frame of `column` and `cluster`; a gap parts one cluster from the next. Up to 60 columns are named.
    """
    if isinstance(clusters, pd.DataFrame):
        clusters = dict(zip(clusters["column"], clusters["cluster"], strict=True))
    cluster = dict(zip(texts(clusters), texts(clusters.values()), strict=True))
    pairs = tidy(frame, ["a", "b"], ["score"]).dropna()
    for name in [*pairs["a"], *pairs["b"]]:
        cluster.setdefault(name, "(none)")
    mirrored = pairs[pairs["a"] != pairs["b"]].rename(columns={"a": "b", "b": "a"})
    cells = pd.concat([pairs, mirrored], ignore_index=True).rename(columns={"a": "x", "b": "y"})
    groups = in_order(cluster.values())
    order: list[str] = []
    for group in groups:
        gap = ["\u200b" * len(order)] if order else []  # a name that nobody sees
        order += [*gap, *(name for name in cluster if cluster[name] == group)]

    below = int((pairs["score"] < 0).sum())
    cells = cells.assign(shade=cells["score"].clip(lower=0), group=[cluster[name] for name in cells["x"]])
    cells["other"] = [cluster[name] for name in cells["y"]]
    tips = tooltips("x|column", "y|and", "score|noisy score|.4~g", "group|cluster", "other|and cluster")
    clipped = f" {below:,} of {len(pairs):,} are below 0, which only noise can do, and drawn as 0." if below else ""
    title = "noisy score (clipped at 0)" if below else "noisy score"
    look: Any = {"gaps": len(order) - len(cluster), "named": len(cluster) <= MOST_NAMED, "room": MOST_NUMBERED}
    return present(
        _heat(cells, tips, order, order, title=title, number=".2f", least=1e-6, **look),
        "How much each pair of columns says about each other, with noise",
        key=f"Ordered by cluster; gaps part {len(groups):,} clusters.{clipped}" if len(groups) > 1 else clipped.strip(),
        seen=f"Matrix of the noisy scores of the pairs of {len(cluster):,} columns, in {len(groups):,} clusters.",
    )


def pair_tables(frame: pd.DataFrame, *, x: str, y: str, width: int = 240) -> Chart:
    """Two columns' joint shares, real beside released, on one color scale.

    `frame`: one row per cell and source: `x_value`, `y_value`, `source` ("real" or "released"), `share` (0..1). A cell
    that is not in the frame stays blank. The 40 largest values of a column are drawn, the rest summed.
    """
    cells = tidy(frame, ["x_value", "y_value", "source"], ["share"]).dropna()
    cells.columns = pd.Index(["x", "y", "source", "shade"])
    names = []
    for side in ("x", "y"):
        shares = cells.groupby(side, sort=False)["shade"].sum()
        kept = shares.index[shares.index.isin(shares.nlargest(MOST_VALUES).index)]
        rest = [f"({len(shares) - len(kept):,} others)"] if len(shares) > len(kept) else []
        cells[side] = cells[side].where(cells[side].isin(kept), "".join(rest))
        names.append([*kept, *rest])
    cells = cells.groupby(["x", "y", "source"], sort=False)["shade"].sum().reset_index()

    titles = short(x), short(y)
    tips = tooltips("x|across", "y|down", "source|source", "shade|share|.2%")
    heat = _heat(cells, tips, *names, title="share", number=".1%", least=1e-6, room=width // 48, titles=titles)
    header = alt.Header(title=None, labelFontSize=15, labelFontWeight="bold", labelPadding=6)
    return present(
        heat.properties(width=width).facet(column=alt.Column("source:N", sort=["real", "released"], header=header)),
        f"{titles[0]} and {titles[1]} together, real and released",
        seen=f"Two heat maps of the joint shares of {titles[0]} and {titles[1]}: real and released.",
    )


def _heat(
    cells: pd.DataFrame,
    tips: list[alt.Tooltip],
    across: list[str],
    down: list[str],
    *,
    title: str,
    number: str,
    least: float,
    room: int,
    titles: Sequence[str | None] = (None, None),
    gaps: int = 0,
    named: bool = True,
) -> Any:
    """Cells at `x`, `y`, colored by `shade` from 0 to `least` or above, with numbers if at most `room` are across.

    `gaps` of the names on each side stand for nothing; cells that are not `named` are as low as fits.
    """
    highest, many = largest(cells["shade"], least), len(down) - gaps
    few = len(across) - gaps <= MOST_NUMBERED
    below: Any = {"labelAngle": -50, "labelOverlap": False} if few else {"labelAngle": -90, "labelFontSize": 11}
    beside: Any = {"labelOverlap": False}
    if not named:
        below = beside = {"labels": False, "ticks": False, "domain": False}
    height = 30 if many <= MOST_NUMBERED else 17 if named else 800 / many
    base = alt.Chart(cells, height=alt.Step(height)).encode(
        alt.X("x:N", title=titles[0], scale=alt.Scale(domain=across), axis=alt.Axis(**below)),
        alt.Y("y:N", title=titles[1], scale=alt.Scale(domain=down), axis=alt.Axis(**beside)),
        tooltip=tips,
    )
    scale, legend = alt.Scale(scheme="viridis", domain=[0, highest]), alt.Legend(format="~%" if "%" in number else "~g")
    heat = base.mark_rect().encode(alt.Color("shade:Q", title=title, scale=scale, legend=legend))
    if len(across) - gaps > room:
        return alt.layer(heat)
    ink = alt.condition(f"datum.shade > {0.6 * highest}", alt.value("#1c1c1c"), alt.value("#f2f2f2"))
    return heat + base.mark_text(fontSize=13).encode(text=alt.Text("shade:Q", format=number), color=ink)

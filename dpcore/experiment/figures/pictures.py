"""How figures are drawn: by one chart of curves, or as a name in `DRAWS` says.

What draws takes the runs that did not fail, the figure's chart, what the charts call its baselines,
and what is chosen. It gives charts with the tables behind them, and sentences between them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from dpcore import charts, evaluate
from dpcore.accounting.relation import Relation
from dpcore.charts.base import Chart
from dpcore.language import phrase, say
from dpcore.text import claim, limit

WIDE = 350  # pixels; two panels with their axes fill a laptop's page
Drawn = Iterator[str | tuple[Chart, pd.DataFrame | None]]


def curves(
    frame: pd.DataFrame,
    others: Iterable[str] = (),
    view: str = "",
    *,
    panel: str,
    title: str,
    each: bool = False,
    data: pd.DataFrame | None = None,
    caption: str = "",
    **look: Any,
) -> Drawn:
    """Draw a chart of runs, or one for `each` data set, the table behind it, and a caption.

    `frame` has the runs that did not fail, and `others` are its columns of baselines. `view` is the
    only metric to draw, `panel` the column with one panel per value, and `data` the table to show
    instead of the drawn rows. All else is passed to `charts.curves`.
    """
    frame = frame[frame["metric"] == view] if view else frame
    words = {"measure": say(view), "setting": say(look["x_title"])}
    title, look["y_title"] = say(title, **words), say(look["y_title"], **words)
    for name, part in frame.groupby("data", sort=False) if each else [("", frame)]:
        how: dict[str, Any] = {"y": "value", "columns": 2, "width": WIDE}
        how |= {"references": lines(part, panel, others) if others else None, **look}
        text = say("{title}: {data}", title=title, data=name) if each else title
        yield charts.curves(part, panel=panel, title=text, **how), (part if data is None else data)
    if caption:
        yield say(caption)


def lines(frame: pd.DataFrame, panel: str, labels: Iterable[str]) -> pd.DataFrame:
    """Return runs' baselines as lines for a chart: the column of panels, `label` and `value`.

    `panel` is the column with one panel per value; `labels` are the columns of the baselines.
    """
    return frame[[panel, *labels]].drop_duplicates(panel).melt(panel, var_name="label")


def curves_by_depth(frame: pd.DataFrame, others: Iterable[str], view: str, **chart: Any) -> Drawn:
    """Draw curves of accuracy, one panel per split score and one curve per depth of the trees.

    `frame` has the runs, `others` are its columns of baselines, and `view` is the metric to draw.
    """
    parts = frame["series"].str.partition(": depth ")
    chosen = [say("Splits chosen by {score}", score=say(score)) for score in parts[0]]
    depths = [say("tree depth {depth}", depth=depth) for depth in parts[2]]
    return curves(frame.assign(panel=chosen, series=depths), others, view, **chart)


def curves_by_answer(
    frame: pd.DataFrame, others: Any, view: str, axis: str = "x", answers: str = "", **chart: Any
) -> Drawn:
    """Draw curves against a method's parameter, or against the epsilon of one answer.

    `axis` is "x" (the parameter) or "answer" (the epsilon), and `answers` the caption for the
    latter. `frame` has the runs, `others` are its columns of baselines, and `view` is the metric to
    draw.
    """
    if axis == "answer":  # Warner's rule has the same epsilon at p and at 1 - p
        low = frame["series"].str.startswith("DTPD") & (frame["x"] < 0.5)
        frame = frame.assign(series=frame["series"].where(~low, phrase("DTPD, theta below 1/2")))
        chart |= {"x": axis, "x_title": phrase("epsilon of one answer"), "caption": answers}
    return curves(frame, others, view, **chart)


def utility(frame: pd.DataFrame, _: Iterable[str], view: str, views: Any, **chart: Any) -> Drawn:
    """Draw distances and errors of releases, three panels per data set.

    `frame` has the runs; `views` has the metrics of each view, of which `view` is drawn. The paper
    does not say which rows its distances compare.
    """
    frame = frame[frame["metric"].isin(views[view])]
    names = zip(frame["metric"].str.split(" on ").str[0], frame["data"], strict=True)
    frame = frame.assign(panel=[say("{metric} on {data}", metric=say(name), data=data) for name, data in names])
    level = frame["series"].str.startswith("NoPrivacy")
    means = frame[level].groupby("panel", as_index=False)["value"].mean()
    references = means.assign(label=phrase("without privacy"))
    return curves(frame[~level], data=frame, references=references, **chart)


def error_by_range(frame: pd.DataFrame, _: Iterable[str], *, title: str) -> Drawn:
    """Draw a chart of the errors of range queries by the size of the queries, per data set."""
    for name, part in frame.groupby("data", sort=False):
        binned = evaluate.errors_by_query_size(part)
        binned["baseline"] = binned["release"].str.startswith((phrase("leaves only"), "DiffGen"))
        yield charts.error_by_range(binned, title=say(title, name=name)), binned


def accuracies(frame: pd.DataFrame, others: Iterable[str], stated: Any, texts: Mapping[str, str], **look: Any) -> Drawn:
    """Draw mean and variance of accuracy against epsilon, per data set; add the total cost.

    `frame` has the runs, `others` are its columns of baselines, `stated` has the values that the
    paper states for Adult, and `texts` the sentences around the charts.
    """
    look["y_title"] = say(look["y_title"])
    frame = frame.sort_values(["mode", "series", "epsilon", "repeat", "model"])
    names = zip(frame["mode"], frame["series"], strict=True)
    frame = frame.assign(series=[say("{mode} ({method})", mode=say(mode), method=series) for mode, series in names])
    for name, part in frame.groupby("data", sort=False):
        relations = say(" and ").join(say(Relation(relation).short) for relation in sorted(part["relation"].unique()))
        yield say(texts["before"], name=name, rows=part["rows"].iloc[0], relations=relations)
        levels = [lines(part, "model", others), *([pd.DataFrame([stated])] if name == "adult" else [])]
        table = part.drop(columns=["mode", "data", "error"])
        yield charts.sweep(part, references=pd.concat(levels, ignore_index=True), **look), table
        if part.groupby(["series", "epsilon"])["repeat"].nunique().max() > 1:
            yield charts.sweep(part, variance=True, width=look["width"]), None
        runs = part.drop_duplicates(["series", "epsilon", "repeat"])
        sums = runs.groupby("series", sort=False)[["epsilon_claimed", "epsilon_bound"]].sum()
        costs = [
            say(texts["per_method"], series=series, claimed=claim(claimed), most=limit(bound))
            for series, claimed, bound in sums.itertuples()
        ]
        yield say(texts["after"], costs="; ".join(costs))


DRAWS: Mapping[str, Callable[..., Drawn]] = {
    draw.__name__: draw for draw in (curves, curves_by_depth, curves_by_answer, utility, error_by_range, accuracies)
}

"""Results of a comparison on screen: a sentence and a chart per measure, failures, downloads."""

from functools import partial
from math import fsum
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.ledger import EPSILONS
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import panels
from dpcore.dashboard.pages.compare import answers
from dpcore.dashboard.pages.compare.sweep import LOCAL, MODES, measure_name, method_names
from dpcore.dashboard.pages.compare.sweep_runs import Comparison, neighbors
from dpcore.dashboard.run_records import show_failures, translate_table
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown, segmented_choice
from dpcore.evaluate.evaluator import FLOOR, RANGE_ERROR
from dpcore.export import protection
from dpcore.export.rendering import spreadsheet_csv
from dpcore.language import phrase, retold, say
from dpcore.text import claim, number

AXES = {"claimed": phrase("claimed epsilon"), "proved": phrase("proven bound on epsilon")}
EXPLAINED = {
    "accuracy": phrase(
        "Share of real test rows that are predicted right, by the released classifier or one that "
        "learned from the synthetic rows. Higher is better."
    ),
    "balanced accuracy": phrase("Share of each class predicted right, averaged. Higher is better."),
    RANGE_ERROR: phrase("Mean error of 200 random queries on 1 to 3 columns, in shares of all rows. Lower is better."),
}
DISTANCE = phrase(
    "Average error of the shares of value combinations, over all sets of 1, 2 or 3 columns, as the name says: 0 if "
    "equal, 1 if nothing is in common. Papers call it AVD, the average variation distance. Lower is better."
)


def draw_results(page: str, made: Comparison) -> None:
    """Draw a comparison's results so far: answer, download, privacy loss and failed runs."""
    if len(made.frames) < made.n_runs:
        text = phrase(
            "The comparison was stopped: {count:,} of {planned:,} runs have finished. **Run** makes the others. Runs"
            " that had begun stay charged."
        )
        st.warning(say(text, count=len(made.frames), planned=made.n_runs))
    good = made.frame.query("error == ''")
    tabs = {phrase("Answer"): partial(draw_answer, page, made, good)}
    panels.draw_open(page, tabs | {phrase("Download"): partial(draw_downloads, page, made)})
    draw_spending(made, good)
    show_failures(made.frames)


def draw_spending(made: Comparison, good: pd.DataFrame) -> None:
    """Draw the captions on what all runs together claim, and what they can cost at most.

    `made` is the comparison, and `good` the frame of its runs without an error.
    """
    runs = good.drop_duplicates(["method", "epsilon", "repeat"])
    proved = runs[np.isfinite(runs["epsilon_bound"])]
    total, whom = fsum(proved["epsilon_bound"]), say(neighbors(made.config, made.data))
    if person := protection.for_person(made.data.schema.unit, total):
        whom = f"{whom}: {person}"
    message = phrase("Epsilon of {count:,} runs on the same rows: claimed {claimed}, proven at most {bound} ({whom}).")
    values = {"claimed": claim(fsum(proved["epsilon_claimed"])), "bound": number(total), "whom": whom}
    caption(message, count=len(proved), **values)
    if bare := len(runs) - len(proved):
        caption("{count:,} runs without a guarantee: no epsilon covers them.", count=bare)
    if made.void:
        st.error(made.void, icon=":material/gpp_bad:")


def draw_answer(page: str, made: Comparison, good: pd.DataFrame) -> None:
    """Draw one measure of a comparison, as chosen: the sentence that answers it, and the chart.

    `made` is the comparison, and `good` the frame of its runs without an error.
    """
    measures: dict[str, str] = {name: measure_name(name) for name in made.config.measures}
    axis, differ = "claimed", good["epsilon_claimed"] != good["epsilon_bound"]
    with st.container(horizontal=True, key="switches"):
        metric = segmented_choice(say("Quality measure"), f"{page}.measure", measures, label_visibility="collapsed")
        if len(made.config.epsilons) > 1 and not made.void and differ.any():
            axis = segmented_choice(say("Epsilon on the axis"), f"{page}.axis", AXES)
    frame = good[good["metric"] == metric].dropna(subset=["value"])
    if frame.empty:
        st.info(say("No run has a value of this measure."))
        return
    found = made.references[made.references["metric"] == metric]
    floor = max(found["value"][found["reference"] == FLOOR], default=0.0)
    with st.container(key="verdict"):
        st.markdown(f"**{answers.answer_sentence(frame, metric, floor)}**", help=say(EXPLAINED.get(metric, DISTANCE)))
    pairs = zip(found["model"], found["reference"], strict=True)
    labels = [", ".join(map(say, filter(None, pair))) for pair in pairs]
    draw_chart(axis, made, frame, metric, pd.DataFrame({"label": labels, "value": found["value"].to_numpy()}))


def draw_chart(axis: str, made: Comparison, frame: pd.DataFrame, metric: str, references: pd.DataFrame) -> None:
    """Draw the chart of one measure: runs in strips at one epsilon, or curves over epsilon.

    `axis` is "claimed" or "proved": the epsilon on the axis. `frame` has the runs of the measure,
    and `references` the values and labels of the baselines.
    """
    frame, title = frame.assign(relation=neighbors(made.config, made.data)), say(measure_name(metric))
    title = title[:1].upper() + title[1:]
    quantity = "accuracy" if answers.higher_is_better(metric) else "" if metric == RANGE_ERROR else "distance"
    look: dict[str, Any] = {"title": title, "quantity": quantity, "references": references}
    if len(made.config.epsilons) == 1:
        look["title"] = say("{title} at epsilon {epsilon}", title=title, epsilon=number(made.config.epsilons[0]))
        hollow = frame["mode"] == MODES["published"]
        names = frame["series"].map(lambda name: say("{method}, as published", method=name))
        proven = frame["epsilon_bound"].map(lambda bound: say("proven at most {bound}", bound=number(bound)))
        proven = proven.where(np.isfinite(frame["epsilon_bound"]), say("no epsilon proven")).where(hollow, "")
        rows = frame.assign(name=frame["series"].where(~hollow, names), note=proven, hollow=hollow)
        if 0 < frame["series"].isin(LOCAL).mean() < 1:
            caption(
                "Local methods protect each person's answers before collection; other methods need "
                "a curator whom all people trust. Their epsilons are not comparable."
            )
        picture = charts.run_strips(rows, x_title=measure_name(metric), **look)
    else:
        column = "epsilon_bound" if axis == "proved" else "epsilon_claimed"
        without = frame[~np.isfinite(frame[column].to_numpy(dtype=float))]
        if len(without):
            missing = ", ".join(dict.fromkeys(escape(retold(name)) for name in without["method"]))
            message = phrase("Runs without a finite epsilon on this axis are not drawn: {missing}.")
            st.info(say(message, missing=missing), icon=":material/info:")
        if len(without) == len(frame):
            return
        look |= {"y_title": measure_name(metric), "x": axis, "log_y": not quantity, "names": method_names(made.config)}
        picture = charts.comparison_chart(frame, data=made.data.name, local=LOCAL, **look)
    keys = ["epsilon", "method", "relation", "void"]
    runs = frame.replace(np.inf, np.nan).groupby(keys, as_index=False)
    numbers: Any = {"runs": ("value", "count"), phrase("median"): ("value", "median")}
    numbers |= {phrase("lowest"): ("value", "min"), phrase("highest"): ("value", "max")}
    numbers |= {name: (name, "median") for name in (*EPSILONS, "seconds")}
    panels.chart(charts.mark_real(picture), data=translate_table(runs.agg(**numbers)))


def draw_downloads(page: str, made: Comparison) -> None:
    """Draw the downloads: the table of all runs, and the configuration that runs them again."""
    markdown("All runs as a table. **{mark}**: errors were measured on real rows, without noise.", mark=say(REAL_DATA))
    table = spreadsheet_csv(made.frame.drop(columns=["series", "mode"])).encode()
    text, icon = made.config.to_json(made.data).encode(), ":material/download:"
    with st.container(horizontal=True):
        name = "comparison-do-not-publish.csv"
        st.download_button(say("Download runs (CSV)"), table, name, key=f"{page}.csv", icon=icon)
        name = "comparison-config.json"
        st.download_button(say("Configuration of all runs (JSON)"), text, name, key=f"{page}.json", icon=icon)

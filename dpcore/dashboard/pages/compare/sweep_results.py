"""What a comparison gave: a chart per measure, run times, medians, failures, and what is taken away."""

import math
from collections.abc import Callable
from functools import partial
from math import fsum
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.relation import Relation
from dpcore.accounting.tally import EPSILONS
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import panels
from dpcore.dashboard.pages.compare import answers
from dpcore.dashboard.pages.compare.sweep import DISTANCES, LOCAL, MODES, in_words, note_local, series_of
from dpcore.dashboard.pages.compare.sweep_runs import Comparison
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, choice, markdown
from dpcore.domain.unit import PrivacyUnit
from dpcore.evaluate.baselines import FLOOR, REAL
from dpcore.evaluate.evaluator import RANGE_ERROR
from dpcore.evaluate.learners import MAJORITY
from dpcore.export import protection
from dpcore.export.quoting import spreadsheet_csv
from dpcore.language import phrase, retold, say
from dpcore.text import claim, number

Axis = Literal["claimed", "proved"]
AXES: dict[Axis, str] = {"claimed": "claimed", "proved": phrase("proven at most")}
Y_TITLES = {RANGE_ERROR: phrase("mean error, share of all rows")}
EXPLAINED = {
    "accuracy": phrase("Share of real test rows whose class is predicted right. Higher is better."),
    "balanced accuracy": phrase("Share of a class predicted right, mean over classes. Higher is better."),
    RANGE_ERROR: phrase("Mean error of 200 random queries on 1 to 3 columns, in shares. Lower is better."),
}
DISTANCE = phrase(
    "How far shares of values are off, in all sets of that many columns: 0 is equal, 1 has nothing in common. Papers "
    "call it AVD, the average variation distance. Lower is better."
)
SHORT = {
    MAJORITY: phrase("majority class"),
    REAL: phrase("learned from real rows"),
    FLOOR: phrase("fresh sample of the real rows"),
}
# Headings of tables, below which stand names of runs, measures and other words.
WORDS = {phrase("method"), phrase("metric"), phrase("relation"), phrase("void"), phrase("why")}
NUMBERS = (
    phrase("repeat"), phrase("seconds"), phrase("runs"), phrase("epsilons"), phrase("median"), phrase("lowest"),
    phrase("highest"),
)  # fmt: skip


def results(page: str, made: Comparison) -> None:
    """All that a comparison gave so far."""
    frame = made.frame
    if len(made.frames) < made.planned:
        text = phrase(
            "Stopped before it was finished: {count:,} of {planned:,} runs are here. **Go on** runs the others. What "
            "was begun when it was stopped stays charged."
        )
        st.warning(say(text, count=len(made.frames), planned=made.planned))
    good = frame[frame["error"] == ""]
    tabs: dict[str, Callable[[], None]] = {}
    if len(good):
        tabs = {
            phrase("Answer"): partial(answer, page, made, good),
            phrase("Run time"): partial(run_time, made, good),
            phrase("Medians"): partial(tables, good),
        }
    lost = frame[frame["error"] != ""]
    if len(lost):
        tabs[phrase("Failed")] = partial(failures, lost)
    tabs[phrase("Download")] = partial(take_away, page, made)
    panels.draw_open(page, tabs)
    draw_spending(good, made.void, made.data.schema.unit)


def draw_spending(good: pd.DataFrame, void: str, unit: PrivacyUnit | None) -> None:
    """What all runs together claim and can cost, by relation; they never add up across relations."""
    for relation, part in good.drop_duplicates(["method", "epsilon", "repeat"]).groupby("relation"):
        proved = part[np.isfinite(part["epsilon_bound"])]
        total = fsum(proved["epsilon_bound"])
        whom = say(Relation(str(relation)).short_for(protection.protects(unit)))
        if person := protection.for_person(unit, total):
            whom = say("{price}: {person}", price=whom, person=person)
        message = phrase("{count:,} runs of the same rows: claimed {claimed}, proven at most {bound} in all ({whom}).")
        values = {"claimed": claim(fsum(proved["epsilon_claimed"])), "bound": number(total), "whom": whom}
        caption(message, count=len(proved), **values)
        if bare := len(part) - len(proved):
            caption("{count:,} runs without a guarantee: no epsilon covers them.", count=bare)
    if void:
        st.error(void, icon=":material/gpp_bad:")


def answer(page: str, made: Comparison, good: pd.DataFrame) -> None:
    """One measure of all methods that have it: what it says, in a sentence, and a chart."""
    metrics, metric = made.config.measures, made.config.measures[0]
    with st.container(horizontal=True, key="switches"):
        if len(metrics) > 1:
            look: Any = {"default": metric, "required": True, "label_visibility": "collapsed"}
            words = {name: in_words(name) for name in metrics}
            metric = choice(st.segmented_control, say("Measure"), f"{page}.measure", words, **look)
        axis = chosen_axis(page, made, good)
    frame = good[good["metric"] == metric].dropna(subset=["value"])
    if frame.empty:
        st.info(say("No run has this measure."))
        return
    learned = [model for model in frame["model"].unique() if model]
    about = say(EXPLAINED.get(metric, DISTANCE))
    if learned:
        about += " " + say(
            "Synthetic rows: {model} learns from them and predicts real rows. Methods that release a classifier: that "
            "one predicts them.",
            model=escaped(say(learned[0])),
        )
    with st.container(key="verdict"):
        st.markdown(f"**{answers.sentence(frame, metric, floor_of(made, metric))}**", help=about)
    quantity = "accuracy" if answers.rises(metric) else "distance" if metric in DISTANCES else ""
    title, lines = say(in_words(metric)), references(made, metric)
    title = title[:1].upper() + title[1:]
    draw(axis, made, frame, title, Y_TITLES.get(metric, in_words(metric)), lines, quantity=quantity)


def floor_of(made: Comparison, metric: str) -> float:
    """The distance of a fresh sample of the real rows; 0 where it is not known, and of other measures."""
    if (found := made.references) is None:
        return 0.0
    return max(found["value"][(found["metric"] == metric) & (found["reference"] == FLOOR)], default=0.0)


def references(made: Comparison, metric: str) -> pd.DataFrame:
    """Lines of a chart: `label`, `value`."""
    found = made.references
    if found is None:
        return pd.DataFrame({"label": [], "value": []})
    found = found[found["metric"] == metric]
    shown = [say(SHORT.get(reference, reference)) for reference in map(str, found["reference"])]
    names = zip(found["model"], shown, strict=True)
    labels = [say("{model}, {name}", model=say(model), name=name) if model else name for model, name in names]
    return pd.DataFrame({"label": labels, "value": found["value"].to_numpy()})


def run_time(made: Comparison, good: pd.DataFrame) -> None:
    """Seconds of every run."""
    runs = good.drop_duplicates(["method", "epsilon", "repeat"]).assign(value=lambda frame: frame["seconds"])
    caption("Seconds to learn and to draw the release, on this computer with all its cores busy.")
    draw("claimed", made, runs, say("Run time"), phrase("seconds"), None)


def chosen_axis(page: str, made: Comparison, good: pd.DataFrame) -> Axis:
    """The epsilon to compare at; there is a choice where a chart has epsilons, and others are proven than claimed."""
    alike = made.void or (good["epsilon_claimed"] == good["epsilon_bound"]).all()
    if len(made.config.epsilons) < 2 or alike:
        return "claimed"
    how = {"default": "claimed", "required": True}
    axis: Axis = choice(st.segmented_control, say("Epsilon on the axis"), f"{page}.axis", AXES, **how)
    return axis


def draw(
    axis: Axis,
    made: Comparison,
    frame: pd.DataFrame,
    title: str,
    y_title: str,
    lines: pd.DataFrame | None,
    quantity: str = "",
) -> None:
    """One chart: rows of runs at one epsilon, or curves against the epsilon that someone chose to see."""
    columns = ["method", "epsilon", "repeat", "value", *EPSILONS, "void", "relation", "seconds"]
    whom = protection.protects(made.data.schema.unit)
    frame = frame.assign(relation=[Relation(name).short_for(whom) for name in frame["relation"]])
    look: dict[str, Any] = {"title": title, "quantity": quantity, "references": lines}
    if len(made.config.epsilons) == 1:
        heading = say("{title} at epsilon {epsilon}", title=title, epsilon=number(made.config.epsilons[0]))
        hollow = frame["mode"] == MODES["published"]
        published = [say("{method}, as published", method=name) for name in frame["series"]]
        bounds = [
            say("proven at most {bound}", bound=number(bound)) if math.isfinite(bound) else say("nothing proven")
            for bound in frame["epsilon_bound"]
        ]
        rows = frame.assign(name=frame["series"].where(~hollow, published), hollow=hollow)
        rows = rows.assign(note=pd.Series(bounds, frame.index).where(hollow, ""))
        note_local(series_of(made.config))
        picture = charts.run_strips(rows, **look | {"title": heading}, x_title=y_title)
    else:
        column = "epsilon_bound" if axis == "proved" else "epsilon_claimed"
        without = frame[~np.isfinite(frame[column].to_numpy(dtype=float))]
        if len(without):
            missing = ", ".join(dict.fromkeys(escaped(retold(label)) for label in without["method"]))
            unclaimed = phrase("Not drawn, because no epsilon is claimed of them: {missing}.")
            unlimited = phrase("Not drawn, because no epsilon limits the cost of them: {missing}.")
            st.info(say(unclaimed if axis == "claimed" else unlimited, missing=missing), icon=":material/info:")
        if len(without) == len(frame):
            return
        look |= {"y_title": y_title, "x": axis, "log_y": not quantity, "names": series_of(made.config)}
        picture = charts.compared(frame, data=made.data.name, local=LOCAL, **look)
    panels.chart(charts.mark_real(picture), data=worded_table(frame[columns].replace(np.inf, np.nan)))


def tables(good: pd.DataFrame) -> None:
    """Median, lowest and highest run of every measure, epsilon and method."""
    markdown("Medians over runs. **{mark}.**", mark=say(REAL_DATA))
    groups = good.groupby(["metric", "epsilon", "method"], sort=True)["value"]
    medians = groups.agg(runs="count", median="median", lowest="min", highest="max").reset_index()
    st.dataframe(worded_table(medians), hide_index=True)


def worded_table(frame: pd.DataFrame) -> pd.DataFrame:
    """A table of this page, all of it ours, as the screen says it."""
    said = {name: frame[name].map(in_words).map(retold) for name in WORDS & {*frame}}
    return frame.assign(**said).rename(columns=say)


def failures(lost: pd.DataFrame) -> None:
    """What failed, and why."""
    runs = lost.drop_duplicates(["method", "epsilon", "repeat"])
    markdown("{count:,} runs gave nothing. What was charged before they failed stays charged.", count=len(runs))
    counted = runs.groupby(["method", "error"], sort=False).agg(
        runs=("repeat", "size"), epsilons=("epsilon", lambda part: ", ".join(f"{one:g}" for one in sorted(set(part))))
    )
    st.dataframe(worded_table(counted.reset_index().rename(columns={"error": "why"})), hide_index=True)


def take_away(page: str, made: Comparison) -> None:
    """The numbers of all runs, and what would run them again."""
    markdown("All runs as a table. **{mark}**: they were measured on real rows, without noise.", mark=say(REAL_DATA))
    table = spreadsheet_csv(made.frame.drop(columns=["series", "mode"])).encode()
    config = made.config.to_json(made.data).encode()
    icon = ":material/download:"
    with st.container(horizontal=True):
        name = "comparison-do-not-publish.csv"
        st.download_button(say("Runs (CSV)"), table, name, "text/csv", key=f"{page}.csv", icon=icon)
        name, kind = "comparison-config.json", "application/json"
        st.download_button(say("Exactly what ran (JSON)"), config, name, kind, key=f"{page}.json", icon=icon)

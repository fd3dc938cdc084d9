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
from dpcore.dashboard.pages.compare import answers, sweep
from dpcore.dashboard.pages.compare.sweep import LOCAL, MODES, in_words, of_whom, series_of
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
from dpcore.text import number

Axis = Literal["claimed", "proved", "of the noise alone"]
NONE = (phrase("nothing"), phrase("no limit"), phrase("no limit"))  # of `EPSILONS`, where there is none
NOISE: Axis = "of the noise alone"
Y_TITLES = {RANGE_ERROR: phrase("mean error, share of all rows")}
EXPLAINED = {
    "accuracy": phrase("Share of real test rows whose class is predicted right. Higher is better."),
    "balanced accuracy": phrase(
        "The share of a class's real test rows predicted right, mean over classes. Higher is better."
    ),
    RANGE_ERROR: phrase(
        "How far answers to 200 random queries on 1 to 3 columns are off, as a share of all rows. Lower is better."
    ),
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
WORDS = frozenset(  # headings of tables, below which stand names of runs, measures and other words
    {
        phrase("method"),
        phrase("metric"),
        phrase("measure"),
        phrase("relation"),
        phrase("void"),
        phrase("best median"),
        phrase("second"),
        phrase("told apart"),
        phrase("why"),
    }
)
NUMBERS = (
    phrase("repeat"),
    phrase("seconds"),
    phrase("runs"),
    phrase("epsilons"),
    phrase("median"),
    phrase("lowest"),
    phrase("highest"),
    phrase("its value"),
    phrase("value of the second"),
)


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
    spent(good, made.void, made.data.schema.unit)


def spent(good: pd.DataFrame, void: str, unit: PrivacyUnit | None) -> None:
    """What all runs together claim and can cost, by relation; they never add up across relations."""
    runs = good.drop_duplicates(["method", "epsilon", "repeat"])
    for relation, part in runs.groupby("relation"):
        claimed, of_noise, bound = (together(part[name], say(none)) for name, none in zip(EPSILONS, NONE, strict=True))
        alone = "" if of_noise == bound else say("; nominal (noise only) {epsilon}", epsilon=of_noise)
        known, total = Relation(str(relation)), fsum(part["epsilon_bound"])
        short = say(known.short_for(protection.protects(unit)))
        caption(
            "**{count:,} runs**, all of the same rows: claimed {claimed}, proven at most {bound}{alone} ({whom}). "
            "Publishing only the best can cost as much.",
            count=len(part),
            claimed=claimed,
            bound=bound,
            alone=alone,
            whom=of_whom(known, unit, total) if math.isfinite(total) else short,
        )
    if void:
        st.error(void, icon=":material/gpp_bad:")


def together(epsilons: pd.Series, none: str) -> str:
    """Their sum for people, or what is said as soon as one has none."""
    without = np.isinf(epsilons)
    if not without.any():
        return f"**{number(fsum(epsilons))}**"
    if without.all():
        return say("**{none}** (for {count:,} of them)", none=none, count=len(epsilons))
    return say(
        "**{none}** (for {count:,} of them; the other {rest:,}: {epsilon})",
        none=none,
        count=without.sum(),
        rest=(~without).sum(),
        epsilon=number(fsum(epsilons[~without])),
    )


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
        st.markdown(f"**{answers.sentence(frame, metric)}**", help=about)
    quantity = "accuracy" if answers.rises(metric) else "distance" if metric in sweep.DISTANCES else ""
    title, lines = say(in_words(metric)), references(made, metric)
    title = title[:1].upper() + title[1:]
    draw(axis, made, frame, title, Y_TITLES.get(metric, in_words(metric)), lines, quantity=quantity)


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
    if len(made.config.epsilons) < 2 or (good["epsilon_claimed"] == good["epsilon_bound"]).all():
        return "claimed"
    axes: list[Axis] = ["claimed", NOISE if made.void else "proved"]
    key, how = f"{page}.axis{'.void' if made.void else ''}", {"default": "claimed", "required": True}
    words = {axis: phrase("proven at most") if axis == "proved" else axis for axis in axes}
    axis: Axis = choice(st.segmented_control, say("Epsilon on the axis"), key, words, **how)
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
        told = say("{title} at epsilon {epsilon}", title=title, epsilon=number(made.config.epsilons[0]))
        hollow = frame["mode"] == MODES["published"]
        printed = [say("{method}, as published", method=name) for name in frame["series"]]
        rows = frame.assign(name=frame["series"].where(~hollow, printed), hollow=hollow)
        picture = charts.run_strips(rows, **look | {"title": told}, x_title=y_title)
    else:
        if axis == NOISE:
            caption("What the noise alone would give. It is no guarantee, and none is proven: see above.")
        column = {"proved": "epsilon_bound", NOISE: "epsilon_nominal"}.get(axis, "epsilon_claimed")
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
    panels.chart(charts.mark_real(picture), data=told_table(frame[columns].replace(np.inf, np.nan)))


def medians(good: pd.DataFrame) -> pd.DataFrame:
    """Median, lowest and highest run of every measure, epsilon and method."""
    groups = good.groupby(["metric", "epsilon", "method"], sort=True)["value"]
    return groups.agg(runs="count", median="median", lowest="min", highest="max").reset_index()


def told_apart(found: pd.DataFrame) -> pd.DataFrame:
    """The best median of every measure and epsilon, and whether all its runs are better than all of the second's."""
    rows = []
    for (metric, epsilon), part in found.groupby(["metric", "epsilon"]):
        rising = "accuracy" in str(metric)
        part = part.dropna(subset=["median"]).sort_values("median", ascending=not rising, kind="stable")
        if len(part) < 2:
            continue
        best, second = part.iloc[0], part.iloc[1]
        ahead = best["lowest"] > second["highest"] if rising else best["highest"] < second["lowest"]
        few = min(best["runs"], second["runs"]) < answers.FEWEST
        apart = phrase("yes") if ahead else phrase("no: their runs overlap")
        apart = phrase("too few runs") if few else apart
        rows.append((metric, epsilon, best["method"], best["median"], second["method"], second["median"], apart))
    columns = ["measure", "epsilon", "best median", "its value", "second", "value of the second", "told apart"]
    return pd.DataFrame(rows, columns=columns)


def tables(good: pd.DataFrame) -> None:
    """Medians, and who is ahead where that can be said."""
    markdown("Medians over runs. **{mark}.**", mark=say(REAL_DATA))
    st.dataframe(told_table(medians(good)), hide_index=True)
    proved = good[np.isfinite(good["epsilon_bound"].to_numpy(dtype=float)) & (good["epsilon_bound"] <= good["epsilon"])]
    ahead = told_apart(medians(proved))
    if len(ahead):
        markdown(
            "The best median at each epsilon, among methods whose epsilon is proved. On these data, with these "
            "parameters; choosing a method by this table uses the real rows."
        )
        st.dataframe(told_table(ahead), hide_index=True)


def told_table(frame: pd.DataFrame) -> pd.DataFrame:
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
    st.dataframe(told_table(counted.reset_index().rename(columns={"error": "why"})), hide_index=True)


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
    with st.expander(say("Show the code")):
        st.code(
            "from pathlib import Path\n\nimport dpcore as dp\n\n"
            'config = dp.experiment.Config.from_json(Path("comparison-config.json").read_text(encoding="utf-8"))\n'
            "frame = dp.experiment.sweep(data=data, **config.asked)  # `data`: a dpcore Dataset of the same rows\n",
            language="python",
        )

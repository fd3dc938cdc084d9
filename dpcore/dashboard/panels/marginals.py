"""How close the columns and pairs of a release are to the real ones."""

import math
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import jobs
from dpcore.dashboard.panels import distances, draw_part, evaluator, real
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import lasting, markdown
from dpcore.evaluate.model_marginals import model_distances, model_marginals
from dpcore.evaluate.statistics import Statistics
from dpcore.export.model_file import Model
from dpcore.language import phrase, say
from dpcore.postprocess.forest import Forest


def marginals(page: str, shown: Shown) -> None:
    """Columns, or pairs of them; of a classifier, what its released counts say of columns."""
    if isinstance(shown.release.artifact, Model):
        of_model(page, shown)
        return
    parts = {phrase("Columns"): lambda: columns(page, shown), phrase("Pairs"): lambda: pairs(page, shown)}
    draw_part(f"{page}.marginals", parts)


def of_model(page: str, shown: Shown) -> None:
    """One column as a classifier's released counts have it, beside the real rows; the worst column first."""
    found = of_counts(page, shown)
    if found is None:
        return
    frame, distances_of = found
    names = list(distances_of["attributes"])
    name = lasting(st.selectbox, say("One column (the worst first)"), f"{page}.column", names, usual=names[0])
    of_column(frame, name)
    if isinstance(shown.release.model.predictor, Forest):
        told = phrase(
            "Released counts of the first split of **{column}**: of the rows that reach it, the share that goes each "
            "way. Mean distance over {n:,} columns: **{mean:.3f}** ({mark})."
        )
    else:
        told = phrase(
            "What the model knows of **{column}**, over all classes. Mean distance over {n:,} columns: **{mean:.3f}** "
            "({mark})."
        )
    of = {"column": escaped(str(name)), "n": len(names), "mean": distances_of["avd"].mean(), "mark": say(REAL_DATA)}
    st.markdown(say(told, **of))


def of_counts(page: str, shown: Shown) -> tuple[Statistics, pd.DataFrame] | None:
    """What a classifier's released counts say of columns, and how far off each is; None if that is not there."""

    def work(progress: Progress) -> Statistics:
        progress(0.0, "")
        return model_marginals(shown.release.model.predictor, shown.data)

    frame = jobs.once(page, shown, "model marginals", phrase("Counting real rows"), work)
    if frame is None:
        return None
    if frame.empty:
        st.info(say("The released counts say nothing of single columns: no tree was split."))
        return None
    return frame, model_distances(frame)


def of_column(frame: Statistics, name: str) -> None:
    """One column of released counts beside the real rows."""
    chosen = frame[frame["attributes"] == name].drop(columns="attributes")
    real(charts.marginal, chosen, column=name, released=say("released"))


def columns(page: str, shown: Shown) -> None:
    """One column, real beside synthetic, then how far off all of them are."""
    release, rows = shown.release, evaluator(shown).rows
    if (worst := jobs.counted(page, shown, "1-way", partial(distances, shown, 1))) is None:
        return
    valid = remember(shown, "validity", lambda: evaluate.validity(release.synthetic, release.schema))
    names = list(worst.sort_values("avd", ascending=False)["attributes"])
    told = say("One column, value by value (the worst first)")
    look: Any = {"usual": names[0], "label_visibility": "collapsed"}
    name = lasting(st.selectbox, told, f"{page}.column", names, **look)
    of_one = partial(evaluate.marginals, rows, release.synthetic, release.schema, name)
    frame = remember(shown, f"column {name}", of_one)
    real(charts.marginal, frame, column=name)
    markdown(
        "Mean distance over all columns: **{mean:.3f}**; a fresh sample of the real rows would have **{floor:.3f}** "
        "({mark}). {valid:.0%} of the synthetic cells lie inside the schema.",
        mean=worst["avd"].mean(),
        floor=worst["floor"].mean(),
        mark=say(REAL_DATA),
        valid=valid,
    )
    real(charts.worst_columns, worst)


def pairs(page: str, shown: Shown) -> None:
    """Distances of all pairs, and one pair side by side."""
    release = shown.release
    if len(release.schema) < 2:
        st.info(say("The schema has one column only; there are no pairs."))
        return
    if (frame := jobs.counted(page, shown, "2-way", partial(distances, shown, 2))) is None:
        return
    every = math.comb(len(release.schema), 2)
    some = say("{n:,} of {every:,} pairs, drawn at random", n=len(frame), every=every)
    markdown(
        "Mean distance over {which}: **{mean:.3f}**; a fresh sample of the real rows would have **{floor:.3f}** "
        "({mark}).",
        which=say("all pairs") if len(frame) == every else some,
        mean=frame["avd"].mean(),
        floor=frame["floor"].mean(),
        mark=say(REAL_DATA),
    )
    real(charts.worst_pairs, frame)
    real(charts.pair_heatmap, frame)
    worst = frame.sort_values("avd").iloc[-1]
    names = list(release.schema.names)
    left, right = st.columns(2)
    x = lasting(left.selectbox, say("First column"), f"{page}.pair_x", names, usual=worst["a"])
    y = lasting(right.selectbox, say("Second column"), f"{page}.pair_y", names, usual=worst["b"])
    if x == y:
        st.info(say("Choose two different columns."))
        return
    of_two = partial(evaluate.pair_marginal, evaluator(shown).rows, release.synthetic, release.schema, x, y)
    shares = remember(shown, f"pair {(x, y)!r}", of_two)
    real(charts.pair_tables, shares, x=x, y=y)

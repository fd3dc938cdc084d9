"""The tab Marginals: how close columns and pairs of a release are to the real ones."""

import math
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import jobs
from dpcore.dashboard.panels import column_centers, draw_column, draw_part, evaluator, marginal_distances, real
from dpcore.dashboard.panels.verdict import describe_centers
from dpcore.dashboard.session import ShownRelease, remember
from dpcore.dashboard.widgets import caption, lasting, markdown
from dpcore.evaluate.statistics import Statistics
from dpcore.evaluate.tree_errors import model_distances, model_marginals
from dpcore.export.artifacts import Model
from dpcore.language import phrase, say


def draw_marginals(page: str, shown: ShownRelease) -> None:
    """Draw marginals of columns and pairs, released beside real; a classifier has no pairs."""
    if isinstance(shown.release.artifact, Model):
        draw_model_column(page, shown)
        return
    parts = {phrase("Columns"): partial(draw_columns, page, shown)}
    if len(shown.release.schema) > 1:
        parts[phrase("Pairs")] = partial(draw_pairs, page, shown)
    draw_part(f"{page}.marginals", parts)


def choose_worst_first(label: str, key: str, frame: pd.DataFrame) -> str:
    """Draw a choice among columns or pairs, the worst first; return its name.

    `frame` has the names (`attributes`) and their total variation distances (`avd`).
    """
    names = list(frame.sort_values("avd", ascending=False)["attributes"])
    style: Any = {"usual": names[0], "label_visibility": "collapsed"}
    return str(lasting(st.selectbox, label, key, names, **style))


def draw_mean_distance(frame: pd.DataFrame, of: str) -> None:
    """Draw the mean total variation distance of marginals, beside that of a fresh real sample.

    `frame` has a line for each marginal, with the distance of the release (`avd`) and of a sample
    (`floor`). `of` says in words which marginals they are.
    """
    markdown(
        "Mean total variation distance of {marginals}: **{mean:.3f}**; of a fresh real sample: {floor:.3f} ({mark}).",
        marginals=of,
        mean=frame["avd"].mean(),
        floor=frame["floor"].mean(),
        mark=say(REAL_DATA),
    )


def draw_model_column(page: str, shown: ShownRelease) -> None:
    """Draw one column of a classifier's released counts beside the real rows, the worst first."""
    if (found := classifier_marginals(page, shown)) is None:
        return
    frame, off = found
    draw_counts(frame, choose_worst_first(say("One column (the worst first)"), f"{page}.column", off))
    markdown(
        "Mean total variation distance of {n:,} columns: **{mean:.3f}** ({mark}).",
        n=len(off),
        mean=off["avd"].mean(),
        mark=say(REAL_DATA),
    )
    if page == "forests":
        caption("The bars show a column's first split: the share of rows that goes to each branch.")


def classifier_marginals(page: str, shown: ShownRelease) -> tuple[Statistics, pd.DataFrame] | None:
    """Return a classifier's marginals of columns beside the real ones, and their distances.

    Returns None while they are computed, and if no tree was split.
    """
    work = partial(model_marginals, shown.release.model.predictor, shown.data)
    if (frame := jobs.count_rows(page, shown, "model marginals", work)) is None:
        return None
    if frame.empty:
        st.info(say("The released counts say nothing of single columns: no tree was split."))
        return None
    return frame, model_distances(frame)


def draw_counts(frame: Statistics, name: str) -> None:
    """Draw one column's shares in a classifier's released counts, beside those in the real rows.

    `frame` has the shares of all columns, and `name` is the column.
    """
    chosen = frame[frame["attributes"] == name].drop(columns="attributes")
    real(charts.marginal, chosen, column=name, released=say("released"))


def draw_columns(page: str, shown: ShownRelease) -> None:
    """Draw one column, real beside synthetic, then the total variation distances of all columns."""
    if (worst := jobs.count_rows(page, shown, "1-way", partial(marginal_distances, shown, 1))) is None:
        return
    name = choose_worst_first(say("One column (the worst first)"), f"{page}.column", worst)
    draw_column(shown, name)
    if text := describe_centers(center for center in column_centers(shown) if center.column == name):
        st.markdown(f"{text} ({say(REAL_DATA)})")
    draw_mean_distance(worst, say("{n:,} columns", n=len(worst)))
    real(charts.worst_columns, worst)


def draw_pairs(page: str, shown: ShownRelease) -> None:
    """Draw the total variation distances of all pairs, and one pair, real beside synthetic."""
    release = shown.release
    if (frame := jobs.count_rows(page, shown, "2-way", partial(marginal_distances, shown, 2))) is None:
        return
    every = math.comb(len(release.schema), 2)
    draw_mean_distance(frame, say("{n:,} of {every:,} pairs of columns", n=len(frame), every=every))
    real(charts.worst_pairs, frame)
    real(charts.pair_heatmap, frame)
    name = choose_worst_first(say("One pair (the worst first)"), f"{page}.pair", frame)
    x, y = frame.loc[frame["attributes"] == name, ["a", "b"]].iloc[0]
    rows = evaluator(shown).rows
    of = partial(evaluate.pair_marginal, rows, release.synthetic, release.schema, x, y)
    real(charts.pair_tables, remember(shown, f"pair {(x, y)!r}", of), x=x, y=y)

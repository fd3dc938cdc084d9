"""One column of randomized reports on screen: true, reported and reconstructed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import panels
from dpcore.dashboard.session import ShownRelease, remember
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, markdown
from dpcore.evaluate import reconstruction
from dpcore.language import phrase, say
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import Reports

FIRST = 10
NAMES = phrase("""
- **PPNB** (the paper): naive Bayes from randomized answers. **PPNB-LDP**: the class is randomized, too.
- **ERRPH** (the paper): the truth with probability p0, else any value at random. With two values: **RRPH**.
- **Warner's rule**: the truth with probability p, otherwise the opposite.
- **TRR** (the paper, of numbers): y = a x + b, with a and b drawn at random.
- **OUE**: a randomized yes or no for every value. **OLH**: a short code of the value, randomized.
- **DTPD** (Du and Zhan 2003): a tree from bits, all kept with probability theta or flipped.
- **DTCRD** (Agrawal and Srikant 2000): a tree from noisy numbers, with distributions reconstructed.
""")


def draw_reports(page: str, shown: ShownRelease) -> None:
    """Draw the reports of a release, and one column's true shares, reports and reconstruction."""
    release, data, model = shown.release, shown.data, shown.release.model
    found = model.reports
    assert found is not None
    text = say(
        "This is all that the collector has: **{rows:,} rows of reports**, and the public rules "
        "by which they were made. What you see of the truth is for this screen only.",
        rows=found.people,
    )
    st.markdown(f"{text} {unprotected_columns(found)}{panels.describe_person_sample(shown)}")
    draw_first_reports(f"{page}.reports", found)
    true = None
    if data.in_memory:
        bits_for = model.target if release.method == "DTPD" else None
        read = partial(reconstruction.Truth, data, release.schema, panels.compared_row_indices(shown), bits_for)
        true = remember(shown, "truth", read)
    else:
        caption("The true rows are in a folder, and are not shown beside the reports.")
    key, keep = f"{page}.reported.{release.method}", partial(remember, shown)
    draw_column(key, found, true, model.predictor, keep)


def draw_column(
    key: str, found: Reports, true: reconstruction.Truth | None, predictor: Any, keep: Callable[..., Any]
) -> None:
    """Draw one chosen column: its reports and the reconstruction, and the truth if known.

    `found` are the reports, `true` the true rows or None. `predictor` is the learned model. `keep`
    takes a key and a function; it computes the function's value once and remembers the value.
    """
    name = str(st.selectbox(say("Column to show"), reconstruction.columns(found), key=key))
    look: Any = {"private": true is not None, "column": name}
    if not reconstruction.is_number(found, name):
        frame = keep(f"shares {name}", lambda: reconstruction.shares_of_column(found, true, name))
        panels.real(charts.reported_shares, frame, **look)
        draw_summary(frame, found, name)
        return
    bayes = predictor if isinstance(predictor, Bayes) else None
    frame = keep(f"numbers {name}", lambda: reconstruction.densities(found, true, name, bayes))
    panels.real(charts.reported_numbers, frame, days=found.schema[name].kind == "date", **look)
    if bayes is not None:
        caption("The reconstruction is one normal distribution per class, whatever the true shape.")
        return
    caption(
        "The reconstruction is the distribution that makes the reports most likely, for all "
        "classes together. The method reconstructs one for each class."
    )
    gains = keep(f"steps {name}", lambda: reconstruction.steps(found, name))
    panels.chart(charts.steps(gains, column=name), data=gains)


def unprotected_columns(found: Reports) -> str:
    """Return the sentence that names the columns reported without randomization; empty if none."""
    names = ", ".join(" × ".join(family) for family in found.truthful_questions)
    return say("**{columns} is reported without randomization.**", columns=escape(names)) if names else ""


def draw_first_reports(key: str, found: Reports) -> None:
    """Draw the first randomized reports as a table.

    A table's column is a question; if people answer few of the questions, a line is one answer.
    """
    frame = found.head(FIRST).frame()
    if found.respondents:
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        frame = frame.T.unstack().dropna().reset_index()
        frame = frame.set_axis([say("row"), say("question"), say("report")], axis="columns")
    st.dataframe(frame, hide_index=True, key=key)
    caption("The first {n} rows of reports.", n=FIRST)


def draw_summary(frame: pd.DataFrame, found: Reports, name: str) -> None:
    """Draw the sentences on a column's chart: coverage of the intervals, and impossible estimates.

    `frame` has the column's true, reported and reconstructed shares with intervals, by value.
    """
    inside = frame["real"].between(frame["low"], frame["high"]).sum()
    impossible = ((frame["reconstructed"] < 0) | (frame["reconstructed"] > 1)).sum()
    rows = sum(len(found.values[family]) for family in reconstruction.families_of(found, name))
    markdown("{rows:,} reports are about **{column}**.", rows=rows, column=escape(name))
    if not np.isfinite(frame["high"]).all():
        markdown("Reports by this rule reveal nothing about the column.")
    elif frame["real"].isna().all():
        markdown("If answers follow these rules, about 95 in 100 intervals hold the true share.")
    else:
        markdown(
            "{inside:,} of {intervals:,} intervals hold the true share of these rows ({mark}). "
            "About 95 in 100 do; fewer where only some of each person's rows were kept.",
            inside=inside,
            intervals=len(frame),
            mark=say(REAL_DATA),
        )
    if impossible:
        markdown(
            "Estimates below 0% or above 100%: {n:,}. Estimates are right on average; clipping "
            "them to 0 would make rare values look more frequent than they are.",
            n=impossible,
        )
    if frame["reported"].isna().all():
        markdown("These reports are bits or hashes, not values, so there is no reported share.")

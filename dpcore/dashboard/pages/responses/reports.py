"""One column of a release's reports: as it is, as it was reported, and as it is reconstructed."""

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
- **PPNB** (the paper): naive Bayes from randomized answers. **PPNB-LDP**: of the class, too.
- **ERRPH** (the paper): the truth with probability p0, else any value at random. Of two: **RRPH**.
- **Warner's rule**: the truth with probability p, otherwise the opposite.
- **TRR** (the paper, of numbers): y = a x + b, with a and b drawn at random.
- **OUE**: a randomized yes or no for every value. **OLH**: a short code of the value, randomized.
- **DTPD** (Du and Zhan 2003): a tree from bits, all kept with probability theta or flipped.
- **DTCRD** (Agrawal and Srikant 2000): a tree from noisy numbers, with distributions reconstructed.
""")


def reports(page: str, shown: ShownRelease) -> None:
    """One column as it is, as it was reported, and as it is reconstructed."""
    release, data, model = shown.release, shown.data, shown.release.model
    found = model.reports
    assert found is not None
    text = say(
        "This is all that the collector has: **{rows:,} rows of reports**, and the public rules "
        "by which they were made. What you see of the truth is for this screen only.",
        rows=found.people,
    )
    st.markdown(f"{text} {clear(found)}{panels.describe_person_sample(shown)}")
    first(f"{page}.reports", found)
    true = None
    if data.held:
        bits_for = model.target if release.method == "DTPD" else None
        read = partial(reconstruction.Truth, data, release.schema, panels.compared_row_indices(shown), bits_for)
        true = remember(shown, "truth", read)
    else:
        caption("The true rows are in a folder, and are not shown beside the reports.")
    key, keep = f"{page}.reported.{release.method}", partial(remember, shown)
    column(key, found, true, model.predictor, keep)


def column(
    key: str, found: Reports, true: reconstruction.Truth | None, predictor: Any, keep: Callable[..., Any]
) -> None:
    """One column of the reports, beside true rows if known; `keep` remembers what was computed."""
    name = str(st.selectbox(say("One column"), reconstruction.columns(found), key=key))
    look: Any = {"private": true is not None, "column": name}
    if not reconstruction.is_number(found, name):
        frame = keep(f"shares {name}", lambda: reconstruction.shares_of_column(found, true, name))
        panels.real(charts.reported_shares, frame, **look)
        summary(frame, found, name)
        return
    bayes = predictor if isinstance(predictor, Bayes) else None
    frame = keep(f"numbers {name}", lambda: reconstruction.densities(found, true, name, bayes))
    panels.real(charts.reported_numbers, frame, days=found.schema[name].kind == "date", **look)
    if bayes is not None:
        caption("Reconstructed is a normal distribution per class, whatever the true shape is.")
        return
    caption(
        "Reconstructed is the distribution that makes the reports likely, for all classes "
        "together. The method reconstructs one for each class."
    )
    gains = keep(f"steps {name}", lambda: reconstruction.steps(found, name))
    panels.chart(charts.steps(gains, column=name), data=gains)


def clear(found: Reports) -> str:
    """Which columns the collector gets as they are, in a sentence; empty if none."""
    names = ", ".join(" × ".join(family) for family in found.unrandomized)
    return say("**{columns} is handed in as it is.**", columns=escape(names)) if names else ""


def first(key: str, found: Reports) -> None:
    """The first reports: a column per question, or, if each person has few, a line per answer."""
    frame = found.head(FIRST).frame()
    if found.asked:
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        frame = frame.T.unstack().dropna().reset_index()
        frame = frame.set_axis([say("row"), say("question"), say("report")], axis="columns")
    st.dataframe(frame, hide_index=True, key=key)
    caption("The first {n} rows of reports.", n=FIRST)


def summary(frame: pd.DataFrame, found: Reports, name: str) -> None:
    """What the picture shows, in a sentence or two."""
    inside = frame["real"].between(frame["low"], frame["high"]).sum()
    impossible = ((frame["reconstructed"] < 0) | (frame["reconstructed"] > 1)).sum()
    rows = sum(len(found.values[family]) for family in reconstruction.families_of(found, name))
    markdown("{rows:,} reports tell of **{column}**.", rows=rows, column=escape(name))
    if not np.isfinite(frame["high"]).all():
        markdown("The rule gives reports that tell nothing.")
    elif frame["real"].isna().all():
        markdown("If answers were made by these rules, about 95 in 100 intervals hold the true share.")
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

"""One column of a release's reports: as it is, as it was reported, and as it is reconstructed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.relation import Relation
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import panels
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption
from dpcore.evaluate import reconstruction
from dpcore.language import phrase
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import Reports

FIRST = 10
NAMES = phrase("""
- **PPNB** (the paper's method): naive Bayes from randomized answers. **PPNB-LDP**: the same with every answer
  randomized, the class too. LDP is local differential privacy: the noise is added by each person.
- **ERRPH** (the paper's rule): the truth with probability p0, otherwise any of the values, drawn. With two values it is
  called **RRPH**. **Warner's rule**: the truth with probability p, otherwise the opposite.
- **TRR** (the paper's rule for numbers): y = a x + b, with a and b drawn.
- **OUE**: a yes or no for every value, each of them randomized. **OLH**: a short code of the value, randomized.
- **DTPD** (Du and Zhan 2003): a decision tree from bits that are kept or flipped, all with probability theta.
- **DTCRD** (Agrawal and Srikant 2000): a decision tree from numbers with noise, whose distributions are reconstructed.
""")


def reports(page: str, shown: Shown) -> None:
    """One column as it is, as it was reported, and as it is reconstructed."""
    release, data = shown.release, shown.data
    model, found = release.model, release.model.reports
    assert found is not None
    unit = release.schema.unit
    each = "one per person" if unit is None else "one per row"
    if release.schema.persons is not None:
        some = "" if release.ledger.relation is Relation.REPLACE else "at most "
        each = f"{some}{release.schema.persons.max_contributions:,} per person"
    st.markdown(
        f"This is all that the collector has: **{found.people:,} rows of reports**, {each}, and the public "
        f"rules by which they were made. {clear(found)}What you see of the truth is for this screen only."
        f"{panels.of_persons(shown)}"
    )
    st.dataframe(remember(shown, "reports", lambda: first(found)), hide_index=True, key=f"{page}.reports")
    st.caption(f"The first {FIRST} rows. {where(shown)}")
    true = None
    if data.held:
        bits_for = model.target if release.method == "DTPD" else None
        read = partial(reconstruction.Truth, data, release.schema, panels.likened(shown), bits_for)
        true = remember(shown, "truth", read)
    else:
        caption("The true rows are in a folder, and are not shown beside the reports.")
    bayes = model.predictor if isinstance(model.predictor, Bayes) else None
    cut = release.schema.persons is not None
    column(f"{page}.reported.{release.method}", found, true, bayes, partial(remember, shown), cut=cut)


def column(
    key: str,
    found: Reports,
    true: reconstruction.Truth | None,
    bayes: Bayes | None,
    keep: Callable[..., Any],
    *,
    cut: bool = False,
) -> None:
    """One column of the reports, beside the true rows if somebody has them; `keep` remembers what was computed.

    `cut`: the true rows are not the very ones that reported, but as many of each person's.
    """
    name = str(st.selectbox("One column", reconstruction.columns(found), key=key))
    if reconstruction.is_number(found, name):
        frame = keep(f"numbers {name}", lambda: reconstruction.densities(found, true, name, bayes))
        days = found.schema[name].kind == "date"
        panels.real(charts.reported_numbers, frame, private=true is not None, column=name, days=days)
        if bayes is not None:
            st.caption("Reconstructed is a normal distribution per class, whatever shape the true numbers have.")
            return
        st.caption(
            "Reconstructed is the distribution over intervals of the public range that makes the reports likely, for "
            "all classes together. The method does this for each class."
        )
        gains = keep(f"steps {name}", lambda: reconstruction.steps(found, name))
        panels.chart(charts.steps(gains, column=name), data=gains)
        return
    frame = keep(f"shares {name}", lambda: reconstruction.shares_of_column(found, true, name))
    panels.real(charts.reported_shares, frame, private=true is not None, column=name)
    told(frame, found, name, cut=cut)


def where(shown: Shown) -> str:
    """Where all reports are, in a sentence."""
    if shown.release.table_of_reports is None:
        if shown.release.seed is not None:
            return "All reports stay on this screen: anyone who knows the seed can undo them."
        return "All reports stay on this screen: some of them are true answers."
    return "All reports are in the zip on the tab Download."


def clear(found: Reports) -> str:
    """Which columns the collector gets as they are, in a sentence; empty if none."""
    names = [" × ".join(family) for family in found.clear]
    return f"**{escaped(', '.join(names))} is handed in as it is.** " if names else ""


def first(found: Reports) -> pd.DataFrame:
    """What the first people reported: a column per question, or, if each was asked for few, a line per answer."""
    frame = found.head(FIRST).frame()
    if not found.asked:
        return frame
    cells = frame.to_numpy(dtype=object)
    lines = [
        (row + 1, name, cell)
        for row, answers in enumerate(cells)
        for name, cell in zip(frame.columns, answers, strict=True)
        if not pd.isna(cell)
    ]
    return pd.DataFrame(lines, columns=["row", "question", "report"])


def told(frame: pd.DataFrame, found: Reports, name: str, *, cut: bool) -> None:
    """What the picture shows, in a sentence or two."""
    inside = frame["real"].between(frame["low"], frame["high"])
    tell = reconstruction.families_of(found, name)
    rows = sum(len(found.values[family]) for family in tell)
    parts = [f"{rows:,} of {found.people:,} rows report **{escaped(name)}**."]
    if len(tell) > 1:
        parts = [f"{rows:,} reports tell of **{escaped(name)}**, each together with another column."]
    if np.isfinite(frame["high"]).all() and frame["real"].isna().all():
        parts.append("If answers were made by these rules, about 95 in 100 such intervals hold their true share.")
    elif np.isfinite(frame["high"]).all() and cut:
        parts.append(
            f"{inside.sum():,} of {len(frame):,} intervals hold the share of these real rows ({REAL_DATA}). Intervals "
            "tell of the noise alone, and not of which rows were kept: fewer than 95 in 100 may hold it."
        )
    elif np.isfinite(frame["high"]).all():
        parts.append(
            f"{inside.sum():,} of {len(frame):,} intervals hold the true share of these rows ({REAL_DATA}); which "
            "ones do is random."
        )
    else:
        parts.append("The rule gives reports that tell nothing.")
    impossible = ((frame["reconstructed"] < 0) | (frame["reconstructed"] > 1)).sum()
    if impossible:
        some = "One estimate lies" if impossible == 1 else f"{impossible:,} estimates lie"
        parts.append(
            f"{some} below 0% or above 100%: estimates are right on average, and noise can carry them there. "
            "Clipping them to 0 would make rare values look more frequent than they are."
        )
    if frame["reported"].isna().all():
        parts.append("Reports of this column are bits or hashes, not values, so there is no reported share.")
    st.markdown(" ".join(parts))

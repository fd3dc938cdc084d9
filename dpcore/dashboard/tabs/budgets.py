"""Where the epsilon of a released forest went: levels, purposes, and how trees make the price of all."""

import math

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.ledger import Ledger
from dpcore.dashboard import panels
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.tabs import forest
from dpcore.postprocess import forest_frames
from dpcore.text import number

COMPOSED = {
    "one": "There is **one tree**, grown from all rows: a record pays on one way down, from the root to a leaf.",
    "disjoint": "Each row is in **one tree only**, by lot. One person can change one tree, so all trees together cost "
    "what one of them costs.",
    "poisson": "Each tree sees its own **secret random sample** of the rows. A person is probably not in it, so that "
    "a tree may spend more inside than it costs outside. The trees' costs add up.",
    "full": "Every tree sees **every row**: the trees' costs add up.",
    "bootstrap": "Every tree sees a **bootstrap sample**, in which a row can stand several times and then counts as "
    "often. The trees' costs add up.",
}


def budget(shown: Shown) -> None:
    """Which levels and purposes epsilon went to, and how the trees' prices make the price of all."""
    ledger, found = shown.release.ledger, forest.forest_of(shown)
    if found is None:
        st.markdown("Every choice of a value or a cut has its share, and the counts of the groups have the rest.")
        panels.chart(charts.epsilon_split(ledger.to_frame()))
        return
    if math.isinf(ledger.epsilon_claimed):
        st.info("No question was answered with noise: nothing was spent, and nothing is protected.")
        return
    parameters = shown.release.parameters
    sampled = str(parameters.get("resample", "full"))  # methods of one tree do not choose
    if parameters["mode"] == "paper" and "resample" in parameters:
        sampled = "bootstrap"
    st.markdown(COMPOSED["one" if found.trees == 1 and sampled in ("disjoint", "full") else sampled])
    if ledger.relation == "replace":
        st.markdown(
            "Somebody whose values change may leave one way down a tree and enter another. **Both ways are paid**: the "
            "run costs twice what one of them does."
        )
    frame = remember(shown, "budget", lambda: forest_frames.budget(ledger))
    several = bool(frame["per_tree"].any())
    if several:
        st.dataframe(accounts(ledger), hide_index=True, width="content")
    panels.chart(charts.forest_budget(frame, title="One tree" if several else "From the root to a leaf"))
    panels.table_behind(frame.drop(columns=["per_tree", "void"]), "The numbers behind this chart")
    left = frame.loc[frame["level"] < 0, "epsilon_claimed"].sum()
    if left > 0 and frame["epsilon_claimed"].sum() < math.inf:
        st.caption(
            f"Epsilon {number(left)} of this is for levels that no tree reached. On other rows trees would have "
            "grown deeper, and a guarantee has to hold for all rows."
        )


def accounts(ledger: Ledger) -> pd.DataFrame:
    """From the whole run to the inside of one tree: what each costs."""
    rows, at, name = [], ledger, "all trees together"
    while True:
        if name:
            rows.append((name, panels.told(at.epsilon_claimed), panels.told(at.epsilon_of_noise)))
        if len(at.children) != 1 or at.own_entries:
            break
        (at,) = at.children
        name = at.name
    paid = "epsilon of the noise alone" if ledger.void else "epsilon proved"
    return pd.DataFrame(rows, columns=["account", "epsilon claimed", paid])

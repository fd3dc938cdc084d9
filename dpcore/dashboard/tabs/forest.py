"""What the page of trees and forests shows of its own: one tree, and what the trees look at."""

from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import panels
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.tabs import group_tree
from dpcore.postprocess import forest_frames
from dpcore.postprocess.forest import Forest

MOST_NODES = 40


def forest_of(shown: Shown) -> Forest | None:
    """The released forest; None for methods that release groups."""
    found = shown.release.model.predictor
    return found if isinstance(found, Forest) else None


def tree(page: str, shown: Shown) -> None:
    """One tree at a time, and what the trees look at; for methods that release groups, their tree of counts."""
    found, release = forest_of(shown), shown.release
    if found is None:
        group_tree.tree(page, shown)
        return
    if sizes := release.model.sizes:
        many, deep = (sizes[name] for name in ("n_trees", "max_depth"))
        rule = all(release.parameters.get(name) is None for name in sizes)
        told = "one tree" if many == 1 else f"{many:,} trees"
        st.markdown(f"{'The rule gave' if rule else 'Grown:'} **{told}**, at most **{deep:,} levels** deep.")
    number = 1
    if found.trees > 1:
        left, _ = st.columns([1, 3])
        text = f"Tree (1 to {found.trees:,})"
        number = int(left.number_input(text, 1, found.trees, 1, key=f"{page}.tree:{id(shown)}"))
    frame = remember(shown, f"tree {number}", lambda: forest_frames.nodes(found, number - 1, most=MOST_NODES))
    exact = release.exact
    if exact:
        st.markdown("All counts are exact: this is the reference without privacy.")
    elif release.guarantee_void:
        st.markdown("Counts are part of the release, with as little protection: what the top of the page says.")
    else:
        st.markdown("All of this is part of the release: looking at it costs nothing more.")
    show(charts.forest_tree(frame, title=f"Tree {number} of {found.trees:,}"), frame, exact=exact)
    if found.leaf.all():
        st.info(
            "No tree was divided: the noise told nothing apart. More epsilon helps"
            + (", and so do fewer trees or levels." if release.model.reports is None else ", and so do more people."),
            icon=":material/info:",
        )
        return
    weights = remember(shown, "importance", lambda: found.importance().rename_axis("column").reset_index(name="share"))
    show(charts.importance(weights), weights, exact=exact)


def show(picture: Any, frame: pd.DataFrame, *, exact: bool) -> None:
    """A chart of the release with its table; marked if no noise is in it."""
    if exact:
        panels.chart(charts.mark_real(picture), data=frame)
        return
    panels.chart(picture)
    panels.table_behind(frame, "The numbers behind this chart")

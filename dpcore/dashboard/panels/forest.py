"""Panels of tree methods: one tree, feature importance, and the use of epsilon."""

import math

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.ledger import Ledger
from dpcore.dashboard import panels
from dpcore.dashboard.session import ShownRelease, remember
from dpcore.dashboard.widgets import caption, markdown
from dpcore.language import phrase, say
from dpcore.postprocess import forest_frames
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.forest import Forest
from dpcore.text import claim, limit, number

LARGEST = 20
COMPOSED = {
    "one": phrase("**One tree** is grown from all rows: a row spends epsilon on a path to a leaf."),
    "disjoint": phrase("Each row is in **one random tree**: all trees can cost no more than one tree."),
    "poisson": phrase(
        "Each tree sees a **secret random sample** of the rows, in which a person probably is not: "
        "queries can cost less than they spend (amplification by sampling). The losses add up."
    ),
    "full": phrase("Every tree sees **every row**: the trees' privacy losses add up."),
    "bootstrap": phrase(
        "Every tree sees a **bootstrap sample**, in which a row may stand, and count, several "
        "times. The trees' privacy losses add up."
    ),
}


def draw_tree(page: str, shown: ShownRelease) -> None:
    """Draw one tree at a time and feature importance, and the largest groups of a taxonomy tree."""
    released = shown.release.model.contents
    found: Forest = released.get("forest") or released["classifier"]
    chosen = 1
    if found.trees > 1:
        label = say("Number of the tree to show (1 to {trees:,})", trees=found.trees)
        chosen = st.number_input(label, 1, found.trees, key=f"{page}.tree:{id(shown)}", width=240)
    frame = remember(shown, f"tree {chosen}", lambda: forest_frames.node_table(found, chosen - 1))
    st.markdown(panels.release_note(shown))
    title = say("Tree {number} of {trees:,}", number=chosen, trees=found.trees)
    panels.draw_release_chart(shown, charts.forest_tree(frame, title=title), data=frame)
    if found.leaf.all():
        st.info(say("No tree was split: no split stood out of the noise. More epsilon or rows help."))
    else:
        weights = found.importance().rename_axis("column").reset_index(name="share")
        panels.draw_release_chart(shown, charts.importance(weights), data=weights)
    if "tree" in released:
        counts: ReleasedTree = released["tree"]
        draw_largest_groups(remember(shown, "groups", lambda: counts.rows(released["leaf_counts"])))


def draw_largest_groups(groups: pd.DataFrame) -> None:
    """Draw a table of the generalized rows with the largest counts.

    `groups` has one line for each generalized row; its last column is the count.
    """
    title = say("The largest of {groups:,} groups that are not empty", groups=len(groups))
    panels.draw_table(groups.nlargest(LARGEST, groups.columns[-1]), title)


def draw_budget(shown: ShownRelease, found: Forest) -> None:
    """Draw the epsilon of levels and purposes, and how the trees' losses compose to the run's.

    `found` is the released forest.
    """
    ledger, parameters = shown.release.ledger, shown.release.parameters
    if math.isinf(ledger.epsilon_claimed):
        st.info(say("No query was answered with noise, so no epsilon can be proved."))
        return
    sampled = str(parameters.get("resample", "full"))  # methods of one tree have no such parameter
    if parameters["mode"] == "published" and "resample" in parameters:
        sampled = "bootstrap"
    markdown(COMPOSED["one" if found.trees == 1 and sampled in ("disjoint", "full") else sampled])
    if ledger.relation == "replace":
        markdown(
            "A row whose values change may leave one path of a tree and enter another. **Both "
            "paths are charged**: the run can cost up to twice as much as one of them."
        )
    frame = remember(shown, "budget", lambda: forest_frames.budget(ledger))
    several = bool(frame["per_tree"].any())
    if several:
        st.dataframe(epsilon_table(ledger), hide_index=True, width="content")
    title = say("Epsilon of one tree") if several else say("Epsilon from the root to a leaf")
    table = frame.drop(columns=["per_tree", "void"])
    panels.chart(charts.forest_budget(frame, title=title), data=table)
    left = frame.loc[frame["level"] < 0, "epsilon_claimed"].sum()
    if left > 0 and frame["epsilon_claimed"].sum() < math.inf:
        caption(
            "Epsilon {epsilon} of the run is charged for levels that no tree reached. On other "
            "rows, trees would have grown deeper, and a guarantee has to hold for all rows.",
            epsilon=number(left),
        )


def epsilon_table(ledger: Ledger) -> pd.DataFrame:
    """Return the epsilons of the whole run and of its nested parts, down to one tree.

    Each line has a part's name, its claimed epsilon, and its bound, or the nominal epsilon if the
    guarantee is void.
    """
    way = forest_frames.path_to_entries(ledger)
    names = [say("all trees together"), *(part.name for part in way[1:])]
    epsilons = [(claim(part.epsilon_claimed), limit(part.epsilon_nominal)) for part in way]
    rows = [(name, *both) for name, both in zip(names, epsilons, strict=True) if name]
    text = say("nominal (noise only)") if ledger.guarantee_void else say("epsilon proven at most")
    return pd.DataFrame(rows, columns=[say("part of the run"), say("claimed epsilon"), text])

"""What the page of trees and forests shows of its own: one tree, what the trees look at, and where epsilon went."""

import math

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.ledger import Ledger
from dpcore.dashboard import panels
from dpcore.dashboard.session import Shown, remember
from dpcore.postprocess import forest_frames
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.forest import Forest
from dpcore.text import claim, limit, number

MOST_NODES, LARGEST = 40, 20
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


def forest_of(shown: Shown) -> Forest | None:
    """The released forest; None for methods that release groups."""
    found: Forest | None = shown.release.model.released.get("forest")
    return found


def tree(page: str, shown: Shown) -> None:
    """One tree at a time, and what the trees look at; for methods that release groups, their tree of counts."""
    found, release = forest_of(shown), shown.release
    if found is None:
        group_tree(page, shown)
        return
    if sizes := release.model.sizes:
        many, deep = (sizes[name] for name in ("n_trees", "max_depth"))
        rule = all(release.parameters.get(name) is None for name in sizes)
        told = "one tree" if many == 1 else f"{many:,} trees"
        st.markdown(f"{'The rule gave' if rule else 'Grown:'} **{told}**, at most **{deep:,} levels** deep.")
    chosen = 1
    if found.trees > 1:
        left, _ = st.columns([1, 3])
        text = f"Tree (1 to {found.trees:,})"
        chosen = int(left.number_input(text, 1, found.trees, 1, key=f"{page}.tree:{id(shown)}"))
    frame = remember(shown, f"tree {chosen}", lambda: forest_frames.nodes(found, chosen - 1, most=MOST_NODES))
    exact = release.exact
    if exact:
        st.markdown("All counts are exact: this is the reference without privacy.")
    elif release.guarantee_void:
        st.markdown("Counts are part of the release, with as little protection: what the top of the page says.")
    else:
        st.markdown("All of this is part of the release: looking at it costs nothing more.")
    mark = charts.mark_real if exact else lambda picture: picture
    panels.chart(mark(charts.forest_tree(frame, title=f"Tree {chosen} of {found.trees:,}")), data=frame)
    if found.leaf.all():
        st.info(
            "No tree was divided: the noise told nothing apart. More epsilon helps"
            + (", and so do fewer trees or levels." if release.model.reports is None else ", and so do more people."),
            icon=":material/info:",
        )
        return
    weights = remember(shown, "importance", lambda: found.importance().rename_axis("column").reset_index(name="share"))
    panels.chart(mark(charts.importance(weights)), data=weights)


def group_tree(page: str, shown: Shown) -> None:
    """The tree that predicts, and the largest of the groups that it was learned from."""
    released = shown.release.model.released
    counts: ReleasedTree = released["tree"]
    st.markdown(
        f"This method releases noisy counts of **{counts.leaves.size:,} groups**. The tree that predicts was learned "
        "from these counts alone, which costs nothing more."
    )
    frame = remember(shown, "classifier", lambda: forest_frames.nodes(released["classifier"], most=MOST_NODES))
    panels.chart(charts.forest_tree(frame, title="The tree that predicts"), data=frame)
    groups = remember(shown, "groups", lambda: counts.rows(released["leaf_counts"]))
    largest = groups.nlargest(LARGEST, groups.columns[-1])
    with st.expander(f"The {len(largest):,} largest of {len(groups):,} groups that are not empty"):
        columns = [*largest.columns[-1:], *largest.columns[:-1]]
        st.dataframe(largest[columns], hide_index=True, key=f"{page}.groups")


def budget(shown: Shown) -> None:
    """Which levels and purposes epsilon went to, and how the trees' prices make the price of all."""
    ledger, found = shown.release.ledger, forest_of(shown)
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
    picture = charts.forest_budget(frame, title="One tree" if several else "From the root to a leaf")
    panels.chart(picture, data=frame.drop(columns=["per_tree", "void"]))
    left = frame.loc[frame["level"] < 0, "epsilon_claimed"].sum()
    if left > 0 and frame["epsilon_claimed"].sum() < math.inf:
        st.caption(
            f"Epsilon {number(left)} of this is for levels that no tree reached. On other rows trees would have "
            "grown deeper, and a guarantee has to hold for all rows."
        )


def accounts(ledger: Ledger) -> pd.DataFrame:
    """From the whole run to the inside of one tree: what each costs."""
    way = forest_frames.inward(ledger)
    named = zip(["all trees together", *(part.name for part in way[1:])], way, strict=True)
    rows = [(name, claim(at.epsilon_claimed), limit(at.epsilon_of_noise)) for name, at in named if name]
    paid = "of the noise alone" if ledger.void else "can cost up to"
    return pd.DataFrame(rows, columns=["account", "claimed", paid])

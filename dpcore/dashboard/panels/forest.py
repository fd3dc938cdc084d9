"""What the page of trees and forests shows of its own: one tree, what the trees look at, and where epsilon went."""

import math

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.ledger import Ledger
from dpcore.dashboard import panels
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.widgets import caption, markdown
from dpcore.language import phrase, plural, say
from dpcore.postprocess import forest_frames
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.forest import Forest
from dpcore.text import claim, limit, number

MOST_NODES, LARGEST = 40, 20
COMPOSED = {
    "one": phrase(
        "There is **one tree**, grown from all rows: a row spends epsilon on one path, from the root to a leaf."
    ),
    "disjoint": phrase(
        "Each row is in **one tree only**, chosen at random. One person can change one tree, so all trees together "
        "can cost no more than one of them."
    ),
    "poisson": phrase(
        "Each tree sees its own **secret random sample** of the rows. A person is probably not in it, so that a tree "
        "may spend more inside than it can cost outside. The trees' privacy losses add up."
    ),
    "full": phrase("Every tree sees **every row**: the trees' privacy losses add up."),
    "bootstrap": phrase(
        "Every tree sees a **bootstrap sample**, in which a row can stand several times and then counts as often. "
        "The trees' privacy losses add up."
    ),
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
        told = plural("one tree", "{n:,} trees", many)
        ruled = say("The rule gave **{trees}**, at most **{deep:,} levels** deep.", trees=told, deep=deep)
        grown = say("Grown: **{trees}**, at most **{deep:,} levels** deep.", trees=told, deep=deep)
        st.markdown(ruled if rule else grown)
    chosen = 1
    if found.trees > 1:
        left, _ = st.columns([1, 3])
        text = say("Tree (1 to {trees:,})", trees=found.trees)
        chosen = int(left.number_input(text, 1, found.trees, 1, key=f"{page}.tree:{id(shown)}"))
    frame = remember(shown, f"tree {chosen}", lambda: forest_frames.nodes(found, chosen - 1, most=MOST_NODES))
    noiseless = release.noiseless
    if noiseless:
        markdown("All counts are noiseless: this is the baseline without privacy.")
    elif release.guarantee_void:
        markdown("Counts are part of the release, and no more is proved of them: see the top of the page.")
    else:
        markdown("All of this is part of the release: looking at it spends nothing more.")
    mark = charts.mark_real if noiseless else lambda picture: picture
    title = say("Tree {number} of {trees:,}", number=chosen, trees=found.trees)
    panels.chart(mark(charts.forest_tree(frame, title=title)), data=frame)
    if found.leaf.all():
        st.info(
            say(
                "No tree was split: nothing stood out of the noise. More epsilon helps, and so do fewer trees or "
                "levels."
            )
            if release.model.reports is None
            else say("No tree was split: nothing stood out of the noise. More epsilon helps, and so do more people."),
            icon=":material/info:",
        )
        return
    weights = remember(shown, "importance", lambda: found.importance().rename_axis("column").reset_index(name="share"))
    panels.chart(mark(charts.importance(weights)), data=weights)


def group_tree(page: str, shown: Shown) -> None:
    """The tree that predicts, and the largest of the groups that it was learned from."""
    released = shown.release.model.released
    counts: ReleasedTree = released["tree"]
    markdown(
        "This method releases noisy counts of **{groups:,} groups**. The tree that predicts was learned from these "
        "counts alone, at no further privacy loss.",
        groups=counts.leaves.size,
    )
    frame = remember(shown, "classifier", lambda: forest_frames.nodes(released["classifier"], most=MOST_NODES))
    panels.chart(charts.forest_tree(frame, title=say("The tree that predicts")), data=frame)
    groups = remember(shown, "groups", lambda: counts.rows(released["leaf_counts"]))
    largest = groups.nlargest(LARGEST, groups.columns[-1])
    told = say("The {n:,} largest of {groups:,} groups that are not empty", n=len(largest), groups=len(groups))
    with st.expander(told):
        columns = [*largest.columns[-1:], *largest.columns[:-1]]
        st.dataframe(largest[columns], hide_index=True, key=f"{page}.groups")


def budget(shown: Shown, found: Forest) -> None:
    """Which levels and purposes epsilon went to, and how the trees' prices make the price of all."""
    ledger = shown.release.ledger
    if math.isinf(ledger.epsilon_claimed):
        st.info(say("No query was answered with noise, so no epsilon can be proved."))
        return
    parameters = shown.release.parameters
    sampled = str(parameters.get("resample", "full"))  # methods of one tree do not choose
    if parameters["mode"] == "published" and "resample" in parameters:
        sampled = "bootstrap"
    markdown(COMPOSED["one" if found.trees == 1 and sampled in ("disjoint", "full") else sampled])
    if ledger.relation == "replace":
        markdown(
            "A row whose values change may leave one path of a tree and enter another. **Both paths are charged**: "
            "the run can cost up to twice as much as one of them."
        )
    frame = remember(shown, "budget", lambda: forest_frames.budget(ledger))
    several = bool(frame["per_tree"].any())
    if several:
        st.dataframe(accounts(ledger), hide_index=True, width="content")
    picture = charts.forest_budget(frame, title=say("One tree") if several else say("From the root to a leaf"))
    panels.chart(picture, data=frame.drop(columns=["per_tree", "void"]))
    left = frame.loc[frame["level"] < 0, "epsilon_claimed"].sum()
    if left > 0 and frame["epsilon_claimed"].sum() < math.inf:
        caption(
            "Epsilon {epsilon} of this is for levels that no tree reached. On other rows trees would have grown "
            "deeper, and a guarantee has to hold for all rows.",
            epsilon=number(left),
        )


def accounts(ledger: Ledger) -> pd.DataFrame:
    """From the whole run to the inside of one tree: what each costs."""
    way = forest_frames.inward(ledger)
    named = zip([say("all trees together"), *(part.name for part in way[1:])], way, strict=True)
    rows = [(name, claim(at.epsilon_claimed), limit(at.epsilon_nominal)) for name, at in named if name]
    paid = say("of the noise alone") if ledger.guarantee_void else say("can cost up to")
    return pd.DataFrame(rows, columns=[say("account"), say("claimed"), paid])

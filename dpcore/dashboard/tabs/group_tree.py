"""A tree that was learned from released counts of groups: the tree, and the groups."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import panels
from dpcore.dashboard.session import Shown, remember
from dpcore.postprocess import forest_frames
from dpcore.postprocess.count_tree import ReleasedTree
from dpcore.postprocess.group_tree import GroupTree

MOST_NODES = 40
LARGEST = 20


def tree(page: str, shown: Shown) -> None:
    """The tree that predicts, and the largest of the groups that it was learned from."""
    release = shown.release
    found = release.model.predictor
    assert isinstance(found, GroupTree)
    counts: ReleasedTree = release.model.released["tree"]
    st.markdown(
        f"This method releases noisy counts of **{counts.leaves.size:,} groups**. The tree that predicts was learned "
        "from these counts alone, which costs nothing more."
    )
    frame = remember(shown, "classifier", lambda: nodes(found, counts))
    panels.chart(charts.forest_tree(frame, title="The tree that predicts"), data=frame)
    groups = remember(shown, "groups", lambda: counts.rows(release.model.released["leaf_counts"]))
    largest = groups.nlargest(LARGEST, groups.columns[-1])
    with st.expander(f"The {len(largest):,} largest of {len(groups):,} groups that are not empty"):
        columns = [*largest.columns[-1:], *largest.columns[:-1]]
        st.dataframe(largest[columns], hide_index=True, key=f"{page}.groups")


def nodes(found: GroupTree, counts: ReleasedTree, most: int = MOST_NODES) -> pd.DataFrame:
    """The tree's upper levels as `charts.forest_tree` takes them; no node has a noisy count or a price of its own."""
    level, parent = [0] * len(found.nodes), [-1] * len(found.nodes)
    for place, node in enumerate(found.nodes):
        for child in (node.left, node.right) if node.column else ():
            level[child], parent[child] = level[place] + 1, place
    every, depth, above = np.arange(len(found.nodes)), np.array(level), np.array(parent)
    totals = np.array([sum(node.classes) for node in found.nodes])
    kept = forest_frames.upper(every, depth, totals, most)
    shares, labels = found.probabilities[kept], list(found.schema[found.target].labels)
    sides = ["" if up < 0 else side_of(found, counts, up, at) for at, up in zip(kept, above[kept], strict=True)]
    edges = ["" if up < 0 else f"{found.nodes[up].column}: {side}" for up, side in zip(above[kept], sides, strict=True)]
    return pd.DataFrame(
        {
            "place": kept,
            "parent": above[kept],
            "level": depth[kept],
            "text": [found.nodes[at].column for at in kept],
            "side": sides,
            "edge": edges,
            "noisy": np.nan,
            "counts": totals[kept],
            "class": pd.Categorical([labels[at] for at in shares.argmax(axis=1)], labels),
            "share": shares.max(axis=1),
            "spent": np.nan,
            "folded": forest_frames.folded(above, every, kept),
            "x": forest_frames.across(kept, above[kept]),
        }
    )


def side_of(found: GroupTree, counts: ReleasedTree, above: int, place: int) -> str:
    """The groups that go to a node, in words; the rest, if that is shorter."""
    node = found.nodes[above]
    column = found.schema[node.column]
    axis = counts.leaves.axes[found.schema.index(node.column)]
    left = sorted(set(node.goes_left))
    mine = left if place == node.left else sorted(set(range(len(axis.names))) - set(left))
    codes = [code for code, block in enumerate(axis.blocks.tolist()) if block in set(mine)]
    regular = column.size - column.missing
    if column.numeric and codes == list(range(codes[0], codes[-1] + 1)) and codes[-1] < regular:
        return column.interval(codes[0], codes[-1] + 1)
    return several([axis.names[i] for i in mine], len(axis.names))


def several(names: Sequence[str], of: int) -> str:
    """Some names out of so many."""
    return ", ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1:,} more of {of:,}"

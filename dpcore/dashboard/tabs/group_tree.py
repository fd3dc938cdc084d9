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
    panels.chart(charts.forest_tree(frame, title="The tree that predicts"))
    panels.table_behind(frame, "The numbers behind this chart")
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
    depth = np.array(level)
    deepest = max(int((np.cumsum(np.bincount(depth)) <= most).sum()) - 1, 0)
    below = np.zeros(len(found.nodes), dtype=int)
    for place in range(len(found.nodes) - 1, 0, -1):
        below[parent[place]] += below[place] + (depth[place] > deepest)
    kept = np.flatnonzero(depth <= deepest)
    shares, labels = found.probabilities, found.schema[found.target].labels
    rows = []
    for place in kept.tolist():
        node, above = found.nodes[place], parent[place]
        side = "" if above < 0 else side_of(found, counts, above, place)
        best = int(shares[place].argmax())
        rows.append(
            {
                "place": place,
                "parent": above,
                "level": level[place],
                "text": node.column,
                "side": side,
                "edge": "" if above < 0 else f"{found.nodes[above].column}: {side}",
                "noisy": np.nan,
                "counts": sum(node.classes),
                "class": labels[best],
                "share": shares[place, best],
                "spent": np.nan,
                "folded": int(below[place]),
            }
        )
    frame = pd.DataFrame(rows).assign(x=forest_frames.across(kept, np.array(parent)[kept]))
    return frame.assign(**{"class": pd.Categorical(frame["class"], list(labels))})


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

"""Panels of a release with a network: its graph, its clusters, and the epsilon of each family."""

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import panels
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.widgets import markdown
from dpcore.dashboard.workbench import Parts
from dpcore.datasets import Dataset
from dpcore.export.artifacts import Network
from dpcore.language import phrase, say

SHARE = phrase("share of all marginals’ epsilon")
COLUMNS = [phrase("child"), phrase("parents"), phrase("cluster"), phrase("cells"), SHARE]


def model_parts(shown: ShownRelease, _: Dataset) -> Parts:
    """Return the parts of the tab Model, network and clusters; none without a network."""
    found = shown.release.artifact
    if not isinstance(found, Network):
        return {}
    parts = {phrase("Network"): lambda: draw_network(shown, found)}
    return parts | {phrase("Clusters"): lambda: draw_clusters(shown, found)} if found.clusters else parts


def draw_network(shown: ShownRelease, found: Network) -> None:
    """Draw the network as a graph, and a table of its nodes.

    A node is a family (a child column with its parents), or a clique of a junction tree. `found` is
    the network of the release `shown`.
    """
    picture, frame = found.picture()
    text = phrase("{n:,} families (a column with its parents), {measured:,} of them measured with noise of their own.")
    if found.junction_tree:
        text = phrase("{n:,} cliques of a model that was fitted to measured marginals.")
    what = say(text, n=len(frame), measured=(frame["epsilon"] > 0).sum())
    st.markdown(f"{what} {panels.release_note(shown)}")
    panels.draw_release_chart(shown, picture)
    shares = frame["epsilon"] / max(frame["epsilon"].sum(), 1e-300)
    texts = {"parents": frame["parents"].map(", ".join), SHARE: shares.map("{:.1%}".format)}
    title = say("Every node: its size and its share of epsilon")
    panels.draw_table(frame.assign(**texts)[COLUMNS].rename(columns=say), title)


def draw_clusters(shown: ShownRelease, found: Network) -> None:
    """Draw the clusters of the network's columns or bits, and the noisy scores that made them."""
    sizes = ", ".join(str(len(cluster)) for cluster in found.clusters)
    what = phrase("bits")
    text = phrase(
        "**{many} clusters** of {sizes} bits. Relations between clusters are lost: rows are put "
        "together from independent parts."
    )
    if found.junction_tree:
        what = phrase("columns")
        text = phrase(
            "**{many} marginals were measured**, over {sizes} columns. They agree on the columns "
            "that they share, so relations between them are kept."
        )
    markdown(text, many=len(found.clusters), sizes=sizes)
    if len(pairs := found.similarity):
        groups = {name: i for i, cluster in enumerate(found.clusters, 1) for name in cluster}
        panels.draw_release_chart(shown, charts.affinity(pairs, groups))
    rows = [(i, ", ".join(cluster)) for i, cluster in enumerate(found.clusters, 1)]
    table = pd.DataFrame(rows, columns=[say("cluster"), say(what)])
    panels.draw_table(table, say("The {what} of every cluster", what=say(what)))

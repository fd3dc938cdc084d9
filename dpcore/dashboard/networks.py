"""Panels of releases that hold a network: the graph, its clusters, and what each family cost."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import panels
from dpcore.dashboard.state import Shown, remember

__all__ = ["clusters", "network"]


def network(shown: Shown) -> None:
    """The network as a graph, and its families as a table."""
    structure = shown.release.structure
    frame = remember(shown, "families", lambda: pd.DataFrame(structure["families"]))
    measured = int((frame["epsilon"] > 0).sum())
    st.markdown(
        f"{len(frame):,} families, {measured:,} of them measured with noise of their own. All of this is part of the "
        "release: it was chosen and measured privately, and may be shown."
        if shown.release.ledger.epsilon_bound < float("inf")
        else f"{len(frame):,} families. They were chosen with no protection that can be proved."
    )
    if "edges" in structure:
        edges = pd.DataFrame(structure["edges"], columns=["a", "b"])
        nodes = frame.assign(
            node=[", ".join([family["child"], *family["parents"]]) for family in structure["families"]]
        )
        panels.chart(charts.graph(edges, nodes))
    else:
        panels.chart(charts.network(frame))
    shares = frame["epsilon"] / max(shown.release.ledger.epsilon_bound, 1e-300)
    table = frame.assign(
        parents=frame["parents"].map(", ".join), epsilon=frame["epsilon"].map(panels.number), share=shares
    )
    with st.expander("Every family: its table's size and price"):
        st.dataframe(
            table,
            hide_index=True,
            column_config={"share": st.column_config.NumberColumn("share of the proved epsilon", format="percent")},
        )


def clusters(shown: Shown) -> None:
    """The clusters, and the noisy scores that they come from."""
    structure = shown.release.structure
    found = structure.get("clusters", [])
    if not found:
        st.info("This method makes no clusters: one network holds all columns.")
        return
    st.markdown(
        f"**{len(found)} clusters** of {', '.join(str(len(cluster)) for cluster in found)} bits. Whatever connects two "
        "clusters is lost: rows are put together from independent parts."
    )
    if "similarity" not in structure:
        st.info("These clusters are the columns in their order: no question was asked for them.")
    else:
        picture = remember(shown, "affinity", lambda: affinity(shown))
        panels.chart(picture)
    rows = [{"cluster": i, "bits": ", ".join(cluster)} for i, cluster in enumerate(found, start=1)]
    panels.table_behind(pd.DataFrame(rows), "The bits of every cluster")


def affinity(shown: Shown) -> Any:
    """The noisy matrix as a heat map."""
    names, scores = (shown.release.structure["similarity"][key] for key in ("names", "scores"))
    pairs = [
        {"a": a, "b": names[j], "score": scores[i][j]} for i, a in enumerate(names) for j in range(i + 1, len(names))
    ]
    groups = {name: i for i, cluster in enumerate(shown.release.structure["clusters"], start=1) for name in cluster}
    return charts.affinity(pd.DataFrame(pairs), groups)

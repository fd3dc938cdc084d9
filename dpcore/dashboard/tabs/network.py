"""Panels of releases that hold a network: the graph, its clusters, and what each family cost."""

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import panels
from dpcore.dashboard.session import Shown, remember
from dpcore.text import number


def network(shown: Shown) -> None:
    """The network as a graph, and its families as a table."""
    structure = shown.release.structure
    frame = remember(shown, "families", lambda: families_of(structure["families"]))
    measured = int((frame["epsilon"] > 0).sum())
    what = f"{len(frame):,} families, {measured:,} of them measured with noise of their own"
    if "edges" in structure:
        what = f"{len(frame):,} cliques, from {len(structure['clusters']):,} tables that were measured with noise"
    if math.isinf(shown.release.ledger.epsilon_claimed):
        st.markdown(f"{len(frame):,} families, the best ones, chosen and measured without any noise.")
    elif shown.release.guarantee_void:
        st.markdown(f"{what}. They are part of the release, with as little protection: what the top of the page says.")
    else:
        st.markdown(
            f"{what}. All of this is part of the release: it was chosen and measured privately, and costs nothing more "
            "to look at."
        )
    if "edges" in structure:
        edges = pd.DataFrame(structure["edges"], columns=["a", "b"])
        nodes = frame.assign(
            node=[", ".join([family["child"], *family["parents"]]) for family in structure["families"]],
            cluster=1,  # one tree; which table a clique comes from is told below
        )
        panels.chart(marked(shown, charts.graph(edges, nodes)))
    else:
        panels.chart(marked(shown, charts.network(frame)))
    shares = frame["epsilon"] / max(frame["epsilon"].sum(), 1e-300)
    table = frame.assign(parents=frame["parents"].map(", ".join), epsilon=frame["epsilon"].map(number), share=shares)
    if math.isinf(shown.release.ledger.epsilon_claimed):
        table = table.drop(columns=["epsilon", "share"])
    with st.expander("Every family: its table's size and price"):
        st.dataframe(
            table,
            hide_index=True,
            column_config={"share": st.column_config.NumberColumn("share of all tables", format="percent")},
        )


def families_of(found: list[dict[str, Any]]) -> pd.DataFrame:
    """The families as a frame; exact tables, which have no finite price, count as free."""
    frame = pd.DataFrame(found)
    prices = pd.to_numeric(frame["epsilon"], errors="coerce")
    return frame.assign(epsilon=prices.where(np.isfinite(prices), 0.0))


def clusters(shown: Shown) -> None:
    """The clusters, and the noisy scores that they come from."""
    structure = shown.release.structure
    found = structure.get("clusters", [])
    if not found:
        st.info("This method makes no clusters: one network holds all columns.")
        return
    sizes = ", ".join(str(len(cluster)) for cluster in found)
    if "edges" in structure:
        st.markdown(
            f"**{len(found)} tables were measured**, over {sizes} columns. They may share columns, and are made to "
            "agree there: what connects them is kept."
        )
    else:
        st.markdown(
            f"**{len(found)} clusters** of {sizes} bits. Whatever connects two clusters is lost: rows are put together "
            "from independent parts."
        )
        if len(structure.get("similarity", {}).get("names", [])) > 1:
            panels.chart(marked(shown, remember(shown, "affinity", lambda: affinity(shown))))
        else:
            st.info("These clusters are the columns in their order: no pair of bits was compared for them.")
    what = "columns" if "edges" in structure else "bits"
    rows = [{"cluster": i, what: ", ".join(cluster)} for i, cluster in enumerate(found, start=1)]
    panels.table_behind(pd.DataFrame(rows), f"The {what} of every cluster")


def marked(shown: Shown, picture: Any) -> Any:
    """The chart; with the mark "uses real data" if no noise is in what it shows."""
    return charts.mark_real(picture) if math.isinf(shown.release.ledger.epsilon_claimed) else picture


def affinity(shown: Shown) -> Any:
    """The noisy matrix as a heat map."""
    names, scores = (shown.release.structure["similarity"][key] for key in ("names", "scores"))
    pairs = [
        {"a": a, "b": names[j], "score": scores[i][j]} for i, a in enumerate(names) for j in range(i + 1, len(names))
    ]
    groups = {name: i for i, cluster in enumerate(shown.release.structure["clusters"], start=1) for name in cluster}
    return charts.affinity(pd.DataFrame(pairs), groups)

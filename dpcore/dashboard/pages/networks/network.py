"""Panels of releases that hold a network: the graph, its clusters, and what each family cost."""

import math
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import panels
from dpcore.dashboard.session import Shown, remember
from dpcore.dashboard.widgets import markdown
from dpcore.dashboard.workbench import Parts
from dpcore.datasets import Dataset
from dpcore.export.artifacts import Network
from dpcore.language import phrase, say
from dpcore.text import number

COLUMNS = (phrase("child"), phrase("parents"), phrase("cluster"), phrase("cells"), phrase("epsilon"))


def model(shown: Shown, _: Dataset) -> Parts:
    """The network and its clusters, if the release has one."""
    found = shown.release.artifact
    if not isinstance(found, Network):
        return {}
    parts = {phrase("Network"): lambda: network(shown)}
    return parts | {phrase("Clusters"): lambda: clusters(shown)} if found.clusters else parts


def network(shown: Shown) -> None:
    """The network as a graph, and its families as a table."""
    found = shown.release.artifact_as(Network)
    picture, frame = found.picture()
    measured, noiseless = int((frame["epsilon"] > 0).sum()), math.isinf(shown.release.ledger.epsilon_claimed)
    what = say(
        "{n:,} families, {measured:,} of them measured with noise of their own.", n=len(frame), measured=measured
    )
    if found.junction_tree:
        tables = len(found.clusters)
        what = say("{n:,} cliques, from {tables:,} marginals measured with noise.", n=len(frame), tables=tables)
        if not tables:
            what = say("{n:,} cliques of a model that was fitted to marginals measured with noise.", n=len(frame))
    if noiseless:
        markdown("{n:,} families, the best ones, chosen and measured without any noise.", n=len(frame))
    elif shown.release.guarantee_void:
        void = say("They are part of the release, and no more is proved of them: see the top of the page.")
        st.markdown(f"{what} {void}")
    else:
        free = say(
            "All of this is part of the release: it was chosen and measured privately, and looking at it spends "
            "nothing more."
        )
        st.markdown(f"{what} {free}")
    panels.chart(marked(shown, picture))
    shares = frame["epsilon"] / max(frame["epsilon"].sum(), 1e-300)
    table = frame.assign(parents=frame["parents"].map(", ".join), epsilon=frame["epsilon"].map(number), share=shares)
    if noiseless:
        table = table.drop(columns=["epsilon", "share"])
    with st.expander(say("Every family: its size and its share of epsilon")):
        shares_of_all = st.column_config.NumberColumn(say("share of all marginals"), format="percent")
        names: dict[str, Any] = {name: say(name) for name in COLUMNS}
        if "rho" in table:
            table, names["epsilon"] = table.drop(columns=["rho"]), say("rho")
        st.dataframe(table, hide_index=True, column_config=names | {"share": shares_of_all})


def clusters(shown: Shown) -> None:
    """The clusters, and the noisy scores that they come from."""
    found = shown.release.artifact_as(Network)
    many, sizes = len(found.clusters), ", ".join(str(len(cluster)) for cluster in found.clusters)
    if found.junction_tree:
        markdown(
            "**{many} marginals were measured**, over {sizes} columns. They may share columns, and are made to agree "
            "there: what connects them is kept.",
            many=many,
            sizes=sizes,
        )
    else:
        markdown(
            "**{many} clusters** of {sizes} bits. Whatever connects two clusters is lost: rows are put together from "
            "independent parts.",
            many=many,
            sizes=sizes,
        )
        pairs = remember(shown, "similarity", lambda: found.similarity)
        if len(pairs):
            groups = {name: i for i, cluster in enumerate(found.clusters, start=1) for name in cluster}
            panels.chart(marked(shown, charts.affinity(pairs, groups)))
        else:
            st.info(say("These clusters are the columns in their order: no pair of bits was compared for them."))
    what = say("columns") if found.junction_tree else say("bits")
    rows = [{say("cluster"): i, what: ", ".join(cluster)} for i, cluster in enumerate(found.clusters, start=1)]
    panels.table_behind(pd.DataFrame(rows), say("The {what} of every cluster", what=what))


def marked(shown: Shown, picture: Any) -> Any:
    """The chart; with the mark "uses real data" if no noise is in what it shows."""
    return charts.mark_real(picture) if math.isinf(shown.release.ledger.epsilon_claimed) else picture

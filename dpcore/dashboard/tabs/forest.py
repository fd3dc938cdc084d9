"""What the page of trees and forests asks and shows of its own: settings, one tree, and where epsilon went."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import panels
from dpcore.dashboard.session import ShownModel, remember
from dpcore.dashboard.tabs import group_tree
from dpcore.datasets import Dataset
from dpcore.domain.schema import Schema
from dpcore.methods import METHODS
from dpcore.methods.trees.base import USUAL_ROWS, sizes_for
from dpcore.postprocess import forest_frames
from dpcore.postprocess.forest import Forest

SAMPLING = {
    "disjoint": "Each row in one tree",
    "poisson": "A secret random sample per tree",
    "full": "All rows in every tree",
}
SAMPLING_HELP = (
    "Each row in one tree: every tree has the whole epsilon, and fewer rows. All rows: the trees share epsilon. Random "
    "samples lie between."
)
OWN = {  # what a method does where nobody says
    "corrected": {
        "criterion": "Gini impurity, then Max",
        "max_features": "All of them",
        "cuts": "Anywhere in their range",
    },
    "paper": {"criterion": "Information gain", "max_features": "Their root, by lot", "cuts": "Anywhere in their range"},
}
FEATURES = {"": "By the method", "sqrt": "The root of their number, by lot", "all": "All of them"}
CRITERIA = {
    "": "By the method",
    "Gini": "Gini impurity",
    "Max": "Max: rows of the largest class",
    "entropy": "Conditional entropy (counts rows)",
    "InfoGain": "Information gain per row",
}
CUTS = {"": "By the method", "numbers": "Anywhere in their range", "bins": "Between the schema's bins"}
VOTES = {"majority": "One vote per tree", "probability": "Probabilities, added up"}
CHILDREN = {"few": "Few groups (taxonomies)", "values": "One branch per value"}
MOST_NODES = 40
MOST_SHARE = 0.9


def picker(key: str, name: str, chosen: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """What a method lets one choose, as constructor arguments."""
    known, paper = METHODS[name]().get_params(), chosen["mode"] == "paper"
    left, middle, right = st.columns(3, gap="medium")
    found: dict[str, Any] = {}
    own = OWN[chosen["mode"]]
    with left:
        for parameter, label, most in (("n_trees", "Trees", 100), ("max_depth", "Depth at most", 12)):
            if parameter in known:
                found[parameter] = size(key, parameter, label, most, known[parameter], paper=paper)
        if "rounds" in known:
            rounds = st.slider("Specializations", 1, 20, known["rounds"], key=f"{key}.rounds", persist_state="session")
            found["rounds"] = int(rounds)
    with middle:
        rated = CRITERIA if "rounds" not in known else {name: CRITERIA[name] for name in ("Max", "InfoGain")}
        if "criterion" in known:
            found["criterion"] = select(key, "criterion", "Divisions are rated by", rated, known, name, own)
        if found.get("criterion") == "entropy" and schema.max_rows is None:
            st.caption("Entropy needs a public bound on the number of rows: declare one on the page Data & schema.")
        if "max_features" in known:
            found["max_features"] = select(key, "max_features", "Columns per node", FEATURES, known, name, own)
        fixed = paper and name == "DiffPRFs"  # the paper cuts anywhere, and has a branch per value
        if "cuts" in known and not fixed:
            found["cuts"] = select(key, "cuts", "Numbers are cut", CUTS, known, name, own)
        if "children" in known and not fixed:
            found["children"] = select(key, "children", "Categories fall into", CHILDREN, known, name)
    with right:
        if "resample" in known:
            found |= sampling(key, name, paper=paper)
        if "vote" in known:
            found["vote"] = select(key, "vote", "Trees give", VOTES, known, name)
        if "prune" in known:
            found["prune"] = st.toggle("Prune the tree", value=True, key=f"{key}.prune", persist_state="session")
        if "leaf_share" in known and not paper:
            found |= shares(key, known)
    return found


def size(key: str, parameter: str, label: str, most: int, default: int | None, *, paper: bool) -> int | None:
    """A number of trees or levels, or None where a rule finds it."""
    ruled = default is None and not paper
    if ruled and st.toggle(
        f"{label}: by rule",
        value=True,
        key=f"{key}.{parameter}_ruled",
        persist_state="session",
        help="From the public number of rows and epsilon: leaves need several hundred rows at epsilon 1.",
    ):
        return None
    usual = default or {"n_trees": 25, "max_depth": 5}[parameter]
    text = f"{key}.{parameter}.{usual}"
    return int(st.number_input(label, 1, most, usual, key=text, persist_state="session"))


def select(
    key: str,
    parameter: str,
    label: str,
    names: Mapping[str, str],
    known: Mapping[str, Any],
    method: str,
    own: Mapping[str, str] = MappingProxyType({}),
) -> str | None:
    """One of some options, the method's own first; "" stands for None, where a method decides, as `own` says."""
    if parameter in own:
        names = {**names, "": f"{own[parameter]} (usual)"}
    default = known[parameter] or ""
    options = [value for value in names if value or not default]
    found = st.selectbox(
        label,
        options,
        index=options.index(default),
        format_func=names.__getitem__,
        key=f"{key}.{parameter}.{method}",
        persist_state="session",
    )
    return found or None


def sampling(key: str, name: str, *, paper: bool) -> dict[str, Any]:
    """Which rows a tree sees."""
    default = METHODS[name]().get_params()["resample"]
    if default == "bootstrap" or paper:
        st.selectbox("Rows of a tree", ["A bootstrap sample"], disabled=True, key=f"{key}.bootstrap")
        return {}
    resample = st.selectbox(
        "Rows of a tree",
        list(SAMPLING),
        format_func=SAMPLING.__getitem__,
        key=f"{key}.resample",
        persist_state="session",
        help=SAMPLING_HELP,
    )
    if resample != "poisson":
        return {"resample": resample}
    rate = st.slider("Share of the rows in a sample", 0.01, 0.9, 0.2, key=f"{key}.rate", persist_state="session")
    return {"resample": resample, "rate": float(rate)}


def shares(key: str, known: Mapping[str, Any]) -> dict[str, float]:
    """How epsilon is split, if somebody wants to say so."""
    if not st.toggle("Split epsilon myself", value=False, key=f"{key}.split", persist_state="session"):
        return {}
    usual = [float(known[name] or 0.0) for name in ("count_share", "leaf_share")]
    counts = st.slider(
        "For numbers of rows",
        0.0,
        MOST_SHARE,
        usual[0],
        0.05,
        key=f"{key}.count_share",
        persist_state="session",
        help="With 0, no node is told to stop because it holds too few rows. The paper spends half of epsilon here.",
    )
    leaves = st.slider(
        "For classes in the leaves", 0.05, MOST_SHARE, usual[1], 0.05, key=f"{key}.leaf_share", persist_state="session"
    )
    rest = 1 - counts - leaves
    if rest < 0.01:
        st.markdown(":red[:material/error: Nothing is left to choose divisions with. Lower one of the two.]")
    else:
        st.caption(f"{rest:.0%} of epsilon choose the divisions.")
    return {"count_share": float(counts), "leaf_share": float(leaves)}


def next_run(name: str, parameters: Mapping[str, Any], printed: str, data: Dataset) -> None:
    """What the Run button would make."""
    if (
        name == "DiffPRFs"
        and parameters["mode"] == "corrected"
        and None in map(parameters.get, ("n_trees", "max_depth"))
    ):
        rows = len(data.train) if parameters["relation"] == "replace" else data.schema.max_rows
        trees, depth = sizes_for(rows, parameters["epsilon"], parameters["n_trees"])
        many = "one tree" if trees == 1 else f"{trees:,} trees"
        depth = parameters["max_depth"] or depth
        known = "the public number or bound" if rows else "as no public number is declared"
        why = f"{rows or USUAL_ROWS:,} rows, {known},"
        st.caption(f"By rule: {many}, at most {depth} levels deep (from {why} and epsilon {parameters['epsilon']:g}).")
    mode = printed[0].lower() + printed[1:] if parameters["mode"] == "paper" else "corrected"
    relation = {"add_remove": "add or remove one row", "replace": "change one row's values"}
    what = f"{name}, epsilon {parameters['epsilon']:g} ({relation[parameters['relation']]}), {mode}"
    st.caption(f"Next run: {what}. Every run is charged to the ledger.")


def forest_of(shown: ShownModel) -> Forest | None:
    """The released forest; None for methods that release groups."""
    found = shown.release.model.predictor
    return found if isinstance(found, Forest) else None


def tree(page: str, shown: ShownModel) -> None:
    """One tree at a time, and what the trees look at; for methods that release groups, their tree of counts."""
    found, release = forest_of(shown), shown.release
    if found is None:
        group_tree.tree(page, shown)
        return
    if release.sizes:
        many, deep = (release.sizes[name] for name in ("n_trees", "max_depth"))
        rule = all(release.parameters.get(name) is None for name in release.sizes)
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
            + (", and so do fewer trees or levels." if release.reports is None else ", and so do more people."),
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

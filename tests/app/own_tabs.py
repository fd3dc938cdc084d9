"""What the tabs that one family alone has must show of a release, whichever of its methods made it."""

import io
import json
import math
from typing import Any

import pandas as pd
from driving import shown, tab
from prepared import marked
from screen import charts, dataset, said
from streamlit.testing.v1 import AppTest

from dpcore import Schema
from dpcore.domain.binarize import Binarization
from dpcore.export.model_file import Model
from dpcore.methods import METHODS, JTree
from dpcore.methods.networks.base import ClusteredSynthesizer
from dpcore.postprocess.count_tree import ReleasedTree

NO_CLUSTERS = {
    name
    for name, kind in METHODS.items()
    if kind.page == "networks" and not issubclass(kind, ClusteredSynthesizer | JTree)
}
FITTED = ("Adaptive tables", "MST", "AIM")  # a model of all tables, and no table for each clique


def networks(at: AppTest, variant: str, content: dict[str, bytes]) -> None:
    """The graph, the clusters, and nothing in the file but names, sizes, prices and noisy scores."""
    release = shown(at).release
    name, structure, noiseless = release.method, release.structure, release.method == "NoPrivacy"
    assert len(charts(tab(at, "Price"))) == 3
    assert len(charts(tab(at, "Network"))) == 2
    (families,) = (table.value for table in at.dataframe)
    assert list(families["child"]) == [family["child"] for family in structure["families"]]
    assert f"{len(families)} {'cliques' if name in ('JTree', *FITTED) else 'families'}" in said(at)
    assert ("fitted to tables measured" in said(at)) == (name in FITTED)
    assert ("chosen and measured privately" in said(at)) == (not release.guarantee_void and not noiseless)
    assert marked(at)[-1] == noiseless
    tab(at, "Clusters")
    count = len(structure["clusters"])
    assert ("makes no clusters" in said(at)) == (name in NO_CLUSTERS) == (count == 0)
    assert len(charts(at)) <= 1 + (name not in NO_CLUSTERS | {"JTree"})
    assert (f"**{count} tables were measured**" in said(at)) == (name == "JTree")
    assert (f"**{count} clusters**" in said(at)) == (count > 0 and name != "JTree")
    assert json.loads(content["structure.json"]) == json.loads(json.dumps(structure))
    assert set(structure) <= {"families", "clusters", "similarity", "edges"}
    for family in structure["families"]:
        assert set(family) == {"child", "parents", "cluster", "cells", "epsilon"}
        assert family["cells"] >= 1
        assert math.isinf(float(family["epsilon"])) == (noiseless and float(family["epsilon"]) > 0)
    assert set(structure.get("similarity", {"names", "scores"})) == {"names", "scores"}
    schema, on_columns = dataset(at).schema, ("JTree", *FITTED, "PrivBayes refined", "Independent")
    bits = "columns" not in variant and not variant.startswith(on_columns)
    names = set((Binarization(schema).schema if bits else schema).names)
    assert {one for family in structure["families"] for one in (family["child"], *family["parents"])} == names


def taxonomy(at: AppTest, variant: str, content: dict[str, bytes]) -> None:
    """The file's tree is the released one, and its generalized rows are the tree's leaves."""
    release = shown(at).release
    schema = Schema.from_json(content["schema.json"].decode())
    tree = ReleasedTree.from_dict(schema, json.loads(content["structure.json"])["tree"])
    assert tree == ReleasedTree.from_dict(release.schema, release.structure["tree"])
    groups = pd.read_csv(io.BytesIO(content["generalized.csv"]))
    assert list(groups) == [*tree.leaves.family, "(rows)"]
    assert groups["(rows)"].tolist() == release.artifact.generalized["(rows)"].tolist()
    assert "generalized rows" in said(tab(at, "Take home"))


def forests(at: AppTest, variant: str, content: dict[str, bytes]) -> None:
    """Trees and budgets are released, and so unmarked; the file's model predicts as the released one."""
    release = shown(at).release
    for each in ("Trees", "Where the budget went"):
        assert set(marked(tab(at, each))) <= {release.noiseless}, each
    if release.parameters["mode"] == "paper" and release.method in ("SuLQ-ID3", "DiffPRF"):  # one tree, or a forest
        assert ("bootstrap sample" in said(at)) == (release.method == "DiffPRF")
    if content:
        rows = dataset(at).test
        assert (Model.from_json(content["model.json"]).predict(rows) == release.model.predict(rows)).all()


def responses(at: AppTest, variant: str, content: dict[str, bytes]) -> None:
    """Reports are taken home with their rules, but where they hold true answers."""
    release = shown(at).release
    if not content:
        return
    assert {"model.json", "schema.json", "config.json", "ledger.json", "replay.py"} <= set(content)
    text, readme = said(tab(at, "Take home")), content["README.md"].decode()
    if release.parameters["mode"] == "paper":  # its reports hold true answers, and so does what was learned from them
        assert ("holds noiseless figures of them" in text) == (
            release.method != "DTPD"
        )  # which turns the class as well
        assert "reports.csv" not in " ".join([*content, readme])
        assert "stays here" in text
        return
    rows = pd.read_csv(io.BytesIO(content["reports.csv"]))
    assert len(rows) == len(dataset(at).train)
    assert "reports.csv" in readme
    rules: list[dict[str, Any]] = json.loads(content["rules.json"])["questions"]
    assert len(rules) == rows.shape[1] - 1  # people are numbered
    for rule in (one for one in rules if "gain" in one):  # of categories
        assert abs(rule["gain"] + sum(rule["base"]) - 1) < 1e-9
        assert len(rule["values"]) == len(rule["base"])

"""What pages ask of trees and forests, in which words."""

from typing import Any

from dpcore.domain.schema import Schema
from dpcore.methods.parameters import CORRECTED, Control

RULE = "From the public number of rows and epsilon: leaves need several hundred rows at epsilon 1."
SHARED = (
    "Each row in one tree: every tree has the whole epsilon, and fewer rows. All rows: the trees share epsilon. Random "
    "samples lie between."
)
COUNTED = "With 0, no node is told to stop because it holds too few rows. The paper spends half of epsilon here."
CUTS = {
    "": "Anywhere in their range (usual)",
    "numbers": "Anywhere in their range",
    "bins": "Between the schema's bins",
}
CHILDREN = {"few": "Few groups (taxonomies)", "values": "One branch per value"}
SAMPLING = {
    "disjoint": "Each row in one tree",
    "poisson": "A secret random sample per tree",
    "full": "All rows in every tree",
}
VOTES = {"majority": "One vote per tree", "probability": "Probabilities, added up"}
SPLIT = ("split", "Split epsilon myself", False, None)


def usual(method: Any, printed: str, corrected: str) -> str:
    """What a method does where nobody says."""
    return f"{printed if method.mode == 'paper' else corrected} (usual)"


def criteria(method: Any, _: Schema) -> dict[str, str]:
    """What divisions may be rated by."""
    return {
        "": usual(method, "Information gain", "Gini impurity, then Max"),
        "Gini": "Gini impurity",
        "Max": "Max: rows of the largest class",
        "entropy": "Conditional entropy (counts rows)",
        "InfoGain": "Information gain per row",
    }


def features(method: Any, _: Schema) -> dict[str, str]:
    """How many columns a node may choose from."""
    own = usual(method, "Their root, by lot", "All of them")
    return {"": own, "sqrt": "The root of their number, by lot", "all": "All of them"}


def unbounded(method: Any, schema: Schema) -> str:
    """What a score lacks that counts rows."""
    if method.criterion != "entropy" or schema.max_rows is not None:
        return ""
    return "Entropy needs a public bound on the number of rows: declare one on the page Data & schema."


def rest(method: Any, _: Schema) -> str:
    """What choices have of epsilon."""
    left = 1 - method.count_share - method.leaf_share
    if left < 0.01:
        return ":red[:material/error: Nothing is left to choose divisions with. Lower one of the two.]"
    return f"{left:.0%} of epsilon choose the divisions."


CONTROLS: tuple[Control, ...] = (
    Control(
        "n_trees",
        "Trees",
        within=(1, 100),
        shown=25,
        toggle=("n_trees_ruled", "Trees: by rule", True, RULE),
        key="n_trees.{usual}",
        place="size",
    ),
    Control(
        "max_depth",
        "Depth at most",
        within=(1, 12),
        shown=5,
        toggle=("max_depth_ruled", "Depth at most: by rule", True, RULE),
        key="max_depth.{usual}",
        place="size",
    ),
    Control("criterion", "Divisions are rated by", criteria, told=unbounded, key="criterion.{title}", place="choice"),
    Control("max_features", "Columns per node", features, key="max_features.{title}", place="choice"),
    Control("cuts", "Numbers are cut", CUTS, key="cuts.{title}", place="choice"),
    Control("children", "Categories fall into", CHILDREN, key="children.{title}", place="choice"),
    Control(
        "resample",
        "Rows of a tree",
        SAMPLING,
        help=SHARED,
        when=CORRECTED,
        otherwise=("bootstrap", "A bootstrap sample"),
        place="sample",
    ),
    Control(
        "rate",
        "Share of the rows in a sample",
        slider=(0.01, 0.9),
        when={"mode": "corrected", "resample": "poisson"},
        place="sample",
    ),
    Control("vote", "Trees give", VOTES, key="vote.{title}", place="sample"),
    Control("prune", "Prune the tree", place="sample"),
    Control(
        "count_share",
        "For numbers of rows",
        help=COUNTED,
        slider=(0.0, 0.9, 0.05),
        when=CORRECTED,
        toggle=SPLIT,
        place="sample",
    ),
    Control(
        "leaf_share",
        "For classes in the leaves",
        slider=(0.05, 0.9, 0.05),
        told=rest,
        when=CORRECTED,
        toggle=SPLIT,
        place="sample",
    ),
)

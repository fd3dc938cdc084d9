"""What pages ask of trees and forests, in which words."""

from collections.abc import Callable
from typing import Any

from dpcore.domain.schema import Schema
from dpcore.methods.parameters import CORRECTED, Control

RULE = "From the public number of rows and epsilon: leaves need several hundred rows at epsilon 1."
SHARED = (
    "Each row in one tree: every tree has the whole epsilon, and fewer rows. All rows: the trees share epsilon. Random "
    "samples lie between."
)
COUNTED = "With 0, no node is told to stop because it holds too few rows. The paper spends half of epsilon here."
CRITERIA = {
    "Gini": "Gini impurity",
    "Max": "Max: rows of the largest class",
    "entropy": "Conditional entropy (counts rows)",
    "InfoGain": "Information gain per row",
}
FEATURES = {"sqrt": "The root of their number, by lot", "all": "All of them"}
CUTS = {"numbers": "Anywhere in their range", "bins": "Between the schema's bins"}
CHILDREN = {"few": "Few groups (taxonomies)", "values": "One branch per value", "one": "One value, and all others"}
READINGS = {"values": "Cuts; a branch per value (our reading)", "one": "Always 2: one value, and all others"}
SAMPLING = {
    "disjoint": "Each row in one tree",
    "poisson": "A secret random sample per tree",
    "full": "All rows in every tree",
}
VOTES = {"majority": "One vote per tree", "probability": "Probabilities, added up"}
SPLIT = ("split", "Split epsilon myself")


def usual(printed: str, corrected: str, names: dict[str, str]) -> Callable[[Any, Schema], dict[str, str]]:
    """Options, and first what a method does where nobody says."""
    return lambda method, _: {"": f"{printed if method.mode == 'paper' else corrected} (usual)", **names}


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


BY = usual("Information gain", "Gini impurity, then Max", CRITERIA)
COLUMNS = usual("Their root, by lot", "All of them", FEATURES)
CRITERION = Control("criterion", "Divisions are rated by", BY, told=unbounded, key=".{title}")
CONTROLS: tuple[Control, ...] = (
    Control("n_trees", "Trees", within=(1, 100), shown=25, rule=RULE, key=".{usual}"),
    Control("max_depth", "Depth at most", within=(1, 12), shown=5, rule=RULE, key=".{usual}"),
    CRITERION,
    Control("max_features", "Columns per node", COLUMNS, key=".{title}"),
    Control("cuts", "Numbers are cut", usual(CUTS["numbers"], CUTS["numbers"], CUTS), key=".{title}"),
    Control("children", "Categories fall into", CHILDREN, key=".{title}"),
    Control(
        "resample",
        "Rows of a tree",
        SAMPLING,
        help=SHARED,
        when=CORRECTED,
        otherwise=("bootstrap", "A bootstrap sample"),
    ),
    Control("rate", "Share of the rows in a sample", slider=(0.01, 0.9), when={**CORRECTED, "resample": "poisson"}),
    Control("vote", "Trees give", VOTES, key=".{title}"),
    Control("prune", "Prune the tree"),
    Control("count_share", "For numbers of rows", help=COUNTED, slider=(0.0, 0.9, 0.05), when=CORRECTED, fold=SPLIT),
    Control("leaf_share", "For classes in the leaves", slider=(0.05, 0.9, 0.05), told=rest, when=CORRECTED, fold=SPLIT),
)

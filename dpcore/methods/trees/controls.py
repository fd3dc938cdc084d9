"""What pages ask of trees and forests, in which words."""

from collections.abc import Callable
from typing import Any

from dpcore.domain.schema import Schema
from dpcore.language import phrase, say
from dpcore.methods.parameters import CORRECTED, Control

RULE = phrase("From the public number of rows and epsilon: leaves need several hundred rows at epsilon 1.")
SHARED = phrase(
    "Each row in one tree: every tree has the whole epsilon, and fewer rows. All rows: the trees share epsilon. Random "
    "samples lie between."
)
COUNTED = phrase(
    "With 0, no node is told to stop because it holds too few rows. The paper spends half of epsilon here."
)
CRITERIA = {
    "Gini": phrase("Gini impurity"),
    "Max": phrase("Max: rows of the largest class"),
    "entropy": phrase("Conditional entropy (counts rows)"),
    "InfoGain": phrase("Information gain per row"),
}
FEATURES = {"sqrt": phrase("The root of their number, by lot"), "all": phrase("All of them")}
CUTS = {"numbers": phrase("Anywhere in their range"), "bins": phrase("Between the schema's bins")}
CHILDREN = {
    "grouped": phrase("Few groups (taxonomies)"),
    "values": phrase("One branch per value"),
    "one_vs_rest": phrase("One value, and all others"),
}
NODES = {  # of Mu et al., whose nodes split in two
    "corrected": CHILDREN,
    "published": {
        "values": phrase("Cuts; a branch per value (our reading)"),
        "one_vs_rest": phrase("Always 2: one value, and all others"),
    },
}
SAMPLING = {
    "disjoint": phrase("Each row in one tree"),
    "poisson": phrase("A secret random sample per tree"),
    "full": phrase("All rows in every tree"),
}
VOTES = {"majority": phrase("One vote per tree"), "probability": phrase("Probabilities, added up")}


def usual(printed: str, corrected: str, names: dict[str, str]) -> Callable[[Any, Schema], dict[str, str]]:
    """Options, and first what a method does where nobody says."""
    return lambda method, _: {"": printed if method.mode == "published" else corrected, **names}


def published_value(number: int) -> Callable[[Any, Schema], int | None]:
    """What a paper has, in published mode; corrected, a rule says."""
    return lambda method, _: number if method.mode == "published" else None


def unbounded(method: Any, schema: Schema) -> str:
    """What a score lacks that counts rows."""
    if method.criterion != "entropy" or schema.max_rows is not None:
        return ""
    return phrase("Entropy needs a public bound on the number of rows: declare one on the page Data.")


def rest(method: Any, _: Schema) -> str:
    """What choices have of epsilon."""
    left = 1 - method.count_share - method.leaf_share
    if left < 0.01:
        return phrase(":red[:material/error: Nothing is left to choose divisions with. Lower one of the two.]")
    return say("{left:.0%} of epsilon choose the divisions.", left=left)


BY = usual(phrase("Information gain (usual)"), phrase("Gini, then Max (usual)"), CRITERIA)
COLUMNS = usual(phrase("Their root, by lot (usual)"), phrase("All of them (usual)"), FEATURES)
ANYWHERE = phrase("Anywhere (usual)")
CRITERION = Control("criterion", "Divisions are rated by", BY, note=unbounded)
CONTROLS: tuple[Control, ...] = (
    Control("n_trees", "Trees (empty: by rule)", help=RULE, within=(1, 100), initial=published_value(25)),
    Control("max_depth", "Depth at most (empty: by rule)", help=RULE, within=(1, 12), initial=published_value(5)),
    CRITERION,
    Control("max_features", "Columns per node", COLUMNS),
    Control("cuts", "Numbers are cut", usual(ANYWHERE, ANYWHERE, CUTS)),
    Control("categorical_splits", "Categories fall into", CHILDREN),
    Control("resample", "Rows of a tree", SAMPLING, help=SHARED, when=CORRECTED),
    Control("rate", "Share of the rows in a sample", within=(0.01, 0.9), when={**CORRECTED, "resample": "poisson"}),
    Control("vote", "Trees give", VOTES),
    Control("prune", "Prune the tree"),
    Control("count_share", "Share for numbers of rows", help=COUNTED, within=(0.0, 0.9, 0.05), when=CORRECTED),
    Control("leaf_share", "Share for classes in the leaves", within=(0.05, 0.9, 0.05), note=rest, when=CORRECTED),
)

"""A released tree as a table of nodes to be drawn, and where its epsilon went, level by level. Post-processing."""

import math
import re

import numpy as np
import pandas as pd

from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Floats, Ints
from dpcore.domain.splits import CodeSplit, NumberSplit
from dpcore.errors import ParameterError
from dpcore.postprocess.forest import Forest

PURPOSES = ("counts of records", "choices", "classes in leaves", "other")
NO_LEVEL = -1
REST = "levels that no tree reached"
LEVEL = re.compile(r"level (\d+): (records|division|classes in leaves)?")
ASKED = dict(zip(("records", "division", "classes in leaves"), PURPOSES, strict=False))
LossByLevel = dict[tuple[int, str], Epsilon]


def nodes(forest: Forest, tree: int = 0, *, most: int = 40) -> pd.DataFrame:
    """One tree, from 0, as many whole levels from the root as have at most `most` nodes together.

    Where not even the root's children are so few, the largest of them are kept. One row per node,
    level by level, children side by side: `index` and `parent`
    (numbers in the forest; -1 above the root), `level`, `text` (the column that divides it; empty
    for leaves), `side` (the branch that leads here, such as "≤ 37") and `edge` ("age ≤ 37"),
    `noisy` (NaN if not asked) and consistent `counts`, the most probable `class` and its `share`,
    `spent` (the epsilon that a record has cost on its way, this node's questions included), `leaf`,
    and `count_folded` (how many nodes below it are not kept).
    """
    if not 0 <= tree < forest.trees:
        raise ParameterError("The forest has no such tree.", f"Choose a number from 0 to {forest.trees - 1}.")
    if most < 1:
        raise ParameterError("There is room for no node.", "Allow 1 or more.")
    every = np.flatnonzero(forest.tree == tree)  # level by level
    kept = every[np.isin(every, upper(every, forest.level, forest.counts, most))]
    shares = forest.probabilities[kept]
    best = shares.argmax(axis=1)
    labels = forest.schema[forest.target].labels
    names = forest.schema.names
    sides = [side_of(forest, index) for index in kept.tolist()]
    return pd.DataFrame(
        {
            "place": kept,
            "parent": forest.parent[kept],
            "level": forest.level[kept],
            "text": [names[column] if column >= 0 else "" for column in forest.column[kept].tolist()],
            "side": [side for side, _ in sides],
            "edge": [edge for _, edge in sides],
            "noisy": forest.noisy[kept],
            "counts": forest.counts[kept],
            "class": pd.Categorical([labels[index] for index in best.tolist()], categories=list(labels)),
            "share": shares[np.arange(len(kept)), best],
            "spent": forest.spent[kept],
            "leaf": forest.leaf[kept],
            "folded": count_folded(forest.parent, every, kept),
        }
    )


def upper(every: Ints, level: Ints, counts: Floats, most: int) -> Ints:
    """The nodes of a tree that are kept."""
    depth = level[every]
    up_to = np.cumsum(np.bincount(depth))
    levels = int((up_to <= most).sum())
    if levels != 1 or len(up_to) == 1:
        return every[depth < max(levels, 1)]
    children = every[depth == 1]
    largest = np.argsort(-counts[children], kind="stable")[: most - 1]
    return np.concatenate([every[:1], children[largest]])


def count_folded(parent: Ints, every: Ints, kept: Ints) -> Ints:
    """How many nodes below each kept node are not kept."""
    below = np.zeros(len(parent), dtype=np.intp)
    below[np.setdiff1d(every, kept)] = 1
    for index in every[:0:-1].tolist():  # children before their parents, and not the root
        below[parent[index]] += below[index]
    return below[kept]


def side_of(forest: Forest, index: int) -> tuple[str, str]:
    """The branch that leads to a node, without and with the column's name."""
    above = int(forest.parent[index])
    if above < 0:
        return "", ""
    attribute = forest.attributes[int(forest.column[above])]
    child = index - int(forest.first[above])
    side = attribute.text(float(forest.low[above]), float(forest.cut[above]), child)
    point = attribute.column.numeric and isinstance(attribute, CodeSplit | NumberSplit)
    return side, f"{attribute.column.name}{'' if point else ':'} {side}"


def budget(ledger: Ledger) -> pd.DataFrame:
    """What the dearest way from a root to a leaf costs, by level and purpose.

    Questions about disjoint records cost the dearest of them, so a record pays for one way down; of
    ways that cost the same, the longest is told. A leaf that stops early may have spent on its
    classes what a longer way pays later. The epsilons are those of the account that questions are
    charged to: one record's way through one tree, in the sample of rows that this tree sees. They
    sum to what that account was charged.

    Columns: `level` (-1 for what belongs to none), `purpose`, `epsilon_claimed` and
    `epsilon_nominal` (of the way that is dearest by the claim, and by what its noise costs),
    `account` (what they are of), `per_tree` (whether that is one of several trees, or one sample of
    rows, so that the whole run costs another sum), and `void` (whether what the noise costs is no
    bound, because something else gives the rows away). A person with several rows pays that for
    each.
    """
    way = inward(ledger)
    # of rows, of which a person has several
    ledger = way[1] if ledger.unit_column and len(way) > 1 else ledger
    at, names = way[-1], [part.name for part in way[1:] if part.name]
    claimed, spent = largest_loss(at, "epsilon_claimed", NO_LEVEL), largest_loss(at, "epsilon_nominal", NO_LEVEL)
    part = (at.epsilon_claimed, at.epsilon_nominal) != (ledger.epsilon_claimed, ledger.epsilon_nominal)
    keys = sorted({**claimed, **spent}, key=lambda key: (key[0] if key[0] >= 0 else math.inf, PURPOSES.index(key[1])))
    rows = [
        (level, purpose, float(claimed.get((level, purpose), 0)), float(spent.get((level, purpose), 0)))
        for level, purpose in keys
    ]
    frame = pd.DataFrame(rows, columns=["level", "purpose", "epsilon_claimed", "epsilon_nominal"])
    return frame.assign(account=": ".join(names) or "the whole run", per_tree=part, void=bool(ledger.guarantee_void))


def inward(ledger: Ledger) -> list[Ledger]:
    """From an account down to the part that holds all of its questions, each part of the one before."""
    way = [ledger]
    while len(way[-1].children) == 1 and not way[-1].own_entries:
        way += way[-1].children
    return way


def largest_loss(ledger: Ledger, field: str, level: int) -> LossByLevel:
    """What the dearest way through an account costs; `level` is where its questions begin."""
    spent: LossByLevel = {}

    def add(more: LossByLevel) -> None:
        for key, epsilon in more.items():
            spent[key] = spent.get(key, exact(0)) + epsilon

    for entry in ledger.own_entries:
        level, purpose = level_and_purpose(entry, level)
        add({(NO_LEVEL if entry.name == REST else level, purpose): getattr(entry, field)})
    ways = [largest_loss(child, field, level) for child in ledger.children]
    # Parts of a group hold disjoint records: a record is in one of them. Other children add up.
    for way in [max(ways, key=rank)] if ways and ledger.in_parallel else ways:
        add(way)
    return spent


def rank(way: LossByLevel) -> tuple[Epsilon, int]:
    """By what a way costs, then by how far it goes down."""
    return sum(way.values(), start=exact(0)), max((level for level, _ in way), default=NO_LEVEL)


def level_and_purpose(entry: Entry, level: int) -> tuple[int, str]:
    """A question's level and purpose; one that does not say its level belongs to the last one that did."""
    found = LEVEL.match(entry.name)
    if found is None:
        return level, PURPOSES[-1]
    return int(found[1]), ASKED.get(found[2], PURPOSES[-1])

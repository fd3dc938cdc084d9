"""Tables of a released tree's nodes, for charts, and of the tree's privacy loss level by level."""

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

PURPOSES = ("counts of records", "choices of splits", "classes in leaves", "other purposes")
NO_LEVEL = -1
REST = "levels that no tree reached"
LEVEL = re.compile(r"level (\d+): (records|split|classes in leaves)?")
PURPOSE_OF = dict(zip(("records", "split", "classes in leaves"), PURPOSES, strict=False))
LossByLevel = dict[tuple[int, str], Epsilon]


def node_table(forest: Forest, tree: int = 0, *, most: int = 40) -> pd.DataFrame:
    """Return a table of one tree's nodes, as many whole levels from the root as have `most` nodes.

    `tree` is a number from 0. If the root has too many children, the largest ones are kept. There
    is one row per node, level by level, children side by side.

    Columns: `place` and `parent` (positions in the forest; -1 above the root), `level`, `text` (the
    column that splits the node; empty for leaves), `side` (the branch that leads to the node, such
    as "≤ 37"), `edge` ("age ≤ 37"), `noisy` (NaN if not measured) and consistent `counts`, the most
    probable `class` and its `share`, `spent` (the epsilon that a record has cost on its path, this
    node's queries included), `leaf`, and `folded` (the number of nodes below that are left out).
    """
    if not 0 <= tree < forest.trees:
        raise ParameterError(f"The forest has no tree {tree}.", f"Choose 0 to {forest.trees - 1}.")
    if most < 1:
        raise ParameterError(f"`most` must be 1 or more; got {most}.", "Allow more nodes.")
    every = np.flatnonzero(forest.tree == tree)  # level by level
    kept = every[np.isin(every, top_nodes(every, forest.level, forest.counts, most))]
    shares = forest.probabilities[kept]
    best = shares.argmax(axis=1)
    labels, names = forest.schema[forest.target].labels, forest.schema.names
    sides = [branch_texts(forest, index) for index in kept.tolist()]
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


def top_nodes(every: Ints, level: Ints, counts: Floats, most: int) -> Ints:
    """Return the positions of a tree's nodes to keep: whole levels, or the largest children.

    `every` has the positions of the tree's nodes in the forest, level by level. `level` has the
    depth of all nodes, and `counts` their numbers of records. At most `most` nodes are kept: as
    many whole levels as fit, otherwise the root and its largest children.
    """
    depth = level[every]
    up_to = np.cumsum(np.bincount(depth))
    levels = int((up_to <= most).sum())
    if levels != 1 or len(up_to) == 1:
        return every[depth < max(levels, 1)]
    children = every[depth == 1]
    largest = np.argsort(-counts[children], kind="stable")[: most - 1]
    return np.concatenate([every[:1], children[largest]])


def count_folded(parent: Ints, every: Ints, kept: Ints) -> Ints:
    """Count, for each kept node, the nodes below it that are not kept.

    `parent` has the position of every node's parent; `every` are the nodes of one tree, level by
    level.
    """
    below = np.zeros(len(parent), dtype=np.intp)
    below[np.setdiff1d(every, kept)] = 1
    for index in every[:0:-1].tolist():  # children before their parents, and not the root
        below[parent[index]] += below[index]
    return below[kept]


def branch_texts(forest: Forest, index: int) -> tuple[str, str]:
    """Return the branch that leads to a node as two texts, without and with the column's name.

    `index` is the node's position in the forest; the texts are empty for a root.
    """
    above = int(forest.parent[index])
    if above < 0:
        return "", ""
    attribute = forest.attributes[int(forest.column[above])]
    child = index - int(forest.first[above])
    side = attribute.text(float(forest.low[above]), float(forest.cut[above]), child)
    point = attribute.column.numeric and isinstance(attribute, CodeSplit | NumberSplit)
    return side, f"{attribute.column.name}{'' if point else ':'} {side}"


def budget(ledger: Ledger) -> pd.DataFrame:
    """Return the largest privacy loss of a path from a root to a leaf, by level and purpose.

    By parallel composition, queries about disjoint records cost as much as the largest of them, so
    a record's loss is that of one path. Among paths with the same loss, the longest is taken. A
    leaf that stops early may have spent on its classes what a longer path spends later. The
    epsilons are those in the ledger that charges the queries: one record's path through one tree,
    in the sample of rows that this tree is trained on. They sum to the loss of that ledger.

    Columns: `level` (-1 for entries of no level), `purpose`, `epsilon_claimed` and
    `epsilon_nominal` (of the path with the largest claimed, or nominal, epsilon), `account` (the
    ledger's name), `per_tree` (whether the ledger is of one of several trees or one sample of rows,
    so that the run's sum differs), and `void` (whether the nominal epsilon is no bound, because the
    guarantee is void). A person with several rows has this loss for each row.
    """
    path = path_to_entries(ledger)
    # the ledger of rows, if a person has several
    ledger = path[1] if ledger.unit_column and len(path) > 1 else ledger
    at, names = path[-1], [part.name for part in path[1:] if part.name]
    claimed, spent = (largest_loss(at, f"epsilon_{kind}", NO_LEVEL) for kind in ("claimed", "nominal"))
    part = (at.epsilon_claimed, at.epsilon_nominal) != (ledger.epsilon_claimed, ledger.epsilon_nominal)
    keys = sorted({**claimed, **spent}, key=lambda key: (key[0] if key[0] >= 0 else math.inf, PURPOSES.index(key[1])))
    rows = [
        (level, purpose, float(claimed.get((level, purpose), 0)), float(spent.get((level, purpose), 0)))
        for level, purpose in keys
    ]
    frame = pd.DataFrame(rows, columns=["level", "purpose", "epsilon_claimed", "epsilon_nominal"])
    return frame.assign(account=": ".join(names) or "the whole run", per_tree=part, void=bool(ledger.guarantee_void))


def path_to_entries(ledger: Ledger) -> list[Ledger]:
    """Return the chain of nested ledgers, from `ledger` down to the one with the queries.

    The chain follows single children, and ends at the first ledger with entries or several
    children.
    """
    path = [ledger]
    while len(path[-1].children) == 1 and not path[-1].own_entries:
        path += path[-1].children
    return path


def largest_loss(ledger: Ledger, field: str, level: int) -> LossByLevel:
    """Return the losses, by level and purpose, of the path with the largest loss through a ledger.

    `level` is the level of entries that do not name one. `field` is the name of the epsilon to add
    up: "epsilon_claimed" or "epsilon_nominal".
    """
    spent: LossByLevel = {}

    def add(more: LossByLevel) -> None:
        """Add the losses `more` of a part of the ledger to `spent`, by level and purpose."""
        for key, epsilon in more.items():
            spent[key] = spent.get(key, exact(0)) + epsilon

    for entry in ledger.own_entries:
        level, purpose = level_and_purpose(entry, level)
        add({(NO_LEVEL if entry.name == REST else level, purpose): getattr(entry, field)})
    paths = [largest_loss(child, field, level) for child in ledger.children]
    # Parts in parallel hold disjoint records: a record is in one part. Other children add up.
    for path in [max(paths, key=loss_and_depth)] if paths and ledger.in_parallel else paths:
        add(path)
    return spent


def loss_and_depth(path: LossByLevel) -> tuple[Epsilon, int]:
    """Return a path's total loss and its deepest level, by which paths are compared.

    `path` has the losses by level and purpose.
    """
    return sum(path.values(), start=exact(0)), max((level for level, _ in path), default=NO_LEVEL)


def level_and_purpose(entry: Entry, level: int) -> tuple[int, str]:
    """Return the level and purpose of an entry; an entry that names no level has the given one."""
    found = LEVEL.match(entry.name)
    if found is None:
        return level, PURPOSES[-1]
    return int(found[1]), PURPOSE_OF.get(found[2], PURPOSES[-1])

"""Released forests: public trees with noisy counts, their predictions, and their JSON.

Everything here is post-processing and has no privacy loss. All trees stand in one table of nodes,
level by level: the roots first, parents before their children, the children of a node side by side.

`prune_forest` prunes as C4.5 does, on released counts.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Flags, Floats, Ints
from dpcore.domain.column import Codes
from dpcore.domain.documents import json_value
from dpcore.domain.former_names import VALUES
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Attribute, Blocks, CodeSplit, Groups, NumberSplit, attributes_of, ticks_of_frame
from dpcore.errors import SchemaError
from dpcore.postprocess.simplex import rows_to_one

NOTHING = 1e-3  # a count up to this is taken as 0 records
FORMAT, TIE = "dpcore forest 1", 1e-5
MOST = 1 << 31  # bound on integers in a file
NUMERIC_SPLITS, VOTES = ("numbers", "lengths", "bins", "values"), ("majority", "probability")
CHILDREN = ("grouped", "values", "one_vs_rest", "halves")


class ReleasedDocument(ABC):
    """Base class of releases that are written as JSON-ready values next to a schema."""

    title: ClassVar[str]  # name of the kind of release, in errors

    @classmethod
    def from_dict(cls, schema: Schema, document: Mapping[str, Any]) -> Self:
        """Read a release from the values that `to_dict` returned.

        Parameters
        ----------
        schema : Schema
            The schema that the release was learned with.
        document : mapping
            The values.

        Returns
        -------
        Document
            An equal release.

        Raises
        ------
        SchemaError
            If the document is damaged or does not fit the schema.
        """
        try:
            found = cls._read(schema, document)
            found._check()
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, SchemaError):
            text = f"The document is not a {cls.title} of this schema, or it is damaged."
            raise SchemaError(text, "Choose a file that this program exported.") from None
        return found

    @classmethod
    @abstractmethod
    def _read(cls, schema: Schema, document: Mapping[str, Any]) -> Self:
        """Read a release from JSON-ready values; any exception means that they are damaged."""

    def _check(self) -> None:  # noqa: B027 - a subclass may have nothing to check
        """Raise ValueError unless all parts fit each other and the schema."""


class Predictor(ReleasedDocument):
    """Base class of released models that predict the class of rows."""

    schema: Schema
    target: str

    def _encode(self, frame: pd.DataFrame) -> dict[str, Codes]:
        """Return the codes of rows by column, except the target.

        Raises DataError if the rows do not fit the schema.
        """
        names = [name for name in self.schema.names if name != self.target]
        return dict(zip(names, self.schema.select(names).encode(frame).T, strict=True)) if names else {}


@dataclass(frozen=True, eq=False)
class Forest(Predictor):
    """Decision trees and their predictions. All arrays have one entry per node.

    Attributes
    ----------
    schema, target, cuts, children
        As for `attributes_of`.
    vote : {"majority", "probability"}
        Whether a tree gives one vote to its leaf's most probable class, or votes with the
        probabilities of the leaf's classes.
    tree, level, parent, column, first, fanout : int arrays
        Number of the tree; depth; the parent's position (-1 for roots); the position of the column
        that splits the node (-1 for leaves); the position of the first child; the number of
        children.
    cut, low : float arrays
        The split point of a numeric column (NaN otherwise), and the lower end of the node's range
        in that column.
    noisy, counts : float arrays
        The noisy number of records (NaN if it was not measured), and the consistent one, 0 or more.
    classes : float array of shape (nodes, classes)
        Consistent noisy counts by class, 0 or more.
    probabilities : float array of shape (nodes, classes)
        The shares of the classes in every node, as leaves vote them.
    spent : float array
        The epsilon that a record in the node has cost on its path from the root, the node's own
        queries included. It is the loss in the ledger of one tree, for adding or removing a record.
        The ledger of the run has the loss of all trees, samples and replaced records.
    """

    schema: Schema
    target: str
    cuts: str
    children: str
    vote: str
    tree: Ints
    level: Ints
    parent: Ints
    column: Ints
    first: Ints
    fanout: Ints
    cut: Floats
    low: Floats
    noisy: Floats
    counts: Floats
    classes: Floats
    probabilities: Floats
    spent: Floats

    title: ClassVar[str] = "forest"
    deepest: ClassVar[int] = 100  # largest level of a node in a file

    @classmethod
    def from_parents(cls, parent: Ints, *, classes: Floats, **texts: Any) -> Self:
        """Return a forest of nodes level by level, children side by side in their parents' order.

        Parameters
        ----------
        parent : int array of shape (nodes,)
            The position of each node's parent; -1 for the roots, which come first.
        classes : float array of shape (nodes, classes)
            Consistent noisy counts by class, 0 or more.
        **texts
            All other fields of the forest, except those that follow from these two.

        Returns
        -------
        Forest
            The trees.

        Raises
        ------
        ValueError
            If a tree is too deep.
        """
        roots, nothing = int((parent < 0).sum()), np.full(len(parent), np.nan)
        fanout = np.bincount(parent[roots:], minlength=len(parent))
        level, tree = np.zeros(len(parent), dtype=np.intp), np.arange(len(parent))
        start, end, depth = 0, roots, 0
        while end < len(parent):
            start, end, depth = end, end + int(fanout[start:end].sum()), depth + 1
            require(start < end and depth <= cls.deepest)
            level[start:end], tree[start:end] = depth, tree[parent[start:end]]
        first = np.where(fanout > 0, roots + np.cumsum(fanout) - fanout, 0)
        structure = {"parent": parent, "level": level, "tree": tree, "first": first, "fanout": fanout}
        counts = {"classes": classes, "counts": classes.sum(axis=1), "noisy": nothing, "spent": nothing}
        found = cls(**{**structure, **counts, "low": nothing.copy(), **texts})
        for _, here, low, _ in found.ranges():
            found.low[here] = low
        return found

    def _rebuild(self, **changes: Any) -> Self:
        """Return a forest with changed fields; fields that follow from them are computed again."""
        return self.from_parents(**{name: part for name, part in vars(self).items() if name not in DERIVED} | changes)

    @property
    def trees(self) -> int:
        """Number of trees."""
        return int((self.level == 0).sum())

    @property
    def levels(self) -> list[Ints]:
        """Positions of the nodes of every level, roots first."""
        return np.split(np.arange(len(self.level)), np.flatnonzero(np.diff(self.level)) + 1)

    @property
    def attributes(self) -> Mapping[int, Attribute]:
        """Columns that trees may split by, prepared for splitting, by the column's position."""
        return attributes_of(self.schema, self.target, cuts=self.cuts, children=self.children)

    @property
    def leaf(self) -> Flags:
        """Whether each node is a leaf, bool array of shape (nodes,)."""
        return self.column < 0

    @property
    def votes(self) -> Floats:
        """Vote of every node for each class, shape (nodes, classes)."""
        class_shares = self.probabilities
        if self.vote == "probability":
            return class_shares
        # Shares that differ in their last digits only are tied, and the first class wins.
        won = np.argmax(class_shares >= class_shares.max(axis=1, keepdims=True) - TIE, axis=1)
        return np.asarray(np.eye(class_shares.shape[1])[won])

    def apply(self, frame: pd.DataFrame) -> Ints:
        """Return the leaf of every row in every tree.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows; the target column may be missing.

        Returns
        -------
        int array of shape (n, trees)
            The positions of the leaves.

        Raises
        ------
        DataError
            If the rows do not fit the schema.
        """
        roots = np.flatnonzero(self.level == 0)
        at = np.repeat(roots[None, :], len(frame), axis=0)
        codes, every = self._encode(frame), self.attributes
        attributes = {position: every[position] for position in np.unique(self.column[~self.leaf]).tolist()}
        ticks = ticks_of_frame(frame, attributes)
        values = {position: ticks.get(position, codes[self.schema.names[position]]) for position in attributes}
        flat_at = at.ravel()
        row = np.repeat(np.arange(len(frame), dtype=np.intp), len(roots))
        moving = np.arange(len(flat_at))
        for _ in self.levels[1:]:
            moving = moving[self.column[flat_at[moving]] >= 0]
            columns = self.column[flat_at[moving]]
            for position, attribute in attributes.items():
                here = moving[columns == position]
                node, who = flat_at[here], row[here]
                side = attribute.side(values[position][who], self.cut[node], self.low[node])
                flat_at[here] = self.first[node] + side
        return flat_at.reshape(at.shape)

    def probability(self, frame: pd.DataFrame) -> Floats:
        """Return each row's shares of the trees' votes by class.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows; the target column may be missing.

        Returns
        -------
        float array of shape (n, classes)
            The shares; each row sums to 1.

        Raises
        ------
        DataError
            If the rows do not fit the schema.
        """
        leaves, votes = self.apply(frame), self.votes
        total = np.zeros((len(frame), votes.shape[1]))
        for tree in range(leaves.shape[1]):
            total += votes[leaves[:, tree]]
        return np.asarray(total / max(leaves.shape[1], 1), dtype=float)

    def importance(self) -> pd.Series[float]:
        """Return the feature importance of each column, a Series of shares by column.

        Importance is the share of impurity reduction. It uses noisy counts, so it adds no privacy
        loss. A split reduces impurity by the node's count times its Gini impurity, minus that of
        its children. The shares of all columns that trees may split by sum to 1, or are all 0 if no
        split reduced impurity.
        """
        weight = self.counts * (1 - (self.probabilities**2).sum(axis=1))
        inner, child = ~self.leaf, self.parent >= 0
        below = np.bincount(self.parent[child], weights=weight[child], minlength=len(weight))
        gain = np.bincount(self.column[inner], weights=(weight - below)[inner], minlength=len(self.schema))
        named = pd.Series(np.maximum(gain, 0.0), index=list(self.schema.names)).drop(self.target)
        total = float(named.sum())
        return named / total if total > 0 else named

    def to_dict(self) -> dict[str, Any]:
        """Return the forest without its schema as JSON-ready values."""
        texts = {name: getattr(self, name) for name in TEXT_FIELDS}
        return {"format": FORMAT, **texts, "nodes": {name: encode_list(getattr(self, name)) for name in ARRAYS}}

    @classmethod
    def _read(cls, schema: Schema, document: Mapping[str, Any]) -> Self:
        """Read a forest from a document; any exception means that it is damaged."""
        require(document["format"] == FORMAT)
        given: dict[str, Any] = {name: str(document[name]) for name in TEXT_FIELDS}
        given["children"] = VALUES["categorical_splits"].get(given["children"], given["children"])
        given |= {name: decode_list(document["nodes"][name], ARRAYS[name]) for name in ARRAYS}
        return cls(schema=schema, **given)

    def to_json(self) -> str:
        """Return the forest and its schema as JSON text that `from_json` reads."""
        document = {"format": FORMAT, "schema": json.loads(self.schema.to_json()), "forest": self.to_dict()}
        return json.dumps(document, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a forest and its schema from JSON text.

        Parameters
        ----------
        text : str or bytes
            The text from `to_json`; bytes are UTF-8.

        Returns
        -------
        Forest
            An equal forest.

        Raises
        ------
        SchemaError
            If the text is not a forest.
        """
        cause, remedy = "The file is not a forest", "Choose a file that this program exported."
        document = json_value(text, SchemaError, cause, remedy)
        try:
            schema, forest = json.dumps(document["schema"]), document["forest"]
        except (KeyError, TypeError):
            raise SchemaError(f"{cause}.", remedy) from None
        return cls.from_dict(Schema.from_json(schema), forest)

    def _check(self) -> None:
        """Raise ValueError unless every walk from a root ends at a leaf of its own tree.

        All numbers must fit each other and the schema.
        """
        n, d, target = len(self.tree), len(self.schema), self.schema.index(self.target)
        wide = n, self.schema.columns[target].size
        require(self.vote in VOTES and self.cuts in NUMERIC_SPLITS and self.children in CHILDREN)
        require(n > 0 and all(getattr(self, name).shape == (wide if name in BY_CLASS else (n,)) for name in ARRAYS))
        require(((self.column >= -1) & (self.column < d) & (self.column != target)).all())
        # Nodes stand level by level, and children side by side in their parents' order.
        require((np.diff(self.parent, prepend=-1) >= 0).all() and (self.parent < np.arange(n)).all())
        found, inner = self._rebuild(), ~self.leaf
        require(np.array_equal(self.fanout >= 2, inner) and np.array_equal(self.first[inner], found.first[inner]))
        require(all(np.array_equal(getattr(self, name), getattr(found, name)) for name in ("tree", "level", "fanout")))
        for attribute, here, low, high in found.ranges():
            require((self.fanout[here] == attribute.fanout(low, high)).all())
            require((self.low[here] == low).all())
            require(are_valid_splits(attribute, self.cut[here], low, high))
        require((self.classes >= 0).all() and (self.probabilities >= 0).all() and not (self.spent < 0).any())
        with np.errstate(over="ignore"):
            totals = self.classes.sum(axis=1)
        require(np.allclose(totals, self.counts, rtol=1e-6, atol=1e-6) and np.isfinite(totals).all())
        require(np.allclose(self.probabilities.sum(axis=1), 1.0, atol=1e-6))

    def ranges(self) -> Iterator[tuple[Attribute, Ints, Floats, Floats]]:
        """Yield the ranges that are left of each column at the nodes that split by it.

        Yields
        ------
        attribute : Attribute
            The column.
        nodes : int array of shape (k,)
            The nodes that split by the column.
        low, high : float arrays of shape (k,)
            The range of the column that the nodes' ancestors left.
        """
        levels, attributes = self.levels[1:], self.attributes
        for position in np.unique(self.column[~self.leaf]).tolist():
            attribute = attributes[position]
            low, high = (np.full(len(self.level), end) for end in attribute.start)
            for at in levels:
                above = self.parent[at]
                low[at], high[at] = low[above], high[above]
                own = self.column[above] == position
                here, above = at[own], above[own]
                child = here - self.first[above]
                low[here], high[here] = attribute.ranges(low[above], high[above], self.cut[above], child)
            here = np.flatnonzero(self.column == position)
            yield attribute, here, low[here], high[here]


def require(holds: bool | np.bool_) -> None:
    """Raise ValueError unless the condition `holds` is true."""
    if not holds:
        raise ValueError


def are_valid_splits(attribute: Attribute, points: Floats, low: Floats, high: Floats) -> bool:
    """Return whether a tree can split a column at `points`, for ranges [low, high) of the column."""
    if isinstance(attribute, Groups):
        return bool(np.isnan(points).all())
    start, end = (low, high) if isinstance(attribute, NumberSplit | Blocks) else (0, attribute.column.size)
    if isinstance(attribute, CodeSplit) or (isinstance(attribute, Blocks) and attribute.ordered):
        start, end = low + 1, high
    return bool(((start <= points) & (points < end) & (points == np.floor(points))).all())


TEXT_FIELDS = ("target", "cuts", "children", "vote")
BY_CLASS = ("classes", "probabilities")
DERIVED = ("tree", "level", "first", "fanout", "low", "counts")
ARRAYS: dict[str, Any] = {
    **dict.fromkeys(("tree", "level", "parent", "column", "first", "fanout"), np.intp),
    **dict.fromkeys(("cut", "low", "noisy", "counts", *BY_CLASS, "spent"), float),
}


def encode_list(values: NDArray[Any]) -> list[Any]:
    """Return an array as a list for JSON, with NaN as null."""
    if values.dtype.kind != "f" or values.ndim > 1:
        return [*values.tolist()]
    return [None if np.isnan(v) else v for v in values.tolist()]


def decode_list(values: Any, kind: Any) -> NDArray[Any]:
    """Return the array that `encode_list` wrote.

    Raises ValueError if a value is not a finite number of the type `kind`.
    """
    rows = [v for row in values for v in row] if isinstance(values[0], list) else values
    if kind is float:
        require(all(type(v) in (int, float, type(None)) for v in rows))
        found = np.array(values, dtype=float)
        require(not np.isinf(found).any())
        return found
    require(isinstance(values, list) and all(type(v) is int and abs(v) < MOST for v in rows))
    return np.array(values, dtype=kind)


def replace_leaf_counts(forest: Forest, cells: Floats, shown: Floats | None = None) -> Forest:
    """Return the same trees with new counts of classes in their leaves.

    `cells` has the counts by which leaves vote, shape (nodes, classes). `shown` has the counts to
    display, if they differ. Counts, classes and probabilities of all nodes follow.
    """
    parent, leaf = forest.parent, forest.leaf[:, None]
    classes = np.where(leaf, np.maximum(cells if shown is None else shown, 0.0), 0.0)
    levels = forest.levels[1:]
    for below in reversed(levels):
        np.add.at(classes, parent[below], classes[below])
    said = np.where(leaf, cells, classes)
    probabilities = class_shares(said)
    # from the top, so that empty nodes get the shares of their nearest ancestor that is not empty
    for below in levels:
        empty = below[(np.abs(said[below]) <= NOTHING).all(axis=1)]
        probabilities[empty] = probabilities[parent[empty]]
    return replace(forest, counts=classes.sum(axis=1), classes=classes, probabilities=probabilities)


def class_shares(counts: Floats) -> Floats:
    """Turn rows of counts into shares of classes that sum to 1; negative counts count as 0.

    Where no count is positive, the largest one gets the whole share, equally split among ties.
    """
    clipped = np.maximum(counts, 0.0)
    lost = clipped.sum(axis=1) <= NOTHING
    clipped[lost] = counts[lost] >= counts[lost].max(axis=1, keepdims=True, initial=-np.inf) - NOTHING
    return rows_to_one(clipped)


CONFIDENCE = 0.25  # C4.5's default


def pessimistic_errors(counts: Floats, errors: Floats) -> Floats:
    """Return the upper confidence limit of the number of errors among `counts` records.

    Let N be `counts`, and E `errors`, the number of misclassified records. The limit is N times the
    p at which E or fewer errors among N have probability 1/4 (Clopper and Pearson; Quinlan 1993,
    section 4.2). Counts may be fractions; 0 records have no errors.
    """
    from scipy.stats import beta  # slow, and needed nowhere else here

    wrong = np.minimum(errors, counts)
    limit = np.where(wrong < counts, beta.ppf(1 - CONFIDENCE, wrong + 1, np.maximum(counts - wrong, 1e-9)), 1.0)
    return np.where(counts > 0, counts * limit, 0.0)


def prune_forest(forest: Forest) -> Forest:
    """Return a forest in which subtrees that do not reduce pessimistic errors are leaves.

    A subtree becomes a leaf if the leaf would have no more pessimistic errors.
    """
    counts = forest.classes.sum(axis=1)
    own = pessimistic_errors(counts, counts - forest.classes.max(axis=1))
    column, errors = forest.column.copy(), own.copy()
    for at, below in reversed(list(pairwise(forest.levels))):
        at = at[~forest.leaf[at]]
        sums = np.bincount(forest.parent[below], weights=errors[below], minlength=len(counts))[at]
        better = own[at] <= sums + 1e-9
        column[at[better]] = -1
        errors[at] = np.where(better, own[at], sums)
    kept = np.ones(len(column), dtype=bool)
    for at in forest.levels[1:]:
        kept[at] = kept[forest.parent[at]] & (column[forest.parent[at]] >= 0)
    leaf, parent = column[kept] < 0, forest.parent[kept]
    put = {name: getattr(forest, name)[kept] for name in ARRAYS if name not in DERIVED}
    put["cut"] = np.where(leaf, np.nan, put["cut"])
    put["parent"] = np.where(parent < 0, -1, (np.cumsum(kept) - 1)[parent])
    return forest._rebuild(**put | {"column": column[kept]})

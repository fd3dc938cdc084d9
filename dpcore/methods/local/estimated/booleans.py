"""ID3 on bits that were kept or turned round: the bits, shares of conjunctions of them, and the tree."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Progress
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Groups, attributes_of
from dpcore.methods.local.estimated.trees import Division, Node, Stops, entropy, grow
from dpcore.postprocess.forest import Forest

Floats = NDArray[np.float64]
Rule = tuple[str, NDArray[np.int64]]
CUTS, CHILDREN = "values", "halves"
NOTHING = 1e-6  # below this, 2 theta - 1 tells nothing that any number of people could make up for
LEAST = 1e-9  # bits of gain


class Booleans:
    """A schema's columns as bits: public rules.

    Attributes
    ----------
    schema : Schema
        Of the bits. A column with one value has none.
    rules : list of (column name, int array)
        For `PrivateTable.recode`.
    bit_of : dict of int to int
        Which bit a column has, by the position of the column.
    classes : list of dict of int to int
        The bits of every class.
    """

    def __init__(self, source: Schema, target: str) -> None:
        columns: list[Column] = []
        self.rules: list[Rule] = []
        self.bit_of: dict[int, int] = {}
        for position, attribute in attributes_of(source, target, cuts=CUTS, children=CHILDREN).items():
            assert isinstance(attribute, Groups)
            if attribute.fans[0] == 2:
                self.bit_of[position] = len(columns)
                names = tuple(attribute.names[place] for place in attribute.children[0])
                columns.append(Column(name=attribute.column.name, kind="ordered", categories=names))
                self.rules.append((attribute.column.name, attribute.child_of[0].astype(np.int64)))
        label = source[target]
        width, start = max((label.size - 1).bit_length(), 1), len(columns)
        for shift in reversed(range(width)):
            name, values = f"{target} bit {width - shift}", ("0", "1")
            if width == 1:
                name, values = target, (label.labels[0], label.labels[-1] if label.size == 2 else "(nothing else)")
            while name in {column.name for column in columns}:
                name += "'"
            columns.append(Column(name=name, kind="ordered", categories=values))
            self.rules.append((target, np.arange(label.size) >> shift & 1))
        self.schema = Schema(columns=tuple(columns), source=source.source, max_rows=source.max_rows)
        self.classes = [{start + i: code >> (width - 1 - i) & 1 for i in range(width)} for code in range(label.size)]


class Conjunctions:
    """Estimated shares of people of whom some bits have some values.

    Parameters
    ----------
    bits : array of shape (n, bits)
        Reports.
    groups : sequence of sequences of int
        Of bits that were kept or turned round together; every bit is in one.
    theta : float
        How probably a group was kept.
    """

    def __init__(self, bits: NDArray[Any], groups: Sequence[Sequence[int]], theta: float) -> None:
        packed = np.packbits(bits.astype(bool), axis=1)
        _, first, counts = np.unique(packed, axis=0, return_index=True, return_counts=True)
        self.people = len(bits)
        self.counts = counts.astype(float)
        self.bits = np.ascontiguousarray(bits[first].T.astype(np.uint8))  # records that differ
        self.group = {bit: place for place, group in enumerate(groups) for bit in group}
        gain = 2 * theta - 1
        told = abs(gain) > NOTHING
        self.kept, self.turned = (theta / gain, (theta - 1) / gain) if told else (0.5, 0.5)

    def weights(self, literals: Mapping[int, int]) -> Floats:
        """What every different record counts for a conjunction (bit: value); their mean is its share."""
        found = np.ones(len(self.counts))
        for place in {self.group[bit] for bit in literals}:
            agree = [self.bits[bit] == value for bit, value in literals.items() if self.group[bit] == place]
            same, none = np.logical_and.reduce(agree), ~np.logical_or.reduce(agree)
            found *= self.kept * same + self.turned * none
        return found

    def share(self, literals: Mapping[int, int]) -> float:
        """The share of people; without bias, so it may be negative or more than 1."""
        return self.mean(self.weights(literals))

    def mean(self, weights: Floats) -> float:
        """Of all records."""
        return float(self.counts @ weights) / max(self.people, 1)

    def certainty(self, among: Mapping[int, int], first: Mapping[int, int], second: Mapping[int, int]) -> float:
        """How many standard errors the covariance of two conjunctions lies from 0, among the people of a third."""
        here = self.weights(among)
        share = self.mean(here)
        if share <= 0:
            return 0.0
        one, other, both = (self.weights({**among, **more}) for more in (first, second, {**first, **second}))
        a, b = (min(max(self.mean(found) / share, 0.0), 1.0) for found in (one, other))
        each = both - a * other - b * one + a * b * here  # what each record adds, for shares a and b
        mean = self.mean(each)
        spread = self.mean(each**2) - mean * mean
        return abs(mean) / float(np.sqrt(spread / self.people)) if spread > 0 else 0.0


def id3(
    known: Conjunctions,
    rules: Booleans,
    schema: Schema,
    target: str,
    stops: Stops,
    progress: Progress,
    *,
    certainty: float = 0.0,
) -> Forest:
    """The tree that ID3 grows from estimated shares; a node holds the bits that lead to it.

    With `certainty`, a bit divides a node only if its covariance with a class there is so many standard errors from 0.
    """

    def classes(literals: Mapping[int, int]) -> Floats:
        found = [known.share({**literals, **own}) for own in rules.classes]
        return np.clip(found, 0.0, 1.0)

    tested = rules.classes[:1] if len(rules.classes) == 2 else rules.classes  # what holds of one holds of the other

    def divided(node: Node) -> Division | None:
        best, most = None, 0.0
        for position, bit in rules.bit_of.items():
            if bit in node.held:
                continue
            if certainty and max(known.certainty(node.held, {bit: 1}, own) for own in tested) < certainty:
                continue
            halves = [{**node.held, bit: value} for value in (0, 1)]
            shares = np.stack([classes(half) for half in halves])
            total = float(shares.sum())
            if not total:
                continue
            # Children are weighed against the node that they add up to, not against another estimate of it.
            gain = float(entropy(shares.sum(axis=0)) - (shares.sum(axis=1) / total) @ entropy(shares))
            if gain > most + LEAST:
                best, most = Division(position, np.nan, known.people * shares, halves), gain
        return best

    def level(nodes: Sequence[Node]) -> list[Division | None]:
        found = []
        for i, node in enumerate(nodes):
            progress(0.3 + 0.7 * len(node.held) / (stops.max_depth + 1), f"level {len(node.held)}, node {i + 1}")
            found.append(divided(node))
        return found

    return grow(schema, target, known.people * classes({}), {}, level, stops, cuts=CUTS, children=CHILDREN)

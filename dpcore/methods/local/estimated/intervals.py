"""Trees on intervals: reports with noise are given to intervals so that counts agree with the true distribution."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arguments import Progress
from dpcore.domain.column import Column
from dpcore.domain.splits import Attribute, NumberCut, attributes_of
from dpcore.mechanisms.randomizers import TRR, Channel, Noised
from dpcore.methods.local.estimated.trees import Division, Node, Stops, gini, grow
from dpcore.postprocess.deconvolution import NOTICED, Cells, assigned, reconstruct
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.reports import Reports

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
CUTS, CHILDREN = "lengths", "few"
VARIANTS = ("by_class", "global", "local")
PER_INTERVAL, FEWEST, MOST = 100, 10, 100
LEAST = 1e-9  # impurity; less is rounding
KNOWN = 0.05
PATIENT = NOTICED / 10


@dataclass(frozen=True, eq=False)
class Held:
    """The people in a node: their places, the interval of each in every column, and the node's depth."""

    rows: Ints
    intervals: list[Ints]
    level: int


class Reconstruction:
    """Reports of numbers and a class, given to intervals, and the tree on them.

    Where classes are randomized as well, each side of a division has so many people that this adds a standard error of
    `KNOWN` at most to its classes' shares, and reconstruction is patient: noise is wider there, and steps are shorter.

    Parameters
    ----------
    reports : Reports
        Numbers by `TRR` with Laplace noise or by `Noised`; the class by a channel whose reports are classes.
    target : str
    variant : {"by_class", "global", "local"}
        Whether distributions are reconstructed by reported class, for all people together, or by reported class in
        every node. A column that divided a node above keeps its intervals below: people were chosen by what they
        reported of it, so that their reports are no longer numbers with independent noise.
    intervals : int, optional
        By default one for 100 people, and 10 to 100 of them.

    Attributes
    ----------
    distributions : dict of str to float array of shape (reported classes or 1, intervals)
        The shares of a column's intervals among all people.
    """

    def __init__(self, reports: Reports, target: str, variant: str, intervals: int | None = None) -> None:
        schema = reports.schema
        self.schema, self.target, self.variant, self.people = schema, target, variant, reports.people
        self.label, self.channel = reports.values[(target,)].astype(np.intp), reports.category((target,))
        # What randomizing adds to the variance of a share of n people: (1 - gain^2) / (4 n gain^2), for two classes.
        added = 1 / max(self.channel.gain, LEAST) ** 2 - 1
        self.noticed, self.fewest = PATIENT if added else NOTICED, max(added / 4 / KNOWN**2, 1.0)
        self.groups = 1 if variant == "global" else self.channel.size
        self.group = np.zeros_like(self.label) if variant == "global" else self.label
        wanted = intervals or min(max(reports.people // PER_INTERVAL, FEWEST), MOST)
        asked = attributes_of(schema, target, cuts=CUTS, children=CHILDREN)
        names = [family[0] for family in reports.channels if family != (target,)]
        self.positions = [schema.index(name) for name in names]
        self.numbers = [reports.values[(name,)] for name in names]
        self.cells = [cells_of(schema[name], reports.channels[(name,)], wanted) for name in names]
        self.kernels = [cells.kernel for cells in self.cells]
        self.attributes: list[Attribute] = [asked[position] for position in self.positions]
        self.ticks = [ticks(attribute, cells) for attribute, cells in zip(self.attributes, self.cells, strict=True)]
        everybody = np.arange(reports.people)
        found = [self.placed(j, [everybody]) for j in range(len(names))]
        self.distributions = {name: shares for name, (shares, _) in zip(names, found, strict=True)}
        self.root = Held(everybody, [intervals_of for _, (intervals_of,) in found], 0)

    def tree(self, stops: Stops, progress: Progress) -> Forest:
        """Grown by the Gini impurity, with cuts at the boundaries of intervals."""

        def divide(nodes: Sequence[Node]) -> list[Division | None]:
            level = nodes[0].held.level
            progress(0.3 + 0.7 * level / (stops.max_depth + 1), f"level {level}")
            if self.variant == "local" and level:
                self.place_anew(nodes)
            return [self.best(node) for node in nodes]

        classes = self.corrected(np.bincount(self.label, minlength=self.channel.size))
        return grow(self.schema, self.target, classes, self.root, divide, stops, cuts=CUTS, children=CHILDREN)

    def placed(self, j: int, nodes: Sequence[Ints]) -> tuple[Floats, list[Ints]]:
        """One column's distributions in some nodes, shape (nodes x groups, intervals), and the rows' intervals."""
        rows, sizes = np.concatenate(nodes), [len(own) for own in nodes]
        groups = len(nodes) * self.groups
        group, own = np.repeat(np.arange(len(nodes)), sizes) * self.groups + self.group[rows], self.numbers[j][rows]
        shares = reconstruct(self.cells[j].counts(own, group, groups), self.kernels[j], noticed=self.noticed).shares
        found = np.empty(len(rows), dtype=np.intp)
        members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group, minlength=groups))[:-1])
        for each, part in enumerate(members):
            found[part] = assigned(own[part], shares[each])
        return shares, np.split(found, np.cumsum(sizes)[:-1])

    def place_anew(self, nodes: Sequence[Node]) -> None:
        """Give people to intervals by the distributions in their own nodes."""
        for j, position in enumerate(self.positions):
            held = [node.held for node in nodes if position not in node.ranges]
            if held:
                for one, intervals in zip(held, self.placed(j, [one.rows for one in held])[1], strict=True):
                    one.intervals[j] = intervals

    def best(self, node: Node) -> Division | None:
        """The division that lowers the impurity most."""
        held: Held = node.held
        label, k = self.label[held.rows], self.channel.size
        best, most = None, LEAST
        for j, own in enumerate(held.intervals):
            cells = self.cells[j].intervals
            counts = np.bincount(own * k + label, minlength=cells * k).reshape(-1, k)
            left = np.cumsum(counts, axis=0)[:-1]
            sides = np.stack([left, counts.sum(axis=0) - left], axis=1)  # (boundaries, 2, classes)
            allowed = self.allowed(node, j) & (sides.sum(axis=2) >= self.fewest).all(axis=1)
            if not allowed.any():
                continue
            classes = self.corrected(sides[allowed])
            people = classes.sum(axis=2) / classes.sum(axis=(1, 2))[:, None]
            gains = gini(classes.sum(axis=1)) - (people * gini(classes)).sum(axis=1)
            place = int(gains.argmax())
            if gains[place] > most:
                most = float(gains[place])
                best = j, int(np.flatnonzero(allowed)[place]), classes[place]
        if best is None:
            return None
        j, at, found = best
        below = held.intervals[j] <= at
        children = [
            Held(held.rows[side], [intervals[side] for intervals in held.intervals], held.level + 1)
            for side in (below, ~below)
        ]
        return Division(self.positions[j], float(self.ticks[j][at]), found, children)

    def allowed(self, node: Node, j: int) -> NDArray[np.bool_]:
        """Which boundaries of a column lie in what a node has left of it."""
        attribute = self.attributes[j]
        low, high = node.ranges.get(self.positions[j], attribute.start())
        if attribute.fanout(np.array([low]), np.array([high]))[0] < 2:
            return np.zeros(len(self.ticks[j]), dtype=bool)
        return np.asarray((low <= self.ticks[j]) & (self.ticks[j] < high))

    def corrected(self, reported: NDArray[Any]) -> Floats:
        """Numbers of people by true class, of numbers by reported class on the last axis: 0 or more, of the same sum.

        The channel keeps every sum, so that no class has more people than there are.
        """
        people = reported.sum(axis=-1).astype(float)
        found = np.clip(self.channel.estimate(reported.astype(float), people), 0.0, people[..., None])
        total = found.sum(axis=-1)
        return np.asarray(found * np.divide(people, total, out=np.ones_like(people), where=total > 0)[..., None])


def cells_of(column: Column, channel: Channel, wanted: int) -> Cells:
    """The intervals of a number: of whole ones from half below the first to half above the last."""
    assert isinstance(channel, TRR)
    lower, upper = float(column.lower or 0.0), float(column.upper or 0.0)
    if column.kind == "integer":
        wanted, lower, upper = min(wanted, int(upper - lower) + 1), lower - 0.5, upper + 0.5
    return Cells(lower, upper, wanted, channel.kind if isinstance(channel, Noised) else "laplace", channel.scale)


def ticks(attribute: Attribute, cells: Cells) -> Floats:
    """The boundaries on the grid of cuts."""
    assert isinstance(attribute, NumberCut)
    return attribute.ticks(cells.boundaries)

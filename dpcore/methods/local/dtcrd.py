r"""DTCRD: decision trees from numbers with noise, by reconstructed distributions (compared with in paper 004).

Idea      Each person adds noise of a public density to every number. The distribution of the true numbers can be
          reconstructed, though no number can; records are then given to intervals so that the counts agree with it, and
          a tree is grown on the intervals.

Steps, as printed (mode="published")
  1  Numbers with uniform or normal noise. Its width: the interval that holds 95% of it, as a share of the public range
     (`privacy`; 1 is "100% privacy").                                                                unprotected, each
  2  The class is handed in as it is. Categories are not used: the source knows none.                       unprotected
  3  The range of each number falls into m equal intervals (100 people for each; 10 to 100 of them: our choice), and its
     distribution over them is reconstructed (`reconstruct`): for each class (variant="by_class"), for all together
     ("global"), or for each class in every node anew ("local"), but for numbers that divided a node above: people
     were chosen there by their reports, which are no longer numbers with independent noise.          post-processing
  4  Within a class, reports are sorted; the lowest n f_1 records go to interval 1, and so on.        post-processing
  5  The boundary that lowers the Gini impurity most divides a node, until no boundary lowers it: here nodes end at
     depth 10 and below .001 of the people, corrected at 5 and .02 (our choices).                     post-processing

Steps, corrected (mode="corrected"): epsilon is what all reports of one person cost together, in r + 1 equal parts e
  1  Numbers, moved into their public bounds [L, U], with Laplace noise of scale (U - L) / e.             randomize, e
     95% of it lie in an interval of 6 (U - L) / e.
  2  The class by ERRPH.                                                                                  randomize, e
  3  As printed, with "class" for the reported class, and until a step is ten times shorter.          post-processing
  5  Counts of classes in nodes are corrected for the rule of step 2, and moved to 0 or more. Each side of a division
     has enough people for the noise of that to be .05 at most in a class's share.                    post-processing

Privacy   Local.
  Public    the schema, its bounds; the noise; m; who takes part, and so n.
  1         Laplace noise: |w - x| differs by U - L at most. Uniform noise: a report beyond x + alpha rules x out. For
            normal noise the log ratio of the densities at x and x' is linear in w, so it has no bound.
  2         See `randomizers`.
  Sum       r numbers and the class: sequential composition for one record.

What the paper claims, and where it is wrong
  It claims no epsilon, but "privacy": how wide the interval is that holds 95% of the noise. (1) That is the width if
  a report were all that is known; with the reconstructed distribution, which is public, it is often far narrower, and
  reports near the ends of uniform noise tell the number itself. (2) r numbers of one person are r reports. (3) The
  class is not protected.

Reference  Agrawal and Srikant, Privacy-preserving data mining, SIGMOD 2000.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import exact
from dpcore.arguments import Flags, Floats, Ints, Progress
from dpcore.domain.column import Column
from dpcore.domain.splits import NumberSplit, attributes_of
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.mechanisms.randomizers import ERRPH, TRR, AdditiveNoise, Channel, KeepOrDraw
from dpcore.methods.local.base import (
    LEAST,
    PAGES,
    REASONS,
    LocalSplit,
    LocalTree,
    Node,
    Stops,
    Survey,
    gini,
    grow,
)
from dpcore.methods.parameters import choice, controls_of, fitted_field, number, presets_of, whole
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.reports import (
    NOTICED,
    Cells,
    Item,
    Questionnaire,
    Reports,
    assign_intervals,
    reconstruct,
    width,
)

CUTS, CHILDREN = "lengths", "grouped"
PER_INTERVAL, FEWEST, MOST, MOST_GIVEN = 100, 10, 100, 200
WIDEST = 10
KNOWN = 0.05
PATIENT = NOTICED / 10


class DTCRD(LocalTree):
    """Decision tree learned from numbers with noise (local DP).

    Agrawal and Srikant 2000: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    variant
        For whom distributions are reconstructed.
    randomizer
        As published: the noise.
    privacy
        As published: the width of the noise's 95% interval, as a share of a number's public range.
    intervals
        m; by default one for 100 people, and 10 to 100 of them. A column of whole numbers has no
        more than it has numbers.

    Attributes
    ----------
    forest_ : Forest
        One tree. A number that is missing goes right in it; to learn from, it was taken for the
        middle of its range.
    distributions_ : dict of str to list of lists
        The reconstructed shares of each number's intervals by reported class, or of all people
        ("global").
    """

    reference = phrase("Agrawal and Srikant 2000")
    provable_published = "none (none claimed)"
    presets = presets_of(PAGES, "DTCRD")
    controls = controls_of(PAGES["DTCRD"])
    variant: str = choice(default="by_class", options=("by_class", "global", "local"))
    randomizer: str = choice(default="uniform", options=("uniform", "normal"))
    privacy: float = number(default=1.0, most=WIDEST, open="(")
    intervals: int | None = whole(default=None, most=MOST_GIVEN)
    artifacts = ("forest", "distributions")
    forest_: Forest = fitted_field()
    distributions_: dict[str, list[list[float]]] = fitted_field()

    def _survey(self, table: PrivateTable) -> Survey:
        schema, paper = table.schema, self._published
        target = self._target(schema, self.target)
        ends = {c.name: (float(c.lower or 0.0), float(c.upper or 0.0)) for c in schema if c.numeric}
        numeric = {name: (low, high) for name, (low, high) in ends.items() if low < high}
        share, classes = exact(self.epsilon) / (len(numeric) + 1), schema[target].size
        channels: dict[Item, Channel] = {}
        for name, (low, high) in numeric.items():
            scale = self.privacy * (high - low) / width(self.randomizer, 1.0)
            published = AdditiveNoise(self.randomizer, scale, lower=low, upper=high)
            channels[(name,)] = published if paper else TRR(lower=low, upper=high, epsilon=share)
        reasons = dict.fromkeys(channels, REASONS[self.randomizer]) | {(target,): REASONS["clear"]}
        channels[(target,)] = ERRPH(classes, p0=1.0) if paper else ERRPH(classes, epsilon=share)
        return Questionnaire(channels), reasons, schema, ()

    def untold(self, reports: Reports) -> str:
        label, numbers = reports.channels.get((reports.target,)), numbers_of(reports)
        if reports.recoded or reports.asked or not isinstance(label, KeepOrDraw) or not numbers:
            return "It needs everybody's class, and numbers with noise."
        return ""

    def _learn(self, progress: Progress) -> None:
        known = Reconstruction(self.reports_, self.reports_.target, self.variant, self.intervals)
        self.distributions_ = {name: shares.tolist() for name, shares in known.distributions.items()}
        self.forest_ = known.tree(self._stops(), progress)


@dataclass(frozen=True, eq=False)
class NodePeople:
    """The people in a node: their places, and the interval of each in every column."""

    rows: Ints
    intervals: list[Ints]


class Reconstruction:
    """Reports of numbers and a class, given to intervals, and the tree on them.

    Where classes are randomized as well, each side of a division has so many people that this adds
    a standard error of `KNOWN` at most to its classes' shares, and reconstruction is patient: noise
    is wider there, and steps are shorter.

    Numbers are reported by `TRR` with Laplace noise or by `Noised`; the class by a channel whose
    reports are classes. `distributions` has the shares of a column's intervals among all people,
    shape (reported classes or 1, intervals). With "local", a column that divided a node above keeps
    its intervals below: people were chosen by what they reported of it, so that their reports are
    no longer numbers with independent noise.
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
        attributes = attributes_of(schema, target, cuts=CUTS, children=CHILDREN)
        names = numbers_of(reports)
        self.positions = [schema.index(name) for name in names]
        self.numbers = [reports.values[(name,)] for name in names]
        self.cells = [cells_of(schema[name], reports.channels[(name,)], wanted) for name in names]
        self.kernels = [cells.kernel for cells in self.cells]
        self.attributes = [one for position in self.positions if isinstance(one := attributes[position], NumberSplit)]
        # their boundaries on the grid of cuts
        self.ticks = [one.ticks(cells.boundaries) for one, cells in zip(self.attributes, self.cells, strict=True)]
        everybody = np.arange(reports.people)
        found = [self.placed(j, [everybody]) for j in range(len(names))]
        self.distributions = {name: shares for name, (shares, _) in zip(names, found, strict=True)}
        self.root = NodePeople(everybody, [intervals_of for _, (intervals_of,) in found])

    def tree(self, stops: Stops, progress: Progress) -> Forest:
        """Grown by the Gini impurity, with cuts at the boundaries of intervals."""
        classes = self.corrected(np.bincount(self.label, minlength=self.channel.size))
        root = self.schema, self.target, classes, self.root
        return grow(*root, self.best, stops, progress, prepare=self.place_again, cuts=CUTS, children=CHILDREN)

    def placed(self, j: int, nodes: Sequence[Ints]) -> tuple[Floats, list[Ints]]:
        """One column's distributions in some nodes, shape (nodes x groups, intervals), and the rows' intervals."""
        rows, sizes = np.concatenate(nodes), [len(own) for own in nodes]
        groups = len(nodes) * self.groups
        group, own = np.repeat(np.arange(len(nodes)), sizes) * self.groups + self.group[rows], self.numbers[j][rows]
        shares = reconstruct(self.cells[j].counts(own, group, groups), self.kernels[j], noticed=self.noticed).shares
        found = np.empty(len(rows), dtype=np.intp)
        members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group, minlength=groups))[:-1])
        for each, part in enumerate(members):
            found[part] = assign_intervals(own[part], shares[each])
        return shares, np.split(found, np.cumsum(sizes)[:-1])

    def place_again(self, nodes: Sequence[Node]) -> None:
        """Give people to intervals by the distributions in their own nodes, if wanted.

        Those of the root have them.
        """
        for j, position in enumerate(self.positions if self.variant == "local" and nodes[0].level else ()):
            held = [node.held for node in nodes if position not in node.ranges]
            if held:
                for one, intervals in zip(held, self.placed(j, [one.rows for one in held])[1], strict=True):
                    one.intervals[j] = intervals

    def best(self, node: Node) -> LocalSplit | None:
        """The division that lowers the impurity most."""
        held: NodePeople = node.held
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
            index = int(gains.argmax())
            if gains[index] > most:
                most = float(gains[index])
                best = j, int(np.flatnonzero(allowed)[index]), classes[index]
        if best is None:
            return None
        j, at, found = best
        below = held.intervals[j] <= at
        children = [NodePeople(held.rows[side], [own[side] for own in held.intervals]) for side in (below, ~below)]
        return LocalSplit(self.positions[j], float(self.ticks[j][at]), found, children)

    def allowed(self, node: Node, j: int) -> Flags:
        """Which boundaries of a column lie in what a node has left of it."""
        attribute = self.attributes[j]
        low, high = node.ranges.get(self.positions[j], attribute.start)
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


def numbers_of(reports: Reports) -> list[str]:
    """The columns of which people reported numbers with noise that is added."""
    noisy = {family[0] for family, channel in reports.channels.items() if isinstance(channel, TRR) and not channel.sets}
    return [name for name in reports.schema.names if name in noisy]


def cells_of(column: Column, channel: Channel, wanted: int) -> Cells:
    """The intervals of a number: of whole ones from half below the first to half above the last."""
    assert isinstance(channel, TRR)
    lower, upper = float(column.lower or 0.0), float(column.upper or 0.0)
    if column.whole:
        wanted, lower, upper = min(wanted, int(upper - lower) + 1), lower - 0.5, upper + 0.5
    return Cells(lower, upper, wanted, channel.kind if isinstance(channel, AdditiveNoise) else "laplace", channel.scale)

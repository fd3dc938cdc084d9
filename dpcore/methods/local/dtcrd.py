r"""DTCRD: decision trees from numbers with noise, by reconstructed distributions (in paper 004).

Idea      Each person adds noise of a public density to every number. The distribution of the true
          numbers can be reconstructed, although no single number can. Records are then assigned to
          intervals so that the counts agree with that distribution, and a tree is grown on the
          intervals.

Steps, as published (mode="published")
  1  Numbers get uniform or normal noise. The noise's 95% interval has a width
     of `privacy` times the public range (1 is "100% privacy").               unprotected, each
  2  The class is reported truthfully. Categories are not used: the source
     has none.                                                                      unprotected
  3  The range of each number is split into m equal intervals (one per 100
     people, 10 to 100: our choice). The distribution over the intervals is
     reconstructed (`reconstruct`): per class (variant="by_class"), for all
     classes together ("global"), or per class in every node again ("local").
     "local" leaves out numbers that split a node above. People were selected
     there by their reports, whose noise is no longer independent.              post-processing
  4  Within a class, reports are sorted. The lowest n f_1 records go to
     interval 1, and so on.                                                     post-processing
  5  A node is split at the boundary that lowers the Gini impurity most, until
     no boundary lowers it. Here nodes also end at depth 10 and below .001 of
     the people, in corrected mode at 5 and .02 (our choices).                  post-processing

Steps, corrected (mode="corrected"): all reports of one person cost epsilon, in r + 1 equal parts e
  1  Numbers, moved into their public bounds [L, U], get Laplace noise of
     scale (U - L) / e. 95% of the noise lies in an interval of 6 (U - L) / e.     randomize, e
  2  The class by ERRPH.                                                           randomize, e
  3  As published, by reported class, until a step is ten times shorter.        post-processing
  5  Class counts of nodes are corrected for the randomizer of step 2, and
     moved to 0 or more. Each side of a split has enough people for this to
     add a standard error of at most .05 to a class's share.                    post-processing

Privacy   Local.
  Public    the schema, its bounds; the noise; m; who takes part, and so n.
  1         Laplace noise: |w - x| changes by at most U - L. Uniform noise: a report beyond x +
            alpha rules out x. Normal noise: the log ratio of the densities at x and x' is linear in
            w, so it has no bound.
  2         See `randomizers`.
  Sum       r numbers and the class: sequential composition for one record.

What the paper claims, and where it is wrong
  The paper claims no epsilon. Its "privacy" is the width of the interval that holds 95% of the
  noise. (1) This would be the uncertainty if only a report were known. With the reconstructed
  distribution, which is public, the uncertainty is often far smaller. Reports near the ends of
  uniform noise even reveal the number itself. (2) r numbers of one person are r reports. (3) The
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
    StopRule,
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

SPLITS = {"cuts": "lengths", "children": "grouped"}
PEOPLE_PER_INTERVAL, FEWEST, MOST, MOST_GIVEN = 100, 10, 100, 200
WIDEST = 10
STANDARD_ERROR = 0.05  # of a class's share, from the randomized classes on one side of a split
SHORT_STEP = NOTICED / 10


class DTCRD(LocalTree):
    """Decision tree learned from numbers with noise (local DP).

    Agrawal and Srikant 2000: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    variant
        Whose distributions are reconstructed: 'by_class', 'global' (all classes together), or
        'local' (by class, again in every node).
    randomizer
        As published: the distribution of the noise.
    privacy
        As published: the width of the noise's 95% interval, as a share of a number's public range.
    intervals
        m, the number of intervals; by default one per 100 people, between 10 and 100. A column of
        whole numbers has at most one interval per number.

    Attributes
    ----------
    forest_ : Forest
        One tree. It sends missing numbers right. For learning, a missing number was replaced by the
        middle of its range.
    distributions_ : dict of str to list of lists
        The reconstructed shares of each number's intervals, by reported class, or of all people
        ("global").
    """

    reference = phrase("Agrawal and Srikant 2000")
    provable_published = "none (none claimed)"
    presets = presets_of(PAGES, "DTCRD")
    controls = controls_of(PAGES["DTCRD"])
    variant: str = choice(default="by_class", options=("by_class", "global", "local"))
    randomizer: str = choice(default="uniform", options=("uniform", "normal"))
    privacy: float = number(default=1.0, maximum=WIDEST, open="(")
    intervals: int | None = whole(default=None, maximum=MOST_GIVEN)
    artifacts = ("forest", "distributions")
    forest_: Forest = fitted_field()
    distributions_: dict[str, list[list[float]]] = fitted_field()

    def _survey(self, table: PrivateTable) -> Survey:
        """Return the questions to people, about all numbers with a range and the class."""
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

    def incompatibility(self, reports: Reports) -> str:
        """Return why DTCRD cannot learn from `reports`, or an empty text if it can."""
        label, numbers = reports.channels.get((reports.target,)), noisy_numbers(reports)
        if reports.recodings or reports.respondents or not isinstance(label, KeepOrDraw) or not numbers:
            return "The method needs the class of every person, and numbers with added noise."
        return ""

    def _learn(self, progress: Progress) -> None:
        """Reconstruct the distributions of numbers, and build the tree."""
        builder = IntervalTreeBuilder(self.reports_, self.reports_.target, self.variant, self.intervals)
        self.distributions_ = {name: shares.tolist() for name, shares in builder.distributions.items()}
        self.forest_ = builder.build(self._stop_rule(), progress)


@dataclass(frozen=True, eq=False)
class NodePeople:
    """The people in a node: their indices, and for every column the interval of each person."""

    rows: Ints
    intervals: list[Ints]


class IntervalTreeBuilder:
    """Builder of a decision tree from reports of a class, and of numbers assigned to intervals.

    Numbers are reported by `TRR` with Laplace noise or by `AdditiveNoise`, the class by a channel
    whose reports are classes. `distributions` has the shares of each column's intervals among all
    people, shape (reported classes or 1, intervals).

    If classes are randomized, each side of a split has enough people for this to add a standard
    error of at most `STANDARD_ERROR` to its class shares. Reconstruction then takes shorter steps,
    because the noise is wider. With variant "local", a column that split a node above keeps its
    intervals below: people were selected by their reports of that column, so the noise in these
    reports is no longer independent.
    """

    def __init__(self, reports: Reports, target: str, variant: str, intervals: int | None = None) -> None:
        """Reconstruct distributions of all numbers in `reports`, and assign people to intervals.

        `variant` says whose distributions: "by_class", "global" (all people) or "local" (by class,
        again in every node). `intervals` is the number of intervals; by default it follows from the
        number of people.
        """
        schema = reports.schema
        self.schema, self.target, self.variant, self.people = schema, target, variant, reports.people
        self.label, self.channel = reports.values[(target,)].astype(np.intp), reports.category((target,))
        # randomizing two classes adds (1 - gain^2) / (4 n gain^2) to the variance of a share of n people
        added = 1 / max(self.channel.gain, LEAST) ** 2 - 1
        self.step, self.fewest = SHORT_STEP if added else NOTICED, max(added / 4 / STANDARD_ERROR**2, 1.0)
        self.groups = 1 if variant == "global" else self.channel.size
        self.group = np.zeros_like(self.label) if variant == "global" else self.label
        size = intervals or min(max(reports.people // PEOPLE_PER_INTERVAL, FEWEST), MOST)
        attributes = attributes_of(schema, target, **SPLITS)
        names = noisy_numbers(reports)
        self.positions = [schema.index(name) for name in names]
        self.numbers = [reports.values[(name,)] for name in names]
        self.cells = [interval_grid(schema[name], reports.channels[(name,)], size) for name in names]
        self.kernels = [cells.kernel for cells in self.cells]
        self.attributes = [one for position in self.positions if isinstance(one := attributes[position], NumberSplit)]
        # the intervals' boundaries on the grid of split points
        self.ticks = [one.ticks(cells.boundaries) for one, cells in zip(self.attributes, self.cells, strict=True)]
        people = np.arange(reports.people)
        found = [self.assign(j, [people]) for j in range(len(names))]
        self.distributions = {name: shares for name, (shares, _) in zip(names, found, strict=True)}
        self.root = NodePeople(people, [intervals_of for _, (intervals_of,) in found])

    def build(self, stop: StopRule, progress: Progress) -> Forest:
        """Grow the tree by Gini impurity, with split points at the boundaries of intervals.

        `stop` limits which nodes are split.
        """
        classes = self.true_classes(np.bincount(self.label, minlength=self.channel.size))
        root = self.schema, self.target, classes, self.root
        return grow(*root, self.best_split, stop, progress, prepare=self.reassign, splits=SPLITS)

    def assign(self, j: int, nodes: Sequence[Ints]) -> tuple[Floats, list[Ints]]:
        """Reconstruct column j's distribution in each node, and assign people to its intervals.

        `nodes` has the indices of each node's people. Returns the distributions, shape (nodes x
        groups, intervals), and for each node the interval of each person.
        """
        rows, sizes = np.concatenate(nodes), [len(own) for own in nodes]
        groups, numbers = len(nodes) * self.groups, self.numbers[j][rows]
        group = np.repeat(np.arange(len(nodes)), sizes) * self.groups + self.group[rows]
        shares = reconstruct(self.cells[j].counts(numbers, group, groups), self.kernels[j], noticed=self.step).shares
        found = np.empty(len(rows), dtype=np.intp)
        members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group, minlength=groups))[:-1])
        for each, part in enumerate(members):
            found[part] = assign_intervals(numbers[part], shares[each])
        return shares, np.split(found, np.cumsum(sizes)[:-1])

    def reassign(self, nodes: Sequence[Node]) -> None:
        """Assign people to intervals by the distributions in their own nodes, for variant "local".

        Other variants keep the intervals of the root. The root keeps its intervals, and so do
        columns that split a node above.
        """
        for j, position in enumerate(self.positions if self.variant == "local" and nodes[0].level else ()):
            parts = [node.state for node in nodes if position not in node.ranges]
            if parts:
                for part, intervals in zip(parts, self.assign(j, [part.rows for part in parts])[1], strict=True):
                    part.intervals[j] = intervals

    def best_split(self, node: Node) -> LocalSplit | None:
        """Return the split that lowers the Gini impurity most; None if no split lowers it."""
        people: NodePeople = node.state
        label, k = self.label[people.rows], self.channel.size
        best, most = None, LEAST
        for j, own in enumerate(people.intervals):
            cells = self.cells[j].intervals
            counts = np.bincount(own * k + label, minlength=cells * k).reshape(-1, k)
            left = np.cumsum(counts, axis=0)[:-1]
            sides = np.stack([left, counts.sum(axis=0) - left], axis=1)  # (boundaries, 2, classes)
            allowed = self.inner_boundaries(node, j) & (sides.sum(axis=2) >= self.fewest).all(axis=1)
            if not allowed.any():
                continue
            classes = self.true_classes(sides[allowed])
            shares = classes.sum(axis=2) / classes.sum(axis=(1, 2))[:, None]
            gains = gini(classes.sum(axis=1)) - (shares * gini(classes)).sum(axis=1)
            index = int(gains.argmax())
            if gains[index] > most:
                most = float(gains[index])
                best = j, int(np.flatnonzero(allowed)[index]), classes[index]
        if best is None:
            return None
        j, boundary, found = best
        below = people.intervals[j] <= boundary
        children = [NodePeople(people.rows[side], [own[side] for own in people.intervals]) for side in (below, ~below)]
        return LocalSplit(self.positions[j], float(self.ticks[j][boundary]), found, children)

    def inner_boundaries(self, node: Node, j: int) -> Flags:
        """Return which interval boundaries of column j lie within the node's remaining range."""
        attribute = self.attributes[j]
        low, high = node.ranges.get(self.positions[j], attribute.start)
        if attribute.fanout(np.array([low]), np.array([high]))[0] < 2:
            return np.zeros(len(self.ticks[j]), dtype=bool)
        return np.asarray((low <= self.ticks[j]) & (self.ticks[j] < high))

    def true_classes(self, reported: NDArray[Any]) -> Floats:
        """Return estimated numbers by true class, from numbers by reported class on the last axis.

        The estimates are 0 or more and have the same sum, so no class has more people than there
        are.
        """
        people = reported.sum(axis=-1).astype(float)
        found = np.clip(self.channel.estimate(reported.astype(float), people), 0.0, people[..., None])
        total = found.sum(axis=-1)
        return np.asarray(found * np.divide(people, total, out=np.ones_like(people), where=total > 0)[..., None])


def noisy_numbers(reports: Reports) -> list[str]:
    """Return the names of the columns that people reported as numbers with added noise."""
    noisy = {item[0] for item, channel in reports.channels.items() if isinstance(channel, TRR) and not channel.sets}
    return [name for name in reports.schema.names if name in noisy]


def interval_grid(column: Column, channel: Channel, size: int) -> Cells:
    """Return the grid of `size` equal intervals over a numeric column's public range.

    `channel` gives the noise of the reports. For whole numbers, the range is half a unit wider at
    both ends, and there is at most one interval per number.
    """
    assert isinstance(channel, TRR)
    lower, upper = float(column.lower or 0.0), float(column.upper or 0.0)
    if column.whole:
        size, lower, upper = min(size, int(upper - lower) + 1), lower - 0.5, upper + 0.5
    return Cells(lower, upper, size, channel.kind if isinstance(channel, AdditiveNoise) else "laplace", channel.scale)

"""How private trees grow: one loop over levels for every method, over all nodes of all trees at once.

A method is a `GrowthPlan`: who chooses the divisions, when nodes stop, and what each question may cost.
Per level the nodes that stay are counted; those that stop, and all of the last level, are asked
for their classes; the others are divided. Stopped and growing nodes hold different records, so a
leaf may spend what its records would have cost further down.

What comes of it is post-processing: a forest whose noisy counts were made to agree (`forest_of`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpcore.accounting.relation import Epsilon, exact
from dpcore.arguments import Flags, Floats, Ints, Progress
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Attribute, Groups
from dpcore.door import PrivateNodes, Split
from dpcore.language import phrase
from dpcore.mechanisms.scores import SplitScore
from dpcore.postprocess.forest import Forest, replace_leaf_counts
from dpcore.postprocess.least_squares import TreeLeastSquares

LEVEL = phrase("level {level:d}: {nodes:,} nodes")
MOST_NODES = 200_000  # per level
FEWEST = 1.5  # records of a node that is divided: a single one has nothing to divide


class Chooser(ABC):
    """Who chooses how nodes are divided."""

    def kinds(self, offered: Flags, real: Flags) -> Ints:
        """Nodes of different kinds are asked apart, because they share their epsilon out differently."""
        return np.zeros(len(offered), dtype=np.intp)

    @abstractmethod
    def choose(
        self, name: str, nodes: PrivateNodes, offered: Flags, real: Flags, low: Floats, high: Floats, epsilon: Epsilon
    ) -> Split:
        """A division of every node by one of the columns it is offered; `real` says which columns are cut."""

    def bound(self, nodes: PrivateNodes, epsilon: Epsilon) -> Epsilon:
        """What can be proved that a choice costs whose source claims `epsilon` for it."""
        return epsilon


@dataclass(frozen=True, kw_only=True)
class Exponential(Chooser):
    """The exponential mechanism.

    In one step, for columns and cuts together; or in two, with equal parts: first a cut for each
    column that is cut in two, then the column. An `ordinary` one chooses by exp(epsilon q / (2
    sensitivity)), although a score that only rises allows twice that.
    """

    score: SplitScore
    selection: str = "joint"  # or "two_stage"
    ordinary: bool = False

    def kinds(self, offered: Flags, real: Flags) -> Ints:
        """By the number of columns to cut, if that takes steps of its own."""
        return (offered & real).sum(axis=1) if self.selection == "two_stage" else super().kinds(offered, real)

    def choose(
        self, name: str, nodes: PrivateNodes, offered: Flags, real: Flags, low: Floats, high: Floats, epsilon: Epsilon
    ) -> Split:
        numbers = offered & real
        steps = int(numbers[0].sum()) if self.selection == "two_stage" else 0
        share = exact(epsilon) / (steps + 1)
        how: dict[str, Any] = {"claimed_sensitivity": self._scaled_to(nodes)}
        points, rank = np.full(offered.shape, np.nan), np.cumsum(numbers, axis=1)
        for step in range(1, steps + 1):
            one = numbers & (rank == step)
            label = f"{name}, a cut" if steps == 1 else f"{name}, cut {step} of {steps}"
            found = nodes.choose(label, self.score, one, low, high, epsilon=share, **how)
            points[one] = found.cut
        whole = f"{name}, the column" if steps else name
        return nodes.choose(whole, self.score, offered, low, high, epsilon=share, cuts=points if steps else None, **how)

    def bound(self, nodes: PrivateNodes, epsilon: Epsilon) -> Epsilon:
        return nodes.choice_bound(self.score, epsilon, self._scaled_to(nodes))

    def _scaled_to(self, nodes: PrivateNodes) -> float | None:
        """The sensitivity in an ordinary exponent; None for the true loss."""
        return nodes.sensitivity(self.score) if self.ordinary else None


@dataclass(frozen=True, kw_only=True)
class NoisyGain(Chooser):
    """The column with the largest information gain by noisy counts (values only, no cuts)."""

    # whether every single count is paid for (interactive SuLQ), or disjoint cells cost one (PINQ)
    one_by_one: bool

    def kinds(self, offered: Flags, real: Flags) -> Ints:
        """By the columns that are left."""
        return np.unique(offered, axis=0, return_inverse=True)[1].astype(np.intp)

    def choose(
        self, name: str, nodes: PrivateNodes, offered: Flags, real: Flags, low: Floats, high: Floats, epsilon: Epsilon
    ) -> Split:
        """See `Chooser.choose`: V = sum_jc N_jc log2(N_jc / N_j), terms with a count of 0 or less left out."""
        positions = np.flatnonzero(offered[0])
        tables = nodes.tables(name, positions.tolist(), epsilon=epsilon, one_by_one=self.one_by_one)
        values = np.empty((nodes.size, len(positions)))
        for i, (totals, cells) in enumerate(tables):
            known = (cells > 0) & (totals[:, :, None] > 0)
            ratio = np.divide(cells, totals[:, :, None], out=np.ones_like(cells), where=known)
            values[:, i] = np.where(known, cells * np.log2(ratio), 0.0).sum(axis=(1, 2))
        return Split(positions[values.argmax(axis=1)], np.full(nodes.size, np.nan))


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What the questions on one way from a root to a leaf cost, by level."""

    counts: tuple[Epsilon, ...]  # for the number of records; 0: not asked
    choices: tuple[Epsilon, ...]  # none on the last level
    leaves: tuple[Epsilon, ...]  # for the classes of a node that stops there
    total: Epsilon

    def until(self, level: int) -> Epsilon:
        """What a way down to a leaf of a level costs."""
        return sum(self.counts[: level + 1]) + sum(self.choices[:level]) + self.leaves[level]

    @classmethod
    def of(
        cls, total: Epsilon, depth: int, *, counts: Epsilon, leaves: Epsilon, growth: float = 1.0, refund: bool = True
    ) -> Budget:
        """Shares of the whole for counts (equal on all levels) and for the last leaves, the rest for choices.

        Each level's choices have `growth` times the epsilon of the level above. With `refund`, a
        leaf that stops early has what is left to it as well: its records are asked nothing further
        down. Otherwise it has what the last one has, and the rest is not spent.
        """
        whole, of_counts = exact(total), exact(counts)
        weights = [exact(growth) ** level for level in range(depth)]
        unit = whole * (1 - of_counts - exact(leaves)) / sum(weights)
        each, choices = [whole * of_counts / (depth + 1)] * (depth + 1), [unit * weight for weight in weights]
        left = [whole - sum(each[: level + 1]) - sum(choices[:level]) for level in range(depth + 1)]
        ends = left if refund else left[-1:] * (depth + 1)
        return cls(counts=tuple(each), choices=tuple(choices), leaves=tuple(ends), total=whole)

    @classmethod
    def equal(cls, total: Epsilon, depth: int, *, steps: int = 1, refund: bool) -> Budget:
        """Equal parts for all levels: for counts, for every step of a choice, and for classes."""
        part = Fraction(1, (1 + steps) * depth + 2)
        return cls.of(total, depth, counts=(depth + 1) * part, leaves=part, refund=refund)


@dataclass(frozen=True, kw_only=True)
class GrowthPlan:
    """How trees grow.

    With `noisy_stop`, nodes stop whose noisy count is below the noise's standard deviation times
    the classes times the largest fan-out that is offered (Friedman and Schuster 2010:
    sqrt(2) / epsilon per class and child), or below `fewest`.
    """

    choosers: Sequence[Chooser]  # one for each level but the last
    budget: Budget
    # how many columns each node may choose from, drawn by lot; all by default
    per_node: int | None = None
    purity: str = ""  # why nodes of one class stop, unprotected, if they do
    noisy_stop: bool = True
    fewest: float = FEWEST

    @property
    def depth(self) -> int:
        """The most divisions on a way down."""
        return len(self.choosers)

    def unreached(self, roots: PrivateNodes, level: int) -> tuple[Epsilon, Epsilon]:
        """Claim and bound of what stays unasked if no tree grows below a level.

        The bound belongs to the run all the same: on other rows trees might have grown, and a
        guarantee is for all.
        """
        budget, last = self.budget, self.depth
        epsilon = [self.choosers[k].bound(roots, budget.choices[k]) for k in range(level, last)]
        bound = sum(budget.counts[level + 1 :]) + sum(epsilon) + budget.leaves[last] - budget.leaves[level]
        return budget.total - budget.until(level), bound


@dataclass(frozen=True, eq=False)
class GrownLevel:
    """One level as it was released: arrays with an entry per node, as in `Forest`, and the noise in each count.

    Places of parents are within the level above.
    """

    parent: Ints
    column: Ints
    cut: Floats
    noisy: Floats
    noisy_variance: float
    class_counts: Floats  # NaN for nodes that are divided
    class_variance: float
    spent: Floats


def grow(
    roots: PrivateNodes,
    attributes: Mapping[int, Attribute],
    columns: int,
    plan: GrowthPlan,
    rng: np.random.Generator,
    progress: Progress,
) -> list[GrownLevel]:
    """Grow trees level by level, from the roots down; `columns` is how many the schema has.

    Every way down spends what the plan's budget says, and no more. Nodes draw their columns by
    public lots of `rng`.
    """
    low, high = np.zeros((2, roots.size, columns))
    real = np.zeros(columns, dtype=bool)
    for position, attribute in attributes.items():
        low[:, position], high[:, position] = attribute.start
        real[position] = not isinstance(attribute, Groups)
    nodes, levels, spent = roots, list[GrownLevel](), exact(0)
    parent = np.full(roots.size, -1)
    for level in range(plan.depth + 1):
        progress(level / (plan.depth + 1), LEVEL.format(level=level, nodes=nodes.size))
        size, name, budget = nodes.size, f"level {level}", plan.budget
        fans = np.zeros((size, columns), dtype=np.intp)
        for position, attribute in attributes.items():
            fans[:, position] = attribute.fanout(low[:, position], high[:, position])
        offered = draw_columns(fans >= 2, plan.per_node, rng)
        noisy, epsilon = np.full(size, np.nan), budget.counts[level]
        if epsilon:
            noisy = nodes.counts(f"{name}: records", epsilon=epsilon)
        widest = np.where(offered, fans, 0).max(axis=1, initial=0)
        goes_on = offered.any(axis=1) & (level < plan.depth)
        if epsilon and plan.noisy_stop:
            deviation = np.sqrt(nodes.count_variance(epsilon))
            least = np.where(widest > 0, deviation * nodes.classes, 0.0) * np.maximum(widest, 1)
            goes_on &= noisy >= np.maximum(least, plan.fewest)
        if plan.purity and level < plan.depth:
            goes_on &= ~nodes.pure(plan.purity)
        goes_on &= nodes_to_split(np.where(goes_on, widest, 0), noisy, rng)
        going, leaves = np.flatnonzero(goes_on), np.flatnonzero(~goes_on)
        node_sets = {"": going, f"leaves of level {level}": leaves}
        parts = nodes.parts({key: indices for key, indices in node_sets.items() if len(indices)})
        nodes.let_go()  # the roots' account is needed to the end
        classes = np.full((size, nodes.classes), np.nan)
        if len(leaves):
            classes[leaves] = parts[-1].class_counts(f"{name}: classes in leaves", epsilon=budget.leaves[level])
        split = Split(np.full(size, -1), np.full(size, np.nan))
        if len(going):
            found = divisions(f"{name}: division", parts[0], plan, offered[going], real, low[going], high[going], level)
            for position, attribute in attributes.items():
                at = np.flatnonzero(found.column == position)
                found.cut[at] = attribute.settled(found.cut[at])
            split.column[going], split.cut[going] = found.column, found.cut
        own = np.where(goes_on, split.column, 0)
        each = np.arange(size)
        fanout = np.where(goes_on, fans[each, own], 0)
        first = np.cumsum(fanout) - fanout
        spent += epsilon
        further = float(spent + budget.choices[level]) if len(going) else np.nan
        levels.append(
            GrownLevel(
                parent=parent,
                column=split.column,
                cut=split.cut,
                noisy=noisy,
                noisy_variance=nodes.count_variance(epsilon),
                class_counts=classes,
                class_variance=nodes.count_variance(budget.leaves[level]),
                spent=np.where(goes_on, further, float(spent + budget.leaves[level])),
            )
        )
        if not len(going):
            break
        spent += budget.choices[level]
        nodes = parts[0].divide(found, low[going], first[going], int(fanout.sum()))
        # What is public of the children: their ranges.
        above = np.repeat(each, fanout)
        child, column = np.arange(len(above)) - first[above], own[above]
        low, high, parent = low[above], high[above], above
        for position in np.unique(column).tolist():
            at = np.flatnonzero(column == position)
            low[at, position], high[at, position] = attributes[position].ranges(
                low[at, position], high[at, position], split.cut[above[at]], child[at]
            )
    return levels


def divisions(
    name: str, nodes: PrivateNodes, plan: GrowthPlan, offered: Flags, real: Flags, low: Floats, high: Floats, level: int
) -> Split:
    """Divisions of all nodes; those of different kinds are asked apart, in parallel."""
    chooser, epsilon = plan.choosers[level], plan.budget.choices[level]
    kinds = chooser.kinds(offered, real)
    if not kinds.any():
        return chooser.choose(name, nodes, offered, real, low, high, epsilon)
    groups = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    parts = nodes.parts({f"level {level}, lot {i + 1}": at for i, at in enumerate(groups)})
    column, point = np.empty(nodes.size, dtype=np.intp), np.empty(nodes.size)
    for part, at in zip(parts, groups, strict=True):
        found = chooser.choose(name, part, offered[at], real, low[at], high[at], epsilon)
        column[at], point[at] = found.column, found.cut
    return Split(column, point)


def draw_columns(usable: Flags, per_node: int | None, rng: np.random.Generator) -> Flags:
    """The columns that every node may choose from: all that are of use, or some of them by lot."""
    if per_node is None:
        return usable
    groups = np.where(usable, rng.random(usable.shape), np.inf)
    rank = np.argsort(np.argsort(groups, axis=1), axis=1)
    return usable & (rank < per_node)


def nodes_to_split(fans: Ints, noisy: Floats, rng: np.random.Generator) -> Flags:
    """Which nodes may be divided for the next level to have `MOST_NODES` at most.

    The largest go first, or, where nobody knows, some by lot.
    """
    if fans.sum() <= MOST_NODES:
        return np.ones(len(fans), dtype=bool)
    order = np.argsort(np.where(np.isnan(noisy), rng.random(len(noisy)), -noisy), kind="stable")
    allowed = np.empty(len(fans), dtype=bool)
    allowed[order] = np.cumsum(fans[order]) <= MOST_NODES
    return allowed


def forest_of(levels: Sequence[GrownLevel], schema: Schema, target: str, *, consistent: bool, **how: Any) -> Forest:
    """The forest of some grown levels; `how` has what else a `Forest` says of itself.

    With `consistent`, the counts of nodes and of classes in leaves are put together by weighted
    least squares. What is shown of them is moved to 0 or more on the way down, so that children sum
    to their parents. What leaves vote is not: among many small leaves that would side with the
    larger class. A leaf without any records votes as its parent does.
    """
    starts = np.cumsum([0, 0, *(len(level.parent) for level in levels)])
    put: dict[str, Any] = {
        name: np.concatenate([getattr(level, name) for level in levels])
        for name in ("column", "cut", "noisy", "spent", "class_counts")
    }
    parent = np.concatenate([level.parent + start for level, start in zip(levels, starts, strict=False)])
    counts = put.pop("class_counts")
    cells, shown = consistent_counts(levels) if consistent else (counts, counts)
    forest = Forest.from_parents(
        parent, schema=schema, target=target, classes=counts, probabilities=counts, **how, **put
    )
    # files have had a place of children for leaves, too
    first = forest.trees + np.cumsum(forest.fanout) - forest.fanout
    return replace_leaf_counts(replace(forest, first=first), cells, shown)


def consistent_counts(levels: Sequence[GrownLevel]) -> tuple[Floats, Floats]:
    """Consistent class counts of leaves, shape (all nodes, classes), and the same moved to 0 or more.

    0 for nodes that are divided. The tree of counts has every node, and below each leaf its classes.
    """
    classes = levels[0].class_counts.shape[1]
    measured, variances, parents = [levels[0].noisy], [np.full(len(levels[0].parent), levels[0].noisy_variance)], []
    leaves = [np.flatnonzero(level.column < 0) for level in levels]
    for i, level in enumerate(levels):
        cells, owners = level.class_counts[leaves[i]].ravel(), np.repeat(leaves[i], classes)
        below = levels[i + 1] if i + 1 < len(levels) else None
        nodes = below.noisy if below else np.zeros(0)
        # nothing was bought, all are alike
        spread = level.class_variance if np.isfinite(level.class_variance) else 1.0
        measured.append(np.concatenate([nodes, cells]))
        variances.append(
            np.concatenate([np.full(len(nodes), below.noisy_variance if below else 0.0), np.full(len(cells), spread)])
        )
        parents.append(np.concatenate([below.parent, owners]) if below else owners)
    fitted = TreeLeastSquares(parents, roots=len(levels[0].parent)).fit(measured, variances)
    found = []
    for counts in (fitted.counts, fitted.non_negative()):
        cells_of = [np.zeros((len(level.parent), classes)) for level in levels]
        for i, here in enumerate(cells_of):
            behind = len(levels[i + 1].parent) if i + 1 < len(levels) else 0
            here[leaves[i]] = counts[i + 1][behind:].reshape(-1, classes)
        found.append(np.concatenate(cells_of))
    return found[0], found[1]

"""Growth of private trees: one loop over levels for every method, over all nodes of all trees.

A method supplies a `GrowthPlan`: how splits are chosen, when nodes stop, and the epsilon of each
query. On every level, the records of each node are counted. Then the classes are counted in nodes
that stop, and in all nodes of the last level. The other nodes are split. Leaves and split nodes
hold different records, so a leaf may spend the epsilon that its records do not need further down.

`make_forest` turns the levels into a forest with consistent noisy counts, by post-processing.
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

LEVEL = phrase("Growing trees: level {level:d}, {nodes:,} nodes")
MOST_NODES = 200_000  # per level
FEWEST = 1.5  # records of a node that is split; a single record cannot be split


class SplitChooser(ABC):
    """Private mechanism that chooses how nodes are split."""

    def kinds(self, offered: Flags, real: Flags) -> Ints:
        """Return each node's kind, shape (nodes,); nodes of one kind choose splits together.

        `offered` marks the columns that each node may choose from, and `real` the columns with split
        points. Nodes of different kinds divide their epsilon differently.
        """
        return np.zeros(len(offered), dtype=np.intp)

    @abstractmethod
    def choose(
        self, name: str, nodes: PrivateNodes, offered: Flags, real: Flags, low: Floats, high: Floats, epsilon: Epsilon
    ) -> Split:
        """Choose a split of every node, by one of its offered columns, at a loss of `epsilon`.

        `name` names the ledger's entry. `offered` marks the columns that each node may choose from,
        and `real` the columns with split points. `low` and `high` are the ends of each node's range
        in each column, shape (nodes, columns).
        """

    def bound(self, nodes: PrivateNodes, epsilon: Epsilon) -> Epsilon:
        """Return the proven bound on the loss of a choice whose source claims `epsilon`."""
        return epsilon


@dataclass(frozen=True, kw_only=True)
class ExponentialChooser(SplitChooser):
    """Choice of splits by the exponential mechanism.

    With selection "joint", one step chooses column and split point. With "two_stage", steps of
    equal epsilon choose a split point for each column that has one, and then the column. A
    `standard` mechanism selects a split of score q by exp(epsilon q / (2 sensitivity)), although
    monotone scores allow twice that exponent.
    """

    score: SplitScore
    selection: str = "joint"  # or "two_stage"
    standard: bool = False

    def kinds(self, offered: Flags, real: Flags) -> Ints:
        """Return each node's number of offered columns with split points, if chosen in steps."""
        return (offered & real).sum(axis=1) if self.selection == "two_stage" else super().kinds(offered, real)

    def choose(
        self, name: str, nodes: PrivateNodes, offered: Flags, real: Flags, low: Floats, high: Floats, epsilon: Epsilon
    ) -> Split:
        """Choose split points and columns by exponential mechanisms, in one step or several.

        The arguments are those of `SplitChooser.choose`.
        """
        numbers = offered & real
        steps = int(numbers[0].sum()) if self.selection == "two_stage" else 0
        share = exact(epsilon) / (steps + 1)
        options: dict[str, Any] = {"claimed_sensitivity": self._claimed_sensitivity(nodes)}
        points, rank = np.full(offered.shape, np.nan), np.cumsum(numbers, axis=1)
        for step in range(1, steps + 1):
            one = numbers & (rank == step)
            label = f"{name}, the split point" if steps == 1 else f"{name}, split point {step} of {steps}"
            points[one] = nodes.choose(label, self.score, one, low, high, epsilon=share, **options).point
        name, chosen = f"{name}, the column" if steps else name, points if steps else None
        return nodes.choose(name, self.score, offered, low, high, epsilon=share, points=chosen, **options)

    def bound(self, nodes: PrivateNodes, epsilon: Epsilon) -> Epsilon:
        """Return the proven bound on the loss of a choice by this score and exponent."""
        return nodes.selection_bound(self.score, epsilon, self._claimed_sensitivity(nodes))

    def _claimed_sensitivity(self, nodes: PrivateNodes) -> float | None:
        """Return the sensitivity for the standard exponent; None to use the score's true loss."""
        return nodes.sensitivity(self.score) if self.standard else None


@dataclass(frozen=True, kw_only=True)
class NoisyGainChooser(SplitChooser):
    """Choice of the column with the largest information gain by noisy counts; no split points."""

    # whether every count is charged by itself (interactive SuLQ), or disjoint cells once (PINQ)
    one_by_one: bool

    def kinds(self, offered: Flags, real: Flags) -> Ints:
        """Return a number per node, equal for nodes with the same offered columns."""
        return np.unique(offered, axis=0, return_inverse=True)[1].astype(np.intp)

    def choose(
        self, name: str, nodes: PrivateNodes, offered: Flags, real: Flags, low: Floats, high: Floats, epsilon: Epsilon
    ) -> Split:
        """Choose the column of largest V = sum_jc N_jc log2(N_jc / N_j) for every node.

        N_j is the noisy number of records with value j of the column, and N_jc of those in class c.
        Terms with a noisy count of 0 or less are left out. All nodes have the same offered columns.
        The arguments are those of `SplitChooser.choose`.
        """
        positions = np.flatnonzero(offered[0])
        tables = nodes.tables(name, positions.tolist(), epsilon=epsilon, one_by_one=self.one_by_one)
        values = np.empty((nodes.size, len(positions)))
        for i, (totals, cells) in enumerate(tables):
            positive = (cells > 0) & (totals[:, :, None] > 0)
            ratio = np.divide(cells, totals[:, :, None], out=np.ones_like(cells), where=positive)
            values[:, i] = np.where(positive, cells * np.log2(ratio), 0.0).sum(axis=(1, 2))
        return Split(positions[values.argmax(axis=1)], np.full(nodes.size, np.nan))


@dataclass(frozen=True, kw_only=True)
class PathBudget:
    """Epsilon of the queries on one path from a root to a leaf, by level."""

    counts: tuple[Epsilon, ...]  # for the number of records; 0: not measured
    choices: tuple[Epsilon, ...]  # one fewer: the last level chooses nothing
    leaves: tuple[Epsilon, ...]  # for the class counts of a leaf on this level
    total: Epsilon

    def path_loss(self, level: int) -> Epsilon:
        """Return the epsilon of a path from the root to a leaf on `level`."""
        return sum(self.counts[: level + 1]) + sum(self.choices[:level]) + self.leaves[level]

    @classmethod
    def from_shares(
        cls, total: Epsilon, depth: int, *, counts: Epsilon, leaves: Epsilon, growth: float = 1.0, refund: bool = True
    ) -> PathBudget:
        """Divide `total` among counts, leaves and choices.

        `counts` is the share of all levels' counts, and `leaves` of the last level's classes;
        choices get the rest. Counts have the same epsilon on all levels. Each level's choices have
        `growth` times the epsilon of the level above. With `refund`, a leaf above the last level
        also spends the epsilon that its records do not need further down. Otherwise every leaf has
        the same epsilon as on the last level, and the difference is not spent.
        """
        whole, of_counts = exact(total), exact(counts)
        weights = [exact(growth) ** level for level in range(depth)]
        unit = whole * (1 - of_counts - exact(leaves)) / sum(weights)
        each, choices = [whole * of_counts / (depth + 1)] * (depth + 1), [unit * weight for weight in weights]
        left = [whole - sum(each[: level + 1]) - sum(choices[:level]) for level in range(depth + 1)]
        ends = left if refund else left[-1:] * (depth + 1)
        return cls(counts=tuple(each), choices=tuple(choices), leaves=tuple(ends), total=whole)

    @classmethod
    def equal(cls, total: Epsilon, depth: int, *, steps: int = 1, refund: bool) -> PathBudget:
        """Divide `total` equally among the levels' counts, steps of choices, and leaves.

        `steps` is the number of choices on each level; `refund` is as for `from_shares`.
        """
        part = Fraction(1, (1 + steps) * depth + 2)
        return cls.from_shares(total, depth, counts=(depth + 1) * part, leaves=part, refund=refund)


@dataclass(frozen=True, kw_only=True)
class GrowthPlan:
    """Rules by which trees grow.

    With `noisy_stop`, a node with a small noisy count becomes a leaf. The limit is the noise's
    standard deviation times the number of classes times the largest fan-out offered (Friedman and
    Schuster 2010: sqrt(2) / epsilon per class and child), and at least `fewest`.
    """

    choosers: Sequence[SplitChooser]  # one for each level but the last
    budget: PathBudget
    # the number of columns that each node may choose from, drawn at random; None: all
    columns_per_node: int | None = None
    purity: str = ""  # the ledger's reason, if nodes of a single class stop by an unprotected test
    noisy_stop: bool = True
    fewest: float = FEWEST

    @property
    def depth(self) -> int:
        """Largest number of splits on a path from a root to a leaf."""
        return len(self.choosers)

    def unspent(self, roots: PrivateNodes, level: int) -> tuple[Epsilon, Epsilon]:
        """Return the claimed and proven epsilon of the queries below `level`, where no tree grows.

        `roots` are the private records of the trees' roots. The run is charged for these queries
        all the same. On other rows trees might have grown deeper, and the guarantee holds for all
        rows.
        """
        budget, last = self.budget, self.depth
        epsilon = [self.choosers[k].bound(roots, budget.choices[k]) for k in range(level, last)]
        bound = sum(budget.counts[level + 1 :]) + sum(epsilon) + budget.leaves[last] - budget.leaves[level]
        return budget.total - budget.path_loss(level), bound


@dataclass(frozen=True, eq=False)
class GrownLevel:
    """One released level: arrays with an entry per node, as in `Forest`, and noise variances.

    `parent` has indices of nodes on the level above.
    """

    parent: Ints
    column: Ints
    point: Floats
    noisy: Floats
    noisy_variance: float
    class_counts: Floats  # NaN for nodes that are split
    class_variance: float
    path_loss: Floats


def grow(
    roots: PrivateNodes,
    attributes: Mapping[int, Attribute],
    columns: int,
    plan: GrowthPlan,
    rng: np.random.Generator,
    progress: Progress,
) -> list[GrownLevel]:
    """Grow trees level by level, and return their levels, from the roots down.

    `roots` are the private records of the trees' roots. `attributes` maps column positions to their
    ways to split, and `columns` is the schema's number of columns. Every path spends at most the
    plan's budget. `rng` draws the columns of nodes publicly.
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
        offered = draw_columns(fans >= 2, plan.columns_per_node, rng)
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
            goes_on &= ~nodes.find_pure(plan.purity)
        goes_on &= nodes_to_split(np.where(goes_on, widest, 0), noisy, rng)
        going, leaves = np.flatnonzero(goes_on), np.flatnonzero(~goes_on)
        node_sets = {"": going, f"leaves of level {level}": leaves}
        parts = nodes.partition({key: indices for key, indices in node_sets.items() if len(indices)})
        nodes.drop_records()  # forget the records; the roots' ledger is needed to the end
        classes = np.full((size, nodes.classes), np.nan)
        if len(leaves):
            classes[leaves] = parts[-1].class_counts(f"{name}: classes in leaves", epsilon=budget.leaves[level])
        split = Split(np.full(size, -1), np.full(size, np.nan))
        if len(going):
            ranges = low[going], high[going]
            found = choose_splits(f"{name}: split", parts[0], plan, offered[going], real, *ranges, level)
            for position, attribute in attributes.items():
                at = np.flatnonzero(found.column == position)
                found.point[at] = attribute.snap_points(found.point[at])
            split.column[going], split.point[going] = found.column, found.point
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
                point=split.point,
                noisy=noisy,
                noisy_variance=nodes.count_variance(epsilon),
                class_counts=classes,
                class_variance=nodes.count_variance(budget.leaves[level]),
                path_loss=np.where(goes_on, further, float(spent + budget.leaves[level])),
            )
        )
        if not len(going):
            break
        spent += budget.choices[level]
        nodes = parts[0].divide(found, low[going], first[going], int(fanout.sum()))
        # the children's ranges, which are public
        above = np.repeat(each, fanout)
        child, column = np.arange(len(above)) - first[above], own[above]
        low, high, parent = low[above], high[above], above
        for position in np.unique(column).tolist():
            at = np.flatnonzero(column == position)
            low[at, position], high[at, position] = attributes[position].ranges(
                low[at, position], high[at, position], split.point[above[at]], child[at]
            )
    return levels


def choose_splits(
    name: str, nodes: PrivateNodes, plan: GrowthPlan, offered: Flags, real: Flags, low: Floats, high: Floats, level: int
) -> Split:
    """Choose the splits of all nodes of a level; nodes of different kinds choose in parallel.

    `plan` has the level's mechanism and epsilon. A node's kind, such as its number of columns with
    split points, decides how it divides epsilon (`SplitChooser.kinds`). The other arguments are
    those of `SplitChooser.choose`.
    """
    chooser, epsilon = plan.choosers[level], plan.budget.choices[level]
    kinds = chooser.kinds(offered, real)
    if not kinds.any():
        return chooser.choose(name, nodes, offered, real, low, high, epsilon)
    groups = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    parts = nodes.partition({f"level {level}, lot {i + 1}": at for i, at in enumerate(groups)})
    column, point = np.empty(nodes.size, dtype=np.intp), np.empty(nodes.size)
    for part, at in zip(parts, groups, strict=True):
        found = chooser.choose(name, part, offered[at], real, low[at], high[at], epsilon)
        column[at], point[at] = found.column, found.point
    return Split(column, point)


def draw_columns(usable: Flags, per_node: int | None, rng: np.random.Generator) -> Flags:
    """Return the columns a node may choose from: all usable ones, or at most `per_node` at random.

    The shape of `usable` and of the result is (nodes, columns).
    """
    if per_node is None:
        return usable
    keys = np.where(usable, rng.random(usable.shape), np.inf)
    return usable & (np.argsort(np.argsort(keys, axis=1), axis=1) < per_node)


def nodes_to_split(fans: Ints, noisy: Floats, rng: np.random.Generator) -> Flags:
    """Return which nodes are split if the next level may have at most `MOST_NODES` nodes.

    `fans` has the number of children of each node. The nodes of the largest noisy counts come
    first; without counts (NaN), the order is random.
    """
    if fans.sum() <= MOST_NODES:
        return np.ones(len(fans), dtype=bool)
    order = np.argsort(np.where(np.isnan(noisy), rng.random(len(noisy)), -noisy), kind="stable")
    allowed = np.empty(len(fans), dtype=bool)
    allowed[order] = np.cumsum(fans[order]) <= MOST_NODES
    return allowed


def make_forest(levels: Sequence[GrownLevel], schema: Schema, target: str, *, consistent: bool, **more: Any) -> Forest:
    """Return the forest of some grown levels; `more` has further fields of `Forest`.

    With `consistent`, weighted least squares combines the counts of nodes and of classes in leaves.
    The counts that are shown are moved to 0 or more from the root down, so that children sum to
    their parents. The votes of leaves are not moved: among many small leaves, this would favor the
    larger class. A leaf without records votes as its parent does.
    """
    starts = np.cumsum([0, 0, *(len(level.parent) for level in levels)])
    names = {"column": "column", "cut": "point", "noisy": "noisy", "spent": "path_loss", "classes": "class_counts"}
    more |= {field: np.concatenate([getattr(level, name) for level in levels]) for field, name in names.items()}
    parent = np.concatenate([level.parent + start for level, start in zip(levels, starts, strict=False)])
    counts = more["classes"]
    cells, shown = consistent_counts(levels) if consistent else (counts, counts)
    forest = Forest.from_parents(parent, schema=schema, target=target, probabilities=counts, **more)
    # files give leaves, too, an index of their first child
    first = forest.trees + np.cumsum(forest.fanout) - forest.fanout
    return replace_leaf_counts(replace(forest, first=first), cells, shown)


def consistent_counts(levels: Sequence[GrownLevel]) -> tuple[Floats, Floats]:
    """Return consistent class counts of leaves, and the same counts moved to 0 or more.

    Both have the shape (all nodes, classes), and are 0 for nodes that are split. The least-squares
    tree has every node, and below each leaf its classes.
    """
    root, classes = levels[0], levels[0].class_counts.shape[1]
    measured, variances, parents = [root.noisy], [np.full(len(root.parent), root.noisy_variance)], []
    leaves = [np.flatnonzero(level.column < 0) for level in levels]
    for i, level in enumerate(levels):
        cells, owners = level.class_counts[leaves[i]].ravel(), np.repeat(leaves[i], classes)
        below = levels[i + 1] if i + 1 < len(levels) else None
        nodes, variance = (below.noisy, below.noisy_variance) if below else (np.zeros(0), 0.0)
        # without measurements, all cells have the same weight
        spread = level.class_variance if np.isfinite(level.class_variance) else 1.0
        measured.append(np.concatenate([nodes, cells]))
        variances.append(np.concatenate([np.full(len(nodes), variance), np.full(len(cells), spread)]))
        parents.append(np.concatenate([below.parent, owners]) if below else owners)
    fitted = TreeLeastSquares(parents, roots=len(root.parent)).fit(measured, variances)
    found = []
    for counts in (fitted.counts, fitted.non_negative()):
        cells_of = [np.zeros((len(level.parent), classes)) for level in levels]
        for i, here in enumerate(cells_of):
            behind = len(levels[i + 1].parent) if i + 1 < len(levels) else 0
            here[leaves[i]] = counts[i + 1][behind:].reshape(-1, classes)
        found.append(np.concatenate(cells_of))
    return found[0], found[1]

"""Shared parts of the classifiers that learn from randomized reports, and their decision trees.

The trees are grown from estimated class counts, never from true counts, and are stored as a
`Forest`. The estimates are unbiased, but they are not consistent: shares can be negative, and the
shares of two children need not sum to the parent's. A leaf votes with its own estimate, moved to 0
or more. The numbers of people that are shown are scaled so that children sum to their parents.
Hence `min_support` bounds the number of nodes on a level.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from dpcore.accounting.relation import Relation
from dpcore.arguments import Floats, Progress, no_progress
from dpcore.domain.schema import Schema
from dpcore.domain.splits import attributes_of
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import NoNoise, exactly_sampled
from dpcore.mechanisms.randomizers import CategoryChannel
from dpcore.mechanisms.scores import xlog2
from dpcore.methods.base import Measurement, PrivateClassifier, clique_measurement
from dpcore.methods.parameters import controls_of, fitted_field, number, text, whole
from dpcore.postprocess.forest import Forest, replace_leaf_counts
from dpcore.postprocess.reports import Item, Questionnaire, Recodings, Reports
from dpcore.rows import NumberRule
from dpcore.text import read_toml

Ranges = Mapping[int, tuple[float, float]]
LEAST = 1e-9  # bits of entropy; a node with less has a single class
NODE = phrase("Growing the tree: level {level:d}, node {node:d}")
Survey = tuple[Questionnaire, Mapping[Item, str], Schema, Recodings]

PAGES = read_toml(Path(__file__).with_name("pages.toml"))
REASONS = PAGES["reasons"]
WIDEST = 1e100  # width of a range; numbers are squared, and must not overflow


class LocalClassifier(PrivateClassifier):
    """Base of methods that learn from answers that each person randomizes first (local DP).

    Parameters
    ----------
    relation
        'replace' only: reports hide what people answer, not who takes part.

    Attributes
    ----------
    reports_ : Reports
        The reports that the collector holds; everything else is computed from them.
    """

    paper = "004"
    page = "responses"
    relations: ClassVar[tuple[Relation, ...]] = (Relation.REPLACE,)
    learning: ClassVar[tuple[str, ...]] = ()  # parameters of learning, not of the randomization
    provable = "epsilon, local"
    observed_output = phrase("your reports")
    controls = controls_of(PAGES["LocalClassifier"])
    relation: str = text(default="replace", kind="{'replace'}")
    reports_: Reports = fitted_field()

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        """Collect the randomized reports, and learn from them."""
        progress(0.0, phrase("Collecting randomized reports"))
        self.reports_ = self._collect(table)
        self.noise_label_ = self._noise_label()
        self._learn(progress)

    def _collect(self, table: PrivateTable) -> Reports:
        """Return the randomized reports of all people, charged to the table's ledger."""
        questions, reasons, schema, recoded = self._survey(table)
        answers = table.recode(schema, recoded) if recoded else table
        claimed, reasons = (inf, reasons) if self._published else (None, {})
        reports = answers.randomize(questions, claimed_epsilon=claimed, reasons=reasons)
        return replace(reports, rows=table.schema, recodings=recoded, target=self._target(table.schema, self.target))

    @abstractmethod
    def _survey(self, table: PrivateTable) -> Survey:
        """Return the questions to people, the reasons, the answers' schema and the recoding rules.

        The rules are public, recode each row by itself, and cost nothing; there are none if the
        answers are the rows as they are. The reasons say, by question, why no epsilon can be proved
        in published mode.
        """

    def measurements(self, table: PrivateTable) -> list[Measurement] | None:
        """Return the marginals that category reports estimate, with variances, for a forecast."""
        questions, _, schema, _ = self._survey(table)
        found, rows = list[Measurement](), table.public_rows or 1
        for item, channel in questions.channels.items():
            if isinstance(channel, CategoryChannel):
                share = questions.n_optional / max(len(questions.optional), 1)
                people = rows * (share if item in questions.optional else 1.0)
                variance = channel.variance(np.full(channel.size, 1 / channel.size), people).mean()
                columns = [schema.index(name) for name in item]
                found.append(clique_measurement(schema.sizes, columns, float(variance) * rows**2))
        return found

    def learn(self, reports: Reports, *, progress: Progress = no_progress) -> Self:
        """Learn from reports that were collected before, as `fit` learns from its own reports.

        This is post-processing, at no privacy loss. The privacy loss of the reports themselves is
        not known here, so neither `ledger_` nor `exactly_sampled_` is set.

        Parameters
        ----------
        reports : Reports
            `reports_` of a fit, or the reports of a file (`dpcore.export.collection`).
        progress : callable, optional
            Called with a fraction and a text; an exception raised inside it stops the learning.

        Returns
        -------
        self
            Fitted, without a ledger.

        Raises
        ------
        ParameterError
            If this method cannot learn from the reports, or its parameters do not fit them.
        """
        schema = reports.source
        self.check(schema)
        if self._target(schema, self.target or reports.target) != reports.target:
            raise ParameterError("These reports were collected for another class column.", "Leave target= out.")
        if why := self.incompatibility(reports):
            raise ParameterError(f"{self.title} cannot learn from these reports. {why}", "Use another method.")
        self._forget()
        self.reports_ = reports
        try:
            self._learn(progress)
        except BaseException:
            self._forget()
            raise
        self.target_, self.classes_ = reports.target, np.array(schema[reports.target].labels, dtype=object)
        self.noise_label_ = phrase("The noise with which the reports were made")
        self.schema_ = schema
        return self

    def incompatibility(self, reports: Reports) -> str:
        """Return a sentence that says why this method cannot learn from `reports`; empty if it can.

        Parameters
        ----------
        reports : Reports
            Reports of this or another local method.

        Returns
        -------
        str
            The reason, or an empty string.
        """
        return "The method learns from true answers only."

    def _learn(self, progress: Progress) -> None:
        """Learn from `reports_`, and set the method's other fitted attributes."""

    def _noise_label(self) -> str:
        """Describe the reports' mechanisms, and where their random numbers come from."""
        names = dict.fromkeys(channel.mechanism for channel in self.reports_.channels.values() if not channel.truthful)
        if not names:
            return NoNoise.label.capitalize()
        mechanisms = " and ".join(names)
        source = f"NumPy's random numbers, {'un' * (self.random_state is None)}seeded: for teaching"
        if exactly_sampled(self.noise, self.random_state):
            source = "chance from the operating system's entropy" + ", exactly sampled noise" * ("laplace" in names)
        return f"{mechanisms[:1].upper()}{mechanisms[1:]}; {source}"

    def _number_rules(self, schema: Schema) -> dict[int, NumberRule]:
        """Return, by column position, a rule that sets missing numbers to the range's middle."""
        found: dict[int, NumberRule] = {}
        for position, column in enumerate(schema):
            if column.numeric:
                low, high = float(column.lower or 0.0), float(column.upper or 0.0)
                if high - low > WIDEST:
                    raise ParameterError(f"The range of {column.name!r} is too wide.", "Declare narrower bounds.")
                found[position] = partial(np.nan_to_num, nan=(low + high) / 2)
        return found


@dataclass(eq=False)
class Node:
    """A node of a growing tree, with fields as in a `Forest`.

    `classes` are estimated numbers of people by class, 0 or more; `probabilities` are the classes'
    shares. `state` is the method's own data on the node, for finding its split. `ranges` holds the
    remaining range of columns by position; a column that is not listed has its full range.
    """

    classes: Floats
    probabilities: Floats
    state: Any
    level: int = 0
    parent: int = -1
    ranges: Ranges = field(default_factory=dict)
    column: int = -1
    point: float = np.nan


@dataclass(frozen=True, eq=False)
class LocalSplit:
    """The split of a node: a column's position, and a split point (NaN for a column of groups).

    `classes` are estimated numbers of people, shape (children, classes); `states` holds the
    method's own data on each child.
    """

    column: int
    point: float
    classes: Floats
    states: Sequence[Any]


@dataclass(frozen=True)
class StopRule:
    """Limits of a split node: depth, least share of all people, least class entropy in bits."""

    max_depth: int
    min_support: float
    min_entropy: float = 0.0

    def may_split(self, node: Node, total: float) -> bool:
        """Return whether a node of a tree with `total` people may be split."""
        people = float(node.classes.sum())
        supported = people > 0 and people >= self.min_support * total
        mixed = float(entropy(node.probabilities)) >= max(self.min_entropy, LEAST)
        return node.level < self.max_depth and supported and mixed


class LocalTree(LocalClassifier):
    """Base of methods that learn one decision tree from reports.

    Parameters
    ----------
    max_depth
        The most splits from the root to a leaf; by default 10 as published, 5 in corrected mode.
    min_support
        Nodes with a smaller share of all people are leaves; by default .001 as published, .02 in
        corrected mode.

    Attributes
    ----------
    forest_ : Forest
        One tree.
    """

    best_for = "comparison"
    learning = ("max_depth", "min_support", "min_entropy", "certainty", "variant", "intervals")
    artifacts: ClassVar[tuple[str, ...]] = ("forest",)
    controls = controls_of(PAGES["LocalTree"])
    max_depth: int | None = whole(default=None, maximum=20)
    min_support: float | None = number(default=None, minimum=0.001, maximum=1, open=")")
    forest_: Forest = fitted_field()

    def _stop_rule(self, min_entropy: float = 0.0) -> StopRule:
        """Return the rule that makes a node a leaf.

        Nodes with a class entropy below `min_entropy` bits are leaves too. As published, trees stop
        nearly where ID3 stops: when no column is left to split by.
        """
        depth, support = (10, 0.001) if self._published else (5, 0.02)
        return StopRule(self.max_depth or depth, support if self.min_support is None else self.min_support, min_entropy)


def grow(
    schema: Schema,
    target: str,
    classes: Floats,
    state: Any,
    best_split: Callable[[Node], LocalSplit | None],
    stop: StopRule,
    progress: Progress,
    *,
    prepare: Callable[[Sequence[Node]], None] = lambda _: None,
    splits: Mapping[str, str],
) -> Forest:
    """Grow one tree level by level, and return it as a forest of one tree.

    `classes` are the root's estimated numbers of people by class, `state` is the method's own data
    on the root. `best_split` returns a node's split, or None for a leaf. `stop` limits which nodes
    are split. `prepare` is called with the nodes of a level before their splits are chosen.
    `splits` has the arguments `cuts` and `children` of `attributes_of`. Inner nodes show sums of
    their leaves.
    """
    attributes = attributes_of(schema, target, **splits)
    people = np.maximum(classes, 0.0)
    total = float(people.sum())
    nodes = [Node(people, shares(people, np.full(len(people), 1 / len(people))), state)]
    indices = [index for index, node in enumerate(nodes) if stop.may_split(node, total)]
    while indices:
        start, level = len(nodes), nodes[indices[0]].level
        prepare([nodes[index] for index in indices])
        for i, index in enumerate(indices):
            progress(0.3 + 0.7 * level / (stop.max_depth + 1), NODE.format(level=level, node=i + 1))
            node = nodes[index]
            if (split := best_split(node)) is None:
                continue
            attribute = attributes[split.column]
            low, high = node.ranges.get(split.column, attribute.start)
            node.column, node.point, node.state = split.column, split.point, None
            even = np.full(split.classes.shape, 1 / split.classes.size)
            estimates = shares(split.classes, even) * node.classes.sum()
            every = np.arange(len(split.states))
            ranges = np.full((3, len(every)), [[low], [high], [split.point]])
            ends = attribute.ranges(ranges[0], ranges[1], ranges[2], every)
            for side, own in enumerate(split.states):
                left = {**node.ranges, split.column: (float(ends[0][side]), float(ends[1][side]))}
                votes = shares(split.classes[side], node.probabilities)
                nodes.append(Node(estimates[side], votes, own, node.level + 1, index, left))
        indices = [start + i for i, node in enumerate(nodes[start:]) if stop.may_split(node, total)]
    names = ("parent", "column", "point", "classes", "probabilities")
    columns: dict[str, Any] = {name: np.array([getattr(node, name) for node in nodes]) for name in names}
    columns |= {"cut": columns.pop("point"), **splits}
    forest = Forest.from_parents(**columns, schema=schema, target=target, vote="probability")
    return replace(replace_leaf_counts(forest, forest.classes), probabilities=forest.probabilities)


def shares(classes: Floats, otherwise: Floats) -> Floats:
    """Return estimates, moved to 0 or more, as shares of their sum; `otherwise` if the sum is 0.

    `classes` are estimated numbers of people by class, shape (classes,).
    """
    clipped = np.maximum(classes, 0.0)
    total = float(clipped.sum())
    return clipped / total if total > 0 else otherwise


def entropy(classes: Floats) -> Floats:
    """Return the entropy, in bits, of distributions over the last axis; 0 for rows of zeros.

    `classes` has a number of people, or a share, per class on that axis.
    """
    classes = np.asarray(classes, dtype=float)
    total = classes.sum(axis=-1, keepdims=True)
    parts = np.divide(classes, total, out=np.zeros_like(classes), where=total > 0)
    return np.asarray(-xlog2(parts).sum(axis=-1), dtype=float)


def gini(classes: Floats) -> Floats:
    """Return the Gini impurity of distributions over the last axis; 0 for rows of zeros.

    `classes` has a number of people, or a share, per class on that axis.
    """
    classes = np.asarray(classes, dtype=float)
    total = classes.sum(axis=-1)
    squares = (classes**2).sum(axis=-1)
    return np.asarray(1 - np.divide(squares, total**2, out=np.ones_like(total), where=total > 0), dtype=float)

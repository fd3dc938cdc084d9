"""What the classifiers share that learn from randomized answers, and trees from estimated tables of classes.

Such trees never see a true count, and end as a `Forest`. Estimates are unbiased and agree with
nothing: shares can be negative, and those of two children need not add up to their parent's. What
a leaf votes is its own estimate, moved to 0 or more. What is shown of people is scaled so that
children sum to their parents; so a tree has no more nodes of some support than there is room for.
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
from dpcore.methods.base import Measurement, PrivateClassifier, clique
from dpcore.methods.parameters import controls_of, fitted_field, number, text, whole
from dpcore.postprocess.forest import Forest, replace_leaf_counts
from dpcore.postprocess.reports import Item, Questionnaire, Recodings, Reports
from dpcore.rows import NumberRule
from dpcore.text import read_toml

Ranges = Mapping[int, tuple[float, float]]
LEAST = 1e-9  # bits; below it there is but one class
NODE = phrase("level {level:d}, node {node:d}")
Survey = tuple[Questionnaire, Mapping[Item, str], Schema, Recodings]

PAGES = read_toml(Path(__file__).with_name("pages.toml"))
REASONS = PAGES["reasons"]
WIDEST = 1e100  # numbers are squared


class LocalClassifier(PrivateClassifier):
    """Base of methods that learn from answers which people randomize first (local DP).

    Parameters
    ----------
    relation
        Reports hide what people say, not who takes part.

    Attributes
    ----------
    reports_ : Reports
        What the collector has; all else is made of it.
    """

    paper = "004"
    page = "responses"
    relations: ClassVar[tuple[Relation, ...]] = (Relation.REPLACE,)
    learning: ClassVar[tuple[str, ...]] = ()  # parameters that matter once people have reported
    provable = "epsilon, local"
    seen = phrase("your reports")
    controls = controls_of(PAGES["LocalClassifier"])
    relation: str = text(default="replace", kind="{'replace'}")
    reports_: Reports = fitted_field()

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        progress(0.0, phrase("everyone reports"))
        self.reports_ = self._collect(table)
        self.noise_label_ = self._noise_label()
        self._learn(progress)

    def _collect(self, table: PrivateTable) -> Reports:
        """What everybody answers."""
        questions, reasons, schema, recoded = self._survey(table)
        paper, own = self._published, table.recode(schema, recoded) if recoded else table
        columns = own.randomize(questions, claimed_epsilon=inf if paper else None, reasons=reasons if paper else {})
        return replace(columns, rows=table.schema, recoded=recoded, target=self._target(table.schema, self.target))

    @abstractmethod
    def _survey(self, table: PrivateTable) -> Survey:
        """What everybody reports, of their rows or of what public rules make of them.

        Record by record, and free. What a paper prints claims no epsilon, for reasons by family.
        """

    def measurements(self, table: PrivateTable) -> list[Measurement] | None:
        questions, _, schema, _ = self._survey(table)
        found, rows = list[Measurement](), table.public_rows or 1
        for family, channel in questions.channels.items():
            if isinstance(channel, CategoryChannel):
                share = questions.n_optional / max(len(questions.optional), 1)
                people = rows * (share if family in questions.optional else 1.0)
                variance = channel.variance(np.full(channel.size, 1 / channel.size), people).mean()
                columns = [schema.index(name) for name in family]
                found.append(clique(schema.sizes, columns, float(variance) * rows**2))
        return found

    def learn(self, reports: Reports, *, progress: Progress = no_progress) -> Self:
        """Learn from reports that were collected, as `fit` does from its own.

        Post-processing, at no privacy loss. What the reports cost the people is not known here, so
        there is no `ledger_`, and no `exactly_sampled_`.

        Parameters
        ----------
        reports : Reports
            `reports_` of a fit, or those of a file (`dpcore.export.collection`).
        progress : callable, optional
            Called with a fraction and a text; raising inside it stops.

        Returns
        -------
        self
            Fitted, without a ledger.

        Raises
        ------
        ParameterError
            If they do not tell what this method learns from, or its parameters do not fit them.
        """
        schema = reports.source
        self.check(schema)
        if self._target(schema, self.target or reports.target) != reports.target:
            raise ParameterError("These reports were collected for another class.", "Leave target= out.")
        if why := self.untold(reports):
            raise ParameterError(f"{self.title} cannot learn from these reports. {why}", "Use another method.")
        self._forget()
        self.reports_ = reports
        try:
            self._learn(progress)
        except BaseException:
            self._forget()
            raise
        self.target_, self.classes_ = reports.target, np.array(schema[reports.target].labels, dtype=object)
        self.noise_label_ = phrase("As the reports were made")
        self.schema_ = schema
        return self

    def untold(self, reports: Reports) -> str:
        """Return why this method cannot learn from some reports, in a sentence; empty if it can.

        Parameters
        ----------
        reports : Reports
            The reports.

        Returns
        -------
        str
            The sentence.
        """
        return "It learns from true answers."

    def _learn(self, progress: Progress) -> None:
        """Learn from `reports_`, which tell what is needed."""

    def _noise_label(self) -> str:
        """Which noise is in the reports, and whose lots people toss, in words."""
        rules = dict.fromkeys(channel.mechanism for channel in self.reports_.channels.values() if not channel.truthful)
        if not rules:
            return NoNoise.label.capitalize()
        columns = " and ".join(rules)
        generator_text = f"NumPy's random numbers, {'un' * (self.random_state is None)}seeded: for teaching"
        if exactly_sampled(self.noise, self.random_state):
            generator_text = "chance from the operating system's entropy" + ", exactly sampled noise" * (
                "laplace" in rules
            )
        return f"{columns[:1].upper()}{columns[1:]}; {generator_text}"

    def _numbers(self, schema: Schema) -> dict[int, NumberRule]:
        """Numbers to be randomized, moved into their bounds; a missing one is taken for the middle."""
        found: dict[int, NumberRule] = {}
        for position, column in enumerate(schema):
            if column.numeric:
                low, high = float(column.lower or 0.0), float(column.upper or 0.0)
                if high - low > WIDEST:
                    raise ParameterError(f"The bounds of {column.name!r} are too far apart.", "Declare narrower ones.")
                found[position] = partial(np.nan_to_num, nan=(low + high) / 2)
        return found


@dataclass(eq=False)
class Node:
    """A node that grows, as in a `Forest`.

    `classes` are estimated numbers of people, 0 or more, and `probabilities` the classes' shares.
    `held` is what the method knows of the node; `ranges` what is left of the columns, by position,
    if it is not all.
    """

    classes: Floats
    probabilities: Floats
    held: Any
    level: int = 0
    parent: int = -1
    ranges: Ranges = field(default_factory=dict)
    column: int = -1
    cut: float = np.nan


@dataclass(frozen=True, eq=False)
class LocalSplit:
    """How a node is divided: by the column at a position, at a cut (NaN if the column falls into groups).

    `classes` are estimated numbers of people, shape (children, classes); `held` is what the method
    knows of each child.
    """

    column: int
    cut: float
    classes: Floats
    held: Sequence[Any]


@dataclass(frozen=True)
class Stops:
    """When a node is a leaf: at a depth, below a share of all people, or below an entropy of the classes, in bits."""

    max_depth: int
    min_support: float
    min_entropy: float = 0.0

    def leave_open(self, node: Node, total: float) -> bool:
        """Whether a node may be divided."""
        people = float(node.classes.sum())
        supported = people > 0 and people >= self.min_support * total
        mixed = float(entropy(node.probabilities)) >= max(self.min_entropy, LEAST)
        return node.level < self.max_depth and supported and mixed


class LocalTree(LocalClassifier):
    """Base of methods that learn one decision tree from reports.

    Parameters
    ----------
    max_depth
        The most divisions from the root to a leaf; by default, as printed and corrected, 10 and 5.
    min_support
        Nodes with a smaller share of all people are leaves; by default, as printed and corrected,
        .001 and .02.

    Attributes
    ----------
    forest_ : Forest
        One tree.
    """

    best_for = "comparison"
    learning = ("max_depth", "min_support", "min_entropy", "certainty", "variant", "intervals")
    artifacts: ClassVar[tuple[str, ...]] = ("forest",)
    controls = controls_of(PAGES["LocalTree"])
    max_depth: int | None = whole(default=None, most=20)
    min_support: float | None = number(default=None, least=0.001, most=1, open=")")
    forest_: Forest = fitted_field()

    def _stops(self, min_entropy: float = 0.0) -> Stops:
        """When nodes are leaves. As printed they stop nearly where ID3 does, where nothing is left to divide."""
        depth, support = (10, 0.001) if self._published else (5, 0.02)
        return Stops(self.max_depth or depth, support if self.min_support is None else self.min_support, min_entropy)


def grow(
    schema: Schema,
    target: str,
    classes: Floats,
    held: Any,
    divide: Callable[[Node], LocalSplit | None],
    stops: Stops,
    progress: Progress,
    *,
    prepare: Callable[[Sequence[Node]], None] = lambda _: None,
    cuts: str,
    children: str,
) -> Forest:
    """One tree, level by level; what inner nodes show are the sums of their leaves.

    `classes` and `held` are the root's; `divide` gives a node's division, None for leaves, once its
    level is prepared; `cuts` and `children` are as for `attributes_of`.
    """
    attributes = attributes_of(schema, target, cuts=cuts, children=children)
    people = np.maximum(classes, 0.0)
    total = float(people.sum())
    nodes = [Node(people, shares(people, np.full(len(people), 1 / len(people))), held)]
    indices = [index for index, node in enumerate(nodes) if stops.leave_open(node, total)]
    while indices:
        start, level = len(nodes), nodes[indices[0]].level
        prepare([nodes[index] for index in indices])
        for i, index in enumerate(indices):
            progress(0.3 + 0.7 * level / (stops.max_depth + 1), NODE.format(level=level, node=i + 1))
            node = nodes[index]
            if (split := divide(node)) is None:
                continue
            attribute = attributes[split.column]
            low, high = node.ranges.get(split.column, attribute.start)
            node.column, node.cut, node.held = split.column, split.cut, None
            even = np.full(split.classes.shape, 1 / split.classes.size)
            estimates = shares(split.classes, even) * node.classes.sum()
            every = np.arange(len(split.held))
            ranges = np.full((3, len(every)), [[low], [high], [split.cut]])
            ends = attribute.ranges(ranges[0], ranges[1], ranges[2], every)
            for side, known in enumerate(split.held):
                left = {**node.ranges, split.column: (float(ends[0][side]), float(ends[1][side]))}
                votes = shares(split.classes[side], node.probabilities)
                nodes.append(Node(estimates[side], votes, known, node.level + 1, index, left))
        indices = [start + i for i, node in enumerate(nodes[start:]) if stops.leave_open(node, total)]
    names = ("parent", "column", "cut", "classes", "probabilities")
    columns: dict[str, Any] = {name: np.array([getattr(node, name) for node in nodes]) for name in names}
    forest = Forest.from_parents(
        **columns, schema=schema, target=target, cuts=cuts, children=children, vote="probability"
    )
    return replace(replace_leaf_counts(forest, forest.classes), probabilities=forest.probabilities)


def shares(classes: Floats, otherwise: Floats) -> Floats:
    """Estimates moved to 0 or more, as shares; `otherwise` if nothing is left."""
    clipped = np.maximum(classes, 0.0)
    total = float(clipped.sum())
    return clipped / total if total > 0 else otherwise


def entropy(classes: Floats) -> Floats:
    """In bits, of distributions over the last axis; rows of zeros have none."""
    classes = np.asarray(classes, dtype=float)
    total = classes.sum(axis=-1, keepdims=True)
    parts = np.divide(classes, total, out=np.zeros_like(classes), where=total > 0)
    return np.asarray(-xlog2(parts).sum(axis=-1), dtype=float)


def gini(classes: Floats) -> Floats:
    """1 less the sum of squared shares over the last axis; rows of zeros have 0."""
    classes = np.asarray(classes, dtype=float)
    total = classes.sum(axis=-1)
    squares = (classes**2).sum(axis=-1)
    return np.asarray(1 - np.divide(squares, total**2, out=np.ones_like(total), where=total > 0), dtype=float)

"""Two data sets to count by hand, a noise that records its calls, and all queries of the door."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import log, log2
from typing import Any

import numpy as np
from tables import FOREST, categorical

from dpcore.accounting.ledger import Ledger
from dpcore.domain.splits import GRID, STEP, CodeSplit, Groups, NumberSplit, flat_hierarchy
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import Noise, NoNoise
from dpcore.mechanisms.scores import ClassLogScore, ConditionalEntropy, Gini, InfoGain, Max, MutualInformation, R
from dpcore.rows import HeldRows

ADD, REPLACE = "add_remove", "replace"
RELATIONS = {ADD: 1, REPLACE: 2}  # the cells of a table that one person moves

SCHEMA = categorical({"a": "01", "b": "xyz", "y": ("no", "yes")}, missing=("y",), target="y", max_rows=50)
CODES = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [0, 2, 1], [1, 0, 0]], dtype=np.uint8, order="F")
OTHER = np.ones_like(CODES)  # very different rows; under replace the number of rows is public and stays
BITS = categorical(dict.fromkeys(("b high", "b low", "a not"), "01"), kind="ordered", max_rows=50)
RULES = [("b", np.array([0, 0, 1])), ("b", np.array([0, 1, 0])), ("a", np.array([1, 0]))]

ATTRIBUTES = {
    0: NumberSplit(FOREST.columns[0], by_length=True),
    1: CodeSplit(FOREST.columns[1]),
    2: Groups(FOREST.columns[2], flat_hierarchy(FOREST.columns[2])),
}
TREES = np.array([[0, 0, 0, 0], [1, 1, 1, 0], [1, 2, 1, 1], [1, 3, 2, 1], [0, 0, 2, 1], [1, 3, 0, 0]], dtype=np.uint8)
TICKS = STEP * np.ceil(np.array([0.2, 0.5, 0.5, 0.95, 0.0, 1.0]) * (GRID // STEP))  # numbers 2, 5, 5, 9.5, 0 and 10
EVERY = np.array([True, True, True, False])
LOW, HIGH = np.array([-1.0, 0.0, 0.0, 0.0]), np.array([GRID, 4.0, 0.0, 0.0])


class Listening(NoNoise):
    """Noiseless answers; `scales` records the requested scales, and 1 / factor of selections."""

    on_counts = "fake"

    def __init__(self):
        self.scales, self.choices = [], []

    def counts(self, counts, scale):
        self.scales.append(scale)
        return counts.astype(float)

    def histograms(self, tables, factor, *, public_total):
        self.scales.append(1 / factor)
        return super().histograms(tables, factor, public_total=public_total)

    def variance(self, scale):
        return 2 * scale**2

    def reals(self, values, scale, **_):
        self.scales.append(scale)
        return values.copy()

    def select(self, scores, factor):
        self.scales.append(1 / factor)
        return np.argmax(factor * scores, axis=-1)

    def select_grouped(self, scores, groups, factor, weights=None):
        self.scales.append(1 / factor)
        self.choices.append((scores, groups, weights))
        return super().select_grouped(scores, groups, factor, weights)


class BrokenError(Exception):
    """The error of a source of noise that fails."""


class Broken(Noise):
    on_counts = label = "broken"

    def counts(self, *_, **__):
        raise BrokenError

    histograms = reals = select = select_grouped = uniforms = counts


def door(relation=ADD, *, codes=CODES, schema=SCHEMA, cap=None, noise=None, paper=False):
    ledger = Ledger(relation, epsilon=cap)
    return PrivateTable(codes, schema, ledger, noise or Listening(), unprotected_allowed=paper)


def roots(
    relation=ADD, *, noise=None, cap=None, paper=False, trees=1, epsilon=1, resample="full", codes=TREES,
    schema=FOREST, **how,
):  # fmt: skip
    """Return a table, the root nodes of some trees, and the budget of a path through one tree."""
    source, numbers = noise or Listening(), {0: np.resize(TICKS, len(codes))}
    ledger = Ledger(relation, epsilon=cap)
    table = PrivateTable(HeldRows(codes, schema.sizes, numbers), schema, ledger, source, unprotected_allowed=paper)
    nodes, budget = table.trees("y", ATTRIBUTES, trees=trees, epsilon=epsilon, resample=resample, **how)
    return table, nodes, budget


def offered(nodes, columns=EVERY):
    return tuple(np.tile(each, (nodes.size, 1)) for each in (columns, LOW, HIGH))


def only(table):
    (entry,) = table.ledger.entries
    return entry


@dataclass(frozen=True)
class Question:
    """A query of the door with its sensitivities and scales per relation, at epsilon 1.

    `shares` has the share of epsilon of each entry.
    """

    ask: Callable[..., Any]
    losses: dict[str, list[tuple[float, float]]]
    shares: list[Fraction | int] = field(default_factory=lambda: [1])
    mechanism: str = "fake"
    draws: tuple[int, ...] = (1,)
    of: str = "table"
    claims: bool = True

    def to(self, relation=ADD, *, other=False, **how):
        """Return a table, the query to it, and how many times the query's loss counts there."""
        if self.of == "nodes":
            table, nodes, _ = roots(relation, codes=np.ones_like(TREES) if other else TREES, **how)
            return table, lambda epsilon, **claimed: self.ask(nodes, epsilon, **claimed), RELATIONS[relation]
        table = door(relation, codes=OTHER if other else CODES, **how)
        return table, lambda epsilon, **claimed: self.ask(table, epsilon, **claimed), 1


def counts(families, shares, weights=None):
    losses = {each: [(moved, moved / share) for share in shares] for each, moved in RELATIONS.items()}

    def ask(table, epsilon, **claimed):
        return table.counts(families, epsilon=epsilon, weights=weights, **claimed)

    return Question(ask, losses, shares, draws=(1,) * len(shares))


def histograms():
    """Return the K-norm query: one row changes each histogram by 1, and the longest counts."""
    losses = {each: [(moved, moved)] for each, moved in RELATIONS.items()}
    families = [("a",), ("b", "y")]
    return Question(
        lambda table, epsilon: table.histograms(families, epsilon=epsilon), losses, mechanism="k-norm", claims=False
    )


def choice(score, added, replaced, of="table"):
    losses = {ADD: [added], REPLACE: [replaced]}

    def of_table(table, epsilon, **claimed):
        return table.choose(score, CANDIDATES, epsilon=epsilon, **claimed)

    def of_nodes(nodes, epsilon, **claimed):
        return nodes.choose("which", score, *offered(nodes), epsilon=epsilon, **claimed)

    return Question(of_table if of == "table" else of_nodes, losses, mechanism="exponential", of=of)


def labels(table, epsilon, **claimed):
    return table.choose(ClassLogScore("y", ("a", "b"), PEOPLE, 1.0), [], epsilon=epsilon / 6, draws=6, **claimed)


def values(table, epsilon, **claimed):
    return table.noisy_scores(R(), [("a", "b"), ("b", "a"), ("b", "y")], epsilon=epsilon, **claimed)


def grown(table, epsilon, **claimed):
    return table.recode(BITS, RULES).grow_network(R(), BITS.names, max_parents=1).choose(epsilon=epsilon, **claimed)


def of_nodes(ask, shares=(1,), draws=(1,)):
    """Return a query to nodes, where one row is added or removed under either relation."""
    losses = [(1, drawn / share) for share, drawn in zip(shares, draws, strict=True)]
    return Question(ask, dict.fromkeys(RELATIONS, losses), list(shares), draws=draws, of="nodes", claims=False)


def tables(one_by_one):
    return lambda nodes, epsilon: nodes.tables("t", [2, 1], epsilon=epsilon, one_by_one=one_by_one)


CANDIDATES = [("a", "y"), ("b", "y")]  # 2 × 3 and 3 × 3
PEOPLE = np.array(list(np.ndindex(2, 3)), dtype=np.uint8)
FIFTY = log2(51) + 50 * log2(51 / 50)  # max_rows, not the 6 rows
SIX = 2 / 6 * log2(7 / 2) + 5 / 6 * log2(7 / 5)
LABELS = 3 * log(2)  # of three tables: the prior, and those of two columns
RECORDS = {rows: log2(rows + 1) + 1 / log(2) for rows in (6, 50)}

QUESTIONS = {
    "tables": counts([("a",), ("a", "b"), ("y", "a", "b")], [Fraction(1, 3)] * 3),
    "weighted tables": counts(
        [("a",), ("b",), ("y",)], [Fraction(1, 8), Fraction(1, 4), Fraction(5, 8)], [1.0, 2.0, 5.0]
    ),
    "number of rows": counts([()], [1]),
    "histograms": histograms(),
    "choice by Max": choice(Max(), (1, 1), (1, 2)),  # monotone: the exponent epsilon q / D
    "choice by Gini": choice(Gini(), (2, 2), (2, 4)),
    "choice by R": choice(R(), (2, 4), (3 * 5 / 36, 6 * 5 / 36)),  # general: epsilon q / (2 D)
    "choice by gain": choice(InfoGain(), (log2(3), 2 * log2(3)), (log2(3), 2 * log2(3))),
    "choice by information": choice(MutualInformation(), (FIFTY, 2 * FIFTY), (SIX, 2 * SIX)),
    "labels": Question(
        labels,
        {each: [(moved * LABELS, 6 * moved * LABELS)] for each, moved in RELATIONS.items()},
        mechanism="exponential",
        draws=(6,),
    ),
    "values of R": Question(values, {ADD: [(2, 6)], REPLACE: [(15 / 36, 45 / 36)]}, mechanism="laplace", draws=(3,)),
    "a network's family": Question(grown, {ADD: [(2, 4)], REPLACE: [(10 / 36, 20 / 36)]}, mechanism="exponential"),
    "records of nodes": of_nodes(lambda nodes, epsilon: nodes.counts("n", epsilon=epsilon)),
    "classes of nodes": of_nodes(lambda nodes, epsilon: nodes.class_counts("n", epsilon=epsilon)),
    "tables of nodes": of_nodes(tables(one_by_one=False), [Fraction(1, 4)] * 4, (1,) * 4),
    # epsilon / (|A| m (1 + |C|)) for each single count, whatever column it is of
    "counts one by one": of_nodes(tables(one_by_one=True), [Fraction(1, 6), Fraction(1, 3)] * 2, (3, 6, 4, 8)),
    "division by Max": choice(Max(), (1, 1), (1, 1), "nodes"),  # scores that only rise cost once
    "division by Gini": choice(Gini(), (2, 2), (2, 2), "nodes"),
    "division by gain": choice(InfoGain(), (1, 2), (1, 2), "nodes"),
    "division by entropy": choice(ConditionalEntropy(), (RECORDS[50], RECORDS[50]), (RECORDS[6], RECORDS[6]), "nodes"),
}
CLAIMING = {name: question for name, question in QUESTIONS.items() if question.claims}

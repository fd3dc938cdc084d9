r"""Adaptive tables: measure what the model so far is most wrong about (this project's own method).

Idea      Start from the columns by themselves. Again and again find the pair of columns whose table is farthest from
          what the model says, measure it, at a resolution that its noise allows, and let the model have it: the
          distribution of maximal entropy with all tables so far.

Steps, corrected (the only mode); C is the class column, if there is one; d is the number of columns
  0  A rough number of rows, 1% of epsilon, unless it is public. With s = n epsilon / d², halved under replace, this
     fixes by formula (`Plan`) the share of step 1, the number of rounds of step 3, and whether C is in every table of
     step 1. If s < 8 there are no rounds, and step 1 has all of epsilon.                                       counts
  1  A table of every column X, or of (X, C), epsilon in proportion to the root of its cells; then histograms with one
     total and no negative counts.                                                                              counts
  2  Values that count too little for the noise of a round, or beside all rows, are merged (adjacent ones in ordered
     columns), at three resolutions, each within the one before.                                       post-processing
  3  Rounds, with equal parts of the rest of epsilon. All pairs of columns at all resolutions are rated by the distance
     of their table from the model's, less the distance that noise makes; an exponential mechanism chooses one.
                                                                                                                choose
     Its table is measured, moved towards the model's by as much as its noise makes likely (James and Stein 1961), and
     fitted to the margins of step 1; the model is fitted to all tables so far.                                 counts
  4  Rows along the model's junction tree; values within merged ones by the histograms.                 post-processing

Privacy
  Public    the schema and the target; n under replace.
  0, 1      each table has L1 sensitivity 1 (add_remove) or 2 (replace); sequential.
  3         the model, resolutions, and penalties are made of answers that are fixed by then, so the score moves by half
            of what the table moves: ½ or 1 (`DistanceFromMargins`). One mechanism and one table a round, sequential:
            merging is record by record, so the table's sensitivity is as above.
  Sum       epsilon.

Where it comes from   rounds, and the penalty for cells, from AIM; merging of rare values, from MST; maximal
          entropy over a junction tree, from Private-PGM. The formulas' constants were chosen on the tables `TUNING` of
          `benchmarks.utility`.

Reference  McKenna, Miklau, Hay and Machanavajjhala: AIM, PVLDB 15(11), 2022. McKenna, Miklau and Sheldon: Winning the
NIST contest, Journal of Privacy and Confidentiality 11(3), 2021; Graphical-model based estimation and inference for
differential privacy, ICML 2019.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from math import log, sqrt
from typing import Any

import numpy as np

from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Floats, Ints, Progress
from dpcore.domain.column import Codes, Column, code_dtype
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.language import phrase
from dpcore.mechanisms.scores import DistanceFromMargins
from dpcore.methods.offers import Offer
from dpcore.methods.parameters import learned, text
from dpcore.methods.synthesizer import Synthesizer
from dpcore.postprocess import junction_tree
from dpcore.postprocess.histogram import likely_histogram
from dpcore.postprocess.junction_tree import Edge
from dpcore.postprocess.max_entropy import MaximalEntropy, merged, one_hot
from dpcore.postprocess.resolution import ENOUGH, Resolution, neighbors
from dpcore.postprocess.shrinkage import towards
from dpcore.postprocess.simplex import TRACE, draw_given, fit_margins, project, project_rows
from dpcore.text import finite_or_text

Levels = tuple[int, int]
Candidate = tuple[Edge, Levels]

ROUGH = Fraction(1, 100)  # of epsilon, for the number of rows
FEWEST = 8.0  # of a plan's strength: below, what rounds find is not worth what they cost
PENALTY = 0.5  # noise scales per cell: the expected distance that noise makes
MOST_CELLS = 8_000  # of a clique
SWEEPS, LAST_SWEEPS = 2, 10
MOST_SCALE = 1e12  # of noise, where epsilon is all but nothing
MEASURED = phrase("{done:d} of {rounds:d} pairs measured")


@dataclass(frozen=True)
class Plan:
    """What follows from s = n epsilon / (sensitivity d²), by formula: shares and rounds."""

    one_ways: Fraction
    rounds: int
    with_class: bool

    @classmethod
    def of(cls, rows: float, epsilon: Epsilon, relation: Relation, sizes: tuple[int, ...], classes: int) -> Plan:
        """The plan for so many rows; `classes` is 0 without a class column."""
        columns = len(sizes)
        strength = rows * float(epsilon) / (relation.histogram_l1 * columns**2)
        if strength < FEWEST or sum(size > 1 for size in sizes) < 2:
            return cls(Fraction(1), 0, False)
        with_class = 2 <= classes <= 3 and strength >= 12
        above = strength - 3
        later = 0.65 * above / (above + (60 if with_class else 22))
        rounds = min(2.5, 0.12 * strength**0.55) * (0.6 if with_class else 1.0) * (columns - 1)
        return cls(1 - Fraction(round(1000 * later), 1000), max(round(rounds), 1), with_class)


class AdaptiveTables(Synthesizer):
    """Tables of pairs that are measured where the model is most wrong. See the module for steps and privacy."""

    title = "Adaptive tables"
    by = phrase("dpcore, after McKenna et al. 2022")
    good_for = "the closest synthetic table here"
    page = "networks"
    offers = (Offer("Adaptive tables: pairs that the model is most wrong about"),)
    variants = ({}, {"target": "grade"})
    paper = ""
    modes = ("corrected",)
    mode: str = text(default="corrected", kind="{'corrected'}", about="There is no other.")
    relation: str = text(
        default="add_remove", kind="{'add_remove', 'replace'}", about="Which tables are neighbors (`Relation`)."
    )
    target: str | None = text(
        default=None,
        optional=True,
        about="The class column, which is in all first tables if it has three values at most; by default the schema's.",
    )
    rows_: float = learned("float", "The number of rows: public, or estimated from noisy answers.")
    margins_: list[Floats] = learned("list of arrays of shape (values,)", "Per column: the released counts.")
    groups_: list[Ints] = learned(
        "list of int arrays of shape (values,)", "Per column: the model's value of each value."
    )
    pairs_: list[tuple[str, str]] = learned("list of pairs of column names", "What was measured, in this order.")
    cliques_: list[tuple[str, ...]] = learned(
        "list of tuples of column names", "The junction tree, from its root downwards."
    )
    parents_: list[int] = learned("list of int", "For each clique the position of its parent, -1 for the root.")
    tables_: list[Floats] = learned("list of arrays", "Each clique's counts, an axis per column in groups.")
    epsilons_: list[float] = learned("list of float", "What was charged for the tables that a clique holds first.")

    def _check(self, schema: Schema) -> None:
        if self.target is not None:
            self._target(schema, self.target)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema, left = table.schema, exact(self.epsilon)
        name = self.target or schema.target
        at = schema.index(name) if name and not schema[name].numeric else -1
        public = table.public_rows if table.relation is Relation.REPLACE else None
        progress(0.0, phrase("Measuring columns"))
        if public is None:
            rough = max(float(table.counts([()], epsilon=left * ROUGH)[0]), 1.0)
            left -= left * ROUGH
        else:
            rough = float(max(public, 1))
        classes = schema.columns[at].size if at >= 0 else 0
        plan = Plan.of(rough, self.epsilon, table.relation, schema.sizes, classes)
        columns = _Columns(table, left * plan.one_ways, at if plan.with_class else -1, public)
        left -= left * plan.one_ways
        rounds = _Rounds(table, columns, left, plan.rounds)
        for done in range(plan.rounds):
            progress(0.1 + 0.8 * done / plan.rounds, MEASURED.format(done=done, rounds=plan.rounds))
            rounds.one_more()
        rounds.model.fit(LAST_SWEEPS)
        self._keep(schema, columns, rounds)

    def _keep(self, schema: Schema, columns: _Columns, rounds: _Rounds) -> None:
        def named(scope: Sequence[int]) -> tuple[str, ...]:
            return tuple(schema.names[j] for j in scope)

        model, self.rows_, self.margins_ = rounds.model, columns.rows, columns.margins
        self.groups_ = [own.groups for own in rounds.resolutions]
        self.pairs_ = [(schema.names[a], schema.names[b]) for (a, b), _ in rounds.bought]
        self.cliques_, self.parents_ = [named(clique) for clique in model.cliques], list(model.parents)
        self.tables_ = [belief * self.rows_ for belief in model.beliefs]
        self.epsilons_ = [0.0] * len(model.cliques)
        for scope, price in [*columns.bought, *rounds.bought]:
            holder = next(i for i, clique in enumerate(model.cliques) if set(scope) <= set(clique))
            self.epsilons_[holder] += price

    def released(self) -> dict[str, Any]:
        """See `PrivateEstimator.released`: the cliques as `families`, and the junction tree's `edges`."""
        families = [
            {
                "child": clique[0],
                "parents": list(clique[1:]),
                "cluster": 1,
                "cells": int(table.size),
                "epsilon": finite_or_text(price),
            }
            for clique, table, price in zip(self.cliques_, self.tables_, self.epsilons_, strict=True)
        ]
        names = [", ".join(clique) for clique in self.cliques_]
        edges = [[names[up], name] for name, up in zip(names, self.parents_, strict=True) if up >= 0]
        return {"families": families, "edges": edges, "clusters": []}

    def _sample(self, n: int | None, rng: np.random.Generator) -> Codes:
        schema, size = self.schema_, n or self._rows_of(self.rows_)
        cliques = [tuple(schema.index(name) for name in clique) for clique in self.cliques_]
        rows = junction_tree.sample_rows(cliques, self.parents_, self.tables_, size, rng)
        codes: Codes = np.empty((size, len(schema)), dtype=code_dtype(max(schema.sizes)), order="F")
        for j, (groups, margin) in enumerate(zip(self.groups_, self.margins_, strict=True)):
            weights = one_hot(groups) * margin
            codes[:, j] = draw_given(weights / weights.sum(axis=1, keepdims=True), rows[:, j], rng)
        return codes


class _Columns:
    """Step 1: the released histograms of all columns; with the class at a position, or at -1 without."""

    def __init__(self, table: PrivateTable, epsilon: Epsilon, at: int, public: int | None) -> None:
        schema = table.schema
        scopes = [(j, at) if at >= 0 else (j,) for j in range(len(schema)) if j != at]
        weights = [float(np.sqrt(np.prod([schema.sizes[j] for j in scope]))) for scope in scopes]
        before = len(table.ledger.entries)
        names = [[schema.names[j] for j in scope] for scope in scopes]
        noisy = table.counts(names, epsilon=epsilon, weights=weights)
        entries = table.ledger.entries[before:]
        self.bought = [(s, float(entry.epsilon_of_noise)) for s, entry in zip(scopes, entries, strict=True)]
        # All totals have one variance: shares by the root of the cells.
        total = float(np.mean([cells.sum() for cells in noisy])) if public is None else float(public)
        self.rows, self.at = max(total, 1.0), at
        self.beside_class: dict[int, Floats] = {}  # counts of shape (values, classes), positive
        if at < 0:
            self.margins = [
                likely_histogram(cells, entry.scale, self.rows, neighbors=neighbors(column))
                for column, cells, entry in zip(schema, noisy, entries, strict=True)
            ]
            return
        classes = project(np.mean([cells.sum(axis=0) for cells in noisy], axis=0), self.rows) + TRACE
        classes *= self.rows / classes.sum()
        for (j, *_), cells in zip(scopes, noisy, strict=True):
            joint = project_rows(cells.T, classes).T + TRACE
            self.beside_class[j] = joint * (classes / joint.sum(axis=0))
        self.margins = [self.beside_class[j].sum(axis=1) if j != at else classes for j in range(len(schema))]


class _Rounds:
    """Step 3: the model, and what it was given."""

    def __init__(self, table: PrivateTable, columns: _Columns, epsilon: Epsilon, rounds: int) -> None:
        self.table, self.columns, self.bought = table, columns, list[tuple[Edge, float]]()
        self.apart: dict[Candidate, Floats] = {}  # tables of columns that the model takes for independent
        self.share = epsilon * Fraction(1, max(rounds, 1))
        scale = min(table.relation.histogram_l1 / max(float(self.share), 1 / MOST_SCALE), MOST_SCALE)
        schema = table.schema
        self.resolutions = [
            Resolution(column, margin, scale) for column, margin in zip(schema, columns.margins, strict=True)
        ]
        self.model = MaximalEntropy(
            [np.bincount(own.groups, weights=own.margin) / columns.rows for own in self.resolutions]
        )
        self.fine = self._recoded({j: own.levels[0] for j, own in enumerate(self.resolutions)})
        self.pairs = [
            pair for pair in combinations(range(len(schema)), 2) if min(self.resolutions[j].size(0) for j in pair) > 1
        ]
        for j, joint in columns.beside_class.items():
            pair = (min(j, columns.at), max(j, columns.at))
            merges = [self.resolutions[k].levels[0] for k in pair]
            self._give(pair, (0, 0), merged(joint if j < columns.at else joint.T, merges))
        self.model.fit(SWEEPS)

    def _recoded(self, groups: Mapping[int, Ints]) -> PrivateTable:
        """Some columns in groups."""
        schema = self.table.schema
        columns = [
            Column(name=schema.names[j], kind="categorical", categories=tuple(map(str, range(own.max() + 1))))
            for j, own in groups.items()
        ]
        rules = [(schema.names[j], own) for j, own in groups.items()]
        return self.table.recode(replace(schema, columns=tuple(columns), target=None), rules)

    def one_more(self) -> None:
        """Choose a pair and a resolution, and measure it."""
        names, candidates = self.table.schema.names, list(self._candidates())
        expected = self._expected(candidates)
        costs = sqrt(float(np.median([cells.size for cells in expected])))
        wrong = sqrt(2 * log(max(len(candidates), 2)))
        choosing = self.share * Fraction(round(100 * wrong / (wrong + costs)), 100)
        measuring = self.share - choosing
        scale = self.table.relation.histogram_l1 / float(measuring) if measuring else MOST_SCALE
        merges = [[self.resolutions[j].coarser[level] for j, level in zip(*c, strict=True)] for c in candidates]
        score = DistanceFromMargins(expected, PENALTY * min(scale, MOST_SCALE), merges)
        families = [(names[a], names[b]) for (a, b), _ in candidates]
        chosen = int(self.fine.choose(score, families, epsilon=choosing))
        (pair, levels), model = candidates[chosen], expected[chosen]
        groups = {j: self.resolutions[j].levels[level] for j, level in zip(pair, levels, strict=True)}
        noisy = self._recoded(groups).counts([families[chosen]], epsilon=measuring)[0]
        shrunk = towards(noisy, model, self.table.cell_variance(measuring))
        self._give(pair, levels, shrunk)
        self.model.fit(SWEEPS)
        self.bought.append((pair, float(self.share)))

    def _candidates(self) -> Iterator[Candidate]:
        """Pairs of columns, each at different resolutions, for which the model has room: as it is, or grown."""
        sizes, held = self.model.sizes, junction_tree.pairs_within(self.model.cliques)
        room = junction_tree.largest_with(self.pairs, self.model.cliques, sizes)
        for pair in self.pairs:
            seen = set()
            for levels in product(range(len(ENOUGH)), range(len(ENOUGH))):
                shape = tuple(self.resolutions[j].size(level) for j, level in zip(pair, levels, strict=True))
                grown = [max(size / sizes[j], 1.0) for j, size in zip(pair, shape, strict=True)]
                fits = room[pair] * grown[0] * grown[1] <= MOST_CELLS or (pair in held and max(grown) <= 1)
                if shape not in seen and fits:
                    seen.add(shape)
                    yield pair, levels

    def _expected(self, candidates: Sequence[Candidate]) -> list[Floats]:
        """The model's table of counts of every candidate, at its resolution."""
        part, pairs, found = junction_tree.parts(self.model.cliques), dict[Edge, Floats](), []
        for pair, levels in candidates:
            first, second = (self.resolutions[j] for j in pair)
            if part[pair[0]] is not part[pair[1]]:  # independent: the same table round by round
                if (pair, levels) not in self.apart:
                    margins = first.counts(levels[0]), second.counts(levels[1])
                    self.apart[pair, levels] = np.outer(*margins) / self.columns.rows
                found.append(self.apart[pair, levels])
                continue
            if pair not in pairs:
                pairs[pair] = first.spread.T @ self.model.table(pair) @ second.spread * self.columns.rows
            found.append(first.ones[levels[0]] @ pairs[pair] @ second.ones[levels[1]].T)
        return found

    def _give(self, pair: Edge, levels: Levels, counts: Floats) -> None:
        """Give the model a table of counts, which is fitted to the released margins first."""
        for j, level in zip(pair, levels, strict=True):
            if level < self.resolutions[j].level:
                self.model.refine(j, self.resolutions[j].refined(level))
        margins = [
            np.bincount(self.resolutions[j].levels[level], weights=self.resolutions[j].margin).astype(float)
            for j, level in zip(pair, levels, strict=True)
        ]
        total = np.array([self.columns.rows])
        fitted = fit_margins(counts[..., None], margins[0][:, None], margins[1][:, None], total)[..., 0]
        merges = [self.resolutions[j].merge_to(level) for j, level in zip(pair, levels, strict=True)]
        self.model.join(pair, merges, fitted / self.columns.rows)

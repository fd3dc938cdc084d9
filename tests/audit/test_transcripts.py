"""Test that no transcript of a corrected method is more probable by more than e^epsilon.

Every draw of every fit is computed exactly (`lockstep`), on random schemas and neighboring tables
(`neighbors`). How the sources draw from their distributions is not audited.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from lockstep import ROUNDING, Auditor, CutWorld, LeakError, LossError, World, here
from neighbors import random_pair, random_persons, random_schema
from planted import changed, falsely
from sklearn.base import clone
from variants import VARIANTS, alike

import dpcore.accounting.ledger
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.privacy_measure import PrivacyMeasure
from dpcore.accounting.relation import Relation
from dpcore.domain.moments import MomentBasis
from dpcore.domain.unit import PrivacyUnit
from dpcore.door import PrivateNodes, PrivateTable, ranks, responses
from dpcore.door.exact_node_counts import NodeRows
from dpcore.errors import DPCoreError, ParameterError
from dpcore.mechanisms import randomizers
from dpcore.mechanisms.scores import Bounds, DistanceFromMarginals, Max, MutualInformation, R, SplitChoice, TableScore
from dpcore.methods import METHODS
from dpcore.methods.base import Synthesizer
from dpcore.methods.local.base import LocalClassifier
from dpcore.methods.statistics import PlainStatistics

EPSILONS = (0.01, 0.5, 1.0, 3.0, 20.0)
MORE = {  # instead of the variants of the contract: other tables, and more of epsilon for what is chosen
    "PrivBayes": (*VARIANTS["PrivBayes"], {"beta": 0.9}, {"beta": 0.9, "score": "MI"}),
    "JTree": (
        *VARIANTS["JTree"],
        {"structure_share": 0.9, "edges": 1, "max_cells": 1_000},
        {"structure_share": 0.9, "edges": 2, "max_cells": 1_000, "score": "MI"},
    ),
    "PrivBayes refined": ({}, {"target": "y"}),
    "Statistics": ({},),
    "Adaptive marginals": ({}, {"target": "y"}),
    "DiffPRFs": (
        *VARIANTS["DiffPRFs"],
        {"n_trees": 3, "max_depth": 2, "count_share": 0.3},
        {"n_trees": 2, "max_depth": 2, "resample": "poisson", "rate": 0.2, "criterion": "Gini"},
        {"n_trees": 1, "max_depth": 2, "resample": "poisson", "rate": 0.9, "cuts": "bins"},
        {"n_trees": 2, "max_depth": 3, "resample": "full", "split_selection": "two_stage", "criterion": "InfoGain"},
    ),
}
KINDS = {name: METHODS[name] for name in VARIANTS} | {"Statistics": PlainStatistics}
COMBINATIONS = [(name, relation) for name, kind in KINDS.items() for relation in kind.relations]


def lost(name, relation, seed, pool, *, rows=0, **given):
    """Return the share of epsilon that one path loses, for a pair of neighbors and a method.

    With `rows`, the neighbors differ by a person, of whom so many rows count. None if the method
    does not accept such tables.
    """
    rng = np.random.default_rng([seed, *name.encode(), len(relation)])
    schema = random_schema(rng)
    pair = random_persons(rng, schema, relation, rows) if rows else random_pair(rng, schema, relation)
    variants = MORE.get(name) or VARIANTS[name]
    exact = bool(rng.random() < 0.7)
    extra = dict(variants[int(rng.integers(len(variants)))])
    extra |= {"relation": relation, "epsilon": float(rng.choice(EPSILONS)), "noise": "auto" if exact else "laplace"}
    extra |= given
    if extra.get("resample") == "poisson":
        if rows:
            return None  # a world for each way in which a person's rows may be in the samples: far too many
        extra["n_trees"] = min(extra["n_trees"], 2)  # a world for each sample that the changed person may be in
    if name == "Statistics":
        extra = {"queries": random_statistics(rng, pair.schema)} | extra
    method = KINDS[name](**extra)
    try:
        method.check(pair.schema)
    except ParameterError:
        return None
    # Reports of one question each are paid for together, and what a sample saves shows in the sum alone.
    each_paid = not isinstance(method, LocalClassifier) and extra.get("resample") != "poisson"
    measure = PrivacyMeasure.from_delta(method.delta)
    worlds, weights = worlds_of(pair, extra, exact=exact, each_paid=each_paid, distribution=measure.distribution)
    auditor = Auditor(worlds, np.log(weights), pair.changed, extra.get("rate", 1.0), rng)
    here.seed = seed

    def fitted(side):
        here.seed = seed
        return clone(method).fit(pair.second if side else pair.first, schema=pair.schema)

    found = auditor.run(pool, [lambda side=world.side: fitted(side) for world in worlds])
    compare(found, whole=seed % 4 == 0)
    if isinstance(found[0], BaseException):
        if auditor.draws or worlds[0].paid or not isinstance(found[0], DPCoreError):  # refused too late
            raise found[0]
        return None
    loss, most = abs(auditor.loss), min(found[0].ledger_.epsilon_bound, method.epsilon)
    if method.delta:
        loss = auditor.rho.max()
        most = float(min(found[0].ledger_.totals.bound, measure.loss_of(method.epsilon)))
    if not loss <= most * (1 + ROUNDING) + ROUNDING:
        raise LossError(f"Seed {seed}: {loss:.6g} of {most:g} was lost by {method}")
    return loss / most if most else None  # of public numbers nothing is lost


def random_statistics(rng, schema):
    """Return one to four statistics of random columns and groups, one per line."""
    names = [f'"{name}"' for name in schema.names]
    numbers = [f'"{column.name}"' for column in schema if column.numeric]
    labels = {f'"{column.name}"': [f'"{label}"' for label in column.labels] for column in schema}
    found = ["count persons"] if schema.persons and rng.random() < 0.5 else []
    for _ in range(int(rng.integers(1, 4))):
        kinds = ["count", "share", "histogram"]
        kinds += ["mean", "sum", "variance", "median", "quartiles", "slope"] if numbers else []
        kind, own = str(rng.choice(kinds)), str(rng.choice(names))
        of = {"count": "", "share": f"of {own} = {rng.choice(labels[own])}", "histogram": f"of {own}"}
        of["slope"] = f"of {rng.choice(numbers)} on {rng.choice(numbers)}" if numbers else ""
        text = f"{kind} {of[kind] if kind in of else f'of {rng.choice(numbers)}'}"
        if rng.random() < 0.5:
            text += f" by {rng.choice(names)}"
        if rng.random() < 0.5:
            where = str(rng.choice(names))
            limit = schema[where.strip('"')]
            ordered = limit.numeric and rng.random() < 0.5
            text += f" where {where} " + (f">= {limit.upper:g}" if ordered else f"= {rng.choice(labels[where])}")
        found.append(text)
    return "\n".join(found)


def worlds_of(pair, extra, **how):
    """Return both tables; for secret samples, one world per combination of samples."""
    if (unit := pair.schema.persons) is not None:
        fill, frames = extra["relation"] == "replace", (pair.first, pair.second)
        return [CutWorld(side, pair.people[side], frames[side], unit, fill=fill, **how) for side in (0, 1)], np.ones(2)
    if extra.get("resample") != "poisson":
        return [World(side, pair.people[side], **how) for side in (0, 1)], np.ones(2)
    worlds, weights, trees, rate = [], [], extra["n_trees"], extra["rate"]
    for side in (0, 1):
        there = pair.changed in pair.people[side]
        for inside in product((True, False), repeat=trees if there else 0):
            coins = inside or (True,) * trees  # whoever is not there has lots that nobody looks at
            worlds.append(World(side, pair.people[side], **how, coins=coins))
            weights.append(np.prod([rate if coin else 1 - rate for coin in inside]))
    return worlds, np.array(weights)


def kept(method):
    """Return all attributes of a fitted method; the ledger as its entries."""
    return {key: value for key, value in vars(method).items() if key not in ("ledger_", "schema_")}


def compare(found, *, whole):
    """Assert that fits with the same answers are equal to the last bit; if `whole`, outputs too."""
    if any(isinstance(each, BaseException) for each in found):
        if len(text := {(type(each), str(each)) for each in found}) > 1:
            raise LeakError(f"An error hangs on the rows: {text}")
        return
    first, books = kept(found[0]), found[0].ledger_
    for other in found[1:]:
        state = kept(other)
        if wrong := [key for key in first.keys() | state.keys() if not alike(first.get(key), state.get(key))]:
            raise LeakError(f"The same answers give other {', '.join(wrong)}.")
        if not alike(other.ledger_.entries, books.entries) or (whole and other.ledger_.to_json() != books.to_json()):
            raise LeakError("The same answers are booked otherwise.")
    if whole and isinstance(found[0], Synthesizer) and not found[0].sample(1).equals(found[-1].sample(1)):
        raise LeakError("The same answers give other rows.")


@pytest.mark.parametrize(("name", "relation"), COMBINATIONS)
def test_no_transcript_loses_more_than_epsilon(name, relation, door, pool, seeds):
    for seed in seeds(12):
        lost(name, relation, seed, pool)


@pytest.mark.parametrize("relation", Relation)
def test_rounds_of_adaptive_tables_lose_no_more(relation, door, pool, monkeypatch):
    """A small epsilon has no rounds with few rows; a larger one does, with and without classes."""
    method, plans = METHODS["Adaptive marginals"], []

    def fit(honest, self, table, progress):
        honest(self, table, progress)
        plans.append((len(self.pairs_), bool(table.ledger.children)))  # a part for each class

    falsely(method, "_fit", fit)(monkeypatch)
    tried = range(30_000, 30_012)
    shares = [lost("Adaptive marginals", str(relation), seed, pool, epsilon=(20.0, 300.0)[seed % 2]) for seed in tried]
    assert 0.5 < max(shares) <= 1 + ROUNDING
    rounds = np.array([rounds for rounds, _ in plans])
    assert (rounds > 0).mean() > 0.3
    assert rounds.max() > 2
    assert {with_class for some, with_class in plans if some} == {False, True}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "relation"), COMBINATIONS)
def test_no_transcript_of_many_loses_more_than_epsilon(name, relation, door, pool):
    tried = range(10_000, 10_000 + (100 if len(KINDS[name].relations) == 2 else 200))
    found = [share for seed in tried if (share := lost(name, relation, seed, pool)) is not None]
    assert len(found) > 0.7 * len(tried)
    assert 0.6 < max(found) <= 1 + ROUNDING  # the audit comes near what is promised


IN_RHO = [(name, relation) for name, relation in COMBINATIONS if "delta" in KINDS[name].parameters()]


@pytest.mark.parametrize(("name", "relation"), IN_RHO)
def test_no_draw_and_no_transcript_loses_more_than_its_rho(name, relation, door, pool, seeds):
    found = [lost(name, relation, seed, pool, delta=1e-9, rows=(0, 0, 3)[seed % 3]) for seed in seeds(12)]
    assert max(share for share in found if share is not None) <= 1 + ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize(("name", "relation"), IN_RHO)
def test_no_transcript_of_many_loses_more_than_its_rho(name, relation, door, pool):
    tried = range(30_000, 30_100)
    found = [lost(name, relation, seed, pool, delta=(1e-3, 1e-9)[seed % 2], rows=(0, 0, 3)[seed % 3]) for seed in tried]
    shares = [share for share in found if share is not None]
    assert len(shares) > 0.7 * len(found)
    assert 0.6 < max(shares) <= 1 + ROUNDING


ROWS = (1, 2, 3, 10)
A_FEW = ("NB-Synth", "PrivBayes", "JTree", "TaxonomyRelease", "DiffGen", "DiffP-ID3", "DiffPRFs", "PPNB", "DTPD")
A_FEW = (*A_FEW, "Statistics")


@pytest.mark.parametrize(("name", "relation"), [each for each in COMBINATIONS if each[0] in A_FEW])
def test_no_transcript_loses_more_than_epsilon_of_a_person(name, relation, door, pool, seeds):
    for seed in seeds(12):
        lost(name, relation, seed, pool, rows=ROWS[seed % len(ROWS)])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "relation"), COMBINATIONS)
def test_no_transcript_of_many_loses_more_than_epsilon_of_a_person(name, relation, door, pool):
    found = [lost(name, relation, seed, pool, rows=ROWS[seed % len(ROWS)]) for seed in range(20_000, 20_040)]
    shares = [share for share in found if share is not None]
    assert len(shares) > 0.5 * len(found)
    assert 0.5 < max(shares) <= 1 + ROUNDING  # of rows that all say the same, a person loses all that was paid


def uncharged(hidden):
    def charge(honest, self, *entries):
        honest(self, *(entry for index, entry in enumerate(entries) if not hidden(index, entry.name)))

    return falsely(Ledger, "charge", charge)


def peeked_counts(_, self, name, *, epsilon):
    """Fault: nodes stop by noiseless counts, although noisy ones were charged."""
    exact = self._rows.classes.sum(axis=1)
    return self._noisy_counts(name, epsilon, 1, lambda: exact) * 0 + exact


def without_the_last(honest, self, position, nodes, low, high):
    """Fault of published code: no split point is above the largest number."""
    points = honest(self, position, nodes, low, high)
    kept = np.diff(points.nodes, append=-1) == 0
    tables = points.tables[:, :, kept]
    return replace(points, nodes=points.nodes[kept], tables=tables, low=points.low[kept], high=points.high[kept])


def halved(of, name, part):
    """Fault: half of a score's sensitivity, one part of the tuple that its method returns."""

    def less(honest, *given):
        found = honest(*given)
        halves = [each / 2 if i == part else each for i, each in enumerate(found)]
        return Bounds(*halves) if isinstance(found, Bounds) else tuple(halves)

    return falsely(of, name, less)


def one_way(honest, *given):
    """Fault: a replaced record is taken to change all scores in the same direction."""
    bounds = honest(*given)
    return bounds._replace(loss=bounds.sensitivity)


def one_question(honest, questions, *given):
    return honest(replace(questions, n_optional=min(1, questions.n_optional)), *given)


def refused_by_a_value(honest, self, table, progress):
    if len(table._rows.codes) and table._rows.codes[0].sum() > 3:
        raise ParameterError("These rows are not to be had.", "Try others.")
    honest(self, table, progress)


def keeping(value):
    def fit(honest, self, table, progress):
        honest(self, table, progress)
        self.kept_ = value(table)

    return falsely(METHODS["PrivBayes"], "_fit", fit)


def leaving_out_empty_nodes(honest, self, name, epsilon, one_by_one, count):
    there = self._rows.classes.sum(axis=1) > 0
    found = np.zeros(count().shape)
    found[there] = honest(self, name, epsilon, one_by_one, lambda: count()[there])
    return found


LOSS, SENSITIVITY = Bounds._fields.index("loss"), "sensitivity_and_rounding"
HALF_DISTANCE = halved(DistanceFromMarginals, "bounds", LOSS)
UNPAID_LEVEL = uncharged(lambda _, name: name == "level 1: records")
UNPAID_ROUND = uncharged(lambda _, name: name.startswith("choice"))
NO_LAST_CUT = falsely(NodeRows, "_interval_candidates", without_the_last)
HALF = changed(Relation, "histogram_l1", lambda true: property(lambda self: true.fget(self) / 2))
PEEKED_ROWS = changed(PrivateTable, "public_rows", lambda _: property(lambda self: len(self._rows)))
UNDOUBLED = falsely(dpcore.accounting.ledger, "multiples", lambda true, _: true(1))  # replaced records change places
RARER = falsely(dpcore.accounting.ledger, "poisson_inside", lambda true, epsilon, rate: true(epsilon, rate * rate))
TRUTHFUL = falsely(randomizers, "lie_probability", lambda true, epsilon, *size: true(1.2 * epsilon, *size))
EXACT_COUNT = keeping(lambda table: len(table._rows.codes))
HALF_MOMENTS = falsely(MomentBasis, "sensitivity", lambda honest, *given: honest(*given) / 2)
UNPAID_MOMENTS = uncharged(lambda _, name: name.startswith("moments"))
MEDIAN = {"queries": "median of c0"}
HALF_RANKS = falsely(ranks, "Bounds", lambda honest, *given: honest(given[0] / 2, given[1] / 2, given[2]))
UNNORMED = falsely(MomentBasis, "steps", lambda honest, *given: 1.5 * honest(*given))
UNKNOWN_NOISE = keeping(lambda _: np.random.default_rng().normal())
NO_EMPTY_NODES = falsely(PrivateNodes, "_noisy_counts", leaving_out_empty_nodes)
UNCUT = falsely(PrivacyUnit, "bound_contributions", lambda *given, **_: np.argsort(given[2], kind="stable"))
PAID_ONCE = falsely(dpcore.accounting.ledger, "multiples", lambda true, _many: true(1))
THREE_ROWS = {"rows": 3}
RHO = {"delta": 1e-9}
ONE_CELL = falsely(PrivacyMeasure, "histogram_sensitivity", lambda *_: 1.0)
PROPORTION = falsely(PrivacyMeasure, "group_factor", lambda _honest, _currency, many: many)
STEEPER = falsely(PrivacyMeasure, "selection_exponent", lambda honest, *given: 2**0.5 * honest(*given))
NARROW = falsely(PrivacyMeasure, "scale", lambda honest, *given: honest(*given) / 2**0.5)
REFUSED = falsely(METHODS["PrivBayes"], "_fit", refused_by_a_value)
BUYS_CHOICES = {"n_trees": 1, "max_depth": 1, "leaf_share": 0.05, "criterion": "Max", "epsilon": 20.0}
PAIRS = {"score": "MI", "n_clusters": 1}
TWO = {"n_questions": 2, "pairs": False, "protocol": "ERRPH", "epsilon": 20.0}
NUMBERS = BUYS_CHOICES | {"resample": "full", "cuts": "numbers"}
FAR = {"epsilon": 300.0}
ANY = {}
PLANTS = {
    "half sensitivity, add_remove": (HALF, "PrivBayes refined", "add_remove", LossError, ANY),
    "uncharged table": (uncharged(lambda place, _: place == 1), "JTree", "replace", LossError, ANY),
    "uncharged level": (UNPAID_LEVEL, "DiffP-ID3", "add_remove", LossError, {"max_depth": 2}),
    "peeked number of rows": (PEEKED_ROWS, "PrivBayes", "add_remove", LeakError, ANY),
    "empty nodes left out": (NO_EMPTY_NODES, "DiffP-C4.5", "replace", LeakError, ANY),
    "peeked counts": (falsely(PrivateNodes, "counts", peeked_counts), "PINQ-ID3", "add_remove", LeakError, ANY),
    "half sensitivity of a distance": (HALF_DISTANCE, "Adaptive marginals", "replace", LossError, FAR),
    "half sensitivity of a weighted distance": (HALF_DISTANCE, "AIM", "add_remove", LossError, ANY),
    "uncharged round": (UNPAID_ROUND, "Adaptive marginals", "add_remove", LossError, FAR),
    "not doubled": (UNDOUBLED, "DiffP-ID3", "replace", LossError, ANY),
    "half exponent loss": (halved(SplitChoice, "bounds", LOSS), "DiffGen", "add_remove", LossError, ANY),
    "half sensitivity of R": (halved(R, SENSITIVITY, 0), "HMPrivBayes", "replace", LossError, ANY),
    "half sensitivity of Max": (halved(Max, SENSITIVITY, 0), "DiffPRFs", "add_remove", LossError, BUYS_CHOICES),
    "half sensitivity of MI": (halved(MutualInformation, SENSITIVITY, 0), "HMPrivBayes", "replace", LossError, PAIRS),
    "no cut above the largest": (NO_LAST_CUT, "DiffPRFs", "replace", LossError, NUMBERS),
    "wrongly monotone": (falsely(TableScore, "bounds", one_way), "DiffGen", "replace", LossError, ANY),
    "too rare samples": (RARER, "DiffPRFs", "add_remove", LossError, {**MORE["DiffPRFs"][-2]}),
    "too truthful": (TRUTHFUL, "DTPD", "replace", LossError, {"epsilon": 20.0}),
    "one question counted": (falsely(responses, "report_entries", one_question), "PPNB", "replace", LossError, TWO),
    "exact count kept": (EXACT_COUNT, "PrivBayes", "add_remove", LeakError, ANY),
    "unknown noise": (UNKNOWN_NOISE, "PrivBayes", "replace", AssertionError, ANY),
    "persons who are not cut": (UNCUT, "NB-Synth", "add_remove", LossError, THREE_ROWS),
    "persons whose places are not filled": (UNCUT, "PrivBayes", "replace", LeakError, THREE_ROWS),
    "persons who pay for one row": (PAID_ONCE, "DiffGen", "replace", LossError, THREE_ROWS),
    "rho of a replaced row that moves one cell": (ONE_CELL, "Independent marginals", "replace", LossError, RHO),
    "rho of persons who pay in proportion": (PROPORTION, "NB-Synth", "add_remove", LossError, RHO | THREE_ROWS),
    "rho of choices at a half": (STEEPER, "NB-Synth", "add_remove", LossError, RHO | {"variant": "C2"}),
    "rho of noise at a half": (NARROW, "PrivBayes refined", "replace", LossError, RHO),
    "half sensitivity of moments": (HALF_MOMENTS, "Statistics", "replace", LossError, ANY),
    "half sensitivity of ranks": (HALF_RANKS, "Statistics", "add_remove", LossError, MEDIAN),
    "functions that sum to more than 1": (UNNORMED, "Statistics", "add_remove", LossError, ANY),
    "uncharged moments": (UNPAID_MOMENTS, "Statistics", "add_remove", LossError, ANY),
    "rho of ranks of replaced rows": (PROPORTION, "Statistics", "replace", LossError, RHO | MEDIAN),
    "refused by a value": (REFUSED, "PrivBayes", "replace", LeakError, ANY),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", PLANTS)
def test_planted_faults_are_caught(what, door, pool, monkeypatch):
    plant, name, relation, error, given = PLANTS[what]
    plant(monkeypatch)
    with pytest.raises(error) as caught:
        [lost(name, relation, seed, pool, **given) for seed in range(100)]
    assert caught.type is error

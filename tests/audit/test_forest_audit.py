"""Attacks on private forests: the last bits of cuts, a sensitivity in the wrong unit, what a bootstrap sample costs.

All seeds are fixed. What corrected forests lose is worked out by `test_transcripts`; purity and the ends of ranges,
which give printed ones away, are cases of `dpcore.audit`.
"""

import math
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
from scipy import stats

from dpcore.accounting.amplification import bootstrap_loss
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.audit.bound import lower_bound_of_statistics
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import GRID, STEP, Groups, flat
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import NoNoise, make_noise
from dpcore.mechanisms.scores import InfoGain
from dpcore.methods import DiffPRFs

RARE = 1e-3
SCHEMA = Schema(
    columns=(
        Column(name="n", kind="continuous", lower=0, upper=10, bins=10),
        Column(name="a", kind="categorical", categories=("0", "1")),
        Column(name="y", kind="categorical", categories=("0", "1")),
    ),
    target="y",
    max_rows=40,
)


# Which cuts there can be, to the last bit

NUMBER = Schema(columns=(SCHEMA.columns[0], SCHEMA.columns[2]), target="y", max_rows=40)


def test_which_cuts_there_can_be_does_not_depend_on_the_rows():
    """One record or none: steps of the grid, whose low bits are fair, and each as probable without it."""
    parities, one = [], pd.DataFrame({"n": [3.7], "y": ["1"]})
    how = {"n_trees": 1_000, "epsilon": 10, "max_depth": 1, "resample": "full", "count_share": 0.0}
    for seed, frame in enumerate((one, one.head(0)), start=1):
        forest = DiffPRFs(**how, random_state=seed).fit(frame, schema=NUMBER).forest_
        found = forest.cut[: forest.trees]
        assert (forest.column[: forest.trees] == 0).all()  # divided: no count is asked
        bits = np.floor(found / STEP).astype(np.int64)
        assert (found == np.maximum(bits * STEP, -1)).all()
        assert ((found >= -1) & (found < GRID)).all()
        assert stats.chisquare(np.bincount(bits % 2, minlength=2)).pvalue > RARE
        assert stats.chisquare(np.bincount(bits % 64, minlength=64)).pvalue > RARE
        assert stats.kstest((found + 1.5) / (GRID + 1), "uniform").pvalue > RARE
        parities.append(np.bincount(bits % 2, minlength=2))
    assert stats.chi2_contingency(parities).pvalue > RARE


# The unit of the information gain

MANY = [f"b{i}" for i in range(20)]
GAIN = Schema(
    columns=tuple(Column(name=name, kind="categorical", categories=("0", "1")) for name in ["a", *MANY, "y"]),
    target="y",
    max_rows=9,
)


class Asked(NoNoise):
    """What a choice is made from."""

    def select_grouped(self, scores, groups, factor, weights=None):
        assert weights is None
        self.scores, self.factor = scores, factor
        return super().select_grouped(scores, groups, factor)


def chances_of(table, relation, epsilon, claimed):
    """Logs of a root's chances to be divided by each column, and what the ledger says of the question."""
    codes = np.array([[a, *[b] * 20, y] for a, b, y in table], dtype=np.uint8).reshape(-1, 22)
    attributes = {i: Groups(GAIN.columns[i], flat(GAIN.columns[i])) for i in range(21)}
    source, ledger = Asked(), Ledger(relation)
    door = PrivateTable(codes, GAIN, ledger, source)
    nodes, _ = door.trees("y", attributes, trees=1, epsilon=epsilon, resample="full", plainly_claimed=True)
    offered = np.append(np.ones((1, 21), dtype=bool), [[False]], axis=1)
    nodes.choose("q", InfoGain(), offered, *np.zeros((2, 1, 22)), epsilon=epsilon, claimed_sensitivity=claimed)
    logs = source.factor * source.scores
    return logs - np.logaddexp.reduce(logs), ledger


RECORDS = list(product(range(2), repeat=3))  # a, all the other columns, the class


def worst_loss(relation, epsilon, claimed):
    """The largest loss of one choice, exactly, over all neighbors of at most 2 records."""
    tables = [table for size in range(3) for table in combinations_with_replacement(RECORDS, size)]
    logs = {table: chances_of(table, relation, epsilon, claimed)[0] for table in tables}
    worst = 0.0
    for table in (table for table in tables if len(table) < 2):
        after = np.array([logs[tuple(sorted([*table, record]))] for record in RECORDS])
        moved = after - logs[table] if relation == "add_remove" else np.ptp(after, axis=0)
        worst = max(worst, float(np.abs(moved).max()))
    return worst


def test_the_papers_gain_costs_what_it_claims():
    """A record of two that changes turns a gain of 0 into 1, and others back; added ones only raise gains."""
    for relation, least in (("replace", 0.8), ("add_remove", 0.4)):
        _, ledger = chances_of(((0, 0, 0),), relation, 1.0, math.log2(2))
        assert ledger.epsilon_claimed == 1
        assert ledger.epsilon_bound == (2 if relation == "replace" else 1)  # a record that changes may be in two nodes
        assert least < worst_loss(relation, 1.0, math.log2(2)) <= 1


# Bootstrap samples


def test_a_bootstrap_sample_costs_more_than_it_claims():
    """Counts of one class in 40,000 samples of 40 rows, with one of that class and without: each claims 1."""
    trees, shown = 40_000, []
    for others in (1, 0):
        codes = np.zeros((40 + others, 3), dtype=np.uint8)
        codes[40:, 2] = 1
        door = PrivateTable(codes, SCHEMA, Ledger("add_remove"), make_noise("laplace", others))
        attributes = {1: Groups(SCHEMA.columns[1], flat(SCHEMA.columns[1]))}
        nodes, budget = door.trees("y", attributes, trees=trees, epsilon=trees, resample="bootstrap")
        assert budget == 1
        shown.append(nodes.class_counts("classes", epsilon=budget)[:, 1])
    found = lower_bound_of_statistics(*shown)
    assert 1.2 < found < float(bootstrap_loss(1, Relation.ADD_REMOVE, 40))

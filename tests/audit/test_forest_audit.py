"""Attacks on private forests: purity, the end of a range, the last bits of cuts, a sensitivity in the wrong unit.

All seeds are fixed. A bound that must stay below epsilon is taken at alpha = 1e-3, which then is the false-alarm rate
of each new choice of seeds; bounds that must catch something are taken at 0.05 and are well above the claim. Trees that
each see all rows, or each a bootstrap sample, are independent given the rows: a forest of many is as many runs.
Whole runs of forests are cases of `dpcore.audit`.
"""

import math
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpcore.accounting.amplification import bootstrap_loss
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.audit.bound import lower_bound, lower_bound_of_statistics
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import GRID, Groups, NumberCut, flat
from dpcore.door import PrivateTable
from dpcore.door.exact_node_counts import NodeRows
from dpcore.mechanisms.noise import NoNoise, make_noise
from dpcore.mechanisms.noise.numpy_noise import log_of
from dpcore.mechanisms.scores import Gini, InfoGain, Max
from dpcore.methods import DiffPRFs

RARE = 1e-3
RELATIONS = ["add_remove", "replace"]
SCHEMA = Schema(
    columns=(
        Column(name="n", kind="continuous", lower=0, upper=10, bins=10),
        Column(name="a", kind="categorical", categories=("0", "1")),
        Column(name="y", kind="categorical", categories=("0", "1")),
    ),
    target="y",
    max_rows=40,
)


def rows(*given):
    return pd.DataFrame(list(given), columns=list("nay")).astype({"n": float, "a": object, "y": object})


def many_trees(frame, runs, per_tree, *, schema=SCHEMA, first=0, **how):
    """Independent trees of depth 1, each with the epsilon that one of a forest would have; 500 from each fit."""
    method = DiffPRFs(n_trees=500, epsilon=500 * per_tree, max_depth=1, **how)
    seeds = range(first, first + runs // 500)
    return [method.set_params(random_state=seed).fit(frame, schema=schema).forest_ for seed in seeds]


# Purity

ALIKE = rows(*[(i, "0", "0") for i in range(10)])
ONE_ELSE = {"replace": rows(*[(i, "0", "0") for i in range(9)], (9, "0", "1"))}
ONE_ELSE["add_remove"] = pd.concat([ALIKE, rows((9, "1", "1"))], ignore_index=True)


def divided(found):
    """Of how many trees the root is divided."""
    return int(sum((~forest.leaf[: forest.trees]).sum() for forest in found))


def test_one_row_of_another_class_gives_paper_mode_away():
    """A bootstrap sample of 10 rows holds the one row with probability 1 - .9^10 = .651."""
    how = {"mode": "paper", "relation": "replace", "criterion": "Max"}
    alike, one_else = (many_trees(frame, 5_000, 1e-3, **how) for frame in (ALIKE, ONE_ELSE["replace"]))
    assert divided(alike) == 0
    assert divided(one_else) / 5_000 == pytest.approx(1 - 0.9**10, abs=0.03)
    assert lower_bound(divided(one_else), 0, 5_000) > 5


@pytest.mark.parametrize("relation", RELATIONS)
def test_one_row_of_another_class_is_hidden_in_corrected_mode(relation):
    """Whether some tree divides, where noisy counts decide that; and how many rows of the class a whole tree shows."""
    how = {"relation": relation, "resample": "full", "count_share": 0.4}
    for per_tree in (0.5, 8.0):
        found = [many_trees(frame, 2_000, per_tree, **how) for frame in (ALIKE, ONE_ELSE[relation])]
        hits = [divided(trees) for trees in found]
        for one, other in (hits, hits[::-1]):
            assert lower_bound(one, other, 2_000, alpha=RARE) <= 0.4 * per_tree
        shown = [np.concatenate([f.classes[: f.trees, 1] for f in trees]) for trees in found]
        assert lower_bound_of_statistics(*shown, alpha=RARE) <= per_tree
    assert hits[0] > 0


# The end of a range

LOW = [(0.5 * (i % 4), "0", "01"[i // 4 % 2]) for i in range(12)]
ENDS = {
    "add_remove": (rows(*LOW), rows(*LOW, (10.0, "0", "1"))),
    "replace": (rows(*LOW, (0.0, "0", "1")), rows(*LOW, (10.0, "0", "1"))),
}


def cuts_above(found, second_largest):
    """Which trees cut their root at or above the second-largest number: by its tick, or by bins of length 1."""
    tick, code = math.ceil(second_largest / 10 * GRID), math.ceil(second_largest)
    return np.concatenate([f.cut[: f.trees] >= (tick if f.cuts != "bins" else code) for f in found])


def end_bound(relation, per_tree, trials, alpha, **how):
    how = {"relation": relation, "resample": "full", "criterion": "Max", **how}
    hits = [int(cuts_above(many_trees(frame, trials, per_tree, **how), 1.5).sum()) for frame in ENDS[relation]]
    return max(lower_bound(*pair, trials, alpha=alpha) for pair in (hits, hits[::-1]))


@pytest.mark.parametrize(("cuts", "relation"), [("numbers", "replace"), ("numbers", "add_remove"), ("bins", "replace")])
def test_one_row_at_the_end_of_the_range_is_hidden(cuts, relation):
    assert end_bound(relation, 0.1, 2_000, RARE, cuts=cuts) <= 0.1


def test_a_choice_that_ends_at_the_largest_number_is_caught(monkeypatch):
    """Teeth: as published code does it, without the last interval."""
    original = NodeRows._intervals

    def shortened(self, position, nodes, low, high):
        cuts = original(self, position, nodes, low, high)
        kept = np.diff(cuts.nodes, append=-1) == 0
        return replace(
            cuts, nodes=cuts.nodes[kept], tables=cuts.tables[:, :, kept], low=cuts.low[kept], high=cuts.high[kept]
        )

    monkeypatch.setattr(NodeRows, "_intervals", shortened)
    assert end_bound("replace", 0.1, 2_000, 0.05, cuts="numbers") > 4


# Which cuts there can be, to the last bit

NUMBER = Schema(columns=(SCHEMA.columns[0], SCHEMA.columns[2]), target="y", max_rows=40)


def of_numbers(*given):
    return pd.DataFrame(list(given), columns=["n", "y"]).astype({"n": float, "y": object})


class Heard(NoNoise):
    """What a choice among numbers is made from."""

    def select_grouped(self, scores, groups, factor, weights=None):
        self.scores, self.factor = scores, factor
        self.log_weights = np.zeros(len(scores)) if weights is None else log_of(weights)
        return super().select_grouped(scores, groups, factor, weights)


def log_chance_of_ticks(frame, score, epsilon, *, by_length=False):
    """A function that says of each tick how probable it is to be a root's cut, by the door's own candidates."""
    attribute, source = NumberCut(NUMBER.columns[0], by_length=by_length), Heard()
    ticks = {0: attribute.ticks(frame["n"].to_numpy())}
    door = PrivateTable(NUMBER.encode(frame), NUMBER, Ledger("add_remove"), source, numbers=ticks)
    nodes, _ = door.trees("y", {0: attribute}, trees=1, epsilon=epsilon, resample="full")
    low, high = np.array([[-1.0, 0.0]]), np.array([[GRID, 0.0]])
    nodes.choose("q", score, np.array([[True, False]]), low, high, epsilon=epsilon)
    (cuts,) = nodes._rows.candidates(0, np.arange(1), low[:, 0], high[:, 0])
    logs = source.factor * source.scores + source.log_weights
    logs -= np.logaddexp.reduce(logs)
    width = cuts.high - cuts.low
    assert width.sum() == GRID + 1  # every tick is in one interval
    assert np.exp(logs).sum() == pytest.approx(1)

    def log_chance(ticks):
        found = np.searchsorted(cuts.high, ticks, side="right")
        assert ((cuts.low[found] <= ticks) & (ticks < cuts.high[found])).all()
        return logs[found] - np.log(width[found])

    return log_chance


def test_which_cuts_there_can_be_does_not_depend_on_the_rows():
    """One record or none: whole numbers of [-1, 2^32), whose low bits are fair, and each as probable without it."""
    parities = []
    for first, frame in enumerate((of_numbers((3.7, "1")), of_numbers())):
        forests = many_trees(frame, 2_000, 0.01, schema=NUMBER, first=10 * first, resample="full", count_share=0.0)
        found = np.concatenate([forest.cut[: forest.trees] for forest in forests])
        assert all((forest.column[: forest.trees] == 0).all() for forest in forests)  # divided: no count is asked
        assert (found == np.floor(found)).all()
        assert ((found >= -1) & (found < 2**32)).all()
        bits = found.astype(np.int64)
        assert stats.chisquare(np.bincount(bits % 2, minlength=2)).pvalue > RARE
        assert stats.chisquare(np.bincount(bits % 64, minlength=64)).pvalue > RARE
        assert stats.kstest((found + 1.5) / (GRID + 1), "uniform").pvalue > RARE
        parities.append(np.bincount(bits % 2, minlength=2))
    assert stats.chi2_contingency(parities).pvalue > RARE


@pytest.mark.parametrize("by_length", [True, False])
@pytest.mark.parametrize("score", [Max(), Gini()], ids=lambda score: score.name)
def test_no_tick_is_much_more_probable_with_a_record_than_without(score, by_length):
    """Exactly, at the ends of all intervals of either table: a choice loses epsilon at most, and not much less."""
    rng, worst = np.random.default_rng(3), 0.0
    numbers = [0.0, 10.0, 2.5, np.nextafter(2.5, 3), np.nextafter(10, 0), np.nextafter(0, 1), 7.1]
    for _ in range(40):
        size = int(rng.integers(1, 7))
        table = of_numbers(*zip(rng.choice(numbers, size), rng.choice(["0", "1"], size), strict=True))
        with_it, without = (
            log_chance_of_ticks(frame, score, 0.5, by_length=by_length) for frame in (table, table.iloc[1:])
        )
        known = NumberCut(NUMBER.columns[0], by_length=by_length).ticks(table["n"].to_numpy())
        ends = np.clip(np.concatenate([[-1, GRID - 1], known - 1, known, rng.integers(-1, GRID, 20)]), -1, GRID - 1)
        loss = np.abs(with_it(ends) - without(ends)).max()
        assert loss <= 0.5 + 1e-9
        worst = max(worst, loss)
    assert worst > 0.2


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


def test_a_gain_in_bits_with_a_sensitivity_in_nats_costs_more_than_it_claims():
    """Under replace. One record of two that changes turns a column of gain 0 into one of gain 1, and others back."""
    _, ledger = chances_of(((0, 0, 0),), "replace", 1.0, math.log(2))
    assert ledger.epsilon_claimed == 1
    found = worst_loss("replace", 1.0, math.log(2))
    assert 1.2 < found <= 1 / math.log(2) <= ledger.epsilon_bound
    assert 0.8 < worst_loss("replace", 1.0, math.log2(2)) <= 1


def test_added_records_do_not_show_the_wrong_unit():
    """All gains of one record are 0, and of two the gains rise only: the loss is below the claim in either unit."""
    claims = math.log(2), math.log2(2)
    in_nats, in_bits = (worst_loss("add_remove", 1.0, claimed) for claimed in claims)
    assert 0.4 < in_bits < in_nats < 1
    _, ledger = chances_of(((0, 0, 0),), "add_remove", 1.0, math.log(2))
    assert ledger.epsilon_bound == pytest.approx(1 / math.log(2))  # what can be proved from the range alone


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

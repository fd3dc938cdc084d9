"""Growing networks have, after every step, all candidate families with the right scores.

Counting and scoring each family anew gives the expected values.
"""

import math
from itertools import combinations, product

import numpy as np
import pytest
from private_rows import ADD, REPLACE, Broken, Listening
from scipy import stats
from scipy.special import logsumexp

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import Door, PrivateTable, network_growth
from dpcore.door.network_growth import CandidateBlock
from dpcore.errors import BudgetError, ParameterError
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.scores import LinearF, MutualInformation, R, TableScore
from dpcore.rows import exact_counts, joint_counts

NAMES = tuple("abcdef")
SCORES = [MutualInformation(), R(), LinearF()]


def rows(n=50, d=6, seed=0):
    """Columns that depend on each other, so that scores differ."""
    rng = np.random.default_rng(seed)
    base = rng.random((n, d)) < rng.uniform(0.2, 0.8, d)
    copied = rng.integers(0, d, d)
    return np.asfortranarray(np.where(rng.random((n, d)) < 0.6, base[:, copied], base).astype(np.uint8))


class Offered(Listening):
    def select_among(self, blocks, factor):
        self.blocks, self.factor = blocks, factor
        return super().select_among(blocks, factor or 1.0)


def door(relation=REPLACE, *, noise=None, cap=None, codes=None, last=("0", "1")):
    codes = rows() if codes is None else codes
    names = NAMES[: codes.shape[1]]
    columns = [Column(name=name, kind="ordered", categories=("0", "1")) for name in names[:-1]]
    schema = Schema(columns=(*columns, Column(name=names[-1], kind="ordered", categories=last)), max_rows=60)
    return PrivateTable(codes, schema, Ledger(relation, epsilon=cap), noise or Offered())


def families(placed, most, score, relation, *, codes=None, columns=NAMES, related=None):
    """Every family that may come next with its score: the child first, and its parents in the schema's order."""
    codes, found = rows() if codes is None else codes, {}
    for child in set(columns) - set(placed):
        allowed = [p for p in placed if related is None or related[columns.index(child), columns.index(p)]]
        for parents in combinations(sorted(allowed), min(most, len(allowed))):
            family = (child, *parents)
            (table,) = joint_counts(codes, [2] * codes.shape[1], [[NAMES.index(name) for name in family]])
            found[family] = score.score_table(table.reshape(2, -1), Relation(relation))
    return found


def held(growth):
    """The same of a growing network; no family may be there twice."""
    found = [
        ((NAMES[child], *sorted(NAMES[parent] for parent in parents)), value)
        for child, blocks in growth._search.blocks.items()
        for block in blocks
        for parents, value in zip(block.parents, block.scores, strict=True)
    ]
    assert len(dict(found)) == len(found)
    return dict(found)


def assert_grows_as_by_brute_force(order, most, score, relation, *, columns=None, codes=None, **how):
    columns, codes = columns or tuple(sorted(order)), rows() if codes is None else codes
    growth = door(relation, codes=codes).grow_network(score, columns, max_parents=most, **how)
    for step in range(len(order) + 1):
        wanted = families(order[:step], most, score, relation, codes=codes, columns=columns, **how)
        assert held(growth) == pytest.approx(wanted, abs=1e-12), (order[:step], most)
        for name in order[step : step + 1]:
            growth.add_column(name)
    assert not growth.open


@pytest.mark.parametrize("sliced", [False, True])
def test_every_step_equals_brute_force(sliced, monkeypatch):
    """Slices of a few words and of three families give what whole rounds give."""
    if sliced:
        monkeypatch.setattr(exact_counts, "CHUNK", 7)
        monkeypatch.setattr(network_growth, "SCORED", 3)
    for i, (most, score) in enumerate(product((1, 3), SCORES)):
        assert_grows_as_by_brute_force("ebacfd", most, score, (ADD, REPLACE)[i % 2], codes=rows(70, seed=most))
    for n, score in product((0, 1, 64, 65), SCORES):
        assert_grows_as_by_brute_force("dbaec", 2, score, (ADD, REPLACE)[n % 2], codes=rows(n, 5))
    for most, order in product((1, 9), ("a", "cdba")):  # fewer columns than parents allowed
        assert_grows_as_by_brute_force(order, most, R(), ADD, codes=rows(d=len(order)))


def test_a_column_takes_only_the_parents_that_it_may(seeds):
    """Any matrix, asymmetric ones too: the first axis is the child. It goes by the network's own order of columns."""
    for seed, most, share in product(seeds(12), (1, 2, 4), (0.0, 0.4, 0.9)):
        rng = np.random.default_rng(seed)
        for columns in (NAMES, ("f", "b", "e", "a")):
            order, related = rng.permutation(columns).tolist(), rng.random((len(columns), len(columns))) < share
            assert_grows_as_by_brute_force(order, most, R(), REPLACE, related=related, columns=columns)


def test_the_weight_of_a_block():
    """Remembered, and not for another factor."""
    scores = np.random.default_rng(0).normal(size=50) * 3
    block = CandidateBlock(np.zeros((50, 1), dtype=np.intp), scores)
    for factor in (0.0, 0.0, 1e-3, 1.0, 1.0, 700.0, 1e6, 1.0):
        assert block.weight(factor) == pytest.approx(logsumexp(factor * scores))


def test_all_families_are_offered_with_the_exponent_that_was_charged():
    for score, (relation, n) in product(SCORES, ((ADD, 60), (REPLACE, 50))):
        loss = score.bounds([(2, 2**i) for i in range(4)], Relation(relation), n).loss
        for how, factor in (({}, 0.5 / loss), ({"claimed_sensitivity": 0.1}, 0.5 / 0.2), ({"epsilon": 0}, 0)):
            table = door(relation)
            growth = table.grow_network(score, NAMES, max_parents=3)
            for name in "cfa":
                growth.add_column(name)
            blocks = [block for blocks in growth._search.blocks.values() for block in blocks]
            growth.choose(**{"epsilon": 0.5, **how})
            assert table._door.noise.blocks == blocks
            assert table._door.noise.factor == pytest.approx(factor)
    for n in (0, 1):  # rows so few that nothing can move
        table = door(codes=rows(n))
        table.grow_network(MutualInformation(), NAMES, max_parents=2).choose(epsilon=9.0)
        assert table._door.noise.factor == 0


def test_choices_are_the_exponential_mechanism_over_all_families():
    """1,500 draws, the best family some 7 times as probable as the worst; seeded (p-values below 1e-4 would alarm)."""
    possible = families("abcd", 3, R(), ADD)
    growth = door(ADD, noise=make_noise("laplace", 1)).grow_network(R(), NAMES, max_parents=3)
    for name in "abcd":
        growth.add_column(name)
    growth.add_column = [].append  # what is chosen is not placed, and every choice is the same question
    values, observed = np.array(list(possible.values())), dict.fromkeys(possible, 0)
    epsilon = 2 * 4 / np.ptp(values)
    for _ in range(1_500):
        child, *parents = growth.choose(epsilon=epsilon)
        observed[(child, *sorted(parents))] += 1
    weights, drawn = np.exp(epsilon * values / 4), list(observed.values())
    assert stats.chisquare(drawn, 1_500 * weights / weights.sum()).pvalue > 1e-4
    assert stats.chisquare(drawn).pvalue < 1e-4  # enough draws to tell them from uniform ones


def test_an_overdrawn_ledger_leaves_the_network_as_it_was():
    table = door(cap=0.5)
    growth = table.grow_network(R(), NAMES, max_parents=2)
    growth.choose(epsilon=0.5)
    before, still_open, table._door.noise = held(growth), list(growth.open), Broken()
    with pytest.raises(BudgetError, match="The query was not answered"):
        growth.choose(epsilon=1e-9)
    assert (held(growth), growth.open, len(growth.open)) == (before, still_open, 5)
    assert (table.ledger.epsilon_bound, len(table.ledger.entries)) == (0.5, 1)


def test_a_replayed_answer_is_added_to_the_network(monkeypatch):
    monkeypatch.setattr(Door, "answer", lambda *_: ("c", "a"))
    growth = door(noise=Broken()).grow_network(R(), NAMES, max_parents=2)
    growth.add_column("a")
    assert growth.choose(epsilon=1.0) == ("c", "a")
    assert growth.open == ["b", "d", "e", "f"]


class ByShape(TableScore):
    name = "by shape"

    def __init__(self, of_shape):
        self.of_shape = of_shape

    def score_tables(self, tables, relation):
        return tables[0, 0].astype(float)

    def sensitivity_and_rounding(self, shape, relation, rows):
        return self.of_shape(shape), 0.0


def test_the_sensitivity_is_the_largest_over_all_shapes():
    """Of a table with 0 to 3 parents, whichever there are in this round."""
    for of_shape, largest in ((lambda shape: 1 + math.log2(shape[1]), 4.0), (lambda shape: 8 / shape[1], 8.0)):
        table = door()
        growth = table.grow_network(ByShape(of_shape), NAMES, max_parents=3)
        while growth.open:
            growth.choose(epsilon=0.5)
        assert [entry.sensitivity for entry in table.ledger.entries] == [largest] * 6
        assert [entry.scale for entry in table.ledger.entries] == [2 * largest / 0.5] * 6


def test_invalid_networks_are_refused_without_a_charge():
    table = door()
    done = table.grow_network(R(), ("a",), max_parents=1)
    done.add_column("a")
    for ask, cause in (
        (lambda: door(last=("0", "1", "2")).grow_network(R(), NAMES, max_parents=2), "Binarize"),
        (lambda: table.grow_network(R(), NAMES, max_parents=0), "parent"),
        (lambda: table.grow_network(R(), ("a", "a"), max_parents=1), "parent"),
        (lambda: done.choose(epsilon=1.0), "all of its columns"),
        (lambda: done.add_column("a"), "is in the network"),
    ):
        with pytest.raises(ParameterError, match=cause):
            ask()
    assert not table.ledger.entries

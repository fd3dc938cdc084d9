"""Networks that grow behind the door: each choice is among all families, with the exponent that was paid for.

What the noise is given is exact, by counting and scoring every family by itself; that noise draws what it is asked to
is for `tests/mechanisms`. The price of a choice is in `test_questions`.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from private_rows import ADD, REPLACE, Broken, Listening
from scipy import stats

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import Door, PrivateTable
from dpcore.door.exact_counts import joint_counts
from dpcore.errors import BudgetError, ParameterError, SchemaError
from dpcore.mechanisms.noise import NoNoise, make_noise
from dpcore.mechanisms.scores import LinearF, MutualInformation, R, TableScore

NAMES = tuple("abcdef")
SCHEMA = Schema(columns=tuple(Column(name=n, kind="ordered", categories=("0", "1")) for n in NAMES), max_rows=60)


def rows(n=50, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.random((n, 6)) < 0.5
    return np.asfortranarray(np.where(rng.random((n, 6)) < 0.5, base[:, [0, 0, 0, 3, 3, 5]], base).astype(np.uint8))


class Offered(Listening):
    """Keeps what it chooses from, and takes the best."""

    def select_among(self, blocks, factor):
        self.blocks, self.factor = blocks, factor
        return super().select_among(blocks, factor or 1.0)


def door(relation=REPLACE, *, noise=None, cap=None, codes=None, schema=SCHEMA):
    codes = rows() if codes is None else codes
    return PrivateTable(codes, schema, Ledger(relation, epsilon=cap), noise or Offered())


def all_families(placed, most, related=None):
    """Every family that may come next, the child first and its parents in the schema's order."""
    found = []
    for child in set(NAMES) - set(placed):
        allowed = [p for p in placed if related is None or related[NAMES.index(child), NAMES.index(p)]]
        found += [(child, *s) for s in (combinations(allowed, most) if len(allowed) > most else [tuple(allowed)])]
    return sorted((child, *sorted(parents)) for child, *parents in found)


def scores_of(families, score, relation):
    places = [[NAMES.index(name) for name in family] for family in families]
    tables = [joint_counts(rows(), [2] * 6, [place])[0] for place in places]
    return np.array([score.of(table.reshape(2, -1), Relation(relation)) for table in tables])


def grown_to(table, score, placed, most, related=None):
    growth = table.growth(score, NAMES, max_parents=most, related=related)
    for name in placed:
        growth.place(name)
    return growth


SOME = np.random.default_rng(6).random((6, 6)) < 0.7
SOME[4], SOME[5] = [True, True, False, False, False, False], True  # e: one family; f: all of them
CASES = [
    (REPLACE, MutualInformation(), 2, "cfa", None),
    (REPLACE, R(), 1, "db", None),
    (ADD, R(), 3, "abcd", SOME),
    (ADD, LinearF(), 2, "bde", None),
    (REPLACE, LinearF(), 2, "cab", SOME),
    (ADD, MutualInformation(), 2, "a", None),
]


def test_every_family_is_offered_with_its_score_and_the_exponent_that_was_paid_for():
    for case in CASES:
        relation, score, most, placed, related = case
        families = all_families(placed, most, related)
        loss = score.bounds([(2, 2**i) for i in range(most + 1)], Relation(relation), 50 if relation == REPLACE else 60)
        for how, factor in (
            ({"epsilon": 0.5}, 0.5 / loss.loss),
            ({"epsilon": 0.5, "claimed_sensitivity": 0.1}, 0.5 / 0.2),
            ({"epsilon": 0}, 0),
        ):
            table = door(relation)
            growth = grown_to(table, score, placed, most, related)
            children = [child for child, blocks in growth._search.blocks.items() for _ in blocks]
            assert not table.ledger.entries
            growth.choose(**how)
            noise = table._door.noise
            offered = {
                (NAMES[child], *sorted(NAMES[parent] for parent in parents)): value
                for child, block in zip(children, noise.blocks, strict=True)
                for parents, value in zip(block.parents, block.scores, strict=True)
            }
            assert sum(len(block.scores) for block in noise.blocks) == len(families), case
            assert sorted(offered) == families, case
            np.testing.assert_allclose([offered[each] for each in families], scores_of(families, score, relation))
            assert noise.factor == pytest.approx(factor), case


def test_choices_are_the_exponential_mechanism_over_all_families():
    """3,000 draws, the best family some 7 times as probable as the worst; seeded (p-values below 1e-4 would alarm)."""
    relation, score, most, placed, related = CASES[2]
    families = all_families(placed, most, related)
    values = scores_of(families, score, relation)
    table = door(relation, noise=make_noise("laplace", 1))
    growth = grown_to(table, score, placed, most, related)
    growth.place = [].append  # what is chosen is not placed, and every choice is the same question
    place, observed = {family: i for i, family in enumerate(families)}, np.zeros(len(families))
    epsilon = 2 * 4 / np.ptp(values)
    for _ in range(3_000):
        child, *parents = growth.choose(epsilon=epsilon)
        observed[place[(child, *sorted(parents))]] += 1
    weights = np.exp(epsilon * values / 4)
    assert stats.chisquare(observed, 3_000 * weights / weights.sum()).pvalue > 1e-4
    assert stats.chisquare(observed).pvalue < 1e-4  # enough draws to tell them from uniform ones


def test_exact_noise_grows_a_network_and_takes_the_best_for_much():
    families = all_families("cf", 2)
    growth = grown_to(door(noise=make_noise("opendp", None)), MutualInformation(), "cf", 2)
    child, *parents = growth.choose(epsilon=1e4)
    best = scores_of(families, MutualInformation(), REPLACE).argmax()
    assert (child, *sorted(parents)) == families[int(best)]
    while growth.open:
        growth.choose(epsilon=0.5)


def test_rows_so_few_that_nothing_can_move():
    for n in (0, 1):
        table = door(codes=rows()[:n])
        grown_to(table, MutualInformation(), "ab", 2).choose(epsilon=9.0)
        assert table._door.noise.factor == 0
        assert len(np.unique(np.concatenate([block.scores for block in table._door.noise.blocks]))) == 1


def test_an_overdrawn_ledger_chooses_nothing_and_leaves_the_network_as_it_was():
    table = door(cap=0.5)
    growth = table.growth(R(), NAMES, max_parents=2)
    first, *_ = growth.choose(epsilon=0.5)
    held = {child: [block.parents.tolist() for block in blocks] for child, blocks in growth._search.blocks.items()}
    table._door.noise = Broken()
    with pytest.raises(BudgetError, match="Nothing was drawn"):
        growth.choose(epsilon=1e-9)
    assert growth.open == [name for name in NAMES if name != first]
    assert held == {c: [block.parents.tolist() for block in blocks] for c, blocks in growth._search.blocks.items()}
    assert table.ledger.epsilon_bound == 0.5
    assert len(table.ledger.entries) == 1


class ByShape(TableScore):
    """A score whose sensitivity hangs on its tables' shape."""

    name = "by shape"

    def __init__(self, of_shape):
        self.of_shape = of_shape

    def of_many(self, tables, relation):
        return tables[0, 0].astype(float)

    def moved(self, shape, relation, rows):
        return self.of_shape(shape), 0.0


def test_the_sensitivity_is_the_largest_over_all_shapes():
    """Of a table with 0 to 3 parents, whichever there are in this round."""
    for of_shape, largest in ((lambda shape: 1 + math.log2(shape[1]), 4.0), (lambda shape: 8 / shape[1], 8.0)):
        table = door()
        growth = table.growth(ByShape(of_shape), NAMES, max_parents=3)
        while growth.open:
            growth.choose(epsilon=0.5)
        assert [entry.sensitivity for entry in table.ledger.entries] == [largest] * 6
        assert [entry.scale for entry in table.ledger.entries] == [2 * largest / 0.5] * 6


def test_without_noise_each_family_is_the_best():
    """Greedily: with ties the same score. Some columns only, in an order of their own."""
    columns = ("f", "b", "d", "a")
    for most in (1, 2, 4):
        growth = door(noise=NoNoise()).growth(R(), columns, max_parents=most)
        growth.place("d")
        placed = ["d"]
        while growth.open:
            family = growth.choose(epsilon=1.0)
            possible = [f for f in all_families(placed, most) if f[0] in columns]
            assert (family[0], *sorted(family[1:])) in possible
            best = scores_of(possible, R(), REPLACE).max()
            assert scores_of([family], R(), REPLACE)[0] == pytest.approx(best)
            placed.append(family[0])
        assert sorted(placed) == sorted(columns)


def test_a_taped_answer_is_placed(monkeypatch):
    monkeypatch.setattr(Door, "answer", lambda *_: ("c", "a"))
    growth = door(noise=Broken()).growth(R(), NAMES, max_parents=2)
    growth.place("a")
    assert growth.choose(epsilon=1.0) == ("c", "a")
    assert growth.open == ["b", "d", "e", "f"]


def test_what_cannot_grow_is_refused_unpaid():
    wide = Schema(columns=(*SCHEMA.columns[:5], Column(name="f", kind="ordered", categories=("0", "1", "2"))))
    with pytest.raises(ParameterError, match="Binarize"):
        door(schema=wide).growth(R(), NAMES, max_parents=2)
    table = door()
    with pytest.raises(SchemaError, match="nobody"):
        table.growth(R(), ("a", "nobody"), max_parents=2)
    for columns, most in ((NAMES, 0), (("a", "a"), 1)):
        with pytest.raises(ParameterError, match="parent"):
            table.growth(R(), columns, max_parents=most)
    growth = grown_to(table, R(), NAMES, 1)
    with pytest.raises(ParameterError, match="placed"):
        growth.choose(epsilon=1.0)
    with pytest.raises(ParameterError, match="not open"):
        growth.place("a")
    assert not table.ledger.entries

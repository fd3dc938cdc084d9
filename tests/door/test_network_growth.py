"""Networks that grow behind the door: each choice is the exponential mechanism over all families, paid for first.

Probabilities come from counting and scoring every family by itself. All draws but OpenDP's are seeded, so these tests
either always pass or always fail. False-alarm rate: were the seeds drawn afresh, each chi-square would fail for right
code about once in 10,000 (OpenDP: once in a million); some 20 of them.
"""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import Door, PrivateTable
from dpcore.door.exact_counts import joint_counts
from dpcore.errors import BudgetError, ParameterError, SchemaError
from dpcore.mechanisms.noise import Noise, NoNoise, make_noise
from dpcore.mechanisms.scores import Entropy, LinearF, MutualInformation, R, TableScore

ALARM = 1e-4
NAMES = tuple("abcdef")
SCHEMA = Schema(columns=tuple(Column(name=n, kind="ordered", categories=("0", "1")) for n in NAMES), max_rows=60)
RELATIONS = ["replace", "add_remove"]


def rows(n=50, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.random((n, 6)) < 0.5
    return np.asfortranarray(np.where(rng.random((n, 6)) < 0.5, base[:, [0, 0, 0, 3, 3, 5]], base).astype(np.uint8))


def door(relation="replace", *, noise=None, cap=None, codes=None, schema=SCHEMA):
    codes = rows() if codes is None else codes
    return PrivateTable(codes, schema, Ledger(relation, epsilon=cap), noise or make_noise("laplace", 1))


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
    """A growth that stays where it is: what it chooses is not placed, and every choice is the same question."""
    growth = table.growth(score, NAMES, max_parents=most, related=related)
    for name in placed:
        growth.place(name)
    growth.place = [].append
    return growth


def chosen_shares(growth, families, draws, **how):
    place = {family: i for i, family in enumerate(families)}
    observed = np.zeros(len(families))
    for _ in range(draws):
        child, *parents = growth.choose(**how)
        observed[place[(child, *sorted(parents))]] += 1
    return observed


SOME = np.random.default_rng(6).random((6, 6)) < 0.7
SOME[4], SOME[5] = [True, True, False, False, False, False], True  # e: one family; f: all of them
CASES = [
    ("replace", MutualInformation(), 2, "cfa", None),
    ("replace", R(), 1, "db", None),
    ("add_remove", R(), 3, "abcd", SOME),
    ("add_remove", LinearF(), 2, "bde", None),
    ("replace", LinearF(), 2, "cab", SOME),
    ("add_remove", MutualInformation(), 2, "a", None),
]


@pytest.mark.parametrize(("relation", "score", "most", "placed", "related"), CASES)
def test_choices_are_the_exponential_mechanism_over_all_families(relation, score, most, placed, related):
    """15,000 calls each; epsilon such that the best family is some 7 times as probable as the worst."""
    families = all_families(placed, most, related)
    values = scores_of(families, score, relation)
    table = door(relation)
    loss = score.bounds([(2, 2**i) for i in range(most + 1)], Relation(relation), table.public_rows).loss
    epsilon = 2 * loss / np.ptp(values)
    weights = np.exp(epsilon * values / loss)
    observed = chosen_shares(grown_to(table, score, placed, most, related), families, 15_000, epsilon=epsilon)
    assert stats.chisquare(observed, 15_000 * weights / weights.sum()).pvalue > ALARM
    assert stats.chisquare(observed).pvalue < ALARM  # enough draws to tell them from uniform ones
    assert table.ledger.epsilon_bound == pytest.approx(15_000 * epsilon)


def test_a_claimed_sensitivity_sets_the_exponent():
    families = all_families("cfa", 2)
    values = scores_of(families, R(), "replace")
    claimed = np.ptp(values) / 4
    table = door()
    observed = chosen_shares(grown_to(table, R(), "cfa", 2), families, 15_000, epsilon=1.0, claimed_sensitivity=claimed)
    weights = np.exp(values / (2 * claimed))
    assert stats.chisquare(observed, 15_000 * weights / weights.sum()).pvalue > ALARM


@pytest.mark.parametrize("how", [{"epsilon": 0}, {"epsilon": 0, "claimed_sensitivity": 0.1}])
def test_epsilon_0_is_uniform_over_families(how):
    """Over families, not over children: a child with more families is chosen more often."""
    families = all_families("abcd", 3, SOME)
    assert len({sum(family[0] == child for family in families) for child in "ef"}) == 2
    table = door()
    observed = chosen_shares(grown_to(table, MutualInformation(), "abcd", 3, SOME), families, 10_000, **how)
    assert stats.chisquare(observed).pvalue > ALARM
    assert table.ledger.epsilon_bound == 0


@pytest.mark.parametrize("n", [0, 1])
def test_rows_so_few_that_nothing_can_move(n):
    table = door(codes=rows()[:n])
    observed = chosen_shares(grown_to(table, MutualInformation(), "ab", 2), all_families("ab", 2), 4_000, epsilon=9.0)
    assert stats.chisquare(observed).pvalue > ALARM


def test_exact_noise_grows_a_network():
    """With a factor so small that all of 4 families are nearly even; and the best with a large one."""
    families = all_families("cf", 2)
    table = door(noise=make_noise("opendp", None))
    growth = grown_to(table, MutualInformation(), "cf", 2)
    observed = chosen_shares(growth, families, 400, epsilon=0)
    assert stats.chisquare(observed).pvalue > 1e-6
    values = scores_of(families, MutualInformation(), "replace")
    best = families[int(values.argmax())]
    child, *parents = growth.choose(epsilon=1e4)
    assert (child, *sorted(parents)) == best
    whole = table.growth(MutualInformation(), NAMES, max_parents=2)
    while whole.open:
        whole.choose(epsilon=0.5)
    assert whole.open == []


# Charged first


class BrokenError(Exception):
    pass


class Broken(Noise):
    on_counts = label = "broken"

    def counts(self, counts, scale, **_):
        raise BrokenError

    reals = select = counts


def test_a_choice_is_charged_before_it_is_drawn():
    table = door(noise=Broken(), cap=1.0)
    growth = table.growth(R(), NAMES, max_parents=2)
    with pytest.raises(BrokenError):
        growth.choose(epsilon=0.75)
    assert table.ledger.epsilon_bound == 0.75
    assert growth.open == list(NAMES)


def test_an_overdrawn_ledger_chooses_nothing(monkeypatch):
    table = door(cap=0.5)
    growth = table.growth(R(), NAMES, max_parents=2)
    first, *_ = growth.choose(epsilon=0.5)
    left = list(growth.open)
    held = {child: [block.parents.tolist() for block in blocks] for child, blocks in growth._search.blocks.items()}
    monkeypatch.setattr(
        "dpcore.mechanisms.noise.numpy_noise.NumpyNoise.select_among", lambda *_: pytest.fail("something was drawn")
    )
    with pytest.raises(BudgetError, match="Nothing was drawn"):
        growth.choose(epsilon=1e-9)
    assert growth.open == left == [name for name in NAMES if name != first]
    assert held == {c: [block.parents.tolist() for block in blocks] for c, blocks in growth._search.blocks.items()}
    assert table.ledger.epsilon_bound == 0.5
    assert len(table.ledger.entries) == 1


@pytest.mark.parametrize("epsilon", [-1.0, math.nan])
def test_an_epsilon_below_nothing_is_refused(epsilon):
    table = door()
    growth = table.growth(R(), NAMES, max_parents=2)
    with pytest.raises(ParameterError, match="negative"):
        growth.choose(epsilon=epsilon)
    assert not table.ledger.entries
    assert growth.open == list(NAMES)


# What is booked


class ByShape(TableScore):
    """A score whose sensitivity hangs on its tables' shape."""

    name = "by shape"

    def __init__(self, of_shape):
        self.of_shape = of_shape

    def of_many(self, tables, relation):
        return tables[0, 0].astype(float)

    def moved(self, shape, relation, rows):
        return self.of_shape(shape), 0.0


@pytest.mark.parametrize(
    ("of_shape", "largest"), [(lambda shape: 1 + math.log2(shape[1]), 4.0), (lambda shape: 8 / shape[1], 8.0)]
)
def test_the_sensitivity_is_the_largest_over_all_shapes(of_shape, largest):
    """Of a table with 0 to 3 parents, whichever there are in this round."""
    table = door()
    growth = table.growth(ByShape(of_shape), NAMES, max_parents=3)
    while growth.open:
        growth.choose(epsilon=0.5)
    assert [entry.sensitivity for entry in table.ledger.entries] == [largest] * 6
    assert [entry.scale for entry in table.ledger.entries] == [2 * largest / 0.5] * 6


@pytest.mark.parametrize("relation", RELATIONS)
def test_choices_are_booked_as_any_choice_is(relation):
    table = door(relation)
    growth = table.growth(MutualInformation(), NAMES, max_parents=2)
    growth.place("d")
    assert not table.ledger.entries
    growth.choose(epsilon=Fraction(1, 3))
    (entry,) = table.ledger.entries
    one = door(relation)
    one.choose(MutualInformation(), [("a", "b", "c")], epsilon=Fraction(1, 3))
    assert entry == one.ledger.entries[0]
    assert entry.epsilon_bound == entry.epsilon_claimed == Fraction(1, 3)


def test_claims_are_booked_beside_the_bound():
    table = door("add_remove")
    growth = table.growth(R(), NAMES, max_parents=2)
    growth.choose(epsilon=0.5, claimed_epsilon=0.125, reason="as printed")
    growth.choose(epsilon=0.5, claimed_sensitivity=0.25, reason="as printed")
    first, second = table.ledger.entries
    assert (first.epsilon_claimed, first.epsilon_bound) == (Fraction(1, 8), Fraction(1, 2))
    assert (second.epsilon_claimed, second.epsilon_bound) == (Fraction(1, 2), 4)  # exp(q), which costs 2 x 2
    assert (second.sensitivity, second.claimed_sensitivity, second.scale) == (2.0, 0.25, 1.0)
    assert {first.reason, second.reason} == {"as printed"}
    with pytest.raises(ParameterError, match="claimed sensitivity"):
        growth.choose(epsilon=0.5, claimed_sensitivity=0.0)


def test_information_needs_a_public_bound_that_the_table_does_not_exceed():
    for schema in (Schema(columns=SCHEMA.columns), Schema(columns=SCHEMA.columns, max_rows=49)):
        table = door("add_remove", schema=schema)
        with pytest.raises(ParameterError, match="max_rows"):
            table.growth(MutualInformation(), NAMES, max_parents=2).choose(epsilon=1.0)
        assert not table.ledger.entries


# Growing


@pytest.mark.parametrize("most", [1, 2, 4])
def test_without_noise_each_family_is_the_best(most):
    """Greedily: with ties the same score. Some columns only, in an order of their own."""
    columns = ("f", "b", "d", "a")
    growth = door(noise=NoNoise()).growth(R(), columns, max_parents=most)
    growth.place("d")
    placed = ["d"]
    while growth.open:
        family = growth.choose(epsilon=1.0)
        assert set(family) <= set(columns)
        assert family[0] not in placed
        assert set(family[1:]) <= set(placed)
        possible = [f for f in all_families(placed, most) if f[0] in columns]
        assert (family[0], *sorted(family[1:])) in possible
        best = scores_of(possible, R(), "replace").max()
        assert scores_of([family], R(), "replace")[0] == pytest.approx(best)
        placed.append(family[0])
    assert sorted(placed) == sorted(columns)


def test_every_choice_leaves_through_the_one_door(seen):
    table = PrivateTable(rows(), SCHEMA, Ledger("replace"), make_noise("laplace", 1))
    growth = table.growth(R(), NAMES, max_parents=2)
    growth.place("a")
    growth.choose(epsilon=1.0)
    growth.choose(epsilon=1.0)
    assert seen == ["choose"] * 2


def test_a_taped_answer_is_placed(monkeypatch):
    monkeypatch.setattr(Door, "answer", lambda *_: ("c", "a"))
    growth = PrivateTable(rows(), SCHEMA, Ledger("replace"), Broken()).growth(R(), NAMES, max_parents=2)
    growth.place("a")
    assert growth.choose(epsilon=1.0) == ("c", "a")
    assert growth.open == ["b", "d", "e", "f"]


def test_only_columns_of_two_codes_can_grow():
    wide = Schema(columns=(*SCHEMA.columns[:5], Column(name="f", kind="ordered", categories=("0", "1", "2"))))
    with pytest.raises(ParameterError, match="Binarize"):
        door(schema=wide).growth(R(), NAMES, max_parents=2)
    with pytest.raises(SchemaError, match="nobody"):
        door().growth(R(), ("a", "nobody"), max_parents=2)


def test_the_first_column_by_entropy_and_the_rest_share_one_ledger():
    table = door(cap=6.0)
    growth = table.growth(R(), NAMES, max_parents=2)
    growth.place(NAMES[int(table.choose(Entropy(), [(name,) for name in NAMES], epsilon=1.0))])
    while growth.open:
        growth.choose(epsilon=1.0)
    assert table.ledger.epsilon_bound == 6.0
    assert {entry.name for entry in table.ledger.entries} == {"choice by entropy", "choice by R"}

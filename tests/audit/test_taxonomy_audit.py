"""Attacks on TaxonomyRelease and DiffGen: no row or one, counted on level after level; and what choices lose, exactly.

Whole runs, and the ends of ranges, are cases of `dpcore.audit`. All seeds are fixed. A bound that must stay below
epsilon is taken at alpha = 1e-3, which then is the false-alarm rate of each new choice of seeds; bounds that must catch
something are taken at 0.05 and are well above the claim.
"""

from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpcore.accounting.relation import Relation
from dpcore.audit.bound import lower_bound_of_statistics
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door.exact_counts import joint_counts
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.scores import InfoGain, IntervalSplit, Max, Specialization
from dpcore.methods import DiffGen, TaxonomyRelease

DRAWS = 100_000
RARE = 1e-3
RELATIONS = ["add_remove", "replace"]
BITS = Schema(
    columns=tuple(Column(name=name, kind="categorical", categories=("0", "1")) for name in "aby"),
    target="y",
    max_rows=9,
)


def bits(*rows):
    return pd.DataFrame(list(rows), columns=list("aby"), dtype=object)


# No row, and one; under replace its values change
PAIRS = {
    "add_remove": (bits(), bits(("1", "1", "1"))),
    "replace": (bits(("0", "0", "0")), bits(("1", "1", "1"))),
}


def path_bound(method, relation, *, less=1.0, alpha=0.05):
    """Lower bound on epsilon of all levels' counts on the row's path, their noise drawn with the ledger's scales."""
    fitted = clone(method).set_params(relation=relation, random_state=0).fit(PAIRS[relation][0], schema=BITS)
    entries = [entry for entry in fitted.ledger_.entries if entry.mechanism == "laplace"]
    counted = [len(noisy) for noisy, epsilon in zip(fitted.tree_.noisy, fitted.level_epsilons_, strict=True) if epsilon]
    assert len(entries) == len(counted)
    # Under replace the old row's cell loses what the new one's gains; a root that is counted is the same in both.
    exact = [[(1.0, 0.0), (0.0, 1.0)] if relation == "replace" else [(0.0, 1.0)] for _ in counted]
    scales = np.repeat([entry.scale for entry in entries], [len(cells) for cells in exact]) / less
    first, second = np.array([cell for cells in exact for cell in cells]).T
    sides = []
    for seed, side in enumerate((first, second)):
        seen = side + make_noise("laplace", seed).reals(np.zeros((DRAWS, len(side))), 1.0, grid=1.0) * scales
        sides.append((((np.abs(seen - first) - np.abs(seen - second)) / scales).sum(axis=1)).round(9))
    paid = float(sum(entry.epsilon_of_noise for entry in entries))
    return lower_bound_of_statistics(sides[1], sides[0], alpha=alpha), paid, len(entries)


# All levels hold the same row


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shares", ["equal", (1, 0, 3, 2)])
def test_levels_that_are_paid_for_stay_below_epsilon(shares, relation):
    method = TaxonomyRelease(with_class=False, iterations=3, order="chosen", level_shares=shares)
    found, paid, _ = path_bound(method, relation, alpha=RARE)
    assert paid == 1
    assert 0.7 < found <= 1
    if shares == "equal":
        assert path_bound(method, relation, less=2.0)[0] > 1.6  # teeth: half the noise


@pytest.mark.parametrize(
    ("epsilon", "relation", "levels", "at_least"),
    [
        (0.1, "add_remove", 4, 0.25),
        (1.0, "add_remove", 4, 3.4),
        (1.0, "replace", 3, 2.6),  # the root is public
    ],
)
def test_levels_that_all_use_the_whole_share_cost_it_as_often(epsilon, relation, levels, at_least):
    method = TaxonomyRelease(mode="paper", with_class=False, epsilon=epsilon)
    found, paid, counted = path_bound(method, relation)
    assert counted == levels
    assert paid == pytest.approx(levels * epsilon)
    assert epsilon < at_least < found <= paid


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_exact_loss_of_a_row_by_hand(relation):
    """Every count on the path at or beyond the new row's: half a chance each with it, e^(-epsilon_l) less without."""
    method = TaxonomyRelease(mode="paper", with_class=False, relation=relation, random_state=0)
    entries = method.fit(PAIRS[relation][1], schema=BITS).ledger_.entries
    moved = 2 if relation == "replace" else 1
    assert sum(moved / entry.scale for entry in entries) == pytest.approx(4 if relation == "add_remove" else 3)


# Choices, exactly: probabilities are known, so that losses are computed and not drawn

NUMBER = Schema(
    columns=(
        Column(name="n", kind="integer", lower=0, upper=5, bins=6),
        Column(name="y", kind="categorical", categories=("no", "yes")),
    ),
    target="y",
    max_rows=99,
)


def numbers(*n):
    return pd.DataFrame({"n": np.array(n, dtype=int), "y": "no"})


RECORDS = list(product(range(6), range(2)))  # a number and its class


def values(rows, relation, score):
    """A score's values for some rows."""

    def counted(families):
        codes = np.array(rows, dtype=np.uint8).reshape(-1, 2)
        return joint_counts(codes, (6, 2), [["ny".index(name) for name in family] for family in families])

    return score.values(counted, [], relation)


def log_chances(values, factor):
    """The logarithms of an exponential mechanism's probabilities."""
    return factor * values - np.log(np.exp(factor * values).sum())


def largest_loss(found, factor, relation):
    """The largest loss over all neighbors of at most 3 rows, from all tables' values for a few independent choices."""
    chances, largest = {}, 0.0
    for rows, choices in found.items():
        joint = np.zeros(())
        for scored in choices:
            joint = np.add.outer(joint, log_chances(scored, factor))
        chances[rows] = joint.ravel()
    for rows in (rows for rows in chances if len(rows) < 3):
        after = np.array([chances[tuple(sorted([*rows, record]))] for record in RECORDS])
        moved = after - chances[rows] if relation == "add_remove" else np.ptp(after, axis=0)
        largest = max(largest, float(np.abs(moved).max()))
    return largest


def all_tables():
    return [rows for size in range(4) for rows in combinations_with_replacement(RECORDS, size)]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rate", [Max(), InfoGain()], ids=["Max", "IG"])
def test_two_halves_cost_one_share(rate, relation):
    """What the ledger books for the parallel choices is what they lose, for rows that change halves, too."""
    share = 0.8
    method = DiffGen(epsilon=share * 2 * (1 + 4), rounds=2, relation=relation, random_state=0)
    method.set_params(score={"Max": "Max", "information gain": "IG"}[rate.name])
    fitted = method.fit(numbers(*[0, 1, 2, 3, 4, 5] * 3), schema=NUMBER)
    frame = fitted.ledger_.to_frame()
    (factor,) = {round(1 / scale, 12) for scale in frame.loc[frame["scope"].str.contains("halves"), "scale"]}
    inner = {"target": "y", "classes": 2, "rated_by": rate, "column": "n"}
    halves = IntervalSplit(**inner, low=0, high=3), IntervalSplit(**inner, low=3, high=6)
    found = {rows: [values(rows, Relation.ADD_REMOVE, half) for half in halves] for rows in all_tables()}
    assert 0.2 * share < largest_loss(found, factor, relation) <= share
    assert largest_loss(found, 8 * factor, relation) > share  # teeth


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rate", [Max(), InfoGain()], ids=["Max", "IG"])
def test_a_choice_among_values_costs_one_share(rate, relation):
    """Two intervals and a whole column; rows that leave the one and enter the other."""
    divisions = [
        ("n", np.array([0, 1, 1, -1, -1, -1])),
        ("n", np.array([-1, -1, -1, 0, 0, 1])),
        ("n", np.array([0, 0, 0, 1, 1, 1])),
    ]
    score, share = Specialization(target="y", classes=2, rated_by=rate, divisions=divisions), 0.8
    factor = share / score.bounds([], Relation(relation), None).loss
    found = {rows: [values(rows, Relation(relation), score)] for rows in all_tables()}
    assert 0.4 * share < largest_loss(found, factor, relation) <= share
    assert largest_loss(found, 2.5 * factor, relation) > share  # teeth

"""Attacks on TaxonomyRelease and DiffGen: no row or one, counted on level after level, and the ends of ranges.

All seeds are fixed. A bound that must stay below epsilon is taken at alpha = 1e-3, which then is the false-alarm rate
of each new choice of seeds; bounds that must catch something are taken at 0.05 and are well above the claim.
"""

from itertools import combinations_with_replacement, count, product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpcore.accounting.relation import Relation
from dpcore.audit.bound import audit, lower_bound_of_statistics
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
EQUAL = {"order": "chosen", "level_shares": "equal"}


def bits(*rows):
    return pd.DataFrame(list(rows), columns=list("aby"), dtype=object)


# No row, and one; under replace its values change
PAIRS = {
    "add_remove": (bits(), bits(("1", "1", "1"))),
    "replace": (bits(("0", "0", "0")), bits(("1", "1", "1"))),
}


def seeded_runs(method, schema):
    """The method as a function for `audit`: every run of either world has a seed of its own."""
    seeds = count()

    def runs(table, trials):
        return [clone(method).set_params(random_state=next(seeds)).fit(table, schema=schema) for _ in range(trials)]

    return runs


def favors_the_row(fitted):
    """The log-likelihood ratio of all noisy counts on the paths of the rows 000 and 111, and what was chosen first."""
    found = 0.0
    replaced = fitted.relation == "replace"
    for noisy, epsilon in zip(fitted.tree_.noisy, fitted.level_epsilons_, strict=True):
        if epsilon and len(noisy) > 1:
            found += epsilon / (2 if replaced else 1) * (abs(noisy[-1]) - abs(noisy[-1] - 1))
            found += epsilon / 2 * (abs(noisy[0] - 1) - abs(noisy[0])) if replaced else 0
        elif epsilon:
            found += epsilon * (abs(noisy[0]) - abs(noisy[0] - 1))
    return round(float(found), 9)  # the last digits of floats betray the exact value, which is another attack


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
        (0.5, "add_remove", 4, 1.8),
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


def whole_runs(method, relation, trials, alpha=0.05):
    method = clone(method).set_params(relation=relation)
    return audit(seeded_runs(method, BITS), PAIRS[relation], favors_the_row, trials, alpha=alpha).lower_bound


WHOLE = {
    "no class": TaxonomyRelease(with_class=False, **EQUAL),
    "a class": TaxonomyRelease(**EQUAL),
    "the default": TaxonomyRelease(),
    "leaves": TaxonomyRelease(measure="leaves"),
}


def test_a_few_whole_runs_of_paper_mode_are_caught():
    method = TaxonomyRelease(mode="paper", with_class=False)
    assert whole_runs(method, "add_remove", 200) > 1 == method.epsilon


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_few_whole_runs_stay_below_epsilon(relation):
    assert whole_runs(TaxonomyRelease(**EQUAL), relation, 30, RARE) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", WHOLE)
def test_whole_runs_stay_below_epsilon(name, relation):
    assert whole_runs(WHOLE[name], relation, 2_000, RARE) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", WHOLE)
def test_audits_of_whole_runs_have_teeth(name, relation):
    assert whole_runs(clone(WHOLE[name]).set_params(epsilon=6.0), relation, 1_000) > 1


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "levels", "at_least"), [("add_remove", 4, 2.0), ("replace", 3, 1.0)])
def test_whole_runs_of_paper_mode_are_caught(relation, levels, at_least):
    method = TaxonomyRelease(mode="paper", with_class=False)
    assert at_least < whole_runs(method, relation, 6_000) <= levels


# Ends of ranges

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


ENDS = {
    "add_remove": (numbers(*[0, 1] * 5), numbers(*[0, 1] * 5, 5)),
    "replace": (numbers(*[0, 1] * 5, 0), numbers(*[0, 1] * 5, 5)),
}


def threshold(fitted):
    """Where the numbers were cut: above 1 is above the second-largest value."""
    return float(fitted.tree_.leaves.axes[0].sizes[0])


@pytest.mark.parametrize(
    ("epsilon", "relation", "trials", "at_least"),
    [
        (0.01, "add_remove", 60, 1.2),
        (1.0, "replace", 60, 1.2),
        pytest.param(0.01, "replace", 1_500, 4.0, marks=pytest.mark.slow),
        pytest.param(1.0, "add_remove", 1_500, 4.0, marks=pytest.mark.slow),
    ],
)
def test_one_row_at_the_end_of_the_range_gives_paper_mode_away(epsilon, relation, trials, at_least):
    """Whatever the claim is: the bound grows with the number of runs, without end."""
    method = DiffGen(mode="paper", rounds=1, relation=relation, epsilon=epsilon)
    without = [threshold(fitted) for fitted in seeded_runs(method, NUMBER)(ENDS[relation][0], 20)]
    assert set(without) == {1}  # another one is impossible without the row
    found = audit(seeded_runs(method, NUMBER), ENDS[relation], threshold, trials).lower_bound
    assert found > at_least > epsilon


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("trials", [30, pytest.param(3_000, marks=pytest.mark.slow)])
def test_one_row_at_the_end_of_the_range_is_hidden_in_corrected_mode(trials, relation):
    method = DiffGen(rounds=1, relation=relation)
    found = audit(seeded_runs(method, NUMBER), ENDS[relation], threshold, trials, alpha=RARE).lower_bound
    assert found <= 1 / (2 * (1 + 2))  # its share alone


def row_at_the_end(fitted):
    """How much the groups of the largest numbers hold, beside those of 0, and where the first cut was."""
    axis, counts = fitted.tree_.leaves.axes[0], fitted.tree_.noisy[-1].reshape(fitted.tree_.leaves.shape)
    replaced = fitted.relation == "replace"
    found = counts[axis.blocks[5], 0] - (counts[axis.blocks[0], 0] - 10 if replaced else 0)
    return float(found)


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("score", ["Max", "IG"])
def test_whole_runs_of_diffgen_stay_below_epsilon(score, relation):
    method = DiffGen(rounds=2, relation=relation, score=score)
    pair = ENDS[relation]
    assert audit(seeded_runs(method, NUMBER), pair, row_at_the_end, 1_500, alpha=RARE).lower_bound <= 1
    dear = clone(method).set_params(epsilon=8.0)
    assert audit(seeded_runs(dear, NUMBER), pair, row_at_the_end, 1_000).lower_bound > 1  # teeth


# Choices, exactly: probabilities are known, so that losses are computed and not drawn

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

"""What composes how: parts of a table, averages, sums of losses, and answers that floats give away."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpcore.accounting.relation import Relation
from dpcore.dashboard.count_noise import CountNoise
from dpcore.dashboard.pages.mechanisms.composition_numbers import (
    average_deviations,
    loss_epsilon,
    losses,
    possible_answers,
    split_columns_epsilon,
    split_people_epsilon,
    split_tables,
    telltale_share,
    textbook_laplace,
)


def test_your_row_is_in_one_group_of_people_and_in_all_of_columns():
    for relation, groups in ((Relation.ADD_REMOVE, 1), (Relation.REPLACE, 2)):
        tables = split_tables(4, relation)
        people = tables["people"]
        assert people.loc[people["yours"], "part"].nunique() == groups
        assert people.loc[people["person"] == "You", "yours"].all()
        assert tables["columns"]["yours"].all()


def test_averages_of_answers_by_simulation():
    epsilon, k, repeats = 0.5, 16, 4_000  # a false alarm: less than one in 10^6
    errors = average_deviations(epsilon, k).set_index("answers").loc[k]
    assert errors["each"] == pytest.approx(math.sqrt(2 / (k * epsilon**2)))
    assert errors["shared"] == pytest.approx(math.sqrt(2 * k / epsilon**2))
    assert errors["once"] == pytest.approx(math.sqrt(2) / epsilon)
    rng = np.random.default_rng(5)
    each = rng.laplace(0, 1 / epsilon, (repeats, k)).mean(axis=1).std()
    shared = rng.laplace(0, k / epsilon, (repeats, k)).mean(axis=1).std()
    assert each == pytest.approx(errors["each"], rel=0.06)
    assert shared == pytest.approx(errors["shared"], rel=0.06)


def test_sums_of_losses_by_brute_force():
    """All tuples of answers: the sum of log ratios, and delta as what one world has above the other."""
    for epsilon, k in product((0.1, 2.0), (1, 3)):
        noise, x = CountNoise("Geometric", epsilon), np.arange(-400.0, 402.0)
        inside = np.exp(noise.log_density(x - 1))
        up = inside[x >= 1].sum()
        assert up == pytest.approx(1 / (1 + math.exp(-epsilon)), abs=1e-9)
        frame = losses(epsilon, k)
        assert frame["probability"].sum() == pytest.approx(1)
        assert frame["loss"].max() == pytest.approx(k * epsilon)
        signs = np.array(list(product((-1, 1), repeat=k)))
        assert {*(epsilon * signs.sum(axis=1)).round(9)} == {*frame["loss"].round(9)}
        with_you = (1 / (1 + np.exp(-epsilon * signs))).prod(axis=1)
        without = with_you[::-1]  # with all signs the other way round
        for delta in (1e-6, 0.01, 0.2):
            found = loss_epsilon(epsilon, k, delta)
            assert 0 <= found <= k * epsilon
            assert (with_you - math.exp(found) * without).clip(0).sum() <= delta * (1 + 1e-9)
            assert found == 0 or (with_you - math.exp(found - 1e-6) * without).clip(0).sum() > delta
        assert loss_epsilon(epsilon, k, 0.0) == pytest.approx(k * epsilon)


def test_parallel_composition_by_brute_force():
    """How far a row that comes, or another in its place, moves counts of groups of people, and counts of columns."""
    for groups in (2, 4):
        rows = np.eye(groups, dtype=int)  # the group that a row is in
        for relation, worst in (
            (Relation.ADD_REMOVE, rows.sum(axis=1).max()),
            (Relation.REPLACE, max(np.abs(one - other).sum() for one, other in product(rows, repeat=2))),
        ):
            assert split_people_epsilon(0.5, groups, relation) == Fraction(1, 2) * int(worst)
        cells = np.array(list(product((0, 1), repeat=groups)))
        columns = max(np.abs(one - other).sum() for one, other in product(cells, repeat=2))
        assert split_columns_epsilon(0.5, groups) == Fraction(1, 2) * int(columns)
    assert [split_people_epsilon(0.5, 1, relation) for relation in Relation] == [Fraction(1, 2)] * 2


def test_telltale_answers_by_trying_every_number():
    """The search near one number finds what a search among all of them finds."""
    bits, lots = 12, np.arange(1, 2**12)
    for count, epsilon in product((0, 100), (0.1, math.log(2))):
        first = count + textbook_laplace(lots, bits, 1 / epsilon)
        second = count + 1 + textbook_laplace(lots, bits, 1 / epsilon)
        drawn = np.random.default_rng(3).integers(1, 2**bits - 1, 3_000, endpoint=True)
        brute = 1 - np.isin(first[drawn - 1], second).mean()
        assert telltale_share(count, epsilon, bits=bits, draws=3_000, seed=3) == pytest.approx(brute, abs=1e-12)
        frame = possible_answers(count, epsilon, bits, -math.inf, math.inf)
        own = frame[frame["world"] == "without"]
        assert set(own["answer"]) == set(first)
        assert own["both"].mean() == pytest.approx(np.isin(np.unique(first), second).mean())


def test_full_numbers_give_small_counts_away():
    shares = [telltale_share(count, 1.0) for count in (0, 1, 10, 100_000)]
    assert shares == pytest.approx([0.80, 0.60, 0.105, 0.0], abs=0.015)
    assert telltale_share(10, 1.0, bits=16) > 0.999

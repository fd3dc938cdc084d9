"""DP-EBM: what each share buys, what noise shrinks away, and what cycles mend."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pandas as pd
import pytest

from dpcore import DPEBM
from dpcore.accounting.currency import Currency
from dpcore.accounting.relation import Relation
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.methods.dpebm import WORTH, likely, slope

LARGE = 1e6  # epsilon: NumPy's noise is nothing then


def table(columns, classes=2, rows=4_000, seed=0):
    """Columns of three values, of which the first one alone and a copy of it tell of the class."""
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 3, (rows, columns))
    codes[:, 1] = np.where(draw.random(rows) < 0.9, codes[:, 0], codes[:, 1])
    scores = np.stack([k * (codes[:, 0] - 1.0) for k in range(classes)], axis=1)
    y = (scores + draw.gumbel(size=scores.shape)).argmax(axis=1)
    names = [f"x{j}" for j in range(columns)]
    frame = pd.DataFrame(codes.astype(str), columns=names).assign(y=y.astype(str))
    values = {**dict.fromkeys(names, ("0", "1", "2")), "y": tuple(map(str, range(classes)))}
    kinds = (Column(name=name, kind="categorical", categories=found) for name, found in values.items())
    return frame, Schema(columns=tuple(kinds), target="y", max_rows=rows)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize("classes", [2, 3])
def test_each_share_buys_what_is_documented(relation, delta, classes):
    frame, schema = table(3, classes)
    how = {"epsilon": 1.3, "delta": delta, "relation": relation, "random_state": 0}
    method = DPEBM(cycles=2, **how).fit(frame, schema=schema)
    whole, entries = Currency.of(delta).amount(1.3), method.ledger_.entries
    (start,), tables, cycles = entries[:1], entries[1:4], entries[4:]
    assert (start.name, start.epsilon_of_noise) == ("counts of y", whole / 10)
    assert [entry.name for entry in tables] == [f"counts of x{j} × y" for j in range(3)]
    assert {entry.epsilon_of_noise for entry in tables} == {whole * Fraction(6, 10) / 3}
    asked = [entry.name.removeprefix("what rows lack by ") for entry in cycles]
    assert asked[: len(asked) // 2] == asked[len(asked) // 2 :]
    assert {*asked[:2]} == {"x0", "x1"}  # the strongest come first
    share = whole * Fraction(3, 10) / len(cycles)
    assert {entry.epsilon_of_noise for entry in cycles} == {share}
    one = 1 if classes == 2 else sqrt(2) if delta else 2
    moved = one * (2 if relation is Relation.REPLACE else 1)
    scale = moved / sqrt(2 * float(share)) if delta else moved / float(share)
    assert [entry.sensitivity for entry in cycles] == pytest.approx([moved] * len(cycles))
    assert [entry.scale for entry in cycles] == pytest.approx([scale] * len(cycles))
    none = DPEBM(cycles=0, **how).fit(frame, schema=schema).ledger_.entries
    assert [entry.epsilon_of_noise for entry in none] == [whole / 10, *[whole * Fraction(3, 10)] * 3]


def test_cycles_follow_from_what_is_public():
    frame, schema = table(4)
    for epsilon, delta in ((1.0, 0.0), (0.1, 0.0), (2.0, 1e-9), (0.2, 1e-9)):
        method = DPEBM(epsilon=epsilon, delta=delta, random_state=0).fit(frame, schema=schema)
        currency = Currency.of(delta)
        worth = len(frame) / currency.scale(currency.amount(epsilon) / 4, 1.0) >= WORTH
        assert method.cycles_ == int(worth) == int(epsilon >= 1), (epsilon, delta)
        other = DPEBM(epsilon=epsilon, delta=delta, random_state=0).fit(frame.head(9), schema=schema)
        assert other.cycles_ == method.cycles_  # of the bound, not of the rows


@pytest.mark.parametrize("classes", [2, 3])
def test_cycles_find_that_one_of_two_columns_is_a_copy(classes):
    """Tables give both nearly the same scores; the copy tells nothing once the first is known."""
    frame, schema = table(3, classes, rows=20_000)
    spreads = []
    for cycles in (0, 40):
        method = DPEBM(epsilon=LARGE, cycles=cycles, noise="laplace", random_state=0).fit(frame, schema=schema)
        found = {
            name: score[2, -1] - score[0, -1] - score[2, 0] + score[0, 0]
            for name, score in method.scores_.scores.items()
        }
        spreads.append([found["x0"] / 256, found["x1"] / 256, found["x2"] / 256])
    before, after = np.array(spreads)
    assert before[1] > 0.7 * before[0]
    assert after == pytest.approx([2.0 * (classes - 1), 0, 0], abs=0.35)


def test_noise_alone_tells_nothing():
    frame, schema = table(5)
    shuffled = frame.assign(y=frame["y"].sample(frac=1, random_state=1).to_numpy())
    told = [
        DPEBM(epsilon=0.1, cycles=0, noise="laplace", random_state=seed).fit(shuffled, schema=schema).scores_.columns
        for seed in range(20)
    ]
    assert np.mean([len(columns) for columns in told]) < 1
    assert {*DPEBM(epsilon=5.0, random_state=0).fit(frame, schema=schema).scores_.columns} >= {"x0", "x1"}


def test_steps_are_shrunk_by_the_likeliest_width():
    moved = np.full((40, 1), 100.0)
    draw = np.random.default_rng(0)
    true = draw.normal(0, 0.5, (40, 1))
    sums = moved * true + draw.normal(0, 30, (40, 1))
    step = likely(sums, moved, 900.0)
    assert step == pytest.approx(sums / moved * 0.25 / (0.25 + 0.09), rel=1e-9)
    assert (likely(draw.normal(0, 30, (40, 1)), moved, 900.0) == 0).all()


def test_counts_that_noise_made_uneven_are_made_even():
    prior = np.array([0.5, 0.5])
    even = slope(np.array([[60.0, 40.0], [30.0, 90.0]]), 1e6, 220.0, prior)
    assert even == pytest.approx(np.full((2, 2), 110 / 4))
    own = slope(np.array([[60.0, 40.0], [30.0, 90.0]]), 1e-9, 220.0, prior)
    assert own == pytest.approx(np.array([[25.0, 25.0], [30.0, 30.0]]))

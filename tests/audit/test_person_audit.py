"""Attacks on runs that protect persons: two tables that differ by one person with twenty rows, told apart by a number.

All seeds are fixed. A lower bound above epsilon would refute the guarantee; it comes near epsilon, and beyond it where
nothing is cut. That no answer at all loses more is worked out by `test_transcripts`.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from planted import falsely

from dpcore.audit.bound import lower_bound_of_statistics, statistics
from dpcore.audit.tables import bits
from dpcore.domain.unit import Unit
from dpcore.methods import METHODS

SCHEMA = bits("ay", "y")
EPSILON, TRIALS = 2.0, 400
KINDS = "00", "01", "10", "11"
PEOPLE = [(*KINDS[i % 4], f"p{i:02}") for i in range(12) for _ in range(1 + i % 3)]


def pair_of(relation):
    """Somebody with twenty rows (1, 1) comes, or had one row (0, 0) before; rows of others stand around them."""
    twenty = [("1", "1", "p05+")] * 20
    before = [("0", "0", "p05+")] if relation == "replace" else []
    tables = [*before, *PEOPLE], [*twenty[:3], *PEOPLE[:5], *twenty[3:], *PEOPLE[5:]]
    return tuple(pd.DataFrame(rows, columns=["a", "y", "who"]) for rows in tables)


def ones(noisy, rows):
    """The number of rows (1, 1) per row of a person; more of it tells no more."""
    return float(np.clip(noisy / rows, -2, 8))


ATTACKS = {
    "NB-Synth": lambda fitted, rows: ones(fitted.tables_[0][1, 1], rows),
    "Independent margins": lambda fitted, rows: ones(fitted.tables_[0][1], rows),
    "SuLQ-ID3": lambda fitted, _rows: float(fitted.predict_proba(pd.DataFrame({"a": ["1"]}))[0, 1]),
    "PPNB": lambda fitted, _rows: float(fitted.predict_proba(pd.DataFrame({"a": ["1"]}))[0, 1]),
}
RUNS = [(name, relation, rows) for name in ATTACKS for relation in METHODS[name].relations for rows in (1, 3, 10)]


def found(name, relation, rows):
    """The lower bound, and what is promised."""
    schema = replace(SCHEMA, unit=Unit(rows=rows, column="who"))
    method = METHODS[name](epsilon=EPSILON, relation=str(relation), noise="laplace")
    attack = ATTACKS[name]
    numbers, ledger = statistics(
        method, schema, pair_of(relation), lambda fitted: attack(fitted, rows), TRIALS, seed=rows
    )
    return lower_bound_of_statistics(*numbers), ledger


@pytest.mark.slow
@pytest.mark.parametrize(("name", "relation", "rows"), RUNS)
def test_nobody_is_told_apart_by_more_than_epsilon(name, relation, rows):
    bound, ledger = found(name, relation, rows)
    assert (ledger.epsilon_claimed, ledger.epsilon_of_noise, ledger.protects) == (EPSILON, EPSILON, "person")
    assert bound <= EPSILON
    if name == "NB-Synth" and relation == "add_remove":
        assert bound > 0.4 * EPSILON  # the attack would show more, if there were more


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 3])
def test_a_person_who_is_not_cut_is_told_apart(rows, monkeypatch):
    uncut = falsely(Unit, "kept", lambda _honest, _unit, persons, _lots, **_fill: np.argsort(persons, kind="stable"))
    uncut(monkeypatch)
    bound, ledger = found("NB-Synth", "add_remove", rows)
    assert bound > ledger.epsilon_claimed == EPSILON

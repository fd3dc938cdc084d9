"""No fewer faults are planted for the code that there is; drawn ones are of every operator."""

import ast
from pathlib import Path

import pytest

from scripts import mutants, operators

pytestmark = pytest.mark.usefixtures("parsed_once")
ROOT = Path(__file__).resolve().parents[2]
LEAST = 17.28  # planted faults for 1,000 statements: it may be raised, and never lowered


def test_as_many_faults_are_planted_as_ever():
    assert len(mutants.read(mutants.FAULTS)) / mutants.statements(ROOT) >= LEAST


SOURCE = '''
def charge(paid: int = 2) -> bool:
    """Of 3 < 4."""
    if paid < 1 and not free:
        raise ValueError(f"{paid + 1} is too much")
    return max(paid, -1) in (0,)
'''


def test_every_operator_is_changed_and_no_text():
    changes = list(operators.Changes(SOURCE).find(ast.parse(SOURCE)))
    assert sorted(change.describe(SOURCE) for change in changes) == sorted([
        "2 -> (2 + 1)", "2 -> (2 - 1)",
        "paid < 1 and not free -> (not (paid < 1 and not free))", "paid < 1 and not free -> False",
        "and -> or", "< -> <=", "1 -> (1 + 1)", "1 -> (1 - 1)", "not free -> (free)",
        "max(paid, -1) in (0,) -> None", "in -> not in", "max -> min", "-1 -> (1)", "1 -> (1 + 1)", "1 -> (1 - 1)",
        "0 -> (0 + 1)", "0 -> (0 - 1)",
    ])  # fmt: skip
    assert len({change.key for change in changes}) == len(changes)
    assert all(ast.parse(change.plant(SOURCE)) for change in changes)

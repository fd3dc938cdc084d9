"""An attack on the refined PrivBayes: rows of zeros, with and without one row of ones."""

import pandas as pd
import pytest

from dpcore.audit.bound import audit
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.methods import RefinedPrivBayes

BIT = ("0", "1")
SCHEMA = Schema(
    columns=tuple(Column(name=name, kind="categorical", categories=BIT) for name in ("a", "b", "y")),
    target="y",
    max_rows=100,
)
ZEROS = pd.DataFrame({name: ["0"] * 20 for name in SCHEMA.names})
ONE = pd.DataFrame({name: ["1"] for name in SCHEMA.names})
PAIRS = {
    "add_remove": (ZEROS, pd.concat([ZEROS, ONE], ignore_index=True)),
    "replace": (ZEROS, pd.concat([ZEROS.head(19), ONE], ignore_index=True)),
}


def ones(method):
    """Released mass of ones, over both columns' tables and the class."""
    return sum(margin[1, 1] for margin in method.margins_)


@pytest.mark.slow
@pytest.mark.parametrize("relation", PAIRS)
def test_a_release_stays_below_its_epsilon(relation):
    method = RefinedPrivBayes(epsilon=1.0, relation=relation)
    found = audit(method, PAIRS[relation], ones, 1_500, schema=SCHEMA, alpha=1e-3)  # false alarms: one in a thousand
    assert found.bound == found.claimed == 1.0
    assert found.lower_bound <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("relation", PAIRS)
def test_the_same_attack_catches_too_little_noise(relation):
    def bought_too_much(frame, runs):
        return [RefinedPrivBayes(epsilon=6.0, relation=relation).fit(frame, schema=SCHEMA) for _ in range(runs)]

    found = audit(bought_too_much, PAIRS[relation], ones, 1_500, alpha=1e-3)
    assert found.lower_bound > 1.0

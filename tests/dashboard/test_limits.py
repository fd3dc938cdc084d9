"""The limit that the panel of risk states: exactly what epsilon gives, for the unit and the relation of the release."""

import math
from dataclasses import replace

import pytest
from tables import SMALL, make_frame

from dpcore import export
from dpcore.dashboard.panels import disclosure
from dpcore.domain.unit import PrivacyUnit
from dpcore.methods import METHODS

FRAME = make_frame(120, 1).assign(who=[f"p{i // 3}" for i in range(120)])


def told(unit=None, schema=SMALL, **given):
    schema = replace(schema, unit=unit)
    method = METHODS["NB-Synth"](**{"epsilon": 1.0, **given}).fit(FRAME, schema=schema)
    return disclosure.limit(export.make_release(method, "NB-Synth", method.sample(9), data_name="people.csv"))


@pytest.mark.parametrize("epsilon", [0.001, 0.5, 1.0986122886681098, 5.0, 20.0])
def test_the_limit_is_what_two_neighbors_allow_and_never_rounded_down(epsilon):
    """Right with p in and q out, where p <= e^epsilon q and 1 - q <= e^epsilon (1 - p): p - q is largest at both."""
    most = 100 * (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    assert most - 1e-6 <= float(disclosure.points(epsilon)) < most + 0.1
    assert disclosure.points(0.0) == "0"


def test_the_limit_says_whose_it_is_and_beside_what():
    text = told()
    assert "46.3" in text
    assert "had not taken part" in text
    assert "had not taken part" not in told(relation="replace")
    person, rows = told(PrivacyUnit(max_contributions=3, id_column="who")), told(PrivacyUnit(max_contributions=3))
    assert "46.3" in person
    assert "about a person" in person
    assert "about a row" in rows
    assert "90.6" in rows  # for a person with 3 rows, of epsilon 3


def test_without_a_proof_there_is_no_limit():
    for text in (told(random_state=1), told(schema=replace(SMALL, source="inferred"))):
        assert not any(number in text for number in ("46.3", "100"))
    assert "can be attacked" in told(noise="laplace")  # the proof is about exact arithmetic
    assert " 100 " in told(mode="published", variant="Alg2", relation="replace")  # what is proved, and not the claim

"""Attacks on randomized responses: whole records, and a random number shared by two reports.

People report independently, so a data set of many people with the same values is as many runs.
Bounds that must stay below epsilon are taken at alpha = 1e-3; bounds that must catch a fault at
0.05, and are well above the claim.
"""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from lockstep import report_chances
from planted import falsely, noise_of_numbers_over

from dpcore.accounting.ledger import Ledger
from dpcore.audit.bound import audit, lower_bound
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable, responses
from dpcore.mechanisms.noise import make_noise
from dpcore.mechanisms.randomizers import ERRPH, OLH, OUE, TRR, Warner
from dpcore.methods.local.ppnb import PPNB
from dpcore.postprocess.reports import Questionnaire

RARE = 1e-3
SCHEMA = Schema(columns=(
    Column(name="x", kind="categorical", categories=tuple("abcd")),
    Column(name="n", kind="continuous", lower=0, upper=10, bins=5),
    Column(name="y", kind="categorical", categories=("no", "yes")),
), target="y")  # fmt: skip
ONE = pd.DataFrame({"x": ["a"], "n": [0.0], "y": ["no"]})
OTHER = pd.DataFrame({"x": ["d"], "n": [10.0], "y": ["yes"]})  # another record: everything differs
EVERYTHING = {"pairs": False, "n_questions": None, "merge": False}  # every column is asked for, as it is


def favors_one(method):
    """Return the log-likelihood ratio of all reports of every person."""
    reports = method.reports_
    found = np.zeros(reports.people)
    codes = [reports.schema.encode(frame)[0].astype(int) for frame in (ONE, OTHER)]
    for family, channel in reports.channels.items():
        said, indices = reports.values[family], [SCHEMA.index(name) for name in family]
        if isinstance(channel, TRR):
            one, other = (-np.abs(said - number) / channel.scale for number in (0.0, 10.0))
        else:
            cells = [np.ravel_multi_index(row[indices], reports.shape(family)) for row in codes]
            one, other = (report_chances(channel, said, np.full(len(said), cell)) for cell in cells)
        found[reports.positions(family)] += one - other
    return np.round(found, 9)  # the same ratio is the same number, in whatever order it was added up


class Crowd:
    """Method as a function for `audit`: each person of a crowd with equal records is a run."""

    def __init__(self, **parameters):
        self.parameters, self.seed = parameters, 0

    def __call__(self, frame, runs):
        self.seed += 1
        crowd = frame.iloc[np.zeros(runs, dtype=int)].reset_index(drop=True)
        return favors_one(PPNB(random_state=self.seed, **self.parameters).fit(crowd, schema=SCHEMA))


WHOLE = {
    "by default": {},
    "ERRPH": {**EVERYTHING, "protocol": "ERRPH"},
    "OUE": {**EVERYTHING, "protocol": "OUE"},
    "OLH": {**EVERYTHING, "protocol": "OLH"},
    "moments": {**EVERYTHING, "numbers": "moments"},
    "one of two": {**EVERYTHING, "n_questions": 1, "protocol": "ERRPH"},
    "one of two pairs": {**EVERYTHING, "pairs": True, "n_questions": 1, "protocol": "OUE", "class_share": 0.7},
}


@pytest.mark.parametrize("name", WHOLE)
def test_reports_of_whole_records_cost_at_most_epsilon(name):
    """The lower bound from many people with either record is between .8 and 1 of epsilon."""
    found = audit(Crowd(epsilon=2.0, **WHOLE[name]), (ONE, OTHER), float, 60_000, alpha=RARE).lower_bound
    assert 1.6 < found <= 2


def one_value_too_few(honest, self, *given):
    grown = math.expm1(self.epsilon)
    return honest(ERRPH(self.size, p0=grown / (grown + self.size - 1)), *given)


def true_bits_kept_too_often(honest, self, codes, lots):
    bits = honest(self, codes, lots)
    bits[np.arange(len(codes)), codes] |= lots(len(codes)) < 0.5  # three quarters
    return bits


def a_seen_hash(honest, self, codes, lots):
    found = honest(self, codes, lots)
    true = (found[:, 0] * codes + found[:, 1]) % (2**31 - 1) % self.places
    found[:, 2] = np.where(lots(len(codes)) < 0.3, true, found[:, 2])
    return found


def all_answer_everything(honest, asked, *given):
    return honest(replace(asked, n_optional=len(asked.optional)), *given)


PLANTED = {
    "ERRPH": falsely(ERRPH, "report", one_value_too_few),
    "moments": noise_of_numbers_over(2),
    "one of two": falsely(responses, "draw_reports", all_answer_everything),
    "OUE": falsely(OUE, "report", true_bits_kept_too_often),
    "OLH": falsely(OLH, "report", a_seen_hash),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_caught(name, monkeypatch):
    PLANTED[name](monkeypatch)
    assert audit(Crowd(epsilon=2.0, **WHOLE[name]), (ONE, OTHER), float, 100_000).lower_bound > 2.03


def test_a_random_number_shared_by_two_reports_reveals_both():
    """With x = 00 or 01, p = .7 and one random number, the reports always or never differ."""
    bits = Schema(columns=tuple(Column(name=name, kind="categorical", categories=("0", "1")) for name in "ab"))
    channels = {("a",): Warner(p=0.7), ("b",): Warner(p=0.7)}
    for tied in ([[("a",), ("b",)]], []):
        hits = []
        for second in (0, 1):
            codes = np.asfortranarray(np.tile([0, second], (1_000, 1)).astype(np.uint8))
            table = PrivateTable(codes, bits, Ledger("replace"), make_noise("laplace", 1), unprotected_allowed=True)
            values = table.randomize(Questionnaire(channels, together=tied)).values
            hits.append(int((values[("a",)] == values[("b",)]).sum()))
        found = lower_bound(*hits, 1_000)
        if tied:
            assert hits == [1_000, 0]
            assert found > 5 > 2 * math.log(7 / 3)
            assert table.ledger.epsilon_nominal == math.inf
        else:
            assert found < table.ledger.epsilon_nominal == pytest.approx(2 * math.log(7 / 3))

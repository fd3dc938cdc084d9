"""Runs that protect persons: which rows count, which data are refused, and the largest loss of a person."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sources import Watched
from tables import categorical

import dpcore.methods.base
from dpcore.accounting.ledger import Ledger
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, ParameterError
from dpcore.methods import METHODS, DiffPRFs, IndependentMarginals, NaiveBayesSynthesizer

SCHEMA = categorical({"w": "abcdefgh", "y": "01"}, target="y", max_rows=100)


def of_persons(rows, schema=SCHEMA, **more):
    return replace(schema, unit=PrivacyUnit(max_contributions=rows, id_column="who"), **more)


def frame_of(**persons):
    rows = [(word, "1" if word in "efgh" else "0", who) for who, words in persons.items() for word in words]
    return pd.DataFrame(rows, columns=["w", "y", "who"])


TABLE = {"p": "abc", "q": "d", "r": "aabbccdd"}
NEIGHBORS = {  # person s comes, or s had other rows
    "add_remove": (frame_of(**TABLE), frame_of(**TABLE, s="efgh" * 5)),
    "replace": (frame_of(**TABLE, s="a"), frame_of(**TABLE, s="efgh" * 5)),
}


class Heard(Watched):
    """A source that adds no noise, draws fixed uniform numbers, and keeps the counts."""

    def __init__(self):
        super().__init__()
        self.rng, self.tables = np.random.default_rng(0), []

    def counts(self, counts, scale):
        self.tables.append((counts.copy(), scale))
        return super().counts(counts, scale)

    def uniforms(self, count):
        """Equal numbers for equal rows of the tables above, wherever the new rows stand."""
        return self.rng.random(50)[:count]


@pytest.fixture
def heard(monkeypatch):
    """A function that fits a method and returns its ledger and the noiseless tables."""

    def fit(method, frame, schema):
        monkeypatch.setattr(dpcore.methods.base, "make_noise", lambda *_: source)
        source = Heard()
        return method.fit(frame, schema=schema).ledger_, source.tables

    return fit


@pytest.mark.parametrize(
    ("relation", "rows", "total"), [("add_remove", 3, 7), ("add_remove", 1, 3), ("replace", 3, 9), ("replace", 10, 30)]
)
def test_how_many_rows_of_a_person_count(relation, rows, total, heard):
    """Under add_remove at most k rows of a person; under replace exactly k, so that their number is public."""
    _, ((words, _), (classes, _)) = heard(IndependentMarginals(relation=relation), frame_of(**TABLE), of_persons(rows))
    assert words.sum() == words[:4].sum() == classes[0] == total
    if rows == 10:  # p has 3 of each and one more, q all 10, r one of each and two more
        assert 10 + 1 * 2 <= words[3] <= 10 + 2 * 2
        assert 3 + 2 <= words[:3].min() <= words[:3].max() <= 4 + 4


@pytest.mark.parametrize("rows", [1, 3, 10])
@pytest.mark.parametrize("relation", NEIGHBORS)
def test_a_person_loses_no_more_than_epsilon(relation, rows, heard):
    """Exact counts: a person changes them by no more than their noise scales allow."""
    method = IndependentMarginals(epsilon=0.5, relation=relation)
    found = [heard(method, frame, of_persons(rows)) for frame in NEIGHBORS[relation]]
    assert [ledger.epsilon_bound for ledger, _ in found] == [0.5, 0.5]
    one, other = (tables for _, tables in found)
    lost = sum(np.abs(a - b).sum() / scale for (a, scale), (b, _) in zip(one, other, strict=True))
    assert lost == pytest.approx(0.5)


def test_units_without_a_column_drop_no_rows():
    frame, known = frame_of(**TABLE).drop(columns="who"), replace(SCHEMA, unit=PrivacyUnit(max_contributions=3))
    one, other = (NaiveBayesSynthesizer(random_state=1).fit(frame, schema=schema) for schema in (SCHEMA, known))
    assert one.ledger_.to_json() == other.ledger_.to_json()
    assert one.structure() == other.structure()


def test_one_row_per_person_is_sampled_by_default():
    """Under replace each person has k rows, and the true number is private; under add_remove the rows that count."""
    frame = frame_of(**{f"p{i}": "abcd"[: 1 + i % 4] for i in range(40)})
    how = {"epsilon": 1e6, "noise": "laplace"}
    for name in ("NB-Synth", "PrivBayes", "Independent marginals", "TaxonomyRelease"):
        made = METHODS[name](relation="replace", **how).fit(frame, schema=of_persons(5))
        assert (len(made.sample()), len(made.sample(7))) == (40, 7), name
    kept = IndependentMarginals(relation="add_remove", **how).fit(frame, schema=of_persons(3))
    assert abs(len(kept.sample()) - 10 * (1 + 2 + 3 + 3)) <= 1


def test_rows_without_a_person_and_tables_without_the_column_are_refused_before_any_charge():
    frame, ledger = frame_of(**TABLE), Ledger("add_remove")
    blank = frame.assign(who=[None, *frame["who"][1:]])
    unknown = frame.assign(w=["?", *frame["w"][1:]])  # whichever rows are kept
    for wrong, cause in ((frame.drop(columns="who"), "who"), (blank, "who"), (blank.fillna(""), "who"), (unknown, "w")):
        with pytest.raises(DataError, match=f"'{cause}'"):
            DiffPRFs().fit(wrong, schema=of_persons(1), ledger=ledger)
    assert not ledger.entries
    assert not ledger.children


def test_the_public_bound_is_on_the_rows_that_count():
    frame = frame_of(**TABLE)  # 12 rows, 7 of which count
    NaiveBayesSynthesizer().fit(frame, schema=of_persons(3, max_rows=7))
    with pytest.raises(DataError, match="max_rows"):
        NaiveBayesSynthesizer().fit(frame, schema=of_persons(3, max_rows=6))


@pytest.mark.parametrize("name", ["NB-Synth", "PrivBayes", "TaxonomyRelease", "DiffPRFs", "PPNB", "DTPD"])
def test_data_of_no_person_and_of_one_person(name):
    for frame in (frame_of(), frame_of(p="a"), frame_of(p="abcdefgh")):
        assert METHODS[name](noise="laplace").fit(frame, schema=of_persons(3)).ledger_.protects == "person"


def test_a_given_ledger_protects_persons_or_rows():
    frame, shared = frame_of(**TABLE), Ledger("add_remove", epsilon=2.5)
    for rows in (3, 10):  # the same persons, however many rows of theirs count
        NaiveBayesSynthesizer(epsilon=1.0).fit(frame, schema=of_persons(rows), ledger=shared)
    with pytest.raises(ParameterError, match="do not add up"):
        NaiveBayesSynthesizer(epsilon=0.1).fit(frame, schema=SCHEMA, ledger=shared)
    assert (shared.epsilon_bound, shared.protects, len(shared.children)) == (2.0, "person", 2)

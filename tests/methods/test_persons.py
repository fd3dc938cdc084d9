"""Runs that protect persons: what is counted of them, what is refused, and what a person costs at most."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sources import Watched

import dpcore.methods.base
from dpcore.accounting.ledger import Ledger
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.unit import Unit
from dpcore.errors import DataError, ParameterError
from dpcore.methods import METHODS, DiffPRFs, IndependentMargins, NaiveBayesSynthesizer

WORDS = tuple("abcdefgh")
SCHEMA = Schema(
    columns=(
        Column(name="w", kind="categorical", categories=WORDS),
        Column(name="y", kind="categorical", categories=("0", "1")),
    ),
    target="y",
    max_rows=100,
)
RELATIONS = ("add_remove", "replace")


def of_persons(rows, schema=SCHEMA, **more):
    return replace(schema, unit=Unit(rows=rows, column="who"), **more)


def frame_of(**persons):
    """The words of each person's rows."""
    rows = [(word, "1" if word in "efgh" else "0", who) for who, words in persons.items() for word in words]
    return pd.DataFrame(rows, columns=["w", "y", "who"])


TABLE = {"p": "abc", "q": "d", "r": "aabbccdd"}
NEIGHBORS = {  # person s comes, or s had other rows
    "add_remove": (frame_of(**TABLE), frame_of(**TABLE, s="efgh" * 5)),
    "replace": (frame_of(**TABLE, s="a"), frame_of(**TABLE, s="efgh" * 5)),
}


class Heard(Watched):
    """Adds nothing, draws given lots, and keeps the counts."""

    def __init__(self, seed=0):
        super().__init__()
        self.rng, self.tables = np.random.default_rng(seed), []

    def counts(self, counts, scale):
        self.tables.append((counts.copy(), scale))
        return super().counts(counts, scale)

    def lots(self, count):
        """The same for the same rows of the tables above, wherever the new ones stand."""
        return self.rng.random(50)[:count]


@pytest.fixture
def heard(monkeypatch):
    """Fit a method with a source of noise that listens."""

    def fit(method, frame, schema):
        source = Heard()
        monkeypatch.setattr(dpcore.methods.base, "make_noise", lambda *_: source)
        fitted = method.fit(frame, schema=schema)
        return fitted, source

    return fit


def test_what_is_counted_of_persons(heard):
    """Under add_remove k rows of each at most; under replace k places of each, so that their number is public."""
    for relation, rows, total in (("add_remove", 3, 7), ("add_remove", 1, 3), ("replace", 3, 9), ("replace", 10, 30)):
        _, source = heard(IndependentMargins(relation=relation), frame_of(**TABLE), of_persons(rows))
        (words, _), (classes, _) = source.tables
        assert words.sum() == words[:4].sum() == classes[0] == total, (relation, rows)
        if rows == 10:  # p has 3 of each and one more, q all 10, r one of each and two more
            assert 10 + 1 * 2 <= words[3] <= 10 + 2 * 2
            assert (words[:3] >= 3 + 2).all()
            assert (words[:3] <= 4 + 4).all()


def test_a_person_loses_no_more_than_epsilon(heard):
    """Tables of counts, worked out exactly: a person moves them by what their scales pay for, and by no more."""
    for relation in RELATIONS:
        for rows in (1, 3, 10):
            tables = []
            for frame in NEIGHBORS[relation]:
                method = IndependentMargins(epsilon=0.5, relation=relation)
                fitted, source = heard(method, frame, of_persons(rows))
                assert fitted.ledger_.epsilon_bound == 0.5
                tables.append(source.tables)
            lost = sum(np.abs(a - b).sum() / scale for (a, scale), (b, _) in zip(*tables, strict=True))
            assert lost == pytest.approx(0.5), (relation, rows)


def test_a_seed_gives_the_same_cut_again_and_leaves_all_other_lots_alone():
    frame = frame_of(**{f"p{i}": "abcdefgh" for i in range(5)})
    first, again = (DiffPRFs(random_state=5, n_trees=2).fit(frame, schema=of_persons(2)) for _ in "ab")
    assert first.structure() == again.structure()
    assert first.ledger_.void

    class Counting(IndependentMargins):
        def _fit(self, table, progress):
            (self.noisy_,) = table.counts([("w",)], epsilon=self.epsilon)

    noise = [
        Counting(noise="laplace", random_state=5).fit(frame, schema=schema).noisy_ - 5
        for schema in (SCHEMA, of_persons(8))
    ]
    np.testing.assert_allclose(noise[1], 8 * noise[0])  # all rows are kept: the same draws, eight times as wide


def test_units_without_a_column_cut_nothing():
    frame = frame_of(**TABLE).drop(columns="who")
    one, other = (
        NaiveBayesSynthesizer(random_state=1).fit(frame, schema=schema)
        for schema in (SCHEMA, replace(SCHEMA, unit=Unit(rows=3)))
    )
    assert one.ledger_.to_json() == other.ledger_.to_json()
    assert one.structure() == other.structure()
    assert other.schema_.unit == Unit(rows=3)


def test_one_row_for_every_person_if_nobody_says_how_many():
    """Where each fills k places there are k times as many, and how many rows there were is private."""
    frame = frame_of(**{f"p{i}": "abcd"[: 1 + i % 4] for i in range(40)})
    for name in ("NB-Synth", "PrivBayes", "Independent margins", "TaxonomyRelease"):
        for rows in (1, 5):
            method = METHODS[name](epsilon=1e6, relation="replace", noise="laplace")
            made = method.fit(frame, schema=of_persons(rows))
            assert len(made.sample()) == 40, (name, rows)
            assert len(made.sample(7)) == 7
    kept = METHODS["Independent margins"](epsilon=1e6, relation="add_remove", noise="laplace").fit(
        frame, schema=of_persons(3)
    )
    assert abs(len(kept.sample()) - 10 * (1 + 2 + 3 + 3)) <= 1  # under add_remove as many as count, by a noisy number


def test_rows_of_nobody_and_tables_without_the_column_are_refused_before_anything_is_charged():
    frame, ledger = frame_of(**TABLE), Ledger("add_remove")
    blank = frame.assign(who=[None, *frame["who"][1:]])
    for name in ("NB-Synth", "DiffPRFs", "PrivBayes"):
        for wrong in (frame.drop(columns="who"), blank, blank.fillna("")):
            method = METHODS[name](relation="add_remove")
            with pytest.raises(DataError, match="'who'") as caught:
                method.fit(wrong, schema=of_persons(3), ledger=ledger)
            assert caught.value.remedy
            assert not hasattr(method, "ledger_")
        with pytest.raises(DataError, match="cell"):  # whichever rows are kept
            method.fit(frame.assign(w=["?", *frame["w"][1:]]), schema=of_persons(1), ledger=ledger)
    assert not ledger.entries
    assert not ledger.children


def test_the_public_bound_is_on_the_rows_that_count():
    frame = frame_of(**TABLE)  # 12 rows, 7 of which count
    NaiveBayesSynthesizer().fit(frame, schema=of_persons(3, max_rows=7))
    with pytest.raises(DataError, match="public bound"):
        NaiveBayesSynthesizer().fit(frame, schema=of_persons(3, max_rows=6))


def test_tables_of_nobody_and_of_one_person():
    for name, kind in METHODS.items():
        for relation in kind.relations:
            for frame in (frame_of(), frame_of(p="a"), frame_of(p="abcdefgh")):
                method = kind(mode=kind.modes[0], relation=str(relation), noise="laplace")
                method.fit(frame, schema=of_persons(3))
                assert method.ledger_.protects == "person", name


def test_somebody_elses_ledger_counts_for_persons_or_for_rows():
    frame, shared = frame_of(**TABLE), Ledger("add_remove", epsilon=2.5)
    for rows in (3, 10):  # the same persons, however many rows of theirs count
        NaiveBayesSynthesizer(epsilon=1.0).fit(frame, schema=of_persons(rows), ledger=shared)
    assert (shared.epsilon_bound, shared.protects) == (2.0, "person")
    for other in (SCHEMA, replace(SCHEMA, unit=Unit(rows=3))):
        with pytest.raises(ParameterError, match="do not add up"):
            NaiveBayesSynthesizer(epsilon=0.1).fit(frame, schema=other, ledger=shared)
    assert (shared.epsilon_bound, len(shared.children)) == (2.0, 2)


def test_what_a_rule_will_make_of_persons_is_foretold_for_their_rows():
    frame = frame_of(**{f"p{i}": "abcdefgh" for i in range(100)})
    fitted = DiffPRFs(epsilon=20.0, relation="replace").fit(frame, schema=of_persons(4))
    assert fitted.n_trees_ == 1
    told = DiffPRFs(epsilon=20.0, relation="replace").for_rows(4).foretold(4 * 100)
    assert f"one tree, at most {fitted.max_depth_} levels" in told
    assert "400 rows, the public number or bound, and epsilon 5" in told

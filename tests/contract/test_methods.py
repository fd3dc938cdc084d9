"""Contract of every method in METHODS, in each of its modes."""

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
import variants
from sklearn.base import clone
from sources import Tape, Watched
from variants import CLASSIFIERS, CORRECTED, EVERY_FIT, PUBLISHED, RELATED, SYNTHESIZERS, VARIANTS, alike, fitted

import dpcore.methods.base
from dpcore.accounting.ledger import Ledger
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import BudgetError, DataError, ParameterError
from dpcore.methods import METHODS
from dpcore.methods.parameters import describe_noise, describe_noise_quality, void_reason

SAMPLED = {"n_trees": 2, "max_depth": 2, "resample": "poisson", "rate": 0.3}
FAMILIES = ["NB-Synth", "Independent marginals", "PrivBayes", "JTree", "TaxonomyRelease", "DiffGen", "PPNB", "DTPD"]
FOR_PERSONS = {name: {} for name in FAMILIES} | {"DiffP-ID3": {"max_depth": 2}, "DiffPRFs": SAMPLED}
LEARNS_THE_CLASS = {*CLASSIFIERS, "NB-Synth", "DiffGen", "DT-Diff rows"}  # how columns hang on it


def made(method, frame, rows=300):
    """Return the output of a fitted method: rows, or class probabilities of some rows."""
    if hasattr(method, "sample"):
        return method.sample(rows)
    return pd.DataFrame(method.predict_proba(frame.head(rows)), columns=method.classes_)


def with_names(frame, persons):
    """Return the rows with a column of persons, the first of whom has many rows."""
    drawn = np.random.default_rng(len(frame)).random(len(frame))
    return frame.assign(who=[f"person {number}" for number in (persons * drawn**2).astype(int)])


@pytest.mark.listed
def test_every_method_has_a_contract_case():
    assert {name for name, _ in CORRECTED} == {name for name, kind in METHODS.items() if "corrected" in kind.modes}
    assert {name for name, _, _ in PUBLISHED} == {name for name, kind in METHODS.items() if "published" in kind.modes}


def added_up(ledger):
    """Return the loss of a ledger's entries by the rules of composition."""
    own = [float(entry.epsilon_nominal) for entry in ledger.own_entries]
    return math.fsum(own) + math.fsum(cost_of(child) for child in ledger.children)


def cost_of(child):
    """Return the loss that a part adds to the ledger above, by the part's name."""
    if (times := re.fullmatch(r"(\d+) trees, each|up to (\d+) rows of one person", child.name)) is not None:
        many = int(times[1] or times[2])
        return (many**2 if child.delta and times[2] else many) * added_up(child)
    if (rate := re.fullmatch(r"a random (.+) % of the rows", child.name)) is not None:
        once = math.log1p(float(rate[1]) / 100 * math.expm1(added_up(child)))
        return once * (2 if child._parent.relation == "replace" else 1)  # one row leaves, one comes
    if not child.in_parallel:
        return added_up(child)
    twice = 2 if child._parent.relation == "replace" and child.relation == "add_remove" else 1
    return twice * max(added_up(part) for part in child.children)


def spends(ledger, epsilon, *, seeded, case):
    budget = ledger.measure.loss_of(epsilon)
    assert ledger.totals.nominal == ledger.totals.claimed_loss == budget, case  # exactly, not to a float
    assert budget == Fraction(epsilon) or ledger.delta, case
    assert epsilon * (1 - 1e-9) <= ledger.epsilon_claimed <= epsilon, case
    assert ledger.epsilon_bound == (math.inf if seeded else ledger.epsilon_claimed), case  # of a known seed: nothing
    assert added_up(ledger) == pytest.approx(float(budget)), case
    for entry in ledger.entries:  # the noise that was drawn is the noise that was booked
        if entry.mechanism in ("laplace", "gaussian") and epsilon:
            moved = entry.sensitivity / entry.scale
            booked = entry.draws * (moved if entry.mechanism == "laplace" else moved**2 / 2)
            assert booked == pytest.approx(float(entry.epsilon_nominal)), (case, entry.name)


@pytest.mark.parametrize("name", VARIANTS)
def test_corrected_mode_spends_exactly_epsilon(name, small_frame, small_schema):
    for case in [case for case in RELATED if case[0] == name]:
        _, extra, relation = case
        ledger = fitted(name, extra, relation=relation).ledger_
        assert ledger.relation == relation, case
        spends(ledger, 1.0, seeded=True, case=case)
        for epsilon, seed in ((0.0, 0), (1.7, None)) if not extra else ((1.7, None),):
            noise = "laplace" if extra else "auto"  # which is slow
            method = METHODS[name](**extra, epsilon=epsilon, relation=relation, random_state=seed, noise=noise)
            method.fit(small_frame.head(40), schema=small_schema)
            spends(method.ledger_, epsilon, seeded=seed is not None, case=(case, epsilon))


@pytest.mark.parametrize("name", FOR_PERSONS)
def test_a_person_costs_exactly_epsilon(name, small_frame, small_schema):
    """With any number of rows per person, the total is the person's epsilon."""
    frame = with_names(small_frame.head(40), 20)
    for relation, (rows, epsilon) in product(METHODS[name].relations, ((1, 1.7), (3, 0.1), (10, 0.0))):
        known = replace(small_schema, unit=PrivacyUnit(max_contributions=rows, id_column="who"))
        how = {"epsilon": epsilon, "relation": str(relation), "noise": "laplace"}
        method = METHODS[name](**FOR_PERSONS[name], **how).fit(frame, schema=known)
        spends(method.ledger_, epsilon, seeded=False, case=(name, relation, rows, epsilon))
        assert method.epsilon == epsilon
        assert method.ledger_.protects == "person"
        assert method.schema_ == known


def test_group_privacy_multiplies_claimed_and_proven_loss_of_published_modes(small_frame, small_schema):
    frame = with_names(small_frame.head(90), 40)
    schema = replace(small_schema, unit=PrivacyUnit(max_contributions=3, id_column="who"))
    for name, extra, proved in PUBLISHED:
        method = METHODS[name](mode="published", **variants.GIVEN | extra)
        ledger = method.fit(frame, schema=schema).ledger_
        alone = fitted(name, extra, mode="published").ledger_
        assert ledger.epsilon_claimed == alone.epsilon_claimed, (name, extra)
        (inner,) = ledger.children
        assert ledger.totals.claimed_loss == 3 * inner.totals.claimed_loss, (name, extra)
        assert ledger.totals.nominal == 3 * inner.totals.nominal, (name, extra)
        assert math.isinf(ledger.epsilon_nominal) == (proved == "nothing"), (name, extra)


def test_published_mode_records_claimed_and_proven_loss():
    for name, extra, proved in PUBLISHED:
        ledger = fitted(name, extra, mode="published").ledger_
        claimed, bound = ledger.epsilon_claimed, ledger.epsilon_nominal
        assert claimed == (math.inf if extra.get("variant") == "Alg1" or name in variants.CLAIM_NONE else 1.0), (
            name,
            extra,
        )
        found = {"more": claimed < bound < math.inf, "nothing": bound == math.inf, "no more": 0.1 < bound <= claimed}
        assert found[proved], (name, extra)
        for entry in ledger.entries:
            understated = entry.epsilon_nominal > entry.epsilon_claimed or entry.epsilon_nominal == math.inf
            assert entry.reason or not understated, (name, extra)


def test_fit_charges_a_given_ledger_and_stops_at_its_cap(small_frame, small_schema):
    frame = small_frame.head(20)
    for name in VARIANTS:
        relation = METHODS[name]().relation
        other = {"add_remove": "replace", "replace": "add_remove"}[relation]
        refused = "relation" if other in METHODS[name].relations else "not defined"
        shared = Ledger(relation, epsilon=1.5, name="mine")
        METHODS[name](epsilon=1.0).fit(frame, schema=small_schema, ledger=shared)
        assert shared.epsilon_bound == 1.0, name
        with pytest.raises(BudgetError, match="'mine'"):
            METHODS[name](epsilon=1.0).fit(frame, schema=small_schema, ledger=shared)
        assert shared.epsilon_bound <= 1.5, name
        with pytest.raises(ParameterError, match=refused):
            METHODS[name](epsilon=1.0, relation=other).fit(frame, schema=small_schema, ledger=shared)


def replayed(tape, frame, other, schema, case, relation, mode):
    """Assert that two fits with the same answers on different rows are equal, with equal losses."""
    name, extra = case
    first, second = (METHODS[name](**extra, mode=mode, relation=relation, random_state=3) for _ in "ab")
    tape.replaying = False
    first.fit(frame, schema=schema)
    assert tape.answers, case
    tape.replaying = True
    second.fit(other, schema=schema)
    assert not tape.answers, case
    before, after = variants.fitted_state(first), variants.fitted_state(second)
    assert before.keys() == after.keys(), case
    assert [key for key in before if not alike(before[key], after[key])] == [], case
    assert first.ledger_.to_json() == second.ledger_.to_json(), case
    pd.testing.assert_frame_equal(made(first, other, None), made(second, other, None))


@pytest.mark.parametrize("name", VARIANTS)
def test_replay_a_release_depends_on_answers_only(name, small_frame, other_frame, small_schema, monkeypatch):
    tape = Tape(monkeypatch)
    for case in [case for case in RELATED if case[0] == name]:
        rows = 90 if case[2] == "replace" else 37  # n is public only under replace
        replayed(tape, small_frame.head(90), other_frame.head(rows), small_schema, case[:2], case[2], "corrected")


@pytest.mark.parametrize("name", FOR_PERSONS)
def test_replay_where_persons_are_protected(name, small_frame, other_frame, small_schema, monkeypatch):
    """Only the number of persons may show, and only under replace; never the rows per person."""
    tape, known = Tape(monkeypatch), replace(small_schema, unit=PrivacyUnit(max_contributions=3, id_column="who"))
    for relation in METHODS[name].relations:
        first = with_names(small_frame.head(90), 30)
        many = first["who"].nunique() if relation == "replace" else 7
        second = other_frame.head(67).assign(who=np.arange(67) % many)
        replayed(tape, first, second, known, (name, FOR_PERSONS[name]), str(relation), "corrected")


def test_replay_of_published_modes_with_a_proven_epsilon(small_frame, other_frame, small_schema, monkeypatch):
    tape = Tape(monkeypatch)
    for name, extra, proved in PUBLISHED:
        if proved != "nothing":  # those look at the rows themselves
            frames = small_frame.head(90), other_frame.head(90)
            replayed(tape, *frames, small_schema, (name, extra), "replace", "published")


def test_replay_catches_a_method_that_peeks(small_frame, other_frame, small_schema, monkeypatch):
    class Peeking(METHODS["NB-Synth"]):
        def _fit(self, table, progress):
            super()._fit(table, progress)
            self.leak_ = int(table._rows.codes[:, 0].sum())

    tape = Tape(monkeypatch)
    first = Peeking(random_state=3).fit(small_frame, schema=small_schema)
    tape.replaying = True
    second = Peeking(random_state=3).fit(other_frame, schema=small_schema)
    assert not alike(variants.fitted_state(first)["leak_"], variants.fitted_state(second)["leak_"])


def test_unseeded_fits_do_not_repeat(small_frame, small_schema):
    """Seeded fits do repeat (golden record). Of DTPD's small trees, 1.8% of all pairs are equal."""
    frame = small_frame.head(60)
    for name, kind in METHODS.items():
        if name == "Non-private naive Bayes":  # which has nothing to draw lots for
            continue
        for mode in kind.modes:
            fits = (kind(mode=mode, noise="laplace").fit(frame, schema=small_schema) for _ in "abcd")
            first = next(fits)
            if name in SYNTHESIZERS:
                assert any(not first.sample(60).equals(other.sample(60)) for other in fits), (name, mode)
            else:
                assert any(first.structure() != other.structure() for other in fits), (name, mode)


def test_classes_are_those_of_the_schema(small_frame):
    rows = small_frame.drop(columns="ill")
    for name, extra in [each for each in EVERY_FIT if each[0] in CLASSIFIERS]:
        method, case = fitted(name, extra), (name, extra)
        assert method.classes_.tolist() == ["no", "yes"], case
        shares = method.predict_proba(rows)
        assert (shares >= 0).all(), case
        assert np.allclose(shares.sum(axis=1), 1), case
        assert (method.predict(rows) == method.classes_[shares.argmax(axis=1)]).all(), case
        assert method.score(rows, small_frame["ill"]) == method.score(small_frame), case
        assert 0 <= method.score(small_frame) <= 1, case
        assert json.dumps(method.structure(), allow_nan=False) != "{}", case
        with pytest.raises(DataError, match="grade"):
            method.predict(rows.drop(columns="grade"))


class Swollen(Watched):
    """Source of noise that adds a billion to every count."""

    def counts(self, counts, scale):
        return counts + 1e9

    def reals(self, values, scale, **_):
        return values


def test_a_release_of_billions_has_as_many_rows_as_the_public_bound(small_frame, small_schema, monkeypatch):
    monkeypatch.setattr(dpcore.methods.base, "make_noise", lambda *_: Swollen())
    for name in sorted({*SYNTHESIZERS} & VARIANTS.keys()):
        method = METHODS[name](relation="add_remove").fit(small_frame.head(60), schema=small_schema)
        assert len(method.sample()) == small_schema.max_rows, name
    method = METHODS["Independent marginals"](relation="add_remove")
    method.fit(small_frame, schema=replace(small_schema, max_rows=None))
    with pytest.raises(ParameterError, match="mostly noise"):
        method.sample()


def test_bad_rows_are_refused_without_showing_a_value(small_frame, small_schema):
    frame = small_frame.head(9)
    for name, kind in METHODS.items():
        for column, value in [("grade", "secret-77"), ("age", 500), ("ill", None)]:
            broken = frame.astype({column: object})
            broken.loc[3, column] = value
            with pytest.raises(DataError, match=column) as caught:
                kind().fit(broken, schema=small_schema)
            assert not re.search("secret|500", str(caught.value)), name
            assert caught.value.remedy, name
        with pytest.raises(DataError, match="grade"):
            kind().fit(frame.drop(columns="grade"), schema=small_schema)


def test_edge_tables(small_frame, small_schema):
    only_target = Schema(columns=(small_schema["ill"],), target="ill", max_rows=1_000)
    no_target, frame = Schema(columns=small_schema.columns), small_frame.head(20)
    for name, kind in METHODS.items():
        assert len(made(kind().fit(frame, schema=only_target), frame, 9)) == 9, name
        assert len(made(kind().fit(frame.head(0), schema=small_schema), frame, 9)) == 9, name
        if name in LEARNS_THE_CLASS:
            with pytest.raises(ParameterError, match="target"):
                kind().fit(frame, schema=no_target)
        else:
            assert len(kind().fit(frame, schema=no_target).sample(9)) == 9, name
        with pytest.raises(ParameterError, match="not fitted"):
            made(kind(), frame)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_tiny_epsilon_raises_no_error_after_the_charge(name, small_frame, small_schema):
    """Noise far wider than all counts must not make a run fail after its charge."""
    frame = small_frame.head(20)
    deltas = [{}, {"delta": 1e-9}] if "delta" in METHODS[name].parameters() else [{}]
    for epsilon, delta in product((1e-9, 1e-300), deltas):
        for seed in range(1 + len(delta)):
            method = METHODS[name](epsilon=epsilon, random_state=seed, **delta).fit(frame, schema=small_schema)
            found = made(method, frame, 20)
            assert len(found) == 20, (epsilon, delta, seed)
            assert name in SYNTHESIZERS or np.isfinite(found).all(axis=None), (epsilon, delta, seed)


def test_progress_increases(small_frame, small_schema):
    for name, kind in METHODS.items():
        done = []
        kind().fit(small_frame.head(20), schema=small_schema, progress=lambda share, _, done=done: done.append(share))
        assert done == sorted(done), name
        assert 0 <= done[0] <= done[-1] == 1, name


def test_a_table_beyond_the_public_bound_is_refused_before_anything_is_charged(small_frame, small_schema):
    frame = small_frame.head(80)
    for name in [name for name in VARIANTS if "add_remove" in METHODS[name].relations]:
        method, ledger = METHODS[name](relation="add_remove"), Ledger("add_remove")
        with pytest.raises(DataError, match="max_rows") as caught:
            method.fit(frame, schema=replace(small_schema, max_rows=79), ledger=ledger)
        assert "80" not in str(caught.value), name
        assert not ledger.entries, name
    method.fit(frame, schema=replace(small_schema, max_rows=80))


def test_facts_shown_beside_run_hold_for_the_release(small_frame, small_schema):
    """Before the run from public facts only; after it, from the ledger's proven loss."""
    promised = 0
    for kind in METHODS.values():
        for offer in kind.presets:
            method = kind(mode=offer.mode, noise="auto", **offer.parameters)
            assert void_reason(method, replace(small_schema, source="inferred"))
            assert void_reason(clone(method).set_params(random_state=1), small_schema)
            assert "exactly sampled" not in describe_noise(clone(method).set_params(noise="laplace")).split(".")[0]
            relation = str(kind.relations_in(offer.mode)[-1])
            method = kind(mode=offer.mode, noise="auto", relation=relation, **offer.parameters)
            said, promise = describe_noise(method), not void_reason(method, small_schema)
            ledger = method.fit(small_frame.head(40), schema=small_schema).ledger_
            noiseless = method.noise_label_ == "No noise"
            assert said == describe_noise_quality(noiseless, method.exactly_sampled_, method.mode), (kind, offer)
            assert noiseless == said.startswith("no noise at all"), (kind, offer)
            assert not (noiseless and method.exactly_sampled_), (kind, offer)
            if promise:
                assert method.exactly_sampled_, (kind, offer)
                assert ledger.epsilon_bound <= ledger.epsilon_claimed == method.epsilon, (kind, offer)
                promised += 1
    assert promised >= len(METHODS)

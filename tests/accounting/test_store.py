"""Tests of the ledger file: exact sums, caps, concurrent sessions, and killed processes."""

import dataclasses
import math
import os
import pickle
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise

import pytest
from ledger_helpers import ADD, REPLACE, SHA, begin_as_nobody, charge_for_ever, entry, new_run, set_aside
from tables import make_frame

from dpcore import NaiveBayesSynthesizer, datasets, export
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.privacy_measure import epsilon_from_rho, rho_from_epsilon
from dpcore.accounting.store import LedgerStore, persistent_ledger, usual_path
from dpcore.accounting.store.file import NAME, witness_path
from dpcore.arguments import no_progress
from dpcore.dashboard import session
from dpcore.dashboard.panels import redraw
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import BudgetError, LedgerError, ParameterError
from dpcore.methods import METHODS

posix = pytest.mark.skipif(os.name != "posix", reason="kills processes, forks and permits as on POSIX")


def close(found, true):
    """Return whether a stored total is the true one, or larger by rounding only."""
    return 0 <= found - true < Fraction(1, 2**90)


def test_totals_are_stored_by_data_set_and_relation(store):
    thirds = new_run(store)
    for _ in range(3):
        thirds.child("a fit").charge(entry(Fraction(1, 3), Fraction(2, 3)))
    new_run(store).child("a fit").charge(entry(Fraction(1, 7)))
    new_run(store, REPLACE).child("a fit").charge(entry(Fraction(1)))
    new_run(store, sha="b" * 64).child("a fit").charge(entry(Fraction(5)))
    new_run(store, purpose="never asked")
    account = store.account(SHA, ADD)
    assert close(account.totals.claimed_loss, Fraction(8, 7))
    assert close(account.totals.bound, Fraction(15, 7))
    assert account.looks == 4
    first, second = store.runs(SHA, ADD)
    assert (first.name, first.totals.bound, first.looks) == ("a run", 2, 3)  # what is whole in the end is exact
    assert close(second.totals.bound, Fraction(1, 7))
    assert store.account(SHA, REPLACE).totals.bound == 1
    assert [line.key[0] + line.relation for line in store.accounts()] == ["aadd_remove", "areplace", "badd_remove"]


def test_composition_odd_shares_and_infinity_reach_the_file(store):
    """The largest disjoint part counts, in the file as in memory; infinite losses stay infinite."""
    run = new_run(store)
    fit = run.child("a fit")
    group = fit.parallel("halves", by="value")
    for cost in (1, 3, 2):
        group.part("half").charge(entry(Fraction(cost)))
    assert run.epsilon_bound == store.account(SHA, ADD).totals.bound == 3
    for bound in (math.inf, math.inf, Fraction(1)):
        fit.charge(entry(Fraction(1, 2), bound))
    (found,) = store.runs(SHA, ADD)
    assert (found.totals.claimed_loss, found.totals.bound, found.epsilon_bound) == (Fraction(9, 2), math.inf, math.inf)
    run = new_run(store, REPLACE)  # which need no endless digits
    for prime in (101, 103, 107, 109, 113, 127):
        run.child("a fit").charge(entry(Fraction(1, prime**7)))
    with store.transaction() as sheet:
        ((written,),) = sheet.c.execute("SELECT bound FROM accounts WHERE relation='replace'").fetchall()
    assert len(written) < 80
    assert close(store.account(SHA, REPLACE).totals.bound, run.totals.bound)


@pytest.mark.parametrize("name", METHODS)
def test_every_answer_is_charged_before_it_is_drawn(store, recorded, small_schema, name):
    kind, (happened, opened) = METHODS[name], recorded
    for mode in kind.modes:
        method = kind(mode=mode)
        run = new_run(store, method.check(small_schema))
        method.fit(make_frame(30, 1), schema=small_schema, ledger=run)
        assert happened[:2] == ["written", "drawn"], mode
        assert all(before == "written" for before, what in pairwise(happened) if what == "drawn"), mode
        happened.clear()
        opened.clear()


def test_nothing_is_charged_or_drawn_if_a_write_fails(store, recorded, monkeypatch, small_frame, small_schema):
    def refused(*_, **__):
        raise LedgerError("no", "no")

    run = new_run(store)
    monkeypatch.setattr(LedgerStore, "add", refused)
    with pytest.raises(LedgerError):
        NaiveBayesSynthesizer().fit(small_frame, schema=small_schema, ledger=run)
    assert recorded[0] == run.entries == []
    assert run.epsilon_bound == 0


def test_totals_stay_proven_beside_runs_with_a_void_guarantee(store):
    """Caps count the proven total before and after void runs; a void run loses all its charges."""
    for epsilon, void in ((1, ""), (5, "The schema was inferred."), (0.5, ""), (7, "A known seed.")):
        run = new_run(store)
        if void:
            run.void_because(void)
        run.child("a fit").charge(entry(Fraction(epsilon)))
        assert store.runs(SHA, ADD)[-1].void == void
    new_run(store).charge(entry(Fraction(3), math.inf))  # which a paper prints so
    found = store.account(SHA, ADD)
    assert (found.totals, found.looks, found.void_looks) == ((1.5, 1.5, 1.5), 2, 3)
    assert found.void == "The schema was inferred. A known seed."
    assert [run.epsilon_bound for run in store.runs(SHA, ADD)] == [1, math.inf, 0.5, math.inf, math.inf]
    store.set_cap(SHA, "a", ADD, 2.0)
    lost = new_run(store)
    lost.charge(entry(Fraction(1, 4)))
    with pytest.raises(BudgetError, match=r"a total of epsilon 2.25 for 'people.csv', whose budget is capped at 2"):
        new_run(store).charge(entry(Fraction(1, 2)))
    lost.void_because("The seed was told.")
    found = store.account(SHA, ADD)
    assert (found.totals.bound, found.looks, found.void_looks) == (1.5, 2, 4)
    for run in (lost, new_run(store)):
        with pytest.raises(BudgetError, match="capped at 2"):
            run.charge(entry(Fraction(0), math.inf))
    with pytest.raises(BudgetError, match=r"capped at 2.*nothing can be proved about this run: The seed was told"):
        lost.charge(entry(Fraction(1, 100)))
    new_run(store).charge(entry(Fraction(1, 2)))
    assert store.account(SHA, ADD).totals.bound == 2


def test_a_redraw_is_written_down_before_it_is_drawn_unless_a_cap_refuses_it(store, recorded, monkeypatch):
    """Stopped in the third draw: it is charged for the release's data, and not shown."""

    def progress(fraction, text):
        if text == "run 3 of 20: Done":
            raise InterruptedError

    monkeypatch.setattr(type(store), "key", lambda _, data: data.token)
    data = dataclasses.replace(datasets.load("sample"), name="people.csv", token=SHA)
    method = NaiveBayesSynthesizer(x_source="model", epsilon=1.0).fit(data.train.head(90), schema=data.schema)
    release = export.make_release(method, "NB-Synth", method.sample(50), data_name=data.name)
    on_a_page, spending = session.ShownRelease(release, data), session.Spending(store, {})
    recorded[0].clear()
    with pytest.raises(InterruptedError):
        redraw.run_redraws(on_a_page, spending, progress)
    (found,) = store.accounts()
    assert (found.key, found.looks, found.totals.bound) == (SHA, 3, 3)
    assert set(on_a_page.redraws["run"]) == set(range(3))
    store.set_cap(SHA, "people.csv", ADD, 4.0)
    with pytest.raises(BudgetError):
        redraw.run_redraws(on_a_page, spending, no_progress)
    assert recorded[0] == ["written", "drawn"] * 4
    assert store.account(SHA, ADD).looks == 4


def test_pages_charge_the_chosen_data_set_and_relation(store):
    """Runs of pages, and those of comparisons in other processes."""
    spending = session.Spending(store, {})
    sets = {store.key(data): data for data in map(datasets.load, ("sample", "bank cards"))}
    keys = [(key, relation) for key in sets for relation in (ADD, REPLACE)]
    for key, relation in keys:
        spending.open_ledger(sets[key], relation, "a run").charge(entry(Fraction(1)))
        ledgers = spending.store.open_runs({"C1": NaiveBayesSynthesizer(relation=relation)}, sets[key], "a comparison")
        ledgers["C1"]().charge(entry(Fraction(2)))
        assert [run.totals.bound for run in store.runs(key, relation)] == [1, 2]
    assert [(line.key, line.relation, line.totals.bound) for line in store.accounts()] == [(*key, 3) for key in keys]


def test_persistent_ledger_of_python_is_written_to_the_file(monkeypatch, in_memory):
    """Another program with another split of the same file charges the same account."""
    path = in_memory / "ledger.sqlite"
    monkeypatch.setenv("DPCORE_LEDGER", str(path))
    sample = datasets.load("sample")
    raw = sample.train.head(60).to_csv(index=False).encode()
    data = datasets.read(raw, "people.csv", schema=sample.schema)
    other = dataclasses.replace(data, train=data.test, test=data.train, token="")
    for day, split in (("day 1", data), ("day 2", other)):
        ledger = persistent_ledger(split, ADD, purpose=day)
        NaiveBayesSynthesizer(epsilon=0.5).fit(split.train, schema=data.schema, ledger=ledger)
    (account,) = LedgerStore(path).accounts()
    assert (account.name, account.looks, account.epsilon_bound) == ("people.csv", 2, 1.0)
    assert [run.name for run in LedgerStore(path).runs(account.key, ADD)] == ["day 1", "day 2"]
    LedgerStore(path).set_cap(account.key, account.name, ADD, 1.0)
    with pytest.raises(BudgetError, match="capped at 1"):
        persistent_ledger(data, ADD).charge(entry(Fraction(1)))
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    assert persistent_ledger(data, ADD).run.store.path != path
    monkeypatch.setenv("XDG_STATE_HOME", str(in_memory))
    assert usual_path() == in_memory / "dpcore" / "ledger.sqlite"


def test_rows_and_persons_of_one_file_have_accounts_of_their_own(store):
    sample = datasets.load("sample")
    frame = sample.train.head(60).assign(who=range(60), house=1)
    units = (PrivacyUnit(rows, id_column=name) for rows, name in ((3, None), (3, "who"), (5, "who"), (3, "house")))
    schemas = [dataclasses.replace(sample.schema, unit=unit) for unit in (None, *units)]
    sets = [datasets.Dataset("a", frame, frame.head(0), schema) for schema in schemas]
    keys = [store.key(data) for data in sets]
    assert [store.account_name(data) for data in sets[1:4]] == ["a", "a, persons of 'who'", "a, persons of 'who'"]
    rows, declared, three, five, houses = keys
    assert rows == declared  # what is charged is the same
    assert three == five  # the same persons
    assert len({rows, three, houses}) == 3
    assert {len(key) for key in keys} == {64, 129}
    assert {key[:64] for key in keys} == {rows}  # and know that they are of one file


def test_a_cap_refuses_across_sessions(store):
    other = LedgerStore(store.path)  # another tab
    store.set_cap(SHA, "people.csv", ADD, 1.0)
    first, second = new_run(store), new_run(other)
    first.child("a fit").charge(entry(Fraction(5, 8)))
    with pytest.raises(BudgetError, match=r"capped at 1\. The query was not answered"):
        second.child("a fit").charge(entry(Fraction(1, 4), Fraction(1, 2)))  # whatever is claimed
    assert (second.epsilon_bound, second.entries) == (0, [])
    assert close(store.account(SHA, ADD).totals.bound, Fraction(5, 8))
    second.child("a fit").charge(entry(Fraction(3, 8)))  # exactly up to the cap
    assert store.account(SHA, ADD).totals.bound == 1
    new_run(store, REPLACE).child("a fit").charge(entry(Fraction(9)))  # another account
    assert [line.totals.bound for line in store.accounts()] == [1, 9]  # what another session spent is seen
    store.set_cap(SHA, "people.csv", REPLACE, 100.0)
    with pytest.raises(BudgetError, match="more than any epsilon"):  # what cannot be proved
        new_run(store, REPLACE).charge(entry(Fraction(1), math.inf))
    store.set_cap(SHA, "people.csv", ADD, None)
    first.child("a fit").charge(entry(Fraction(1), math.inf))


def test_a_run_above_a_cap_is_refused_before_its_first_query(store):
    """A run that is refused at its last queries would have been charged for its first ones."""
    data = datasets.load("sample")
    persons = dataclasses.replace(data, schema=dataclasses.replace(data.schema, unit=PrivacyUnit(2, id_column="who")))
    key = store.key(data)
    store.set_cap(key, data.name, ADD, 1.5)
    store.start_run(key, data.name, ADD, "first").ledger().charge(entry(Fraction(1)))
    store.require_room(data, ADD, 0.5)
    store.require_room(data, REPLACE, 9.0)
    for wanted, epsilon, delta in ((data, 0.6, 0.0), (persons, 0.3, 0.0), (data, 0.1, 1e-6)):
        with pytest.raises(BudgetError, match="No noise was drawn"):
            store.require_room(wanted, ADD, epsilon, delta)
    assert store.account(key, ADD).totals.bound == 1  # to ask charges nothing


def test_no_cap_is_evaded_by_another_privacy_unit(store):
    """A row has the loss of one or two persons; a person has an infinite loss of rows or others."""
    who, house = f"{SHA}+{'1' * 64}", f"{SHA}+{'2' * 64}"
    for relation, times in ((ADD, 2), (REPLACE, 1)):
        store.set_cap(SHA, "a", relation, 3.0)
        new_run(store, relation, sha=who).charge(entry(Fraction(1)))
        with pytest.raises(BudgetError, match=f"a total of epsilon {times + 2.5} for '.*', whose budget is capped"):
            new_run(store, relation).charge(entry(Fraction(5, 2)))
        new_run(store, relation).charge(entry(Fraction(3 - times)))
        with pytest.raises(BudgetError, match="whose budget is capped at 3"):
            new_run(store, relation, sha=who).charge(entry(Fraction(1, 1000)))
        store.set_cap(SHA, "a", relation, None)
        store.set_cap(house, "a, persons of 'house'", relation, 100.0)
        for key in (SHA, who, house):
            with pytest.raises(BudgetError, match=r"runs on the same file protect rows.*is unknown"):
                new_run(store, relation, sha=key).charge(entry(Fraction(1)))
        store.set_cap(house, "a, persons of 'house'", relation, None)
        new_run(store, relation, sha="b" * 64).charge(entry(Fraction(50)))  # another file
    assert [line.protects for line in store.accounts()] == ["row", "person", "row"] * 2


DELTA = 1e-9
RHO = {"unit": "rho"}


def test_rho_has_an_account_of_its_own_and_its_sums_are_exact(store):
    new_run(store).charge(entry(Fraction(1, 2)))
    run = new_run(store, delta=DELTA)
    for _ in range(3):
        run.child("a fit").charge(entry(Fraction(1, 512), **RHO))
    pure, rho = store.account(SHA, ADD), store.account(SHA, ADD, DELTA)
    assert (pure.totals.bound, pure.delta, pure.epsilon_bound) == (Fraction(1, 2), 0, 0.5)
    assert (rho.totals.bound, rho.delta, rho.looks) == (Fraction(3, 512), DELTA, 3)
    assert rho.epsilon_bound == epsilon_from_rho(3 / 512, DELTA)
    assert [one.epsilon_bound for one in store.runs(SHA, ADD, DELTA)] == [rho.epsilon_bound]
    assert [one.totals.bound for one in store.runs(SHA, ADD)] == [Fraction(1, 2)]
    assert LedgerStore(store.path).accounts() == [pure, rho]


def test_the_delta_of_a_data_set_is_chosen_once(store):
    cost = entry(Fraction(1, 100), **RHO)
    unasked = new_run(store, delta=1e-6)  # spends nothing before another delta has come
    new_run(store, delta=DELTA).charge(cost)
    for relation, sha in ((ADD, SHA), (REPLACE, SHA), (ADD, f"{SHA}+{'1' * 64}")):
        with pytest.raises(BudgetError, match=r"the delta of 'people.csv' to 1e-09.*Use delta=1e-09, or 0"):
            new_run(store, relation, sha=sha, delta=1e-6)
        new_run(store, relation, sha=sha, delta=DELTA).charge(cost)
    with pytest.raises(BudgetError, match=r"the delta of 'people.csv' to 1e-09"):
        unasked.charge(cost)
    assert not unasked.entries
    new_run(store, sha="b" * 64, delta=1e-6).charge(cost)  # other data
    new_run(store).charge(entry(Fraction(1)))


def test_no_cap_is_evaded_by_another_privacy_measure(store):
    """In rho, all pure epsilon together is half its square; no pure epsilon bounds rho."""
    pure, rho = new_run(store), new_run(store, delta=DELTA)
    store.set_cap(SHA, "people.csv", ADD, 1.0, DELTA)
    most = rho_from_epsilon(1.0, DELTA)
    rho.charge(entry(most / 2, **RHO))
    pure.charge(entry(Fraction(1, 10)))  # 1/200 of rho
    with pytest.raises(BudgetError, match=r"a total of epsilon .* at delta 1e-09 for 'people.csv', .* capped at 1"):
        new_run(store).charge(entry(Fraction(1, 10)))  # 1/50 together
    with pytest.raises(BudgetError, match="capped at 1"):
        rho.charge(entry(most / 4, **RHO))
    rho.charge(entry(most / 8, **RHO))
    assert store.account(SHA, ADD, DELTA).epsilon_bound < 1
    store.set_cap(SHA, "people.csv", ADD, None, DELTA)
    store.set_cap(SHA, "people.csv", ADD, 100.0)
    for run, wanted in ((pure, {}), (rho, RHO)):
        with pytest.raises(BudgetError, match="no pure epsilon bounds"):
            run.charge(entry(Fraction(1, 1000), **wanted))


def test_a_row_has_four_times_the_rho_of_an_added_person(store):
    for relation, times in ((ADD, 4), (REPLACE, 1)):
        new_run(store, relation, sha=f"{SHA}+{'1' * 64}", delta=DELTA).charge(entry(Fraction(1, 512), **RHO))
        store.set_cap(SHA, "a", relation, epsilon_from_rho((times + 1) / 512, DELTA) * 1.0001, DELTA)
        new_run(store, relation, delta=DELTA).charge(entry(Fraction(1, 512), **RHO))
        with pytest.raises(BudgetError, match="is capped"):
            new_run(store, relation, delta=DELTA).charge(entry(Fraction(1, 5120), **RHO))
        store.set_cap(SHA, "a", relation, None, DELTA)


def test_a_fit_in_rho_is_stored_and_another_delta_draws_nothing(store):
    data = datasets.load("sample")
    method = NaiveBayesSynthesizer(epsilon=0.5, delta=DELTA)
    ledger = store.open_runs({"a": method}, data, "fit")["a"]()
    method.fit(data.train.head(50), schema=data.schema, ledger=ledger)
    account = store.account(store.key(data), ADD, DELTA)
    assert account.totals.bound == rho_from_epsilon(0.5, DELTA)
    assert 0.499999 < account.epsilon_bound <= 0.5
    for other in (Ledger(ADD), Ledger(ADD, delta=1e-6)):
        with pytest.raises(ParameterError, match="Give both the same delta"):
            method.fit(data.train.head(50), schema=data.schema, ledger=other)
        assert not other.entries


def test_another_process_charges_the_same_run_and_charges_at_once_wait_for_each_other(store):
    """Reading and adding totals is one transaction: no charge is lost, and none is refused."""
    run = store.start_run(SHA, "people.csv", REPLACE, "a sweep")
    for each in (pickle.loads(pickle.dumps(run)), run):
        each.ledger().child("a fit").charge(entry(Fraction(1, 4)))
    (line,) = store.runs(SHA, REPLACE)
    assert (line.totals.bound, line.looks) == (Fraction(1, 2), 2)
    new_run(store)

    def spend(_):
        run = new_run(LedgerStore(store.path))
        for _ in range(15):
            run.charge(entry(Fraction(1, 2)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(spend, range(4)))
    assert store.account(SHA, ADD).totals.bound == 30


@posix
def test_a_temporary_ledger_and_its_forks():
    store = LedgerStore()
    path = store.path
    new_run(store).charge(entry(Fraction(1)))
    child = os.fork()
    if child == 0:
        store.__init__()  # drops the parent's, as at a normal exit
        os._exit(0)
    os.waitpid(child, 0)
    assert not store.kept
    assert store.account(SHA, ADD).totals.bound == 1
    del store
    assert not path.exists()


def test_a_file_is_synced_at_every_charge_and_its_owner_s_alone(store):
    """A power failure would lose unsynced charges; a temporary ledger need not be synced."""
    for each, level in ((store, 2), (LedgerStore(), 0)):  # FULL, OFF
        with each.transaction() as sheet:
            assert sheet.c.execute("PRAGMA synchronous").fetchone() == (level,)
    for file in (store.path, store.path.with_name("dpcore.secret")):
        assert file.stat().st_mode & 0o077 == 0


@posix
def test_a_ledger_readable_by_others_becomes_private(store, monkeypatch):
    new_run(store, REPLACE)
    aside = store.set_aside()
    there = [path for path in store.path.parent.iterdir() if path.is_file()]
    assert {store.path, aside, store.path.with_name(NAME), witness_path(store.path)} <= {*there}
    other = store.path.with_name(f"{store.path.name} of somebody else.csv")  # no part of it
    other.touch()
    for path in (*there, other):
        path.chmod(0o644)
    LedgerStore(store.path)
    assert [path.name for path in there if path.stat().st_mode & 0o077] == []
    assert other.stat().st_mode & 0o777 == 0o644
    store.path.chmod(0o440)  # who may not write may not write afterwards, either
    LedgerStore(store.path)
    assert store.path.stat().st_mode & 0o777 == 0o400
    store.path.chmod(0o640)

    def refused(path, mode):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(type(store.path), "chmod", refused)
    with pytest.warns(UserWarning, match=r"Other users may be able to read .*ledger\.sqlite"):
        assert LedgerStore(store.path).accounts() == []


@posix
def test_a_file_that_cannot_be_written_raises_an_error(tmp_path, store, nursery):
    """As another user, because permissions do not bind root."""
    tmp_path.chmod(0o777)
    for parent in [*tmp_path.parents][:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    for what in ("file", "folder", "nowhere"):
        path = tmp_path / what / "ledger.sqlite"
        path.parent.mkdir()
        if what != "nowhere":
            new_run(LedgerStore(path))
            path.chmod(0o444)
        if what == "folder":
            for part in path.parent.iterdir():
                part.unlink()
        path.parent.chmod(0o555)
        log = tmp_path / f"{what}.log"
        nursery.bury(nursery.start(begin_as_nobody, path, log))
        text = log.read_text()
        assert "No noise was drawn" in text, what
        assert "may not be written to" in text or "cannot be opened" in text, what
    store.path.mkdir(parents=True)
    with pytest.raises(LedgerError, match="cannot be opened"):
        store.accounts()


def test_a_run_whose_file_was_set_aside_or_removed_draws_nothing(store):
    run = new_run(store)
    run.charge(entry(Fraction(1)))
    aside = LedgerStore(store.path).set_aside()  # in another tab
    new_run(LedgerStore(store.path), REPLACE, sha="b" * 64).charge(entry(Fraction(2)))
    with pytest.raises(LedgerError, match="no longer has this run"):
        run.charge(entry(Fraction(1)))
    assert [(line.key[0], line.totals.bound) for line in store.accounts()] == [("b", 2)]
    assert LedgerStore(aside).account(SHA, ADD).totals.bound == 1
    for part in store.path.parent.glob("ledger.sqlite*"):
        part.unlink()
    with pytest.raises(LedgerError, match="no longer has this run"):
        run.charge(entry(Fraction(1)))


@posix
def test_a_kill_while_a_ledger_is_set_aside_loses_nothing(in_memory, nursery):
    """At any moment the content is in one of the two files; this process has the old one open."""
    moments = random.Random(3)
    for turn in range(6):
        path = in_memory / str(turn) / "ledger.sqlite"
        store, totals = LedgerStore(path), []
        new_run(store).charge(entry(Fraction(3)))
        child = nursery.start(set_aside, path)
        time.sleep(moments.random() * 0.02)
        nursery.kill(child)
        for each in [store, *map(LedgerStore, path.parent.glob("*.aside-*[0-9]"))]:
            with suppress(LedgerError):  # of a copy that was not finished
                totals += [line.totals.bound for line in each.accounts()]
        assert 3 in totals


@posix
@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_lose_no_charge(in_memory, nursery, kills):
    """Four processes charge and are killed in turn; every confirmed charge is in the file.

    At most one charge per killed process may be unconfirmed: it was killed between the commit and
    the confirmation.
    """
    moments, path, logs = random.Random(7), in_memory / "ledger.sqlite", []
    end = time.monotonic() + 120

    def start():
        logs.append(in_memory / f"{len(logs)}.log")
        logs[-1].touch()
        nursery.start(charge_for_ever, path, logs[-1])

    def heard():
        assert nursery.process.poll() is None
        assert time.monotonic() < end
        return sum(log.stat().st_size for log in logs)

    for _ in range(4):
        start()
    for _ in range(kills):
        enough = heard() + moments.randrange(1, 6)
        while heard() < enough:
            time.sleep(0.0002)
        for _ in range(moments.randrange(3_000)):
            pass  # any moment within a transaction
        nursery.kill(moments.choice(nursery.alive))
        start()
    nursery.kill(*nursery.alive)
    account, runs = LedgerStore(path).account(SHA, REPLACE), LedgerStore(path).runs(SHA, REPLACE)
    charges, words = account.totals.claimed_loss / Fraction(1, 4), heard()
    assert charges.denominator == 1
    assert kills < words <= charges <= words + len(logs)
    assert account.totals.bound == 2 * account.totals.claimed_loss
    assert sum(run.totals.claimed_loss for run in runs) == account.totals.claimed_loss
    assert account.looks == sum(run.looks for run in runs)

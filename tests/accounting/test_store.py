"""The books: exact sums, caps, sessions that charge at once, and processes that are killed at any moment."""

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
from booked import ADD, REPLACE, SHA, begin_as_nobody, charge_for_ever, entry, new_run, set_aside
from tables import make_frame

from dpcore import NaiveBayesSynthesizer, datasets, export
from dpcore.accounting.currency import epsilon_of, rho_of
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.store import LedgerStore, persistent_ledger, usual_path
from dpcore.accounting.store.file import NAME, witness_of
from dpcore.arguments import no_progress
from dpcore.dashboard import session
from dpcore.dashboard.panels import redraw
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import BookError, BudgetError, ParameterError
from dpcore.methods import METHODS

posix = pytest.mark.skipif(os.name != "posix", reason="kills processes, forks and permits as on POSIX")


def close(found, true):
    """Never too little, and too much by no more than a rounding of the last place."""
    return 0 <= found - true < Fraction(1, 2**90)


def test_sums_are_kept_by_data_and_relation(books):
    thirds = new_run(books)
    for _ in range(3):
        thirds.child("a fit").charge(entry(Fraction(1, 3), Fraction(2, 3)))
    new_run(books).child("a fit").charge(entry(Fraction(1, 7)))
    new_run(books, REPLACE).child("a fit").charge(entry(Fraction(1)))
    new_run(books, sha="b" * 64).child("a fit").charge(entry(Fraction(5)))
    new_run(books, purpose="never asked")
    account = books.account(SHA, ADD)
    assert close(account.totals.claimed, Fraction(8, 7))
    assert close(account.totals.bound, Fraction(15, 7))
    assert account.looks == 4
    first, second = books.runs(SHA, ADD)
    assert (first.name, first.totals.bound, first.looks) == ("a run", 2, 3)  # what is whole in the end is exact
    assert close(second.totals.bound, Fraction(1, 7))
    assert books.account(SHA, REPLACE).totals.bound == 1
    assert [line.key[0] + line.relation for line in books.accounts()] == ["aadd_remove", "areplace", "badd_remove"]


def test_composition_odd_shares_and_infinity_reach_the_books(books):
    """Disjoint parts cost the dearest of them, in the file as in memory; what is infinite stays so."""
    run = new_run(books)
    fit = run.child("a fit")
    group = fit.parallel("halves", by="value")
    for cost in (1, 3, 2):
        group.part("half").charge(entry(Fraction(cost)))
    assert run.epsilon_bound == books.account(SHA, ADD).totals.bound == 3
    for bound in (math.inf, math.inf, Fraction(1)):
        fit.charge(entry(Fraction(1, 2), bound))
    (found,) = books.runs(SHA, ADD)
    assert (found.totals.claimed, found.totals.bound, found.epsilon_bound) == (Fraction(9, 2), math.inf, math.inf)
    run = new_run(books, REPLACE)  # which need no endless digits
    for prime in (101, 103, 107, 109, 113, 127):
        run.child("a fit").charge(entry(Fraction(1, prime**7)))
    with books.transaction() as sheet:
        ((written,),) = sheet.c.execute("SELECT bound FROM accounts WHERE relation='replace'").fetchall()
    assert len(written) < 80
    assert close(books.account(SHA, REPLACE).totals.bound, run.totals.bound)


@pytest.mark.parametrize("name", METHODS)
def test_every_answer_is_written_down_before_it_is_drawn(books, told, small_schema, name):
    kind, (happened, opened) = METHODS[name], told
    for mode in kind.modes:
        method = kind(mode=mode)
        run = new_run(books, method.check(small_schema))
        method.fit(make_frame(30, 1), schema=small_schema, ledger=run)
        assert happened[:2] == ["written", "drawn"], mode
        assert all(before == "written" for before, what in pairwise(happened) if what == "drawn"), mode
        happened.clear()
        opened.clear()


def test_nothing_is_charged_or_drawn_if_it_cannot_be_written(books, told, monkeypatch, small_frame, small_schema):
    def refused(*_, **__):
        raise BookError("no", "no")

    run = new_run(books)
    monkeypatch.setattr(LedgerStore, "add", refused)
    with pytest.raises(BookError):
        NaiveBayesSynthesizer().fit(small_frame, schema=small_schema, ledger=run)
    assert told[0] == run.entries == []
    assert run.epsilon_bound == 0


def test_what_was_proved_stays_so_beside_runs_of_which_nothing_can_be(books):
    """Before and after them, in their own total, which caps go on counting; a run that is lost takes all of itself."""
    for epsilon, void in ((1, ""), (5, "The schema was inferred."), (0.5, ""), (7, "A known seed.")):
        run = new_run(books)
        if void:
            run.void_because(void)
        run.child("a fit").charge(entry(Fraction(epsilon)))
        assert books.runs(SHA, ADD)[-1].void == void
    new_run(books).charge(entry(Fraction(3), math.inf))  # which a paper prints so
    found = books.account(SHA, ADD)
    assert (found.totals, found.looks, found.apart) == ((1.5, 1.5, 1.5), 2, 3)
    assert found.void == "The schema was inferred. A known seed."
    assert [run.epsilon_bound for run in books.runs(SHA, ADD)] == [1, math.inf, 0.5, math.inf, math.inf]
    books.set_cap(SHA, "a", ADD, 2.0)
    lost = new_run(books)
    lost.charge(entry(Fraction(1, 4)))
    with pytest.raises(BudgetError, match=r"a total of epsilon 2.25 for 'people.csv', whose budget is capped at 2"):
        new_run(books).charge(entry(Fraction(1, 2)))
    lost.void_because("The seed was told.")
    found = books.account(SHA, ADD)
    assert (found.totals.bound, found.looks, found.apart) == (1.5, 2, 4)
    for run in (lost, new_run(books)):
        with pytest.raises(BudgetError, match="capped at 2"):
            run.charge(entry(Fraction(0), math.inf))
    with pytest.raises(BudgetError, match=r"capped at 2.*nothing can be proved: The seed was told"):
        lost.charge(entry(Fraction(1, 100)))
    new_run(books).charge(entry(Fraction(1, 2)))
    assert books.account(SHA, ADD).totals.bound == 2


def test_a_redraw_is_written_down_before_it_is_drawn_unless_a_cap_refuses_it(books, told, monkeypatch):
    """Stopped in the middle of the third: it is charged, on the release's data, and not shown."""

    def progress(fraction, text):
        if text == "3 of 20: Done":
            raise InterruptedError

    monkeypatch.setattr(type(books), "key", lambda _, data: data.token)
    data = dataclasses.replace(datasets.load("sample"), name="people.csv", token=SHA)
    method = NaiveBayesSynthesizer(x_source="model", epsilon=1.0).fit(data.train.head(90), schema=data.schema)
    release = export.make_release(method, "NB-Synth", method.sample(50), data_name=data.name)
    on_a_page, spending = session.ShownRelease(release, data), session.Spending(books, {})
    told[0].clear()
    with pytest.raises(InterruptedError):
        redraw.run_redraws(on_a_page, spending, progress)
    (found,) = books.accounts()
    assert (found.key, found.looks, found.totals.bound) == (SHA, 3, 3)
    assert set(on_a_page.redraws["run"]) == set(range(3))
    books.set_cap(SHA, "people.csv", ADD, 4.0)
    with pytest.raises(BudgetError):
        redraw.run_redraws(on_a_page, spending, no_progress)
    assert told[0] == ["written", "drawn"] * 4
    assert books.account(SHA, ADD).looks == 4


def test_pages_charge_the_data_and_the_relation_that_were_asked_for(books):
    """Runs of their own, and those of comparisons in other processes."""
    spending = session.Spending(books, {})
    sets = {books.key(data): data for data in map(datasets.load, ("sample", "bank cards"))}
    keys = [(key, relation) for key in sets for relation in (ADD, REPLACE)]
    for key, relation in keys:
        spending.open_ledger(sets[key], relation, "a run").charge(entry(Fraction(1)))
        ledgers = spending.store.open_runs({"C1": NaiveBayesSynthesizer(relation=relation)}, sets[key], "a comparison")
        ledgers["C1"]().charge(entry(Fraction(2)))
        assert [run.totals.bound for run in books.runs(key, relation)] == [1, 2]
    assert [(line.key, line.relation, line.totals.bound) for line in books.accounts()] == [(*key, 3) for key in keys]


def test_a_ledger_for_python_is_written_down_too(monkeypatch, in_memory):
    """Another day, another program, another split of the same file: one account."""
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
    assert persistent_ledger(data, ADD).run.books.path != path
    monkeypatch.setenv("XDG_STATE_HOME", str(in_memory))
    assert usual_path() == in_memory / "dpcore" / "ledger.sqlite"


def test_rows_and_persons_of_one_file_have_accounts_of_their_own(books):
    sample = datasets.load("sample")
    frame = sample.train.head(60).assign(who=range(60), house=1)
    units = (PrivacyUnit(rows, id_column=name) for rows, name in ((3, None), (3, "who"), (5, "who"), (3, "house")))
    schemas = [dataclasses.replace(sample.schema, unit=unit) for unit in (None, *units)]
    sets = [datasets.Dataset("a", frame, frame.head(0), schema) for schema in schemas]
    keys = [books.key(data) for data in sets]
    assert [books.called(data) for data in sets[1:4]] == ["a", "a, persons of 'who'", "a, persons of 'who'"]
    rows, declared, three, five, houses = keys
    assert rows == declared  # what is charged is the same
    assert three == five  # the same persons
    assert len({rows, three, houses}) == 3
    assert {len(key) for key in keys} == {64, 129}
    assert {key[:64] for key in keys} == {rows}  # and know that they are of one file


def test_a_cap_refuses_across_sessions(books):
    other = LedgerStore(books.path)  # another tab
    books.set_cap(SHA, "people.csv", ADD, 1.0)
    first, second = new_run(books), new_run(other)
    first.child("a fit").charge(entry(Fraction(5, 8)))
    with pytest.raises(BudgetError, match=r"capped at 1\. It was not answered"):
        second.child("a fit").charge(entry(Fraction(1, 4), Fraction(1, 2)))  # whatever is claimed
    assert (second.epsilon_bound, second.entries) == (0, [])
    assert close(books.account(SHA, ADD).totals.bound, Fraction(5, 8))
    second.child("a fit").charge(entry(Fraction(3, 8)))  # exactly up to the cap
    assert books.account(SHA, ADD).totals.bound == 1
    new_run(books, REPLACE).child("a fit").charge(entry(Fraction(9)))  # another account
    assert [line.totals.bound for line in books.accounts()] == [1, 9]  # what another session spent is seen
    books.set_cap(SHA, "people.csv", REPLACE, 100.0)
    with pytest.raises(BudgetError, match="more than any epsilon"):  # what cannot be proved
        new_run(books, REPLACE).charge(entry(Fraction(1), math.inf))
    books.set_cap(SHA, "people.csv", ADD, None)
    first.child("a fit").charge(entry(Fraction(1), math.inf))


def test_what_a_cap_would_stop_is_known_before_the_first_query(books):
    """A run that is refused at its last queries would have been charged for its first ones."""
    data = datasets.load("sample")
    persons = dataclasses.replace(data, schema=dataclasses.replace(data.schema, unit=PrivacyUnit(2, id_column="who")))
    key = books.key(data)
    books.set_cap(key, data.name, ADD, 1.5)
    books.begin(key, data.name, ADD, "first").ledger().charge(entry(Fraction(1)))
    books.require_room(data, ADD, 0.5)
    books.require_room(data, REPLACE, 9.0)
    for wanted, epsilon, delta in ((data, 0.6, 0.0), (persons, 0.3, 0.0), (data, 0.1, 1e-6)):
        with pytest.raises(BudgetError, match="Nothing was drawn"):
            books.require_room(wanted, ADD, epsilon, delta)
    assert books.account(key, ADD).totals.bound == 1  # to ask charges nothing


def test_no_cap_is_evaded_by_whoever_switches_the_unit(books):
    """A row pays twice at most, or once, for what protects persons; a person has no price for rows or other persons."""
    who, house = f"{SHA}+{'1' * 64}", f"{SHA}+{'2' * 64}"
    for relation, times in ((ADD, 2), (REPLACE, 1)):
        books.set_cap(SHA, "a", relation, 3.0)
        new_run(books, relation, sha=who).charge(entry(Fraction(1)))
        with pytest.raises(BudgetError, match=f"a total of epsilon {times + 2.5} for '.*', whose budget is capped"):
            new_run(books, relation).charge(entry(Fraction(5, 2)))
        new_run(books, relation).charge(entry(Fraction(3 - times)))
        with pytest.raises(BudgetError, match="whose budget is capped at 3"):
            new_run(books, relation, sha=who).charge(entry(Fraction(1, 1000)))
        books.set_cap(SHA, "a", relation, None)
        books.set_cap(house, "a, persons of 'house'", relation, 100.0)
        for key in (SHA, who, house):
            with pytest.raises(BudgetError, match=r"runs on the same file protect rows.*is not known"):
                new_run(books, relation, sha=key).charge(entry(Fraction(1)))
        books.set_cap(house, "a, persons of 'house'", relation, None)
        new_run(books, relation, sha="b" * 64).charge(entry(Fraction(50)))  # another file
    assert [line.protects for line in books.accounts()] == ["row", "person", "row"] * 2


DELTA = 1e-9
RHO = {"unit": "rho"}


def test_rho_has_an_account_of_its_own_and_its_sums_are_exact(books):
    new_run(books).charge(entry(Fraction(1, 2)))
    run = new_run(books, delta=DELTA)
    for _ in range(3):
        run.child("a fit").charge(entry(Fraction(1, 512), **RHO))
    pure, rho = books.account(SHA, ADD), books.account(SHA, ADD, DELTA)
    assert (pure.totals.bound, pure.delta, pure.epsilon_bound) == (Fraction(1, 2), 0, 0.5)
    assert (rho.totals.bound, rho.delta, rho.looks) == (Fraction(3, 512), DELTA, 3)
    assert rho.epsilon_bound == epsilon_of(3 / 512, DELTA)
    assert [one.epsilon_bound for one in books.runs(SHA, ADD, DELTA)] == [rho.epsilon_bound]
    assert [one.totals.bound for one in books.runs(SHA, ADD)] == [Fraction(1, 2)]
    assert LedgerStore(books.path).accounts() == [pure, rho]


def test_the_delta_of_a_data_set_is_chosen_once(books):
    cost = entry(Fraction(1, 100), **RHO)
    unasked = new_run(books, delta=1e-6)  # spends nothing before another delta has come
    new_run(books, delta=DELTA).charge(cost)
    for relation, sha in ((ADD, SHA), (REPLACE, SHA), (ADD, f"{SHA}+{'1' * 64}")):
        with pytest.raises(BudgetError, match=r"The delta of 'people.csv' is 1e-09.*Use delta=1e-09, or 0"):
            new_run(books, relation, sha=sha, delta=1e-6)
        new_run(books, relation, sha=sha, delta=DELTA).charge(cost)
    with pytest.raises(BudgetError, match=r"The delta of 'people.csv' is 1e-09"):
        unasked.charge(cost)
    assert not unasked.entries
    new_run(books, sha="b" * 64, delta=1e-6).charge(cost)  # other data
    new_run(books).charge(entry(Fraction(1)))


def test_no_cap_is_evaded_by_whoever_switches_the_currency(books):
    """Of rho, all pure epsilon together costs half its square; no pure epsilon bounds rho."""
    pure, rho = new_run(books), new_run(books, delta=DELTA)
    books.set_cap(SHA, "people.csv", ADD, 1.0, DELTA)
    most = rho_of(1.0, DELTA)
    rho.charge(entry(most / 2, **RHO))
    pure.charge(entry(Fraction(1, 10)))  # 1/200 of rho
    with pytest.raises(BudgetError, match=r"a total of epsilon .* at delta 1e-09 for 'people.csv', .* capped at 1"):
        new_run(books).charge(entry(Fraction(1, 10)))  # 1/50 together
    with pytest.raises(BudgetError, match="capped at 1"):
        rho.charge(entry(most / 4, **RHO))
    rho.charge(entry(most / 8, **RHO))
    assert books.account(SHA, ADD, DELTA).epsilon_bound < 1
    books.set_cap(SHA, "people.csv", ADD, None, DELTA)
    books.set_cap(SHA, "people.csv", ADD, 100.0)
    for run, wanted in ((pure, {}), (rho, RHO)):
        with pytest.raises(BudgetError, match="no pure epsilon bounds"):
            run.charge(entry(Fraction(1, 1000), **wanted))


def test_a_row_pays_four_times_the_rho_of_a_person_who_comes(books):
    for relation, times in ((ADD, 4), (REPLACE, 1)):
        new_run(books, relation, sha=f"{SHA}+{'1' * 64}", delta=DELTA).charge(entry(Fraction(1, 512), **RHO))
        books.set_cap(SHA, "a", relation, epsilon_of((times + 1) / 512, DELTA) * 1.0001, DELTA)
        new_run(books, relation, delta=DELTA).charge(entry(Fraction(1, 512), **RHO))
        with pytest.raises(BudgetError, match="is capped"):
            new_run(books, relation, delta=DELTA).charge(entry(Fraction(1, 5120), **RHO))
        books.set_cap(SHA, "a", relation, None, DELTA)


def test_a_fit_in_rho_is_written_down_and_another_delta_draws_nothing(books):
    data = datasets.load("sample")
    method = NaiveBayesSynthesizer(epsilon=0.5, delta=DELTA)
    ledger = books.open_runs({"a": method}, data, "fit")["a"]()
    method.fit(data.train.head(50), schema=data.schema, ledger=ledger)
    account = books.account(books.key(data), ADD, DELTA)
    assert account.totals.bound == rho_of(0.5, DELTA)
    assert 0.499999 < account.epsilon_bound <= 0.5
    for other in (Ledger(ADD), Ledger(ADD, delta=1e-6)):
        with pytest.raises(ParameterError, match="Give both the same delta"):
            method.fit(data.train.head(50), schema=data.schema, ledger=other)
        assert not other.entries


def test_another_process_charges_the_same_run_and_charges_at_once_wait_for_each_other(books):
    """Whoever reads totals to add to them keeps others from doing so: nothing is lost, and nobody is refused."""
    run = books.begin(SHA, "people.csv", REPLACE, "a sweep")
    for each in (pickle.loads(pickle.dumps(run)), run):
        each.ledger().child("a fit").charge(entry(Fraction(1, 4)))
    (line,) = books.runs(SHA, REPLACE)
    assert (line.totals.bound, line.looks) == (Fraction(1, 2), 2)
    new_run(books)

    def spend(_):
        run = new_run(LedgerStore(books.path))
        for _ in range(15):
            run.charge(entry(Fraction(1, 2)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(spend, range(4)))
    assert books.account(SHA, ADD).totals.bound == 30


@posix
def test_a_session_that_keeps_nothing_and_its_forks():
    books = LedgerStore()
    path = books.path
    new_run(books).charge(entry(Fraction(1)))
    child = os.fork()
    if child == 0:
        books.__init__()  # drops the parent's, as at a normal exit
        os._exit(0)
    os.waitpid(child, 0)
    assert not books.kept
    assert books.account(SHA, ADD).totals.bound == 1
    del books
    assert not path.exists()


def test_a_file_is_synced_at_every_charge_and_its_owner_s_alone(books):
    """A kill loses nothing without that; a computer that loses its power would. A session's own need not be."""
    for each, level in ((books, 2), (LedgerStore(), 0)):  # FULL, OFF
        with each.transaction() as sheet:
            assert sheet.c.execute("PRAGMA synchronous").fetchone() == (level,)
    for file in (books.path, books.path.with_name("dpcore.secret")):
        assert file.stat().st_mode & 0o077 == 0


@posix
def test_a_ledger_that_others_could_read_is_their_owners_again(books, monkeypatch):
    new_run(books, REPLACE)
    aside = books.set_aside()
    there = [path for path in books.path.parent.iterdir() if path.is_file()]
    assert {books.path, aside, books.path.with_name(NAME), witness_of(books.path)} <= {*there}
    other = books.path.with_name(f"{books.path.name} of somebody else.csv")  # no part of it
    other.touch()
    for path in (*there, other):
        path.chmod(0o644)
    LedgerStore(books.path)
    assert [path.name for path in there if path.stat().st_mode & 0o077] == []
    assert other.stat().st_mode & 0o777 == 0o644
    books.path.chmod(0o440)  # who may not write may not write afterwards, either
    LedgerStore(books.path)
    assert books.path.stat().st_mode & 0o777 == 0o400
    books.path.chmod(0o640)

    def refused(path, mode):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(type(books.path), "chmod", refused)
    with pytest.warns(UserWarning, match=r"Others may read .*ledger\.sqlite, and cannot be kept from it"):
        assert LedgerStore(books.path).accounts() == []


@posix
def test_a_file_that_cannot_be_written(tmp_path, books, nursery):
    """By another user, because permissions do not bind root."""
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
        assert "Nothing was drawn" in text, what
        assert "may not be written to" in text or "cannot be opened" in text, what
    books.path.mkdir(parents=True)
    with pytest.raises(BookError, match="cannot be opened"):
        books.accounts()


def test_a_run_whose_file_was_set_aside_or_removed_draws_nothing(books):
    run = new_run(books)
    run.charge(entry(Fraction(1)))
    aside = LedgerStore(books.path).set_aside()  # in another tab
    new_run(LedgerStore(books.path), REPLACE, sha="b" * 64).charge(entry(Fraction(2)))
    with pytest.raises(BookError, match="no longer has this run"):
        run.charge(entry(Fraction(1)))
    assert [(line.key[0], line.totals.bound) for line in books.accounts()] == [("b", 2)]
    assert LedgerStore(aside).account(SHA, ADD).totals.bound == 1
    for part in books.path.parent.glob("ledger.sqlite*"):
        part.unlink()
    with pytest.raises(BookError, match="no longer has this run"):
        run.charge(entry(Fraction(1)))


@posix
def test_a_kill_while_a_ledger_is_set_aside_loses_nothing(in_memory, nursery):
    """Whatever the moment, the content is in one of the files; the old one is open in this process all the time."""
    moments = random.Random(3)
    for turn in range(6):
        path = in_memory / str(turn) / "ledger.sqlite"
        books, totals = LedgerStore(path), []
        new_run(books).charge(entry(Fraction(3)))
        child = nursery.start(set_aside, path)
        time.sleep(moments.random() * 0.02)
        nursery.kill(child)
        for each in [books, *map(LedgerStore, path.parent.glob("*.aside-*[0-9]"))]:
            with suppress(BookError):  # of a copy that was not finished
                totals += [line.totals.bound for line in each.accounts()]
        assert 3 in totals


@posix
@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_lose_no_charge(in_memory, nursery, kills):
    """Four processes charge; one after another is killed. Every charge that anybody heard of is there.

    A charge may be there that nobody heard of, one per killed process at most: its process was killed between the
    commit and the word.
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
    charges, words = account.totals.claimed / Fraction(1, 4), heard()
    assert charges.denominator == 1
    assert kills < words <= charges <= words + len(logs)
    assert account.totals.bound == 2 * account.totals.claimed
    assert sum(run.totals.claimed for run in runs) == account.totals.claimed
    assert account.looks == sum(run.looks for run in runs)

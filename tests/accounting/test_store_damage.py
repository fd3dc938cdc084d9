"""Tests of damaged, cut or older ledgers: less than was charged always raises an error."""

import os
import pickle
import random
import shutil
import sqlite3
import time
import zipfile
from contextlib import closing
from datetime import datetime
from fractions import Fraction
from io import BytesIO
from types import SimpleNamespace

import pytest
from ledger_helpers import ADD, REPLACE, SHA, charge_for_ever, entry, new_run

from dpcore.accounting.store import LedgerStore, file
from dpcore.accounting.store.file import NAME, IncompleteError
from dpcore.errors import LedgerError

SECOND = "b" * 64
ONE = entry(Fraction(1))
LEDGER, PAGE = "ledger.sqlite", 4096


@pytest.fixture
def store(store):
    """Return a ledger file with a loss of 1."""
    new_run(store, REPLACE).charge(ONE)
    return store


def spent(store):
    return store.account(SHA, REPLACE).totals.bound


def changed(path, *statements):
    with closing(sqlite3.connect(path)) as c, c:
        for statement in statements:
            c.execute(statement)


def test_ledgers_set_aside_at_the_same_moment_are_all_kept(store, monkeypatch):
    """A second file must not replace the first one, whose charges would be lost."""
    monkeypatch.setattr(file, "datetime", SimpleNamespace(now=lambda zone: datetime(2026, 1, 1, tzinfo=zone)))
    first = store.set_aside()
    new_run(store, REPLACE).charge(entry(Fraction(2)))
    second = store.set_aside()
    changed(store.path, "UPDATE head SET total='x'")  # a damaged one is renamed, and replaced a copy of that name
    third = store.set_aside()
    assert len({first, second, third}) == 3
    assert (spent(LedgerStore(first)), spent(LedgerStore(second))) == (1, 2)
    assert third.exists()


def test_a_link_leads_to_its_ledger_and_a_broken_link_is_an_error(store, tmp_path):
    """Witness and secret are beside the file itself, also for those who open it by a link."""
    link, loop = tmp_path / "link.sqlite", tmp_path / "loop"
    link.symlink_to(store.path)
    linked = LedgerStore(link)
    new_run(pickle.loads(pickle.dumps(linked)), REPLACE).charge(ONE)
    assert spent(store) == spent(linked) == 2
    assert linked.secret() == store.secret()
    assert [*tmp_path.iterdir()] == [link]
    changed(store.path, "UPDATE head SET total='x'")
    assert linked.set_aside().parent == store.path.parent
    assert [*linked.accounts(), *LedgerStore(link).accounts()] == []  # a new one there, and no link to nowhere
    loop.symlink_to("loop")
    for target in (tmp_path / "nowhere" / LEDGER, loop):
        link.unlink()
        link.symlink_to(target)
        with pytest.raises(LedgerError, match=r"is a link to .*, where there is no file\. .*remove the link"):
            LedgerStore(link).accounts()
    assert not (tmp_path / "nowhere").exists()


def charged(folder, moments):
    """Make a ledger with accounts, runs and charges; return the losses of each account."""
    store, spent = LedgerStore(folder / LEDGER), {}
    store.set_cap(SECOND, "others.csv", REPLACE, 1_000.0)
    for key, relation in ((SHA, ADD), (SHA, REPLACE), (SECOND, REPLACE)):
        costs = [Fraction(moments.randrange(1, 99), 7) for _ in range(moments.randrange(2, 12))]
        for number, cost in enumerate(costs):
            ledger = new_run(store, relation, f"run {number} " + "of many" * 20, key)
            ledger.child("a fit").charge(entry(cost), entry(cost))
        spent[key, relation] = 2 * sum(costs)
    return spent


def harmed(folder, moments):
    """Damage one file of a ledger as disks, programs and people do; describe the damage."""
    endings = [LEDGER] * 5 + [f"{LEDGER}-journal"] * 3 + [f"{LEDGER}.witness", NAME]
    path = folder / moments.choice([name for name in endings if (folder / name).exists()])
    raw = bytearray(path.read_bytes())
    how = moments.choice(["fill", "fill", "fill", "zero", "cut", "swap", "remove"])
    at = moments.randrange(len(raw) or 1) % (200 if moments.random() < 0.3 else 10**9)  # headers, often
    end = min(at + moments.choice([1, 1, 8, 100, PAGE]), len(raw))
    if how in ("fill", "zero"):
        raw[at:end] = os.urandom(end - at) if how == "fill" else bytes(end - at)
    elif how == "cut":
        del raw[at:]
    elif how == "swap" and len(raw) >= 2 * PAGE:
        one, two = (PAGE * moments.randrange(len(raw) // PAGE) for _ in range(2))
        raw[one : one + PAGE], raw[two : two + PAGE] = raw[two : two + PAGE], raw[one : one + PAGE]
    path.unlink() if how == "remove" else path.write_bytes(raw)
    return f"{how} of {path.name} at {at}"


def judged(folder, spent, *, by_charge):
    """Return whether damage was detected; AssertionError if not, and charges are missing."""
    store, seen = LedgerStore(folder / LEDGER), None
    try:
        store.secret()
        if by_charge:
            new_run(store, REPLACE).charge(ONE)
        for (key, relation), cost in spent.items():
            totals = store.account(key, relation).totals
            assert min(totals.claimed_loss, totals.bound) >= cost
            assert sum(run.totals.bound for run in store.runs(key, relation)) >= cost
    except LedgerError as error:
        seen = error
    assert seen is None or (seen.cause and seen.remedy)
    return seen is not None


def tried(folder, spent, number, seed):
    """Damage copies of a folder a number of times; return how often it was detected."""
    moments, seen = random.Random(seed), 0
    for turn in range(number):
        copy = folder.with_name(f"{folder.name}-{turn}")
        shutil.copytree(folder, copy)
        harm = harmed(copy, moments)
        try:
            seen += judged(copy, spent, by_charge=turn % 2 == 0)
        except (AssertionError, AttributeError) as error:  # less, or no account
            raise AssertionError(f"not seen: {harm}, turn {turn} of seed {seed}") from error
        shutil.rmtree(copy)
    return seen


@pytest.mark.parametrize("folders", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_damage_of_a_closed_file_is_detected(in_memory, folders):
    seen = 0
    for seed in range(folders):
        kept = in_memory / str(seed)
        kept.mkdir()
        seen += tried(kept, charged(kept, random.Random(seed)), 50, seed)
    assert seen > 18 * folders


@pytest.mark.skipif(os.name != "posix", reason="kills processes as on POSIX")
@pytest.mark.parametrize(("kills", "least", "hottest"), [(2, 0, 0), pytest.param(50, 150, 6, marks=pytest.mark.slow)])
def test_damage_after_a_kill_is_detected(nursery, in_memory, tmp_path, kills, least, hottest):
    """Processes that charge on the disk are killed, and the files they left are damaged.

    The test ends when enough kills have left a journal to roll back, which depends on the disk.
    """
    moments, seen, hot, turn = random.Random(100), 0, 0, 0
    while turn < kills or hot < hottest:
        turn += 1
        assert turn <= 10 * kills, f"{hot} of {turn} kills left a journal to roll back"
        kept, index = in_memory / f"killed-{turn}", tmp_path / f"killed-{turn}"
        kept.mkdir()
        costs = charged(kept, moments)
        shutil.move(kept, index)
        child, log = nursery.start(charge_for_ever, index / "ledger.sqlite", index / "log"), index / "log"
        while not (log.exists() and log.stat().st_size):
            time.sleep(0.001)
        time.sleep(moments.random() * 0.02)
        nursery.kill(child)
        costs[SHA, REPLACE] += log.stat().st_size * Fraction(1, 4)
        shutil.move(index, kept)
        journal = kept / "ledger.sqlite-journal"
        hot += journal.exists() and any(journal.read_bytes()[:8])
        seen += tried(kept, costs, 10, 100 + turn)
        assert not judged(kept, costs, by_charge=True)  # without harm, all is there
    assert seen >= least


def theirs():
    """Return another program's database."""
    with closing(sqlite3.connect(":memory:")) as c:
        c.execute("CREATE TABLE theirs (a)")
        return c.serialize()


HARMS = (  # a file, what is in it afterwards (None: it is gone), and what is said
    (LEDGER, b"not a database, for sure" * 400, "is damaged, or is no ledger"),
    (LEDGER, b"\0" * 100, "is damaged, or is no ledger"),
    (LEDGER, b"SQLite format 3\0" + b"x" * 4000, "is damaged, or is no ledger"),
    (LEDGER, theirs(), "is damaged, or is no ledger"),
    (LEDGER, None, "is gone, with 2 recorded changes"),
    (LEDGER, b"", "is empty, after 2 recorded changes"),
    (NAME, None, f"without {NAME} beside it"),
    (NAME, b"x" * 32, f"{NAME} beside it do not match"),
    (NAME, b"xxx", f"{NAME} has another length"),
)


@pytest.mark.parametrize(("name", "content", "problem"), HARMS)
def test_a_damaged_or_missing_ledger_is_no_new_one(store, name, content, problem):
    """The error names the damage; the file stays, and can be set aside."""
    path = store.path.with_name(name)
    path.unlink() if content is None else path.write_bytes(content)
    for ask in (LedgerStore.secret,) if name == NAME else (LedgerStore.secret, LedgerStore.accounts, new_run):
        with pytest.raises(LedgerError, match=rf"{problem}.*\. No noise was drawn") as caught:
            ask(store)
        assert isinstance(caught.value, IncompleteError) == ("changes" in problem)
    assert content == (path.read_bytes() if path.exists() else None)
    if content == b"xxx":
        path.unlink()  # which no program made
    aside = store.set_aside()
    if name == NAME:
        assert spent(LedgerStore(aside)) == 1
    else:
        assert content == (aside.read_bytes() if content is not None else None)
    assert store.secret()
    assert store.accounts() == []
    new_run(store, REPLACE).charge(ONE)
    assert spent(store) == 1


def test_damage_of_an_open_file_is_detected(store):
    run = new_run(store)
    run.charge(ONE)
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:PAGE] + os.urandom(len(whole) - PAGE))
    with pytest.raises(LedgerError, match="is damaged"):
        run.charge(ONE)
    assert run.epsilon_bound == 1


@pytest.mark.parametrize(
    "change",
    [
        "accounts SET bound='-1'",
        f"accounts SET bound='{'9' * 5000}'",
        "accounts SET looks='several'",
        "accounts SET relation='none'",
        "runs SET begun='yesterday'",
    ],
)
def test_invalid_numbers_and_times_are_refused(store, change):
    changed(store.path, f"UPDATE {change}")
    with pytest.raises(LedgerError, match="is damaged"):
        store.accounts()
    if "bound" in change or "looks" in change:  # else that account is another one, or its line is not read
        with pytest.raises(LedgerError, match="is damaged"):
            new_run(store, REPLACE).charge(ONE)


def test_changed_and_lost_lines_are_detected_by_checksums(store):
    run = new_run(store, REPLACE)
    run.charge(entry(Fraction(2)))
    changed(store.path, "UPDATE accounts SET bound='2'")
    with pytest.raises(LedgerError, match="is damaged"):
        run.charge(ONE)  # which reads its own lines alone
    changed(store.path, "UPDATE accounts SET bound='3'")
    assert spent(store) == 3
    changed(store.path, "DELETE FROM runs WHERE id=1")
    with pytest.raises(LedgerError, match="is damaged"):
        store.accounts()


def test_an_older_copy_of_a_ledger_is_detected(store):
    ledger, older = new_run(store, REPLACE), store.path.read_bytes()
    for _ in range(2):
        ledger.charge(ONE)
    newer = store.path.read_bytes()
    store.path.write_bytes(older)
    with pytest.raises(IncompleteError, match="lacks the last 2 of 5 recorded changes"):
        store.accounts()
    with pytest.raises(IncompleteError, match="No noise was drawn"):
        ledger.charge(ONE)
    store.accept_content()  # somebody has decided that this is all there is
    assert spent(store) == 1
    ledger.charge(ONE)
    assert spent(store) == 2
    assert newer != older


def test_a_copy_of_the_file_has_all_charges_and_the_zip_is_complete(store, tmp_path):
    """While the ledger is open: no log beside the file has further charges."""
    alone = LedgerStore(tmp_path / "alone" / "ledger.sqlite")
    alone.path.parent.mkdir()
    shutil.copy(store.path, alone.path)
    with pytest.raises(IncompleteError, match="has no witness"):
        alone.accounts()
    alone.accept_content()
    with zipfile.ZipFile(BytesIO(store.copy())) as archive:
        assert sorted(archive.namelist()) == [NAME, "ledger.sqlite", "ledger.sqlite.witness"]
        archive.extractall(tmp_path / "whole")
    whole = LedgerStore(tmp_path / "whole" / "ledger.sqlite")
    assert spent(alone) == spent(whole) == 1
    assert whole.secret() == store.secret()


EARLIER = """
CREATE TABLE accounts (sha256 TEXT NOT NULL, bound TEXT NOT NULL);
PRAGMA application_id=1685089073;
PRAGMA user_version=1;
INSERT INTO accounts VALUES ('of a file', '6');
"""


def earlier(path):
    """Write a ledger in format version 1, with its log left behind."""
    log = path.with_name(f"{LEDGER}-wal")
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as c:
        c.execute("PRAGMA journal_mode=WAL")
        c.executescript(EARLIER)
        left = {part: part.read_bytes() for part in (path, log)}
    for part, content in left.items():
        part.write_bytes(content)
    assert left[log]


def test_a_ledger_of_the_first_version_is_refused_and_left_as_it_is(in_memory):
    """With and without the log of a killed writer, which has charges."""
    for log in (True, False):
        path = in_memory / str(log) / LEDGER
        earlier(path)
        if not log:
            changed(path, "SELECT 1 FROM accounts")  # which folds the log in
        kept = {part: path.with_name(LEDGER + part).read_bytes() for part in ("", "-wal")[: 1 + log]}
        for call in (LedgerStore.accounts, LedgerStore.secret, LedgerStore.accept_content, LedgerStore.copy, new_run):
            with pytest.raises(LedgerError, match=r"before the first release\. No noise was drawn\. .* version 0\.2 "):
                call(LedgerStore(path))
            assert {part: path.with_name(LEDGER + part).read_bytes() for part in kept} == kept
        aside = LedgerStore(path).set_aside()
        assert {part: aside.with_name(aside.name + part).read_bytes() for part in kept} == kept
        assert LedgerStore(path).accounts() == []

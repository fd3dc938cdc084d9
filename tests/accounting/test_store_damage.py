"""Ledgers that were damaged, cut or put back from an older copy: never less than was charged without a word."""

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

import pytest
from booked import ADD, REPLACE, SHA, charge_for_ever, entry, new_run

from dpcore.accounting.store import Books, file
from dpcore.accounting.store.file import NAME, IncompleteError
from dpcore.errors import BookError

SECOND = "b" * 64
COST = entry(Fraction(1))
PAGE = 4096


@pytest.fixture
def books(in_memory):
    """A ledger in which 1 was spent."""
    made = Books(in_memory / "ledger.sqlite")
    new_run(made, REPLACE).charge(entry(Fraction(1)))
    return made


def test_ledgers_set_aside_at_one_moment_are_all_kept(books, monkeypatch):
    """The second took the place of the first: what was charged there was in no file any more."""

    class Stopped(datetime):
        @classmethod
        def now(cls, zone=None):
            return cls(2026, 1, 1, tzinfo=zone)

    monkeypatch.setattr(file, "datetime", Stopped)
    first = books.set_aside()
    new_run(books, REPLACE).charge(entry(Fraction(2)))
    second = books.set_aside()
    changed(books.path, "UPDATE head SET total='x'")  # a damaged one is renamed, and replaced a copy of that name
    third = books.set_aside()
    assert len({first, second, third}) == 3
    assert (spent(Books(first)), spent(Books(second))) == (1, 2)
    assert third.exists()


def test_a_link_to_a_ledger_is_that_ledger_and_one_to_nowhere_is_said_to_be(books, tmp_path):
    """Its witness and secret lie beside the file: whoever opened it by a link was told that none was there."""
    (tmp_path / "other").mkdir()
    link = tmp_path / "other" / "link.sqlite"
    link.symlink_to(books.path)
    linked = Books(link)
    assert spent(linked) == 1
    new_run(pickle.loads(pickle.dumps(linked)), REPLACE).charge(entry(Fraction(1)))
    assert spent(books) == spent(linked) == 2
    assert linked.secret() == books.secret()
    assert [path.name for path in link.parent.iterdir()] == [link.name]
    changed(books.path, "UPDATE head SET total='x'")
    assert linked.set_aside().parent == books.path.parent
    assert [*linked.accounts(), *Books(link).accounts()] == []  # a new one there, and no link to nowhere
    for target in (tmp_path / "nowhere" / "ledger.sqlite", link.with_name("loop")):
        link.unlink()
        link.symlink_to(target)
        link.with_name("loop").unlink(missing_ok=True)
        link.with_name("loop").symlink_to("loop")
        with pytest.raises(BookError, match=r"is a link to .*, where there is no file\. .*remove the link"):
            Books(link).accounts()
    assert not (tmp_path / "nowhere").exists()


def spent(books):
    return books.account(SHA, REPLACE).totals.bound


def changed(path, *statements):
    with closing(sqlite3.connect(path)) as c, c:
        for statement in statements:
            c.execute(statement)


# Any harm


def charged(folder, moments):
    """A ledger with accounts, runs and charges; what was charged to each account."""
    books = Books(folder / "ledger.sqlite")
    books.set_cap(SECOND, "others.csv", REPLACE, 1_000.0)
    spent = {}
    for key, relation in ((SHA, ADD), (SHA, REPLACE), (SECOND, REPLACE)):
        for number in range(moments.randrange(2, 12)):
            ledger = new_run(books, relation, f"run {number} " + "of many" * 20, key)
            for _ in range(moments.randrange(1, 4)):
                cost = Fraction(moments.randrange(1, 99), 7)
                ledger.child("a fit").charge(entry(cost))
                spent[key, relation] = spent.get((key, relation), 0) + cost
    return spent


def harmed(folder, moments):
    """Harm one file of a ledger, in a way that disks, programs and people do; what was done."""
    endings = ["ledger.sqlite"] * 5 + ["ledger.sqlite-journal"] * 3 + ["ledger.sqlite.witness", NAME]
    path = folder / moments.choice([name for name in endings if (folder / name).exists()])
    raw = bytearray(path.read_bytes())
    size = len(raw)
    how = moments.choice(["flip", "flip", "flip", "cut", "zero", "swap", "remove", "empty", "fill"])
    at = moments.randrange(size) if size else 0
    if moments.random() < 0.3:
        at %= 200  # headers
    if how == "flip":
        for _ in range(moments.choice([1, 1, 2, 8, 40])):
            raw[(at + moments.randrange(64)) % max(size, 1) : (at % max(size, 1)) + 1] = os.urandom(1) if size else b""
    elif how == "cut":
        del raw[at:]
    elif how in ("zero", "fill"):
        end = min(at + moments.choice([1, 8, 100, PAGE]), size)
        raw[at:end] = bytes(end - at) if how == "zero" else os.urandom(end - at)
    elif how == "swap" and size >= 2 * PAGE:
        one, two = (PAGE * moments.randrange(size // PAGE) for _ in range(2))
        raw[one : one + PAGE], raw[two : two + PAGE] = raw[two : two + PAGE], raw[one : one + PAGE]
    elif how == "empty":
        raw.clear()
    if how == "remove":
        path.unlink()
    else:
        path.write_bytes(raw)
    return f"{how} of {path.name} at {at}"


def judged(folder, spent, *, by_charge):
    """Whether the harm was seen; AssertionError if it is not, and less is on the books than was charged."""
    books = Books(folder / "ledger.sqlite")
    seen = None
    try:
        books.secret()
        if by_charge:
            new_run(books, REPLACE).charge(entry(Fraction(1)))
        for (key, relation), cost in spent.items():
            account = books.account(key, relation)
            assert account is not None
            assert account.totals.claimed >= cost
            assert account.totals.bound >= cost
            assert sum(run.totals.bound for run in books.runs(key, relation)) >= cost
    except BookError as error:
        seen = error
    assert seen is None or (seen.cause and seen.remedy)
    return seen is not None


def tried(folder, spent, number, seed):
    """Harm copies of a folder, so many times; how often that was seen."""
    moments, seen = random.Random(seed), 0
    for turn in range(number):
        copy = folder.with_name(f"{folder.name}-{turn}")
        shutil.copytree(folder, copy)
        harm = harmed(copy, moments)
        try:
            seen += judged(copy, spent, by_charge=turn % 2 == 0)
        except AssertionError as error:
            raise AssertionError(f"not seen: {harm}, turn {turn} of seed {seed}") from error
        shutil.rmtree(copy)
    return seen


@pytest.mark.parametrize("folders", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_damage_at_rest_is_seen(in_memory, folders):
    seen = 0
    for seed in range(folders):
        kept = in_memory / str(seed)
        kept.mkdir()
        seen += tried(kept, charged(kept, random.Random(seed)), 50, seed)
    assert seen > 18 * folders


@pytest.mark.skipif(os.name != "posix", reason="kills processes as on POSIX")
@pytest.mark.parametrize(("kills", "least", "hottest"), [(2, 0, 0), pytest.param(50, 150, 6, marks=pytest.mark.slow)])
def test_damage_after_a_kill_is_seen(nursery, in_memory, tmp_path, kills, least, hottest):
    """Processes that charge on the disk are killed, and what each left is harmed.

    It goes on until so many kills have left a journal to roll back, which hangs on how fast the disk is.
    """
    moments, seen, hot, turn = random.Random(100), 0, 0, 0
    while turn < kills or hot < hottest:
        turn += 1
        assert turn <= 10 * kills, f"{hot} of {turn} kills left a journal to roll back"
        kept, place = in_memory / f"killed-{turn}", tmp_path / f"killed-{turn}"
        kept.mkdir()
        costs = charged(kept, moments)
        shutil.move(kept, place)
        child, log = nursery.start(charge_for_ever, place / "ledger.sqlite", place / "log"), place / "log"
        while not (log.exists() and log.stat().st_size):
            time.sleep(0.001)
        time.sleep(moments.random() * 0.02)
        nursery.kill(child)
        costs[SHA, REPLACE] += log.stat().st_size * Fraction(1, 4)
        shutil.move(place, kept)
        journal = kept / "ledger.sqlite-journal"
        hot += journal.exists() and any(journal.read_bytes()[:8])
        seen += tried(kept, costs, 10, 100 + turn)
        assert not judged(kept, costs, by_charge=True)  # without harm, all is there
    assert seen >= least


# Harm of every known kind


def test_a_damaged_file_says_so_and_can_be_set_aside(in_memory):
    contents = b"not a database, for sure" * 400, b"\0" * 100, b"SQLite format 3\0" + b"x" * 4000
    for number, content in enumerate(contents):
        books = Books(in_memory / str(number) / "ledger.sqlite")
        books.path.parent.mkdir()
        books.path.write_bytes(content)
        with pytest.raises(BookError, match=r"is damaged, or is no ledger\. Nothing was drawn"):
            new_run(books)
        assert books.path.read_bytes() == content  # nothing is lost
        assert books.set_aside().read_bytes() == content
        new_run(books, REPLACE).charge(entry(Fraction(1)))
        assert spent(books) == 1
    books = Books(in_memory / "theirs" / "ledger.sqlite")
    books.path.parent.mkdir()
    changed(books.path, "CREATE TABLE theirs (a)")  # another program's database is left alone
    with pytest.raises(BookError, match="no ledger"):
        new_run(books)


def test_a_file_that_is_damaged_while_it_is_open(books):
    run = new_run(books)
    run.charge(entry(Fraction(1)))
    whole = books.path.read_bytes()
    books.path.write_bytes(whole[:PAGE] + os.urandom(len(whole) - PAGE))
    with pytest.raises(BookError, match="is damaged"):
        run.charge(entry(Fraction(1)))
    assert run.epsilon_bound == 1


def test_numbers_and_times_that_nobody_wrote(books):
    whole = books.path.read_bytes()
    for change in (
        "UPDATE accounts SET bound='-1'",
        "UPDATE accounts SET bound='much'",
        f"UPDATE accounts SET bound='{'9' * 5000}'",
        "UPDATE accounts SET bound=x'00'",
        "UPDATE accounts SET looks='several'",
        "UPDATE accounts SET relation='none'",
        "UPDATE runs SET begun='yesterday'",
    ):
        changed(books.path, change)
        with pytest.raises(BookError, match="is damaged"):
            books.accounts()
        if "bound" in change or "looks" in change:  # else that account is another one, or its line is not read
            with pytest.raises(BookError, match="is damaged"):
                new_run(books, REPLACE).charge(entry(Fraction(1)))
        books.path.write_bytes(whole)
    assert spent(books) == 1


def test_a_changed_line_and_a_lost_one_are_seen_by_the_sums(books):
    run = new_run(books, REPLACE)
    run.charge(entry(Fraction(2)))
    changed(books.path, "UPDATE accounts SET bound='2'")
    with pytest.raises(BookError, match="is damaged"):
        run.charge(entry(Fraction(1)))  # which reads its own lines alone
    changed(books.path, "UPDATE accounts SET bound='3'")
    assert spent(books) == 3
    changed(books.path, "DELETE FROM runs WHERE id=1")
    with pytest.raises(BookError, match="is damaged"):
        books.accounts()


def test_a_ledger_put_back_from_an_older_copy_is_seen(books):
    ledger, older = new_run(books, REPLACE), books.path.read_bytes()
    for _ in range(2):
        ledger.charge(entry(Fraction(1)))
    newer = books.path.read_bytes()
    books.path.write_bytes(older)
    with pytest.raises(IncompleteError, match="lacks the last 2 of 5 changes"):
        books.accounts()
    with pytest.raises(IncompleteError, match="Nothing was drawn"):
        ledger.charge(entry(Fraction(1)))
    books.go_on()  # somebody has decided that this is all there is
    assert spent(books) == 1
    ledger.charge(entry(Fraction(1)))
    assert spent(books) == 2
    assert newer != older


def test_a_ledger_that_is_gone_is_no_new_one(in_memory):
    for what in ("removed", "emptied"):
        path = in_memory / what / "ledger.sqlite"
        new_run(Books(path)).charge(entry(Fraction(1)))
        path.unlink() if what == "removed" else path.write_bytes(b"")
        with pytest.raises(IncompleteError, match="2 changes"):
            Books(path).accounts()
        Books(path).set_aside()
        assert Books(path).accounts() == []


def test_a_copy_of_the_file_alone_has_all_charges_and_the_offered_one_is_whole(books, tmp_path):
    """While the ledger is open: there is no log beside it that a copy could lack."""
    alone = Books(tmp_path / "alone" / "ledger.sqlite")
    alone.path.parent.mkdir()
    shutil.copy(books.path, alone.path)
    with pytest.raises(IncompleteError, match="has no witness"):
        alone.accounts()
    alone.go_on()
    with zipfile.ZipFile(BytesIO(books.copy())) as archive:
        assert sorted(archive.namelist()) == [NAME, "ledger.sqlite", "ledger.sqlite.witness"]
        archive.extractall(tmp_path / "whole")
    whole = Books(tmp_path / "whole" / "ledger.sqlite")
    assert spent(alone) == spent(whole) == 1
    assert whole.secret() == books.secret()


def test_a_ledger_without_its_secret(in_memory):
    """Data would get new names, and begin at nothing."""
    for what, content in (("removed", None), ("another", b"x" * 32), ("cut", b"x" * 3)):
        path = in_memory / what / "ledger.sqlite"
        new_run(Books(path)).charge(entry(Fraction(1)))
        secret = path.with_name(NAME)
        secret.write_bytes(content) if content else secret.unlink()
        with pytest.raises(BookError, match=NAME):
            Books(path).secret()
        if what == "cut":
            secret.unlink()
        Books(path).set_aside()
        assert Books(path).secret()
        assert Books(path).accounts() == []


# The first version


EARLIER = """
CREATE TABLE accounts (
    sha256 TEXT NOT NULL, relation TEXT NOT NULL, name TEXT NOT NULL,
    claimed TEXT NOT NULL, bound TEXT NOT NULL, looks INTEGER NOT NULL, void TEXT NOT NULL, cap TEXT,
    PRIMARY KEY (sha256, relation));
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, sha256 TEXT NOT NULL, relation TEXT NOT NULL,
    purpose TEXT NOT NULL, begun TEXT NOT NULL,
    claimed TEXT NOT NULL, bound TEXT NOT NULL, looks INTEGER NOT NULL, void TEXT NOT NULL);
CREATE INDEX runs_of_account ON runs (sha256, relation);
PRAGMA application_id=1685089073;
PRAGMA user_version=1;
INSERT INTO accounts VALUES
    ('{sum}', 'replace', 'people.csv', '3', '6', 2, '', '9'),
    ('{sum}', 'add_remove', 'people.csv', '1/3', '1/3', 1, 'A known seed.', NULL);
INSERT INTO runs VALUES
    (4, 't4', '{sum}', 'replace', 'the first', '2026-01-02T03:04:05+00:00', '1', '2', 1, ''),
    (5, 't5', '{sum}', 'replace', 'the second', '2026-01-02T03:04:06+00:00', '2', '4', 1, ''),
    (6, 't6', '{sum}', 'add_remove', 'a seed', '2026-01-02T03:04:07+00:00', '1/3', '1/3', 1, 'A known seed.');
"""


def earlier(path, sha256):
    """A ledger as version 1 wrote it, and left its log behind."""
    c = sqlite3.connect(path, isolation_level=None)
    c.execute("PRAGMA journal_mode=WAL")
    c.executescript(EARLIER.replace("{sum}", sha256))
    assert path.with_name("ledger.sqlite-wal").stat().st_size
    for ending in ("", "-wal"):
        shutil.copy(path.with_name(path.name + ending), path.with_name("copy" + ending))
    c.close()
    for ending in ("", "-wal"):
        path.with_name("copy" + ending).rename(path.with_name(path.name + ending))


def test_a_ledger_of_the_first_version_is_refused_and_left_as_it_is(in_memory):
    """With the log that a killed writer left beside it, which holds charges, and without."""
    for log in (True, False):
        path = in_memory / str(log) / "ledger.sqlite"
        path.parent.mkdir()
        earlier(path, SHA)
        if not log:
            with closing(sqlite3.connect(path)) as c:
                c.execute("SELECT 1 FROM runs")
        kept = {part: path.with_name(path.name + part).read_bytes() for part in ("", "-wal")[: 1 + log]}
        for call in (Books.accounts, Books.secret, Books.go_on, Books.copy, lambda books: new_run(books).charge(COST)):
            with pytest.raises(BookError, match=r"before the first release\. Nothing was drawn\. .* version 0\.2 "):
                call(Books(path))
            assert {part: path.with_name(path.name + part).read_bytes() for part in kept} == kept
        aside = Books(path).set_aside()
        assert {part: aside.with_name(aside.name + part).read_bytes() for part in kept} == kept
        assert Books(path).accounts() == []

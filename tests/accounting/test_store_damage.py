"""Ledgers that were damaged, cut or put back from an older copy: never less than was charged without a word."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import pytest

from dpcore import datasets
from dpcore.accounting.ledger import Entry
from dpcore.accounting.store import Books
from dpcore.accounting.store.file import NAME, IncompleteError
from dpcore.errors import BookError

ROOT = Path(__file__).parents[2]
FIRST, SECOND = "a" * 64, "b" * 64
PAGE = 4096


def entry(cost):
    numbers = {"sensitivity": 1.0, "claimed_sensitivity": 1.0, "scale": 1.0}
    return Entry(name="q", mechanism="laplace", epsilon_claimed=cost, epsilon_of_noise=cost, **numbers)


def charged(folder, moments):
    """A ledger with accounts, runs and charges; what was charged to each account."""
    books = Books(folder / "ledger.sqlite")
    books.set_cap(SECOND, "others.csv", "replace", 1_000.0)
    spent = {}
    for key, relation in ((FIRST, "add_remove"), (FIRST, "replace"), (SECOND, "replace")):
        for number in range(moments.randrange(2, 12)):
            ledger = books.begin(key, "people.csv", relation, f"run {number} " + "of many" * 20).ledger()
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
            books.begin(FIRST, "people.csv", "replace", "another run").ledger().charge(entry(Fraction(1)))
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


def test_damage_at_rest_is_seen(in_memory):
    (in_memory / "kept").mkdir()
    spent = charged(in_memory / "kept", random.Random(1))
    assert tried(in_memory / "kept", spent, 60, seed=1) > 20


@pytest.mark.slow
def test_five_hundred_damages_at_rest_are_seen(in_memory):
    seen = 0
    for seed in range(10):
        kept = in_memory / str(seed)
        kept.mkdir()
        seen += tried(kept, charged(kept, random.Random(seed)), 50, seed)
    assert seen > 250


KILLED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from fractions import Fraction
from pathlib import Path
from dpcore.accounting.store import Books
from dpcore.accounting.ledger import Entry
cost = Fraction(1, 4)
entry = Entry(name="q", mechanism="laplace", epsilon_claimed=cost, epsilon_of_noise=cost, sensitivity=1.0,
              claimed_sensitivity=1.0, scale=1.0)
for line in sys.stdin:  # a ledger: a child charges it for ever, and writes a dot to a log after every charge
    path = Path(line.strip())
    child = os.fork()
    if child == 0:
        told = os.open(path.with_name("log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        while True:
            ledger = Books(path).begin("a" * 64, "people.csv", "replace", "a run " * 40).ledger()
            for _ in range(5):
                ledger.charge(entry)
                os.write(told, b".")
    print(child, flush=True)
"""


def after_kills(folder, disk, number, harms, seed):
    """Kill processes that charge on the disk, and harm what each left, so many times; how often that was seen.

    Also, how often a kill left a journal to roll back.
    """
    moments, seen, hot = random.Random(seed), 0, 0
    command = [sys.executable, "-c", KILLED, str(ROOT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        for turn in range(number):
            kept, place = folder / f"killed-{turn}", disk / f"killed-{turn}"
            kept.mkdir()
            spent = charged(kept, moments)
            shutil.move(kept, place)
            nursery.stdin.write(f"{place / 'ledger.sqlite'}\n")
            nursery.stdin.flush()
            child, log = int(nursery.stdout.readline()), place / "log"
            while not (log.exists() and log.stat().st_size):
                time.sleep(0.001)
            time.sleep(moments.random() * 0.02)
            os.kill(child, signal.SIGKILL)
            os.kill(child, 0)  # nobody has buried it: it is dead when its files are closed
            time.sleep(0.02)
            spent[FIRST, "replace"] += log.stat().st_size * Fraction(1, 4)
            shutil.move(place, kept)
            journal = kept / "ledger.sqlite-journal"
            hot += journal.exists() and any(journal.read_bytes()[:8])
            seen += tried(kept, spent, harms, seed + turn)
            assert not judged(kept, spent, by_charge=True)  # without harm, all is there
        nursery.stdin.close()
    return seen, hot


@pytest.mark.skipif(os.name != "posix", reason="kills processes as on POSIX")
def test_damage_after_a_kill_is_seen(in_memory, tmp_path):
    after_kills(in_memory, tmp_path, 2, 15, seed=1)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills processes as on POSIX")
def test_five_hundred_damages_after_kills_are_seen(in_memory, tmp_path):
    seen, hot = after_kills(in_memory, tmp_path, 50, 10, seed=100)
    assert seen > 150
    assert hot > 5


def test_a_ledger_put_back_from_an_older_copy_is_seen(tmp_path):
    path = tmp_path / "ledger.sqlite"
    books = Books(path)
    ledger = books.begin(FIRST, "people.csv", "replace", "a run").ledger()
    ledger.charge(entry(Fraction(1)))
    older = path.read_bytes()
    for _ in range(2):
        ledger.charge(entry(Fraction(1)))
    path.write_bytes(older)
    with pytest.raises(IncompleteError, match="lacks the last 2 of 4 changes"):
        books.accounts()
    with pytest.raises(IncompleteError, match="Nothing was drawn"):
        ledger.charge(entry(Fraction(1)))
    books.go_on()  # somebody has decided that this is all there is
    assert books.account(FIRST, "replace").totals.bound == 1
    ledger.charge(entry(Fraction(1)))
    assert books.account(FIRST, "replace").totals.bound == 2


@pytest.mark.parametrize("what", ["removed", "emptied"])
def test_a_ledger_that_is_gone_is_no_new_one(tmp_path, what):
    path = tmp_path / "ledger.sqlite"
    Books(path).begin(FIRST, "people.csv", "replace", "a run").ledger().charge(entry(Fraction(1)))
    path.unlink() if what == "removed" else path.write_bytes(b"")
    with pytest.raises(IncompleteError, match="2 changes"):
        Books(path).accounts()
    Books(path).set_aside()
    assert Books(path).accounts() == []


def test_a_copy_of_the_file_alone_has_all_charges(tmp_path):
    """While the ledger is open: there is no log beside it that a copy could lack."""
    path, other = tmp_path / "ledger.sqlite", tmp_path / "elsewhere" / "ledger.sqlite"
    ledger = Books(path).begin(FIRST, "people.csv", "replace", "a run").ledger()
    ledger.charge(entry(Fraction(5)))
    other.parent.mkdir()
    shutil.copy(path, other)
    with pytest.raises(IncompleteError, match="has no witness"):
        Books(other).accounts()
    Books(other).go_on()
    assert Books(other).account(FIRST, "replace").totals.bound == 5


def test_the_copy_that_is_offered_is_whole(tmp_path):
    books = Books(tmp_path / "ledger.sqlite")
    books.begin(FIRST, "people.csv", "replace", "a run").ledger().charge(entry(Fraction(5)))
    with zipfile.ZipFile(BytesIO(books.copy())) as archive:
        assert sorted(archive.namelist()) == [NAME, "ledger.sqlite", "ledger.sqlite.witness"]
        archive.extractall(tmp_path / "elsewhere")
    other = Books(tmp_path / "elsewhere" / "ledger.sqlite")
    assert other.account(FIRST, "replace").totals.bound == 5
    assert other.secret() == books.secret()


@pytest.mark.parametrize("what", ["removed", "another", "cut"])
def test_a_ledger_without_its_secret(tmp_path, what):
    """Data would get new names, and begin at nothing."""
    path = tmp_path / "ledger.sqlite"
    books = Books(path)
    books.begin(FIRST, "people.csv", "replace", "a run").ledger().charge(entry(Fraction(1)))
    secret = tmp_path / NAME
    secret.unlink() if what == "removed" else secret.write_bytes(b"x" * (32 if what == "another" else 3))
    with pytest.raises(BookError, match=NAME):
        Books(path).secret()
    if what == "cut":
        secret.unlink()
    Books(path).set_aside()
    assert Books(path).secret()
    assert Books(path).accounts() == []


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


def test_a_ledger_of_the_first_version_keeps_every_charge(tmp_path):
    data = datasets.load("sample")
    path = tmp_path / "ledger.sqlite"
    sha256 = data.content._sum.hex()
    earlier(path, sha256)
    books = Books(path)
    whole, void = books.account(books.key(data), "replace"), books.account(books.key(data), "add_remove")
    assert (whole.totals, whole.looks, whole.cap) == ((3, 6, 6), 2, 9)
    assert void.totals == (Fraction(1, 3), Fraction(1, 3), float("inf"))
    assert [run.name for run in books.runs(books.key(data), "replace")] == ["the first", "the second"]
    assert not any(sha256.encode() in part.read_bytes() for part in tmp_path.iterdir())
    books.begin(books.key(data), "people.csv", "replace", "the third").ledger().charge(entry(Fraction(1)))
    assert books.account(books.key(data), "replace").totals.bound == 7


@pytest.mark.parametrize(
    "change", ["UPDATE accounts SET bound='-1'", "UPDATE runs SET sha256='zz'", "UPDATE runs SET begun='yesterday'"]
)
def test_a_damaged_ledger_of_the_first_version_is_left_as_it_is(tmp_path, change):
    path = tmp_path / "ledger.sqlite"
    earlier(path, FIRST)
    with sqlite3.connect(path) as c:
        c.execute(change)
    c.close()
    with pytest.raises(BookError, match="is damaged"):
        Books(path).accounts()
    with sqlite3.connect(path) as c:
        assert c.execute("PRAGMA user_version").fetchone() == (1,)
    c.close()

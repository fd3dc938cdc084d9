"""The books: exact sums, caps, files that are damaged, and processes that are killed at any moment."""

import dataclasses
import math
import os
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from dpcore import NaiveBayesSynthesizer, datasets, export
from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.store import BookedLedger, Books, durable_ledger, usual_path
from dpcore.arguments import no_progress
from dpcore.dashboard import session
from dpcore.dashboard.tabs import redraw
from dpcore.door import Door
from dpcore.errors import BookError, BudgetError
from dpcore.methods import METHODS

ROOT = Path(__file__).parents[2]
SHA = "a" * 64


def entry(claimed, bound=None):
    bound = claimed if bound is None else bound
    numbers = {"sensitivity": 1.0, "claimed_sensitivity": 1.0, "scale": 1.0}
    return Entry(name="q", mechanism="laplace", epsilon_claimed=claimed, epsilon_of_noise=bound, **numbers)


@pytest.fixture
def books(tmp_path):
    return Books(tmp_path / "deep" / "ledger.sqlite")


def new_run(books, relation="add_remove", purpose="a run", sha=SHA):
    return books.begin(sha, "people.csv", relation, purpose).ledger()


def close(found, true):
    """Never too little, and too much by no more than a rounding of the last place."""
    return 0 <= found - true < Fraction(1, 2**90)


def test_sums_are_kept_by_data_and_relation(books):
    thirds = new_run(books)
    for _ in range(3):
        thirds.child("a fit").charge(entry(Fraction(1, 3), Fraction(2, 3)))
    new_run(books).child("a fit").charge(entry(Fraction(1, 7)))
    new_run(books, "replace").child("a fit").charge(entry(Fraction(1)))
    new_run(books, sha="b" * 64).child("a fit").charge(entry(Fraction(5)))
    new_run(books, purpose="never asked")
    account = books.account(SHA, "add_remove")
    assert close(account.totals.claimed, Fraction(8, 7))
    assert close(account.totals.bound, Fraction(15, 7))
    assert account.looks == 4
    first, second = books.runs(SHA, "add_remove")
    assert (first.name, first.totals.bound, first.looks) == ("a run", 2, 3)  # what is whole in the end is exact
    assert close(second.totals.bound, Fraction(1, 7))
    assert books.account(SHA, "replace").totals.bound == 1
    assert [line.key[0] + line.relation for line in books.accounts()] == ["aadd_remove", "areplace", "badd_remove"]


def test_what_is_infinite_stays_so(books):
    run = new_run(books)
    part = run.child("a fit")
    part.charge(entry(Fraction(1, 2), math.inf))
    part.charge(entry(Fraction(1, 2), math.inf))
    part.charge(entry(Fraction(1, 2), Fraction(1)))
    found = books.account(SHA, "add_remove")
    assert (found.totals.claimed, found.epsilon_bound, found.looks) == (Fraction(3, 2), math.inf, 1)
    assert found.totals.bound == math.inf


def test_composition_reaches_the_books(books):
    """Disjoint parts cost the dearest of them, in the file as in memory."""
    run = new_run(books)
    group = run.child("a fit").parallel("halves", by="value")
    for cost in (1, 3, 2):
        group.part("half").charge(entry(Fraction(cost)))
    assert run.epsilon_bound == 3
    assert books.account(SHA, "add_remove").totals.bound == 3


def test_a_fit_is_written_before_it_is_drawn_with_its_void(books):
    data = datasets.load("sample")
    run = new_run(books)
    NaiveBayesSynthesizer(epsilon=0.5, random_state=1).fit(data.train, schema=data.schema, ledger=run)
    found = books.account(SHA, "add_remove")
    assert (found.epsilon_claimed, found.epsilon_bound, found.looks) == (0.5, math.inf, 1)
    assert "seed" in found.void
    assert "seed" in books.runs(SHA, "add_remove")[0].void


@pytest.fixture
def told(monkeypatch):
    """What happens from now on, in order: "written" to the books, and "drawn" by the door."""
    found, opened = [], []  # what is unprotected, only paper mode may ask for
    add, answer = Books.add, Door.answer

    def written(self, *charge, **how):
        add(self, *charge, **how)
        found.append("written")

    def drawn(door, question, entries, draw):
        account = door.ledger
        while account._parent is not None:
            account = account._parent
        if question == "unprotected":
            opened.append(door)
        if opened and not isinstance(account, BookedLedger):  # exact answers, which were paid for once and for all
            return answer(door, question, entries, draw)
        return answer(door, question, entries, lambda: found.append("drawn") or draw())

    monkeypatch.setattr(Books, "add", written)
    monkeypatch.setattr(Door, "answer", drawn)
    return found


EVERY = [(name, mode) for name, kind in METHODS.items() for mode in kind.modes]


@pytest.mark.parametrize(("name", "mode"), EVERY)
def test_every_answer_is_written_down_before_it_is_drawn(books, told, name, mode):
    data, kind = datasets.load("sample"), METHODS[name]
    method = kind(mode=mode)
    relation = method.check(data.schema)
    method.fit(data.train, schema=data.schema, ledger=new_run(books, relation))
    assert told[:2] == ["written", "drawn"]
    assert all(before == "written" for before, what in pairwise(told) if what == "drawn")


def test_a_draw_on_an_account_of_nobody_is_seen(told):
    data = datasets.load("sample")
    METHODS["NB-Synth"]().fit(data.train, schema=data.schema)
    assert set(told) == {"drawn"}


def test_nothing_is_charged_or_drawn_if_it_cannot_be_written(books, told, monkeypatch):
    data = datasets.load("sample")
    run = new_run(books)
    monkeypatch.setattr(Books, "add", lambda *_, **__: (_ for _ in ()).throw(BookError("no", "no")))
    with pytest.raises(BookError):
        NaiveBayesSynthesizer().fit(data.train, schema=data.schema, ledger=run)
    assert told == []
    assert run.epsilon_bound == 0
    assert run.entries == []


@pytest.fixture
def on_a_page(books, monkeypatch):
    """A release on a page, of data that are not the session's, whose redraws are charged to `books`."""

    def account(data, relation, purpose):
        return books.begin(data.token, data.name, relation, purpose).ledger()

    monkeypatch.setattr(session, "account", account)
    data = dataclasses.replace(datasets.load("sample"), name="people.csv", token=SHA)
    method = NaiveBayesSynthesizer(x_source="model").fit(data.train, schema=data.schema)
    release = export.release_of(method, "NB-Synth", method.sample(50), data_name=data.name)
    return session.Shown(release, data)


class StopError(Exception):
    pass


def test_pages_charge_the_data_and_the_relation_that_were_asked_for(books, monkeypatch):
    """Runs of their own, and those of comparisons in other processes."""
    monkeypatch.setattr(session, "books", lambda: books)
    monkeypatch.setattr(session, "accounts", dict)
    sets = {books.key(data): data for data in map(datasets.load, ("sample", "bank cards"))}
    keys = [(key, relation) for key in sets for relation in ("add_remove", "replace")]
    for key, relation in keys:
        data = sets[key]
        session.account(data, relation, "a run").charge(entry(Fraction(1)))
        ledgers = session.open_runs({"C1": NaiveBayesSynthesizer(relation=relation)}, data, "a comparison")
        ledgers["C1"]().charge(entry(Fraction(2)))
        assert [run.totals.bound for run in books.runs(key, relation)] == [1, 2]
    assert [(line.key, line.relation, line.totals.bound) for line in books.accounts()] == [(*key, 3) for key in keys]


def test_a_redraw_is_written_down_before_it_is_drawn(books, on_a_page):
    """Stopped in the middle of the fifth: it is charged, on the release's data, and not shown."""

    def progress(fraction, text):
        if text == "5 of 20: Done":
            raise StopError

    with pytest.raises(StopError):
        redraw.draw_again(on_a_page, progress)
    (found,) = books.accounts()
    assert (found.key, found.looks, found.totals.bound) == (SHA, 5, 5)
    assert set(on_a_page.redraws["run"]) == set(range(5))


def test_a_redraw_that_a_cap_refuses_is_not_drawn(books, on_a_page, told):
    books.set_cap(SHA, "people.csv", "add_remove", 3.0)
    with pytest.raises(BudgetError):
        redraw.draw_again(on_a_page, no_progress)
    assert told == ["written", "drawn"] * 3
    assert books.account(SHA, "add_remove").looks == 3
    assert set(on_a_page.redraws["run"]) == set(range(4))


def test_a_file_is_synced_at_every_charge_and_one_of_a_session_need_not_be(books):
    """A kill loses nothing without that; a computer that loses its power would."""
    for each, level in ((books, 2), (Books(), 0)):  # FULL, OFF
        with each.transaction() as sheet:
            assert sheet.c.execute("PRAGMA synchronous").fetchone() == (level,)


def test_a_cap_refuses_across_sessions(books):
    other = Books(books.path)  # another tab
    books.set_cap(SHA, "people.csv", "add_remove", 1.0)
    first, second = new_run(books), new_run(other)
    first.child("a fit").charge(entry(Fraction(5, 8)))
    with pytest.raises(BudgetError, match=r"capped at 1\. Nothing was drawn"):
        second.child("a fit").charge(entry(Fraction(1, 2)))
    assert (second.epsilon_bound, second.entries) == (0, [])
    assert close(books.account(SHA, "add_remove").totals.bound, Fraction(5, 8))
    second.child("a fit").charge(entry(Fraction(3, 8)))  # exactly up to the cap
    assert books.account(SHA, "add_remove").totals.bound == 1
    new_run(books, "replace").child("a fit").charge(entry(Fraction(9)))  # another account
    books.set_cap(SHA, "people.csv", "add_remove", None)
    first.child("a fit").charge(entry(Fraction(1), math.inf))


def test_what_another_session_spends_is_seen_by_one_that_looked_before(books):
    other = Books(books.path)
    for spent in range(1, 4):
        new_run(other).charge(entry(Fraction(1)))
        assert [line.totals.bound for line in books.accounts()] == [spent]
        assert len(books.runs(SHA, "add_remove")) == spent


def test_a_cap_refuses_what_cannot_be_proved(books):
    books.set_cap(SHA, "people.csv", "replace", 100.0)
    with pytest.raises(BudgetError, match="more than any epsilon"):
        new_run(books, "replace").charge(entry(Fraction(1), math.inf))


def test_another_process_charges_the_same_run(books):
    run = books.begin(SHA, "people.csv", "replace", "a sweep")
    for each in (pickle.loads(pickle.dumps(run)), run):
        each.ledger().child("a fit").charge(entry(Fraction(1, 4)))
    (line,) = books.runs(SHA, "replace")
    assert (line.totals.bound, line.looks) == (Fraction(1, 2), 2)


def test_a_session_that_keeps_nothing():
    books = Books()
    path = books.path
    new_run(books).charge(entry(Fraction(1)))
    assert not books.kept
    assert books.account(SHA, "add_remove").totals.bound == 1
    del books
    assert not path.exists()


def test_only_its_owner_reads_the_file(books):
    new_run(books)
    for file in (books.path, books.path.with_name("dpcore.secret")):
        assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "content", [b"not a database, for sure" * 400, b"\0" * 100, b"SQLite format 3\0" + b"x" * 4000]
)
def test_a_damaged_file_says_so_and_can_be_set_aside(books, content):
    books.path.parent.mkdir()
    books.path.write_bytes(content)
    with pytest.raises(BookError, match=r"is damaged, or is no ledger\. Nothing was drawn"):
        new_run(books)
    assert books.path.read_bytes() == content  # nothing is lost
    aside = books.set_aside()
    assert aside.read_bytes() == content
    new_run(books).charge(entry(Fraction(1)))
    assert books.account(SHA, "add_remove").totals.bound == 1


def test_a_file_that_is_damaged_while_it_is_open(books):
    run = new_run(books)
    run.charge(entry(Fraction(1)))
    whole = bytearray(books.path.read_bytes())
    whole[4096:] = os.urandom(len(whole) - 4096)
    books.path.write_bytes(whole)
    with pytest.raises(BookError, match="is damaged"):
        run.charge(entry(Fraction(1)))
    assert run.epsilon_bound == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE accounts SET bound='-1'",
        "UPDATE accounts SET bound='much'",
        f"UPDATE accounts SET bound='{'9' * 5000}'",
        "UPDATE accounts SET bound=x'00'",
        "UPDATE accounts SET looks='several'",
        "UPDATE accounts SET relation='none'",
    ],
)
def test_numbers_that_nobody_wrote(books, change):
    new_run(books).charge(entry(Fraction(1)))
    with sqlite3.connect(books.path) as c:
        c.execute(change)
    c.close()
    with pytest.raises(BookError, match="is damaged"):
        books.accounts()
    if "relation" in change:  # that account is then another one
        return
    with pytest.raises(BookError, match="is damaged"):
        new_run(books).charge(entry(Fraction(1)))


def test_a_changed_line_and_a_lost_one_are_seen_by_the_sums(books):
    run = new_run(books)
    run.charge(entry(Fraction(1)))
    new_run(books).charge(entry(Fraction(2)))
    with sqlite3.connect(books.path) as c:
        c.execute("UPDATE accounts SET bound='2'")
    with pytest.raises(BookError, match="is damaged"):
        run.charge(entry(Fraction(1)))  # which reads its own lines alone
    with c:
        c.execute("UPDATE accounts SET bound='3'")
    assert books.account(SHA, "add_remove").totals.bound == 3
    with c:
        c.execute("DELETE FROM runs WHERE id=2")
    c.close()
    with pytest.raises(BookError, match="is damaged"):
        books.accounts()


def test_charges_at_once_wait_for_each_other(in_memory):
    """Whoever reads totals to add to them keeps others from doing so: nothing is lost, and nobody is refused."""
    path = in_memory / "ledger.sqlite"
    new_run(Books(path))

    def spend(_):
        run = new_run(Books(path))
        for _ in range(25):
            run.charge(entry(Fraction(1, 2)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(spend, range(4)))
    assert Books(path).account(SHA, "add_remove").totals.bound == 50


def test_a_time_that_nobody_wrote(books):
    new_run(books).charge(entry(Fraction(1)))
    with sqlite3.connect(books.path) as c:
        c.execute("UPDATE runs SET begun='yesterday'")
    c.close()
    with pytest.raises(BookError, match="is damaged"):
        books.runs(SHA, "add_remove")


def test_many_odd_shares_need_no_endless_digits(books):
    run = new_run(books)
    for prime in (101, 103, 107, 109, 113, 127, 131, 137, 139, 149) * 4:
        run.child("a fit").charge(entry(Fraction(1, prime**7)))
    with sqlite3.connect(books.path) as c:
        ((written,),) = c.execute("SELECT bound FROM accounts").fetchall()
    c.close()
    assert len(written) < 80
    assert close(books.account(SHA, "add_remove").totals.bound, run.totals.bound)


def test_another_program_s_database_is_left_alone(books):
    books.path.parent.mkdir()
    with sqlite3.connect(books.path) as c:
        c.execute("CREATE TABLE theirs (a)")
    c.close()
    with pytest.raises(BookError, match="no ledger"):
        new_run(books)


def test_a_run_whose_file_was_set_aside_or_removed_draws_nothing(books):
    run = new_run(books)
    run.charge(entry(Fraction(1)))
    aside = Books(books.path).set_aside()  # in another tab
    other = Books(books.path).begin("b" * 64, "other.csv", "replace", "another run").ledger()
    with pytest.raises(BookError, match="no longer has this run"):
        run.charge(entry(Fraction(1)))
    other.charge(entry(Fraction(2)))
    assert [(line.key[0], line.totals.bound) for line in books.accounts()] == [("b", 2)]
    assert Books(aside).account(SHA, "add_remove").totals.bound == 1
    for part in books.path.parent.glob("ledger.sqlite*"):
        part.unlink()
    with pytest.raises(BookError, match="no longer has this run"):
        run.charge(entry(Fraction(1)))


READ_ONLY = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from dpcore.accounting.store import Books
from dpcore.errors import BookError
if os.geteuid() == 0:
    os.setuid(65534)  # permissions do not bind root
try:
    Books(Path(sys.argv[2])).begin("a" * 64, "people.csv", "replace", "a run")
except BookError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions as on POSIX")
@pytest.mark.parametrize("what", ["file", "folder", "nowhere"])
def test_a_file_that_cannot_be_written(tmp_path, what):
    tmp_path.chmod(0o755)
    for parent in [*tmp_path.parents][:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    path = tmp_path / "books" / "ledger.sqlite"
    if what != "nowhere":
        Books(path).begin(SHA, "people.csv", "replace", "a run")
        path.chmod(0o444)
    if what == "folder":
        for part in path.parent.iterdir():
            part.unlink()
    path.parent.mkdir(exist_ok=True)
    path.parent.chmod(0o555)
    command = [sys.executable, "-c", READ_ONLY, str(ROOT), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "Nothing was drawn" in done.stdout, done.stderr
    assert any(cause in done.stdout for cause in ("may not be written to", "cannot be opened"))


def test_a_folder_in_the_file_s_place(books):
    books.path.mkdir(parents=True)
    with pytest.raises(BookError, match="cannot be opened"):
        books.accounts()


def test_a_ledger_for_python_is_written_down_too(monkeypatch, tmp_path):
    """Another day, another program, another split of the same file: one account."""
    path = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("DPCORE_LEDGER", str(path))
    raw = datasets.load("sample").train.head(300).to_csv(index=False).encode()
    schema = datasets.load("sample").schema
    for seed in (1, 2):
        data = datasets.read(raw, "people.csv", schema=schema, split_seed=seed)
        ledger = durable_ledger(data, "add_remove", purpose=f"day {seed}")
        NaiveBayesSynthesizer(epsilon=0.5).fit(data.train, schema=schema, ledger=ledger)
    (account,) = Books(path).accounts()
    assert (account.name, account.looks, account.epsilon_bound) == ("people.csv", 2, 1.0)
    assert [run.name for run in Books(path).runs(account.key, "add_remove")] == ["day 1", "day 2"]
    Books(path).set_cap(account.key, account.name, "add_remove", 1.0)
    with pytest.raises(BudgetError, match="capped at 1"):
        NaiveBayesSynthesizer().fit(data.train, schema=schema, ledger=durable_ledger(data, "add_remove"))
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    assert durable_ledger(data, "add_remove").run.books.path != path


def test_where_the_file_is(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert usual_path() == tmp_path / "dpcore" / "ledger.sqlite"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks as on POSIX")
def test_a_fork_leaves_its_parent_s_books_alone():
    books = Books()
    new_run(books).charge(entry(Fraction(1)))
    child = os.fork()
    if child == 0:
        books.__init__()  # drops the parent's, as at a normal exit
        os._exit(0)
    os.waitpid(child, 0)
    assert books.account(SHA, "add_remove").totals.bound == 1


SETTER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from dpcore.accounting.store import Books
print("ready", flush=True)
sys.stdin.readline()
print(Books(Path(sys.argv[2])).set_aside(), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills processes as on POSIX")
def test_a_kill_while_a_ledger_is_set_aside_loses_nothing(tmp_path):
    """Whatever the moment, the content is in one of the files; the old one is open in this process all the time."""
    moments = random.Random(3)
    for turn in range(6):
        path = tmp_path / str(turn) / "ledger.sqlite"
        books = Books(path)
        new_run(books).charge(entry(Fraction(3)))
        command = [sys.executable, "-c", SETTER, str(ROOT), str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as setter:
            assert setter.stdout.readline() == "ready\n"
            setter.stdin.write("\n")
            setter.stdin.flush()
            time.sleep(moments.random() * 0.02)
            setter.kill()
        found = [books, *map(Books, path.parent.glob("*.aside-*[0-9]"))]
        totals = []
        for each in found:
            try:
                totals += [line.totals.bound for line in each.accounts()]
            except BookError:
                continue  # a copy that was not finished
        assert 3 in totals


# Killed at any moment

CHARGER = """
import os, sys
from fractions import Fraction
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from dpcore.accounting.store import Books
from dpcore.accounting.ledger import Entry

def charge_for_ever(path, told):
    books = Books(path)
    run = books.begin("a" * 64, "people.csv", "replace", f"process {os.getpid()}").ledger()
    fit = run.child("a fit")
    cost = Fraction(1, 4)
    entry = Entry(name="q", mechanism="laplace", epsilon_claimed=cost, epsilon_of_noise=2 * cost, sensitivity=1.0,
                  claimed_sensitivity=1.0, scale=1.0)
    while True:
        fit.charge(entry)
        os.write(told, b".")  # what is drawn after a charge: the world knows now

for line in sys.stdin:  # "start": a new child; it writes a dot to its pipe after every charge
    path, told = line.rsplit(None, 1)
    child = os.fork()
    if child == 0:
        charge_for_ever(Path(path), os.open(told, os.O_WRONLY | os.O_APPEND))
    print(child, flush=True)
    while True:  # bury the dead
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                break
        except ChildProcessError:
            break
"""


@pytest.mark.skipif(os.name != "posix", reason="kills processes as on POSIX")
def test_two_hundred_kills_lose_no_charge(in_memory):
    """Four processes charge; one after another is killed, 200 in all. Every charge that anybody heard of is there.

    A charge may be there that nobody heard of, one per killed process at most: its process was killed between the
    commit and the word.
    """
    moments = random.Random(7)
    path = in_memory / "ledger.sqlite"
    logs, alive = [], []
    command = [sys.executable, "-c", CHARGER, str(ROOT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:

        def start():
            log = in_memory / f"{len(logs)}.log"
            log.touch()
            logs.append(log)
            nursery.stdin.write(f"{path} {log}\n")
            nursery.stdin.flush()
            alive.append(int(nursery.stdout.readline()))

        end = time.monotonic() + 120

        def heard():
            assert nursery.poll() is None
            assert time.monotonic() < end
            return sum(log.stat().st_size for log in logs)

        try:
            for _ in range(4):
                start()
            while not heard():  # the first has begun
                time.sleep(0.001)
            for _ in range(200):
                enough = heard() + moments.randrange(0, 6)
                while heard() < enough:
                    time.sleep(0.0002)
                for _ in range(moments.randrange(3_000)):
                    pass  # any moment within a transaction
                os.kill(alive.pop(moments.randrange(4)), signal.SIGKILL)
                start()
        finally:
            for child in alive:
                os.kill(child, signal.SIGKILL)
            nursery.stdin.close()
            nursery.wait()
    books = Books(path)
    account = books.account(SHA, "replace")
    runs = books.runs(SHA, "replace")
    charges, words = account.totals.claimed / Fraction(1, 4), sum(log.stat().st_size for log in logs)
    assert charges.denominator == 1
    assert words <= charges <= words + len(logs)
    assert account.totals.bound == 2 * account.totals.claimed
    assert sum(run.totals.claimed for run in runs) == account.totals.claimed
    assert account.looks == sum(run.looks for run in runs) <= len(logs)
    assert words > 200


def test_a_ledger_without_books_is_as_it_was():
    ledger = Ledger("replace")
    ledger.charge(entry(Fraction(1)))
    assert ledger.epsilon_bound == 1

"""Whatever is drawn is counted: by threads, processes, copies, groups and ledgers that join others."""

import copy
import math
import multiprocessing
import os
import pickle
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from dpcore import DiffPRFs, NaiveBayesSynthesizer, datasets
from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.relation import exact
from dpcore.accounting.store import Books
from dpcore.errors import BudgetError, ParameterError

ADD, REPLACE = "add_remove", "replace"


def entry(claimed, bound=None, **more):
    bound = claimed if bound is None else bound
    numbers = {"sensitivity": 1.0, "claimed_sensitivity": 1.0, "scale": 1.0}
    return Entry(name="q", mechanism="laplace", epsilon_claimed=claimed, epsilon_of_noise=bound, **numbers, **more)


@pytest.fixture
def many_switches():
    """Threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def at_once(count, work):
    """Run work(i) in so many threads that begin together."""
    gate = threading.Barrier(count)

    def run(i):
        gate.wait()
        work(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Threads


def test_no_thread_s_charge_is_lost(many_switches):
    ledger = Ledger(ADD)
    parts = [ledger.child(f"thread {i}") for i in range(4)]

    def work(i):
        for _ in range(300):
            parts[i].charge(entry(Fraction(1, 100)))
            ledger.charge(entry(Fraction(1, 100)))

    at_once(4, work)
    assert ledger.totals.bound == ledger.totals.claimed == 24
    assert len(ledger.entries) == 2400


@pytest.mark.parametrize("filed", [False, True])
def test_threads_draw_no_more_than_a_cap_allows(filed, many_switches, tmp_path):
    books = Books(tmp_path / "ledger.sqlite")
    if filed:
        books.set_cap("a" * 64, "people.csv", ADD, 1.0)
        ledger = books.begin("a" * 64, "people.csv", ADD, "a run").ledger()
    else:
        ledger = Ledger(ADD, epsilon=1.0)
    drawn = []

    def work(i):
        part = ledger.child("a fit")
        for _ in range(30):
            try:
                part.charge(entry(Fraction(1, 50)))
            except BudgetError:
                return
            drawn.append(Fraction(1, 50))

    at_once(4, work)
    assert sum(drawn) == ledger.totals.bound == 1
    if filed:
        assert books.account("a" * 64, ADD).totals.bound == 1


def test_ledgers_that_join_each_other_while_they_are_charged(many_switches):
    top = Ledger(ADD)
    below = [Ledger(ADD, name=str(i)) for i in range(6)]

    def work(i):
        if i == 6:
            for one in below:
                top.adopt(one)
        else:
            for _ in range(200):
                below[i].charge(entry(Fraction(1, 8)))

    at_once(7, work)
    assert top.totals.bound == sum(one.totals.bound for one in below) == 150


# Copies and other processes


def test_a_ledger_that_charges_is_not_copied():
    ledger = Ledger(ADD, name="mine")
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        for one in (ledger, ledger.child("a part")):
            with pytest.raises(ParameterError, match=r"would be counted nowhere.*n_jobs=1"):
                copied(one)


def test_a_record_is_copied_and_cannot_be_charged():
    ledger = Ledger(REPLACE, name="mine")
    group = ledger.parallel("halves", by="value")
    for paid in (1, 2):
        group.part("half").charge(entry(paid))
    ledger.repeated("twice", 2).charge(entry(0.25))
    ledger.close()
    for made in (pickle.loads(pickle.dumps(ledger)), copy.copy(ledger), copy.deepcopy(ledger)):
        assert made.totals == ledger.totals == (4.5, 4.5, 4.5)
        assert made.to_json() == ledger.to_json()
        for part in (made, made.children[1], *made.children[0].children, ledger, ledger.children[1]):
            with pytest.raises(ParameterError, match="closed"):
                part.charge(entry(1))
        with pytest.raises(ParameterError, match="closed"):
            made.children[0].part("another")
        mine = Ledger(REPLACE, epsilon=4.5)
        mine.adopt(made)  # what it spent counts
        assert mine.epsilon_bound == 4.5
    assert all(child._parent is ledger for child in ledger.children)


def test_a_cross_validation_in_other_processes_is_refused(small_frame, small_schema):
    """Every fold's process would charge a copy, and the ledger would say 0."""
    ledger = Ledger(ADD, epsilon=1.0)
    params = {"schema": small_schema, "ledger": ledger}
    how = {"cv": 2, "n_jobs": 2, "params": params}
    with pytest.raises((ParameterError, pickle.PicklingError)) as caught:
        cross_val_score(DiffPRFs(target="ill"), small_frame, small_frame["ill"], **how)
    told = f"{caught.value} {caught.value.__cause__}"
    assert "would be counted nowhere" in told
    assert not ledger.entries


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="forks as on POSIX")
@pytest.mark.parametrize("filed", [False, True])
def test_a_fork_s_charge_is_refused(filed, tmp_path):
    ledger = Books(tmp_path / "l").begin("a" * 64, "x", ADD, "a run").ledger() if filed else Ledger(ADD)
    part = ledger.child("a part")
    told = os.pipe()
    ledger._lock.acquire()  # as another thread may, at the moment of the fork
    child = os.fork()
    if child == 0:
        try:
            part.charge(entry(1))
        except ParameterError as error:
            os.write(told[1], str(error).encode())
        os._exit(0)
    ledger._lock.release()
    os.waitpid(child, 0)
    assert b"another process" in os.read(told[0], 1000)


# Ledgers under others


def test_what_an_adopted_ledger_has_spent_counts():
    spent = [Ledger(ADD, name=str(i)) for i in range(5)]
    for one in spent:
        one.charge(entry(0.25, 0.5))
    mine = Ledger(ADD, epsilon=1.0)
    top = Ledger(ADD)
    top.adopt(mine)
    mine.adopt(spent[0])
    mine.adopt(spent[1])
    for one in spent[2:]:
        with pytest.raises(BudgetError, match="capped at 1"):
            mine.adopt(one)
    assert mine.totals == top.totals == (0.5, 1, 1)
    assert mine.children == spent[:2]
    spent[4].charge(entry(1))  # nobody adopted it
    assert mine.epsilon_bound == 1
    with pytest.raises(BudgetError):
        spent[0].charge(entry(0.1))


def test_an_adopted_ledger_is_written_down(tmp_path):
    books = Books(tmp_path / "ledger.sqlite")
    run = books.begin("a" * 64, "people.csv", ADD, "a run").ledger()
    spent = Ledger(ADD)
    spent.charge(entry(0.25))
    run.child("a part").adopt(spent)
    assert books.account("a" * 64, ADD).totals.bound == run.epsilon_bound == 0.25


def test_no_ledger_is_adopted_twice_or_by_itself():
    top, other = Ledger(ADD), Ledger(ADD)
    middle = top.child("middle")
    below = middle.child("below")
    for one in (top, middle, below):
        with pytest.raises(ParameterError, match="part of itself"):
            below.adopt(one)
        with pytest.raises(ParameterError, match="part of"):
            top.adopt(one)
    for one in (middle, below):
        with pytest.raises(ParameterError, match="is a part of"):
            other.adopt(one)
    assert other.children == []


@pytest.mark.parametrize(("relation", "another"), [(ADD, REPLACE), (REPLACE, ADD)])
def test_another_relation_is_not_adopted(relation, another):
    with pytest.raises(ParameterError, match="do not add up"):
        Ledger(relation).adopt(Ledger(another))
    part = Ledger(REPLACE).parallel("groups", by="value").part("one")
    with pytest.raises(ParameterError, match="do not add up"):
        part.adopt(Ledger(REPLACE))


@pytest.mark.parametrize("by", ["value", "label"])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_group_has_nothing_but_parts(relation, by):
    """Ten fits on the same rows would cost as much as one; under replace, half of one."""
    group = Ledger(relation).parallel("groups", by=by)
    others = [
        lambda: group.charge(entry(1)),
        lambda: group.child("x"),
        lambda: group.parallel("x", by="label"),
        lambda: group.repeated("x", 2),
        lambda: group.sampled("x", 0.5, 1),
        lambda: group.bootstrapped("x", 10),
        lambda: group.adopt(Ledger(group.relation)),
        lambda: fit(group),
    ]
    for other in others:
        with pytest.raises(ParameterError, match="group has no rows of its own"):
            other()
    assert group.children == []
    with pytest.raises(ParameterError, match="Choose by="):
        Ledger(relation).parallel("groups", by="records")


def fit(ledger):
    data = datasets.load("sample")
    return NaiveBayesSynthesizer(relation=str(ledger.relation)).fit(data.train, schema=data.schema, ledger=ledger)


@pytest.mark.parametrize("times", [0, -1, 1.5, math.nan, True, "2", None])
def test_what_is_repeated_is_done_once_at_least(times):
    with pytest.raises(ParameterError, match="number of times"):
        Ledger(ADD).repeated("many", times)


def test_numpy_s_whole_numbers_are_numbers():
    ledger = Ledger(ADD, epsilon=np.float32(3))
    ledger.repeated("many", np.int8(3)).charge(entry(np.int64(1)))
    assert ledger.totals == (3, 3, 3)


@pytest.mark.parametrize("wrong", [True, np.bool_(1), -1, Fraction(-1, 9), -math.inf, math.nan, "1", [1]])
def test_what_is_no_epsilon(wrong):
    with pytest.raises(ParameterError, match="An epsilon is negative or not a number"):
        exact(wrong)
    for build in (lambda: entry(wrong), lambda: entry(1, wrong), lambda: entry(1, draws=wrong)):
        with pytest.raises(ParameterError, match="less than nothing"):
            build()
    for cap in ({"epsilon": wrong}, {"plan": wrong}):
        with pytest.raises(ParameterError):
            Ledger(ADD, **cap)
    with pytest.raises(ParameterError):
        Ledger(ADD).child("part", wrong)


def test_only_questions_are_charged():
    ledger = Ledger(ADD)
    with pytest.raises(ParameterError, match="Only questions"):
        ledger.charge(0.5)
    ledger.charge()
    assert (ledger.entries, ledger.epsilon_bound) == ([], 0)


def test_a_plan_and_a_cap_are_both_kept():
    ledger = Ledger(ADD, epsilon=2.0)
    run = ledger.child("a fit", plan=0.5)
    run.charge(entry(0.5))
    with pytest.raises(BudgetError, match=r"'a fit' is capped at 0\.5"):
        run.charge(entry(0.25))
    ledger.charge(entry(1.5))
    with pytest.raises(BudgetError, match="'run' is capped at 2"):
        ledger.charge(entry(0.25))


# Void


SEEDED = "A known seed made the noise."


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(
    "part",
    [
        lambda ledger: ledger,
        lambda ledger: ledger.child("a part"),
        lambda ledger: ledger.parallel("groups", by="value").part("one"),
        lambda ledger: ledger.parallel("groups", by="label").part("one"),
        lambda ledger: ledger.repeated("many", 3),
        lambda ledger: ledger.sampled("a sample", 0.1, 4),
        lambda ledger: ledger.bootstrapped("a sample", 10),
        lambda ledger: ledger.parallel("groups", by="value").part("one").child("x").repeated("many", 2),
    ],
)
def test_of_what_is_void_nothing_is_proved_at_any_level(relation, part):
    ledger, clear = Ledger(relation), Ledger(relation)
    place = part(ledger)
    place.void_because(SEEDED)
    assert ledger.totals == (0, 0, 0)  # nothing was asked: nothing is lost
    assert (ledger.void == SEEDED) == (place is ledger)
    place.charge(entry(0.25))
    part(clear).charge(entry(0.25))
    node = place
    while node is not None:
        assert (node.epsilon_bound, node.void) == (math.inf, SEEDED)
        node = node._parent
    assert ledger.totals == clear.totals._replace(bound=math.inf)
    assert ledger.epsilon_of_noise == clear.epsilon_of_noise == clear.epsilon_bound
    ledger.child("another").charge(entry(1))
    frame = ledger.to_frame()
    assert frame["void"].tolist() == [True, place is ledger]
    assert frame["epsilon_bound"].tolist() == [math.inf, math.inf if place is ledger else 1]
    assert frame["epsilon_of_noise"].tolist() == [0.25, 1]
    document = ledger.to_dict()
    assert (document["epsilon_bound"], document["void"]) == ("infinity", SEEDED)
    assert document["epsilon_of_noise"] == ledger.epsilon_of_noise


def test_what_is_below_a_void_ledger_is_void():
    ledger = Ledger(ADD)
    ledger.void_because(SEEDED)
    part = ledger.parallel("groups", by="value").part("one")
    part.charge(entry(1))
    assert (part.epsilon_bound, part.void, part.entries[0].epsilon_bound) == (math.inf, SEEDED, math.inf)
    spent = Ledger(ADD)
    spent.charge(entry(1))
    ledger.adopt(spent)
    assert (spent.epsilon_bound, spent.epsilon_of_noise, ledger.epsilon_of_noise) == (math.inf, 1, 2)


def test_a_cap_lets_nothing_through_that_is_void(tmp_path):
    books = Books(tmp_path / "ledger.sqlite")
    books.set_cap("a" * 64, "people.csv", ADD, 100.0)
    for ledger in (Ledger(ADD, epsilon=100), books.begin("a" * 64, "people.csv", ADD, "a run").ledger()):
        data = datasets.load("sample")
        method = NaiveBayesSynthesizer(random_state=1)
        with pytest.raises(BudgetError, match=r"of this run nothing can be proved: A known seed.*Use no seed"):
            method.fit(data.train, schema=data.schema, ledger=ledger)
        assert ledger.totals == (0, 0, 0)
        empty = Ledger(ADD)
        empty.void_because(SEEDED)
        ledger.adopt(empty)  # which asked nothing
        spent = Ledger(ADD)
        spent.void_because(SEEDED)
        spent.charge(entry(1))
        with pytest.raises(BudgetError, match="nothing can be proved"):
            ledger.adopt(spent)
        fit(ledger)
        assert ledger.epsilon_bound == 1


def test_a_plan_is_for_the_noise(small_frame, small_schema):
    method = NaiveBayesSynthesizer(epsilon=0.5, random_state=1).fit(small_frame, schema=small_schema)
    assert method.ledger_.totals == (0.5, 0.5, math.inf)
    assert method.ledger_.plan == 0.5


def test_what_turns_out_to_be_void_is_lost_at_once(tmp_path):
    """The answers are there already: no cap can undo that, but it refuses what would come after."""
    books = Books(tmp_path / "ledger.sqlite")
    books.set_cap("a" * 64, "people.csv", ADD, 2.0)
    run = books.begin("a" * 64, "people.csv", ADD, "a run").ledger()
    top = Ledger(ADD, epsilon=2)
    top.adopt(run)
    part, other = run.child("a fit"), run.child("another")
    part.child("a step").charge(entry(0.5))
    other.charge(entry(0.5))
    part.void_because("The seed was told.")
    for ledger in (part, part.children[0], run, top):
        assert ledger.epsilon_bound == math.inf
    assert (other.epsilon_bound, top.epsilon_of_noise) == (0.5, 1)
    account = books.account("a" * 64, ADD)
    assert (account.epsilon_bound, account.void, account.looks) == (math.inf, "The seed was told.", 2)
    with pytest.raises(BudgetError):
        other.charge(entry(0.1))
    with pytest.raises(ParameterError, match="no reason"):
        run.void_because(" ")

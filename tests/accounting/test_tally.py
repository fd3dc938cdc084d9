"""Tests that every draw is charged: threads, processes, copies, groups, and `spending` blocks."""

import contextvars
import copy
import math
import multiprocessing
import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from joblib import parallel_config
from ledger_helpers import ADD, REPLACE, SHA, entry, new_run
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from tables import SMALL, make_frame

from dpcore import DiffPRFs, IndependentMarginals, NaiveBayesSynthesizer, spending
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import exact
from dpcore.errors import BudgetError, DPCoreError, ParameterError

PLACES = (
    lambda ledger: ledger,
    lambda ledger: ledger.child("a part"),
    lambda ledger: ledger.parallel("groups", by="value").part("one"),
    lambda ledger: ledger.parallel("groups", by="label").part("one"),
    lambda ledger: ledger.self_composed("many", 3),
    lambda ledger: ledger.poisson_subsampled("a sample", 0.1, 4),
    lambda ledger: ledger.bootstrap("a sample", 10),
    lambda ledger: ledger.parallel("groups", by="value").part("one").child("x").self_composed("many", 2),
)


@pytest.fixture
def many_switches():
    """Let threads take turns as often as possible."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def at_once(*work):
    """Run functions in threads that start together."""
    gate = threading.Barrier(len(work))
    with ThreadPoolExecutor(len(work)) as pool:
        list(pool.map(lambda one: (gate.wait(), one()), work))


def test_threads_draw_no_more_than_a_cap_allows(many_switches, store):
    store.set_cap(SHA, "people.csv", ADD, 1.0)
    for ledger in (Ledger(ADD, epsilon=1.0), new_run(store)):
        drawn = []

        def work(ledger=ledger, drawn=drawn):
            part = ledger.child("a fit")
            with suppress(BudgetError):
                for _ in range(15):
                    part.charge(entry(Fraction(1, 25)))
                    drawn.append(Fraction(1, 25))

        at_once(*[work] * 4)
        assert sum(drawn) == ledger.totals.bound == 1
    assert store.account(SHA, ADD).totals.bound == 1


def test_no_charge_of_ledgers_that_join_each_other_is_lost(many_switches):
    top = Ledger(ADD)
    below = [Ledger(ADD, name=str(i)) for i in range(6)]

    def adopt():
        for one in below:
            top.attach(one)

    def charge(ledger):
        for _ in range(80):
            ledger.charge(entry(Fraction(1, 8)))

    at_once(adopt, *(partial(charge, one) for one in below))
    assert top.totals.bound == sum(one.totals.bound for one in below) == 60
    assert sum(len(one.entries) for one in below) == 480


def test_an_open_ledger_is_not_copied(small_frame, small_schema):
    """Otherwise every fold's process would charge a copy, and the ledger would report 0."""
    ledger = Ledger(ADD, name="mine", epsilon=1.0)
    for copied, one in product((pickle.dumps, copy.copy, copy.deepcopy), (ledger, ledger.child("a part"))):
        with pytest.raises(ParameterError, match=r"would be counted nowhere.*n_jobs=1"):
            copied(one)
    how = {"cv": 2, "n_jobs": 2, "params": {"schema": small_schema, "ledger": ledger}}
    with pytest.raises((ParameterError, pickle.PicklingError)) as caught:
        cross_val_score(DiffPRFs(target="ill"), small_frame, small_frame["ill"], **how)
    assert "would be counted nowhere" in f"{caught.value} {caught.value.__cause__}"
    assert not ledger.entries


def test_a_record_is_copied_and_cannot_be_charged():
    ledger = Ledger(REPLACE, name="mine")
    group = ledger.parallel("halves", by="value")
    for spent in (1, 2):
        group.part("half").charge(entry(spent))
    ledger.self_composed("twice", 2).charge(entry(0.25))
    ledger.close()
    for made in (pickle.loads(pickle.dumps(ledger)), copy.copy(ledger), copy.deepcopy(ledger)):
        assert made.totals == ledger.totals == (4.5, 4.5, 4.5)
        assert made.to_json() == ledger.to_json()
        for part in (made, made.children[1], *made.children[0].children, ledger, ledger.children[1]):
            with pytest.raises(ParameterError, match="closed"):
                part.charge(entry(1))
        mine = Ledger(REPLACE, epsilon=4.5)
        mine.attach(made)  # what it spent counts
        assert mine.epsilon_bound == 4.5
    with pytest.raises(ParameterError, match="closed"):
        made.children[0].part("another")
    assert all(child._parent is ledger for child in ledger.children)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="forks as on POSIX")
def test_charges_of_a_fork_are_refused(store):
    for ledger in (Ledger(ADD), new_run(store)):
        part, text = ledger.child("a part"), os.pipe()
        ledger._lock.acquire()  # as another thread may, at the moment of the fork
        child = os.fork()
        if child == 0:
            try:
                part.charge(entry(1))
            except ParameterError as error:
                os.write(text[1], str(error).encode())
            os._exit(0)
        ledger._lock.release()
        os.waitpid(child, 0)
        assert b"another process" in os.read(text[0], 1000)


def test_losses_of_an_attached_ledger_count(store):
    spent = [Ledger(ADD, name=str(i)) for i in range(4)]
    for one in spent:
        one.charge(entry(0.25, 0.5))
    top, mine = new_run(store), Ledger(ADD, epsilon=1.0)
    top.child("a part").attach(mine)
    for one in spent[:2]:
        mine.attach(one)
    with pytest.raises(BudgetError, match="capped at 1"):
        mine.attach(spent[2])
    with pytest.raises(BudgetError):
        spent[0].charge(entry(0.1))
    spent[2].charge(entry(1))  # it was not attached
    assert mine.totals == top.totals == store.account(SHA, ADD).totals == (0.5, 1, 1)
    assert mine.children == spent[:2]


def test_no_ledger_is_attached_twice_or_to_itself_or_to_another_relation():
    top, other = Ledger(ADD), Ledger(ADD)
    middle = top.child("middle")
    below = middle.child("below")
    part = Ledger(REPLACE).parallel("groups", by="value").part("one")
    for by, one, cause in (
        *((below, one, "part of itself") for one in (top, middle, below)),
        (top, top, "part of itself"),
        *((by, one, "is already a part of") for by in (top, other) for one in (middle, below)),
        *((by, Ledger(REPLACE), "do not add up") for by in (other, part)),
        (Ledger(REPLACE), other, "do not add up"),
    ):
        with pytest.raises(ParameterError, match=cause):
            by.attach(one)
    assert other.children == []


def test_a_parallel_group_has_only_parts():
    """Otherwise ten fits on the same rows would cost as much as one, or half under replace."""
    for relation, by in product((ADD, REPLACE), ("value", "label")):
        group = Ledger(relation).parallel("groups", by=by)
        charges = (lambda group: group.charge(entry(1)), lambda group: group.attach(Ledger(group.relation)), fit)
        for other in (*charges, *PLACES[1:]):
            with pytest.raises(ParameterError, match="group has no rows of its own"):
                other(group)
        assert group.children == []
    with pytest.raises(ParameterError, match="Choose by="):
        Ledger(ADD).parallel("groups", by="records")


def fit(ledger, **how):
    method = NaiveBayesSynthesizer(relation=str(ledger.relation), **how)
    return method.fit(make_frame(30, 1), schema=SMALL, ledger=ledger)


COSTS = (
    exact,
    entry,
    lambda cost: entry(1, cost),
    lambda times: entry(1, draws=times),
    lambda cap: Ledger(ADD, epsilon=cap),
    lambda plan: Ledger(ADD, plan=plan),
)


def test_losses_that_are_no_numbers_are_refused():
    for wanted, wrong in product(COSTS, (True, np.bool_(1), -1, math.nan, "1")):
        with pytest.raises(ParameterError):
            wanted(wrong)
    for times in (0, 1.5, True):
        with pytest.raises(ParameterError, match="number of times"):
            Ledger(ADD).self_composed("many", times)
    ledger = Ledger(ADD, epsilon=np.float32(3))  # NumPy's are numbers
    with pytest.raises(ParameterError, match="not an Entry"):
        ledger.charge(0.5)
    ledger.charge()
    assert (ledger.entries, ledger.epsilon_bound) == ([], 0)
    ledger.self_composed("many", np.int8(3)).charge(entry(np.int64(1)))
    assert ledger.totals == (3, 3, 3)


def test_a_plan_and_a_cap_are_both_kept(small_frame, small_schema):
    ledger = Ledger(ADD, epsilon=2.0)
    run = ledger.child("a fit", plan=0.5)
    for account, cost, text in ((run, 0.5, "'a fit' is capped at 0.5"), (ledger, 1.5, "'run' is capped at 2")):
        account.charge(entry(cost))
        with pytest.raises(BudgetError, match=text):
            account.charge(entry(0.25))
    method = NaiveBayesSynthesizer(epsilon=0.5, random_state=1).fit(small_frame, schema=small_schema)
    assert method.ledger_.totals == (0.5, 0.5, math.inf)  # a plan is for the noise
    assert method.ledger_.plan == 0.5


SEEDED = "A known seed made the noise."


def test_a_void_guarantee_holds_at_all_levels_above_and_below():
    for relation, part in product((ADD, REPLACE), PLACES):
        ledger, clear = Ledger(relation), Ledger(relation)
        index = part(ledger)
        index.void_because(SEEDED)
        assert ledger.totals == (0, 0, 0)  # without charges
        assert (ledger.guarantee_void == SEEDED) == (index is ledger)
        index.charge(entry(0.25))
        part(clear).charge(entry(0.25))
        assert all((node.epsilon_bound, node.guarantee_void) == (math.inf, SEEDED) for node in index._ancestors())
        assert ledger.totals == clear.totals._replace(bound=math.inf)
        assert ledger.epsilon_nominal == clear.epsilon_nominal == clear.epsilon_bound
        document = ledger.to_dict()
        assert (document["epsilon_bound"], document["void"]) == ("infinity", SEEDED)
        ledger.child("another").charge(entry(1))
        frame = ledger.to_frame()
        assert frame["void"].tolist() == [True, index is ledger]
        assert frame["epsilon_bound"].tolist() == [math.inf, math.inf if index is ledger else 1]
        assert frame["epsilon_nominal"].tolist() == [0.25, 1]
    ledger, spent = Ledger(ADD), Ledger(ADD)  # and what is put under it later
    ledger.void_because(SEEDED)
    part = ledger.parallel("groups", by="value").part("one")
    part.charge(entry(1))
    assert (part.epsilon_bound, part.guarantee_void, part.entries[0].epsilon_bound) == (math.inf, SEEDED, math.inf)
    spent.charge(entry(1))
    ledger.attach(spent)
    assert (spent.epsilon_bound, spent.epsilon_nominal, ledger.epsilon_nominal) == (math.inf, 1, 2)


def test_a_cap_refuses_void_charges(store):
    store.set_cap(SHA, "people.csv", ADD, 100.0)
    for ledger in (Ledger(ADD, epsilon=100), new_run(store)):
        with pytest.raises(BudgetError, match=r"nothing can be proved about this run: A known seed.*Use no seed"):
            fit(ledger, random_state=1)
        assert ledger.totals == (0, 0, 0)
        empty, spent = Ledger(ADD), Ledger(ADD)
        for one in (empty, spent):
            one.void_because(SEEDED)
        ledger.attach(empty)  # without charges
        spent.charge(entry(1))
        with pytest.raises(BudgetError, match="nothing can be proved"):
            ledger.attach(spent)
        fit(ledger, epsilon=1.0)
        assert ledger.epsilon_bound == 1


def test_a_guarantee_found_void_later_makes_bounds_infinite(store):
    """The draws have happened, but a cap refuses further ones."""
    store.set_cap(SHA, "people.csv", ADD, 2.0)
    run, top = new_run(store), Ledger(ADD, epsilon=2)
    top.attach(run)
    part, other = run.child("a fit"), run.child("another")
    part.child("a step").charge(entry(0.5))
    other.charge(entry(0.5))
    part.void_because("The seed was told.")
    assert [one.epsilon_bound for one in (part, part.children[0], run, top)] == [math.inf] * 4
    assert (other.epsilon_bound, top.epsilon_nominal) == (0.5, 1)
    account = store.account(SHA, ADD)
    assert (account.epsilon_bound, account.void, account.looks, account.void_looks) == (0, "The seed was told.", 0, 2)
    with pytest.raises(BudgetError):
        other.charge(entry(0.1))
    with pytest.raises(ParameterError, match=r"`reason` is empty"):
        run.void_because(" ")


FOREST = DiffPRFs(relation="replace", n_trees=1, max_depth=1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_search_costs_the_sum_of_its_folds_and_the_refit(jobs, small_frame, small_schema):
    search = GridSearchCV(FOREST, {"epsilon": [0.5, 1.0]}, cv=KFold(3), n_jobs=jobs)
    with spending(relation="replace") as ledger, parallel_config("threading"):
        search.fit(small_frame, small_frame["ill"], schema=small_schema)
    assert ledger.epsilon_bound == 3 * 1.5 + search.best_params_["epsilon"]
    assert search.best_estimator_.ledger_ in ledger.children
    assert search.best_estimator_.n_features_in_ == len(small_schema) - 1
    search.best_estimator_.fit(small_frame, schema=small_schema)
    assert len(ledger.children) == 7  # outside of a block nothing is charged to it


def test_caps_refuse_and_blocks_nest(small_frame, small_schema):
    method, mine = IndependentMarginals(relation="add_remove"), Ledger("add_remove")
    with spending(2.5, relation="add_remove") as outer:
        with spending(ledger=mine):
            method.fit(small_frame, schema=small_schema)
        with spending(1.2, relation="add_remove") as inner:
            method.fit(small_frame, schema=small_schema)
            with pytest.raises(BudgetError, match=r"capped at 1\.2"):
                method.fit(small_frame, schema=small_schema)
            spent = inner.epsilon_bound
            method.fit(small_frame, schema=small_schema, ledger=Ledger("add_remove"))
        assert outer.children == [mine, inner]
        assert (mine.epsilon_bound, inner.epsilon_bound, outer.epsilon_bound) == (1, spent, 1 + spent)
        with pytest.raises(ParameterError, match="uses the relation add_remove, the method replace"):
            clone(method).set_params(relation="replace").fit(small_frame, schema=small_schema)
    with pytest.raises(ParameterError, match="together with a cap"), spending(1, ledger=mine):
        pass


def test_fits_that_no_block_could_count_are_refused(small_frame, small_schema, monkeypatch):
    method = IndependentMarginals(relation="add_remove")
    with spending(relation="add_remove") as ledger:
        sent = pickle.loads(pickle.dumps(method))
        sent._sender = (sent._sender[0], "another")  # as in another process, be its number the same
        with pytest.raises(ParameterError, match="another process"):
            clone(sent).fit(small_frame, schema=small_schema)
        assert not ledger.entries
    monkeypatch.setattr("dpcore.accounting.spending.OPEN", [Ledger("add_remove"), Ledger("add_remove")])
    with pytest.raises(ParameterError, match="Several"):  # blocks of other threads
        method.fit(small_frame, schema=small_schema)


def test_ended_blocks_and_blocks_of_threads_let_nothing_past_a_cap(small_frame, small_schema):
    def spend():
        IndependentMarginals(relation="add_remove").fit(small_frame, schema=small_schema)

    def open_and_spend():
        with spending(5.0):
            spend()

    with spending(5.0) as ended:
        context = contextvars.copy_context()
    with spending(0.5) as ledger, ThreadPoolExecutor(1) as threads:
        for work in (lambda: context.run(spend), threads.submit(spend).result, threads.submit(open_and_spend).result):
            with pytest.raises(DPCoreError):
                work()
    first, second = open_blocks(), open_blocks()  # which end out of order
    ledgers = [next(first), next(second)]
    first.close()
    second.close()
    spend()
    assert [one.epsilon_bound for one in (ended, ledger, *ledgers)] == [0, 0, 0, 0]


def open_blocks():
    with spending(5.0) as ledger:
        yield ledger

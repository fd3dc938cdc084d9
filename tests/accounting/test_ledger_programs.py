"""Random programs over one ledger: threads, cancels, attached ledgers and groups, all charged.

A source without noise records the true loss of every answer that the door lets pass. Losses on the
same rows add up. Of parts with disjoint rows the largest counts, and twice under replace if values
form them. The tests compute this again without the ledger.
"""

import copy
import pickle
import tempfile
import threading
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_as_test
from ledger_helpers import ADD, REPLACE, SHA, new_run

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.store import LedgerStore
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import BudgetError, ParameterError
from dpcore.mechanisms.noise import Noise

SCHEMA = Schema(columns=(Column(name="a", kind="categorical", categories=("0", "1")),), max_rows=9)
CODES = np.array([[0], [1], [1]], dtype=np.uint8, order="F")
COSTS = st.sampled_from([Fraction(1, 2**power) for power in range(1, 7)])  # scales are floats: these are exact
PLACES = st.integers(0, 10**6)
MOVES = st.sampled_from(  # that a ledger with an account refuses
    [
        Ledger.attach,
        lambda above, _: copy.copy(above),
        lambda above, _: copy.deepcopy(above),
        lambda above, _: pickle.dumps(above),
    ]
)
MEMORY = Path("/dev/shm")


class Told(Noise):
    """Source that gives noiseless counts and records the loss of each answer at its index."""

    on_counts = "told"
    label = "none"

    def __init__(self, drawn, place, person):
        self.drawn, self.place, self.person = drawn, place, person

    def counts(self, counts, scale):
        self.drawn[self.place].append(Fraction(self.person) / Fraction(scale))
        return counts.astype(float)

    reals = select = select_grouped = None  # these programs ask for counts alone


class Programs(RuleBasedStateMachine):
    """State machine of one ledger and its parts; `truth` has the losses drawn at each index."""

    filed = False

    @initialize(relation=st.sampled_from([ADD, REPLACE]), cap=st.sampled_from([None, Fraction(3)]))
    def begin(self, relation, cap):
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.store = LedgerStore(Path(self.folder.name) / "ledger.sqlite")
        self.store.set_cap(SHA, "people.csv", relation, None if cap is None else float(cap))
        self.cap = cap
        self.ledger = new_run(self.store, relation) if self.filed else Ledger(relation, epsilon=cap)
        self.places = [self.ledger]  # that may be charged
        self.groups = []
        self.loose = []  # ledgers without a parent
        self.drawn = defaultdict(list)  # by place: what was really drawn
        self.form = {id(self.ledger): ("sum", 1)}
        self.below = defaultdict(list)

    def teardown(self):
        if hasattr(self, "store"):
            self.folder.cleanup()

    def lies(self, part, above, how, times=1):
        self.form[id(part)] = (how, times)
        self.below[id(above)].append(part)
        return part

    def ask(self, index, cost, times=1):
        """Query through the door; the query is answered or refused."""
        source = Told(self.drawn, id(index), index.relation.histogram_l1)
        table = PrivateTable(CODES, SCHEMA, index, source)
        for _ in range(times):
            try:
                table.counts([("a",)], epsilon=cost)
            except (BudgetError, ParameterError):
                return

    def at(self, where, indices=None):
        found = self.places if indices is None else indices
        return found[where % len(found)]

    @rule(where=PLACES, cost=COSTS)
    def question(self, where, cost):
        self.ask(self.at(where, self.places + self.groups), cost)  # groups have no rows: they refuse

    @rule(where=st.lists(PLACES, min_size=2, max_size=4), cost=COSTS)
    def threads(self, where, cost):
        work = [threading.Thread(target=self.ask, args=(self.at(index), cost / 8, 5)) for index in where]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()

    @rule(where=PLACES, plan=st.none() | COSTS)
    def child(self, where, plan):
        above = self.at(where)
        self.places.append(self.lies(above.child("a part", plan=plan), above, "sum"))

    @rule(where=PLACES, times=st.integers(-2, 3), cost=COSTS)
    def repeated(self, where, times, cost):
        above = self.at(where)
        try:
            part = above.self_composed("many", times)
        except ParameterError:
            assert times < 1
        else:
            self.places.append(self.lies(part, above, "sum", max(times, 1)))  # who asks, asks once at least
            self.ask(part, cost)

    @rule(where=PLACES, by=st.sampled_from(["value", "label"]), costs=st.lists(COSTS, min_size=1, max_size=3))
    def group(self, where, by, costs):
        above = self.at(where)
        twice = 2 if by == "value" and above.relation == REPLACE else 1
        group = self.lies(above.parallel("a group", by=by), above, "largest", twice)
        self.groups.append(group)
        for cost in costs:
            self.places.append(self.lies(group.part("a part"), group, "sum"))
            self.ask(self.places[-1], cost)

    @rule(cost=COSTS, relation=st.sampled_from([ADD, REPLACE]))
    def loose_ledger(self, cost, relation):
        made = Ledger(relation, name="loose")
        self.form[id(made)] = ("sum", 1)
        self.ask(made, cost)
        self.loose.append(made)

    @precondition(lambda self: self.loose)
    @rule(where=PLACES, which=PLACES)
    def adopted(self, where, which):
        above, made = self.at(where), self.at(which, self.loose)
        try:
            above.attach(made)
        except ParameterError:
            assert made.relation != above.relation
        except BudgetError:
            assert self.cap is not None or any(node.plan is not None for node in above._ancestors())
        else:
            self.loose.remove(made)
            self.lies(made, above, "sum")
            self.places.append(made)

    @rule(where=PLACES, which=PLACES, move=MOVES)
    def refused(self, where, which, move):
        with pytest.raises(ParameterError):
            move(self.at(where), self.at(which))

    @rule(where=PLACES, cost=COSTS, after=st.integers(0, 3))
    def canceled(self, where, cost, after):
        """Stop a fit after some answers: they stay charged, and its ledger is closed."""
        above = self.at(where)
        part = self.lies(above.child("a fit", plan=1), above, "sum")
        try:
            self.ask(part, cost / 4, after)
        finally:
            part.close(finished=False)
        before = len(self.drawn[id(part)])
        self.ask(part, cost)
        assert len(self.drawn[id(part)]) == before

    def spent(self, index):
        """Return the true composed loss at an index and below it."""
        how, times = self.form[id(index)]
        below = [self.spent(part) for part in self.below[id(index)]]
        inside = max(below, default=0) if how == "largest" else sum(below)
        return times * (sum(self.drawn[id(index)], start=Fraction(0)) + inside)

    @invariant()
    def no_draw_is_unbooked(self):
        if not hasattr(self, "ledger"):
            return
        drawn = self.spent(self.ledger)
        assert self.ledger.totals.bound == drawn  # nor more than drawn: every charge was answered
        assert self.cap is None or drawn <= self.cap
        assert self.ledger.breakdown()["epsilon_nominal"].sum() == drawn  # powers of two: sums of floats are exact
        account = self.store.account(SHA, self.ledger.relation)
        if self.filed:
            assert (account.totals.bound if account else 0) >= drawn


class FiledPrograms(Programs):
    filed = True


QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@pytest.mark.parametrize("programs", [8, pytest.param(250, marks=pytest.mark.slow)])
@pytest.mark.parametrize("machine", [Programs, FiledPrograms])
def test_all_that_is_drawn_is_charged(machine, programs):
    how = settings(max_examples=programs, stateful_step_count=20, deadline=None, derandomize=programs < 100)
    how = settings(how, suppress_health_check=QUIET, database=None)
    run_as_test(machine, settings=how)

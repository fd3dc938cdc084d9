"""One ledger for all fits of a block, whatever searches, threads and processes make of them."""

import contextvars
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from dpcore import DiffPRFs, IndependentMarginals, Ledger, spending
from dpcore.errors import BudgetError, DPCoreError, ParameterError

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
        with pytest.raises(ParameterError, match="counts under add_remove, the method under replace"):
            clone(method).set_params(relation="replace").fit(small_frame, schema=small_schema)
    with pytest.raises(ParameterError, match="a cap beside it"), spending(1, ledger=mine):
        pass


def test_what_nobody_could_count_is_refused(small_frame, small_schema, monkeypatch):
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


def test_blocks_that_ended_and_blocks_of_threads_let_nothing_past_a_cap(small_frame, small_schema):
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

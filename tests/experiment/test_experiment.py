"""Sweeps: the same numbers as direct calls, in one tidy frame, whoever computes them and in whatever order."""

import dataclasses
import gc
import pickle
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from sklearn.base import clone
from small_sweeps import asked, children, methods, without_times

from dpcore import evaluate, experiment
from dpcore.accounting.ledger import Ledger
from dpcore.errors import DataError, ParameterError
from dpcore.evaluate.evaluator import Evaluator
from dpcore.experiment import engine, sweeps
from dpcore.experiment.engine import Measure, Run
from dpcore.methods import NaiveBayesSynthesizer

MODELS = ("logistic regression", "Bayes net")
EPSILONS = ["epsilon_claimed", "epsilon_nominal", "epsilon_bound"]


def few(**other):
    """A sweep of one run per method."""
    return {"epsilons": [1.0], "repeats": 1, "n_jobs": 1, **other}


def with_printed():
    return methods() | {"printed": NaiveBayesSynthesizer(mode="published", rows=150, random_state=3)}


@pytest.fixture(scope="module")
def swept(data):
    return experiment.sweep(with_printed(), data, **few(epsilons=[0.5, 2.0], repeats=2, models=MODELS))


def test_one_row_per_run_and_metric(swept):
    assert list(swept.columns) == experiment.COLUMNS
    keys = swept[["method", "epsilon", "repeat", "metric", "model"]]
    assert len(keys.drop_duplicates()) == len(swept) == 2 * 2 * (2 * 2 + 1)
    pd.testing.assert_frame_equal(keys, keys.sort_values(list(keys.columns), ignore_index=True))
    models = swept.groupby("method")["model"].agg(set)
    assert models.to_dict() == {"C1": {*MODELS}, "forest": {""}, "printed": {*MODELS}}
    assert swept["value"].between(0, 1).all()
    assert (swept[["error", "relation", "metric"]] == ["", "add_remove", "accuracy"]).all(axis=None)


def test_a_sweep_is_what_direct_calls_give(swept, data):
    for (label, epsilon, repeat), rows in swept.groupby(["method", "epsilon", "repeat"]):
        method = clone(with_printed()[label]).set_params(epsilon=epsilon, random_state=3 + repeat)
        fitted = method.fit(data.train, schema=data.schema)
        values = rows.set_index("model")["value"].to_dict()
        if label == "forest":
            assert values == {"": fitted.score(data.test)}
        else:
            how = {"models": MODELS, "include_real": False}
            direct = evaluate.tstr(data.train, data.test, fitted.sample(), data.schema, "ill", **how)
            assert values == direct.set_index("model")["accuracy"].to_dict()
        assert (rows[EPSILONS] == [fitted.ledger_.epsilons[name] for name in EPSILONS]).all(axis=None)
        assert (rows["void"] == fitted.ledger_.guarantee_void).all()


def test_repeats_differ_and_their_seeds_count_up():
    named = {mode: NaiveBayesSynthesizer(mode=mode, random_state=7) for mode in ("corrected", "published")}
    runs = sweeps.plan_runs(named, [0.5, 1.0], 3)
    assert [run.labels["repeat"] for run in runs] == [0] * 4 + [1] * 4 + [2] * 4  # whole curves first
    assert {(run.labels["repeat"], run.method.random_state) for run in runs} == {(0, 7), (1, 8), (2, 9)}
    free = sweeps.plan_runs({"free": NaiveBayesSynthesizer()}, [1.0], 2)
    assert [run.method.random_state for run in free] == [None, None]


def test_rows_are_passed_on_and_the_callers_methods_left_as_they_were(data):
    mine = {"C1": NaiveBayesSynthesizer(epsilon=9.0, random_state=1)}
    before = mine["C1"].get_params()
    found = experiment.sweep(mine, data, **few(rows=40, measures=["1-way AVD"]))
    assert mine["C1"].get_params() == before
    assert not [name for name in vars(mine["C1"]) if name.endswith("_")]
    method = clone(mine["C1"]).set_params(epsilon=1.0).fit(data.train, schema=data.schema)
    assert found["value"].tolist() == Evaluator(data).of_rows(method, method.sample(40), [("1-way AVD", "")])


def failing():
    return {
        "good": NaiveBayesSynthesizer(random_state=1),
        "short": NaiveBayesSynthesizer(variant="C2", rows=20, random_state=1),  # cannot give 50 rows
        "swapped": NaiveBayesSynthesizer(relation="swap", random_state=1),
    }


def test_a_run_that_fails_says_why_and_the_others_go_on(data):
    frame = experiment.sweep(failing(), data, **few(models=MODELS, rows=50))
    good = frame[frame["method"] == "good"]
    assert (good["value"].notna() & (good["error"] == "")).all()
    for label, reason in (("short", "20 rows"), ("swapped", "relation")):
        lost = frame[frame["method"] == label]
        assert lost["error"].str.contains(reason).all()
        assert lost[["value", *EPSILONS, "seconds"]].isna().all(axis=None)
        assert set(lost["model"]) == set(MODELS)


def test_what_no_run_could_do_is_refused_at_once(data):
    untargeted = dataclasses.replace(data, schema=dataclasses.replace(data.schema, target=None))
    broken = dataclasses.replace(data, test=data.test.drop(columns="age"))
    forest = {"forest": methods()["forest"]}
    for named, given, how, match in (
        (methods(), data, {"epsilons": []}, "nothing to run"),
        (methods(), untargeted, {}, "class column"),
        (forest, untargeted, {"measures": ["balanced accuracy"]}, "class column"),
        (methods(), broken, {}, "age"),
        (methods(), data, {"models": ["oracle"]}, "model"),
        (methods(), data, {"measures": ["beauty"]}, "not known"),
        (forest, data, {"measures": ["accuracy", "SVM error"]}, "releases a classifier and no rows.*balanced accuracy"),
    ):  # fmt: skip
        with pytest.raises(DataError if given is broken else ParameterError, match=match):
            experiment.sweep(named, given, **few(**how))


class Broken(Measure):
    def values(self, run, synthetic):
        raise DataError("There is nothing to measure by.", "Use other data.")


def test_what_cannot_be_measured_ends_the_loop_and_runs_keep_nothing_of_what_they_learned(data):
    opened = []
    runs = [Run(method, {"repeat": repeat}) for repeat, method in enumerate(methods().values())]

    def ledgers(run):
        opened.append(Ledger(relation="add_remove"))
        return lambda: opened[-1]

    with pytest.raises(DataError, match="nothing to measure by"):
        list(engine.stream(runs, Broken(data), ledgers=ledgers))
    assert len(opened) == 1  # before more is spent
    assert len(list(engine.stream(runs, Measure(data)))) == 2
    assert not [run for run in runs if hasattr(run.method, "ledger_")]


# Several processes: what is sent to them is pickled here as there, and only where it matters they are real ones


class Inline:
    """loky's executor without processes: each job is done when it is handed out, on a copy of what it is sent."""

    closed = 0

    def __init__(self, count, initializer, initargs, env):
        engine._sent.clear()
        initializer(*pickle.loads(pickle.dumps(initargs)))
        assert env["OMP_NUM_THREADS"] == "1"

    def submit(self, work, job):
        done = Future()
        done.set_result(work(pickle.loads(pickle.dumps(job))))
        return done

    def shutdown(self, *, kill_workers):
        Inline.closed += kill_workers


@pytest.fixture
def inline(monkeypatch):
    monkeypatch.setattr(engine, "_sent", [])
    monkeypatch.setattr(engine.loky, "ProcessPoolExecutor", Inline)
    monkeypatch.setattr(Inline, "closed", 0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_told_and_can_cancel(data, inline, n_jobs):
    seen = []

    def stop(fraction, text):
        seen.append((fraction, text))
        if len(seen) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        experiment.sweep(methods(), data, **asked(repeats=3, n_jobs=n_jobs, progress=stop))
    assert seen == [(1 / 12, "run 1"), (2 / 12, "run 2")]
    assert Inline.closed == (1 if n_jobs == 2 else 0)
    assert engine._hired == 0


def test_a_stream_may_be_closed_early_and_read_in_any_order(data, whole, inline):
    for n_jobs, taken in ((1, 1), (2, 0), (2, 3)):
        runs = experiment.stream(methods(), data, **asked(n_jobs=n_jobs))
        found = [next(runs) for _ in range(taken)]
        runs.close()
        assert next(runs, None) is None
        assert [fraction for fraction, _ in found] == pytest.approx([(i + 1) / 8 for i in range(taken)])
        assert engine._hired == 0
    found = [frame for _, frame in experiment.stream(methods(), data, **asked(n_jobs=2))]
    for frames in (found, found[::-1]):
        pd.testing.assert_frame_equal(without_times(sweeps.join_runs(frames)), without_times(whole))


def workers():
    return {pid for pid in children("self") if b"popen_loky" in Path(f"/proc/{pid}/cmdline").read_bytes()}


@pytest.mark.slow
def test_who_cancels_stops_nobody_elses_sweep(data, whole):
    """Two sessions of one server are two threads. Workers end with their sweep, and give what one process gives."""
    before, begun = workers(), threading.Event()

    def other():
        with closing(experiment.stream(methods(), data, **asked(n_jobs=2))) as runs:
            found = [next(runs)]
            begun.set()
            return [*found, *runs]

    with ThreadPoolExecutor(1) as thread:
        kept = thread.submit(other)
        cancelled = experiment.stream(failing(), data, **asked(repeats=9, rows=50, n_jobs=2))
        next(cancelled)
        begun.wait()
        cancelled.close()
        frames = [frame for _, frame in kept.result()]
        gc.collect()
    pd.testing.assert_frame_equal(without_times(sweeps.join_runs(frames)), without_times(whole))
    assert workers() <= before

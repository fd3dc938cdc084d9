"""Sweeps: the same numbers as direct calls, in one tidy frame, whoever computes them and in whatever order."""

import dataclasses
import gc
import math
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpcore import evaluate, experiment
from dpcore.accounting.ledger import Ledger
from dpcore.datasets import Dataset, split
from dpcore.errors import DataError, ParameterError
from dpcore.experiment import engine
from dpcore.experiment.engine import Measure, Run
from dpcore.methods import NaiveBayesSynthesizer

MODELS = ("logistic regression", "Bayes net")


@pytest.fixture(scope="module")
def data(small_frame, small_schema):
    train, test = split(small_frame)
    return Dataset(name="small", train=train, test=test, schema=small_schema)


def methods(seed=3):
    return {
        "C1": NaiveBayesSynthesizer(x_source="model", random_state=seed),
        "printed": NaiveBayesSynthesizer(mode="paper", rows=150, random_state=seed),
    }


def without_times(frame):
    return frame.drop(columns="seconds")


@pytest.fixture(scope="module")
def swept(data):
    return experiment.sweep(methods(), data, epsilons=[0.5, 2.0], repeats=2, models=MODELS, n_jobs=1)


def test_one_row_per_run_and_metric(swept):
    assert list(swept.columns) == experiment.COLUMNS
    keys = swept[["method", "epsilon", "repeat", "metric", "model"]]
    assert len(swept) == 2 * 2 * 2 * 2
    assert not keys.duplicated().any()
    pd.testing.assert_frame_equal(keys, keys.sort_values(list(keys.columns), ignore_index=True))
    assert set(swept["metric"]) == {"accuracy"}
    assert set(swept["model"]) == set(MODELS)
    assert swept["value"].between(0, 1).all()
    assert (swept["seconds"] > 0).all()
    assert (swept["error"] == "").all()
    assert (swept["relation"] == "add_remove").all()


def test_a_sweep_is_what_direct_calls_give(swept, data):
    for (label, epsilon, repeat), rows in swept.groupby(["method", "epsilon", "repeat"]):
        method = clone(methods()[label]).set_params(epsilon=epsilon, random_state=3 + repeat)
        synthetic = method.fit(data.train, schema=data.schema).sample()
        direct = evaluate.tstr(
            data.train, data.test, synthetic, data.schema, "ill", models=MODELS, include_real=False
        ).set_index("model")["accuracy"]
        for row in rows.itertuples():
            assert row.value == direct[row.model]
            assert row.epsilon_claimed == method.ledger_.epsilon_claimed
            assert (row.epsilon_of_noise, row.epsilon_bound) == (method.ledger_.epsilon_of_noise, math.inf)
            assert row.void == method.ledger_.void


def test_every_run_has_its_cost(swept):
    corrected, printed = (swept[swept["method"] == label] for label in ("C1", "printed"))
    assert (corrected["epsilon_claimed"] == corrected["epsilon"]).all()
    assert (corrected["epsilon_of_noise"] == corrected["epsilon"]).all()
    assert (printed["epsilon_claimed"] == printed["epsilon"]).all()
    loss = 150 * 5 * math.log(2) / (2 * math.ceil(math.log(2 * 1_000)))
    np.testing.assert_allclose(printed["epsilon_of_noise"], loss * printed["epsilon"])


def test_two_workers_give_the_same(swept, data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both = experiment.sweep(methods(), data, epsilons=[0.5, 2.0], repeats=2, models=MODELS, n_jobs=2)
        gc.collect()
    pd.testing.assert_frame_equal(without_times(both), without_times(swept))


def test_repeats_differ_and_their_seeds_count_up(data):
    runs = experiment.plan(methods(7), [0.5, 1.0], 3)
    assert [run.labels["repeat"] for run in runs] == [0] * 4 + [1] * 4 + [2] * 4  # whole curves first
    assert [run.labels["method"] for run in runs[:4]] == ["C1", "C1", "printed", "printed"]
    assert [run.method.epsilon for run in runs[:4]] == [0.5, 1.0, 0.5, 1.0]
    assert {(run.labels["repeat"], run.method.random_state) for run in runs} == {(0, 7), (1, 8), (2, 9)}
    free = experiment.plan({"free": NaiveBayesSynthesizer()}, [1.0], 2)
    assert [run.method.random_state for run in free] == [None, None]


def test_the_callers_methods_are_left_as_they_were(data):
    mine = {"C1": NaiveBayesSynthesizer(epsilon=9.0, random_state=1)}
    before = mine["C1"].get_params()
    experiment.sweep(mine, data, epsilons=[1], repeats=1, n_jobs=1)
    assert mine["C1"].get_params() == before
    assert not [name for name in vars(mine["C1"]) if name.endswith("_")]


def test_rows_are_passed_on(data):
    few = experiment.sweep(methods(), data, epsilons=[1.0], repeats=1, rows=40, n_jobs=1)
    method = methods()["C1"].set_params(epsilon=1.0).fit(data.train, schema=data.schema)
    direct = evaluate.tstr(
        data.train, data.test, method.sample(40), data.schema, "ill", models=MODELS[:1], include_real=False
    )
    assert few.loc[few["method"] == "C1", "value"].tolist() == direct["accuracy"].tolist()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_run_that_fails_says_why_and_the_others_go_on(data, n_jobs):
    both = {
        "good": NaiveBayesSynthesizer(random_state=1),
        "short": NaiveBayesSynthesizer(variant="C2", rows=20, random_state=1),  # cannot give 50 rows
        "swapped": NaiveBayesSynthesizer(relation="swap", random_state=1),
    }
    frame = experiment.sweep(both, data, epsilons=[1.0, 2.0], repeats=1, models=MODELS, rows=50, n_jobs=n_jobs)
    assert list(frame.columns) == experiment.COLUMNS
    assert len(frame) == 3 * 2 * 2
    good = frame[frame["method"] == "good"]
    assert good["value"].notna().all()
    assert (good["error"] == "").all()
    for label, reason in (("short", "20 rows"), ("swapped", "relation")):
        lost = frame[frame["method"] == label]
        assert lost["error"].str.contains(reason).all()
        assert lost[["value", "epsilon_claimed", "epsilon_of_noise", "epsilon_bound", "seconds"]].isna().all(axis=None)
        assert set(lost["model"]) == set(MODELS)


def test_all_runs_may_fail(data):
    frame = experiment.sweep({"a": NaiveBayesSynthesizer(mode="fast")}, data, epsilons=[1.0], repeats=2, n_jobs=1)
    assert frame["value"].isna().all()
    assert len(frame) == 2


class CancelledError(Exception):
    pass


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_told_and_can_cancel_without_warnings(data, n_jobs):
    seen = []

    def stop(fraction, text):
        seen.append((fraction, text))
        if len(seen) == 2:
            raise CancelledError

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CancelledError):
            experiment.sweep(methods(), data, epsilons=[1.0, 2.0], repeats=3, n_jobs=n_jobs, progress=stop)
        gc.collect()
    assert seen == [(1 / 12, "run 1"), (2 / 12, "run 2")]
    done = []
    experiment.sweep(
        methods(), data, epsilons=[1.0], repeats=1, n_jobs=n_jobs, progress=lambda *call: done.append(call)
    )
    assert done == [(0.5, "run 1"), (1.0, "run 2")]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("taken", [0, 1, 3])
def test_a_stream_may_be_closed_early(data, n_jobs, taken):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runs = experiment.stream(methods(), data, epsilons=[0.5, 1.0, 2.0], repeats=2, n_jobs=n_jobs)
        found = [next(runs) for _ in range(taken)]
        runs.close()
        gc.collect()
        assert next(runs, None) is None
        # The workers are free for the next sweep.
        again = experiment.sweep(methods(), data, epsilons=[1.0], repeats=1, n_jobs=n_jobs)
        gc.collect()
    assert [fraction for fraction, _ in found] == [pytest.approx((i + 1) / 12) for i in range(taken)]
    assert len(again) == 2


def test_who_cancels_stops_nobody_elses_sweep(data):
    """Two sessions of one server are two threads. Workers end with their sweep, and with them what they remember."""
    before, begun = workers(), threading.Event()

    def other():
        with closing(experiment.stream(methods(), data, epsilons=[0.5, 1.0], repeats=2, n_jobs=2)) as runs:
            found = [next(runs)]
            begun.set()
            return [*found, *runs]

    with ThreadPoolExecutor(1) as thread:
        kept = thread.submit(other)
        cancelled = experiment.stream(methods(), data, epsilons=[0.5, 1.0], repeats=9, n_jobs=2)
        next(cancelled)
        begun.wait()
        cancelled.close()
        assert len(kept.result()) == 8
    assert workers() <= before


def workers():
    """The worker processes of this one, where the system tells."""
    told = [file.read_text().split() for file in Path("/proc/self/task").glob("*/children")]
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pids in told for pid in pids}
    return {pid for pid, command in commands.items() if b"popen_loky" in command}


def test_the_stream_is_the_sweep(data):
    found = list(experiment.stream(methods(), data, epsilons=[1.0], repeats=2, n_jobs=2))
    assert [fraction for fraction, _ in found] == [0.25, 0.5, 0.75, 1.0]
    whole = experiment.sweep(methods(), data, epsilons=[1.0], repeats=2, n_jobs=1)
    for frames in (found, found[::-1]):
        tidied = experiment.tidy([frame for _, frame in frames])
        pd.testing.assert_frame_equal(without_times(tidied), without_times(whole))


@pytest.mark.parametrize("nothing", [{"epsilons": []}, {"repeats": 0}, {"repeats": -1}, {"methods": {}}])
def test_a_sweep_of_nothing_is_refused(nothing, data):
    arguments = {"methods": methods(), "epsilons": [1.0], "repeats": 1, **nothing}
    with pytest.raises(ParameterError, match="nothing to run"):
        experiment.sweep(arguments.pop("methods"), data, n_jobs=1, **arguments)


def test_what_no_run_could_do_is_refused_at_once(data, small_schema):
    untargeted = dataclasses.replace(data, schema=dataclasses.replace(small_schema, target=None))
    broken = dataclasses.replace(data, test=data.test.drop(columns="age"))
    with pytest.raises(ParameterError, match="class column"):
        experiment.sweep(methods(), untargeted, epsilons=[1.0], repeats=1, n_jobs=1)
    with pytest.raises(DataError, match="age"):
        experiment.sweep(methods(), broken, epsilons=[1.0], repeats=1, n_jobs=1)
    with pytest.raises(ParameterError, match="model"):
        experiment.sweep(methods(), data, epsilons=[1.0], repeats=1, models=["oracle"], n_jobs=1)


class Broken(Measure):
    def values(self, run, synthetic):
        raise DataError("There is nothing to measure by.", "Use other data.")


def test_what_cannot_be_measured_ends_the_loop_before_more_is_spent(data):
    ledgers = []

    def opened(run):
        ledgers.append(Ledger(relation="add_remove"))
        return lambda: ledgers[-1]

    runs = [Run(method, {"repeat": repeat}) for repeat, method in enumerate(methods().values())]
    with pytest.raises(DataError, match="nothing to measure by"):
        list(engine.stream(runs, Broken(data), ledgers=opened))
    assert len(ledgers) == 1


def test_runs_keep_nothing_of_what_they_learned(data):
    runs = [Run(method) for method in methods().values()]
    assert len(list(engine.stream(runs, Measure(data)))) == 2
    assert not [run for run in runs if hasattr(run.method, "ledger_")]

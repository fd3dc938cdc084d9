"""Sweeps: the same numbers as direct calls in one tidy frame, whoever computes them; what was stopped goes on."""

import dataclasses
import gc
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from small_sweeps import MEASURES, asked, children, methods, without_times

from dpcore import datasets, evaluate, experiment
from dpcore.accounting.ledger import Ledger
from dpcore.accounting.store import LedgerStore
from dpcore.datasets import split
from dpcore.errors import DataError, ParameterError
from dpcore.evaluate.evaluator import Evaluator
from dpcore.evaluate.learners import Label
from dpcore.experiment import Config, Store, study, sweeps
from dpcore.experiment.study import Run, Study
from dpcore.methods import METHODS, PPNB, DiffPRFs, HMPrivBayes, JTree, NaiveBayesSynthesizer

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
    runs = Config(named, [0.5, 1.0], 3).runs
    assert [run.labels["repeat"] for run in runs] == [0] * 4 + [1] * 4 + [2] * 4  # whole curves first
    assert {(run.labels["repeat"], run.method.random_state) for run in runs} == {(0, 7), (1, 8), (2, 9)}
    free = Config({"free": NaiveBayesSynthesizer()}, [1.0], 2).runs
    assert [run.method.random_state for run in free] == [None, None]


def test_rows_are_passed_on_and_the_callers_methods_left_as_they_were(data):
    mine = {"C1": NaiveBayesSynthesizer(epsilon=9.0, random_state=1)}
    before = mine["C1"].get_params()
    found = experiment.sweep(mine, data, **few(rows=40, measures=["1-way AVD"]))
    assert mine["C1"].get_params() == before
    assert not [name for name in vars(mine["C1"]) if name.endswith("_")]
    method = clone(mine["C1"]).set_params(epsilon=1.0).fit(data.train, schema=data.schema)
    assert found["value"].tolist() == Evaluator(data).score_rows(method, method.sample(40), [("1-way AVD", "")])


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


class Broken(Study):
    def values(self, run, synthetic):
        raise DataError("There is nothing to measure by.", "Use other data.")


def test_what_cannot_be_measured_ends_the_loop_and_runs_keep_nothing_of_what_they_learned(data):
    opened = []
    runs = [Run(method, {"repeat": repeat}) for repeat, method in enumerate(methods().values())]

    def ledgers(run):
        opened.append(Ledger(relation="add_remove"))
        return lambda: opened[-1]

    with pytest.raises(DataError, match="nothing to measure by"):
        list(Broken(data, runs).stream(ledgers=ledgers))
    assert len(opened) == 1  # before more is spent
    assert len(list(Study(data, runs).stream())) == 2
    assert not [run for run in runs if hasattr(run.method, "ledger_")]


class Inline:
    """loky's executor without processes: each job is done when it is handed out, on a copy of what it is sent."""

    closed = 0

    def __init__(self, count, initializer, initargs, env):
        study._sent.clear()
        initializer(*pickle.loads(pickle.dumps(initargs)))
        assert env["OMP_NUM_THREADS"] == "1"

    def submit(self, work, *job):
        done = Future()
        done.set_result(work(*pickle.loads(pickle.dumps(job))))
        return done

    def shutdown(self, *, kill_workers):
        Inline.closed += kill_workers


@pytest.fixture
def inline(monkeypatch):
    monkeypatch.setattr(study, "_sent", [])
    monkeypatch.setattr(study.loky, "ProcessPoolExecutor", Inline)
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
    assert study._hired == 0


def test_a_stream_may_be_closed_early_and_read_in_any_order(data, whole, inline):
    for n_jobs, taken in ((1, 1), (2, 0), (2, 3)):
        runs = experiment.stream(methods(), data, **asked(n_jobs=n_jobs))
        found = [next(runs) for _ in range(taken)]
        runs.close()
        assert next(runs, None) is None
        assert [fraction for fraction, _ in found] == pytest.approx([(i + 1) / 8 for i in range(taken)])
        assert study._hired == 0
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


def file_of(store):
    (found,) = store.glob("*.jsonl")
    return found


def config_of(named=None, **other):
    usual = {"epsilons": [0.5, 2.0], "repeats": 2, "measures": MEASURES, "skip": True}
    return Config(named or methods(), **usual | other)


@pytest.fixture
def fits(monkeypatch):
    counted = []
    for kind in (NaiveBayesSynthesizer, DiffPRFs):
        original = kind.fit
        monkeypatch.setattr(kind, "fit", lambda self, *a, _o=original, **k: (counted.append(1), _o(self, *a, **k))[1])
    return counted


def test_a_stopped_sweep_goes_on(data, whole, tmp_path, fits):
    folder = tmp_path / "new"
    metrics = whole.groupby("method")["metric"].agg(set)  # what does not apply to a method is left out
    assert metrics.to_dict() == {"C1": {*MEASURES}, "forest": {"accuracy"}}

    def stop(fraction, text):
        if len(fits) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        experiment.sweep(methods(), data, **asked(store=folder, progress=stop))
    lines = file_of(folder).read_text().splitlines()
    assert len(lines) == len(fits) == 3
    frame = sweeps.join_runs([rows for _, rows in experiment.stream(methods(), data, **asked(store=folder))])
    pd.testing.assert_frame_equal(without_times(frame), without_times(whole))
    assert len(fits) == 8
    again = experiment.sweep(methods(), data, **asked(store=folder))
    pd.testing.assert_frame_equal(again, frame)  # times and all
    assert len(fits) == 8
    assert file_of(folder).stat().st_mode & 0o777 == 0o600
    costs = {"epsilon_claimed", "epsilon_nominal", "epsilon_bound", "void"}
    assert {*json.loads(lines[0])} == {"run", "seconds", "values"} | costs


def test_more_repeats_epsilons_and_other_names_use_what_is_there(data, whole, tmp_path, fits):
    experiment.sweep(methods(), data, **asked(store=tmp_path))
    del fits[:]
    other = {"Renamed": methods()["C1"]}
    frame = experiment.sweep(other, data, **asked(store=tmp_path, epsilons=[0.5, 1.0, 2.0], repeats=3))
    assert len(fits) == 9 - 4
    same = frame[(frame["epsilon"] != 1.0) & (frame["repeat"] < 2)].reset_index(drop=True).drop(columns="method")
    expected = whole[whole["method"] == "C1"].reset_index(drop=True).drop(columns="method")
    pd.testing.assert_frame_equal(without_times(same), without_times(expected))


def test_a_finished_run_is_shown_for_nothing_but_itself(data, tmp_path, small_frame):
    """It is shown without a new charge: never under another guarantee, of other rows, or as another measure's."""
    forest = DiffPRFs(n_trees=2, max_depth=2, noise="laplace", random_state=3)
    how = {"epsilons": [0.5], "repeats": 1}
    config = config_of({"forest": forest}, **how)
    experiment.sweep(data=data, n_jobs=1, store=tmp_path, **config.arguments)
    assert len(sweeps.find_finished_runs(config, data, tmp_path)) == 1
    for change in (
        {"epsilons": [1.0]},
        {"measures": ["balanced accuracy"]},
        {"models": ["Bayes net"]},
        {"label": Label(column="ill", equals="yes")},
    ):
        assert sweeps.find_finished_runs(config_of({"forest": forest}, **how | change), data, tmp_path) == {}, change
    for name, value in (("relation", "replace"), ("mode", "published"), ("noise", "geometric"), ("random_state", 9)):
        other = DiffPRFs(**forest.get_params() | {name: value})
        assert sweeps.find_finished_runs(config_of({"forest": other}, **how), data, tmp_path) == {}, name
    for change in ({"source": "inferred"}, {"max_rows": 5_000}):  # the guarantee of an inferred schema is void
        other = dataclasses.replace(data, schema=dataclasses.replace(data.schema, **change))
        assert sweeps.find_finished_runs(config, other, tmp_path) == {}, change
    train, test = split(small_frame, seed=2)  # the same file, split by other lots
    other = dataclasses.replace(data, train=train, test=test)
    assert sweeps.find_finished_runs(config, other, tmp_path) == {}


def test_unseeded_runs_are_kept_as_draws_and_twins_are_two(data, tmp_path):
    neighbors = {name: NaiveBayesSynthesizer(x_source="model") for name in ("a", "b")}
    once, again = (experiment.sweep(neighbors, data, **asked(store=tmp_path, epsilons=[2.0])) for _ in range(2))
    pd.testing.assert_frame_equal(once, again)
    values = once.set_index("method")["value"]
    assert values["a"].tolist() != values["b"].tolist()


def test_lines_that_are_torn_or_wrong_are_run_again(data, tmp_path):
    how, config = {"epsilons": [0.5], "repeats": 1}, config_of(epsilons=[0.5], repeats=1)
    before = experiment.sweep(methods(), data, **asked(store=tmp_path, **how))
    file = file_of(tmp_path)
    text = file.read_text()
    for spoiled in (
        text[:-20],  # torn by kill -9
        text + "[1, 2]\nnull\n\xff\n" + "[" * 100_000,
        text.replace('"seconds": ', '"seconds": -', 1),
        text.replace('"accuracy"', '"beauty"', 1),
        text.replace('"epsilon_nominal": 0.5', '"epsilon_nominal": NaN', 1),
    ):
        assert spoiled != text
        file.write_bytes(spoiled.encode("latin-1"))
        frame = experiment.sweep(methods(), data, **asked(store=tmp_path, **how))
        pd.testing.assert_frame_equal(without_times(frame), without_times(before))
        assert len(Store(tmp_path, config, data).read()) == 2  # what is written after a torn line can be read, too
        assert len(sweeps.find_finished_runs(config, data, tmp_path)) == 2
    with pytest.raises(DataError, match="cannot be read or written"):
        experiment.sweep(methods(), data, **asked(store=file, **how))


def test_a_cap_stops_runs_one_by_one_and_raising_it_lets_them_go_on(data, tmp_path, recorded):
    """Each is written down before it is drawn, and one that the cap refuses draws nothing."""
    books = LedgerStore(tmp_path / "ledger.sqlite")
    books.set_cap("0" * 64, "small", "add_remove", 1.0)
    only = {"C1": methods(seed=None)["C1"]}
    ledgers = {"C1": books.start_run("0" * 64, "small", "add_remove", "sweep").ledger}
    how = asked(epsilons=[0.4], repeats=4, store=tmp_path / "runs", ledgers=ledgers)
    frame = experiment.sweep(only, data, **how).drop_duplicates("repeat")
    assert (frame["error"] == "").sum() == 2
    assert frame["error"].str.contains("capped at 1").sum() == 2
    assert recorded[0] == ["written", "drawn"] * 2
    assert books.account("0" * 64, "add_remove").epsilon_bound == pytest.approx(0.8)
    books.set_cap("0" * 64, "small", "add_remove", 2.0)
    assert (experiment.sweep(only, data, **how)["error"] == "").all()
    assert books.account("0" * 64, "add_remove").epsilon_bound == pytest.approx(1.6)


KILLED = """
    import sys
    from pathlib import Path
    from dpcore import datasets, experiment
    from dpcore.methods import NaiveBayesSynthesizer
    data = datasets.load("sample")
    names = {"C1": NaiveBayesSynthesizer(x_source="model", random_state=3)}
    how = {"epsilons": [0.5, 2.0], "repeats": 4, "measures": ["1-way AVD"]}
    def progress(fraction, text):
        print(text, flush=True)
        if text == "run 3":
            sys.stdin.read()  # until it is killed
    experiment.sweep(names, data, **how, n_jobs=2, store=Path(sys.argv[1]), progress=progress)
"""


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow  # real processes, which take seconds to begin
def test_a_sweep_that_was_killed_goes_on(tmp_path, fits):
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / "runs")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, cwd=Path(__file__).parents[2]) as child:
        try:
            assert [child.stdout.readline().strip() for _ in range(3)] == ["run 1", "run 2", "run 3"]
            workers = [*children(child.pid)]
        finally:
            os.kill(child.pid, signal.SIGKILL)
    assert len(workers) >= 2 or sys.platform != "linux"
    end = time.monotonic() + 30
    while any(map(running, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not [pid for pid in workers if running(pid)]  # they may have the real rows in their memory
    how = {"epsilons": [0.5, 2.0], "repeats": 4, "measures": ["1-way AVD"], "n_jobs": 1}
    names, data = {"C1": methods()["C1"]}, datasets.load("sample")
    frame = experiment.sweep(names, data, **how, store=tmp_path / "runs")
    assert len(fits) == 8 - 3
    pd.testing.assert_frame_equal(without_times(frame), without_times(experiment.sweep(names, data, **how)))


def test_a_config_read_back_is_the_same_sweep(data, whole):
    config = Config(methods(), [0.5, 2.0], 2, MEASURES, skip=True)
    text = config.to_json(data)
    back = Config.from_json(text)
    assert back.to_json(data) == text
    frame = experiment.sweep(data=data, n_jobs=1, **back.asked)
    pd.testing.assert_frame_equal(without_times(frame), without_times(whole))
    for repeats in (2, 3):
        again = Config(methods(), [0.5, 2.0], repeats, MEASURES, skip=True).to_dict(data)["hash"]
        assert (json.loads(text)["hash"] == again) == (repeats == 2)


def test_every_method_can_be_written_down(data):
    every = {name: kind() for name, kind in METHODS.items()}
    every["odd"] = PPNB(factors=(np.float64(1.0), 2.0), pairs=None)
    every["edges"] = JTree(edges=(("age", "ill"),))
    back = Config.from_json(Config(every, [1.0]).to_json(data)).methods
    found, wanted = ({k: (type(one), one.get_params()) for k, one in named.items()} for named in (back, every))
    assert found == wanted
    with pytest.raises(ParameterError, match="cannot be written down"):
        Config({"a": HMPrivBayes(eta=math.inf)}, [1.0]).to_json(data)


def test_a_text_that_is_no_config_is_refused(data):
    sound = Config(methods(), [1.0], measures=MEASURES, skip=True).to_dict(data)
    texts = ["", "[]", "[" * 100_000, '{"format": "dpcore sweep 1"}']
    for index, values in {
        "format": ["dpcore schema 1"],
        "methods": [
            {},
            {"a": {"method": "os.system", "parameters": {}}},
            {"a": {"method": "NB-Synth", "parameters": {"fit": 1}}},
        ],
        "epsilons": [[0], ["1"], [True]],
        "repeats": [0, 1.5],
        "measures": [["beauty"]],
        "label": [{"column": "ill"}, {"column": "ill", "equals": 3, "below": None}],
        "skip": [1],
    }.items():
        texts += [json.dumps(sound | {index: value}) for value in values]
    Config.from_json(json.dumps(sound))
    for text in texts:
        with pytest.raises(ParameterError):
            pytest.fail(f"{text[:200]} was read as {Config.from_json(text)}")

"""A sweep that is stopped or killed goes on where it was, and a sweep that is written down can be read back."""

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import experiment
from dpcore.accounting.store import Books
from dpcore.datasets import Dataset, split
from dpcore.door import Door
from dpcore.errors import DataError, ParameterError
from dpcore.evaluate.labels import Label
from dpcore.experiment import Config, Store
from dpcore.methods import METHODS, PPNB, DiffPRFs, HMPrivBayes, JTree, NaiveBayesSynthesizer

MEASURES = ["accuracy", "1-way AVD"]


@pytest.fixture(scope="module")
def data(small_frame, small_schema):
    train, test = split(small_frame, seed=1)
    return Dataset(name="small", train=train, test=test, schema=small_schema)


def methods(seed=3):
    return {
        "C1": NaiveBayesSynthesizer(x_source="model", random_state=seed),
        "forest": DiffPRFs(n_trees=2, max_depth=2, random_state=seed),
    }


def asked(**other):
    return {"epsilons": [0.5, 2.0], "repeats": 2, "measures": MEASURES, "skip": True, "n_jobs": 1, **other}


def without_times(frame):
    return frame.drop(columns="seconds")


@pytest.fixture(scope="module")
def whole(data):
    return experiment.sweep(methods(), data, **asked())


class CancelledError(Exception):
    pass


def stopped_after(count, data, store, **other):
    seen = []

    def stop(fraction, text):
        seen.append(fraction)
        if len(seen) == count:
            raise CancelledError

    with pytest.raises(CancelledError):
        experiment.sweep(methods(), data, **asked(store=store, progress=stop, **other))


def file_of(store):
    (found,) = store.glob("*.jsonl")
    return found


def fits(monkeypatch):
    """How often anything is fitted from now on."""
    counted = []
    for kind in (NaiveBayesSynthesizer, DiffPRFs):
        original = kind.fit
        monkeypatch.setattr(kind, "fit", lambda self, *a, _o=original, **k: (counted.append(1), _o(self, *a, **k))[1])
    return counted


def test_a_measure_that_does_not_apply_is_left_out(whole):
    metrics = whole.groupby("method")["metric"].agg(set)
    assert metrics["C1"] == set(MEASURES)
    assert metrics["forest"] == {"accuracy"}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_stopped_sweep_goes_on(data, whole, tmp_path, monkeypatch, n_jobs):
    stopped_after(3, data, tmp_path, n_jobs=n_jobs)
    assert len(file_of(tmp_path).read_text().splitlines()) == 3
    counted = fits(monkeypatch)
    frame = experiment.sweep(methods(), data, **asked(store=tmp_path))
    pd.testing.assert_frame_equal(without_times(frame), without_times(whole))
    assert len(counted) == 5
    again = experiment.sweep(methods(), data, **asked(store=tmp_path))
    pd.testing.assert_frame_equal(again, frame)  # times and all
    assert len(counted) == 5


def test_what_is_there_comes_first(data, tmp_path):
    stopped_after(3, data, tmp_path)
    found = list(experiment.stream(methods(), data, **asked(store=tmp_path)))
    assert [fraction for fraction, _ in found] == [pytest.approx((i + 1) / 8) for i in range(8)]
    assert len(Store(tmp_path, Config(methods(), [1.0], measures=MEASURES, skip=True), data).read()) == 8


def test_more_repeats_epsilons_and_other_names_use_what_is_there(data, whole, tmp_path, monkeypatch):
    experiment.sweep(methods(), data, **asked(store=tmp_path))
    counted = fits(monkeypatch)
    other = {"Renamed": methods()["C1"]}
    frame = experiment.sweep(other, data, **asked(store=tmp_path, epsilons=[0.5, 1.0, 2.0], repeats=3))
    assert len(counted) == 9 - 4
    same = frame[(frame["epsilon"] != 1.0) & (frame["repeat"] < 2)].reset_index(drop=True).drop(columns="method")
    expected = whole[whole["method"] == "C1"].reset_index(drop=True).drop(columns="method")
    pd.testing.assert_frame_equal(without_times(same), without_times(expected))


@pytest.mark.parametrize(
    "other",
    [
        {"measures": ["accuracy"]},
        {"models": ["Bayes net"]},
        {"rows": 70},
        {"label": Label(column="ill", equals="yes")},
    ],
)
def test_other_questions_use_another_file(data, tmp_path, other):
    experiment.sweep(methods(), data, **asked(store=tmp_path, epsilons=[1.0], repeats=1))
    experiment.sweep(methods(), data, **asked(store=tmp_path, epsilons=[1.0], repeats=1, **other))
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


def test_other_rows_and_parameters_are_other_runs(data, tmp_path, monkeypatch, small_frame):
    experiment.sweep(methods(), data, **asked(store=tmp_path))
    counted = fits(monkeypatch)
    experiment.sweep(methods(seed=9), data, **asked(store=tmp_path))
    assert len(counted) == 8
    train, test = split(small_frame, seed=2)
    other = dataclasses.replace(data, train=train, test=test)  # the same file, split by other lots
    experiment.sweep(methods(), other, **asked(store=tmp_path))
    assert len(counted) == 16
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


@pytest.mark.parametrize(("name", "value"), [("relation", "replace"), ("mode", "paper"), ("noise", "geometric")])
def test_what_a_run_promises_is_part_of_what_it_is_known_by(data, tmp_path, name, value):
    """A finished run is shown without a new charge: never as one under another guarantee."""
    how, forest = asked(store=tmp_path), DiffPRFs(n_trees=2, max_depth=2, noise="laplace")
    experiment.sweep({"forest": forest}, data, **how)
    assert len(experiment.finished(Config({"forest": forest}, [0.5, 2.0], 2, MEASURES, skip=True), data, tmp_path)) == 4
    other = Config({"forest": forest.set_params(**{name: value})}, [0.5, 2.0], 2, MEASURES, skip=True)
    assert experiment.finished(other, data, tmp_path) == {}


@pytest.mark.parametrize("change", [{"source": "inferred"}, {"max_rows": 5_000}])
def test_runs_under_another_schema_are_in_another_file(data, tmp_path, change):
    """What was drawn under a declared schema is no run of an inferred one, whose guarantee is void."""
    config = Config(methods(), [0.5], 1, MEASURES, skip=True)
    experiment.sweep(data=data, n_jobs=1, store=tmp_path, **config.asked)
    assert len(experiment.finished(config, data, tmp_path)) == 2
    other = dataclasses.replace(data, schema=dataclasses.replace(data.schema, **change))
    assert experiment.finished(config, other, tmp_path) == {}


def test_unseeded_runs_are_kept_as_draws_and_twins_are_two(data, tmp_path):
    twins = {name: NaiveBayesSynthesizer(x_source="model") for name in ("a", "b")}
    once, again = (experiment.sweep(twins, data, **asked(store=tmp_path)) for _ in range(2))
    pd.testing.assert_frame_equal(once, again)
    values = once.set_index("method")["value"]
    assert values["a"].tolist() != values["b"].tolist()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:-20],  # torn by kill -9
        lambda text: text + '{"run": "x", "val',
        lambda text: text + "[1, 2]\nnull\n\xff\n",
        lambda text: text.replace('"values": [[', '"values": [[[', 1),
        lambda text: text.replace('"seconds": ', '"seconds": -', 1),
        lambda text: text.replace('"accuracy"', '"beauty"', 1),
        lambda text: text.replace('"epsilon_of_noise": 0.5', '"epsilon_of_noise": NaN', 1),
        lambda text: text.replace('"void": "', '"void": 3, "was": "', 1),
        lambda text: "[" * 100_000 + "\n" + text,
    ],
)
def test_lines_that_are_torn_or_wrong_are_run_again(data, whole, tmp_path, spoil):
    experiment.sweep(methods(), data, **asked(store=tmp_path))
    file = file_of(tmp_path)
    file.write_bytes(spoil(file.read_text()).encode("latin-1"))
    for _ in range(2):  # what is written after a torn line can be read, too
        frame = experiment.sweep(methods(), data, **asked(store=tmp_path))
        pd.testing.assert_frame_equal(without_times(frame), without_times(whole))
        assert len(Store(tmp_path, Config(methods(), [1.0], measures=MEASURES, skip=True), data).read()) == 8


def test_the_file_is_its_owners_and_holds_no_cell(data, tmp_path):
    experiment.sweep(methods(), data, **asked(store=tmp_path / "new"))
    file = file_of(tmp_path / "new")
    assert file.stat().st_mode & 0o777 == 0o600
    assert set(json.loads(file.read_text().splitlines()[0])) == {
        "run",
        "seconds",
        "epsilon_claimed",
        "epsilon_of_noise",
        "epsilon_bound",
        "void",
        "values",
    }


def test_a_store_that_cannot_be_says_so(data, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(DataError, match="cannot be read or written"):
        experiment.sweep(methods(), data, **asked(store=tmp_path / "file"))


def test_failures_have_their_reason_and_are_tried_again(data, tmp_path):
    tried = {"printed": JTree(mode="paper", relation="add_remove", random_state=1), **methods()}
    for _ in range(2):
        frame = experiment.sweep(tried, data, **asked(store=tmp_path))
        lost = frame[frame["method"] == "printed"]
        assert (lost["error"] != "").all()
        assert lost["value"].isna().all()
        assert (frame.loc[frame["method"] != "printed", "error"] == "").all()
    assert len(file_of(tmp_path).read_text().splitlines()) == 8


def test_a_cap_stops_runs_one_by_one_and_raising_it_lets_them_go_on(data, tmp_path):
    books = Books(tmp_path / "ledger.sqlite")
    books.set_cap("0" * 64, "small", "add_remove", 1.0)
    only = {"C1": methods(seed=None)["C1"]}
    ledgers = {"C1": books.begin("0" * 64, "small", "add_remove", "sweep").ledger}
    how = asked(epsilons=[0.4], repeats=4, store=tmp_path / "runs", ledgers=ledgers)
    frame = experiment.sweep(only, data, **how).drop_duplicates("repeat")
    assert (frame["error"] == "").sum() == 2
    assert frame["error"].str.contains("capped at 1").sum() == 2
    assert books.account("0" * 64, "add_remove").epsilon_bound == pytest.approx(0.8)
    books.set_cap("0" * 64, "small", "add_remove", 2.0)
    assert (experiment.sweep(only, data, **how)["error"] == "").all()
    assert books.account("0" * 64, "add_remove").epsilon_bound == pytest.approx(1.6)


def test_runs_of_a_sweep_are_written_down_before_they_are_drawn(data, tmp_path, monkeypatch):
    """And one that a cap refuses draws nothing."""
    told = []
    add, answer = Books.add, Door.answer

    def written(self, run, spent, looks, void, **how):
        add(self, run, spent, looks, void, **how)
        told.append(spent.bound)

    def drawn(door, question, entries, draw):
        return answer(door, question, entries, lambda: told.append("drawn") or draw())

    monkeypatch.setattr(Books, "add", written)
    monkeypatch.setattr(Door, "answer", drawn)
    books = Books(tmp_path / "ledger.sqlite")
    books.set_cap("0" * 64, "small", "add_remove", 1.0)
    ledgers = {"C1": books.begin("0" * 64, "small", "add_remove", "sweep").ledger}
    frame = experiment.sweep(
        {"C1": methods(seed=None)["C1"]}, data, **asked(epsilons=[0.4], repeats=4, ledgers=ledgers)
    )
    assert [found if found == "drawn" else float(found) for found in told] == [pytest.approx(0.4), "drawn"] * 2
    assert (frame.drop_duplicates("repeat")["error"] == "").sum() == 2


KILLED = """
    import sys
    from pathlib import Path
    from dpcore import datasets, experiment
    from dpcore.methods import NaiveBayesSynthesizer
    data = datasets.load("sample")
    names = {"C1": NaiveBayesSynthesizer(x_source="model", random_state=3)}
    def progress(fraction, text):
        print(text, flush=True)
        if text == "run 3":
            sys.stdin.read()  # until it is killed
    experiment.sweep(names, data, epsilons=[0.5, 2.0], repeats=4, n_jobs=2, store=Path(sys.argv[1]), progress=progress)
"""


def children(pid: int) -> list[int]:
    """The processes that a process has started; none where the system does not tell (it does on Linux)."""
    tasks = Path(f"/proc/{pid}/task")
    told = tasks.glob("*/children") if tasks.exists() else []
    return [int(child) for file in told for child in file.read_text().split()]


def gone(workers: list[int]) -> None:
    """They end by themselves: they may have the real rows in their memory."""
    end = time.monotonic() + 30
    while any(map(running, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert [pid for pid in workers if running(pid)] == []


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_sweep_that_was_killed_goes_on(tmp_path, monkeypatch):
    from dpcore import datasets

    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / "runs")]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    try:
        assert [child.stdout.readline().strip() for _ in range(3)] == ["run 1", "run 2", "run 3"]
        workers = children(child.pid)
        assert len(workers) >= 2 or sys.platform != "linux"
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdin.close()
        child.stdout.close()
    assert child.returncode == -signal.SIGKILL
    gone(workers)
    data = datasets.load("sample")
    asked = {"epsilons": [0.5, 2.0], "repeats": 4, "n_jobs": 1}
    names = {"C1": NaiveBayesSynthesizer(x_source="model", random_state=3)}
    whole = experiment.sweep(names, data, **asked)
    counted = fits(monkeypatch)
    frame = experiment.sweep(names, data, **asked, store=tmp_path / "runs")
    assert len(counted) == 8 - 3
    pd.testing.assert_frame_equal(without_times(frame), without_times(whole))


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to see the workers")
def test_workers_that_were_hardly_there_end_as_well(tmp_path):
    """They are still busy with their imports when the program is killed."""
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / "runs")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as child:
        workers: list[int] = []
        end = time.monotonic() + 60
        while len(workers) < 3 and time.monotonic() < end:  # one of them keeps account of what they share
            time.sleep(0.02)
            workers = children(child.pid)
        os.kill(child.pid, signal.SIGKILL)
    assert len(workers) >= 3
    gone(workers)


def test_a_config_read_back_is_the_same_sweep(data, whole):
    config = Config(methods(), [0.5, 2.0], 2, MEASURES, skip=True)
    text = config.to_json(data)
    back = Config.from_json(text)
    assert back.to_json(data) == text
    frame = experiment.sweep(data=data, n_jobs=1, **back.asked)
    pd.testing.assert_frame_equal(without_times(frame), without_times(whole))
    document = json.loads(text)
    assert document["hash"] == experiment.Config(methods(), [0.5, 2.0], 2, MEASURES, skip=True).to_dict(data)["hash"]
    assert document["hash"] != experiment.Config(methods(), [0.5, 2.0], 3, MEASURES, skip=True).to_dict(data)["hash"]


def test_every_method_can_be_written_down(data):
    every = {name: kind() for name, kind in METHODS.items()}
    every["odd"] = PPNB(factors=(np.float64(1.0), 2.0), pairs=None)
    every["edges"] = JTree(edges=(("age", "ill"),))
    back = Config.from_json(Config(every, [1.0]).to_json(data)).methods
    assert {name: (type(one), one.get_params()) for name, one in back.items()} == {
        name: (type(one), one.get_params()) for name, one in every.items()
    }
    with pytest.raises(ParameterError, match="cannot be written down"):
        Config({"a": HMPrivBayes(eta=math.inf)}, [1.0]).to_json(data)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("format",), "dpcore schema 1"),
        (("methods",), {}),
        (("methods",), {"a": {"method": "os.system", "parameters": {}}}),
        (("methods",), {"a": {"method": "NB-Synth", "parameters": {"fit": 1}}}),
        (("methods",), {"a": {"method": ["NB-Synth"], "parameters": {}}}),
        (("methods",), {"a": "NB-Synth"}),
        (("epsilons",), [0]),
        (("epsilons",), ["1"]),
        (("epsilons",), [True]),
        (("repeats",), 0),
        (("repeats",), 1.5),
        (("rows",), -1),
        (("measures",), ["beauty"]),
        (("models",), []),
        (("label",), {"column": "ill"}),
        (("label",), {"column": "ill", "equals": 3, "below": None}),
        (("skip",), 1),
    ],
)
def test_a_config_that_is_none_is_refused(data, place, value):
    document = Config(methods(), [1.0], measures=MEASURES, skip=True).to_dict(data)
    document[place[0]] = value
    with pytest.raises(ParameterError):
        Config.from_json(json.dumps(document))


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "null", '{"format": "dpcore sweep 1"}'])
def test_no_text_is_a_traceback(text):
    with pytest.raises(ParameterError):
        Config.from_json(text)

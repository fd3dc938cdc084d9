"""Figures of papers without a dashboard: every one from Python, and the command that writes them down."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
from figure_grids import RUNS, small_grids

import dpcore as dp
from dpcore import charts
from dpcore.accounting.ledger import EPSILONS
from dpcore.accounting.store import LedgerStore
from dpcore.dashboard.__main__ import main
from dpcore.datasets import Dataset
from dpcore.errors import ParameterError
from dpcore.evaluate import disclosure
from dpcore.experiment import figures
from dpcore.experiment.commands import figure as command
from dpcore.experiment.figures.studies import Fit, Risk, whole
from dpcore.experiment.study import TIMES, Run

MARK = "do not publish"
LINE = re.compile(r"The (paper|patent) says: .+\. Here it (holds|does not hold|is not decided).* \(\d+ repeats?\)\..*")


@pytest.fixture(autouse=True)
def in_small(monkeypatch):
    small_grids(monkeypatch)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    columns = {"age": rng.integers(20, 60, 80), "town": rng.choice(["Ulm", "Bonn", "Trier"], 80)}
    frame = pd.DataFrame(columns | {"ill": rng.choice(["no", "yes"], 80)})
    schema = dataclasses.replace(dp.Schema.infer(frame), source="declared", notes=(), target="ill")
    return Dataset("people", frame[24:], frame[:24], schema, "sum of people")


@pytest.fixture
def ledger(data, monkeypatch, tmp_path):
    """The user's ledger, and the data that the command finds."""
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setattr(command.datasets, "load", lambda name: {"sample": data}[name])
    return LedgerStore(tmp_path / "ledger.sqlite")


@pytest.mark.slow
@pytest.mark.parametrize("name", figures.all_figures())
def test_a_figure_from_python(name, data):
    text = []
    made = dp.experiment.figure(name, data, repeats=1, n_jobs=1, progress=lambda part, _: text.append(part))
    frame = made.frame
    assert set(frame["error"]) == {""}
    assert all(map(LINE.fullmatch, made.verdicts))
    assert {"series", "mode", "data", "relation", "epsilon", "repeat", *TIMES, "void", *EPSILONS} <= set(frame)
    indices = {"series", "mode", "epsilon", "repeat", "rows", "parents", "share", "x", "depth"} & {*frame}
    assert len(frame.drop_duplicates([*indices])) == RUNS[name]
    assert (frame["epsilon_claimed"] > 0).all()
    corrected = frame[(frame["mode"] == "corrected") & (frame["series"] != "NoPrivacy")]
    assert (corrected["epsilon_bound"] <= corrected["epsilon"] * (1 + 1e-9)).all()
    drawn = [charts.specification(chart) for chart in made.charts()]
    assert all(MARK in json.dumps(spec["title"]) for spec in drawn)
    assert text == sorted(text)
    for chosen in ({"beauty": "accuracy"}, *({choice: "beauty"} for choice in made.figure.choices)):
        with pytest.raises(ParameterError, match=r"one chart|Choose of"):
            made.charts(**chosen)


def test_the_values_are_those_of_direct_calls(data):
    """Of a figure whose runs are read one by one; those of sweeps have the sweeps' tests."""
    method = dp.PrivBayes(random_state=6, epsilon=0.2, relation="replace")
    seeded = Run(method, {"repeat": 1, "rows": 100})
    study = Risk(data, [seeded, Run(method, {"rows": 200})])
    rows = study.release(seeded, None, lambda *_: None)
    order = np.random.default_rng([1, 0]).permutation(len(study.padded))[:100]
    direct = method.fit(study.padded.iloc[order].reset_index(drop=True), schema=study.schema).sample(100)
    pd.testing.assert_frame_equal(rows, direct)
    found = disclosure.cap(data.train, direct, study.schema, "ill", ["age", "town"])
    assert study.values(seeded, rows)["value"].item() == found
    runs = [Run(dp.PPNB(mode="published"), {"rows": rows}) for rows in (70, 200)]  # of 56
    assert Fit(data, runs).release(runs[1], None, lambda *_: None).empty
    assert runs[1].method.reports_.people == 200


def test_ranges_are_sums_of_groups_at_every_depth_but_in_the_patents_own_form(data):
    study = figures.find_figure("002 Depth and splits").study(data, 1)
    assert study.data.schema.names == ("age", "town", "ill")  # by depth, then by size
    for run in study.runs:
        leaves = run.method.fit(data.train, schema=study.data.schema).tree_.leaves
        shares = [leaves.weights(query.code_masks(study.data.schema)) for query in study.queries]
        assert (set(np.unique(shares)) == {0, 1}) == ("own form" not in run.labels["method"])


def test_every_run_is_charged_before_it_is_drawn_if_that_is_asked(data, ledger):
    made = dp.experiment.figure("004 Corrected", data, repeats=1, durable=True)
    (account,) = ledger.accounts()
    assert account.epsilon_bound == pytest.approx(5 * (1 + 4))
    assert account.looks == len(made.frame.drop_duplicates(["series", "x"]))


def test_what_cannot_be_is_refused(data):
    nameless = dataclasses.replace(data, schema=dataclasses.replace(data.schema, target=None))
    for name, given, how, match in (
        ("Fig. 5", data, {}, "no figure.*" + ".*".join(map(re.escape, RUNS))),  # with all that are
        ("003 Fig. 2", nameless, {}, "class column"),
        *(("001 Fig. 6", data, {"repeats": repeats}, "repeats") for repeats in (0, -1, 1.5, True)),
    ):
        with pytest.raises(ParameterError, match=match):
            dp.experiment.figure(name, given, **how)


def test_the_command_writes_charts_and_numbers_and_spends_nothing_without_a_place_for_them(ledger, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["figure", "001 Fig. 6", "--repeats", "1", "--to", str(tmp_path / "file")]) == 1
    assert not ledger.accounts()
    capsys.readouterr()
    assert main(["figure", "001 Fig. 6", "--repeats", "1", "--to", str(tmp_path / "new")]) == 0
    files = [tmp_path / "new" / name for name in ("001-Fig-6-people-1.svg", "001-Fig-6-people-do-not-publish.csv")]
    assert capsys.readouterr().out.splitlines()[:2] == [str(file) for file in files]
    assert MARK in files[0].read_text()
    assert len(pd.read_csv(files[1])) == RUNS["001 Fig. 6"]
    (account,) = ledger.accounts()
    assert (account.looks, account.void_looks) == (2, RUNS["001 Fig. 6"] - 2)  # as printed, nothing is proved of some
    assert float(account.epsilon_bound) == pytest.approx(0.4)
    assert main(["figure", "001 Fig. 6", "--repeats", "1", "--to", str(tmp_path / "new")]) == 1
    assert "exists already" in capsys.readouterr().err
    assert ledger.accounts() == [account]
    assert main(["figure", "001 Fig. 6", "--repeats", "1", "--out", str(tmp_path / "f.html"), "--json"]) == 0
    drawn = (tmp_path / "f.html").read_text()
    assert ("<svg" in drawn, "<script" in drawn, MARK in drawn) == (True, False, True)


def test_a_command_that_is_stopped_writes_what_is_finished(ledger, monkeypatch, tmp_path, capsys):
    def stopped(part, text):
        if text == "run 2":
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "progress_line", stopped)
    assert main(["figure", "001 Fig. 6", "--to", str(tmp_path), "--repeats", "2"]) == 0
    assert len(pd.read_csv(tmp_path / "001-Fig-6-people-do-not-publish.csv")) == 1
    assert "Stopped: 1 runs" in capsys.readouterr().err


def test_figures_that_test_nothing_may_learn_from_all_rows(data):
    everything = whole(data)
    assert (everything.name, len(everything.train), len(everything.test)) == ("people, all rows", 80, 0)
    assert everything.key(b"secret") == data.key(b"secret")  # one account
    assert everything.token != data.token
    limited = dataclasses.replace(data, schema=dataclasses.replace(data.schema, max_rows=60))
    assert whole(limited).schema.max_rows == 120
    made = dp.experiment.figure("001 Fig. 5", data, repeats=1, rows="all", n_jobs=1)
    assert set(made.frame["data"]) == {everything.name}
    assert set(made.frame["error"]) == {""}
    scored = {*made.frame.dropna(subset="value")["metric"]}
    assert {one for one in scored if "SVM" in one} == {"SVM error on synthetic rows"}  # which reads no test rows

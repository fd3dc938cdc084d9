"""The page of comparisons: what it would cost, runs on the books, charts, stops, and what is taken away."""

import functools
import json
import tempfile
from contextlib import closing
from threading import Semaphore

import pandas as pd
import pytest
from driving import TIMEOUT, change, opened, press, run, tab
from prepared import PEOPLE, page
from screen import books, charts, dataset, errors, key_of, mendable, said, tabs, widget
from streamlit.testing.v1 import AppTest

from dpcore import evaluate, experiment
from dpcore.dashboard import jobs
from dpcore.dashboard.sections import sweep, sweep_results, sweep_runs
from dpcore.datasets import load

PAGE = "compare"
REAL = "Uses real data"


REFERENCES = functools.cache(evaluate.references)


@pytest.fixture(autouse=True)
def in_one_process(monkeypatch):
    """Runs in this process, and what they are compared with once for all tests that compare the same."""
    monkeypatch.setattr(experiment, "stream", functools.partial(experiment.stream, n_jobs=1))

    def known(data, kinds, measures, models):
        return REFERENCES(data, tuple(kinds), tuple(measures), models=tuple(models))

    monkeypatch.setattr(evaluate, "references", known)


def at_page(**settings) -> AppTest:
    return change(page(PEOPLE), **settings)


SMALL = {"methods__0": ["NB-Synth"], "methods__1": ["DiffP-ID3"], "epsilons": [0.5, 2.0], "repeats": 2}
FEWEST = {"epsilons": [0.5], "repeats": 1}  # a run of each method


def compared(**settings) -> AppTest:
    at = press(at_page(**{**SMALL, **settings}), f"{PAGE}.run")
    assert not mendable(at), errors(at)
    return at


def comparison(at: AppTest) -> sweep_runs.Comparison:
    return at.session_state["dpcore.comparison"]["shown"]


def test_the_cost_is_said_before_anything_runs():
    at = at_page()
    assert "27 runs; together epsilon 23.4 (add or remove one row)." in said(at).replace("**", "")
    assert "Releases a classifier and no rows, so there is no 2-way distance of it: DiffPRFs." in said(at)
    assert books(at) == {}
    change(at, modes=["corrected", "paper"])
    told = said(at).replace("**", "")
    assert (
        "45 runs; together epsilon 23.4 (add or remove one row); what those as printed can cost is known when" in told
    )
    assert "Adaptive tables | as printed is left out: no paper printed it" in told
    change(at, methods__2=["PPNB"])
    assert "PPNB | corrected is left out" in said(at).replace("**", "")
    change(at, relation="replace", modes=["corrected"])
    assert "left out" not in said(at)
    assert "Two guarantees" in said(at)
    change(at, methods__0=[], methods__1=[], methods__2=[])
    assert "Choose a method" in said(at)
    assert widget(at, f"{PAGE}.run").disabled


def test_runs_are_charged_drawn_and_marked():
    at = compared()
    made = comparison(at)
    assert len(made.frames) == made.planned == 8
    key = (key_of(at), "add_remove")
    assert books(at)[key] == (8, 10.0, 10.0)
    assert "These 8 runs together claim epsilon 10 and can cost up to 10 (add or remove one row)" in said(at).replace(
        "**", ""
    )
    assert tabs(at) == ["accuracy", "2-way distance", "Run time", "Medians", "Take away"]
    ((spec, tables),) = charts(at)
    title = spec["title"]
    assert title["text"][0] == "Accuracy"
    assert REAL in " ".join(title["text"])
    told = " ".join(title["subtitle"])
    assert "Epsilon without delta, per release; neighbors: add or remove one row." in told
    assert f"Data: {made.data.name}." in told
    (table,) = tables
    assert sorted(set(table["series"]) - {""}) == ["DiffP-ID3", "NB-Synth"]
    assert {"majority class", "scikit-learn forest", "logistic regression, learned from real rows"} <= set(
        table["label"]
    )
    account = at.session_state["dpcore.books"].account(*key)
    assert (account.looks, account.epsilon_bound) == (8, 10.0)
    assert "8 runs; 8 of them are finished already, and are shown without" in said(at).replace("**", "")
    press(at, f"{PAGE}.run")
    assert at.session_state["dpcore.books"].account(*key) == account
    change(at, repeats=3)
    told = said(at).replace("**", "")
    assert "12 runs; 8 of them are finished already, and are shown without drawing them again; the others" in told
    assert "together epsilon 5 (add or remove one row)" in told
    before = books(at)  # settings leave results and the ledger alone
    change(at, epsilons=[0.1], relation="replace", axis="proved")
    assert books(at) == before
    assert len(comparison(at).frames) == 8


def test_numbers_are_those_of_the_library():
    at = compared(seed=5)
    made = comparison(at)
    direct = experiment.sweep(data=made.data, n_jobs=1, **made.config.asked)
    pd.testing.assert_frame_equal(experiment.tidy(made.frames).drop(columns="seconds"), direct.drop(columns="seconds"))
    assert "can cost up to no limit (for 8 of them); the noise alone would give 10 (add" in said(at).replace("**", "")
    assert "A known seed made the noise" in " ".join(errors(at))
    assert "proved" not in widget(at, f"{PAGE}.axis.void").options
    change(at, **{"axis.void": "of the noise alone"})
    ((spec, _),) = charts(at)
    assert "epsilon of the noise alone" in json.dumps(spec)
    assert "It is no guarantee, and none is proved" in said(at)


def test_every_tab_is_drawn_and_a_note_that_is_damaged_is_no_traceback():
    measures = ["accuracy", "balanced accuracy", "1-way AVD", "3-way AVD", "range-query error"]
    at = compared(**FEWEST, measures=measures)
    for name in tabs(at):
        assert not mendable(tab(at, name))
        drawn = charts(at)
        assert len(drawn) == (name not in ("Medians", "Take away")), name
        for spec, _ in drawn:
            assert REAL in " ".join(spec["title"]["text"])
    (note,) = at.session_state["dpcore.books"].path.parent.joinpath("sweeps").glob("last-*.json")
    for text in (b"{", b"\xff\xfe", note.read_bytes().replace(b'"epsilons"', b'"epsilon"')):
        note.write_bytes(text)
        assert "earlier comparison" not in said(page(PEOPLE)).replace("Or the settings of an earlier comparison", "")


def test_a_failed_run_has_its_reason(monkeypatch):
    at = at_page(**SMALL)
    at.session_state["dpcore.books"].set_cap(key_of(at), "people", "add_remove", 4.0)
    press(at, f"{PAGE}.run")
    assert "Failed" in tabs(at)
    (table,) = tab(at, "Failed").dataframe
    assert table.value["why"].str.contains("capped at 4").all()
    assert at.session_state["dpcore.books"].account(key_of(at), "add_remove").epsilon_bound <= 4.0


class StopError(Exception):
    pass


def stopped_after(count, monkeypatch) -> AppTest:
    """The page after somebody pressed Cancel when so many runs were finished."""
    original, seen = sweep_runs.note, []

    def stop(*given):
        if len(seen) == count:
            raise StopError
        seen.append(1)
        original(*given)

    monkeypatch.setattr(sweep_runs, "note", stop)
    at = at_page(**SMALL)
    widget(at, f"{PAGE}.run").click()
    at.run()
    assert at.exception
    monkeypatch.setattr(sweep_runs, "note", original)
    return run(at)


@pytest.mark.parametrize("kept", [True, False])
def test_what_was_finished_before_a_stop_is_kept_and_it_goes_on(monkeypatch, tmp_path, kept):
    """A session that keeps nothing leaves nothing on the disk, not even while it lives: whoever kills the server
    leaves what is there.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if not kept:
        monkeypatch.setenv("DPCORE_LEDGER", "session")
    at = stopped_after(3, monkeypatch)
    left = {path.name.partition("-")[0] for path in tmp_path.rglob("*") if path.is_file()}
    assert left == (set() if kept else {"ledger.sqlite", "ledger.sqlite.witness"})
    assert len(comparison(at).frames) == 3
    assert "3 of 8 runs are here" in said(at)
    assert len(charts(at)) == 1
    press(at, f"{PAGE}.again")
    assert len(comparison(at).frames) == 8
    assert "Go on" not in [button.label for button in at.button]
    account = at.session_state["dpcore.books"].account(key_of(at), "add_remove")
    assert (account.looks, account.epsilon_bound) == (8, 10.0)  # none was run twice
    assert ("An earlier comparison" in said(page(PEOPLE))) == kept


def test_another_session_offers_to_go_on(monkeypatch):
    stopped_after(3, monkeypatch)
    at = page(PEOPLE)
    assert "An earlier comparison of these data was not finished (4 of 8 runs)" in said(at)
    press(at, f"{PAGE}.again")
    assert len(comparison(at).frames) == 8
    ((questions, *_),) = books(at).values()  # what another session asked is in the books alone
    assert questions == 4
    assert at.session_state["dpcore.books"].account(key_of(at), "add_remove").epsilon_bound == 10.0
    at = page(PEOPLE)
    assert "An earlier comparison of these data is kept" in said(at)
    press(at, f"{PAGE}.again")
    assert len(comparison(at).frames) == 8
    assert books(at) == {}


def foot() -> None:
    """What pages draw anew every other second while work is under way."""
    from dpcore.dashboard import shell

    shell.under_way()


def test_who_comes_back_during_runs_sees_these_and_nothing_else(monkeypatch):
    """There was a button for a comparison that was not finished, and a sum that stood still until the end."""
    original, kept, go = experiment.stream, Semaphore(0), Semaphore(0)

    def stream(**how):
        with closing(original(**how)) as found:
            for one in found:
                yield one
                kept.release()
                assert go.acquire(timeout=TIMEOUT)

    monkeypatch.setattr(experiment, "stream", stream)
    monkeypatch.setattr(jobs, "PATIENCE", 0.01)
    at = press(at_page(**SMALL), f"{PAGE}.run")
    job = at.session_state["dpcore.work"][PAGE]
    for told in ("1 release, epsilon 0.5", "2 releases, epsilon 2.5"):
        assert kept.acquire(timeout=TIMEOUT)
        opened(opened(at, "home"), PAGE)
        assert [button.label for button in at.main.button] == ["Cancel"]
        assert "finished" not in said(at)
        below = AppTest.from_function(foot)
        for key in ("dpcore.work", "dpcore.books", "dpcore.data", "dpcore.things"):
            below.session_state[key] = at.session_state[key]
        assert told in said(run(below))
        go.release()
    go.release(100)
    job.join(TIMEOUT)
    assert len(comparison(run(at)).frames) == 8
    assert not widget(at, f"{PAGE}.run").disabled


def test_a_description_sets_the_page_and_a_file_that_is_none_is_refused():
    first = at_page(**SMALL | {"modes": ["corrected", "paper"], "repeats": 3, "seed": 4})
    data = dataset(first)
    text = first.session_state[f"{PAGE}.chosen"].to_json(data)
    at = page(PEOPLE)
    for raw in (b"", b'{"format": "dpcore sweep 1"}'):
        widget(at, f"{PAGE}.file").set_value(("config.json", raw, "application/json"))
        assert "description of a sweep" in errors(run(at))[0].replace("\\", "")
    for old, new in (('"random_state": 4', f'"random_state": {2**40}'), ("NB-Synth | corrected", "NB-Synth")):
        raw = text.replace(old, new).encode()
        widget(at, f"{PAGE}.file").set_value(("config.json", raw, "application/json"))
        assert "not made on this page" in errors(run(at))[0].replace("\\", "")
        assert not run(at).error
    widget(at, f"{PAGE}.file").set_value(("config.json", text.encode(), "application/json"))
    run(at)
    assert not errors(at)
    again = at.session_state[f"{PAGE}.chosen"]
    assert json.loads(again.to_json(data)) == json.loads(text)


def test_nobody_is_ahead_by_chance():
    rows = []
    for method, values in {"a": [0.80, 0.82, 0.84], "b": [0.70, 0.72, 0.81], "c": [0.1, 0.2, 0.3]}.items():
        for metric, sign in (("accuracy", 1), ("1-way AVD", -1)):
            rows += [{"metric": metric, "epsilon": 1.0, "method": method, "value": 0.5 + sign * v / 2} for v in values]
    found = sweep_results.told_apart(sweep_results.medians(pd.DataFrame(rows)))
    assert found["best median"].tolist() == ["a", "a"]
    assert found["second"].tolist() == ["b", "b"]
    assert found["told apart"].tolist() == ["no: their runs overlap"] * 2
    clear = pd.DataFrame(rows)[lambda frame: frame["method"] != "b"]
    assert sweep_results.told_apart(sweep_results.medians(clear))["told apart"].tolist() == ["yes", "yes"]
    few = clear.drop_duplicates(["metric", "method"])
    assert set(sweep_results.told_apart(sweep_results.medians(few))["told apart"]) == {"too few runs"}


def test_every_offered_method_can_be_built():
    data, how = load("sample"), {"epsilons": [1.0], "repeats": 1, "measures": ["accuracy"], "models": ["Bayes net"]}
    config, left_out = sweep.plan_of(list(sweep.CATALOG), list(sweep.MODES), "replace", 1, data, **how)
    assert len(config.methods) + len(left_out) == 2 * len(sweep.CATALOG)
    reasons = set(left_out.values())
    assert reasons <= {"no paper printed it.", "it is a reference without privacy."}

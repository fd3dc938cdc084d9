"""The page of comparisons: what it would cost, runs on the books, charts, stops, and what is taken away."""

import functools
import json
import re
import tempfile
from dataclasses import replace

import pandas as pd
import prepared
import pytest
from driving import cancel, change, opened, press, run, started
from prepared import PEOPLE, page
from screen import books, charts, dataset, errors, key_of, marked, mendable, pictures, said, tabs, widget
from streamlit.testing.v1 import AppTest

from dpcore import evaluate, experiment
from dpcore.dashboard.pages.compare import answers, sweep, sweep_runs
from dpcore.domain.unit import PrivacyUnit

PAGE = "compare"

REFERENCES = functools.cache(evaluate.baselines)


@pytest.fixture(autouse=True)
def in_one_process(monkeypatch):
    """Runs in this process, and what they are compared with once for all tests that compare the same."""
    monkeypatch.setattr(experiment, "stream", functools.partial(experiment.stream, n_jobs=1))

    def known(data, kinds, measures, models):
        return REFERENCES(data, tuple(kinds), tuple(measures), models=tuple(models))

    monkeypatch.setattr(evaluate, "baselines", known)


def at_page(**settings) -> AppTest:
    return change(page(PEOPLE), **settings)


SMALL = {"methods__0": ["NB-Synth"], "methods__1": ["DiffP-ID3"], "epsilons": [0.5, 2.0], "repeats": 2}
SMALL |= {"measures": ["accuracy", "2-way AVD"]}


PROOF = "epsilon 4 (change one row) · 8 runs have no guarantee"


def comparison(at: AppTest) -> sweep_runs.Comparison:
    return at.session_state["dpcore.comparison"]["shown"]


def test_the_charge_is_said_before_anything_runs():
    at, charges = at_page(), "{} runs · charges at most epsilon {}".format
    text = said(at)
    assert all(words in text for words in (charges(16, 8), "Run: 16 runs", charges(12, 5.6), PROOF))
    change(at, methods__0=[], methods__1=[], methods__2=[])
    assert widget(at, f"{PAGE}.run").disabled
    assert books(at) == {}


def test_a_question_asks_before_it_charges_rows_of_people():
    for at, asking in ((page(PEOPLE), len(sweep.QUESTIONS)), (started(PAGE), 0)):
        assert said(at).count("Every run is a release of the rows of") == asking


PERSONS = replace(
    PEOPLE,
    train=PEOPLE.train.assign(who=[f"p{row // 2}" for row in range(len(PEOPLE.train))]),
    schema=replace(PEOPLE.schema, unit=PrivacyUnit(max_contributions=2, id_column="who")),
)


@pytest.mark.parametrize("given", [PEOPLE, PERSONS, prepared.data(target=None)], ids=["class", "persons", "no class"])
@pytest.mark.parametrize(("question", "answer"), [("keeps", "At epsilon 0.5, "), ("buys", ": from epsilon 0.1 to 1, ")])
def test_a_question_is_pressed_and_answered(given, question, answer):
    at = press(page(given, **{f"{PAGE}.tab": "Download"}), f"{PAGE}.{question}")
    assert not errors(at)
    made = comparison(at)
    assert len(made.frames) == made.n_runs <= 16
    assert (made.frame["epsilon_bound"] == made.frame["epsilon"]).all()
    for _ in range(2):  # the settings are the question's, as Run would run them
        assert made.config.to_json(given) == at.session_state[f"{PAGE}.chosen"].to_json(given)
        assert "Run: finished: no charge" in said(run(at))
    assert re.search(f"{answer}.*2-way distance", said(at))
    account = at.session_state["dpcore.books"].account(key_of(at), "add_remove")
    assert account.epsilon_bound == pytest.approx(made.frame["epsilon"].sum())
    at = opened(opened(at, "ledger"), PAGE)  # nothing is another when someone comes back
    assert "Run: finished: no charge" in said(at)
    assert re.search(f"{answer}.*2-way distance", said(at))


def test_runs_are_charged_drawn_marked_and_never_drawn_again():
    at = press(at_page(**SMALL), f"{PAGE}.run")
    assert not mendable(at), errors(at)
    made = comparison(at)
    assert len(made.frames) == made.n_runs == 8
    key = (key_of(at), "add_remove")
    assert books(at)[key] == (8, 10.0, 10.0)
    ((_, (table,)),) = charts(at)
    assert sorted(set(table["series"]) - {""}) == ["DiffP-ID3", "NB-Synth"]
    account = at.session_state["dpcore.books"].account(*key)
    assert (account.looks, account.epsilon_bound) == (8, 10.0)
    press(at, f"{PAGE}.run")
    assert at.session_state["dpcore.books"].account(*key) == account
    assert "at most epsilon 5" in said(change(at, repeats=3))  # for the runs that are not there yet
    change(at, epsilons=[0.1], relation="replace", measure="2-way AVD")  # settings leave results and the ledger alone
    assert (len(comparison(at).frames), books(at)[key]) == (8, (8, 10.0, 10.0))
    for name in tabs(at):
        at.session_state[f"{PAGE}.tab"] = name
        assert marked(run(at)) == [True] * (name == "Answer"), name


def test_a_cap_holds_for_runs_as_well():
    at = at_page(**SMALL | {"repeats": 1})
    at.session_state["dpcore.books"].set_cap(key_of(at), "people", "add_remove", 2.0)
    press(at, f"{PAGE}.run")
    assert "failed without a result. Their charges stay in the ledger." in said(at)
    assert at.session_state["dpcore.books"].account(key_of(at), "add_remove").epsilon_bound <= 2.0


@pytest.mark.parametrize("kept", [True, False])
def test_what_was_finished_before_a_stop_is_kept_and_it_goes_on(monkeypatch, tmp_path, kept):
    """A session that keeps nothing leaves nothing on the disk, not even while it lives: whoever kills the server
    leaves what is there.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if not kept:
        monkeypatch.setenv("DPCORE_LEDGER", "session")
    with monkeypatch.context() as patch:
        cancel(patch, "3 of 8")
        at = run(press(at_page(**SMALL), f"{PAGE}.run"))
    left = {path.name.partition("-")[0] for path in tmp_path.rglob("*") if path.is_file()}
    assert left == (set() if kept else {"ledger.sqlite", "ledger.sqlite.witness"})
    assert len(comparison(at).frames) == 3
    assert len(pictures(at)) == 1
    at = at_page(**SMALL) if kept else at  # another session goes on as well
    assert "Run: 5 runs" in said(at)
    press(at, f"{PAGE}.run")
    assert len(comparison(at).frames) == 8
    account = at.session_state["dpcore.books"].account(key_of(at), "add_remove")
    assert (account.looks, account.epsilon_bound) == (8, 10.0)  # none was run twice
    assert ("finished: no charge" in said(at_page(**SMALL))) == kept


def test_a_description_sets_the_page_and_a_file_that_is_none_is_refused():
    first = at_page(**SMALL | {"modes": ["corrected", "published"], "repeats": 3, "seed": 4})
    data = dataset(first)
    raw = first.session_state[f"{PAGE}.chosen"].to_json(data).encode()
    at = page(PEOPLE)
    for wrong in (b"", raw.replace(b'"random_state": 4', b'"random_state": %d' % 2**40)):
        widget(at, f"{PAGE}.file").set_value(("config.json", wrong, "application/json"))
        assert len(errors(run(at))) == 1
    widget(at, f"{PAGE}.file").set_value(("config.json", raw, "application/json"))
    assert not errors(run(at))
    assert json.loads(at.session_state[f"{PAGE}.chosen"].to_json(data)) == json.loads(raw)


def runs_of(epsilon: float, **values: list[float]) -> pd.DataFrame:
    """Runs by method and mode, which `_` joins."""
    rows = [(name.strip("_"), "as published" if "_" in name else "corrected", found) for name, found in values.items()]
    frame = pd.DataFrame(rows, columns=["series", "mode", "value"]).explode("value").astype({"value": float})
    frame = frame.assign(metric="accuracy", model="", epsilon=epsilon, epsilon_bound=epsilon)
    return frame.assign(method=frame["series"] + " | " + frame["mode"])


HIGH, MIXED, LOW = [0.80, 0.82, 0.84, 0.85], [0.70, 0.72, 0.74, 0.81], [0.1, 0.2, 0.3, 0.35]


def test_nobody_is_ahead_by_chance():
    for other, runs, ahead in ((MIXED, 4, False), (LOW, 4, True), (LOW, 3, False)):
        some = runs_of(1.0, a=HIGH, b=other).groupby("method").head(runs)
        assert ("a is best" in answers.answer_sentence(some, "accuracy")) == ahead
        assert ("run-to-run variation" in answers.answer_sentence(some, "accuracy")) != ahead


def test_answers_say_what_epsilon_buys_and_what_a_proof_costs():
    chosen_pairs = [runs_of(1.0, a=LOW), runs_of(2.0, a=MIXED), runs_of(3.0, a=HIGH)]
    for parts, text in ((chosen_pairs, "above 2, the gain is within"), (chosen_pairs[::2], "and still improves")):
        assert text in answers.answer_sentence(pd.concat(parts), "accuracy")
    closer = pd.concat([runs_of(1.0, a=HIGH), runs_of(3.0, a=LOW)]).assign(metric="2-way AVD")
    for floor, text in ((0.25, "as a fresh sample of them"), (0.1, "and still improves")):
        assert text in answers.answer_sentence(closer, "2-way AVD", floor)
    assert "stays within" in answers.answer_sentence(pd.concat([runs_of(1.0, a=MIXED), chosen_pairs[2]]), "accuracy")
    proved = runs_of(1.0, a=HIGH, a_=LOW, b=LOW, b_=HIGH, c=HIGH, c_=MIXED)
    text = answers.answer_sentence(proved, "accuracy")
    assert "a nothing (corrected 83%, as published 25%); b 58% (corrected 25%" in text
    assert text.endswith("c nothing beyond run-to-run variation.")

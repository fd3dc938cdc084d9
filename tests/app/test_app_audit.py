"""The page Twin worlds: attacks on invented tables and on one's own, verdicts, and the membership game."""

from dataclasses import replace
from typing import Any

import numpy as np
import prepared
import pytest
import streamlit as st
from driving import linked, press, run, started, tab
from screen import books, charts, dataset, elements, errors, mendable, metrics, said, titles, words
from streamlit.testing.v1 import AppTest

from dpcore.audit import cases
from dpcore.charts import odds
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard.jobs import CanceledError
from dpcore.dashboard.sections import twin_worlds
from dpcore.dashboard.shell import LANGUAGE
from dpcore.errors import DataError
from dpcore.teaching import membership_game
from dpcore.teaching.membership_game import Game, Round, Rules

PAGE = "audit"
OWN, GAME = "With a row of my own data", "The membership game"
TITLES = [
    "What is claimed, and what is known",
    "What the attacker saw, run by run",
    "How many times as frequent in world B as in world A",
]
original = cases.run


@pytest.fixture(autouse=True)
def same_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attacks draw the same noise each time."""
    monkeypatch.setattr(cases, "run", lambda *args, **kwargs: original(*args, **{"seed": 11} | kwargs))


def widget(at: AppTest, key: str) -> Any:
    """The widget whose key starts so, up to a dot or a colon."""
    (found,) = [w for w in elements(at) if any((w.key or "") == key or (w.key or "").startswith(key + e) for e in ".:")]
    return found


def change(at: AppTest, **settings: Any) -> AppTest:
    for name, value in settings.items():
        widget(at, f"{PAGE}.{name.replace('__', '.')}").set_value(value)
        run(at)
    return at


def attacked(**settings: Any) -> AppTest:
    return press(change(started(PAGE), **settings), f"{PAGE}.run")


def playing(at: AppTest) -> Game:
    return at.session_state["dpcore.guessing"]


# Attacks on invented tables


def test_nothing_runs_unasked_and_every_tab_keeps_to_its_page() -> None:
    at = started(PAGE)
    assert titles(at) == []
    assert "Nothing is drawn before" in said(at)
    assert "nothing is charged" in said(at)
    first = cases.cases_of("NB-Synth", "paper")[0]
    chosen = {name: widget(at, f"{PAGE}.{name}").value for name in ("method", "mode", "case", "trials")}
    assert chosen == {"method": "NB-Synth", "mode": "paper", "case": first.key, "trials": first.trials}
    assert first.story in said(at)
    assert len(at.dataframe) == 2
    assert all("◀ differs" in table.value[""].to_list() for table in at.dataframe)
    for name in ("Attack a method", OWN, GAME):
        keys = {found.key for found in elements(tab(at, name)) if getattr(found, "key", None)} - {LANGUAGE}
        assert keys
        assert all(key.startswith(f"{PAGE}.") for key in keys)
    tab(at, "Attack a method")
    change(at, trials=50, method="Plain forest")  # another case has another number of runs
    (case,) = cases.cases_of("Plain forest", "paper")
    assert widget(at, f"{PAGE}.mode").options == ["As printed"]
    now = [widget(at, f"{PAGE}.{name}").value for name in ("mode", "case", "trials")]
    assert now == ["paper", case.key, case.trials]
    change(at, method="DiffGen", mode="corrected")
    assert widget(at, f"{PAGE}.case").value == cases.cases_of("DiffGen", "corrected")[0].key


def test_a_flaw_is_caught_and_the_result_is_kept_by_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    at = attacked(trials=300)
    text = said(at)
    assert ":material/gavel: Caught" in text
    assert "95% confidence, this run can cost epsilon" in text
    assert "and 1 is claimed" in text
    assert titles(at) == TITLES
    assert REAL_DATA not in str(charts(at))
    found = metrics(at)
    assert dict(found)["Claimed"] == "1"
    assert float(dict(found)["At least, by this attack"]) > 1
    assert dict(found)["Runs in each world"] == "300"
    before = charts(at)[1][0]
    at.toggle(f"{PAGE}.log").set_value(True)
    assert charts(run(at))[1][0] != before
    change(at, mode="corrected")
    assert metrics(at) == titles(at) == []
    change(at, mode="paper")
    assert metrics(at) == found
    assert len(at.session_state["dpcore.twins"]) == 1

    def stopped(*args, progress, **kwargs):
        progress(0.5, "half way")
        raise CanceledError

    monkeypatch.setattr(cases, "run", stopped)
    press(at, f"{PAGE}.run")
    assert metrics(at) == found
    assert not any(button.key == f"cancel:{PAGE}" for button in at.button)
    assert books(at) == {}


def test_verdicts_say_what_an_attack_proves(monkeypatch: pytest.MonkeyPatch) -> None:
    at = attacked(mode="corrected", trials=20)
    for text in ("Not caught, which proves nothing", "1 is claimed. Another attack might show more.", "is the proof"):
        assert text in said(at)
    assert titles(at) == TITLES
    press(change(at, method="HMPrivBayes", mode="paper", case="HMPrivBayes/paper/pairs", trials=20), f"{PAGE}.run")
    assert "the claim has no proof for these neighbors: what can be proved is epsilon 6" in said(at)
    assert "Only a part of the run is attacked" in said(at)
    press(change(at, method="NoPrivacy", trials=20), f"{PAGE}.run")
    assert "No claim to refute" in said(at)
    assert dict(metrics(at))["Claimed"] == "nothing"

    def unlucky(case, *args, **kwargs):
        found = original(case, *args, **kwargs)
        return replace(found, result=replace(found.result, lower_bound=1.2))

    monkeypatch.setattr(cases, "run", unlucky)
    press(change(at, method="NB-Synth", mode="corrected", trials=20), f"{PAGE}.run")
    assert "can cost epsilon 1.2 or more, and 1 is claimed" in said(at)
    assert "5 in 100 false alarms" in said(at)
    assert books(at) == {}


def test_the_tables_of_every_case_are_told() -> None:
    for case in cases.CASES:
        first, second = twin_worlds.tables(case.pair)
        assert (first["rows"].sum(), second["rows"].sum()) == tuple(len(frame) for frame in case.pair), case.key
        assert first.iloc[0, -1] == "◀ differs", case.key
        assert (first[""] != "").sum() in (1, 2), case.key
        assert case.trials in twin_worlds.TRIALS, case.key


def test_a_link_or_a_lesson_chooses_and_a_link_is_input() -> None:
    at = linked(PAGE, method="DiffPRFs", mode="corrected", trials="200")
    assert [widget(at, f"{PAGE}.{name}").value for name in ("method", "mode", "trials")] == [
        "DiffPRFs",
        "corrected",
        200,
    ]
    assert at.session_state.get("dpcore.twins", {}) == {}
    at, key = started(), cases.cases_of("JTree", "corrected")[-1].key
    for name, value in {"method": "JTree", "mode": "corrected", "case": key, "trials": 20, "tab": OWN}.items():
        at.session_state[f"{PAGE}.{name}"] = value
    run(at.switch_page(f"pages/{PAGE}.py"))
    assert widget(at, f"{PAGE}.own.run").label == "Run on my own table"
    assert widget(tab(at, "Attack a method"), f"{PAGE}.case").value == key
    bad = {"method": "nobody", "mode": "17", "case": "<script>", "trials": "3", "run": "true"}
    for asked in (bad, {"trials": '"x"'}):
        at = linked(PAGE, **asked)
        assert not errors(at)
        assert widget(at, f"{PAGE}.method").value == "NB-Synth"
        assert titles(at) == []
    for row in ("0", "99999999", "me"):  # rows that are not there
        at = linked(PAGE, **{"own.row:data": row})
        assert not errors(tab(at, OWN))
        assert widget(at, f"{PAGE}.own.row").value == 1


# A row of one's own


def test_an_own_row_is_marked_and_not_charged_and_its_values_stay_in_their_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = change(tab(prepared.page(), OWN), own__trials=20)
    assert titles(at) == []
    assert "that could cost up to the sum of all runs: epsilon 40" in said(at)
    change(at, own__row=5, own__relation="replace", own__other=2)
    button, drawn = st.button, []
    with monkeypatch.context() as patch:
        patch.setattr(st, "button", lambda label, **look: drawn.append((label, look)) or button(label, **look))
        press(at, f"{PAGE}.own.run")
    assert [look["disabled"] for label, look in drawn if label == "Run on my own table"] == [True, False]
    assert not mendable(at), errors(at)
    assert len(titles(at)) == 3
    assert all(title.endswith(REAL_DATA) for title in titles(at))
    assert "Row 5, NB-Synth, corrected mode" in said(at)
    assert "all these runs together: epsilon 60" in said(at)
    assert at.table[0].value["World A"].to_list()[1] == dataset(at).train["town"].iloc[4]
    assert "Zq" not in words(at) + str(charts(at))
    change(at, own__epsilon=2.0)
    assert "Below: the last run" in said(at)
    assert "epsilon 120" in said(at)
    assert books(at) == {}

    def refusing(*args, **kwargs):
        raise DataError("The table has no row of that number.", "Choose one from 0 to 3.")

    monkeypatch.setattr(cases, "own_row", refusing)
    assert "no row of that number" in mendable(press(at, f"{PAGE}.own.run"))[0]


# The game


def test_a_round_is_dealt_guessed_once_and_revealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership_game, "deal", lambda rules, _: Round(rules, True, (membership_game.COUNT + 3,)))
    at = tab(started(PAGE), GAME)
    assert at.button(f"{PAGE}.game.in").disabled
    press(at, f"{PAGE}.game.deal")
    assert f"Released: {membership_game.COUNT + 3} ill people" in said(at)
    assert "X is in" not in said(at)
    dealt = playing(at).round
    change(at, game__epsilon=5.0)  # is for the next round
    assert playing(at).round is dealt
    assert "the next round has them" in said(at)
    change(at, game__epsilon=1.0)
    press(at, f"{PAGE}.game.out")
    for text in ("Wrong", "X is in", "the likelier one: in"):
        assert text in said(at)
    assert at.button(f"{PAGE}.game.in").disabled
    press(press(at, f"{PAGE}.game.deal"), f"{PAGE}.game.in")
    assert ":green[:material/check_circle: Right]" in said(at)
    assert playing(at).scores == {(Rules(1.0), membership_game.PLAYERS): (1, 2)}
    (table,) = [found.value for found in at.dataframe if "rounds" in found.value]
    assert table[["rounds", "right", "share", "allowed"]].to_numpy().tolist() == [[2, 1, "50.0%", "73.1%"]]
    assert playing(press(at, f"{PAGE}.game.reset")) == Game()
    assert books(at) == {}


def test_the_best_strategy_plays_in_both_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership_game, "lots", lambda: np.random.default_rng(3))
    at = tab(started(PAGE), GAME)
    for number, mode in enumerate(("corrected", "paper"), start=1):
        press(change(at, game__mode=mode), f"{PAGE}.game.auto")
        assert len(playing(at).scores) == number
        assert playing(at).scores[Rules(1.0, mode), membership_game.BEST][1] == 100
        assert "Scores, and the most that epsilon allows" in titles(at)
        assert f"{100 * odds(1.0):.1f}%" in said(at)
        assert ("It is not: 9 answers can cost up to 9 × 1 = **9**" in said(at)) == (mode == "paper")
        assert "Low scores prove nothing" in said(at)
    one = playing(press(at, f"{PAGE}.game.deal")).round
    assert len(one.answers) == membership_game.ASKED
    assert "Released: " + ", ".join(map(str, one.answers)) in said(at)
    assert f"{one.number} of 9 answers are above {membership_game.COUNT}" in said(at)

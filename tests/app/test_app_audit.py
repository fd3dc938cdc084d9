"""The page Twin worlds: attacks on invented tables and on one's own, verdicts, and the membership game."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import streamlit as st
from driving import (
    books,
    charts,
    csv,
    dataset,
    elements,
    errors,
    mendable,
    metrics,
    people,
    press,
    run,
    said,
    started,
    using,
    words,
)
from streamlit.testing.v1 import AppTest

from dpcore.audit import cases
from dpcore.charts import odds
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard.sections import twin_worlds
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


def at_tab(name: str) -> AppTest:
    at = started(PAGE)
    assert name in [tab.label for tab in at.tabs]
    at.session_state[f"{PAGE}.tab"] = name
    return run(at)


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


def titles(at: AppTest) -> list[str]:
    """Of all charts but the icons of an epsilon."""
    found = [" ".join(spec["title"]["text"]) for spec, _ in charts(at)]
    return [title for title in found if not title.endswith(" in 100")]


def playing(at: AppTest) -> Game:
    return at.session_state["dpcore.guessing"]


# Attacks on invented tables


def test_nothing_runs_unasked() -> None:
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


def test_caught() -> None:
    at = attacked(trials=300)
    text = said(at)
    assert ":material/gavel: Caught" in text
    assert "95 % confidence, this run costs at least epsilon" in text
    assert "and 1 is claimed" in text
    assert titles(at) == TITLES
    assert REAL_DATA not in str(charts(at))
    assert dict(metrics(at))["Epsilon claimed"] == "1"
    assert float(dict(metrics(at))["At least, by this attack"]) > 1
    assert books(at) == {}
    before = charts(at)[1][0]
    at.toggle(f"{PAGE}.log").set_value(True)
    run(at)
    assert charts(at)[1][0] != before
    assert dict(metrics(at))["Runs in each world"] == "300"


def test_not_caught_proves_nothing() -> None:
    at = attacked(mode="corrected", trials=50)
    text = said(at)
    assert "Not caught, which proves nothing" in text
    assert "1 is claimed. Another attack might show more." in text
    assert "What protects people is the proof" in text
    assert titles(at) == TITLES
    assert books(at) == {}


def test_not_caught_as_printed_is_no_excuse() -> None:
    at = attacked(method="HMPrivBayes", mode="paper", case="HMPrivBayes/paper/pairs", trials=20)
    assert "Not caught, which proves nothing" in said(at)
    assert "the claim has no proof for these neighbors: what can be proved is epsilon 6" in said(at)
    assert "Only a part of the run is attacked" in said(at)
    assert "what can be proved is epsilon " in said(at)


def test_no_claim() -> None:
    at = attacked(method="NoPrivacy", trials=20)
    assert "No claim to refute" in said(at)
    assert "The source claims no epsilon" in said(at)
    assert dict(metrics(at))["Epsilon claimed"] == "none"
    assert titles(at) == TITLES


def test_above_what_is_proved_is_a_false_alarm_or_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def unlucky(case, *args, **kwargs):
        found = original(case, *args, **kwargs)
        return replace(found, result=replace(found.result, lower_bound=1.2))

    monkeypatch.setattr(cases, "run", unlucky)
    at = attacked(mode="corrected", trials=20)
    assert "at least epsilon 1.2, and 1 is claimed" in said(at)
    assert "5 in 100 false alarms" in said(at)


def test_results_are_kept_by_case_and_settings_run_nothing() -> None:
    at = attacked(trials=50)
    found = metrics(at)
    change(at, mode="corrected")
    assert metrics(at) == []
    assert titles(at) == []
    change(at, mode="paper")
    assert metrics(at) == found
    assert len(at.session_state["dpcore.twins"]) == 1
    assert books(at) == {}


def test_another_case_has_another_number_of_runs() -> None:
    at = change(started(PAGE), trials=50)
    change(at, method="Plain forest")
    (case,) = cases.cases_of("Plain forest", "paper")
    assert widget(at, f"{PAGE}.mode").value == "paper"
    assert widget(at, f"{PAGE}.mode").options == ["As printed"]
    assert widget(at, f"{PAGE}.case").value == case.key
    assert widget(at, f"{PAGE}.trials").value == case.trials
    change(at, method="DiffGen", mode="corrected")
    assert widget(at, f"{PAGE}.case").value == cases.cases_of("DiffGen", "corrected")[0].key


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.key)
def test_the_tables_of_every_case_are_told(case) -> None:
    first, second = twin_worlds.tables(case.pair)
    assert (first["rows"].sum(), second["rows"].sum()) == tuple(len(frame) for frame in case.pair)
    assert first.iloc[0, -1] == "◀ differs"
    assert (first[""] != "").sum() in (1, 2)
    assert case.trials in twin_worlds.TRIALS


def test_a_link_or_a_lesson_chooses() -> None:
    at = started()
    for name, value in {"method": "DiffPRFs", "mode": "corrected", "trials": "200"}.items():
        at.query_params[name] = value
    run(at.switch_page(f"pages/{PAGE}.py"))
    assert widget(at, f"{PAGE}.method").value == "DiffPRFs"
    assert widget(at, f"{PAGE}.mode").value == "corrected"
    assert widget(at, f"{PAGE}.trials").value == 200
    assert at.session_state.get("dpcore.twins", {}) == {}
    at = started()
    key = cases.cases_of("JTree", "corrected")[-1].key
    for name, value in {"method": "JTree", "mode": "corrected", "case": key, "trials": 20, "tab": OWN}.items():
        at.session_state[f"{PAGE}.{name}"] = value
    run(at.switch_page(f"pages/{PAGE}.py"))
    assert f"{PAGE}.own.run" in [button.key for button in at.button]
    at.session_state[f"{PAGE}.tab"] = "Attack a method"
    run(at)
    assert widget(at, f"{PAGE}.case").value == key


@pytest.mark.parametrize(
    "asked",
    [{"method": "nobody"}, {"mode": "17"}, {"case": "<script>"}, {"trials": "3"}, {"trials": '"x"'}, {"run": "true"}],
)
def test_a_link_is_input(asked: dict[str, str]) -> None:
    at = started()
    for name, value in asked.items():
        at.query_params[name] = value
    run(at.switch_page(f"pages/{PAGE}.py"))
    assert not errors(at)
    assert widget(at, f"{PAGE}.method").value == "NB-Synth"
    assert titles(at) == []


def test_what_was_cancelled_leaves_the_last_result(monkeypatch: pytest.MonkeyPatch) -> None:
    at = attacked(trials=50)
    found = metrics(at)

    def stopped(*args, progress, **kwargs):
        progress(0.5, "half way")
        st.stop()

    monkeypatch.setattr(cases, "run", stopped)
    press(at, f"{PAGE}.run")
    run(at)
    assert metrics(at) == found
    assert not any(button.key == f"cancel:{PAGE}" for button in at.button)


# A row of one's own


def test_an_own_row_is_marked_and_not_charged() -> None:
    at = change(at_tab(OWN), own__trials=20)
    assert titles(at) == []
    assert "the price would be the sum of all runs: epsilon 40" in said(at)
    press(at, f"{PAGE}.own.run")
    assert not mendable(at)
    assert len(titles(at)) == 3
    assert all(title.endswith(REAL_DATA) for title in titles(at))
    assert "Row 1, NB-Synth, corrected mode" in said(at)
    assert "all these runs together: epsilon 40" in said(at)
    assert books(at) == {}
    change(at, own__epsilon=2.0)
    assert "Below: the last run" in said(at)
    assert "epsilon 80" in said(at)


def test_the_own_run_rests_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    at = change(at_tab(OWN), own__trials=20)
    button, drawn = st.button, []
    monkeypatch.setattr(st, "button", lambda label, **look: drawn.append((label, look)) or button(label, **look))
    press(at, f"{PAGE}.own.run")
    assert [look["disabled"] for label, look in drawn if label == "Run on my own table"] == [True, True, False]
    assert not mendable(at)


def test_own_values_are_in_the_table_of_values_only() -> None:
    at = using("people.csv", csv(people()))
    run(at.switch_page(f"pages/{PAGE}.py"))
    at.session_state[f"{PAGE}.tab"] = OWN
    run(at)
    change(at, own__row=5, own__relation="replace", own__other=2, own__trials=20)
    press(at, f"{PAGE}.own.run")
    assert not mendable(at), errors(at)
    assert len(titles(at)) == 3
    assert at.table[0].value["World A"].to_list()[1] == dataset(at).train["town"].iloc[4]
    assert "Zq" not in words(at)
    assert "Zq" not in str(charts(at))
    assert dataset(at).name == "people.csv"


@pytest.mark.parametrize("asked", [{"own.row:data": "0"}, {"own.row:data": "99999999"}, {"own.row:data": "me"}])
def test_rows_that_are_not_there(asked: dict[str, str]) -> None:
    at = started()
    at.session_state[f"{PAGE}.tab"] = OWN
    for name, value in asked.items():
        at.query_params[name] = value
    run(at.switch_page(f"pages/{PAGE}.py"))
    assert not errors(at)
    assert widget(at, f"{PAGE}.own.row").value == 1


def test_a_method_that_cannot_is_told_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*args, **kwargs):
        raise DataError("The table has no row of that number.", "Choose one from 0 to 3.")

    monkeypatch.setattr(cases, "own_row", refusing)
    at = press(at_tab(OWN), f"{PAGE}.own.run")
    (message,) = mendable(at)
    assert "no row of that number" in message
    assert titles(at) == []


# The game


def test_a_round_is_dealt_guessed_once_and_revealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership_game, "deal", lambda rules, _: Round(rules, True, (membership_game.COUNT + 3,)))
    at = at_tab(GAME)
    assert at.button(f"{PAGE}.game.in").disabled
    press(at, f"{PAGE}.game.deal")
    assert f"Released: {membership_game.COUNT + 3} ill people" in said(at)
    assert "X is in" not in said(at)
    press(at, f"{PAGE}.game.out")
    assert "Wrong" in said(at)
    assert "X is in" in said(at)
    assert "the likelier one: in" in said(at)
    assert at.button(f"{PAGE}.game.in").disabled
    press(at, f"{PAGE}.game.deal")
    press(at, f"{PAGE}.game.in")
    assert ":green[:material/check_circle: Right]" in said(at)
    assert playing(at).scores == {(Rules(1.0), membership_game.PLAYERS): (1, 2)}
    (table,) = [found.value for found in at.dataframe if "rounds" in found.value]
    assert table[["rounds", "right", "share", "allowed"]].to_numpy().tolist() == [[2, 1, "50.0 %", "73.1 %"]]
    press(at, f"{PAGE}.game.reset")
    assert playing(at) == Game()
    assert books(at) == {}


def test_settings_deal_no_other_round() -> None:
    at = press(at_tab(GAME), f"{PAGE}.game.deal")
    dealt = playing(at).round
    change(at, game__epsilon=5.0)
    assert playing(at).round is dealt
    assert "the next round has them" in said(at)
    press(at, f"{PAGE}.game.in")
    assert [rules.epsilon for rules, _ in playing(at).scores] == [1.0]


@pytest.mark.parametrize("mode", ["corrected", "paper"])
def test_the_best_strategy_plays(mode: str) -> None:
    at = press(change(at_tab(GAME), game__mode=mode), f"{PAGE}.game.auto")
    assert [(key, rounds) for key, (_, rounds) in playing(at).scores.items()] == [
        ((Rules(1.0, mode), membership_game.BEST), 100)
    ]
    assert "Scores, and the most that epsilon allows" in titles(at)
    assert f"{100 * odds(1.0):.1f} %" in said(at)
    assert ("It is not: 9 answers cost 9 × 1 = **9**" in said(at)) == (mode == "paper")
    assert "Low scores prove nothing" in said(at)


def test_answers_that_are_paid_once_are_shown_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership_game, "lots", lambda: np.random.default_rng(3))
    at = press(change(at_tab(GAME), game__mode="paper"), f"{PAGE}.game.deal")
    one = playing(at).round
    assert len(one.answers) == membership_game.ASKED
    assert "Released: " + ", ".join(map(str, one.answers)) in said(at)
    assert f"{one.number} of 9 answers are above {membership_game.COUNT}" in said(at)


def test_every_widget_has_the_prefix_of_its_page() -> None:
    for name in ("Attack a method", OWN, GAME):
        keys = [found.key for found in elements(at_tab(name)) if getattr(found, "key", None)]
        assert keys
        assert all(key.startswith(f"{PAGE}.") for key in keys)

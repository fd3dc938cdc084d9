"""The membership game as it is played: rules, a round, and scores beside what epsilon allows. No real data."""

from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import links, panels, session
from dpcore.dashboard.widgets import choice, number_choice
from dpcore.datasets import Dataset
from dpcore.teaching.membership_game import (
    ASKED,
    AUTO,
    COUNT,
    EPSILONS,
    PEOPLE,
    Game,
    Round,
    Rules,
    best_share,
    chances,
    score_frame,
)
from dpcore.text import odds

RELEASES = {
    "corrected": "Corrected: one answer, and it is paid for",
    "paper": f"As some papers print it: {ASKED} answers, paid for as one",
}
STATE = "dpcore.guessing"


@st.fragment
def game(page: str, data: Dataset) -> None:
    """Rules, a round, and the scores."""
    st.markdown(
        "**Is X in the table?** A hidden coin puts X in, or leaves X out. Then the number of ill people is "
        "released with noise, and you guess. Everything is invented: nothing is charged."
    )
    left, right = st.columns([3, 2], gap="large")
    with left, links.of(page, data, "game"):
        label = "Epsilon that is claimed"
        epsilon = number_choice(st.select_slider, label, f"{page}.game.epsilon", EPSILONS, value=1.0)
        mode = choice(st.radio, "What is released", f"{page}.game.mode", RELEASES)
    rules = Rules(epsilon, mode)
    with right:
        ill = ["yes", *PEOPLE.values()]
        people = pd.DataFrame({"person": ["X", *PEOPLE], "ill": ill, "in the table": ["?", *["yes"] * len(PEOPLE)]})
        st.dataframe(people, hide_index=True, height="content")
        st.caption(f"{COUNT} ill people without X, {COUNT + 1} with X. Everybody knows this table but for the coin.")
    playing = session.kept(STATE, Game)
    with left:  # beside the table, so that the number, the guess and the result are on one screen
        play(page, rules, playing)
    shown, at = (playing.round.rules, float(playing.round.number)) if playing.round else (rules, None)
    panels.chart(charts.round_worlds(chances(shown), at=at, number=shown.number))
    st.divider()
    scores(page, rules, playing)


def play(page: str, rules: Rules, playing: Game) -> None:
    """The round on the table, but for its picture."""
    opened = playing.round is not None and playing.guess is None
    title, rest, voting = "Next round" if playing.round else "Start a round", "primary", "secondary"
    if opened:
        rest, voting = voting, rest
    look: Any = {"type": rest, "icon": ":material/casino:", "width": "stretch"}
    first, second, third = st.columns(3, gap="small")
    first.button(title, key=f"{page}.game.deal", on_click=playing.begin, args=(rules,), **look)
    look = {"type": voting, "disabled": not opened, "on_click": playing.vote, "width": "stretch"}
    second.button("X is in", key=f"{page}.game.in", args=(True,), **look)
    third.button("X is out", key=f"{page}.game.out", args=(False,), **look)
    if playing.round is not None:
        result(playing.round, playing.guess)
        if playing.round.rules != rules:
            st.caption("The settings were changed since: the next round has them.")


def result(one: Round, guess: bool | None) -> None:
    """What was released, and after the guess the truth."""
    with st.container(border=True, gap="xsmall"):
        if len(one.answers) == 1:
            st.markdown(f"## Released: {one.number} ill people")
        else:
            said = ", ".join(str(answer) for answer in one.answers)
            st.markdown(f"## Released: {said}")
            st.markdown(f"{one.number} of {ASKED} answers are above {COUNT}.")
        if guess is None:
            st.markdown("## In or out?")
            return
        right = guess == one.inside
        icon = ":green[:material/check_circle: Right]" if right else ":red[:material/cancel: Wrong]"
        st.markdown(f"## {icon}: X is {'in' if one.inside else 'out'}")
        if guess != one.best:
            st.caption(f"The other guess would have been the likelier one: {'in' if one.best else 'out'}.")


def scores(page: str, rules: Rules, playing: Game) -> None:
    """How often guesses were right, beside what epsilon allows."""
    limit, best = odds(rules.epsilon), best_share(rules)
    st.header("Scores")
    held = f"If epsilon {rules.epsilon:g} is true, nobody is right in more than **{100 * limit:.1f} %** of all rounds "
    held += "in the long run"
    if rules.asked == 1:
        st.markdown(f"{held}, however clever. The best strategy reaches exactly that.")
    else:
        st.markdown(
            f"{held}. It is not: {ASKED} answers cost {ASKED} × {rules.epsilon:g} = **{ASKED * rules.epsilon:g}**, and "
            f"the best strategy is right in **{100 * best:.1f} %**."
        )
    left, right = st.columns(2, gap="medium")
    look: Any = {"on_click": playing.let_play, "args": (rules,), "icon": ":material/smart_toy:", "width": "stretch"}
    left.button(f"Let the best strategy play {AUTO} rounds", key=f"{page}.game.auto", **look)
    right.button(
        "Forget all scores", key=f"{page}.game.reset", on_click=st.session_state.pop, args=(STATE,), width="stretch"
    )
    found = score_frame(playing)
    if len(found):
        marks = pd.DataFrame({"epsilon": EPSILONS, "share": [odds(epsilon) for epsilon in EPSILONS]})
        told = found.assign(release=found["mode"].map({"corrected": "corrected", "paper": "as printed"}))
        for name in ("share", "low", "high", "allowed"):
            told[name] = [f"{100 * value:.1f} %" for value in told[name]]
        st.dataframe(
            told[["who", "release", "epsilon", "rounds", "right", "share", "low", "high", "allowed"]], hide_index=True
        )
        st.caption("Low and high: a 95 % interval (Clopper and Pearson). Allowed: the most that epsilon allows.")
        panels.chart(charts.game_scores(found.assign(honest=found["mode"] == "corrected"), limit=marks))
    st.caption(
        "**Low scores prove nothing.** That nobody guessed well here says that these players, with this one number, "
        "did not; another release of the same table, or a cleverer attack, may tell more. Only the proof bounds "
        "them all. Assumed: one person is added or removed, epsilon without delta, a fair coin, one release a "
        "round."
    )

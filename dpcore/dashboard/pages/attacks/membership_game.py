"""The membership game as it is played: rules, a round, and scores beside what epsilon allows. No real data."""

from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import links, panels, session
from dpcore.dashboard.pages.attacks.membership_game_numbers import (
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
from dpcore.dashboard.widgets import caption, choice, markdown, number_choice
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.text import odds

RELEASES = {
    "corrected": phrase("Corrected: one answer, and it is paid for"),
    "published": phrase("As some papers print it: 9 answers, paid for as one"),
}
HEADINGS = (
    phrase("who"),
    phrase("release"),
    phrase("epsilon"),
    phrase("rounds"),
    phrase("right"),
    phrase("share"),
    phrase("low"),
    phrase("high"),
    phrase("allowed"),
)
MODES = {"corrected": phrase("corrected"), "published": phrase("as printed")}
STATE = "dpcore.guessing"


@st.fragment
def game(page: str, data: Dataset) -> None:
    """Rules, a round, and the scores."""
    markdown(
        "**Is X in the table?** A hidden coin puts X in, or leaves X out. Then the number of ill people is "
        "released with noise, and you guess. Everything is invented: nothing is charged."
    )
    left, right = st.columns([3, 2], gap="large")
    with left, links.of(page, data, "game"):
        label = say("Epsilon that is claimed")
        epsilon = number_choice(st.select_slider, label, f"{page}.game.epsilon", EPSILONS, value=1.0)
        mode = choice(st.radio, say("What is released"), f"{page}.game.mode", RELEASES)
    rules = Rules(epsilon, mode)
    with right:
        people = {
            say("person"): ["X", *PEOPLE],
            say("ill"): [say(ill) for ill in ("yes", *PEOPLE.values())],
            say("in the table"): ["?", *[say("yes")] * len(PEOPLE)],
        }
        st.dataframe(pd.DataFrame(people), hide_index=True, height="content")
        caption(
            "{without} ill people without X, {with_x} with X. Everybody knows this table but for the coin.",
            without=COUNT,
            with_x=COUNT + 1,
        )
    playing = session.kept(STATE, Game)
    with left:  # beside the table, so that the number, the guess and the result are on one screen
        play(page, rules, playing)
    shown, at = (playing.round.rules, float(playing.round.number)) if playing.round else (rules, None)
    panels.chart(charts.round_worlds(chances(shown), at=at, number=say(shown.number)))
    st.divider()
    scores(page, rules, playing)


def play(page: str, rules: Rules, playing: Game) -> None:
    """The round on the table, but for its picture."""
    opened = playing.round is not None and playing.guess is None
    title = say("Next round") if playing.round else say("Start a round")
    rest, voting = "primary", "secondary"
    if opened:
        rest, voting = voting, rest
    look: Any = {"type": rest, "icon": ":material/casino:", "width": "stretch"}
    first, second, third = st.columns(3, gap="small")
    first.button(title, key=f"{page}.game.deal", on_click=playing.begin, args=(rules,), **look)
    look = {"type": voting, "disabled": not opened, "on_click": playing.vote, "width": "stretch"}
    second.button(say("X is in"), key=f"{page}.game.in", args=(True,), **look)
    third.button(say("X is out"), key=f"{page}.game.out", args=(False,), **look)
    if playing.round is not None:
        result(playing.round, playing.guess)
        if playing.round.rules != rules:
            caption("The settings were changed since: the next round has them.")


def result(one: Round, guess: bool | None) -> None:
    """What was released, and after the guess the truth."""
    with st.container(border=True, gap="xsmall"):
        if len(one.answers) == 1:
            markdown("## Released: {number} ill people", number=one.number)
        else:
            markdown("## Released: {answers}", answers=", ".join(str(answer) for answer in one.answers))
            markdown("{number} of {asked} answers are above {count}.", number=one.number, asked=ASKED, count=COUNT)
        if guess is None:
            markdown("## In or out?")
            return
        right, truth = guess == one.inside, say("in") if one.inside else say("out")
        told = phrase("## :red[:material/cancel: Wrong]: X is {truth}")
        if right:
            told = phrase("## :green[:material/check_circle: Right]: X is {truth}")
        markdown(told, truth=truth)
        if guess != one.best:
            caption(
                "The other guess would have been the likelier one: {best}.", best=say("in") if one.best else say("out")
            )


def scores(page: str, rules: Rules, playing: Game) -> None:
    """How often guesses were right, beside what epsilon allows."""
    limit, best = odds(rules.epsilon), best_share(rules)
    st.header(say("Scores"))
    of = {"epsilon": rules.epsilon, "limit": 100 * limit}
    if rules.asked == 1:
        held = say(
            "If epsilon {epsilon:g} is true, nobody is right in more than **{limit:.1f}%** of all rounds in the long "
            "run, however clever. The best strategy reaches exactly that.",
            **of,
        )
    else:
        held = say(
            "If epsilon {epsilon:g} is true, nobody is right in more than **{limit:.1f}%** of all rounds in the long "
            "run. It is not: {asked} answers can cost up to {asked} × {epsilon:g} = **{sum:g}**, and the best "
            "strategy is right in **{best:.1f}%**.",
            asked=ASKED,
            sum=ASKED * rules.epsilon,
            best=100 * best,
            **of,
        )
    st.markdown(held)
    left, right = st.columns(2, gap="medium")
    look: Any = {"on_click": playing.let_play, "args": (rules,), "icon": ":material/smart_toy:", "width": "stretch"}
    left.button(say("Let the best strategy play {rounds} rounds", rounds=AUTO), key=f"{page}.game.auto", **look)
    look = {"on_click": st.session_state.pop, "args": (STATE,), "width": "stretch"}
    right.button(say("Forget all scores"), key=f"{page}.game.reset", **look)
    found = score_frame(playing)
    if len(found):
        marks = pd.DataFrame({"epsilon": EPSILONS, "share": [odds(epsilon) for epsilon in EPSILONS]})
        told = found.assign(release=[say(MODES[mode]) for mode in found["mode"]], who=found["who"].map(say))
        for name in ("share", "low", "high", "allowed"):
            told[name] = [f"{100 * value:.1f}%" for value in told[name]]
        st.dataframe(told[list(HEADINGS)].rename(columns=say), hide_index=True)
        caption("Low and high: a 95% interval (Clopper and Pearson). Allowed: the most that epsilon allows.")
        panels.chart(charts.game_scores(found.assign(honest=found["mode"] == "corrected"), limit=marks))
    caption(
        "**Low scores prove nothing.** That nobody guessed well here says that these players, with this one number, "
        "did not; another release of the same table, or a cleverer attack, may tell more. Only the proof bounds them "
        "all. Assumed: one person is added or removed, epsilon without delta, a fair coin, one release a round."
    )

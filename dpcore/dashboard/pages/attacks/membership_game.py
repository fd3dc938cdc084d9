"""Screen of the membership game: its rules, one round, and the scores. No real data are read."""

from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import links, panels, session
from dpcore.dashboard.demonstration import DANA, OTHERS, epsilon_slider, two_columns, with_headings
from dpcore.dashboard.pages.attacks.membership_game_numbers import (
    AUTO,
    COUNT,
    EPSILONS,
    ILL,
    Game,
    Rules,
    best_share,
    outcome_probabilities,
    score_frame,
)
from dpcore.dashboard.widgets import caption, choice, markdown
from dpcore.language import phrase, say
from dpcore.text import odds

RELEASES = {
    "corrected": phrase("Corrected: one noisy count"),
    "published": phrase("As some papers publish it: 9 answers, charged as one"),
}
STATE = "dpcore.guessing"


@st.fragment
def draw_game(page: str) -> None:
    """Draw the membership game: is a person in the table, guessed from noisy counts."""
    markdown(
        "**Is {name} in the table?** A coin decides; you guess from a noisy count of ill people.",
        name=DANA,
    )
    left, right = two_columns()
    with left, links.draw_settings(page, session.dataset(), "game"):
        epsilon = epsilon_slider(f"{page}.game", phrase("Claimed epsilon"), EPSILONS)
        rules = Rules(epsilon, choice(st.radio, say("What is released"), f"{page}.game.mode", RELEASES))
        people = {say("person"): [DANA, *OTHERS[: len(ILL)]], say("ill"): [say(ill) for ill in ("yes", *ILL)]}
        people[say("in the table")] = ["?", *[say("yes")] * len(ILL)]
        st.dataframe(pd.DataFrame(people), hide_index=True, height="content")
        caption("All people are made up. Without {name}, {n} people are ill.", n=COUNT, name=DANA)
    playing = session.keep_once(STATE, Game)
    if playing.round is not None and playing.round.rules != rules:
        playing.round = None
    with right:  # number, guess and result share one screen
        draw_round(page, rules, playing)
        at = None if playing.round is None else float(playing.round.number)
        panels.chart(charts.round_worlds(outcome_probabilities(rules), at=at, number=say(rules.number)))
        sentence = say(
            "If epsilon {epsilon:g} holds, no one can be right in more than {limit:.1f}% of all "
            "rounds. The best strategy here is right in {best:.1f}%.",
            epsilon=epsilon,
            limit=100 * odds(epsilon),
            best=100 * best_share(rules),
        )
        st.success(say("**Takeaway:** {sentence}", sentence=sentence), icon=":material/bookmark:")
        draw_scores(page, rules, playing)


def draw_round(page: str, rules: Rules, playing: Game) -> None:
    """Draw the current round: the released numbers, the two guesses, and then the truth.

    `rules` are those of the next round, and `playing` is the state of the game.
    """
    one = playing.round
    opened = one is not None and playing.guess is None
    first, *cells = st.columns(3, gap="small")
    look: Any = {"on_click": playing.start_round, "args": (rules,), "width": "stretch"}
    look |= {"type": "secondary" if opened else "primary", "icon": ":material/casino:"}
    first.button(say("New game round"), key=f"{page}.game.deal", **look)
    look = {"disabled": not opened, "on_click": playing.submit_guess, "width": "stretch"}
    guesses = {True: say("{name} is in the table", name=DANA), False: say("{name} is not in the table", name=DANA)}
    for cell, (inside, guess) in zip(cells, guesses.items(), strict=True):
        cell.button(guess, key=f"{page}.game.{inside}", args=(inside,), **look)
    if one is not None:
        text = phrase(":red[:material/cancel: Wrong]: {name} is {truth}")
        if playing.guess is None:
            text = phrase("Is {name} in or out?")
        elif playing.guess == one.is_member:
            text = phrase(":green[:material/check_circle: Right]: {name} is {truth}")
        released = say("Released counts: {answers}.", answers=", ".join(map(str, one.answers)))
        truth = say("in the table") if one.is_member else say("out of the table")
        st.markdown(f"#### {released} {say(text, name=DANA, truth=truth)}")


def draw_scores(page: str, rules: Rules, playing: Game) -> None:
    """Draw how often players of the membership game guessed right, beside the limit by epsilon."""
    left, right = st.columns(2, gap="medium")
    look: Any = {"on_click": playing.play_best_strategy, "args": (rules,), "width": "stretch"}
    left.button(say("Let the best strategy play {rounds} rounds", rounds=AUTO), f"{page}.game.auto", **look)
    if not playing.scores:
        return
    look = {"on_click": st.session_state.pop, "args": (STATE,), "width": "stretch"}
    right.button(say("Forget all game scores"), key=f"{page}.game.reset", **look)
    found = score_frame(playing)
    marks = pd.DataFrame({"epsilon": EPSILONS, "share": [odds(epsilon) for epsilon in EPSILONS]})
    panels.chart(charts.game_scores(found.assign(honest=found["mode"] == "corrected"), limit=marks))
    table = found.assign(mode=found["mode"].map(RELEASES).map(say), who=found["who"].map(say))
    st.dataframe(with_headings(table.round(3).rename(columns={"mode": "release"})), hide_index=True)
    caption(
        "Low and high are the ends of a 95% interval (Clopper and Pearson). **Low scores prove nothing:** another "
        "attack may be right more often. Only the proof bounds all attacks."
    )

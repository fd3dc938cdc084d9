"""The coin game: what it is to answer with a coin, and what a thousand such answers are worth. No private data.

Noise is drawn when a button is pressed, from the operating system's randomness and without any seed; what was drawn
stays in the session, and every other widget shows the same draw in another way.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import jobs, panels, session
from dpcore.dashboard.demonstration import share_slider, show_sentence, sides
from dpcore.dashboard.pages.mechanisms.coin_game_numbers import ANSWERS, Answer, Crowd, ask, toss
from dpcore.dashboard.widgets import caption, figures, lasting, markdown
from dpcore.language import phrase, say
from dpcore.text import TENTHS, percent

KEY, PEOPLE, CROWDS = "mechanisms.coin", (100, 1_000, 10_000), 50


def last_draw(label: str, name: str, icon: str, draw: Callable[[np.random.Generator], Any]) -> Any:
    """What a button drew when it was pressed last, if it was."""
    key = f"{KEY}.{name}"
    if jobs.wanted(label, key, type="primary", icon=icon, width="stretch"):
        session.keep(f"{key}.drawn", draw(np.random.default_rng()))
        jobs.over(key)
    return st.session_state.get(f"{key}.drawn")


@st.fragment
def game() -> None:
    """One answer with a coin, and then a crowd's."""
    left, right = sides()
    with left:
        label = say("Share of answers that count (p0)")
        p0 = share_slider(label, f"{KEY}.p0", 5, 95, 50, 5)
        label = say("Have you ever cheated in an exam?")
        look: Any = {"format_func": say, "horizontal": True}
        truth = ANSWERS.index(lasting(st.radio, label, f"{KEY}.truth", ANSWERS, **look))
        answer = last_draw(say("Toss"), "toss", ":material/casino:", partial(toss, p0, truth))
    with right:
        rule = phrase("{chance} tell the truth. The others toss: **heads is yes, tails is no.**")
        st.info(say(rule, chance=percent(p0)), icon=":material/casino:")
        if answer is None:
            caption("Nothing is drawn before you press Toss, and your answer is not kept.")
        else:
            one(answer, changed=answer.p0 != p0)
    st.divider()
    left, right = sides()
    with left:
        share = share_slider(say("Share whose true answer is yes"), f"{KEY}.share", 0, 100, 30)
        look = {"value": 1_000, "format_func": "{:,}".format}
        people = lasting(st.select_slider, say("People"), f"{KEY}.people", PEOPLE, **look)
        asking = partial(ask, p0, share, people)
        crowd = last_draw(say("Ask them"), "ask", ":material/groups:", asking)
    with right:
        if crowd is None:
            caption("Make up a crowd, and press Ask them: each person in it follows the rule.")
        else:
            many(crowd, changed=crowd[:3] != (p0, share, people))


def one(answer: Answer, *, changed: bool) -> None:
    """The visitor's own answer, what others see of it, and what they can tell from that."""
    if changed:
        caption("The rule was changed since. Press Toss to use it.")
    said, other = say(ANSWERS[answer.said]), say(ANSWERS[1 - answer.said])
    decided = phrase("tell the truth") if answer.honest else phrase("toss: it says {said}")
    private, public = st.container(key=f"{KEY}.told").columns(2, border=True)
    with private:
        markdown(":material/visibility_off: **Only you know**")
        values = {"truth": say(ANSWERS[answer.truth]), "decided": say(decided, said=said)}
        markdown("Your true answer: **{truth}**. The coin said: **{decided}**.", **values)
    with public:
        markdown(":material/visibility: **What the collector gets**")
        st.markdown(f"### “{said}”")
    lie = (1 - answer.p0) / 2
    sure = percent(1 - lie if answer.said else lie)
    figures({say("Sure of “yes” after (50% before)"): sure})
    keep = phrase("Of those whose truth is “{other}”, {chance} say “{said}” too: you can deny it.")
    show_sentence(say(keep, other=other, chance=percent(lie), said=said))


def many(crowd: Crowd, *, changed: bool) -> None:
    """What a crowd said, what follows from it, and what is true."""
    if changed:
        caption("Settings were changed since. Press Ask them to use them.")
    again = say("Ask {n} other crowds like this", n=CROWDS)
    if st.button(again, icon=":material/casino:", key=f"{KEY}.again"):
        rng = np.random.default_rng()
        more = [ask(*crowd[:3], rng).estimates for _ in range(CROWDS)]
        found = pd.concat([crowd.estimates.head(1), *more], ignore_index=True)
        crowd = session.keep(f"{KEY}.ask.drawn", crowd._replace(estimates=found))
    said, share, *_ = crowd.estimates.iloc[0]
    chance, estimate = percent((1 - crowd.p0) / 2), percent(share, TENTHS)
    with st.container(key=f"{KEY}.estimate"):
        shown = {say("Said yes"): percent(said), say("Estimate"): estimate}
        figures({**shown, say("Truth"): percent(crowd.share)})
    formula = f"({percent(said, TENTHS)} − {chance}) / {crowd.p0:g} = **{estimate}**"
    told = phrase("Coins alone make {chance} say yes: the estimate is {formula}.")
    st.markdown(say(told, chance=chance, formula=formula))
    panels.chart(charts.coin_estimates(crowd.estimates, truth=crowd.share))
    label = say("Show what only this game can know: who told the truth")
    panels.chart(charts.crowd(crowd.counts, revealed=lasting(st.toggle, label, f"{KEY}.reveal")))
    numbers = (100 * crowd.estimates).round(1).add_suffix(", %")
    panels.table_behind(numbers, say("The numbers behind these charts, one row per crowd"))

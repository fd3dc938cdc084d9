"""The coin game on screen: randomized response for one person, then for a crowd. No private data.

Coins are drawn when a button is pressed, from the operating system's randomness and without a
seed. The session keeps the draw, and all other controls show the same draw in another way.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import jobs, session
from dpcore.dashboard.demonstration import Demonstration, demonstration, share_slider
from dpcore.dashboard.pages.mechanisms.coin_game_numbers import ANSWERS, answer_with_coin, ask_crowd
from dpcore.dashboard.widgets import caption, lasting, markdown
from dpcore.language import phrase, say
from dpcore.text import TENTHS, percent

COUNTED = phrase("Probability of a truthful answer (p0)")
PEOPLE, CROWDS = (100, 1_000, 10_000), 50


def last_draw(key: str, label: str, icon: str, draw: Callable[..., Any], *settings: Any) -> Any:
    """Draw a button; return the settings and result of its last press, or None before any press.

    A press calls `draw` with the `settings` and a random generator. If the settings changed since,
    a caption says so. `key`, `label` and `icon` are those of the button.
    """
    if jobs.quick_button(label, key, type="primary", icon=icon, width="stretch"):
        session.keep(f"{key}.drawn", (settings, draw(*settings, np.random.default_rng())))
        jobs.count_finished(key)
    found = st.session_state.get(f"{key}.drawn")
    if found is None:
        caption("Coins are tossed when you press {label}, and no answer is kept.", label=label)
    elif found[0] != settings:
        caption("Settings changed since the last draw. Press {label} to use them.", label=label)
    return found


def draw_coin_game() -> None:
    """Draw the coin game, which is randomized response: one answer, then those of a crowd."""
    play_once()
    st.divider()
    play_crowd()


@demonstration("mechanisms.coin")
def play_once(key: str) -> Demonstration | None:
    """Return the demonstration of one answer, as the visitor and the collector see the answer."""
    p0 = share_slider(say(COUNTED), f"{key}.p0", 5, 95, 50, 5)
    rule = phrase("{chance} of people tell the truth. The others toss a coin: **heads is yes, tails is no.**")
    caption(rule, chance=percent(p0))
    label, look = say("Have you ever cheated in an exam?"), {"format_func": say, "horizontal": True}
    truth = ANSWERS.index(lasting(st.radio, label, f"{key}.truth", ANSWERS, **look))
    found = last_draw(f"{key}.toss", say("Toss the coin"), ":material/casino:", answer_with_coin, p0, truth)
    if found is None:
        return None
    (p0, truth), (honest, said) = found
    answer, lie = say(ANSWERS[said]), (1 - p0) / 2
    coin = phrase("tell the truth") if honest else phrase("toss a coin: it says {said}")
    values = {"truth": say(ANSWERS[truth]), "coin": say(coin, said=answer)}

    def draw_views() -> None:
        """Draw side by side what only the visitor knows and what the collector gets."""
        private, public = st.container(key=f"{key}.answer").columns(2, border=True)
        with private:
            markdown(":material/visibility_off: **Only you know**")
            markdown("Your true answer: **{truth}**. The coin said: **{coin}**.", **values)
        with public:
            markdown(":material/visibility: **What the collector gets**")
            st.markdown(f"### “{answer}”")

    return Demonstration(
        {say("Belief in “yes” after the answer (50% before)"): percent(1 - lie if said else lie)},
        [draw_views],
        "Of people whose true answer is “{other}”, {chance} also say “{said}”: you can deny yours.",
        "The collector knows the rule and your answer, and nothing else about you.",
        {},
        values={"other": say(ANSWERS[1 - said]), "chance": percent(lie), "said": answer},
    )


@demonstration("mechanisms.crowd")
def play_crowd(key: str) -> Demonstration | None:
    """Return the demonstration of a made-up crowd: its reports, and the share estimated from these."""
    p0 = share_slider(say(COUNTED), f"{key}.p0", 5, 95, 50, 5)
    share = share_slider(say("Share whose true answer is yes"), f"{key}.share", 0, 100, 30)
    look: Any = {"value": 1_000, "format_func": "{:,}".format}
    people = lasting(st.select_slider, say("Number of people"), f"{key}.people", PEOPLE, **look)
    found = last_draw(f"{key}.ask", say("Ask the crowd"), ":material/groups:", ask_crowd, p0, share, people)
    if found is None:
        return None
    (p0, share, people), (counts, estimates) = found
    again = say("Ask {n} other crowds like this", n=CROWDS)
    if st.button(again, icon=":material/casino:", key=f"{key}.again", width="stretch"):
        rng = np.random.default_rng()
        more = [ask_crowd(p0, share, people, rng)[1] for _ in range(CROWDS)]
        estimates = pd.concat([estimates.head(1), *more], ignore_index=True)
        session.keep(f"{key}.ask.drawn", ((p0, share, people), (counts, estimates)))
    label = say("Show who told the truth (possible only in this game)")
    revealed = lasting(st.toggle, label, f"{key}.reveal")
    said, estimate = (percent(estimates[name].iloc[0], TENTHS) for name in ("said", "estimate"))
    return Demonstration(
        {say("Share that reported yes"): said, say("Estimated share"): estimate, say("True share"): percent(share)},
        [charts.coin_estimates(estimates, truth=share), charts.crowd(counts, revealed=revealed)],
        "Coins alone make {chance} of people say yes: the estimate is ({said} − {chance}) / {p0:g} = {estimate}.",
        "Every person follows the rule; only their coins are random.",
        {say("Estimates, one row per crowd"): (100 * estimates).round(1).add_suffix(", %")},
        values={"chance": percent((1 - p0) / 2), "said": said, "p0": p0, "estimate": estimate},
    )

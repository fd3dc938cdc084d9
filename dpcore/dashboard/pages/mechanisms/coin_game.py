"""The coin game: what it is to answer with a coin, and what a thousand such answers are worth. No private data.

Noise is drawn when a button is pressed, from the operating system's randomness and without any seed; what was drawn
stays in the session, and every other widget shows the same draw in another way.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.dashboard import jobs, panels, session
from dpcore.dashboard.demonstration import sides
from dpcore.dashboard.pages.mechanisms.coin_game_numbers import ANSWERS, Answer, Crowd, Rule, ask, toss
from dpcore.dashboard.widgets import caption, choice, figures, lasting, markdown
from dpcore.language import phrase, say
from dpcore.text import TENTHS, percent

RULES = {"RRPH": phrase("Truth, or a second toss"), "Warner": phrase("Truth, or the opposite (Warner)")}
PEOPLE, CROWDS = (100, 1_000, 10_000), 50


def words(rule: Rule) -> str:
    """What people are told."""
    if rule.name == "Warner":
        told = phrase("Spin a spinner that is green with probability {chance}. **Green: truth. Red: the opposite.**")
    elif rule.p0 == 0.5:
        told = phrase("Toss a coin. **Heads: truth. Tails: toss again; heads is yes, tails is no.**")
    else:
        told = phrase(
            "Spin a spinner that is green with probability {chance}. **Green: truth. Red: toss a coin; heads is yes, "
            "tails is no.**"
        )
    return say(told, chance=percent(rule.p if rule.name == "Warner" else rule.p0))


@st.fragment
def game(page: str) -> None:
    """One answer with a coin, and then a crowd's."""
    key = f"{page}.coin"
    left, right = sides()
    with left:
        name = choice(st.radio, say("Rule"), f"{key}.rule", RULES)
        note = say("The rest is as good as a fair coin. In Warner’s words the truth has probability (1 + p0) / 2.")
        label = say("Share of answers that count (p0)")
        p0 = lasting(st.slider, label, f"{key}.p0", 0, 100, 50, 5, format="%d%%", help=note)
        rule = Rule(name, p0 / 100)
        label = say("Have you ever cheated in an exam?")
        truth = lasting(st.radio, label, f"{key}.truth", ANSWERS, format_func=say, horizontal=True)
        tossed = jobs.wanted(say("Toss"), f"{key}.toss", type="primary", icon=":material/casino:", width="stretch")
    with right:
        st.info(words(rule), icon=":material/casino:")
        one(key, rule, ANSWERS.index(truth), tossed=tossed)
    st.divider()
    many(key, rule)


def one(key: str, rule: Rule, truth: int, *, tossed: bool) -> None:
    """The visitor's own answer, what others see of it, and what they can tell from that."""
    if tossed:
        session.keep(f"{key}.answer", toss(rule, truth, np.random.default_rng()))
        jobs.over(f"{key}.toss")
    answer: Answer | None = st.session_state.get(f"{key}.answer")
    if answer is None:
        caption("Nothing is drawn before you press Toss, and your answer is not kept.")
        return
    if answer.rule != rule:
        caption("The rule was changed since. Press Toss to use it.")
    rule, said = answer.rule, say(ANSWERS[answer.said])
    other = say("say the opposite") if rule.name == "Warner" else say("toss again: it says {said}", said=said)
    private, public = st.container(key=f"{key}.told").columns(2, gap="medium")
    with private.container(border=True, height="stretch"):
        markdown(":material/visibility_off: **Only you know**")
        decided = say("tell the truth") if answer.honest else other
        values = {"truth": say(ANSWERS[answer.truth]), "decided": decided}
        markdown("Your true answer: **{truth}**. The coin said: **{decided}**.", **values)
    with public.container(border=True, height="stretch"):
        markdown(":material/visibility: **What the collector gets**")
        st.markdown(f"### “{said}”")
    rare = f"10% → {percent(rule.after(answer.said, 0.1))}"
    sure = {say("Sure of “yes” after (50% before)"): percent(rule.after(answer.said))}
    figures({**sure, say("… if 10% of all are “yes”"): rare})
    if 0 < rule.p0 < 1:
        values = {"other": say(ANSWERS[1 - answer.said]), "said": said}
        values["chance"] = percent(rule.channel.matrix[answer.said, 1 - answer.said])
        keep = say("Of those whose true answer is “{other}”, {chance} say “{said}” as well: you can deny it.", **values)
    else:
        keep = say("The report says nothing about you, or about anyone.") if rule.p0 == 0 else ""
        keep = keep or say("Everyone always tells the truth: the report gives you away.")
    st.success(say("**To keep:** {sentence}", sentence=keep), icon=":material/bookmark:")


def many(key: str, rule: Rule) -> None:
    """A crowd that the visitor makes up."""
    left, right = sides()
    with left:
        label = say("Share whose true answer is yes")
        share = lasting(st.slider, label, f"{key}.share", 0, 100, 30, 1, format="%d%%")
        how = {"value": 1_000, "format_func": "{:,}".format}
        people = lasting(st.select_slider, say("People"), f"{key}.people", PEOPLE, **how)
        asked = jobs.wanted(say("Ask them"), f"{key}.ask", type="primary", icon=":material/groups:", width="stretch")
    if asked:
        session.keep(f"{key}.crowd", ask(rule, share / 100, people, np.random.default_rng()))
        jobs.over(f"{key}.ask")
    crowd: Crowd | None = st.session_state.get(f"{key}.crowd")
    with right:
        if crowd is None:
            caption("Make up a crowd, and press Ask them: each person in it follows the rule.")
        else:
            if (crowd.rule, round(100 * crowd.share), crowd.people) != (rule, share, people):
                caption("Settings were changed since. Press Ask them to use them.")
            estimates(key, crowd)


def estimates(key: str, crowd: Crowd) -> None:
    """What a crowd said, what follows from it, and what is true."""
    rule, again = crowd.rule, say("Ask {n} other crowds like this", n=CROWDS)
    if st.button(again, icon=":material/casino:", key=f"{key}.again", disabled=rule.p0 == 0):
        rng = np.random.default_rng()
        more = [ask(rule, crowd.share, crowd.people, rng).estimates for _ in range(CROWDS)]
        found = pd.concat([crowd.estimates.head(1), *more], ignore_index=True)
        crowd = session.keep(f"{key}.crowd", replace(crowd, estimates=found))
    said, share, high = (float(crowd.estimates[name].iloc[0]) for name in ("said", "estimate", "high"))
    half = percent(high - share, TENTHS)
    look: Any = {"border": True, "height": "stretch"}
    near: Any = {"delta": f"± {half} (95%)", "delta_color": "off", "delta_arrow": "off"} if rule.p0 else {}
    cells = st.container(key=f"{key}.estimate").columns(3, gap="small")
    cells[0].metric(say("Said yes"), percent(said), **look)
    cells[1].metric(say("Estimate"), percent(share, TENTHS) if rule.p0 else say("none"), **look, **near)
    cells[2].metric(say("Truth"), percent(crowd.share), **look)
    if rule.p0 == 0:
        markdown("All answers are coins: the share cannot be estimated.")
        return
    by_chance = (1 - rule.p0) / 2
    markdown(
        "Coins alone make {chance} say yes. So the estimate is ({said} − {chance}) / {p0:g} = **{share}**.",
        chance=percent(by_chance),
        said=percent(said, TENTHS),
        p0=rule.p0,
        share=percent(share, TENTHS),
    )
    if not 0 <= share <= 1:
        markdown(
            "An estimate below 0% or above 100% is noise, not a mistake. Clipped estimates of many crowds are wrong on "
            "average."
        )
    panels.chart(charts.coin_estimates(crowd.estimates, truth=crowd.share))
    revealed = lasting(st.toggle, say("Show what only this game can know: who told the truth"), f"{key}.reveal")
    panels.chart(charts.crowd(crowd.counts, revealed=revealed))
    numbers = (100 * crowd.estimates).round(1).add_suffix(", %")
    panels.table_behind(numbers, say("The numbers behind these charts, one row per crowd"))

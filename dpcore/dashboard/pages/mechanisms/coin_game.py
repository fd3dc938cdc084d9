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
from dpcore.dashboard.pages.mechanisms.coin_game_numbers import ANSWERS, Answer, Crowd, Rule, ask, toss
from dpcore.dashboard.widgets import caption, choice, figures, lasting, markdown
from dpcore.language import phrase, say
from dpcore.text import TENTHS, percent

QUESTION = phrase("Have you ever cheated in an exam?")
RULES = {"RRPH": phrase("Truth, or a second toss"), "Warner": phrase("Truth, or the opposite (Warner)")}
PEOPLE = (100, 1_000, 10_000)
CROWDS = 50


def words(rule: Rule) -> str:
    """What everybody is told."""
    if rule.name == "Warner":
        return say(
            "Spin a spinner that shows green with probability {chance}. **Green: tell the truth. Red: say the "
            "opposite.** Nobody else sees the spinner.",
            chance=percent(rule.p),
        )
    if rule.p0 == 0.5:
        return say(
            "Toss a coin. **Heads: tell the truth. Tails: toss again, and say yes for heads and no for tails.** Nobody "
            "else sees the coins."
        )
    return say(
        "Spin a spinner that shows green with probability {chance}. **Green: tell the truth. Red: toss a coin, and "
        "say yes for heads and no for tails.** Nobody else sees them.",
        chance=percent(rule.p0),
    )


@st.fragment
def game(page: str) -> None:
    """What is different on this page; one answer with a coin, and then a crowd's."""
    panels.chart(charts.trust())
    markdown(
        "Elsewhere a curator holds the true rows. **Here nobody holds them:** you trust only your coin, and pay "
        "with much more noise."
    )
    st.header(say("The rule"))
    rule = rule_picker(f"{page}.coin")
    st.divider()
    st.header(say("1. Play one answer"))
    one(f"{page}.coin", rule)
    st.divider()
    st.header(say("2. Watch a crowd do it"))
    many(f"{page}.coin", rule)


def rule_picker(key: str) -> Rule:
    """Which words, and how often the truth; the words change nothing of what a report is worth."""
    left, right = st.columns(2, gap="large")
    name = choice(left.radio, say("How it is told"), f"{key}.rule", RULES)
    label = say("Share of answers that count (p0)")
    note = say("The rest is as good as a fair coin. With Warner's words the truth is told with p = (1 + p0) / 2.")
    p0 = lasting(right.slider, label, f"{key}.p0", 0, 100, 50, 5, format="%d%%", help=note)
    rule = Rule(name, p0 / 100)
    st.info(words(rule), icon=":material/casino:")
    caption(
        "**The same channel in other words:** either rule says the truth {truth} of the time ({sure} plus half of the "
        "rest). Switch the words: no probability below changes.",
        truth=percent(rule.p),
        sure=percent(rule.p0),
    )
    return rule


def one(key: str, rule: Rule) -> None:
    """The visitor's own answer."""
    left, right = st.columns([2, 1], gap="large", vertical_alignment="bottom")
    label = say("**{question}** Your true answer, or one that you make up:", question=say(QUESTION))
    truth = lasting(left.radio, label, f"{key}.truth", ANSWERS, format_func=say, horizontal=True)
    with right:
        tossed = jobs.wanted(say("Toss"), f"{key}.toss", type="primary", icon=":material/casino:", width="stretch")
    if tossed:
        session.keep(f"{key}.answer", toss(rule, ANSWERS.index(truth), np.random.default_rng()))
        jobs.over(f"{key}.toss")
    answer: Answer | None = st.session_state.get(f"{key}.answer")
    if answer is None:
        caption("Nothing is kept, and nothing is drawn before you press the button.")
        return
    if answer.rule != rule:
        caption("The rule was changed since. Press Toss to use it.")
    told(key, answer)


def told(key: str, answer: Answer) -> None:
    """What happened, what others see of it, and what they can tell from that."""
    rule, said = answer.rule, say(ANSWERS[answer.said])
    other = say("say the opposite") if rule.name == "Warner" else say("toss again: it says {said}", said=said)
    decided = say("tell the truth") if answer.honest else other
    private, public = st.container(key=f"{key}.told").columns(2, gap="medium")
    with private.container(border=True, height="stretch"):
        markdown(":material/visibility_off: **Only you know**")
        truth = say(ANSWERS[answer.truth])
        markdown("Your true answer: **{truth}**. The lot said: **{decided}**.", truth=truth, decided=decided)
    with public.container(border=True, height="stretch"):
        markdown(":material/visibility: **What the collector gets**")
        st.markdown(f"### “{said}”")
    after, rare = rule.after(answer.said), f"10% → {percent(rule.after(answer.said, 0.1))}"
    sure = {say("Sure of “yes” before"): percent(0.5), say("Sure of “yes” after"): percent(after)}
    figures({**sure, say("… if 10% of all are “yes”"): rare})
    if rule.p0 == 0:
        why = say("The report has nothing to do with the truth: it tells nothing about you, and nothing about anybody.")
    elif rule.p0 == 1:
        why = say("Everybody always tells the truth: the report gives you away.")
    else:
        chance = rule.channel.matrix[answer.said, 1 - answer.said]
        why = say(
            "**Why nobody can tell:** of those whose true answer is “{other}”, {chance} say “{said}” as well. You can "
            "always say that it was the lot.",
            other=say(ANSWERS[1 - answer.said]),
            chance=percent(chance),
            said=said,
        )
    st.markdown(why)


def many(key: str, rule: Rule) -> None:
    """A crowd that the visitor makes up."""
    left, middle, right = st.columns([3, 3, 2], gap="large", vertical_alignment="bottom")
    label = say("Share whose true answer is yes")
    share = lasting(left.slider, label, f"{key}.share", 0, 100, 30, 1, format="%d%%")
    how = {"value": 1_000, "format_func": "{:,}".format}
    people = lasting(middle.select_slider, say("People"), f"{key}.people", PEOPLE, **how)
    wanted = (rule, share, people)
    with right:
        asked = jobs.wanted(say("Ask them"), f"{key}.ask", type="primary", icon=":material/groups:", width="stretch")
    if asked:
        session.keep(f"{key}.crowd", ask(rule, share / 100, people, np.random.default_rng()))
        jobs.over(f"{key}.ask")
    crowd: Crowd | None = st.session_state.get(f"{key}.crowd")
    if crowd is None:
        caption("Make up a crowd, and press the button: everybody in it follows the rule for themselves.")
        return
    if (crowd.rule, round(100 * crowd.share), crowd.people) != wanted:
        caption(
            "Below: {people:,} people, {share} yes, p0 = {p0}. Settings were changed since: press the button to ask "
            "again.",
            people=crowd.people,
            share=percent(crowd.share),
            p0=percent(crowd.rule.p0),
        )
    again, blind = say("Ask {n} other crowds like this", n=CROWDS), crowd.rule.p0 == 0
    if st.button(again, icon=":material/casino:", key=f"{key}.again", disabled=blind):
        rng = np.random.default_rng()
        more = [ask(crowd.rule, crowd.share, crowd.people, rng).estimates for _ in range(CROWDS)]
        estimates = pd.concat([crowd.estimates.head(1), *more], ignore_index=True)
        crowd = session.keep(f"{key}.crowd", replace(crowd, estimates=estimates))
    result(key, crowd.rule, crowd)
    if crowd.rule.p0:
        panels.chart(charts.coin_estimates(crowd.estimates, truth=crowd.share))
    revealed = st.toggle(say("Show what only this game can know: who told the truth"), key=f"{key}.reveal")
    panels.chart(charts.crowd(crowd.counts, revealed=revealed))
    numbers = (100 * crowd.estimates).round(1).add_suffix(", %")
    panels.table_behind(numbers, say("The numbers behind these charts, one row per crowd"))


def result(key: str, rule: Rule, crowd: Crowd) -> None:
    """What was said, what follows from it, and what is true."""
    said, share, high = (float(crowd.estimates[name].iloc[0]) for name in ("said", "estimate", "high"))
    clipped, half = percent(min(max(share, 0), 1), TENTHS), percent(high - share, TENTHS)
    look: Any = {"border": True, "height": "stretch"}
    near: Any = {"delta": f"± {half} (95%)", "delta_color": "off", "delta_arrow": "off"} if rule.p0 else {}
    cells = st.container(key=f"{key}.estimate").columns(4)
    cells[0].metric(say("Said yes"), percent(said, TENTHS), **look)
    cells[1].metric(say("Estimate"), percent(share, TENTHS) if rule.p0 else say("none"), **look, **near)
    cells[2].metric(say("Clipped to 0 … 100%"), clipped if rule.p0 else say("none"), **look)
    cells[3].metric(say("Truth"), percent(crowd.share), **look, help=say("Only this game knows it."))
    if not rule.p0:
        st.warning(say("With p0 = 0 half of all say yes whatever is true: perfect privacy, and nothing to learn."))
        return
    by_lot = (1 - rule.p0) / 2
    caption(
        "The lot alone makes {lot} of all people say yes. What is left is p0 times the true share: ({said} − {lot}) / "
        "{p0:g} = **{share}**.",
        lot=percent(by_lot),
        said=percent(said, TENTHS),
        p0=rule.p0,
        share=percent(share, TENTHS),
    )
    if share < 0 or share > 1:
        if share < 0:
            where = say("An estimate below 0%: fewer people said yes than the rule makes likely for any crowd.")
        else:
            where = say("An estimate above 100%: more people said yes than the rule makes likely for any crowd.")
        more = say(
            "That is noise and no mistake. Clipping it looks better, but then estimates of many crowds are wrong on "
            "average."
        )
        st.warning(f"{where} {more}")

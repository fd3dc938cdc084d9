"""What a release claims and what is proven of it, where epsilon went, and what could be learned of one person."""

import math

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.currency import above
from dpcore.dashboard.epsilon import odds_sentence
from dpcore.dashboard.panels import amount, chart, disclosure, forest, reported, table_behind
from dpcore.dashboard.session import Shown
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, markdown
from dpcore.export import protection
from dpcore.export.model_file import Model
from dpcore.language import phrase, retold, say
from dpcore.text import claim, limit, number


def privacy(page: str, shown: Shown) -> None:
    """Claimed and proven epsilon, where it went, and what could still be learned of one person."""
    with st.container():
        spent(shown)
    if isinstance(shown.release.artifact, Model) and "forest" in shown.release.artifact.released:
        forest.budget(shown)
    disclosure.learned(page, shown)


def spent(shown: Shown) -> None:
    """Claimed and proven epsilon, in odds, and where it went."""
    ledger, unit, persons = shown.release.ledger, shown.release.schema.unit, shown.release.schema.persons
    rows = 1 if persons is None else persons.max_contributions  # questions are priced for one of them
    frame = ledger.to_frame()
    bound = ledger.epsilon_bound
    chart(charts.claimed_vs_bound(claimed=ledger.epsilon_claimed, bound=bound, delta=ledger.delta))
    left, right = st.columns(2, gap="large")
    more = bound > ledger.epsilon_claimed
    for place, title, spent in (
        (left, say("Claimed: {epsilon}", epsilon=claim(ledger.epsilon_claimed)), ledger.totals.claimed),
        (right, say("It can cost up to: {epsilon}", epsilon=limit(bound)), ledger.totals.bound),
    ):
        with place:
            st.markdown(f":red[**{title}**]" if place is right and more else f"**{title}**")
            if place is left and math.isinf(spent):
                markdown("Its source promises nothing that could be put so.")
            else:
                seen = phrase("your reports") if reported(shown) else phrase("the release")
                own = protection.gained(unit, ledger.currency, spent)
                void = ledger.guarantee_void if place is right else ""
                st.markdown(say(void) if void else odds_sentence(own, seen, ledger.delta))
                if place is right and shown.release.attackable:
                    st.markdown(shown.release.attackable)
    for reason, part in frame[frame["reason"] != ""].groupby("reason", sort=False):
        st.info(f"{escaped(retold(str(reason)))} {factor(part, rows)}", icon=":material/help:")
    if bound < ledger.epsilon_claimed < math.inf:
        caption("The source claims a larger epsilon than is proved: some questions cannot cost what it books.")
    if ledger.guarantee_void:
        caption(
            "The noise alone would give {epsilon}. The shares below are of that. They are no bound: the guarantee is "
            "void.",
            epsilon=amount(ledger.epsilon_nominal),
        )
    if ledger.delta:
        rho = say("Questions are paid in rho, which adds up: {rho} in all.", rho=number(above(ledger.totals.of_noise)))
        st.caption(rho if ledger.guarantee_void else f"{rho} {protection.of_delta(ledger.delta)}")
    chart(charts.epsilon_split(ledger.breakdown()))
    caption("{sentence}.", sentence=escaped(retold(shown.release.noise_label)))
    asked = say("What each person reported") if reported(shown) else say("Every question that was asked of the rows")
    table_behind(frame, asked)


def factor(entries: pd.DataFrame, rows: int = 1) -> str:
    """How many times what is claimed some questions can cost somebody with so many rows, in a sentence."""
    claimed, bound = rows * entries["epsilon_claimed"].sum(), rows * entries["epsilon_nominal"].sum()
    if math.isinf(claimed):
        return ""
    of = {"claimed": number(claimed), "bound": number(bound)}
    if math.isinf(bound):
        return say("Claimed: epsilon {claimed}. It can cost up to: no limit.", claimed=number(claimed))
    if not claimed:
        if entries["void"].any():
            return say("Claimed: epsilon {claimed}. Of the noise alone: epsilon {bound}.", **of)
        return say("Claimed: epsilon {claimed}. It can cost up to: epsilon {bound}.", **of)
    ratio = bound / claimed
    of["times"] = f"{ratio:{',.0f' if ratio >= 100 else '.3g'}}"
    if entries["void"].any():
        told = phrase("Claimed: epsilon {claimed}. Of the noise alone: epsilon {bound}, **{times} times** as much.")
    else:
        told = phrase("Claimed: epsilon {claimed}. It can cost up to: epsilon {bound}, **{times} times** as much.")
    return say(told, **of)

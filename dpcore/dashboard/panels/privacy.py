"""What a release claims and what is proven of it, where epsilon went, and what could be learned of one person."""

import math

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.currency import above
from dpcore.accounting.relation import Epsilon
from dpcore.dashboard.epsilon import odds_sentence
from dpcore.dashboard.panels import amount, chart, disclosure, draw_part, forest, reported, table_behind
from dpcore.dashboard.session import Shown
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption
from dpcore.export import protection
from dpcore.export.model_file import Model
from dpcore.language import phrase, retold, say
from dpcore.text import claim, limit, number


def privacy(page: str, shown: Shown) -> None:
    """Claimed and proven epsilon, where it went, and what could still be learned of one person."""
    parts = {
        phrase("Epsilon"): lambda: epsilon_shares(shown),
        phrase("One person"): lambda: disclosure.learned(page, shown),
    }
    draw_part(f"{page}.privacy", parts)


def epsilon_shares(shown: Shown) -> None:
    """Claimed and proven epsilon, in odds, and where it went."""
    ledger, unit, persons = shown.release.ledger, shown.release.schema.unit, shown.release.schema.persons
    rows = 1 if persons is None else persons.max_contributions  # questions are priced for one of them
    frame = ledger.to_frame()
    bound = ledger.epsilon_bound
    seen = phrase("your reports") if reported(shown) else phrase("the release")

    def odds(loss: Epsilon) -> str:
        return odds_sentence(protection.gained(unit, ledger.currency, loss), seen, ledger.delta)

    if bound == ledger.epsilon_claimed < math.inf:
        st.markdown(say("**Epsilon {epsilon}, proven.** {odds}", epsilon=limit(bound), odds=odds(ledger.totals.bound)))
    else:
        left, right = st.columns(2, gap="large")
        with left:
            st.markdown(f"**{say('Claimed: {epsilon}', epsilon=claim(ledger.epsilon_claimed))}**")
            nothing = say("Its source claims nothing that could be put so.")
            st.markdown(nothing if math.isinf(ledger.epsilon_claimed) else odds(ledger.totals.claimed))
        with right:
            title = say("Proven at most: {epsilon}", epsilon=limit(bound))
            st.markdown(f":red[**{title}**]" if bound > ledger.epsilon_claimed else f"**{title}**")
            st.markdown(say(ledger.guarantee_void) if ledger.guarantee_void else odds(ledger.totals.bound))
        chart(charts.claimed_vs_bound(claimed=ledger.epsilon_claimed, bound=bound, delta=ledger.delta))
    for reason, part in frame[frame["reason"] != ""].groupby("reason", sort=False):
        st.info(f"{escaped(retold(str(reason)))} {factor(part, rows)}", icon=":material/help:")
    if bound < ledger.epsilon_claimed < math.inf:
        caption("The source claims a larger epsilon than is proven: some queries cannot cost what it charges for them.")
    if ledger.guarantee_void:
        caption(
            "Nominal (noise only): {epsilon}. The shares below are of that. They are no bound: the guarantee is void.",
            epsilon=amount(ledger.epsilon_nominal),
        )
    if ledger.delta:
        rho = say("Losses are counted in rho, which adds up: {rho} in all.", rho=number(above(ledger.totals.of_noise)))
        st.caption(rho if ledger.guarantee_void else f"{rho} {protection.of_delta(ledger.delta)}")
    grown = isinstance(shown.release.artifact, Model) and not reported(shown) and forest.forest_of(shown)
    if grown:
        forest.budget(shown, grown)
    else:
        chart(charts.epsilon_split(ledger.breakdown()))
    caption("{sentence}.", sentence=escaped(retold(shown.release.noise_label)))
    asked = say("What each person reported") if reported(shown) else say("Every entry of the ledger")
    table_behind(frame, asked)


def factor(entries: pd.DataFrame, rows: int = 1) -> str:
    """How many times what is claimed some questions can cost somebody with so many rows, in a sentence."""
    claimed, bound = rows * entries["epsilon_claimed"].sum(), rows * entries["epsilon_nominal"].sum()
    if math.isinf(claimed):
        return ""
    of = {"claimed": number(claimed), "bound": number(bound)}
    if math.isinf(bound):
        return say("Claimed: epsilon {claimed}. Proven: no bound.", claimed=number(claimed))
    if not claimed:
        if entries["void"].any():
            return say("Claimed: epsilon {claimed}. Nominal (noise only): epsilon {bound}.", **of)
        return say("Claimed: epsilon {claimed}. Proven at most: epsilon {bound}.", **of)
    ratio = bound / claimed
    of["times"] = f"{ratio:{',.0f' if ratio >= 100 else '.3g'}}"
    if entries["void"].any():
        told = phrase("Claimed: epsilon {claimed}. Nominal (noise only): epsilon {bound}, **{times} times** as much.")
    else:
        told = phrase("Claimed: epsilon {claimed}. Proven at most: epsilon {bound}, **{times} times** as much.")
    return say(told, **of)

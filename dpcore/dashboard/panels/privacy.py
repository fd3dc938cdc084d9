"""The tab Privacy: claimed and proven epsilon, its shares, and what one person risks."""

import math
from functools import partial

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.privacy_measure import round_up
from dpcore.accounting.relation import Epsilon
from dpcore.dashboard.epsilon import odds_sentence
from dpcore.dashboard.panels import chart, disclosure, draw_part, draw_table, forest
from dpcore.dashboard.session import ShownRelease
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption
from dpcore.export import protection
from dpcore.language import phrase, retold, say
from dpcore.text import claim, limit, number


def draw_privacy(page: str, shown: ShownRelease) -> None:
    """Draw the tab's two parts: epsilon and its shares, and what anyone could learn of a person."""
    parts = {
        phrase("Epsilon"): partial(draw_epsilon, shown),
        phrase("One person"): partial(disclosure.draw_attack, page, shown),
    }
    draw_part(f"{page}.privacy", parts)


def draw_epsilon(shown: ShownRelease) -> None:
    """Draw claimed and proven epsilon, their meaning in odds, and the shares of the steps."""
    release, ledger, persons = shown.release, shown.release.ledger, shown.release.schema.persons
    frame, claimed, bound = ledger.to_frame(), ledger.epsilon_claimed, ledger.epsilon_bound
    local = release.artifact.reports is not None
    seen = phrase("your reports") if local else phrase("the release")

    def odds(loss: Epsilon) -> str:
        gained = protection.log_odds_gained(release.schema.unit, ledger.measure, loss)
        return odds_sentence(gained, seen, ledger.delta)

    title = say("Epsilon {epsilon}, proven.", epsilon=limit(bound))
    if different := bound != claimed or math.isinf(bound):
        title = say("Proven at most: {epsilon}.", epsilon=limit(bound))
        text = say("The source claims no finite epsilon.")
        text = text if math.isinf(claimed) else odds(ledger.totals.claimed_loss)
        st.markdown(f"**{say('Claimed: {epsilon}.', epsilon=claim(claimed))}** {text}")
    text = say(ledger.guarantee_void) or odds(ledger.totals.bound)
    st.markdown(f":red[**{title}**] {text}" if bound > claimed else f"**{title}** {text}")
    if different:
        chart(charts.claimed_vs_bound(claimed=claimed, bound=bound, delta=ledger.delta))
    rows = 1 if persons is None else persons.max_contributions  # ledger entries count one row
    for reason, part in frame[frame["reason"] != ""].groupby("reason", sort=False):
        st.info(f"{escape(retold(str(reason)))} {describe_loss_ratio(part, rows)}", icon=":material/help:")
    if bound < claimed < math.inf:
        caption("The claimed epsilon is larger than what this run can cost at most.")
    if ledger.guarantee_void:
        nominal = limit(ledger.epsilon_nominal)
        caption("Nominal epsilon (noise only): {epsilon}. The shares below are no bound.", epsilon=nominal)
    if ledger.delta:
        rho = say("Privacy losses add up in rho (zCDP): {rho} in all.", rho=number(round_up(ledger.totals.nominal)))
        st.caption(rho if ledger.guarantee_void else f"{rho} {protection.of_delta(ledger.delta)}")
    if (grown := release.artifact.contents.get("forest")) and not local:
        forest.draw_budget(shown, grown)
    else:
        chart(charts.epsilon_split(ledger.breakdown()))
    caption("Source of noise: {noise}.", noise=escape(retold(release.noise_label)))
    draw_table(frame, say("Every entry of the ledger"))


def describe_loss_ratio(entries: pd.DataFrame, rows: int = 1) -> str:
    """Return a sentence: the claimed and proven epsilon of some ledger entries, and their ratio.

    `rows` is the most rows of one person, for whom epsilons are multiplied.
    """
    claimed = rows * entries["epsilon_claimed"].sum()
    bound = rows * entries["epsilon_nominal"].sum()
    if math.isinf(claimed):
        return ""
    text = phrase("Claimed: epsilon {claimed}. Proven at most: {bound}{times}.")
    if entries["void"].any():
        text = phrase("Claimed: epsilon {claimed}. Nominal (noise only): {bound}{times}.")
    times = ""
    if 0 < claimed < bound < math.inf:
        times = say(", **{times} times** the claimed epsilon", times=number(bound / claimed))
    return say(text, claimed=number(claimed), bound=limit(bound), times=times)

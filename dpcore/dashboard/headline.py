"""The line above every release: what it is, what it can cost, and whether a guarantee holds."""

import streamlit as st

from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import session
from dpcore.dashboard.session import Shown
from dpcore.dashboard.shell import escaped
from dpcore.domain.unit import PrivacyUnit
from dpcore.export import protection
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.text import claim, limit

COSTS = phrase("It can cost up to")  # the epsilon that can be proved


def headline(shown: Shown, remark: str = "") -> None:
    """The release in one line: what it is, what it can cost, whether a guarantee holds. The first chart needs room."""
    release, ledger = shown.release, shown.release.ledger
    cells = st.columns(4)
    unit = release.schema.unit
    claims = say("The paper claims") if release.parameters["mode"] == "published" else say("Claimed")
    cells[0].metric(of_unit(claims, unit, ledger.delta), claim(ledger.epsilon_claimed), border=True)
    more = ledger.epsilon_bound > ledger.epsilon_claimed
    costs = say("It can cost up to, in exact arithmetic") if release.attackable else say(COSTS)
    with cells[1].container(key="over" if more else None):
        if release.schema.source == "inferred":
            st.metric(say("Guarantee"), say("none"), border=True)
        else:
            st.metric(of_unit(costs, unit, ledger.delta), limit(ledger.epsilon_bound), border=True)
    what, many = release.artifact.size
    cells[2].metric(say(what), many, border=True)
    hangs = say("{mark}. It hangs on the real rows, as nothing else in this line does.", mark=say(REAL_DATA))
    cells[3].metric(say("⚠ Run time"), say("{seconds:.2f} s", seconds=release.seconds), border=True, help=hangs)
    made = say(
        "{method} ({by}), {mode} mode, made from {data}. {neighbors}",
        method=escaped(release.method),
        by=say(METHODS[release.method].reference),
        mode=say(release.parameters["mode"]),
        data=escaped(release.data_name),
        neighbors=say(ledger.relation.sentence_for(protection.protects(unit))),
    )
    st.caption(f"{made} {say(remark)}" if remark else made)
    if ledger.delta and not ledger.guarantee_void:
        st.caption(protection.of_delta(ledger.delta))
    if person := protection.for_person(unit, ledger.epsilon_bound, ledger.delta):
        told = say("One person may have several rows. For a person: {price}.", price=escaped(person))
        st.info(told, icon=":material/groups:")
    if release.guarantee_void:
        st.error(release.guarantee_void, icon=":material/gpp_bad:")
    if release.attackable:
        st.warning(release.attackable, icon=":material/warning:")
    if shown.data.token != session.dataset().token:
        told = say(
            "This was made from {made}. Press Run to use {now}, which was chosen since.",
            made=escaped(release.data_name),
            now=escaped(session.dataset().name),
        )
        st.info(told, icon=":material/update:")


def of_unit(title: str, unit: PrivacyUnit | None, delta: float = 0.0) -> str:
    """What an epsilon is called, whose it is if a row is not a person, and at which delta it holds."""
    whose = protection.protects(unit)
    title = say("{title}, at delta {delta}", title=title, delta=f"{delta:g}") if delta else title
    return title if unit is None else say("{title}, per {whose}", title=title, whose=say(whose))

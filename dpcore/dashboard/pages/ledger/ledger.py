"""The ledger on the screen: what all sessions together spent on which data, caps, and where the file is."""

import math
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.currency import PrivacyLoss
from dpcore.accounting.relation import Relation
from dpcore.accounting.store import Account, file_of, format_relation, ledger_path, price
from dpcore.accounting.store.file import IncompleteError
from dpcore.dashboard import panels, session
from dpcore.dashboard.epsilon import odds_sentence, short_odds
from dpcore.dashboard.shell import escape, format_spent, mendable, person_clause
from dpcore.dashboard.widgets import caption, figures, markdown
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import BookError
from dpcore.export import protection
from dpcore.language import phrase, retold, say
from dpcore.text import claim, limit, number

COLUMNS = (  # of a table of runs
    phrase("when"), phrase("run"), phrase("releases"), phrase("claimed"), phrase("proven at most"),
    phrase("why"),
)  # fmt: skip


def read_accounts() -> list[Account] | None:
    """All accounts, those of the data in use first; None, with what to do about it, if they cannot be read."""
    try:
        found, used = session.ledger_store().accounts(), session.ledger_store().key(session.dataset())
    except BookError as error:
        st.error(escape(error.cause), icon=":material/error:")
        markdown(
            "Until this is mended nothing is drawn, as nothing could be written down. **Two ways "
            "on:** set the file aside (it is renamed, not deleted; its runs no longer add up), or "
            "keep a ledger for this session only, which forgets what was charged before."
        )
        other_ledgers()
        if isinstance(error, IncompleteError):
            markdown(
                "**A third way:** what the file holds is sound, but charges may be missing. Go on "
                "with it if it is your latest copy; its totals may be too small from then on."
            )
            go_on = mendable()(session.ledger_store().go_on)
            st.button(say("Go on with what it holds"), on_click=go_on, key="ledger.go_on")
        return None
    return sorted(found, key=lambda line: (line.file != file_of(used), line.key != used))


def other_ledgers(**look: Any) -> None:
    """Buttons that begin another ledger: in a new file, or for this session."""
    with st.container(horizontal=True):
        label = say("Set the file aside and begin a new one")
        st.button(label, "ledger.aside", on_click=set_aside, **look)
        look |= {"on_click": session.use_ledger_file, "args": (None,)}
        st.button(say("Keep this session only"), "ledger.session", **look)


@mendable()
def set_aside() -> None:
    """Begin a new file, and remember where the earlier one is; a button's callback."""
    st.session_state["dpcore.books.aside"] = str(session.ledger_store().set_aside())


def account_panel(account: Account, accounts: list[Account]) -> None:
    """One data set under one relation: totals, cap, runs, and this session's queries; `accounts` are all."""
    key = f"{account.key}.{format_relation(account.relation, account.measure)}"
    cap = None if account.cap is None else float(account.cap)
    left, right = st.columns([4.4, 1], vertical_alignment="center")
    whom = say(account.relation.sentence_for(account.protects))
    left.header(f"{escape(account.name)} · {promise(account)}", anchor=False, help=whom)
    with right.popover(say("No cap") if cap is None else say("Cap: {cap}", cap=number(cap)), width="stretch"):
        cap_controls(account, cap, key)
    if account.looks:
        totals(account)
    others = [one for one in accounts if one.file == account.file and one.looks and one != account]
    for other in others:
        st.markdown(compare_accounts(other, account))
    runs = runs_of(account)
    unproved = runs[runs["epsilon_bound"] == math.inf]
    if len(unproved) < len(runs):
        if not account.delta:  # epsilons of rho do not add up, so there are no steps to draw
            costs = (price(one, account) for one in others if one.relation is account.relation)
            beneath = math.fsum(cost for cost in costs if math.isfinite(cost))  # as the cap counts
            panels.chart(charts.staircase(runs[::-1], cap=cap, others=beneath))
        proved = runs.drop(index=unproved.index, columns=["why", "epsilon_bound"])
        st.dataframe(proved.rename(columns=say), hide_index=True, key=f"ledger.{key}")
    if account.apart:
        text = say(
            "**Listed apart: releases without a guarantee.** No total holds what they tell: anyone "
            "who has seen one of them may know anything about these rows."
        )
        st.warning(text, icon=":material/gpp_bad:")
        listed = unproved.drop(columns=["proven at most", "epsilon_bound"])
        st.dataframe(listed.rename(columns=say), hide_index=True, key=f"ledger.apart.{key}")
    requested = session.session_ledgers().get((account.key, str(account.relation), account.delta))
    if requested is not None and requested.entries:
        panels.draw_table(requested.to_frame(), say("Every query of this session"))


def promise(account: Account) -> str:
    """What an account counts: under which relation, for whom, and with which delta."""
    words = say(account.relation.short_for(account.protects))
    if account.delta:
        words = say("{words}, with delta {delta}", words=words, delta=f"{account.delta:g}")
    return words


def cap_controls(account: Account, cap: float | None, key: str) -> None:
    """What sets a cap, and lifts it."""
    label, act = say("Refuse runs above this epsilon, in all"), session.ledger_store().set_cap
    look: Any = {"placeholder": say("no cap"), "key": f"ledger.cap.{key}"}
    wish = st.number_input(label, 0.0, 1e6, cap, step=0.5, **look)
    named = account.key, account.name, account.relation
    change = mendable()(partial(act, *named, delta=account.delta))
    look = {"on_click": change, "args": (wish,), "disabled": wish is None}
    st.button(say("Set the cap"), f"ledger.set.{key}", **look)
    if cap is not None:
        st.button(say("Lift the cap"), f"ledger.free.{key}", on_click=change, args=(None,))


def totals(account: Account) -> None:
    """What an account's releases can cost in all: in figures, and in a sentence."""
    unit = unit_of(account)
    rows = account.measure.rows(1 if unit is None or unit.id_column else unit.max_contributions)
    gained = account.measure.log_odds_gained(account.totals.bound * rows)
    claimed, bound = claim(account.epsilon_claimed), limit(account.epsilon_bound)
    labels = say("Releases"), say("Claimed"), say("Proven at most"), say("Odds")
    values = f"{account.looks:,}", claimed, bound, short_odds(gained)
    figures(dict(zip(labels, values, strict=True)))
    sentence = odds_sentence(gained, phrase("these releases, and nothing else"), account.delta)
    if person := person_clause(account, unit):
        sentence = say("Per row{for_person}. For them: {odds}", for_person=person, odds=sentence)
    elif account.protects == "row":
        sentence = say("Per row: {odds} A person with more rows is protected less.", odds=sentence)
    st.caption(sentence)
    if account.delta:
        st.markdown(protection.of_delta(account.delta))


def runs_of(account: Account) -> pd.DataFrame:
    """The runs of an account, the latest first; why counts for those of which nothing is proved."""
    rows = [
        (
            f"{run.begun.astimezone():%Y-%m-%d %H:%M:%S}",
            retold(run.name),
            run.looks,
            claim(run.epsilon_claimed),
            limit(run.epsilon_bound),
            retold(run.void or phrase("No finite epsilon can be proved for this run.")),
            run.epsilon_bound,
        )
        for run in session.ledger_store().runs(account.key, account.relation, account.delta)
    ]
    return pd.DataFrame(rows[::-1], columns=[*COLUMNS, "epsilon_bound"])


def unit_of(account: Account) -> PrivacyUnit | None:
    """What the schema in use says of the rows of one person, for an account of rows of the file in use."""
    data = session.dataset()
    return data.schema.unit if account.key == file_of(session.ledger_store().key(data)) else None


def cost_here(other: Account, account: Account) -> PrivacyLoss:
    """What another account of the file costs whom this one protects; infinite if nothing bounds it."""
    if other.relation is account.relation:
        return price(other, account)
    alike = (other.key, other.measure) == (account.key, account.measure)
    if alike and account.relation is Relation.REPLACE:  # removes a row and adds another
        return other.totals.bound * other.measure.rows(2)
    return math.inf


def compare_accounts(other: Account, account: Account) -> str:
    """What another account of the file can cost, and what that is for whom this one protects."""
    cost, epsilon = cost_here(other, account), account.measure.epsilon
    if math.isfinite(cost):
        more = format_spent(account, epsilon(cost))
        total = format_spent(account, epsilon(cost + account.totals.bound))
        here = say("Here that is at most {more}, in all **{total}**.", more=more, total=total)
    elif account.protects == "person" and other.protects == "row":
        many = phrase(
            "That is per row{for_person}. No public number bounds how many rows a person has, so "
            "no total here holds it, and a cap here refuses it."
        )
        here = say(many, for_person=person_clause(other, unit_of(other)))
    else:
        here = say("No total holds promises to others, or with another relation or delta.")
    if other.apart:
        here += f" {say('What is listed apart there is in no total.')}"
    lead = phrase("**Besides, releases of this file ({name}, {promise}) can cost up to {spent}.** {here}")
    values = {"name": escape(other.name), "promise": promise(other), "spent": format_spent(other)}
    return say(lead, here=here, **values)


def keeping() -> None:
    """Where the ledger is kept, and other places for it."""
    books = session.ledger_store()
    with st.expander(say("Where this ledger is kept")):
        if session.is_set_aside():
            markdown("It is this lesson's own, and ends with it. **Your ledger is laid aside, and comes back then.**")
            return
        if books.kept:
            markdown("Every charge is written to this file before any noise is drawn. It outlives the session:")
            st.code(str(books.path), language=None, wrap_lines=True)
            caption(
                "It holds names, times and epsilons of runs, keyed checksums of data, and no row. Keep "
                "dpcore.secret beside it to yourself: with both, someone can test guesses about rows."
            )
            note = say(
                "The ledger as it is now, with its key; later charges are not in it. Only if the "
                "ledger is lost, unpack it into an empty folder, and name it with DPCORE_LEDGER."
            )
            look: Any = {"key": "ledger.copy", "on_click": "ignore", "icon": ":material/download:", "help": note}
            st.download_button(say("Save a copy"), books.copy, "ledger-copy.zip", "application/zip", **look)
            label = say("I want another ledger: totals begin at 0 there, though what was charged stays charged")
            other_ledgers(disabled=not st.checkbox(label, key="ledger.sure"))
            caption("Setting it aside does so for every open tab of yours; nothing is deleted.")
        else:
            markdown("This ledger lives **for this session only**: later totals lack it, and are too small.")
            if not session.is_ledger_temporary():
                path = ledger_path()
                st.button(say("Keep it in a file"), on_click=session.use_ledger_file, args=(path,), key="ledger.keep")
                caption("The file is {path}. It lacks what was charged here before.", path=path)
        folder = books.path.parent / "sweeps" if books.kept else say("memory")
        caption("Comparisons keep aggregates of real rows, noiseless and not private, in {at}.", at=folder)
        if moved_file := st.session_state.get("dpcore.books.aside"):
            caption("The earlier ledger is in {path}.", path=moved_file)

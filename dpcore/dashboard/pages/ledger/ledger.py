"""The ledger on screen: what all sessions spent on each data set, caps, and the ledger's file."""

import math
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.privacy_measure import PrivacyLoss
from dpcore.accounting.relation import Relation
from dpcore.accounting.store import Account, cross_account_loss, dataset_key, format_relation, ledger_path
from dpcore.accounting.store.file import IncompleteError
from dpcore.dashboard import panels, session
from dpcore.dashboard.epsilon import odds_sentence, short_odds
from dpcore.dashboard.shell import escape, format_spent, mendable, person_clause
from dpcore.dashboard.widgets import caption, figures, markdown
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import LedgerError
from dpcore.export import protection
from dpcore.language import phrase, retold, say
from dpcore.text import claim, limit, number

# Columns of the table of runs.
COLUMNS = (phrase("time of the run"), phrase("run"), phrase("releases"), phrase("claimed epsilon"),
           phrase("epsilon proven at most"), phrase("why no proof"))  # fmt: skip


def read_accounts() -> list[Account] | None:
    """Return all accounts of the ledger, those of the data in use first.

    An account holds the runs on one data set under one relation and delta. If the ledger cannot be
    read, draw the error with its remedies, and return None.
    """
    try:
        store = session.ledger_store()
        found, used = store.accounts(), store.key(session.dataset())
    except LedgerError as error:
        st.error(escape(error.cause), icon=":material/error:")
        markdown(
            "Until the ledger is repaired no noise is drawn, because no charge could be written. "
            "**Two ways on:** set the file aside (it is renamed, not deleted; its runs no longer "
            "add up), or keep a ledger for this session only, without the earlier charges."
        )
        draw_new_ledger_buttons()
        if isinstance(error, IncompleteError):
            markdown(
                "**A third way:** the file's content is sound, but charges may be missing. Go on "
                "with the file if it is your latest copy; its totals may be too small from then on."
            )
            go_on = mendable()(session.ledger_store().accept_content)
            st.button(say("Go on with the ledger file's content"), on_click=go_on, key="ledger.go_on")
        return None
    return sorted(found, key=lambda line: (line.dataset_key != dataset_key(used), line.key != used))


def draw_new_ledger_buttons(**look: Any) -> None:
    """Draw the buttons that begin a new ledger: in a new file, or for this session only."""
    with st.container(horizontal=True):
        label = say("Set the ledger file aside and begin a new one")
        st.button(label, "ledger.aside", on_click=set_ledger_aside, **look)
        look |= {"on_click": session.use_ledger_file, "args": (None,)}
        st.button(say("Keep ledger for this session only"), "ledger.session", **look)


@mendable()
def set_ledger_aside() -> None:
    """Rename the ledger's file, and begin a new one. A button's callback.

    The page shows the path of the renamed file.
    """
    st.session_state["dpcore.books.aside"] = str(session.ledger_store().set_aside())


def draw_account(account: Account, accounts: list[Account]) -> None:
    """Draw the account of one data set under one relation: totals, cap, runs and queries.

    `accounts` are all accounts of the ledger; those of the same data file are compared with
    `account`.
    """
    key = f"{account.key}.{format_relation(account.relation, account.measure)}"
    cap = None if account.cap is None else float(account.cap)
    left, right = st.columns([4.4, 1], vertical_alignment="center")
    whom = say(account.relation.sentence_for(account.protects))
    left.header(f"{escape(account.name)} · {format_promise(account)}", anchor=False, help=whom)
    with right.popover(say("No cap") if cap is None else say("Budget cap: {cap}", cap=number(cap)), width="stretch"):
        draw_cap(account, cap, key)
    if account.looks:
        draw_totals(account)
    others = [one for one in accounts if one.dataset_key == account.dataset_key and one.looks and one != account]
    for other in others:
        st.markdown(compare_accounts(other, account))
    runs = runs_frame(account)
    unproved = runs[runs["epsilon_bound"] == math.inf]
    if len(unproved) < len(runs):
        if not account.delta:  # epsilons converted from rho do not add up: no staircase
            costs = (cross_account_loss(one, account) for one in others if one.relation is account.relation)
            beneath = math.fsum(cost for cost in costs if math.isfinite(cost))  # as the cap counts
            panels.chart(charts.staircase(runs[::-1].rename(columns={COLUMNS[0]: "when"}), cap=cap, others=beneath))
        proved = runs.drop(index=unproved.index, columns=["why no proof", "epsilon_bound"])
        st.dataframe(proved.rename(columns=say), hide_index=True, key=f"ledger.{key}")
    if account.void_looks:
        text = say(
            "**Listed apart: releases without a guarantee.** No total includes them: anyone who "
            "has seen one of them may know anything about these rows."
        )
        st.warning(text, icon=":material/gpp_bad:")
        listed = unproved.drop(columns=["epsilon proven at most", "epsilon_bound"])
        st.dataframe(listed.rename(columns=say), hide_index=True, key=f"ledger.apart.{key}")
    requested = session.session_ledgers().get((account.key, str(account.relation), account.delta))
    if requested is not None and requested.entries:
        panels.draw_table(requested.to_frame(), say("Every query of this session"))


def format_promise(account: Account) -> str:
    """Return in a few words for whom an account adds up: its relation, privacy unit and delta."""
    words = say(account.relation.short_for(account.protects))
    if account.delta:
        words = say("{costs}, with delta {delta}", costs=words, delta=f"{account.delta:g}")
    return words


def draw_cap(account: Account, cap: float | None, key: str) -> None:
    """Draw the controls that set and lift the cap of an account.

    Runs that would raise the account's total above the cap are refused; `cap` is None without one.
    `key` is part of the controls' keys.
    """
    label, act = say("Refuse runs if the total would exceed"), session.ledger_store().set_cap
    look: Any = {"placeholder": say("no budget cap"), "key": f"ledger.cap.{key}"}
    wish = st.number_input(label, 0.0, 1e6, cap, step=0.5, **look)
    named = account.key, account.name, account.relation
    change = mendable()(partial(act, *named, delta=account.delta))
    look = {"on_click": change, "args": (wish,), "disabled": wish is None}
    st.button(say("Set the budget cap"), f"ledger.set.{key}", **look)
    if cap is not None:
        st.button(say("Lift the budget cap"), f"ledger.free.{key}", on_click=change, args=(None,))


def draw_totals(account: Account) -> None:
    """Draw what all releases of an account can cost: numbers, and a sentence with the odds."""
    unit = privacy_unit_of(account)
    rows = account.measure.group_factor(1 if unit is None or unit.id_column else unit.max_contributions)
    gained = account.measure.log_odds_gained(account.totals.bound * rows)
    claimed, bound = claim(account.epsilon_claimed), limit(account.epsilon_bound)
    labels = say("Releases"), say("Claimed epsilon"), say("Epsilon (proven at most)"), say("Worst-case belief")
    values = f"{account.looks:,}", claimed, bound, short_odds(gained)
    figures(dict(zip(labels, values, strict=True)))
    sentence = odds_sentence(gained, phrase("only this account’s releases"), account.delta)
    if person := person_clause(account, unit):
        sentence = say("Per row{for_person}. Per person: {odds}", for_person=person, odds=sentence)
    elif account.protects == "row":
        sentence = say("Per row: {odds} A person with more rows is protected less.", odds=sentence)
    st.caption(sentence)
    if account.delta:
        st.markdown(protection.of_delta(account.delta))


def runs_frame(account: Account) -> pd.DataFrame:
    """Return the runs of an account, the latest first.

    The column `why no proof` is filled for runs without a finite proven epsilon.
    """
    rows = [
        (
            f"{run.start_time.astimezone():%Y-%m-%d %H:%M:%S}",
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


def privacy_unit_of(account: Account) -> PrivacyUnit | None:
    """Return the privacy unit of the schema in use if `account` is of those rows, else None."""
    data = session.dataset()
    return data.schema.unit if account.key == dataset_key(session.ledger_store().key(data)) else None


def convert_loss(other: Account, account: Account) -> PrivacyLoss:
    """Return the privacy loss that another account adds for those whom `account` protects.

    A loss under add/remove is converted if `account` protects under replace. The loss is infinite
    if no public number bounds it.
    """
    if other.relation is account.relation:
        return cross_account_loss(other, account)
    alike = (other.key, other.measure) == (account.key, account.measure)
    if alike and account.relation is Relation.REPLACE:  # a replacement removes one row and adds one
        return other.totals.bound * other.measure.group_factor(2)
    return math.inf


def compare_accounts(other: Account, account: Account) -> str:
    """Return the sentence on what the account `other` of the same file can cost.

    The sentence says what `other` adds to `account`, and the total, if these can be bounded.
    """
    cost, epsilon = convert_loss(other, account), account.measure.epsilon
    if math.isfinite(cost):
        more = format_spent(account, epsilon(cost))
        total = format_spent(account, epsilon(cost + account.totals.bound))
        here = say("For this account at most {more}, in all **{total}**.", more=more, total=total)
    elif account.protects == "person" and other.protects == "row":
        many = phrase(
            "That loss is per row{for_person}. No public number bounds the rows of a person, so no "
            "total here includes that loss, and a cap here refuses it."
        )
        here = say(many, for_person=person_clause(other, privacy_unit_of(other)))
    else:
        here = say("Totals leave out guarantees for other privacy units, relations or deltas.")
    if other.void_looks:
        here += f" {say('No total counts the releases of that data without a guarantee.')}"
    lead = phrase("**Besides, releases of this file ({name}, {promise}) can cost up to {spent}.** {here}")
    values = {"name": escape(other.name), "promise": format_promise(other), "spent": format_spent(other)}
    return say(lead, here=here, **values)


def draw_location() -> None:
    """Draw where the ledger is kept, with buttons to copy the file or to begin a new one."""
    store = session.ledger_store()
    with st.expander(say("Where this ledger is kept")):
        if session.is_set_aside():
            markdown("This is the lesson's ledger. **Your own returns when the lesson ends.**")
            return
        if store.kept:
            markdown("Every charge is written to this lasting file before any noise is drawn:")
            st.code(str(store.path), language=None, wrap_lines=True)
            caption(
                "The ledger holds names, times and epsilons of runs, keyed checksums of data, no "
                "rows. Keep dpcore.secret to yourself: with both, someone can test guesses about "
                "rows."
            )
            note = say(
                "The copy has the ledger and its key, without later charges. Only if the ledger is "
                "lost, unpack the copy into an empty folder, and name it with DPCORE_LEDGER."
            )
            look: Any = {"key": "ledger.copy", "on_click": "ignore", "icon": ":material/download:", "help": note}
            st.download_button(say("Save a ledger copy"), store.copy, "ledger-copy.zip", "application/zip", **look)
            label = say("I want a new ledger: totals begin at 0, but earlier charges stay spent")
            draw_new_ledger_buttons(disabled=not st.checkbox(label, key="ledger.sure"))
            caption("Setting the ledger aside affects all your open tabs; nothing is deleted.")
        else:
            markdown("This ledger lasts **for this session only**: later totals lack its charges, and are too small.")
            if not session.is_ledger_temporary():
                path = ledger_path()
                st.button(say("Keep ledger in file"), on_click=session.use_ledger_file, args=(path,), key="ledger.keep")
                caption("The file will be {path}. It will lack the earlier charges of this session.", path=path)
        folder = store.path.parent / "sweeps" if store.kept else say("the server’s memory")
        caption("Comparisons keep aggregates of real rows, noiseless and not private, in {at}.", at=folder)
        if earlier_path := st.session_state.get("dpcore.books.aside"):
            caption("The earlier ledger is in {path}.", path=earlier_path)

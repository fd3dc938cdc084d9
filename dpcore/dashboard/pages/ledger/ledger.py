"""The ledger on the screen: what all sessions together spent on which data, caps, and where the file is."""

import math
from collections.abc import Callable
from math import fsum
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.relation import Relation
from dpcore.accounting.store import usual_path
from dpcore.accounting.store.file import IncompleteError
from dpcore.accounting.store.lines import Account, Run, file_of, price
from dpcore.dashboard import controls, panels, session
from dpcore.dashboard.epsilon import odds_in_short, odds_sentence
from dpcore.dashboard.shell import escaped, for_person, in_full, mendable
from dpcore.dashboard.widgets import caption, markdown
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import BookError
from dpcore.export import protection
from dpcore.language import phrase, plural, retold, say
from dpcore.text import claim, limit, number


def read_accounts() -> list[Account] | None:
    """All accounts, those of the data in use first; None, with what to do about it, if they cannot be read."""
    try:
        found, used = session.books().accounts(), session.books().key(session.dataset())
    except BookError as error:
        st.error(escaped(error.cause), icon=":material/error:")
        markdown(
            "Until this is mended nothing is drawn, because nothing could be written down. **Two ways on:** set "
            "the file aside (it is renamed, not deleted; what it holds is no longer added up), or keep a ledger "
            "for this session only, which forgets what was charged before."
        )
        if isinstance(error, IncompleteError):
            markdown(
                "**A third way:** what the file holds is sound, but charges may be missing. If you have put it back "
                "from a copy and there is no later one, go on with it; its totals may be too small from then on."
            )
        with st.container(horizontal=True):
            look: Any = {"on_click": set_aside, "key": "ledger.aside", "type": "primary"}
            st.button(say("Set the file aside and begin a new one"), **look)
            st.button(say("Keep this session only"), on_click=leave_file, key="ledger.session")
            if isinstance(error, IncompleteError):
                st.button(say("Go on with what it holds"), on_click=go_on, key="ledger.go_on")
        return None
    return sorted(found, key=lambda line: (line.file != file_of(used), line.key != used))


def account_panel(account: Account, accounts: list[Account]) -> None:
    """One data set under one relation: totals, cap, runs, and this session's queries; `accounts` are all."""
    key = f"{account.key}.{account.relation}{f'.{account.delta:g}' if account.delta else ''}"
    words = say(controls.relation_words(account.relation, account.protects == "person")).lower()
    if account.delta:
        words = say("{words}, with delta {delta}", words=words, delta=f"{account.delta:g}")
    left, right = st.columns([4.4, 1], vertical_alignment="center")
    whom = say(account.relation.sentence_for(account.protects))
    left.header(f"{escaped(account.name)} · {words}", anchor=False, help=whom)
    cap = None if account.cap is None else float(account.cap)
    with right.popover(say("No cap") if cap is None else say("Cap: {cap}", cap=number(cap)), width="stretch"):
        cap_controls(account, cap, key)
    odds, meaning = odds_of(account)
    nothing = say("none")
    shown = {
        say("Releases"): (f"{account.looks:,}", None),
        say("Claimed"): (claim(account.epsilon_claimed) if account.looks else nothing, None),
        say("Proven at most"): (limit(account.epsilon_bound) if account.looks else nothing, None),
        say("Odds"): (odds, meaning),
    }
    for cell, (label, (value, about)) in zip(st.columns([1, 1, 1, 1.7]), shown.items(), strict=True):
        cell.metric(label, value, border=True, help=about)
    if account.delta:
        st.markdown(protection.of_delta(account.delta))
    for sentence in beside(account, accounts):
        st.markdown(sentence)
    runs = session.books().runs(account.key, account.relation, account.delta)[::-1]
    if proved := [run for run in runs if math.isfinite(run.epsilon_bound)]:
        beneath = 0.0 if account.delta else fsum(price(other, account) for other in accounts if counted(other, account))
        if not account.delta:  # epsilons of rho do not add up, so there are no steps to draw
            panels.chart(charts.staircase(steps(proved[::-1]), cap=cap, others=beneath))
        bounds = lines(proved, say("proven at most"), lambda run: limit(run.epsilon_bound))
        st.dataframe(bounds, hide_index=True, key=f"ledger.{key}")
    if account.apart:
        st.warning(apart(account), icon=":material/gpp_bad:")
        others = [run for run in runs if math.isinf(run.epsilon_bound)]
        st.dataframe(lines(others, say("why"), why), hide_index=True, key=f"ledger.apart.{key}")
    asked = session.accounts().get((account.key, str(account.relation), account.delta))
    if asked is not None and asked.entries:
        panels.table_behind(asked.to_frame(), say("Every query of this session"))


def cap_controls(account: Account, cap: float | None, key: str) -> None:
    """What sets a cap, and lifts it."""
    label = say("Refuse runs above this epsilon, in all")
    look: Any = {"key": f"ledger.cap.{key}"}
    wish = st.number_input(label, 0.0, 1e6, cap, step=0.5, placeholder=say("no cap"), **look)
    press: Any = {"key": f"ledger.set.{key}", "on_click": set_cap, "args": (account, wish), "disabled": wish is None}
    st.button(say("Set the cap"), **press)
    if cap is not None:
        st.button(say("Lift the cap"), key=f"ledger.free.{key}", on_click=set_cap, args=(account, None))


def steps(runs: list[Run]) -> pd.DataFrame:
    """Runs as the steps of a staircase."""
    rows = [(run.name, moment(run), run.epsilon_bound) for run in runs]
    return pd.DataFrame(rows, columns=["run", "when", "epsilon_bound"])


def moment(run: Run) -> str:
    """When a run began, where this computer is."""
    return f"{run.begun.astimezone():%Y-%m-%d %H:%M:%S}"


def lines(runs: list[Run], last: str, describe: Callable[[Run], str]) -> pd.DataFrame:
    """Runs as a table, and what is to be said of each."""
    rows = [
        {
            say("when"): moment(run),
            say("run"): retold(run.name),
            say("releases"): run.looks,
            say("claimed"): claim(run.epsilon_claimed),
            last: describe(run),
        }
        for run in runs
    ]
    return pd.DataFrame(rows)


def why(run: Run) -> str:
    """Why nothing can be proved of a run."""
    return retold(run.void or phrase("No finite epsilon can be proved for it, as its source prints it."))


def apart(account: Account) -> str:
    """What no total holds."""
    sentence = plural(
        "**Listed apart: one release without a guarantee.** No total holds what it tells: anyone who has seen it may "
        "know anything about these rows.",
        "**Listed apart: {n:,} releases without a guarantee.** No total holds what they tell: anyone who has seen one "
        "of them may know anything about these rows.",
        account.apart,
    )
    return f"{sentence} {say('The total above is of the other releases alone.')}" if account.looks else sentence


def odds_of(account: Account) -> tuple[str, str]:
    """How sure someone can become about one person, in short, and in a sentence."""
    if not account.looks:
        return say("none"), say("Nothing was charged yet.")
    seen = phrase("those, and nothing else") if account.apart else phrase("all of them")
    unit, total = unit_of(account), account.totals.bound
    if account.protects == "person" or unit is None:
        gained = account.currency.gained(total)
    else:
        gained = protection.gained(unit, account.currency, total)
    sentence = odds_sentence(gained, seen, account.delta)
    if account.protects == "row" and unit is None:
        sentence += " " + say("For a person with several rows, the privacy loss is larger.")
    elif account.protects == "row" and unit is not None:
        sentence = say(
            "That is per row{for_person}. For them: {odds}", for_person=for_person(account, unit), odds=sentence
        )
    return odds_in_short(gained), sentence


def unit_of(account: Account) -> PrivacyUnit | None:
    """What the schema in use says of the rows of one person, if the account is of the file in use."""
    data = session.dataset()
    return data.schema.unit if account.file == file_of(session.books().key(data)) else None


def counted(other: Account, account: Account) -> bool:
    """Whether what an account of the same file cost counts against this one, and its cap."""
    same = other.file == account.file and other.key != account.key and other.looks > 0
    same = same and other.currency == account.currency
    return same and other.relation is account.relation and account.protects == "row"


def beside(account: Account, accounts: list[Account]) -> list[str]:
    """What runs that protect others can cost on the same file, and what that is for whom this account protects."""
    sentences = []
    for other in accounts:
        if other.file != account.file or other is account or not other.looks:
            continue
        if other.key == account.key and other.currency == account.currency:
            continue  # under the other relation
        spent = in_full(other)
        of = {
            "made": plural("{n:,} release of the same file", "{n:,} releases of the same file", other.looks),
            "spent": say("at most {spent}", spent=spent) if math.isfinite(other.epsilon_bound) else say("no limit"),
            "name": escaped(other.name),
        }
        if account.protects == "person" and other.protects == "row":
            message = phrase(
                "**Besides, {made} protect single rows, with {spent} ({words}).** A person can pay that for every "
                "row of theirs{for_person}. No public number bounds how many rows somebody has, so no total holds it, "
                "and a cap here refuses it."
            )
            of |= {"words": say(other.relation.short), "for_person": for_person(other, unit_of(other))}
        elif counted(other, account):
            message = phrase(
                "**Besides, {made} protect persons ({name}), with {spent}.** A row pays at most epsilon {cost} for "
                "that, in all {total}; a cap counts both."
            )
            cost, of_amount = price(other, account), account.currency.epsilon
            of |= {"cost": limit(of_amount(cost)), "total": limit(of_amount(cost + account.totals.bound))}
        elif other.currency != account.currency:
            if other.key != account.key or other.relation is not account.relation:
                continue
            message = phrase(
                "**Besides, {made} can cost {spent}.** An epsilon with a delta and one without are different "
                "promises, and no total here holds both."
            )
        else:
            message = phrase("**Besides, {made} protect others ({name}), with {spent}.** No total is known.")
        sentences.append(say(message, **of))
    return sentences


def both_relations(accounts: list[Account]) -> None:
    """What data that were asked under both relations cost altogether."""
    by_data: dict[str, dict[Relation, Account]] = {}
    for account in accounts:
        if account.looks and not account.delta:
            by_data.setdefault(account.key, {})[account.relation] = account
    for found in by_data.values():
        if len(found) == 2:
            one = found[Relation.REPLACE].protects
            total = 2 * found[Relation.ADD_REMOVE].epsilon_bound + found[Relation.REPLACE].epsilon_bound
            message = phrase(
                "The rows of **{name}** were queried under both relations. Changing a row removes one and adds "
                "another, so together they cost at most epsilon **{total}** if one row is changed; if one comes or "
                "goes, no total is known."
            )
            if one == "person":
                message = phrase(
                    "The rows of **{name}** were queried under both relations. Changing a person's rows removes that "
                    "person and adds another, so together they cost at most epsilon **{total}** if one person "
                    "changes; if one comes or goes, no total is known."
                )
            sentence = say(message, name=escaped(found[Relation.REPLACE].name), total=limit(total))
            rest = any(each.apart for each in found.values())
            st.markdown(f"{sentence} {say('What is listed apart is in no total.')}" if rest else sentence)


def keeping() -> None:
    """Where the ledger is kept, and other places for it."""
    books = session.books()
    with st.expander(say("Where this ledger is kept")):
        if session.laid_aside():
            markdown("It is this lesson's own, and ends with it. **Your ledger is laid aside, and comes back then.**")
            return
        if books.kept:
            markdown("Every charge is written to this file before any noise is drawn. It outlives the session:")
            st.code(str(books.path), language=None, wrap_lines=True)
            caption(
                "It holds names, times and epsilons of runs, and keyed checksums of data; no row. The key is in "
                "dpcore.secret beside it: keep that to yourself, as with both someone could test guesses about rows."
            )
            note = say(
                "The ledger as it is now, with its key. Unpack it into an empty folder, and name the ledger in it "
                "with DPCORE_LEDGER. What is charged later is not in it: put it back only if the ledger is lost."
            )
            look: Any = {"key": "ledger.copy", "on_click": "ignore", "icon": ":material/download:", "help": note}
            st.download_button(say("Save a copy"), books.copy, "ledger-copy.zip", "application/zip", **look)
            label = say("I want another ledger: totals begin at 0 there, though what was charged stays charged")
            look = {"disabled": not st.checkbox(label, key="ledger.sure")}
            with st.container(horizontal=True):
                st.button(say("Keep this session only"), on_click=leave_file, key="ledger.session", **look)
                st.button(say("Set it aside and begin a new one"), on_click=set_aside, key="ledger.aside", **look)
            caption("Setting it aside does so for every open tab of yours; nothing is deleted.")
        else:
            markdown(
                "This ledger lives **for this session only**. Tomorrow it has forgotten what was charged, and the "
                "totals are then too small."
            )
            if not session.passing():
                path = st.session_state.get("dpcore.books.left", usual_path())
                st.button(say("Keep it in a file"), on_click=session.keep_books, args=(path,), key="ledger.keep")
                caption("The file is {path}. It lacks what was charged here before.", path=path)
        memory = phrase(
            "Finished runs of comparisons are kept in memory: aggregates measured on real rows without noise, which "
            "are not private."
        )
        file = phrase(
            "Finished runs of comparisons are kept in the folder {folder}: aggregates measured on real rows without "
            "noise, which are not private. Delete the folder to forget them."
        )
        st.caption(say(file, folder=books.path.parent / "sweeps") if books.kept else say(memory))
        if moved := st.session_state.get("dpcore.books.aside"):
            caption("The earlier ledger is in {path}.", path=moved)


def set_cap(account: Account, cap: float | None) -> None:
    """A button's callback."""
    with mendable():
        session.books().set_cap(account.key, account.name, account.relation, cap, account.delta)


def leave_file() -> None:
    """A button's callback: a ledger for this session, with a way back to the file."""
    st.session_state["dpcore.books.left"] = session.books().path
    session.keep_books(None)


def go_on() -> None:
    """A button's callback."""
    with mendable():
        session.books().go_on()


def set_aside() -> None:
    """A button's callback."""
    with mendable():
        st.session_state["dpcore.books.aside"] = str(session.books().set_aside())

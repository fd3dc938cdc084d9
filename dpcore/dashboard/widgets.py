"""Shared parts of pages: texts, controls whose values last, framed figures, translated tables."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.dashboard import links, session
from dpcore.language import ENGLISH, current_language, phrase, retold, say

MADE, OUTDATED = "made", "outdated"
UNSAID: Any = object()
MOST_TYPED = 2_000  # letters
HEADINGS = {  # of tables of this package
    phrase("scope"), phrase("name"), phrase("mechanism"), phrase("relation"), phrase("draws"), phrase("sensitivity"),
    phrase("claimed_sensitivity"), phrase("scale"), phrase("epsilon_claimed"), phrase("epsilon_bound"),
    phrase("epsilon_nominal"), phrase("rho_claimed"), phrase("rho_bound"), phrase("rho_nominal"), phrase("void"),
    phrase("reason"), phrase("statistic"), phrase("group"), phrase("of"), phrase("value"), phrase("unit"),
    phrase("noise_low"), phrase("noise_high"), phrase("sampling_low"), phrase("sampling_high"), phrase("low"),
    phrase("high"), phrase("how"), phrase("note"),
}  # fmt: skip
OURS = frozenset({"scope", "name", "mechanism", "relation", "void", "reason", "how", "note"})  # columns of words


def markdown(message: str, /, **values: Any) -> None:
    """Draw a message as Markdown, translated by `say`.

    `values` are put in place of the names in its braces.
    """
    st.markdown(say(message, **values))


def caption(message: str, /, **values: Any) -> None:
    """Draw a message in small letters, translated by `say`.

    `values` are put in place of the names in its braces.
    """
    st.caption(say(message, **values))


def lasting(draw: Callable[..., Any], label: str, key: str, *bounds: Any, usual: Any = UNSAID, **style: Any) -> Any:
    """Draw a Streamlit control that keeps its value for the whole session; return the value.

    Parameters
    ----------
    draw
        Streamlit's function for the control.
    label, key
        Label and key of the control.
    bounds
        Options of the control, or its ends and its default.
    usual
        Value until the user chooses one; it may depend on other controls.
    style
        Further arguments of `draw`.

    Returns
    -------
    The value. Values from links or earlier runs that the control cannot have are dropped.
    """
    now, state, untouched = links.drawing(), st.session_state, session.keep_once("dpcore.untouched", dict[str, Any])
    now.labels[key] = label
    session.keys_of_kind(session.CONTROLS).add(key)
    several = draw is st.multiselect or style.get("selection_mode") == "multi"
    able = partial(is_allowed, bounds=bounds, several=several, typed=style.get("accept_new_options", False))
    if key in state and not able(state[key]):
        del state[key]
    if key in now.wishes:
        if able(wish := now.wishes.pop(key)):
            state[key] = wish
        else:
            now.left_out.append(label)
    elif usual is not UNSAID and state.get(key, UNSAID) in (UNSAID, untouched.get(key, UNSAID)):
        untouched[key] = usual if able(usual) else bounds[0][0] if isinstance(bounds[0], list | tuple) else bounds[0]
        if state.get(key, UNSAID) != untouched[key]:
            state[key] = untouched[key]
    found = draw(label, *bounds, key=key, persist_state="session", **style)
    if found != untouched.get(key, UNSAID):
        untouched.pop(key, None)
    return int(found) if isinstance(found, float) and type(bounds[0]) is int else found  # from a link, 5.0


def is_allowed(value: Any, bounds: Sequence[Any], *, several: bool = False, typed: bool = False) -> bool:
    """Return whether a control could have this value: an option, a text, or a number in its range.

    `bounds` are the control's list of options, or its lowest, highest and initial value. `several`
    allows a list of options, and `typed` options that the user typed.
    """
    first, *rest = bounds or (False,)
    if isinstance(first, list | tuple | range):
        ones = value if several else [value]
        known = isinstance(ones, list | tuple) and all(type(one) is not bool for one in ones)
        return known and all(one in first or (typed and is_allowed(one, ("",))) for one in ones)
    if isinstance(first, bool | str):
        return isinstance(value, type(first)) and len(str(value)) <= MOST_TYPED
    if value is None:
        return len(rest) > 1 and rest[1] is None
    return type(value) in (int, float) and first <= value <= rest[0] and (type(first) is float or value == int(value))


def choice(draw: Callable[..., Any], label: str, key: str, names: Mapping[Any, str], *at: int, **style: Any) -> Any:
    """Draw a control with options whose names are translated; return the chosen option.

    `draw` is Streamlit's function, and `names` maps each option to its text. `at` is the index of
    the option that is chosen at first, if given.
    """
    return lasting(draw, label, key, list(names), *at, format_func=lambda option: say(names[option]), **style)


def segmented_choice(label: str, key: str, names: Mapping[Any, str], area: Any = st, **style: Any) -> Any:
    """Draw a row of options and return the chosen one; a single option needs no control.

    `names` maps each option to its text; the first is chosen at first. The row is in `area`.
    """
    usual = next(iter(names))
    if len(names) == 1:
        return usual
    return choice(area.segmented_control, label, key, names, default=usual, required=True, **style)


def number_choice(draw: Callable[..., Any], label: str, key: str, options: Any, **style: Any) -> Any:
    """Draw a control with numbers as options, and return the chosen number.

    `draw` is Streamlit's function.
    """
    return lasting(draw, label, key, options, format_func="{:g}".format, **style)


def seed_button(key: str, label: str) -> int:
    """Draw a button that draws again at random, and return the present seed."""
    state_key = f"{key}.seed"
    seed = session.keep_once(state_key, int)
    if st.button(label, icon=":material/casino:", key=f"{key}.redraw", width="stretch"):
        seed = st.session_state[state_key] = seed + 1
    return seed


def settings_drawer() -> Any:
    """Return the expander *Advanced*, for settings that are not needed at first.

    It is not a popover. A browser keeps the controls' values of a closed popover, and would send
    them in place of values that a link, a lesson or another control has set since.
    """
    return st.expander(say("Advanced"))


def focus(key: str) -> None:
    """Move the keyboard focus to the container with this key.

    The focus is what the next key press acts on.
    """
    found = f"document.querySelector('.st-key-{key}')"
    step = f"const found = {found}; if (found) {{found.tabIndex = -1; found.focus({{preventScroll: true}})}}"
    # The time makes the script a new one: a browser does not run the same one twice.
    script = f"<script>/* {time.monotonic()} */ setTimeout(() => {{{step}}}, 100)</script>"
    st.html(script, unsafe_allow_javascript=True)


def note_outdated() -> None:
    """Draw a note that the release below, in the container `MADE`, was made with other settings."""
    with st.container(key=OUTDATED):
        text = say("**The release below was made with other settings.** Press Run to use the present ones.")
        st.markdown(f":orange[:material/update:] {text}")


def figures(shown: Mapping[str, str], *, horizontal: bool = True, **style: Any) -> None:
    """Draw numbers in frames with their labels, in a row or in a column.

    `shown` maps the labels to the numbers as text.
    """
    cells: Sequence[Any] = st.columns(len(shown)) if horizontal else [st] * len(shown)
    style |= {"height": "stretch"} if horizontal else {}
    for cell, (label, value) in zip(cells, shown.items(), strict=True):
        cell.metric(label, value, border=True, **style)


def translate_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of this package with headings and texts in the language of the screen."""
    if current_language() == ENGLISH:
        return frame
    ours = (
        OURS & {*frame} if {"epsilon_nominal", "rho_nominal", "noise_low"} & {*frame} else ()
    )  # a ledger, or answers; elsewhere they may be the user's words
    texts = {name: frame[name].map(lambda cell: retold(cell) if isinstance(cell, str) else cell) for name in ours}
    return frame.assign(**texts).rename(columns=lambda name: say(name) if name in HEADINGS else name)

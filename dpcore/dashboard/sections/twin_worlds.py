"""Twin worlds: a method runs often on two neighboring tables, and the verdict. The tables are invented: no real data.

What was found stays in the session, by case. It is drawn when the button is pressed; every other widget shows the same
runs in another way.
"""

import time
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.audit import cases as attacks
from dpcore.audit.cases import Case
from dpcore.dashboard import controls, jobs, links
from dpcore.dashboard.sections import verdicts
from dpcore.dashboard.sections.verdicts import Done
from dpcore.dashboard.shell import mendable
from dpcore.datasets import Dataset
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier, PrivateEstimator
from dpcore.methods.local.base import LocalClassifier

MODES = {"paper": "As printed", "corrected": "Corrected"}
TRIALS = (20, 50, 100, 200, 300, 400, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 10_000)
USUAL = 0.007  # seconds of a run, where none was measured yet
MOST_KEPT, MOST_SHOWN = 30, 14


def grouped(name: str) -> str:
    """A method's name with what it is for."""
    kind: type[PrivateEstimator] = METHODS[name]
    if issubclass(kind, LocalClassifier):
        return f"Collect: {name}"
    return f"{'Classify' if issubclass(kind, PrivateClassifier) else 'Synthesize'}: {name}"


def kept() -> dict[str, Done]:
    """What was found in this session, by case."""
    found: dict[str, Done] = st.session_state.setdefault("dpcore.twins", {})
    return found


def attack(page: str, data: Dataset) -> None:
    """Choose a case, run it in both worlds, and see."""
    st.markdown(
        "**Two worlds that differ in one person.** A method with epsilon may give no answer more than e^epsilon times "
        "as often in one world as in the other. Here it runs in both, over and over, and an attacker counts. All "
        "tables are invented: **nothing is charged.**"
    )
    with links.of(page, data, "attack"):
        case, trials = settings(page)
    controls.run_button(page)
    if jobs.requested(page):
        with mendable(), jobs.cancellable("Running both worlds", page) as progress:
            start = time.perf_counter()
            twins = attacks.run(case, trials, progress=progress)
            kept()[case.key] = Done(twins, time.perf_counter() - start)
            while len(kept()) > MOST_KEPT:
                kept().pop(next(iter(kept())))
    done = kept().get(case.key)
    if done is not None:
        verdicts.headline(case, done)
    else:
        st.info("Press Run to attack. Nothing is drawn before.", icon=":material/arrow_upward:")
    told(case)
    if done is not None:
        verdicts.pictures(page, case, done)
    verdicts.explained()


def settings(page: str) -> tuple[Case, int]:
    """Which case, and how many runs; what a link asks for and does not go together gives way."""
    names = [name for name in METHODS if any(case.method == name for case in attacks.CASES)]
    case = chosen(page, names)
    left, middle, right = st.columns([4, 4, 5], gap="medium")
    moved: Any = {"persist_state": "session", "on_change": usual_trials, "args": (page, names)}
    name = left.selectbox("Method", names, names.index(case.method), format_func=grouped, key=f"{page}.method", **moved)
    modes = modes_of(name)
    mode = middle.radio(
        "Mode", modes, modes.index(case.mode), format_func=MODES.__getitem__, key=f"{page}.mode", horizontal=True,
        **moved,
    )  # fmt: skip
    cases = {found.key: found for found in attacks.cases_of(name, mode)}
    key = right.selectbox(
        "What is attacked", list(cases), list(cases).index(case.key), format_func=lambda key: cases[key].title,
        key=f"{page}.case", **moved,
    )  # fmt: skip
    case = cases[key]
    left, right = st.columns([5, 2], gap="large", vertical_alignment="bottom")
    trials = left.select_slider(
        "Runs in each world",
        TRIALS,
        value=case.trials,
        format_func="{:,}".format,
        key=f"{page}.trials",
        persist_state="session",
        help="More runs find smaller leaks. The suggestion is what this attack needs.",
    )
    done = kept().get(case.key)
    seconds = 2 * trials * (done.seconds / 2 / done.twins.result.trials if done else USUAL)
    right.caption(f"About {seconds:.0f} s on a usual computer. Noise is fresh: no seed.")
    return case, trials


def modes_of(name: str) -> list[str]:
    """The modes in which a method has cases."""
    return [mode for mode in MODES if attacks.cases_of(name, mode)]


def chosen(page: str, names: list[str]) -> Case:
    """The case that the controls ask for, made to fit: a method has not every mode, nor a mode every case."""
    asked = st.session_state.get(f"{page}.case")
    found = next((case for case in attacks.CASES if case.key == asked), None)
    name = st.session_state.get(f"{page}.method", found.method if found else names[0])
    name = name if name in names else names[0]
    mode = st.session_state.get(f"{page}.mode", found.mode if found else MODES)
    mode = mode if mode in modes_of(name) else modes_of(name)[0]
    cases = attacks.cases_of(name, mode)
    case = found if found in cases else cases[0]
    for control, value in (("method", name), ("mode", mode), ("case", case.key)):
        if f"{page}.{control}" in st.session_state:
            st.session_state[f"{page}.{control}"] = value
    return case


def usual_trials(page: str, names: list[str]) -> None:
    """Another case has another number of runs; a control's callback."""
    st.session_state[f"{page}.trials"] = chosen(page, names).trials


def told(case: Case) -> None:
    """The story in words, and the two tables."""
    with st.container(border=True):
        st.markdown(case.story)
        if case.step:
            st.caption("Only a part of the run is attacked, and compared with what is claimed for that part.")
        for place, world, table in zip(st.columns(2, gap="large"), "AB", tables(case.pair), strict=True):
            place.markdown(f"**World {world}**: {int(table['rows'].sum()):,} rows")
            place.dataframe(table, hide_index=True, height="content")
        promise = "none is claimed" if case.expected == "no claim" else "pure epsilon, for one run"
        st.caption(
            f"Neighbors: {controls.RELATIONS[case.relation].lower()}. Guarantee: {promise}. Method: "
            f"`{' '.join(str(case.estimator).split())}`. The attacker sees what one run releases, and makes one number "
            f"of it: {case.looks_at[0].lower()}{case.looks_at[1:]}."
        )


def tables(pair: tuple[pd.DataFrame, pd.DataFrame]) -> list[pd.DataFrame]:
    """Two invented tables as different rows and how often they occur; what differs is marked, and comes first."""
    names = list(pair[0].columns)
    counts = [frame.groupby(names, sort=False).size() for frame in pair]
    both = pd.concat(counts, axis=1, keys=["A", "B"]).fillna(0).astype(int)
    both = both.iloc[(both["A"] == both["B"]).to_numpy().argsort(kind="stable")].head(MOST_SHOWN)
    differs = both["A"] != both["B"]
    rows = both.index.to_frame(index=False)
    for name in names:
        if pd.api.types.is_float_dtype(rows[name]):
            rows[name] = [f"{value:g}" for value in rows[name]]
    mark = ["◀ differs" if different else "" for different in differs]
    return [rows.assign(rows=both[world].to_numpy(), **{"": mark}) for world in "AB"]

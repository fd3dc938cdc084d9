"""Twin worlds: a method runs often on two neighboring tables, and the verdict. The tables are invented: no real data.

What was found stays in the session, by case. It is drawn when the button is pressed; every other widget shows the same
runs in another way.
"""

import math
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Progress
from dpcore.audit import cases as attacks
from dpcore.audit.cases import Case, Twins
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import controls, jobs, links, panels, session
from dpcore.dashboard.widgets import choice, figures, lasting
from dpcore.datasets import Dataset
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.local.base import LocalClassifier
from dpcore.teaching.histogram_pair import piled
from dpcore.text import claim, limit, number

MODES = {"paper": "As printed", "corrected": "Corrected"}
TRIALS = (20, 50, 100, 200, 300, 400, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 10_000)
USUAL = 0.007  # seconds of a run, where none was measured yet
MOST_KEPT, MOST_SHOWN = 30, 14


def grouped(name: str) -> str:
    """A method's name with what it is for."""
    if issubclass(METHODS[name], LocalClassifier):
        return f"Collect: {name}"
    return f"{'Classify' if issubclass(METHODS[name], PrivateClassifier) else 'Synthesize'}: {name}"


def kept() -> dict[str, Twins]:
    """What was found in this session, by case."""
    return session.kept("dpcore.twins", dict[str, Twins])


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
    found = kept()

    def work(progress: Progress) -> None:
        found[case.key] = attacks.run(case, trials, progress=progress)
        while len(found) > MOST_KEPT:
            found.pop(next(iter(found)))

    working = jobs.run("Running both worlds", page, work)
    done = found.get(case.key)
    if done is not None:
        headline(case, done)
    elif not working:
        st.info("Press Run to attack. Nothing is drawn before.", icon=":material/arrow_upward:")
    told(case)
    if done is not None:
        pictures(page, case, done)
    explained()


def settings(page: str) -> tuple[Case, int]:
    """Which case, and how many runs; what a link asks for and does not go together gives way."""
    names = [name for name in METHODS if any(case.method == name for case in attacks.CASES)]
    case = chosen(page, names)
    left, middle, right = st.columns([4, 4, 5], gap="medium")
    moved: Any = {"on_change": usual_trials, "args": (page, names)}
    methods, at = {name: grouped(name) for name in names}, names.index(case.method)
    name = choice(left.selectbox, "Method", f"{page}.method", methods, at, **moved)
    modes = {mode: MODES[mode] for mode in modes_of(name)}
    at = list(modes).index(case.mode)
    mode = choice(middle.radio, "Mode", f"{page}.mode", modes, at, horizontal=True, **moved)
    cases = {found.key: found for found in attacks.cases_of(name, mode)}
    titles, at = {key: found.title for key, found in cases.items()}, list(cases).index(case.key)
    case = cases[choice(right.selectbox, "What is attacked", f"{page}.case", titles, at, **moved)]
    left, right = st.columns([5, 2], gap="large", vertical_alignment="bottom")
    look: Any = {"value": case.trials, "format_func": "{:,}".format}
    look["help"] = "More runs find smaller leaks. The suggestion is what this attack needs."
    trials = lasting(left.select_slider, "Runs in each world", f"{page}.trials", TRIALS, **look)
    done = kept().get(case.key)
    seconds = 2 * trials * (done.seconds / 2 / done.result.trials if done else USUAL)
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
        promise = "none is claimed" if case.expected == "no claim" else "epsilon, for one run"
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


def at_least(epsilon: float) -> str:
    """A lower bound for people: never rounded up."""
    return f"{math.floor(1000 * epsilon) / 1000:g}"


def headline(case: Case, done: Twins) -> None:
    """The verdict, and the epsilons that it compares."""
    result = done.result
    verdict(case, done)
    epsilons = {"Claimed": claim(result.claimed), panels.COSTS: limit(result.bound)}
    epsilons["At least, by this attack"] = at_least(result.lower_bound)
    figures({**epsilons, "Runs in each world": f"{result.trials:,}"})
    st.caption(f"Took {done.seconds:.1f} seconds. Another {result.trials:,} runs would give other numbers, a little.")


def pictures(page: str, case: Case, twins: Twins, *, real: bool = False) -> None:
    """What is behind a verdict; `real` if it was made from a person's own rows."""
    result, event = twins.result, twins.event
    mark = charts.mark_real if real else (lambda chart: chart)
    panels.chart(mark(charts.known_epsilon(lower=result.lower_bound, claimed=result.claimed, proved=result.bound)))
    piles = piled(twins.first, twins.second, event.threshold, above=event.above)
    logarithmic = lasting(st.toggle, "Logarithmic heights, to see rare answers", f"{page}.log")
    found: Any = {"hits": event.hits, "counted": event.counted, "threshold": event.threshold, "above": event.above}
    look: Any = {"number": case.looks_at, "edge": piles.edge, "logarithmic": logarithmic}
    panels.chart(mark(charts.world_piles(piles.frame, runs=result.trials, **found, **look)))
    ratios = charts.world_ratios(piles.frame, number=case.looks_at, claimed=result.claimed, proved=result.bound)
    panels.chart(mark(ratios))
    st.caption(
        "All runs are drawn; the outermost bars also hold what lies beyond. Every bar has its own 95 % interval, so "
        "that of many bars some leave a band by luck: the verdict rests on the one event, which was chosen on other "
        "runs than those that count." + (f" {piles.lost:,} runs gave no number and are left out." if piles.lost else "")
    )
    panels.table_behind(piles.frame, "The numbers behind these charts" + (f". {REAL_DATA}" if real else ""))


def verdict(case: Case, twins: Twins) -> None:
    """The verdict, to be read from the last row."""
    result = twins.result
    least, claimed = at_least(result.lower_bound), claim(result.claimed)
    what = "what is attacked costs" if case.step else "this run costs"
    sure = f"with {100 * result.confidence:.0f} % confidence"
    with st.container(border=True, key="verdict"):
        if twins.verdict == "caught":
            st.markdown("## :red[:material/gavel: Caught]")
            st.markdown(f"### With {sure[5:]}, {what} at least epsilon {least}, and {claimed} is claimed.")
            if result.lower_bound > result.bound:
                st.markdown(
                    f"It is even more than what is proved, {number(result.bound)}. Either this is one of the 5 in "
                    "100 false alarms (run it again), or the proof or the program is wrong."
                )
        elif twins.verdict == "not caught":
            st.markdown("## :blue[:material/help: Not caught, which proves nothing]")
            found = f"{sure.capitalize()} at least epsilon {least}, by this attack"
            found = found if result.lower_bound else "This attack shows nothing"
            st.markdown(f"### {found}; {claimed} is claimed. Another attack might show more.")
            if result.bound > result.claimed:
                st.markdown(
                    "All the same, the claim has no proof for these neighbors: what can be proved is "
                    + (f"epsilon {number(result.bound)}." if math.isfinite(result.bound) else "no epsilon at all.")
                )
            else:
                st.markdown(
                    "What protects people is the proof: every question that is asked of the rows is paid for, "
                    f"together {limit(result.bound)}."
                )
        else:
            st.markdown("## :orange[:material/info: No claim to refute]")
            st.markdown(f"### The source claims no epsilon; {sure}, at least {least} is leaked.")


def explained() -> None:
    """How to read the page, a sentence each."""
    with st.expander("How to read this"):
        st.markdown(
            "- **Two worlds:** two tables that differ in one person’s row; whoever cannot tell which of them was used "
            "learns nothing that hangs on that person’s row.\n"
            "- **The event:** the attacker says “world B” (or A) whenever a run’s number is beyond a threshold. Half "
            "of the runs choose the threshold that promises most; only the other half counts, so that the choice is "
            "free.\n"
            "- **The lower bound:** counts are luck, so Clopper and Pearson’s bounds take the smaller frequency as "
            "high and the larger one as low as the counts allow with 95 % confidence; the logarithm of their ratio is "
            "a lower bound of what such a run can cost.\n"
            "- **False alarms:** of 100 audits of methods that keep their claim, up to 5 say “caught” by mistake. Who "
            "audits until one says so has proved nothing.\n"
            "- **Not caught proves nothing:** other tables, another number, or more runs might show more. Only a proof "
            "holds for all of them."
        )

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
from dpcore.dashboard.histogram_pair import piled
from dpcore.dashboard.widgets import caption, choice, figures, lasting, markdown
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.local.base import LocalClassifier
from dpcore.text import claim, limit, number

MODES = {"published": phrase("As printed"), "corrected": phrase("Corrected")}
TRIALS = (20, 50, 100, 200, 300, 400, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 10_000)
USUAL = 0.007  # seconds of a run, where none was measured yet
MOST_KEPT, MOST_SHOWN = 30, 14


def grouped(name: str) -> str:
    """A method's name with what it is for."""
    if issubclass(METHODS[name], LocalClassifier):
        return say("Collect: {method}", method=name)
    if issubclass(METHODS[name], PrivateClassifier):
        return say("Classify: {method}", method=name)
    return say("Synthesize: {method}", method=name)


def kept() -> dict[str, Twins]:
    """What was found in this session, by case."""
    return session.kept("dpcore.twins", dict[str, Twins])


def attack(page: str, data: Dataset) -> None:
    """Choose a case, run it in both worlds, and see."""
    markdown(
        "**Two worlds that differ in one person.** A method with epsilon may give no answer more than exp(epsilon) "
        "times as often in one world as in the other. Here it runs in both, over and over, and an attacker counts. "
        "All tables are invented: **nothing is charged.**"
    )
    with links.of(page, data, "attack"):
        case, trials = settings(page)
    controls.run_button(page)
    found = kept()

    def work(progress: Progress) -> None:
        found[case.key] = attacks.run(case, trials, progress=progress)
        while len(found) > MOST_KEPT:
            found.pop(next(iter(found)))

    working = jobs.run(phrase("Running both worlds"), page, work)
    done = found.get(case.key)
    if done is not None:
        headline(case, done)
    elif not working:
        st.info(say("Press Run to attack. Nothing is drawn before."), icon=":material/arrow_upward:")
    told(case)
    if done is not None:
        pictures(page, case, done)
    explained()


def settings(page: str) -> tuple[Case, int]:
    """Which case, and how many runs; what a link asks for and does not go together gives way."""
    names = [name for name in METHODS if any(case.method == name for case in attacks.CASES)]
    left, middle, right = st.columns([4, 4, 5], gap="medium")
    moved: Any = {"on_change": usual_trials, "args": (page, names)}
    methods, at = {name: grouped(name) for name in names}, names.index(chosen(page, names).method)
    name = choice(left.selectbox, say("Method"), f"{page}.method", methods, at, **moved)
    modes = {mode: MODES[mode] for mode in modes_of(name)}
    at = list(modes).index(chosen(page, names).mode)
    mode = choice(middle.radio, say("Mode"), f"{page}.mode", modes, at, horizontal=True, **moved)
    cases = {found.key: found for found in attacks.cases_of(name, mode)}
    titles, at = {key: found.title for key, found in cases.items()}, list(cases).index(chosen(page, names).key)
    case = cases[choice(right.selectbox, say("What is attacked"), f"{page}.case", titles, at, **moved)]
    left, right = st.columns([5, 2], gap="large", vertical_alignment="bottom")
    look: Any = {"value": case.trials, "format_func": "{:,}".format}
    look["help"] = say("More runs find smaller leaks. The suggestion is what this attack needs.")
    trials = lasting(left.select_slider, say("Runs in each world"), f"{page}.trials", TRIALS, **look)
    done = kept().get(case.key)
    seconds = 2 * trials * (done.seconds / 2 / done.result.trials if done else USUAL)
    right.caption(say("About {seconds:.0f} s on a usual computer. Noise is fresh: no seed.", seconds=seconds))
    return case, trials


def modes_of(name: str) -> list[str]:
    """The modes in which a method has cases."""
    return [mode for mode in MODES if attacks.cases_of(name, mode)]


def chosen(page: str, names: list[str]) -> Case:
    """The case that the controls ask for so far, made to fit: a method has not every mode, nor a mode every case."""
    found = next((case for case in attacks.CASES if case.key == links.current(f"{page}.case")), None)
    name = links.current(f"{page}.method", found and found.method)
    name = name if name in names else names[0]
    mode = links.current(f"{page}.mode", found and found.mode)
    cases = attacks.cases_of(name, mode if mode in modes_of(name) else modes_of(name)[0])
    return found if found in cases else cases[0]


def usual_trials(page: str, names: list[str]) -> None:
    """Another case has another number of runs; a control's callback."""
    st.session_state[f"{page}.trials"] = chosen(page, names).trials


def told(case: Case) -> None:
    """The story in words, and the two tables."""
    with st.container(border=True):
        st.markdown(case.story)
        if case.step:
            caption("Only a part of the run is attacked, and compared with what is claimed for that part.")
        for place, world, table in zip(st.columns(2, gap="large"), "AB", tables(case.pair), strict=True):
            place.markdown(say("**World {world}**: {rows:,} rows", world=world, rows=int(table["rows"].sum())))
            place.dataframe(table.rename(columns={"rows": say("rows")}), hide_index=True, height="content")
        caption(
            "Neighbors: {neighbors}. Guarantee: {promise}. Method: `{method}`. The attacker sees what one run "
            "releases, and makes one number of it: {number}.",
            neighbors=say(controls.RELATIONS[case.estimator.relation]).lower(),
            promise=say("none is claimed") if case.expected == "no claim" else say("epsilon, for one run"),
            method=" ".join(str(case.estimator).split()),
            number=case.looks_at[0].lower() + case.looks_at[1:],
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
    mark = [say("◀ differs") if different else "" for different in differs]
    return [rows.assign(rows=both[world].to_numpy(), **{"": mark}) for world in "AB"]


def at_least(epsilon: float) -> str:
    """A lower bound for people: never rounded up."""
    return f"{math.floor(1000 * epsilon) / 1000:g}"


def headline(case: Case, done: Twins) -> None:
    """The verdict, and the epsilons that it compares."""
    result = done.result
    verdict(case, done)
    epsilons = {say("Claimed"): claim(result.claimed), say("Proven at most"): limit(result.bound)}
    epsilons[say("At least, by this attack")] = at_least(result.lower_bound)
    figures({**epsilons, say("Runs in each world"): f"{result.trials:,}"})
    caption(
        "Took {seconds:.1f} seconds. Another {runs:,} runs would give other numbers, a little.",
        seconds=done.seconds,
        runs=result.trials,
    )


def pictures(page: str, case: Case, twins: Twins, *, real: bool = False) -> None:
    """What is behind a verdict; `real` if it was made from a person's own rows."""
    result, event = twins.result, twins.event
    mark = charts.mark_real if real else (lambda chart: chart)
    panels.chart(mark(charts.known_epsilon(lower=result.lower_bound, claimed=result.claimed, proved=result.bound)))
    piles = piled(twins.first, twins.second, event.threshold, above=event.above)
    logarithmic = lasting(st.toggle, say("Logarithmic heights, to see rare answers"), f"{page}.log")
    found: Any = {"hits": event.hits, "counted": event.counted, "threshold": event.threshold, "above": event.above}
    look: Any = {"number": case.looks_at, "edge": piles.edge, "logarithmic": logarithmic}
    panels.chart(mark(charts.world_piles(piles.frame, runs=result.trials, **found, **look)))
    ratios = charts.world_ratios(piles.frame, number=case.looks_at, claimed=result.claimed, proved=result.bound)
    panels.chart(mark(ratios))
    about = say(
        "All runs are drawn; the outermost bars also hold what lies beyond. Every bar has its own 95% interval, so "
        "that of many bars some leave a band by luck: the verdict rests on the one event, which was chosen on other "
        "runs than those that count."
    )
    lost = say("{runs:,} runs gave no number and are left out.", runs=piles.lost)
    st.caption(f"{about} {lost}" if piles.lost else about)
    title = say("The numbers behind these charts")
    panels.table_behind(piles.frame, say("{title}. {mark}", title=title, mark=say(REAL_DATA)) if real else title)


def verdict(case: Case, twins: Twins) -> None:
    """The verdict, to be read from the last row."""
    result = twins.result
    of = {"least": at_least(result.lower_bound), "claimed": claim(result.claimed)}
    of["sure"] = f"{100 * result.confidence:.0f}"
    with st.container(border=True, key="verdict"):
        if twins.verdict == "caught":
            markdown("## :red[:material/gavel: Caught]")
            part = phrase(
                "### With {sure}% confidence, what is attacked can cost epsilon {least} or more, and {claimed} is "
                "claimed."
            )
            whole = phrase(
                "### With {sure}% confidence, this run can cost epsilon {least} or more, and {claimed} is claimed."
            )
            markdown(part if case.step else whole, **of)
            if result.lower_bound > result.bound:
                markdown(
                    "It is even more than what is proved, {proved}. Either this is one of the 5 in 100 false alarms "
                    "(run it again), or the proof or the program is wrong.",
                    proved=number(result.bound),
                )
        elif twins.verdict == "not caught":
            markdown("## :blue[:material/help: Not caught, which proves nothing]")
            told = phrase("### This attack shows nothing; {claimed} is claimed. Another attack might show more.")
            if result.lower_bound:
                told = phrase(
                    "### With {sure}% confidence at least epsilon {least}, by this attack; {claimed} is claimed. "
                    "Another attack might show more."
                )
            markdown(told, **of)
            st.markdown(unshown(result.claimed, result.bound))
        else:
            markdown("## :orange[:material/info: No claim to refute]")
            markdown("### The source claims no epsilon; with {sure}% confidence, it can cost {least} or more.", **of)


def unshown(claimed: float, bound: float) -> str:
    """What holds where an attack has shown nothing."""
    if bound <= claimed:
        told = phrase(
            "What protects people is the proof: every question that is asked of the rows is paid for, together {bound}."
        )
    elif math.isfinite(bound):
        told = phrase(
            "All the same, the claim has no proof for these neighbors: what can be proved is epsilon {bound}."
        )
    else:
        told = phrase(
            "All the same, the claim has no proof for these neighbors: what can be proved is no epsilon at all."
        )
    return say(told, bound=limit(bound))


def explained() -> None:
    """How to read the page, a sentence each."""
    with st.expander(say("How to read this")):
        parts = (
            say(
                "**Two worlds:** two tables that differ in one person’s row; whoever cannot tell which of them was "
                "used learns nothing that hangs on that person’s row."
            ),
            say(
                "**The event:** the attacker says “world B” (or A) whenever a run’s number is beyond a threshold. Half "
                "of the runs choose the threshold that promises most; only the other half counts, so that the choice "
                "is free."
            ),
            say(
                "**The lower bound:** counts are luck, so Clopper and Pearson’s bounds take the smaller frequency as "
                "high and the larger one as low as the counts allow with 95% confidence; the logarithm of their ratio "
                "is a lower bound of what such a run can cost."
            ),
            say(
                "**False alarms:** of 100 audits of methods that keep their claim, up to 5 say “caught” by mistake. "
                "Who audits until one says so has proved nothing."
            ),
            say(
                "**Not caught proves nothing:** other tables, another number, or more runs might show more. Only a "
                "proof holds for all of them."
            ),
        )
        st.markdown("\n".join(f"- {part}" for part in parts))

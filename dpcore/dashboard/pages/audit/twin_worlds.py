"""Twin worlds: a method runs often on two neighboring tables, and the verdict. The tables are invented: no real data.

What was found stays in the session, by case and epsilon. It is drawn when the button is pressed; every other widget
shows the same runs in another way.
"""

import math
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Progress
from dpcore.audit import cases as attacks
from dpcore.audit.cases import Case, Twins
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import controls, jobs, links, panels, session
from dpcore.dashboard.demonstration import DANA, OTHERS, epsilon_slider
from dpcore.dashboard.histogram_pair import histogram_pair
from dpcore.dashboard.widgets import caption, choice, focus, lasting, settings_drawer
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.local.base import LocalClassifier
from dpcore.text import claim, limit

MODES = {"published": phrase("As published"), "corrected": phrase("Corrected")}
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 19.0)
TRIALS = (20, 50, 100, 200, 300, 400, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 10_000)
RUNNING = phrase("Running both worlds")
USUAL = 0.007  # seconds of a run, where none was measured yet
MOST_KEPT, MOST_SHOWN = 30, 14
LETTERS = "abcdnwxyz"  # by which cases call columns; and their names, a word for each
COLUMNS = phrase("smokes drives votes rents visits swims town ill sings")


def method_title(name: str) -> str:
    """A method's name with what it is for."""
    if issubclass(METHODS[name], LocalClassifier):
        return say("Collect: {method}", method=name)
    if issubclass(METHODS[name], PrivateClassifier):
        return say("Classify: {method}", method=name)
    return say("Synthesize: {method}", method=name)


def attack(page: str, data: Dataset, place: Any) -> None:
    """Choose a case, run it in both worlds, and see; the button stands in its place."""
    jobs.answer(place, page, RUNNING)
    with st.container(key="settings"), links.of(page, data, "attack"):
        case, trials = settings(page)
    jobs.end_in_page(page)
    found = session.kept("dpcore.twins", dict[tuple[str, float], Twins])
    key = (case.key, case.estimator.epsilon)

    def work(progress: Progress) -> None:
        found[key] = attacks.run(case, trials, progress=progress)
        while len(found) > MOST_KEPT:
            found.pop(next(iter(found)))

    if not jobs.run(RUNNING, page, work, place=place):
        with place.container():
            controls.run_button(page)
    if key in found:
        verdict(case, found[key])
        pictures(page, case, found[key])
    if session.has_ended(page):
        focus("verdict")
    worlds(case)
    explanation(case)


def settings(page: str) -> tuple[Case, int]:
    """Which case, and how many runs; what a link asks for and does not go together gives way."""
    names = [name for name in METHODS if any(case.method == name for case in attacks.CASES)]
    cells = st.columns([5, 6, 5], gap="medium", vertical_alignment="bottom")
    moved: Any = {"on_change": set_usual, "args": (page, names)}
    methods, at = {name: method_title(name) for name in names}, names.index(chosen_case(page, names).method)
    name = choice(cells[0].selectbox, say("Method"), f"{page}.method", methods, at, **moved)
    modes = {mode: MODES[mode] for mode in modes_of(name)}
    moved["usual"] = chosen_case(page, names).mode  # set, not shown first: a browser keeps what it showed before
    mode = choice(cells[1].radio, say("Version"), f"{page}.mode", modes, horizontal=True, **moved)
    with settings_drawer():
        cases = {found.key: found for found in attacks.cases_of(name, mode)}
        titles = {key: found.title for key, found in cases.items()}
        moved["usual"] = chosen_case(page, names).key
        case = cases[choice(st.selectbox, say("What is attacked"), f"{page}.case", titles, **moved)]
        look: Any = {"value": case.trials, "format_func": "{:,}".format}
        look["help"] = say("More runs find smaller leaks. The suggestion is what this attack needs.")
        trials = lasting(st.select_slider, say("Runs in each world"), f"{page}.trials", TRIALS, **look)
        caption("About {seconds:.0f} s on a usual computer. Noise is fresh: no seed.", seconds=2 * trials * USUAL)
    with cells[2]:
        claims = case.expected != "no claim"
        epsilon = epsilon_slider(page, phrase("Epsilon"), EPSILONS, case.estimator.epsilon, disabled=not claims)
    return replace(case, estimator=case.estimator.at_epsilon(epsilon)), trials


def modes_of(name: str) -> list[str]:
    """The modes in which a method has cases."""
    return [mode for mode in MODES if attacks.cases_of(name, mode)]


def chosen_case(page: str, names: list[str]) -> Case:
    """The case that the controls ask for so far, made to fit: a method has not every mode, nor a mode every case."""
    found = next((case for case in attacks.CASES if case.key == links.current(f"{page}.case")), None)
    name = links.current(f"{page}.method", found and found.method)
    name = name if name in names else names[0]
    mode = links.current(f"{page}.mode", found and found.mode)
    cases = attacks.cases_of(name, mode if mode in modes_of(name) else modes_of(name)[0])
    return found if found in cases else cases[0]


def set_usual(page: str, names: list[str]) -> None:
    """Another case has another epsilon and number of runs; a control's callback."""
    case = chosen_case(page, names)
    st.session_state[f"{page}.trials"] = case.trials
    st.session_state[f"{page}.epsilon"] = case.estimator.epsilon


def worlds(case: Case) -> None:
    """The story in words, and the two tables."""
    st.markdown(case.story)
    if case.step:
        caption("Only a part of the run is attacked, and compared with what is claimed for that part.")
    for place, table in zip(st.columns(2, gap="large"), tables(case.pair), strict=True):
        place.dataframe(table, hide_index=True, height="content")
    caption("Made-up people: nothing is charged.")


def tables(pair: tuple[pd.DataFrame, pd.DataFrame]) -> list[pd.DataFrame]:
    """Both worlds, a line for all people who are alike; the person who differs comes first."""
    names = list(pair[0].columns)
    both = pd.concat([frame.groupby(names, sort=False).size() for frame in pair], axis=1, keys=["A", "B"])
    both = both.fillna(0).astype(int)
    alike, headings = both.min(axis=1), dict(zip(LETTERS, say(COLUMNS).split(), strict=True))
    rows = both.index.to_frame(index=False).rename(columns=headings)
    for name in rows.columns:
        if pd.api.types.is_float_dtype(rows[name]):
            rows[name] = [f"{value:g}" for value in rows[name]]
    others = rows[(alike > 0).to_numpy()].head(MOST_SHOWN)
    counts = alike[alike > 0].head(MOST_SHOWN)
    who = [
        name if count == 1 else say("{name} and {more:,} more", name=name, more=count - 1)
        for name, count in zip(OTHERS * 2, counts, strict=False)
    ]
    found = []
    for world, heading in (("A", say("World A")), ("B", say("World B"))):
        mine = rows[(both[world] > alike).to_numpy()]
        named = [DANA] * len(mine) + who
        found.append(pd.concat([mine, others], ignore_index=True))
        found[-1].insert(0, heading, named)
    return found


def at_least(epsilon: float) -> str:
    """A lower bound for people: never rounded up."""
    return f"{math.floor(1000 * epsilon) / 1000:g}"


def pictures(page: str, case: Case, twins: Twins, *, real: bool = False) -> None:
    """What is behind a verdict, the proof first; `real` if it was made from a person's own rows."""
    result, event = twins.result, twins.event
    mark = charts.mark_real if real else (lambda chart: chart)
    found = histogram_pair(twins.first, twins.second, event.threshold, above=event.above)
    proof = st.container()
    logarithmic = lasting(st.toggle, say("Logarithmic heights, to see rare answers"), f"{page}.log")
    look: Any = {"hits": event.hits, "counted": event.counted, "threshold": event.threshold, "above": event.above}
    look |= {"number": case.looks_at, "edge": found.edge, "logarithmic": logarithmic, "claimed": result.claimed}
    with proof:
        panels.chart(mark(charts.world_piles(found.bins, runs=result.trials, lower=result.lower_bound, **look)))
        values = {"chosen": result.trials - event.counted, "all": result.trials, "counted": event.counted}
        caption("{chosen:,} of {all:,} runs in each world find the event, the other {counted:,} count it.", **values)
    panels.chart(mark(charts.known_epsilon(lower=result.lower_bound, claimed=result.claimed, proved=result.bound)))
    bounds: Any = {"claimed": result.claimed, "proved": result.bound}
    panels.chart(mark(charts.world_ratios(found.bins, number=case.looks_at, **bounds)))
    caption("The outermost bars hold what lies beyond as well. {runs:,} runs gave no number.", runs=found.lost)
    title = say("The numbers behind these charts")
    panels.table_behind(found.bins, say("{title}. {mark}", title=title, mark=say(REAL_DATA)) if real else title)


def verdict(case: Case, twins: Twins) -> None:
    """The verdict, to be read from the last row."""
    result = twins.result
    of = {"least": at_least(result.lower_bound), "claimed": claim(result.claimed)}
    of |= {"sure": f"{100 * result.confidence:.0f}", "bound": limit(result.bound)}
    told = [phrase("The source claims no epsilon; with {sure}% confidence, it can cost {least} or more.")]
    heading = phrase("## :orange[:material/info: No claim to refute]")
    if twins.verdict == "caught":
        heading = phrase("## :red[:material/gavel: Caught]")
        told = [phrase("With {sure}% confidence, this run can cost epsilon {least} or more, and {claimed} is claimed.")]
        if case.step:
            told = [
                phrase("With {sure}% confidence, what is attacked can cost epsilon {least} or more, not {claimed}.")
            ]
        if result.lower_bound > result.bound:
            told.append(
                phrase(
                    "It is even more than what is proved, {bound}. Either this is one of the 5 in 100 false alarms "
                    "(run it again), or the proof or the program is wrong."
                )
            )
    elif twins.verdict == "not caught":
        heading = phrase("## :blue[:material/help: Not caught, which proves nothing]")
        told = [phrase("This attack shows at least epsilon {least}; {claimed} is claimed. Another might show more.")]
        if result.bound <= result.claimed:
            told.append(phrase("What protects people is the proof: all queries together cost at most {bound}."))
        elif math.isfinite(result.bound):
            told.append(phrase("All the same, the claim has no proof for these neighbors: proven is epsilon {bound}."))
        else:
            told.append(phrase("All the same, the claim has no proof for these neighbors: no epsilon is proven."))
    look: Any = {"horizontal": True, "vertical_alignment": "center"}
    with st.container(border=True, key="verdict", **look):
        st.markdown(say(heading), width="content")
        st.markdown(" ".join(say(sentence, **of) for sentence in told))


def explanation(case: Case) -> None:
    """How to read the page, a sentence each."""
    neighbors = controls.relation_words(case.estimator.relation, case.schema.persons is not None)
    with st.expander(say("How to read this")):
        parts = (
            say("**This attack:** neighbors: {neighbors}.", neighbors=say(neighbors).lower()),
            say("**Its number** of each release: {number}.", number=case.looks_at[0].lower() + case.looks_at[1:]),
            say("**Twin worlds (neighboring data sets):** two tables that differ in one person’s row."),
            say("**The event:** the attacker says “world B” (or A) if a run’s number is beyond a threshold."),
            say(
                "**The lower bound:** the least epsilon that explains how often the event happened in both worlds, "
                "with 95% confidence (Clopper and Pearson)."
            ),
            say("**False alarms:** of 100 audits of methods that keep their claim, up to 5 say “caught” by mistake."),
            say("**Not caught proves nothing:** other tables, another number, or more runs might show more."),
        )
        st.markdown("\n".join(f"- {part}" for part in parts))

"""Twin worlds: a method runs often on two neighboring tables that are invented, and the verdict.

What was found stays in the session, by what it was found for. It is drawn when the button is
pressed.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Progress
from dpcore.audit import cases
from dpcore.audit.cases import Case, NeighboringPair
from dpcore.dashboard import controls, jobs, links, panels, session
from dpcore.dashboard.demonstration import DANA, OTHERS
from dpcore.dashboard.histogram_pair import histogram_pair
from dpcore.dashboard.widgets import caption, choice, focus, lasting, markdown, number_choice, settings_drawer
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.local.base import LocalClassifier
from dpcore.text import Verdict, claim, limit

MODES = {"published": phrase("As published"), "corrected": phrase("Corrected")}
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 19.0)
TRIALS = (20, 50, 100, 200, 300, 400, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 10_000)
RUNNING = phrase("Running both worlds")
USUAL = 0.007  # seconds of a run, where none was measured yet
MOST_KEPT, MOST_SHOWN = 30, 14
NAMES = ("method", "mode")  # that a case's key says, too
LETTERS = "abcdnwxyz"  # by which cases call columns; and their names, a word for each
COLUMNS = phrase("smokes drives votes rents visits swims town ill sings")
VERDICTS = {  # what is called so, and what it says
    Verdict.FAILS: (
        phrase("## :red[:material/gavel: Caught]"),
        phrase("95% sure: what is attacked can cost epsilon {least} or more. Claimed is {claimed}."),
    ),
    Verdict.OPEN: (
        phrase("## :blue[:material/help: Not caught, which proves nothing]"),
        phrase("Claimed is {claimed}. This attack shows epsilon {least} at least; another might more."),
    ),
    None: (
        phrase("## :orange[:material/info: No claim to refute]"),
        phrase("The source claims no epsilon; with 95% confidence, it can cost {least} or more."),
    ),
}
READING = phrase("""
- **This attack:** neighbors: {neighbors}.
- **Its number** of each release: {number}.
- **Twin worlds (neighboring data sets):** two tables that differ in one person’s row.
- **The event:** the attacker says “world B” (or A) if a run’s number is beyond a threshold.
- **The lower bound:** the least epsilon that explains how often the event happened in both worlds,
  with 95% confidence (Clopper and Pearson).
- **False alarms:** of 100 audits of methods that keep their claim, up to 5 say “caught”.
""")


def method_title(name: str) -> str:
    """A method's name with what it is for."""
    if issubclass(METHODS[name], LocalClassifier):
        return say("Collect: {method}", method=name)
    if issubclass(METHODS[name], PrivateClassifier):
        return say("Classify: {method}", method=name)
    return say("Synthesize: {method}", method=name)


def attack(page: str, data: Dataset, container: Any) -> None:
    """Choose a case, run it in both worlds, and see; the button stands in its place."""
    jobs.show_start(container, page, RUNNING)
    with st.container(key="settings"), links.draw_settings(page, data, "attack"):
        case, trials = settings(page)
    run_worlds(page, container, (case.key, case.estimator.epsilon), lambda: case, trials)
    st.markdown(case.story)
    if case.step:
        caption("Only a part of the run is attacked, and compared with what is claimed for that part.")
    tables(case.pair)
    caption("Made-up people: nothing is charged.")
    explanation(case)


def run_worlds(
    key: str, container: Any, chosen: Any, make: Callable[[], Case], trials: int, *, real: bool = False
) -> tuple[Case, NeighboringPair] | None:
    """Run a case in both worlds if that is asked for, and show what was found for what is chosen.

    `real` if it is made from a person's own rows, of which the last runs alone are kept.
    """
    jobs.finish_in_page(key)
    found = session.keep_once(f"dpcore.twins:{key}", dict[Any, tuple[Case, NeighboringPair]])

    def work(progress: Progress) -> None:
        case = make()
        found[chosen] = case, cases.run(case, trials, progress=progress)
        while len(found) > (1 if real else MOST_KEPT):
            found.pop(next(iter(found)))

    if not jobs.run(RUNNING, key, work, area=container):
        with container.container():
            controls.run_button(key)
    if chosen in found:
        verdict(found[chosen][1])
        pictures(*found[chosen], real=real)
    if session.has_ended(key):
        focus("verdict")
    return found.get(chosen)


def settings(page: str) -> tuple[Case, int]:
    """Which case, and how many runs; what does not go together with the method gives way."""
    wishes = links.drawing().wishes
    if (linked := wishes.get(f"{page}.case")) is not None:  # a link may say no more
        known = {f"{page}.{name}": getattr(case, name) for case in cases.CASES if case.key == linked for name in NAMES}
        wishes |= known | wishes
    attacked = {case.method for case in cases.CASES}
    titles = {name: method_title(name) for name in METHODS if name in attacked}
    cells = st.columns([5, 6, 5], gap="medium", vertical_alignment="bottom")
    name = choice(cells[0].selectbox, say("Method"), f"{page}.method", titles)
    modes = {mode: words for mode, words in MODES.items() if cases.cases_of(name, mode)}
    look: Any = {"usual": next(iter(modes)), "horizontal": True}
    mode = choice(cells[1].radio, say("Version"), f"{page}.mode", modes, **look)
    with settings_drawer():
        found = {case.key: case for case in cases.cases_of(name, mode)}
        names, label = {key: case.title for key, case in found.items()}, say("What is attacked")
        case = found[choice(st.selectbox, label, f"{page}.case", names, usual=next(iter(names)))]
        label, look = say("Runs in each world"), {"format_func": "{:,}".format, "usual": case.trials}
        trials = lasting(st.select_slider, label, f"{page}.trials", TRIALS, **look)
        seconds = phrase("More runs find smaller leaks: about {seconds:.0f} s. Noise is fresh: no seed.")
        caption(seconds, seconds=2 * trials * USUAL)
    with cells[2]:
        look = {"usual": case.estimator.epsilon, "disabled": case.expected is None}
        epsilon = number_choice(st.select_slider, say("Epsilon"), f"{page}.epsilon", EPSILONS, **look)
    return replace(case, estimator=case.estimator.with_epsilon(epsilon)), trials


def tables(pair: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """Both worlds, a line for all people who are alike; the person who differs comes first."""
    names = dict(zip(LETTERS, say(COLUMNS).split(), strict=True))
    counts = [frame.rename(columns=names).value_counts(sort=False) for frame in pair]
    both = pd.concat(counts, axis=1, keys=[say("World A"), say("World B")]).fillna(0).astype(int)
    alike = both.min(axis=1)
    others = alike[alike > 0].head(MOST_SHOWN)
    who = [
        name if count == 1 else say("{name} and {more:,} more", name=name, more=count - 1)
        for name, count in zip(OTHERS * 2, others, strict=False)
    ]
    for cell, world in zip(st.columns(2, gap="large"), both, strict=True):
        different = both.index[both[world] > alike]
        rows = different.append(others.index).to_frame(index=False)
        rows.insert(0, world, [DANA] * len(different) + who)
        cell.dataframe(rows, hide_index=True, height="content")


def pictures(case: Case, neighbors: NeighboringPair, *, real: bool) -> None:
    """What is behind a verdict, the proof first; `real` if it was made from a person's own rows."""
    result, event = neighbors.result, neighbors.event
    mark = charts.mark_real if real else (lambda chart: chart)
    bins, edge = histogram_pair(neighbors.first, neighbors.second, event.threshold, above=event.above)
    proof: Any = {"hits": event.hits, "counted": event.counted, "threshold": event.threshold}
    proof |= {"above": event.above, "edge": edge, "number": case.looks_at, "runs": result.trials}
    proof |= {"claimed": result.claimed, "lower": result.lower_bound}
    panels.chart(mark(charts.world_piles(bins, **proof)))
    runs = {"all": result.trials, "counted": event.counted, "chosen": result.trials - event.counted}
    caption("{chosen:,} of {all:,} runs in each world find the event, the other {counted:,} count it.", **runs)
    bounds: Any = {"claimed": result.claimed, "proved": result.bound}
    panels.chart(mark(charts.known_epsilon(lower=result.lower_bound, **bounds)))
    panels.chart(mark(charts.world_ratios(bins, number=case.looks_at, **bounds)), data=bins)
    lost = 2 * result.trials - bins[["first", "second"]].sum().sum()
    caption("The outermost bars hold what lies beyond as well. {runs:,} runs gave no number.", runs=lost)


def verdict(neighbors: NeighboringPair) -> None:
    """The verdict, to be read from the last row."""
    result, proof = neighbors.result, ""
    if neighbors.verdict is Verdict.OPEN:
        proof = phrase("What protects people is the proof: all queries together cost at most {bound}.")
        if result.bound > result.claimed:
            proof = phrase("All the same, the claim has no proof for these neighbors: proven is {bound}.")
    elif neighbors.verdict is Verdict.FAILS and result.lower_bound > result.bound:
        proof = phrase(
            "It is even more than is proven, {bound}. Either this is one of the 5 in 100 false "
            "alarms (run it again), or the proof or the program is wrong."
        )
    values = {"claimed": epsilon_text(claim, result.claimed), "bound": epsilon_text(limit, result.bound)}
    values["least"] = f"{math.floor(1000 * result.lower_bound) / 1000:g}"  # never rounded up
    heading, *sentences = *VERDICTS[neighbors.verdict], proof
    with st.container(border=True, key="verdict", horizontal=True, vertical_alignment="center"):
        st.markdown(say(heading), width="content")
        st.markdown(" ".join(say(sentence, **values) for sentence in sentences))


def epsilon_text(written: Callable[[float], str], epsilon: float) -> str:
    """An epsilon in a sentence."""
    return say("epsilon {epsilon}", epsilon=written(epsilon)) if math.isfinite(epsilon) else say("no epsilon")


def explanation(case: Case) -> None:
    """How to read the page, a sentence each."""
    neighbors = controls.relation_words(case.estimator.relation, case.schema.persons is not None)
    with st.expander(say("How to read this")):
        number = case.looks_at[0].lower() + case.looks_at[1:]
        markdown(READING, neighbors=say(neighbors).lower(), number=number)

"""Audit on made-up data: a method runs many times on two neighboring data sets, the twin worlds.

The session keeps the results by method, case and epsilon. Pressing the button runs both worlds
again with fresh noise.
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
from dpcore.audit.cases import Case, PairRuns
from dpcore.dashboard import controls, jobs, links, panels, session
from dpcore.dashboard.demonstration import DANA, OTHERS
from dpcore.dashboard.histogram_pair import histogram_pair
from dpcore.dashboard.widgets import (
    caption,
    choice,
    focus,
    lasting,
    markdown,
    number_choice,
    settings_drawer,
)
from dpcore.datasets import Dataset
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.local.base import LocalClassifier
from dpcore.text import Verdict, claim, limit

MODES = {"published": phrase("As published"), "corrected": phrase("Corrected")}
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 19.0)
TRIALS = (20, 50, 100, 200, 300, 400, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 10_000)
RUNNING = phrase("Running on neighboring data sets")
USUAL = 0.007  # seconds of one run on a usual computer
MOST_KEPT, MOST_SHOWN = 30, 14
NAMES = ("method", "mode")  # that a case's key says, too
LETTERS = "abcdnwxyz"  # columns of the audit cases; COLUMNS has one word for each letter
COLUMNS = phrase("smokes drives votes rents visits swims town ill sings")
VERDICTS = {  # heading and sentence of each verdict
    Verdict.FAILS: (
        phrase("## :red[:material/gavel: Caught: claim refuted]"),
        phrase("95% sure: the attacked run can cost epsilon {least} or more. Claimed: {claimed}."),
    ),
    Verdict.OPEN: (
        phrase("## :blue[:material/help: Not caught, which proves nothing]"),
        phrase("Claimed: {claimed}. This attack shows epsilon {least}; another might show more."),
    ),
    None: (
        phrase("## :orange[:material/info: No claim to refute]"),
        phrase("No epsilon claimed. 95% sure: the attacked run can cost epsilon {least} or more."),
    ),
}
READING = phrase("""
- **Twin worlds (neighboring data sets):** two tables that differ in one person’s row.
- **Neighboring relation** of this attack: {neighbors}.
- **Statistic** that the attacker computes from each release: {number}.
- **Event:** the attacker says “world B” (or A) if a run’s statistic is beyond a threshold.
- **Lower bound:** the least epsilon that explains how often the event happened in both worlds,
  with 95% confidence (Clopper and Pearson).
- **False alarms:** of 100 audits of methods that keep their claim, up to 5 say “caught”.
""")


def method_title(name: str) -> str:
    """Return a method's name after its task, such as "Classify: DiffPRFs"."""
    if issubclass(METHODS[name], LocalClassifier):
        return say("Collect: {method}", method=name)
    if issubclass(METHODS[name], PrivateClassifier):
        return say("Classify: {method}", method=name)
    return say("Synthesize: {method}", method=name)


def draw_attack(page: str, data: Dataset, container: Any) -> None:
    """Draw the audit of a method: choose a case, run it in both worlds, show the verdict.

    A case is two neighboring data sets of made-up people and a method. `container` is the empty
    place where the run button is drawn.
    """
    jobs.show_start(container, page, RUNNING)
    with st.container(key="settings"), links.draw_settings(page, data, "attack"):
        case, trials = draw_settings(page)
    run_worlds(page, container, (case.key, case.estimator.epsilon), lambda: case, trials)
    st.markdown(case.story)
    if case.step:
        caption("Only a part of the run is attacked. The bound is compared with the epsilon claimed for that part.")
    draw_tables(case.pair)
    caption("Made-up people: nothing is charged.")
    draw_explanation(case)


def run_worlds(
    key: str, container: Any, chosen: Any, make: Callable[[], Case], trials: int, *, real: bool = False
) -> tuple[Case, PairRuns] | None:
    """Run a case in both worlds if that was requested, and draw the results kept for `chosen`.

    Parameters
    ----------
    key : str
        Key of the run and of its kept results in the session.
    chosen : Any
        Key of one result: what the user chose, such as the case and its epsilon.
    make : Callable
        Makes the audit case.
    trials : int
        Number of runs in each world.
    real : bool
        True if the case uses the user's own rows. Then only the latest result is kept.

    Returns
    -------
    tuple or None
        The case and its pair of result samples; None if it has not run yet.
    """
    jobs.finish_in_page(key)
    found = session.keep_once(f"dpcore.twins:{key}", dict[Any, tuple[Case, PairRuns]])

    def work(progress: Progress) -> None:
        """Run the audit case in both worlds, and keep the result; drop the oldest results."""
        case = make()
        found[chosen] = case, cases.run(case, trials, progress=progress)
        while len(found) > (1 if real else MOST_KEPT):
            found.pop(next(iter(found)))

    if not jobs.run(RUNNING, key, work, area=container):
        with container.container():
            controls.run_button(key)
    if chosen in found:
        draw_verdict(found[chosen][1])
        draw_charts(*found[chosen], real=real)
    if session.has_ended(key):
        focus("verdict")
    return found.get(chosen)


def draw_settings(page: str) -> tuple[Case, int]:
    """Draw the controls of the attack; return the chosen audit case and the runs per world.

    A link may name the case alone. The method and its version are then set to those of the case.
    """
    wishes = links.drawing().wishes
    if (linked := wishes.get(f"{page}.case")) is not None:  # a link may name the case alone
        known = {f"{page}.{name}": getattr(case, name) for case in cases.CASES if case.key == linked for name in NAMES}
        wishes |= known | wishes
    attacked = {case.method for case in cases.CASES}
    titles = {name: method_title(name) for name in METHODS if name in attacked}
    cells = st.columns([5, 6, 5], gap="medium", vertical_alignment="bottom")
    name = choice(cells[0].selectbox, say("Method"), f"{page}.method", titles)
    modes = {mode: words for mode, words in MODES.items() if cases.cases_of(name, mode)}
    look: Any = {"usual": next(iter(modes)), "horizontal": True}
    mode = choice(cells[1].radio, say("Method version"), f"{page}.mode", modes, **look)
    with settings_drawer():
        found = {case.key: case for case in cases.cases_of(name, mode)}
        names, label = {key: case.title for key, case in found.items()}, say("What is attacked")
        case = found[choice(st.selectbox, label, f"{page}.case", names, usual=next(iter(names)))]
        label, look = say("Runs in each world"), {"format_func": "{:,}".format, "usual": case.trials}
        trials = lasting(st.select_slider, label, f"{page}.trials", TRIALS, **look)
        seconds = phrase("More runs find smaller leaks, in about {seconds:.0f} s. Noise is fresh, with no seed.")
        caption(seconds, seconds=2 * trials * USUAL)
    with cells[2]:
        look = {"usual": case.estimator.epsilon, "disabled": case.expected_verdict is None}
        epsilon = number_choice(st.select_slider, say("Epsilon"), f"{page}.epsilon", EPSILONS, **look)
    return replace(case, estimator=case.estimator.with_epsilon(epsilon)), trials


def draw_tables(pair: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """Draw the rows of both worlds side by side, with equal rows counted in one line.

    `pair` are the two neighboring data sets. The person who differs comes first.
    """
    names = dict(zip(LETTERS, say(COLUMNS).split(), strict=True))
    counts = [frame.rename(columns=names).value_counts(sort=False) for frame in pair]
    both = pd.concat(counts, axis=1, keys=[say("World A"), say("World B")]).fillna(0).astype(int)
    alike = both.min(axis=1)
    others = alike[alike > 0].head(MOST_SHOWN)
    who = [
        name if count == 1 else say("{name} and {more:,} more people", name=name, more=count - 1)
        for name, count in zip(OTHERS * 2, others, strict=False)
    ]
    for cell, world in zip(st.columns(2, gap="large"), both, strict=True):
        different = both.index[both[world] > alike]
        rows = different.append(others.index).to_frame(index=False)
        rows.insert(0, world, [DANA] * len(different) + who)
        cell.dataframe(rows, hide_index=True, height="content")


def draw_charts(case: Case, pair: PairRuns, *, real: bool) -> None:
    """Draw the charts behind a verdict: the attacker's event, the epsilons, and the ratios of bins.

    `real` says that the case uses the user's own rows, so the charts carry the mark of real data.
    """
    result, event = pair.result, pair.event
    mark = charts.mark_real if real else (lambda chart: chart)
    bins, edge = histogram_pair(pair.first, pair.second, event.threshold, above=event.at_or_above)
    proof: Any = {"hits": event.hits, "counted": event.counted_runs, "threshold": event.threshold}
    proof |= {"above": event.at_or_above, "edge": edge, "number": case.statistic_title, "runs": result.trials}
    proof |= {"claimed": result.epsilon_claimed, "lower": result.lower_bound}
    panels.chart(mark(charts.world_piles(bins, **proof)))
    runs = {"all": result.trials, "counted": event.counted_runs, "chosen": result.trials - event.counted_runs}
    caption("In each world, {chosen:,} of {all:,} runs choose the event; {counted:,} measure its frequency.", **runs)
    bounds: Any = {"claimed": result.epsilon_claimed, "proved": result.epsilon_nominal}
    panels.chart(mark(charts.known_epsilon(lower=result.lower_bound, **bounds)))
    panels.chart(mark(charts.world_ratios(bins, number=case.statistic_title, **bounds)), data=bins)
    lost = 2 * result.trials - bins[["first", "second"]].sum().sum()
    caption("The outermost bars include statistics beyond the axis. {runs:,} runs gave no statistic.", runs=lost)


def draw_verdict(pair: PairRuns) -> None:
    """Draw the verdict of an audit: caught (epsilon refuted), not caught, or nothing to refute."""
    result, proof = pair.result, ""
    if pair.verdict is Verdict.OPEN:
        proof = phrase("The proof protects people: all queries together cost at most {bound}.")
        if result.epsilon_nominal > result.epsilon_claimed:
            proof = phrase("But for these neighboring data sets only {bound} is proven.")
    elif pair.verdict is Verdict.FAILS and result.lower_bound > result.epsilon_nominal:
        proof = phrase(
            "The lower bound even exceeds what is proven, {bound}. Either this audit is one of the "
            "5 in 100 false alarms (run it again), or the proof or the program is wrong."
        )
    claimed, nominal = result.epsilon_claimed, result.epsilon_nominal
    values = {"claimed": epsilon_text(claim, claimed), "bound": epsilon_text(limit, nominal)}
    # A lower bound is rounded down.
    values["least"] = f"{math.floor(1000 * result.lower_bound) / 1000:g}"
    heading, *sentences = *VERDICTS[pair.verdict], proof
    with st.container(border=True, key="verdict", horizontal=True, vertical_alignment="center"):
        st.markdown(say(heading), width="content")
        st.markdown(" ".join(say(sentence, **values) for sentence in sentences))


def epsilon_text(written: Callable[[float], str], epsilon: float) -> str:
    """Return `epsilon` in words, such as "epsilon 2"; "no epsilon" if it is infinite.

    `written` formats the number.
    """
    return say("epsilon {epsilon}", epsilon=written(epsilon)) if math.isfinite(epsilon) else say("no epsilon")


def draw_explanation(case: Case) -> None:
    """Draw the drawer that explains the terms of an audit, one sentence each."""
    neighbors = controls.relation_words(case.estimator.relation, case.schema.persons is not None)
    with st.expander(say("How to read this audit")):
        number = case.statistic_title[0].lower() + case.statistic_title[1:]
        markdown(READING, neighbors=say(neighbors).lower(), number=number)

"""Figures of a paper made again: each with its own button, progress, cancel, repeats, and what the paper printed.

What is finished is kept if somebody cancels, and every run is written down before it is drawn.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import hosting, jobs, panels, session, unproved, widgets
from dpcore.dashboard.panels import classifier, redraw
from dpcore.dashboard.run_records import record_run
from dpcore.dashboard.session import Shown, Spending
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import lasting
from dpcore.datasets import Dataset
from dpcore.errors import DataError
from dpcore.experiment.engine import NewLedger, Run, failed_runs
from dpcore.experiment.figures import of_paper
from dpcore.experiment.figures.base import Figure, whole
from dpcore.export.facts import source
from dpcore.export.model_file import Model
from dpcore.language import phrase, retold, say, spoken

PUBLISHED = ("adult", "big5")
ALL_ROWS = phrase("Learn from all complete rows, test rows too")
ALL_ABOUT = phrase("As the paper does: 45,222 rows of Adult, 19,719 of Big5. Nothing is left to test a classifier on.")
OWN = {"000": "NB-Synth", "001": "HMPrivBayes", "002": "TaxonomyRelease", "003": "DiffPRFs", "004": "PPNB"}  # methods
REPEATS = {"001": 3, "002": 3}  # how often all runs, unless someone says more
SETS = {"004": (*datasets.BANK_CARDS, "adult")}  # of papers about other data than those


def figures(page: str, data: Dataset, paper: str) -> None:
    """Figures of one paper, on data sets that are here, or on the data in use.

    `page` is what the keys of all widgets begin with.
    """
    names = list(dict.fromkeys([data.name, *filter(here, SETS.get(paper, PUBLISHED))]))
    if not data.held:
        st.info(say("The rows in use are in a folder. Figures need rows in memory, and are made of other data."))
        names.remove(data.name)
        if not names:
            return
    left, right = st.columns([3, 1], gap="large")
    look: dict[str, Any] = {"default": names[:1], "selection_mode": "multi", "format_func": escaped}
    chosen = lasting(left.pills, say("Data sets"), f"{page}.sets:{data.token}", names, **look)
    count = int(lasting(right.number_input, say("Repeats"), f"{page}.repeats", 1, 20, REPEATS.get(paper, 5)))
    if not chosen:
        st.info(say("Choose a data set."))
        return
    titles = {each.title: each for each in of_paper(paper)}
    figure = next(iter(titles.values()))
    if len(titles) > 1:
        figure = titles[choice(st, say("Figure"), {title: title for title in titles}, f"{page}.figure")]
    with st.popover(say("What the paper prints")):
        st.markdown(retold(figure.printed))
        st.caption(source(OWN[paper]))
    chosen_sets = []
    everything = figure.untested and lasting(st.toggle, say(ALL_ROWS), f"{page}.all_rows", help=say(ALL_ABOUT))
    for one in (data if data.name == chosen_name else known(chosen_name) for chosen_name in chosen):
        one = all_of(one) if everything else one
        if missing := figure.lacks(one):
            st.info(say("No such figure of {data}: {missing}", data=escaped(one.name), missing=retold(missing)))
        else:
            chosen_sets.append(one)
    if not chosen_sets:
        return
    name = f"{page}.{figure.key}"
    about = say("Every run is charged. Finished runs are kept if you cancel.")
    first = min(chosen_sets, key=lambda one: one.schema.source == "declared")  # one without a guarantee, if any is
    unproved.button(say("Make this figure"), name, "go", first, icon=":material/play_arrow:", help=about)
    what = hash((figure.key, *((each.token, each.schema.to_json()) for each in chosen_sets)))
    memory = session.kept(f"dpcore.figure:{page}:{what}", Made)
    jobs.run(phrase("Making releases"), name, partial(make, memory, session.spending(), figure, chosen_sets, count))
    if memory.frames and not memory.whole and not session.resting(name):
        told = phrase("Stopped before it was finished: {runs:,} runs are drawn, and points have fewer of them.")
        st.warning(say(told, runs=len(memory.frames)))
    if memory.frames:
        failed = failed_runs(memory.frames).groupby(["series", "mode", "error"], sort=False)
        for (series, mode, error), runs_lost in failed:
            told = phrase("{runs:,} runs of {series}, {mode}, failed: {error}")
            of = {"series": retold(str(series)), "mode": say(str(mode)), "error": escaped(str(error))}
            st.warning(say(told, runs=len(runs_lost), **of))
        draw(paper, figure, memory)


def all_of(data: Dataset) -> Dataset:
    """All rows of some data; those that were asked for last are kept, under one key."""
    key, last = (data.token, data.schema.to_json()), "dpcore.all_rows"
    if last not in st.session_state or st.session_state[last][0] != key:
        st.session_state[last] = key, whole(data)
    found: Dataset = st.session_state[last][1]
    return found


@dataclass
class Made:
    """The runs of a figure, whether these are all, and what came of the paper's claims."""

    frames: list[pd.DataFrame] = field(default_factory=list)
    whole: bool = False
    verdicts: dict[str, list[str]] = field(default_factory=dict)  # by language


def make(
    memory: Made, spending: Spending, figure: Figure, sets: Sequence[Dataset], repeats: int, progress: Progress
) -> None:
    """Make a figure of some data sets; what is finished is kept if somebody cancels."""
    frames: list[pd.DataFrame] = []
    begun: dict[Any, Any] = {}  # lines of their own in the books of today
    whole = False
    try:
        for index, one in enumerate(sets):

            def within(part: float, text: str, index: int = index) -> None:
                progress((index + part) / len(sets), f"{len(frames):,} done{text and '; '}{text}")

            ledgers = partial(ledger_of, spending, begun, figure, one)
            with closing(figure.stream(one, repeats, ledgers=ledgers, n_jobs=-1, progress=within)) as found:
                for part, frame in found:
                    frames.append(frame)
                    if figure.together:
                        purpose = f"{figure.title}: {frame['series'].iloc[0]}, {frame['mode'].iloc[0]}"
                        record_run(spending, begun, one, purpose, frame)
                    within(part, "")
        whole = True
    finally:
        if frames:
            memory.frames, memory.whole, memory.verdicts = frames, whole, {}


def ledger_of(spending: Spending, begun: dict[Any, Any], figure: Figure, data: Dataset, run: Run) -> NewLedger:
    """What makes the ledger of a run: one in the books for other processes, or a part of the session's account.

    `begun`: what this function began for the figure, and what `note` did.
    """
    method, relation = str(run.labels["method"]), str(run.method.relation)
    key = (data.token, relation, method)
    if figure.together:
        if key not in begun:
            begun[key] = spending.books.open_runs({method: run.method}, data, figure.title)[method]
        opened: NewLedger = begun[key]
        return opened

    def part() -> Ledger:
        if key not in begun:
            begun[key] = spending.account(data, relation, f"{figure.title}: {method.replace(' | ', ', ')}")
        account: Ledger = begun[key]
        return account

    return part


def draw(paper: str, figure: Figure, memory: Made) -> None:
    """The figure's charts, after what is to be chosen of them, and what came of the paper's claims."""
    frame = pd.concat(memory.frames, ignore_index=True)
    if not (frame["error"] == "").any():
        return
    places = st.columns(len(figure.choices)) if len(figure.choices) > 1 else [st]
    asked = zip(places, figure.choices.items(), strict=False)
    chosen = {name: choice(place, say(one.label), one.options, f"{name}.{paper}") for place, (name, one) in asked}
    for part in figure.pictures(frame, **chosen):
        if isinstance(part, str):
            st.caption(escaped(part))
        else:
            panels.chart(part[0], data=part[1])
    if spoken() not in memory.verdicts:  # read off all points, whatever is chosen of them
        memory.verdicts[spoken()] = list(figure.verdicts(frame))
    for line in memory.verdicts[spoken()]:
        st.markdown(f":material/fact_check: {escaped(line)} ({say(REAL_DATA)})")


def choice(area: Any, label: str, options: Mapping[str, str], key: str) -> str:
    """One of some options, by what people read, the first unless somebody chooses, in a place of the page."""
    how: dict[str, Any] = {"default": next(iter(options)), "required": True}
    return str(widgets.choice(area.segmented_control, label, key, options, **how))


def here(name: str) -> bool:
    """Whether a published data set can be read without asking the network."""
    try:
        return hosting.offers(name) and bool(known(name))
    except DataError:
        return False


def known(name: str) -> Dataset:
    """A published data set, read once per session."""
    read: dict[str, Dataset] = st.session_state.setdefault("dpcore.published", {})
    if name not in read:
        read[name] = datasets.load(name)
    return read[name]


def redraws(page: str, shown: Shown) -> None:
    """20 more runs of the release's method, as dots."""
    (classifier if isinstance(shown.release.artifact, Model) else redraw).redraws(page, shown)

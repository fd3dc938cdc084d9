"""Figures of a paper made again: each with its own button, progress, cancel, repeats, and what the paper printed.

What is finished is kept if somebody cancels, and every run is written down before it is drawn.
"""

from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import hosting, jobs, panels, session, unproved
from dpcore.dashboard.panels import classifier, redraw
from dpcore.dashboard.run_records import record_run, show_failures
from dpcore.dashboard.session import ShownRelease, Spending
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import lasting, one_of
from dpcore.datasets import Dataset
from dpcore.errors import DataError
from dpcore.experiment.figures import ledgers_in_file, of_paper
from dpcore.experiment.figures.claims import REPEATS
from dpcore.experiment.figures.figure import Figure
from dpcore.export.artifacts import Model
from dpcore.export.facts import source
from dpcore.language import phrase, retold, say

PUBLISHED = ("adult", "big5")
OWN = {"000": "NB-Synth", "001": "HMPrivBayes", "002": "TaxonomyRelease", "003": "DiffPRFs", "004": "PPNB"}  # methods
SETS = {"004": (*datasets.BANK_CARDS, "adult")}  # of papers about other data than those


@dataclass
class FigureRuns:
    """The finished runs of a figure, and what share of all they are."""

    frames: list[pd.DataFrame] = field(default_factory=list)
    share: float = 0.0


def figures(page: str, data: Dataset, paper: str) -> None:
    """Figures of one paper, on a data set that is here, or on the data in use.

    `page` is what the keys of all widgets begin with.
    """
    own = {data.name: data} if data.held else {}
    sets = own | read_published(paper) | own
    if not own:
        st.info(say("The rows in use are in a folder. Figures need rows in memory, and are made of other data."))
    if not sets:
        return
    left, right = st.columns([3, 1], gap="large")
    look: dict[str, Any] = {"default": next(iter(sets)), "required": True, "format_func": escape}
    name = lasting(left.segmented_control, say("Data set"), f"{page}.set:{data.token}", [*sets], **look)
    data = sets[name]
    count = int(lasting(right.number_input, say("Repeats"), f"{page}.repeats", 1, 20, REPEATS))
    titles = {each.title: each for each in of_paper(paper)}
    figure = titles[one_of(say("Figure"), f"{page}.figure", {each: say(each) for each in titles})]
    with st.popover(say("What the paper prints")):
        st.markdown(retold(figure.source_says))
        st.caption(source(OWN[paper]))
    if missing := figure.lacks(data):
        st.info(say("No such figure of {data}: {missing}", data=escape(data.name), missing=retold(missing)))
        return
    name = f"{page}.{figure.key}"
    about = say("Every run is charged. Finished runs are kept if you cancel.")
    unproved.button(say("Make this figure"), name, "go", data, icon=":material/play_arrow:", help=about)
    what = hash((figure.key, data.token, data.schema.to_json()))
    made = session.keep_once(f"dpcore.figure:{page}:{what}", FigureRuns)
    jobs.run(phrase("Making releases"), name, partial(make, made, session.spending(), figure, data, count))
    if made.frames:
        if made.share < 1 and not session.is_waiting(name):
            text = phrase("Stopped before it was finished: {runs:,} runs are drawn, and points have fewer of them.")
            st.warning(say(text, runs=len(made.frames)))
        show_failures(made.frames)
        draw(paper, figure, pd.concat(made.frames, ignore_index=True))


def make(made: FigureRuns, spending: Spending, figure: Figure, data: Dataset, repeats: int, progress: Progress) -> None:
    """Make a figure; what is finished replaces earlier runs, and is kept if somebody cancels."""
    frames: list[pd.DataFrame] = []
    notes: dict[Any, Ledger] = {}

    def within(part: float, text: str = "") -> None:
        progress(part, f"{len(frames):,} done{text and '; '}{text}")

    ledgers = ledgers_in_file(spending.books, data, figure.title)
    stream = figure.stream(data, repeats, ledgers=ledgers, n_jobs=-1, progress=within)
    with closing(stream) as found:
        for part, frame in found:
            frames.append(frame)
            made.frames, made.share = frames, part
            purpose = f"{figure.title}: {frame['series'].iloc[0]}, {frame['mode'].iloc[0]}"
            record_run(spending, notes, data, purpose, frame)
            within(part)


def draw(paper: str, figure: Figure, frame: pd.DataFrame) -> None:
    """The figure's charts, after what is to be chosen of them, and what came of the paper's claims."""
    areas = st.columns(max(len(figure.choices), 1))
    chosen = {
        name: one_of(say(one["label"]), f"{name}.{paper}", one["options"], area)
        for area, (name, one) in zip(areas, figure.choices.items(), strict=False)
    }
    for part in figure.pictures(frame, **chosen):
        if isinstance(part, str):
            st.caption(escape(part))
        else:
            panels.chart(part[0], data=part[1])
    for line in figure.verdicts(frame):  # read off all points, whatever is chosen of them
        st.markdown(f":material/fact_check: {escape(line)} ({say(REAL_DATA)})")


def read_published(paper: str) -> dict[str, Dataset]:
    """The published data sets of a paper that are here without asking the network, read once."""
    found = {}
    for name in filter(hosting.offers, SETS.get(paper, PUBLISHED)):
        with suppress(DataError):
            found[name] = session.keep_once(f"dpcore.published:{name}", partial(datasets.load, name))
    return found


def redraws(page: str, shown: ShownRelease) -> None:
    """20 more runs of the release's method, as dots."""
    (classifier if isinstance(shown.release.artifact, Model) else redraw).redraws(page, shown)

"""Reproduced figures of a paper, with a button, progress and repeats, beside the printed numbers.

Finished runs are kept after a cancellation. Every run is charged before its noise is drawn.
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
from dpcore.dashboard import hosting, jobs, panels, session, void_guarantee
from dpcore.dashboard.panels import classifier, redraw
from dpcore.dashboard.run_records import record_run, show_failures
from dpcore.dashboard.session import ShownRelease, Spending
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import lasting, segmented_choice
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
SETS = {"004": (*datasets.BANK_CARDS, "adult")}  # data of papers on other data


@dataclass
class FigureRuns:
    """The finished runs of a figure, and their share of all its runs."""

    frames: list[pd.DataFrame] = field(default_factory=list)
    share: float = 0.0


def draw_figures(page: str, data: Dataset, paper: str) -> None:
    """Draw the figures of one paper, on one of its data sets or on the data in use.

    `paper` is the number of the paper, such as "000". `page` is the beginning of all widgets' keys.
    """
    own = {data.name: data} if data.in_memory else {}
    sets = own | read_published(paper) | own
    if not own:
        st.info(say("The rows in use are in a folder. Figures need rows in memory: choose other data."))
    if not sets:
        return
    left, right = st.columns([3, 1], gap="large")
    style: dict[str, Any] = {"default": next(iter(sets)), "required": True, "format_func": escape}
    name = lasting(left.segmented_control, say("Data set"), f"{page}.set:{data.token}", [*sets], **style)
    data = sets[name]
    count = int(lasting(right.number_input, say("Number of repeats"), f"{page}.repeats", 1, 20, REPEATS))
    titles = {each.title: each for each in of_paper(paper)}
    figure = titles[segmented_choice(say("Paper’s figure"), f"{page}.figure", {each: say(each) for each in titles})]
    with st.popover(say("What the paper prints")):
        st.markdown(retold(figure.source_says))
        st.caption(source(OWN[paper]))
    if missing := figure.lacks(data):
        st.info(say("{data} does not fit this figure: {missing}", data=escape(data.name), missing=retold(missing)))
        return
    name = f"{page}.{figure.key}"
    about = say("Every run is charged to your budget. Finished runs are kept if you cancel.")
    void_guarantee.run_button(say("Make this figure"), name, "go", data, icon=":material/play_arrow:", help=about)
    what = hash((figure.key, data.token, data.schema.to_json()))
    made = session.keep_once(f"dpcore.figure:{page}:{what}", FigureRuns)
    jobs.run(phrase("Making releases"), name, partial(run_figure, made, session.spending(), figure, data, count))
    if made.frames:
        if made.share < 1 and not session.is_waiting(name):
            text = phrase("The figure was stopped: it shows only {runs:,} of its runs.")
            st.warning(say(text, runs=len(made.frames)))
        show_failures(made.frames)
        draw_figure(paper, figure, pd.concat(made.frames, ignore_index=True))


def run_figure(runs: FigureRuns, spending: Spending, figure: Figure, data: Dataset, n: int, progress: Progress) -> None:
    """Run a figure's methods, and store finished runs in `runs`, also after a cancellation.

    Each setting runs `n` times. The new runs replace earlier ones.
    """
    frames: list[pd.DataFrame] = []
    notes: dict[Any, Ledger] = {}

    def within(part: float, text: str = "") -> None:
        progress(part, f"{len(frames):,} done{text and '; '}{text}")

    ledgers = ledgers_in_file(spending.store, data, figure.title)
    with closing(figure.stream(data, n, ledgers=ledgers, n_jobs=-1, progress=within)) as found:
        for part, frame in found:
            frames.append(frame)
            runs.frames, runs.share = frames, part
            purpose = f"{figure.title}: {frame['series'].iloc[0]}, {frame['mode'].iloc[0]}"
            record_run(spending, notes, data, purpose, frame)
            within(part)


def draw_figure(paper: str, figure: Figure, frame: pd.DataFrame) -> None:
    """Draw a figure's charts, the choices among them, and the verdicts on the paper's claims.

    `frame` has the measures of all finished runs.
    """
    areas = st.columns(max(len(figure.choices), 1))
    chosen = {
        name: segmented_choice(say(one["label"]), f"{name}.{paper}", one["options"], area)
        for area, (name, one) in zip(areas, figure.choices.items(), strict=False)
    }
    for part in figure.pictures(frame, **chosen):
        if isinstance(part, str):
            st.caption(escape(part))
        else:
            panels.chart(part[0], data=part[1])
    for line in figure.verdicts(frame):  # computed from all points, whatever is chosen
        st.markdown(f":material/fact_check: {escape(line)} ({say(REAL_DATA)})")


def read_published(paper: str) -> dict[str, Dataset]:
    """Return a paper's data sets that are on this computer, each read once."""
    found = {}
    for name in filter(hosting.is_offered, SETS.get(paper, PUBLISHED)):
        with suppress(DataError):
            found[name] = session.keep_once(f"dpcore.published:{name}", partial(datasets.load, name))
    return found


def draw_redraws(page: str, shown: ShownRelease) -> None:
    """Draw the measures of a release beside those of 20 more runs of its method, as dots."""
    (classifier if isinstance(shown.release.artifact, Model) else redraw).draw_redraws(page, shown)

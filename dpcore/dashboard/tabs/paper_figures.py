"""Figures of a paper made again: each with its own button, progress, cancel, repeats, and what the paper printed.

What is finished is kept if somebody cancels, and every run is written down before it is drawn.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.accounting.ledger import Ledger
from dpcore.dashboard import jobs, panels, session
from dpcore.dashboard.sections.sweep_runs import note
from dpcore.dashboard.shell import escaped, mendable
from dpcore.dashboard.widgets import lasting
from dpcore.datasets import Dataset
from dpcore.errors import DataError
from dpcore.experiment.engine import NewLedger, Run
from dpcore.experiment.figures import of_paper
from dpcore.experiment.figures.base import Figure

PUBLISHED = ("adult", "big5")
SETS = {"004": (*datasets.BANK_CARDS, "adult")}  # of papers about other data than those


def figures(page: str, data: Dataset, paper: str, repeats: int = 3) -> None:
    """Figures of one paper, on data sets that are here, or on the data in use.

    `page` is what the keys of all widgets begin with; `repeats` is how often everything runs unless somebody says more.
    """
    names = list(dict.fromkeys([data.name, *filter(here, SETS.get(paper, PUBLISHED))]))
    left, right = st.columns([3, 1], gap="large")
    look: dict[str, Any] = {"default": names[:1], "selection_mode": "multi", "format_func": escaped}
    chosen = lasting(left.pills, "Data sets", f"{page}.sets:{data.token}", names, **look)
    count = int(lasting(right.number_input, "Repeats", f"{page}.repeats", 1, 20, repeats))
    if not chosen:
        st.info("Choose a data set.")
        return
    titles = {each.title: each for each in of_paper(paper)}
    figure = next(iter(titles.values()))
    if len(titles) > 1:
        figure = titles[choice(st, "Figure", {title: title for title in titles}, f"{page}.figure")]
    st.markdown(figure.printed)
    chosen_sets = []
    for one in (data if data.name == chosen_name else known(chosen_name) for chosen_name in chosen):
        if missing := figure.lacks(one):
            st.info(f"No such figure of {escaped(one.name)}: {missing}")
        else:
            chosen_sets.append(one)
    if not chosen_sets:
        return
    name = f"{page}.{figure.key}"
    about = "Every run is charged. Finished runs are kept if you cancel."
    jobs.button("Make this figure", name, "go", icon=":material/play_arrow:", help=about)
    what = hash((figure.key, *((each.token, each.schema.to_json()) for each in chosen_sets)))
    memory: list[pd.DataFrame] = st.session_state.setdefault(f"dpcore.figure:{page}:{what}", [])
    stopped = f"dpcore.figure stopped:{page}:{what}"
    if jobs.requested(name):
        with mendable(), jobs.cancellable("Making releases", name) as progress:
            memory.clear()
            st.session_state[stopped] = True  # until the last run is finished
            begun: dict[Any, Any] = {}  # lines of their own in the books of today
            for place, one in enumerate(chosen_sets):

                def within(part: float, text: str, place: int = place) -> None:
                    progress((place + part) / len(chosen_sets), f"{len(memory):,} done{text and '; '}{text}")

                ledgers = partial(ledger_of, begun, figure, one)
                for part, frame in figure.stream(one, count, ledgers=ledgers, n_jobs=-1, progress=within):
                    if figure.together:
                        note(begun, one, f"{figure.title}: {frame['series'].iloc[0]}, {frame['mode'].iloc[0]}", frame)
                    memory.append(frame)
                    if place + part >= len(chosen_sets):
                        st.session_state[stopped] = False
                    within(part, "")
    if memory and st.session_state.get(stopped):
        st.warning(f"Stopped before it was finished: {len(memory):,} runs are drawn, and points have fewer of them.")
    if memory:
        firsts = pd.concat([made.head(1) for made in memory])
        failed = firsts[firsts["error"] != ""]
        for (series, mode, error), runs_lost in failed.groupby(["series", "mode", "error"], sort=False):
            st.warning(f"{len(runs_lost):,} runs of {series}, {mode}, failed: {escaped(str(error))}")
        draw(paper, figure, pd.concat(memory, ignore_index=True))


def ledger_of(begun: dict[Any, Any], figure: Figure, data: Dataset, run: Run) -> NewLedger:
    """What makes the ledger of a run: one in the books for other processes, or a part of the session's account.

    `begun`: what this function began for the figure, and what `note` did.
    """
    method, relation = str(run.labels["method"]), str(run.method.relation)
    key = (data.token, relation, method)
    if figure.together:
        if key not in begun:
            begun[key] = session.open_runs({method: run.method}, data, figure.title)[method]
        opened: NewLedger = begun[key]
        return opened

    def part() -> Ledger:
        if key not in begun:
            begun[key] = session.account(data, relation, f"{figure.title}: {method.replace(' | ', ', ')}")
        account: Ledger = begun[key]
        return account

    return part


def draw(paper: str, figure: Figure, frame: pd.DataFrame) -> None:
    """The figure's charts, after what is to be chosen of them."""
    if not (frame["error"] == "").any():
        return
    places = st.columns(len(figure.choices)) if len(figure.choices) > 1 else [st]
    asked = zip(places, figure.choices.items(), strict=False)
    chosen = {name: choice(place, one.label, one.options, f"{name}.{paper}") for place, (name, one) in asked}
    for part in figure.pictures(frame, **chosen):
        if isinstance(part, str):
            st.caption(escaped(part))
        else:
            panels.chart(part[0], data=part[1])


def choice(place: Any, label: str, options: Mapping[str, str], key: str) -> str:
    """One of some options, by what people read, the first unless somebody chooses, in a place of the page."""
    how: dict[str, Any] = {"default": next(iter(options)), "required": True, "format_func": options.__getitem__}
    return str(lasting(place.segmented_control, label, key, list(options), **how))


def here(name: str) -> bool:
    """Whether a published data set can be read without asking the network."""
    try:
        return bool(known(name))
    except DataError:
        return False


def known(name: str) -> Dataset:
    """A published data set, read once per session."""
    read: dict[str, Dataset] = st.session_state.setdefault("dpcore.published", {})
    if name not in read:
        read[name] = datasets.load(name)
    return read[name]

"""Figures of a paper made again: each with its own button, progress, cancel, repeats, and what the paper printed.

What is finished is kept if somebody cancels, and every run is charged to the data set's account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.dashboard import repeats, runs, state
from dpcore.dashboard.frame import escaped, mendable
from dpcore.datasets import Dataset
from dpcore.errors import DataError
from dpcore.progress import Progress

__all__ = ["Figure", "figures"]


@dataclass(frozen=True)
class Figure:
    """One figure: what it is called, what the paper printed, its runs, and how they are drawn.

    `work` yields the fraction done and the rows of one finished run, which hold `series`, `mode`, `data`, `relation`,
    `epsilon`, `epsilon_claimed` and `epsilon_bound`.
    """

    key: str
    title: str
    printed: str
    work: Callable[[list[Dataset], int, Progress], Iterator[tuple[float, pd.DataFrame]]]
    draw: Callable[[pd.DataFrame], None]
    lacks: Callable[[Dataset], str]  # why there is no figure of these data, in a sentence; empty if there is one


def figures(page: str, data: Dataset, offered: Sequence[Figure]) -> None:
    """Figures of one paper, on the published data sets that are here, or on the data in use."""
    names = [name for name in ("adult", "big5") if here(name)]
    names = list(dict.fromkeys([data.name, *names]))
    left, right = st.columns([3, 1], gap="large")
    chosen = left.pills(
        "Data sets",
        names,
        default=names[:1],
        selection_mode="multi",
        key=f"{page}.sets:{data.sha256}",
        persist_state="session",
    )
    count = int(right.number_input("Repeats", 1, 20, 3, key=f"{page}.repeats", persist_state="session"))
    if not chosen:
        st.info("Choose a data set.")
        return
    title = st.segmented_control(
        "Figure",
        [figure.title for figure in offered],
        default=offered[0].title,
        required=True,
        key=f"{page}.figure",
        persist_state="session",
    )
    figure = next(figure for figure in offered if figure.title == title)
    st.markdown(figure.printed)
    sets = []
    for one in (data if data.name == chosen_name else known(chosen_name) for chosen_name in chosen):
        if missing := figure.lacks(one):
            st.info(f"No such figure of {escaped(one.name)}: {missing}")
        else:
            sets.append(one)
    if not sets:
        return
    name = f"{page}.{figure.key}"
    st.button("Make this figure", on_click=runs.request, args=(name,), key=f"{name}.go", icon=":material/play_arrow:")
    what = hash((figure.key, *((each.sha256, each.schema.to_json(), len(each.train)) for each in sets)))
    memory: list[pd.DataFrame] = st.session_state.setdefault(f"dpcore.figure:{page}:{what}", [])
    if runs.requested(name):
        with mendable(), runs.cancellable("Making releases", name) as progress:
            memory.clear()

            def within(fraction: float, text: str) -> None:
                progress(fraction, f"{len(memory):,} done; {text}")

            for fraction, frame in figure.work(sets, count, within):
                book(figure, sets, frame)
                memory.append(frame)
                progress(fraction, f"{len(memory):,} done")
    if memory:
        frame = pd.concat(memory, ignore_index=True)
        failed = frame[frame["error"] != ""].drop_duplicates(["series", "mode", "data", "epsilon", "repeat"])
        for (series, mode, error), runs_lost in failed.groupby(["series", "mode", "error"], sort=False):
            st.warning(f"{len(runs_lost):,} runs of {series}, {mode}, failed: {escaped(str(error))}")
        if len(frame := frame[frame["error"] == ""]):
            figure.draw(frame)


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


def book(figure: Figure, sets: list[Dataset], frame: pd.DataFrame) -> None:
    """Charge one finished run to its data set's account."""
    run = frame.iloc[0]
    data = next(each for each in sets if each.name == run["data"])
    books = st.session_state.setdefault("dpcore.figure accounts", {})
    key = (figure.key, data.sha256, run["relation"], run["series"], run["mode"])
    if key not in books:
        books[key] = state.account(data, run["relation"], f"{figure.title}: {run['series']}, {run['mode']}")
    repeats.book(books[key], frame)

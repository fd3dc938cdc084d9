"""Figures of a paper made again: each with its own button, progress, cancel, repeats, and what the paper printed.

What is finished is kept if somebody cancels, and every run is written down before it is drawn.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import datasets, evaluate, experiment
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, session
from dpcore.dashboard.shell import escaped, mendable
from dpcore.datasets import Dataset
from dpcore.errors import DataError
from dpcore.methods.base import PrivateEstimator, Synthesizer

MODES = {"paper": "as printed", "corrected": "corrected"}
PUBLISHED = ("adult", "big5")
REFERENCES = ["trained on real rows", "majority class"]


@dataclass(frozen=True)
class Figure:
    """One figure: what it is called, what the paper printed, its runs, and how they are drawn.

    `work` yields the fraction done and the rows of one finished run, which hold `series`, `mode`, `data`, `relation`,
    `epsilon`, `repeat`, `epsilon_claimed` and `epsilon_bound`, and `error`: why a run failed, or "". One that did needs
    no more columns. It charges its fits to `ledger_of`, or is made by `swept`.
    """

    key: str
    title: str
    printed: str
    work: Callable[[list[Dataset], int, Progress], Iterator[tuple[float, pd.DataFrame]]]
    draw: Callable[[pd.DataFrame], None]
    lacks: Callable[[Dataset], str]  # why there is no figure of these data, in a sentence; empty if there is one


def figures(
    page: str, data: Dataset, offered: Sequence[Figure], repeats: int = 3, sets: Sequence[str] = PUBLISHED
) -> None:
    """Figures of one paper, on data sets that are here, or on the data in use.

    `page` is what the keys of all widgets begin with; `repeats` is how often everything runs unless somebody says more.
    """
    names = [name for name in sets if here(name)]
    names = list(dict.fromkeys([data.name, *names]))
    left, right = st.columns([3, 1], gap="large")
    chosen = left.pills(
        "Data sets",
        names,
        default=names[:1],
        selection_mode="multi",
        format_func=escaped,
        key=f"{page}.sets:{data.token}",
        persist_state="session",
    )
    count = int(right.number_input("Repeats", 1, 20, repeats, key=f"{page}.repeats", persist_state="session"))
    if not chosen:
        st.info("Choose a data set.")
        return
    figure = offered[0]
    if len(offered) > 1:
        titles = {each.title: each for each in offered}
        figure = titles[
            st.segmented_control(
                "Figure",
                list(titles),
                default=figure.title,
                required=True,
                key=f"{page}.figure",
                persist_state="session",
            )
        ]
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
    jobs.button(
        "Make this figure",
        name,
        key=f"{name}.go",
        icon=":material/play_arrow:",
        help="Every run is charged. Finished runs are kept if you cancel.",
    )
    what = hash((figure.key, *((each.token, each.schema.to_json()) for each in chosen_sets)))
    memory: list[pd.DataFrame] = st.session_state.setdefault(f"dpcore.figure:{page}:{what}", [])
    stopped = f"dpcore.figure stopped:{page}:{what}"
    if jobs.requested(name):
        with mendable(), jobs.cancellable("Making releases", name) as progress:
            memory.clear()
            st.session_state[stopped] = True  # until the last run is finished
            st.session_state["dpcore.figure"] = figure.title
            st.session_state["dpcore.figure accounts"] = {}  # a line of their own in the books of today

            def within(fraction: float, text: str) -> None:
                progress(fraction, f"{len(memory):,} done; {text}")

            for fraction, frame in figure.work(chosen_sets, count, within):
                memory.append(frame)
                if fraction >= 1:
                    st.session_state[stopped] = False
                progress(fraction, f"{len(memory):,} done")
    if memory and st.session_state.get(stopped):
        st.warning(f"Stopped before it was finished: {len(memory):,} runs are drawn, and points have fewer of them.")
    if memory:
        frame = pd.concat(memory, ignore_index=True)
        firsts = pd.concat([made.head(1) for made in memory])
        failed = firsts[firsts["error"] != ""]
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


def ledger_of(method: PrivateEstimator, data: Dataset, series: str, mode: str) -> Ledger:
    """The account of one series of the figure that is being made, for its fits to charge."""
    return part_of(data, method.relation, series, mode, session.account)


def part_of(
    data: Dataset, relation: str, series: str, mode: str, begin: Callable[[Dataset, str, str], Ledger]
) -> Ledger:
    """One part of the data's account per figure, series and mode."""
    title = st.session_state.get("dpcore.figure", "A figure")
    parts = st.session_state.setdefault("dpcore.figure accounts", {})
    key = (title, data.token, relation, series, mode)
    if key not in parts:
        parts[key] = begin(data, relation, f"{title}: {series}, {mode}")
    part: Ledger = parts[key]
    return part


def noted(data: Dataset, frame: pd.DataFrame) -> None:
    """List a run that another process made and wrote down; one that failed shows nobody anything."""
    run = frame.iloc[0]
    if run["error"]:
        return
    part = part_of(data, run["relation"], run["series"], run["mode"], session.note)
    part.charge(experiment.entry_of(frame))


def swept(
    methods: Mapping[tuple[str, str], Synthesizer], data: Dataset, **asked: Any
) -> Iterator[tuple[float, pd.DataFrame]]:
    """`experiment.stream` of methods by series and mode, as a figure's work yields it."""
    named = {" | ".join(key): method for key, method in methods.items()}
    ledgers = session.open_runs(named, data, st.session_state["dpcore.figure"])
    for part, frame in experiment.stream(named, data, ledgers=ledgers, **asked):
        series, mode = frame["method"].iloc[0].split(" | ")
        made = frame.drop(columns="method").assign(series=series, mode=mode, data=data.name)
        noted(data, made)
        yield part, made


def beside_real(
    methods: Mapping[tuple[str, str], Synthesizer],
    data: Dataset,
    progress: Progress,
    *,
    models: Sequence[str],
    **asked: Any,
) -> Iterator[tuple[float, pd.DataFrame]]:
    """`swept` accuracies, beside what real rows teach the same classifiers and what knowing nothing scores."""
    progress(0.0, f"learning from the real rows of {data.name}")
    real = evaluate.real_ceiling(data.train, data.test, data.schema, data.schema.target or "", models=models)
    scores = real.set_index("model")["accuracy"]
    for part, frame in swept(methods, data, models=models, **asked):
        beside = dict(zip(REFERENCES, (frame["model"].map(scores), scores["majority class"]), strict=True))
        yield part, frame.assign(**beside)


def reference_lines(frame: pd.DataFrame) -> pd.DataFrame:
    """What `beside_real` found of the real rows, as references of a chart: `model`, `label`, `value`."""
    return frame[["model", *REFERENCES]].drop_duplicates().melt("model", var_name="label")


def lacks_accuracy(data: Dataset) -> str:
    """Why no classifier can be tested."""
    target = data.schema.target
    if target is None or data.schema[target].numeric or data.test.empty:
        return "it needs a class column with categories, and test rows. Choose them on the page Data & schema."
    return ""

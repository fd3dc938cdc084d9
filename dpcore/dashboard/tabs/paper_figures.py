"""Figures of a paper made again: each with its own button, progress, cancel, repeats, and what the paper printed.

What is finished is kept if somebody cancels, and every run is written down before it is drawn.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, datasets, evaluate, experiment
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, panels, session
from dpcore.dashboard.shell import escaped, mendable
from dpcore.dashboard.widgets import lasting
from dpcore.datasets import Dataset
from dpcore.errors import DataError, DPCoreError
from dpcore.evaluate.learners import MAJORITY
from dpcore.methods.base import PrivateClassifier, PrivateEstimator, Synthesizer

MODES = {"paper": "as printed", "corrected": "corrected"}
PUBLISHED = ("adult", "big5")
REFERENCES = ["trained on real rows", "majority class"]
WIDE = 350  # pixels; two panels with their axes fill a laptop's page
Made = Iterator[tuple[float, pd.DataFrame]]
"""The fraction done and the rows of one finished run, with its series, and `error`: why it failed, or ""."""
Named = Sequence[tuple[str, PrivateEstimator]]
"""Methods by the names of their series; those of one series differ in their mode."""


@dataclass(frozen=True)
class Figure:
    """One figure: what it is called, what the paper printed, its runs, and how they are drawn.

    `work` makes all runs on one data set, by `swept` or `measured`: the fraction done and the rows of one finished run,
    which hold `series`, `mode`, `data`, `relation`, `epsilon`, `repeat`, `epsilon_claimed` and `epsilon_bound`, and
    `error`: why a run failed, or "". One that did needs no more columns.
    """

    key: str
    title: str
    printed: str
    work: Callable[[Dataset, int, Progress], Made]
    draw: Callable[[pd.DataFrame], None]
    lacks: Callable[[Dataset], str]  # why there is no figure of these data, in a sentence; empty if there is one


def figures(
    page: str, data: Dataset, offered: Sequence[Figure], repeats: int = 3, sets: Sequence[str] = PUBLISHED
) -> None:
    """Figures of one paper, on data sets that are here, or on the data in use.

    `page` is what the keys of all widgets begin with; `repeats` is how often everything runs unless somebody says more.
    """
    names = list(dict.fromkeys([data.name, *filter(here, sets)]))
    left, right = st.columns([3, 1], gap="large")
    look: dict[str, Any] = {"default": names[:1], "selection_mode": "multi", "format_func": escaped}
    chosen = lasting(left.pills, "Data sets", f"{page}.sets:{data.token}", names, **look)
    count = int(lasting(right.number_input, "Repeats", f"{page}.repeats", 1, 20, repeats))
    if not chosen:
        st.info("Choose a data set.")
        return
    figure = offered[0]
    if len(offered) > 1:
        titles = {each.title: each for each in offered}
        figure = titles[choice(st, "Figure", list(titles), f"{page}.figure")]
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
    jobs.button("Make this figure", name, f"{name}.go", icon=":material/play_arrow:", help=about)
    what = hash((figure.key, *((each.token, each.schema.to_json()) for each in chosen_sets)))
    memory: list[pd.DataFrame] = st.session_state.setdefault(f"dpcore.figure:{page}:{what}", [])
    stopped = f"dpcore.figure stopped:{page}:{what}"
    if jobs.requested(name):
        with mendable(), jobs.cancellable("Making releases", name) as progress:
            memory.clear()
            st.session_state[stopped] = True  # until the last run is finished
            st.session_state["dpcore.figure"] = figure.title
            st.session_state["dpcore.figure accounts"] = {}  # a line of their own in the books of today
            for place, one in enumerate(chosen_sets):

                def within(part: float, text: str, place: int = place) -> None:
                    progress((place + part) / len(chosen_sets), f"{len(memory):,} done{text and '; '}{text}")

                for part, frame in figure.work(one, count, within):
                    memory.append(frame)
                    if place + part >= len(chosen_sets):
                        st.session_state[stopped] = False
                    within(part, "")
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


def choice(place: Any, label: str, options: Sequence[str], key: str, **more: Any) -> str:
    """One of some options, the first unless somebody chooses, in a place of the page."""
    return str(lasting(place.segmented_control, label, key, options, default=options[0], required=True, **more))


def curves(
    frame: pd.DataFrame,
    x: str,
    panel: str,
    title: str,
    *,
    beside: Sequence[str] = (),
    each: bool = False,
    data: pd.DataFrame | None = None,
    caption: str = "",
    **look: Any,
) -> None:
    """A chart of runs, or one for `each` data set, and the table behind it, which may have more; then a caption.

    `beside` are the columns of references; `look` is what `charts.curves` takes besides.
    """
    for name, part in frame.groupby("data", sort=False) if each else [("", frame)]:
        how: dict[str, Any] = {"y": "value", "mode": "mode", "columns": 2, "width": WIDE}
        how |= {"references": lines(part, panel, beside) if beside else None, **look}
        picture = charts.curves(part, x=x, panel=panel, title=f"{title}: {name}" if each else title, **how)
        panels.chart(charts.mark_real(picture), data=part if data is None else data)
    if caption:
        st.caption(caption)


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


def account(
    begin: Callable[[Dataset, str, str], Ledger], data: Dataset, relation: str, series: str, mode: str
) -> Ledger:
    """One part of the data's account, begun when it is first asked for, per figure that is made, series and mode."""
    title = st.session_state.get("dpcore.figure", "A figure")
    parts: dict[Any, Ledger] = st.session_state.setdefault("dpcore.figure accounts", {})
    key = (title, data.token, relation, series, mode)
    if key not in parts:
        parts[key] = begin(data, relation, f"{title}: {series}, {mode}")
    return parts[key]


def swept(methods: Named, data: Dataset, **asked: Any) -> Made:
    """`experiment.stream` of methods, as a figure's work yields it: other processes make the runs."""
    named: dict[str, Any] = {f"{series} | {MODES[method.mode]}": method for series, method in methods}
    ledgers = session.open_runs(named, data, st.session_state["dpcore.figure"])
    for part, frame in experiment.stream(named, data, ledgers=ledgers, **asked):
        series, mode = frame["method"].iloc[0].split(" | ")
        made = frame.drop(columns="method").assign(series=series, mode=mode, data=data.name)
        run = made.iloc[0]
        if not run["error"]:  # written down by its process already; a run that failed shows nobody anything
            account(session.note, data, run["relation"], series, mode).charge(experiment.entry_of(made))
        yield part, made


@dataclass(frozen=True)
class Run:
    """One run that is made here: its series and method, and the columns that tell it from others of the series."""

    series: str
    method: PrivateEstimator
    repeat: int
    place: Mapping[str, Any]


def measured(
    runs: Sequence[Run],
    data: Dataset,
    told: Callable[[Run], str],
    measure: Callable[[Run, Ledger, Progress], pd.DataFrame],
    progress: Progress,
) -> Made:
    """Runs one by one, each with its fit charged to the account of its series."""
    for done, run in enumerate(runs):

        def within(part: float, text: str, done: int = done) -> None:
            progress((done + part) / len(runs), text)

        within(0.0, told(run))
        mode, relation, error = MODES[run.method.mode], str(run.method.relation), ""
        try:
            found = measure(run, account(session.account, data, relation, run.series, mode), within)
        except DPCoreError as reason:
            found, error = pd.DataFrame(index=[0]), str(reason)
        shared = {**run.place, "series": run.series, "mode": mode, "data": data.name, "relation": relation}
        shared |= {"epsilon": run.method.epsilon, "repeat": run.repeat, "error": error}
        made = found.assign(**shared)
        yield (done + 1) / len(runs), made[[*shared, *made.columns.difference([*shared], sort=False)]]


def beside_real(
    methods: Sequence[tuple[str, Synthesizer]],
    data: Dataset,
    progress: Progress,
    *,
    models: Sequence[str],
    **asked: Any,
) -> Made:
    """`swept` accuracies, beside what real rows teach the same classifiers and what knowing nothing scores."""
    progress(0.0, f"learning from the real rows of {data.name}")
    real = evaluate.real_ceiling(data.train, data.test, data.schema, data.schema.target or "", models=models)
    scores = real.set_index("model")["accuracy"]
    for part, frame in swept(methods, data, models=models, **asked):
        beside = dict(zip(REFERENCES, (frame["model"].map(scores), scores["majority class"]), strict=True))
        yield part, frame.assign(**beside)


def beside_plain(found: Made, data: Dataset, plain: PrivateClassifier, labels: Mapping[str, str]) -> Made:
    """Runs of classifiers, beside the majority class and a plain method, under labels."""
    fitted = plain.fit(data.train, schema=data.schema)
    references = evaluate.references(data, [MAJORITY], plain=fitted.predict_proba)
    values = references.set_index(["reference", "metric"])["value"]
    for part, frame in found:
        if "metric" in frame:  # a run that failed has none
            frame = frame.assign(**{label: frame["metric"].map(values[name]) for label, name in labels.items()})
        yield part, frame


def lines(frame: pd.DataFrame, panel: str, labels: Sequence[str] = REFERENCES) -> pd.DataFrame:
    """References of runs as those of a chart: the panel's column, `label`, `value`."""
    return frame[[panel, *labels]].drop_duplicates(panel).melt(panel, var_name="label")


def lacks_accuracy(data: Dataset) -> str:
    """Why no classifier can be tested."""
    target = data.schema.target
    if target is None or data.schema[target].numeric or data.test.empty:
        return "it needs a class column with categories, and test rows. Choose them on the page Data & schema."
    return ""

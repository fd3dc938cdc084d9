"""What a figure of a paper is: its runs, what the paper printed, and how what came out is drawn."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from dpcore import charts, evaluate
from dpcore.arguments import Progress, no_progress
from dpcore.charts.base import Chart
from dpcore.datasets import Content, Dataset
from dpcore.errors import ParameterError
from dpcore.evaluate.baselines import PLAIN, REAL
from dpcore.evaluate.evaluator import Method
from dpcore.evaluate.learners import MAJORITY, again
from dpcore.experiment import engine
from dpcore.experiment.config import Config
from dpcore.experiment.engine import Measure, NewLedger, Run
from dpcore.experiment.figures.claims import PLACES, PRINTED, Claim
from dpcore.experiment.sweeps import Scores, plan_runs
from dpcore.language import phrase, say
from dpcore.methods.base import PrivateClassifier

MODES = {"published": PRINTED, "corrected": phrase("corrected")}
REFERENCES = {REAL: REAL, MAJORITY: MAJORITY}
ALL = "all rows"
WIDE = 350  # pixels; two panels with their axes fill a laptop's page
Beside = Callable[[], Callable[[pd.DataFrame], Mapping[str, Any]]]
"""Reads real rows once, and gives what then adds columns of references to every run's rows."""
Drawn = Iterator[str | tuple[Chart, pd.DataFrame | None]]
"""Charts with the tables behind them, and sentences between them."""
Named = Sequence[tuple[str, Method]]
"""Methods by the names of their series; those of one series differ in their mode."""


@dataclass(frozen=True)
class Plan:
    """All runs of a figure on one data set, what measures them, and what they stand beside."""

    runs: Sequence[Run]
    measure: Measure
    beside: Beside | None = None
    learning: str = "real rows"  # what the references learn from


@dataclass(frozen=True)
class Choice:
    """Something to choose of what is drawn: options, by what `draw` knows them, as people read them."""

    label: str
    options: Mapping[str, str]


def whole(data: Dataset) -> Dataset:
    """All rows of some data to learn from, as table 1 and figure 4 of paper 001 have it; in the same books.

    A public bound that is too small for them is doubled: their number would be private.
    """
    rows, bound = pd.concat([data.train_sample, data.test_sample], ignore_index=True), data.schema.max_rows
    while bound and bound < len(rows):
        bound *= 2
    schema = replace(data.schema, max_rows=bound)
    content = data.content or Content.of_rows(data.train_sample, data.test_sample)
    how: dict[str, Any] = {"token": f"{data.token} {ALL}", "schema": schema, "content": content}
    return replace(data, name=f"{data.name}, {ALL}", train=rows, test=data.test_sample.head(0), **how)


def lacks_accuracy(data: Dataset) -> str:
    """Why no classifier can be tested."""
    target = data.schema.target
    if target is None or data.schema[target].numeric or data.test_sample.empty:
        return phrase("it needs a class column with categories, and test rows. Choose them on the page Data.")
    return ""


@dataclass(frozen=True)
class Figure:
    """One figure. `draw` takes the runs that did not fail, and what is chosen, by the names of `choices`."""

    key: str
    title: str
    printed: str
    plan: Callable[[Dataset, int], Plan]
    draw: Callable[..., Drawn]
    # why these data have none, in a sentence; empty if they do
    lacks: Callable[[Dataset], str] = lacks_accuracy
    choices: Mapping[str, Choice] = field(default_factory=dict)
    claims: Sequence[Claim] = ()  # what the paper says of it
    together: bool = True  # whether runs may share the computer: not if they are timed

    def stream(
        self,
        data: Dataset,
        repeats: int,
        *,
        ledgers: Callable[[Run], NewLedger | None] = lambda _: None,
        n_jobs: int = -1,
        progress: Progress = no_progress,
    ) -> Generator[tuple[float, pd.DataFrame]]:
        """All runs on one data set as they finish: the fraction done, and the rows of one.

        They have `series`, `mode`, `data`, what the run was set to, what was measured, what it cost, and `error`.
        """
        made = self.plan(data, repeats)
        add = None
        if made.beside is not None:
            progress(0.0, f"learning from the {made.learning} of {data.name}")
            add = made.beside()
        how: dict[str, Any] = {"ledgers": ledgers, "n_jobs": n_jobs if self.together else 1, "progress": progress}
        with closing(engine.stream(made.runs, made.measure, **how)) as found:
            for done, (_, frame) in enumerate(found, 1):
                series, mode = frame["method"].iloc[0].split(" | ")
                frame = frame.drop(columns="method").assign(series=series, mode=mode, data=data.name)
                more = {} if not made.measure.rows else {"rows": made.measure.rows}
                yield done / len(made.runs), frame.assign(**add(frame) if add else {}, **more)

    def pictures(self, frame: pd.DataFrame, **chosen: str) -> Drawn:
        """What is drawn of all runs so far, marked as what reads real rows; what is not `chosen` is the first option.

        Series of which runs failed say so in their names.

        ParameterError if a choice or an option is not known.
        """
        firsts = {name: next(iter(choice.options)) for name, choice in self.choices.items()}
        for name, option in chosen.items():
            if option not in (known := self.choices[name].options if name in self.choices else {}):
                about = f"{name}: {', '.join(known)}" if known else ", ".join(firsts) or "nothing: there is one chart"
                raise ParameterError(f"There is no {name}={option!r} to choose of this figure.", f"Choose of {about}.")
        good = with_failures(frame)
        for part in self.draw(good, **firsts | chosen) if len(good) else ():
            yield part if isinstance(part, str) else (charts.mark_real(part[0]), part[1])

    def verdicts(self, frame: pd.DataFrame) -> Iterator[str]:
        """What the paper says of the figure, and whether it came out in these runs."""
        good = frame[frame["error"] == ""]
        yield from filter(None, (claim.line(good) for claim in self.claims if len(good)))


def with_failures(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that did not fail; of a series of which some did, as printed or corrected, its name says how many."""
    runs = frame.drop_duplicates(sorted({"data", "series", "mode", "repeat", "error", *PLACES} & set(frame)))
    told: dict[str, list[str]] = {}
    for (series, mode), own in runs.groupby(["series", "mode"], sort=False):
        if lost := int((own["error"] != "").sum()):
            told.setdefault(str(series), []).append(
                say("{mode}: {lost:,} of {runs:,} runs failed", mode=say(str(mode)), lost=lost, runs=len(own))
            )
    names = {series: f"{series} ({'; '.join(lost)})" for series, lost in told.items()}
    good = frame[frame["error"] == ""]
    return good.assign(**{name: good[name].replace(names) for name in {"series", "release"} & set(good)})


def labeled(series: str, method: Method) -> str:
    """By what a method's runs are known."""
    return f"{series} | {MODES[method.mode]}"


def by_label(methods: Named) -> dict[str, Method]:
    """Methods by what their runs are known by."""
    return {labeled(series, method): method for series, method in methods}


def alone(series: str, method: Method, repeat: int, told: str, **place: Any) -> Run:
    """A run of its own, of a method whose epsilon stands; `place` tells it from others of its series."""
    shared = {"method": labeled(series, method), "epsilon": method.epsilon, "repeat": repeat}
    return Run(again(method, repeat), {**place, **shared}, told)


def swept(
    methods: Named, data: Dataset, epsilons: Sequence[float], count: int, beside: Beside | None = None, **asked: Any
) -> Plan:
    """The runs of a sweep; `asked` is what `experiment.sweep` takes besides."""
    config = Config(by_label(methods), epsilons, count, **asked)
    return Plan(plan_runs(config.methods, epsilons, count), Scores.of(config, data), beside)


def beside(
    data: Dataset, labels: Mapping[str, str], *, models: Sequence[str] = (), plain: PrivateClassifier | None = None
) -> Beside:
    """Some of `evaluate.references`, by what the runs' columns call them; `plain`: what is fitted without noise."""

    def read() -> Callable[[pd.DataFrame], Mapping[str, Any]]:
        fitted = None if plain is None else plain.fit(data.train_sample, schema=data.schema).predict_proba
        kinds = [kind for kind in labels.values() if kind != PLAIN]
        found = evaluate.baselines(data, kinds, models=models, plain=fitted)
        values = found.set_index(["reference", "metric", "model"])["value"]

        def columns(frame: pd.DataFrame) -> Mapping[str, Any]:
            pairs = [*zip(frame["metric"], frame["model"], strict=True)]
            return {
                label: [values[kind, metric, model if kind == REAL else ""] for metric, model in pairs]
                for label, kind in labels.items()
            }

        return columns

    return read


def curves(
    frame: pd.DataFrame,
    x: str,
    panel: str,
    title: str,
    *,
    beside: Iterable[str] = (),
    each: bool = False,
    data: pd.DataFrame | None = None,
    caption: str = "",
    **look: Any,
) -> Drawn:
    """A chart of runs, or one for `each` data set, and the table behind it, which may have more; then a caption.

    `beside` are the columns of references; `look` is what `charts.curves` takes besides.
    """
    for name, part in frame.groupby("data", sort=False) if each else [("", frame)]:
        how: dict[str, Any] = {"y": "value", "mode": "mode", "columns": 2, "width": WIDE}
        how |= {"references": lines(part, panel, beside) if beside else None, **look}
        told = say("{title}: {name}", title=say(title), name=name) if each else say(title)
        yield (
            charts.curves(part, x=x, panel=panel, title=told, **how),
            (part if data is None else data),
        )
    if caption:
        yield caption


def lines(frame: pd.DataFrame, panel: str, labels: Iterable[str] = REFERENCES) -> pd.DataFrame:
    """References of runs as those of a chart: the panel's column, `label`, `value`."""
    return frame[[panel, *labels]].drop_duplicates(panel).melt(panel, var_name="label")

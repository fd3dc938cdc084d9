"""A figure of a paper: a sweep's settings, what the paper says, and its chart (`figures.toml`)."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from dpcore import charts, evaluate
from dpcore.arguments import Progress, no_progress
from dpcore.datasets import Dataset
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.errors import ParameterError
from dpcore.evaluate.evaluator import PLAIN, PROTOCOLS, REAL, Method
from dpcore.evaluate.learners import again
from dpcore.evaluate.reconstruction import boolean_data
from dpcore.experiment.figures.claims import AXES, PAPER, PATENT, PUBLISHED, Claim
from dpcore.experiment.figures.pictures import DRAWS, Drawn
from dpcore.experiment.figures.studies import ALL, KINDS, label_of
from dpcore.experiment.study import Run, Study
from dpcore.experiment.sweeps import Config, method_of
from dpcore.language import phrase, say
from dpcore.mechanisms.randomizers import RRPH, Warner

MODES = {"published": PUBLISHED, "corrected": phrase("corrected")}
NAMES = ("series", "method", "values")  # of a line of settings; all else are parameters
References = Callable[[pd.DataFrame], Mapping[str, Any]]
"""What adds columns of baselines to every run's rows."""


def has_classes(data: Dataset) -> bool:
    """Return whether the data have a class column with categories."""
    return data.schema.target is not None and not data.schema[data.schema.target].numeric


CHECKS: Mapping[str, Callable[[Dataset], bool]] = {
    "classifier": lambda data: has_classes(data) and not data.test_sample.empty,
    "class with categories": has_classes,
    "class and column": lambda data: data.schema.target is not None and len(data.schema) > 1,
    "three columns": lambda data: len(data.schema) > 2,
    "three levels": lambda data: max(Hierarchy.from_column(column).depth for column in data.schema) > 2,
    "100,000 rows": lambda data: len(data.train_sample) <= 100_000,
    "single rows": lambda data: data.schema.persons is None,
}


@dataclass(frozen=True)
class Figure:
    """One figure of a paper: its settings, its chart, and what the paper says of it.

    `source_says` is the paper's statement, `settings` are the runs to make, `needs` what data must
    have, `choices` what can be chosen of what is drawn, and `claims` the sentences that runs judge.
    `key` names the figure in links. See the head of `figures.toml`.
    """

    paper: str
    key: str
    title: str
    source_says: str
    settings: Mapping[str, Any]
    chart: Mapping[str, Any]
    needs: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)  # options as people read them
    claims: Sequence[Mapping[str, Any]] = ()  # what the paper says of it

    @property
    def name(self) -> str:
        """The paper's label of the figure, such as "001 Fig. 5"."""
        return f"{self.paper} {self.title.partition(':')[0]}"

    @property
    def baselines(self) -> dict[str, str]:
        """The baselines of the figure, by their labels in charts."""
        return {one["label"]: one["baseline"] for one in self.settings.get("beside", ())}

    def lacks(self, data: Dataset) -> str:
        """Return a sentence on why the figure cannot be made of these data; empty if it can."""
        return next((text for name, text in self.needs.items() if not CHECKS[name](data)), "")

    def runs(self, data: Dataset, repeats: int) -> list[Run]:
        """Return all runs on one data set: every method at every point, repeated `repeats` times."""
        made = self.settings
        name, values = data.name.removesuffix(f", {ALL}"), made.get("values", [None])
        values = made.get("values_of", {}).get(name, values)
        rows = data.schema.max_rows or made.get("rows")
        shared = made.get("parameters", {})
        points = [
            (shared | line, {"x": x, "depth": depth, "rows": rows})
            for line in made["methods"]
            for depth in made.get("depths", [None])
            for x in line.get("values", values)
        ]
        last = {"x": values[-1], "rows": rows}
        points += [(shared | line, last) for line in made.get("last", ())]
        return [self.run(*point, repeat) for repeat in range(repeats) for point in points]

    def run(self, line: Mapping[str, Any], point: Mapping[str, Any], repeat: int) -> Run:
        """Return the run of one method at one point of the axes.

        `line` has the method with its parameters and its series, as in `figures.toml`; `point` has
        the values of `x`, `depth` and `rows` that replace texts such as "{x}". `repeat` counts from
        0 and is added to the method's seed.
        """
        x, depth, axis = point["x"], point.get("depth"), self.settings.get("axis", "epsilon")
        series = line["series"] if depth is None else f"{line['series']}: depth {depth}"
        method = method_of_line(line, point)
        labels = {} if x is None else {axis: x}
        if axis == "x":
            labels["answer"] = float(answer_epsilon(line, x))
        labels |= {"method": f"{series} | {MODES[method.mode]}", "epsilon": method.epsilon, "repeat": repeat}
        return Run(again(method, repeat), labels, series if x is None else f"{series}, {axis} {x:,g}")

    def study(self, data: Dataset, repeats: int) -> Study:
        """Return the study that makes and scores the figure's runs on one data set."""
        made = self.settings
        data = boolean_data(data, data.schema.target or "") if made.get("bits") else data
        runs = self.runs(data, repeats)
        if "kind" in made:
            return KINDS[made["kind"]](data, runs)
        label = label_of(data)
        # as published, the SVM is tested on synthetic rows
        lost = [one for one in PROTOCOLS if not label or (PROTOCOLS[one] == "tstr" and data.test_sample.empty)]
        wanted = [name for name in made.get("measures", ["accuracy"]) if name not in lost]
        methods = {run.labels["method"]: run.method for run in runs}
        rows = data.schema.max_rows or made["rows"] if "rows" in made else None
        config = Config(methods, (), measures=wanted, models=made.get("models", evaluate.MODELS[:1]), label=label)
        return Study(data, runs, rows, config.pairs(data), label)

    def references(self, data: Dataset) -> References:
        """Return a function from a run's rows to the columns of baselines that belong to them.

        A baseline is, for example, the accuracy of a classifier trained on real rows. Real rows are
        read once, here.
        """
        models, plain = (self.settings.get(name, {}) for name in ("models", "plain"))
        fitted = None
        if plain:
            fitted = method_of_line(plain, {}).fit(data.train_sample, schema=data.schema).predict_proba
        kinds = [kind for kind in self.baselines.values() if kind != PLAIN]
        found = evaluate.baselines(data, kinds, models=[*models], plain=fitted)
        values = found.set_index(["reference", "metric", "model"])["value"]

        def columns(frame: pd.DataFrame) -> Mapping[str, Any]:
            """Return, by its label, the baseline's value for each row of the frame."""
            pairs = [*zip(frame["metric"], frame["model"], strict=True)]
            return {
                label: [values[kind, metric, model if kind == REAL else ""] for metric, model in pairs]
                for label, kind in self.baselines.items()
            }

        return columns

    def stream(
        self, data: Dataset, repeats: int, n_jobs: int = -1, progress: Progress = no_progress, **how: Any
    ) -> Generator[tuple[float, pd.DataFrame]]:
        """Make all runs on one data set; yield the fraction done and a run's rows, as runs finish.

        The rows have `series`, `mode`, `data`, the settings, the scores, the costs and `error`.
        `how` is passed to `Study.stream`.
        """
        study = self.study(data, repeats)
        if self.baselines:
            progress(0.0, f"learning from the real rows of {data.name}")
        add = self.references(study.data) if self.baselines else dict
        more = {"rows": study.rows} if study.rows else {}
        with closing(study.stream(n_jobs=n_jobs, progress=progress, **how)) as found:
            for done, (_, frame) in enumerate(found, 1):
                series, mode = frame["method"].iloc[0].split(" | ")
                frame = frame.drop(columns="method").assign(series=series, mode=mode, data=data.name)
                yield done / len(study.runs), frame.assign(**(add(frame) if self.baselines else {}), **more)

    def pictures(self, frame: pd.DataFrame, **chosen: str) -> Drawn:
        """Draw the runs made so far, with the mark that the charts show real rows.

        `frame` has the runs' rows. Of each of the figure's choices, the option in `chosen` is
        drawn, by default the first. The names of series with failed runs say so. ParameterError if
        a choice or an option is not known.
        """
        firsts = {name: next(iter(choice["options"])) for name, choice in self.choices.items()}
        for name, option in chosen.items():
            if option not in (known := self.choices.get(name, {}).get("options", {})):
                about = f"{name}: {', '.join(known)}" if known else ", ".join(firsts) or "nothing: there is one chart"
                raise ParameterError(f"There is no {name}={option!r} to choose of this figure.", f"Choose of {about}.")
        good = with_failures(frame)
        if len(good):
            draw = {"draw": "curves", **self.chart}
            found = DRAWS[draw.pop("draw")](good, self.baselines, **draw, **firsts | chosen)
            for part in found:
                yield part if isinstance(part, str) else (charts.mark_real(part[0]), part[1])

    def verdicts(self, frame: pd.DataFrame) -> Iterator[str]:
        """Yield a sentence for each claim: what the source says, and whether runs agree.

        `frame` has the runs' rows; failed runs are left out.
        """
        good, source = frame[frame["error"] == ""], PATENT if self.paper == "002" else PAPER
        yield from filter(None, (Claim(**claim).line(good, source) for claim in self.claims if len(good)))


def method_of_line(line: Mapping[str, Any], point: Mapping[str, Any]) -> Method:
    """Return the method that one line of a figure's settings describes, for one point of the axes.

    A parameter "{x}" is replaced by the point's value of x, and "none" by None; `line` and `point`
    are those of `Figure.run`.
    """
    words = {"none": None} | {f"{{{name}}}": value for name, value in point.items()}
    given = {name: value for name, value in line.items() if name not in NAMES}
    parameters = {name: words.get(str(value), value) for name, value in given.items()}
    return method_of({"method": line["method"], "parameters": parameters})


def answer_epsilon(line: Mapping[str, Any], x: float) -> Any:
    """Return the epsilon of one randomized answer with two values.

    `line` has the parameters of the method; `x` is the value of its p0 or theta, or else the
    epsilon.
    """
    if "p0" in line:
        return RRPH(p0=x).epsilon
    return Warner(p=x).epsilon if "theta" in line else x


def with_failures(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop the rows of failed runs, and add to names of series how many of their runs failed.

    `frame` has the runs' rows; the counts are given by mode.
    """
    runs = frame.drop_duplicates(sorted({"data", "series", "mode", "repeat", "error", *AXES} & set(frame)))
    counts = runs["error"].ne("").groupby([runs["series"], runs["mode"]], sort=False).agg(["sum", "size"])
    text: dict[str, list[str]] = {}
    for (series, mode), lost, count in counts[counts["sum"] > 0].itertuples():
        failed = say("{mode}: {lost:,} of {runs:,} runs failed", mode=say(mode), lost=lost, runs=count)
        text.setdefault(series, []).append(failed)
    names = {series: f"{series} ({'; '.join(lost)})" for series, lost in text.items()}
    good = frame[frame["error"] == ""]
    return good.assign(**{name: good[name].replace(names) for name in {"series", "release"} & set(good)})

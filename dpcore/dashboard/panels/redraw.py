"""Run-to-run variation: the release's method, run 20 more times. All runs are charged."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, panels, session, void_guarantee
from dpcore.dashboard.session import ShownRelease, Spending, remember
from dpcore.dashboard.widgets import markdown
from dpcore.errors import DPCoreError
from dpcore.evaluate.evaluator import FLOOR, Evaluator
from dpcore.evaluate.learners import MAJORITY, again
from dpcore.experiment.study import Run, Study
from dpcore.export.artifacts import Answers, Model, SyntheticRows
from dpcore.export.release import Release
from dpcore.language import phrase, say
from dpcore.methods.base import Synthesizer
from dpcore.text import limit

REDRAWS = 20
PURPOSE = phrase("{n} redraws of {method}")
DISTANCES = (phrase("1-way distance"), phrase("2-way distance"))
LEARNED = phrase("accuracy of logistic regression")


def draw_redraws(
    page: str,
    shown: ShownRelease,
    measure: Callable[[Synthesizer], pd.DataFrame] | None = None,
    draw: Callable[[pd.DataFrame], None] | None = None,
) -> None:
    """Draw the measures of a release beside those of 20 more runs, as dots.

    `measure` computes further measures of every fitted method. `draw` draws them from one frame of
    all runs, with a column `run`.
    """
    offer_redraws(page, shown, measure)
    if shown.redraws is None:
        return
    baseline = remember(shown, "beside redraws", partial(baseline_measures, shown))
    small = not isinstance(shown.release.artifact, Model)
    picture = charts.redraws(shown.redraws, references=baseline, small=small)
    panels.chart(charts.mark_real(picture), data=shown.redraws)
    panels.note_test_sample(shown)
    if shown.page_measures is not None and draw is not None:
        draw(shown.page_measures)


def offer_redraws(page: str, shown: ShownRelease, measure: Callable[[Any], pd.DataFrame] | None = None) -> None:
    """Draw the button that runs the release's method 20 more times, and the progress.

    The measures are stored with the release: `shown.redraws`, and those of `measure`.
    """
    markdown(
        "A release is one random draw. Draw {n} more with the same settings to see where yours lies. "
        "Each is charged to your budget. The most that all can cost together, in epsilon: **{bound}**.",
        n=REDRAWS,
        bound=limit(REDRAWS * shown.release.ledger.epsilon_bound),
    )
    name = f"{page}.redraws"
    made_of = replace(shown.data, schema=shown.release.schema)
    void_guarantee.run_button(say("Draw {n} more releases", n=REDRAWS), name, "go", made_of, icon=":material/casino:")
    shelf, spending = session.shown_releases(), session.spending()

    def work(progress: Progress) -> None:
        def wanted(fraction: float, text: str) -> None:
            if shelf.get(page) is not shown:  # another release was made
                raise jobs.CanceledError
            progress(fraction, text)

        run_redraws(shown, spending, wanted, measure)

    jobs.run(phrase("Drawing {n} more releases").format(n=REDRAWS), name, work)
    drawn = REDRAWS if shown.redraws is None else int(shown.redraws["run"].max())
    if drawn < REDRAWS and not session.is_waiting(name):
        st.info(say("Stopped after {drawn} of {n} runs. These runs were charged.", drawn=drawn, n=REDRAWS))


@dataclass
class RedrawStudy(Study):
    """Repeated runs of a release's method. The first failure ends all runs.

    `read` measures the synthetic rows or the fitted classifier of each run. `measure`, if given,
    computes further measures of the fitted method, which are collected in `frames`.
    """

    read: Callable[[Any], pd.DataFrame] = pd.DataFrame
    measure: Callable[[Any], pd.DataFrame] | None = None
    frames: list[pd.DataFrame] = field(default_factory=list)

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        """Return the measures of one finished run, with columns `metric` and `value`."""
        if self.measure is not None:
            self.frames.append(self.measure(run.method).assign(run=run.labels["run"]))
        return self.read(synthetic if self.rows else run.method)

    def failure_frame(self, run: Run, reason: DPCoreError) -> pd.DataFrame:
        """Raise the error of a failed run, which ends all runs."""
        raise reason


def run_redraws(
    shown: ShownRelease,
    spending: Spending,
    progress: Progress,
    measure: Callable[[Synthesizer], pd.DataFrame] | None = None,
) -> None:
    """Run the release's method 20 more times, and store all measures with the release.

    Every run is charged. `measure` computes further measures of each fitted method. After a
    cancellation, the finished runs are stored unless an earlier call finished more runs.
    """
    release, data = shown.release, replace(shown.data, schema=shown.release.schema)
    method = release.new_method()
    ledger = spending.open_ledger(data, method.relation, PURPOSE.format(n=REDRAWS, method=release.method), method.delta)
    made: Any = release.synthetic if isinstance(release.artifact, SyntheticRows) else release.artifact
    read = partial(release_measures, release, Evaluator(data))
    text = phrase("run {run:,} of {n:,}")
    runs = [Run(again(method, k), {"run": k}, text.format(run=k, n=REDRAWS)) for k in range(1, REDRAWS + 1)]
    rows = len(made) if isinstance(release.artifact, SyntheticRows) else 0
    study = RedrawStudy(data, runs, rows, read=read, measure=measure)
    frames = [read(made).assign(run=0)]
    most = 0 if shown.redraws is None else int(shown.redraws["run"].max())
    with closing(study.stream(ledgers=lambda _: lambda: ledger, progress=progress)) as found:
        for _, frame in found:
            frames.append(frame[["metric", "value", "run"]])
            if len(frames) > most:
                both = pd.concat(frames, ignore_index=True)
                shown.redraws = both.assign(chosen=both["run"] == 0)
                shown.page_measures = pd.concat(study.frames, ignore_index=True) if study.frames else None


def class_column(release: Release) -> str | None:
    """Return the class column that a release predicts, or None."""
    if isinstance(release.artifact, Model):
        return release.model.target
    return release.parameters.get("target") or release.schema.target


def release_measures(release: Release, real: Evaluator, made: Any) -> pd.DataFrame:
    """Return the measures of a release: a model's accuracies, or the distances of synthetic rows.

    `made` is what one run of the release's method made: a classifier, or synthetic rows. `real`
    evaluates it on the real rows. Rows also have the accuracy of a classifier that learns from
    them. Of statistics, the measures are their answers, by position. The columns are `metric` and
    `value`.
    """
    if isinstance(release.artifact, Answers):
        answers = made.answers if isinstance(made, Answers) else made.answers()
        return pd.DataFrame({"metric": answers.index.map(str), "value": answers["value"]})
    target, found = class_column(release), {}
    if isinstance(release.artifact, Model):
        judged = real.assess_model(made.predict_proba, release.model.target)
        found = {"accuracy": judged.accuracy, "balanced accuracy": judged.balanced_accuracy}
    else:
        codes = release.schema.encode(made)
        for k, name in enumerate(DISTANCES[: len(release.schema)], 1):
            found[name] = float(real.distances(codes, k, most=None)["avd"].mean())
        if target is not None and len(real.test):
            learned = real.train_and_test(codes, target, models=evaluate.MODELS[:1], include_real=False)
            found[LEARNED] = float(learned["accuracy"].iloc[0])
    return pd.DataFrame(found.items(), columns=["metric", "value"])


def baseline_measures(shown: ShownRelease) -> pd.DataFrame:
    """Return the measures of baselines: a fresh sample of the real rows, and the majority class."""
    release, found = shown.release, []
    target, models = class_column(release), isinstance(release.artifact, Model)
    for k, name in enumerate(() if models else DISTANCES[: len(release.schema)], 1):
        baseline = remember(shown, f"{k}-way", partial(panels.marginal_distances, shown, k))  # as on the tab Marginals
        line = {"metric": [name], "label": FLOOR, "value": baseline["floor"].mean()}
        found.append(pd.DataFrame(line))
    if target is not None and len(shown.data.test_sample):
        majority = evaluate.baselines(shown.data, [MAJORITY], target=target)
        majority = majority.rename(columns={"reference": "label"})
        found.append(majority if models else majority.replace({"metric": {"accuracy": LEARNED}}))
    return pd.concat(found)

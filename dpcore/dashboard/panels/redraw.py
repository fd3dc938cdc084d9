"""How much luck is in a release: the same method, run 20 more times. All of it is charged."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, panels, session, unproved
from dpcore.dashboard.session import ShownRelease, Spending, remember
from dpcore.dashboard.widgets import markdown
from dpcore.errors import DPCoreError
from dpcore.evaluate.evaluator import FLOOR, Evaluator
from dpcore.evaluate.learners import MAJORITY, again
from dpcore.experiment.study import Run, Study
from dpcore.export.artifacts import Model
from dpcore.export.release import Release
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.base import Synthesizer
from dpcore.text import limit

REDRAWS = 20
PURPOSE = phrase("{n} redraws of {method}")
DISTANCES = (phrase("1-way distance"), phrase("2-way distance"))
LEARNED = phrase("accuracy of logistic regression")


def redraws(
    page: str,
    shown: ShownRelease,
    look: Callable[[Synthesizer], pd.DataFrame] | None = None,
    draw: Callable[[pd.DataFrame], None] | None = None,
) -> None:
    """How much luck was in this release: 20 more, as dots.

    `look` measures something else on every fitted method, and `draw` shows it: the frames together,
    with a `run`.
    """
    markdown(
        "A release is one random draw. Draw {n} more with the same settings to see where yours lies. "
        "Each is charged to your budget. The most that all can cost together, in epsilon: **{bound}**.",
        n=REDRAWS,
        bound=limit(REDRAWS * shown.release.ledger.epsilon_bound),
    )
    name = f"{page}.redraws"
    made_of = replace(shown.data, schema=shown.release.schema)
    unproved.button(say("Draw {n} more", n=REDRAWS), name, "go", made_of, icon=":material/casino:")
    shelf, spending = session.shelf(), session.spending()

    def work(progress: Progress) -> None:
        def wanted(fraction: float, text: str) -> None:
            if shelf.get(page) is not shown:  # another release took its place
                raise jobs.CanceledError
            progress(fraction, text)

        draw_again(shown, spending, wanted, look)

    jobs.run(phrase("Drawing {n} more").format(n=REDRAWS), name, work)
    if shown.redraws is None:
        return
    if (drawn := int(shown.redraws["run"].max())) < REDRAWS and not session.is_waiting(name):
        st.info(say("Stopped after {drawn} of {n}. They were charged, and these are they.", drawn=drawn, n=REDRAWS))
    baseline = remember(shown, "beside redraws", partial(references, shown))
    small = not isinstance(shown.release.artifact, Model)
    picture = charts.redraws(shown.redraws, references=baseline, small=small)
    panels.chart(charts.mark_real(picture), data=shown.redraws)
    panels.of_test_rows(shown)
    if shown.looks is not None and draw is not None:
        draw(shown.looks)


@dataclass
class Redraw(Study):
    """Releases once more, by what `read` says and `look` sees; if one fails, nothing goes on."""

    read: Callable[[Any], pd.DataFrame] = pd.DataFrame
    look: Callable[[Any], pd.DataFrame] | None = None
    looks: list[pd.DataFrame] = field(default_factory=list)

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        """`metric` and `value`."""
        if self.look is not None:
            self.looks.append(self.look(run.method).assign(run=run.labels["run"]))
        return self.read(synthetic if self.rows else run.method)

    def lost(self, run: Run, reason: DPCoreError) -> pd.DataFrame:
        """Nothing is left to measure."""
        raise reason


def draw_again(
    shown: ShownRelease,
    spending: Spending,
    progress: Progress,
    look: Callable[[Synthesizer], pd.DataFrame] | None = None,
) -> None:
    """Keep what the release and fresh ones are measured by, and what `look` sees in the fresh ones.

    Each was paid for: if somebody stops this, what is drawn is kept, unless as many are there from
    before.
    """
    release, data = shown.release, replace(shown.data, schema=shown.release.schema)
    method = METHODS[release.method](**release.parameters).set_params(random_state=release.seed)
    ledger = spending.account(data, method.relation, PURPOSE.format(n=REDRAWS, method=release.method), method.delta)
    made: Any = release.model if isinstance(release.artifact, Model) else release.synthetic
    read = partial(scores, release, Evaluator(data))
    text = phrase("{run:,} of {n:,}")
    runs = [Run(again(method, k), {"run": k}, text.format(run=k, n=REDRAWS)) for k in range(1, REDRAWS + 1)]
    rows = 0 if isinstance(release.artifact, Model) else len(made)
    study = Redraw(data, runs, rows, read=read, look=look)
    frames = [read(made).assign(run=0)]
    most = 0 if shown.redraws is None else int(shown.redraws["run"].max())
    with closing(study.stream(ledgers=lambda _: lambda: ledger, progress=progress)) as found:
        for _, frame in found:
            frames.append(frame[["metric", "value", "run"]])
            if len(frames) > most:
                both = pd.concat(frames, ignore_index=True)
                shown.redraws = both.assign(chosen=both["run"] == 0)
                shown.looks = pd.concat(study.looks, ignore_index=True) if study.looks else None


def target_of(release: Release) -> str | None:
    """The class column that is predicted, if there is one."""
    if isinstance(release.artifact, Model):
        return release.model.target
    return release.parameters.get("target") or release.schema.target


def scores(release: Release, real: Evaluator, made: Any) -> pd.DataFrame:
    """A model's accuracies; or distances of rows, and the accuracy that they teach."""
    target, found = target_of(release), {}
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


def references(shown: ShownRelease) -> pd.DataFrame:
    """What redraws are seen beside: a fresh sample of the real rows, and the majority class."""
    release, found = shown.release, []
    target, models = target_of(release), isinstance(release.artifact, Model)
    for k, name in enumerate(() if models else DISTANCES[: len(release.schema)], 1):
        baseline = remember(
            shown, f"{k}-way", partial(panels.distances, shown, k)
        )  # as on the tabs of columns and pairs
        line = {"metric": [name], "label": FLOOR, "value": baseline["floor"].mean()}
        found.append(pd.DataFrame(line))
    if target is not None and len(shown.data.test_sample):
        majority = evaluate.baselines(shown.data, [MAJORITY], target=target)
        majority = majority.rename(columns={"reference": "label"})
        found.append(majority if models else majority.replace({"metric": {"accuracy": LEARNED}}))
    return pd.concat(found)

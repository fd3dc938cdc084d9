"""How much luck is in a release: the same method, run 20 more times. All of it is charged."""

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, panels, session, unproved
from dpcore.dashboard.session import Shown, Spending, remember
from dpcore.dashboard.widgets import markdown
from dpcore.errors import DPCoreError
from dpcore.evaluate.evaluator import Evaluator
from dpcore.evaluate.learners import MAJORITY, again
from dpcore.experiment import engine
from dpcore.experiment.engine import Measure, Run
from dpcore.export.model_file import Model
from dpcore.export.release import Release
from dpcore.language import phrase, say
from dpcore.methods import METHODS
from dpcore.methods.synthesizer import Synthesizer
from dpcore.text import number

REDRAWS = 20
PURPOSE = phrase("{n} redraws of {method}")
DISTANCE, LEARNED = "{}-way distance", phrase("accuracy of logistic regression")
DISTANCES = (phrase("1-way distance"), phrase("2-way distance"))  # as screens look them up


def redraws(
    page: str,
    shown: Shown,
    look: Callable[[Synthesizer], pd.DataFrame] | None = None,
    draw: Callable[[pd.DataFrame], None] | None = None,
) -> None:
    """How much luck was in this release: 20 more, as dots.

    `look` measures something else on every fitted method, and `draw` shows it: the frames together, with a `run`.
    """
    epsilon = shown.release.ledger.epsilon_bound
    price = say("together they can cost up to **{n} times epsilon {epsilon}**", n=REDRAWS, epsilon=number(epsilon))
    if math.isinf(epsilon):
        price = say("no epsilon can be proved for one of them, nor for all")
    markdown(
        "A release is one random draw. Draw {n} more with the same settings and see where yours lies. All of them "
        "together tell more than one: {price}, and each will be charged to your privacy budget.",
        n=REDRAWS,
        price=price,
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
    if shown.redraws is not None:
        if (drawn := int(shown.redraws["run"].max())) < REDRAWS:
            told = phrase("Stopped after {drawn} of {n}. They were charged, and these are they.")
            st.info(say(told, drawn=drawn, n=REDRAWS))
        beside = remember(shown, "beside redraws", lambda: references(shown))
        small = DISTANCE.format(1) in set(shown.redraws["metric"])
        picture = charts.redraws(shown.redraws, references=beside, small=small)
        panels.chart(charts.mark_real(picture), data=shown.redraws)
        panels.of_test_rows(shown)
    if shown.looks is not None and draw is not None:
        draw(shown.looks)


@dataclass
class Redraw(Measure):
    """Releases once more, by what `read` says of one and `look` sees in its method; if one fails, nothing goes on."""

    read: Callable[[Any], dict[str, float]] = dict
    look: Callable[[Any], pd.DataFrame] | None = None
    looks: list[pd.DataFrame] = field(default_factory=list)

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        """`metric` and `value`."""
        if self.look is not None:
            self.looks.append(self.look(run.method).assign(run=run.labels["run"]))
        return measured(self.read(synthetic if self.rows else run.method))

    def lost(self, run: Run, reason: DPCoreError) -> pd.DataFrame:
        """Nothing is left to measure."""
        raise reason


def measured(found: Mapping[str, float]) -> pd.DataFrame:
    """What was read off one release, as rows."""
    return pd.DataFrame(found.items(), columns=["metric", "value"])


def draw_again(
    shown: Shown,
    spending: Spending,
    progress: Progress,
    look: Callable[[Synthesizer], pd.DataFrame] | None = None,
) -> None:
    """Keep what the release and fresh ones are measured by, and what `look` sees in the fresh ones.

    Each was paid for: if somebody stops this, what is drawn is kept, unless as many are there from before.
    """
    release, data = shown.release, replace(shown.data, schema=shown.release.schema)
    method = METHODS[release.method](**release.parameters).set_params(random_state=release.seed)
    ledger = spending.account(data, method.relation, PURPOSE.format(n=REDRAWS, method=release.method), method.delta)
    models = isinstance(release.artifact, Model)
    made: Any = release.model if models else release.synthetic
    read = of_models(release, Evaluator(data)) if models else of_rows(release, Evaluator(data))
    measure = Redraw(data, 0 if models else len(made), read, look)
    told = phrase("{run:,} of {n:,}")
    runs = [Run(again(method, k), {"run": k}, told.format(run=k, n=REDRAWS)) for k in range(1, REDRAWS + 1)]
    frames = [measured(measure.read(made)).assign(run=0, chosen=True)]
    most = 0 if shown.redraws is None else int(shown.redraws["run"].max())
    try:
        with closing(engine.stream(runs, measure, ledgers=lambda _: lambda: ledger, progress=progress)) as found:
            for _, frame in found:
                frames.append(frame[["metric", "value", "run"]].assign(chosen=False))
    finally:
        if len(frames) > max(most, 1):
            shown.redraws = pd.concat(frames, ignore_index=True)
            shown.looks = pd.concat(measure.looks, ignore_index=True) if measure.looks else None


def references(shown: Shown) -> pd.DataFrame:
    """What redraws are seen beside: a fresh sample of the real rows, and always saying the most frequent class."""
    release = shown.release
    models, found = isinstance(release.artifact, Model), []
    for k in () if models else range(1, min(2, len(release.schema)) + 1):
        beside = remember(shown, f"{k}-way", partial(panels.distances, shown, k))  # as on the tabs of columns and pairs
        found.append((DISTANCE.format(k), phrase("a fresh sample of the real rows"), float(beside["floor"].mean())))
    target = release.model.target if models else release.parameters.get("target") or release.schema.target
    if target is not None and len(shown.data.test_sample):
        kept = evaluate.baselines(shown.data, [MAJORITY], target=target).set_index("metric")["value"]
        called = {name: name for name in kept.index} if models else {"accuracy": LEARNED}
        found += [(said, phrase("always the most frequent class"), kept[name]) for name, said in called.items()]
    return pd.DataFrame(found, columns=["metric", "label", "value"])


def of_rows(release: Release, real: Evaluator) -> Callable[[pd.DataFrame], dict[str, float]]:
    """Distances of synthetic rows, and the accuracy that they teach."""
    target = release.parameters.get("target") or release.schema.target

    def measure(synthetic: pd.DataFrame) -> dict[str, float]:
        codes = release.schema.encode(synthetic)
        degrees = range(1, min(2, len(release.schema)) + 1)
        found = {DISTANCE.format(k): float(real.distances(codes, k, most=None)["avd"].mean()) for k in degrees}
        if target is not None and len(real.test):
            scores = real.learned(codes, target, models=evaluate.MODELS[:1], include_real=False)
            found[LEARNED] = float(scores["accuracy"].iloc[0])
        return found

    return measure


def of_models(release: Release, real: Evaluator) -> Callable[[Any], dict[str, float]]:
    """Accuracies on the rows kept aside."""

    def measure(model: Any) -> dict[str, float]:
        found = real.judged(model.predict_proba, release.model.target)
        return {"accuracy": found.accuracy, "balanced accuracy": found.balanced_accuracy}

    return measure

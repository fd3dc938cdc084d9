"""How much luck is in a release: the same method, run 20 more times. All of it is charged."""

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st
from sklearn.base import clone

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.dashboard import jobs, panels, session
from dpcore.dashboard.session import Shown
from dpcore.datasets import Dataset
from dpcore.evaluate.evaluator import Evaluator
from dpcore.export.model_file import Model
from dpcore.export.release import Release
from dpcore.methods import METHODS
from dpcore.methods.base import Synthesizer
from dpcore.text import number

REDRAWS = 20


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
    price = f"together they cost **{REDRAWS} times epsilon {number(epsilon)}**"
    if math.isinf(epsilon):
        price = "no epsilon can be proved for one of them, nor for all"
    st.markdown(
        f"One release is one draw of luck. Draw {REDRAWS} more with the same settings and see where yours lies. "
        f"Anybody who saw them all would know more than from one: {price}, and the session's ledger is charged for it."
    )
    name = f"{page}.redraws"
    jobs.button(f"Draw {REDRAWS} more", name, f"{name}.go", icon=":material/casino:")
    if jobs.requested(name):
        with jobs.cancellable(f"Drawing {REDRAWS} more", name) as progress:
            draw_again(shown, progress, look)
    if shown.redraws is not None:
        if (drawn := int(shown.redraws["run"].max())) < REDRAWS:
            st.info(f"Stopped after {drawn} of {REDRAWS}. They were charged, and these are they.")
        panels.chart(charts.mark_real(charts.redraws(shown.redraws)), data=shown.redraws)
    if shown.looks is not None and draw is not None:
        draw(shown.looks)


def draw_again(shown: Shown, progress: Progress, look: Callable[[Synthesizer], pd.DataFrame] | None = None) -> None:
    """Keep what the release and fresh ones are measured by, and what `look` sees in the fresh ones.

    Each was paid for: if somebody stops this, what is drawn is kept, unless as many are there from before.
    """
    release, data = shown.release, shown.data
    method = METHODS[release.method](**release.parameters)
    ledger = session.account(data, method.relation, f"{REDRAWS} redraws of {release.method}")
    models = isinstance(release.artifact, Model)
    measure = of_models(release, data) if models else of_rows(release, data)
    rows: list[dict[str, Any]] = []
    looks: list[pd.DataFrame] = []
    most = 0 if shown.redraws is None else int(shown.redraws["run"].max())

    def note(run: int, made: Any) -> None:
        rows.extend({"metric": k, "value": v, "run": run, "chosen": run == 0} for k, v in measure(made).items())

    note(0, release.model if models else release.synthetic)
    for run in range(1, REDRAWS + 1):
        progress((run - 1) / REDRAWS, f"{run} of {REDRAWS}")
        fresh = clone(method)
        if release.seed is not None:
            fresh.set_params(random_state=release.seed + run)

        def inner(part: float, text: str, run: int = run) -> None:
            progress((run - 1 + part) / REDRAWS, f"{run} of {REDRAWS}: {text}")

        fresh.fit(data.train, schema=release.schema, ledger=ledger, progress=inner)
        note(run, fresh if models else fresh.sample(len(release.synthetic)))
        if look is not None:
            looks.append(look(fresh).assign(run=run))
        if run >= most:
            shown.redraws = pd.DataFrame(rows)
            shown.looks = pd.concat(looks, ignore_index=True) if looks else None
    progress(1.0, "done")


def of_rows(release: Release, data: Dataset) -> Callable[[pd.DataFrame], dict[str, float]]:
    """Distances of synthetic rows, and the accuracy that they teach."""
    schema, train, test = release.schema, release.schema.encode(data.train), release.schema.encode(data.test)
    target = release.parameters.get("target") or schema.target

    def measure(synthetic: pd.DataFrame) -> dict[str, float]:
        codes = schema.encode(synthetic)
        found = {
            f"{degree}-way distance": float(evaluate.marginal_avd(train, codes, schema, degree)["avd"].mean())
            for degree in (1, 2)
            if degree <= len(schema)
        }
        if target is not None and len(test):
            scores = evaluate.tstr(train, test, codes, schema, target, models=evaluate.MODELS[:1], include_real=False)
            found["accuracy of logistic regression"] = float(scores["accuracy"].iloc[0])
        return found

    return measure


def of_models(release: Release, data: Dataset) -> Callable[[Any], dict[str, float]]:
    """Accuracies on the rows kept aside."""
    evaluator = Evaluator(data)

    def measure(model: Any) -> dict[str, float]:
        found = evaluator.judged(model.predict_proba, release.model.target)
        return {"accuracy": found.accuracy, "balanced accuracy": found.balanced_accuracy}

    return measure

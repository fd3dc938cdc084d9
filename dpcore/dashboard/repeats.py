"""Panels that run a method many times: 20 redraws of one release, and the paper's figures. All of it is charged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from sklearn.base import clone

from dpcore import charts, evaluate, experiment
from dpcore.dashboard import forms, panels, runs, state
from dpcore.dashboard.frame import escaped, mendable
from dpcore.dashboard.state import Shown
from dpcore.datasets import Dataset
from dpcore.estimator import Synthesizer
from dpcore.ledger import Entry, Ledger, exact
from dpcore.methods import METHODS

__all__ = ["figures", "redraws"]

REDRAWS = 20
PANEL = 340  # pixels; two panels fill a laptop's page


def redraws(page: str, shown: Shown) -> None:
    """How much luck was in this release: 20 more, as dots."""
    epsilon = shown.release.ledger.epsilon_bound
    st.markdown(
        f"One release is one draw of luck. Draw {REDRAWS} more with the same settings and see where yours lies. "
        f"Anybody who saw them all would know more than from one: together they cost **{REDRAWS} times epsilon "
        f"{panels.number(epsilon)}**, and the session's ledger is charged for it."
    )
    name = f"{page}.redraws"
    st.button(f"Draw {REDRAWS} more", on_click=runs.request, args=(name,), key=f"{name}.go", icon=":material/casino:")
    if runs.requested(name):
        with runs.cancellable(f"Drawing {REDRAWS} more", name) as progress:
            shown.redraws = draw_again(shown, progress)
    if shown.redraws is not None:
        panels.chart(charts.mark_real(charts.redraws(shown.redraws)), data=shown.redraws)


def draw_again(shown: Shown, progress: Callable[[float, str], None]) -> pd.DataFrame:
    """Distances and accuracy of the release and of fresh ones."""
    release, data = shown.release, shown.data
    schema, train = release.schema, release.schema.encode(data.train)
    test = schema.encode(data.test)
    target = release.parameters.get("target") or schema.target
    method = METHODS[release.method](**release.parameters)
    ledger = state.account(data, method.relation, f"{REDRAWS} redraws of {release.method}")
    rows: list[dict[str, Any]] = []

    def measure(run: int, synthetic: pd.DataFrame) -> None:
        codes = schema.encode(synthetic)
        found = {
            f"{degree}-way distance": evaluate.marginal_avd_codes(train, codes, schema, degree)["avd"].mean()
            for degree in (1, 2)
            if degree <= len(schema)
        }
        if target is not None and len(test):
            scores = evaluate.tstr_codes(
                train, test, codes, schema, target, models=evaluate.MODELS[:1], include_real=False
            )
            found["accuracy of logistic regression"] = scores["accuracy"].iloc[0]
        rows.extend({"metric": k, "value": v, "run": run, "chosen": run == 0} for k, v in found.items())

    measure(0, release.synthetic)
    for run in range(1, REDRAWS + 1):
        progress((run - 1) / REDRAWS, f"{run} of {REDRAWS}")
        fresh = clone(method)
        if release.seed is not None:
            fresh.set_params(random_state=release.seed + run)

        def inner(part: float, text: str, run: int = run) -> None:
            progress((run - 1 + part) / REDRAWS, f"{run} of {REDRAWS}: {text}")

        fresh.fit(data.train, schema=schema, ledger=ledger, progress=inner)
        measure(run, fresh.sample(len(release.synthetic)))
    progress(1.0, "done")
    return pd.DataFrame(rows)


def figures(
    page: str,
    data: Dataset,
    methods: Mapping[str, Synthesizer],
    *,
    epsilons: Sequence[float],
    models: Sequence[str],
    printed: str,
    rows: int,
    landmarks: pd.DataFrame | None = None,
) -> None:
    """The paper's figures made again, printed and corrected on one chart, all with as many `rows`.

    `landmarks` are figures that the paper states, as references of `charts.sweep`.
    """
    name = f"{page}.figures"
    st.markdown(printed)
    relations = " and ".join(sorted({forms.RELATIONS[method.relation].lower() for method in methods.values()}))
    st.caption(f"Here on {escaped(data.name)}, {rows:,} synthetic rows per run; epsilon under: {relations}.")
    target = data.schema.target
    if target is None or data.schema[target].numeric or data.test.empty:
        st.info("The figures need a class column with categories and test rows. Choose them on the page Data & schema.")
        return
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    repeats = left.number_input("Repeats", 1, 20, 5, key=f"{name}.repeats", persist_state="session")
    right.button(
        f"Run {len(methods) * len(epsilons) * int(repeats):,} releases",
        on_click=runs.request,
        args=(name,),
        key=f"{name}.go",
        icon=":material/play_arrow:",
        help="About a minute for 5 repeats on a laptop. Finished runs are kept if you cancel.",
    )
    what = hash((data.sha256, data.schema.to_json(), len(data.train), str(methods)))
    memory: dict[str, Any] = st.session_state.setdefault(f"dpcore.figures:{page}:{what}", {})
    if runs.requested(name):
        with mendable(), runs.cancellable("Making releases", name) as progress:
            memory.clear()
            memory["runs"] = []
            memory["real"] = evaluate.real_ceiling(data.train, data.test, data.schema, target, models=models)
            ledgers = {
                label: state.account(data, method.relation, f"Figures: {label}") for label, method in methods.items()
            }
            for fraction, frame in experiment.stream(
                methods, data, epsilons=epsilons, repeats=int(repeats), models=models, rows=rows
            ):
                book(ledgers[frame["method"].iloc[0]], frame)
                memory["runs"].append(frame)
                progress(fraction, f"{len(memory['runs']):,} done")
    if memory.get("runs"):
        draw_figures(memory, landmarks)


def book(ledger: Ledger, frame: pd.DataFrame) -> None:
    """Charge one finished run of a sweep; runs that nobody gets to see are not kept either."""
    run = frame.iloc[0]
    if run["error"]:
        return
    ledger.charge(
        Entry(
            name=f"release at epsilon {run['epsilon']:g}",
            mechanism="release",
            epsilon_claimed=exact(float(run["epsilon_claimed"])),
            epsilon_bound=exact(float(run["epsilon_bound"])),
            sensitivity=np.nan,
            claimed_sensitivity=np.nan,
            scale=np.nan,
        )
    )


def draw_figures(memory: Mapping[str, Any], landmarks: pd.DataFrame | None) -> None:
    """Mean and variance of the accuracy, per run and against epsilon."""
    frame = experiment.tidy(memory["runs"])
    for failed in frame.loc[frame["error"] != "", "error"].unique():
        st.warning(f"Some runs failed: {escaped(failed)}")
    frame = frame[frame["error"] == ""].rename(columns={"method": "series"})
    real = memory["real"]
    majority = float(real.loc[real["model"] == "majority class", "accuracy"].iloc[0])
    ceilings = real[real["model"] != "majority class"]
    references = pd.DataFrame(
        [
            {"model": row.model, "label": label, "value": value}
            for row in ceilings.itertuples()
            for label, value in (("trained on real rows", row.accuracy), ("majority class", majority))
        ]
    )
    if landmarks is not None:
        references = pd.concat([references, landmarks], ignore_index=True)
    picture = charts.sweep(frame, y="value", y_title="accuracy on real test rows", references=references, width=PANEL)
    panels.chart(charts.mark_real(picture), data=frame)
    if frame.groupby(["series", "epsilon"])["repeat"].nunique().max() > 1:
        panels.chart(charts.mark_real(charts.sweep_variance(frame, width=PANEL)))
    best, cost = frame.drop_duplicates(["series", "epsilon", "repeat"]), []
    for series, part in best.groupby("series"):
        claimed, bound = part["epsilon_claimed"].sum(), part["epsilon_bound"].sum()
        cost.append(f"{escaped(str(series))}: claimed {panels.number(claimed)}, proved {panels.number(bound)}")
    st.caption(f"All these runs together cost epsilon, by method: {'; '.join(cost)}.")

"""The figures of paper 000: accuracy of what learned from synthetic rows, as printed and corrected."""

import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.dashboard import controls, panels
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.tabs.paper_figures import Figure, Made, beside_real, lacks_accuracy, lines
from dpcore.datasets import Dataset
from dpcore.methods import NaiveBayesSynthesizer

EPSILONS = tuple(round(0.1 * step, 1) for step in range(16))
MODELS = (evaluate.MODELS[0], evaluate.MODELS[2])
STATED = pd.DataFrame({"model": MODELS[:1], "label": "paper at 1.5: this or more", "value": 0.822})  # of Adult
ROWS = 10_000  # of a run, where nobody said how many people there are
PANEL = 340  # pixels; two panels fill a laptop's page


def accuracies(data: Dataset, count: int, progress: Progress) -> Made:
    """Accuracy of both modes against epsilon, beside what real rows teach and what knowing nothing scores."""
    rows = data.schema.max_rows or ROWS
    methods = [
        ("Algorithm 2", NaiveBayesSynthesizer(mode="paper", rows=rows)),
        ("C1-gen", NaiveBayesSynthesizer(x_source="model")),
    ]
    found = beside_real(methods, data, progress, models=MODELS, epsilons=EPSILONS, repeats=count, rows=rows)
    return ((part, frame.assign(rows=rows)) for part, frame in found)


def draw_accuracies(frame: pd.DataFrame) -> None:
    """Mean and variance of the accuracy against epsilon, per data set, and what all of it cost."""
    frame = frame.assign(series=frame["mode"] + " (" + frame["series"] + ")")
    frame = frame.sort_values(["series", "epsilon", "repeat", "model"])
    for name, part in frame.groupby("data", sort=False):
        relations = " and ".join(controls.RELATIONS[relation].lower() for relation in sorted(part["relation"].unique()))
        rows = part["rows"].iloc[0]
        st.caption(f"Here on {escaped(str(name))}, {rows:,} synthetic rows per run; epsilon under: {relations}.")
        beside = lines(part, "model")
        beside = pd.concat([beside, STATED], ignore_index=True) if name == "adult" else beside
        picture = charts.sweep(part, y="value", y_title="accuracy on real test rows", references=beside, width=PANEL)
        panels.chart(charts.mark_real(picture), data=part.drop(columns=["mode", "data", "error"]))
        if part.groupby(["series", "epsilon"])["repeat"].nunique().max() > 1:
            panels.chart(charts.mark_real(charts.sweep_variance(part, width=PANEL)))
        cost = []
        for series, runs in part.drop_duplicates(["series", "epsilon", "repeat"]).groupby("series"):
            claimed, bound = runs["epsilon_claimed"].sum(), runs["epsilon_bound"].sum()
            cost.append(f"{series}: claimed {panels.told(claimed)}, proved {panels.told(bound)}")
        st.caption(f"All these runs together cost epsilon, by method: {'; '.join(cost)}.")


FIGURES = (
    Figure(
        "figure_1",
        "Fig. 1 to 4: accuracy",
        "The paper (Fig. 1 to 4) trains two classifiers on the synthetic rows of Adult and prints mean and variance "
        "of their accuracy over 5 repeats. It states, for logistic regression: at epsilon 0 between 23.3 % and "
        "73.8 %, at epsilon 1.5 between 82.2 % and 83.6 %. Look at the corrected curve at a **tenth** of the epsilon. "
        f"A repeat is {2 * len(EPSILONS)} releases, each of as many rows as the data may have ({ROWS:,} where that is "
        "not known); 5 repeats take about a minute on a laptop.",
        accuracies,
        draw_accuracies,
        lacks_accuracy,
    ),
)

"""The figures of paper 003: what is run for each, and how it is drawn."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.arguments import Progress
from dpcore.dashboard import panels
from dpcore.dashboard.tabs.paper_figures import MODES, Figure, lacks_accuracy, swept
from dpcore.datasets import Dataset
from dpcore.evaluate import classification, learners
from dpcore.methods import DiffPRF, DiffPRFs, PlainForest
from dpcore.methods.base import PrivateEstimator

EPSILONS = {"depths": (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0), "forests": (0.1, 0.25, 0.5, 0.75, 1.0)}
DEPTHS = (3, 4, 5, 6, 7)
SCORES = {"Max": "Max", "InfoGain": "information gain"}
TREES, DEPTH = 25, 5
MEASURES = ("accuracy", "balanced accuracy")
WIDE = 350  # pixels; two panels with their axes fill a laptop's page


def depths(sets: list[Dataset], count: int, progress: Progress) -> Iterator[tuple[float, pd.DataFrame]]:
    """Figure 1: accuracy against epsilon, by depth, for two scores."""
    methods = {
        (f"{told}: depth {depth}", MODES[mode]): DiffPRFs(mode=mode, n_trees=TREES, max_depth=depth, criterion=score)
        for score, told in SCORES.items()
        for depth in DEPTHS
        for mode in MODES
    }
    for part, frame in compared(sets, count, progress, methods, EPSILONS["depths"]):
        score, _, depth = frame["series"].iloc[0].partition(": ")
        yield part, frame.assign(panel=f"Chosen by {score}", series=depth)


def forests(sets: list[Dataset], count: int, progress: Progress) -> Iterator[tuple[float, pd.DataFrame]]:
    """Figure 2: DiffPRFs beside DiffPRF and the forest without privacy."""
    methods: dict[tuple[str, str], PrivateEstimator] = {}
    for mode, told in MODES.items():
        methods["DiffPRFs", told] = DiffPRFs(mode=mode, n_trees=TREES, max_depth=DEPTH)
        methods["DiffPRF", told] = DiffPRF(mode=mode, n_trees=TREES, max_depth=DEPTH)
    methods["DiffPRFs, size by rule", MODES["corrected"]] = DiffPRFs()
    for part, frame in compared(sets, count, progress, methods, EPSILONS["forests"]):
        yield part, frame.assign(panel=frame["data"])


def compared(
    sets: list[Dataset], count: int, progress: Progress, methods: Any, epsilons: tuple[float, ...]
) -> Iterator[tuple[float, pd.DataFrame]]:
    """Both accuracies of all runs, with those of the majority class and of the forest without privacy."""
    for i, data in enumerate(sets):
        progress(i / len(sets), f"learning from the real rows of {data.name}")
        beside = references(data)
        for part, frame in swept(methods, data, epsilons=epsilons, repeats=count, measures=MEASURES):
            lines = {label: frame["metric"].map(values) for label, values in beside.items()}
            yield (i + part) / len(sets), frame.assign(**lines)


def references(data: Dataset) -> dict[str, dict[str, float]]:
    """The measures of the majority class and of a forest of 25 trees, 5 deep, without privacy."""
    target = data.schema.target or ""
    plain = PlainForest(n_trees=TREES, max_depth=DEPTH).fit(data.train, schema=data.schema)
    found = classification.references(data, target=target, plain=plain.predict_proba, n_trees=0).set_index("model")
    columns = dict(zip(MEASURES, ("accuracy", "balanced_accuracy"), strict=True))
    return {
        label: {measure: float(found[column].loc[model]) for measure, column in columns.items()}
        for label, model in LINES.items()
    }


LINES = {"majority class": learners.MAJORITY, "no privacy, depth 5": classification.PLAIN}


def draw(frame: pd.DataFrame) -> None:
    """A chart per data set."""
    view = st.segmented_control(
        "Measured by", MEASURES, default=MEASURES[0], required=True, key="view.003", persist_state="session"
    )
    for name, part in frame[frame["metric"] == view].groupby("data", sort=False):
        lines = part[["panel", *LINES]].drop_duplicates("panel").melt("panel", var_name="label")
        picture = charts.curves(
            part,
            x="epsilon",
            y="value",
            x_title="epsilon claimed",
            y_title=f"{view} on real test rows",
            panel="panel",
            mode="mode",
            references=lines,
            log_x=True,
            columns=2,
            width=WIDE,
            title=f"What forests learn: {name}",
        )
        panels.chart(charts.mark_real(picture), data=part)
    st.caption(
        "Dashed lines stand at the epsilon that the paper claims; as printed, DiffPRFs has none that can be proved. "
        "The paper names 45,222 training rows, which are Adult's training and test rows together. Here forests learn "
        "from the training rows only."
    )


FIGURES = (
    Figure(
        "depths",
        "Fig. 1: depth and score",
        "The paper prints curves without numbers, for 25 trees, and says: accuracy rises with epsilon, with a few "
        "fluctuations; it rises with depth; and the two scores are very much alike. That they are alike proves little: "
        "at epsilon 1, 25 trees of depth 5 leave 1/300 for each choice, and a choice with so little is a lot drawn. "
        f"A repeat is {len(SCORES) * len(DEPTHS) * len(MODES) * len(EPSILONS['depths'])} releases and takes a minute "
        "or two; finished ones are kept if you cancel.",
        depths,
        draw,
        lacks_accuracy,
    ),
    Figure(
        "forests",
        "Fig. 2: three forests",
        "The paper compares 25 trees of depth 5, again without numbers: DiffPRFs is said to lose “very little” against "
        "DiffPRF, whose numbers were given by its authors, and to need no bins; both stay below the forest without "
        "privacy. DiffPRF asks for one branch per value, and stops where a branch could be as small as the noise: with "
        "dozens of countries that is nearly at once, and it says the larger class. "
        "“Size by rule” is this project's: fewer trees, as many as the rows and epsilon can feed.",
        forests,
        draw,
        lacks_accuracy,
    ),
)

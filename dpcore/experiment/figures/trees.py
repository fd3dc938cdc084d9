"""The figures of paper 003: what is run for each, and how it is drawn."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from dpcore.datasets import Dataset
from dpcore.evaluate.baselines import PLAIN
from dpcore.evaluate.learners import MAJORITY
from dpcore.experiment.figures import base
from dpcore.experiment.figures.base import Drawn, Figure, Named, Plan
from dpcore.experiment.figures.claims import Cases, Claim, curves_rise, points, rising
from dpcore.language import phrase, say
from dpcore.methods import DiffPRF, DiffPRFs, NonPrivateForest

EPSILONS = {"depths": (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0), "forests": (0.1, 0.25, 0.5, 0.75, 1.0)}
DEPTHS = (3, 4, 5, 6, 7)
SCORES = {"Max": "Max", "InfoGain": "information gain"}
TREES, DEPTH = 25, 5
PAPER_FOREST: dict[str, Any] = {"criterion": "InfoGain", "children": "values"}
MEASURES = ("accuracy", "balanced accuracy")
NOISELESS = phrase("the paper's forest without noise, depth 5")
LINES = {"majority class": MAJORITY, NOISELESS: PLAIN}


def depths(data: Dataset, count: int) -> Plan:
    """Figure 1: accuracy against epsilon, by depth, for two scores."""
    methods: Named = [
        (f"{told}: depth {depth}", DiffPRFs(mode=mode, n_trees=TREES, max_depth=depth, criterion=score))
        for score, told in SCORES.items()
        for depth in DEPTHS
        for mode in base.MODES
    ]
    return compared(methods, data, count, "depths")


def forests(data: Dataset, count: int) -> Plan:
    """Figure 2: DiffPRFs beside DiffPRF and the forest without privacy."""
    kinds = {"DiffPRFs": DiffPRFs, "DiffPRF": DiffPRF}
    methods: Named = [
        (name, kind(mode=mode, n_trees=TREES, max_depth=DEPTH)) for mode in base.MODES for name, kind in kinds.items()
    ]
    return compared([*methods, (phrase("DiffPRFs, size by rule"), DiffPRFs())], data, count, "forests")


def compared(methods: Named, data: Dataset, count: int, figure: str) -> Plan:
    """Both accuracies of all runs, with those of the majority class and of a forest without privacy."""
    beside = base.beside(data, LINES, plain=NonPrivateForest(n_trees=TREES, max_depth=DEPTH, **PAPER_FOREST))
    return base.swept(methods, data, EPSILONS[figure], count, measures=MEASURES, beside=beside)


def draw_depths(frame: pd.DataFrame, view: str) -> Drawn:
    """A chart per data set, with a panel per score."""
    parts = frame["series"].str.partition(": ")
    chosen = [say("Chosen by {score}", score=say(score)) for score in parts[0]]
    depths = [say("depth {depth}", depth=told.removeprefix("depth ")) for told in parts[2]]
    yield from draw(frame.assign(panel=chosen, series=depths), "panel", view)


def draw(frame: pd.DataFrame, panel: str, view: str) -> Drawn:
    """A chart per data set."""
    return base.curves(
        frame[frame["metric"] == view],
        "epsilon",
        panel,
        phrase("What forests learn"),
        beside=LINES,
        each=True,
        x_title="epsilon claimed",
        y_title=say("{measure} on real test rows", measure=say(view)),
        log_x=True,
        caption="Dashed lines stand at the epsilon that the paper claims; as published, DiffPRFs has none that can be "
        "proved. The paper names 45,222 training rows, which are Adult's training and test rows together. Here forests "
        "learn from the training rows only.",
    )


ALIKE = 0.01  # of accuracy: "very little", "very much alike"
WITHIN = "(Within one point, in mean over what is drawn.)"


def accuracies(part: pd.DataFrame) -> pd.DataFrame:
    """The printed methods' points."""
    return points(part, "epsilon", metric="accuracy")


def by_depth(found: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Figure 1's points of each score, a column per depth."""
    for score in SCORES.values():
        columns = {depth: found.get(f"{score}: depth {depth}") for depth in DEPTHS}
        yield score, pd.DataFrame({depth: column for depth, column in columns.items() if column is not None})


def rises_with_depth(name: str, part: pd.DataFrame) -> Cases:
    """By data set, score and epsilon."""
    return {
        (f"{score} {name}".strip(), f"{epsilon:g}"): rising(curve)
        for score, depths in by_depth(accuracies(part))
        for epsilon, curve in depths.iterrows()
    }


def scores_alike(name: str, part: pd.DataFrame) -> Cases:
    """By data set and depth, on average over epsilon."""
    one, other = (depths for _, depths in by_depth(accuracies(part)))
    apart = {depth: (one[depth] - other[depth]).dropna().abs() for depth in sorted({*one} & {*other})}
    return {(name, f"depth {depth}"): bool(far.mean() < ALIKE) if len(far) else None for depth, far in apart.items()}


def little_lost(name: str, part: pd.DataFrame) -> Cases:
    """DiffPRFs beside DiffPRF, by data set and epsilon."""
    curves = accuracies(part).reindex(columns=["DiffPRF", "DiffPRFs"]).dropna()
    losses = curves["DiffPRF"] - curves["DiffPRFs"]
    return {(name, f"{epsilon:g}"): bool(lost < ALIKE) for epsilon, lost in losses.items()}


CHOICES = {"view": base.Choice(phrase("Measured by"), dict(zip(MEASURES, MEASURES, strict=True)))}
FIGURES = (
    Figure(
        "depths",
        phrase("Fig. 1: depth and score"),
        "The paper prints curves without numbers, for 25 trees, and says: accuracy rises with epsilon, with a few "
        "fluctuations; it rises with depth; and the two scores are very much alike. That they are alike proves little: "
        "at epsilon 1, 25 trees of depth 5 leave 1/300 for each choice, and a choice with so little is a lot drawn. "
        f"A repeat is {len(SCORES) * len(DEPTHS) * len(base.MODES) * len(EPSILONS['depths'])} releases and takes a "
        "minute or two; finished ones are kept if you cancel.",
        depths,
        draw_depths,
        choices=CHOICES,
        claims=(
            Claim("accuracy rises with epsilon", partial(curves_rise, x="epsilon", metric="accuracy")),
            Claim("accuracy rises with depth", rises_with_depth),
            Claim("the two scores are very much alike", scores_alike, WITHIN),
        ),
    ),
    Figure(
        "forests",
        phrase("Fig. 2: three forests"),
        "The paper compares 25 trees of depth 5, again without numbers: DiffPRFs is said to lose “very little” against "
        "DiffPRF, whose numbers were given by its authors, and to need no bins. How DiffPRF stops is not known. Here "
        "it does so as its trees, DiffP-ID3, do in Friedman and Schuster's paper: where a branch per value could be as "
        "small as the noise. With dozens of countries that is nearly at once, and it says the larger class; that is "
        "our reconstruction's, maybe not DiffPRF's. "
        "“Size by rule” is this project's: fewer trees, as many as the rows and epsilon can feed.",
        forests,
        partial(draw, panel="data"),
        choices=CHOICES,
        claims=(Claim("DiffPRFs loses very little against DiffPRF", little_lost, WITHIN),),
    ),
)

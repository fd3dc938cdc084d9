"""The figures of paper 000: accuracy of what learned from synthetic rows, as printed and corrected."""

import pandas as pd

from dpcore import charts, evaluate
from dpcore.accounting.relation import Relation
from dpcore.datasets import Dataset
from dpcore.experiment.figures import base
from dpcore.experiment.figures.base import Drawn, Figure, Named, Plan
from dpcore.experiment.figures.claims import PRINTED, Cases, Claim, points, rising
from dpcore.language import phrase, say
from dpcore.methods import NaiveBayesSynthesizer
from dpcore.text import claim, limit

EPSILONS = tuple(round(0.1 * step, 1) for step in range(16))
MODELS = (evaluate.MODELS[0], evaluate.MODELS[2])
# of Adult
STATED = pd.DataFrame({"model": MODELS[:1], "label": phrase("paper at 1.5: this or more"), "value": 0.822})
ROWS = 10_000  # of a run, where nobody said how many people there are
PANEL = 340  # pixels; two panels fill a laptop's page


def accuracies(data: Dataset, count: int) -> Plan:
    """Accuracy of both modes against epsilon, beside what real rows teach and what knowing nothing scores."""
    rows = data.schema.max_rows or ROWS
    methods: Named = [
        ("Algorithm 2", NaiveBayesSynthesizer(mode="published", rows=rows)),
        ("C1-gen", NaiveBayesSynthesizer(x_source="model")),
    ]

    return base.swept(
        methods, data, EPSILONS, count, base.beside(data, base.REFERENCES, models=MODELS), models=MODELS, rows=rows
    )


def draw_accuracies(frame: pd.DataFrame) -> Drawn:
    """Mean and variance of the accuracy against epsilon, per data set, and what all of it cost."""
    frame = frame.sort_values(["mode", "series", "epsilon", "repeat", "model"])
    names = zip(frame["mode"], frame["series"], strict=True)
    frame = frame.assign(series=[say("{mode} ({method})", mode=say(mode), method=series) for mode, series in names])
    for name, part in frame.groupby("data", sort=False):
        relations = say(" and ").join(say(Relation(relation).short) for relation in sorted(part["relation"].unique()))
        yield say(
            "Here on {name}, {rows:,} synthetic rows per run; epsilon under: {relations}.",
            name=name,
            rows=part["rows"].iloc[0],
            relations=relations,
        )
        beside = base.lines(part, "model")
        beside = pd.concat([beside, STATED], ignore_index=True) if name == "adult" else beside
        picture = charts.sweep(
            part, y="value", y_title=say("accuracy on real test rows"), references=beside, width=PANEL
        )
        yield picture, part.drop(columns=["mode", "data", "error"])
        if part.groupby(["series", "epsilon"])["repeat"].nunique().max() > 1:
            yield charts.sweep_variance(part, width=PANEL), None
        cost = []
        for series, runs in part.drop_duplicates(["series", "epsilon", "repeat"]).groupby("series", sort=False):
            claimed, bound = runs["epsilon_claimed"].sum(), runs["epsilon_bound"].sum()
            of = {"series": series, "claimed": claim(claimed), "most": limit(bound)}
            cost.append(say("{series}: claimed {claimed}, it can cost up to {most}", **of))
        yield say("Epsilon that all these runs together can cost, at most, by method: {costs}.", costs="; ".join(cost))


def between(epsilon: float, low: float, high: float) -> Claim:
    """The accuracies that the paper states at an epsilon, of Adult: of its worst and of its best run."""

    def judge(_: str, part: pd.DataFrame) -> Cases:
        adult = part[(part["data"] == "adult") & (part["model"] == MODELS[0]) & (part["epsilon"] == epsilon)]
        found = adult[adult["mode"] == PRINTED]["value"]
        return {("", ""): bool(found.between(low, high).all())} if len(found) else {}

    told = phrase("on Adult all runs of logistic regression are {low:.1%} to {high:.1%} at epsilon {epsilon:g}")
    return Claim(told.format(low=low, high=high, epsilon=epsilon), judge)


def rises(name: str, part: pd.DataFrame) -> Cases:
    """The mean accuracy, by data set and classifier."""
    return {(name, ""): rising(points(part, "epsilon").mean(axis=1))}


def settles(name: str, part: pd.DataFrame) -> Cases:
    """The variance of the accuracy over runs, by data set and classifier, if there are several."""
    spread = part[part["mode"] == PRINTED].groupby("epsilon")["value"].var()
    return {(name, ""): rising(spread, -1)} if len(spread) and spread.notna().all() else {}


FIGURES = (
    Figure(
        "figure_1",
        phrase("Fig. 1 to 4: accuracy"),
        phrase(
            "The paper (Fig. 1 to 4) trains two classifiers on the synthetic rows of Adult and prints mean and "
            "variance of their accuracy over 5 repeats. It states, for logistic regression: at epsilon 0 between "
            "23.3% and 73.8%, at epsilon 1.5 between 82.2% and 83.6%. Look at the corrected curve at a **tenth** of "
            "the epsilon. None of the readings of the paper that were tried meets the last of them. A repeat is "
            "{releases:,} releases, each of as many rows as the data may have ({rows:,} where that is not known); 5 "
            "repeats take about a minute on a laptop."
        ).format(releases=2 * len(EPSILONS), rows=ROWS),
        accuracies,
        draw_accuracies,
        claims=(
            between(0.0, 0.233, 0.738),
            between(EPSILONS[-1], 0.822, 0.836),
            Claim(phrase("accuracy rises with epsilon"), rises, columns=("data", "model")),
            Claim(phrase("its variance falls"), settles, columns=("data", "model")),
        ),
    ),
)

"""The figures of paper 004: what is run for each, and how it is drawn."""

from functools import partial
from typing import Any

import pandas as pd

from dpcore.datasets import Dataset
from dpcore.evaluate.baselines import PLAIN
from dpcore.evaluate.evaluator import SCORES
from dpcore.evaluate.learners import MAJORITY
from dpcore.evaluate.reconstruction import boolean_data
from dpcore.experiment.config import Config
from dpcore.experiment.figures import base
from dpcore.experiment.figures.base import Drawn, Figure, Plan
from dpcore.experiment.figures.claims import Cases, Claim, curves_rise, orders, points
from dpcore.experiment.sweeps import Scores
from dpcore.language import phrase, say
from dpcore.mechanisms.randomizers import RRPH, Warner
from dpcore.methods import DTCRD, DTPD, PPNB, NonPrivateNaiveBayes
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.local.ppnb import TRANSFORMS

GRID = (0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.49, 0.51, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)
RECORD = (0.5, 1.0, 2.0, 4.0, 8.0)
MEASURES = tuple(SCORES)
LINES = {phrase("plain naive Bayes"): PLAIN, "majority class": MAJORITY}
Asked = list[tuple[str, PrivateClassifier, float, float]]
"""Series, method, where it stands on the x axis, and the epsilon of one answer."""


def noises(data: Dataset, count: int) -> Plan:
    """Figure 2: accuracy against p0, for two noises of numbers."""
    asked: Asked = [
        (f"PPNB, {told}", PPNB(mode="published", p0=p, **noise), p, float(RRPH(p0=p).epsilon))
        for told, noise in TRANSFORMS.items()
        for p in GRID
    ]
    return every(asked, data, count)


def trees(data: Dataset, count: int) -> Plan:
    """Figure 3: PPNB and DTPD on bits."""
    asked: Asked = []
    for p in GRID:
        asked.append(("PPNB", PPNB(mode="published", p0=p), p, float(RRPH(p0=p).epsilon)))
        asked.append(("DTPD", DTPD(mode="published", theta=p), p, float(Warner(p=p).epsilon)))
    return every(asked, boolean_data(data, data.schema.target or ""), count)


def records(data: Dataset, count: int) -> Plan:
    """The corrected methods against the epsilon of a person's whole record."""
    methods = {
        phrase("PPNB-LDP, one pair"): PPNB(),
        phrase("class and one"): PPNB(pairs=False),
        phrase("class and all"): PPNB(pairs=False, n_questions=None),
        "DTPD": DTPD(),
        "DTCRD": DTCRD(),
    }
    asked: Asked = [
        (told, method.at_epsilon(epsilon), epsilon, epsilon) for told, method in methods.items() for epsilon in RECORD
    ]
    return every(asked, data, count, numbers="bins")


def every(asked: Asked, data: Dataset, count: int, numbers: str = "moments") -> Plan:
    """Both accuracies of all runs, repeats outermost, with those of plain naive Bayes and of the majority class."""
    runs = [
        base.alone(series, method, repeat, f"{series} at {x:g}", x=x, answer=answer)
        for repeat in range(count)
        for series, method, x, answer in asked
    ]
    measure = Scores.of(Config(base.by_label([each[:2] for each in asked]), (), measures=MEASURES), data)
    return Plan(runs, measure, base.beside(data, LINES, plain=NonPrivateNaiveBayes(numbers=numbers)), "true answers")


def draw(
    frame: pd.DataFrame,
    view: str,
    axis: str = "x",
    *,
    x_title: str,
    answers: str = "",
    log_x: bool = False,
    caption: str = "",
) -> Drawn:
    """A panel per data set; against what is set, or against the epsilon of one answer, about which `answers` says."""
    title = x_title if axis == "x" else ANSWER
    shown = frame[frame["metric"] == view]
    if axis == "answer":  # Warner's rule has the same epsilon at p and at 1 - p
        low = shown["series"].str.startswith("DTPD") & (shown["x"] < 0.5)
        shown = shown.assign(series=shown["series"].where(~low, phrase("DTPD, theta below 1/2")))
    y_title = say("{measure} on test rows", measure=say(view))
    look: Any = {"x_title": title, "y_title": y_title, "log_x": log_x, "interval": "t"}
    look |= {"beside": LINES, "caption": answers if axis == "answer" else caption}
    told = say("What randomized answers teach: {measure} against {setting}", measure=say(view), setting=say(title))
    return base.curves(shown, axis, "data", told, **look)


ANSWER = phrase("epsilon of one answer")
ADVISED, NEAR = (0.35, 0.6), 0.01
# above the first, up to the second
BETTER = {"bank cards": (0.3, 1.0), "bank cards, dependent": (0.39, 0.7)}
VIEW = {"view": base.Choice(phrase("Measured by"), dict(zip(MEASURES, MEASURES, strict=True)))}


def falls_with_variance(name: str, part: pd.DataFrame) -> Cases:
    """By data set and p0."""
    small, large = (f"PPNB, {told}" for told in TRANSFORMS)
    return orders(points(part, "x", metric="accuracy"), name, large, small)


def crossing(_: str, part: pd.DataFrame) -> Cases:
    """PPNB and DTPD where the paper has the one or the other before, by table and p."""
    if (name := part["data"].iloc[0]) not in BETTER:
        return {}
    low, high = BETTER[name]
    found = orders(points(part, "x", metric="accuracy"), name, "DTPD", "PPNB")
    return {place: came == (low < float(place[1]) <= high) for place, came in found.items()}


def nearly_best(name: str, part: pd.DataFrame) -> Cases:
    """Whether PPNB is `NEAR` its best accuracy at all recommended p0, by data set and series."""
    curves = points(part, "x", metric="accuracy").filter(like="PPNB")
    inside = curves[curves.index.to_series().between(*ADVISED)]
    good = (inside.min() >= curves.max() - NEAR).items() if len(inside) else ()
    return {(f"{series} {name}".strip(), ""): bool(came) for series, came in good}


def advice() -> Claim:
    """What the paper recommends, and what speaks for it: accuracy, at the price of an answer with two values."""
    low, high, top = (float(RRPH(p0=p).epsilon) for p in (*ADVISED, GRID[-1]))
    return Claim(
        f"p0 from {ADVISED[0]:g} to {ADVISED[1]:g} balances privacy and accuracy",
        nearly_best,
        f"(Accuracy within {100 * NEAR:g} point of its best there. An answer with two values can cost epsilon "
        f"{low:.2f} to {high:.2f} there, and {top:.2f} at {GRID[-1]:g}.)",
    )


def against(x_title: str) -> dict[str, base.Choice]:
    """What is drawn, and what it is drawn against."""
    return {**VIEW, "axis": base.Choice(phrase("Against"), {"x": x_title, "answer": ANSWER})}


SUBSTITUTES = (
    "The paper's tables, 50,000 customers of a bank's cards and 30,000 suspects, are not public. “bank cards” is "
    "simulated as the paper describes the first: columns that are independent within a class. In “bank cards, "
    "dependent” they are not, as in the second."
)

FIGURES = (
    Figure(
        "noises",
        phrase("Fig. 2: p0 and the noise of numbers"),
        "The paper prints curves without numbers: accuracy rises with p0, and falls with the variances of a and b. "
        "With tens of thousands of people, the rise that is left to see is that below p0 = .3. "
        f"{SUBSTITUTES}",
        noises,
        partial(
            draw,
            x_title="p0",
            answers="The epsilon of one answer with two values; with more values it is larger at the same p0. The "
            "class and the numbers have none that is finite.",
            caption="Horizontal lines: naive Bayes that learned from true answers, and always saying the same class.",
        ),
        choices=against("p0"),
        claims=(
            Claim("accuracy rises with p0", partial(curves_rise, x="x", metric="accuracy")),
            Claim("it falls with the variances of a and b", falls_with_variance),
            advice(),
        ),
        together=False,
    ),
    Figure(
        "trees",
        phrase("Fig. 3: PPNB and DTPD"),
        "Both on bits. The paper: DTPD drops markedly near p = 1/2 while PPNB keeps rising, so PPNB is better above "
        ".3 (simulated) or on [.4, .7] (real). But at the same p the two protect differently: Warner’s rule with p = "
        f"1/2 is a coin toss, PPNB’s with p0 = 1/2 tells the truth three times of four. {SUBSTITUTES}",
        trees,
        partial(
            draw,
            x_title="p (PPNB: p0, DTPD: theta)",
            answers="At the same epsilon of one answer the comparison is fair for a single bit. For the record neither "
            "has a finite one: DTPD turns all bits together, and PPNB hands in the class as it is.",
            caption="At the same p the two rules protect differently. Switch to the epsilon of one answer to compare.",
        ),
        choices=against("p (PPNB: p0, DTPD: theta)"),
        claims=(
            Claim("PPNB is better above .3, or from .4 to .7 where columns depend, and DTPD elsewhere", crossing),
            advice(),
        ),
        together=False,
    ),
    Figure(
        "records",
        phrase("Corrected: one epsilon for the whole record"),
        "Not in the paper: everything is randomized, the class as well, and epsilon is what all answers of a person "
        "can cost together. Who is asked for one column has more of it for each answer.",
        records,
        partial(
            draw,
            x_title=phrase("epsilon of a person's record"),
            log_x=True,
            caption="All of this can be proved. One pair: each person reports one column, by lot, and the class with "
            "it as one value. Class and one, class and all: a report of the class, and one of one column or of each. "
            "DTPD reports every column as a bit, DTCRD every number with noise.",
        ),
        choices=VIEW,
        together=False,
    ),
)

"""The figures of paper 004: what is run for each, and how it is drawn."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import charts
from dpcore.accounting.tally import EPSILONS
from dpcore.arguments import Progress
from dpcore.dashboard import panels
from dpcore.dashboard.tabs.paper_figures import MODES, Figure, lacks_accuracy, ledger_of
from dpcore.datasets import Dataset
from dpcore.errors import DPCoreError
from dpcore.evaluate import classification, learners
from dpcore.evaluate.reconstruction import boolean_data
from dpcore.mechanisms.randomizers import RRPH, Warner
from dpcore.methods import DTCRD, DTPD, PPNB, PlainNaiveBayes
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.local.ppnb import TRANSFORMS

SETS = ("bank cards", "bank cards, dependent", "adult")
GRID = (0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.49, 0.51, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)
RECORD = (0.5, 1.0, 2.0, 4.0, 8.0)
MEASURES = ("accuracy", "balanced accuracy")
LINES = {"plain naive Bayes": classification.PLAIN, "majority class": learners.MAJORITY}
WIDE = 350  # pixels; two panels with their axes fill a laptop's page
Runs = Sequence[tuple[str, str, float, float, PrivateClassifier]]  # series, mode, x, epsilon of one answer, method


def noises(sets: list[Dataset], count: int, progress: Progress) -> Iterator[tuple[float, pd.DataFrame]]:
    """Figure 2: accuracy against p0, for two noises of numbers."""
    asked = [
        (f"PPNB, {told}", MODES["paper"], p, float(RRPH(p0=p).epsilon), PPNB(mode="paper", p0=p, **noise))
        for told, noise in TRANSFORMS.items()
        for p in GRID
    ]
    yield from every(sets, asked, count, progress)


def trees(sets: list[Dataset], count: int, progress: Progress) -> Iterator[tuple[float, pd.DataFrame]]:
    """Figure 3: PPNB and DTPD on bits."""
    asked: list[tuple[str, str, float, float, PrivateClassifier]] = []
    for p in GRID:
        asked.append(("PPNB", MODES["paper"], p, float(RRPH(p0=p).epsilon), PPNB(mode="paper", p0=p)))
        asked.append(("DTPD", MODES["paper"], p, float(Warner(p=p).epsilon), DTPD(mode="paper", theta=p)))
    bits = [boolean_data(data, data.schema.target or "") for data in sets]
    yield from every(bits, asked, count, progress)


def records(sets: list[Dataset], count: int, progress: Progress) -> Iterator[tuple[float, pd.DataFrame]]:
    """The corrected methods against the epsilon of a person's whole record."""
    methods = {
        "PPNB-LDP, one pair": PPNB(),
        "class and one": PPNB(pairs=False),
        "class and all": PPNB(pairs=False, asked=None),
        "DTPD": DTPD(),
        "DTCRD": DTCRD(),
    }
    asked = [
        (told, MODES["corrected"], epsilon, epsilon, method.at_epsilon(epsilon))
        for told, method in methods.items()
        for epsilon in RECORD
    ]
    yield from every(sets, asked, count, progress, numbers="bins")


def every(
    sets: list[Dataset], asked: Runs, count: int, progress: Progress, numbers: str = "moments"
) -> Iterator[tuple[float, pd.DataFrame]]:
    """All runs on all data sets, repeats outermost, with what they are measured by."""
    total, done = len(sets) * count * len(asked), 0
    for data in sets:
        progress(done / total, f"learning from the true answers of {data.name}")
        lines = references(data, numbers)
        target = data.schema.target or ""
        for repeat in range(count):
            for series, mode, x, answer, method in asked:
                shared: dict[str, Any] = {"series": series, "mode": mode, "data": data.name, "repeat": repeat, "x": x}
                shared |= {"epsilon": method.epsilon, "relation": str(method.relation), "answer": answer}
                progress(done / total, f"{series} at {x:g}")
                done += 1
                found = measured(method, data, target, lines, series, mode)
                yield done / total, pd.DataFrame([{**shared, **row} for row in found])


def measured(
    method: PrivateClassifier, data: Dataset, target: str, lines: dict[str, dict[str, float]], series: str, mode: str
) -> list[dict[str, Any]]:
    """Both accuracies of one run, or why there are none."""
    try:
        ledger = ledger_of(method, data, series, mode)
        fitted = method.at_epsilon(method.epsilon).fit(data.train, schema=data.schema, ledger=ledger)
    except DPCoreError as error:
        return [{"error": str(error), **dict.fromkeys(EPSILONS, inf), "void": ""}]
    found = classification.scores({"": fitted.predict_proba}, data.test, data.schema, target).iloc[0]
    price = {"error": "", **fitted.ledger_.epsilons}
    return [
        {**price, "metric": measure, "value": float(found[measure.replace(" ", "_")]), **lines[measure]}
        for measure in MEASURES
    ]


def references(data: Dataset, numbers: str) -> dict[str, dict[str, float]]:
    """Of each measure, what plain naive Bayes and the majority class have."""
    target = data.schema.target or ""
    plain = PlainNaiveBayes(numbers=numbers).fit(data.train, schema=data.schema)
    found = classification.references(data, target=target, n_trees=1, max_depth=1).set_index("model")
    own = classification.scores({classification.PLAIN: plain.predict_proba}, data.test, data.schema, target).set_index(
        "model"
    )
    every = pd.concat([own, found])
    columns = dict(zip(MEASURES, ("accuracy", "balanced_accuracy"), strict=True))
    return {m: {label: float(every[c].loc[model]) for label, model in LINES.items()} for m, c in columns.items()}


def draw(frame: pd.DataFrame, x_title: str, *, answers: str = "", log_x: bool = False, caption: str = "") -> None:
    """A panel per data set; against what is set, or against the epsilon of one answer."""
    left, right = st.columns(2)
    view = left.segmented_control(
        "Measured by", MEASURES, default=MEASURES[0], required=True, key="view.004", persist_state="session"
    )
    against, title = "x", x_title
    if answers:
        axes = {"x": x_title, "answer": "epsilon of one answer"}
        against = right.segmented_control(
            "Against",
            list(axes),
            default="x",
            format_func=axes.__getitem__,
            required=True,
            key="axis.004",
            persist_state="session",
        )
        title = axes[against]
    shown = frame[frame["metric"] == view]
    if against == "answer":  # Warner's rule has the same epsilon at p and at 1 - p
        low = (shown["series"] == "DTPD") & (shown["x"] < 0.5)
        shown = shown.assign(series=shown["series"].where(~low, "DTPD, theta below 1/2"))
    lines = shown[["data", *LINES]].drop_duplicates("data").melt("data", var_name="label")
    picture = charts.curves(
        shown,
        x=against,
        y="value",
        x_title=title,
        y_title=f"{view} on test rows",
        panel="data",
        mode="mode",
        references=lines,
        log_x=log_x,
        interval="t",
        columns=2,
        width=WIDE,
        title=f"What randomized answers teach: {view} against {title}",
    )
    panels.chart(charts.mark_real(picture), data=shown)
    st.caption(answers if against == "answer" else caption)


SUBSTITUTES = (
    "The paper's tables, 50,000 customers of a bank's cards and 30,000 suspects, are not public. “bank cards” is "
    "simulated as the paper describes the first: columns that are independent within a class. In “bank cards, "
    "dependent” they are not, as in the second."
)

FIGURES = (
    Figure(
        "noises",
        "Fig. 2: p0 and the noise of numbers",
        "The paper prints curves without numbers: accuracy rises with p0, and falls with the variances of a and b. "
        "With tens of thousands of people, the rise that is left to see is that below p0 = .3. "
        f"{SUBSTITUTES}",
        noises,
        lambda frame: draw(
            frame,
            "p0",
            answers="The epsilon of one answer with two values; with more values it is larger at the same p0. The "
            "class and the numbers have none that is finite.",
            caption="Horizontal lines: naive Bayes that learned from true answers, and always saying the same class.",
        ),
        lacks_accuracy,
    ),
    Figure(
        "trees",
        "Fig. 3: PPNB and DTPD",
        "Both on bits. The paper: DTPD falls to nothing near p = 1/2 while PPNB keeps rising, so PPNB is better above "
        ".3 (simulated) or on [.4, .7] (real). But at the same p the two protect differently: Warner’s rule with p = "
        f"1/2 is a coin toss, PPNB’s with p0 = 1/2 tells the truth three times of four. {SUBSTITUTES}",
        trees,
        lambda frame: draw(
            frame,
            "p (PPNB: p0, DTPD: theta)",
            answers="At the same epsilon of one answer the comparison is fair for a single bit. For the record neither "
            "has a finite one: DTPD turns all bits together, and PPNB hands in the class as it is.",
            caption="At the same p the two rules protect differently. Switch to the epsilon of one answer to compare.",
        ),
        lacks_accuracy,
    ),
    Figure(
        "records",
        "Corrected: a price for the whole record",
        "Not in the paper: everything is randomized, the class as well, and epsilon is what all answers of a person "
        "cost together. Who is asked for one column has more of it for each answer.",
        records,
        lambda frame: draw(
            frame,
            "epsilon of a person's record",
            log_x=True,
            caption="All of this can be proved. One pair: each person reports one column, by lot, and the class with "
            "it as one value. Class and one, class and all: a report of the class, and one of one column or of each. "
            "DTPD reports every column as a bit, DTCRD every number with noise.",
        ),
        lacks_accuracy,
    ),
)

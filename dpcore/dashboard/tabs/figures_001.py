"""The figures of paper 001: what is run for each, and how it is drawn."""

from dataclasses import replace
from time import perf_counter
from typing import Any, cast

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import evaluate
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress
from dpcore.dashboard.tabs.paper_figures import Figure, Made, Named, Run, choice, curves, measured, swept
from dpcore.datasets import Dataset
from dpcore.evaluate import disclosure
from dpcore.methods import HMPrivBayes, JTree, NoPrivacy, PrivBayes, PrivSCBN, RefinedPrivBayes
from dpcore.methods.base import Synthesizer

EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)
RISK_EPSILON = 0.2
ROWS = (20_000, 40_000, 60_000, 80_000, 100_000)
PARENTS = {"adult": (1, 2, 3, 4), "big5": (1, 2, 3)}
PANEL = 205  # pixels; three panels with their axes fill a laptop's page
VIEWS = {
    "Columns, and errors on real rows": ("2-way AVD", "3-way AVD", "SVM error"),
    "Bits, and errors on synthetic rows": ("2-way AVD on bits", "3-way AVD on bits", "SVM error on synthetic rows"),
}
MEASURES = [measure for view in VIEWS.values() for measure in view]


def label_of(data: Dataset) -> evaluate.Label | None:
    """What the paper's classifier tells: an income above 50k, an age below 50; else the last class of the target."""
    if data.name == "big5":
        return evaluate.Label(column="age", below=50)
    target = data.schema.target
    if target is None or data.schema[target].numeric:
        return None
    return evaluate.Label(column=target, equals=data.schema[target].categories[-1])


def compared() -> Named:
    """Figure 5's methods."""
    printed = PrivBayes(mode="paper", variant="binary", score="MI")
    return [
        ("HMPrivBayes", HMPrivBayes(mode="paper")),
        ("PrivSCBN", PrivSCBN(mode="paper")),
        ("PrivBayes", printed),
        ("JTree", JTree(mode="paper")),
        ("HMPrivBayes", HMPrivBayes()),
        ("PrivSCBN", PrivSCBN()),
        ("PrivBayes", PrivBayes()),
        ("JTree", JTree()),
        ("PrivBayes refined", RefinedPrivBayes(relation="replace")),
    ]


def utility(data: Dataset, count: int, _: Progress) -> Made:
    """Figure 5: distances and errors against epsilon."""
    methods, label = compared(), label_of(data)
    measures = [name for name in MEASURES if label or "SVM" not in name]
    done, total = 0, count * (len(methods) * len(EPSILONS) + 1)
    for some, epsilons in ((methods, EPSILONS), ([("NoPrivacy", NoPrivacy())], EPSILONS[-1:])):
        for _part, frame in swept(some, data, epsilons=epsilons, repeats=count, measures=measures, label=label):
            done += 1
            yield done / total, frame


def lacks_columns(data: Dataset) -> str:
    """Why figure 5 cannot be made."""
    return "" if len(data.schema) > 2 else "it compares three columns at a time."


def draw_utility(frame: pd.DataFrame) -> None:
    """Figure 5's panels: three per data set. The paper does not say of what its distances are."""
    view = choice(st, "Measured on", list(VIEWS), "view.001")
    frame = frame[frame["metric"].isin(VIEWS[view])]
    frame = frame.assign(panel=frame["metric"].str.split(" on ").str[0] + ", " + frame["data"])
    reference = frame["series"] == "NoPrivacy"
    references = frame[reference].groupby("panel", as_index=False)["value"].mean().assign(label="without privacy")
    look: Any = {"log_x": True, "same_y": False, "columns": 3, "width": PANEL, "references": references}
    curves(
        frame[~reference],
        "epsilon",
        "panel",
        "How good the synthetic rows are",
        data=frame,
        x_title="epsilon claimed",
        y_title="distance or error",
        caption="Dashed lines stand at the epsilon that the papers claim. What they really spend is on the Ledger "
        "page: for HMPrivBayes and JTree it has no bound.",
        **look,
    )


def risks(data: Dataset, count: int, progress: Progress) -> Made:
    """Figure 4: the share of people whose class the release betrays, against the number of rows."""
    methods: Named = [
        ("HMPrivBayes", HMPrivBayes(mode="paper", epsilon=RISK_EPSILON)),
        ("PrivSCBN", PrivSCBN(mode="paper", epsilon=RISK_EPSILON)),
        ("PrivBayes", PrivBayes(mode="paper", variant="binary", score="MI", epsilon=RISK_EPSILON)),
        ("PrivBayes refined", RefinedPrivBayes(epsilon=RISK_EPSILON, relation="replace")),
    ]
    target, schema = data.schema.target or "", replace(data.schema, max_rows=ROWS[-1])
    known_columns = [name for name in data.schema.names if name != target][:4]
    padded = disclosure.padded(data.train, schema, ROWS[-1], np.random.default_rng(1))

    def measure(run: Run, ledger: Ledger, _: Progress) -> pd.DataFrame:
        asked: Any = (run.method, padded, data.train, schema, target, known_columns, [run.place["rows"]])
        return disclosure.risk_by_rows(*asked, seed=run.repeat, ledger=ledger)

    runs = [Run(*named, repeat, {"rows": rows}) for named in methods for repeat in range(count) for rows in ROWS]
    return measured(runs, data, lambda run: f"{run.series}, {run.place['rows']:,} rows", measure, progress)


def lacks_class(data: Dataset) -> str:
    """Why figure 4 cannot be made."""
    if data.schema.target is None or len(data.schema) < 2:
        return "it needs a class column and another one. Choose them on the page Data & schema."
    return "" if len(data.train) <= ROWS[-1] else f"it pads data to {ROWS[-1]:,} rows, and these are more."


def draw_risks(frame: pd.DataFrame) -> None:
    """Figure 4's panels."""
    curves(
        frame[frame["metric"] == "CAP"],
        "rows",
        "data",
        "Disclosure by matching on four columns",
        x_title="rows",
        y_title="share of people whose class is betrayed",
        caption="A useful release scores high as well: what is true of people in general is true of you, whether or "
        "not you are in the data. Only the part that depends on your being there is bounded by epsilon.",
    )


def times(data: Dataset, count: int, progress: Progress) -> Made:
    """Figure 6: seconds against the largest number of parents."""

    def methods(parents: int) -> Named:
        how: dict[str, Any] = {"mode": "paper", "epsilon": RISK_EPSILON, "max_parents": parents}
        # theta so small that epsilon does not reduce the number of parents
        bits = PrivBayes(variant="binary", score="MI", theta=1e-9, **how)
        return [("HMPrivBayes", HMPrivBayes(**how)), ("PrivBayes", bits)]

    def measure(run: Run, ledger: Ledger, within: Progress) -> pd.DataFrame:
        start = perf_counter()
        method = cast(Synthesizer, run.method).fit(data.train, schema=data.schema, ledger=ledger, progress=within)
        method.sample()
        return pd.DataFrame([{"seconds": perf_counter() - start, **method.ledger_.epsilons}])

    most = PARENTS.get(data.name, PARENTS["big5"])
    runs = [
        Run(*named, repeat, {"parents": parents})
        for repeat in range(count)
        for parents in most
        for named in methods(parents)
    ]
    return measured(runs, data, lambda run: run.series, measure, progress)


def draw_times(frame: pd.DataFrame) -> None:
    """Figure 6's panels."""
    look: Any = {"y": "seconds", "mode": None, "x_title": "parents at most", "y_title": "seconds", "log_y": True}
    curves(frame, "parents", "data", "Run time: all bits in one network, or in clusters", **look)


FIGURES = (
    Figure(
        "figure_5",
        "Fig. 5: utility",
        "The paper prints, for epsilon from .05 to 1: on Adult distances of .10 to .30 (2-way) and .15 to .35 (3-way), "
        "errors of .10 to .30; on Big5 distances of .15 to .45 and errors of .20 to .40; the method without privacy "
        "best, HMPrivBayes mostly before the others. Its errors come from a classifier that is tested on synthetic "
        "rows, which tells how well a release agrees with itself; here you can see both that and errors on **real** "
        "rows, and the corrected methods beside the printed ones. This takes a few minutes.",
        utility,
        draw_utility,
        lacks_columns,
    ),
    Figure(
        "figure_4",
        "Fig. 4: disclosure",
        "The paper prints a “probability of inferring the salary” that falls from .40 to .10 as Adult, padded with "
        "random rows, grows to 100,000 rows, at epsilon 0.2. As the accuracy of a guess between two values that is "
        "impossible: a constant guess is right more than half of the time. Here it is the share of people for whom at "
        "least 80 % of the rows that match on the first four columns have the right class. All sizes are drawn from "
        "the same padded rows, so the share of padding is the same for each (on Adult seven rows in ten).",
        risks,
        draw_risks,
        lacks_class,
    ),
    Figure(
        "figure_6",
        "Fig. 6: run time",
        "The paper prints run times at epsilon 0.2 that rise steeply with the largest number of parents and with the "
        "number of columns, HMPrivBayes far below PrivBayes. Here PrivBayes rates every set of parents.",
        times,
        draw_times,
        lambda _: "",
    ),
)

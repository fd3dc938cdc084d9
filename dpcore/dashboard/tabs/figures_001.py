"""The figures of paper 001: what is run for each, and how it is drawn."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard import panels
from dpcore.dashboard.tabs.paper_figures import MODES, Figure, ledger_of, swept
from dpcore.datasets import Dataset
from dpcore.errors import DPCoreError
from dpcore.evaluate import disclosure
from dpcore.methods import HMPrivBayes, JTree, NoPrivacy, PrivBayes, PrivSCBN, RefinedPrivBayes
from dpcore.methods.base import Synthesizer

EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)
RISK_EPSILON = 0.2
ROWS = (20_000, 40_000, 60_000, 80_000, 100_000)
PARENTS = {"adult": (1, 2, 3, 4), "big5": (1, 2, 3)}
PANEL, WIDE = 205, 350  # pixels; three or two panels with their axes fill a laptop's page
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


def compared() -> dict[tuple[str, str], Synthesizer]:
    """Figure 5's methods, by series and mode."""
    printed: dict[str, Synthesizer] = {
        "HMPrivBayes": HMPrivBayes(mode="paper"),
        "PrivSCBN": PrivSCBN(mode="paper"),
        "PrivBayes": PrivBayes(mode="paper", variant="binary", score="MI"),
        "JTree": JTree(mode="paper"),
    }
    corrected: dict[str, Synthesizer] = {
        "HMPrivBayes": HMPrivBayes(),
        "PrivSCBN": PrivSCBN(),
        "PrivBayes": PrivBayes(),
        "JTree": JTree(),
        "PrivBayes refined": RefinedPrivBayes(relation="replace"),
    }
    found = {(name, MODES["paper"]): method for name, method in printed.items()}
    return found | {(name, MODES["corrected"]): method for name, method in corrected.items()}


def utility(sets: list[Dataset], count: int, _: Progress) -> Iterator[tuple[float, pd.DataFrame]]:
    """Figure 5: distances and errors against epsilon."""
    methods = compared()
    for i, data in enumerate(sets):
        label = label_of(data)
        measures = [name for name in MEASURES if label or "SVM" not in name]
        parts = [(methods, EPSILONS), ({("NoPrivacy", MODES["paper"]): NoPrivacy()}, EPSILONS[-1:])]
        done, total = 0, count * (len(methods) * len(EPSILONS) + 1)
        for some, epsilons in parts:
            for _part, frame in swept(some, data, epsilons=epsilons, repeats=count, measures=measures, label=label):
                done += 1
                yield (i + done / total) / len(sets), frame


def lacks_columns(data: Dataset) -> str:
    """Why figure 5 cannot be made."""
    return "" if len(data.schema) > 2 else "it compares three columns at a time."


def draw_utility(frame: pd.DataFrame) -> None:
    """Figure 5's panels: three per data set. The paper does not say of what its distances are."""
    view = st.segmented_control(
        "Measured on", list(VIEWS), default=next(iter(VIEWS)), required=True, key="view.001", persist_state="session"
    )
    frame = frame[frame["metric"].isin(VIEWS[str(view)])]
    frame = frame.assign(panel=frame["metric"].str.split(" on ").str[0] + ", " + frame["data"])
    reference = frame["series"] == "NoPrivacy"
    lines = frame[reference].groupby("panel", as_index=False)["value"].mean().assign(label="without privacy")
    picture = charts.curves(
        frame[~reference],
        x="epsilon",
        y="value",
        x_title="epsilon claimed",
        y_title="distance or error",
        panel="panel",
        mode="mode",
        references=lines,
        log_x=True,
        same_y=False,
        width=PANEL,
        title="How good the synthetic rows are",
    )
    panels.chart(charts.mark_real(picture), data=frame.drop(columns=["label"], errors="ignore"))
    st.caption(
        "Dashed lines stand at the epsilon that the papers claim. What they really spend is on the Ledger page: for "
        "HMPrivBayes and JTree it has no bound."
    )


def risks(sets: list[Dataset], count: int, progress: Progress) -> Iterator[tuple[float, pd.DataFrame]]:
    """Figure 4: the share of people whose class the release betrays, against the number of rows."""
    methods: dict[str, Synthesizer] = {
        "HMPrivBayes": HMPrivBayes(mode="paper", epsilon=RISK_EPSILON),
        "PrivSCBN": PrivSCBN(mode="paper", epsilon=RISK_EPSILON),
        "PrivBayes": PrivBayes(mode="paper", variant="binary", score="MI", epsilon=RISK_EPSILON),
        "PrivBayes refined": RefinedPrivBayes(epsilon=RISK_EPSILON, relation="replace"),
    }
    total, done = len(sets) * len(methods) * count * len(ROWS), 0
    for data in sets:
        target = data.schema.target or ""
        schema = replace(data.schema, max_rows=ROWS[-1])
        known_columns = [name for name in data.schema.names if name != target][:4]
        padded = disclosure.padded(data.train, schema, ROWS[-1], np.random.default_rng(1))
        for name, method in methods.items():
            for repeat in range(count):
                for rows in ROWS:
                    progress(done / total, f"{name}, {rows:,} rows")
                    run = shared(name, method, data, repeat)
                    try:
                        how: Any = {"seed": repeat, "ledger": ledger_of(method, data, name, run["mode"])}
                        found = disclosure.risk_by_rows(
                            method, padded, data.train, schema, target, known_columns, [rows], **how
                        )
                    except DPCoreError as error:
                        found, run["error"] = pd.DataFrame({"rows": [rows]}), str(error)
                    done += 1
                    yield done / total, found.assign(**run)


def shared(series: str, method: Synthesizer, data: Dataset, repeat: int) -> dict[str, Any]:
    """What the rows of one run have in common, in figures 4 and 6."""
    return {
        "series": series,
        "mode": MODES[method.mode],
        "data": data.name,
        "relation": method.relation,
        "epsilon": RISK_EPSILON,
        "repeat": repeat,
        "error": "",
    }


def lacks_class(data: Dataset) -> str:
    """Why figure 4 cannot be made."""
    if data.schema.target is None or len(data.schema) < 2:
        return "it needs a class column and another one. Choose them on the page Data & schema."
    return "" if len(data.train) <= ROWS[-1] else f"it pads data to {ROWS[-1]:,} rows, and these are more."


def draw_risks(frame: pd.DataFrame) -> None:
    """Figure 4's panels."""
    frame = frame[frame["metric"] == "CAP"]
    picture = charts.curves(
        frame,
        x="rows",
        y="value",
        x_title="rows",
        y_title="share of people whose class is betrayed",
        panel="data",
        mode="mode",
        columns=2,
        width=WIDE,
        title="Disclosure by matching on four columns",
    )
    panels.chart(charts.mark_real(picture), data=frame)
    st.caption(
        "A useful release scores high as well: what is true of people in general is true of you, whether or not you "
        "are in the data. Only the part that depends on your being there is bounded by epsilon."
    )


def times(sets: list[Dataset], count: int, progress: Progress) -> Iterator[tuple[float, pd.DataFrame]]:
    """Figure 6: seconds against the largest number of parents."""
    cases = [
        (data, parents, repeat)
        for data in sets
        for repeat in range(count)
        for parents in PARENTS.get(data.name, PARENTS["big5"])
    ]
    for done, (data, parents, repeat) in enumerate(cases):
        methods: Mapping[str, Synthesizer] = {
            "HMPrivBayes": HMPrivBayes(mode="paper", epsilon=RISK_EPSILON, max_parents=parents),
            # theta so small that epsilon does not reduce the number of parents
            "PrivBayes": PrivBayes(
                mode="paper", epsilon=RISK_EPSILON, variant="binary", score="MI", max_parents=parents, theta=1e-9
            ),
        }
        for i, (name, method) in enumerate(methods.items()):

            def inner(part: float, text: str, base: float = done + i / 2) -> None:
                progress((base + part / 2) / len(cases), text)

            run = {"parents": parents, **shared(name, method, data, repeat)}
            start = perf_counter()
            try:
                ledger = ledger_of(method, data, name, run["mode"])
                method.fit(data.train, schema=data.schema, ledger=ledger, progress=inner)
                method.sample()
            except DPCoreError as error:
                run["error"] = str(error)
            else:
                run["seconds"] = perf_counter() - start
                run |= method.ledger_.epsilons
            yield (done + (i + 1) / 2) / len(cases), pd.DataFrame([run])


def draw_times(frame: pd.DataFrame) -> None:
    """Figure 6's panels."""
    picture = charts.curves(
        frame,
        x="parents",
        y="seconds",
        x_title="parents at most",
        y_title="seconds",
        panel="data",
        log_y=True,
        columns=2,
        width=WIDE,
        title="Run time: all bits in one network, or in clusters",
    )
    panels.chart(charts.mark_real(picture))
    panels.table_behind(frame, f"The numbers behind this chart. {REAL_DATA}")


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

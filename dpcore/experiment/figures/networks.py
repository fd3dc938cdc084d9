"""The figures of paper 001: what is run for each, and how it is drawn."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpcore import evaluate
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress
from dpcore.datasets import Dataset
from dpcore.evaluate import disclosure
from dpcore.experiment.config import Config
from dpcore.experiment.engine import Measure, Run
from dpcore.experiment.figures import base
from dpcore.experiment.figures.base import Drawn, Figure, Named, Plan
from dpcore.experiment.figures.claims import Cases, Claim, ahead, curves_rise, orders, points, rising
from dpcore.experiment.sweeps import Scores, plan_runs
from dpcore.language import phrase, say
from dpcore.methods import HMPrivBayes, JTree, NoPrivacy, PrivBayes, PrivSCBN, RefinedPrivBayes

EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)
RISK_EPSILON = 0.2
ROWS = (20_000, 40_000, 60_000, 80_000, 100_000)
PARENTS = {"adult": (1, 2, 3, 4), "big5": (1, 2, 3)}
PANEL = 205  # pixels; three panels with their axes fill a laptop's page
VIEWS = {
    phrase("Columns, and errors on real rows"): ("2-way AVD", "3-way AVD", "SVM error"),
    phrase("Bits, and errors on synthetic rows"): (
        "2-way AVD on bits",
        "3-way AVD on bits",
        "SVM error on synthetic rows",
    ),
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


COMPARED: Named = (  # in figure 5
    ("HMPrivBayes", HMPrivBayes(mode="published")),
    ("PrivSCBN", PrivSCBN(mode="published")),
    ("PrivBayes", PrivBayes(mode="published", variant="binary", score="MI")),
    ("JTree", JTree(mode="published")),
    ("HMPrivBayes", HMPrivBayes()),
    ("PrivSCBN", PrivSCBN()),
    ("PrivBayes", PrivBayes()),
    ("JTree", JTree()),
    ("PrivBayes refined", RefinedPrivBayes(relation="replace")),
)


def utility(data: Dataset, count: int) -> Plan:
    """Figure 5: distances and errors against epsilon."""
    label, private, plain = label_of(data), base.by_label(COMPARED), base.by_label([("NoPrivacy", NoPrivacy())])
    learns = label is not None and len(data.test_sample) > 0
    measures = [name for name in MEASURES if learns or "SVM" not in name]
    runs = [*plan_runs(private, EPSILONS, count), *plan_runs(plain, EPSILONS[-1:], count)]
    return Plan(runs, Scores.of(Config(private | plain, EPSILONS, measures=measures, label=label), data))


def draw_utility(frame: pd.DataFrame, view: str) -> Drawn:
    """Figure 5's panels: three per data set. The paper does not say of what its distances are."""
    frame = frame[frame["metric"].isin(VIEWS[view])]
    names = zip(frame["metric"].str.split(" on ").str[0], frame["data"], strict=True)
    frame = frame.assign(panel=[say("{metric}, {data}", metric=say(name), data=data) for name, data in names])
    reference = frame["series"].str.startswith("NoPrivacy")
    references = (
        frame[reference].groupby("panel", as_index=False)["value"].mean().assign(label=phrase("without privacy"))
    )
    look: Any = {"log_x": True, "same_y": False, "columns": 3, "width": PANEL, "references": references}
    yield from base.curves(
        frame[~reference],
        "epsilon",
        "panel",
        phrase("How good the synthetic rows are"),
        data=frame,
        x_title="epsilon claimed",
        y_title=phrase("distance or error"),
        caption="Dashed lines stand at the epsilon that the papers claim. What a run can cost is on the Ledger page: "
        "for HMPrivBayes and JTree that has no bound.",
        **look,
    )


@dataclass
class Risk(Measure):
    """What a release of some of the rows, padded with random ones, betrays of the real ones."""

    def __post_init__(self) -> None:
        schema = self.data.schema
        self.target, self.schema = schema.target or "", replace(schema, max_rows=ROWS[-1])
        self.known = [name for name in schema.names if name != self.target][:4]
        self.padded = disclosure.padded(self.data.train_sample, self.schema, ROWS[-1], np.random.default_rng(1))

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        """`metric` and `value` of `disclosure.cap`."""
        found = disclosure.cap(self.data.train_sample, synthetic, self.schema, self.target, self.known)
        return pd.DataFrame([{"metric": "CAP", "value": found}])

    def release(self, run: Run, ledger: Ledger | None, progress: Progress) -> pd.DataFrame:
        """As many rows as the run says, learned from as many of the padded ones, in an order of the repeat."""
        rows, order = run.labels["rows"], np.random.default_rng([run.labels["repeat"], 0]).permutation(len(self.padded))
        frame = self.padded.iloc[order[:rows]].reset_index(drop=True)
        return run.method.fit(frame, schema=self.schema, ledger=ledger, progress=progress).sample(rows)


def risks(data: Dataset, count: int) -> Plan:
    """Figure 4: the share of people whose class the release betrays, against the number of rows."""
    methods: Named = [
        ("HMPrivBayes", HMPrivBayes(mode="published", epsilon=RISK_EPSILON)),
        ("PrivSCBN", PrivSCBN(mode="published", epsilon=RISK_EPSILON)),
        ("PrivBayes", PrivBayes(mode="published", variant="binary", score="MI", epsilon=RISK_EPSILON)),
        ("PrivBayes refined", RefinedPrivBayes(epsilon=RISK_EPSILON, relation="replace")),
    ]
    runs = [
        base.alone(series, method, repeat, f"{series}, {rows:,} rows", rows=rows)
        for series, method in methods
        for repeat in range(count)
        for rows in ROWS
    ]
    return Plan(runs, Risk(data))


def lacks_rows(data: Dataset) -> str:
    """Why rows cannot be drawn by lot."""
    told = "it draws rows at random in public, which would not keep what is promised to persons with several."
    return told if data.schema.persons is not None else ""


def lacks_class(data: Dataset) -> str:
    """Why figure 4 cannot be made."""
    if data.schema.target is None or len(data.schema) < 2:
        return "it needs a class column and another one. Choose them on the page Data."
    return "" if len(data.train_sample) <= ROWS[-1] else f"it pads data to {ROWS[-1]:,} rows, and these are more."


draw_risks = partial(
    base.curves,
    x="rows",
    panel="data",
    title=phrase("Disclosure by matching on four columns"),
    x_title="rows",
    y_title=phrase("share of people whose class is betrayed"),
    caption="A useful release scores high as well: what is true of people in general is true of you, whether or not "
    "you are in the data. Only the part that depends on your being there is bounded by epsilon.",
)


def times(data: Dataset, count: int) -> Plan:
    """Figure 6: seconds against the largest number of parents."""

    def methods(parents: int) -> Named:
        how: dict[str, Any] = {"mode": "published", "epsilon": RISK_EPSILON, "max_parents": parents}
        # theta so small that epsilon does not reduce the number of parents
        bits = PrivBayes(variant="binary", score="MI", theta=1e-9, **how)
        return [("HMPrivBayes", HMPrivBayes(**how)), ("PrivBayes", bits)]

    runs = [
        base.alone(series, method, repeat, series, parents=parents)
        for repeat in range(count)
        for parents in PARENTS.get(data.name.removesuffix(f", {base.ALL}"), PARENTS["big5"])
        for series, method in methods(parents)
    ]
    return Plan(runs, Measure(data))


draw_times = partial(
    base.curves,
    x="parents",
    panel="data",
    title=phrase("Run time: all bits in one network, or in clusters"),
    y="seconds",
    mode=None,
    x_title=phrase("parents at most"),
    y_title=phrase("seconds"),
    log_y=True,
)


PRIVATE = ("PrivSCBN", "PrivBayes", "JTree")
PANELS = ("metric", "data")  # of figure 5


def plain_best(name: str, part: pd.DataFrame) -> Cases:
    """Whether nothing private comes below the reference, by panel."""
    private = part["series"] != "NoPrivacy"
    plain, found = part[~private]["value"].mean(), points(part[private], "epsilon")
    good = bool(((found >= plain) | found.isna()).all(axis=None))
    return {(name, ""): good} if found.size and not np.isnan(plain) else {}


def before_others(name: str, part: pd.DataFrame) -> Cases:
    """Whether HMPrivBayes lies below the methods that it is compared with at most epsilons, by panel."""
    both = ahead(points(part, "epsilon"), name, "HMPrivBayes", PRIVATE)
    return {(name, ""): 2 * sum(map(bool, both.values())) > len(both)} if both else {}


def safest(name: str, part: pd.DataFrame) -> Cases:
    """Whether HMPrivBayes betrays fewer people than the others as printed, by data set and number of rows."""
    return ahead(points(part, "rows"), name, "HMPrivBayes", PRIVATE)


def falls_with_rows(name: str, part: pd.DataFrame) -> Cases:
    """Whether HMPrivBayes betrays fewer people the more rows there are, by data set."""
    curve = points(part, "rows").get("HMPrivBayes")
    return {(name, ""): None if curve is None else rising(curve, -1)}


def quicker(name: str, part: pd.DataFrame) -> Cases:
    """Whether clusters are quicker than one network, by data set and number of parents."""
    return orders(points(part, "parents", value="seconds"), name, "HMPrivBayes", "PrivBayes")


FIGURES = (
    Figure(
        "figure_5",
        phrase("Fig. 5: utility"),
        "The paper prints, for epsilon from .05 to 1: on Adult distances of .10 to .30 (2-way) and .15 to .35 (3-way), "
        "errors of .10 to .30; on Big5 distances of .15 to .45 and errors of .20 to .40; the method without privacy "
        "best, HMPrivBayes mostly before the others. Its errors come from a classifier that is tested on synthetic "
        "rows, which tells how well a release agrees with itself; here you can see both that and errors on **real** "
        "rows, and the corrected methods beside the printed ones. This takes a few minutes.",
        utility,
        draw_utility,
        lacks=lambda data: "" if len(data.schema) > 2 else "it compares three columns at a time.",
        choices={"view": base.Choice(phrase("Measured on"), dict(zip(VIEWS, VIEWS, strict=True)))},
        claims=(
            Claim("of the printed methods, the one without privacy is the best", plain_best, columns=PANELS),
            Claim("HMPrivBayes mostly comes before the others", before_others, columns=PANELS),
        ),
    ),
    Figure(
        "figure_4",
        phrase("Fig. 4: disclosure"),
        "The paper prints a “probability of inferring the salary” that falls from .40 to .10 as Adult, padded with "
        "random rows, grows to 100,000 rows, at epsilon 0.2. As the accuracy of a guess between two values that is "
        "impossible: a constant guess is right more than half of the time. Here it is the share of people for whom at "
        "least 80% of the rows that match on the first four columns have the right class. All sizes are drawn from "
        "the same padded rows, so the share of padding is the same for each (on Adult seven rows in ten).",
        risks,
        draw_risks,
        lacks=lambda data: lacks_class(data) or lacks_rows(data),
        claims=(
            Claim("the more rows, the less HMPrivBayes betrays", falls_with_rows),
            Claim("HMPrivBayes betrays less than PrivBayes and PrivSCBN", safest),
        ),
        together=False,
    ),
    Figure(
        "figure_6",
        phrase("Fig. 6: run time"),
        "The paper prints run times at epsilon 0.2 that rise steeply with the largest number of parents and with the "
        "number of columns, HMPrivBayes far below PrivBayes. Here PrivBayes rates every set of parents.",
        times,
        draw_times,
        lacks=lambda _: "",
        claims=(
            Claim("run times rise with the number of parents", partial(curves_rise, x="parents", value="seconds")),
            Claim("HMPrivBayes is quicker than PrivBayes", quicker),
        ),
        together=False,
    ),
)

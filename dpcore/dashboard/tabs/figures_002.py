"""What the patent 002 claims, without figures: how errors grow with a range, and what a classifier learns."""

from typing import Any

import pandas as pd

from dpcore import charts, evaluate
from dpcore.arguments import Progress
from dpcore.dashboard import panels, session
from dpcore.dashboard.tabs import paper_figures
from dpcore.dashboard.tabs.paper_figures import MODES, REFERENCES, Figure, Made, lacks_accuracy
from dpcore.datasets import Dataset
from dpcore.methods import DiffGen, NaiveBayesSynthesizer, RefinedPrivBayes, TaxonomyRelease
from dpcore.methods.base import Synthesizer
from dpcore.postprocess import count_tree_frames

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0)
QUERIES = 500
MODELS = (evaluate.MODELS[0], evaluate.MODELS[2])


def ranges(data: Dataset, count: int, _: Progress) -> Made:
    """Errors of range queries, by the share of the domain that a query covers.

    Columns take turns, so that the groups are public and the same for all but DiffGen: the queries are sums of them.
    """
    equal: dict[str, Any] = {"with_class": False, "level_shares": "equal"}
    methods: dict[str, Synthesizer] = {
        "leaves first, consistent": TaxonomyRelease(with_class=False),
        "equal shares, consistent": TaxonomyRelease(**equal),
        "equal shares, not consistent": TaxonomyRelease(**equal, consistency=False),
        "leaves only": TaxonomyRelease(with_class=False, measure="leaves"),
        "DiffGen": DiffGen(),
    }
    public = TaxonomyRelease(with_class=False).fit(data.train.head(0), schema=data.schema).tree_
    queries, told = count_tree_frames.group_queries(public, QUERIES), MODES["corrected"]
    ledgers = {
        name: paper_figures.account(session.account, data, method.relation, name, told)
        for name, method in methods.items()
    }
    for part, frame in evaluate.range_sweep(methods, data, queries, count, ledgers=ledgers):
        yield part, frame.assign(series=frame["release"], mode=told, data=data.name)


def draw_ranges(frame: pd.DataFrame) -> None:
    """One panel per data set."""
    for name, part in frame.groupby("data", sort=False):
        binned = evaluate.by_size(part)
        binned["baseline"] = binned["release"].isin(["leaves only", "DiffGen"])
        panels.chart(charts.mark_real(charts.error_by_range(binned, title=f"Errors on {name}")), data=binned)


def accuracies(data: Dataset, count: int, progress: Progress) -> Made:
    """Accuracy of classifiers that learned from generalized or synthetic rows."""
    methods: list[tuple[str, Synthesizer]] = [
        ("TaxonomyRelease", TaxonomyRelease()),
        ("leaves only", TaxonomyRelease(measure="leaves")),
        ("DiffGen", DiffGen()),
        ("NB-Synth", NaiveBayesSynthesizer(x_source="model")),
        ("PrivBayes refined", RefinedPrivBayes(relation="add_remove")),
    ]
    return paper_figures.beside_real(methods, data, progress, models=MODELS, epsilons=EPSILONS, repeats=count)


def lacks_target(data: Dataset) -> str:
    """Why DiffGen cannot be compared."""
    target = data.schema.target
    return "DiffGen needs a class column with categories." if target is None or data.schema[target].numeric else ""


def draw_accuracies(frame: pd.DataFrame) -> None:
    """One panel per classifier."""
    look: Any = {"x_title": "epsilon", "y_title": "accuracy on real test rows", "log_x": True, "mode": None}
    look |= {"beside": REFERENCES, "each": True}
    told = "The classifiers learned from released rows only, and were tested on real rows that no method has seen."
    paper_figures.curves(frame, "epsilon", "model", "What a classifier learns", caption=told, **look)


FIGURES = (
    Figure(
        "ranges",
        "Error by range",
        "The patent claims that with consistency the error of a range query grows slowly with the size of the range. "
        "Its figures are lost; here the claim is tested, at epsilon 1 and with a private number of rows, on random "
        "queries of one to four columns. It can only come true if inner levels are measured as well, and those have to "
        "be paid for: with equal shares, all but the largest ranges are noisier than from the leaves alone. Columns "
        "take turns here, so that the groups are the same for all, and the queries ask for sums of them; DiffGen "
        "chooses groups of its own.",
        ranges,
        draw_ranges,
        lacks_target,
    ),
    Figure(
        "accuracy",
        "Classification",
        "The patent claims that classifiers learn more from its rows than from those of other non-interactive "
        "methods. Here five of them meet, all corrected, all under the same relation.",
        accuracies,
        draw_accuracies,
        lacks_accuracy,
    ),
)

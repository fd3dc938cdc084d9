"""What the patent 002 claims, without figures: how errors grow with a range, and what a classifier learns."""

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import pandas as pd

from dpcore import charts, evaluate
from dpcore.datasets import Dataset
from dpcore.domain.column import Codes
from dpcore.domain.range_query import RangeQuery
from dpcore.experiment.engine import Measure, Run
from dpcore.experiment.figures import base
from dpcore.experiment.figures.base import Drawn, Figure, Named, Plan
from dpcore.methods import DiffGen, NaiveBayesSynthesizer, RefinedPrivBayes, TaxonomyRelease
from dpcore.postprocess import count_tree_frames

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0)
QUERIES = 500
MODELS = (evaluate.MODELS[0], evaluate.MODELS[2])


@dataclass
class RangeErrors(Measure):
    """How far the answers of a release's tree to range queries are off."""

    queries: list[RangeQuery] = field(default_factory=list)

    @cached_property
    def codes(self) -> Codes:
        """The training rows' codes, once for all runs."""
        return self.data.schema.encode(self.data.train)

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        """`evaluate.range_queries` on the training rows."""
        schema = self.data.schema
        answers = {run.labels["release"]: evaluate.range_answers(run.method, self.queries, schema)}
        return evaluate.range_queries(self.codes, answers, schema, self.queries)


def ranges(data: Dataset, count: int) -> Plan:
    """Errors of range queries, by the share of the domain that a query covers.

    Columns take turns, so that the groups are public and the same for all but DiffGen: the queries are sums of them.
    """
    equal: dict[str, Any] = {"with_class": False, "level_shares": "equal"}
    methods: Named = [
        ("leaves first, consistent", TaxonomyRelease(with_class=False)),
        ("equal shares, consistent", TaxonomyRelease(**equal)),
        ("equal shares, not consistent", TaxonomyRelease(**equal, consistency=False)),
        ("leaves only", TaxonomyRelease(with_class=False, measure="leaves")),
        ("DiffGen", DiffGen()),
    ]
    public = TaxonomyRelease(with_class=False).fit(data.train.head(0), schema=data.schema).tree_
    runs = [base.alone(name, method, repeat, name, release=name) for repeat in range(count) for name, method in methods]
    return Plan(runs, RangeErrors(data, 0, count_tree_frames.group_queries(public, QUERIES)))


def draw_ranges(frame: pd.DataFrame) -> Drawn:
    """One panel per data set."""
    for name, part in frame.groupby("data", sort=False):
        binned = evaluate.by_size(part)
        binned["baseline"] = binned["release"].isin(["leaves only", "DiffGen"])
        yield charts.error_by_range(binned, title=f"Errors on {name}"), binned


def accuracies(data: Dataset, count: int) -> Plan:
    """Accuracy of classifiers that learned from generalized or synthetic rows."""
    methods: Named = [
        ("TaxonomyRelease", TaxonomyRelease()),
        ("the patent's own form", TaxonomyRelease(mode="paper")),
        ("DiffGen", DiffGen()),
        ("NB-Synth", NaiveBayesSynthesizer(x_source="model")),
        ("PrivBayes refined", RefinedPrivBayes(relation="add_remove")),
    ]
    return base.swept(methods, data, EPSILONS, count, base.beside(data, base.REFERENCES, models=MODELS), models=MODELS)


def lacks_target(data: Dataset) -> str:
    """Why DiffGen cannot be compared."""
    target = data.schema.target
    return "DiffGen needs a class column with categories." if target is None or data.schema[target].numeric else ""


draw_accuracies = partial(
    base.curves,
    x="epsilon",
    panel="model",
    title="What a classifier learns",
    x_title="epsilon",
    y_title="accuracy on real test rows",
    log_x=True,
    mode=None,
    beside=base.REFERENCES,
    each=True,
    caption="The classifiers learned from released rows only, and were tested on real rows that no method has seen.",
)


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
        lacks=lacks_target,
        together=False,
    ),
    Figure(
        "accuracy",
        "Classification",
        "The patent claims that classifiers learn more from its rows than from those of other non-interactive "
        "methods. Here it meets four of them, corrected, all under the same relation; beside it stands the corrected "
        "form.",
        accuracies,
        draw_accuracies,
    ),
)

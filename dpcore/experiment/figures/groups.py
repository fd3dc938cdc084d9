"""What the patent 002 claims, without figures: how errors grow with a range, and what a classifier learns."""

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import pandas as pd

from dpcore import charts, evaluate
from dpcore.datasets import Dataset
from dpcore.domain.column import Codes
from dpcore.domain.range_query import RangeQuery, random_queries
from dpcore.experiment.engine import Measure, Run
from dpcore.experiment.figures import base
from dpcore.experiment.figures.base import Drawn, Figure, Named, Plan
from dpcore.experiment.figures.claims import Cases, Claim, ahead
from dpcore.language import phrase, say
from dpcore.methods import DiffGen, NaiveBayesSynthesizer, RefinedPrivBayes, TaxonomyRelease
from dpcore.postprocess import count_tree_frames

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0)
QUERIES = 500
LEAVES, OWN = phrase("leaves only"), phrase("the patent's own form")
CONSISTENT = (phrase("leaves first, consistent"), phrase("equal shares, consistent"))
# how often columns are divided, and how often the same one
DIVISIONS, DEPTHS = (2, 4, 6, 8, 10, 12), (1, 2, 3)
MODELS = (evaluate.MODELS[0], evaluate.MODELS[2])


@dataclass
class RangeErrors(Measure):
    """How far the answers of a release's tree to range queries are off."""

    queries: list[RangeQuery] = field(default_factory=list)

    @cached_property
    def codes(self) -> Codes:
        """The training rows' codes, once for all runs."""
        return self.data.schema.encode(self.data.train_sample)

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
        (CONSISTENT[0], TaxonomyRelease(with_class=False)),
        (CONSISTENT[1], TaxonomyRelease(**equal)),
        (phrase("equal shares, not consistent"), TaxonomyRelease(**equal, consistency=False)),
        (LEAVES, TaxonomyRelease(with_class=False, measure="leaves")),
        ("DiffGen", DiffGen()),
    ]
    public = TaxonomyRelease(with_class=False).fit(data.train_sample.head(0), schema=data.schema).tree_
    runs = [base.alone(name, method, repeat, name, release=name) for repeat in range(count) for name, method in methods]
    return Plan(runs, RangeErrors(data, 0, count_tree_frames.group_queries(public, QUERIES)))


def draw_ranges(frame: pd.DataFrame) -> Drawn:
    """One panel per data set."""
    for name, part in frame.groupby("data", sort=False):
        binned = evaluate.errors_by_query_size(part)
        binned["baseline"] = binned["release"].str.startswith((LEAVES, "DiffGen"))
        yield charts.error_by_range(binned, title=say("Errors on {name}", name=name)), binned


@dataclass
class MeanError(RangeErrors):
    """How far they are off on average, in rows."""

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        found = super().values(run, synthetic)
        return pd.DataFrame([{"metric": "mean error", "value": found["absolute"].mean()}])


def divisions(data: Dataset, count: int) -> Plan:
    """Errors of random range queries, by how often columns are divided, and how deep into their taxonomies."""
    how: dict[str, Any] = {CONSISTENT[0]: {}, LEAVES: {"measure": "leaves"}}
    runs = [
        base.alone(f"{way}: depth {depth}", method, repeat, way, divisions=times, release=way)
        for repeat in range(count)
        for way, given in how.items()
        for depth in DEPTHS
        for times in DIVISIONS
        for method in [TaxonomyRelease(with_class=False, iterations=times, max_per_attribute=depth, **given)]
    ]
    return Plan(runs, MeanError(data, 0, random_queries(data.schema, QUERIES)))


draw_divisions = partial(
    base.curves,
    x="divisions",
    panel="data",
    title=phrase("Errors of range queries, by how finely the table is divided"),
    x_title=phrase("divisions"),
    y_title=phrase("mean error, in rows"),
    mode=None,
    log_y=True,
    caption="Ranges are drawn at random, the same for all. What a division does not tell is answered as if people were "
    "spread evenly, so that few divisions have errors of their own, without any noise.",
)


def little_harm(name: str, part: pd.DataFrame) -> Cases:
    """Whether the most divisions have less than twice the error of the fewest, by data set and curve."""
    found = part.pivot_table("value", "divisions", "series", sort=False).sort_index()
    return {
        (f"{way} {name}".strip(), ""): bool(curve.iloc[-1] < 2 * curve.iloc[0]) if len(curve) > 1 else None
        for way, curve in ((way, found[way].dropna()) for way in found)
    }


def accuracies(data: Dataset, count: int) -> Plan:
    """Accuracy of classifiers that learned from generalized or synthetic rows."""
    methods: Named = [
        ("TaxonomyRelease", TaxonomyRelease()),
        (OWN, TaxonomyRelease(mode="published")),
        ("DiffGen", DiffGen()),
        ("NB-Synth", NaiveBayesSynthesizer(x_source="model")),
        ("PrivBayes refined", RefinedPrivBayes(relation="add_remove")),
    ]
    return base.swept(methods, data, EPSILONS, count, base.beside(data, base.REFERENCES, models=MODELS), models=MODELS)


def grows_slowly(name: str, part: pd.DataFrame) -> Cases:
    """Whether consistency lets errors grow less from small ranges to large ones than they do from the leaves alone."""
    errors = evaluate.errors_by_query_size(part).pivot_table("absolute", "bin", "release", sort=False)
    growth = (errors.iloc[-1] / errors.iloc[0]).dropna()
    ways = filter(growth.index.__contains__, CONSISTENT if LEAVES in growth else ())
    return {(f"{way} {name}".strip(), ""): bool(growth[way] < growth[LEAVES]) for way in ways}


def learns_more(name: str, part: pd.DataFrame) -> Cases:
    """Whether rows of the patent's own form teach more than the others', by data set, classifier and epsilon."""
    found = part.pivot_table("value", "epsilon", "series")
    return ahead(found, name, OWN, {*found} - {OWN, "TaxonomyRelease"}, lower=False)


def lacks_target(data: Dataset) -> str:
    """Why DiffGen cannot be compared."""
    target = data.schema.target
    return "DiffGen needs a class column with categories." if target is None or data.schema[target].numeric else ""


draw_accuracies = partial(
    base.curves,
    x="epsilon",
    panel="model",
    title=phrase("What a classifier learns"),
    x_title="epsilon",
    y_title=phrase("accuracy on real test rows"),
    log_x=True,
    mode=None,
    beside=base.REFERENCES,
    each=True,
    caption="The classifiers learned from released rows only, and were tested on real rows that no method has seen.",
)


FIGURES = (
    Figure(
        "ranges",
        phrase("Error by range"),
        "The patent claims that with consistency the error of a range query grows slowly with the size of the range. "
        "Its figures are lost; here the claim is tested, at epsilon 1 and with a private number of rows, on random "
        "queries of one to four columns. It can only come true if inner levels are measured as well, and those have to "
        "be paid for: with equal shares, all but the largest ranges are noisier than from the leaves alone. Columns "
        "take turns here, so that the groups are the same for all, and the queries ask for sums of them; DiffGen "
        "chooses groups of its own.",
        ranges,
        draw_ranges,
        lacks=lacks_target,
        claims=(
            Claim(
                "with consistency errors grow slowly with the range",
                grows_slowly,
                "(Judged by our two ways to measure all levels: whether errors grow less than from the leaves alone, "
                "which is all that the patent's own noise is on.)",
            ),
        ),
        together=False,
    ),
    Figure(
        "divisions",
        phrase("Depth and splits"),
        "The patent claims that as taxonomies get deeper and tables sparser its errors hardly suffer. Here columns are "
        "divided more and more often, at most one, two or three levels deep, at epsilon 1.",
        divisions,
        draw_divisions,
        lacks=lambda _: "",
        claims=(
            Claim(
                "more divisions hardly harm",
                little_harm,
                "(Less than twice the error; all are corrected.)",
            ),
        ),
    ),
    Figure(
        "accuracy",
        phrase("Classification"),
        "The patent claims that classifiers learn more from its rows than from those of other non-interactive "
        "methods. Here it meets three of them, corrected, all under the same relation; beside it stands our corrected "
        "form.",
        accuracies,
        draw_accuracies,
        claims=(
            Claim("classifiers learn more from its rows than from the others'", learns_more, columns=("data", "model")),
        ),
    ),
)

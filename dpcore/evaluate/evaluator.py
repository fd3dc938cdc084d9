"""The real rows that releases are measured on, and what one run of a sweep is measured by.

Synthesizers are measured by their synthetic rows, private classifiers by what they predict for real test rows. What
they are compared with are all real rows, also where at most some of each person's are learned from (`Schema.unit`).
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Ints
from dpcore.datasets import Dataset
from dpcore.domain.column import Codes
from dpcore.domain.range_query import RangeQuery, exact_answers, random_queries
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import ParameterError
from dpcore.evaluate.distances import marginal_avd, noise_floor, off_by_chance
from dpcore.evaluate.labels import Label, misclassification
from dpcore.evaluate.learners import (
    ASKED,
    MAJORITY,
    MODELS,
    Assessment,
    Model,
    Table,
    counted,
    judged,
    noted,
    sample_note,
    tstr,
)
from dpcore.evaluate.ranges import range_answers, true_answers
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.evaluate.verdict import Center, Fidelity, centers, fidelity
from dpcore.language import phrase
from dpcore.methods.base import PrivateClassifier, Synthesizer
from dpcore.methods.local.ppnb import NonPrivateNaiveBayes
from dpcore.rows import HeldRows, Rows

Method = Synthesizer | PrivateClassifier
Pair = tuple[str, str]
"""A metric and the model that it is of, "" where there is none."""
SCORES = {"accuracy": "accuracy", "balanced accuracy": "balanced_accuracy"}  # and the columns that hold them
AVDS = {
    phrase("1-way AVD"): (1, "columns"),
    phrase("2-way AVD"): (2, "columns"),
    phrase("3-way AVD"): (3, "columns"),
    phrase("2-way AVD on bits"): (2, "bits"),
    phrase("3-way AVD on bits"): (3, "bits"),
}
PROTOCOLS = {phrase("SVM error"): "tstr", phrase("SVM error on synthetic rows"): "published"}
RANGE_ERROR = phrase("range-query error")
MEASURES = (*SCORES, *AVDS, RANGE_ERROR, *PROTOCOLS)  # of synthesizers
CLASSIFIER_MEASURES = tuple(SCORES)
FRESH = 5  # samples of the real rows that a noise floor is the mean of
MOST_SUBSETS = 1_000  # of columns, drawn at random where there are more; Adult's 15 have 455 triples
QUERIES = {"count": 200, "max_columns": 3, "seed": 0}  # a public workload


def undefined_measures(methods: Mapping[str, Method], measures: Sequence[str]) -> dict[str, list[str]]:
    """Which of some measures which methods cannot have; methods that can have all of them are not named."""
    found = {label: [name for name in measures if name not in known_to(method)] for label, method in methods.items()}
    return {label: names for label, names in found.items() if names}


def known_to(method: Method) -> Sequence[str]:
    """The measures of a method's kind."""
    return CLASSIFIER_MEASURES if isinstance(method, PrivateClassifier) else MEASURES


def check_measures(
    measures: Sequence[str],
    data: Dataset,
    models: Sequence[str],
    label: Label | None,
    method: Method,
    *,
    skip: bool = False,
) -> list[Pair]:
    """What a method is measured by, if it and the data can give that; ParameterError otherwise.

    With `skip`, measures that exist but are not of the method's kind are left out, as `undefined_measures` names them.
    """
    classifies = isinstance(method, PrivateClassifier)
    known = known_to(method)
    unknown = [measure for measure in measures if measure not in known]
    if unknown and classifies and unknown[0] in MEASURES and not skip:
        raise ParameterError(
            f"{method.title} releases a classifier and no rows, so {unknown[0]!r} cannot be measured.",
            f"Choose from {', '.join(known)}.",
        )
    if not measures or [measure for measure in unknown if not (skip and measure in MEASURES)]:
        raise ParameterError("A measure is not known.", f"Choose from {', '.join(known)}.")
    asked = [measure for measure in dict.fromkeys(measures) if measure in known]
    if not asked:
        raise ParameterError(f"{method.title} has none of these measures.", f"Add one of {', '.join(known)}.")
    target = getattr(method, "target", None) if classifies else None
    if set(asked) & set(SCORES) and (not data.sizes[1] or (target or data.schema.target) is None):
        raise ParameterError("Accuracy needs a class column and test rows.", "Choose both with the data.")
    if label is None and set(asked) & set(PROTOCOLS):
        raise ParameterError("The SVM needs something to tell.", "Pass label=Label(column=..., equals=...).")
    degree = max((AVDS[measure][0] for measure in asked if measure in AVDS and "bits" not in measure), default=0)
    if degree > len(data.schema):
        raise ParameterError(f"There are no {degree}-way marginals of so few columns.", "Measure fewer ways.")
    trained = [""] if classifies else list(models)
    if set(asked) & set(SCORES) and not (trained and {*trained} <= {"", *MODELS}):
        raise ParameterError("A model is not known.", f"Choose from {', '.join(MODELS)}.")
    return [(measure, model) for measure in asked for model in (trained if measure in SCORES else [""])]


class Evaluator:
    """The real rows that runs are measured against; what every run needs of them is worked out once.

    `label` is what a linear SVM is to tell. Counts are of all training rows; what learns, or is asked, row by row gets
    `Dataset.train` and `test`, which are uniform samples if the rows are in a folder.
    """

    def __init__(self, data: Dataset, label: Label | None = None) -> None:
        self.data, self.label = data, label

    @cached_property
    def train(self) -> Codes:
        """The training rows' codes."""
        return self.data.schema.encode(self.data.train_sample)

    @cached_property
    def test(self) -> Codes:
        """The test rows' codes."""
        return self.data.schema.encode(self.data.test_sample)

    @cached_property
    def rows(self) -> Rows:
        """All training rows, to be counted wherever they are."""
        data, schema = self.data, self.data.schema
        return HeldRows(self.train, schema.sizes) if data.held else counted(data.train, schema)

    def first_rows(self, names: Sequence[str], most: int) -> pd.DataFrame:
        """Some columns of the first training rows, which are for the screen of their owner alone."""
        return self.data.train_sample[list(names)].head(most)

    def class_rows(self, target: str) -> Ints:
        """How many training rows have each class: for the screen of their owner alone."""
        column = self.data.schema[target]
        codes = self.train[:, self.data.schema.index(target)]
        return np.bincount(codes, minlength=column.size)[: len(column.categories)]

    def people(self, unit: PrivacyUnit) -> int:
        """How many persons the training rows are of."""
        return int(unit.persons(self.data.train_sample).max(initial=-1)) + 1

    def contributed(self, unit: PrivacyUnit | None, *, fill: bool) -> Ints:
        """Positions of training rows that are compared with a release: all, or those that a unit keeps of each person.

        They are chosen at random like those of the release, but not with it: which ones it is of is secret.
        """
        rows = self.data.train_sample
        if unit is None:
            return np.arange(len(rows))
        return unit.kept(unit.persons(rows), np.random.default_rng(0).random(len(rows)), fill=fill)

    @cached_property
    def _queries(self) -> tuple[list[Any], Any]:
        """The workload, and the shares of the training rows that are its true answers."""
        queries = random_queries(self.data.schema, **QUERIES)
        return queries, self.answers(queries) / len(self.rows)

    def judged(self, model: Model, target: str) -> Assessment:
        """How well a model tells the class of the test rows."""
        schema = self.data.schema
        return judged(model(self.data.test_sample), self.test[:, schema.index(target)], schema[target].size)

    def truthful(self, target: str, schema: Schema, *, normal: bool) -> NonPrivateNaiveBayes:
        """Naive Bayes from the true rows, with normal distributions of numbers or their bins."""
        method = NonPrivateNaiveBayes(numbers="moments" if normal else "bins", target=target)
        return method.fit(self.data.train_sample, schema=schema, ledger=Ledger(method.relation))

    def scores(self, models: Mapping[str, Model], target: str) -> Statistics:
        """`model`, `accuracy` and `balanced_accuracy` of models on the test rows."""
        rows = [(name, *self.judged(model, target)[:2]) for name, model in models.items()]
        return statistics(pd.DataFrame(rows, columns=["model", *SCORES.values()]))

    def of_classifier(self, fitted: PrivateClassifier, asked: Sequence[Pair]) -> list[float]:
        """Some `CLASSIFIER_MEASURES` of a released classifier on the test rows."""
        found = self.judged(fitted.predict_proba, fitted.target_)
        return [float(getattr(found, SCORES[metric])) for metric, _ in asked]

    def of_rows(self, fitted: Synthesizer, synthetic: pd.DataFrame, asked: Sequence[Pair]) -> list[float]:
        """Some `MEASURES` of a release of rows; NaN where nothing could be learned from them.

        Distances are means over the subsets of columns. The range-query error is the mean over a public workload of
        range queries on 1 to 3 columns (`QUERIES`) of how far the answers are off, as a share of all rows. A release
        that is a tree of counts answers by it, any other by the shares of its rows.
        """
        codes = self.data.schema.encode(synthetic)
        learned = pd.DataFrame()
        if models := list(dict.fromkeys(model for metric, model in asked if metric in SCORES)):
            learned = self.learned(codes, models=models, include_real=False).set_index("model")

        def value(metric: str, model: str) -> Any:
            if metric in SCORES:
                return learned[SCORES[metric]][model]
            if metric in AVDS:
                return self.distances(codes, *AVDS[metric])["avd"].mean()
            return self._range_error(fitted, codes) if metric == RANGE_ERROR else self._mistaken(metric, synthetic)

        return [float(value(*pair)) for pair in asked]

    def learned(self, released: Table, target: str | None = None, **how: Any) -> Statistics:
        """`tstr` on the test rows, of some rows."""
        schema = self.data.schema
        found = tstr(self.train, self.test, released, schema, target or schema.target or "", **how)
        learns = (found["trained_on"] == "real") & (found["model"] != MAJORITY)
        of = sample_note(len(self.train), len(self.rows))
        both = zip(found["note"], learns, strict=True)
        notes = [noted(note, of * real, self.asked) for note, real in both]
        return statistics(found.assign(note=notes))

    @property
    def asked(self) -> str:
        """That models are asked about some test rows of a folder, in a sentence; empty if it is about all."""
        return sample_note(len(self.data.test_sample), self.data.sizes[1], ASKED)

    def distances(
        self, released: Table, degree: int, on: str = "columns", most: int | None = MOST_SUBSETS
    ) -> pd.DataFrame:
        """`marginal_avd` of some rows from the training rows, in at most so many subsets."""
        schema = self.data.schema
        return marginal_avd(self.train, released, schema, degree, on=on, max_subsets=most, counts=self.rows)

    def beside_floors(self, released: Table, degree: int, most: int | None) -> Statistics:
        """`distances` and, as `floor`, `floors` of as many rows; of pairs, their columns `a` and `b` as well."""
        floor = self.floors(degree, most=most, rows=len(released)).rename(columns={"avd": "floor"})
        found = self.distances(released, degree, most=most).merge(floor, on="attributes")
        if degree == 2:
            found["a"], found["b"] = found["attributes"].str[0], found["attributes"].str[1]
        return statistics(found.assign(attributes=found["attributes"].map(" × ".join)))

    def fidelity(self, released: Table) -> Fidelity:
        """`fidelity` of some rows."""
        distant = tuple(center for center in self.centers(released) if center.distant)
        return fidelity(self.train, released, self.data.schema, counts=self.rows, distant=distant)

    def centers(self, released: Table) -> tuple[Center, ...]:
        """`centers` of some rows; none where codes alone are at hand."""
        rows, schema = self.data.train_sample, self.data.schema
        return centers(rows, released, schema) if isinstance(released, pd.DataFrame) else ()

    def floors(self, degree: int, on: str = "columns", most: int | None = MOST_SUBSETS, **how: Any) -> pd.DataFrame:
        """`noise_floor` of the same subsets."""
        schema = self.data.schema
        return noise_floor(self.train, schema, degree, on=on, max_subsets=most, counts=self.rows, **how)

    def floor(self, metric: str) -> float:
        """A distance or range-query error of fresh samples of the training rows, as many rows as they are."""
        if metric in AVDS:
            return float(self.floors(*AVDS[metric], repeats=FRESH)["avd"].mean())
        rng, n = np.random.default_rng(0), len(self.rows)
        if not self.data.held:  # by how often a sample holds what a query asks for
            return float(off_by_chance(self._queries[1], n).mean())
        return float(np.mean([self._range_error(None, self.train[rng.integers(n, size=n)]) for _ in range(FRESH)]))

    def answers(self, queries: Sequence[RangeQuery]) -> NDArray[np.int64]:
        """How many training rows some range queries ask for."""
        return true_answers(self.rows, self.data.schema, queries)

    def _range_error(self, fitted: Synthesizer | None, codes: Codes) -> float:
        queries, truth = self._queries
        if fitted is not None and hasattr(fitted, "tree_"):
            answers = range_answers(fitted, queries, self.data.schema) / len(self.rows)
        else:
            answers = exact_answers(codes, self.data.schema, queries) / len(codes)
        return float(np.abs(answers - truth).mean())

    def _mistaken(self, metric: str, synthetic: pd.DataFrame) -> float:
        data, label = self.data, cast(Label, self.label)  # which `check_measures` asks for
        asked: dict[str, Any] = {"protocol": PROTOCOLS[metric], "repeats": 1}
        found = misclassification(data.test_sample, synthetic, data.schema, label, **asked)
        return float(found["error"].mean())

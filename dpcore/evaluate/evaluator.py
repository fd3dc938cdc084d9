"""The real rows that releases are measured on, and what one run of a sweep is measured by.

Synthesizers are measured by their synthetic rows, private classifiers by what they predict for real
test rows. What they are compared with are all real rows, also where at most some of each person's
are learned from (`Schema.unit`).

`baselines` are what releases have to be compared with: what real rows teach, what knowing nothing
scores, what luck alone does. Nothing here is private.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Floats, Ints
from dpcore.datasets import Dataset
from dpcore.domain.column import Codes
from dpcore.domain.range_query import RangeQuery, count_matches, random_queries
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import ParameterError
from dpcore.evaluate.distances import Center, Fidelity, centers, fidelity, marginal_avd, noise_floor, off_by_chance
from dpcore.evaluate.learners import (
    MAJORITY,
    MODELS,
    TESTED_ON,
    Assessment,
    Label,
    PredictFunction,
    TableLike,
    add_sample_notes,
    as_rows,
    assess,
    assess_probabilities,
    misclassification,
    one_hot,
    real_data_baseline,
    require_rows,
    sample_note,
    tstr,
)
from dpcore.evaluate.ranges import range_answers, true_answers
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.language import phrase
from dpcore.methods.base import PrivateClassifier, Synthesizer
from dpcore.methods.local.ppnb import NonPrivateNaiveBayes
from dpcore.rows import HeldRows, Rows

Method = Synthesizer | PrivateClassifier
MetricModel = tuple[str, str]
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
MOST_CLIQUES = 1_000  # of columns, drawn at random where there are more; Adult's 15 have 455 triples
QUERIES = {"count": 200, "max_columns": 3, "seed": 0}  # a public workload

REAL, FLOOR = phrase("trained on real rows"), phrase("a fresh sample of the real rows")
PLAIN = phrase("same method, noiseless")
FOREST, TREE = phrase("scikit-learn forest"), phrase("scikit-learn tree")
KINDS = (REAL, MAJORITY, FOREST, TREE, FLOOR)
DEPTH = 5  # of scikit-learn's tree, if the method has none
TREES, DEEP = 25, 20  # of scikit-learn's forest, at least; a shallow one would make a release look good


def undefined_measures(methods: Mapping[str, Method], measures: Sequence[str]) -> dict[str, list[str]]:
    """Return, for each method that lacks some of the measures, the names of those it lacks."""
    found = {label: [name for name in measures if name not in measures_of(method)] for label, method in methods.items()}
    return {label: names for label, names in found.items() if names}


def measures_of(method: Method) -> Sequence[str]:
    """Return the measures that a method's kind has: of classifiers, or of synthetic data."""
    return CLASSIFIER_MEASURES if isinstance(method, PrivateClassifier) else MEASURES


def check_measures(
    measures: Sequence[str],
    data: Dataset,
    models: Sequence[str],
    label: Label | None,
    method: Method,
    *,
    skip: bool = False,
) -> list[MetricModel]:
    """Return the (measure, model) pairs to score a method by; ParameterError if one is impossible.

    `models` are the classifiers that accuracy on synthetic rows is measured by, and `label` is what
    the linear SVM predicts. With `skip`, measures that exist but are not of the method's kind are
    left out, as `undefined_measures` names them.
    """
    classifies = isinstance(method, PrivateClassifier)
    known = measures_of(method)
    unknown = [measure for measure in measures if measure not in known]
    if unknown and classifies and unknown[0] in MEASURES and not skip:
        raise ParameterError(
            f"{method.title} releases a classifier and no rows, so {unknown[0]!r} cannot be measured.",
            f"Choose from {', '.join(known)}.",
        )
    if not measures or [measure for measure in unknown if not (skip and measure in MEASURES)]:
        raise ParameterError("A measure is not known.", f"Choose from {', '.join(known)}.")
    pairs = [measure for measure in dict.fromkeys(measures) if measure in known]
    if not pairs:
        raise ParameterError(f"{method.title} has none of these measures.", f"Add one of {', '.join(known)}.")
    target = getattr(method, "target", None) if classifies else None
    if set(pairs) & set(SCORES) and (not data.sizes[1] or (target or data.schema.target) is None):
        raise ParameterError("Accuracy needs a class column and test rows.", "Choose a class and a test share.")
    if label is None and set(pairs) & set(PROTOCOLS):
        raise ParameterError("The SVM needs a label to predict.", "Pass label=Label(column=..., equals=...).")
    if not data.sizes[1] and "tstr" in (PROTOCOLS.get(measure) for measure in pairs):
        raise ParameterError("The SVM's error on real rows needs test rows.", "Choose a test share.")
    degree = max((AVDS[measure][0] for measure in pairs if measure in AVDS and "bits" not in measure), default=0)
    if degree > len(data.schema):
        raise ParameterError(f"There are no {degree}-way marginals of so few columns.", "Choose a smaller degree.")
    trained = [""] if classifies else list(models)
    if set(pairs) & set(SCORES) and not (trained and {*trained} <= {"", *MODELS}):
        raise ParameterError("A model is not known.", f"Choose from {', '.join(MODELS)}.")
    return [(measure, model) for measure in pairs for model in (trained if measure in SCORES else [""])]


class Evaluator:
    """Real rows to measure runs against, with everything cached that several runs need.

    `label` is what a linear SVM predicts. Counts are over all training rows. Classifiers learn from
    `Dataset.train` and are tested on `test`, which are uniform samples if the rows are in a folder.
    """

    def __init__(self, data: Dataset, label: Label | None = None) -> None:
        """Keep the data set and the label; nothing is computed yet."""
        self.data, self.label = data, label

    @cached_property
    def train(self) -> Codes:
        """Codes of the training rows."""
        return self.data.schema.encode(self.data.train_sample)

    @cached_property
    def test(self) -> Codes:
        """Codes of the test rows."""
        return self.data.schema.encode(self.data.test_sample)

    @cached_property
    def rows(self) -> Rows:
        """All training rows as a source of counts, in memory or in a folder."""
        data, schema = self.data, self.data.schema
        return HeldRows(self.train, schema.sizes) if data.in_memory else as_rows(data.train, schema)

    def first_rows(self, names: Sequence[str], most: int) -> pd.DataFrame:
        """Return some columns of the first training rows. Only for the screen of the rows' owner."""
        return self.data.train_sample[list(names)].head(most)

    def class_rows(self, target: str) -> Ints:
        """Count the training rows of each class. Only for the screen of the rows' owner."""
        column = self.data.schema[target]
        codes = self.train[:, self.data.schema.index(target)]
        return np.bincount(codes, minlength=column.size)[: len(column.categories)]

    def people(self, unit: PrivacyUnit) -> int:
        """Return how many persons the training rows belong to; `unit` names their column."""
        return int(unit.persons(self.data.train_sample).max(initial=-1)) + 1

    def compared_rows(self, unit: PrivacyUnit | None, *, fill: bool) -> Ints:
        """Return the positions of the training rows that a release is compared with.

        Without a privacy unit these are all rows; with one, those that it keeps of each person.
        With `fill`, every person has equally many rows, some of them repeated. The rows are chosen
        at random like those of the release, but independently: the release's choice is secret.
        """
        rows = self.data.train_sample
        if unit is None:
            return np.arange(len(rows))
        return unit.bound_contributions(unit.persons(rows), np.random.default_rng(0).random(len(rows)), fill=fill)

    @cached_property
    def _queries(self) -> tuple[list[Any], Any]:
        """The public range queries, and their true answers as shares of the training rows."""
        queries = random_queries(self.data.schema, **QUERIES)
        return queries, self.answers(queries) / len(self.rows)

    def assess_model(self, model: PredictFunction, target: str) -> Assessment:
        """Score a model's predicted classes of the test rows.

        `model` returns the probabilities of the classes for rows, and `target` is the class column.
        """
        schema, found = self.data.schema, model(self.data.test_sample)
        return assess_probabilities(found, self.test[:, schema.index(target)], schema[target].size)

    def fit_true_naive_bayes(self, target: str, schema: Schema, *, normal: bool) -> NonPrivateNaiveBayes:
        """Fit naive Bayes, without noise, to the true rows; `target` is the class column.

        With `normal`, numbers are normally distributed within a class, otherwise they are binned.
        """
        method = NonPrivateNaiveBayes(numbers="moments" if normal else "bins", target=target)
        return method.fit(self.data.train_sample, schema=schema, ledger=Ledger(method.relation))

    def scores(self, models: Mapping[str, PredictFunction], target: str) -> Statistics:
        """Return `model`, `accuracy` and `balanced_accuracy` of models on the test rows.

        These are the columns of the result. `models` maps names to functions that return the
        probabilities of the classes for rows, and `target` is the class column.
        """
        rows = [(name, *self.assess_model(model, target)[:2]) for name, model in models.items()]
        return statistics(pd.DataFrame(rows, columns=["model", *SCORES.values()]))

    def score_classifier(self, fitted: PrivateClassifier, measured: Sequence[MetricModel]) -> list[float]:
        """Return a classifier's scores on the test rows, one per (measure, model) in `measured`."""
        found = self.assess_model(fitted.predict_proba, fitted.target_)
        return [float(getattr(found, SCORES[metric])) for metric, _ in measured]

    def score_rows(self, fitted: Synthesizer, synthetic: pd.DataFrame, measured: Sequence[MetricModel]) -> list[float]:
        """Return the scores of released rows, one per (measure, model) in `measured`.

        `fitted` is the method that released `synthetic`. A score is NaN where none exists.
        Distances are means over the subsets of columns. The range-query error is the mean, over a
        public workload of range queries on 1 to 3 columns (`QUERIES`), of the absolute error as a
        share of all rows. A release that is a tree of counts answers by its counts, any other by
        its rows.
        """
        codes = self.data.schema.encode(synthetic)
        learned = pd.DataFrame()
        if models := list(dict.fromkeys(model for metric, model in measured if metric in SCORES)):
            learned = self.train_and_test(codes, models=models, include_real=False).set_index("model")
        mistaken = self._mistaken(synthetic) if any(metric in PROTOCOLS for metric, _ in measured) else {}

        def value(metric: str, model: str) -> Any:
            """Return the score of the rows in one measure, by one model."""
            if metric in SCORES:
                return learned[SCORES[metric]][model]
            if metric in AVDS:
                return self.distances(codes, *AVDS[metric])["avd"].mean()
            return self._range_error(fitted, codes) if metric == RANGE_ERROR else mistaken[PROTOCOLS[metric]]

        return [float(value(*pair)) for pair in measured]

    def train_and_test(self, released: TableLike, target: str | None = None, **how: Any) -> Statistics:
        """Return the frame of `tstr` for released rows, tested on the test rows.

        `target` is the class column, by default the schema's; `how` are other arguments of `tstr`.
        """
        schema, train, test = self.data.schema, self.train, self.test
        found = tstr(train, test, released, schema, target or schema.target or "", **how)
        sizes = {"real": (len(train), len(self.rows))}
        return statistics(add_sample_notes(found, sizes, (len(test), self.data.sizes[1])))

    @property
    def test_rows_note(self) -> str:
        """A sentence that says how many of a folder's test rows are used; empty if all are."""
        return sample_note(len(self.data.test_sample), self.data.sizes[1], TESTED_ON)

    def distances(
        self, released: TableLike, degree: int, on: str = "columns", most: int | None = MOST_CLIQUES
    ) -> pd.DataFrame:
        """Return `marginal_avd` between released and training rows.

        Of the subsets of `degree` columns, at most `most` are compared. `on` is "columns", or
        "bits" for the bits of their codes.
        """
        return marginal_avd(self.rows, released, self.data.schema, degree, on=on, max_cliques=most)

    def distances_with_floors(self, released: TableLike, degree: int, most: int | None) -> Statistics:
        """Return `distances` with the column `floor`, the noise floor of equally many rows.

        The floor is the mean distance of resamples of the training rows. Of the subsets of `degree`
        columns, at most `most` are compared.
        """
        floor = self.floors(degree, most=most, rows=len(released)).rename(columns={"avd": "floor"})
        found = self.distances(released, degree, most=most).merge(floor, on="attributes")
        if degree == 2:
            found["a"], found["b"] = found["attributes"].str[0], found["attributes"].str[1]
        return statistics(found.assign(attributes=found["attributes"].map(" × ".join)))

    def fidelity(self, released: TableLike) -> Fidelity:
        """Return the `Fidelity` of released rows to the training rows."""
        distant = tuple(center for center in self.centers(released) if center.distant)
        return fidelity(self.rows, released, self.data.schema, distant=distant)

    def centers(self, released: TableLike) -> tuple[Center, ...]:
        """Compare means and medians of released and training rows; empty if given only codes."""
        rows, schema = self.data.train_sample, self.data.schema
        return centers(rows, released, schema) if isinstance(released, pd.DataFrame) else ()

    def floors(self, degree: int, on: str = "columns", most: int | None = MOST_CLIQUES, **how: Any) -> pd.DataFrame:
        """Return the `noise_floor` of the subsets of columns that `distances` measures.

        `how` are other arguments of `noise_floor`.
        """
        return noise_floor(self.rows, self.data.schema, degree, on=on, max_cliques=most, **how)

    def floor(self, metric: str) -> float:
        """Return the distance or range-query error of fresh samples of the training rows.

        `metric` is the name of the measure.
        """
        if metric in AVDS:
            return float(self.floors(*AVDS[metric], repeats=FRESH)["avd"].mean())
        rng, n = np.random.default_rng(0), len(self.rows)
        if not self.data.in_memory:  # by how often a sample holds what a query asks for
            return float(off_by_chance(self._queries[1], n).mean())
        return float(np.mean([self._range_error(None, self.train[rng.integers(n, size=n)]) for _ in range(FRESH)]))

    def answers(self, queries: Sequence[RangeQuery]) -> NDArray[np.int64]:
        """Count the training rows that match each range query."""
        return true_answers(self.rows, self.data.schema, queries)

    def _range_error(self, fitted: Synthesizer | None, codes: Codes) -> float:
        """Return the mean error of the public range queries, as a share of all rows.

        A fitted method with a tree of counts answers by it; otherwise the rows of `codes` answer.
        """
        queries, truth = self._queries
        if fitted is not None and hasattr(fitted, "tree_"):
            answers = range_answers(fitted, queries, self.data.schema) / len(self.rows)
        else:
            answers = count_matches(codes, self.data.schema, queries) / len(codes)
        return float(np.abs(answers - truth).mean())

    def _mistaken(self, synthetic: pd.DataFrame) -> Mapping[str, float]:
        """Return the linear SVM's error by protocol; one fit serves both protocols.

        The protocols are those of `misclassification`: tested on real rows or on released ones.
        """
        data, label = self.data, cast(Label, self.label)  # which `check_measures` asks for
        protocol = "both" if len(data.test_sample) else "published"
        found = misclassification(data.test_sample, synthetic, data.schema, label, protocol=protocol, repeats=1)
        return dict(zip(found["protocol"], found["error"], strict=True))


def baselines(
    data: Dataset,
    kinds: Sequence[str],
    measures: Sequence[str] = (*SCORES,),
    *,
    models: Sequence[str] = MODELS[:1],
    target: str | None = None,
    plain: PredictFunction | None = None,
    n_trees: int = TREES,
    tree_depth: int = DEPTH,
) -> pd.DataFrame:
    """Return all baselines of a data set, for charts. Reads real rows: not private.

    A function of its arguments alone, so callers may cache it.

    Parameters
    ----------
    data : Dataset
        Real training and test rows.
    kinds : sequence of str
        Some of `KINDS`. Of accuracies: what `models` learn from the real training rows; their
        majority class (the first in the schema if several are); scikit-learn's forest and tree,
        which see numbers as they are, ordered categories by their position, and others one-hot, and
        which are left out if no column but the class is there. Of distances and range queries: a
        fresh sample of the training rows.
    measures : sequence of str
        Some of `experiment.MEASURES`; those about an SVM have no baselines. Default: accuracies.
    models : sequence of str
        Some of `MODELS`. Default: the first.
    target : str, optional
        The class column, if not the schema's. Without any there are no baselines of accuracies.
    plain : callable, optional
        What a private method's own builder makes of the training rows without noise: the classes'
        probabilities of rows, shape (n, classes). It is the baseline `PLAIN`.
    n_trees : int, default=25
        The number of trees of scikit-learn's forest.
    tree_depth : int, default=5
        The most levels of scikit-learn's tree.

    Returns
    -------
    DataFrame
        `metric`, `model` ("" if it is for all), `reference`, `value`; accuracies in the order of
        `kinds`.

    Raises
    ------
    ParameterError
        If a kind is not known.
    DataError
        If there are no training or no test rows.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ParameterError(f"The baseline {unknown[0]!r} is not known.", f"Choose from {', '.join(KINDS)}.")
    evaluator, schema, target = Evaluator(data), data.schema, target or data.schema.target
    rows: list[tuple[str, str, str, float]] = []
    if FLOOR in kinds:
        rows += [(name, "", FLOOR, evaluator.floor(name)) for name in measures if name in (*AVDS, RANGE_ERROR)]
    pairs = [metric for metric in measures if metric in SCORES]
    if pairs and target is not None:
        train, test, index = evaluator.train, evaluator.test, schema.index(target)
        require_rows(train, test)
        truth, classes = test[:, index], schema[target].size
        forests = {
            FOREST: RandomForestClassifier(n_estimators=n_trees, max_depth=DEEP, random_state=0),
            TREE: DecisionTreeClassifier(max_depth=tree_depth, random_state=0),
        }
        real = real_data_baseline(train, test, schema, target, models=models if REAL in kinds else ())
        found: dict[str, list[tuple[str, Any]]] = {MAJORITY: [("", real.iloc[-1])]}
        found[REAL] = [(str(one["model"]), one) for _, one in real.iloc[:-1].iterrows()]
        found[PLAIN] = [("", evaluator.assess_model(plain, target))] if plain else []
        for kind in {*kinds} & {*forests} if len(schema) > 1 else ():
            grown = forests[kind].fit(inputs(data.train_sample, train, schema, index), train[:, index])
            predicted = grown.predict(inputs(data.test_sample, test, schema, index))
            found[kind] = [("", assess(truth, predicted, classes))]
        rows += [
            (metric, model, kind, float(getattr(one, SCORES[metric])))
            for kind in (*kinds, PLAIN)
            for metric in pairs
            for model, one in found.get(kind, ())
        ]
    return pd.DataFrame(rows, columns=["metric", "model", "reference", "value"])


def inputs(frame: pd.DataFrame, codes: Codes, schema: Schema, target: int) -> Floats:
    """Return the rows as scikit-learn's trees take them, shape (n, inputs).

    `codes` are those of `frame`, and the column at position `target` is left out. Numbers are as
    they are, NaN if missing; ordered categories have their code, and others are one-hot.
    """
    parts = []
    for index, column in enumerate(schema):
        if index == target:
            continue
        if column.numeric:
            parts.append(column.numbers(frame[column.name])[:, None])
        elif column.kind == "ordered":
            parts.append(codes[:, [index]].astype(float))
        else:
            parts.append(one_hot(codes[:, [index]], [column.size]).toarray())
    return np.concatenate(parts, axis=1, dtype=np.float32)

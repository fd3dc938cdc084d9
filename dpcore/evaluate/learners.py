"""How good classifiers are: those that learn from a release (train on synthetic, test on real), and released ones.

The classifiers work on codes, so numbers are known to them by their public bins: one-hot for the
linear models, categories for the Bayes net. All shapes come from the schema, so tables that lack a
value agree with those that do not.

What they tell is a class column, or a public yes-or-no `Label`: a rule on one column's cells, not
on its codes, so its threshold need not be an edge of a bin.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.svm import LinearSVC

from dpcore.arguments import Flags, Floats, Ints, Progress, no_progress, require_frame
from dpcore.domain.cells import as_numbers, factorize_texts
from dpcore.domain.column import Codes, Column
from dpcore.domain.dates import as_day, as_days, iso
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.evaluate.statistics import Statistics, statistics
from dpcore.language import phrase
from dpcore.methods.base import PrivateEstimator
from dpcore.rows import Folder, HeldRows, Rows, rows_of
from dpcore.rows.data import MOST_DRAWN, sample_rows
from dpcore.text import canonical

MOST_CLASSES = 20  # of a linear model: with hundreds it learns for minutes
MAX_STEPS = 1_000  # Adult needs 76 steps for the regression and 10 for the machine

# L-BFGS at its default tolerance agrees with a fully converged fit on Adult to .0002 in accuracy and needs a tenth
# of a second; with 41 classes it takes half the time of Newton steps. The primal machine (dual=False) draws nothing;
# the dual one shuffles rows, and needs many more steps where classes overlap. So no model draws anything.
LINEAR: dict[str, Callable[[], Any]] = {
    phrase("logistic regression"): lambda: LogisticRegression(max_iter=MAX_STEPS),
    phrase("linear SVM"): lambda: LinearSVC(dual=False, max_iter=MAX_STEPS),
}
BAYES_NET = phrase("Bayes net")
MODELS = (*LINEAR, BAYES_NET)
MAJORITY = phrase("majority class")
SAMPLED = phrase("Trained on {some:,} rows, a uniform sample of {all:,}.")
TESTED_ON = phrase("All models are tested on {some:,} rows, a uniform sample of {all:,} test rows.")
TableLike = pd.DataFrame | Codes | Folder
"""Rows of a schema; or their codes, for callers who encode once; or a folder of these, larger than memory."""
PredictFunction = Callable[[pd.DataFrame], Floats]
"""What gives rows' probabilities, shape (n, classes)."""
M = TypeVar("M", bound=PrivateEstimator)

PROTOCOLS = {"tstr": ("tstr",), "published": ("published",), "both": ("tstr", "published")}


def tstr(
    train: TableLike,
    test: TableLike,
    synthetic: TableLike,
    schema: Schema,
    target: str,
    *,
    models: Sequence[str] = MODELS,
    include_real: bool = True,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """Train classifiers on synthetic rows and test them on real ones. Not private.

    Parameters
    ----------
    train, test, synthetic : DataFrame, codes of one, or Folder
        Real rows, other real rows, and the release. Of a folder, models learn from a uniform sample
        of at most 50,000 rows, or are tested on such a sample; `note` says so.
    schema : Schema
        The schema of all three.
    target : str
        The class column; all other columns of the schema are used to predict it.
    models : sequence of str
        Some of `MODELS`, by default all.
    include_real : bool, default=True
        Whether to add the rows of `real_data_baseline`. It depends on no release, so callers may
        compute it once.
    progress : callable, optional
        Called with a fraction and a text before each model; raising inside it cancels.

    Returns
    -------
    DataFrame
        `model`, `trained_on` ("released" or "real"), `accuracy`, `balanced_accuracy` (mean recall
        of the classes in `test`) and `note`: why an accuracy is NaN, or what else to know about the
        fit.

    Raises
    ------
    DataError, ParameterError, SchemaError
        If `train` or `test` is empty, a data set does not fit the schema, or a model or the target
        is not known.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> method = dp.IndependentMarginals(random_state=1).fit(data.train, schema=data.schema)
    >>> rows = method.sample(1_000)
    >>> models = ["logistic regression"]
    >>> found = dp.evaluate.tstr(data.train, data.test, rows, data.schema, "income", models=models)
    >>> found["trained_on"].tolist()
    ['released', 'real', 'real']
    """
    real, tested, released = (as_codes(table, schema) for table in (train, test, synthetic))
    require_rows(real, tested)
    tables = {"released": released} | ({"real": real} if include_real else {})
    sizes = {"released": (len(released), len(synthetic)), "real": (len(real), len(train))}
    found = _scores(tables, [tested], schema, target, models, progress)
    return add_sample_notes(found, sizes, (len(tested), len(test)))


def add_sample_notes(
    found: pd.DataFrame, trained: Mapping[str, tuple[int, int]], tested: tuple[int, int]
) -> pd.DataFrame:
    """Add notes on which models were trained or tested on a sample of a folder's rows.

    `found` is the frame of `tstr`. `trained` has, by source, the numbers of rows that were used and
    of all rows; `tested` has these two numbers for the test rows.
    """
    notes = [
        (note, sample_note(*trained.get(source, (0, 0))) * (model != MAJORITY), sample_note(*tested, TESTED_ON))
        for model, source, note in found[["model", "trained_on", "note"]].itertuples(index=False)
    ]
    return found.assign(note=[" ".join(filter(None, parts)) for parts in notes])


def sample_note(some: int, every: int, text: str = SAMPLED) -> str:
    """Return a sentence that `some` of `every` rows were sampled; empty if all rows were used.

    `text` is the sentence, with the places {some} and {all} for the two numbers.
    """
    return text.format(some=some, all=every) if every > some else ""


def real_data_baseline(
    train: TableLike, test: TableLike, schema: Schema, target: str, *, models: Sequence[str] = MODELS
) -> pd.DataFrame:
    """Return the baselines of `tstr`: real training rows, and their majority class. Not private.

    A function of its arguments alone, so callers may cache it.

    Parameters
    ----------
    train, test, schema, target
        As for `tstr`.
    models : sequence of str
        Some of `MODELS`, by default all.

    Returns
    -------
    DataFrame
        As of `tstr`; its last row is the model "majority class", which predicts the most frequent
        class of `train` (the first in the schema if tied).

    Raises
    ------
    DataError, ParameterError, SchemaError
        As for `tstr`.
    """
    real, tested = as_codes(train, schema), as_codes(test, schema)
    require_rows(real, tested)
    return _scores({"real": real}, [tested], schema, target, models, no_progress)


def _scores(
    tables: dict[str, Codes],
    tests: Sequence[Codes],
    schema: Schema,
    target: str,
    models: Sequence[str],
    progress: Progress,
) -> pd.DataFrame:
    """Return the frame of `tstr` for models trained on each of `tables`, and the majority class.

    Each model is fitted once and has a row for each table in `tests`. The majority class is that of
    the table called "real".
    """
    position, classes = schema.index(target), schema[target].size
    unknown = [model for model in models if model not in MODELS]
    if unknown:
        raise ParameterError(f"The model {unknown[0]!r} is not known.", f"Choose from {', '.join(MODELS)}.")
    every, truths = np.concatenate(tests), [test[:, position] for test in tests]
    ends = np.cumsum([*map(len, tests)])[:-1]
    runs = [(model, source) for source in tables for model in models]
    rows: list[tuple[Any, ...]] = []
    for done, (model, source) in enumerate(runs):
        progress(done / len(runs), f"{model}, trained on {source} rows")
        try:
            predicted, note = fit_predict(model, tables[source], every, schema.sizes, position)
            parts = zip(truths, np.split(predicted, ends), strict=True)
            rows += [(model, source, *assess(*part, classes)[:2], note) for part in parts]
        except ValueError as error:  # what our own checks and scikit-learn raise for rows that cannot be learned from
            rows += [(model, source, np.nan, np.nan, f"Not fitted: {error}")] * len(tests)
    if "real" in tables:
        constant = np.bincount(tables["real"][:, position]).argmax()
        rows += [(MAJORITY, "real", *assess(truth, np.full_like(truth, constant), classes)[:2], "") for truth in truths]
    progress(1.0, "done")
    return pd.DataFrame(rows, columns=["model", "trained_on", "accuracy", "balanced_accuracy", "note"])


class Assessment(NamedTuple):
    """The accuracy of predictions, with the confusion matrix: a row for each true class."""

    accuracy: float
    balanced_accuracy: float  # the mean recall of the classes that occur
    confusion: Ints


def assess(truth: NDArray[Any], predicted: NDArray[Any], classes: int) -> Assessment:
    """Compare true and predicted class codes, one per row; there must be at least one row.

    `classes` is the number of classes.
    """
    cells = truth.astype(np.intp) * classes + predicted
    confusion = np.bincount(cells, minlength=classes**2).reshape(classes, classes)
    rows, hits = confusion.sum(axis=1), confusion.diagonal()
    recall = hits[rows > 0] / rows[rows > 0]
    return Assessment(float(hits.sum() / len(truth)), float(recall.mean()), confusion)


def assess_probabilities(probability: Floats, truth: NDArray[Any], classes: int) -> Assessment:
    """Compare the most probable class of each row with its true code; ties take the first class.

    `probability` has a row of `classes` probabilities for each code in `truth`.
    """
    if probability.shape != (len(truth), classes):
        raise ParameterError("There is not one probability per row and class.", "Pass an array (rows, classes).")
    if not len(truth):
        raise DataError("There are no rows to test on.", "Use data with at least one row.")
    return assess(truth, probability.argmax(axis=1), classes)


def confusion_frame(confusion: Ints, labels: Sequence[str]) -> Statistics:
    """Return a confusion matrix as rows: `truth`, `predicted`, `count`, `share` of the truth.

    `share` is the share of the true class's rows, NaN if it has none.
    """
    pairs = pd.MultiIndex.from_product([list(labels), list(labels)], names=["truth", "predicted"])
    rows = confusion.sum(axis=1, keepdims=True)
    shares = np.divide(confusion, rows, out=np.full(confusion.shape, np.nan), where=rows > 0)
    return statistics(pairs.to_frame(index=False).assign(count=confusion.ravel(), share=shares.ravel()))


def one_hot(codes: Codes, sizes: Sequence[int]) -> csr_matrix:
    """Return sparse indicators of codes, shape (n, sum(sizes)), with one 1 per row and column."""
    (rows, columns), starts = codes.shape, np.cumsum([0, *sizes])
    index, ends = (codes + starts[:-1]).ravel(), np.arange(rows + 1) * columns
    return csr_matrix((np.ones(rows * columns), index, ends), shape=(rows, starts[-1]))


def bayes_net(codes: Codes, labels: Codes, sizes: Sequence[int], classes: int) -> CategoricalNB:
    """Fit Weka's BayesNet with its default settings, which is a smoothed naive Bayes classifier.

    `labels` are the class codes of the rows of `codes`; `sizes` has the number of codes of each
    column, and `classes` is the number of classes.

    The defaults are K2 search with at most one parent, started from naive Bayes, and
    SimpleEstimator with α = 1/2. At the start the class is the parent of every attribute. K2 only
    ever adds parents, and an attribute that has its one parent may get no other; the class stands
    first in K2's order, so it has no candidates. The search thus ends where it began, and what
    remains is the estimator: each row of a table with K values and N rows becomes (count + α) / (N
    + αK). That is `CategoricalNB(alpha=.5)` for the conditionals. scikit-learn does not smooth the
    class prior; it is passed in. Classes without rows count too, as they do in Weka, whose header
    declares them. (Weka would first cut numbers into bins that it fits to the classes; here they
    come in their public bins.)
    """
    alpha = 0.5
    counts = np.bincount(labels, minlength=classes)
    prior = (counts + alpha) / (len(labels) + alpha * classes)
    network = CategoricalNB(alpha=alpha, min_categories=np.array(sizes), class_prior=prior)
    return network.partial_fit(codes, labels, classes=np.arange(classes))


def fit_predict(model: str, train: Codes, test: Codes, sizes: Sequence[int], target: int) -> tuple[NDArray[Any], str]:
    """Train a model and return the predicted class codes of the test rows, and a remark or "".

    `sizes` has the number of codes of every column, and `target` is the position of the class
    column. The test rows' own classes are not read. DataError if there are no rows or no columns to
    learn from.
    """
    attributes = [j for j in range(len(sizes)) if j != target]
    labels = train[:, target]
    if not len(labels):
        raise DataError("There are no rows to learn from.", "Release at least one row.")
    if not attributes:
        raise DataError("There is no column to predict the target from.", "Keep more columns in the schema.")
    if (labels == labels[0]).all():
        return np.full(len(test), labels[0]), "The training rows have one class, which is predicted for every row."
    if model in LINEAR and sizes[target] > MOST_CLASSES:
        raise DataError(f"Linear models take at most {MOST_CLASSES} classes.", "Use a Bayes net, or another class.")
    widths = [sizes[j] for j in attributes]
    known, tested = train[:, attributes], test[:, attributes]
    if model == BAYES_NET:
        return bayes_net(known, labels, widths, sizes[target]).predict(tested), ""
    estimator = LINEAR[model]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said in the remark instead
        estimator.fit(one_hot(known, widths), labels)
    stopped = np.max(estimator.n_iter_) >= estimator.max_iter
    remark = f"Stopped after {estimator.max_iter:,} steps, before it converged." if stopped else ""
    return estimator.predict(one_hot(tested, widths)), remark


def as_rows(table: TableLike | Rows, schema: Schema, names: Sequence[str] = ()) -> Rows:
    """Return a table as a source of counts for the named columns, or for all; DataError if empty.

    `names` are columns of the schema. A table of type `Rows` is returned with all of its columns.
    """
    require_rows(table)
    if isinstance(table, Rows):
        return table
    wanted = schema.select(names) if names else schema
    if not isinstance(table, np.ndarray):
        return rows_of(table, wanted, {})
    codes = as_codes(table, schema)
    return HeldRows(codes[:, [schema.index(name) for name in names]] if names else codes, wanted.sizes)


def as_codes(table: TableLike, schema: Schema) -> Codes:
    """Return a table's codes; a table that holds codes is returned as it is.

    Of a folder, a uniform sample of at most `MOST_DRAWN` rows is encoded. DataError if the table
    does not fit the schema.
    """
    if isinstance(table, Folder):
        rows_of(table, schema, {})
        return schema.encode(sample_rows(table, schema, MOST_DRAWN))
    codes = isinstance(table, np.ndarray) and table.dtype.kind == "u"
    if codes and table.shape[1:] == (len(schema),) and (table < schema.sizes).all():
        return cast(Codes, table)
    return schema.encode(cast(pd.DataFrame, table))


def again(method: M, repeat: int) -> M:
    """Return an unfitted copy of a method; a `random_state` s becomes s + `repeat`."""
    copy: M = clone(method)
    return copy if method.random_state is None else copy.set_params(random_state=method.random_state + repeat)


def require_rows(*tables: TableLike | Rows) -> None:
    """Raise DataError if a table is not a table, or has no rows: its shares are undefined."""
    for table in tables:
        if not isinstance(table, np.ndarray | Folder | Rows):
            require_frame(table)
    if any(len(table) == 0 for table in tables):
        raise DataError("A table to compare has no rows.", "Use data with at least one row.")


@dataclass(frozen=True, kw_only=True)
class Label:
    """A yes/no label: whether a cell has a category, or is a number below a threshold.

    A missing cell is neither. In a release made of codes, numbers are drawn uniformly inside their
    bins. Where a threshold splits a bin, the bin's rows thus get each label in proportion to the
    two parts; real rows are labeled by their own numbers.

    Parameters
    ----------
    column : str
        The column that decides.
    equals : str, optional
        The category that says yes.
    below : float, or date or str, optional
        The threshold of a numeric column: smaller numbers say yes. Of dates a day, such as "2021-03-05".
    """

    column: str
    equals: str | None = None
    below: float | date | str | None = None  # of a day: its ISO text

    def __post_init__(self) -> None:
        if (self.equals is None) == (self.below is None):
            raise ParameterError("A label needs either `equals` or `below`, not both.", "Give one of the two.")
        if isinstance(self.below, date | str | np.datetime64):
            if (day := as_day(self.below)) is None:
                raise ParameterError("The label's threshold is not a day.", 'Write it as "2021-03-05".')
            object.__setattr__(self, "below", iso(day))

    @property
    def threshold(self) -> float:
        """The threshold as a number; of dates, the days since 1970-01-01."""
        found = as_day(self.below) if isinstance(self.below, str) else self.below
        assert found is not None  # such rules compare with `equals`
        assert not isinstance(found, date)  # `__post_init__` has made a text of it
        return float(found)

    def check(self, schema: Schema) -> None:
        """Raise ParameterError if the label does not fit its column or decides nothing.

        Parameters
        ----------
        schema : Schema
            The schema.

        Raises
        ------
        SchemaError
            If there is no such column.
        ParameterError
            If the category or the threshold does not fit it, or gives every row the same label.
        """
        column = schema[self.column]
        if self.below is not None:
            if not column.numeric:
                raise ParameterError(f"The column {column.name!r} has no numbers.", "Use equals= with a category.")
            if isinstance(self.below, str) != (dated := column.kind == "date"):
                has, way = ("dates", 'day, such as "2021-03-05"') if dated else ("numbers", "number")
                raise ParameterError(f"{column.name!r} has {has}; the threshold is of another kind.", f"Use a {way}.")
            if column.lower is None or column.upper is None or not column.lower < self.threshold <= column.upper:
                raise ParameterError(
                    f"The threshold gives every row of {column.name!r} the same label.",
                    "Choose one above the column's lower bound and not above its upper bound.",
                )
        elif column.numeric or canonical(self.equals) not in map(canonical, column.categories):
            raise ParameterError(
                f"The label's value is not a declared category of {column.name!r}.", "Choose a listed one, or below=."
            )

    def label_rows(self, frame: pd.DataFrame, column: Column | None = None) -> Flags:
        """Return the label of every row, shape (n,).

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows.
        column : Column, optional
            The column's declaration: numbers are then read as it says that they are written.

        Returns
        -------
        bool array of shape (n,)
            Whether each row has the label.
        """
        cells = frame[self.column]
        if self.below is not None:
            plainly = as_days if isinstance(self.below, str) else as_numbers
            return np.asarray((plainly(cells) if column is None else column.to_numbers(cells)) < self.threshold)
        indices, texts = factorize_texts(cells)  # -1, a missing cell, reads the last place
        yes = [canonical(text) == canonical(self.equals) for text in texts]
        return np.array([*yes, False], dtype=bool)[indices]


def misclassification(
    test: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    label: Label,
    *,
    protocol: str = "tstr",
    repeats: int = 50,
    test_share: float = 0.2,
    model: str = "linear SVM",
    progress: Progress = no_progress,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how often a classifier errs about a label that it learned from a release.

    Reads real rows: not private. Every repeat learns from a random 1 − `test_share` of the
    synthetic rows, from all columns but the label's, by their codes. "tstr" then asks about all
    real test rows. "published" asks about the other synthetic rows, as a published evaluation does,
    which is an error of method: it measures how well a release agrees with itself, and a release of
    equal rows scores best. Both protocols learn from the same parts, so that their errors differ by
    the tested rows alone; "both" learns once, and asks about either. The repeats vary over the
    parts of one release; their spread is not that of the method.

    Parameters
    ----------
    test, synthetic : DataFrame
        Real rows that the release has not seen, and the release. Real training rows in place of the
        release give the baseline without privacy. "published" reads no real rows: there may be
        none.
    schema : Schema
        The schema of both.
    label : Label
        The yes/no answer that the classifier is to predict.
    protocol : {"tstr", "published", "both"}, default="tstr"
        Which rows are tested.
    repeats : int, default=50
        The number of random parts that are learned from; on Adult each takes .15 to .25 seconds.
    test_share : float, default=0.2
        The share of synthetic rows that are not learned from, in (0, 1).
    model : str, default="linear SVM"
        One of `MODELS`.
    progress : callable, optional
        Called before every repeat; raising inside it cancels.
    seed : int, default=0
        The seed of the parts.

    Returns
    -------
    DataFrame
        One row per repeat and protocol: `protocol`, `model`, `repeat`, `error` in [0, 1], `majority_error` (that
        of the best constant answer on the same rows) and `note`: why an error is NaN, or what else
        to know about the fit.

    Raises
    ------
    DataError, ParameterError, SchemaError
        If a data set is empty or does not fit the schema, or the label, the model or a parameter
        does not fit.
    """
    label.check(schema)
    if protocol not in PROTOCOLS:
        raise ParameterError(f"The protocol {protocol!r} is not known.", f"Choose one of {', '.join(PROTOCOLS)}.")
    if repeats < 1 or not 0 < test_share < 1:
        raise ParameterError("There are no rows to learn from, or none to test on.", "Try repeats=50, test_share=0.2.")
    require_rows(synthetic, *([] if protocol == "published" else [test]))
    answer = Column(name=label.column, kind="categorical", categories=("no", "yes"))
    labeled = replace(schema, columns=tuple(answer if c.name == label.column else c for c in schema), rules=())
    index, (real, released) = schema.index(label.column), (schema.encode(table) for table in (test, synthetic))
    for codes, table in ((real, test), (released, synthetic)):
        codes[:, index] = label.label_rows(table, schema[label.column])  # 1 = yes
    aside = max(1, round(test_share * len(released)))
    names, rows = PROTOCOLS[protocol], []
    for repeat in range(repeats):
        progress(repeat / repeats, f"repeat {repeat + 1:,} of {repeats:,}")
        order = np.random.default_rng([seed, repeat]).permutation(len(released))
        tests = {"tstr": real, "published": released[order[:aside]]}
        known, selected = {"released": released[order[aside:]]}, [tests[name] for name in names]
        found = _scores(known, selected, labeled, label.column, [model], no_progress)
        for name, accuracy, note in zip(names, found["accuracy"], found["note"], strict=True):
            share = float(tests[name][:, index].mean())
            rows.append((name, model, repeat, 1 - accuracy, min(share, 1 - share), note))
    progress(1.0, "done")
    return pd.DataFrame(rows, columns=["protocol", "model", "repeat", "error", "majority_error", "note"])

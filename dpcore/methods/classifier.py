"""Private classifiers: scikit-learn's conventions for what `PrivateEstimator` learned."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress, no_progress, require_frame
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.parameters import learned, text

__all__ = ["PrivateClassifier"]

Floats = NDArray[np.float64]


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """A method that releases a classifier.

    Works where scikit-learn's classifiers do: in a `Pipeline`, `cross_val_score` and `GridSearchCV`, with the schema
    (and a ledger to charge, if several fits share one) passed on as parameters of `fit`. Every fit is charged. What a
    search does with the scores is not: they are read off real rows, so the best of several has no guarantee. (Of a
    table with as many rows as columns, scikit-learn takes the schema for a row each.) Classes are texts, as in the
    schema; `score` compares them with numbers and truth values as the schema does.

    Attributes
    ----------
    target_ : str
        The class column.
    classes_ : array of str
        All classes that the schema declares, in its order; not what the rows happened to hold.
    """

    target: str | None = text(default=None, optional=True, about="The class column; by default the schema's.")
    target_: str = learned()
    classes_: NDArray[Any] = learned()

    def fit(
        self,
        frame: pd.DataFrame,
        y: Any = None,
        *,
        schema: Schema,
        ledger: Ledger | None = None,
        progress: Progress = no_progress,
    ) -> Self:
        """Learn from private rows through the door.

        Parameters
        ----------
        frame : DataFrame
            The private rows, with the schema's columns; the class may be left to `y`.
        y : array-like of shape (n,), optional
            The classes. If the frame has them as well, these count.
        schema, ledger, progress
            As for `PrivateEstimator.fit`.
        """
        if y is not None:
            self.check(schema)
            target = self._target(schema, self.target)
            frame = require_frame(frame).assign(**{target: one_per_row(y, frame)})
        super().fit(frame, schema=schema, ledger=ledger, progress=progress)
        self.target_ = self._target(schema, self.target)
        column = schema[self.target_]
        self.classes_ = np.array(column.labels, dtype=object)
        return self

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """The most probable class of every row, shape (n,); the first in the schema's order if several are.

        The class column may be there, and is not looked at.

        Raises
        ------
        DataError
            If a column is lacking or a cell does not fit its declaration.
        """
        places = self.predict_proba(frame).argmax(axis=1)
        found: NDArray[Any] = self.classes_[places]
        return found

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """The classes' probabilities, shape (n, classes), columns as in `classes_`."""
        if not self.__sklearn_is_fitted__():
            raise ParameterError(f"This {type(self).__name__} is not fitted yet.", "Call fit(frame, schema=…) first.")
        return self._probability(require_frame(frame))

    def score(self, frame: pd.DataFrame, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on rows with known classes, by default those in the frame. Reads them: not private."""
        predicted = self.predict_proba(frame).argmax(axis=1)
        column = self.schema_[self.target_]
        if y is None and column.name not in frame.columns:
            raise DataError(f"The data lack the classes, {column.name!r}.", "Pass them as y, or in the frame.")
        truth = column.encode(pd.Series(frame[column.name] if y is None else one_per_row(y, frame)))
        return float(np.average(predicted == truth, weights=sample_weight))

    def structure(self) -> dict[str, Any]:
        """What was released, as JSON-ready values."""
        return {}

    @abstractmethod
    def _probability(self, frame: pd.DataFrame) -> Floats:
        """`predict_proba` of a fitted method."""


def one_per_row(y: Any, frame: pd.DataFrame) -> NDArray[Any]:
    """Classes as an array of shape (n,); DataError if there is not one per row."""
    classes = np.asarray(y)
    if classes.shape == (len(frame), 1):
        classes = classes[:, 0]
    if classes.shape != (len(frame),):
        raise DataError("There is not one class per row.", "Pass as many classes as rows, in one column.")
    return classes

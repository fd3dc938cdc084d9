"""Released naive Bayes classifiers: their predictions, and their JSON. Post-processing.

The most probable class of z is the arg max of log P(c) + sum over columns of log P(z_k | c).
Categories and bins have a table per class, and numbers a normal distribution per class. A missing
number contributes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from dpcore.arguments import Floats
from dpcore.domain.schema import Schema
from dpcore.postprocess.forest import Predictor, decode_list, require
from dpcore.postprocess.simplex import rows_to_one

FORMAT = "dpcore naive bayes 1"
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Bayes(Predictor):
    """Released naive Bayes classifier: class probabilities, and a conditional per column and class.

    Tables of categories' probabilities, and means and variances of normal distributions, are keyed
    by column name.
    """

    schema: Schema
    target: str
    prior: Floats  # shape (classes,)
    tables: Mapping[str, Floats]  # P(code | class), positive, shape (classes, codes)
    normals: Mapping[str, Floats]  # mean and variance by class, shape (classes, 2)
    title = "naive Bayes classifier"

    @property
    def columns(self) -> list[str]:
        """Columns that contribute to the prediction."""
        return [name for name in self.schema.names if name in self.tables or name in self.normals]

    def joint_log(self, frame: pd.DataFrame) -> Floats:
        """Return log P(c) + sum of log P(z_k | c) for each row and class, shape (n, classes).

        The target column may be missing. Raises DataError if the rows do not fit the schema.
        """
        found = np.tile(np.log(self.prior), (len(frame), 1))
        for name, codes in self._encode(frame).items():
            if name in self.tables:
                found += np.log(self.tables[name]).T[codes]
            elif name in self.normals:
                found += normal_log_densities(self.schema[name].numbers(frame[name]), self.normals[name])
        return found

    def probability(self, frame: pd.DataFrame) -> Floats:
        """Return the probability of each class for each row, shape (n, classes)."""
        logs = self.joint_log(frame)
        return rows_to_one(np.exp(logs - logs.max(axis=1, keepdims=True)))

    def to_dict(self) -> dict[str, Any]:
        """Return the classifier without its schema as JSON-ready values."""
        return {
            "format": FORMAT,
            "target": self.target,
            "prior": self.prior.tolist(),
            "tables": {name: table.tolist() for name, table in self.tables.items()},
            "normals": {name: normal.tolist() for name, normal in self.normals.items()},
        }

    @classmethod
    def _read(cls, schema: Schema, document: Mapping[str, Any]) -> Self:
        """Read a classifier from a document; any exception means that it is damaged."""
        require(document["format"] == FORMAT)
        return cls(
            schema=schema,
            target=str(document["target"]),
            prior=decode_list(document["prior"], float),
            tables={str(name): decode_list(table, float) for name, table in document["tables"].items()},
            normals={str(name): decode_list(pairs, float) for name, pairs in document["normals"].items()},
        )

    def _check(self) -> None:
        """Raise ValueError unless all shapes fit the schema and all distributions are valid."""
        label, known = self.schema[self.target], [*self.tables, *self.normals]
        require(not label.numeric and self.target not in known and len({*known}) == len(known))
        require(self.prior.shape == (label.size,) and are_distributions(self.prior[None]))
        for name, table in self.tables.items():
            require(table.shape == (label.size, self.schema[name].size) and are_distributions(table))
        for name, pairs in self.normals.items():
            column = self.schema[name]
            require(pairs.shape == (label.size, 2) and column.numeric and bool((pairs[:, 1] > 0).all()))
            # numbers are clipped to the bounds, and log densities are smallest at a bound
            with np.errstate(over="ignore"):
                require(np.isfinite(normal_log_densities(np.array([column.lower, column.upper], float), pairs)).all())


def are_distributions(rows: Floats) -> bool:
    """Return whether all rows are positive and sum to 1 up to rounding."""
    return bool((rows > 0).all()) and np.allclose(rows.sum(axis=1), 1.0, atol=TOLERANCE)


def normal_log_densities(values: Floats, moments: Floats) -> Floats:
    """Return the log densities of each class's normal distribution, shape (n, classes).

    `moments` has the mean and variance per class. The result is 0 for missing values.
    """
    mean, variance = moments.T
    logs = -0.5 * (np.log(2 * np.pi * variance) + (values[:, None] - mean) ** 2 / variance)
    return np.where(np.isnan(values)[:, None], 0.0, logs)

"""A released additive model of a class: what it says, and its JSON. Everything here is free.

Every class has a start, and a number for each value of a column; the classes' probabilities go by the exponentials of
their sums. Numbers are whole multiples of 1 / `STEPS`, so that sums are exact, wherever and in whatever order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from dpcore.arguments import Floats, Ints
from dpcore.domain.schema import Schema
from dpcore.errors import SchemaError

FORMAT = "dpcore additive scores 1"
STEPS = 256
MOST = 1 << 32  # of one number: sums of millions of columns are exact


@dataclass(frozen=True, eq=False)
class Additive:
    """An additive model; its scores, of shape (values, classes), go by their columns' names."""

    schema: Schema
    target: str
    start: Ints  # shape (classes,)
    scores: Mapping[str, Ints]

    def __post_init__(self) -> None:
        """SchemaError unless it fits its schema, and is of whole numbers."""
        known = {column.name: column.size for column in self.schema}
        classes = known.get(self.target, 0)
        shapes = [(self.start, (classes,)), *((found, (known.get(j), classes)) for j, found in self.scores.items())]
        fits = classes > 0 and self.target not in self.scores and not self.schema[self.target].numeric
        for found, shape in shapes:
            fits = fits and found.shape == shape and found.dtype == np.int64 and bool((abs(found) <= MOST).all())
        if not fits:
            raise SchemaError("The scores do not fit the columns.", "Give whole numbers for every value and class.")

    @property
    def columns(self) -> list[str]:
        """The columns that say something about the class."""
        return [name for name in self.schema.names if name in self.scores and np.ptp(self.scores[name], axis=1).any()]

    def probability(self, frame: pd.DataFrame) -> Floats:
        """The classes' probabilities, shape (n, classes); DataError if rows do not fit. They need no class."""
        names = [name for name in self.schema.names if name != self.target]
        total = np.tile(self.start, (len(frame), 1))
        if names:
            codes = self.schema.select(names).encode(frame)
            for place, name in enumerate(names):
                if name in self.scores:
                    total += self.scores[name][codes[:, place]]
        weights = np.exp((total - total.max(axis=1, keepdims=True)) / STEPS)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=float)

    def frame(self) -> pd.DataFrame:
        """`column`, `value`, `class` and `score`, of all columns that say something."""
        found = []
        for name in self.columns:
            labels, classes = self.schema[name].labels, self.schema[self.target].labels
            pairs = pd.MultiIndex.from_product([[name], labels, classes], names=["column", "value", "class"])
            found.append(pairs.to_frame(index=False).assign(score=self.scores[name].ravel() / STEPS))
        empty = pd.DataFrame(columns=["column", "value", "class", "score"])
        return pd.concat(found, ignore_index=True) if found else empty

    def to_dict(self) -> dict[str, Any]:
        """The model without its schema as JSON-ready values."""
        scores = {name: found.tolist() for name, found in self.scores.items()}
        return {"format": FORMAT, "target": self.target, "start": self.start.tolist(), "scores": scores}

    @classmethod
    def from_dict(cls, schema: Schema, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; SchemaError if the document is damaged or does not fit the schema."""
        try:
            if document["format"] != FORMAT:
                raise ValueError
            scores = {str(name): whole(found) for name, found in document["scores"].items()}
            return cls(schema, str(document["target"]), whole(document["start"]), scores)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, SchemaError):
            raise SchemaError(
                "These are not the scores of this schema.", "Choose a file that this program exported."
            ) from None


def whole(given: Any) -> Ints:
    """An array of whole numbers; ValueError if it is of anything else, an empty one among them."""
    found = np.array(given)
    if found.dtype.kind != "i":
        raise ValueError
    return found.astype(np.int64)

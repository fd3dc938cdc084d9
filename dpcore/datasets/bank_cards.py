"""Simulated bank-card customers: tables like those that published experiments used and kept, with no person in them.

Zhang and Tang (2007) tried private naive Bayes on 50,000 customers of a bank, 5,000 more to test on, with a class
"customer value". Those rows were never published. These have the same kind of columns; their numbers are our own.

A row is drawn in four steps, all of them from `CLASSES` below and what `files/published.toml` says:

1. Its class, by the shares in `CLASSES`.
2. A score for every attribute, standard normal, independent of the class and of one another.
3. In the dependent table, the four `FACTORS` of the row, standard normal too. An attribute with the loading a on its
   factor f gets the score a * f + sqrt(1 - a**2) * (its score of step 2), which is standard normal again.
4. From the score s and the class to the value. A number is mean + deviation * s, rounded (continuous ones to two
   decimals) and clipped to its bounds. A category is found by cutting the normal distribution, in the order in which
   the categories stand, into pieces as large as their shares.

So both tables have the same distribution of every attribute within every class, and differ only in whether attributes
hang together there. In the first they are independent given the class, as naive Bayes assumes, and numbers are
Gaussian but for rounding and clipping (less than one value in twenty, in any class). In the second the class tells
itself by *pairs*: whoever keeps large deposits has small loans, and whoever pays often pays small sums, while
high-value customers have more of both. Naive Bayes does not see that; a forest does.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats
from dpcore.datasets.published import declared_schema, descriptions
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema

TARGET = "customer-value"
CLASSES = {"high": 0.2, "middle": 0.5, "low": 0.3}  # the class and its share; this order everywhere below
FACTORS = ("wealth", "thrift", "habit", "age")
ROWS, TEST_ROWS = 50_000, 5_000


class Attribute(NamedTuple):
    """A column, and how it is drawn."""

    column: Column
    factor: str  # the one of `FACTORS` that moves it in the dependent table
    loading: float  # how strongly, between -1 and 1: the correlation of score and factor
    # per class a number's mean and deviation, before rounding and clipping, or the categories' shares, which sum to 1
    classes: Sequence[Sequence[float]]


def bank_cards_schema() -> Schema:
    """What is public about the simulated customers: ten attributes and the class, at most 50,000 rows to learn from."""
    return declared_schema("bank cards")


ATTRIBUTES = tuple(
    Attribute(bank_cards_schema()[name], **how) for name, how in descriptions()["bank cards"]["drawn"].items()
)


def bank_cards(seed: int = 0, *, dependent: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Simulated customers to learn from and to test on, with the columns of the schema; the module says how.

    The same seed and version of NumPy give the same rows. In the `dependent` table attributes hang together within a
    class, so that naive Bayes's assumption fails.
    """
    train, test = (np.random.default_rng([seed, part]) for part in range(2))  # neither hangs on the other's size
    return _draw(ROWS, train, dependent), _draw(TEST_ROWS, test, dependent)


def _draw(rows: int, rng: np.random.Generator, dependent: bool) -> pd.DataFrame:
    classes = rng.choice(len(CLASSES), rows, p=list(CLASSES.values()))
    scores = rng.standard_normal((len(ATTRIBUTES), rows))
    factors = dict(zip(FACTORS, rng.standard_normal((len(FACTORS), rows)), strict=True))
    cells = {}
    for each, own in zip(ATTRIBUTES, scores, strict=True):
        score = each.loading * factors[each.factor] + np.sqrt(1 - each.loading**2) * own if dependent else own
        cells[each.column.name] = _values(each, score, classes)
    cells[TARGET] = np.array(list(CLASSES))[classes]
    return pd.DataFrame(cells)


def _values(attribute: Attribute, score: Floats, classes: NDArray[np.int64]) -> NDArray[Any]:
    """The numbers or categories of rows with these scores and classes, shape (rows,)."""
    column = attribute.column
    if not column.numeric:
        ends = np.cumsum(attribute.classes, axis=1)[:, :-1]
        cuts = np.array([[NormalDist().inv_cdf(end) for end in row] for row in ends])
        values: NDArray[Any] = np.array(column.categories)[np.sum(score[:, None] > cuts[classes], axis=1)]
        return values
    whole = column.kind == "integer"
    means, deviations = np.array(attribute.classes)[classes].T
    numbers: NDArray[Any] = np.clip(np.round(means + deviations * score, 0 if whole else 2), column.lower, column.upper)
    return numbers.astype(np.int64) if whole else numbers

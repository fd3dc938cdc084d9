"""Simulated bank-card customers: tables like those that published experiments used and kept, with no person in them.

Zhang and Tang (2007) tried private naive Bayes on 50,000 customers of a bank, 5,000 more to test on, with a class
"customer value". Those rows were never published. These have the same kind of columns; their numbers are our own.

A row is drawn in four steps, all of them from the tables `CLASSES` and `ATTRIBUTES` below:

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

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError

TARGET = "customer-value"
CLASSES = {"high": 0.2, "middle": 0.5, "low": 0.3}  # the class and its share; this order everywhere below
FACTORS = ("wealth", "thrift", "habit", "age")
ROWS, TEST_ROWS = 50_000, 5_000


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """A column and how it is drawn; per class in the order of `CLASSES`.

    Parameters
    ----------
    column : Column
    means, deviations : tuple of float
        Of a number, before rounding and clipping.
    shares : tuple of tuple of float
        Of the categories, in their order; they sum to 1.
    factor : str
        The one of `FACTORS` that moves it in the dependent table.
    loading : float
        How strongly, between -1 and 1: the correlation of score and factor.
    """

    column: Column
    means: tuple[float, ...] = ()
    deviations: tuple[float, ...] = ()
    shares: tuple[tuple[float, ...], ...] = ()
    factor: str
    loading: float


ATTRIBUTES = (
    Attribute(
        column=Column(name="age", kind="integer", lower=20, upper=79, bins=12, description="Age in years"),
        means=(50, 44, 38),
        deviations=(10, 10, 10),
        factor="age",
        loading=0.7,
    ),
    Attribute(
        column=Column(
            name="education",
            kind="ordered",
            categories=("basic", "secondary", "bachelor", "graduate"),
            description="Highest level of education",
        ),
        shares=((0.05, 0.20, 0.40, 0.35), (0.10, 0.35, 0.38, 0.17), (0.20, 0.45, 0.27, 0.08)),
        factor="wealth",
        loading=0.7,
    ),
    Attribute(
        column=Column(
            name="occupation",
            kind="categorical",
            categories=("manual", "service", "clerical", "professional", "manager"),
            description="Kind of work",
        ),
        shares=((0.05, 0.10, 0.15, 0.35, 0.35), (0.12, 0.18, 0.25, 0.27, 0.18), (0.25, 0.25, 0.25, 0.15, 0.10)),
        factor="wealth",
        loading=0.7,
    ),
    Attribute(
        column=Column(
            name="marital-status",
            kind="categorical",
            categories=("single", "married", "divorced", "widowed"),
            description="Marital status",
        ),
        shares=((0.20, 0.62, 0.12, 0.06), (0.28, 0.54, 0.13, 0.05), (0.38, 0.44, 0.14, 0.04)),
        factor="age",
        loading=0.7,
    ),
    Attribute(
        column=Column(
            name="income", kind="continuous", lower=0, upper=200, bins=20, description="Yearly income, in thousands"
        ),
        means=(88, 62, 43),
        deviations=(25, 20, 15),
        factor="wealth",
        loading=0.7,
    ),
    Attribute(
        column=Column(name="cards", kind="integer", lower=1, upper=10, bins=10, description="Number of bank cards"),
        means=(4.6, 3.5, 2.8),
        deviations=(1.5, 1.3, 1.1),
        factor="wealth",
        loading=0.3,
    ),
    Attribute(
        column=Column(
            name="uses-per-month", kind="integer", lower=0, upper=59, bins=12, description="Card payments in a month"
        ),
        means=(28, 20, 14),
        deviations=(9, 8, 6),
        factor="habit",
        loading=0.85,
    ),
    Attribute(
        column=Column(
            name="spending-per-use", kind="continuous", lower=0, upper=200, bins=20, description="Mean sum of a payment"
        ),
        means=(90, 70, 53),
        deviations=(25, 22, 20),
        factor="habit",
        loading=-0.85,
    ),
    Attribute(
        column=Column(
            name="deposits", kind="continuous", lower=0, upper=200, bins=20, description="Deposits, in thousands"
        ),
        means=(85, 60, 42),
        deviations=(30, 25, 20),
        factor="thrift",
        loading=0.85,
    ),
    Attribute(
        column=Column(
            name="loans", kind="continuous", lower=0, upper=200, bins=20, description="Loans taken, in thousands"
        ),
        means=(75, 60, 48),
        deviations=(30, 25, 25),
        factor="thrift",
        loading=-0.85,
    ),
)


def bank_cards_schema() -> Schema:
    """What is public about the simulated customers: ten attributes and the class, at most 50,000 rows to learn from."""
    value = Column(
        name=TARGET, kind="categorical", categories=tuple(CLASSES), description="What the customer is worth to the bank"
    )
    return Schema(columns=(*(each.column for each in ATTRIBUTES), value), target=TARGET, max_rows=ROWS)


def bank_cards(
    rows: int = ROWS, test_rows: int = TEST_ROWS, seed: int = 0, *, dependent: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Simulated customers to learn from and to test on; the module says how they are drawn.

    Parameters
    ----------
    rows, test_rows : int, default=50,000 and 5,000
        How many of each. The test rows do not depend on `rows`, nor the others on `test_rows`.
    seed : int, default=0
        Of all draws: the same seed and version of NumPy give the same rows.
    dependent : bool, default=False
        Whether attributes hang together within a class, so that naive Bayes's assumption fails.

    Returns
    -------
    train, test : DataFrame
        With the columns of `bank_cards_schema()`, in its order.

    Raises
    ------
    ParameterError
        If a number of rows or the seed is negative.
    """
    if min(rows, test_rows, seed) < 0:
        raise ParameterError("A number of rows or the seed is negative.", "Give whole numbers from 0 on.")
    # Two streams of one seed, so that neither part depends on the size of the other.
    train, test = (
        _draw(count, np.random.default_rng([seed, part]), dependent) for part, count in enumerate((rows, test_rows))
    )
    return train, test


def _draw(rows: int, rng: np.random.Generator, dependent: bool) -> pd.DataFrame:
    classes = rng.choice(len(CLASSES), rows, p=list(CLASSES.values()))
    scores = rng.standard_normal((len(ATTRIBUTES), rows))
    factors = dict(zip(FACTORS, rng.standard_normal((len(FACTORS), rows)), strict=True))
    cells = {}
    for each, own in zip(ATTRIBUTES, scores, strict=True):
        score = each.loading * factors[each.factor] + np.sqrt(1 - each.loading**2) * own if dependent else own
        cells[each.column.name] = (_numbers if each.column.numeric else _categories)(each, score, classes)
    cells[TARGET] = np.array(list(CLASSES))[classes]
    return pd.DataFrame(cells)


def _numbers(attribute: Attribute, score: NDArray[np.float64], classes: NDArray[np.int64]) -> NDArray[Any]:
    """The numbers of rows with these scores and classes, shape (rows,)."""
    column = attribute.column
    whole = column.kind == "integer"
    exact = np.array(attribute.means)[classes] + np.array(attribute.deviations)[classes] * score
    numbers = np.clip(np.round(exact, 0 if whole else 2), column.lower, column.upper)
    return numbers.astype(np.int64) if whole else numbers


def _categories(attribute: Attribute, score: NDArray[np.float64], classes: NDArray[np.int64]) -> NDArray[Any]:
    """The categories of rows with these scores and classes, shape (rows,)."""
    ends = np.cumsum(attribute.shares, axis=1)[:, :-1]
    cuts = np.array([[NormalDist().inv_cdf(end) for end in row] for row in ends])
    places = np.sum(score[:, None] > cuts[classes], axis=1)
    values: NDArray[Any] = np.array(attribute.column.categories)[places]
    return values

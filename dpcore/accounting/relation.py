"""Neighboring relations, and epsilons as exact numbers."""

import math
from enum import StrEnum
from fractions import Fraction
from numbers import Rational
from typing import Literal, Self

from dpcore.arguments import is_number, plain
from dpcore.errors import ParameterError
from dpcore.language import phrase

Epsilon = Fraction | float
"""An exact finite epsilon, or `math.inf`."""
ProtectedUnit = Literal["row", "person"]
"""What an epsilon is the price of."""


class Relation(StrEnum):
    """Which two tables count as neighbors: what "one person" changes."""

    REPLACE = "replace"
    ADD_REMOVE = "add_remove"

    @property
    def histogram_l1(self) -> int:
        """How much one person moves one contingency table of counts, in L1: the one place where 1 or 2 is decided."""
        return 2 if self is Relation.REPLACE else 1

    @property
    def squared_histogram_l2(self) -> int:
        """How much one person moves such a table in L2, squared: as many cells as in L1, each by one."""
        return self.histogram_l1

    @property
    def sentence(self) -> str:
        """The relation in words, for screens and exports."""
        if self is Relation.REPLACE:
            return phrase("Neighbors differ in the values of one row; the number of rows is public.")
        return phrase("Neighbors differ by the presence of one row; the number of rows is private.")

    @property
    def short(self) -> str:
        """The relation in a few words."""
        return phrase("change one row") if self is Relation.REPLACE else phrase("add or remove one row")

    def sentence_for(self, protects: ProtectedUnit) -> str:
        """`sentence`, for runs that protect rows or persons."""
        if protects == "row":
            return self.sentence
        if self is Relation.REPLACE:
            return phrase("Neighbors differ in the rows of one person, all of them; the number of persons is public.")
        return phrase("Neighbors differ by the presence of one person with all rows; how many there are is private.")

    def short_for(self, protects: ProtectedUnit) -> str:
        """`short`, for runs that protect rows or persons."""
        if protects == "row":
            return self.short
        return phrase("change one person") if self is Relation.REPLACE else phrase("add or remove one person")

    @classmethod
    def parse(cls, value: str) -> Self:
        """The relation of that name; ParameterError with the allowed names otherwise."""
        return cls(value)

    @classmethod
    def _missing_(cls, _: object) -> Self:
        known = ", ".join(cls)
        raise ParameterError("The 'relation' parameter is not known.", f"Choose one of {known}.")


def exact(epsilon: Epsilon) -> Epsilon:
    """The same number as an exact fraction; infinity stays a float. ParameterError if it is no number of 0 or more."""
    if not is_number(epsilon) or not epsilon >= 0:
        raise ParameterError("An epsilon is negative or not a number.", "Use an epsilon of 0 or more.")
    if isinstance(epsilon, Rational):
        return Fraction(int(epsilon.numerator), int(epsilon.denominator))
    return math.inf if math.isinf(epsilon) else Fraction(float(epsilon))


def shares_of(epsilon: Epsilon, weights: list[float] | int) -> list[Epsilon]:
    """Parts of an epsilon in proportion to weights (an int means that many equal parts), summing exactly to it."""
    parts = [1.0] * weights if isinstance(weights, int) else plain(weights)
    if not parts or min(parts) <= 0 or not math.isfinite(sum(parts)):
        raise ParameterError("The shares of epsilon are not all positive.", "Give positive finite shares.")
    total = sum(map(Fraction, parts))
    return [exact(epsilon) * (Fraction(part) / total) for part in parts]

"""Neighboring relations, and privacy losses as exact fractions."""

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
"""The privacy unit: one row, or one person with all rows."""


class Relation(StrEnum):
    """Neighboring relation: which two data sets differ by one privacy unit.

    Under "add_remove" they differ by the presence of one row, and the number of rows is private.
    Under "replace" they differ in the values of one row, and the number of rows is public.
    """

    REPLACE = "replace"
    ADD_REMOVE = "add_remove"

    @property
    def histogram_l1(self) -> int:
        """L1 sensitivity of one marginal of counts: 1 under "add_remove", 2 under "replace"."""
        return 2 if self is Relation.REPLACE else 1

    @property
    def sentence(self) -> str:
        """Definition of the relation in one sentence, for screens and exports."""
        if self is Relation.REPLACE:
            return phrase("Neighbors differ in the values of one row; the number of rows is public.")
        return phrase("Neighbors differ by the presence of one row; the number of rows is private.")

    @property
    def short(self) -> str:
        """Definition of the relation in a few words for screens, such as "change one row"."""
        return phrase("change one row") if self is Relation.REPLACE else phrase("add or remove one row")

    def sentence_for(self, protects: ProtectedUnit) -> str:
        """Return the relation's definition for runs that protect rows or persons.

        Parameters
        ----------
        protects : {"row", "person"}
            The protected unit.

        Returns
        -------
        str
            A sentence, in English.
        """
        if protects == "row":
            return self.sentence
        if self is Relation.REPLACE:
            return phrase("Neighbors differ in all rows of one person; the number of persons is public.")
        return phrase("Neighbors differ by the presence of one person; the number of persons is private.")

    def short_for(self, protects: ProtectedUnit) -> str:
        """Return the relation's short definition for runs that protect rows or persons.

        Parameters
        ----------
        protects : {"row", "person"}
            The protected unit.

        Returns
        -------
        str
            A few words, in English.
        """
        if protects == "row":
            return self.short
        return phrase("change one person") if self is Relation.REPLACE else phrase("add or remove one person")

    @classmethod
    def parse(cls, value: str) -> Self:
        """Return the relation with a given name.

        Parameters
        ----------
        value : {"add_remove", "replace"}
            The name.

        Returns
        -------
        Relation
            The relation.

        Raises
        ------
        ParameterError
            If no relation has that name; the message lists the names.
        """
        return cls(value)

    @classmethod
    def _missing_(cls, _: object) -> Self:
        """Raise ParameterError with the known names, for a name that is no relation."""
        known = ", ".join(cls)
        raise ParameterError("`relation` is no known neighboring relation.", f"Choose one of {known}.")


def exact(epsilon: Epsilon) -> Epsilon:
    """Return an epsilon (or rho) as an exact fraction; infinity stays a float.

    ParameterError if it is negative or not a number.
    """
    if not is_number(epsilon) or not epsilon >= 0:
        raise ParameterError("An epsilon is negative or not a number.", "Use an epsilon of 0 or more.")
    if isinstance(epsilon, Rational):
        return Fraction(int(epsilon.numerator), int(epsilon.denominator))
    return math.inf if math.isinf(epsilon) else Fraction(float(epsilon))


def shares_of(epsilon: Epsilon, weights: list[float] | int) -> list[Epsilon]:
    """Divide an epsilon in proportion to `weights`; the exact shares sum to `epsilon`.

    An int in place of weights means that many equal shares.
    """
    parts = [1.0] * weights if isinstance(weights, int) else plain(weights)
    if not parts or min(parts) <= 0 or not math.isfinite(sum(parts)):
        raise ParameterError("The shares of epsilon are not all positive.", "Give positive finite shares.")
    total = sum(map(Fraction, parts))
    return [exact(epsilon) * (Fraction(part) / total) for part in parts]

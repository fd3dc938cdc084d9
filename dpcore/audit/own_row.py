"""A case about one's own row: the table as it is beside the same without that person, or with other values."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpcore.accounting.relation import Relation
from dpcore.audit.game import Case
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.language import phrase
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.synthesizer import Synthesizer

TRIALS, SAMPLED = 100, 2_000  # the latter stands in a text below
Row = Mapping[str, Any]
Statistic = Callable[[PrivateEstimator], float]


def own_row(
    estimator: PrivateEstimator,
    schema: Schema,
    frame: pd.DataFrame,
    row: int,
    relation: Relation | str,
    *,
    other: Row | None = None,
    trials: int = TRIALS,
) -> Case:
    """Somebody's own table beside the same table without one person, or with that person's values changed.

    Nothing of it is private: real rows are read, and the person who is asked about is named. It costs 2 x `trials` fits
    and no epsilon, because nothing of it may be handed on. The first world is the table as it is, the second has it
    without the person ("add_remove") or with `other` values in all columns ("replace"). If the schema's unit names
    persons, all rows of the one whose row this is are missing, or one such row is in their place. What must come out is
    not known: `expected` says "not caught". `row` is the person's place, from 0; the estimator is not fitted, and its
    relation and seed are replaced. DataError, ParameterError or SchemaError if there is no such row, or the method or
    the schema does not take such tables.
    """
    relation = Relation.parse(relation)
    if not 0 <= row < len(frame):
        told = f"The table has no row of that number: its last one is {len(frame) - 1:,}."
        raise DataError("The table has no row of that number.", "Choose one from 0 on.", told)
    names, unit = list(schema.names), schema.persons
    whose = [] if unit is None else [str(unit.id_column)]
    first = frame.loc[:, [*names, *whose]].reset_index(drop=True)
    person = np.arange(len(first)) if unit is None else unit.persons(first)
    mine, rest = first.iloc[[row]], first[person != person[row]]
    if relation is Relation.REPLACE:
        if other is None or not set(names) <= set(other):
            raise ParameterError("There is no other row with every column of the schema.", "Give all of its values.")
        put = pd.DataFrame([{name: other[name] for name in names}]).assign(
            **{name: mine[name].iloc[0] for name in whose}
        )
        second = pd.concat([rest, put] if len(rest) else [put], ignore_index=True)
        twins = phrase("Your table as it is, and the same table in which one person has other values.")
    else:
        second = rest.reset_index(drop=True)
        twins = phrase("Your table as it is, and the same table in which one person is missing.")
    moved = phrase(
        "One row of many moves a release little: that the two worlds look alike here proves nothing about rows that "
        "stand out more."
    )
    if unit is not None:
        moved = phrase(
            "One person of many moves a release little: that the two worlds look alike here proves nothing about "
            "persons that stand out more."
        )
    schema.encode(second)  # refuses values that do not fit, before anything is run
    method = next((name for name, kind in METHODS.items() if type(estimator) is kind), estimator.title)
    if isinstance(estimator, Synthesizer):
        statistic = near(schema, mine)
        looks_at = phrase("How alike 2,000 synthetic rows are to the row: columns that agree, and one more if all do")
    else:
        statistic = chance_of_class(estimator, schema, mine)
        looks_at = phrase("Predicted probability of the row’s own class")
    return Case(
        key=f"{method}/{estimator.mode}/own/{relation}",
        name=phrase("A row of your own table"),
        tale=(twins, moved),
        schema=schema,
        pair=(first, second),
        estimator=clone(estimator).set_params(relation=str(relation), random_state=None),
        number=looks_at,
        statistic=statistic,
        trials=trials,
    )


def near(schema: Schema, mine: pd.DataFrame) -> Statistic:
    """In how many columns synthetic rows agree with one row, on average, and how often in all of them."""
    codes: Codes = schema.encode(mine)[0]

    def statistic(fitted: Any) -> float:
        agree = schema.encode(fitted.sample(SAMPLED)) == codes
        return float(agree.sum(axis=1).mean() + agree.all(axis=1).mean())

    return statistic


def chance_of_class(estimator: PrivateEstimator, schema: Schema, mine: pd.DataFrame) -> Statistic:
    """The probability that a released classifier gives to the row's own class."""
    target = estimator.get_params().get("target") or schema.target
    if target is None:
        raise ParameterError("The classifier has no class column.", "Set the schema's target.")
    place = int(schema.encode(mine)[0, schema.index(target)])

    def statistic(fitted: Any) -> float:
        return round(float(fitted.predict_proba(mine)[0, place]), 9)

    return statistic

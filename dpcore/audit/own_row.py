"""A case about one's own row: the table as it is beside the same without that person, or with other values."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpcore.accounting.relation import Relation
from dpcore.audit.game import Case
from dpcore.audit.tables import TABLE
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator, Synthesizer

TRIALS, SAMPLED = 100, 2_000  # the latter stands in a text of cases.toml
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
    replaced = relation is Relation.REPLACE
    if replaced and (other is None or not set(names) <= set(other)):
        raise ParameterError("There is no other row with every column of the schema.", "Give all of its values.")
    second = rest.reset_index(drop=True)
    if replaced and other is not None:
        put = pd.DataFrame([{name: other[name] for name in names}]).assign(**mine[whose].iloc[0])
        second = pd.concat([rest, put] if len(rest) else [put], ignore_index=True)
    schema.encode(second)  # refuses values that do not fit, before anything is run
    codes, target = schema.encode(mine)[0], estimator.get_params().get("target") or schema.target
    statistic: Statistic = partial(agreement, schema, codes)
    if not isinstance(estimator, Synthesizer):
        if target is None:
            raise ParameterError("The classifier has no class column.", "Set the schema's target.")
        statistic = partial(probability_of_class, mine, int(codes[schema.index(target)]))
    tale, numbers = TABLE["own_row"]["tale"], TABLE["own_row"]["number"]
    method = METHODS.name_of(type(estimator).__name__, estimator.title)
    return Case(
        key=f"{method}/{estimator.mode}/own/{relation}",
        name=TABLE["own_row"]["name"],
        tale=(tale["worlds"][replaced], tale["row" if unit is None else "person"]),
        schema=schema,
        pair=(first, second),
        estimator=clone(estimator).set_params(relation=str(relation), random_state=None),
        number=numbers["rows" if isinstance(estimator, Synthesizer) else "class"],
        statistic=statistic,
        trials=trials,
    )


def agreement(schema: Schema, codes: Codes, fitted: Any) -> float:
    """In how many columns synthetic rows agree with one row, on average, and how often in all of them."""
    agree = schema.encode(fitted.sample(SAMPLED)) == codes
    return float(agree.sum(axis=1).mean() + agree.all(axis=1).mean())


def probability_of_class(mine: pd.DataFrame, own_class: int, fitted: Any) -> float:
    """The probability that a released classifier gives to the row's own class."""
    return round(float(fitted.predict_proba(mine)[0, own_class]), 9)

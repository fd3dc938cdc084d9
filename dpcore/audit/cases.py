"""Twin worlds: the cases of `cases.toml`, which attack each method where it is weakest; and one about one's own row.

One's own row is attacked in the table as it is beside the same without that person, or with other
values.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpcore.accounting.relation import Relation
from dpcore.audit import events
from dpcore.audit.game import TABLE, Case, NeighboringPair, neighbors, run
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.language import phrase
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator, Synthesizer
from dpcore.text import Verdict

__all__ = ["CASES", "Case", "NeighboringPair", "cases_of", "own_row", "run"]

EXPECTED = {"caught": Verdict.FAILS, "not caught": Verdict.OPEN, "no claim": None}
TRIALS, SAMPLED = 100, 2_000  # the latter stands in a text of cases.toml
CHANGES = {"add_remove": phrase("{title} added"), "replace": phrase("{title} replaced")}


def cases_of_attack(attack: dict[str, Any]) -> Iterator[Case]:
    """The cases of one attack of the table, under each relation that it names."""
    for own in attack["cases"]:
        given = TABLE["pairs"][attack["pair"]] | attack | own
        tales = [[one] if isinstance(one, str) else one for one in (attack.get("tale", []), own.get("tale", []))]
        given["tale"] = [*tales[0][:1], *tales[1], *tales[0][1:]]
        of = own["of"] if isinstance(own["of"], dict) else {own["of"]: {}}
        for name, parameters in of.items():
            shared = attack.get("parameters", {}) | own.get("parameters", {}) | parameters
            for relation in given.get("relations") or [""]:
                yield case_of(name, relation, shared, given)


def case_of(name: str, relation: str, parameters: dict[str, Any], given: dict[str, Any]) -> Case:
    """One case; without a relation the method's own holds."""
    method, mode, *_ = name.split("/")
    how = {"mode": mode, **parameters} | ({"relation": relation} if relation else {})
    kind: Any = METHODS[method]
    estimator = kind(**{name: None if value == "none" else value for name, value in how.items()})
    replaced = estimator.relation == "replace"
    schema, pair = neighbors(given, replaced=replaced)

    def text(told: Any) -> str:
        return told if isinstance(told, str) else str(told[replaced])

    return Case(
        key=f"{name}/{relation}".rstrip("/"),
        name=given["name"],
        change=CHANGES.get(relation, "{title}"),
        tale=tuple(map(text, given["tale"])),
        other=text(given.get("other", "")),
        schema=schema,
        pair=pair,
        estimator=estimator,
        number=text(given["number"]),
        statistic=getattr(events, given["event"]),
        trials=given["runs"],
        expected=EXPECTED[given.get("expected", "not caught")],
        step=given.get("step", ""),
    )


CASES = tuple(case for attack in TABLE["attacks"] for case in cases_of_attack(attack))


def cases_of(method: str, mode: str) -> list[Case]:
    """The cases of a method in a mode, in the order in which they are shown."""
    return [case for case in CASES if (case.method, case.mode) == (method, mode)]


def own_row(
    estimator: PrivateEstimator,
    schema: Schema,
    frame: pd.DataFrame,
    row: int,
    relation: Relation | str,
    *,
    other: Mapping[str, Any] | None = None,
) -> Case:
    """Somebody's own table beside the same table without one person, or with that person's values changed.

    Nothing of it is private: real rows are read, and the person who is asked about is named. It
    costs 2 x `TRIALS` fits and no epsilon, because nothing of it may be handed on. The first world
    is the table as it is, the second has it without the person ("add_remove") or with `other`
    values in all columns ("replace"). If the schema's unit names persons, all rows of the one whose
    row this is are missing, or one such row is in their place. What must come out is not known:
    `expected` says that it cannot be told. `row` is the person's place, from 0; the estimator is
    not fitted, and its relation and seed are replaced. DataError, ParameterError or SchemaError if
    there is no such row, or the method or the schema does not take such tables.
    """
    relation = Relation.parse(relation)
    if not 0 <= row < len(frame):
        words = f"The table has no row of that number: its last one is {len(frame) - 1:,}."
        raise DataError("The table has no row of that number.", "Choose one from 0 on.", words)
    names, unit = list(schema.names), schema.persons
    id_columns = [] if unit is None else [str(unit.id_column)]
    first = frame.loc[:, [*names, *id_columns]].reset_index(drop=True)
    person = np.arange(len(first)) if unit is None else unit.persons(first)
    mine, rest = first.iloc[[row]], first[person != person[row]]
    replaced = relation is Relation.REPLACE
    if replaced and (other is None or not set(names) <= set(other)):
        raise ParameterError("There is no other row with every column of the schema.", "Give all of its values.")
    second = rest.reset_index(drop=True)
    if replaced and other is not None:
        put = pd.DataFrame([{name: other[name] for name in names}]).assign(**mine[id_columns].iloc[0])
        second = pd.concat([rest, put] if len(rest) else [put], ignore_index=True)
    schema.encode(second)  # refuses values that do not fit, before anything is run
    codes, target = schema.encode(mine)[0], estimator.get_params().get("target") or schema.target
    statistic: partial[float] = partial(agreement, schema, codes)
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
        trials=TRIALS,
    )


def agreement(schema: Schema, codes: Codes, fitted: Any) -> float:
    """In how many columns synthetic rows agree with one row, on average, and how often in all of them."""
    agree = schema.encode(fitted.sample(SAMPLED)) == codes
    return float(agree.sum(axis=1).mean() + agree.all(axis=1).mean())


def probability_of_class(mine: pd.DataFrame, own_class: int, fitted: Any) -> float:
    """The probability that a released classifier gives to the row's own class."""
    return round(float(fitted.predict_proba(mine)[0, own_class]), 9)

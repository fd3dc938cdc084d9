"""Twin worlds: the attacks of `cases.toml`, each on a method at its weakest point; and `own_row`.

`own_row` attacks one row of a user's own data set: with and without that person, or with other
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
from dpcore.audit.game import TABLE, Case, PairRuns, neighbors, run
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.language import phrase
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator, Synthesizer
from dpcore.text import Verdict

__all__ = ["CASES", "Case", "PairRuns", "cases_of", "own_row", "run"]

EXPECTED = {"caught": Verdict.FAILS, "not caught": Verdict.OPEN, "no claim": None}
TRIALS, SAMPLED = 100, 2_000  # a text of cases.toml names the 2,000
CHANGES = {"add_remove": phrase("{audit_case} added"), "replace": phrase("{audit_case} replaced")}


def cases_from_attack(attack: dict[str, Any]) -> Iterator[Case]:
    """Yield the cases of one attack in `cases.toml`, under each relation that it names."""
    for own in attack["cases"]:
        given = TABLE["pairs"][attack["pair"]] | attack | own
        tales = [[one] if isinstance(one, str) else one for one in (attack.get("tale", []), own.get("tale", []))]
        given["tale"] = [*tales[0][:1], *tales[1], *tales[0][1:]]
        of = own["of"] if isinstance(own["of"], dict) else {own["of"]: {}}
        for name, parameters in of.items():
            shared = attack.get("parameters", {}) | own.get("parameters", {}) | parameters
            for relation in given.get("relations") or [""]:
                yield make_case(name, relation, shared, given)


def make_case(name: str, relation: str, parameters: dict[str, Any], given: dict[str, Any]) -> Case:
    """Return one case of an attack; an empty `relation` means the method's default.

    `name` is the case's key, such as "MST/corrected/tables". `parameters` are the method's, and
    `given` has all other fields of the pair, the attack and the case in `cases.toml`.
    """
    method, mode, *_ = name.split("/")
    how = {"mode": mode, **parameters} | ({"relation": relation} if relation else {})
    kind: Any = METHODS[method]
    estimator = kind(**{name: None if value == "none" else value for name, value in how.items()})
    replaced = estimator.relation == "replace"
    schema, pair = neighbors(given, replaced=replaced)

    def text(texts: Any) -> str:
        """Return a text, or of two texts the one for this case's relation."""
        return texts if isinstance(texts, str) else str(texts[replaced])

    return Case(
        key=f"{name}/{relation}".rstrip("/"),
        name=given["name"],
        change=CHANGES.get(relation, "{audit_case}"),
        tale=tuple(map(text, given["tale"])),
        second_table=text(given.get("other", "")),
        schema=schema,
        pair=pair,
        estimator=estimator,
        number=text(given["number"]),
        statistic=getattr(events, given["event"]),
        trials=given["runs"],
        expected_verdict=EXPECTED[given.get("expected", "not caught")],
        step=given.get("step", ""),
    )


CASES = tuple(case for attack in TABLE["attacks"] for case in cases_from_attack(attack))


def cases_of(method: str, mode: str) -> list[Case]:
    """Return the cases of a method in a mode, in the order of the menu."""
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
    """Return an attack on one row of a user's own data set.

    The first data set has all rows. In the second, the row's person is missing ("add_remove") or
    has other values ("replace"). The result is not private: it reads real rows and concerns a named
    person. It takes 2 x `TRIALS` fits and no privacy budget, because it must not be published.

    Parameters
    ----------
    estimator : PrivateEstimator
        An unfitted method; its relation and seed are replaced.
    schema : Schema
        The schema. If its privacy unit names persons, all rows of the row's person are removed or
        replaced by one row.
    frame : DataFrame
        The rows.
    row : int
        The position of the row, from 0.
    relation : {"add_remove", "replace"}
        The neighboring relation.
    other : dict, optional
        The person's other values, one for each column; for "replace".

    Returns
    -------
    Case
        The attack; the expected verdict is open.

    Raises
    ------
    DataError
        If there is no such row.
    ParameterError
        If a classifier has no target, or "replace" has no other values.
    SchemaError
        If the method does not accept the schema.
    """
    relation = Relation.parse(relation)
    if not 0 <= row < len(frame):
        words = f"The data have no row number {row:,}: the last one is {len(frame) - 1:,}."
        raise DataError("The data have no row of this number.", "Choose a row number from 0 on.", words)
    names, unit = list(schema.names), schema.persons
    id_columns = [] if unit is None else [str(unit.id_column)]
    first = frame.loc[:, [*names, *id_columns]].reset_index(drop=True)
    person = np.arange(len(first)) if unit is None else unit.persons(first)
    mine, rest = first.iloc[[row]], first[person != person[row]]
    replaced = relation is Relation.REPLACE
    if replaced and (other is None or not set(names) <= set(other)):
        raise ParameterError("`other` lacks columns of the schema.", "Pass a value for each column.")
    second = rest.reset_index(drop=True)
    if replaced and other is not None:
        put = pd.DataFrame([{name: other[name] for name in names}]).assign(**mine[id_columns].iloc[0])
        second = pd.concat([rest, put] if len(rest) else [put], ignore_index=True)
    schema.encode(second)  # refuses values outside the schema before any run
    codes, target = schema.encode(mine)[0], estimator.get_params().get("target") or schema.target
    statistic: partial[float] = partial(agreement, schema, codes)
    if not isinstance(estimator, Synthesizer):
        if target is None:
            raise ParameterError("The classifier has no target column.", "Set the schema's target.")
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
    """Return the mean number of columns in which synthetic rows equal one row.

    If all columns of a synthetic row are equal, it counts one more. `codes` is the encoded row;
    2,000 synthetic rows are sampled from the release.
    """
    agree = schema.encode(fitted.sample(SAMPLED)) == codes
    return float(agree.sum(axis=1).mean() + agree.all(axis=1).mean())


def probability_of_class(mine: pd.DataFrame, own_class: int, fitted: Any) -> float:
    """Return the probability that a classifier gives to `own_class`, the class of the row `mine`."""
    return round(float(fitted.predict_proba(mine)[0, own_class]), 9)

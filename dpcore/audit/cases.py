"""Twin worlds: the cases of `cases.toml`, which attack each method where it is weakest."""

from collections.abc import Iterator
from typing import Any

from dpcore.audit import events
from dpcore.audit.game import Case, Twins, Verdict, run
from dpcore.audit.own_row import own_row
from dpcore.audit.tables import TABLE, neighbors
from dpcore.language import phrase
from dpcore.methods import METHODS

__all__ = ["CASES", "Case", "Twins", "Verdict", "cases_of", "own_row", "run"]

CHANGES = {"add_remove": phrase("{title} added"), "replace": phrase("{title} replaced")}


def cases_of_attack(attack: dict[str, Any]) -> Iterator[Case]:
    """The cases of one attack of the table, under each relation that it names."""
    head, *end = [*sentences(attack), ""]
    for own in attack["cases"]:
        given = TABLE["pairs"][attack["pair"]] | attack | own
        given["tale"] = [*filter(None, (head, *sentences(own), *end))]
        of = own["of"] if isinstance(own["of"], dict) else {own["of"]: {}}
        for name, parameters in of.items():
            shared = attack.get("parameters", {}) | own.get("parameters", {}) | parameters
            for relation in given.get("relations") or [""]:
                yield case_of(name, relation, shared, given)


def sentences(given: dict[str, Any]) -> list[Any]:
    """The tale of an attack, or of a case, in sentences."""
    tale = given.get("tale", [])
    return [tale] if isinstance(tale, str) else tale


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
        expected=given.get("expected", "not caught"),
        step=given.get("step", ""),
    )


CASES = tuple(case for attack in TABLE["attacks"] for case in cases_of_attack(attack))


def cases_of(method: str, mode: str) -> list[Case]:
    """The cases of a method in a mode, in the order in which they are shown."""
    return [case for case in CASES if (case.method, case.mode) == (method, mode)]

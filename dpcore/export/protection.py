"""Whom an epsilon protects, in words: a row, or a person who may have several. For cards, reports and screens."""

from collections.abc import Callable

from dpcore.accounting.relation import Relation, Unit
from dpcore.domain import unit
from dpcore.export.quoting import plain
from dpcore.text import number


def protects(declared: unit.Unit | None) -> Unit:
    """What runs with this unit protect."""
    return "row" if declared is None or declared.column is None else "person"


def headline(declared: unit.Unit | None, epsilon: float) -> str:
    """An epsilon and whose it is: "1 per person", or "1 per row, 3 × 1 = 3 per person"; bare where a row is a person.

    >>> headline(unit.Unit(rows=3), 0.5)
    '0.5 per row, 3 × 0.5 = 1.5 per person'
    """
    if declared is None:
        return number(epsilon)
    told = f"{number(epsilon)} per {protects(declared)}"
    return f"{told}, {for_person(declared, epsilon)}" if declared.column is None else told


def for_person(declared: unit.Unit | None, epsilon: float) -> str:
    """What the epsilon of one row is for a person, in a few words; empty where it is the person's own already."""
    if declared is None or declared.column is not None:
        return ""
    return f"{declared.rows:,} × {number(epsilon)} = {number(declared.of_one(epsilon))} per person"


def protected(declared: unit.Unit | None, relation: Relation | str, written: Callable[[str], str] = plain) -> str:
    """The unit of protection, in a sentence or two; `written` is how a column's name may stand there."""
    if declared is None:
        return "one row. Somebody with several rows is protected several times less."
    rows = f"{declared.rows:,} row{'s' * (declared.rows > 1)}"
    if declared.column is None:
        return (
            f"one row. One person has {rows} at most, as declared: epsilon is {declared.rows:,} times as much for them."
        )
    told = f"one person with all rows. The column {written(declared.column)!r} says whose row it is"
    if Relation.parse(relation) is Relation.REPLACE:
        places = f"{declared.rows:,} place{'s' * (declared.rows > 1)}"
        return f"{told}. Everybody fills {places} with rows of their own, chosen by secret lot, and so counts the same."
    return f"{told}; {rows} of each count at most, chosen by secret lot."


def neighbors(declared: unit.Unit | None, relation: Relation | str) -> str:
    """Which two tables must be hard to tell apart."""
    known, what = Relation.parse(relation), protects(declared)
    return f"{known.short_for(what)}. {known.sentence_for(what)}"


def groups(declared: unit.Unit | None) -> str:
    """Who is protected less than a unit is."""
    if protects(declared) == "row":
        return "People with several rows, and groups of people taken together: k rows cost k times epsilon."
    return (
        "Groups of people taken together, such as families: k people cost k times epsilon. Somebody whose rows stand "
        "under several names is as many people."
    )

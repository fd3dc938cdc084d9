"""Whom an epsilon protects, in words: a row, or a person who may have several. For cards, reports and screens."""

from dpcore.accounting.currency import DELTA, PrivacyLoss, PrivacyMeasure, describe_measure
from dpcore.accounting.relation import ProtectedUnit, Relation
from dpcore.domain import unit
from dpcore.export.rendering import plain, sentence
from dpcore.language import phrase, say
from dpcore.text import number

UNITS = (phrase("row"), phrase("person"))  # as screens say them


def protects(declared: unit.PrivacyUnit | None) -> ProtectedUnit:
    """What runs with this unit protect."""
    return "row" if declared is None or declared.id_column is None else "person"


def headline(declared: unit.PrivacyUnit | None, epsilon: float, delta: float = 0.0) -> str:
    """An epsilon and whose it is: "1 per person", or "1 per row, 3 × 1 = 3 per person"; bare where a row is a person.

    With a delta, it stands behind.

    >>> headline(unit.PrivacyUnit(rows=3), 0.5)
    '0.5 per row, 3 × 0.5 = 1.5 per person'
    """
    epsilon_text, person = number(epsilon), for_person(declared, epsilon, delta)
    if person:
        epsilon_text = sentence("epsilon", "per_row", epsilon=epsilon_text, person=person)
    elif declared is not None:
        epsilon_text = sentence("epsilon", "per_person", epsilon=epsilon_text)
    return sentence("epsilon", "at_delta", epsilon=epsilon_text, delta=f"{delta:g}") if delta else epsilon_text


def of_delta(delta: float) -> str:
    """What a delta means."""
    return say(DELTA, **describe_measure(delta))


def of_one(declared: unit.PrivacyUnit | None, epsilon: float, delta: float = 0.0) -> float:
    """What a run's epsilon is for one person: of rho, k rows cost k^2 as much."""
    if declared is None or declared.id_column is not None:
        return epsilon
    return PrivacyMeasure.of(delta).group_epsilon(epsilon, declared.max_contributions)


def log_odds_gained(declared: unit.PrivacyUnit | None, measure: PrivacyMeasure, budget: PrivacyLoss) -> float:
    """The most that a run moves the log-odds of whether one person is in the data, but for a chance of its delta."""
    rows = 1 if declared is None or declared.id_column is not None else declared.max_contributions
    return measure.log_odds_gained(budget * measure.group_factor(rows))


def for_person(declared: unit.PrivacyUnit | None, epsilon: float, delta: float = 0.0) -> str:
    """What the epsilon of one row is for a person, in a few words; empty where it is the person's own already."""
    if declared is None or declared.id_column is not None:
        return ""
    values = {"epsilon": number(epsilon), "whole": number(of_one(declared, epsilon, delta))}
    case = "persons_rho" if delta else "persons"
    return sentence("epsilon", case, rows=declared.max_contributions, **values)


def describe_unit(declared: unit.PrivacyUnit | None, relation: Relation | str, delta: float = 0.0) -> str:
    """The unit of protection, in a sentence or two."""
    if declared is None:
        return sentence("unit", "none")
    case = str(Relation.parse(relation)) if declared.id_column else "rho" if delta else "rows"
    most, column = declared.max_contributions, repr(plain(declared.id_column or ""))
    return sentence("unit", case, n=most, times=most**2 if delta else most, column=column)


def neighbors(declared: unit.PrivacyUnit | None, relation: Relation | str) -> str:
    """Which two tables must be hard to tell apart."""
    known, what = Relation.parse(relation), protects(declared)
    values = {"short": say(known.short_for(what)), "sentence": say(known.sentence_for(what))}
    return sentence("epsilon", "neighbors", **values)


def groups(declared: unit.PrivacyUnit | None, delta: float = 0.0) -> str:
    """Who is protected less than a unit is."""
    return sentence("groups", "rho" if delta else protects(declared))

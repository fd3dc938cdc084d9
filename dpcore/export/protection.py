"""Whom an epsilon protects, in words: a row, or a person who may have several. For cards, reports and screens."""

from dpcore.accounting.privacy_measure import DELTA, PrivacyLoss, PrivacyMeasure, describe_measure
from dpcore.accounting.relation import ProtectedUnit, Relation
from dpcore.domain import unit
from dpcore.export.rendering import plain, sentence
from dpcore.language import phrase, say
from dpcore.text import number

UNITS = (phrase("row"), phrase("person"))  # as screens say them


def protects(declared: unit.PrivacyUnit | None) -> ProtectedUnit:
    """Return what runs with this privacy unit protect: a row or a person."""
    return "row" if declared is None or declared.id_column is None else "person"


def headline(declared: unit.PrivacyUnit | None, epsilon: float, delta: float = 0.0) -> str:
    """Return an epsilon as text, with whom it protects, if that is declared, and its delta, if any.

    Examples are "1 per person", and "1 per row, 3 × 1 = 3 per person" if a person may have three
    rows. `declared` is the schema's privacy unit.

    >>> headline(unit.PrivacyUnit(max_contributions=3), 0.5)
    '0.5 per row, 3 × 0.5 = 1.5 per person'
    """
    epsilon_text, person = number(epsilon), for_person(declared, epsilon, delta)
    if person:
        epsilon_text = sentence("epsilon", "per_row", epsilon=epsilon_text, per_person=person)
    elif declared is not None:
        epsilon_text = sentence("epsilon", "per_person", epsilon=epsilon_text)
    return sentence("epsilon", "at_delta", epsilon=epsilon_text, delta=f"{delta:g}") if delta else epsilon_text


def of_delta(delta: float) -> str:
    """Return a sentence on what a delta means."""
    return say(DELTA, **describe_measure(delta))


def of_one(declared: unit.PrivacyUnit | None, epsilon: float, delta: float = 0.0) -> float:
    """Return a run's epsilon for one person with all rows; `declared` is the privacy unit.

    `epsilon` is for one row, unless a column identifies persons. With a delta, k rows have k^2
    times the rho.
    """
    if declared is None or declared.id_column is not None:
        return epsilon
    return PrivacyMeasure.from_delta(delta).group_epsilon(epsilon, declared.max_contributions)


def log_odds_gained(declared: unit.PrivacyUnit | None, measure: PrivacyMeasure, budget: PrivacyLoss) -> float:
    """Return a bound on how far a run changes the log-odds that someone is in the data.

    `declared` is the privacy unit and `budget` the run's loss. Events of probability delta are
    excepted.
    """
    rows = 1 if declared is None or declared.id_column is not None else declared.max_contributions
    return measure.log_odds_gained(budget * measure.group_factor(rows))


def for_person(declared: unit.PrivacyUnit | None, epsilon: float, delta: float = 0.0) -> str:
    """Return what a row's epsilon is for a person, in a few words; empty if a row is a person."""
    if declared is None or declared.id_column is not None:
        return ""
    values = {"epsilon": number(epsilon), "per_person": number(of_one(declared, epsilon, delta))}
    case = "persons_rho" if delta else "persons"
    return sentence("epsilon", case, rows=declared.max_contributions, **values)


def describe_unit(declared: unit.PrivacyUnit | None, relation: Relation | str, delta: float = 0.0) -> str:
    """Return a sentence or two on the privacy unit."""
    if declared is None:
        return sentence("unit", "none")
    case = str(Relation.parse(relation)) if declared.id_column else "rho" if delta else "rows"
    most, column = declared.max_contributions, repr(plain(declared.id_column or ""))
    return sentence("unit", case, n=most, times=most**2 if delta else most, column=column)


def neighbors(declared: unit.PrivacyUnit | None, relation: Relation | str) -> str:
    """Return a sentence on which two data sets must be hard to distinguish."""
    known, what = Relation.parse(relation), protects(declared)
    values = {"relation": say(known.short_for(what)), "explained": say(known.sentence_for(what))}
    return sentence("epsilon", "neighbors", **values)


def groups(declared: unit.PrivacyUnit | None, delta: float = 0.0) -> str:
    """Return a sentence on groups of rows or persons, whom the guarantee protects less than one."""
    return sentence("groups", "rho" if delta else protects(declared))

"""Audits: lower bounds on epsilon from many runs of a method on neighboring data sets."""

from dpcore.arguments import check_public
from dpcore.audit.bound import (
    FEWEST,
    AuditResult,
    Event,
    audit,
    lower_bound,
    lower_bound_of_statistics,
    separating_event,
)

__all__ = ["FEWEST", "AuditResult", "Event", "audit", "lower_bound", "lower_bound_of_statistics", "separating_event"]
check_public(globals(), __all__)

"""Twin worlds: pairs of neighboring tables that attack each method where it is weakest, and the verdicts."""

from dpcore.audit.cases import groups, local, naive_bayes, networks, trees
from dpcore.audit.game import Case, Twins, Verdict, run
from dpcore.audit.own_row import own_row

__all__ = ["CASES", "Case", "Twins", "Verdict", "cases_of", "own_row", "run"]

CASES: tuple[Case, ...] = (
    *naive_bayes.CASES,
    *networks.CASES,
    *groups.CASES,
    *trees.CASES,
    *local.CASES,
)


def cases_of(method: str, mode: str) -> list[Case]:
    """The cases of a method in a mode, in the order in which they are shown."""
    return [case for case in CASES if (case.method, case.mode) == (method, mode)]

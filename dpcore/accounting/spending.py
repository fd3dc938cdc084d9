"""One ledger for all fits of a block: `with dp.spending(2.0) as ledger:`.

Each fit in the block that has no ledger of its own becomes a part of the block's ledger. Why its
sum is a bound, and of what:

fits        Fits read the same rows one after the other, and each may depend on what earlier ones
            released. Their losses add up (sequential composition, see `ledger`).
folds       Of k training folds a row is in k - 1, and a refit has all rows. The ledger counts all k
            and the refit, for it does not know which rows a fit has. Training folds overlap, so
            parallel composition is not used.
assignment  A fit is charged for one row of its own table. That is one row of the whole table only
            if the fold of a row does not depend on other rows. Under replace, folds by position do
            not (`KFold`). Under add_remove one row more shifts such folds: each row must draw its
            own (`PredefinedSplit` with secret random numbers). Stratified folds, the default of
            classifiers, depend on the classes of all rows: one row moves others to other folds, and
            the sum is no bound.
scores      Whatever else is computed from real rows is not counted: scores, the choice that is made
            by them, and the fits that audits, forecasts and evaluations make to compare.

A thread that was started without the context of the block, as joblib starts them, finds the only
block that is open. Other processes cannot charge it: a method that is sent there refuses to fit.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Epsilon, Relation
from dpcore.accounting.tally import ELSEWHERE
from dpcore.errors import ParameterError

_CURRENT: ContextVar[Ledger | None] = ContextVar("dpcore_spending", default=None)
OPEN: list[Ledger] = []
"""The ledgers of all blocks that are open in this process."""


@contextmanager
def spending(
    epsilon_cap: Epsilon | None = None,
    *,
    relation: Relation | str = Relation.ADD_REMOVE,
    delta: float = 0.0,
    ledger: Ledger | None = None,
) -> Iterator[Ledger]:
    """Charge every fit inside that has no ledger of its own to one ledger.

    A block inside another one is a part of it. The folds of a search must be assigned independently
    of other rows: the top of this module says why, and which are.

    Parameters
    ----------
    epsilon_cap : float, optional
        The most that all fits together may cost. A query that would exceed it is refused before
        noise is drawn.
    relation : {"add_remove", "replace"}
        The relation of the methods.
    delta : float
        The delta of the methods; 0 for pure epsilon.
    ledger : Ledger, optional
        A ledger to charge in place of a new one, such as `dp.persistent_ledger(...)`, with its own
        relation and delta.

    Yields
    ------
    Ledger
        Its `epsilon_bound` is the sum of all fits: those on folds, and the refit.

    Raises
    ------
    BudgetError
        Where a query of a fit would exceed the cap.
    ParameterError
        If relation or delta differ from those of the block around, or a ledger comes with a cap.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> with dp.spending(2.0, relation="add_remove") as ledger:
    ...     for epsilon in (0.5, 1.0):
    ...         _ = dp.RefinedPrivBayes(epsilon=epsilon).fit(data.train, schema=data.schema)
    >>> ledger.epsilon_bound
    1.5
    """
    around = _CURRENT.get()
    if ledger is None:
        ledger = Ledger(relation, epsilon=epsilon_cap, name="spending", delta=delta)
    elif epsilon_cap is not None or not isinstance(ledger, Ledger):
        raise ParameterError("'ledger' is no ledger, or has a cap beside it.", "Pass a ledger alone.")
    if around is not None and around not in ledger._upward():
        around.attach(ledger)
    token = _CURRENT.set(ledger)
    OPEN.append(ledger)
    try:
        yield ledger
    finally:
        OPEN.remove(ledger)
        _CURRENT.reset(token)


def block_ledger(sender: int | None = None) -> Ledger | None:
    """Return the ledger of the block that a fit is in, if any; `sender` sent the method.

    Raises
    ------
    ParameterError
        If that is another process, or several blocks are open and none is this thread's.
    """
    if sender not in (None, os.getpid()):
        raise ParameterError("A `dp.spending` block of another process would miss this.", ELSEWHERE)
    current, blocks = _CURRENT.get(), {*OPEN}
    if current is None and blocks:
        current = OPEN[-1]
        if not blocks <= {*current._upward()}:
            raise ParameterError("Several `dp.spending` blocks are open.", "Pass ledger= to fit.")
    return current

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
            by them, and the fits that audits, forecasts and attacks make to compare. Sweeps without
            ledgers of their own are counted, and have to stay in this process.

A thread that was started without the context of the block, as joblib starts them, finds the
innermost block if all open ones are within each other; it may not open a block itself, which would
miss the one around. A block that has ended is no block of anybody. Other processes cannot charge
it: a method that is sent there refuses to fit.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from secrets import token_hex

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Epsilon, Relation
from dpcore.errors import ParameterError

_CURRENT: ContextVar[Ledger | None] = ContextVar("dpcore_spending", default=None)
OPEN: list[Ledger] = []
"""The ledgers of all blocks that are open in this process."""
TOKEN = token_hex(8)  # process numbers come again, on this computer and on others
SEVERAL = "Pass ledger= to fit, or start the thread with contextvars.copy_context().run."


def this_process() -> tuple[int, str]:
    """What tells this process from others."""
    return os.getpid(), TOKEN


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
        relation and delta. A ledger can be a part of one block around only: open another one for
        the next.

    Yields
    ------
    Ledger
        Its `epsilon_bound` is the sum of all fits: those on folds, and the refit.

    Raises
    ------
    BudgetError
        Where a query of a fit would exceed the cap.
    ParameterError
        If relation or delta differ from those of the block around, a ledger comes with a cap, or
        a thread without the context of the open blocks opens one.

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
    around = around if around in OPEN else None
    if around is None and OPEN:
        raise ParameterError("A `dp.spending` block of another thread is open.", SEVERAL)
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
        with suppress(ValueError):  # a generator that is ended in another context
            _CURRENT.reset(token)


def block_ledger(sender: tuple[int, str] | None = None) -> Ledger | None:
    """Return the ledger of the block that a fit is in, if any; `sender` sent the method.

    Raises
    ------
    ParameterError
        If that is another process, or several blocks are open and none is this thread's.
    """
    if sender not in (None, this_process()):
        raise ParameterError(
            "This method was sent here from a `dp.spending` block of another process.",
            "Stay in one process (n_jobs=1, or threads), make the method anew, or pass ledger= to fit.",
        )
    current = _CURRENT.get()
    if current in OPEN or not OPEN:
        return current if OPEN else None
    if not {*OPEN} <= {*OPEN[-1]._upward()}:
        raise ParameterError("Several `dp.spending` blocks are open.", SEVERAL)
    return OPEN[-1]

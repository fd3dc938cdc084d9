"""Charge all fits of a code block to one ledger: `with dp.spending(2.0) as ledger:`.

Each fit in the block that has no ledger of its own becomes a part of the block's ledger. Why the
sum bounds the privacy loss, and what the sum leaves out:

fits        Fits read the same rows one after the other, and each may depend on what earlier ones
            released. Their losses add up (sequential composition, see `ledger`).
folds       Of k training folds a row is in k - 1, and a refit has all rows. The ledger counts all k
            and the refit, because it does not know which rows a fit has. Training folds overlap, so
            parallel composition does not apply.
assignment  A fit is charged for one row of the rows that it gets. That is one row of the whole data
            set only if the fold of a row does not depend on other rows. Under replace, folds by
            position do not (`KFold`). Under add_remove one more row shifts such folds: each row
            must draw its own fold (`PredefinedSplit` with secret random numbers). Stratified folds,
            the default of classifiers, depend on the classes of all rows: one row moves other rows
            to other folds, and the sum is no bound.
scores      Other computations on real rows are not counted: scores, a selection by scores, and the
            fits of audits, forecasts and attacks. Sweeps without ledgers of their own are counted,
            and must stay in this process.

A thread that was started without the context of the block, as joblib does, uses the innermost open
block if all open blocks are nested. Such a thread cannot open a block, because the new block would
not be a part of the outer one. A block that has ended is never used. Other processes cannot charge
a block: a method that is sent to another process refuses to fit.
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
"""The ledgers of all `spending` blocks that are open in this process."""
TOKEN = token_hex(8)  # process numbers are reused, here and on other computers
SEVERAL = "Pass ledger= to fit, or start the thread with contextvars.copy_context().run."


def this_process() -> tuple[int, str]:
    """Return a key that identifies this process: its number and a random token."""
    return os.getpid(), TOKEN


@contextmanager
def spending(
    epsilon_cap: Epsilon | None = None,
    *,
    relation: Relation | str = Relation.ADD_REMOVE,
    delta: float = 0.0,
    ledger: Ledger | None = None,
) -> Iterator[Ledger]:
    """Charge every fit in a `with` block that has no ledger of its own to one ledger.

    A block inside another block is charged to the outer block too. In a search with
    cross-validation, the fold of a row must not depend on other rows, or the sum over fits is no
    bound. Under replace, folds by position (`KFold`) will do. Under add_remove each row must draw
    its own fold (`PredefinedSplit` with secret random numbers).

    Parameters
    ----------
    epsilon_cap : float, optional
        Largest epsilon of all fits together. A query that would exceed the cap is refused before
        noise is drawn.
    relation : {"add_remove", "replace"}
        The relation of the methods.
    delta : float
        The delta of the methods; 0 for pure epsilon.
    ledger : Ledger, optional
        A ledger to charge in place of a new one, such as `dp.persistent_ledger(...)`, with its own
        relation and delta. Inside another block, the ledger must not be a part of a third ledger.

    Yields
    ------
    Ledger
        The ledger; its `epsilon_bound` is the sum over all fits, those on folds and the refit.

    Raises
    ------
    BudgetError
        If a query of a fit would exceed the cap.
    ParameterError
        If the relation or delta differs from those of the outer block, if both a ledger and a cap
        are passed, or if a thread without the context of the open blocks opens a block.

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
        raise ParameterError("`ledger` is no Ledger, or was passed together with a cap.", "Pass a Ledger only.")
    if around is not None and around not in ledger._ancestors():
        around.attach(ledger)
    token = _CURRENT.set(ledger)
    OPEN.append(ledger)
    try:
        yield ledger
    finally:
        OPEN.remove(ledger)
        with suppress(ValueError):  # the generator ended in another context
            _CURRENT.reset(token)


def block_ledger(sender: tuple[int, str] | None = None) -> Ledger | None:
    """Return the ledger of the `spending` block that a fit runs in; None outside all blocks.

    Parameters
    ----------
    sender : tuple of int and str, optional
        The process (`this_process`) that sent the method; None if the method was not sent.

    Raises
    ------
    ParameterError
        If another process sent the method, or several blocks are open and none belongs to this
        thread.
    """
    if sender not in (None, this_process()):
        raise ParameterError(
            "This method was sent here from a `dp.spending` block of another process.",
            "Stay in one process (n_jobs=1, or threads), make the method anew, or pass ledger= to fit.",
        )
    current = _CURRENT.get()
    if current in OPEN or not OPEN:
        return current if OPEN else None
    if not {*OPEN} <= {*OPEN[-1]._ancestors()}:
        raise ParameterError("Several `dp.spending` blocks are open.", SEVERAL)
    return OPEN[-1]

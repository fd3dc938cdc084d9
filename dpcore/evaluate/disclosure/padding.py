"""Risk against the number of rows, on real rows diluted with random ones."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress, no_progress
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.disclosure.attacks import advantage, cap
from dpcore.methods.base import Synthesizer


def padded(frame: pd.DataFrame, schema: Schema, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """The schema's columns of a frame, followed by uniformly random rows up to `rows` in all.

    Every code of a column is equally likely, "missing" included; numbers are then uniform inside their bin. The random
    rows are independent of one another and of the frame, so they dilute every dependence between columns. A schema
    with `max_rows` below `rows` is no longer true of the result.

    Parameters
    ----------
    frame : DataFrame
        Rows that fit the schema; the result holds them as they are.
    schema : Schema
    rows : int
        The length of the result.
    rng : Generator

    Raises
    ------
    DataError
        If the frame does not fit the schema.
    ParameterError
        If the frame has more than `rows` rows.
    """
    schema.encode(frame)
    if rows < len(frame):
        raise ParameterError("The frame has more rows than it is to be padded to.", "Raise rows.")
    codes = rng.integers(0, schema.sizes, size=(rows - len(frame), len(schema)), dtype=np.uint32)
    return pd.concat([frame[list(schema.names)], schema.decode(codes, rng)], ignore_index=True)


def risk_by_rows(
    method: Synthesizer,
    frame: pd.DataFrame,
    targets: pd.DataFrame,
    schema: Schema,
    sensitive: str,
    quasi_identifiers: Sequence[str],
    sizes: Sequence[int],
    *,
    repeats: int = 1,
    tau: float = 0.8,
    attack: str = "linear SVM",
    progress: Progress = no_progress,
    seed: int = 0,
    ledger: Ledger | None = None,
) -> pd.DataFrame:
    """`cap` and `advantage` of releases of N rows, each learned from N rows of the frame. Reads real rows: not private.

    In every repeat the frame is put in a random order and a fitted clone learns from its first N rows, for each N.
    The targets are the same for all N, so that what changes is the release and not who is asked about. Neither number
    is bounded by epsilon. On a padded frame the share of padding is about the same for every N.

    Parameters
    ----------
    method : Synthesizer
        Unfitted. A `random_state` s becomes s + repeat.
    frame : DataFrame
        Rows to learn from, for instance `padded` ones.
    targets : DataFrame
        Real rows to ask about, in the frame or not.
    schema, sensitive, quasi_identifiers, tau
        As for `cap`; both numbers use the same quasi-identifiers.
    sizes : sequence of int
        The numbers of rows N, each at most the frame's.
    repeats : int
    attack : str
        As for `advantage`.
    progress : callable
        Called before every fit; raising inside it cancels.
    seed : int
        Of the orders, not of the method.
    ledger : Ledger, optional
        Somebody's budget for all fits.

    Returns
    -------
    DataFrame
        `rows` (N), `repeat`, `metric` ("CAP" or "advantage"), `value`, `epsilon_claimed`, `epsilon_of_noise`,
        `epsilon_bound` and `void` of the fit, two rows per fit.

    Raises
    ------
    DataError, ParameterError, SchemaError
        As for `cap` and `advantage`, and if `sizes` or `repeats` is out of range.
    """
    if repeats < 1 or not sizes or not all(1 <= n <= len(frame) for n in sizes):
        raise ParameterError("There is nothing to fit, or more than the frame holds.", "Give sizes up to its length.")
    found = []
    runs = [(repeat, n) for repeat in range(repeats) for n in sizes]
    for done, (repeat, n) in enumerate(runs):
        progress(done / len(runs), f"repeat {repeat + 1:,} of {repeats:,}, {n:,} rows")
        order = np.random.default_rng([seed, repeat]).permutation(len(frame))
        copy = clone(method)
        if method.random_state is not None:
            copy.set_params(random_state=method.random_state + repeat)
        copy.fit(frame.iloc[order[:n]].reset_index(drop=True), schema=schema, ledger=ledger)
        asked = targets, copy.sample(n), schema, sensitive, quasi_identifiers
        spent = copy.ledger_.epsilons
        for metric, value in (
            ("CAP", cap(*asked, tau=tau)),
            ("advantage", advantage(*asked, attack=attack, seed=seed)),
        ):
            found.append({"rows": n, "repeat": repeat, "metric": metric, "value": value, **spent})
    progress(1.0, "done")
    return pd.DataFrame(found)

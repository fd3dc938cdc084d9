"""Attacks on single rows' sensitive values, and how often they succeed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.learners import MODELS, fit_predict, require_rows

MATCH = "match"
ATTACKS = (MATCH, *MODELS)
Places = NDArray[np.int64]


def cap(
    targets: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    sensitive: str,
    quasi_identifiers: Sequence[str],
    *,
    tau: float = 0.8,
) -> float:
    """Correct attribution: the share of targets whose sensitive value the matching rows agree on.

    Reads real rows: not private. A target counts if at least one synthetic row has its quasi-identifiers and at least
    the share `tau` of those rows has its sensitive value. A release can score high without any row of the target.

    Parameters
    ----------
    targets, synthetic : DataFrame
        Real rows and the release; only the named columns are read.
    schema : Schema
        What both fit; numbers match if they are in one bin.
    sensitive : str
    quasi_identifiers : sequence of str
        What the attacker knows, one column or more.
    tau : float
        In (0, 1].

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    DataError
        If a table is empty or does not fit the schema.
    ParameterError, SchemaError
        If a column is not known, is named twice, is both known and sensitive, or `tau` is out of range.
    """
    if not 0 < tau <= 1:
        raise ParameterError("The 'tau' parameter is not a share above 0.", "Try tau=0.8.")
    asked, known, _ = _encoded(targets, synthetic, schema, sensitive, quasi_identifiers)
    matches = _frequencies(*_cells(asked[:, :-1], known[:, :-1]))
    agreeing = _frequencies(*_cells(asked, known))
    return float((agreeing / np.maximum(matches, 1) >= tau).mean())


def advantage(
    targets: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    sensitive: str,
    quasi_identifiers: Sequence[str] | None = None,
    *,
    attack: str = "linear SVM",
    seed: int = 0,
) -> float:
    """How much better than the best constant answer an attack does: (accuracy − majority) / (1 − majority).

    Reads real rows: not private. The majority is the share of the targets' most frequent sensitive value. Raw accuracy
    would say little: that of a constant answer about a binary column is never below one half.

    Parameters
    ----------
    targets, synthetic, schema, sensitive
        As for `cap`.
    quasi_identifiers : sequence of str, optional
        What the attacker knows; by default all columns but the sensitive one.
    attack : str
        One of `ATTACKS`: a classifier trained on the synthetic rows, or "match", which answers with the most frequent
        sensitive value among the matching rows (among all rows if none matches; the first in the schema if tied).
    seed : int
        scikit-learn's `random_state`; today's models draw nothing.

    Returns
    -------
    float
        1: always right. 0: no better than the constant answer. Negative: worse. NaN if all targets are alike.

    Raises
    ------
    DataError, ParameterError, SchemaError
        As for `cap`, and if the attack is not known.
    """
    accuracy = correct(targets, synthetic, schema, sensitive, quasi_identifiers, attack, seed).mean()
    majority = np.bincount(schema[sensitive].encode(targets[sensitive])).max() / len(targets)
    return float((accuracy - majority) / (1 - majority)) if majority < 1 else np.nan


def correct(
    targets: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    sensitive: str,
    quasi_identifiers: Sequence[str] | None,
    attack: str,
    seed: int,
) -> NDArray[np.bool_]:
    """For which targets the attack of `advantage` is right, shape (m,): about single rows, so not for showing."""
    asked, known, sizes = _encoded(targets, synthetic, schema, sensitive, quasi_identifiers)
    return np.asarray(_guess(attack, asked[:, :-1], known, sizes, seed) == asked[:, -1])


def _encoded(
    targets: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    sensitive: str,
    quasi_identifiers: Sequence[str] | None,
) -> tuple[Codes, Codes, tuple[int, ...]]:
    """Codes of both tables and their sizes: the quasi-identifiers, then the sensitive column."""
    if quasi_identifiers is None:
        quasi_identifiers = [name for name in schema.names if name != sensitive]
    names = [*quasi_identifiers, sensitive]
    if len(names) < 2:
        raise ParameterError("The attacker knows nothing.", "Name one quasi-identifier or more.")
    if len(set(names)) < len(names):
        raise ParameterError(
            "A quasi-identifier is named twice, or is the sensitive column.", "Name each column in one role."
        )
    part = schema.select(names)
    require_rows(targets, synthetic)
    return part.encode(targets), part.encode(synthetic), part.sizes


def _cells(first: Codes, second: Codes) -> tuple[Places, Places]:
    """Numbers of the cells of two tables' rows: equal if and only if the rows are equal."""
    both = np.concatenate([first, second])
    cell = np.zeros(len(both), dtype=np.int64)
    for values in both.T:  # renumbering at every step keeps the numbers small, however many columns
        cell, _ = pd.factorize(cell * (int(values.max()) + 1) + values)
    return cell[: len(first)], cell[len(first) :]


def _frequencies(asked: Places, known: Places) -> Places:
    """How often each of `asked` occurs in `known`, shape of `asked`."""
    return np.bincount(known, minlength=int(asked.max()) + 1)[asked]


def _guess(attack: str, asked: Codes, known: Codes, sizes: Sequence[int], seed: int) -> NDArray[np.integer[Any]]:
    """Sensitive codes that an attack answers for targets of which it sees the quasi-identifiers, shape (m,)."""
    if attack not in ATTACKS:
        raise ParameterError(f"The attack {attack!r} is not known.", f"Choose from {', '.join(ATTACKS)}.")
    if attack == MATCH:
        return _match(asked, known[:, :-1], known[:, -1])
    hidden = np.zeros((len(asked), 1), dtype=asked.dtype)
    guess, _ = fit_predict(attack, known, np.hstack([asked, hidden]), sizes, len(sizes) - 1, seed=seed)
    return guess


def _match(asked: Codes, known: Codes, values: Codes) -> Places:
    """The most frequent of the matching rows' sensitive values; of all rows' where none matches."""
    of_target, of_row = _cells(asked, known)
    answers = np.full(max(of_target.max(), of_row.max()) + 1, np.bincount(values).argmax())
    pairs, counts = np.unique(np.column_stack([of_row, values]), axis=0, return_counts=True)
    order = np.lexsort((-pairs[:, 1], counts))  # of equal places, what is written last stays
    answers[pairs[order, 0]] = pairs[order, 1]
    return answers[of_target]

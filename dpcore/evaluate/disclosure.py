"""What a release tells about one person's sensitive value. Reads real rows: nothing here is private.

A target is a real row. An attacker knows some of its columns, the quasi-identifiers, sees the release, and says what
the sensitive column holds. Two things make him right: what is true of people in general, which a good release shows on
purpose, and what the release shows because the target is in the data, which is the loss of privacy. `cap` measures both
together; only the second is bounded by epsilon.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.distances import row_numbers
from dpcore.evaluate.learners import require_rows

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
    """Correct attribution: the share of targets whose sensitive value the matching rows agree on. Not private.

    A target counts if at least one synthetic row has its quasi-identifiers and at least the share `tau`, in (0, 1], of
    those rows has its sensitive value. A release can score high without any row of the target. Rows are compared by
    their codes: numbers match if they are in one bin. Only the named columns are read.

    DataError if a table is empty or does not fit the schema; ParameterError or SchemaError if a column is not known, is
    named twice, or is both known and sensitive, if no column is known, or if `tau` is out of range.
    """
    if not 0 < tau <= 1:
        raise ParameterError("The 'tau' parameter is not a share above 0.", "Try tau=0.8.")
    if not quasi_identifiers:
        raise ParameterError("The attacker knows nothing.", "Name one quasi-identifier or more.")
    names = [*quasi_identifiers, sensitive]
    if len(set(names)) < len(names):
        raise ParameterError(
            "A quasi-identifier is named twice, or is the sensitive column.", "Name each column in one role."
        )
    part = schema.select(names)
    require_rows(targets, synthetic)
    asked, known = part.encode(targets), part.encode(synthetic)
    matches = _frequencies(*row_numbers(asked[:, :-1], known[:, :-1]))
    agreeing = _frequencies(*row_numbers(asked, known))
    return float((agreeing / np.maximum(matches, 1) >= tau).mean())


def padded(frame: pd.DataFrame, schema: Schema, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """The schema's columns of a frame, with its rows as they are, then uniformly random ones up to `rows` in all.

    Every code of a column is equally likely, "missing" included; numbers are then uniform inside their bin. The random
    rows are independent of one another and of the frame, so they dilute every dependence between columns. A schema with
    `max_rows` below `rows` is no longer true of the result.
    """
    schema.encode(frame)
    if rows < len(frame):
        raise ParameterError("The frame has more rows than it is to be padded to.", "Raise rows.")
    codes = rng.integers(0, schema.sizes, size=(rows - len(frame), len(schema)), dtype=np.uint32)
    return pd.concat([frame[list(schema.names)], schema.decode(codes, rng)], ignore_index=True)


def _frequencies(asked: Places, known: Places) -> Places:
    """How often each of `asked` occurs in `known`, shape of `asked`."""
    return np.bincount(known, minlength=int(asked.max()) + 1)[asked]

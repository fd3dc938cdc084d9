"""The small invented tables that cases are about: columns of zeros and ones, and numbers from 0 to 10."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpcore.arguments import Floats
from dpcore.audit.game import Case, Verdict
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.language import phrase
from dpcore.methods.base import PrivateEstimator

BIT = ("0", "1")
MOST_ROWS = 1_000
ADDED, REPLACED = phrase("{title} added"), phrase("{title} replaced")
Pair = tuple[pd.DataFrame, pd.DataFrame]


class Worlds(TypedDict):
    """Two neighboring tables and their schema, as a `Case` takes them."""

    schema: Schema
    pair: Pair


Texts = str | tuple[str, str]
"""For a case under either relation; or one for "add_remove", and one for "replace"."""


def bits(names: str, target: str | None = None) -> Schema:
    """A schema of columns with the values 0 and 1; each letter is a column's name."""
    columns = tuple(Column(name=name, kind="categorical", categories=BIT) for name in names)
    return Schema(columns=columns, target=target, max_rows=MOST_ROWS)


def frame_of(schema: Schema, *rows: Sequence[float | str], times: int = 1) -> pd.DataFrame:
    """These rows, each so many times; a text such as "011" is a row of columns of zeros and ones."""
    found = pd.DataFrame([list(row) for row in rows for _ in range(times)], columns=list(schema.names), dtype=object)
    return found.astype({column.name: float for column in schema if column.numeric})


def more(frame: pd.DataFrame, row: Sequence[float | str]) -> Pair:
    """A table, and the same with one more row."""
    last = pd.DataFrame([list(row)], columns=list(frame.columns)).astype(frame.dtypes.to_dict())
    return frame, pd.concat([frame, last], ignore_index=True)


def changed(frame: pd.DataFrame, row: Sequence[float | str]) -> Pair:
    """A table, and the same with its last row replaced."""
    return frame, more(frame.iloc[:-1], row)[1]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """A table beside one with a row more, and beside one with a row replaced; and what stories say of these two."""

    schema: Schema
    added: Pair
    replaced: Pair
    words: tuple[str, str] = (phrase("the same and one more (1, 1)"), phrase("one (0, 0) less and one (1, 1) more"))


def even(times: int) -> Neighbors:
    """Each row of a column and a class so many times; (1, 1) is gained, and (0, 0) lost."""
    schema = bits("ay", "y")
    frame = frame_of(schema, "00", "01", "10", "11", times=times)
    return Neighbors(schema, more(frame, "11"), changed(frame.iloc[::-1], "11"))


def both(
    key: str,
    title: str,
    story: str | tuple[Texts, ...],
    tables: Neighbors,
    estimator: PrivateEstimator,
    looks_at: Texts,
    statistic: Callable[[Any], float],
    trials: int,
    expected: Verdict = "not caught",
) -> list[Case]:
    """One attack under "add_remove" and under "replace"; the story's "{other}" stands for the tables' own words."""
    story = (story,) if isinstance(story, str) else story
    return [
        Case(
            key=f"{key}/{relation}",
            name=title,
            change=word,
            tale=tuple(part if isinstance(part, str) else part[i] for part in story),
            other=tables.words[i],
            schema=tables.schema,
            pair=pair,
            estimator=clone(estimator).set_params(relation=relation),
            number=looks_at if isinstance(looks_at, str) else looks_at[i],
            statistic=statistic,
            trials=trials,
            expected=expected,
        )
        for i, (relation, word, pair) in enumerate(
            (("add_remove", ADDED, tables.added), ("replace", REPLACED, tables.replaced))
        )
    ]


def gained(noisy: Floats, relation: str) -> float:
    """The noisy number of rows (1, 1), less the one of rows (0, 0) where these lose what those gain.

    It is 0 where the columns were not measured together, as some runs do not choose their pair.
    """
    if noisy.ndim < 2:
        return 0.0
    return float(noisy[1, 1] - (noisy[0, 0] if relation == "replace" else 0))


def clipped(noisy: Floats | float, without: float, step: float = 1.0) -> float:
    """How far a noisy number lies on the way from its value in the first world to that in the second, from 0 to 1.

    For Laplace noise that is its log-likelihood ratio but for a factor and a constant.
    """
    return float(np.clip((noisy - without) / step, 0.0, 1.0))


def difference_ratio(seen: float, step: float, scale: float) -> float:
    """ln of f(seen - step) / f(seen), f the density of the difference of two Laplace variables of that scale."""
    near, far = abs(seen - step) / scale, abs(seen) / scale
    return float(np.log1p(near) - near - np.log1p(far) + far)

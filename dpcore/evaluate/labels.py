"""A public yes-or-no label of rows, and how often a classifier errs that learned it from a release.

The label is a rule on one column's cells, not on its codes, so its threshold need not be an edge of a bin.
"""

from dataclasses import dataclass, replace
from datetime import date

import numpy as np
import pandas as pd

from dpcore.arguments import Flags, Progress, no_progress
from dpcore.domain.cells import as_numbers, distinct
from dpcore.domain.column import Codes, Column
from dpcore.domain.dates import as_days, day_of, iso
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.evaluate.learners import require_rows, tstr
from dpcore.text import canonical

PROTOCOLS = ("tstr", "published")


@dataclass(frozen=True, kw_only=True)
class Label:
    """Whether a row's cell has a category, or is a number below a threshold; a missing cell is neither.

    In a release made of codes, numbers are drawn uniformly inside their bins. Where a threshold cuts a bin, its rows
    thus get each label in proportion to the two parts; real rows are labeled by their own numbers.

    Parameters
    ----------
    column : str
        The column that decides.
    equals : str, optional
        The category that says yes.
    below : float, or date or str, optional
        The threshold of a numeric column: smaller numbers say yes. Of dates a day, such as "2021-03-05".
    """

    column: str
    equals: str | None = None
    below: float | date | str | None = None  # of a day: its ISO text

    def __post_init__(self) -> None:
        if (self.equals is None) == (self.below is None):
            raise ParameterError("A label needs one rule.", "Give either equals= or below=.")
        if isinstance(self.below, date | str | np.datetime64):
            if (day := day_of(self.below)) is None:
                raise ParameterError("The label's threshold is no day.", 'Write it as "2021-03-05".')
            object.__setattr__(self, "below", iso(day))

    @property
    def threshold(self) -> float:
        """What cells are compared with: a number, or the days of a date since 1970-01-01."""
        found = day_of(self.below) if isinstance(self.below, str) else self.below
        assert found is not None  # such rules compare with `equals`
        assert not isinstance(found, date)  # `__post_init__` has made a text of it
        return float(found)

    def check(self, schema: Schema) -> None:
        """Check that the label fits its column and decides something.

        Parameters
        ----------
        schema : Schema
            The schema.

        Raises
        ------
        SchemaError
            If there is no such column.
        ParameterError
            If the category or the threshold does not fit it, or gives every row the same label.
        """
        column = schema[self.column]
        if self.below is not None:
            if not column.numeric:
                raise ParameterError(f"The column {column.name!r} has no numbers.", "Use equals= with a category.")
            if isinstance(self.below, str) != (dated := column.kind == "date"):
                has, way = ("dates", 'day, such as "2021-03-05"') if dated else ("numbers", "number")
                raise ParameterError(f"The column {column.name!r} has {has}, the threshold is none.", f"Use a {way}.")
            if column.lower is None or column.upper is None or not column.lower < self.threshold <= column.upper:
                raise ParameterError(
                    f"The threshold gives every row of {column.name!r} the same label.",
                    "Choose one above the column's lower bound and not above its upper bound.",
                )
        elif column.numeric or canonical(self.equals) not in map(canonical, column.categories):
            raise ParameterError(
                f"The label's value is not a declared category of {column.name!r}.", "Choose a listed one, or below=."
            )

    def of(self, frame: pd.DataFrame, column: Column | None = None) -> Flags:
        """Return the label of every row.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows.
        column : Column, optional
            The column's declaration: numbers are then read as it says that they are written.

        Returns
        -------
        bool array of shape (n,)
            Whether each row has the label.
        """
        cells = frame[self.column]
        if self.below is not None:
            plainly = as_days if isinstance(self.below, str) else as_numbers
            return np.asarray((plainly(cells) if column is None else column.to_numbers(cells)) < self.threshold)
        places, texts = distinct(cells)  # -1, a missing cell, reads the last place
        yes = [canonical(text) == canonical(self.equals) for text in texts]
        return np.array([*yes, False], dtype=bool)[places]


def misclassification(
    test: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    label: Label,
    *,
    protocol: str = "tstr",
    repeats: int = 50,
    test_share: float = 0.2,
    model: str = "linear SVM",
    progress: Progress = no_progress,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how often a classifier errs about a label that it learned from a release.

    Reads real rows: not private. Every repeat learns from a random 1 − `test_share` of the
    synthetic rows, from all columns but the label's, by their codes. "tstr" then asks about all
    real test rows. "published" asks about the other synthetic rows, as a published evaluation does,
    which is an error of method: it measures how well a release agrees with itself, and a release of
    equal rows scores best. Both protocols learn from the same parts, so that their errors differ by
    the tested rows alone. The repeats vary over the parts of one release; their spread is not that
    of the method.

    Parameters
    ----------
    test, synthetic : DataFrame
        Real rows that the release has not seen, and the release. Real training rows in place of the
        release give the baseline without privacy.
    schema : Schema
        The schema of both.
    label : Label
        What the classifier is to tell.
    protocol : {"tstr", "published"}, default="tstr"
        Which rows are tested.
    repeats : int, default=50
        On Adult one takes .15 to .25 seconds.
    test_share : float, default=0.2
        The share of synthetic rows that are not learned from, in (0, 1).
    model : str, default="linear SVM"
        One of `MODELS`.
    progress : callable, optional
        Called before every repeat; raising inside it cancels.
    seed : int, default=0
        The seed of the parts.

    Returns
    -------
    DataFrame
        One row per repeat: `protocol`, `model`, `repeat`, `error` in [0, 1], `majority_error` (that
        of the best constant answer on the same rows) and `note`: why an error is NaN, or what else
        to know about the fit.

    Raises
    ------
    DataError, ParameterError, SchemaError
        If a data set is empty or does not fit the schema, or the label, the model or a parameter
        does not fit.
    """
    label.check(schema)
    if protocol not in PROTOCOLS:
        raise ParameterError("The 'protocol' parameter is not known.", f"Choose one of {', '.join(PROTOCOLS)}.")
    if repeats < 1 or not 0 < test_share < 1:
        raise ParameterError("There is nothing to learn from or to ask.", "Try repeats=50, test_share=0.2.")
    require_rows(test, synthetic)
    answer = Column(name=label.column, kind="categorical", categories=("no", "yes"))
    labeled = replace(schema, columns=tuple(answer if c.name == label.column else c for c in schema), rules=())
    real, released = (_labeled_codes(table, schema, label) for table in (test, synthetic))
    aside = max(1, round(test_share * len(released)))
    rows = []
    for repeat in range(repeats):
        progress(repeat / repeats, f"repeat {repeat + 1:,} of {repeats:,}")
        order = np.random.default_rng([seed, repeat]).permutation(len(released))
        asked = real if protocol == "tstr" else released[order[:aside]]
        known = released[order[aside:]]
        found = tstr(real, asked, known, labeled, label.column, models=[model], include_real=False)
        share = float(asked[:, schema.index(label.column)].mean())
        error, note = 1 - found["accuracy"].item(), found["note"].item()
        rows.append((protocol, model, repeat, error, min(share, 1 - share), note))
    progress(1.0, "done")
    return pd.DataFrame(rows, columns=["protocol", "model", "repeat", "error", "majority_error", "note"])


def _labeled_codes(table: pd.DataFrame, schema: Schema, label: Label) -> Codes:
    """Codes of a table in which the label stands in its column's place, 1 = yes, shape (n, d)."""
    codes = schema.encode(table)
    codes[:, schema.index(label.column)] = label.of(table, schema[label.column])
    return codes

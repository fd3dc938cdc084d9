"""What the classifiers share that learn from randomized answers."""

from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.accounting.ledger import Ledger
from dpcore.accounting.relation import Relation
from dpcore.arguments import Progress, no_progress
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.mechanisms.noise import NoNoise, noise_kind
from dpcore.methods.base import PrivateClassifier
from dpcore.methods.parameters import learned, text
from dpcore.postprocess.reports import Reports

Floats = NDArray[np.float64]
MOST_ALPHA = 1e6
WIDEST = 1e100  # numbers are squared
DEPTH = "The most divisions from the root to a leaf."
SUPPORT = "Nodes with a smaller share of all people are leaves."
NO_EPSILON = "The paper knows no epsilon: it was written before that was a habit."


class LocalClassifier(PrivateClassifier):
    """A method that learns from answers which people randomize themselves, before anybody collects them.

    Attributes
    ----------
    reports_ : Reports
        What the collector has; all else is made of it.
    """

    relations: ClassVar[tuple[Relation, ...]] = (Relation.REPLACE,)
    relation: str = text(
        default="replace", kind="{'replace'}", about="Reports hide what people say, not who takes part."
    )
    reports_: Reports = learned()

    def fit(
        self,
        frame: pd.DataFrame,
        y: Any = None,
        *,
        schema: Schema,
        ledger: Ledger | None = None,
        progress: Progress = no_progress,
    ) -> Self:
        """Let everybody report, and learn from the reports; as for `PrivateClassifier.fit`."""
        super().fit(frame, y, schema=schema, ledger=ledger, progress=progress)
        if hasattr(self, "reports_"):
            self.noise_label_ = self._noise_of(self.reports_)
        return self

    def _noise_of(self, reports: Reports) -> str:
        """Which noise is in the reports, and whose lots people toss, in words."""
        rules = dict.fromkeys(channel.mechanism for channel in reports.channels.values() if not channel.truthful)
        if not rules:
            return NoNoise.label.capitalize()
        told = " and ".join(rules)
        lots = f"NumPy's lots, {'un' * (self.random_state is None)}seeded: for teaching"
        if noise_kind(self.noise, self.random_state) == "opendp":
            lots = "lots from the operating system's entropy" + ", exact discrete noise" * ("laplace" in rules)
        return f"{told[:1].upper()}{told[1:]}; {lots}"

    def _numbers(self, frame: pd.DataFrame, schema: Schema) -> dict[int, Floats]:
        """Numbers to be randomized, moved into their bounds; a missing one is taken for the middle."""
        found = {}
        for position, column in enumerate(schema):
            if column.numeric:
                low, high = float(column.lower or 0.0), float(column.upper or 0.0)
                if high - low > WIDEST:
                    raise ParameterError(f"The bounds of {column.name!r} are too far apart.", "Declare narrower ones.")
                middle = (low + high) / 2
                found[position] = np.nan_to_num(column.numbers(frame[column.name]), nan=middle)
        return found

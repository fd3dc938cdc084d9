"""A released classifier: it predicts without the private rows, on another day and another computer.

Its file is JSON, and checked when it is read: nothing in it is ever run.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats
from dpcore.domain.documents import json_text, json_value
from dpcore.domain.former_names import LABELS, VALUES
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.export.artifacts import Artifact, Table
from dpcore.language import phrase
from dpcore.methods.registry import advise
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.group_tree import GroupTree
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.text import finite_or_text

FORMAT = "dpcore model 1"
REMEDY = f"Choose a model.json that this program exported.{advise('DPEBM')}"
MEND = "Mend the file and hand it over again; the model knows no other columns and values than its schema's."
PREDICTORS: dict[str, Any] = {"bayes": Bayes, "forest": Forest, "classifier": GroupTree}
ABOUT: dict[str, Any] = {
    **dict.fromkeys(("method", "mode", "relation", "noise", "guarantee_void"), str),
    **dict.fromkeys(("epsilon_claimed", "epsilon_bound"), int | float),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(Artifact):
    """A classifier that was released, and what is said of it.

    Parameters
    ----------
    released : mapping, optional
        What predicts, by its name in files (`PrivateEstimator.released`).
    reports : Reports, optional
        The randomized answers that it was learned from.
    schema : Schema
        The schema of rows to predict.
    target : str
        The class column.
    about : mapping, optional
        `method`, `mode`, `relation`, `unit` (whom it protects, in words, if one is declared),
        `noise`, `epsilon_claimed`, `epsilon_bound` (infinite if nothing can be proved) and
        `guarantee_void` (a sentence, or empty). Of a model from a file, it is what the file says.
    sizes : mapping, optional
        Parameters that were left to a rule, and what it gave.
    """

    title = "A classifier"

    schema: Schema
    target: str
    about: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)  # parameters that were left to a rule, and what it gave

    @property
    def predictor(self) -> Forest | Bayes:
        """What predicts: trees, or the counts and normal distributions of naive Bayes."""
        found: Forest | Bayes = next(self.released[name] for name in PREDICTORS if name in self.released)
        return found

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the schema's order."""
        return np.array(self.schema[self.target].labels, dtype=object)

    @property
    def size(self) -> tuple[str, str]:
        found = self.predictor
        if isinstance(found, Bayes):
            return phrase("Columns in use"), f"{len(found.columns):,}"
        if isinstance(found, GroupTree):
            return phrase("Nodes of the tree"), f"{len(found.tree):,}"
        return phrase("Trees"), f"{found.trees:,}"

    def config(self) -> dict[str, Any]:
        return {"target": self.target, "classes": self.classes_.tolist(), "sizes": dict(self.sizes)}

    def files(self, table: Table) -> dict[str, str | bytes]:
        return {"model.json": self.to_json()}

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """Predict the probability of each class for every row.

        Parameters
        ----------
        frame : DataFrame of n rows
            The rows. The class is not needed.

        Returns
        -------
        float array of shape (n, classes)
            The probabilities, columns as in `classes_`.

        Raises
        ------
        DataError
            If a column is lacking or a cell does not fit its declaration.
        """
        lacking = [name for name in self.schema.names if name != self.target and name not in frame.columns]
        if lacking:
            more = f" and {len(lacking) - 3:,} more" if len(lacking) > 3 else ""
            raise DataError(f"The file lacks what the model asks for: {', '.join(lacking[:3])}{more}.", MEND)
        try:
            return self.predictor.probability(frame)
        except DataError as error:
            raise DataError(error.cause, MEND) from None

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Predict the most probable class of every row.

        Parameters
        ----------
        frame : DataFrame of n rows
            As for `predict_proba`.

        Returns
        -------
        array of str, shape (n,)
            The classes; the first in the schema's order if several are as probable.

        Raises
        ------
        DataError
            As for `predict_proba`.
        """
        return np.asarray(self.classes_[self.predict_proba(frame).argmax(axis=1)])

    def predictions(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with the predicted class and its probability as the last two columns.

        Of trees, the probability is the class's share in the leaves that a row falls into, the mean
        over the trees; it is not the share of the trees' votes, which says nothing if there are
        few.

        Parameters
        ----------
        frame : DataFrame of n rows
            As for `predict_proba`.

        Returns
        -------
        DataFrame of n rows
            A copy with two columns more.

        Raises
        ------
        DataError
            As for `predict_proba`.
        """
        best = self.predict_proba(frame).argmax(axis=1)
        sure = self.predictor
        if isinstance(sure, Forest):
            sure = replace(sure, vote="probability")
        shares = sure.probability(frame)[np.arange(len(frame)), best]
        found = frame.copy()
        for name, values in ((f"predicted {self.target}", self.classes_[best]), ("probability", shares.round(4))):
            while name in found.columns:
                name += " (model)"
            found[name] = values
        return found

    def to_json(self) -> str:
        """Return the model as text that `from_json` reads back."""
        document = {
            "format": FORMAT,
            "target": self.target,
            "classes": self.classes_.tolist(),
            "about": {key: finite_or_text(value) for key, value in self.about.items()},
            "schema": json.loads(self.schema.to_json()),
            "structure": self.structure,
        }
        return json_text(document)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a model from its file's text.

        Parameters
        ----------
        text : str or bytes
            What `to_json` wrote; bytes are UTF-8.

        Returns
        -------
        Model
            The classifier.

        Raises
        ------
        SchemaError
            If it is none, or damaged.
        """
        cause = "This file holds no model that can be read"
        document = json_value(text, SchemaError, cause, REMEDY)
        try:
            if document["format"] != FORMAT or not isinstance(document["structure"], dict):
                raise ValueError
            schema, told = Schema.from_json(json.dumps(document["schema"])), told_of(document["about"])
            released = {
                name: PREDICTORS[name].from_dict(schema, part) if name in PREDICTORS else part
                for name, part in document["structure"].items()
            }
            found = cls(schema=schema, target=str(document["target"]), released=released, about=told)
            predictor = found.predictor
            deep = isinstance(predictor, Forest) and predictor.level.max() >= len(predictor.level)
            if predictor.target != found.target or schema[found.target].numeric or deep:
                raise ValueError
        except (ValueError, KeyError, TypeError, StopIteration):
            raise SchemaError(f"{cause}.", REMEDY) from None
        return found


def told_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says of how something was made; ValueError, KeyError or TypeError if it does not."""
    kinds = ABOUT | {"unit": str} if "unit" in document else ABOUT
    told: dict[str, Any] = {key: math.inf if document[key] == "infinity" else document[key] for key in kinds}
    if not all(isinstance(told[key], kind) and not isinstance(told[key], bool) for key, kind in kinds.items()):
        raise TypeError
    if not (told["epsilon_claimed"] >= 0 and told["epsilon_bound"] >= 0):
        raise ValueError
    now = {"mode": VALUES["mode"].get(told["mode"], told["mode"]), "method": LABELS.get(told["method"], told["method"])}
    return told | now

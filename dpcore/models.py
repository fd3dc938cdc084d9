"""A released classifier as plain data: it predicts without the private rows, on another day and another computer.

The zip holds the model (`model.json`), `schema.json`, `config.json`, `ledger.json`, `ledger.csv`, `replay.py` and a
`README.md`. The model is JSON, checked when it is read: nothing in such a file is ever run.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.classifying import PrivateClassifier
from dpcore.errors import DataError, SchemaError
from dpcore.forest import Forest
from dpcore.grouptree import GroupTree
from dpcore.ledger import finite_or_text
from dpcore.release import AnyRelease, head_of_script, plain, privacy, replay, shared, write_shared
from dpcore.schema import Schema

__all__ = ["Model", "ModelRelease", "bundle", "release_of", "show_code"]

FORMAT = "dpcore model 1"
REMEDY = "Choose a model.json that this program exported."
SIZES = ("n_trees", "max_depth")
MEND = "Mend the file and hand it over again; the model knows no other columns and values than its schema's."


@dataclass(frozen=True, eq=False)
class Model:
    """What predicts, and what is said of it.

    Attributes
    ----------
    schema : Schema
    target : str
    structure : mapping
        What the method released (`PrivateClassifier.structure`).
    about : mapping
        `method`, `mode`, `relation`, `noise`, `epsilon_claimed`, `epsilon_bound` (infinite if nothing can be proved)
        and `guarantee_void` (a sentence, or empty). Of a model from a file, it is what the file says.
    """

    schema: Schema
    target: str
    structure: Mapping[str, Any]
    about: Mapping[str, Any]

    @cached_property
    def predictor(self) -> Forest | GroupTree:
        """The trees."""
        if "forest" in self.structure:
            return Forest.from_dict(self.schema, self.structure["forest"])
        return GroupTree.from_dict(self.schema, self.structure["classifier"])

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the schema's order."""
        return np.array(self.schema[self.target].labels, dtype=object)

    @property
    def size(self) -> tuple[str, str]:
        """What predicts, for a headline."""
        if isinstance(self.predictor, Forest):
            return "Trees", f"{self.predictor.trees:,}"
        return "Nodes of the tree", f"{len(self.predictor.nodes):,}"

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """The classes' probabilities, shape (n, classes).

        Raises
        ------
        DataError
            If a column is lacking or a cell does not fit its declaration. The class is not needed.
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
        """The most probable class of every row, shape (n,); the first in the schema's order if several are."""
        found: NDArray[Any] = self.classes_[self.predict_proba(frame).argmax(axis=1)]
        return found

    def predictions(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows with the predicted class and its probability as the last two columns.

        The probability is the class's share in the leaves that a row falls into, the mean over the trees; it is not the
        share of the trees' votes, which says nothing if there are few.
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
        """The model as text that `from_json` reads back."""
        document = {
            "format": FORMAT,
            "target": self.target,
            "classes": self.classes_.tolist(),
            "about": {key: finite_or_text(value) for key, value in self.about.items()},
            "schema": json.loads(self.schema.to_json()),
            "structure": self.structure,
        }
        return json.dumps(document, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a model; SchemaError with cause and remedy if it is none, or damaged."""
        try:
            document = json.loads(text)
            if document["format"] != FORMAT:
                raise ValueError
            schema, about = Schema.from_json(json.dumps(document["schema"])), document["about"]
            if not isinstance(about, dict) or not isinstance(document["structure"], dict):
                raise TypeError
            told = {key: math.inf if about[key] == "infinity" else about[key] for key in ABOUT}
            found = cls(schema, str(document["target"]), document["structure"], told)
            found._check()
        except (ValueError, KeyError, TypeError, RecursionError, SchemaError):
            raise SchemaError("This file holds no model that can be read.", REMEDY) from None
        return found

    def _check(self) -> None:
        if not all(isinstance(self.about[key], kind) for key, kind in ABOUT.items()):
            raise TypeError
        predictor = self.predictor
        if predictor.target != self.target or self.schema[self.target].numeric:
            raise ValueError
        if isinstance(predictor, Forest) and int(predictor.level.max()) >= len(predictor.level):
            raise ValueError


ABOUT: dict[str, Any] = {
    **dict.fromkeys(("method", "mode", "relation", "noise", "guarantee_void"), str),
    **dict.fromkeys(("epsilon_claimed", "epsilon_bound"), int | float),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelRelease(AnyRelease):
    """A release of a classifier.

    Attributes
    ----------
    target : str
        The class column.
    sizes : mapping
        Parameters that were left to a rule, such as `n_trees`, and what it gave.
    """

    target: str
    sizes: Mapping[str, int]

    @property
    def size(self) -> tuple[str, str]:
        """The number of trees."""
        return self.model.size

    @cached_property
    def model(self) -> Model:
        """What predicts."""
        about = {
            "method": self.method,
            "mode": self.parameters["mode"],
            "relation": str(self.ledger.relation),
            "noise": self.noise_label,
            "guarantee_void": self.guarantee_void,
            "epsilon_claimed": self.ledger.epsilon_claimed,
            "epsilon_bound": math.inf if self.ledger.void else self.ledger.epsilon_bound,
        }
        return Model(self.schema, self.target, self.structure, about)

    def config(self) -> dict[str, Any]:
        """What ran, as JSON-ready values."""
        more = {"target": self.target, "classes": self.model.classes_.tolist(), "sizes": dict(self.sizes)}
        return {**super().config(), **more}


def release_of(
    fitted: PrivateClassifier,
    method: str,
    *,
    data_name: str,
    data_sha256: str,
    seconds: float = math.nan,
    reading: Mapping[str, Any] | None = None,
) -> ModelRelease:
    """The release of a fitted classifier."""
    ruled = {name: int(getattr(fitted, f"{name}_")) for name in SIZES if hasattr(fitted, f"{name}_")}
    return ModelRelease(
        method=method,
        target=fitted.target_,
        sizes=ruled,
        data_name=data_name,
        data_sha256=data_sha256,
        seconds=seconds,
        reading=reading,
        **shared(fitted, fitted.structure()),
    )


def show_code(release: ModelRelease, *, data: str = "your-data.csv", schema: str = "schema.json") -> str:
    """A script that fits the same method with the same parameters through `dpcore`, and predicts."""
    made = f"release_of(method, {release.method!r}, data_name={release.data_name!r}, data_sha256='').model.to_json()"
    return (
        head_of_script(release, data, schema, "from dpcore import models\n") + "\nprint(method.ledger_.to_frame())\n"
        "print('claimed', method.ledger_.epsilon_claimed, 'proved', method.ledger_.epsilon_bound)\n"
        "print(method.predict(private.test)[:10])\n"
        f"again = models.{made}\n"
        "Path('model-again.json').write_text(again, encoding='utf-8')\n" + ("" if release.seed is None else CHECK)
    )


CHECK = (
    "\nkept = Path('model.json').read_text(encoding='utf-8')\n"
    "same = models.Model.from_json(again).structure == models.Model.from_json(kept).structure\n"
    "print('the same model as model.json' if same else 'another model than model.json: other data, or versions?')\n"
)


def bundle(release: ModelRelease) -> bytes:
    """The zip, as bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", release.model.to_json())
        write_shared(archive, release)
        archive.writestr("replay.py", show_code(release))
        archive.writestr("README.md", readme(release))
    return buffer.getvalue()


def readme(release: ModelRelease) -> str:
    """What the zip says of itself."""
    what, many = release.size
    lines = [
        f"# A classifier by {plain(release.method)}",
        "",
        f"`model.json` predicts {plain(release.target)!r}. {what}: {many}. Made from {plain(release.data_name)!r}.",
        "",
        *privacy(release),
        "## Predict",
        "",
        "    from pathlib import Path",
        "    from dpcore import models",
        "    from dpcore.reading import read_frame",
        "",
        "    model = models.Model.from_json(Path('model.json').read_text(encoding='utf-8'))",
        "    model.predictions(read_frame('people.csv'))",
        "",
        "It needs no private row and spends nothing. Or load `model.json` on the dashboard's page Trees & forests, on",
        "the tab Predict.",
        "",
        *replay(release),
    ]
    return "\n".join(lines) + "\n"

"""What every release has in common, whether it holds rows or a model: settings, price, and what it says of both.

A release that may be published has no seed, so none is exported with it.
Nor is a checksum of the private rows: whoever knows all rows but one could test every guess of that one against it.
"""

import json
import math
import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcore.accounting.ledger import Ledger
from dpcore.datasets import DATASETS
from dpcore.domain.schema import Schema
from dpcore.export.spreadsheet import spreadsheet_csv
from dpcore.mechanisms.noise import TEACHING
from dpcore.methods.base import PrivateEstimator
from dpcore.text import finite_or_text, number

WEB = re.compile(r"www(?=\.)", re.IGNORECASE)
TEST_SHARE = 0.3  # what `datasets.read` sets aside if nothing else is asked
IF_LACKING = "  # not found? README.md says how to run this"
RUN = (
    "Both need dpcore and the packages that it was installed with. Once, in dpcore's folder:",
    "",
    "    .venv/bin/python -m pip install --no-deps -e .",
    "    .venv/bin/python -m pip install jupyterlab",
    "",
    "The first line makes dpcore known to that Python wherever it is started; the second is for the notebook only.",
    "Then, in the folder of these files, with the path to dpcore's folder in place of `dpcore`:",
    "",
    "    dpcore/.venv/bin/python replay.py",
    "    dpcore/.venv/bin/python -m jupyterlab replay.ipynb",
    "",
    "On Windows write `.venv\\Scripts\\python` for `.venv/bin/python`.",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyRelease(ABC):
    """What one submitted run gave. Immutable; every panel and export draws from it.

    Attributes
    ----------
    method : str
        As in `METHODS`.
    class_name : str
    parameters : dict
    schema, ledger
    noise_label, publishable
        Which source of noise made it, and whether its releases may be published.
    data_name : str
        Which data it was made from.
    seconds : float
    reading : mapping, optional
        The arguments of `datasets.read` that gave the rows, as a person declared them: what was found out from rows
        may not be handed on (`test_share` at least; 0 if all rows of the file were used). None if that is not known; of
        no use for the data sets of `datasets.load`.
    structure : mapping
        What was released besides rows, as JSON-ready values (`structure()` of the method).
    reconstructed : str
        In paper mode, why that is our reading of the method's source, in a sentence.
    page : mapping
        The dashboard's page that made it, and what its controls said: `name` and `settings`. Empty without a dashboard.
    """

    method: str
    class_name: str
    parameters: dict[str, Any]
    schema: Schema
    ledger: Ledger
    noise_label: str
    publishable: bool
    data_name: str
    seconds: float
    reading: Mapping[str, Any] | None = None
    structure: Mapping[str, Any] = field(default_factory=dict)
    reconstructed: str = ""
    page: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seed(self) -> int | None:
        """The seed of a teaching run, None for operating-system entropy."""
        seed: int | None = self.parameters.get("random_state")
        return seed

    @property
    @abstractmethod
    def size(self) -> tuple[str, str]:
        """How much was released, for a headline: of what, and how many."""

    @property
    def guarantee_void(self) -> str:
        """Why no guarantee holds, in a sentence; empty if one does."""
        if self.ledger.void:
            return self.ledger.void
        if math.isinf(self.ledger.epsilon_bound):
            return "No finite epsilon can be proved for this run."
        if self.ledger.epsilon_bound > self.ledger.epsilon_claimed:
            claimed, bound = self.ledger.epsilon_claimed, self.ledger.epsilon_bound
            where = " where a person's values change" if self.ledger.relation == "replace" else ""
            told = f"epsilon {number(claimed)}, which does not hold{where}: what can be proved is {number(bound)}."
            return (
                f"{self.reconstructed} As read, it claims {told}" if self.reconstructed else f"The paper claims {told}"
            )
        return ""

    @property
    def attackable(self) -> str:
        """What has to be said where a proof holds but for the arithmetic of the noise; empty elsewhere."""
        proved = math.isfinite(self.ledger.epsilon_bound) and not self.ledger.void
        return TEACHING if proved and not self.publishable else ""

    def config(self) -> dict[str, Any]:
        """What ran, as JSON-ready values."""
        return {
            "format": "dpcore release 1",
            "method": self.method,
            "class": self.class_name,
            "parameters": {key: finite_or_text(value) for key, value in self.parameters.items()},
            "data": {"name": self.data_name},
            "schema_source": self.schema.source,
            "noise": self.noise_label,
            **({"page": dict(self.page)} if self.page else {}),
        }


def shared(fitted: PrivateEstimator, structure: Mapping[str, Any]) -> dict[str, Any]:
    """What a release takes over from a fitted method."""
    parameters = fitted.get_params(deep=False)
    return {
        "class_name": type(fitted).__name__,
        "parameters": {key: v.item() if isinstance(v, np.generic) else v for key, v in parameters.items()},
        "schema": fitted.schema_,
        "ledger": fitted.ledger_,
        "noise_label": fitted.noise_label_,
        "publishable": fitted.publishable_,
        "structure": structure,
        "reconstructed": fitted.reconstructed if fitted.mode == "paper" else "",
    }


@dataclass(frozen=True)
class Step:
    """A part of a script: what it does, in a sentence of Markdown, and its code."""

    told: str
    code: str


LEDGER = Step(
    "Every question that was asked of the rows, and what all of them cost.",
    "ledger = method.ledger_\nprint(ledger.to_frame())\n"
    "print('claimed', ledger.epsilon_claimed, 'proved', ledger.epsilon_bound)\n",
)


def script(steps: Sequence[Step]) -> str:
    """The steps as one program."""
    return "\n".join(step.code for step in steps)


def first_steps(release: AnyRelease, data: str, schema: str, imports: str = "") -> list[Step]:
    """The rows are read, and the same method is fitted with the same parameters."""
    given = {key: literal(value) for key, value in release.parameters.items() if value is not None}
    arguments = "".join(f"    {key}={value},\n" for key, value in given.items())
    if release.data_name in DATASETS:
        source = f"private = dp.datasets.load({literal(release.data_name)})\n"
    else:
        reading = {"test_share": TEST_SHARE} if release.reading is None else release.reading
        known = "" if release.reading is not None else "  # as for the release; 0 if it was made from all rows"
        if release.seed is None:  # new noise anyway; and the lots of the split stay secret
            reading = {key: value for key, value in reading.items() if key != "split_seed"}
        how = "".join(f", {key}={literal(value)}" for key, value in reading.items())
        source = f"private = dp.datasets.read({literal(data)}, schema=schema{how}){known}\n"
    return [
        Step("`dpcore` runs the method.", f"from pathlib import Path\n\nimport dpcore as dp{IF_LACKING}\n{imports}"),
        Step(
            f"What is public about the rows, and the rows. {whence(release)}",
            f"schema = dp.Schema.from_json(Path({literal(schema)}).read_text(encoding='utf-8'))\n{source}",
        ),
        Step(
            f"The same method with the same parameters. {again(release)}",
            f"method = dp.{release.class_name}(\n{arguments})\n"
            f"ledger = dp.durable_ledger(private, method.relation, purpose={f'Replay of {release.method}'!r})\n"
            "method.fit(private.train, schema=schema, ledger=ledger)  # reads the rows, and books what it spends\n",
        ),
    ]


def literal(value: Any) -> str:
    """A plain value as Python source of ASCII characters on one line, which reads back as an equal value."""
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, list | tuple):
        parts = ", ".join(map(literal, value))
        return f"[{parts}]" if isinstance(value, list) else f"({parts}{',' * (len(value) == 1)})"
    return ascii(value)


def write_shared(archive: zipfile.ZipFile, release: AnyRelease) -> None:
    """The files that every zip has: schema, settings and ledger."""
    archive.writestr("schema.json", release.schema.to_json())
    archive.writestr("config.json", json.dumps(release.config(), indent=2, ensure_ascii=False, allow_nan=False))
    archive.writestr("ledger.json", release.ledger.to_json())
    archive.writestr("ledger.csv", spreadsheet_csv(release.ledger.to_frame()))


def replay(release: AnyRelease) -> list[str]:
    """The lines about the script and the notebook of a zip's README."""
    return [
        "## Replay",
        "",
        "`replay.py` and `replay.ipynb` run the same method with the same parameters through `dpcore`. "
        + again(release),
        "What that costs is written, before it is drawn, to the ledger that the dashboard shows too: to the file",
        "that `DPCORE_LEDGER` names, or the usual one.",
        "",
        whence(release),
        "",
        *RUN,
    ]


def again(release: AnyRelease) -> str:
    """What another run gives, in a sentence."""
    if release.seed is None:
        return "It draws new noise, gives another release, and spends the same epsilon again."
    return (
        f"With the seed {release.seed}, the same rows and the same versions of the libraries it gives the same "
        "release, and says whether it did."
    )


def whence(release: AnyRelease) -> str:
    """Which rows a replay has to learn from, in a sentence or two."""
    if release.data_name in DATASETS:
        return f"It learns from the training rows of the data set {release.data_name!r}, which `dpcore` knows."
    sentence = "Write your file's name into it. `test_share` is the share of rows that is set aside before the fit"
    if release.reading is not None:
        return f"{sentence}, as it was for this release."
    return f"{sentence}: use the share that this release was made with, and 0 if it was made from all rows of the file."


def plain(text: str) -> str:
    """A user's text on one line without markup characters, for Markdown, which finds no address in it either."""
    return WEB.sub("www ", "".join(c for c in text if c.isprintable() and c not in "<>`*_[]#|\\~$@:&"))[:80]

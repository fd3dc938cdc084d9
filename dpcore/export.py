"""A release, and the zip that a person takes home.

The zip holds what was released and what it cost, and nothing that was computed from real rows besides: synthetic rows
(CSV or Parquet), `schema.json`, `config.json`, `ledger.json`, `ledger.csv`, `structure.json` (a network's families, and
the scores that its clusters come from; or a tree's noisy counts, whose rounded leaves are in `generalized.csv`),
`replay.py` and a `README.md` that says under which relation, with which epsilons and which noise the rows were made.
A release that may be published has no seed, so none is exported with it.
Nor is a checksum of the private rows: whoever knows all rows but one could test every guess of that one against it.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from dpcore.counttree import ReleasedTree
from dpcore.datasets import DATASETS
from dpcore.errors import ParameterError
from dpcore.estimator import Synthesizer
from dpcore.ledger import Ledger, finite_or_text
from dpcore.schema import Schema
from dpcore.spreadsheet import spreadsheet_safe
from dpcore.texts import number

__all__ = ["Release", "bundle", "release_of", "show_code", "spreadsheet_safe"]

TEST_SHARE = 0.3  # what `datasets.read` sets aside if nothing else is asked


@dataclass(frozen=True, eq=False)
class Release:
    """What one submitted run gave. Immutable; every panel and export draws from it.

    Attributes
    ----------
    method : str
        As in `METHODS`.
    class_name : str
    parameters : dict
    schema, synthetic, ledger
    noise_label, publishable
        Which source of noise made it, and whether its releases may be published.
    data_name, data_sha256 : str
        Which data it was made from; the sum stays in memory and is not exported.
    seconds : float
    reading : mapping, optional
        The arguments of `datasets.read` that gave the rows (`test_share` at least; 0 if all rows of the file were
        used). None if that is not known; of no use for the data sets of `datasets.load`.
    structure : mapping
        What else was released (`Synthesizer.structure`).
    reconstructed : str
        In paper mode, why that is our reading of the method's source, in a sentence.
    """

    method: str
    class_name: str
    parameters: dict[str, Any]
    schema: Schema
    synthetic: pd.DataFrame
    ledger: Ledger
    noise_label: str
    publishable: bool
    data_name: str
    data_sha256: str
    seconds: float
    reading: Mapping[str, Any] | None = None
    structure: Mapping[str, Any] = field(default_factory=dict)
    reconstructed: str = ""

    @property
    def seed(self) -> int | None:
        """The seed of a teaching run, None for operating-system entropy."""
        seed: int | None = self.parameters.get("random_state")
        return seed

    @property
    def guarantee_void(self) -> str:
        """Why no guarantee holds, in a sentence; empty if one does."""
        if self.ledger.void:
            return self.ledger.void
        if math.isinf(self.ledger.epsilon_bound):
            return "No finite epsilon can be proved for this run."
        if self.ledger.epsilon_bound > self.ledger.epsilon_claimed:
            claimed, bound = self.ledger.epsilon_claimed, self.ledger.epsilon_bound
            told = f"epsilon {claimed:g}, which does not hold: what can be proved is {number(bound)}."
            return (
                f"{self.reconstructed} As read, it claims {told}" if self.reconstructed else f"The paper claims {told}"
            )
        return ""

    @property
    def generalized(self) -> pd.DataFrame | None:
        """The generalized rows with their counts, if the release is a tree of counts."""
        if "tree" not in self.structure:
            return None
        tree = ReleasedTree.from_dict(self.schema, self.structure["tree"])
        return tree.rows(np.array(self.structure["leaf_counts"], dtype=float))

    def config(self) -> dict[str, Any]:
        """What ran, as JSON-ready values."""
        return {
            "format": "dpcore release 1",
            "method": self.method,
            "class": self.class_name,
            "parameters": {key: finite_or_text(value) for key, value in self.parameters.items()},
            "rows": len(self.synthetic),
            "data": {"name": self.data_name},
            "schema_source": self.schema.source,
            "noise": self.noise_label,
        }


def release_of(
    fitted: Synthesizer,
    method: str,
    synthetic: pd.DataFrame,
    *,
    data_name: str,
    data_sha256: str,
    seconds: float = math.nan,
    reading: Mapping[str, Any] | None = None,
) -> Release:
    """The release of a fitted synthesizer and the rows sampled from it."""
    parameters = fitted.get_params(deep=False)
    return Release(
        method=method,
        class_name=type(fitted).__name__,
        parameters={key: v.item() if isinstance(v, np.generic) else v for key, v in parameters.items()},
        schema=fitted.schema_,
        synthetic=synthetic,
        ledger=fitted.ledger_,
        noise_label=fitted.noise_label_,
        publishable=fitted.publishable_,
        data_name=data_name,
        data_sha256=data_sha256,
        seconds=seconds,
        reading=reading,
        structure=fitted.structure(),
        reconstructed=fitted.reconstructed if fitted.mode == "paper" else "",
    )


def show_code(
    release: Release,
    *,
    data: str = "your-data.csv",
    schema: str = "schema.json",
    table: Literal["csv", "parquet"] | None = None,
) -> str:
    """A script that fits the same method with the same parameters through `dpcore`.

    With a seed, and the release's rows beside it (`table`), the script also says whether it made the same rows.
    """
    given = {key: literal(value) for key, value in release.parameters.items() if value is not None}
    arguments = "".join(f"    {key}={value},\n" for key, value in given.items())
    if release.data_name in DATASETS:
        source = f"private = dp.datasets.load({release.data_name!r})\n\n"
    else:
        reading = {"test_share": TEST_SHARE} if release.reading is None else release.reading
        known = "" if release.reading is not None else "  # as for the release; 0 if it was made from all rows"
        if release.seed is None:  # new noise anyway; and the lots of the split stay secret
            reading = {key: value for key, value in reading.items() if key != "split_seed"}
        how = "".join(f", {key}={literal(value)}" for key, value in reading.items())
        source = f"private = dp.datasets.read({data!r}, schema=schema{how}){known}\n\n"
    return (
        "from pathlib import Path\n\n"
        + ("import pandas as pd\n\n" if table == "parquet" and release.seed is not None else "")
        + "import dpcore as dp\n\n"
        f"schema = dp.Schema.from_json(Path({schema!r}).read_text(encoding='utf-8'))\n"
        f"{source}"
        f"method = dp.{release.class_name}(\n{arguments})\n"
        "method.fit(private.train, schema=schema)  # reads the rows and spends epsilon\n"
        f"synthetic = method.sample({len(release.synthetic)})\n\n"
        "print(method.ledger_.to_frame())\n"
        "print('claimed', method.ledger_.epsilon_claimed, 'proved', method.ledger_.epsilon_bound)\n"
        "synthetic.to_csv('synthetic-again.csv', index=False)\n"
        + ("" if release.seed is None or table is None else CHECK[table])
    )


SCHEMA_SOURCES = {
    "declared": "declared. Bounds, bins and categories are public by declaration.",
    "inferred": "inferred. Bounds, bins and categories were read off the private rows.",
}
CHECK = {
    "csv": "\nsame = dp.export.spreadsheet_safe(synthetic)[0].to_csv(index=False).encode()"
    " == Path('synthetic.csv').read_bytes()\n"
    "print('the same rows as synthetic.csv' if same else 'other rows than synthetic.csv: other data, or versions?')\n",
    "parquet": "\nsame = pd.read_parquet('synthetic.parquet').equals(synthetic)\n"
    "print('the same rows as synthetic.parquet' if same else 'other rows than synthetic.parquet: other data, or "
    "versions?')\n",
}


def literal(value: Any) -> str:
    """A parameter as Python source."""
    return repr(value) if not isinstance(value, float) or math.isfinite(value) else f"float({str(value)!r})"


def bundle(release: Release, *, table: Literal["csv", "parquet"] = "csv") -> bytes:
    """The zip, as bytes."""
    if table not in ("csv", "parquet"):
        raise ParameterError("The table format is not known.", "Choose csv or parquet.")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        escaped = 0
        if table == "csv":
            safe, escaped = spreadsheet_safe(release.synthetic)
            archive.writestr("synthetic.csv", safe.to_csv(index=False).encode("utf-8"))
        else:
            rows = io.BytesIO()
            release.synthetic.to_parquet(rows, index=False)
            archive.writestr("synthetic.parquet", rows.getvalue())
        archive.writestr("schema.json", release.schema.to_json())
        archive.writestr("config.json", json.dumps(release.config(), indent=2, ensure_ascii=False, allow_nan=False))
        archive.writestr("ledger.json", release.ledger.to_json())
        archive.writestr("ledger.csv", release.ledger.to_frame().to_csv(index=False))
        if release.structure:
            indent = None if "tree" in release.structure else 1  # a tree is long
            structure = json.dumps(release.structure, indent=indent, ensure_ascii=False, allow_nan=False)
            archive.writestr("structure.json", structure)
        if (groups := release.generalized) is not None:
            archive.writestr("generalized.csv", spreadsheet_safe(groups)[0].to_csv(index=False).encode("utf-8"))
        archive.writestr("replay.py", show_code(release, table=table))
        archive.writestr("README.md", readme(release, table, escaped))
    return buffer.getvalue()


def readme(release: Release, table: str, escaped: int = 0) -> str:
    """What the zip says of itself."""
    ledger = release.ledger
    as_read = f", as we read it ({release.reconstructed})" if release.reconstructed else ""
    lines = [
        f"# Synthetic data by {plain(release.method)}",
        "",
        f"{len(release.synthetic):,} synthetic rows in `synthetic.{table}`, made from {plain(release.data_name)!r}.",
        "",
        "## Privacy",
        "",
        *([f"**{release.guarantee_void}**", ""] if release.guarantee_void else []),
        f"- Epsilon claimed by the method's source{as_read}: {ledger.epsilon_claimed:g}",
        f"- Epsilon that can be proved: {ledger.epsilon_bound:g}",
        f"- Neighboring relation: {ledger.relation}. {ledger.relation.sentence}",
        "- Unit of protection: one row. Somebody with several rows is protected several times less.",
        f"- Noise: {release.noise_label}.",
        f"- Seed: {'none (operating-system entropy)' if release.seed is None else release.seed}.",
        f"- Publication: {publication(release)}",
        f"- Schema: {SCHEMA_SOURCES[release.schema.source]}",
        "- Every further release from the same rows adds to these epsilons.",
        "",
        "## Replay",
        "",
        "`replay.py` runs the same method with the same parameters through `dpcore` on data that you provide. "
        + (
            "With the seed above, the same rows and the same versions of the libraries it gives the same release, and "
            "says whether it did."
            if release.seed is not None
            else "It draws new noise, gives another release, and spends the same epsilon again."
        ),
        "",
        whence(release),
    ]
    if escaped:
        lines += [
            "",
            f"{escaped:,} cells that a spreadsheet would run as formulas begin with an apostrophe in the CSV.",
        ]
    return "\n".join(lines) + "\n"


def whence(release: Release) -> str:
    """Which rows a replay has to learn from, in a sentence or two."""
    if release.data_name in DATASETS:
        return f"It learns from the training rows of the data set {release.data_name!r}, which `dpcore` knows."
    sentence = "Write your file's name into it. `test_share` is the share of rows that is set aside before the fit"
    if release.reading is not None:
        return f"{sentence}, as it was for this release."
    return f"{sentence}: use the share that this release was made with, and 0 if it was made from all rows of the file."


def publication(release: Release) -> str:
    """Whether the release may leave the house, in a sentence."""
    if release.guarantee_void:
        return "do not publish."
    if not release.publishable:
        return "teaching-grade floating-point noise; make the release with OpenDP's noise before you publish it."
    return "the noise is fit for publication; whether this epsilon is small enough is for you to decide."


def plain(text: str) -> str:
    """A user's text on one line without markup characters, for Markdown."""
    return "".join(c for c in text if c.isprintable() and c not in "<>`*_[]#|\\~$@:")[:80]

"""Data sets that this package knows, by their declared schemas: published ones, and simulated bank-card customers.

`files/published.toml` says what they are. Published files are checked against a sum, so that their
schemas are true of them, and nothing is fetched unless the caller asks.

Zhang and Tang (2007) tried private naive Bayes on 50,000 customers of a bank, 5,000 more to test
on, with a class "customer value". Those rows were never published. The simulated ones have the same
kind of columns; their numbers are our own, and there is no person in them. A row is drawn in four
steps:

1. Its class, by the shares in `CLASSES`.
2. A score for every attribute, standard normal, independent of the class and of one another.
3. In the dependent table, the four `FACTORS` of the row, standard normal too. An attribute with the loading a on its
   factor f gets the score a * f + sqrt(1 - a**2) * (its score of step 2), which is standard normal again.
4. From the score s and the class to the value. A number is mean + deviation * s, rounded (continuous ones to two
   decimals) and clipped to its bounds. A category is found by cutting the normal distribution, in the order in which
   the categories stand, into pieces as large as their shares.

So both tables have the same distribution of every attribute within every class, and differ only in
whether attributes hang together there. In the first they are independent given the class, as naive
Bayes assumes, and numbers are Gaussian but for rounding and clipping (less than one value in
twenty, in any class). In the second the class tells itself by *pairs*: whoever keeps large deposits
has small loans, and whoever pays often pays small sums, while high-value customers have more of
both. Naive Bayes does not see that; a forest does.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats
from dpcore.datasets.reading import MAX_BYTES, read_frame, source_bytes
from dpcore.domain.cells import parse_columns
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.taxonomy import Taxonomy
from dpcore.errors import DataError
from dpcore.text import read_toml

FOLDER = Path(__file__).with_name("files")
TABLES = read_toml(FOLDER / "published.toml")
FILES = TABLES["files"]
BANK_CARDS = {"bank cards": False, "bank cards, dependent": True}  # whether columns hang together within a class
BIG5_PAGE = "https://openpsychometrics.org/_rawdata/"
GroupNames: TypeAlias = "dict[str, GroupNames | str]"
"""Groups in groups, down to texts of values; the values under "" belong to no smaller group."""


def known_rows(name: str, download: bool) -> tuple[list[pd.DataFrame], list[bytes]]:
    """The rows of a data set, all of them or for training and for testing, and what their content is known by."""
    if name in BANK_CARDS:
        frames = [*bank_cards(dependent=BANK_CARDS[name])]  # the same ones every time
        return frames, [pd.util.hash_pandas_object(pd.concat(frames), index=False).to_numpy().tobytes()]
    if name == "sample":
        raw = bundled_file("sample.parquet")
        return [read_frame(raw, "sample.parquet", trusted=True)], [raw]
    raws = [published_file(path, download) for path in FILES if path.startswith(name)]
    written: dict[str, Any] = {"encoding": "utf-8", "decimal": ".", "trusted": True}
    if name == "big5":  # "NA" is Namibia here; only an empty cell is missing
        frame = read_frame(raws[0], "data.tsv", delimiter="\t", missing=("",), **written)
        return [parse_columns(frame, frame.columns)], raws
    names = declared_schema(name).names
    frames = [read_frame(",".join(names).encode() + b"\n" + raw, delimiter=",", **written) for raw in raws]
    train, test = (parse_columns(frame, names).dropna().reset_index(drop=True) for frame in frames)
    return [train, test.assign(income=test["income"].str.removesuffix("."))], raws


def bundled_file(name: str) -> bytes:
    """A file that is part of this package."""
    try:
        return (FOLDER / name).read_bytes()
    except OSError:
        raise DataError("The bundled sample is not part of this installation.", "Install dpcore again.") from None


def published_file(path: str, download: bool) -> bytes:
    """The content of a published file: from `$DPCORE_DATA`, the cache, or, if asked, its source."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpcore"
    folders = [Path(folder) for folder in [os.environ.get("DPCORE_DATA")] if folder] + [cache]
    for folder in folders:
        if (folder / path).is_file():
            return _checked(path, source_bytes(folder / path), "Replace it with the published file, or remove it.")
    name = path.partition("/")[0]
    address = FILES[path].get("source")
    if address is None:
        raise DataError(
            f"The file {path} was not found, and it cannot be fetched automatically.",
            f"Download BIG5.zip from {BIG5_PAGE}, and put its data.csv at {path} in the folder that DPCORE_DATA names.",
        )
    if not download:
        raise DataError(
            f"The file {path} was not found.",
            f'Set DPCORE_DATA to the folder that holds {path}, or call load("{name}", download=True).',
        )
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:  # an https address of our own
            raw = answer.read(MAX_BYTES)
    except (OSError, HTTPException):
        raise DataError(
            f"The file {path} could not be fetched from {address}.",
            "Check the network, or download it elsewhere and set DPCORE_DATA to the folder that holds it.",
        ) from None
    text = _checked(path, raw, "Try again later, or download it elsewhere and set DPCORE_DATA.")
    _store(cache / path, text)
    return text


def _checked(path: str, raw: bytes, remedy: str) -> bytes:
    """The file's lines without comments and blank ones, if they are the published ones."""
    lines = [line for line in raw.splitlines() if line.strip() and not line.startswith(b"|")]
    text = b"\n".join(lines) + b"\n"
    if hashlib.sha256(text).hexdigest() != FILES[path]["sha256"]:
        raise DataError(f"The file {path} differs from the published one (checksum).", remedy)
    return text


def _store(path: Path, content: bytes) -> None:
    """Write a file so that other processes see all of it or nothing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    except OSError:
        raise DataError(
            f"The file {path.name} was fetched, but the cache folder cannot be written.",
            "Set XDG_CACHE_HOME to a folder that can be written.",
        ) from None


def adult_schema() -> Schema:
    """Return what the documentation of UCI Adult says, with equal-width bins.

    Returns
    -------
    Schema
        15 columns, with the target "income".
    """
    return declared_schema("adult")


def big5_schema() -> Schema:
    """Return what the codebook of the Big Five data says.

    Returns
    -------
    Schema
        57 columns, all but age and country as numbered answers, with the target "gender".
    """
    return declared_schema("big5")


def declared_schema(name: str) -> Schema:
    """The schema of a data set."""
    if name == "sample":
        return Schema.from_json(bundled_file("sample.schema.json"))
    found = TABLES["bank cards" if name in BANK_CARDS else name]
    groups, about = found.get("groups", {}), "1 = disagree to 5 = agree, 0 = missed"
    columns = [_column(each, groups=groups.get(each), **how) for each, how in found["columns"].items()]
    for letter, trait in found.get("traits", {}).items():
        for i in range(1, 11):
            item = f"{trait}, item {i}: {about}"
            columns.append(_column(f"{letter}{i}", values="0 1 2 3 4 5", kind="ordered", description=item))
    return Schema(columns=tuple(columns), target=found["target"], max_rows=found["max_rows"])


def _column(
    name: str, *, bounds: Sequence[float] = (), values: str = "", groups: GroupNames | None = None, **more: Any
) -> Column:
    """A column of numbers, or of values in the order in which they are said, else in that of their groups."""
    fields: dict[str, Any] = {"kind": "integer"} | dict(zip(("lower", "upper"), bounds, strict=False))
    if not bounds:
        tree = None if groups is None else Taxonomy(tuple(_paths(groups, ("(any)",))))
        listed = tuple(values.split()) or (tree.leaves if tree else ())
        fields = {"kind": "categorical", "categories": listed, "taxonomy": tree}
    return Column(name=name, origin="document", **(fields | more))


def _paths(groups: GroupNames | str, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The way up from each value to the root."""
    if isinstance(groups, str):
        yield from ((leaf, *above) for leaf in groups.split())
        return
    for name, parts in groups.items():
        yield from _paths(parts, (name, *above) if name else above)


TARGET = "customer-value"
CLASSES = {"high": 0.2, "middle": 0.5, "low": 0.3}  # the class and its share; this order everywhere below
FACTORS = ("wealth", "thrift", "habit", "age")
ROWS, TEST_ROWS = 50_000, 5_000


class SimulatedColumn(NamedTuple):
    """A column, and how it is drawn."""

    column: Column
    factor: str  # the one of `FACTORS` that moves it in the dependent table
    loading: float  # how strongly, between -1 and 1: the correlation of score and factor
    # per class a number's mean and deviation, before rounding and clipping, or the categories' shares, which sum to 1
    classes: Sequence[Sequence[float]]


ATTRIBUTES = tuple(
    SimulatedColumn(declared_schema("bank cards")[name], **how) for name, how in TABLES["bank cards"]["drawn"].items()
)


def bank_cards(seed: int = 0, *, dependent: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Simulated customers to learn from and to test on, with the columns of the schema; the module says how.

    The same seed and version of NumPy give the same rows. In the `dependent` table attributes hang
    together within a class, so that naive Bayes's assumption fails.
    """
    train, test = (np.random.default_rng([seed, part]) for part in range(2))  # neither hangs on the other's size
    return _draw(ROWS, train, dependent), _draw(TEST_ROWS, test, dependent)


def _draw(rows: int, rng: np.random.Generator, dependent: bool) -> pd.DataFrame:
    classes = rng.choice(len(CLASSES), rows, p=list(CLASSES.values()))
    scores = rng.standard_normal((len(ATTRIBUTES), rows))
    factors = dict(zip(FACTORS, rng.standard_normal((len(FACTORS), rows)), strict=True))
    cells = {}
    for each, own in zip(ATTRIBUTES, scores, strict=True):
        score = each.loading * factors[each.factor] + np.sqrt(1 - each.loading**2) * own if dependent else own
        cells[each.column.name] = _values(each, score, classes)
    cells[TARGET] = np.array(list(CLASSES))[classes]
    return pd.DataFrame(cells)


def _values(attribute: SimulatedColumn, score: Floats, classes: NDArray[np.int64]) -> NDArray[Any]:
    """The numbers or categories of rows with these scores and classes, shape (rows,)."""
    column = attribute.column
    if not column.numeric:
        ends = np.cumsum(attribute.classes, axis=1)[:, :-1]
        points = np.array([[NormalDist().inv_cdf(end) for end in row] for row in ends])
        values: NDArray[Any] = np.array(column.categories)[np.sum(score[:, None] > points[classes], axis=1)]
        return values
    whole = column.kind == "integer"
    means, deviations = np.array(attribute.classes)[classes].T
    numbers: NDArray[Any] = np.clip(np.round(means + deviations * score, 0 if whole else 2), column.lower, column.upper)
    return numbers.astype(np.int64) if whole else numbers

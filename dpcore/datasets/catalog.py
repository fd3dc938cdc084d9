"""Built-in data sets with their declared schemas: published, and simulated bank-card customers.

`files/catalog.toml` describes the data sets. The checksums of published files are compared, so that
the schemas describe them. Nothing is fetched from the network unless the caller requests it.

Zhang and Tang (2007) tested private naive Bayes on 50,000 customers of a bank, with 5,000 more as
test rows, and the class "customer value". Those rows were never published. The simulated ones have
the same kind of columns; their numbers are our own, and no row is a real person. A row is drawn in
four steps:

1. Its class, by the shares in `CLASSES`.
2. A score for every attribute, standard normal, independent of the class and of each other.
3. In the dependent data set, the four `FACTORS` of the row, standard normal as well. An attribute
   with the loading a on its factor f gets the score a * f + sqrt(1 - a**2) * (its score of step 2),
   which is standard normal again.
4. Its values, from the scores s and the class. A number is mean + deviation * s, rounded
   (continuous ones to two decimals) and clipped to its bounds. A category is found by dividing the
   normal distribution, in the order of the categories, into intervals of their shares.

Both data sets have the same distribution of every attribute within every class. They differ only in
the dependence between attributes. In the first one attributes are independent given the class, as
naive Bayes assumes, and numbers are Gaussian except for rounding and clipping (less than one value
in twenty, in any class). In the second one the class shows in *pairs* of attributes: customers with
large deposits have small loans, and customers who pay often pay small sums, while high-value
customers have more of both. Naive Bayes does not see that; a forest does.
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
TABLES = read_toml(FOLDER / "catalog.toml")
FILES = TABLES["files"]
BANK_CARDS = {"bank cards": False, "bank cards, dependent": True}  # dependent within a class?
BIG5_PAGE = "https://openpsychometrics.org/_rawdata/"
GroupNames: TypeAlias = "dict[str, GroupNames | str]"
"""Nested groups of a taxonomy, down to texts of values; those under "" have no smaller group."""


def load_rows(name: str, download: bool) -> tuple[list[pd.DataFrame], list[bytes]]:
    """Return the rows of a built-in data set, and the bytes that identify its content.

    The list has one frame of all rows, or one of training rows and one of test rows. A published
    file that is not on this machine is fetched from the web only if `download` is true.
    """
    if name in BANK_CARDS:
        frames = [*bank_cards(dependent=BANK_CARDS[name])]  # the same rows every time
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
    """Return the bytes of a file that is part of this package."""
    try:
        return (FOLDER / name).read_bytes()
    except OSError:
        raise DataError("The bundled sample is not part of this installation.", "Install dpcore again.") from None


def published_file(path: str, download: bool) -> bytes:
    """Return the content of a published file: from `$DPCORE_DATA`, the cache, or its web address.

    `path` is a key of `FILES`, such as "adult/adult.data". The web address is used only if
    `download` is true.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpcore"
    folders = [Path(folder) for folder in [os.environ.get("DPCORE_DATA")] if folder] + [cache]
    for folder in folders:
        if (folder / path).is_file():
            return _verify(path, source_bytes(folder / path), "Replace it with the published file, or remove it.")
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
        with urllib.request.urlopen(address, timeout=30) as answer:  # a fixed https address
            raw = answer.read(MAX_BYTES)
    except (OSError, HTTPException):
        raise DataError(
            f"The file {path} could not be fetched from {address}.",
            "Check the network, or download it elsewhere and set DPCORE_DATA to the folder that holds it.",
        ) from None
    text = _verify(path, raw, "Try again later, or download it elsewhere and set DPCORE_DATA.")
    _write_to_cache(cache / path, text)
    return text


def _verify(path: str, raw: bytes, remedy: str) -> bytes:
    """Return a file's lines without comments and blanks; DataError if their checksum differs.

    `path` is the key of `FILES` that has the checksum, `raw` is the file's content, and `remedy` is
    the advice that the error gives.
    """
    lines = [line for line in raw.splitlines() if line.strip() and not line.startswith(b"|")]
    text = b"\n".join(lines) + b"\n"
    if hashlib.sha256(text).hexdigest() != FILES[path]["sha256"]:
        raise DataError(f"The file {path} differs from the published one (checksum).", remedy)
    return text


def _write_to_cache(path: Path, content: bytes) -> None:
    """Write a file so that other processes see either all of it or nothing."""
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
    """Return the declared schema of UCI Adult, from its documentation, with equal-width bins.

    Returns
    -------
    Schema
        15 columns, with the target "income".
    """
    return declared_schema("adult")


def big5_schema() -> Schema:
    """Return the declared schema of the Big Five data, from their codebook.

    Returns
    -------
    Schema
        57 columns, all but age and country as numbered answers, with the target "gender".
    """
    return declared_schema("big5")


def declared_schema(name: str) -> Schema:
    """Return the declared schema of a built-in data set."""
    if name == "sample":
        return Schema.from_json(bundled_file("sample.schema.json"))
    found = TABLES["bank cards" if name in BANK_CARDS else name]
    groups, about = found.get("groups", {}), "1 = disagree to 5 = agree, 0 = missed"
    columns = [_declare_column(each, groups=groups.get(each), **how) for each, how in found["columns"].items()]
    for letter, trait in found.get("traits", {}).items():
        for i in range(1, 11):
            item = f"{trait}, item {i}: {about}"
            columns.append(_declare_column(f"{letter}{i}", values="0 1 2 3 4 5", kind="ordered", description=item))
    return Schema(columns=tuple(columns), target=found["target"], max_rows=found["max_rows"])


def _declare_column(
    name: str, *, bounds: Sequence[float] = (), values: str = "", groups: GroupNames | None = None, **more: Any
) -> Column:
    """Return a declared column: integers within `bounds`, or a category with listed values.

    `values` has the categories in their order, separated by spaces; without it they are those of
    `groups`, nested groups that become the column's taxonomy. `more` are other fields of `Column`.
    """
    fields: dict[str, Any] = {"kind": "integer"} | dict(zip(("lower", "upper"), bounds, strict=False))
    if not bounds:
        tree = None if groups is None else Taxonomy(tuple(_root_paths(groups, ("(any)",))))
        listed = tuple(values.split()) or (tree.leaves if tree else ())
        fields = {"kind": "categorical", "categories": listed, "taxonomy": tree}
    return Column(name=name, origin="document", **(fields | more))


def _root_paths(groups: GroupNames | str, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the path from each value of nested groups up to the root of the taxonomy.

    `above` names the groups that contain these, the innermost first.
    """
    if isinstance(groups, str):
        yield from ((leaf, *above) for leaf in groups.split())
        return
    for name, parts in groups.items():
        yield from _root_paths(parts, (name, *above) if name else above)


TARGET = "customer-value"
CLASSES = {"high": 0.2, "middle": 0.5, "low": 0.3}  # shares of the classes, always in this order
FACTORS = ("wealth", "thrift", "habit", "age")
ROWS, TEST_ROWS = 50_000, 5_000


class SimulatedColumn(NamedTuple):
    """A column, and how its values are simulated."""

    column: Column
    factor: str  # the one of `FACTORS` that influences it in the dependent data set
    loading: float  # the correlation of its score with the factor, between -1 and 1
    # per class: mean and deviation of a number, before rounding and clipping; or shares of
    # categories, which sum to 1
    classes: Sequence[Sequence[float]]


ATTRIBUTES = tuple(
    SimulatedColumn(declared_schema("bank cards")[name], **how) for name, how in TABLES["bank cards"]["drawn"].items()
)


def bank_cards(seed: int = 0, *, dependent: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Simulate customers of a bank: training and test rows with the class "customer-value".

    The same seed and version of NumPy give the same rows. With `dependent`, columns depend on each
    other within a class, so that the assumption of naive Bayes fails.
    """
    train, test = (np.random.default_rng([seed, part]) for part in range(2))  # independent
    return _simulate_rows(ROWS, train, dependent), _simulate_rows(TEST_ROWS, test, dependent)


def _simulate_rows(rows: int, rng: np.random.Generator, dependent: bool) -> pd.DataFrame:
    """Simulate rows of bank-card customers.

    Each cell is made from a standard normal score. If `dependent`, the scores of one row share its
    `FACTORS`, so that its cells depend on each other.
    """
    classes = rng.choice(len(CLASSES), rows, p=list(CLASSES.values()))
    scores = rng.standard_normal((len(ATTRIBUTES), rows))
    factors = dict(zip(FACTORS, rng.standard_normal((len(FACTORS), rows)), strict=True))
    cells = {}
    for each, own in zip(ATTRIBUTES, scores, strict=True):
        score = each.loading * factors[each.factor] + np.sqrt(1 - each.loading**2) * own if dependent else own
        cells[each.column.name] = _values_from_scores(each, score, classes)
    cells[TARGET] = np.array(list(CLASSES))[classes]
    return pd.DataFrame(cells)


def _values_from_scores(attribute: SimulatedColumn, score: Floats, classes: NDArray[np.int64]) -> NDArray[Any]:
    """Turn normal scores of rows into values of a column, shape (rows,).

    `score` has a standard normal number and `classes` a class code for each row; `attribute` says
    how each class turns scores into values.
    """
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

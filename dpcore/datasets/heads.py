"""The first rows of a table that may be longer than the memory, and about how many it has: for a look, and for guesses.

They are read as any file is that somebody hands over (`reading`), as a small file of their own.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.datasets.delimited import encoding_of, other_encoding
from dpcore.datasets.formats import format_of, opened_text
from dpcore.datasets.parquet import open_parquet, sound
from dpcore.datasets.reading import read_frame
from dpcore.datasets.streams import Source, sources
from dpcore.errors import DataError

ROWS, BYTES = 20_000, 1 << 23


@dataclass(frozen=True, eq=False)
class Head:
    """The first rows of a table's first file; and how many rows all files have, about, or None if nobody can say."""

    frame: pd.DataFrame
    rows: int | None


def head(place: str | PathLike[str], **reading: str | None) -> Head:
    """The first rows of a file, or of a folder's first file; `reading` is how a text is written, as for `read_frame`.

    DataError if there is nothing that can be read.
    """
    try:
        files = sources(place)
        sizes = [file.path.stat().st_size for file in files]
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("This path cannot be read.", "Check it, and its permissions.") from None
    first = files[0]
    kind, packing = format_of(first.name)
    if kind == "parquet":
        return Head(read_frame(of_parquet(first.path), "head.parquet"), about(files, sizes, "", 0.0))
    text, taken = of_text(first.path, reading.get("encoding"))
    how: dict[str, Any] = {name: value for name, value in reading.items() if name != "encoding"}
    frame = read_frame(text.encode(), f"head.{kind}", **how)
    return Head(frame, about(files, sizes, "" if packing else kind, len(frame) / max(taken, 1)))


def about(files: Sequence[Source], sizes: Sequence[int], kind: str, rows: float) -> int | None:
    """How many rows files have: Parquet says it, and texts of this kind have so many in a byte; None of others."""
    found = 0.0
    for file, size in zip(files, sizes, strict=True):
        if format_of(file.name) == ("parquet", ""):
            with sound():
                found += pq.read_metadata(file.path).num_rows
        elif format_of(file.name) == (kind, ""):
            found += rows * size
        else:
            return None
    return round(found)


def of_parquet(path: Path) -> bytes:
    """A small Parquet file of the first rows."""
    sink = BytesIO()
    with sound(), open_parquet(path) as file:
        batches = [batch for batch in [next(file.iter_batches(ROWS), None)] if batch is not None]
        pq.write_table(pa.Table.from_batches(batches, file.schema_arrow), sink)
    return sink.getvalue()


def of_text(path: Path, declared: str | None) -> tuple[str, int]:
    """The first lines of a text, with whole rows only, and how many of its bytes they are."""
    with opened_text(path, format_of(path.name)[1]) as file:
        raw, whole = file.read(BYTES), not file.read(1)
    encoding = encoding_of(raw[:4], declared)
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(raw, final=whole)
    except UnicodeError:
        raise other_encoding(raw, declared) from None
    lines = text.split("\n")
    if whole and len(lines) <= ROWS:
        return text, len(raw)
    quotes, at, end = 0, 0, 0
    for number, line in enumerate(lines[:-1]):
        quotes, at = quotes + line.count('"'), at + len(line) + 1
        if quotes % 2 == 0:  # no cell is open
            end = at
            if number >= ROWS:
                break
    end = end or len(text)
    return text[:end], round(len(raw) * end / max(len(text), 1))

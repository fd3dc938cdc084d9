"""Rows that are released to a file that may be longer than the memory, frame by frame."""

from collections.abc import Iterable
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from secrets import token_hex
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from dpcore.errors import DataError, ParameterError

WRITERS = {".parquet": pq.ParquetWriter, ".csv": arrow_csv.CSVWriter}


def check_place(path: str | PathLike[str], *, replace: bool) -> Path:
    """Where a file of rows can be written; ParameterError or DataError if it cannot be there, or be such a file."""
    place = Path(fspath(path))
    if place.suffix.lower() not in WRITERS:
        raise ParameterError("The file's name does not tell its format.", "End it with .parquet or .csv.")
    if not place.absolute().parent.is_dir():
        raise DataError(f"There is no folder for {place.name!r}.", "Make it first, or choose another.")
    if place.is_dir() or (place.exists() and not replace):
        raise DataError(f"{place.name!r} is there already.", "Choose another name, or pass replace=True.")
    return place


def write_frames(place: Path, frames: Iterable[pd.DataFrame]) -> None:
    """Write frames of the same columns one below the other, so that others see the whole file or nothing.

    Parquet keeps their types; CSV has a header line, quotes around text, and nothing where a cell is missing.
    """
    part = place.with_name(f".{place.name}.{token_hex(4)}")
    kind = place.suffix.lower()
    try:
        with ExitStack() as stack:
            writer: Any = None
            schema: pa.Schema | None = None  # of the first, and so of all
            for frame in frames:
                table = pa.Table.from_pandas(frame, schema, preserve_index=False)
                schema = table.schema
                if kind == ".csv":
                    table = without_dictionaries(table)
                if writer is None:
                    writer = stack.enter_context(WRITERS[kind](part, table.schema))
                writer.write_table(table)
        part.replace(place)
    except OSError:
        raise DataError(f"{place.name!r} cannot be written.", "Choose a folder that has room.") from None
    finally:
        part.unlink(missing_ok=True)


def without_dictionaries(table: pa.Table) -> pa.Table:
    """The same cells, each written out."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))

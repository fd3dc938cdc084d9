"""Read an uploaded file into a DataFrame, without silent guesses and without trusting the file.

Delimiter, encoding and decimal mark of a text are declared, or follow from its header and from
rules, never from its rows (`delimited_text`). `frame.attrs["read_as"]` records what was used. Files
are treated as hostile: `worker` parses them in a process with limits. Nothing is unpickled or
computed. No error repeats a cell, because errors reach screens and logs; errors do name columns,
which are the first line.
"""

from collections.abc import Sequence
from math import inf
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore.arguments import is_whole
from dpcore.datasets.delimited_text import MISSING_CELLS
from dpcore.datasets.formats import format_from_name, parse_table
from dpcore.datasets.worker import parse_in_worker
from dpcore.errors import DataError

MAX_BYTES = 50 * 2**20
UNPACK_FACTOR = 5  # how many times the limit of bytes a file may have when it is unpacked


def read_frame(
    source: str | PathLike[str] | bytes,
    name: str = "",
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = MISSING_CELLS,
    skip_first: int = 0,
    skip_last: int = 0,
    max_bytes: int = MAX_BYTES,
    max_shape: tuple[float, float] = (inf, inf),
    trusted: bool = False,
) -> pd.DataFrame:
    """Read one table from a file or its bytes.

    Parameters
    ----------
    source : path or bytes
        csv, tsv or txt (also packed as gz, zip with one member, bz2 or xz), parquet, or xlsx (first
        visible sheet; formula cells give the value that was last computed).
    name : str
        The file's name, whose extension gives the format; needed for bytes other than csv.
    delimiter, encoding, decimal : str, optional
        How a text file is written. By default: the delimiter that divides the header into most
        parts; UTF-8, or the encoding of a byte order mark; and a decimal comma if the delimiter is
        a semicolon.
    missing : sequence of str
        Text cells that mean "missing", compared after surrounding spaces are removed.
    skip_first, skip_last : int, default=0
        How many rows to leave out below the header and at the end: units, sums, notes.
    max_bytes : int
        Largest file accepted. Unpacked, the file may have five times as much, and so may all its
        texts.
    max_shape : (float, float)
        Largest number of rows and of columns, such as a server accepts from a visitor.
    trusted : bool, default=False
        Parse in this process, without limits of time and memory: for files that are part of this
        package, or whose checksum was compared.

    Returns
    -------
    DataFrame
        Columns of text; columns of Parquet have the file's types. Where texts repeat and would take
        many megabytes, they are categories: codes and exports are the same. `attrs["read_as"]`
        records how the file was read, with warnings in the entry "doubts", one per line.

    Raises
    ------
    DataError
        With a cause and a remedy; never with a cell's value.
    """
    name = name or ("data.csv" if isinstance(source, bytes) else Path(fspath(source)).name)
    format_from_name(name)  # a wrong extension is refused before reading
    if not all(is_whole(many, 0) for many in (skip_first, skip_last)):
        raise DataError("`skip_first` and `skip_last` must be whole numbers of 0 or more.", "Use skip_last=1, or 0.")
    raw = source_bytes(source, max_bytes)
    if not raw.strip():
        raise DataError("The file is empty.", "Choose a file with a header line and rows.")
    request: dict[str, Any] = {
        "delimiter": delimiter,
        "encoding": encoding,
        "decimal": decimal,
        "missing": list(missing),
        "skip": [skip_first, skip_last],
        "limit": max_bytes * UNPACK_FACTOR,
        "max_shape": list(max_shape),
    }
    table, read_as = parse_table(raw, name, **request) if trusted else parse_in_worker(raw, name, request)
    frame: pd.DataFrame = table.to_pandas(self_destruct=True)  # frees each column of Arrow
    frame.attrs["read_as"] = read_as
    return frame


def source_bytes(source: str | PathLike[str] | bytes, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the bytes of a file, or the given bytes; DataError if they exceed `max_bytes`."""
    if isinstance(source, bytes):
        size, raw = len(source), source
    else:
        path = Path(fspath(source))
        if not path.is_file():
            raise DataError(f"There is no file {path.name!r} at this path.", "Check the path to the file.")
        try:
            with path.open("rb") as file:
                raw = file.read(max_bytes + 1)
            size = path.stat().st_size
        except OSError:
            raise DataError(f"The file {path.name!r} cannot be opened.", "Check its permissions.") from None
    if size > max_bytes:
        raise DataError(
            f"The file is too large: at most {max_bytes / 2**20:,.1f} MiB are allowed.",
            "Save it as Parquet, leave out columns or rows, or encode it with dp.encode_folder.",
            f"The file has {size / 2**20:,.1f} MiB; at most {max_bytes / 2**20:,.1f} MiB are allowed.",
        )
    return raw

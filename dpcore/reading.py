"""Bytes to a DataFrame: what a person uploads, read without guessing silently and without trusting it.

Delimiter, encoding and decimal mark are found from the text unless the caller asks for others; what was used stands
in `frame.attrs["read_as"]`. Files are hostile until read: sizes are capped before and after unpacking, nothing is
unpickled or computed, and no error repeats a cell, because errors reach screens and logs.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpcore.column import as_text
from dpcore.delimited import MAX_COLUMNS, MISSING_CELLS, clean, header_names, text_table
from dpcore.errors import DataError

__all__ = ["FORMATS", "MAX_BYTES", "MISSING_CELLS", "read_frame", "source_bytes"]

MAX_BYTES = 50 * 2**20
MOST_ROWS = 2**20  # what a sheet can hold
UNPACKED = 5  # a file may unpack to this many times the limit; beyond it is a mistake or an attack
TEXT_FORMATS = ("csv", "tsv", "txt")
OPENERS: dict[str, Callable[[io.BytesIO], Any]] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
PACKED = (*OPENERS, "zip")
FORMATS = (*TEXT_FORMATS, "parquet", "xlsx", *(f"csv.{packed}" for packed in PACKED))


def read_frame(
    source: str | PathLike[str] | bytes,
    name: str = "",
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = MISSING_CELLS,
    max_bytes: int = MAX_BYTES,
) -> pd.DataFrame:
    """One table from a file or its bytes.

    Parameters
    ----------
    source : path or bytes
        csv, tsv or txt (also packed as gz, zip with one member, bz2 or xz), parquet, or xlsx (first sheet; formula
        cells give the value that was last computed).
    name : str
        The file's name, whose extension tells the format; needed for bytes other than csv.
    delimiter, encoding, decimal : str, optional
        Asked for instead of found; text files only.
    missing : sequence of str
        Text cells that mean "missing", compared after surrounding spaces are removed.
    max_bytes : int
        Largest file accepted; unpacked, it may have five times as much.

    Returns
    -------
    DataFrame
        Text, numbers or booleans per column. `attrs["read_as"]` says how it was read.

    Raises
    ------
    DataError
        With a cause and a remedy; never with a cell's value.
    """
    name = name or ("data.csv" if isinstance(source, bytes) else Path(fspath(source)).name)
    _format(name)  # before any reading: the remedy for a wrong extension needs no bytes
    raw = source_bytes(source, max_bytes)
    if not raw.strip():
        raise DataError("The file is empty.", "Choose a file with a header line and rows.")
    kind, raw = _unpacked(raw, name, max_bytes * UNPACKED)
    if kind == "parquet":
        table, read_as = _parquet(raw, missing, max_bytes * UNPACKED)
    elif kind == "xlsx":
        table, read_as = _workbook(raw, missing, max_bytes * UNPACKED)
    else:
        table, read_as = text_table(raw, delimiter, encoding, decimal, missing)
    frame: pd.DataFrame = table.to_pandas()
    frame.attrs["read_as"] = {"format": kind, **read_as}
    return frame


def source_bytes(source: str | PathLike[str] | bytes, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a file that is not larger than the limit."""
    if isinstance(source, bytes):
        size, raw = len(source), source
    else:
        path = Path(fspath(source))
        if not path.is_file():
            raise DataError(f"There is no file {path.name!r} at this place.", "Check the path.")
        try:
            with path.open("rb") as file:
                raw = file.read(max_bytes + 1)
            size = path.stat().st_size
        except OSError:
            raise DataError(f"The file {path.name!r} cannot be opened.", "Check its permissions.") from None
    if size > max_bytes:
        raise DataError(
            f"The file has {size / 2**20:,.1f} MiB; at most {max_bytes / 2**20:,.1f} MiB are allowed.",
            "Leave out columns or rows, save it as Parquet, or raise the limit (max_bytes).",
        )
    return raw


def _format(name: str) -> tuple[str, str]:
    """Format and packing that a file name tells; a zip archive's format is its member's."""
    *_, inner, last = ["", "", *name.lower().split(".")]
    if last == "zip" or (last in PACKED and inner in TEXT_FORMATS):
        return inner, last
    if last in (*TEXT_FORMATS, "parquet", "xlsx"):
        return last, ""
    raise DataError(
        f"The extension of {Path(name).name!r} does not tell a format that can be read.",
        f"Use one of {', '.join(FORMATS)} (tsv and txt may be packed as well).",
    )


def _too_large(limit: int) -> NoReturn:
    raise DataError(
        f"Unpacked, the file has more than {limit / 2**20:,.1f} MiB.",
        "Leave out columns or rows, or raise the limit (max_bytes).",
    )


def _unpacked(raw: bytes, name: str, limit: int) -> tuple[str, bytes]:
    """Format and unpacked bytes. Reads one byte more than the limit at most: a small file may unpack to terabytes."""
    kind, packing = _format(name)
    if not packing:
        return kind, raw
    try:
        if packing == "zip":
            kind, text = _zip_member(raw, limit + 1)
        else:
            with OPENERS[packing](io.BytesIO(raw)) as file:
                text = file.read(limit + 1)
    except (EOFError, OSError, MemoryError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError):
        # RuntimeError is what zipfile raises for passwords, and NotImplementedError, its child, for odd packings
        raise DataError(
            f"The {packing} file is cut short, damaged or protected by a password.",
            "Pack it again without a password, or upload the table itself.",
        ) from None
    if len(text) > limit:
        _too_large(limit)
    if not text.strip():
        raise DataError("The packed file is empty.", "Choose a file with a header line and rows.")
    return kind, text


def _zip_member(raw: bytes, size: int) -> tuple[str, bytes]:
    """Format and at most `size` bytes of an archive's only file."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
        if len(members) != 1:
            raise DataError(f"The zip file holds {len(members):,} files.", "Pack exactly one table.")
        kind, packing = _format(members[0].filename)
        if packing or kind not in TEXT_FORMATS:
            raise DataError("The zip file holds no text table.", f"Pack one of {', '.join(TEXT_FORMATS)}.")
        with archive.open(members[0]) as file:
            return kind, file.read(size)


def _parquet(raw: bytes, missing: Sequence[str], limit: int) -> tuple[pa.Table, dict[str, str]]:
    """A Parquet table; the index that pandas may have stored beside it is left out."""
    try:
        schema = pq.read_schema(pa.BufferReader(raw))
        keep = [j for j, name in enumerate(schema.names) if not re.fullmatch(r"__index_level_\d+__", name)]
        headers = header_names([schema.names[j] for j in keep])
        for j, header in zip(keep, headers, strict=True):
            if not _is_plain(schema.types[j]):
                raise DataError(f"Column {header!r} holds lists, records or bytes.", "Leave it out, or make it text.")
        # dictionaries: one long text, a million times, is small in the file and must stay so in memory
        text = [field.name for field in schema if _is_text(field.type)]
        file = pq.ParquetFile(pa.BufferReader(raw), read_dictionary=text)
        groups = [file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)]
        if sum(groups) + 8 * file.metadata.num_rows * len(schema) > limit:
            _too_large(limit)
        table = file.read()
        columns = [_plain(table.column(j), missing, limit) for j in keep]
    except (pa.ArrowException, OSError):
        raise DataError("The Parquet file is cut short or damaged.", "Save or upload it again.") from None
    if not table.num_rows or not headers:
        raise DataError("The file has no rows.", "Choose a file with rows.")
    return pa.Table.from_arrays(columns, headers), {}


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_plain(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return _is_text(kind) or bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def _plain(column: pa.ChunkedArray, missing: Sequence[str], limit: int) -> pa.ChunkedArray | pa.Array:
    """A column as text, numbers or booleans; dates and times become text."""
    if _is_text(column.type):
        parts = column.cast(pa.dictionary(pa.int32(), pa.string())).chunks
        lengths = [pc.sum(pc.binary_length(part.dictionary).take(part.indices)).as_py() or 0 for part in parts]
        if sum(lengths) > limit:
            _too_large(limit)
        return clean(pa.chunked_array(parts), missing, None) if parts else column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type) or pa.types.is_integer(column.type):
        return column
    return column.cast(pa.string() if pa.types.is_temporal(column.type) else pa.float64())


def _workbook(raw: bytes, missing: Sequence[str], limit: int) -> tuple[pa.Table, dict[str, str]]:
    """The first sheet of a workbook, and its title."""
    from openpyxl import load_workbook  # slow to import, seldom needed

    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if sum(member.file_size for member in archive.infolist()) > limit:
                _too_large(limit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl names every styling feature that it does not know
            book = load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
            title, headers, columns = _sheet(book, limit)
            book.close()
    except DataError:
        raise
    except Exception:  # openpyxl documents no error of its own; damaged files raise half a dozen kinds
        raise DataError(
            "The workbook is cut short, damaged or protected by a password.",
            "Save it again as xlsx without a password, or as CSV.",
        ) from None
    arrays = [pa.chunked_array([pa.array(c, pa.string()).dictionary_encode()]) for c in columns]
    return pa.Table.from_arrays([clean(a, missing, ".") for a in arrays], headers), {"sheet": title}


def _sheet(book: Any, limit: int) -> tuple[str, list[str], list[tuple[str | None, ...]]]:
    """Title, headers and columns of text of the first sheet; blank rows are left out."""
    if not book.worksheets:
        raise DataError("The workbook has no sheet with cells.", "Choose a workbook with a table.")
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # some writers state wrong ones
    above = enumerate(sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS + 1), start=1)
    number, first = next(((n, row) for n, row in above if any(cell is not None for cell in row)), (0, ()))
    headers = header_names(first[: max((j for j, cell in enumerate(first, start=1) if cell is not None), default=0)])
    rows: list[list[str | None]] = []
    size = 0
    last = number + MOST_ROWS  # a forged row number would have the reader fill the gap with empty rows
    below = sheet.iter_rows(values_only=True, min_row=number + 1, max_row=last, max_col=len(headers) + 1)
    for line, cells in enumerate(below, start=number + 1):
        row = [None if cell is None else as_text(cell) for cell in cells]
        if all(cell is None for cell in row):
            continue
        if row.pop() is not None:
            raise DataError(
                f"Row {line:,} has a cell beyond the last header.", "Give every column a header, or clear that cell."
            )
        rows.append(row)
        size += 8 * len(row) + sum(len(cell) for cell in row if cell)
        if size > limit:
            _too_large(limit)
    if not rows:
        raise DataError("The first sheet has no rows below its header.", "Put the table on the first sheet.")
    return str(sheet.title), headers, list(zip(*rows, strict=True))

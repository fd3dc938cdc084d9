"""Format of a file, unpacking, and dispatch to the parser of that format: bytes to an Arrow table.

Pure functions of bytes, with few imports: they run in the process that parses untrusted files.
"""

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc

from dpcore.datasets.delimited_text import text_table, too_large_error
from dpcore.datasets.doubts import doubts_of_ends
from dpcore.datasets.parquet import parquet_table
from dpcore.datasets.workbooks import workbook_table
from dpcore.errors import DataError

TEXT_FORMATS = ("csv", "tsv", "txt")
# Errors that unpacking raises on damaged files. zipfile has RuntimeError for passwords, and its
# subclass NotImplementedError for unsupported compression.
DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, ValueError)
OPENERS: dict[str, Callable[..., Any]] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
PACKED = (*OPENERS, "zip")
READERS = {"parquet": parquet_table, "xlsx": workbook_table}
TABLE_FORMATS = (*TEXT_FORMATS, *READERS)
FORMATS = (*TABLE_FORMATS, *(f"csv.{packed}" for packed in PACKED))

# First bytes of files that may have the wrong extension. A workbook is a zip archive as well.
SIGNATURES = {
    b"PK\x03\x04": "a zip archive or a workbook",
    b"PAR1": "Parquet",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel workbook (xls), or one with a password",
    b"\x1f\x8b": "packed as gz",
    b"BZh": "packed as bz2",
    b"\xfd7zXZ": "packed as xz",
    b"7z\xbc\xaf": "packed as 7z",
    b"%PDF-": "a PDF document",
    b"SQLite format 3": "a database (SQLite)",
    b"<!doctype html": "an HTML page",
    b"<html": "an HTML page",
    b"<?xml": "an XML document",
}
SAMPLE = 10_000  # bytes that are searched for a signature
SMALL = 2**23  # bytes of all texts of a column up to which each cell stores its own text
REPEATS = 4  # average occurrences of a text from which on it is stored once
RECORDS = re.compile(
    rb'(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*("([^"\\]|\\.)*"\s*:|\})|(\xef\xbb\xbf)?\s*\[\s*\['
)  # the beginning of JSON
MAGIC = {"parquet": b"PAR1", "xlsx": b"PK\x03\x04", "gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ", "zip": b"PK"}


def format_from_name(name: str) -> tuple[str, str]:
    """Return the format and the packing (or "") of a file, by the extension of its name.

    The format of a zip archive is that of the file in it.
    """
    *_, inner, last = ["", "", *name.lower().split(".")]
    if last == "zip" or (last in PACKED and inner in TEXT_FORMATS):
        return inner, last
    if last in TABLE_FORMATS:
        return last, ""
    raise DataError(
        f"The extension of {PurePath(name).name!r} is not that of a format that dpcore reads.",
        f"Use one of {', '.join(FORMATS)} (tsv and txt may be packed as well).",
    )


def parse_table(
    raw: bytes,
    name: str,
    *,
    missing: Sequence[str],
    limit: int,
    max_shape: Sequence[float],
    skip: Sequence[int] = (0, 0),
    **written: str | None,
) -> tuple[pa.Table, dict[str, str]]:
    """Parse the bytes of a file into one Arrow table; return the table and how it was read.

    The extension of `name` tells the format. `missing` lists texts that mean a missing cell.
    `limit` bounds the unpacked bytes and the bytes of all texts. `max_shape` is the largest allowed
    number of rows and of columns. `skip` says how many rows to leave out at the start and the end.
    `written` has the declared delimiter, encoding and decimal mark of a text. DataError has a cause
    and a remedy.
    """
    kind, packing = format_from_name(name)
    if packing:
        check_signature(raw, packing)
        kind, raw = unpack(raw, packing, kind, limit)
    check_signature(raw, kind)
    read = READERS.get(kind)
    table, read_as = read(raw, missing, limit) if read else text_table(raw, missing, **written)
    if table.num_rows > max_shape[0] or table.num_columns > max_shape[1]:
        most = f"this server takes {max_shape[0]:,} rows and {max_shape[1]:,} columns at most."
        raise DataError(
            f"The table has too many rows or columns; {most}",
            "Upload fewer rows or columns, or run dpcore on your own computer.",
            f"The table has {table.num_rows:,} rows and {table.num_columns:,} columns; {most}",
        )
    first, last = skip
    table = table.slice(first, max(table.num_rows - first - last, 0)).combine_chunks()
    if first or last:
        read_as["skipped"] = f"{first + last:,} rows at the start or the end left out"
    if seen := list(doubts_of_ends(table)):
        read_as["doubts"] = "\n".join(filter(None, [read_as.get("doubts", ""), *seen]))
    return store_texts(table, limit), {"format": kind, **{key: text for key, text in read_as.items() if text}}


def store_texts(table: pa.Table, limit: int) -> pa.Table:
    """Return a table whose texts are stored cell by cell, or once each if that saves memory.

    DataError if all texts together have more than `limit` bytes.
    """
    size, columns = sum(map(total_text_bytes, table.columns)), []
    if size > limit:
        raise too_large_error(limit)
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            cells = column.chunk(0)
            repeated = REPEATS * len(cells.dictionary) < len(cells)
            column = deduplicate(cells) if size > SMALL and repeated else cells.dictionary_decode()
        columns.append(column)
    return pa.Table.from_arrays(columns, table.column_names)


def total_text_bytes(column: pa.ChunkedArray) -> int:
    """Return the number of bytes of all texts in a column, counting repeated texts each time."""
    if pa.types.is_dictionary(column.type):
        lengths = pc.binary_length(column.chunk(0).dictionary).take(column.chunk(0).indices)
        return pc.sum(lengths).as_py() or 0
    return pc.sum(pc.binary_length(column)).as_py() or 0 if pa.types.is_string(column.type) else 0


def deduplicate(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the same cells with a dictionary that has each text once, and no null."""
    words = column.dictionary.dictionary_encode()
    return pa.DictionaryArray.from_arrays(words.indices.take(column.indices), words.dictionary)


def check_signature(raw: bytes, kind: str) -> None:
    """Raise DataError if the first bytes of a file show another format than its extension.

    `kind` is the format, or the packing such as "gz", that the extension names.
    """
    head = raw[:SAMPLE].removeprefix(b"\xef\xbb\xbf").lstrip()
    if kind in MAGIC:
        if raw.startswith(MAGIC[kind]) or len(raw) < len(MAGIC[kind]):
            return
    elif RECORDS.match(raw[:SAMPLE]):
        raise DataError(f"The file is JSON, although it is called {kind}.", "Save the table as CSV, xlsx or Parquet.")
    for signature, text in SIGNATURES.items():
        if head.startswith(signature) or (signature[:1] == b"<" and head.lower().startswith(signature)):
            raise DataError(
                f"The file is {text}, although it is called {kind}.", "Correct the file's extension, or save it as CSV."
            )


def unpack(raw: bytes, packing: str, kind: str, limit: int) -> tuple[str, bytes]:
    """Return the format and the unpacked bytes of a packed file.

    `packing` is one of `PACKED`. `kind` is the format by the packed file's own name; in a zip
    archive the name of the file inside decides. At most one byte more than `limit` is read, because
    a small file may unpack to terabytes.
    """
    with open_text(io.BytesIO(raw), packing) as file:
        text = file.read(limit + 1)
        kind = format_from_name(str(file.name))[0] if packing == "zip" else kind
    if len(text) > limit:
        raise too_large_error(limit)
    if not text.strip():
        raise DataError("The packed file is empty.", "Choose a file with a header line and rows.")
    return kind, text


@contextmanager
def open_text(source: Path | BinaryIO, packing: str) -> Iterator[BinaryIO]:
    """Open a text file and yield a binary file of its unpacked bytes; DataError if that fails.

    `packing` is one of `PACKED`, or "" for a file that is not packed.
    """
    try:
        with ExitStack() as stack:
            if packing == "zip":
                archive = stack.enter_context(zipfile.ZipFile(source))
                yield cast(BinaryIO, stack.enter_context(archive.open(only_member(archive))))
            else:
                yield stack.enter_context(OPENERS.get(packing, open)(source, "rb"))
    except DataError:
        raise
    except DAMAGED:
        if not packing:
            raise DataError("The file cannot be opened.", "Check its permissions.") from None
        raise DataError(
            f"The {packing} file is cut short, damaged or protected by a password.",
            "Pack it again without a password, or upload the table itself.",
        ) from None


def only_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the only file in a zip archive; DataError unless it is a single text table."""
    members = [m for m in archive.infolist() if not (m.is_dir() or m.filename.startswith("__MACOSX/"))]
    if len(members) != 1:
        raise DataError(f"The zip file holds {len(members):,} files.", "Pack exactly one table.")
    kind, packing = format_from_name(members[0].filename)
    if packing or kind not in TEXT_FORMATS:
        raise DataError("The zip file has no text table.", f"Pack one of {', '.join(TEXT_FORMATS)}.")
    return members[0]

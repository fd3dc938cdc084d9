"""A file's bytes to an Arrow table: which format it is, unpacked where it is packed, handed to that format's reader.

Pure functions of bytes, with few imports: they run where files that nobody trusts are parsed.
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

from dpcore.datasets.delimited import text_table, too_large
from dpcore.datasets.doubts import doubts_of_ends
from dpcore.datasets.parquet import parquet_table
from dpcore.datasets.workbooks import workbook_table
from dpcore.errors import DataError

TEXT_FORMATS = ("csv", "tsv", "txt")
# What unpacking documents for damaged files; zipfile has RuntimeError for passwords, and its child for odd packings.
DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, ValueError)
OPENERS: dict[str, Callable[..., Any]] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
PACKED = (*OPENERS, "zip")
READERS = {"parquet": parquet_table, "xlsx": workbook_table}
UNPACKED = (*TEXT_FORMATS, *READERS)
FORMATS = (*UNPACKED, *(f"csv.{packed}" for packed in PACKED))

# What files are called something that they are not; a workbook is a zip archive of its own kind.
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
SAMPLE = 10_000
SMALL = 2**23  # bytes of all texts, cell by cell, up to which they are stored so
OFTEN = 4  # times that a text is there on average where it is stored once
RECORDS = re.compile(
    rb'(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*("([^"\\]|\\.)*"\s*:|\})|(\xef\xbb\xbf)?\s*\[\s*\['
)  # JSON's beginning
OWN = {"parquet": b"PAR1", "xlsx": b"PK\x03\x04", "gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ", "zip": b"PK"}


def format_of(name: str) -> tuple[str, str]:
    """Format and packing that a file name tells; a zip archive's format is its member's."""
    *_, inner, last = ["", "", *name.lower().split(".")]
    if last == "zip" or (last in PACKED and inner in TEXT_FORMATS):
        return inner, last
    if last in UNPACKED:
        return last, ""
    raise DataError(
        f"The extension of {PurePath(name).name!r} is not that of a format that dpcore reads.",
        f"Use one of {', '.join(FORMATS)} (tsv and txt may be packed as well).",
    )


def table_of(
    raw: bytes,
    name: str,
    *,
    missing: Sequence[str],
    limit: int,
    max_shape: Sequence[float],
    skip: Sequence[int] = (0, 0),
    **written: str | None,
) -> tuple[pa.Table, dict[str, str]]:
    """One table, and how it was read. DataError with cause and remedy.

    `limit` is of its bytes when unpacked, and of its texts; `skip` says how many rows to leave out
    at the start and at the end; how a text is `written` is for `text_table`.
    """
    kind, packing = format_of(name)
    if packing:
        check_signature(raw, packing)
        kind, raw = unpack(raw, packing, kind, limit)
    check_signature(raw, kind)
    read = READERS.get(kind)
    table, read_as = read(raw, missing, limit) if read else text_table(raw, missing, **written)
    if table.num_rows > max_shape[0] or table.num_columns > max_shape[1]:
        most = f"this server takes {max_shape[0]:,} and {max_shape[1]:,} at most."
        raise DataError(
            f"The table has too many rows or columns; {most}",
            "Upload fewer of them, or run dpcore on your own computer.",
            f"The table has {table.num_rows:,} rows and {table.num_columns:,} columns; {most}",
        )
    first, last = skip
    table = table.slice(first, max(table.num_rows - first - last, 0)).combine_chunks()
    if first or last:
        read_as["skipped"] = f"{first + last:,} rows at the ends left out"
    if seen := list(doubts_of_ends(table)):
        read_as["doubts"] = "\n".join(filter(None, [read_as.get("doubts", ""), *seen]))
    return store_texts(table, limit), {"format": kind, **{key: text for key, text in read_as.items() if text}}


def store_texts(table: pa.Table, limit: int) -> pa.Table:
    """The table with its dictionaries of text as texts, one per cell, but where these would take much more memory."""
    size, columns = sum(map(text_bytes, table.columns)), []
    if size > limit:
        raise too_large(limit)
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            cells = column.chunk(0)
            often = OFTEN * len(cells.dictionary) < len(cells)
            column = distinct(cells) if size > SMALL and often else cells.dictionary_decode()
        columns.append(column)
    return pa.Table.from_arrays(columns, table.column_names)


def text_bytes(column: pa.ChunkedArray) -> int:
    """How many bytes the texts of all cells have."""
    if pa.types.is_dictionary(column.type):
        lengths = pc.binary_length(column.chunk(0).dictionary).take(column.chunk(0).indices)
        return pc.sum(lengths).as_py() or 0
    return pc.sum(pc.binary_length(column)).as_py() or 0 if pa.types.is_string(column.type) else 0


def distinct(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same cells with each text once in their dictionary, and none that is missing."""
    words = column.dictionary.dictionary_encode()
    return pa.DictionaryArray.from_arrays(words.indices.take(column.indices), words.dictionary)


def check_signature(raw: bytes, kind: str) -> None:
    """Refuse a file that is plainly something else than it is called."""
    head = raw[:SAMPLE].removeprefix(b"\xef\xbb\xbf").lstrip()
    if kind in OWN:
        if raw.startswith(OWN[kind]) or len(raw) < len(OWN[kind]):
            return
    elif RECORDS.match(raw[:SAMPLE]):
        raise DataError(f"The file is JSON, although it is called {kind}.", "Save the table as CSV, xlsx or Parquet.")
    for signature, text in SIGNATURES.items():
        if head.startswith(signature) or (signature[:1] == b"<" and head.lower().startswith(signature)):
            raise DataError(
                f"The file is {text}, although it is called {kind}.", "Give it its own extension, or save it as CSV."
            )


def unpack(raw: bytes, packing: str, kind: str, limit: int) -> tuple[str, bytes]:
    """Format and unpacked bytes. Reads one byte more than the limit at most: a small file may unpack to terabytes."""
    with opened_text(io.BytesIO(raw), packing) as file:
        text = file.read(limit + 1)
        kind = format_of(str(file.name))[0] if packing == "zip" else kind
    if len(text) > limit:
        raise too_large(limit)
    if not text.strip():
        raise DataError("The packed file is empty.", "Choose a file with a header line and rows.")
    return kind, text


@contextmanager
def opened_text(source: Path | BinaryIO, packing: str) -> Iterator[BinaryIO]:
    """The bytes of a text table, unpacked while they are read; DataError if they cannot be."""
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
    """An archive's only file, if that is a text table."""
    members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
    if len(members) != 1:
        raise DataError(f"The zip file holds {len(members):,} files.", "Pack exactly one table.")
    kind, packing = format_of(members[0].filename)
    if packing or kind not in TEXT_FORMATS:
        raise DataError("The zip file holds no text table.", f"Pack one of {', '.join(TEXT_FORMATS)}.")
    return members[0]

"""Parquet to columns of text, numbers or booleans; dates and times become text."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.datasets.delimited_text import check_width, clean_cells, header_names, too_large_error
from dpcore.datasets.doubts import doubts_of_names
from dpcore.errors import DataError

# encodings that Arrow reads as dictionaries
DICTIONARIES = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}
UNSUPPORTED = re.compile(r"(?i)not (yet )?(implemented|supported|built)|unsupported|unknown (encoding|compression)")
SAMPLE = ROWS = 1 << 17
PIECE = 1 << 20  # bytes per read
RESAVE = "Save it again with the encodings of Parquet version 1 and Snappy, or as CSV."


def parquet_table(raw: bytes, missing: Sequence[str], limit: int) -> tuple[pa.Table, dict[str, str]]:
    """Parse a Parquet file; return its table, and warnings about it under "doubts".

    `missing` lists texts that mean a missing cell. DataError if the unpacked file may take more
    than `limit` bytes. An index that pandas stored with the columns is left out.
    """
    if raw.endswith(b"PARE"):
        raise DataError("The Parquet file is encrypted.", "Save it without encryption.")
    file = ParquetBlocks(raw)
    kinds = file.kinds(file.headers)
    with parquet_errors(), open_parquet(raw) as source:
        groups = [source.metadata.row_group(i).total_byte_size for i in range(source.metadata.num_row_groups)]
        if sum(groups) + 8 * source.metadata.num_rows * len(source.schema_arrow) > limit:
            raise too_large_error(limit)
        table = source.read()
        columns = [plain_column(table.column(j), missing) for j in file.positions.values()]
    if not table.num_rows or not kinds:
        raise DataError("The file has no rows.", "Choose a file with rows.")
    zones = {header: unknown_time_zone(kind) for header, kind in kinds.items()}
    text = "Column {!r} has the unknown time zone {!r}: its times are read as UTC."
    doubts = [*doubts_of_names(file.headers), *(text.format(name, zone[:40]) for name, zone in zones.items() if zone)]
    return pa.Table.from_arrays(columns, file.headers), {"doubts": "\n".join(doubts)}


class ParquetBlocks:
    """A Parquet file: its `headers`, and `batches` of its cells.

    `rows` counts the rows that `batches` has yielded; `fraction_read` is their share of the file.
    DataError with a cause and a remedy if it is not a Parquet file.
    """

    def __init__(self, source: bytes | Path) -> None:
        """Read the schema of a Parquet file."""
        self._source, self.fraction_read, self.rows = source, 0.0, 0
        with parquet_errors():
            self._schema = pq.read_schema(arrow_source(source))
            self.positions = header_positions(self._schema)
        self.headers = list(self.positions)

    def kinds(self, names: Sequence[str]) -> dict[str, pa.DataType]:
        """Return the Arrow types of some columns; DataError if one has lists, records or bytes."""
        found = {name: self._schema.field(self.positions[name]).type for name in names}
        for name, kind in found.items():
            check_plain(name, kind)
        return found

    def batches(self, names: Sequence[str], missing: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Yield the cells of columns in batches: numbers, booleans, or dictionaries of text.

        `missing` lists the texts that mean a missing cell.
        """
        self.kinds(names)
        wanted = [self._schema.field(self.positions[name]).name for name in names]
        bounded = {"pre_buffer": False, "buffer_size": PIECE}  # or Arrow keeps all rows
        with parquet_errors(), open_parquet(self._source, **bounded) as file:
            for batch in file.iter_batches(ROWS, columns=wanted):
                self.rows += batch.num_rows
                self.fraction_read = self.rows / file.metadata.num_rows
                yield [plain_cells(batch.column(name), missing) for name in wanted]


def arrow_source(source: bytes | Path) -> Any:
    """Return an object that Arrow can open as a file: a buffer of the bytes, or the path."""
    return pa.BufferReader(source) if isinstance(source, bytes) else source


def open_parquet(source: bytes | Path, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file whose texts are read as dictionaries, so that repeats take little memory.

    Texts with delta encodings cannot be read as dictionaries; those are read in full.
    """
    schema, found = pq.read_schema(arrow_source(source)), pq.read_metadata(arrow_source(source))
    groups = [found.row_group(i) for i in range(found.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(group.num_columns)]
    others = {chunk.path_in_schema for chunk in chunks if not DICTIONARIES.issuperset(chunk.encodings)}
    texts = [field.name for field in schema if is_text(field.type) and field.name not in others]
    return pq.ParquetFile(arrow_source(source), metadata=found, read_dictionary=texts, **options)


@contextmanager
def parquet_errors() -> Iterator[None]:
    """Turn the errors that Arrow raises on damaged Parquet files into DataError."""
    try:
        yield
    except UnicodeDecodeError:
        raise DataError("A column's name or text is not valid UTF-8.", "Save the file again.") from None
    except MemoryError:  # Arrow's own is a subclass
        raise
    except (pa.ArrowException, OSError) as error:
        if "ncrypt" in str(error):
            raise DataError("The Parquet file has encrypted columns.", "Save it without encryption.") from None
        unread = isinstance(error, OSError) and UNSUPPORTED.search(str(error))
        if unread or isinstance(error, pa.ArrowNotImplementedError):  # its text names no cells
            feature = re.sub(r"[^ -~]|[.]?\s*$", "", str(error).partition("\n")[0])[:160]
            cause = f"The Parquet file uses a feature that cannot be read here ({feature})."
            raise DataError(cause, RESAVE) from None
        raise DataError("The Parquet file is cut short or damaged.", "Save or upload it again.") from None


def header_positions(schema: pa.Schema) -> dict[str, int]:
    """Return the position of each column in a Parquet or Arrow schema, by its header.

    An index that pandas stored is left out.
    """
    check_width(len(schema))  # the rest is slow for 20,000 columns
    keep = [j for j, name in enumerate(schema.names) if not re.fullmatch(r"__index_level_\d+__", name)]
    return dict(zip(header_names([schema.field(j).name for j in keep]), keep, strict=True))


def check_plain(header: str, kind: pa.DataType) -> None:
    """Raise DataError if a column cannot be used because its cells are lists, records or bytes.

    `kind` is the column's Arrow type.
    """
    if not is_plain(kind):
        raise DataError(f"Column {header!r} holds lists, records or bytes.", "Leave the column out, or make it text.")


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_plain(kind: pa.DataType) -> bool:
    """Return whether an Arrow type has one value per cell, and not a list, a record or bytes."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    value = pa.types.is_primitive(kind) and not pa.types.is_interval(kind)
    return is_text(kind) or bool(value or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def plain_column(column: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray | pa.Array:
    """Convert a column to numbers, booleans, texts, or a dictionary of text.

    Texts in `missing` become nulls; dates, times and decimals become text.
    """
    kind = column.type
    if pa.types.is_dictionary(kind) and not is_text(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if unknown_time_zone(kind):
        column = column.cast(pa.timestamp(kind.unit, "UTC"))  # as Parquet stores it
    exact = pa.types.is_temporal(kind) or pa.types.is_decimal(kind)
    if pa.types.is_decimal(kind):
        column = column.cast(pa.string())
    if exact and 2 * len(column[:SAMPLE].unique()) > len(column[:SAMPLE]):  # no dictionary would be smaller
        return column.cast(pa.string())
    if exact or is_text(kind):
        parts = pa.chunked_array(map(as_text_dictionary, column.chunks), pa.dictionary(pa.int32(), pa.string()))
        return clean_cells(parts, missing if is_text(kind) else ())
    return column if pa.types.is_boolean(kind) or pa.types.is_integer(kind) else column.cast(pa.float64())


def as_text_dictionary(part: pa.Array) -> pa.DictionaryArray:
    """Convert texts or times to a dictionary array of text."""
    if not pa.types.is_dictionary(part.type):
        part = (part.cast(pa.string()) if is_text(part.type) else part).dictionary_encode()
    return pa.DictionaryArray.from_arrays(part.indices.cast(pa.int32()), part.dictionary.cast(pa.string()))


def plain_cells(column: pa.Array, missing: Sequence[str]) -> pa.Array:
    """Convert one batch of a column to numbers, booleans or text, as `plain_column` does."""
    found = plain_column(pa.chunked_array([column]), missing)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def unknown_time_zone(kind: pa.DataType) -> str:
    """Return the time zone of an Arrow type if it is unknown to this system, else ""."""
    try:
        if pa.types.is_timestamp(kind):
            pa.scalar(0, kind).cast(pa.string())
    except pa.ArrowInvalid:
        return str(kind.tz)
    return ""

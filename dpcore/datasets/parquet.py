"""Parquet to columns: text, numbers or booleans; dates and times become text."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.datasets.delimited import check_width, clean, header_names, too_large
from dpcore.datasets.doubts import doubts_of_names
from dpcore.errors import DataError

DICTIONARIES = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}  # encodings that are read as such
UNSUPPORTED = re.compile(r"(?i)not (yet )?(implemented|supported|built)|unsupported|unknown (encoding|compression)")
SAMPLE = ROWS = 1 << 17
PIECE = 1 << 20  # bytes
RESAVE = "Save it again with the encodings of Parquet version 1 and Snappy, or as CSV."


def parquet_table(raw: bytes, missing: Sequence[str], limit: int) -> tuple[pa.Table, dict[str, str]]:
    """A Parquet table; the index that pandas may have stored beside it is left out."""
    if raw.endswith(b"PARE"):
        raise DataError("The Parquet file is encrypted.", "Save it without encryption.")
    file = ParquetBlocks(raw)
    kinds = file.kinds(file.headers)
    with sound(), open_parquet(raw) as source:
        groups = [source.metadata.row_group(i).total_byte_size for i in range(source.metadata.num_row_groups)]
        if sum(groups) + 8 * source.metadata.num_rows * len(source.schema_arrow) > limit:
            raise too_large(limit)
        table = source.read()
        columns = [plain(table.column(j), missing) for j in file.positions.values()]
    if not table.num_rows or not kinds:
        raise DataError("The file has no rows.", "Choose a file with rows.")
    zones = {header: unknown_zone(kind) for header, kind in kinds.items()}
    doubt = "Column {!r} has the time zone {!r}, which is not known here: its times are read as UTC."
    doubts = [*doubts_of_names(file.headers), *(doubt.format(name, zone[:40]) for name, zone in zones.items() if zone)]
    return pa.Table.from_arrays(columns, file.headers), {"doubts": "\n".join(doubts)}


class ParquetBlocks:
    """A Parquet file: its `headers`, `batches` of its cells, and what these had by now: `rows`, and the share `done`.

    DataError with a cause and a remedy if it is none.
    """

    def __init__(self, source: bytes | Path) -> None:
        self._source, self.done, self.rows = source, 0.0, 0
        with sound():
            self._schema = pq.read_schema(readable(source))
            self.positions = headers_of(self._schema)
        self.headers = list(self.positions)

    def kinds(self, names: Sequence[str]) -> dict[str, pa.DataType]:
        """The types of some columns; DataError if their cells are no plain values."""
        found = {name: self._schema.field(self.positions[name]).type for name in names}
        for name, kind in found.items():
            check_plain(name, kind)
        return found

    def batches(self, names: Sequence[str], missing: Sequence[str]) -> Iterator[list[pa.Array]]:
        """The cells of some columns: numbers, truth values, or dictionaries."""
        self.kinds(names)
        wanted = [self._schema.field(self.positions[name]).name for name in names]
        bounded = {"pre_buffer": False, "buffer_size": PIECE}  # else all that was read stays in memory to the end
        with sound(), open_parquet(self._source, **bounded) as file:
            for batch in file.iter_batches(ROWS, columns=wanted):
                self.rows += batch.num_rows
                self.done = self.rows / file.metadata.num_rows
                yield [cells(batch.column(name), missing) for name in wanted]


def readable(source: bytes | Path) -> Any:
    """What Arrow reads a file from."""
    return pa.BufferReader(source) if isinstance(source, bytes) else source


def open_parquet(source: bytes | Path, **options: Any) -> pq.ParquetFile:
    """A Parquet file, whose texts come as dictionaries: a long one, a million times, must stay small in memory.

    Those with delta encodings cannot; they are read one by one.
    """
    schema, found = pq.read_schema(readable(source)), pq.read_metadata(readable(source))
    groups = [found.row_group(i) for i in range(found.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(group.num_columns)]
    others = {chunk.path_in_schema for chunk in chunks if not DICTIONARIES.issuperset(chunk.encodings)}
    texts = [field.name for field in schema if is_text(field.type) and field.name not in others]
    return pq.ParquetFile(readable(source), metadata=found, read_dictionary=texts, **options)


@contextmanager
def sound() -> Iterator[None]:
    """Where a Parquet file is read: DataError in place of what damaged ones make the library raise."""
    try:
        yield
    except UnicodeDecodeError:
        raise DataError("A column's name or text is not valid UTF-8.", "Save the file again.") from None
    except MemoryError:  # of which Arrow's own is a kind
        raise
    except (pa.ArrowException, OSError) as error:
        if "ncrypt" in str(error):
            raise DataError("The Parquet file has encrypted columns.", "Save it without encryption.") from None
        unread = isinstance(error, OSError) and UNSUPPORTED.search(str(error))
        if unread or isinstance(error, pa.ArrowNotImplementedError):  # their messages name features and no cells
            feature = re.sub(r"[^ -~]|[.]?\s*$", "", str(error).partition("\n")[0])[:160]
            cause = f"The Parquet file uses a feature that cannot be read here ({feature})."
            raise DataError(cause, RESAVE) from None
        raise DataError("The Parquet file is cut short or damaged.", "Save or upload it again.") from None


def headers_of(schema: pa.Schema) -> dict[str, int]:
    """Where each column stands, by its header; without the index that pandas may have stored."""
    check_width(len(schema))  # what follows is slow for 20,000 columns
    keep = [j for j, name in enumerate(schema.names) if not re.fullmatch(r"__index_level_\d+__", name)]
    return dict(zip(header_names([schema.field(j).name for j in keep]), keep, strict=True))


def check_plain(header: str, kind: pa.DataType) -> None:
    """Refuse a column whose cells are no plain values."""
    if not is_plain(kind):
        raise DataError(f"Column {header!r} holds lists, records or bytes.", "Leave it out, or make it text.")


def is_text(kind: pa.DataType) -> bool:
    """Whether a type holds texts."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_plain(kind: pa.DataType) -> bool:
    """Whether a type has one plain value per cell."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    value = pa.types.is_primitive(kind) and not pa.types.is_interval(kind)
    return is_text(kind) or bool(value or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def plain(column: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray | pa.Array:
    """A column as numbers, truth values, texts, or a dictionary of text."""
    kind = column.type
    if pa.types.is_dictionary(kind) and not is_text(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if unknown_zone(kind):
        column = column.cast(pa.timestamp(kind.unit, "UTC"))  # as which all times with a zone are stored
    exact = pa.types.is_temporal(kind) or pa.types.is_decimal(kind)
    if pa.types.is_decimal(kind):
        column = column.cast(pa.string())
    if exact and 2 * len(column[:SAMPLE].unique()) > len(column[:SAMPLE]):  # no dictionary would be smaller
        return column.cast(pa.string())
    if exact or is_text(kind):
        parts = pa.chunked_array(map(text_dictionary, column.chunks), pa.dictionary(pa.int32(), pa.string()))
        return clean(parts, missing if is_text(kind) else ())
    return column if pa.types.is_boolean(kind) or pa.types.is_integer(kind) else column.cast(pa.float64())


def text_dictionary(part: pa.Array) -> pa.DictionaryArray:
    """Texts or times as a dictionary of text."""
    if not pa.types.is_dictionary(part.type):
        part = (part.cast(pa.string()) if is_text(part.type) else part).dictionary_encode()
    return pa.DictionaryArray.from_arrays(part.indices.cast(pa.int32()), part.dictionary.cast(pa.string()))


def cells(column: pa.Array, missing: Sequence[str]) -> pa.Array:
    """As `plain`, of one batch."""
    found = plain(pa.chunked_array([column]), missing)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def unknown_zone(kind: pa.DataType) -> str:
    """The time zone of a type if nobody here knows it, or nothing."""
    try:
        if pa.types.is_timestamp(kind):
            pa.scalar(0, kind).cast(pa.string())
    except pa.ArrowInvalid:
        return str(kind.tz)
    return ""

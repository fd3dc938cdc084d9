"""Parquet to columns: text, numbers or booleans; dates and times become text."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpcore.datasets.delimited import check_width, clean, cleaned, header_names, too_large
from dpcore.datasets.doubts import doubts_of_names
from dpcore.errors import DataError


def parquet_table(raw: bytes, missing: Sequence[str], limit: int) -> tuple[pa.Table, dict[str, str]]:
    """A Parquet table; the index that pandas may have stored beside it is left out."""
    if raw.endswith(b"PARE"):
        raise DataError("The Parquet file is encrypted.", "Save it without encryption.")
    with sound():
        schema = pq.read_schema(pa.BufferReader(raw))
        places = headers_of(schema)
        for header, j in places.items():
            check_plain(header, schema.field(j).type)
        file = pq.ParquetFile(pa.BufferReader(raw), read_dictionary=texts_of(schema))
        groups = [file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)]
        if sum(groups) + 8 * file.metadata.num_rows * len(schema) > limit:
            raise too_large(limit)
        table = file.read()
        columns = [plain(table.column(j), missing, limit) for j in places.values()]
    headers = list(places)
    if not table.num_rows or not headers:
        raise DataError("The file has no rows.", "Choose a file with rows.")
    return pa.Table.from_arrays(columns, headers), {"doubts": "\n".join(doubts_of_names(headers))}


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


def texts_of(schema: pa.Schema) -> list[str]:
    """What is read as dictionaries: one long text, a million times, is small in the file and must stay so in memory."""
    return [field.name for field in schema if is_text(field.type)]


def is_text(kind: pa.DataType) -> bool:
    """Whether a type holds texts."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_plain(kind: pa.DataType) -> bool:
    """Whether a type has one plain value per cell."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return is_text(kind) or bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def plain(column: pa.ChunkedArray, missing: Sequence[str], limit: int) -> pa.ChunkedArray | pa.Array:
    """A column as text, numbers or booleans."""
    if is_text(column.type):
        parts = column.cast(pa.dictionary(pa.int32(), pa.string())).chunks
        lengths = [pc.sum(pc.binary_length(part.dictionary).take(part.indices)).as_py() or 0 for part in parts]
        if sum(lengths) > limit:
            raise too_large(limit)
        return clean(pa.chunked_array(parts), missing, None) if parts else column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type) or pa.types.is_integer(column.type):
        return column
    exact = pa.types.is_temporal(column.type) or pa.types.is_decimal(column.type)
    return column.cast(pa.string() if exact else pa.float64())


def cells(column: pa.Array, missing: Sequence[str]) -> pa.Array:
    """As `plain`, of one batch: numbers, truth values, or a dictionary of text."""
    kind = column.type
    if pa.types.is_dictionary(kind) and not is_text(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if is_text(kind) or pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        encoded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
        words = encoded.dictionary.cast(pa.string())
        return pa.DictionaryArray.from_arrays(encoded.indices, cleaned(words, missing) if is_text(kind) else words)
    return column if pa.types.is_boolean(kind) or pa.types.is_integer(kind) else column.cast(pa.float64())

"""Data sets that may be larger than memory: their files, or a stream of rows, read in batches.

Files are read in this process, without limits of time and memory: they must be one's own, not those
of strangers. The first rows, for a preview and for guesses, are copied to a small file, which is
read like any uploaded file (`reading`). Released rows are written frame by frame.
"""

import codecs
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import islice
from os import PathLike, fspath
from pathlib import Path, PurePath
from secrets import token_hex
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpcore.datasets.delimited_text import TextBlocks, choose_encoding, encoding_error
from dpcore.datasets.formats import TEXT_FORMATS, format_from_name, open_text
from dpcore.datasets.parquet import (
    ParquetBlocks,
    check_plain,
    header_positions,
    is_plain,
    open_parquet,
    parquet_errors,
    plain_cells,
)
from dpcore.datasets.reading import read_frame
from dpcore.errors import DataError, ParameterError
from dpcore.text import is_writable, writable

T = TypeVar("T")
REMEDY = "Choose csv, tsv, txt or Parquet files, or a folder of them."
ROWS = 1 << 17


@dataclass(frozen=True)
class TableFile:
    """One file of a data set, and its name relative to the data set's folder."""

    path: Path
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", writable(self.name))

    def open_blocks(self, watch: Callable[[], None], **written: str | None) -> TextBlocks | ParquetBlocks:
        """Open the file for reading in batches.

        `watch` is called again and again during the first pass over a long text. `written` has the
        declared delimiter, encoding and decimal mark of a text.
        """
        kind, packing = format_from_name(self.name)
        if kind != "parquet":
            return TextBlocks(partial(open_text, self.path, packing), watch, **written)
        check_path(self.path)
        return ParquetBlocks(self.path)


def check_path(path: Path) -> None:
    """Raise DataError if Arrow cannot open a file at a path, because the path is not UTF-8."""
    if not is_writable(str(path)):
        raise DataError(f"The path of {writable(path.name)!r} is not UTF-8 text.", "Rename the file and its folders.")


def table_files(location: str | PathLike[str]) -> list[TableFile]:
    """Return the files of a data set: one file, or all files below a folder, sorted by name.

    Names that begin with a point or an underscore are left out. DataError if there is no file, or
    one of another format.
    """
    path = Path(fspath(location))
    if not path.exists():
        raise DataError(f"No file or folder {path.name!r} exists at this path.", "Check the path.")
    found = [TableFile(path, path.name)] if path.is_file() else list(_files_below(path))
    if not found:
        raise DataError(f"The folder {path.name!r} holds no tables.", REMEDY)
    for source in found:
        if format_from_name(source.name)[0] not in (*TEXT_FORMATS, "parquet"):
            raise DataError(f"The file {source.name!r} cannot be read in batches.", "Save it as CSV.")
    return found


def _files_below(folder: Path) -> Iterator[TableFile]:
    """Yield the files below a folder, in the order of their names."""
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name in sorted(names):
        if not any(part.startswith((".", "_")) for part in PurePath(name).parts):
            yield TableFile(names[name], name)


class Streamable(Protocol):
    """Object that exports its rows as an Arrow stream.

    Examples are frames of pandas and Polars, relations of DuckDB, and Arrow's own readers. None of
    these libraries is imported here.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow C stream, in a Python capsule."""


class ArrowStream:
    """A stream of rows that can be read once: its `headers`, and `batches` of its cells.

    `rows` counts the rows that `batches` has yielded. `checksum` covers all columns of these rows
    that have one value per cell, not a list, a record or bytes. The same rows give the same
    checksum, whichever columns are declared, and however the stream is divided into batches.
    DataError if the stream cannot be read.
    """

    fraction_read = 0.0  # the length of a stream is unknown

    def __init__(self, source: Streamable) -> None:
        """Open a stream of rows and read its headers."""
        self.rows, self._sum = 0, hashlib.sha256()
        self._reader = read_stream(lambda: pa.RecordBatchReader.from_stream(source))
        self._positions = header_positions(self._reader.schema)
        self.headers = list(self._positions)

    @property
    def checksum(self) -> str:
        """SHA-256 of the rows yielded so far, in order; as private as the rows themselves."""
        return self._sum.hexdigest()

    def batches(self, names: Sequence[str], missing: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Yield the cells of some columns in batches, and add all rows to the checksum.

        `missing` lists the texts that mean a missing cell.
        """
        kinds = {name: self._reader.schema.field(j).type for name, j in self._positions.items()}
        for name in names:
            check_plain(name, kinds[name])
        plain = [name for name, kind in kinds.items() if is_plain(kind)]
        self._sum.update(repr(plain).encode())
        while (batch := read_stream(partial(next, self._reader, None))) is not None:
            for start in range(0, batch.num_rows, ROWS):
                part = batch.slice(start, ROWS)
                columns = {name: part.column(self._positions[name]) for name in plain}
                found = {name: read_stream(partial(plain_cells, one, missing)) for name, one in columns.items()}
                self._sum.update(np.column_stack([*map(hash_cells, found.values())]).tobytes())
                self.rows += part.num_rows
                yield [found[name] for name in names]


def hash_cells(column: pa.Array) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each cell in a batch; equal cells always have equal hashes."""
    found: NDArray[np.uint64]
    if pa.types.is_dictionary(column.type):
        words = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
        found = hash_cells(words)[column.indices.fill_null(len(words) - 1).to_numpy()]
    elif pa.types.is_string(column.type):
        found = pd.util.hash_array(column.to_numpy(zero_copy_only=False), categorize=False)
    else:
        found = column.to_numpy(zero_copy_only=False).astype(np.float64).view(np.uint64)
    return found


def read_stream(work: Callable[[], T]) -> T:
    """Call `work`, which reads a stream; turn its errors into a DataError without their text.

    The text of an error may quote cells, so only the error's type is kept.
    """
    try:
        return work()
    except (DataError, MemoryError):
        raise
    except Exception as error:  # each library has error types of its own, without a common base
        kind = type(error).__name__
    raise DataError(  # outside the handler, so that the first error is not even the context
        f"The stream of rows stopped with {kind}; the text of this error may quote cells, so it is not shown.",
        "Read the stream without dpcore to see the error.",
    )


HEAD_ROWS, HEAD_BYTES = 20_000, 1 << 23


@dataclass(frozen=True, eq=False)
class Head:
    """First rows of a data set's first file, and the estimated rows of all files (or None)."""

    frame: pd.DataFrame
    rows: int | None


def read_head(location: str | PathLike[str], **reading: str | None) -> Head:
    """Read the first rows of a file, or of a folder's first file, and estimate the number of rows.

    `reading` has the declared delimiter, encoding and decimal mark of a text. DataError if no file
    can be read.
    """
    try:
        files = table_files(location)
        sizes = [file.path.stat().st_size for file in files]
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("The path cannot be read.", "Check the path and its permissions.") from None
    first = files[0]
    kind, packing = format_from_name(first.name)
    if kind == "parquet":
        return Head(read_frame(parquet_head(first.path), "head.parquet"), estimate_rows(files, sizes, "", 0.0))
    text, n_bytes = text_head(first.path, reading.get("encoding"))
    how: dict[str, Any] = {name: value for name, value in reading.items() if name != "encoding"}
    frame = read_frame(text.encode(), f"head.{kind}", **how)
    return Head(frame, estimate_rows(files, sizes, "" if packing else kind, len(frame) / max(n_bytes, 1)))


def estimate_rows(files: Sequence[TableFile], sizes: Sequence[int], kind: str, rows: float) -> int | None:
    """Estimate the total number of rows of files; None if it cannot be estimated.

    `sizes` are the bytes of each file. Parquet files state their number of rows. Texts of the
    format `kind` have `rows` rows per byte. Other files prevent an estimate.
    """
    found = 0.0
    for file, size in zip(files, sizes, strict=True):
        if format_from_name(file.name) == ("parquet", ""):
            with parquet_errors():
                found += pq.read_metadata(file.path).num_rows
        elif format_from_name(file.name) == (kind, ""):
            found += rows * size
        else:
            return None
    return round(found)


def parquet_head(path: Path) -> bytes:
    """Return the first rows of a Parquet file as the bytes of a small Parquet file."""
    sink = BytesIO()
    with parquet_errors(), open_parquet(path) as file:
        batches = [*islice(file.iter_batches(HEAD_ROWS), 1)]
        pq.write_table(pa.Table.from_batches(batches, file.schema_arrow), sink)
    return sink.getvalue()


def text_head(path: Path, declared: str | None) -> tuple[str, int]:
    """Return the first complete rows of a text file, and their number of bytes in the file.

    `declared` is the declared encoding, or None.
    """
    with open_text(path, format_from_name(path.name)[1]) as file:
        raw, complete = file.read(HEAD_BYTES), not file.read(1)
    encoding = choose_encoding(raw[:4], declared)
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(raw, final=complete)
    except UnicodeError:
        raise encoding_error(raw, declared) from None
    lines = text.split("\n")
    if complete and len(lines) <= HEAD_ROWS:
        return text, len(raw)
    quotes, at, end = 0, 0, 0
    for number, line in enumerate(lines[:-1]):
        quotes, at = quotes + line.count('"'), at + len(line) + 1
        if quotes % 2 == 0:  # no quoted cell is open
            end = at
            if number >= HEAD_ROWS:
                break
    end = end or len(text)
    return text[:end], round(len(raw) * end / max(len(text), 1))


WRITERS = {".parquet": pq.ParquetWriter, ".csv": arrow_csv.CSVWriter}


def output_path(path: str | PathLike[str], *, replace: bool) -> Path:
    """Check where a file of released rows is to be written, and return its path.

    ParameterError if the extension is not .parquet or .csv. DataError if no file can be written
    there, or if one exists and `replace` is false.
    """
    location = Path(fspath(path))
    if location.suffix.lower() not in WRITERS:
        raise ParameterError("The file's extension is unknown.", "Use .parquet or .csv.")
    if not location.absolute().parent.is_dir():
        raise DataError(f"The folder of {location.name!r} does not exist.", "Create the folder.")
    if location.is_dir() or (location.exists() and not replace):
        raise DataError(f"The file {location.name!r} exists.", "Choose another name, or pass replace=True.")
    return location


def write_frames(location: Path, frames: Iterable[pd.DataFrame]) -> None:
    """Write frames with the same columns into one file, which appears only when it is complete.

    Parquet keeps the types of columns. CSV has a header line, quotes around text, and nothing for a
    missing cell.
    """
    part = location.with_name(f".{location.name}.{token_hex(4)}")
    kind = location.suffix.lower()
    try:
        with ExitStack() as stack:
            writer: Any = None
            schema: pa.Schema | None = None  # that of the first frame applies to all
            for frame in frames:
                table = pa.Table.from_pandas(frame, schema, preserve_index=False)
                schema = table.schema
                if kind == ".csv":
                    table = without_dictionaries(table)
                if writer is None:
                    writer = stack.enter_context(WRITERS[kind](part, table.schema))
                writer.write_table(table)
        part.replace(location)
    except OSError:
        raise DataError(f"The file {location.name!r} cannot be written.", "Choose a folder with free space.") from None
    finally:
        part.unlink(missing_ok=True)


def without_dictionaries(table: pa.Table) -> pa.Table:
    """Return a table with each dictionary column replaced by its plain values."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))

"""Tables that may be longer than the memory: their files, or a stream of them, by batches; and their first rows.

They are read in this process, without limits of time and memory: files of one's own, and not what
strangers send. The first rows, for a look and for guesses, are read as any file is that somebody
hands over (`reading`), as a small file of their own. Rows that are released are written frame by
frame.
"""

import codecs
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from io import BytesIO
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

from dpcore.datasets.delimited import TextBlocks, encoding_of, other_encoding
from dpcore.datasets.formats import TEXT_FORMATS, format_of, opened_text
from dpcore.datasets.parquet import ParquetBlocks, cells, check_plain, headers_of, is_plain, open_parquet, sound
from dpcore.datasets.reading import read_frame
from dpcore.errors import DataError, ParameterError
from dpcore.text import is_writable, writable

T = TypeVar("T")
REMEDY = "Choose csv, tsv, txt or Parquet files, or a folder of them."
ROWS = 1 << 17


@dataclass(frozen=True)
class Source:
    """One file of a table, and its name below the table's folder."""

    path: Path
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", writable(self.name))

    def opened(self, watch: Callable[[], None], **written: str | None) -> TextBlocks | ParquetBlocks:
        """What it holds; `written` is how a text is, as for `datasets.read`; `watch` is called while it takes long."""
        kind, packing = format_of(self.name)
        if kind != "parquet":
            return TextBlocks(partial(opened_text, self.path, packing), watch, **written)
        check_path(self.path)
        return ParquetBlocks(self.path)


def check_path(path: Path) -> None:
    """DataError if Arrow cannot open a Parquet file at this place, because the path is not UTF-8."""
    if not is_writable(str(path)):
        raise DataError(f"The path of {writable(path.name)!r} is not UTF-8 text.", "Rename the file and its folders.")


def sources(location: str | PathLike[str]) -> list[Source]:
    """The files of a table: one, or all below a folder in the order of their names.

    Names that begin with a point or an underscore are left out. DataError if there is none, or
    another kind of file.
    """
    path = Path(fspath(location))
    if not path.exists():
        raise DataError(f"There is no file or folder {path.name!r} at this path.", "Check the path.")
    found = [Source(path, path.name)] if path.is_file() else list(_below(path))
    if not found:
        raise DataError(f"The folder {path.name!r} holds no tables.", REMEDY)
    for source in found:
        if format_of(source.name)[0] not in (*TEXT_FORMATS, "parquet"):
            raise DataError(f"The file {source.name!r} cannot be read row by row.", "Save it as CSV.")
    return found


def _below(folder: Path) -> Iterator[Source]:
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name in sorted(names):
        if not any(part.startswith((".", "_")) for part in PurePath(name).parts):
            yield Source(names[name], name)


class Streamable(Protocol):
    """What hands its rows out as an Arrow stream: frames of pandas and Polars, DuckDB's relations, Arrow's own readers.

    None of these libraries is imported here.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule that holds the stream."""


class ArrowStream:
    """A stream of rows, which come once: its `headers`, `batches` of its cells, and what these had by now.

    That is so many `rows`, and their `checksum`: of all columns with plain cells, so that the same
    rows have it whatever is declared of them, and however the stream is cut into batches. DataError
    if it cannot be read.
    """

    done = 0.0  # nobody knows how many come

    def __init__(self, source: Streamable) -> None:
        self.rows, self._sum = 0, hashlib.sha256()
        self._reader = read_stream(lambda: pa.RecordBatchReader.from_stream(source))
        self._positions = headers_of(self._reader.schema)
        self.headers = list(self._positions)

    @property
    def checksum(self) -> str:
        """What tells these rows from others, in the order in which they came; as private as they are."""
        return self._sum.hexdigest()

    def batches(self, names: Sequence[str], missing: Sequence[str]) -> Iterator[list[pa.Array]]:
        """The cells of some columns, from the first row on."""
        kinds = {name: self._reader.schema.field(j).type for name, j in self._positions.items()}
        for name in names:
            check_plain(name, kinds[name])
        plain = [name for name, kind in kinds.items() if is_plain(kind)]
        self._sum.update(repr(plain).encode())
        while (batch := read_stream(partial(next, self._reader, None))) is not None:
            for start in range(0, batch.num_rows, ROWS):
                part = batch.slice(start, ROWS)
                found = {
                    name: read_stream(partial(cells, part.column(self._positions[name]), missing)) for name in plain
                }
                self._sum.update(np.column_stack([*map(sums, found.values())]).tobytes())  # row by row
                self.rows += part.num_rows
                yield [found[name] for name in names]


def sums(column: pa.Array) -> NDArray[np.uint64]:
    """A number for each cell of a batch, the same for the same cell in any."""
    found: NDArray[np.uint64]
    if pa.types.is_dictionary(column.type):
        words = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
        found = sums(words)[column.indices.fill_null(len(words) - 1).to_numpy()]
    elif pa.types.is_string(column.type):
        found = pd.util.hash_array(column.to_numpy(zero_copy_only=False), categorize=False)
    else:
        found = column.to_numpy(zero_copy_only=False).astype(np.float64).view(np.uint64)  # missing ones are NaN
    return found


def read_stream(work: Callable[[], T]) -> T:
    """What a stream answers; DataError if it cannot, which knows of its error the kind alone: words may quote cells."""
    try:
        return work()
    except (DataError, MemoryError):
        raise
    except Exception as error:  # each library has kinds of its own, with no base but this one
        kind = type(error).__name__
    raise DataError(  # outside of the handler: that error is not even the context
        f"The stream of rows stopped with {kind}; its text is not shown, as it may quote cells.",
        "Read the stream without dpcore to see the text.",
    )


HEAD_ROWS, HEAD_BYTES = 20_000, 1 << 23


@dataclass(frozen=True, eq=False)
class Head:
    """The first rows of a table's first file; and how many rows all files have, about, or None if nobody can say."""

    frame: pd.DataFrame
    rows: int | None


def head(location: str | PathLike[str], **reading: str | None) -> Head:
    """The first rows of a file, or of a folder's first file; `reading` is how a text is written, as for `read_frame`.

    DataError if there is nothing that can be read.
    """
    try:
        files = sources(location)
        sizes = [file.path.stat().st_size for file in files]
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("This path cannot be read.", "Check it, and its permissions.") from None
    first = files[0]
    kind, packing = format_of(first.name)
    if kind == "parquet":
        return Head(read_frame(of_parquet(first.path), "head.parquet"), estimate_rows(files, sizes, "", 0.0))
    text, taken = of_text(first.path, reading.get("encoding"))
    how: dict[str, Any] = {name: value for name, value in reading.items() if name != "encoding"}
    frame = read_frame(text.encode(), f"head.{kind}", **how)
    return Head(frame, estimate_rows(files, sizes, "" if packing else kind, len(frame) / max(taken, 1)))


def estimate_rows(files: Sequence[Source], sizes: Sequence[int], kind: str, rows: float) -> int | None:
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
        batches = [batch for batch in [next(file.iter_batches(HEAD_ROWS), None)] if batch is not None]
        pq.write_table(pa.Table.from_batches(batches, file.schema_arrow), sink)
    return sink.getvalue()


def of_text(path: Path, declared: str | None) -> tuple[str, int]:
    """The first lines of a text, with whole rows only, and how many of its bytes they are."""
    with opened_text(path, format_of(path.name)[1]) as file:
        raw, whole = file.read(HEAD_BYTES), not file.read(1)
    encoding = encoding_of(raw[:4], declared)
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(raw, final=whole)
    except UnicodeError:
        raise other_encoding(raw, declared) from None
    lines = text.split("\n")
    if whole and len(lines) <= HEAD_ROWS:
        return text, len(raw)
    quotes, at, end = 0, 0, 0
    for number, line in enumerate(lines[:-1]):
        quotes, at = quotes + line.count('"'), at + len(line) + 1
        if quotes % 2 == 0:  # no cell is open
            end = at
            if number >= HEAD_ROWS:
                break
    end = end or len(text)
    return text[:end], round(len(raw) * end / max(len(text), 1))


WRITERS = {".parquet": pq.ParquetWriter, ".csv": arrow_csv.CSVWriter}


def output_path(path: str | PathLike[str], *, replace: bool) -> Path:
    """Where a file of rows can be written; ParameterError or DataError if it cannot be there, or be such a file."""
    location = Path(fspath(path))
    if location.suffix.lower() not in WRITERS:
        raise ParameterError("The file's extension is not known.", "Use .parquet or .csv.")
    if not location.absolute().parent.is_dir():
        raise DataError(f"The folder of {location.name!r} does not exist.", "Create it, or choose another.")
    if location.is_dir() or (location.exists() and not replace):
        raise DataError(f"{location.name!r} is there already.", "Choose another name, or pass replace=True.")
    return location


def write_frames(location: Path, frames: Iterable[pd.DataFrame]) -> None:
    """Write frames of the same columns one below the other, so that others see the whole file or nothing.

    Parquet keeps their types; CSV has a header line, quotes around text, and nothing where a cell
    is missing.
    """
    part = location.with_name(f".{location.name}.{token_hex(4)}")
    kind = location.suffix.lower()
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
        part.replace(location)
    except OSError:
        raise DataError(f"{location.name!r} cannot be written.", "Choose a folder that has room.") from None
    finally:
        part.unlink(missing_ok=True)


def without_dictionaries(table: pa.Table) -> pa.Table:
    """The same cells, each written out."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))

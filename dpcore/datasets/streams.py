"""Tables that are longer than the memory: the files that they lie in, or a stream of them, and their cells by batches.

They are read in this process, without limits of time and memory: files of one's own, and not what
strangers send.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import Protocol, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dpcore.datasets.formats import TEXT_FORMATS, format_of, opened_text
from dpcore.datasets.parquet import ParquetBlocks, cells, check_plain, headers_of, is_plain
from dpcore.datasets.text_blocks import TextBlocks
from dpcore.errors import DataError
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


def sources(place: str | PathLike[str]) -> list[Source]:
    """The files of a table: one, or all below a folder in the order of their names.

    Names that begin with a point or an underscore are left out. DataError if there is none, or
    another kind of file.
    """
    path = Path(fspath(place))
    if not path.exists():
        raise DataError(f"There is no file or folder {path.name!r} at this place.", "Check the path.")
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
        told = [name for name, kind in kinds.items() if is_plain(kind)]
        self._sum.update(repr(told).encode())
        while (batch := read_stream(partial(next, self._reader, None))) is not None:
            for start in range(0, batch.num_rows, ROWS):
                part = batch.slice(start, ROWS)
                found = {
                    name: read_stream(partial(cells, part.column(self._positions[name]), missing)) for name in told
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
        f"The stream of rows stopped with an error of the kind {kind}; its words may quote cells.",
        "Read the stream without this program to see more.",
    )

"""Encoded rows in a folder of Parquet files, which may be larger than memory: read for each query.

The folder has `manifest.json`, which contains the schema and lists the parts. Each part has columns
"c0", "c1", … of codes, one for each column of the schema. It has "n0", … for the numbers of numeric
columns, NaN if missing. While the folder is written (`writing`), `unfinished.json` takes the place
of the manifest.

All queries of a run must be answered by the same rows. Checksums are compared when a folder is
opened. Before and after every pass, a part with another size or time of writing is refused.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpcore.arguments import Flags, is_whole
from dpcore.datasets import Content, secret_seed
from dpcore.datasets.streams import check_path, table_files
from dpcore.domain.documents import json_value
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.rows import exact_counts

MANIFEST, FORMAT = "manifest.json", "dpcore rows 1"
UNFINISHED = "unfinished.json"
PIECE = 1 << 24  # bytes
TEXT_SETTINGS = ("delimiter", "encoding", "decimal")  # arguments about how a text is written
CHOOSE_OR_REPLACE = "Choose another folder, or encode again with replace=True."
CHOOSE_EMPTY = "Choose a new folder, or an empty one."
UNFINISHED_FORMAT = f"{FORMAT}, unfinished"
CHOOSE_ENCODED = "Choose a folder that dpcore encoded, or a new one."
MANIFEST_LIMIT = 1 << 26  # bytes of a manifest
DRAW_BLOCK = 1 << 20  # rows whose random numbers are drawn together
ENCODE_AGAIN = "Encode the source again, with replace=True or to another folder."


@dataclass(frozen=True)
class RowSelection:
    """Random selection of training or test rows in one part, as `datasets.split` selects them.

    Every row of the data set draws a random number from the same secret seed.
    """

    seed: int = field(repr=False)
    first: int  # number of rows in the parts before this one
    share: float  # probability of a test row
    for_test: bool  # whether test rows are selected, or training rows

    def is_selected(self, start: int, rows: int) -> Flags:
        """Return, for `rows` rows of the part from row `start` on, whether each is selected."""
        bits = np.random.PCG64(self.seed)  # the generator of `default_rng`
        bits.advance(self.first + start)
        return np.asarray((np.random.Generator(bits).random(rows) < self.share) == self.for_test)


@dataclass(frozen=True)
class Part:
    """One file of encoded rows, with its size and time of writing when the folder was opened."""

    path: Path = field(repr=False)
    rows: int  # number of selected rows
    size: int
    mtime_ns: int
    columns: frozenset[str]
    selection: RowSelection | None = None

    def check(self) -> None:
        """Raise DataError if the file has changed since the folder was opened."""
        if file_state(self.path) != (self.size, self.mtime_ns):
            raise DataError(f"The file {self.path.name} has changed since the folder was opened.", ENCODE_AGAIN)


@dataclass(frozen=True)
class Folder:
    """The parts of one data set, in order, and its public schema."""

    schema: Schema
    parts: tuple[Part, ...]
    checksum: str
    """SHA-256 of the parts' checksums: equal for equal encoded rows."""
    name: str = ""
    content: Content | None = field(default=None, repr=False)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(part.rows for part in self.parts)

    def key(self, secret: bytes) -> str:
        """Return a keyed hash of the source files: the same for all folders encoded from them.

        For a single file the hash is also that of the same file read into memory.
        """
        return (self.content or Content(self.checksum.encode())).keyed_hash(secret)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open a folder: read its manifest, and compare the checksum of every part.

        DataError if this is not a folder of encoded rows, or is incomplete or damaged.
        """
        folder = Path(path)
        cause = f"The folder {folder.name} cannot be read as encoded rows"
        found = read_document(folder, MANIFEST, cause, "Choose another folder, or encode again.")
        if found is None:
            raise DataError(f"{cause}: its format is not known.", ENCODE_AGAIN)
        schema, total = Schema.from_document(found["schema"]), found.get("rows")
        named = [(part["file"], part["rows"], part["sha256"]) for part in found["parts"]]
        sums = [one["sha256"] for one in found["sources"].values()]
        if not all(re.fullmatch("[0-9a-f]{64}", one) for one in sums):
            raise DataError(f"{cause}: a checksum is malformed.", ENCODE_AGAIN)
        if not is_whole(total) or sum(many for _, many, _ in named) != total:
            raise DataError(f"{cause}: its numbers of rows do not add up.", ENCODE_AGAIN)
        parts = tuple(_open_part(folder / name, many, checksum, schema) for name, many, checksum in named)
        together = hashlib.sha256("".join(checksum for _, _, checksum in named).encode()).hexdigest()
        return cls(schema, parts, together, folder.name, Content.from_files(sums) if sums else None)

    def split(self, test_share: float = 0.3, seed: int | None = None) -> tuple[Self, Self]:
        """Return training and test rows, split as by `datasets.split`; both stay in the folder.

        `test_share` is the probability of each row to be a test row. The same `seed` gives the same
        split; by default it is fresh and secret. DataError if no row is left for training.
        """
        if not 0 <= test_share < 1:
            raise ParameterError(f"`test_share` must be in [0, 1); got {test_share:g}.", "Try test_share=0.3.")
        if any(part.selection for part in self.parts):
            raise ParameterError("The rows are already split.", "Open the folder again.")
        seed, first = secret_seed() if seed is None else seed, 0
        parts: tuple[list[Part], list[Part]] = [], []
        for part in self.parts:
            selection = RowSelection(seed, first, test_share, for_test=True)
            tested = sum(
                int(selection.is_selected(start, min(DRAW_BLOCK, part.rows - start)).sum())
                for start in range(0, part.rows, DRAW_BLOCK)
            )
            parts[0].append(replace(part, rows=part.rows - tested, selection=replace(selection, for_test=False)))
            parts[1].append(replace(part, rows=tested, selection=selection))
            first += part.rows
        train, test = (replace(self, parts=tuple(some)) for some in parts)
        if not len(train):
            raise DataError("Every row became a test row.", "Use more rows, or a smaller `test_share`.")
        return train, test

    def check(self) -> None:
        """Raise DataError if a part has changed since the folder was opened."""
        for part in self.parts:
            part.check()

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the encoded rows in order: arrays of some columns by name, in blocks of rows.

        A block has at most `exact_counts.BLOCK` rows. Codes are named "c0", ... and numbers "n0",
        ...
        """
        self.check()
        limits = dict(zip((f"c{j}" for j in count()), self.schema.sizes, strict=False))
        for part in self.parts:
            try:
                with pq.ParquetFile(part.path, pre_buffer=False) as file:
                    start = 0
                    for batch in file.iter_batches(exact_counts.BLOCK, columns=list(names), use_threads=False):
                        found = {name: _array(batch.column(name), limits.get(name)) for name in names}
                        if part.selection is not None:
                            selected = part.selection.is_selected(start, batch.num_rows)
                            found = {name: values[selected] for name, values in found.items()}
                            start += batch.num_rows
                        yield found
            except (OSError, KeyError, pa.ArrowException):
                raise DataError(f"The file {part.path.name} of encoded rows cannot be read.", ENCODE_AGAIN) from None
        self.check()


def _array(column: pa.Array, limit: int | None) -> NDArray[Any]:
    """Return a column as an array; DataError if it has codes that are not below `limit`.

    `limit` is None for a column of numbers.
    """
    values: NDArray[Any] = column.to_numpy(zero_copy_only=True)
    if limit is not None and len(values) and values.max() >= limit:
        raise DataError("The encoded rows have a code that the schema does not have.", ENCODE_AGAIN)
    return values


def query_error() -> DataError:
    """Return the error for a query on a database, which earlier versions accepted."""
    return DataError(
        "dpcore no longer reads rows by a database query.",
        "Write the rows of the query to a Parquet file, and encode the file to another folder.",
    )


def file_state(path: Path) -> tuple[int, int]:
    """Return a file's size, and its time of writing in nanoseconds; -1 for both if it is gone."""
    try:
        found = path.stat()
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns


def read_document(folder: Path, name: str, cause: str, remedy: str) -> dict[str, Any] | None:
    """Read the manifest of a folder, or the note of an unfinished one; None if it is neither.

    Parameters
    ----------
    folder : Path
        The folder.
    name : str
        The name of the document: `MANIFEST` or `UNFINISHED`.
    cause, remedy : str
        The beginning of an error's cause, and its remedy.

    Returns
    -------
    dict or None
        The document, in the form that `encode_folder` writes.

    Raises
    ------
    DataError
        If the document cannot be read, or has another form.
    """
    check_path(folder)
    try:
        raw = (folder / name).read_bytes()
    except (OSError, ValueError):
        raise DataError(f"{cause}: it has no readable {name}.", CHOOSE_ENCODED) from None
    found = json_value(raw, DataError, f"{cause}: its {name}", CHOOSE_ENCODED, most=MANIFEST_LIMIT)
    if not isinstance(found, dict) or found.get("format") != (FORMAT if name == MANIFEST else UNFINISHED_FORMAT):
        return None
    if name != MANIFEST and found.get("parts") == []:
        return found  # started, without a part yet
    found = {"reading": {}, "written": {}, "numbers": False, **found}
    try:
        parts, files = found["parts"], [*found["parts"], *found["sources"].values()]
        texts = [one["sha256"] for one in files] + [part["file"] for part in parts]
        texts += [value or "" for key, value in found["reading"].items() if key != "missing"]
        sizes = [one.get("size") or 0 for one in files] + [part["rows"] for part in parts]
        sound = all(isinstance(text, str) for text in texts) and all(is_whole(size, 0) for size in sizes)
        sound &= all(map(is_whole, found["written"].values())) and type(found["numbers"]) is bool and "schema" in found
    except (AttributeError, KeyError, TypeError):
        sound = False
    if not sound:
        raise DataError(f"{cause}: its {name} is incomplete.", remedy)
    if name != MANIFEST and "query" in found["reading"]:
        raise query_error()
    if not all(Path(own := part["file"]).name == own and "\0" not in own and len(own.encode()) < 256 for part in parts):
        raise DataError(f"{cause}: one of its parts is not in the folder.", remedy)
    return found


def _open_part(path: Path, rows: int, checksum: str, schema: Schema) -> Part:
    """Return a part if it is the file that the manifest describes, else raise DataError.

    `rows` and `checksum` (SHA-256) are what the manifest states of the file at `path`.
    """
    try:
        size, written = file_state(path)
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != checksum:
                raise DataError(f"The file {path.name} of encoded rows is not the one that was written.", ENCODE_AGAIN)
        columns, types = pq.read_metadata(path), pq.read_schema(path)
    except (OSError, pa.ArrowException):
        raise DataError(f"The file {path.name} of encoded rows cannot be read.", ENCODE_AGAIN) from None
    sound = columns.num_rows == rows and all(
        f"c{j}" in types.names and pa.types.is_unsigned_integer(types.field(f"c{j}").type) for j in range(len(schema))
    )
    if not sound:
        raise DataError(f"The file {path.name} does not match its manifest.", ENCODE_AGAIN)
    part = Part(path, rows, size, written, frozenset(types.names))
    part.check()
    return part


@dataclass(frozen=True)
class FolderStatus:
    """State of a folder of encoded rows: schema, source files, parts, whether it is complete.

    `rows` counts the rows that are encoded. `numbers` says whether numbers are kept with their
    codes. `reading` has the declared settings of text files, such as the delimiter. `files` has the
    size and the checksum of each source file.
    """

    folder: Path
    schema: Schema
    rows: int
    complete: bool
    numbers: bool
    reading: Mapping[str, str]
    files: Mapping[str, Mapping[str, Any]]
    parts: Mapping[str, int | None]  # the bytes of each part, if known
    times: Mapping[str, int]  # the time of writing of source files, in nanoseconds, if known
    mtime_ns: int  # of the document

    def source_changed(self, source: str | PathLike[str]) -> bool:
        """Return whether the source files have changed, as far as names, sizes and times show."""
        states = {file.name: file_state(file.path) for file in table_files(source)}
        return {name: size for name, (size, _) in states.items()} != {
            name: one.get("size") for name, one in self.files.items()
        } or any(
            written != self.times[name] if name in self.times else written > self.mtime_ns
            for name, (_, written) in states.items()
        )

    def damaged_part(self) -> str:
        """Return the name of the first part that is missing or has another size, or "".

        Other damage is found when the folder is opened, by checksums.
        """
        sizes = ((name, size, file_state(self.folder / name)[0]) for name, size in self.parts.items())
        return next((name for name, was, now in sizes if now < 0 or was not in (None, now)), "")


def read_folder_status(folder: str | PathLike[str]) -> FolderStatus | None:
    """Return the status of a folder of encoded rows, complete or not, without reading the parts.

    None if this is not such a folder, or has no part yet.
    """
    path = Path(fspath(folder))
    name = next((name for name in (MANIFEST, UNFINISHED) if (path / name).is_file()), None)
    if name is None:
        return None
    cause = f"The folder {path.name!r} cannot be read as encoded rows"
    there = read_document(path, name, cause, CHOOSE_OR_REPLACE)
    if there is None or (name == UNFINISHED and not there["parts"]):
        return None  # another program's document, or no part yet
    parts = {part["file"]: part.get("size") for part in there["parts"]}
    rows = sum(part["rows"] for part in there["parts"])
    reading = {key: value for key, value in there["reading"].items() if key in TEXT_SETTINGS and value is not None}
    known = (Schema.from_document(there["schema"]), rows, name == MANIFEST, there["numbers"], reading)
    return FolderStatus(path, *known, there["sources"], parts, there["written"], file_state(path / name)[1])


def checksum(path: Path, watch: Callable[[], None] = lambda: None) -> str:
    """Return the SHA-256 of a file, as hexadecimal text. DataError if it cannot be read.

    `watch` is called again and again while a long file is read.
    """
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                found.update(piece)
                watch()
    except OSError:
        raise DataError(f"The file {path.name!r} cannot be opened.", "Check its permissions.") from None
    return found.hexdigest()


def is_folder_document(path: Path) -> bool:
    """Return whether a file is a document of a folder of encoded rows, complete or not."""
    try:
        found = json_value(path.read_bytes(), DataError, path.name, CHOOSE_EMPTY, most=MANIFEST_LIMIT)
    except (DataError, OSError):
        return False
    return isinstance(found, dict) and found.get("format") in (FORMAT, UNFINISHED_FORMAT)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document so that other processes see either all of it or nothing."""
    new = path.with_name(f"{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())  # or a power cut may keep the name without the text
    new.replace(path)

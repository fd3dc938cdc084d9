"""Rows in a folder of Parquet files, which may be larger than memory: read in blocks, again for every question.

The folder has `manifest.json`, which names the schema and the parts, and the parts: a column "c0",
"c1", … of codes for each of the schema's columns, and "n0", … of the numbers of those that have
any, NaN if missing. While it is written (`writing`), `unfinished.json` stands in the manifest's
place.

What is asked of one table must be counted on one table. Checksums are compared when a folder is
opened; from then on, before and after every pass, a part of another size or time of writing is
refused.
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
from dpcore.datasets.streams import check_path, sources
from dpcore.domain.documents import json_value
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.rows import exact_counts

MANIFEST, FORMAT = "manifest.json", "dpcore rows 1"
UNFINISHED = "unfinished.json"
PIECE = 1 << 24  # bytes
WRITTEN = ("delimiter", "encoding", "decimal")  # how a text is
BEGIN = "Choose another folder, or encode again with replace=True."
ELSEWHERE = "Choose a new folder, or an empty one."
STARTED = f"{FORMAT}, unfinished"
# this one may be somebody else's
OTHER = "Choose a folder that dpcore encoded, or a new one."
MOST = 1 << 26  # bytes of a manifest
DRAW_BLOCK = 1 << 20  # rows whose lots are drawn together
CHANGED = "Encode its source again, with replace=True or to another folder."


@dataclass(frozen=True)
class RowDraws:
    """Which rows of a file are looked at, by a secret lot of each: those that `datasets.split` takes of all rows."""

    seed: int = field(repr=False)
    first: int  # rows of the table that stand before this file
    share: float  # that is put aside
    aside: bool  # whether these are the ones that are looked at

    def here(self, start: int, rows: int) -> Flags:
        """Whether each of some rows, from the file's row `start` on, is looked at."""
        bits = np.random.PCG64(self.seed)  # what `default_rng` draws from
        bits.advance(self.first + start)
        return np.asarray((np.random.Generator(bits).random(rows) < self.share) == self.aside)


@dataclass(frozen=True)
class Part:
    """A file of rows, and what it was when the folder was opened."""

    path: Path = field(repr=False)
    rows: int  # that are looked at
    size: int
    written: int  # in nanoseconds
    columns: frozenset[str]
    lots: RowDraws | None = None

    def check(self) -> None:
        """DataError if it is another file by now."""
        if state(self.path) != (self.size, self.written):
            raise DataError(f"The file {self.path.name} has changed since its folder was opened.", CHANGED)


@dataclass(frozen=True)
class Folder:
    """The parts of one table, in order, and its public schema."""

    schema: Schema
    parts: tuple[Part, ...]
    checksum: str
    """Of the parts' checksums: the same for the same encoded rows."""
    name: str = ""
    content: Content | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return sum(part.rows for part in self.parts)

    def key(self, secret: bytes) -> str:
        """What whoever has this secret calls these rows: the same for all folders that the same files were encoded to.

        Of one file, what its rows are called in memory, too.
        """
        return (self.content or Content(self.checksum.encode())).keyed(secret)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Read the manifest and compare every part with it; DataError if this is no such folder, or not all of it."""
        folder = Path(path)
        cause = f"The folder {folder.name} cannot be read as encoded rows"
        found = document_of(folder, MANIFEST, cause, "Choose a folder that this program encoded, or encode it anew.")
        if found is None:
            raise DataError(f"{cause}: its format is not known.", CHANGED)
        schema, total = Schema.from_document(found["schema"]), found.get("rows")
        named = [(part["file"], part["rows"], part["sha256"]) for part in found["parts"]]
        sums = [one["sha256"] for one in found["sources"].values()]
        if not all(re.fullmatch("[0-9a-f]{64}", one) for one in sums):
            raise DataError(f"{cause}: a checksum is malformed.", CHANGED)
        if not is_whole(total) or sum(many for _, many, _ in named) != total:
            raise DataError(f"{cause}: its numbers of rows do not add up.", CHANGED)
        parts = tuple(_opened(folder / name, many, checksum, schema) for name, many, checksum in named)
        together = hashlib.sha256("".join(checksum for _, _, checksum in named).encode()).hexdigest()
        return cls(schema, parts, together, folder.name, Content.of_files(sums) if sums else None)

    def split(self, test_share: float = 0.3, seed: int | None = None) -> tuple[Self, Self]:
        """Training and test rows by secret lot, as `datasets.split` of the same rows; both stay in the folder.

        DataError if the lots leave no row to learn from.
        """
        if not 0 <= test_share < 1:
            raise ParameterError("`test_share` must be in [0, 1).", "Try test_share=0.3.")
        if any(part.lots for part in self.parts):
            raise ParameterError("These rows are split already.", "Split the folder as it was opened.")
        row_seed, first = secret_seed() if seed is None else seed, 0
        parts: tuple[list[Part], list[Part]] = [], []
        for part in self.parts:
            owner_draws = RowDraws(row_seed, first, test_share, aside=True)
            tested = sum(
                int(owner_draws.here(start, min(DRAW_BLOCK, part.rows - start)).sum())
                for start in range(0, part.rows, DRAW_BLOCK)
            )
            parts[0].append(replace(part, rows=part.rows - tested, lots=replace(owner_draws, aside=False)))
            parts[1].append(replace(part, rows=tested, lots=owner_draws))
            first += part.rows
        train, test = (replace(self, parts=tuple(some)) for some in parts)
        if not len(train):
            raise DataError("Every row was set aside for testing.", "Use a table with more rows.")
        return train, test

    def check(self) -> None:
        """DataError if a part is another file than when the folder was opened."""
        for part in self.parts:
            part.check()

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """The rows of some columns in order, by name; at most `exact_counts.BLOCK` rows at a time."""
        self.check()
        limits = dict(zip((f"c{j}" for j in count()), self.schema.sizes, strict=False))
        for part in self.parts:
            try:
                with pq.ParquetFile(part.path, pre_buffer=False) as file:
                    start = 0
                    for batch in file.iter_batches(exact_counts.BLOCK, columns=list(names), use_threads=False):
                        found = {name: _array(batch.column(name), limits.get(name)) for name in names}
                        if part.lots is not None:
                            here = part.lots.here(start, batch.num_rows)
                            found = {name: values[here] for name, values in found.items()}
                            start += batch.num_rows
                        yield found
            except (OSError, KeyError, pa.ArrowException):
                raise DataError(f"The file {part.path.name} of encoded rows cannot be read.", CHANGED) from None
        self.check()


def _array(column: pa.Array, limit: int | None) -> NDArray[Any]:
    """A column's values, which are codes if there is a limit to them."""
    values: NDArray[Any] = column.to_numpy(zero_copy_only=True)
    if limit is not None and len(values) and values.max() >= limit:
        raise DataError("The encoded rows have a code that the schema does not have.", CHANGED)
    return values


def no_query() -> DataError:
    """What is said where a script, or a folder that is not finished, was to go on with a query on a database."""
    return DataError(
        "dpcore does not read from a database by a query any more.",
        "Write the rows of the query to a Parquet file, and encode that to another folder.",
    )


def state(path: Path) -> tuple[int, int]:
    """A file's size, and when it was written in nanoseconds; -1 for both if it is gone."""
    try:
        found = path.stat()
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns


def document_of(folder: Path, name: str, cause: str, remedy: str) -> dict[str, Any] | None:
    """What a folder's manifest says, or the note of one that is not finished; None if it is a document of another kind.

    What is there has the form that `encode` writes.

    Raises
    ------
    DataError
        If it cannot be read, or has another form.
    """
    check_path(folder)
    try:
        raw = (folder / name).read_bytes()
    except (OSError, ValueError):
        raise DataError(f"{cause}: it has no {name} that can be read.", OTHER) from None
    found = json_value(raw, DataError, f"{cause}: its {name}", OTHER, most=MOST)
    if not isinstance(found, dict) or found.get("format") != (FORMAT if name == MANIFEST else STARTED):
        return None
    if name != MANIFEST and found.get("parts") == []:
        return found  # begun, and nothing is there yet
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
        raise no_query()
    if not all(Path(own := part["file"]).name == own and "\0" not in own and len(own.encode()) < 256 for part in parts):
        raise DataError(f"{cause}: one of its parts is not in the folder.", remedy)
    return found


def _opened(path: Path, rows: int, checksum: str, schema: Schema) -> Part:
    """A part, if it is what the manifest says."""
    try:
        size, written = state(path)
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != checksum:
                raise DataError(f"The file {path.name} of encoded rows is not the one that was written.", CHANGED)
        columns, types = pq.read_metadata(path), pq.read_schema(path)
    except (OSError, pa.ArrowException):
        raise DataError(f"The file {path.name} of encoded rows cannot be read.", CHANGED) from None
    sound = columns.num_rows == rows and all(
        f"c{j}" in types.names and pa.types.is_unsigned_integer(types.field(f"c{j}").type) for j in range(len(schema))
    )
    if not sound:
        raise DataError(f"The file {path.name} does not hold the rows that its manifest lists.", CHANGED)
    part = Part(path, rows, size, written, frozenset(types.names))
    part.check()
    return part


@dataclass(frozen=True)
class PartialFolder:
    """What `encode` has written to a folder by now: by which schema, of which files, and whether it is whole."""

    folder: Path
    schema: Schema
    rows: int
    whole: bool
    numbers: bool
    reading: Mapping[str, str]
    files: Mapping[str, Mapping[str, Any]]
    parts: Mapping[str, int | None]  # and how many bytes each has, if that is known
    times: Mapping[str, int]  # when files were written, in nanoseconds, as far as that is known
    written: int  # when this was, likewise

    def outdated(self, source: str | PathLike[str]) -> bool:
        """Whether a table's files are others by now, as far as their names, sizes and times tell."""
        states = {file.name: state(file.path) for file in sources(source)}
        return {name: size for name, (size, _) in states.items()} != {
            name: one.get("size") for name, one in self.files.items()
        } or any(
            written != self.times[name] if name in self.times else written > self.written
            for name, (_, written) in states.items()
        )

    def damaged(self) -> str:
        """The first part that is gone, or has another size than it had; empty if there is none.

        Opening the folder finds other damage, as it compares checksums.
        """
        sizes = ((name, size, state(self.folder / name)[0]) for name, size in self.parts.items())
        return next((name for name, was, now in sizes if now < 0 or was not in (None, now)), "")


def open_begun(folder: str | PathLike[str]) -> PartialFolder | None:
    """What is in a folder of codes, whole or not, without a look at them; None if it is none, or has no part yet."""
    path = Path(fspath(folder))
    name = next((name for name in (MANIFEST, UNFINISHED) if (path / name).is_file()), None)
    if name is None:
        return None
    cause = f"The folder {path.name!r} cannot be read as encoded rows"
    there = document_of(path, name, cause, BEGIN)
    if there is None or (name == UNFINISHED and not there["parts"]):
        return None  # somebody else's, or none yet
    parts = {part["file"]: part.get("size") for part in there["parts"]}
    rows = sum(part["rows"] for part in there["parts"])
    reading = {key: value for key, value in there["reading"].items() if key in WRITTEN and value is not None}
    known = (Schema.from_document(there["schema"]), rows, name == MANIFEST, there["numbers"], reading)
    return PartialFolder(path, *known, there["sources"], parts, there["written"], state(path / name)[1])


def checksum(path: Path, watch: Callable[[], None] = lambda: None) -> str:
    """The SHA-256 of a file; `watch` is called again and again. DataError if it cannot be read."""
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                found.update(piece)
                watch()
    except OSError:
        raise DataError(f"The file {path.name!r} cannot be opened.", "Check its permissions.") from None
    return found.hexdigest()


def is_own(path: Path) -> bool:
    """Whether a document is one of a folder of codes."""
    try:
        found = json_value(path.read_bytes(), DataError, path.name, ELSEWHERE, most=MOST)
    except (DataError, OSError):
        return False
    return isinstance(found, dict) and found.get("format") in (FORMAT, STARTED)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document so that others see all of it or nothing."""
    new = path.with_name(f"{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())  # else the name may outlive a power cut, and the text not
    new.replace(path)

"""Tables of any size to folders of codes: Parquet files that are counted again and again, at constant memory.

A folder holds `manifest.json` and parts. Columns of a part are `c0`, `c1`, ... (codes, each in the
smallest unsigned type) and `n0`, ... (a numeric column's numbers, NaN if missing), by the column's
place in the schema; rows are in the order of the source. It is as private as the rows, manifest and
all.

Parts are written whole, one after the other, and `unfinished.json` says which there are, from
before the first one on. Whoever was stopped goes on after the last one, if the sources and the
schema are still the same; the manifest comes last, so that a folder that has one is complete.
Nothing is written to a folder, nor taken out of it, that holds files and neither of the two.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, count, islice, takewhile
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.arguments import Progress, check_arguments, kind_of, no_progress
from dpcore.datasets.delimited import MISSING_CELLS, TextBlocks
from dpcore.datasets.parquet import ParquetBlocks
from dpcore.datasets.streams import ArrowStream, Source, Streamable, check_path, sources
from dpcore.domain.column import CodedColumn
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.language import phrase
from dpcore.rows.exact_counts import even_blocks
from dpcore.rows.folder import (
    BEGIN,
    ELSEWHERE,
    FORMAT,
    MANIFEST,
    STARTED,
    UNFINISHED,
    checksum,
    document_of,
    is_own,
    no_query,
    state,
    write_json,
)

TableSource = TextBlocks | ParquetBlocks | ArrowStream
STREAM = "(stream)"  # the name of a source that is no file
GROUP = 1 << 17  # rows that are written together
PART = 1 << 20  # rows; the first parts are shorter, so that whoever stops early keeps something
LOOKING, ENCODING = phrase("Looking through the files"), phrase("{rows:,} rows encoded")
DIFFERS = {
    "schema": "another schema",
    "sources": "another source, or of one that has changed since",
    "reading": "files that were read with other settings (delimiter, encoding, decimal, missing)",
    "numbers": "another setting of `numbers`",
}
# names beside the two documents
OURS = re.compile(r"part-\d{5,}\.parquet(\.new)?|(manifest|unfinished)\.json\.new")


@check_arguments
def encode_folder(
    source: str | PathLike[str] | Streamable,
    folder: str | PathLike[str],
    *,
    schema: Schema,
    numbers: bool = True,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = MISSING_CELLS,
    query: str | None = None,
    replace: bool = False,
    progress: Progress = no_progress,
) -> Path:
    """Encode a data set that may be longer than the memory, in a folder.

    Cell for cell the codes are those of `Schema.encode`. Files are read in this process, without
    the limits of `datasets.read`: take none that strangers sent. Stopped (by an error that
    `progress` raises, or with the program), and called again, it goes on after the last complete
    part.

    What is protected is a row of the source. That is a person only if each row was made from one
    row of a table of people, and each of these gave one at most: columns and conditions on single
    rows. After a join, a GROUP BY, a LIMIT or a window function, epsilon is not a person's.

    Parameters
    ----------
    source : path or object with an Arrow stream
        csv, tsv, txt (also packed) or Parquet, or a folder of such files, which are taken in the
        order of their names; those that begin with a point or an underscore are left out. Or an
        object that has `__arrow_c_stream__`: a DataFrame of pandas or Polars, a relation of DuckDB,
        a table or reader of Arrow, which is read once; so what was stopped begins anew. Frames of
        Dask and Spark lie in parts, perhaps on several computers: write them to Parquet files, and
        give their folder.
    folder : path
        Where the codes go: a new folder, an empty one, or one that was begun with the same source
        and schema; neither inside of the source nor around it. Codes of files that are all there
        are compared with their checksums; those of a stream have to be replaced.
    schema : Schema
        What is public about the rows.
    numbers : bool, default=True
        Whether the numbers of numeric columns are kept beside their codes, for methods that cut
        numbers anywhere: 8 bytes each.
    delimiter, encoding, decimal, missing
        As for `datasets.read`; of Parquet and streams only `missing` is read.
    query : str, optional
        Refused: what earlier versions asked a DuckDB file.
    replace : bool, default=False
        Whether codes that are in the folder are dropped first; files of other names never are.
    progress : callable, optional
        Called with a fraction and a text; raising inside it stops.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    DataError
        If the source cannot be read, changes while it is read, or does not fit the schema: which
        column, and apart (`DataError.private`) how many cells of all rows; never a cell's value. If
        the folder holds something else, or codes that are damaged. If rows belong to persons. If
        `query` is given.
    """
    if query is not None:
        raise no_query()
    if schema.persons is not None:
        raise DataError(
            f"The column {schema.persons.id_column!r} says whose row it is, and rows of persons cannot be encoded "
            "block by block: which of them count depends on all rows of a person.",
            "Fit on a table in memory; or leave at most that many rows of each person in the file, and declare a unit "
            "without a column: epsilon is then for a row, and as many times as much for a person.",
        )
    target, files, stream = Path(fspath(folder)), list[Source](), None
    if isinstance(source, str | PathLike):
        files = sources(source)
        _check_apart(target, [Path(fspath(source)), *(file.path for file in files)])
    elif hasattr(source, "__arrow_c_stream__"):
        check_path(target)
        stream = ArrowStream(source)
    else:
        raise DataError(
            f"A source must be a path or have an Arrow stream; this one is {kind_of(source)}.",
            "Write its rows to Parquet files, and pass their folder; epsilon then protects a row.",
        )
    written = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
    if replace:
        _drop(target)
    watched = _Watched(files, progress)
    request = {
        "schema": schema.to_document(),
        # which is known at the end
        "sources": watched.sums if stream is None else {STREAM: {"sha256": ""}},
        "reading": {**written, "missing": sorted(missing)},
        "numbers": numbers,
    }
    parts = _begun(target, request)
    if parts is None:
        return target
    request["written"] = watched.times
    watch = partial(progress, 0.0, LOOKING)
    tables: list[TableSource] = [file.opened(watch, **written) for file in files] if stream is None else [stream]
    for table in tables:
        schema.check_headers(table.headers)
    done = sum(part["rows"] for part in parts)
    misfits = [Counter[str]() for _ in schema]
    found = _fitting(zip(tables, watched.sizes or [0], strict=True), schema, missing, done, misfits, progress)
    groups = _groups(found, schema, numbers)
    for head in islice(groups, 1):
        write_json(target / UNFINISHED, {"format": STARTED, **request, "parts": parts})
        for part in _written(target, chain([head], groups), len(parts)):
            watched.check()
            parts.append(part)
            write_json(target / UNFINISHED, {"format": STARTED, **request, "parts": parts})
    watched.check()
    for column, counts in zip(schema, misfits, strict=True):
        if counts:
            _drop(target)
            (target / UNFINISHED).unlink(missing_ok=True)
            column.raise_misfits(counts)
    if not parts and stream is None:
        raise DataError("The file has a header line but no rows.", "Choose a file with rows.")
    if not parts:
        raise DataError("The stream has no rows.", "Pass a stream with rows.")
    if stream is not None:
        request["sources"] = {STREAM: {"sha256": stream.checksum}}
    write_json(
        target / MANIFEST, {"format": FORMAT, "rows": sum(part["rows"] for part in parts), **request, "parts": parts}
    )
    (target / UNFINISHED).unlink()
    progress(1.0, phrase("Done"))
    return target


class _Watched:
    """The files of a table: their checksums, and whether they are still what they were before these were taken."""

    def __init__(self, files: Sequence[Source], progress: Progress) -> None:
        self._were = {file.path: state(file.path) for file in files}
        self.sizes = [size for size, _ in self._were.values()]
        self.times = {file.name: self._were[file.path][1] for file in files}
        self.sums: dict[str, dict[str, Any]] = {}
        for file, size in zip(files, self.sizes, strict=True):
            self.sums[file.name] = {"size": size, "sha256": checksum(file.path, partial(progress, 0.0, LOOKING))}
        self.check()

    def check(self) -> None:
        """DataError if a file is another one by now."""
        for path, was in self._were.items():
            if state(path) != was:
                cause = f"The file {path.name!r} changed while it was read."
                raise DataError(cause, "Wait until no program writes to it, and encode again with replace=True.")


def _check_apart(folder: Path, taken: Sequence[Path]) -> None:
    """DataError if codes would go where the table lies: into its folder, or into one that it is in; or nowhere."""
    check_path(folder)
    # of a link to itself, too
    target, source, *files = (Path(os.path.realpath(path)) for path in (folder, *taken))
    if target == source or source in target.parents or any(target in path.parents for path in (source, *files)):
        raise DataError(
            f"The folder {folder.name!r} cannot be written to: it is the source, is inside it, or contains it.",
            "Choose a folder next to the source.",
        )


def _begun(folder: Path, asked: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The parts that are there of what is asked for, none if the folder is new; None if all of it is there."""
    cause = f"The folder {folder.name!r} cannot be written to"
    try:
        if not folder.exists():
            # whoever may read the rows may be one person only
            folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise DataError(f"{cause}: {error.strerror}.", ELSEWHERE) from None
    if not folder.is_dir():
        raise DataError(f"{cause}: it is a file.", "Choose a folder.")
    name = next((name for name in (MANIFEST, UNFINISHED) if (folder / name).exists()), None)
    if name is None:
        if any(folder.iterdir()):
            raise DataError(f"{cause}: it holds other files.", ELSEWHERE)
        return []
    there = document_of(folder, name, cause, BEGIN)
    if there is None:
        raise DataError(f"{cause}: dpcore did not write its {name}.", ELSEWHERE)
    parts: list[dict[str, Any]] = there["parts"]
    if name == UNFINISHED and not parts:
        _drop(folder)  # what is left if somebody was stopped in it, or in the first part
        return []
    for key, differs in DIFFERS.items():
        if _comparable(there.get(key), key) != _comparable(asked[key], key):
            raise DataError(f"{cause}: it holds codes of {differs}.", BEGIN)
    sound = list(takewhile(lambda part: _is_there(folder / part["file"], part["sha256"]), parts))
    if name == UNFINISHED and STREAM in asked["sources"]:
        _drop(folder)  # of a stream, which comes from its beginning
        return []
    if name == UNFINISHED:
        return sound
    if sound != parts:
        raise DataError(f"{cause}: its codes are damaged or incomplete.", BEGIN)
    return None


def _comparable(value: Any, key: str) -> Any:
    """A part of a manifest as it is compared; where a schema's lines came from makes no other codes."""
    if key == "schema":
        with suppress(SchemaError):
            return Schema.from_document(value)
    return json.loads(json.dumps(value))


def _is_there(path: Path, expected: str) -> bool:
    return path.is_file() and checksum(path) == expected


def _drop(folder: Path) -> None:
    """Take away what `encode` has written, but for the note that it began; nothing if a document is somebody else's."""
    documents = [path for path in (folder / MANIFEST, folder / UNFINISHED) if path.exists()]
    if not documents or not all(is_own(path) for path in documents):
        return
    write_json(folder / UNFINISHED, {"format": STARTED, "parts": []})
    (folder / MANIFEST).unlink(missing_ok=True)
    for path in list(folder.iterdir()):
        if OURS.fullmatch(path.name) and path.is_file():
            path.unlink()


def _fitting(
    tables: Iterable[tuple[TableSource, int]],
    schema: Schema,
    missing: Sequence[str],
    skip: int,
    misfits: Sequence[Counter[str]],
    progress: Progress,
) -> Iterator[list[CodedColumn]]:
    """The columns of tables, which come with their sizes, batch by batch and without the first `skip` rows.

    Until a cell does not fit; these are counted to the end.
    """
    tables, rows, before = list(tables), skip, 0
    total = sum(size for _, size in tables)
    for table, size in tables:
        for batch in table.batches(schema.names, missing):
            cells = [column.slice(skip) for column in batch]
            skip -= len(batch[0]) - len(cells[0])
            if not len(cells[0]):
                continue
            found = [column.encode_arrow(one) for column, one in zip(schema, cells, strict=True)]
            for counts, one in zip(misfits, found, strict=True):
                counts.update(one.misfits)
            rows += len(found[0].codes)
            if not any(misfits):
                yield found
            progress(min((before + size * table.done) / max(total, 1), 1.0), ENCODING.format(rows=rows))
        before += size


def _groups(found: Iterator[list[CodedColumn]], schema: Schema, numbers: bool) -> Iterator[pa.Table]:
    """Rows as they are written, `GROUP` at a time, the rest at the end."""
    numeric = [j for j, column in enumerate(schema) if column.numeric and numbers]
    names = [f"c{j}" for j in range(len(schema))] + [f"n{j}" for j in numeric]
    blocks = (
        [*(one.codes for one in columns), *(np.asarray(columns[j].numbers) for j in numeric)] for columns in found
    )
    return (pa.table(dict(zip(names, block, strict=True))) for block in even_blocks(blocks, GROUP))


def _written(folder: Path, groups: Iterator[pa.Table], first: int) -> Iterator[dict[str, Any]]:
    """Write groups as parts, from number `first` on; what the manifest says of each, once it is there."""
    for number, head in zip(count(first), groups, strict=False):
        path, rows = folder / f"part-{number:05}.parquet", 0
        new = path.with_name(f"{path.name}.new")
        try:
            codes = [name for name in head.schema.names if name[0] == "c"]
            how: dict[str, Any] = {"compression": "none", "use_dictionary": codes, "write_statistics": False}
            with pq.ParquetWriter(new, head.schema, **how) as writer:
                for group in chain([head], islice(groups, min(1 << number, PART // GROUP) - 1)):
                    writer.write_table(group, row_group_size=GROUP)
                    rows += group.num_rows
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
        yield {"file": path.name, "rows": rows, "size": path.stat().st_size, "sha256": checksum(path)}

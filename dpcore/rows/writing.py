"""Encode data sets of any size to folders of codes: Parquet files, read again for each query.

Memory does not grow with the data set. A folder has `manifest.json` and parts. Columns of a part
are `c0`, `c1`, ... (codes, each in the smallest unsigned type) and `n0`, ... (the numbers of
numeric columns, NaN if missing), by the position of the column in the schema. Rows are in the order
of the source. The folder is as private as the rows, and so is the manifest.

Parts are written one after the other, each as a whole, and `unfinished.json` lists the finished
ones from the start. An interrupted run continues after the last finished part, if the source and
the schema are unchanged. The manifest is written last, so that a folder with a manifest is
complete. Nothing is written to or removed from a folder that has files but neither document.
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
from dpcore.datasets.delimited_text import MISSING_CELLS, TextBlocks
from dpcore.datasets.parquet import ParquetBlocks
from dpcore.datasets.streams import ArrowStream, Streamable, TableFile, check_path, table_files
from dpcore.domain.column import CodedColumn
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.language import phrase
from dpcore.rows.exact_counts import even_blocks
from dpcore.rows.folder import (
    CHOOSE_EMPTY,
    CHOOSE_OR_REPLACE,
    FORMAT,
    MANIFEST,
    UNFINISHED,
    UNFINISHED_FORMAT,
    checksum,
    file_state,
    is_folder_document,
    query_error,
    read_document,
    write_json,
)

BlockReader = TextBlocks | ParquetBlocks | ArrowStream
STREAM = "(stream)"  # the name of a source that is not a file
GROUP = 1 << 17  # rows per row group of Parquet
PART = 1 << 20  # rows per part; the first parts are shorter, so that an early stop keeps some rows
LOOKING, ENCODING = phrase("Checking the files before encoding"), phrase("{rows:,} rows encoded")
DIFFERENCES = {
    "schema": "another schema",
    "sources": "another source, or of a source that has changed since",
    "reading": "files that were read with other settings (delimiter, encoding, decimal, missing)",
    "numbers": "another setting of `numbers`",
}
# names of files that dpcore writes, other than the two documents
OWN_FILES = re.compile(r"part-\d{5,}\.parquet(\.new)?|(manifest|unfinished)\.json\.new")


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
    """Encode a data set, which may be larger than memory, into a folder of codes.

    The codes are those of `Schema.encode`, cell for cell. Files are read in this process, without
    the limits of `datasets.read`: use no files of strangers. If the function is interrupted (by an
    error that `progress` raises, or with the program) and called again, it continues after the last
    complete part.

    The privacy unit is one row of the source. A row stands for a person only if it was made from
    one row of a table of people, and each person has at most one row: by choosing columns, and by
    conditions on single rows. After a join, a GROUP BY, a LIMIT or a window function, epsilon does
    not hold for a person.

    Parameters
    ----------
    source : path or object with an Arrow stream
        csv, tsv, txt (also packed) or Parquet, or a folder of such files, which are taken in the
        order of their names. Names that begin with a point or an underscore are left out. Or an
        object with `__arrow_c_stream__`: a DataFrame of pandas or Polars, a relation of DuckDB, a
        table or reader of Arrow. A stream is read once, so an interrupted run starts again. Frames
        of Dask and Spark lie in parts, perhaps on several computers: write them to Parquet files,
        and pass their folder.
    folder : path
        The folder for the codes: new, empty, or started with the same source and schema. It must
        neither be inside the source nor contain it. If all codes exist, they are compared with
        their checksums; codes of a stream have to be replaced.
    schema : Schema
        The public schema of the rows.
    numbers : bool, default=True
        Whether the numbers of numeric columns are kept with their codes, for methods that split
        numbers at any point: 8 bytes each.
    delimiter, encoding, decimal, missing
        As for `datasets.read`; Parquet and streams use only `missing`.
    query : str, optional
        Refused; earlier versions passed it to a DuckDB file.
    replace : bool, default=False
        Whether existing codes in the folder are removed first; files of other names are kept.
    progress : callable, optional
        Called with a fraction and a text; an error that it raises stops the run.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    DataError
        If the source cannot be read, changes while it is read, or does not fit the schema. The
        error names the column, and has the number of misfit cells in a private part
        (`DataError.private`); never a cell's value. Also if the folder has other files, or damaged
        codes; if rows belong to persons; if `query` is given.
    """
    if query is not None:
        raise query_error()
    if schema.persons is not None:
        raise DataError(
            f"The column {schema.persons.id_column!r} identifies persons, and rows of persons cannot be encoded block "
            "by block: which rows are kept depends on all rows of a person.",
            "Fit on a DataFrame in memory. Or keep at most that many rows of each person in the file, and declare a "
            "privacy unit without a column: epsilon then protects a row, and as many times epsilon a person.",
        )
    target, files, stream = Path(fspath(folder)), list[TableFile](), None
    if isinstance(source, str | PathLike):
        files = table_files(source)
        _check_not_nested(target, [Path(fspath(source)), *(file.path for file in files)])
    elif hasattr(source, "__arrow_c_stream__"):
        check_path(target)
        stream = ArrowStream(source)
    else:
        raise DataError(
            f"A source must be a path or have an Arrow stream; got {kind_of(source)}.",
            "Write the rows to Parquet files, and pass their folder; epsilon then protects a row.",
        )
    written = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
    if replace:
        _remove_codes(target)
    inputs = _SourceFiles(files, progress)
    request = {
        "schema": schema.to_document(),
        # the checksum of a stream is known at the end
        "sources": inputs.sums if stream is None else {STREAM: {"sha256": ""}},
        "reading": {**written, "missing": sorted(missing)},
        "numbers": numbers,
    }
    parts = _parts_to_keep(target, request)
    if parts is None:
        return target
    request["written"] = inputs.times
    watch = partial(progress, 0.0, LOOKING)
    readers: list[BlockReader] = [file.open_blocks(watch, **written) for file in files] if stream is None else [stream]
    for reader in readers:
        schema.check_headers(reader.headers)
    n_rows = sum(part["rows"] for part in parts)
    misfits = [Counter[str]() for _ in schema]
    found = _encode_batches(zip(readers, inputs.sizes or [0], strict=True), schema, missing, n_rows, misfits, progress)
    groups = _row_groups(found, schema, numbers)
    for head in islice(groups, 1):
        write_json(target / UNFINISHED, {"format": UNFINISHED_FORMAT, **request, "parts": parts})
        for part in _write_parts(target, chain([head], groups), len(parts)):
            inputs.check()
            parts.append(part)
            write_json(target / UNFINISHED, {"format": UNFINISHED_FORMAT, **request, "parts": parts})
    inputs.check()
    for column, counts in zip(schema, misfits, strict=True):
        if counts:
            _remove_codes(target)
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


class _SourceFiles:
    """The source files: their sizes, times and checksums, to detect changes while they are read."""

    def __init__(self, files: Sequence[TableFile], progress: Progress) -> None:
        """Record sizes and times of the source files, and compute their checksums."""
        self._states = {file.path: file_state(file.path) for file in files}
        self.sizes = [size for size, _ in self._states.values()]
        self.times = {file.name: self._states[file.path][1] for file in files}
        self.sums: dict[str, dict[str, Any]] = {}
        for file, size in zip(files, self.sizes, strict=True):
            self.sums[file.name] = {"size": size, "sha256": checksum(file.path, partial(progress, 0.0, LOOKING))}
        self.check()

    def check(self) -> None:
        """Raise DataError if a file has changed since its checksum was computed."""
        for path, was in self._states.items():
            if file_state(path) != was:
                cause = f"The file {path.name!r} changed while it was read."
                raise DataError(cause, "Wait until nothing writes to it, and encode again with replace=True.")


def _check_not_nested(folder: Path, paths: Sequence[Path]) -> None:
    """Raise DataError if the folder for codes is the source, is inside it, or contains it."""
    check_path(folder)
    # `os.path.realpath` accepts a link to itself, too
    target, source, *files = (Path(os.path.realpath(path)) for path in (folder, *paths))
    if target == source or source in target.parents or any(target in one.parents for one in (source, *files)):
        raise DataError(
            f"The folder {folder.name!r} cannot be written to: it is the source, is inside it, or contains it.",
            "Choose a folder next to the source.",
        )


def _parts_to_keep(folder: Path, request: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the finished parts of the requested encoding in a folder; None if it is complete.

    `request` has the manifest's entries as they are to be: schema, source files, settings. The list
    is empty for a new folder. DataError if the folder has anything else.
    """
    cause = f"The folder {folder.name!r} cannot be written to"
    try:
        if not folder.exists():
            # only this user may read the private rows
            folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise DataError(f"{cause}: {error.strerror}.", CHOOSE_EMPTY) from None
    if not folder.is_dir():
        raise DataError(f"{cause}: it is a file.", "Choose a folder.")
    name = next((name for name in (MANIFEST, UNFINISHED) if (folder / name).exists()), None)
    if name is None:
        if any(folder.iterdir()):
            raise DataError(f"{cause}: it contains other files.", CHOOSE_EMPTY)
        return []
    manifest = read_document(folder, name, cause, CHOOSE_OR_REPLACE)
    if manifest is None:
        raise DataError(f"{cause}: dpcore did not write its {name}.", CHOOSE_EMPTY)
    parts: list[dict[str, Any]] = manifest["parts"]
    if name == UNFINISHED and not parts:
        _remove_codes(folder)  # remains of a run stopped in its first part
        return []
    for key, differs in DIFFERENCES.items():
        if _comparable_entry(manifest.get(key), key) != _comparable_entry(request[key], key):
            raise DataError(f"{cause}: it contains codes of {differs}.", CHOOSE_OR_REPLACE)
    sound = list(takewhile(lambda part: _is_intact(folder / part["file"], part["sha256"]), parts))
    if name == UNFINISHED and STREAM in request["sources"]:
        _remove_codes(folder)  # a stream starts again
        return []
    if name == UNFINISHED:
        return sound
    if sound != parts:
        raise DataError(f"{cause}: its codes are damaged or incomplete.", CHOOSE_OR_REPLACE)
    return None


def _comparable_entry(value: Any, key: str) -> Any:
    """Return an entry of a manifest in a form that can be compared with that of another one.

    `key` is the name of the entry. Where the bounds and categories of a schema come from does not
    affect codes, so it is ignored.
    """
    if key == "schema":
        with suppress(SchemaError):
            return Schema.from_document(value)
    return json.loads(json.dumps(value))


def _is_intact(path: Path, expected: str) -> bool:
    """Return whether a part exists and still has the checksum that the manifest lists."""
    return path.is_file() and checksum(path) == expected


def _remove_codes(folder: Path) -> None:
    """Remove the parts and the manifest from a folder, and leave a note that encoding has started.

    Nothing is removed if a document was written by another program.
    """
    documents = [path for path in (folder / MANIFEST, folder / UNFINISHED) if path.exists()]
    if not documents or not all(is_folder_document(path) for path in documents):
        return
    write_json(folder / UNFINISHED, {"format": UNFINISHED_FORMAT, "parts": []})
    (folder / MANIFEST).unlink(missing_ok=True)
    for path in list(folder.iterdir()):
        if OWN_FILES.fullmatch(path.name) and path.is_file():
            path.unlink()


def _encode_batches(
    readers: Iterable[tuple[BlockReader, int]],
    schema: Schema,
    missing: Sequence[str],
    skip: int,
    misfits: Sequence[Counter[str]],
    progress: Progress,
) -> Iterator[list[CodedColumn]]:
    """Yield encoded columns in batches, without the first `skip` rows, until a cell does not fit.

    `readers` come with the sizes of their files. `missing` lists texts that mean a missing cell.
    `misfits` has a counter for each column; cells that do not fit are counted to the end.
    """
    readers, rows, before = list(readers), skip, 0
    total = sum(size for _, size in readers)
    for reader, size in readers:
        for batch in reader.batches(schema.names, missing):
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
            progress(min((before + size * reader.fraction_read) / max(total, 1), 1.0), ENCODING.format(rows=rows))
        before += size


def _row_groups(found: Iterator[list[CodedColumn]], schema: Schema, numbers: bool) -> Iterator[pa.Table]:
    """Yield the encoded rows as Arrow tables of `GROUP` rows, the rest at the end.

    `found` has batches of encoded columns. `numbers` says whether numbers are kept with their
    codes.
    """
    numeric = [j for j, column in enumerate(schema) if column.numeric and numbers]
    names = [f"c{j}" for j in range(len(schema))] + [f"n{j}" for j in numeric]
    blocks = (
        [*(one.codes for one in columns), *(np.asarray(columns[j].numbers) for j in numeric)] for columns in found
    )
    return (pa.table(dict(zip(names, block, strict=True))) for block in even_blocks(blocks, GROUP))


def _write_parts(folder: Path, groups: Iterator[pa.Table], first: int) -> Iterator[dict[str, Any]]:
    """Write Arrow tables of rows to numbered Parquet parts; yield each part's manifest entry.

    `groups` are the tables, and `first` is the number of the first part.
    """
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

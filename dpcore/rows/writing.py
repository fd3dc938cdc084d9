"""Tables of any size to folders of codes: Parquet files that are counted again and again, at constant memory.

A folder holds `manifest.json` and parts. Columns of a part are `c0`, `c1`, ... (codes, each in the smallest unsigned
type) and `n0`, ... (a numeric column's numbers, NaN if missing), by the column's place in the schema; rows are in the
order of the source. It is as private as the rows, manifest and all.

Parts are written whole, one after the other, and `unfinished.json` says which there are. Whoever was stopped goes on
after the last one, if the sources and the schema are still the same; the manifest comes last, so that a folder that has
one is complete.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.arguments import Progress, no_progress
from dpcore.datasets.delimited import MISSING_CELLS
from dpcore.datasets.streams import Source, sources
from dpcore.domain.arrow_cells import coded_cells
from dpcore.domain.coding import Coded
from dpcore.domain.documents import json_value
from dpcore.domain.schema import Schema
from dpcore.errors import DataError
from dpcore.language import phrase

FORMAT = "dpcore rows 1"
MANIFEST, UNFINISHED = "manifest.json", "unfinished.json"
GROUP = 1 << 17  # rows that are written together
PART = 1 << 20  # rows
LOOKING, ENCODING = phrase("Reading the files' checksums"), phrase("{rows:,} rows encoded")
BEGIN = "Choose another folder, or encode it anew: replace=True."


def encode(
    source: str | PathLike[str],
    folder: str | PathLike[str],
    *,
    schema: Schema,
    numbers: bool = True,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = MISSING_CELLS,
    replace: bool = False,
    progress: Progress = no_progress,
) -> Path:
    """The codes of a table that may be longer than the memory, in a folder; cell for cell those of `Schema.encode`.

    Files are read in this process, without the limits of `datasets.read`: take none that strangers sent. Stopped (by an
    error that `progress` raises, or with the program), and called again, it goes on after the last complete part.

    Parameters
    ----------
    source : path
        csv, tsv, txt (also packed) or Parquet, or a folder of such files, which are taken in the order of their names;
        those that begin with a point or an underscore are left out.
    folder : path
        Where the codes go: a new folder, an empty one, or one that was begun with the same source and schema.
    schema : Schema
        What is public about the rows.
    numbers : bool, default=True
        Whether the numbers of numeric columns are kept beside their codes, for methods that cut numbers anywhere: 8
        bytes each.
    delimiter, encoding, decimal, missing
        As for `datasets.read`; of Parquet only `missing` is asked.
    replace : bool, default=False
        Whether codes that are in the folder are dropped first.
    progress : callable

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    DataError
        If a file cannot be read, changes while it is read, or does not fit the schema: how many cells of which column,
        counted over all rows, and never a cell's value. If the folder holds something else. If rows belong to persons.
    """
    if schema.persons is not None:
        raise DataError(
            f"The column {schema.persons.column!r} says whose row it is, and rows of persons cannot be encoded block "
            "by block: which of them count depends on all rows of a person.",
            "Fit on a table in memory; or leave at most that many rows of each person in the file, and declare a unit "
            "without a column: epsilon is then for a row, and as many times as much for a person.",
        )
    place, files = Path(fspath(folder)), sources(source)
    written = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
    asked = {
        "schema": schema.to_document(),
        "reading": {**written, "missing": sorted(missing)},
        "numbers": numbers,
    }
    if replace:
        _dropped(place)
    parts: list[dict[str, Any]] = []
    with _watched(files, progress) as (states, unchanged):
        asked["sources"] = states
        begun = _begun(place, asked)
        if begun is not None and begun["format"] == FORMAT:
            return place
        parts = [] if begun is None else begun["parts"]
        done = sum(part["rows"] for part in parts)
        rows = _groups(_fitting(files, schema, written, missing, done, progress), schema, numbers)
        for groups in _parted(rows):
            part = _write_part(place, f"part-{len(parts):05}.parquet", groups)
            if part["rows"]:
                unchanged()
                parts.append(part)
                _write_json(place / UNFINISHED, {"format": f"{FORMAT}, unfinished", **asked, "parts": parts})
        unchanged()
    total = sum(part["rows"] for part in parts)
    if not total:
        raise DataError("The file has a header line but no rows.", "Choose a file with rows.")
    _write_json(place / MANIFEST, {"format": FORMAT, "rows": total, **asked, "parts": parts})
    (place / UNFINISHED).unlink()
    return place

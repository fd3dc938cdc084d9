"""Measure encoding into a folder of codes, and writing files, at constant memory.

    python -m benchmarks.scale_io FOLDER ROWS

Printed are seconds, cells per second and peak memory. The table has fifteen uniform, independent
columns: seven categorical, four of integers, four of floats. Only Linux reports the peak.
"""

import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

import dpcore as dp
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.rows.writing import encode_folder

BLOCK = 1 << 20
CATEGORIES = (2, 5, 16, 9, 7, 40, 100)
SCHEMA = Schema(
    columns=(
        *(
            Column(name=f"of {size}", kind="categorical", categories=tuple(f"value {i}" for i in range(size)))
            for size in CATEGORIES
        ),
        *(Column(name=f"whole {j}", kind="integer", lower=0, upper=99, bins=20) for j in range(4)),
        *(Column(name=f"real {j}", kind="continuous", lower=0, upper=1) for j in range(4)),
    ),
    target="of 2",
)


def block(rows: int, rng: np.random.Generator) -> pa.Table:
    """Return some rows of the table."""
    columns: list[pa.Array] = [
        pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, size, rows, dtype=np.int32)), list(column.categories)
        ).dictionary_decode()
        for column, size in zip(SCHEMA, CATEGORIES, strict=False)
    ]
    columns += [pa.array(rng.integers(0, 100, rows)) for _ in range(4)]
    columns += [pa.array(rng.random(rows)) for _ in range(4)]
    return pa.table(columns, names=list(SCHEMA.names))


def tables(folder: Path, rows: int) -> tuple[Path, Path]:
    """Write the table as Parquet and as CSV."""
    rng, paths = np.random.default_rng(0), (folder / "table.parquet", folder / "table.csv")
    first = block(1, rng).schema
    with pq.ParquetWriter(paths[0], first) as parquet, arrow_csv.CSVWriter(paths[1], first) as text:
        for start in range(0, rows, BLOCK):
            table = block(min(BLOCK, rows - start), rng)
            parquet.write_table(table)
            text.write_table(table)
    return paths


def print_times(name: str, cells: int, work: Callable[[], object]) -> None:
    """Run `work` and print its clock and processor seconds, and the peak memory until then."""
    start, before = time.perf_counter(), time.process_time()
    work()
    clock, cores = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rates = f"{cells / clock / 1e6:6.1f} Mcells/s, {cells / cores / 1e6:6.1f} Mcells/s and core"
    print(f"{name:34} {clock:8.2f} s {rates}, peak {peak:6,.0f} MiB")


def encoding(folder: Path, rows: int) -> None:
    """Measure encoding from Parquet, with and without numbers, and from CSV."""
    parquet, text = tables(folder, rows)
    cells = rows * len(SCHEMA)
    for name, path, numbers in (
        ("Parquet to codes", parquet, False),
        ("Parquet to codes and numbers", parquet, True),
        ("CSV to codes", text, False),
    ):
        print_times(name, cells, partial(encode_folder, path, folder / name, schema=SCHEMA, numbers=numbers))


def sampling(folder: Path, rows: int) -> None:
    """Measure writing synthetic rows of two methods, as Parquet and as CSV."""
    learned = block(100_000, np.random.default_rng(1)).to_pandas()
    for kind in (dp.RefinedPrivBayes, dp.NaiveBayesSynthesizer):
        method = kind(epsilon=1.0, random_state=0).fit(learned, schema=SCHEMA)
        for name in ("rows.parquet", "rows.csv"):
            to = partial(method.sample_to, folder / name, rows, replace=True)
            print_times(f"{method.title} to {name}", rows * len(SCHEMA), to)


if __name__ == "__main__":
    folder, rows = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True)
    encoding(folder, rows)
    sampling(folder, rows)

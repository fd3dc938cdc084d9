"""Parquet that is longer than the memory, by the rules and to the cells of `parquet`, batch by batch."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.datasets.parquet import cells, check_plain, headers_of, open_parquet, sound

ROWS = 1 << 17
PIECE = 1 << 20  # bytes


class LongParquet:
    """A Parquet file: its `headers`, `batches` of its cells, and what these had by now: `rows`, and the share `done`.

    DataError with a cause and a remedy if it is none.
    """

    def __init__(self, path: Path) -> None:
        self._path, self.done, self.rows = path, 0.0, 0
        with sound():
            self._schema = pq.read_schema(path)
            self._places = headers_of(self._schema)
        self.headers = list(self._places)

    def batches(self, names: Sequence[str], missing: Sequence[str], skip: int) -> Iterator[list[pa.Array]]:
        """The cells of some columns, without the first `skip` rows: numbers, truth values, or dictionaries."""
        fields = [self._schema.field(self._places[name]) for name in names]
        for name, field in zip(names, fields, strict=True):
            check_plain(name, field.type)
        wanted = [field.name for field in fields]
        bounded = {"pre_buffer": False, "buffer_size": PIECE}  # else all that was read stays in memory to the end
        with sound(), open_parquet(self._path, **bounded) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            first = 0
            while first < len(sizes) and skip >= sizes[first]:
                skip, self.rows, first = skip - sizes[first], self.rows + sizes[first], first + 1
            for batch in file.iter_batches(ROWS, row_groups=range(first, len(sizes)), columns=wanted):
                self.rows += batch.num_rows
                self.done = self.rows / sum(sizes)
                left = batch.slice(skip)
                skip -= batch.num_rows - left.num_rows
                if left.num_rows:
                    yield [cells(left.column(name), missing) for name in wanted]

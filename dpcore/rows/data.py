"""A data set whose rows are in a folder: methods ask all of them, and what needs rows in memory gets some, by lot."""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpcore.datasets import Dataset, secret_seed
from dpcore.domain.schema import Schema
from dpcore.errors import DataError
from dpcore.rows.folder import CHANGED, Folder
from dpcore.rows.sources import rows_of

MOST_DRAWN = 50_000  # rows of either part


@dataclass(frozen=True, eq=False, repr=False)
class FolderData(Dataset):
    """Rows of a folder, split by secret lot.

    `train`, which methods are fitted on, and `test` are folders. `train_sample` and `test_sample`
    are uniform samples of at most 50,000 rows of each, for what looks at rows in memory: charts of
    some rows, and classifiers.
    """

    _: KW_ONLY
    samples: tuple[pd.DataFrame, pd.DataFrame]

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        schema: Schema | None = None,
        test_share: float = 0.3,
        split_seed: int | None = None,
        name: str = "",
        note: str = "",
    ) -> Self:
        """A folder that `dp.encode` wrote.

        Parameters
        ----------
        path : path
        schema : Schema, optional
            What is public, by which the rows have the codes that they have; by default what they
            were encoded by.
        test_share, split_seed
            As for `datasets.split`.
        name : str
            For people; by default the folder's.
        note : str
            Where the rows come from.

        Raises
        ------
        DataError
            If this is no such folder, a file of it has changed, or the lots leave no row to learn
            from.
        SchemaError
            If the folder was encoded by another schema.
        """
        whole = Folder.open(Path(fspath(path)))
        schema = whole.schema if schema is None else schema
        rows_of(whole, schema, {})
        seed = secret_seed() if split_seed is None else split_seed
        train, test = whole.split(test_share, seed)
        samples = sample_rows(train, schema, MOST_DRAWN), sample_rows(test, schema, MOST_DRAWN)
        again = {"encoded": True, "test_share": test_share, "split_seed": seed}
        kept: dict[str, Any] = {"note": note, "reading": again, "content": whole.content}
        return cls(name or whole.name, train, test, schema, **kept, samples=samples)

    @property
    def train_sample(self) -> pd.DataFrame:
        return self.samples[0]

    @property
    def test_sample(self) -> pd.DataFrame:
        return self.samples[1]

    @property
    def given(self) -> Folder:
        """What scripts that version 0.2 exported call the training part."""
        return cast(Folder, self.train)

    @property
    def sizes(self) -> tuple[int, int]:
        return len(self.train), len(self.test)

    def key(self, secret: bytes) -> str:
        return str(self.train.key(secret))


def sample_rows(folder: Folder, schema: Schema, most: int, seed: int = 0) -> pd.DataFrame:
    """Some columns of at most so many rows of a folder, chosen uniformly, in their order.

    Numbers are as they were read; if the folder does not have them, they are drawn inside their
    bins.
    """
    rng, rows = np.random.default_rng(seed), len(folder)
    indices = np.sort(rng.choice(rows, most, replace=False)) if rows > most else np.arange(rows)
    at = [folder.schema.index(name) for name in schema.names]
    has = frozenset[str]() if not folder.parts else frozenset.intersection(*(part.columns for part in folder.parts))
    numbered = [j for j in at if f"n{j}" in has]
    names = [*(f"c{j}" for j in at), *(f"n{j}" for j in numbered)]
    found: dict[str, list[Any]] = {name: [] for name in names}
    first = 0
    for block in folder.blocks(names):
        size = len(block[names[0]])
        here = indices[slice(*np.searchsorted(indices, [first, first + size]))] - first
        for name in names:
            found[name].append(block[name][here])
        first += size
    values: dict[str, Any] = {
        name: np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8) for name, parts in found.items()
    }
    return decoded_rows(schema, at, values, rng)


def first(part: Path, schema: Schema, most: int) -> pd.DataFrame:
    """The first rows of a file of codes, as `sample_rows` gives them; DataError if it cannot be read."""
    try:
        with pq.ParquetFile(part) as file:
            table = pa.Table.from_batches([next(file.iter_batches(most))])
        values = {name: table[name].to_numpy() for name in table.column_names}
        return decoded_rows(schema, range(len(schema)), values, np.random.default_rng(0))
    except (OSError, KeyError, StopIteration, pa.ArrowException):
        raise DataError(f"The file {part.name} of encoded rows cannot be read.", CHANGED) from None


def decoded_rows(
    schema: Schema, positions: Iterable[int], values: Mapping[str, NDArray[Any]], rng: np.random.Generator
) -> pd.DataFrame:
    """Rows with the codes, and the numbers if they are known, of a folder's columns at these positions."""
    found = {}
    for column, j in zip(schema, positions, strict=True):
        numbers = values.get(f"n{j}") if column.numeric else None
        found[column.name] = column.decode(values[f"c{j}"], rng) if numbers is None else column.write(numbers)
    return pd.DataFrame(found)

"""Data sets in folders of encoded rows: methods use all rows, other code gets a random sample."""

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
from dpcore.rows.folder import ENCODE_AGAIN, Folder
from dpcore.rows.sources import rows_of

MOST_DRAWN = 50_000  # rows of either part


@dataclass(frozen=True, eq=False, repr=False)
class FolderData(Dataset):
    """Rows of a folder, split into training and test rows at random with a secret seed.

    `train`, on which methods are fitted, and `test` are folders. `train_sample` and `test_sample`
    are uniform samples of at most 50,000 rows of each, for code that needs rows in memory: charts
    of some rows, and classifiers.
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
        """Open a folder that `dp.encode_folder` wrote, and split its rows.

        Parameters
        ----------
        path : path
            The folder.
        schema : Schema, optional
            The public schema, which must give the rows the same codes; by default the one by which
            the rows were encoded.
        test_share, split_seed
            As for `datasets.split`.
        name : str
            A name to show to people; by default the folder's.
        note : str
            Where the rows come from.

        Raises
        ------
        DataError
            If this is not such a folder, a file of it has changed, or no row is left for training.
        SchemaError
            If the folder was encoded with another schema.
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
        """Uniform sample of the training rows, in memory."""
        return self.samples[0]

    @property
    def test_sample(self) -> pd.DataFrame:
        """Uniform sample of the test rows, in memory."""
        return self.samples[1]

    @property
    def given(self) -> Folder:
        """Training rows, under the name that scripts exported by version 0.2 use."""
        return cast(Folder, self.train)

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of training rows and of test rows in the folder."""
        return len(self.train), len(self.test)

    def key(self, secret: bytes) -> str:
        """Return a keyed hash of the source files, by which a ledger recognizes the rows."""
        return str(self.train.key(secret))


def sample_rows(folder: Folder, schema: Schema, most: int, seed: int = 0) -> pd.DataFrame:
    """Return a uniform sample of at most `most` rows of a folder, in their order.

    Columns are those of `schema`. Numbers are the original ones; if the folder does not have them,
    they are drawn at random inside their bins.
    """
    rng, rows = np.random.default_rng(seed), len(folder)
    indices = np.sort(rng.choice(rows, most, replace=False)) if rows > most else np.arange(rows)
    positions = [folder.schema.index(name) for name in schema.names]
    has = frozenset[str]() if not folder.parts else frozenset.intersection(*(part.columns for part in folder.parts))
    numbered = [j for j in positions if f"n{j}" in has]
    names = [*(f"c{j}" for j in positions), *(f"n{j}" for j in numbered)]
    found: dict[str, list[Any]] = {name: [] for name in names}
    offset = 0
    for block in folder.blocks(names):
        size = len(block[names[0]])
        here = indices[slice(*np.searchsorted(indices, [offset, offset + size]))] - offset
        for name in names:
            found[name].append(block[name][here])
        offset += size
    none = np.empty(0, dtype=np.uint8)
    values: dict[str, Any] = {name: np.concatenate([none, *parts]) for name, parts in found.items()}
    return decoded_rows(schema, positions, values, rng)


def read_first_rows(part: Path, schema: Schema, most: int) -> pd.DataFrame:
    """Return the first `most` rows of `part`, a file of codes, as values.

    Numbers are the original ones; if the file does not have them, they are drawn at random inside
    their bins. DataError if the file cannot be read.
    """
    try:
        with pq.ParquetFile(part) as file:
            table = pa.Table.from_batches([next(file.iter_batches(most))])
        values = {name: table[name].to_numpy() for name in table.column_names}
        return decoded_rows(schema, range(len(schema)), values, np.random.default_rng(0))
    except (OSError, KeyError, StopIteration, pa.ArrowException):
        raise DataError(f"The file {part.name} of encoded rows cannot be read.", ENCODE_AGAIN) from None


def decoded_rows(
    schema: Schema, positions: Iterable[int], values: Mapping[str, NDArray[Any]], rng: np.random.Generator
) -> pd.DataFrame:
    """Return rows as values of a schema's columns, from the codes of a folder.

    `positions` says where each column of the schema is in the folder. `values` has arrays of codes
    ("c0", ...) and of original numbers ("n0", ...) by position in the folder. Without original
    numbers, `rng` draws them inside their bins.
    """
    found = {}
    for column, j in zip(schema, positions, strict=True):
        numbers = values.get(f"n{j}") if column.numeric else None
        found[column.name] = column.decode(values[f"c{j}"], rng) if numbers is None else column.write(numbers)
    return pd.DataFrame(found)

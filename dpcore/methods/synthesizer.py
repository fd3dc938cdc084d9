"""Methods that release rows: a table in memory, or a file of any length, block by block."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from dpcore.accounting.relation import Relation
from dpcore.arguments import Progress, check_arguments, is_whole, no_progress
from dpcore.datasets.released import check_place, write_frames
from dpcore.domain.column import Codes
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.language import phrase
from dpcore.mechanisms.noise import generator
from dpcore.methods.base import PrivateEstimator
from dpcore.postprocess.exchanges import decode_with_rules

MEMORY = 4_000_000_000  # bytes that sampled rows may take while they are made
# bytes: what every row takes, and a cell in codes, in drawing and as a value
PER_ROW, PER_CELL = 100, 24
BLOCK, MOST_CELLS = 1 << 17, 1 << 23  # rows and cells that are made together for a file


def most_rows(schema: Schema) -> int:
    """How many rows of a schema, about, can be made in `MEMORY`; public, like the schema."""
    return MEMORY // (PER_ROW + PER_CELL * len(schema))


def block_sizes(n: int, schema: Schema) -> Iterator[int]:
    """The sizes of the fewest blocks that n rows take: they differ by one row at most."""
    blocks = -(-n // min(BLOCK, max(MOST_CELLS // len(schema), 1)))
    return (n * (i + 1) // blocks - n * i // blocks for i in range(blocks))


class Synthesizer(PrivateEstimator):
    """Base of methods that release synthetic rows."""

    @check_arguments
    def sample(self, n: int | None = None) -> pd.DataFrame:
        """Sample synthetic rows inside the schema (post-processing, at no privacy loss).

        No row breaks a rule of the schema (`postprocess.exchanges`).

        Parameters
        ----------
        n : int, optional
            How many rows; by default as many as the release says the data have; of persons under
            replace, one for each.

        Returns
        -------
        DataFrame of n rows
            With `random_state` set, the same rows at every call.

        Raises
        ------
        ParameterError
            If the method is not fitted yet, `n` is no number of rows, or more rows than fit into
            memory.
        """
        self._check_fitted()
        rows = self.estimated_rows() if n is None else n
        self._check_rows(rows)
        if rows > (most := most_rows(self.schema_)):
            noise = " The release says that there are so many, which is mostly noise." if n is None else ""
            told = f"{rows:,} rows do not fit into {MEMORY / 1e9:g} GB; {most:,} of this schema do.{noise}"
            raise ParameterError(told, f"Pass n={most:_} or less, or write them to a file: sample_to(path, n).")
        rng = generator(self.random_state, 2)
        return decode_with_rules(self.schema_, self._sample(rows, rng), rng)

    @check_arguments
    def sample_to(
        self, path: str | PathLike[str], n: int, *, replace: bool = False, progress: Progress = no_progress
    ) -> Path:
        """Write any number of synthetic rows to a file, block by block at constant memory.

        Post-processing, at no privacy loss. The rows are made in the fewest blocks of at most
        131,072 rows, whose sizes differ by one row at most. Each block is as `sample` would make
        it, with random numbers of its own, so that in each one counts are the expected ones,
        rounded. They are other rows than those of `sample(n)`, and break no rule either.

        Parameters
        ----------
        path : path
            Its end tells the format: .parquet (with types) or .csv. All of it is there in the end,
            or nothing.
        n : int
            How many rows.
        replace : bool, default=False
            Whether a file that is there is replaced.
        progress : callable, optional
            Called with a fraction and a text; raising inside it stops, and leaves no file.

        Returns
        -------
        Path
            The file. With `random_state` set, of the same rows at every call.

        Raises
        ------
        ParameterError
            If n is no number of rows, or more than a release holds that is made of rows; if the
            format is not known, or the method is not fitted yet.
        DataError
            If the file cannot be written, or is there.
        """
        self._check_fitted()
        self._check_rows(n)
        place, rng = check_place(path, replace=replace), generator(self.random_state, 2)

        def frames() -> Iterator[pd.DataFrame]:
            made = 0
            for codes in self._blocks(block_sizes(n, self.schema_), rng):
                progress(made / n, phrase("{rows:,} rows written").format(rows=made))
                yield decode_with_rules(self.schema_, codes, rng)
                made += len(codes)

        write_frames(place, frames())
        progress(1.0, phrase("Done"))
        return place

    def _check_rows(self, n: object) -> None:
        if not is_whole(n, 1):
            raise ParameterError("The number of rows to sample is not a positive whole number.", "Try n=10_000.")

    def _blocks(self, sizes: Iterable[int], rng: np.random.Generator) -> Iterator[Codes]:
        """Codes of blocks of so many rows, each drawn with a stream of its own."""
        return (self._sample(size, rng.spawn(1)[0]) for size in sizes)

    def estimated_rows(self) -> int:
        """Return how many rows the release says that the data have, at least one.

        Returns
        -------
        int
            The public number or the noisy one, at most the public bound; of persons under replace,
            one row for each. It may be mostly noise, and then far from the real number.

        Raises
        ------
        ParameterError
            If the method is not fitted yet.
        """
        self._check_fitted()
        # in which a person has several
        unit, places = self.schema_.persons, self.relation == Relation.REPLACE
        rows = max(round(self._estimate / (unit.max_contributions if places and unit else 1)), 1)
        return rows if places or self.schema_.max_rows is None else min(rows, self.schema_.max_rows)

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Codes of n rows, shape (n, d)."""

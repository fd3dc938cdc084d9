"""Rows in a folder of Parquet files, which may be larger than memory: read in blocks, again for every question.

The folder has `manifest.json`, which names the schema and the parts, and the parts: a column "c0", "c1", … of codes for
each of the schema's columns, and "n0", … of the numbers of those that have any, NaN if missing.

What is asked of one table must be counted on one table. Checksums are compared when a folder is opened; from then on,
before and after every pass, a part of another size or time of writing is refused.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from dpcore.arguments import Flags, is_whole
from dpcore.datasets import Content, secret_seed
from dpcore.domain.column import Codes, Counts
from dpcore.domain.documents import json_value
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError
from dpcore.rows import exact_counts
from dpcore.rows.base import NumberRule, Rows, Rule
from dpcore.rows.exact_counts import Block, Family

MANIFEST, FORMAT = "manifest.json", "dpcore rows 1"
MOST = 1 << 26  # bytes of a manifest
LOTS = 1 << 20  # rows whose lots are drawn together
WORTH_PROCESSES = 1 << 31  # rows times families; below, starting them takes longer than counting
CHANGED = "Encode its source again, and open the folder anew."


@dataclass(frozen=True)
class Lots:
    """Which rows of a file are looked at, by a secret lot of each: those that `datasets.split` takes of all rows."""

    seed: int
    first: int  # rows of the table that stand before this file
    share: float  # that is put aside
    aside: bool  # whether these are the ones that are looked at

    def here(self, start: int, rows: int) -> Flags:
        """Whether each of some rows, from the file's row `start` on, is looked at."""
        rng = np.random.default_rng(self.seed)
        rng.bit_generator.advance(self.first + start)  # type: ignore[attr-defined]
        return np.asarray((rng.random(rows) < self.share) == self.aside)


@dataclass(frozen=True)
class Part:
    """A file of rows, and what it was when the folder was opened."""

    path: Path
    rows: int  # that are looked at
    size: int
    written: int  # in nanoseconds
    columns: frozenset[str]
    lots: Lots | None = None

    def check(self) -> None:
        """DataError if it is another file by now."""
        try:
            now = self.path.stat()
        except OSError:
            now = None
        if now is None or (now.st_size, now.st_mtime_ns) != (self.size, self.written):
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
        try:
            text = (folder / MANIFEST).read_bytes()
        except OSError:
            raise DataError(f"{cause}: it has no {MANIFEST}.", "Choose a folder that this program encoded.") from None
        found = json_value(text, DataError, cause, CHANGED, most=MOST)
        try:
            if found["format"] != FORMAT:
                raise DataError(f"{cause}: its format is another.", CHANGED)
            schema = Schema.from_document(found["schema"])
            named = [(str(part["file"]), part["rows"], str(part["sha256"])) for part in found["parts"]]
            total, sums = found["rows"], [str(one["sha256"]) for one in found["sources"].values()]
        except (AttributeError, KeyError, TypeError):
            raise DataError(f"{cause}: its {MANIFEST} lacks something.", CHANGED) from None
        if not all(re.fullmatch("[0-9a-f]{64}", one) for one in sums):
            raise DataError(f"{cause}: a checksum is none.", CHANGED)
        content = Content.of_files(sums) if sums else None
        rows = [many for _, many, _ in named]
        if not all(is_whole(many, 0) for many in (total, *rows)) or sum(rows) != total:
            raise DataError(f"{cause}: its numbers of rows do not add up.", CHANGED)
        if not all(Path(name).name == name for name, _, _ in named):
            raise DataError(f"{cause}: a part lies elsewhere.", CHANGED)
        parts = tuple(_opened(folder / name, many, checksum, schema) for name, many, checksum in named)
        together = hashlib.sha256("".join(checksum for _, _, checksum in named).encode()).hexdigest()
        return cls(schema, parts, together, folder.name, content)

    def split(self, test_share: float = 0.3, seed: int | None = None) -> tuple[Self, Self]:
        """Training and test rows by secret lot, as `datasets.split` of the same rows; both stay in the folder.

        DataError if the lots leave no row to learn from.
        """
        if not 0 <= test_share < 1:
            raise ParameterError("The share of test rows is not in [0, 1).", "Try test_share=0.3.")
        if any(part.lots for part in self.parts):
            raise ParameterError("These rows are split already.", "Split the folder as it was opened.")
        lots, first = secret_seed() if seed is None else seed, 0
        parts: tuple[list[Part], list[Part]] = [], []
        for part in self.parts:
            whose = Lots(lots, first, test_share, aside=True)
            tested = sum(
                int(whose.here(start, min(LOTS, part.rows - start)).sum()) for start in range(0, part.rows, LOTS)
            )
            parts[0].append(replace(part, rows=part.rows - tested, lots=replace(whose, aside=False)))
            parts[1].append(replace(part, rows=tested, lots=whose))
            first += part.rows
        train, test = (replace(self, parts=tuple(some)) for some in parts)
        if not len(train):
            raise DataError("The lots put every row aside for testing.", "Use a table with more rows.")
        return train, test

    def check(self) -> None:
        """DataError if a part is another file than when the folder was opened."""
        for part in self.parts:
            part.check()

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """The rows of some columns in order, by name; at most `exact_counts.BLOCK` rows at a time."""
        self.check()
        for part in self.parts:
            try:
                with pq.ParquetFile(part.path) as file:
                    start = 0
                    for batch in file.iter_batches(exact_counts.BLOCK, columns=list(names), use_threads=False):
                        found = {name: self._array(name, batch.column(name)) for name in names}
                        if part.lots is not None:
                            here = part.lots.here(start, batch.num_rows)
                            found = {name: values[here] for name, values in found.items()}
                            start += batch.num_rows
                        yield found
            except (OSError, KeyError, pa.ArrowException):
                raise DataError(f"The file {part.path.name} of encoded rows cannot be read.", CHANGED) from None
        self.check()

    def _array(self, name: str, column: pa.Array) -> NDArray[Any]:
        values: NDArray[Any] = column.to_numpy(zero_copy_only=True)
        if name[0] == "c" and len(values) and values.max() >= self.schema.sizes[int(name[1:])]:
            raise DataError("The encoded rows have a code that the schema does not have.", CHANGED)
        return values


def _opened(path: Path, rows: int, checksum: str, schema: Schema) -> Part:
    """A part, if it is what the manifest says."""
    try:
        before = path.stat()
        with path.open("rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == checksum
        columns = pq.read_metadata(path) if same else None
        types = pq.read_schema(path) if same else None
    except (OSError, pa.ArrowInvalid):
        raise DataError(f"The file {path.name} of encoded rows cannot be read.", CHANGED) from None
    if columns is None or types is None:
        raise DataError(f"The file {path.name} of encoded rows is not the one that was written.", CHANGED)
    sound = columns.num_rows == rows and all(
        f"c{j}" in types.names and pa.types.is_unsigned_integer(types.field(f"c{j}").type) for j in range(len(schema))
    )
    if not sound:
        raise DataError(f"The file {path.name} does not have the encoded rows that its manifest says.", CHANGED)
    part = Part(path, rows, before.st_size, before.st_mtime_ns, frozenset(types.names))
    part.check()
    return part


@dataclass(frozen=True, eq=False)
class LookUp:
    """A column that is looked up, row by row, from codes of others."""

    rule: Rule
    sources: tuple["Column", ...]


Column = int | LookUp
"""What a code is worked out from: the folder's own column of that position, or a rule."""


class FolderRows(Rows):
    """The rows of a folder, or a view of them: columns that are looked up, of the rows that have certain codes.

    Views hold rules and no rows. `numbers` has, by position, a public rule on the folder's numbers of a column of its
    own.
    """

    def __init__(
        self,
        folder: Folder,
        numbers: Mapping[int, NumberRule] = MappingProxyType({}),
        *,
        sizes: Sequence[int] | None = None,
        columns: Sequence[Column] | None = None,
        kept: Sequence[tuple[Column, int]] = (),
        rows: int | None = None,
    ) -> None:
        super().__init__(folder.schema.sizes if sizes is None else sizes)
        self.folder, self._numbers, self._rows = folder, dict(numbers), rows
        self._columns = tuple(range(len(folder.schema)) if columns is None else columns)
        self._kept = tuple(kept)

    def __len__(self) -> int:
        return len(self.folder) if self._rows is None else self._rows

    @property
    def numbered(self) -> frozenset[int]:
        return frozenset(self._numbers)

    def blocks(self, columns: Sequence[int], numbers: Sequence[int] = ()) -> Iterator[Block]:
        return _even(self._pieces(columns, numbers))

    def _pieces(self, columns: Sequence[int], numbers: Sequence[int]) -> Iterator[Block]:
        """The rows in order, in blocks as they come."""
        looks = [self._columns[j] for j in columns]
        needed = sorted({j for look in (*looks, *(look for look, _ in self._kept)) for j in _own(look)})
        ticks = {f"n{self._columns[j]}": self._numbers[j] for j in numbers}
        names = [*(f"c{j}" for j in needed), *ticks]
        for found in self.folder.blocks(names or ["c0"]):
            known: dict[int, NDArray[Any]] = {}
            block = [_looked_up(look, found, known) for look in looks]
            block += [rule(found[name]) for name, rule in ticks.items()]
            if self._kept:
                here = np.logical_and.reduce([_looked_up(look, found, known) == code for look, code in self._kept])
                block = [values[here] for values in block]
            yield block

    def recoded(self, sizes: Sequence[int], rules: Sequence[tuple[int, Rule]]) -> Self:
        columns = [_rule(rule, size, [self._columns[j]]) for (j, rule), size in zip(rules, sizes, strict=True)]
        return self._view(sizes, columns, self._kept, self._rows)

    def derived(self, size: int, sources: Sequence[int], rule: Rule) -> Self:
        column = _rule(rule, size, [self._columns[j] for j in sources])
        return self._view((*self.sizes, size), (*self._columns, column), self._kept, self._rows)

    def split(self, by: int) -> list[Self]:
        (many,) = self.tables([(by,)])
        column = self._columns[by]
        return [
            self._view(self.sizes, self._columns, (*self._kept, (column, code)), int(rows))
            for code, rows in enumerate(many)
        ]

    def held(self) -> Codes:
        raise DataError(
            "The paper's own way looks at all rows at once, and these are in a folder.",
            "Use mode='corrected', or fit on a DataFrame of rows that fit into memory.",
        )

    def _view(
        self, sizes: Sequence[int], columns: Sequence[Column], kept: Sequence[tuple[Column, int]], rows: int | None
    ) -> Self:
        return type(self)(self.folder, sizes=sizes, columns=columns, kept=kept, rows=rows)

    def _streamed(self, families: list[Family]) -> list[Counts]:
        """Over parts in several processes, if that pays; workers count, and nothing else."""
        _, jobs = get_active_backend()
        if jobs is None:
            jobs = -1 if len(self) * len(families) >= WORTH_PROCESSES else 1
        self.folder.check()  # a table that is remembered is one of this folder, too
        if jobs == 1 or not self.folder.parts[1:] or () in families:
            return super()._streamed(families)
        view = partial(type(self), sizes=self.sizes, columns=self._columns, kept=self._kept, rows=self._rows)
        shares = [replace(self.folder, parts=(part,)) for part in self.folder.parts]
        tasks = (delayed(Rows._streamed)(view(share), families) for share in shares)
        sums: list[Counts] = []
        for tables in Parallel(n_jobs=jobs, return_as="generator")(tasks):
            sums = [total + table for total, table in zip(sums, tables, strict=True)] if sums else tables
        self.folder.check()
        return sums


def _rule(rule: Rule, size: int, sources: Sequence[Column]) -> LookUp:
    """A look-up whose codes take little room."""
    return LookUp(rule.astype(np.min_scalar_type(max(size - 1, 0))), tuple(sources))


def _own(column: Column) -> Iterator[int]:
    """The folder's columns that a column is worked out from."""
    if isinstance(column, int):
        yield column
    else:
        for source in column.sources:
            yield from _own(source)


def _looked_up(column: Column, found: Mapping[str, NDArray[Any]], known: dict[int, NDArray[Any]]) -> NDArray[Any]:
    """A column's codes in a block; a rule that several columns rest on is looked up once."""
    if isinstance(column, int):
        return found[f"c{column}"]
    if id(column) not in known:
        known[id(column)] = column.rule[tuple(_looked_up(source, found, known) for source in column.sources)]
    return known[id(column)]


def _even(pieces: Iterator[Block]) -> Iterator[Block]:
    """The same rows in blocks of `exact_counts.BLOCK`, the rest at the end."""
    waiting: list[Block] = []
    held = 0
    for piece in pieces:
        start, rows = 0, len(piece[0])
        while held + rows - start >= exact_counts.BLOCK:
            end = start + exact_counts.BLOCK - held
            waiting.append([values[start:end] for values in piece])
            yield _one(waiting)
            waiting, held, start = [], 0, end
        if start < rows:
            waiting.append([values[start:] for values in piece])
            held += rows - start
    if held:
        yield _one(waiting)


def _one(blocks: list[Block]) -> Block:
    return blocks[0] if len(blocks) == 1 else [np.concatenate(columns) for columns in zip(*blocks, strict=True)]

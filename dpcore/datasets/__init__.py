"""Data sets, each split into training and test rows: files, a bundled sample, published, simulated.

Published data sets are looked for in `$DPCORE_DATA`, then in the user's cache
(`$XDG_CACHE_HOME/dpcore` or `~/.cache/dpcore`). Their checksums are compared, so that their
declared schemas describe them. Nothing is fetched from the network unless the caller requests it.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from secrets import randbits, token_hex
from typing import Any, Self, cast

import numpy as np
import pandas as pd

from dpcore.arguments import check_public
from dpcore.datasets.catalog import BANK_CARDS, TABLES, adult_schema, big5_schema, declared_schema, load_rows
from dpcore.datasets.proposals import propose_schema
from dpcore.datasets.reading import MAX_BYTES, read_frame, source_bytes
from dpcore.domain.cells import parse_columns
from dpcore.domain.schema import Schema, join_flags
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import ParameterError
from dpcore.text import writable

__all__ = [
    "BANK_CARDS", "DATASETS", "Content", "Dataset", "adult_schema", "big5_schema", "load", "new_token", "read",
    "secret_seed", "split",
]  # fmt: skip

DATASETS = ("sample", "adult", "big5", *BANK_CARDS)
SKIPPED = ("skip_first", "skip_last")  # arguments: numbers of rows left out at the ends of a file


# Public test share and seed for published data sets; their training rows are the private data.
PUBLISHED_SPLIT = (0.3, 0)


class Content:
    """Hash of private rows, by which a holder of the secret key recognizes them again.

    A plain checksum of private rows would be a query without noise: a person who knows all rows but
    one could test every guess of that row against the checksum. The SHA-256 therefore stays inside
    this object, and only its HMAC under a secret key leaves.

    Parameters
    ----------
    *parts : bytes
        The content, hashed as one sequence of bytes (SHA-256).
    """

    __slots__ = ("_sum",)

    def __init__(self, *parts: bytes) -> None:
        """Hash bytes as one sequence."""
        self._sum = hashlib.sha256(b"".join(parts)).digest()

    def __repr__(self) -> str:
        return "Content()"

    @classmethod
    def from_rows(cls, *tables: pd.DataFrame) -> Self:
        """Hash the rows of data sets, in order, independent of the files that the rows came from.

        Parameters
        ----------
        *tables : DataFrame
            The data sets.

        Returns
        -------
        Content
            The hash of all rows.
        """
        hashes = (pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes() for table in tables)
        return cls(*(len(part).to_bytes(8, "big") + part for part in hashes))

    @classmethod
    def from_files(cls, sums: Iterable[str]) -> Self:
        """Hash a set of files by their SHA-256 values; the order of the files does not matter.

        Parameters
        ----------
        sums : iterable of str
            The SHA-256 of each file, as hexadecimal text.

        Returns
        -------
        Content
            The hash; for one file the same as `Content` of its bytes.
        """
        found = cls.__new__(cls)
        each = sorted(bytes.fromhex(one) for one in sums)
        found._sum = each[0] if len(each) == 1 else hashlib.sha256(b"".join(each)).digest()
        return found

    def keyed_hash(self, secret: bytes) -> str:
        """Return the HMAC of the content: without the secret it only shows whether contents are equal.

        Parameters
        ----------
        secret : bytes
            The key.

        Returns
        -------
        str
            The HMAC (SHA-256), as hexadecimal text; equal content and secret give equal text.
        """
        return hmac.digest(secret, self._sum, "sha256").hex()


def new_token() -> str:
    """Return a random name for a data set that was just read; it reveals nothing about the rows.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return token_hex(16)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training rows, test rows, and the public schema of both.

    Parameters
    ----------
    name : str
        A name to show to people.
    train, test : DataFrame, or Folder
        Disjoint rows; methods see `train` only.
    schema : Schema
        The public description of both.
    token : str, optional
        Name of these rows in widgets and caches: random for every reading, fixed for the data sets
        of `load`.
    note : str, optional
        Where the rows come from, how they were split, and warnings about how the file was read.
    reading : mapping, optional
        Arguments of `read` that repeat the split, for exports, and how many rows at the ends of the
        file were left out. Delimiter, encoding and the like are not in it: whether a person has to
        declare those may depend on one private row.
    content : Content, optional
        Hash by which a persistent ledger recognizes these rows when they are read again; by default
        that of the rows themselves.
    """

    name: str
    train: Any
    test: Any
    schema: Schema
    token: str = field(default_factory=new_token)
    note: str = ""
    reading: Mapping[str, Any] | None = field(default=None, repr=False)  # has the split's seed
    content: Content | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.schema!r})"  # not the rows

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", writable(self.name))
        object.__setattr__(self, "note", writable(self.note))

    @property
    def target(self) -> str | None:
        """Name of the column to predict, if the schema has one."""
        return self.schema.target

    @property
    def train_sample(self) -> pd.DataFrame:
        """Training rows in memory: all of them, or a uniform sample if the rows are in a folder."""
        return cast(pd.DataFrame, self.train)

    @property
    def test_sample(self) -> pd.DataFrame:
        """Test rows in memory: all of them, or a uniform sample if the rows are in a folder."""
        return cast(pd.DataFrame, self.test)

    @property
    def in_memory(self) -> bool:
        """Whether all rows are in memory, and not in a folder of encoded rows."""
        return self.train is self.train_sample

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of training rows and of test rows."""
        return len(self.train_sample), len(self.test_sample)

    def key(self, secret: bytes) -> str:
        """Return a keyed hash of all rows; the same rows and secret give the same text.

        Parameters
        ----------
        secret : bytes
            The key.

        Returns
        -------
        str
            The HMAC, as `Content.keyed_hash` returns it.
        """
        return (self.content or Content.from_rows(self.train_sample, self.test_sample)).keyed_hash(secret)


def load(name: str, *, download: bool = False) -> Dataset:
    """Load a data set that this package knows: bundled, published, or simulated.

    Parameters
    ----------
    name : {"sample", "adult", "big5", "bank cards", "bank cards, dependent"}
        Name of the data set.
    download : bool, default=False
        Whether a missing file may be fetched from its public source into the user's cache.

    Returns
    -------
    Dataset
        Its training rows, its test rows and its declared schema.

    Raises
    ------
    ParameterError
        If there is no data set of that name.
    DataError
        If the files are missing, cannot be fetched, or differ from the published files.

    Examples
    --------
    >>> import dpcore as dp
    >>> data = dp.datasets.load("sample")
    >>> data.sizes, data.target
    ((14151, 5849), 'income')
    """
    if name not in DATASETS:
        known = ", ".join(map(repr, DATASETS))  # in quotes: one of the names has a comma
        remedy = f"Choose one of {known}; or read your own: dp.datasets.read({name!r}, schema=schema)."
        raise ParameterError(f"There is no data set {name!r}.", remedy)
    frames, parts = load_rows(name, download)
    train, test = frames if len(frames) == 2 else split(frames[0], *PUBLISHED_SPLIT)
    token = name.replace(", ", "-").replace(" ", "-")
    return Dataset(name, train, test, declared_schema(name), token, TABLES["notes"][name], content=Content(*parts))


def read(
    source: str | PathLike[str] | bytes,
    name: str = "",
    *,
    schema: Schema | None = None,
    target: str | None = None,
    test_share: float = 0.3,
    split_seed: int | None = None,
    max_bytes: int = MAX_BYTES,
    **reading: Any,
) -> Dataset:
    r"""Read a file of private rows, and split its rows into training and test rows.

    Parameters
    ----------
    source : path or bytes
        The file, or its bytes: csv, tsv or txt (also packed as gz, zip, bz2 or xz), Parquet, xlsx.
    name : str, optional
        The file name, whose extension gives the format; needed for bytes other than csv.
    schema : Schema, optional
        The public schema. Without it one is inferred from all rows, and the guarantee is void.
    target : str, optional
        The column to predict; by default the schema's target.
    test_share : float, default=0.3
        The probability of each row to be a test row, in [0, 1); see `split`.
    split_seed : int, optional
        The seed of `split`; by default a fresh secret, kept in `reading` to replay teaching runs.
    max_bytes : int
        Largest file accepted; default 50 MiB.
    **reading
        How the file is written: `delimiter`, `encoding`, `decimal`, `missing` and the other
        arguments of `datasets.reading.read_frame`.

    Returns
    -------
    Dataset
        Its rows, and the schema.

    Raises
    ------
    DataError
        If the file cannot be read.
    SchemaError
        If no schema can be inferred, or it lacks the target.
    ParameterError
        If `test_share` or `split_seed` is out of range.

    Examples
    --------
    >>> import dpcore as dp
    >>> schema = dp.Schema(
    ...     columns=(
    ...         dp.Column("age", "integer", lower=0, upper=99, bins=10),
    ...         dp.Column("ill", "categorical", categories=("no", "yes")),
    ...     )
    ... )
    >>> data = dp.datasets.read(b"age,ill\n41,no\n37,yes\n", schema=schema, test_share=0)
    >>> data.sizes
    (2, 0)
    """
    raw = source_bytes(source, max_bytes)
    name = name or ("" if isinstance(source, bytes) else Path(fspath(source)).name)
    frame = read_frame(raw, name, max_bytes=max_bytes, **reading)
    doubts = frame.attrs["read_as"].get("doubts", "").splitlines()
    if schema is None:
        schema = propose_schema(frame, target=target)
    elif target is not None:
        schema = replace(schema, target=target)
    frame = join_flags(frame, schema)
    frame = parse_columns(frame, [column.name for column in schema if column.is_plain_number and column.name in frame])
    seed = secret_seed() if split_seed is None else split_seed
    train, test = split(frame, test_share, seed, persons=schema.persons)
    shares = f"{1 - test_share:.0%} of the rows for training, {test_share:.0%} for testing."
    note = " ".join([shares, "Test rows were chosen at random before any fit.", *doubts])
    again = {"test_share": test_share, "split_seed": seed} | {end: reading[end] for end in SKIPPED if end in reading}
    return Dataset(name or "data", train, test, schema, note=note, reading=again, content=Content(raw))


def secret_seed() -> int:
    """Return a fresh random seed for `split`, from the operating system's entropy.

    Returns
    -------
    int
        63 random bits.
    """
    return randbits(63)


def split(
    frame: pd.DataFrame, test_share: float = 0.3, seed: int | None = None, *, persons: PrivacyUnit | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split rows into training and test rows at random, independent of the values in the rows.

    Both parts keep the order of the rows. Every row draws its own random number. While the seed is
    secret, the draws of two files that differ by one row can be coupled: all other rows draw alike,
    wherever that row stands. The split is then 1-stable, and a method's epsilon holds for the whole
    file. With a public seed, epsilon holds for the training rows only: a person who knows the order
    could detect a missing row by the draws of all rows after it.

    With `persons`, each person draws one number for all of their rows, and the same argument holds
    for files that differ by one person. One number per row would not do: the chance that a person
    is among the training rows would then depend on how many rows that person has.

    Parameters
    ----------
    frame : DataFrame
        All rows.
    test_share : float, default=0.3
        The probability of each row to be a test row, between 0 (no test rows) and 1, exclusive.
    seed : int, optional
        The same seed gives the same split; by default a fresh secret one.
    persons : PrivacyUnit, optional
        Names the column that identifies the person of each row.

    Returns
    -------
    train, test : DataFrame
        The two parts, with new row numbers.

    Raises
    ------
    ParameterError
        If the share or the seed is out of range.
    DataError
        If the frame lacks the column of persons, or that column has a missing cell.

    Examples
    --------
    >>> import dpcore as dp
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"age": range(1000)})
    >>> train, test = dp.datasets.split(rows, test_share=0.2, seed=1)
    >>> len(train), len(test)
    (812, 188)
    """
    if not 0 <= test_share < 1:
        raise ParameterError(f"`test_share` must be in [0, 1); got {test_share:g}.", "Try test_share=0.3.")
    if seed is not None and seed < 0:
        raise ParameterError(f"`seed` must be 0 or more; got {seed}.", "Omit `seed`, or use 1.")
    owners = np.arange(len(frame)) if persons is None else persons.persons(frame)
    draws = np.random.default_rng(secret_seed() if seed is None else seed).random(owners.max(initial=-1) + 1)
    test = draws[owners] < test_share
    return frame[~test].reset_index(drop=True), frame[test].reset_index(drop=True)


check_public(globals(), __all__)

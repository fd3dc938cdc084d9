"""Data sets, each split before any fit: a person's own file, the bundled sample, two published, two simulated ones.

The published ones are found in `$DPCORE_DATA`, then in the user's cache (`$XDG_CACHE_HOME/dpcore`
or `~/.cache/dpcore`), and are checked against a sum, so that their declared schemas are true of
them. Nothing is fetched from the network unless the caller asks.
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
from dpcore.datasets.proposals import propose_schema
from dpcore.datasets.published import BANK_CARDS, TABLES, adult_schema, big5_schema, declared_schema, known_rows
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
SKIPPED = ("skip_first", "skip_last")  # of a file, how many rows are left out


# The split of a published table is part of what is published: its training rows are the private table.
PUBLISHED_SPLIT = (0.3, 0)


class Content:
    """What tells rows from other rows, for the holder of a secret key and for no one else.

    A plain checksum of private rows is a query about them that no noise answered: a person who
    knows all rows but one can test every guess of that one against it. So the sum stays in here,
    and what leaves is its HMAC.

    Parameters
    ----------
    *parts : bytes
        What is summed up (SHA-256), as one.
    """

    __slots__ = ("_sum",)

    def __init__(self, *parts: bytes) -> None:
        self._sum = hashlib.sha256(b"".join(parts)).digest()

    def __repr__(self) -> str:
        return "Content()"

    @classmethod
    def of_rows(cls, *tables: pd.DataFrame) -> Self:
        """Sum up data sets, in order, no matter what they were read from.

        Parameters
        ----------
        *tables : DataFrame
            Their rows.

        Returns
        -------
        Content
            The sum.
        """
        hashes = (pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes() for table in tables)
        return cls(*(len(part).to_bytes(8, "big") + part for part in hashes))

    @classmethod
    def of_files(cls, sums: Iterable[str]) -> Self:
        """Sum up files by their SHA-256, in any order: a single one as its bytes.

        Parameters
        ----------
        sums : iterable of str
            The files' SHA-256, as hexadecimal text.

        Returns
        -------
        Content
            The sum.
        """
        found = cls.__new__(cls)
        each = sorted(bytes.fromhex(one) for one in sums)
        found._sum = each[0] if len(each) == 1 else hashlib.sha256(b"".join(each)).digest()
        return found

    def keyed(self, secret: bytes) -> str:
        """Return a name for the content that tells nothing without the secret.

        Parameters
        ----------
        secret : bytes
            The key.

        Returns
        -------
        str
            The HMAC (SHA-256), as hexadecimal text: the same for the same content and secret.
        """
        return hmac.digest(secret, self._sum, "sha256").hex()


def new_token() -> str:
    """Return a name for rows that were just read: random, so that it tells nothing of them.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return token_hex(16)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows to fit on, rows to evaluate on, and what is public about both.

    Parameters
    ----------
    name : str
        For people.
    train, test : DataFrame, or Folder
        Disjoint rows; methods see `train` only.
    schema : Schema
        The public description of both.
    token : str, optional
        Names these rows in widgets and caches: random for every reading, fixed for the data sets of
        `load`.
    note : str, optional
        Where the rows come from, how they were split, and what speaks against the way they were
        read.
    reading : mapping, optional
        Arguments of `read` that divide these rows again, for exports, and how many at the ends of the
        file are none. Nothing of how the file is written: one row may decide whether a person has to
        declare that.
    content : Content, optional
        By what the ledger's file knows these rows whenever they are read again; by default the rows
        themselves.
    """

    name: str
    train: Any
    test: Any
    schema: Schema
    token: str = field(default_factory=new_token)
    note: str = ""
    reading: Mapping[str, Any] | None = field(default=None, repr=False)  # with the seed of the lots
    content: Content | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.schema!r})"  # no rows, and not how many

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", writable(self.name))
        object.__setattr__(self, "note", writable(self.note))

    @property
    def target(self) -> str | None:
        """The class column, if the schema names one."""
        return self.schema.target

    @property
    def train_sample(self) -> pd.DataFrame:
        """Training rows that are in memory: all of them, or a uniform sample if the rows are in a folder."""
        return cast(pd.DataFrame, self.train)

    @property
    def test_sample(self) -> pd.DataFrame:
        """Test rows that are in memory, in the same way."""
        return cast(pd.DataFrame, self.test)

    @property
    def held(self) -> bool:
        """Whether all rows are in memory."""
        return self.train is self.train_sample

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of training and of test rows in memory."""
        return len(self.train_sample), len(self.test_sample)

    def key(self, secret: bytes) -> str:
        """Return the name of these rows for the holder of a secret: the same for the same file.

        Parameters
        ----------
        secret : bytes
            The key.

        Returns
        -------
        str
            As of `Content.keyed`.
        """
        return (self.content or Content.of_rows(self.train_sample, self.test_sample)).keyed(secret)


def load(name: str, *, download: bool = False) -> Dataset:
    """Load a data set that this package knows: bundled, published, or simulated on the spot.

    Parameters
    ----------
    name : {"sample", "adult", "big5", "bank cards", "bank cards, dependent"}
        Which one.
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
        If the files are not there, cannot be fetched, or are not the published ones.

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
    frames, parts = known_rows(name, download)
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
    r"""Read a person's own file, and split its rows into training and test rows.

    Parameters
    ----------
    source : path or bytes
        The file: csv, tsv or txt (also packed as gz, zip, bz2 or xz), Parquet or xlsx; or its
        bytes.
    name : str, optional
        The file name that tells the format; needed for bytes other than csv.
    schema : Schema, optional
        What is public. If none is given it is inferred from all rows, and the guarantee is void.
    target : str, optional
        The class column; default the schema's own.
    test_share : float, default=0.3
        The probability of each row to be a test row, in [0, 1); see `split`.
    split_seed : int, optional
        The seed of `split`; by default a fresh secret, kept in `reading` for replays of teaching
        runs.
    max_bytes : int
        Largest file accepted; default 50 MiB.
    **reading
        How the file is written: `delimiter`, `encoding`, `decimal`, `missing` and all else of
        `datasets.reading.read_frame`.

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
    note = " ".join([shares, "Test rows were chosen by lot before any fit.", *doubts])
    again = {"test_share": test_share, "split_seed": seed} | {end: reading[end] for end in SKIPPED if end in reading}
    return Dataset(name or "data", train, test, schema, note=note, reading=again, content=Content(raw))


def secret_seed() -> int:
    """Return a seed for `split` from the operating system's entropy.

    Returns
    -------
    int
        63 random bits.
    """
    return randbits(63)


def split(
    frame: pd.DataFrame, test_share: float = 0.3, seed: int | None = None, *, persons: PrivacyUnit | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split rows into training and test rows at random; the draw never looks at values.

    Both parts keep the order of the rows. Every row draws its own number. While the seed is secret
    these numbers are independent of the rows, and those of two files that differ by one row,
    wherever it stands, can be coupled so that all other rows draw alike: the split is 1-stable, and
    a method's epsilon holds for the whole file. With a public seed it holds for the training rows
    as they stand, but not for the file: a person who knows the order could tell a missing row by
    the numbers of all rows after it.

    With `persons`, every person draws one number for all rows, and the same holds for files that
    differ by one person. Numbers of rows would not do: whether a person is among the training rows
    would hang on how many rows they have.

    Parameters
    ----------
    frame : DataFrame
        All rows.
    test_share : float, default=0.3
        The probability of each row to be a test row, between 0 (no test rows) and 1, exclusive.
    seed : int, optional
        The same seed gives the same split; by default a fresh secret one.
    persons : PrivacyUnit, optional
        With the column that says whose row it is.

    Returns
    -------
    train, test : DataFrame
        The two parts, with new row numbers.

    Raises
    ------
    ParameterError
        If the share or the seed is out of range.
    DataError
        If the frame lacks the persons' column, or a person is missing in it.

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
        raise ParameterError(f"`seed` must be 0 or more; got {seed}.", "Leave it out, or use 1.")
    owners = np.arange(len(frame)) if persons is None else persons.persons(frame)
    draws = np.random.default_rng(secret_seed() if seed is None else seed).random(owners.max(initial=-1) + 1)
    test = draws[owners] < test_share
    return frame[~test].reset_index(drop=True), frame[test].reset_index(drop=True)


check_public(globals(), __all__)

"""From a choice or a file to a data set: read once, and kept until another one is read.

Of a table that is larger than memory, only the first rows are read here. The module `folders`
encodes all its rows.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.dashboard import hosting, housekeeping, session
from dpcore.dashboard.shell import drop_waiting_runs, escape, mendable
from dpcore.dashboard.widgets import choice
from dpcore.datasets import Content, Dataset
from dpcore.datasets.delimited_text import ESCAPED, SCRIPTS, WESTERN
from dpcore.datasets.formats import TABLE_FORMATS
from dpcore.datasets.proposals import (
    RARE,
    column_of_flags,
    count_values,
    propose_orders,
    propose_pairs,
    propose_schema,
    round_bounds_outward,
    to_column,
)
from dpcore.datasets.reading import read_frame
from dpcore.datasets.recognition import RecognizedColumn, recognize
from dpcore.datasets.schema_formats import Fields
from dpcore.datasets.streams import read_head
from dpcore.domain.cells import parse_columns
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema, join_flags
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, DPCoreError, SchemaError
from dpcore.language import phrase, say
from dpcore.rows.data import read_first_rows
from dpcore.rows.folder import FolderStatus, read_folder_status
from dpcore.text import canonical

SOURCES = {
    "sample": phrase("Bundled sample"),
    "adult": phrase("UCI Adult"),
    "big5": phrase("Big Five answers"),
    "bank cards": phrase("Bank cards"),
    "bank cards, dependent": phrase("Bank cards, dependent columns"),
    "upload": phrase("My own file"),
    "folder": phrase("A file or folder on this computer"),
}
# Sources of the user's own rows, and functions that say whether the server offers them.
OWN = {"upload": hosting.accepts_uploads, "folder": hosting.is_own_computer}
# Options that are not chosen follow from the header and rules, never from rows (`delimited_text`).
DELIMITERS = {"": phrase("as found in the header"), ",": phrase("comma"), ";": phrase("semicolon")}
DELIMITERS |= {"\t": phrase("tab"), "|": phrase("vertical bar")}
UTF = ("utf-8", "utf-16", "utf-16-le", "utf-16-be")
ENCODINGS = {"": phrase("UTF-8, or by the byte order mark")}
ENCODINGS |= {name: name for name in (*UTF, *WESTERN, *SCRIPTS, *ESCAPED)}
DECIMALS = {"": phrase("decimal comma if semicolons split cells"), ".": phrase("decimal point"), ",": phrase("comma")}
READING = {
    "delimiter": (phrase("Columns are separated by"), DELIMITERS),
    "encoding": (phrase("Text encoding"), ENCODINGS),
    "decimal": (phrase("Decimal mark"), DECIMALS),
}
USE, ENCODE = "data", "data.encode"  # names of runs: for rows in memory, and for larger tables
SKIP = "data.skip"  # rows that are skipped at the ends of a file
TESTED = "-tested"  # end of the token of a data set with test rows
HANDED = "data.handed"  # a file from another page: id, name, bytes


@dataclass(eq=False, repr=False)
class Intake:
    """A table that was read: a split data set of the package, or an uploaded frame, not yet split.

    `frame` has the rows; of a table on this computer (`path`), or its codes, only the first ones.
    `rows` is the number of all rows, or an estimate. `schema` is the schema before the edits on the
    page. The `inferred_columns` were inferred from the rows, and no one has declared them. The
    `incomplete_columns` still need public values from the user.

    `options` are the arguments of `datasets.read` that the user chose; `notes` are warnings about
    the file. `split_seed` is drawn once per reading. `column_types` are recognized in an upload.
    `listed_rare` are rare values that the user lists anyway. `answers` are answered
    questions, which are not drawn again. `changes` are an answer's changes to the schema, and
    `columns` among them those that it includes. `before_join` are the rows and the recognized types
    before indicator columns were joined.
    """

    name: str
    frame: pd.DataFrame
    schema: Schema
    read_as: str
    rows: int | None
    path: Path | None = None
    dataset: Dataset | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    content: Content | None = None
    token: str = field(default_factory=datasets.new_token)
    split_seed: int = field(default_factory=datasets.secret_seed)
    column_types: tuple[RecognizedColumn, ...] = ()
    incomplete_columns: tuple[Fields, ...] = ()
    version: int = 0  # of the schema
    listed_rare: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    answers: set[str] = field(default_factory=set)
    changes: dict[str, Any] = field(default_factory=dict)
    before_join: tuple[pd.DataFrame, tuple[RecognizedColumn, ...]] | None = None

    def __post_init__(self) -> None:
        """Derive the inferred columns from the schema, and cache results that read rows."""
        self.inferred_columns = self.schema.names if self.schema.source == "inferred" else ()
        self.rare, self.sizes = cache(self.rare_values), cache(self.count_rows)
        self.rules = cache(self.find_rules)

    def rare_values(self, name: str, unit: PrivacyUnit | None) -> dict[str, tuple[str, float]]:
        """Return a column's values of few rows, or few persons, as {text: (value, share)}.

        With a privacy `unit`, the persons of each value are counted, otherwise its rows. The share
        is relative to the sum of the counts of all values of the column `name`.
        """
        counts = count_values(self.frame[name], None if unit is None else self.frame.get(unit.id_column))
        every = max(sum(counts.values()), 1)
        return {canonical(one): (one, counts[one] / every) for one in sorted(counts) if one and counts[one] < RARE}

    def find_rules(self, columns: Sequence[Column]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the orders and impossible pairs that no row violates, as proposals.

        Orders are texts such as "a <= b", and impossible pairs such as "a = x, never b = y". Both
        are of the given `columns`.
        """
        flags = {name for one in self.column_types for name in one.flags}  # to become one column
        pairs = propose_pairs(self.frame, [one for one in columns if one.name not in flags])
        return propose_orders(self.frame, columns), pairs

    @property
    def headers(self) -> list[str]:
        """Names of all columns of the table."""
        return list(self.frame.columns)

    @property
    def request(self) -> str:
        """Name of the run that the button of the page Data requests."""
        return USE if self.path is None else ENCODE

    def preview(self) -> pd.DataFrame:
        """Return the first rows, for the user who brought them."""
        return self.frame.head(20)

    def proposal(self, name: str) -> Column:
        """Return a column with bounds or categories from the rows, which voids the guarantee.

        Raises
        ------
        SchemaError
            If nothing can be inferred.
        """
        found = [to_column(one, self.frame[name])[0] for one in self.column_types if one.name == name]
        if not found or found[0] is None:
            cause = f"No bounds or categories can be proposed for column {name!r} from its rows."
            raise SchemaError(cause, "Enter the public values of the column, or exclude it.")
        return round_bounds_outward(found[0])

    def join_columns(self, flags: Sequence[str]) -> Column:
        """Join indicator columns of 0 and 1 into one categorical column, and return that column."""
        column = column_of_flags(flags, self.headers)
        self.before_join = self.before_join or (self.frame, self.column_types)
        self.frame = join_flags(self.frame, [column])
        self.column_types = tuple(one for one in self.column_types if one.name not in flags)
        return replace(column, missing=not self.is_whole(column.name))

    def ask_again(self) -> None:
        """Ask all questions about the table again.

        Skipped rows come back, and joined columns are separated.
        """
        self.answers.clear()
        skip_row(None)
        if self.before_join:
            (self.frame, self.column_types), self.before_join = self.before_join, None
            self.changes["columns"] = [flag for one in self.schema for flag in one.flags]

    def is_whole(self, name: str) -> bool:
        """Return whether a column has no empty cell."""
        return not (self.frame[name].isna() | (self.frame[name] == "")).any()

    def count_rows(self, unit: PrivacyUnit | None, share: float) -> tuple[int, int]:
        """Return the number of training rows, and of their persons (0 without a privacy unit).

        `share` is the share of test rows. Of each person, at most the unit's `max_contributions`
        rows are counted. Both numbers are 0 for a table that is larger than memory, before it is
        encoded.
        """
        if self.dataset is not None:
            return self.dataset.sizes[0], 0
        if self.path is not None:
            return 0, 0  # known once the rows are encoded
        columns = self.frame.filter([str(unit.id_column)] if unit else [])
        train, _ = datasets.split(columns, share, self.split_seed, persons=unit)
        if unit is None:
            return len(train), 0
        each = np.bincount(unit.persons(train))
        return int(np.minimum(each, unit.max_contributions).sum()), len(each)

    def set_schema(self, schema: Schema, inferred: Sequence[str], incomplete: Sequence[Fields] = ()) -> None:
        """Store an edited schema, which counts as inferred if any column is in `inferred`.

        `incomplete` are columns that still need public values.
        """
        self.schema, self.version = with_source(schema, inferred), self.version + 1
        self.inferred_columns, self.incomplete_columns = tuple(inferred), tuple(incomplete)

    def token_of(self, share: float) -> str:
        """Return the token that identifies a data set of these rows with a share of test rows.

        A data set without test rows has another token, so that no release is tested on rows that it
        learned from.
        """
        return self.token + TESTED * bool(share)

    def is_source_of(self, data: Dataset) -> bool:
        """Return whether a data set was made from these rows, with or without test rows."""
        return data.token.removesuffix(TESTED) == self.token


def with_source(schema: Schema, inferred: Sequence[str]) -> Schema:
    """Return the schema, marked as inferred if any column is in `inferred`, else as declared."""
    return replace(schema, source="inferred" if inferred else "declared", notes=())


def current_intake() -> Intake:
    """Return the table that was read last; at first the bundled sample."""
    return session.keep_once("dpcore.intake", partial(load_bundled, "sample"))


def load_bundled(name: str, *, download: bool = False) -> Intake:
    """Load a data set that the package knows, and download it first if `download` is true."""
    data = datasets.load(name, download=download)
    known: dict[str, Any] = {"read_as": data.note, "rows": sum(data.sizes), "token": data.token}
    return Intake(data.name, data.train_sample, data.schema, dataset=data, **known)


def choose_table(bar: Any) -> None:
    """Draw the choice of another table, and read the chosen one.

    The choice is in a popover in the container `bar`, or on the page while the user's own table is
    chosen but not read yet. A failure is shown with its remedy, and the previous table stays.
    """
    offers = {name: OWN.get(name, partial(hosting.is_offered, name)) for name in SOURCES}
    sources = {name: words for name, words in SOURCES.items() if offers[name]()}
    before, path = current_intake(), ""
    awaited = st.session_state.get("data.source") in OWN and before.dataset is not None
    style: Any = {"key": "data.other", "type": "tertiary", "icon": ":material/upload_file:"}
    with st.container() if awaited else bar.popover(say("Load another table"), on_change="rerun", **style):
        label = say("Your own table: {kinds}, also compressed", kinds=", ".join(TABLE_FORMATS))
        note = say("The file is read into the memory of this server, and written nowhere.")
        close = {HANDED: None, "data.source": "upload", "data.other": False}
        style = {"on_change": st.session_state.update, "args": (close,), "help": note}
        file = housekeeping.uploader(label, key="data.file", **style)
        source: str = choice(st.selectbox, say("Data"), "data.source", sources)
        if source == "folder":
            label = say("Path of a CSV or Parquet file, a folder of them, or encoded rows")
            note = say("Only the first rows are read for this page. No data leave this computer.")
            path = st.text_input(label, key="data.path", help=note, persist_state="session")
    with mendable():
        if source in OWN:
            read_own(source, file, path)
        elif before.dataset is None or before.name != source:
            read_bundled(source)
    if current_intake() is not before:
        restart_page()


def restart_page() -> NoReturn:
    """Rerun the page after a new table was read, and drop the run that was requested before."""
    drop_waiting_runs(USE)
    st.rerun()


def read_bundled(name: str) -> None:
    """Read a data set that the package knows; draw a button to download it if it is missing."""
    try:
        st.session_state["dpcore.intake"] = load_bundled(name)
    except DataError:
        if name != "adult":
            raise  # the error says where to get the data
        label = say("Download {name} from its public source", name=say(SOURCES[name]))
        if st.button(label, icon=":material/cloud_download:", key="data.fetch"):
            st.session_state["dpcore.intake"] = load_bundled(name, download=True)


def read_own(source: str, file: Any, path: str) -> None:
    """Read an uploaded file, or a table on this computer, unless it was read already.

    `source` is "upload" or "folder". `file` is Streamlit's uploaded file, or None, and `path` is
    the path of a table as typed.
    """
    options = {name: mark for name in READING if (mark := st.session_state.get(f"data.{name}"))}
    token, name, raw = st.session_state.get(HANDED) or ("", "", b"")
    if file is not None:
        token, name, raw = file.file_id, file.name, file.getvalue()
    options |= st.session_state.get(f"{SKIP}:{token}", {}) if source == "upload" else {}
    wanted = path if source == "folder" else token, options
    if not wanted[0] or (st.session_state.get("dpcore.asked") == wanted and current_intake().dataset is None):
        return
    if source == "folder":
        found = read_path(path, options)
    else:
        frame = read_frame(raw, name, max_shape=hosting.max_shape(), **options)
        marks = frame.attrs["read_as"] | {"doubts": "", "decimal": ""}
        words = ", ".join(DELIMITERS.get(mark, mark) for mark in marks.values() if mark)
        more: dict[str, Any] = {"rows": len(frame), "options": options, "content": Content(raw)}
        found = make_intake(name, frame, read_as=words, **more)
    st.session_state["dpcore.intake"], st.session_state["dpcore.asked"] = found, wanted


def skip_row(end: str | None) -> None:
    """Skip one more row at an end of the file, `skip_first` or `skip_last`; None skips no row.

    The file is then read again.
    """
    token, _ = st.session_state.get("dpcore.asked") or ("", {})
    known: dict[str, int] = st.session_state.pop(f"{SKIP}:{token}", {})
    if end is not None:
        st.session_state[f"{SKIP}:{token}"] = known | {end: known.get(end, 0) + 1}


def read_path(text: str, options: Mapping[str, Any]) -> Intake:
    """Return the first rows of a table on this computer, at the typed path `text`.

    `options` are the user's choices of how the file is read. If there are encoded rows of the
    table, their schema is taken.
    """
    with path_errors():
        path = hosting.absolute_path(text.strip().strip("\"'"))
        name = f"{path.name}{'/' * path.is_dir()}"  # unlike all names of data sets
        if (known := read_codes(path)) is not None:
            frame = read_first_rows(path / next(iter(known.parts)), known.schema, 1_000)
            words = say("Encoded rows: values are known only as bins and categories.")
            return Intake(name, frame, known.schema, words, known.rows, path, options=known.reading)
        (_, known), schema = find_codes(path), None
        if known is not None:
            schema, options = known.schema, options or known.reading
        found = read_head(path, **options)
        words = say("Only the first {rows:,} rows of the table were read.", rows=len(found.frame))
        more: dict[str, Any] = {"rows": found.rows, "path": path, "options": options}
        return make_intake(name, found.frame, schema, read_as=words, **more)


def make_intake(name: str, frame: pd.DataFrame, schema: Schema | None = None, **more: Any) -> Intake:
    """Return an `Intake` of rows, with a proposed schema if none is given.

    The bounds of a proposed schema are rounded outward, so that none is the value of a single row.
    `more` has further fields of the `Intake`.
    """
    seems = recognize(frame)
    if schema is None:
        schema = propose_schema(frame, seems)
        rare = {one.name for one in schema if is_mostly_rare(one, frame[one.name])}
        if rare < {*schema.names}:
            schema = schema.select([name for name in schema.names if name not in rare])
            why = phrase("most rows of the column have rare values")
            seems = tuple(replace(one, keep=False, reason=why) if one.name in rare else one for one in seems)
        schema = replace(schema, columns=tuple(map(round_bounds_outward, schema)))
    notes = tuple(frame.attrs["read_as"].get("doubts", "").splitlines())
    return Intake(name, frame, schema, notes=notes, column_types=seems, **more)


def is_mostly_rare(column: Column, cells: "pd.Series[Any]") -> bool:
    """Return whether less than half of a column's non-empty cells have one of its listed values.

    Then most cells have rare values. It is False for numeric columns, and for columns that refuse
    values outside their list.
    """
    if column.numeric or column.outside != "clip":
        return False
    counts, listed = count_values(cells), {*map(canonical, column.categories)}
    return 2 * sum(many for one, many in counts.items() if canonical(one) in listed) < sum(counts.values())


@contextmanager
def path_errors() -> Iterator[None]:
    """Turn errors of the operating system in the block into `DataError`.

    Raises
    ------
    DataError
        Also if this server does not offer its own files by path.
    """
    hosting.require_own_computer()
    try:
        yield
    except DPCoreError:
        raise
    except (OSError, RuntimeError, ValueError):
        cause = phrase("The file or folder at this path cannot be read.")
        raise DataError(cause, phrase("Check the path and its permissions.")) from None


def read_codes(folder: Path) -> FolderStatus | None:
    """Return the description of a folder of encoded rows; None if the folder has none.

    Raises
    ------
    DataError
        If the encoding is unfinished or damaged.
    """
    found = read_folder_status(folder)
    if found is not None and not (found.complete and found.parts and not found.damaged_part()):
        raise DataError(
            phrase("The encoding of this folder is unfinished, or its files have changed."),
            phrase("Choose the original file or folder, and encode it again."),
        )
    return found


def find_codes(source: Path) -> tuple[Path, FolderStatus | None]:
    """Return the folder for a table's encoded rows, and the up-to-date ones in it, if any.

    The folder is beside the table, or in the user's cache if the table's folder is not writable.
    """
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpcore" / "codes"
    cached /= f"{source.name}-{hashlib.sha256(str(source.resolve()).encode()).hexdigest()[:12]}"
    near = source.with_name(f"_{source.name}.codes")  # not read as a part of a folder of tables
    folders = [near, cached] if os.access(source.parent, os.W_OK) else [cached, near]
    for folder in folders:
        if (found := read_folder_status(folder)) is not None and not found.source_changed(source):
            return folder, found
    return folders[0], None


def choose_reading(page: str) -> dict[str, Any]:
    """Draw the choices for reading a text file; return them as arguments of `read_frame`.

    They are the delimiter, the encoding and the decimal mark; None leaves one to `read_frame`.
    """
    slots, chosen = st.columns(len(READING)), {}
    for slot, (name, (label, marks)) in zip(slots, READING.items(), strict=True):
        chosen[name] = choice(slot.selectbox, say(label), f"{page}.{name}", marks) or None
    return chosen


def describe_intake(rows: Intake) -> str:
    """Return one line with a table's name and its numbers of rows and columns."""
    many = "?" if rows.rows is None else f"{rows.rows:,}"
    shape = say("{rows} rows, {columns:,} columns", rows=many, columns=rows.frame.shape[1])
    return f"{escape(rows.name)} · {shape}"


def make_dataset(intake: Intake, schema: Schema, test_share: float) -> Dataset:
    """Return the data set of a table, split into training and test rows.

    Every row must fit the schema.
    """
    if intake.dataset is not None:
        schema.encode(intake.dataset.train_sample)
        schema.encode(intake.dataset.test_sample)
        return replace(intake.dataset, schema=schema)
    schema.encode(intake.frame)
    rows = parse_columns(intake.frame, [column.name for column in schema if column.is_plain_number])
    train, test = datasets.split(rows, test_share, intake.split_seed, persons=schema.persons)
    if train.empty:
        raise DataError("At random, all rows became test rows.", "Use a table with more rows.")
    known = intake.token_of(test_share), intake.read_as
    reading = {"test_share": test_share, "split_seed": intake.split_seed}
    reading |= {end: intake.options[end] for end in datasets.SKIPPED if end in intake.options}
    return Dataset(intake.name, train, test, schema, *known, reading, intake.content)

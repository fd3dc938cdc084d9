"""From a choice or a file to a data set: read once, kept until something better is read.

Of a table that is longer than the memory only the first rows are here; `folders` encodes them all.
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
from dpcore.dashboard.shell import escape, forget, mendable
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
    "bank cards, dependent": phrase("Bank cards, dependent"),
    "upload": phrase("My own file"),
    "folder": phrase("A file or folder on this computer"),
}
# Sources of a person's own rows, and whether this server offers them.
OWN = {"upload": hosting.takes_files, "folder": hosting.own_computer}
# What is not chosen follows from the header and from rules, never from the rows (`delimited`).
DELIMITERS = {"": phrase("as in the header"), ",": phrase("comma"), ";": phrase("semicolon")}
DELIMITERS |= {"\t": phrase("tab"), "|": phrase("bar")}
UTF = ("utf-8", "utf-16", "utf-16-le", "utf-16-be")
ENCODINGS = {"": phrase("UTF-8, or as marked")}
ENCODINGS |= {name: name for name in (*UTF, *WESTERN, *SCRIPTS, *ESCAPED)}
DECIMALS = {"": phrase("comma beside semicolons"), ".": phrase("point"), ",": phrase("comma")}
READING = {
    "delimiter": (phrase("Columns are separated by"), DELIMITERS),
    "encoding": (phrase("Encoding"), ENCODINGS),
    "decimal": (phrase("Decimal mark"), DECIMALS),
}
USE, ENCODE = "data", "data.encode"  # what the page asks for: of rows in memory, and of others
SKIP = "data.skip"  # which rows at the ends of a file are left out
TESTED = "-tested"  # ends the token of a data set some of whose rows are set apart
HANDED = "data.handed"  # a file that another page was given: an id, its name, and its bytes


@dataclass(eq=False, repr=False)
class Intake:
    """What was read: a split data set as it is, or an uploaded frame that is still to be split.

    `schema` is as it was kept last, before edits. Lines of `read_off` are as the rows say, and no
    one has declared them. Of columns in `asked` someone still has to say something: in the schema
    they have no more than a name.

    `options` are how a person declared the file to be read, as arguments of `datasets.read`;
    `notes` are what in it should be looked at. `split_seed` is drawn once per reading. `found` is
    what an upload's columns seem to be. Of a table on this computer (`path`), or its codes, the
    frame has the first rows; `rows` is how many there are, about. `ticked` are rare values that are
    listed all the same, `answers` questions that are not asked again, and `changes` what an answer
    says of the schema, and which `columns` it takes in use. `before_join` are rows and findings
    before columns were put together.
    """

    name: str
    frame: pd.DataFrame
    schema: Schema
    read_as: str
    rows: int | None
    path: Path | None = None
    fixed: Dataset | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    content: Content | None = None
    token: str = field(default_factory=datasets.new_token)
    split_seed: int = field(default_factory=datasets.secret_seed)
    found: tuple[RecognizedColumn, ...] = ()
    asked: tuple[Fields, ...] = ()
    version: int = 0  # of the schema
    ticked: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    answers: set[str] = field(default_factory=set)
    changes: dict[str, Any] = field(default_factory=dict)
    before_join: tuple[pd.DataFrame, tuple[RecognizedColumn, ...]] | None = None

    def __post_init__(self) -> None:
        self.read_off = self.schema.names if self.schema.source == "inferred" else ()
        self.rare, self.sizes = cache(self.rare_values), cache(self.count_rows)
        self.rules = cache(self.find_rules)

    def rare_values(self, name: str, unit: PrivacyUnit | None) -> dict[str, tuple[str, float]]:
        """A column's values of few rows, or of few persons, and the share that has each, by their canonical texts."""
        held = count_values(self.frame[name], None if unit is None else self.frame.get(unit.id_column))
        every = max(sum(held.values()), 1)
        return {canonical(one): (one, held[one] / every) for one in sorted(held) if one and held[one] < RARE}

    def find_rules(self, columns: Sequence[Column]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The orders and impossible pairs that no row breaks: nothing of it is declared."""
        flags = {name for one in self.found for name in one.flags}  # said to be one column
        pairs = propose_pairs(self.frame, [one for one in columns if one.name not in flags])
        return propose_orders(self.frame, columns), pairs

    @property
    def headers(self) -> list[str]:
        """The names of all columns."""
        return list(self.frame.columns)

    @property
    def request(self) -> str:
        """What the page's button asks for."""
        return USE if self.path is None else ENCODE

    def preview(self) -> pd.DataFrame:
        """The first rows, for the screen of whoever brought them."""
        return self.frame.head(20)

    def proposal(self, name: str) -> Column:
        """A column as the rows have it, which voids the guarantee; SchemaError if it is none."""
        found = [to_column(one, self.frame[name])[0] for one in self.found if one.name == name]
        if not found or found[0] is None:
            cause = f"Column {name!r}: nothing can be proposed from its rows."
            raise SchemaError(cause, "Write its public values; or untick it.")
        return round_bounds_outward(found[0])

    def put_together(self, flags: Sequence[str]) -> Column:
        """Put columns of 0 and 1 together, and return the column that they become."""
        column = column_of_flags(flags, self.headers)
        self.before_join = self.before_join or (self.frame, self.found)
        self.frame = join_flags(self.frame, [column])
        self.found = tuple(one for one in self.found if one.name not in flags)
        return replace(column, missing=not self.is_whole(column.name))

    def ask_again(self) -> None:
        """Ask all questions again; rows that were left out are there again, and columns are apart again."""
        self.answers.clear()
        leave_out(None)
        if self.before_join:
            (self.frame, self.found), self.before_join = self.before_join, None
            self.changes["columns"] = [flag for one in self.schema for flag in one.flags]

    def is_whole(self, name: str) -> bool:
        """Whether no cell of a column is empty."""
        return not (self.frame[name].isna() | (self.frame[name] == "")).any()

    def count_rows(self, unit: PrivacyUnit | None, share: float) -> tuple[int, int]:
        """How many rows are learned from, and of how many people they are."""
        if self.fixed is not None:
            return self.fixed.sizes[0], 0
        if self.path is not None:
            return 0, 0  # which is known when they are encoded
        columns = self.frame.filter([str(unit.id_column)] if unit else [])
        train, _ = datasets.split(columns, share, self.split_seed, persons=unit)
        if unit is None:
            return len(train), 0
        each = np.bincount(unit.persons(train))
        return int(np.minimum(each, unit.max_contributions).sum()), len(each)

    def keep(self, schema: Schema, read_off: Sequence[str], asked: Sequence[Fields] = ()) -> None:
        """Go on from a schema, which is inferred if any line is as the rows say, else declared."""
        self.schema, self.version = with_source(schema, read_off), self.version + 1
        self.read_off, self.asked = tuple(read_off), tuple(asked)

    def token_of(self, share: float) -> str:
        """What names a data set of these rows: what learned from all is tested on none of them."""
        return self.token + TESTED * bool(share)

    def made(self, data: Dataset) -> bool:
        """Whether a data set is of these rows, with test rows or without."""
        return data.token.removesuffix(TESTED) == self.token


def with_source(schema: Schema, read_off: Sequence[str]) -> Schema:
    """The schema, inferred if any line was read off the rows and nobody has declared it."""
    return replace(schema, source="inferred" if read_off else "declared", notes=())


def current() -> Intake:
    """What was read last; the bundled sample at first."""
    return session.keep_once("dpcore.intake", partial(load_bundled, "sample"))


def load_bundled(name: str, *, download: bool = False) -> Intake:
    """One of the data sets that the package knows."""
    data = datasets.load(name, download=download)
    known: dict[str, Any] = {"read_as": data.note, "rows": sum(data.sizes), "token": data.token}
    return Intake(data.name, data.train_sample, data.schema, fixed=data, **known)


def choose(bar: Any) -> None:
    """Ask for another table, behind a press in the bar once there is one.

    A failure says what to do, and leaves the earlier rows in place.
    """
    offers = {name: OWN.get(name, partial(hosting.offers, name)) for name in SOURCES}
    sources = {name: words for name, words in SOURCES.items() if offers[name]()}
    before, path = current(), ""
    awaited = st.session_state.get("data.source") in OWN and before.fixed is not None
    look: Any = {"key": "data.other", "type": "tertiary", "icon": ":material/upload_file:"}
    with st.container() if awaited else bar.popover(say("Another table"), on_change="rerun", **look):
        label = say("Your own table: {kinds}, also packed", kinds=", ".join(TABLE_FORMATS))
        note = say("Read in the memory of the computer that runs this program; written nowhere.")
        close = {HANDED: None, "data.source": "upload", "data.other": False}
        look = {"on_change": st.session_state.update, "args": (close,), "help": note}
        file = housekeeping.uploader(label, key="data.file", **look)
        source: str = choice(st.selectbox, say("Data"), "data.source", sources)
        if source == "folder":
            label = say("Path of a file (CSV, Parquet), of a folder of them, or of encoded rows")
            note = say("Only its first rows are read for this page. Nothing is sent away.")
            path = st.text_input(label, key="data.path", help=note, persist_state="session")
    with mendable():
        if source in OWN:
            read_own(source, file, path)
        elif before.fixed is None or before.name != source:
            read_bundled(source)
    if current() is not before:
        begin_anew()


def begin_anew() -> NoReturn:
    """Draw the page anew, and forget a press: who pressed has not seen what it would declare."""
    forget(USE)
    st.rerun()


def read_bundled(name: str) -> None:
    """Take a data set that the package knows; fetch one that is not here if somebody asks."""
    try:
        st.session_state["dpcore.intake"] = load_bundled(name)
    except DataError:
        if name != "adult":
            raise  # it says where to get it
        label = say("Fetch {name} from its public source", name=say(SOURCES[name]))
        if st.button(label, icon=":material/cloud_download:", key="data.fetch"):
            st.session_state["dpcore.intake"] = load_bundled(name, download=True)


def read_own(source: str, file: Any, path: str) -> None:
    """Read a file that was handed over, or a table on this computer, unless it was read."""
    options = {name: mark for name in READING if (mark := st.session_state.get(f"data.{name}"))}
    token, name, raw = st.session_state.get(HANDED) or ("", "", b"")
    if file is not None:
        token, name, raw = file.file_id, file.name, file.getvalue()
    options |= st.session_state.get(f"{SKIP}:{token}", {}) if source == "upload" else {}
    wanted = path if source == "folder" else token, options
    if not wanted[0] or (st.session_state.get("dpcore.asked") == wanted and current().fixed is None):
        return
    if source == "folder":
        found = read_path(path, options)
    else:
        frame = read_frame(raw, name, max_shape=hosting.max_shape(), **options)
        marks = frame.attrs["read_as"] | {"doubts": "", "decimal": ""}
        words = ", ".join(DELIMITERS.get(mark, mark) for mark in marks.values() if mark)
        more: dict[str, Any] = {"rows": len(frame), "options": options, "content": Content(raw)}
        found = looked_at(name, frame, read_as=words, **more)
    st.session_state["dpcore.intake"], st.session_state["dpcore.asked"] = found, wanted


def leave_out(end: str | None) -> None:
    """Read the file anew without one row more at an end, `skip_first` or `skip_last`; or with all rows."""
    token, _ = st.session_state.get("dpcore.asked") or ("", {})
    known: dict[str, int] = st.session_state.pop(f"{SKIP}:{token}", {})
    if end is not None:
        st.session_state[f"{SKIP}:{token}"] = known | {end: known.get(end, 0) + 1}


def read_path(text: str, options: Mapping[str, Any]) -> Intake:
    """The first rows of a table on this computer, with the schema of its codes if it has any."""
    with readable():
        path = hosting.absolute(text.strip().strip("\"'"))
        name = f"{path.name}{'/' * path.is_dir()}"  # which none that the program knows is called
        if (known := codes_in(path)) is not None:
            frame = read_first_rows(path / next(iter(known.parts)), known.schema, 1_000)
            words = say("Encoded rows: what cells were is known as far as their columns say it.")
            return Intake(name, frame, known.schema, words, known.rows, path, options=known.reading)
        (_, known), schema = codes_of(path), None
        if known is not None:
            schema, options = known.schema, options or known.reading
        found = read_head(path, **options)
        words = say("Its first {rows:,} rows were looked at.", rows=len(found.frame))
        more: dict[str, Any] = {"rows": found.rows, "path": path, "options": options}
        return looked_at(name, found.frame, schema, read_as=words, **more)


def looked_at(name: str, frame: pd.DataFrame, schema: Schema | None = None, **more: Any) -> Intake:
    """Rows with a known schema, or a proposed one, whose bounds are no values of single rows."""
    seems = recognize(frame)
    if schema is None:
        schema = propose_schema(frame, seems)
        rare = {one.name for one in schema if mostly_rare(one, frame[one.name])}
        if rare < {*schema.names}:
            schema = schema.select([name for name in schema.names if name not in rare])
            why = phrase("most of its rows have rare values")
            seems = tuple(replace(one, keep=False, reason=why) if one.name in rare else one for one in seems)
        schema = replace(schema, columns=tuple(map(round_bounds_outward, schema)))
    notes = tuple(frame.attrs["read_as"].get("doubts", "").splitlines())
    return Intake(name, frame, schema, notes=notes, found=seems, **more)


def mostly_rare(column: Column, cells: "pd.Series[Any]") -> bool:
    """Whether more than half of the rows that have a value have one that is not listed."""
    if column.numeric or column.outside != "clip":
        return False
    held, listed = count_values(cells), {*map(canonical, column.categories)}
    return 2 * sum(many for one, many in held.items() if canonical(one) in listed) < sum(held.values())


@contextmanager
def readable() -> Iterator[None]:
    """Where a path is looked at: DataError if the system refuses it, or this server takes none."""
    hosting.require_own_computer()
    try:
        yield
    except DPCoreError:
        raise
    except (OSError, RuntimeError, ValueError):
        cause = phrase("This path cannot be read.")
        raise DataError(cause, phrase("Check it, and its permissions.")) from None


def codes_in(folder: Path) -> FolderStatus | None:
    """What a folder of codes says of itself; None if it is none, DataError if codes are lacking."""
    found = read_folder_status(folder)
    if found is not None and not (found.complete and found.parts and not found.first_damaged_part()):
        raise DataError(
            phrase("This folder of codes is not finished, or its files have changed."),
            phrase("Choose the file or folder that they are made from, and encode it."),
        )
    return found


def codes_of(source: Path) -> tuple[Path, FolderStatus | None]:
    """Where a table's codes are, or go: next to it, or to the cache; and these, if up to date."""
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpcore" / "codes"
    cached /= f"{source.name}-{hashlib.sha256(str(source.resolve()).encode()).hexdigest()[:12]}"
    near = source.with_name(f"_{source.name}.codes")  # which is no part of a folder of tables
    folders = [near, cached] if os.access(source.parent, os.W_OK) else [cached, near]
    for folder in folders:
        if (found := read_folder_status(folder)) is not None and not found.source_changed(source):
            return folder, found
    return folders[0], None


def how_to_read(page: str) -> dict[str, Any]:
    """The questions how a text file is to be read; the answers, as arguments of `read_frame`."""
    slots, chosen = st.columns(len(READING)), {}
    for slot, (name, (label, marks)) in zip(slots, READING.items(), strict=True):
        chosen[name] = choice(slot.selectbox, say(label), f"{page}.{name}", marks) or None
    return chosen


def summary(rows: Intake) -> str:
    """What was read, in a line."""
    many = "?" if rows.rows is None else f"{rows.rows:,}"
    shape = say("{rows} rows, {columns:,} columns", rows=many, columns=rows.frame.shape[1])
    return f"{escape(rows.name)} · {shape}"


def dataset_of(intake: Intake, schema: Schema, test_share: float) -> Dataset:
    """The data set to work with: the schema must fit every row, and the split precedes any fit."""
    if intake.fixed is not None:
        schema.encode(intake.fixed.train_sample)
        schema.encode(intake.fixed.test_sample)
        return replace(intake.fixed, schema=schema)
    schema.encode(intake.frame)
    rows = parse_columns(intake.frame, [column.name for column in schema if column.is_plain_number])
    train, test = datasets.split(rows, test_share, intake.split_seed, persons=schema.persons)
    if train.empty:
        raise DataError("Chance put every row aside for testing.", "Use a table with more rows.")
    known = intake.token_of(test_share), intake.read_as
    reading = {"test_share": test_share, "split_seed": intake.split_seed}
    reading |= {end: intake.options[end] for end in datasets.SKIPPED if end in intake.options}
    return Dataset(intake.name, train, test, schema, *known, reading, intake.content)

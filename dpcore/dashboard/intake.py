"""From a choice or a file to a data set: read once, kept until something better is read.

Of a table that is longer than the memory, only its first rows are here; `folders` makes codes of all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.dashboard import folders, hosting, housekeeping, jobs, session
from dpcore.dashboard.shell import escaped, mendable
from dpcore.dashboard.widgets import caption, choice, lasting
from dpcore.datasets import Content, Dataset
from dpcore.datasets.formats import UNPACKED
from dpcore.datasets.heads import head
from dpcore.datasets.reading import read_frame
from dpcore.domain.cells import typed
from dpcore.domain.column import Column
from dpcore.domain.declaration import outward, rounded
from dpcore.domain.formats import Fields
from dpcore.domain.headers import tells_people
from dpcore.domain.infer import RARE, column_of, holders
from dpcore.domain.recognition import Recognized, recognize
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, SchemaError
from dpcore.language import phrase, say
from dpcore.rows.data import first
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
# What is not chosen follows from the header and from rules, never from the rows (`delimited`).
DELIMITERS = {"as in the header": None, "comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
ENCODINGS = {
    "UTF-8, or as marked": None, "UTF-8": "utf-8", "UTF-16": "utf-16",
    "Western (Windows-1252)": "cp1252", "Western (Latin-1)": "latin-1", "Western (DOS, CP850)": "cp850",
    "Central European (Windows-1250)": "cp1250", "Turkish (Windows-1254)": "cp1254",
    "Cyrillic (Windows-1251)": "cp1251", "Cyrillic (KOI8-R)": "koi8_r", "Cyrillic (DOS, CP866)": "cp866",
    "Greek (Windows-1253)": "cp1253", "Hebrew (Windows-1255)": "cp1255", "Arabic (Windows-1256)": "cp1256",
    "Chinese (GB 18030)": "gb18030", "Chinese (Big5)": "big5", "Korean (EUC-KR)": "euc_kr",
    "Japanese (Shift JIS)": "shift_jis", "Japanese (EUC-JP)": "euc_jp",
    "Japanese (ISO-2022-JP)": "iso2022_jp", "Japanese (ISO-2022-JP, half-width)": "iso2022_jp_ext",
    "Korean (ISO-2022-KR)": "iso2022_kr",
    "UTF-16, little-endian": "utf-16-le", "UTF-16, big-endian": "utf-16-be",
}  # fmt: skip
DECIMALS = {"comma beside semicolons": None, "point": ".", "comma": ","}
READING = {
    "delimiter": (phrase("Columns are separated by"), DELIMITERS),
    "encoding": (phrase("Encoding"), ENCODINGS),
    "decimal": (phrase("Decimal mark"), DECIMALS),
}
USE, DRAFT = "data.use", "data.draft"
TESTED = "-tested"  # ends the token of a data set some of whose rows are set apart
HANDED, HANDED_OVER = "data.handed", "data.handed_over"  # a file that another page was given: kept, and new
Value = TypeVar("Value")


class SchemaDraft(NamedTuple):
    """The schema that the page Data goes on from, before edits.

    Lines of `read_off` are as the rows say, and nobody has declared them. Of columns in `asked` somebody still has to
    say something: in the schema they have no more than a name.
    """

    owner: str
    schema: Schema
    read_off: tuple[str, ...]
    asked: tuple[Fields, ...] = ()


@dataclass(frozen=True, eq=False)
class Intake:
    """What was read: a split data set as it is, or an uploaded frame that is still to be split.

    `options` are how a person declared the file to be read, as arguments of `datasets.read`; `doubts` are what in it
    speaks against that. `split_seed` is drawn once per reading. `found` is what an upload's columns seem to be. Of a
    table on this computer (`path`), or its codes, the frame has the first rows; `rows` is how many there are, about.
    `ticked` are rare values that are listed all the same, `answers` questions that are not asked again,
    `additions` columns that are to be in use after an answer.
    """

    name: str
    frame: pd.DataFrame
    schema: Schema
    fixed: Dataset | None
    read_as: str
    options: Mapping[str, Any] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    content: Content | None = field(default=None, repr=False)
    token: str = field(default_factory=datasets.new_token)
    split_seed: int = field(default_factory=datasets.secret_seed, repr=False)
    found: tuple[Recognized, ...] = field(default=(), repr=False)
    path: Path | None = None
    rows: int | None = None
    ticked: set[tuple[str, str]] = field(default_factory=set, repr=False)
    answers: set[str] = field(default_factory=set, repr=False)
    additions: set[str] = field(default_factory=set, repr=False)
    _memory: dict[Any, Any] = field(default_factory=dict, repr=False)

    def remember(self, key: Any, compute: Callable[[], Value]) -> Value:
        """A value computed once per reading."""
        if key not in self._memory:
            self._memory[key] = compute()
        found: Value = self._memory[key]
        return found

    def rare(self, name: str, unit: PrivacyUnit | None) -> dict[str, str]:
        """A column's values that fewer than `RARE` rows have, or persons if a column tells them apart.

        By the texts that are compared.
        """

        def compute() -> dict[str, str]:
            held = holders(self.frame[name], self.frame.get(column))
            return {canonical(one): one for one in sorted(held) if one and held[one] < RARE}

        column = None if unit is None else unit.id_column
        return self.remember(("rare", name, column), compute)

    @property
    def headers(self) -> list[str]:
        """The names of all columns."""
        return [str(name) for name in self.frame.columns]

    def preview(self) -> pd.DataFrame:
        """The first rows, for the screen of whoever brought them."""
        return self.frame.head(20)

    def proposal(self, name: str) -> Column:
        """A column as the rows have it, which voids the guarantee; SchemaError if it can be none."""
        found = next((one for one in self.found if one.name == name and one.possible), None)
        column = None if found is None else column_of(found, self.frame[name])[0]
        if column is None:
            cause = f"Column {name!r}: nothing can be proposed from its rows."
            raise SchemaError(cause, "Write its public values; or untick it.")
        return outward(column)

    def sizes(self, unit: PrivacyUnit | None, share: float) -> tuple[int, int, int]:
        """How many rows are learned from and tested on, and of how many people those that are learned from are."""

        def count() -> tuple[int, int, int]:
            part = self.frame.iloc[:, :0] if unit is None else self.frame.filter([str(unit.id_column)])
            train, test = datasets.split(part, share, self.split_seed, persons=unit)
            if unit is None:
                return len(train), len(test), 0
            each = np.bincount(unit.persons(train))
            return int(np.minimum(each, unit.max_contributions).sum()), len(test), len(each)

        if self.fixed is not None:
            return (*self.fixed.sizes, 0)
        if self.path is not None:  # how many of a person's rows count is known when they are encoded
            rows = 0 if unit else self.rows or 0
            return round(rows * (1 - share)), round(rows * share), 0
        return self.remember((unit, share), count)

    @property
    def draft(self) -> SchemaDraft:
        """The schema as it was kept last, or as it was read: an inferred one has no line that somebody declared."""
        kept: SchemaDraft | None = st.session_state.get(DRAFT)
        if kept is not None and kept.owner == self.token:
            return kept
        return SchemaDraft(self.token, self.schema, self.schema.names if self.schema.source == "inferred" else ())

    def keep(self, schema: Schema, read_off: Sequence[str], asked: Sequence[Fields] = ()) -> None:
        """Go on from a schema, some of whose lines are as the rows say; without any it is a declared one."""
        st.session_state[DRAFT] = SchemaDraft(self.token, sourced(schema, read_off), tuple(read_off), tuple(asked))

    def made(self, data: Dataset) -> bool:
        """Whether a data set is of these rows, with test rows or without."""
        return data.token.removesuffix(TESTED) == self.token


def sourced(schema: Schema, read_off: Sequence[str]) -> Schema:
    """The schema, inferred if any line was read off the rows and nobody has declared it."""
    if read_off:
        return replace(schema, source="inferred")
    return replace(schema, source="declared", notes=()) if schema.source == "inferred" else schema


def current() -> Intake:
    """What was read last; the bundled sample at first."""
    return session.kept("dpcore.intake", lambda: load_bundled("sample", download=False))


def load_bundled(name: str, *, download: bool) -> Intake:
    """One of the data sets that the package knows."""
    data = datasets.load(name, download=download)
    return Intake(data.name, data.train_sample, data.schema, data, data.note, token=data.token)


def choose(bar: Any) -> None:
    """Ask for another table, behind a press in the bar once there is one, and draw the page anew when it was read.

    A failure says what to do, and leaves the earlier rows in place.
    """
    if (handed := st.session_state.pop(HANDED_OVER, None)) is not None:
        st.session_state.update({HANDED: (datasets.new_token(), *handed), "data.source": "upload"})
    sources = {name: words for name, words in SOURCES.items() if OWN.get(name, partial(hosting.offers, name))()}
    before, file, path = current(), None, ""
    awaited = st.session_state.get("data.source") in OWN and before.fixed is not None
    look: Any = {"key": "data.other", "type": "tertiary", "icon": ":material/upload_file:"}
    with st.container() if awaited else bar.popover(say("Another table"), on_change="rerun", **look):
        if "upload" in sources:
            label = say("Your own table: {kinds}, also packed", kinds=", ".join(UNPACKED))
            note = say("Read in the memory of the computer that runs this program; written nowhere.")
            file = housekeeping.uploader(label, key="data.file", help=note, on_change=take_upload)
        source: str = choice(st.selectbox, say("Data"), "data.source", sources)
        if source == "folder":
            label = say("Path of a file (CSV, Parquet), of a folder of such files, or of encoded rows")
            note = say("Of any length: only its first rows are read for this page. Nothing is sent away.")
            path = st.text_input(label, key="data.path", help=note, persist_state="session").strip().strip("\"'")
    with mendable():
        if source in OWN:
            read_own(source, file, path)
        elif before.fixed is None or before.name != source:
            read_bundled(source)
    if current() is not before:
        begin_anew()


def begin_anew() -> NoReturn:
    """Draw the page anew. Who pressed the button meanwhile has not seen what it would declare: nothing is asked for."""
    for name in (USE, folders.NAME):
        session.asked().pop(name, None)
    st.rerun()


def take_upload() -> None:
    """Close what asks for another table: one was handed over. A callback."""
    st.session_state.update({HANDED: None, "data.source": "upload", "data.other": False})


def read_bundled(name: str) -> None:
    """Take a data set that the package knows; fetch one that is not on this computer if somebody asks."""
    try:
        st.session_state["dpcore.intake"] = load_bundled(name, download=False)
    except DataError:
        if name != "adult":
            raise  # it says where to get it
        caption("{name} is not here yet: fetch it from its public source.", name=say(SOURCES[name]))
        if st.button(say("Fetch it now"), icon=":material/cloud_download:", key="data.fetch"):
            st.session_state["dpcore.intake"] = load_bundled(name, download=True)


def read_own(source: str, file: Any, path: str) -> None:
    """Read a file that was handed over, here or on another page, or a table on this computer, unless it was."""
    options = reading({name: st.session_state.get(f"data.{name}") for name in READING})
    token, name, raw = st.session_state.get(HANDED) or ("", "", b"")
    if source == "upload" and file is not None:
        token, name, raw = file.file_id, file.name, b""
    asked = (path or token, *options.items())
    if not asked[0] or (st.session_state.get("dpcore.asked") == asked and current().fixed is None):
        return
    if source == "upload":
        found = read_upload(name, raw or file.getvalue(), options)
    else:
        with folders.readable():
            whole = hosting.absolute(path)
            found = encoded(whole) if folders.whole(whole) else longer(whole, options)
    st.session_state["dpcore.intake"], st.session_state["dpcore.asked"] = found, asked


def read_upload(name: str, raw: bytes, options: Mapping[str, Any]) -> Intake:
    """The rows of a file, as they were read."""
    frame = read_frame(raw, name, max_shape=hosting.max_shape(), **options)
    marks = {mark: name for kinds in (DELIMITERS, ENCODINGS) for name, mark in kinds.items()}
    words = {key: marks.get(value, value) for key, value in frame.attrs["read_as"].items() if value}
    shown = [words[key] for key in words if key not in ("doubts", "decimal", "format")] or [words["format"]]
    return looked_at(name, frame, ", ".join(shown), options=options, content=Content(raw))


def looked_at(name: str, frame: pd.DataFrame, words: str, schema: Schema | None = None, **more: Any) -> Intake:
    """Rows with a schema that nobody has declared yet, unless one is known: its bounds are no values of single rows."""
    seems = tuple(map(set_aside, recognize(frame)))
    if schema is None:
        schema = Schema.proposed(seems, frame)
        schema = rounded(schema, schema.names)
    doubts = tuple(frame.attrs["read_as"].get("doubts", "").splitlines())
    return Intake(name, frame, schema, None, words, doubts=doubts, found=seems, **more)


def set_aside(one: Recognized) -> Recognized:
    """A column that is not in use before somebody says that its values are no persons, if its header says they are."""
    listed = one.kept and one.what in ("category", "integer") and one.values > 2 and one.most_rows > 1
    if not listed or not tells_people(one.name):
        return one
    return replace(one, kept=False, repeats=True, reason=phrase("its values may be persons"))


def longer(path: Path, options: Mapping[str, Any]) -> Intake:
    """The first rows of a table; with the schema of its codes, as far as there are some."""
    known = folders.earlier(path)
    if known is not None and not options:
        options = known.reading
    found = head(path, **options)
    words = say("Its first {rows:,} rows were looked at for what follows.", rows=len(found.frame))
    schema = None if known is None else known.schema
    more: dict[str, Any] = {"options": options, "path": path, "rows": found.rows}
    return looked_at(named(path), found.frame, words, schema, **more)


def named(path: Path) -> str:
    """A table's name, which is none of a data set that the program knows."""
    return f"{path.name}/" if path.is_dir() else path.name


def encoded(path: Path) -> Intake:
    """The first rows of a folder of codes."""
    known = folders.there(path)
    frame = first(path / next(iter(known.parts)), known.schema, 1_000)
    words = say("Encoded rows: what cells were is known as far as their columns say it.")
    return Intake(named(path), frame, known.schema, None, words, known.reading, path=path, rows=known.rows)


def how_to_read(page: str) -> dict[str, Any]:
    """The questions how a text file is to be read; what was declared, as arguments of `read_frame`."""
    chosen = {}
    for slot, (name, (label, kinds)) in zip(st.columns(len(READING)), READING.items(), strict=True):
        chosen[name] = lasting(slot.selectbox, say(label), f"{page}.{name}", list(kinds))
    return reading(chosen)


def reading(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What was declared of a file, as arguments of `read_frame`."""
    found = {name: kinds.get(chosen[name]) for name, (_, kinds) in READING.items()}
    return {name: value for name, value in found.items() if value is not None}


def summary(rows: Intake) -> str:
    """What was read, in a line."""
    many = len(rows.frame) if rows.path is None else rows.rows
    words = phrase("{rows:,} rows, {columns:,} columns") if many is not None else phrase("{columns:,} columns")
    shape = say(words, rows=sum(rows.fixed.sizes) if rows.fixed else many, columns=rows.frame.shape[1])
    parts = [rows.name, shape, *([rows.read_as] if rows.fixed is None and rows.path is None else [])]
    return " · ".join(map(escaped, parts))


def dataset_of(intake: Intake, schema: Schema, test_share: float) -> Dataset:
    """The data set to work with: the schema must fit every row, and the split is made before any fit.

    With test rows it is another data set than without, under another token: nothing that was learned from all rows is
    ever tested on some of them.
    """
    if intake.fixed is not None:
        schema.encode(intake.fixed.train_sample)
        schema.encode(intake.fixed.test_sample)
        return replace(intake.fixed, schema=schema)
    schema.encode(intake.frame)
    rows = typed(intake.frame, [column.name for column in schema if column.is_plain_number])
    train, test = datasets.split(rows, test_share, intake.split_seed, persons=schema.persons)
    if train.empty:
        raise DataError("Chance put every row aside for testing.", "Use a table with more rows.")
    reading = {"test_share": test_share, "split_seed": intake.split_seed}
    token = intake.token + TESTED * bool(test_share)
    return Dataset(intake.name, train, test, schema, token, intake.read_as, reading, intake.content)


def ask_to_use(rows: Intake, what: str, label: str, slot: Any, **look: Any) -> None:
    """A button that asks for `used_data` to go by one of its schemas."""
    with slot:
        if rows.path is not None:
            jobs.ask(label, folders.NAME, what, **look)
        else:
            st.button(label, key=f"data.{what}", on_click=session.request, args=(USE, what), **look)


def used_data(rows: Intake, schemas: Mapping[str, Schema], share: float, plan: folders.Plan | None) -> Dataset | None:
    """The data, once somebody asked for them and they are there, by the schema of the button that was pressed."""
    if plan is None:
        what = session.asked().pop(USE, "")
        return dataset_of(rows, schemas[what], share) if what in schemas else None
    jobs.end(folders.NAME)
    return folders.bring(replace(plan, schema=schemas.get(jobs.requested(folders.NAME), plan.schema)))


def plan(rows: Intake, schema: Schema, test_share: float) -> folders.Plan | None:
    """What is to become of a table that is longer than the memory; None of one that is in it."""
    if rows.path is None:
        return None
    token = rows.token + TESTED * bool(test_share)
    known: dict[str, Any] = {"name": rows.name, "token": token, "reading": rows.options}
    with folders.readable():
        return folders.plan(rows.path, schema, rows.rows, share=test_share, seed=rows.split_seed, **known)


OWN = {"upload": hosting.takes_files, "folder": hosting.own_computer}
"""Sources of a person's own rows, and whether this server offers them."""

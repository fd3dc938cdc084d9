"""From a choice or a file to rows in the session: read once, kept until something better is read.

Of a table that is longer than the memory, only its first rows are here; `encoding` makes codes of all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import datasets
from dpcore.dashboard import folders, hosting, housekeeping, jobs, session
from dpcore.dashboard.shell import escaped, mendable, open_page
from dpcore.dashboard.widgets import caption, choice
from dpcore.datasets import Content, Dataset
from dpcore.datasets.formats import UNPACKED
from dpcore.datasets.heads import head
from dpcore.datasets.reading import MAX_BYTES, read_frame
from dpcore.domain.cells import typed
from dpcore.domain.infer import RARE, holders
from dpcore.domain.recognition import Recognized, recognize
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError
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
HEAD, PREVIEW = 1_000, 20  # rows of a folder of codes, and of any table on the screen
DECIMALS = {"comma beside semicolons": None, "point": ".", "comma": ","}


@dataclass(frozen=True, eq=False)
class Intake:
    """What was read: a split data set as it is, or an uploaded frame that is still to be split.

    `options` are how a person declared the file to be read, as arguments of `datasets.read`; `doubts` are what in it
    speaks against that. `split_seed` is drawn once per reading. `found` is what an upload's columns seem to be. Of a
    table on this computer (`place`), or its codes, the frame has the first rows; `rows` is how many there are, about.
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
    place: Path | None = None
    rows: int | None = None
    ticked: set[tuple[str, str]] = field(default_factory=set, repr=False)  # rare values that are listed all the same
    _rare: dict[tuple[str, str | None], dict[str, str]] = field(default_factory=dict, repr=False)

    def rare(self, name: str, unit: PrivacyUnit | None) -> dict[str, str]:
        """A column's values that fewer than `RARE` rows have, or persons if a column tells them apart.

        By the texts that are compared.
        """
        whose = None if unit is None else unit.id_column
        if (name, whose) not in self._rare:
            held = holders(self.frame[name], self.frame.get(whose))
            self._rare[name, whose] = {canonical(one): one for one in sorted(held) if one and held[one] < RARE}
        return self._rare[name, whose]

    @property
    def people(self) -> bool:
        """Whether there are people in these rows: not in simulated ones, nor in the sample, which is a release."""
        return self.fixed is None or self.name not in ("sample", *datasets.BANK_CARDS)


def current() -> Intake:
    """What was read last; the bundled sample at first."""
    return session.kept("dpcore.intake", lambda: known("sample", download=False))


def known(name: str, *, download: bool) -> Intake:
    """One of the data sets that the package knows."""
    data = datasets.load(name, download=download)
    return Intake(data.name, data.train_sample, data.schema, data, data.note, token=data.token)


def choose() -> None:
    """The question where the rows come from. A failure says what to do and leaves the earlier rows in place."""
    how = {"default": "sample", "required": True}
    offered = {
        name: label for name, label in SOURCES.items() if (OWN[name][1]() if name in OWN else hosting.offers(name))
    }
    source: str = choice(st.segmented_control, say("Where do the rows come from?"), "data.source", offered, **how)
    if source in OWN:
        OWN[source][0]()
        if current().fixed is not None:
            caption("Until a table is read, what stands below is of {data}.", data=escaped(current().name))
        return
    if current().fixed is None or current().name != source:
        with mendable():
            try:
                st.session_state["dpcore.intake"] = known(source, download=False)
            except DataError:
                if source != "adult":
                    raise  # it says where to get it
                offer_download(source)


def offer_download(name: str) -> None:
    """A published data set that is not on this computer: fetch it if somebody asks."""
    st.info(f"{SOURCES[name]} is not on this computer. It can be fetched once from its public source.")
    if st.button("Fetch it now", icon=":material/cloud_download:", key="data.fetch"):
        with st.spinner("Fetching"):
            st.session_state["dpcore.intake"] = known(name, download=True)
        st.rerun()


def upload() -> None:
    """A person's own file."""
    file = housekeeping.uploader(
        f"A table about people ({', '.join(UNPACKED)}, also packed; at most {MAX_BYTES >> 20} MB)",
        key="data.file",
        help="Read in the memory of the computer that runs this program; written nowhere.",
    )
    options = how_to_read("data")
    if file is None:
        return
    asked = (file.file_id, *options.items())
    if st.session_state.get("dpcore.asked") == asked and current().fixed is None:
        return
    with mendable():
        raw = file.getvalue()
        frame = read_frame(raw, file.name, max_shape=hosting.max_shape(), **options)
        found = frame.attrs.get("read_as", {})
        doubts = tuple(found.get("doubts", "").splitlines())
        told = ", ".join(f"{key} {value!r}" for key, value in found.items() if value and key != "doubts")
        seems = recognize(frame)
        read = Schema.proposed(seems, frame), None, f"Read with {told}.", options, doubts, Content(raw)
        st.session_state["dpcore.intake"] = Intake(file.name, frame, *read, found=seems)
        st.session_state["dpcore.asked"] = asked


def local() -> None:
    """A table on the computer that runs this program, by its path: a file, or a folder of files or of codes."""
    label = say("Path of a file (CSV, Parquet), of a folder of such files, or of a folder that was encoded here")
    note = say("Any length: rows are read block by block, and only the first ones for this page. Nothing is sent away.")
    path = st.text_input(label, key="data.path", help=note, persist_state="session").strip().strip("\"'")
    options = how_to_read("data")
    asked = (path, *options.items())
    if not path or (st.session_state.get("dpcore.asked") == asked and current().place is not None):
        return
    with mendable(), folders.readable():
        place = hosting.absolute(path)
        st.session_state["dpcore.intake"] = encoded(place) if folders.whole(place) else longer(place, options)
        st.session_state["dpcore.asked"] = asked


def longer(place: Path, options: Mapping[str, Any]) -> Intake:
    """The first rows of a table; with the schema of its codes, as far as there are some."""
    known = folders.earlier(place)
    if known is not None and not options:
        options = known.reading
    found = head(place, **options)
    seems = recognize(found.frame)
    schema = Schema.proposed(seems, found.frame) if known is None else known.schema
    doubts = tuple(found.frame.attrs["read_as"].get("doubts", "").splitlines())
    told = say("Its first {rows:,} rows were looked at for what follows.", rows=len(found.frame))
    more: dict[str, Any] = {"found": seems, "place": place, "rows": found.rows}
    return Intake(named(place), found.frame, schema, None, told, options, doubts, **more)


def named(place: Path) -> str:
    """A table's name, which is none of a data set that the program knows."""
    return f"{place.name}/" if place.is_dir() else place.name


def encoded(place: Path) -> Intake:
    """The first rows of a folder of codes."""
    known = folders.there(place)
    frame = first(place / next(iter(known.parts)), known.schema, HEAD)
    told = say("Encoded rows: what cells were is known as far as their columns say it.")
    return Intake(named(place), frame, known.schema, None, told, known.reading, place=place, rows=known.rows)


def preview(rows: Intake) -> pd.DataFrame:
    """The first rows, for the screen of whoever brought them."""
    return rows.frame.head(PREVIEW)


def how_to_read(page: str) -> dict[str, Any]:
    """The questions how a text file is to be read; what was declared, as arguments of `read_frame`."""
    with st.expander("How to read it: encoding, delimiter, decimals"):
        left, middle, right = st.columns(3)
        delimiter = DELIMITERS[left.selectbox("Columns are separated by", DELIMITERS, key=f"{page}.delimiter")]
        encoding = ENCODINGS[middle.selectbox("Encoding", ENCODINGS, key=f"{page}.encoding")]
        decimal = DECIMALS[right.selectbox("Decimal mark", DECIMALS, key=f"{page}.decimal")]
    declared = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
    return {name: value for name, value in declared.items() if value is not None}


def summary(rows: Intake) -> str:
    """What was read: of an upload, how much, how it was read, and what is left out."""
    if rows.fixed is not None:
        return escaped(rows.read_as)
    if rows.place is not None:
        many = say("Its number of rows is not known yet.")
        if rows.rows is not None:
            many = say("**About {rows:,} rows, {columns:,} columns**", rows=rows.rows, columns=rows.frame.shape[1])
        return f"{many} {say('(for your eyes only).')} {escaped(rows.read_as)}"
    missing, out = float(rows.frame.isna().to_numpy().mean()), sum(not one.kept for one in rows.found)
    cells = f"{missing:.2%} of the cells are missing" if missing else "no cell is missing"
    left = {0: "no column is left out", 1: "**one column is left out**"}.get(out, f"**{out:,} columns are left out**")
    shape = f"**{len(rows.frame):,} rows, {rows.frame.shape[1]:,} columns**"
    return f"{shape}; {cells}; {left} (for your eyes only). {escaped(rows.read_as)}"


def onward() -> None:
    """Where to go with data that are in use: to the method that keeps most of them, or to one that learns a class."""
    st.success("These data are in use now.", icon=":material/check_circle:")
    with st.container(horizontal=True):
        if st.button("Make a synthetic table (recommended)", type="primary", key="data.next", icon=":material/hub:"):
            open_page("networks")
        classes = session.dataset().schema.target is not None
        if classes and st.button("Learn a classifier", key="data.learn", icon=":material/forest:"):
            open_page("forests")


def dataset_of(intake: Intake, schema: Schema, test_share: float) -> Dataset:
    """The data set to work with: the schema must fit every row, and the split is made before any fit."""
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
    return Dataset(intake.name, train, test, schema, intake.token, intake.read_as, reading, intake.content)


def plan(intake: Intake, schema: Schema, test_share: float) -> folders.Plan | None:
    """What is to become of a table that is longer than the memory; None of one that is in it."""
    if intake.place is None:
        return None
    known: dict[str, Any] = {"name": intake.name, "token": intake.token, "reading": intake.options}
    with folders.readable():
        return folders.plan(intake.place, schema, intake.rows, share=test_share, seed=intake.split_seed, **known)


def chosen(
    intake: Intake, schema: Schema, test_share: float, asked: folders.Plan | None, place: Any, **look: Any
) -> Dataset | None:
    """The button that puts these data to use, in its place; the data, once somebody pressed it and they are there."""
    look |= {"icon": ":material/check:"}
    if asked is not None:
        jobs.button(asked.label, folders.NAME, "go", place, **look)
        return folders.bring(asked)
    pressed = place.button(say("Use these data"), key="data.use", **look)
    return dataset_of(intake, schema, test_share) if pressed else None


OWN = {
    "upload": (upload, hosting.takes_files),
    "folder": (local, hosting.own_computer),
}
"""Sources of a person's own rows: what asks for them, and whether this server offers it."""

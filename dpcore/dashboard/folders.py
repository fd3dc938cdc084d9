"""Tables that are longer than the memory: where their codes go, and encoding them, which can be gone on with.

A folder of codes says itself what is in it, so that another session, or a server that was started anew, goes on.
"""

import hashlib
import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.arguments import Progress
from dpcore.dashboard import hosting, jobs, session
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import choice
from dpcore.domain.column import code_dtype
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, DPCoreError, SchemaError
from dpcore.language import phrase, retold, say
from dpcore.rows import FolderData
from dpcore.rows.folder import CHANGED
from dpcore.rows.given import fits
from dpcore.rows.manifest import Begun, begun
from dpcore.rows.writing import encode_folder

NAME = "data.encode"
WRONG = "dpcore.damaged"
PLACES = {"beside": phrase("Next to the rows"), "cache": phrase("In your user’s cache")}
PATIENCE = 2.0  # seconds after which somebody is told how long it takes
LEFT = phrase("{rows} rows encoded, about {seconds:,} seconds left")
STOPPED = phrase("Stopped after {rows:,} rows. Their codes are kept: Encode goes on from there, tomorrow, too.")
STOPPED_EARLY = phrase("Stopped before any rows were kept.")


@contextmanager
def readable() -> Iterator[None]:
    """Where a path of somebody's is looked at: DataError if the system refuses it, or this server takes none."""
    hosting.require_own_computer()
    try:
        yield
    except DPCoreError:
        raise
    except (OSError, RuntimeError, ValueError):
        raise DataError(say("This path cannot be read."), say("Check it, and its permissions.")) from None


def whole(place: Path) -> bool:
    """Whether a path is that of a folder of codes; DataError if they are not all there."""
    found = begun(place)
    if found is not None and not found.whole:
        raise DataError(
            say("This folder of codes is not finished."),
            say("Choose the file or folder that they are made from, and encoding goes on."),
            say("This folder of codes is not finished: it has {rows:,} rows.", rows=found.rows),
        )
    return found is not None


def there(place: Path) -> Begun:
    """What is in a folder of codes."""
    found = begun(place)
    if found is None or not found.parts:
        raise DataError(say("There are no codes in this folder."), say("Encode the rows again."))
    if gone := damaged(found):
        raise DataError(gone, say("Choose the file or folder that they are made from, and encode it again."))
    return found


def damaged(known: Begun) -> str:
    """What is wrong with codes, as far as their sizes say it or somebody opened them; empty if nothing is."""
    if name := known.damaged():
        return say("The file {name} of encoded rows is gone, or has another size than it had.", name=name)
    return retold(session.kept(WRONG, dict[tuple[Path, int], str]).get((known.folder, known.written), ""))


def earlier(place: Path) -> Begun | None:
    """Codes of a table that were made, or begun, in one of the usual places and are not outdated."""
    found = [known for where in PLACES if (known := begun(place_of(where, place))) is not None]
    return next((known for known in found if not known.outdated(place)), None)


def place_of(where: str, source: Path) -> Path:
    """The folder of a table's codes, next to it or in the user's cache."""
    if where == "beside":
        return source.with_name(f"_{source.name}.codes")  # names that begin so are no part of a folder of tables
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpcore" / "codes"
    return cache / f"{source.name}-{hashlib.sha256(str(source.resolve()).encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Plan:
    """What a press of the button does with a table: which codes are used, gone on with, or made."""

    source: Path
    codes: Path
    known: Begun | None
    same: bool  # whether what is there can be used as it is, or gone on with
    name: str
    token: str
    schema: Schema
    reading: Mapping[str, Any]
    numbers: bool
    share: float  # of rows that are kept aside
    seed: int  # of their lots

    @property
    def usable(self) -> bool:
        """Whether all codes are there."""
        return self.known is not None and self.known.whole and self.same

    @property
    def label(self) -> str:
        """What the button says."""
        if self.usable:
            return say("Use this table")
        if self.known is None:
            return say("Encode")
        return say("Encode: go on after {rows:,} rows", rows=self.known.rows) if self.same else say("Encode anew")


def plan(source: Path, schema: Schema, rows: int | None, **known: Any) -> Plan:
    """Ask where the codes go, and say what is there and what it takes; `known` is the rest of the plan."""
    own = begun(source)
    if own is not None:
        there(source)
        if other := fits(own.schema, schema):
            raise SchemaError(
                say("The rows were encoded by another schema: the column {name} differs.", name=repr(other)),
                say("Undo the change; or choose the file that they were made from, and encode it again."),
            )
        return Plan(source, source, own, same=True, schema=schema, numbers=own.numbers, **known)
    found = earlier(source)
    usual = "beside" if os.access(source.parent, os.W_OK) else "cache"
    if found is not None:
        usual = next(where for where in PLACES if place_of(where, source) == found.folder)
    left, right = st.columns(2, vertical_alignment="center")
    label, key, at = say("Where the codes of all rows go"), f"data.codes:{known['token']}", [*PLACES].index(usual)
    where = choice(left.radio, label, key, PLACES, at, horizontal=True)
    kept = right.checkbox(
        say("Keep numbers beside their codes"),
        value=found is None or found.numbers,
        key=f"data.numbers:{known['token']}",
        disabled=not any(column.numeric for column in schema),
        help=say("8 bytes each. Trees that cut numbers anywhere need them; other methods do not."),
    )
    codes = place_of(where, source)
    made = Plan(source, codes, begun(codes), same=False, schema=schema, numbers=kept, **known)
    made = replace(made, same=made.known is not None and alike(made, made.known))
    st.caption(f"{told(made, rows)} {say('**They are as private as the rows**, and stay until you delete them.')}")
    return made


def alike(asked: Plan, known: Begun) -> bool:
    """Whether codes that are there are those of the same files, as they are asked for."""
    if (known.whole and damaged(known)) or known.outdated(asked.source) or known.reading != asked.reading:
        return False
    if not known.whole:
        return known.schema.columns == asked.schema.columns and known.numbers == asked.numbers
    return not fits(known.schema, asked.schema) and known.numbers >= asked.numbers


def told(asked: Plan, rows: int | None) -> str:
    """Where codes go, what is there already, and how much room they take."""
    folder = escaped(str(asked.codes))
    if asked.usable and asked.known is not None:
        of: dict[str, Any] = {"rows": asked.known.rows, "size": asked.known.bytes / 1e6, "folder": folder}
        return say("Encoded already: {rows:,} rows in {folder}, {size:,.1f} MB.", **of)
    parts = [say("They go to {folder}.", folder=folder)]
    if rows is not None:
        need = rows * sum(code_dtype(one.size).itemsize + 8 * (one.numeric and asked.numbers) for one in asked.schema)
        free = free_bytes(asked.codes) / 1e6
        parts.append(say("They take about {size:,.1f} MB; {free:,.0f} MB are free there.", size=need / 1e6, free=free))
    if asked.known is not None and not asked.same:
        anew, gone = phrase("**{damage} They are encoded anew.**"), damaged(asked.known)
        if not gone:
            anew = phrase("Codes of {rows:,} rows of other files, or by another schema, are replaced.")
        parts.append(say(anew, damage=escaped(gone), rows=asked.known.rows))
    return " ".join(parts)


def free_bytes(folder: Path) -> int:
    """How much room there is where a folder is, or will be."""
    return shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.exists())).free


def bring(asked: Plan) -> FolderData | None:
    """The button's work while it is under way; the data, once, when it is over."""
    made = session.kept("dpcore.encoded", dict[str, FolderData])
    wrong = session.kept(WRONG, dict[tuple[Path, int], str])
    jobs.run(phrase("Encoding"), NAME, partial(work, asked, made, wrong))
    return made.pop(asked.token, None)


def work(asked: Plan, made: dict[str, FolderData], wrong: dict[tuple[Path, int], str], progress: Progress) -> None:
    """Encode what is not encoded yet, and open it; what is encoded is kept if somebody cancels.

    Codes that cannot be opened are `wrong` from then on.
    """
    hosting.require_own_computer()
    if not asked.usable:
        begun_with = asked.known.schema if asked.known is not None and asked.same else asked.schema
        how: dict[str, Any] = {"schema": begun_with, "numbers": asked.numbers, **asked.reading}
        how["replace"] = asked.known is not None and not asked.same
        try:
            encode_folder(asked.source, asked.codes, progress=paced(progress), **how)
        except jobs.CanceledError:
            kept = begun(asked.codes)
            rows = 0 if kept is None else kept.rows
            raise jobs.CanceledError(STOPPED.format(rows=rows) if rows else STOPPED_EARLY) from None
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else phrase("the system says no more")
            cause = phrase("The codes cannot be written: {reason}.").format(reason=why)
            raise DataError(cause, phrase("Choose another place for them, or make room.")) from None
    progress(0.99, phrase("Splitting the rows by lot"))
    note = f"{asked.source}, in codes: {asked.codes}"
    how = {"schema": asked.schema, "test_share": asked.share, "split_seed": asked.seed}
    try:
        found = FolderData.open(asked.codes, name=asked.name, note=note, **how)
    except DataError as error:
        if error.remedy == CHANGED and (known := begun(asked.codes)) is not None:
            wrong[known.folder, known.written] = error.cause
        raise
    made[asked.token] = replace(found, token=asked.token)


def paced(progress: Progress) -> Progress:
    """Progress of `encode`, with how long it will take."""
    began: list[tuple[float, float]] = []

    def tell(fraction: float, text: str) -> None:
        now = time.perf_counter()
        if fraction:
            began[:] = began or [(now, fraction)]
            seconds, done = now - began[0][0], fraction - began[0][1]
            if done > 0 and seconds > PATIENCE and fraction < 1:
                left = math.ceil(seconds / done * (1 - fraction))
                text = LEFT.format(rows=text.partition(" ")[0], seconds=left)  # which begins with their number
        progress(0.98 * fraction, text)

    return tell

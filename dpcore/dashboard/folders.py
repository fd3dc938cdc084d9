"""Tables that are longer than the memory: encoding them, which can be gone on with.

A folder of codes says itself what is in it, so that another session, or another server, goes on.
"""

import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.arguments import Progress
from dpcore.dashboard import hosting, jobs, session
from dpcore.dashboard.intake import ENCODE, Intake, codes_in, codes_of, readable
from dpcore.dashboard.shell import escape
from dpcore.domain.column import code_dtype
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.language import phrase, say
from dpcore.rows import FolderData
from dpcore.rows.folder import ENCODE_AGAIN, FolderStatus, read_folder_status
from dpcore.rows.sources import first_mismatched_column
from dpcore.rows.writing import encode_folder

PRIVATE = phrase("**They are as private as the rows**, and stay until you delete them.")


@dataclass(frozen=True)
class FolderPlan:
    """What a press of the button does with a table: which codes are used, gone on with, or made."""

    rows: Intake
    codes: Path
    known: FolderStatus | None  # what is there, if it can be used as it is, or gone on with
    schema: Schema
    share: float  # of rows that are kept aside

    @property
    def label(self) -> str:
        """What the button says."""
        if self.known is None:
            return say("Encode")
        if self.known.complete:
            return say("Use this table")
        return say("Encode: go on after {rows:,} rows", rows=self.known.rows)


def plan(rows: Intake, schema: Schema, share: float) -> FolderPlan | None:
    """What becomes of a table that is longer than the memory, which the page says; None of others."""
    if rows.path is None:
        return None
    with readable():
        own = codes_in(rows.path)
        if own is not None and (other := first_mismatched_column(own.schema, schema)):
            raise SchemaError(
                say("The rows were encoded with another column {name}.", name=repr(other)),
                say("Undo the change; or choose the file that they were made from, and encode it."),
            )
        codes, known = codes_of(rows.path) if own is None else (rows.path, own)
        made = FolderPlan(rows, codes, alike(known, rows, schema), schema, share)
        st.caption(f"{describe_plan(made)} {say(PRIVATE)}")
        return made


def alike(known: FolderStatus | None, rows: Intake, schema: Schema) -> FolderStatus | None:
    """Codes that are there, if they are as they are asked for."""
    if known is None or known.first_damaged_part() or known.reading != rows.options or key_of(known) in refused_codes():
        return None
    same = (
        not first_mismatched_column(known.schema, schema) if known.complete else known.schema.columns == schema.columns
    )
    return known if same else None


def key_of(codes: FolderStatus) -> tuple[Path, int]:
    """What codes are known by until they are written anew."""
    return codes.folder, codes.mtime_ns


def refused_codes() -> set[tuple[Path, int]]:
    """Codes that this session could not open, though they have the right sizes."""
    return session.keep_once("dpcore.damaged", set[tuple[Path, int]])


def describe_plan(asked: FolderPlan) -> str:
    """Where codes go, what is there already, and how much room they take."""
    there, folder = read_folder_status(asked.codes), escape(str(asked.codes))
    if asked.known is not None and asked.known.complete:
        return say("Encoded already: {n:,} rows in {folder}.", n=asked.known.rows, folder=folder)
    size = sum(code_dtype(one.size).itemsize + 8 * one.numeric for one in asked.schema)
    free = shutil.disk_usage(next(parent for parent in asked.codes.parents if parent.exists())).free
    text = phrase("Codes go to {folder}: {size:,} MB for a million rows; {free:,.0f} MB are free.")
    if there is not None and asked.known is None:
        text = phrase("Codes in {folder} are replaced: they are damaged, or do not fit any more.")
    return say(text, folder=folder, size=size, free=free / 1e6)


def bring(asked: FolderPlan) -> FolderData | None:
    """The button's work while it is under way; the data, once, when it is over."""
    made = session.keep_once("dpcore.encoded", dict[str, FolderData])
    jobs.run(phrase("Encoding"), ENCODE, partial(work, asked, made, refused_codes()))
    return made.pop(asked.rows.token_of(asked.share), None)


def work(asked: FolderPlan, made: dict[str, FolderData], wrong: set[tuple[Path, int]], progress: Progress) -> None:
    """Encode what is not encoded yet, and open it; what is encoded is kept if somebody cancels.

    Codes that cannot be opened are `wrong` from then on.
    """
    hosting.require_own_computer()
    rows, known = asked.rows, asked.known
    if known is None or not known.complete:
        how: dict[str, Any] = {"schema": asked.schema, "replace": True, **rows.options}
        if known is not None:
            how |= {"schema": known.schema, "replace": False, "numbers": known.numbers}
        try:
            encode_folder(str(rows.path), asked.codes, progress=progress, **how)
        except OSError as error:
            cause = phrase("The codes cannot be written: {reason}.").format(reason=error.strerror or "?")
            raise DataError(cause, phrase("Make room, or encode the rows in Python.")) from None
    progress(0.99, phrase("Splitting the rows at random"))
    note, token = f"{rows.path}, in codes: {asked.codes}", rows.token_of(asked.share)
    how = {"schema": asked.schema, "test_share": asked.share, "split_seed": rows.split_seed}
    try:
        found = FolderData.open(asked.codes, name=rows.name, note=note, **how)
    except DataError as error:
        if error.remedy == ENCODE_AGAIN and (there := read_folder_status(asked.codes)) is not None:
            wrong.add(key_of(there))
        raise
    made[token] = replace(found, token=token)

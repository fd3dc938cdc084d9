"""Encoding of tables that are larger than memory; an interrupted encoding can be resumed.

A folder of codes describes its own contents, so that another session or server can resume it.
"""

import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.arguments import Progress
from dpcore.dashboard import hosting, jobs, session
from dpcore.dashboard.intake import ENCODE, Intake, find_codes, path_errors, read_codes
from dpcore.dashboard.shell import escape
from dpcore.domain.column import code_dtype
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, SchemaError
from dpcore.language import phrase, say
from dpcore.rows import FolderData
from dpcore.rows.folder import ENCODE_AGAIN, FolderStatus, read_folder_status
from dpcore.rows.sources import mismatched_column
from dpcore.rows.writing import encode_folder

PRIVATE = phrase("**Encoded rows are as private as the original rows**, and stay until you delete them.")


@dataclass(frozen=True)
class FolderPlan:
    """How a table larger than memory becomes a data set: from new, partial or finished codes.

    `rows` is the table as the page Data read it, and `codes` is the folder for its encoded rows.
    """

    rows: Intake
    codes: Path
    existing: FolderStatus | None  # existing codes, if they can be used or resumed
    schema: Schema
    share: float  # of rows that become test rows

    @property
    def label(self) -> str:
        """Label of the button that carries out the plan."""
        if self.existing is None:
            return say("Encode this table")
        if self.existing.complete:
            return say("Use this table")
        return say("Resume the encoding after {rows:,} rows", rows=self.existing.rows)


def make_plan(rows: Intake, schema: Schema, share: float) -> FolderPlan | None:
    """Draw and return the plan for a table that is larger than memory; None for other tables.

    `share` is the share of rows that become test rows. It is an error if `rows` are encoded rows
    that the `schema` does not describe.
    """
    if rows.path is None:
        return None
    with path_errors():
        own = read_codes(rows.path)
        if own is not None and (other := mismatched_column(own.schema, schema)):
            raise SchemaError(
                say("Column {name} of the schema differs from the encoded rows.", name=repr(other)),
                say("Undo the change of the column, or encode the original file again."),
            )
        codes, known = find_codes(rows.path) if own is None else (rows.path, own)
        made = FolderPlan(rows, codes, usable_codes(known, rows, schema), schema, share)
        st.caption(f"{describe_plan(made)} {say(PRIVATE)}")
        return made


def usable_codes(known: FolderStatus | None, rows: Intake, schema: Schema) -> FolderStatus | None:
    """Return the existing encoded rows if they fit the file's options and the schema, else None.

    `known` describes the encoded rows of the table `rows`, if there are any. Rows whose encoding is
    unfinished fit only a schema with the same columns.
    """
    if known is None or known.damaged_part() or known.reading != rows.options or codes_key(known) in unreadable_codes():
        return None
    same = not mismatched_column(known.schema, schema) if known.complete else known.schema.columns == schema.columns
    return known if same else None


def codes_key(codes: FolderStatus) -> tuple[Path, int]:
    """Return a key of encoded rows that changes when they are written again."""
    return codes.folder, codes.mtime_ns


def unreadable_codes() -> set[tuple[Path, int]]:
    """Return the keys of encoded rows that this session could not open."""
    return session.keep_once("dpcore.damaged", set[tuple[Path, int]])


def describe_plan(plan: FolderPlan) -> str:
    """Return a sentence: where encoded rows will be, which exist, and how much space they need."""
    there, folder = read_folder_status(plan.codes), escape(str(plan.codes))
    if plan.existing is not None and plan.existing.complete:
        return say("The table is encoded: {n:,} rows in {folder}.", n=plan.existing.rows, folder=folder)
    size = sum(code_dtype(one.size).itemsize + 8 * one.numeric for one in plan.schema)
    free = shutil.disk_usage(next(parent for parent in plan.codes.parents if parent.exists())).free
    text = phrase("Encoded rows go to {folder}: {size:,} MB per million rows; {free:,.0f} MB are free.")
    if there is not None and plan.existing is None:
        text = phrase("Encoded rows in {folder} are replaced: they are damaged, or do not fit the schema.")
    return say(text, folder=folder, size=size, free=free / 1e6)


def run_encoding(plan: FolderPlan) -> FolderData | None:
    """Run the requested encoding in the background; return the data set once it is finished.

    The data set is returned once: before and afterwards, the result is None.
    """
    made = session.keep_once("dpcore.encoded", dict[str, FolderData])
    jobs.run(phrase("Encoding the rows"), ENCODE, partial(encode, plan, made, unreadable_codes()))
    return made.pop(plan.rows.token_of(plan.share), None)


def encode(plan: FolderPlan, made: dict[str, FolderData], wrong: set[tuple[Path, int]], progress: Progress) -> None:
    """Encode the rows that are not encoded yet, open them, and store the data set in `made`.

    `made` maps the tokens of data sets to data sets. Rows that were encoded before a cancellation
    are kept. The keys of encoded rows that cannot be opened are added to `wrong`.
    """
    hosting.require_own_computer()
    rows, known = plan.rows, plan.existing
    if known is None or not known.complete:
        how: dict[str, Any] = {"schema": plan.schema, "replace": True, **rows.options}
        if known is not None:
            how |= {"schema": known.schema, "replace": False, "numbers": known.numbers}
        try:
            encode_folder(str(rows.path), plan.codes, progress=progress, **how)
        except OSError as error:
            cause = phrase("Encoded rows cannot be written: {reason}.").format(reason=error.strerror or "?")
            raise DataError(cause, phrase("Free disk space, or use encode_folder in Python.")) from None
    progress(0.99, phrase("Drawing the test rows at random"))
    note, token = f"{rows.path}, in codes: {plan.codes}", rows.token_of(plan.share)
    how = {"schema": plan.schema, "test_share": plan.share, "split_seed": rows.split_seed}
    try:
        found = FolderData.open(plan.codes, name=rows.name, note=note, **how)
    except DataError as error:
        if error.remedy == ENCODE_AGAIN and (there := read_folder_status(plan.codes)) is not None:
            wrong.add(codes_key(there))
        raise
    made[token] = replace(found, token=token)

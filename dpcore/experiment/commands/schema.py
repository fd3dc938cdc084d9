"""`dpcore schema`: propose a schema from a table's rows, for the user to check and declare."""

import argparse
import sys
from dataclasses import replace

import pandas as pd

from dpcore.datasets.proposals import RARE, count_values, without_values
from dpcore.datasets.reading import read_frame
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.experiment.commands import (
    TABLES,
    print_summary,
    reading_options,
    require_writable,
    write,
)
from dpcore.text import canonical


def make(options: argparse.Namespace) -> int:
    """Propose a schema for a table, print or write it as JSON, and return the exit code."""
    if options.unit is not None and options.max_contributions is None:
        raise argparse.ArgumentTypeError("--unit needs --max-contributions, a public number")
    if options.out is not None:
        require_writable(options.out, force=options.force)
    many, who = options.max_contributions, options.unit
    unit = PrivacyUnit(max_contributions=many, id_column=who) if many is not None else None
    frame = read_frame(options.data, **reading_options(options))
    schema = propose_schema(frame, options.target, unit)
    notes = *frame.attrs["read_as"].get("doubts", "").splitlines(), *schema.notes
    sys.stderr.write("".join(f"{note}\n" for note in (*notes, *TABLES["schema"]["inferred"])))
    if options.out is None:
        sys.stdout.write(schema.to_json() + "\n")
        return 0
    write(options.out, schema.to_json().encode(), force=options.force)
    done = {"command": "schema", "out": str(options.out), "columns": len(schema)}
    print_summary(options, done, f"{options.out}: {len(schema):,} columns, to be declared.")
    return 0


def propose_schema(frame: pd.DataFrame, target: str | None, unit: PrivacyUnit | None) -> Schema:
    """Return a schema inferred from rows, without values that few rows or persons have.

    `target` is the column to predict, and `unit` the privacy unit to declare, if any.
    """
    if unit is None or unit.id_column is None:
        return replace(Schema.infer(frame, target=target), unit=unit)
    unit.persons(frame)  # checks that the column exists and has no missing ids
    schema = Schema.infer(frame.drop(columns=[unit.id_column]), target=target)
    columns = []
    for column in schema:
        counts = count_values(frame[column.name], frame[unit.id_column])
        rare = {canonical(value) for value, persons in counts.items() if persons < RARE}
        columns.append(without_values(column, rare))
    return replace(schema, columns=tuple(columns), unit=unit)

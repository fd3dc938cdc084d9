"""Reading and encoding are 1-stable: a row that changes in the file changes its own codes and no others.

What is public, how the file is read included, is declared.
"""

import csv
import io

import files
import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema

SCHEMA = Schema(
    columns=(
        Column(name="n", kind="integer", lower=0, upper=9, bins=10, outside="clip"),
        Column(name="x", kind="continuous", lower=-5, upper=5, bins=20, missing=True, outside="clip"),
        Column(name="c", kind="categorical", categories=("1", "2", "0.5", "x"), missing=True, outside="clip"),
        Column(name="big", kind="continuous", lower=0, upper=1e19, bins=(2.0**53, 2.0**53 + 2), outside="clip"),
    )
)
NAMES = ["id", *SCHEMA.names]
ODD = ["", "?", "1", "1.0", "2.50", "3,5", "007", "1e3", "-0", "+2", "inf", "nan", "x", "0.5", "True", "1_0", "0x1"]
ODD += ["9007199254740993.5", "1,234", " x ", "2020-01-01", "=1+1", 'a"b', '"', "a\nb", "\n\n", "a,b", "a\tb"]
ODD += ["Zürich", "\ufeff", "\x85", "\u2028", "ÿ\u0080", "١", "1" * 400]
cells = st.sampled_from(ODD) | st.integers(-5, 12).map(str) | st.floats(-9, 9).map(str) | st.text(max_size=4)
rows = st.tuples(*[cells] * len(NAMES)).map(list)


def delimited(table: list[list[str]], delimiter: str, quoting: int) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, quoting=quoting).writerows([NAMES, *table])
    return file.getvalue().encode()


def stored(text: str) -> object:
    """Return a cell as a number if its text comes back from the number, else as text."""
    for kind in (int, float):
        try:
            if str(kind(text)) == text and abs(kind(text)) < 2**63:
                return kind(text)
        except (ValueError, OverflowError):
            continue
    return text or None


def workbook(table: list[list[str]]) -> bytes:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in [NAMES, *table]:
        made = [openpyxl.cell.WriteOnlyCell(sheet, stored(ILLEGAL_CHARACTERS_RE.sub("", text))) for text in row]
        for cell in made:
            if isinstance(cell.value, str):
                cell.data_type = "s"  # "=1+1" is no formula
        sheet.append(made)
    return files.saved(book)


def parquet(table: list[list[str]]) -> bytes:
    """Columns of whole numbers, floats or text, as all of their cells allow it."""
    frame = pd.DataFrame(table, columns=NAMES)
    for name in NAMES:
        values = [stored(text) for text in frame[name]]
        words = any(isinstance(value, str) for value in values)
        frame[name] = pd.Series(frame[name] if words else values, dtype="str" if words else None)
    return files.parquet(frame)


DECLARED = {"encoding": "utf-8", "decimal": "."}
FILES = {
    "csv": (lambda table: delimited(table, ",", csv.QUOTE_MINIMAL), {**DECLARED, "delimiter": ","}),
    "txt": (lambda table: delimited(table, ";", csv.QUOTE_ALL), {**DECLARED, "delimiter": ";", "decimal": ","}),
    "xlsx": (workbook, {}),
    "parquet": (parquet, {}),
}


def codes(table: list[list[str]], kind: str) -> np.ndarray:
    write, options = FILES[kind]
    named = [[f"p{i}" if kind == "xlsx" else row[0], *row[1:]] for i, row in enumerate(table)]
    raw = write([[text.encode("utf-8", "replace").decode().replace("\0", "0") for text in row] for row in named])
    return SCHEMA.encode(files.read_frame(raw, f"t.{kind}", **options))


def neighbors_keep_their_codes(table: list[list[str]], index: int, other: list[str], kind: str) -> None:
    index %= len(table)
    rest = [row for i, row in enumerate(table) if i != index]
    before, replaced = codes(table, kind), codes([*table[:index], other, *table[index + 1 :]], kind)
    assert len(before) == len(replaced) == len(table)
    kept = np.delete(before, index, axis=0)
    np.testing.assert_array_equal(np.delete(replaced, index, axis=0), kept)
    np.testing.assert_array_equal(codes(rest, kind), kept)


@pytest.mark.parametrize("kind", FILES)
@given(table=st.lists(rows, min_size=2, max_size=4), place=st.integers(0, 3), other=rows)
def test_a_row_changes_its_own_codes_only(kind, table, place, other):
    neighbors_keep_their_codes(table, place, other, kind)


@pytest.mark.parametrize("kind", FILES)
def test_one_cell_among_numbers(kind):
    """One cell once decided the type of a whole column of numbers."""
    table = [[f"p{i}", str(i), f"{i / 2}", str(i % 3), str(2**53 + i)] for i in range(4)]
    for cell in ("x", "", "0.5", "9007199254740993", "1,5", "007", "2020-01-01 10:00"):
        neighbors_keep_their_codes(table, 2, ["p", cell, cell, cell, cell], kind)


def test_a_blank_line_is_a_row_of_missing_cells():
    lines = ["id,n,x,c,big", "p0,1,1,1,1", "p1,2,2,2,2", "p2,3,3,x,3"]
    texts = "\n".join(lines), "\n".join([*lines[:2], "", *lines[3:]])
    whole, blank = (SCHEMA.encode(files.read_frame(text.encode(), **FILES["csv"][1])) for text in texts)
    np.testing.assert_array_equal(blank, [whole[0], [0, 20, 4, 0], whole[2]])

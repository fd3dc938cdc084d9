"""Workbooks to columns: the first sheet that can be seen, each cell as text by a rule for that cell alone.

Formulas give the value that was last computed; cells with an error (#N/A, #DIV/0!) and the covered
cells of merged ones are missing. A row is a row even where all its cells are empty, as long as a
row below it has a cell: what a person emptied at the very end is not in the file, and nobody can
count it.
"""

import io
import zipfile
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from dpcore.datasets.delimited import check_width, clean, header_names, too_large
from dpcore.datasets.doubts import doubts_of_names
from dpcore.errors import DataError
from dpcore.extras import need
from dpcore.text import as_text

MOST_ROWS = 2**20  # what a sheet can hold
ROWS_AT_ONCE = 4_096
MEND = "Save it again as xlsx, or as CSV."
NO_ROWS = "The first sheet that can be seen has no rows below its header."
OTHERS = {  # a member of the archive that tells another kind of document
    "xl/workbook.bin": "a binary workbook (xlsb)",
    "content.xml": "an OpenDocument file (ods)",
    "Index/Document.iwa": "a Numbers document",
    "Index.zip": "a Numbers document",
    "word/document.xml": "a Word document",
    "ppt/presentation.xml": "a presentation",
}


def workbook_table(raw: bytes, missing: Sequence[str], limit: int) -> tuple[pa.Table, dict[str, str]]:
    """The first visible sheet's table, and which sheets were there."""
    need("python_calamine", "Reading an Excel file", DataError)
    import python_calamine as calamine  # seldom needed

    check_archive(raw, limit)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(raw))
        sheets = [m for m in book.sheets_metadata if m.typ == calamine.SheetTypeEnum.WorkSheet]
        visible = [m.name for m in sheets if m.visible == calamine.SheetVisibleEnum.Visible]
        if not visible:
            raise DataError("The workbook has no sheet that can be seen.", "Unhide the sheet with the table.")
        sheet = book.get_sheet_by_name(visible[0])
        headers, columns = cells_of(sheet, limit)
        doubts = list(doubts_of_names(headers))
        if visible[0] != sheets[0].name:
            doubts.append("The first sheet is hidden: the first one that can be seen was read.")
        if sheet.merged_cell_ranges:
            doubts.append("The sheet has merged cells: their value is in the first of them, the others are missing.")
    except calamine.PasswordError:
        raise DataError("The workbook is protected by a password.", "Save it without one.") from None
    except (calamine.CalamineError, OSError):
        raise DataError("The workbook is cut short or damaged.", MEND) from None
    read_as = {"sheet": visible[0], "doubts": "\n".join(doubts)}
    if others := len(sheets) - 1:
        hidden = len(sheets) - len(visible)
        read_as["other sheets"] = f"{others:,} not read" + (f", {hidden:,} of them hidden" if hidden else "")
    return pa.Table.from_arrays([clean(column, missing, ".") for column in columns], headers), read_as


def check_archive(raw: bytes, limit: int) -> None:
    """Refuse what is no workbook of this kind, or says itself that it is too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):  # a name that is no text; a version newer than Python
        raise DataError("The workbook is cut short or damaged.", MEND) from None
    names = {member.filename for member in members}
    for name, text in OTHERS.items():
        if name in names:
            raise DataError(f"The file is {text}, although it is called xlsx.", "Save it as xlsx or CSV.")
    if sum(member.file_size for member in members) > limit:
        raise too_large(limit)


def cells_of(sheet: Any, limit: int) -> tuple[list[str], list[pa.ChunkedArray]]:
    """Headers and columns of text. The header is the first row that has text."""
    if sheet.end is None:
        raise DataError(NO_ROWS, "Put the table on the first sheet.")
    (top, left), (bottom, right) = sheet.start, sheet.end
    if not 0 <= top <= bottom < MOST_ROWS:
        raise DataError("The sheet has cells below the last row that a sheet can have.", MEND)
    check_width(right - left + 1)
    rows = enumerate(sheet.iter_rows(), start=1)
    first: list[Any] = next((row for _, row in rows if any(cell != "" for cell in row)), [])
    width = max((j for j, cell in enumerate(first, start=1) if cell != ""), default=0)
    headers = header_names(first[:width])
    parts: list[list[pa.Array]] = [[] for _ in headers]
    size = 0
    while block := list(islice(rows, ROWS_AT_ONCE)):
        for line, row in block:
            if any(cell != "" for cell in row[width:]):
                raise DataError(
                    "A row has a cell beyond the last header.",
                    "Give every column a header, or clear that cell.",
                    f"Row {line:,} has a cell beyond the last header.",
                )
        texts = [[text_of(row[j]) for _, row in block] for j in range(width)]
        size += sum(8 + len(cell or "") for column in texts for cell in column)
        if size > limit:
            raise too_large(limit)
        for part, column in zip(parts, texts, strict=True):
            part.append(pa.array(column, pa.string()).dictionary_encode())
    if not parts or not parts[0]:
        raise DataError(NO_ROWS, "Put the table on the first sheet.")
    return headers, [pa.chunked_array(part) for part in parts]


def text_of(cell: Any) -> str | None:
    """A cell's text; dates, times and whole numbers as people write them, whatever else is in the column."""
    return (cell or None) if isinstance(cell, str) else as_text(cell)

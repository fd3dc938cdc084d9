"""Excel workbooks (xlsx) to columns: the first visible sheet, each cell as text.

Formulas give their last computed value. Cells with an error (#N/A, #DIV/0!) and the covered cells
of merged ones are missing. A row counts even if all its cells are empty, as long as a row below has
a cell. Rows that a person cleared at the very end are not in the file, so they cannot be counted.
"""

import io
import zipfile
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from dpcore.datasets.delimited_text import check_width, clean_cells, header_names, too_large_error
from dpcore.datasets.doubts import doubts_of_names
from dpcore.errors import DataError
from dpcore.extras import need
from dpcore.text import as_text

MOST_ROWS = 2**20  # of a sheet
ROWS_AT_ONCE = 4_096
RESAVE = "Save it again as xlsx, or as CSV."
NO_ROWS = "The first visible sheet has no rows below its header."
OTHER_DOCUMENTS = {  # by a file in the archive: other kinds of document
    "xl/workbook.bin": "a binary workbook (xlsb)",
    "content.xml": "an OpenDocument file (ods)",
    "Index/Document.iwa": "a Numbers document",
    "Index.zip": "a Numbers document",
    "word/document.xml": "a Word document",
    "ppt/presentation.xml": "a presentation",
}


def workbook_table(raw: bytes, missing: Sequence[str], limit: int) -> tuple[pa.Table, dict[str, str]]:
    """Parse a workbook; return the table on its first visible sheet, and how it was read.

    `missing` lists texts that mean a missing cell. DataError if the unpacked workbook, or the text
    of the sheet, has more than `limit` bytes.
    """
    need("python_calamine", "Reading an Excel file", DataError)
    import python_calamine as calamine  # seldom needed

    check_archive(raw, limit)
    try:
        workbook = calamine.CalamineWorkbook.from_filelike(io.BytesIO(raw))
        sheets = [m for m in workbook.sheets_metadata if m.typ == calamine.SheetTypeEnum.WorkSheet]
        visible = [m.name for m in sheets if m.visible == calamine.SheetVisibleEnum.Visible]
        if not visible:
            raise DataError("The workbook has no visible sheet.", "Unhide the table's sheet.")
        sheet = workbook.get_sheet_by_name(visible[0])
        headers, columns = sheet_columns(sheet, limit)
        warnings = list(doubts_of_names(headers))
        if visible[0] != sheets[0].name:
            warnings.append("The first sheet is hidden: the first visible one was read.")
        if sheet.merged_cell_ranges:
            warnings.append("The sheet has merged cells: only the first of them has a value.")
    except calamine.PasswordError:
        raise DataError("The workbook is protected by a password.", "Save it without a password.") from None
    except (calamine.CalamineError, OSError):
        raise DataError("The workbook is cut short or damaged.", RESAVE) from None
    read_as = {"sheet": visible[0], "doubts": "\n".join(warnings)}
    if others := len(sheets) - 1:
        hidden = len(sheets) - len(visible)
        read_as["other sheets"] = f"{others:,} not read" + (f", {hidden:,} of them hidden" if hidden else "")
    return pa.Table.from_arrays([clean_cells(column, missing, ".") for column in columns], headers), read_as


def check_archive(raw: bytes, limit: int) -> None:
    """Raise DataError if the file is not an xlsx workbook, or declares more than `limit` bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):  # a bad name; a newer zip version
        raise DataError("The workbook is cut short or damaged.", RESAVE) from None
    names = {member.filename for member in members}
    for name, text in OTHER_DOCUMENTS.items():
        if name in names:
            raise DataError(f"The file is {text}, not xlsx.", "Save it as xlsx or CSV.")
    if sum(member.file_size for member in members) > limit:
        raise too_large_error(limit)


def sheet_columns(sheet: Any, limit: int) -> tuple[list[str], list[pa.ChunkedArray]]:
    """Return the headers of a sheet, its first row with text, and its columns as text.

    DataError if the cells of the sheet take more than `limit` bytes.
    """
    if sheet.end is None:
        raise DataError(NO_ROWS, "Put the table on the first sheet.")
    (top, left), (bottom, right) = sheet.start, sheet.end
    if not 0 <= top <= bottom < MOST_ROWS:
        raise DataError(f"The sheet has cells below the last row ({MOST_ROWS:,}).", RESAVE)
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
                    "Give every column a header, or clear the cell.",
                    f"Row {line:,} has a cell beyond the last header.",
                )
        texts = [[cell_text(row[j]) for _, row in block] for j in range(width)]
        size += sum(8 + len(cell or "") for column in texts for cell in column)
        if size > limit:
            raise too_large_error(limit)
        for part, column in zip(parts, texts, strict=True):
            part.append(pa.array(column, pa.string()).dictionary_encode())
    if not parts or not parts[0]:
        raise DataError(NO_ROWS, "Put the table on the first sheet.")
    return headers, [pa.chunked_array(part) for part in parts]


def cell_text(cell: Any) -> str | None:
    """Return a cell as text, or None if it is empty; numbers and dates as people write them."""
    return (cell or None) if isinstance(cell, str) else as_text(cell)

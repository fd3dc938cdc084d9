"""Delimited text to columns: delimiter, encoding and decimal mark found or asked for, cells cleaned by one rule."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence

import charset_normalizer
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from dpcore.errors import DataError
from dpcore.texts import as_text

__all__ = ["MAX_COLUMNS", "MISSING_CELLS", "check_width", "clean", "header_names", "text_table", "too_large"]

MAX_COLUMNS = 1_000
SAMPLE = 2**18  # characters that delimiter and decimal mark are found from
DELIMITERS = ("\t", ";", "|", ",")  # in order of preference: a comma is the likeliest to stand inside cells
OTHER_SCRIPTS = ("gb18030", "big5", "shift_jis", "euc_kr", "cp1251", "cp1253", "cp1255", "cp1256")
MISSING_CELLS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"),
    *("NULL", "Null", "null", "None"),
)
# Leading zeros make a name ("01234", a post code), not a number; hexadecimal and "inf" stay text too.
NUMBER = r"^[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$"
WHOLE = r"^[+-]?[0-9]+$"


def text_table(
    raw: bytes, delimiter: str | None, encoding: str | None, decimal: str | None, missing: Sequence[str]
) -> tuple[pa.Table, dict[str, str]]:
    """A delimited text and how it was read."""
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise DataError("The delimiter asked for is not one plain character.", "Use a comma, semicolon, tab or bar.")
    if decimal not in (None, ".", ","):
        raise DataError("The decimal mark asked for is not known.", "Use a point or a comma.")
    text, encoding = _decoded(raw, encoding)
    table = text.lstrip("\r\n")
    blank = text[: len(text) - len(table)].count("\n")
    sample = table[:SAMPLE]
    if len(table) > SAMPLE:  # a last line cut in two would look ragged
        sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    delimiter = delimiter or _find_delimiter(sample)
    records = _records(sample, delimiter)
    headers = header_names(records[0] if records else [])
    if len(headers) < 2:
        raise DataError(
            "The file has one column only; its delimiter was probably not recognized.",
            "Choose the delimiter by hand, or add columns.",
        )
    decimal = decimal or _find_decimal(records[1:], delimiter)
    body = table.rstrip("\r\n ").encode() + b"\n"
    if body.count(b'"') % 2:  # a cell may be open until the end and swallow rows
        _check_rows(body, delimiter, len(headers), blank)
    cells = _cells(body, delimiter, len(headers))
    if cells is None:
        _check_rows(body, delimiter, len(headers), blank)
        raise DataError("The text cannot be read as a table.", "Save it again as CSV in UTF-8.")
    if not cells.num_rows:
        raise DataError("The file has a header line but no rows.", "Choose a file with rows.")
    columns = [clean(column, missing, decimal) for column in cells.columns]
    return pa.Table.from_arrays(columns, headers), {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}


def _decoded(raw: bytes, encoding: str | None) -> tuple[str, str]:
    """The text and its encoding: asked for, else told by a mark, else strict UTF-8, else the likeliest."""
    if encoding is None:
        encoding = _find_encoding(raw)
    try:
        text = raw.decode(encoding)
    except LookupError:
        raise DataError("The encoding asked for is not known.", "Use utf-8, utf-16, cp1252 or another name.") from None
    except UnicodeError:
        raise DataError(f"The text is not valid {encoding}.", "Choose another encoding, or save it as UTF-8.") from None
    if "\0" in text:
        raise DataError(
            "The file is not text, although its extension says so.", "Check its format, or choose its encoding by hand."
        )
    return text.removeprefix("\ufeff"), encoding


def _find_encoding(raw: bytes) -> str:
    if raw.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    head = raw[:SAMPLE]
    for name, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if zeros.count(0) > len(zeros) / 2:  # every second byte of Latin text in UTF-16
            return name
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    # Western texts have lone accented letters; other scripts have runs, and only those does the detector tell apart
    runs = re.findall(rb"[\x80-\xff]+", raw)[:10_000]
    if sum(len(run) > 1 for run in runs) > len(runs) / 2:
        likely = charset_normalizer.from_bytes(head, cp_isolation=list(OTHER_SCRIPTS)).best()
        if likely is not None:
            return likely.encoding
    try:
        raw.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _records(sample: str, delimiter: str) -> list[list[str]]:
    """The sample's records, blank lines left out."""
    try:
        return [record for record in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if record]
    except csv.Error:
        raise DataError("The text cannot be read as a table.", "Check its quotation marks and delimiter.") from None


def _find_delimiter(sample: str) -> str:
    """The delimiter that splits the header, and most records like the header."""

    def agreement(delimiter: str) -> tuple[float, int]:
        records = _records(sample, delimiter)
        width = len(records[0]) if records else 0
        return (sum(len(r) == width for r in records) / len(records), width) if width > 1 else (0.0, 0)

    return max(DELIMITERS, key=agreement)


def _find_decimal(records: list[list[str]], delimiter: str) -> str:
    """The mark that more numbers of the sample have. In quoted cells of a comma file, 1,234 is a thousand."""
    cells = [cell.strip() for record in records for cell in record]
    points = sum(re.fullmatch(r"[+-]?\d*\.\d+", cell) is not None for cell in cells)
    commas = sum(
        re.fullmatch(r"[+-]?\d*,\d+", cell) is not None
        and not (delimiter == "," and re.fullmatch(r"[+-]?\d{1,3},\d{3}", cell))
        for cell in cells
    )
    european = delimiter == ";"  # spreadsheets write it where the comma is taken by decimals
    return "," if commas and commas + european > points else "."


def _cells(body: bytes, delimiter: str, width: int) -> pa.Table | None:
    """The cells below the header, as dictionaries of text; None if some line is malformed.

    None and no error: the parser's messages quote the line, and must not hang on ours as their context.
    """
    names = [str(j) for j in range(width)]
    try:
        return arrow_csv.read_csv(
            pa.BufferReader(body),
            # large blocks: a quoted cell may hold many lines, but no record may straddle two block boundaries
            read_options=arrow_csv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=2**23),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string())), null_values=[]
            ),
        )
    except pa.ArrowException:
        return None


def _check_rows(body: bytes, delimiter: str, width: int, before: int) -> None:
    """Name the first line that is no proper record, if there is one. Slow; for files that look wrong."""
    lines = io.TextIOWrapper(io.BytesIO(body), encoding="utf-8", newline="")
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line = before + 1
    try:
        for record in reader:
            if record and len(record) != width:
                raise DataError(
                    f"Line {line:,} and the header differ in their number of cells: {len(record):,} and {width:,}.",
                    "Quote cells that hold the delimiter, or complete the line.",
                )
            line = before + reader.line_num + 1
    except csv.Error:
        raise DataError(
            f"Line {line:,} has a quotation mark that does not open or close a cell.",
            "Close it, or double quotation marks inside cells.",
        ) from None


def check_width(columns: int) -> None:
    """Refuse tables of too many columns."""
    if columns > MAX_COLUMNS:
        raise DataError(
            f"The table has {columns:,} columns; at most {MAX_COLUMNS:,} are allowed.", "Leave columns out."
        )


def too_large(limit: int) -> DataError:
    """Of a file that unpacks to more bytes than the limit."""
    return DataError(
        f"Unpacked, the file has more than {limit / 2**20:,.1f} MiB.",
        "Leave out columns or rows, or raise the limit (max_bytes).",
    )


def header_names(names: Sequence[object]) -> list[str]:
    """Header names as text, verbatim but for surrounding spaces. Errors give positions: a "header" may be a row."""
    check_width(len(names))
    headers = ["" if name is None else as_text(name).strip() for name in names]
    first: dict[str, int] = {}
    for position, header in enumerate(headers, start=1):
        if not header:
            raise DataError(
                f"The header of column {position} is empty.",
                "Give every column a header in the first line, or remove the empty column.",
            )
        if header in first:
            raise DataError(
                f"Columns {first[header]} and {position} have the same header.",
                "Rename one of them; the first line must hold headers, not a row.",
            )
        first[header] = position
    return headers


def clean(column: pa.ChunkedArray, missing: Sequence[str], decimal: str | None) -> pa.Array:
    """A column of text without surrounding spaces and missing cells; with a decimal mark, as numbers if all are."""
    encoded = column.unify_dictionaries().combine_chunks()  # every distinct text is looked at once
    words = pc.utf8_trim_whitespace(encoded.dictionary)
    words = pc.if_else(pc.is_in(words, value_set=pa.array(missing, pa.string())), None, words)
    numbers = None if decimal is None else _numbers(words, decimal)
    return (words if numbers is None else numbers).take(encoded.indices)


def _numbers(words: pa.Array, decimal: str) -> pa.Array | None:
    """The numbers that the texts say, or None unless all do."""
    if words.null_count == len(words):
        return pa.nulls(len(words), pa.float64())
    if decimal == ",":  # a point is no decimal mark then: 31.12 may be a day
        words = pc.replace_substring(pc.replace_substring(words, ".", "_"), ",", ".")
    if not pc.all(pc.match_substring_regex(words, NUMBER)).as_py():
        return None
    words = pc.replace_substring_regex(words, r"^[+]", "")
    whole = pc.all(pc.match_substring_regex(words, WHOLE)).as_py()
    try:
        return words.cast(pa.int64() if whole else pa.float64())
    except pa.ArrowInvalid:  # 20 digits are an account, not a quantity
        return None

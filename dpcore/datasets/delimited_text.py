"""Delimited text (csv, tsv, txt) to columns of cells, in blocks, by rules that no row influences.

Delimiter, encoding and decimal mark are declared, or follow from what is public anyway: the
delimiter from the header, the encoding from a byte order mark or else UTF-8, the decimal mark from
the delimiter. If they were inferred from the rows, one "Zürich" could change how every other row is
read. Where the rows contradict a declaration, a warning (`doubts`) or an error says so, and a
person decides. Each cell is cleaned independently of the others.

A small text is one block; a long one may be larger than memory. The text is read twice. The first
pass checks that the file is text, finds where its header ends, and looks for blank lines and an odd
number of quotation marks, which only shows at the end. In the second pass Arrow's parser cuts
blocks where records end.
"""

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import Any, BinaryIO, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from dpcore.datasets.doubts import doubts_of_text
from dpcore.errors import DataError
from dpcore.text import as_text

csv.field_size_limit(2**31 - 1)  # for this whole process: a cell may be as long as its file allows
MAX_COLUMNS = 1_000
SAMPLE = 2**18  # bytes from which an encoding is guessed
BLOCK = 2**23  # bytes: the longest line; a quoted cell may hold many lines
PIECE = 1 << 20  # bytes per read
SWALLOWED = 8 * BLOCK  # characters of one record, after which a quotation mark must be missing
MOST_NOTES, MOST_TITLES = 10, 20  # lines below and above a table
ROW_ID = "row_id"  # the name of a first column without a header
DELIMITERS = ("\t", ";", "|", ",")  # preferred first: a comma may stand inside cells
SCRIPTS = (
    *("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1251", "koi8_r", "cp866"),
    *("cp1253", "cp1255", "cp1256"),
)
ESCAPED = ("iso2022_jp", "iso2022_jp_ext", "iso2022_kr")  # ASCII, so valid UTF-8 too
# a quoted cell: it follows a delimiter, or the first half of a doubled quotation mark
QUOTED = re.compile(r'(?<![^\t;|, \r\n"])"[^"]*"')
WESTERN = ("cp1252", "cp1250", "cp1254", "cp850", "latin-1")  # in order of preference
PUNCTUATION = "‘’“”–—…€"  # of Western texts
NO_TEXT = "The file is not text, although its extension says so.", "Check its format, or choose its encoding by hand."
FEW, SHOWN = 4, 40  # encodings named in an error, and letters shown of the header in each of them
MISSING_CELLS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"),
    *("NULL", "Null", "null", "None"),
)
MARKS = "[. '’\u00a0\u202f]"  # between thousands, where a decimal comma follows
COMMA = rf"^[+-]?([0-9]+,[0-9]*|,[0-9]+|[0-9]{{1,3}}({MARKS}[0-9]{{3}})+,[0-9]*)([eE][+-]?[0-9]+)?$"


def check_delimiter_and_decimal(delimiter: str | None, decimal: str | None) -> None:
    """Raise DataError if a declared delimiter or decimal mark is not allowed."""
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise DataError("The delimiter must be one plain character.", "Use a comma, semicolon or tab.")
    if decimal not in (None, ".", ","):
        raise DataError("The decimal mark must be a point or a comma.", "Use a point or a comma.")


def read_header(table: str, delimiter: str | None, decimal: str | None) -> tuple[str, str, list[str]]:
    """Return delimiter, decimal mark and header names of a text that begins with its header.

    `table` is the text, or its beginning. A delimiter or decimal mark of None was not declared, and
    follows from the header line.
    """
    first = re.split("[\r\n]", QUOTED.sub("", table[:BLOCK]), maxsplit=1)[0]
    delimiter = delimiter or max(DELIMITERS, key=first.count)
    try:
        header = next(csv.reader(io.StringIO(table[:BLOCK], newline=""), delimiter=delimiter), [])
    except csv.Error:
        raise DataError("The text cannot be read as a table.", "Check its quotation marks and delimiter.") from None
    names = [name.strip() for name in header]
    if not any(names[1:]):  # one column, or a title
        lines = table[:BLOCK].splitlines()[: MOST_TITLES + 1]
        parts = [max(map(line.rstrip("".join(DELIMITERS)).count, DELIMITERS)) for line in lines]
        above = next((k for k, part in enumerate(parts) if part and {*parts[k : k + 3]} == {part}), 0)
        if " " in names[0] and above:
            lines_named = "Line 1 looks" if above == 1 else f"Lines 1 to {above} look"
            raise DataError(
                "The file begins with a title of the table instead of its header.",
                "Delete the title: the header must be the first line.",
                f"{lines_named} like a title of the table.",
            )
    headers = header_names(names)
    if len(headers) < 2:
        raise DataError(
            "The file has only one column; its delimiter was probably not recognized.",
            "Choose the delimiter by hand, or add columns.",
        )
    return delimiter, decimal or ("," if delimiter == ";" else "."), headers  # as spreadsheets do


def choose_encoding(raw: bytes, declared: str | None) -> str:
    """Return the encoding of a text: the declared one, that of a byte order mark, or UTF-8.

    Raises DataError if the encoding is unknown or not for text. `raw` is the beginning of the file.
    """
    marks = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    marked = next((name for mark, name in marks.items() if raw.startswith(mark)), "utf-8")
    encoding = marked if declared is None else declared
    try:
        codecs.lookup(encoding)
    except (LookupError, ValueError):  # ValueError: a name with a null character
        raise DataError("The declared encoding is unknown.", "Use utf-8, utf-16, cp1252 or another name.") from None
    try:
        " ".encode(encoding)
    except (LookupError, UnicodeError):
        raise DataError("The declared encoding is not for text.", "Use utf-8, utf-16 or cp1252.") from None
    return encoding


def encoding_error(raw: bytes, declared: str | None = None) -> DataError:
    """Return the error for a text that is not valid in the declared encoding, or not valid UTF-8.

    Without a declaration the error lists likely encodings, each with the header as it would read.
    Only a person may declare one of them. `raw` holds the text from its beginning.
    """
    if declared is not None:
        return DataError(f"The text is not valid {declared}.", "Choose another encoding, or save as UTF-8.")
    if b"\0" in raw and not _unmarked_utf16(raw):
        return DataError(*NO_TEXT)
    lines = [line for line in raw.splitlines() if not line.isascii()]
    wrong = [line for line in lines if line.decode("utf-8", "ignore").encode() != line]
    named = _likely_encodings(raw, b"\n".join(wrong)[:SAMPLE])
    cause = "The text is not valid UTF-8" if wrong else "The text is not plain UTF-8"
    if len(wrong) < len(lines) and named[0] in WESTERN:
        cause = "Some lines of the text are valid UTF-8 and others are not: two encodings are mixed"
    heads = {name: re.split("[\r\n]", _decode_start(raw, name).lstrip("\r\n"), maxsplit=1)[0][:SHOWN] for name in named}
    text = "; ".join(name if head.isascii() else f"{name}, with the header {head!r}" for name, head in heads.items())
    lead = "Likeliest first, it may be" if len(named) > 1 else "It seems to be"
    return DataError(f"{cause}. {lead} {text}.", "Declare the encoding with correct text, or save as UTF-8.")


def _decode_start(raw: bytes, encoding: str) -> str:
    """Decode the first bytes of a text, with replacement characters where they are not valid.

    The bytes may end inside a character.
    """
    return codecs.getincrementaldecoder(encoding)("replace").decode(raw[:SAMPLE])


def _unmarked_utf16(raw: bytes) -> str | None:
    """Return "utf-16-le" or "utf-16-be" if a text without a byte order mark is UTF-16, else None.

    Digits, delimiters and line ends then have a zero byte, always on the same side.
    """
    less, more = sorted(counts := (raw[:SAMPLE:2].count(0), raw[1:SAMPLE:2].count(0)))
    name = "utf-16-be" if counts[0] == more else "utf-16-le"
    return name if 20 * less < more > len(raw[:SAMPLE]) / 40 and "\n" in _decode_start(raw, name) else None


def certain_encoding(raw: bytes) -> str | None:
    """Return the encoding of bytes without a byte order mark if it is beyond doubt, else None.

    Such bytes may be valid UTF-8 as well: UTF-16, and encodings with escape sequences.
    """
    if (offset := raw.find(b"\x1b")) < 0 or not raw.isascii():
        return _unmarked_utf16(raw)
    texts = {name: _decode_start(raw[offset:], name) for name in ESCAPED}
    return next((name for name, text in texts.items() if not text.isascii() and "\ufffd" not in text), None)


def _likely_encodings(raw: bytes, sample: bytes) -> list[str]:
    """Return at most `FEW` encodings, the likeliest first, or a single one if it is certain.

    `raw` is the beginning of the text, and `sample` has the lines that are not valid UTF-8.
    """
    if sure := certain_encoding(raw):
        return [sure]
    import charset_normalizer  # seldom needed

    read = {name: re.sub("[\0-\x7f]", "", _decode_start(sample, name)) for name in (*SCRIPTS, *WESTERN)}
    western = sorted(WESTERN, key=lambda name: -sum(map(str.islower, read[name])))
    lines = sample.rpartition(b"\n")[0] or sample  # whole lines, as letters may have several bytes
    others = [one.encoding for one in charset_normalizer.from_bytes(lines, cp_isolation=[*SCRIPTS, *WESTERN[:3]])]
    # Western texts have single accented letters; other scripts have runs of letters beyond ASCII.
    # Only the detector distinguishes those scripts from each other.
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", sample)]
    n_words = len(re.findall(rb"(?<![a-z\x80-\xff])[\x80-\xff]{2,}(?![a-z\x80-\xff])", sample))
    many = 2 * n_words > len(runs) or 2 * sum(run for run in runs if run > 2) > sum(runs)
    ranked = dict.fromkeys([*others[: FEW - 1], *western] if many else [*western, *others])
    found = [name for name in ranked if "\ufffd" not in read.get(name, "\ufffd")]
    odd = {name: sum(not (one.isalpha() or one in PUNCTUATION) for one in read[name]) for name in found}
    return sorted(found, key=lambda name: 2 * odd[name] > len(read[name]))[:FEW]


def is_footnote(rest: Iterable[list[str]], record: list[str], width: int) -> bool:
    """Return whether the last records of a file are a note below the table, and not rows.

    `record` has another number of cells than the header, whose number is `width`, and `rest` yields
    the records after it. A note has few records of one or two cells, and a space in some cell.
    """
    left = [record, *islice(rest, MOST_NOTES)]
    said = any(" " in cell for one in left for cell in one)
    return said and len(left) <= MOST_NOTES and all(len(one) < min(width, 3) for one in left)


class RecordLines:
    """Iterator of lines that also collects the lines of the current record.

    A record of more than `SWALLOWED` characters raises `csv.Error`: one of its quotation marks was
    probably never closed.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Wrap an iterable of lines."""
        self._lines, self._taken, self._size = lines, list[str](), 0

    def __iter__(self) -> Iterator[str]:
        """Yield the lines, and collect them until `take` is called."""
        for line in self._lines:
            self._taken.append(line)
            self._size += len(line)
            if self._size > SWALLOWED:
                raise csv.Error
            yield line

    def take(self) -> list[str]:
        """Return the lines of the current record, which were read since the last call."""
        found, self._taken, self._size = self._taken, [], 0
        return found


def check_width(columns: int) -> None:
    """Raise DataError if `columns`, the number of a table's columns, is too large.

    The message does not state that number: in a workbook, the cells of one row may decide it.
    """
    if columns > MAX_COLUMNS:
        raise DataError(f"The table has more than {MAX_COLUMNS:,} columns.", "Leave columns out.")


def too_large_error(limit: int) -> DataError:
    """Return the error for a packed file that unpacks to more bytes than the limit."""
    return DataError(
        f"Unpacked, the file has more than {limit / 2**20:,.1f} MiB.",
        "Leave out columns or rows, or raise the limit (max_bytes).",
    )


def header_names(names: Sequence[object]) -> list[str]:
    """Return header names as text, without surrounding spaces; raise DataError if one is unusable.

    Errors give positions instead of names, because a "header" may be a row. The first name may be
    empty, as in files with row numbers that other programs write.
    """
    check_width(len(names))
    headers = ["" if name is None else as_text(name).strip() for name in names]
    if len(headers) > 1 and not headers[0] and ROW_ID not in headers:
        headers[0] = ROW_ID
    first: dict[str, int] = {}
    for position, header in enumerate(headers, start=1):
        if all(unicodedata.category(letter)[0] in "CZ" for letter in header):
            raise DataError(
                f"The header of column {position} is empty or invisible.",
                "Give every column a header in the first line, or remove the empty column.",
            )
        if header in first:
            raise DataError(
                f"Columns {first[header]} and {position} have the same header.",
                "Rename one of them; the first line must hold headers, not a row.",
            )
        first[header] = position
    return headers


def clean_cells(column: pa.ChunkedArray, missing: Sequence[str], decimal: str | None = None) -> pa.DictionaryArray:
    """Return a column of text with cells trimmed, missing marks as nulls, and decimal points.

    `missing` lists the texts that mean "missing". Decimal commas become points if `decimal` is ",".
    """
    encoded = column.unify_dictionaries().combine_chunks()  # each distinct text is cleaned once
    words = pc.utf8_trim_whitespace(encoded.dictionary)
    words = pc.if_else(pc.is_in(words, value_set=pa.array(missing, pa.string())), None, words)
    if decimal == ",":
        points = pc.replace_substring(pc.replace_substring_regex(words, MARKS, ""), ",", ".")
        words = pc.if_else(pc.match_substring_regex(words, COMMA), points, words)
    return pa.DictionaryArray.from_arrays(encoded.indices, words)


def text_table(raw: bytes, missing: Sequence[str], **written: str | None) -> tuple[pa.Table, dict[str, str]]:
    """Parse a delimited text into an Arrow table; also return how it was read.

    `raw` is the text as bytes, and `missing` lists texts that mean a missing cell. `written` has
    the declared delimiter, encoding and decimal mark, as far as a person declared them. The second
    result names those that were used, and has warnings under "doubts", one per line.
    """
    file = TextBlocks(lambda: io.BytesIO(raw), lambda: None, max(len(raw), 1), **written)
    batches = [*file.parse(range(len(file.headers)))]
    if not sum(batch.num_rows for batch in batches):
        raise DataError("The file has a header line but no rows.", "Choose a file with rows.")
    cells = pa.Table.from_batches(batches).unify_dictionaries()
    text, marks = "".join(file.texts()), (file.delimiter, file.decimal)
    found = "\n".join(doubts_of_text(text, file.headers, cells, *marks, file.blank))
    columns = [clean_cells(column, missing, file.decimal) for column in cells.columns]
    read_as = {"delimiter": file.delimiter, "encoding": file.encoding, "decimal": file.decimal, "doubts": found}
    return pa.Table.from_arrays(columns, file.headers), read_as


class TextBlocks:
    """A delimited text after its first pass: its `headers`, and `batches` of its cells.

    `rows` counts the rows that `batches` has yielded, `blank` the blank lines among them, and
    `fraction_read` is their share of the file. DataError if the file is not a table of text.
    """

    def __init__(
        self,
        open_file: Callable[[], AbstractContextManager[BinaryIO]],
        watch: Callable[[], None],
        piece: int = 0,
        /,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
    ) -> None:
        """Read a text once: check its encoding, find its header, and look for blank lines.

        `open_file` opens the file of bytes. `piece` is the number of bytes that are read at once,
        and `watch` is called for each such piece. `delimiter`, `encoding` and `decimal` are None if
        not declared.
        """
        check_delimiter_and_decimal(delimiter, decimal)
        self._open, self._piece, self._declared = open_file, piece or PIECE, encoding
        self.rows = self.blank = self._ends = 0
        with open_file() as file:
            self.encoding = choose_encoding(file.read(4), encoding)
        self._has_blank, head = False, ""
        for text in self.texts():
            head += text
            if len(head) >= BLOCK:
                break
        if self.encoding == "utf-8" and encoding is None and certain_encoding(head.encode()):
            raise encoding_error(head.encode())
        table = head.lstrip("\r\n")
        if not table.strip():
            raise DataError("The file is empty.", "Choose a file with a header line and rows.")
        self._before = head[: len(head) - len(table)].count("\n")
        self._check_text(table.partition("\n")[0])
        self.delimiter, self.decimal, self.headers = read_header(table, delimiter, decimal)
        quotes, last = 0, ""
        for text in self._table_text():
            watch()
            if encoding is None:
                self._check_text(text)
            quotes, self._ends = quotes + text.count('"'), self._ends + text.count("\n")
            parts = (text, last + text[:1])
            self._has_blank |= any(end in part for part in parts for end in ("\n\n", "\n\r", "\r\r"))
            last = text[-1:]
        if quotes % 2:  # an unclosed quotation mark may swallow all rows after it
            self._check_records()

    def _check_text(self, text: str) -> None:
        """Raise DataError if a piece of the file contains a null character, and so is not text."""
        if "\0" in text:
            raise DataError(*NO_TEXT)

    def texts(self) -> Iterator[str]:
        """Yield the whole file, decoded, in pieces, without a byte order mark at its start."""
        decoder, begin, last, start = codecs.getincrementaldecoder(self.encoding)(), b"", b"", True
        with self._open() as file:
            for raw in chain(iter(lambda: file.read(self._piece), b""), [b""]):
                begin, last = begin or raw, raw or last
                try:
                    text = decoder.decode(raw, final=not raw)
                    if self._declared is not None:
                        text.encode()  # some encodings give halves of characters
                except UnicodeError:
                    if last is not begin:  # the header, and whole lines
                        begin = begin.partition(b"\n")[0] + b"\n" + (last.partition(b"\n")[2] or last)
                    raise encoding_error(begin, self._declared) from None
                if text:
                    yield text.removeprefix("\ufeff") if start else text
                    start = False

    def _table_text(self) -> Iterator[str]:
        """Yield the decoded text in pieces, from the header on, without white space at the end."""
        waiting, started, white = "", False, "\r\n" if self.delimiter == " " else "\r\n "
        for text in self.texts():
            joined = waiting + text if started else text.lstrip("\r\n")
            started = started or joined != ""
            body = joined.rstrip(white)
            waiting = joined[len(body) :]
            if body:
                yield body

    def _fill_blanks(self) -> Iterator[str]:
        """Yield the text from the header on, with each blank line made a row of missing cells.

        A line is a row, so that clearing a row's cells changes that row and not the number of rows.
        """
        text = io.TextIOWrapper(_byte_stream(self._table_text()), "utf-8", newline="")
        lines, found = RecordLines(text), list[str]()
        try:
            for record in csv.reader(lines, delimiter=self.delimiter):
                self.blank += not record
                found += [] if record else [self.delimiter * (len(self.headers) - 1)]
                found += lines.take()
                if len(found) > 1_000:
                    yield "".join(found)
                    found.clear()
        except csv.Error:
            self._refuse()
        yield "".join(found)

    def _check_records(self) -> None:
        """Raise DataError that names the first malformed record, if there is one.

        The check is slow, and runs only on files that look damaged.
        """
        lines = RecordLines(io.TextIOWrapper(_byte_stream(self._table_text(), "\n"), "utf-8", newline=""))
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        line, width = self._before + 1, len(self.headers)
        try:
            for record in reader:
                if record and len(record) != width:
                    if is_footnote(reader, record, width):
                        raise DataError(
                            "The last lines of the file look like a note, not like rows.",
                            "Delete the lines below the table.",
                            f"Line {line:,}, below the table, looks like a note, not like a row.",
                        )
                    raise DataError(
                        "A line of the file and its header differ in their number of cells.",
                        "Quote cells that hold the delimiter, or complete the line.",
                        f"Line {line:,} has {len(record):,} cells, and the header has {width:,}.",
                    )
                if sum(len(cell.encode()) for cell in record) >= BLOCK:
                    more = f"has more than {BLOCK >> 20} MiB."
                    raise DataError(f"A line {more}", "Shorten its cells.", f"Line {line:,} {more}")
                line = self._before + reader.line_num + 1
                lines.take()
        except csv.Error:
            raise DataError(
                "A line has a quotation mark that does not open or close a cell.",
                "Close the quotation, or double quotation marks inside cells.",
                f"Line {line:,} has a quotation mark that does not open or close a cell.",
            ) from None

    def _refuse(self) -> NoReturn:
        """Raise DataError for a malformed text; the message names the line if it can be found."""
        self._check_records()
        raise DataError("The text cannot be read as a table.", "Save the file again as CSV in UTF-8.")

    @property
    def fraction_read(self) -> float:
        """Share of the file's lines that `batches` has yielded; the parser itself reads ahead."""
        return min(self.rows / max(self._ends, 1), 1.0)

    def batches(self, names: Sequence[str], missing: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Yield the cells of some columns as dictionary arrays, in batches of any size.

        `missing` lists the texts that mean a missing cell.
        """
        for batch in self.parse([*map(self.headers.index, names)]):
            self.rows += batch.num_rows
            yield [clean_cells(pa.chunked_array([one]), missing, self.decimal) for one in batch.columns]

    def parse(self, wanted: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Yield Arrow record batches of the columns at the positions `wanted`, as text.

        Raises a DataError in place of Arrow's error, because the text of that would quote a line.
        """
        lines, malformed = (self._fill_blanks() if self._has_blank else self._table_text()), False
        names = [str(j) for j in range(len(self.headers))]
        try:
            with arrow_csv.open_csv(
                pa.PythonFile(_byte_stream(lines, "\n"), "r"),
                # large blocks: a quoted cell may hold many lines, but no record may exceed a block
                arrow_csv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=BLOCK),
                arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string())),
                    include_columns=[names[j] for j in wanted],
                    null_values=[],
                ),
            ) as reader:
                yield from reader
        except pa.ArrowInvalid:
            malformed = True
        if malformed:
            self._refuse()


class _ByteStream(io.RawIOBase):
    """File-like object that yields the bytes of an iterator."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        """Wrap an iterator of bytes."""
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, room: Any) -> int:
        """Fill the buffer `room` with bytes; return how many were written, 0 at the end."""
        while not self._rest and (piece := next(self._pieces, None)) is not None:
            self._rest = memoryview(piece)
        size = min(len(room), len(self._rest))
        room[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _byte_stream(pieces: Iterable[str], *more: str) -> io.BufferedReader:
    """Return a buffered binary stream of texts (`pieces`, then `more`), encoded as UTF-8."""
    return io.BufferedReader(_ByteStream(map(str.encode, chain(pieces, more))), PIECE)

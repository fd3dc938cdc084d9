"""Delimited text to cells, by rules that no row has a say in, and block by block.

Delimiter, encoding and decimal mark are declared, or follow from what is public anyway: the
delimiter from the header, the encoding from a byte order mark or else UTF-8, the decimal mark from
the delimiter. Were they found out from the rows, one "Zürich" could change how every other row is
read. Where the rows speak against what was declared, that is said (`doubts`, refusals), and a
person decides. Each cell is cleaned by itself.

A small text is one block, and a long one may be longer than the memory. It is read twice: first to
see that it is text, where its header ends, and whether it has blank lines or a quotation mark too
many, which nobody can tell before the end; then by Arrow's parser, which cuts blocks where records
end.
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

from dpcore.datasets.doubts import doubts
from dpcore.errors import DataError
from dpcore.text import as_text

csv.field_size_limit(2**31 - 1)  # of all of this process: a cell is as long as its file lets it be
MAX_COLUMNS = 1_000
SAMPLE = 2**18  # bytes that an encoding is guessed from
BLOCK = 2**23  # bytes: a line may be that long, and a cell with quotes hold many lines
PIECE = 1 << 20  # bytes
SWALLOWED = 8 * BLOCK  # characters
MOST_NOTES, MOST_TITLES = 10, 20  # lines below and above a table
ROW_ID = "row_id"  # what the first column is called that has no name
DELIMITERS = ("\t", ";", "|", ",")  # in order of preference: a comma is the likeliest to stand inside cells
SCRIPTS = (
    *("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1251", "koi8_r", "cp866"),
    *("cp1253", "cp1255", "cp1256"),
)
ESCAPED = ("iso2022_jp", "iso2022_jp_ext", "iso2022_kr")  # all of it is ASCII, and so valid UTF-8 too
QUOTED = re.compile(r'(?<![^\t;|, \r\n"])"[^"]*"')  # what a delimiter, or one half of a doubled mark, stands before
WESTERN = ("cp1252", "cp1250", "cp1254", "cp850", "latin-1")  # in order of preference
PUNCTUATION = "‘’“”–—…€"  # of Western texts
NO_TEXT = "The file is not text, although its extension says so.", "Check its format, or choose its encoding by hand."
FEW, SHOWN = 4, 40  # encodings that are named, and letters of the header as each would read it
MISSING_CELLS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"),
    *("NULL", "Null", "null", "None"),
)
MARKS = "[. '’\u00a0\u202f]"  # between thousands, where a decimal comma follows
COMMA = rf"^[+-]?([0-9]+,[0-9]*|,[0-9]+|[0-9]{{1,3}}({MARKS}[0-9]{{3}})+,[0-9]*)([eE][+-]?[0-9]+)?$"


def check_marks(delimiter: str | None, decimal: str | None) -> None:
    """Refuse marks that are asked for and cannot be."""
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise DataError("The delimiter must be one plain character.", "Use a comma, semicolon, tab or bar.")
    if decimal not in (None, ".", ","):
        raise DataError("The decimal mark is not known.", "Use a point or a comma.")


def read_header(table: str, delimiter: str | None, decimal: str | None) -> tuple[str, str, list[str]]:
    """Delimiter, decimal mark and header names of a text that begins with its header."""
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
                "What stands above the header looks like a title of the table.",
                "Delete it: the header comes first.",
                f"{lines_named} like a title of the table.",
            )
    headers = header_names(names)
    if len(headers) < 2:
        raise DataError(
            "The file has one column only; its delimiter was probably not recognized.",
            "Choose the delimiter by hand, or add columns.",
        )
    return delimiter, decimal or ("," if delimiter == ";" else "."), headers  # as spreadsheets write it


def encoding_of(raw: bytes, declared: str | None) -> str:
    """The encoding of a text that begins so, which is known."""
    marks = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    marked = next((name for mark, name in marks.items() if raw.startswith(mark)), "utf-8")
    encoding = marked if declared is None else declared
    try:
        codecs.lookup(encoding)
    except (LookupError, ValueError):  # a name with a null character, or with half of one, is a ValueError
        raise DataError("The encoding is not known.", "Use utf-8, utf-16, cp1252 or another name.") from None
    try:
        " ".encode(encoding)
    except (LookupError, UnicodeError):
        raise DataError("This encoding is not for text.", "Use utf-8, utf-16 or cp1252.") from None
    return encoding


def other_encoding(raw: bytes, declared: str | None = None) -> DataError:
    """What to say of a text, from its beginning on, that is not what was declared, or else not UTF-8.

    That is what it may be, each encoding with the header as it would be read; only a person may
    declare one.
    """
    if declared is not None:
        return DataError(f"The text is not valid {declared}.", "Choose another encoding, or save it as UTF-8.")
    if b"\0" in raw and not _wide(raw):
        return DataError(*NO_TEXT)
    lines = [line for line in raw.splitlines() if not line.isascii()]
    wrong = [line for line in lines if line.decode("utf-8", "ignore").encode() != line]
    named = _likely_encodings(raw, b"\n".join(wrong)[:SAMPLE])
    cause = "The text is not valid UTF-8" if wrong else "The text is not plain UTF-8"
    if len(wrong) < len(lines) and named[0] in WESTERN:
        cause = "Some lines of the text are valid UTF-8 and others are not: two encodings are mixed"
    heads = {name: re.split("[\r\n]", _text(raw, name).lstrip("\r\n"), maxsplit=1)[0][:SHOWN] for name in named}
    text = "; ".join(name if head.isascii() else f"{name}, with the header {head!r}" for name, head in heads.items())
    lead = "Likeliest first, it may be" if len(named) > 1 else "It seems to be"
    return DataError(f"{cause}. {lead} {text}.", "Declare its encoding, in which all reads well, or save it as UTF-8.")


def _text(raw: bytes, encoding: str) -> str:
    """The beginning of bytes as text, with replacement characters where it is none; it may be cut inside a letter."""
    return codecs.getincrementaldecoder(encoding)("replace").decode(raw[:SAMPLE])


def _wide(raw: bytes) -> str | None:
    """The name of UTF-16 without a mark: digits, delimiters and line ends have a byte of 0, all on one side."""
    less, more = sorted(counts := (raw[:SAMPLE:2].count(0), raw[1:SAMPLE:2].count(0)))
    name = "utf-16-be" if counts[0] == more else "utf-16-le"
    return name if 20 * less < more > len(raw[:SAMPLE]) / 40 and "\n" in _text(raw, name) else None


def sure_encoding(raw: bytes) -> str | None:
    """The name of an encoding that bytes without a mark tell beyond doubt, although they may be valid UTF-8."""
    if (offset := raw.find(b"\x1b")) < 0 or not raw.isascii():
        return _wide(raw)
    texts = {name: _text(raw[offset:], name) for name in ESCAPED}
    return next((name for name, text in texts.items() if not text.isascii() and "\ufffd" not in text), None)


def _likely_encodings(raw: bytes, sample: bytes) -> list[str]:
    """The likeliest first, a few of them unless there is no doubt; the sample is of lines that are not UTF-8."""
    if sure := sure_encoding(raw):
        return [sure]
    import charset_normalizer  # seldom needed

    read = {name: re.sub("[\0-\x7f]", "", _text(sample, name)) for name in (*SCRIPTS, *WESTERN)}
    western = sorted(WESTERN, key=lambda name: -sum(map(str.islower, read[name])))
    lines = sample.rpartition(b"\n")[0] or sample  # whole ones, as letters may have several bytes
    others = [one.encoding for one in charset_normalizer.from_bytes(lines, cp_isolation=[*SCRIPTS, *WESTERN[:3]])]
    # Western texts have accented letters among others; other scripts have runs, which alone the detector tells apart
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", sample)]
    words_beyond_ascii = len(re.findall(rb"(?<![a-z\x80-\xff])[\x80-\xff]{2,}(?![a-z\x80-\xff])", sample))
    many = 2 * words_beyond_ascii > len(runs) or 2 * sum(run for run in runs if run > 2) > sum(runs)
    ranked = dict.fromkeys([*others[: FEW - 1], *western] if many else [*western, *others])
    found = [name for name in ranked if "\ufffd" not in read.get(name, "\ufffd")]
    odd = {name: sum(not (one.isalpha() or one in PUNCTUATION) for one in read[name]) for name in found}
    return sorted(found, key=lambda name: 2 * odd[name] > len(read[name]))[:FEW]


def is_note(rest: Iterable[list[str]], record: list[str], width: int) -> bool:
    """Whether a record of another width, and the few after it, are all that is left, with a cell or two each."""
    left = [record, *islice(rest, MOST_NOTES)]
    said = any(" " in cell for one in left for cell in one)
    return said and len(left) <= MOST_NOTES and all(len(one) < min(width, 3) for one in left)


class Lines:
    """Lines, of which those of one record are kept, at most `SWALLOWED` characters: an open cell ends nowhere."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines, self._taken, self._size = lines, list[str](), 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self._taken.append(line)
            self._size += len(line)
            if self._size > SWALLOWED:
                raise csv.Error
            yield line

    def taken(self) -> list[str]:
        """Those that were read since the last call."""
        found, self._taken, self._size = self._taken, [], 0
        return found


def check_width(columns: int) -> None:
    """Refuse tables of too many columns. How many is not said: in a workbook, the cells of one row may decide."""
    if columns > MAX_COLUMNS:
        raise DataError(f"The table has more than {MAX_COLUMNS:,} columns.", "Leave columns out.")


def too_large(limit: int) -> DataError:
    """Of a file that unpacks to more bytes than the limit."""
    return DataError(
        f"Unpacked, the file has more than {limit / 2**20:,.1f} MiB.",
        "Leave out columns or rows, or raise the limit (max_bytes).",
    )


def header_names(names: Sequence[object]) -> list[str]:
    """Header names as text, verbatim but for surrounding spaces. Errors give positions: a "header" may be a row.

    The first may be empty, as that of row numbers is which other programs write.
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


def clean(column: pa.ChunkedArray, missing: Sequence[str], decimal: str | None = None) -> pa.DictionaryArray:
    """A column of text, each cell without surrounding spaces or missing, and with a point where a decimal comma was."""
    encoded = column.unify_dictionaries().combine_chunks()  # every distinct text is looked at once
    words = pc.utf8_trim_whitespace(encoded.dictionary)
    words = pc.if_else(pc.is_in(words, value_set=pa.array(missing, pa.string())), None, words)
    if decimal == ",":
        points = pc.replace_substring(pc.replace_substring_regex(words, MARKS, ""), ",", ".")
        words = pc.if_else(pc.match_substring_regex(words, COMMA), points, words)
    return pa.DictionaryArray.from_arrays(encoded.indices, words)


def text_table(raw: bytes, missing: Sequence[str], **written: str | None) -> tuple[pa.Table, dict[str, str]]:
    """A delimited text and how it was read, with `doubts`, one a line, if there are any."""
    file = TextBlocks(lambda: io.BytesIO(raw), lambda: None, max(len(raw), 1), **written)
    batches = [*file.parse(range(len(file.headers)))]
    if not sum(batch.num_rows for batch in batches):
        raise DataError("The file has a header line but no rows.", "Choose a file with rows.")
    cells = pa.Table.from_batches(batches).unify_dictionaries()
    text, marks = "".join(file.texts()), (file.delimiter, file.decimal)
    found = "\n".join(doubts(text, file.headers, cells, *marks, file.blank))
    columns = [clean(column, missing, file.decimal) for column in cells.columns]
    read_as = {"delimiter": file.delimiter, "encoding": file.encoding, "decimal": file.decimal, "doubts": found}
    return pa.Table.from_arrays(columns, file.headers), read_as


class TextBlocks:
    """A delimited text that was looked through once: its `headers`, `batches` of its cells, and what these had by now.

    That is so many `rows`, of which `blank` were blank lines, and a share `done`. DataError with a
    cause and a remedy if it is no table of text.
    """

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[BinaryIO]],
        watch: Callable[[], None],
        piece: int = 0,
        /,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
    ) -> None:
        check_marks(delimiter, decimal)
        self._opened, self._piece, self._declared = opened, piece or PIECE, encoding
        self.rows = self.blank = self._ends = 0
        with opened() as file:
            self.encoding = encoding_of(file.read(4), encoding)
        self._has_blank, head = False, ""
        for text in self.texts():
            head += text
            if len(head) >= BLOCK:
                break
        if self.encoding == "utf-8" and encoding is None and sure_encoding(head.encode()):
            raise other_encoding(head.encode())
        table = head.lstrip("\r\n")
        if not table.strip():
            raise DataError("The file is empty.", "Choose a file with a header line and rows.")
        self._before = head[: len(head) - len(table)].count("\n")
        self._check_text(table.partition("\n")[0])
        self.delimiter, self.decimal, self.headers = read_header(table, delimiter, decimal)
        quotes, last = 0, ""
        for text in self._pieces():
            watch()
            if encoding is None:
                self._check_text(text)
            quotes, self._ends = quotes + text.count('"'), self._ends + text.count("\n")
            parts = (text, last + text[:1])
            self._has_blank |= any(two in part for part in parts for two in ("\n\n", "\n\r", "\r\r"))
            last = text[-1:]
        if quotes % 2:  # a cell may be open until the end and swallow rows
            self._check_rows()

    def _check_text(self, text: str) -> None:
        if "\0" in text:
            raise DataError(*NO_TEXT)

    def texts(self) -> Iterator[str]:
        """The whole file, decoded, without a mark at its start."""
        decoder, begin, last, start = codecs.getincrementaldecoder(self.encoding)(), b"", b"", True
        with self._opened() as file:
            for raw in chain(iter(lambda: file.read(self._piece), b""), [b""]):
                begin, last = begin or raw, raw or last
                try:
                    text = decoder.decode(raw, final=not raw)
                    if self._declared is not None:
                        text.encode()  # some encodings give halves of characters
                except UnicodeError:
                    if last is not begin:  # the header, and whole lines
                        begin = begin.partition(b"\n")[0] + b"\n" + (last.partition(b"\n")[2] or last)
                    raise other_encoding(begin, self._declared) from None
                if text:
                    yield text.removeprefix("\ufeff") if start else text
                    start = False

    def _pieces(self) -> Iterator[str]:
        """From the header on, without the white space at the end."""
        held, started, white = "", False, "\r\n" if self.delimiter == " " else "\r\n "
        for text in self.texts():
            joined = held + text if started else text.lstrip("\r\n")
            started = started or joined != ""
            body = joined.rstrip(white)
            held = joined[len(body) :]
            if body:
                yield body

    def _filled(self) -> Iterator[str]:
        """The same with every blank line made a row of missing cells.

        A line is a row, so that emptying one changes that row and not the number of rows.
        """
        text = io.TextIOWrapper(_stream(self._pieces()), "utf-8", newline="")
        lines, found = Lines(text), list[str]()
        try:
            for record in csv.reader(lines, delimiter=self.delimiter):
                self.blank += not record
                found += [] if record else [self.delimiter * (len(self.headers) - 1)]
                found += lines.taken()
                if len(found) > 1_000:
                    yield "".join(found)
                    found.clear()
        except csv.Error:
            self._refuse()
        yield "".join(found)

    def _check_rows(self) -> None:
        """Name the first line that is no proper record, if there is one. Slow; for files that look wrong."""
        lines = Lines(io.TextIOWrapper(_stream(self._pieces(), "\n"), encoding="utf-8", newline=""))
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        line, width = self._before + 1, len(self.headers)
        try:
            for record in reader:
                if record and len(record) != width:
                    if is_note(reader, record, width):
                        raise DataError(
                            "What stands below the table looks like a note, and no row.",
                            "Delete the lines below the table.",
                            f"Line {line:,}, below the table, looks like a note, and no row.",
                        )
                    raise DataError(
                        "A line and the header differ in their number of cells.",
                        "Quote cells that hold the delimiter, or complete the line.",
                        f"Line {line:,} and the header differ in their number of cells: {len(record):,} and {width:,}.",
                    )
                if sum(len(cell.encode()) for cell in record) >= BLOCK:
                    more = f"has more than {BLOCK >> 20} MiB."
                    raise DataError(f"A line {more}", "Shorten its cells.", f"Line {line:,} {more}")
                line = self._before + reader.line_num + 1
                lines.taken()
        except csv.Error:
            raise DataError(
                "A line has a quotation mark that does not open or close a cell.",
                "Close it, or double quotation marks inside cells.",
                f"Line {line:,} has a quotation mark that does not open or close a cell.",
            ) from None

    def _refuse(self) -> NoReturn:
        """DataError with the line that is malformed, if that is found."""
        self._check_rows()
        raise DataError("The text cannot be read as a table.", "Save it again as CSV in UTF-8.")

    @property
    def done(self) -> float:
        """The share of the file that `batches` has given, by its lines: the parser reads ahead."""
        return min(self.rows / max(self._ends, 1), 1.0)

    def batches(self, names: Sequence[str], missing: Sequence[str]) -> Iterator[list[pa.Array]]:
        """The cells of some columns, as dictionaries; batches of whatever size."""
        for batch in self.parse([*map(self.headers.index, names)]):
            self.rows += batch.num_rows
            yield [clean(pa.chunked_array([column]), missing, self.decimal) for column in batch.columns]

    def parse(self, wanted: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """What the parser makes of some columns; DataError, and not the parser's, which quotes the line."""
        lines, malformed = self._filled() if self._has_blank else self._pieces(), False
        names = [str(j) for j in range(len(self.headers))]
        try:
            with arrow_csv.open_csv(
                pa.PythonFile(_stream(lines, "\n"), "r"),
                # large blocks: a quoted cell may hold many lines, but no record may straddle two block boundaries
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


class _Pieces(io.RawIOBase):
    """Bytes as they come, as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        """Fill room for bytes, or a part of it; how many, and 0 at the end."""
        while not self._rest and (piece := next(self._pieces, None)) is not None:
            self._rest = memoryview(piece)
        size = min(len(room), len(self._rest))
        room[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _stream(pieces: Iterable[str], *more: str) -> io.BufferedReader:
    return io.BufferedReader(_Pieces(map(str.encode, chain(pieces, more))), PIECE)

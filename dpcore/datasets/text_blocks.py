"""Delimited text to cells, block by block: a small file is one block, and a long one may be longer than the memory.

It is read twice: first to see that it is text, where its header ends, and whether it has blank
lines or a quotation mark too many, which nobody can tell before the end; then by Arrow's parser,
which cuts blocks where records end.
"""

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, BinaryIO, NoReturn

import pyarrow as pa
import pyarrow.csv as arrow_csv

from dpcore.datasets.delimited import (
    BLOCK,
    NO_TEXT,
    Lines,
    check_marks,
    check_rows,
    clean,
    encoding_of,
    ending,
    headed,
    other_encoding,
    parser_options,
    sure_encoding,
)
from dpcore.datasets.doubts import doubts
from dpcore.errors import DataError

PIECE = 1 << 20  # bytes


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
        self.delimiter, self.decimal, self.headers = headed(table, delimiter, decimal)
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
        held, started, white = "", False, ending(self.delimiter)
        for text in self.texts():
            joined = held + text if started else text.lstrip("\r\n")
            started = started or joined != ""
            body = joined.rstrip(white)
            held = joined[len(body) :]
            if body:
                yield body

    def _lines(self, pieces: Iterator[str]) -> Iterator[bytes]:
        yield from (piece.encode() for piece in pieces)
        yield b"\n"

    def _filled(self) -> Iterator[str]:
        """The same with every blank line made a row of missing cells.

        A line is a row, so that emptying one changes that row and not the number of rows.
        """
        text = io.TextIOWrapper(_stream(piece.encode() for piece in self._pieces()), "utf-8", newline="")
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
        check_rows(_stream(self._lines(self._pieces())), self.delimiter, len(self.headers), self._before)

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
        lines = self._lines(self._filled() if self._has_blank else self._pieces())
        options, malformed = parser_options(self.delimiter, len(self.headers), wanted), False
        try:
            with arrow_csv.open_csv(pa.PythonFile(_stream(lines), "r"), **options) as reader:
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
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(room), len(self._rest))
        room[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _stream(pieces: Iterator[bytes]) -> io.BufferedReader:
    return io.BufferedReader(_Pieces(pieces), PIECE)

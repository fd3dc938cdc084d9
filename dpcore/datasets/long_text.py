"""Delimited text that is longer than the memory, by the rules and to the cells of `delimited`, block by block.

It is read twice: first to see that it is text, where its header ends, and whether it has blank lines or a quotation
mark too many, which nobody can tell before the end; then by Arrow's parser, which cuts blocks where records end.
"""

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

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
from dpcore.datasets.formats import DAMAGED, format_of, opened_text
from dpcore.errors import DataError

PIECE = 1 << 20  # bytes


class LongText:
    """A delimited file that was looked through once: its `headers`, `batches` of its cells, and what these had by now.

    That is so many `rows`, and a share `done`. DataError with a cause and a remedy if it is no table of text.
    """

    def __init__(
        self,
        path: Path,
        watch: Callable[[], None],
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
    ) -> None:
        check_marks(delimiter, decimal)
        self._path, self._packing, self._declared = path, format_of(path.name)[1], encoding
        self.rows = 0
        with opened_text(path, self._packing) as file:
            self._encoding = encoding_of(file.read(4), encoding)
        self._ends, self._blank, head = 0, False, ""
        for text in self._texts():
            head += text
            if len(head) >= BLOCK:
                break
        if self._encoding == "utf-8" and encoding is None and sure_encoding(head.encode()):
            raise other_encoding(head.encode())
        table = head.lstrip("\r\n")
        if not table.strip():
            raise DataError("The file is empty.", "Choose a file with a header line and rows.")
        self._before = head[: len(head) - len(table)].count("\n")
        self._check_text(table.partition("\n")[0])
        self._delimiter, self._decimal, self.headers = headed(table, delimiter, decimal)
        quotes, last = 0, ""
        for piece in self._pieces():
            watch()
            if encoding is None:
                self._check_text(piece)
            quotes, self._ends = quotes + piece.count('"'), self._ends + piece.count("\n")
            parts = (piece, last + piece[:1])
            self._blank |= any(two in part for part in parts for two in ("\n\n", "\n\r", "\r\r"))
            last = piece[-1:]
        if quotes % 2:  # a cell may be open until the end and swallow rows
            self._check_rows()

    def _check_text(self, text: str) -> None:
        if "\0" in text:
            raise DataError(*NO_TEXT)

    def _texts(self) -> Iterator[str]:
        """The whole file, decoded, without a mark at its start."""
        decoder, begin, start = codecs.getincrementaldecoder(self._encoding)(), b"", True
        try:
            with opened_text(self._path, self._packing) as file:
                for raw in iter(lambda: file.read(PIECE), b""):
                    begin = begin or raw
                    text = decoder.decode(raw)
                    if text:
                        yield text.removeprefix("\ufeff") if start else text
                        start = False
                decoder.decode(b"", final=True)
        except UnicodeError:
            lines = begin.partition(b"\n")[0] + b"\n" + (raw.partition(b"\n")[2] or raw)  # the header, and whole ones
            raise other_encoding(lines, self._declared) from None
        except DAMAGED:
            raise DataError("The file is cut short or damaged.", "Save or pack it again.") from None

    def _pieces(self) -> Iterator[str]:
        """From the header on, without the white space at the end."""
        held, started, white = "", False, ending(self._delimiter)
        for text in self._texts():
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
        """The same, but every blank line is a row of missing cells, as it is where it stands in memory."""
        text = io.TextIOWrapper(_stream(piece.encode() for piece in self._pieces()), "utf-8", newline="")
        lines, found = Lines(text), list[str]()
        try:
            for record in csv.reader(lines, delimiter=self._delimiter):
                found += [] if record else [self._delimiter * (len(self.headers) - 1)]
                found += lines.taken()
                if len(found) > 1_000:
                    yield "".join(found)
                    found.clear()
        except csv.Error:
            self._check_rows()
            raise DataError("The text cannot be read as a table.", "Save it again as CSV in UTF-8.") from None
        yield "".join(found)

    def _check_rows(self) -> None:
        check_rows(_stream(self._lines(self._pieces())), self._delimiter, len(self.headers), self._before)

    @property
    def done(self) -> float:
        """The share of the file that `batches` has given, by its lines: the parser reads ahead."""
        return min(self.rows / max(self._ends, 1), 1.0)

    def batches(self, names: Sequence[str], missing: Sequence[str], skip: int) -> Iterator[list[pa.Array]]:
        """The cells of some columns, without the first `skip` rows, as dictionaries; batches of whatever size."""
        for batch in self._parsed([*map(self.headers.index, names)]):
            self.rows += batch.num_rows
            left = batch.slice(skip)
            skip -= batch.num_rows - left.num_rows
            if left.num_rows:
                yield [clean(pa.chunked_array([column]), missing, self._decimal) for column in left.columns]

    def _parsed(self, wanted: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """What the parser makes of it; DataError, and not the parser's, which quotes the line, if one is malformed."""
        lines = self._lines(self._filled() if self._blank else self._pieces())
        options, malformed = parser_options(self._delimiter, len(self.headers), wanted), False
        try:
            with arrow_csv.open_csv(pa.PythonFile(_stream(lines), "r"), **options) as reader:
                yield from reader
        except pa.ArrowInvalid:
            malformed = True
        if malformed:
            self._check_rows()
            raise DataError("The text cannot be read as a table.", "Save it again as CSV in UTF-8.")


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

"""What in a delimited text speaks against the way it was read. It changes nothing: a person reads it and decides."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from dpcore.text import read_toml

TABLES = read_toml(Path(__file__).with_name("doubts.toml"))
SUMS, NOTES, MEASURES = (TABLES["words"][name].split() for name in ("sums", "notes", "measures"))
SPACES = " '’\u00a0\u202f"
SHOWN = 3  # columns named in one sentence
LINE_ENDS = re.compile(r"\r\n|\r|\n")
NUMBER = re.compile("[-+(]?[$€£]? ?[0-9]")
PLAIN = r"^[+-]?[0-9]+([.][0-9]*)?$"
MOST_WORDS, MOST_LABELS = 3, 200  # of the name of a sum; in a column that has sums among others
FEWEST = 10  # numbers in a sum, or in a column with marks in them
GROUPS = r"^[+-]?[0-9]{1,3}(%s[0-9]{3})+(%s[0-9]*)?$"
READ = r"^[^0-9]*$|^ *[+(-]?([0-9]{1,3}(%s[0-9]{3})+|[0-9]+)(%s[0-9]*)?[)-]? *$"
COMMA = r"^[+-]?[0-9]*,[0-9]+$"


def doubts(
    text: str, headers: Sequence[str], cells: pa.Table, delimiter: str, decimal: str, blank: int
) -> Iterator[str]:
    """Sentences for the person who knows the file, each on one line. They may name columns, and repeat no cell.

    `text` is all of it, without a byte order mark at its start, `cells` dictionaries of text, one
    per column for all chunks, and `blank` how many blank lines there are among the rows.
    """
    said, mark = TABLES["text"], text.find("\ufeff")
    if mark >= 0:
        yield said["mark"].format(line=text.count(chr(10), 0, mark) + 1)
    if "\ufffd" in text:
        yield said["letters"]
    if blank:
        yield said["blank"].format(blank=blank)
    yield from doubts_of_names(headers)
    words = [column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string()) for column in cells.columns]
    for name, signs, applies in _checks(delimiter, decimal, len(headers)):
        held = [sign for sign in signs if sign in text]  # most texts have none, and a million words take long
        named = [repr(header) for header, found in zip(headers, words, strict=True) if applies(_holding(found, held))]
        if named:
            more = f" and {len(named) - SHOWN:,} more" if len(named) > SHOWN else ""
            some = f"{'Column' if len(named) == 1 else 'Each of the columns'} {', '.join(named[:SHOWN])}{more}"
            yield f"{some} {TABLES['columns'][name]}"


def _checks(delimiter: str, decimal: str, width: int) -> Iterator[tuple[str, str, Callable[[pa.Array], bool]]]:
    """Names of sentences, signs, and what to ask of a column's texts that hold one of these."""

    def grouped(words: pa.Array, thousands: str, mark: str) -> bool:
        return _any(words, GROUPS % (thousands, mark)) and not _are_read(words, thousands, mark)

    def have_decimal_commas(words: pa.Array) -> bool:
        return _any(words, COMMA) and not (_any(words, GROUPS % (",", "[.]")) or _are_read(words, "[.]", ","))

    yield "swallowed", "\r\n", lambda words: any(_rows_inside(cell, delimiter, width) for cell in words.to_pylist())
    yield "mixed", "ÂÃâ", lambda words: any(map(_misread, words.to_pylist()))
    yield "spaces", SPACES, lambda words: grouped(words, f"[{SPACES}]", "[.,]")
    if decimal == ",":
        yield "points", ".", lambda words: _any(words, GROUPS % ("[.]", "[.]"))
        return
    yield "commas", ",", lambda words: grouped(words, ",", "[.]")
    yield "decimals", ",", have_decimal_commas


def _holding(words: pa.Array, signs: Sequence[str]) -> pa.Array:
    masks = [pc.match_substring(words, sign) for sign in signs]
    return words.filter(reduce(pc.or_, masks)) if masks else words[:0]


def doubts_of_ends(table: pa.Table) -> Iterator[str]:
    """Whether rows look like sums of others, the last one like a note, or the first like units."""
    if not table.num_rows:
        return
    first, last = ([str(column[row].as_py() or "").strip().casefold() for column in table.columns] for row in (0, -1))
    said = TABLES["ends"]
    if inside := any(map(_has_subtotals, table.columns)):
        yield said["subtotals"]
    for end, where, row in ((-1, "last", last), (0, "first", first)):
        words = [[word.strip(":.*") for word in cell.split()] for cell in row]
        sums = [len(cell) <= MOST_WORDS and {*cell[:1] + cell[-1:]} & {*SUMS} for cell in words]
        words = [cell for cell in words if cell]
        named = any(a and _is_rare(b, end) for a, b in zip(sums, table.columns, strict=True))
        named = named and 2 * sum(map(bool, map(NUMBER.match, row))) >= len(words) - 1
        if not inside and (named or any(_is_sum(column, end) for column in table.columns)):
            yield said["sum"].format(where=where)
        elif len(words) == 1 < len(row) and (words[0][0] in NOTES or len(words[0]) > MOST_WORDS):
            yield said["note"].format(where=where)
    units = [cell in MEASURES for cell in first if cell]
    below = [str(column[min(1, len(column) - 1)].as_py() or "") for column in table.columns]
    if all(units) and len(units) > 1 and any(map(NUMBER.match, below)):
        yield said["units"]


def _is_rare(column: pa.ChunkedArray, row: int) -> bool:
    """Whether few rows have a row's cell."""
    words = column.cast(pa.large_string())
    return bool(pc.sum(pc.equal(words, words[row])).as_py() < FEWEST)


def _is_sum(column: pa.ChunkedArray, row: int) -> bool:
    """Whether the first or last row's number is the sum of the column's others."""
    few = column[row:][:1], column[row + 1 :][:FEWEST]
    number, some = (pc.sum(_numbers(cells)).as_py() or 0 for cells in few)
    if not 0 < some <= 1.001 * number:
        return False
    numbers = _numbers(column)
    several = pc.sum(pc.greater(numbers, 0)).as_py() > FEWEST
    return several and math.isclose(2 * number, pc.sum(numbers).as_py())


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    words = column.cast(pa.large_string())
    return pc.if_else(pc.match_substring_regex(words, PLAIN), words, None).cast(pa.float64())


def _has_subtotals(column: pa.ChunkedArray) -> bool:
    """Whether several labels are another one with a word for sums, such as East and East Total."""
    if not pa.types.is_dictionary(column.type) or len(column.chunk(0).dictionary) > MOST_LABELS:
        return False
    labels = {str(word).casefold() for word in column.chunk(0).dictionary.to_pylist()}
    rests = {one: " ".join(word for word in one.split() if word not in SUMS) for one in labels}
    return sum(rest != label and rest in labels for label, rest in rests.items()) > 1


def doubts_of_names(headers: Sequence[str]) -> Iterator[str]:
    """Names that hold what nobody sees, or that look like another one."""
    first, said = dict[str, int](), TABLES["names"]
    for position, name in enumerate(headers, start=1):
        seen = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in ("Cf", "Cc"))
        if any(unicodedata.category(c) == "Cf" for c in name):
            yield said["unseen"].format(position=position)
        if seen in first:
            yield said["alike"].format(first=first[seen], position=position)
        first.setdefault(seen, position)


def _any(words: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(words, pattern)).as_py())


def _are_read(words: pa.Array, thousands: str, mark: str) -> bool:
    """Whether texts are all numbers with some marks, or words, and enough to be read as such."""
    fits = pc.match_substring_regex(words, READ % (thousands, mark))
    return len(words) >= FEWEST and bool(pc.all(fits).as_py())


def _rows_inside(cell: str, delimiter: str, width: int) -> bool:
    """Whether every line end in a cell has the delimiters of a row."""
    ends = len(LINE_ENDS.findall(cell))
    return cell.count(delimiter) >= ends * (width - 1)


def _misread(cell: str) -> bool:
    """Whether the cell's letters are bytes of UTF-8 that were taken for Western letters."""
    for encoding in ("cp1252", "latin-1"):
        try:
            return cell.encode(encoding).decode("utf-8") != cell
        except UnicodeError:
            continue
    return False

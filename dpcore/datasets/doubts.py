"""Warnings ("doubts") about how a delimited text was read; a person decides what to do."""

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
SHOWN = 3  # columns named in one warning
LINE_ENDS = re.compile(r"\r\n|\r|\n")
NUMBER = re.compile("[-+(]?[$€£]? ?[0-9]")
PLAIN = r"^[+-]?[0-9]+([.][0-9]*)?$"
MOST_WORDS, MOST_LABELS = 3, 200  # of a sum's label; distinct labels in a column with subtotals
FEWEST = 10  # numbers that add up, or numbers with separators in a column, before a warning
GROUPS = r"^[+-]?[0-9]{1,3}(%s[0-9]{3})+(%s[0-9]*)?$"
READ = r"^[^0-9]*$|^ *[+(-]?([0-9]{1,3}(%s[0-9]{3})+|[0-9]+)(%s[0-9]*)?[)-]? *$"
COMMA = r"^[+-]?[0-9]*,[0-9]+$"


def doubts_of_text(
    text: str, headers: Sequence[str], cells: pa.Table, delimiter: str, decimal: str, blank: int
) -> Iterator[str]:
    """Yield warnings about how a delimited text was read, one line each; none quotes a cell.

    `text` is the whole file without a byte order mark at its start. `cells` is the table; a
    column's chunks share one dictionary of its distinct texts. `delimiter` and `decimal` are the
    marks by which it was read. `blank` is the number of blank lines among the rows.
    """
    sentences, mark = TABLES["text"], text.find("\ufeff")
    if mark >= 0:
        yield sentences["mark"].format(line=text.count(chr(10), 0, mark) + 1)
    if "\ufffd" in text:
        yield sentences["letters"]
    if blank:
        yield sentences["blank"].format(blank=blank)
    yield from doubts_of_names(headers)
    words = [one.chunk(0).dictionary if one.num_chunks else pa.array([], pa.string()) for one in cells.columns]
    for name, signs, applies in _checks(delimiter, decimal, len(headers)):
        present = [sign for sign in signs if sign in text]  # saves a search of all texts
        named = [repr(one) for one, texts in zip(headers, words, strict=True) if applies(_with_signs(texts, present))]
        if named:
            more = f" and {len(named) - SHOWN:,} more" if len(named) > SHOWN else ""
            some = f"{'Column' if len(named) == 1 else 'Each of the columns'} {', '.join(named[:SHOWN])}{more}"
            yield f"{some} {TABLES['columns'][name]}"


def _checks(delimiter: str, decimal: str, width: int) -> Iterator[tuple[str, str, Callable[[pa.Array], bool]]]:
    """Yield the name of each warning, the characters of which a cell must have one, and a test.

    The test gets the texts of a column that have one of these characters, and returns whether the
    warning applies. `delimiter` and `decimal` are the marks by which the table was read, and
    `width` is its number of columns.
    """

    def grouped(words: pa.Array, group: str, mark: str) -> bool:
        """Return whether some texts have `group` between thousands, unless `_all_numbers` holds."""
        return _match(words, GROUPS % (group, mark)) and not _all_numbers(words, group, mark)

    def have_decimal_commas(words: pa.Array) -> bool:
        """Return whether some texts have a decimal comma, unless commas may separate thousands."""
        return _match(words, COMMA) and not (_match(words, GROUPS % (",", "[.]")) or _all_numbers(words, "[.]", ","))

    yield "swallowed", "\r\n", lambda words: any(_rows_inside(one, delimiter, width) for one in words.to_pylist())
    yield "mixed", "ÂÃâ", lambda words: any(map(_is_misread, words.to_pylist()))
    yield "spaces", SPACES, lambda words: grouped(words, f"[{SPACES}]", "[.,]")
    if decimal == ",":
        yield "points", ".", lambda words: _match(words, GROUPS % ("[.]", "[.]"))
        return
    yield "commas", ",", lambda words: grouped(words, ",", "[.]")
    yield "decimals", ",", have_decimal_commas


def _with_signs(words: pa.Array, signs: Sequence[str]) -> pa.Array:
    """Return the texts that contain at least one of the given characters."""
    masks = [pc.match_substring(words, sign) for sign in signs]
    return words.filter(reduce(pc.or_, masks)) if masks else words[:0]


def doubts_of_ends(table: pa.Table) -> Iterator[str]:
    """Yield warnings if the first or last row looks like a sum, a note, or units."""
    if not table.num_rows:
        return
    first, last = ([str(column[row].as_py() or "").strip().casefold() for column in table.columns] for row in (0, -1))
    sentences = TABLES["ends"]
    if inside := any(map(_has_subtotals, table.columns)):
        yield sentences["subtotals"]
    for end, where, row in ((-1, "last", last), (0, "first", first)):
        words = [[word.strip(":.*") for word in cell.split()] for cell in row]
        sums = [len(cell) <= MOST_WORDS and {*cell[:1] + cell[-1:]} & {*SUMS} for cell in words]
        words = [cell for cell in words if cell]
        named = any(a and _is_rare(b, end) for a, b in zip(sums, table.columns, strict=True))
        named = named and 2 * sum(map(bool, map(NUMBER.match, row))) >= len(words) - 1
        if not inside and (named or any(_is_sum(column, end) for column in table.columns)):
            yield sentences["sum"].format(where=where)
        elif len(words) == 1 < len(row) and (words[0][0] in NOTES or len(words[0]) > MOST_WORDS):
            yield sentences["note"].format(where=where)
    units = [cell in MEASURES for cell in first if cell]
    below = [str(column[min(1, len(column) - 1)].as_py() or "") for column in table.columns]
    if all(units) and len(units) > 1 and any(map(NUMBER.match, below)):
        yield sentences["units"]


def _is_rare(column: pa.ChunkedArray, row: int) -> bool:
    """Return whether a column's cell at index `row` occurs in fewer than `FEWEST` rows."""
    words = column.cast(pa.large_string())
    return bool(pc.sum(pc.equal(words, words[row])).as_py() < FEWEST)


def _is_sum(column: pa.ChunkedArray, row: int) -> bool:
    """Return whether a column's first or last number is the sum of its other numbers.

    `row` is 0 for the first and -1 for the last.
    """
    few = column[row:][:1], column[row + 1 :][:FEWEST]
    number, some = (pc.sum(_numbers(cells)).as_py() or 0 for cells in few)
    if not 0 < some <= 1.001 * number:
        return False
    numbers = _numbers(column)
    several = pc.sum(pc.greater(numbers, 0)).as_py() > FEWEST
    return several and math.isclose(2 * number, pc.sum(numbers).as_py())


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column's plain numbers, null where a cell is anything else."""
    words = column.cast(pa.large_string())
    return pc.if_else(pc.match_substring_regex(words, PLAIN), words, None).cast(pa.float64())


def _has_subtotals(column: pa.ChunkedArray) -> bool:
    """Return whether several labels are another label and a word for sums: East, East Total."""
    if not pa.types.is_dictionary(column.type) or len(column.chunk(0).dictionary) > MOST_LABELS:
        return False
    labels = {str(word).casefold() for word in column.chunk(0).dictionary.to_pylist()}
    rests = {one: " ".join(word for word in one.split() if word not in SUMS) for one in labels}
    return sum(rest != label and rest in labels for label, rest in rests.items()) > 1


def doubts_of_names(headers: Sequence[str]) -> Iterator[str]:
    """Yield warnings about headers with invisible characters, or that look like another header."""
    first, sentences = dict[str, int](), TABLES["names"]
    for position, name in enumerate(headers, start=1):
        seen = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in ("Cf", "Cc"))
        if any(unicodedata.category(c) == "Cf" for c in name):
            yield sentences["unseen"].format(position=position)
        if seen in first:
            yield sentences["alike"].format(first=first[seen], position=position)
        first.setdefault(seen, position)


def _match(words: pa.Array, pattern: str) -> bool:
    """Return whether any text contains a match of a regular expression."""
    return bool(pc.any(pc.match_substring_regex(words, pattern)).as_py())


def _all_numbers(words: pa.Array, thousands: str, mark: str) -> bool:
    """Return whether many texts are given, and each has no digit or is a number.

    `thousands` and `mark` are patterns for the separator of thousands and the decimal mark.
    """
    fits = pc.match_substring_regex(words, READ % (thousands, mark))
    return len(words) >= FEWEST and bool(pc.all(fits).as_py())


def _rows_inside(cell: str, delimiter: str, width: int) -> bool:
    """Return whether a cell looks like several rows of a table.

    Its lines then have, on average, at least as many delimiters as a row of `width` columns.
    """
    ends = len(LINE_ENDS.findall(cell))
    return cell.count(delimiter) >= ends * (width - 1)


def _is_misread(cell: str) -> bool:
    """Return whether a cell's letters are UTF-8 bytes that were decoded as a Western encoding."""
    for encoding in ("cp1252", "latin-1"):
        try:
            return cell.encode(encoding).decode("utf-8") != cell
        except UnicodeError:
            continue
    return False

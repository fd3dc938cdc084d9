"""What in a delimited text speaks against the way it was read. It changes nothing: a person reads it and decides."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

SPACES = " '’\u00a0\u202f"
SHOWN = 3  # columns named in one sentence
LINE_ENDS = re.compile(r"\r\n|\r|\n")
SUMS = (
    "total totals subtotal all sum average mean avg gesamt summe insgesamt mittelwert durchschnitt somme moyenne suma "
    "promedio media totale totaal 合计 总计 小计 平均"
)
NOTES = "source sources note notes quelle fuente nota anmerkung remark 注 来源"
MEASURES = (  # as a second line of a header has them
    "years year yrs months days hours minutes seconds cm mm m km inch in ft kg g mg lb lbs % percent usd eur gbp $ € £ "
    "count n number text date mmhg bpm °c c °f f mmol/l mg/dl kg/m2 kg/m² k thousand million yes/no"
)
OUT = "leave it out"
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

    `text` is all of it, without a byte order mark at its start, `cells` dictionaries of text, one per column for all
    chunks, and `blank` how many blank lines there are among the rows.
    """
    place = text.find("\ufeff")
    if place >= 0:
        yield (
            f"Line {text.count(chr(10), 0, place) + 1:,} has a byte order mark: two files may have been put together, "
            "and the header of the second counts as a row."
        )
    if "\ufffd" in text:
        yield "The text has replacement characters (\ufffd): an earlier conversion has lost letters."
    if blank:
        yield f"{blank:,} blank lines among the rows count as rows whose cells are all missing."
    yield from doubts_of_names(headers)
    words = [column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string()) for column in cells.columns]
    for signs, applies, note in _checks(delimiter, decimal, len(headers)):
        held = [sign for sign in signs if sign in text]  # most texts have none, and a million words take long
        named = [repr(name) for name, found in zip(headers, words, strict=True) if applies(_holding(found, held))]
        if named:
            more = f" and {len(named) - SHOWN:,} more" if len(named) > SHOWN else ""
            yield f"{'Column' if len(named) == 1 else 'Each of the columns'} {', '.join(named[:SHOWN])}{more} {note}"


def _checks(delimiter: str, decimal: str, width: int) -> Iterator[tuple[str, Callable[[pa.Array], bool], str]]:
    """Signs, what to ask of a column's texts that hold one of them, and what to say if it is so."""
    note = "has a cell of several lines that look like rows: a quotation mark too many may have swallowed them."
    yield "\r\n", lambda words: any(_rows_inside(cell, delimiter, width) for cell in words.to_pylist()), note
    note = "has cells that look like UTF-8 read as another encoding: two encodings may be mixed."
    yield "ÂÃâ", lambda words: any(map(_misread, words.to_pylist())), note
    note = "has cells that look like numbers with spaces or apostrophes between thousands: they are text."
    spaces = f"[{SPACES}]", "[.,]"
    yield SPACES, lambda words: _any(words, GROUPS % spaces) and not _are_read(words, *spaces), note
    if decimal == ",":
        note = "has cells in which points may separate thousands: a single point is read as a decimal mark."
        yield ".", lambda words: _any(words, GROUPS % ("[.]", "[.]")), note
        return
    groups = GROUPS % (",", "[.]")
    note = "has cells in which commas seem to separate thousands: they are text."
    yield ",", lambda words: _any(words, groups) and not _are_read(words, ",", "[.]"), note
    note = "has cells that look like numbers with a decimal comma: they are text unless that mark is declared."
    yield ",", lambda words: _any(words, COMMA) and not (_any(words, groups) or _are_read(words, "[.]", ",")), note


def _holding(words: pa.Array, signs: Sequence[str]) -> pa.Array:
    masks = [pc.match_substring(words, sign) for sign in signs]
    return words.filter(reduce(pc.or_, masks)) if masks else words[:0]


def doubts_of_ends(table: pa.Table) -> Iterator[str]:
    """Whether rows look like sums of others, the last one like a note, or the first like units."""
    if not table.num_rows:
        return
    first, last = ([str(column[row].as_py() or "").strip().casefold() for column in table.columns] for row in (0, -1))
    if inside := any(map(_has_subtotals, table.columns)):
        yield "Several rows look like sums of others, and would count as rows: take them out of the file."
    for end, where, row in ((-1, "last", last), (0, "first", first)):
        words = [[word.strip(":.*") for word in cell.split()] for cell in row]
        sums = [len(cell) <= MOST_WORDS and {*cell[:1] + cell[-1:]} & {*SUMS.split()} for cell in words]
        words = [cell for cell in words if cell]
        named = any(a and _is_rare(b, end) for a, b in zip(sums, table.columns, strict=True))
        named = named and 2 * sum(map(bool, map(NUMBER.match, row))) >= len(words) - 1
        if not inside and (named or any(_is_sum(column, end) for column in table.columns)):
            yield f"The {where} row looks like a sum of the others, and would count as one of them: {OUT}."
        elif len(words) == 1 < len(row) and (words[0][0] in NOTES.split() or len(words[0]) > MOST_WORDS):
            yield f"The {where} row looks like a note, and would count as a row: {OUT}."
    said = [cell in MEASURES.split() for cell in first if cell]
    below = [str(column[min(1, len(column) - 1)].as_py() or "") for column in table.columns]
    if all(said) and len(said) > 1 and any(map(NUMBER.match, below)):
        yield f"The first row looks like units (a second line of the header), and would count as a row: {OUT}."


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
    marks = {*SUMS.split()}
    rests = {one: " ".join(word for word in one.split() if word not in marks) for one in labels}
    return sum(rest != label and rest in labels for label, rest in rests.items()) > 1


def doubts_of_names(headers: Sequence[str]) -> Iterator[str]:
    """Names that hold what nobody sees, or that look like another one."""
    first: dict[str, int] = {}
    for position, name in enumerate(headers, start=1):
        seen = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in ("Cf", "Cc"))
        if any(unicodedata.category(c) == "Cf" for c in name):
            yield f"The name of column {position} holds characters that nobody sees, such as a space of no width."
        if seen in first:
            yield f"The names of columns {first[seen]} and {position} look alike, and are different."
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

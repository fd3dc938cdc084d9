"""What a column's header says of it: that it names people, reaches them, numbers rows, holds codes, texts or the class.

A header is public, or as public as the file's first line; it is only ever a hint, which cells have
to bear out.
"""

import re
import unicodedata
from pathlib import Path

from dpcore.text import read_toml

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W0-9_a-zA-Z]+")
TABLES = read_toml(Path(__file__).with_name("headers.toml"))
LAST, ANY, SIGNS, WORDS = (
    {kind: words.split() for kind, words in TABLES[table].items()} for table in ("last", "any", "signs", "words")
)
HOLDERS, NUMBERED = LAST["holder"], LAST["numbered"]
NUMBER_OF = "(s|n|en|in|innen)?(id|no|nr|nbr|num|number|nummer|key|code)"
GLUED = re.compile(f"({'|'.join(HOLDERS + WORDS['owned'])}){NUMBER_OF}|id({'|'.join(HOLDERS)}|hous|hh)")
LEAST_COVERED = 0.5  # of the range


def parts(header: str) -> list[str]:
    """The words of a header, in lower case and without accents: `patientID` and `Patient Id` have the same."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", header) if not unicodedata.combining(sign))
    return [part.lower() for part in PART.findall(plain)]


def kinds_of_header(header: str) -> set[str]:
    """What a header says: some of the kinds in `headers.toml`."""
    said = parts(header)
    last = {word.removesuffix("s") for word in said[-1:]} | {*said[-1:]}
    found = {kind for kind, signs in SIGNS.items() if any(sign in header for sign in signs)}
    found |= {kind for kind, words in ANY.items() if not {*said}.isdisjoint(words)}
    found |= {kind for kind, words in LAST.items() if not last.isdisjoint(words)}
    also = {
        "identifier": any(map(GLUED.fullmatch, said)),
        "code": any(part.endswith("code") for part in said),
        "person": "name" in said and {*said}.issubset(WORDS["names"]),
        "class": said == ["y"],
    }
    return found | {kind for kind, so in also.items() if so}


def of_people(header: str) -> bool:
    """Whether a header has a word for people."""
    words = {word.removesuffix("s") for word in parts(header)}
    return not words.isdisjoint(HOLDERS) or "holder" in kinds_of_header(header)


def is_name(header: str) -> bool:
    """Whether a header says that its values are names, which several people can share."""
    said = {*parts(header)}
    return ("name" in said and said.isdisjoint(WORDS["things"])) or "person" in kinds_of_header(header)


def is_person_key(header: str) -> bool:
    """Whether a header says that its values reach or number people, and nothing else."""
    return "contact" in kinds_of_header(header) or {*parts(header)}.issubset([*HOLDERS, *NUMBERED, *ANY["identifier"]])


def tells_people(header: str) -> bool:
    """Whether a header says that a value can be a person: an id, a name, a patient, a customer's number."""
    numbered = of_people(header) and not {*parts(header)[-1:]}.isdisjoint(NUMBERED + ANY["code"])
    return numbered or is_name(header) or not kinds_of_header(header).isdisjoint(("holder", "identifier"))


def class_rank(header: str, values: int) -> tuple[bool, bool, int]:
    """How likely a column is the class, the lowest first: by a whole header, with two values."""
    known, said = ANY["class"], parts(header)
    return len(said) > 1, values > 2, min((known.index(word) for word in said if word in known), default=len(known))


def limits(header: str) -> tuple[float, float, int] | None:
    """The limits that everyone knows of what a header names, the widest of several, and a number of bins."""
    said = {*parts(header)}
    found = [(*known,) for words, known in TABLES["ranges"].items() if not said.isdisjoint(words.split())]
    return max(found, key=lambda known: known[1] - known[0], default=None)


def public_range(header: str, low: float, high: float) -> tuple[float, float, int] | None:
    """The limits of what a header names, and a number of bins, if numbers between two ends fill half of them."""
    first, last, bins = limits(header) or (0, 0, 0)
    fills = bins and first <= low and high <= last and (high - low) / (last - first) >= LEAST_COVERED
    return (float(first), float(last), bins) if fills else None

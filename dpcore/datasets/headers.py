"""Hints in a column's header: that it names people, numbers rows, holds codes, texts or the class.

A header is as public as the first line of its file. It is only a hint, which the cells have to
confirm.
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
MIN_COVERED = 0.5  # share of a known range that numbers must cover


def header_words(header: str) -> list[str]:
    """Return the words of a header in lower case, without accents.

    `patientID` and `Patient Id` give the same words.
    """
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", header) if not unicodedata.combining(sign))
    return [part.lower() for part in PART.findall(plain)]


def kinds_of_header(header: str) -> set[str]:
    """Return the kinds of column that a header suggests; `headers.toml` lists them."""
    said = header_words(header)
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


def has_person_word(header: str) -> bool:
    """Return whether a header contains a word for people, such as "patient"."""
    words = {word.removesuffix("s") for word in header_words(header)}
    return not words.isdisjoint(HOLDERS) or "holder" in kinds_of_header(header)


def is_name(header: str) -> bool:
    """Return whether a header announces names of people, which several people can share."""
    said = {*header_words(header)}
    return ("name" in said and said.isdisjoint(WORDS["things"])) or "person" in kinds_of_header(header)


def is_person_key(header: str) -> bool:
    """Return whether a header announces only numbers or contact data of people ("patient no")."""
    return "contact" in kinds_of_header(header) or {*header_words(header)} <= {*HOLDERS, *NUMBERED, *ANY["identifier"]}


def may_identify_people(header: str) -> bool:
    """Return whether a header suggests that its values identify people: ids, names or numbers."""
    numbered = has_person_word(header) and not {*header_words(header)[-1:]}.isdisjoint(NUMBERED + ANY["code"])
    return numbered or is_name(header) or not kinds_of_header(header).isdisjoint(("holder", "identifier"))


def class_rank(header: str, values: int) -> tuple[bool, bool, int]:
    """Return a sort key of a column as the class; the likeliest class has the lowest key.

    A whole header comes before a header with other words, then a column of two values before
    others.
    """
    known, said = ANY["class"], header_words(header)
    return len(said) > 1, values > 2, min((known.index(word) for word in said if word in known), default=len(known))


def known_limits(header: str) -> tuple[float, float, int] | None:
    """Return the commonly known limits of a quantity that a header names, and a number of bins.

    Of several quantities the widest counts; None if the header names none. 0 bins mean no proposal.
    """
    said = {*header_words(header)}
    found = [(*known,) for words, known in TABLES["ranges"].items() if not said.isdisjoint(words.split())]
    return max(found, key=lambda known: known[1] - known[0], default=None)


def public_range(header: str, low: float, high: float) -> tuple[float, float, int] | None:
    """Return a header's known limits and bins, if `low` to `high` covers half of the range."""
    first, last, bins = known_limits(header) or (0, 0, 0)
    covered = bins and first <= low and high <= last and (high - low) / (last - first) >= MIN_COVERED
    return (float(first), float(last), bins) if covered else None

"""Strict reading of JSON from files and links that anyone may have written.

Python's own reader accepts more than JSON, and more than this program can handle: words for
infinity, numbers of any length, lone surrogates, which no file can store, and documents nested too
deep for recursive code.
"""

import json
import math
import re
from typing import Any, NoReturn

from dpcore.errors import DPCoreError

MOST_BYTES = 50 * 2**20
MOST_DIGITS = 40
DEEPEST = 50  # levels; our own documents have about ten
ESCAPED = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")  # lone surrogates
HALF = re.compile("[\ud800-\udfff]")


def json_value(
    text: str | bytes,
    kind: type[DPCoreError],
    cause: str,
    remedy: str,
    *,
    most: int = MOST_BYTES,
    unique: bool = False,
) -> Any:
    """Parse JSON text, or UTF-8 bytes; refuse text that is not strict JSON or is too large.

    Parameters
    ----------
    text : str or bytes
        The document, of at most `most` characters or bytes.
    kind : type of DPCoreError
        The error to raise.
    cause, remedy : str
        The error's first sentence, to which the reason is added, and its advice.
    unique : bool, default=False
        Whether to refuse an object that has one name twice.
    """

    def refuse(reason: str) -> NoReturn:
        """Raise the error with a reason."""
        raise kind(f"{cause}: {reason}.", remedy) from None

    def parse_whole(digits: str) -> int:
        """Return an integer; refuse one with very many digits."""
        return int(digits) if len(digits) <= MOST_DIGITS else refuse(f"a number has {len(digits):,} digits")

    def parse_fraction(digits: str) -> float:
        """Return a float; refuse one that is too large to be finite."""
        number = float(digits)
        return number if math.isfinite(number) else refuse("a number is too large")

    def refuse_constant(word: str) -> NoReturn:
        """Refuse NaN and the infinities, which JSON does not have."""
        refuse(f"{word} is not a JSON number")

    def require_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the dict of an object's pairs; refuse a name that is there twice."""
        return found if len(found := dict(pairs)) == len(pairs) else refuse("an object has a name twice")

    if len(text) > most:
        refuse(f"the document has more than {most / 2**20:,.1f} MiB")
    try:
        words = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        hooks: Any = {"parse_int": parse_whole, "parse_float": parse_fraction, "parse_constant": refuse_constant}
        found = json.loads(words, object_pairs_hook=require_unique if unique else None, **hooks)
    except DPCoreError:
        raise
    except UnicodeDecodeError:
        refuse("the document is not UTF-8 text")
    except ValueError:
        refuse("the document is not JSON, or is truncated")
    except RecursionError:
        refuse("the document is nested too deep")
    level, depth = [found], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            refuse("the document is nested too deep")
        parts = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [one for values in parts for one in values]
    if ESCAPED.search(words) and HALF.search(json_text(found)):
        refuse("a text has half a character (a lone surrogate)")
    return found


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as JSON text, with non-ASCII letters kept; `indent` is in spaces."""
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


def json_ready(part: Any) -> Any:
    """Return a value in a form that JSON can store: a dict, a list, or the value unchanged.

    An object with `to_dict` becomes that dict, an array becomes a list.
    """
    if hasattr(part, "to_dict"):
        return part.to_dict()
    return part.tolist() if hasattr(part, "tolist") else part

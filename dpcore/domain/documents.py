"""JSON from files and links, which anybody may have written: loaded strictly, or refused with the cause.

Python's own reader takes more than JSON, and more than this program can live with: words for
infinity, numbers of any length, halves of characters, which no file can hold, and documents so deep
that whoever walks through them fails.
"""

import json
import math
import re
from typing import Any, NoReturn

from dpcore.errors import DPCoreError

MOST_BYTES = 50 * 2**20
MOST_DIGITS = 40
DEEPEST = 50  # our own have about ten levels
ESCAPED = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")  # halves of characters, as JSON and Python write them
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
    """The value of a JSON text, or of UTF-8 bytes, of which at most so many are taken; `unique`: no name twice.

    An error of the `kind` is raised if it is not to be taken: `cause` with the reason added, and
    `remedy`.
    """

    def refuse(reason: str) -> NoReturn:
        raise kind(f"{cause}: {reason}.", remedy) from None

    def whole(digits: str) -> int:
        return int(digits) if len(digits) <= MOST_DIGITS else refuse(f"a number has {len(digits):,} digits")

    def fraction(digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else refuse("a number is too large")

    def constant(word: str) -> NoReturn:
        refuse(f"{word} stands where a number should")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return found if len(found := dict(pairs)) == len(pairs) else refuse("a name stands in it twice")

    if len(text) > most:
        refuse(f"it has more than {most / 2**20:,.1f} MiB")
    try:
        words = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        how: Any = {"object_pairs_hook": once} if unique else {}
        found = json.loads(words, parse_int=whole, parse_float=fraction, parse_constant=constant, **how)
    except DPCoreError:
        raise
    except UnicodeDecodeError:
        refuse("it is not UTF-8 text")
    except ValueError:
        refuse("it is not JSON, or cut short")
    except RecursionError:
        refuse("it is nested too deep")
    level, depth = [found], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            refuse("it is nested too deep")
        below = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [one for values in below for one in values]
    if ESCAPED.search(words) and HALF.search(json_text(found)):
        refuse("a text has half of a character (a lone surrogate)")
    return found


def json_text(value: object, indent: int | None = None) -> str:
    """JSON that every reader takes, letters as they are; with an indent on several lines."""
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


def json_ready(part: Any) -> Any:
    """What a file holds of something: an object's own document, an array as a list, and all else as it is."""
    if hasattr(part, "to_dict"):
        return part.to_dict()
    return part.tolist() if hasattr(part, "tolist") else part

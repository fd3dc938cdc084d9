"""How epsilons, counts and times stand in the file, and what is refused when they stand there otherwise."""

import re
from datetime import datetime
from fractions import Fraction
from math import ceil, inf

from dpcore.accounting.relation import Epsilon, Relation

UNIT = 2**100


class UnreadableError(Exception):
    """The file holds something else than the books write."""


def rounded(total: Epsilon) -> Epsilon:
    """The next multiple of 2^-100 from above: sums of a thousand shares would need ever more digits otherwise."""
    return total if isinstance(total, float) else Fraction(ceil(total * UNIT), UNIT)


def text(epsilon: Epsilon) -> str:
    """An epsilon as text."""
    return "inf" if epsilon == inf else str(Fraction(epsilon))


def number(written: object) -> Epsilon:
    """An epsilon from its text."""
    if not isinstance(written, str) or not re.fullmatch(r"[0-9]{1,400}(/[1-9][0-9]{0,99})?|inf", written):
        raise UnreadableError
    return inf if written == "inf" else Fraction(written)


def whole(written: object) -> int:
    """A count."""
    if not isinstance(written, int) or written < 0:
        raise UnreadableError
    return written


def known(relation: object) -> Relation:
    """A relation from its name."""
    if relation not in set(Relation):
        raise UnreadableError
    return Relation(str(relation))


def moment(written: object) -> datetime:
    """A time from its text."""
    try:
        return datetime.fromisoformat(str(written))
    except ValueError:
        raise UnreadableError from None

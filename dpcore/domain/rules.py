"""Public rules that every row satisfies: an order of two columns, or an impossible pair of values.

A rule is a text: `admitted <= discharged`, or `age = 0-17, never status = married`. Like a bound it
is public knowledge, and is never read from rows. `Schema.proposed_rules` are rules that the program
proposed from rows, and that a person declared to hold in general. A row with a missing cell breaks
no rule of that column.
"""

from collections import Counter
from collections.abc import Sequence
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from dpcore.domain.column import Column
from dpcore.errors import SchemaError
from dpcore.language import phrase
from dpcore.text import is_writable

ORDER, NEVER, NO_CODE = "<=", ", never ", -1
MOST_RULES = 500
HOW = phrase(
    "Write an order of two numeric or date columns: “start <= end”; "
    "or an impossible pair of values: “age = 0-17, never status = married”."
)
ColumnCode = tuple[int, int]
RuleEnds = tuple[ColumnCode, ColumnCode]
"""Position and code of a rule's two columns; the code is `NO_CODE` in an order rule."""


def check_texts(texts: Any) -> list[str]:
    """Return the texts of a schema's rules without outer spaces; SchemaError if they are not texts."""
    known = isinstance(texts, list | tuple) and len(texts) <= MOST_RULES
    if not known or not all(isinstance(text, str) and is_writable(text) for text in texts):
        raise SchemaError(f"The rules must be a list of at most {MOST_RULES:,} texts.", HOW)
    return [text.strip() for text in texts]


def parse_rules(columns: Sequence[Column], texts: Sequence[str]) -> list[RuleEnds]:
    """Parse the rules of a schema's columns.

    Parameters
    ----------
    columns : sequence of Column
        The columns of the schema.
    texts : sequence of str
        The rules.

    Returns
    -------
    list of RuleEnds
        Per rule its two columns' positions and codes.

    Raises
    ------
    SchemaError
        If a text is not a rule of these columns.
    """
    numbers = {one.name: (j, NO_CODE) for j, one in enumerate(columns) if one.numeric}
    listed = [(f"{one.name} = ", j, listed_values(one)) for j, one in enumerate(columns)]
    values = {start + one: (j, k) for start, j, texts in listed for k, one in enumerate(texts)}
    found = list[RuleEnds]()
    for text in texts:
        mark, known = (NEVER, values) if NEVER in text else (ORDER, numbers)
        sides = [side.strip() for side in text.split(mark)]
        ends = [known[side] for side in sides if side in known]
        kinds = {columns[j].kind == "date" for j, _ in ends}
        if not len(sides) == len(ends) == len({j for j, _ in ends}) == 2 or len(kinds) != 1:
            raise SchemaError(f"The rule {text!r} cannot be read, or does not fit the columns.", HOW)
        found.append((ends[0], ends[1]))
    roles = {(j, code == NO_CODE) for ends in found for j, code in ends}
    if both := [columns[j].name for j, order in roles if order and (j, False) in roles]:
        raise SchemaError(f"Column {both[0]!r} is in an order rule and an impossible pair.", "Drop one.")
    return found


def listed_values(column: Column) -> tuple[str, ...]:
    """Return the values that rules about impossible pairs may name.

    They are a column's categories, or the two values of an integer column that has two bins of one
    number each, such as 0 and 1.
    """
    two = column.kind == "integer" and column.size - column.missing == 2
    return column.labels[:2] if two and column.upper == column.edges[1] else column.categories


def lowest_values(columns: Sequence[Column], rules: Sequence[RuleEnds]) -> dict[int, float]:
    """Return, by column position, the lowest number that satisfies all order rules.

    Only columns in an order rule, such as "start <= end", are included. `rules` has the two ends of
    each rule: column position and code. SchemaError if no numbers satisfy the rules.
    """
    orders = [(low, high) for (low, code), (high, _) in rules if code == NO_CODE]
    below = {j: [low for low, high in orders if high == j] for order in orders for j in order}
    found: dict[int, float] = {}
    try:
        for j in TopologicalSorter(below).static_order():
            edges = np.ceil(columns[j].edges) if columns[j].whole else columns[j].edges  # writable edges
            least = max((found[i] for i in below[j]), default=edges[0])
            found[j] = min(float(edge) for edge in (*edges[:-1], columns[j].upper) if edge >= least)
    except ValueError:  # a cycle, or no such edge
        cause = "The order rules form a cycle, or exclude all values within their columns' bounds."
        raise SchemaError(cause, "Check the bounds, or leave a rule out.") from None
    return found


def possible_values(columns: Sequence[Column], rules: Sequence[RuleEnds]) -> dict[int, int]:
    """Return, by column position, codes that together form no impossible pair.

    Only columns in rules about impossible pairs are included. `rules` has the two ends of each
    rule: column position and code. Of a column's possible codes the one in the fewest pairs is
    taken. SchemaError if none is possible.
    """
    named = Counter(end for ends in rules for end in ends if end[1] != NO_CODE)
    found: dict[int, int] = {}
    for j in dict.fromkeys(j for j, _ in named):
        out = {rule[1 - i] for rule in rules for i in (0, 1) if rule[i] in found.items()}
        if not (free := [(j, code) for code in range(columns[j].size) if (j, code) not in out]):
            cause = f"Impossible pairs leave no value for column {columns[j].name!r}."
            raise SchemaError(cause, "Leave some pairs out, or declare missing as a value of that column.")
        found[j] = min(free, key=named.__getitem__)[1]
    return found

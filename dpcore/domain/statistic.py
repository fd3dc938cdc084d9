"""Plain statistics: what is estimated, of which column, in which public groups of rows.

A `Statistic` is public. It can be written as text and read from it, such as `mean of cost by ward`
or `share of ill = yes where age >= 60`:

    count [persons]                      number of rows, or of persons
    share of COLUMN = VALUE [or VALUE]   share of the rows with one of these values
    histogram of COLUMN                  number of rows with each value, or in each bin
    mean, sum, variance of COLUMN        of a column of numbers
    quantiles NUMBER ... of COLUMN       also `median of COLUMN` and `quartiles of COLUMN`
    difference of COLUMN between COLUMN = VALUE and COLUMN = VALUE      of two means
    slope of COLUMN on COLUMN            of the least-squares line

`by COLUMN [and COLUMN]` follows for one estimate per value, `where COLUMN = VALUE [and ...]` for
rows with certain values only. Numeric columns are compared with a number by `>=` and `<`, or by `=`
with the label of a bin. Names and values with special words are quoted; in them, a quotation mark
is written twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product, takewhile
from math import prod
from typing import NoReturn

import numpy as np

from dpcore.arguments import Flags, Ints, is_number
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError

# of each kind, the words in its text that begin a part, besides OPTIONAL ones
KINDS: dict[str, tuple[str, ...]] = {"count": (), "share": ("of",), "histogram": ("of",), "mean": ("of",)}
KINDS |= {"sum": ("of",), "variance": ("of",), "quantiles": ("of",), "difference": ("of", "between")}
KINDS |= {"slope": ("of", "on")}
OPTIONAL = ("by", "where", "weight")
RANKS = {"median": (0.5,), "quartiles": (0.25, 0.5, 0.75)}
WORDS = {"of", "on", "between", *OPTIONAL, "and", "or", "persons"}
SIGNS = ("=", ">=", "<")
MOST_RANKS = 15
MOST_GROUPS, MOST_ANSWERS = 2_000, 10_000
EXAMPLE = 'Write, for example, "mean of cost by ward" or "share of ill = yes where age >= 60".'
TOKEN = re.compile(r'"((?:[^"]|"")*)"|((?:>=|<)(?=\s|\d)|=|[<>]=?[^\s"=]+|[^\s"=<>]+)|(\S)')
Tokens = list[tuple[str, bool]]  # each with whether it is unquoted


@dataclass(frozen=True)
class Condition:
    """Condition on one column: its value is `=` one of the values, or `>=` or `<` a number."""

    column: str
    sign: str
    values: tuple[str, ...]

    @property
    def limit(self) -> float | None:
        """The number that `>=` or `<` compares with; None for `=`."""
        return None if self.sign == "=" else float(self.values[0])

    def check(self, schema: Schema) -> None:
        """Raise ParameterError if a value is not declared, or a number is outside the bounds."""
        column, first = schema[self.column], self.values[0]
        if self.sign == "=" and (unknown := [value for value in self.values if value not in column.labels]):
            remedy = f"Declared are {', '.join(map(repr, column.labels[:8]))}{', …' * (column.size > 8)}."
            raise ParameterError(f"{unknown[0]!r} is not a declared value of {self.column!r}.", remedy)
        if self.sign != "=":
            try:
                inside = has_numbers(column) and column.edges[0] < float(first) <= column.edges[-1]
            except ValueError:
                inside = False
            if not inside:
                remedy = f"The column has {column.values_text}; use = with declared values, or a number inside."
                raise ParameterError(f"{self.column!r} has no values on both sides of {first!r}.", remedy)

    def mask(self, schema: Schema, limits: Sequence[float]) -> Flags:
        """Return, for each code, whether it meets the condition.

        For `=` the codes are those of the column's values. For `>=` and `<` they number the parts
        into which `limits`, among them the condition's own, divide the numbers; the last code, for
        missing numbers, never meets it.
        """
        if self.sign == "=":
            return np.isin(schema[self.column].labels, self.values)
        part, start = np.arange(len(limits) + 2), limits.index(self.limit or 0.0)
        return (part > start if self.sign == ">=" else part <= start) & (part <= len(limits))

    def __str__(self) -> str:
        """Return the condition as text that `Statistic.parse` reads."""
        return f"{quote(self.column)} {self.sign} {' or '.join(map(quote, self.values))}"


@dataclass(frozen=True)
class Statistic:
    """One statistic of the rows, or of each of several public groups of them.

    `kind` is one of `KINDS`. `columns` has the columns it is computed from: none of a count or
    share, two of a slope (the response first). `groups` has the columns whose values form groups,
    and `where` the conditions on rows. `ranks` has the ranks of quantiles, each in (0, 1). `cases`
    has the condition of a share, or the two of a difference. `weight` is its part of the budget,
    relative to those of other statistics.
    """

    kind: str
    columns: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    ranks: tuple[float, ...] = ()
    cases: tuple[Condition, ...] = ()
    persons: bool = False
    weight: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Statistic:
        """Read a statistic from text; ParameterError with an example if the text is another."""

        def fail(cause: str) -> NoReturn:
            raise ParameterError(f"The statistic {text!r} {cause}.", EXAMPLE)

        found = list(TOKEN.finditer(text))
        if any(token[3] for token in found):
            fail("has a stray character or an open quotation mark")
        parts: dict[str, Tokens] = {"": []}
        for token in found:
            word, is_plain = (token[1] or "").replace('""', '"') or token[2] or "", token[1] is None
            if is_plain and word.lower() in ("of", "on", "between", *OPTIONAL):
                if word.lower() in parts:
                    fail(f"has {word!r} twice")
                parts[word.lower()] = []
            else:
                parts[next(reversed(parts))].append((word, is_plain))
        (kind, _), *rest = parts.pop("") or [("", True)]
        kind, ranks = kind.lower(), RANKS.get(kind.lower(), ())
        persons, kind = kind == "count" and rest == [("persons", True)], "quantiles" if ranks else kind
        numbers = list(takewhile(is_rank, (word for word, _ in rest))) if kind == "quantiles" and not ranks else []
        rest = rest[len(numbers) :]
        if "of" not in parts and rest and not persons:  # "mean cost" is "mean of cost"
            parts["of"], rest = rest, []
        if kind not in KINDS:
            fail(f"does not begin with {', '.join([*KINDS, *RANKS])}")
        if lacking := [word for word in KINDS[kind] if not parts.get(word)] or [w for w in parts if not parts[w]]:
            fail(f"lacks what follows {lacking[0]!r}")
        if more := {*parts} - {*KINDS[kind], *OPTIONAL} or (not persons and {word for word, _ in rest}):
            fail(f"has a misplaced {min(more)!r}")
        ranks = ranks or tuple(sorted({float(word.strip("[],")) for word in numbers}))
        try:
            weight = float(parts["weight"][0][0]) if "weight" in parts else 1.0
        except ValueError:
            fail("has a word in place of a number")
        if kind == "quantiles" and not (0 < len(ranks) <= MOST_RANKS and ranks[0] > 0 and ranks[-1] < 1):
            fail(f"needs 1 to {MOST_RANKS} ranks between 0 and 1")
        conditions = {word: [_condition(own, fail) for own in split_at("and", parts.get(word, []))]
                      for word in ("where", "between", *["of"] * (kind == "share"))}  # fmt: skip
        cases = conditions["of"] if kind == "share" else conditions["between"]
        if len(cases) != {"share": 1, "difference": 2}.get(kind, 0):
            fail("needs one condition for a share, and two for a difference")
        columns = [_join(parts[word]) for word in KINDS[kind] if word in ("of", "on") and kind != "share"]
        groups = dict.fromkeys(_join(own) for own in split_at("and", parts.get("by", [])))
        return cls(
            kind, tuple(columns), tuple(groups), tuple(conditions["where"]), ranks, tuple(cases), persons, weight
        )

    def __str__(self) -> str:
        """Return the statistic as text, which `parse` reads."""
        texts = {
            "of": str(self.cases[0]) if len(self.cases) == 1 else " on ".join(map(quote, self.columns)),
            "between": " and ".join(map(str, self.cases)) if self.cases[1:] else "",
            "by": " and ".join(map(quote, self.groups)),
            "where": " and ".join(map(str, self.where)),
            "weight": repr(self.weight) if self.weight != 1 else "",
        }
        first = [self.kind, *["persons"] * self.persons, *map(repr, self.ranks)]
        return " ".join([*first, *(f"{word} {own}" for word, own in texts.items() if own)])

    def check(self, schema: Schema) -> None:
        """Raise ParameterError if the statistic does not fit the public schema."""
        conditions = (*self.where, *self.cases)
        for name in (*self.columns, *self.groups, *(one.column for one in conditions)):
            if name not in schema.names:
                raise ParameterError(f"There is no column {name!r} in the schema.", f"{self} needs it.")
        for one in conditions:
            one.check(schema)
        for name in self.columns if self.kind != "histogram" else ():
            if not has_numbers(schema[name]):
                cause = f"The column {name!r} has no plain numbers, so it has no {self.kind}."
                raise ParameterError(cause, f"Use its histogram, or the share of a value: share of {quote(name)} = …")
        if self.persons and (schema.persons is None or self.groups or self.where):
            cause = "`count persons` counts all persons of a schema whose privacy unit identifies them."
            raise ParameterError(cause, "Declare a privacy unit with id_column, and leave out `by` and `where`.")
        last = schema[self.columns[-1]] if self.columns else None
        if self.kind == "slope" and last is not None and last.whole and last.lower == last.upper:
            raise ParameterError(f"The column {last.name!r} has one value.", "Use one that varies.")
        if not is_number(self.weight) or not 1e-6 <= self.weight <= 1e6:
            raise ParameterError("A weight must be a number from 1e-6 to 1e6.", "Use weight 1 or 2.")
        if "\n" in str(self) or Statistic.parse(str(self)) != self:
            raise ParameterError(
                f"The statistic {str(self)!r} cannot be written as text.", "Use other names or values."
            )
        groups, values = RowGroups(schema, self), schema[self.columns[0]].size if self.kind == "histogram" else 1
        if len(groups.labels) * values > MOST_ANSWERS:
            cause = f"The statistic has {len(groups.labels) * values:,} answers."
            raise ParameterError(cause, "Leave out a column of `by`, or use a column with fewer values.")


class RowGroups:
    """Public groups of the rows that a statistic is about.

    The code of a group is that of the combination of values of `Statistic.groups`, times the cases
    if there are any: a share has two, the value and all others. One more code, the last, is for
    rows outside, which meet no condition or no case. `labels` has the combinations as text. `rule`
    has the group of every combination of codes of the columns `sources`; a condition on numbers
    reads parts of a column, and `limits` has that column and the limits by the name of such a
    source.
    """

    def __init__(self, schema: Schema, statistic: Statistic) -> None:
        by, cases = statistic.groups, statistic.cases
        self.name = str(replace(statistic, kind="rows", columns=(), ranks=(), weight=1.0))
        numbers = sorted({(one.column, one.limit) for one in (*statistic.where, *cases) if one.limit is not None})
        limits = {name: [own for column, own in numbers if column == name] for name, _ in numbers}
        # no column that a statistic names has a line break in its name
        parts = {name: f"{name}\n{own}" for name, own in limits.items()}
        self.limits = {parts[name]: (name, tuple(own)) for name, own in limits.items()}

        def source(one: Condition) -> str:
            return one.column if one.limit is None else parts[one.column]

        self.sources = tuple(dict.fromkeys([*by, *map(source, (*statistic.where, *cases))])) or (schema.names[0],)
        sizes = [len(self.limits[name][1]) + 2 if name in self.limits else schema[name].size for name in self.sources]
        many, self.cases = prod(schema[name].size for name in by), 2 if cases else 1
        if many * self.cases > MOST_GROUPS or prod(sizes) > 1 << 22:
            raise ParameterError(f"The statistic has {many:,} groups.", "Leave out a column of `by`, or a condition.")
        values = product(*(schema[name].labels for name in by))
        self.labels = [", ".join(map(" ".join, zip(by, own, strict=True))) or "all rows" for own in values]
        codes = dict(zip(self.sources, np.indices(sizes), strict=True))
        rule, inside = np.zeros(sizes, dtype=np.intp), np.ones(sizes, dtype=bool)
        for name in by:
            rule = rule * schema[name].size + codes[name]

        def meets(one: Condition) -> Flags:
            return np.asarray(one.mask(schema, limits.get(one.column, ()))[codes[source(one)]])

        for one in statistic.where:
            inside &= meets(one)
        if cases:
            first, second = meets(cases[0]), meets(cases[1]) if cases[1:] else ~meets(cases[0])
            if (first & second).any():
                raise ParameterError("The two groups of a difference overlap.", "Give them different values.")
            inside, rule = inside & (first | second), rule * 2 + second
        self.size = many * self.cases + (not inside.all())
        self.rule: Ints = np.where(inside, rule, many * self.cases)

    @property
    def key(self) -> tuple[tuple[str, ...], bytes]:
        """Return what distinguishes these groups from others."""
        return self.sources, self.rule.tobytes()


def has_numbers(column: Column) -> bool:
    """Return whether a column has numbers to calculate with: no categories, no dates."""
    return column.numeric and column.kind != "date"


def quote(text: str) -> str:
    """Return a name or value for a statistic's text, in quotation marks if it needs them."""
    words = r"(?!>=\d|<\d)([<>]=?)?[^\s\"=<>]+( [^\s\"=<>]+)*"
    plain = not {*text.lower().split()} & {*WORDS, *SIGNS} and re.fullmatch(words, text)
    return text if plain else '"' + text.replace('"', '""') + '"'


def is_rank(word: str) -> bool:
    """Return whether a word in a statistic's text is a number."""
    return re.fullmatch(r"\[?[0-9]*\.?[0-9]+[\],]*", word) is not None


def split_at(word: str, tokens: Tokens) -> list[Tokens]:
    """Return the parts of a list of tokens between an unquoted word; none of an empty list."""
    ends = [-1, *(i for i, token in enumerate(tokens) if token == (word, True)), len(tokens)]
    return [tokens[first + 1 : last] for first, last in pairwise(ends)] if tokens else []


def _join(tokens: Tokens) -> str:
    """Return the name or value that some tokens spell."""
    return " ".join(word for word, _ in tokens)


def _condition(tokens: Tokens, fail: Callable[[str], NoReturn]) -> Condition:
    """Return the condition that some tokens spell; `fail` raises an error if they spell none."""
    at = next((i for i, (word, is_plain) in enumerate(tokens) if is_plain and word in SIGNS), 0)
    values = split_at("or", tokens[at + 1 :])
    if not at or not all(values) or not values or (tokens[at][0] != "=" and values[1:]):
        fail("lacks a column, a sign (=, >= or <) and a value in a condition")
    return Condition(_join(tokens[:at]), tokens[at][0], tuple(map(_join, values)))

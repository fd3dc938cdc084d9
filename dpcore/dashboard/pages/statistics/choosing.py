"""The choice of statistics in words, box by box, or as text with one statistic per line."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from dpcore.dashboard.widgets import MOST_TYPED, lasting
from dpcore.datasets import Dataset
from dpcore.domain.statistic import RANKS, Condition, Statistic, has_numbers
from dpcore.language import phrase, say

WHAT = {
    "mean": phrase("Mean"),
    "count": phrase("Number of rows"),
    "persons": phrase("Number of persons"),
    "share": phrase("Share of a value"),
    "sum": phrase("Sum"),
    "variance": phrase("Variance"),
    "quantiles": phrase("Quartiles"),
    "histogram": phrase("Histogram"),
    "difference": phrase("Difference of means"),
    "slope": phrase("Slope"),
    "": phrase("another statistic …"),
}
OF_NUMBERS = ("mean", "sum", "variance", "quantiles", "difference", "slope")
SIGNS = (">=", "<", "=")
MOST_GROUPS = 60  # of a column that is offered for groups
OF, ON, EACH = phrase("of {name}"), phrase("on {name}"), phrase("for each {name}")
BETWEEN, AND = phrase("between {name}"), phrase("and {name}")
FORMS = phrase("Such as `mean of age by sex`, or `share of income = >50K where age >= 60`.")


class Boxes(NamedTuple):
    """The boxes of one statistic; columns of the data's public schema are offered."""

    page: str
    data: Dataset

    def key(self, name: str) -> str:
        """Return the key of a box, which belongs to the data set."""
        return f"{self.page}.{name}:{self.data.token}"

    def draw(
        self, label: str, name: str, options: Sequence[str] | Mapping[str, str], words: str = "{name}", usual: str = ""
    ) -> str:
        """Draw a box, and return the chosen option.

        `words` is how an option is said, with `{name}` for it. If `options` is a mapping, it has
        the words of each option that is said otherwise.
        """
        names = options if isinstance(options, Mapping) else {}
        style: dict[str, Any] = {"label_visibility": "collapsed", "width": "stretch", "usual": usual}
        style["format_func"] = lambda option: say(names.get(option) or words, name=option)
        return str(lasting(st.selectbox, say(label), self.key(name), list(options), **style))

    def draw_statistic(self) -> Statistic | None:
        """Draw the boxes; return the statistic that they say, or None."""
        schema = self.data.schema
        numbers = [column.name for column in schema if has_numbers(column)]
        grouping = [column.name for column in schema if 1 < column.size <= MOST_GROUPS]
        pairs = (name for name in grouping if schema[name].size == 2 and not schema[name].numeric)
        pair = next(pairs, "")
        lacking = dict.fromkeys(OF_NUMBERS, True) if not numbers else {"slope": not numbers[1:]}
        lacking |= {"persons": schema.persons is None} | ({} if grouping else {"difference": True})
        kinds = {kind: words for kind, words in WHAT.items() if not lacking.get(kind)}
        kind = self.draw("What", "what", kinds, usual="mean" if numbers else "histogram")
        if kind in ("", "persons"):
            return Statistic("count", persons=True) if kind else None
        columns, cases, by = list[str](), list[Condition](), ""
        offered, usual = numbers if kind in OF_NUMBERS else schema.names, pair if kind == "share" else ""
        if kind != "count":
            columns.append(self.draw("Column", "column", offered, OF, usual))
        if kind == "slope":
            others = [name for name in numbers if name not in columns]
            columns.append(self.draw("On", "on", others, ON))
        if kind == "share":
            column = columns.pop()
            value = self.draw("Value", "value", schema[column].labels, "= {name}")
            cases.append(Condition(column, "=", (value,)))
        if kind == "difference":
            column = self.draw("Groups", "between", grouping, BETWEEN, pair)
            first = self.draw("First group", "first", schema[column].labels)
            rest = [label for label in schema[column].labels if label != first]
            values = first, self.draw("Second group", "second", rest, AND)
            cases = [Condition(column, "=", (value,)) for value in values]
        else:
            groups = {"": phrase("for all rows"), **dict.fromkeys(grouping, "")}
            by = self.draw("For each", "by", groups, EACH, pair if kind == "mean" else "")
        ranks = RANKS["quartiles"] if kind == "quantiles" else ()
        return Statistic(kind, tuple(columns), (by,) if by else (), (), ranks, tuple(cases))

    def draw_condition(self) -> tuple[Condition, ...]:
        """Draw the boxes of a condition on the rows; return it, or nothing."""
        names = {"": phrase("no condition on the rows")} | dict.fromkeys(self.data.schema.names, "")
        if not (name := self.draw("Condition", "where", names, phrase("where {name}"))):
            return ()
        column = self.data.schema[name]
        sign = self.draw("Sign", "sign", SIGNS if has_numbers(column) else SIGNS[-1:])
        if sign == "=":
            return (Condition(name, sign, (self.draw("Value", "equal", column.labels),)),)
        kind: Any = int if column.whole else float
        low, high = kind(column.edges[0]), kind(column.edges[-1])
        style: dict[str, Any] = {"usual": kind((low + high) / 2), "label_visibility": "collapsed"}
        key = self.key(f"limit.{name}")
        limit = lasting(st.number_input, say("Limit"), key, low, high, **style)
        return (Condition(name, sign, (f"{limit:.12g}",)),)

    def draw_lines(self) -> list[str]:
        """Draw the field for statistics as text; return its lines."""
        style: dict[str, Any] = {"help": say(FORMS), "max_chars": MOST_TYPED}
        return lines_of(lasting(st.text_area, say("More statistics, one per line"), self.key("lines"), "", **style))

    def change(self, add: str = "", remove: str = "") -> Callable[[], None]:
        """Return a callback that adds or removes a line, and clears the boxes if they said it."""

        def work() -> None:
            lines = lines_of(st.session_state.get(self.key("lines"), ""))
            if remove not in lines:
                st.session_state[self.key("what")] = ""
            lines = [line for line in [*lines, add] if line not in ("", remove)]
            st.session_state[self.key("lines")] = "\n".join(lines)[:MOST_TYPED]

        return work


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]

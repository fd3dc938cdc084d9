"""The lesson path in Chinese: no page, tab or chart of it says anything in English but names, and nothing is lost."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from driving import PAGE, change, opened, run, started
from screen import charts, elements, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import datasets
from dpcore.methods import METHODS

SAMPLE = datasets.load("sample").schema
# What stays as it is in every language: the sample's columns and their values, methods, files, authors and sources.
NAMES = {
    *SAMPLE.names,
    *(str(value) for column in SAMPLE if not column.numeric for value in column.categories),
    *METHODS,
    *(offer.label for kind in METHODS.values() for offer in kind.offers),
}
LATIN = re.compile(r"[A-Za-z][A-Za-z'’-]+(?:[ ,]+[A-Za-z][A-Za-z'’-]+)+")  # two words or more
LINK = re.compile(
    r":material/\w+:|<[^>]*>|https?://\S+|[“\"]Census.*?[”\"]|[“\"]Google COVID.*?[”\"]|[“\"]A list of.*?[”\"]"
)


def in_chinese(page: str, **state: Any) -> AppTest:
    """A page that somebody opens whose language is Chinese."""
    at = started()
    at.session_state["dpcore.language"] = "zh"
    for key, value in state.items():
        at.session_state[key] = value
    return opened(at, page)


def texts(at: AppTest) -> Iterator[str]:
    """All that is written on the screen, but for what stands in tables and charts."""
    for found in elements(at):
        proto = getattr(found, "proto", None)
        for field in ("label", "body", "value", "help", "placeholder", "text"):
            told = getattr(proto, field, None)
            if isinstance(told, str):
                yield told
        yield from (str(option) for option in getattr(proto, "options", ()) if isinstance(option, str))


def drawn(part: Any) -> Iterator[str]:
    """The words in a chart's specification that people see."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key in ("title", "text", "subtitle", "description") and isinstance(value, str | list):
                yield from [value] if isinstance(value, str) else (line for line in value if isinstance(line, str))
            yield from drawn(value)
    elif isinstance(part, list):
        for value in part:
            yield from drawn(value)


def english(at: AppTest) -> set[str]:
    """Two English words and more beside each other that are no names."""
    told = [*texts(at), *(line for specification, _ in charts(at) for line in drawn(specification))]
    found = {words for text in told for words in LATIN.findall(LINK.sub(" ", text.replace("\\", "")))}
    return {words for words in found if not any(words in name or name in words for name in NAMES if " " in name)}


@pytest.mark.parametrize("page", [])  # "home" as soon as all of it is said
def test_a_page_says_nothing_in_english(page):
    assert english(in_chinese(page)) == set()


def test_who_chooses_another_language_loses_nothing():
    at = change(started(PAGE), epsilon=2.0)
    for language, word in (("zh", "已花费"), ("en", "Spent")):
        at.selectbox("dpcore.language").set_value(language)
        assert word in said(run(at))
        assert widget(at, f"{PAGE}.epsilon").value == 2.0

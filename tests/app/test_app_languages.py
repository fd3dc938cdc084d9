"""The lesson path in Chinese: no page, tab or chart of it says anything in English but names, and nothing is lost."""

import re
from collections.abc import Iterator
from typing import Any

from driving import PAGE, change, names, opened, released, run, shown, started, tab
from prepared import choose, page, pressed, with_release
from screen import charts, elements, tabs, widget
from streamlit.testing.v1 import AppTest

from dpcore import datasets
from dpcore.dashboard import shell
from dpcore.dashboard.pages.compare import sweep
from dpcore.dashboard.session import ShownRelease
from dpcore.datasets import Dataset
from dpcore.language import use_language
from dpcore.methods import METHODS
from scripts.words import spoken_in_english

SAMPLE = datasets.load("sample").schema
# What stays as it is in every language: the sample's columns and their values, methods, files, authors and sources.
NAMES = {*SAMPLE.names, *METHODS, *sweep.CATALOG}
NAMES |= {str(value) for column in SAMPLE if not column.numeric for value in column.categories}
NAMES |= {offer.label for kind in METHODS.values() for offer in kind.presets}
UNTRANSLATED = spoken_in_english("zh")
LATIN = re.compile(r"[A-Za-z][A-Za-z'’-]+(?:[ ,]+[A-Za-z][A-Za-z'’-]+)+")  # two words or more
LINK = re.compile(
    r"(?s:<(style|script)>.*?</\1>)|:material/\w+:|<[^>]*>|https?://\S+|"
    r"[“\"]Census.*?[”\"]|[“\"]Google COVID.*?[”\"]|[“\"]A list of.*?[”\"]"
    r"|“The DCR delusion”|de Montjoye|Census Bureau|`[^`]*`"
)


def texts(at: AppTest) -> Iterator[str]:
    """All that is written on the screen, but for what stands in tables and charts."""
    for found in elements(at):
        proto = getattr(found, "proto", None)
        for field in ("label", "body", "value", "help", "placeholder", "text"):
            text = getattr(proto, field, None)
            if isinstance(text, str):
                yield text
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
    message = [*texts(at), *(line for specification, _ in charts(at) for line in drawn(specification))]
    found = {words for text in message for words in LATIN.findall(LINK.sub(" ", text.replace("\\", "")))}
    lists = {words for words in found if NAMES.issuperset(words.split(", "))}
    return {
        words
        for words in found - lists
        if not any(words in name or name in words for name in NAMES if " " in name)
        and not any(words in text for text in UNTRANSLATED)
    }


def turned(at: AppTest) -> AppTest:
    """The same page, once somebody has chosen Chinese on it."""
    at.selectbox("dpcore.language").set_value("zh")
    return run(at)


def test_the_lesson_path_says_nothing_in_english(monkeypatch, whole_sample: Dataset) -> None:
    """On no tab of its pages; but for the publication that a method is from, beside its figures and on its card."""
    at = turned(started())
    found = {"home": english(at), "ledger": english(opened(at, "ledger"))}
    for name in ("attacks", "mechanisms", "audit"):
        at = started(name)
        labels = tabs(at)
        turned(at)
        for label in labels:
            at.session_state[f"{name}.tab"] = label
            found[f"{name}, {label}"] = english(run(at))
    made = pressed(PAGE, whole_sample, "", "", ())
    at = page(whole_sample, **{"dpcore.shown": {PAGE: ShownRelease(made.release, made.data)}, "dpcore.language": "zh"})
    for part in [part for part in names(at) if part not in ("figures", "download")]:
        found[part] = {each for each in english(tab(at, part)) if set(each.split(", ")) - set(SAMPLE.names)}
    found["ledger, charged"] = english(opened(released(at), "ledger"))
    assert {index: words for index, words in found.items() if words} == {}


def test_what_is_chosen_and_made_stays_in_another_language() -> None:
    """A browser knows a choice by its words: when they change, it has to be told again what is chosen."""
    at = choose(change(with_release(), epsilon=2.0), "published", "NB-Synth", variant="Alg1")
    first, method = shown(at), widget(at, f"{PAGE}.method").value
    with use_language("en"):  # the words by which the test, as a browser, knows what is chosen
        turned(at)
    assert shown(at) is first
    assert widget(at, f"{PAGE}.epsilon").value == 2.0
    chosen = widget(at, f"{PAGE}.method")
    assert (chosen.value, chosen.proto.set_value) == (method, True)


def test_a_language_that_is_none_of_ours_is_not_spoken(monkeypatch):
    at = started()
    box = at.selectbox(shell.LANGUAGE)
    forged = "'</script><script>alert(1)"
    box.options.append(forged)  # as a browser can send what no page offers
    box.set_value(forged)
    run(at)
    assert "documentElement.lang = 'en'" in "".join(element.proto.body for element in at.get("html"))
    for other in (["zh"], 7, None):
        monkeypatch.setattr(shell.st, "session_state", {shell.LANGUAGE: other})
        assert shell.chosen_language() == "en"

"""The language of screens: English, as the code says it, or that of a catalog beside this file.

Data, files and ledgers are English everywhere, as they outlive a screen: what they keep is
translated where it is shown. So `say` is called where something is drawn, and nowhere before; a
text that is written down earlier, such as a constant, is marked as a `phrase` there.
`scripts/words.py` collects both.
"""

import gettext
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from string import Formatter
from typing import Any

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "zh": "中文"}
FIELD = re.compile(r"\{(\w+)[^}]*\}")  # a value in a message, and how it is written
FOLDER = Path(__file__).parent
LONGEST = 2_000  # characters
SAID = {"mode", "why", "score"}  # values that are phrases; others may be names of columns
_forced: ContextVar[str | None] = ContextVar("_forced", default=None)
_forms: set[str] = set()  # phrases with values
_wanted: Callable[[], str] = lambda: ENGLISH  # noqa: E731 - replaced by whoever has screens


def ask(wanted: Callable[[], str]) -> None:
    """Find out by this function, from now on, which language a screen is in."""
    global _wanted
    _wanted = wanted


def current_language() -> str:
    """The language, a key of `LANGUAGES`."""
    return _forced.get() or _wanted()


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """Another language for a while: files that are made on a screen are English."""
    token = _forced.set(language)
    try:
        yield
    finally:
        _forced.reset(token)


def phrase(text: str) -> str:
    """The same text, which `say` is given later; or `retold`, with its values in it."""
    if "{" in text:
        _forms.add(text)
    return text


def say(message: str, /, **values: Any) -> str:
    """A message in the language that is spoken, with values in place of its braces, as `str.format` puts them.

    >>> say("{share:.0%} of all", share=0.5)
    '50% of all'
    """
    text = _catalog(current_language()).gettext(message) if message else ""  # the empty one is a catalog's heading
    return text.format(**values) if values else text


def plural(one: str, many: str, n: int, /, **values: Any) -> str:
    """The same of a message that has another form for one; both may name the number `n`."""
    return _catalog(current_language()).ngettext(one, many, n).format(n=n, **values)


def retold(text: str) -> str:
    """A text that was written down in English, of a `phrase` and maybe its values, in the language that is spoken.

    What was not written by this program, such as words in a file, stays as it is, and so does what
    is longer than ours.
    """
    return text if len(text) > LONGEST else _retold(text, current_language(), len(_forms))


@lru_cache(maxsize=4096)
def _retold(text: str, language: str, _: int) -> str:
    """The same; of all phrases with values that one of which the text has the most."""
    words = _catalog(language).gettext(text) if text else ""
    if words != text or language == ENGLISH:
        return words
    for form in sorted(_forms, key=lambda form: (-len(FIELD.sub("", form)), form)):
        if found := re.fullmatch(_pattern(form), text, re.DOTALL):
            values = {
                name: _catalog(language).gettext(value) if name in SAID else value
                for name, value in found.groupdict().items()
            }
            return FIELD.sub(r"{\1}", _catalog(language).gettext(form)).format(**values)
    return text


@cache
def _pattern(form: str) -> str:
    """What a phrase looks like with values; those that have a format are numbers."""
    pattern, known = "", set()
    for literal, name, how, _ in Formatter().parse(form):
        pattern += re.escape(literal)
        if name:
            pattern += f"(?P={name})" if name in known else f"(?P<{name}>{'[-+0-9,.%e]+' if how else '.+?'})"
            known.add(name)
    return pattern


@cache
def _catalog(language: str) -> gettext.NullTranslations:
    """What is known of a language; of English, what the code says."""
    if language == ENGLISH:
        return gettext.NullTranslations()
    return gettext.translation("dpcore", FOLDER, [language])

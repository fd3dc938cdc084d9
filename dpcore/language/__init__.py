"""Languages of the screens: English, as in the code, or a translation catalog beside this file.

Data, files and ledgers are always English and are translated when they are shown. So `say` is
called where a screen is drawn. A text that is fixed earlier, such as a constant, is marked by
`phrase`. `scripts/words.py` collects both.
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
FIELD = re.compile(r"\{(\w+)[^}]*\}")  # a value in a message, with its format
FOLDER = Path(__file__).parent
LONGEST = 2_000  # characters
SAID = {"mode", "why", "score"}  # values that are translated; others may be names of columns
_forced: ContextVar[str | None] = ContextVar("_forced", default=None)
_forms: set[str] = set()  # phrases with values in braces
_source: Callable[[], str] = lambda: ENGLISH  # noqa: E731 - the dashboard replaces it


def set_language_source(source: Callable[[], str]) -> None:
    """Set the function that returns the language of the current screen, a key of `LANGUAGES`."""
    global _source
    _source = source


def current_language() -> str:
    """Return the language of the current screen, a key of `LANGUAGES`."""
    return _forced.get() or _source()


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """Use another language inside a `with` block.

    For example, files that are made on a Chinese screen are English.
    """
    token = _forced.set(language)
    try:
        yield
    finally:
        _forced.reset(token)


def phrase(text: str) -> str:
    """Mark a constant text for translation by `say` or `retold`, and return it unchanged."""
    if "{" in text:
        _forms.add(text)
    return text


def say(message: str, /, **values: Any) -> str:
    """Return a message in the current language, with `values` in its braces as `str.format` does.

    >>> say("{share:.0%} of all", share=0.5)
    '50% of all'
    """
    text = _catalog(current_language()).gettext(message) if message else ""  # "": catalog's heading
    return text.format(**values) if values else text


def plural(one: str, many: str, n: int, /, **values: Any) -> str:
    """Return the message `one` or `many`, by the number `n`, as `say` does.

    Both messages may have {n} and the names of `values`.
    """
    return _catalog(current_language()).ngettext(one, many, n).format(n=n, **values)


def retold(text: str) -> str:
    """Translate an English text that was stored earlier: a `phrase`, with or without values.

    A text that is no phrase of this program, or longer than `LONGEST`, is returned unchanged.
    """
    return text if len(text) > LONGEST else _retold(text, current_language(), len(_forms))


@lru_cache(maxsize=4096)
def _retold(text: str, language: str, _: int) -> str:
    """Translate a stored text by the longest phrase that fits; the cached part of `retold`.

    The third argument only makes the cache forget results when a phrase is added.
    """
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
    """Return a regular expression that a phrase with any values matches.

    `form` is the phrase, with {names} for its values. Values with a number format match numbers
    only.
    """
    pattern, known = "", set()
    for literal, name, how, _ in Formatter().parse(form):
        pattern += re.escape(literal)
        if name:
            pattern += f"(?P={name})" if name in known else f"(?P<{name}>{'[-+0-9,.%e]+' if how else '.+?'})"
            known.add(name)
    return pattern


@cache
def _catalog(language: str) -> gettext.NullTranslations:
    """Return the translations into a language; for English, those that change nothing."""
    if language == ENGLISH:
        return gettext.NullTranslations()
    return gettext.translation("dpcore", FOLDER, [language])

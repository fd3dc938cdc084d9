"""Texts that are taken home: files in `templates`, which can be read by themselves, filled with facts.

HTML is escaped by itself; what Markdown and Python are given was quoted before (`quoting`). A name that a template asks
for and nobody gave is an error.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dpcore.export.quoting import literal, plain
from dpcore.language import phrase, say
from dpcore.text import read_toml

SENTENCES = read_toml(Path(__file__).with_name("sentences.toml"))
for text in (*SENTENCES["unit"].values(), *SENTENCES["refuted"].values()):
    phrase(text)  # a model's file keeps it, and a screen tells it later


@lru_cache(maxsize=1)
def templates() -> Environment:
    """The template files."""
    found = Environment(
        loader=PackageLoader("dpcore.export"),
        autoescape=lambda name: str(name).endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters |= {"literal": literal, "plain": plain}
    return found


def sentence(part: str, name: str, /, **values: Any) -> str:
    """A sentence of `sentences.toml`, in the language that is spoken."""
    return say(SENTENCES[part][name], **values)


def render(template: str, **values: Any) -> str:
    """A template filled with values."""
    return templates().get_template(template).render(values)


def part(name: str, *values: Any) -> str:
    """A part of an HTML page: a macro of `parts.html`, whose values are escaped, and which is safe as it is."""
    made: str = getattr(templates().get_template("parts.html").module, name)(*values)  # marked as safe
    return made

"""Collect what screens say, bring the catalogs of `dpcore/language` up to date, and compile them.

    .venv/bin/python -m scripts.words            after any text of a screen was changed
    .venv/bin/python -m scripts.words --check    whether that was done, and nothing lacks a translation

Then fill in what is empty in `dpcore/language/*/LC_MESSAGES/dpcore.po`, and run it again. A text that changed loses its
translation: the old one may be wrong.
"""

import argparse
import ast
import io
import re
import string
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from dpcore.language import ENGLISH, FOLDER, LANGUAGES

ROOT = FOLDER.parent.parent
PLACES = ("dpcore", "pages")
DECLARED = {"Act", "Lesson", "Step", "Control", "Offer", "both"}  # phrases but for names, which are one small word
NAMED, KEY = re.compile(r"[A-Z]|.* ", re.DOTALL), re.compile("/(corrected|paper)")
# What a translation has to have as often as its original: icons, colors, bold words and signs of Markdown.
MARKS = re.compile(r":material/\w+:|:(?:red|green|blue|orange|gray|small)\[|\*\*|`|⚠")


Text = str | tuple[str, str]  # a message, or both forms of what is counted


def messages(tree: ast.Module) -> Iterator[tuple[int, Text]]:
    """What calls in a source file say on screens, or as errors, and their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((node.lineno, text) for text in of_call(node))
            if str(getattr(node.func, "id", getattr(node.func, "attr", ""))).endswith("Error"):
                parts = [part for given in node.args for part in getattr(given, "values", [given])]
                yield from ((part.lineno, text) for part in parts if (text := constant(part)))


def texts(source: str) -> Iterator[Text]:
    """What calls in a source file say on screens."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield from of_call(node)


def constant(node: ast.AST) -> str:
    """The text that an expression is, or none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def of_call(node: ast.Call) -> Iterator[Text]:
    """The messages of a call. Babel sees none inside an f-string."""
    name = getattr(node.func, "id", "")
    given = [text for leaf in node.args if (text := constant(leaf))]
    if name in ("say", "phrase") and given:
        yield given[0]
    elif name == "plural" and len(given) > 1:
        yield given[0], given[1]
    elif name in DECLARED:
        parts = [
            leaf
            for part in (*node.args, *(word.value for word in node.keywords if word.arg != "formerly"))
            for leaf in getattr(part, "elts", [part])
        ]
        yield from (text for part in parts if NAMED.match(text := constant(part)) and not KEY.search(text))
    elif name == "tooltips":  # "field|title", with a number's format behind or without
        yield from (line.split("|")[1] for line in given)


def said() -> Catalog:
    """All messages of the code."""
    catalog = Catalog()
    for file in sorted(file for place in PLACES for file in (ROOT / place).rglob("*.py")):
        for message in texts(file.read_text(encoding="utf-8")):
            if message:
                catalog.add(message)
    return catalog


def brought_up(known: Catalog, wanted: Catalog) -> Catalog:
    """The messages that are wanted, with the translations that are known of exactly these."""
    catalog = Catalog(known.locale)
    for message in wanted:
        if message.id:
            same = known.get(message.id)
            catalog.add(message.id, same.string if same is not None and same.id == message.id else None)
    return catalog


def written(catalog: Catalog) -> bytes:
    """A catalog as a file that only its messages change."""
    file = io.BytesIO()
    write_po(file, catalog, width=120, sort_output=True, omit_header=True, no_location=True)
    heading = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n'
    heading += f'"Language: {catalog.locale}\\n"\n"Plural-Forms: {catalog.plural_forms}\\n"\n\n'
    return heading.encode() + file.getvalue()


def compiled(catalog: Catalog) -> bytes:
    """A catalog as `gettext` reads it."""
    file = io.BytesIO()
    catalog.creation_date = catalog.revision_date = datetime(2000, 1, 1, tzinfo=UTC)  # two runs make the same bytes
    write_mo(file, catalog)
    return file.getvalue()


def holes(text: str) -> set[str]:
    """The values that a message names."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def meets(text: str) -> bool:
    """Whether signs of bold words stand between punctuation inside and a letter outside: they would be shown."""
    parts = text.split("**")
    ends = [
        pair
        for k in range(1, len(parts) - 1, 2)
        for pair in ((parts[k - 1][-1:], parts[k][:1]), (parts[k + 1][:1], parts[k][-1:]))
    ]
    return any(re.match(r"\w", outside) and re.match(r"[^\w\s]", inside) for outside, inside in ends)


def faults(catalog: Catalog) -> Iterator[str]:
    """What is wrong with translations: those that are missing, and those that lack a value or a sign."""
    for message in catalog:
        originals = message.id if isinstance(message.id, tuple) else (message.id,)
        told = message.string if isinstance(message.string, tuple) else (message.string,)
        if not originals[0]:
            continue
        if not all(told):
            yield f"not translated: {originals[-1]!r}"
            continue
        for one in told:
            if "{" in originals[-1] and holes(one) - {"n"} != holes(originals[-1]) - {"n"}:
                yield f"other values than {originals[-1]!r}: {one!r}"
            if meets(one):
                yield f"Markdown sees no bold words where punctuation and a letter meet: {one!r}"
            if sorted(MARKS.findall(one)) != sorted(MARKS.findall(originals[-1])):
                yield f"other signs than {originals[-1]!r}: {one!r}"


def main(asked: list[str] | None = None) -> int:
    """Bring all catalogs up to date, or check that they are; the number of faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    check, count, wanted = parser.parse_args(asked).check, 0, said()
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        place = FOLDER / language / "LC_MESSAGES" / "dpcore.po"
        old = place.read_bytes() if place.exists() else b""
        catalog = brought_up(read_po(io.BytesIO(old), locale=language), wanted)
        found = list(faults(catalog))
        new = {place: written(catalog), place.with_suffix(".mo"): compiled(catalog)}
        for file, content in new.items():
            if check and (not file.exists() or file.read_bytes() != content):
                found.append(f"{file.relative_to(ROOT)} is not what the code says: run `python -m scripts.words`")
            elif not check:
                Path(file).parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        print(f"{language}: {len(wanted)} messages, {len(found)} faults", *found, sep="\n  ")
        count += len(found)
    return count


if __name__ == "__main__":
    sys.exit(bool(main()))

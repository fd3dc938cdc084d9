"""Collect the texts of screens, update the catalogs of `dpcore/language`, and compile them.

    make texts                                    after any text of a screen was changed
    python -m scripts.words --carry OLD NEW       before `make texts`: NEW keeps OLD's translation
    make gaps                                     list texts without translation, and unused ones
    python -m scripts.words --check               check that catalogs are complete, for a release

Then fill in the empty entries of `dpcore/language/*/LC_MESSAGES/dpcore.po`, and run it again. A
changed text loses its translation, as the old one may be wrong; until it has a new one, screens
show it in English. Only the texts of lessons must be translated with the change that brings them.
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
from typing import Any

from babel.messages import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from dpcore.dashboard.lesson_plans import LESSONS
from dpcore.language import ENGLISH, FOLDER, LANGUAGES
from dpcore.text import read_toml

ROOT = FOLDER.parent.parent
FOLDERS = ("dpcore", "pages")
TRANSLATIONS = [language for language in LANGUAGES if language != ENGLISH]
SAYING = {"say", "phrase", "markdown", "caption"}  # calls whose first argument is a message
DECLARED = {"Demonstration", "Preset", "presets_for_both_modes"}  # texts but names (one word)
NAMED, KEY, TITLE = map(re.compile, (r"(?s)[A-Z]|.* ", "/(corrected|paper)", r"^\w+\|([^|]*)"))
NOT_TEXTS = {"color", "number", "format", "orient"}  # keys without texts, in tables of texts
LESSON_FILE = "dpcore/dashboard/lessons.toml"
FIGURES = {"source_says", "says", "note", "title", "series", "x_title", "y_title", "label", "options", "needs", "texts"}
FIGURES |= {"caption", "answers"}
TABLES: dict[str, set[str] | None] = {  # files of texts, and their keys of texts; None: all keys
    LESSON_FILE: {"title", "promise", "takeaways", "question", "literature", "text", "result", "label"},
    "dpcore/audit/cases.toml": {"name", "tale", "number", "other"},
    "dpcore/charts/pictures.toml": None,
    "dpcore/export/sentences.toml": None,
    "dpcore/experiment/figures/figures.toml": FIGURES,
    "dpcore/methods/pages.toml": {"label", "names", "help", "note"},
    "dpcore/methods/groups/pages.toml": {"label", "remark", "names", "help", "reasons", "requests"},
    "dpcore/methods/local/pages.toml": {"label", "remark", "names", "help", "note", "reasons", "requests"},
    "dpcore/methods/networks/pages.toml": {"label", "remark", "names", "help", "reasons"},
    "dpcore/methods/trees/pages.toml": {"label", "remark", "names", "help"},
}
# A translation must have these as often as its original: icons, colors, Markdown signs.
MARKS = re.compile(r":material/\w+:|:(?:red|green|blue|orange|gray|small)\[|\*\*|`|⚠")


Text = str | tuple[str, str]  # a message, or both forms of what is counted


def messages(tree: ast.Module) -> Iterator[tuple[int, Text]]:
    """Yield the messages of a source file, with their lines: texts of screens and of errors."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((node.lineno, text) for text in of_call(node))
            if str(getattr(node.func, "id", getattr(node.func, "attr", ""))).endswith("Error"):
                parts = [part for given in node.args for part in getattr(given, "values", [given])]
                yield from ((part.lineno, text) for part in parts if (text := constant(part)))


def texts(source: str) -> Iterator[Text]:
    """Yield the texts of screens in a source file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield from of_call(node)


def constant(node: ast.AST) -> str:
    """Return the text of a constant expression; "" for any other expression."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def of_call(node: ast.Call) -> Iterator[Text]:
    """Yield the messages of a call; Babel would find none inside an f-string."""
    name = getattr(node.func, "id", "")
    given = [text for leaf in node.args if (text := constant(leaf))]
    if name in SAYING and given:
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


def code_messages() -> Catalog:
    """Return a catalog of all messages of the code and of the tables."""
    catalog = Catalog()
    files = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    found = [message for file in files for message in texts(file.read_text(encoding="utf-8"))]
    found += [text for file, names in TABLES.items() for text in table_texts(read_toml(ROOT / file), names)]
    for message in filter(None, found):
        catalog.add(message)
    return catalog


def table_texts(value: Any, names: set[str] | None, own: bool = False) -> list[str]:
    """Return the texts of a table below certain keys; `own` if the value is below such a key."""
    if isinstance(value, dict):
        below = {name: name not in NOT_TEXTS if names is None else own or name in names for name in value}
        return [text for name, each in value.items() for text in table_texts(each, names, below[name])]
    if isinstance(value, list):
        return [text for each in value for text in table_texts(each, names, own)]
    # of "field|title|format", the title
    return (TITLE.findall(value) or [value]) if own and isinstance(value, str) and value != "{other}" else []


def brought_up(known: Catalog, wanted: Catalog) -> Catalog:
    """Return a catalog of the wanted messages, with known translations of exactly these."""
    catalog = Catalog(known.locale)
    for message in wanted:
        if message.id:
            same = exact(known, message.id)
            catalog.add(message.id, same.string if same else None)
    return catalog


def format_catalog(catalog: Catalog) -> bytes:
    """Return a catalog as the bytes of a .po file, which depend on its messages only."""
    file = io.BytesIO()
    write_po(file, catalog, width=120, sort_output=True, omit_header=True, no_location=True)
    heading = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n'
    heading += f'"Language: {catalog.locale}\\n"\n"Plural-Forms: {catalog.plural_forms}\\n"\n\n'
    return heading.encode() + file.getvalue()


def compile_catalog(catalog: Catalog) -> bytes:
    """Return a catalog as the bytes of a .mo file for `gettext`."""
    file, whole = io.BytesIO(), Catalog(catalog.locale)
    whole.creation_date = whole.revision_date = datetime(2000, 1, 1, tzinfo=UTC)  # two runs make the same bytes
    for message in catalog:
        if message.id and is_translated(
            message
        ):  # `gettext` would say nothing, and not the English, where one is empty
            whole.add(message.id, message.string)
    write_mo(file, whole)
    return file.getvalue()


def holes(text: str) -> set[str]:
    """Return the names of the values in a message's braces."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def meets(text: str) -> bool:
    """Return whether Markdown would not read `**` in a text as bold.

    That happens where punctuation inside the stars meets a letter outside, or a blank is inside.
    """
    parts = text.split("**")
    ends = [
        pair
        for k in range(1, len(parts) - 1, 2)
        for pair in ((parts[k - 1][-1:], parts[k][:1]), (parts[k + 1][:1], parts[k][-1:]))
    ]
    return any(re.match(r"\w[^\w\s]|.?\s$", outside + inside) for outside, inside in ends)


def forms(text: Text) -> tuple[str, ...]:
    """Return a message as a tuple: itself, or its singular and plural."""
    return text if isinstance(text, tuple) else (text,)


def is_translated(message: Message) -> bool:
    """Return whether a message has a translation in all its forms."""
    return bool(message.string) and all(forms(message.string))


def gaps(catalog: Catalog, wanted: Catalog) -> list[Text]:
    """Return the wanted messages that a catalog does not translate."""
    return [each.id for each in wanted if each.id and not ((own := exact(catalog, each.id)) and is_translated(own))]


def spoken_in_english(language: str) -> set[str]:
    """Return the messages that screens in another language show in English for now."""
    return {form for text in gaps(read(language), code_messages()) for form in forms(text)}


def exact(catalog: Catalog, text: Text) -> Message | None:
    """Return the entry of exactly this message; not of another one with the same first form."""
    found = catalog.get(text)
    return found if found is not None and found.id == text else None


def lesson_texts() -> set[Text]:
    """Return the messages of the lessons and of the pages that they open."""
    dashboard = ROOT / "dpcore" / "dashboard"
    files = {dashboard / "lessons.py"}
    for page in {step.page for lesson in LESSONS.values() for step in lesson.steps}:
        files |= {ROOT / "pages" / f"{page}.py", *(dashboard / "pages" / page).glob("*.py")}
    found = {text for file in files for text in texts(file.read_text(encoding="utf-8")) if text}
    return found.union(table_texts(read_toml(ROOT / LESSON_FILE), TABLES[LESSON_FILE]))


def faults(catalog: Catalog) -> Iterator[str]:
    """Yield a line for each translation that lacks a value or a sign of its original."""
    for message in catalog:
        if not message.id or not is_translated(message):
            continue
        original = forms(message.id)[-1]
        for text in forms(message.string):
            if "{" in original and holes(text) - {"n"} != holes(original) - {"n"}:
                yield f"other values than {original!r}: {text!r}"
            if meets(text):
                yield f"Markdown sees no bold words where punctuation and a letter meet: {text!r}"
            if sorted(MARKS.findall(text)) != sorted(MARKS.findall(original)):
                yield f"other signs than {original!r}: {text!r}"


def path_of(language: str) -> Path:
    """Return the path of a language's catalog."""
    return FOLDER / language / "LC_MESSAGES" / "dpcore.po"


def read(language: str) -> Catalog:
    """Return a language's catalog; an empty one if there is no file."""
    path = path_of(language)
    return read_po(io.BytesIO(path.read_bytes() if path.exists() else b""), locale=language)


def blockers() -> list[str]:
    """Return a line for each fault that blocks a change.

    Faults are wrong translations, untranslated lessons, and compiled files that do not fit their
    catalog. Other missing or unused messages do not block.
    """
    found, taught = [], lesson_texts()
    for language in TRANSLATIONS:
        catalog, compiled_file = read(language), path_of(language).with_suffix(".mo")
        found += faults(catalog)
        missing = [text for text in gaps(catalog, code_messages()) if text in taught]
        file = path_of(language).relative_to(ROOT)
        found += [
            f"a lesson says {forms(text)[-1]!r}: fill in its msgstr in {file}, then `make texts`" for text in missing
        ]
        if not compiled_file.exists() or compiled_file.read_bytes() != compile_catalog(catalog):
            found.append(f"{compiled_file.relative_to(ROOT)} is not what its .po says: run `make texts`")
    return found


def carry(old: str, new: str) -> str:
    """Give a message the translation of its old text; return why not, or "".

    For a message with a plural, either form names it.
    """
    wanted = next((each.id for each in code_messages() if each.id and new in forms(each.id)), None)
    if wanted is None:
        return f"The code does not say {new!r}. Change its text first; then carry the translation over."
    for language in TRANSLATIONS:
        catalog = read(language)
        known = next((each for each in catalog if each.id and old in forms(each.id) and is_translated(each)), None)
        if known is None:
            return (
                f"{path_of(language).relative_to(ROOT)} has no translation of {old!r}. If `make texts` has dropped it, "
                "`git checkout dpcore/language` brings it back."
            )
        if isinstance(wanted, str) != isinstance(known.id, str):
            return "Only one of the two counts something: translate the new one by hand."
        entry = Catalog(language)
        entry.add(wanted, known.string)
        if wrong := "; ".join(faults(entry)):
            return f"The translation does not fit the new text; change it by hand: {wrong}"
        catalog.delete(wanted)
        catalog.add(wanted, known.string)
        save(language, catalog)
    return ""


def save(language: str, catalog: Catalog) -> None:
    """Write a catalog and compile it."""
    path = path_of(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(format_catalog(catalog))
    path.with_suffix(".mo").write_bytes(compile_catalog(catalog))


def main(arguments: list[str] | None = None) -> int:
    """Update all catalogs, or list what they lack; return 1 if something blocks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; anything that is missing is wrong")
    parser.add_argument("--gaps", action="store_true", help="change nothing; say what is missing")
    parser.add_argument("--carry", nargs=2, metavar=("OLD", "NEW"), help="a text, and what it says now")
    options = parser.parse_args(arguments)
    if options.carry:
        if refusal := carry(*options.carry):
            print(refusal)
        return int(bool(refusal))
    wrong, wanted = [], code_messages()
    for language in TRANSLATIONS:
        catalog = read(language)
        missing = [f"not translated: {forms(text)[-1]!r}" for text in gaps(catalog, wanted)]
        gone = [
            f"not said any more: {forms(each.id)[-1]!r}" for each in catalog if each.id and not exact(wanted, each.id)
        ]
        if not (options.check or options.gaps):
            save(language, brought_up(catalog, wanted))
            gone = []
        print(f"{language}: {len(wanted)} messages, {len(missing)} not translated", *missing, *gone, sep="\n  ")
        wrong += missing + gone if options.check else []
    blocking = blockers()
    print(*blocking, sep="\n")
    wrong += blocking
    return int(bool(wrong) and not options.gaps)


if __name__ == "__main__":
    sys.exit(bool(main()))

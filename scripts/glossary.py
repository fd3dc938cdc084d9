"""Find words outside the glossary in names, messages and documents, and let their number only fall.

    make words                           list what is new; write down counts that fell
    python -m scripts.glossary --check   the same, and nothing is written
    python -m scripts.glossary told      list every place of one word

The rules and the current counts, by file, are in `scripts/glossary.toml`. The count of a word over
all files may only fall. A name is checked where it is defined.
"""

import argparse
import ast
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dpcore.text import read_toml
from scripts.words import TABLES, messages, table_texts

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "scripts" / "glossary.toml"
CODE = ("dpcore", "pages", "app.py", "scripts", "benchmarks")
DOCS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs")
NOT_READ = ("docs/glossary.md",)
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
SNIPPETS = re.compile(r"`[^`]*`|\]\([^)]*\)|<[^>]*>|https?://\S+")
COUNTS = "# How often each still stands, by file; `make words` writes all below this line.\n[counts]\n"
Counts = dict[str, dict[str, int]]


class Hit(NamedTuple):
    """A word outside the glossary: its kind, its place, the text around it, and the word to use."""

    kind: str
    file: str
    line: int
    text: str
    use: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind} ({self.text!r}); use {self.use}"


class Rules(NamedTuple):
    """Words to replace, by place, and words that cannot be a whole public name, by kind."""

    instead: dict[str, dict[str, str]]
    alone: dict[str, str]
    ending: str
    use: str
    exceptions: dict[str, dict[str, str]]  # by file: why a word stays, by its kind

    @classmethod
    def parse(cls, table: dict[str, Any]) -> "Rules":
        """Return the rules of the TOML file."""
        instead: dict[str, dict[str, str]] = {"names": {}, "screens": {}, "docs": {}}
        for forms, indices, use in table["words"]:
            for index in indices.split():
                instead[index] |= dict.fromkeys(forms.split("/"), use)
        alone, names = table["alone"], ("participles", "prepositions", "pronouns")
        kinds = dict.fromkeys(alone["but"].split(), "")
        kinds |= {word: kind[:-1] for kind in names for word in alone[kind].split()}
        return cls(instead, kinds, alone["ending"], alone["use"], table.get("fixed", {}))

    def lonely(self, name: str) -> str:
        """Return the kind of word that a whole public name is, if that is forbidden; else ""."""
        word = name.lower()
        return self.alone.get(word, "participle" if re.fullmatch(rf"[a-z]+{self.ending}", word) else "")

    def find_words(self, kind: str, text: str) -> Iterator[tuple[str, str]]:
        """Yield the forbidden words in a text and their replacements, for a place `kind`."""
        known = self.instead[kind]
        if kind == "names":
            words = (part.lower() for part in PARTS.findall(text))
            yield from ((word, known[word]) for word in words if word in known)
        else:
            for match in pattern(tuple(known)).finditer(text):
                yield match[0].lower(), known[match[0].lower()]


@cache
def pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a regular expression for any of these words, whole."""
    return re.compile(rf"\b({'|'.join(map(re.escape, words))})\b", re.IGNORECASE)


def names(tree: ast.Module) -> Iterator[tuple[str, int, bool, bool]]:
    """Yield each name that a file defines: name, line, whether it is public, whether a method."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, True)]
    while waiting:
        node, outside = waiting.pop()
        for child in ast.iter_child_nodes(node):
            defines = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if defines:
                yield child.name, child.lineno, outside, isinstance(node, ast.ClassDef)
            elif isinstance(child, ast.arg):
                yield child.arg, child.lineno, False, False
            elif isinstance(child, ast.Name | ast.Attribute) and isinstance(child.ctx, ast.Store):
                name = child.id if isinstance(child, ast.Name) else child.attr
                yield name, child.lineno, outside and isinstance(node, ast.AnnAssign) and not name.isupper(), False
            waiting.append((child, outside and not (defines and not isinstance(child, ast.ClassDef))))


def kinds(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names of the classes and types that a module defines, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name, node.lineno
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
            target = node.targets[0]
        elif isinstance(node, ast.AnnAssign) and getattr(node.annotation, "id", "") == "TypeAlias":
            target = node.target
        else:
            continue
        if isinstance(target, ast.Name) and re.fullmatch(r"[A-Z]\w*[a-z]\w*", target.id):
            yield target.id, node.lineno


def of_code(file: str, tree: ast.Module, rules: Rules, methods: set[str]) -> Iterator[Hit]:
    """Yield the hits in names and messages of a source file.

    A method that overrides one seen before, in `methods`, may keep its name.
    """
    for name, line, public, method in [(Path(file).stem, 1, True, False), *names(tree)]:
        if method and name in methods:
            continue
        methods |= {name} if method else set()
        for word, use in rules.find_words("names", name):
            yield Hit(f"{word} in names", file, line, name, use)
        if public and (kind := rules.lonely(name)):
            yield Hit(f"{name} alone", file, line, f"a {kind}", rules.use)
    for line, text in messages(tree):
        for word, use in (
            pair for part in ([text] if isinstance(text, str) else text) for pair in rules.find_words("screens", part)
        ):
            yield Hit(f"{word} on screens", file, line, str(text), use)


def of_table(file: str, root: Path, rules: Rules) -> Iterator[Hit]:
    """Yield the hits in the messages of a TOML table."""
    text = (root / file).read_text(encoding="utf-8")
    for message in table_texts(read_toml(root / file), TABLES[file]):
        for word, use in rules.find_words("screens", message):
            line = 1 + text.count("\n", 0, max(text.find(message[:40]), 0))
            yield Hit(f"{word} on screens", file, line, message, use)


def of_document(file: str, text: str, rules: Rules) -> Iterator[Hit]:
    """Yield the hits in a document outside of its code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        for word, use in () if fenced else rules.find_words("docs", SNIPPETS.sub(" ", line)):
            yield Hit(f"{word} in docs", file, number, line.strip(), use)


def doubles(indices: dict[str, list[tuple[str, int]]]) -> Iterator[Hit]:
    """Yield a hit for each class or type name that several modules define."""
    for name, found in indices.items():
        for file, line in found if len(found) > 1 else ():
            others = ", ".join(sorted({other for other, _ in found} - {file})) or file
            yield Hit(f"{name} twice", file, line, name, f"a name that says which of them: {others} has one, too")


def hits(root: Path, rules: Rules) -> list[Hit]:
    """Return all hits in a tree."""
    found: list[Hit] = []
    defined: dict[str, list[tuple[str, int]]] = {}
    methods: set[str] = set()
    for path in sorted(path for folder in CODE for path in python_files(root / folder)):
        file, tree = path.relative_to(root).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        found += of_code(file, tree, rules, methods)
        if file.startswith("dpcore/"):
            for name, line in kinds(tree):
                defined.setdefault(name, []).append((file, line))
    for file in filter(lambda file: (root / file).exists(), TABLES):
        found += of_table(file, root, rules)
    for path in sorted(path for kind in DOCS for path in [root / kind, *(root / kind).rglob("*.md")] if path.is_file()):
        file = path.relative_to(root).as_posix()
        if file not in NOT_READ:
            found += of_document(file, path.read_text(encoding="utf-8"), rules)
    return [hit for hit in (*found, *doubles(defined)) if hit.kind not in rules.exceptions.get(hit.file, {})]


def python_files(path: Path) -> list[Path]:
    """Return a file, or the Python files in a folder."""
    return [path] if path.is_file() else [*path.rglob("*.py")]


def count(found: list[Hit]) -> Counts:
    """Return the number of hits by file and kind."""
    counts: Counts = {}
    for hit in found:
        in_file = counts.setdefault(hit.file, Counter())
        in_file[hit.kind] += 1
    return counts


def totals(counts: Counts) -> Counter[str]:
    """Return the number of hits by kind in all files."""
    return sum((Counter(in_file) for in_file in counts.values()), Counter())


def rises(found: list[Hit], recorded: Counts) -> list[str]:
    """Return a line for each hit of a kind that became more frequent."""
    counts, allowed = count(found), totals(recorded)
    wrong = []
    for kind, n in sorted(totals(counts).items()):
        if n > allowed[kind]:
            before = {file: in_file.get(kind, 0) for file, in_file in recorded.items()}
            new = {file for file, in_file in counts.items() if in_file[kind] > before.get(file, 0)}
            wrong += [
                f"{hit}; {n - allowed[kind]} of the {counts[hit.file][kind]} in this file must go"
                for hit in found
                if hit.kind == kind and hit.file in new
            ]
    return wrong


def falls(found: list[Hit], recorded: Counts) -> list[str]:
    """Return the files whose counts differ from the recorded ones."""
    counts = count(found)
    return sorted(file for file in counts.keys() | recorded.keys() if counts.get(file) != recorded.get(file))


def render(found: list[Hit], recorded: Counts) -> str:
    """Return the counts as text for the TOML file; kinds that rose keep their old counts."""
    counts, allowed, rows = count(found), totals(recorded), []
    more = {kind for kind, n in totals(counts).items() if n > allowed[kind]}
    for file in sorted(counts.keys() | recorded.keys()):
        now = {kind: n for kind, n in counts.get(file, {}).items() if kind not in more}
        now |= {kind: n for kind, n in recorded.get(file, {}).items() if kind in more}
        if now:
            rows.append(
                f'"{file}" = {{ {", ".join(f"{json.dumps(kind)} = {n}" for kind, n in sorted(now.items()))} }}\n'
            )
    return COUNTS + "".join(rows)


def main(arguments: list[str] | None = None) -> int:
    """List new hits and write down counts that fell; return 1 for new hits or stale counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("word", nargs="?", help="only list the places of this word")
    parser.add_argument("--check", action="store_true", help="change nothing")
    chosen = parser.parse_args(arguments)
    text = FILE.read_text(encoding="utf-8")
    if "<<<<<<<" in text:
        raise SystemExit(
            "glossary.toml has two versions: `git checkout --ours scripts/glossary.toml`, then `make words`."
        )
    table = tomllib.loads(text)
    found, recorded = hits(ROOT, Rules.parse(table)), table.get("counts", {})
    if chosen.word:
        print(*(hit for hit in found if hit.kind.startswith(f"{chosen.word} ")), sep="\n")
        return 0
    wrong, stale = rises(found, recorded), falls(found, recorded)
    print(*wrong, sep="\n")
    if not chosen.check:
        FILE.write_text(text.partition(COUNTS)[0] + render(found, recorded), encoding="utf-8")
    elif stale:
        print("Not written down:", *stale, sep="\n  ")
    print(f"{len(found):,} words stand that should not, {len(wrong)} may be new")
    return int(bool(wrong or (chosen.check and stale)))


if __name__ == "__main__":
    sys.exit(main())

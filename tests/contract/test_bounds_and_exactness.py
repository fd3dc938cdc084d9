"""What texts may claim: a bound is what a run can cost at most, and "exact" is said of exactly sampled noise alone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.pofile import read_po

from dpcore.language import FOLDER

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "SECURITY.md", "docs/architecture.md", "docs/start.md", "docs/teaching.md"]

# By kind: what texts may not say, and a sentence that they once had. What is bounded *can* cost something.
KINDS = {
    "a cost as a fact": (
        r"(?<!can )(?<!cannot )(?<!could )(?<!no )(?<!the )\bcosts? (?!nothing|no epsilon|at most|of |add up"
        r"|much more noise|in accuracy|apart|that divisions|and saves)",
        "As printed (dashed) it costs thousands of times as much, and learns less.",
    ),
    "what it really cost": (
        r"\bwhat (it|they|the noise alone|those as printed|that) costs?\b(?! that)|what we can prove that it costs"
        r"|says that the run costs|the price would|true price|not the price|really (bought|costs?|guarantees|worth)",
        "`epsilon_claimed`: what the source says that the run costs;",
    ),
    "a bound as what was spent": (
        r"proved thousands|knows to be spent|[Ww]hat was spent|total epsilon \{|Spent on them|spends the same"
        r"|are spent\.|(you|session) spent|stays spent|[Nn]othing was spent",
        "The price of a run as printed: claimed 1, proved thousands",
    ),
    "not proved as refuted": (
        r"less is proved than is claimed|\{claimed\}, which does not hold|real epsilon lies|is leaked",
        "so less is proved than is claimed; one level is not enough to show it.",
    ),
    "no noise as exact": (
        r"\b[Ee]xact (answers?|averages|counts?|entropies|figures|model|numbers?|trees)\b|\bcounts are exact\b",
        "All counts are exact: this is the reference without privacy.",
    ),
    "exact noise": (
        r"^Exact (\(|discrete)|\b[Ee]xact (discrete )?noise\b|it is exact: |\bnoise is\s+exact\b",
        "teaching-grade floating-point noise; make the release with exact noise before you publish it.",
    ),
}


def texts() -> Iterator[tuple[str, str]]:
    """What people read, and where: screens, what files and commands say, README and documentation."""
    with (FOLDER / "zh" / "LC_MESSAGES" / "dpcore.po").open("rb") as file:
        catalog = read_po(file, locale="zh")
    for message in catalog:
        yield from (("screen", text) for text in ([message.id] if isinstance(message.id, str) else message.id))
    for folder in ("dashboard", "export", "experiment"):
        for source in (ROOT / "dpcore" / folder).rglob("*.py"):
            yield from ((source.name, text) for text in strings(source.read_text(encoding="utf-8")))
    for page in (*(ROOT / name for name in PAGES), *(ROOT / "docs" / "howto").glob("*.md")):
        yield from ((page.name, " ".join(part.split())) for part in page.read_text(encoding="utf-8").split("\n\n"))


def strings(source: str) -> Iterator[str]:
    """The texts of a source file but for its docstrings; of an f-string, the parts between values."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_no_text_says_more_than_is_known(parsed_once) -> None:
    """Nor is a rule blind: it finds what texts once said."""
    found = list(texts())
    assert len(found) > 4_000
    for rule, once in KINDS.values():
        assert re.search(rule, once)
        assert [(place, text) for place, text in found if re.search(rule, text)] == []

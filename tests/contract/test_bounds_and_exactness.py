"""What texts may claim: a bound is what a run can cost at most, and "exact" is said of exactly sampled noise alone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.pofile import read_po

from dpcore.door.table import PrivateTable
from dpcore.export.release import Release
from dpcore.language import FOLDER
from dpcore.mechanisms import noise

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    "SECURITY.md",
    "docs/architecture.md",
    "docs/start.md",
    "docs/teaching.md",
    "docs/methods/index.md",
)

# By kind: what texts may not say, and sentences that they once had.
KINDS = {
    # What is bounded, and no more, something *can* cost. What costs accuracy, or nothing, is no bound.
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
        "It draws new noise, gives another release, and spends the same epsilon again.",
    ),
    "not proved as refuted": (
        r"less is proved than is claimed|\{claimed\}, which does not hold|real epsilon lies|is leaked",
        "so less is proved than is claimed; one level is not enough to show it.",
    ),
    "protection as a fact": (
        r"[Nn]one of them is a person|nothing is protected|as little protection|less protection|several times less"
        r"|protected so many times less|provably protect|not private\s+at all|protects nobody",
        "The first {first} of {rows:,} synthetic rows. None of them is a person.",
    ),
    "a cost as a fact, in Chinese": (
        r"(?<![能多])花费 ?(\{(spent|n)|ε = |\*\*|k |一份)|实际花费|合计花费(的|正)|逐次运行的花费|次运行花费的下界"
        r"|真正的 ε|真实代价|代价(是几千倍|就是|都是)|至少泄露|花费(了多少|过什么)|(还没有|已|以前的|会话的)花费",
        "在 {sure}% 置信度下，这次运行至少花费 ε = {least}，而声称的是 {claimed}。",
    ),
    "not proved as refuted, in Chinese": (
        r"但.{0,12}并不成立：可证明|弱于所声称|没有一行对应某个人|没有任何保护|保护(同样薄弱|就更少|的?更少|会成倍)",
        "论文声称 ε 为 {claimed}，但在一个人的取值改变时并不成立：可证明的是 {bound}。",
    ),
    "no noise as exact": (
        r"\b[Ee]xact (answers?|averages|counts?|entropies|figures|model|numbers?|trees)\b|\bcounts are exact\b"
        r"|精确(回答|计数|熵|模型|的树|数字)|计数都是精确的",
        "All counts are exact: this is the reference without privacy.",
    ),
    "exact noise": (
        r"^Exact (\(|discrete)|\b[Ee]xact (discrete )?noise\b|it is exact: |\bnoise is\s+exact\b"
        r"|^精确（|精确(离散)?噪声",
        "teaching-grade floating-point noise; make the release with exact noise before you publish it.",
    ),
}


def texts() -> Iterator[tuple[str, str]]:
    """What people read, and where: screens in both languages, what files and commands say, README and documentation."""
    with (FOLDER / "zh" / "LC_MESSAGES" / "dpcore.po").open("rb") as file:
        catalog = read_po(file, locale="zh")
    for message in catalog:
        for text in (message.id, message.string):
            yield from (("screen", part) for part in ([text] if isinstance(text, str) else text))
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
    assert len(found) > 6_000
    for rule, *once in KINDS.values():
        assert [text for text in once if not re.search(rule, text)] == []
        assert [(place, text) for place, text in found if re.search(rule, text)] == []


def test_what_is_noiseless_is_not_called_exact() -> None:
    sources = [getattr(noise, name) for name in noise.__all__ if isinstance(getattr(noise, name), type)]
    assert [name for name in noise.__all__ if "exact" in name.lower()] == ["ExactNoise", "exactly_sampled"]
    names = [(each.__name__, name) for each in (*sources, PrivateTable, Release) for name in dir(each)]
    assert [name for name in names if "exact" in name[1].lower()] == []
    assert all(hasattr(each, "noiseless") for each in (noise.NumpyNoise, PrivateTable, Release))

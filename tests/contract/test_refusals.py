"""Test that errors and texts reveal no number of the rows, and overstate no bound."""

import ast
import pickle
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from babel.messages.pofile import read_po

import dpcore as dp
from dpcore.audit.cases import own_row
from dpcore.datasets import reading
from dpcore.domain.column import Column
from dpcore.errors import DPCoreError
from dpcore.experiment import commands
from dpcore.language import FOLDER

pytestmark = pytest.mark.usefixtures("parsed_once")
ROOT = Path(__file__).resolve().parents[2]
NUMBER = Column(name="n", kind="integer", lower=0, upper=9, bins=5)
WORDS = Column(name="w", kind="categorical", categories=("a", "b"))
SCHEMA = dp.Schema(columns=(NUMBER,))
FEW, MORE = 3, 12
read_frame = partial(reading.read_frame, trusted=True)  # in this process
# What may stand in a refusal, as it is public: limits, headers, and numbers of files and of persons under replace.
PUBLIC = {
    "limit / 2 ** 20", "max_bytes / 2 ** 20", "len(members)", "len(lacking) - 1", "self.max_contributions",
    "len(n_rows)", "max(MOST_KEPT_ROWS // len(n_rows), 1)",
}  # fmt: skip


def encoding(column: Column, wrong: object, right: object) -> Callable[[int], object]:
    """Return a function that encodes a column with a given number of wrong cells."""
    return lambda some: column.encode(pd.Series([wrong] * some + [right] * 9, dtype=object))


CASES: dict[str, Callable[[int], object]] = {
    "not numbers": encoding(NUMBER, "x", 1),
    "beyond bounds": encoding(NUMBER, 50, 1),
    "unknown categories": encoding(WORDS, "c", "a"),
    "a line's cells": lambda some: read_frame(b"a,b\n" + b"1,2\n" * some + b"3\n"),
    "a person's row": lambda some: own_row(
        dp.methods.PrivBayes(), SCHEMA, pd.DataFrame({"n": [1] * some}), 99, "add_remove"
    ),
}


def raised(work: Callable[[int], object], some: int) -> DPCoreError:
    with pytest.raises(DPCoreError) as caught:
        work(some)
    return caught.value


@pytest.mark.parametrize("case", CASES)
def test_errors_do_not_depend_on_counts_of_rows_except_on_the_screen(case):
    few, more = (raised(CASES[case], some) for some in (FEW, MORE))
    assert str(few) == str(more)
    assert repr(few) == repr(more)
    assert few.private != more.private
    assert few.private not in f"{few} {few!r} {few.args}"
    assert re.search(r"\d", few.private)
    again = pickle.loads(pickle.dumps(few))  # as it comes from another process
    assert (str(again), again.private) == (str(few), few.private)


def test_errors_of_encoding_to_a_folder_do_not_depend_on_counts(tmp_path):
    def encode(some: int) -> None:
        pq.write_table(pa.table({"n": [50] * some + [1]}), tmp_path / "table.parquet")
        dp.encode(tmp_path / "table.parquet", tmp_path / "codes", schema=SCHEMA)

    few, more = (raised(encode, some) for some in (FEW, MORE))
    assert str(few) == str(more)
    assert few.private == "3 cells of column 'n' lie outside the declared bounds 0 to 9."


def test_commands_write_no_count_of_rows(capsys, monkeypatch):
    monkeypatch.setattr("dpcore.experiment.commands.schema.make", lambda _: encoding(NUMBER, 50, 1)(133))
    assert commands.main("schema", ["people.csv"]) == 1
    assert "133" not in capsys.readouterr().err


def numbers_told(source: str) -> Iterator[tuple[int, str]]:
    """Return the numbers that DataErrors format into their cause or remedy."""
    for clique in ast.walk(ast.parse(source)) if "DataError(" in source else ():
        if not isinstance(clique, ast.FunctionDef):
            continue
        stores = [node for node in ast.walk(clique) if isinstance(node, ast.Assign)]
        named = {target.id: node.value for node in stores for target in node.targets if hasattr(target, "id")}
        for call in ast.walk(clique):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "DataError":
                for given in call.args[:2]:
                    text = named.get(given.id, given) if isinstance(given, ast.Name) else given
                    yield from ((call.lineno, field) for field in fields(text))


def fields(text: ast.AST) -> Iterator[str]:
    """Return formatted numbers and lengths that are neither public nor constant."""
    for node in ast.walk(text):
        if isinstance(node, ast.FormattedValue):
            value = ast.unparse(node.value)
            names = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            if (node.format_spec or "len(" in value) and value not in PUBLIC and not all(map(str.isupper, names)):
                yield value
        elif isinstance(node, ast.Constant) and re.search(r"\{\w+:", str(node.value)):  # for `say`, or `str.format`
            yield str(node.value)


def test_no_refusal_of_data_formats_a_number_of_the_rows():
    files = [*(ROOT / "dpcore").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    found = [(path.name, *one) for path in files for one in numbers_told(path.read_text(encoding="utf-8"))]
    assert found == []
    for planted in (
        'raise DataError("Some cells lie outside.", f"Leave out {len(rows)} rows.")',
        'cause = f"{far:,} cells"\n    raise DataError(cause, "Widen.")',
        'return DataError(say("It has {rows:,} rows.", rows=found.rows), "Widen.")',
    ):
        assert len(list(numbers_told(f"def f():\n    {planted}"))) == 1, planted
    private = 'raise DataError("Some lie outside.", "Widen.", f"{far:,} lie outside.")'
    assert not list(numbers_told(f"def f():\n    {private}"))


PAGES = ["README.md", "SECURITY.md", "docs/architecture.md", "docs/start.md", "docs/teaching.md"]

# By kind: what texts may not say, and a sentence that they once had. What is bounded *can* cost something.
KINDS = {
    "a cost as a fact": (
        r"(?<!can )(?<!cannot )(?<!could )(?<!no )(?<!the )(?<!of )(?<!mean )\bcosts? "
        r"(?!nothing|no epsilon|at most|of |add up|much more noise|in accuracy|apart|that divisions|and saves)",
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
    """Return the texts that people read: screens, files, commands, README and documentation."""
    with (FOLDER / "zh" / "LC_MESSAGES" / "dpcore.po").open("rb") as file:
        catalog = read_po(file, locale="zh")
    for message in catalog:
        yield from (("screen", text) for text in ([message.id] if isinstance(message.id, str) else message.id))
    for folder in ("dashboard", "export", "experiment"):
        for source in (ROOT / "dpcore" / folder).rglob("*.py"):
            yield from ((source.name, text) for text in strings(source.read_text(encoding="utf-8")))
    tables = (table for table in (ROOT / "dpcore").rglob("*.toml") if table.stem != "former_names")  # said no more
    for page in (*(ROOT / name for name in PAGES), *(ROOT / "docs" / "howto").glob("*.md"), *tables):
        yield from ((page.name, " ".join(part.split())) for part in page.read_text(encoding="utf-8").split("\n\n"))


def strings(source: str) -> Iterator[str]:
    """Return the texts of a source file without docstrings; of f-strings, the constant parts."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_no_text_overstates_a_bound(parsed_once) -> None:
    """Each rule finds an earlier text of this project."""
    found = list(texts())
    assert len(found) > 4_000
    for rule, once in KINDS.values():
        assert re.search(rule, once)
        assert [(index, text) for index, text in found if re.search(rule, text)] == []

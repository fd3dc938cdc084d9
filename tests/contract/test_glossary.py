"""Test the word gate: words outside the glossary may only become less frequent."""

import ast
import tomllib
from collections import Counter

import pytest

from scripts import glossary

pytestmark = pytest.mark.usefixtures("parsed_once")
RULES = glossary.Rules.parse(tomllib.loads(glossary.FILE.read_text(encoding="utf-8")))


@pytest.mark.listed
def test_no_word_outside_the_glossary_becomes_more_frequent(capsys):
    wrong, said = glossary.main(["--check"]), capsys.readouterr().out
    assert not wrong, f"Words are not those of scripts/glossary.toml; `make words` writes down what fell.\n{said}"


CODE = [
    ("class ToldBy: ...", "told in names", "describe"),
    ("class A:\n    of: int", "of alone", "a verb or a noun"),
    ("raise ParameterError(f'{x} is not in the books', 'Remedy')", "books on screens", "the ledger"),
]
NO_ALARM = [
    "def notebook_list(): ...\ndef _held(): ...",
    "say('A lot of rows; it takes place, and cuts costs')",
    "x = told(asked)",
    "class Majority(Score):\n    def asked(self): ...",  # as the base class has it
]


def test_words_are_found_in_code_and_outside_of_it_in_documents_but_not_ordinary_english():
    for source, kind, use in CODE:
        (hit,) = glossary.of_code("dpcore/door/door.py", ast.parse(source), RULES, set())
        assert hit.kind == kind
        assert use in hit.use
    for source in NO_ALARM:
        assert [*glossary.of_code("dpcore/door/door.py", ast.parse(source), RULES, {"asked"})] == []
    text = "It is drawn by lot.\n```\nby lot\n```\n`by lot` [x](by lot)\nA lot of them pays off."
    found = Counter(hit.kind for hit in glossary.of_document("README.md", text, RULES))
    assert found == {"by lot in docs": 1, "pays in docs": 1}


def test_a_rise_names_the_place_the_word_to_use_and_a_class_name_that_is_there_twice(tmp_path, monkeypatch, capsys):
    package, file = tmp_path / "dpcore", tmp_path / "glossary.toml"
    package.mkdir()
    (package / "draw.py").write_text("def told_of(): ...\n\n\nclass Rows: ...\n")
    rules = glossary.FILE.read_text(encoding="utf-8").partition(glossary.COUNTS)[0]
    file.write_text(f'{rules}{glossary.COUNTS}"dpcore/draw.py" = {{ "told in names" = 1 }}\n', encoding="utf-8")
    monkeypatch.setattr(glossary, "FILE", file)
    monkeypatch.setattr(glossary, "ROOT", tmp_path)
    assert glossary.main(["--check"]) == 0
    (package / "noise.py").write_text("Rows = list[int]\n\n\ndef told_again(): ...\n")
    assert glossary.main([]) == 1
    said = capsys.readouterr().out
    assert "dpcore/noise.py:4: told in names ('told_again'); use describe" in said
    assert "dpcore/noise.py:1: Rows twice" in said
    (package / "noise.py").unlink()
    (package / "draw.py").rename(package / "door.py")
    assert glossary.main(["--check"]) == 1  # it moved, which is written down
    assert glossary.main([]) == 0
    assert tomllib.loads(file.read_text("utf-8"))["counts"] == {"dpcore/door.py": {"told in names": 1}}

"""What screens say, and its translations."""

import ast
import re

import pytest

from dpcore.audit import bound
from dpcore.language import FOLDER, plural, retold, say, speaking, spoken
from scripts import words

CODE = FOLDER.parent
SPACED = re.compile(r"([\d})…”] %(?!\()|%d %%)")  # "%(" would be a value's name


def test_catalogs_say_all_that_the_code_says(capsys):
    assert words.main(["--check"]) == 0, capsys.readouterr().out


def test_percent_is_written_as_axes_write_it():
    """Without a space, but in names of the ledger's entries, which stay, and in what a person's file may write."""
    files = [file for file in CODE.rglob("*.py") if file.relative_to(CODE).parts[0] not in ("door", "domain")]
    texts = [(file.name, text) for file in files for text in strings(file.read_text(encoding="utf-8"))]
    texts += [(file.name, file.read_text(encoding="utf-8")) for file in CODE.rglob("*.po")]
    assert len(texts) > 2_000
    assert not [(name, text) for name, text in texts if SPACED.search(text)]
    assert strings('f"{x} % of"; "no %"') == ["{} % of", "no %"]


def strings(source: str) -> list[str]:
    """All texts of a source file, with braces where values stand."""
    found, parts = [], set()
    for node in ast.walk(ast.parse(source)):  # an f-string comes before its parts
        if isinstance(node, ast.JoinedStr):
            parts |= {id(part) for part in node.values}
            found.append("".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            found.append(node.value)
    return found


def test_english_is_what_the_code_says_and_values_stand_in_braces():
    assert spoken() == "en"
    assert say("{share:.0%} of {what}", share=0.5, what="all {it}") == "50% of all {it}"
    assert [plural("{n:,} row", "{n:,} rows", n) for n in (1, 2_000)] == ["1 row", "2,000 rows"]


def test_another_language_for_a_while():
    with speaking("zh"):
        assert say("Home") == "首页"
        assert plural("{n:,} release", "{n:,} releases", 1) == plural("{n:,} release", "{n:,} releases", 1, more=0)
        assert retold(bound.RUNS.format(run=1_860, trials=2_000)) == "每个世界第 1,860 次，共 2,000 次"
        assert say("nobody translated this") == "nobody translated this"
    assert say("Home") == "Home"


def test_every_call_is_read_those_in_f_strings_too():
    source = """
say("one")
f"{say('two')} {plural('{n} three', '{n} threes', 3)}"
LATER = phrase("four" " and five")
tooltips("field|six|.2%", "field|seven")
Step("page", "Eight, a sentence", act=Act("Nine"))
x.say("not ours")
"""
    found = ["one", "two", ("{n} three", "{n} threes"), "four and five", "six", "seven", "Eight, a sentence", "Nine"]
    assert set(words.texts(source)) == set(found)


@pytest.mark.parametrize(
    ("english", "chinese"),
    [("{n} of {all}", "{n}"), ("**bold** word", "粗体"), ("**bold**: a word", "**粗体。**字"), ("here", "")],
)
def test_faulty_translations_are_found(english, chinese):
    catalog = words.Catalog("zh")
    catalog.add(english, chinese)
    assert len(list(words.faults(catalog))) == 1

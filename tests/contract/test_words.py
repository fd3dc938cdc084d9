"""What screens say, and its translations."""

import pytest

from dpcore.language import plural, say, speaking, spoken
from scripts import words


def test_catalogs_say_all_that_the_code_says(capsys):
    assert words.main(["--check"]) == 0, capsys.readouterr().out


def test_english_is_what_the_code_says_and_values_stand_in_braces():
    assert spoken() == "en"
    assert say("{share:.0%} of {what}", share=0.5, what="all {it}") == "50% of all {it}"
    assert [plural("{n:,} row", "{n:,} rows", n) for n in (1, 2_000)] == ["1 row", "2,000 rows"]


def test_another_language_for_a_while():
    with speaking("zh"):
        assert say("Home") == "首页"
        assert plural("{n:,} release", "{n:,} releases", 1) == plural("{n:,} release", "{n:,} releases", 1, more=0)
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

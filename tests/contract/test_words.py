"""Test the collected messages of screens and their translations."""

import gettext
import io
import re

import pytest

from dpcore.audit import bound
from dpcore.dashboard.lesson_plans import LESSONS
from dpcore.language import current_language, plural, retold, say, use_language
from scripts import words

pytestmark = pytest.mark.usefixtures("parsed_once")


@pytest.mark.listed
def test_translations_are_sound_and_lessons_have_theirs():
    """Other missing translations are allowed until a release."""
    blocking = words.blockers()
    assert not blocking, "\n".join(blocking)


@pytest.fixture
def catalog(tmp_path, monkeypatch):
    """Return a small code of three messages and its catalog; one message is a lesson's."""
    lesson, plain, counted = "Press Run.", "Another text", ("{n} row", "{n} rows")

    def say_now(*texts):
        wanted = words.Catalog()
        for text in texts:
            wanted.add(text)
        monkeypatch.setattr(words, "code_messages", lambda: wanted)

    monkeypatch.setattr(words, "path_of", lambda language: tmp_path / f"{language}.po")
    monkeypatch.setattr(words, "ROOT", tmp_path)
    monkeypatch.setattr(words, "lesson_texts", lambda: {lesson})
    made = words.Catalog("zh")
    for text, chinese in ((lesson, "请点击运行。"), (plain, "另一段文字"), (counted, ("{n} 行",))):
        made.add(text, chinese)
    words.save("zh", made)
    say_now(lesson, plain, counted)
    assert words.main(["--check"]) == 0
    return say_now


def test_a_new_text_blocks_no_change_but_a_release(catalog, capsys):
    catalog("Press Run.", "New", ("{n} row", "{n} rows"), ("{n} new", "{n} new ones"))
    assert words.blockers() == []
    assert (words.main(["--gaps"]), words.main(["--check"])) == (0, 1)
    said = capsys.readouterr().out
    assert "not translated: 'New'" in said
    assert "not translated: '{n} new ones'" in said
    assert "not said any more: 'Another text'" in said
    assert words.main([]) == 0
    translations = gettext.GNUTranslations(io.BytesIO(words.path_of("zh").with_suffix(".mo").read_bytes()))
    assert [translations.gettext(text) for text in ("Press Run.", "New")] == ["请点击运行。", "New"]
    assert translations.ngettext("{n} new", "{n} new ones", 2) == "{n} new ones"
    assert translations.ngettext("{n} row", "{n} rows", 2) == "{n} 行"


def test_untranslated_lessons_and_stale_compiled_files_block_a_change(catalog, monkeypatch):
    catalog("Press Go.")
    monkeypatch.setattr(words, "lesson_texts", lambda: {"Press Go."})
    (blocker,) = words.blockers()
    assert "'Press Go.': fill in its msgstr in " in blocker
    monkeypatch.setattr(words, "lesson_texts", set)
    words.path_of("zh").with_suffix(".mo").write_bytes(b"")
    assert words.blockers() == ["zh.mo is not what its .po says: run `make texts`"]


def test_a_translation_is_carried_over_to_a_text_that_says_the_same(catalog, capsys):
    catalog("Press Run.", "A better text", "A {value}")
    assert words.main(["--carry", "Another text", "A {value}"]) == 1
    assert "does not fit the new text" in capsys.readouterr().out
    assert words.main(["--carry", "Another text", "A better text"]) == 0
    assert words.read("zh").get("A better text").string == "另一段文字"


def test_the_lesson_path_has_the_lessons_their_pages_and_sections():
    found = words.lesson_texts()
    assert {LESSONS["epsilon"].title, LESSONS["price"].steps[1].result, LESSONS["attacks"].question} <= found
    assert {"Linkage", "Floating point"} <= found


def test_english_is_the_default_language_and_can_be_forced():
    assert current_language() == "en"
    assert say("{share:.0%} of {what}", share=0.5, what="all {it}") == "50% of all {it}"
    assert [plural("{n:,} row", "{n:,} rows", n) for n in (1, 2_000)] == ["1 row", "2,000 rows"]
    with use_language("zh"):
        assert say("Data") == "数据"
        assert plural("{n:,} release", "{n:,} releases", 1) == plural("{n:,} release", "{n:,} releases", 1, more=0)
        assert retold(bound.RUNS.format(run=1_860, trials=2_000)) == "在两个数据集上各运行第 1,860 次，共 2,000 次"
        assert say("nobody translated this") == "nobody translated this"
    assert say("Data") == "Data"


def test_messages_of_every_call_are_collected_also_in_f_strings():
    source = """
say("one")
f"{say('two')} {plural('{n} three', '{n} threes', 3)}"
LATER = phrase("four" " and five")
tooltips("field|six|.2%", "field|seven")
Demonstration("page", "Eight, a sentence", shown=Preset("Nine"))
x.say("not ours")
"""
    found = ["one", "two", ("{n} three", "{n} threes"), "four and five", "six", "seven", "Eight, a sentence", "Nine"]
    assert set(words.texts(source)) == set(found)
    code = "\n".join(path.read_text(encoding="utf-8") for path in words.FOLDER.parent.rglob("*.py"))
    assert all(re.search(rf"(class|def) {name}\b", code) for name in words.DECLARED)  # by their names of today


def test_faulty_translations_are_found():
    catalog = words.Catalog("zh")
    wrong = {"{n} of {all}": "{n}", "**bold** word": "粗体", "**bold**: a word": "**粗体。**字", "**a**": "：** 字**"}
    for text, translated in wrong.items():
        catalog.add(text, translated)
    assert len(list(words.faults(catalog))) == 4

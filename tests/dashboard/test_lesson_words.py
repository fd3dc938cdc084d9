"""What a lesson's words name in bold has, in every language, the name that the screen has."""

import re

import pytest

from dpcore.dashboard.lesson_plans import LESSONS
from dpcore.language import LANGUAGES, say, speaking


@pytest.mark.parametrize("language", LANGUAGES)
def test_bold_words_are_what_the_screen_says(language):
    steps = [step for lesson in LESSONS.values() for step in lesson.steps]
    with speaking(language):
        for text in filter(None, (text for step in steps for text in (step.text, step.after))):
            names, spoken = (re.findall(r"\*\*(.+?)\*\*", told) for told in (text, say(text)))
            assert len(spoken) == len(names), text
            assert {say(name) for name in names if say(name) != name} <= {*spoken}, text

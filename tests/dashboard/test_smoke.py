"""Every page can be drawn, and lessons name what screens show; see also tests/app."""

import re
from pathlib import Path

import pytest
from altair.utils import schemapi
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.lesson_plans import LESSONS
from dpcore.dashboard.shell import TITLES
from dpcore.language import LANGUAGES, say, use_language


@pytest.mark.parametrize("page", TITLES)
def test_every_page_can_be_drawn_alone(page: str, monkeypatch) -> None:
    monkeypatch.setattr(schemapi, "DEBUG_MODE", False)  # other tests check the charts
    at = AppTest.from_file(Path(__file__).parents[2] / "pages" / f"{page}.py", default_timeout=600).run()
    assert not at.exception, [(each.message, list(each.stack_trace)) for each in at.exception]
    assert not at.error
    assert len(at.title) == 1
    assert at.sidebar.markdown[0].value.startswith("**sample**")
    assert not at.session_state.get("dpcore.accounts", {})  # no query was made


@pytest.mark.parametrize("language", LANGUAGES)
def test_bold_words_are_what_the_screen_says(language):
    steps = [step for lesson in LESSONS.values() for step in lesson.steps]
    with use_language(language):
        for text in filter(None, (text for step in steps for text in (step.text, step.result))):
            names, spoken = (re.findall(r"\*\*(.+?)\*\*", words) for words in (text, say(text)))
            assert len(spoken) == len(names), text
            assert {say(name) for name in names if say(name) != name} <= {*spoken}, text

"""The lessons: every step opens its page with its settings, says what to do, and what it says to press is there."""

import re

import pytest
from driving import change, opened, press, run, started
from screen import elements, errors, said
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.lesson_plans import LESSONS


def begun(name: str) -> AppTest:
    return press(started(), f"home.lesson.{name}")


def page_of(at: AppTest) -> str:
    return at.session_state["dpcore.page"]


def labels(at: AppTest) -> set[str]:
    """The words on buttons and tabs, and on what can be chosen."""
    found = {getattr(element, "label", "") for element in elements(at)}
    for element in elements(at):
        found |= set(map(str, getattr(element, "options", [])))
    return found


def control(settings: dict, page: str, at: AppTest) -> dict:
    parts = at.session_state.get(f"dpcore.settings:{page}", {})
    now = {name: value for part in parts.values() for name, value in part.items()}
    return {name: now.get(name) for name in settings}


@pytest.mark.parametrize("name", LESSONS)
def test_from_home_to_the_end(name: str) -> None:
    """Every step has its page, its text, its settings, and the buttons and tabs that it names, after a run if told."""
    lesson = LESSONS[name]
    at = begun(name)
    for number, step in enumerate(lesson.steps):
        assert page_of(at) == step.page
        assert f"step {number + 1} of {len(lesson.steps)}" in said(at)
        assert step.text.split("**")[0][:40] in said(at)
        assert control(dict(step.settings), step.page, at) == dict(step.settings)
        assert not [error for error in errors(at) if "What to do" in error]
        assert {button.label for button in at.button} >= {"End the lesson"}
        told = re.findall(r"(?:[Pp]ress|[Oo]pen) \*\*(.+?)\*\*", step.text)
        assert "Run" not in told or "Run" in labels(at)
        if {"Run", "Draw 20 more"} & set(told) and step.page not in ("compare", "audit"):  # have tests of their own
            press(at, f"{step.page}.run")
            assert not [error for error in errors(at) if "What to do" in error]
        if "Draw 20 more" in told:
            at.session_state[f"{step.page}.tab"] = step.tab
            run(at)
        assert set(told) - {"Run"} <= labels(at), step.text
        if number + 1 < len(lesson.steps):
            press(at, "lesson.next")
    press(at, "lesson.end")
    assert at.title[0].value == "See what privacy costs"
    assert not [button for button in at.button if str(button.key).startswith("lesson.")]


def test_a_lesson_uses_the_sample_and_leaves_no_settings_behind() -> None:
    at = begun("price")
    assert at.session_state["dpcore.data"].name == "sample"
    at = press(press(press(at, "lesson.next"), "lesson.next"), "lesson.next")
    assert control({"mode": ""}, "naive_bayes", at) == {"mode": "corrected"}
    press(press(press(at, "lesson.back"), "lesson.back"), "lesson.back")
    assert control({"mode": ""}, "naive_bayes", at) == {"mode": "paper"}
    at = change(press(begun("epsilon"), "lesson.next"), smoothing=2.5)  # which no step sets
    press(at, "lesson.next")
    assert control({"smoothing": 0}, "naive_bayes", at) == {"smoothing": 1.0}


def test_who_wanders_off_is_led_back() -> None:
    at = opened(press(begun("epsilon"), "lesson.next"), "data")
    assert "on another page" in said(at)
    assert "lesson.next" not in {button.key for button in at.button}
    assert page_of(press(at, "lesson.again")) == "naive_bayes"

"""The lessons: every step opens its page with its settings, says what to do, and what it says to press is there."""

import re

import pytest
from driving import elements, errors, opened, press, run, said, started
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.lesson_plans import LESSONS
from dpcore.dashboard.shell import SECTIONS

TITLES = {name: title for entries in SECTIONS.values() for name, title, _ in entries}
STEPS = [(name, number) for name, lesson in LESSONS.items() for number in range(len(lesson.steps))]


def begun(name: str) -> AppTest:
    return press(started(), f"home.lesson.{name}")


def page_of(at: AppTest) -> str:
    return at.session_state["dpcore.page"]


def bold(text: str) -> list[str]:
    """What a step tells to press or to open."""
    return re.findall(r"(?:[Pp]ress|[Oo]pen) \*\*(.+?)\*\*", text)


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
    """Without a run, every step has its page, its text and its settings; the last one leads home."""
    lesson = LESSONS[name]
    at = begun(name)
    for number, step in enumerate(lesson.steps):
        assert page_of(at) == step.page
        assert f"step {number + 1} of {len(lesson.steps)}" in said(at)
        assert step.text.split("**")[0][:40] in said(at)
        assert control(dict(step.settings), step.page, at) == dict(step.settings)
        assert not errors(at)
        assert {button.label for button in at.button} >= {"End the lesson"}
        if number + 1 < len(lesson.steps):
            at = press(at, "lesson.next")
    press(at, "lesson.end")
    assert at.title[0].value == "See what privacy costs"
    assert not [button for button in at.button if str(button.key).startswith("lesson.")]


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_what_a_step_tells_to_press_is_there(name: str, number: int) -> None:
    """Buttons and tabs that a step names exist, after a run where it tells to run."""
    at = begun(name)
    for _ in range(number):
        at = press(at, "lesson.next")
    step = LESSONS[name].steps[number]
    told = bold(step.text)
    if "Run" in told and step.page not in ("compare", "audit"):  # these have tests of their own
        press(at, f"{step.page}.run")
        assert not [error for error in errors(at) if "What to do" in error]
    elif "Draw 20 more" in told:
        press(at, f"{step.page}.run")
        at.session_state[f"{step.page}.tab"] = step.tab
        run(at)
    there = labels(at)
    assert [word for word in told if word not in there and word != "Run"] == []
    assert "Run" not in told or "Run" in there


def test_a_lesson_uses_the_sample_and_leaves_no_settings_behind() -> None:
    at = begun("price")
    assert at.session_state["dpcore.data"].name == "sample"
    at = press(press(press(at, "lesson.next"), "lesson.next"), "lesson.next")
    assert control({"mode": ""}, "naive_bayes", at) == {"mode": "corrected"}
    press(press(press(at, "lesson.back"), "lesson.back"), "lesson.back")
    assert control({"mode": ""}, "naive_bayes", at) == {"mode": "paper"}


def test_who_wanders_off_is_led_back() -> None:
    at = opened(press(begun("epsilon"), "lesson.next"), "data")
    assert "on another page" in said(at)
    assert "lesson.next" not in {button.key for button in at.button}
    assert page_of(press(at, "lesson.again")) == "naive_bayes"


def test_every_claim_of_a_lesson_s_page_is_a_page() -> None:
    assert {step.page for lesson in LESSONS.values() for step in lesson.steps} <= set(TITLES)

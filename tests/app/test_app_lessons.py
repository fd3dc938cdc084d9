"""The lessons: a session in the session, whose steps open with their settings, and which ends as it began."""

from typing import Any

import driving
import pytest
from driving import change, csv, opened, people, released, shown, started, upload
from prepared import PEOPLE, page
from screen import books, dataset, elements, errors, said
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.lesson_plans import LESSONS

WAYS = "lesson."


def begun(name: str, at: AppTest | None = None) -> AppTest:
    return press(started() if at is None else opened(at, "home"), f"home.lesson.{name}")


def page_of(at: AppTest) -> str:
    return at.session_state["dpcore.page"]


def press(at: AppTest, key: str) -> AppTest:
    """Press a button, and stay where it leads."""
    return driving.press(at, key).switch_page(f"pages/{page_of(at)}.py")


def ways(at: AppTest) -> dict[str, str]:
    """The card's buttons: their words by their keys."""
    return {button.key.removeprefix(WAYS): button.label for button in at.button if str(button.key).startswith(WAYS)}


def settings(at: AppTest) -> dict[str, Any]:
    return {key: at.session_state.get(f"naive_bayes.{key}") for key in ("epsilon", "smoothing", "method")}


@pytest.mark.parametrize("name", LESSONS)
def test_every_step_opens_with_its_settings_and_its_button(name: str) -> None:
    lesson = LESSONS[name]
    at = begun(name)
    for number, step in enumerate(lesson.steps):
        assert page_of(at) == step.page
        assert step.text in "\n".join(str(text.value) for text in at.markdown)
        assert {key: at.session_state[f"{step.page}.{key}"] for key in step.settings} == dict(step.settings)
        assert not errors(at)
        if step.action is not None:
            assert step.action.label in {label for key, label in ways(at).items() if key.startswith("do.")}
        press(at, "lesson.end" if number == len(lesson.steps) - 1 else "lesson.next")
    assert at.title[0].value == lesson.title
    assert all(sentence in said(at) for sentence in (*lesson.takeaways, lesson.question))
    press(at, "lesson.home")


def test_a_lesson_has_data_results_and_a_ledger_of_its_own_and_all_is_as_before_when_it_ends() -> None:
    at = released(page(), smoothing=2.5)
    made, ledger, spent, set_to = shown(at), at.session_state["dpcore.books"], books(at), settings(at)
    at = begun("price", at)
    assert dataset(at).name == "sample"
    assert shown(at) is None
    assert settings(at)["method"].endswith("(as published)")
    (act,) = [key for key in ways(at) if key.startswith("do.")]
    press(at, f"{WAYS}{act.partition(':')[0]}")  # the card's one button for what the step does
    assert shown(at) is not None
    assert len(opened(at, "ledger").header) == 1
    at = opened(press(at, "lesson.leave"), "naive_bayes")
    assert dataset(at) is PEOPLE
    assert shown(at) is made
    assert at.session_state["dpcore.books"] is ledger
    assert (books(at), settings(at)) == (spent, set_to)


def test_other_data_end_a_lesson_because_they_belong_into_ones_own_ledger() -> None:
    at = page()
    ledger = at.session_state["dpcore.books"]
    at = begun("epsilon", at)
    assert at.session_state["dpcore.books"] is not ledger
    press(upload(opened(at, "data"), "others.csv", csv(people(60))), "data.use")
    assert dataset(at).name == "others.csv"
    assert not ways(at)
    assert at.session_state["dpcore.books"] is ledger


def test_what_was_made_with_other_settings_says_so() -> None:
    def outdated(at: AppTest) -> bool:
        return any(found.key == "outdated" for found in elements(at))

    at = released(page())
    assert not outdated(at)
    assert outdated(change(at, epsilon=0.5))
    assert not outdated(change(at, epsilon=1.0))
    assert not outdated(released(at, epsilon=0.5))


def test_a_step_begins_without_what_an_earlier_one_set_and_back_leads_there_again() -> None:
    at = press(press(begun("epsilon"), "lesson.next"), "lesson.next")
    change(at, smoothing=2.5)  # which no step sets
    press(at, "lesson.next")
    assert settings(at) == {"epsilon": 0.01, "smoothing": 1.0, "method": "C1-gen: rows drawn from the private model"}
    assert settings(press(at, "lesson.back"))["epsilon"] == 1.0

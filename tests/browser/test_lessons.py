"""Each lesson from Home to its end by its card's one button: what its words name is on the screen, and uncovered."""

import re

import pytest
from playwright.sync_api import Page, expect

from dpcore.dashboard.lesson_plans import LESSONS, LessonStep
from dpcore.dashboard.lessons import target_expression
from scripts.screenshots import settle

pytestmark = pytest.mark.browser

SIZES = ((390, 844), (1366, 768))  # a phone, and the laptop on which the button is pressed
CARD, BUTTON = ".st-key-lesson", ".st-key-lesson [data-testid=stBaseButton-primary]"
MOST, HEAD = 90, 40  # pixels
SLOW = 120_000  # milliseconds
# How much of an element, or of what fits, stands between the head of the window and the card, if nothing lies on it.
SEEN = """([foot, head]) => {
    const found = %s, box = found.getBoundingClientRect();
    const end = document.querySelector(foot).getBoundingClientRect().top;
    const top = Math.max(box.top, head), bottom = Math.min(box.bottom, end);
    const above = document.elementFromPoint(box.left + box.width / 2, (top + bottom) / 2);
    return found.contains(above) ? (bottom - top) / Math.min(box.height, end - head) : 0;
}"""
# Whether some words of the page stand on the screen, with nothing on top.
SAID = """([words, foot]) => {
    const card = document.querySelector(foot), page = document.querySelector('[data-testid=stMain]');
    const texts = document.createTreeWalker(page, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        const at = text.data.indexOf(words);
        if (at < 0 || card.contains(text)) continue;
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + words.length);
        const box = range.getBoundingClientRect();
        const above = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        if (box.width && above && (text.parentElement.contains(above) || above.contains(text))) return true;
    }
    return false;
}"""


def looked_at(page: Page, step: LessonStep, words: str, *, named: bool) -> None:
    """The card is low and whole; what is in bold, and what is `named`, can be seen."""
    settle(page)
    foot = page.get_by_test_id("stBottom").bounding_box()
    assert foot is not None
    assert foot["height"] <= MOST, words
    expect(page.locator(BUTTON)).to_be_in_viewport(ratio=1)
    for bold in re.findall(r"\*\*(.+?)\*\*", words):
        assert page.evaluate(SAID, [bold, CARD]), f"{bold} is not seen beside: {words}"
    if named and step.selector:
        assert page.evaluate(SEEN % target_expression(step), [CARD, HEAD]) > 0.9, f"what is named is hidden: {words}"
    elif not named:
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0, words


@pytest.mark.parametrize("name", LESSONS)
def test_the_cards_button_alone_leads_to_the_end(visitor, name):
    lesson, page = LESSONS[name], visitor.page
    visitor.open()
    visitor.begin_lesson(name)
    for number, step in enumerate(lesson.steps, 1):
        for words in filter(None, (step.text, step.result)):
            expect(page.locator(CARD)).to_contain_text(f"step {number} of {len(lesson.steps)}")
            expect(page.locator(CARD)).to_contain_text(words.replace("**", ""), timeout=SLOW)
            for width, height in SIZES:
                page.set_viewport_size({"width": width, "height": height})
                looked_at(page, step, words, named=step.action is None or words == step.result)
            page.locator(BUTTON).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(lesson.title)
    for sentence in (*lesson.takeaways, lesson.question):
        expect(page.get_by_text(sentence)).to_be_in_viewport(ratio=1)
    expect(page.locator(CARD)).to_have_count(0)
    visitor.press("lesson.home")
    expect(visitor.button("home.try")).to_be_visible()


def test_what_was_seen_before_a_lesson_does_not_come_back_in_it(visitor):
    """A browser sends again what a control said that it once drew; a lesson's own column is shown all the same."""
    page, column = visitor.page, visitor.page.get_by_role("combobox", name="One column (the worst first)")
    visitor.try_now()
    visitor.tab("Marginals")
    expect(column).not_to_have_value("race")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Start").click()
    visitor.begin_lesson("epsilon")
    for words in ("step 1 of 6", "step 2 of 6"):
        expect(page.locator(CARD)).to_contain_text(words)
        page.locator(BUTTON).click()
    expect(page.locator(CARD)).to_contain_text("step 3 of 6")
    page.locator(BUTTON).click()
    expect(page.locator(CARD)).to_contain_text("value by value")
    expect(column).to_have_value("race")
    visitor.choose("One column (the worst first)", "sex")
    visitor.run_button.click()
    settle(page)
    expect(column).to_have_value("sex")

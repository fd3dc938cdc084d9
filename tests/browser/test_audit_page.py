"""Twin worlds before an audience: an attack that catches a printed method, and a round of the game by keyboard."""

import re

import pytest
from playwright.sync_api import expect

from scripts.screenshots import settle

pytestmark = pytest.mark.browser

LONG = 90_000  # milliseconds; an attack on a busy computer


def enter(visitor, name: str) -> None:
    """Press a button without a mouse, once Tab has come to it."""
    button = visitor.page.get_by_role("button", name=name, exact=True)
    for _ in range(60):
        if button.evaluate("e => e === document.activeElement"):
            break
        visitor.page.keyboard.press("Tab")
    else:
        pytest.fail(f"Tab does not reach {name}.")
    visitor.page.keyboard.press("Enter")
    settle(visitor.page)


def test_a_printed_method_is_caught(visitor):
    page = visitor.page
    visitor.open("audit")
    visitor.choose("Method", "Synthesize: DiffGen", exact=True)
    slider = page.get_by_role("slider", name="Runs in each world")
    slider.press("Home")
    for _ in range(2):
        slider.press("ArrowRight")
    settle(page)
    visitor.press("Run")
    verdict = page.get_by_role("heading", name=re.compile("Caught"))
    expect(verdict).to_be_visible(timeout=LONG)
    expect(verdict).to_be_in_viewport()
    assert verdict.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 32
    assert visitor.metric("Claimed").inner_text() == "1"
    assert visitor.metric("It can cost up to").inner_text() == "no limit"
    assert float(visitor.metric("At least, by this attack").inner_text()) > 1
    expect(page.get_by_test_id("stVegaLiteChart").locator("svg.marks").filter(visible=True)).to_have_count(3)
    expect(page.locator("svg").get_by_text("What the attacker saw, run by run")).to_be_visible()
    assert visitor.fits()
    page.set_viewport_size({"width": 1920, "height": 1080})
    settle(page)
    expect(verdict).to_be_in_viewport()
    assert visitor.fits()
    assert "nothing yet" in visitor.data_in_use


def test_the_game_by_keyboard(visitor):
    visitor.open("audit")
    page = visitor.page
    page.get_by_role("tab", name="Attack a method").press("ArrowRight")
    page.get_by_role("tab", name="With a row of my own data").press("ArrowRight")
    settle(page)
    page.get_by_role("tab", name="The membership game").press("Enter")
    settle(page)
    expect(page.get_by_role("button", name="X is in")).to_be_disabled()
    enter(visitor, "Start a round")
    expect(page.get_by_role("heading", name="In or out?")).to_be_visible()
    enter(visitor, "X is in")
    page.mouse.move(800, 300)
    page.mouse.wheel(0, -5_000)
    expect(page.get_by_role("heading", name="Twin worlds")).to_be_in_viewport()
    for seen in ("Released", "(Right|Wrong): X is (in|out)"):  # without scrolling, as the buttons are
        expect(page.get_by_role("heading", name=re.compile(seen))).to_be_in_viewport(ratio=1)
    enter(visitor, "Next round")
    expect(page.get_by_role("heading", name="In or out?")).to_be_visible()
    enter(visitor, "X is out")
    enter(visitor, "Let the best strategy play 100 rounds")
    expect(page.locator("svg").get_by_text("Scores, and the most that epsilon allows")).to_be_visible()
    assert visitor.fits()
    assert "nothing yet" in visitor.data_in_use

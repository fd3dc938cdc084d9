"""Presses during a fit that takes seconds: the page is there for them, and the fit is lost by Cancel alone."""

import re

import pytest
from playwright.sync_api import expect

from scripts.screenshots import settle

pytestmark = pytest.mark.browser

PAID = re.compile(r"Learning privately: level [2-9]")  # the first levels were asked for by then


def grow(visitor, sizes) -> None:
    for label, value in sizes.items():
        visitor.number(label, value)
    visitor.run_button.click()


def learn(visitor, sizes) -> None:
    """Begin to grow large trees beside a release, and come back when some levels are asked for."""
    visitor.keyed("drawer.forests").locator("summary").first.click()
    settle(visitor.page)
    grow(visitor, sizes)
    expect(visitor.page.get_by_text(PAID)).to_be_visible()


def test_what_is_pressed_during_a_fit(visitor):
    """The last release can be looked at, and Cancel is heard."""
    visitor.open("forests")
    page, trees = visitor.page, visitor.metrics.nth(2)
    for label in ("Trees: by rule", "Depth at most: by rule"):
        page.get_by_text(label).click()
    settle(page)
    grow(visitor, {"Trees": 1, "Depth at most": 2})
    settle(page)
    expect(trees).to_have_text("1")

    learn(visitor, {"Trees": 100, "Depth at most": 12})
    tab = page.get_by_role("tab", name="Where the budget went")
    expect(tab).to_have_count(1)  # what was there before the run goes a moment later
    tab.click()
    panel = page.get_by_role("tabpanel", name="Where the budget went")
    expect(panel.get_by_test_id("stVegaLiteChart").first).to_be_visible()
    expect(trees).to_have_text("1")
    expect(visitor.run_button).to_be_disabled()
    settle(page)
    expect(trees).to_have_text("100")
    expect(tab).to_have_attribute("aria-selected", "true")

    learn(visitor, {"Trees": 99})
    visitor.cancel_button.click()
    settle(page)
    expect(trees).to_have_text("100")
    expect(visitor.run_button).to_be_enabled()
    looks, _, proved = visitor.ledger()
    assert looks == "3"
    assert 2 < float(proved) / visitor.epsilon <= 3  # what was asked until then, and all of it on a slow computer

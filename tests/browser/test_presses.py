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
    visitor.page.get_by_role("button", name="Run", exact=True).click()


def learn(visitor, sizes) -> None:
    """Begin to grow large trees beside a release, and come back when some levels are asked for."""
    visitor.page.locator("summary").filter(has_text="Settings").click()
    settle(visitor.page)
    grow(visitor, sizes)
    expect(visitor.page.get_by_text(PAID)).to_be_visible()


def test_what_is_pressed_during_a_fit(visitor):
    """The last release can be looked at, the next one comes though its maker left the page, and Cancel is heard."""
    visitor.open()
    visitor.go("Trees & forests")
    page = visitor.page
    page.get_by_text("Trees: by rule").click()
    page.get_by_text("Depth at most: by rule").click()
    settle(page)
    grow(visitor, {"Trees": 1, "Depth at most": 2})
    settle(page)
    expect(visitor.metric("Trees")).to_have_text("1")

    learn(visitor, {"Trees": 100, "Depth at most": 12})
    tab = page.get_by_role("tab", name="Where the budget went")
    expect(tab).to_have_count(1)  # what was there before the run goes a moment later
    tab.click()
    panel = page.get_by_role("tabpanel", name="Where the budget went")
    expect(panel.get_by_test_id("stVegaLiteChart").first).to_be_visible()
    expect(visitor.metric("Trees")).to_have_text("1")
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    settle(page)
    expect(visitor.metric("Trees")).to_have_text("100")
    expect(tab).to_have_attribute("aria-selected", "true")
    expect(panel.get_by_text("one tree only")).to_be_visible()

    learn(visitor, {"Trees": 99})
    visitor.go("Mechanisms")
    expect(page.get_by_role("heading", level=1)).to_contain_text("echanisms")
    visitor.go("Trees & forests")
    expect(visitor.metric("Trees")).to_have_text("99")

    learn(visitor, {"Trees": 98})
    page.get_by_role("button", name="Cancel").click()
    settle(page)
    expect(visitor.metric("Trees")).to_have_text("99")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    looks, _, proved = visitor.ledger()
    assert looks == "4"
    assert 3 < float(proved) <= 4  # what was asked until then, and all of it on a slow computer

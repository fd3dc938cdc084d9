"""Presses during a fit that takes seconds: the page is there for them, and the fit is lost by Cancel alone."""

import re

import pytest
from playwright.sync_api import expect

from scripts.screenshots import settle

pytestmark = pytest.mark.browser

PAID = re.compile(r"Learning privately: level [2-9]")  # the first levels were asked for by then
LARGE = {"Trees": "100", "Depth at most": "12"}


@pytest.fixture
def learning(visitor):
    """A person whose page shows one tree, and grows a hundred deep ones."""
    visitor.open()
    visitor.go("Trees & forests")
    page = visitor.page
    page.get_by_text("Trees: by rule").click()
    page.get_by_text("Depth at most: by rule").click()
    settle(page)
    grow(visitor, {"Trees": "1", "Depth at most": "2"})
    settle(page)
    expect(visitor.metric("Trees")).to_have_text("1")
    page.locator("summary").filter(has_text="Settings").click()
    settle(page)
    grow(visitor, LARGE)
    expect(page.get_by_text(PAID)).to_be_visible()
    return visitor


def grow(visitor, sizes) -> None:
    for label, value in sizes.items():
        visitor.number(label, value)
    visitor.page.get_by_role("button", name="Run", exact=True).click()


def test_the_last_release_can_be_looked_at_meanwhile(learning):
    page = learning.page
    page.get_by_role("tab", name="Where the budget went").click()
    panel = page.get_by_role("tabpanel", name="Where the budget went")
    expect(panel.get_by_test_id("stVegaLiteChart").first).to_be_visible()
    expect(learning.metric("Trees")).to_have_text("1")
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    settle(page)
    expect(learning.metric("Trees")).to_have_text("100")
    expect(page.get_by_role("tab", name="Where the budget went")).to_have_attribute("aria-selected", "true")
    expect(panel.get_by_text("one tree only")).to_be_visible()
    assert learning.ledger() == ["2", "2", "2"]


def test_a_release_comes_though_its_maker_went_to_another_page(learning):
    learning.go("Mechanisms")
    expect(learning.page.get_by_role("heading", level=1)).to_contain_text("echanisms")
    learning.go("Trees & forests")
    expect(learning.metric("Trees")).to_have_text("100")
    assert learning.ledger() == ["2", "2", "2"]


def test_cancel_comes_at_once(learning):
    page = learning.page
    page.get_by_role("button", name="Cancel").click()
    settle(page)
    expect(learning.metric("Trees")).to_have_text("1")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    looks, _, proved = learning.ledger()
    assert looks == "2"
    assert 1 < float(proved) <= 2  # what was asked until then, and all of it on a slow computer

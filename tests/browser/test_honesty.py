"""That stopping a figure draws no more, and spends no more than what was drawn."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_a_sweep_can_be_stopped(visitor):
    visitor.try_now()
    page, before = visitor.page, visitor.headline()
    visitor.tab("The paper's figures")
    visitor.number("Repeats", 20)
    expect(page.get_by_text("A repeat is 32 releases")).to_be_visible()
    page.get_by_role("button", name="Make this figure").click()
    expect(page.get_by_text(re.compile(r"Making releases: [1-9]\d+ done"))).to_be_visible()
    visitor.press("Cancel")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert visitor.headline() == before
    marks = page.get_by_role("tabpanel", name="The paper's figures").locator("svg .role-mark.mark-symbol path")
    expect(marks.first).to_be_visible()
    assert 10 <= marks.count() < 1000
    runs, claimed, _ = visitor.ledger()
    assert 10 < int(runs) < 641  # the release, and what the figure drew until then
    assert 1 < float(claimed) < 481  # charged for what was drawn, and not for all 640
    visitor.go("Naive Bayes")
    visitor.run()  # the page still works

"""Bayesian networks: Adult, corrected and as printed."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def use(visitor, source: str) -> None:
    """Choose one of the data sets that come along, and open the page."""
    visitor.open("data")
    visitor.page.get_by_role("radio", name=source).click()
    visitor.press("Use these data")
    expect(visitor.page.get_by_text("These data are in use now.")).to_be_visible()
    visitor.go("Bayesian networks")


def pick(visitor, mode: str, variant: str) -> None:
    for text in (mode, variant):
        visitor.page.get_by_test_id("stRadio").get_by_text(text, exact=True).click()
    expect(visitor.page.get_by_role("radio", name=variant)).to_be_checked()


def nodes(panel):
    return panel.locator("svg .role-mark.mark-symbol path")


def test_adult_corrected_and_as_printed(visitor, adult):
    use(visitor, "UCI Adult")
    page = visitor.page
    pick(visitor, "Corrected: guarantee proved", "HMPrivBayes: small networks over clusters of bits")
    visitor.run()
    assert visitor.headline()[:2] == ["1", "1"]
    network = visitor.tab("Network")
    expect(network.get_by_text(re.compile("^52 families"))).to_be_visible()
    expect(network.get_by_text(re.compile("^The network: 52 families"))).to_be_visible()
    expect(nodes(network).nth(51)).to_be_attached()
    expect(network.locator("svg").get_by_text("income bit 1", exact=True).first).to_be_visible()
    clusters = visitor.tab("Clusters")
    expect(clusters.get_by_text("3 clusters", exact=True)).to_be_visible()
    expect(clusters.locator("canvas.marks")).to_be_visible()  # so many cells are painted
    assert clusters.locator("canvas.marks").bounding_box()["height"] > 600
    expect(page.get_by_role("alert").filter(has_text="No finite epsilon")).to_have_count(0)

    page.get_by_text("Settings", exact=True).click()
    pick(visitor, "As the paper prints it", "HMPrivBayes")
    expect(page.get_by_text("The paper's proof is wrong.")).to_be_visible()
    visitor.run()
    expect(visitor.metric("Epsilon proved")).to_have_text("none")
    assert visitor.headline()[:2] == ["1", "none"]
    expect(page.get_by_role("alert").filter(has_text="No finite epsilon can be proved")).to_be_visible()
    price = visitor.tab("Price")
    for factor in ("26 times", "3 times"):
        expect(price.get_by_text(factor, exact=True)).to_be_visible()
    expect(price.get_by_text("practically certain")).to_be_visible()
    visitor.go("Ledger")
    proved = page.get_by_test_id("stMetric").filter(has_text="Epsilon proved, in all").get_by_test_id("stMetricValue")
    assert sorted(proved.all_inner_texts()) == ["1", "none"]  # one account per relation

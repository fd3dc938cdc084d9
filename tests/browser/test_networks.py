"""Bayesian networks: Adult, whose graph and clusters are large."""

import re

import pytest
from playwright.sync_api import expect

from scripts.screenshots import pick

pytestmark = pytest.mark.browser

VARIANT = "HMPrivBayes: small networks over clusters of bits"


def test_adult(visitor, adult):
    page = visitor.page
    visitor.open("data")
    page.get_by_role("radio", name="UCI Adult").click()
    visitor.press("Use these data")
    expect(page.get_by_text("These data are in use now.")).to_be_visible()
    visitor.go("Bayesian networks")
    pick(page, VARIANT)
    expect(page.get_by_role("radio", name=VARIANT)).to_be_checked()
    visitor.run()
    assert visitor.headline()[:2] == ["1", "1"]
    network = visitor.tab("Network")
    expect(network.get_by_text(re.compile("^52 families"))).to_be_visible()
    expect(network.get_by_text(re.compile("^The network: 52 families"))).to_be_visible()
    expect(network.locator("svg .role-mark.mark-symbol path").nth(51)).to_be_attached()
    expect(network.locator("svg").get_by_text("income bit 1", exact=True).first).to_be_visible()
    clusters = visitor.tab("Clusters")
    expect(clusters.get_by_text("3 clusters", exact=True)).to_be_visible()
    expect(clusters.locator("canvas.marks")).to_be_visible()  # so many cells are painted
    assert clusters.locator("canvas.marks").bounding_box()["height"] > 600
    expect(page.get_by_role("alert").filter(has_text="No finite epsilon")).to_have_count(0)

"""Randomized responses: the coin game before an audience, and a round of reports."""

import re
import zipfile

import pytest
from playwright.sync_api import expect

from dpcore import datasets
from dpcore.export.model_file import Model
from scripts.screenshots import settle

pytestmark = pytest.mark.browser


def what(visitor, name: str) -> None:
    visitor.page.get_by_role("radio", name=name).click()
    settle(visitor.page)


def test_the_coin_game_on_a_projector(visitor):
    page = visitor.page
    visitor.open()
    visitor.go("Randomized responses")
    expect(page.get_by_text("Here nobody holds them:", exact=True)).to_be_visible()
    visitor.press("Toss")
    expect(page.get_by_text("What the collector gets")).to_be_visible()
    expect(page.get_by_text(re.compile("^Why nobody can tell"))).to_be_visible()
    visitor.press("Ask them")
    estimate = visitor.metric("Estimate").inner_text()
    expect(page.locator("svg").get_by_text("impossible: noise").first).to_be_visible()
    page.get_by_text("Show what only this game can know").click()
    settle(page)
    page.get_by_text("Truth, or the opposite (Warner)").click()
    settle(page)
    assert visitor.metric("Estimate").inner_text() == estimate  # other words draw nothing anew
    visitor.press("Ask 50 other crowds like this")
    assert visitor.metric("Estimate").inner_text() == estimate
    for size in ((1366, 768), (1920, 1080)):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        settle(page)
        assert visitor.fits()
    what(visitor, "How private is one report?")
    expect(page.get_by_text("Same channel, different Breach.")).to_be_visible()
    assert visitor.fits()


def test_a_round_of_reports(visitor):
    visitor.open()
    visitor.go("Randomized responses")
    what(visitor, "Learn from reports")
    visitor.run()
    assert visitor.headline()[:2] == ["4", "4"]
    panel = visitor.tab("Reports")
    expect(panel.get_by_text(re.compile("rows of reports"))).to_be_visible()
    expect(panel.locator("svg").get_by_text("age: true, reported and reconstructed shares")).to_be_visible()
    expect(panel.get_by_text(re.compile("intervals hold the true share"))).to_be_visible()
    accuracy = visitor.tab("Accuracy")
    expect(accuracy.locator("svg").get_by_text("naive Bayes, true answers")).to_be_visible()
    assert visitor.fits()
    assert visitor.ledger() == ["1", "4", "4"]


def test_reports_taken_home_teach_on_another_computer(visitor):
    """The zip's two files are all that is needed: another session, no data set of its own, nothing charged."""
    visitor.open()
    visitor.go("Randomized responses")
    what(visitor, "Learn from reports")
    visitor.run()
    visitor.tab("Take home")
    with zipfile.ZipFile(visitor.download("Download the release").path()) as archive:
        files = {name: archive.read(name) for name in ("reports.csv", "rules.json", "model.json")}
    rows = datasets.load("sample").test
    first = Model.from_json(files["model.json"])

    visitor.open()
    page = visitor.page
    visitor.go("Randomized responses")
    what(visitor, "Open collected reports")
    visitor.load("rules.json", "rules.json", files["rules.json"])
    visitor.load("reports.csv", "model.json", b"{}")
    visitor.refused("does not tell a format")
    visitor.load("reports.csv", "reports.csv", files["reports.csv"])
    expect(page.get_by_text("14,151 people", exact=True)).to_be_visible()
    expect(page.locator("svg").get_by_text("age: reported and reconstructed shares")).to_be_visible()
    again = Model.from_json(visitor.download("Download the model").path().read_bytes())
    assert (again.predict(rows) == first.predict(rows)).all()
    visitor.load("Rows to predict", "people.csv", rows.to_csv(index=False).encode())
    right = (first.predict(rows) == rows["income"]).sum()
    expect(page.get_by_text(f"{right:,} of {len(rows):,} predictions agree")).to_be_visible()
    assert visitor.fits()
    visitor.go("Ledger")
    expect(page.get_by_test_id("stMetric")).to_have_count(0)

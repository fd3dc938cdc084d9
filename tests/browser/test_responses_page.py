"""Randomized responses: the reports that somebody takes home teach on another computer."""

import io
import zipfile

import pytest
from playwright.sync_api import expect

from dpcore import datasets
from dpcore.export.model_file import Model
from scripts.screenshots import settle

pytestmark = pytest.mark.browser


def test_reports_taken_home_teach_on_another_computer(visitor):
    """The zip's two files are all that is needed: another session, no data set of its own, nothing charged."""
    visitor.open()
    visitor.go("responses")
    visitor.run()
    visitor.tab("Download")
    with zipfile.ZipFile(io.BytesIO(visitor.download("responses.download"))) as archive:
        files = {name: archive.read(name) for name in ("reports.csv", "rules.json", "model.json")}
    rows = datasets.load("sample").test
    first = Model.from_json(files["model.json"])

    visitor.open()
    page = visitor.page
    visitor.go("responses")
    page.get_by_text("Or open collected reports").click()
    settle(page)
    visitor.load("responses.collected.rules", "rules.json", files["rules.json"])
    visitor.load("responses.collected.table", "reports.csv", files["reports.csv"])
    expect(page.get_by_test_id("stVegaLiteChart").locator("svg").filter(visible=True).first).to_be_visible()
    again = Model.from_json(visitor.download("responses.collected.model"))
    assert (again.predict(rows) == first.predict(rows)).all()
    assert visitor.fits()
    visitor.go("ledger")
    expect(visitor.metrics).to_have_count(0)

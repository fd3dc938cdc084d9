"""What somebody sees who opens the dashboard for the first time and presses the large button."""

import io
import zipfile

import pandas as pd
import pytest
from playwright.sync_api import Locator, expect

from dpcore import datasets
from dpcore.dashboard.shell import SECTIONS
from scripts.screenshots import serving, settle

pytestmark = pytest.mark.browser


def charts(panel: Locator, count: int) -> None:
    """So many charts, each drawn, inside its place, with marks and an alternative text."""
    drawings = panel.get_by_test_id("stVegaLiteChart").locator("svg.marks, canvas.marks").filter(visible=True)
    expect(drawings).to_have_count(count)
    for drawing in drawings.all():
        place = drawing.locator("xpath=ancestor::*[@data-testid='stVegaLiteChart']")
        assert len(place.get_attribute("aria-label") or "") > 20, "a chart has no alternative text"
        box, room = drawing.bounding_box(), place.bounding_box()
        assert box is not None
        assert room is not None
        assert box["width"] > 150
        assert box["height"] > 80
        assert box["x"] + box["width"] <= room["x"] + room["width"] + 1, "a chart is wider than its place"


@pytest.mark.parametrize("name", ["networks", "taxonomy", "forests", "responses"])
def test_the_first_chart_of_every_method_is_whole_on_a_laptop(visitor, name):
    visitor.open(name)
    if name == "responses":
        visitor.pick("Learn from reports")
    visitor.run()
    expect(visitor.tab("Price").get_by_test_id("stVegaLiteChart").first).to_be_in_viewport(ratio=1)
    assert visitor.headline()[0] == visitor.headline()[1]
    assert visitor.fits()


def test_first_visit(visitor):
    visitor.try_now()
    page = visitor.page
    assert visitor.headline()[:2] == [visitor.usual] * 2
    for name, count in (("Columns", 2), ("Price", 2), ("Pairs", 2), ("Accuracy", 1)):
        panel = visitor.tab(name)
        charts(panel, count)
        if name in ("Columns", "Price"):
            expect(panel.get_by_test_id("stVegaLiteChart").first).to_be_in_viewport(ratio=1)
    assert visitor.fits()
    check_zip(visitor.take_home(), "synthetic.csv", pd.read_csv)
    page.get_by_role("radio", name="parquet").click()
    settle(page)
    check_zip(visitor.download("naive_bayes.download"), "synthetic.parquet", pd.read_parquet)
    assert visitor.ledger() == ["1", visitor.usual, visitor.usual]


def check_zip(content, table, read):
    sample = datasets.load("sample")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        names = {table, "schema.json", "config.json", "ledger.json", "ledger.csv"}
        names |= {"replay.py", "replay.ipynb", "report.html", "card.md", "README.md"}
        assert set(archive.namelist()) == names
        rows = read(io.BytesIO(archive.read(table)))
        assert len(rows) == 20_000
        assert list(rows.columns) == list(sample.schema.names)


def test_deep_link_to_a_fresh_server(visitor, program, tmp_path):
    """Its menu never lists files, and the first thing that is set is not lost."""
    log, page = tmp_path / "server.log", visitor.page
    with serving(log) as visitor.address:
        visitor.open_first("naive_bayes")
        menu = page.get_by_role("navigation", name="App pages")
        titles = [title for entries in SECTIONS.values() for _, title, _ in entries]
        expect(menu.get_by_role("link").get_by_role("paragraph")).to_have_text(titles)
        visitor.keyed("naive_bayes.epsilon").get_by_role("slider").press("ArrowRight")
        settle(page)
        visitor.run()
        assert visitor.headline()[:2] == ["1.5", "1.5"]
        assert visitor.ledger() == ["1", "1.5", "1.5"]
    assert "Traceback" not in log.read_text(errors="replace")


def test_settings_that_were_opened_are_folded_away_by_a_release(visitor):
    visitor.try_now()
    drawer = visitor.keyed("drawer.naive_bayes").locator("details").first
    slider = visitor.keyed("naive_bayes.epsilon").get_by_role("slider")
    for _ in range(2):
        expect(drawer).not_to_have_attribute("open", "")
        drawer.locator("summary").first.click()
        expect(slider).to_be_visible()
        settle(visitor.page)
        visitor.run()
        settle(visitor.page)
    expect(slider).to_be_hidden()

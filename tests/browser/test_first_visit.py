"""What somebody sees who opens the dashboard for the first time and presses the large button."""

import io
import re
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
    expect(drawings).to_have_count(count, timeout=120_000)  # a figure of 64 releases among them
    for drawing in drawings.all():
        place = drawing.locator("xpath=ancestor::*[@data-testid='stVegaLiteChart']")
        assert len(place.get_attribute("aria-label") or "") > 20, "a chart has no alternative text"
        box, room = drawing.bounding_box(), place.bounding_box()
        assert box is not None
        assert room is not None
        assert box["width"] > 150
        assert box["height"] > 80
        assert box["x"] + box["width"] <= room["x"] + room["width"] + 1, "a chart is wider than its place"


def first_chart(visitor, tab):
    return visitor.tab(tab).get_by_test_id("stVegaLiteChart").first


def test_the_first_chart_of_every_method_is_whole_on_a_laptop(visitor):
    visitor.open()
    for title in ("Bayesian networks", "Taxonomy tree", "Trees & forests", "Randomized responses"):
        visitor.go(title)
        if title == "Randomized responses":
            visitor.page.get_by_role("radio", name="Learn from reports").click()
            settle(visitor.page)
        visitor.run()
        expect(first_chart(visitor, "Price")).to_be_in_viewport(ratio=1)


def test_first_visit(visitor):
    visitor.try_now()
    page = visitor.page
    assert visitor.metric("Claimed").inner_text() == "1"
    assert visitor.metric("It can cost up to").inner_text() == "1"
    assert visitor.metric("Synthetic rows").inner_text() == "20,000"

    expect(page.get_by_role("tab", name="Columns")).to_have_attribute("aria-selected", "true")
    for name in ("Columns", "Price"):
        charts(visitor.tab(name), 2)
        expect(first_chart(visitor, name)).to_be_in_viewport(ratio=1)
    charts(visitor.tab("Pairs"), 2)
    charts(visitor.tab("Accuracy"), 1)
    panel = visitor.tab("Draw again")
    visitor.press("Draw 20 more")
    charts(panel, 1)
    panel = visitor.tab("The paper's figures")
    visitor.number("Repeats", 2)
    expect(panel.get_by_text("A repeat is 32 releases")).to_be_visible()
    visitor.press("Make this figure")
    charts(panel, 2)
    assert visitor.fits()

    visitor.tab("Take home")
    check_zip(visitor.download("Download the release").path(), "synthetic.csv", pd.read_csv)
    page.get_by_role("radio", name="parquet").click()
    settle(page)
    check_zip(visitor.download("Download the release").path(), "synthetic.parquet", pd.read_parquet)
    assert visitor.headline()[:2] == ["1", "1"]
    assert visitor.ledger()[0] == "85"  # the release, 20 redraws, and two repeats of a figure's 32 releases


def check_zip(path, table, read):
    sample = datasets.load("sample")
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = {table, "schema.json", "config.json", "ledger.json", "ledger.csv"}
        names |= {"replay.py", "replay.ipynb", "report.html", "card.md", "README.md"}
        assert set(archive.namelist()) == names
        rows = read(io.BytesIO(archive.read(table)))
        assert len(rows) == 20_000
        assert list(rows.columns) == list(sample.schema.names)


def test_themes_follow_the_browser(visitor):
    visitor.open()
    background = "getComputedStyle(document.querySelector('[data-testid=\"stApp\"]')).backgroundColor"
    visitor.page.emulate_media(color_scheme="dark")
    visitor.page.wait_for_function(f"{background} === 'rgb(14, 17, 23)'")
    visitor.page.emulate_media(color_scheme="light")
    visitor.page.wait_for_function(f"{background} === 'rgb(255, 255, 255)'")


def test_deep_link_to_a_fresh_server(visitor, program, tmp_path):
    """Its menu never lists files, and the first thing that is set is not lost."""
    log, page = tmp_path / "server.log", visitor.page
    with serving(log) as visitor.address:
        visitor.open_first("naive_bayes")
        menu = page.get_by_role("navigation", name="App pages")
        titles = [title for entries in SECTIONS.values() for _, title, _ in entries]
        expect(menu.get_by_role("link").get_by_role("paragraph")).to_have_text(titles)
        expect(menu).to_contain_text(re.compile("Start.*Synthesize.*Classify.*Understand", re.DOTALL))
        expect(page).to_have_title("Naive Bayes · dpcore")
        page.get_by_role("slider", name="Privacy budget epsilon").press("ArrowRight")
        expect(page.get_by_text("Next run: epsilon 1.5")).to_be_visible()
        visitor.run()
        assert visitor.headline()[:2] == ["1.5", "1.5"]
        assert visitor.ledger() == ["1", "1.5", "1.5"]
    assert "Traceback" not in log.read_text(errors="replace")


def test_settings_that_were_opened_are_folded_away_by_a_release(visitor):
    visitor.try_now()
    drawer = visitor.page.locator("details").filter(has=visitor.page.locator("summary", has_text="Settings"))
    for _ in range(2):
        expect(drawer).not_to_have_attribute("open", "")
        drawer.locator("summary").first.click()
        expect(visitor.page.get_by_role("slider", name="Privacy budget epsilon")).to_be_visible()
        settle(visitor.page)
        visitor.run()
        settle(visitor.page)
    expect(visitor.page.get_by_role("slider", name="Privacy budget epsilon")).to_be_hidden()


def test_a_chinese_browser_stays_with_chinese_from_page_to_page(visitor):
    visitor.speak("zh")
    visitor.open()
    for title in ("Trees & forests", "Naive Bayes"):
        visitor.go(title)
        expect(visitor.page.get_by_role("button", name=visitor.told("Run"), exact=True)).to_be_visible()

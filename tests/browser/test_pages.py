"""Pages of methods and Compare from their settings to what is taken home, which teaches on another computer."""

import io
import json
import re
import zipfile

import pandas as pd
import pytest
from playwright.sync_api import expect

from dpcore import Schema, datasets
from dpcore.experiment import COLUMNS, Config
from dpcore.export.artifacts import Model
from scripts.screenshots import settle

pytestmark = pytest.mark.browser

SECONDS = 240


def charged(visitor) -> int:
    """Releases that the ledger of the dashboard has."""
    looks = int(visitor.ledger()[0].replace(",", ""))
    visitor.go("compare")
    return looks


def test_cancel_keeps_what_is_finished_it_goes_on_and_all_is_taken_away(visitor):
    visitor.open("compare")
    page = visitor.page
    page.get_by_text("Choose methods", exact=True).click()
    for name in ("Adaptive marginals", "MST"):  # which are slow, and no longer chosen
        page.get_by_role("button", name=name, exact=True).click()
        settle(page)
    visitor.number("Number of repeats", 20)
    visitor.run_button.click()
    under_way = page.get_by_text(re.compile(r"\b([4-9]|\d\d) of \d+ runs"))
    expect(under_way).to_be_visible(timeout=1000 * SECONDS)
    visitor.cancel_button.click()
    settle(page, SECONDS)
    stopped = page.get_by_text(re.compile("The comparison was stopped: "))
    finished, runs = map(int, re.search(r"(\d+) of (\d+)", stopped.inner_text()).groups())
    assert 4 <= finished < runs
    assert charged(visitor) >= finished
    expect(page.get_by_test_id("stVegaLiteChart").locator("canvas, svg").first).to_be_visible()
    visitor.run_button.click()
    settle(page, SECONDS)
    assert runs <= charged(visitor) <= runs + 8  # what workers had begun when they were stopped is charged, too
    expect(page.get_by_text("do not publish").filter(visible=True).first).to_be_visible()
    assert visitor.fits()
    page.get_by_role("tab").last.click()
    settle(page)
    table = pd.read_csv(io.BytesIO(visitor.download("compare.csv")))
    assert list(table.columns) == COLUMNS
    assert len(table) >= runs
    text = visitor.download("compare.json").decode()
    assert json.loads(text)["data"]["name"] == "sample"
    assert Config.from_json(text).methods


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


DRAWER = "Taxonomies: which values belong together"


def write(visitor, row: int, text: str, values: int) -> None:
    """Type into the only group of a row, counted from 0, of so many values: click, Enter, type, Enter."""
    table = visitor.page.get_by_test_id("stDataFrame").filter(visible=True).first
    expect(visitor.page.locator("svg").get_by_text("Self-employed", exact=True)).to_be_visible()  # above the table
    box = table.bounding_box()
    assert box is not None
    height = box["height"] / (values + 1)  # the header is a row as well
    table.click(position={"x": 0.6 * box["width"], "y": height * (row + 1.5)})
    visitor.page.keyboard.press("Enter")
    editor = visitor.page.locator("#portal .gdg-input")
    editor.fill(text)
    editor.press("Enter")
    expect(editor).to_have_count(0)
    settle(visitor.page)


def test_from_a_taxonomy_to_the_zip(visitor):
    visitor.open("taxonomy")
    page = visitor.page
    drawer = page.get_by_text(DRAWER)
    drawer.click()
    settle(page)
    write(visitor, 0, "Business", values=8)
    expect(page.locator("svg").get_by_text("Business", exact=True)).to_be_visible()
    visitor.press("taxonomy.editor.apply")
    page.get_by_text("Load or save a taxonomy").click()
    visitor.load("taxonomy.editor.file", "other.csv", b"Private,(any)\nOslo,(any)\n")
    visitor.refused("Oslo")
    expect(page.locator("svg").get_by_text("Business", exact=True)).to_be_visible()  # nothing is lost
    paths = visitor.download("taxonomy.editor.save")
    assert paths.startswith(b"Private,Business,(any)\n")
    visitor.load("taxonomy.editor.file", "mine.csv", paths.replace(b"Business", b"Companies"))
    visitor.press("taxonomy.editor.apply")
    expect(page.locator("svg").get_by_text("Companies", exact=True)).to_be_visible()
    drawer.click()
    settle(page)

    visitor.run()
    assert visitor.proven() == visitor.usual
    node = visitor.tab("Model", "Tree").locator("svg").get_by_text("all rows", exact=True).last
    node.scroll_into_view_if_needed()
    index = node.bounding_box()
    page.mouse.move(index["x"] - 60, index["y"] + 5)
    expect(page.locator("#vg-tooltip-element")).to_contain_text("consistent count")
    assert visitor.fits()
    with zipfile.ZipFile(io.BytesIO(visitor.take_home())) as archive:
        schema = Schema.from_json(archive.read("schema.json").decode())
        assert schema["workclass"].taxonomy.paths[0] == ("Private", "Companies", "(any)")
    assert visitor.ledger() == ["1", visitor.usual, visitor.usual]

"""Taxonomy trees: a taxonomy edited and loaded, a tree looked at, and what is taken home."""

import io
import zipfile

import pytest
from playwright.sync_api import expect

from dpcore import Schema
from scripts.screenshots import settle

pytestmark = pytest.mark.browser

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
    page.get_by_text("From a file, or to one").click()
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
    place = node.bounding_box()
    page.mouse.move(place["x"] - 60, place["y"] + 5)
    expect(page.locator("#vg-tooltip-element")).to_contain_text("consistent count")
    assert visitor.fits()
    with zipfile.ZipFile(io.BytesIO(visitor.take_home())) as archive:
        schema = Schema.from_json(archive.read("schema.json").decode())
        assert schema["workclass"].taxonomy.paths[0] == ("Private", "Companies", "(any)")
    assert visitor.ledger() == ["1", visitor.usual, visitor.usual]

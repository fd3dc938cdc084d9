"""Taxonomy trees: a taxonomy edited and loaded, a tree looked at, a range asked for, and what is taken home."""

import io
import json
import re
import zipfile

import pandas as pd
import pytest
from playwright.sync_api import expect

from dpcore import Schema
from dpcore.postprocess.count_tree import ReleasedTree
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
    visitor.open()
    visitor.go("Taxonomy tree")
    page = visitor.page
    drawer = page.get_by_text(DRAWER)
    drawer.click()
    settle(page)
    expect(page.get_by_text("This is the tree in use.")).to_be_visible()
    write(visitor, 0, "Business", values=8)
    expect(page.get_by_text("This tree is not in use yet")).to_be_visible()
    expect(page.locator("svg").get_by_text("Business", exact=True)).to_be_visible()
    visitor.press("Apply")
    expect(page.get_by_text("This tree is in use now.")).to_be_visible()

    page.get_by_text("From a file, or to one").click()
    visitor.load("Load a table of paths", "other.csv", b"Private,(any)\nOslo,(any)\n")
    visitor.refused("taxonomy row 2 starts with 'Oslo'")
    expect(page.locator("svg").get_by_text("Business", exact=True)).to_be_visible()  # nothing is lost
    saved = visitor.download("Save the drawn tree")
    assert saved.suggested_filename == "workclass.taxonomy.csv"
    paths = saved.path().read_bytes()
    assert paths.startswith(b"Private,Business,(any)\n")
    visitor.load("Load a table of paths", "mine.csv", paths.replace(b"Business", b"Companies"))
    expect(page.get_by_text("This tree is not in use yet")).to_be_visible()
    visitor.press("Apply")
    expect(page.locator("svg").get_by_text("Companies", exact=True)).to_be_visible()
    visitor.choose("Column", "age", exact=True)  # numbers have other buttons
    visitor.press("Make intervals")
    expect(page.get_by_role("button", name="Back to halves")).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    drawer.click()
    settle(page)

    visitor.run()
    assert visitor.headline()[:2] == ["1", "1"]
    look_at_the_tree(visitor)
    ask(visitor)
    panel = visitor.tab("Error by range")
    for workload in ("Finer ranges of the same columns", "All columns", "The release's own groups"):
        page.get_by_role("radio", name=workload).click()
        settle(page)
        expect(panel.get_by_text("Absolute errors of range queries, by the size of the range")).to_be_visible()
        expect(panel.get_by_text("Uses real data: do not publish").first).to_be_visible()
    assert visitor.fits()

    visitor.tab("Take home")
    with zipfile.ZipFile(visitor.download("Download the release").path()) as archive:
        assert archive.testzip() is None
        schema = Schema.from_json(archive.read("schema.json").decode())
        assert schema["workclass"].taxonomy.paths[0] == ("Private", "Companies", "(any)")
        tree = ReleasedTree.from_dict(schema, json.loads(archive.read("structure.json"))["tree"])
        groups = pd.read_csv(io.BytesIO(archive.read("generalized.csv")))
        assert list(groups) == [*tree.leaves.family, "(rows)"]
    assert visitor.ledger() == ["1", "1", "1"]


def look_at_the_tree(visitor) -> None:
    """The tree, a node's hover, the tree below a node, and without the real rows."""
    page, panel = visitor.page, visitor.tab("Tree")
    expect(panel.get_by_text("The tree of counts, before and after consistency")).to_be_visible()
    for name in ("noisy", "consistent"):
        expect(panel.locator("svg").get_by_text(name, exact=True).first).to_be_visible()
    chart = panel.get_by_test_id("stVegaLiteChart").last
    box, room = chart.locator("svg.marks").bounding_box(), chart.bounding_box()
    assert box["x"] + box["width"] <= room["x"] + room["width"] + 1, "the tree is wider than its place"
    node = panel.locator("svg").get_by_text("all rows", exact=True).last
    node.scroll_into_view_if_needed()
    place = node.bounding_box()
    page.mouse.move(place["x"] - 60, place["y"] + 5)
    tip = page.locator("#vg-tooltip-element")
    for text in ("node", "noisy count", "consistent count", "true count", "noise", "interval from"):
        expect(tip).to_contain_text(text)
    page.mouse.move(1, 1)
    box = page.get_by_role("combobox", name="From this group down")
    box.fill(", ")  # groups by two columns at least
    box.press("ArrowDown")
    option = page.get_by_role("option").first
    chosen = option.inner_text()
    option.click()
    settle(page)
    expect(box).to_have_value(chosen)
    expect(panel.locator("svg").get_by_text("all rows", exact=True)).to_have_count(0)
    page.get_by_text("Color by error (reads the real rows)").click()
    settle(page)
    expect(panel.get_by_text("95% interval, ±")).to_be_visible()
    expect(panel.get_by_text("Uses real data")).to_have_count(0)


def ask(visitor) -> None:
    """One range in words, and the four answers to it."""
    page, panel = visitor.page, visitor.tab("Ask a range")
    columns = page.get_by_role("combobox", name="Columns", exact=True)
    for _ in range(2):  # those that the release divided first
        columns.press("Backspace")
    settle(page)
    for name in ("age", "sex"):
        visitor.choose("Columns", name, exact=True)
    page.keyboard.press("Escape")
    visitor.choose("sex", "· Female", exact=True)
    handle = page.get_by_role("slider", name="age").first
    handle.press("ArrowRight")
    settle(page)
    said = panel.get_by_text(re.compile(r"^This range covers .* of the domain\. [\d,]+ real people"))
    expect(said).to_be_visible()
    before = said.inner_text()
    for answer in ("noisy: as few groups as will do", "consistent", "published groups", "true count"):
        expect(
            panel.get_by_test_id("stVegaLiteChart").first.locator("svg").get_by_text(re.compile(f"^{answer}"))
        ).to_be_visible()
    expect(panel.get_by_text(re.compile("^flat"))).to_have_count(1)
    handle.press("ArrowRight")
    settle(page)
    expect(said).not_to_have_text(before)

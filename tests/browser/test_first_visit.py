"""What somebody sees at first: the large button, first screens at 1366x768 within limits, and answers to Run."""

import io
import sys
import zipfile

import pandas as pd
import pytest
from playwright.sync_api import Locator, expect

from dpcore import datasets
from dpcore.dashboard.shell import SECTIONS
from scripts.screens import screens

pytestmark = pytest.mark.browser


def charts(panel: Locator, count: int) -> None:
    """So many charts, each drawn, inside its place, with marks and an alternative text."""
    drawings = panel.get_by_test_id("stVegaLiteChart").locator("svg.marks, canvas.marks").filter(visible=True)
    expect(drawings).to_have_count(count)
    for drawing in drawings.all():
        index = drawing.locator("xpath=ancestor::*[@data-testid='stVegaLiteChart']")
        assert len(index.get_attribute("aria-label") or "") > 20, "a chart has no alternative text"
        box, room = drawing.bounding_box(), index.bounding_box()
        assert box is not None
        assert room is not None
        assert box["width"] > 150
        assert box["height"] > 80
        assert box["x"] + box["width"] <= room["x"] + room["width"] + 1, "a chart is wider than its place"


def test_first_visit(visitor):
    visitor.try_now()
    assert visitor.proven() == visitor.usual
    opened = (("Summary", "", 1), ("Marginals", "Columns", 2), ("Marginals", "Pairs", 3), ("Accuracy", "", 1))
    for name, part, count in opened:
        panel = visitor.tab(name, part)
        charts(panel, count)
        if name == "Summary":  # what is seen without a press
            expect(panel.get_by_test_id("stVegaLiteChart").first).to_be_in_viewport(ratio=1)
    assert visitor.fits()
    with zipfile.ZipFile(io.BytesIO(visitor.take_home())) as archive:
        assert archive.testzip() is None
        rows = pd.read_csv(io.BytesIO(archive.read("synthetic.csv")))
    assert 14_000 < len(rows) < 14_400  # as many as the release counted, of 14,151
    assert list(rows.columns) == list(datasets.load("sample").schema.names)
    assert visitor.ledger() == ["1", visitor.usual, visitor.usual]


def test_the_menu_is_whole_and_class_size_has_it_above_the_page(visitor):
    visitor.open()
    about = visitor.page.get_by_test_id("stSidebar").get_by_role("link", name="About")
    expect(about).to_be_in_viewport(ratio=1)
    letters = "parseFloat(getComputedStyle(document.documentElement).fontSize)"
    plain = visitor.page.evaluate(letters)
    visitor.press("dpcore.class.True")
    assert visitor.page.url.endswith("?class=1")
    assert visitor.page.evaluate(letters) == pytest.approx(1.4 * plain)
    expect(visitor.page.get_by_test_id("stSidebar")).not_to_be_visible()
    visitor.press("home.try")
    assert visitor.page.url.endswith("?class=1")
    expect(visitor.page.get_by_role("link", name="Data", exact=True)).to_be_visible()
    visitor.press("dpcore.class.False")
    expect(about).to_be_in_viewport(ratio=1)
    assert "class" not in visitor.page.url
    visitor.open("ledger?class=1")
    expect(visitor.button("dpcore.class.False")).to_be_visible()


PAGES = [name for entries in SECTIONS.values() for name, *_ in entries]
# Seconds to an answer beside other tests; `python -m scripts.screens --run` for an idle computer.
BUSY = 1.5


@pytest.mark.parametrize("name", PAGES)
def test_nobody_has_to_learn_a_page(visitor, name):
    address = f"{visitor.address}/{'' if name == 'home' else name}"
    measured, late = {}, {}
    for screen in screens(visitor.page, name, address):
        measured[screen.name] = screen.over_limits()
        if screen.press:
            sys.stdout.write(f"{screen.name}: {screen.press}\n")
            if screen.press.answer is None or screen.press.answer > BUSY:
                late[screen.name] = screen.press
    assert late == {}
    assert {name: over for name, over in measured.items() if over} == {}

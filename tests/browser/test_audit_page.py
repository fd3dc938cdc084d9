"""Twin worlds before an audience: an attack that catches a printed method."""

import pytest
from playwright.sync_api import expect

from scripts.screenshots import settle

pytestmark = pytest.mark.browser

LONG = 180_000  # milliseconds; an attack on a busy computer


def test_a_printed_method_is_caught_in_letters_for_the_last_row(visitor):
    page = visitor.page
    visitor.open("audit")
    visitor.choose("Method", "Synthesize: DiffGen")
    slider = visitor.keyed("audit.trials").get_by_role("slider")
    slider.press("Home")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    settle(page)
    visitor.press("audit.run")
    verdict = visitor.keyed("verdict").get_by_role("heading").first
    expect(verdict).to_be_visible(timeout=LONG)
    assert verdict.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 32
    claimed, proved, found = visitor.metrics.all_inner_texts()[:3]
    assert (claimed, proved, float(found) > 1) == ("1", "no limit", True)
    expect(page.get_by_test_id("stVegaLiteChart").locator("svg.marks").filter(visible=True)).to_have_count(3)
    for size in ((1366, 768), (1920, 1080)):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        settle(page)
        expect(verdict).to_be_in_viewport()
        assert visitor.fits()

"""Compare methods: two of them chosen, run, seen, stopped half-way without a loss, and taken away."""

import io
import json
import re

import pandas as pd
import pytest
from playwright.sync_api import expect

from dpcore.experiment import COLUMNS, Config
from scripts.screenshots import settle

pytestmark = pytest.mark.browser

SECONDS = 240


def toggle(visitor, *names: str) -> None:
    for name in names:
        visitor.page.get_by_role("button", name=name, exact=True).click()
        settle(visitor.page)


def spent(visitor) -> tuple[int, float]:
    """Releases and epsilon that the side bar tells of."""
    releases, epsilon = re.search(r"Charged for them: (\d+) releases, epsilon ([\d.]+)", visitor.data_in_use).groups()
    return int(releases), float(epsilon)


def test_two_methods_are_compared_and_taken_away(visitor):
    visitor.open()
    visitor.go("Compare methods")
    page = visitor.page
    toggle(visitor, "Adaptive tables", "DiffPRFs", "DiffP-ID3", "0.1")
    visitor.number("Repeats", 2)
    expect(page.get_by_text("8 runs; together epsilon 10 (add or remove one row).")).to_be_visible()
    assert "Charged for them: nothing yet" in visitor.data_in_use
    visitor.press("Run")
    settle(page, SECONDS)
    cost = "These 8 runs together claim epsilon 10 and can cost up to 10 (add or remove one row)"
    expect(page.get_by_text(cost)).to_be_visible()
    assert spent(visitor) == (8, 10.0)
    for name in ("accuracy", "2-way distance", "Run time"):
        panel = visitor.tab(name)
        expect(panel.get_by_test_id("stVegaLiteChart").locator("canvas, svg").first).to_be_visible()
        expect(panel.get_by_text("The numbers behind this chart")).to_contain_text("do not publish")
    assert visitor.fits()
    visitor.tab("Take away")
    table = pd.read_csv(io.BytesIO(visitor.download("Runs (CSV)").path().read_bytes()))
    assert list(table.columns) == COLUMNS
    assert len(table) == 2 * 2 * 2 + 2 * 2
    text = visitor.download("Exactly what ran (JSON)").path().read_text(encoding="utf-8")
    config = Config.from_json(text)
    assert list(config.methods) == ["NB-Synth | corrected", "DiffP-ID3 | corrected"]
    assert json.loads(text)["data"]["name"] == "sample"
    assert spent(visitor) == (8, 10.0)


def test_cancel_keeps_what_is_finished_and_it_goes_on(visitor):
    visitor.open()
    visitor.go("Compare methods")
    page = visitor.page
    toggle(visitor, "Adaptive tables", "DiffPRFs")
    visitor.number("Repeats", 15)
    expect(page.get_by_text("45 runs; together epsilon 39 (add or remove one row).")).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text(re.compile(r"\b([4-9]|\d\d) of 45 runs"))).to_be_visible(timeout=1000 * SECONDS)
    page.get_by_role("button", name="Cancel").click()
    settle(page, SECONDS)
    told = page.get_by_text(re.compile("Stopped before it was finished: "))
    expect(told).to_be_visible()
    finished = int(re.search(r"(\d+) of 45", told.inner_text()).group(1))
    assert 4 <= finished < 45
    expect(page.get_by_test_id("stVegaLiteChart").locator("canvas, svg").first).to_be_visible()
    assert spent(visitor)[0] >= finished
    page.get_by_role("button", name="Go on", exact=True).click()
    settle(page, SECONDS)
    expect(page.get_by_text("These 45 runs together claim epsilon 39 and can cost up to 39")).to_be_visible()
    releases, _ = spent(visitor)
    assert 45 <= releases <= 45 + 8  # what workers had begun when they were stopped is charged, too

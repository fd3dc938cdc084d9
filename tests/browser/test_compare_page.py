"""Compare: methods chosen, run, stopped half-way without a loss, gone on with, and taken away."""

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
    visitor.number("Repeats", 20)
    visitor.run_button.click()
    under_way = page.get_by_text(re.compile(r"\b([4-9]|\d\d) of \d+ runs"))
    expect(under_way).to_be_visible(timeout=1000 * SECONDS)
    visitor.cancel_button.click()
    settle(page, SECONDS)
    stopped = page.get_by_text(re.compile("Stopped before it was finished: "))
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

"""From a stranger's file to a table that may be handed on: nine clicks, nobody in it, a guarantee for each person."""

import io
import json
import re
import zipfile

import pandas as pd
import pytest
import strangers
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

MOST_CLICKS = 9  # the upload among them
# A table, what must not be in the release, and whom the guarantee is for.
TABLES = {
    "visits": (strangers.visits, ["visit_id", "patient_id", "notes"], "person"),
    "customers": (lambda: strangers.customers(20_000), ["customerID"], "row"),
    "trips": (strangers.trips, ["trip", "rider_id"], "person"),
    "pupils": (strangers.pupils, ["email", "remarks"], "row"),
}
COUNT = "window.clicks = 0; addEventListener('click', event => { window.clicks += event.isTrusted }, true)"


@pytest.mark.parametrize("name", TABLES)
def test_from_home_to_the_zip(visitor, name):
    make, secret, whose = TABLES[name]
    frame = make()
    visitor.open()
    page = visitor.page
    page.evaluate(COUNT)
    visitor.press("Use my own data")
    visitor.load("A table about people", f"{name}.csv", frame.to_csv(index=False).encode())
    visitor.press("Round outward")
    page.get_by_role("button", name=re.compile(r"^Declare these \d+ lines")).click()
    expect(page.get_by_text("Read off your rows")).to_have_count(0)
    visitor.press("Use these data")
    visitor.press("Make a synthetic table (recommended)")
    expect(page.get_by_text("Noise: exactly sampled noise.")).to_be_visible()
    visitor.press("Run")
    visitor.press("Take home")
    raw = visitor.download("Download the release").path().read_bytes()
    assert page.evaluate("window.clicks") + 1 <= MOST_CLICKS

    archive = zipfile.ZipFile(io.BytesIO(raw))
    texts = "\n".join(archive.read(one).decode("utf-8", "ignore") for one in archive.namelist())
    for column in secret:
        values = frame[column].dropna().unique()[:200]
        assert not [value for value in values if len(value) > 3 and re.search(rf"\b{re.escape(value)}\b", texts)]
    rows = pd.read_csv(archive.open("synthetic.csv"))
    assert set(rows) <= set(frame) - {*secret}
    config = json.loads(archive.read("config.json"))
    ledger = json.loads(archive.read("ledger.json"))
    assert (config["schema_source"], config["parameters"]["noise"]) == ("declared", "auto")
    assert (ledger["status"], ledger["epsilon_bound"], ledger["unit"]) == ("finished", 1, f"one {whose}")

"""Trees and forests: a run, a tree looked at, predictions for files good and bad, and a model that comes back."""

import io
import json
import zipfile

import pandas as pd
import pytest
from playwright.sync_api import expect

from dpcore import datasets
from dpcore.export.model_file import Model
from scripts.screenshots import settle

pytestmark = pytest.mark.browser

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00"
ROWS = 50


def test_from_a_run_to_predictions_tomorrow(visitor):
    visitor.open()
    visitor.go("Trees & forests")
    page = visitor.page
    page.get_by_text("Trees: by rule").click()
    settle(page)
    visitor.number("Trees", 3)
    visitor.run()
    assert visitor.headline()[:2] == ["1", "1"]
    expect(visitor.metric("Trees")).to_have_text("3")

    panel = visitor.tab("Trees")
    for tree in ("1", "3"):
        visitor.number("Tree (1 to 3)", tree)
        expect(panel.locator("svg").get_by_text(f"Tree {tree} of 3", exact=True)).to_be_visible()
    chart = panel.get_by_test_id("stVegaLiteChart").first
    drawn, room = chart.locator("svg.marks").bounding_box(), chart.bounding_box()
    assert drawn["x"] + drawn["width"] <= room["x"] + room["width"] + 1, "the tree is wider than its place"
    expect(panel.get_by_text("Uses real data")).to_have_count(0)
    panel = visitor.tab("Where the budget went")
    expect(panel.get_by_text("one tree only")).to_be_visible()
    panel = visitor.tab("Accuracy")
    expect(panel.get_by_test_id("stVegaLiteChart")).to_have_count(3)
    expect(panel.locator("svg").get_by_text("Uses real data: do not publish")).to_have_count(3)
    assert visitor.fits()

    panel = visitor.tab("Predict")
    needed = datasets.load("sample").test.head(ROWS).drop(columns="income")
    lacking = needed.drop(columns="age").to_csv(index=False).encode()
    visitor.load("Rows to predict", "lacking.csv", lacking)
    visitor.refused("lacks what the model asks for: age")
    raw = needed.assign(note="=1+1").to_csv(index=False).encode()
    visitor.load("Rows to predict", "good.csv", raw)
    expect(panel.get_by_text(f"{ROWS} predictions for good.csv")).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text="What to do")).to_have_count(0)
    found = pd.read_csv(visitor.download("Download the predictions").path())
    assert len(found) == ROWS
    assert set(found["predicted income"]) <= {"<=50K", ">50K"}
    assert set(found["note"]) == {"'=1+1"}
    assert found["probability"].between(0, 1).all()

    visitor.tab("Take home")
    with zipfile.ZipFile(visitor.download("Download the release").path()) as archive:
        assert archive.testzip() is None
        assert json.loads(archive.read("config.json"))["parameters"]["n_trees"] == 3
        packed = archive.read("model.json")
    alone = visitor.download("Download the model alone").path().read_bytes()
    assert alone == packed
    model = Model.from_json(alone)
    assert (model.predict(needed) == found["predicted income"]).all()
    assert visitor.ledger() == ["1", "1", "1"]

    visitor.open()  # another day: a session without a release
    visitor.go("Trees & forests")
    page.get_by_text("Or predict with a model that was taken home earlier").click()
    settle(page)
    visitor.load("A model.json that was taken home", "photo.json", PNG)
    visitor.refused("no model that can be read")
    visitor.load("A model.json that was taken home", "model.json", alone)
    visitor.load("Rows to predict", "good.csv", raw)
    again = pd.read_csv(io.BytesIO(visitor.download("Download the predictions").path().read_bytes()))
    pd.testing.assert_frame_equal(again, found)
    visitor.go("Ledger")
    expect(page.get_by_test_id("stMetric")).to_have_count(0)

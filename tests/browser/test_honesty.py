"""What a release claims and what can be proved; and that looking at it, or stopping, draws and spends nothing."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def set_epsilon(visitor, steps: int, shown: str) -> None:
    slider = visitor.page.get_by_role("slider", name="Privacy budget epsilon")
    for _ in range(abs(steps)):
        slider.press("ArrowLeft" if steps < 0 else "ArrowRight")
    expect(visitor.page.get_by_text(f"Next run: epsilon {shown} (")).to_be_visible()


def test_the_paper_claims_one_and_thousands_can_be_proved(visitor):
    visitor.open("naive_bayes")
    visitor.page.get_by_text("As the paper prints it").click()
    expect(visitor.page.get_by_text("as the paper prints it, 20,000 rows")).to_be_visible()
    visitor.run()
    claimed, proved, _ = visitor.headline()
    assert claimed == "1"
    assert int(proved.replace(",", "")) >= 1000
    expect(visitor.page.get_by_role("alert").filter(has_text="The paper claims epsilon 1,")).to_contain_text(proved)
    visitor.tab("Price")
    expect(visitor.page.get_by_text("practically certain")).to_be_visible()
    visitor.tab("Take home")
    assert visitor.ledger() == ["1", claimed, proved]


def test_corrected_at_a_tenth(visitor):
    visitor.open("naive_bayes")
    set_epsilon(visitor, -6, "0.1")
    visitor.run()
    assert visitor.headline()[:2] == ["0.1", "0.1"]
    expect(visitor.page.get_by_role("alert")).to_have_count(0)
    visitor.tab("Accuracy")
    assert visitor.ledger() == ["1", "0.1", "0.1"]


def test_looking_draws_and_spends_nothing(visitor):
    visitor.try_now()
    page, before = visitor.page, visitor.headline()
    visitor.tab("Columns")
    visitor.choose("One column, value by value", "sex")
    visitor.tab("Pairs")
    visitor.choose("First column", "race")
    visitor.choose("Second column", "sex")
    visitor.tab("Take home")
    page.get_by_role("radio", name="parquet").click()
    page.get_by_text("Show the code").click()
    page.get_by_text("Settings", exact=True).click()
    set_epsilon(visitor, 3, "3")
    page.get_by_text("As the paper prints it").click()
    visitor.choose("Noise", "NumPy, whole numbers (teaching)")
    assert visitor.headline() == before
    assert visitor.ledger() == ["1", "1", "1"]
    visitor.go("Naive Bayes")
    assert visitor.headline() == before
    assert visitor.ledger() == ["1", "1", "1"]


def test_a_sweep_can_be_stopped(visitor):
    visitor.try_now()
    page, before = visitor.page, visitor.headline()
    visitor.tab("The paper's figures")
    repeats = page.get_by_role("spinbutton", name="Repeats")
    repeats.fill("20")
    repeats.press("Enter")
    expect(page.get_by_text("A repeat is 32 releases")).to_be_visible()
    page.get_by_role("button", name="Make this figure").click()
    expect(page.get_by_text(re.compile(r"Making releases: [1-9]\d+ done"))).to_be_visible()
    visitor.press("Cancel")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert visitor.headline() == before
    marks = page.get_by_role("tabpanel", name="The paper's figures").locator("svg .role-mark.mark-symbol path")
    expect(marks.first).to_be_visible()
    assert 10 <= marks.count() < 1000
    runs, claimed, _ = visitor.ledger()
    assert 10 < int(runs) < 641  # the release, and what the figure drew until then
    assert 1 < float(claimed) < 481  # charged for what was drawn, and not for all 640
    visitor.go("Naive Bayes")
    visitor.run()  # the page still works

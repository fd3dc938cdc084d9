"""A file of one's own, with names that would like to be markup."""

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from scripts.screenshots import settle

pytestmark = pytest.mark.browser

MARKUP = "<b>x</b>", "a.b[0]:Q", "[l](javascript:alert(1))", "**bold** :red[z] $x$"


def table(names) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    ill = rng.random(400) < 0.3
    columns = [
        np.where(ill, "Ulm", "Bonn"),
        np.where(ill, 60, 30) + rng.integers(0, 9, 400),
        np.where(ill, "yes", "no"),
    ]
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


def test_names_are_text_and_never_markup(visitor):
    frame = table(MARKUP[:3]).assign(
        **{MARKUP[3]: np.where(np.arange(400) % 3, "<i>v</i>", "[v](https://example.org)")}
    )
    visitor.open()
    visitor.upload("[f](javascript:1) <b>y</b>.csv", frame.to_csv(index=False).encode())
    page = visitor.page
    visitor.press("data.change")
    visitor.choose("Class column", MARKUP[2])
    page.keyboard.press("Escape")
    visitor.press("data.use")
    literal(page, "[f](javascript:1) <b>y</b>.csv")
    visitor.press("data.next")
    visitor.run()
    for index in range(page.get_by_role("tab").count()):
        page.get_by_role("tab").nth(index).click()
        settle(page)
        literal(page)
    panel = visitor.tab("Marginals")
    for name in MARKUP:
        expect(panel.locator("svg").get_by_text(name, exact=True).first).to_be_visible()
    bar = panel.locator("svg.marks").last.locator(".mark-rect.role-mark path, .mark-symbol.role-mark path").first
    bar.hover(force=True)
    tip = page.locator("#vg-tooltip-element")
    expect(tip).to_be_visible()
    assert any(name in tip.inner_text() for name in MARKUP)  # literally
    literal(page)
    visitor.go("ledger")
    literal(page, "[f](javascript:1) <b>y</b>.csv")


def test_from_a_file_to_a_zip_of_synthetic_rows_in_seven_presses(visitor):
    """Six from the first page, on which the file is chosen by one press."""
    rows = table(["visited", "age", "ill"]).assign(patient_id=[f"P{i % 150:03}" for i in range(400)])
    visitor.open("data")
    visitor.page.evaluate("() => { window.presses = 0; addEventListener('click', () => window.presses++, true); }")
    visitor.press("data.other")
    visitor.load("data.file", "visits.csv", rows.to_csv(index=False).encode())  # a press opens the list of files
    visitor.press("data.use")
    visitor.press("data.next")
    visitor.run()
    assert len(visitor.take_home()) > 10_000
    assert visitor.page.evaluate("presses") + 1 == 7
    assert "visits" in visitor.data_in_use


def test_from_a_file_to_a_mean_with_both_errors_in_six_presses(visitor):
    visitor.open("data")
    visitor.page.evaluate("() => { window.presses = 0; addEventListener('click', () => window.presses++, true); }")
    visitor.press("data.other")
    visitor.load("data.file", "visits.csv", table(["visited", "age", "ill"]).to_csv(index=False).encode())
    visitor.press("data.use")
    visitor.go("statistics")
    expect(visitor.keyed("before")).to_contain_text("mean of age by visited")
    visitor.run()
    assert visitor.page.evaluate("presses") + 1 <= 6  # and one that opens the list of files
    chart = visitor.page.get_by_test_id("stVegaLiteChart").locator("svg").first
    expect(chart.get_by_text("visited Bonn", exact=True)).to_be_visible()
    assert visitor.fits()


def test_who_is_protected_stays_as_a_question_was_answered(visitor):
    """Though the control that says the same was seen before, and said something else."""
    rows = table(["visited", "age", "ill"]).assign(case_id=[f"P{i % 150:03}" for i in range(400)])
    visitor.open()
    visitor.upload("visits.csv", rows.to_csv(index=False).encode())
    for _ in range(2):
        visitor.press("data.change")
        visitor.choose("Column that tells persons apart", "(none)")
        visitor.page.keyboard.press("Escape")
        visitor.button("data.answer.Yes").first.click()  # the other question is about the number of rows
        settle(visitor.page)
        visitor.press("data.other")  # and the page is drawn once more
        visitor.page.keyboard.press("Escape")
        settle(visitor.page)
        expect(visitor.keyed("data.bar")).to_contain_text("Protects one person (case_id)")


def literal(page, *shown):
    """No element was made of a person's names and values, and these texts are to be seen."""
    made = page.evaluate(
        """() => [...document.querySelectorAll('b, i, a, strong, em, .katex, span[style]')]
            .filter(e => e.closest('main, section, #vg-tooltip-element') && (
                /^(x|y|v|z|l|f|bold)$/.test(e.textContent.trim()) ||
                /javascript:|example\\.org/.test(e.getAttribute('href') || '')))
            .map(e => e.outerHTML)"""
    )
    assert made == []
    for text in shown:
        expect(page.get_by_text(text).filter(visible=True).first).to_be_visible()

"""A file of one's own: what is read off it, what is refused, and names that would like to be markup."""

import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from scripts.screenshots import settle, started

pytestmark = pytest.mark.browser

MARKUP = "<b>x</b>", "a.b[0]:Q", "[l](javascript:alert(1))", "**bold** :red[z] $x$"


def table(names=("city", "age", "ill")) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    ill = rng.random(400) < 0.3
    columns = [
        np.where(ill, "Ulm", "Bonn"),
        np.where(ill, 60, 30) + rng.integers(0, 9, 400),
        np.where(ill, "yes", "no"),
    ]
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


def test_upload_declare_and_run(visitor):
    visitor.open()
    visitor.press("Use my own data")
    expect(visitor.page.get_by_role("radio", name="My own file")).to_be_checked()
    visitor.upload("people.csv", table().to_csv(index=False).encode())
    page = visitor.page
    cells = page.get_by_test_id("stDataFrame").filter(visible=True).locator("canvas td")
    expect(cells.filter(has_text=re.compile("^(city|age|ill)$"))).to_have_count(3)
    lines = page.get_by_test_id("stTable").get_by_role("row")
    expect(lines).to_have_text(
        [re.compile("^city.*Bonn, Ulm$"), re.compile("^age.*30 to 68 "), re.compile("^ill.*no, yes$")]
    )
    expect(page.get_by_role("button", name="Declare these 3 lines")).to_be_disabled()
    assert "sample" in visitor.data_in_use  # nothing is in use before somebody says so

    visitor.declare()
    expect(lines).to_have_count(0)
    visitor.press("Use these data")
    expect(page.get_by_text("These data are in use now.")).to_be_visible()
    learn, test = map(
        int, re.findall(r"people\.csv · (\d+) rows to learn from, (\d+) to test on", visitor.data_in_use)[0]
    )
    assert learn + test == 400
    assert "no guarantee" not in visitor.data_in_use
    visitor.press("Make a synthetic table (recommended)")
    visitor.run()
    expect(page.get_by_text("the guarantee is void")).to_have_count(0)
    visitor.tab("Accuracy")
    expect(page.get_by_text(f"for {test} real rows that no method has seen")).to_be_visible()
    assert visitor.ledger() == ["1", "1", "1"]
    expect(page.get_by_role("heading", name="people.csv")).to_be_visible()
    cells = page.get_by_test_id("stDataFrame").filter(visible=True).locator("canvas td")
    expect(cells.filter(has_text="Adaptive tables, corrected mode")).to_have_count(1)


def test_without_a_declared_schema_a_run_is_asked_for_twice_and_listed_apart(visitor):
    visitor.open()
    visitor.upload("people.csv", table().to_csv(index=False).encode())
    visitor.press("Use these data")
    visitor.press("Make a synthetic table (recommended)")
    page = visitor.page
    page.get_by_role("button", name=re.compile("Run without a guarantee")).click()
    visitor.press("Go on without")
    expect(visitor.metric("Guarantee")).to_have_text("none")
    expect(page.get_by_role("button", name="Go on without")).to_have_count(0)
    visitor.press("Run without a guarantee")
    expect(visitor.metric("Guarantee")).to_have_text("none")
    assert visitor.ledger() == ["0", "none", "none"]
    expect(page.get_by_role("alert").filter(has_text="Listed apart: 2 releases without a guarantee")).to_be_visible()


def test_names_are_text_and_never_markup(visitor):
    frame = table(MARKUP[:3]).assign(
        **{MARKUP[3]: np.where(np.arange(400) % 3, "<i>v</i>", "[v](https://example.org)")}
    )
    visitor.open()
    visitor.upload("[f](javascript:1) <b>y</b>.csv", frame.to_csv(index=False).encode())
    page = visitor.page
    visitor.declare()
    visitor.choose("Class column", MARKUP[2])
    visitor.press("Use these data")
    literal(page, "[f](javascript:1) <b>y</b>.csv")
    visitor.press("Make a synthetic table (recommended)")
    visitor.run()
    literal(page)
    for tab in ("Price", "Columns", "Pairs", "Accuracy", "Take home"):
        panel = visitor.tab(tab)
        literal(page, *([MARKUP[2]] if tab == "Accuracy" else []))
        if tab == "Columns":
            for name in MARKUP:
                expect(panel.locator("svg").get_by_text(name, exact=True).first).to_be_visible()
                visitor.choose("One column, value by value", name)
                literal(page)
            tooltip(visitor, panel, MARKUP)
    visitor.tab("Draw again")
    visitor.press("Draw 20 more")
    literal(page)
    visitor.go("Ledger")
    literal(page, "[f](javascript:1) <b>y</b>.csv")


def tooltip(visitor, panel, names):
    """The last chart's tooltip shows a name literally."""
    bar = panel.locator("svg.marks").last.locator(".mark-rect.role-mark path, .mark-symbol.role-mark path").first
    bar.hover(force=True)
    tip = visitor.page.locator("#vg-tooltip-element")
    expect(tip).to_be_visible()
    assert any(name in tip.inner_text() for name in names)
    literal(visitor.page)


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


def in_own_words(page):
    """The sentence that own data are gone, which nobody has to scroll to."""
    told = page.get_by_role("alert").filter(has_text="This is a new session, with the bundled sample.")
    expect(told).to_be_visible()
    box = told.bounding_box()
    assert 0 <= box["y"] < box["y"] + box["height"] < page.viewport_size["height"]


def test_own_data_never_give_way_to_the_sample_in_silence(visitor, context, tmp_path):
    """Back keeps them; another tab, a refresh and another server say that they are gone."""
    page = context.new_page()  # of which nobody watches the console: it says that the server is gone
    with started(tmp_path / "first.log") as server:
        visitor = type(visitor)(page, server.address)
        visitor.open()
        visitor.upload("people.csv", table().to_csv(index=False).encode())
        visitor.declare()
        visitor.press("Use these data")
        visitor.press("Make a synthetic table (recommended)")
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Data & schema")
        settle(page)
        assert "people.csv" in visitor.data_in_use
        other = context.new_page()
        other.goto(page.url)
        in_own_words(other)
        other.close()
        page.reload()
        in_own_words(page)
    with started(tmp_path / "second.log", port=server.port):
        page.reload()
        in_own_words(page)
        visitor.press("Load my data again")
        expect(page.get_by_role("radio", name="My own file")).to_be_checked()
        expect(page.get_by_text("This is a new session")).to_have_count(0)
    page.close()

"""A file of one's own: what is read off it, what is refused, and names that would like to be markup."""

import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from dpcore.dashboard.sections.intake import SOURCES
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
    visitor.press("home.own")
    visitor.upload("people.csv", table().to_csv(index=False).encode())
    page = visitor.page
    cells = page.get_by_test_id("stDataFrame").filter(visible=True).locator("canvas td")
    expect(cells.filter(has_text=re.compile("^(city|age|ill)$"))).to_have_count(3)
    lines = page.get_by_test_id("stTable").get_by_role("row")
    expect(lines).to_have_text(
        [re.compile("^city.*Bonn, Ulm$"), re.compile("^age.*30 to 68 "), re.compile("^ill.*no, yes$")]
    )
    expect(visitor.button("data.declare")).to_be_disabled()
    assert "sample" in visitor.data_in_use  # nothing is in use before somebody says so
    visitor.declare()
    expect(lines).to_have_count(0)
    visitor.press("data.use")
    assert sum(map(int, re.findall(r"\b\d+\b", visitor.data_in_use.split("people.csv")[1])[:2])) == 400
    visitor.press("data.next")
    visitor.run()
    assert visitor.ledger() == ["1", visitor.usual, visitor.usual]
    expect(page.get_by_role("heading", name="people.csv")).to_be_visible()


def test_names_are_text_and_never_markup(visitor):
    frame = table(MARKUP[:3]).assign(
        **{MARKUP[3]: np.where(np.arange(400) % 3, "<i>v</i>", "[v](https://example.org)")}
    )
    visitor.open()
    visitor.upload("[f](javascript:1) <b>y</b>.csv", frame.to_csv(index=False).encode())
    page = visitor.page
    visitor.declare()
    visitor.choose("Class column", MARKUP[2])
    visitor.press("data.use")
    literal(page, "[f](javascript:1) <b>y</b>.csv")
    visitor.press("data.next")
    visitor.run()
    for place in range(page.get_by_role("tab").count()):
        page.get_by_role("tab").nth(place).click()
        settle(page)
        literal(page)
    panel = visitor.tab("Columns")
    for name in MARKUP:
        expect(panel.locator("svg").get_by_text(name, exact=True).first).to_be_visible()
    # The last chart's tooltip shows a name literally.
    bar = panel.locator("svg.marks").last.locator(".mark-rect.role-mark path, .mark-symbol.role-mark path").first
    bar.hover(force=True)
    tip = page.locator("#vg-tooltip-element")
    expect(tip).to_be_visible()
    assert any(name in tip.inner_text() for name in MARKUP)
    literal(page)
    visitor.go("ledger")
    literal(page, "[f](javascript:1) <b>y</b>.csv")


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
    """The page says that own data are gone, and how to have them again, where nobody has to scroll to."""
    expect(page.locator(".st-key-dpcore-load_again")).to_be_in_viewport(ratio=1)


def test_own_data_never_give_way_to_the_sample_in_silence(visitor, context, tmp_path):
    """Back keeps them; another tab, a refresh and another server say that they are gone."""
    page = context.new_page()  # of which nobody watches the console: it says that the server is gone
    with started(tmp_path / "first.log") as server:
        visitor = type(visitor)(page, server.address)
        visitor.open()
        visitor.upload("people.csv", table().to_csv(index=False).encode())
        visitor.declare()
        visitor.press("data.use")
        visitor.press("data.next")
        page.go_back()
        expect(page).to_have_url(re.compile("/data"))
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
        visitor.press("dpcore.load_again")
        expect(page.get_by_role("radio", name=SOURCES["upload"])).to_be_checked()
        expect(visitor.button("dpcore.load_again")).to_have_count(0)
    page.close()

"""Every page in both themes, and every kind of result, as axe sees it: nothing serious is ours; headings in order."""

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dpcore.dashboard.shell import SECTIONS

pytestmark = pytest.mark.browser

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
# Rule, and the closest element around what breaks it: Streamlit's own markup, which no page of ours can change.
STREAMLITS = [
    ["list", "[data-testid='stSidebarNavItems']"],  # the menu's sections are children of its list, and no items
    ["listitem", "[data-testid='stSidebarNavItems']"],
]
CHECK = """async ([known, only]) => {
    const rules = only ? {runOnly: {type: 'rule', values: only}} : {};
    const found = await axe.run(document, {resultTypes: ['violations'], iframes: false, preload: false, ...rules});
    return found.violations
        .filter(rule => ['serious', 'critical'].includes(rule.impact) || rule.id === 'heading-order')
        .flatMap(rule => rule.nodes.map(node => [rule.id, node]))
        .filter(([id, node]) => !known.some(([rule, place]) =>
            rule === id && document.querySelector(node.target.at(-1))?.closest(place)))
        .map(([id, node]) => `${id}: ${node.html.slice(0, 300)} ${node.failureSummary}`);
}"""
BACKGROUND = "getComputedStyle(document.querySelector('[data-testid=\"stApp\"]')).backgroundColor"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(14, 17, 23)"  # they follow the browser
PAGES = [name for entries in SECTIONS.values() for name, _, _ in entries if name != "home"]


@pytest.fixture(scope="module")
def axe() -> str:
    """The checker's code; skipped where it is not installed, unless DPCORE_REQUIRE_BROWSER says that it must be."""
    if not AXE.exists():
        lacking = "There is no axe-core: make browser installs it with npm."
        if os.environ.get("DPCORE_REQUIRE_BROWSER"):
            pytest.fail(lacking)
        pytest.skip(lacking)
    return AXE.read_text(encoding="utf-8")


@pytest.fixture
def inspected(visitor, axe):
    """Collect what is wrong with what the page shows; at the end nothing may have been."""
    wrong: dict[str, list[str]] = {}

    def inspect(where: str, only: list[str] | None = None) -> None:
        if not visitor.page.evaluate("'axe' in window"):
            visitor.page.evaluate(axe)
        if found := visitor.page.evaluate(CHECK, [STREAMLITS, only]):
            wrong[where] = found

    yield inspect
    assert not wrong, json.dumps(wrong, indent=1)


def test_every_page_and_every_kind_of_result(visitor, inspected):
    visitor.page.emulate_media(color_scheme="light")
    visitor.open("ledger")
    inspected("ledger, empty")
    visitor.try_now()
    visitor.page.wait_for_function(f"{BACKGROUND} === '{LIGHT}'")
    for tab in ("Marginals", "Accuracy", "Privacy", "Paper", "Download"):
        visitor.tab(tab)
        inspected(f"naive_bayes, {tab}")
    for name in PAGES:
        visitor.go(name)
        if name == "forests":
            visitor.run()
            visitor.tab("Model")
        inspected(name)
    visitor.go("data")
    visitor.press("data.other")
    inspected("data, before an upload")
    visitor.open()
    inspected("home")
    visitor.begin_lesson("price")
    expect(visitor.page.locator(".st-key-lesson")).to_be_visible()
    inspected("a lesson")


def test_the_dark_theme_has_other_colors_and_nothing_else(visitor, inspected):
    visitor.page.emulate_media(color_scheme="dark")
    visitor.try_now()
    visitor.page.wait_for_function(f"{BACKGROUND} === '{DARK}'")
    for name in PAGES:
        visitor.go(name)
        inspected(name, ["color-contrast"])

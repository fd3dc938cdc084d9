"""Every page in both themes, and every kind of result, as axe sees it: nothing serious is ours; headings in order."""

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dpcore.dashboard.sections.intake import SOURCES
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
THEMES = {"dark": "rgb(14, 17, 23)", "light": "rgb(255, 255, 255)"}  # they follow the browser


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


@pytest.mark.parametrize("theme", THEMES)
def test_every_page(visitor, inspected, theme):
    visitor.page.emulate_media(color_scheme=theme)
    only = ["color-contrast"] if theme == "dark" else None  # the dark theme has other colors, and nothing else
    visitor.try_now()
    visitor.page.wait_for_function(f"{BACKGROUND} === '{THEMES[theme]}'")
    for name in [name for entries in SECTIONS.values() for name, _, _ in entries]:
        visitor.go(name) if name != "home" else visitor.open()
        inspected(name, only)


def test_pages_with_results(visitor, inspected):
    page = visitor.page
    visitor.open("ledger")
    inspected("ledger, empty")
    visitor.try_now()
    for tab in ("Accuracy", "Take home"):
        visitor.tab(tab)
        inspected(f"naive_bayes, {tab}")
    visitor.go("forests")
    visitor.run()
    visitor.tab("Trees")
    inspected("forests, Trees")
    visitor.go("data")
    visitor.pick(SOURCES["upload"])
    inspected("data, before an upload")
    visitor.open()
    visitor.press("home.lesson.price")
    expect(page.locator(".st-key-lesson")).to_be_visible()
    inspected("a lesson")

"""Every page in both themes, and every kind of result, as axe sees it: nothing serious is ours; headings in order."""

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dpcore.dashboard.sections.intake import SOURCES
from dpcore.dashboard.shell import SECTIONS
from scripts.screenshots import settle

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
THEMES = {  # they follow the browser; the dark one has other colors, and nothing else
    "light": ("rgb(255, 255, 255)", None),
    "dark": ("rgb(14, 17, 23)", ["color-contrast"]),
}


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
    """Collect what is wrong with what the page shows, in both themes; at the end nothing may have been."""
    wrong: dict[str, list[str]] = {}

    def inspect(where: str) -> None:
        if not visitor.page.evaluate("'axe' in window"):
            visitor.page.evaluate(axe)
        for theme, (color, only) in THEMES.items():
            visitor.page.emulate_media(color_scheme=theme)
            visitor.page.wait_for_function(f"{BACKGROUND} === '{color}'")
            settle(visitor.page)
            if found := visitor.page.evaluate(CHECK, [STREAMLITS, only]):
                wrong[f"{where}, {theme}"] = found

    yield inspect
    assert not wrong, json.dumps(wrong, indent=1)


def test_every_page_and_every_kind_of_result(visitor, inspected):
    page = visitor.page
    visitor.open("ledger")
    inspected("ledger, empty")
    visitor.try_now()
    for tab in ("Accuracy", "Take home"):
        visitor.tab(tab)
        inspected(f"naive_bayes, {tab}")
    pages = [name for entries in SECTIONS.values() for name, _, _ in entries]
    for name in [name for name in pages if name not in ("home", "naive_bayes")]:
        visitor.go(name)
        if name == "forests":
            visitor.run()
            visitor.tab("Trees")
        inspected(name)
    visitor.go("data")
    visitor.pick(SOURCES["upload"])
    inspected("data, before an upload")
    visitor.open()
    inspected("home")
    visitor.press("home.lesson.price")
    expect(page.locator(".st-key-lesson")).to_be_visible()
    inspected("a lesson")

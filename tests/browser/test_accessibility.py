"""Every page, empty and with results, in both themes, as axe sees it: nothing serious is ours; headings in order."""

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dpcore.dashboard.shell import SECTIONS
from dpcore.language import LANGUAGES
from scripts.screenshots import settle

pytestmark = pytest.mark.browser

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
PAGES = [(name, title) for entries in SECTIONS.values() for name, title, _ in entries]
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
def inspected(visitor, axe, program):
    """Collect what is wrong with what the page shows; at the end nothing may have been."""
    wrong: dict[str, list[str]] = {}

    def inspect(where: str, only: list[str] | None = None) -> None:
        if not visitor.page.evaluate("'axe' in window"):
            visitor.page.evaluate(axe)
        if found := visitor.page.evaluate(CHECK, [STREAMLITS, only]):
            wrong[where] = found

    yield inspect
    assert not wrong, json.dumps(wrong, indent=1)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page(visitor, inspected, theme, language):
    visitor.speak(language)
    visitor.page.emulate_media(color_scheme=theme)
    only = ["color-contrast"] if theme == "dark" else None  # the dark theme has other colors, and nothing else
    visitor.try_now()
    for tab in ("Price", "Columns", "Accuracy", "Take home"):
        visitor.tab(tab)
        inspected(f"naive_bayes, {tab}", only)
    for name, title in PAGES:
        visitor.go(title)
        expect(visitor.page).to_have_title(f"{visitor.told(title)} · dpcore")
        inspected(name, only)


def test_pages_before_and_after_other_runs(visitor, inspected):
    page = visitor.page
    visitor.open("ledger")
    inspected("ledger, empty")
    visitor.press("Go to Naive Bayes")
    inspected("naive_bayes, empty")
    visitor.go("Trees & forests")
    visitor.run()
    for tab in ("Trees", "Where the budget went"):
        visitor.tab(tab)
        inspected(f"forests, {tab}")
    for title in ("Attacks", "Mechanisms"):
        visitor.go(title)
        for tab in page.get_by_role("tab").all_inner_texts()[1:]:
            visitor.tab(tab)
            inspected(f"{title}, {tab}")
    visitor.go("Data & schema")
    page.get_by_role("radio", name="My own file").click()
    settle(page)
    inspected("data, before an upload")
    visitor.go("Home")
    page.get_by_role("button", name="Start the lesson").first.click()
    expect(page.get_by_role("button", name="End the lesson")).to_be_visible()
    settle(page)
    inspected("a lesson")

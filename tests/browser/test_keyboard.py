"""Whole journeys with the keyboard alone: every key is pressed for the page, and what has the focus shows it."""

import pytest
from playwright.sync_api import expect

from scripts.screenshots import settle

pytestmark = pytest.mark.browser

MOST_STOPS, FEW_STOPS = 80, 12  # along a page; from the menu to Run
# What has the focus, in the words that a screen reader would say.
FOCUSED = """() => {
    const e = document.activeElement;
    const ids = e.getAttribute('aria-labelledby')?.split(' ');
    const by = ids?.map(id => document.getElementById(id)?.innerText).join(' ');
    const plain = text => (text || '').replace(/\\s+/g, ' ').trim();
    const role = {A: 'link', BUTTON: 'button', SUMMARY: 'summary', INPUT: e.type}[e.tagName];
    return [e.getAttribute('role') || role || e.tagName, plain(e.getAttribute('aria-label') || by || e.innerText)];
}"""
# How an element and what is drawn around it look: the ring may be its own, its parent's or its handle's. Streamlit's
# menu gives its links another background instead.
LOOK = """e => {
    const near = [e, e.parentElement, e.parentElement.parentElement, ...e.parentElement.querySelectorAll('*')];
    const rings = ['outlineStyle', 'outlineWidth', 'outlineColor', 'boxShadow', 'backgroundColor'];
    return near.map(n => getComputedStyle(n)).map(s => rings.map(ring => s[ring]).join(' ')).join('\\n');
}"""
AT_REST = "document.getAnimations().every(at => !(at instanceof CSSTransition) || at.playState === 'finished')"
INSIDE = """e => {
    const box = e.getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
}"""


class Hands:
    """A person without a mouse."""

    def __init__(self, visitor) -> None:
        self.visitor, self.page, self.keys = visitor, visitor.page, visitor.page.keyboard

    @property
    def focused(self) -> tuple[str, str]:
        role, name = self.page.evaluate(FOCUSED)
        return role, name

    def reach(self, role: str, name: str = "") -> int:
        """Tab on to the next of that role whose name ends so; see that it has the focus, and say after how many."""
        passed: list[tuple[str, str]] = []
        for _ in range(MOST_STOPS):
            self.keys.press("Tab")
            passed.append(self.focused)
            if passed[-1][0] == role and passed[-1][1].endswith(name):
                break
        else:
            pytest.fail(f"Tab does not reach {role} {name}, but {passed}")
        here = self.page.evaluate_handle("document.activeElement").as_element()
        self.page.wait_for_function(INSIDE, arg=here)
        self.keys.press("Shift+Tab")
        assert self.focused != passed[-1]
        self.page.wait_for_function(AT_REST)
        dim = here.evaluate(LOOK)
        self.keys.press("Tab")
        assert self.focused == passed[-1]
        self.page.wait_for_function(AT_REST)
        assert here.evaluate(LOOK) != dim, f"{role} {name} looks the same with and without the focus"
        return len(passed)

    def back(self, role: str, name: str) -> None:
        """Tab back to the one before."""
        for _ in range(MOST_STOPS):
            self.keys.press("Shift+Tab")
            if self.focused[0] == role and self.focused[1].endswith(name):
                return
        pytest.fail(f"Tab does not lead back to {role} {name}")

    def press(self, key: str) -> None:
        self.keys.press(key)
        settle(self.page)

    def wait_for(self, tab: str, last: str) -> None:
        """Until what a tab ends with is drawn: the page may take the focus away while it is built."""
        expect(self.page.get_by_role("tabpanel", name=tab).get_by_text(last)).to_be_visible()
        settle(self.page)

    def to_tab(self, name: str) -> None:
        """Along the tabs by the arrow keys, from the one that is open.

        Streamlit redraws the tabs one by one after their bar. One that is drawn a moment later than the bar is disabled
        meanwhile and so loses the focus; the browser still knows where it was: back and on again is the same tab.
        """
        self.reach("tab")
        for _ in range(10):
            if self.focused[1] == name:
                break
            before = self.page.get_by_role("tab", selected=True).inner_text()
            self.press("ArrowRight")
            if self.focused[0] == "BODY":
                self.press("Shift+Tab")
                self.reach("tab")
            assert self.focused[1] != before, f"The arrow does not lead on from {before}"
        assert self.focused == ("tab", name)
        if self.page.get_by_role("tab", name=name, exact=True).get_attribute("aria-selected") != "true":
            self.press("Enter")
        expect(self.page.get_by_role("tabpanel", name=name)).to_be_visible()


def test_from_home_to_take_home(visitor):
    visitor.open()
    hands, page = Hands(visitor), visitor.page
    hands.reach("button", "Try it now")
    hands.press("Enter")
    expect(visitor.metrics.first).to_contain_text("1 · ")
    hands.wait_for("Summary", "Show synthetic and real rows")
    for name in ("Ledger", "Naive Bayes"):
        hands.reach("link", name)  # past the page's end, around to the menu
        hands.press("Enter")
    page.wait_for_function("document.activeElement.tagName === 'H1'")
    assert hands.reach("button", "Run") <= FEW_STOPS
    hands.reach("range", "Epsilon (privacy budget)")
    hands.press("ArrowRight")
    hands.press("ArrowLeft")
    hands.press("ArrowLeft")
    hands.back("button", "Run")
    hands.press("Enter")
    expect(visitor.metrics.first).to_contain_text("0.7 · ")
    hands.wait_for("Summary", "Show synthetic and real rows")
    page.wait_for_function("document.activeElement.classList.contains('st-key-verdict')")  # what was asked for is heard
    hands.to_tab("Download")
    hands.reach("button", "sample-synthetic-eps0.7.zip")
    with page.expect_download() as started:
        hands.keys.press("Space")
    assert started.value.suggested_filename.endswith(".zip")
    hands.reach("link", "Ledger")
    hands.press("Enter")
    expect(visitor.metrics.nth(2)).to_have_text("1.7")

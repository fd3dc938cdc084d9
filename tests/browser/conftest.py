"""One dashboard and one Chromium for all journeys, and a visitor who notices what a page does behind the scenes."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Download,
    Locator,
    Page,
    TimeoutError,
    expect,
    sync_playwright,
)

from dpcore.language import ENGLISH, say, speaking
from scripts.screenshots import chromium, follow, go, launch, serving, settle

PATIENCE = 30_000  # milliseconds; a busy computer is not a failure
A_WHILE = 5_000  # milliseconds; a list that is not open by then was closed by a rerun, and is opened again
SETTLED = 120  # seconds
# Streamlit looks for its server below the deep link first, and is told that it is elsewhere.
KNOWN_NOISE = re.compile(r"status of 40[34] .*/(naive_bayes|ledger|data|forests|responses|compare|audit|home)/_stcore/")
MENUS = """
window.menus = new Set();
new MutationObserver(() => {
    for (const menu of document.querySelectorAll("[data-testid=stSidebarNav]")) menus.add(menu.innerText);
}).observe(document, {subtree: true, childList: true, characterData: true});
"""


class Visitor:
    """A person with a browser, who says what to press in the words on the screen; in English, whatever the screen's."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address, self.language = page, address, ENGLISH

    def speak(self, language: str) -> None:
        """Have a browser of that language from now on."""
        self.language = language
        self.page.add_init_script(f"Object.defineProperty(navigator, 'language', {{get: () => '{language}-XX'}})")

    def told(self, words: str) -> str:
        """Words as the screen says them."""
        with speaking(self.language):
            return say(words)

    def open(self, path: str = "") -> None:
        self.page.goto(f"{self.address}/{path}")
        expect(self.page.get_by_role("heading", level=1)).to_be_visible()
        settle(self.page, SETTLED)

    def open_first(self, path: str = "") -> None:
        """Open a server that nobody has visited yet; meanwhile its menu never lists files."""
        self.page.add_init_script(MENUS)
        self.open(path)
        menus = self.page.evaluate("[...menus]")
        assert any("Compare methods" in menu for menu in menus)
        assert not [menu for menu in menus if "naive bayes" in menu]

    def go(self, title: str) -> None:
        go(self.page, self.told(title))

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=self.told(name), exact=True).click()
        settle(self.page, SETTLED)

    def try_now(self) -> None:
        """From the first page to a release of the bundled sample."""
        self.open()
        self.press("Try it now")
        expect(self.metric("It can cost up to")).to_be_visible()

    def run(self) -> None:
        self.press("Run")
        expect(self.metric("It can cost up to")).to_be_visible()

    def tab(self, name: str) -> Locator:
        """Open a tab; its panel."""
        self.page.get_by_role("tab", name=self.told(name), exact=True).click()
        settle(self.page, SETTLED)
        return self.page.get_by_role("tabpanel", name=self.told(name))

    def choose(self, label: str, option: str, *, exact: bool = False) -> None:
        """Pick from a drop-down list. Scrolling and reruns close it, so it is opened until the option was picked."""
        box = self.page.get_by_role("combobox", name=label, exact=exact)
        choice = self.page.get_by_role("option", name=option, exact=True)
        for attempt in range(6):
            box.fill(option)  # long lists draw only what fits
            box.press("ArrowDown")
            try:
                choice.click(timeout=A_WHILE)
                break
            except TimeoutError:
                if attempt == 5:
                    raise
                self.page.keyboard.press("Escape")
        settle(self.page, SETTLED)

    def metric(self, label: str) -> Locator:
        found = self.page.get_by_test_id("stMetric").filter(has=self.page.get_by_text(self.told(label), exact=True))
        return found.get_by_test_id("stMetricValue")

    def headline(self) -> list[str]:
        return [self.metric(label).inner_text() for label in ("Claimed", "It can cost up to", "⚠ Run time")]

    def ledger(self) -> list[str]:
        """What the ledger page says of the only data set that was used: releases looked at, claimed, proved."""
        self.go("Ledger")
        labels = ("Releases looked at", "Claimed, in all", "It can cost up to, in all")
        return [self.metric(label).inner_text() for label in labels]

    def upload(self, name: str, content: bytes) -> None:
        """Hand over a file of one's own on the page Data & schema."""
        self.go("Data & schema")
        self.page.get_by_role("radio", name="My own file").click()
        settle(self.page, SETTLED)
        self.load("A table about people", name, content)
        expect(self.page.get_by_role("button", name=f"Remove {name}", exact=True)).to_be_visible()

    def declare(self) -> None:
        """Declare all lines that were read off the rows, their bounds rounded outward."""
        if self.page.get_by_role("button", name="Round outward", exact=True).is_enabled():
            self.press("Round outward")
        self.page.get_by_role("button", name=re.compile("^Declare th(ese|is) ")).click()
        settle(self.page, SETTLED)

    def load(self, words: str, name: str, content: bytes) -> None:
        """Hand over a file at the place that these words stand beside."""
        drop = self.page.get_by_test_id("stFileUploader").filter(has_text=words).filter(visible=True)
        taken = drop.locator("input[type=file]")
        expect(taken).to_have_count(1)  # a rerun may leave the one before it in place for a moment
        taken.set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": content})
        settle(self.page, SETTLED)

    def refused(self, cause: str) -> None:
        """The page says what is wrong and what to do."""
        expect(self.page.get_by_role("alert").filter(has_text=cause)).to_contain_text("What to do")
        expect(self.page.get_by_test_id("stException")).to_have_count(0)

    def number(self, label: str, value: object) -> None:
        """Type into a field."""
        box = self.page.get_by_role("spinbutton", name=label, exact=True)
        box.fill(str(value))
        box.press("Enter")
        settle(self.page, SETTLED)

    def fits(self) -> bool:
        """Nothing is wider than the window."""
        return bool(
            self.page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollWidth - innerWidth <= 0")
        )

    def download(self, name: str) -> Download:
        with self.page.expect_download(timeout=PATIENCE) as started:
            self.page.get_by_role("button", name=name).click()
        return started.value

    @property
    def data_in_use(self) -> str:
        return self.page.get_by_test_id("stSidebarUserContent").inner_text()


@pytest.fixture(scope="session")
def program() -> str:
    """Where Chromium is; skipped where there is none, unless DPCORE_REQUIRE_BROWSER says that it must be."""
    found = chromium()
    if found is None and os.environ.get("DPCORE_REQUIRE_BROWSER"):
        pytest.fail("There is no chromium, chromium-browser or google-chrome on PATH.")
    if found is None:
        pytest.skip("There is no chromium, chromium-browser or google-chrome on PATH.")
    return found


@pytest.fixture(scope="session")
def context(program: str) -> Iterator[BrowserContext]:
    """One browser for all, which loads Streamlit once. Every page in it has a session of its own."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = launch(playwright, program)
        found = browser.new_context(viewport={"width": 1366, "height": 768}, accept_downloads=True)
        found.set_default_timeout(PATIENCE)
        follow(found)
        found.tracing.start(snapshots=False)
        yield found
        found.tracing.stop()
        browser.close()


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dashboard") / "server.log"


@pytest.fixture(scope="session")
def address(program: str, log: Path) -> Iterator[str]:
    """The dashboard that all journeys share; each has a session of its own."""
    with serving(log) as found:
        yield found


@pytest.fixture
def visitor(
    context: BrowserContext, address: str, log: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Visitor]:
    """Somebody with the window of a common projector. Fails if the page reports an error or wants another computer."""
    before = log.stat().st_size
    context.tracing.start_chunk()
    page = context.new_page()
    seen = watch(page)
    yield Visitor(page, address)
    wrong = [*seen, *(["a traceback in the server's log"] if b"Traceback" in log.read_bytes()[before:] else [])]
    failed = bool(wrong) or getattr(request.node, "failed", True)
    if failed:
        page.screenshot(path=tmp_path / "page.png")
        sys.stdout.write(f"Screenshot and trace (playwright show-trace) in {tmp_path}\n")
    context.tracing.stop_chunk(path=tmp_path / "trace.zip" if failed else None)
    page.close()
    assert not wrong


def watch(page: Page) -> list[str]:
    """Errors of the page and requests to other computers, as they come."""
    seen: list[str] = []

    def elsewhere(address: str) -> None:
        if urlsplit(address).hostname not in ("127.0.0.1", None):
            seen.append(f"a request to {address}")

    def said(message: ConsoleMessage) -> None:
        text = f"{message.text} {message.location['url']}"
        if message.type == "error" and not KNOWN_NOISE.search(text):
            seen.append(f"on the console: {text}")

    def asked(dialog: Dialog) -> None:
        seen.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    page.on("request", lambda request: elsewhere(request.url))
    page.on("websocket", lambda socket: elsewhere(socket.url))
    page.on("pageerror", lambda error: seen.append(f"a page error: {error}"))
    page.on("console", said)
    page.on("dialog", asked)
    return seen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = yield
    if report.when == "call":
        item.failed = report.failed
    return report

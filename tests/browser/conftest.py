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
    Locator,
    Page,
    TimeoutError,
    expect,
    sync_playwright,
)

from dpcore.dashboard.shell import SECTIONS
from dpcore.methods.naive_bayes import NaiveBayesSynthesizer
from dpcore.text import number
from scripts.screenshots import chromium, follow, launch, serving, settle

PATIENCE = 120_000  # milliseconds; a busy computer is not a failure
A_WHILE = 5_000  # milliseconds; a list that is not open by then was closed by a rerun, and is opened again
SETTLED = 240  # seconds
NO_CLASS = r"[^\w-]"  # what Streamlit makes a hyphen of in the name of a key's class
TITLES = {name: title for entries in SECTIONS.values() for name, title, _ in entries}
# Streamlit looks for its server below the deep link first, and is told that it is elsewhere.
KNOWN_NOISE = re.compile(rf"status of 40[34] .*/({'|'.join(TITLES)})/_stcore/")
MENUS = """
window.menus = new Set();
new MutationObserver(() => {
    for (const menu of document.querySelectorAll("[data-testid=stSidebarNav]")) menus.add(menu.innerText);
}).observe(document, {subtree: true, childList: true, characterData: true});
"""


class Visitor:
    """A person with a browser, who finds buttons by their keys: what is written on them may change."""

    epsilon = NaiveBayesSynthesizer().epsilon
    usual = number(epsilon)  # as screens write what a run claims, and can cost, with which nothing was changed

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address

    def open(self, path: str = "") -> None:
        self.page.goto(f"{self.address}/{path}")
        expect(self.page.get_by_role("heading", level=1)).to_be_visible()
        settle(self.page, SETTLED)

    def open_first(self, path: str = "") -> None:
        """Open a server that nobody has visited yet; meanwhile its menu never lists files."""
        self.page.add_init_script(MENUS)
        self.open(path)
        menus = self.page.evaluate("[...menus]")
        assert any(TITLES["compare"] in menu for menu in menus)
        assert not [menu for menu in menus if "naive bayes" in menu]

    def go(self, page: str) -> None:
        """To another page, by the menu."""
        self.page.get_by_test_id("stSidebar").locator(f"a[href$='/{page}']").click()
        expect(self.page).to_have_url(re.compile(f"/{page}(\\?|$)"))
        settle(self.page, SETTLED)

    def keyed(self, key: str) -> Locator:
        """What was drawn under a key, or under one that begins so."""
        return self.page.locator(f"[class*='st-key-{re.sub(NO_CLASS, '-', key)}']").filter(visible=True)

    def button(self, key: str) -> Locator:
        return self.keyed(key).get_by_role("button")

    def press(self, key: str) -> None:
        self.button(key).click()
        settle(self.page, SETTLED)

    def pick(self, words: str) -> None:
        """One of a few options, all of which are seen."""
        self.page.get_by_role("radio", name=words).click()
        settle(self.page, SETTLED)

    def try_now(self) -> None:
        """From the first page to a release of the bundled sample."""
        self.open()
        self.press("home.try")
        expect(self.metrics.first).to_be_visible()

    def begin_lesson(self, name: str) -> None:
        """Begin a lesson from the first page."""
        self.page.get_by_role("button", name="Choose a lesson").click()
        self.button(f"home.lesson.{name}").click()

    @property
    def run_button(self) -> Locator:
        return self.page.locator("[class*='-run-'] button")

    @property
    def cancel_button(self) -> Locator:
        return self.page.locator("[class*='st-key-cancel-'] button").first

    def run(self) -> None:
        self.run_button.click()
        settle(self.page, SETTLED)
        expect(self.metrics.first).to_be_visible()

    @property
    def metrics(self) -> Locator:
        """The numbers in frames; a release's first one is what is proven."""
        return self.page.get_by_test_id("stMetricValue")

    def proven(self) -> str:
        """The epsilon that is proven of a release."""
        return self.metrics.first.inner_text().partition(" · ")[0]

    def ledger(self) -> list[str]:
        """What the ledger page says of the only data set that was used: releases looked at, claimed, proved."""
        self.go("ledger")
        return self.metrics.all_inner_texts()[:3]

    def tab(self, name: str, part: str = "") -> Locator:
        """Open a tab, and a part of it; its panel."""
        self.page.get_by_role("tab", name=name, exact=True).click()
        settle(self.page, SETTLED)
        if part:
            self.pick(part)
        return self.page.get_by_role("tabpanel", name=name)

    def take_home(self) -> bytes:
        """The release as a zip, from the last tab."""
        self.page.get_by_role("tab").last.click()
        settle(self.page, SETTLED)
        return self.download(f"{urlsplit(self.page.url).path.strip('/')}.download")

    def choose(self, label: str, option: str) -> None:
        """Pick from a drop-down list. Scrolling and reruns close it, so it is opened until the option was picked."""
        box = self.page.get_by_role("combobox", name=label, exact=True)
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

    def upload(self, name: str, content: bytes) -> None:
        """Hand over a file of one's own on the page Data."""
        self.go("data")
        self.press("data.other")
        self.load("data.file", name, content)
        expect(self.keyed("data.file")).to_have_count(0)  # what asks for it is closed again

    def load(self, key: str, name: str, content: bytes) -> None:
        """Hand over a file where one is asked for under this key."""
        taken = self.keyed(key).locator("input[type=file]")
        expect(taken).to_have_count(1)  # a rerun may leave the one before it in place for a moment
        taken.set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": content})
        settle(self.page, SETTLED)

    def refused(self, cause: str) -> None:
        """The page says what is wrong, and goes on."""
        expect(self.page.get_by_role("alert").filter(has_text=cause)).to_be_visible()
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

    def download(self, key: str) -> bytes:
        with self.page.expect_download(timeout=PATIENCE) as started:
            self.page.locator(f"[class~='st-key-{re.sub(NO_CLASS, '-', key)}'] button").click()
        return started.value.path().read_bytes()

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
        yield found
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
    page = context.new_page()
    seen = watch(page)
    yield Visitor(page, address)
    wrong = [*seen, *(["a traceback in the server's log"] if b"Traceback" in log.read_bytes()[before:] else [])]
    if wrong or getattr(request.node, "failed", True):
        page.screenshot(path=tmp_path / "page.png")
        sys.stdout.write(f"Screenshot in {tmp_path}\n")
    page.close()
    assert not wrong


@pytest.fixture
def person(visitor: Visitor, request: pytest.FixtureRequest) -> Visitor:
    """The visitor of the dashboard that a module serves by itself."""
    visitor.address = request.getfixturevalue("server").address
    return visitor


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

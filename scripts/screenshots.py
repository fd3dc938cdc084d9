"""Take screenshots of every page, for the README and to look at before a lecture.

    python -m scripts.screenshots [--out docs/images] [--size 1366x768] [--theme light] [--full]
                                  [--only home data]

The script starts a dashboard, drives Chromium (the one on PATH) through it, and writes PNGs such as
`naive-bayes-price-light-1366x768.png`. With `--full` the window is as tall as the page. All
pictures are made from the bundled sample, which is a private release.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "dpcore.dashboard")
SIZES, THEMES = ("1366x768", "1920x1080"), ("light", "dark")
PAGES = (
    "home",
    "data",
    "naive_bayes",
    "networks",
    "taxonomy",
    "forests",
    "responses",
    "attacks",
    "mechanisms",
    "compare",
    "audit",
    "ledger",
    "statistics",
)
QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # whatever asks for another computer finds none
)
START_SECONDS, IDLE_SECONDS = 60, 120
# Count what a page waits for. The first byte of a sent message tells whether it requests a script
# run. The fields of a received one (Protocol Buffers) tell whether a run began (4) and how it ended
# (6): 2 means that another run follows.
FOLLOW = """(() => {
    const [RERUN, FILES, BEGUN, ENDED, FOR_ANOTHER] = [0x5a, 0x82, 4, 6, 2];
    const waits = window.waits = {run: false, begun: false, uploads: 0, timers: new Set()};
    const plain = {set: setTimeout.bind(window), clear: clearTimeout.bind(window), open: XMLHttpRequest.prototype.open};
    const parse = bytes => {
        let at = 0;
        const number = () => {
            let found = 0;
            for (let factor = 1; ; factor *= 128) {
                found += (bytes[at] & 127) * factor;
                if (bytes[at++] < 128) return found;
            }
        };
        while (at < bytes.length) {
            const tag = number(), value = number();
            if (tag >> 3 === BEGUN) waits.begun = true;
            if (tag >> 3 === ENDED && waits.begun && value !== FOR_ANOTHER) waits.run = false;
            if (tag % 8 === 2) at += value;
        }
    };
    window.WebSocket = class extends WebSocket {
        constructor(...given) {
            super(...given);
            waits.run = false;
            this.addEventListener('message', event => parse(new Uint8Array(event.data)));
        }
        send(bytes) {
            if (bytes[0] === RERUN) Object.assign(waits, {run: true, begun: false});
            if (bytes[0] === FILES) waits.uploads++;
            super.send(bytes);
        }
    };
    XMLHttpRequest.prototype.open = function (method, ...given) {
        if (method.toUpperCase() === 'PUT') this.addEventListener('loadend', () => waits.uploads--);
        return plain.open.call(this, method, ...given);
    };
    window.setTimeout = (call, delay, ...given) => {
        if (typeof call !== 'function' || !(delay >= 100 && delay <= 300)) return plain.set(call, delay, ...given);
        const timer = plain.set(() => { waits.timers.delete(timer); call(...given); }, delay);
        waits.timers.add(timer);
        return timer;
    };
    window.clearTimeout = timer => { waits.timers.delete(timer); plain.clear(timer); };
})()"""
# Idle several times in a row: in between, a page may send a value before it waits for the answer.
IDLE = """() => {
    const app = document.querySelector('[data-testid="stApp"]'), waits = window.waits;
    const busy = !app || app.dataset.testScriptState !== 'notRunning' ||
        waits.run || waits.uploads || waits.timers.size || document.querySelector(
        '[data-testid="stSkeleton"], [data-testid="stAppSkeleton"], [data-stale="true"], ' +
        '[data-testid="stMain"] [data-testid="stProgress"]');
    waits.still = busy ? 0 : waits.still + 1;
    return waits.still > 3;
}"""


def chromium() -> str | None:
    """Return the path of Chromium; None if it is not on PATH."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def launch(playwright: Playwright, program: str) -> Browser:
    """Start a browser that can reach this computer only."""
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=program, args=[*QUIET, *root])


class Server(NamedTuple):
    """A running dashboard with its address."""

    address: str
    port: int
    process: subprocess.Popen[bytes]


@contextmanager
def serving(log: Path) -> Iterator[str]:
    """Run a dashboard on a free port for a `with` block, and yield its address."""
    with start_dashboard(log) as server:
        yield server.address


@contextmanager
def start_dashboard(
    log: Path, port: int = 0, command: Sequence[str] = COMMAND, folder: Path = ROOT
) -> Iterator[Server]:
    """Run a dashboard for a `with` block; port 0 means a free one.

    `command` starts the dashboard in `folder`; its output goes to `log`.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    options = ["--no-browser", "--port", str(port), "--server.fileWatcherType", "none"]
    with log.open("wb") as output:
        environment = {"DPCORE_LEDGER": "session", **os.environ}
        server = subprocess.Popen(
            [*command, *options], cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
        try:
            wait_for(server, f"{address}/_stcore/health", log)
            yield Server(address, port, server)
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def wait_for(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Wait until a server answers at an address; RuntimeError with its log if it does not."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            with urlopen(address, timeout=1):
                return
        except (URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"The dashboard did not start:\n{log.read_text(errors='replace')}")


@contextmanager
def visiting(parser: argparse.ArgumentParser) -> Iterator[tuple[Browser, str]]:
    """Run a browser and a dashboard for a `with` block, and yield the browser and the address."""
    if (program := chromium()) is None:
        parser.error("There is no Chromium on PATH; install one.")
    with (
        TemporaryDirectory() as folder,
        serving(Path(folder) / "server.log") as address,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright, program)
        yield browser, address
        browser.close()


def follow(context: BrowserContext) -> None:
    """Inject a script into a context's pages that tracks what `settle` waits for.

    Streamlit's page looks idle until the server has reported a running script. The script tracks
    unanswered messages, uploads, and timers of sliders and tables that wait for the next key.
    """
    context.add_init_script(FOLLOW)


def settle(page: Page, seconds: float = IDLE_SECONDS) -> None:
    """Wait until the dashboard has processed all input and drawn the result."""
    page.evaluate("waits.still = 0")
    page.wait_for_function(IDLE, timeout=seconds * 1000, polling=20)  # hidden pages are hardly painted


def go(page: Page, title: str) -> None:
    """Go to another page by the menu."""
    link = page.get_by_test_id("stSidebar").get_by_role("link", name=title)
    link.click()
    expect(link).to_have_attribute("aria-current", "page")
    settle(page)


def slug(text: str) -> str:
    """Return a text as a part of a file name."""
    return re.sub(r"[^a-z]+", "-", text.lower().replace("'", "")).strip("-")


def shoot(page: Page, path: Path, *, full: bool) -> None:
    """Take one screenshot; with `full`, of a window that is as tall as the page."""
    size = page.viewport_size
    assert size is not None
    page.mouse.move(size["width"] - 1, size["height"] // 2)
    expect(page.get_by_role("tooltip")).to_have_count(0)
    if not full and page.get_by_role("tablist").count():  # scroll to a release's charts
        locator = page.get_by_test_id("stMetric").or_(page.get_by_role("tablist"))
        locator.first.evaluate("e => { e.style.scrollMarginTop = '4.2rem'; e.scrollIntoView({behavior: 'instant'}); }")
    if full:
        for _ in range(2):  # charts may change their height with the window's
            tall = page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollHeight")
            page.set_viewport_size({"width": size["width"], "height": max(tall, size["height"])})
            settle(page)
    page.screenshot(path=path)
    print(path)
    page.set_viewport_size(size)


def tour(page: Page, address: str, only: Sequence[str], look: str, out: Path, *, full: bool) -> None:
    """Take screenshots of every page before and after Run, with every tab and its parts."""

    def save(*names: str) -> None:
        shoot(page, out / f"{'-'.join([*filter(None, map(slug, names)), look])}.png", full=full)

    for name in only:
        page.goto(f"{address}/{'' if name == 'home' else name}")
        settle(page)
        save(name)
        run = page.get_by_role("button", name="Run", exact=True)
        if run.count():
            run.click()
            settle(page)
            save(name, "run")
        tabs = page.get_by_role("tab").all_inner_texts()
        for tab in tabs:
            page.get_by_role("tab", name=tab, exact=True).click()
            settle(page)
            parts = page.get_by_role("tabpanel", name=tab).get_by_role("radiogroup").first.get_by_role("radio")
            for part in parts.all_inner_texts() or [""]:
                if part:
                    page.get_by_role("tabpanel", name=tab).get_by_role("radio", name=part, exact=True).click()
                    settle(page)
                save(name, tab, part)


def main(arguments: Sequence[str] | None = None) -> None:
    """Take the screenshots that the arguments select."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--size", nargs="+", default=SIZES, help="such as 1366x768")
    parser.add_argument("--theme", nargs="+", default=THEMES, choices=THEMES)
    parser.add_argument("--only", nargs="+", default=PAGES, choices=PAGES)
    parser.add_argument("--full", action="store_true", help="a window as tall as the page")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    with visiting(parser) as (browser, address):
        for size in chosen.size:
            width, height = map(int, size.split("x"))
            for theme in chosen.theme:
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
                follow(context)
                tour(context.new_page(), address, chosen.only, f"{theme}-{size}", chosen.out, full=chosen.full)
                context.close()


if __name__ == "__main__":
    main()

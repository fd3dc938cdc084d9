"""Measure how long a new user waits: imports in a new process, and Home on a new server.

    python -m benchmarks.start [--runs 5] [--folder another/checkout]
        [--command "python -m streamlit run app.py"]

The clocks start with the server's process, the last clock with the server's first answer. A client
of Streamlit's protocol, without a browser, reads the first page, then Home. "processors" is the
server's processor time when the title arrived. In Chromium, which runs already, the title must be
painted.
"""

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import Browser, sync_playwright

from scripts.screenshots import COMMAND, ROOT, chromium, launch, start_dashboard

sys.path.insert(0, str(ROOT / "tests" / "app"))
from protocol import Visitor

IMPORTS = {"nothing": "", "import dpcore": "import dpcore", "dp.Schema": "import dpcore as dp; dp.Schema"}


def process(code: str, folder: Path) -> float:
    """Return the seconds that a new process takes to run a piece of code."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder)
    return time.perf_counter() - begin


class Guest(Visitor):
    """Client that notes when the title arrived, and the server's processor time until then."""

    process, came, used = 0, 0.0, 0.0

    def keep(self, delta: Any) -> None:
        """Handle a message of the server."""
        if not self.came and delta.new_element.WhichOneof("type") == "heading":
            self.came = time.perf_counter()
            times = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
            self.used = sum(map(int, times[11:13])) / os.sysconf("SC_CLK_TCK")
        super().keep(delta)


def time_to_page(log: Path, command: list[str], folder: Path) -> tuple[float, float, float, float]:
    """Return the seconds from a server's start to its first page, Home's title and all of Home.

    The last number is the server's processor seconds.
    """
    begin = time.perf_counter()
    with start_dashboard(log, command=command, folder=folder) as server:
        with urlopen(server.address) as page:
            page.read()
        first = time.perf_counter()
        with Guest(server.address) as guest:
            guest.process = server.process.pid
            guest.open("")
        return first - begin, guest.came - begin, time.perf_counter() - begin, guest.used


def home(browser: Browser, log: Path, command: list[str], folder: Path) -> tuple[float, float]:
    """Return the seconds to the title of Home, from a server's start and from its first answer."""
    with browser.new_context(viewport={"width": 1366, "height": 768}) as context:
        page = context.new_page()
        begin = time.perf_counter()
        with start_dashboard(log, command=command, folder=folder) as server:
            answered = time.perf_counter()
            page.goto(server.address)
            page.get_by_role("heading", level=1).wait_for()
            end = time.perf_counter()
            return end - begin, end - answered


def tell(what: str, seconds: list[float]) -> None:
    """Print the median and the range of some seconds."""
    print(f"{what:15} {statistics.median(seconds):6.2f} s  ({min(seconds):.2f} to {max(seconds):.2f})")


def main() -> None:
    """Print all times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=ROOT)
    parser.add_argument("--command", type=shlex.split, default=list(COMMAND))
    given = parser.parse_args()
    for what, code in IMPORTS.items():
        tell(what, [process(code, given.folder) for _ in range(given.runs)])
    with TemporaryDirectory() as folder:
        heard = [time_to_page(Path(folder) / "log", given.command, given.folder) for _ in range(given.runs)]
    for what, seconds in zip(
        ("first page", "title sent", "Home sent", "processors"), zip(*heard, strict=True), strict=True
    ):
        tell(what, list(seconds))
    program = chromium()
    if program is None:
        sys.exit("Chromium is not on PATH.")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser, log = launch(playwright, program), Path(folder) / "log"
        found = [home(browser, log, given.command, given.folder) for _ in range(given.runs)]
        for what, seconds in zip(("Home", "once it answers"), zip(*found, strict=True), strict=True):
            tell(what, list(seconds))
        browser.close()


if __name__ == "__main__":
    main()

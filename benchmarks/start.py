"""How long a new user waits: imports in a fresh process, and Home on a fresh server.

    python -m benchmarks.start [--runs 5] [--folder another/checkout --command "python -m streamlit run app.py"]

The clocks of Home start with the server's process and with its first answer, with Chromium running, and stop when the
title is painted.
"""

import argparse
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

from scripts.screenshots import COMMAND, ROOT, chromium, launch, started

IMPORTS = {"nothing": "", "import dpcore": "import dpcore", "dp.Schema": "import dpcore as dp; dp.Schema"}


def process(code: str, folder: Path) -> float:
    """Seconds that a fresh process takes for it."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder)
    return time.perf_counter() - begin


def home(browser: Browser, log: Path, command: list[str], folder: Path) -> tuple[float, float]:
    """Seconds from the start of a server's process, and from its first answer, to the title of Home."""
    with browser.new_context(viewport={"width": 1366, "height": 768}) as context:
        page = context.new_page()
        begin = time.perf_counter()
        with started(log, command=command, folder=folder) as server:
            answered = time.perf_counter()
            page.goto(server.address)
            page.get_by_role("heading", level=1).wait_for()
            end = time.perf_counter()
            return end - begin, end - answered


def tell(what: str, seconds: list[float]) -> None:
    print(f"{what:15} {statistics.median(seconds):6.2f} s  ({min(seconds):.2f} to {max(seconds):.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=ROOT)
    parser.add_argument("--command", type=shlex.split, default=list(COMMAND))
    given = parser.parse_args()
    for what, code in IMPORTS.items():
        tell(what, [process(code, given.folder) for _ in range(given.runs)])
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

"""The pictures of the README and of three how-tos, made from the bundled sample.

    python -m scripts.readme_images [--out docs/images]

Releases are drawn anew, so that pictures differ a little from time to time.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Locator, Page

from scripts.screenshots import ROOT, follow, go, released, settle, visiting

SIZE = {"width": 1366, "height": 768}


def pictures(page: Page, address: str, out: Path) -> None:
    """Walk through the pages as a visitor, and keep four views."""

    def keep(name: str, at: Locator | None = None) -> None:
        if at is not None:
            at.evaluate("e => { e.style.scrollMarginTop = '5rem'; e.scrollIntoView({behavior: 'instant'}); }")
        page.mouse.move(SIZE["width"] - 1, SIZE["height"] // 2)
        settle(page)
        page.screenshot(path=out / f"{name}.png")
        print(out / f"{name}.png")

    def run() -> None:
        page.get_by_role("button", name="Run", exact=True).click()
        settle(page)

    page.goto(address)
    page.get_by_role("button", name="Try it now").click()
    page.get_by_role("tab", name="Columns").wait_for()
    settle(page)
    released(page, "As the paper prints it", "Algorithm 2: random rows, labels by the exponential mechanism")
    page.get_by_role("tab", name="Columns").click()
    settle(page)
    keep("release", page.get_by_test_id("stMetric").first)
    go(page, "Compare")
    run()
    keep("compare", page.get_by_role("tablist").first)
    go(page, "Audit")
    run()
    keep("twin-worlds", page.get_by_test_id("stSlider").first)
    go(page, "Ledger")
    keep("ledger")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    with visiting(parser) as (browser, address):
        context = browser.new_context(viewport=SIZE, color_scheme="light")
        follow(context)
        pictures(context.new_page(), address, chosen.out)


if __name__ == "__main__":
    main()

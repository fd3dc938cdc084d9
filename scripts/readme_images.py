"""Make the pictures of the README and of three how-tos from the bundled sample.

    python -m scripts.readme_images [--out docs/images]

Each call makes new releases, so the pictures differ a little.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page

from scripts.screenshots import ROOT, follow, go, settle, visiting

SIZE = {"width": 1366, "height": 768}


def pictures(page: Page, address: str, out: Path) -> None:
    """Visit the pages as a user would, and save four screenshots."""

    def press(button: str) -> None:
        page.get_by_role("button", name=button).click()
        settle(page)

    def keep(name: str) -> None:
        page.mouse.move(SIZE["width"] - 1, SIZE["height"] // 2)
        settle(page)
        page.screenshot(path=out / f"{name}.png")
        print(out / f"{name}.png")

    page.goto(address)
    go(page, "Naive Bayes")
    page.get_by_role("combobox", name="Method").click()
    page.get_by_role("option", name="Algorithm 2").click()
    settle(page)
    press("Run")
    keep("release")
    go(page, "Compare")
    press("Which method keeps most?")
    keep("compare")
    go(page, "Audit")
    press("Run")
    keep("twin-worlds")
    go(page, "Ledger")
    keep("ledger")


def main(arguments: Sequence[str] | None = None) -> None:
    """Start a dashboard and make the pictures."""
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

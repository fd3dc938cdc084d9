"""Count what the first screen of each page shows to a new user.

    python -m scripts.screens [--page networks data] [--size 1366x768] [--text]
    python -m scripts.screens --check       non-zero if a limit below is passed
    python -m scripts.screens --run         only the seconds to the answer to Run

The script starts a dashboard and drives Chromium through the pages of its menu. The first screen is
what the window shows before any scrolling; on a page with Run, before and after a run:

- words: in texts and filled fields of the main part of the page. Not counted are words in charts
  and tables of data, in closed drawers, lists and popovers, in help, and Streamlit's own.
- controls: buttons, popovers, drawers, sliders, lists, fields, uploaders, toggles, and links drawn
  as buttons. A group of options is one control. Not counted are tabs, help marks, and the buttons
  above a chart.
- tabs: all tabs of the page.
- settings: pixels from the top of the page to the end of the container with the key `settings`; if
  there is none but a button Run, to the first result below the button.
- menu: links of the menu that are completely in the window.
- chart: whether the first chart outside the settings is completely in the window; also at
  1920x1080.
- behind a press: words of each drawer, popover or tab in view, once it is open: all words of
  drawers and popovers, of tabs those that the window then shows.
- answer: seconds from the press of Run to a progress bar, or a button with another name, at most 60
  pixels from Run. A busy computer makes them longer: `--run` prints its load.

A number with ! exceeds its limit.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Locator, Page, expect

from scripts.screenshots import follow, settle, visiting

WORDS, CONTROLS, SETTINGS, BEHIND, ANSWER = 80, 8, 260, 120, 0.3
TABS, MODEL = 6, "Model"  # one more where a tab is called so
HEADS = ["words", "controls", "tabs", "settings", "menu", "chart", "1920x1080", "answer", "done"]
WIDE = {"width": 1920, "height": 1080}
LATER = {"ledger": "naive_bayes"}  # pages that say more after a run on another
PRESSES = 3  # of Run on each page, if these are measured alone
SCRIPT = Path(__file__).with_suffix(".js")
WAIT, LONGEST = 120_000, 300  # milliseconds until a page is there; seconds for a run


class Press(NamedTuple):
    """Seconds from the press of Run to an answer near it, until it rests, and to the end."""

    answer: float | None
    rests: float | None
    total: float

    @property
    def late(self) -> bool:
        """True if the answer took longer than its limit."""
        return self.answer is None or self.answer > ANSWER


class Screen(NamedTuple):
    """Measurements of one first screen."""

    name: str
    words: list[str]
    controls: list[str]
    tabs: list[str]
    settings: int | None
    menu: list[bool]
    chart: bool | None
    wide_chart: bool | None
    openings: dict[str, list[int]]  # counted words and all words, by opener
    press: Press | None = None  # the press of Run before this screen

    def counts(self) -> dict[str, tuple[int | None, int]]:
        """Return each count with its limit."""
        return {
            "words": (len(self.words), WORDS),
            "controls": (len(self.controls), CONTROLS),
            "tabs": (len(self.tabs), TABS + (MODEL in self.tabs)),
            "settings": (self.settings, SETTINGS),
        }

    def over_limits(self) -> dict[str, int | str]:
        """Return the names and values of the counts that exceed their limits."""
        counts = self.counts()
        counts |= {f"behind {name}": (count, BEHIND) for name, (count, _) in self.openings.items()}
        views = {"menu": all(self.menu), "chart": self.chart, "wide chart": self.wide_chart}
        found = {name: count for name, (count, most) in counts.items() if (count or 0) > most}
        return found | {name: "cut" for name, view in views.items() if view is False}


def open_page(page: Page, address: str) -> None:
    """Open a page by its address, in a session of its own."""
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=WAIT)
    settle(page)
    page.evaluate(SCRIPT.read_text(encoding="utf-8"))


def menu(page: Page) -> dict[str, str]:
    """Return the addresses of the menu's pages by their last part."""
    found = page.evaluate("screen_of.links().map(link => link.href)")
    return {address.rpartition("/")[2] or "home": address for address in found}


def run_button(page: Page) -> Locator:
    """Return the visible button Run of the page."""
    found = page.get_by_test_id("stMain").get_by_role("button", name="Run", exact=True)
    return found.filter(visible=True).first


def press_run(page: Page) -> Press:
    """Press Run and return how soon the page answers near the button."""
    page.bring_to_front()  # browsers hardly paint a hidden page
    run_button(page).scroll_into_view_if_needed()
    run_button(page).evaluate("button => screen_of.watch(button)")
    run_button(page).click()
    settle(page, LONGEST)
    seconds = page.evaluate("[press.answer, press.rests, performance.now() - press.start]")
    page.evaluate("screen_of.to_top()")
    return Press(*(None if one is None else round(one / 1000, 3) for one in seconds))


def first_screen(
    page: Page,
    name: str,
    known: Sequence[str] = (),
    press: Press | None = None,
) -> Screen:
    """Measure the current screen; openers in `known` were measured before."""
    size, run = page.viewport_size, run_button(page)
    assert size is not None
    button = run.element_handle() if run.count() else None
    found = page.evaluate("button => screen_of.measure(button)", button)
    page.set_viewport_size(WIDE)
    settle(page)
    wide = page.evaluate("screen_of.chart()")
    page.set_viewport_size(size)
    settle(page)
    names = [one for one in dict.fromkeys(page.evaluate("screen_of.openers()")) if one not in known]
    openings = {one: words for one in names if (words := words_behind(page, one)) is not None}
    return Screen(name, **found, wide_chart=wide, openings=openings, press=press)


def words_behind(page: Page, name: str) -> list[int] | None:
    """Open a drawer, popover or tab, and return its counted words and all its words.

    None if it is not on the page any more.
    """
    opener = page.evaluate_handle("name => screen_of.opener(name)", name).as_element()
    if opener is None:
        return None
    opener.click()
    settle(page)
    found: list[int] = opener.evaluate("opener => screen_of.behind(opener)")
    kind = opener.get_attribute("data-testid")
    if kind == "stPopoverButton":
        page.keyboard.press("Escape")
    elif kind != "stTab":
        opener.click()
        is_closed = "opener => !(opener.isConnected && opener.closest('details').open)"
        page.wait_for_function(is_closed, arg=opener)
    settle(page)
    page.evaluate("screen_of.to_top()")
    return found


def screens(page: Page, name: str, address: str) -> Iterator[Screen]:
    """Yield the first screen of a page, and once more after Run if the page has one."""
    open_page(page, address)
    runs = run_button(page).count() > 0
    yield (first := first_screen(page, name))
    if runs:
        open_page(page, address)
        press = press_run(page)
        yield first_screen(page, f"{name}, after Run", list(first.openings), press)
    if name in LATER:
        open_page(page, address.replace(name, LATER[name]))
        press_run(page)
        page.get_by_test_id("stSidebar").locator(f"a[href$='/{name}']").click()
        settle(page)
        page.evaluate("screen_of.to_top()")
        yield first_screen(page, f"{name}, after a run", list(first.openings))


def row(screen: Screen) -> str:
    """Return a line of the printed table."""
    over, views = screen.over_limits(), {True: "whole", False: "cut!", None: "-"}
    counts: dict[str, object] = {name: count for name, (count, _) in screen.counts().items()}
    counts["menu"] = f"{sum(screen.menu)}/{len(screen.menu)}"
    cells = [mark(count, over=name in over) for name, count in counts.items()]
    cells += [views[screen.chart], views[screen.wide_chart], *answer(screen.press)]
    return f"{screen.name:28}" + "".join(f"{cell:>10}" for cell in cells)


def mark(value: object, *, over: bool) -> str:
    """Return a number as text, with "!" if it exceeds its limit."""
    return "-" if value is None else f"{value}{'!' * over}"


def answer(press: Press | None) -> list[str]:
    """Return the seconds to the answer and to the end of a run as text."""
    if press is None:
        return ["-"] * 2
    seconds = "none" if press.answer is None else f"{press.answer:.2f}"
    return [mark(seconds, over=press.late), f"{press.total:.2f}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the pages that the arguments select; return 1 if --check finds an exceeded limit."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--page", nargs="+", help="as in addresses, such as home, data, networks")
    parser.add_argument("--size", default="1366x768", help="size of the window")
    parser.add_argument("--text", action="store_true", help="print the counted words and controls")
    parser.add_argument("--check", action="store_true", help="fail if a limit is exceeded")
    parser.add_argument("--run", action="store_true", help="measure only the answer to Run")
    chosen = parser.parse_args(arguments)
    width, height = map(int, chosen.size.split("x"))
    failed = False
    with visiting(parser) as (browser, address):
        context = browser.new_context(viewport={"width": width, "height": height})
        follow(context)
        page = context.new_page()
        open_page(page, address)
        print(f"{'':28}" + "".join(f"{head:>10}" for head in HEADS), flush=True)
        for name, link in menu(page).items():
            if chosen.page and name not in chosen.page:
                continue
            if chosen.run:
                open_page(page, link)
                for _ in range(PRESSES if run_button(page).count() else 0):
                    press = press_run(page)
                    load = f"load {os.getloadavg()[0]:.1f}"
                    print(f"{name:28}", *answer(press), press, load, flush=True)
                    failed |= press.late
                continue
            for screen in screens(page, name, link):
                print(row(screen), flush=True)
                for opener, (counted, every) in screen.openings.items():
                    number = mark(counted, over=counted > BEHIND)
                    print(f"    {opener}: {number} words ({every} in all)")
                if chosen.text:
                    print(f"    {' '.join(screen.words)}\n    {' | '.join(screen.controls)}")
                failed |= bool(screen.over_limits())
    return int(chosen.check and failed)


if __name__ == "__main__":
    sys.exit(main())

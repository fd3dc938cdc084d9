"""First screens at 1366x768 stay within limits, and Run answers where it was pressed."""

import sys

import pytest

from dpcore.dashboard.shell import SECTIONS
from scripts.screens import screens

pytestmark = pytest.mark.browser

PAGES = [name for entries in SECTIONS.values() for name, *_ in entries]
# Seconds to an answer beside other tests; `python -m scripts.screens --run` for an idle computer.
BUSY = 1.5


@pytest.mark.parametrize("name", PAGES)
def test_nobody_has_to_learn_a_page(visitor, name):
    address = f"{visitor.address}/{'' if name == 'home' else name}"
    measured, late = {}, {}
    for screen in screens(visitor.page, name, address):
        measured[screen.name] = screen.over_limits()
        if screen.press:
            sys.stdout.write(f"{screen.name}: {screen.press}\n")
            if screen.press.answer is None or screen.press.answer > BUSY:
                late[screen.name] = screen.press
    assert late == {}
    assert {name: over for name, over in measured.items() if over} == {}

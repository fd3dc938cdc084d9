"""Every file in pages/ can be drawn, alone and with the sample. All that pages do is tested with `make app`."""

import pytest
from driving import PAGES, ROOT, TIMEOUT, run
from screen import books, charts, said
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.shell import TITLES


@pytest.fixture
def quick_sample() -> None:
    """The whole sample."""


def test_pages_are_those_of_the_menu() -> None:
    assert set(PAGES) == set(TITLES)


@pytest.mark.parametrize("page", PAGES)
def test_page_alone(page: str) -> None:
    at = run(AppTest.from_file(ROOT / "pages" / f"{page}.py", default_timeout=TIMEOUT))
    titles = {"home": "See what privacy costs", "attacks": "Why removing names is not enough"}
    assert [title.value for title in at.title] == [titles.get(page, TITLES[page][0])]
    assert at.sidebar.markdown[0].value.startswith("**sample**")
    assert not at.error
    first, drawn = said(at), charts(at)
    assert said(run(at)) == first
    assert len(charts(at)) == len(drawn)
    assert books(at) == {}  # nobody asked for anything

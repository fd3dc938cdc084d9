"""Every file in pages/ can be drawn, alone and with the sample. All that pages do is tested with `make app`."""

from pathlib import Path

import pytest
from altair.utils import schemapi
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.shell import TITLES

PAGES = sorted(Path(__file__).parents[2].glob("pages/*.py"))


def test_pages_are_those_of_the_menu() -> None:
    assert {path.stem for path in PAGES} == set(TITLES)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_page_alone(page: Path, monkeypatch) -> None:
    monkeypatch.setattr(schemapi, "DEBUG_MODE", False)  # charts are checked by their own tests
    at = AppTest.from_file(page, default_timeout=600).run()
    assert not at.exception, [(each.message, list(each.stack_trace)) for each in at.exception]
    assert not at.error
    titles = {"home": "See what privacy costs", "attacks": "Why removing names is not enough"}
    assert [title.value for title in at.title] == [titles.get(page.stem, TITLES[page.stem][0])]
    assert at.sidebar.markdown[0].value.startswith("**sample**")
    assert not at.session_state.get("dpcore.accounts", {})  # nobody asked for anything
    drawn = [str(each.value) for each in at.main.markdown]
    assert [str(each.value) for each in at.run().main.markdown] == drawn

"""Every file in pages/ can be drawn, alone and with the sample. All that pages do is tested with `make app`."""

from pathlib import Path

import pytest
from altair.utils import schemapi
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.shell import TITLES


@pytest.mark.parametrize("page", TITLES)
def test_page_alone(page: str, monkeypatch) -> None:
    monkeypatch.setattr(schemapi, "DEBUG_MODE", False)  # charts are checked by their own tests
    at = AppTest.from_file(Path(__file__).parents[2] / "pages" / f"{page}.py", default_timeout=600).run()
    assert not at.exception, [(each.message, list(each.stack_trace)) for each in at.exception]
    assert not at.error
    assert len(at.title) == 1
    assert at.sidebar.markdown[0].value.startswith("**sample**")
    assert not at.session_state.get("dpcore.accounts", {})  # nobody asked for anything

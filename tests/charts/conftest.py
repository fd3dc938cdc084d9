"""Parts of charts are checked against Vega-Lite's schema by the rules of all pictures and by their record, once."""

import pytest
from altair.utils import schemapi


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    monkeypatch.setattr(schemapi, "DEBUG_MODE", False)

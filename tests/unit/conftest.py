"""Fixtures of the unit tests."""

import pytest
import vl_convert
from sources import Watched

import dpcore.estimator


@pytest.fixture
def watched(monkeypatch):
    source = Watched()
    monkeypatch.setattr(dpcore.estimator, "make_noise", lambda *_: source)
    return source


@pytest.fixture
def quick_pictures(monkeypatch):
    """Charts of reports are not drawn, which takes a second or two."""
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda *_, **__: '<svg width="1" height="1"></svg>')

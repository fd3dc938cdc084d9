"""Fixtures of the unit tests."""

import pytest
from sources import Watched

import dpcore.estimator


@pytest.fixture
def watched(monkeypatch):
    source = Watched()
    monkeypatch.setattr(dpcore.estimator, "make_noise", lambda *_: source)
    return source

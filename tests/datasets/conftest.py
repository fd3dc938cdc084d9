"""Parse files in the test's own process; tests/hostile is about the process with limits."""

import functools

import pytest

from dpcore import datasets
from dpcore.datasets import reading


@pytest.fixture
def parsed_here(monkeypatch):
    monkeypatch.setattr(datasets, "read_frame", functools.partial(reading.read_frame, trusted=True))

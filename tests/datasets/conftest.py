"""Files that are parsed without the process of limits, which tests/hostile is about."""

import functools

import pytest

from dpcore import datasets
from dpcore.datasets import reading


@pytest.fixture
def parsed_here(monkeypatch):
    monkeypatch.setattr(datasets, "read_frame", functools.partial(reading.read_frame, trusted=True))

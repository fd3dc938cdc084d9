"""Two costs are left out here: a process for every file that is read, and a check of every part of a chart."""

from functools import partial

import pytest
from altair.utils import schemapi

from dpcore import datasets
from dpcore.datasets.reading import read_frame
from dpcore.export import collection


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    """The process is tested by tests/hostile, and charts by tests/charts."""
    for module in (datasets, collection):
        monkeypatch.setattr(module, "read_frame", partial(read_frame, trusted=True))
    monkeypatch.setattr(schemapi, "DEBUG_MODE", False)

"""Tests of rows start processes, which begin by running what their parent's `__main__` is."""

import sys
from types import ModuleType

import pytest


@pytest.fixture(autouse=True, scope="module")
def nothing_to_run():
    """A test of the app leaves the app's own script there, which no other process can run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        yield

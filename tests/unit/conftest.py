"""Fixtures of the unit tests."""

import os
import shutil
from pathlib import Path

import pytest
import vl_convert
from sources import Watched

import dpcore.estimator


@pytest.fixture(autouse=True)
def no_ledger_of_the_user_s(monkeypatch):
    """What tests spend is written nowhere that outlives them."""
    monkeypatch.setenv("DPCORE_LEDGER", "session")


@pytest.fixture
def in_memory(tmp_path):
    """A folder, in memory if there is a place for that: thousands of charges wait for the disk otherwise."""
    memory = Path("/dev/shm")
    found = (memory if memory.is_dir() else tmp_path) / f"dpcore-{os.getpid()}-{tmp_path.name}"
    found.mkdir()
    yield found
    shutil.rmtree(found)


@pytest.fixture
def watched(monkeypatch):
    source = Watched()
    monkeypatch.setattr(dpcore.estimator, "make_noise", lambda *_: source)
    return source


@pytest.fixture
def quick_pictures(monkeypatch):
    """Charts of reports are not drawn, which takes a second or two."""
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda *_, **__: '<svg width="1" height="1"></svg>')

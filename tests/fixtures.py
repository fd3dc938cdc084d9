"""Fixtures: small private tables with a declared schema, Adult if found, and recorded noise."""

import os
import random
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import vl_convert
from numpy.random import bit_generator
from sources import Watched
from tables import SMALL, make_frame

import dpcore.methods.base
from dpcore import datasets
from dpcore.accounting.store import LedgerStore, StoredLedger
from dpcore.domain.schema import Schema
from dpcore.door import Door
from dpcore.errors import DataError

LUCK = random.Random()


@pytest.fixture
def seeds(request) -> Callable[[int], range]:
    """Return seeds for a loop: `seeds(200)` is a few of 200, and all of them with --seeds all."""
    wanted = request.config.getoption("--seeds")
    return lambda most: range(most if wanted == "all" else min(most, int(wanted)))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Iterator[None]:
    """Seed a shared fixture by its own name, whichever test comes first."""
    if fixturedef.scope != "function":
        LUCK.seed(f"{request.config.getoption('--luck')} {fixturedef.baseid} {fixturedef.argname}")
    return (yield)


@pytest.fixture(autouse=True)
def luck(request, monkeypatch):
    """Replace the operating system's randomness by draws seeded with the test's name.

    OpenDP's library has entropy of its own; only tests of its draws use it, with false alarms of
    1e-6.
    """
    LUCK.seed(f"{request.config.getoption('--luck')} {request.node.nodeid}")
    random.seed(LUCK.getrandbits(32))
    np.random.seed(LUCK.getrandbits(32))  # noqa: NPY002 (scikit-learn's models draw from it unless they are told)
    monkeypatch.setattr(bit_generator, "randbits", LUCK.getrandbits)
    monkeypatch.setattr(secrets, "randbits", LUCK.getrandbits)
    monkeypatch.setattr(secrets, "randbelow", LUCK.randrange)
    monkeypatch.setattr(datasets, "randbits", LUCK.getrandbits)
    monkeypatch.setattr(os, "urandom", LUCK.randbytes)


@pytest.fixture(scope="session")
def small_schema() -> Schema:
    return SMALL


@pytest.fixture(scope="session")
def small_frame() -> pd.DataFrame:
    """Return 600 private rows."""
    return make_frame(600, 1)


@pytest.fixture(scope="session")
def other_frame() -> pd.DataFrame:
    """Return a very different table of the same schema and size: all rows are equal."""
    return pd.concat([make_frame(1, 5)] * 600, ignore_index=True)


@pytest.fixture(scope="session")
def adult() -> datasets.Dataset:
    """Return UCI Adult; skip if it is missing, unless DPCORE_REQUIRE_DATA is set."""
    try:
        return datasets.load("adult")
    except DataError as error:
        if os.environ.get("DPCORE_REQUIRE_DATA"):
            raise
        pytest.skip(str(error))


@pytest.fixture(autouse=True)
def no_ledger_of_the_user_s(monkeypatch):
    """Use a temporary ledger, so that tests do not charge the user's."""
    monkeypatch.setenv("DPCORE_LEDGER", "session")


@pytest.fixture
def in_memory(tmp_path):
    """Return a folder, in memory if possible: otherwise thousands of charges wait for the disk."""
    memory = Path("/dev/shm")
    found = (memory if memory.is_dir() else tmp_path) / f"dpcore-{os.getpid()}-{tmp_path.name}"
    found.mkdir()
    yield found
    shutil.rmtree(found)


@pytest.fixture
def watched(monkeypatch):
    source = Watched()
    monkeypatch.setattr(dpcore.methods.base, "make_noise", lambda *_: source)
    return source


@pytest.fixture
def quick_pictures(monkeypatch):
    """Skip the drawing of charts in reports, which takes a second or two."""
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda *_, **__: '<svg width="1" height="1"></svg>')


@pytest.fixture
def recorded(monkeypatch):
    """Record from now on, in order, "written" to the ledger file and "drawn" by the door."""
    found, opened = [], []  # what is unprotected, only published mode may ask for
    add, answer = LedgerStore.add, Door.answer

    def written(self, *charge, **how):
        add(self, *charge, **how)
        found.append("written")

    def drawn(door, question, entries, draw):
        account = door.ledger
        while account._parent is not None:
            account = account._parent
        if question == "unprotected":
            opened.append(door)
        if opened and not isinstance(account, StoredLedger):  # noiseless answers, which were paid for once and for all
            return answer(door, question, entries, draw)
        return answer(door, question, entries, lambda: found.append("drawn") or draw())

    monkeypatch.setattr(LedgerStore, "add", written)
    monkeypatch.setattr(Door, "answer", drawn)
    return found, opened

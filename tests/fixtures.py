"""Fixtures: small private tables with a declared schema, Adult where it can be found, and noise that is watched."""

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
    """Seeds for what must hold for each of them: `seeds(200)` is a few of them, and all with --seeds all."""
    wanted = request.config.getoption("--seeds")
    return lambda most: range(most if wanted == "all" else min(most, int(wanted)))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Iterator[None]:
    """What many tests share draws from its own name, whichever test comes first."""
    if fixturedef.scope != "function":
        LUCK.seed(f"{request.config.getoption('--luck')} {fixturedef.baseid} {fixturedef.argname}")
    return (yield)


@pytest.fixture(autouse=True)
def luck(request, monkeypatch):
    """What the operating system draws for noise and lots, a test draws from its name: it fails always, or never.

    OpenDP's library is the exception: it has entropy of its own. Only tests of its draws ask for it, judged at 1e-6.
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
    """600 private rows."""
    return make_frame(600, 1)


@pytest.fixture(scope="session")
def other_frame() -> pd.DataFrame:
    """A very different table of the same schema and size: every row the same."""
    return pd.concat([make_frame(1, 5)] * 600, ignore_index=True)


@pytest.fixture(scope="session")
def adult() -> datasets.Dataset:
    """UCI Adult; skipped where it is not found, unless DPCORE_REQUIRE_DATA says that it must be."""
    try:
        return datasets.load("adult")
    except DataError as error:
        if os.environ.get("DPCORE_REQUIRE_DATA"):
            raise
        pytest.skip(str(error))


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
    monkeypatch.setattr(dpcore.methods.base, "make_noise", lambda *_: source)
    return source


@pytest.fixture
def quick_pictures(monkeypatch):
    """Charts of reports are not drawn, which takes a second or two."""
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda *_, **__: '<svg width="1" height="1"></svg>')


@pytest.fixture
def told(monkeypatch):
    """What happens from now on, in order: "written" to the books, and "drawn" by the door."""
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

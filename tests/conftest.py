"""Fixtures: small private tables with a declared schema, Adult where it can be found, and noise that is watched."""

import gc
import hashlib
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
from hypothesis import settings
from numpy.random import bit_generator
from sources import Watched
from tables import SMALL, make_frame
from threadpoolctl import threadpool_limits

import dpcore.methods.base
from dpcore import datasets
from dpcore.accounting.store import BookedLedger, Books
from dpcore.domain.schema import Schema
from dpcore.door import Door
from dpcore.errors import DataError

LUCK = random.Random()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seeds", default="3", help="how many seeds a loop over seeds takes: a number, or all")
    parser.addoption("--tenth", help="run only the tenth of the tests that this text chooses, such as a commit's hash")
    parser.addoption("--luck", default="1", help="tests draw from their names and this: another one is other luck")


@pytest.fixture
def seeds(request) -> Callable[[int], range]:
    """Seeds for what must hold for each of them: `seeds(200)` is a few of them, and all with --seeds all."""
    asked = request.config.getoption("--seeds")
    return lambda most: range(most if asked == "all" else min(most, int(asked)))


def pytest_configure(config: pytest.Config) -> None:
    """Workers take a core each: threads of linear algebra and of trees would only wait for each other.

    What Hypothesis draws are seeds too: 20 examples, and 100 with --seeds all, unless a test says otherwise.
    """
    for library in ("OMP", "OPENBLAS"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    threadpool_limits(1)  # of what is loaded already
    examples = 100 if config.getoption("--seeds") == "all" else 20
    settings.register_profile(
        "patient",
        deadline=None,  # a busy computer is not a failure
        max_examples=examples,
        derandomize=config.getoption("--luck") == "1",
    )
    settings.load_profile("patient")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What markers rule out is not even imported, which takes a worker seconds: tests of the folders `app` and
    `browser`, and no others, are marked by the folder's name.
    """
    if collection_path.parent != Path(__file__).parent or not collection_path.is_dir():
        return None
    asked, folder = config.option.markexpr.split(" and "), collection_path.name
    return any((f"not {name}" if folder == name else name) in asked for name in ("app", "browser")) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if chosen_by := config.getoption("--tenth"):
        parts: tuple[list[pytest.Item], list[pytest.Item]] = [], []
        for item in items:
            number = int(hashlib.sha256(f"{chosen_by} {item.nodeid}".encode()).hexdigest(), 16)
            parts[number % 10 > 0].append(item)
        items[:] = parts[0]
        config.hook.pytest_deselected(items=parts[1])


def pytest_collection_finish() -> None:
    """What is loaded is never garbage: collections need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


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
    found, opened = [], []  # what is unprotected, only paper mode may ask for
    add, answer = Books.add, Door.answer

    def written(self, *charge, **how):
        add(self, *charge, **how)
        found.append("written")

    def drawn(door, question, entries, draw):
        account = door.ledger
        while account._parent is not None:
            account = account._parent
        if question == "unprotected":
            opened.append(door)
        if opened and not isinstance(account, BookedLedger):  # noiseless answers, which were paid for once and for all
            return answer(door, question, entries, draw)
        return answer(door, question, entries, lambda: found.append("drawn") or draw())

    monkeypatch.setattr(Books, "add", written)
    monkeypatch.setattr(Door, "answer", drawn)
    return found, opened

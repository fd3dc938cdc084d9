"""A ledger file in memory, and one process for all tests that kill others."""

import pytest
from ledger_helpers import Nursery

from dpcore.accounting.store import LedgerStore


@pytest.fixture
def store(in_memory):
    return LedgerStore(in_memory / "deep" / "ledger.sqlite")


@pytest.fixture(scope="session")
def forking():
    made = Nursery()
    yield made
    made.process.communicate()


@pytest.fixture
def nursery(forking):
    yield forking
    forking.kill(*forking.alive)

"""One process for all tests that kill others."""

import pytest
from booked import Nursery


@pytest.fixture(scope="session")
def forking():
    made = Nursery()
    yield made
    made.process.communicate()


@pytest.fixture
def nursery(forking):
    yield forking
    forking.kill(*forking.alive)

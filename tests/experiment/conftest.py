"""Small data, and a sweep of them that was not disturbed."""

import pytest
from small_sweeps import asked, methods

from dpcore import experiment
from dpcore.datasets import Dataset, split


@pytest.fixture(scope="session")
def data(small_frame, small_schema):
    train, test = split(small_frame, seed=1)
    return Dataset(name="small", train=train, test=test, schema=small_schema)


@pytest.fixture(scope="session")
def whole(data):
    return experiment.sweep(methods(), data, **asked())

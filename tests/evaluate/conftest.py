"""Small data with test rows."""

import pytest

from dpcore.datasets import Dataset, split


@pytest.fixture(scope="session")
def data(small_frame, small_schema):
    train, test = split(small_frame, seed=4)
    return Dataset(name="small", train=train, test=test, schema=small_schema)

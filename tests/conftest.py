"""Fixtures: small private tables with a declared schema, and Adult where it can be found."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from dpcore import datasets
from dpcore.column import Column
from dpcore.errors import DataError
from dpcore.schema import Schema


def pytest_configure() -> None:
    """Workers take a core each: threads of linear algebra and of trees would only wait for each other."""
    for library in ("OMP", "OPENBLAS"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    settings.register_profile("patient", deadline=None)  # a busy computer is not a failure
    settings.load_profile("patient")


@pytest.fixture(scope="session")
def small_schema() -> Schema:
    """A class, a category with "missing", an ordered column, an integer and a continuous one."""
    return Schema(
        columns=(
            Column(name="a.b[0]:Q", kind="categorical", categories=("x", "y", "<b>z</b>"), missing=True),
            Column(name="grade", kind="ordered", categories=("low", "mid", "high")),
            Column(name="age", kind="integer", lower=0, upper=99, bins=10),
            Column(name="height", kind="continuous", lower=0.0, upper=2.5, bins=(0.5, 1.5)),
            Column(name="ill", kind="categorical", categories=("no", "yes")),
        ),
        target="ill",
        max_rows=1_000,
    )


def make_frame(rows: int, seed: int) -> pd.DataFrame:
    """Rows inside `small_schema` in which everything depends on the class."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.3
    letters = np.array(["x", "y", "<b>z</b>", None], dtype=object)
    return pd.DataFrame(
        {
            "a.b[0]:Q": letters[np.where(ill, rng.integers(0, 2, rows), rng.integers(1, 4, rows))],
            "grade": np.array(["low", "mid", "high"])[np.where(ill, 0, rng.integers(0, 3, rows))],
            "age": np.where(ill, rng.integers(50, 100, rows), rng.integers(0, 60, rows)),
            "height": rng.uniform(0, 2.5, rows),
            "ill": np.where(ill, "yes", "no"),
        }
    )


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

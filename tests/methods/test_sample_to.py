"""Rows are written to a file of any length in blocks; each block and their union is a sample."""

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tables import SMALL
from variants import SYNTHESIZERS, fitted

from dpcore.errors import DataError, ParameterError
from dpcore.methods import METHODS, base


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    monkeypatch.setattr(base, "BLOCK", 100)


@pytest.mark.parametrize("name", SYNTHESIZERS)
def test_every_synthesizer_writes_a_file(tmp_path, name):
    rules = "age <= height", "ill = yes, never grade = high"
    vars(method := copy(fitted(name, mode=METHODS[name].modes[0])))["schema_"] = replace(SMALL, rules=rules)
    rows = pd.read_parquet(method.sample_to(tmp_path / "rows.parquet", 200))
    pd.testing.assert_series_equal(rows.dtypes, method.sample(10).dtypes)
    codes = SMALL.encode(rows)
    assert len(codes) == 200
    assert (codes[:100, 0] != codes[100:, 0]).any()  # of which no rule is
    for released in (rows, method.sample(200), method.sample(1)):
        assert (released["age"] <= released["height"]).all()
        assert not ((released["ill"] == "yes") & (released["grade"] == "high")).any()


def test_a_seed_writes_the_same_rows_again_and_in_any_format(tmp_path):
    method = fitted("PrivBayes")
    first, again = (pd.read_parquet(method.sample_to(tmp_path / f"{name}.parquet", 250)) for name in ("a", "b"))
    pd.testing.assert_frame_equal(first, again)
    index = method.sample_to(tmp_path / "a.csv", 250)
    texts = pd.read_csv(index, dtype="str", keep_default_na=False, na_values="")
    np.testing.assert_array_equal(SMALL.encode(texts), SMALL.encode(first))


@pytest.mark.parametrize(("n", "many"), [(100, 1), (101, 2), (12_345, 124)])
def test_block_sizes_differ_by_one_row_at_most(n, many):
    sizes = list(base.block_sizes(n, SMALL))
    assert (sum(sizes), len(sizes)) == (n, many)
    assert max(sizes) - min(sizes) <= 1


def test_charged_rows_are_written_once(tmp_path):
    method = fitted("NB-Synth", {"variant": "C2", "rows": 250})
    rows = pd.read_parquet(method.sample_to(tmp_path / "rows.parquet", 250))
    np.testing.assert_array_equal(SMALL.encode(rows), method.released_codes_)
    with pytest.raises(ParameterError, match="has 250 rows"):
        method.sample_to(tmp_path / "more.parquet", 251)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_a_file_is_whole_or_absent_and_is_replaced_on_request(tmp_path):
    method, index, words = fitted("Independent marginals"), tmp_path / "rows.csv", []

    def stop(fraction, text):
        words.append(fraction)
        if fraction > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        method.sample_to(index, 1_000, progress=stop)
    assert words[:3] == [0, 0.1, 0.2]
    assert not list(tmp_path.iterdir())
    method.sample_to(index, 10)
    with pytest.raises(DataError, match="exists"):
        method.sample_to(index, 20)
    assert len(pd.read_csv(method.sample_to(index, 20, replace=True))) == 20
    with pytest.raises(DataError, match="does not exist"):
        method.sample_to(tmp_path / "no/rows.csv", 5)

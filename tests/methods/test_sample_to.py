"""Rows go to a file of any length in blocks; each block is a sample, and together they are one."""

import numpy as np
import pandas as pd
import pytest
from tables import SMALL
from variants import EVERY_FIT, SYNTHESIZERS, fitted

from dpcore.errors import DataError, ParameterError
from dpcore.methods import synthesizer


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    monkeypatch.setattr(synthesizer, "BLOCK", 100)


@pytest.mark.parametrize(("name", "extra"), [fit for fit in EVERY_FIT if fit[0] in SYNTHESIZERS], ids=str)
def test_every_synthesizer_writes_a_file(tmp_path, name, extra):
    method = fitted(name, extra)
    few = method.sample(10)
    rows = pd.read_parquet(method.sample_to(tmp_path / "rows.parquet", 400))
    pd.testing.assert_series_equal(rows.dtypes, few.dtypes)
    assert len(rows) == 400
    codes = SMALL.encode(rows)
    assert (codes[:100] != codes[100:200]).any()
    again = pd.read_parquet(method.sample_to(tmp_path / "again.parquet", 400))
    pd.testing.assert_frame_equal(rows, again)
    as_text = pd.read_csv(
        method.sample_to(tmp_path / "rows.csv", 400), dtype="str", keep_default_na=False, na_values=""
    )
    np.testing.assert_array_equal(SMALL.encode(as_text), codes)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.parquet", "rows.csv", "rows.parquet"]


def test_block_sizes_differ_by_one_row_at_most():
    for n in (1, 99, 100, 101, 12_345):
        sizes = list(synthesizer.block_sizes(n, SMALL))
        assert sum(sizes) == n
        assert len(sizes) == -(-n // 100)
        assert max(sizes) - min(sizes) <= 1


def test_rows_that_were_paid_for_are_written_once(tmp_path):
    method = fitted("NB-Synth", {"variant": "C2", "rows": 250})
    rows = pd.read_parquet(method.sample_to(tmp_path / "rows.parquet", 250))
    np.testing.assert_array_equal(SMALL.encode(rows), method.released_codes_)
    with pytest.raises(ParameterError, match="holds 250 rows"):
        method.sample_to(tmp_path / "more.parquet", 251)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_a_file_is_whole_or_not_there_and_is_replaced_if_that_is_asked(tmp_path):
    method = fitted("Independent margins")
    told: list[float] = []

    def stop(fraction: float, text: str) -> None:
        told.append(fraction)
        if fraction > 0.5:
            raise KeyboardInterrupt

    place = tmp_path / "rows.csv"
    with pytest.raises(KeyboardInterrupt):
        method.sample_to(place, 1_000, progress=stop)
    assert told[:3] == [0, 0.1, 0.2]
    assert not list(tmp_path.iterdir())
    method.sample_to(place, 10)
    with pytest.raises(DataError, match="there already"):
        method.sample_to(place, 20)
    assert len(pd.read_csv(method.sample_to(place, 20, replace=True))) == 20
    for path, n, why in (("rows.xlsx", 5, "format"), ("no/rows.csv", 5, "no folder"), ("a.csv", 0, "positive whole")):
        with pytest.raises((DataError, ParameterError), match=why):
            method.sample_to(tmp_path / path, n)

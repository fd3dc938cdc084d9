"""Data sets in folders: split like the same rows in memory, hashed like their file, sampled uniformly."""

import json
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from folders import write
from tables import SMALL, make_frame
from variants import alike

from dpcore.datasets import read
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, ParameterError, SchemaError
from dpcore.rows import FolderData, FolderRows, HeldRows, data, exact_counts, folder, writing
from dpcore.rows.folder import Folder

DATED = Schema(
    columns=(
        Column(name="day", kind="date", lower="2020-01-01", upper="2021-12-31", missing=True, number_format="d/m/y"),
        Column(name="bill", kind="continuous", lower=0, upper=5_000, bins=4, number_format="$1,234.50"),
        Column(name="town", kind="categorical", categories=("Ulm", "Bonn"), missing=True),
        Column(name="visits", kind="integer", lower=0, upper=9, bins=3, missing=True),
    )
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Parts and blocks of a few rows."""
    monkeypatch.setattr(writing, "GROUP", 50)
    monkeypatch.setattr(writing, "PART", 100)
    monkeypatch.setattr(exact_counts, "BLOCK", 64)
    monkeypatch.setattr(folder, "DRAW_BLOCK", 30)


def encoded(index, frame, schema, **how):
    frame.to_csv(index / "rows.csv", index=False)
    return writing.encode_folder(index / "rows.csv", index / "codes", schema=schema, **how)


def test_the_split_is_that_of_the_same_rows_in_memory(tmp_path):
    codes = encoded(tmp_path, make_frame(230, 1), SMALL)
    assert os.name != "posix" or codes.stat().st_mode & 0o077 == 0  # only their owner looks into them
    found = FolderData.open(codes, test_share=0.2, split_seed=7)
    held = read(tmp_path / "rows.csv", schema=SMALL, test_share=0.2, split_seed=7)
    assert found.sizes == held.sizes == (len(held.train), len(held.test))
    for part, rows, frame in (
        (found.train, found.train_sample, held.train),
        (found.test, found.test_sample, held.test),
    ):
        np.testing.assert_array_equal(SMALL.encode(rows), SMALL.encode(frame))
        np.testing.assert_array_equal(rows["height"], frame["height"].astype(float))
        expected = HeldRows(SMALL.encode(frame), SMALL.sizes).marginals([(0, 4)])
        assert alike(FolderRows(part).marginals([(0, 4)]), expected)


def test_the_ledger_knows_a_folder_by_its_source_files(tmp_path):
    def key_of(codes):
        return Folder.open(codes).key(b"secret")

    codes = encoded(tmp_path, make_frame(50, 1), SMALL)
    fewer = SMALL.select(SMALL.names[:2])
    other = writing.encode_folder(tmp_path / "rows.csv", tmp_path / "fewer", schema=fewer)
    keys = {key_of(codes), key_of(other), FolderData.open(codes).key(b"secret")}
    assert keys == {read(tmp_path / "rows.csv", schema=SMALL).key(b"secret")}
    several = tmp_path / "several"
    several.mkdir()
    for name, seed in (("a.csv", 1), ("b.csv", 2)):
        make_frame(50, seed).to_csv(several / name, index=False)
    together = key_of(writing.encode_folder(several, tmp_path / "one", schema=SMALL))
    (several / "a.csv").rename(several / "c.csv")
    assert together == key_of(writing.encode_folder(several, tmp_path / "two", schema=SMALL))
    assert together not in keys


def test_sampled_rows_have_the_original_values(tmp_path):
    rows = [("05/03/2020", "$12.50", "Bonn", 3), (None, "$4,321.00", None, None), ("31/12/2021", "$0.00", "Ulm", 9)]
    frame = pd.DataFrame(rows, columns=DATED.names)
    codes = encoded(tmp_path, frame, DATED)
    found = FolderData.open(codes, test_share=0)
    assert found.sizes == (3, 0)
    assert found.train_sample["visits"].tolist() == [3, pd.NA, 9]
    assert found.train_sample["bill"].tolist() == ["$12.50", "$4,321.00", "$0.00"]
    assert found.train_sample["day"].tolist()[::2] == ["05/03/2020", "31/12/2021"]
    np.testing.assert_array_equal(DATED.encode(found.train_sample), DATED.encode(frame))
    codes = encoded(tmp_path, frame, DATED, numbers=False, replace=True)  # then they are somewhere in their bins
    found = FolderData.open(codes, test_share=0)
    np.testing.assert_array_equal(DATED.encode(found.train_sample), DATED.encode(frame))
    assert not found.train_sample["bill"].equals(frame["bill"])


def test_a_sample_is_uniform_and_in_order(tmp_path):
    codes = np.repeat(np.arange(40, dtype=np.uint8), 25)[:, None]
    schema = Schema(columns=(Column(name="at", kind="ordered", categories=tuple(map(str, range(40)))),))
    whole = Folder.open(write(tmp_path / "rows", schema, codes, cuts=[130, 131, 600]))
    drawn = [data.sample_rows(whole, schema, 100, seed)["at"].astype(int).to_numpy() for seed in range(100)]
    assert all(len(some) == 100 and (np.diff(some) >= 0).all() for some in drawn)
    times = np.bincount(np.concatenate(drawn), minlength=40)
    # 250 each in mean, with a standard deviation below 15.1; six of them are left by one run in 10^7
    assert np.abs(times - 250).max() < 6 * 15.1


def test_what_cannot_be_split_or_does_not_fit_is_refused(tmp_path):
    codes = encoded(tmp_path, make_frame(60, 1), SMALL)
    whole = Folder.open(codes)
    with pytest.raises(DataError, match="became a test row"):
        whole.split(1 - 1e-12)
    for rows, match in ((whole, "test_share"), (whole.split(0.5)[0], "already split")):
        with pytest.raises(ParameterError, match=match):
            rows.split(1.5 if rows is whole else 0.5)
    wider = replace(SMALL["age"], upper=120)
    with pytest.raises(SchemaError, match="encoded with another column 'age'"):
        FolderData.open(codes, schema=replace(SMALL, columns=(wider,), target=None))
    manifest = json.loads((codes / folder.MANIFEST).read_text())
    sources = {name: {**one, "sha256": "Zq"} for name, one in manifest["sources"].items()}
    (codes / folder.MANIFEST).write_text(json.dumps({**manifest, "sources": sources}))
    with pytest.raises(DataError, match="a checksum is malformed"):
        Folder.open(codes)

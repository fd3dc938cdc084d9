"""Data sets: the split, the checksums of published files, and no access to the network by default.

Tests on published data run where `$DPCORE_DATA` (or the cache) has them, and must where `DPCORE_REQUIRE_DATA` is 1.
"""

import hashlib
import hmac
import io
import os
import urllib.request
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import datasets
from dpcore.datasets import reading
from dpcore.datasets.catalog import FILES, declared_schema
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError, ParameterError, SchemaError

pytestmark = pytest.mark.usefixtures("parsed_here")
DATA_FOLDER = os.environ.get("DPCORE_DATA", "")  # before any fixture changes it
CSV = b"age,word\n" + b"".join(f"{i},{'xy'[i % 2]}\n".encode() for i in range(20))


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No data on disk, and a network whose use is counted."""
    wanted = []

    def no_network(address, **_):
        wanted.append(address)
        raise URLError("offline")

    monkeypatch.setattr(urllib.request, "urlopen", no_network)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("DPCORE_DATA", raising=False)
    return wanted


@given(st.integers(0, 300), st.floats(0, 0.999), st.integers(0, 2**32))
def test_a_split_is_a_partition_that_looks_at_positions_only(rows, share, seed):
    frame = pd.DataFrame({"row": np.arange(rows), "value": 1})
    train, test = datasets.split(frame, share, seed)
    assert sorted([*train["row"], *test["row"]]) == list(range(rows))
    assert all(part["row"].is_monotonic_increasing for part in (train, test))
    assert abs(len(test) - share * rows) <= 6 * (share * (1 - share) * rows) ** 0.5 + 1  # six deviations
    assert train.index.tolist() == list(range(len(train)))
    again, _ = datasets.split(frame.assign(value=np.arange(rows) % 7), share, seed)
    assert again["row"].tolist() == train["row"].tolist()


def test_one_more_row_does_not_change_the_split_of_others_and_bad_shares_are_refused():
    frame = pd.DataFrame({"row": np.arange(500)})
    smaller, larger = datasets.split(frame.head(499), 0.3, 5), datasets.split(frame, 0.3, 5)
    for before, after in zip(smaller, larger, strict=True):
        assert after["row"].tolist()[: len(before)] == before["row"].tolist()
    assert not larger[1].equals(datasets.split(frame, 0.3, 6)[1])
    for share, seed in ((-0.1, 0), (1, 0), (0.3, -1)):
        with pytest.raises(ParameterError):
            datasets.split(frame, share, seed)


def test_persons_are_split_whole_and_independently():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": [f"p{i:03}" for i in rng.integers(0, 80, 400)], "row": np.arange(400)})
    more = pd.concat([pd.DataFrame({"who": ["p999"] * 7, "row": 0}), frame])
    unit = PrivacyUnit(max_contributions=1, id_column="who")
    train, test = datasets.split(frame, 0.3, 5, persons=unit)
    assert not {*train["who"]} & {*test["who"]}
    assert 0.15 < test["who"].nunique() / 80 < 0.45
    for before, after in zip((train, test), datasets.split(more, 0.3, 5, persons=unit), strict=True):
        assert {*after["who"]} - {"p999"} == {*before["who"]}
    schema = Schema(columns=(Column(name="row", kind="integer", lower=0, upper=399),), unit=unit)
    given = datasets.read(frame.to_csv(index=False).encode(), "x.csv", schema=schema)
    assert not {*given.train["who"]} & {*given.test["who"]}


def test_the_split_of_a_file_is_secret_unless_a_seed_is_given():
    first, second = datasets.read(CSV, "x.csv"), datasets.read(CSV, "x.csv")
    assert first.train["age"].tolist() != second.train["age"].tolist()
    again = datasets.read(CSV, "x.csv", **first.reading)
    assert again.train["age"].tolist() == first.train["age"].tolist()


def test_read_infers_a_schema_and_says_so(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(CSV)
    data, same = (datasets.read(source, target="word", split_seed=0) for source in (path, CSV))
    assert (data.name, data.target, data.schema.source) == ("people.csv", "word", "inferred")
    assert [data.schema.encode(part).shape for part in (data.train, data.test)] == [(13, 2), (7, 2)]
    assert data.content.keyed_hash(b"it") == hmac.digest(b"it", hashlib.sha256(CSV).digest(), "sha256").hex()
    pd.testing.assert_frame_equal(same.train, data.train)
    assert data != same  # frames have no plain truth value: a field-wise comparison would raise


def test_uploaded_files_are_parsed_by_another_process(monkeypatch):
    monkeypatch.undo()
    given, here = [], reading.parse_table
    monkeypatch.setattr(reading, "parse_table", None)
    monkeypatch.setattr(reading, "parse_in_worker", lambda raw, name, how: given.append(raw) or here(raw, name, **how))
    assert len(datasets.read(CSV, test_share=0).train) == 20
    assert given == [CSV]


def test_no_checksum_leaves_a_data_set_and_rows_without_a_file_are_hashed():
    data = datasets.read(CSV, "people.csv")
    plain = hashlib.sha256(CSV).hexdigest()
    assert plain not in repr(data) + data.token + data.content.keyed_hash(b"a secret") + repr(data.content)
    assert data.content.keyed_hash(b"a secret") != data.content.keyed_hash(b"another")
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "y"]})
    one, two = frame.head(1), frame.tail(2)
    many = (one, two), (two, one), (frame,), (one, two)
    keys = [datasets.Content.from_rows(*tables).keyed_hash(b"") for tables in many]
    assert (len({*keys}), keys[0]) == (3, keys[3])


AGE = Column(name="age", kind="integer", lower=0, upper=99, outside="clip")
DECLARED = Schema(columns=(AGE, Column(name="word", kind="categorical", categories=("x", "y"))))


def test_declared_numbers_are_numbers_for_people_and_their_codes_are_those_of_the_text():
    plain, odd = (datasets.read(raw, schema=DECLARED, test_share=0).train for raw in (CSV, CSV + b"old,x\n"))
    assert plain["age"].dtype == np.int64 != odd["age"].dtype
    np.testing.assert_array_equal(DECLARED.encode(odd)[:-1], DECLARED.encode(plain))


def test_read_keeps_a_declared_schema_and_drops_the_file_settings():
    data = datasets.read(CSV, schema=DECLARED, target="age", test_share=0, delimiter=",")
    assert (data.schema.source, data.target, len(data.test)) == ("declared", "age", 0)
    assert set(data.reading) == {"test_share", "split_seed"}
    left = datasets.read(CSV, schema=DECLARED, test_share=0, skip_last=1)  # which is no row
    assert (left.reading["skip_last"], len(left.train)) == (1, len(data.train) - 1)
    with pytest.raises(SchemaError, match="target"):
        datasets.read(CSV, schema=DECLARED, target="height")


def test_nothing_is_fetched_by_default_and_the_error_says_what_to_do(offline, tmp_path):
    for download, cause in ((False, "not found"), (True, "could not be fetched")):
        assert not offline
        with pytest.raises(DataError, match=cause) as caught:
            datasets.load("adult", download=download)
        assert "DPCORE_DATA" in caught.value.remedy
    assert [address[:8] for address in offline] == ["https://"]
    assert not list(tmp_path.rglob("*.*"))  # nothing half-written


def test_other_content_and_a_wrong_download_are_not_taken_for_the_published_one(offline, monkeypatch, tmp_path):
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(b"<html>moved</html>"))
    with pytest.raises(DataError, match="checksum"):
        datasets.load("adult", download=True)
    assert not list(tmp_path.rglob("*.*"))  # nothing is kept of it
    monkeypatch.setenv("DPCORE_DATA", str(tmp_path))
    (tmp_path / "adult").mkdir(parents=True)
    (tmp_path / "adult" / "adult.data").write_text("39, s3cret\n")
    with pytest.raises(DataError, match="checksum") as caught:
        datasets.load("adult")
    assert "s3cret" not in str(caught.value)


@pytest.mark.skipif(not DATA_FOLDER, reason="DPCORE_DATA is not set")
def test_a_download_is_checked_cached_and_then_found(offline, monkeypatch, tmp_path, adult):
    served = {}
    for path, address in ((path, file["source"]) for path, file in FILES.items() if "source" in file):
        text = (Path(DATA_FOLDER) / path).read_bytes()
        served[address] = text.replace(b"\n", b"\r\n") + b"\r\n"  # as some mirrors have it
    monkeypatch.setattr(urllib.request, "urlopen", lambda address, **_: io.BytesIO(served.pop(address)))
    fetched = datasets.load("adult", download=True)
    assert fetched.content.keyed_hash(b"") == adult.content.keyed_hash(b"")
    assert datasets.load("adult").content.keyed_hash(b"") == adult.content.keyed_hash(b"")  # now from the cache


def test_schemas_are_the_documentation_and_the_codebook():
    adult, big5 = datasets.adult_schema(), datasets.big5_schema()
    assert (adult.target, adult.max_rows, big5.target, len(big5)) == ("income", 30_162, "gender", 57)
    assert adult.sizes == (16, 8, 16, 16, 16, 7, 14, 6, 5, 2, 16, 16, 16, 41, 2)
    for schema, bits in ((adult, 52), (big5, 175)):
        assert sum((size - 1).bit_length() for size in schema.sizes) == bits  # ceil(log2 size) per column
        assert schema.source == "declared"
    assert adult["education"].kind == "ordered"
    assert (adult["education"].categories[0], adult["education"].categories[-1]) == ("Preschool", "Doctorate")
    assert big5["country"].size == 256
    assert {"NA", "A1", "(nu"} < set(big5["country"].categories)


def test_adult_rows(adult):
    assert (len(adult.train), len(adult.test)) == (30_162, 15_060)
    for frame in (adult.train, adult.test):
        assert not frame.isna().to_numpy().any()
        assert adult.schema.encode(frame).shape == (len(frame), 15)
    assert (adult.train["income"] == ">50K").mean() == pytest.approx(0.2489, abs=1e-4)
    assert (adult.train["education-num"] - 1 == adult.schema.encode(adult.train)[:, 3]).all()  # the order is right


def test_big5_rows():
    try:
        big5 = datasets.load("big5")
    except DataError as error:
        if os.environ.get("DPCORE_REQUIRE_DATA"):
            raise
        pytest.skip(str(error))
    assert (len(big5.train), len(big5.test)) == (13_951, 5_768)
    rows = pd.concat([big5.train, big5.test], ignore_index=True)
    codes = big5.schema.encode(rows)
    assert codes.shape == (19_719, 57)
    assert (rows["country"] == "NA").sum() == 8  # Namibia, not missing
    assert (codes[:, big5.schema.index("country")] == 255).sum() == rows["country"].isna().sum() == 1
    assert (rows["age"] > 100).sum() == 83  # years of birth and worse, clipped
    assert codes[rows["age"] > 100, big5.schema.index("age")].min() == 15


def test_simulated_data_sets_need_neither_file_nor_network_and_differ(offline):
    found = [datasets.load(name) for name in datasets.BANK_CARDS]
    for name, data in zip(datasets.BANK_CARDS, found, strict=True):
        assert (data.name, data.target, data.schema) == (name, "customer-value", declared_schema("bank cards"))
        assert "no person" in data.note
    again = datasets.load(name)
    pd.testing.assert_frame_equal(data.train, again.train)
    assert len({data.token for data in found} | {data.content.keyed_hash(b"") for data in found}) == 4
    plain, dependent = (data.train["deposits"].corr(data.train["loans"]) for data in found)
    assert plain > 0.1 > -0.1 > dependent  # in the first both rise with the class alone
    assert not offline


def test_sample_comes_with_the_package():
    data = datasets.load("sample")
    assert data.schema.encode(data.train).shape == (14_151, len(data.schema))

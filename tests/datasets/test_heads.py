"""The first rows of large files: complete rows only, and an estimate of the number of all rows."""

import gzip

import numpy as np
import pandas as pd
import pytest
from files import read_frame

from dpcore.datasets import streams
from dpcore.datasets.streams import read_head
from dpcore.errors import DataError

FRAME = pd.DataFrame({"a": np.arange(2_000), "b": [f'say "{i % 7}"\nline two, and more' for i in range(2_000)]})


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Few rows, parsed in this process."""
    monkeypatch.setattr(streams, "HEAD_ROWS", 100)
    monkeypatch.setattr(streams, "read_frame", read_frame)


@pytest.mark.parametrize(("encoding", "most"), [("utf-8", 1_001), ("utf-16", 1_001), ("cp1252", 1 << 23)])
def test_the_first_whole_rows_of_a_text(tmp_path, monkeypatch, encoding, most):
    monkeypatch.setattr(streams, "HEAD_BYTES", most)
    path = tmp_path / "rows.csv"
    path.write_bytes(FRAME.assign(b=FRAME["b"] + "é").to_csv(index=False).encode(encoding))
    found, whole = read_head(path, encoding=encoding), read_frame(path, encoding=encoding)
    assert 5 < len(found.frame) <= 100
    pd.testing.assert_frame_equal(found.frame, whole.head(len(found.frame)))
    assert found.rows == pytest.approx(2_000, rel=0.1)


def test_parquet_says_how_many_rows_it_has_and_packed_text_does_not(tmp_path):
    FRAME.to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    found = read_head(tmp_path / "rows.parquet")
    pd.testing.assert_frame_equal(found.frame, read_frame(tmp_path / "rows.parquet").head(100))
    assert found.rows == 2_000
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(FRAME.to_csv(index=False).encode()))
    packed = read_head(tmp_path / "rows.csv.gz")
    assert len(packed.frame) == 50  # of two lines each
    assert packed.rows is None


def test_the_rows_of_a_folder_are_those_of_all_its_files(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.head(70).to_parquet(tmp_path / "c.parquet")
    assert read_head(tmp_path).rows == pytest.approx(2_070, rel=0.1)
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read_head(tmp_path).rows is None


def test_unreadable_paths_are_refused_with_a_remedy(tmp_path):
    for name, raw, cause in (
        ("rows.csv", b"a,b\n1,\xe9\n", "not valid UTF-8"),
        ("rows.csv.gz", b"a,b\n1,2\n", "damaged"),
        ("rows.parquet", b"PAR1", "damaged"),
    ):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(DataError, match=cause):
            read_head(tmp_path / name)


@pytest.mark.parametrize(
    ("header", "odd", "told"),
    [
        ("größe,a,b\n".encode("cp850"), "Zürich,2,y\n".encode("cp850"), "may be cp850, with the header 'größe,a,b'"),
        ("größe,a,b\n".encode(), "Zürich,2,y\n".encode("cp1252"), "two encodings are mixed.* cp1252"),
        (b"a,b,c\n", b"\x1b$B;3ED\x1b(B,1,2\n", "seems to be iso2022_jp"),
    ],
)
def test_the_error_for_another_encoding_shows_the_header_and_no_row(tmp_path, monkeypatch, header, odd, told):
    monkeypatch.setattr("dpcore.datasets.delimited_text.PIECE", 200)
    path, rows = tmp_path / "rows.csv", b"s3cret,1,x\n" * 50
    path.write_bytes(header + rows + odd + rows)
    with pytest.raises(DataError, match=told) as refused:
        streams.TableFile(path, path.name).open_blocks(lambda: None)
    assert "s3cret" not in str(refused.value)

"""Sound Parquet is read; an unsupported feature is named, and the file is not called damaged."""

import numpy as np
import pyarrow as pa
from files import SECRET, parquet, read_frame, refused

from dpcore.datasets.parquet import ParquetBlocks

NEW_ARROW = int(pa.__version__.partition(".")[0]) >= 21  # older ones write no views, and take unknown codecs for none
WORDS = [f"{SECRET} {i % 7}" for i in range(300)]


def long_cells(raw: bytes, path) -> list[object]:
    path.write_bytes(raw)
    file = ParquetBlocks(path)
    return [cell for batch in file.batches(file.headers, ("",)) for cell in batch[0].to_pylist()]


def test_texts_of_any_encoding_are_read(tmp_path):
    """Other writers use such encodings for version 2 of Parquet."""
    kind = pa.string_view() if NEW_ARROW else pa.string()
    for encoding, pages in (("DELTA_BYTE_ARRAY", "2.0"), ("DELTA_LENGTH_BYTE_ARRAY", "1.0")):
        how = {"column_encoding": {"a": encoding, "b": "DELTA_BINARY_PACKED"}, "data_page_version": pages}
        raw = parquet(pa.table({"a": pa.array(WORDS, kind), "b": range(300)}), use_dictionary=False, **how)
        assert read_frame(raw, "t.parquet")["a"].tolist() == WORDS
        assert long_cells(raw, tmp_path / "t.parquet") == WORDS


def test_times_of_an_unknown_zone_are_read_as_utc_and_it_is_said(tmp_path):
    times = pa.array([0, None, 86_400], pa.timestamp("s", "Mars/Base"))
    raw = parquet(pa.table({"a": times, "b": range(3)}))
    frame = read_frame(raw, "t.parquet")
    assert frame["a"].fillna("").tolist() == ["1970-01-01 00:00:00.000Z", "", "1970-01-02 00:00:00.000Z"]
    assert "unknown time zone 'Mars/Base'" in frame.attrs["read_as"]["doubts"]
    assert long_cells(raw, tmp_path / "t.parquet")[0] == "1970-01-01 00:00:00.000Z"


def test_a_feature_that_cannot_be_read_is_named():
    raw = parquet(pa.table({"a": WORDS, "b": np.arange(300)}))
    codec = raw.rindex(b"\x19\x18\x01a\x15") + 5
    for code, words in ((3, "LZO"), (9, "compression codec"))[: 1 + NEW_ARROW]:
        text = refused(raw[:codec] + bytes([2 * code]) + raw[codec + 1 :], "t.parquet")
        assert words in text
        assert "damaged" not in text

"""Tables whose cells would take much more memory than their files."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from files import SECRET, parquet, read_frame, refused

from dpcore.datasets import formats
from dpcore.domain.cells import parse_columns
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema

MB = 1 << 20
TIMES = pa.array(np.arange(400_000) % 1_000 * 86_400_000_000, pa.timestamp("us"))
TEXTS = pa.array(["x" * 30_000] * 400).dictionary_encode()


@pytest.mark.parametrize("cells", [TEXTS, TIMES], ids=["texts", "times"])
def test_repeated_texts_are_stored_once(cells):
    frame = read_frame(parquet(pa.table({"a": cells, "b": np.arange(len(cells)) % 3})), "t.parquet")
    assert frame["a"].memory_usage(index=False, deep=True) < 4 * MB
    assert frame["a"].iloc[0] == str(cells[0].cast(pa.string()))
    assert len(frame) == len(cells)


def test_the_size_of_all_texts_is_limited():
    column = pa.array([SECRET * 1_000] * 60).dictionary_encode()  # 360 kB; the limit is five times 100 kB
    assert len(read_frame(parquet(pa.table({"a": column, "b": range(60)})), "t.parquet", max_bytes=100_000)) == 60
    assert "Unpacked" in refused(parquet(pa.table({"a": column, "b": column})), "t.parquet", max_bytes=100_000)
    how = {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}
    raw = parquet(pa.table({"a": [SECRET * 1_000] * 90, "b": range(90)}), **how)
    assert "Unpacked" in refused(raw, "t.parquet", max_bytes=100_000)


ROWS = [(" x", "1", "2021-03-05", "1,5"), ("", "2", "2021-03-06", "?"), ("y ", "3.0", "2021-03-05", "2,25")]
ROWS += [("x", "1.0", "2021-04-01", "1,5"), ("?", "7", "2022-01-01", "-3,5"), (" ", "1", "2021-03-05", "1,5")]
DECLARED = Schema(
    columns=(
        Column(name="word", kind="categorical", categories=("y", "x"), missing=True, outside="clip"),
        Column(name="n", kind="integer", lower=0, upper=5, outside="clip"),
        Column(name="day", kind="date", lower="2021-01-01", upper="2021-12-31", bins="month", outside="clip"),
        Column(name="x", kind="continuous", lower=-9, upper=9, missing=True),
    )
)


def test_dictionaries_and_texts_are_one_table(monkeypatch):
    """The size of a table decides how cells are stored, and must not change any result."""
    raw = ("word;n;day;x\n" + "".join(";".join(row) + "\n" for row in ROWS * 100)).encode()
    plain = read_frame(raw, missing=("?",))  # empty texts are cells
    monkeypatch.setattr(formats, "SMALL", 0, raising=False)
    lean = read_frame(raw, missing=("?",))
    assert lean.memory_usage(index=False, deep=True).sum() < plain.memory_usage(index=False, deep=True).sum() / 2
    pd.testing.assert_frame_equal(*(frame.astype("str").where(frame.notna()) for frame in (lean, plain)))
    for part in (slice(None), slice(1, 3)):  # where not every category occurs
        assert Schema.infer(lean[part], keep=DECLARED.names) == Schema.infer(plain[part], keep=DECLARED.names)
        np.testing.assert_array_equal(DECLARED.encode(lean[part]), DECLARED.encode(plain[part]))
    numbers, same = (parse_columns(frame, ["n", "x"])[["n", "x"]] for frame in (lean, plain))
    pd.testing.assert_frame_equal(numbers, same)

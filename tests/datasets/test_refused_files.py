"""Files that are refused with an error that helps and quotes no cell."""

import bz2
import gzip
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
from files import SECRET, TABLE, parquet, refused, workbook, zipped

from dpcore.datasets.formats import FORMATS


def test_bad_texts():
    for text, words in (
        ("", "empty"),
        ("a,b\n", "no rows"),
        (f"a\n{SECRET}\n", "delimiter"),
        (f"a,,c\n{SECRET},2,3\n", "column 2"),
        (f"{SECRET},{SECRET}\n1,2\n", "1 and 2"),  # a file without a header: its first row is private
        (f"\n\na,b\n1,2\n\n{SECRET},3,4\n", "Line 6"),
        (f'a,b\n"x\ny",2\n{SECRET}\n', "Line 4"),
        (f'a,b\n1,2\n3,"{SECRET}\n4,5\n', "Line 3"),
        (f"a,b\n{SECRET},\0\n", "not text"),
        (",".join(f"c{i}" for i in range(1_001)) + "\n" + ",".join(["1"] * 1_001), "more than 1,000 columns"),
    ):
        assert words in refused(text.encode()), text


def test_bad_arguments_and_missing_or_large_files_are_refused(tmp_path):
    for options, words in (
        ({"delimiter": '"'}, "one plain character"),
        ({"encoding": "ascii"}, "not valid ascii"),
        ({"decimal": "'"}, "decimal"),
        ({"max_bytes": 10}, "MiB"),
    ):
        assert words in refused(f"a,b\n{SECRET},é\n".encode(), **options), options
    for name in ("data.pkl", "data", "data.parquet.gz"):
        message = refused(b"a,b\n1,2\n", name)
        assert all(known in message for known in FORMATS)
    (tmp_path / "folder.csv").mkdir()
    assert "no file" in refused(tmp_path / "none.csv")
    assert str(tmp_path) not in refused(tmp_path / "folder.csv")


BOMB = ("a,b\n" + f"{SECRET},2\n" * 20_000).encode()
PACKED = {"t.csv.gz": gzip.compress(BOMB), "t.csv.bz2": bz2.compress(BOMB)}
PACKED |= {"t.csv.xz": lzma.compress(BOMB), "t.csv.zip": zipped(t__csv=BOMB)}


def test_bombs_are_not_unpacked():
    bombs = {"b.xlsx": zipped(a__xml=BOMB), "b.parquet": parquet(pd.DataFrame({"a": np.zeros(200_000), "b": 1}))}
    for name, raw in (PACKED | bombs).items():
        assert len(raw) < 30_000
        assert "Unpacked" in refused(raw, name, max_bytes=30_000), name
    raw = workbook(["a", "b"], *[[SECRET * 1_000, 1]] * 100)
    assert "Unpacked" in refused(raw, "b.xlsx", max_bytes=len(raw) + 30_000)


def test_truncated_and_renamed_files():
    for name, raw in (
        *PACKED.items(),
        ("t.xlsx", workbook(["a", "b"], [SECRET, 1])),
        ("t.parquet", parquet(pd.DataFrame({"a": [SECRET] * 9, "b": range(9)}))),
    ):
        for point in (4, len(raw) - 9):
            assert "damaged" in refused(raw[:point], name), name
        assert "damaged" in refused(b"a,b\n1,2\n" * 20, name), name


def test_zip_archives_hold_one_text_table():
    raw = TABLE.encode()
    for members, words in (
        ({"a__csv": raw, "b__csv": raw}, "2 files"),
        ({}, "0 files"),
        ({"a__zip": raw}, "no text table"),
    ):
        assert words in refused(zipped(**members), "t.zip")
    locked = bytearray(zipped(a__csv=raw))
    for header, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(header) + at] |= 1  # the flag that says "encrypted"
    assert "password" in refused(bytes(locked), "t.zip")


def test_bad_workbooks_and_parquet_tables():
    for rows, words in (
        ([], "no rows"),
        ([["a", "a"], [SECRET, 1]], "1 and 2"),
        ([["a", "b"], [1, 2], [1, 2, SECRET]], "Row 3"),
    ):
        assert words in refused(workbook(*rows), "t.xlsx")
    for table, words in (
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame({"a": [[SECRET]]}), "lists"),
        (pa.table([[SECRET], [1]], names=["a", "a"]), "1 and 2"),
    ):
        assert words in refused(parquet(table), "t.parquet")

"""Encoding in blocks gives the same codes, or the same error, as encoding in memory.

Foreign files in the folder stay, and incomplete codes are not used as complete ones.
"""

import csv
import gzip
import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import SMALL, make_frame

from dpcore.datasets import delimited_text, parquet, streams
from dpcore.datasets.reading import read_frame
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.unit import PrivacyUnit
from dpcore.errors import DataError
from dpcore.methods.networks.refined_privbayes import RefinedPrivBayes
from dpcore.rows import Folder, writing
from dpcore.rows.folder import checksum, read_folder_status
from dpcore.rows.writing import encode_folder


def columns(outside: str, *, missing: bool) -> tuple[Column, ...]:
    anyhow: dict[str, Any] = {"missing": missing, "outside": outside}
    listed = ("3", "0.5", "x", "True", "2020-01-01", "9007199254740993", "0", "a b", "1,5")
    return (
        Column(name="real", kind="continuous", lower=-10, upper=10, bins=100, **anyhow),
        Column(name="whole", kind="integer", lower=-3, upper=9, bins=5, **anyhow),
        Column(name="listed", kind="categorical", categories=listed, missing=True, outside=outside),
        Column(name="day", kind="date", lower="1990-01-01", upper="2030-12-31", bins="year", **anyhow),
        Column(name="money", kind="continuous", lower=0, upper=9999, bins=7, number_format="$1,234.50", **anyhow),
    )


SCHEMAS = [Schema(columns=columns(out, missing=there)) for out in ("clip", "refuse") for there in (True, False)]
TIDY = Schema(columns=columns("clip", missing=True))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks of a few rows."""
    monkeypatch.setattr(writing, "GROUP", 3)
    monkeypatch.setattr(writing, "PART", 6)
    monkeypatch.setattr(parquet, "ROWS", 2)
    monkeypatch.setattr(streams, "ROWS", 2)
    monkeypatch.setattr(delimited_text, "PIECE", 7)


def of_folder(folder: Path, schema: Schema) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Return codes and numbers of a folder, and check its manifest."""
    found = json.loads((folder / "manifest.json").read_text())
    assert found["format"] == "dpcore rows 1"
    assert Schema.from_document(found["schema"]) == schema
    assert {path.name for path in folder.iterdir()} == {"manifest.json", *(part["file"] for part in found["parts"])}
    tables = [pq.read_table(folder / part["file"]) for part in found["parts"]]
    assert [table.num_rows for table in tables] == [part["rows"] for part in found["parts"]]
    assert [part["sha256"] for part in found["parts"]] == [checksum(folder / p["file"]) for p in found["parts"]]
    table = pa.concat_tables(tables)
    assert table.num_rows == found["rows"]
    assert all(pa.types.is_uint8(table.schema.field(f"c{j}").type) for j in range(len(schema)))
    codes = np.column_stack([table[f"c{j}"].to_numpy() for j in range(len(schema))])
    return codes, {j: table[f"n{j}"].to_numpy() for j, column in enumerate(schema) if column.numeric}


def told(work: Callable[[], Any]) -> Any:
    """Return the result, or the error."""
    try:
        return work()
    except DataError as error:
        return str(error)


def assert_alike(path: Path, folder: Path, schema: Schema, source: Any = None) -> None:
    """Check that memory and folder give the same codes and numbers, or the same error."""
    frame, source = read_frame(path, trusted=True), path if source is None else source
    codes = told(lambda: schema.encode(frame))
    if isinstance(codes, str):
        assert told(lambda: encode_folder(source, folder, schema=schema)) == codes
        assert not list(folder.iterdir())
        return
    found, numbers = of_folder(encode_folder(source, folder, schema=schema), schema)
    np.testing.assert_array_equal(found, codes)
    for j, values in numbers.items():
        np.testing.assert_array_equal(values, schema.columns[j].numbers(frame[schema.names[j]]))


ODD = ["3", "3.0", " 3 ", "-0.0", "0", "007", "0.5", "x", " x", "", "NULL", "nan", "inf", "1e3", "True", "20200102"]
ODD += ["2020-01-01", "2020-01-01 10:30", "2020/2/30", "$1,234.50", "1,234", "$ 5", "-$1", "1,5", "a\nb", 'a "b" c']
ODD += ["9007199254740993", "9007199254740992", "\u00a0x", "é"]
texts = st.sampled_from(ODD) | st.integers(-12, 12).map(str) | st.floats(-12, 12).map(str)


@given(st.lists(st.tuples(*[texts] * 5), min_size=1, max_size=14), st.sampled_from(SCHEMAS), st.sampled_from(",;\t"))
def test_a_text_is_encoded_as_it_is_in_memory(tmp_path_factory, rows, schema, delimiter):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([schema.names, *rows])
    folder = tmp_path_factory.mktemp("text")
    (folder / "table.csv").write_text(text.getvalue(), encoding="utf-8")
    assert_alike(folder / "table.csv", folder / "codes", schema)


KINDS = [
    *((kind, texts) for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()))),
    (pa.int64(), st.integers(-12, 12) | st.sampled_from([2**53, 2**53 + 1, 20200102])),
    (pa.uint8(), st.integers(0, 255)),
    (pa.float64(), st.floats(-12, 12) | st.sampled_from([-0.0, float("nan"), float("inf"), 2.0**53, 20200102.0])),
    (pa.float32(), st.floats(-12, 12, width=32)),
    (pa.bool_(), st.booleans()),
    (pa.null(), st.none()),
    (pa.date32(), st.dates(date(1980, 1, 1), date(2040, 1, 1))),
    (pa.timestamp("us"), st.datetimes(datetime(1980, 1, 1), datetime(2040, 1, 1))),
    (pa.decimal128(6, 2), st.decimals(-20, 20, places=2, allow_nan=False).map(Decimal)),
    (pa.dictionary(pa.int8(), pa.int32()), st.integers(-5, 5)),
]


@given(st.data(), st.integers(1, 8), st.sampled_from(SCHEMAS), st.integers(1, 4), st.booleans())
def test_parquet_and_streams_are_encoded_as_they_are_in_memory(tmp_path_factory, data, rows, schema, group, streamed):
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=5, max_size=5))
    cells = [data.draw(st.lists(cell | st.none(), min_size=rows, max_size=rows)) for _, cell in kinds]
    columns = [pa.array(own, kind) for own, (kind, _) in zip(cells, kinds, strict=True)]
    folder, table = tmp_path_factory.mktemp("parquet"), pa.table(columns, schema.names)
    pq.write_table(table, folder / "table.parquet", row_group_size=group)
    source = table.to_reader(max_chunksize=group) if streamed else None
    assert_alike(folder / "table.parquet", folder / "codes", schema, source)


def test_a_stream_is_read_once_and_its_hash_depends_on_its_rows(tmp_path):
    """For any declared columns, any batches of the stream, and any Arrow types."""
    frame = make_frame(20, 1)
    table, keys = pa.table(frame), []
    views = {pa.large_string(): pa.string_view()}
    viewed = table.cast(pa.schema([(field.name, views.get(field.type, field.type)) for field in table.schema]))
    spans = pa.array([(1, 2, 3)] * 20, pa.month_day_nano_interval())  # which are no cells, as lists are none
    same = frame, viewed.to_reader(max_chunksize=7), viewed.append_column("spans", spans)
    for number, rows in enumerate([*same, frame.iloc[::-1], frame.replace({"ill": {"yes": "no"}})]):
        schema = SMALL.select(SMALL.names[:2]) if number == 1 else SMALL
        codes = Folder.open(encode_folder(rows, tmp_path / f"codes {number}", schema=schema))
        assert len(codes) == 20
        keys.append(codes.key(b"secret"))
    assert len({*keys[:3]}) == 1
    assert len({*keys}) == 3
    with pytest.raises(DataError, match=r"another source.*replace=True"):
        encode_folder(frame, tmp_path / "codes 0", schema=SMALL)


def test_a_stream_that_stopped_is_read_from_its_beginning_and_quotes_no_cell(tmp_path):
    def some(names: list[str]) -> pa.RecordBatchReader:
        def batches() -> Iterator[pa.RecordBatch]:
            for name in names:
                if name == "Smith":
                    raise LookupError(name)
                yield pa.record_batch({"name": [name] * 8})

        return pa.RecordBatchReader.from_batches(pa.schema({"name": pa.string()}), batches())

    schema = Schema(columns=(Column(name="name", kind="categorical", categories=("a", "b")),))
    for source in (pd.DataFrame({"name": [3, "Smith"]}), some(["a", "a", "Smith"])):
        with pytest.raises(DataError, match="may quote cells") as refused:
            encode_folder(source, tmp_path / "codes", schema=schema)
        assert refused.value.__context__ is refused.value.__cause__ is None
        assert "Smith" not in str(refused.value)
    assert read_folder_status(tmp_path / "codes").rows > 0
    encode_folder(some(["b", "a"]), tmp_path / "codes", schema=schema)
    assert of_folder(tmp_path / "codes", schema)[0][:, 0].tolist() == [1] * 8 + [0] * 8


@pytest.mark.parametrize("given", [3, [1, 2], pa.table({"x": [1]})], ids=repr)
def test_unreadable_sources_are_refused_with_a_remedy(tmp_path, given):
    with pytest.raises(DataError, match=r"a pandas DataFrame or a folder.*dp\.encode.*Parquet files"):
        RefinedPrivBayes().fit(given, schema=TIDY)
    if not hasattr(given, "__arrow_c_stream__"):
        with pytest.raises(DataError, match=r"an Arrow stream.*Parquet files.*protects a row"):
            encode_folder(given, tmp_path / "codes", schema=TIDY)


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf\r\n\r\nreal,whole,listed,day,money\r\n1,2,x,2020-01-01,5\r\n\r\n\r\n3,4,a b,,6  \r\n\r\n \n",
        b'real,"whole",listed,day,money\n1,2,"a\n\nb",2020-01-01,5\n\n2,3,"1,5",,"$1,234.50"',
        b'real,whole,listed,day,money,more\n1,2,5" x,2020-01-01,5,\n1,2,5" x,2020-01-01,5,y\n',
        b"real,whole,listed,day,money\n",
        b'real,whole,listed,day,money\n1,2,3,4,5\n1,"2,3,4,5\n1,2,3,4,5\n',
        b"real,whole,listed,day,money\n1,2,\xe9,4,5\n",
        "real,whole,listed,day,money\n1,2,é,4,5\n".encode("utf-16"),
        b" \n",
    ],
)
def test_odd_texts_are_read_or_refused_as_in_memory(tmp_path, raw):
    for name, packed in (("table.csv", raw), ("table.csv.gz", gzip.compress(raw))):
        (tmp_path / name).write_bytes(packed)
        index = tmp_path / f"{name} codes"
        codes = told(lambda path=tmp_path / name: TIDY.encode(read_frame(path, trusted=True)))
        found = told(lambda path=tmp_path / name, index=index: encode_folder(path, index, schema=TIDY))
        if isinstance(codes, str):
            assert found == codes.replace("The packed file is empty", "The file is empty")
        else:
            np.testing.assert_array_equal(of_folder(found, TIDY)[0], codes)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Nineteen rows, in a text and in a Parquet file with another order of columns."""
    folder = tmp_path / "table"
    folder.mkdir()
    rows = [[str(i), str(i % 9), "x", f"2020-01-{i + 1:02}", str(i)] for i in range(19)]
    with (folder / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([TIDY.names, *rows[:8]])
    columns = {name: [row[j] for row in rows[8:]] for j, name in reversed(list(enumerate(TIDY.names)))}
    (folder / "b").mkdir()
    pq.write_table(pa.table(columns), folder / "b" / "c.parquet", row_group_size=4)
    (folder / "_SUCCESS").write_text("")
    return folder


class StoppedError(Exception):
    pass


@pytest.mark.parametrize(("after", "damaged"), [(0, 0), (2, 0), (6, 0), (6, 1)])
def test_an_interrupted_run_continues_after_the_last_finished_part(files, tmp_path, after, damaged):
    whole, codes = (tmp_path / name for name in ("whole", "codes"))
    assert of_folder(encode_folder(files, whole, schema=TIDY), TIDY)[1][0].tolist() == [*range(11), *[10] * 8]
    seen: list[float] = []

    def stop(fraction: float, text: str) -> None:
        seen.append(fraction)
        if np.count_nonzero(seen) == after:
            raise StoppedError

    with pytest.raises(StoppedError):
        encode_folder(files, codes, schema=TIDY, progress=stop)
    parts = sorted(codes.glob("part-*"))
    assert len(parts) >= (2 if after > 4 else 0)
    kept = parts[: len(parts) - damaged]
    for part in parts[len(kept) :]:
        part.write_bytes(b"PAR1")
    before = [path.stat().st_mtime_ns for path in kept]
    encode_folder(files, codes, schema=TIDY, progress=lambda fraction, _: seen.append(fraction))
    assert [path.stat().st_mtime_ns for path in kept] == before
    assert seen[-1] == 1
    for name in ("manifest.json", *[path.name for path in parts]):
        assert (codes / name).read_bytes() == (whole / name).read_bytes()


def test_other_sources_and_schemas_do_not_continue_and_say_why(files, tmp_path):
    codes = encode_folder(files, tmp_path / "codes", schema=TIDY)
    there = (codes / "part-00000.parquet").stat().st_mtime_ns
    elsewhere = replace(TIDY, columns=tuple(replace(column, origin="document") for column in TIDY))
    encode_folder(files, codes, schema=elsewhere)  # where lines came from makes no other codes
    assert (codes / "part-00000.parquet").stat().st_mtime_ns == there
    for other, why in (
        ({"schema": TIDY.select(["real"])}, "another schema"),
        ({"missing": ("x",)}, "other settings"),
        ({"numbers": False}, "setting of `numbers`"),
    ):
        with pytest.raises(DataError, match=why):
            encode_folder(files, codes, **{"schema": TIDY, **other})
    with (files / "a.csv").open("a") as file:
        file.write("1,1,x,2020-01-01,1\n")
    with pytest.raises(DataError, match="changed since"):
        encode_folder(files, codes, schema=TIDY)
    encode_folder(files, codes, schema=TIDY, numbers=False, replace=True)
    manifest = json.loads((codes / "manifest.json").read_text())
    assert manifest["rows"] == 20
    assert set(manifest["sources"]) == {"a.csv", "b/c.parquet"}
    assert pq.read_schema(codes / "part-00000.parquet").names == ["c0", "c1", "c2", "c3", "c4"]


def test_a_source_that_changes_while_it_is_read_is_refused(files, tmp_path):
    def touch(fraction: float, text: str) -> None:
        if fraction:
            os.utime(files / "a.csv", ns=(1, 1))

    with pytest.raises(DataError, match="changed while it was read"):
        encode_folder(files, tmp_path / "codes", schema=TIDY, progress=touch)


def test_cells_that_do_not_fit_are_counted_over_all_files(files, tmp_path):
    narrow = Schema(columns=(Column(name="real", kind="continuous", lower=2, upper=5, bins=3),))
    with pytest.raises(DataError, match=r"column 'real' lie outside the declared bounds 2 to 5\.") as one:
        encode_folder(files, tmp_path / "codes", schema=narrow)
    assert one.value.private.startswith("15 cells of column 'real'")
    assert not list((tmp_path / "codes").iterdir())
    more = Column(name="else", kind="categorical", categories=("x",))
    with pytest.raises(DataError, match="lack the column 'else'"):
        encode_folder(files, tmp_path / "codes", schema=Schema(columns=(*narrow.columns, more)))


def test_rows_of_persons_are_not_encoded_block_by_block(files, tmp_path):
    schema = Schema(columns=TIDY.columns, unit=PrivacyUnit(max_contributions=2, id_column="who"))
    with pytest.raises(DataError, match="all rows of a person"):
        encode_folder(files, tmp_path / "codes", schema=schema)
    assert not (tmp_path / "codes").exists()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("anew", [False, True])
def test_foreign_files_are_never_removed(files, tmp_path, anew):
    """Also if their names look like ours, or a manifest is from another program."""
    other = tmp_path / "other"
    (other / "2024").mkdir(parents=True)
    for name in ("part-00000.parquet", "2024/part-00000.parquet"):
        pq.write_table(pa.table({name: ["1"] for name in TIDY.names}), other / name)
    before = contents(tmp_path)
    for source, folder in (
        (other, tmp_path / "2024" / ".." / "other"),
        (other, other / "codes"),
        (other, tmp_path),
        (other / "part-00000.parquet", other),
    ):
        with pytest.raises(DataError, match="is the source, is inside it, or contains it"):
            encode_folder(source, folder, schema=TIDY, replace=anew)
    with pytest.raises(DataError, match="contains other files"):
        encode_folder(files, other, schema=TIDY, replace=anew)
    assert contents(tmp_path) == before
    for name, text in (("manifest.json", "{}"), ("unfinished.json", '{"format": "another"}')):
        (other / name).write_text(text)
        before = contents(tmp_path)
        with pytest.raises(DataError, match=f"its {name}"):
            encode_folder(files, other, schema=TIDY, replace=anew)
        assert contents(tmp_path) == before
        (other / name).unlink()


def test_codes_are_replaced_and_other_files_stay(files, tmp_path):
    folder = encode_folder(files, tmp_path / "codes", schema=TIDY)
    own = {"part-00000-5f0e.snappy.parquet", "part-1.parquet", "notes.txt"}
    for name in own:
        (folder / name).write_bytes(b"own")
    (folder / "part-00009.parquet.new").write_bytes(b"cut")
    encode_folder(files, folder, schema=TIDY.select(["real"]), replace=True)
    found = contents(folder)
    assert {name for name, text in found.items() if text == b"own"} == own
    assert "part-00009.parquet.new" not in found
    assert pq.read_schema(folder / "part-00000.parquet").names == ["c0", "n0"]


@pytest.mark.parametrize("after", [0, 1])
def test_an_interrupted_removal_of_codes_can_start_again(files, tmp_path, monkeypatch, after):
    codes = encode_folder(files, tmp_path / "codes", schema=TIDY)
    unlink, taken = Path.unlink, iter(range(after))

    def stop(path: Path, **how: bool) -> None:
        if next(taken, None) is None:
            raise StoppedError
        unlink(path, **how)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", stop)
        with pytest.raises(StoppedError):
            encode_folder(files, codes, schema=TIDY, replace=True)
    if after:
        assert read_folder_status(codes) is None
        encode_folder(files, codes, schema=TIDY.select(["real"]))
    assert len(Folder.open(codes)) == 19


def test_a_folder_is_marked_before_its_first_part(files, tmp_path, monkeypatch):
    """So that an interrupted run can start again there, also with another schema."""

    def stop(*_: object, **__: object) -> None:
        raise StoppedError

    codes = tmp_path / "codes"
    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", stop)
        with pytest.raises(StoppedError):
            encode_folder(files, codes, schema=TIDY)
    assert json.loads((codes / "unfinished.json").read_text())["parts"] == []
    assert read_folder_status(codes) is None
    encode_folder(files, codes, schema=TIDY.select(["real"]))
    assert read_folder_status(codes).rows == 19


def test_damaged_codes_are_refused_and_the_remedy_works(files, tmp_path):
    folder = encode_folder(files, tmp_path / "codes", schema=TIDY)
    before = contents(folder)
    (folder / "part-00001.parquet").write_bytes(before["part-00001.parquet"][:-1])
    with pytest.raises(DataError, match=r"damaged or incomplete\..*replace=True"):
        encode_folder(files, folder, schema=TIDY)
    encode_folder(files, folder, schema=TIDY, replace=True)
    assert contents(folder) == before

"""What is in the folder where codes go: files of others stay, and codes that are not whole are not taken for whole."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_writing import TIDY, StoppedError, of_folder, some_files

from dpcore.errors import DataError
from dpcore.rows import Folder, writing
from dpcore.rows.manifest import begun
from dpcore.rows.writing import encode


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    """Parts of a few rows."""
    monkeypatch.setattr(writing, "GROUP", 3)
    monkeypatch.setattr(writing, "PART", 6)
    return some_files(tmp_path / "table")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("replace", [False, True])
def test_files_of_others_are_never_taken_away(table, tmp_path, replace):
    """Also if they have the names that other programs give, which are like ours, or a manifest of another program."""
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
        with pytest.raises(DataError, match="is the source, or lies inside it, or around it"):
            encode(source, folder, schema=TIDY, replace=replace)
    with pytest.raises(DataError, match="holds other files"):
        encode(table, other, schema=TIDY, replace=replace)
    assert contents(tmp_path) == before
    for name, text in (("manifest.json", "{}"), ("unfinished.json", '{"format": "another"}')):
        (other / name).write_text(text)
        before = contents(tmp_path)
        with pytest.raises(DataError, match=f"its {name}"):
            encode(table, other, schema=TIDY, replace=replace)
        assert contents(tmp_path) == before
        (other / name).unlink()


def test_codes_are_replaced_and_files_beside_them_stay(table, tmp_path):
    folder = encode(table, tmp_path / "codes", schema=TIDY)
    own = {"part-00000-5f0e.snappy.parquet", "part-1.parquet", "notes.txt"}
    for name in own:
        (folder / name).write_bytes(b"own")
    (folder / "part-00009.parquet.new").write_bytes(b"cut")
    encode(table, folder, schema=TIDY.select(["real"]), replace=True)
    found = contents(folder)
    assert {name for name, text in found.items() if text == b"own"} == own
    assert "part-00009.parquet.new" not in found
    assert pq.read_schema(folder / "part-00000.parquet").names == ["c0", "n0"]


@pytest.mark.parametrize("after", [0, 1])
def test_whoever_was_stopped_while_codes_were_dropped_can_begin_anew(table, tmp_path, monkeypatch, after):
    folder = encode(table, tmp_path / "codes", schema=TIDY)
    unlink, taken = Path.unlink, iter(range(after))

    def stop(path: Path, **how: bool) -> None:
        if next(taken, None) is None:
            raise StoppedError
        unlink(path, **how)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", stop)
        with pytest.raises(StoppedError):
            encode(table, folder, schema=TIDY, replace=True)
    if not after:
        assert len(Folder.open(folder)) == 19
        return
    assert begun(folder) is None
    encode(table, folder, schema=TIDY.select(["real"]))
    of_folder(folder, TIDY.select(["real"]))


def test_a_folder_is_marked_before_its_first_part(table, tmp_path, monkeypatch):
    """So that whoever is stopped in it can begin again there, by another schema, too."""

    def stop(*_: object, **__: object) -> None:
        raise StoppedError

    folder = tmp_path / "codes"
    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", stop)
        with pytest.raises(StoppedError):
            encode(table, folder, schema=TIDY)
    assert json.loads((folder / "unfinished.json").read_text())["parts"] == []
    assert begun(folder) is None
    (folder / "part-00000.parquet").write_bytes(b"PAR1")
    encode(table, folder, schema=TIDY.select(["real"]))
    assert begun(folder).rows == 19


def test_damaged_codes_are_not_taken_for_whole_and_the_remedy_works(table, tmp_path):
    folder = encode(table, tmp_path / "codes", schema=TIDY)
    before = contents(folder)
    (folder / "part-00001.parquet").write_bytes(before["part-00001.parquet"][:-1])
    with pytest.raises(DataError, match=r"damaged, or not all there\..*replace=True"):
        encode(table, folder, schema=TIDY)
    encode(table, folder, schema=TIDY, replace=True)
    assert contents(folder) == before

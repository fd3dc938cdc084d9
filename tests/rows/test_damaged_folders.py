"""Folders of codes with damaged manifests or files raise a DataError with a remedy."""

import functools
import json
import os
import shutil

import pytest
from folders import encoded
from tables import SMALL, make_frame

from dpcore.errors import DataError, DPCoreError
from dpcore.rows import Folder, writing
from dpcore.rows.data import FolderData
from dpcore.rows.folder import read_folder_status

LONG, NUL = "a" * 5_000, "a\0b"
VALUES = [None, True, -1, 3, 0.5, 10**39, 1e300, "", "x", NUL, LONG, "../x", "."]
VALUES += [[], [1], [[]], [{}], {}, {"x": 1}, KeyError]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    index = tmp_path_factory.mktemp("sound")
    encoded(index, make_frame(600, 1), 400)
    return index


def paths_of(value, path=()):
    """Return the paths of all values in a document, the document itself first."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, below in items:
        yield from paths_of(below, (*path, key))


def changed(document, path, value):
    """Return a document with another value at a path, or without the last key of the path."""
    if not path:
        return value
    copy = json.loads(json.dumps(document))
    *above, last = path
    inner = functools.reduce(lambda outer, key: outer[key], above, copy)
    if value is KeyError:
        del inner[last]
    else:
        inner[last] = value
    return copy


def refused_or_read(folder, source):
    """Read a folder in every way, and count the refusals; other errors are raised."""
    looks = (
        lambda: Folder.open(folder),
        lambda: FolderData.open(folder, split_seed=1),
        lambda: (known := read_folder_status(folder)) and (known.damaged_part(), known.source_changed(source)),
        lambda: writing.encode_folder(source, folder, schema=SMALL),
    )
    failed = []
    for look in looks:
        try:
            look()
        except DPCoreError as error:
            failed.append(type(error))
    return failed


@pytest.mark.parametrize("name", ["manifest.json", "unfinished.json"])
def test_any_manifest_is_read_or_refused_with_a_data_error(name, sound, tmp_path, seeds):
    document = json.loads((sound / "codes" / "manifest.json").read_text())
    document["format"] += ", unfinished" * (name == "unfinished.json")
    folder = tmp_path / "codes"
    folder.mkdir()
    step = 30 // len(seeds(30))
    for number, path in enumerate(paths_of(document)):
        for value in (VALUES if path else VALUES[:-1])[number % step :: step]:
            for part in document["parts"]:  # `encode` may have begun anew
                if not (folder / part["file"]).exists():
                    os.link(sound / "codes" / part["file"], folder / part["file"])
            (folder / name).write_text(json.dumps(changed(document, path, value)), encoding="utf-8")
            refused_or_read(folder, sound / "rows.parquet")
            for left in folder.glob("*.json"):
                left.unlink()


@pytest.mark.parametrize("name", ["manifest.json", "unfinished.json", "part-00000.parquet"])
@pytest.mark.parametrize("what", ["directory", "link to nowhere", "link to itself", "empty", "half", "NUL"])
def test_any_replacement_of_a_file_is_refused_with_a_data_error(name, what, sound, tmp_path):
    folder = tmp_path / "codes"
    shutil.copytree(sound / "codes", folder)
    path = folder / name
    raw = path.read_bytes() if path.exists() else b"{"
    path.unlink(missing_ok=True)
    if name == "unfinished.json":
        (folder / "manifest.json").unlink()
    if what == "directory":
        path.mkdir()
    elif what.startswith("link"):
        path.symlink_to(path if what == "link to itself" else tmp_path / "nowhere")
    else:
        path.write_bytes({"empty": b"", "half": raw[: len(raw) // 2], "NUL": bytes(len(raw))}[what])
    assert refused_or_read(folder, sound / "rows.parquet")[:1] == [DataError]


def test_unfinished_queries_are_refused_and_finished_ones_are_read(sound, tmp_path):
    """An earlier version queried databases. An unfinished query may come in another order."""
    folder, source = tmp_path / "codes", sound / "rows.parquet"
    shutil.copytree(sound / "codes", folder)
    document = json.loads((folder / "manifest.json").read_text()) | {"reading": {"query": "SELECT"}}
    (folder / "manifest.json").write_text(json.dumps(document))
    assert len(Folder.open(folder)) == 600
    (folder / "manifest.json").unlink()
    document["format"] += ", unfinished"
    (folder / "unfinished.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match="no longer reads rows by a database query"):
        writing.encode_folder(source, folder, schema=SMALL)
    assert len(Folder.open(writing.encode_folder(source, folder, schema=SMALL, replace=True))) == 600


@pytest.mark.parametrize("name", ["a\0b", "loop", "a" * 5_000, "rows.parquet"])
def test_impossible_paths_are_refused_with_a_data_error(name, sound, tmp_path):
    shutil.copy(sound / "rows.parquet", tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    def encode(index):
        writing.encode_folder(sound / "rows.parquet", index, schema=SMALL)

    for look in (Folder.open, FolderData.open, encode):
        with pytest.raises(DPCoreError):
            look(tmp_path / name)

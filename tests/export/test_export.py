"""The zip that a person takes home: complete, honest, harmless, and able to make itself again."""

import io
import math
import os
import re
import runpy
import struct
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from taken_home import FOR_READERS, NO_REPORT, members, replayed, strict, unpacked

from dpcore import datasets
from dpcore.accounting.store import LedgerStore
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.export import bundle, make_release, make_report, show_code, spreadsheet_csv
from dpcore.export.archive import readme
from dpcore.export.facts import facts
from dpcore.methods import NaiveBayesSynthesizer
from dpcore.rows import FolderData
from dpcore.rows.writing import encode_folder

CANARY = 12345.678
pytestmark = pytest.mark.usefixtures("quick_pictures")  # the report's charts have tests of their own
PRIVATE = Schema(
    columns=(
        Column(name="pay", kind="continuous", lower=0.0, upper=20_000.0, bins=4),
        Column(name="children", kind="integer", lower=0, upper=9, bins=10, missing=True),
        Column(name="grade", kind="ordered", categories=("low", "mid", "high")),
        Column(name="town", kind="categorical", categories=("=Oslo", "-2", "Bergen", "@home"), missing=True),
        Column(name="ill", kind="categorical", categories=("no", "yes")),
    ),
    target="ill",
)


@cache
def private_frame(rows=613):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "pay": rng.uniform(0, 20_000, rows).round(3),
            "children": pd.array(rng.integers(0, 10, rows), dtype="Int64"),
            "grade": rng.choice(["low", "mid", "high"], rows),
            "town": rng.choice(np.array([*PRIVATE["town"].categories, None], dtype=object), rows),
            "ill": rng.choice(["no", "yes"], rows, p=[0.8, 0.2]),
            "name": "Zz-canary-zZ",
        }
    )
    frame.loc[frame.index % 7 == 0, "children"] = pd.NA
    frame.loc[::2, "pay"] = CANARY
    return frame


def release(frame=None, *, n=200, data_name="people.csv", reading=None, **parameters):
    method = NaiveBayesSynthesizer(**{"x_source": "model", "epsilon": 2.0, "noise": "auto", **parameters})
    method.fit(private_frame() if frame is None else frame, schema=PRIVATE)
    return make_release(method, "NB-Synth", method.sample(n), data_name=data_name, seconds=0.1, reading=reading)


@cache
def seeded():
    return release(random_state=17)


def unseeded(made):
    return replace(made, parameters={**made.parameters, "random_state": None})


def test_all_files_are_there_and_say_the_same():
    made = seeded()
    files = members(made)
    assert {*files} == {"synthetic.csv", "schema.json", "config.json", "ledger.json", "ledger.csv", *FOR_READERS}
    listed = files["README.md"].decode().partition("## Files")[2].partition("## Make")[0]
    assert {*re.findall(r"`([a-z]+\.[a-z]+)`", listed), "README.md"} == {*files}
    assert Schema.from_json(files["schema.json"].decode()) == PRIVATE
    config, ledger = strict(files["config.json"]), strict(files["ledger.json"])
    assert (config["parameters"], config["data"], config["rows"]) == (made.parameters, {"name": "people.csv"}, 200)
    usual = release(n=None, random_state=17)
    assert len(usual.synthetic) == round(usual.rows) != 200
    assert ("rows" in usual.config(), "method.sample()\n" in show_code(usual)) == (False, True)
    assert ledger["epsilon_nominal"] == ledger["epsilon_claimed"] == 2.0
    assert (ledger["epsilon_bound"], "seed" in ledger["void"], len(ledger["entries"])) == ("infinity", True, 4)
    frame = pd.read_csv(io.BytesIO(files["ledger.csv"]))
    assert frame["epsilon_nominal"].sum() == pytest.approx(2.0)
    assert np.isinf(frame["epsilon_bound"]).all()
    assert frame["void"].all()


def test_tables_keep_their_values():
    made = seeded()
    back = pd.read_parquet(io.BytesIO(members(made, "parquet", NO_REPORT)["synthetic.parquet"]))
    pd.testing.assert_frame_equal(back, made.synthetic)
    files = members(made, report=NO_REPORT)
    back = pd.read_csv(io.BytesIO(files["synthetic.csv"]), dtype={"town": "object"})
    np.testing.assert_allclose(back["pay"], made.synthetic["pay"])
    assert set(back["town"].dropna()) == {"'=Oslo", "-2", "Bergen", "'@home"}
    assert "begin with an apostrophe" in files["README.md"].decode()
    assert "apostrophe" not in readme(facts(made), "parquet", NO_REPORT)
    with pytest.raises(ParameterError, match="csv or parquet"):
        bundle(made, table="xlsx")


def test_numbers_of_numpy_and_without_end_are_written_so_that_they_can_be_read():
    made = release(random_state=np.int64(3), epsilon=np.float64(1.5), n=20)
    assert type(made.parameters["random_state"]) is int
    assert "np." not in show_code(made)
    made.parameters.update(bound=math.inf, least=-math.inf, epsilon=math.nan)
    config = strict(members(made, report=NO_REPORT)["config.json"])["parameters"]
    assert (config["bound"], config["epsilon"]) == ("infinity", None)
    compile(show_code(made), "replay.py", "exec")
    assert "private = dp.datasets.load('adult')\n" in show_code(replace(made, data_name="adult"))


@pytest.mark.parametrize(("raw", "shown"), [(b"caf\xe9", r"caf\udce9"), (b"a\x01b", r"a\x01b")])
def test_a_release_of_a_file_whose_name_is_no_text_is_charged_and_exported(raw, shown, tmp_path):
    """The file was read, the run was charged, and then no zip could be made of it."""
    path = tmp_path / os.fsdecode(raw + b".csv")
    private_frame().to_csv(path, index=False)
    data = datasets.read(path, schema=PRIVATE)
    books = LedgerStore(tmp_path / "ledger.sqlite")
    ledger = books.open_run(data, "add_remove", "test").ledger()
    method = NaiveBayesSynthesizer().fit(data.train, schema=PRIVATE, ledger=ledger)
    assert [account.name for account in books.accounts()] == [data.name] == [f"{shown}.csv"]
    made = make_release(method, os.fsdecode(raw), method.sample(9), data_name=os.fsdecode(raw))
    config = strict(members(made, report=NO_REPORT)["config.json"])
    assert (config["method"], config["data"]["name"]) == (shown, shown)


# Nothing of the real rows


@pytest.mark.parametrize(("table", "relation"), [("csv", "add_remove"), ("parquet", "replace")])
def test_nothing_of_the_real_rows_is_in_the_zip(table, relation):
    files = members(release(relation=relation), table)
    if table == "parquet":
        files["text of the table"] = pd.read_parquet(io.BytesIO(files["synthetic.parquet"])).to_csv().encode()
    for name, raw in files.items():
        for secret in (b"12345.678", b"1.2345678", struct.pack("<d", CANARY), b"canary"):
            assert secret not in raw, (name, secret)
        if "synthetic" not in name and "text" not in name:
            assert not re.search(rb"\b613\b", raw), name  # the number of rows


def test_the_run_time_is_not_in_the_zip_and_the_lots_of_the_split_are_with_a_seed_only():
    """The one depends on the rows, and no epsilon covers that."""
    made = replace(seeded(), reading={"test_share": 0.3, "split_seed": 123_456_789, "skip_last": 1})
    files = members(made)
    assert b"skip_last=1" in files["replay.py"]
    assert files == members(replace(made, seconds=99.0))
    assert b"123456789" in b"".join(files.values())
    assert b"123456789" not in b"".join(members(unseeded(made)).values())


def files_of_one_row():
    """Two files that differ in a byte of one row, and how a person has to read the second."""
    plainly = private_frame().assign(note="Zurich").to_csv(index=False).encode()
    return {"plain": (plainly, {}), "odd": (plainly.replace(b"Zurich", b"Z\xfcrich", 1), {"encoding": "cp1252"})}


def test_one_row_decides_on_nothing_that_files_say_of_how_the_table_is_written(tmp_path):
    """The reader refuses a file for one row's byte, and its owner declares an encoding: nobody else may learn of it."""
    made, found = seeded(), []
    split = {"test_share": 0.5, "split_seed": 5}
    for name, (raw, how) in files_of_one_row().items():
        data = datasets.read(raw, "people.csv", schema=PRIVATE, **split, **how)
        (path := tmp_path / f"{name}.csv").write_bytes(raw)
        folder = FolderData.open(encode_folder(path, tmp_path / name, schema=PRIVATE, **how), **split)
        several = [replace(made, reading=reading) for reading in (data.reading, folder.reading, {**split, **how})]
        several += [unseeded(each) for each in several]
        found.append([*(members(each, report=NO_REPORT) for each in several), make_report(several[0])])
    assert found[0] == found[1]


# Replay


def saved(folder, **how):
    """The person's file."""
    private_frame().to_csv(folder / "your-data.csv", index=False, **how)
    return folder / "your-data.csv"


@pytest.mark.parametrize("encoded", [False, True], ids=["file", "folder"])
def test_a_replay_splits_the_file_as_the_release_did_and_gives_the_same_rows(encoded, tmp_path, monkeypatch, capsys):
    """A file, or the folder that it was encoded to; its training part by the lots of the release, and a seed."""
    path, how = saved(tmp_path, sep=";", decimal=","), {"delimiter": ";", "decimal": ","}
    split = {"test_share": 0.5, "split_seed": 5}
    if encoded:
        codes = encode_folder(path, tmp_path / "elsewhere", schema=PRIVATE, **how)
        data = FolderData.open(codes, **split, name="people/")
        rows, published = data.train, {}
    else:
        data = datasets.read(path, schema=PRIVATE, **split, **how)
        rows, published = data.train, {"mode": "published", "x_source": "uniform", "rows": 150}
    made = release(rows, data_name=data.name, random_state=3, n=120, reading=data.reading, **published)
    said, space = replayed(made, tmp_path, monkeypatch, capsys, "parquet")
    assert said == "The release came out again: the same rows as synthetic.parquet (synthetic-again.csv).\n"
    pd.testing.assert_frame_equal(space["synthetic"], made.synthetic)
    assert (tmp_path / "synthetic-again.csv").read_bytes() == spreadsheet_csv(made.synthetic).encode()
    assert "split_seed" not in show_code(unseeded(made))


def test_a_replay_of_a_file_that_needs_it_says_how_to_declare_it(tmp_path, monkeypatch, capsys):
    raw, how = files_of_one_row()["odd"]
    (tmp_path / "your-data.csv").write_bytes(raw)
    data = datasets.read(raw, "people.csv", schema=PRIVATE, test_share=0.5, split_seed=5, **how)
    made = release(data.train, random_state=3, reading=data.reading)
    with pytest.raises(SystemExit):
        replayed(made, tmp_path, monkeypatch, capsys)
    assert "not valid UTF-8" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["replay.py", "your-data.csv", "encoding=cp1252"])
    runpy.run_path("replay.py")
    assert "the same rows as synthetic.csv" in capsys.readouterr().out


def test_a_replay_without_a_seed_makes_another_release_from_any_folder(tmp_path, monkeypatch, capsys):
    saved(tmp_path)
    made = release(reading={"test_share": 0})
    assert "random_state" not in show_code(made)
    (tmp_path / "zip").mkdir()
    folder = unpacked(made, tmp_path / "zip")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["zip/replay.py", "your-data.csv"])
    space = runpy.run_path("zip/replay.py")
    assert "with new noise; it can cost epsilon 2 once more." in capsys.readouterr().out
    assert len(pd.read_csv(folder / "synthetic-again.csv")) == 200
    assert not space["synthetic"].equals(made.synthetic)
    assert space["method"].ledger_.epsilon_bound == 2.0


@pytest.mark.parametrize(
    ("data_name", "given"),
    [
        ("people.csv", ["--help"]),
        ("people.csv", ["other.csv", "encoding="]),
        ("people.csv", ["nowhere.csv"]),
        ("people.csv", ["other.csv"]),
        ("sample", ["other.csv"]),
    ],
)
def test_a_replay_without_its_file_says_how_it_is_used_and_books_nothing(
    data_name, given, tmp_path, monkeypatch, capsys
):
    """One line of usage, then what to do. A wrong table is refused before anything is charged."""
    monkeypatch.chdir(unpacked(replace(seeded(), data_name=data_name), tmp_path))
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_csv("other.csv")
    monkeypatch.setattr(sys, "argv", ["replay.py", *given])
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "books.sqlite"))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path("replay.py")
    assert ended.value.code == 2
    usage, *lines = capsys.readouterr().err.splitlines()
    assert usage.startswith("usage: python replay.py")
    assert lines
    assert not (tmp_path / "synthetic-again.csv").exists()
    assert [account.looks for account in LedgerStore(tmp_path / "books.sqlite").accounts()] in ([], [0])

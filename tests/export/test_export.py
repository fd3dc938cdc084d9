"""The zip that a person takes home: complete, honest, harmless, and able to make itself again."""

import io
import math
import re
import runpy
import shutil
import struct
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from taken_home import FOR_READERS, members, replayed, strict, unpacked

from dpcore import datasets
from dpcore.accounting.ledger import Entry, Ledger
from dpcore.accounting.store import Books
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.errors import ParameterError
from dpcore.export import bundle, plain, release_of, show_code, spreadsheet_csv
from dpcore.export.archive import readme
from dpcore.methods import NaiveBayesSynthesizer
from dpcore.rows import FolderData
from dpcore.rows.writing import encode

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
ALG1 = {"mode": "paper", "variant": "Alg1", "x_source": "uniform", "rows": 200}


@cache
def private_frame(rows=613):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "pay": rng.uniform(0, 20_000, rows).round(3),
            "children": pd.array(rng.integers(0, 10, rows), dtype="Int64"),
            "grade": rng.choice(["low", "mid", "high"], rows),
            "town": rng.choice(np.array(["=Oslo", "-2", "Bergen", "@home", None], dtype=object), rows),
            "ill": rng.choice(["no", "yes"], rows, p=[0.8, 0.2]),
            "name": "Zz-canary-zZ",
        }
    )
    frame.loc[frame.index % 7 == 0, "children"] = pd.NA
    frame.loc[::2, "pay"] = CANARY
    return frame


def release(frame=None, *, schema=PRIVATE, n=200, data_name="people.csv", reading=None, **parameters):
    method = NaiveBayesSynthesizer(**{"x_source": "model", "epsilon": 2.0, **parameters})
    method.fit(private_frame() if frame is None else frame, schema=schema)
    return release_of(method, "NB-Synth", method.sample(n), data_name=data_name, seconds=0.1, reading=reading)


@cache
def seeded():
    return release(random_state=17)


# Contents


@pytest.mark.parametrize("table", ["csv", "parquet"])
def test_all_files_are_there_and_say_the_same(table):
    made = seeded()
    files = members(made, table)
    assert {*files} == {f"synthetic.{table}", "schema.json", "config.json", "ledger.json", "ledger.csv", *FOR_READERS}
    text = files["README.md"].decode()
    assert text == readme(made, table, held=files)
    listed = re.findall(r"^- `([a-z.]+)`: ", text, re.MULTILINE)
    assert {*listed, "README.md"} == {*files}
    assert Schema.from_json(files["schema.json"].decode()) == PRIVATE
    config, ledger = strict(files["config.json"]), strict(files["ledger.json"])
    assert (config["parameters"], config["data"], config["rows"]) == (made.parameters, {"name": "people.csv"}, 200)
    assert ledger["epsilon_of_noise"] == ledger["epsilon_claimed"] == 2.0
    assert (ledger["epsilon_bound"], "seed" in ledger["void"], ledger["status"]) == ("infinity", True, "finished")
    assert len(ledger["entries"]) == 4
    frame = pd.read_csv(io.BytesIO(files["ledger.csv"]))
    assert frame["epsilon_of_noise"].sum() == pytest.approx(2.0)
    assert np.isinf(frame["epsilon_bound"]).all()
    assert frame["void"].all()
    assert list(frame["name"]) == [entry["name"] for entry in ledger["entries"]]


def test_tables_keep_their_values():
    made = seeded()
    back = pd.read_parquet(io.BytesIO(members(made, "parquet")["synthetic.parquet"]))
    pd.testing.assert_frame_equal(back, made.synthetic)
    assert back["grade"].cat.ordered
    assert str(back["children"].dtype) == "Int64"
    assert back["children"].isna().any()
    files = members(made)
    back = pd.read_csv(io.BytesIO(files["synthetic.csv"]), dtype={"town": "object"})
    np.testing.assert_allclose(back["pay"], made.synthetic["pay"])
    assert set(back["town"].dropna()) == {"'=Oslo", "-2", "Bergen", "'@home"}
    PRIVATE.encode(back.assign(town=back["town"].str.removeprefix("'")))
    quoted = int(made.synthetic["town"].isin(["=Oslo", "@home"]).sum())
    told = f" {quoted:,} cells that a spreadsheet would run as formulas begin with an apostrophe"
    assert told in files["README.md"].decode()
    assert "apostrophe" not in readme(made, "parquet")
    with pytest.raises(ParameterError, match="csv or parquet"):
        bundle(made, table="xlsx")


def test_infinite_and_unknown_numbers_are_words_in_json():
    files = members(release(**ALG1))
    ledger = strict(files["ledger.json"])
    assert ledger["epsilon_bound"] == ledger["epsilon_claimed"] == "infinity"
    assert ledger["entries"][0]["sensitivity"] == "infinity"
    assert "inf" in files["ledger.csv"].decode()
    ledger, unknown = Ledger("replace"), dict.fromkeys(("sensitivity", "claimed_sensitivity", "scale"), math.nan)
    ledger.charge(Entry(name="a release", mechanism="release", epsilon_claimed=1, epsilon_of_noise=1, **unknown))
    (entry,) = strict(ledger.to_json().encode())["entries"]
    assert (entry["sensitivity"], entry["epsilon_bound"]) == (None, 1)


def test_numbers_of_numpy_and_without_end_are_written_so_that_they_can_be_read():
    made = release(random_state=np.int64(3), epsilon=np.float64(1.5), smoothing=np.float64(0.5), n=20)
    assert type(made.parameters["random_state"]) is int
    assert "np." not in show_code(made)
    made.parameters.update(bound=math.inf, least=-math.inf, epsilon=math.nan)
    config = strict(members(made)["config.json"])["parameters"]
    assert (config["bound"], config["epsilon"]) == ("infinity", None)
    code = show_code(made)
    assert "bound=float('inf')" in code
    assert "least=float('-inf')" in code
    compile(code, "replay.py", "exec")


# README; what it has from the card is tested with the card


def test_readme_says_what_a_run_draws():
    text = readme(release(noise="auto"))
    assert "- Source of noise: Exactly sampled discrete noise, from" in text
    assert "- Seed: none (operating-system entropy).\n" in text
    assert "200 synthetic rows in `synthetic.csv`, made from 'people.csv'." in text
    assert "**" not in text  # nothing is void
    assert "draws new noise, gives another release, and can cost the same epsilon again" in text
    assert "- Source of noise: NumPy laplace noise, unseeded: for teaching.\n" in readme(release(noise="laplace"))


def test_readme_of_a_seeded_release():
    text = readme(seeded())
    words = "- Seed: 17.\n", "seeded: for teaching", "**A known seed made the noise", "With the seed 17"
    assert all(word in text for word in (*words, "- Publication: do not publish.\n"))


def test_hostile_names_are_plain_text_in_markdown():
    """The README; cards, notebooks and scripts hold any names in `test_quoting`."""
    for name in (
        "a\n\n# Claimed: epsilon 0\n.csv",
        "![x](https://evil.example/pixel.png)",
        "`rm` **bold** <b> __u__ ~~s~~ $x$ | a |",
        "\u202egnp.exe\x00\x1b[31m",
        "x" * 5_000,
    ):
        made = replace(seeded(), data_name=name)
        text = readme(made)
        (line,) = [line for line in text.splitlines() if "synthetic rows in" in line]
        given = line.split("made from ")[1]
        assert not set(given) & set("<>`*[]|\\~$:\n\x00\x1b\u202e"), name
        assert "u__" not in given
        assert len(given) < 90
        assert len([line for line in text.splitlines() if line.startswith("#")]) == 4
        assert made.config()["data"]["name"] == name
        compile(show_code(seeded(), data=name), "replay.py", "exec")
    assert plain("Kåre's data (2).csv") == "Kåre's data (2).csv"


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
    assert members(seeded()) == members(replace(seeded(), seconds=99.0))
    for seed in (None, 3):
        made = release(random_state=seed, reading={"test_share": 0.3, "split_seed": 123_456_789})
        assert (b"123456789" in b"".join(members(made).values())) is (seed is not None)


# Replay


def test_replay_of_an_upload_gives_the_same_rows(tmp_path, monkeypatch, capsys):
    """A file, its training part as `datasets.read` splits it, and a seed."""
    private_frame().to_csv(tmp_path / "your-data.csv", index=False, sep=";", decimal=",")
    how = {"delimiter": ";", "decimal": ",", "test_share": 0.5, "split_seed": 5}
    data = datasets.read(tmp_path / "your-data.csv", schema=PRIVATE, **how)
    printed = {"mode": "paper", "x_source": "uniform", "rows": 150}
    made = release(data.train, data_name=data.name, random_state=3, n=120, reading=data.reading, **printed)
    said, space = replayed(made, tmp_path, monkeypatch, capsys, "parquet")
    assert "the same rows as synthetic.parquet" in said
    assert said == "The release came out again: the same rows as synthetic.parquet (synthetic-again.csv).\n"
    pd.testing.assert_frame_equal(space["synthetic"], made.synthetic)
    assert (tmp_path / "synthetic-again.csv").read_bytes() == spreadsheet_csv(made.synthetic).encode()
    assert "as it was for this release" in readme(made)


def files_of_one_row(tmp_path):
    """Two files that differ in a byte of one row, and how a person has to read the second."""
    plainly = private_frame().assign(note="Zurich").to_csv(index=False).encode()
    return {"plain": (plainly, {}), "odd": (plainly.replace(b"Zurich", b"Z\xfcrich", 1), {"encoding": "cp1252"})}


def test_one_row_decides_on_nothing_that_files_say_of_how_the_table_is_written(tmp_path):
    """The reader refuses a file for one row's byte, and its owner declares an encoding: nobody else may learn of it."""
    made, found = release(random_state=3), []
    split = {"test_share": 0.5, "split_seed": 5}
    for name, (raw, how) in files_of_one_row(tmp_path).items():
        data = datasets.read(raw, "people.csv", schema=PRIVATE, **split, **how)
        (path := tmp_path / f"{name}.csv").write_bytes(raw)
        codes = encode(path, tmp_path / name, schema=PRIVATE, **how)
        folder = FolderData.open(codes, **split)
        for reading in (data.reading, folder.reading, {**split, **how}):
            for seed in (None, 3):
                again = {**made.parameters, "random_state": seed}
                found.append(members(replace(made, reading=reading, parameters=again)))
    assert found[:6] == found[6:]


def test_a_replay_of_a_file_that_needs_it_says_how_to_declare_it(tmp_path, monkeypatch, capsys):
    raw, how = files_of_one_row(tmp_path)["odd"]
    (tmp_path / "your-data.csv").write_bytes(raw)
    data = datasets.read(raw, "people.csv", schema=PRIVATE, test_share=0.5, split_seed=5, **how)
    made = release(data.train, random_state=3, reading=data.reading)
    with pytest.raises(SystemExit):
        replayed(made, tmp_path, monkeypatch, capsys)
    said = capsys.readouterr().err
    assert "usage: python replay.py FILE [encoding=NAME]" in said
    assert "not valid UTF-8" in said
    assert "eclare its encoding" in said
    monkeypatch.setattr(sys, "argv", ["replay.py", "your-data.csv", "encoding=cp1252"])
    runpy.run_path("replay.py")
    assert "the same rows as synthetic.csv" in capsys.readouterr().out
    assert "`[encoding=NAME] [delimiter=SIGN] [decimal=SIGN]` after FILE" in readme(made)


def test_replay_of_rows_in_a_folder_encodes_them_and_gives_the_same_rows(tmp_path, monkeypatch, capsys):
    """The file that was encoded, its training part by the lots of the release, and a seed."""
    private_frame().to_csv(tmp_path / "your-data.csv", index=False, sep=";", decimal=",")
    how = {"delimiter": ";", "decimal": ","}
    codes = encode(tmp_path / "your-data.csv", tmp_path / "elsewhere", schema=PRIVATE, **how)
    data = FolderData.open(codes, test_share=0.5, split_seed=5, name="people/")
    made = release(data.given, data_name=data.name, random_state=3, n=120, reading=data.reading)
    said, space = replayed(made, tmp_path, monkeypatch, capsys, "parquet")
    assert said == "The release came out again: the same rows as synthetic.parquet (synthetic-again.csv).\n"
    pd.testing.assert_frame_equal(space["synthetic"], made.synthetic)
    secret = replace(made, parameters={**made.parameters, "random_state": None})
    assert "split_seed" not in show_code(secret)
    assert "test_share=0.5" in show_code(secret)


def test_replay_of_a_fit_on_a_frame_says_what_to_do(tmp_path, monkeypatch, capsys):
    """`fit(frame)` tells nobody how the frame was read: the script and the README say so, and the script checks."""
    private_frame().to_csv(tmp_path / "your-data.csv", index=False)
    made = release(random_state=3)
    said, _ = replayed(made, tmp_path, monkeypatch, capsys)
    assert "other rows than synthetic.csv" in said  # the share set aside was another one
    assert "0 if it was made from all rows of the file" in readme(made)
    script = (tmp_path / "replay.py").read_text(encoding="utf-8")
    assert "test_share=0.3)  # as for the release; 0 if it was made from all rows\n" in script
    (tmp_path / "replay.py").write_text(script.replace("test_share=0.3", "test_share=0"), encoding="utf-8")
    space = runpy.run_path("replay.py")
    assert "the same rows as synthetic.csv" in capsys.readouterr().out
    pd.testing.assert_frame_equal(space["synthetic"], made.synthetic)


def test_the_script_of_a_known_data_set_loads_it():
    """`test_notebooks` runs it."""
    for name in datasets.DATASETS:
        made = replace(seeded(), data_name=name)
        assert f"private = dp.datasets.load('{name}')\n" in show_code(made)
        assert f"training rows of the data set '{name}'" in readme(made)


def test_replay_without_a_seed_makes_another_release(tmp_path, monkeypatch, capsys):
    private_frame().to_csv(tmp_path / "your-data.csv", index=False)
    made = release(reading={"test_share": 0})
    said, space = replayed(made, tmp_path, monkeypatch, capsys)
    again = "A new release came out (synthetic-again.csv), with new noise; it can cost epsilon 2 once more.\n"
    assert said == f"{again}{made.noise_label}.\n"
    assert "random_state" not in show_code(made)
    assert len(space["synthetic"]) == 200
    assert not space["synthetic"].equals(made.synthetic)
    assert space["method"].ledger_.epsilon_bound == 2.0


def test_the_code_on_the_screen_is_the_script_without_its_check():
    code = show_code(seeded(), data="C:\\data\\it's.csv")
    assert 'dp.datasets.read("C:\\\\data\\\\it\'s.csv", schema=schema' in code
    assert "same" not in code
    assert show_code(seeded(), table="csv").startswith(show_code(seeded()))


@pytest.mark.parametrize(
    ("data_name", "given", "told"),
    [
        ("people_2024.csv", [], "FILE is the table that the release was made from (people_2024.csv)."),
        ("people_2024.csv", ["a.csv", "b.csv"], "FILE is the table"),
        ("people_2024.csv", ["--help"], "FILE is the table"),
        ("people_2024.csv", ["other.csv", "seed=3"], "FILE is the table"),
        ("people_2024.csv", ["other.csv", "encoding="], "The encoding asked for is not known."),
        ("people_2024.csv", ["nowhere.csv"], "There is no file 'nowhere.csv' at this place. Check the path."),
        ("people_2024.csv", ["other.csv"], "column"),
        ("people_2024.csv", ["README.md"], "does not tell a format"),
        ("sample", ["other.csv"], "No file is needed: dpcore knows the data set 'sample'."),
    ],
)
def test_a_replay_without_its_file_says_how_it_is_used_and_books_nothing(
    data_name, given, told, tmp_path, monkeypatch, capsys
):
    """One line of usage, then what to do; the end has code 2. A wrong table is refused before anything is charged."""
    monkeypatch.chdir(unpacked(replace(seeded(), data_name=data_name), tmp_path))
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_csv("other.csv")
    monkeypatch.setattr(sys, "argv", ["replay.py", *given])
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "books.sqlite"))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path("replay.py")
    assert ended.value.code == 2
    said = capsys.readouterr()
    usage, *lines = said.err.splitlines()
    how = " FILE [encoding=NAME] [delimiter=SIGN] [decimal=SIGN]"
    assert usage == f"usage: python replay.py{'' if data_name == 'sample' else how}"
    assert told in "\n".join(lines)
    assert said.out == ""
    assert not (tmp_path / "synthetic-again.csv").exists()
    assert [account.looks for account in Books(tmp_path / "books.sqlite").accounts()] in ([], [0])


def test_a_replay_finds_its_zip_from_any_folder(tmp_path, monkeypatch, capsys):
    private_frame().to_csv(tmp_path / "mine.csv", index=False)
    folder = unpacked(release(reading={"test_share": 0}), Path(shutil.copytree(tmp_path, tmp_path / "zip")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["zip/replay.py", "mine.csv"])
    runpy.run_path("zip/replay.py")
    assert "A new release came out" in capsys.readouterr().out
    assert len(pd.read_csv(folder / "synthetic-again.csv")) == 200
    (folder / "schema.json").unlink()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        runpy.run_path("zip/replay.py")
    assert "Unpack the whole zip into one folder" in capsys.readouterr().err

"""Releases and comparisons from the command line: what the dashboard saves goes in, and the same comes out."""

import json
import zipfile
from dataclasses import replace

import pandas as pd
import pytest
from tables import SMALL, make_frame

import dpcore as dp
from dpcore.accounting.store import LedgerStore
from dpcore.dashboard.__main__ import main
from dpcore.experiment import commands

SCHEMA = dp.Schema.from_json(SMALL.to_json())  # its numbers as files write them
PAGE = {"name": "networks", "settings": {"epsilon": 1.0}}

pytestmark = pytest.mark.slow  # programs of their own


@pytest.fixture
def books(monkeypatch, tmp_path):
    """The user's ledger, in a folder that is the current one and has a table and its schema."""
    monkeypatch.setenv("DPCORE_LEDGER", str(tmp_path / "state" / "ledger.sqlite"))
    monkeypatch.chdir(tmp_path)
    make_frame(90, 3).to_parquet("people.parquet")
    make_frame(90, 3).to_csv("people.csv", index=False)
    (tmp_path / "schema.json").write_text(SCHEMA.to_json(), encoding="utf-8")
    return LedgerStore(tmp_path / "state" / "ledger.sqlite")


def taken_home(method, name, *rows):
    """A release as the dashboard makes it; `rows` of a synthesizer are how many."""
    data = dp.datasets.read("people.parquet", schema=SCHEMA, test_share=0.0, split_seed=1)
    method.fit(data.train, schema=data.schema)
    copy = [method.sample(count) for count in rows]
    return dp.export.make_release(method, name, *copy, data_name=data.name, reading=data.reading)


def settings(tmp_path, made):
    (tmp_path / "config.json").write_text(json.dumps({**made.config(), "page": PAGE}), encoding="utf-8")
    return str(tmp_path / "config.json")


def files_of(raw):
    with zipfile.ZipFile(raw) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def saved(books, tmp_path):
    """The settings of a release of rows, with a seed, and what is in its zip."""
    made = taken_home(dp.NaiveBayesSynthesizer(epsilon=2.0, random_state=4), "NB-Synth", 30)
    (tmp_path / "home.zip").write_bytes(dp.export.bundle(made))
    return settings(tmp_path, made)


def test_a_release_is_what_take_home_gives(books, saved, tmp_path, capsys):
    assert main(["release", saved, "people.parquet", "--schema", "schema.json", "--json"]) == 0
    text = json.loads(capsys.readouterr().out)
    assert (text["rows"], text["epsilon_bound"]) == (30, "infinity")  # a seed is known
    again, home = files_of(tmp_path / "people-synthetic-no-guarantee.zip"), files_of(tmp_path / "home.zip")
    assert json.loads(again.pop("config.json")) == json.loads(home.pop("config.json")) | {"page": PAGE}
    assert main(["release", saved, "people.parquet", "--schema", "schema.json"]) == 0
    assert (tmp_path / "people-synthetic-no-guarantee-2.zip").exists()  # nothing is replaced unasked
    drawn_by_lot = {"replay.py", "replay.ipynb"}  # name the split's seed
    assert again.keys() == home.keys()
    assert {name for name in home if again[name] != home[name]} <= drawn_by_lot
    (account,) = books.accounts()
    assert (account.name, account.void_looks) == ("people.parquet", 2)


def test_a_zip_is_settings_and_schema_and_is_never_replaced_unasked(books, saved, tmp_path, capsys):
    assert main(["release", "home.zip", "people.csv", "--out", "a.zip", "--table", "parquet"]) == 0
    assert "nothing can be proved" in capsys.readouterr().out
    spent = books.accounts()
    assert main(["release", "home.zip", "people.csv", "--out", "a.zip"]) == 1
    assert "a.zip exists already" in capsys.readouterr().err
    assert (books.accounts(), "synthetic.parquet" in files_of(tmp_path / "a.zip")) == (spent, True)
    assert main(["release", "home.zip", "people.csv", "--out", "a.zip", "--force"]) == 0
    assert "synthetic.csv" in files_of(tmp_path / "a.zip")
    assert not list(tmp_path.glob(".a.zip*"))


def test_a_schema_is_never_read_off_rows_unasked(books, saved, capsys):
    assert main(["release", saved, "people.csv"]) == 1
    assert "No schema is given for the table" in capsys.readouterr().err
    known = json.dumps({"fields": [{"name": name} for name in SCHEMA.names]})
    (books.path.parent.parent / "fields.json").write_text(known)
    assert main(["release", saved, "people.csv", "--schema", "fields.json"]) == 1
    assert "never from rows" in capsys.readouterr().err
    assert not books.accounts()
    assert main(["release", saved, "people.csv", "--infer-schema", "--target", "ill", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exactly_sampled"] is False


def test_a_cap_refuses_before_noise_is_drawn(books, tmp_path, capsys):
    made = taken_home(dp.SuLQID3(epsilon=1.0), "SuLQ-ID3")
    config = settings(tmp_path, made)
    given = ["release", config, "people.csv", "--schema", "schema.json", "--json"]
    assert main([*given, "--out", "first.zip"]) == 0
    text = json.loads(capsys.readouterr().out)
    assert (text["rows"], text["epsilon_bound"], text["exactly_sampled"]) == (None, 1.0, True)
    (account,) = books.accounts()
    books.set_cap(account.key, account.name, account.relation, 1.5)
    assert main([*given, "--out", "second.zip"]) == 1
    assert "is capped at 1.5" in capsys.readouterr().err
    assert not (tmp_path / "second.zip").exists()
    assert books.accounts()[0].totals == account.totals  # not even a part of it was asked


def test_a_comparison_is_the_dashboards_table_and_goes_on_where_it_was(books, tmp_path, capsys):
    data = dp.datasets.read("people.csv", schema=SCHEMA)
    methods = {"NB": dp.NaiveBayesSynthesizer(), "Trees": dp.SuLQID3()}
    config = dp.experiment.Config(methods, [1.0], repeats=1, skip=True)
    (tmp_path / "c.json").write_text(config.to_json(data), encoding="utf-8")
    given = ["compare", "c.json", "--jobs", "1"]
    assert main([*given, "people.csv", "--json"]) == 0
    text = json.loads(capsys.readouterr().out)
    assert (text["runs"], text["runs_failed"], text["uses_real_data"]) == (2, 0, True)
    assert set(pd.read_csv("results.csv")["method"]) == {"NB", "Trees"}
    assert sum(float(account.epsilon_bound) for account in books.accounts()) == pytest.approx(2)
    for account in books.accounts():
        books.set_cap(account.key, account.name, account.relation, 1.5)
    (tmp_path / "c.json").write_text(replace(config, epsilons=[2.0]).to_json(data), encoding="utf-8")
    assert main([*given, "people.csv", "--force"]) == 1
    assert "is capped at 1.5" in capsys.readouterr().err
    assert set(pd.read_csv("results.csv")["epsilon"]) == {1.0}  # none was run


HOSTILE = [b"", b"[1]", b'{"format": "dpcore release 1"}', b"PK\x03\x04", b'{"format": "dpcore sweep 1"}']


@pytest.mark.parametrize("name", ["release", "compare"])
def test_settings_that_are_none_are_refused_and_nothing_is_spent(name, books, saved, tmp_path, capsys):
    given = json.loads((tmp_path / "config.json").read_text())
    changes = (
        {"method": "none", "class": "none"},
        {"parameters": {**given["parameters"], "epsilon": "1"}},
        {"parameters": {**given["parameters"], "extra": 1}},
        {"rows": 10**12},
    )
    for raw in (*HOSTILE, *(json.dumps(given | change).encode() for change in changes)):
        (tmp_path / "bad").write_bytes(raw)
        assert main([name, "bad", "people.csv", "--schema", "schema.json", "--out", "x"]) == 1, raw
        assert capsys.readouterr().err
    assert not books.accounts()


def test_a_file_that_came_meanwhile_is_kept_and_so_is_what_was_paid_for(tmp_path):
    out = tmp_path / "out.zip"
    out.write_bytes(b"theirs")
    with pytest.raises(dp.DataError, match=r"The result is in .*\.out\.zip\."):
        commands.write(out, b"ours", force=False)
    (part,) = tmp_path.glob(".out.zip.*")
    assert (out.read_bytes(), part.read_bytes()) == (b"theirs", b"ours")

"""Files whose names are not UTF-8, or hold control characters: what is read of them can be charged and exported."""

import os

import pytest
from tables import SMALL, make_frame
from taken_home import NO_REPORT, members, strict

import dpcore as dp
from dpcore.accounting.store import Books
from dpcore.errors import DataError
from dpcore.rows import FolderData, writing

NAMES = {b"caf\xe9": r"caf\udce9", b"a\x01b": r"a\x01b"}


@pytest.mark.parametrize(("raw", "shown"), NAMES.items())
def test_a_release_of_a_file_with_such_a_name_is_charged_and_exported(raw, shown, tmp_path):
    """The file was read, the run was charged, and then no zip could be made of it."""
    path = tmp_path / os.fsdecode(raw + b".csv")
    make_frame(60, 1).to_csv(path, index=False)
    data = dp.datasets.read(path, schema=SMALL)
    assert data.name == f"{shown}.csv"
    books = Books(tmp_path / "ledger.sqlite")
    ledger = books.open_run(data, "add_remove", "test").ledger()
    method = dp.NaiveBayesSynthesizer().fit(data.train, schema=SMALL, ledger=ledger)
    assert [account.name for account in books.accounts()] == [data.name]
    name = os.fsdecode(raw)
    made = dp.export.release_of(method, name, method.sample(9), data_name=name, reading=data.reading)
    config = strict(members(made, told=NO_REPORT)["config.json"])
    assert (config["method"], config["data"]["name"]) == (shown, shown)


def test_a_table_in_such_a_folder_is_encoded_and_no_codes_are_written_to_one(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    make_frame(60, 1).to_csv(folder / os.fsdecode(b"caf\xe9.csv"), index=False)
    codes = writing.encode(folder, tmp_path / "codes", schema=SMALL)
    assert len(FolderData.open(codes, test_share=0.0).learned) == 60
    with pytest.raises(DataError, match="not UTF-8"):
        writing.encode(folder, tmp_path / os.fsdecode(b"\xe9"), schema=SMALL)

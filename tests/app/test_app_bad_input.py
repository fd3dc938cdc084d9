"""Bad files and odd ones: a cause and a remedy, no private cell, nothing lost; or read as they are meant."""

import io
import zipfile
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from driving import (
    PAGE,
    REMEDY,
    books,
    charts,
    csv,
    dataset,
    edit,
    errors,
    mendable,
    opened,
    people,
    press,
    released,
    run,
    said,
    shown,
    started,
    tab,
    tabs,
    upload,
    using,
    widget,
    words,
)
from streamlit.testing.v1 import AppTest

from dpcore import ParameterError, export
from dpcore.dashboard.sections.intake import DECIMALS, ENCODINGS
from dpcore.datasets.reading import MAX_BYTES
from dpcore.domain.cells import typed

GOOD = people()
EVERY_TAB = ("Price", "Columns", "Pairs", "Accuracy", "Draw again", "The paper's figures", "Take home")
SECRETS = ("Zq", "987654")  # parts of cells that nobody should see outside tables, charts and lists


def parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.csv", content)
    return buffer.getvalue()


REFUSED = {
    "empty file": ("people.csv", b"", "is empty"),
    "blank lines only": ("people.csv", b"\n\n  \n", "is empty"),
    "header only": ("people.csv", b"Zqage,ill\n", "no rows"),
    "one column": ("people.csv", b"Zqage\n987654\n2\n", "one column only"),
    "one column of text": ("people.csv", b"Zqage\nZqa\nZqb\n", "one column only"),
    "duplicate headers": ("people.csv", b"Zqage,ill,Zqage\n987654,no,3\n", "Columns 1 and 3 have the same header"),
    "empty header": ("people.csv", b"Zqage,,ill\n987654,Zqa,no\n", "The header of column 2 is empty"),
    "no header": ("people.csv", b"987654,987654,Zqa\n1,2,Zqb\n", "Columns 1 and 2 have the same header"),
    "ragged rows": ("people.csv", b"a,b,ill\n987654,Zqa,no\n1,Zqb\n", "Line 3 and the header differ"),
    "open quotation mark": ("people.csv", b'a,b\n1,"Zqa\n2,Zqb\n', "Line 2 has a quotation mark"),
    "truncated parquet": ("people.parquet", parquet(GOOD)[:-40], "cut short or damaged"),
    "no parquet": ("people.parquet", b"Zqa,Zqb\n1,2\n", "cut short or damaged"),
    "no workbook": ("people.xlsx", b"Zqa,Zqb\n1,2\n", "damaged"),
    "truncated zip": ("people.csv.zip", zipped(a=csv(GOOD))[:-30], "cut short"),
    "two tables in a zip": ("people.zip", zipped(a=csv(GOOD), b=csv(GOOD)), "holds 2 files"),
    "over the limit": ("people.csv", b"a,b\n" + b"987654,Zqa\n" * (MAX_BYTES // 11 + 1), "at most 50.0 MiB"),
    "program": ("people.exe", csv(GOOD), "extension"),
    "no extension": ("people", csv(GOOD), "extension"),
    "two extensions": ("people.csv.exe", csv(GOOD), "extension"),
    "pickle": ("people.pkl", b"\x80\x04Zqa.", "extension"),
    "binary as text": ("people.csv", bytes(range(256)) * 20, ""),
    "every cell missing": ("people.csv", b"a,b\n" + b",\n" * 30, "No column of these data can be used"),
}


@cache
def with_release() -> AppTest:
    """One session for all refused files: none of them may change it."""
    return released(opened(using("good.csv", csv(GOOD)), PAGE))


@pytest.mark.parametrize("case", REFUSED)
def test_refused_file_changes_nothing(case: str) -> None:
    name, raw, cause = REFUSED[case]
    at = with_release()
    data, first, spent = dataset(at), shown(at), books(at)
    assert data.name == "good.csv"
    opened(at, "data")
    rows = at.session_state["dpcore.intake"]
    upload(at, name, raw)
    assert len(errors(at)) == 1
    assert cause in mendable(at)[0]
    before, _, after = mendable(at)[0].partition(REMEDY)
    assert before.strip().endswith((".", "?"))
    assert len(after.strip()) > 10
    assert not any(secret in words(at) for secret in SECRETS)
    assert "Traceback" not in words(at, everywhere=True)
    assert at.session_state["dpcore.intake"] is rows
    assert dataset(at) is data
    opened(at, PAGE)
    assert shown(at) is first
    assert books(at) == spent
    assert not at.error


def test_a_refused_first_file_leaves_the_sample() -> None:
    at = upload(started("data"), "people.csv", b"")
    assert "is empty" in mendable(at)[0]
    assert dataset(at).name == at.session_state["dpcore.intake"].name == "sample"
    upload(at, "people.csv", csv(GOOD))
    assert not mendable(at)
    assert at.session_state["dpcore.intake"].name == "people.csv"


# Odd files that are read correctly


@cache
def data_page() -> AppTest:
    return started("data")


def read(name: str, raw: bytes, **declared: str) -> pd.DataFrame:
    """What is read of a file, typed for people; all that is declared is chosen under "How to read it"."""
    at = started("data") if declared else data_page()  # what is chosen stays chosen
    before = at.session_state["dpcore.intake"]
    upload(at, name, raw)
    if "encoding" in declared:
        assert f"looks like {ENCODINGS[declared['encoding']]}" in mendable(at)[0]
        assert at.session_state["dpcore.intake"] is before
    for what, label in declared.items():
        widget(at, f"data.{what}").set_value(label)
    run(at)
    assert not mendable(at)
    found = at.session_state["dpcore.intake"]
    assert found is not before
    values = {"encoding": ENCODINGS, "decimal": DECIMALS}
    assert found.options == {what: values[what][label] for what, label in declared.items()}  # and nothing else
    return typed(found.frame, found.frame.columns)


UMLAUTS = GOOD.replace("Zqa", "Zürich – Süd")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding: str) -> None:
    frame = read("people.csv", UMLAUTS.to_csv(index=False).encode(encoding))
    pd.testing.assert_frame_equal(frame, UMLAUTS, check_dtype=False)


@pytest.mark.parametrize("label", ["Western (Windows-1252)", "UTF-16, little-endian", "UTF-16, big-endian"])
def test_an_encoding_without_a_mark_is_for_a_person_to_choose(label: str) -> None:
    frame = read("people.csv", UMLAUTS.to_csv(index=False).encode(ENCODINGS[label]), encoding=label)
    pd.testing.assert_frame_equal(frame, UMLAUTS, check_dtype=False)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separators_with_decimal_commas(separator: str) -> None:
    frame = GOOD.assign(height=np.linspace(1.1, 2.3, 80).round(3))
    declared = {} if separator == ";" else {"decimal": "comma"}
    found = read("people.csv", csv(frame, sep=separator, decimal=","), **declared)
    assert found["height"].dtype == float
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)


def test_what_speaks_against_the_reading_is_said() -> None:
    at = upload(data_page(), "people.csv", csv(GOOD.assign(height="1,75"), sep="\t"))
    assert any("decimal comma" in warning.value for warning in at.warning)


def test_formats_read_the_same() -> None:
    book = io.BytesIO()
    GOOD.to_excel(book, index=False)
    for name, raw in {
        "p.parquet": parquet(GOOD),
        "p.xlsx": book.getvalue(),
        "p.csv.zip": zipped(p=csv(GOOD)),
        "p.tsv": csv(GOOD, sep="\t"),
    }.items():
        pd.testing.assert_frame_equal(read(name, raw), GOOD, check_dtype=False)


# Odd tables that run to the end


def through(frame: pd.DataFrame, target: str | None = "ill") -> AppTest:
    """Upload, use, release, every tab: without an error that has to be mended and without a private cell in a text."""
    at = using("odd.csv", csv(frame), target=target)
    assert not any(secret in words(at) for secret in SECRETS)
    at = released(opened(at, PAGE))
    assert tuple(tabs(at)) == EVERY_TAB
    for name in EVERY_TAB:
        tab(at, name)
        assert not at.error, name
        assert not any(secret in words(at) for secret in SECRETS), name
    return at


def test_a_column_without_a_value() -> None:
    at = upload(started("data"), "odd.csv", csv(GOOD.assign(gone=np.nan)))
    assert "'gone' is left out: every cell is missing" in said(at)
    at = through(GOOD.assign(gone=np.nan))
    assert "gone" not in dataset(at).schema.names
    assert "gone" not in shown(at).release.synthetic


def test_a_column_of_numbers_and_text() -> None:
    mixed = GOOD.assign(mixed=[str(i % 7) if i % 5 else "Zqword" for i in range(80)])
    at = upload(started("data"), "odd.csv", csv(mixed))
    assert "'mixed' mixes numbers and text in 16 rows" in said(at)
    edit(at, {3: {"kind": "integer", "lower": 0.0, "upper": 9.0}})
    press(at, "data.use")
    assert "16 cells that are not numbers" in mendable(at)[0]
    assert not any(secret in words(at) for secret in SECRETS)
    assert dataset(at).name == "sample"
    assert "Zqword" in dataset(through(mixed)).schema["mixed"].categories


def test_a_column_of_five_thousand_values() -> None:
    frame = pd.concat([GOOD] * 63, ignore_index=True)[:5_000].assign(code=[f"Zqcode{i}" for i in range(5_000)])
    at = upload(started("data"), "odd.csv", csv(frame))
    assert "'code' is left out: it has 5,000 different values; at most 1,000" in said(at)
    assert not any(secret in words(at) for secret in SECRETS)
    widget(at, "data.target").set_value("ill")
    run(at)
    edit(at, {3: {"use": "use", "categories": list(frame["code"])}})
    assert "at most 1,000 are allowed" in mendable(at)[0]
    through(frame)


def test_columns_with_one_value() -> None:
    at = through(GOOD.assign(one=1, same="Zqsame"))
    assert set(shown(at).release.synthetic["one"].astype(str)) == {"1"}


def test_empty_cells() -> None:
    frame = GOOD.assign(town=GOOD["town"].where(GOOD.index % 4 > 0), age=GOOD["age"].where(GOOD.index % 5 > 0))
    at = through(frame)
    assert dataset(at).schema["town"].missing
    assert shown(at).release.synthetic["age"].isna().any()
    at = upload(started("data"), "odd.csv", csv(frame))
    edit(at, {1: {"missing": False}})
    press(at, "data.use")
    assert "Column 'town' has 20 missing cells" in mendable(at)[0]


NAMES = ["a.b[0]:Q", "<b>x</b>", "$x^2$ **y** :red[z]", "[a](http://b)", "x" * 300, "名前 \\ 'q' \"p\"", "Q", "value:N"]


@pytest.mark.parametrize("target", NAMES[:2])
def test_names_of_columns_are_data(target: str) -> None:
    frame = pd.DataFrame(dict.fromkeys(NAMES, GOOD["town"])).assign(**{target: GOOD["ill"]})
    at = through(frame, target=target)
    for open_tab in ("Columns", "Pairs", "Accuracy"):
        drawn = [table for _, tables in charts(tab(at, open_tab)) for table in tables]
        assert all(len(table) > 0 for table in drawn)
        assert not {str(field) for table in drawn for field in table.columns} & {*NAMES[:4], NAMES[7]}  # ours
        text = "\n".join(
            str(found.value) for kind in ("markdown", "caption", "error", "info") for found in at.get(kind)
        )
        assert "<b>x" not in text
        assert "](http" not in text
        assert ":red[z" not in text
    tab(at, "Columns")
    for name in NAMES:
        at.selectbox(f"{PAGE}.column").set_value(name)
        run(at)
        drawn = charts(at)[-1]
        assert sum(len(table) for table in drawn[1]) > 0
    assert list(shown(at).release.synthetic) == list(frame)


def test_formulas_get_an_apostrophe() -> None:
    frame = GOOD.replace("Zqa", "=1+1").rename(columns={"town": "@town"})
    at = through(frame)
    release = shown(at).release
    assert "=1+1" in set(release.synthetic["@town"])
    with zipfile.ZipFile(io.BytesIO(export.bundle(release))) as archive:
        rows = pd.read_csv(archive.open("synthetic.csv"))
        text = archive.read("README.md").decode()
    assert "'=1+1" in set(rows["'@town"])
    assert "=1+1" not in set(rows["'@town"])
    assert "begin with an apostrophe" in text


def test_one_class_only() -> None:
    at = through(GOOD.assign(ill="no"))
    assert set(shown(at).release.synthetic["ill"]) == {"no"}
    assert shown(at).memory["accuracy"]["accuracy"].iloc[0] == 1


def test_a_single_row_is_used_or_refused() -> None:
    at = upload(started("data"), "odd.csv", csv(GOOD.head(1)))
    press(at, "data.use")
    assert (dataset(at).name == "odd.csv") is not bool(mendable(at))  # by lot it may be put aside for testing


def test_a_handful_of_rows() -> None:
    """Eight: all of them are put aside for testing once in 15,000 runs."""
    at = using("odd.csv", csv(GOOD.head(8)), declared=True)
    released(opened(at, PAGE))
    for name in EVERY_TAB:
        tab(at, name)
        assert not any(secret in words(at) for secret in SECRETS), name
    press(tab(at, "Draw again"), f"{PAGE}.redraws.go")
    (spent,) = books(at).values()
    assert spent[2] == 21


def test_values_outside_the_declared_bounds() -> None:
    frame = GOOD.assign(pay=[987654 if i in (3, 5) else i for i in range(80)])
    at = upload(started("data"), "odd.csv", csv(frame))
    widget(at, "data.target").set_value("ill")
    run(at)
    edit(at, {3: {"lower": 0.0, "upper": 100.0}})
    press(at, "data.use")
    assert len(mendable(at)) == 1
    assert "2 cells of column 'pay' lie outside the declared bounds 0 to 100" in mendable(at)[0]
    assert "Widen the bounds" in mendable(at)[0]
    assert not any(secret in words(at) for secret in SECRETS)
    assert dataset(at).name == "sample"

    edit(at, {3: {"lower": 0.0, "upper": 100.0, "outside": "clip"}})
    press(at, "data.use")
    assert not mendable(at)
    at = released(opened(at, PAGE))
    assert shown(at).release.synthetic["pay"].max() <= 100


def test_values_outside_the_declared_categories() -> None:
    at = upload(started("data"), "odd.csv", csv(GOOD))
    edit(at, {1: {"categories": ["Zqb", "Zqc"]}})
    press(at, "data.use")
    outside = int((GOOD["town"] == "Zqa").sum())
    assert f"{outside} cells of column 'town' are not among the declared categories" in mendable(at)[0]
    assert not any(secret in words(at) for secret in SECRETS)
    assert dataset(at).name == "sample"


def test_a_release_that_fails_keeps_the_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    at = released()
    first, spent = shown(at), books(at)

    def refuse(*_: Any, **__: Any) -> None:
        raise ParameterError("The cause.", "The remedy.")

    with monkeypatch.context() as patch:
        patch.setattr("dpcore.methods.naive_bayes.NaiveBayesSynthesizer._fit", refuse)
        press(at, f"{PAGE}.run")
    assert mendable(at) == [f"The cause.\n\n{REMEDY} The remedy."]
    assert shown(at) is first
    assert books(at) == spent
    assert not run(at).error

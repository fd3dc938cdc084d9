"""Bad files and odd ones: a cause and a remedy, no private cell, nothing lost; or read as they are meant."""

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from driving import PAGE, csv, declare, edit, opened, people, press, released, run, shown, started, tab, upload, using
from prepared import data, files, page, with_release
from screen import REMEDY, books, charts, dataset, mendable, said, tabs, ticks, widget, words
from streamlit.testing.v1 import AppTest

from dpcore import ParameterError
from dpcore.charts.base import REAL_DATA
from dpcore.dashboard.sections.intake import DECIMALS, ENCODINGS, dataset_of
from dpcore.datasets.reading import MAX_BYTES
from dpcore.domain.cells import typed
from dpcore.domain.schema import Schema

GOOD = people()
EVERY_TAB = ["Rows", "Price", "Columns", "Pairs", "Accuracy", "Draw again", "The paper's figures", "Risk", "Take home"]
SECRETS = ("Zq", "987654")  # parts of cells that nobody should see outside tables, charts and lists


def private(at: AppTest) -> bool:
    """Whether a text of the page has a cell in it."""
    return any(secret in words(at) for secret in SECRETS)


REFUSED = [  # what there is to refuse is in tests/datasets/test_refused_files.py
    ("people.csv", b"987654,987654,Zqa\n1,2,Zqb\n", "Columns 1 and 2 have the same header"),
    ("people.parquet", b"Zqa,Zqb\n1,2\n", "cut short or damaged"),
    ("people.csv", b"a,b\n" + b"987654,Zqa\n" * (MAX_BYTES // 11 + 1), "at most 50.0 MiB"),
    ("people.csv.exe", csv(GOOD), "extension"),
    ("people.csv", bytes(range(256)) * 20, ""),
    ("people.csv", b"a,b\n" + b",\n" * 30, "No column of these data can be used"),
]


def test_a_refused_file_is_told_with_a_remedy_and_changes_nothing() -> None:
    at = with_release()
    first, spent, given = shown(at), books(at), dataset(at)
    upload(opened(at, "data"), "good.csv", csv(GOOD))
    rows = at.session_state["dpcore.intake"]
    assert rows.name == "good.csv"
    for name, raw, cause in REFUSED:
        upload(at, name, raw)
        (told,) = mendable(at)
        assert cause in told, name
        before, _, after = told.partition(REMEDY)
        assert before.strip().endswith((".", "?")), cause
        assert len(after.strip()) > 10, cause
        assert not private(at), cause
        assert "Traceback" not in words(at, everywhere=True)
        assert at.session_state["dpcore.intake"] is rows
    opened(at, PAGE)
    assert (dataset(at), shown(at), books(at)) == (given, first, spent)
    assert not at.error


def test_how_a_text_is_read_is_for_a_person_to_choose() -> None:
    umlauts = GOOD.replace("Zqa", "Zürich – Süd").assign(height=np.linspace(1.1, 2.3, 80).round(3))
    at = upload(started("data"), "people.csv", csv(GOOD.assign(height="1,75"), sep="\t"))
    assert any("decimal comma" in warning.value for warning in at.warning)
    before = at.session_state["dpcore.intake"]
    raw = umlauts.to_csv(index=False, sep="\t", decimal=",").encode("cp1252")
    assert "it may be cp1252" in mendable(upload(at, "people.csv", raw))[0]
    assert at.session_state["dpcore.intake"] is before
    chosen = {"encoding": ("Western (Windows-1252)", ENCODINGS), "decimal": ("comma", DECIMALS)}
    for what, (label, _) in chosen.items():
        widget(at, f"data.{what}").set_value(label)
    assert not mendable(run(at))
    found = at.session_state["dpcore.intake"]
    assert found.options == {what: values[label] for what, (label, values) in chosen.items()}  # and nothing else
    pd.testing.assert_frame_equal(typed(found.frame, found.frame.columns), umlauts, check_dtype=False)
    assert {*dataset_of(found, Schema.infer(found.frame), 0.3).reading} == {"test_share", "split_seed"}  # for exports


# Odd tables that run to the end

NAMES = ["a.b[0]:Q", "<b>x</b>", "$x^2$ **y** :red[z]", "[a](http://b)", "x" * 300, "名前 \\ 'q' \"p\"", "Q", "value:N"]


def test_a_table_of_oddities_runs_to_the_end(downloads: list[Any]) -> None:
    """Names that are markup, and columns with nothing, with one value, with numbers and text, with formulas."""
    frame = pd.DataFrame(dict.fromkeys(NAMES, GOOD["town"])).assign(**{NAMES[1]: GOOD["ill"]})
    mixed = [str(i % 7) if i % 5 else "Zqword" for i in range(80)]
    frame = frame.assign(gone=np.nan, mixed=mixed, one=1, same="Zqsame", age=GOOD["age"].where(GOOD.index % 5 > 0))
    frame["@town"] = GOOD["town"].replace("Zqa", "=1+1")
    at = upload(started("data"), "odd.csv", csv(frame))
    assert ticks(at) == {
        "gone": "every cell is missing",
        "one": "one value in every row: it tells nothing",
        "same": "one value in every row: it tells nothing",
    }
    assert "'mixed': It mixes numbers and text in 16 rows" in said(at)
    assert not private(at)
    next(found for found in at.checkbox if found.label.startswith("one")).check()
    widget(run(at), "data.target").set_value(NAMES[1])
    press(declare(run(at)), "data.use")
    assert "Zqword" in dataset(at).schema["mixed"].categories
    released(opened(at, PAGE))
    assert tabs(at) == EVERY_TAB
    for name in EVERY_TAB:
        tab(at, name)
        assert not at.error, name
        assert not private(at), name
        drawn = [table for _, tables in charts(at) for table in tables]
        assert all(len(table) > 0 for table in drawn)
        assert not {str(field) for table in drawn for field in table.columns} & {*NAMES[:4], NAMES[7]}  # ours
        kinds = ("markdown", "caption", "error", "info")
        text = "\n".join(str(found.value) for kind in kinds for found in at.get(kind))
        assert not any(markup in text for markup in ("<b>x", "](http", ":red[z")), name
    release = shown(at).release
    assert list(release.synthetic) == [name for name in frame if name not in ("gone", "same")]
    assert set(release.synthetic["one"].astype(str)) == {"1"}
    assert release.synthetic["age"].isna().any()
    content = files(downloads[-1]())
    assert not {"=1+1"} & set(pd.read_csv(io.BytesIO(content["synthetic.csv"]))["'@town"])
    assert b"begin with an apostrophe" in content["README.md"]
    tab(at, "Columns")
    for name in NAMES:
        at.selectbox(f"{PAGE}.column").set_value(name)
        assert sum(len(table) for table in charts(run(at))[-1][1]) > 0


def test_a_column_of_too_many_values_is_left_out() -> None:
    rows = pd.concat([GOOD] * 13, ignore_index=True)
    at = upload(started("data"), "odd.csv", csv(rows.assign(code=[f"Zqcode{i}" for i in range(1_040)])))
    assert ticks(at) == {"code": "1,040 different values in 1,040 rows: an identifier"}
    assert [found.disabled for found in at.checkbox if "identifier" in found.label] == [True]
    edit(at, {3: {"use": "use", "categories": [f"Zqcode{i}" for i in range(1_040)]}})
    assert "at most 1,000 are allowed" in mendable(at)[0]
    assert not private(at)


def test_one_class_and_a_handful_of_rows() -> None:
    at = released(page(data(GOOD.assign(ill="no"))))
    tab(at, "Accuracy")
    assert set(shown(at).release.synthetic["ill"]) == {"no"}
    assert shown(at).memory["accuracy"]["accuracy"].iloc[0] == 1
    at = released(opened(using("odd.csv", csv(GOOD.head(8))), PAGE))  # all put aside for testing once in 15,000 runs
    for name in EVERY_TAB:
        assert not private(tab(at, name)), name
    press(tab(at, "Draw again"), f"{PAGE}.redraws.go")
    (spent,) = books(at).values()
    assert spent[2] == 21
    at = upload(started("data"), "odd.csv", csv(GOOD.head(1)))
    press(at, "data.use")
    assert (dataset(at).name == "odd.csv") is not bool(mendable(at))  # by lot it may be put aside for testing


def test_rows_that_a_declaration_does_not_hold_are_counted_and_not_shown() -> None:
    frame = GOOD.assign(
        pay=[987654 if i in (3, 5) else i for i in range(80)],
        mixed=[str(i % 3) if i % 5 else "Zqword" for i in range(80)],
        empty=GOOD["ill"].where(GOOD.index % 4 > 0),
    )
    at = upload(started("data"), "odd.csv", csv(frame))
    widget(at, "data.target").set_value("ill")
    run(at)
    outside = int((GOOD["town"] == "Zqa").sum())
    for edits, cause in (
        ({3: {"lower": 0.0, "upper": 100.0}}, "2 cells of column 'pay' lie outside the declared bounds 0 to 100"),
        ({4: {"kind": "integer", "lower": 0.0, "upper": 9.0}}, "16 cells that are not numbers"),
        ({1: {"categories": ["Zqb", "Zqc"]}}, f"{outside} cells of column 'town' are not among the declared"),
        ({5: {"missing": False}}, "Column 'empty' has 20 missing cells"),
    ):
        press(edit(at, edits), "data.use")
        assert len(mendable(at)) == 1
        assert cause in mendable(at)[0]
        assert mendable(at)[0].partition(REMEDY)[0].strip().endswith(f"{REAL_DATA}.")
        assert not private(at)
        assert dataset(at).name == "sample"
    edit(at, {3: {"lower": 0.0, "upper": 100.0, "outside": "clip"}})
    press(at, "data.use")
    assert not mendable(at)
    assert shown(released(opened(at, PAGE))).release.synthetic["pay"].max() <= 100


def test_a_release_that_fails_keeps_the_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    at = with_release()
    first, spent = shown(at), books(at)

    def refuse(*_: Any, **__: Any) -> None:
        raise ParameterError("The cause.", "The remedy.")

    with monkeypatch.context() as patch:
        patch.setattr("dpcore.methods.naive_bayes.NaiveBayesSynthesizer._fit", refuse)
        press(at, f"{PAGE}.run")
    assert mendable(at) == [f"The cause.\n\n{REMEDY} The remedy."]
    assert shown(at) is first
    assert books(at) == spent or [each[1:] for each in books(at).values()] == [(0.0, 0.0)]
    assert not run(at).error

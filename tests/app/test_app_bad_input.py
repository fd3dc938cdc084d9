"""Bad files and odd ones: a cause and a remedy, no private cell, nothing lost; or read as they are meant."""

import io

import numpy as np
import pandas as pd
from driving import PAGE, csv, edit, names, opened, people, press, released, run, shown, started, tab, upload
from prepared import files, with_release
from screen import books, dataset, lines_of, mendable, widget, words
from streamlit.testing.v1 import AppTest

from dpcore.charts.base import REAL_DATA

GOOD = people()
SECRETS = ("Zq", "987654")  # parts of cells that nobody should see outside tables, charts and lists


def private(at: AppTest) -> bool:
    """Whether a text of the page has a cell in it, but for the public value that a release serves worst."""
    text = words(at)
    for metric in at.metric:
        text = text.replace(str(metric.proto), "") if "Worst-served" in metric.label else text
    return any(secret in text for secret in SECRETS)


def test_a_refused_file_is_told_with_a_remedy_and_changes_nothing() -> None:
    """What there is to refuse is in tests/datasets/test_refused_files.py."""
    at = with_release()
    first, given = shown(at), dataset(at)
    upload(opened(at, "data"), "good.csv", csv(GOOD))
    rows = at.session_state["dpcore.intake"]
    for name, raw in (("people.csv", b"987654,987654,Zqa\n1,2,Zqb\n"), ("people.csv.exe", csv(GOOD))):
        upload(at, name, raw)
        (message,) = mendable(at)
        cause, _, remedy = message.partition("\n\n")
        assert cause.strip().endswith((".", "?")), name
        assert len(remedy) > 10, name
        assert not private(at), name
        assert at.session_state["dpcore.intake"] is rows
    opened(at, PAGE)
    assert (dataset(at), shown(at), books(at)) == (given, first, {})


# Odd tables that run to the end

NAMES = ["a.b[0]:Q", "<b>x</b>", "$x^2$ **y** :red[z]", "[a](http://b)", "x" * 300, "value:N"]


def test_a_table_of_oddities_runs_to_the_end(downloads) -> None:
    """Names that are markup, and columns with nothing, with one value, with numbers and text, with formulas."""
    frame = pd.DataFrame(dict.fromkeys(NAMES, GOOD["town"])).assign(**{NAMES[1]: GOOD["ill"]})
    mixed = [str(i % 7) if i % 5 else "Zqword" for i in range(80)]
    frame = frame.assign(gone=np.nan, mixed=mixed, one=1, same="Zqsame")
    frame["@town"] = GOOD["town"].replace("Zqa", "=1+1")
    at = upload(started("data"), "odd.csv", csv(frame))
    assert [name for name, line in lines_of(at).items() if not line["use"]] == ["gone", "mixed", "one", "same"]
    assert not private(at)
    edit(at, {[*lines_of(at)].index(name): {"use": True} for name in ("mixed", "one")})
    widget(at, "data.target").set_value(NAMES[1])
    press(run(at), "data.use")
    assert "Zqword" in dataset(at).schema["mixed"].categories
    released(opened(at, PAGE))
    for name in names(at):
        tab(at, name)
        assert not at.error, name
        assert not private(at), name
        kinds = ("markdown", "caption", "error", "info")
        text = "\n".join(str(found.value) for kind in kinds for found in at.get(kind))
        assert not any(markup in text for markup in ("<b>x", "](http", ":red[z")), name
    assert list(shown(at).release.synthetic) == [name for name in frame if name not in ("gone", "same")]
    content = files(downloads[-1]())
    assert not {"=1+1"} & set(pd.read_csv(io.BytesIO(content["synthetic.csv"]))["'@town"])


def test_rows_that_a_declaration_does_not_hold_are_counted_and_not_shown() -> None:
    frame = GOOD.assign(
        pay=[987654 if i in (3, 5) else i for i in range(80)],
        mixed=[str(i % 3) if i % 5 else "Zqword" for i in range(80)],
    )
    at = upload(started("data"), "odd.csv", csv(frame))
    widget(at, "data.target").set_value("ill")
    run(at)
    outside = int((GOOD["town"] == "Zqa").sum())
    for edits, count, name in (
        ({3: {"values": "0 to 100"}}, 2, "pay"),
        ({4: {"kind": "integer", "values": "0 to 9"}}, 16, "mixed"),
        ({1: {"values": "Zqb; Zqc"}}, outside, "town"),
    ):
        press(edit(at, edits), "data.use")
        (message,) = mendable(at)
        cause = message.partition("\n\n")[0]
        assert f"{count} " in cause
        assert f"'{name}'" in cause
        assert cause.strip().endswith(f"{REAL_DATA}.")
        assert not private(at)
        assert dataset(at).name == "sample"

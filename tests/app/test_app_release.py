"""From the first press to the zip, and what the Naive Bayes page says of what its paper claims."""

import io
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import driving
import pandas as pd
import pytest
from driving import PAGE, ROOT, change, csv, opened, people, press, released, run, shown, started, tab, upload
from prepared import MARK, data, files, marked, page, with_release
from screen import books, charts, dataset, errors, metrics, said, tabs, widget
from streamlit.testing.v1 import AppTest

from dpcore import Schema, datasets
from dpcore.dashboard.tabs import disclosure
from dpcore.domain.unit import Unit
from dpcore.evaluate.verdict import Verdict
from dpcore.export import privacy_card

FILES = {"synthetic.csv", "schema.json", "config.json", "ledger.json", "ledger.csv"}
FILES |= {"replay.py", "replay.ipynb", "report.html", "card.md", "README.md"}
ALONE = ["release", "report alone", "notebook alone"]
WITH_CHARTS = ("Price", "Columns", "Pairs", "Accuracy")
MOST_CELLS = 2 * 41 * 41  # of a chart: two heat maps of 40 values and the others


def evaluated(at: AppTest) -> Verdict:
    found: Verdict = shown(at).memory["verdict"]
    return found


def test_first_start_to_export(downloads: list[Any]) -> None:
    at = press(started(), "home.try")
    assert at.title[0].value == "Naive Bayes"
    assert not at.error
    release = shown(at).release
    assert release.data_name == "sample"
    told = dict(metrics(at))
    assert told["Synthetic rows"] == f"{len(release.synthetic):,}"
    assert told["Claimed"] == told["It can cost up to"] == "1"
    for name in tabs(at):
        tab(at, name)
        assert not at.error, name
        drawn = charts(at)[1:]  # beside the icons of the settings
        assert bool(drawn) == (name in WITH_CHARTS), name
        assert marked(at) == [name != "Price"] * len(drawn)
        assert all(len(table) <= MOST_CELLS for _, tables in drawn for table in tables), name
        if name == "Rows":
            first, second = (table.value for table in at.dataframe)
            pd.testing.assert_frame_equal(first, release.synthetic.head(len(first)), check_dtype=False)
            assert list(second) == list(first)
            assert f"**Kept:** {evaluated(at).close_columns} of 15 columns" in said(at)
            lost = evaluated(at).lost[0]  # this method's columns are independent of each other, given the class
            assert f"**Lost:** {lost.first} × {lost.second}" in said(at)
    assert [button.label.rpartition(" the ")[2] for button in at.download_button] == ALONE
    assert not any(button.proto.deferred_file_id for button in at.download_button)  # lost under a rerun

    content = files(downloads[-1]())
    assert set(content) == FILES
    assert len(pd.read_csv(io.BytesIO(content["synthetic.csv"]))) == len(release.synthetic)
    assert Schema.from_json(content["schema.json"].decode()) == dataset(at).schema
    ledger = json.loads(content["ledger.json"])
    assert (ledger["epsilon_claimed"], ledger["epsilon_bound"]) == (1.0, 1.0)
    assert b"random_state" not in content["replay.py"]  # a release without a seed cannot be made again
    assert json.loads(content["config.json"])["data"]["name"] == "sample"
    assert "- Noise: exactly sampled noise.\n" in content["README.md"].decode()
    for what, about in privacy_card.card(release).facts:
        assert f"**{what}:** {about}" in said(at).replace("\u200b", "")
        assert f"**{what}:** {about}" in content["card.md"].decode()
    assert "k rows can cost up to k times epsilon" in said(at)
    at.segmented_control(f"{PAGE}.format").set_value("parquet")
    run(at)
    content = files(downloads[-1]())
    assert set(content) == FILES - {"synthetic.csv"} | {"synthetic.parquet"}
    found = pd.read_parquet(io.BytesIO(content["synthetic.parquet"]))
    pd.testing.assert_frame_equal(found, release.synthetic, check_categorical=False)


@pytest.mark.parametrize("name", [PAGE, "forests"])
def test_comparisons_with_real_rows_are_in_the_report_only_if_asked_for(
    name: str, downloads: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "PAGE", name)
    at = with_release("Take home")
    reports, packed = [], []
    for real in (False, True, False):
        at.toggle(f"{name}.real").set_value(real)
        content = files((run(at), downloads[-1]())[1])
        reports.append(content["report.html"].decode())
        assert ("do not publish it" in content["README.md"].decode()) == real
        assert any("do not publish" in error for error in errors(at)) == real
        packed.append({key: value for key, value in shown(at).memory.items() if "zip" in key})
    assert ["real data" in html for html in reports] == [False, True, False]
    html = reports[1]
    assert html.index("What was released") < html.index("<h2 class='real'>Uses real data: do not publish</h2>")
    assert html.count("The numbers behind this chart") == reports[0].count("The numbers behind this chart") + 2
    assert len(packed[1]) == 2
    assert packed[2] == packed[1]  # nothing made twice
    assert books(at) == {}


def test_a_seeded_release_replays_to_the_same_rows_whatever_was_kept_aside(
    downloads: list[Any], tmp_path: Path
) -> None:
    raw = csv(people(300))
    at = upload(started("data"), "people.csv", raw)
    at.slider("data.share").set_value(0.2)
    widget(at, "data.target").set_value("ill")
    press(at, "data.use")
    tab(released(opened(at, PAGE), seed=11), "Take home")
    content = files(downloads[-1]())
    assert b"Seed: 11." in content["README.md"]
    assert b"do not publish" in content["README.md"]
    for name, each in {**content, "your-data.csv": raw}.items():
        (tmp_path / name).write_bytes(each)
    done = subprocess.run(
        [sys.executable, "-W", "error", "replay.py", "your-data.csv"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "The release came out again: the same rows as synthetic.csv" in done.stdout
    again = pd.read_csv(tmp_path / "synthetic-again.csv")
    pd.testing.assert_frame_equal(again, pd.read_csv(io.BytesIO(content["synthetic.csv"])))
    assert list(again["age"]) == list(shown(at).release.synthetic["age"])


@pytest.mark.parametrize("name", [PAGE, "forests"])
def test_what_could_still_be_learned_stands_beside_its_limit_and_stays_on_the_screen(
    name: str, downloads: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "PAGE", name)
    monkeypatch.setattr(disclosure, "FITS", 4)
    at = with_release("Risk")
    assert "**The limit: 46.3 percentage points.**" in said(at)
    assert "Add 1 to every number of a real table" in said(at)
    assert "Right if the row took part" not in dict(metrics(at))
    release, spent = shown(at).release, books(at)
    press(at, f"{name}.learned.go")
    told = dict(metrics(at))
    assert told["Limit, in points"] == "46.3"
    assert all(told[f"Right if {which}"].endswith("%") for which in ("the row took part", "it did not"))
    assert "For your eyes only: computed from real rows, not private, and not part of the zip." in said(at)
    assert MARK in said(at)
    assert shown(at).release is release
    assert books(at) == spent
    content = files((tab(at, "Take home"), downloads[-1]())[1])
    assert set(content) <= FILES | {"model.json"}
    assert not any(b"took part" in raw for raw in content.values())


def test_paper_mode_claims_one_and_costs_more_than_people_are_told() -> None:
    at = with_release("Price", "paper", "Algorithm 2: random rows, labels by the exponential mechanism")
    bound = shown(at).release.ledger.epsilon_bound
    assert dict(metrics(at))["The paper claims"] == "1"
    assert 50 < bound < math.inf
    assert any("claims epsilon 1" in error and f"{bound:,.0f}" in error for error in errors(at))
    assert "practically certain" in said(at)
    assert "one, and bounds the change of x instead of D" in said(at)
    algorithm_1 = "Algorithm 1: random rows, noiseless labels (no privacy)"
    released(at, mode="paper", variant__paper=algorithm_1)
    assert any("No finite epsilon" in error for error in errors(at))
    assert "without a guarantee" in said(opened(at, "ledger"))


def test_a_seed_is_for_teaching_and_usual_noise_may_be_published() -> None:
    at = released(page())
    assert "Exactly sampled discrete noise" in said(tab(at, "Price"))
    assert shown(at).release.publishable
    released(at, seed=3)  # exactly sampled noise takes none: NumPy's stands in, and the page says so
    assert not shown(at).release.publishable
    assert any("For teaching only" in error for error in errors(at))
    assert "NumPy's continuous noise will be used" in said(at)
    rows = shown(at).release.synthetic
    pd.testing.assert_frame_equal(shown(released(at)).release.synthetic, rows)
    change(at, noise="laplace", seed=None)
    assert errors(at)  # what is on the screen is still the seeded release
    assert not shown(released(at)).release.publishable
    assert ("It can cost up to, in exact arithmetic", "1") in metrics(at)
    assert "for teaching" in said(at)
    assert "these numbers can be attacked" in said(at)


def test_whose_epsilon_it_is_stands_beside_every_number() -> None:
    """A table of three rows per person: with the column that tells persons apart, and without."""
    frame = people(90).assign(who=[f"p{i // 3}" for i in range(90)])
    schema = Schema.infer(frame.drop(columns="who"), target="ill")
    for unit, label, line, sentence in (
        (Unit(rows=3, column="who"), "person", "add or remove one person)", "the presence of one person"),
        (Unit(rows=3), "row", "(add or remove one row): 3 × 1 = 3 per person", "the presence of one row"),
    ):
        at = started(PAGE)
        declared = replace(schema, source="declared", unit=unit)
        at.session_state["dpcore.data"] = datasets.Dataset("own", frame.head(60), frame.tail(30), declared)
        at = released(at)
        told = dict(metrics(at))
        assert told[f"It can cost up to, per {label}"] == told[f"Claimed, per {label}"] == "1"
        assert f"What is protected: one {label}" in [radio.label for radio in at.radio]
        assert line in said(at)
        assert sentence in said(at)
        assert f"at most **{'73.1' if unit.column else '95.3'}% sure**" in said(at)  # of a person, by e or by e cubed
        assert ("For a person: 3 × 1 = 3 per person" in said(at)) == (unit.column is None)


def test_without_a_declared_schema_a_run_asks_once_per_data_set_and_promises_nothing(downloads: list[Any]) -> None:
    at = page(data(source="inferred"))
    assert "guarantee proved" not in "".join(widget(at, f"{PAGE}.mode").options)
    assert "Bounds or categories of people were read off its rows" in said(at)
    assert widget(at, f"{PAGE}.run").label == "Go on without"
    released(at)
    assert ("Guarantee", "none") in metrics(at)
    assert "It can cost up to" not in said(at)
    assert "read off its rows" not in said(at)
    assert widget(at, f"{PAGE}.run").label == "Run without a guarantee"
    released(at)
    tab(at, "Draw again")
    assert widget(at, f"{PAGE}.redraws.go").label == "Draw 20 more without a guarantee"
    tab(at, "Take home")
    content = files(downloads[-1]())
    for name in ("README.md", "card.md", "report.html", "replay.ipynb", "config.json"):
        told = content[name].decode()
        assert "inferred" in told, name
        assert name == "config.json" or "the guarantee is void" in told, name
    at.session_state["dpcore.data"] = data(people(60, seed=9), "others", source="inferred")
    assert widget(run(at), f"{PAGE}.run").label == "Go on without"  # of other data it is asked again
    press(at, f"{PAGE}.run.declare")
    assert at.title[0].value == "Data & schema"
    at.session_state["dpcore.data"] = data()
    assert widget(opened(at, PAGE), f"{PAGE}.run").label == "Run"

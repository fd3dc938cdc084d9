"""The page of randomized responses: every method of both modes, its tabs, predictions, reports, and its figures."""

import io
import json
import zipfile
from typing import Any

import driving
import numpy as np
import pandas as pd
import prepared
import pytest
from driving import (
    books,
    change,
    charts,
    csv,
    errors,
    key_of,
    mendable,
    metrics,
    people,
    press,
    released,
    run,
    said,
    shown,
    tab,
    tabs,
    widget,
    words,
)
from prepared import MARK, PEOPLE, asked, choose, data
from streamlit.testing.v1 import AppTest

from dpcore import datasets
from dpcore.dashboard import controls
from dpcore.dashboard.tabs import paper_figures
from dpcore.datasets import Dataset
from dpcore.errors import DataError
from dpcore.experiment.figures import local as figures_004
from dpcore.experiment.figures.base import Figure
from dpcore.export import models
from dpcore.methods.local.base import HIDDEN, LocalClassifier

OFFERED = {mode: controls.offered("responses", mode) for mode in ("corrected", "paper")}
PPNB, DTPD, DTCRD = OFFERED["corrected"]
VARIANTS = [(mode, label) for mode, offers in OFFERED.items() for label in offers]
LEARN = "Learn from reports"
USUAL = LocalClassifier.asks()["epsilon"].shown
TABS = ["Price", "Reports", "Accuracy", "Draw again", "Predict", "Take home", "The paper's figures"]


@pytest.fixture(autouse=True)
def this_page(monkeypatch: pytest.MonkeyPatch, quick_sample: None) -> None:
    """Small grids, and no data set but the one in use."""
    monkeypatch.setattr(driving, "PAGE", "responses")
    monkeypatch.setattr(figures_004, "GRID", (0.4, 0.9))
    monkeypatch.setattr(figures_004, "RECORD", (1.0, 4.0))
    monkeypatch.setattr(paper_figures, "here", lambda _: False)


def page(given: Dataset = PEOPLE, what: str = LEARN) -> AppTest:
    """The page in a new session with these data in use, or the small table."""
    return prepared.page(given, **{"responses.what": what})


# Before anything runs


def test_the_game_comes_first_and_says_what_is_different() -> None:
    at = page(what="Play the coin game")
    assert "Here nobody holds them" in said(at).replace("*", "")
    assert [button.label for button in at.button] == ["Toss", "Ask them"]
    assert not books(at)
    press(at, next(button.key for button in at.button if button.label == "Ask them"))
    assert not books(at)  # nobody's row was touched


def test_settings_draw_nothing_and_fit_the_mode() -> None:
    at = page()
    assert asked(at)["epsilon"] == USUAL
    assert asked(at)["relation"] == "replace"
    assert HIDDEN in str(widget(at, "responses.relation.replace").proto)
    change(at, pairs=False)
    assert {"numbers", "protocol", "merge", "asked"} <= set(asked(at))
    change(at, numbers="moments")
    assert "merge" not in asked(at)
    choose(at, "paper", "PPNB")
    assert "epsilon" not in asked(at)
    assert asked(at)["p0"] == 0.5
    assert "reconstruction" in asked(at)
    choose(at, "paper", "DTPD")
    assert asked(at)["theta"] == 0.7
    choose(at, "paper", "DTCRD")
    assert asked(at)["randomizer"] == "uniform"
    assert not books(at)
    assert shown(at) is None


# Runs


@pytest.mark.parametrize(("mode", "variant"), VARIANTS)
def test_every_method_and_mode_runs_on_the_sample(mode: str, variant: str) -> None:
    at = choose(page(datasets.load("sample")), mode, variant)
    wanted = asked(at)
    release = shown(released(at)).release
    assert {key: release.parameters[key] for key in wanted} == wanted
    name = OFFERED[mode][variant][0]
    assert (release.method, release.parameters["mode"]) == (name, mode)
    ledger = release.ledger
    assert list(books(at)) == [(key_of(at), "replace")]
    if mode == "corrected":
        assert ledger.epsilon_claimed == ledger.epsilon_bound == USUAL
        assert not errors(at)
        assert [value for _, value in metrics(at)[:2]] == ["4", "4"]
    else:
        assert [value for _, value in metrics(at)[:2]] == ["none", "none"]
        assert errors(at) == ["No finite epsilon can be proved for this run."]
    found = TABS[:4] + (["Tree"] if name.startswith("DT") else []) + TABS[4:]
    found = [one for one in found if one != "Reports" or name != "Plain naive Bayes"]
    assert tabs(at) == found
    for one in found:
        tab(at, one)
    assert not mendable(at)


def test_reports_stand_beside_the_truth_and_are_marked() -> None:
    at = tab(released(page(datasets.load("sample"))), "Reports")
    assert "rows of reports" in said(at)
    (spec, _), *_ = [chart for chart in charts(at) if "in 100" not in json.dumps(chart[0])]
    assert MARK in json.dumps(spec["title"])
    assert "intervals hold the true share of these people" in said(at)
    assert "handed in as it is" not in said(at)
    (table,) = [frame.value for frame in at.dataframe if "report" in frame.value]
    assert list(table) == ["person", "question", "report"]
    assert len(table) == 10  # one answer each
    change(at, pairs=False, asked=0)
    assert asked(at)["asked"] is None
    tab(press(at, "responses.run"), "Reports")
    (table,) = [frame.value for frame in at.dataframe if "income" in frame.value]
    assert len(table) == 10
    assert table.notna().all().all()


def test_columns_may_be_called_like_ours() -> None:
    rows = people().rename(columns={"town": "person", "age": "report"})
    at = tab(released(page(data(rows)), pairs=False, asked=1), "Reports")
    (table,) = [frame.value for frame in at.dataframe if "question" in frame.value]
    assert set(table["question"]) == {"person", "report", "ill"}


def test_the_class_is_told_by_every_report() -> None:
    at = tab(released(page(datasets.load("sample"))), "Reports")
    widget(at, "responses.reported.PPNB").set_value("income")
    run(at)
    assert "1,400 reports tell of **income**" in said(at)


def test_numbers_are_drawn_as_numbers() -> None:
    at = tab(released(choose(page(datasets.load("sample")), "paper", "PPNB")), "Reports")
    release = shown(at).release
    widget(at, f"responses.reported.{release.method}").set_value("age")
    run(at)
    assert "normal distribution per class" in said(at)
    assert "**income is handed in as it is.**" in said(at)
    assert "stay on this screen" in said(at)
    assert "age: true, reported and reconstructed numbers" in json.dumps([spec for spec, _ in charts(at)])


@pytest.mark.parametrize(("mode", "variant"), [("corrected", PPNB), ("paper", "PPNB"), ("paper", "DTCRD")])
def test_the_zip_holds_the_reports_and_no_real_row(mode: str, variant: str) -> None:
    given = data()
    at = tab(released(choose(page(given), mode, variant)), "Take home")
    release = shown(at).release
    with zipfile.ZipFile(io.BytesIO(models.bundle(release))) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    assert {"model.json", "schema.json", "config.json", "ledger.json", "replay.py"} <= set(files)
    if mode == "paper":  # its reports hold true answers, and so does what was learned from them
        assert "true answers of ill, and holds exact figures of them" in said(at)
        assert "No real row" not in said(at)
        assert "reports.csv" not in " ".join([*files, files["README.md"]])
        assert "stays here" in said(at)
        assert "do not publish" in files["README.md"]
        return
    rows = pd.read_csv(io.StringIO(files["reports.csv"]))
    assert len(rows) == len(given.train)
    assert "reports.csv" in files["README.md"]
    rules = json.loads(files["rules.json"])
    assert len(rules) == rows.shape[1]
    for rule in rules:
        assert rule["gain"] + sum(rule["base"]) == pytest.approx(1)
        assert len(rule["values"]) == len(rule["base"])


def test_reports_of_a_known_seed_stay_here() -> None:
    """Whoever has the seed can undo every report."""
    at = tab(released(page(), seed=7), "Take home")
    assert "stays here" in said(at)
    with zipfile.ZipFile(io.BytesIO(models.bundle(shown(at).release))) as archive:
        assert "reports.csv" not in archive.namelist()


def test_true_answers_stay_on_this_screen() -> None:
    at = tab(released(choose(page(), "paper", "Plain naive Bayes")), "Take home")
    assert "stays here" in said(at)
    assert not at.get("download_button")


def test_accuracy_has_its_ceiling() -> None:
    at = tab(released(page(datasets.load("sample"))), "Accuracy")
    frames = [frame.value for frame in at.dataframe if "balanced_accuracy" in frame.value]
    models_there = set(frames[0]["model"])
    assert {"released", "naive Bayes, true answers", "majority class", "same builder without noise"} <= models_there
    at = tab(released(choose(at, "paper", "Plain naive Bayes")), "Accuracy")
    frames = [frame.value for frame in at.dataframe if "balanced_accuracy" in frame.value]
    assert "naive Bayes, true answers" not in set(frames[0]["model"])  # it is the release itself


def test_redraws_are_charged_to_those_who_report_again() -> None:
    at = tab(released(page()), "Draw again")
    press(at, "responses.redraws.go")
    (spent,) = books(at).values()
    assert spent[2] == pytest.approx(21 * USUAL)
    at = tab(released(choose(page(), "paper", "PPNB")), "Draw again")
    assert "no epsilon can be proved" in said(at)


def test_a_model_predicts_for_a_file() -> None:
    at = tab(released(page()), "Predict")
    rows = people(30, seed=9).drop(columns="ill").assign(age=lambda found: found["age"].clip(10, 80))
    widget(at, "responses.rows").set_value(("new.csv", csv(rows), "text/csv"))
    run(at)
    assert not mendable(at)
    found = at.session_state["dpcore.predicted:responses"]["value"].rows
    assert list(found)[-2:] == ["predicted ill", "probability"]
    assert len(found) == 30
    widget(at, "responses.rows").set_value(("new.csv", csv(rows.drop(columns="town").assign(more=1)), "text/csv"))
    run(at)
    assert "town" in mendable(at)[0]


def test_a_method_that_refuses_keeps_what_was_there() -> None:
    at = released(page())
    first = shown(at)
    at.session_state["responses.chosen"] = ("PPNB", {**asked(at), "numbers": "moments", "pairs": True})
    press(at, "responses.run")
    assert shown(at) is not None
    numeric = data(pd.DataFrame({"age": np.arange(80) % 7, "size": np.arange(80) % 5}), target=None)
    at = page(numeric)
    press(at, "responses.run")
    assert shown(at) is None
    assert "class column" in said(at)
    assert first is not None


def test_secrets_stay_out_of_what_the_server_sends() -> None:
    """Values of the schema are public; a cell's text that only the file has must not be sent."""
    at = released(page())
    for one in tabs(at):
        tab(at, one)
    assert "secret" not in words(at)


# Figures


@pytest.mark.parametrize("title", [figure.title for figure in figures_004.FIGURES])
def test_every_figure_is_drawn_and_charged(title: str) -> None:
    at = page()
    assert tabs(at) == ["The paper's figures", "Predict"]
    change(at, repeats=2)
    figure = next(each for each in figures_004.FIGURES if each.title == title)
    change(at, figure=title)
    press(at, f"responses.{figure.key}.go")
    assert not mendable(at), mendable(at)
    (spec, _), *_ = [chart for chart in charts(at) if "What randomized answers teach" in json.dumps(chart[0])]
    assert MARK in json.dumps(spec["title"])
    frame = next(frame.value for frame in at.dataframe if "epsilon_bound" in frame.value)
    assert set(frame["repeat"]) == {0, 1}
    assert set(frame["error"]) == {""}
    expected = {"noises": 2 * 2 * 2, "trees": 2 * 2 * 2, "records": 2 * 5 * 2}[figure.key]
    ((entries, claimed, bound),) = books(at).values()
    (account,) = at.session_state["dpcore.accounts"].values()
    assert sum(len(part.children) for part in account.children) == expected  # every fit has charged the account itself
    assert (claimed == bound == 2 * 5 * (1 + 4)) if figure.key == "records" else np.isinf(bound)
    if figure.key != "records":
        change(at, **{})
        at.segmented_control("axis.004").set_value("answer")
        run(at)
        assert "epsilon of one answer" in json.dumps([spec for spec, _ in charts(at)])
        assert books(at) == {next(iter(books(at))): (entries, claimed, bound)}


def test_fig_3_runs_on_bits() -> None:
    (figure,) = [figure for figure in figures_004.FIGURES if figure.key == "trees"]
    frames = [frame for _, frame in figure.stream(data(), 1)]
    assert {frame["series"].iloc[0] for frame in frames} == {"PPNB", "DTPD"}
    same = {frame["answer"].iloc[0] for frame in frames if frame["x"].iloc[0] == 0.9}
    assert len(same) == 2  # p0 = .9 and theta = .9 protect differently


def test_a_figure_that_was_stopped_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    at = page()
    change(at, repeats=2)
    press(at, "responses.noises.go")
    assert "Stopped before" not in said(at)
    whole = Figure.stream

    def some(*asked: Any, **how: Any) -> Any:
        for done, (fraction, frame) in enumerate(whole(*asked, **how)):
            if done == 3:
                raise DataError("Stopped.", "Go on.")
            yield fraction, frame

    monkeypatch.setattr(Figure, "stream", some)
    press(at, "responses.noises.go")
    assert "Stopped before it was finished: 3 runs are drawn" in said(at)


def test_one_rule_has_one_line_per_branch_against_epsilon() -> None:
    at = page()
    change(at, repeats=1, figure="Fig. 3: PPNB and DTPD")
    press(at, "responses.trees.go")
    at.segmented_control("axis.004").set_value("answer")
    run(at)
    frame = next(frame.value for frame in at.dataframe if "epsilon_bound" in frame.value)
    assert set(frame["series"]) == {"PPNB", "DTPD", "DTPD, theta below 1/2"}


def test_a_model_from_a_file_needs_no_run() -> None:
    at = tab(page(), "Predict")
    assert "A model is enough" in said(at)
    assert not books(at)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "variant"), VARIANTS, ids=[" ".join(each) for each in VARIANTS])
def test_a_table_of_100_columns_goes_through_every_tab(mode: str, variant: str) -> None:
    answers = np.random.default_rng(0).choice(["no", "yes"], (80, 50))
    sizes = np.random.default_rng(1).integers(0, 40, (80, 49))
    wide = pd.concat([pd.DataFrame(answers).add_prefix("q"), pd.DataFrame(sizes).add_prefix("n")], axis=1)
    at = choose(page(data(wide.assign(ill=people()["ill"].to_numpy()))), mode, variant)
    press(at, "responses.run")
    assert shown(at) is not None
    for name in tabs(at):
        tab(at, name)
        assert not at.exception, name
    if variant == PPNB:  # figures run methods of their own
        for figure in figures_004.FIGURES:
            change(at, figure=figure.title)
            press(at, f"responses.{figure.key}.go")
            assert not at.exception, figure.title

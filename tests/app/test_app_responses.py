"""The page of randomized responses: the game first, what a method asks, reports beside the truth, and predictions."""

import json

import numpy as np
import pandas as pd
import pytest
from driving import change, people, press, released, run, shown, tab
from prepared import MARK, asked, at_once, choose, data, files, page, with_release
from screen import charts, said, tabs, widget

from dpcore import datasets
from dpcore.dashboard import controls
from dpcore.dashboard.tabs import paper_figures
from dpcore.experiment.figures import local
from dpcore.methods.local.base import HIDDEN, LocalClassifier

PAGE = "responses"
OFFERED = {mode: controls.offered("responses", mode) for mode in ("corrected", "paper")}
PPNB, DTPD, DTCRD = OFFERED["corrected"]
USUAL = LocalClassifier.asks()["epsilon"].shown


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper_figures, "here", lambda _: False)


def test_the_game_comes_first_and_settings_fit_the_mode() -> None:
    at = page(**{"responses.what": "Play the coin game"})
    assert "Here nobody holds them" in said(at).replace("*", "")
    assert [button.label for button in at.button if "steps" not in button.key] == ["Toss", "Ask them"]
    at = page()
    assert tabs(at) == ["The paper's figures", "Predict"]
    assert "A model is enough" in said(tab(at, "Predict"))
    assert (asked(at)["epsilon"], asked(at)["relation"]) == (USUAL, "replace")
    assert HIDDEN in str(widget(at, "responses.relation.replace").proto)
    assert {"numbers", "protocol", "merge", "asked"} <= set(asked(change(at, pairs=False)))
    assert "merge" not in asked(change(at, numbers="moments"))
    choose(at, "paper", "PPNB")
    assert "epsilon" not in asked(at)
    assert asked(at)["p0"] == 0.5
    assert "reconstruction" in asked(at)
    assert asked(choose(at, "paper", "DTPD"))["theta"] == 0.7
    assert asked(choose(at, "paper", "DTCRD"))["randomizer"] == "uniform"


def test_reports_stand_beside_the_truth_and_are_marked() -> None:
    at = with_release("Reports", given=datasets.load("sample"))
    assert "rows of reports" in said(at)
    (spec, _), *_ = [chart for chart in charts(at) if "in 100" not in json.dumps(chart[0])]
    assert MARK in json.dumps(spec["title"])
    assert "intervals hold the true share of these rows" in said(at)
    assert "handed in as it is" not in said(at)
    (table,) = [frame.value for frame in at.dataframe if "report" in frame.value]
    assert list(table) == ["row", "question", "report"]
    assert len(table) == 10  # one answer each
    widget(at, "responses.reported.PPNB").set_value("income")
    assert "1,400 reports tell of **income**" in said(run(at))  # every report tells of the class
    change(at, pairs=False, asked=0)
    assert asked(at)["asked"] is None
    tab(press(at, "responses.run"), "Reports")
    (table,) = [frame.value for frame in at.dataframe if "income" in frame.value]
    assert len(table) == 10
    assert table.notna().all().all()
    tab(released(choose(at, "paper", "PPNB")), "Reports")
    widget(at, f"responses.reported.{shown(at).release.method}").set_value("age")
    assert "normal distribution per class" in said(run(at))
    assert "**income is handed in as it is.**" in said(at)
    assert "stay on this screen" in said(at)
    assert "age: true, reported and reconstructed numbers" in json.dumps([spec for spec, _ in charts(at)])


def test_each_column_may_have_a_p0_of_its_own() -> None:
    rows = people().assign(sort=people()["town"])
    at = choose(page(data(rows)), "paper", "PPNB")
    change(at, **{"p0.own": True})
    each = widget(at, "responses.p0.each.2")
    assert each.value == "0.5, 0.5"
    each.set_value("0.2, 0.9")
    assert asked(run(at))["p0"] == (0.2, 0.9)
    assert "by column" in said(at)
    channels = shown(press(at, "responses.run")).release.artifact.reports.channels
    assert [channels[name,].gain for name in ("town", "sort")] == [0.2, 0.9]
    widget(at, "responses.p0.each.2").set_value("0.2")
    assert "These do not fit. Write 2 numbers above 0" in said(run(at))
    assert next(button for button in at.button if (button.key or "").startswith("responses.run:")).disabled


def test_columns_may_be_called_like_ours() -> None:
    rows = people().rename(columns={"town": "person", "age": "report"})
    at = tab(released(page(data(rows)), pairs=False, asked=1), "Reports")
    (table,) = [frame.value for frame in at.dataframe if "question" in frame.value]
    assert set(table["question"]) == {"person", "report", "ill"}


def test_reports_of_a_known_seed_and_true_answers_stay_here(downloads: list) -> None:
    """Whoever has the seed can undo every report."""
    at = tab(released(page(), seed=7), "Take home")
    assert "stays here" in said(at)
    assert "reports.csv" not in files(downloads[-1]())
    at = with_release("Take home", "paper", "Plain naive Bayes")
    assert "stays here" in said(at)
    assert not at.get("download_button")


def test_accuracy_has_its_ceiling() -> None:
    for mode, variant, ceiling in (("", "", True), ("paper", "Plain naive Bayes", False)):
        at = with_release("Accuracy", mode, variant)
        frames = [frame.value for frame in at.dataframe if "balanced_accuracy" in frame.value]
        there = set(frames[0]["model"])
        assert {"released", "majority class"} <= there
        assert ("naive Bayes, true answers" in there) == ceiling  # it is the release itself
    assert "no epsilon can be proved" in said(with_release("Draw again", "paper", "PPNB"))  # of who reports again


@pytest.mark.slow
@pytest.mark.parametrize("variant", [PPNB, DTPD, DTCRD])
def test_a_table_of_100_columns_goes_through_every_tab(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRID", "RECORD"):
        monkeypatch.setattr(local, name, getattr(local, name)[:1])
    answers = np.random.default_rng(0).choice(["no", "yes"], (80, 50))
    sizes = np.random.default_rng(1).integers(0, 40, (80, 49))
    wide = pd.concat([pd.DataFrame(answers).add_prefix("q"), pd.DataFrame(sizes).add_prefix("n")], axis=1)
    at = choose(page(data(wide.assign(ill=people()["ill"].to_numpy()))), "corrected", variant)
    press(at, "responses.run")
    assert shown(at) is not None
    for name in tabs(at):
        tab(at, name)
    if variant == PPNB:  # figures run methods of their own
        for figure in local.FIGURES:
            at_once(change(at, figure=figure.title), repeats=1)
            press(at, f"responses.{figure.key}.go")

"""The page of randomized responses: the game first, what a method asks for, reports beside the truth."""

import pytest
from driving import change, people, press, released, run, shown, started, tab
from prepared import Journey, asked, choose, data, files, follow, page, with_release
from screen import marked, pictures, tabs, widget

from dpcore import datasets
from dpcore.dashboard.tabs import paper_figures
from dpcore.methods.local.base import LocalClassifier

PAGE = "responses"
JOURNEYS: list[Journey] = [
    ("corrected", "PPNB", {}, {"epsilon": LocalClassifier.asks()["epsilon"].shown, "relation": "replace"}),
    ("corrected", "PPNB", {"pairs": False}, {"pairs": False, "numbers": ..., "merge": ...}),
    ("corrected", "PPNB", {"numbers": "moments"}, {"merge": None}),
    ("paper", "PPNB", {}, {"epsilon": None, "p0": 0.5}),
    ("paper", "DTPD", {}, {"theta": 0.7}),
    ("paper", "DTCRD", {}, {"randomizer": "uniform"}),
]


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch) -> None:
    monkeypatch.setattr(paper_figures, "here", lambda _: False)


def test_the_game_comes_first_and_settings_fit_the_mode() -> None:
    at = started(PAGE)
    assert widget(at, "responses.coin.toss")
    assert len(tabs(at)) == 0
    at = page()
    assert len(tabs(tab(at, "predict"))) == 2
    follow(at, JOURNEYS)


def test_reports_stand_beside_the_truth_and_are_marked() -> None:
    at = with_release("reports", given=datasets.load("sample"))
    assert marked(at)[0]
    (table,) = [frame.value for frame in at.dataframe if "report" in frame.value]
    assert list(table) == ["row", "question", "report"]
    assert len(table) == 10  # one answer each
    tab(released(choose(at, "paper", "PPNB")), "reports")
    drawn = [pictures(change(at, reported__PPNB=column)) for column in ("income", "age")]
    assert drawn[0] != drawn[1]  # numbers are drawn otherwise
    assert all(marked(at))


def test_each_column_may_have_a_p0_of_its_own() -> None:
    rows = people().assign(sort=people()["town"])
    at = change(choose(page(data(rows)), "paper", "PPNB"), **{"p0.own": True})
    each = widget(at, "responses.p0.each.2")
    assert each.value == "0.5, 0.5"
    each.set_value("0.2, 0.9")
    assert asked(run(at))["p0"] == (0.2, 0.9)
    channels = shown(press(at, "responses.run")).release.artifact.reports.channels
    assert [channels[name,].gain for name in ("town", "sort")] == [0.2, 0.9]
    widget(at, "responses.p0.each.2").set_value("0.2")
    assert widget(run(at), "responses.run").disabled


def test_reports_of_a_known_seed_stay_here(downloads) -> None:
    """Whoever has the seed can undo every report."""
    tab(released(page(), seed=7), "home")
    content = files(downloads[-1]())
    assert "model.json" in content
    assert "reports.csv" not in content

"""The page of randomized response: what a method asks for, reports beside the truth."""

import pytest
from driving import change, released, tab
from prepared import Journey, choose, files, follow, page, with_release
from screen import marked

from dpcore import datasets
from dpcore.dashboard.panels import paper
from dpcore.methods.local.base import LocalClassifier

PAGE = "responses"
JOURNEYS: list[Journey] = [
    ("corrected", "PPNB", {}, {"epsilon": LocalClassifier.asks()["epsilon"].initial, "relation": "replace"}),
    ("corrected", "PPNB", {"pairs": False}, {"pairs": False, "numbers": ..., "merge": ...}),
    ("corrected", "PPNB", {"numbers": "moments"}, {"merge": None}),
    ("published", "PPNB", {}, {"epsilon": None, "p0": 0.5}),
    ("published", "DTPD", {}, {"theta": 0.7}),
    ("published", "DTCRD", {}, {"randomizer": "uniform"}),
]


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch) -> None:
    monkeypatch.setattr(paper, "read_published", lambda _: {})


def test_settings_fit_the_mode() -> None:
    follow(page(), JOURNEYS)


def test_reports_stand_beside_the_truth_and_are_marked() -> None:
    at = with_release("reports", given=datasets.load("sample"))
    assert marked(at)[0]
    tab(released(choose(at, "published", "PPNB")), "reports")
    for column in ("income", "age"):
        assert all(marked(change(at, reported__PPNB=column)))


def test_reports_of_a_known_seed_stay_here(downloads) -> None:
    """Whoever has the seed can undo every report."""
    tab(released(page(), seed=7), "download")
    content = files(downloads[-1]())
    assert "model.json" in content
    assert "reports.csv" not in content

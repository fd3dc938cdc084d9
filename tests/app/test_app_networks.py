"""The page of Bayesian networks: what it asks for, and what it says of its methods."""

from driving import released, run, shown
from prepared import Journey, data, follow, page, with_release
from screen import marked, widget

from dpcore.dashboard import panels
from dpcore.methods import METHODS

PAGE = "networks"
BOUNDED = data(max_rows=500)
BITS = next(offer.label for offer in METHODS["PrivBayes"].presets if offer.parameters == {"variant": "binary"})
JOURNEYS: list[Journey] = [
    ("corrected", "PrivBayes", {"relation": "add_remove"}, {"relation": "add_remove"}),
    ("published", "PrivBayes", {}, {"relation": "replace"}),  # papers know this one only
    ("corrected", BITS, {"max_parents": 4}, {"relation": "add_remove", "score": "F", "max_parents": 3}),
    ("corrected", BITS, {"score": "MI"}, {"score": "MI", "max_parents": 4}),
]


def test_settings_reach_the_method_and_f_has_three_parents() -> None:
    at = follow(page(BOUNDED), JOURNEYS)
    widget(at, "networks.score").set_value("F")
    assert shown(released(run(at))).release.parameters["max_parents"] == 3


def test_the_reference_without_noise_is_for_the_screen() -> None:
    at = with_release("accuracy", "published", "JTree", BOUNDED)
    assert shown(at).memory["accuracy"]["trained_on"].nunique() == 3  # the release, real rows; without noise
    assert all(marked(at))
    assert type(panels.noiseless(shown(at))).__name__ == "JTree"

"""The page Attacks: every part without noise and with it, on the sample whatever data are in use; nothing is spent."""

from typing import Any

import pytest
from driving import change, csv, opened, people, press, run, started, tab, using
from screen import books, dataset, elements, mendable, metrics, numbers, pictures, said, widget

PAGE = "attacks"
EPSILONS = {0.01: "50.2%", 1.0: "73.1%", 10_000.0: ""}  # and how often a guess between two may be right
JOURNEYS: dict[str, tuple[int, int, dict[str, tuple[Any, ...]]]] = {  # charts without noise, with it, settings to ends
    "linkage": (1, 1, {"known": (["age"], ["age", "sex", "education", "native-country"])}),
    "bits": (1, 1, {"questions": (50, 1_000)}),
    "averages": (1, 2, {"degree": (1, 2), "people": (25, 200)}),
    "near": (1, 1, {}),
}


@pytest.mark.parametrize("part", JOURNEYS)
def test_a_part_is_drawn_without_noise_and_with_it_and_spends_nothing(part: str) -> None:
    noiseless, with_noise, ends = JOURNEYS[part]
    at = tab(started(PAGE), part)
    assert at.dataframe  # the numbers behind
    for key, value in [("step", "noiseless"), *((key, value) for key, values in ends.items() for value in values)]:
        assert len(pictures(change(at, **{f"{part}.{key}": value}))) == noiseless
        assert not at.error
    change(at, **{f"{part}.step": "noise"})
    for epsilon, limit in EPSILONS.items():
        change(at, **{f"{part}.epsilon": epsilon})
        assert len(pictures(at)) == with_noise
        assert all(len(spec["description"]) > 20 for spec in pictures(at))
        assert f"{epsilon:,g}" in said(at)
        assert part == "near" or limit in said(at)
    kinds = ("slider", "select_slider", "radio", "button_group")
    movable = {one.key for kind in kinds for one in at.get(kind)}
    assert movable == {f"{PAGE}.{part}.{key}" for key in ("step", "epsilon", *ends)}
    assert books(at) == {}


def test_lots_change_by_the_button_alone_and_more_columns_find_more_people() -> None:
    at = tab(started(PAGE), "linkage")
    many = numbers(at)
    assert numbers(change(at, linkage__known=["age", "sex"])) != many
    change(at, linkage__known=[])
    assert metrics(at)[-1] == "0%"
    change(at, linkage__step="noise")
    assert not mendable(at)  # though nobody is alone
    change(at, linkage__known=["age", "sex", "education", "hours-per-week"])
    first = at.dataframe[0].value["published"].tolist()
    assert run(at).dataframe[0].value["published"].tolist() == first
    press(at, f"{PAGE}.linkage.redraw")
    assert at.dataframe[0].value["published"].tolist() != first


def test_people_stay_those_of_the_sample_when_somebody_uses_data_of_their_own() -> None:
    at = using("people.csv", csv(people()))
    for part in JOURNEYS:
        tab(opened(at, PAGE), part)
        assert not mendable(at)
        assert "Zq" not in "".join(str(getattr(found, "proto", "")) for found in elements(at))
        assert widget(at, f"{PAGE}.{part}.step").value == "noiseless"
    assert dataset(at).name == "people.csv"
    assert books(at) == {}

"""The page Mechanisms: every tab is drawn, nothing is read or spent, and lots change by a button only."""

from typing import Any

import pytest
from driving import change, press, run, started, tab
from screen import books, charts, elements, said
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.shell import LANGUAGE

PAGE = "mechanisms"
EPSILONS = (0.1, 5.0)
JOURNEYS: dict[str, tuple[int, dict[str, tuple[Any, ...]]]] = {  # a tab's charts, and its settings to their ends
    "noise": (
        3,
        {
            "window": (5, 150),
            "count": (0, 1_000_000),
            "epsilon": EPSILONS,
            "mechanism": ("Geometric", "Gaussian"),
            "delta": (0.1, 1e-6),
        },
    ),
    "choosing": (3, {"epsilon": EPSILONS, "chosen": ("D", "A"), "voter": ("changes", "comes")}),
    "response": (1, {"k": (2, 10), "epsilon": EPSILONS}),
    "odds": (5, {"epsilon": EPSILONS, "prior": (1, 99)}),
    "asking": (3, {"epsilon": EPSILONS, "k": (1, 100), "window": (5, 150)}),
    "groups": (2, {"relation": ("replace", "add_remove"), "epsilon": EPSILONS, "parts": (2, 4)}),
    "floats": (3, {"epsilon": EPSILONS, "bits": (8, 16), "count": (0, 10_000)}),
}


def answers(at: AppTest, place: int) -> list[float]:
    """The answers in a chart."""
    return [x for rows in charts(at)[place][1] if "answer" in rows for x in rows["answer"]]


@pytest.mark.parametrize("part", JOURNEYS)
def test_a_tab_is_drawn_and_told_and_moving_all_of_it_spends_nothing(part: str) -> None:
    at = tab(started(PAGE), part)
    drawn, ends = JOURNEYS[part]
    assert len(charts(at)) == drawn
    assert all(len(spec["description"]) > 20 for spec, _ in charts(at))
    assert at.dataframe
    for key, values in ends.items():
        for value in values:
            change(at, **{f"{part}.{key}": value})
            assert len(charts(at)) == drawn
            assert not at.error
    found = {one.key for one in elements(at) if getattr(one, "key", None)} - {LANGUAGE}
    assert all(key.startswith(f"{PAGE}.") for key in found)
    kinds = ("slider", "select_slider", "radio", "selectbox", "number_input")
    movable = {one.key.partition(":")[0] for kind in kinds for one in at.get(kind)}
    assert movable - {LANGUAGE} == {f"{PAGE}.{part}.{key}" for key in ends}
    assert {at.session_state.get(f"{PAGE}.{part}.seed", 0) for part in ("noise", "asking")} == {0}
    assert books(at) == {}


def test_only_the_buttons_draw_other_lots_and_the_guarantee_is_named_with_the_noise() -> None:
    at = change(tab(started(PAGE), "noise"), noise__epsilon=1.0)
    first = answers(at, 2)
    assert len(first) == 40
    farther = answers(change(at, noise__epsilon=0.5), 2)
    middle = [100 + (place >= 20) for place in range(40)]
    assert [a - m for a, m in zip(farther, middle, strict=True)] == pytest.approx(
        [2 * (a - m) for a, m in zip(first, middle, strict=True)]  # the same lots
    )
    again = answers(press(change(at, noise__epsilon=1.0), f"{PAGE}.noise.redraw"), 2)
    assert again != first
    assert answers(run(at), 2) == again
    assert "between 0.135 and 7.39" in said(change(at, noise__mechanism="Geometric", noise__epsilon=2.0))
    assert "(2, 0.01)" in said(change(at, noise__mechanism="Gaussian", noise__delta=0.01))

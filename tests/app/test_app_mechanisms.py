"""The page Mechanisms: every tab is drawn, nothing is read or spent, and lots change by a button only."""

from typing import Any

import pytest
from driving import change, press, run, started, tab
from screen import books, charts, elements, mendable, metrics, said, titles, widget
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.shell import LANGUAGE

PAGE = "mechanisms"
EPSILONS = (0.1, 5.0)
TABS: dict[str, tuple[list[str], dict[str, tuple[Any, ...]]]] = {  # its charts, and its settings to their ends
    "Noise on a count": (
        ["Two worlds, one person apart", "How much an answer tells about you", "Answers that were drawn"],
        {
            "window": (5, 150),
            "count": (0, 1_000_000),
            "epsilon": EPSILONS,
            "mechanism": ("Geometric", "Gaussian"),
            "delta": (0.1, 1e-6),
        },
    ),
    "Choosing": (
        ["The votes", "Who is drawn", "What one voter changes"],
        {"epsilon": EPSILONS, "chosen": ("D", "A"), "voter": ("changes", "comes")},
    ),
    "Randomized response": (["What becomes of an answer"], {"k": (2, 10), "epsilon": EPSILONS}),
    "What epsilon means": (
        ["At least 8.42%", "Before 20%", "At most 40.5%", "Sure before, sure after"],
        {"epsilon": EPSILONS, "prior": (1, 99)},
    ),
    "Asking again": (
        ["The average closes in on the truth", "How far off an average is", "How the losses of all answers add up"],
        {"epsilon": EPSILONS, "k": (1, 100), "window": (5, 150)},
    ),
    "Disjoint groups": (
        ["Groups of people", "Groups of columns"],
        {"relation": ("replace", "add_remove"), "epsilon": EPSILONS, "parts": (2, 4)},
    ),
    "Floating point": (
        [
            "Textbook noise, 10 bits, zoomed in",
            "Whole-number noise: both worlds can give all",
            "Answers that give their world away, with full numbers",
        ],
        {"epsilon": EPSILONS, "bits": (8, 16), "count": (0, 10_000)},
    ),
}
PARTS = dict(zip(TABS, ["noise", "choosing", "response", "odds", "asking", "groups", "floats"], strict=True))


def at_tab(name: str) -> AppTest:
    return tab(started(PAGE), name)


def drawing(at: AppTest, title: str) -> tuple[dict[str, Any], list[Any]]:
    (found,) = [chart for chart in charts(at) if " ".join(chart[0]["title"]["text"]).startswith(title)]
    return found


def answers(at: AppTest, title: str) -> list[float]:
    return [x for rows in drawing(at, title)[1] if "answer" in rows for x in rows["answer"]]


@pytest.mark.parametrize("name", TABS)
def test_a_tab_is_drawn_and_told_and_moving_all_of_it_spends_nothing(name: str) -> None:
    at = at_tab(name)
    drawn, ends = TABS[name]
    assert [title.partition(" in 100")[0] for title in titles(at)] == drawn
    assert all(len(spec["description"]) > 20 for spec, _ in charts(at))
    assert "**Look:**" in said(at)
    assert "No data are read on this page, and nothing is spent" in said(at)
    assert any("epsilon" in part for part in said(at).split("**Assumed:**")[1:])
    assert at.dataframe
    for key, values in ends.items():
        for value in values:
            change(at, **{f"{PARTS[name]}.{key}": value})
            assert titles(at)
            assert not at.error
    found = {one.key for one in elements(at) if getattr(one, "key", None)} - {LANGUAGE}
    assert all(key.startswith(f"{PAGE}.") for key in found)
    kinds = ("slider", "select_slider", "radio", "selectbox", "number_input")
    movable = {one.key.partition(":")[0] for kind in kinds for one in at.get(kind)}
    assert movable - {LANGUAGE} == {f"{PAGE}.{PARTS[name]}.{key}" for key in ends}
    assert {at.session_state.get(f"{PAGE}.{part}.seed", 0) for part in ("noise", "asking")} == {0}
    assert books(at) == {}


def test_only_the_buttons_draw_other_lots_and_the_guarantee_is_named_with_the_noise() -> None:
    at, title = at_tab("Noise on a count"), "Answers that were drawn"
    first = answers(at, title)
    assert len(first) == 40
    farther = answers(change(at, noise__epsilon=0.5), title)
    middle = [100 + (place >= 20) for place in range(40)]
    assert [a - m for a, m in zip(farther, middle, strict=True)] == pytest.approx(
        [2 * (a - m) for a, m in zip(first, middle, strict=True)]  # the same lots
    )
    assert answers(change(at, noise__epsilon=1.0), title) == first
    again = answers(press(at, f"{PAGE}.noise.redraw"), title)
    assert again != first
    assert answers(run(at), title) == again
    assert "Guarantee of one answer: epsilon 1, without delta" in said(at)  # it is named with the noise
    change(at, noise__mechanism="Geometric", noise__epsilon=2.0)
    assert "between 0.135 and 7.39" in said(at)
    assert "It never leaves the band" in drawing(at, "How much")[0]["description"]
    change(at, noise__mechanism="Gaussian", noise__delta=0.01)
    assert "no epsilon holds **without one**" in said(at)
    assert "Guarantee of one answer: (2, 0.01)" in said(at)
    assert "It leaves the band" in drawing(at, "How much")[0]["description"]
    tab(at, "Asking again")
    first = answers(at, "The average")
    assert answers(change(at, asking__k=30), "The average")[: len(first)] == first
    assert answers(press(at, f"{PAGE}.asking.redraw"), "The average")[: len(first)] != first


def test_votes_that_cannot_be_are_told_with_a_remedy() -> None:
    at = at_tab("Choosing")
    assert "drawn with probability 0.424" in said(at)  # paper 000's election
    for votes, cause in {"": "2 to 8 candidates", "30, -5": "from 0 to", "<img src=x>, 3": "whole numbers"}.items():
        change(at, choosing__votes=votes)
        (message,) = mendable(at)
        assert cause in message
        assert "30, 25, 8, 2" in message
        assert "img" not in message
        assert titles(at) == []
    change(at, choosing__votes="5, 0", choosing__voter="changes")
    assert "Nobody voted for another candidate" in mendable(at)[0]
    assert widget(at, f"{PAGE}.choosing.chosen").value == "A"
    change(at, choosing__chosen="B", choosing__epsilon=1.0)
    assert mendable(at) == []
    assert "exp(epsilon) = 2.718" in said(at)
    change(at, choosing__voter="comes", choosing__votes="1000000, 0", choosing__epsilon=5.0)
    assert "with probability over 0.9999" in said(at)  # and never for sure


def test_what_other_tabs_say_of_their_settings() -> None:
    at = at_tab("Asking again")
    costs = ("Epsilon in all", "Error of the average", "… if epsilon is shared", "… of one answer")
    assert [dict(metrics(at))[name] for name in costs] == ["10", "0.632", "12.6", "2.83"]
    tab(at, "Disjoint groups")
    for relation, people in (("add_remove", "0.5"), ("replace", "1")):
        change(at, groups__parts=3, groups__epsilon=0.5, groups__relation=relation)
        assert [dict(metrics(at))[f"{of}: epsilon in all"] for of in ("People", "Columns")] == [people, "1.5"]
        changed = 1 if relation == "add_remove" else 2
        assert f"{changed} of them may change" in drawing(at, "Groups of people")[0]["description"]
        assert "3 of them may change" in drawing(at, "Groups of columns")[0]["description"]
        assert ("2 epsilon" in said(at)) == (relation == "replace")
    tab(at, "Floating point")
    assert dict(metrics(at))["Telltale answers, 10 bits"] == "100.0%"
    assert "; 0 of them are possible in both" in drawing(at, "Textbook noise")[0]["description"]
    assert "20 possible answers as ticks in two rows; 20 of them" in drawing(at, "Whole-number")[0]["description"]
    change(at, floats__count=10_000, floats__bits=16)
    assert dict(metrics(at))["… 53 bits (usual)"] == "none seen"
    tab(at, "What epsilon means")
    change(at, odds__prior=1, odds__epsilon=5.0)
    assert "from **0.00681%** to **60%**" in said(at)
    tab(at, "Randomized response")
    assert dict(metrics(at))["A report is the truth"] == "47.5%"
    press(at, f"{PAGE}.response.game")
    assert at.title[0].value == "Randomized responses"

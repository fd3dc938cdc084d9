"""The page Mechanisms: every tab is drawn, nothing is read or spent, and lots change by a button only."""

from typing import Any

import pytest
from driving import books, charts, elements, mendable, metrics, press, run, said, started, widget
from streamlit.testing.v1 import AppTest

from dpcore.teaching import composition, counts
from dpcore.text import number

PAGE = "mechanisms"
TITLES = {
    "Noise on a count": [
        "Two worlds, one person apart",
        "How much an answer tells about you",
        "Answers that were drawn",
    ],
    "Choosing": ["The votes", "Who is drawn", "What one voter changes"],
    "Randomized response": ["What becomes of an answer"],
    "What epsilon means": [
        *("73 in 100", "At least 8.42 %", "Before 20 %", "At most 40.5 %"),
        "Sure before, sure after",
    ],
    "Asking again": [
        *("The average closes in on the truth", "How far off an average is", "How the losses of all answers add up")
    ],
    "Disjoint groups": ["Groups of people", "Groups of columns"],
    "Floating point": [
        "Textbook noise, 10 bits, zoomed in",
        "Whole-number noise: both worlds can give all",
        "Answers that give their world away, with full numbers",
    ],
}
EPSILONS = (0.1, 5.0)
ENDS: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
    "Noise on a count": [
        ("noise.count", (0, 1_000_000)),
        ("noise.epsilon", EPSILONS),
        ("noise.mechanism", ("Geometric", "Gaussian")),
        ("noise.delta", (0.1, 1e-6)),
    ],
    "Choosing": [("choosing.epsilon", EPSILONS), ("choosing.chosen", "DA"), ("choosing.voter", ("changes", "comes"))],
    "Randomized response": [("response.k", (2, 10)), ("response.epsilon", EPSILONS)],
    "What epsilon means": [("odds.epsilon", EPSILONS), ("odds.prior", (1, 99))],
    "Asking again": [("asking.epsilon", EPSILONS), ("asking.k", (1, 100))],
    "Disjoint groups": [
        ("groups.relation", ("replace", "add_remove")),
        ("groups.epsilon", EPSILONS),
        ("groups.parts", (2, 4)),
    ],
    "Floating point": [("floats.epsilon", EPSILONS), ("floats.bits", (8, 16)), ("floats.count", (0, 10_000))],
}
every_tab = pytest.mark.parametrize("name", TITLES)


def at_tab(name: str) -> AppTest:
    return opened_tab(started(PAGE), name)


def opened_tab(at: AppTest, name: str) -> AppTest:
    assert name in [tab.label for tab in at.tabs]
    at.session_state[f"{PAGE}.tab"] = name
    return run(at)


def change(at: AppTest, **settings: Any) -> AppTest:
    for name, value in settings.items():
        widget(at, f"{PAGE}.{name.replace('__', '.')}").set_value(value)
        run(at)
    return at


def titles(at: AppTest) -> list[str]:
    return [" ".join(spec["title"]["text"]) for spec, _ in charts(at)]


def drawing(at: AppTest, title: str) -> tuple[dict[str, Any], list[Any]]:
    (found,) = [chart for chart in charts(at) if " ".join(chart[0]["title"]["text"]).startswith(title)]
    return found


def answers(at: AppTest) -> list[float]:
    return [x for rows in drawing(at, "Answers that were drawn")[1] if "answer" in rows for x in rows["answer"]]


@every_tab
def test_every_tab_is_drawn_described_and_has_its_numbers(name: str) -> None:
    at = at_tab(name)
    assert titles(at) == TITLES[name]
    assert all(len(spec["description"]) > 20 for spec, _ in charts(at))
    text = said(at)
    assert "**Look:**" in text
    assert "**Assumed:**" in text
    assert "No data are read on this page, and nothing is spent" in text
    assert any("epsilon" in part for part in text.split("**Assumed:**")[1:])
    assert at.dataframe
    assert not at.error
    assert books(at) == {}


@every_tab
def test_moving_everything_spends_nothing_and_draws_no_other_lots(name: str) -> None:
    at = at_tab(name)
    moved = []
    for key, values in ENDS[name]:
        for value in values:
            change(at, **{key: value})
            assert titles(at)
            assert not at.error
        moved.append(f"{PAGE}.{key}")
    kinds = ("slider", "select_slider", "radio", "selectbox", "number_input")
    assert {found.key.partition(":")[0] for kind in kinds for found in at.get(kind)} == set(moved)
    assert {at.session_state.get(f"{PAGE}.{part}.seed", 0) for part in ("noise", "asking")} == {0}
    assert books(at) == {}
    assert not at.session_state.get("dpcore.shown", {})


def test_every_widget_has_the_prefix_of_its_page() -> None:
    for name in TITLES:
        at = at_tab(name)
        keys = [found.key for found in elements(at) if getattr(found, "key", None)]
        assert keys
        assert all(key.startswith(f"{PAGE}.") for key in keys)


# Noise on a count


def test_the_guarantee_is_named_with_the_noise() -> None:
    at = at_tab("Noise on a count")
    assert "Guarantee of one answer: pure epsilon 1" in said(at)
    assert dict(metrics(at))["Standard deviation"] == "1.41"
    change(at, noise__mechanism="Geometric", noise__epsilon=2.0)
    assert "exactly" in said(at)
    assert "between 0.135 and 7.39" in said(at)
    assert "It never leaves the band" in drawing(at, "How much")[0]["description"]
    change(at, noise__mechanism="Gaussian", noise__delta=0.01)
    assert "delta = 0.01" in said(at)
    assert "never pure epsilon" in said(at)
    assert "Guarantee of one answer: (2, 0.01)" in said(at)
    assert "It leaves the band" in drawing(at, "How much")[0]["description"]
    assert dict(metrics(at))["Standard deviation"] == f"{counts.gaussian_sigma(2.0, 0.01):.3g}"


def test_only_the_button_draws_other_lots() -> None:
    at = at_tab("Noise on a count")
    first = answers(at)
    assert len(first) == 40
    change(at, noise__epsilon=0.5)
    nearer = [answer - 100 - (place >= 20) for place, answer in enumerate(first)]
    farther = [answer - 100 - (place >= 20) for place, answer in enumerate(answers(at))]
    assert farther == pytest.approx([2 * value for value in nearer])  # the same lots
    change(at, noise__epsilon=1.0)
    assert answers(at) == first
    press(at, f"{PAGE}.noise.redraw")
    assert answers(at) != first
    again = answers(at)
    assert answers(run(at)) == again
    assert books(at) == {}


# Choosing


def test_the_election_of_paper_000() -> None:
    at = at_tab("Choosing")
    assert "drawn with probability 0.424" in said(at)
    (rows,) = [rows for rows in drawing(at, "Who is drawn")[1] if "probability" in rows]
    assert rows["probability"].round(4).tolist() == [0.4240, 0.3302, 0.1412, 0.1046]
    assert "e^(epsilon/2) = 1.051" in said(at)
    change(at, choosing__voter="changes", choosing__epsilon=1.0)
    assert "change one voter’s vote" in said(at)
    assert "e^epsilon = 2.718" in said(at)
    (rows,) = [rows for rows in drawing(at, "Who is drawn")[1] if "probability" in rows]
    assert rows["probability"].tolist() == pytest.approx([0.9241, 0.0759, 1.54e-5, 7.7e-7], rel=5e-3)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "2 to 8 candidates"),
        ("   ", "2 to 8 candidates"),
        ("30", "2 to 8 candidates"),
        ("30, -5", "from 0 to 1,000,000 votes"),
        ("many, few", "whole numbers"),
        ("30, 2.5", "whole numbers"),
        ("<img src=x>, 3", "whole numbers"),
    ],
)
def test_bad_votes_are_told_with_a_remedy(text: str, cause: str) -> None:
    at = change(at_tab("Choosing"), choosing__votes=text)
    (message,) = mendable(at)
    assert cause in message
    assert "30, 25, 8, 2" in message
    assert "img" not in message
    assert titles(at) == []
    change(at, choosing__votes="3, 4, 5")
    assert mendable(at) == []
    assert "**C** has most votes" in said(at)


def test_a_voter_cannot_leave_whom_nobody_voted_for() -> None:
    at = change(at_tab("Choosing"), choosing__votes="5, 0", choosing__voter="changes")
    (message,) = mendable(at)
    assert "Nobody voted for another candidate" in message
    assert widget(at, f"{PAGE}.choosing.chosen").value == "A"
    change(at, choosing__chosen="B")
    assert mendable(at) == []


def test_a_sure_winner_is_not_said_to_be_sure() -> None:
    at = change(at_tab("Choosing"), choosing__votes="1000000, 0", choosing__epsilon=5.0)
    assert "with probability over 0.9999" in said(at)
    assert "e^2.5" in said(at)


# Randomized response and odds


def test_the_coin_game_is_one_press_away() -> None:
    at = at_tab("Randomized response")
    assert dict(metrics(at))["A report is the truth"] == "47.5 %"
    assert dict(metrics(at))["Largest ratio in a column"] == "e^1"
    press(at, f"{PAGE}.response.game")
    assert at.title[0].value == "Randomized responses"


def test_beliefs_at_both_ends() -> None:
    at = change(at_tab("What epsilon means"), odds__prior=1, odds__epsilon=5.0)
    assert "from **0.00681 %** to **60 %**" in said(at)
    change(at, odds__prior=50, odds__epsilon=1.0)
    assert "to **73.1 %**" in said(at)
    assert "73.1 % sure" in said(at)


# Composition


def test_what_many_answers_cost_and_give() -> None:
    at = at_tab("Asking again")
    shown = dict(metrics(at))
    assert shown["Epsilon in all"] == "10"
    assert shown["Error of the average"] == "0.632"
    assert shown["… if epsilon is shared"] == "12.6"
    assert shown["… of one answer"] == "2.83"
    change(at, asking__k=100, asking__epsilon=0.1)
    assert f"({number(composition.loss_epsilon(0.1, 100, 1e-6))}, 1e-06)" in said(at)
    change(at, asking__k=1)
    shown = dict(metrics(at))
    assert shown["Error of the average"] == shown["… if epsilon is shared"] == shown["… of one answer"] == "14.1"


def test_only_the_button_asks_anew() -> None:
    at = at_tab("Asking again")

    def given_answers() -> list[float]:
        rows = drawing(at, "The average")[1]
        return [x for frame in rows if "answer" in frame for x in frame["answer"]]

    first = given_answers()
    change(at, asking__k=30)
    assert given_answers()[: len(first)] == first
    press(at, f"{PAGE}.asking.redraw")
    assert given_answers()[: len(first)] != first


@pytest.mark.parametrize(("relation", "people"), [("add_remove", "0.5"), ("replace", "1")])
def test_people_are_disjoint_and_columns_are_not(relation: str, people: str) -> None:
    at = change(at_tab("Disjoint groups"), groups__parts=3, groups__epsilon=0.5, groups__relation=relation)
    shown = dict(metrics(at))
    assert shown["People: epsilon in all"] == people
    assert shown["Columns: epsilon in all"] == "1.5"
    changed = 1 if relation == "add_remove" else 2
    assert f"{changed} of them may change" in drawing(at, "Groups of people")[0]["description"]
    assert "3 of them may change" in drawing(at, "Groups of columns")[0]["description"]
    assert ("2 epsilon" in said(at)) == (relation == "replace")


# Floating point


def test_holes_are_computed() -> None:
    at = at_tab("Floating point")
    shown = dict(metrics(at))
    assert shown["Telltale answers, 10 bits"] == "100.0%"
    assert shown["… 53 bits (usual)"] == f"{composition.telltale_share(10, 1.0):.2%}"
    assert "; 0 of them are possible in both" in drawing(at, "Textbook noise")[0]["description"]
    assert "20 possible answers as ticks in two rows; 20 of them" in drawing(at, "Whole-number")[0]["description"]
    change(at, floats__count=10_000, floats__bits=16)
    assert dict(metrics(at))["… 53 bits (usual)"] == "none seen"
    assert "Telltale answers, 16 bits" in dict(metrics(at))

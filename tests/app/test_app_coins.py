"""The coin game and the measures: drawn on request only, by nobody's seed, and right at the extremes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from driving import charts, elements, metrics, press, run, said, widget
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.sections import coin_game
from dpcore.teaching.coin_game import ANSWERS, Rule, ask, estimate

KEY = "page.coin"


def game() -> None:
    from dpcore.dashboard.sections import coin_game

    coin_game.game("page")


def known() -> None:
    from dpcore.dashboard.sections import report_privacy

    report_privacy.measures("page")


@pytest.fixture
def at() -> AppTest:
    return run(AppTest.from_function(game, default_timeout=60))


@pytest.fixture
def measures() -> AppTest:
    return run(AppTest.from_function(known, default_timeout=60))


def change(at: AppTest, **settings: Any) -> AppTest:
    for name, value in settings.items():
        widget(at, f"{KEY}.{name}").set_value(value)
        run(at)
    return at


def kept(at: AppTest, name: str) -> Any:
    return at.session_state.get(f"{KEY}.{name}")


def titles(at: AppTest) -> list[str]:
    return [" ".join(spec["title"]["text"]) for spec, _ in charts(at)]


# The game


def test_nothing_is_drawn_before_a_button_is_pressed(at: AppTest) -> None:
    assert titles(at) == ["Who sees the truth?"]
    assert "Here nobody holds them" in said(at)
    assert kept(at, "answer") is None
    assert kept(at, "crowd") is None
    assert all(spec["description"] for spec, _ in charts(at))


def test_one_answer(at: AppTest) -> None:
    change(at, truth="yes")
    press(at, f"{KEY}.toss")
    answer = kept(at, "answer")
    assert answer.truth == 1
    assert f"“{ANSWERS[answer.said]}”" in said(at)
    assert ("tell the truth" if answer.honest else "toss again") in said(at).partition("Only you know")[2]
    after = dict(metrics(at))["Sure of “yes” after"]
    assert after == ("75 %" if answer.said else "25 %")
    assert "25 % say" in said(at)


def test_a_crowd_and_fifty_more(at: AppTest) -> None:
    press(at, f"{KEY}.ask")
    crowd = kept(at, "crowd")
    assert crowd.counts["people"].sum() == 1_000
    assert crowd.counts.loc[crowd.counts["truth"] == "yes", "people"].sum() == 300
    shown = dict(metrics(at))
    assert shown["Truth"] == "30 %"
    assert shown["Estimate"] == f"{100 * crowd.estimates['estimate'].iloc[0]:.1f} %"
    assert titles(at)[1:] == ["What the reports say about everybody", "What they said"]
    press(at, f"{KEY}.again")
    more = kept(at, "crowd")
    assert len(more.estimates) == 51
    pd.testing.assert_frame_equal(more.estimates.head(1), crowd.estimates)
    assert more.counts is crowd.counts
    press(at, f"{KEY}.again")
    assert len(kept(at, "crowd").estimates) == 51


def test_no_other_widget_draws(at: AppTest) -> None:
    press(at, f"{KEY}.toss")
    press(at, f"{KEY}.ask")
    press(at, f"{KEY}.again")
    answer, crowd = kept(at, "answer"), kept(at, "crowd")
    change(at, reveal=True)
    assert "What they said, and what is true" in titles(at)
    assert "no collector has this view" in str(charts(at))
    change(at, reveal=False, rule="Warner", p0=80, share=60, people=100, truth="yes")
    assert kept(at, "answer") is answer
    assert kept(at, "crowd") is crowd
    assert "The rule was changed since" in said(at)
    assert "Settings were changed since" in said(at)
    assert dict(metrics(at))["Truth"] == "30 %"
    press(at, f"{KEY}.ask")
    assert kept(at, "crowd") is not crowd
    assert kept(at, "answer") is answer
    assert dict(metrics(at))["Truth"] == "60 %"
    assert "Settings were changed since" not in said(at)


def test_noise_has_no_seed(at: AppTest) -> None:
    found = set()
    for _ in range(4):
        press(at, f"{KEY}.ask")
        found.add(tuple(kept(at, "crowd").counts["people"]))
    assert len(found) > 1


def test_words_change_and_probabilities_do_not(at: AppTest) -> None:
    assert "Tails: toss again" in said(at)
    change(at, rule="Warner")
    assert "say the opposite" in said(at)
    assert "probability 75 %" in said(at)
    change(at, p0=40)
    assert "probability 70 %" in said(at)
    change(at, rule="RRPH")
    assert "probability 40 %" in said(at)


@pytest.mark.parametrize("rule", ["RRPH", "Warner"])
def test_no_truth_tells_nothing(at: AppTest, rule: str) -> None:
    change(at, rule=rule, p0=0)
    press(at, f"{KEY}.toss")
    assert dict(metrics(at))["Sure of “yes” after"] == "50 %"
    assert dict(metrics(at))["… if 10 % of all are “yes”"] == "10 % → 10 %"
    assert "tells nothing about you" in said(at)
    assert "follows the rule for themselves" in said(at)
    press(at, f"{KEY}.ask")
    assert at.button(f"{KEY}.again").disabled  # nothing can be seen of others either
    assert dict(metrics(at))["Estimate"] == "none"
    assert "nothing to learn" in said(at)
    assert "What the reports say about everybody" not in titles(at)


def test_only_truth_tells_all(at: AppTest) -> None:
    change(at, p0=100)
    press(at, f"{KEY}.toss")
    assert "gives you away" in said(at)


def test_impossible_estimates_are_shown_and_explained(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    change(at, p0=5, share=0, people=100)
    for yes, text, told in ((40, "below 0 %", ["-150.0 %", "0.0 %"]), (60, "above 100 %", ["250.0 %", "100.0 %"])):
        found = estimate(Rule("RRPH", 0.05), np.repeat([0, 1], [100 - yes, yes]), 100)
        crowd = replace(ask(Rule("RRPH", 0.05), 0.0, 100, np.random.default_rng(0)), estimates=found)
        monkeypatch.setattr(coin_game, "ask", lambda *_, crowd=crowd: crowd)
        press(at, f"{KEY}.ask")
        assert f"An estimate {text}" in said(at)
        assert [dict(metrics(at))[name] for name in ("Estimate", "Clipped to 0 … 100 %")] == told


# The measures


def test_the_same_channel_has_two_breaches(measures: AppTest) -> None:
    shown = dict(metrics(measures))
    assert shown["Breach (the paper’s)"] == "33.3 %"
    assert shown["A report is the truth"] == "75.0 %"
    assert shown["Epsilon"] == "1.1"
    assert "33.3 % for the first and 62.5 % for the second" in said(measures)
    assert all(spec["description"] for spec, _ in charts(measures))
    assert shown["Width, as claimed"] == "7.84"
    assert shown["Width left, as printed"] == "6.56"
    assert "e^14.1" in said(measures)


def test_the_axis_is_switched(measures: AppTest) -> None:
    assert titles(measures)[:3] == ["Breach", "Best guess is right", "Right after 9 reports"]
    assert ["both 58.6 %" in str(chart) for chart in charts(measures)[:3]] == [True, False, False]
    assert "Dashed upright line: your setting" in said(measures)
    widget(measures, "page.measures.against").set_value("epsilon")
    run(measures)
    assert "Against epsilon:" in said(measures)
    assert "both 58.6 %" not in str(charts(measures))
    widget(measures, "page.measures.p0").set_value(100)
    run(measures)
    assert "no finite epsilon, and no line" in said(measures)
    assert "Dashed upright line" not in said(measures)


@pytest.mark.parametrize(("k", "p0"), [(2, 0), (2, 100), (10, 0), (10, 100), (4, 35)])
def test_measures_at_the_extremes(measures: AppTest, k: int, p0: int) -> None:
    for part in ("measures", "averaging"):
        widget(measures, f"page.{part}.k").set_value(k)
        widget(measures, f"page.{part}.p0").set_value(p0)
    widget(measures, "page.measures.against").set_value("epsilon")
    run(measures)
    shown = dict(metrics(measures))
    assert shown["Guessing without it"] == f"{100 / k:.1f} %"
    assert shown["A report is the truth"] == f"{p0 + (100 - p0) / k:.1f} %"
    assert shown["Epsilon"] == {0: "0", 100: "∞", 35: "1.15"}[p0]
    text = said(measures)
    assert ("An example with two values" in text) == (k > 2)
    assert f"“Truth with {p0} %, otherwise toss”" in text
    assert f"“truth with {50 + p0 / 2:.3g} %, otherwise the opposite”" in text
    first, second = 2 * (p0 / 100) ** 2 / (1 + p0 / 100), (1 + (p0 / 100) ** 2) / 2
    one, other = f"{100 * first:.1f} %", f"{100 * second:.1f} %"
    both = f"Breach says {one} for both" if p0 == 100 else f"Breach says {one} for the first and {other} for the second"
    assert both in text
    assert ("**The remedy:**" in text) == (0 < p0 < 100)
    assert ("Nothing to attack" in text) == (p0 == 0)
    assert ("No remedy" in text) == (p0 == 100)


def test_numbers_with_other_noise(measures: AppTest) -> None:
    widget(measures, "page.numbers.sets").set_value("a ~ N(1, 0.01), b ~ N(0, 1)")
    widget(measures, "page.numbers.epsilon").set_value(10.0)
    run(measures)
    shown = dict(metrics(measures))
    assert shown["Width left, as printed"] == "3.86"
    assert float(shown["Width left, corrected"]) < 5
    assert "below e^10" in said(measures)
    table = next(frame.value for frame in measures.dataframe if "noise" in frame.value)
    assert "over 99.9 %" in table["sentence"].iloc[-1]
    widths = [shown[f"Width {name}"] for name in ("left, as printed", "left, corrected")]
    assert table.loc[table["measure"] == "width after the report", "value"].tolist() == widths


def test_every_widget_has_the_prefix_of_its_page(at: AppTest, measures: AppTest) -> None:
    for found in (at, measures):
        keys = [element.key for element in elements(found) if getattr(element, "key", None)]
        assert keys
        assert all(key.startswith("page.") for key in keys)
    assert coin_game.CROWDS == 50

"""The coin game and the measures: drawn on request only, by nobody's seed, and right at the extremes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from driving import TIMEOUT, change, press, run
from screen import charts, elements, metrics, said, titles, widget
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.sections import coin_game
from dpcore.teaching.coin_game import ANSWERS, Rule, ask, estimate

PAGE = "page.coin"


def game() -> None:
    from dpcore.dashboard.sections import coin_game

    coin_game.game("page")


def known() -> None:
    from dpcore.dashboard.sections import report_privacy

    report_privacy.measures("page")


@pytest.fixture
def at() -> AppTest:
    return run(AppTest.from_function(game, default_timeout=TIMEOUT))


@pytest.fixture
def measures() -> AppTest:
    return run(AppTest.from_function(known, default_timeout=TIMEOUT))


def kept(at: AppTest, name: str) -> Any:
    return at.session_state.get(f"{PAGE}.{name}")


# The game


def test_only_buttons_draw_and_fifty_crowds_more_are_like_the_first(at: AppTest) -> None:
    assert titles(at) == ["Who sees the truth?"]
    assert "Here nobody holds them" in said(at)
    assert kept(at, "answer") is kept(at, "crowd") is None
    press(at, f"{PAGE}.toss")
    press(at, f"{PAGE}.ask")
    first = kept(at, "crowd")
    assert first.counts["people"].sum() == 1_000
    assert first.counts.loc[first.counts["truth"] == "yes", "people"].sum() == 300
    assert dict(metrics(at))["Estimate"] == f"{100 * first.estimates['estimate'].iloc[0]:.1f}%"
    assert titles(at)[1:] == ["What the reports say about everybody", "What they said"]
    press(at, f"{PAGE}.again")
    answer, crowd = kept(at, "answer"), kept(at, "crowd")
    assert len(crowd.estimates) == 51
    pd.testing.assert_frame_equal(crowd.estimates.head(1), first.estimates)
    assert len(kept(press(at, f"{PAGE}.again"), "crowd").estimates) == 51
    crowd = kept(at, "crowd")
    change(at, reveal=True)
    assert "What they said, and what is true" in titles(at)
    assert "no collector has this view" in str(charts(at))
    assert all(spec["description"] for spec, _ in charts(at))
    change(at, reveal=False, rule="Warner", p0=80, share=60, people=100, truth="yes")
    assert (kept(at, "answer"), kept(at, "crowd")) == (answer, crowd)
    assert "The rule was changed since" in said(at)
    assert "Settings were changed since" in said(at)
    assert dict(metrics(at))["Truth"] == "30%"
    press(at, f"{PAGE}.ask")
    assert kept(at, "answer") is answer
    assert dict(metrics(at))["Truth"] == "60%"
    assert "Settings were changed since" not in said(at)
    assert all(found.key.startswith("page.") for found in elements(at) if getattr(found, "key", None))


def test_one_answer_is_told_and_noise_has_no_seed(at: AppTest) -> None:
    change(at, truth="yes")
    found = set()
    for _ in range(24):  # all alike once in 2**23 runs
        answer = kept(press(at, f"{PAGE}.toss"), "answer")
        found.add((answer.honest, answer.said))
        if len(found) > 1:
            break
    assert len(found) > 1
    assert answer.truth == 1
    assert f"“{ANSWERS[answer.said]}”" in said(at)
    assert ("tell the truth" if answer.honest else "toss again") in said(at).partition("Only you know")[2]
    assert dict(metrics(at))["Sure of “yes” after"] == ("75%" if answer.said else "25%")
    assert "25% say" in said(at)


def test_words_change_with_the_rule_and_the_extremes_are_told(at: AppTest) -> None:
    assert "Tails: toss again" in said(at)
    assert "say the opposite" in said(change(at, rule="Warner"))
    assert "probability 75%" in said(at)
    assert "probability 70%" in said(change(at, p0=40))
    assert "probability 40%" in said(change(at, rule="RRPH"))
    for rule in ("RRPH", "Warner"):
        press(change(at, rule=rule, p0=0), f"{PAGE}.toss")
        assert dict(metrics(at))["… if 10% of all are “yes”"] == "10% → 10%"
        assert "tells nothing about you" in said(at)
    press(at, f"{PAGE}.ask")
    assert at.button(f"{PAGE}.again").disabled  # nothing can be seen of others either
    assert dict(metrics(at))["Estimate"] == "none"
    assert "What the reports say about everybody" not in titles(at)
    assert "gives you away" in said(press(change(at, p0=100), f"{PAGE}.toss"))


def test_impossible_estimates_are_shown_and_explained(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    change(at, p0=5, share=0, people=100)
    for yes, text, told in ((40, "below 0%", ["-150.0%", "0.0%"]), (60, "above 100%", ["250.0%", "100.0%"])):
        found = estimate(Rule("RRPH", 0.05), np.repeat([0, 1], [100 - yes, yes]), 100)
        crowd = replace(ask(Rule("RRPH", 0.05), 0.0, 100, np.random.default_rng(0)), estimates=found)
        monkeypatch.setattr(coin_game, "ask", lambda *_, crowd=crowd: crowd)
        press(at, f"{PAGE}.ask")
        assert f"An estimate {text}" in said(at)
        assert [dict(metrics(at))[name] for name in ("Estimate", "Clipped to 0 … 100%")] == told


# The measures


def set_to(at: AppTest, **values: Any) -> AppTest:
    """Several widgets of the measures, in one run."""
    for key, value in values.items():
        widget(at, f"page.{key.replace('__', '.')}").set_value(value)
    return run(at)


def test_the_same_channel_has_two_breaches_and_an_axis_of_its_own(measures: AppTest) -> None:
    shown = dict(metrics(measures))
    assert [shown[name] for name in ("Breach (the paper’s)", "A report is the truth", "Epsilon")] == [
        *("33.3%", "75.0%", "1.1")
    ]
    assert "33.3% for the first and 62.5% for the second" in said(measures)
    assert all(spec["description"] for spec, _ in charts(measures))
    assert titles(measures)[:3] == ["Breach", "Best guess is right", "Right after 9 reports"]
    assert ["both 58.6%" in str(chart) for chart in charts(measures)[:3]] == [True, False, False]
    assert "Dashed upright line: your setting" in said(measures)
    set_to(measures, measures__against="epsilon", measures__p0=100)
    assert "Against epsilon:" in said(measures)
    assert "both 58.6%" not in str(charts(measures))
    assert "no finite epsilon, and no line" in said(measures)
    assert "Dashed upright line" not in said(measures)
    assert all(found.key.startswith("page.") for found in elements(measures) if getattr(found, "key", None))


def test_measures_at_the_extremes(measures: AppTest) -> None:
    for k, p0, epsilon in ((2, 0, "0"), (10, 100, "∞"), (4, 35, "1.15")):
        pairs = {
            f"{part}__{name}": value for part in ("measures", "averaging") for name, value in (("k", k), ("p0", p0))
        }
        shown = dict(metrics(set_to(measures, **pairs)))
        assert shown["Guessing without it"] == f"{100 / k:.1f}%"
        assert shown["A report is the truth"] == f"{p0 + (100 - p0) / k:.1f}%"
        assert shown["Epsilon"] == epsilon
        text = said(measures)
        assert ("An example with two values" in text) == (k > 2)
        assert f"“Truth with {p0}%, otherwise toss”" in text
        assert f"“truth with {50 + p0 / 2:.3g}%, otherwise the opposite”" in text
        assert ("for both" in text) == (p0 == 100)
        assert [part in text for part in ("Nothing to attack", "**The remedy:**", "No remedy")] == [
            *(p0 == 0, 0 < p0 < 100, p0 == 100)
        ]


def test_numbers_with_other_noise(measures: AppTest) -> None:
    shown = dict(metrics(measures))
    assert (shown["Width, as claimed"], shown["Width left, as printed"]) == ("7.84", "6.56")
    assert "exp(14.1)" in said(measures)
    set_to(measures, numbers__sets="a ~ N(1, 0.01), b ~ N(0, 1)", numbers__epsilon=10.0)
    shown = dict(metrics(measures))
    assert shown["Width left, as printed"] == "3.86"
    assert float(shown["Width left, corrected"]) < 5
    assert "below exp(10)" in said(measures)
    table = next(frame.value for frame in measures.dataframe if "noise" in frame.value)
    widths = [shown[f"Width {name}"] for name in ("left, as printed", "left, corrected")]
    assert table.loc[table["measure"] == "width after the report", "value"].tolist() == widths

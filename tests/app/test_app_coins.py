"""The coin game and the measures: drawn on request only, by nobody's seed, and right at the extremes."""

from typing import Any

import pandas as pd
import pytest
from driving import TIMEOUT, change, press, run
from screen import charts, elements, metrics, pictures, said, widget
from streamlit.testing.v1 import AppTest

from dpcore.teaching.coin_game import ANSWERS

PAGE = "page.coin"


def game() -> None:
    from dpcore.dashboard.sections.coin_game import game

    game("page")


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
    assert len(pictures(at)) == 1
    assert kept(at, "answer") is kept(at, "crowd") is None
    press(at, f"{PAGE}.toss")
    press(at, f"{PAGE}.ask")
    first = kept(at, "crowd")
    assert first.counts["people"].sum() == 1_000
    assert first.counts.loc[first.counts["truth"] == "yes", "people"].sum() == 300
    assert f"{100 * first.estimates['estimate'].iloc[0]:.1f}%" in metrics(at)
    assert len(pictures(at)) == 3
    press(at, f"{PAGE}.again")
    answer, crowd = kept(at, "answer"), kept(at, "crowd")
    assert len(crowd.estimates) == 51
    pd.testing.assert_frame_equal(crowd.estimates.head(1), first.estimates)
    assert len(kept(press(at, f"{PAGE}.again"), "crowd").estimates) == 51
    crowd, hidden = kept(at, "crowd"), pictures(at)
    assert pictures(change(at, reveal=True)) != hidden
    assert all(spec["description"] for spec, _ in charts(at))
    change(at, reveal=False, rule="Warner", p0=80, share=60, people=100, truth="yes")
    assert (kept(at, "answer"), kept(at, "crowd")) == (answer, crowd)
    assert metrics(at)[-1] == "30%"  # the truth of the crowd that was asked
    press(at, f"{PAGE}.ask")
    assert kept(at, "answer") is answer
    assert metrics(at)[-1] == "60%"
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
    assert ("75%" if answer.said else "25%") in metrics(at)  # how sure somebody may be afterwards


def test_the_rule_has_its_probabilities_and_the_extremes_are_told(at: AppTest) -> None:
    for settings, told in (({"rule": "Warner"}, "75%"), ({"p0": 40}, "70%"), ({"rule": "RRPH"}, "40%")):
        assert told in said(change(at, **settings))
    for rule in ("RRPH", "Warner"):
        press(change(at, rule=rule, p0=0), f"{PAGE}.toss")
        assert "10% → 10%" in metrics(at)  # an answer tells nothing
    press(at, f"{PAGE}.ask")
    assert at.button(f"{PAGE}.again").disabled  # nothing can be seen of others either
    assert len(pictures(at)) == 2
    press(change(at, p0=100), f"{PAGE}.toss")
    assert "10% → 10%" not in metrics(at)


# The measures


def set_to(at: AppTest, **values: Any) -> AppTest:
    """Several widgets of the measures, in one run."""
    for key, value in values.items():
        widget(at, f"page.{key.replace('__', '.')}").set_value(value)
    return run(at)


def test_measures_at_the_extremes(measures: AppTest) -> None:
    parts = [(part, name) for part in ("measures", "averaging") for name in ("k", "p0")]
    seen = set()
    for k, p0, epsilon in ((2, 0, "0"), (10, 100, "∞"), (4, 35, "1.15")):
        at = set_to(measures, **{f"{part}__{name}": k if name == "k" else p0 for part, name in parts})
        assert {f"{100 / k:.1f}%", f"{p0 + (100 - p0) / k:.1f}%", epsilon} <= {*metrics(at)}
        assert f"{50 + p0 / 2:.3g}%" in said(at)
        seen.add(said(at))
    assert len(seen) == 3

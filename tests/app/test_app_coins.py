"""The coin game: drawn on request only, by nobody's seed, and right at the extremes."""

from typing import Any

import pandas as pd
import pytest
from driving import TIMEOUT, change, press, run
from screen import charts, metrics, pictures, said
from streamlit.testing.v1 import AppTest

PAGE = "page.coin"


def game() -> None:
    from dpcore.dashboard.sections.coin_game import game

    game("page")


@pytest.fixture
def at() -> AppTest:
    return run(AppTest.from_function(game, default_timeout=TIMEOUT))


def kept(at: AppTest, name: str) -> Any:
    return at.session_state.get(f"{PAGE}.{name}")


def test_only_buttons_draw_and_fifty_crowds_more_are_like_the_first(at: AppTest) -> None:
    assert len(pictures(at)) == 1
    assert kept(at, "answer") is kept(at, "crowd") is None
    tossed = said(press(at, f"{PAGE}.toss"))
    assert all(said(run(at)) == tossed for _ in range(6))
    press(at, f"{PAGE}.ask")
    first = kept(at, "crowd")
    assert first.counts["people"].sum() == 1_000
    assert f"{100 * first.estimates['estimate'].iloc[0]:.1f}%" in metrics(at)
    assert len(pictures(at)) == 3
    press(at, f"{PAGE}.again")
    answer, crowd, hidden = kept(at, "answer"), kept(at, "crowd"), pictures(at)
    assert len(crowd.estimates) == 51
    pd.testing.assert_frame_equal(crowd.estimates.head(1), first.estimates)
    assert pictures(change(at, reveal=True)) != hidden
    assert all(spec["description"] for spec, _ in charts(at))
    change(at, reveal=False, rule="Warner", p0=80, share=60, people=100, truth="yes")
    assert (kept(at, "answer"), kept(at, "crowd")) == (answer, crowd)
    assert metrics(at)[-1] == "30%"  # the truth of the crowd that was asked
    press(at, f"{PAGE}.ask")
    assert kept(at, "answer") is answer
    assert metrics(at)[-1] == "60%"


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

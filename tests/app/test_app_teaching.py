"""The pages that teach: every part is drawn and told, moving all of it draws no lots and spends nothing."""

from typing import Any

import driving
import pandas as pd
import pytest
from driving import OTHERS, TIMEOUT, change, csv, opened, people, press, run, started, tab, using
from prepared import another
from screen import books, charts, dataset, elements, mendable, metrics, pictures, said, widget
from streamlit.testing.v1 import AppTest

ATTACKS = OTHERS["attacks"].split()
CHOICES = {  # what is shown on a tab of several things
    "response": ("response", "How it works"),
    "measures": ("response", "Privacy of one report"),
    "numbers": ("response", "Reports of a number"),
    "asking": ("composition", "Repeated queries"),
    "groups": ("composition", "Disjoint groups"),
}
PARTS = [("attacks", part) for part in ATTACKS]
PARTS += [("mechanisms", part) for part in ("noise", "choosing", "odds", "floats", *CHOICES)]


@pytest.mark.parametrize(("page", "part"), PARTS)
def test_a_part_is_drawn_and_moving_all_of_it_spends_nothing(page: str, part: str, monkeypatch) -> None:
    monkeypatch.setattr(driving, "PAGE", page)
    name, what = CHOICES.get(part, (part, ""))
    at, moved = tab(started(page), name), {f"{page}.{name}.part"}
    if what:
        change(at, **{f"{name}.part": what})

    def waiting() -> list[Any]:
        own = [w for w in elements(at) if w.key and w.key.startswith(f"{page}.{part}.") and w.key not in moved]
        return [w for w in own if w.type != "text_input" and another(w) is not None]

    while found := waiting():
        moved.add(found[0].key)
        several = isinstance(found[0].value, list)
        found[0].set_value([another(found[0])] if several else another(found[0]))
        assert not run(at).error, found[0].key
        assert min(len(spec["description"]) for spec, _ in charts(at)) > 20
        assert at.dataframe  # the numbers behind
    assert len(moved) >= 2
    assert at.session_state.get(f"{page}.{part}.seed", 0) == 0
    assert books(at) == {}


@pytest.mark.parametrize("part", ["linkage", "bits", "averages"])
def test_with_noise_the_limit_of_a_guess_stands_beside_an_attack(part: str, monkeypatch) -> None:
    monkeypatch.setattr(driving, "PAGE", "attacks")
    at = change(tab(started("attacks"), part), **{f"{part}.step": "noise", f"{part}.epsilon": 1.0})
    assert "73.1%" in said(at)


def test_people_stay_those_of_the_sample_when_somebody_uses_data_of_their_own(monkeypatch) -> None:
    at = using("people.csv", csv(people()))
    monkeypatch.setattr(driving, "PAGE", "attacks")
    for part in ATTACKS[:-1]:
        tab(opened(at, "attacks"), part)
        assert not mendable(at)
        assert "Zq" not in "".join(str(getattr(found, "proto", "")) for found in elements(at))
        assert widget(at, f"attacks.{part}.step").value == "noiseless"
    assert dataset(at).name == "people.csv"
    assert books(at) == {}


def game() -> None:
    from dpcore.dashboard.pages.mechanisms.coin_game import draw_coin_game

    draw_coin_game()


def test_only_buttons_of_the_game_draw_and_fifty_crowds_more_are_like_the_first(monkeypatch) -> None:
    monkeypatch.setattr(driving, "PAGE", "mechanisms")
    at = run(AppTest.from_function(game, default_timeout=TIMEOUT))

    def kept(name: str) -> Any:
        return at.session_state.get(f"mechanisms.{name}.drawn")

    assert kept("coin.toss") is kept("crowd.ask") is None
    tossed = said(press(at, "mechanisms.coin.toss"))
    assert all(said(run(at)) == tossed for _ in range(6))
    press(at, "mechanisms.crowd.ask")
    first = kept("crowd.ask")[1][1]
    assert f"{100 * first['estimate'].iloc[0]:.1f}%" in metrics(at)
    press(at, "mechanisms.crowd.again")
    answer, crowd, hidden = kept("coin.toss"), kept("crowd.ask"), pictures(at)
    assert len(crowd[1][1]) == 51
    pd.testing.assert_frame_equal(crowd[1][1].head(1), first)
    assert pictures(change(at, crowd__reveal=True)) != hidden
    change(at, crowd__reveal=False, crowd__p0=80, crowd__share=60, crowd__people=100, coin__p0=80, coin__truth="yes")
    assert (kept("coin.toss"), kept("crowd.ask")) == (answer, crowd)
    assert metrics(at)[-1] == "30%"  # the truth of the crowd that was asked

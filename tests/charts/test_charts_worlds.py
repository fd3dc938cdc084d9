"""Charts of twin worlds and of the game."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import vl_convert
from specs import domain, rows_of, spec_of, walk

from dpcore import charts
from dpcore.charts.base import REAL_DATA
from dpcore.charts.colors import CLAIMED, FADED, INK, RELEASED
from dpcore.teaching import histogram_pair, membership_game
from dpcore.teaching.membership_game import BEST, PLAYERS, Game, Rules
from dpcore.text import odds

INF = math.inf
HOSTILE = "a.b['0']:Q <img src=https://x.test/y> {{y}}"
FIELDS = {
    *("from", "to", "share", "world", "count", "text", "low", "high", "middle", "left", "right", "log_ratio", "ratio"),
    *("where", "least", "most", "row", "at", "number", "chance", "epsilon", "who", "release", "rounds"),
}


def noise(shift=0.0, runs=400, seed=1):
    return np.random.default_rng(seed).laplace(shift, 1.0, runs)


def binned(first=None, second=None, threshold=1.0, *, above=True):
    first = noise() if first is None else np.asarray(first, dtype=float)
    second = noise(1.0, seed=2) if second is None else np.asarray(second, dtype=float)
    return histogram_pair.piled(first, second, threshold, above=above)


def seen(found=None, threshold=1.0, number="A number", **how):
    found = binned() if found is None else found
    known = {"runs": 400, "edge": found.edge, "above": True, "hits": (30, 150), "counted": 200} | how
    return charts.world_piles(found.frame, number=number, threshold=threshold, **known)


def ratios(found=None, claimed=1.0, proved=INF, number="A number"):
    return charts.world_ratios((found or binned()).frame, number=number, claimed=claimed, proved=proved)


def played():
    game = Game()
    game.count(Rules(1.0), PLAYERS, 6, 8)
    game.count(Rules(1.0), BEST, 73, 100)
    game.count(Rules(1.0, "paper"), BEST, 93, 100)
    found = membership_game.score_frame(game)
    return found.assign(honest=found["mode"] == "corrected")


def limit():
    return pd.DataFrame({"epsilon": membership_game.EPSILONS, "share": [odds(e) for e in membership_game.EPSILONS]})


BUILDERS = {
    "piles": seen,
    "piles, logarithmic": lambda: seen(logarithmic=True),
    "piles, no event": lambda: seen(binned(threshold=INF), INF),
    "piles, below": lambda: seen(binned(threshold=-1.0, above=False), -1.0, above=False),
    "ratios": ratios,
    "ratios, both": lambda: ratios(proved=2.0),
    "ratios, neither": lambda: ratios(claimed=INF),
    "ratios, far": lambda: ratios(proved=924.0),
    "epsilon": lambda: charts.known_epsilon(lower=2.3, claimed=1.0, proved=924.2),
    "epsilon, none": lambda: charts.known_epsilon(lower=4.1, claimed=INF, proved=INF),
    "epsilon, nothing": lambda: charts.known_epsilon(lower=0.0, claimed=1.0, proved=1.0),
    "epsilon, tiny": lambda: charts.known_epsilon(lower=0.0, claimed=0.001, proved=0.001),
    "epsilon, false alarm": lambda: charts.known_epsilon(lower=1.2, claimed=1.0, proved=1.0),
    "round": lambda: charts.round_worlds(membership_game.chances(Rules(1.0)), number="Number", at=4.0),
    "round, nothing": lambda: charts.round_worlds(membership_game.chances(Rules(0.1, "paper")), number="Number"),
    "round, far": lambda: charts.round_worlds(membership_game.chances(Rules(5.0)), number="Number", at=400.0),
    "scores": lambda: charts.game_scores(played(), limit=limit()),
}
every_chart = pytest.mark.parametrize("name", BUILDERS)


def bands(chart):
    return [
        layer["mark"]["color"]
        for layer in spec_of(chart)["layer"]
        if layer["mark"]["type"] == "rect" and layer["mark"].get("color") in (CLAIMED, RELEASED)
    ]


@every_chart
def test_fields_are_ours_letters_are_large_and_every_mark_is_drawn(name):
    spec = spec_of(BUILDERS[name]())
    assert len(spec["description"]) > 40
    assert spec["width"] == "container"
    assert spec["title"]["subtitleColor"] == {"expr": FADED.expr}
    for path, node in walk({key: value for key, value in spec.items() if key != "datasets"}):
        if path and path[-1] == "field":
            assert node in FIELDS
        if isinstance(node, dict) and "mark" in node:
            assert "tooltip" in node["encoding"]
            if node["mark"]["type"] == "text":
                assert node["mark"]["color"] == {"expr": INK.expr}
                assert node["mark"]["fontSize"] >= 13
    assert vl_convert.vegalite_to_svg(spec | {"width": 600}).startswith("<svg")


def test_a_title_of_users_words_is_a_title_only():
    for chart in (seen(number=HOSTILE), ratios(number=HOSTILE)):
        spec = spec_of(chart)
        spec.pop("datasets")
        for path, node in walk(spec):
            if path and path[-1] in {"filter", "expr", "test", "calculate", "labelExpr", "field"}:
                assert "a.b" not in str(node)
    assert charts.mark_real(seen()).title.text[-1] == REAL_DATA


def test_numbers_of_runs_stay_behind():
    first, second = noise(runs=4_000), noise(1.0, 4_000, seed=2)
    found = binned(first, second)
    for chart in (seen(found, runs=4_000), ratios(found)):
        text = json.dumps(spec_of(chart))
        assert not any(f"{value!r}" in text for value in [*first[:50].tolist(), *second[:50].tolist()])
        assert max(len(rows) for rows in spec_of(chart)["datasets"].values()) < 150


# Bands, events and epsilons


def test_bands_are_there_where_epsilons_are_finite():
    assert bands(ratios(claimed=1.0, proved=INF)) == [CLAIMED]
    assert bands(ratios(claimed=1.0, proved=1.0)) == [RELEASED, CLAIMED]
    assert bands(ratios(claimed=INF, proved=INF)) == []
    assert "Nothing is claimed. Nothing is proved." in " ".join(spec_of(ratios(claimed=INF))["title"]["subtitle"])
    low, high = domain(ratios(proved=924.0), "y")
    assert -low == high < 20


def test_bars_outside_of_the_claim_are_counted():
    apart = binned([0.0] * 300 + [1.0] * 100, [0.0] * 100 + [1.0] * 300)
    assert "2 bars lie wholly outside" in ratios(apart, claimed=0.5).description
    assert "No bar lies wholly outside" in ratios(apart, claimed=2.0).description
    assert {*rows_of(ratios(apart, claimed=0.5), "where")["where"]} == {"outside of what is claimed"}


def test_stacked_charts_share_their_axis():
    found = binned()
    assert domain(seen(found), "x") == domain(ratios(found), "x")


def test_the_event_is_drawn_with_its_counts():
    (event,) = rows_of(seen(), "from", "text").to_dict("records")
    assert event["from"] == 1.0
    assert event["to"] > 1.0
    assert event["text"] == "World A: 30\nWorld B: 150"
    assert "Of 200 counted runs" in seen().description
    below = seen(binned(threshold=-1.0, above=False), -1.0, above=False)
    (event,) = rows_of(below, "from", "text").to_dict("records")
    assert event["to"] < event["from"] == pytest.approx(-1.0)
    assert rows_of(BUILDERS["piles, no event"](), "from", "text").empty


@pytest.mark.parametrize(
    ("lower", "claimed", "proved", "ends", "words"),
    [
        (2.2349, 1.0, 924.2, (2.2349, 2.90537), ("at least 2.234", "proved: at most 925")),
        (0.0, 1.0, 1.0, (0.0, 1.0), ("at least 0: the attack found nothing", "proved: at most 1")),
        (4.1, INF, INF, (4.1, 5.33), ("at least 4.1", "no epsilon is proved")),
        (0.4, 1.0, 4.0, (0.4, 4.0), ("at least 0.4", "proved: at most 4")),
    ],
)
def test_what_is_known_of_epsilon(lower, claimed, proved, ends, words):
    chart = charts.known_epsilon(lower=lower, claimed=claimed, proved=proved)
    (row,) = rows_of(chart, "least").to_dict("records")
    assert (row["from"], row["to"]) == pytest.approx(ends)
    assert (row["least"], row["most"]) == words
    (claim,) = rows_of(chart, "at").to_dict("records")
    assert claim["text"] == ("no epsilon" if math.isinf(claimed) else "1")


# The game


def test_scores_stand_beside_each_other():
    rows = rows_of(charts.game_scores(played(), limit=limit()), "at")
    assert rows["at"].nunique() == 3
    assert rows["at"].between(0.8, 1.25).all()
    assert {*rows["release"]} == {"corrected", "as printed"}

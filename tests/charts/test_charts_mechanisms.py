"""Charts of the basic mechanisms: what is drawn, on which axes, and what is said of it."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from specs import domain, rows_of, spec_of, subtitle, walk

from dpcore import charts
from dpcore.charts.base import REAL_DATA
from dpcore.charts.colors import CLAIMED, FADED, INK, REAL, RELEASED
from dpcore.teaching import choices, composition, counts

HOSTILE = ["a.b[0]:Q", "<img src=x>", 'it\'s "quoted" \\ \n', "{{y}}"]
FIELDS = {
    *("answer", "height", "limit", "left", "right", "world", "log_ratio", "high", "low", "shown", "lane", "where"),
    *("candidate", "votes", "votes_other", "probability", "probability_other", "edge", "ratio", "prior", "sure"),
    *("answers", "average", "truth", "way", "error", "loss", "at", "text", "person", "column", "part", "yours"),
    *("look", "which", "count", "share"),
}


def at_noise(name="Laplace", epsilon=1.0, delta=0.05):
    return counts.worlds(counts.make_count_noise(name, epsilon, delta), 100, 101)


def drawn():
    return counts.draws(counts.Laplace(1.0), 100, 1)


def voted(epsilon=0.1):
    return choices.election((30, 25, 8, 2), epsilon, "comes", 0)


def believed():
    prior = np.linspace(0, 1, 11)
    ends = {"low": choices.posterior(prior, -1.0), "high": choices.posterior(prior, 1.0)}
    return pd.DataFrame({"prior": prior, **ends})


def table(yours=(False, True, False)):
    rows = [(p, c, f"count {i}", yours[i]) for i, p in enumerate(("A", "You", "C")) for c in ("age", "ill")]
    return pd.DataFrame(rows, columns=["person", "column", "part", "yours"])


def numbers():
    return composition.possible_answers(10, 1.0, 8, 10.4, 10.6)


def shares():
    return pd.DataFrame({"count": ["0", "10", "1,000"], "share": [0.8, 0.1, 0.0]})


BUILDERS = {
    "two_worlds": (at_noise, charts.two_worlds),
    "two_worlds, whole": (lambda: at_noise("Geometric"), lambda frame: charts.two_worlds(frame, whole=True)),
    "two_worlds, normal": (lambda: at_noise("Gaussian"), charts.two_worlds),
    "ratio_band": (at_noise, lambda frame: charts.ratio_band(frame, epsilon=1.0)),
    "ratio_band, whole": (
        lambda: at_noise("Geometric"),
        lambda frame: charts.ratio_band(frame, epsilon=1.0, whole=True),
    ),
    "ratio_band, normal": (lambda: at_noise("Gaussian"), lambda frame: charts.ratio_band(frame, epsilon=1.0)),
    "answer_strip": (drawn, lambda frame: charts.answer_strip(frame, low=97, high=104)),
    "votes": (voted, charts.votes),
    "election": (voted, charts.election),
    "choice_ratios": (voted, lambda frame: charts.choice_ratios(frame, epsilon=0.1)),
    "belief": (believed, lambda frame: charts.belief(frame, prior=0.2)),
    "running_average": (
        lambda: composition.repeated_answers(100, 1.0, 9, 0),
        lambda frame: charts.running_average(frame, truth=100),
    ),
    "average_errors": (
        lambda: composition.average_deviations(1.0, 9),
        lambda frame: charts.average_errors(frame, at=4),
    ),
    "loss_sums": (
        lambda: composition.losses(0.5, 6),
        lambda frame: charts.loss_sums(frame, worst=3.0, likely=2.9, label="epsilon 2.9 with delta 1e-6"),
    ),
    "split_table": (table, lambda frame: charts.split_table(frame, title="Groups of people")),
    "possible_numbers": (numbers, lambda frame: charts.possible_numbers(frame, title="Holes")),
    "telltale": (shares, charts.telltale),
}
every_chart = pytest.mark.parametrize("name", BUILDERS)


def layers_of(spec):
    return [layer for layer in spec.get("layer", [spec]) if "mark" in layer]


@every_chart
def test_fields_are_ours_and_every_mark_has_its_own_tooltip(name):
    make, build = BUILDERS[name]
    spec = spec_of(build(make()))
    assert any(spec["title"]["text"])
    assert len(spec["description"]) > 40
    assert spec["width"] == "container"
    for path, node in walk({key: value for key, value in spec.items() if key != "datasets"}):
        if path and path[-1] == "field":
            assert node in FIELDS
        if isinstance(node, dict) and "mark" in node and "encoding" in node:
            assert "tooltip" in node["encoding"]


@every_chart
def test_other_columns_and_numbers_that_are_none_stay_behind(name):
    make, build = BUILDERS[name]
    frame = make().assign(hiv_status="secret")
    before = frame.copy(deep=True)
    assert "secret" not in json.dumps(spec_of(build(frame)))
    pd.testing.assert_frame_equal(frame, before)
    for column in frame.select_dtypes(["float", "int"]).columns:
        frame[column] = frame[column].astype(float)
        frame[column] = frame[column].where(frame.index % 3 != 0, np.inf).where(frame.index % 3 != 1, np.nan)
    spec_of(build(frame))


@every_chart
def test_a_chart_of_nothing_is_drawn(name):
    make, build = BUILDERS[name]
    spec_of(build(make().head(0)))
    assert spec_of(charts.mark_real(build(make())))["title"]["text"][-1] == REAL_DATA


@every_chart
def test_letters_can_be_read_on_every_page(name):
    make, build = BUILDERS[name]
    spec = spec_of(build(make()))
    assert spec["title"]["subtitleColor"] == {"expr": FADED.expr}
    words = [layer["mark"] for layer in layers_of(spec) if layer["mark"]["type"] == "text"]
    assert all(word["color"] == {"expr": INK.expr} and word["fontSize"] >= 13 for word in words)
    assert not any(word in json.dumps(spec) for word in ('"white"', '"black"', "#ffffff", "#000000"))


def test_names_are_data():
    candidates = voted().assign(candidate=HOSTILE)
    cells = pd.DataFrame({"person": HOSTILE, "column": HOSTILE, "part": HOSTILE, "yours": [True, False, True, False]})
    for chart in (charts.election(candidates), charts.votes(candidates), charts.split_table(cells, title="x")):
        spec = spec_of(chart)
        spec.pop("datasets")
        for path, node in walk(spec):
            if path and path[-1] in {"filter", "expr", "test", "calculate", "labelExpr", "field"}:
                assert not any(text in str(node) for text in ("a.b", "<img", "quoted", "{{"))


# Two worlds


@pytest.mark.parametrize(("name", "whole"), [("Laplace", False), ("Geometric", True), ("Gaussian", False)])
def test_stacked_charts_share_their_axis(name, whole):
    frame = at_noise(name)
    worlds, band = charts.two_worlds(frame, whole=whole), charts.ratio_band(frame, epsilon=1.0, whole=whole)
    low, high = domain(worlds, "x")
    assert domain(band, "x") == (low, high)
    strip = charts.answer_strip(drawn(), low=low, high=high)
    assert domain(strip, "x") == (low, high)
    lefts = {
        node["minExtent"]
        for chart in (worlds, band, strip)
        for path, node in walk(spec_of(chart))
        if isinstance(node, dict) and "minExtent" in node and node["minExtent"] == node["maxExtent"]
    }
    assert len(lefts) == 1
    rows = rows_of(worlds, "height")
    assert rows["answer"].between(low, high).all()
    if whole:
        assert rows["left"].min() > low
        assert rows["right"].max() < high


def test_only_normal_noise_leaves_the_band():
    for name, leaves in (("Laplace", False), ("Geometric", False), ("Gaussian", True)):
        frame, whole = at_noise(name), name == "Geometric"
        worlds, band = charts.two_worlds(frame, whole=whole), charts.ratio_band(frame, epsilon=1.0, whole=whole)
        assert ("delta" in subtitle(worlds)) == leaves
        areas = [layer for layer in layers_of(spec_of(worlds)) if layer["mark"].get("color") == CLAIMED]
        assert len(areas) == (2 if leaves else 0)
        assert ("leaves the band in the tails" in subtitle(band)) == leaves
        assert ("outside the band" in {*rows_of(band, "where")["where"]}) == leaves
        low, high = domain(band, "y")
        assert rows_of(band, "where")["log_ratio"].between(low, high).all()
    above = rows_of(charts.two_worlds(at_noise("Gaussian")), "height")
    over = above[above["height"] > above["limit"] * (1 + 1e-9)]
    assert over.loc[over["world"] == "with you", "answer"].min() > 101
    assert over.loc[over["world"] == "without you", "answer"].max() < 100


def test_answers_beyond_the_axis_are_at_its_ends():
    frame = pd.DataFrame({"world": ["with", "without", "with"], "answer": [50.0, 100.0, 400.0]})
    rows = rows_of(charts.answer_strip(frame, low=90, high=110), "shown")
    assert rows["shown"].tolist() == [90, 100, 110]
    assert rows["answer"].tolist() == [50, 100, 400]
    assert rows.loc[rows["world"] == "without you", "lane"].min() > rows.loc[rows["world"] == "with you", "lane"].max()


# Choosing and believing


def test_the_votes_are_grey_and_the_probabilities_blue():
    for chart, color in ((charts.votes(voted()), REAL), (charts.election(voted()), RELEASED)):
        (bars,) = [layer for layer in layers_of(spec_of(chart)) if layer["mark"]["type"] == "bar"]
        assert bars["mark"]["color"] == color
    assert rows_of(charts.election(voted()), "probability")["probability"].round(4).tolist() == [
        *(0.4240, 0.3302, 0.1412, 0.1046)
    ]
    assert "A 0.424" in charts.election(voted()).description


def test_the_band_of_a_choice_is_epsilon_and_its_half():
    bands = rows_of(charts.choice_ratios(voted(0.5), epsilon=0.5), "high")
    assert bands[["log_ratio", "high"]].to_numpy().tolist() == [[-0.5, 0.5], [-0.25, 0.25]]
    low, high = domain(charts.choice_ratios(voted(0.5), epsilon=0.5), "x")
    assert -high == low < -0.5


def test_a_belief_is_marked_where_it_is():
    chart = charts.belief(believed(), prior=0.2)
    ends = rows_of(chart, "sure")
    assert ends["sure"].tolist() == pytest.approx([0.2 / (0.2 + 0.8 * math.e), 0.2 * math.e / (0.2 * math.e + 0.8)])
    assert "8.42 % to 40.5 %" in subtitle(chart)


# Composition, groups and floats


def test_the_sum_of_epsilons_is_at_the_right_end():
    chart = charts.loss_sums(composition.losses(0.5, 6), worst=3.0, likely=2.9, label="epsilon 2.9 with delta 1e-6")
    bars, rules = rows_of(chart, "probability"), rows_of(chart, "at")
    assert rules["at"].tolist() == [3.0, 2.9]
    assert bars["loss"].max() == pytest.approx(3.0)
    assert (bars["right"] - bars["left"]).tolist() == pytest.approx([0.8] * 7)
    low, high = domain(chart, "x")
    assert -low == high > bars["right"].max()
    assert subtitle(chart) == "Orange line: epsilon 3, the sum. Dashed: epsilon 2.9 with delta 1e-6."


def test_three_ways_to_ask_are_told_apart_without_color():
    spec = spec_of(charts.average_errors(composition.average_deviations(1.0, 9), at=4))
    (dashes,) = [node["scale"]["range"] for path, node in walk(spec) if path[-2:] == ("encoding", "strokeDash")]
    assert len({tuple(dash) for dash in dashes}) == 3


@pytest.mark.parametrize(("yours", "count"), [((False, True, False), 1), ((False, True, True), 2), ((True,) * 3, 3)])
def test_the_parts_that_hang_on_you_are_counted(yours, count):
    chart = charts.split_table(table(yours), title="Groups")
    assert f"{count} of 3 may change" in subtitle(chart)
    assert rows_of(chart, "yours")["yours"].sum() == 2 * count


def test_numbers_of_one_world_only_are_orange():
    spec = spec_of(charts.possible_numbers(numbers(), title="Holes"))
    scale = spec["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True))["possible in this world only"] == CLAIMED
    assert "0 of them are possible in both worlds" in spec["description"]
    shared = pd.DataFrame({"world": ["with", "without"], "answer": [3.0, 3.0], "both": True})
    assert "2 of them" in charts.possible_numbers(shared, title="Whole").description


def test_no_telltale_answer_is_said_in_words():
    assert rows_of(charts.telltale(shares()), "share")["text"].tolist() == ["80.00%", "10.00%", "none"]


@pytest.mark.parametrize("name", ["Laplace", "Geometric", "Gaussian"])
@pytest.mark.parametrize("epsilon", [0.1, 5.0])
def test_nothing_moves_the_edges_of_stacked_charts(name, epsilon):
    """What sticks out of one chart alone makes it narrower than the others: marks are clipped, labels stay inside."""
    frame, whole = at_noise(name, epsilon), name == "Geometric"
    low, high = domain(charts.two_worlds(frame, whole=whole), "x")
    for chart in (
        charts.two_worlds(frame, whole=whole),
        charts.ratio_band(frame, epsilon=epsilon, whole=whole),
        charts.answer_strip(drawn(), low=low, high=high),
    ):
        spec = spec_of(chart)
        assert all(layer["mark"]["clip"] for layer in layers_of(spec))
        axes = [
            node["axis"]["values"]
            for path, node in walk(spec)
            if path[-1:] == ("x",) and isinstance(node, dict) and "values" in node.get("axis", {})
        ]
        assert axes
        for ticks in axes:
            assert 2 <= len(ticks) <= 12
            assert low < min(ticks) < max(ticks) < high
            assert all(tick == round(tick) for tick in ticks)

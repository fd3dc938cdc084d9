"""What charts say is true: axes, edges, intervals, sums, epsilons, networks, trees, and what only a game may know."""

import json
import math
from itertools import pairwise

import altair as alt
import numpy as np
import pandas as pd
import pictures as frames
import pytest
from pictures import nodes, spent
from scipy.stats import t
from specs import domain, marks_of, rows_of, texts

from dpcore import charts, language
from dpcore.charts.frames import LETTER
from dpcore.charts.network import _arrange, spread_positions
from dpcore.charts.scales import CLAIMED, RELEASED
from dpcore.charts.trees import MOST_LEAVES
from dpcore.dashboard.pages.mechanisms import composition_numbers
from dpcore.domain.column import Column
from dpcore.domain.taxonomy_tree import Hierarchy

ALONE = {"what": "columns", "most": 9, "title": "Alone", "found": "alone"}


def right(data, epsilon=1.0):
    return charts.share_right(data, epsilon=epsilon, noiseless=0.98, title="Right")


def columns(worse):
    return frames.pairs().rename(columns={"a": "attributes"}).assign(avd=0.9 * worse)


# Axes


@pytest.mark.parametrize(
    ("channel", "ends", "draw"),
    [
        (
            "x",
            (0.6, 1),
            lambda worse: charts.accuracy(frames.accuracies(["tree"]).assign(accuracy=worse), majority=0.7),
        ),
        ("x", (0, 1), lambda worse: charts.redraws(frames.draws(["AVD"]).assign(value=worse))),
        ("x", (0, 1), lambda worse: charts.worst_columns(columns(worse))),
        ("x", (0, 1), lambda worse: charts.worst_pairs(frames.pairs().assign(avd=worse))),
        ("color", (0, 1), lambda worse: charts.pair_heatmap(frames.pairs().assign(avd=worse))),
        ("x", (0.01, 10_000.0), lambda worse: right(frames.attacked(), epsilon=worse)),
        ("y", (0, 1), lambda worse: right(frames.attacked().assign(share=worse))),
        ("x", (1, 9), lambda worse: charts.share_found(frames.found_out(), at=1 + (worse < 1), **ALONE)),
    ],
)
def test_releases_at_two_epsilons_stand_on_the_same_axes(channel, ends, draw):
    """What is far from the real rows looks far, and two screens can be compared at a glance."""
    assert [domain(draw(worse), channel) for worse in (1.0, 0.01)] == [ends] * 2


def test_shares_of_a_column_begin_at_zero_and_end_above_the_largest():
    for high, end in ((0.04, 0.1), (0.2, 0.25), (0.24, 0.25), (0.4, 0.5), (0.9, 1.0)):
        found = frames.shares(["a", "b"]).assign(real=high, released=0.0, floor_high=0.0)
        assert domain(charts.marginal(found, column="x"), "y") == (0, end)


def test_what_lies_beyond_an_axis_is_drawn_at_its_edge_and_counted():
    frame = pd.DataFrame({"world": ["with", "without", "with"], "answer": [50.0, 100.0, 400.0]})
    strip = charts.answer_strip(frame, low=90, high=110)
    assert rows_of(strip, "shown")[["answer", "shown"]].to_numpy().tolist() == [[50, 90], [100, 100], [400, 110]]
    assert "2 of 3" in texts(strip)
    answers = composition_numbers.repeated_answers(100, 0.1, 30, 0)
    chart = charts.running_average(answers, truth=100, window=5)
    assert rows_of(chart, "shown")["shown"].between(95, 105).all()
    assert "beyond the chart’s edges" in texts(chart)
    chart = charts.accuracy(frames.accuracies(["tree"]).assign(accuracy=0.12), majority=0.7)
    assert {*rows_of(chart, "shown")["shown"]} == {0.6}
    assert {*rows_of(chart, "end")["text"]} == {"12.0%"}
    assert "smaller accuracies" in texts(chart)


@pytest.mark.parametrize(("values", "half"), [((-0.4, 1.3), 0.5), ((0.5,), math.inf)])
def test_estimates_that_are_impossible_are_shown_as_they_are(values, half):
    chart = charts.coin_estimates(frames.estimates(*values, half=half), truth=0.3)
    (low, zero), (one, high) = rows_of(chart, "from", "to")[["from", "to"]].to_numpy()
    assert low < min(-0.2, *values) < zero == 0 < one == 1 < max(1.2, *values) < high
    rows = rows_of(chart, "estimate")
    assert rows["shown"].between(low, high).all()
    assert rows["kept"].tolist() == pytest.approx(np.clip(values, 0, 1).tolist())
    ends = rows["low"].iloc[0], rows["high"].iloc[0]
    assert ends == (low, high) if half == math.inf else low <= ends[0] < ends[1] <= high


def test_what_a_log_axis_cannot_show_is_left_out():
    frame = frames.runs(["a"], modes=["corrected"], repeats=3)
    frame.loc[0, "epsilon"], frame.loc[1, "value"] = 0, -1
    assert [len(frames.curved(frame, log_x=log).data) for log in (False, True)] == [len(frame), len(frame) - 1]
    shown = frames.curved(frame, log_x=True, log_y=True, interval="t").data
    assert (shown[["x", "value", "low"]] > 0).all(axis=None)
    errors_ = frames.errors()
    errors_.loc[0, "absolute"] = 0.0
    rows = rows_of(charts.error_by_range(errors_), "value")
    assert (len(rows), rows["low"].min() > 0) == (3, True)


# Intervals


def test_intervals_are_of_the_runs_or_of_their_mean():
    frame = frames.runs(["a"], modes=["corrected"], repeats=3)
    half = t.ppf(0.975, 5) * np.std([0, 0, 0.1, 0.1, 0.2, 0.2], ddof=1) / math.sqrt(6)  # two panels, one chart
    for interval, ends in (("range", (0, 0.2)), ("t", (0.1 - half, 0.1 + half))):
        found = frames.curved(frame, interval=interval).data.loc[0, ["low", "high"]]
        assert tuple(found) == pytest.approx(ends, abs=1e-4)
    assert frames.curved(frame.head(1), interval="t").data["low"].isna().all()
    two = frames.methods().groupby(["series", "mode", "epsilon_claimed"]).head(2)
    assert rows_of(frames.compared(two))["low"].isna().all()
    frame = pd.concat([frames.scores(("a", "b")).assign(accuracy=[value, 0.5]) for value in (0.7, 0.8, 0.9)])
    once = frame[(frame["model"] == "a") | ~frame.duplicated("model")]
    rows = rows_of(charts.classifier_scores(once), "score", "low").query("kind == 'accuracy'").set_index("model")
    half = t.ppf(0.975, 2) * 0.1 / math.sqrt(3)
    assert rows.loc[["a"], ["low", "high"]].to_numpy()[0] == pytest.approx([0.8 - half, 1.0], abs=1e-4)
    assert math.isnan(rows.loc["b", "low"])


def test_variance_is_across_runs_and_references_stay_with_their_models():
    frame = pd.DataFrame({"epsilon": 1.0, "series": "paper", "model": "tree", "value": [0.1, 0.3]})
    assert rows_of(charts.sweep(frame, variance=True))["value"].tolist() == pytest.approx([0.02])
    assert rows_of(charts.sweep(frame.head(1), variance=True)).empty
    frame = frames.sweep(["paper", "corrected"])
    frame.loc[len(frame)] = [math.inf, "paper", "paper", 0.9]
    rows = rows_of(charts.sweep(frame, y_title="accuracy", references=frames.lines(["paper"])))
    assert len(rows[rows["rule"] == 0]) == len(frame) - 1
    assert rows.loc[rows["rule"] > 0, "label"].tolist() == ["<i>top</i>", "majority"]


# Many values, and cells


def test_what_is_too_much_to_draw_is_one_more_bar_and_nothing_is_lost():
    rare = [0.9, *[0.1 / 40] * 40]
    for real, released, kept in ((rare, rare, 12), ([0.02] * 41, rare, 25), (rare, [0.02] * 41, 25)):
        found = frames.shares([f"v{i}" for i in range(41)]).assign(real=real, released=released)
        rows = rows_of(charts.marginal(found, column="age"), "value")
        assert len(rows) == kept + 1
        assert rows[["real", "released"]].sum().tolist() == pytest.approx([sum(real), sum(released)])
        assert rows[["floor_low", "floor_high"]].iloc[-1].isna().all()
    rows = rows_of(charts.epsilon_split(frames.entries([f"step {i}" for i in range(25)])))
    assert (len(rows), rows["epsilon_nominal"].sum()) == (21, pytest.approx(25))
    many = pd.DataFrame({"run": range(50), "when": "now", "epsilon_bound": 0.1})
    assert rows_of(charts.staircase(many), "step")["after"].iloc[-1] == pytest.approx(5)
    chart = charts.pair_tables(frames.tables([f"v{i}" for i in range(50)]), x="age", y="income")
    rows, names = rows_of(chart, "shade"), domain(chart, "x")
    assert rows.groupby("source")["shade"].sum().tolist() == pytest.approx([1, 1])
    assert {*rows[rows["source"] == "real"]["x"]} == {*names[:41]}  # real ones first
    assert names[40] == "(10 other values)"


def test_the_largest_stand_first_and_names_that_are_there_twice_are_two():
    rows = rows_of(charts.importance(frames.importances([f"c{i:02}" for i in range(20)])), "share")
    assert rows["column"].tolist() == [f"c{i:02}" for i in range(19, 4, -1)]
    assert rows_of(charts.importance(frames.importances(["a", "a"])), "share")["column"].tolist() == ["a", "a (2)"]
    worst = pd.DataFrame({"attributes": list("abc"), "avd": [0.1, 0.3, 0.2], "floor": 0.05})
    assert domain(charts.worst_columns(worst), "y") == ("b", "c", "a")
    rows = rows_of(charts.marginal(frames.shares(["b", "", None, "b"]), column="age"), "value")
    assert rows["value"].tolist() == ["b", "(empty)", "(missing)", "b (2)"]
    assert rows["real"][0] == pytest.approx(1 / 6)


# Curves


def test_what_has_no_epsilon_is_not_on_that_axis_and_two_relations_are_on_none():
    proved = rows_of(frames.compared(frames.methods(), x="proved"))
    assert (len(proved), {*proved["mode"]}) == (12, {"corrected"})
    assert len(rows_of(frames.compared(pd.concat([frames.methods(), frames.methods(epsilon_claimed=0.0)])))) == 24
    assert "Two guarantees" in texts(frames.compared(frames.methods(), local=("PPNB", "DTPD")))
    assert "change one row" in texts(frames.compared(frames.methods()))
    with pytest.raises(ValueError, match="two relations"):
        frames.compared(pd.concat([frames.methods(), frames.methods(relation="add or remove one row")]))


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(("distribution", "epsilon"), [("Laplace", 5.0), ("Geometric", 0.1)])
def test_stacked_charts_share_their_axis_and_nothing_moves_its_edges(distribution, epsilon):
    """What sticks out of one chart alone makes it narrower than the others: marks are clipped, labels stay inside."""
    frame, whole = frames.at_noise(distribution, epsilon), distribution == "Geometric"
    worlds, band = charts.two_worlds(frame, whole=whole), charts.ratio_band(frame, epsilon=epsilon, whole=whole)
    low, high = domain(worlds, "x")
    strip = charts.answer_strip(frames.drawn(), low=low, high=high)
    assert domain(band, "x") == domain(strip, "x") == (low, high)
    for chart in (worlds, band, strip):
        assert all(layer["mark"]["clip"] for layer in marks_of(chart))
    assert rows_of(worlds, "height")["answer"].between(low, high).all()


# Choices, composition, groups and floating point


def test_probabilities_of_a_choice_and_a_belief_are_those_of_the_formulas():
    chosen = rows_of(charts.election(frames.voted()), "probability")["probability"]
    assert chosen.tolist() == pytest.approx([0.4240, 0.3302, 0.1412, 0.1046], abs=5e-5)
    band = rows_of(charts.choice_ratios(frames.voted(epsilon=0.5), epsilon=0.5), "high")
    assert band[["low", "high"]].to_numpy().tolist() == [[-0.5, 0.5], [-0.25, 0.25]]
    sure = rows_of(charts.belief(frames.believed(), prior=0.2), "sure")["sure"].tolist()
    assert sure == pytest.approx([0.2 / (0.2 + 0.8 * math.e), 0.2 * math.e / (0.2 * math.e + 0.8)])


def test_the_parts_that_hang_on_you_are_counted_and_so_are_numbers_of_one_world_only():
    for yours, count in (((False, True, False), 2), ((True,) * 3, 6)):
        chart = charts.split_table(frames.parts(yours=yours), title="Groups")
        assert f"{count} of 6" in texts(chart)
        assert rows_of(chart, "yours")["yours"].sum() == count
    shared = pd.DataFrame({"world": ["with", "without"], "answer": [3.0, 3.0], "both": True})
    assert " 2 of them" in charts.possible_numbers(shared, title="Holes").description


# Randomized answers


@pytest.mark.parametrize("people", [(200, 180, 90, 530), (1, 0, 0, 0)])
def test_marks_are_in_proportion_and_only_the_games_own_picture_knows_the_truth(people):
    frame, total = frames.said(people), sum(people)
    blind, seen = (charts.crowd(frame, revealed=revealed) for revealed in (False, True))
    for rows in (rows_of(blind, "kind"), rows_of(seen, "kind")):
        assert len(rows.drop_duplicates(["x", "y"])) == len(rows) == min(total, 200)
        for kind, marks in rows["kind"].value_counts().items():
            assert marks == pytest.approx(int(kind.split()[-2].replace(",", "")) * len(rows) / total, abs=1)
    assert rows["kind"].nunique() == sum(n > 0 for n in people)
    assert {*rows_of(blind)} == {"kind", "x", "y"}
    known = str(marks_of(blind)) + texts(blind) + "".join(rows_of(blind)["kind"])
    assert not any(f": {n:,}" in known for n in {*people} - {0, people[0] + people[1], people[2] + people[3]})


# Attacks, and what an attacker saw


def test_an_attack_stands_beside_a_coin_noiseless_numbers_and_the_most_that_epsilon_allows():
    chart = charts.share_right(frames.attacked(), epsilon=1.0, noiseless=0.98, title="Right")
    assert rows_of(chart, "label", "at")["at"].tolist() == [0.5, 0.98]
    curve = rows_of(chart, "epsilon", "at")
    assert curve["at"][(curve["epsilon"] - 1).abs().idxmin()] == pytest.approx(math.e / (1 + math.e), abs=1e-3)
    bars = rows_of(charts.group_strips(frames.scored(), **frames.GROUPS), "group")
    assert bars.groupby("group")["share"].sum().tolist() == pytest.approx([1.0, 1.0])


def test_numbers_of_runs_stay_behind():
    first, second = (np.random.default_rng(seed).laplace(seed, 1, 4_000) for seed in (0, 1))
    found = frames.binned(first, second)
    for chart in (frames.piles(found, runs=4_000), frames.ratios(found.bins)):
        spec = charts.specification(chart)
        tables = spec.pop("datasets").values()
        text = json.dumps(spec) + "".join(table.to_csv() for table in tables)
        assert not any(repr(value) in text for value in [*first[:50].tolist(), *second[:50].tolist()])
        assert max(map(len, tables)) < 150


def test_bands_are_there_where_epsilons_are_finite_and_bars_outside_of_the_claim_are_counted():
    bands = [(1.0, INF, [CLAIMED]), (INF, INF, []), (1.0, 924.0, [RELEASED, CLAIMED])]
    for claimed, proved, colors in bands:
        chart = frames.ratios(frames.binned().bins, claimed=claimed, proved=proved)
        found = [layer["mark"]["color"] for layer in marks_of(chart) if layer["mark"]["type"] == "rect"]
        assert [color for color in found if color in (CLAIMED, RELEASED)] == colors
    distance = frames.binned([0.0] * 300 + [1.0] * 100, [0.0] * 100 + [1.0] * 300).bins
    assert "2 bars" in frames.ratios(distance, claimed=0.5).description
    assert "2 bars" not in frames.ratios(distance, claimed=2.0).description


def test_epsilon_is_summed_by_name_and_what_has_no_limit_is_longest():
    names = {"name": ["a", "counts of b (level 2)", "a", "raw"], "void": False}
    names |= {"epsilon_claimed": [0.1, 0.5, 0.1, 0], "epsilon_nominal": [0.2, 0.5, 0.2, INF]}
    with language.use_language("zh"):
        rows = rows_of(charts.epsilon_split(pd.DataFrame(names)))
    assert rows["name"].tolist() == ["raw", "b (第 2 层) 的计数", "a"]
    found = rows[["epsilon_nominal", "endless"]].to_numpy(float).ravel().tolist()
    assert found == pytest.approx([1.15 * 0.5, 1, 0.5, 0, 0.4, 0])


@pytest.mark.parametrize(
    ("costs", "told"),
    [
        ([0.2, 0.3, 0.2], ["2 marginals × 0.2", "counts of column 1"]),
        ([index / 10 for index in range(1, 8)], ["7 marginals of 0.1 to\n0.7"]),
    ],
)
def test_many_tables_are_one_entry_whose_epsilon_is_their_sum(costs, told):
    names = [f"counts of column {index}" for index in range(len(costs))]
    frame = pd.DataFrame({"name": [*names, "choice by R"], "epsilon_claimed": [*costs, 9.0], "void": False})
    rows = rows_of(charts.epsilon_split(frame.assign(epsilon_nominal=frame["epsilon_claimed"])))
    assert rows["epsilon_nominal"].sum() == pytest.approx(sum(costs) + 9)
    assert [name for name in rows["name"] if name != "choice by R"] == told


def test_claim_and_bound_stay_on_the_axis_and_show_no_less_than_a_run_cost():
    for claimed, bound in ((0, INF), (1e-5, 0.5), (1, 9_452.38), (1e6, 1e12), (NAN, 0.5)):
        chart = charts.claimed_vs_bound(claimed=claimed, bound=bound)
        (low, high), rows = domain(chart, "x"), rows_of(chart, "start")
        assert 0 < low <= 0.01 < 10 <= high, (claimed, bound)
        assert rows[["start", "stop"]].stack().between(low, high).all(), (claimed, bound)
        assert (rows["stop"][1] == high) == rows["endless"][1] == (bound == INF), (claimed, bound)
        assert bound != 9_452.38 or rows["text"].tolist() == ["1", "9,453"]


def test_icons_are_filled_up_to_the_odds_and_only_certainty_fills_all():
    for probability, filled in ((0.505, 51), (0.99995, 99), (1.0, 100), (0, 0)):
        rows = rows_of(charts.odds_icons(probability))
        assert len(rows.drop_duplicates(["x", "y"])) == 100
        assert rows["kind"].tolist() == ["filled"] * filled + ["open"] * (100 - filled)
    for epsilon, sure in ((0, 0.5), (1, 0.7310585786), (1e9, 1), (INF, 1), (-INF, 0), (-1e9, 0)):
        assert charts.odds(epsilon) == pytest.approx(sure)


def test_what_is_known_of_epsilon_goes_from_what_was_found_to_what_is_proved():
    for lower, proved, ends, least in (
        (2.2349, 924.2, (2.2349, 924.2), "2.234"),
        (0.0, 1.0, (0.01, 1.0), "0"),
        (4.1, INF, (4.1, 10.0), "4.1"),
    ):
        row = rows_of(charts.known_epsilon(lower=lower, claimed=1.0, proved=proved), "start").loc[1]
        assert (row["start"], row["stop"]) == pytest.approx(ends)
        assert row["text"].split()[2].strip(":;") == least  # rounded down, as bounds from below are


def test_bars_are_stacked_level_by_level_with_claim_and_bound_apart():
    rows = rows_of(charts.forest_budget(spent()), "stop", "purpose")
    assert rows["start"].tolist() == pytest.approx([0, 0.1, 0, 0.1, 0])
    assert rows["stop"].tolist() == pytest.approx([0.1, 0.3, 0.1, 0.7, 0])
    chart = charts.forest_budget(spent(epsilon_nominal=[0.1, INF, 0.1, 0.6, 0.0]))
    bars = rows_of(chart, "stop", "purpose")
    (far,) = bars[bars["endless"]].to_dict("records")
    assert (far["which"], far["start"], far["stop"] > 0.7) == (domain(chart, "yOffset")[1], pytest.approx(0.1), True)


def test_every_run_is_a_step_on_what_was_spent_before_it_and_the_cap_is_on_the_axis():
    frame = pd.DataFrame({"run": ["a", "b", "a"], "when": "today"})
    chart = charts.staircase(frame.assign(epsilon_bound=[0.5, 0.25, 1]), cap=3)
    rows = rows_of(chart, "step")
    assert rows[["before", "after"]].to_numpy().tolist() == [[0, 0.5], [0.5, 0.75], [0.75, 1.75]]
    assert domain(chart, "y") == pytest.approx([0, 1.12 * 3])


BITS = [f"marital-status bit {bit}" for bit in range(52)]


def network(names, clusters, most=3):
    """Every family has the parents that a fixed seed gives it, among those selected before in its cluster."""
    rng, rows = np.random.default_rng(5), []
    for index, name in enumerate(names):
        before = names[index % clusters : index : clusters]
        parents = [str(parent) for parent in rng.permutation(before)[:most]]
        rows.append((name, parents, index % clusters + 1, 2.0 ** (1 + len(parents)), 0.1 * (index % 5 > 0)))
    return pd.DataFrame(rows, columns=["child", "parents", "cluster", "cells", "epsilon"])


def layers_of(chart):
    """The layers' data by what they draw; the names are the last text that is drawn."""
    marks = [layer.mark for layer in chart.layer]
    kinds = [mark.type if mark.shape is alt.Undefined else mark.shape for mark in marks]
    return dict(zip(kinds, [layer.data for layer in chart.layer], strict=True))


def nodes_of(chart):
    (found,) = [layer.data for layer in chart.layer if "near" in layer.data]
    return pd.DataFrame(found).set_index("name")


def test_parents_stand_above_their_children_and_no_name_on_another():
    frame = network(BITS, 9)
    chart = charts.network(frame)
    nodes, letters = nodes_of(chart), 12
    assert len(layers_of(chart)["triangle"]) == frame["parents"].map(len).sum()
    for child, parents in zip(frame["child"], frame["parents"], strict=True):
        assert all(nodes.loc[parent, "y"] < nodes.loc[child, "y"] for parent in parents)
        assert nodes.loc[child, "near"] == (", ".join(parents) or "(none)")
    for _, row in nodes.groupby("y"):
        row = row.sort_values("x")
        ends = row["x"] + row["radius"] + 4 + LETTER * letters * row["label"].str.len()
        starts = row["x"] - row["radius"]
        assert (ends.to_numpy()[:-1] < starts.to_numpy()[1:]).all()
        assert 0 <= starts.min() < ends.max() <= 960


def test_families_that_make_no_sense_are_drawn_as_far_as_they_do():
    rows = [("a", ["b", "a", "nobody"], 1), ("b", ["a", "a"], 1), ("b", (), 1), ("c", None, 1)]
    frame = pd.DataFrame(rows, columns=["child", "parents", "cluster"]).assign(cells=[0, math.nan, 4, 4], epsilon=0.0)
    chart = charts.network(frame)
    assert len(layers_of(chart)["triangle"]) == 2  # a -> b and b -> a
    assert nodes_of(chart)["cells"].isna().sum() == 2


def test_lines_keep_clear_of_the_nodes_on_their_way_and_values_as_near_to_their_wishes_as_can_be():
    links = [(0, 1), (1, 2), (0, 2)]
    at, paths, _, _ = _arrange(links, [0] * 3, np.full(3, 10.0), np.full(3, 90.0), 400, 50)
    bend = paths[2][1]
    assert bend[0] <= at[1][0] - 10 or bend[0] >= at[1][0] + 90
    assert spread_positions([5.0, 5.0, 50.0], [(1, 1)] * 3, 0, 100) == pytest.approx([4, 6, 50])
    crowded = spread_positions([5.0] * 4, [(10, 10)] * 4, 0, 40)
    assert [b - a for a, b in pairwise(crowded)] == pytest.approx([20 / 3] * 3)


# The trees of forests


def test_a_tree_has_a_box_per_node_a_line_into_each_and_says_what_is_not_drawn():
    chart = charts.forest_tree(nodes(("age", "≤ 40", "> 40"), **{"class": ["no", "no", "yes"]}))
    boxes = rows_of(chart, "fill", "top")
    assert boxes["left"].iloc[0] < boxes["left"].iloc[1] == boxes["left"].iloc[2]
    for field, text in {
        "head": ["age?", "no 90%", "sex?"],
        "foot": ["≈ 100 · ε 0.25", "≈ −2 · ε 1", "≈ −2 · ε 1"],
        "branch": ["", "≤ 40", "> 40"],
        "more": ["", "", "+4"],  # told where it happens, not above
    }.items():
        assert rows_of(chart, field)[field].tolist()[:3] == text
    assert len(rows_of(chart, "y2")) == 3 + 1 + 1  # lines into every node, out of the root, and down
    grouped = charts.forest_tree(nodes(spent=np.nan, noisy=np.nan))  # what noisy groups taught is not exact
    assert rows_of(grouped, "foot")["foot"].tolist() == ["≈ 100", "≈ 2"]


# Taxonomies


def frame_of(column):
    rows = [(node.name, node.parent, len(node.codes)) for node in Hierarchy.from_column(column).nodes]
    return pd.DataFrame(rows, columns=["node", "parent", "leaves"])


def test_large_trees_are_drawn_from_the_root_and_say_so():
    halves = Column(name="x", kind="integer", lower=0, upper=999, bins=1_000)
    *_, names = (layer.data for layer in charts.taxonomy(frame_of(halves)).layer)
    values = names[names["end"]]
    assert len(values) == 128
    assert values["label"].str.contains(r"\([78]\)").all()  # a group at the right says how many it holds
    wide = Column(name="x", kind="categorical", categories=tuple(f"v{i}" for i in range(400)))
    _, dots, _, names = (layer.data for layer in charts.taxonomy(frame_of(wide)).layer)
    assert names["end"].sum() == MOST_LEAVES
    assert names[names["end"]]["label"].iloc[-1] == "(others: 251 values)"
    assert dots["leaves"].iloc[1:].sum() == 400

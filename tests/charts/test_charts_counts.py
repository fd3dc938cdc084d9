"""Range queries and trees of noisy counts: what is drawn, and on which scale."""

import numpy as np
import pytest
from pictures import answers, counted, errors, levels
from specs import domain, marks_of, rows_of, spec_of, subtitle, types_of, walk

from dpcore import charts


def test_errors_are_on_log_scales_with_intervals_and_baselines_dashed():
    frame = errors(baseline=[False, False, True, True])
    frame.loc[0, "absolute"] = 0.0
    chart = charts.error_by_range(frame)
    layers, rows = marks_of(chart), rows_of(chart, "value")
    assert [layer["mark"]["type"] for layer in layers] == ["line", "rule", "point"]
    assert {layer["encoding"][axis]["scale"]["type"] for layer in layers for axis in "xy"} == {"log"}
    assert len(rows) == 3  # an error of 0 has no place
    assert rows["low"].min() > 0
    assert {*zip(rows["release"], rows["kind"], strict=True)} == {("tree", "method"), ("flat", "baseline")}
    assert layers[0]["encoding"]["strokeDash"]["scale"]["range"] == [[1, 0], [6, 4]]
    assert "Dashed: baselines" in subtitle(chart)
    assert len({*layers[2]["encoding"]["color"]["scale"]["range"][:2]}) == 2


def test_single_runs_have_no_bars_and_an_axis_over_decades_has_their_ticks():
    frame = errors(size=[0.002, 0.3] * 2, absolute=[0.5, 2_000.0] * 2, absolute_low=np.nan, absolute_high=np.nan)
    chart = charts.error_by_range(frame)
    assert types_of(chart) == ["line", "point"]
    assert "Bars" not in subtitle(chart)
    for layer in marks_of(chart):
        assert layer["encoding"]["x"]["axis"]["values"] == [0.01, 0.1]
        assert layer["encoding"]["y"].get("axis", {"values": [1, 10, 100, 1000]})["values"] == [1, 10, 100, 1000]


def test_an_answer_with_its_interval_beside_the_truth_if_that_is_known():
    chart = charts.range_answers(answers())
    assert types_of(chart) == ["rule", "rule", "point", "text"]
    assert rows_of(chart, "label")["label"].tolist() == ["true count 11"]
    estimates = rows_of(chart, "estimate")
    assert estimates["estimate"].tolist() == [10, 11]
    assert np.isnan(estimates["low"][1])
    without = charts.range_answers(answers(("a", "a", "b")).drop(columns="true"))
    assert types_of(without) == ["rule", "point"]
    assert "true count" not in subtitle(without)
    assert rows_of(without, "estimate")["release"].tolist() == ["a", "a (2)", "b"]


def test_a_tree_is_drawn_noisy_and_consistent_on_one_scale():
    chart = charts.count_tree(counted())
    spec, rows = spec_of(chart), rows_of(chart)
    names = domain(chart, "y")
    assert [name.replace("\u200b", "") for name in names] == [*names[:3], "consistent", *names[1:3]]
    assert {*rows.query("which == 'consistent'")["row"]} == {*names[4:]}
    assert spec["width"] == "container"
    shades = rows.set_index(["which", "name"])["shade"]
    assert shades["noisy", "all rows"] == 7  # |10 - 3|
    assert shades["consistent"].tolist() == [2, 2, 2]
    blank = rows[rows["text"] == "(not measured)"]
    assert blank[["which", "row", "left", "right"]].to_numpy().tolist() == [["noisy", "1: right", 0, 2]]
    assert [0, 7] in [node for path, node in walk(spec) if path[-2:] == ("scale", "domain")]
    assert "absolute error" in spec["description"]


def test_without_true_counts_colors_are_intervals_and_names_stand_where_they_fit():
    wide = [f"a rather long name {i}" for i in range(100)]
    for names, room in ((counted().name, [814, 404, 404]), (["all rows", *wide], [814, *[2.2] * 100])):
        chart = charts.count_tree(counted(list(names)).drop(columns=["true", "noise"]))
        rows = rows_of(chart).query("which == 'consistent'")
        assert rows["shade"].tolist()[:3] == [0.5, 1.5, 2.5]
        assert rows["text"].tolist() == list(names)
        assert rows["room"].tolist() == pytest.approx(room)
    tips = [node for path, node in walk(spec_of(chart)) if path[-2:-1] == ("tooltip",) and isinstance(node, dict)]
    assert {tip["title"] for tip in tips} == {"node", "noisy count", "consistent count", "interval from", "to"}
    (named,) = [layer["mark"] for layer in marks_of(chart) if layer["mark"].get("limit")]
    assert all("datum.room * width / 820" in named[what]["expr"] for what in ("limit", "opacity"))  # narrow: no text


def test_runs_per_level():
    other, public = levels(), levels()
    other.loc[2, "divides"] = "sex"  # another run divided another column
    public.loc[0, "error"] = 0.0  # a root that is public; a log scale has no place for it
    usual, mixed = ["0: all rows", "1: age"], ["0: all rows", "level 1"]
    for frame, names, count in ((levels(), usual, 12), (other, mixed, 12), (public, usual, 11)):
        rows = rows_of(charts.level_errors(frame))
        assert rows["row"].unique().tolist() == names
        assert len(rows) == count
    assert types_of(charts.level_errors(levels())) == ["point", "tick"]
    assert types_of(charts.level_errors(levels().head(4))) == ["point"]
